"""RAR-DDLS: ring-all-reduce training jobs that slow each other down on shared links.

Source: M. Yu, B. Ji, H. Rajan, J. Liu, "On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant
GPU Clusters with Communication Contention", MobiHoc 2022.

Jobs are gangs that start once, keep their GPUs and run to completion (no preemption, no migration).
A job inside one node does not communicate over the network. A job that spans nodes shares each
node's uplink with the other spanning jobs there, and all of them slow down. The makespan is
minimised.

Symbols
-------
======================  ==============================  ==========================================
paper                   here                            unit
======================  ==============================  ==========================================
O_s                     ``node.gpus``                   GPUs
G_j (also w_j)          ``job.gpus``                    GPUs
F_j                     ``job.iterations``              iterations
m_j                     ``job.gradient``                data
Delta^f_j M_j+Delta^b_j ``job.base_time``               slots per iteration
b^e, b^i                ``bandwidth_between, _within``  data per slot
C                       ``compute_speed``               data per slot
xi_1                    ``xi1``                         1
xi_2                    ``xi2``                         slots per node
alpha, f                ``alpha``, ``degradation``      1
T                       ``horizon``                     slots
y_js                    ``Segment.gpus``                GPUs of job j on node s
a_j, T_j                ``Segment.start, Segment.end``  slots; half-open [a_j, T_j)
p_j[t]                  contenders                      jobs
phi_j[t]                ``rates[j, n - 1, p]``          iterations / ``resolution`` per slot
======================  ==============================  ==========================================

Equations
---------
=========  ===================================================  ===================================
equation   component                                            note
=========  ===================================================  ===================================
(1)        ``violations``: "gang (1)"; forms: ``gang``
(2)        "capacity (2)"; ``capacity``
(3)        "non-preemption (3)"; ``keep_up``, ``keep_down``     placement fixed over the run
(4)        (unwritten columns); ``idle``                        no GPUs outside the run
(5)        integer columns; domain of ``y_place``               errata E1
(6)        :func:`evaluate`; ``contenders`` (and its parts)
(7)        :meth:`RarDdls.contention_level`                     errata E4
(8)        :meth:`RarDdls.iteration_time`, ``rates``
(9)        "completion (9)"; ``complete``, ``prompt``           errata E3
(10)-(13)  form "schedules": ``choose``, ``same``               errata E9
(14)-(16)  form "workload": ``loads``, ``limit``                errata E10
=========  ===================================================  ===================================

Everything non-linear in (6)-(8) depends on two small integers only: n, the number of nodes that
job j spans, and p, the number of spanning jobs on its busiest node. It is therefore tabulated
once as ``rates[j, n - 1, p]``, an array of integers, and every model, bound and algorithm reads the
same table.

Deviations from the paper
-------------------------
- E1, (5) as printed puts every active job on every node (y > 0 for all s): y >= 0 here.
- E2, E3, (9): "a_j + argmin" keeps the GPUs one slot too long: a run is [a_j, T_j) with
  T_j = a_j + min{r : iterations of r slots >= F_j}.
- E4, (7): k = xi1 p falls below 1 for few contenders, which would make a link faster than itself
  (or its bandwidth negative): k = max(1, xi1 p) by default, with xi1 = 0.5 two jobs then do not
  contend; ``contention="shifted"`` selects k = 1 + xi1 (p - 1).
- E5, xi1 and xi2 have different units and are separate parameters.
- E6, phi = floor(1/tau) is the default; ``rate="exact"`` keeps 1/tau, as a multiple of 1e-9
  iterations, rounded up. Time is slotted in both: a job that is done within a slot keeps its GPUs
  and its share of the links to the slot's end.
- All jobs are released at 0, as in the paper.
"""

from __future__ import annotations

import heapq
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar, Literal

import numpy as np

from ...instances.arrays import Ints, levels
from ...instances.check import at_least, integer, real, set_field
from ...instances.model import Instance, RingJob
from ...instances.schedule import Schedule, Segment
from ..breaches import overfull, reference_violations
from ..problem import Described, Goal, Model, Sense, build, check_instance

