"""Smallest remaining area first, with repacking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ....instances import Cluster, User
from ....instances.check import integer
from ....instances.model import MOST_TIME
from ...machine.keyed import by_key
from ...policy import Decision, Information, Ints, Key, Preempts, Rule, Rules, State, ranked
from .priced_models import OnModels


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestArea:
    """At every round run the jobs of the least remaining area, and repack the nodes.

    The remaining area of a job is its remaining run time times its gang, in GPU seconds. Jobs are
    selected in this order as long as they fit by number of GPUs; one that does not is skipped.
    Then nodes are given anew, the widest gang first: its own nodes, or those on which the fewest
    GPUs of other selected jobs are displaced. Who is displaced moves, which costs what a migration
    costs.

    Parameters
    ----------
    guard : int or None
        Seconds without GPUs after which a job is overdue. The first released of those that are
        comes before all others, the rest wait for their turn; None where size alone decides. On
        one GPU model only.

    Notes
    -----
    Source: the order is that of smallest area first for rigid jobs (J. Turek et al., SPAA 1994),
    of remaining size with preemption (Grosof, Harchol-Balter, Scheller-Wolf, 2022); repacking is
    our choice. Run times must be known. Ties by (release, number). Between arrivals and completions
    areas of running jobs only fall, so that who is selected does not change.

    Guarantee: on one GPU it is shortest remaining time first, which is optimal for the mean
    completion time where nothing is lost in a resumption (Schrage 1968); none is known for gangs.
    Where gangs are powers of two, and nodes are of one size that is one too, all that are selected
    find their nodes. Otherwise one may not: it waits, others fill the room, and after the patience
    of the rules it takes the place of jobs that come after it in the order.

    A job waits only for jobs of smaller areas; but those can come for ever, and a wide gang also
    waits where they fill a part of the GPUs only. The patience does not help against that. The
    guard does: one overdue job always runs to its end, then the next one, so that nobody waits for
    ever. To let all overdue jobs go first would be worse: they keep others until these are overdue
    too, and the order becomes that of arrival.

    On several GPU models, c_g the price of a GPU of model g and s_jg the speed of job j there, jobs
    stand in the order of the work that is left times the gang times min_g c_g / s_jg. Each gets the
    model on which its work is the cheapest of those with room; then those that can run faster on
    what is left move there. Prices are static: the dual of the earliest end of the work of all jobs
    that have come (:func:`~gangsched.solvers.ours.model_order.model_prices`) to the power .9, anew
    whenever twice as many have come. A running job moves to a cheaper model only if it needs 200
    times its overhead where it is, to a faster one only if it gains 20 times. Decisions are made
    where somebody comes or goes. All this is our choice; the constants were tried on Philly.

    Complexity: O(n log n) a decision with n jobs here, and O(selected x (widths + nodes)).

    Examples
    --------
    At 60 the area of the gang of 2 is the least; `c` moves to the other node, where `d` stops.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=1, work=60), Job(id="b", gpus=1, work=240)]
    >>> jobs += [Job(id="c", gpus=1, work=180), Job(id="d", gpus=1, work=610)]
    >>> jobs += [Job(id="wide", gpus=2, work=50, release=60)]
    >>> instance = Instance(Cluster.of_sizes([2, 2]), jobs)
    >>> drive(instance, SmallestArea(), overhead=10).records.end.tolist()
    [60, 240, 190, 680, 110]
    """

    name: ClassVar[str] = "smallest-area"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"
    guard: int | None = None

    def __post_init__(self) -> None:
        if self.guard is not None:
            integer(self, "smallest-area", "guard", least=1)
            if self.guard > MOST_TIME:
                raise ValueError(f"smallest-area: guard={self.guard} is above {MOST_TIME}")

    @property
    def one_model(self) -> bool:
        """Whether the policy needs a cluster of one GPU model."""
        return self.guard is not None

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_key(Key.AREA, () if self.guard is None else (float(self.guard),))

    def begin(
        self, cluster: Cluster, users: Sequence[User], rules: Rules
    ) -> SmallestArea | OnModels:
        """Begin a session; on one GPU model nothing is remembered.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used.
        rules : Rules
        """
        several = len({node.model for node in cluster.nodes}) > 1
        return OnModels(cluster, rules) if several else self

    def decide(self, state: State) -> Decision:
        """Return all jobs by (remaining area, release, number), to be repacked."""
        jobs = state.candidates
        area = state.remaining(jobs) * state.gpus[jobs]
        if self.guard is None:
            return Decision(order=ranked(state, jobs, area), repacking=True)
        overdue = jobs[self._left(state, jobs) <= 0]
        first = overdue[np.argmin(state.rank[overdue])] if overdue.size else -1
        order = ranked(state, jobs, np.where(jobs == first, -1, area))
        return Decision(order=order, repacking=True)

    def _left(self, state: State, jobs: Ints) -> Ints:
        """Seconds for which jobs may still wait before they are overdue."""
        held = state.attained(jobs) // state.gpus[jobs]
        left: Ints = (self.guard or 0) - (state.now - state.release[jobs] - held)
        return left

    def next_change(self, state: State) -> int | None:
        """Nothing changes between arrivals and completions, but where a job finds no place.

        Then another one that runs in the room that is left can come before it in the order.
        """
        waiting = state.waiting
        if (state.blocked[waiting] >= 0).any():
            return state.now + 1
        if self.guard is None:
            return None
        left = self._left(state, waiting)
        return state.now + int(left[left > 0].min()) if (left > 0).any() else None
