"""The least makespan by configurations: against every schedule, hard cases, forgers and limits."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs
from gangsched.analysis.proofs.problem_data import proven
from gangsched.analysis.proofs.verify import InvalidCertificate
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers.ours import makespan_configurations
from gangsched.solvers.ours.makespan_configurations import configuration_lp, makespan_bound
from gangsched.solvers.result import Bound, Status, Stop
from preemptive import optimum, problem_of, problems, random_problem

MAKESPANS = problems(measure="makespan", max_jobs=5)


@given(MAKESPANS)
def test_it_is_the_optimum_and_proves_it(problem: CompletionTime) -> None:
    found = configuration_lp(problem)
    assert found.bound is not None
    assert found.objective == found.bound.value == optimum(problem)
    assert problem.violations(found.solution) == []
    gs.verify_bound(problem, found.bound)


@given(MAKESPANS, st.data())
def test_no_prices_prove_more_than_the_optimum(problem: CompletionTime, data: Any) -> None:
    count = len(problem.jobs)
    prices = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    assert proven(problem, {"kind": "configuration prices", "prices": prices}) <= optimum(problem)


@given(MAKESPANS, st.data())
def test_what_is_proven_is_what_all_sets_say(problem: CompletionTime, data: Any) -> None:
    jobs, gpus = problem.jobs, problem.instance.cluster.gpus
    prices = data.draw(st.lists(st.integers(0, 9), min_size=len(jobs), max_size=len(jobs)))
    last = max(job.release for job in jobs)

    def dearest(t: int) -> int:
        there = [j for j, job in enumerate(jobs) if job.release <= t]
        sets = (some for n in range(len(there) + 1) for some in combinations(there, n))
        return max(sum(prices[j] for j in s) for s in sets if sum(jobs[j].gpus for j in s) <= gpus)

    left = sum(q * job.work for q, job in zip(prices, jobs, strict=True))
    left -= sum(dearest(t) for t in range(last))
    later = max(-(-left // dearest(last)), 0) if any(prices) else 0
    found = proven(problem, {"kind": "configuration prices", "prices": prices})
    assert found == last + later


def test_pauses_save_a_second_where_gangs_do_not_fill_the_cluster() -> None:
    problem = problem_of([5], [(2, 0, 2, 1.0)] * 5, "makespan")
    found = configuration_lp(problem)
    assert (found.objective, found.status) == (5, Status.OPTIMAL)


@pytest.mark.parametrize("name", ["makespan-tiny-8", "makespan-100-load100"])
def test_instances_of_the_library_are_solved(name: str) -> None:
    problem = gs.problem(name)
    found = gs.solve_exact(problem)
    assert (found.status, found.stop) == (Status.OPTIMAL, Stop.PROVEN)
    assert found.bound is not None
    gs.verify_bound(problem, found.bound)
    more = Bound(found.bound.value + 1, found.bound.method, found.bound.certificate)
    with pytest.raises(InvalidCertificate):
        gs.verify_bound(problem, more)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"prices": [1]}, r"prices has 1 entries for 3 jobs"),
        ({"prices": [1, 1, -1]}, r"prices\[2\]=-1 is not an integer >= 0"),
        ({"prices": [1, 1, 1.0]}, r"prices\[2\]=1.0 is not an integer >= 0"),
        ({}, "prices=None is not a list"),
    ],
)
def test_broken_certificates_are_refused(more: dict[str, Any], text: str) -> None:
    problem = problem_of([3], [(2, 0, 2, 1.0)] * 3, "makespan")
    with pytest.raises(InvalidCertificate, match=text):
        gs.verify_bound(problem, Bound(6, "", {"kind": "configuration prices", **more}))


def test_it_is_for_makespans_on_equal_gpus() -> None:
    proof = {"kind": "configuration prices", "prices": [1]}
    flow = problem_of([2], [(1, 0, 2, 1.0)])
    slow = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=2, speeds={"": 0.5})])
    for problem in (flow, CompletionTime(slow, "makespan")):
        with pytest.raises(ValueError, match="configurations: they are for the makespan on equal"):
            configuration_lp(problem)
        with pytest.raises(InvalidCertificate):
            gs.verify_bound(problem, Bound(1, "", proof))


def test_without_time_the_list_and_what_was_proven_are_kept() -> None:
    problem = gs.problem("makespan-100-load100")
    found = configuration_lp(problem, time_limit=0)
    assert found.stop is Stop.TIME_LIMIT
    assert found.bound is not None
    gs.verify_bound(problem, found.bound)
    gs.verify_bound(problem, makespan_bound(problem, time_limit=0))


def test_an_interrupt_keeps_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    problem = gs.problem("makespan-tiny-8")
    monkeypatch.setattr(makespan_configurations._Configurations, "whole_seconds", stopped)
    found = configuration_lp(problem)
    assert found.stop is Stop.INTERRUPTED
    assert found.objective is not None
    assert found.objective > 33_497
    assert found.bound is not None
    assert found.bound.value == 33_497


@pytest.mark.slow
def test_on_many_small_problems_it_is_the_optimum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        problem = random_problem(rng, "makespan", gpus=int(rng.integers(2, 6)), jobs=5)
        found = configuration_lp(problem)
        assert found.bound is not None
        assert found.objective == found.bound.value == optimum(problem)
