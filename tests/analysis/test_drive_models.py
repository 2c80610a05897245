"""Clusters of several GPU models: who runs where, how fast, and what moving costs; both engines."""

from dataclasses import dataclass
from typing import Any

import pytest

from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.solvers import (
    Decision,
    Fifo,
    Las,
    LtgfPolicy,
    Preempts,
    Srtf,
    State,
    ThemisGreedy,
)
from gangsched.solvers.policy import Start
from reference_driver import drive

both = pytest.mark.parametrize("engine", ["reference", "compiled"])
SLOW, FAST = {"k80": 1.0, "v100": 3.0}, {"v100": 3.0}


def cluster(*nodes: tuple[str, int]) -> Cluster:
    return Cluster([Node(f"n{n}", gpus, model) for n, (model, gpus) in enumerate(nodes)])


def job(id: str = "a", gpus: int = 1, work: int = 100, **other: Any) -> Job:
    return Job(id=id, gpus=gpus, work=work, **other)


def driven(nodes: Cluster, jobs: list[Job], policy: Any, engine: Any, **how: Any) -> Run:
    """The run, once the checker has nothing to say."""
    instance = Instance(nodes, jobs)
    run = drive(instance, policy, engine=engine, **how)
    assert violations(run, preempts=policy.preempts) == []
    return run


def places(run: Run, number: int = 0) -> list[tuple[int, int, dict[int, int]]]:
    return [(s.start, s.end, dict(s.gpus)) for s in run.schedule if s.job == number]


@dataclass
class Script:
    """Decides what a table says for each round, nothing at others."""

    rounds: dict[int, Decision]
    name: str = "script"
    preempts: Preempts = Preempts.ALWAYS
    always_asked: bool = True

    def decide(self, state: State) -> Decision:
        return self.rounds.get(state.now, Decision())


def on(nodes: dict[int, int], **other: Any) -> Decision:
    """Job 0 starts there."""
    return Decision(start=[(0, nodes)], **other)


# --- where ---------------------------------------------------------------------------------------


@both
def test_a_job_runs_on_its_fastest_model_with_room_at_its_speed_there(engine: Any) -> None:
    jobs = [job("a", 2, 301, speeds=SLOW), job("b", 2, 301, speeds=SLOW), job("c", 2)]
    run = driven(cluster(("k80", 4), ("v100", 2)), jobs, Fifo(), engine)
    assert places(run, 0) == [(0, 101, {1: 2})]  # 301 / 3, rounded up
    assert places(run, 1) == [(0, 301, {0: 2})]
    assert places(run, 2) == [(0, 100, {0: 2})]  # as fast on both: the model of the first node


@both
def test_among_nodes_of_its_model_a_gang_is_placed_as_on_a_cluster_of_that_model(
    engine: Any,
) -> None:
    nodes = cluster(("v100", 4), ("k80", 4), ("v100", 2), ("v100", 4))
    jobs = [job("a", 2, 300, speeds=FAST), job("b", 5, 300, speeds=FAST)]
    run = driven(nodes, jobs, Fifo(), engine)
    assert [places(run, j)[0][2] for j in (0, 1)] == [{2: 2}, {0: 4, 3: 1}]


@both
def test_a_gang_stays_on_one_model_though_it_may_spread(engine: Any) -> None:
    nodes, jobs = cluster(("k80", 2), ("v100", 1), ("v100", 1)), [job("a", 2, 30, speeds=SLOW)]
    run = driven(nodes, jobs, Fifo(), engine, spread=True)
    assert places(run) == [(0, 10, {1: 1, 2: 1})]
    run = driven(nodes, [job("a", 3)], Fifo(), engine, spread=True)
    assert run.rejected == ((0, "job 'a': gpus=3 exceeds the 2 of one model, of 'k80', 'v100'"),)


@both
def test_pins_and_missing_speeds_say_where_a_job_may_run(engine: Any) -> None:
    nodes = cluster(("k80", 1), ("v100", 1))
    jobs = [job("a", pin="v100"), job("b", speeds=FAST), job("c", speeds=SLOW, pin="k80")]
    run = driven(nodes, jobs, Fifo(), engine)
    assert [places(run, j) for j in range(3)] == [
        [(0, 100, {1: 1})],  # without speeds: speed 1
        [(120, 154, {1: 1})],
        [(120, 220, {0: 1})],  # fifo: b holds it back
    ]
    run = driven(nodes, jobs, Fifo(blocking=False), engine)
    assert places(run, 2) == [(0, 100, {0: 1})]


