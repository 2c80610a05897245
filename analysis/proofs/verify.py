"""Replay the proof of a bound, in exact arithmetic and without the code that found it.

Nothing here imports :mod:`gangsched.analysis.proofs.makespan`,
:mod:`gangsched.analysis.proofs.completion_time`, :mod:`gangsched.analysis.proofs.deadline_rewards`
or :mod:`gangsched.analysis.proofs.fluid_fairness`: durations are computed again from the problem's
definition of one iteration, sums, knapsacks and schedules are integers, shares are rationals, no
float takes part.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.gandiva_fair.problem import GpuMarket
from ...formulations.irmp.problem import Irmp
from ...formulations.ltgf.fluid import LtgfFluid
from ...formulations.ltgf.problem import Ltgf
from ...formulations.rar_ddls.problem import RarDdls
from ...formulations.unisched.problem import UniSched
from ...instances.model import FULL_SPEED, DeadlineJob, Job
from ...solvers.result import Bound
from .verify_irmp import revenue_prices
from .verify_market import gpu_prices
from .verify_unisched import lease_prices

__all__ = ["InvalidCertificate", "NoCertificate", "verify_bound"]

#: longest knapsack, in slots, that is replayed (an array of this length is made)
MAX_CAPACITY = 10**8


class InvalidCertificate(ValueError):
    """A certificate that is malformed, does not hold, or proves less than its bound claims."""


class NoCertificate(ValueError):
    """A bound without a certificate: a solver's own claim, which cannot be replayed."""


