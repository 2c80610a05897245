"""JSON files of instances, schedules and allocations, with a format version.

Every file is one object with ``"format": "gangsched"``, ``"version": 1`` and ``"kind"``. Keys are
sorted, separators fixed and default values left out, so the same object always gives the same
bytes. A path that ends in ``.gz`` is compressed. Whatever is wrong with a file is a ``ValueError``
that names the place, the value and the rule.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
import math
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from functools import partial
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import jobs
from .jobs import Job
from .model import Cluster, Instance, Node, User
from .remembered import remembered
from .schedule import Allocation, Schedule

FORMAT, VERSION = "gangsched", 1
MAX_SEGMENTS = 10_000
JOB_KINDS: dict[str, type[Job]] = {
    "job": Job,
    "ring": jobs.RingJob,
    "deadline": jobs.DeadlineJob,
    "parameter-server": jobs.ParameterServerJob,
}
#: fields of a job that hold a record, which says of what kind it is
TAGGED: dict[str, dict[str, type[Any]]] = {
    "stopping": {"iterations": jobs.Iterations, "target": jobs.TargetMetric},
    "utility": {"linear": jobs.Linear, "power": jobs.Power, "table": jobs.Table},
}
#: fields of a job that a hash knows only where they say something: earlier versions had none
LATER_FIELDS = frozenset(("pod", "after", "limit", "queue"))
T = TypeVar("T")
Thing = Instance[Any] | Schedule | Allocation
Dict = dict[str, Any]
COLUMNS = ("job", "start", "end", "ptr", "node", "gpus")
OPTIONAL_COLUMNS = ("ps", "device")


# --- whole files ---------------------------------------------------------------------------------


def save(path: str | Path, thing: Thing) -> None:
    """Write an instance, a schedule or an allocation as JSON; compressed if `path` ends in .gz.

    Parameters
    ----------
    path : str or Path
    thing : Instance, Schedule or Allocation

    Raises
    ------
    TypeError
        If `thing` is none of these.
    ValueError
        If a schedule has more than 10,000 segments.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.json"
    >>> instance = Instance(Cluster.uniform(nodes=1, gpus_per_node=2), [Job(id="a", gpus=1)])
    >>> save(path, instance)
    >>> load(path) == instance
    True
    """
    save_as(path, thing, CODECS)


def load(path: str | Path) -> Thing:
    """Read what :func:`save` wrote; the file says what it is.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Instance, Schedule or Allocation

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If anything in it breaks the format; the message names file, place, value and rule.
    """
    found: Thing = load_as(path, CODECS)
    return found


class Codec(NamedTuple):
    """How things of some classes are written as JSON, and read."""

    types: tuple[type[Any], ...]
    write: Callable[[Any], Dict]
    read: Callable[[Any], Any]


def save_as(path: str | Path, thing: Any, codecs: Mapping[str, Codec]) -> None:
    """Write a thing by the codec of its class."""
    for types, write, _ in codecs.values():
        if isinstance(thing, types):
            return write_json(path, write(thing))
    kinds = ", ".join(one.__name__ for _, codec in sorted(codecs.items()) for one in codec.types)
    raise TypeError(f"{path}: a file holds one of {kinds}, not a {type(thing).__name__}")


def load_as(path: str | Path, codecs: Mapping[str, Codec]) -> Any:
    """Read a file by the codec of its kind."""
    data = read_json(path)
    try:
        return codecs[check_header(data, *sorted(codecs))].read(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def json_text(data: Any) -> str:
    """Return `data` as canonical JSON."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def write_json(path: str | Path, data: Any) -> None:
    """Write `data` as canonical JSON: sorted keys, no spaces, a newline at the end, no NaN."""
    raw = json_text(data).encode("ascii")
    write_file(path, gzip.compress(raw, mtime=0) if str(path).endswith(".gz") else raw)


