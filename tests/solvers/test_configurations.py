"""Schedules by configurations: against every schedule, hard cases, forgers and limits."""

from functools import cache
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
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.solvers.ours import configurations
from gangsched.solvers.ours.configurations import (
    by_order,
    configuration_lp,
    makespan_bound,
    within,
)
from gangsched.solvers.ours.pool import PoolRun, columns, run_pool, schedule_of
from gangsched.solvers.ours.user_order import Members
from gangsched.solvers.result import Bound, Status, Stop
from preemptive import (
    mixed_optimum,
    mixed_problem,
    optimum,
    problem_of,
    problems,
    random_problem,
)

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


def test_the_solver_is_for_makespans_on_equal_gpus() -> None:
    proof = {"kind": "configuration prices", "prices": [1]}
    flow = problem_of([2], [(1, 0, 2, 1.0)])
    slow = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=2, speeds={"": 0.5})])
    for problem in (flow, CompletionTime(slow, "makespan")):
        with pytest.raises(ValueError, match="configurations: they are for the makespan on equal"):
            configuration_lp(problem)
    with pytest.raises(ValueError, match="makespan_bound: measure='flow' is not 'makespan'"):
        makespan_bound(flow)
    with pytest.raises(InvalidCertificate):
        gs.verify_bound(flow, Bound(1, "", proof))


@pytest.mark.parametrize("seed", range(40))
def test_on_several_models_it_proves_no_more_than_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = mixed_problem(rng, "makespan", jobs=4)
    bound, least = makespan_bound(problem), mixed_optimum(problem)
    assert bound.value <= least
    gs.verify_bound(problem, bound)
    with pytest.raises(InvalidCertificate):
        gs.verify_bound(problem, Bound(bound.value + 1, bound.method, bound.certificate))
    prices = rng.integers(0, 5, 4).tolist()
    assert proven(problem, {"kind": "configuration prices", "prices": prices}) <= least


def test_gangs_that_exclude_each_other_on_each_model() -> None:
    """Two GPUs of three are idle beside each wide gang; GPU seconds alone prove 18."""
    nodes = [Node("n", 3, "new"), Node("o", 3, "old")]
    jobs = [Job(id=str(k), gpus=2, work=9, speeds={"new": 2.0, "old": 1.0}) for k in range(6)]
    problem = CompletionTime(Instance(Cluster(nodes), jobs), "makespan")
    assert makespan_bound(problem).value == 18
    assert gs.bound(problem, "quick").value < 18


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
    monkeypatch.setattr(configurations._Makespan, "whole_run", stopped)
    found = configuration_lp(problem)
    assert found.stop is Stop.INTERRUPTED
    assert found.objective is not None
    assert found.objective > 33_497
    assert found.bound is not None
    assert found.bound.value == 33_497


# --- a given order of ends, deadlines -------------------------------------------------------------

#: up to three jobs of (gpus, release, work)
GANGS = st.integers(2, 4).flatmap(
    lambda gpus: st.tuples(
        st.just(gpus),
        st.lists(
            st.tuples(st.integers(1, gpus), st.integers(0, 3), st.integers(1, 3)),
            min_size=1, max_size=3,
        ),
    )
)  # fmt: skip


def arrays(jobs: list[tuple[int, int, int]]) -> tuple[Any, Any, Any]:
    """Releases, gangs and work."""
    gang, release, work = (np.array(column) for column in zip(*jobs, strict=True))
    return release, gang, work


def all_ends(gpus: int, jobs: list[tuple[int, int, int]]) -> set[tuple[int, ...]]:
    """The ends of all jobs, of every schedule in which not all wait that could run."""

    @cache
    def rest(t: int, left: tuple[int, ...]) -> frozenset[tuple[int, ...]]:
        if not any(left):
            return frozenset([(0,) * len(left)])
        ready = [j for j, (_, release, _) in enumerate(jobs) if left[j] and release <= t]
        found = set()
        for size in range(bool(ready), len(ready) + 1):
            for some in combinations(ready, size):
                if sum(jobs[j][0] for j in some) <= gpus:
                    after = tuple(p - (j in some) for j, p in enumerate(left))
                    last = [j in some and not after[j] for j in range(len(left))]
                    for ends in rest(t + 1, after):
                        found.add(tuple(t + 1 if x else e for x, e in zip(last, ends, strict=True)))
        return frozenset(found)

    return set(rest(0, tuple(work for _, _, work in jobs)))


