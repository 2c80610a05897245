"""The narrowest gang first; it holds up all others."""

from dataclasses import dataclass
from typing import ClassVar

from gangsched.solvers.policy import Decision, Preempts, State, ranked

from .core import RULE


@dataclass(frozen=True)
class Narrowest:
    """Start jobs by their gangs, the narrowest first, without preemption."""

    name: ClassVar[str] = "narrowest"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    rule = RULE

    def decide(self, state: State) -> Decision:
        """Return the jobs that wait by the sizes of their gangs."""
        order = ranked(state, state.waiting, state.gpus[state.waiting])
        return Decision(order=order, blocking=True)

    def next_change(self, state: State) -> None:
        """Nothing changes but by what comes and ends."""
