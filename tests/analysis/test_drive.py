"""The driver's rules one by one, on instances worked out by hand; both engines."""

import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from driven import Forgetful
from gangsched.analysis.driving import drive as driving
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.checkpoint import pack, unpack
from gangsched.analysis.driving.drive import Checkpoint, PolicyError, instance_hash
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node, User
from gangsched.solvers import (
    Decision,
    Fifo,
    Las,
    LtgfPolicy,
    Policy,
    Preempts,
    Sjf,
    Srtf,
    State,
    Stop,
    ThemisGreedy,
    TiresiasL,
    YarnCs,
)
from malformed import table
from reference_driver import drive

pytestmark = pytest.mark.parametrize("engine", ["reference", "compiled"])


def instance(sizes: list[int], *rows: tuple[int, int, int], users: str = "") -> Instance[Job]:
    """Jobs (release, gpus, work); `users` names the user of each by one letter."""
    owners = users or " " * len(rows)
    jobs = [
        Job(id=f"j{i}", release=a, gpus=d, work=p, user=owners[i].strip())
        for i, (a, d, p) in enumerate(rows)
    ]
    return Instance(Cluster.of_sizes(sizes), jobs, [User(u) for u in sorted(set(users))])


def starts(run: Run) -> list[int]:
    return run.records.first.tolist()


def ends(run: Run) -> list[int]:
    return run.records.end.tolist()


def spans(run: Run, job: int) -> list[tuple[int, int, dict[int, int]]]:
    return [(s.start, s.end, dict(s.gpus)) for s in run.schedule if s.job == job]


class Script(Forgetful):
    """Decides what a table says for each round, nothing at others."""

    name = "script"

    def __init__(self, rounds: dict[int, Decision], preempts: Preempts = Preempts.ALWAYS) -> None:
        self.rounds, self.preempts = rounds, preempts

    def decide(self, state: State) -> Decision:
        return self.rounds.get(state.now, Decision())


TEN = instance(
    [4, 4],
    *((0, 4, 100), (0, 2, 50), (5, 4, 30), (10, 1, 20), (20, 2, 40)),
    *((30, 8, 20), (40, 3, 10), (50, 1, 70), (60, 2, 15), (70, 4, 25)),
)


def test_ten_jobs_first_in_first_out(engine: Any) -> None:
    run = drive(TEN, Fifo(), round_length=10, engine=engine)
    assert starts(run) == [0, 0, 50, 80, 80, 120, 140, 140, 140, 160]
    assert ends(run) == [100, 50, 80, 100, 120, 140, 150, 210, 155, 185]
    placed = [spans(run, j)[0][2] for j in range(10)]
    two = {0: 4, 1: 4}
    assert placed == [
        *({0: 4}, {1: 2}, {1: 4}, {1: 1}, {1: 2}),
        *(two, {0: 3}, {0: 1}, {1: 2}, {1: 4}),
    ]


def test_ten_jobs_shortest_first(engine: Any) -> None:
    run = drive(TEN, Sjf(), round_length=10, engine=engine)
    assert starts(run) == [0, 0, 120, 10, 150, 100, 50, 150, 60, 120]
    assert ends(run) == [100, 50, 150, 30, 190, 120, 60, 220, 75, 145]


def test_jobs_are_seen_and_gpus_given_back_at_rounds(engine: Any) -> None:
    run = drive(instance([1], (1, 1, 30), (60, 1, 60)), Fifo(), engine=engine)
    assert run.records.visible.tolist() == [60, 60]
    assert (starts(run), ends(run)) == ([60, 120], [90, 180])


def test_leases_are_rounded_up_to_rounds(engine: Any) -> None:
    jobs = instance([1], (0, 1, 300), (60, 1, 60))
    run = drive(jobs, LtgfPolicy(), lease=100, overhead=0, engine=engine)
    assert spans(run, 0)[0][:2] == (0, 120)


