"""Gandiva_fair on GPUs of several models: shares, trades, profiling, migration."""

import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.run_io import load_run, save_run
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.solvers.gandiva_fair.policy import GandivaFair
from gangsched.solvers.gandiva_fair.trading import Trade

LONG = 10**6
SPEEDS = {"A": 1.25, "B": 5.0, "C": 6.25}


def cluster(k80: int, v100: int, size: int = 4) -> Cluster:
    """Servers of `size` GPUs of two models."""
    return Cluster(
        [
            Node(f"{model}-{i}", size, model=model)
            for model, servers in (("k80", k80), ("v100", v100))
            for i in range(servers)
        ]
    )


def jobs_of(
    user: str, count: int, speed: float, *, gpus: int = 1, work: int = LONG, **more: Any
) -> list[Job]:
    return [
        Job(
            id=f"{user}{i}",
            user=user,
            gpus=gpus,
            work=work,
            speeds={"k80": 1.0, "v100": speed},
            group=user,
            **more,
        )
        for i in range(count)
    ]


def table_3(counts: Mapping[str, int], *, work: Mapping[str, int] | None = None) -> Instance[Job]:
    """60 K80 and 12 V100 for three users with equal tickets."""
    times = {**dict.fromkeys(SPEEDS, LONG), **(work or {})}
    jobs = [
        job
        for user, count in counts.items()
        for job in jobs_of(user, count, SPEEDS[user], work=times[user])
    ]
    return Instance(cluster(15, 3), jobs, [User(user) for user in SPEEDS])


def gpus_held(run: Run, instance: Instance[Job], since: int, until: int) -> list[list[float]]:
    """Mean GPUs of each model, K80 first, that each user holds between two times."""
    fast = [node.model == "v100" for node in instance.cluster.nodes]
    held = np.zeros((len(run.users), 2))
    for segment in run.schedule:
        seconds = max(0, min(until, segment.end) - max(since, segment.start))
        for node, gpus in segment.gpus.items():
            held[run.records.user[segment.job], int(fast[node])] += gpus * seconds
    found: list[list[float]] = (held / (until - since)).tolist()
    return found


def run_of(instance: Instance[Job], quanta: int, policy: GandivaFair | None = None) -> Run:
    run = drive(
        instance, policy or GandivaFair(), lease=60, overhead=0, migration=5, until=60 * quanta
    )
    assert violations(run) == []
    return run


def test_table_3_comes_about_on_the_cluster() -> None:
    instance = table_3({"A": 60, "B": 60, "C": 60})
    run = run_of(instance, 300)
    late = gpus_held(run, instance, 200 * 60, 300 * 60)
    assert late == [pytest.approx(row, abs=0.2) for row in ([40, 0], [20, 4], [0, 8])]
    assert [dict(entry) for entry in run.log] == [
        {
            "time": 60,
            "buyer": 2,
            "seller": 0,
            "fast": "v100",
            "slow": "k80",
            "amount": 4.0,
            "rate": 5.0,
        }
    ]


def test_without_trading_users_have_equal_parts_of_each_model() -> None:
    instance = table_3({"A": 60, "B": 60, "C": 60})
    run = run_of(instance, 300, GandivaFair(trading=False))
    late = gpus_held(run, instance, 100 * 60, 300 * 60)
    assert late == [pytest.approx([20, 4], rel=0.05)] * 3
    assert run.log == ()


@pytest.mark.parametrize("literal", [False, True])
def test_trades_are_undone_when_a_user_leaves(literal: bool) -> None:
    # A has work for some quanta only; then B and C are left, whose speeds differ too
    instance = table_3({"A": 40, "B": 60, "C": 60}, work={"A": 3000})
    run = run_of(instance, 300, GandivaFair(literal=literal))
    sold, rates = 0.0, {(e["buyer"], e["seller"]): [] for e in run.log}
    for entry in run.log:
        rates[entry["buyer"], entry["seller"]].append(entry["rate"])
        sold += (entry["seller"] == 0) * entry["amount"] * np.sign(entry["rate"])
    # C's speed on V100s is known first by the letter: B buys at the price between its and A's
    buyer, price = (2, 5.0) if literal else (1, (1.25 + 5) / 2)
    assert rates[buyer, 0][0] == price
    assert rates[buyer, 0][-1] == -price
    assert sold == pytest.approx(0)
    assert rates[2, 1][-1] == pytest.approx((5 + 6.25) / 2)  # no other bidder: halfway
    left = gpus_held(run, instance, 250 * 60, 300 * 60)
    assert left[0] == [0, 0]
    worth = [slow + fast * speed for (slow, fast), speed in zip(left[1:], (5, 6.25), strict=True)]
    assert worth[0] >= 0.97 * (30 + 6 * 5)
    assert worth[1] >= 0.97 * (30 + 6 * 6.25)


