"""What policies that profile first can win: the bound, for whom it holds, where it is shown."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadline_optimum import optimum, random_problem
from few import each_seed
from gangsched.analysis.comparing.profiling import PROFILED, Profiling
from gangsched.analysis.comparing.replay import Replay, replay
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.metrics import deadline_summary
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.replay_tables import legend
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.instances.deadlines import testbed_workload
from gangsched.solvers import Fifo
from gangsched.solvers.policy import Decision, Preempts, Start
from gangsched.solvers.unisched.chronus import Chronus
from gangsched.solvers.unisched.policy import UniSchedPolicy

seeds = st.integers(0, 2**32 - 1)


def workload(seed: int, jobs: int = 25) -> Instance[DeadlineJob]:
    """Jobs of some minutes with deadlines that profiling often makes them miss."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(jobs):
        work, release = int(rng.integers(200, 3_000)), int(rng.integers(0, 6_000))
        due = int(work * rng.uniform(1.1, 2)) + int(rng.integers(0, 900))
        rewards = [(due, 100), (due * 3 // 2, 80), (due * 2, 20)][: int(rng.integers(0, 4))]
        gpus = int(rng.choice([1, 2, 4, 8]))
        made.append(DeadlineJob(id=f"{i}", gpus=gpus, work=work, release=release, rewards=rewards))
    return Instance(Cluster.of_sizes([4, 4]), made)


@pytest.mark.parametrize(
    ("policy", "seconds"), [(UniSchedPolicy(profiler_reward=1e4), 300), (Chronus(), 60)]
)
@each_seed(range(4))
def test_no_policy_that_profiles_wins_more(policy: Any, seconds: int, seed: int) -> None:
    instance = workload(seed)
    run = drive(instance, policy)
    found = Profiling.of(run)
    assert found is not None
    assert (found.seconds, found.cycle, found.lease % seconds) == (seconds, seconds, 0)
    later = DeadlineRewards(found.later(instance))
    bound = reward_bound(later)
    verify_bound(later, bound)
    assert deadline_summary(run)["reward"] <= bound.value
    assert bound.value <= reward_bound(DeadlineRewards(instance)).value < 100 * 25


@given(seeds, st.integers(0, 3), st.integers(1, 3), st.integers(1, 3))
def test_later_jobs_win_no_more(seed: int, seconds: int, cycle: int, lease: int) -> None:
    problem = random_problem(np.random.default_rng(seed))
    profiling = Profiling(seconds, cycle, lease)
    later = DeadlineRewards(profiling.later(problem.instance))
    best = optimum(later)
    assert best <= optimum(problem)
    assert best <= reward_bound(later).value
    for job, other in zip(problem.jobs, later.jobs, strict=True):
        assert other.release == profiling.first(job.release) >= job.release + seconds
        assert other.release % lease == 0
        for end in range(other.release + 1, other.release + 16):
            assert other.reward(end) == job.reward(end)


def test_what_is_common_holds_for_each() -> None:
    kinds = [Profiling(300, 60, 900), Profiling(240, 90, 600)]
    common = Profiling.common(kinds)
    assert common == Profiling(240, 30, 300)
    for release in range(0, 2_000, 7):
        assert common.first(release) <= min(kind.first(release) for kind in kinds)
    assert str(common) == (
        "a new job is profiled for 240 s, from a multiple of 30 s on, and the work of one with "
        "deadlines begins at a multiple of 300 s"
    )


class Some:
    """Profile jobs with even numbers for a minute, then run all in order of submission."""

    name = "some"
    preempts = Preempts.NEVER

    def decide(self, state: Any) -> Decision:
        starts, free = [], int(state.free[0])
        for j in state.waiting.tolist():
            if free:
                free -= 1
                first = j % 2 == 0 and not state.profiled[j]
                starts.append(Start(j, {0: 1}, 1, 60 if first else 0))
        return Decision(start=starts)


def test_it_holds_only_for_runs_that_profile_every_job_with_deadlines() -> None:
    jobs = [DeadlineJob(id=f"{i}", gpus=1, work=90, rewards=[(400, 9)]) for i in range(4)]
    instance = Instance(Cluster.of_sizes([4]), jobs)
    for policy in (Fifo(), Some(), UniSchedPolicy(profiling="none")):
        assert Profiling.of(drive(instance, policy)) is None
    plain = [job if j % 2 == 0 else replace(job, rewards=()) for j, job in enumerate(jobs)]
    run = drive(Instance(instance.cluster, plain), Some())
    assert Profiling.of(run) == Profiling(60, 1, 60)


@pytest.fixture(scope="module")
def found() -> Replay:
    policies = {"fifo": Fifo(), "unisched": UniSchedPolicy(profiler_reward=1e4)}
    return replay(testbed_workload(240, seed=1), policies)


def test_a_replay_shows_it_for_its_rows_alone(found: Replay) -> None:
    fifo, profiles = found.rows
    assert found.profiled is not None
    assert found.profiled.bound.value < found.bounds["reward"].value
    assert PROFILED not in fifo.ratios
    won = profiles.deadlines["reward"]
    assert profiles.ratios[PROFILED] == found.profiled.bound.value / won
    assert 1 <= profiles.ratios[PROFILED] < profiles.ratios["reward"]
    said = next(line for line in legend(found) if line.startswith("any that profiles first"))
    assert "profiled for 300 s" in said
    assert "unisched 1." in said
    assert "fifo" not in said
    lines = [line.split() for line in str(found).splitlines() if "any that profiles" in line]
    value = f"{found.profiled.bound.value:,}"
    assert lines == [["any", "that", "profiles", "first", "≤", value]]
    data = found.to_dict()
    assert data["profiled"]["seconds"] == 300
    assert data["profiled"]["value"] == found.profiled.bound.value


def test_the_best_known_reward_is_checked_and_shown(found: Replay) -> None:
    value, how = found.best_known["reward"]
    assert how == "value per GPU second, ruin and recreate"
    bound = found.bounds["reward"].value
    assert max(row.deadlines["reward"] for row in found.rows) <= value <= bound
    assert bound / value < 1.02
    lines = [line.split() for line in str(found).splitlines() if "best known" in line]
    assert lines[0][:3] == ["best", "known", f"{value:,.10g}"]
    assert any(line.startswith("best known reward (value per GPU second") for line in legend(found))


def test_nobody_profiles() -> None:
    one = replay(workload(0), {"fifo": Fifo()})
    assert one.profiled is None
    assert "profiled" not in one.to_dict()
    assert not any("any that profiles" in line for line in legend(one))