def write_file(path: str | Path, content: bytes | str) -> None:
    """Write a file as a whole: whoever reads it finds the old content or the new one.

    The content goes to a file beside it, which then takes its place. Where that fails, as on a full
    disk, the old file stays as it is. Devices and pipes are written to directly.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_file(path, "one")
    >>> write_file(path, "two")
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('two', 1)
    """
    raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with naming(path):
        place = Path(path).resolve()
        if place.exists() and not place.is_file():
            place.write_bytes(raw)
            return
        draft = draft_of(place)
        try:
            draft.write_bytes(raw)
            if place.exists():
                shutil.copymode(place, draft)
            os.replace(draft, place)
        finally:
            draft.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """Return the name of this process's draft beside a file or folder.

    A process that is killed leaves it there, and nobody reads it.
    """
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let an OSError name this file: one of a write names none, and one of a draft the draft."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(path)) from error


#: what a compressed file may unpack to
MOST_BYTES = 2**30


def read_json(path: str | Path) -> Any:
    """Return the content of a JSON file, compressed or not."""
    return parse_json(path, read_text(path))


def parse_json(place: object, text: str) -> Any:
    """Return what JSON says; `place` begins the refusals."""
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique_keys,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{place}: {where}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{place}: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def read_bytes(path: str | Path, first: int = -1) -> bytes:
    """Return the content of a file, or its first bytes; gzip is recognised by content, not name."""
    with Path(path).open("rb") as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            return file.read(first)
        most = MOST_BYTES + 1 if first < 0 else first
        store, packed = BytesIO(), gzip.GzipFile(fileobj=file)
        try:
            while piece := packed.read(min(2**16, most - store.tell())):
                store.write(piece)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path}: damaged gzip data: {error}") from None
    if store.tell() > MOST_BYTES:
        raise ValueError(f"{path}: unpacks to more than {MOST_BYTES:,} bytes: unpack it yourself")
    return store.getvalue()


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file, compressed or not."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8 text") from None


def text_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their ends, compressed or not.

    Other signs than those of Unix, Windows and old Macs end no line, where Python knows more.
    """
    for line in re.finditer(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+", read_text(path)):
        yield line[0]


# --- instances -----------------------------------------------------------------------------------


def instance_to_dict(instance: Instance[Any]) -> Dict:
    """Return `instance` as plain JSON data; fields at their default are left out.

    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1)])
    >>> instance_to_dict(instance)["jobs"]
    [{'kind': 'job', 'id': 'a', 'gpus': 1}]
    """
    names = {kind: name for name, kind in JOB_KINDS.items()}
    for job in instance.jobs[:1]:  # they are of one kind
        if type(job) not in names:
            raise TypeError(f"job {job.id!r}: a file has no kind for a {type(job).__name__}")
    data = {
        **header("instance"),
        "cluster": {"nodes": [record_to_dict(node) for node in instance.cluster.nodes]},
        "jobs": [{"kind": names[type(job)], **record_to_dict(job)} for job in instance.jobs],
    }
    if instance.users:
        data["users"] = [record_to_dict(user) for user in instance.users]
    plain = {"slot": 1, "name": ""}
    return data | {k: getattr(instance, k) for k, v in plain.items() if getattr(instance, k) != v}


def instance_from_dict(data: Any) -> Instance[Any]:
    """Return the instance that :func:`instance_to_dict` wrote.

    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1)])
    >>> instance_from_dict(instance_to_dict(instance)) == instance
    True
    """
    check_header(data, "instance")
    names = {"cluster", "jobs"}, {"users", "slot", "name"}
    check_fields("instance", _body(data), required=names[0], optional=names[1])
    check_fields("cluster", data["cluster"], required={"nodes"})
    nodes = _records("cluster.nodes", data["cluster"]["nodes"], lambda _place, _item: Node)
    made = _records("jobs", data["jobs"], _job_kind)
    users = _records("users", data.get("users", []), lambda _place, _item: User)
    rest = {name: data[name] for name in ("slot", "name") if name in data}
    return _valid("", lambda: Instance(Cluster(tuple(nodes)), tuple(made), tuple(users), **rest))


@remembered
def instance_hash(instance: Instance[Any]) -> str:
    """Return a SHA-256 of everything that an instance holds but its name.

    Examples
    --------
    >>> small = Cluster.of_sizes([2])
    >>> one, other = Instance(small, [], name="a"), Instance(small, [], name="b")
    >>> instance_hash(one) == instance_hash(other), len(instance_hash(one))
    (True, 64)
    """
    total = hashlib.sha256()
    for things in (instance.cluster.nodes, instance.users, instance.jobs):
        total.update(f"{len(things)} {sorted({type(thing).__name__ for thing in things})}".encode())
        for name in [part.name for part in fields(things[0])] if things else ():
            column = list(map(attrgetter(name), things))
            if name in LATER_FIELDS and not any(column):
                continue
            if name == "speeds":
                column = [sorted(value.items()) if value else () for value in column]
            total.update(f"{name}={column!r}".encode())
    total.update(repr(instance.slot).encode())
    return total.hexdigest()


def _kind_of(place: str, item: Dict) -> Any:
    if "kind" not in item:
        raise ValueError(f"{place}: field 'kind' is missing")
    return item["kind"]


def _job_kind(place: str, item: Dict) -> type[Job]:
    return JOB_KINDS[_one_of(f"{place}: kind=", _kind_of(place, item), JOB_KINDS)]


def record_to_dict(record: Any) -> Dict:
    """Return a node, a user, a job or a part of one; fields at their default are left out."""
    data = {}
    for field in fields(record):
        value, default = getattr(record, field.name), default_of(field)
        if default is MISSING or value != default:
            data[field.name] = tagged(value)
    return data


def default_of(field: Field[Any]) -> Any:
    """Return the default of a record's field, MISSING where there is none."""
    factory: Any = field.default_factory
    return field.default if factory is MISSING else factory()


