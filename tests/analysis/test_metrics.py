"""Metrics: a case worked by hand, a second-by-second computation, and what must always hold."""

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.metrics import together
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, Instance, Job, Node, Schedule, Segment, User
from gangsched.solvers import Fifo, Srtf
from gangsched.solvers.ltgf.policy import LtgfPolicy
from hand_run import hand_run
from run_builder import random_run, run_of, runs, stretched

NAN = float("nan")
USERS = [User("a", weight=3), User("b")]
JOBS = [
    Job(id="j0", gpus=2, user="a", release=0, work=20),
    Job(id="j1", gpus=2, user="a", release=0, work=30, weight=2),
    Job(id="j2", gpus=2, user="b", release=5, work=15),
    Job(id="j3", gpus=8, user="a", release=90, work=10),
]


def hand(*, now: int | None = None) -> Run:
    """Users a and b with quotas 3 and 1 of 4 GPUs; job 1 is preempted once, job 3 never runs."""
    segments = [
        Segment(0, 0, 20, {0: 2}),
        Segment(1, 0, 10, {1: 2}),
        Segment(2, 10, 25, {1: 2}),
        Segment(1, 20, min(now or 40, 40), {0: 1, 1: 1}),
    ]
    gone = {3: "gpus=8 exceeds 4"}
    return run_of(JOBS, segments, sizes=[2, 2], users=USERS, rejected=gone, now=now)


# --- by hand -------------------------------------------------------------------------------------


def test_times_by_hand() -> None:
    run = hand()
    assert metrics.completion_time(run).tolist() == pytest.approx([20, 40, 20, NAN], nan_ok=True)
    assert metrics.wait_time(run).tolist() == pytest.approx([0, 10, 5, NAN], nan_ok=True)
    slow = [1, Fraction(4, 3), Fraction(4, 3), NAN]
    assert metrics.slowdown(run).tolist() == pytest.approx(slow, nan_ok=True)
    assert metrics.makespan(run) == 40


def test_objectives_by_hand() -> None:
    # completions 20, 40, 25; flows 20, 40, 20
    found = metrics.objectives(hand())
    slow = 1 + 40 / 30 + 20 / 15
    expected = {"makespan": 40, "completion": 85, "flow": 80, "slowdown": slow}
    assert found == pytest.approx(expected)
    assert set(metrics.objectives(hand(now=30)).values()) == {None}


def test_the_cluster_by_hand() -> None:
    run = hand()
    assert metrics.busy_time(run, [40, 0, 5, 22]).tolist() == [130, 0, 20, 88]
    # wanted: 4, then 6 of which only 4 are there, then 4, then 2
    assert metrics.wanted_time(run, [40, 15, 0, 99]).tolist() == [140, 60, 0, 140]
    assert metrics.utilisation(run) == 1  # until 5: the rejected job's release does not count
    assert metrics.utilisation(run, "end") == pytest.approx(130 / 160)
    assert metrics.preemptions(run).tolist() == [0, 1, 0, 0]


def test_job_fairness_by_hand() -> None:
    # user a: 3 GPUs until 20, divided 1 : 2, then job 1 alone could use 2; user b: 1 GPU
    run = hand()
    assert metrics.attained_time(run).tolist() == [40, 60, 30, 0]
    assert metrics.fair_time(run).tolist() == pytest.approx([20, 80, 15, 0])
    assert metrics.fair_time(run, "release").tolist() == pytest.approx([20, 80, 20, 0])
    assert metrics.rho(run).tolist() == pytest.approx([2, 0.75, 2, NAN], nan_ok=True)
    assert metrics.rho(run, "release").tolist() == pytest.approx([2, 0.75, 1.5, NAN], nan_ok=True)


def test_user_fairness_by_hand() -> None:
    run = hand()
    at = [0, 5, 15, 40, 27]
    assert metrics.user_attained_time(run, at).tolist() == [
        [0, 20, 50, 100, 74],
        [0, 0, 10, 30, 30],
    ]
    assert metrics.user_fair_time(run, at).tolist() == [[0, 15, 45, 100, 74], [0, 0, 5, 20, 17]]
    quota = metrics.user_fair_time(run, at, "quota")
    assert quota.tolist() == [[0, 15, 45, 120, 81], [0, 5, 15, 40, 27]]
    assert metrics.user_rho(run).tolist() == [1, 1.5]


