"""Policies that learn run times by profiling or with an error: what they see, pay and save."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from crowds import with_deadlines
from driven import profiles
from few import each
from gangsched import registry
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import EventKind
from gangsched.analysis.driving.segments import Segments
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node
from gangsched.instances.model import Iterations, TargetMetric
from gangsched.solvers import Estimated, Fifo, Profiled, Profiler, Sjf, Srtf
from gangsched.solvers.information import PROFILERS, gaussian_factor
from gangsched.solvers.policy import Decision, NotShown, Phase, Preempts, Rules, State
from gangsched.solvers.unisched.estimator import DurationEstimates
from reference_driver import by, drive

#: of all ways to preempt and to decide: orders, places, sessions, plans beside running jobs
POLICIES = (
    *("sjf", "srtf", "themis", "easy", "smallest-area", "hydra", "edf", "genie:elastic", "optimus"),
    *("optimus:elastic", "value-density", "unisched:known"),
)


# --- runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["profiled", "estimated"])
@pytest.mark.parametrize("name", each(2, POLICIES))
def test_runs_keep_the_rules_and_go_on_from_checkpoints(name: str, setting: str) -> None:
    instance = with_deadlines()
    full = f"{name}:{setting}"
    run = gs.drive(instance, full, seed=3)
    assert run.records.finished.all()
    assert violations(run, preempts=registry.policy(full)[1].preempts) == []
    part = gs.drive(instance, full, seed=3, until=run.now // 2)
    assert 0 < part.records.finished.sum() < len(instance.jobs)
    again = gs.drive(instance, full, seed=3, resume=part.checkpoint)
    assert again.digest() == run.digest()
    assert again == run
    with by("reference"):
        assert gs.drive(instance, full, seed=3) == run


@pytest.mark.parametrize("name", ["sjf", "edf", "optimus"])
def test_skipping_rounds_changes_nothing(name: str) -> None:
    instance = with_deadlines(1)
    for setting in ("profiled", "estimated"):
        run = gs.drive(instance, f"{name}:{setting}")
        assert gs.drive(instance, f"{name}:{setting}", skip=False) == run


@pytest.mark.parametrize("name", POLICIES)
def test_every_job_pays_once_before_its_work(name: str) -> None:
    instance = with_deadlines()
    run = gs.drive(instance, f"{name}:profiled")
    paid = profiles(run)
    assert sorted(job for job, *_ in paid) == list(range(len(instance.jobs)))
    found = Segments.of(run)
    for job, start, end, gpus in paid:
        assert end - start == 300
        assert gpus == min(2, instance.jobs[job].gpus)
        assert start >= instance.jobs[job].release
        assert found.start[(found.job == job) & ~found.profile].min() >= end
    assert not (gs.drive(instance, f"{name}:estimated").events.kind == EventKind.PROFILE).any()


def test_profiling_comes_first_by_release_on_free_gpus_and_stops_nobody() -> None:
    jobs = [Job(id="runs", gpus=3, work=1_000)]
    jobs += [Job(id=i, gpus=4, work=60, release=400 + k) for k, i in enumerate("abc")]
    run = drive(Instance(Cluster.of_sizes([4]), jobs), Profiled(policy=Srtf()))
    # one GPU is free at 420, too little for two; all are when the first job ends at 1300
    assert profiles(run) == [(0, 0, 300, 2), (1, 1320, 1620, 2), (2, 1320, 1620, 2),
                             (3, 1620, 1920, 2)]  # fmt: skip
    assert run.records.end.tolist() == [1_300, 1_980, 2_040, 2_100]


def test_idle_gpus_profile_who_waits_while_others_run() -> None:
    jobs = [Job(id="runs", gpus=2, work=3_000), Job(id="new", gpus=2, work=60, release=600)]
    run = drive(Instance(Cluster.of_sizes([4]), jobs), Profiled(policy=Sjf()))
    assert profiles(run)[1] == (1, 600, 900, 2)
    assert run.records.end.tolist() == [3_300, 960]


def test_gpus_that_the_policy_leaves_are_used_at_the_next_round() -> None:
    @dataclass(frozen=True)
    class Turns:
        name = "turns"
        preempts = Preempts.ALWAYS
        information = "known"

        def decide(self, state: State) -> Decision:
            jobs = [0, 1, 2] if state.now < 1_200 else [1, 0, 2]
            return Decision(order=[j for j in jobs if j in state.candidates])

        def next_change(self, state: State) -> int | None:
            return 1_200 if state.now < 1_200 else None

    jobs = [Job(id="wide", gpus=8, work=3_000), Job(id="narrow", gpus=1, work=3_000)]
    jobs += [Job(id="new", gpus=8, work=60, release=600)]
    instance = Instance(Cluster.of_sizes([8]), jobs)
    for skip in (True, False):
        run = drive(instance, Profiled(policy=Turns()), skip=skip)
        assert profiles(run)[2] == (2, 1_260, 1_560, 2)


def test_the_profiler_of_chronus_takes_the_gang_for_30_s_a_gpu() -> None:
    jobs = [Job(id=str(gpus), gpus=gpus, work=600) for gpus in (1, 2, 3, 8)]
    instance = Instance(Cluster.of_sizes([8, 8]), jobs)
    run = gs.drive(instance, "sjf:profiled-chronus", round_length=10)
    assert profiles(run) == [(0, 0, 30, 1), (1, 0, 60, 2), (2, 0, 90, 3), (3, 0, 120, 8)]
    assert registry.policy("sjf:profiled-chronus")[1].profiler == PROFILERS["chronus"]
    assert registry.policy("sjf:profiled")[1].profiler == PROFILERS["unisched"]


def test_a_job_is_profiled_where_it_can_run() -> None:
    cluster = Cluster([Node(id="k", gpus=4, model="k80"), Node(id="v", gpus=4, model="v100")])
    fast = {"k80": 1.0, "v100": 3.0}
    jobs = [
        Job(id="slow", gpus=2, work=600, speeds={"k80": 1.0}),
        *(Job(id=f"fast{i}", gpus=4, work=600, speeds=fast) for i in range(3)),
    ]
    run = drive(Instance(cluster, jobs), Profiled(policy=Sjf()))
    found = Segments.of(run)
    first = {
        int(found.job[k]): {*run.schedule[k].gpus} for k in np.flatnonzero(found.profile).tolist()
    }
    assert first == {0: {0}, 1: {1}, 2: {1}, 3: {0}}
    assert violations(run, preempts=Preempts.NEVER) == []


# --- what they see -------------------------------------------------------------------------------


class Spy:
    """Sjf that looks at all it can, and notes what it sees of run times."""

    name = "spy"
    preempts = Preempts.ALWAYS
    information = "known"

    def __init__(self, noted: list[Any]) -> None:
        self.noted = noted

    def decide(self, state: State) -> Decision:
        jobs = state.arrived.tolist()
        assert {*state.waiting.tolist(), *state.running.tolist()} <= {*jobs}
        assert {*state.candidates.tolist()} <= {*jobs}
        assert {*np.flatnonzero(state.phase != Phase.UNSEEN).tolist()} == {*jobs}
        assert state.capacity == state.free.sum() + state.held_gpus[state.preemptible].sum()
        hidden = [j for j in range(state.gpus.size) if j not in jobs]
        for j in hidden:
            assert state.work[j] == state.gpus[j] == 0
            for look in (lambda j=j: state.job(j), lambda j=j: state.remaining(np.array([j]))):
                with pytest.raises(NotShown, match=f"job {j} has not come"):
                    look()
        self.noted.append(
            {j: (int(state.work[j]), int(state.remaining(np.array([j]))[0]), state.job(j).work)
             for j in jobs}
            | {"now": state.now}
        )  # fmt: skip
        order = state.candidates
        return Decision(order=order[np.argsort(state.work[order], kind="stable")])


def test_nobody_sees_a_run_time_before_its_job_was_profiled() -> None:
    instance, noted = with_deadlines(2), list[Any]()
    run = drive(instance, Profiled(policy=Spy(noted)))
    known_from = {job: end for job, _, end, _ in profiles(run)}
    assert len(noted) > 20
    hidden = 0
    for one in noted:
        now = one.pop("now")
        assert {*one} == {j for j, end in known_from.items() if end <= now}
        hidden += len(one) < sum(job.release <= now for job in instance.jobs)
        for j, (work, _, of_job) in one.items():
            assert work == of_job == instance.jobs[j].work
    assert hidden > 5


def test_run_times_change_nothing_before_they_are_profiled() -> None:
    instance = with_deadlines(3)
    whole = gs.drive(instance, "srtf:profiled")
    job, _, known, _ = sorted(profiles(whole), key=lambda one: one[2])[len(instance.jobs) // 2]
    jobs = list(instance.jobs)
    jobs[job] = replace(jobs[job], work=9 * (jobs[job].work or 0))
    other = gs.drive(replace(instance, jobs=jobs), "srtf:profiled")
    before = [
        [(s.job, s.start, s.gpus) for s in run.schedule if s.start < known]
        for run in (whole, other)
    ]
    assert before[0] == before[1]
    assert whole != other


def test_estimates_err_by_job_until_it_is_complete() -> None:
    instance, noted = with_deadlines(4), list[Any]()
    policy = Estimated(policy=Spy(noted), size=0.5, seed=7)
    run = drive(instance, policy)
    true = [job.work or 0 for job in instance.jobs]
    factors = [gaussian_factor(job.id, 0.5, 7) for job in instance.jobs]
    assert min(factors) < 0.8
    assert max(factors) > 1.2
    complete = 0
    for one in noted:
        now = one.pop("now")
        assert {*one} == {
            j for j, job in enumerate(instance.jobs) if -(-job.release // 60) * 60 <= now
        }
        for j, (work, left, of_job) in one.items():
            if 0 <= run.records.end[j] <= now:
                assert (work, left, of_job) == (true[j], 0, true[j])
                complete += 1
            else:
                assert work == of_job == max(1, round(true[j] * factors[j]))
                assert 1 <= left <= work
    assert complete > 20
    assert drive(instance, policy) == run
    assert drive(instance, replace(policy, seed=8)).digest() != run.digest()


def test_an_overestimate_is_never_too_short() -> None:
    policy = Estimated(policy=Sjf(), error="overestimate", size=3.0, seed=1)
    factors = [policy.factor(Job(id=str(i), gpus=1, work=60)) for i in range(400)]
    assert 1 <= min(factors) < 1.1
    assert 3.9 < max(factors) < 4
    assert registry.policy("sjf:overestimated", seed=1)[1] == policy


def test_the_error_is_that_of_duration_estimates() -> None:
    """Fig. 9(d) of Gao et al. and the setting draw the same, by seed and id."""
    metric = TargetMetric(target=0.5, max_epochs=4, curve=[0.1, 0.6])
    for stopping in (Iterations(), metric):
        job = DeadlineJob(id="a", gpus=1, work=1_000, stopping=stopping)
        own = DurationEstimates(mode="maximum", noise=0.4, seed=5).of_job(job, 1_000)
        plain = DurationEstimates(mode="maximum").of_job(job, 1_000)
        assert own == round(plain * Estimated(policy=Sjf(), size=0.4, seed=5).factor(job))


def test_no_error_is_being_told() -> None:
    instance = with_deadlines(5)
    told = gs.drive(instance, "edf")
    run = drive(instance, Estimated(policy=registry.policy("edf")[1], size=0.0))
    assert (run.schedule, run.events) == (told.schedule, told.events)


# --- what is said of them ------------------------------------------------------------------------


def test_runs_say_their_setting() -> None:
    instance = with_deadlines(6, jobs=6)
    run = gs.drive(instance, "edf:estimated", seed=4)
    assert (run.policy, run.information, run.seed) == ("edf:estimated", "estimated", 4)
    assert run.parameters["policy"]["kind"] == "EarliestDeadline"
    assert run.parameters["size"] == 0.2
    run = gs.drive(instance, "easy:estimates:profiled", seed=4)
    assert (run.policy, run.information, run.seed) == ("easy:profiled", "profiled", 4)
    assert run.parameters["profiler"] == {
        "kind": "Profiler", "seconds": 300, "gpus": 2, "per_gpu": None,
    }  # fmt: skip


def test_policies_that_are_no_dataclass_have_equal_runs() -> None:
    class Plain:
        name = "plain"
        preempts = Preempts.NEVER
        information = "known"

        def decide(self, state: State) -> Decision:
            return Decision(order=state.waiting)

    one, other = (drive(with_deadlines(7), Profiled(policy=Plain())) for _ in range(2))
    assert one.parameters["policy"] == {"kind": "Plain"}
    assert one.digest() == other.digest()


def test_a_session_that_cannot_be_saved_is_not_resumed(caplog: Any) -> None:
    class Remembers:
        name = "remembers"
        preempts = Preempts.NEVER
        information = "known"

        def __init__(self) -> None:
            self.seen = 0

        def decide(self, state: State) -> Decision:
            self.seen += 1
            return Decision(order=state.waiting)

    part = drive(with_deadlines(7), Profiled(policy=Remembers()), until=900)
    assert part.checkpoint is None
    assert "'remembers:profiled': this run cannot be resumed" in caplog.text


def test_who_was_not_profiled_cannot_be_ordered() -> None:
    @dataclass(frozen=True)
    class Guesses:
        name = "guesses"
        preempts = Preempts.NEVER
        information = "known"

        def decide(self, state: State) -> Decision:
            return Decision(order=[0, 1])

    jobs = [Job(id="a", gpus=1, work=60), Job(id="b", gpus=1, work=60, release=60)]
    instance = Instance(Cluster.of_sizes([4]), jobs)
    with pytest.raises(PolicyError, match="orders or starts job 1, which was not profiled"):
        drive(instance, Profiled(policy=Guesses()))


@pytest.mark.parametrize("make", [Profiled, Estimated])
@pytest.mark.parametrize(
    ("policy", "error", "text"),
    [
        (Fifo(), ValueError, "policy 'fifo' does not use run times"),
        (Profiled(policy=Sjf()), ValueError, "'sjf:profiled' has run times that are profiled"),
        (Estimated(policy=Sjf()), ValueError, "has run times that are estimated already"),
        ("sjf", TypeError, "policy='sjf' has no name, preempts or decide"),
        *((registry.policy(name)[1], ValueError, "profiles new jobs by itself, in its own way")
          for name in ("unisched", "chronus", "value-density:profiled")),
    ],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(
    make: Any, policy: Any, error: Any, text: str
) -> None:
    with pytest.raises(error, match=text):
        make(policy=policy)


def test_a_profiler_rounds_up() -> None:
    rules = Rules(round_length=100, lease=900)
    assert Profiler(seconds=250).run(1, rules) == (1, 300)
    assert Profiler(seconds=250, gpus=None, per_gpu=30).run(4, rules) == (4, 200)


# --- names ---------------------------------------------------------------------------------------


def test_names_have_settings_behind_them() -> None:
    assert registry.policy("genie:elastic:profiled")[1].policy.elastic
    name, made = registry.policy("smallest_area:profiled_chronus")
    assert (name, made.name) == ("smallest-area:profiled-chronus", "smallest-area:profiled")
    own = registry.policy("value-density:profiled")[1]  # its own way to profile
    assert type(own).__name__ == "ValueDensity"
    with pytest.raises(ValueError, match="profiled: policy 'ltgf' does not use run times"):
        registry.policy("ltgf:profiled")
    with pytest.raises(ValueError, match="policy 'nobody:profiled'"):
        registry.policy("nobody:profiled")


def test_the_command_line_takes_the_setting_for_all() -> None:
    from gangsched.cli.replay import _policies

    names = "ltgf,srtf,unisched,unisched:known,edf:estimated,value-density:profiled"
    assert [*_policies(names, 0, "known")] == names.split(",")
    assert [*_policies(names, 0, "profiled")] == [
        *("ltgf", "srtf:profiled", "unisched", "unisched:known:profiled", "edf:estimated"),
        "value-density:profiled",
    ]
    assert _policies("srtf", 5, "estimated")["srtf:estimated"].seed == 5
    with pytest.raises(ValueError, match="--information: 'guessed' is not one of known, profiled"):
        _policies("srtf", 0, "guessed")
    with pytest.raises(ValueError, match="--policies: 'srtf:profiled' occurs twice"):
        _policies("srtf,srtf:profiled", 0, "profiled")


def test_a_replay_says_how_run_times_were_known() -> None:
    from gangsched.analysis.show.replay_tables import legend

    found = gs.replay(with_deadlines(8, jobs=8), ["fifo", "edf:profiled", "edf:estimated", "edf"])
    known = [row.information for row in found.rows]
    assert known == ["unknown", "after profiling", "estimated", "known"]
    line = next(line for line in legend(found) if line.startswith("Information"))
    assert line.partition("; seeds: ")[0] == (
        "Information: know what they use of run times when jobs come: edf; know run times with an "
        "error: edf:estimated; profile new jobs first, and pay for it: edf:profiled; do not use "
        "run times: fifo"
    )
    alone = gs.replay(with_deadlines(8, jobs=8), ["edf:profiled"])
    all_of_them = "Information: all policies: profile new jobs first, and pay for it; seeds: "
    assert any(line.startswith(all_of_them) for line in legend(alone))
    assert found.profiled is not None  # the bound for those who profile first
