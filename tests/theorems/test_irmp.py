"""Wang et al. 2023: claims on Astraea that hold as properties, refuted ones on counterexamples.

What is true of the small cases is worked out here by other means than in the package: by trying all
placements, PSs on any servers included, by linear programming, or by hand.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.analysis.papers.claim import Sides
from gangsched.analysis.papers.irmp.claims import IRMP
from gangsched.analysis.papers.irmp.lemmas import OneRound, Online, SingleJobCase, paper_example
from gangsched.analysis.papers.irmp.tiny import PerServer, one_job, optimum, tenants
from gangsched.formulations.irmp.problem import Irmp
from gangsched.instances import Linear, Power, Schedule, Segment, Table
from gangsched.solvers.irmp.astraea import (
    AstraeaParams,
    Round,
    a_max_irev,
    accounts,
    astraea,
    batch_sche,
)
from gangsched.solvers.irmp.response import best_response
from gangsched.solvers.result import Refuted, Result
from plain_response import Call
from revenue_optimum import best_single_run, random_problem, shapes
from revenue_optimum import optimum as best_schedule
from strategies import irmp_problems, utilities

CLAIMS = {claim.id: claim for claim in IRMP}
seeds = st.integers(0, 2**32 - 1)


def sides(claim: str, name: str) -> tuple[Any, Any]:
    found = CLAIMS[claim].check(CLAIMS[claim].counterexamples[name]())
    assert isinstance(found, Sides)
    return found.left, found.right


def solved(problem: Irmp, params: AstraeaParams) -> Result[Schedule]:
    result = astraea(problem, params=params)
    assert isinstance(result, Result)
    return result


def times(schedule: Schedule | None) -> list[tuple[int, int, int]]:
    """Job, start and end of each row, in the order of acceptance."""
    assert schedule is not None
    return [(row.job, row.start, row.end) for row in schedule]


EXAMPLE = AstraeaParams(theta=16.0, lam=2)


# --- Lemma 1 -------------------------------------------------------------------------------------


def test_two_jobs_that_fit_side_by_side_run_one_after_the_other() -> None:
    """Price 8^(1/2) - 1 for a worker and a PS: 7 - 3.66 for slot 1, 6 for slot 2, which is free."""
    assert sides("irmp-lemma-1-revenue", "two on one server") == (14, 13)


@pytest.mark.parametrize("lam", [1, 2, 5, 36])
def test_no_lambda_brings_j21_to_the_first_slot(lam: int) -> None:
    """OPT is 96 + 96; Lemma 1's lambda is among these."""
    assert sides("irmp-lemma-1-revenue", "j11, j21") == (192, 188)
    problem = paper_example(("11", "21"))
    found = solved(problem, replace(EXAMPLE, lam=lam))
    assert found.info["ideal"] == 96 + 92


def test_a_round_may_take_the_decoy_and_lambda_is_one() -> None:
    """log(77 / 20) / log 11 = 0.56; 37 >= 40 / 1.1."""
    assert sides("irmp-lemma-1-rounds", "20 + 20 or 37") == (40, 37)


# --- Lemma 2 -------------------------------------------------------------------------------------


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_lemma_2_against_all_placements(seed: int) -> None:
    """PSs on any servers, more of them than needed, runs longer than needed: nothing is better."""
    rng = np.random.default_rng(seed)
    problem, slots = random_problem(rng, jobs=1, nodes=3), int(rng.integers(1, 6))
    nodes = problem.instance.cluster.nodes
    held = np.array([[node.gpus for node in nodes], [node.ps for node in nodes]])
    free = rng.integers(0, np.repeat(held[:, :, None], slots, axis=2) + 1)
    prices = rng.integers(0, 5, size=(2, slots)).astype(float)
    values = np.sort(rng.integers(-2, 30, size=slots + 1))[::-1].astype(float)
    room = rng.integers(0, 4, size=(2, slots)) if rng.integers(2) else None
    window = {"begin": 0, "end": slots, "room": room}
    best, _ = best_single_run(problem, 0, free, prices, values, **window)
    case = SingleJobCase(problem=problem, free=free, prices=prices, values=values, room=room)
    assert case.best() == max(best, 0)
    assert case.answer(literal=False) == max(best, 0)


@pytest.mark.parametrize(
    ("name", "printed", "best"),
    [("1 PS where 2 are needed", 7, 6), ("no PS left", 5, 0), ("slot 2 costs 9", 5, 0)],
)
def test_algorithms_4_and_5_as_printed(name: str, printed: int, best: int) -> None:
    assert sides("irmp-lemma-2", name) == (printed, best)


