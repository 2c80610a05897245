"""Backfilling: in the order of arrival, but past jobs that wait for a reserved place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...instances import Cluster, User
from ...instances.check import check_real, integer
from ...instances.model import FULL_SPEED
from ..policy import (
    Decision,
    Floats,
    Information,
    Ints,
    Phase,
    Preempts,
    Rule,
    Rules,
    State,
)
from .backfilled import conservative, easy
from .backfilling_core import easy_starts, new_calendar, reserve, take, turn

Columns = tuple[Ints, Ints, Ints, Ints, Ints]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backfilling:
    """What both kinds have: run times, as users estimate them."""

    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "told"
    one_model: ClassVar[bool] = True
    overestimate: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__.lower()
        if check_real(name, "overestimate", self.overestimate) > 1e6:
            raise ValueError(f"{name}: overestimate={self.overestimate} is above 1e6")
        integer(self, name, "seed", least=0)

    def seconds(self, state: State, jobs: Ints, speed: Ints) -> Ints:
        """Return the estimated run times of jobs at speeds in millionths, up to whole rounds."""
        factors = state.derived.get("factors", np.zeros(0))
        if factors.size < state.gpus.size:
            factors = state.derived["factors"] = self.factors(2 * state.gpus.size)
        return self.run_times(state.work[jobs], speed, factors[jobs], state.rules.round_length)

    def factors(self, jobs: int) -> Floats:
        """Return how many times too long run times are taken, the same for the first jobs."""
        factors: Floats = 1 + self.overestimate * np.random.default_rng(self.seed).random(jobs)
        return factors

    def run_times(self, work: Ints, speed: Ints, factors: Floats, length: int) -> Ints:
        """Return the estimated seconds of work at speeds in millionths, in whole rounds."""
        exact = -(-work * FULL_SPEED // np.maximum(speed, 1))
        if self.overestimate:
            exact = np.ceil(exact * factors).astype(np.int64)
        return -(-exact // length) * length

    def running(self, state: State) -> Columns:
        """Return begin, expected end and (ptr, node, gpus) of all that run.

        Who runs longer than was expected is to end at the next round.
        """
        jobs, length = state.running, state.rules.round_length
        ends = state.since[jobs] + self.seconds(state, jobs, state.speed[jobs])
        ends = np.where(state.speed[jobs] > 0, ends, state.lease_end[jobs])  # others are profiled
        ends = np.where(ends > state.now, ends, state.now // length * length + length)
        return state.since[jobs], ends, *state.places(jobs)


def _starts(jobs: Ints, ptr: Ints, node: Ints, part: Ints) -> list[tuple[int, dict[int, int]]]:
    nodes, parts = node.tolist(), part.tolist()
    return [
        (int(j), dict(zip(nodes[ptr[k] : ptr[k + 1]], parts[ptr[k] : ptr[k + 1]], strict=True)))
        for k, j in enumerate(jobs.tolist())
    ]


def _held_by_others(state: State) -> Ints:
    """GPUs of each node that are held by jobs which are not seen: they are profiled."""
    _, node, part = state.places(state.running)
    held = np.bincount(node, part, minlength=state.free.size)
    return np.asarray(state.sizes - state.free - held.astype(np.int64))


def _with_others(running: Columns, state: State, hidden: Ints) -> Columns:
    """The same with a job that holds what others do until the next round."""
    if not hidden.any():
        return running
    starts, ends, ptr, node, part = running
    length = state.rules.round_length
    nodes = np.flatnonzero(hidden)
    return (
        np.append(starts, state.now),
        np.append(ends, state.now // length * length + length),
        np.append(ptr, ptr[-1] + nodes.size),
        np.append(node, nodes),
        np.append(part, hidden[nodes]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Easy(_Backfilling):
    """Start jobs in the order of their release, others past the first that has no place.

    The first that has none, the head, gets a reservation: the earliest time at which it has a
    consolidated place if only those end that run (its shadow time), and nodes there. A later job
    starts where it ends by then, or on GPUs that are then left beside the head. Never stop one.

    Parameters
    ----------
    overestimate : float
        The run time of a job is taken for this many times too long at most: p (1 + overestimate x)
        for p seconds, x drawn uniformly from [0, 1) for each job. With 0 run times are told.
    seed : int
        Of these draws; job k always gets draw k.

    Notes
    -----
    Source: D. A. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; the model of estimates is
    that of D. G. Feitelson, A. Mu'alem Weil, "Utilization and predictability in scheduling the IBM
    SP2 with backfilling", IPPS 1998, in the notation of A. W. Mu'alem, D. G. Feitelson, IEEE TPDS
    12 (2001). There GPUs are one pool, and those left are their number. Here a gang needs a
    consolidated place, and the reservation is on nodes: a later job that ends after the shadow time
    gets nodes such that the reserved ones stay. On one node that is the same.

    Guarantee: the head starts by its first shadow time, as no estimate is below the run time, where
    gangs that are spread are no slower. Thus nobody starves: every job becomes the head. None on
    completion times; a job that is not the head can be delayed by jobs behind it.

    Complexity: O((n + r) nodes) a decision with n jobs that wait and r that run, compiled.

    Examples
    --------
    `c` ends before `b` can start, `d` does not.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=3, work=60)]
    >>> jobs += [Job(id="c", gpus=1, work=120), Job(id="d", gpus=1, work=180)]
    >>> instance = Instance(Cluster.of_sizes([3]), jobs)
    >>> drive(instance, Easy()).records.first.tolist()
    [0, 120, 0, 180]
    """

    name: ClassVar[str] = "easy"

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return easy(self)

    def decide(self, state: State) -> Decision:
        """Return the jobs that start, each with its nodes."""
        if not state.free.any():
            return Decision()
        jobs = state.waiting
        ends = state.now + self.seconds(state, jobs, state.speeds[jobs, 0])
        running = self.running(state)
        chosen, *places = easy_starts(
            state.gpus[jobs], ends, np.array(state.free), np.array(state.sizes),
            state.rules.spread, *running[1:],
        )  # fmt: skip
        return Decision(start=_starts(jobs[chosen], *places))

    def next_change(self, state: State) -> None:
        """Nothing changes between arrivals and completions."""


class _Reservations:
    """A session: the reservations of the jobs that wait, in the order of their release.

    The calendar follows from them and from those that run. It is kept from one decision to the
    next where run times are as expected, or shorter.
    """

    def __init__(self, policy: Conservative, rule: Rule | None) -> None:
        self.policy, self.rule = policy, rule
        self.held: dict[int, tuple[int, Ints, Ints]] = {}  # until when, of those that run
        self._forget()

    def _forget(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self.jobs, self.table = none, (none, none, np.zeros(1, dtype=np.int64), none, none)
        self.calendar: tuple[Any, Any, int] | None = None

    def decide(self, state: State) -> Decision:
        """Return the jobs whose time has come, each with its nodes."""
        jobs, policy = state.waiting, self.policy
        early = policy.overestimate > 0
        if jobs.size > self.jobs.size or early or not self._fits(state):
            calendar, times, count = self._calendar(state, jobs.size)
            jobs = np.concatenate([self.jobs, jobs[~np.isin(jobs, self.jobs)]])
            seconds = policy.seconds(state, jobs, state.speeds[jobs, 0])
            count, starts, *places = reserve(
                state.now, np.array(state.sizes), state.rules.spread, calendar, times, count,
                self.table, state.gpus[jobs], seconds, early,
            )  # fmt: skip
            self.calendar = calendar, times, count
            self.jobs, self.table = jobs, (starts, starts + seconds, *places)
        due = self.table[0] <= state.now
        _, ends, *places = self._keep(due)
        started = _starts(self.jobs[due], *places)
        for k, j in enumerate(self.jobs[due].tolist()):
            own = slice(places[0][k], places[0][k + 1])
            self.held[j] = int(ends[k]), places[1][own], places[2][own]
        self.table, self.jobs = self._keep(~due), self.jobs[~due]
        return Decision(start=started)

    def _calendar(self, state: State, more: int) -> tuple[Any, Any, int]:
        """Return the calendar from now on, with room for more times."""
        hidden = _held_by_others(state)
        renewed = state.rules.spread or hidden.any() or not self._fits(state)
        if self.calendar is None or renewed:
            running = _with_others(self.policy.running(state), state, hidden)
            sizes = np.array(state.sizes)  # a column is contiguous only where there is one node
            fine, *made = new_calendar(state.now, sizes, running, self.table)
            if not fine:  # a job takes longer than was expected: reservations are renewed
                self._forget()
                _, *made = new_calendar(state.now, sizes, running, self.table)
            calendar, times, count = made
            ends = running[1].tolist()
            places = [np.split(column, running[2][1:-1]) for column in running[3:]]
            self.held = dict(zip(state.running.tolist(), zip(ends, *places)))  # noqa: B905
        else:
            calendar, times, count = self.calendar
            count = turn(calendar, times, count, state.now)
            for j in [j for j in self.held if state.phase[j] != Phase.RUNNING]:
                end, nodes, parts = self.held.pop(j)
                if end > state.now:
                    count = take(calendar, times, count, state.now, end, nodes, -parts)
        if count + more > times.size:
            room = 2 * (count + more)
            calendar = np.hstack([calendar, np.zeros((state.sizes.size, room), dtype=np.int64)])
            times = np.concatenate([times, np.zeros(room, dtype=np.int64)])
        return calendar, times, count

    def _fits(self, state: State) -> bool:
        """Whether the GPUs of those whose time has come are free."""
        node, part = self._keep(self.table[0] <= state.now)[3:]
        taken = np.bincount(node, part, minlength=state.free.size)
        return bool((taken <= state.free).all())

    def _keep(self, some: Any) -> Columns:
        starts, ends, ptr, node, part = self.table
        length = np.diff(ptr)
        rows = np.repeat(some, length)
        new = np.concatenate([[0], np.cumsum(length[some])])
        return starts[some], ends[some], new, node[rows], part[rows]

    def next_change(self, state: State) -> int | None:
        """Return when the next job starts."""
        starts = self.table[0]
        return int(starts.min()) if starts.size else None

    def save(self) -> dict[str, Any]:
        """Return the reservations."""
        return {"jobs": self.jobs, "table": list(self.table)}

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        self.jobs = np.array(data["jobs"])
        starts, ends, ptr, node, part = map(np.array, data["table"])
        self.table = starts, ends, ptr, node, part


@dataclass(frozen=True, slots=True, kw_only=True)
class Conservative(_Backfilling):
    """Give each job that comes the earliest reservation that is in nobody's way; never stop one.

    A reservation is a time and nodes, from a calendar of those that run and of all reservations
    before; a job starts when its time has come. Where run times are overestimated, each job, in the
    order of release, also starts as soon as it can without being in the way of a reservation.

    Parameters
    ----------
    overestimate, seed
        As of :class:`Easy`.

    Notes
    -----
    Source: D. G. Feitelson, A. Mu'alem Weil, IPPS 1998; A. W. Mu'alem, D. G. Feitelson, IEEE TPDS
    12 (2001). There GPUs are one pool, and when a job ends early all reservations are moved forward
    as far as they go, in the order of release.

    Deviations: reservations are on nodes; and where jobs end early only those move that can begin
    at once, as the calendar is long. The others keep later times, which leaves more room for short
    jobs that come later: with estimates this is another policy. On the passed jobs of Philly, with
    320 GPUs as one pool and overestimate=3, its mean completion is about half of that.

    Guarantee: no job starts later than its reservation when it came, as no estimate is below the
    run time. Where gangs may be spread and are slower then, or run times are known with errors or
    from profiling runs, which take GPUs, a reservation can be in the way of another job; then all
    are renewed, in the order of release. None on completion times.

    Complexity: O(n + r + nodes) a decision, for n reservations and r running jobs, and O(n + r) for
    each job that comes or moves; compiled, and O(nodes (n + r)) where gangs spread.

    Examples
    --------
    `c` ends before `b` can start; `d` starts after it, though there is room now.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=3, work=60)]
    >>> jobs += [Job(id="c", gpus=1, work=120), Job(id="d", gpus=1, work=180)]
    >>> instance = Instance(Cluster.of_sizes([3]), jobs)
    >>> drive(instance, Conservative()).records.first.tolist()
    [0, 120, 0, 180]
    """

    name: ClassVar[str] = "conservative"

    @property
    def rule(self) -> Rule:
        """The compiled rule, where gangs do not spread."""
        return conservative(self)

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> _Reservations:
        """Begin a session without reservations."""
        return _Reservations(self, None if rules.spread else self.rule)
