"""Objectives by hand, one broken rule at a time, and the model against brute force."""

from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.instances import Cluster, Instance, Job, Node, Schedule, Segment
from gangsched.solvers import Status
from gangsched.solvers.exact import branch_and_bound
from preemptive import MEASURES, optimum, problem_of, problems

#: on nodes of 2 and 1 GPUs: gpus, release, work, weight
JOBS = [(2, 0, 4, 0.5), (3, 1, 2, 3.0)]
#: j0 on node 0 until 1 and from 3 to 6; j1 on both nodes from 1 to 3
GOOD = [(0, 0, 1, {0: 2}), (1, 1, 3, {0: 2, 1: 1}), (0, 3, 6, {0: 1, 1: 1})]


def schedule(rows: list[Any]) -> Schedule:
    return Schedule.of(Segment(*row) for row in rows)


@pytest.mark.parametrize(
    ("measure", "weighted", "value"),
    [
        ("makespan", False, 6),
        ("completion", False, 6 + 3),
        ("flow", False, 6 + 2),
        ("slowdown", False, 6 / 4 + 2 / 2),
        ("completion", True, 0.5 * 6 + 3 * 3),
        ("flow", True, 0.5 * 6 + 3 * 2),
        ("slowdown", True, 0.5 * 6 / 4 + 3 * 2 / 2),
    ],
)
def test_objectives_by_hand(measure: str, weighted: bool, value: float) -> None:
    problem = problem_of([2, 1], JOBS, measure, weighted=weighted)
    assert problem.violations(schedule(GOOD)) == []
    found = problem.objective(schedule(GOOD))
    assert found == value
    assert isinstance(found, int) == problem.integral
    assert problem.integral == (not weighted and measure != "slowdown")


def test_integral_weights_make_integral_objectives() -> None:
    assert problem_of([2], [(1, 0, 1, 3.0), (1, 0, 1, 2.0)], "flow", weighted=True).integral


def test_gpus_may_be_held_for_longer_than_the_work() -> None:
    problem = problem_of([2, 1], JOBS)
    assert problem.violations(schedule([(0, 0, 9, {0: 2}), (1, 9, 12, {0: 2, 1: 1})])) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: (2, 0, 1, {0: 2})}, "reference: job number 2 of 2"),
        ({0: (0, 0, 1, {2: 2})}, "reference: node number 2 of 2"),
        ({0: (0, 0, 1, {0: 1})}, "gang: job 'j0' holds 1 of its 2 GPUs at 0"),
        ({2: (0, 2, 6, {0: 1, 1: 1})}, "capacity: node 'n0' holds 3 of its 2 GPUs at 2"),
        ({1: (1, 0, 3, {0: 2, 1: 1})}, "release: job 'j1' starts at 0, before 1"),
        ({2: (0, 3, 5, {0: 1, 1: 1})}, "work: job 'j0' runs for 3 of its 4 s"),
        ({2: (1, 3, 6, {0: 2, 1: 1})}, "work: job 'j0' runs for 1 of its 4 s"),
    ],
)
def test_a_broken_rule_is_named(change: dict[int, Any], message: str) -> None:
    rows = [change.get(i, row) for i, row in enumerate(GOOD)]
    assert message in problem_of([2, 1], JOBS).violations(schedule(rows))


def test_a_job_does_not_run_beside_itself() -> None:
    problem = problem_of([2], [(1, 0, 4, 1.0)])
    rows = [(0, 0, 2, {0: 1}), (0, 1, 3, {0: 1})]
    assert problem.violations(schedule(rows)) == ["work: job 'j0' runs twice at 1"]


def test_pins() -> None:
    cluster = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    instance = Instance(cluster, [Job(id="a", gpus=1, work=1, pin="v100")])
    problem = CompletionTime(instance)
    assert problem.violations(schedule([(0, 0, 1, {1: 1})])) == []
    assert problem.violations(schedule([(0, 0, 1, {0: 1})])) == [
        "pin: job 'a' runs on model k80, pin='v100'"
    ]
    with pytest.raises(ValueError, match=r"form='time-indexed' is for GPUs of one model at speed "):
        problem.build()


#: 2 old GPUs on two nodes, 1 new; j0 does 1.5 s of work in a second on the new one
MIXED = Cluster([Node("n0", 1, "old"), Node("n1", 1, "old"), Node("n2", 1, "new")])
MIXED_JOBS = [
    Job(id="j0", gpus=1, work=4, speeds={"old": 1, "new": 1.5}),
    Job(id="j1", gpus=2, work=3),
    Job(id="j2", gpus=1, work=1, release=1, speeds={"old": 1 / 3}),
]


@pytest.mark.parametrize(
    ("measure", "value"),
    [("makespan", 7), ("flow", 3 + 7 + 3), ("slowdown", 3 / 3 + 7 / 3 + 3 / 4)],
)
def test_work_on_several_models(measure: str, value: float) -> None:
    """1.5 * 3 s are 4 whole ones; a third in millionths needs a fourth second for a whole one."""
    rows = [(0, 0, 3, {2: 1}), (2, 1, 4, {0: 1}), (1, 4, 7, {0: 1, 1: 1})]
    problem = CompletionTime(Instance(MIXED, MIXED_JOBS), measure)
    assert problem.models == ("old", "new")
    assert problem.mixed
    assert problem.seconds == (3, 3, 4)
    assert problem.speeds.tolist() == [[10**6, 1_500_000], [10**6, 0], [333_333, 0]]
    assert problem.service(schedule(rows)).tolist() == [4, 3, 0]
    assert problem.objective(schedule(rows)) == pytest.approx(value, rel=1e-15)
    assert problem.violations(schedule(rows)) == ["work: job 'j2' runs for 0 of its 1 s at speed 1"]
    rows[1:] = [(2, 1, 5, {0: 1}), (1, 5, 8, {0: 1, 1: 1})]
    assert problem.violations(schedule(rows)) == []


