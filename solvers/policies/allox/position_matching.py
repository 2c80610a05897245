"""Jobs to GPUs and places in line at the least sum of completion times: AlloX's matching.

Jobs that need one GPU each, models g with N_g equal GPUs, times p_ig: on one GPU, the job that is
k-th from the end delays k jobs, itself among them, so the sum of completion times is the sum of
k p_ig, and of r_g for each job where all GPUs of a model are free only r_g from now. (GPUs of one
model that become free at different times are models of their own.) Jobs are matched with columns
(g, k), each of which takes N_g of them:

    min  sum_i sum_g sum_k  (r_g + k p_ig) x_igk
    s.t. sum_g sum_k x_igk  = 1    for each job i           [u_i]
         sum_i x_igk       <= N_g  for each column (g, k)   [price_gk >= 0]

which is a transportation problem, so its linear program has an integral optimum, and u and the
prices prove it: u_i <= r_g + k p_ig + price_gk everywhere, and sum_i u_i - sum_gk N_g price_gk
equals the objective (:func:`optimality_violations`).

Source: T. N. Le, X. Sun, M. Chowdhury, Z. Liu, "AlloX: Compute Allocation in Hybrid Clusters",
EuroSys 2020; the matching is that of J. Bruno, E. G. Coffman, R. Sethi, "Scheduling independent
tasks to reduce mean finishing time", CACM 17(7), 1974. The algorithm below is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """Columns of the jobs, and the prices that prove their cost to be the least.

    Parameters
    ----------
    model : (jobs,) int array
        Number of the GPU model of each job; -1 for one that no model with a GPU can run.
    position : (jobs,) int array
        k, counted from the end: jobs at position 1 of a model run last. 0 for those without model.
    objective : int
        Sum of r_g + k p_ig, the total completion time when all can start now.
    value : (jobs,) int array
        u_i; 0 for those without model.
    price : sequence of int arrays
        price_gk of each model for k = 1, 2, ... up to its last used position; 0 beyond.

    Examples
    --------
    >>> matching = position_matching([[3, 5], [4, 4], [1, 2]], [1, 1])
    >>> matching.model, matching.position, matching.objective
    (array([0, 1, 0]), array([1, 1, 2]), 9)
    """

    model: Ints
    position: Ints
    objective: int
    value: Ints
    price: Sequence[Ints]


def position_matching(
    times: ArrayLike, gpus: ArrayLike, delays: ArrayLike | None = None
) -> Matching:
    """Match all jobs with columns (model, position) at the least total cost.

    Optimal, with proof. Every job that some model with a GPU can run is matched.

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
    if usable.size == 1:
        held, price = _sorted_alone(time, able, int(usable[0]), count)
    else:
        held, price = _augmented(time, able, count, delay)
    model, position = np.full(len(time), -1), np.zeros(len(time), dtype=np.int64)
    value = np.zeros(len(time), dtype=np.int64)
    size = np.array([jobs.size for jobs in held], dtype=np.int64)
    jobs, own = np.concatenate([*held, able[:0]]), np.repeat(np.arange(size.size), size)
    order = np.lexsort((-jobs, -time[jobs, own], own))
    jobs, seconds = jobs[order], time[jobs[order], own]
    place = np.arange(jobs.size) - (np.cumsum(size) - size)[own]
    model[jobs], position[jobs] = own, place // count[own] + 1
    first = np.cumsum([0, *(prices.size for prices in price)])[own]
    cost = delay[own] + position[jobs] * seconds
    value[jobs] = cost + np.concatenate([*price, able[:0]])[first + position[jobs] - 1]
    return Matching(
        model=model, position=position, objective=sum(cost.tolist()), value=value, price=price
    )


def _sorted_alone(time: Ints, jobs: Ints, g: int, count: Ints) -> tuple[list[Ints], list[Ints]]:
    """All jobs on one model; a column costs what the first jobs of the later columns take."""
    held = [np.zeros(0, dtype=np.int64) for _ in count]
    price = held.copy()
    held[g] = jobs
    longest = np.sort(time[jobs, g])[::-1][:: count[g]]
    price[g] = longest[::-1].cumsum()[::-1] - longest
    return held, price