def test_windows_by_hand() -> None:
    run = hand()
    expected = [[40 / 30, 20 / 30, 1, 1], [NAN, 2, 1, NAN]]
    found = metrics.window_rho(run, 10)
    np.testing.assert_allclose(found, expected)
    assert metrics.share_below(found, 0.999) == pytest.approx(1 / 6)
    assert metrics.window_edges(run, 25).tolist() == [0, 25, 40]


def test_a_stopped_run_by_hand() -> None:
    run = hand(now=30)
    assert metrics.attained_time(run).tolist() == [40, 40, 30, 0]
    assert metrics.fair_time(run).tolist() == pytest.approx([20, 60, 15, 0])
    assert metrics.completion_time(run).tolist() == pytest.approx([20, NAN, 20, NAN], nan_ok=True)
    assert metrics.makespan(run) is None
    assert metrics.utilisation(run, "end") == pytest.approx(110 / 120)
    assert metrics.user_rho(run).tolist() == pytest.approx([1, 1.5])
    found = metrics.summary(run)
    assert (found["unfinished"], found["rejected"], found["finished"]) == (1, 1, 2)
    assert found["mean_completion"] == 20
    assert found["makespan"] is None


def test_one_user_may_have_all() -> None:
    # eq. (3): two jobs share 4 GPUs, of which the narrow one can use 1 of its 2
    jobs = [Job(id="a", gpus=1, work=10), Job(id="b", gpus=4, work=10)]
    run = run_of(jobs, [Segment(1, 0, 10, {0: 4}), Segment(0, 10, 20, {0: 1})], sizes=[4])
    assert metrics.fair_time(run).tolist() == [10 + 10, 20]
    assert metrics.user_fair_time(run, [20]).tolist() == [[80]]
    assert metrics.user_rho(run).tolist() == [50 / 80]


def test_figure_6_of_ye_et_al() -> None:
    # 6 GPUs, gangs of 6, 3 and 3, 40 minutes each, rounds of 10: what LTGF does, panel (c)
    jobs = [Job(id=f"J{i}", gpus=d, work=40) for i, d in enumerate([6, 3, 3], 1)]
    alone = [(0, 10), (30, 40), (60, 80)]
    pairs = [(10, 30), (40, 60)]
    rows = [Segment(0, a, b, {0: 6}) for a, b in alone]
    rows += [Segment(j, a, b, {0: 3}) for j in (1, 2) for a, b in pairs]
    run = run_of(jobs, rows, sizes=[6])
    assert metrics.completion_time(run).tolist() == [80, 60, 60]
    assert metrics.rho(run).tolist() == pytest.approx([1, 1, 1])
    assert metrics.preemptions(run).tolist() == [2, 1, 1]


def test_the_summary_by_hand() -> None:
    found = metrics.summary(hand())
    expected = {
        "jobs": 4,
        "finished": 3,
        "unfinished": 0,
        "rejected": 1,
        "mean_completion": 80 / 3,
        "median_completion": 20,
        "p99_completion": 20 + 0.98 * 20,
        "p999_completion": 20 + 0.998 * 20,
        "mean_wait": 5,
        "p95_wait": 9.5,
        "max_wait": 10,
        "waited_hour": 0,
        "mean_slowdown": (1 + 8 / 3) / 3,
        "p99_slowdown": 4 / 3,
        "makespan": 40,
        "utilisation": 1,
        "utilisation_end": 130 / 160,
        "min_rho": 0.75,
        "min_service_rho": 0.75,
        "mean_rho": 4.75 / 3,
        "loss": 1 / 3,
        "loss_time": 60 / 130,  # j1, with 60 GPU seconds of a fair 80
        "loss_release": 1 / 3,
        "min_user_rho": 1,
        "days_below": 0,
        "hours_below": 0,
        "jain_users": 2.5**2 / (2 * (1 + 2.25)),
        "jain_jobs": 4.75**2 / (3 * (8 + 0.75**2)),
        "preemptions": 1,
    }
    assert found == pytest.approx(expected)


