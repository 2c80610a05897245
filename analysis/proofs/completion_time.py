"""Lower bounds of completion times that hold for every policy: online, offline, preemptive.

A trace is replayed under some policy; divided by these bounds, what it attains is a certified
ratio to the best that anyone could have done who knew all jobs in advance. Every bound has a
certificate that :func:`gangsched.verify_bound` replays in integers with other algorithms.

=======================================  ==============================  =====================
bound                                    measure                         cost for n jobs
=======================================  ==============================  =====================
:func:`release_bound`                    makespan                        O(n log n)
``configurations``                       makespan                        a linear program
:func:`srpt_bound`                       completion, flow; equal weights O(n log n)
:func:`busy_time_bound`                  completion, flow, slowdown      O(n log n) a round
:func:`.prices.price_bound`              the same, on equal GPUs         O(n intervals) a step
:func:`.model_prices.model_price_bound`  the same, on several models     the same x models
:func:`online_bound`                     best of those that fit          their sum
=======================================  ==============================  =====================

The relaxation
--------------
Job j has gang D_j, work p_j, release r_j; x_j(t) in [0, 1] is the share of the moment t in which it
runs (0 or 1 in a schedule; time sharing is allowed here, and so are interruptions, migrations and
any placement). x_j is 0 before r_j and after the completion C_j, and its integral is p_j or more.

Let f be a dual feasible function of gang sizes: the f(D_j) of gangs that fit the M GPUs together
add up to 1 or less. f(D) = D / M is one; another is 1 for D > M / 2, else 0, as two such gangs
never run together (:func:`gangsched.analysis.proofs.makespan.dff_bound` has the family u_k(U_eps)
that is used here). So sum_j f(D_j) x_j(t) <= 1 at every moment: a *fast machine*, on which job j
has the size a_j = f(D_j) p_j, processes j at the rate f(D_j) x_j(t), starts nothing before its
release and completes every job when the cluster does or before. Below, N f(D_j) are integers, and
the fast machine's unit of time is 1 / N second.

Theorem 1 (makespan). C_max >= t + sum of a_j over r_j >= t, for every t; C_max >= r_j + p_j.
    Proof. The fast machine has no work of these jobs before t and does one unit a second.

Theorem 2 (shortest remaining first). Let S_k be the k-th completion time of SRPT on the fast
machine and E_k the k-th smallest r_j + p_j. The k-th completion in any schedule of the cluster is
at max(S_k, E_k) or later; so sum_j C_j >= sum_k max(ceil(S_k), E_k), as ends are integers.
    Proof. At every moment, SRPT has completed as many jobs as any schedule of its machine could
    have (Schrage 1968), the fast machine's copy of the cluster's schedule included, whose k-th
    completion is no later than the cluster's. At most k - 1 jobs have r_j + p_j < E_k.

Theorem 3 (mean busy times). Let 0 <= lambda_j <= 1, and B_j the mean busy time of j on the fast
machine under preemptive priority by lambda_j w_j / a_j, the highest first. Then
sum_j w_j (C_j - r_j) >= sum_j w_j (p_j + lambda_j (B_j - r_j - p_j / 2)).
    Proof. Let b_j be the mean of t under the density x_j(t) / p_j, of the first p_j units of work.
    As x_j <= 1, b_j is largest when j runs without pause until C_j: b_j <= C_j - p_j / 2. Also
    C_j >= r_j + p_j. The mean of both, weighted lambda_j and 1 - lambda_j, is
    C_j - r_j >= p_j + lambda_j (b_j - r_j - p_j / 2). The rates on the fast machine are x_j times
    the constant f(D_j), so its copy of the schedule has the same mean busy times b_j. It remains
    that sum_j lambda_j w_j b_j is least for the priority rule. With rho_j = lambda_j w_j / a_j it
    is the integral of t times the sum of rho_j y_j(t), y_j(t) the rates. Number the jobs by falling
    rho, and let Y_k(t) be the work that the jobs 1 .. k do after t: the integral equals the sum
    over k of (rho_k - rho_(k+1)) times the integral over t >= 0 of Y_k(t) (by parts), with
    rho_(n+1) = 0. The priority rule runs the jobs 1 .. k without regard to the others and never
    idles while one of them waits; so it has done as much of their work by t as is possible, for
    every t and k at once: every Y_k(t) is least, and the factors are not negative.

Theorem 3 with lambda = 1 is the linear program of Goemans (1997) in mean busy times, for gangs;
lambda = 0 gives sum_j w_j p_j; other lambda are the Lagrangian dual of the two families of
constraints C_j >= b_j + p_j / 2 and C_j >= r_j + p_j together, and better than either.

Several GPU models
------------------
There are N_g GPUs of model g, on which job j does s_jg seconds of its work W_j in a second, 0 where
it cannot run (:mod:`gangsched.formulations.completion_time`); x_jg(t) is the share of the moment t
in which it runs there, and their sum x_j(t) is 1 or less, as a gang runs on one model at a time.
Work is done when the integral of sum_g s_jg x_jg is W_j; so that of x_j is at least W_j / max_g
s_jg, and as ends are integers, C_j >= r_j + p_j with p_j = ceil(W_j / max_g s_jg). All of the above
holds with these p_j, as if all GPUs were as fast as the fastest is for each job.

More is proven by prices pi_g >= 0 of the models, with N = sum_g N_g pi_g units. Let

    v_j = min over g with s_jg > 0 of pi_g / s_jg,    y_j(t) = D_j v_j sum_g s_jg x_jg(t).

As v_j s_jg <= pi_g wherever x_jg > 0, sum_j y_j <= sum_g pi_g sum_j D_j x_jg <= sum_g pi_g N_g = N:
so y_j are rates on a fast machine of N units a second on which job j has the size a_j =
floor(D_j v_j W_j); it is done when the cluster has done the work, or before. *The rate of a job is
that of its progress, not of what its GPUs cost*: a gang on GPUs that are dear for what it does
there leaves some of the machine idle. Hence Theorems 1 and 2 hold as they stand.

Theorem 3 holds with p_j / 2 - b_j replaced by what a job's first a_j units of the machine allow:
the density y_j / a_j of b_j is at most R_j / a_j, R_j = D_j v_j max_g s_jg, so that
b_j <= C_j - h_j with h_j = a_j / (2 R_j), and

    sum_j w_j (C_j - r_j) >= sum_j w_j (p_j + lambda_j (B_j - r_j + h_j - p_j)).

With one model and speed 1, R_j = N / M D_j and h_j = p_j / 2: the theorem above. Where h_j is no
multiple of 1 / (2 N) it is rounded down to one, which makes the sum smaller.

The makespan of the fluid, the least T with sum_j D_j x_jg <= N_g T, is by duality the largest
sum_j D_j W_j v_j with N = 1, a linear program with one variable v for each row of speeds. Its
prices, in integers (any are valid), are used here, besides equal speeds. In the certificate
"prices", a list in the order of the models' first nodes, stands instead of "k" and "eps".

References
----------
L. Schrage. A proof of the optimality of the shortest remaining processing time discipline.
Operations Research 16, 1968.

M. X. Goemans. Improved approximation algorithms for scheduling with release dates. SODA 1997.

M. X. Goemans, M. Queyranne, A. S. Schulz, M. Skutella, Y. Wang. Single machine scheduling with
release dates. SIAM Journal on Discrete Mathematics 15, 2002.

S. P. Fekete, J. Schepers. New classes of fast lower bounds for bin packing problems. Mathematical
Programming 91, 2001.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints
from ...instances.check import at_least
from ...instances.model import FULL_SPEED
from ...solvers.ours.configurations import makespan_bound
from ...solvers.ours.model_order import gpus_of_models, prices_of
from ...solvers.result import Bound
from .fast_machine import run
from .job_prices import MOST_JOBS, job_price_bound
from .model_prices import model_price_bound
from .prices import Progress, price_bound

#: dual feasible functions u_k are tried for k = 0 .. MAX_K, and this many of all are kept
MAX_K, KEPT = 20, 8
#: jobs times models up to which configurations bound a makespan
MOST_CONFIGURED = 200
#: parts of 1 that lambda is rounded to
PARTS = 2**20
#: units a second of a machine by prices, and what times they stay below
UNITS, MOST = 2**30, 2**61


def online_bound(
    problem: CompletionTime,
    *,
    rounds: int = 16,
    steps: int = 0,
    model_steps: int = 0,
    halvings: int = 0,
    own_prices: bool = False,
    time_limit: float | None = None,
    on_progress: Progress | None = None,
) -> Bound:
    """Return the best lower bound of the problem's measure, with a certificate.

    Parameters
    ----------
    problem : CompletionTime
    rounds, time_limit
        As of :func:`busy_time_bound`.
    steps, model_steps, halvings, on_progress
        As `rounds`, `halvings` and `on_progress` of
        :func:`~gangsched.analysis.proofs.prices.price_bound`; `model_steps` count where GPUs are
        not equal for all jobs.
    own_prices : bool
        Whether each job has prices too, where jobs are 10,000 at most
        (:func:`~gangsched.analysis.proofs.job_prices.job_price_bound`), for the makespan 200 over
        the number of models (:func:`~gangsched.solvers.ours.configurations.makespan_bound`).

    Returns
    -------
    Bound

    Raises
    ------
    ValueError
        If `rounds` is below 1.

    Examples
    --------
    A GPU, a long job and a short one that comes later: SRPT, and so everyone, needs 5 + 1 seconds.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=1, work=4), Job(id="short", gpus=1, work=1, release=1)]
    >>> instance = Instance(Cluster.of_sizes([1]), jobs)
    >>> bound = online_bound(CompletionTime(instance, "flow"))
    >>> bound.value, bound.method
    (6, 'shortest remaining first')
    >>> online_bound(CompletionTime(instance, "makespan")).value
    5
    """
    if problem.measure == "makespan":
        best = release_bound(problem)
        if own_prices and 0 < len(problem.jobs) * len(problem.models) <= MOST_CONFIGURED:
            best = max(best, makespan_bound(problem, time_limit), key=lambda bound: bound.value)
        return best
    at_least("busy_time_bound: rounds", rounds, 1)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    found = [srpt_bound(problem)] if _equal_weights(problem) else []
    own_prices = own_prices and 0 < len(problem.jobs) <= MOST_JOBS
    maker = model_price_bound if problem.mixed else price_bound
    priced = maker(
        problem,
        rounds=model_steps if problem.mixed else steps,
        halvings=halvings,
        time_limit=time_limit / 3 if own_prices and time_limit is not None else time_limit,
        on_progress=on_progress,
    )
    beyond = max(bound.value for bound in (*found, priced))
    jobs = _Jobs.of(problem)
    for machine in _busiest(problem, jobs):
        found += _busy(problem, jobs, machine, rounds, end, beyond)
    found.append(priced)
    if own_prices:
        left = None if time_limit is None else end - time.monotonic()
        if left is None or left > 0:
            found.append(job_price_bound(problem, time_limit=left, on_progress=on_progress))
    return max(found, key=lambda bound: bound.value)  # the first of equal ones


# --- the relaxation ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Jobs:
    """The problem as arrays."""

    gangs: Ints
    releases: Ints
    works: Ints  #: p_j

    @classmethod
    def of(cls, problem: CompletionTime) -> _Jobs:
        jobs = problem.jobs
        columns = [j.gpus for j in jobs], [j.release for j in jobs], problem.seconds
        return cls(*(np.array(column, dtype=np.int64) for column in columns))


@dataclass(frozen=True)
class _Machine:
    """A fast machine: N units a second, on which job j is a_j units long."""

    proof: Mapping[str, Any]  #: its part of a certificate
    units: int  #: N
    sizes: Ints
    lags: Ints  #: 2 N (p_j - h_j), rounded up: N p_j where all GPUs are equal


def _machines(problem: CompletionTime, jobs: _Jobs) -> list[_Machine]:
    """Some for different f, the most loaded first, among them f(D) = D / M; that by prices last."""
    total = problem.instance.cluster.gpus
    if not jobs.gangs.size:
        return [_Machine({"k": 0, "eps": 0}, total, jobs.works, jobs.works)]
    sizes, which = np.unique(jobs.gangs, return_inverse=True)
    seconds = np.bincount(which, weights=jobs.works)
    tried: dict[tuple[float, ...], tuple[int, int]] = {}
    for k, eps in product(range(MAX_K + 1), [0, *sizes[2 * sizes <= total].tolist()]):
        widths = _widths(sizes, total, k, eps) / (max(k, 1) * total)
        tried.setdefault(tuple(widths.tolist()), (k, eps))
    plain = next(iter(tried))
    loaded = sorted(tried, key=lambda widths: -float(np.dot(widths, seconds)))[:KEPT]
    loaded += [plain] if plain not in loaded else []
    found = []
    for k, eps in (tried[widths] for widths in loaded):
        units = max(k, 1) * total
        lengths = _widths(sizes, total, k, eps)[which] * jobs.works
        found.append(_Machine({"k": k, "eps": eps}, units, lengths, units * jobs.works))
    return [*found, _priced(problem, jobs)] if problem.mixed else found


def _widths(gangs: Ints, total: int, k: int, eps: int) -> Ints:
    """u_k(U_eps(D / M)) times max(k, 1) M; the identity for k = 0 and for eps = 0."""
    kept = np.where(gangs > total - eps, total, np.where(gangs < eps, 0, gangs))
    if k == 0:
        return kept
    steps, rest = np.divmod((k + 1) * kept, total)
    return np.where(rest > 0, steps * total, k * kept)


def _priced(problem: CompletionTime, jobs: _Jobs) -> _Machine:
    """The machine by the best prices of GPU models."""
    end = int(jobs.releases.max()) + int(jobs.works.sum())
    needed = [job.gpus * (job.work or 0) for job in problem.jobs]
    room, shares = gpus_of_models(problem), prices_of(problem).tolist()
    scale = min(UNITS, MOST // end)  # 32 M at least, by the problem's limit
    prices = [int(share * scale) for share in shares]
    rows, which = np.unique(problem.speeds, axis=0, return_inverse=True)
    which = which.ravel()
    dear = [_dearest(prices, row) for row in rows.tolist()]
    units = int(np.dot(room, prices))
    sizes, lags = np.zeros((2, which.size), dtype=np.int64)
    seconds, gangs = jobs.works.tolist(), jobs.gangs.tolist()
    for j, c in enumerate(which.tolist()):
        price, speed, top = dear[c]
        sizes[j] = size = FULL_SPEED * needed[j] * price // speed
        ahead = units * size * speed // (gangs[j] * top * price) if price else 0
        lags[j] = 2 * units * seconds[j] - ahead
    return _Machine({"prices": prices}, units, sizes, lags)


def _dearest(prices: Sequence[int], speeds: Sequence[int]) -> tuple[int, int, int]:
    """Price and speed of the model of which they give v_j, and the largest speed."""
    able = [(price, speed) for price, speed in zip(prices, speeds, strict=True) if speed]
    price, speed = min(able, key=lambda pair: Fraction(*pair))
    return price, speed, max(speeds)


def _busiest(problem: CompletionTime, jobs: _Jobs) -> list[_Machine]:
    """The plain machine, the most loaded one where that is another, and that by prices."""
    machines = _machines(problem, jobs)
    plain = next(machine for machine in machines if machine.proof == {"k": 0, "eps": 0})
    found = [plain] if machines[0] is plain else [plain, machines[0]]
    return found + [machine for machine in machines[1:] if "prices" in machine.proof]


def _equal_weights(problem: CompletionTime) -> bool:
    return problem.measure in ("completion", "flow") and len(set(problem.weights)) <= 1


def _bound(problem: CompletionTime, value: Fraction, method: str, **certificate: Any) -> Bound:
    """A rational bound as a number that no objective, which may be a rounded float, is below."""
    if problem.integral:
        return Bound(math.ceil(value), method, {"kind": method, **certificate})
    return Bound(float(value) * (1 - 2**-50), method, {"kind": method, **certificate})


# --- makespan ------------------------------------------------------------------------------------


def release_bound(problem: CompletionTime) -> Bound:
    """Return the makespan that the work released late, or one job, makes necessary.

    Notes
    -----
    All release times and the eight most loaded f are tried. Exact, in integers, O(n log n).

    Examples
    --------
    Four GPUs, three jobs of three GPUs: no two of them run together.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=3, work=5, release=2) for i in "abc"]
    >>> bound = release_bound(CompletionTime(Instance(Cluster.of_sizes([4]), jobs), "makespan"))
    >>> bound.value, dict(bound.certificate)
    (17, {'kind': 'released work', 'release': 2, 'k': 1, 'eps': 0})
    """
    if problem.measure != "makespan":
        raise ValueError(f"release_bound: measure={problem.measure!r} is not 'makespan'")
    jobs = _Jobs.of(problem)
    ends = jobs.releases + jobs.works
    last = int(ends.argmax()) if ends.size else 0
    best = Bound(int(ends.max(initial=0)), "last job", {"kind": "last job", "job": last})
    if not ends.size:
        return Bound(0, "released work", _released(0, {"k": 0, "eps": 0}))
    order = np.argsort(-jobs.releases, kind="stable")
    for machine in _machines(problem, jobs):
        area = np.cumsum(machine.sizes[order])
        values = jobs.releases[order] - (-area // machine.units)
        at = int(values.argmax())
        if values[at] > best.value:
            release = int(jobs.releases[order[at]])
            certificate = _released(release, machine.proof)
            best = Bound(int(values[at]), "released work", certificate)
    return best


def _released(release: int, proof: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "released work", "release": release, **proof}


# --- shortest remaining first --------------------------------------------------------------------


def srpt_bound(problem: CompletionTime) -> Bound:
    """Return the total completion or flow time that SRPT on the fast machine proves, Theorem 2.

    Notes
    -----
    It is the optimum where every gang has M GPUs, or where no job ever has to wait. O(n log n), a
    fraction of a second for 250,000 jobs.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=2, work=w) for i, w in zip("abc", (3, 2, 1))]
    >>> srpt_bound(CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "completion")).value
    10
    """
    if not _equal_weights(problem):
        raise ValueError(
            f"srpt_bound: measure={problem.measure!r} with {len(set(problem.weights))} different "
            "weights; it is for 'completion' and 'flow' with equal ones"
        )
    jobs = _Jobs.of(problem)
    earliest = np.sort(jobs.releases + jobs.works)
    since = int(jobs.releases.sum()) if problem.measure == "flow" else 0
    found = []
    for machine in _busiest(problem, jobs):
        ends = np.sort(_srpt_ends(machine, jobs.releases))
        total = sum(np.maximum(ends, earliest).tolist()) - since
        value = Fraction(max(problem.weights, default=0) * total, problem.scale)
        found.append(_bound(problem, value, "shortest remaining first", **machine.proof))
    return max(found, key=lambda bound: bound.value)


def _srpt_ends(machine: _Machine, releases: Ints) -> Ints:
    """Completion times in seconds, rounded up; a job of size 0 is complete at its release."""
    ends = releases * machine.units
    real = np.flatnonzero(machine.sizes)
    job, _, end = run(ends[real], machine.sizes[real])
    np.maximum.at(ends, real[job], end)
    rounded: Ints = -(-ends // machine.units)
    return rounded


# --- mean busy times -----------------------------------------------------------------------------


def busy_time_bound(
    problem: CompletionTime, *, rounds: int = 16, time_limit: float | None = None
) -> Bound:
    """Return the weighted completion, flow or slowdown that mean busy times prove, Theorem 3.

    Notes
    -----
    The bound is concave in lambda, with the subgradient w_j (B_j - r_j - p_j / 2). Every lambda_j
    starts at 1 and follows its sign in steps of 1/2, which are halved when the sign changes; the
    best of all rounds is kept, and is never below that of lambda = 0. The value is then computed in
    integers; it is exact for the densities returned. O(n log n) a round.

    Examples
    --------
    Two GPUs, two narrow jobs of two seconds and a wide one that waits for them or makes them wait:

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=g, work=2) for i, g in zip("abc", (1, 1, 2))]
    >>> busy_time_bound(CompletionTime(Instance(Cluster.of_sizes([2]), jobs))).value
    8
    """
    if problem.measure == "makespan":
        raise ValueError("busy_time_bound: measure='makespan' has no weights")
    at_least("busy_time_bound: rounds", rounds, 1)
    end = math.inf if time_limit is None else time.monotonic() + time_limit
    jobs = _Jobs.of(problem)
    found = [b for m in _busiest(problem, jobs) for b in _busy(problem, jobs, m, rounds, end)]
    return max(found, key=lambda bound: bound.value)


def _busy(
    problem: CompletionTime,
    jobs: _Jobs,
    machine: _Machine,
    rounds: int,
    end: float,
    beyond: float = -math.inf,
) -> list[Bound]:
    """The bound of a machine; nothing where the search shows that it is below another's value."""
    shares = _shares(problem, jobs, machine, rounds, end, beyond)
    if shares is None:
        return []
    scale, densities = _densities(problem, machine, shares)
    value = _value(problem, jobs, machine, scale, densities)
    more = {"densities": densities.tolist(), **machine.proof}
    return [_bound(problem, value, "mean busy time", scale=scale, **more)]


