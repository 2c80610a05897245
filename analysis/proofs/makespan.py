"""Bounds, each with a certificate that anyone can replay; those of the makespan are made here.

These all relax RAR-DDLS in the same way: N equal GPUs, job j occupies G_j different GPUs for d_j
slots each, a GPU serves its jobs one after another. d_j is the shortest duration of the job over
all spans, alone in the cluster; contention only slows jobs down, so every schedule of makespan C
fits this. It is bin packing with N bins of size C where job j is G_j items of size d_j in different
bins. Two bounds see more: :mod:`.contention` that gangs wider than a node meet on uplinks, and
the search of all states everything. :func:`verify_bound` holds the proofs and shares no code with
what finds bounds here.

=============================  ===============================  ======================
bound                          strength                         cost
=============================  ===============================  ======================
:func:`area_bound`             mean load and longest job        O(jobs)
:func:`dff_bound`              + jobs that do not fit together  milliseconds
:func:`configuration_bound`    the LP of all sets of jobs       up to seconds
:func:`.contention_bound`      gangs that share uplinks         milliseconds
:func:`search_bound`           the optimum, of tiny problems    up to seconds
=============================  ===============================  ======================
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formulations.problem import check_class
from ...formulations.rar_ddls.problem import RarDdls
from ...solvers.rar_ddls.bounds import area_bound
from ...solvers.result import Bound
from .configurations import Configurations
from .contention import contention_bound
from .problem_data import proven
from .verify import InvalidCertificate, NoCertificate, verify_bound

__all__ = [
    "InvalidCertificate", "NoCertificate", "area_bound", "configuration_bound", "contention_bound",
    "dff_bound", "search_bound", "verify_bound",
]  # fmt: skip

Ints = NDArray[Any]  # int64, or Python integers where int64 could overflow

#: jobs and slots up to which all states are searched
MOST_JOBS, MOST_SLOTS = 6, 16
#: dual feasible functions u_k are tried for k = 1 .. MAX_K
MAX_K = 20
#: targets that are all tried, and parts that a longer range is cut into
TARGETS, SECTIONS = 256, 64
#: table entries worked on at once
CHUNK = 1 << 19
#: the configuration bound gives up where one knapsack table would have more entries than this
MAX_TABLE = 2 * 10**8


# --- the relaxation ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bins:
    """The relaxation, jobs with equal (d, G) grouped."""

    gpus: int  #: N
    jobs: tuple[tuple[int, int], ...]  #: (d_j, G_j) by job number
    low: Bound  #: the area bound
    high: int  #: a makespan that the relaxation allows; no bound of this kind exceeds it


def _relax(problem: RarDdls) -> _Bins:
    check_class("bound", problem, RarDdls)
    durations = problem.shortest_durations().tolist()
    jobs = tuple(zip(durations, (job.gpus for job in problem.jobs), strict=True))
    gpus = problem.instance.cluster.gpus
    low = area_bound(problem)
    return _Bins(gpus, jobs, low, max(_longest_first(jobs, gpus), int(low.value)))


def _longest_first(jobs: tuple[tuple[int, int], ...], gpus: int) -> int:
    """Largest load when jobs, the longest first, take the least loaded GPUs."""
    loads = [0] * gpus
    for duration, gang in sorted(jobs, reverse=True):
        taken = [heapq.heappop(loads) for _ in range(gang)]
        for load in taken:
            heapq.heappush(loads, load + duration)
    return max(loads)


# --- dual feasible functions ---------------------------------------------------------------------


def dff_bound(problem: RarDdls) -> Bound:
    """Return the best bound by dual feasible functions u_k(U_eps), never below the area bound.

    Parameters
    ----------
    problem : RarDdls

    Returns
    -------
    Bound
        Certificate ``{"kind": "dff", "target": C, "k": k, "eps": eps}``: makespan C is impossible,
        the value is C + 1. Where no function beats `area_bound`, that bound with its certificate.

    Notes
    -----
    Validity: a GPU runs its jobs one after another, so a makespan C gives it a set of jobs with sum
    d_j <= C. A function g on [0, C] is dual feasible when its sum over any such set is at most 1;
    as job j is in the sets of G_j GPUs, sum_j G_j g(d_j) > N refutes C. U_eps(d) is 1 above
    C - eps, 0 below eps and d / C between, for eps <= C / 2: a set with an item above C - eps has
    none other of eps or more. u_k(x) = x where (k + 1) x is integral, else floor((k + 1) x) / k:
    if not all (k + 1) x are integral, the floors of a set's sum lose something and add up to at
    most k. The composition is dual feasible again. Contention cannot help: d_j holds without it,
    and rates do not increase in the number of contenders.

    All k = 0 .. 20 (0: the identity) and all eps among the durations up to C / 2 (0: the identity)
    are tried, in integers. Detection is not monotone in C: every C between the area bound and a
    makespan that the relaxation attains is tried where these are at most 256, a longer range is
    first narrowed around the highest hit on a grid. Of several functions at the highest C, the
    smallest k and then eps is returned.

    O(20 (C_max - C_min) n) for n distinct durations, by prefix sums over eps.

    References
    ----------
    S. P. Fekete, J. Schepers. New classes of fast lower bounds for bin packing problems.
    Mathematical Programming 91, 2001.

    Examples
    --------
    Three jobs of 60 slots and one GPU each on two GPUs: two of them share a GPU.

    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=60, gradient=0, base_time=0.7) for i in "abc"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> area_bound(problem).value
    90
    >>> bound = dff_bound(problem)
    >>> bound.value, dict(bound.certificate)
    (120, {'kind': 'dff', 'target': 119, 'k': 1, 'eps': 0})
    """
    return _dff(_relax(problem))


def _dff(bins: _Bins) -> Bound:
    low = int(bins.low.value)
    if bins.high == low:
        return bins.low
    sizes, weights = _histogram(bins)
    found = _highest_target(sizes, weights, bins.gpus, low, bins.high)
    if found is None:
        return bins.low
    target, k, eps = found
    certificate = {"kind": "dff", "target": target, "k": k, "eps": eps}
    return Bound(target + 1, "dual feasible function", certificate)


def _histogram(bins: _Bins) -> tuple[Ints, Ints]:
    """Distinct durations, ascending, and the GPUs of all jobs of each duration."""
    weight: dict[int, int] = {}
    for duration, gang in bins.jobs:
        weight[duration] = weight.get(duration, 0) + gang
    sizes = sorted(weight)
    most = sum(weight.values()) * (MAX_K + 1) * bins.high
    kind = np.int64 if most < 2**62 else object
    return np.array(sizes, dtype=kind), np.array([weight[d] for d in sizes], dtype=kind)


def _highest_target(
    sizes: Ints, weights: Ints, gpus: int, low: int, high: int
) -> tuple[int, int, int] | None:
    """(C, k, eps) of the highest C in low .. high - 1 seen to be infeasible."""
    best = None
    while high - low > TARGETS:
        step = -(-(high - low) // SECTIONS)
        hit = _refute(sizes, weights, gpus, range(low, high, step))
        if hit is not None:
            best, low = hit, hit[0]
        high = min(high, low + step)
    return _refute(sizes, weights, gpus, range(low, high)) or best


def _refute(sizes: Ints, weights: Ints, gpus: int, targets: range) -> tuple[int, int, int] | None:
    """The highest of `targets` that some function refutes, from above, in chunks."""
    many = max(1, CHUNK // (sizes.size * (MAX_K + 1)))
    for stop in range(len(targets), 0, -many):
        part = targets[max(0, stop - many) : stop]
        excess = _excess(sizes, weights, gpus, np.array(part, dtype=sizes.dtype))
        hits = np.argwhere(excess > 0)
        if hits.size:
            t, k, e = hits[hits[:, 0] == hits[-1, 0]][0].tolist()
            return part[t], k, 0 if e == 0 else int(sizes[e - 1])
    return None


def _excess(sizes: Ints, weights: Ints, gpus: int, targets: Ints) -> Ints:
    """sum_d w_d g(d) - N, times max(k, 1) C, for each (target C, k, eps in (0, *sizes)).

    For one C and k, U_eps keeps the durations in [eps, C - eps] and rounds those above to 1: two
    differences of prefix sums give every eps.
    """
    kept = _stepped(sizes, targets) * weights
    prefix = np.zeros((*kept.shape[:2], sizes.size + 1), dtype=sizes.dtype)
    np.cumsum(kept, axis=2, out=prefix[:, :, 1:])
    held = np.concatenate([[0], np.cumsum(weights)])
    eps = np.concatenate([[0], sizes])
    above = np.searchsorted(sizes, targets[:, None] - eps, side="right")
    below = np.searchsorted(sizes, eps)
    unit = np.maximum(np.arange(MAX_K + 1), 1) * targets[:, None]
    middle = np.take_along_axis(prefix, above[:, None, :], axis=2) - prefix[:, :, below]
    full = (held[-1] - held[above] - gpus)[:, None, :] * unit[:, :, None]
    allowed = 2 * eps <= targets[:, None]
    return np.where(allowed[:, None, :], middle + full, 0)


def _stepped(sizes: Ints, targets: Ints) -> Ints:
    """u_k(d / C) times max(k, 1) C, for each (C, k, d); the identity for k = 0."""
    k = np.arange(MAX_K + 1, dtype=sizes.dtype)[:, None]
    target = targets[:, None, None]
    steps = (k + 1) * sizes // target
    exact = steps * target == (k + 1) * sizes
    return np.where(exact | (k == 0), np.maximum(k, 1) * sizes, steps * target)


# --- configuration linear program ----------------------------------------------------------------


def configuration_bound(problem: RarDdls, *, time_limit: float | None = None) -> Bound:
    """Return the bound of the configuration linear program, never below `dff_bound`.

    Parameters
    ----------
    problem : RarDdls
    time_limit : float or None
        Seconds after which the best bound proven so far is returned; None for no limit.

    Returns
    -------
    Bound
        Certificate ``{"kind": "configuration lp", "target": C, "scale": D, "duals": [...]}`` with
        one integer >= 0 a job: makespan C is impossible, the value is C + 1. The certificate of
        `dff_bound` where the program does not beat it.

    Raises
    ------
    ValueError
        If `time_limit` is negative.

    Notes
    -----
    For a makespan C, a configuration is a set S of jobs with sum of d_j <= C that one GPU can run.
    The program min sum_S x_S subject to sum_{S containing j} x_S >= G_j for every job has a value
    of at most N when C can be attained (x_S: GPUs that run S; contention only makes jobs longer
    than d_j). Duals v >= 0 with sum_{j in S} v_j <= D for all S prove the value to be at least
    sum_j G_j v_j / D [1]_; if that exceeds N, C is refuted. Columns are generated by 0/1 knapsacks
    (jobs with equal d and G share a row), any duals divided by the best knapsack are feasible, so
    every round gives a proof, not only the last one [2]_. The duals are rounded down to integers
    and D is their exact knapsack. The value falls in C: the search doubles its steps upwards from
    `dff_bound` and then bisects.

    Every round costs one linear program with a row per kind of job (HiGHS, warm started) and a
    knapsack of O(jobs C). Nothing is tried where a table would have more than 2e8 entries.

    References
    ----------
    .. [1] P. C. Gilmore, R. E. Gomory. A linear programming approach to the cutting-stock problem.
       Operations Research 9, 1961.
    .. [2] A. A. Farley. A note on bounding a class of linear programming problems, including
       cutting stock problems. Operations Research 38, 1990.

    Examples
    --------
    Two GPUs and jobs of 7, 7, 4, 4 and 3 slots, 25 in all: in 13 slots one GPU would have to be
    busy for 13, but no jobs add up to 13.

    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [
    ...     RingJob(id=f"j{i}", gpus=1, iterations=d, gradient=0, base_time=0.7)
    ...     for i, d in enumerate([7, 7, 4, 4, 3])
    ... ]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> dff_bound(problem).value, configuration_bound(problem).value
    (13, 14)
    """
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"configuration_bound: time_limit={time_limit} is not >= 0")
    deadline = None if time_limit is None else time.monotonic() + time_limit
    bins = _relax(problem)
    best = _dff(bins)
    if best.value == bins.high or len(bins.jobs) * bins.high > MAX_TABLE:
        return best
    program = Configurations(bins.jobs, bins.gpus, deadline)
    low, high, step = int(best.value), bins.high, 1  # low - 1 is refuted, high can be attained
    while low < high and not program.out_of_time():
        target = min(low + step - 1, (low + high) // 2)
        proof = program.refute(target)
        if proof is None:
            high = target
        else:
            low, step = target + 1, 2 * step
            best = _configuration(target, *proof)
    return best


def search_bound(problem: RarDdls, *, time_limit: float | None = None) -> Bound:
    """Return the least makespan of a tiny problem; of others a bound that sees contention, or DFF.

    Parameters
    ----------
    problem : RarDdls
        Tiny: at most :data:`MOST_JOBS` jobs, and a bound of at most :data:`MOST_SLOTS` slots.
    time_limit : float or None
        Seconds after which no further makespan is tried.

    Returns
    -------
    Bound
        Certificate ``{"kind": "search", "target": C}``: no state that C slots can reach has all
        jobs complete, whatever starts when and where; nodes, contention and waiting all count. The
        better of `dff_bound` and `contention_bound` where the problem is not tiny.

    Notes
    -----
    Makespans are tried upwards until there is a schedule, or there are too many states. What the
    certificate claims is found by the verifier's own search: there is nothing else to replay.

    Examples
    --------
    Two jobs that have to share a link if both run, which costs more than to wait:

    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    >>> cluster = Cluster.of_sizes([2, 2, 2])
    >>> problem = RarDdls(Instance(cluster, jobs), xi1=1, xi2=0.005, alpha=0.5)
    >>> dff_bound(problem).value, search_bound(problem).value
    (2, 4)
    """
    begin, found = time.monotonic(), dff_bound(problem)
    seen = contention_bound(problem)
    if seen.value > found.value:
        found = seen
    if len(problem.jobs) > MOST_JOBS:
        return found
    while found.value <= MOST_SLOTS:
        if time_limit is not None and time.monotonic() - begin >= time_limit:
            break
        certificate = {"kind": "search", "target": int(found.value)}
        try:
            least = int(proven(problem, certificate))
        except ValueError:
            break
        found = Bound(least, "search of all states", certificate)
    return found


def _configuration(target: int, scale: int, duals: list[int]) -> Bound:
    kind = "configuration lp"
    certificate = {"kind": kind, "target": target, "scale": scale, "duals": duals}
    return Bound(target + 1, kind, certificate)
