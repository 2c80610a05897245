"""What a search of windows has to know of completion times, rewards and users."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.sharing_incentive import SharingIncentive
from ...instances.arrays import Floats, Ints
from ...instances.schedule import Schedule
from ...solvers.ours.configurations import Planned, by_order, within
from ...solvers.ours.pool import PoolRun, schedule_of
from ...solvers.ours.reward_pool import on_nodes
from ...solvers.ours.user_order import Members
from .windows import PooledGangs

__all__ = ["WindowGoal", "goal_of"]

#: by which a bound in floats may be too high, of 1 and of a unit, and of a sum at least
ROUNDING, OF_UNIT, OF_SUM = 4e-10, 1e-6, 1e-12
SLACK = 0.01  #: of a unit
FINEST = 1e-9  #: of the best value, what a unit is at least to be told from rounding
LIMIT = 5.0  #: seconds of a schedule in whole seconds
MOST_JOBS = 1_000  #: as the memory grows with their square


class WindowGoal(Protocol):
    """Costs of ends, which are to be least; a reward costs less than 0."""

    gangs: PooledGangs

    def value(self, solution: Schedule) -> float:
        """Return the cost of a solution."""
        ...

    def ends(self, solution: Schedule) -> Ints:
        """Return when the jobs end in it; -1 where they do not."""
        ...

    def latest(self, best: float) -> Ints:
        """Return after when no job ends in a better solution."""
        ...

    def threshold(self, best: float) -> float:
        """Return above which bounds no better solution is left."""
        ...

    def target(self, bound: float, best: float) -> Fraction:
        """Return what such a bound proves of the objective."""
        ...

    def needed(self, target: Fraction) -> float:
        """Return the cost that a leaf has to be above for such a target."""
        ...

    def slack(self, best: float) -> float:
        """Return what narrowed windows leave out only if they cost so much more than they may."""
        ...

    def plans(
        self, ends: Floats, weights: Floats, bound: float, best: float, left: float
    ) -> list[Schedule]:
        """Return solutions that mean ends, and how much of each job runs, suggest."""
        ...


def goal_of(problem: Any) -> WindowGoal | None:
    """Return what a search has to know, None for a problem that it is not for."""
    if isinstance(problem, CompletionTime):
        return None if problem.measure == "makespan" else _fitting(_Sums, problem, problem)
    if isinstance(problem, SharingIncentive) and problem.limit is None:
        return _fitting(_Users, problem, problem.flow)
    if isinstance(problem, DeadlineRewards) and not problem.elastic:
        return _fitting(_Rewards, problem, CompletionTime(problem.instance))
    return None


def _fitting(kind: Any, problem: Any, flow: CompletionTime) -> WindowGoal | None:
    """The goal, where GPUs are equal and some jobs, all of which take time and cost something."""
    some = 0 < len(flow.jobs) <= MOST_JOBS
    usual = some and not flow.mixed and min(flow.seconds) > 0
    if not usual or min(flow.weights) <= 0:
        return None
    goal: WindowGoal = kind(problem, flow)
    return goal


def _little(unit: float, best: float) -> float:
    """What floats may be wrong by."""
    return max(OF_UNIT * unit, OF_SUM * abs(best))


@dataclass
class _Shared:
    """Gangs, and their ends in a solution."""

    problem: Any
    flow: CompletionTime

    def __post_init__(self) -> None:
        rows = [
            (job.release, need, job.gpus)
            for job, need in zip(self.flow.jobs, self.flow.seconds, strict=True)
        ]
        release, need, gang = np.array(rows, dtype=np.int64).T.copy()
        gpus = self.flow.instance.cluster.gpus
        self.gangs = PooledGangs(gpus, release, need, gang, self._weights(), **self._costs())

    def _weights(self) -> Floats:
        return np.zeros(len(self.flow.jobs))

    def _costs(self) -> dict[str, Any]:
        return {}

    def ends(self, solution: Schedule) -> Ints:
        """Return when the jobs end; -1 where they do not."""
        found = np.full(self.gangs.size, -1)
        np.maximum.at(found, solution.job, solution.end)
        return found

    def _order(self, ends: Floats, above: float, users: Members | None, left: float) -> Planned:
        """The best schedule of an order of ends."""
        gangs = self.gangs
        ends = np.maximum(ends, gangs.release + gangs.need)
        return by_order(
            gangs.release, gangs.gang, gangs.need, gangs.weight, gangs.gpus, ends,
            users=users, above=above, time_limit=min(left, LIMIT),
        )  # fmt: skip

    def _planned(self, run: PoolRun | None) -> list[Schedule]:
        return [] if run is None else [schedule_of(self.flow, run)]


class _Sums(_Shared):
    """Sums of weights times ends, flow times or slowdowns; costs are of flow times."""

    problem: CompletionTime

    def _weights(self) -> Floats:
        return self.problem.rates()

    @property
    def since(self) -> Fraction:
        """What a sum of ends is more than that of flow times."""
        if self.problem.measure != "completion":
            return Fraction(0)
        pairs = zip(self.problem.weights, self.problem.jobs, strict=True)
        return Fraction(sum(w * job.release for w, job in pairs), self.problem.scale)

    def unit(self, best: float) -> float:
        """Of which all costs are multiples; 0 if there is none."""
        return 1.0 if self.problem.integral and best * FINEST < 1 else 0.0

    def value(self, solution: Schedule) -> float:
        """Return the sum of flow times or slowdowns."""
        ends = self.ends(solution)
        return math.fsum((self.gangs.weight * (ends - self.gangs.release)).tolist())

    def latest(self, best: float) -> Ints:
        """Return when a job that costs all that is left ends."""
        gangs = self.gangs
        spare = (best - gangs.weight @ gangs.need) / gangs.weight
        last = gangs.release.max() + gangs.need.sum()
        late: Ints = np.minimum(gangs.release + gangs.need + spare + OF_UNIT, last).astype(np.int64)
        return late

    def threshold(self, best: float) -> float:
        """Return the value before the best one."""
        unit = self.unit(best)
        return best - unit + _little(unit, best) if unit else best * (1 - ROUNDING)

    def target(self, bound: float, best: float) -> Fraction:
        """Return a bound in the problem's own measure."""
        if bound > self.threshold(best):
            bound = best if self.unit(best) else min(bound, best)
        if unit := self.unit(best):
            return math.ceil(bound - _little(unit, best)) + self.since
        lower = Fraction(bound * (1 - ROUNDING)) + self.since
        return Fraction(math.nextafter(float(lower), -math.inf))  # which a float can be

    def needed(self, target: Fraction) -> float:
        """Return the value before it, or itself."""
        value = float(target - self.since)
        return value - self.unit(value)

    def slack(self, best: float) -> float:
        """Return a part of a second, or of the best value."""
        return SLACK * self.unit(best) or best * OF_UNIT

    def plans(
        self, ends: Floats, weights: Floats, bound: float, best: float, left: float
    ) -> list[Schedule]:
        """Return the best schedule of the order of ends."""
        above = best + float(self.gangs.weight @ self.gangs.release)
        return self._planned(self._order(ends, above * (1 - ROUNDING), None, left).run)


