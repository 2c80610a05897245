"""Jobs with deadlines into the cheapest free GPU time: greedily, then by ruin and recreate.

An offline schedule: it knows all jobs in advance, and pauses and moves them for free. The GPUs
are one pool first, in which each job takes the seconds in which its gang is free that are cheapest
at given prices (those of a bound, :func:`gangsched.reward_bound`); the pieces are then put on
nodes, with repacking.

*Greedy.* Jobs by value per GPU second, V / (D p), the largest first; each wins the first reward
whose window has p seconds free.

*Ruin and recreate.* A job without its first reward is drawn, and up to six of its neighbours by
release. They are taken out; the job is put in, then they and, every second time, all its neighbours
that could win more, the densest first. What wins less is undone.

References
----------
G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck. Record breaking optimization results using
the ruin and recreate principle. Journal of Computational Physics 159, 2000.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...formulations.deadline_rewards import DeadlineRewards
from ...instances.arrays import Ints
from ...instances.check import integer
from ...instances.schedule import Schedule
from ..result import Result, Stop
from ..signature import solver
from .repacking_core import place_gangs
from .reward_pool_core import DRAWS, fill_pool


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSearchParams:
    """Parameters of :func:`reward_search`.

    Parameters
    ----------
    moves : int
        How often to ruin and recreate.
    """

    moves: int = 5_000

    def __post_init__(self) -> None:
        integer(self, "RewardSearchParams", "moves", least=0)


@solver(RewardSearchParams, of=DeadlineRewards)
def reward_search(
    problem: DeadlineRewards, *, seed: int, params: RewardSearchParams
) -> Result[Schedule]:
    """Fill the cheapest free GPU time by value per GPU second, then ruin and recreate.

    Guarantee: none.

    Parameters
    ----------
    problem : DeadlineRewards
    seed : int
        Of the jobs that are taken out.
    params : RewardSearchParams

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Notes
    -----
    Gangs keep their size, elastic or not. Jobs that only some of the nodes may run (pins) are left
    out. Where gangs are no powers of two, or nodes of several sizes, a gang may find no node that
    can hold it, runs slower on several, and may miss its deadline. O(jobs x segments of the pool
    within their windows) for the first schedule, compiled.

    Examples
    --------
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> strict = DeadlineJob(id="a", gpus=1, work=4, rewards=[(4, 100)])
    >>> soft = DeadlineJob(id="b", gpus=1, work=4, rewards=[(6, 100), (8, 80)])
    >>> reward_search(DeadlineRewards(Instance(Cluster.of_sizes([1]), [strict, soft]))).objective
    180
    """
    started = time.perf_counter()
    return Result.of(
        problem,
        priced_schedule(problem, moves=params.moves, seed=seed),
        solver="reward_search",
        stop=Stop.COMPLETED,
        runtime=time.perf_counter() - started,
        info={"seed": seed},
    )


def priced_schedule(
    problem: DeadlineRewards,
    times: Sequence[int] = (),
    prices: Sequence[int] = (),
    *,
    moves: int = 5_000,
    seed: int = 0,
) -> Schedule:
    """Return the schedule that :func:`reward_search` finds, with prices of GPU time.

    Parameters
    ----------
    problem : DeadlineRewards
    times : sequence of int
        Rising; none for equal prices.
    prices : sequence of int
        Of a GPU second between each two times; outside it costs nothing.
    moves, seed : int
        As of :func:`reward_search`.

    Examples
    --------
    The job takes the seconds that cost nothing:

    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id="a", gpus=1, work=4, rewards=[(9, 100)])]
    >>> problem = DeadlineRewards(Instance(Cluster.of_sizes([1]), jobs))
    >>> found = priced_schedule(problem, [0, 3, 5], [0, 7])
    >>> list(zip(found.start.tolist(), found.end.tolist()))
    [(0, 3), (5, 6)]
    """
    models = {node.model for node in problem.instance.cluster.nodes}
    chosen = [
        (j, job, rows)
        for j, job in enumerate(problem.jobs)
        if models <= {job.pin or node for node in models}
        and (rows := [(job.release + d, v) for d, v in job.rewards if d >= (job.work or 0)])
    ]
    if not chosen:
        return Schedule.of([])
    chosen.sort(key=lambda one: one[1].release)
    columns = [[job.release, job.work, job.gpus] for _, job, _ in chosen]
    start, need, gang = np.array(columns, dtype=np.int64).T.copy()
    ptr = np.cumsum([0, *(len(rows) for _, _, rows in chosen)])
    stop = np.array([stop for _, _, rows in chosen for stop, _ in rows], dtype=np.int64)
    worth = np.array([value for _, _, rows in chosen for _, value in rows], dtype=np.float64)
    order = np.argsort(-worth[ptr[:-1]] / (need * gang), kind="stable")
    edges, cheapest = _edges(int(start[0]), int(stop.max()), times, prices)
    pieces, count = fill_pool(
        order, start, need, gang, ptr, stop, worth, edges, cheapest,
        problem.instance.cluster.gpus, np.random.default_rng(seed).random((moves, DRAWS)),
    )  # fmt: skip
    numbers = np.array([j for j, _, _ in chosen], dtype=np.int64)
    return on_nodes(problem, pieces, np.repeat(numbers, count))


def _edges(low: int, high: int, times: Sequence[int], prices: Sequence[int]) -> tuple[Ints, Ints]:
    """The edges of the prices from `low` to `high`, and the intervals by price, then time."""
    edges = sorted({low, high, *(t for t in times if low < t < high)})
    at = (bisect_right(times, edge) - 1 for edge in edges[:-1])
    price = [prices[k] if 0 <= k < len(prices) else 0 for k in at]
    order = sorted(range(len(price)), key=lambda k: price[k])
    return np.array(edges, dtype=np.int64), np.array(order, dtype=np.int64)


def on_nodes(problem: DeadlineRewards, pieces: Ints, job: Ints) -> Schedule:
    """The pieces of jobs as segments on nodes."""
    start, end = pieces[:, 0].copy(), pieces[:, 1].copy()
    gang = np.array([one.gpus for one in problem.jobs], dtype=np.int64)[job]
    sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
    by_start, by_end = np.lexsort((job, start)), np.argsort(end, kind="stable")
    segments, entries = place_gangs(by_start, by_end, start, end, gang, sizes)
    piece, begin, stop = segments[:, 0], segments[:, 1], segments[:, 2]
    ptr = np.append(segments[:, 3], len(entries))
    return Schedule(job[piece], begin, stop, ptr, entries[:, 0], entries[:, 1])
