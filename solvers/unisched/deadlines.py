"""What policies for jobs with deadlines share: deadlines in time, cycles, and gangs that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...instances import Instance
from ..placement import place
from ..policy import Floats, Ints, State
from .estimator import DurationEstimates

#: later than everything
NEVER = 2**62

#: what users state: jobs with a target metric run all epochs that they allow
STATED = DurationEstimates(mode="maximum")


class Estimates(Protocol):
    """What tells how long jobs still run."""

    def remaining(self, state: State, jobs: Ints) -> Ints:
        """Return seconds of service left of each of `jobs`, at least 1."""
        ...


class Deadlines(NamedTuple):
    """Deadlines of the jobs of an instance.

    Attributes
    ----------
    due : (jobs, steps + 1) int array
        Seconds of the instance, rising; NEVER where there are no more, always in the last column.
    value : (jobs, steps + 1) float array
        Of a completion not after them; 0 where there is none.
    number : (jobs,) int array
        Of deadlines.
    """

    due: Ints
    value: Floats
    number: Ints

    @classmethod
    def of(cls, instance: Instance[Any]) -> Deadlines:
        """Read the jobs of an instance; plain jobs are best effort."""
        if not (_LAST and _LAST[0][0] is instance):
            _LAST[:] = [(instance, cls._read(instance))]
        return _LAST[0][1]

    @classmethod
    def _read(cls, instance: Instance[Any]) -> Deadlines:
        steps = [job.deadlines() for job in instance.jobs]
        count = np.array([len(own) for own in steps], dtype=np.int64)
        shape = (len(steps), int(count.max(initial=0)) + 1)
        due, value = np.full(shape, NEVER), np.zeros(shape)
        for j, own in enumerate(steps):
            due[j, : len(own)] = [time for time, _ in own]
            value[j, : len(own)] = [worth for _, worth in own]
        return cls(due, value, count)

    def met(self, jobs: Ints, ends: Ints) -> Ints:
        """The first deadline of each job that is not before its end, or NEVER."""
        due = self.due[jobs]
        first = (due >= ends[:, None]).argmax(axis=1)
        found: Ints = due[np.arange(len(jobs)), first]
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


#: the deadlines that were read last, and of which instance
_LAST: list[tuple[Instance[Any], Deadlines]] = []


def at_cycle(state: State, cycle: int) -> bool:
    """Whether this is the first round at or after a multiple of `cycle`."""
    return state.now % cycle < state.rules.round_length


def next_cycle(state: State, cycle: int) -> int:
    """The next multiple of `cycle`."""
    return (state.now // cycle + 1) * cycle


def check_seconds(owner: str, name: str, value: Any) -> None:
    """Refuse what is no positive number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{owner}: {name}={value!r} is not an integer")
    if value < 1:
        raise ValueError(f"{owner}: {name}={value} is below 1")


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

    def place(self, gpus: int) -> dict[int, int] | None:
        """Take a consolidated place for a gang (or any, where the rules let gangs spread)."""
        if gpus >= self.least:
            return None
        nodes = place(gpus, self.free, self.sizes, spread=self.spread)
        if nodes is None:
            self.least = gpus
        else:
            self.take(nodes)
        return nodes
