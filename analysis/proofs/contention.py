"""Bounds of the makespan that see nodes and contention: cliques of jobs, and uplinks."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

from ...formulations.problem import check_class
from ...formulations.rar_ddls.problem import RarDdls
from ...solvers.result import Bound


def contention_bound(problem: RarDdls) -> Bound:
    """Return the better of a clique's bound and the uplinks'; 0 where neither says anything.

    Parameters
    ----------
    problem : RarDdls

    Returns
    -------
    Bound
        Certificate ``{"kind": "clique", "jobs": [...]}`` or ``{"kind": "uplinks"}``.

    Notes
    -----
    A job of more GPUs than any node has is wide: it crosses the uplinks of all its nodes.

    Two jobs clash if together they need more than the N GPUs, or if both are wide and there are no
    two sets of nodes without a common one that hold them: then they share an uplink whenever both
    run. In a clique K, where any two clash, let U <= N be the most GPUs that some of its jobs can
    fill. A slot is worth U. A job that runs alone in K takes all of it, one beside others of K its
    G_j; its progress is a_j = max_n phi_j(n, 1) or b_j = max_n phi_j(n, 2) at most. So

        U C >= sum_{j in K} min { U x + G_j y : a_j x + b_j y >= F_j },  integers x, y >= 0.

    K is made of the largest jobs, as long as each clashes with the one before.

    An uplink is worth 1 in every slot, shared by the c_s jobs on it. A wide job on n nodes beside
    p on its busiest one takes n / p or more, and makes progress phi_j(n, p), so that

        S C >= sum_{j wide} F_j min_{n, p} n / (p phi_j(n, p)),  S the number of nodes.

    O(jobs (jobs + C)) and O(jobs x contenders).

    Examples
    --------
    Two jobs of 3 GPUs on three nodes of 2: both cross the uplink of one of them.

    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    >>> cluster = Cluster.of_sizes([2, 2, 2])
    >>> problem = RarDdls(Instance(cluster, jobs), xi1=1, xi2=0.005, alpha=0.5)
    >>> bound = contention_bound(problem)
    >>> bound.value, dict(bound.certificate)
    (4, {'kind': 'clique', 'jobs': [0, 1]})
    """
    check_class("contention_bound", problem, RarDdls)
    clique, uplinks = _clique_bound(problem), _uplink_bound(problem)
    return clique if clique.value >= uplinks.value else uplinks


class _Clashes:
    """Which pairs of jobs clash."""

    def __init__(self, problem: RarDdls) -> None:
        sizes = problem.instance.cluster.sizes
        self.gangs = [job.gpus for job in problem.jobs]
        self.gpus, self.largest = sum(sizes), max(sizes, default=0)
        self.sums = _sums(sizes)

    def wide(self, j: int) -> bool:
        """Whether a job crosses uplinks wherever it is."""
        return self.gangs[j] > self.largest

    def clash(self, i: int, j: int) -> bool:
        """Whether two jobs, if they run at once, do so on a common node."""
        one, other = self.gangs[i], self.gangs[j]
        if one + other > self.gpus:
            return True
        if not (self.wide(i) and self.wide(j)):
            return False
        held = self.sums >> one
        fewest = one + (held & -held).bit_length() - 1  # GPUs of nodes that hold job i
        return self.gpus - fewest < other


def _sums(numbers: Iterable[int]) -> int:
    """Bit n is set where some of the numbers add up to n."""
    found = 1
    for number in numbers:
        found |= found << number
    return found


def _clique_bound(problem: RarDdls) -> Bound:
    clashes, durations = _Clashes(problem), problem.shortest_durations().tolist()
    order = sorted(range(len(durations)), key=lambda j: (-clashes.gangs[j], -durations[j], j))
    clique: list[int] = []
    for j in order:
        if clique and not clashes.clash(clique[-1], j):
            break
        clique.append(j)
    candidates = [clique]
    if len(clique) > 1:  # instead of its smallest job, a longer one that clashes with the rest
        rest = [j for j in order if j not in clique[:-1] and clashes.clash(clique[-2], j)]
        candidates.append([*clique[:-1], max(rest, key=lambda j: durations[j])])
    found = Bound(0, "clique", {"kind": "clique", "jobs": []})
    for jobs in candidates:
        value = _worth(problem, clashes, jobs)
        if value > found.value:
            found = Bound(value, "clique", {"kind": "clique", "jobs": sorted(jobs)})
    return found


def _worth(problem: RarDdls, clashes: _Clashes, clique: list[int]) -> int:
    """What a clique proves."""
    unit = (_sums(clashes.gangs[j] for j in clique) & ((2 << clashes.gpus) - 1)).bit_length() - 1
    return -(-sum(_charge(problem, clashes, j, unit) for j in clique) // max(unit, 1))


def _charge(problem: RarDdls, clashes: _Clashes, j: int, unit: int) -> int:
    """The least of the slots' worth that a job needs."""
    work = problem.jobs[j].iterations * problem.resolution
    spans = problem.spans(j)
    alone = max(problem.rate_of(j, n, 1) for n in spans)
    beside = max(problem.rate_of(j, n, 2) for n in spans) if clashes.wide(j) else 0
    slots = -(-work // alone)
    if beside == 0:
        return unit * slots
    gang = clashes.gangs[j]
    return min(unit * x + gang * -(-max(work - alone * x, 0) // beside) for x in range(slots + 1))


def _uplink_bound(problem: RarDdls) -> Bound:
    sizes = problem.instance.cluster.sizes
    most = min(len(problem.jobs), max(sizes, default=0))
    total = Fraction(0)
    for j, job in enumerate(problem.jobs):
        if job.gpus <= max(sizes):
            continue
        work = job.iterations * problem.resolution
        total += min(
            Fraction(work * n, p * rate)
            for n in problem.spans(j)
            for p in range(1, most + 1)
            if (rate := problem.rate_of(j, n, p))
        )
    return Bound(ceil(total / max(len(sizes), 1)), "uplinks", {"kind": "uplinks"})
