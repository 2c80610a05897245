"""The sacct reader on files made here in the documented format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_sacct
from log_files import FORMATS, text

NAMES, row = FORMATS["sacct"].header, FORMATS["sacct"].row


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
    "allocated, not requested": ({"AllocTRES": "gres/gpu=8", "ReqTRES": "cpu=1"}, 8),
    "allocated beats requested": ({"AllocTRES": "gres/gpu=8", "ReqTRES": "gres/gpu=1"}, 8),
    "requested": ({"AllocTRES": "", "ReqTRES": "cpu=1,gres/gpu=16"}, 16),
    "requested, others allocated": ({"AllocTRES": "cpu=1", "ReqTRES": "gres/gpu=16"}, 16),
}


@pytest.mark.parametrize(("fields", "gpus"), TRES.values(), ids=TRES)
def test_gpus_are_read_from_tres(tmp_path: Path, fields: dict[str, str], gpus: int) -> None:
    path = text(tmp_path / "x", NAMES, row(**fields))
    assert [job.gpus for job in read_sacct(path).jobs] == [gpus]


@pytest.mark.parametrize("column", ["AllocGRES", "ReqGRES"])
def test_gpus_are_read_from_the_older_columns(tmp_path: Path, column: str) -> None:
    header, line = without("AllocTRES", "ReqTRES")
    path = text(tmp_path / "x", f"{header}|{column}", f"{line}|gpu:a100:2,gpu:v100:1")
    assert [job.gpus for job in read_sacct(path).jobs] == [3]


WRONG_COLUMNS = {
    "no id": ("JobID", "Id", "'JobID' occurs 0 times, not once (nor is there JobIDRaw)"),
    "no user": (
        "User|Account|Partition",
        "a|b|c",
        "'User' occurs 0 times, not once (nor is there Account, Partition)",
    ),
    "no gpus": (
        "TRES",
        "Mem",
        "'AllocTRES' occurs 0 times, not once (nor is there ReqTRES, AllocGRES",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS)
def test_columns_for_which_none_stands_are_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = text(tmp_path / "x", NAMES.replace(old, new), row())
    with pytest.raises(ValueError, match=re.escape(f"{path}: line 1: column {message}")):
        read_sacct(path)


def test_an_elapsed_time_of_another_form_is_refused(tmp_path: Path) -> None:
    path = text(tmp_path / "x", NAMES.replace("Raw", ""), row(ElapsedRaw="1h"))
    with pytest.raises(ValueError, match=r"line 2: Elapsed='1h' is not of the form \[\[D-\]HH:"):
        read_sacct(path)
