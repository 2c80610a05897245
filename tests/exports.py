"""Twelve exports of one week of jobs, as tools of different kinds write them.

Each has a description in words, as somebody would give it who sends the file, and a function that
writes it with nothing but the standard library. What a reader should find follows from the jobs.
"""

import csv
import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

ORIGIN = datetime(2024, 10, 21, 6, 30, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=2))


@dataclass(frozen=True)
class Entry:
    """A job of the cluster; times in seconds since `ORIGIN`."""

    id: str
    user: str
    nodes: int
    each: int  # GPUs a node
    submit: int
    start: int
    end: int
    state: str

    @property
    def gpus(self) -> int:
        return self.nodes * self.each

    def at(self, moment: str) -> datetime:
        """One of its times as a date."""
        seconds: int = getattr(self, moment)
        return ORIGIN + timedelta(seconds=seconds)


def entries(count: int = 60, seed: int = 0) -> list[Entry]:
    """Jobs in order of submission, the first at `ORIGIN`; not all start at once."""
    rng = random.Random(seed)
    found, submit = [], 0
    for i in range(count):
        start = submit + rng.choice([0, 0, 5, 600, 7200])
        end = start + rng.randint(1, 90_000)
        nodes, each = rng.choice([(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8)])
        state = rng.choice(["COMPLETED", "COMPLETED", "FAILED", "CANCELLED"])
        user = rng.choice(["ann", "bob", "Zoë", "d'Arc"])
        found.append(Entry(f"j{1000 + 7 * i}", user, nodes, each, submit, start, end, state))
        submit += rng.randint(0, 20_000)
    return found


@dataclass(frozen=True)
class Export:
    """How a file is written, and what a reader has to be told."""

    description: str
    write: Callable[[Sequence[Entry]], str | bytes]
    suffix: str = ".csv"
    columns: str = ""  #: what cannot be guessed
    ids: bool = True
    users: bool = True
    dates: bool = True
    local: bool = False  #: its clock is two hours ahead of UTC, and does not say so


EXPORTS: dict[str, Export] = {}


def export(description: str, **more: Any) -> Callable[[Callable[..., Any]], Any]:
    """Enter a function as an export."""

    def enter(write: Callable[..., Any]) -> Any:
        EXPORTS[write.__name__] = Export(description, write, **more)
        return write

    return enter


