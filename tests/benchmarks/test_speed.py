"""What is meant to be faster is faster: ratios of CPU times measured in one run, wide margins."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import gangsched as gs
from benchmarks.table import paper_problem, seconds, slot_by_slot, stretched
from gangsched.analysis.proofs.makespan import configuration_bound, dff_bound
from gangsched.formulations.rar_ddls.problem import evaluate

pytestmark = pytest.mark.slow


def times_faster(fast: Callable[[], Any], slow: Callable[[], Any], runs: int = 3) -> float:
    """How many times the CPU time of `fast` is in that of `slow`, by medians."""
    quick, long = (statistics.median(cpu for _, cpu in seconds(f, runs)) for f in (fast, slow))
    return long / quick


def test_compiled_sjf_bco_is_faster_than_the_reference_and_identical() -> None:
    problem = paper_problem()
    compiled = partial(gs.solvers.sjf_bco, problem)
    params = gs.solvers.SjfBcoParams(compiled=False)
    reference = partial(gs.solvers.sjf_bco, problem, params=params)
    assert compiled().solution == reference().solution
    assert times_faster(compiled, reference) > 4


def test_going_by_events_is_faster_than_slot_by_slot() -> None:
    problem = stretched(paper_problem(), 20)
    schedule = gs.solvers.sjf_bco(problem).solution
    assert schedule is not None
    start, placement = schedule.start.tolist(), [dict(row.gpus) for row in schedule]
    assert slot_by_slot(problem, start, placement) == schedule.end.tolist()
    by_events = partial(evaluate, problem, start, placement)
    assert times_faster(by_events, partial(slot_by_slot, problem, start, placement)) > 3


def test_dual_feasible_functions_are_faster_than_the_configuration_program() -> None:
    problem = paper_problem(seed=2)
    fast, full = partial(dff_bound, problem), partial(configuration_bound, problem)
    assert fast().value < full().value  # or the program had nothing to do
    assert times_faster(fast, full) > 2


def test_replaying_a_configuration_bound_is_faster_than_finding_it() -> None:
    problem = paper_problem(seed=2)
    bound = configuration_bound(problem)
    find, replay = partial(configuration_bound, problem), partial(gs.verify_bound, problem, bound)
    assert times_faster(replay, find) > 4


def test_a_certified_ratio_costs_less_than_the_schedule() -> None:
    problem = paper_problem()

    def certify() -> None:
        gs.verify_bound(problem, gs.bound(problem))

    assert times_faster(certify, partial(gs.solvers.sjf_bco, problem)) > 2