def test_a_log_survives_a_file_and_a_checkpoint(tmp_path: Path) -> None:
    instance = table_3({"A": 30, "B": 30, "C": 30}, work={"A": 2000})
    whole = run_of(instance, 60)
    assert len(whole.log) > 1
    save_run(tmp_path / "run.json", whole)
    assert load_run(tmp_path / "run.json") == whole
    assert load_run(tmp_path / "run.json").digest() == whole.digest()
    half = run_of(instance, 20)
    assert half.checkpoint is not None
    resumed = drive(
        instance,
        GandivaFair(),
        lease=60,
        overhead=0,
        migration=5,
        until=60 * 60,
        resume=pickle.loads(pickle.dumps(half.checkpoint)),
    )
    assert resumed == whole


def models_of(run: Run, instance: Instance[Job], job: int) -> set[str]:
    return {
        instance.cluster.nodes[node].model
        for segment in run.schedule
        if segment.job == job
        for node in segment.gpus
    }


def test_pinned_jobs_stay_and_their_user_does_not_trade() -> None:
    jobs = [
        *jobs_of("A", 20, 1.25),
        *jobs_of("B", 20, 5.0),
        *jobs_of("C", 20, 6.25, pin="k80"),
    ]
    instance = Instance(cluster(4, 1), jobs, [User(user) for user in SPEEDS])
    run = run_of(instance, 60)
    assert all(models_of(run, instance, j) == {"k80"} for j in range(40, 60))
    assert {e["buyer"] for e in run.log} | {e["seller"] for e in run.log} == {0, 1}


def test_jobs_go_to_models_that_they_can_run_on() -> None:
    jobs = [
        Job(id="slow", user="u", gpus=1, work=600, speeds={"k80": 1.0}),
        Job(id="wide", user="u", gpus=4, work=600, speeds={"k80": 1.0, "v100": 9.0}),
        Job(id="none", user="u", gpus=1, work=600, speeds={"p40": 1.0}),
    ]
    nodes = [Node("k", 4, model="k80"), Node("v", 2, model="v100")]
    instance = Instance(Cluster(nodes), jobs, [User("u")])
    run = run_of(instance, 60)
    assert [j for j, _ in run.rejected] == [2]
    assert models_of(run, instance, 0) == models_of(run, instance, 1) == {"k80"}


def test_the_first_jobs_go_to_the_newest_model_until_the_users_part_of_it_is_used_up() -> None:
    # each user is due 8 K80 and 2 V100
    jobs = [*jobs_of("A", 10, 5.0), *jobs_of("B", 10, 5.0)]
    instance = Instance(cluster(4, 1), jobs, [User("A"), User("B")])
    run = run_of(instance, 1)
    first = {s.job: next(iter(s.gpus)) for s in run.schedule}
    for jobs_of_user in (range(10), range(10, 20)):
        assert [first[j] >= 4 for j in jobs_of_user] == [True] * 2 + [False] * 8


def test_a_job_that_always_runs_does_not_move_to_a_slower_model() -> None:
    """By rate times tickets per GPU it would: the tickets of 12 idle K80 are all its own."""
    jobs = [*jobs_of("A", 4, 5.0, gpus=1), *jobs_of("B", 1, 5.0, gpus=1, release=120)]
    instance = Instance(cluster(3, 1), jobs, [User("A"), User("B")])
    run = run_of(instance, 30, GandivaFair(trading=False))
    assert gpus_held(run, instance, 0, 120)[0] == [0, 4]
    assert sum(gpus_held(run, instance, 600, 1800)[0]) == pytest.approx(4, abs=0.05)


def test_a_job_moves_to_a_faster_model_that_has_become_free() -> None:
    """Though no job waits."""
    jobs = [
        *jobs_of("A", 4, 5.0, work=3000),
        *jobs_of("B", 4, 5.0, release=0),
        *jobs_of("C", 4, 5.0, release=0),
    ]
    instance = Instance(cluster(3, 1), jobs, [User(user) for user in "ABC"])
    run = run_of(instance, 60, GandivaFair(trading=False))
    done = int(run.records.end[:4].max())
    assert 0 < done < 3000
    late = gpus_held(run, instance, done + 600, 3600)
    assert late[1][1] + late[2][1] == pytest.approx(4, abs=0.05)


