"""The claims of Yu, Ji, Rajan, Liu (MobiHoc 2022) on RAR-DDLS and SJF-BCO, and their corrections.

Symbols are the paper's: N GPUs, gang sizes G_j with n_g = max G_j, estimates rho_hat_j between
l rho_j and u rho_j of the real times rho_j, varphi = max_j of a job's longest over its shortest
real time, W_hat = max over GPUs of the sum of rho_hat_j / u, theta~ and theta* the limits that
Algorithm 1 and an optimal algorithm find for (16), T* the least makespan. Beyond the paper: A, the
sum of G_j rho_j in the schedule at hand, and p, its longest rho_j. "Reading A" and "reading B" of
Algorithms 2 and 3: a job takes GPUs that are idle now, or joins the queues of its GPUs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import ceil
from typing import Any, Literal, get_args

import networkx as nx
import numpy as np

from ....formulations.rar_ddls.problem import RarDdls, estimated_times, evaluate
from ....instances.model import Cluster, Instance, RingJob
from ....instances.schedule import Schedule
from ....solvers import BackfillingParams, backfilling, first_fit
from ....solvers.facts import MakespanFacts
from ....solvers.ours.rar_ddls.laminar import Forest, LaminarParams, laminar
from ....solvers.rar_ddls.backfilling import Order
from ....solvers.rar_ddls.bounds import area_bound
from ....solvers.rar_ddls.gang_queue import GangQueue, Plan, head_of_line
from ....solvers.rar_ddls.sjf_bco import LimitSearch, SjfBcoParams
from ....solvers.result import Result
from ..claim import Sides, claims_of, nearest
from . import tiny
from .tiny import Case, Pinned, Queued, constant_times, one_run, shortest

PAPER = "Yu et al. 2022"
Rng = np.random.Generator
Ints = list[int]
Floats = list[float]
Search = Literal["feasibility", "printed"]
FULL: Search = "feasibility"


# --- cases ---------------------------------------------------------------------------------------


def _constant(
    sizes: Ints,
    gangs: Ints,
    times: Ints,
    most: int | None = None,
    search: Search = FULL,
    u: float = 1.0,
) -> Case:
    problem = constant_times(sizes, gangs, times, horizon=most)
    return Case(problem, SjfBcoParams(search=search, u=u))


def _draw_constant(rng: Rng, *, search: Search = FULL) -> Case:
    """At most 6 GPUs on 3 nodes, 5 jobs of 1 to 6 slots; the horizon never binds."""
    sizes = rng.integers(1, 3, size=rng.integers(1, 4)).tolist()
    jobs = int(rng.integers(1, 6))
    gangs = rng.integers(1, sum(sizes) + 1, size=jobs).tolist()
    times = rng.integers(1, 7, size=jobs).tolist()
    return _constant(sizes, gangs, times, 2 * sum(times), search)


def _draw_tight(rng: Rng) -> Case:
    """Constant times, the printed search, and a horizon that may bind."""
    case = _draw_constant(rng)
    horizon = int(rng.integers(max(case.times), 2 * sum(case.times) + 1))
    problem = replace(case.problem, horizon=horizon)
    return Case(problem, SjfBcoParams(search="printed"))


def _draw_contended(rng: Rng, *, heavy: bool = False) -> Case:
    """Nodes of 1 to 3 GPUs, gangs of at most 4; contention slows jobs down up to sixfold.

    `heavy` gradients may bring a job to a halt.
    """
    sizes = rng.integers(1, 4, size=rng.integers(2, 4)).tolist()
    gradients = [0.2, 0.3, 0.4] if heavy else [0.0, 0.05, 0.1, 0.15]
    most, count = min(4, sum(sizes)), int(rng.integers(1, 6))
    gang = partial(rng.integers, 1, most + 1)
    return Case(_contention(sizes, _draw_jobs(rng, count, gang, 12, gradients, [0.01, 0.02, 0.04])))


def _draw_jobs(
    rng: Rng, count: int, gang: Callable[[], Any], most: int, gradients: Floats, base_times: Floats
) -> list[RingJob]:
    """Jobs of drawn gangs and of at most so many iterations."""
    return [
        RingJob(
            id=f"j{j}",
            gpus=int(gang()),
            iterations=int(rng.integers(1, most + 1)),
            gradient=float(rng.choice(gradients)),
            base_time=float(rng.choice(base_times)),
        )
        for j in range(count)
    ]


def _contention(sizes: list[int], jobs: list[RingJob]) -> RarDdls:
    instance = Instance(Cluster.of_sizes(sizes), tuple(jobs))
    return RarDdls(instance, xi1=1.0, xi2=0.005, alpha=0.5)


def _draw_any(rng: Rng) -> Case:
    return _draw_constant(rng) if rng.random() < 0.5 else _draw_contended(rng)


def _draw_pinned(rng: Rng) -> Pinned:
    case = _draw_any(rng)
    gpus = [rng.choice(case.gpus, size=gang, replace=False).tolist() for gang in case.gangs]
    return Pinned(case.problem, gpus)


def _draw_queued(rng: Rng) -> Queued:
    gpus, jobs = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    gangs, times, elsewhere = (
        rng.integers(1, most + 1, size=jobs).tolist() for most in (gpus, 6, 6)
    )
    return Queued(gpus, gangs, times, times if rng.random() < 0.5 else elsewhere)


def _draw_pair(rng: Rng) -> Case:
    sizes = rng.integers(1, 3, size=rng.integers(2, 4)).tolist()
    gang = partial(rng.integers, 1, sum(sizes) + 1)
    return Case(_contention(sizes, _draw_jobs(rng, 2, gang, 8, [0.0, 0.05, 0.1, 0.15], [0.01])))


def _same_pair(gradient: float) -> Case:
    """Two equal jobs that have to span nodes and, together, to share one (P2)."""
    jobs = [
        RingJob(id=f"j{j}", gpus=3, iterations=8, gradient=gradient, base_time=0.01)
        for j in range(2)
    ]
    return Case(_contention([2, 2, 2], jobs))


def _alternating(small: int, time: int) -> Case:
    """Jobs of one GPU and `time` slots, between them jobs of all GPUs and one slot."""
    gangs, times = [1, small] * small, [time, 1] * small
    return _constant([small], gangs[:-1], times[:-1])


def _draw_blocks(rng: Rng) -> Case:
    """Gangs of 1, 2, 4 or 8, nodes of any size; on two nodes jobs take up to 10 times longer.

    In half of the cases all gangs have one size, so that they compete for the same blocks.
    """
    sizes = rng.integers(1, 7, size=rng.integers(2, 5)).tolist()
    top = int(rng.integers(0, min(4, sum(sizes).bit_length())))
    least = top if rng.random() < 0.5 else 0
    count = int(rng.integers(1, 13))
    gang = lambda: 1 << int(rng.integers(least, top + 1))  # noqa: E731
    jobs = _draw_jobs(rng, count, gang, 20, [0.0, 0.1, 0.2, 0.4], [0.02, 0.1])
    return Case(_contention(sizes, jobs))


def _twice_as_long_on_two_servers(jobs: int) -> Case:
    """Gangs of 2 on nodes of 2, 1 and 1 GPUs: 1 slot on the first, 2 slots on the others."""
    gangs = [
        RingJob(id=f"j{j}", gpus=2, iterations=2, gradient=0.2, base_time=0.34) for j in range(jobs)
    ]
    return Case(_contention([2, 1, 1], gangs))


# --- quantities ----------------------------------------------------------------------------------


def _area(problem: RarDdls, plan: Schedule | Plan) -> int:
    """A: GPU-slots of a schedule whose rows are in job order."""
    return sum(
        job.gpus * int(t) for job, t in zip(problem.jobs, plan.end - plan.start, strict=True)
    )


def _longest(plan: Schedule | Plan) -> int:
    """p: slots of the longest run."""
    return int((plan.end - plan.start).max())


def _smallest_first(problem: RarDdls) -> Plan | None:
    """The run of Algorithm 1 with kappa = n_g and no limit."""
    return one_run(problem, max(job.gpus for job in problem.jobs))


# --- Theorem 1 -----------------------------------------------------------------------------------


def coloring_jobs(graph: nx.Graph) -> Pinned:
    """Return the jobs of Theorem 1's reduction: a GPU for each edge, a unit job for each node.

    The job of a node needs the GPUs of the node's edges; with one slot a colour, a schedule on
    these GPUs is a colouring.

    Examples
    --------
    >>> import networkx as nx
    >>> jobs = coloring_jobs(nx.complete_graph(4))
    >>> len(jobs.problem.jobs), jobs.problem.instance.cluster.gpus, jobs.shortest()
    (4, 6, 4)
    """
    edges = list(graph.edges)
    mine = [[g for g, edge in enumerate(edges) if node in edge] for node in graph]
    for node, gpus in zip(graph, mine, strict=True):
        if not gpus:
            raise ValueError(f"graph: node {node!r} has no edge, so its job would need no GPU")
    problem = constant_times([1] * len(edges), [len(gpus) for gpus in mine], [1] * len(mine))
    return Pinned(problem, mine)


def _chromatic_number(graph: nx.Graph) -> int:
    nodes = list(graph)
    for colors in range(1, len(nodes) + 1):
        for choice in product(range(colors), repeat=len(nodes)):
            color = dict(zip(nodes, choice, strict=True))
            if all(color[a] != color[b] for a, b in graph.edges):
                return colors
    return 0


@cache
def _small_graphs() -> list[nx.Graph]:
    """All connected graphs of 2 to 5 nodes, up to isomorphism."""
    atlas = (nx.graph_atlas(number) for number in range(2, 53))
    return [graph for graph in atlas if len(graph) > 1 and nx.is_connected(graph)]


def _draw_graph(rng: Rng) -> nx.Graph:
    graphs = _small_graphs()
    return graphs[int(rng.integers(len(graphs)))]


def _prescribed(graph: nx.Graph) -> Sides:
    return Sides(_chromatic_number(graph), coloring_jobs(graph).shortest(), "==")


def _free_placement(graph: nx.Graph) -> Sides:
    case = Case(coloring_jobs(graph).problem)
    return Sides(_chromatic_number(graph), shortest(case.gpus, case.gangs, case.times), "==")


def _paw() -> nx.Graph:
    """Return a triangle with a pendant node."""
    return nx.Graph([(0, 1), (1, 2), (2, 0), (0, 3)])


# --- Lemmas 2-4, Theorems 5 and 6 ----------------------------------------------------------------


def _fact(result: Result[Any], name: str) -> int:
    """W_hat ("load") or theta~ ("theta") of a result that has a schedule."""
    value: int = getattr(MakespanFacts.of(result), name)
    return value


def _within(result: Result[Any], bound: Callable[[], int | float | Fraction]) -> Sides | None:
    """Makespan <= bound, where there is a schedule."""
    return None if result.objective is None else Sides(result.objective, bound())


def _runs(case: Case, limit: float = float("inf")) -> list[Plan]:
    """The runs of Algorithm 1 that are feasible, one for each kappa."""
    plans = (one_run(case.problem, kappa, limit) for kappa in case.kappas)
    return [plan for plan in plans if plan is not None]


def _backfilled(case: Case) -> Iterator[Schedule | None]:
    """List schedules with backfilling, in every order."""
    for order in get_args(Order):
        params = BackfillingParams(order=order)
        yield backfilling(case.problem, params=params).solution


def _lemma_2(case: Case) -> Sides | None:
    result = case.solve()
    if result.solution is None:
        return None
    return Sides(_fact(result, "load") / case.params.u, _fact(result, "theta"), "==")


def _lemma_2_repaired(case: Case, *, length: bool = False) -> Sides | None:
    """W_hat, or the makespan, of runs at theta~, and theta~."""
    theta = _fact(case.solve(), "theta")
    return nearest(
        Sides(plan.makespan if length else plan.load, theta, "==") for plan in _runs(case, theta)
    )


def _lemma_3(case: Case) -> Sides | None:
    """C <= n_g W_hat."""
    result = case.solve()
    return _within(result, lambda: max(case.gangs) * _fact(result, "load") / case.params.u)


def _lemma_3_idle(case: Case) -> Sides | None:
    """Slots before a GPU's last job in which all GPUs of that job are idle, against none."""
    solution = case.solve().solution
    if solution is None:
        return None
    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in sorted(solution, key=lambda row: row.start):
        for s, devices in (row.devices or {}).items():
            for d in devices:
                held.setdefault((s, d), []).append((row.start, row.end))
    idle = 0
    for row in solution:
        mine = [held[s, d] for s, devices in (row.devices or {}).items() for d in devices]
        if any(runs[-1][0] == row.start for runs in mine):
            idle += sum(
                not any(start <= t < end for runs in mine for start, end in runs)
                for t in range(row.start)
            )
    return Sides(idle, 0)


