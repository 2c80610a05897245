"""Jobs to GPUs and places in line at the least sum of completion times: AlloX's matching.

Jobs that need one GPU each, models g with N_g equal GPUs, times p_ig: on one GPU, the job that is
k-th from the end delays k jobs, itself among them, so the sum of completion times is the sum of
k p_ig, and of r_g for each job where all GPUs of a model are free only r_g from now. (GPUs of one
model that become free at different times are models of their own.) Jobs are matched with columns
(g, k), each of which takes N_g of them:

    min  sum_i sum_g sum_k  (r_g + k p_ig) x_igk
    s.t. sum_g sum_k x_igk  = 1    for each job i           [u_i]
         sum_i x_igk       <= N_g  for each column (g, k)   [price_gk >= 0]

which is a transportation problem, so its linear program has an integral optimum: with u and prices
such that u_i <= r_g + k p_ig + price_gk everywhere, and sum_i u_i - sum_gk N_g price_gk equals the
objective. The search keeps such prices.

Source: T. N. Le, X. Sun, M. Chowdhury, Z. Liu, "AlloX: Compute Allocation in Hybrid Clusters",
EuroSys 2020; the matching is that of J. Bruno, E. G. Coffman, R. Sethi, "Scheduling independent
tasks to reduce mean finishing time", CACM 17(7), 1974. The algorithm below is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ....instances.arrays import Ints
from .position_matching_core import match

#: the time of a job on a model that it cannot run on
FORBIDDEN = -1
#: times are refused when (jobs + 1) times the longest could take distances beyond 64 bits
LARGEST = 2**59


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matching:
    """Columns of the jobs, whose cost is the least.

    Parameters
    ----------
    model : (jobs,) int array
        Number of the GPU model of each job; -1 for one that no model with a GPU can run.
    position : (jobs,) int array
        k, counted from the end: jobs at position 1 of a model run last. 0 for those without model.
    objective : int
        Sum of r_g + k p_ig, the total completion time when all can start now.

    Examples
    --------
    >>> matching = position_matching([[3, 5], [4, 4], [1, 2]], [1, 1])
    >>> matching.model, matching.position, matching.objective
    (array([0, 1, 0]), array([1, 1, 2]), 9)
    """

    model: Ints
    position: Ints
    objective: int


def position_matching(
    times: ArrayLike, gpus: ArrayLike, delays: ArrayLike | None = None
) -> Matching:
    """Match all jobs with columns (model, position) at the least total cost.

    Optimal. Every job that some model with a GPU can run is matched.

    Parameters
    ----------
    times : (jobs, models) int array
        p_ig, or `FORBIDDEN`.
    gpus : (models,) int array
        N_g.
    delays : (models,) int array, optional
        r_g, from now until the GPUs of a model are free; 0 by default.

    Notes
    -----
    Jobs are inserted one by one along a path that is shortest in reduced costs. Among optima, which
    job gets which model is settled by that: jobs come by falling shortest time, ties to the lower
    number, and of columns at equal distance the lower model, then the lower position comes first.
    Within a model jobs are sorted by time, and of equal times the lower number has the higher
    position (it starts first).

    The columns of a model are always sorted by time, so shifting a job by one position is cheapest
    for the shortest (up) or the longest (down) of its column, and shifting over several positions
    is cheapest step by step. A job that enters a model therefore needs arcs only to the column
    where its time fits (two, between columns): another one is reached by shifts from there at no
    more cost. With columns C = sum_g ceil(jobs / N_g), a search costs O(jobs models + C log C) at
    most, all of them O(jobs (jobs models + C log C)), in space O(jobs models). Few searches get
    far, as jobs come by falling time. One model only: sorted, O(jobs log jobs).

    Examples
    --------
    On one model, the shortest job first: 1, 1 + 3 and 1 + 3 + 4.

    >>> position_matching([[3], [4], [1]], [1]).objective
    13

    It pays to wait 5 s for a GPU that is faster by 6 s.

    >>> position_matching([[9, 3]], [1, 1], [0, 5]).model.tolist()
    [1]
    """
    time, count, delay = _checked(times, gpus, delays)
    able = np.flatnonzero(((time != FORBIDDEN) & (count > 0)).any(axis=1))
    usable = np.flatnonzero((count > 0) & (time[able] != FORBIDDEN).any(axis=0))
    held = [able[:0] for _ in count]
    if usable.size == 1:
        held[int(usable[0])] = able
    else:
        held = _augmented(time, able, count, delay)
    model, position = np.full(len(time), -1), np.zeros(len(time), dtype=np.int64)
    size = np.array([jobs.size for jobs in held], dtype=np.int64)
    jobs, own = np.concatenate([*held, able[:0]]), np.repeat(np.arange(size.size), size)
    order = np.lexsort((-jobs, -time[jobs, own], own))
    jobs, seconds = jobs[order], time[jobs[order], own]
    place = np.arange(jobs.size) - (np.cumsum(size) - size)[own]
    model[jobs], position[jobs] = own, place // count[own] + 1
    cost = delay[own] + position[jobs] * seconds
    return Matching(model=model, position=position, objective=sum(cost.tolist()))


def _augmented(time: Ints, jobs: Ints, count: Ints, delay: Ints) -> list[Ints]:
    """Jobs of all models by shortest paths."""
    allowed = time[jobs]
    open_times = np.where((allowed == FORBIDDEN) | (count == 0), np.iinfo(np.int64).max, allowed)
    order = np.argsort(-open_times.min(axis=1, initial=LARGEST), kind="stable")
    lists, size = match(np.ascontiguousarray(allowed), count, delay, order)
    return [jobs[lists[g, : size[g]]] for g in range(count.size)]


def _integers(name: str, values: ArrayLike, dimensions: int) -> Ints:
    array = np.asarray(values)
    if array.ndim != dimensions:
        raise ValueError(f"position matching: {name} has {array.ndim} dimensions, not {dimensions}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"position matching: {name} of type {array.dtype} are not integers")
    return array.astype(np.int64)


def _checked(
    times: ArrayLike, gpus: ArrayLike, delays: ArrayLike | None
) -> tuple[Ints, Ints, Ints]:
    """Return the arguments as arrays; refuse what is out of range."""
    time, count = _integers("times", times, 2), _integers("gpus", gpus, 1)
    delay = np.zeros_like(count) if delays is None else _integers("delays", delays, 1)
    if time.shape[1] != count.size:
        raise ValueError(
            f"position matching: times has {time.shape[1]} models, gpus has {count.size}"
        )
    if delay.size != count.size:
        raise ValueError(f"position matching: delays has {delay.size} models, gpus {count.size}")
    for name, array in (("gpus", count), ("delays", delay)):
        for g in np.flatnonzero(array < 0)[:1]:
            raise ValueError(f"position matching: {name}[{g}]={array[g]} is below 0")
    for i, g in np.argwhere((time < 1) & (time != FORBIDDEN))[:1]:
        raise ValueError(f"position matching: times[{i}, {g}]={time[i, g]} is below 1")
    late = int(delay.max(initial=0))
    if int(time.max(initial=0)) * (len(time) + 1) + late >= LARGEST:
        raise ValueError(
            f"position matching: times up to {time.max()} for {len(time)} jobs exceed 64 bits"
        )
    return time, count, delay
