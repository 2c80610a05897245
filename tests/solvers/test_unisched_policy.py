"""UniSched on the driver: each step of a cycle by hand, every way to a run, the ablations."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driven import Case, one_run
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError, drive
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, TargetMetric
from gangsched.instances.deadlines import helios_like_workload, testbed_workload
from gangsched.solvers.unisched.policy import Cycles, UniSchedPolicy
from strategies import deadline_instances

MINUTE = 60
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "no profiling": {"profiling": "none"},
    "grid": {"starts": "grid"},
    "printed reward of profilers": {"profiler_reward": 1.0},
    "eager profiling": {"profiler_reward": 100.0},
    "density": {"selector": "density"},
    "feasible": {"selector": "feasible"},
    "exact": {"allocations": "exact"},
    "consolidated": {"allocations": "consolidated"},
    "paper's rounding": {"rounding": "paper"},
    "no suspensions": {"sr_aware": False},
    "most epochs": {"iterations": "maximum"},
    "noise": {"noise": 0.5, "seed": 3},
}


def job(id: str, gpus: int = 1, minutes: int = 10, *due: int, **more: Any) -> DeadlineJob:
    """A job with deadlines in minutes, worth 100, 80, ..."""
    rewards = [(m * MINUTE, 100.0 - 20 * i) for i, m in enumerate(due)]
    return DeadlineJob(id=id, gpus=gpus, work=minutes * MINUTE, rewards=rewards, **more)


def driven(sizes: list[int], jobs: list[Any], how: Any = None, **policy: Any) -> Run:
    """The run of a variant that the independent checker has nothing to say about."""
    instance, made = Instance(Cluster.of_sizes(sizes), jobs), UniSchedPolicy(**policy)
    run = drive(instance, made, **(how or {}))
    assert violations(run, preempts=made.preempts) == []
    return run


def kinds(run: Run, number: int) -> list[tuple[int, EventKind]]:
    log = run.events
    return [
        (int(log.time[i]), EventKind(log.kind[i]))
        for i in np.flatnonzero(log.job == number).tolist()
    ]


# --- profiling and the grid -----------------------------------------------------------------------


def test_a_job_is_profiled_for_one_best_effort_lease_and_starts_with_the_next_slo_lease() -> None:
    run = driven([8], [job("a", 4, 20, 60, release=70)])
    assert kinds(run, 0) == [
        (120, EventKind.VISIBLE),
        (300, EventKind.PROFILE),
        (600, EventKind.PROFILED),
        (600, EventKind.START),
        (1800, EventKind.FINISH),
    ]
    profile = next(iter(run.schedule))
    assert dict(profile.gpus) == {0: 2}  # of a gang of 4


@pytest.mark.parametrize(("starts", "end"), [("staggered", 900), ("grid", 1200)])
def test_whether_a_job_with_deadlines_starts_at_a_best_effort_lease(starts: Any, end: int) -> None:
    jobs = [job("best"), job("slo", 1, 10, 60)]
    assert driven([2], jobs, starts=starts).records.end.tolist() == [300 + 600, end]


def test_a_lease_that_begins_between_two_multiples_ends_at_the_next_one() -> None:
    """Whoever has no time to lose takes the GPU at 600, but not at 1500."""
    first = job("first", 1, 20, 90, release=300)
    tight = [job(f"t{due}", 1, 10, 10, release=due) for due in (600, 1500)]
    run = driven([1], [first, *tight], profiling="none")
    assert [(s.start, s.end) for s in run.schedule if s.job == 0] == [
        (300, 600), (1200, 1800), (2400, 2750)
    ]  # fmt: skip
    assert run.records.first.tolist() == [300, 600, 1800]  # at 1800 best effort, past its deadline


def test_waiting_jobs_do_not_take_what_slo_leases_hold() -> None:
    """Neither now nor in the leases of tau up to the end of those of T, at any price."""
    held, tight = job("held", 1, 30, 30), job("tight", 1, 10, 20, release=300)
    tight = replace(tight, rewards=((20 * MINUTE, 1000.0),))
    run = driven([1], [held, tight], profiling="none", lease=1800)
    assert run.records.first.tolist() == [0, 1800]


def test_without_profiling_run_times_are_known_at_once() -> None:
    assert driven([2], [job("a", 1, 20, 60)], profiling="none").records.end.tolist() == [1200]


def test_profilers_starve_where_leases_earn_more_and_do_not_where_they_are_worth_more() -> None:
    """The one GPU is needed for an hour without pause when a second job comes."""
    jobs = [job("old", 1, 60, 70), job("new", 1, 10, 90, release=600)]
    start = [
        next(time for time, kind in kinds(driven([1], jobs, **how), 1) if kind is EventKind.PROFILE)
        for how in ({"profiler_reward": 1.0}, {"profiler_reward": 1000.0})
    ]
    assert start == [3900, 600]


@pytest.mark.parametrize(("reward", "order"), [(None, [300, 0, 600]), (1.0, [0, 300, 600])])
def test_who_can_win_more_in_a_lease_is_profiled_first(reward: Any, order: list[int]) -> None:
    jobs = [job("far", 1, 10, 300), job("near", 1, 10, 60), job("best", 1)]
    run = driven([1], jobs, profiler_reward=reward)
    starts = [next(t for t, kind in kinds(run, j) if kind is EventKind.PROFILE) for j in range(3)]
    assert starts == order


def test_what_a_profiler_is_worth_by_hand() -> None:
    """100 in ten leases of 600 s; 80 in the lease that is left; best effort, and all is late: 1."""
    found: list[float] = []

    class Seen(Cycles):
        def _stakes(self, state: Any, jobs: Any) -> Any:
            worth = super()._stakes(state, jobs)
            found.extend(worth.tolist())
            return worth

    late = DeadlineJob(id="late", gpus=1, work=600, rewards=[(300, 100), (500, 80)])
    never = DeadlineJob(id="never", gpus=1, work=600, rewards=[(300, 100)])
    jobs = [job("a", 1, 10, 105), late, job("best"), never]
    policy = UniSchedPolicy()
    object.__setattr__(policy, "begin", lambda cluster, users, rules: Seen(policy, cluster))
    drive(Instance(Cluster.of_sizes([8]), jobs), policy)
    assert found == [10.0, 80.0, 1.0, 1.0]


def test_the_static_profiler_has_nodes_of_its_own() -> None:
    """Joint profiling changes the decision: with static nodes the others stay closed to jobs."""
    jobs = [job(f"j{i}", 2, 20, 30) for i in range(2)]
    joint = driven([2, 2], jobs)
    static = driven([2, 2], jobs, profiling="static", profiler_nodes=1)
    assert joint.records.end.tolist() == [1500, 1500]
    assert sorted(static.records.end.tolist()) == [1500, 2700]  # one node left, one after the other
    profiled = [s for s in static.schedule if s.end - s.start == 300]
    assert {n for s in profiled for n in s.gpus} == {0}
    assert {n for s in static.schedule if s not in profiled for n in s.gpus} == {1}


def test_what_the_static_profiler_leaves_too_little_for_is_rejected() -> None:
    run = driven([2, 2], [job("a", 4), job("b", 2)], profiling="static", profiler_nodes=1)
    assert run.rejected == ((0, "job 'a': gpus=4 exceeds the 2 outside the static profiler"),)


# --- selection ------------------------------------------------------------------------------------


def test_the_job_that_is_worth_more_meets_its_deadline() -> None:
    low = DeadlineJob(id="low", gpus=1, work=600, rewards=[(1000, 20)])
    high = DeadlineJob(id="high", gpus=1, work=600, rewards=[(1000, 100)])
    assert driven([1], [low, high], profiling="none").records.end.tolist() == [1200, 600]
    feasible = driven([1], [low, high], profiling="none", selector="feasible")
    assert feasible.records.end.tolist() == [600, 1200]  # whatever they are worth


def test_a_selected_job_that_can_wait_lets_those_go_first_that_cannot() -> None:
    loose, tight = job("loose", 1, 10, 60), job("tight", 1, 10, 10)
    assert driven([1], [loose, tight], profiling="none").records.end.tolist() == [1200, 600]


def test_a_job_that_runs_goes_on_before_one_that_could_wait_as_well() -> None:
    """The second one has less laxity from 600 on, and would take the GPU, and lose it again."""
    long, short = job("long", 1, 20, 100), job("short", 1, 20, 80, release=600)
    run = driven([1], [long, short], profiling="none")
    assert run.records.starts.tolist() == [1, 1]
    assert run.records.end.tolist() == [1200, 2400]


def test_a_job_past_its_deadlines_is_best_effort_and_comes_in_between() -> None:
    """One of two misses its deadline; then it is of less worth than the shorter best-effort job."""
    jobs = [job("first", 1, 10, 10), job("late", 1, 10, 10), job("best", 1, 5)]
    run = driven([1], jobs, profiling="none")
    assert run.records.first.tolist() == [0, 900, 600]


def test_a_gang_that_may_be_split_meets_its_deadline_and_one_that_may_not_waits() -> None:
    """Section II-B: four gangs of 6 GPUs on three nodes of 8."""
    jobs = [job(f"j{i}", 6, 10, 20, split_speed=0.6) for i in range(4)]
    split = driven([8, 8, 8], jobs, profiling="none")
    assert split.records.end.max() <= 20 * MINUTE
    assert any(len(s.gpus) > 1 for s in split.schedule)
    tight = [replace(j, rewards=((11 * MINUTE, 100.0),), split_speed=0.95) for j in jobs]
    whole = driven([8, 8, 8], tight, profiling="none", allocations="consolidated")
    assert (whole.records.end <= 11 * MINUTE).sum() == 3
    every = driven([8, 8, 8], tight, profiling="none")
    assert (every.records.end <= 11 * MINUTE).sum() == 4


def test_counting_suspensions_changes_the_decision() -> None:
    """Two leases of work within four, at 400 s a suspension: on average a third lease is needed."""
    slow = DeadlineJob(id="slow", gpus=1, work=1200, rewards=[(2400, 30.0)], preemption_cost=400)
    quick = [DeadlineJob(id=f"q{i}", gpus=1, work=600, rewards=[(2400, 40.0)]) for i in range(2)]
    aware = driven([1], [slow, *quick], profiling="none")
    unaware = driven([1], [slow, *quick], profiling="none", sr_aware=False)
    assert aware.schedule != unaware.schedule


def test_epochs_that_are_not_needed_are_not_waited_for() -> None:
    """By the most epochs that the user allows, the deadline cannot be met."""
    curve = (1 - 0.9 * np.exp(-np.arange(1, 21) / 6)).tolist()
    stopping = TargetMetric(target=curve[-1], max_epochs=60, curve=curve)
    early = job("early", 1, 60, 70, stopping=stopping, preemption_cost=0)
    early = replace(early, rewards=((70 * MINUTE, 300.0),))
    other = [job(f"o{i}", 1, 30, 65, preemption_cost=0) for i in range(2)]
    true = driven([1], [early, *other], profiling="none", iterations="true")
    most = driven([1], [early, *other], profiling="none", iterations="maximum")
    assert true.records.end[0] <= 70 * MINUTE < most.records.end[0]
    assert (most.records.end[1:] <= 65 * MINUTE).all()


def test_where_the_time_is_over_the_last_selection_goes_on() -> None:
    instance = testbed_workload(60, seed=1)
    policy = UniSchedPolicy(time_limit=1e-9, profiler_reward=100.0)
    run = drive(instance, policy)
    assert violations(run, preempts=policy.preempts) == []
    assert run.records.finished.all()


# --- leases ---------------------------------------------------------------------------------------


def test_a_renewed_lease_costs_nothing_and_a_suspended_job_pays() -> None:
    alone = driven([1], [job("a", 1, 45, 90)], profiling="none")
    assert alone.records.starts.tolist() == [1]
    assert len(alone.schedule) == 1
    jobs = [job("long", 1, 20, 60, preemption_cost=40), job("tight", 1, 10, 10, release=600)]
    run = driven([1], jobs, profiling="none")
    assert run.records.starts.tolist() == [2, 1]
    assert run.records.end.tolist() == [600 + 600 + 40 + 600, 1200]


@pytest.mark.slow
def test_jobs_under_an_slo_lease_are_not_stopped_in_between() -> None:
    instance = helios_like_workload(Cluster.uniform(nodes=2, gpus_per_node=8), jobs=40, days=1)
    run = drive(instance, UniSchedPolicy())
    log = run.events
    stopped = log.kind == EventKind.SUSPEND
    in_between = log.job[stopped & (log.time % 600 != 0)]
    assert stopped.sum() > 0
    for j in in_between.tolist():  # best effort, or past its deadlines
        own = instance.jobs[j]
        assert own.best_effort or run.records.end[j] > own.release + own.rewards[-1][0] - 600


# --- every way to a run ---------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_keep_the_rules_and_all_jobs_finish(variant: str) -> None:
    instance = testbed_workload(40, seed=2)
    policy = UniSchedPolicy(**VARIANTS[variant])
    run = drive(instance, policy)
    assert violations(run, preempts=policy.preempts) == []
    assert run.records.finished.all()


@pytest.mark.slow
@given(deadline_instances(max_jobs=5), st.sampled_from(sorted(VARIANTS)), st.data())
def test_the_run_is_the_same_by_every_way_to_it(
    instance: Instance[DeadlineJob], variant: str, data: st.DataObject
) -> None:
    """Compiled or not, skipping rounds or not, in one piece or resumed, the object used again."""
    one_run(Case(instance, {"round_length": 60}), UniSchedPolicy(**VARIANTS[variant]), data)


def test_plain_jobs_are_best_effort() -> None:
    jobs = [Job(id="a", gpus=1, work=600), Job(id="b", gpus=2, work=300)]
    run = driven([2], jobs)
    assert run.records.first.tolist() == [0, 300]  # profiled one after the other
    # 300 / (300 + 300) against less than 300 / (300 + 600): the second goes on
    assert run.records.end.tolist() == [1500, 900]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("gpus", [3, 6])
def test_gangs_that_must_not_be_split_stay_on_as_few_nodes_as_they_need(
    variant: str, gpus: int
) -> None:
    """Nor does the profiler split them, which is then two GPUs of one node."""
    jobs = [Job(id=f"j{i}", gpus=gpus, work=600 + 700 * i, release=MINUTE * i) for i in range(6)]
    with np.errstate(divide="raise"):
        run = driven([4, 4, 4], jobs, **VARIANTS[variant])
    assert (run.records.end > 0).all()


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "consolidated"])
def test_gangs_of_plain_jobs_are_split_where_the_rules_let_gangs_spread(variant: str) -> None:
    """Three gangs of 3 leave a GPU on each node, which the fourth one takes."""
    jobs = [Job(id=f"j{i}", gpus=3, work=3600) for i in range(4)]
    policy, spread = VARIANTS[variant] | {"profiling": "none"}, {"lease": 600, "spread": True}
    with np.errstate(divide="raise"):
        run = driven([4, 4, 4], jobs, spread, **policy)
    assert run.records.end.tolist() == [3600] * 4
    assert sorted(map(len, (row.gpus for row in run.schedule))) == [1, 1, 1, 3]


def test_profilers_and_what_is_not_selected_are_split_where_the_rules_let_gangs_spread() -> None:
    """The last one is profiled on the GPUs that two gangs of 3 leave; consolidated ones are not."""
    jobs = [Job(id="a", gpus=3, work=3600), Job(id="b", gpus=3, work=3600)]
    jobs.append(Job(id="c", gpus=2, work=600, release=600))
    spread = {"lease": 600, "spread": True}
    run = driven([4, 4], jobs, spread)
    assert dict(next(row.gpus for row in run.schedule if row.job == 2)) == {0: 1, 1: 1}
    assert run.records.end[2] == 600 + 300 + 600
    assert driven([4, 4], jobs, spread, allocations="consolidated").records.end[2] > 1500


# --- bad input ------------------------------------------------------------------------------------


def test_leases_go_with_rounds() -> None:
    with pytest.raises(
        (ValueError, PolicyError), match="be_lease=300 is not a multiple of the round of 70 s"
    ):
        driven([1], [job("a")], {"round_length": 70})


def test_the_static_profiler_leaves_a_node() -> None:
    with pytest.raises((ValueError, PolicyError), match="profiler_nodes=2 leave no node of 2"):
        driven([1, 1], [job("a")], profiling="static")


@pytest.mark.parametrize("variant", ["default", "exact", "consolidated"])
def test_a_gang_of_a_whole_node_of_five_gpus_meets_its_deadline(variant: str) -> None:
    run = driven([5], [job("a", 5, 10, 10)], profiling="none", **VARIANTS[variant])
    assert run.records.end.tolist() == [600]
    tight = driven([5], [job("b", 1), job("a", 5, 10, 10)], profiling="none", **VARIANTS[variant])
    assert tight.records.end.tolist() == [1200, 600]


def test_exact_allocations_need_nodes_of_eight_at_most() -> None:
    with pytest.raises((ValueError, PolicyError), match="nodes of 16 GPUs exceed the 8 of 'exact'"):
        driven([16], [job("a")], allocations="exact")