def _lemma_3_pinned(case: Pinned) -> Sides | None:
    """C_j <= sum of busy times of its GPUs - (G_j - 1) rho_j."""
    plan = case.greedy(range(len(case.gpus)))
    if plan is None:
        return None
    times = (plan.end - plan.start).tolist()
    busy = [0] * case.problem.instance.cluster.gpus
    for gpus, time in zip(case.gpus, times, strict=True):
        for g in gpus:
            busy[g] += time
    return nearest(
        Sides(int(plan.end[j]), sum(busy[g] for g in gpus) - (len(gpus) - 1) * times[j])
        for j, gpus in enumerate(case.gpus)
    )


def _lemma_3_output(case: Case) -> Sides | None:
    """C <= n_g W_hat u / l for the repaired search, with the l of the run with kappa = n_g."""
    plan, result = _smallest_first(case.problem), case.solve()
    if plan is None:
        return None
    lower = min(map(Fraction, case.times, (plan.end - plan.start).tolist()))
    return _within(result, lambda: max(case.gangs) * _fact(result, "load") / lower)


def _lemma_4(case: Case) -> Sides | None:
    """theta~ <= theta*, as varphi u / l = 1 where times are constant and estimates exact."""
    theta = MakespanFacts.of(case.solve()).theta
    if theta is None:
        return None
    return Sides(theta, tiny.least_load(case.gpus, case.gangs, case.times))


