"""Preemptive lists that learn: simulated annealing of the jobs' keys.

At every event the jobs with the least p_j g_j^a f_j / w_j run, as far as they fit, p_j being the
seconds that are left and f_j a factor of the job's own. A list that never learns has f_j = 1: it
lets a wide gang wait for GPUs that a change of few keys would free together. A try multiplies one
factor by exp(s N(0, 1)), s one of .1, .4 and 1.5, and is kept if the cost falls, or else with
probability exp(-rise / T). T falls geometrically from a quarter of a mean job's cost to a
sixtieth of that. Jobs are drawn by the square root of their areas.

Reference: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi. Optimization by simulated annealing. Science
220, 1983.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints
from .annealed_core import ListedGangs, Present, Trail, anneal
from .pool import PoolRun, columns, run_pool

__all__ = ["annealed_run"]

SIZES = (0.1, 0.4, 1.5)  #: s of a try
HEAT, COLD = 1 / 4, 1 / 240  #: T at first and last, as a part of the mean cost
TOGETHER = 500  #: tries between two looks at the clock
MOST_STATES = 5 * 10**7  #: jobs in all kept states

#: tries so far, and the least cost
Progress = Callable[[int, float], None]


def annealed_run(
    problem: CompletionTime,
    *,
    power: float = 1.0,
    tries: int = 100_000,
    work: float = 5e9,
    seed: int = 0,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> PoolRun:
    """Return the best run of a list on the pool whose keys are annealed.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan, all of whose GPUs are equal for all jobs.
    power : float
        a, of the list from which it starts.
    tries : int
        Changes of a key, at most.
    work : float
        Jobs that are looked at while they are in the system, at most about: 5e9 take half a minute.
    seed : int
        Of the draws: the same run for the same seed, where the time limit does not end it.
    time_limit : float or None
        Seconds after which the best run so far is returned.
    on_progress : callable, optional
        Called with the number of tries so far and the least cost.

    Returns
    -------
    PoolRun
        No worse than that of :func:`~gangsched.solvers.ours.pool.run_pool` with this power.

    Notes
    -----
    O(events that a change reaches x jobs in the system) a try. Where many thousand jobs wait, too
    many to keep the state before each arrival, it is the run of the list.

    Examples
    --------
    The smallest area first, the wide job waits for three narrow ones that come in turn:

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=f"n{k}", gpus=1, work=5, release=4 * k) for k in range(3)]
    >>> jobs += [Job(id="wide", gpus=4, work=3)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([4]), jobs), "flow")
    >>> runs = run_pool(problem), annealed_run(problem, tries=2_000)
    >>> [problem.objective_of(run.ends.tolist()) for run in runs]
    [31, 21]
    """
    if problem.measure == "makespan":
        raise ValueError("annealed_run: measure='makespan' has no weights")
    plain = run_pool(problem, power=power)
    release, gang = columns(problem.instance)
    weight, need = problem.rates(), np.array(problem.seconds, dtype=np.int64)
    order = np.argsort(release, kind="stable")
    first = release[order]
    gone = np.searchsorted(np.sort(plain.ends), first, side="right")
    present = int((np.arange(1, first.size + 1) - gone).max(initial=0))
    room = min(2 * present + 16, first.size + 2)
    if first.size * room > MOST_STATES or first.size < 2:
        return plain
    gangs = ListedGangs(
        first, need[order], gang[order], weight[order], np.searchsorted(first, first),
        np.array([problem.instance.cluster.gpus]),
    )  # fmt: skip
    base = gang**power / weight
    heat = float(weight @ (plain.ends - release)) / first.size * HEAT
    scale = base[order]
    for done, least in _annealed(gangs, scale, heat, room, tries, work, seed, time_limit):
        if on_progress is not None:
            on_progress(done, least)
    factors = np.empty_like(base)
    factors[order] = scale / base[order]
    found = run_pool(problem, power=power, weights=weight / factors)
    return min(plain, found, key=lambda run: problem.objective_of(run.ends.tolist()))


def _annealed(
    gangs: ListedGangs, best: Floats, heat: float, room: int, tries: int, work: float, seed: int,
    time_limit: float | None,
) -> Iterator[tuple[int, float]]:  # fmt: skip
    """Write the best factors of what is left of each job; tries so far, and the least cost."""
    count, rng, begun = gangs.release.size, np.random.default_rng(seed), time.monotonic()
    old, new = _trail(count, room), _trail(count, room)
    now, runs = Present(_zeros(room), _zeros(room), np.zeros(room)), _zeros(room)
    scale, costs = best.copy(), np.array([np.inf, np.inf, 0.0])
    drawn = np.cumsum(np.sqrt(gangs.need * gangs.gang))
    done = 0
    while done < tries:
        gone = costs[2] / work
        if time_limit is not None:
            gone = max(gone, (time.monotonic() - begun) / max(time_limit, 1e-9))
        if gone >= 1:
            return
        more = min(TOGETHER, tries - done)
        part = np.maximum(np.arange(done, done + more) / tries, gone)
        picks = np.searchsorted(drawn, rng.random(more) * drawn[-1], side="right")
        steps, draws = rng.normal(size=more) * rng.choice(SIZES, more), rng.random(more)
        cooled = heat * (COLD / HEAT) ** part
        anneal(gangs, scale, best, costs, now, runs, old, new, picks, steps, draws, cooled)
        done += more
        yield done, float(costs[1])


def _trail(count: int, room: int) -> Trail:
    states = np.zeros((2, count, room), dtype=np.int64)
    return Trail(_zeros(count), states[0], states[1], np.zeros(count))


def _zeros(size: int) -> Ints:
    return np.zeros(size, dtype=np.int64)
