"""Figures 9 to 14 of Ye et al.: what is run, and what is measured."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from gangsched import drive
from gangsched.analysis.papers.ltgf import figures as figures
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.instances.generate import offered_load, venus_workload
from gangsched.instances.traces import ReadReport, Trace
from gangsched.solvers import Fifo, TiresiasL
from gangsched.solvers.ltgf.policy import LtgfPolicy

ROOM = "room"


# --- what is measured ----------------------------------------------------------------------------


def test_wait_for_the_first_round_is_what_it_is_counted_to_be() -> None:
    """Run time 38 s, submitted at each second of a round of 10 s, and nobody waits for GPUs.

    p / JCT = 38 / (38 + w) < 0.95 for w > 2: for 7 of the waits 0 to 9.
    """
    jobs = [Job(id=f"{k}", gpus=1, work=38, release=k) for k in range(1, 11)]
    run = drive(Instance(Cluster.of_sizes([16]), jobs), Fifo(), round_length=10, overhead=0)
    values = figures.measure(run, 1)["values"]
    assert values["expected"] == values["late"] == 0.7
    assert values["loss_release"] == 0.7
    assert values["loss"] == values["waited"] == 0.0


@pytest.mark.parametrize(("work", "share"), [(1, 0.9), (19, 0.8), (37, 0.8), (189, 0.0)])
def test_expected_loss_of_one_run_time(work: int, share: float) -> None:
    """Waits of 0 to 9 s; too long is 19 w > p."""
    assert share == sum(19 * w > work for w in range(10)) / 10
    job = Job(id="a", gpus=1, work=work)
    run = drive(Instance(Cluster.of_sizes([1]), [job]), Fifo(), round_length=10, overhead=0)
    assert figures.measure(run, 1)["values"]["expected"] == share


def test_overhead_is_what_resumed_segments_begin_with() -> None:
    """Under LAS in GPU time `a` runs 0-60, is stopped for `b` 60-120, resumes with 25 s until 205.

    JCT: a 205, b 60; one resumption.
    """
    jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=2, work=60, release=60)]
    policy = TiresiasL(thresholds=[120])
    run = drive(Instance(Cluster.of_sizes([2]), jobs), policy, round_length=60, overhead=25)
    values = figures.measure(run, 1)["values"]
    assert values["mean_completion"] == (205 + 60) / 2
    assert values["overhead"] == pytest.approx(25 / 265, rel=1e-5)
    assert values["preemptions"] == 0.5
    assert values["mean_slowdown"] == pytest.approx((205 / 120 + 1) / 2, rel=1e-5)
    assert values["slow"] == 0.0


def test_users_windows_below_1() -> None:
    """Two users with 1 of 2 GPUs each; `u` holds both for two days, then `v` both for two days.

    By day and (8): u 2, 2, then no demand; v 0, 0, 2, 2. By (16): u 2, 2, 0, 0; v 0, 0, 2, 2.
    """
    day = 86_400
    jobs = [Job(id=i, gpus=2, work=2 * day, user=i) for i in "uv"]
    instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    run = drive(instance, Fifo(), round_length=60, overhead=0)
    values = figures.measure(run, 4)["values"]
    assert values["days_below"] == pytest.approx(2 / 6, rel=1e-5)
    assert values["days_below_quota"] == 4 / 8
    assert values["hours_below"] == pytest.approx(48 / 144, rel=1e-5)


# --- instances -----------------------------------------------------------------------------------


def trace_of(counts: Sequence[int]) -> Trace:
    """So many jobs of 3 GPUs for 5000 s on each day, evenly, of users a and b in turn."""
    jobs = [
        Job(
            id=f"{d}-{k}",
            gpus=3,
            work=5000,
            release=d * 86_400 + k * (86_000 // n),
            user="ab"[k % 2],
        )
        for d, n in enumerate(counts)
        for k in range(n)
    ]
    users = (User("a"), User("b"))
    return Trace(name="toy", jobs=tuple(jobs), users=users, report=ReadReport(read=len(jobs)))


@pytest.mark.parametrize("load", [0.3, 0.9, 1.2])
def test_the_fortnight_with_the_most_submissions_is_taken(load: float) -> None:
    counts = [40, 1, 1, *[30] * 14, 1, 1, 1, 35, 35]
    case = figures.fortnight(trace_of(counts), load)
    assert (case.name, case.workload, case.start) == (f"Toy, load {load:g}", "Toy", 3)
    assert len(case.instance.jobs) == 14 * 30
    assert case.instance.jobs[0].release == 0
    nodes = len(case.instance.cluster.nodes)
    loads = {n: offered_load(case.on(n).instance) for n in range(1, 60)}
    assert nodes == min(loads, key=lambda n: abs(loads[n] - load))
    assert {user.weight for user in case.instance.users} == {3 * 14 * 15}


def test_cases_without_and_with_a_trace() -> None:
    alone = [(case.name, case.seed) for case in figures.cases_of()]
    names = ("Venus-like, 133 nodes", "Venus-like, 100 nodes")
    assert alone == [(name, seed) for name in names for seed in (0, 1, 2)]
    both = [(case.name, case.seed) for case in figures.cases_of(trace_of([30] * 20))]
    toys = [("Toy, load 0.9", None), ("Toy, load 1.2", None), ("Toy, 210 nodes", None)]
    assert both == [*toys, *alone]


# --- small studies -------------------------------------------------------------------------------


def small() -> tuple[figures.Scenario, ...]:
    jobs = venus_workload(Cluster.uniform(nodes=6, gpus_per_node=8), jobs=150, days=1)
    crowd = figures.Scenario("crowd", "small", jobs, days=2)
    return (crowd.on(9), replace(crowd.on(6), name="more crowd"))


POLICIES = {name: figures.POLICIES[name] for name in ("YARN-CS", "Tiresias-L", "LTGF (8)")}


def test_a_run_is_the_driver_s() -> None:
    """Of the first case, with the rules of the paper."""
    case = small()[1]
    study = figures.fig13(cases=[case], policies={"LTGF (8)": LtgfPolicy})
    run = drive(case.instance, LtgfPolicy(), round_length=10, lease=900, overhead=25)
    ends = run.records.end - np.array([job.release for job in case.instance.jobs])
    assert study.rows[0].values["mean_completion"] == pytest.approx(ends.mean(), rel=1e-5)


def test_jobs_that_one_policy_cannot_run_are_left_out_for_all() -> None:
    """User `u` has a quota of 2 of 8 GPUs, so that YARN-CS can never run its gang of 4."""
    jobs = [Job(id="a", gpus=4, work=300, user="u"), Job(id="b", gpus=1, work=100, user="v")]
    users = [User("u", weight=1), User("v", weight=3)]
    case = figures.Scenario(ROOM, ROOM, Instance(Cluster.of_sizes([8]), jobs, users), days=1)
    study = figures.fig13(cases=[case], policies=POLICIES)
    assert study.instances[ROOM]["rejected for all policies"] == 1
    left = [row for row in study.rows if row.instance == ROOM]
    assert {row.policy: row.values["mean_completion"] for row in left} == dict.fromkeys(
        POLICIES, 100
    )
    whole = [row for row in study.rows if row.instance != ROOM]
    assert {(row.instance, row.policy) for row in whole} == {
        (f"{ROOM}, all jobs", "Tiresias-L"), (f"{ROOM}, all jobs", "LTGF (8)"),
    }  # fmt: skip
    assert {row.values["mean_completion"] for row in whole} == {200}
    alone = figures.fig13(cases=[case], policies={"LTGF (8)": LtgfPolicy})
    assert alone.instances[ROOM]["rejected for all policies"] == 0