@both
@pytest.mark.parametrize("wanted_first", [True, False])
@pytest.mark.parametrize("policy", [Fifo(blocking=False), Srtf(), LtgfPolicy(), ThemisGreedy()])
def test_who_waits_for_one_model_keeps_no_gang_of_its_size_off_another(
    engine: Any, policy: Any, wanted_first: bool
) -> None:
    nodes = cluster(*[("v100", 2), ("k80", 4)][:: 1 if wanted_first else -1])
    pins = ["v100", "v100", "", "k80"]  # three are selected, the second finds no place
    jobs = [job(id, 2, 60 + i, pin=pins[i]) for i, id in enumerate("abcd")]
    run = driven(nodes, jobs, policy, engine, until=0)
    assert run.records.first.tolist() == [0, -1, 0, 0]


@both
def test_jobs_that_no_model_can_run_are_rejected_with_the_reason(engine: Any) -> None:
    nodes = cluster(("k80", 4), ("v100", 2), ("v100", 1))
    jobs = [
        job("a", 8),
        job("b", 5),
        job("c", speeds={"p40": 2.0}),
        job("d", pin="k80", speeds=FAST),
        job("e", 4, speeds=FAST),
        job("f", 3, pin="v100"),
        job("g", 4),
    ]
    run = driven(nodes, jobs, Fifo(), engine)
    assert dict(run.rejected) == {
        0: "job 'a': gpus=8 exceeds the cluster's 7",
        1: "job 'b': gpus=5 exceeds the 4 of one model, of 'k80', 'v100'",
        2: "job 'c': speeds on 'p40' leave none of the cluster's GPU models 'k80', 'v100'",
        3: "job 'd': pin='k80' and speeds on 'v100' leave none of the cluster's GPU models "
        "'k80', 'v100'",
        4: "job 'e': gpus=4 exceeds the 3 of one model, of 'v100'",
        5: "job 'f': gpus=3 has no consolidated place on nodes of one model, of 'v100'",
    }
    assert places(run, 6) == [(0, 100, {0: 4})]


@both
def test_on_one_model_speeds_count_too(engine: Any) -> None:
    run = driven(cluster(("v100", 1)), [job(work=301, speeds=SLOW)], Fifo(), engine)
    assert run.records.end.tolist() == [101]
    run = driven(cluster(("p100", 1)), [job(speeds=SLOW)], Fifo(), engine)
    assert run.rejected == (
        (0, "job 'a': speeds on 'k80', 'v100' leave none of the cluster's GPU models 'p100'"),
    )


# --- what a policy sees and may do ---------------------------------------------------------------


@both
def test_a_policy_sees_models_and_speeds(engine: Any) -> None:
    seen: dict[str, Any] = {}

    class Looking(Fifo):
        def decide(self, state: State) -> Decision:
            seen.update(
                models=state.models,
                node_model=state.node_model.tolist(),
                speeds=state.speeds.tolist(),
                costs=(state.overhead.tolist(), state.migration.tolist()),
            )
            with pytest.raises(ValueError, match="read-only"):
                state.speeds[0] = 1
            return Decision(order=state.waiting)

        rule = None

    jobs = [job("a", speeds={"v100": 2.5, "k80": 0.2}), job("b", pin="v100"), job("c")]
    driven(cluster(("v100", 1), ("k80", 1), ("v100", 1)), jobs, Looking(), engine, migration=9)
    assert seen == {
        "models": ("v100", "k80"),
        "node_model": [0, 1, 0],
        "speeds": [[2_500_000, 200_000], [1_000_000, 0], [1_000_000, 1_000_000]],
        "costs": ([25] * 3, [9] * 3),
    }


@both
@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (Start(0, {0: 1, 1: 1}), "which are of the models 'k80' and 'v100': a gang runs on one"),
        (Start(0, {2: 2}), r"of model 'p40', where it cannot run: its speeds are {'k80': 1.0, .*}"),
        (Start(1, {1: 2}), "of model 'v100', where it cannot run: pin='k80'"),
        (Start(1, {1: 2}, profile=60), "of model 'v100', where it cannot run: pin='k80'"),
    ],
)
@pytest.mark.parametrize("spread", [False, True])
def test_given_gpus_are_of_one_model_on_which_the_job_can_run(
    engine: Any, entry: Start, text: str, spread: bool
) -> None:
    jobs = [job("a", 2, speeds=SLOW), job("b", 2, pin="k80")]
    nodes = cluster(("k80", 2), ("v100", 2), ("p40", 2))
    with pytest.raises(PolicyError, match=f"at 0: job {entry.job} is given .*{text}"):
        driven(nodes, jobs, Script({0: Decision(start=[entry])}), engine, spread=spread)


