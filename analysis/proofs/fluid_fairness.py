"""How fair anyone could be: upper bounds of the least LTGF fairness, with certificates.

====================  ==========================================  ==================================
bound                 of what                                     holds for
====================  ==========================================  ==================================
:func:`fluid_bound`   jobs that all stay active (`LtgfFluid`)     any policy, while they do
:func:`life_bound`    jobs that come, run and go (`Ltgf`)         any schedule, over whole lives
====================  ==========================================  ==================================

Both assume that suspending and moving cost nothing (or that overhead is not counted as service),
and that a gang runs wherever enough GPUs are free. The verifier of certificates holds the proofs
and shares no code with the searches here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np

from ...formulations.ltgf.fluid import LtgfFluid
from ...formulations.ltgf.problem import Ltgf, quota_of
from ...instances.model import Instance
from ...solvers.result import Bound
from .configurations import SMOOTHING, TOLERANCE, Floats, Ints, Master, best_packing
from .rounding import float_above

#: duals are rounded down to multiples of 1 / SCALE of the best packing's worth
SCALE = 10**12

# -- jobs that stay active ------------------------------------------------------------------------


def fluid_bound(problem: LtgfFluid, *, time_limit: float | None = None) -> Bound:
    """Return lambda*, the largest least fairness of jobs that all stay active, as a bound.

    Notes
    -----
    It holds for any policy while all these jobs stay active, their shares stay the same, and
    suspending is free: at the end of any such interval, over which allocations and fair shares are
    counted, some job's rho is at most this. It is no bound on the rho of whole lives in a run in
    which jobs come and go: :func:`life_bound` is.

    1 / lambda* is the least sum of w_p over packings p that covers every job i for f_i / D_i, found
    by column generation; a packing of most worth is a bounded knapsack over kinds (D_i, f_i)
    of jobs, O(M kinds log jobs) by dynamic programming. The duals priced are smoothed by the best
    so far.

    Examples
    --------
    Two gangs of 3 on 4 GPUs deserve 2 each, and can have 1.5.

    >>> from gangsched.formulations.ltgf.fluid import LtgfFluid
    >>> bound = fluid_bound(LtgfFluid(4, (3, 3), (2, 2)))
    >>> bound.value, bound.certificate["duals"]
    (0.75, [1000000000000, 1000000000000])
    """
    kinds = Counter(zip(problem.gangs, problem.shares, strict=True))
    order = sorted(kinds, reverse=True)
    sizes = np.array([gang for gang, _ in order], dtype=np.int64)
    copies = np.array([kinds[kind] for kind in order], dtype=np.int64)
    time = [Fraction(share) / gang for gang, share in order]
    end = math.inf if time_limit is None else monotonic() + time_limit
    duals, scale = _duals(sizes, copies, np.array([float(t) for t in time]), problem.gpus, end)
    by_kind = dict(zip(order, duals, strict=True))
    terms = (kinds[kind] * t * by_kind[kind] for kind, t in zip(order, time, strict=True))
    needed = sum(terms, start=Fraction(0))
    values = [by_kind[kind] for kind in zip(problem.gangs, problem.shares, strict=True)]
    certificate = {"kind": "packing", "scale": scale, "duals": values}
    return Bound(float_above(scale / needed), "fractional packing", certificate)


def _duals(sizes: Ints, copies: Ints, time: Floats, gpus: int, end: float) -> tuple[list[int], int]:
    """Best duals found, as integers, and the exact worth of their best packing.

    They are priced from two simple ones on: the kind that needs most of the time, and GPU-time.
    """
    demand = copies * time
    master = Master(demand)
    known = set()
    for column in _greedy_packings(sizes, copies, time, gpus):
        master.add(column)
        known.add(column.tobytes())
    alone = np.eye(sizes.size)[np.argmax(time)] / min(copies[np.argmax(time)], gpus)
    best, centre, tried = 0.0, alone, [alone, sizes / gpus]
    while True:
        value, duals = master.solve()
        for priced in [*tried, SMOOTHING * centre + (1 - SMOOTHING) * duals, duals]:
            column = best_packing(sizes, copies, priced, gpus)
            bound = float(demand @ priced / (column @ priced))
            if bound > best:
                best, centre = bound, priced / (column @ priced)
            if value <= best * (1 + TOLERANCE):
                break
            if column @ duals > 1 + TOLERANCE and column.tobytes() not in known:
                master.add(column)
                known.add(column.tobytes())
                break  # else mispriced: ask the program's own duals
        else:
            break
        if value <= best * (1 + TOLERANCE) or monotonic() >= end:
            break
        tried = []
    whole = np.floor(centre * SCALE)
    scale = int(best_packing(sizes, copies, whole, gpus) @ whole.astype(np.int64))
    return [int(v) for v in whole], scale


def _greedy_packings(sizes: Ints, copies: Ints, time: Floats, gpus: int) -> Iterator[Ints]:
    """Packings that cover all kinds: those that are owed most go first, until one has enough."""
    owed = copies * time  # copies of a kind take turns
    while np.any(owed > 1e-12):
        column, room = np.zeros(sizes.size, dtype=np.int64), gpus
        for k in np.argsort(-owed / np.minimum(copies, gpus // sizes), kind="stable").tolist():
            if owed[k] > 1e-12:
                column[k] = min(int(copies[k]), room // int(sizes[k]))
                room -= int(column[k] * sizes[k])
        yield column
        run = column > 0
        least = (owed[run] / column[run]).min()
        owed = np.where(run, owed - least * column, owed)


def contended_bound(instance: Instance[Any], active: Iterable[int] | None = None) -> Bound:
    """Return lambda* of one moment of a run, from the jobs that are active then.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Job, User
    >>> jobs = [Job(id="a", gpus=3, user="u"), Job(id="b", gpus=3, user="v")]
    >>> cluster, users = Cluster.of_sizes([4]), [User("u"), User("v")]
    >>> contended_bound(Instance(cluster, jobs, users)).value
    0.75
    """
    return fluid_bound(LtgfFluid.of(instance, active))


# -- jobs that come and go ------------------------------------------------------------------------


def life_bound(problem: Ltgf) -> Bound:
    """Return a bound of the least fairness over whole lives, whatever any policy does.

    Notes
    -----
    Theorem. Let q be the quota of a job i's user (M with a single user), and let R(t) be the jobs
    of this user that have been released by time t. Put

        g(t) = q / sum_(k in R(t)) w_k,  with several users min(that, min_(k in R(t)) D_k / w_k).

    Then in every schedule rho_i <= D_i p_i / integral of min(D_i, w_i g(t)) over [r_i, r_i + p_i).

    Proof. Job i is active on [r_i, C_i), and C_i >= r_i + p_i as it needs p_i of time with all its
    GPUs. Let S be the user's active jobs at a moment t of this interval: i is in S, S is within
    R(t). The job's share is min(D_i, w_i f / W) with W = sum_(k in S) w_k. With a single user f = M
    (3), and W is at most the sum over R(t). Otherwise f = min(sum_(k in S) D_k, q) (8); again q / W
    is at least q over the sum of R(t), and sum D_k / sum w_k over S is at least the least of its
    quotients D_k / w_k, so at least the least over R(t). Hence the share is at least
    min(D_i, w_i g(t)), whatever the policy has completed, and F_i, which grows with the life, is at
    least its integral over [r_i, r_i + p_i). At completion A_i = D_i p_i.

    So where one job's share covers its gang for p_i from its release, however badly it is served,
    no policy's least rho exceeds 1. (Treating others worse than necessary cannot lift it either.)
    A bound below 1 would need gangs that cannot run together: see :func:`fluid_bound`, which is
    not of whole lives.

    In a run by rounds, releases are the rounds at which jobs become visible where rho is counted
    from there. Overhead must not count as service. O(jobs log jobs).

    Examples
    --------
    The first job has the cluster for itself until 2, and half of it until 4.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="a", gpus=4, work=4), Job(id="b", gpus=4, work=4, release=2)]
    >>> bound = life_bound(Ltgf(Instance(Cluster.of_sizes([4]), jobs)))
    >>> bound.value, dict(bound.certificate)       # 16 / (2 * 4 + 2 * 2)
    (1.3333333333333335, {'kind': 'life', 'job': 0})
    """
    users: dict[str, list[int]] = {}
    for i in range(len(problem.jobs)):
        users.setdefault(problem._owner(i), []).append(i)
    best = min((_of_user(problem, user, jobs) for user, jobs in users.items()))
    job = best[1]
    value = problem.service(job) / _least_fair_time(problem, job)
    return Bound(float_above(value), "least share of a life", {"kind": "life", "job": job})


def _of_user(problem: Ltgf, user: str, jobs: Sequence[int]) -> tuple[float, int]:
    """(bound, job) of the user's best job, in floats."""
    own = [problem.jobs[i] for i in jobs]
    rows = [(job.release, job.work, job.gpus, job.weight) for job in own]
    release, work, gang, weight = np.array(rows, dtype=float).T
    times, rate = _rates(problem, user, release, gang, weight)
    steps = np.diff(times) * rate[:-1]
    total = np.concatenate([[0.0], np.cumsum(steps)])  # integral of g from times[0]

    def integral(t: Floats) -> Floats:
        k = np.searchsorted(times, t, side="right") - 1
        result: Floats = total[k] + rate[k] * (t - times[k])
        return result

    # g does not increase: it falls below D / w once, at `turn`
    first = np.searchsorted(-rate, -gang / weight, side="right")
    turn = np.append(times, np.inf)[first]
    turn = np.clip(turn, release, release + work)
    fair = gang * (turn - release) + weight * (integral(release + work) - integral(turn))
    ratio = gang * work / fair
    k = int(np.argmin(ratio))
    return float(ratio[k]), jobs[k]


