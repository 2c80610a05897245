"""Orders of ends that learn: simulated annealing, of which each try is a linear program.

A list stops gangs at releases and completions only, and has as many orders of ends as lists. Here
the order in which jobs end, among themselves and the releases, is what changes, and the best
schedule of each order is that of :func:`~gangsched.solvers.ours.configurations.by_order`, which
stops gangs wherever it helps. In a try jobs that ended together end in any order, and up to
:data:`MOVED` others some events earlier or later. Where nothing ends together no order nearby is
better: so ties are where schedules improve at once, and moves lead to other ones. A try is kept
if its cost is less than that of the schedule now and T E, E exponential with mean 1, as by the rule
of Metropolis; for the worst user's ratio T is 0. T falls from twice a mean job's cost, over the
number of jobs, to 0.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.sharing_incentive import SharingIncentive
from ...instances.arrays import Floats, Ints
from ...instances.schedule import Schedule
from ..result import Result, Stop
from ..signature import solver
from .annealed import Annealing, annealed_run, annealed_users
from .configurations import by_order
from .pool import PoolRun, columns, schedule_of
from .user_order import Members, user_runs

#: jobs up to which orders are tried; tries at most, and jobs in all tries
MOST_ORDERED, MOST_TRIES, MOST = 300, 400, 20_000
MOVED, FAR = 2, 3  #: jobs that a try moves at most, and events that it moves them by
TIED = 0.4  #: seconds that ends are moved by, for ties to be of any order
HEAT = 2.0  #: T at first, in mean costs over the number of jobs
EQUAL = 1e-9  #: costs that differ by less, relatively, are the same
LISTS, USERS_LISTS, SHARE = 200, 50, 0.25  #: tries of lists a job, and their share of a time limit
ROUNDS = 30  #: of users' weights before


def tries_of(jobs: int) -> int:
    """Return how many orders of so many jobs are tried in some seconds; 0 for too many jobs.

    Examples
    --------
    >>> tries_of(8), tries_of(100), tries_of(301)
    (64, 200, 0)
    """
    return min(jobs**2, MOST_TRIES, MOST // max(jobs, 1)) if jobs <= MOST_ORDERED else 0


def annealed_order(
    problem: CompletionTime, run: PoolRun, how: Annealing, users: Members | None = None
) -> PoolRun:
    """Return the best schedule of all orders of ends that were tried.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan, all of whose GPUs are equal for all jobs.
    run : PoolRun
        Of whose order the ends are at first.
    how : Annealing
        With tries of orders, and costs of the flow for `on_progress`; `work` is not used.
    users : Members, optional
        Whose worst ratio is the cost.

    Returns
    -------
    PoolRun
        No worse than the one that was given; on Ctrl-C the best one so far, as its `stop` says.

    Notes
    -----
    A linear program a try: milliseconds for 20 jobs, a tenth of a second for 100.

    Examples
    --------
    A list has five seconds of narrow jobs, and then the wide one; four are possible.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> shapes = [(1, 2), (1, 3), (1, 3), (2, 2)]
    >>> jobs = [Job(id=f"j{k}", gpus=g, work=p) for k, (g, p) in enumerate(shapes)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "flow")
    >>> listed = annealed_run(problem, how=Annealing(100))
    >>> better = annealed_order(problem, listed, Annealing(10))
    >>> [int(run.ends.sum()) for run in (listed, better)]
    [17, 16]
    """
    release, gang = columns(problem.instance)
    work, rates = np.array(problem.seconds, dtype=np.int64), problem.rates()
    gpus, known = problem.instance.cluster.gpus, np.unique(release)
    rng, begun = np.random.default_rng(how.seed), time.monotonic()
    since = float(rates @ release) if users is None else 0.0

    def cost_of(run: PoolRun) -> float:
        return float(rates @ run.ends if users is None else users.ratios(run.ends).max())

    now = best = run
    cost = least = cost_of(run)
    heat = HEAT * (least - since) / max(release.size, 1) ** 2 if users is None else 0.0
    for done in range(how.tries):
        spent = time.monotonic() - begun
        left = math.inf if how.time_limit is None else how.time_limit - spent
        if left <= 0:
            break
        gone = max(done / how.tries, spent / (spent + left))
        ends = _moved(now.ends, known, rng) if done else now.ends
        above = cost - EQUAL * abs(cost) + heat * (1 - gone) ** 2 * rng.exponential()
        try:
            found = by_order(
                release, gang, work, rates, gpus, ends,
                users=users, start=now, above=above, time_limit=min(left, 5.0),
            ).run  # fmt: skip
        except KeyboardInterrupt:
            return replace(best, stop=Stop.INTERRUPTED)
        if found is not None and cost_of(found) < above:
            now, cost = found, cost_of(found)
            if cost < least - EQUAL * abs(least):
                best, least = now, cost
        if how.on_progress is not None:
            how.on_progress(done + 1, least - since)
    return best


def _moved(ends: Ints, known: Ints, rng: np.random.Generator) -> Floats:
    """Ends of another order."""
    made: Floats = ends + rng.uniform(-TIED, TIED, ends.size)
    for _ in range(int(rng.integers(MOVED + 1))):
        events = np.sort(np.concatenate([known, made, [made.max() + 1]]))
        job, side = int(rng.integers(ends.size)), 1 if rng.random() < 0.5 else -1
        at = int(np.searchsorted(events, made[job])) + side * int(rng.integers(1, FAR + 1))
        made[job] = events[np.clip([at, at + side], 0, events.size - 1)].mean()
    return made


@solver(of=CompletionTime)
def end_order(problem: CompletionTime, *, seed: int, time_limit: float | None) -> Result[Schedule]:
    """Anneal a list, and then the order in which its jobs end.

    Guarantee: none.

    Parameters
    ----------
    problem : CompletionTime
        Of 300 jobs at most, with any measure but the makespan, all of whose GPUs are equal for all
        jobs.
    seed : int
        Of what is drawn.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Raises
    ------
    ValueError
        For other problems.

    Notes
    -----
    Gangs may spread over any nodes; pauses and moves are free.

    Examples
    --------
    Three narrow jobs share two GPUs for three seconds. Lists have them done after four.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=1, work=2) for i in "abc"] + [Job(id="wide", gpus=2, work=2)]
    >>> end_order(CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "flow")).objective
    13
    """
    return _solved(problem, problem, LISTS, partial(annealed_run, problem), seed, time_limit)


@solver(of=SharingIncentive)
def user_end_order(
    problem: SharingIncentive, *, seed: int, time_limit: float | None
) -> Result[Schedule]:
    """Anneal a list for the worst user, and then the order in which jobs end.

    Guarantee: none.

    Parameters
    ----------
    problem : SharingIncentive
        Of 300 jobs at most, without a limit.
    seed : int
        Of what is drawn.
    time_limit : float, optional
        Wall seconds.

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`.

    Raises
    ------
    ValueError
        For other problems.

    Notes
    -----
    Gangs may spread over any nodes; pauses and moves are free.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job, User
    >>> jobs = [Job(id="a", gpus=2, work=4, user="u"), Job(id="b", gpus=2, work=5, user="v")]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    >>> user_end_order(SharingIncentive(instance)).objective
    0.9
    """
    begun = min(user_runs(problem, ROUNDS), key=lambda run: run.cost(problem.limit))
    lists = partial(annealed_users, problem, begun)
    users = Members.of(problem)
    return _solved(problem, problem.flow, USERS_LISTS, lists, seed, time_limit, users)


def _solved(
    problem: Any, flow: CompletionTime, tries: int, lists: Callable[..., PoolRun], seed: int,
    time_limit: float | None, users: Members | None = None,
) -> Result[Schedule]:  # fmt: skip
    """The result of annealing lists, so many tries a job, and then orders."""
    jobs, started = len(problem.jobs), time.perf_counter()
    if jobs > MOST_ORDERED:
        raise ValueError(f"end_order: {jobs} jobs are more than {MOST_ORDERED}")
    part = None if time_limit is None else SHARE * time_limit
    run = lists(how=Annealing(tries * jobs, seed=seed, time_limit=part))
    if run.stop is Stop.COMPLETED:
        left = None
        if time_limit is not None:
            left = max(started + time_limit - time.perf_counter(), 0.0)
        how = Annealing(tries_of(jobs), seed=seed, time_limit=left)
        run = annealed_order(flow, run, how, users)
    return Result.of(
        problem, schedule_of(flow, run), solver="end_order", stop=run.stop,
        runtime=time.perf_counter() - started, info={"seed": seed},
    )  # fmt: skip