def test_what_is_less_than_a_second_is_lost_at_an_interruption() -> None:
    problem = CompletionTime(Instance(MIXED, MIXED_JOBS[:1]))
    assert problem.service(schedule([(0, 0, 1, {2: 1}), (0, 2, 3, {2: 1})])).tolist() == [2]
    assert problem.service(schedule([(0, 0, 1, {2: 1}), (0, 1, 3, {0: 1})])).tolist() == [3]
    long = schedule([(0, 0, 2**53, {2: 1})])
    assert problem.service(long).tolist() == [3 * 2**52]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((1, 0, 9, {0: 1, 2: 1}), "model: job 'j1' runs on 'old' and 'new' together at 0"),
        ((2, 2, 9, {2: 1}), "model: job 'j2' has no speed on 'new', on which it runs at 2"),
    ],
)
def test_a_gang_runs_on_one_model_that_it_can_use(row: Any, message: str) -> None:
    assert message in CompletionTime(Instance(MIXED, MIXED_JOBS)).violations(schedule([row]))


def test_gangs_wider_than_any_model_they_can_use() -> None:
    wide = Job(id="w", gpus=2, work=1, speeds={"new": 2, "old": 1})
    assert CompletionTime(Instance(MIXED, [wide])).speeds.tolist() == [[10**6, 0]]
    for job, message in (
        (Job(id="w", gpus=3, work=1), r"gpus=3, pin='' and speeds={} leave no GPU model of 'old'"),
        (Job(id="w", gpus=2, work=1, pin="new"), r"gpus=2, pin='new' and speeds={} leave no GPU"),
    ):
        with pytest.raises(ValueError, match=message):
            CompletionTime(Instance(MIXED, [job]))


def test_a_job_without_a_segment_has_no_objective() -> None:
    with pytest.raises(ValueError, match=r"job 'j1': no segment"):
        problem_of([2, 1], JOBS).objective(schedule(GOOD[:1]))


def test_the_largest_times_are_allowed() -> None:
    assert CompletionTime(
        Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=2**55 - 6, release=5)])
    ).integral


@pytest.mark.parametrize("measure", MEASURES)
def test_without_jobs(measure: str) -> None:
    problem = problem_of([2], [], measure)
    assert problem.objective(schedule([])) == 0
    assert problem.violations(schedule([])) == []


# --- the model -----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(problems())
def test_the_model_has_the_optimum_of_brute_force(problem: CompletionTime) -> None:
    result = branch_and_bound(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(float(optimum(problem)), rel=1e-9)
    if problem.integral:
        assert result.objective == optimum(problem)


def test_too_large_a_model_is_refused() -> None:
    problem = problem_of([2], [(1, 0, 200_001, 1.0)])
    with pytest.raises(ValueError, match=r"200001 jobs x seconds are more than 200000, too many"):
        problem.build()


def satisfied(native: Any) -> bool:
    """Whether the model's variables, as they are, keep all its constraints."""
    rows = native.component_data_objects(pyo.Constraint, active=True)
    return all(row.slack() >= -1e-9 for row in rows) and all(
        not v.fixed or v.value == native._fixed[v.name]
        for v in native.component_data_objects(pyo.Var)
    )


@settings(max_examples=60)
@given(problems(), st.data())
def test_a_schedule_is_feasible_where_the_model_says_so(
    problem: CompletionTime, data: st.DataObject
) -> None:
    """Gangs run in drawn seconds, on one node with all GPUs, so that only counting matters."""
    gpus = problem.instance.cluster.gpus
    problem = CompletionTime(
        Instance(Cluster.of_sizes([gpus]), problem.jobs), problem.measure, problem.weighted
    )
    horizon = max(job.release for job in problem.jobs) + sum(job.work for job in problem.jobs)
    seconds = st.sets(st.integers(0, horizon - 1), min_size=1)
    rows = []
    for j, job in enumerate(problem.jobs):
        some = data.draw(seconds) | set(
            range(max(0, horizon - data.draw(st.integers(0, 4))), horizon)
        )
        rows += [(j, t, t + 1, {0: job.gpus}) for t in sorted(some)]
    drawn = schedule(rows)
    model = problem.build()
    model.native._fixed = {
        v.name: v.value for v in model.native.component_data_objects(pyo.Var) if v.fixed
    }
    model.embed(drawn)
    assert satisfied(model.native) == (problem.violations(drawn) == [])
    value = pyo.value(model.native.objective)
    assert value == pytest.approx(problem.objective(drawn), rel=1e-9)


def test_extracted_gangs_spread_over_nodes() -> None:
    problem = problem_of([2, 1], JOBS, "makespan")
    result = branch_and_bound(problem)
    assert result.objective == 6
    assert any(len(row.gpus) == 2 for row in result.solution)


@given(problems(measure="slowdown"))
def test_a_rounded_objective_is_near_the_rational(problem: CompletionTime) -> None:
    rows, now = [], max(job.release for job in problem.jobs)
    exact = Fraction(0)
    for j, job in enumerate(problem.jobs):
        held = dict(enumerate(problem.instance.cluster.sizes))
        extra = sum(held.values()) - job.gpus
        for s in list(held):
            less = min(extra, held[s])
            held[s] -= less
            extra -= less
        now += job.work
        rows.append((j, now - job.work, now, {s: n for s, n in held.items() if n}))
        weight = Fraction(job.weight) if problem.weighted else 1
        exact += weight * Fraction(now - job.release, job.work)
    drawn = schedule(rows)
    assert problem.violations(drawn) == []
    assert abs(Fraction(problem.objective(drawn)) - exact) <= exact / 2**51
