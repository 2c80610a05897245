"""Preemptive lists that learn: simulated annealing of the jobs' keys.

At every event the jobs with the least p_j g_j^a f_j / w_j run, as far as they fit, p_j being the
seconds that are left and f_j a factor of the job's own. A list that never learns has f_j = 1: it
lets a wide gang wait for GPUs that a change of few keys would free together. A try multiplies one
factor by exp(s N(0, 1)), s one of .1, .4, 1.5 and 4, and is kept if the cost falls, or else with
probability exp(-rise / T). The largest s lets a long job overtake all others at once, where every
part of that way costs: one such job can be worth a per cent. T falls geometrically from a tenth of
a mean job's cost to a twenty-fourth of that. Jobs are drawn by the square root of their areas.

On several GPU models each job also has an order of models, and takes the first one with room: that
by their costs of its work at first (:mod:`gangsched.solvers.ours.model_order`). Then some tries let
two neighbours in an order change places.

Of users the cost is the worst ratio and the mean of all by the shares y_u of
:mod:`gangsched.solvers.ours.user_order`, from which it starts: the worst one alone would let
others wait for nothing.

Reference: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi. Optimization by simulated annealing. Science
220, 1983.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.sharing_incentive import SharingIncentive
from ...instances.arrays import Floats, Ints
from ...instances.model import FULL_SPEED
from ..result import Stop
from .annealed_core import EACH, ListedGangs, Present, Trail, anneal
from .model_order import ModelRun, by_speed, gpus_of_models, keys_of, run_by, run_models
from .model_order_core import Keys
from .pool import PoolRun, columns, run_pool
from .user_order import Members, UserRun

SIZES = (0.1, 0.4, 1.5, 4.0)  #: s of a try
HEAT, COLD = 1 / 10, 1 / 240  #: T at first and last, as a part of the mean cost
USERS_HEAT = 1 / 40  #: at first, of the worst user's mean cost
TOGETHER, AT_ONCE = 500, 3e7  #: tries and looks at jobs between two looks at the clock
MOST_STATES = 5 * 10**7  #: jobs in all kept states


@dataclass(frozen=True)
class Annealing:
    """How long keys are annealed.

    Parameters
    ----------
    tries : int
        Changes of a key, at most.
    work : float
        How often jobs are looked at, at most about: 1.6e10 take a minute.
    seed : int
        Of the draws: the same run for the same seed, where the time limit does not end it.
    time_limit : float or None
        Seconds after which the best run so far is returned.
    on_progress : callable, optional
        Called with the number of tries so far and the least cost, of users the worst ratio.
    """

    tries: int = 100_000
    work: float = 1.6e10
    seed: int = 0
    time_limit: float | None = None
    on_progress: Callable[[int, float], None] | None = None


ONCE = Annealing()


def annealed_run(problem: CompletionTime, *, power: float = 1.0, how: Annealing = ONCE) -> PoolRun:
    """Return the best run of a list on the pool whose keys are annealed.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan, all of whose GPUs are equal for all jobs.
    power : float
        a, of the list from which it starts.
    how : Annealing

    Returns
    -------
    PoolRun
        No worse than that of :func:`~gangsched.solvers.ours.pool.run_pool` with this power.

    Notes
    -----
    O(events that a change reaches x jobs in the system) a try. Where many thousand jobs wait, too
    many to keep the states before the arrivals, it is the run of the list. On Ctrl-C it is the best
    one so far, and its `stop` says so.

    Examples
    --------
    The smallest area first, the wide job waits for three narrow ones that come in turn:

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=f"n{k}", gpus=1, work=5, release=4 * k) for k in range(3)]
    >>> jobs += [Job(id="wide", gpus=4, work=3)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([4]), jobs), "flow")
    >>> runs = run_pool(problem), annealed_run(problem, how=Annealing(tries=200))
    >>> [problem.objective_of(run.ends.tolist()) for run in runs]
    [31, 21]
    """
    _check(problem)
    plain, weight = run_pool(problem, power=power), problem.rates()
    gang = columns(problem.instance)[1]
    keys = Keys(gang**power / weight, np.zeros((gang.size, 1), dtype=np.int64))
    best, stop = _annealed(problem, weight, keys, plain.ends, how)
    found = run_pool(problem, power=0.0, weights=1 / best.scale)
    least = min(plain, found, key=lambda run: problem.objective_of(run.ends.tolist()))
    return replace(least, stop=stop)


def annealed_models(problem: CompletionTime, prices: Floats, *, how: Annealing = ONCE) -> ModelRun:
    """Return the best run on several GPU models of a list whose keys and models are annealed.

    Parameters
    ----------
    problem : CompletionTime
        With any measure but the makespan.
    prices : (models,) array
        Of the list from which it starts.
    how : Annealing

    Returns
    -------
    ModelRun
        No worse than that of :func:`~gangsched.solvers.ours.model_order.run_models`.

    Notes
    -----
    As of :func:`annealed_run`.

    Examples
    --------
    The short job is the cheaper one, but the long one gains more from the new GPU:

    >>> from gangsched.instances import Cluster, Instance, Job, Node
    >>> cluster = Cluster([Node("n", 1, "new"), Node("o", 1, "old")])
    >>> jobs = [
    ...     Job(id="short", gpus=1, work=20, speeds={"new": 2.0, "old": 1.0}),
    ...     Job(id="long", gpus=1, work=99, speeds={"new": 9.0, "old": 1.0}),
    ... ]
    >>> problem, prices = CompletionTime(Instance(cluster, jobs)), np.array([1.0, 1.0])
    >>> run_models(problem, prices).ends.tolist()
    [10, 20]
    >>> annealed_models(problem, prices, how=Annealing(tries=100)).ends.tolist()
    [16, 11]
    """
    _check(problem)
    plain = run_models(problem, prices)
    best, stop = _annealed(problem, problem.rates(), keys_of(problem, prices), plain.ends, how)
    found = run_by(problem, best)
    least = min(plain, found, key=lambda run: problem.objective_of(run.ends.tolist()))
    return replace(least, stop=stop)


def annealed_users(problem: SharingIncentive, begun: UserRun, *, how: Annealing = ONCE) -> PoolRun:
    """Return the best run of a list on the pool whose keys are annealed for the worst user.

    Parameters
    ----------
    problem : SharingIncentive
        Without a limit.
    begun : UserRun
        By whose weights of the users it starts.
    how : Annealing

    Returns
    -------
    PoolRun
        In which the worst ratio is no larger than it was.

    Notes
    -----
    As of :func:`annealed_run`.

    Examples
    --------
    No weight of a user changes which of its own jobs comes first:

    >>> from gangsched.instances import Cluster, Instance, Job, User
    >>> from gangsched.solvers.ours.user_order import user_runs
    >>> jobs = [Job(id=f"n{k}", gpus=1, work=5, release=4 * k, user="u") for k in range(3)]
    >>> jobs += [Job(id="wide", gpus=4, work=3, user="u")]
    >>> jobs += [Job(id="late", gpus=1, work=3, release=99, user="v")]
    >>> instance = Instance(Cluster.of_sizes([4]), jobs, [User("u"), User("v")])
    >>> problem = SharingIncentive(instance, "stretch")
    >>> begun = next(user_runs(problem, 1))
    >>> runs = begun.run, annealed_users(problem, begun, how=Annealing(tries=200))
    >>> [problem.flows_of(run.ends)["u"] for run in runs]
    [31, 21]
    """
    if problem.limit is not None:
        raise ValueError(f"annealed_users: limit={problem.limit} is no worst ratio")
    members = Members.of(problem)
    gang, weight = columns(problem.instance)[1], 1 / members.over[members.user]
    keys = Keys(gang / members.weights(begun.shares), np.zeros((gang.size, 1), dtype=np.int64))
    best, stop = _annealed(problem.flow, weight, keys, begun.run.ends, how, (members, begun.shares))
    found = run_pool(problem.flow, power=0.0, weights=1 / best.scale)
    least = min(begun.run, found, key=lambda run: members.ratios(run.ends).max())
    return replace(least, stop=stop)


def _check(problem: CompletionTime) -> None:
    """Refuse what has no weights."""
    if problem.measure == "makespan":
        raise ValueError("annealed_run: measure='makespan' has no weights")


def _annealed(
    problem: CompletionTime, weight: Floats, begun: Keys, ends: Ints, how: Annealing,
    users: tuple[Members, Floats] | None = None,
) -> tuple[Keys, Stop]:  # fmt: skip
    """The best keys, from those of a run with these ends; of users with shares, for the worst."""
    release, gang = columns(problem.instance)
    order = np.argsort(release, kind="stable")
    gone = np.searchsorted(np.sort(ends), release[order], side="right")
    present = int((np.arange(1, order.size + 1) - gone).max(initial=0))
    room = 2 * present + 2 * EACH
    if order.size // EACH * room > MOST_STATES or order.size < 2:
        return begun, Stop.COMPLETED
    need, speed, capacity = _work(problem)
    group, first, share = _zeros(order.size), np.zeros(1), np.zeros(1)
    if users is not None:
        members, share = users
        group, first = members.user, -members.less / members.over
    rows, kind = np.unique(speed, axis=0, return_inverse=True)
    gangs = ListedGangs(
        release[order], need[order], gang[order], weight[order], group[order], first, share,
        speed[order], kind.ravel()[order], by_speed(rows), capacity,
    )  # fmt: skip
    paid = np.bincount(group, weight * (ends - release)) + first
    worst = int(paid.argmax())
    heat = float(paid[worst] - first[worst]) / np.count_nonzero(group == worst)
    heat *= HEAT if users is None else USERS_HEAT
    best, stop = Keys(begun.scale[order], begun.models[order]), Stop.COMPLETED
    try:
        for done, least in _tries(gangs, best, heat, room, how):
            if how.on_progress is not None:
                how.on_progress(done, least)
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    back = np.argsort(order)
    return Keys(best.scale[back], best.models[back]), stop


def _work(problem: CompletionTime) -> tuple[Ints, Ints, Ints]:
    """Needs, what a second on each model does of them, and the GPUs of each model."""
    if not problem.mixed:
        need = np.array(problem.seconds, dtype=np.int64)
        return need, np.ones((need.size, 1), dtype=np.int64), gpus_of_models(problem)
    need = np.array([job.work for job in problem.jobs], dtype=np.int64) * FULL_SPEED
    return need, problem.speeds, gpus_of_models(problem)


def _tries(
    gangs: ListedGangs, best: Keys, heat: float, room: int, how: Annealing
) -> Iterator[tuple[int, float]]:
    """Write the best keys; tries so far, and the least cost."""
    count, models, groups = gangs.release.size, gangs.gpus.size, gangs.first.size
    rng, begun = np.random.default_rng(how.seed), time.monotonic()
    old, new = _trail(count, room, groups), _trail(count, room, groups)
    now = Present(
        _zeros(room), _zeros(room), np.zeros(room), _zeros(room), _zeros(room),
        _zeros(count) - 1, _zeros(count) - 1, _zeros(models), np.zeros(groups), np.zeros(groups),
        _zeros(1),
    )  # fmt: skip
    keys, costs = Keys(best.scale.copy(), best.models.copy()), np.full(2, np.inf)
    total = np.zeros(groups)
    drawn = np.cumsum(np.sqrt(gangs.need.astype(np.float64) * gangs.gang))
    done = 0
    while done < how.tries:
        gone = float(now.looks[0]) / how.work
        if how.time_limit is not None:
            gone = max(gone, (time.monotonic() - begun) / max(how.time_limit, 1e-9))
        if gone >= 1:
            return
        few = int(AT_ONCE * done / max(int(now.looks[0]), 1))
        more = min(TOGETHER, how.tries - done, max(few, 1))
        part = np.maximum(np.arange(done, done + more) / how.tries, gone)
        picks = np.searchsorted(drawn, rng.random(more) * drawn[-1], side="right")
        steps, draws = rng.normal(size=more) * rng.choice(SIZES, more), rng.random(more)
        places = rng.integers(-models, models, more).clip(0) if models > 1 else _zeros(more)
        cooled = heat * (COLD / HEAT) ** part
        anneal(gangs, keys, best, costs, total, now, old, new, picks, places, steps, draws, cooled)
        done += more
        yield done, float(costs[1])


def _trail(count: int, room: int, groups: int) -> Trail:
    kept = -(-count // EACH)
    states = np.zeros((3, kept, room), dtype=np.int64)
    return Trail(_zeros(kept), states[0], states[1], states[2], np.zeros((kept, groups)))


def _zeros(size: int) -> Ints:
    return np.zeros(size, dtype=np.int64)