@pytest.mark.parametrize(("synchronous", "stopped"), [(True, 120), (False, 180)])
def test_a_start_between_grid_points_gets_the_short_lease(
    engine: Any, synchronous: bool, stopped: int
) -> None:
    jobs = instance([1], (50, 1, 300), (61, 1, 60))
    how = {"lease": 120, "overhead": 0, "synchronous": synchronous, "engine": engine}
    assert spans(drive(jobs, LtgfPolicy(), **how), 0)[0][:2] == (60, stopped)


def test_leases_are_renewed_silently_while_nobody_waits(engine: Any) -> None:
    jobs = instance([1], (0, 1, 600), (361, 1, 60))
    run = drive(jobs, LtgfPolicy(), lease=120, overhead=0, synchronous=False, engine=engine)
    assert spans(run, 0)[0][:2] == (0, 480)  # at 420 it is within the lease that began at 360


def test_a_job_that_arrives_when_a_lease_ends_can_have_it(engine: Any) -> None:
    jobs = instance([1], (0, 1, 600), (120, 1, 60))
    run = drive(jobs, LtgfPolicy(), lease=120, overhead=0, engine=engine)
    assert starts(run)[1] == 120


def test_losers_fill_the_gap_at_once(engine: Any) -> None:
    # without that, what they find later depends on the rounds visited: job 0 ends at 780 or 720
    rows = ((360, 1, 300), (120, 1, 300), (300, 1, 600), (120, 1, 600), (240, 2, 300))
    jobs = instance([2, 2], *rows)
    how = {"lease": 120, "overhead": 0, "synchronous": False, "engine": engine}
    skipping = drive(jobs, LtgfPolicy(), **how)
    visiting = drive(jobs, LtgfPolicy(), skip=False, **how)
    assert skipping == visiting
    assert ends(skipping)[0] == 660
    assert skipping.rounds < visiting.rounds


def test_a_job_that_keeps_its_nodes_has_renewed(engine: Any) -> None:
    # at 120 job 2 is not selected, but job 3, for which it would go, finds no two nodes
    jobs = instance([2, 2, 2], (0, 1, 240), (0, 1, 240), (0, 1, 240), (60, 4, 60))
    apart = Decision(start=[(j, {j: 1}) for j in range(3)])
    script = Script({0: apart, 120: Decision(order=[3, 0, 1, 2])}, Preempts.LEASE)
    run = drive(jobs, script, lease=120, overhead=7, engine=engine, until=180)
    assert [spans(run, j) for j in range(4)] == [[(0, 180, {j: 1})] for j in range(3)] + [[]]
    assert run.records.starts.tolist() == [1, 1, 1, 0]


@dataclass
class Ranked:
    """Places five jobs apart at 0, then orders all candidates by a rank."""

    rank: tuple[int, ...]
    name: str = "ranked"
    preempts: Preempts = Preempts.LEASE

    def decide(self, state: State) -> Decision:
        if state.now == 0:
            return Decision(start=[(0, {0: 2, 1: 2}), *((j, {j + 1: 1}) for j in range(1, 5))])
        return Decision(order=sorted(state.candidates.tolist(), key=self.rank.__getitem__))

    def next_change(self, state: State) -> None:
        return None


@pytest.mark.parametrize("skip", [True, False])
def test_what_a_displacement_leaves_goes_to_those_who_failed_before(
    engine: Any, skip: bool
) -> None:
    # at 900 jobs 5 and 6 are selected and find no whole node; 6 has waited long enough, for which
    # job 0 has to go, the last in the order; it leaves another node, for job 5
    long = [(0, 4, 9000), *[(0, 1, 9000)] * 4]
    jobs = instance([2] * 6, *long, (840, 2, 100), (60, 2, 5000))
    how = {"lease": 300, "overhead": 0, "patience": 600, "until": 1500}
    run = drive(jobs, Ranked((6, 2, 3, 4, 5, 0, 1)), skip=skip, engine=engine, **how)
    assert starts(run)[5:] == [900, 900]


