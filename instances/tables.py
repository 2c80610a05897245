"""Folders of tables, for what is too long for one JSON file: Parquet or CSV, and a head in JSON.

A folder such as ``night.parquet`` holds one file a table (``events.parquet``) and a head
(``run.json``) with the format version and the SHA-256 of each table. Same content, same bytes (of
Parquet: with the same version of pyarrow). Whatever is wrong with a folder is a ``ValueError`` that
names the file, the place, the value and the rule.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import io
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .io import (
    MOST_BYTES,
    check_fields,
    check_header,
    draft_of,
    header,
    naming,
    read_json,
    write_json,
)
from .schedule import Schedule

Column = NDArray[Any] | Sequence[Any]
Table = Mapping[str, Column]
#: columns of a table with the type of their entries: int, float, bool or str
Kinds = Mapping[str, type]

#: suffixes of folders
FOLDERS = (".parquet", ".csv")
#: tables of a schedule; `devices` only where GPUs have identities
SCHEDULE_TABLES: dict[str, dict[str, type]] = {
    "segments": {"job": int, "start": int, "end": int},
    "entries": {"segment": int, "node": int, "gpus": int, "ps": int},
    "devices": {"device": int},
}


def is_folder(path: str | Path) -> bool:
    """Say whether a path names a folder of tables, by its suffix.

    Examples
    --------
    >>> is_folder("night.parquet"), is_folder("night.json")
    (True, False)
    """
    return Path(path).suffix in FOLDERS


# --- schedules -----------------------------------------------------------------------------------


def save_schedule(path: str | Path, schedule: Schedule) -> None:
    """Write a schedule of any length as a folder of tables.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.instances import Segment
    >>> path = Path(tempfile.mkdtemp()) / "plan.csv"
    >>> schedule = Schedule.of([Segment(0, 5, 9, {2: 4})])
    >>> save_schedule(path, schedule)
    >>> print((path / "entries.csv").read_text(), end="")
    "segment","node","gpus","ps"
    0,2,4,0
    >>> load_schedule(path) == schedule
    True
    """
    save_folder(path, header("schedule"), schedule_tables(schedule))


def load_schedule(path: str | Path) -> Schedule:
    """Read what :func:`save_schedule` wrote."""
    head, tables = load_folder(path, "schedule", SCHEDULE_TABLES, optional={"devices"})
    try:
        check_fields("schedule.json", head, required={*header(""), "tables"})
        return schedule_of(tables)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def schedule_tables(schedule: Schedule) -> dict[str, Table]:
    """Return a schedule as tables of segments, of their entries and, where known, of devices."""
    segment = np.repeat(np.arange(len(schedule)), np.diff(schedule.ptr))
    tables: dict[str, Table] = {
        "segments": {name: getattr(schedule, name) for name in SCHEDULE_TABLES["segments"]},
        "entries": {"segment": segment} | {n: getattr(schedule, n) for n in ("node", "gpus", "ps")},
    }
    if schedule.device.size:
        tables["devices"] = {"device": schedule.device}
    return tables


def schedule_of(tables: Mapping[str, Table]) -> Schedule:
    """Return the schedule of which :func:`schedule_tables` made these tables."""
    segments, entries = tables["segments"], tables["entries"]
    owner = np.asarray(entries["segment"], dtype=np.int64)
    count = len(segments["job"])
    for i in np.flatnonzero((owner < 0) | (owner >= count) | (np.diff(owner, prepend=0) < 0))[:1]:
        raise ValueError(
            f"entries: segment[{i}]={owner[i]} is not a number below {count}, in rising order"
        )
    columns = {**segments, **{name: entries[name] for name in ("node", "gpus", "ps")}}
    if "devices" in tables:
        columns["device"] = tables["devices"]["device"]
    arrays = {name: np.asarray(column, dtype=np.int64) for name, column in columns.items()}
    return Schedule(ptr=np.searchsorted(owner, np.arange(count + 1)), **arrays)


# --- folders -------------------------------------------------------------------------------------


def save_folder(
    path: str | Path,
    head: Mapping[str, Any],
    tables: Mapping[str, Table],
    files: Mapping[str, bytes | None] | None = None,
) -> None:
    """Write tables and a head with their hashes, as a whole.

    The new folder is written beside the old one and takes its place when it is complete; where that
    fails, the old one stays as it is. Files of others in the old one are taken over.
    """
    folder = Path(path)
    if not is_folder(folder):
        raise ValueError(f"{path}: a folder of tables ends in {' or '.join(FOLDERS)}")
    write = _csv_bytes if folder.suffix == ".csv" else partial(_parquet_bytes, _pyarrow(folder))
    front = folder / f"{head['kind']}.json"
    if folder.exists() and not front.exists():
        _check_remains(folder, {f"{name}{folder.suffix}" for name in tables})
    content = {f"{name}{folder.suffix}": write(table) for name, table in tables.items()}
    hashes = {Path(name).stem: hashlib.sha256(raw).hexdigest() for name, raw in content.items()}
    others = files or {}
    content |= {name: raw for name, raw in others.items() if raw is not None}
    with naming(folder), _replaced(folder.resolve(), leave={*content, *others}) as draft:
        for name, raw in content.items():
            (draft / name).write_bytes(raw)
        write_json(draft / front.name, {**head, "tables": hashes})


@contextmanager
def _replaced(folder: Path, leave: set[str]) -> Iterator[Path]:
    """A new folder that takes the place of the old one, with the files of the old one but these."""
    draft, old = draft_of(folder), draft_of(folder.with_name(f"{folder.name}.old"))
    try:
        draft.mkdir()
        yield draft
        if folder.exists():
            os.replace(folder, old)
        os.replace(draft, folder)
        for file in old.iterdir() if old.exists() else ():
            if file.name not in leave and not (folder / file.name).exists():
                os.replace(file, folder / file.name)
    except BaseException:
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    finally:
        for remains in (draft, old):
            shutil.rmtree(remains, ignore_errors=True)


def _check_remains(folder: Path, names: set[str]) -> None:
    if not folder.is_dir():
        raise ValueError(f"{folder}: is a file, not a folder of tables")
    others = sorted(file.name for file in folder.iterdir() if file.name not in names)
    if others:
        raise ValueError(f"{folder}: holds {others[0]!r} and is no folder of tables to replace")


def head_of(path: str | Path, *kinds: str) -> dict[str, Any]:
    """Return the head of a folder of tables."""
    for kind in kinds:
        front = Path(path) / f"{kind}.json"
        if front.exists():
            head = read_json(front)
            try:
                check_header(head, kind)
            except ValueError as error:
                raise ValueError(f"{front}: {error}") from None
            return dict(head)
    if not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such folder")
    files = " or ".join(f"{kind}.json" for kind in kinds)
    raise ValueError(f"{path}: the folder has no {files}")


def load_folder(
    path: str | Path, kind: str, tables: Mapping[str, Kinds], *, optional: set[str] | None = None
) -> tuple[dict[str, Any], dict[str, Table]]:
    """Read a head and tables that :func:`save_folder` wrote."""
    folder, head = Path(path), head_of(path, kind)
    hashes, maybe = head.get("tables"), optional or set()
    place = f"{folder / kind}.json: tables"
    check_fields(place, hashes, required=set(tables) - maybe, optional=maybe)
    read = _read_csv if folder.suffix == ".csv" else partial(_read_parquet, _pyarrow(folder))
    found: dict[str, Table] = {}
    for name, digest in dict(hashes or {}).items():
        file = folder / f"{name}{folder.suffix}"
        if not file.exists():
            raise ValueError(f"{folder}: table {name!r} has no file {file.name}")
        raw = file.read_bytes()
        try:
            found[name] = read(raw, tables[name])
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        if hashlib.sha256(raw).hexdigest() != digest:
            raise ValueError(f"{file}: its SHA-256 is not the one in {kind}.json, it was changed")
    return head, found


def columns_of(place: str, data: Any, kinds: Kinds) -> dict[str, Column]:
    """Return a table that stands in JSON as an object of lists."""
    check_fields(place, data, required=set(kinds))
    return _typed(place, {name: data[name] for name in kinds}, kinds)


# --- columns -------------------------------------------------------------------------------------

TYPES = {int: np.int64, float: np.float64, bool: np.bool_}
RULES = {int: "a 64-bit integer", float: "a finite number", bool: "true or false", str: "a string"}


def _typed(place: str, table: Mapping[str, Any], kinds: Kinds) -> dict[str, Column]:
    """Lists as arrays; refuse what is not of the column's type."""
    columns: dict[str, Column] = {}
    for name, values in table.items():
        if not isinstance(values, list):
            raise ValueError(f"{place}: {name} is not a list")
        kind = kinds[name]
        for i, value in enumerate(values):
            if not _fits(value, kind):
                raise ValueError(f"{place}: {name}[{i}]={value!r} is not {RULES[kind]}")
        columns[name] = values if kind is str else np.array(values, dtype=TYPES[kind])
    _same_length(place, columns)
    return columns