class _Users(_Shared):
    """The worst ratio of a user."""

    problem: SharingIncentive

    def _costs(self) -> dict[str, Any]:
        self.members = Members.of(self.problem)
        return {"users": self.members}

    def value(self, solution: Schedule) -> float:
        """Return the worst ratio."""
        return self.problem.objective(solution)

    def latest(self, best: float) -> Ints:
        """Return when a job ends whose user has no other that waits."""
        gangs, users = self.gangs, self.members
        busy = np.bincount(users.user, gangs.need, minlength=users.over.size)
        spare = np.floor(best * users.over + users.less + OF_UNIT) - busy
        last = gangs.release.max() + gangs.need.sum()
        late = gangs.release + gangs.need + spare[users.user]
        found: Ints = np.minimum(late, last).astype(np.int64)
        return found

    def threshold(self, best: float) -> float:
        """Return the largest ratio below the best one."""
        over = self.members.over
        return float(((np.ceil(best * over - OF_UNIT) - 1) / over).max()) + ROUNDING

    def target(self, bound: float, best: float) -> Fraction:
        """Return the least ratio from a bound on."""
        if bound > self.threshold(best):
            bound = best
        terms = self.problem.terms().values()
        return min(Fraction(math.ceil(bound * over - OF_UNIT), over) for _, over in terms)

    def needed(self, target: Fraction) -> float:
        """Return the ratio before it."""
        return self.threshold(float(target)) - ROUNDING

    def slack(self, best: float) -> float:
        """Return a part of the ratio."""
        return best * OF_UNIT

    def plans(
        self, ends: Floats, weights: Floats, bound: float, best: float, left: float
    ) -> list[Schedule]:
        """Return schedules by the order of ends, and by ends that users with time left put off."""
        found = self._planned(self._order(ends, best * (1 - ROUNDING), self.members, left).run)
        gangs, users = self.gangs, self.members
        until = np.maximum(np.ceil(ends - OF_UNIT), gangs.release + gangs.need).astype(np.int64)
        flows = np.bincount(users.user, until - gangs.release, minlength=users.over.size)
        spare = np.floor(bound * users.over + users.less + OF_UNIT) - flows
        waits = until - gangs.release - gangs.need
        for u, more in enumerate(spare.tolist()):
            own = np.flatnonzero(users.user == u)
            until[own[waits[own].argmax()]] += max(int(more), 0)
        if users.ratios(until).max() < best * (1 - ROUNDING):
            found += self._planned(self._within(until, left).run)
        return found

    def _within(self, until: Ints, left: float) -> Planned:
        gangs, limit = self.gangs, min(left, LIMIT)
        return within(gangs.release, gangs.gang, gangs.need, until, gangs.gpus, time_limit=limit)