@both
def test_work_done_on_slow_gpus_counts_on_fast_ones(engine: Any) -> None:
    nodes = cluster(("k80", 1), ("v100", 1))
    moves = Script({0: on({0: 1}), 60: on({1: 1}, suspend=[0])})
    speeds = {"k80": 1 / 3, "v100": 2.0}
    run = driven(nodes, [job(speeds=speeds)], moves, engine, overhead=10)
    # floor(60 * 0.333333) = 19 s are done, 81 s at speed 2 are 41 s after 10 s of overhead
    assert places(run) == [(0, 60, {0: 1}), (60, 111, {1: 1})]
    assert run.records.held.tolist() == [111]  # GPU seconds of any model count alike


@both
def test_shares_count_gpus_of_all_models_alike(engine: Any) -> None:
    instance = Instance(
        cluster(("k80", 1), ("v100", 3)),
        [job("a", 4, user="u"), job("b", 3, speeds=FAST, user="v"), job("c", 1, user="u")],
        [User("u"), User("v")],
    )
    run = drive(instance, Fifo(), engine=engine)
    assert run.quota.tolist() == [2.0, 2.0]
    assert run.records.fair.tolist() == [0.0, 2.0 * 34, 1.0 * 100]


# --- what moving costs ---------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("migration", "paid"), [(None, 7), (0, 0), (30, 30)])
def test_a_start_on_other_gpus_costs_the_migration(
    engine: Any, migration: int | None, paid: int
) -> None:
    how: dict[str, Any] = {"overhead": 7, "migration": migration}
    nodes = cluster(("k80", 2), ("k80", 2))
    first, stop, again = on({0: 1}), Decision(suspend=[0]), on({0: 1})
    for moved in (on({1: 1}, suspend=[0]), Decision(suspend=[0], start=[(0, None)])):
        run = driven(nodes, [job()], Script({0: first, 60: moved}), engine, **how)
        stays = moved.start[0][1] is None  # where there is room is where it was: it goes on
        assert run.records.end.tolist() == [100 if stays else 60 + paid + 40]
    there = Script({0: first, 60: stop, 120: again})
    assert driven(nodes, [job()], there, engine, **how).records.end.tolist() == [120 + 7 + 40]
    elsewhere = Script({0: first, 60: stop, 120: on({1: 1})})
    run = driven(nodes, [job()], elsewhere, engine, **how)
    assert run.records.end.tolist() == [120 + paid + 40]
    back = Script({0: first, 60: on({1: 1}, suspend=[0]), 120: on({0: 1}, suspend=[0])})
    run = driven(nodes, [job(work=150)], back, engine, **how)
    assert run.records.end.tolist() == [120 + paid + 90 - (60 - paid)]


@both
def test_the_same_gpus_in_another_order_are_the_same_place(engine: Any) -> None:
    nodes, jobs = cluster(("k80", 2), ("k80", 2), ("k80", 2)), [job("a", 3)]
    how: dict[str, Any] = {"overhead": 1, "migration": 50}
    for then, paid in (({1: 1, 0: 2}, 1), ({0: 2, 2: 1}, 50), ({1: 2, 0: 1}, 50)):
        rounds = {0: on({0: 2, 1: 1}), 60: Decision(suspend=[0]), 120: on(then)}
        run = driven(nodes, jobs, Script(rounds), engine, **how)
        assert run.records.end.tolist() == [120 + paid + 40]


@both
def test_who_was_killed_or_profiled_pays_by_what_it_held_last(engine: Any) -> None:
    nodes = cluster(("k80", 1), ("v100", 1))
    how: dict[str, Any] = {"overhead": 3, "migration": 11, "lease": 60}
    killed = Script({0: on({0: 1}), 60: Decision(kill=[0]), 120: on({0: 1})})
    assert driven(nodes, [job()], killed, engine, **how).records.end.tolist() == [120 + 3 + 40]
    profiled = Start(0, {1: 1}, profile=60)
    for first, paid in ((on({0: 1}), 11), (Decision(start=[profiled]), 0)):
        looked = Decision(suspend=[0], start=[profiled]) if paid else Decision()
        rounds = {0: first, 60: looked, 120: on({0: 1})}
        run = driven(nodes, [job()], Script(rounds), engine, **how)
        assert run.records.end.tolist() == [120 + paid + (40 if paid else 100)]
    kinds = run.events.kind.tolist()
    assert EventKind.PROFILED in kinds


@both
def test_taking_turns_in_place_is_no_migration(engine: Any) -> None:
    jobs = [job("a", 1, 120), job("b", 1, 120)]
    run = driven(cluster(("k80", 1)), jobs, Las(), engine, overhead=0, migration=30)
    assert run.records.end.tolist() == [180, 240]


def test_las_refuses_migrations_that_cost_a_round() -> None:
    with pytest.raises(ValueError, match="las: migration=60 is not below the round length of 60 s"):
        drive(Instance(cluster(("k80", 1)), [job()]), Las(), overhead=0, migration=60)