def _fits(value: Any, kind: type) -> bool:
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    if kind is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return type(value) is kind


def _check_names(names: list[str], kinds: Kinds) -> None:
    check_fields("columns", dict.fromkeys(names), required=set(kinds))
    if len(names) > len(kinds):
        raise ValueError(f"columns: {names} has a name twice")


def _same_length(place: str, columns: Table) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{place}: columns have {lengths} entries, not equally many")


def _as_list(column: Column) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


# --- CSV -----------------------------------------------------------------------------------------


def _csv_bytes(table: Table) -> bytes:
    text = io.StringIO(newline="")
    write = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    write.writerow(table)
    columns = map(_as_list, table.values())
    rows = zip(*(map(int, c) if c and isinstance(c[0], bool) else c for c in columns), strict=True)
    write.writerows(rows)
    return text.getvalue().encode()


def _read_csv(raw: bytes, kinds: Kinds) -> Table:
    """A table; messages count rows from 0, the one after the header."""
    text = io.StringIO(raw.decode(), newline="")
    try:
        rows = list(csv.reader(text, strict=True))
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from None
    names = rows[0] if rows else []
    _check_names(names, kinds)
    for i, row in enumerate(rows[1:]):
        if len(row) != len(names):
            raise ValueError(f"row {i} has {len(row)} entries, not {len(names)}")
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else [()] * len(names)
    table = {name: _parsed(name, c, kinds[name]) for name, c in zip(names, columns, strict=True)}
    return _typed("columns", {name: table[name] for name in kinds}, kinds)