def _shares(
    problem: CompletionTime,
    jobs: _Jobs,
    machine: _Machine,
    rounds: int,
    end: float,
    beyond: float,
) -> Floats | None:
    """The best lambda that the search finds, in floats; None where no lambda gets beyond a value.

    For any lambda the bound is that of lambda = 0 and at most sum_j w_j lambda_j slack_j, in every
    schedule of the machine: at most the sum of the positive ones.
    """
    lags, on = machine.lags / (2 * machine.units), machine.sizes > 0
    parts = problem.scale, problem.divisors(), problem.weights
    weights = np.array([w / (parts[0] * d) for d, w in zip(*parts[1:], strict=True)])
    share, step = on.astype(float), np.full(on.size, 0.5)
    best, gain = np.zeros(on.size), 0.0
    late = on
    room = beyond - float(_at_zero(problem, jobs))
    for turn in range(rounds):
        density = weights * share / np.maximum(machine.sizes, 1)
        slack = _delays(jobs, machine, density) - lags
        if float(np.dot(weights[on], np.maximum(slack[on], 0))) < room - 1e-9 * abs(beyond):
            return None
        now = float(np.dot(weights * share, slack))
        if now > gain:
            best, gain = share, now
        was, late = late, slack > 0
        # lambda = 0 gives the least that this schedule's B_j allow
        if not late.any() or time.monotonic() >= end:
            break
        if turn:
            step = np.where(was == late, step, step / 2)
        share = np.where(on, np.clip(share + np.where(late, step, -step), 0, 1), 0)
    return best