def tagged(value: Any) -> Any:
    """Return the value of a field as JSON has it; a record says of what kind it is."""
    if isinstance(value, Mapping):
        return dict(value)
    for kinds in TAGGED.values():
        for name, kind in kinds.items():
            if isinstance(value, kind):
                return {"kind": name, **record_to_dict(value)}
    return value


def _records(place: str, items: Any, kind_of: Callable[[str, Dict], type[Any]]) -> list[Any]:
    if not isinstance(items, list):
        raise ValueError(f"{place}={_shown(items)} is not a list")
    made = []
    for i, item in enumerate(items):
        here = f"{place}[{i}]"
        _object(here, item)
        kind = kind_of(here, item)
        made.append(_record(here, kind, _without_kind(item) if issubclass(kind, Job) else item))
    return made


def _record(place: str, kind: type[T], values: Dict) -> T:
    every = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    optional = {name for name, field in every.items() if default_of(field) is not MISSING}
    check_fields(place, values, required=set(every) - optional, optional=optional)
    tagged = {
        name: _tagged(f"{place}: job {_shown(values['id'])}: {name}", values[name], TAGGED[name])
        for name in TAGGED.keys() & values.keys()
    }
    return _valid(place, lambda: kind(**{**values, **tagged}))


def _tagged(place: str, data: Any, kinds: Mapping[str, type[Any]]) -> Any:
    _object(place, data)
    kind = kinds[_one_of(f"{place} kind ", _kind_of(place, data), kinds)]
    return _record(place, kind, _without_kind(data))


def _without_kind(data: Dict) -> Dict:
    return {name: value for name, value in data.items() if name != "kind"}


# --- schedules and allocations -------------------------------------------------------------------


def schedule_to_dict(schedule: Schedule) -> Dict:
    """Return `schedule` as plain JSON data, column by column."""
    if len(schedule) > MAX_SEGMENTS:
        raise ValueError(
            f"schedule: {len(schedule)} segments, a file holds at most {MAX_SEGMENTS}: "
            "save it in a folder that ends in .parquet or .csv"
        )
    used = {"ps": schedule.ps.any(), "device": schedule.device.size}
    names = [*COLUMNS, *(name for name in OPTIONAL_COLUMNS if used[name])]
    return {**header("schedule"), **{name: getattr(schedule, name).tolist() for name in names}}


