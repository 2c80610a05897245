"""Job logs in every format, written from the same rows, and what reads them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from gangsched.instances import Trace
from gangsched.instances.traces import READERS, read_gavel
from malformed import table

START = datetime(2020, 6, 9, 18, 0, 0)


@dataclass(frozen=True)
class Line:
    """A job as a log may have it; times in minutes, so that every format can say them."""

    submit: int
    duration: int
    gpus: int
    user: str


def text(path: Path, *lines: str) -> Path:
    """Write a file of these lines."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def when(minutes: int, sign: str = " ") -> str:
    return (START + timedelta(minutes=minutes)).isoformat(sign)


@dataclass(frozen=True)
class Format:
    """A format: a row of it by column, and which columns say what stands in a line."""

    base: Mapping[str, object]
    of: Callable[[int, Line], Mapping[str, object]]
    read: Callable[[str | Path], Trace]
    sign: str = ","
    top: str | None = None  #: the first line; by default the names of the columns
    prefix: str = ""
    users: bool = True
    no_gpus: str = "no GPUs"
    zero: str = "zero duration"
    ids: bool = True  #: that have to be unique

    @property
    def header(self) -> str:
        return self.sign.join(self.base) if self.top is None else self.top

    def row(self, **fields: object) -> str:
        """The row of the base, but for these columns."""
        given = {**self.base, **fields}
        assert given.keys() == self.base.keys()
        return self.sign.join(map(str, given.values()))

    def line(self, number: int, line: Line, **fields: object) -> str:
        """The row of a line, but for these columns."""
        return self.row(**{**self.of(number, line), **fields})

    def log(self, *rows: str) -> str:
        """The rows below the first line."""
        return "".join(f"{row}\n" for row in ([self.header] * bool(self.header)) + [*rows])

    def write(self, rows: list[Line]) -> str:
        """A log of these lines."""
        return self.log(*(self.line(i, row) for i, row in enumerate(rows, 1)))


class PhillyJson(Format):
    """The log of Philly, which is no table."""

    def write(self, rows: list[Line]) -> str:
        return json.dumps([self.of(i, row) for i, row in enumerate(rows, 1)])


class JsonLines(Format):
    """Flat objects, one a line."""

    def row(self, **fields: object) -> str:
        return json.dumps({**self.base, **fields})


def seconds(row: Line, since: int = 0) -> dict[str, int]:
    """Submission and duration of a line, in seconds."""
    return {"submit_time": since + 60 * row.submit, "duration": 60 * row.duration}


def attempt(row: Line) -> dict[str, Any]:
    return {
        "start_time": when(row.submit + 3),
        "end_time": when(row.submit + 3 + row.duration),
        "detail": [{"ip": "m1", "gpus": list(range(row.gpus))}],
    }


ROWS = table("formats")
EPOCH = 1609459200

