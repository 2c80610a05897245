"""Preemptive lists: at every event the jobs that come first in an order run, as far as they fit.

What heuristics for CompletionTime, DeadlineRewards and Ltgf share. A gang
keeps its GPUs where they are still free, goes on one node where there is one with room, else on
those with the most room.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.model import FULL_SPEED
from ...instances.schedule import Schedule, Segment
from ..result import Result, Stop
from ..signature import solver

Where = Mapping[int, int]  # GPUs by node
Place = Callable[[int, list[int], Where], Where | None]
Progress = Callable[[int, Where, int], int]
Order = Literal["remaining", "area", "arrival"]


class PreemptiveList:
    """A run of a list: what is done, who runs where, and the segments so far.

    Parameters
    ----------
    works : sequence of int
        What each job needs, in the units of `progress`.
    releases : sequence of int
    sizes : sequence of int
        GPUs of each node.
    """

    def __init__(self, works: Sequence[int], releases: Sequence[int], sizes: Sequence[int]) -> None:
        self.left, self.releases, self.sizes = list(works), list(releases), list(sizes)
        self.now = min(releases, default=0)
        self.held: dict[int, tuple[int, Where]] = {}  # since when, and where
        self.segments: list[Segment] = []

    @classmethod
    def of(cls, problem: Any, works: Sequence[int]) -> PreemptiveList:
        """Return a run of a problem's jobs that has yet to begin."""
        return cls(works, [job.release for job in problem.jobs], problem.instance.cluster.sizes)

    @property
    def active(self) -> list[int]:
        """Jobs that are released and not complete."""
        return [j for j, r in enumerate(self.releases) if r <= self.now and self.left[j] > 0]

    def run(
        self,
        order: Callable[[], Sequence[int]],
        place: Place,
        lasts: Callable[[int, Where], int],
        progress: Progress,
        step: int | None = None,
        end: float | None = None,
    ) -> list[Segment]:
        """Run until nobody is left whom the order names; return the segments."""
        waiting = sorted(set(self.releases))
        while end is None or time.monotonic() < end:
            waiting = [release for release in waiting if release > self.now]
            running = self._chosen(order(), place)
            for j in set(self.held) - set(running):
                self._close(j)
            if not running and not waiting:
                return sorted(self.segments, key=lambda s: (s.start, s.job))
            until = [self.now + lasts(j, where) for j, where in running.items()]
            until += waiting[:1] + ([self.now + step] if step and running else [])
            self._advance(running, min(until), progress)
        return []

    def _chosen(self, order: Sequence[int], place: Place) -> dict[int, Where]:
        free, chosen = list(self.sizes), dict[int, Where]()
        for j in order:
            where = place(j, free, self.held[j][1] if j in self.held else {})
            if where:
                chosen[j] = where
                for node, gpus in where.items():
                    free[node] -= gpus
        return chosen

    def _advance(self, running: Mapping[int, Where], until: int, progress: Progress) -> None:
        for j, where in running.items():
            if j in self.held and self.held[j][1] != where:
                self._close(j)
            self.held.setdefault(j, (self.now, where))
            self.left[j] -= progress(j, where, until - self.now)
        self.now = until
        for j in [j for j in running if self.left[j] <= 0]:
            self._close(j)

    def _close(self, job: int) -> None:
        since, where = self.held.pop(job)
        if self.now > since:
            self.segments.append(Segment(job, since, self.now, dict(where)))


def spread(gpus: int, free: Sequence[int], before: Where, nodes: Sequence[int]) -> Where | None:
    """Return where a gang goes among some nodes, however many it takes; None without room.

    Examples
    --------
    >>> spread(3, [2, 4, 3], {}, [0, 1, 2]), spread(5, [2, 4, 3], {}, [0, 1, 2])
    ({2: 3}, {1: 4, 2: 1})
    """
    if before and all(node in nodes and free[node] >= held for node, held in before.items()):
        return before
    if sum(free[node] for node in nodes) < gpus:
        return None
    fits = [node for node in nodes if free[node] >= gpus]
    if fits:
        return {min(fits, key=lambda node: (free[node], node)): gpus}
    where: dict[int, int] = {}
    for node in sorted(nodes, key=lambda node: (-free[node], node)):
        taken = min(free[node], gpus - sum(where.values()))
        if taken:
            where[node] = taken
    return where


# --- completion times ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionListParams:
    """Parameters of :func:`completion_list`.

    Parameters
    ----------
    order : {"remaining", "area", "arrival"}
        By the time that is left at the job's highest speed, by that times its gang, each over the
        weight, the least first, or by release.
    """

    order: Order = "remaining"

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            names = " or ".join(get_args(Order))
            raise ValueError(f"CompletionListParams: order={self.order!r} is not {names}")