def schedule_from_dict(data: Any) -> Schedule:
    """Return the schedule that :func:`schedule_to_dict` wrote.

    >>> from gangsched.instances import Segment
    >>> schedule = Schedule.of([Segment(0, 0, 4, {1: 2})])
    >>> schedule_from_dict(schedule_to_dict(schedule)) == schedule
    True
    """
    check_header(data, "schedule")
    optional = set(OPTIONAL_COLUMNS)
    check_fields("schedule", _body(data), required=set(COLUMNS), optional=optional)
    columns = {name: _column(name, values) for name, values in _body(data).items()}
    if len(columns["job"]) > MAX_SEGMENTS:
        raise ValueError(
            f"schedule: {len(columns['job'])} segments, a file holds at most {MAX_SEGMENTS}"
        )
    return _valid("", partial(Schedule, **columns))


def _column(name: str, values: Any) -> Any:
    if not isinstance(values, list):
        raise ValueError(f"schedule: {name}={_shown(values)} is not a list")
    for i, value in enumerate(values):
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise ValueError(f"schedule: {name}[{i}]={_shown(value)} is not a 64-bit integer")
    return values


def allocation_to_dict(allocation: Allocation) -> Dict:
    """Return `allocation` as plain JSON data.

    >>> allocation_to_dict(Allocation(("a",), ("v100",), [[1.5]]))["shares"]
    [[1.5]]
    """
    return {
        **header("allocation"),
        "users": list(allocation.users),
        "models": list(allocation.models),
        "shares": allocation.shares.tolist(),
    }


def allocation_from_dict(data: Any) -> Allocation:
    """Return the allocation that :func:`allocation_to_dict` wrote.

    >>> allocation = Allocation(("a",), ("v100",), [[1.5]])
    >>> allocation_from_dict(allocation_to_dict(allocation)) == allocation
    True
    """
    check_header(data, "allocation")
    check_fields("allocation", _body(data), required={"users", "models", "shares"})
    check_values("allocation", data, {"users": TEXTS, "models": TEXTS})
    users, models, shares = data["users"], data["models"], data["shares"]
    if not isinstance(shares, list) or len(shares) != len(users):
        raise ValueError(f"allocation: shares is not a list of {len(users)} rows, one a user")
    for u, row in enumerate(shares):
        _share_row(f"allocation: shares[{u}]", row, len(models))
    size = len(users), len(models)
    return _valid("", lambda: Allocation(users, models, np.array(shares, float).reshape(size)))


def _share_row(place: str, row: Any, length: int) -> None:
    if not isinstance(row, list) or len(row) != length:
        raise ValueError(f"{place}={_shown(row)} is not a list of {length} numbers, one a model")
    for m, share in enumerate(row):
        if isinstance(share, bool) or not isinstance(share, (int, float)):
            raise ValueError(f"{place}[{m}]={_shown(share)} is not a number")


# --- checks that other file formats use too ------------------------------------------------------


def header(kind: str) -> Dict:
    """Return the three fields that every file of the project starts with.

    >>> header("instance")
    {'format': 'gangsched', 'version': 1, 'kind': 'instance'}
    """
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def check_header(data: Any, *kinds: str) -> str:
    """Return the kind of a file's content; refuse another format, version or kind.

    Examples
    --------
    >>> check_header({"format": "gangsched", "version": 2, "kind": "schedule"})
    Traceback (most recent call last):
        ...
    ValueError: version=2 is not supported, only 1 is
    """
    _object("the file's content", data)
    for name in ("format", "version", "kind"):
        if name not in data:
            raise ValueError(f"field {name!r} is missing")
    if data["format"] != FORMAT:
        raise ValueError(f"format={_shown(data['format'])} is not {FORMAT!r}")
    if type(data["version"]) is not int or data["version"] != VERSION:
        raise ValueError(f"version={_shown(data['version'])} is not supported, only {VERSION} is")
    return _one_of("kind=", data["kind"], list(kinds) or sorted(CODECS))