def _lemma_4_repaired(case: Queued) -> Sides:
    """theta~ is W_hat without a limit: see monotone-queues."""
    best = tiny.least_load(case.gpus, case.gangs, case.elsewhere)
    theta = tiny.queue_load(case.gpus, case.gangs, case.times)
    assert theta is not None
    return Sides(theta, ceil((2 - Fraction(1, case.gpus)) * case.spread * best))


def _theorem_5(case: Case) -> Sides | None:
    """C <= n_g T*, as varphi u / l = 1 where times are constant and estimates exact."""
    best = partial(shortest, case.gpus, case.gangs, case.times)
    return _within(case.solve(), lambda: max(case.gangs) * best())


def _theorem_5_gangs(case: Case) -> Sides | None:
    """C <= n_g T*, for n_g >= 2."""
    return _theorem_5(case) if max(case.gangs) > 1 else None


def _theorem_5_repaired(case: Case) -> Sides | None:
    """C <= min(max(n_g, 2), 3) varphi LB.

    LB <= T* is the area bound; for varphi stands how much longer than possible jobs take in the run
    with kappa = n_g, which is at most varphi.
    """
    plan, result = _smallest_first(case.problem), case.solve()
    if plan is None:
        return None
    possible = case.problem.shortest_durations().tolist()
    real: list[int] = (plan.end - plan.start).tolist()
    spread = max(Fraction(t, d) for t, d in zip(real, possible, strict=True))
    factor = min(max([2, *case.gangs]), 3)
    return _within(result, lambda: factor * spread * int(area_bound(case.problem).value))


