"""What policies for jobs with deadlines share: deadlines in time, cycles, and gangs that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, Self

import numpy as np

from ..growing import longer
from ..placement import place
from ..policy import Ints, Start, State
from .estimator import DurationEstimates

#: later than everything
NEVER = 2**62

#: what users state: jobs with a target metric run all epochs that they allow
STATED = DurationEstimates(mode="maximum")


class RunTimes(Protocol):
    """What tells how long jobs still run."""

    def remaining(self, state: State, jobs: Ints) -> Ints:
        """Return seconds of service left of each of `jobs`, at least 1."""
        ...


class Arrived:
    """What a run keeps of the jobs that have come, each of which is read once."""

    def __init__(self) -> None:
        self._count = 0  # of jobs that were read

    @classmethod
    def of(cls, state: State) -> Self:
        """Return that of a run, with the jobs that have come since the last time."""
        known: Self | None = state.derived.get(cls)
        if known is None:
            known = state.derived[cls] = cls()
        new = state.arrived[known._count :].tolist()
        if new:
            known._count += len(new)
            known.read(state, new)
        return known

    def read(self, state: State, new: list[int]) -> None:
        """Read jobs that have come."""
        raise NotImplementedError


class Deadlines(Arrived):
    """Deadlines of the jobs that have come.

    Attributes
    ----------
    due : (jobs, steps + 1) int array
        Seconds of the instance, rising; NEVER where there are no more, always in the last column.
    value : (jobs, steps + 1) float array
        Of a completion not after them; 0 where there is none.
    number : (jobs,) int array
        Of deadlines.
    """

    def __init__(self) -> None:
        super().__init__()
        self.due, self.value = np.full((0, 1), NEVER), np.zeros((0, 1))
        self.number = np.zeros(0, dtype=np.int64)

    def read(self, state: State, new: list[int]) -> None:
        """Read their deadlines."""
        steps = {j: state.job(j).deadlines() for j in new}
        more = max(map(len, steps.values())) + 1 - self.due.shape[1]
        if more > 0:
            self.due = np.pad(self.due, ((0, 0), (0, more)), constant_values=NEVER)
            self.value = np.pad(self.value, ((0, 0), (0, more)))
        size = max(new) + 1
        self.due, self.value = longer(self.due, size, NEVER), longer(self.value, size)
        self.number = longer(self.number, size)
        for j, own in steps.items():
            if own:
                self.due[j, : len(own)], self.value[j, : len(own)] = zip(*own, strict=True)
                self.number[j] = len(own)

    def met(self, jobs: Ints, ends: Ints) -> Ints:
        """The first deadline of each job that is not before its end, or NEVER."""
        due = self.due[jobs]
        found: Ints = due[np.arange(jobs.size), (due < ends[:, None]).sum(axis=1)]
        return found

    def last(self, jobs: Ints) -> Ints:
        """The last deadline of each job, NEVER for those without."""
        found: Ints = self.due[jobs, np.maximum(0, self.number[jobs] - 1)]
        return found

    def steps(self, job: int) -> list[tuple[int, float]]:
        """Deadlines of a job as (time, value), rising; empty for best-effort jobs."""
        n = int(self.number[job])
        pairs = zip(self.due[job, :n].tolist(), self.value[job, :n].tolist(), strict=True)
        return list(pairs)


def at_cycle(state: State, cycle: int) -> bool:
    """Whether this is the first round at or after a multiple of `cycle`."""
    return state.now % cycle < state.rules.round_length


def next_cycle(state: State, cycle: int) -> int:
    """The next multiple of `cycle`."""
    return (state.now // cycle + 1) * cycle


class Room:
    """Free GPUs by node, from which gangs are placed one after the other.

    Parameters
    ----------
    state : State
    free : sequence of int
        GPUs of each node that may be taken.
    """

    def __init__(self, state: State, free: Sequence[int]) -> None:
        self.sizes, self.spread = state.sizes.tolist(), state.rules.spread
        self.free = list(free)
        self.least = NEVER  # no gang of this size or more finds a place

    def give(self, nodes: Mapping[int, int]) -> None:
        """Add GPUs."""
        for n, gpus in nodes.items():
            self.free[n] += gpus
        self.least = NEVER

    def take(self, nodes: Mapping[int, int]) -> bool:
        """Take these GPUs if all are free."""
        if any(self.free[n] < gpus for n, gpus in nodes.items()):
            return False
        for n, gpus in nodes.items():
            self.free[n] -= gpus
        return True

    def place(self, gpus: int, pod: int = 0) -> dict[int, int] | None:
        """Take a place for a gang as of :func:`~gangsched.solvers.placement.place`."""
        if gpus >= self.least and not pod:
            return None
        nodes = place(gpus, self.free, self.sizes, spread=self.spread, pod=pod)
        if nodes is not None:
            self.take(nodes)
        elif not pod:
            self.least = gpus
        return nodes


def places_in_turn(state: State, jobs: Ints, gangs: Ints, free: Ints) -> list[Start]:
    """Places for these jobs, one after the other, where there is one."""
    room, starts, left = Room(state, free.tolist()), list[Start](), int(free.sum())
    for j, gang in zip(jobs.tolist(), gangs.tolist(), strict=True):
        if not left:
            break
        if (nodes := room.place(gang, int(state.pod[j]))) is not None:
            starts.append(Start(j, nodes, gang))
            left -= gang
    return starts