def test_of_displaced_jobs_the_more_important_ones_stay_where_they_can(engine: Any) -> None:
    """A gang of 3 takes a node of 4 from gangs of 2, 1 and 1: one GPU is left there."""
    jobs = instance([4] * 4, *[(0, 3, 600)] * 3, (0, 2, 600), *[(0, 1, 600)] * 2, (60, 3, 600))
    first = [*((j, {j: 3}) for j in range(3)), (3, {3: 2}), (4, {3: 1}), (5, {3: 1})]
    order = Decision(order=[0, 1, 2, 6, 3, 4, 5])  # all fit by number of GPUs
    script = Script({0: Decision(start=first), 60: order, 120: order})
    how = {"patience": 60, "overhead": 0, "until": 180, "engine": engine}
    run = drive(jobs, script, **how)
    assert spans(run, 6) == [(120, 180, {3: 3})]
    assert spans(run, 4) == [(0, 180, {3: 1})]
    assert spans(run, 5) == [(0, 120, {3: 1}), (120, 180, {0: 1})]
    assert spans(run, 3) == [(0, 120, {3: 2})]


def test_landing_elsewhere_is_a_suspension_and_costs_the_overhead(engine: Any) -> None:
    jobs = instance([2], (0, 1, 100), (0, 2, 300))
    moved = Decision(suspend=[0], start=[(0, {1: 1})])
    two_nodes = Instance(Cluster.of_sizes([2, 2]), jobs.jobs)
    script = Script({0: Decision(order=[0]), 60: moved})
    run = drive(two_nodes, script, overhead=10, engine=engine, until=600)
    assert spans(run, 0) == [(0, 60, {0: 1}), (60, 110, {1: 1})]
    assert run.records.held[0] == 110


def test_a_suspension_within_the_overhead_loses_it(engine: Any) -> None:
    jobs = instance([2], (0, 1, 100), (0, 2, 300))
    stop, go = Decision(suspend=[0]), Decision(order=[0])
    script = Script({0: go, 60: stop, 120: go, 180: stop, 240: go})
    run = drive(jobs, script, overhead=70, lease=120, engine=engine, until=600)
    assert [(a, b) for a, b, _ in spans(run, 0)] == [(0, 60), (120, 180), (240, 240 + 70 + 40)]


@pytest.mark.parametrize(("synchronous", "kept"), [(True, 60), (False, 120)])
def test_a_killed_job_falls_back_to_its_last_lease(
    engine: Any, synchronous: bool, kept: int
) -> None:
    # it runs from 60 to 180; the last lease began at 120 on the grid, ended at 180 without one
    jobs = instance([2], (60, 1, 400), (0, 2, 300))
    script = Script({60: Decision(order=[0]), 180: Decision(kill=[0]), 240: Decision(order=[0])})
    how = {"lease": 120, "overhead": 0, "synchronous": synchronous, "engine": engine}
    run = drive(jobs, script, until=1200, **how)
    assert run.records.end[0] == 240 + 400 - kept
    assert EventKind.KILL in run.events.kind


def test_fair_shares_count_from_the_first_round_to_the_round_of_completion(engine: Any) -> None:
    # user a is owed 2 of 4 GPUs; its jobs of 2 and 1 GPUs share them: 1 each from 60 to 120
    jobs = instance([4], (10, 2, 50), (60, 1, 150), (0, 4, 10), users="aab")
    run = drive(jobs, Fifo(), engine=engine)
    assert ends(run)[:2] == [110, 210]
    assert run.records.fair.tolist() == pytest.approx([50.0, 60.0 + 90.0, 2 * 10.0])
    assert run.records.fair_before.tolist() == pytest.approx([1.0 * 50, 0.0, 0.0])


def test_overhead_counts_as_held(engine: Any) -> None:
    jobs = instance([1], (0, 1, 180), (0, 1, 60))
    run = drive(jobs, LtgfPolicy(), lease=120, overhead=20, engine=engine)
    assert int(run.records.held.sum()) == 180 + 60 + 20 * int((run.records.starts - 1).sum())
    assert (run.records.starts > 1).any()


