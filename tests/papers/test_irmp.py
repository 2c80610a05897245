"""Wang et al. 2023, the worked example of Section 4: step by step, and what it gets wrong.

Two users own two servers each of four, of two workers and one parameter server. All jobs arrive in
slot 3; lambda = 2, theta = 16. Interval 2 is the time (8, 16], in two rounds.
"""

import numpy as np
import pytest

import gangsched as gs
from gangsched.analysis.papers.irmp.lemmas import paper_example
from gangsched.formulations.irmp.problem import Irmp
from gangsched.solvers.irmp.astraea import (
    AstraeaParams,
    Round,
    a_max_irev,
    a_round,
    astraea,
    lemma_1,
    prices_at,
    round_of,
    thetas,
)
from gangsched.solvers.irmp.response import run_options
from gangsched.solvers.result import Result
from plain_response import Call

THETA = np.array([[16.0, 16.0]])
PARAMS = AstraeaParams(lam=2, theta=16.0, order="index")


def solved(problem: Irmp, params: AstraeaParams = PARAMS) -> Result[gs.Schedule]:
    result = astraea(problem, params=params)
    assert isinstance(result, Result)
    return result


def runs(problem: Irmp, schedule: gs.Schedule | None) -> dict[str, tuple[int, int]]:
    assert schedule is not None
    return {problem.jobs[row.job].id: (row.start, row.end) for row in schedule}


# --- what is right -------------------------------------------------------------------------------


def test_all_jobs_are_of_the_second_batch_and_its_rounds_begin_at_8_and_12() -> None:
    problem = paper_example(["11", "12"])
    assert a_round(problem, [0, 1], 2, PARAMS)[0].run.start == 8
    assert [round_of(t, 2) for t in (8, 11, 12, 15)] == [(2, 8), (2, 8), (2, 12), (2, 12)]


def test_the_durations() -> None:
    """Section 4.4: 8 slots for one spread worker of j11, 4 for two, 2 on one server."""
    options = run_options(paper_example(["11"]), 0)
    found = zip(options.workers, options.host < 0, options.slots, strict=True)
    assert {(int(w), bool(one)): int(d) for w, one, d in found} == {
        (1, True): 4, (1, False): 8, (2, True): 2, (2, False): 4,
    }  # fmt: skip


def test_the_first_job_is_worth_96() -> None:
    problem = paper_example(["11"])
    cluster = Round(problem, 8, 4, THETA, PARAMS)
    (run,) = a_max_irev(cluster, [0], shared=False)
    assert (run.start, run.end, run.nodes, run.ps) == (0, 2, {0: 2}, {0: 1})
    assert (run.value, run.cost, run.utility) == (96, 0, 96)
    # eta(2) = 16^(2/8) - 1 and eta(1) = 16^(1/4) - 1 in (8, 10]
    assert cluster.prices[0].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]
    assert cluster.held[0].tolist() == [[2, 2, 0, 0], [1, 1, 0, 0]]
    assert prices_at(16, [2], 8) == prices_at(16, [1], 4) == 1


def test_the_second_users_job_waits_for_slots_without_a_price() -> None:
    """(10, 12] at 92 rather than (8, 10] at 96 - 2 * 3."""
    cluster = Round(paper_example(["11", "21"]), 8, 4, THETA, PARAMS)
    first, second = a_max_irev(cluster, [0, 1], shared=False)
    assert (first.start, first.end) == (0, 2)
    assert (second.start, second.end, second.cost, second.utility) == (2, 4, 0, 92)
    assert cluster.prices[0].tolist() == [[1] * 4, [1] * 4]