def _augmented(time: Ints, jobs: Ints, count: Ints, delay: Ints) -> tuple[list[Ints], list[Ints]]:
    """Jobs and prices of all models by shortest paths."""
    allowed = time[jobs]
    open_times = np.where((allowed == FORBIDDEN) | (count == 0), np.iinfo(np.int64).max, allowed)
    order = np.argsort(-open_times.min(axis=1, initial=LARGEST), kind="stable")
    lists, size, first, prices = match(np.ascontiguousarray(allowed), count, delay, order)
    held = [jobs[lists[g, : size[g]]] for g in range(count.size)]
    used = -(-size // np.maximum(count, 1))
    return held, [prices[a : a + n].copy() for a, n in zip(first[:-1], used, strict=True)]


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


def optimality_violations(
    times: ArrayLike, gpus: ArrayLike, matching: Matching, delays: ArrayLike | None = None
) -> list[str]:
    """Return what keeps `matching` from being proven optimal, one message each; empty if it is.

    Notes
    -----
    Exact integers, and no code of the search. Checked are: all jobs that can run are matched, with
    a model that they can run on; no column holds more than N_g jobs; prices are at least 0; u_i is
    at most r_g + k p_ig + price_gk in every column (beyond the last price without it, which grows);
    and both sides are worth the same. Then for any matching x, sum u - sum N price <= its cost.
    O(jobs columns).

    Examples
    --------
    >>> times, gpus = [[3], [4], [1]], [1]
    >>> optimality_violations(times, gpus, position_matching(times, gpus))
    []
    """
    time, count, delay = _checked(times, gpus, delays)
    found = _infeasible(time, count, matching)
    return found or _unproven(time, count, delay, matching)


def _infeasible(time: Ints, count: Ints, matching: Matching) -> list[str]:
    """Return what `matching` breaks as a matching."""
    found = []
    can = (time != FORBIDDEN) & (count > 0)
    used: dict[tuple[int, int], int] = {}
    for i, (g, k) in enumerate(zip(matching.model, matching.position, strict=True)):
        if g < 0:
            if can[i].any():
                found.append(f"job {i} is not matched although it can run")
            elif matching.value[i] != 0:
                found.append(f"job {i} cannot run, it is worth 0 and not {matching.value[i]}")
        elif not (1 <= k <= len(time) and can[i, g]):
            found.append(f"job {i} cannot have position {k} of model {g}")
        else:
            used[int(g), int(k)] = used.get((int(g), int(k)), 0) + 1
    for (g, k), jobs in used.items():
        if jobs > count[g]:
            found.append(f"position {k} of model {g} has {jobs} jobs for {count[g]} GPUs")
    return found


def _unproven(time: Ints, count: Ints, delay: Ints, matching: Matching) -> list[str]:
    """Return where the prices fail to prove that `matching` costs least."""
    found, cost, dual = [], 0, sum(matching.value.tolist())
    for g, price in enumerate(matching.price):
        dual -= int(count[g]) * sum(price.tolist())
        mine = matching.model == g
        cost += sum((delay[g] + matching.position[mine] * time[mine, g]).tolist())
        if price.size > len(time) or ((price < 0) | (price > 2**62)).any():
            found.append(f"prices of model {g} are too many, below 0 or above 2**62")
            continue
        can = np.flatnonzero((time[:, g] != FORBIDDEN) & (count[g] > 0))
        for k, add in enumerate([*price.tolist(), 0], start=1):
            for i in can[matching.value[can] > delay[g] + k * time[can, g] + add][:1]:
                found.append(f"job {i} is worth more than position {k} of model {g} costs")
    if not cost == dual == matching.objective:
        found.append(f"cost {cost}, prices' bound {dual}, objective {matching.objective} differ")
    return found
