"""SJF-BCO: smallest job first with balanced contention and overhead (Yu et al. 2022).

Algorithm 1 sorts jobs by gang size and serves them in that order, trying every threshold kappa:
gangs up to kappa GPUs go to the least loaded GPUs of the cluster (Algorithm 2, FA-FFP), larger ones
to the least loaded GPUs of the least busy nodes (Algorithm 3, LBSGF). A limit theta on the sum of
estimated times that any GPU may get is searched by bisection.

==================  ==============================================  ===========================
paper               here                                            note
==================  ==============================================  ===========================
Algorithm 1         :func:`sjf_bco`
l. 3                order by (G_j, input position)
l. 5-6, 19-23       ``search="printed"`` / ``"feasibility"``        errata E12, E21
l. 7                kappa in {1} and the gang sizes                 errata E13
l. 14-18            a run counts only when all jobs are placed      errata E11
Algorithm 2         :func:`fa_ffp`                                  errata E14, E15
Algorithm 3         :func:`lbsgf`                                   errata E15, E17
U_s^g               ``GangQueue.load``                              reset each run, errata E20
rho_hat_j           ``formulations.rar_ddls.estimated_times``
lambda_j, u         ``SjfBcoParams.reach``, ``SjfBcoParams.u``
==================  ==============================================  ===========================

Deviations from the paper
-------------------------
- E11: as printed, a run that breaks off at its first job is accepted with makespan -1.
- E12: as printed, the bisection moves down only when the makespan strictly improves, and a schedule
  of length exactly T is never returned. The default search first runs every kappa without a limit,
  keeps the best makespan over all runs, and bisects on feasibility only to report the smallest
  feasible limit. (Feasibility is not monotone in theta: the report is a feasible limit, not always
  the smallest.)
- E14: Algorithm 2 takes the least loaded GPUs, whatever its name says.
- E15: "available" means idle now; while the first job waits, nothing else starts.
- E16: T_j needs future contention: completions are simulated, the makespan is taken at the end.
- Without a feasible run the status is UNKNOWN (INFEASIBLE only where a bound proves it), never a
  makespan of T.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil, floor
from typing import Any, Literal

import numpy as np

from ...formulations.rar_ddls.problem import RarDdls, estimated_times
from ...instances.arrays import Ints
from ...instances.schedule import Schedule
from ..facts import MakespanFacts
from ..history import History
from ..result import Result, Stop
from ..signature import solver
from .bounds import area_bound
from .gang_queue import CompiledQueue, GangQueue, Plan

TIES = "jobs by (gang, position); GPUs by (load, server, GPU); servers by (mean load, server)"


@dataclass(frozen=True, slots=True)
class SjfBcoParams:
    """Parameters of SJF-BCO.

    Parameters
    ----------
    search : {"feasibility", "printed"}
        Search for theta: repaired (E12), or lines 5-23 as printed.
    kappa : int or None
        Threshold on gang size, at least 0; None tries 1 and every gang size (the paper tries
        1 .. max G_j, Section 5.4).
    reach : float
        lambda, at least 1: LBSGF considers the least busy nodes that together hold
        lambda G_j GPUs (1 in Section 7; Fig. 7 tries 1, 2, 4, 8).
    u : float
        At least 1: rho_hat_j / u is a lower bound of the real execution time (Section 5.3). It only
        scales theta.
    """

    search: Literal["feasibility", "printed"] = "feasibility"
    kappa: int | None = None
    reach: float = 1.0
    u: float = 1.0

    def __post_init__(self) -> None:
        if self.search not in ("feasibility", "printed"):
            raise ValueError(f"SjfBcoParams: search={self.search!r} is not feasibility or printed")
        if self.kappa is not None and (not isinstance(self.kappa, int) or self.kappa < 0):
            raise ValueError(f"SjfBcoParams: kappa={self.kappa!r} is not an integer >= 0 or None")
        for name in ("reach", "u"):
            value = getattr(self, name)
            if not 1 <= value < float("inf"):
                raise ValueError(f"SjfBcoParams: {name}={value} is not a number >= 1")


def fa_ffp(queue: GangQueue, job: int, limit: float) -> list[int] | None:
    """Algorithm 2, fragment-aware first-fit packing: the least loaded admissible idle GPUs.

    Returns None while fewer than G_j are idle (line 9: wait). Ties by (node, GPU).
    """
    fits = limit - queue.rho[job]
    idle = [g for g, free in enumerate(queue.idle) if free and queue.load[g] <= fits]  # line 2
    return least_loaded(queue, idle, queue.gang(job))  # lines 3-4


def least_loaded(queue: GangQueue, gpus: Sequence[int], wanted: int) -> list[int] | None:
    """Return the `wanted` GPUs with least load, the first of rising `gpus` on ties, or None."""
    if len(gpus) < wanted:
        return None
    return sorted(gpus, key=queue.load.__getitem__)[:wanted]


def lbsgf(queue: GangQueue, job: int, limit: float, reach: float = 1.0) -> list[int] | None:
    """Algorithm 3, least busy server-GPU first.

    Considers the nodes with least load per GPU that together hold ``reach * G_j`` GPUs (all of
    them if they do not), and takes the least loaded admissible idle GPUs there. Returns None while
    fewer than G_j are idle (line 12: wait), even if other nodes have idle GPUs.
    """
    selected = least_busy_servers(queue, reach * queue.gang(job))  # line 2
    fits = limit - queue.rho[job]
    idle = [
        g
        for g, free in enumerate(queue.idle)
        if free and queue.node[g] in selected and queue.load[g] <= fits  # lines 4-5
    ]
    return least_loaded(queue, idle, queue.gang(job))  # lines 6-7


def least_busy_servers(queue: GangQueue, wanted: float) -> set[int]:
    """Return the least busy nodes that together hold `wanted` GPUs, ties by node number."""
    loads = [0] * len(queue.sizes)
    for node, load in zip(queue.node, queue.load, strict=True):
        loads[node] += load
    busy = [load / size for load, size in zip(loads, queue.sizes, strict=True)]
    ranked = sorted(range(len(busy)), key=busy.__getitem__)  # stable: ties by node
    selected, room = set(), 0
    for s in ranked:
        if room >= wanted:
            break
        selected.add(s)
        room += queue.sizes[s]
    return selected


@dataclass
class LimitSearch:
    """Search for the limit theta, lines 4-24 of Algorithm 1, for any family of runs.

    Parameters
    ----------
    run : callable (kappa, limit) -> Plan or None
        One pass over all jobs in which no GPU's sum of estimated times exceeds `limit`.
    kappas : sequence of int
        Variants to run at each theta.
    u : float
        theta bounds sums of rho_hat / u.
    horizon : int or None
        Plans longer than this do not count.
    deadline : float
        `time.perf_counter()` after which no new run starts.
    """

    run: Callable[[int, float], Plan | None]
    kappas: Sequence[int]
    u: float = 1.0
    horizon: int | None = None
    deadline: float = float("inf")
    best: Plan | None = None
    kappa: int | None = None
    theta: int | None = None
    runs: int = 0
    history: History = field(default_factory=lambda: History(time.perf_counter()))
    _unlimited: dict[int, Plan | None] = field(default_factory=dict)

    @classmethod
    def single(cls, problem: RarDdls, plan: Plan | None) -> LimitSearch:
        """Return a search that is over after one run: there is no theta to search."""
        search = cls(run=lambda kappa, limit: plan, kappas=[0], horizon=problem.horizon)
        search.unlimited()
        return search

    def unlimited(self) -> list[Plan]:
        """Run every kappa without a limit and return the plans."""
        return [plan for kappa in self.kappas if (plan := self._at(kappa, None))]

    def feasibility(self, lowest: int) -> None:
        """Run without a limit, then bisect for the smallest feasible theta (errata E12, repaired).

        `lowest` is a theta below which no run can succeed.
        """
        plans = self.unlimited()
        if not plans:
            return
        left, right = lowest, ceil(min(plan.load for plan in plans) / self.u)
        self.theta = right
        while left < right and not self.out_of_time():
            theta = (left + right) // 2
            plans = [plan for kappa in self.kappas if (plan := self._at(kappa, theta))]
            if plans:
                right = self.theta = min(theta, ceil(min(plan.load for plan in plans) / self.u))
            else:
                left = theta + 1

    def printed(self, horizon: int) -> None:
        """Lines 4-23 of Algorithm 1 as printed, but for errata E11 (incomplete runs)."""
        left, right, shortest = 1, horizon, horizon  # line 4
        while left <= right and not self.out_of_time():  # line 5
            theta = (left + right) // 2  # line 6
            plans = [plan for kappa in self.kappas if (plan := self._at(kappa, theta))]  # 7-16
            makespan = min((plan.makespan for plan in plans), default=horizon)  # 17-18
            if makespan < shortest:  # line 19
                shortest, self.theta = makespan, theta  # line 20
                right = theta - 1  # line 21
            else:
                left = theta + 1  # line 23
        if shortest == horizon:
            self.best = None  # m starts at T and is compared with <

    def out_of_time(self) -> bool:
        """Whether the time limit is over."""
        return time.perf_counter() > self.deadline

    def _at(self, kappa: int, theta: int | None) -> Plan | None:
        """Run, unless the run without a limit respects theta anyway and so would come out again."""
        known = self._unlimited.get(kappa)
        if known is not None and theta is not None and known.load <= theta * self.u:
            return known if self._in_time(known) else None
        if self.runs and self.out_of_time():
            return None
        plan = self.run(kappa, float("inf") if theta is None else floor(theta * self.u))
        self.runs += 1
        if theta is None:
            self._unlimited[kappa] = plan
        if plan is None or not self._in_time(plan):
            return None
        if self.best is None or plan.makespan < self.best.makespan:
            self.best, self.kappa = plan, kappa
            self.history.note(objective=int(plan.makespan))
        return plan

    def _in_time(self, plan: Plan) -> bool:
        return self.horizon is None or plan.makespan <= self.horizon

    def result(
        self, problem: RarDdls, *, solver: str, started: float, info: dict[str, Any]
    ) -> Result[Schedule]:
        """Return the best plan as a result with the area bound."""
        bound = area_bound(problem)
        infeasible = self.best is None and bound.value > (problem.horizon or float("inf"))
        stop = Stop.TIME_LIMIT if self.out_of_time() else Stop.COMPLETED
        best = self.best
        return Result.of(
            problem,
            best.schedule(problem) if best else None,
            solver=solver,
            stop=stop,
            bound=bound,
            infeasible=infeasible,
            runtime=time.perf_counter() - started,
            iterations=self.runs,
            history=self.history.entries,
            info={
                **info,
                "kappa": self.kappa,
                "theta": self.theta,
                "load": best.load if best else None,
            },
            facts=MakespanFacts(
                kappa=self.kappa, theta=self.theta, load=int(best.load) if best else None
            ),
        )


@solver(SjfBcoParams, of=RarDdls)
def sjf_bco(
    problem: RarDdls, *, seed: int, time_limit: float | None, params: SjfBcoParams
) -> Result[Schedule]:
    """Schedule by SJF-BCO, Algorithm 1 of Yu et al. (2022).

    Guarantee: the paper's Theorem 5, makespan <= n_g varphi (u / l) T* with n_g = max G_j, is
    refuted for n_g = 1 (counterexample CE-4 in docs/theorems.md). Proven for this implementation
    (default search, all kappas tried, no time limit): makespan <= min(max(n_g, 2), 3) varphi T*,
    where varphi bounds how much contention and spread can stretch a job (theorem-5-repaired there;
    void where varphi is infinite, and where the horizon is shorter than that).

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Not used: the algorithm draws nothing. Every solver takes it.
    time_limit : float, optional
        Wall seconds after which no new run starts; the best plan so far is returned.
    params : SjfBcoParams

    Returns
    -------
    Result
        With the area bound. ``info``: kappa of the best run, theta (smallest feasible limit found),
        load (W_hat of the returned plan), parameters and tie-breaks. Status UNKNOWN where no run
        places all jobs (within the horizon), INFEASIBLE where the area bound exceeds the horizon.

    Notes
    -----
    A run costs O(J N) for completions and, retries included, O(J (N log N + S log S)) for choosing
    GPUs; compiled, O(J (N + S^2 + n_g^2)), with small constants. There are at most (2 + log2 of the
    largest load) runs a kappa; plans without a limit are reused wherever they respect one.
    Theorem 6 has O(n_g J N log N log T) and leaves completions out.

    The printed search needs a T; without a horizon it is the sum of all estimates and one slot.

    References
    ----------
    Yu, Ji, Rajan, Liu. "On Scheduling Ring-All-Reduce Learning Jobs in Multi-Tenant GPU Clusters
    with Communication Contention", MobiHoc 2022, Algorithms 1-3.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [
    ...     RingJob(id=f"j{i}", gpus=g, iterations=100 * n, gradient=0.0, base_time=0.0099)
    ...     for i, (g, n) in enumerate([(1, 1), (1, 1), (1, 2)])
    ... ]
    >>> result = sjf_bco(RarDdls(Instance(Cluster.of_sizes([2]), jobs)))
    >>> result.objective, result.bound.value
    (3, 2)
    """
    started = time.perf_counter()
    rho = estimated_times(problem)
    order = sorted(range(len(rho)), key=lambda j: (problem.jobs[j].gpus, j))  # line 3
    gangs = {job.gpus for job in problem.jobs}
    search = LimitSearch(
        run=_runner(problem, rho, order, params),
        kappas=sorted({1} | gangs) if params.kappa is None else [params.kappa],
        u=params.u,
        horizon=problem.horizon,
        deadline=float("inf") if time_limit is None else started + time_limit,
    )
    if params.search == "printed":
        search.printed(problem.horizon or int(rho.sum()) + 1)
    else:
        search.feasibility(ceil(int(rho.max(initial=0)) / params.u))
    info = {"seed": seed, "params": asdict(params), "ties": TIES}
    return search.result(problem, solver="sjf-bco", started=started, info=info)


def _runner(
    problem: RarDdls, rho: Ints, order: Sequence[int], params: SjfBcoParams
) -> Callable[[int, float], Plan | None]:
    """One pass of lines 8-16 for given kappa and limit."""
    from . import gang_queue_core as core  # numba takes a second to import

    queue, sequence = CompiledQueue(problem, rho), np.array(order, dtype=np.int64)
    gangs = np.array([job.gpus for job in problem.jobs])

    def run(kappa: int, limit: float) -> Plan | None:
        rule = np.where(gangs <= kappa, core.LEAST_LOADED, core.LEAST_BUSY_SERVERS)  # lines 10-13
        return queue.head_of_line(sequence, rule, limit=limit, reach=params.reach)

    return run
