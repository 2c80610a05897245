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
from collections.abc import Callable

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints
from .annealed_core import ListedGangs, Present, Trail, anneal, first_run
from .pool import PoolRun, run_pool

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
        Seconds after which the best run so far is returned, as after Ctrl-C.
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
    jobs = problem.jobs
    order = np.argsort([job.release for job in jobs], kind="stable")
    release = np.array([job.release for job in jobs], dtype=np.int64)[order]
    ends = np.sort(plain.ends)
    present = np.arange(1, release.size + 1) - np.searchsorted(ends, release, side="right")
    room = min(2 * int(present.max(initial=0)) + 16, release.size + 2)
    if release.size * room > MOST_STATES or release.size < 2:
        return plain
    gang = np.array([job.gpus for job in jobs], dtype=np.int64)
    weight = problem.rates()
    gangs = ListedGangs(
        release, np.array(problem.seconds, dtype=np.int64)[order], gang[order], weight[order],
        np.searchsorted(release, release), np.array([problem.instance.cluster.gpus]),
    )  # fmt: skip
    base = gang**power / weight
    best = _annealed(gangs, base[order], room, tries, work, seed, time_limit, on_progress)
    factors = np.empty_like(best)
    factors[order] = best / base[order]
    found = run_pool(problem, power=power, weights=weight / factors)
    return min(plain, found, key=lambda run: problem.objective_of(run.ends.tolist()))


def _annealed(
    gangs: ListedGangs, scale: Floats, room: int, tries: int, work: float, seed: int,
    time_limit: float | None, on_progress: Progress | None,
) -> Floats:  # fmt: skip
    """The best factors of what is left of each job."""
    count, rng, begun = gangs.release.size, np.random.default_rng(seed), time.monotonic()
    old, new = _trail(count, room), _trail(count, room)
    now = Present(_zeros(room), _zeros(room), np.zeros(room))
    runs, scale, best = _zeros(room), scale.copy(), scale.copy()
    cost = first_run(gangs, scale, now, runs, old)
    costs, mean = np.array([cost, cost, 0.0]), cost / count
    drawn = np.cumsum(np.sqrt(gangs.need * gangs.gang))
    done = 0
    try:
        while done < tries:
            gone = costs[2] / work
            if time_limit is not None:
                gone = max(gone, (time.monotonic() - begun) / max(time_limit, 1e-9))
            if gone >= 1:
                break
            more = min(TOGETHER, tries - done)
            part = np.maximum(np.arange(done, done + more) / tries, gone)
            picks = np.searchsorted(drawn, rng.random(more) * drawn[-1], side="right")
            steps = rng.normal(size=more) * rng.choice(SIZES, more)
            heat = mean * HEAT * (COLD / HEAT) ** part
            anneal(
                gangs, scale, best, costs, now, runs, old, new, picks, steps, rng.random(more), heat
            )
            done += more
            if on_progress is not None:
                on_progress(done, float(costs[1]))
    except KeyboardInterrupt:
        pass  # the best so far
    return best


def _trail(count: int, room: int) -> Trail:
    states = np.zeros((2, count, room), dtype=np.int64)
    return Trail(_zeros(count), states[0], states[1], np.zeros(count))


def _zeros(size: int) -> Ints:
    return np.zeros(size, dtype=np.int64)