@solver(CompletionListParams, of=CompletionTime)
def completion_list(
    problem: CompletionTime, *, seed: int, time_limit: float | None, params: CompletionListParams
) -> Result[Schedule]:
    """Run the jobs that come first in an order, looked at again at every release and completion.

    Guarantee: none for gangs. Where every gang has all GPUs, "remaining" is optimal for the sum of
    flow times.

    Parameters
    ----------
    problem : CompletionTime
    seed : int
        Not used: the algorithm draws nothing.
    time_limit : float, optional
        Wall seconds, after which there is no schedule.
    params : CompletionListParams

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Notes
    -----
    A gang goes on the fastest model that has room for it. O(events x jobs x nodes).

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=4), Job(id="short", gpus=2, work=1, release=1)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "flow")
    >>> completion_list(problem).objective
    6
    """
    started = time.perf_counter()
    end = None if time_limit is None else time.monotonic() + time_limit
    jobs, kinds = problem.jobs, problem._kinds().tolist()
    models = [
        [[n for n, kind in enumerate(kinds) if kind == g], problem.speeds[:, g].tolist()]
        for g in range(len(problem.models))
    ]
    fastest = problem.speeds.max(axis=1, initial=1).tolist()
    state = PreemptiveList.of(problem, [job.work or 0 for job in jobs])

    def key(j: int) -> Any:
        if params.order == "arrival":
            return jobs[j].release, j
        span = state.left[j] / fastest[j] / max(problem.weights[j], 1)
        return (span * jobs[j].gpus if params.order == "area" else span), j

    def place(j: int, free: list[int], before: Where) -> Where | None:
        for nodes, speeds in sorted(models, key=lambda model: -model[1][j]):
            if speeds[j] and (where := spread(jobs[j].gpus, free, before, nodes)):
                return where
        return None

    def speed(j: int, where: Where) -> int:
        return int(problem.speeds[j, kinds[next(iter(where))]])

    segments = state.run(
        lambda: sorted(state.active, key=key),
        place,
        lambda j, where: -(-FULL_SPEED * state.left[j] // speed(j, where)),
        lambda j, where, length: length * speed(j, where) // FULL_SPEED,
        end=end,
    )
    return _result(problem, segments, "completion_list", started, seed)


# --- deadlines -----------------------------------------------------------------------------------


@solver(of=DeadlineRewards)
def reward_list(
    problem: DeadlineRewards, *, seed: int, time_limit: float | None
) -> Result[Schedule]:
    """Run the jobs that win most for the GPU time that is left, while a deadline can be met.

    Guarantee: none.

    Parameters
    ----------
    problem : DeadlineRewards
    seed : int
        Not used: the algorithm draws nothing.
    time_limit : float, optional
        Wall seconds, after which nothing is scheduled.

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Notes
    -----
    Looked at again at every release and completion. Gangs keep their size, elastic or not, and are
    split over nodes only where no node holds them. O(events x jobs x nodes).

    Examples
    --------
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> strict = DeadlineJob(id="a", gpus=1, work=4, rewards=[(4, 100)])
    >>> soft = DeadlineJob(id="b", gpus=1, work=4, rewards=[(6, 100), (8, 80)])
    >>> reward_list(DeadlineRewards(Instance(Cluster.of_sizes([1]), [strict, soft]))).objective
    180
    """
    started = time.perf_counter()
    end = None if time_limit is None else time.monotonic() + time_limit
    jobs, nodes = problem.jobs, problem.instance.cluster.nodes
    state = PreemptiveList.of(problem, [FULL_SPEED * (job.work or 0) for job in jobs])

    def speed(j: int, where: Where) -> int:
        size = max(nodes[n].gpus for n in where)
        return jobs[j].speed(jobs[j].gpus, len(where), size)

    def reward(j: int) -> float:
        return jobs[j].reward(state.now + -(-state.left[j] // FULL_SPEED))

    def place(j: int, free: list[int], before: Where) -> Where | None:
        able = [n for n, node in enumerate(nodes) if jobs[j].pin in ("", node.model)]
        if any(nodes[n].gpus >= jobs[j].gpus for n in able):
            able = [n for n in able if free[n] >= jobs[j].gpus]
        return spread(jobs[j].gpus, free, before, able)

    segments = state.run(
        lambda: sorted(
            (j for j in state.active if reward(j) > 0),
            key=lambda j: (-reward(j) / (jobs[j].gpus * state.left[j]), j),
        ),
        place,
        lambda j, where: -(-state.left[j] // speed(j, where)),
        lambda j, where, length: length * speed(j, where),
        end=end,
    )
    won = problem.rewards(Schedule.of(segments))
    return _result(problem, [s for s in segments if won[s.job]], "reward_list", started, seed)


def _result(
    problem: Any, segments: Sequence[Segment], name: str, started: float, seed: int
) -> Result[Schedule]:
    """The result of a list; without a schedule where the time was over."""
    over = not segments and bool(problem.jobs) and not isinstance(problem, DeadlineRewards)
    return Result.of(
        problem,
        None if over else Schedule.of(segments),
        solver=name,
        stop=Stop.TIME_LIMIT if over else Stop.COMPLETED,
        runtime=time.perf_counter() - started,
        info={"seed": seed},
    )