def test_nothing_at_all() -> None:
    empty = run_of([], [], sizes=[4], users=[User("a"), User("b")])
    found = metrics.summary(empty)
    counts = ("jobs", "finished", "unfinished", "rejected", "preemptions")
    assert {found[name] for name in counts} == {0}
    assert {value for name, value in found.items() if name not in counts} == {None}
    assert metrics.window_rho(empty).shape == (2, 0)
    assert metrics.share_below([], 1) is None


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(ValueError, match="windows: length=0 is below 1"):
        metrics.window_rho(hand(), 0)


def test_jain() -> None:
    assert metrics.jain([0.0, 0.0]) == 1
    assert metrics.jain([NAN, 2.0, 2.0]) == 1
    assert metrics.jain([1, 2, 3]) == pytest.approx(36 / 42)
    assert metrics.jain([]) is None
    assert metrics.jain([1e200, 1e200]) == 1


# --- second by second ----------------------------------------------------------------------------


def by_seconds(run: Run) -> tuple[list[Fraction], list[list[Fraction]], list[list[int]]]:
    """F_i, and for each user its fair and held GPUs of every second, all from the definitions."""
    book, gpus = run.records, run.gpus
    weights = [Fraction(w) for w in run.user_weight.tolist()]
    tau = run.rules.round_length
    jobs = range(len(book))
    until = [-(-int(e) // tau) * tau if e >= 0 else run.now for e in book.end]
    end = [int(e) if e >= 0 else run.now for e in book.end]
    fair = [Fraction(0) for _ in jobs]
    users = [[Fraction(0)] * run.now for _ in weights]
    held = [[0] * run.now for _ in weights]
    for t in range(run.now):
        for u, weight in enumerate(weights):
            mine = [j for j in jobs if book.user[j] == u and not book.rejected[j]]
            here = [j for j in mine if book.visible[j] <= t < until[j]]
            demand = sum(int(book.gpus[j]) for j in here)
            share = min(Fraction(demand), gpus * weight / sum(weights))
            if len(weights) == 1 and demand:
                share = Fraction(gpus)
            users[u][t] = share
            total = sum(Fraction(book.weight[j]) for j in here)
            for j in here:
                if t < end[j]:
                    part = share * Fraction(book.weight[j]) / total
                    fair[j] += min(Fraction(int(book.gpus[j])), part)
    for s in run.schedule:
        for t in range(s.start, s.end):
            held[int(book.user[s.job])][t] += sum(s.gpus.values())
    return fair, users, held


@given(runs())
def test_fair_time_is_the_sum_over_seconds(run: Run) -> None:
    fair, users, held = by_seconds(run)
    np.testing.assert_allclose(metrics.fair_time(run), [float(f) for f in fair], rtol=1e-12)
    times = np.arange(run.now + 1)
    totals = [[float(f) for f in accumulate(row, initial=Fraction(0))] for row in users]
    np.testing.assert_allclose(metrics.user_fair_time(run, times), totals, rtol=1e-12)
    counts = [list(accumulate(row, initial=0)) for row in held]
    assert metrics.user_attained_time(run, times).tolist() == counts
    assert metrics.busy_time(run, times).tolist() == np.sum(counts, axis=0).tolist()


@given(runs())
def test_the_accounting_of_a_driver_agrees(run: Run) -> None:
    book = run.records
    np.testing.assert_allclose(metrics.fair_time(run), book.fair, rtol=1e-9)
    both = book.fair + book.fair_before
    np.testing.assert_allclose(metrics.fair_time(run, "release"), both, rtol=1e-9)
    assert metrics.attained_time(run).tolist() == book.held.tolist()


@pytest.mark.parametrize("policy", [LtgfPolicy(), Fifo(), Srtf()])
@pytest.mark.parametrize("until", [None, 4_000])
def test_the_driver_itself_agrees(policy: Any, until: int | None) -> None:
    rng = np.random.default_rng(3)
    users = [User("a", weight=3), User("b"), User("c", weight=0.3)]
    jobs = [
        Job(
            id=f"j{j}",
            gpus=int(rng.choice([1, 2, 3, 8, 11])),
            user="abc"[rng.integers(3)],
            release=int(rng.integers(0, 4_000)),
            work=int(rng.integers(1, 900)),
            weight=float(rng.choice([1.0, 0.7])),
        )
        for j in range(120)
    ]
    instance = Instance(Cluster.of_sizes([4, 4, 2]), jobs, users)
    run = drive(instance, policy, lease=120, overhead=7, until=until)
    book = run.records
    np.testing.assert_allclose(metrics.fair_time(run), book.fair, rtol=1e-9)
    both = book.fair + book.fair_before
    np.testing.assert_allclose(metrics.fair_time(run, "release"), both, rtol=1e-9)
    assert metrics.attained_time(run).tolist() == book.held.tolist()
    lost = metrics.preemptions(run)[book.finished]
    assert lost.tolist() == (book.starts - 1)[book.finished].tolist()
    assert book.rejected.any()


# --- always --------------------------------------------------------------------------------------


@given(runs(stopped=False))
def test_what_always_holds(run: Run) -> None:
    book = run.records
    jct, waits = metrics.completion_time(run), metrics.wait_time(run)
    np.testing.assert_array_equal(jct, waits + book.work)  # no overhead here
    assert (waits >= 0).all()
    assert (metrics.slowdown(run) >= 1).all()
    assert metrics.attained_time(run).tolist() == (book.gpus * book.work).tolist()
    end = [run.now]
    assert metrics.user_attained_time(run, end).sum() == metrics.attained_time(run).sum()
    # what jobs have a right to is no more than what their users have
    owned = np.bincount(book.user, metrics.fair_time(run), len(run.users))
    assert (owned <= metrics.user_fair_time(run, end)[:, 0] * (1 + 1e-12)).all()
    assert metrics.user_fair_time(run, end).sum() <= run.gpus * run.now * (1 + 1e-12)
    assert (metrics.busy_time(run, end) <= metrics.wanted_time(run, end)).all()
    lives = metrics.preemptions(run) + 1
    assert lives.tolist() == np.bincount(run.schedule.job, minlength=len(book)).tolist()
    for until in ("arrivals", "end"):
        share = metrics.utilisation(run, until)  # type: ignore[arg-type]
        assert share is None or 0 <= share <= 1


@given(runs(), st.integers(1, 40))
def test_windows_add_up(run: Run, length: int) -> None:
    edges = metrics.window_edges(run, length)
    assert edges[0] == 0
    assert edges[-1] == run.now
    fair = np.diff(metrics.user_fair_time(run, edges))
    found = metrics.window_rho(run, length)
    np.testing.assert_array_equal(np.isnan(found), fair == 0)
    total = np.nansum(found * fair, axis=1)
    held = metrics.user_attained_time(run, [run.now])[:, 0]
    np.testing.assert_allclose(total, held, atol=1e-6)


@given(runs(), st.integers(2, 50))
def test_the_unit_of_time_does_not_matter(run: Run, factor: int) -> None:
    longer = stretched(run, factor)
    for of in (metrics.slowdown, metrics.rho, metrics.user_rho):
        np.testing.assert_allclose(of(longer), of(run), rtol=1e-9)
    np.testing.assert_allclose(
        metrics.window_rho(longer, 20 * factor), metrics.window_rho(run, 20), rtol=1e-9
    )


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_jobs_and_users_does_not_matter(run: Run, random: object) -> None:
    book, plan = run.records, run.schedule
    jobs = np.array(random.sample(range(len(book)), len(book)))  # type: ignore[attr-defined]
    users = np.array(random.sample(range(len(run.users)), len(run.users)))  # type: ignore[attr-defined]
    columns = {
        name: np.array(getattr(book, name))[jobs]
        for name in book.__dataclass_fields__
        if name != "id"
    }
    columns["user"] = np.argsort(users)[columns["user"]]
    back = np.argsort(jobs)
    events = replace(run.events, job=back[run.events.job])
    moved = replace(
        run,
        records=replace(book, **columns),
        users=tuple(run.users[u] for u in users),
        user_weight=run.user_weight[users],
        events=events,
        schedule=replace(plan, job=back[plan.job]) if len(plan) else plan,
    )
    np.testing.assert_allclose(metrics.rho(moved), metrics.rho(run)[jobs], rtol=1e-12)
    np.testing.assert_allclose(metrics.user_rho(moved), metrics.user_rho(run)[users], rtol=1e-12)
    one, two = metrics.summary(run), metrics.summary(moved)
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert two[name] == (None if value is None else pytest.approx(value))


def test_many_segments_of_large_jobs_add_up_exactly() -> None:
    rng = np.random.default_rng(0)
    n, nodes = 20_000, 50
    start = rng.integers(0, 10**7, n)
    jobs = [Job(id=f"j{j}", gpus=8 * nodes, work=10**6, release=0) for j in range(4)]
    base = run_of(jobs, [], sizes=[8] * nodes, now=2 * 10**7)
    plan = Schedule(
        job=rng.integers(0, 4, n),
        start=start,
        end=start + rng.integers(1, 10**6, n),
        ptr=np.arange(n + 1) * nodes,
        node=np.tile(np.arange(nodes), n),
        gpus=np.full(n * nodes, 8),
    )
    run = replace(base, schedule=plan)
    times = [3, 5 * 10**6, 10**7, 2 * 10**7]
    exact = [
        sum(
            400 * max(0, min(e, t) - s)
            for s, e in zip(plan.start.tolist(), plan.end.tolist(), strict=True)
        )
        for t in times
    ]
    assert metrics.busy_time(run, times).tolist() == exact


def test_a_random_run_is_one() -> None:
    # the generator of this file's cases preempts, and leaves jobs unfair
    jobs = [Job(id=f"j{j}", gpus=1 + j % 3, release=7 * j, work=40) for j in range(12)]
    run = random_run(jobs, [], 4, np.random.default_rng(0))
    assert metrics.preemptions(run).sum() > 5
    assert 0 < (metrics.rho(run) < 0.95).sum() < 12


def test_before_the_last_arrival_only_what_was_simulated_counts() -> None:
    jobs = [Job(id="a", gpus=1, work=10), Job(id="b", gpus=1, work=10, release=80)]
    run = run_of(jobs, [Segment(0, 0, 10, {0: 1})], sizes=[2], now=20)
    assert metrics.utilisation(run) == 10 / (2 * 20)
    assert metrics.completion_time(run).tolist() == pytest.approx([10, NAN], nan_ok=True)
    assert np.isnan(metrics.rho(run)).tolist() == [False, True]


def test_utilisation_begins_with_the_first_arrival() -> None:
    """By hand: 2 GPUs, jobs from 30 and 70 on; 30 GPU seconds until 70, 50 until 90."""
    jobs = [Job(id="a", gpus=1, work=30, release=30), Job(id="b", gpus=2, work=10, release=70)]
    segments = [Segment(0, 40, 70, {0: 1}), Segment(1, 80, 90, {0: 2})]
    run = run_of(jobs, segments, sizes=[2])
    assert metrics.utilisation(run) == 30 / (2 * (70 - 30))
    assert metrics.utilisation(run, "end") == (30 + 20) / (2 * (90 - 30))
    later = run_of(
        [replace(job, release=job.release + 500) for job in jobs],
        [replace(s, start=s.start + 500, end=s.end + 500) for s in segments],
        sizes=[2],
    )
    assert metrics.utilisation(later) == metrics.utilisation(run)
    assert metrics.utilisation(later, "end") == metrics.utilisation(run, "end")


def test_rejected_jobs_share_with_nobody() -> None:
    jobs = [Job(id="a", gpus=1, work=10), Job(id="b", gpus=9, work=10)]
    run = run_of(jobs, [Segment(0, 0, 10, {0: 1})], sizes=[2], rejected={1: "too wide"})
    assert metrics.fair_time(run).tolist() == [10, 0]


def test_service_leaves_overhead_and_lost_work_out() -> None:
    run = hand_run()  # d is resumed with 25 s of overhead, e too, after a kill that cost 60 s
    assert metrics.service_time(run).tolist() == [6 * 200, 2 * 50, 0, 150, 100]
    assert metrics.attained_time(run).tolist() == [6 * 200, 2 * 50, 0, 175, 185]


# --- several GPU models --------------------------------------------------------------------------


def mixed() -> tuple[Run, Instance[Job]]:
    """In rounds of 10 s: a and b on the 2 new GPUs until 15 and 30, c on the old ones until 40.

    a: 30 s of work at twice the speed. b: 8 s at 0.8 of it, from round 20 on. c: pinned.
    """
    cluster = Cluster([Node("n0", 2, "old"), Node("n1", 2, "new")])
    jobs = [
        Job(id="a", gpus=2, work=30, user="u", speeds={"old": 1, "new": 2}),
        Job(id="b", gpus=2, work=8, user="v", speeds={"new": 0.8}),
        Job(id="c", gpus=2, work=40, user="v", speeds={"old": 1, "new": 2}, pin="old"),
        Job(id="d", gpus=3, work=40, user="v"),
    ]
    instance = Instance(cluster, jobs, [User("u"), User("v")])
    return drive(instance, Fifo(blocking=False), round_length=10, lease=10, overhead=0), instance


def test_slowdowns_are_over_the_time_on_the_fastest_model() -> None:
    run, instance = mixed()
    assert run.records.end.tolist() == [15, 30, 40, -1]
    assert metrics.ideal_time(run)[:3].tolist() == [15, 10, 40]
    assert metrics.slowdown(run)[:3].tolist() == [1, 3, 1]
    assert metrics.objectives(run)["slowdown"] == 5
    assert metrics.summary(run)["mean_slowdown"] == pytest.approx(5 / 3)
    fewer = replace(instance, jobs=instance.jobs[:2])
    with pytest.raises(ValueError, match="run of 'fifo': it is of another instance"):
        metrics.slowdown(replace(run, instance=None).attach(fewer))
    with pytest.raises(ValueError, match=r"its instance, of hash \w{12}, is not known: give it"):
        metrics.slowdown(replace(run, instance=None))


def test_service_is_gpu_time_on_any_model() -> None:
    run, _ = mixed()
    assert metrics.service_time(run).tolist() == [30, 20, 80, 0]


def test_work_of_users_by_hand() -> None:
    """60 and 96 GPU seconds of work in 40 s; quotas of 2 GPUs, wanted until rounds 20 and 40.

    At the mean speeds of all models, a does 1.5, b 0.4 and c 0.5 s of work in a second.
    """
    run, _ = mixed()
    assert metrics.user_work(run).tolist() == [60 / 40, 96 / 40]
    shares = metrics.user_work_rho(run)
    assert shares.tolist() == pytest.approx([60 / 1.5 / 40, (16 / 0.4 + 80 / 0.5) / 80])


def test_on_equal_gpus_the_work_of_users_is_their_service() -> None:
    run = hand()
    jobs = [replace(job, speeds={"": 1}) for job in JOBS]
    served = metrics.service_time(run)
    run = replace(run, instance=Instance(Cluster.of_sizes([2, 2]), jobs, USERS))
    fair = metrics.user_fair_time(run, [run.now])[:, 0]
    wanted = [served[:2].sum() / fair[0], served[2] / fair[1]]
    assert metrics.user_work_rho(run).tolist() == pytest.approx(wanted)
    assert metrics.ideal_time(run).tolist() == run.records.work.tolist()


def test_a_run_is_summarised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    once = together.jobs.fair_times
    monkeypatch.setattr(together.jobs, "fair_times", lambda run: calls.append(1) or once(run))
    run, _ = mixed()
    first = metrics.summary(run)
    first["makespan"] = None  # everybody has a copy
    assert metrics.summary(run)["makespan"] == 40
    assert calls == [1]
    assert metrics.summary(replace(run, runtime=2.0))["makespan"] == 40
    assert len(calls) == 2
    assert pickle.loads(pickle.dumps(run)).measured == {}
