"""Backfilling: in the order of arrival, but past jobs that wait for a reserved place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....instances import Cluster, User
from ....instances.check import check_real, integer
from ....instances.model import FULL_SPEED
from ...policy import (
    Decision,
    Floats,
    Information,
    Ints,
    Preempts,
    Rule,
    Rules,
    State,
)
from . import core
from .core import JobQueue
from .rounds import conservative, easy

#: (times, ptr, node, gpus) of jobs: when those that run are to end, or those that wait to begin
Columns = tuple[Ints, Ints, Ints, Ints]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Backfilling:
    """What both kinds have: run times, as users estimate them."""

    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "known"
    one_model: ClassVar[bool] = True
    overestimate: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        name = type(self).__name__.lower()
        given = self.overestimate is not None
        if given and check_real(name, "overestimate", self.overestimate) > 1e6:
            raise ValueError(f"{name}: overestimate={self.overestimate} is above 1e6")
        integer(self, name, "seed", least=0)

    def seconds(self, state: State, jobs: Ints, speed: Ints) -> Ints:
        """Return the estimated run times of jobs at speeds in millionths, up to whole rounds."""
        if self.by_limits(state.limit):
            return self.limits(state.limit[jobs], state.rules.round_length)
        factors = state.derived.get("factors", np.zeros(0))
        if factors.size < state.gpus.size:
            factors = state.derived["factors"] = self.factors(2 * state.gpus.size)
        return self.run_times(state.work[jobs], speed, factors[jobs], state.rules.round_length)

    def by_limits(self, limit: Ints) -> bool:
        """Return whether it goes by what users asked for, given these limits."""
        return self.overestimate is None and bool(limit.any())

    def limits(self, limit: Ints, length: int) -> Ints:
        """Return limits in whole rounds."""
        return -(-limit // length) * length

    def errs(self, limit: Ints) -> bool:
        """Return whether jobs may end before they are expected to, given these limits."""
        return bool(self.overestimate) or self.by_limits(limit)

    def factors(self, jobs: int) -> Floats:
        """Return how many times too long run times are taken, the same for the first jobs."""
        drawn = np.random.default_rng(self.seed).random(jobs)
        factors: Floats = 1 + (self.overestimate or 0.0) * drawn
        return factors

    def run_times(self, work: Ints, speed: Ints, factors: Floats, length: int) -> Ints:
        """Return the estimated seconds of work at speeds in millionths, in whole rounds."""
        exact = -(-work * FULL_SPEED // np.maximum(speed, 1))
        if self.overestimate:
            exact = np.ceil(exact * factors).astype(np.int64)
        return -(-exact // length) * length

    def running(self, state: State) -> Columns:
        """Return expected end and (ptr, node, gpus) of all that run.

        Who runs longer than was expected is to end at the next round.
        """
        jobs, length = state.running, state.rules.round_length
        ends = state.since[jobs] + self.seconds(state, jobs, state.speed[jobs])
        ends = np.where(state.speed[jobs] > 0, ends, state.lease_end[jobs])  # others are profiled
        ends = np.where(ends > state.now, ends, state.now // length * length + length)
        return ends, *state.places(jobs)

    def queue(self, state: State, jobs: Ints, running: Columns, room: int = 0) -> JobQueue:
        """Return a queue with those that run, then `jobs`, none of which is in line."""
        ends, held, *_ = running
        plan = core.new_queue(
            np.array(state.sizes),
            np.concatenate([np.diff(held), state.gpus[jobs]]),  # those that run have their places
            np.concatenate([np.zeros(ends.size, dtype=np.int64), state.pod[jobs]]),
            np.concatenate([ends, self.seconds(state, jobs, state.speeds[jobs, 0])]),
            np.zeros(0),
            room=room,
            spread=state.rules.spread,
        )
        runners = np.arange(ends.size)
        _put(plan, runners, running)
        plan.until[runners], plan.held[runners] = ends, np.argsort(ends, kind="stable")
        plan.state[core.HELD] = ends.size
        return plan


def _line_up(plan: JobQueue, rows: Ints) -> None:
    """Let jobs of a queue wait in line."""
    line = plan.queue[:, : rows.size]
    line[core.JOB], line[core.GANG], line[core.SECONDS] = rows, plan.gang[rows], plan.seconds[rows]
    plan.state[core.LENGTH] = rows.size


def _entries(plan: JobQueue, rows: Ints) -> tuple[Ints, Ints]:
    """Return where places of jobs of a queue are: of the k-th those from ptr[k] to ptr[k + 1]."""
    length = plan.length[rows]
    ptr = np.concatenate([[0], np.cumsum(length)])
    return ptr, np.repeat(plan.offset[rows] - ptr[:-1], length) + np.arange(ptr[-1])


def _put(plan: JobQueue, rows: Ints, columns: Columns) -> None:
    """Give jobs of a queue their places."""
    _, ptr, node, part = columns
    plan.length[rows] = np.diff(ptr)
    _, at = _entries(plan, rows)
    plan.node[at], plan.part[at] = node, part


def _places(plan: JobQueue, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return (ptr, node, gpus) of jobs of a queue."""
    ptr, at = _entries(plan, rows)
    return ptr, plan.node[at], plan.part[at]


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
    ends, ptr, node, part = running
    length = state.rules.round_length
    nodes = np.flatnonzero(hidden)
    return (
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
    overestimate : float or None
        None: a job is expected to run as long as its user asked for, its `limit`, where each job
        has one; one that runs longer is expected to end at the next round. Where a job has none,
        run times are known, as with 0. A number: the run time of a job is taken for this many times
        too long at most: p (1 + overestimate x) for p seconds, x drawn uniformly from [0, 1) for
        each job.
    seed : int
        Of these draws; job k always gets draw k.

    Notes
    -----
    Source: D. A. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; the model of estimates is
    that of D. G. Feitelson, A. Mu'alem Weil, "Utilization and predictability in scheduling the IBM
    SP2 with backfilling", IPPS 1998, in the notation of A. W. Mu'alem, D. G. Feitelson, IEEE TPDS
    12 (2001). There GPUs are one pool, and those left are their number. Here a gang needs a
    consolidated place, and the reservation is on nodes: a later job that ends after the shadow time
    gets nodes such that the reserved ones stay. On one node that is the same, and where gangs may
    be anywhere, as those GPUs are reserved first that are busy until then.

    Guarantee: the head starts by its first shadow time where no estimate is below the run time and
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
        jobs, running = state.waiting, self.running(state)
        plan, first = self.queue(state, jobs, running), running[0].size
        _line_up(plan, first + np.arange(jobs.size))
        plan.at[core.FREE] = state.free
        core.easy_starts(plan, state.now, int(state.free.sum()), state.rules.spread)
        rows = plan.started[: plan.state[core.STARTED]]
        return Decision(start=_starts(jobs[rows - first], *_places(plan, rows)))

    def next_change(self, state: State) -> int | None:
        """Return when the next job may run longer than is expected; else nothing changes."""
        if not (self.by_limits(state.limit) and state.running.size):
            return None
        return int(self.running(state)[0].min())


class _Reservations:
    """A session: the reservations of the jobs that wait, in the order of their release.

    The calendar follows from them and from those that run, and is made where one is needed.
    """

    def __init__(self, policy: Conservative, rule: Rule | None) -> None:
        self.policy, self.rule = policy, rule
        self._forget()

    def _forget(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self.jobs, self.table = none, (none, np.zeros(1, dtype=np.int64), none, none)

    def decide(self, state: State) -> Decision:
        """Return the jobs whose time has come, each with its nodes."""
        more = state.waiting.size > self.jobs.size or self.policy.errs(state.limit)
        if (more or not self._fits(state)) and not self._renew(state):
            self._forget()  # a job takes longer than was expected: reservations are renewed
            self._renew(state)
        due = self.table[0] <= state.now
        started = _starts(self.jobs[due], *self._keep(due)[1:])
        self.table, self.jobs = self._keep(~due), self.jobs[~due]
        return Decision(start=started)

    def _renew(self, state: State) -> bool:
        """Let jobs that came have reservations; False where those there were do not fit."""
        waiting, policy, now = state.waiting, self.policy, state.now
        jobs = np.concatenate([self.jobs, waiting[~np.isin(waiting, self.jobs)]])
        running = _with_others(policy.running(state), state, _held_by_others(state))
        # of those that begin now a node has one a GPU; two steps each, and a few that are between
        holders = np.bincount(np.concatenate([running[2], self.table[2]]), minlength=1)
        most = int(holders.max()) + jobs.size - self.jobs.size + int(state.sizes.max()) + 1
        plan = policy.queue(state, jobs, running, 2 * most + 4)
        rows = running[0].size + np.arange(jobs.size)
        old = rows[: self.jobs.size]
        _line_up(plan, old)
        _put(plan, old, self.table)
        plan.queue[core.BEGIN, : old.size] = self.table[0]
        plan.queue[core.NODE, : old.size] = plan.node[plan.offset[old]]
        if not core.renew(plan, now, policy.errs(state.limit), state.rules.spread):
            return False
        self.jobs, self.table = jobs, (plan.queue[core.BEGIN, : jobs.size], *_places(plan, rows))
        return True

    def _fits(self, state: State) -> bool:
        """Whether the GPUs of those whose time has come are free."""
        _, _, node, part = self._keep(self.table[0] <= state.now)
        taken = np.bincount(node, part, minlength=state.free.size)
        return bool((taken <= state.free).all())

    def _keep(self, some: Any) -> Columns:
        starts, ptr, node, part = self.table
        length = np.diff(ptr)
        rows = np.repeat(some, length)
        return starts[some], np.concatenate([[0], np.cumsum(length[some])]), node[rows], part[rows]

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
        starts, ptr, node, part = map(np.array, data["table"])
        self.table = starts, ptr, node, part


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

    Guarantee: no job starts later than its reservation when it came, where no estimate is below
    the run time. Where gangs may be spread and are slower then, jobs run longer than users asked
    for, or run times are known with errors or from profiling runs, which take GPUs, a reservation
    can be in the way of another job; then all are renewed, in the order of release. None on
    completion times.

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