def _theorem_6(case: Case) -> Sides:
    """Sortings of GPUs or nodes in the printed search, against n_g (1 + log2 T) (2 J - 1)."""
    problem, largest, jobs = case.problem, max(case.gangs), len(case.gangs)
    horizon = problem.horizon or sum(case.times)
    order = sorted(range(jobs), key=lambda j: (case.gangs[j], j))
    sorts = 0

    def run(kappa: int, limit: float) -> Plan | None:
        choose = tiny.chooser(kappa, limit)

        def counted(queue: GangQueue, job: int) -> list[int] | None:
            nonlocal sorts
            sorts += 1
            return choose(queue, job)

        return head_of_line(problem, estimated_times(problem), order, counted)

    LimitSearch(run=run, kappas=range(1, largest + 1), horizon=horizon).printed(horizon)
    return Sides(sorts, largest * horizon.bit_length() * (2 * jobs - 1))


# --- P1, P2 --------------------------------------------------------------------------------------


def _p1_backfilling(case: Case) -> Sides | None:
    """C <= 2 max(A / N, p), the tightest of four orders."""
    return nearest(
        Sides(
            int(plan.end.max()),
            2 * max(Fraction(_area(case.problem, plan), case.gpus), Fraction(_longest(plan))),
        )
        for plan in _backfilled(case)
        if plan is not None
    )