# --- Lemma 3 -------------------------------------------------------------------------------------


def round_revenue(case: OneRound) -> float:
    return sum(one.value for one in case.accepted())


@given(seeds)
@settings(max_examples=15, deadline=None)
def test_optima_are_those_of_trying_everything(seed: int) -> None:
    problem = CLAIMS["irmp-lemma-3"].draw(np.random.default_rng(seed)).problem
    best = best_schedule(problem)
    assert optimum(problem) == (best[0] if best else 0)


def test_ce_a_one_worker_blocks_two() -> None:
    """Theta = 1 + 1000 / 2 and 1 + 1000 / 1; even with binary logarithms sigma is below 38."""
    case = CLAIMS["irmp-lemma-3"].counterexamples["CE-a"]()
    assert case.prices() == (501, 1001)
    assert case.sigma() == 2 * (math.log2(501) + math.log2(1001)) < 38
    assert (case.best(), round_revenue(case)) == (1000, 1)
    assert best_schedule(case.problem)[0] == 1000  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "earned", "best"), [("CE-b", 4, 4 * 5), ("CE-b, 100 workers", 138, 100 * 20)]
)
def test_ce_b_jobs_of_one_slot_block_jobs_of_all_slots(name: str, earned: int, best: int) -> None:
    """138: the last two of 100 find prices of 2^0.98 - 1 and 2^(98/2000) - 1, more than 1."""
    case = CLAIMS["irmp-lemma-3"].counterexamples[name]()
    assert case.prices() == (2, 2)
    assert case.sigma() == 4
    assert (case.best(), round_revenue(case)) == (best, earned)


@pytest.mark.parametrize(
    ("name", "gone"), [("CE-a", False), ("CE-b", True), ("CE-b, 100 workers", True)]
)
def test_with_theta_from_one_slot_ce_b_is_gone_and_ce_a_is_not(name: str, gone: bool) -> None:
    case = replace(CLAIMS["irmp-lemma-3"].counterexamples[name](), theta="slot")
    found = CLAIMS["irmp-lemma-3"].check(case)
    assert found is not None
    assert found.holds == gone


def test_ce_c_every_server_is_left_with_one_worker() -> None:
    """60 times 2 (theta - 1) against 60 jobs that fill two thirds of what there is."""
    case = CLAIMS["irmp-lemma-3"].counterexamples["CE-c"]()
    assert case.best() == 60 * 2 * 999
    found = case.accepted()
    assert [one.job for one in found] == list(range(60))
    assert sorted(next(iter(one.nodes)) for one in found) == list(range(60))
    assert case.best() / round_revenue(case) == pytest.approx(50.4, abs=0.05)
    assert case.sigma() == pytest.approx(41.9, abs=0.05)


def test_prices_of_each_server_leave_ce_a_and_ce_c_as_they_are() -> None:
    for name in ("CE-a", "CE-c"):
        case = CLAIMS["irmp-lemma-3-per-server"].counterexamples[name]()
        assert PerServer(case.problem, max(case.prices())).run().revenue == round_revenue(case)


def columns(problem: Irmp, j: int) -> Iterator[tuple[int, int, Any]]:
    """Start, end and what is held on each server, of all placements."""
    for shape in shapes(problem, j):
        for start in range((problem.horizon or 0) - shape.slots + 1):
            yield start, start + shape.slots, np.array([shape.workers, shape.ps])


def small_demands(seed: int) -> OneRound:
    case = CLAIMS["irmp-lemma-3-repaired"].draw(np.random.default_rng(seed))
    assert isinstance(case, OneRound)
    return case


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_lemma_3_by_its_own_duals(seed: int) -> None:
    """No column of any job is worth more than mu + cost, and (6) is small enough."""
    case = small_demands(seed)
    if CLAIMS["irmp-lemma-3-repaired"].check(case) is None:
        return
    done, problem = PerServer(case.problem, float(case.theta)).run(), case.problem
    for j in range(len(problem.jobs)):
        for start, end, held in columns(problem, j):
            if (done.prices.shape[2] < end) or (held[1] > 0).sum() > 1:
                continue
            cost = float((done.prices[:, :, start:end].sum(axis=2) * held).sum())
            assert problem.value(j, end) - cost <= done.gain[j] + 1e-9
    assert done.dual <= 3 * math.log2(float(case.theta)) * done.revenue + 1e-9


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_best_responses_on_servers_with_their_own_prices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, jobs=3, nodes=2, horizon=4, clock="absolute")
    instance = replace(problem.instance, jobs=[replace(j, release=0) for j in problem.jobs])
    problem = Irmp(instance, **(problem.parameters() | {"horizon": 4}))
    market = PerServer(problem, 9.0)
    market.run()
    last = len(problem.jobs) - 1
    found = market.respond(last)[0]
    prices, best = market.prices, 0.0
    for start, end, held in columns(problem, last):
        if (held[:, :, None] <= market.free[:, :, start:end]).all():
            cost = float((prices[:, :, start:end].sum(axis=2) * held).sum())
            best = max(best, problem.value(last, end) - cost)
    assert found == pytest.approx(best, abs=2e-9)


