"""Jobs that know their speeds, are profiled and have a preemption cost of their own; by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_driver as drive_reference
from driven import Case, Forgetful, Shuffle, one_run, split_cases
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.checkpoint import unpack
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, DeadlineJob, Instance, Job
from gangsched.solvers import (
    Decision,
    Fifo,
    LtgfPolicy,
    Preempts,
    Srtf,
    State,
)
from gangsched.solvers.machine.const import FRUITLESS
from gangsched.solvers.policy import Start
from reference_driver import drive

both = pytest.mark.parametrize("engine", ["reference", "compiled"])
VISIBLE, START, SUSPEND, KILL, FINISH, PROFILE, PROFILED = EventKind


def job(id: str = "a", gpus: int = 2, work: int = 100, **other: Any) -> DeadlineJob:
    return DeadlineJob(id=id, gpus=gpus, work=work, **other)


class Script(Forgetful):
    """Decides what a table says for each round, nothing at others; keeps what it saw."""

    name = "script"
    always_asked = True
    information = "known"

    def __init__(self, rounds: dict[int, Any], preempts: Preempts = Preempts.ALWAYS) -> None:
        self.rounds, self.preempts = rounds, preempts
        self.seen: dict[int, dict[str, Any]] = {}

    def decide(self, state: State) -> Decision:
        every = np.arange(state.gpus.size)
        self.seen[state.now] = {
            "running": state.running.tolist(),
            "preemptible": state.preemptible.tolist(),
            "speed": state.speed.tolist(),
            "held_gpus": state.held_gpus.tolist(),
            "profiled": state.profiled.tolist(),
            "remaining": state.remaining(every).tolist(),
            "attained": state.attained(every).tolist(),
            "user_attained": state.user_attained.tolist(),
            "capacity": state.capacity,
        }
        decision: Decision = self.rounds.get(state.now, Decision())
        return decision


def scripted(
    sizes: list[int],
    jobs: list[Any],
    rounds: dict[int, Decision],
    *,
    preempts: Preempts = Preempts.ALWAYS,
    **how: Any,
) -> tuple[Run, dict[int, dict[str, Any]]]:
    """The run, once the checker has nothing to say, and what the policy saw."""
    instance, script = Instance(Cluster.of_sizes(sizes), jobs), Script(rounds, preempts)
    run = drive(instance, script, **how)
    assert violations(run, preempts=preempts) == []
    return run, script.seen


def start(*entries: Any, **other: Any) -> Decision:
    return Decision(start=entries, **other)


def events(run: Run, number: int) -> list[tuple[int, EventKind]]:
    log = run.events
    return [
        (int(time), EventKind(kind))
        for time, j, kind in zip(log.time, log.job, log.kind, strict=True)
        if j == number
    ]


# --- speeds --------------------------------------------------------------------------------------


@both
def test_a_split_gang_runs_at_its_split_speed(engine: Any) -> None:
    rounds = {0: start((0, {0: 1, 1: 1}))}
    run, _ = scripted([2, 2], [job(split_speed=0.5)], rounds, engine=engine)
    assert run.records.end.tolist() == [200]
    third, _ = scripted([2, 2], [job(split_speed=1 / 3)], rounds, engine=engine)
    assert third.records.end.tolist() == [301]  # 333,333 millionths: a little more than 300


@both
def test_a_gang_that_no_node_can_hold_is_not_split(engine: Any) -> None:
    rounds = {0: start((0, {0: 2, 1: 1}))}
    run, _ = scripted([2, 2], [job(gpus=3, split_speed=0.5)], rounds, engine=engine)
    assert run.records.end.tolist() == [100]
    wide, _ = scripted([2, 4], [job(gpus=3, split_speed=0.5)], rounds, engine=engine)
    assert wide.records.end.tolist() == [200]


@both
@pytest.mark.parametrize("policy", [Fifo(blocking=False), Srtf(), LtgfPolicy()])
def test_gangs_that_may_spread_are_slower_there(engine: Any, policy: Any) -> None:
    jobs = [job("a", 1, 600), job("b", 2, 600), job("c", 2, 60, split_speed=0.5, release=1)]
    instance = Instance(Cluster.of_sizes([2, 3]), jobs)
    run = drive(instance, policy, spread=True, engine=engine)  # a on node 0, b on node 1
    assert next(s.gpus for s in run.schedule if s.job == 2) == {0: 1, 1: 1}
    assert run.records.end.tolist()[2] == 60 + 120
    assert violations(run, preempts=policy.preempts) == []


@both
def test_work_done_on_split_nodes_is_rounded_down(engine: Any) -> None:
    rounds = {
        0: start((0, {0: 1, 1: 1})),
        60: Decision(suspend=[0]),
        120: start((0, {0: 2})),
    }
    run, seen = scripted([2, 2], [job(split_speed=1 / 3)], rounds, engine=engine)
    assert seen[60]["remaining"] == [81]  # floor(60 * 0.333333) = 19
    assert seen[60]["speed"] == [333_333]
    assert run.records.end.tolist() == [120 + 25 + 81]


@both
def test_a_killed_job_keeps_the_leases_that_have_ended_at_its_speed(engine: Any) -> None:
    rounds = {0: start((0, {0: 1, 1: 1})), 180: Decision(kill=[0]), 240: start((0, {0: 2}))}
    run, seen = scripted([2, 2], [job(split_speed=0.5)], rounds, lease=120, engine=engine)
    assert seen[180]["remaining"] == [10]
    assert run.records.end.tolist() == [240 + 25 + 40]


@both
def test_a_job_on_other_numbers_of_gpus(engine: Any) -> None:
    jobs = [job(scaling=0, work=200), job("b", 2, 600)]
    rounds = {
        0: start(Start(0, {0: 4}, 4)),
        60: start(Start(0, {0: 1}, 1), suspend=[0]),
    }
    run, seen = scripted([4], jobs, rounds, overhead=20, engine=engine, until=300)
    assert (seen[60]["speed"], seen[60]["held_gpus"]) == ([2_000_000, 0], [4, 0])
    assert (seen[60]["capacity"], seen[60]["attained"][0]) == (4, 240)
    assert seen[60]["user_attained"] == [240]
    assert seen[60]["remaining"][0] == 80
    # 20 s of overhead, 80 s at half speed
    assert events(run, 0) == [(0, VISIBLE), (0, START), (60, SUSPEND), (60, START), (240, FINISH)]
    assert run.records.held[0] == 4 * 60 + 180


@both
def test_in_an_order_a_job_keeps_the_number_of_gpus_that_it_has(engine: Any) -> None:
    jobs = [job("a", 1, 600, scaling=0), job("b", 2, 60), job("c", 1, 60)]
    rounds = {0: start(Start(0, {0: 2}, 2)), 60: Decision(order=[0, 1, 2])}
    run, seen = scripted([3], jobs, rounds, engine=engine, until=120)
    assert run.records.first.tolist() == [0, -1, 60]
    assert seen[120]["held_gpus"] == [2, 0, 0]
    # as a loser it falls back to its gang where the nodes that it had are taken
    rounds[60] = Decision(order=[1, 0])
    run, seen = scripted([3], jobs, rounds, engine=engine, until=120)
    assert seen[120]["held_gpus"] == [1, 0, 0]
    assert run.records.starts.tolist() == [2, 1, 0]
    # what it holds is room for one that comes before it
    jobs[1] = job("b", 3, 60)
    run, _ = scripted([3], jobs, rounds, engine=engine, until=120)
    assert run.records.first.tolist() == [0, 60, -1]


@both
def test_who_is_always_asked_can_change_gpus_though_nobody_waits(engine: Any) -> None:
    class Grower(Script):
        def next_change(self, state: State) -> int | None:
            return 120 if state.now < 120 else None

    grow = Grower({0: start((0, None)), 120: start(Start(0, {0: 4}, 4), suspend=[0])})
    instance = Instance(Cluster.of_sizes([4]), [job(scaling=0, work=600)])
    runs = [drive(instance, grow, engine=engine, skip=skip) for skip in (True, False)]
    assert runs[0] == runs[1]
    assert runs[0].records.end.tolist() == [120 + 25 + 240]
    assert runs[0].decisions == 2
    assert violations(runs[0]) == []


# --- preemption cost -----------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("cost", "paid"), [(None, 25), (0, 0), (70, 70)])
def test_each_job_has_its_own_preemption_cost(engine: Any, cost: int | None, paid: int) -> None:
    move = start((0, {1: 2}), suspend=[0])
    rounds = {0: start((0, {0: 2})), 60: move}
    run, _ = scripted([2, 2], [job(preemption_cost=cost)], rounds, engine=engine)
    assert run.records.end.tolist() == [60 + paid + 40]
    ordered = {0: Decision(order=[0]), 60: Decision(suspend=[0]), 120: Decision(order=[0])}
    run, _ = scripted([2, 2], [job(preemption_cost=cost)], ordered, engine=engine)
    assert run.records.end.tolist() == [120 + paid + 40]


@both
def test_on_the_gpus_that_it_has_a_job_goes_on(engine: Any) -> None:
    again = {0: start((0, {0: 1, 1: 1})), 60: start((0, {1: 1, 0: 1}), suspend=[0])}
    run, _ = scripted([2, 2], [job()], again, engine=engine)
    assert [kind for _, kind in events(run, 0)] == [VISIBLE, START, FINISH]
    # where there is room is where it was; killed, it begins again
    for stop, starts in (({"suspend": [0]}, 1), ({"kill": [0]}, 2)):
        rounds = {0: start((0, {0: 2})), 60: start((0, None), **stop)}
        run, _ = scripted([2], [job()], rounds, engine=engine)
        assert run.records.starts.tolist() == [starts]


@both
def test_at_the_end_of_a_lease_that_is_a_renewal(engine: Any) -> None:
    rounds = {0: start((0, {0: 2})), 120: start((0, {0: 2}), suspend=[0])}
    jobs = [job(work=600), job("b")]
    how: dict[str, Any] = {"preempts": Preempts.LEASE, "lease": 120, "until": 240}
    run, seen = scripted([2], jobs, rounds, engine=engine, **how)
    assert [seen[now]["preemptible"] for now in (60, 120, 180, 240)] == [[], [0], [], [0]]
    assert run.records.starts.tolist() == [1, 0]
    ends: dict[int, int] = {}

    class Looking(Script):
        def next_change(self, state: State) -> None:
            ends[state.now] = int(state.lease_end[0])

    policy = Looking(rounds, Preempts.LEASE)
    drive(Instance(Cluster.of_sizes([2]), jobs), policy, lease=120, until=240, engine=engine)
    assert ends[120] == 240


@both
def test_a_policy_under_which_nothing_goes_on_is_found_out(engine: Any, monkeypatch: Any) -> None:
    """Two jobs take turns in leases that are shorter than what a resumption costs."""
    if engine == "reference":
        monkeypatch.setattr(drive_reference, "MOST_FRUITLESS", 50)
    jobs = [job(id, 1, 3_000, preemption_cost=901) for id in "ab"]
    with pytest.raises(PolicyError, match=r"'ltgf' lets .* segments in a row end without progress"):
        drive(Instance(Cluster.of_sizes([1]), jobs), LtgfPolicy(), engine=engine)


@both
def test_segments_without_progress_count_until_something_goes_on(engine: Any) -> None:
    instance = Instance(Cluster.of_sizes([1]), [job("a", 1, 300, preemption_cost=60)])
    stop, go = Decision(suspend=[0]), start((0, None))
    rounds = {0: go, 60: stop, 120: go, 180: stop, 240: start(Start(0, profile=60)), 300: go}
    script = Script({**rounds, 480: stop})
    for until, fruitless in ((60, 0), (180, 1), (300, 2), (480, 0)):
        point = drive(instance, script, until=until, engine=engine).checkpoint
        machine = unpack(point.data)["machine"]
        counted = machine["fruitless"] if engine == "reference" else machine["count"][FRUITLESS]
        assert counted == fruitless


# --- profiling -----------------------------------------------------------------------------------


@both
def test_a_profiled_job_makes_no_progress_and_waits_again_by_itself(engine: Any) -> None:
    rounds = {0: start(Start(0, profile=120)), 180: start((0, None))}
    run, seen = scripted([4, 4], [job(gpus=3)], rounds, engine=engine)
    assert events(run, 0) == [
        *((0, VISIBLE), (0, PROFILE), (120, PROFILED)),
        *((180, START), (280, FINISH)),  # no overhead: it is its first start
    ]
    assert [(s.start, s.end, s.gpus) for s in run.schedule] == [
        (0, 120, {0: 2}),
        (180, 280, {0: 3}),
    ]
    book = run.records
    assert (book.first[0], book.starts[0], book.held[0]) == (0, 1, 2 * 120 + 3 * 100)
    assert {name: seen[60][name] for name in ("running", "preemptible", "speed", "held_gpus")} == {
        "running": [0],
        "preemptible": [],
        "speed": [0],
        "held_gpus": [2],
    }
    assert (seen[60]["capacity"], seen[60]["remaining"], seen[60]["attained"]) == (6, [100], [120])
    assert [seen[now]["profiled"] for now in (60, 120)] == [[0], [1]]
    assert [seen[now]["running"] for now in (60, 120)] == [[0], []]


@both
def test_who_is_profiled_keeps_its_gpus_whatever_the_policy_preempts(engine: Any) -> None:
    jobs, rounds = [job(gpus=1), job("b", 1)], {0: start(Start(0, profile=240))}
    for preempts, lease in ((Preempts.ALWAYS, 900), (Preempts.LEASE, 60)):
        stop = {**rounds, 120: Decision(suspend=[0])}
        with pytest.raises(PolicyError, match="stops job 0, which it may not now: it is profiled"):
            scripted([1], jobs, stop, preempts=preempts, lease=lease, engine=engine)
        order = {**rounds, 120: Decision(order=[1, 0])}
        with pytest.raises(PolicyError, match="at 120: orders job 0, which is no candidate"):
            scripted([1], jobs, order, preempts=preempts, lease=lease, engine=engine)
    run, _ = scripted([1], jobs, {**rounds, 240: Decision(order=[1, 0])}, until=300, engine=engine)
    assert events(run, 1)[-1] == (240, START)


@both
def test_jobs_of_every_kind_can_be_profiled(engine: Any) -> None:
    plain = Job(id="a", gpus=4, work=60)
    for entry, nodes in (
        (Start(0, profile=60), {0: 2}),
        (Start(0, None, 4, 60), {0: 4}),
        (Start(0, {1: 3}, 3, 60), {1: 3}),
    ):
        run, _ = scripted([4, 4], [plain], {0: start(entry), 60: start((0, None))}, engine=engine)
        assert dict(run.schedule[0].gpus) == nodes
        assert run.records.end.tolist() == [120]
    apart = {0: start(Start(0, {0: 1, 1: 1}, 2, 60)), 60: start((0, None))}
    with pytest.raises(PolicyError, match="which is no consolidated place, and spread=False"):
        scripted([4, 4], [plain], apart, engine=engine)
    run, _ = scripted([4, 4], [job(gpus=4)], apart, engine=engine)
    assert dict(run.schedule[0].gpus) == {0: 1, 1: 1}


@both
def test_without_room_nobody_is_profiled(engine: Any) -> None:
    jobs = [job("a", 2, 60), job("b", 1)]
    rounds = {0: start((0, None), Start(1, profile=60)), 60: start((1, None))}
    run, _ = scripted([2], jobs, rounds, engine=engine)
    assert events(run, 1) == [(0, VISIBLE), (60, START), (160, FINISH)]


@both
def test_a_profiling_run_can_be_stopped_and_resumed(engine: Any) -> None:
    instance = Instance(Cluster.of_sizes([2]), [job()])
    script = Script({0: start(Start(0, profile=180)), 240: start((0, None))})
    whole = drive(instance, script, engine=engine)
    part = drive(instance, script, engine=engine, until=120)
    assert violations(part) == []
    assert part.records.held.tolist() == [240]
    assert len(part.checkpoint.data) < 200_000
    assert drive(instance, script, engine=engine, resume=part.checkpoint) == whole


# --- what is refused -----------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Start(0, {0: 5}, 5), "at 0: starts job 0 on 5 GPUs, not on 1 to 4"),
        (Start(0, {0: 1}, 0), "at 0: starts job 0 on 0 GPUs, not on 1 to 4"),
        (Start(0, None, 3), "at 0: starts job 0 on 3 GPUs without nodes"),
        (Start(0, {0: 2}, 3), "at 0: job 0 is given {0: 2}, not its 3 GPUs"),
        (Start(0, {0: 2}, True), "at 0: starts job 0 with gpus=True, not an integer"),
        (Start(0, None, 3, 60), "at 0: starts job 0 on 3 GPUs, not on 1 to 2"),
        (Start(0, profile=90), "at 0: profiles job 0 for 90 s, not for a multiple of 60 s"),
        (Start(0, profile=-60), "at 0: profiles job 0 for -60 s, not for a multiple of 60 s"),
        (Start(0, profile=60 * 2**40), "at 0: profiles job 0 .* or for too long"),
        (Start(0, profile=60.0), r"at 0: starts job 0 with profile=60.0, not an integer"),
        (Start(1, {0: 1, 1: 1}, 2), "at 0: job 1 is given .* its speed is 0 millionths"),
        ((0,), r"at 0: start has \(0,\), which is no Start"),
        (7, "at 0: start has 7, which is no Start"),
    ],
)
def test_starts_that_cannot_be(engine: Any, entry: Any, text: str) -> None:
    jobs = [job(scaling=0), job("b", 1, scaling=1e9)]
    with pytest.raises(PolicyError, match=text):
        scripted([8, 8], jobs, {0: start(entry)}, engine=engine)


@both
def test_jobs_of_other_kinds_have_one_number_of_gpus(engine: Any) -> None:
    plain = Job(id="a", gpus=2, work=1)
    with pytest.raises(PolicyError, match="on 3 GPUs, a job of its kind needs its 2"):
        scripted([4], [plain], {0: start(Start(0, {0: 3}, 3))}, engine=engine)


@pytest.mark.slow
@both
def test_jobs_whose_gpu_seconds_cannot_be_added_up(engine: Any) -> None:
    slow = job(work=2**30, split_speed=1e-6)
    with pytest.raises(ValueError, match=r"job 'a': .* with split_speed=1e-06 is above 1099511627"):
        scripted([2], [slow], {}, engine=engine)
    dear = job(preemption_cost=2**40)
    with pytest.raises(ValueError, match=r"job 'a': gpus . preemption_cost=2199023255552 is above"):
        scripted([2], [dear], {}, engine=engine)
    least = job(work=1, split_speed=1e-6)
    run, _ = scripted([2, 2], [least], {0: start((0, {0: 1, 1: 1}))}, engine=engine)
    assert run.records.end.tolist() == [1_000_000]


# --- any of that, at random ----------------------------------------------------------------------


@settings(max_examples=settings().max_examples // 2)
@given(
    case=split_cases(),
    seed=st.integers(0, 99),
    cycle=st.sampled_from([1, 2, 5]),
    orders=st.booleans(),
    asked=st.booleans(),
    preempts=st.sampled_from([Preempts.ALWAYS, Preempts.LEASE, Preempts.NEVER]),
    data=st.data(),
)
def test_runs_at_random_are_the_same_by_every_way(
    case: Case,
    seed: int,
    cycle: int,
    orders: bool,
    asked: bool,
    preempts: Preempts,
    data: st.DataObject,
) -> None:
    policy = Shuffle(seed, cycle, 600, orders, asked, preempts)
    one_run(case, policy, data)