def _rates(
    problem: Ltgf, user: str, release: Floats, gang: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    """Releases of the user's jobs, and g from each of them on."""
    order = np.argsort(release, kind="stable")
    rate = float(quota_of(problem.instance, user)) / np.cumsum(weight[order])
    if len(problem.instance.users) > 1:
        rate = np.minimum(rate, np.minimum.accumulate((gang / weight)[order]))
    times, last = np.unique(release[order][::-1], return_index=True)
    return times, rate[order.size - 1 - last]  # the last job of each release counts


def _least_fair_time(problem: Ltgf, job: int) -> Fraction:
    """The theorem's integral, exactly."""
    owner, one = problem._owner(job), problem.jobs[job]
    start, stop = one.release, one.release + (one.work or 0)
    mates = [i for i in range(len(problem.jobs)) if problem._owner(i) == owner]
    mates.sort(key=lambda i: problem.jobs[i].release)
    quota, several = quota_of(problem.instance, owner), len(problem.instance.users) > 1
    fair, weights, now, width = Fraction(0), Fraction(0), start, None
    for i in [*mates, None]:
        until = stop if i is None else min(max(problem.jobs[i].release, start), stop)
        if until > now:
            rate = quota / weights if width is None else min(quota / weights, width)
            fair += min(Fraction(one.gpus), problem.weight(job) * rate) * (until - now)
            now = until
        if now >= stop:
            break
        if i is not None:
            weights += problem.weight(i)
            if several:
                own = problem.jobs[i].gpus / problem.weight(i)
                width = own if width is None else min(width, own)
    return fair
