"""Reader of logs in JSON: of ``sacct --json``, ``kubectl -o json``, Batsim, and flat objects.

An object of a log becomes a row of texts by column, as a table of CSV has them, and what a column
means follows as it does there. Slurm documentation, "sacct",
https://slurm.schedmd.com/sacct.html; Batsim documentation, "Workload",
https://batsim.readthedocs.io/en/latest/input-workload.html; Kubernetes as in ``kubernetes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..io import parse_json, text_lines
from ..io import read_json as read_json_file
from .export import trace_of
from .kubernetes import kubernetes_doubts, kubernetes_roles, kubernetes_row, list_of
from .names import ROLES, check_header, given_columns
from .objects import Record, Row, at, entries, fields, found, row_of, text_of
from .trace import Reading, Trace
from .tres import tres_ids
from .values import ExportTable

#: numbers by which Slurm says that there is none
NO_VALUE = frozenset(str(2**32 - i) for i in range(1, 17))
#: profiles of Batsim: of a time, and of others one after the other, so many in one another
DEEPEST = 50
DELAYS, SEQUENCES = ("delay", "DelayProfile"), ("composed", "SequentialCompositionProfile")
KNOWN = (
    "sacct --json, kubectl -o json of pods, jobs or workloads, Batsim's workloads and lists of "
    "flat objects are read"
)


def read_json(
    path: str | Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    tres: str | None = None,
    models: Collection[str] = (),
) -> Trace:
    r"""Read a log in JSON: of sacct, kubectl or Batsim, or a list of rows.

    Parameters
    ----------
    path : str or Path
        Plain or gzip: what ``sacct --json`` or ``kubectl get ... -o json`` prints, a workload of
        Batsim, or objects, in a list, in a list under any name, or one a line. What stands deeper
        in them is a column ``outer.inner``.
    columns : str or mapping, optional
        Columns by role, as :func:`read_csv` takes them: names in flat objects, or those in the
        notes.
    tres : str, optional
        Numbers of the resources that are GPUs, as :func:`read_csv` takes them.
    models : collection of str
        GPU models of the cluster, by which columns and types of GPUs are known.

    Returns
    -------
    Trace

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is no JSON, or not of these forms; the message says what it looks like.

    Notes
    -----
    - sacct: as :func:`read_sacct` reads the same jobs, in the forms of all versions of its data
      parser; the limit is ``time/limit``. Older versions have the eligible time in the place of
      the start: where the run time says so, the start is the end minus the run time.
    - Pods, Jobs, Workloads and the like: see the module ``kubernetes``.
    - Batsim: ``res`` are GPUs. Run times are known of profiles that are delays, or sequences of
      them, at most the ``walltime``, which is the limit; other profiles tell no run time without a
      platform, and are skipped and counted.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"submit": 0, "runtime_min": 5, "gpus": 2}\n')
    >>> read_json(path).jobs[0].work
    300
    """
    reading = Reading(path)
    form = _form(reading)
    given = {**form.roles, **given_columns(columns)}
    places: list[str] = []
    rows: list[Mapping[str, str]] = []
    for place, item in zip(form.places, form.items, strict=True):
        try:
            row = form.row(item)
        except ValueError as error:
            raise reading.error(place, str(error)) from None
        if isinstance(row, str):
            reading.rows += 1
            reading.skip(place, row)
        else:
            places.append(place)
            rows.append(row)
    names = list(dict.fromkeys(name for row in rows for name in row))
    names = names or [*filter(None, form.roles.values())]
    texts = {name: [row.get(name, "") for row in rows] for name in names}
    table = ExportTable(reading, places, names, texts)
    check_header(table, given)
    trace = trace_of(table, given, tres=tres_ids(tres), models=models, strict=False)
    notes = (f"JSON of {form.what}", *trace.report.notes)
    doubts = (*form.doubts, *trace.doubts)
    return replace(trace, doubts=doubts, report=replace(trace.report, notes=notes))


class Form(NamedTuple):
    """What a file of JSON is: its objects, how one becomes a row, columns by role, doubts."""

    what: str
    places: Sequence[str]
    items: Sequence[Record]
    row: Callable[[Record], Row]
    roles: Mapping[str, str]
    doubts: Sequence[str] = ()


def _form(reading: Reading) -> Form:
    """Recognise what a file of JSON is."""
    data, places = _parsed(reading.path)
    if isinstance(data, dict) and isinstance(data.get("profiles"), dict):
        jobs = _objects(reading, "jobs", data.get("jobs"))
        row = Batsim(data["profiles"]).row
        return Form("Batsim", _places("jobs", jobs), jobs, row, _only(BATSIM_ROLES))
    if isinstance(data, dict) and (kind := list_of(data)):
        items = _objects(reading, "items", data.get("items", [data]))
        return _kubernetes(reading, kind, _places("items", items), items)
    name = "item"
    if isinstance(data, dict):
        lists = {key: value for key, value in data.items() if entries(value)}
        lists = {"jobs": data["jobs"]} if "jobs" in data else lists
        if isinstance(named := data.get("Jobs"), dict) and entries([*named.values()]):  # of PBS
            lists = {"Jobs": [{"id": key, **job} for key, job in named.items()]}
        if not any(isinstance(value, dict | list) for value in data.values()):
            lists = {"object": [data]}
        if len(lists) != 1:
            keys = ", ".join(map(repr, list(data)[:6]))
            raise ValueError(f"{reading.path}: JSON of an object with {keys}, and no log: {KNOWN}")
        ((name, data),) = lists.items()
    items = _objects(reading, name, data)
    first = items[0]
    places = places or _places(name, items)
    if {"kind", "metadata"} <= set(first):
        return _kubernetes(reading, "", places, items)
    if isinstance(first.get("time"), dict) and "tres" in first:
        return Form("sacct", places, items, _sacct_row, {})
    if {"job_state", "submit_time"} <= set(first) and isinstance(first["submit_time"], dict | int):
        raise ValueError(
            f"{reading.path}: JSON of squeue or scontrol, which has no ended jobs: export with "
            "sacct --json"
        )
    if {"jobid", "attempts"} <= set(first):
        raise ValueError(f"{reading.path}: JSON of Philly's log: the reader philly-json reads it")
    return Form("flat objects", places, items, _flat_row, {})


def _kubernetes(
    reading: Reading, kind: str, places: Sequence[str], items: Sequence[Record]
) -> Form:
    """Objects of Kubernetes, of this kind where they do not say of which."""
    name, roles = kubernetes_roles(reading, kind, items)
    what = f"kubectl, {name}"
    return Form(what, places, items, kubernetes_row, _only(roles), kubernetes_doubts(name, items))


def _parsed(path: Path) -> tuple[Any, list[str]]:
    """What a file of JSON holds; of one with an object a line a list, and the places of these."""
    lines = [(i, line) for i, line in enumerate(text_lines(path), 1) if line.strip()]
    if len(lines) > 1 and all(line[:1] == "{" and line.rstrip()[-1:] == "}" for _, line in lines):
        places = [f"line {i}" for i, _ in lines]
        return [parse_json(f"{path}: line {i}", line) for i, line in lines], places
    return read_json_file(path), []


def _objects(reading: Reading, name: str, items: Any) -> list[Record]:
    """Items of a list, which all have to be objects."""
    if not isinstance(items, list):
        raise ValueError(f"{reading.path}: JSON of a {type(items).__name__}, and no log: {KNOWN}")
    for i, item in enumerate(items):
        if not isinstance(item, dict):
            raise reading.error(f"{name}[{i}]", f"{str(item)[:40]} is not an object: {KNOWN}")
    if not items:
        raise ValueError(f"{reading.path}: JSON with an empty list, which has no jobs")
    return items


def _places(name: str, items: Sequence[Record]) -> list[str]:
    return [f"{name}[{i}]" for i in range(len(items))]


def _only(roles: Mapping[str, str]) -> dict[str, str]:
    """These columns by role, and no column for any other role, but perhaps a GPU model."""
    return {**dict.fromkeys([role for role in ROLES if role != "model"], ""), **roles}


def _flat_row(item: Record, before: str = "") -> dict[str, str]:
    """An object as a row; what stands deeper is named ``outer.inner``."""
    row: dict[str, str] = {}
    for key, value in item.items():
        name = f"{before}{key}"
        pairs = [one for one in map(fields, entries(value)) if "value" in one]
        inner = {text_of(found(one.get("type"), one.get("name"))): one["value"] for one in pairs}
        inner = inner or value
        if not isinstance(inner, dict) or name.count(".") > DEEPEST:
            row[name] = text_of(inner)
        elif len(inner) == 1 and (wrapped := next(iter(inner))) in ("$date", "$oid"):  # of MongoDB
            row[name] = text_of(inner[wrapped])
        else:
            row |= _flat_row(inner, f"{name}.")
    return row


# --- sacct ---------------------------------------------------------------------------------------


def _sacct_row(job: Record) -> Row:
    """The row that sacct prints of a job, with seconds since 1970 for times."""
    row = {name: "" if text in NO_VALUE else text for name, text in row_of("sacct", job).items()}
    times = [row[name] for name in ("Start", "Eligible", "End", "ElapsedRaw", "suspended")]
    if all(text.isdecimal() for text in times):
        start, eligible, end, elapsed, paused = map(int, times)
        if start == eligible and elapsed and 0 < start < end - elapsed - paused:
            row["Start"] = str(end - elapsed - paused)  # older versions have the other one there
    row |= {name: "" for name in ("Start", "Eligible", "End") if row[name] == "0"}
    row["JobID"] = row["job"]
    if row["array"] not in ("", "0") and row["task"]:
        row["JobID"] = f"{row['array']}_{row['task']}"
    elif row["het"] not in ("", "0") and row["part"]:
        row["JobID"] = f"{row['het']}+{row['part']}"
    kept = {name: text for name, text in row.items() if name[0].isupper()}
    both = ("AllocTRES", "allocated"), ("ReqTRES", "requested")
    return kept | {name: _tres(at(job, "tres", own)) for name, own in both}


def _tres(resources: Any) -> str:
    """Resources as sacct prints them: cpu=8,gres/gpu:a100=4."""
    parts = []
    for one in entries(resources):
        type, name, count = (text_of(at(one, key)) for key in ("type", "name", "count"))
        parts.append(f"{type}/{name}={count}" if name else f"{type}={count}")
    return ",".join(parts)


# --- Batsim --------------------------------------------------------------------------------------

BATSIM_ROLES = {
    "id": "id", "submit": "subtime_s", "duration": "delay_s", "gpus": "res", "limit": "walltime_s"
}  # fmt: skip


class Batsim:
    """Rows of a workload of Batsim by its profiles."""

    def __init__(self, profiles: Record) -> None:
        self.profiles = profiles
        self.times: dict[str, float | str] = {}

    def row(self, job: Record) -> Row:
        """Return the row of a job, or why it has no run time."""
        time = self._time(job.get("profile"), 0)
        if isinstance(time, str):
            return time
        limit = job.get("walltime", -1)
        if isinstance(limit, int | float) and limit > 0:
            time = min(time, limit)
        known = {"walltime_s": ""} if limit == -1 else {}
        return {**row_of("batsim", job), "delay_s": text_of(time), **known}

    def _time(self, name: Any, above: int) -> float | str:
        """Seconds of a profile, or why they are not known."""
        profile = self.profiles.get(name) if isinstance(name, str) else None
        if not isinstance(profile, dict):
            raise ValueError(f"profile={name!r} is none of the profiles")
        if above > DEEPEST:
            raise ValueError(f"profile={name!r} is part of itself, or nested too deeply")
        if name not in self.times:
            self.times[name] = self._new_time(name, profile, above)
        return self.times[name]

    def _new_time(self, name: str, profile: Record, above: int) -> float | str:
        kind, parts, repeat = profile.get("type"), profile.get("seq"), profile.get("repeat", 1)
        if kind in DELAYS:
            delay = profile.get("delay")
            if not isinstance(delay, int | float):
                raise ValueError(f"profile={name!r}: delay={delay!r} is not a number")
            return delay
        if kind not in SEQUENCES:
            return f"a profile {text_of(kind)}, which tells no run time"
        if not isinstance(repeat, int):
            raise ValueError(f"profile={name!r}: repeat={repeat!r} is not a number")
        times = [self._time(part, above + 1) for part in entries(parts)]
        unknown = next((time for time in times if isinstance(time, str)), None)
        return unknown or repeat * sum(time for time in times if not isinstance(time, str))