@pytest.mark.parametrize(
    ("preempts", "seen"), [(Preempts.NEVER, []), (Preempts.LEASE, [120]), (Preempts.ALWAYS, None)]
)
def test_which_running_jobs_may_lose_their_gpus(
    engine: Any, preempts: Preempts, seen: list[int] | None
) -> None:
    rounds: list[int] = []

    class Watching:
        name = "watching"

        def __init__(self) -> None:
            self.preempts = preempts

        def decide(self, state: State) -> Decision:
            if state.preemptible.size:
                rounds.append(state.now)
            return Decision(order=state.waiting)

    drive(instance([1], (0, 1, 180), (0, 1, 60)), Watching(), lease=120, overhead=0, engine=engine)
    assert rounds == ([60, 120] if seen is None else seen)


def test_ties_in_fairness_do_not_depend_on_the_rounds_visited(engine: Any) -> None:
    """Shares of a third, which floats cannot hold: visiting a round must not change a sum."""
    rows = [(10 * i, 1 + i % 3, 300 + 7 * i) for i in range(24)]
    jobs = instance([3, 3], *rows, users="abc" * 8)
    how = {"round_length": 10, "lease": 70, "engine": engine}
    skipping, visiting = (
        drive(jobs, LtgfPolicy(), **how),
        drive(jobs, LtgfPolicy(), skip=False, **how),
    )
    assert skipping.records.fair.tobytes() == visiting.records.fair.tobytes()
    assert skipping.digest() == visiting.digest()


def test_tiresias_is_visited_when_a_job_falls_into_the_next_queue(engine: Any) -> None:
    jobs = instance([1], (0, 1, 600), (0, 1, 600))
    run = drive(jobs, TiresiasL(thresholds=[90]), overhead=0, engine=engine)
    assert spans(run, 0)[0][:2] == (0, 120)  # it reaches the threshold at 90


def test_srtf_and_las_by_hand(engine: Any) -> None:
    jobs = instance([1], (0, 1, 120), (0, 1, 60))
    how = {"overhead": 0, "engine": engine}
    assert ends(drive(jobs, Srtf(), **how)) == [180, 60]
    assert ends(drive(jobs, Las(), **how)) == [180, 120]  # in turns


def test_las_needs_rounds_longer_than_the_overhead(engine: Any) -> None:
    jobs = instance([1], (0, 1, 60), (0, 1, 60))  # in turns of 10 s, of which all is overhead
    with pytest.raises(ValueError, match="las: overhead=25 is not below the round length of 10 s"):
        drive(jobs, Las(), round_length=10, overhead=25, until=3_600, engine=engine)
    run = drive(jobs, Las(), round_length=10, overhead=9, engine=engine)
    assert run.stop is Stop.COMPLETED


def test_nodes_of_different_sizes(engine: Any) -> None:
    jobs = instance([2, 8, 2], (0, 2, 60), (0, 4, 60), (0, 4, 60))
    run = drive(jobs, Fifo(), engine=engine)
    assert [spans(run, j)[0][2] for j in range(3)] == [{0: 2}, {1: 4}, {1: 4}]


def test_spreading_is_an_option(engine: Any) -> None:
    jobs = instance([2, 2], (0, 1, 600), (0, 1, 600), (0, 2, 60))
    together = [(0, {0: 1}), (1, {1: 1})]
    script = Script({0: Decision(start=together), 60: Decision(order=[2])})
    how = {"engine": engine, "until": 120}
    assert drive(jobs, script, **how).records.first[2] == -1
    run = drive(jobs, script, spread=True, **how)
    assert spans(run, 2) == [(60, 120, {0: 1, 1: 1})]


# --- inputs, failures, interrupts ----------------------------------------------------------------


def test_jobs_that_can_never_run_are_listed(engine: Any) -> None:
    jobs = instance([2, 3], (0, 6, 60), (0, 4, 60), (0, 5, 60), (0, 1, 60))
    run = drive(jobs, Fifo(), engine=engine, reject={3: "job 'j3': not wanted"})
    assert dict(run.rejected) == {
        0: "job 'j0': gpus=6 exceeds the cluster's 5",
        2: "job 'j2': gpus=5 has no consolidated place on the cluster",
        1: "job 'j1': gpus=4 has no consolidated place on the cluster",
        3: "job 'j3': not wanted",
    }
    assert len(run.schedule) == 0
    assert run.stop is Stop.COMPLETED