class _Rewards(_Shared):
    """Rewards, as costs below 0."""

    problem: DeadlineRewards

    def _costs(self) -> dict[str, Any]:
        steps = []
        for job, need in zip(self.problem.jobs, self.flow.seconds, strict=True):
            own = [(job.release + d, -float(v)) for d, v in job.rewards if d >= need and v > 0]
            ends = np.array([end for end, _ in own], dtype=np.int64)
            steps.append((ends, np.array([cost for _, cost in own])))
        return {"steps": tuple(steps)}

    def unit(self, best: float) -> float:
        """Of which all rewards are multiples; 0 if they are too many."""
        unit = float(self.problem.unit) or 1.0
        return unit if -best * FINEST < unit else 0.0

    def value(self, solution: Schedule) -> float:
        """Return what is won, less than 0."""
        return -self.problem.objective(solution)

    def latest(self, best: float) -> Ints:
        """Return the last step of each job, its release where it has none."""
        last = zip(self.gangs.release.tolist(), self.gangs.steps or (), strict=True)
        return np.array([int(ends.max(initial=release)) for release, (ends, _) in last])

    def threshold(self, best: float) -> float:
        """Return the cost before the best one."""
        unit = self.unit(best)
        return best - unit + _little(unit, best) if unit else best * (1 + ROUNDING)

    def target(self, bound: float, best: float) -> Fraction:
        """Return the most that can be won."""
        exact, unit = self.problem.unit or Fraction(1), self.unit(best)
        if bound > self.threshold(best):
            bound = best if unit else min(bound, best)
        if unit:
            return math.floor((_little(unit, best) - bound) / unit) * exact
        return Fraction(-bound * (1 + ROUNDING))

    def needed(self, target: Fraction) -> float:
        """Return the cost of a unit more."""
        return -float(target) - self.unit(-float(target))

    def slack(self, best: float) -> float:
        """Return a part of the unit."""
        return SLACK * self.unit(best) or -best * OF_UNIT

    def plans(
        self, ends: Floats, weights: Floats, bound: float, best: float, left: float
    ) -> list[Schedule]:
        """Return a schedule of the jobs that run more than not, without the least likely ones."""
        gangs, end = self.gangs, time.perf_counter() + left
        until, worth = np.zeros(gangs.size, dtype=np.int64), np.zeros(gangs.size)
        for j, (steps, costs) in enumerate(gangs.steps or ()):
            if weights[j] > 0.3 and steps.size:
                at = min(int(np.searchsorted(steps, ends[j] - OF_UNIT)), steps.size - 1)
                until[j], worth[j] = steps[at], -costs[at]
        doubtful = np.flatnonzero((worth > 0) & (weights < 1 - OF_UNIT))
        by_doubt = doubtful[np.argsort(weights[doubtful] * worth[doubtful], kind="stable")]
        for j in [None, *by_doubt.tolist()]:
            if time.perf_counter() >= end:
                break
            if j is not None:
                worth[j] = 0
            if worth.sum() <= -best * (1 + ROUNDING):
                break
            kept = np.flatnonzero(worth)
            plan = within(
                gangs.release[kept],
                gangs.gang[kept],
                gangs.need[kept],
                until[kept],
                gangs.gpus,
                time_limit=min(end - time.perf_counter(), LIMIT),
            ).run
            if plan is not None:
                pieces = np.stack([plan.start, plan.end], axis=1)
                return [on_nodes(self.problem, pieces, kept[plan.job])]
        return []