def verify_bound(problem: Any, bound: Bound) -> None:
    """Prove `bound` again from its certificate, or raise.

    Only a bound that passes may be called certified.

    Parameters
    ----------
    problem : Problem
        The problem that the bound is claimed for; of this version: :class:`RarDdls`,
        :class:`CompletionTime`, :class:`DeadlineRewards`, :class:`LtgfFluid`, :class:`Ltgf`,
        :class:`UniSched`, :class:`Irmp` and :class:`GpuMarket`.
    bound : Bound

    Raises
    ------
    NoCertificate
        If `bound` carries none.
    InvalidCertificate
        If the certificate's kind is unknown for this problem, a field is missing, of the wrong type
        or out of range, the proof does not hold, or it proves less than `bound.value`.

    Notes
    -----
    The proofs for RAR-DDLS (N GPUs; G_j, d_j: gang size and shortest duration of job j). On n
    servers beside p spanning jobs, job j makes phi_j(n, p) progress a slot, and phi does not
    increase in p: so it needs at least ceil(F_j / phi_j(n, 1)) slots on n servers, and d_j slots,
    the least of these over all spans, whatever the contention. A schedule of makespan C therefore
    gives every GPU a set of different jobs that run one after another, with sum of d_j <= C, and
    puts job j into the sets of G_j GPUs. Each kind of certificate refutes this for one C
    ("target"), which proves the makespan to be at least C + 1.

    - ``area``: all sets together hold sum_j G_j d_j <= N C.
    - ``longest job``: no set holds a job with d_j > C.
    - ``dff``: a function g is dual feasible when g(d) over any set with sum d <= C adds up to 1 or
      less; then sum_j G_j g(d_j) <= N. Here g = u_k(U_eps(d / C)) with
      U_eps(x) = 1 above 1 - eps/C, 0 below eps/C, else x, for eps <= C/2 [1]_, and
      u_k(x) = x where (k + 1) x is integral, else floor((k + 1) x) / k [1]_; k = 0 and eps = 0
      stand for the identity.
    - ``configuration lp``: duals v_j >= 0 with sum of v_j <= D ("scale") over every set with
      sum d_j <= C (a 0/1 knapsack, solved here by dynamic programming); then
      sum_j G_j v_j <= N D.

    O(sum_j S) exact rationals for d_j; the knapsack takes O(jobs min(C, sum_j d_j)) steps.

    The proofs of LTGF's fairness (M GPUs; D_i, f_i: gang size and fair share of job i):

    - ``packing``, of jobs that stay active: duals v_i >= 0 with sum of v_i <= D ("scale") over
      every set of jobs with sum D_i <= M (a 0/1 knapsack). Over a time T, job i with fairness
      lambda or more runs for lambda T f_i / D_i or more; jobs that run at the same time are such a
      set, so lambda T sum_i v_i f_i / D_i <= D T.
    - ``life``, of jobs that come and go: whatever a schedule does, job i lives for p_i or longer,
      and its user's active jobs are among those released by then; with all of these, the job's
      share would be least (the proof is in
      :func:`gangsched.analysis.proofs.fluid_fairness.life_bound`). F_i is no less than the
      integral, and rho_i = D_i p_i / F_i.

    The proofs for CompletionTime are the three theorems of
    :mod:`gangsched.analysis.proofs.completion_time`, with f = u_k(U_eps) for the "k" and "eps" of
    each certificate, or with one integer price >= 0 for each GPU model ("prices", in the order of
    their first nodes) for both. What a job's size is, and how long it takes alone, is found again
    from its speeds.

    - ``last job``: r_j + p_j of one job.
    - ``released work``: a release, and the work that comes then or later (Theorem 1).
    - ``shortest remaining first``: SRPT is run again (Theorem 2).
    - ``mean busy time``: integers q_j ("densities") and Q ("scale") with q_j a_j <= Q w_j, which is
      lambda_j <= 1; jobs are put, by falling q_j, into the first idle moments after their releases,
      which is the priority rule's schedule (Theorem 3).

    O(n log n) for n jobs.

    The proof for DeadlineRewards is the theorem of
    :mod:`gangsched.analysis.proofs.deadline_rewards`.

    - ``prices``: integers q_k >= 0 ("prices") and S ("scale"); a GPU second within the k-th two
      neighbours of "times" costs q_k / S of the unit that all rewards are multiples of. Each job's
      cheapest seconds before each of its deadlines are found again; the sum is rounded down to a
      multiple of the unit.

    The proof for UniSched, ``lease prices``, is in
    :func:`gangsched.analysis.proofs.verify_unisched.lease_prices`; that for Irmp, ``revenue
    prices``, in :func:`gangsched.analysis.proofs.verify_irmp.revenue_prices`; that for GpuMarket,
    ``gpu prices``, in :func:`gangsched.analysis.proofs.verify_market.gpu_prices`.

    References
    ----------
    .. [1] S. P. Fekete, J. Schepers. New classes of fast lower bounds for bin packing problems.
       Mathematical Programming 91, 2001.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=1, iterations=50, gradient=0, base_time=0.01) for i in "abc"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> verify_bound(problem, Bound(2, "area", {"kind": "area"}))
    >>> verify_bound(problem, Bound(3, "area", {"kind": "area"}))
    Traceback (most recent call last):
        ...
    gangsched.analysis.proofs.verify.InvalidCertificate: bound 3 (area): the certificate proves 2
    """
    name = f"bound {bound.value} ({bound.method})"
    if bound.certificate is None:
        raise NoCertificate(f"{name}: no certificate, so it is a claim that nobody can check")
    kind, kinds = bound.certificate.get("kind"), RULES.get(type(problem), {})
    if not isinstance(kind, str) or kind not in kinds:
        known = ", ".join(kinds) or "none"
        raise InvalidCertificate(
            f"{name}: kind={kind!r} is not a kind for {type(problem).__name__} (known: {known})"
        )
    try:
        proven = kinds[kind](problem, bound.certificate)
    except InvalidCertificate as error:
        raise InvalidCertificate(f"{name}: {error}") from None
    if bound.value > proven if problem.sense.value == "minimise" else bound.value < proven:
        raise InvalidCertificate(f"{name}: the certificate proves {proven}")