# --- Theorem 1 -----------------------------------------------------------------------------------


def test_with_slot_r_one_round_is_5_below_where_4_are_promised() -> None:
    """OPT 7 + 7; ALG is complete at 3 and 4: 5 + 4. 2 (1 * -1 + 3 * 1 * 1) = 4."""
    assert sides("irmp-theorem-1-i-last", "L = 1, from slot r") == (5, 4)


def test_without_slot_r_too_if_jobs_wait_for_an_interval_that_is_long_enough() -> None:
    """5 slots do not fit into (2, 4] or (4, 8]: complete at 13 and 16, and not at 6 and 6."""
    case = CLAIMS["irmp-theorem-1-i-last"].counterexamples["L = 3, from slot r + 1"]()
    assert times(case.schedule()[0]) == [(0, 8, 13), (1, 11, 16)]
    assert sides("irmp-theorem-1-i-last", "L = 3, from slot r + 1") == (17, 2 * (-7 + 15))
    late = Irmp(case.problem.instance, **(case.problem.parameters() | {"horizon": 16}))
    assert optimum(late) == 2 * (100 - 6)


@given(
    st.lists(st.tuples(st.integers(-9, -1), st.integers(1, 200)), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 6),
    st.data(),
)
def test_theorem_1_i_holds_for_any_completion_by_tau_l(
    rows: Sequence[tuple[int, int]], lam: int, last: int, data: st.DataObject
) -> None:
    """Whoever schedules; the optimum completes in slot 1 what it does not leave out."""
    ends = data.draw(st.lists(st.integers(1, 2**last), min_size=len(rows), max_size=len(rows)))
    gap = sum(max(k + g, 0) - (k * end + g) for (k, g), end in zip(rows, ends, strict=True))
    slopes = [k for k, _ in rows]
    each = (2**last - 1) * max(slopes) - (2 ** (last + 1) - 1) * (2 * lam - 1) * min(slopes)
    assert gap <= len(rows) * each


@given(
    st.lists(st.tuples(st.integers(-9, -1), st.integers(1, 200)), min_size=1, max_size=4),
    st.integers(2, 5),
    st.integers(1, 6),
)
def test_theorem_1_i_with_two_rounds_holds_if_all_is_done_in_the_last_slot(
    rows: Sequence[tuple[int, int]], lam: int, last: int
) -> None:
    end = lam * 2 ** (last + 1)
    gap = sum(max(k + g, 0) - (k * end + g) for k, g in rows)
    slopes = [k for k, _ in rows]
    each = (2**last - 1) * max(slopes) - (2 ** (last + 1) - 1) * (2 * lam - 1) * min(slopes)
    assert gap <= len(rows) * each


def test_theorem_1_ii_promises_more_than_the_optimum() -> None:
    """(1/4)^2 1000^2 / 1000; both are complete at 3 in place of 2."""
    promised, found = sides("irmp-theorem-1-ii", "e = 1000, kappa = 1, 2")
    assert promised == 62.5
    assert found == pytest.approx((1000 / 3 + (1000 / 3) ** 2) / (1000 / 2 + (1000 / 2) ** 2))


# --- Theorems 2 and 3 ----------------------------------------------------------------------------


@given(irmp_problems(optional=True, alone={}, preemptive=False), st.integers(1, 2))
@settings(max_examples=40, deadline=None)
def test_theorem_2_repaired(problem: Irmp, lam: int) -> None:
    result = solved(problem, AstraeaParams(lam=lam, theta=16.0, cap=6))
    assert result.solution is not None
    assert problem.violations(result.solution) == []