@pytest.mark.parametrize(
    ("wrong", "text"),
    [*table("refused_values")["rules"], ({"skip": None}, "drive: skip=None is not True or False")],
)
def test_bad_rules_are_refused(engine: Any, wrong: dict[str, Any], text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        drive(instance([1], (0, 1, 1)), Fifo(), engine=engine, **wrong)


def test_bad_instances_are_refused(engine: Any) -> None:
    with pytest.raises(ValueError, match="job 'a': work=None, driving needs seconds"):
        drive(Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1)]), Fifo(), engine=engine)
    models = Cluster([Node("n0", 1, "k80"), Node("n1", 1, "v100")])
    text = "policy 'yarn-cs' takes all GPUs for equal, but the cluster has GPU models 'k80', 'v100'"
    with pytest.raises(ValueError, match=text):
        drive(Instance(models, []), YarnCs(), engine=engine)
    due = DeadlineJob(id="a", gpus=1, work=1)
    with pytest.raises(ValueError, match="with deadlines run on one GPU model, the cluster has"):
        drive(Instance(models, [due]), Fifo(), engine=engine)
    with pytest.raises(TypeError, match="policy=3 has no name, preempts or decide"):
        drive(instance([1], (0, 1, 1)), 3, engine=engine)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy=Fifo is a class, not an object of it"):
        drive(instance([1], (0, 1, 1)), Fifo, engine=engine)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="policy 'script': preempts=1 is not a member of Preempts"):
        drive(instance([1], (0, 1, 1)), Script({}, 1), engine=engine)  # type: ignore[arg-type]
    for kind, speed, text in (
        (DeadlineJob, 2.0, r"speeds\['v100'\]=2.0 is not 1, jobs with deadlines need equal GPUs"),
        (Job, 2.0**20 + 1, r"speeds\['v100'\]=1048577.0 is above 1048576"),
        (Job, 1e-7, r"gpus \* work / speeds\['v100'\] with speeds\['v100'\]=1e-07 is above"),
        (Job, 1e-6, r"gpus \* work / speeds\['v100'\] with speeds\['v100'\]=1e-06 is above"),
    ):
        job = kind(id="a", gpus=1, work=2_000_000, speeds={"v100": speed})
        with pytest.raises(ValueError, match=f"job 'a': {text}"):
            drive(Instance(Cluster.of_sizes([1], model="v100"), [job]), Fifo(), engine=engine)
    with pytest.raises(ValueError, match=r"job 'j0': release=.* is above"):
        drive(instance([1], (2**41, 1, 1)), Fifo(), engine=engine)


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Decision(order=[1]), "at 60: orders job 1, which is no candidate"),
        (Decision(order=[2, 2]), "at 60: orders job 2 twice"),
        (Decision(start=[(0, None)]), "at 60: starts job 0, which does not wait"),
        (Decision(start=[(2, {0: 2})]), "at 60: job 2 is given {0: 2}, not its 1 GPUs"),
        (
            Decision(start=[(2, {1: 1})]),
            "at 60: job 2 is given {1: 1}, more than is free on node 1",
        ),
        (Decision(suspend=[2]), "at 60: stops job 2, which does not run"),
        (Decision(order=[9]), "at 60: orders job 9, which does not exist"),
        (Decision(passed=[0]), "at 60: passes job 0, which does not wait"),
        (Decision(passed=[2, 2]), "at 60: passes job 2 twice"),
        (Decision(order=[2], start=[(2, None)]), "job 2 is in the order and stopped or started"),
        (Decision(order=[1.5]), r"jobs \[1.5\] are not integers"),  # type: ignore[list-item]
        (Decision(suspend=[0]), "stops job 0, which it may not now: .*NEVER"),
        (None, "decides None, which is no Decision"),
    ],
)
def test_decisions_that_cannot_be_carried_out(engine: Any, decision: Decision, text: str) -> None:
    jobs = instance([2], (0, 1, 600), (120, 1, 60), (60, 1, 60))
    script = Script({0: Decision(order=[0]), 60: decision}, Preempts.NEVER)
    with pytest.raises(PolicyError, match=text) as caught:
        drive(jobs, script, engine=engine)
    assert caught.value.run.stop is Stop.ERROR
    assert spans(caught.value.run, 0) == [(0, 60, {0: 1})]
    told = pickle.loads(pickle.dumps(caught.value))  # as one process tells another
    assert str(told) == str(caught.value)
    assert told.run.digest() == caught.value.run.digest()