# --- RAR-DDLS ------------------------------------------------------------------------------------


def _area(problem: RarDdls, _: Mapping[str, Any]) -> int:
    area = sum(job.gpus * d for job, d in zip(problem.jobs, _durations(problem), strict=True))
    return -(-area // problem.instance.cluster.gpus)


def _longest_job(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    job = _integer(certificate, "job", 0)
    if job >= len(problem.jobs):
        raise InvalidCertificate(f"job={job} is not one of the {len(problem.jobs)} jobs")
    return _shortest(problem, job, _fewest(problem))


def _dff(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    durations = _durations(problem)
    target = _target(certificate, durations)
    k, eps = _integer(certificate, "k", 0), _integer(certificate, "eps", 0)
    if 2 * eps > target:
        raise InvalidCertificate(f"eps={eps} exceeds half the target {target}")
    # g in units of 1 / (k C), or of 1 / C for k = 0
    unit = max(k, 1) * target
    total = sum(
        job.gpus * _stepped(_thresholded(d, target, eps), target, k)
        for job, d in zip(problem.jobs, durations, strict=True)
    )
    _require_excess(total, problem.instance.cluster.gpus * unit, target)
    return target + 1


def _thresholded(d: int, target: int, eps: int) -> int:
    """Scaled by C, U_eps(d / C)."""
    return target if d > target - eps else 0 if d < eps else d


def _stepped(d: int, target: int, k: int) -> int:
    """Scaled by k C, u_k(d / C); d itself for k = 0."""
    if k == 0:
        return d
    steps, rest = divmod((k + 1) * d, target)
    return steps * target if rest else k * d


def _configuration(problem: RarDdls, certificate: Mapping[str, Any]) -> int:
    durations = _durations(problem)
    target = _target(certificate, durations)
    scale = _integer(certificate, "scale", 1)
    duals = _integers(certificate, "duals", len(durations))
    worth = _knapsack(durations, duals, min(target, sum(durations)))
    if worth > scale:
        raise InvalidCertificate(
            f"duals of jobs that fit into {target} slots add up to {worth}, above scale={scale}"
        )
    total = sum(job.gpus * v for job, v in zip(problem.jobs, duals, strict=True))
    _require_excess(total, problem.instance.cluster.gpus * scale, target)
    return target + 1


def _integers(
    certificate: Mapping[str, Any], name: str, count: int | None, what: str = "jobs"
) -> list[int]:
    """So many integers >= 0; as many as there are for None."""
    values = certificate.get(name)
    if not isinstance(values, (list, tuple)):
        raise InvalidCertificate(f"{name}={values!r} is not a list of integers")
    if count not in (None, len(values)):
        raise InvalidCertificate(f"{name} has {len(values)} entries for {count} {what}")
    for j, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidCertificate(f"{name}[{j}]={value!r} is not an integer >= 0")
    return list(values)


def _knapsack(sizes: list[int], values: list[int], capacity: int) -> int:
    """Most that items of these values can add up to within the capacity; each at most once."""
    if capacity > MAX_CAPACITY:
        raise InvalidCertificate(f"target: {capacity} slots are more than {MAX_CAPACITY}")
    kind = np.int64 if sum(values) < 2**62 else object
    best = np.zeros(capacity + 1, dtype=kind)
    for size, value in zip(sizes, values, strict=True):
        if value and size <= capacity:
            np.maximum(best[size:], best[: capacity + 1 - size] + value, out=best[size:])
    return int(best[-1])


def _require_excess(total: int, room: int, target: int) -> None:
    if total <= room:
        raise InvalidCertificate(
            f"target={target} is not refuted: the jobs need {total} and the GPUs offer {room}"
        )


def _integer(certificate: Mapping[str, Any], name: str, at_least: int) -> int:
    if name not in certificate:
        raise InvalidCertificate(f"field {name!r} is missing")
    value = certificate[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidCertificate(f"{name}={value!r} is not an integer")
    if value < at_least:
        raise InvalidCertificate(f"{name}={value} is below {at_least}")
    return value


def _target(certificate: Mapping[str, Any], durations: list[int]) -> int:
    target = _integer(certificate, "target", 1)
    longest = max(durations, default=0)
    if target < longest:
        raise InvalidCertificate(f"target={target} is below the longest job's {longest} slots")
    return target


def _durations(problem: RarDdls) -> list[int]:
    """d_j of every job, from eq. (8) in rationals."""
    fewest = _fewest(problem)
    return [_shortest(problem, j, fewest) for j in range(len(problem.jobs))]


def _shortest(problem: RarDdls, job: int, room: list[int]) -> int:
    """d_j, with `room` the GPUs of the n largest servers, for n = 1, 2, ...

    tau_j(n, 1) grows with n from n = 2 on (by xi2 a server), so only n = 1 and the fewest servers
    above one can be best.
    """
    gpus = problem.jobs[job].gpus
    spans = [n for n, held in enumerate(room, 1) if held >= gpus and n <= gpus]
    best = max(problem.progress(problem.iteration_time(job, n, 1)) for n in spans[:2])
    return -(-problem.jobs[job].iterations * problem.resolution // best)


def _fewest(problem: RarDdls) -> list[int]:
    """GPUs of the n largest servers, for n = 1, 2, ..."""
    sizes = sorted(problem.instance.cluster.sizes, reverse=True)
    return [sum(sizes[: n + 1]) for n in range(len(sizes))]


# --- completion times ----------------------------------------------------------------------------


def _last_job(problem: CompletionTime, certificate: Mapping[str, Any]) -> int:
    _require_makespan(problem)
    j = _integer(certificate, "job", 0)
    if j >= len(problem.jobs):
        raise InvalidCertificate(f"job={j} is not one of the {len(problem.jobs)} jobs")
    return problem.jobs[j].release + _alone(problem)[j]


def _released_work(problem: CompletionTime, certificate: Mapping[str, Any]) -> int:
    _require_makespan(problem)
    units, sizes, _ = _fast_machine(problem, certificate)
    first = _integer(certificate, "release", 0)
    late = [a for a, job in zip(sizes, problem.jobs, strict=True) if job.release >= first]
    return first - (-sum(late) // units) if any(late) else 0


def _require_makespan(problem: CompletionTime) -> None:
    if problem.measure != "makespan":
        raise InvalidCertificate(f"it bounds a makespan, and the measure is {problem.measure!r}")


def _shortest_first(problem: CompletionTime, certificate: Mapping[str, Any]) -> int | Fraction:
    if problem.measure not in ("completion", "flow") or len(set(problem.weights)) > 1:
        raise InvalidCertificate(
            f"measure={problem.measure!r} and {len(set(problem.weights))} different weights; it "
            "bounds 'completion' and 'flow' with equal weights"
        )
    units, sizes, _ = _fast_machine(problem, certificate)
    releases = [job.release for job in problem.jobs]
    earliest = sorted(r + p for r, p in zip(releases, _alone(problem), strict=True))
    ends = _srpt(sorted(zip((r * units for r in releases), sizes, strict=True)))
    total = sum(max(-(-s // units), e) for s, e in zip(ends, earliest, strict=True))
    since = sum(releases) if problem.measure == "flow" else 0
    return _rounded(problem, Fraction(max(problem.weights, default=0) * (total - since)))


def _srpt(jobs: Sequence[tuple[int, int]]) -> list[int]:
    """Ends of (release, size), sorted by release, under SRPT, in their order."""
    now, left, ends = 0, list[int](), list[int]()
    for release, size in jobs:
        while left and now + left[0] <= release:
            now += heapq.heappop(left)
            ends.append(now)
        if left:
            left[0] -= release - now  # the least one gets less: the heap stays one
        now = release
        heapq.heappush(left, size)
    for size in sorted(left):
        now += size
        ends.append(now)
    return ends


def _mean_busy_time(problem: CompletionTime, certificate: Mapping[str, Any]) -> int | Fraction:
    units, sizes, lags = _fast_machine(problem, certificate)
    densities = _integers(certificate, "densities", len(sizes))
    scale = _integer(certificate, "scale", 1)
    if problem.measure == "makespan":
        raise InvalidCertificate("it bounds sums over the jobs, and the measure is 'makespan'")
    weights, seconds = problem.weights, _alone(problem)
    alone, total = 0, 0
    for j, job in enumerate(problem.jobs):
        divisor = seconds[j] if problem.measure == "slowdown" else 1
        share = densities[j] * sizes[j] * problem.scale * divisor
        if share > scale * weights[j]:
            raise InvalidCertificate(f"densities[{j}]={densities[j]} gives job {job.id!r} lambda>1")
        since = job.release if problem.measure == "completion" else 0
        alone += weights[j] * (since + seconds[j] // divisor)
        total -= densities[j] * sizes[j] * (2 * job.release * units + lags[j])
    total += _moments([job.release * units for job in problem.jobs], sizes, densities)
    gain = Fraction(total * problem.scale, 2 * scale * units)
    return _rounded(problem, alone + gain)


def _moments(releases: list[int], sizes: list[int], densities: list[int]) -> int:
    """Sum of q (e^2 - s^2) over the pieces [s, e) of the priority rule's schedule.

    What is busy between two releases is always the first part of the time between them, as jobs
    come by falling density and each fills the first idle moments.
    """
    starts = sorted(set(releases))
    filled = list(starts)
    until = [*starts[1:], max(starts, default=0) + sum(sizes)]
    at = {release: k for k, release in enumerate(starts)}
    later = list(range(len(starts)))  # where to look for idle time after each start
    total = 0
    for j in sorted(range(len(sizes)), key=lambda j: -densities[j]):
        left = sizes[j] if densities[j] else 0
        k = at[releases[j]]
        while left:
            while later[k] != k:
                later[k] = later[later[k]]
                k = later[k]
            piece = min(left, until[k] - filled[k])
            total += densities[j] * piece * (2 * filled[k] + piece)
            filled[k] += piece
            left -= piece
            if left:
                later[k] = k + 1
    return total


def _fast_machine(
    problem: CompletionTime, certificate: Mapping[str, Any]
) -> tuple[int, list[int], list[int]]:
    """N, and of every job a_j and 2 N (p_j - h_j): of f or of prices of GPU models."""
    if "prices" in certificate:
        return _priced_machine(problem, certificate)
    total = problem.instance.cluster.gpus
    k, eps = _integer(certificate, "k", 0), _integer(certificate, "eps", 0)
    if 2 * eps > total:
        raise InvalidCertificate(f"eps={eps} exceeds half of the {total} GPUs")
    widths = [_stepped(_thresholded(job.gpus, total, eps), total, k) for job in problem.jobs]
    units, seconds = max(k, 1) * total, _alone(problem)
    return (
        units,
        [b * p for b, p in zip(widths, seconds, strict=True)],
        [units * p for p in seconds],
    )


def _priced_machine(
    problem: CompletionTime, certificate: Mapping[str, Any]
) -> tuple[int, list[int], list[int]]:
    for name in ("k", "eps"):
        if name in certificate:
            raise InvalidCertificate(f"prices and {name}={certificate[name]!r} exclude each other")
    room = _room(problem)
    prices = _integers(certificate, "prices", len(room), "GPU models")
    units = sum(price * count for price, count in zip(prices, room.values(), strict=True))
    if not units:
        raise InvalidCertificate(f"prices={prices} are all 0, so that the machine does nothing")
    cost = dict(zip(room, prices, strict=True))
    sizes, lags = [], []
    for job, alone in zip(problem.jobs, _alone(problem), strict=True):
        able = _able(job, room)
        least = min(Fraction(cost[model], speed) for model, speed in able.items())
        size = floor(least * (FULL_SPEED * job.gpus * (job.work or 0)))
        rate = least * (job.gpus * max(able.values()))  # R_j
        sizes.append(size)
        lags.append(2 * units * alone - (floor(units * size / rate) if least else 0))
    return units, sizes, lags


def _room(problem: CompletionTime) -> dict[str, int]:
    """GPUs of each model, in the order of the models' first nodes."""
    room: dict[str, int] = {}
    for node in problem.instance.cluster.nodes:
        room[node.model] = room.get(node.model, 0) + node.gpus
    return room


def _able(job: Job, room: Mapping[str, int]) -> dict[str, int]:
    """Speeds in millionths on the models on which a job can run."""
    able = {}
    for model, count in room.items():
        speed = round(job.speeds.get(model, 0) * FULL_SPEED) if job.speeds else FULL_SPEED
        if speed and job.pin in ("", model) and job.gpus <= count:
            able[model] = speed
    return able


def _alone(problem: CompletionTime) -> list[int]:
    """p_j of every job: seconds on its fastest model."""
    room = _room(problem)
    return [
        -(-FULL_SPEED * (job.work or 0) // max(_able(job, room).values())) for job in problem.jobs
    ]


def _rounded(problem: CompletionTime, value: Fraction) -> int | Fraction:
    """`value` in units of 1 / scale, rounded up where objectives are integers."""
    value /= problem.scale
    return ceil(value) if problem.integral else value


# --- deadlines -----------------------------------------------------------------------------------


def _prices(problem: DeadlineRewards, certificate: Mapping[str, Any]) -> Fraction:
    scale = _integer(certificate, "scale", 1)
    times = _integers(certificate, "times", None)
    prices = _integers(certificate, "prices", max(len(times) - 1, 0), "intervals")
    for one, other in pairwise(times):
        if one >= other:
            raise InvalidCertificate(f"times do not rise: {other} follows {one}")
    lengths = (end - begin for begin, end in pairwise(times))
    spent = problem.instance.cluster.gpus * sum(
        q * length for q, length in zip(prices, lengths, strict=True)
    )
    total = Fraction(spent, scale)  # in units
    unit = problem.unit
    for job in problem.jobs:
        gang, seconds = _fastest(job) if problem.elastic else (Fraction(job.gpus), job.work or 0)
        best = Fraction(0)
        for deadline, reward in job.rewards:
            cost = _cheapest(times, prices, job.release, job.release + deadline, seconds)
            if cost is not None:
                best = max(best, Fraction(reward) / unit - gang * cost / scale)
        total += best
    return floor(total) * unit


def _fastest(job: DeadlineJob) -> tuple[Fraction, Fraction]:
    """GPUs held and seconds run, as if GPUs were used best at the highest speed."""
    speeds = [
        (n, Fraction(job.speed(n, 1, 2 * job.gpus), FULL_SPEED)) for n in range(1, 2 * job.gpus + 1)
    ]
    top = max(speed for _, speed in speeds)
    return top * min(n / speed for n, speed in speeds if speed), (job.work or 0) / top


def _cheapest(
    times: list[int], prices: list[int], start: int, end: int, seconds: int | Fraction
) -> int | Fraction | None:
    """Least price of so many seconds within [start, end); None if it has not as many."""
    if end - start < seconds:
        return None
    inside = range(
        max(bisect_right(times, start) - 1, 0), min(bisect_left(times, end), len(prices))
    )
    parts = sorted(
        (prices[k], max(min(times[k + 1], end) - max(times[k], start), 0)) for k in inside
    )
    left = seconds - (end - start - sum(length for _, length in parts))  # the rest costs nothing
    cost: int | Fraction = 0
    for price, length in parts:
        if left <= 0:
            break
        cost += price * min(length, left)
        left -= length
    return cost


# --- LTGF ----------------------------------------------------------------------------------------


def _packing(problem: LtgfFluid, certificate: Mapping[str, Any]) -> Fraction:
    scale = _integer(certificate, "scale", 1)
    duals = _integers(certificate, "duals", len(problem.gangs))
    worth = _knapsack(list(problem.gangs), duals, min(problem.gpus, sum(problem.gangs)))
    if worth > scale:
        raise InvalidCertificate(
            f"duals of jobs that fit on {problem.gpus} GPUs add up to {worth}, above scale={scale}"
        )
    pairs = zip(problem.gangs, problem.shares, duals, strict=True)
    needed = sum(Fraction(share) * v / gang for gang, share, v in pairs)
    if not needed:
        raise InvalidCertificate("duals are all 0, which proves nothing")
    return scale / Fraction(needed)


def _life(problem: Ltgf, certificate: Mapping[str, Any]) -> Fraction:
    i = _integer(certificate, "job", 0)
    if i >= len(problem.jobs):
        raise InvalidCertificate(f"job={i} is not one of the {len(problem.jobs)} jobs")
    job, users = problem.jobs[i], problem.instance.users
    start, end = job.release, job.release + (job.work or 0)
    mates = [other for other in problem.jobs if len(users) < 2 or other.user == job.user]
    quota = Fraction(problem.instance.cluster.gpus)
    if len(users) > 1:
        weights = {user.id: _decimal(user.weight) for user in users}
        quota *= weights[job.user] / sum(weights.values())
    fair = total = Fraction(0)
    slimmest = job.gpus / _decimal(job.weight)  # D / w, the least of those released
    times = sorted({start, end} | {mate.release for mate in mates if start < mate.release < end})
    waiting = sorted(mates, key=lambda mate: mate.release, reverse=True)
    for now, then in pairwise(times):
        while waiting and waiting[-1].release <= now:
            mate = waiting.pop()
            total += _decimal(mate.weight)
            slimmest = min(slimmest, mate.gpus / _decimal(mate.weight))
        rate = quota / total if len(users) < 2 else min(quota / total, slimmest)
        fair += min(Fraction(job.gpus), _decimal(job.weight) * rate) * (then - now)
    return job.gpus * (job.work or 0) / fair


def _lease_prices(problem: UniSched, certificate: Mapping[str, Any]) -> Fraction:
    try:
        return lease_prices(problem, certificate)
    except ValueError as error:
        raise InvalidCertificate(str(error)) from None


def _revenue_prices(problem: Irmp, certificate: Mapping[str, Any]) -> Fraction:
    try:
        return revenue_prices(problem, certificate)
    except ValueError as error:
        raise InvalidCertificate(str(error)) from None


def _gpu_prices(problem: GpuMarket, certificate: Mapping[str, Any]) -> Fraction:
    try:
        return gpu_prices(problem, certificate)
    except ValueError as error:
        raise InvalidCertificate(str(error)) from None


def _decimal(value: float) -> Fraction:
    """The rational that the shortest decimal denotes."""
    return Fraction(repr(float(value)))


#: what each kind of certificate proves, by problem: a bound of the objective
Rule = Callable[[Any, Mapping[str, Any]], int | Fraction]
RULES: Mapping[type, Mapping[str, Rule]] = {
    CompletionTime: {
        "last job": _last_job,
        "released work": _released_work,
        "shortest remaining first": _shortest_first,
        "mean busy time": _mean_busy_time,
    },
    DeadlineRewards: {"prices": _prices},
    RarDdls: {
        "area": _area,
        "longest job": _longest_job,
        "dff": _dff,
        "configuration lp": _configuration,
    },
    LtgfFluid: {"packing": _packing},
    Ltgf: {"life": _life},
    UniSched: {"lease prices": _lease_prices},
    Irmp: {"revenue prices": _revenue_prices},
    GpuMarket: {"gpu prices": _gpu_prices},
}
