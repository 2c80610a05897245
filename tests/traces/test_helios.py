"""The Helios readers on files made here in the documented formats, then on the real samples."""

import csv
import re
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_helios, read_vc_sizes
from log_files import FORMATS, text
from malformed import table

HEADER, row = FORMATS["helios"].header, FORMATS["helios"].row
DAYS = "date,vcA,vcB,vcC,total"
SIZES = [DAYS, "2020-06-08,8,16,0,24", "2020-06-10,0,24,8,32"]


LOG = [
    HEADER,
    row(job_id=7, vc="vcB", submit_time="2020-06-09 18:41:05", state="CANCELLED"),
    row(job_id=8, gpu_num=16, node_num=2, duration=675233, state="NODE_FAIL"),
    row(job_id=9, vc="vcC", submit_time="2020-06-10 00:00:00", duration=1, state="FAILED"),
]


def test_rows_become_jobs_of_virtual_clusters(tmp_path: Path) -> None:
    trace = read_helios(text(tmp_path / "cluster_log.csv", *LOG))
    assert trace.jobs == (
        Job(id="8", gpus=16, user="vcA", release=0, work=675_233, pod=8),
        Job(id="7", gpus=2, user="vcB", release=4, work=60, pod=2),
        Job(id="9", gpus=2, user="vcC", release=5 * 3600 + 18 * 60 + 59, work=1, pod=2),
    )
    assert trace.users == (User("vcA"), User("vcB"), User("vcC"))
    assert (trace.name, trace.origin) == ("cluster_log", "2020-06-09 18:41:01")
    assert str(trace.report).startswith(
        "3 rows read, 3 jobs; out of order: 1 [line 3], sorted; "
        "state of the jobs: CANCELLED: 1, FAILED: 1, NODE_FAIL: 1; "
    )


# --- sizes ---------------------------------------------------------------------------------------


def test_sizes_of_the_first_day_become_weights(tmp_path: Path) -> None:
    log, sizes = text(tmp_path / "log.csv", *LOG), text(tmp_path / "sizes.csv", *SIZES)
    trace = read_helios(log, sizes=sizes)  # first submission on 9 June: the row of the 8th holds
    assert trace.users == (User("vcA", weight=8), User("vcB", weight=16))
    assert [job.id for job in trace.jobs] == ["8", "7"]
    reason = "virtual cluster without GPUs on 2020-06-09"
    assert trace.report.skipped == {reason: 1}
    assert trace.report.places == {reason: ("line 4",)}
    assert "state of the jobs: CANCELLED: 1, NODE_FAIL: 1" in trace.report.notes


def test_the_day_of_the_sizes_may_be_given(tmp_path: Path) -> None:
    log, sizes = text(tmp_path / "log.csv", *LOG), text(tmp_path / "sizes.csv", *SIZES)
    trace = read_helios(log, sizes=sizes, date="2020-07-01")
    assert trace.users == (User("vcB", weight=24), User("vcC", weight=8))
    # time 0 is the first submission that is left
    assert [(job.id, job.release) for job in trace.jobs] == [("7", 0), ("9", 19_135)]
    assert trace.origin == "2020-06-09 18:41:05"
    with pytest.raises(ValueError, match="date='2020-07-01' is the day of the sizes, but sizes=N"):
        read_helios(log, date="2020-07-01")


def test_a_virtual_cluster_without_jobs_keeps_its_share(tmp_path: Path) -> None:
    log = text(tmp_path / "log.csv", *LOG[:2])
    trace = read_helios(log, sizes=text(tmp_path / "sizes.csv", *SIZES))
    assert trace.users == (User("vcA", weight=8), User("vcB", weight=16))


@pytest.mark.parametrize("header", [",num", "vc,node num"])
def test_nodes_become_gpus(tmp_path: Path, header: str) -> None:
    path = text(tmp_path / "vc_config.csv", header, "vcB,9", "vcA,1", "vcC,0")
    assert read_vc_sizes(path) == (User("vcA", weight=8), User("vcB", weight=72))
    four = read_vc_sizes(path, gpus_per_node=4, date="2020-01-01")
    assert four == (User("vcA", weight=4), User("vcB", weight=36))


@pytest.mark.parametrize(
    ("date", "weights"),
    [
        ("2020-06-08", {"vcA": 8, "vcB": 16}),
        ("2020-06-09", {"vcA": 8, "vcB": 16}),
        ("2020-06-10", {"vcB": 24, "vcC": 8}),
        ("2021-01-01", {"vcB": 24, "vcC": 8}),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_last_row_up_to_a_day_holds(
    tmp_path: Path, date: str, weights: dict[str, int], reverse: bool
) -> None:
    rows = SIZES[:0:-1] if reverse else SIZES[1:]
    path = text(tmp_path / "x.csv", DAYS, *rows)
    users = read_vc_sizes(path, date=date)
    assert {user.id: user.weight for user in users} == weights


BAD_SIZES = table("logs")["sizes"]


@pytest.mark.parametrize(("lines", "date", "message"), BAD_SIZES.values(), ids=BAD_SIZES)
def test_malformed_sizes_are_refused(
    tmp_path: Path, lines: list[str], date: str, message: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=re.escape(message)):
        read_vc_sizes(path, date=date or None)


def test_a_node_has_a_gpu(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gpus_per_node=0 is below 1"):
        read_vc_sizes(tmp_path / "x.csv", gpus_per_node=0)


# --- the real samples ----------------------------------------------------------------------------


def test_the_published_example(traces: Path) -> None:
    path = traces / "helios" / "cluster_log.example.csv"
    trace = read_helios(path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert (trace.report.read, trace.report.skipped, len(rows)) == (3, {}, 3)
    assert [(j.id, j.gpus, j.work, j.user) for j in trace.jobs] == [
        (row["job_id"], int(row["gpu_num"]), int(row["duration"]), row["vc"]) for row in rows
    ]
    assert trace.origin == rows[0]["submit_time"]
    # all three virtual clusters are Earth's
    weighted = read_helios(path, sizes=traces / "helios" / "Earth" / "cluster_gpu_number.csv")
    assert weighted.jobs == trace.jobs
    assert {user.id for user in trace.users} < {user.id for user in weighted.users}


@pytest.mark.parametrize(
    ("day", "gpus", "count"),
    [
        ("2020-04-01", 968, None),
        ("2020-07-07", 1_064, 17),
        ("2020-08-16", 1_264, None),
        ("2020-08-25", 1_064, 16),
        ("2020-09-01", 1_064, 16),
        ("2020-09-02", 1_080, None),
        ("2020-09-30", 1_080, None),  # two days after the last row
    ],
)
def test_the_sizes_of_venus(traces: Path, day: str, gpus: int, count: int | None) -> None:
    users = read_vc_sizes(traces / "helios" / "Venus" / "cluster_gpu_number.csv", date=day)
    assert sum(user.weight for user in users) == gpus
    assert count is None or len(users) == count


def test_the_sizes_of_six_earth_clusters_in_may(traces: Path) -> None:
    users = read_vc_sizes(traces / "helios" / "Earth" / "cluster_gpu_number.csv", date="2020-05-31")
    weights = {user.id: user.weight for user in users}
    stated = {"vcpDC": 56, "vc6YE": 208, "vc3sl": 64, "vc8Sj": 48, "vccaA": 32, "vchbv": 64}
    assert {id: weights[id] for id in stated} == stated


def test_the_nodes_of_philly(traces: Path) -> None:
    users = read_vc_sizes(traces / "philly" / "philly_vc.csv")
    assert (len(users), sum(user.weight for user in users)) == (11, 352 * 8)