def test_two_spread_workers_of_the_second_job_cost_12_and_gain_80() -> None:
    """MINCOSTD after a spread run of j11 in all of (8, 12], at prices of 1.

    MINCOSTC has one worker of j21 on one server for the same 4 slots at a cost of 8, and two at 6.
    """
    problem = paper_example(["21"])
    free = np.full((2, 4, 4), 2)
    free[0, :2] = free[1] = 1
    free[1, 0] = 0
    call = Call(problem, free, np.ones((2, 4)), None, 4)
    spread = call.min_cost_d(0, 2)
    assert spread is not None
    assert (spread.stop, spread.cost) == (4, 4 * 2 * 1 + 4 * 1)
    assert problem.jobs[0].utility.value(4) - spread.cost == 80
    central = [call.min_cost_c(0, workers) for workers in (1, 2)]
    assert [(run.stop, run.cost) for run in central if run] == [(4, 8), (2, 6)]


# --- what is not ---------------------------------------------------------------------------------


def test_nothing_is_shared_and_nobody_pays() -> None:
    """W4: j12 fits into what its user has left, on one server for 3 slots, and gains 85, not 76."""
    problem = paper_example(["11", "21", "12", "22"])
    cluster = Round(problem, 8, 4, THETA, PARAMS)
    *_, third = a_max_irev(cluster, [0, 1, 2], shared=False)
    assert (third.job, third.start, third.end, third.nodes) == (2, 0, 3, {1: 2})
    assert third.utility == pytest.approx(94 - 3 * 2 * 1 - 3 * 1)
    assert third.utility > 92 - 16
    result = solved(problem)
    assert result.info["payments"] == {}
    assert result.info["incomes"] == {"u1": 0, "u2": 0}


@pytest.mark.parametrize(
    ("order", "ends", "revenue", "ideal"),
    [
        ("11 21 12 22", (10, 12, 11, 94), 86 + 82 + 84 - 82, 96 + 92 + 94 + 40),
        ("11 12 21 22", (10, 12, 12, 94), 86 + 82 + 82 - 82, 96 + 92 + 92 + 40),
    ],
)
def test_the_repaired_run(order: str, ends: tuple[int, ...], revenue: float, ideal: float) -> None:
    """The last job starts at 64 and is complete at 94: its ideal utility is 40, the true one -82.

    In the second order, users first, j12 takes (9, 12] and j21 (10, 12].
    """
    ids = order.split()
    problem = paper_example(ids)
    result = solved(problem)
    assert [end for _, end in runs(problem, result.solution).values()] == list(ends)
    assert runs(problem, result.solution)["22"] == (64, 94)
    assert result.objective == revenue
    assert result.info["ideal"] == ideal
    params = AstraeaParams(lam=2, theta=16.0)
    assert solved(paper_example(["11", "12", "21", "22"]), params).objective == 168


def test_without_runs_below_zero_the_last_job_is_left() -> None:
    """W25."""
    params = AstraeaParams(lam=2, theta=16.0, order="index", reject_negative=True)
    result = solved(paper_example(["11", "21", "12", "22"]), params)
    assert result.objective == 86 + 82 + 84
    assert result.info["left"] == ["22"]


@pytest.mark.parametrize(("ids", "lam"), [(("11", "12", "21", "22"), 33), (("11", "12", "21"), 18)])
def test_lambda_of_lemma_1_lets_no_job_earn_anything(ids: tuple[str, ...], lam: int) -> None:
    """W20: with sigma = 16, F = 326 (286), f_min = 40 (94), rounds begin at 4 lambda: too late."""
    problem = paper_example(ids)
    theta = thetas(problem, range(len(ids)), 16.0)
    assert lemma_1(problem, range(len(ids)), theta) == lam
    result = solved(problem, AstraeaParams(lam=lam, theta=16.0))
    assert result.info["lemma1"] == lam
    starts = runs(problem, result.solution)
    assert min(start for start, _ in starts.values()) == 4 * lam
    assert all(problem.value(j, end) < 0 for j, (_, end) in enumerate(starts.values()))


def test_a_job_waits_for_a_round_as_long_as_it_is() -> None:
    """W24: j22 needs 30 slots on the empty cluster; rounds of 4, 8 and 16 slots come first."""
    problem = paper_example(["22"])
    assert run_options(problem, 0).slots.min() == 30
    assert runs(problem, solved(problem).solution) == {"22": (64, 94)}
