"""Traces become ring-all-reduce instances that keep gang sizes and the order of run times."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.formulations.irmp.problem import Irmp
from gangsched.instances import Cluster, Job, Node, ReadReport, RingJob, Trace, User
from gangsched.instances.convert import (
    between,
    to_instance,
    to_rar_instance,
    to_revenue_instance,
    without,
)
from gangsched.instances.generate import offered_load
from gangsched.instances.io import instance_hash
from gangsched.instances.revenue import revenue_instance
from gangsched.instances.traces import read_csv, read_helios, read_philly_csv

CLUSTER = Cluster.of_sizes([4, 4])


def trace(*jobs: Job) -> Trace:
    users = tuple(User(id) for id in sorted({job.user for job in jobs if job.user}))
    return Trace(name="log", jobs=jobs, users=users, report=ReadReport(read=len(jobs)))


def rows(*pairs: tuple[int, int]) -> tuple[Job, ...]:
    return tuple(
        Job(id=f"r{i}", gpus=gpus, work=work, release=10 * i, user=f"u{i % 2}")
        for i, (gpus, work) in enumerate(pairs)
    )


def tau(job: RingJob) -> float:
    """Eq. (8) inside one server with b^i = C = 50, xi2 = .0001."""
    return job.base_time + 1e-4 + 3 * job.gradient * (job.gpus - 1) / job.gpus / 50


def test_run_times_are_mapped_by_rank_to_the_papers_slots() -> None:
    log = trace(*rows((1, 500), (2, 7), (8, 10**6), (1, 500), (4, 60)))
    made = to_rar_instance(log, CLUSTER).instance
    # ranks 2, 0, 4, 3 (the later of two equal ones), 1 of five: steps of 62.5 slots
    expected = [175, 50, 300, 237.5, 112.5]
    assert [job.iterations * tau(job) for job in made.jobs] == pytest.approx(expected, abs=1e-5)
    assert [job.gpus for job in made.jobs] == [1, 2, 8, 1, 4]
    assert [job.user for job in made.jobs] == ["u0", "u1", "u0", "u1", "u0"]
    assert {job.release for job in made.jobs} == {0}
    assert made.users == log.users
    assert made.cluster == CLUSTER


@given(
    st.lists(st.tuples(st.integers(1, 8), st.integers(1, 10**7)), max_size=12), st.integers(0, 5)
)
def test_jobs_stay_in_the_papers_ranges(pairs: list[tuple[int, int]], seed: int) -> None:
    log = trace(*rows(*pairs))
    made = to_rar_instance(log, CLUSTER, seed=seed).instance
    for job in made.jobs:
        assert 1000 <= job.iterations <= 6000
        assert 0.01 - 1e-9 <= tau(job) <= 0.05 + 1e-9
        assert 50 - 1e-5 <= job.iterations * tau(job) <= 300 + 1e-5
        assert (job.gradient == 0) == (job.gpus == 1)
    slots = {job.id: job.iterations * tau(job) for job in made.jobs}
    for one, two in pairwise(sorted(log.jobs, key=lambda job: (job.work, job.release))):
        assert slots[one.id] < slots[two.id]


def test_gangs_beyond_the_cluster_are_rejected_and_do_not_count() -> None:
    log = trace(*rows((9, 5), (1, 6), (128, 7), (8, 8), (2, 9)))
    made = to_rar_instance(log, CLUSTER, jobs=2, pick="first")
    assert made.rejected == (
        ("r0", "job 'r0': gpus=9 exceeds the cluster's 8"),
        ("r2", "job 'r2': gpus=128 exceeds the cluster's 8"),
    )
    assert [job.id for job in made.instance.jobs] == ["r1", "r3"]
    assert str(made).splitlines() == [
        "log: 2 of 3 jobs that fit (the first), 2 rejected",
        "gang sizes kept, run times mapped by rank to 50..300 slots, every release set to 0",
        "job 'r0': gpus=9 exceeds the cluster's 8",
        "job 'r2': gpus=128 exceeds the cluster's 8",
    ]


def test_long_lists_of_rejected_jobs_are_cut_in_the_text_only() -> None:
    made = to_rar_instance(trace(*rows(*[(9, 5)] * 8)), CLUSTER)
    assert len(made.rejected) == 8
    assert str(made).splitlines()[-1] == "... and 3 more"


def test_a_sample_has_no_job_twice_and_keeps_the_order() -> None:
    log = trace(*rows(*[(1, 5)] * 40))
    samples = [
        [int(job.id[1:]) for job in to_rar_instance(log, CLUSTER, jobs=10, seed=s).instance.jobs]
        for s in range(30)
    ]
    assert all(sample == sorted(set(sample)) and len(sample) == 10 for sample in samples)
    assert samples[0] != samples[1]
    assert {i for sample in samples for i in sample} == set(range(40))
    again = to_rar_instance(log, CLUSTER, jobs=10, seed=1)
    assert again == to_rar_instance(log, CLUSTER, jobs=10, seed=1)


def test_a_job_without_run_time_is_refused() -> None:
    with pytest.raises(ValueError, match="job 'x': work=None, a conversion by run time needs one"):
        to_rar_instance(trace(Job(id="x", gpus=1)), CLUSTER)


# --- replays -------------------------------------------------------------------------------------

# row0 to row4: 1, 4, 8, 2, 9 GPUs, one every 10 s, of u0, u1, u0, u1, u0
LOG = trace(*rows((1, 5), (4, 60), (8, 7), (2, 9), (9, 3)))


def test_a_replay_has_the_jobs_as_they_were() -> None:
    made = to_instance(LOG, CLUSTER)
    assert made.instance.jobs == LOG.jobs[:4]
    assert made.instance.cluster == CLUSTER
    assert made.rejected == (("r4", "job 'r4': gpus=9 exceeds the cluster's 8"),)
    assert str(made).splitlines() == [
        "log: 4 of the 5 jobs, 1 rejected",
        "2 users, weight by requested GPUs: u0 9, u1 6",
        "job 'r4': gpus=9 exceeds the cluster's 8",
    ]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ((10, 30), [("r1", 0), ("r2", 10)]),  # the end is not part of it
        ((5, None), [("r1", 5), ("r2", 15), ("r3", 25)]),
        ((None, 20), [("r0", 0), ("r1", 10)]),
        ((-60, 20), [("r0", 60), ("r1", 70)]),  # before the first submission nobody submits
        ((0, 10**6), [("r0", 0), ("r1", 10), ("r2", 20), ("r3", 30)]),
    ],
)
def test_a_window_starts_at_time_zero(window: Any, expected: list[tuple[str, int]]) -> None:
    made = to_instance(LOG, CLUSTER, window=window)
    assert [(job.id, job.release) for job in made.instance.jobs] == expected


def test_weights_count_only_the_jobs_that_are_replayed() -> None:
    for window, jobs, expected in (
        ((None, None), None, {"u0": 9, "u1": 6}),  # not the 9 GPUs of r4
        ((None, None), 3, {"u0": 9, "u1": 4}),
        ((10, 30), None, {"u0": 8, "u1": 4}),
        ((30, None), None, {"u1": 2}),
    ):
        made = to_instance(LOG, CLUSTER, window=window, jobs=jobs).instance
        assert {user.id: user.weight for user in made.users} == expected


def test_weights_can_be_equal_or_given() -> None:
    equal = to_instance(LOG, CLUSTER, weights="equal")
    assert equal.instance.users == (User("u0"), User("u1"))
    assert equal.notes[1] == "2 users, weight 1 each: u0 1, u1 1"
    given = to_instance(LOG, CLUSTER, weights={"u1": 2, "u9": 0.5, "u0": 7})
    assert given.instance.users == (User("u0", 7), User("u1", 2), User("u9", 0.5))
    assert given.notes[1] == "3 users, weight as given: u0 7, u1 2, u9 0.5"


def test_jobs_without_users_make_an_instance_without_users() -> None:
    made = to_instance(trace(Job(id="a", gpus=1, work=5)), CLUSTER)
    assert (made.instance.users, made.notes[1]) == ((), "no users")


def test_every_job_that_can_never_run_is_listed() -> None:
    cluster = Cluster((Node("n0", 8, "v100"), Node("n1", 4, "k80"), Node("n2", 4, "k80")))
    log = trace(
        Job(id="fits", gpus=8, work=5, pin="k80"),
        Job(id="wide", gpus=17, work=5, pin="t4"),
        Job(id="model", gpus=1, work=5, pin="t4"),
        Job(id="of model", gpus=9, work=5, pin="v100"),
        Job(id="endless", gpus=1),
        Job(id="any model", gpus=9, work=5),
        Job(id="pod", gpus=8, work=5, pod=8, pin="k80"),
        Job(id="pods", gpus=9, work=5, pod=3, speeds={"v100": 1}),
        Job(id="room", gpus=6, work=5, pod=3, pin="k80"),
    )
    made = to_instance(log, cluster, jobs=1)
    assert [job.id for job in made.instance.jobs] == ["fits"]
    assert [reason for _, reason in made.rejected] == [
        "job 'wide': gpus=17 exceeds the cluster's 16",
        "job 'model': pin='t4' is not a model of the cluster",
        "job 'of model': gpus=9 exceeds the cluster's 8 of model 'v100'",
        "job 'endless': work=None, a replay needs run times",
        "job 'any model': gpus=9 exceeds the cluster's 8 of any one model",
        "job 'pod': pod=8, no node of model 'k80' has so many GPUs",
        "job 'pods': gpus=9 exceeds the cluster's 8 of any one model",
    ]


def test_whoever_is_left_out_holds_nobody_but_whom_it_waited_for_does() -> None:
    """row2 is too wide and row7 has no row: row4 still waits for row1, by way of row2."""
    log = trace(
        Job(id="row1", user="a", gpus=1, work=5),
        Job(id="row2", user="a", gpus=9, work=5, after=["row1"]),
        Job(id="row3", gpus=1, work=5, release=9, after=["row1"], user="b"),
        Job(
            id="row4", user="a", gpus=1, work=5, after=["row2", "row3", "row7"], release=9, limit=7
        ),
    )
    made = to_instance(log, Cluster.of_sizes([8]))
    assert [job.after for job in made.instance.jobs] == [(), ("row1",), ("row3", "row1")]
    assert "not among these, and waited for by nobody: predecessors of 1 job" in made.notes
    late = to_instance(log, Cluster.of_sizes([8]), window=(9, None)).instance.jobs
    assert [(job.id, job.after, job.limit) for job in late] == [
        ("row3", (), None), ("row4", ("row3",), 7),
    ]  # fmt: skip
    less = without(log, users=["b"]).jobs
    assert [(job.id, job.after) for job in less] == [
        ("row1", ()), ("row2", ("row1",)), ("row3", ("row2", "row1")),
    ]  # fmt: skip


def dated(origin: str | None) -> Trace:
    return Trace(name="log", jobs=(), origin=origin, report=ReadReport(read=0))


def test_dates_count_from_the_first_submission() -> None:
    log = dated("2017-10-08 23:00:00")
    assert between(log, "2017-10-09", "2017-10-10 00:00:30") == (3600, 25 * 3600 + 30)
    assert between(log, "2017-10-08", None) == (-23 * 3600, None)
    assert between(dated("1999-12-31 23:59:59 UTC"), None, "2000-01-01") == (None, 1)
    assert between(dated(None), None, None) == (None, None)


@pytest.mark.parametrize(
    ("origin", "start", "message"),
    [
        (None, "2017-10-09", "trace 'log': origin=None, dates need a log that tells when it begi"),
        ("2017-10-08 23:00:00", "9.10.2017", "start='9.10.2017' is not a date of the form 2017-"),
        ("2017-10-08 23:00:00", "2017-10-09T00:00+02:00", "start='.*' has a time zone, dates are"),
    ],
)
def test_wrong_dates_are_refused(origin: str | None, start: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        between(dated(origin), start, None)


@pytest.mark.slow
def test_the_densest_fortnight_of_philly(traces: Path) -> None:
    log = read_philly_csv(traces / "philly" / "philly.csv.gz")
    cluster = Cluster.uniform(nodes=40, gpus_per_node=8)
    # in whole days from the first submission, 2017-09-07 03:58:57
    whole_days = to_instance(log, cluster, window=(32 * 86_400, 46 * 86_400))
    assert len(whole_days.instance.jobs) + len(whole_days.rejected) == 26_505
    window = between(log, "2017-10-09", "2017-10-23")
    made = to_instance(log, cluster, window=window)
    assert len(made.instance.jobs) + len(made.rejected) == 26_721  # counted in the file's text
    releases = [job.release for job in made.instance.jobs]
    assert 0 <= releases[0] <= releases[-1] < 14 * 86_400
    weights = {user.id: user.weight for user in made.instance.users}
    assert sum(weights.values()) == sum(job.gpus for job in made.instance.jobs)
    assert len(weights) == len({job.user for job in made.instance.jobs})
    assert 0.1 < offered_load(made.instance) < 10


# --- revenue -------------------------------------------------------------------------------------


def hours(*pairs: tuple[int, str]) -> Trace:
    """Jobs of 1, 2, ... GPUs, submitted at these seconds by these users."""
    return trace(
        *(Job(id=f"r{i}", gpus=i + 1, release=at, user=u) for i, (at, u) in enumerate(pairs))
    )


HOURS = hours((0, "vc9"), (3599, "vc9"), (3600, "vc1"), (7201, "vc5"), (86_400, "vc1"))


def test_submissions_are_released_when_their_hour_ends() -> None:
    made, parameters = to_revenue_instance(HOURS, servers=5)
    jobs = made.instance.jobs
    assert [(job.id, job.user, job.release) for job in jobs] == [
        ("r0", "vc9", 1), ("r1", "vc9", 1), ("r2", "vc1", 2), ("r3", "vc5", 3), ("r4", "vc1", 25),
    ]  # fmt: skip
    assert [job.gpus for job in jobs] == [1, 2, 3, 4, 5]
    assert [user.id for user in made.instance.users] == ["vc1", "vc5", "vc9"]
    assert set(parameters["owners"]) == {"vc1", "vc5", "vc9"}
    assert (made.instance.slot, made.rejected) == (3600, ())
    assert made.notes == (
        "log: 5 of the 5 jobs, released at 1 to 25 h",
        "3 users of 5 servers; D as requested, the rest drawn (seed 0)",
    )
    assert made.instance.name == "log-revenue-linear-5x5x3-seed0"
    problem = Irmp(made.instance, **parameters)
    assert problem.owners == parameters["owners"]
    assert problem.quotas[:, 0].sum(axis=0).tolist() == [made.instance.cluster.gpus, 5]


@pytest.mark.parametrize(
    ("window", "jobs", "expected"),
    [
        ((3599, None), None, [("r1", 1), ("r2", 1), ("r3", 2), ("r4", 24)]),
        ((-3600, 3600), None, [("r0", 2), ("r1", 2)]),
        ((3000, 86_400), 2, [("r1", 1), ("r2", 1)]),
        ((None, None), 1, [("r0", 1)]),
    ],
)
def test_hours_count_from_the_window(
    window: Any, jobs: int | None, expected: list[tuple[str, int]]
) -> None:
    made, _ = to_revenue_instance(HOURS, window=window, jobs=jobs, servers=4)
    assert [(job.id, job.release) for job in made.instance.jobs] == expected
    assert {user.id for user in made.instance.users} == {job.user for job in made.instance.jobs}


@pytest.mark.parametrize("utility", ["linear", "convex"])
def test_what_a_trace_does_not_tell_is_drawn_as_in_the_synthetic_workload(utility: Any) -> None:
    made, parameters = to_revenue_instance(
        HOURS, servers=9, utility=utility, chunks="drawn", seed=3
    )
    drawn, same = revenue_instance(5, servers=9, users=3, utility=utility, seed=3)
    assert made.instance.cluster == drawn.cluster
    for name in ("gpus", "epochs", "minibatches", "rates", "utility"):
        one, other = ([getattr(job, name) for job in of.jobs] for of in (made.instance, drawn))
        assert one == other
    names = {"u0": "vc1", "u1": "vc5", "u2": "vc9"}
    assert parameters == {**same, "owners": tuple(names[id] for id in same["owners"])}
    requested, _ = to_revenue_instance(HOURS, servers=9, utility=utility, seed=3)
    assert [job.rates for job in requested.instance.jobs] == [job.rates for job in drawn.jobs]


def test_a_trace_without_jobs_or_users_makes_no_revenue() -> None:
    with pytest.raises(ValueError, match="jobs=0 is below 1"):
        to_revenue_instance(trace())
    with pytest.raises(ValueError, match="job 'b': user='', every job needs a user that owns ser"):
        to_revenue_instance(trace(Job(id="a", gpus=1, user="u"), Job(id="b", gpus=1)))


@pytest.mark.slow
def test_a_day_of_philly_makes_a_revenue_instance(traces: Path) -> None:
    log = read_philly_csv(traces / "philly" / "philly.csv.gz")
    window = between(log, "2017-10-09", "2017-10-10")
    made, parameters = to_revenue_instance(log, window=window, jobs=100)
    jobs = made.instance.jobs
    assert len(jobs) == 100
    assert 1 <= jobs[0].release <= jobs[-1].release <= 24
    assert {user.id for user in made.instance.users} == {job.user for job in jobs}
    assert Irmp(made.instance, **parameters).owners == parameters["owners"]


# --- jobs that are left out ----------------------------------------------------------------------

START = datetime(2017, 11, 4)
#: hours since START, seconds of run time (0: a row that is no job), GPUs, user
Row = tuple[float, int, int, str]
PHILLY = "timestamp,duration,num_gpus,cluster", "{time},{work},{gpus},{user}"
HELIOS = "job_id,vc,gpu_num,state,submit_time,duration", "j{k},{user},{gpus},DONE,{time},{work}"
EXPORT = "job,user,GPUs,submit,duration", "{k},{user},{gpus},{time}Z,{work}"
RAN = "job,user,GPUs,submit,start,end", "{k},{user},{gpus},{time},{time},{end}"  #: without waits


def written(path: Path, form: tuple[str, str], rows: list[tuple[int, Row]]) -> Path:
    lines = [form[0]]
    for k, (hour, work, gpus, user) in rows:
        time = START + timedelta(seconds=round(3600 * hour))
        end = time + timedelta(seconds=work)
        lines.append(form[1].format(k=k, time=time, end=end, work=work, gpus=gpus, user=user))
    path.write_text("\n".join([*lines, ""]))
    return path


def gone(row: Row, users: tuple[str, ...]) -> bool:
    """Submitted on 6 or 7 November, or of one of the users."""
    return 48 <= row[0] < 96 or row[3] in users


def same(one: Trace, other: Trace) -> None:
    """They are the same but for the report, and so are instances of them."""
    assert one.jobs == other.jobs
    assert [row[1:] for row in one.rows] == [row[1:] for row in other.rows]
    assert len(one.rows) == len(one.jobs)
    assert (one.users, one.origin, one.report.kept) == (other.users, other.origin, len(other.jobs))
    for how in ("requested", "equal"):
        instances = [to_instance(log, CLUSTER, weights=how).instance for log in (one, other)]  # type: ignore[arg-type]
        assert len({instance_hash(instance) for instance in instances}) == 1


WINDOW = ("2017-11-06", "2017-11-08")
ROWS: list[Row] = [
    (47.99, 60, 1, "a"), (96, 70, 2, "b"), (48, 80, 3, "a"), (1.5, 90, 4, "b"), (0, 10, 1, "c"),
    (200, 50, 9, "a"), (95.99, 5, 1, "b"), (1.5, 91, 2, "d"), (3, 0, 2, "b"), (60, 7, 1, "c"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "read"),
    [
        (PHILLY, read_philly_csv),
        (EXPORT, read_csv),
        (RAN, read_csv),
        (HELIOS, read_helios),
        (HELIOS, partial(read_helios, sizes="sizes.csv")),
    ],
)
def test_what_is_left_out_might_as_well_not_be_in_the_log(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: tuple[str, str],
    read: Callable[[Any], Trace],
) -> None:
    """Jobs, ids, time 0, users and their weights; c, who is first, goes, and nobody else of d."""
    monkeypatch.chdir(tmp_path)
    Path("sizes.csv").write_text("vc,num\na,3\nb,1\nc,1\nd,2\n")
    rows = list(enumerate(ROWS))
    users = ("c", "d")
    full = read(written(Path("log.csv"), form, rows))
    Path("less").mkdir()
    less = read(written(Path("less/log.csv"), form, [r for r in rows if not gone(r[1], users)]))
    same(without(full, windows=[WINDOW], users=users), less)
    if form is RAN:
        assert [row.start for row in less.rows] == [job.release for job in less.jobs]
    assert (full.origin or "")[:19] == "2017-11-04 00:00:00"
    assert (less.origin or "")[:19] == "2017-11-04 01:30:00"


@given(
    st.lists(
        st.tuples(
            st.integers(0, 576).map(lambda k: k / 4),
            st.integers(1, 9_999),
            st.integers(1, 9),
            st.sampled_from("abcd"),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sets(st.sampled_from("abcd"), max_size=3),
)
def test_any_rows_can_be_left_out(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], users: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    some = [(150.0, 1, 1, "e"), (48.0, 1, 1, "e"), *((0.0, 1, 1, user) for user in users)]
    numbered = list(enumerate([*rows, *some]))
    full = read_philly_csv(written(folder / "log.csv", PHILLY, numbered))
    kept = [row for row in numbered if not gone(row[1], tuple(users))]
    less = read_philly_csv(written(folder / "less.csv", PHILLY, kept))
    found = without(full, windows=[WINDOW], users=users)
    assert found.jobs == less.jobs
    assert (found.users, found.origin) == (less.users, less.origin)
    inside = sum(48 <= row[0] < 96 for _, row in numbered)
    assert found.report.skipped["left out, submitted 2017-11-06..2017-11-08"] == inside
    assert found.report.read == len(numbered)
    assert sum(found.report.skipped.values()) == len(numbered) - len(kept)


def test_seconds_and_dates_mean_the_same(tmp_path: Path) -> None:
    full = read_philly_csv(written(tmp_path / "log.csv", PHILLY, list(enumerate(ROWS))))
    dates = without(full, windows=[WINDOW, ("2017-11-12 08:00", "2017-12-01")])
    seconds = without(full, windows=[(48 * 3600, 96 * 3600), (200 * 3600, 10**9)])
    assert dates.jobs == seconds.jobs
    assert dates.origin == seconds.origin == full.origin
    assert dates.report != seconds.report  # each in the words that were given
    assert str(seconds.report) == (
        "10 rows read, 5 jobs, 5 skipped (left out, submitted 172800..345600: 3, "
        "left out, submitted 720000..1000000000: 1, zero duration: 1 [line 10]); "
        "out of order: 5 [line 4, line 5, line 6, ...], sorted"
    )
    assert without(full) == full


def test_ids_of_the_log_are_kept() -> None:
    """Only where all are numbers of rows these count those without what is left out."""
    for ids, left in (
        (("row1", "row4", "row7"), ("row3", "row6")),  # rows between them were no jobs
        (("row1", "row2", "x"), ("row2", "x")),
        (("row1", "row02", "row3"), ("row02", "row3")),
    ):
        jobs = [Job(id=id, gpus=1, release=k, work=1) for k, id in enumerate(ids)]
        assert tuple(job.id for job in without(trace(*jobs), windows=[(0, 1)]).jobs) == left


def test_everything_can_be_left_out() -> None:
    log = trace(*rows((1, 5), (2, 7)))
    empty = without(log, users=["u0", "u1"])
    assert (empty.jobs, empty.users, empty.report.kept) == ((), (), 0)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"windows": [(0, 0)]}, r"window 0\.\.0 ends before it starts$"),
        (
            {"windows": [(5, 9)]},
            r"window 5\.\.9 has none of its jobs, submitted from second 0 to 10",
        ),
        (
            {"windows": [(0, "soon")]},
            r"window 0\.\.soon: trace 'log': origin=None, dates need a log",
        ),
        ({"users": ["u0", "7fo4ca"]}, r"user '7fo4ca' has none of its jobs; did you mean '7f04ca'"),
        ({"users": ["ann"]}, r"trace 'log': user 'ann' has none of its jobs$"),
    ],
)
def test_what_cannot_be_left_out_is_told(what: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        without(
            trace(*rows((1, 5), (2, 7)), Job(id="c", gpus=1, work=1, release=10, user="7f04ca")),
            **what,
        )


def test_a_window_is_of_integers_or_dates() -> None:
    log = dated("2017-10-08 23:00:00")
    with pytest.raises(ValueError, match=r"window 0\.\.soon: end='soon' is not a date of the form"):
        without(log, windows=[(0, "soon")])
    for end in (2.5, True, None):
        with pytest.raises(TypeError, match=rf"window: end={end} is neither an integer nor a date"):
            without(log, windows=[(0, end)])  # type: ignore[list-item]