FORMATS = {
    "acme": Format(
        ROWS["acme"],
        lambda i, r: {
            "job_id": i, "user": r.user, "gpu_num": r.gpus,
            "submit_time": f"{when(r.submit)}+08:00",
            "start_time": f"{when(r.submit + 3)}+08:00",
            "end_time": f"{when(r.submit + 3 + r.duration)}+08:00",
        },
        READERS["acme"], ids=False,
    ),
    "alibaba": Format(
        ROWS["alibaba"],
        lambda i, r: {
            "name": i, "num_gpu": r.gpus, "creation_time": 60 * r.submit,
            "deletion_time": 60 * (r.submit + r.duration) + 7,
            "scheduled_time": 60 * r.submit + 7,
        },
        READERS["alibaba"], users=False,
    ),
    "alibaba-dlrm": Format(
        ROWS["alibaba-dlrm"],
        lambda i, r: {
            "instance_sn": i, "app_name": r.user, "gpu_request": r.gpus,
            "creation_time": 60.0 * r.submit, "scheduled_time": 60.0 * r.submit + 7,
            "deletion_time": 60.0 * (r.submit + r.duration) + 7,
        },
        READERS["alibaba-dlrm"], ids=False,
    ),
    "alibaba-pai": Format(
        ROWS["alibaba-pai"],
        lambda i, r: {
            "task_name": i, "inst_num": f"{r.gpus}.0", "start_time": 60.0 * r.submit,
            "end_time": 60.0 * (r.submit + r.duration),
        },
        READERS["alibaba-pai"], top="", prefix="j/", users=False, ids=False,
    ),
    "alibaba-spot": Format(
        ROWS["alibaba-spot"],
        lambda i, r: {
            "job_name": i, "organization": r.user, "gpu_request": r.gpus, **seconds(r)
        },
        READERS["alibaba-spot"], ids=False,
    ),
    "chronus": Format(
        ROWS["chronus"],
        lambda i, r: {
            "job_id": i, "user": r.user, "num_gpu": r.gpus, "submit_time": r.submit,
            "iterations": 9, "duration": r.duration, "expect_time_list": "9-19",
            "expect_value_list": "10-8", "job_type": "soft",
        },
        READERS["chronus"],
    ),
    "csv": Format(
        ROWS["csv"],
        lambda i, r: {
            "job": i, "owner": r.user, "n_gpus": r.gpus, "queued": when(r.submit),
            "runtime_min": r.duration,
        },
        partial(READERS["csv"], columns="id=job"), sign=";",
    ),
    "gavel": Format(
        ROWS["gavel"],
        lambda i, r: {
            "total_steps": 120 * r.duration, "arrival": f"{60 * r.submit:f}", "gpus": r.gpus
        },
        partial(read_gavel, steps_per_second={"A (batch size 1)": 2}),
        sign="\t", top="", prefix="row", users=False, ids=False,
    ),
    "helios": Format(
        ROWS["helios"],
        lambda i, r: {
            "job_id": i, "vc": r.user, "gpu_num": r.gpus, "submit_time": when(r.submit),
            "start_time": "", "end_time": "", "duration": 60 * r.duration,
        },
        READERS["helios"],
    ),
    "itp": Format(
        ROWS["itp"],
        lambda i, r: {
            "job_id": i, "submission_time": 60 * r.submit, "duration": 60 * r.duration,
            "num_gpu": r.gpus,
        },
        READERS["itp"], users=False,
    ),
    "json": JsonLines(
        {},
        lambda i, r: {
            "id": i, "owner": r.user, "n_gpus": r.gpus, "queued": when(r.submit),
            "runtime_min": r.duration,
        },
        READERS["json"], top="", ids=False,
    ),
    "philly-csv": Format(
        ROWS["philly-csv"],
        lambda i, r: {
            "timestamp": when(r.submit), "duration": 60.0 * r.duration, "num_gpus": r.gpus,
            "cluster": r.user,
        },
        READERS["philly-csv"], prefix="row", ids=False,
    ),
    "philly-json": PhillyJson(
        {},
        lambda i, r: {
            "status": "Pass", "vc": r.user, "jobid": str(i), "user": "x",
            "submitted_time": when(r.submit), "attempts": [attempt(r)],
        },
        READERS["philly-json"], no_gpus="no GPUs in any attempt",
    ),
    "sacct": Format(
        ROWS["sacct"],
        lambda i, r: {
            "JobID": i, "User": r.user, "Submit": when(r.submit, "T"),
            "Start": when(r.submit, "T"), "End": when(r.submit + r.duration, "T"),
            "ElapsedRaw": 60 * r.duration, "AllocTRES": f"cpu=2,gres/gpu={r.gpus}", "ReqTRES": "",
        },
        READERS["sacct"], sign="|",
    ),
    "supercloud": Format(
        ROWS["supercloud"],
        lambda i, r: {
            "id_job": i, "id_user": r.user, "time_submit": EPOCH + 60 * r.submit,
            "time_start": EPOCH + 60 * r.submit + 5,
            "time_end": EPOCH + 60 * (r.submit + r.duration) + 5,
            "tres_alloc": f'"1=40,2=85000,1002={r.gpus}"',
        },
        READERS["supercloud"], ids=False,
    ),
    "swf": Format(
        ROWS["swf"],
        lambda i, r: {
            "job": i, "submit": 60 * r.submit, "run": 60 * r.duration, "allocated": r.gpus,
            "user": r.user,
        },
        READERS["swf"], sign=" ", top="; comment", no_gpus="no processors", zero="zero run time",
    ),
}  # fmt: skip