def test_a_move_costs_the_seconds_of_a_migration() -> None:
    # B's first job shows what a V100 is worth; its second one begins on the K80 and moves when A's
    # ends, after 180 to 360 seconds
    short, long = jobs_of("B", 2, 2.0)
    jobs = [
        replace(short, work=240),
        replace(long, release=180),
        *jobs_of("A", 1, 2.0, work=480, release=120),
    ]
    both = Instance(cluster(1, 1, size=1), jobs, [User("A"), User("B")])
    runs = [
        drive(both, GandivaFair(), lease=60, overhead=0, migration=cost, until=6000)
        for cost in (0, 5)
    ]
    moved = [[tuple(s.gpus) for s in run.schedule if s.job == 1] for run in runs]
    assert moved == [[(0,), (1,)]] * 2
    left = [int(run.records.left[1]) for run in runs]
    assert left[1] == left[0] + 5 * 2


def test_a_job_moves_though_a_later_one_like_it_is_pinned() -> None:
    # B's first job shows what a V100 is worth, A has the V100s when the second comes
    short, free, pinned = jobs_of("B", 3, 5.0)
    jobs = [
        replace(short, work=600),
        *jobs_of("A", 4, 5.0, work=6000),
        replace(free, release=200),
        replace(pinned, release=300, pin="k80"),
    ]
    run = run_of(
        Instance(cluster(1, 1), jobs, [User("A"), User("B")]), 100, GandivaFair(trading=False)
    )
    nodes = [sorted(s.gpus) for s in run.schedule if s.job == 5]
    assert (nodes[0], nodes[-1]) == ([0], [1])


def test_pinned_jobs_do_not_say_which_model_is_new() -> None:
    """Ten of twelve jobs run on K80s only: it does not make V100s slow."""
    jobs = [*jobs_of("A", 10, 5.0, pin="k80"), *jobs_of("B", 2, 5.0)]
    instance = Instance(cluster(1, 1), jobs, [User("A"), User("B")])
    run = run_of(instance, 1)
    assert models_of(run, instance, 10) == models_of(run, instance, 11) == {"v100"}


def test_heavier_jobs_of_a_user_are_placed_first() -> None:
    """Algorithm 2, line 3: the first of the queue gets the newest model."""
    jobs = [
        replace(job, weight=weight)
        for job, weight in zip(jobs_of("A", 3, 5.0), (1.0, 1.0, 7.0), strict=True)
    ]
    instance = Instance(cluster(2, 1, size=1), jobs, [User("A")])
    run = run_of(instance, 1)
    assert models_of(run, instance, 2) == {"v100"}


def test_prices_between_the_bids_are_those_of_the_rule() -> None:
    instance = table_3({"A": 60, "B": 60, "C": 60})
    run = run_of(instance, 10, GandivaFair(price="midpoint"))
    assert run.log[0]["rate"] == (1.25 + 6.25) / 2
    assert Trade(2, 0, 1, 0, 4.0, 5.0).paid == 20.0


def test_a_user_of_one_job_cannot_use_its_parts_of_several_models() -> None:
    """A finding: shares of a model where none of a user's jobs is are lost to it.

    A is due half a K80 and half a V100, which would advance its only job 0.5 + 2.5 times as fast
    as a K80. The job is on the V100s, and stays there.
    """
    jobs = [*jobs_of("A", 1, 5.0), *jobs_of("B", 20, 5.0)]
    instance = Instance(cluster(1, 1), jobs, [User("A"), User("B", weight=7.0)])
    run = run_of(instance, 400)
    done = LONG - int(run.records.left[0])
    assert done / (400 * 60) == pytest.approx(2.5, rel=0.05)
    assert done / (400 * 60) < 0.9 * 3.0


@pytest.mark.parametrize("literal", [False, True])
def test_each_job_is_where_it_advances_most_and_waits_for_its_turn_on_slow_gpus(
    literal: bool,
) -> None:
    """As in Section 3.4 of the paper, where jobs take turns on V100s; by the letter K80s idle.

    A is due two GPUs, 4/3 K80s and 2/3 V100s, worth 14/3 K80s. Its two jobs take turns on the 2/3:
    each advances 5/3 times as fast as a K80, so neither leaves. For B's it is 10/9 of a K80 with 15
    jobs on its 10/3 V100s: 5 are on the K80s, of which 3 idle.
    """
    jobs = [*jobs_of("A", 2, 5.0), *jobs_of("B", 20, 5.0)]
    instance = Instance(cluster(2, 1), jobs, [User("A"), User("B")])
    run = run_of(instance, 200, GandivaFair(trading=False, literal=literal))
    held = gpus_held(run, instance, 100 * 60, 200 * 60)
    slow = [0, 5] if literal else [4 / 3, 20 / 3]  # who waits runs there: each has what it is due
    assert held[:2] == [
        pytest.approx([k80, v100], abs=0.03)
        for k80, v100 in zip(slow, (2 / 3, 10 / 3), strict=True)
    ]
