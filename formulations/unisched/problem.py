"""UniSched: which gangs get leases of the cluster, so that the reward for met deadlines is maximal.

Source: W. Gao, Z. Ye, P. Sun, T. Zhang, Y. Wen, "UniSched: A Unified Scheduler for Deep Learning
Training Jobs With Different User Demands", IEEE TC 73(6), 2024, Section III-C.

Time is cut into leases of T seconds. A job with deadlines (SLO job) that gets L of its first Q
leases, on an allocation of GPUs of the same speed or faster in each, is complete by the deadline
and earns its reward. Best-effort and profiler jobs earn a little for a lease at once. Jobs may be
suspended and moved at every lease.

Symbols
-------
=====================  =======================================  ==================================
paper                  here                                     unit
=====================  =======================================  ==================================
M                      ``instance.cluster.gpus``, ``free``      GPUs
N_i^GPU                ``job.gpus``                             GPUs
T_i^dur                ``job.work``, lengthened by (3)          s
T^lease, BE lease      ``lease``, ``be_lease``                  s
t_i^sr                 ``job.preemption_cost``, ``overhead``    s
D_f,i, V_f,i           ``job.rewards``                          s from the release; 1
L_i, Q_f,i             :meth:`UniSched.terms`                   leases
A_i, A_i,p             :meth:`UniSched.allocations_of`          pieces of GPUs, one node each
phi (normalised)       ``CellAllocation.speed``                 millionths
A_i,p(g), N_g^con      pieces of 2^g GPUs                       cells
N_g^cell               bit g of the free GPUs of each node      cells
s_f,i, y_i,p           an :class:`Option` that is chosen        0 or 1
x_k,i                  job i has a segment in lease k           0 or 1
=====================  =======================================  ==================================

Equations
---------
==========  ==================================================  ===================================
equation    component                                           note
==========  ==================================================  ===================================
(4)         :meth:`UniSched.objective`; ``objective``           errata U5, U6
(5), (9)    domains of ``s_``, ``x_``, ``y_`` variables
(6), (13)   ``deadline``, ``allocation``; ``one``               one option a job; link missing, U1
(7)         ``printed``, form "literal" only                    errata U2
(8)         ``CellAllocation.speed``
(10)        validation of ``free``                              errata U4
(11), (14)  "capacity"; ``level``, ``rows``                     for each lease, errata U3
(12)        :meth:`UniSched.terms`; ``service``                 errata U7
==========  ==================================================  ===================================

What a schedule says
--------------------
The GPUs of a segment are those that the job is allocated. With ``allocations="cells"`` a gang of 6
on nodes of 8 may have a node for itself (8 GPUs on one node: the cell (0, 0, 0, 1), full speed), or
any 6 GPUs (the cells (6, 0, 0, 0), wherever they are: split speed). Capacity is then the GPUs of
each node, nothing else, and models, checker and enumeration of all schedules agree.

===============  ====================================================================
``allocations``  a gang of N GPUs, nodes of S GPUs
===============  ====================================================================
"cells"          N a power of two: N on one node. Other N < S: the next power of two
                 on one node, or N anywhere at split speed. N > S: N anywhere
"exact"          as "cells", but N instead of the next power of two
"consolidated"   the next power of two on one node; N > S: whole nodes, and the next
                 power of two of the rest on one more
===============  ====================================================================

The gangs of "exact" fit on nodes with c free GPUs each exactly where they satisfy the
:data:`CONSOLIDATION_ROWS` of c, the ones among them being single GPUs.

Deviations from the paper
-------------------------
- U1: the printed model is vacuous. Nothing links y to s: with y = 0 and x = 0 every s satisfies
  (5)-(14), so that its optimum is the sum of all first rewards, on no GPU at all (form "literal").
  Here each job that meets a deadline has an allocation, sum_p y_ip = sum_f s_fi.
- U2: (7) limits the leases of a job to L, where (12) demands L / phi of them: together they forbid
  every allocation below full speed. What (7) is to say (L leases in time) is in (12): dropped.
- U3: (11) and (14) have no lease index, so that x never meets the cluster's capacity. Here they
  hold in every lease. Lease 0 has the GPUs that are free now, later ones the whole cluster.
- U4: (10) only bounds the data. The levels are 1 to 4 in the text and 0 to 3 in the formulas; (8)
  and (12) mix h and p. Nodes of 4 GPUs have no level 3: their cells of the highest level are whole
  nodes, of level 2.
- U5: a best-effort job's reward, 1 / remaining time, has no unit and exceeds a profiler's 1 where
  that time is below one: tau / (tau + remaining time), tau a best-effort lease, and L = Q = 1.
- U6: the ratio 1 : 100 does not keep many best-effort jobs from outweighing a deadline:
  ``lexicographic`` scales them so that they cannot.
- U7: with L and Q rounded as printed, and L / phi rounded again, jobs are refused that would finish
  in time: see `leases`; ``rounding="paper"`` selects the printed one. L and Q depend on deadline
  and allocation. (3) needs the number of leases, which depends on (3): the least that is enough.
- U8: "all quadruples" is not "(0, 0, 0, 1) for 6 GPUs", which takes too many; with covers that take
  too many, which ones? Under (2), only one node or several matters for the speed: the table above
  has all that are not dominated (on free nodes). Whether (0, 1, 1, 0) shares a node is unknown: it
  counts as split. Sizes above 16, which the generator skips, are as those above 8.
  With rounded-up cells the second example of Section II-B, one of four gangs of 6 split over what
  the others leave of three nodes of 8, does not exist (8 + 8 + 8 + 6 > 24): all four are split.
- U9: a profiler on two GPUs "of one or two machines" cannot be said in cells: (2, 0, 0, 0).
- U10: cells need not be aligned in their node, only within it. With N_g^cell the number of nodes
  whose free GPUs have bit g, (14) is sufficient and necessary for gangs of 1, 2, 4, ..., S GPUs:
  sum over g >= h of 2^(g-h) N_g is the number of disjoint sets of 2^h GPUs within nodes, which each
  larger gang of 2^g diminishes by exactly 2^(g-h), wherever it is put. Largest first, any node will
  do. With aligned cells it is not necessary: GPUs 0 and 3 of a node are two cells of level 0.
- Suspensions are in the estimate only; that gangs are moved is free in the model, as in the paper.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import fsum, gcd, lcm
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from ...instances.arrays import Ints
from ...instances.check import at_least, flag, integer, one_of
from ...instances.display import shortened
from ...instances.model import FULL_SPEED, DeadlineJob, Instance
from ...instances.schedule import Schedule, Segment
from ..breaches import overfull, reference_violations, reruns
from ..problem import Described, Goal, Model, Sense, build
from .leases import LeasePhase, Rounding, Terms, lease_terms, remaining_estimate

Allocations = Literal["cells", "exact", "consolidated"]

#: Which gangs fit on m nodes with c free GPUs each, every gang within a node: those of which
#: sum_s row[s - 1] n_s <= side * m holds for all (row, side) of c, n_s being the gangs of s GPUs.
#: Necessary and sufficient for every m.
CONSOLIDATION_ROWS: Mapping[int, tuple[tuple[tuple[int, ...], int], ...]] = MappingProxyType(
    {
        1: (((1,), 1),),
        2: (((1, 2), 2),),
        3: (((0, 1, 1), 1), ((1, 2, 3), 3)),
        4: (((0, 1, 2, 2), 2), ((1, 2, 3, 4), 4)),
        5: (((0, 0, 1, 1, 1), 1), ((0, 1, 1, 2, 2), 2), ((1, 2, 3, 4, 5), 5)),
        6: (((0, 0, 1, 2, 2, 2), 2), ((0, 2, 3, 4, 6, 6), 6), ((1, 2, 3, 4, 5, 6), 6)),
        7: (((0, 0, 0, 1, 1, 1, 1), 1), ((0, 0, 1, 1, 2, 2, 2), 2), ((0, 1, 1, 2, 2, 3, 3), 3),
            ((0, 1, 2, 2, 3, 4, 4), 4), ((1, 2, 3, 4, 5, 6, 7), 7)),
        8: (((0, 0, 0, 1, 2, 2, 2, 2), 2), ((0, 0, 1, 1, 1, 2, 2, 2), 2),
            ((0, 1, 1, 2, 3, 3, 4, 4), 4), ((0, 2, 3, 4, 5, 6, 8, 8), 8),
            ((1, 2, 3, 4, 5, 6, 7, 8), 8)),
    }
)  # fmt: skip


class CellAllocation(NamedTuple):
    """One of the allocations A_i,p that the policy generator offers to a job.

    Parameters
    ----------
    pieces : tuple of int
        GPUs of each piece, falling; a piece is within one node.
    speed : int
        Speed of the job on it, in millionths of that of a consolidated gang: the normalised speed
        of (8).

    Examples
    --------
    >>> CellAllocation((4, 2), 500_000).gpus
    6
    """

    pieces: tuple[int, ...]
    speed: int

    @property
    def gpus(self) -> int:
        """GPUs of all pieces."""
        return sum(self.pieces)

    @property
    def anywhere(self) -> bool:
        """Whether all pieces are single GPUs, whose nodes do not matter."""
        return self.pieces[0] == 1


class Option(NamedTuple):
    """What can be chosen for a job: one allocation for one deadline.

    Parameters
    ----------
    job : int
    allocation : CellAllocation
    deadline : int
        Index into `job.rewards`; -1 for best-effort and profiler jobs.
    needed, within : int
        L and Q: so many of the job's first `within` leases.
    value : float
        What it adds to the objective.
    """

    job: int
    allocation: CellAllocation
    deadline: int
    needed: int
    within: int
    value: float


@dataclass(frozen=True, slots=True)
class UniSched(Described):
    r"""Problem UniSched: maximise the reward of deadlines that leases of gangs can meet.

    .. math::

        \max \sum_{i, f} V_{f,i} s_{f,i}, \qquad
        \sum_f s_{f,i} = \sum_p y_{i,p} \le 1, \qquad
        \sum_{k \le Q_{f,i}} x_{k,i} \ge L_{f,i} s_{f,i}

    Parameters
    ----------
    instance : Instance of DeadlineJob
        Snapshot of a queue: releases 0, `work` the service left as estimated, deadlines from now,
        without those that have passed. Or, with releases, the offline problem. Nodes of one size
        and one GPU model; every gang within the cluster.
    lease, be_lease : int
        T and tau, seconds of an SLO and of a best-effort lease; tau divides T.
    allocations : {"cells", "exact", "consolidated"}
        What a gang may hold, see the table above. "cells" and "consolidated" need nodes of 1, 2,
        4, 8, ... GPUs, "exact" nodes of at most 8.
    rounding : {"lossless", "paper"}
        Of L and Q.
    sr_aware : bool
        Lengthen the work by the expected suspensions, (3).
    lexicographic : bool
        No best-effort or profiler job counts against a deadline.
    phases : mapping of int to LeasePhase
        Where jobs stand, by number; FRESH where it says nothing.
    profilers : set of int
        Jobs that are to be profiled: min(2, gpus) GPUs for one lease, worth 1, whatever their
        rewards.
    free : sequence of int or None
        GPUs that are free in lease 0, by node; None for all. Later leases have the whole cluster.
    overhead : int
        t^sr of jobs whose `preemption_cost` is None.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Examples
    --------
    Section II-B: four gangs of 6 on three nodes of 8. Three of them could have a node each; split,
    at 0.9 of their speed, all four meet their deadlines.

    >>> from gangsched.instances import Cluster
    >>> jobs = [
    ...     DeadlineJob(id=f"j{i}", gpus=6, work=1080, rewards=[(1200, 100)], split_speed=0.9)
    ...     for i in range(4)
    ... ]
    >>> problem = UniSched(Instance(Cluster.of_sizes([8, 8, 8]), jobs))
    >>> [(o.allocation.pieces, o.needed, o.within) for o in problem.options()][:2]
    [((8,), 2, 2), ((1, 1, 1, 1, 1, 1), 2, 2)]
    >>> nodes = [{0: 6}, {1: 6}, {2: 6}, {0: 2, 1: 2, 2: 2}]
    >>> schedule = Schedule.of(Segment(i, 0, 1200, held) for i, held in enumerate(nodes))
    >>> problem.violations(schedule), problem.objective(schedule)
    ([], 400.0)
    """

    instance: Instance[DeadlineJob]
    lease: int = 600
    be_lease: int = 300
    allocations: Allocations = "cells"
    rounding: Rounding = "lossless"
    sr_aware: bool = True
    lexicographic: bool = False
    phases: Mapping[int, LeasePhase] = field(default_factory=dict, hash=False)
    profilers: frozenset[int] = frozenset()
    free: Sequence[int] | None = None
    overhead: int = 25

    sense: ClassVar[Sense] = Sense.MAX
    goal: ClassVar[Goal] = Goal("reward", time="seconds")
    forms: ClassVar[tuple[str, ...]] = ("slots", "literal", "compact")
    integral: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Instance):
            raise TypeError(
                f"UniSched: instance={shortened(repr(self.instance))} is not an Instance"
            )
        self._check_parameters()
        self._check_cluster()
        self._check_numbers()
        self._check_jobs()

    def __repr__(self) -> str:
        nodes = len(self.instance.cluster.nodes)
        return f"UniSched({len(self.jobs)} jobs, {nodes} nodes of {self.node_gpus} GPUs)"

    def __reduce__(self) -> tuple[Any, ...]:
        # mapping proxies do not pickle; go through the constructor, which validates again
        return _remade, (self.instance, self.parameters())

    def _check_parameters(self) -> None:
        for name, least in (("lease", 1), ("be_lease", 1), ("overhead", 0)):
            integer(self, "UniSched", name, least=least)
        if self.lease % self.be_lease:
            raise ValueError(
                f"UniSched: be_lease={self.be_lease} does not divide lease={self.lease}"
            )
        for name, kind in (("allocations", Allocations), ("rounding", Rounding)):
            one_of(f"UniSched: {name}", getattr(self, name), get_args(kind))
        for name in ("sr_aware", "lexicographic"):
            flag(self, "UniSched", name)

    def _check_cluster(self) -> None:
        models = sorted({node.model for node in self.instance.cluster.nodes})
        if len(models) > 1:
            raise ValueError(f"cluster: GPU models {models} differ, UniSched needs equal GPUs")
        sizes = sorted(set(self.instance.cluster.sizes))
        if len(sizes) > 1:
            raise ValueError(f"cluster: node sizes {sizes} differ, UniSched needs equal nodes")
        size, exact = self.node_gpus, self.allocations == "exact"
        nodes = f"cluster: nodes of {size} GPUs"
        if exact and size > 8:
            raise ValueError(f"{nodes} exceed the 8 of 'exact' allocations")
        if not exact and size & (size - 1):
            raise ValueError(f"{nodes}, which is no power of two, have no cells")
        if self.free is not None:
            self._check_free()

    def _check_free(self) -> None:
        if not isinstance(self.free, Iterable):
            raise TypeError(f"UniSched: free={self.free!r} is not a sequence")
        free, nodes = tuple(self.free), self.instance.cluster.nodes
        if len(free) != len(nodes):
            raise ValueError(f"UniSched: free has {len(free)} entries for {len(nodes)} nodes")
        free = tuple(at_least(f"UniSched: free[{n}]", count, 0) for n, count in enumerate(free))
        for node, count in zip(nodes, free, strict=True):
            if count > node.gpus:
                raise ValueError(f"node {node.id!r}: free={count} exceeds its {node.gpus} GPUs")
        object.__setattr__(self, "free", free)

    def _check_numbers(self) -> None:
        if not isinstance(self.phases, Mapping):
            raise TypeError(f"UniSched: phases={self.phases!r} is not a mapping")
        if not isinstance(self.profilers, Collection):
            raise TypeError(f"UniSched: profilers={self.profilers!r} is not a set")
        phases = {at_least("UniSched: phases", i, 0): phase for i, phase in self.phases.items()}
        for i, phase in phases.items():
            if phase not in tuple(LeasePhase):
                raise ValueError(f"UniSched: phases[{i}]={phase!r} is not a LeasePhase")
            phases[i] = LeasePhase(phase)
        profilers = frozenset(at_least("UniSched: profilers", i, 0) for i in self.profilers)
        object.__setattr__(self, "phases", MappingProxyType(phases))
        object.__setattr__(self, "profilers", profilers)
        for name, numbers in (("phases", phases), ("profilers", profilers)):
            for i in numbers:
                if i >= len(self.jobs):
                    raise ValueError(f"UniSched: {name} has job number {i} of {len(self.jobs)}")

    def _check_jobs(self) -> None:
        total = self.instance.cluster.gpus
        for i, job in enumerate(self.jobs):
            if not isinstance(job, DeadlineJob):
                raise TypeError(f"job {job.id!r}: kind {type(job).__name__} is not DeadlineJob")
            if job.gpus > total:
                raise ValueError(f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {total}")
            if job.work is None and i not in self.profilers:
                raise ValueError(f"job {job.id!r}: work=None, UniSched needs seconds of service")

    @property
    def jobs(self) -> Sequence[DeadlineJob]:
        """The jobs, by number."""
        return self.instance.jobs

    @property
    def node_gpus(self) -> int:
        """GPUs of each node."""
        return self.instance.cluster.sizes[0]

    def parameters(self) -> dict[str, Any]:
        """Return all parameters but the instance, as a record."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "instance"}
        return {**own, "phases": dict(self.phases)}

    # -- jobs, deadlines, allocations --------------------------------------------------------------

    def first_slot(self, job: int) -> int:
        """Return the first lease that begins after the job's release.

        Parameters
        ----------
        job : int
        """
        return -(-self.jobs[job].release // self.lease)

    def has_deadlines(self, job: int) -> bool:
        """Say whether the job is an SLO job: neither best effort nor to be profiled.

        Parameters
        ----------
        job : int
        """
        return job not in self.profilers and not self.jobs[job].best_effort

    def allocations_of(self, job: int) -> tuple[CellAllocation, ...]:
        """Return what the policy generator offers to the job, full speed first.

        Parameters
        ----------
        job : int
        """
        gang, size = self.jobs[job].gpus, self.node_gpus
        if job in self.profilers:
            return (CellAllocation((1,) * min(2, gang), FULL_SPEED),)
        whole, rest = divmod(gang, size)
        if self.allocations == "consolidated":
            pieces = (size,) * whole + ((_power(rest),) if rest else ())
            return (CellAllocation(pieces, FULL_SPEED),)
        if gang > size:
            return (CellAllocation((1,) * gang, FULL_SPEED),)
        if gang == _power(gang):
            return (CellAllocation((gang,), FULL_SPEED),)
        one = gang if self.allocations == "exact" else _power(gang)
        slow = self.jobs[job].speed(gang, 2, size)
        return CellAllocation((one,), FULL_SPEED), CellAllocation((1,) * gang, slow)

    def terms(self, job: int, deadline: int, speed: int) -> Terms | None:
        """Return L and Q of an SLO job, counted from its first lease; None where it cannot meet it.

        Parameters
        ----------
        job : int
        deadline : int
            Index into `rewards`.
        speed : int
            Of the allocation, in millionths.
        """
        one = self.jobs[job]
        from_first = one.release + one.rewards[deadline][0] - self.first_slot(job) * self.lease
        return lease_terms(
            one.work or 0,
            from_first,
            lease=self.lease,
            speed=speed,
            cost=self._cost(job),
            phase=self.phases.get(job, LeasePhase.FRESH),
            rounding=self.rounding,
        )

    def _cost(self, job: int) -> int:
        """t^sr as the estimate has it."""
        own = self.jobs[job].preemption_cost
        return (self.overhead if own is None else own) if self.sr_aware else 0

    def small_value(self, job: int, speed: int) -> float:
        """Return the value of lease 0 for a best-effort or profiler job.

        Parameters
        ----------
        job : int
        speed : int
            Of the allocation, in millionths.
        """
        if job in self.profilers:
            return self.small_factor
        work = -(-(self.jobs[job].work or 0) * FULL_SPEED // speed)
        top, bottom = remaining_estimate(work, self._cost(job), self.be_lease)
        return self.small_factor * (self.be_lease * bottom / (self.be_lease * bottom + top))

    @property
    def small_factor(self) -> float:
        """What the values of best-effort and profiler jobs, each at most 1, are multiplied by.

        1, or if `lexicographic` so little that all of them are below the least difference between
        two sums of rewards, which is not less than the greatest common divisor of the rewards.
        """
        if not self.lexicographic:
            return 1.0
        slo = [job for i, job in enumerate(self.jobs) if self.has_deadlines(i)]
        rewards = {value for job in slo for _, value in job.rewards}
        return lexicographic_factor(rewards, len(self.jobs) - len(slo))

    def options(self) -> list[Option]:
        """Return every option of every job; each has L <= Q.

        Examples
        --------
        >>> from gangsched.instances import Cluster
        >>> jobs = [DeadlineJob(id="a", gpus=3, work=600, rewards=[(800, 100)], split_speed=0.5)]
        >>> problem = UniSched(Instance(Cluster.of_sizes([4]), jobs))
        >>> [(o.allocation.pieces, o.needed, o.within) for o in problem.options()]
        [((4,), 1, 1)]
        """
        return [option for i in range(len(self.jobs)) for option in self._options(i)]

    def _options(self, job: int) -> Iterator[Option]:
        for allocation in self.allocations_of(job):
            if not self.has_deadlines(job):
                if self.first_slot(job) == 0:
                    value = self.small_value(job, allocation.speed)
                    yield Option(job, allocation, -1, 1, 1, value)
                continue
            for f, (_, value) in enumerate(self.jobs[job].rewards):
                terms = self.terms(job, f, allocation.speed)
                if terms is not None:
                    yield Option(job, allocation, f, terms.needed, terms.within, value)

    # -- objective and feasibility -----------------------------------------------------------------

    def objective(self, solution: Schedule) -> float:
        """Return (4): the reward of what each job's leases are enough for.

        Parameters
        ----------
        solution : Schedule
            A feasible one.

        Notes
        -----
        An SLO job's L and Q are those of the slowest allocation that it has in any lease, or of a
        slower one: with expected suspensions that may ask for less. The float nearest to the exact
        sum.
        """
        return fsum(self.values(solution).values())

    def values(self, solution: Schedule) -> dict[int, float]:
        """Return the value of each job that runs, by number.

        Parameters
        ----------
        solution : Schedule
            A feasible one.

        Raises
        ------
        ValueError
            Where a job holds GPUs that are none of its allocations.
        """
        slowest: dict[int, int] = {}
        for row in solution:
            way = self.way_of(row)
            if way is None:
                raise ValueError(self._wrong_gang(row))
            slowest[row.job] = max(way, slowest.get(row.job, way))
        speeds = {i: self.allocations_of(i)[way].speed for i, way in slowest.items()}
        return {
            i: self._value(i, slots, speeds[i])
            for i, slots in sorted(self.leases(solution).items())
        }

    def leases(self, solution: Schedule) -> dict[int, set[int]]:
        """Return the leases in which each job runs, by number.

        Parameters
        ----------
        solution : Schedule
        """
        held: dict[int, set[int]] = {}
        for row in solution:
            leases = range(row.start // self.lease, row.end // self.lease)
            held.setdefault(row.job, set()).update(leases)
        return held

    def _value(self, job: int, slots: set[int], speed: int) -> float:
        if not self.has_deadlines(job):
            return self.small_value(job, speed) if 0 in slots else 0.0
        first = self.first_slot(job)
        ways = [way.speed for way in self.allocations_of(job) if way.speed <= speed]
        for f, (_, value) in enumerate(self.jobs[job].rewards):
            for terms in filter(None, (self.terms(job, f, way) for way in ways)):
                if sum(k - first < terms.within for k in slots) >= terms.needed:
                    return value
        return 0.0

    def way_of(self, row: Segment) -> int | None:
        """Return which of its job's allocations a segment has, the fastest; None if it is none.

        Parameters
        ----------
        row : Segment
        """
        held = tuple(sorted(row.gpus.values(), reverse=True))
        for p, way in enumerate(self.allocations_of(row.job)):
            if held == way.pieces or (way.anywhere and sum(held) == way.gpus):
                return p
        return None

    def _wrong_gang(self, row: Segment) -> str:
        ways = [
            f"{a.gpus} anywhere" if a.anywhere else " + ".join(map(str, a.pieces))
            for a in self.allocations_of(row.job)
        ]
        held = " + ".join(str(count) for count in sorted(row.gpus.values(), reverse=True))
        return f"gang: job {self.jobs[row.job].id!r} holds {held} GPUs, not {' or '.join(ways)}"

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks: leases, releases, gangs, capacity.

        Messages start with the constraint's name. O(segments log segments).
        """
        broken = reference_violations(self, solution, "the jobs of UniSched")
        if broken:
            return broken
        broken = [text for row in solution for text in self._segment_violations(row)]
        return [*broken, *self._overlaps(solution), *self._capacity_violations(solution)]

    def _segment_violations(self, row: Segment) -> Iterator[str]:
        job = self.jobs[row.job]
        if row.start % self.lease or row.end % self.lease:
            yield f"lease: job {job.id!r} runs in [{row.start}, {row.end}), not in whole leases"
        if row.start < job.release:
            yield f"release: job {job.id!r} starts at {row.start}, before {job.release}"
        if not self.has_deadlines(row.job) and row.end > self.lease:
            yield f"lease: job {job.id!r} has no deadlines and runs until {row.end}, after lease 0"
        if self.way_of(row) is None:
            yield self._wrong_gang(row)

    def _overlaps(self, solution: Schedule) -> Iterator[str]:
        for i, time in reruns(solution):
            yield f"gang: job {self.jobs[i].id!r} runs twice at {time}"

    def _capacity_violations(self, solution: Schedule) -> Iterator[str]:
        """One message a node, for the first time at which it holds too many; lease 0 apart."""
        sizes = np.array(self.instance.cluster.sizes, dtype=np.int64)
        free = np.array(self.free, dtype=np.int64) if self.free else sizes

        def room(node: Ints, time: Ints) -> Ints:
            return np.where(time < self.lease, free[node], sizes[node])

        for name, held, there, time in overfull(self, solution, room=room):
            yield f"capacity: node {name!r} holds {held} of {there} GPUs at {time}"

    # -- declarative models ------------------------------------------------------------------------

    def build(self, form: str = "slots") -> Model[Schedule]:
        """Return the model in one of `forms`, described in `unisched_forms`, `unisched_compact`.

        Raises
        ------
        ValueError
            Where `form` is unknown, or the model would be too large.
        """
        return build(self, form)


def covers(gpus: int, level: int) -> Iterator[tuple[int, ...]]:
    """Yield numbers of cells of level 0, ..., `level` with so many GPUs in all.

    Examples
    --------
    >>> list(covers(4, 1))
    [(4, 0), (2, 1), (0, 2)]
    """
    if level == 0:
        yield (gpus,)
        return
    for number in range(gpus // 2**level + 1):
        for lower in covers(gpus - number * 2**level, level - 1):
            yield (*lower, number)


def lexicographic_factor(rewards: Iterable[float], small: int) -> float:
    """What `small` values of at most 1 are multiplied by so as not to count against rewards.

    Examples
    --------
    >>> lexicographic_factor([100, 80], 36)
    0.5
    """
    values = [Fraction(repr(value)) for value in rewards]
    if not (small and values):
        return 1.0
    step = Fraction(gcd(*(v.numerator for v in values)), lcm(*(v.denominator for v in values)))
    return min(1.0, float(9 * step / (10 * small)))


def _remade(instance: Instance[DeadlineJob], parameters: dict[str, Any]) -> UniSched:
    return UniSched(instance, **parameters)


def _power(gpus: int) -> int:
    """The next power of two, from 1 on."""
    return 1 << (gpus - 1).bit_length()