def _p1_head_of_line(case: Case) -> Sides | None:
    """C <= 2 A / N + p for kappa = n_g without limit."""
    plan = _smallest_first(case.problem)
    if plan is None:
        return None
    bound = Fraction(2 * _area(case.problem, plan), case.gpus) + _longest(plan)
    return Sides(plan.makespan, bound)


def _p1_arrival(case: Case) -> Sides | None:
    """C <= 3 T* for first fit where times are constant."""
    result = first_fit(case.problem)
    return _within(result, lambda: 3 * shortest(case.gpus, case.gangs, case.times))


def _p2(case: Case) -> Sides:
    best, without_delay = tiny.two_jobs(case.problem)
    return Sides(without_delay, best)


def _never_ends(case: Case) -> Sides:
    """List schedules that never end, against none."""
    missing = len(case.kappas) - len(_runs(case))
    return Sides(sum(plan is None for plan in _backfilled(case)) + missing, 0)


# --- the search for theta ------------------------------------------------------------------------


def _monotone(case: Case) -> Sides:
    """Infeasible theta above the smallest feasible one, against none."""
    feasible = [bool(_runs(case, theta)) for theta in range(sum(case.times) + 1)]
    return Sides(feasible[feasible.index(True) :].count(False), 0)


def _monotone_queues(case: Queued, *, more: int = 0) -> Sides:
    """Theta at which feasibility is not theta >= W_hat (without limit) + `more`, against none."""
    data = (case.gpus, case.gangs, case.times)
    load = tiny.queue_load(*data)
    assert load is not None
    wrong = (
        (tiny.queue_load(*data, theta) is not None) != (theta >= load + more)
        for theta in range(sum(case.times) + 1)
    )
    return Sides(sum(wrong), 0)


def _reuse(case: Case, *, upwards: bool, below: int = 0) -> Sides:
    """Pairs theta0, theta with another run at theta than at theta0, against none.

    theta goes from `below` W_hat of the run at theta0 up to theta0, or `upwards` from theta0 on.
    """
    most, different = sum(case.times), 0
    for kappa in case.kappas:
        runs = [one_run(case.problem, kappa, theta) for theta in range(most + 1)]
        for first, run in enumerate(runs):
            if run is not None:
                others = runs[first:] if upwards else runs[max(run.load - below, 0) : first]
                different += sum(_signature(other) != _signature(run) for other in others)
    return Sides(different, 0)