def _parsed(name: str, texts: Sequence[str], kind: type) -> list[Any]:
    if kind is str:
        return list(texts)
    values: list[Any] = []
    for i, text in enumerate(texts):
        try:
            value = _FLAGS[text] if kind is bool else kind(text)
        except (KeyError, ValueError):
            rule = "0 or 1" if kind is bool else RULES[kind]
            raise ValueError(f"columns: {name}[{i}]={text!r} is not {rule}") from None
        values.append(value)
    return values


_FLAGS = {"0": False, "1": True}


# --- Parquet -------------------------------------------------------------------------------------


def _pyarrow(path: Path) -> Any:
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{path}: Parquet needs pyarrow: pip install gangsched[parquet]"
        ) from None


def parquet_head(path: str | Path) -> tuple[list[str], int]:
    """Return the names of the columns of any Parquet file, and how many rows it has."""
    with _parquet_file(path) as file:
        return [str(name) for name in file.schema_arrow.names], int(file.metadata.num_rows)


def parquet_columns(path: str | Path, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield names and values of parts of some columns of any Parquet file, part by part.

    Dates and the like are Python's, without nanoseconds.
    """
    size = 0
    with _parquet_file(path) as file:
        for batch in file.iter_batches(4096, columns=list(names)):
            size += batch.nbytes
            if size > MOST_BYTES:
                break
            for name in names:
                yield name, _micro(batch.column(name)).to_pylist()
    if size > MOST_BYTES:
        raise ValueError(f"{path}: unpacks to more than {MOST_BYTES:,} bytes")


def _micro(column: Any) -> Any:
    """Times without nanoseconds, which Python's do not have."""
    kind, arrow = column.type, importlib.import_module("pyarrow")
    if arrow.types.is_timestamp(kind) and kind.unit == "ns":
        return column.cast(arrow.timestamp("us", kind.tz), safe=False)
    if arrow.types.is_duration(kind) and kind.unit == "ns":
        return column.cast(arrow.duration("us"), safe=False)
    return column


@contextmanager
def _parquet_file(path: str | Path) -> Iterator[Any]:
    arrow = _pyarrow(Path(path))
    try:
        with Path(path).open("rb") as file:
            yield arrow.parquet.ParquetFile(file)
    except (arrow.ArrowException, ValueError) as error:
        raise ValueError(f"{path}: not Parquet: {str(error).splitlines()[0]}") from None


def _parquet_bytes(arrow: Any, table: Table) -> bytes:
    types = {"i": arrow.int64(), "f": arrow.float64(), "b": arrow.bool_()}
    arrays = {
        name: arrow.array(column, type=types[column.dtype.kind])
        if isinstance(column, np.ndarray)
        else arrow.array(column, type=arrow.string())
        for name, column in table.items()
    }
    return _written(arrow, arrays)


def parquet_bytes(path: str | Path, columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Return columns as a Parquet file; their types are those of the values."""
    return _written(_pyarrow(Path(path)), columns)


def _written(arrow: Any, columns: Mapping[str, Any]) -> bytes:
    sink = arrow.BufferOutputStream()
    arrow.parquet.write_table(arrow.table(dict(columns)), sink, compression="zstd")
    raw: bytes = sink.getvalue().to_pybytes()
    return raw


def _read_parquet(arrow: Any, raw: bytes, kinds: Kinds) -> Table:
    try:
        table = arrow.parquet.ParquetFile(arrow.BufferReader(raw)).read()
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"not Parquet: {str(error).splitlines()[0]}") from None
    _check_names(table.column_names, kinds)
    types = {int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_(), str: arrow.string()}
    columns: dict[str, Column] = {}
    for name, kind in kinds.items():
        column = table.column(name)
        if column.type != types[kind] or column.null_count:
            given = f"{column.type} with {column.null_count} nulls"
            raise ValueError(f"columns: {name} is {given}, not {types[kind]} without")
        columns[name] = column.to_pylist() if kind is str else column.to_numpy()
        if kind is float and not np.isfinite(columns[name]).all():
            raise ValueError(f"columns: {name} holds what is not {RULES[float]}")
    return columns
