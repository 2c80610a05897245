"""Gains, fairness and money of the paper's example (Section 4), worked out by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gangsched as gs
from gangsched.analysis.comparing import revenue as metrics
from gangsched.analysis.comparing.revenue import Money, money_violations, settle
from gangsched.analysis.papers.irmp.lemmas import paper_example as example
from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Linear, ParameterServerJob
from gangsched.solvers import Result, RevenueFacts, Stop
from gangsched.solvers.irmp.astraea import AstraeaParams, astraea, batch_sche

THETA = [[16.0, 16.0]]


#: as printed: 11 on s1, 21 on s2, and 12 on s3 and a worker of s4, which it shares
PRINTED = gs.Schedule.of(
    [
        gs.Segment(0, 8, 10, {0: 2}, ps={0: 1}),
        gs.Segment(2, 10, 12, {1: 2}, ps={1: 1}),
        gs.Segment(1, 8, 12, {2: 2, 3: 1}, ps={2: 1}),
    ]
)
PAID = settle(example(), PRINTED, {"12"}, theta=THETA)


def test_the_printed_schedule_is_feasible() -> None:
    assert example().violations(PRINTED) == []


def test_the_papers_incomes() -> None:
    """A slot costs 3 workers and a PS at 16^(1/4) - 1 = 1. Of the 6 workers and 3 PSs that are left
    user 2 has 4 and 2 in the first two slots, and 2 and 1 in the other two; user 1 has the rest."""
    assert PAID.payments == {"12": pytest.approx(4 * 3 + 4 * 1)}
    assert PAID.incomes["u2"] == pytest.approx(4 + 4 / 3 + 2 + 2 / 3)
    assert PAID.incomes["u1"] == pytest.approx(2 + 2 / 3 + 4 + 4 / 3)


def test_prices_follow_what_was_accepted_before() -> None:
    """Taken first, job 12 finds nothing in use, and pays nothing."""
    first = gs.Schedule.of([PRINTED[2], PRINTED[0], PRINTED[1]])
    assert settle(example(), first, {"12"}, theta=THETA).payments == {"12": 0}


def test_the_unit_of_money_divides_prices() -> None:
    """theta is that of utilities times `scale`: prices (16^(1/4) - 1) / 4."""
    assert settle(example(), PRINTED, {"12"}, theta=THETA, scale=4).payments == {
        "12": pytest.approx(4.0)
    }


def test_gains_are_utilities_incomes_and_payments() -> None:
    """11 is worth 100 - 2 (10 - 3), 12 and 21 100 - 2 (12 - 3)."""
    assert metrics.gains(example(), PRINTED) == {"u1": 86 + 82, "u2": 82}
    gains = metrics.gains(example(), PRINTED, PAID)
    assert gains == {"u1": pytest.approx(86 + 82 - 16 + 8), "u2": pytest.approx(82 + 8)}
    assert sum(gains.values()) == pytest.approx(example().objective(PRINTED))


def test_fairness_is_the_share_of_the_revenue_over_that_of_the_servers() -> None:
    """Both have half of everything; without payments 168 and 82 of 250."""
    ratios = metrics.revenue_fairness(example(), PRINTED, PAID)
    assert ratios == {"u1": pytest.approx(160 / 125), "u2": pytest.approx(90 / 125)}
    assert metrics.fairness_variance(example(), PRINTED, PAID) == pytest.approx((35 / 125) ** 2)
    assert metrics.fairness_variance(example(), PRINTED) == pytest.approx((43 / 125) ** 2)


def test_shares_are_means_of_workers_and_parameter_servers() -> None:
    """1 of 3 workers and 3 of 4 PSs; who has nothing has no ratio."""
    jobs = [
        ParameterServerJob(
            id="j", user="a", gpus=1, epochs=1, minibatches=1, rates=(1, 1), utility=Linear(0, 60)
        )
    ]
    cluster = gs.Cluster([gs.Node("s1", 1, ps=3), gs.Node("s2", 2, ps=1)])
    users = [gs.User("a", gpus=1, ps=3), gs.User("b", gpus=2, ps=1), gs.User("c", gpus=0, ps=0)]
    problem = Irmp(gs.Instance(cluster, jobs, users))
    schedule = gs.Schedule.of([gs.Segment(0, 0, 1, {0: 1}, ps={0: 1})])
    ratios = metrics.revenue_fairness(problem, schedule)
    assert ratios == {"a": pytest.approx(1 / ((1 / 3 + 3 / 4) / 2)), "b": 0}


def test_without_a_revenue_there_is_nothing_to_share() -> None:
    late = gs.Schedule.of([gs.Segment(0, 98, 100, {0: 2}, ps={0: 1})])
    assert example().objective(late) == 100 - 2 * 97
    assert metrics.revenue_fairness(example(), late) == {}
    assert metrics.fairness_variance(example(), late) is None
    assert metrics.fairness_variance(example(), gs.Schedule.of([])) is None


def test_without_losses_no_job_is_worth_less_than_nothing() -> None:
    """Of 11, preempted, at 54 and 21 at 10: 100 - 2 * 51 = -2 and 86."""
    parts = [gs.Segment(0, 10, 11, {0: 2}, ps={0: 1}), gs.Segment(2, 8, 10, {1: 2}, ps={1: 1})]
    schedule = gs.Schedule.of([gs.Segment(0, 53, 54, {0: 2}, ps={0: 1}), *parts])
    problem = replace(example(), preemptive=True)
    assert problem.objective(schedule) == 84
    assert metrics.revenue_without_losses(problem, schedule) == 86


def test_use_over_time() -> None:
    """From 8 on, 5 of 8 workers and 2 of 4 PSs."""
    used = metrics.utilisation(example(), PRINTED)
    assert metrics.makespan(PRINTED) == 12
    assert used.tolist() == [[0] * 8 + [5 / 8] * 4, [0] * 8 + [2 / 4] * 4]
    shorter = gs.Schedule.of([PRINTED[0], PRINTED[2]])
    assert metrics.utilisation(example(), shorter)[0, 8:].tolist() == [5 / 8] * 2 + [3 / 8] * 2
    assert metrics.makespan(gs.Schedule.of([])) == 0


def test_stage_1_keeps_to_the_quotas() -> None:
    """12 and 11 hold 5 workers at 8; if both pay nothing, that is more than user 1 has."""
    with pytest.raises(
        ValueError, match=r"^settle: jobs of user 'u1' that pay nothing hold 1 work"
    ):
        settle(example(), PRINTED, {"21"}, theta=THETA)


def test_nobody_takes_more_than_all_have_left() -> None:
    """Two jobs of stage 2 may not be there for the shares of one: 8 workers, 9 wanted."""
    problem = example()
    wide = gs.Schedule.of([gs.Segment(3, 8, 9, {0: 9}, ps={0: 1})])
    with pytest.raises(ValueError, match=r"^settle: job '22' takes 9 at 8, all users have left 8$"):
        settle(problem, wide, {"22"}, theta=THETA)


# --- what solvers state ---------------------------------------------------------------------------


def stated(money: Money = PAID, **changes: Any) -> Result[gs.Schedule]:
    """The printed schedule with payments and incomes that somebody states."""
    said = {"payments": money.payments, "incomes": money.incomes, "theta": THETA, **changes}
    facts = RevenueFacts(**said)
    return Result.of(example(), PRINTED, solver="hand", stop=Stop.COMPLETED, facts=facts)


def test_right_accounts_are_found_right() -> None:
    assert money_violations(example(), stated()) == []
    assert money_violations(example(), stated(Money(payments={}, incomes={}))) == []


HALF = dict.fromkeys(("u1", "u2"), 8.0)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"payments": {"12": 16, "22": 4}}, "payment: job '22' pays, but does not run"),
        ({"incomes": {**HALF, "u3": 0.0}}, "income: 'u3' is not a user"),
        ({"payments": {"12": -1.0}}, "payment: '12' has -1.0, not a finite number >= 0"),
        ({"incomes": {"u1": 24, "u2": -8}}, "income: 'u2' has -8, not a finite number >= 0"),
        ({"incomes": {"u1": 8, "u2": 8 - 1e-6}}, "balance: payments of 16"),
        ({"payments": {"12": 12.0}, "incomes": {"u1": 6, "u2": 6}}, "payment: '12' has 12, but 16"),
        ({"incomes": {"u1": 9, "u2": 7}}, "income: 'u1' has 9, but 8 by (2)"),
        ({"payments": {"12": 8, "21": 8}}, "payment: '12' has 8, but "),
        ({"payments": {"21": 16}}, "settle: jobs of user 'u1' that pay nothing hold 1 workers"),
    ],
)
def test_wrong_accounts_are_seen(changes: dict[str, Any], text: str) -> None:
    broken = money_violations(example(), stated(**changes))
    assert any(line.startswith(text) for line in broken), broken
    with pytest.raises(ValueError, match=r"^money: "):
        metrics.revenue_measures(example(), stated(**changes))


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    lam=st.integers(1, 3),
    theta=st.sampled_from(["total", "slot"]),
    scale=st.sampled_from([1.0, 1e4]),
    utility=st.sampled_from(["linear", "convex"]),
)
def test_accounts_of_every_run_balance(
    seed: int, lam: int, theta: str, scale: float, utility: Any
) -> None:
    """Users of a server or two share much."""
    problem = paper_problem(20, servers=9, users=9, utility=utility, seed=seed)
    result = astraea(problem, params=AstraeaParams(lam=lam, theta=theta, scale=scale, cap=9))
    assert isinstance(result, Result)
    assert money_violations(problem, result) == []
    money = metrics.money_of(result)
    assert sum(money.payments.values()) == pytest.approx(sum(money.incomes.values()), rel=1e-9)
    assert result.solution is not None
    assert sum(metrics.gains(problem, result.solution, money).values()) == pytest.approx(
        problem.objective(result.solution), abs=1e-6
    )


def test_these_runs_do_pay() -> None:
    problem = paper_problem(20, servers=9, users=9, seed=1)
    result = astraea(problem, params=AstraeaParams(scale=1e4))
    assert isinstance(result, Result)
    assert sum(value > 0 for value in metrics.money_of(result).payments.values()) >= 5


def test_money_is_settled_for_each_type_of_servers() -> None:
    """b's job takes a's server of another type; it finds that half in use."""
    nodes = [gs.Node("s1", 2, ps=2, model="new"), gs.Node("s2", 4, ps=2, model="old")]
    fields: Any = {
        "release": 1, "epochs": 1, "minibatches": 1, "rates": (1, 1), "utility": Linear(-1, 50)
    }  # fmt: skip
    jobs = [
        ParameterServerJob(id=id, user=user, gpus=gpus, **fields)
        for id, user, gpus in (("j1", "a", 1), ("j2", "b", 1))
    ]
    problem = Irmp(
        gs.Instance(gs.Cluster(nodes), jobs, [gs.User("a"), gs.User("b")]), owners=["a", "b"]
    )
    runs = gs.Schedule.of([gs.Segment(j, 2, 3, {0: 1}, ps={0: 1}) for j in range(2)])
    money = settle(problem, runs, {"j2"}, theta=[[16, 9], [4, 4]])
    assert money.payments == {"j2": pytest.approx((16**0.5 - 1) + (9**0.5 - 1))}
    assert money.incomes == {"a": pytest.approx(5), "b": 0}


def test_measures() -> None:
    problem = example()
    measures = metrics.revenue_measures(problem, stated(ideal_revenue=92.0))
    assert measures == {
        "without losses": 86 + 82 + 82,
        "ideal revenue": 92.0,
        "fairness variance": pytest.approx((35 / 125) ** 2),
        "workers in use": pytest.approx(5 / 8 * 4 / 12),
        "makespan": 12,
    }
    nothing = Result.of(problem, gs.Schedule.of([]), solver="none", stop=Stop.COMPLETED)
    assert set(metrics.revenue_measures(problem, nothing).values()) == {None, 0}


def test_batches_without_sharing_pay_nothing() -> None:
    problem = example()
    result = batch_sche(problem, params=AstraeaParams(lam=2))
    assert metrics.money_of(result) == Money(payments={}, incomes={"u1": 0, "u2": 0})
    assert money_violations(problem, result) == []


def test_measures_need_a_schedule() -> None:
    result = Result.of(example(), None, solver="lost", stop=Stop.COMPLETED)
    with pytest.raises(ValueError, match=r"^measures: lost has no schedule$"):
        metrics.revenue_measures(example(), result)


def test_a_preemptive_schedule_counts_once() -> None:
    problem = replace(example(), preemptive=True)
    parts = gs.Schedule.of(
        [gs.Segment(0, 8, 9, {0: 2}, ps={0: 1}), gs.Segment(0, 11, 12, {1: 2}, ps={1: 1})]
    )
    assert metrics.gains(problem, parts) == {"u1": 82, "u2": 0}
    assert np.flatnonzero(metrics.utilisation(problem, parts)[0]).tolist() == [8, 11]
