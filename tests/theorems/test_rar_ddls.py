"""Yu et al. 2022: claims that hold as properties, refuted ones on their counterexamples.

What is true of the small cases (optima, loads) is computed here a second time, by other means than
in the package.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from brute_force import optimum, slot_by_slot
from few import each_seed
from gangsched.analysis.papers.claim import Sides
from gangsched.analysis.papers.rar_ddls.claims import coloring_jobs
from gangsched.analysis.papers.rar_ddls.tiny import (
    Case,
    Pinned,
    Queued,
    constant_times,
    least_load,
    one_run,
    queue_load,
    shortest,
    two_jobs,
)
from gangsched.analysis.papers.theorems import CLAIMS
from gangsched.formulations.rar_ddls.problem import RarDdls, estimated_times, estimates
from gangsched.solvers import (
    BackfillingParams,
    LaminarParams,
    SjfBcoParams,
    backfilling,
    first_fit,
    laminar,
    list_scheduling,
    random_placement,
    sjf_bco,
)
from malformed import table
from strategies import rar_problems

PRINTED = SjfBcoParams(search="printed")
Constant = tuple[list[int], list[int], list[int]]


@st.composite
def constant(draw: st.DrawFn, *, jobs: int = 5, most: int = 6, gang: int = 6) -> Constant:
    """Servers, gangs and constant times; shrinks to one job of one slot on one GPU."""
    sizes = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    count = draw(st.integers(1, jobs))
    gangs = [draw(st.integers(1, min(gang, sum(sizes)))) for _ in range(count)]
    return sizes, gangs, [draw(st.integers(1, most)) for _ in range(count)]


def drawn(id: str) -> st.SearchStrategy[Any]:
    """Random cases of a claim."""
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: CLAIMS[id].draw(np.random.default_rng(seed)))


def check(id: str, case: Any) -> Sides:
    """Both sides of a claim on a case that is within its assumptions."""
    sides = CLAIMS[id].check(case)
    assert sides is not None
    return sides


# --- the counterexamples, in numbers -------------------------------------------------------------


@pytest.mark.parametrize(("id", "name", "left", "right"), table("counterexamples")["sides"])
def test_a_counterexample_breaks_its_claim(id: str, name: str, left: str, right: str) -> None:
    sides = check(id, CLAIMS[id].counterexamples[name]())
    assert (sides.left, sides.right) == (Fraction(left), Fraction(right))
    assert not sides.holds


@pytest.mark.parametrize(
    ("sizes", "gangs", "times"),
    [
        ([1], [1], [1]),
        ([2], [1, 1, 1], [1, 1, 2]),
        ([2, 2], [2, 2, 1, 2], [3, 3, 5, 3]),
        ([3, 1, 3], [4, 3, 2, 3], [3, 3, 5, 3]),
    ],
)
def test_constant_times_are_what_was_asked_for(
    sizes: list[int], gangs: list[int], times: list[int]
) -> None:
    problem = constant_times(sizes, gangs, times)
    assert estimated_times(problem).tolist() == times
    for j, time in enumerate(times):
        assert {problem.duration(j, n, p) for n in problem.spans(j) for p in (1, 2, 3)} == {time}
        assert problem.rates[j, problem.fewest[j] - 1, 1] == 100
    exact = estimates(problem)
    assert (exact.lower, exact.upper, exact.spread) == (1, 1, 1)


def test_ce_1_the_printed_search_leaves_the_feasible_limit_behind() -> None:
    """One job of one slot: theta = 5, then 2, 3, 4 do not shorten the makespan."""
    problem = constant_times([1], [1], [1], horizon=10)
    result = sjf_bco(problem, params=PRINTED)
    assert (result.objective, result.info["load"], result.info["theta"]) == (1, 1, 5)
    assert result.iterations == 4
    repaired = sjf_bco(problem)
    assert (repaired.info["load"], repaired.info["theta"]) == (1, 1)


def test_ce_2_w_hat_is_not_a_time_that_a_gpu_is_busy() -> None:
    """rho = rho_hat = 2 lies in [l rho, u rho] for l = 1, u = 2; W_hat = 2 / 2, makespan 2."""
    problem = constant_times([1], [1], [2])
    result = sjf_bco(problem, params=SjfBcoParams(u=2.0))
    assert (result.objective, result.info["load"] / 2, result.info["theta"]) == (2, 1, 1)


def test_ce_3_a_gang_waits_while_all_its_gpus_are_idle() -> None:
    problem = constant_times([2, 2], [2, 2, 1, 2], [3, 3, 5, 3], horizon=20)
    result = sjf_bco(problem, params=PRINTED)
    assert result.solution is not None
    rows = sorted(result.solution, key=lambda row: row.job)
    assert [(row.start, row.end) for row in rows] == [(0, 3), (5, 8), (0, 5), (5, 8)]
    assert result.info["kappa"] == 1
    assert rows[3].devices == rows[0].devices == {1: (0, 1)}  # idle in slots 3 and 4


def test_ce_4_longest_first_would_be_optimal_and_the_input_order_is_not() -> None:
    assert sjf_bco(constant_times([2], [1] * 3, [1, 1, 2])).objective == 3
    assert sjf_bco(constant_times([2], [1] * 3, [2, 1, 1])).objective == 2
    assert optimum(constant_times([2], [1] * 3, [1, 1, 2])) == 2
    problem = constant_times([2], [1] * 5, [3, 3, 2, 2, 2])
    assert sjf_bco(problem).objective == 7
    assert optimum(problem) == 6


def test_theta_feasibility_has_a_gap() -> None:
    problem = constant_times([2, 3], [2, 2, 2, 2, 3, 4], [6, 7, 3, 6, 1, 2])
    feasible = {
        theta: [one_run(problem, kappa, theta) is not None for kappa in (1, 2, 3, 4)]
        for theta in (11, 12, 13, 14, 15)
    }
    assert not any(feasible[11])
    assert any(feasible[12])
    assert not any(feasible[13])
    assert all(feasible[14])
    assert all(feasible[15])


def test_a_larger_limit_gives_another_run() -> None:
    """At theta = 6 W_hat = 6 and the makespan is 9; at theta = 8 it is 8."""
    problem = constant_times([3, 1, 3], [4, 3, 2, 3], [3, 3, 5, 3])
    runs = {theta: one_run(problem, 4, theta) for theta in (5, 6, 7, 8, 9)}
    assert runs[5] is None
    found = {theta: (run.makespan, run.load) for theta, run in runs.items() if run}
    assert found == {6: (9, 6), 7: (9, 6), 8: (8, 8), 9: (8, 8)}


def test_the_smallest_limit_does_not_give_the_shortest_schedule() -> None:
    problem = constant_times([3, 1], [2, 1, 2, 2], [3, 6, 4, 6])
    limited, free = one_run(problem, 2, 10), one_run(problem, 2)
    assert limited is not None
    assert free is not None
    assert (limited.makespan, limited.load, free.makespan, free.load) == (13, 10, 12, 12)
    assert sjf_bco(problem).objective == 12
    tiny = constant_times([1, 2], [1, 2, 2, 1], [2, 1, 2, 3])
    runs = [one_run(tiny, kappa, theta) for theta in (4, 5) for kappa in (1, 2)]
    assert [run and run.makespan for run in runs] == [6, None, 6, 5]
    assert sjf_bco(tiny).objective == 5


def test_the_arrival_order_has_no_constant_factor() -> None:
    """Four jobs of 1 GPU and 7 slots with 3 jobs of 4 GPUs and 1 slot between them."""
    problem = constant_times([4], [1, 4, 1, 4, 1, 4, 1], [7, 1, 7, 1, 7, 1, 7])
    for solve in (first_fit, list_scheduling):
        assert solve(problem).objective == 31
    assert random_placement(problem, seed=0).objective == 31
    assert sjf_bco(problem).objective == 10  # all small ones first: 7 + 3
    longer = constant_times([8], ([1, 8] * 8)[:-1], ([50, 1] * 8)[:-1])
    assert first_fit(longer).objective == 8 * 50 + 7
    assert sjf_bco(longer).objective == 50 + 7


def test_a_large_gang_has_blocks_on_some_gpus_only() -> None:
    """Ten jobs of 8 GPUs on servers of 4 and 8: one after the other, on 8 of 12 GPUs."""
    case = CLAIMS["laminar-greedy-all"].counterexamples["4 + 8"]()
    assert check("laminar-greedy", case) == Sides(10, 80 // 8 + 1)


def test_the_block_that_ends_first_may_take_longer() -> None:
    """13 jobs: nine of 1 slot on the server of 2 GPUs, four of 2 slots across the other two."""
    case = CLAIMS["laminar-greedy-shortest"].counterexamples["2 + 1 + 1"]()
    assert [case.problem.duration(0, n) for n in (1, 2)] == [1, 2]
    assert check("laminar-greedy", case) == Sides(9, Fraction((9 + 4 * 2) * 2, 4) + 2)


def test_p2_one_after_the_other_is_twice_as_fast() -> None:
    problem = CLAIMS["P2"].counterexamples["P2"]().problem
    assert problem.rates[0, 1, 1:].tolist() == [4, 1]
    assert optimum(problem) == 4
    for placement in ({0: 2, 1: 1}, {0: 1, 1: 1, 2: 1}):
        rest = {s: 2 - placement.get(s, 0) for s in range(3) if placement.get(s, 0) < 2}
        assert slot_by_slot(problem, [0, 0], [placement, rest]) == [8, 8]
    for order in ("longest", "area", "gpus", "arrival"):
        assert backfilling(problem, params=BackfillingParams(order=order)).objective == 8
    assert sjf_bco(problem).objective == 8


def test_with_the_floor_two_jobs_can_stop_each_other_for_good() -> None:
    problem = CLAIMS["progress"].counterexamples["P2, m = 0.3"]().problem
    assert problem.rates[0, 1, 1:].tolist() == [2, 0]
    assert estimates(problem).spread == float("inf")
    assert sjf_bco(problem).solution is None
    assert optimum(problem) == 8


# --- Theorem 1 -----------------------------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    """A connected graph of 2 to 6 nodes."""
    nodes = draw(st.integers(2, 6))
    graph = nx.Graph([(draw(st.integers(0, v - 1)), v) for v in range(1, nodes)])
    graph.add_edges_from(draw(st.lists(st.sampled_from(list(combinations(range(nodes), 2))))))
    return graph


def colors(graph: nx.Graph) -> int:
    """Chromatic number, by covering the nodes with independent sets."""
    reached, used = {frozenset(graph)}, 0
    while frozenset() not in reached:
        used += 1
        reached = {
            left - subset
            for left in reached
            for size in range(1, len(left) + 1)
            for subset in map(frozenset, combinations(left, size))
            if not any(graph.has_edge(a, b) for a, b in combinations(subset, 2))
        }
    return used


@settings(max_examples=25)
@given(graph=graphs())
def test_with_prescribed_gpus_scheduling_is_colouring(graph: nx.Graph) -> None:
    assert coloring_jobs(graph).shortest() == colors(graph)


@pytest.mark.parametrize(
    ("graph", "number"),
    [
        (nx.path_graph(4), 2),
        (nx.cycle_graph(5), 3),
        (nx.complete_graph(5), 5),
        (nx.wheel_graph(6), 4),
    ],
)
def test_graphs_whose_chromatic_number_is_known(graph: nx.Graph, number: int) -> None:
    assert colors(graph) == coloring_jobs(graph).shortest() == number


@each_seed(range(2, 13), name="nodes")
def test_with_free_placement_the_jobs_of_a_complete_graph_need_three_slots(nodes: int) -> None:
    """n colours; floor(n / 2) jobs of n - 1 GPUs fit on n (n - 1) / 2 GPUs side by side."""
    problem = coloring_jobs(nx.complete_graph(nodes)).problem
    slots = backfilling(problem).objective
    assert slots == ceil(Fraction(nodes, nodes // 2))
    assert slots == 2 + nodes % 2


@settings(max_examples=25)
@given(graph=graphs())
def test_with_free_placement_any_list_schedule_is_within_twice_the_optimum(graph: nx.Graph) -> None:
    case = Case(coloring_jobs(graph).problem)
    best = shortest(case.gpus, case.gangs, case.times)
    assert best >= 2  # degrees add up to twice the number of edges
    for order in ("longest", "area", "gpus", "arrival"):
        assert (
            backfilling(case.problem, params=BackfillingParams(order=order)).objective
            <= 4
            <= 2 * best
        )


def test_the_paw_is_the_smallest_graph_where_free_placement_is_shorter() -> None:
    smaller = []
    for number in range(1, 19):  # all graphs of at most four nodes
        graph = nx.graph_atlas(number)
        if graph.number_of_edges() and min(dict(graph.degree).values()) > 0:
            case = Case(coloring_jobs(graph).problem)
            if shortest(case.gpus, case.gangs, case.times) < colors(graph):
                smaller.append(graph)
    paw = CLAIMS["theorem-1"].counterexamples["paw"]()
    assert nx.is_isomorphic(smaller[0], paw)
    assert len(paw) == paw.number_of_edges() == 4
    assert all(len(graph) == 4 for graph in smaller)


def test_a_node_without_edge_is_refused() -> None:
    with pytest.raises(ValueError, match="node 2 has no edge, so its job would need no GPU"):
        coloring_jobs(nx.Graph({0: [1], 2: []}))


# --- claims that hold ----------------------------------------------------------------------------


@settings(max_examples=60)
@given(case=drawn("lemma-3-prescribed"), seed=st.integers(0, 9))
def test_lemma_3_with_prescribed_gpus(case: Pinned, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(case.gpus)).tolist()
    plan = case.greedy(order)
    assert plan is not None
    times = (plan.end - plan.start).tolist()
    busy = Counter[int]()
    for gpus, time in zip(case.gpus, times, strict=True):
        busy.update(dict.fromkeys(gpus, time))
    for j, gpus in enumerate(case.gpus):
        assert plan.start[j] <= sum(busy[g] - times[j] for g in gpus)
    n_g = max(map(len, case.gpus))
    assert plan.makespan <= n_g * max(busy.values())
    estimated = estimated_times(case.problem).tolist()
    loads = Counter[int]()
    for gpus, time in zip(case.gpus, estimated, strict=True):
        loads.update(dict.fromkeys(gpus, time))
    lower = min(map(Fraction, estimated, times))
    assert plan.makespan <= n_g * max(loads.values()) / lower
    assert check("lemma-3-prescribed", case).holds


@settings(max_examples=100)
@given(case=drawn("lemma-4-repaired"))
def test_lemma_4_repaired(case: Queued) -> None:
    best = fewest_slots_of_queues(case.gpus, case.gangs, case.elsewhere)
    assert least_load(case.gpus, case.gangs, case.elsewhere) == best
    theta = queue_load(case.gpus, case.gangs, case.times)
    assert theta is not None
    assert theta <= (2 - Fraction(1, case.gpus)) * case.spread * best
    assert check("lemma-4-repaired", case).holds


def fewest_slots_of_queues(gpus: int, gangs: list[int], times: list[int]) -> int:
    """theta*, by trying limits: is there room for every job on different GPUs?"""

    def fits(load: tuple[int, ...], jobs: int, limit: int) -> bool:
        if jobs == len(gangs):
            return True
        seen = set()
        for chosen in combinations(range(gpus), gangs[jobs]):
            after = tuple(sorted(w + times[jobs] * (g in chosen) for g, w in enumerate(load)))
            if after[-1] <= limit and after not in seen:
                seen.add(after)
                if fits(after, jobs + 1, limit):
                    return True
        return False

    return next(w for w in range(1, sum(times) + 1) if fits((0,) * gpus, 0, w))


@pytest.mark.parametrize("gpus", [1, 2, 3, 4, 5])
def test_lemma_4_repaired_is_tight(gpus: int) -> None:
    """Graham's family: N (N - 1) jobs of one slot, then one of N slots, each on one GPU."""
    times = [1] * (gpus * (gpus - 1)) + [gpus]
    sides = check("lemma-4-repaired", Queued(gpus, [1] * len(times), times, times))
    assert sides.left == sides.right == 2 * gpus - 1
    value = sjf_bco(
        constant_times([gpus], [1] * len(times), times), params=SjfBcoParams()
    ).objective
    assert value == 2 * gpus - 1
    assert shortest(gpus, [1] * len(times), times) == gpus