def checked(run: PoolRun, gpus: int, jobs: list[tuple[int, int, int]]) -> PoolRun:
    """The run, if it is a schedule in which the jobs end when it says."""
    made = [Job(id=f"j{i}", gpus=g, release=r, work=p) for i, (g, r, p) in enumerate(jobs)]
    problem = CompletionTime(Instance(Cluster.of_sizes([gpus]), made))
    schedule = schedule_of(problem, run)
    assert problem.violations(schedule) == []
    assert problem.ends(schedule) == run.ends.tolist()
    done = np.bincount(run.job, run.end - run.start, minlength=len(jobs))
    assert done.tolist() == [work for _, _, work in jobs]
    return run


@given(GANGS, st.data())
def test_no_schedule_of_an_order_is_better(given: Any, data: Any) -> None:
    gpus, jobs = given
    rates = np.array([data.draw(st.sampled_from([1.0, 2.0, 0.25])) for _ in jobs])
    every = sorted(all_ends(gpus, jobs))
    some = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4))
    for ends in [*some, min(every, key=rates.__matmul__)]:
        found = by_order(*arrays(jobs), rates, gpus, np.array(ends))
        assert found.run is not None
        cost = rates @ checked(found.run, gpus, jobs).ends
        assert max(found.least, cost) <= rates @ ends + 1e-6
        assert by_order(*arrays(jobs), rates, gpus, np.array(ends), above=found.least).run is None
    assert cost == pytest.approx(min(rates @ ends for ends in every))


@given(GANGS, st.data())
def test_no_users_of_an_order_are_better_off(given: Any, data: Any) -> None:
    gpus, jobs = given
    release, gang, work = arrays(jobs)
    user = np.array([0, *(data.draw(st.integers(0, 1)) for _ in jobs[1:])])
    count = int(user.max()) + 1
    terms = st.lists(st.integers(1, 9), min_size=count, max_size=count)
    less, over = (np.array(data.draw(terms), dtype=float) for _ in range(2))
    users = Members(user, release, less, over, None)
    every = sorted(all_ends(gpus, jobs))
    ratios = [users.ratios(np.array(ends)).max() for ends in every]
    for k in {data.draw(st.integers(0, len(every) - 1)), int(np.argmin(ratios))}:
        ends = np.array(every[k])
        found = by_order(release, gang, work, np.ones(len(jobs)), gpus, ends, users=users)
        assert found.run is not None
        worst = users.ratios(checked(found.run, gpus, jobs).ends).max()
        assert max(found.least, worst) <= ratios[k] + 1e-6
        assert worst >= min(ratios) - 1e-9


@given(GANGS, st.data())
def test_no_prices_prove_more_than_the_best_schedule_of_an_order(given: Any, data: Any) -> None:
    """Prices and costs of users that no linear program found."""
    gpus, jobs = given
    release, gang, work = arrays(jobs)
    programs = []

    def kept(program: Any, _: float) -> Any:
        programs.append(program)
        return iter(())

    ends = data.draw(st.sampled_from(sorted(all_ends(gpus, jobs))))
    rates = np.array([data.draw(st.integers(1, 3)) for _ in jobs], dtype=float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(configurations._Program, "bounds", kept)
        patch.setattr(configurations._Program, "whole_run", kept)
        by_order(release, gang, work, rates, gpus, np.array(ends))
    prices = np.array([data.draw(st.integers(0, 9)) for _ in jobs]) / 4
    worths, _ = programs[0]._worths(prices[:, None])
    assert programs[0]._bound(prices, worths, np.zeros(0))[1] <= rates @ ends + 1e-6


@given(GANGS, st.data())
def test_deadlines_are_met_where_any_schedule_meets_them(given: Any, data: Any) -> None:
    gpus, jobs = given
    every = all_ends(gpus, jobs)
    latest = max(max(ends) for ends in every)
    deadlines = np.array([data.draw(st.integers(0, latest)) for _ in jobs])
    found = within(*arrays(jobs), deadlines, gpus)
    possible = any((np.array(ends) <= deadlines).all() for ends in every)
    assert (found.run is not None) == possible == (found.least == 0)
    if found.run is not None:
        assert (checked(found.run, gpus, jobs).ends <= deadlines).all()


def test_the_same_order_has_the_same_schedule() -> None:
    problem = gs.problem("flow-100-load140")
    release, gang = columns(problem.instance)
    work, rates = np.array(problem.seconds), problem.rates()
    ends = run_pool(problem).ends
    one, other = (by_order(release, gang, work, rates, 16, ends, time_limit=60) for _ in range(2))
    assert one.run is not None
    assert other.run is not None
    assert np.array_equal(one.run.start, other.run.start)


@pytest.mark.slow
def test_on_many_small_problems_it_is_the_optimum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(80):
        problem = random_problem(rng, "makespan", gpus=int(rng.integers(2, 6)), jobs=5)
        found = configuration_lp(problem)
        assert found.bound is not None
        assert found.objective == found.bound.value == optimum(problem)