#: GPUs of each job by node
Placements = Sequence[Mapping[int, int]]
#: bandwidth sharing degradation f(alpha, k) of Section 4.1 by name; increasing in k, f(., 1) = 1
DEGRADATIONS: Mapping[str, Callable[[Fraction, Fraction], Any]] = {
    "linear": lambda alpha, k: k + alpha * (k - 1),
    "power": lambda alpha, k: float(k) ** float(1 + alpha),
}


def _rational(value: numbers.Real | float) -> Fraction:
    """Return the rational that the shortest decimal of `value` denotes: 0.1 is 1/10."""
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return _decimal(float(value))


@lru_cache(maxsize=4096)
def _decimal(value: float) -> Fraction:
    """The shortest decimal of a number; a problem has few numbers, each used often."""
    return Fraction(repr(value))


@dataclass(frozen=True, slots=True)
class RarDdls(Described):
    r"""Problem RAR-DDLS: minimise the makespan, subject to (1)-(9).

    .. math::

        \min \max_j T_j, \qquad \sum_{j \in A(t)} y_{js} \le O_s, \qquad
        T_j = a_j + \min \Bigl\{ d : \sum_{t = a_j}^{a_j + d - 1} \varphi_j(n_j, p_j(t))
        \ge F_j \Bigr\}

    Parameters
    ----------
    instance : Instance of RingJob
        All jobs released at 0, equal GPUs on all nodes, every gang within the cluster.
    bandwidth_between, bandwidth_within : float
        b^e and b^i: data per slot over a node's uplink and inside a node.
    compute_speed : float
        C: data reduced per slot by one GPU.
    xi1 : float
        Share of time in which a contender communicates, in (0, 1].
    xi2 : float
        Slots of overhead per iteration and node, >= 0.
    alpha : float
        Parameter of the degradation, >= 0.
    degradation : str or callable (alpha, k) -> number
        f(alpha, k): "linear" (the paper's example, k + alpha (k - 1)), "power" (k ** (1 + alpha)),
        or any function that is increasing in k with f(alpha, 1) = 1.
    contention : {"clipped", "shifted"}
        k = max(1, xi1 p) or k = 1 + xi1 (p - 1).
    rate : {"floor", "exact"}
        phi = floor(1 / tau) iterations per slot (the paper's), or 1 / tau.
    horizon : int or None
        T: no job may run past this slot; None for no limit. The paper uses 1200 and 1500.

    Attributes
    ----------
    rates : (jobs, spans, contenders + 1) int array
        ``rates[j, n - 1, p]``: progress per slot of job j on n nodes beside p spanning jobs
        (itself included), in units of 1 / `resolution` iterations; non-increasing in p; zero for
        spans that the gang cannot have.
    fewest : (jobs,) int array
        Fewest nodes that can hold each gang in the empty cluster.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Notes
    -----
    The paper gives no values for b^e, b^i and C. The defaults (1, 50, 50) fix the unit of data and
    are those that :func:`gangsched.generate.rar_workload` calibrates gradients to.

    Building the table costs O(sum_j min(G_j, S) P) with P = min(jobs, largest node).

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    >>> problem.rates[0, 1, 1:].tolist()        # phi(2, 1) = 4, phi(2, 2) = 1
    [4, 1]
    >>> side_by_side = evaluate(problem, [0, 0], [{0: 2, 1: 1}, {1: 1, 2: 2}])
    >>> in_turn = evaluate(problem, [0, 2], [{0: 2, 1: 1}, {0: 2, 1: 1}])
    >>> problem.objective(side_by_side), problem.objective(in_turn)
    (8, 4)
    """

    instance: Instance[RingJob]
    bandwidth_between: float = 1.0
    bandwidth_within: float = 50.0
    compute_speed: float = 50.0
    xi1: float = 0.5
    xi2: float = 1e-4
    alpha: float = 0.2
    degradation: str | Callable[[Fraction, Fraction], Any] = "linear"
    contention: Literal["clipped", "shifted"] = "clipped"
    rate: Literal["floor", "exact"] = "floor"
    horizon: int | None = None
    rates: Ints = field(init=False, repr=False, compare=False)
    fewest: Ints = field(init=False, repr=False, compare=False)

    sense: ClassVar[Sense] = Sense.MIN
    goal: ClassVar[Goal] = Goal("makespan", "slots", "slots", end=True)
    forms: ClassVar[tuple[str, ...]] = ("compact", "literal", "schedules", "workload")
    integral: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_parameters()
        self._check_jobs()
        set_field(self, "fewest", _fewest_servers(self.instance))
        set_field(self, "rates", _rate_table(self))
        never = np.flatnonzero(self.rates.max(axis=(1, 2), initial=0) == 0)
        for j in never[:1]:
            raise ValueError(
                f"job {self.jobs[j].id!r}: one iteration takes more than a slot on any number of "
                "servers that can hold it, so with rate='floor' it never progresses; use "
                "rate='exact' or longer slots"
            )
        self._check_times()

    def __reduce__(self) -> tuple[Any, ...]:
        # arrays come out of a pickle writable: make them anew
        return partial(RarDdls, self.instance, **self.parameters()), ()

    def _check_parameters(self) -> None:
        owner = "RarDdls"
        check_instance(self)
        for name in ("bandwidth_between", "bandwidth_within", "compute_speed", "xi1"):
            real(self, owner, name, positive=True)
        for name in ("xi2", "alpha"):
            real(self, owner, name)
        if self.xi1 > 1:
            raise ValueError(f"{owner}: xi1={self.xi1} is not in (0, 1]")
        for name, known in (("contention", ("clipped", "shifted")), ("rate", ("floor", "exact"))):
            if getattr(self, name) not in known:
                rule = " or ".join(map(repr, known))
                raise ValueError(f"{owner}: {name}={getattr(self, name)!r} is not {rule}")
        if not callable(self.degradation) and self.degradation not in tuple(DEGRADATIONS):
            names = ", ".join(map(repr, DEGRADATIONS))
            raise ValueError(
                f"{owner}: degradation={self.degradation!r} is not callable nor one of {names}"
            )
        if self.horizon is not None:
            integer(self, owner, "horizon", least=1)

    def _check_jobs(self) -> None:
        models = sorted({node.model for node in self.instance.cluster.nodes})
        if len(models) > 1:
            raise ValueError(f"cluster: GPU models {models} differ, RAR-DDLS needs equal GPUs")
        total = self.instance.cluster.gpus
        if total > 10**6:  # bounds and baselines keep a load for each GPU
            raise ValueError(f"cluster: gpus={total} exceeds 1000000")
        for job in self.jobs:
            if not isinstance(job, RingJob):
                raise TypeError(f"job {job.id!r}: kind {type(job).__name__} is not RingJob")
            if job.gpus > total:
                raise ValueError(f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {total}")
            if job.release:
                raise ValueError(
                    f"job {job.id!r}: release={job.release}, but RAR-DDLS has all jobs at time 0"
                )
            if job.iterations > 10**8:
                raise ValueError(f"job {job.id!r}: iterations={job.iterations} exceeds 100000000")

    def _check_times(self) -> None:
        """Refuse times that 64 bits could not add up, over all jobs and GPUs."""
        slowest = np.where(self.rates > 0, self.rates, 2**62).min(axis=(1, 2), initial=2**62)
        times = [
            -(-job.iterations * self.resolution // rate)
            for job, rate in zip(self.jobs, slowest.tolist(), strict=True)
        ]
        if sum(times) * self.instance.cluster.gpus >= 2**62:
            longest = max(times)
            raise ValueError(
                f"job {self.jobs[times.index(longest)].id!r}: takes up to {longest} slots; the "
                f"{sum(times)} slots of all jobs times the cluster's {self.instance.cluster.gpus} "
                "GPUs exceed 2**62, use longer slots"
            )

    @property
    def jobs(self) -> Sequence[RingJob]:
        """The jobs, by number."""
        return self.instance.jobs

    @property
    def resolution(self) -> int:
        """Parts of an iteration that `rates` counts in: 1 for floor, 10**9 for exact rates."""
        return 1 if self.rate == "floor" else 10**9

    def parameters(self) -> dict[str, Any]:
        """Return all parameters but the instance, as a record."""
        skipped = ("instance", "rates", "fewest")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in skipped}

    # -- the contention model, (6)-(8), in exact arithmetic ------------------------------------

    def contention_level(self, contenders: int) -> Fraction:
        """Return k, eq. (7) with errata E4: average number of jobs that share the link."""
        if self.contention == "shifted":
            return 1 + _rational(self.xi1) * (max(contenders, 1) - 1)
        return max(Fraction(1), _rational(self.xi1) * contenders)

    def slowdown(self, contenders: int) -> Fraction:
        """Return f(alpha, k(p)): factor by which `contenders` spanning jobs slow a link down.

        Raises
        ------
        ValueError, TypeError
            Where a user's degradation is not 1 at k = 1, or no finite number.
        """
        one = self._degraded(Fraction(1))
        if one != 1:
            raise ValueError(f"RarDdls: degradation f(alpha, 1)={float(one)} is not 1")
        return self._degraded(self.contention_level(contenders))

    def _degraded(self, k: Fraction) -> Fraction:
        f = self.degradation if callable(self.degradation) else DEGRADATIONS[self.degradation]
        try:
            value = f(_rational(self.alpha), k)
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError(f"RarDdls: degradation f(alpha, {k})={value!r} is not a number")
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            raise ValueError(
                f"RarDdls: degradation f(alpha, {k}) with alpha={self.alpha} is not finite"
            )
        return _rational(value)

    def iteration_time(self, job: int, servers: int, contenders: int) -> Fraction:
        """Return tau_j, eq. (8), in slots, as an exact rational of the decimal inputs.

        Parameters
        ----------
        job : int
            Number of the job.
        servers : int
            n, nodes that it spans, at least 1.
        contenders : int
            p, spanning jobs on its busiest node, itself included; no effect for n = 1.
        """
        ring, overhead = self._ring_times(self.jobs[job])
        if servers == 1:
            link = 1 / _rational(self.bandwidth_within)
        else:
            link = self.slowdown(contenders) / _rational(self.bandwidth_between)
        return 2 * ring * link + overhead + _rational(self.xi2) * servers

    def _ring_times(self, job: RingJob) -> tuple[Fraction, Fraction]:
        """Data m (w-1)/w that a worker exchanges, and the time that no placement changes."""
        ring = _rational(job.gradient) * (job.gpus - 1) / job.gpus
        return ring, ring / _rational(self.compute_speed) + _rational(job.base_time)

    def progress(self, iteration_time: Fraction) -> int:
        """Return phi for one tau: the table's entry, in units of 1 / `resolution`."""
        parts = self.resolution / iteration_time
        return parts.numerator // parts.denominator if self.rate == "floor" else ceil(parts)

    def rate_of(self, job: int, servers: int, contenders: int) -> int:
        """Return phi_j(n, p): of `rates`, or where more contend than nodes have GPUs, by (8)."""
        if contenders < self.rates.shape[2] or not self.rates[job, servers - 1, 0]:
            return int(self.rates[job, servers - 1, min(contenders, self.rates.shape[2] - 1)])
        return self.progress(self.iteration_time(job, servers, contenders))

    # -- times ---------------------------------------------------------------------------------

    def duration(self, job: int, servers: int, contenders: int = 1) -> int | None:
        """Return slots that the job needs at a constant rate, None where it never completes."""
        rate = self.rate_of(job, servers, contenders)
        return -(-self.jobs[job].iterations * self.resolution // rate) if rate else None

    def spans(self, job: int) -> range:
        """Return the numbers of nodes that the job can span."""
        most = min(self.jobs[job].gpus, len(self.instance.cluster.nodes))
        return range(int(self.fewest[job]), most + 1)

    def shortest_durations(self) -> Ints:
        """Return d_j: fewest slots of each job over all spans, alone in the cluster.

        No schedule runs job j for fewer than d_j slots: rates do not increase in contenders.
        """
        spans = [self.spans(j) for j in range(len(self.jobs))]
        best = [int(self.rates[j, n.start - 1 : n.stop - 1, 1].max()) for j, n in enumerate(spans)]
        work = [job.iterations * self.resolution for job in self.jobs]
        return np.array([-(-w // r) for w, r in zip(work, best, strict=True)], dtype=np.int64)

    # -- objective and feasibility ---------------------------------------------------------------

    def objective(self, solution: Schedule) -> int:
        """Return the makespan max_j T_j in slots, 0 without jobs."""
        return int(solution.end.max()) if len(solution) else 0

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks of (1)-(9) and of the horizon.

        Messages start with the constraint's name and equation. Costs O(segments log segments) per
        node in use.
        """
        broken = reference_violations(self, solution, "ring-all-reduce jobs")
        if broken:
            return broken
        broken = self._gang_violations(solution)
        broken += self._capacity_violations(solution)
        broken += self._device_violations(solution)
        broken += self._completion_violations(solution)
        if self.horizon is not None:
            broken += [
                f"horizon: job {self.jobs[row.job].id!r} ends at {row.end}, after T={self.horizon}"
                for row in solution
                if row.end > self.horizon
            ]
        return broken

    def _gang_violations(self, solution: Schedule) -> list[str]:
        runs = np.bincount(solution.job, minlength=len(self.jobs))
        broken = [
            f"non-preemption (3): job {job.id!r} runs in {count} segments"
            if count
            else f"gang (1): job {job.id!r} is not scheduled"
            for job, count in zip(self.jobs, runs.tolist(), strict=True)
            if count != 1
        ]
        for row in solution:
            job, held = self.jobs[row.job], sum(row.gpus.values())
            if held != job.gpus:
                broken.append(f"gang (1): job {job.id!r} holds {held} of its {job.gpus} GPUs")
        return broken

    def _capacity_violations(self, solution: Schedule) -> list[str]:
        return [
            f"capacity (2): node {name!r} holds {held} of its {size} GPUs at slot {time}"
            for name, held, size, time in overfull(self, solution)
        ]

    def _device_violations(self, solution: Schedule) -> list[str]:
        if not solution.device.size:
            return []
        broken: list[str] = []
        used: dict[tuple[int, int], int] = {}
        for row in sorted(solution, key=lambda row: row.start):
            for s, devices in (row.devices or {}).items():
                node = self.instance.cluster.nodes[s]
                for d in devices:
                    if d >= node.gpus:
                        broken.append(f"device: node {node.id!r} has no GPU {d}")
                    if used.get((s, d), 0) > row.start:
                        broken.append(
                            f"device: GPU {d} of node {node.id!r} is used twice at slot {row.start}"
                        )
                    used[s, d] = row.end
        return broken

    def _completion_violations(self, solution: Schedule) -> list[str]:
        """Iterations of each run, integrated over the contention that the schedule itself shows."""
        rows = list(solution)
        runs = np.bincount(solution.job, minlength=len(self.jobs))
        crossing: dict[int, list[Segment]] = {}
        for row in rows:
            for s in row.gpus if len(row.gpus) > 1 else ():
                crossing.setdefault(s, []).append(row)
        contenders = {
            s: levels(*np.array([(r.start, r.end, 1) for r in on], dtype=np.int64).T)
            for s, on in crossing.items()
        }
        broken = []
        for row in rows:
            if runs[row.job] > 1:  # (3) has been reported; the parts of a run complete nothing
                continue
            job = self.jobs[row.job]
            goal = job.iterations * self.resolution
            done, last = self._iterations(row, contenders)
            if done < goal or done - last >= goal:
                broken.append(
                    f"completion (9): job {job.id!r} ends at {row.end} after "
                    f"{done / self.resolution:g} of {job.iterations} iterations"
                    + (", one slot or more too late" if done >= goal else "")
                )
        return broken

    def _iterations(
        self, row: Segment, contenders: Mapping[int, tuple[Ints, Ints]]
    ) -> tuple[int, int]:
        """Progress over the segment, and over its last slot, in units of 1 / resolution."""
        rates = self.rates[row.job, min(len(row.gpus), self.rates.shape[1]) - 1]
        if len(row.gpus) == 1:
            return int(rates[0]) * (row.end - row.start), int(rates[0])
        steps = [contenders[s] for s in row.gpus]
        times = np.unique(np.concatenate([[row.start], *(t for t, _ in steps)]))
        times = times[(times >= row.start) & (times < row.end)]
        p = np.max([count[np.searchsorted(t, times, "right") - 1] for t, count in steps], axis=0)
        span = min(len(row.gpus), self.rates.shape[1])
        speed = [self.rate_of(row.job, span, k) for k in p.tolist()]
        slots = np.diff(np.append(times, row.end)).tolist()
        return sum(r * t for r, t in zip(speed, slots, strict=True)), speed[-1]

    # -- declarative models ------------------------------------------------------------------------

    def build(self, form: str = "compact", **options: Any) -> Model[Schedule]:
        """Return the Pyomo model in one of `forms`, each described in `rar_ddls_forms`.

        Raises
        ------
        ValueError
            Where `form` is unknown.
        """
        return build(self, form, **options)


def _fewest_servers(instance: Instance[RingJob]) -> Ints:
    """nmin(G_j): fewest nodes whose GPUs add up to the gang."""
    room = np.cumsum(sorted(instance.cluster.sizes, reverse=True))
    gangs = np.array([job.gpus for job in instance.jobs], dtype=np.int64)
    fewest = np.searchsorted(room, gangs).astype(np.int64) + 1
    fewest.flags.writeable = False
    return fewest


def _rate_table(problem: RarDdls) -> Ints:
    """phi_j(n, p) for all jobs, spans and contenders: (6)-(8) as a table of integers.

    Evaluated in floats; where 1/tau is so close to an integer that its rounding is in doubt, the
    exact rational decides (so that ten times 0.001 is 0.01 and gives 100). All terms of tau are
    positive, so that the float is off by a few units in the last place at most.
    """
    jobs, nodes = problem.jobs, problem.instance.cluster.nodes
    spans = min(max((job.gpus for job in jobs), default=1), len(nodes))
    most = max(1, min(len(jobs), max(node.gpus for node in nodes)))
    slow = [problem.slowdown(max(p, 1)) for p in range(most + 1)]
    if any(a > b for a, b in pairwise(slow)):
        raise ValueError("RarDdls: degradation f(alpha, k) is not increasing in k")
    gpus = np.array([job.gpus for job in jobs], dtype=np.float64)
    ring = np.array([job.gradient for job in jobs]) * (gpus - 1) / np.maximum(gpus, 1)
    base = np.array([job.base_time for job in jobs]) + ring / problem.compute_speed
    n = np.arange(1, spans + 1)
    between = np.array([float(f) for f in slow]) / problem.bandwidth_between
    link = np.where((n == 1)[:, None], 1 / problem.bandwidth_within, between[None, :])
    with np.errstate(over="ignore"):
        tau = 2 * ring[:, None, None] * link + (base[:, None] + problem.xi2 * n)[:, :, None]
        parts = problem.resolution / tau
    for j in np.flatnonzero(parts.max(axis=(1, 2), initial=0) >= 2**53)[:1]:
        raise ValueError(
            f"job {jobs[j].id!r}: one iteration takes {tau[j].min():g} slots, "
            "too few to count its iterations; use shorter slots"
        )
    table = (np.floor if problem.rate == "floor" else np.ceil)(parts).astype(np.int64)
    impossible = (n > gpus[:, None]) | (n < problem.fewest[:, None])
    table[impossible] = 0
    doubtful = np.abs(parts - np.rint(parts)) < 1e-13 * np.maximum(parts, 1)
    for j, m, p in np.argwhere(doubtful & ~impossible[:, :, None]):
        table[j, m, p] = problem.progress(problem.iteration_time(j, m + 1, max(p, 1)))
    table.flags.writeable = False
    return table


@dataclass(frozen=True, slots=True)
class Estimates:
    """Estimated execution times of Section 5.3 and how far off they can be.

    Parameters
    ----------
    times : (jobs,) int array
        rho_hat_j in slots.
    lower, upper : float
        l <= 1 and u >= 1 with rho_hat_j in [l rho_j(y), u rho_j(y)] for every schedule y.
    spread : float
        varphi = max_j (longest rho_j / shortest rho_j) over the same range, Lemma 4; may be inf.
    """

    times: Ints
    lower: float
    upper: float
    spread: float


def estimated_times(problem: RarDdls) -> Ints:
    """Return rho_hat_j = ceil(F_j / phi_j(nmin(G_j), 1)): fewest nodes, alone, in slots.

    d_j, the shortest duration on any span, where fewest nodes leave the job no progress (floor).
    """
    number = np.arange(len(problem.jobs))
    rate = problem.rates[number, problem.fewest - 1, 1] if number.size else number
    work = np.array([job.iterations * problem.resolution for job in problem.jobs], dtype=np.int64)
    return np.where(rate > 0, -(-work // np.maximum(rate, 1)), problem.shortest_durations())


def estimates(problem: RarDdls) -> Estimates:
    """Return the estimated times rho_hat_j with l, u from the bounds of tau.

    Section 5.1 bounds tau_j by B in [b^e / f(alpha, k(max O_s)), b^i] and a span in [1, G_j].
    l = 0 and spread = inf where the upper bound of tau leaves a job no progress (floor).

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> job = RingJob(id="a", gpus=2, iterations=1000, gradient=0.002, base_time=0.02)
    >>> e = estimates(RarDdls(Instance(Cluster.uniform(nodes=2, gpus_per_node=2), [job])))
    >>> e.times.tolist(), e.lower, e.upper
    ([21], 0.9130434782608695, 1.0)
    """
    fastest, slowest = [], []
    largest = max(problem.instance.cluster.sizes)
    for j, job in enumerate(problem.jobs):
        low, high = _time_bounds(problem, j, largest)
        work = job.iterations * problem.resolution
        fastest.append(-(-work // problem.progress(low)))
        slow = problem.progress(high)
        slowest.append(-(-work // slow) if slow else float("inf"))
    rho, fast, slow_ = estimated_times(problem), np.array(fastest), np.array(slowest)
    return Estimates(
        times=rho,
        lower=float(min(1.0, (rho / slow_).min(initial=1.0))),
        upper=float(max(1.0, (rho / fast).max(initial=1.0))),
        spread=float((slow_ / fast).max(initial=1.0)),
    )


def _time_bounds(problem: RarDdls, j: int, largest: int) -> tuple[Fraction, Fraction]:
    """Section 5.1: lowest and highest tau_j over all schedules."""
    job = problem.jobs[j]
    ring, fixed = problem._ring_times(job)
    overhead = _rational(problem.xi2)
    slowest_link = problem.slowdown(largest) / _rational(problem.bandwidth_between)
    widths = problem.bandwidth_within, problem.bandwidth_between
    within, between = (1 / _rational(width) for width in widths)
    low = 2 * ring * min(within, between) + fixed + overhead
    high = 2 * ring * max(within, slowest_link) + fixed + overhead * job.gpus
    return low, high


def evaluate(
    problem: RarDdls,
    start: Sequence[int],
    placement: Placements,
    devices: Sequence[Mapping[int, tuple[int, ...]]] | None = None,
) -> Schedule | None:
    """Return the schedule that starts and placements of all jobs lead to, (6)-(9).

    Speeds change only when a job starts or ends, so time jumps from event to event; the result is
    exactly that of stepping through every slot.

    Parameters
    ----------
    problem : RarDdls
    start : sequence of int
        a_j in slots, by job number.
    placement : sequence of {node: gpus}
        y_j, by job number; the gang's GPUs, at least one on each node. Capacity is not looked at:
        where nodes give more GPUs than they have, more jobs contend, and all are as slow as that.
    devices : sequence of {node: GPU numbers}, optional
        GPU identities, carried into the schedule.

    Returns
    -------
    Schedule or None
        One segment a job, in job order; None when some job never completes (phi = 0 for good).

    Raises
    ------
    ValueError, TypeError
        Where the columns do not fit the jobs, a start is no integer >= 0, or a placement does not
        hold the gang on nodes of the cluster.

    Notes
    -----
    O(events x active jobs x span).
    """
    _check_runs(problem, start, placement)
    remaining = [job.iterations * problem.resolution for job in problem.jobs]
    end = [0] * len(remaining)
    pending = sorted(range(len(remaining)), key=lambda j: (start[j], j), reverse=True)
    active: list[int] = []
    now = 0
    while pending or active:
        while pending and start[pending[-1]] <= now:
            active.append(pending.pop())
        speed = dict(zip(active, _speeds(problem, active, placement), strict=True))
        steps = [-(-remaining[j] // r) for j, r in speed.items() if r]
        if pending:
            steps.append(start[pending[-1]] - now)
        if not steps:
            return None
        now += min(steps)
        for j, r in speed.items():
            remaining[j] -= r * min(steps)
            end[j] = now
        active = [j for j in active if remaining[j] > 0]
    return Schedule.of(
        Segment(j, start[j], end[j], placement[j], devices[j] if devices else None)
        for j in range(len(remaining))
    )


def _check_runs(problem: RarDdls, start: Sequence[int], placement: Placements) -> None:
    for name, column in (("start", start), ("placement", placement)):
        if len(column) != len(problem.jobs):
            raise ValueError(f"evaluate: {len(column)} entries of {name}, {len(problem.jobs)} jobs")
    nodes = range(len(problem.instance.cluster.nodes))
    for job, first, held in zip(problem.jobs, start, placement, strict=True):
        owner = f"job {job.id!r}"
        at_least(f"{owner}: start", first, 0)
        for s, count in held.items():
            if s not in nodes:
                raise ValueError(f"{owner}: placement={dict(held)} names node {s} of {len(nodes)}")
            at_least(f"{owner}: placement[{s}]", count, 1)
        if sum(held.values()) != job.gpus:
            raise ValueError(
                f"{owner}: placement={dict(held)} holds {sum(held.values())} of its {job.gpus} GPUs"
            )


def _speeds(problem: RarDdls, active: Sequence[int], placement: Placements) -> list[int]:
    """phi_j of the active jobs: (6) counts spanning jobs a node, the table does the rest."""
    crossing: dict[int, int] = {}
    for j in active:
        for s in placement[j] if len(placement[j]) > 1 else ():
            crossing[s] = crossing.get(s, 0) + 1
    speeds = []
    for j in active:
        p = max(crossing[s] for s in placement[j]) if len(placement[j]) > 1 else 0
        speeds.append(problem.rate_of(j, len(placement[j]), p))
    return speeds


def complete_schedule(
    problem: RarDdls, start: Sequence[int], placement: Placements
) -> Schedule | None:
    """Return the schedule of starts and placements, each job on the first GPUs that are free.

    None where a job never ends; without GPU identities where a node is too small. Costs
    O(jobs log jobs + gpus log gpus) after the evaluation.
    """
    plain = evaluate(problem, start, placement)
    if plain is None:
        return None
    free = [list(range(node.gpus)) for node in problem.instance.cluster.nodes]
    held: list[tuple[int, int, int]] = []  # (end, node, device)
    devices: list[dict[int, tuple[int, ...]]] = [{} for _ in problem.jobs]
    for row in sorted(plain, key=lambda row: (row.start, row.job)):
        while held and held[0][0] <= row.start:
            _, s, device = heapq.heappop(held)
            heapq.heappush(free[s], device)
        for s, count in row.gpus.items():
            if count > len(free[s]):
                return plain
            devices[row.job][s] = tuple(heapq.heappop(free[s]) for _ in range(count))
            for device in devices[row.job][s]:
                heapq.heappush(held, (row.end, s, device))
    return evaluate(problem, start, placement, devices)