def check_fields(
    place: str, data: Any, *, required: set[str], optional: set[str] | None = None
) -> None:
    """Refuse an object with a field too many or too few.

    Examples
    --------
    >>> check_fields("jobs[3]", {"id": "a", "gpu": 2}, required={"id", "gpus"})
    Traceback (most recent call last):
        ...
    ValueError: jobs[3]: unknown field 'gpu' (did you mean 'gpus'?)
    """
    _object(place, data)
    known = sorted(required | (optional or set()))
    for name in data:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            raise ValueError(f"{place}: unknown field {name!r} ({hint})")
    for name in sorted(required):
        if name not in data:
            raise ValueError(f"{place}: field {name!r} is missing")


#: whether a value is right, and the rule in words
Rule = tuple[Callable[[Any], bool], str]
TEXT: Rule = lambda value: isinstance(value, str), "a string"
INTEGER: Rule = lambda value: type(value) is int, "an integer"
FLAG: Rule = lambda value: type(value) is bool, "true or false"
LIST: Rule = lambda value: isinstance(value, list), "a list"
OBJECT: Rule = lambda value: isinstance(value, dict), "an object"


def list_of(rule: Rule, text: str) -> Rule:
    """Return the rule of lists of what is right by a rule."""
    return lambda value: isinstance(value, list) and all(map(rule[0], value)), text


def or_null(rule: Rule) -> Rule:
    """Return the rule that allows null too."""
    return lambda value: value is None or rule[0](value), f"{rule[1]} or null"


TEXTS = list_of(TEXT, "a list of strings")


def check_values(place: str, data: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Refuse an object with a value that breaks the rule of its field.

    Examples
    --------
    >>> check_values("bound", {"method": 3}, {"method": TEXT})
    Traceback (most recent call last):
        ...
    ValueError: bound: method=3 is not a string
    """
    for name, (right, rule) in rules.items():
        if not right(data[name]):
            raise ValueError(f"{place}: {name}={_shown(data[name])} is not {rule}")


def plain_data(place: str, data: Any) -> Any:
    """Return nested data as JSON has it; refuse what a file would not give back."""
    if isinstance(data, Mapping):
        for key in data:
            if not isinstance(key, str):
                raise TypeError(f"{place}: key {key!r} is not a string")
        return {key: plain_data(f"{place}[{key!r}]", value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain_data(f"{place}[{i}]", value) for i, value in enumerate(data)]
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"{place}={data} is not finite, a file cannot hold it")
    if data is not None and not isinstance(data, (str, int, float)):
        raise TypeError(f"{place}={data!r} is not plain data, a file cannot hold it")
    return data


def _object(place: str, data: Any) -> None:
    if not isinstance(data, dict):
        raise ValueError(f"{place}: {_shown(data)} is not an object")


def _one_of(what: str, value: Any, known: Sequence[str] | Mapping[str, Any]) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{what}{_shown(value)} is not one of {', '.join(map(repr, known))}")
    return value


def _body(data: Dict) -> Dict:
    return {name: value for name, value in data.items() if name not in header("")}


def _valid(place: str, make: Callable[[], T]) -> T:
    """Call a constructor; what it refuses becomes a ValueError that starts with `place`."""
    try:
        return make()
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{place}: {error}".removeprefix(": ")) from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not allowed, numbers are finite")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not allowed, numbers are finite")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> Dict:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"field {twice!r} occurs twice in one object")
    return data


#: by the kind that stands in files
CODECS: Mapping[str, Codec] = {
    "allocation": Codec((Allocation,), allocation_to_dict, allocation_from_dict),
    "instance": Codec((Instance,), instance_to_dict, instance_from_dict),
    "schedule": Codec((Schedule,), schedule_to_dict, schedule_from_dict),
}