def test_as_printed_j22_has_8_workers_and_one_ps() -> None:
    result = astraea(paper_example(), params=replace(EXAMPLE, literal=True))
    assert isinstance(result, Refuted)
    assert len(result.violations) == 1
    assert result.violations[0].startswith("bandwidth (3i): job '22' has 6 workers")


class Watched(np.ndarray):  # type: ignore[type-arg]
    """Writes down the shape of every minimum that is taken."""

    def min(self, *args: Any, **kwargs: Any) -> Any:
        windows.append(self.shape)
        return np.asarray(self).min(*args, **kwargs)


windows: list[tuple[int, ...]] = []


def seen(slots: int, chunks: int, servers: int) -> list[tuple[int, ...]]:
    """The windows at which the readable Algorithm 3 looks for one job of half as many slots."""
    job = one_job("j", Table([100.0]), workers=chunks, work=slots // 2, rates=(1.0, 1.0))
    problem = tenants([(2, 2)] * servers, [job])
    free = np.full((2, servers, slots), 2).view(Watched)
    windows.clear()
    Call(problem, free, np.zeros((2, slots)), None, slots).best(np.full(slots + 1, 100.0))
    return list(windows)


@pytest.mark.parametrize(("slots", "chunks", "servers"), [(4, 1, 1), (8, 3, 2), (16, 2, 5)])
def test_theorem_3_counts_tuples_and_servers(slots: int, chunks: int, servers: int) -> None:
    """Two algorithms, T starts, D numbers of workers; S servers each time."""
    found = seen(slots, chunks, servers)
    assert 0 < len(found) <= 2 * slots * chunks
    assert {shape[1] for shape in found} == {servers}


def test_theorem_3_does_not_count_the_slots_of_a_window() -> None:
    """Line 8 of Algorithm 4 takes minima over d slots: afresh for each start, T times as many."""
    looked = {slots: sum(shape[2] for shape in seen(slots, 1, 2)) for slots in (8, 16, 32)}
    growth = [looked[16] / looked[8], looked[32] / looked[16]]
    assert all(factor > 3 for factor in growth)  # T D S log S doubles


# --- Theorem 4 -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "lie", "truth"),
    [
        ("slope on one server", 20 - 4 * 3, 20 - 4 * 4),
        ("slope in the example", 86, 82),
        ("one chunk for two", 60 - 6 * 7, 60 - 6 * 8),
        ("convex, shared", 20 / 11, 20 / 9 - 9),
    ],
)
def test_a_user_gains_by_a_lie(name: str, lie: float, truth: float) -> None:
    left, right = sides("irmp-theorem-4", name)
    assert (left, right) == (pytest.approx(lie), pytest.approx(truth))


def test_no_money_moves_where_the_lie_is_about_chunks() -> None:
    case = CLAIMS["irmp-theorem-4"].counterexamples["one chunk for two"]()
    for told in (case.truth, case.told):
        books = accounts(told, Online(told).schedule()[0], case.params)
        assert not books.payment.any()
        assert not books.income.any()
    assert times(Online(case.truth).schedule()[0])[1] == (1, 6, 8)
    assert times(Online(case.told).schedule()[0])[1] == (1, 4, 7)
    assert case.told.jobs[1].batches == case.truth.jobs[1].batches == 6