@settings(max_examples=100)
@given(case=drawn("lemma-4-repaired"))
def test_in_queues_loads_stay_within_the_longest_job(case: Queued) -> None:
    """The lemma behind Lemma 4': after every job, largest - smallest load <= longest so far."""
    order = sorted(range(len(case.gangs)), key=lambda j: (case.gangs[j], j))
    for last in range(1, len(order) + 1):
        first = order[:last]
        gangs, times = [case.gangs[j] for j in first], [case.times[j] for j in first]
        largest = queue_load(case.gpus, gangs, times)
        area = sum(g * t for g, t in zip(gangs, times, strict=True))
        assert largest is not None
        slack = (1 - Fraction(1, case.gpus)) * max(times)
        assert largest <= Fraction(area, case.gpus) + slack


@settings(max_examples=60)
@given(case=drawn("lemma-4-repaired"))
def test_in_queues_feasibility_is_monotone(case: Queued) -> None:
    assert check("monotone-queues", case).holds


@settings(max_examples=40)
@given(data=constant(jobs=4, most=4))
def test_theorem_5_repaired(data: Constant) -> None:
    """Constant times: varphi = 1, T* by a search that knows nothing of the package."""
    problem = constant_times(*data)
    best = optimum(problem, limit=sum(data[2]))
    assert best is not None
    assert shortest(sum(data[0]), data[1], data[2]) == best
    value = sjf_bco(problem).objective
    assert value is not None
    assert best <= value <= min(max(2, *data[1]), 3) * best
    assert check("theorem-5-repaired", Case(problem)).holds


