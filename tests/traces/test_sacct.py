"""The sacct reader on files made here in the documented format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_sacct
from log_files import text

NAMES = "JobID|User|Account|Partition|Submit|Start|End|ElapsedRaw|State|AllocTRES|ReqTRES"


def row(**fields: object) -> str:
    """A completed job of 4 GPUs and 60 seconds, but for `fields`."""
    given = {
        "JobID": "100", "User": "ann", "Account": "lab", "Partition": "gpu",
        "Submit": "2024-01-05T10:00:00", "Start": "2024-01-05T10:01:00",
        "End": "2024-01-05T10:02:00", "ElapsedRaw": 60, "State": "COMPLETED",
        "AllocTRES": "billing=8,cpu=8,gres/gpu=4,mem=64G,node=1",
        "ReqTRES": "billing=8,cpu=8,gres/gpu=4,mem=64G,node=1", **fields,
    }  # fmt: skip
    assert "|".join(given) == NAMES
    return "|".join(map(str, given.values()))


def test_rows_become_jobs(tmp_path: Path) -> None:
    rows = [
        row(User="bob", Submit="2024-01-05T10:00:30"),
        row(JobID="100.batch", User="", Partition=""),
        row(JobID="100.0", User="", Partition=""),
        row(JobID="101_4", Submit="2024-01-05T09:59:00", State="CANCELLED by 1000"),
        row(JobID="102+1", ElapsedRaw=86_400, State="OUT_OF_ME+"),
    ]
    trace = read_sacct(text(tmp_path / "jobs.txt", NAMES, *rows))
    assert trace.jobs == (
        Job(id="101_4", gpus=4, user="ann", release=0, work=60),
        Job(id="102+1", gpus=4, user="ann", release=60, work=86_400),
        Job(id="100", gpus=4, user="bob", release=90, work=60),
    )
    assert trace.users == (User("ann"), User("bob"))
    assert (trace.name, trace.origin) == ("jobs", "2024-01-05 09:59:00")
    assert str(trace.report) == (
        "5 rows read, 3 jobs, 2 skipped (job step: 2 [line 3, line 4]); "
        "out of order: 1 [line 5], sorted; "
        "State of the jobs: CANCELLED: 1, COMPLETED: 1, OUT_OF_ME: 1"
    )


def without(*dropped: str) -> list[str]:
    """The header and a row without some columns."""
    keep = [i for i, name in enumerate(NAMES.split("|")) if name not in dropped]
    return ["|".join(line.split("|")[i] for i in keep) for line in (NAMES, row())]


@pytest.mark.parametrize(
    ("dropped", "chosen", "user"),
    [
        ([], None, "ann"),
        ([], "User", "ann"),
        ([], "Account", "lab"),
        ([], "Partition", "gpu"),
        (["User"], None, "lab"),
        (["User", "Account"], None, "gpu"),
    ],
)
def test_the_user_is_a_column(
    tmp_path: Path, dropped: list[str], chosen: str | None, user: str
) -> None:
    trace = read_sacct(text(tmp_path / "x", *without(*dropped)), user=chosen)
    assert trace.users == (User(user),)


def test_a_column_of_users_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = text(tmp_path / "x", *without("Account"))
    with pytest.raises(ValueError, match=r"line 1: column 'Account' occurs 0 times, not once$"):
        read_sacct(path, user="Account")
    with pytest.raises(ValueError, match="user='Group' is not one of 'User', 'Account', 'Partit"):
        read_sacct(path, user="Group")


def test_raw_ids_serve_where_there_are_no_others(tmp_path: Path) -> None:
    header, line = without()
    path = text(tmp_path / "x", header.replace("JobID", "JobIDRaw"), line)
    assert [job.id for job in read_sacct(path).jobs] == ["100"]
    path = text(tmp_path / "x", f"JobIDRaw|{header}", f"777|{line}")
    assert [job.id for job in read_sacct(path).jobs] == ["100"]


def test_a_separator_at_the_end_does_no_harm(tmp_path: Path) -> None:
    """As `--parsable` prints it."""
    path = text(tmp_path / "x", NAMES + "|", row() + "|")
    assert len(read_sacct(path).jobs) == 1


def test_quotation_marks_are_plain_text(tmp_path: Path) -> None:
    path = text(tmp_path / "x", f"Comment|{NAMES}", f'"half|{row()}')
    assert len(read_sacct(path).jobs) == 1


@pytest.mark.parametrize(
    ("elapsed", "seconds"),
    [
        ("00:01:05", 65),
        ("01:00:00", 3600),
        ("2-03:04:05", 2 * 86_400 + 3 * 3600 + 4 * 60 + 5),
        ("10-00:00:01", 864_001),
        ("02:03", 123),
    ],
)
def test_elapsed_is_read_where_there_is_no_raw_one(
    tmp_path: Path, elapsed: str, seconds: int
) -> None:
    header, line = without()
    path = text(tmp_path / "x", header.replace("Raw", ""), line.replace("|60|", f"|{elapsed}|"))
    assert [job.work for job in read_sacct(path).jobs] == [seconds]
    both = text(tmp_path / "x", f"Elapsed|{header}", f"{elapsed}|{line}")
    assert [job.work for job in read_sacct(both).jobs] == [60]


def test_without_elapsed_the_times_tell(tmp_path: Path) -> None:
    header, line = without("ElapsedRaw")
    path = text(tmp_path / "x", header, line.replace("10:02:00", "10:03:07"))
    assert [job.work for job in read_sacct(path).jobs] == [127]


TRES = {
    "total": ({"AllocTRES": "cpu=1,gres/gpu=2"}, 2),
    "model": ({"AllocTRES": "cpu=1,gres/gpu:a100=4,node=1"}, 4),
    "models": ({"AllocTRES": "gres/gpu:a100=4,gres/gpu:v100=2"}, 6),
    "total and model": ({"AllocTRES": "gres/gpu:a100=3,gres/gpu=3"}, 3),
    "total and some models": ({"AllocTRES": "gres/gpu=7,gres/gpu:a100=3"}, 7),
    "part of a card": ({"AllocTRES": "gres/gpu:1g.5gb=2"}, 2),
    "other counters": ({"AllocTRES": "gres/gpumem=80G,gres/gpuutil=100,gres/gpu=1"}, 1),
    "allocated, not requested": ({"AllocTRES": "gres/gpu=8", "ReqTRES": "cpu=1"}, 8),
    "allocated beats requested": ({"AllocTRES": "gres/gpu=8", "ReqTRES": "gres/gpu=1"}, 8),
    "requested": ({"AllocTRES": "", "ReqTRES": "cpu=1,gres/gpu=16"}, 16),
    "requested, others allocated": ({"AllocTRES": "cpu=1", "ReqTRES": "gres/gpu=16"}, 16),
}


@pytest.mark.parametrize(("fields", "gpus"), TRES.values(), ids=TRES)
def test_gpus_are_read_from_tres(tmp_path: Path, fields: dict[str, str], gpus: int) -> None:
    path = text(tmp_path / "x", NAMES, row(**fields))
    assert [job.gpus for job in read_sacct(path).jobs] == [gpus]


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu:4", 4),
        ("gpu", 1),
        ("gpu:a100:4", 4),
        ("gpu:a100", 1),
        ("gres:gpu:2", 2),
        ("gpu:2(IDX:0-1),craynetwork:0", 2),
        ("gpu:a100:2,gpu:v100:1", 3),
        ("gres/gpu=8", 8),
    ],
)
@pytest.mark.parametrize("column", ["AllocGRES", "ReqGRES"])
def test_gpus_are_read_from_the_older_columns(
    tmp_path: Path, column: str, gres: str, gpus: int
) -> None:
    header, line = without("AllocTRES", "ReqTRES")
    path = text(tmp_path / "x", f"{header}|{column}", f"{line}|{gres}")
    assert [job.gpus for job in read_sacct(path).jobs] == [gpus]


UNUSABLE = {
    "step": ({"JobID": "99.extern", "Start": "Unknown"}, "job step"),
    "pending": (
        {"JobID": "99_[5-10%2]", "Start": "Unknown", "End": "Unknown", "State": "PENDING"},
        "never started",
    ),
    "cancelled early": ({"Start": "None", "State": "CANCELLED by 1"}, "never started"),
    "running": ({"End": "Unknown", "State": "RUNNING"}, "still running"),
    "running, truncated": ({"State": "RUNNING"}, "still running"),
    "suspended": ({"State": "SUSPENDED"}, "still running"),
    "no end": ({"End": "Unknown"}, "still running"),
    "backwards": ({"End": "2024-01-05T10:00:59"}, "end before start"),
    "no gpus": ({"AllocTRES": "cpu=4", "ReqTRES": "cpu=4"}, "no GPUs"),
    "zero gpus": ({"AllocTRES": "gres/gpu=0"}, "no GPUs"),
    "no submission": ({"Submit": "Unknown"}, "unknown submission"),
    "no elapsed": ({"ElapsedRaw": ""}, "unknown duration"),
    "zero": ({"ElapsedRaw": 0}, "zero duration"),
}


@pytest.mark.parametrize(("fields", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_rows_are_counted_by_reason(
    tmp_path: Path, fields: dict[str, object], reason: str
) -> None:
    path = text(tmp_path / "x", NAMES, row(**{"JobID": 99, **fields}), row(State="TIMEOUT"))
    trace = read_sacct(path)
    assert [job.id for job in trace.jobs] == ["100"]
    assert (trace.report.skipped, trace.report.places) == ({reason: 1}, {reason: ("line 2",)})
    assert trace.report.notes == ("State of the jobs: TIMEOUT: 1",)


BAD = {
    "commas": (NAMES.replace("|", ","), row(), "line 1: column 'Submit' occurs 0 times, not once"),
    "no id": (
        NAMES.replace("JobID", "Id"),
        row(),
        "line 1: column 'JobID' occurs 0 times, not once (nor is there JobIDRaw)",
    ),
    "no user": (
        NAMES.replace("User", "a").replace("Account", "b").replace("Partition", "c"),
        row(),
        "line 1: column 'User' occurs 0 times, not once (nor is there Account, Partition)",
    ),
    "no gpus": (
        NAMES.replace("TRES", "Mem"),
        row(),
        "line 1: column 'AllocTRES' occurs 0 times, not once (nor is there ReqTRES, AllocGRES",
    ),
    "state twice": (NAMES + "|State", row() + "|x", "line 1: column 'State' occurs 2 times"),
    "name with a bar": (NAMES, row() + "|x", "line 2: 12 fields, not the 11 of the header"),
    "twice": (NAMES, f"{row()}\n{row()}", "line 3: JobID='100' occurs at line 2 too, it is unique"),
    "empty id": (NAMES, row(JobID=""), "line 2: JobID='' is empty, every row has one"),
    "empty user": (NAMES, row(User=""), "line 2: User='' is empty, every job has one"),
    "empty state": (NAMES, row(State=""), "line 2: State='' is empty, every job has one"),
    "submit": (NAMES, row(Submit="now"), "line 2: Submit='now' is not a time of the form"),
    "start": (NAMES, row(Start="1704448860"), "line 2: Start='1704448860' is not a time of the"),
    "end": (NAMES, row(End="2024-01-05"), "line 2: End='2024-01-05' is not a time of the form"),
    "elapsed": (NAMES, row(ElapsedRaw=-5), "line 2: ElapsedRaw=-5 is below 0"),
    "elapsed word": (NAMES, row(ElapsedRaw="00:01"), "line 2: ElapsedRaw='00:01' is not a number"),
    "elapsed form": (
        NAMES.replace("Raw", ""),
        row(ElapsedRaw="1h"),
        "line 2: Elapsed='1h' is not of the form [[D-]HH:]MM:SS",
    ),
    "gpus": (
        NAMES,
        row(AllocTRES="gres/gpu=-1"),
        "line 2: AllocTRES='gres/gpu=-1' has GPUs that are not an integer",
    ),
    "gpus word": (
        NAMES,
        row(AllocTRES="gres/gpu:a100=many"),
        "line 2: AllocTRES='gres/gpu:a100=many' has GPUs that are not an integer",
    ),
}


@pytest.mark.parametrize(("header", "line", "message"), BAD.values(), ids=BAD)
def test_malformed_files_are_refused(tmp_path: Path, header: str, line: str, message: str) -> None:
    path = text(tmp_path / "x", header, line)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_sacct(path)
