"""What both engines of the trace driver begin with."""

from __future__ import annotations

from typing import Any

from ...instances import Instance
from ...solvers.machine.tables import Tables
from ...solvers.policy import Policy, Rules, Seen, Session


class Simulation:
    """A cluster under a policy, in the middle of a run.

    Parameters
    ----------
    instance : Instance
    policy : Policy
    session : Session
        Of the policy, at its begin.
    rules : Rules
    tables : Tables
        As :func:`gangsched.analysis.driving.drive.new_tables` makes it.
    skip : bool
        False to visit every round.
    """

    def __init__(
        self,
        instance: Instance[Any],
        policy: Policy,
        session: Session,
        rules: Rules,
        tables: Tables,
        *,
        skip: bool,
    ) -> None:
        self.instance, self.policy, self.session, self.rules = instance, policy, session, rules
        self.book, self.skip = tables, skip
        self.seen = Seen(instance, tables, policy)
        self.asked = bool(getattr(session, "always_asked", False))
        self.dedicated: tuple[int, ...] = tuple(getattr(session, "dedicated", ()))
        self.idle = 0  # rounds in a row at which nothing ran and nobody was to come
        self.deciding = False  # True while the policy does: a run that stops then decides anew
        self.begin()

    def begin(self) -> None:
        """Make what the engine has of its own."""
        raise NotImplementedError