def _signature(plan: Plan | None) -> object:
    return plan and (plan.start.tolist(), [gpus.tolist() for gpus in plan.gpus])


def _move_right(case: Case) -> Sides | None:
    """Makespan of the bisection on feasibility alone, against runs without a limit."""
    left, right, best = 1, case.problem.horizon or sum(case.times), None
    while left <= right:
        theta = (left + right) // 2
        if lengths := [run.makespan for run in _runs(case, theta)]:
            best = min(lengths if best is None else [best, *lengths])
            right = theta - 1
        else:
            left = theta + 1
    return None if best is None else Sides(best, min(run.makespan for run in _runs(case)))


# --- laminar schedules ---------------------------------------------------------------------------


def _greedy_blocks(case: Case, **params: int) -> Schedule | None:
    """Schedule of :func:`laminar`, None where some gang fits no block; greedy without `params`."""
    result = laminar(case.problem, params=LaminarParams(**{"rounds": 0, **params}))
    return None if MakespanFacts.of(result).fallback else result.solution


def _laminar(case: Case, *, to_the_end: bool = False) -> Sides | None:
    """C under contention = largest load, and no idle slots, after a few steps of annealing.

    Idle before a GPU's last job, or `to_the_end` before the last of all.
    """
    plan = _greedy_blocks(case, rounds=1, steps=30)
    if plan is None:
        return None
    rows = list(plan)
    real = evaluate(case.problem, [row.start for row in rows], [row.gpus for row in rows])
    load: dict[tuple[int, int], int] = {}
    last: dict[tuple[int, int], int] = {}
    for row in rows:
        alone = case.problem.duration(row.job, len(row.gpus)) or 0
        for s, devices in (row.devices or {}).items():
            for d in devices:
                load[s, d] = load.get((s, d), 0) + alone
                last[s, d] = max(last.get((s, d), 0), row.end)
    makespan = -1 if real is None else case.problem.objective(real)
    idle = sum((makespan if to_the_end else last[gpu]) - load[gpu] for gpu in load)
    return nearest([Sides(makespan, max(load.values()), "=="), Sides(idle, 0, "==")])


def _laminar_greedy(
    case: Case, *, shortest: bool = False, covered: bool = True, part: Fraction = Fraction(1)
) -> Sides | None:
    """C <= max_l (sum of G_j rho_j over gangs of 2^l and more) / N_l + D, or a `part` of D.

    With d_j for rho_j if `shortest`, with N for N_l unless `covered`.
    """
    plan = _greedy_blocks(case)
    if plan is None:
        return None
    levels = [gang.bit_length() - 1 for gang in case.gangs]
    forest = Forest(case.problem.instance.cluster.sizes, max(levels) + 1)
    real: list[int] = (plan.end - plan.start).tolist()
    times = case.problem.shortest_durations().tolist() if shortest else real
    longest = max(
        case.problem.duration(j, int(n)) or 0
        for j, level in enumerate(levels)
        for n in forest.spans(level, 1 << level)
    )
    loads = [
        Fraction(
            sum(g * t for g, t in zip(case.gangs, times, strict=True) if g >= 1 << level),
            forest.first[level].size << level if covered else case.gpus,
        )
        for level in levels
    ]
    return Sides(int(plan.end.max()), max(loads) + part * longest)


# --- the claims ----------------------------------------------------------------------------------


def _degree(graph: nx.Graph) -> Sides:
    return Sides(max(degree for _, degree in graph.degree), coloring_jobs(graph).shortest(), "==")


#: the claims in the paper's order, each followed by its corrections
RAR_DDLS = claims_of(PAPER, __name__)