@settings(max_examples=40)
@given(data=constant(gang=1))
def test_theorem_5_for_single_gpus_is_grahams_bound(data: Constant) -> None:
    sizes, gangs, times = data
    value = sjf_bco(constant_times(*data)).objective
    assert value is not None
    assert value <= (2 - Fraction(1, sum(sizes))) * shortest(sum(sizes), gangs, times)


@settings(max_examples=60)
@given(data=constant(gang=1), theta=st.integers(1, 20))
def test_jobs_of_one_gpu_leave_no_gaps_under_any_limit(data: Constant, theta: int) -> None:
    """Lemma 3 for n_g = 1: every GPU works from 0 to the end of its last job."""
    plan = one_run(constant_times(*data), 1, theta)
    if plan is not None:
        assert plan.makespan == plan.load


@settings(max_examples=30)
@given(problem=rar_problems(max_jobs=3, rate="floor", own_degradation=False))
def test_p1_and_theorem_5_against_the_optimum_under_contention(problem: RarDdls) -> None:
    best, spread = optimum(problem, limit=20), estimates(problem).spread
    assume(best is not None and spread < float("inf"))
    n_g = max(job.gpus for job in problem.jobs)
    value = sjf_bco(problem).objective
    assert value is not None
    stretched = spread * best * (1 + 1e-12)  # varphi is a float
    assert best <= value <= min(max(2, n_g), 3) * stretched
    for order in ("longest", "area", "gpus", "arrival"):
        filled = backfilling(problem, params=BackfillingParams(order=order)).objective
        assert best <= filled <= 2 * stretched