@given(seeds, utilities(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_in_stage_2_the_truth_is_the_best_response(seed: int, told: Any, one_chunk: bool) -> None:
    """At integer prices, on any free resources; the lie's run at what it is truly worth."""
    rng = np.random.default_rng(seed)
    problem, slots = random_problem(rng, jobs=1, nodes=2), 5
    nodes = problem.instance.cluster.nodes
    free = np.array([[[n.gpus] * slots for n in nodes], [[n.ps] * slots for n in nodes]])
    prices = rng.integers(0, 5, size=(2, slots)).astype(float)
    job = problem.jobs[0]
    lie = replace(job, utility=told)
    if one_chunk:
        lie = replace(lie, gpus=1, minibatches=job.gpus * job.minibatches)
    truly = np.array([0.0, *(job.utility.value(x) for x in range(1, slots + 1))])
    gains = []
    for one in (lie, job):
        values = [max(job.utility.value(1), one.utility.value(1))]
        values += [one.utility.value(x) for x in range(1, slots + 1)]
        instance = replace(problem.instance, jobs=[one])
        found = best_response(
            Irmp(instance, **problem.parameters()), 0, free, prices, values, begin=0, end=slots
        )
        gains.append(0.0 if found is None else truly[found.end] - found.cost)
    assert gains[0] <= gains[1] + 1e-9


def test_a_job_pays_9_for_2() -> None:
    """2 workers at 16^(2/4) - 1 = 3 and a PS at 16^(1/2) - 1 = 3; worth 20 / 9 in the end."""
    assert sides("irmp-rational", "convex, shared")[0] == pytest.approx(9 - 20 / 9)


# --- Theorem 5 and sharing -----------------------------------------------------------------------


def test_j21_could_run_two_slots_earlier_on_an_idle_server() -> None:
    problem = paper_example(("11", "21", "12"))
    found = solved(problem, replace(EXAMPLE, order="index"))
    assert found.solution is not None
    rows = list(found.solution)
    assert times(found.solution)[1] == (1, 10, 12)
    idle = set(range(4)) - {s for row in rows if row.start < 10 for s in row.gpus}
    moved = Segment(1, 8, 10, {min(idle): 2}, ps={min(idle): 1})
    better = Schedule.of([rows[0], moved, rows[2]])
    assert problem.violations(better) == []
    assert problem.objective(better) == problem.objective(found.solution) + 4
    assert sides("irmp-theorem-5", "the paper's example") == (4, 0)


def test_the_other_users_job_makes_its_own_server_too_dear() -> None:
    """In tenths 126^(1/2) - 1 a worker, 251^(1/2) - 1 a PS, 2 slots: 7.1 for what is worth 3."""
    case = CLAIMS["irmp-sharing-incentive"].counterexamples["3 at 7.1"]()
    alone = batch_sche(case.problem, params=case.params)
    assert times(alone.solution) == [(0, 2, 4), (1, 2, 4)]
    assert case.problem.earnings(alone.solution)["u2"] == 3  # type: ignore[arg-type]
    shared = solved(case.problem, case.params)
    assert shared.info["theta"] == [[126.0, 251.0]]
    assert times(shared.solution) == [(0, 2, 4), (1, 4, 8)]
    assert sides("irmp-sharing-incentive", "3 at 7.1") == (pytest.approx(3), 0)
    cost = 2 * (2 * (126**0.5 - 1) + 251**0.5 - 1) / 10
    assert cost == pytest.approx(7.1, abs=0.05)


# --- money ---------------------------------------------------------------------------------------


def test_the_income_of_the_paper_s_schedule() -> None:
    """16 = 4 (3 * 1 + 1 * 1): u2 gets 4 + 4/3 + 2 + 2/3 = 8, not 6, and u1 the other 8."""
    case = CLAIMS["irmp-money-printed"].counterexamples["j12 as printed"]()
    books = accounts(*case)
    assert books.stage.tolist() == [1, 1, 2]
    assert books.payment == pytest.approx([0, 0, 16])
    assert books.income.sum(axis=1) == pytest.approx([8, 8])
    assert sides("irmp-division-printed", "j12 as printed") == (
        pytest.approx(64),
        pytest.approx(16),
    )
    left, right = sides("irmp-money-printed", "j12 as printed")
    assert right - left == pytest.approx(8)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_incomes_are_payments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, jobs=5, nodes=3, users=3, horizon=None, paper_slot_r=False)
    params = AstraeaParams(lam=int(rng.integers(1, 3)), theta=16.0, cap=5)
    result = solved(problem, params)
    assert result.solution is not None
    books = accounts(problem, result.solution, params)
    assert books.income.sum(axis=0) == pytest.approx(books.payment)
    gains = [
        worth
        - sum(books.payment[j] for j in range(len(problem.jobs)) if problem.user(j) == user)
        + books.income[u].sum()
        for u, (user, worth) in enumerate(problem.earnings(result.solution).items())
    ]
    assert sum(gains) == pytest.approx(result.objective)


def test_a_round_of_power_and_linear_jobs_is_charged_as_it_was_priced() -> None:
    """Prices of A_maxIrev and of the accounts are the same thing twice; here by hand."""
    jobs = [
        one_job("a", Linear(-1, 50), workers=2, work=2, user="u1"),
        one_job("b", Power(20.0, 1.0), workers=2, user="u2"),
    ]
    problem = tenants([(2, 1)] * 2, jobs, {"u1": (4, 2), "u2": (0, 0)})
    cluster = Round(problem, 2, 2, np.array([[16.0, 16.0]]))
    first = a_max_irev(cluster, [0], shared=False)
    second = a_max_irev(cluster, [1])
    assert [one.cost for one in [*first, *second]] == [0, pytest.approx(2 * 3 + 3)]