def test_given_nodes_are_consolidated_unless_gangs_may_spread(engine: Any) -> None:
    for sizes, nodes in [([4, 4], {0: 1, 1: 1}), ([2, 4], {0: 2, 1: 1}), ([2, 2, 2], {0: 1, 1: 2})]:
        jobs = instance(sizes, (0, sum(nodes.values()), 60))
        script = Script({0: Decision(start=[(0, nodes)])})
        assert drive(jobs, script, engine=engine, spread=True).records.end.tolist() == [60]
        if nodes == {0: 1, 1: 2}:  # a whole node and the rest on one more
            assert drive(jobs, script, engine=engine).records.end.tolist() == [60]
            continue
        with pytest.raises(PolicyError, match="no consolidated place, and spread=False"):
            drive(jobs, script, engine=engine)


def test_a_policy_that_never_starts_a_job_is_found_out(engine: Any) -> None:
    with pytest.raises(PolicyError, match="leaves 1 jobs waiting for ever"):
        drive(instance([1], (0, 1, 60)), Script({}), engine=engine)


def test_a_run_goes_on_from_a_saved_checkpoint(engine: Any, tmp_path: Any) -> None:
    rows = [(30 * i, 1 + i % 2, 200) for i in range(9)]
    jobs = instance([2], *rows, users="abc" * 3)
    whole = drive(jobs, LtgfPolicy(), lease=120, engine=engine)
    run = drive(jobs, LtgfPolicy(), lease=120, engine=engine, until=400)
    assert (run.stop, run.now) == (Stop.ITERATION_LIMIT, 360)
    run.checkpoint.save(tmp_path / "point")
    point = Checkpoint.load(tmp_path / "point")
    again = drive(jobs, LtgfPolicy(), lease=120, engine=engine, resume=point)
    assert again.digest() == whole.digest()
    with pytest.raises(ValueError, match="resume is a checkpoint of another instance"):
        drive(TEN, LtgfPolicy(), lease=120, resume=point)
    with pytest.raises(ValueError, match=r"checkpoint of policy 'ltgf' .*, not of 'fifo'"):
        drive(jobs, Fifo(), lease=120, resume=point)
    with pytest.raises(ValueError, match="resume is a checkpoint under Rules"):
        drive(jobs, LtgfPolicy(), lease=180, resume=point)
    with pytest.raises(ValueError, match="checkpoint with 0 rejected jobs, other than the 1 of"):
        drive(jobs, LtgfPolicy(), lease=120, resume=point, reject=[8])
    for data, text in [
        (point.data[:-9], "resume: it cannot be read: BadZipFile"),
        (pickle.dumps({"machine": 1}), "resume: it is no archive"),
        (
            pack({**unpack(point.data), "format": 1}),
            "resume: it has format 1, this version reads 2",
        ),
    ]:
        with pytest.raises(ValueError, match=text):
            drive(jobs, LtgfPolicy(), lease=120, resume=replace(point, data=data))
    (tmp_path / "other").write_bytes(b"no")
    with pytest.raises(ValueError, match="other: not a checkpoint of a run"):
        Checkpoint.load(tmp_path / "other")


def test_a_policy_that_cannot_be_saved_still_gives_its_run(engine: Any, caplog: Any) -> None:
    policy = Fifo()
    local = type("Local", (), {"name": "local", "preempts": Preempts.NEVER})()
    local.decide = lambda state: Decision(order=state.waiting)
    jobs = instance([1], (0, 1, 100), (0, 1, 100))
    run = drive(jobs, local, until=60, engine=engine)
    assert run.checkpoint is None
    assert "policy 'local': this run cannot be resumed: its session has no save" in caplog.text
    assert run.records.first.tolist() == [0, -1]
    assert drive(jobs, policy, until=60, engine=engine).checkpoint is not None