@settings(max_examples=40)
@given(problem=rar_problems(max_jobs=7, own_degradation=False), seed=st.integers(0, 9))
def test_laminar_schedules_neither_contend_nor_idle(problem: RarDdls, seed: int) -> None:
    """On slots stepped through; with gangs cut down to powers of two."""
    jobs = [replace(job, gpus=1 << (job.gpus.bit_length() - 1)) for job in problem.jobs]
    try:
        problem = replace(problem, instance=replace(problem.instance, jobs=jobs))
    except ValueError:  # a smaller gang may have to do with a slower link
        assume(False)
    result = laminar(problem, seed=seed, params=LaminarParams(rounds=seed % 2, steps=20))
    assume("fallback" not in result.info)
    rows = list(result.solution)
    end = slot_by_slot(problem, [r.start for r in rows], [r.gpus for r in rows], 1000)
    alone = [problem.duration(row.job, len(row.gpus)) for row in rows]
    assert end == [row.start + t for row, t in zip(rows, alone, strict=True)]
    busy: Counter[tuple[int, int]] = Counter()
    for row in sorted(rows, key=lambda row: row.start):
        for gpu in [(s, d) for s, devices in row.devices.items() for d in devices]:
            assert busy[gpu] == row.start
            busy[gpu] = row.end
    assert check("laminar-greedy", Case(problem)).holds


@settings(max_examples=60)
@given(data=constant(gang=2))
def test_with_gangs_of_two_all_gpus_but_one_are_busy(data: Constant) -> None:
    """For n_g = 2: C <= A / (N - 1) + p (N - 2) / (N - 1)."""
    sizes, gangs, times = data
    gpus = sum(sizes)
    assume(gpus >= 2)
    plan = one_run(constant_times(*data), 2)
    assert plan is not None
    area = sum(g * t for g, t in zip(gangs, times, strict=True))
    assert plan.makespan * (gpus - 1) <= area + max(times) * (gpus - 2)


@settings(max_examples=15)
@given(problem=rar_problems(max_jobs=2, rate="floor", own_degradation=False))
def test_two_jobs_are_searched_completely(problem: RarDdls) -> None:
    assume(len(problem.jobs) == 2)
    best = optimum(problem, limit=25)
    assume(best is not None)
    try:
        found, without_delay = two_jobs(problem)
    except ValueError:  # without delay, no schedule ends
        assume(False)
    assert found == best <= without_delay