def _delays(jobs: _Jobs, machine: _Machine, density: Floats) -> Floats:
    """B_j - r_j in seconds, 0 where the size is 0."""
    release, sizes = jobs.releases * machine.units, machine.sizes
    on = np.flatnonzero(sizes)
    job, start, end = run(release[on], sizes[on], _ranks(density[on]))
    job = on[job]
    length = (end - start).astype(float)
    moment = length * ((start - release[job]) + (end - release[job])) / 2
    busy = np.bincount(job, weights=moment, minlength=sizes.size)
    delays: Floats = busy / np.maximum(sizes, 1) / machine.units
    return delays


def _ranks(density: Any) -> Ints:
    """Positions by falling density; ties by number."""
    ranks = np.empty(density.size, dtype=np.int64)
    ranks[np.argsort(-density, kind="stable")] = np.arange(density.size)
    return ranks


def _densities(problem: CompletionTime, machine: _Machine, shares: Floats) -> tuple[int, Ints]:
    """Q and q_j = floor(Q lambda_j w_j / a_j) below 2**62; w_j is divided by p_j for slowdown."""
    parts = np.floor(shares * PARTS).astype(np.int64).tolist()
    over = [w * part for w, part in zip(problem.weights, parts, strict=True)]
    sizes = zip(problem.divisors(), machine.sizes.tolist(), strict=True)
    under = [problem.scale * PARTS * d * max(a, 1) for d, a in sizes]
    pairs = list(zip(over, under, strict=True))
    # o / u < 2 ** (bits of o - bits of u + 1)
    most = max((o.bit_length() - u.bit_length() + 1 for o, u in pairs if o), default=0)
    scale = 1 << max(62 - most, 0)
    return scale, np.array([o * scale // u for o, u in pairs], dtype=np.int64)


def _value(
    problem: CompletionTime, jobs: _Jobs, machine: _Machine, scale: int, densities: Ints
) -> Fraction:
    """Theorem 3 in integers: pieces [s, e) of job j add q_j (e^2 - s^2) / (2 Q N)."""
    on = np.flatnonzero(densities)
    release, sizes = jobs.releases[on] * machine.units, machine.sizes[on]
    job, start, end = run(release, sizes, _ranks(densities[on]))
    q = densities[on].astype(object)
    total = int(np.dot(q[job], (end - start).astype(object) * (end + start)))
    centre = 2 * release.astype(object) + machine.lags[on]
    total -= int(np.dot(q, sizes * centre))
    return _at_zero(problem, jobs) + Fraction(total, 2 * scale * machine.units)


def _at_zero(problem: CompletionTime, jobs: _Jobs) -> Fraction:
    """The bound of lambda = 0: nobody waits."""
    alone = zip(problem.weights, jobs.works.tolist(), problem.divisors(), strict=True)
    total = sum(w * (p // d) for w, p, d in alone)
    if problem.measure == "completion":
        total += sum(w * r for w, r in zip(problem.weights, jobs.releases.tolist(), strict=True))
    return Fraction(total, problem.scale)