def test_a_rule_for_another_kind_of_preemption_is_refused(engine: Any) -> None:
    class Odd(TiresiasL):
        preempts = Preempts.LEASE

    if engine == "compiled":
        with pytest.raises(ValueError, match="rule 'by level' does not go with preempts=LEASE"):
            drive(instance([1], (0, 1, 1)), Odd(), engine=engine)
    else:  # which asks `decide`
        assert drive(instance([1], (0, 1, 1)), Odd(), engine=engine).records.end.tolist() == [1]


@pytest.mark.slow
def test_progress_counts_jobs(engine: Any) -> None:
    calls: list[tuple[int, int]] = []
    jobs = instance([1], *[(60 * i, 1, 50) for i in range(9_000)], (0, 2, 60))
    drive(jobs, Fifo(), engine=engine, on_progress=lambda *now: calls.append(now))
    assert calls == sorted(calls)
    assert all(able == 9_000 for _, able in calls)


def test_runs_are_reproducible_and_hashed(engine: Any) -> None:
    one, two = (drive(TEN, Fifo(), engine=engine) for _ in range(2))
    assert one == two
    assert one.digest() == two.digest()
    assert one.instance_hash == instance_hash(TEN)
    assert pickle.loads(pickle.dumps(one)) == one
    other = Instance(TEN.cluster, TEN.jobs[:-1])
    assert instance_hash(other) != instance_hash(TEN)
    assert drive(other, Fifo(), engine=engine) != one


def test_no_jobs(engine: Any) -> None:
    run = drive(Instance(Cluster.of_sizes([1]), []), Fifo(), engine=engine)
    assert (run.stop, run.now, len(run.events)) == (Stop.COMPLETED, 0, 0)
    assert np.array_equal(run.schedule.ptr, [0])


@pytest.mark.parametrize("policy", [Fifo(), Srtf(), LtgfPolicy(), ThemisGreedy(), YarnCs()])
def test_every_checkpoint_leads_to_the_same_run(
    engine: Any, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "MINUTE", 0.0)
    monkeypatch.setattr(driving, "MANY", 1)
    monkeypatch.setattr(driving, "FEW", 1)
    jobs = instance([2, 2], *[(40 * i, 1 + i % 3, 90 + 50 * i) for i in range(6)])
    seen: list[Run] = []
    whole = drive(jobs, policy, lease=120, engine=engine, on_checkpoint=seen.append)
    assert len(seen) > 5
    assert whole == drive(jobs, policy, lease=120)
    for part in seen:
        assert part.stop is Stop.INTERRUPTED
        assert violations(part) == []
        assert drive(jobs, policy, lease=120, engine=engine, resume=part.checkpoint) == whole


def test_what_jobs_still_need_is_known_for_all_that_numpy_takes(engine: str) -> None:
    """By arrays, lists and masks; no job is asked for that does not exist."""
    seen = []

    class Looks(Srtf):
        def decide(self, state: State) -> Decision:
            jobs = state.arrived
            left = state.remaining(jobs)
            assert left.tolist() == state.remaining(jobs.tolist()).tolist()
            assert left.tolist() == [int(state.remaining(jobs[k : k + 1])[0]) for k in range(3)]
            mask = np.array([True, False, True])
            assert state.remaining(mask).tolist() == state.remaining(np.array([0, 2])).tolist()
            for wrong in (3, -1):
                with pytest.raises(IndexError, match="no such job"):
                    state.remaining(np.array([wrong]))
            seen.append(dict(zip(jobs.tolist(), left.tolist(), strict=True)))
            return super().decide(state)

    drive(instance([1, 1], (0, 1, 600), (0, 2, 300), (0, 1, 120)), Looks(), engine=engine)
    assert seen == [{0: 600, 1: 300, 2: 120}, {0: 480, 1: 300, 2: 0}, {0: 480, 1: 0, 2: 0}]
