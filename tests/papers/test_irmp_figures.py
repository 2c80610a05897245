"""Figures 4 to 13 and Table 2 of Wang et al.: what was reproduced is what the page shows."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from figure_page import FigurePage
from gangsched.analysis.comparing.revenue import money_of, revenue_fairness, revenue_measures
from gangsched.analysis.papers.irmp import figures as figures
from gangsched.analysis.papers.irmp import runs as runs
from gangsched.analysis.papers.reproduce import Study
from gangsched.formulations.irmp.problem import paper_problem
from gangsched.instances import Job
from gangsched.instances.traces import ReadReport, Trace
from gangsched.solvers.facts import RevenueFacts
from gangsched.solvers.irmp.astraea import AstraeaParams, astraea, thetas
from gangsched.solvers.irmp.revenue_sharing import hived_like
from gangsched.solvers.ours.irmp.columns import revenue_bound
from gangsched.solvers.ours.irmp.lists import lp_list

PAGE = FigurePage("irmp")


def test_a_point_comes_out_again() -> None:
    study = figures.fig5(jobs=(5,), servers=(15,), seeds=(0,), processes=1)
    known = PAGE.restored("irmp:fig5")
    for row in study.rows:
        for measure in ("share true [0]", "share ideal [0]", "ratio [0]"):
            value = known.value(row.instance, row.policy, measure, row.x)
            assert row.values[measure] == (None if value is None else pytest.approx(value, 2e-3))


@pytest.mark.slow
def test_use_of_workers_comes_out_again() -> None:
    study, known = figures.fig13(), PAGE.restored("irmp:fig13")
    assert len(study.rows) == 6 + 2 * len(figures.Sizes().scales)
    for row in study.rows:
        assert row.values["makespan"] == known.value(row.instance, row.policy, "makespan", row.x)


# --- run again, small ----------------------------------------------------------------------------

SMALL: dict[str, dict[str, Any]] = {
    "fig4": {"jobs": (4, 8), "servers": (6, 10), "default": (6, 8, 14)},
    "fig6": {"jobs": (3, 5), "servers": (5, 8), "default": (4, 6, 2)},
}


@cache
def small(figure: str) -> Study:
    found: Study = getattr(figures, figure)(**SMALL[figure], processes=1, seeds=(0, 1))
    return found


def test_revenue_of_a_small_run_is_that_of_the_solver() -> None:
    study = small("fig4")
    for x in (4, 8):
        problem = paper_problem(x, servers=8, users=6)
        assert len(problem.users) == 6
        for policy, solver in (("Astraea", astraea), ("LP list", lp_list)):
            result = solver(problem)
            assert not hasattr(result, "violations")
            (row,) = [
                r for r in study.rows
                if (r.instance, r.policy, r.x) == ("linear, x = jobs", policy, x)
            ]  # fmt: skip
            assert row.values["true [0]"] == pytest.approx(
                problem.objective(result.solution), rel=1e-5
            )
            known = revenue_measures(problem, result)
            assert row.values["clipped [0]"] == pytest.approx(known["without losses"], rel=1e-5)
            ideal = known["ideal revenue"]
            own = row.values["true [0]"] if ideal is None else ideal
            assert row.values["ideal [0]"] == pytest.approx(own, rel=1e-5)


def test_who_preempts_is_measured_against_schedules_that_do() -> None:
    study = small("fig6")
    problem = paper_problem(5, servers=6, users=2)
    allowed = replace(problem, preemptive=True)
    for policy, solver, own in (
        ("HiveD-like", hived_like, allowed),
        ("Astraea", astraea, problem),
    ):
        earned = own.objective(solver(problem).solution)
        bound = revenue_bound(own, slots=runs.SLOTS).value
        share = study.value("linear, x = jobs", policy, "share true [0]", 5)
        assert share == pytest.approx(earned / bound, rel=1e-5)


def test_fairness_of_true_revenue_is_that_of_the_metrics() -> None:
    problem = paper_problem(8, servers=10, users=3, utility="convex")
    result = astraea(problem)
    values = runs.measure(problem, result)
    known = revenue_fairness(problem, result.solution, money_of(result))
    assert list(known.values()) == pytest.approx([values[f"alpha true of {u}"] for u in range(3)])
    assert values["fair true"] == sum(v >= 1 for v in known.values())
    mean = sum(known.values()) / 3
    spread = math.fsum((v - mean) ** 2 for v in known.values()) / 3
    assert values["variance true"] == pytest.approx(spread)


def test_use_over_time_adds_up_to_the_work_that_was_done() -> None:
    problem = paper_problem(8, servers=10, users=3)
    result = lp_list(problem)
    values = runs.measure(problem, result)
    held = sum((row.end - row.start) * sum(row.gpus.values()) for row in result.solution)
    edges = [0, *runs.LEVELS]
    spans = [b - a for a, b in pairwise(edges)]
    slots = sum((values[f"use at {b:.0f}"] or 0) * d for b, d in zip(edges[1:], spans, strict=True))
    assert slots / 100 * problem.instance.cluster.gpus == pytest.approx(held)


def test_an_estimate_scales_the_highest_price() -> None:
    problem = paper_problem(5, servers=6, users=2)
    exact, low = (thetas(problem, range(5), estimate=e) for e in (1.0, 0.6))
    assert (low - 1).ravel().tolist() == pytest.approx((0.6 * (exact - 1)).ravel().tolist())
    result = astraea(problem, params=AstraeaParams(estimate=0.6, scale=1))
    assert result.info["theta"] == low.tolist()
    with pytest.raises(ValueError, match="AstraeaParams: estimate=0 is not positive"):
        AstraeaParams(estimate=0)


def test_a_wrong_count_of_runs_within_the_assumption_is_found() -> None:
    problem = paper_problem(8, servers=10, users=3)
    result = astraea(problem)
    assert runs.measure(problem, result)["within"] == 100
    facts = replace(RevenueFacts.of(result), within_assumption=1)
    with pytest.raises(ValueError, match="says 1 runs are within the assumption of"):
        runs.measure(problem, replace(result, facts=facts))


def test_costs_of_jobs_that_pay_are_their_payments() -> None:
    problem = paper_problem(20, servers=10, users=3)
    result = astraea(problem)
    _, *rows = runs.job_rows("linear", problem, result)
    costs = sorted(values["job cost"] or 0.0 for *_, values in rows)
    paid = [p for p in result.info["payments"].values() if p > 0]
    assert paid
    for payment in paid:
        assert min(abs(payment - cost) for cost in costs) < 1e-5 * payment


def log(jobs: int) -> Trace:
    rows = [
        Job(id=f"j{i}", gpus=1 + i % 8, user="abc"[i % 3], release=500 * i) for i in range(jobs)
    ]
    return Trace(name="log", jobs=rows, report=ReadReport(read=jobs))


def test_a_trace_adds_instances_with_its_users() -> None:
    study = figures.table2(
        users=(2, 3), default=(6, 8, 3), seeds=(0,), processes=1, trace=log(300)
    )  # fmt: skip
    laws = "linear", "convex", "Log linear", "Log convex"
    assert list(study.instances) == [f"{law}, x = {x}" for x in ("users", "scale") for law in laws]
    assert study.instances["Log linear, x = users"]["users"] == [2]


def test_an_excerpt_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"trace 'log' has 1 windows of 20 jobs in a day"):
        runs.excerpt(log(60), 20, 1)