def table(rows: Sequence[Sequence[Any]], delimiter: str = ",", **more: Any) -> str:
    """Rows as text."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n", **more).writerows(rows)
    return text.getvalue()


def parts(job: Entry) -> tuple[int, int, int]:
    """Hours, minutes and seconds of a run."""
    seconds = job.end - job.start
    return seconds // 3600, seconds // 60 % 60, seconds % 60


@export("Our billing script's table: id, user, gpus, submit and duration, times in epoch seconds.")
def plain(jobs: Sequence[Entry]) -> str:
    rows = [[j.id, j.user, j.gpus, int(j.at("submit").timestamp()), j.end - j.start] for j in jobs]
    return table([["id", "user", "gpus", "submit", "duration"], *rows])


@export(
    "From our Java gateway: camel case, milliseconds since 1970, start and finish, no duration."
)
def milliseconds(jobs: Sequence[Entry]) -> str:
    head = ["jobId", "userName", "submitTimeMs", "startTimeMs", "finishTimeMs", "numGpus"]
    rows = [
        [
            j.id,
            j.user,
            *(int(j.at(m).timestamp() * 1000) for m in ("submit", "start", "end")),
            j.gpus,
        ]
        for j in jobs
    ]
    return table([head, *rows])


@export(
    "A dump of Kubernetes objects: ISO 8601 with Z and fractions, the namespace is the team.",
    columns="id=uid,user=namespace",
)
def kubernetes(jobs: Sequence[Entry]) -> str:
    head = ["name", "uid", "namespace", "gpu_request", "creationTimestamp", "startTime",
            "completionTime", "status"]  # fmt: skip
    times = [
        [f"{j.at(m):%Y-%m-%dT%H:%M:%S}.000000Z" for m in ("submit", "start", "end")] for j in jobs
    ]
    rows = [
        ["train", j.id, j.user, j.gpus, *own, j.state] for j, own in zip(jobs, times, strict=True)
    ]
    return table([head, *rows], quoting=csv.QUOTE_ALL)


@export(
    "Saved by a German Excel: semicolons, decimal commas, days first, run time in hours, BOM.",
    ids=False,
    local=True,
)
def excel(jobs: Sequence[Entry]) -> bytes:
    head = ["Nr.", "User", "GPUs", "Submitted at", "Runtime (h)"]
    rows = [
        [i + 1, j.user, j.gpus, f"{j.at('submit').astimezone(BERLIN):%d.%m.%Y %H:%M:%S}",
         f"{(j.end - j.start) / 3600:.6f}".replace(".", ",")]
        for i, j in enumerate(jobs)
    ]  # fmt: skip
    return ("sep=;\r\n" + table([head, *rows], ";")).encode("utf-8-sig")


@export("From the American site: month first with AM and PM, tabs, elapsed as H:M:S.", local=True)
def american(jobs: Sequence[Entry]) -> str:
    head = ["Job ID", "Owner", "# GPUs", "Submit Time", "Elapsed"]
    rows = [
        [j.id, j.user, j.gpus, f"{j.at('submit').astimezone(BERLIN):%m/%d/%Y %I:%M:%S %p}",
         ":".join(f"{part:02}" for part in parts(j))]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows], "\t")


@export(
    "sacct with our own columns, so no format that you know: bars, TRES, D-HH:MM:SS.", local=True
)
def slurm(jobs: Sequence[Entry]) -> str:
    head = ["JobIDRaw", "Account", "SubmitTime", "Elapsed", "AllocTRES", "Status"]

    def elapsed(seconds: int) -> str:
        days, rest = divmod(seconds, 86400)
        clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        return f"{days}-{clock}" if days else clock

    rows = [
        [j.id, j.user, f"{j.at('submit').astimezone(BERLIN):%Y-%m-%dT%H:%M:%S}",
         elapsed(j.end - j.start),
         f"billing=8,cpu={8 * j.gpus},gres/gpu:a100={j.gpus},gres/gpu={j.gpus},node={j.nodes}",
         j.state]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows], "|")


@export("Written by pandas: an index without a name, timedeltas as text, nanoseconds.", local=True)
def pandas(jobs: Sequence[Entry]) -> str:
    head = ["", "job_id", "user_name", "n_gpus", "submitted", "duration"]
    rows = []
    for i, j in enumerate(jobs):
        days, rest = divmod(j.end - j.start, 86400)
        took = f"{days} days {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.000000"
        time = f"{j.at('submit').astimezone(BERLIN):%Y-%m-%d %H:%M:%S}.000000000"
        rows.append([i, j.id, j.user, j.gpus, time, took])
    return table([head, *rows])


@export("Local times with their offset, which changes when the clocks do; started and ended.")
def offsets(jobs: Sequence[Entry]) -> str:
    change = datetime(2024, 10, 27, 1, tzinfo=UTC)  # summer time ends

    def local(time: datetime) -> str:
        zone = timezone(timedelta(hours=2 if time < change else 1))
        return time.astimezone(zone).isoformat(" ")

    head = ["job", "team", "gpu_num", "queued_at", "started_at", "ended_at"]
    rows = [
        [j.id, j.user, j.gpus, *map(local, map(j.at, ("submit", "start", "end")))] for j in jobs
    ]
    return table([head, *rows])


@export("Nodes and GPUs per node, hours since the log began, minutes of run time.", dates=False)
def relative(jobs: Sequence[Entry]) -> str:
    head = ["id", "user", "num_nodes", "gpus_per_node", "submit_h", "runtime_min"]
    rows = [
        [j.id, j.user, j.nodes, j.each, repr(j.submit / 3600), repr((j.end - j.start) / 60)]
        for j in jobs
    ]
    return table([head, *rows])


@export("Run times in milliseconds, though no name says so, beside start and end in seconds.")
def unnamed_unit(jobs: Sequence[Entry]) -> str:
    head = ["job_id", "user", "submit_time", "start_time", "end_time", "runtime", "num_gpu"]
    rows = [
        [j.id, j.user, *(f"{j.at(m).timestamp():.3f}" for m in ("submit", "start", "end")),
         1000 * (j.end - j.start), j.gpus]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@export(
    "An experiment tracker's: names of its own, no user, 1h 2m 3s.",
    columns="gpus=world size,submit=at,duration=took,id=run",
    users=False,
)
def tracker(jobs: Sequence[Entry]) -> str:
    head = ["run", "at", "took", "world size", "loss"]
    rows = [
        [j.id, f"{j.at('submit'):%a, %d %b %Y %H:%M:%S GMT}",
         "{}h {}m {}s".format(*parts(j)),
         j.gpus, 0.5]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@export(
    "Parquet from the warehouse: timestamps with a zone, a duration, integers.", suffix=".parquet"
)
def warehouse(jobs: Sequence[Entry]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "job_id": pa.array([j.id for j in jobs]),
        "owner": pa.array([j.user for j in jobs]),
        "gpu_count": pa.array([j.gpus for j in jobs], pa.int32()),
        "created_at": pa.array([j.at("submit") for j in jobs], pa.timestamp("us", "UTC")),
        "elapsed": pa.array([timedelta(seconds=j.end - j.start) for j in jobs]),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def write(name: str, folder: Path, jobs: Sequence[Entry]) -> Path:
    """Write an export and return its path."""
    made = EXPORTS[name].write(jobs)
    path = folder / f"{name}{EXPORTS[name].suffix}"
    path.write_bytes(made if isinstance(made, bytes) else made.encode())
    return path
