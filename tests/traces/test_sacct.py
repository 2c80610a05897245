"""The sacct reader on files made here in the documented format."""

import csv
import re
from pathlib import Path

import pytest

from gangsched.instances import Job, User
from gangsched.instances.traces import read_csv, read_sacct
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
        Job(id="101_4", gpus=4, user="ann", release=0, work=60, queue="gpu"),
        Job(id="102+1", gpus=4, user="ann", release=60, work=86_400, queue="gpu"),
        Job(id="100", gpus=4, user="bob", release=90, work=60, queue="gpu"),
    )
    assert trace.users == (User("ann"), User("bob"))
    assert (trace.name, trace.origin) == ("jobs", "2024-01-05 09:59:00")
    assert str(trace.report).startswith(
        "5 rows read, 3 jobs, 2 skipped (job step: 2 [line 3, line 4]); "
        "out of order: 1 [line 5], sorted; "
        "state of the jobs: CANCELLED: 1, COMPLETED: 1, OUT_OF_ME: 1; columns: id=JobID, "
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
    with pytest.raises(ValueError, match=r"no column 'Account' for user; found: JobID"):
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
    "no id": ("JobID", "Id", "JobID or JobIDRaw"),
    "no user": ("User|Account|Partition", "a|b|c", "User or Account or Partition"),
    "no start": ("Start", "Begin", "Start"),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS)
def test_columns_for_which_none_stands_are_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = text(tmp_path / "x", NAMES.replace(old, new), row())
    with pytest.raises(ValueError, match=re.escape(f"{path}: line 1: no column {message}")):
        read_sacct(path)


def test_each_run_of_a_job_that_ran_again_is_a_job(tmp_path: Path) -> None:
    """As `--duplicates` prints it."""
    rows = [row(JobID=str(i)) for i in range(100, 130)]
    again = row(JobID="105", Submit="2024-01-07T10:00:00")
    trace = read_sacct(text(tmp_path / "x", NAMES, *rows, again))
    assert [job.id for job in trace.jobs][-1] == "105#2"
    assert "ids that occur again, as of jobs that ran again: 1" in trace.report.notes


@pytest.mark.parametrize("sign", [";", ",", "\t"])
def test_the_same_rows_with_other_signs_give_the_same_jobs(tmp_path: Path, sign: str) -> None:
    rows = [
        row(User="", Submit="2024-01-05T10:00:30"),
        row(JobID="100.batch", User=""),
        row(JobID="101_4", Start="Unknown", End="Unknown", State="PENDING", ElapsedRaw=0),
        row(JobID="102", State="CANCELLED by 1000", AllocTRES="", ReqTRES="cpu=1;gres/gpu=2"),
        row(JobID="103", State="RUNNING", End="Unknown"),
        row(JobID="104", End="2024-01-05T09:30:00"),
    ]
    lines = [line.replace(",", ";") if sign == "," else line for line in (NAMES, *rows)]
    bars = text(tmp_path / "x", *(line.replace(";", ",") for line in lines))
    with (tmp_path / "y.csv").open("w") as file:
        table = csv.writer(file, delimiter=sign)
        table.writerows([cell.replace(";", ",") for cell in line.split("|")] for line in lines)
    one, two = read_sacct(bars), read_csv(tmp_path / "y.csv")
    assert one.jobs == two.jobs
    assert one.rows == two.rows
    assert one.report == two.report
    assert dict(one.report.skipped) == {"job step": 1, "never started": 1, "still running": 1}
