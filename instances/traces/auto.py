"""Recognise the format of a trace by its first bytes and by exactly the columns that it has.

What no reader is for is named: a refusal says what a file looks like and what to do, and is never
that of a reader that the file is not for.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from inspect import signature
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..io import read_bytes
from ..shipped import shipped
from .alibaba import read_alibaba
from .chronus import read_chronus
from .export import read_csv, read_parquet
from .gavel import FORMS, read_gavel
from .helios import read_helios
from .json_logs import read_json
from .philly import read_philly_csv, read_philly_json
from .presets import (
    PRESETS,
    read_acme,
    read_alibaba_dlrm,
    read_alibaba_pai,
    read_alibaba_spot,
    read_itp,
    read_supercloud,
)
from .sacct import in_order, is_row, read_sacct
from .swf import LEAST, read_swf
from .trace import Reader, Trace

__all__ = ["READERS", "Recognised", "read_auto", "recognise"]

_FORMATS = shipped("gangsched.instances.data", "formats").values()
COLUMNS, OTHERS, BINARY, FOREIGN = (dict[str, str](part) for part in _FORMATS)
#: bytes that are looked at
HEAD = 100_000
#: states of Alibaba's tasks, whose table does not name its columns
PAI_STATES = ("Running", "Terminated", "Failed", "Waiting")
#: a comment at the head of the Standard Workload Format, which may be longer than what is looked at
SWF = re.compile(r"[;#]\s*(Version|Computer|UnixStartTime|MaxJobs|MaxNodes|MaxProcs|MaxRecords):")
#: of sacct, whose lines are divided by bars
SACCT = {"Submit", "Start", "End", "State"}
#: fields of a line that can be no names of columns: numbers, and dates
VALUE = re.compile(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?|\d{4}-\d\d-\d\d.*")


class Recognised(NamedTuple):
    """The reader of a file, and why it is that one."""

    reader: str
    reason: str


def recognise(path: str | Path) -> Recognised:
    """Say which reader a file needs.

    Parameters
    ----------
    path : str or Path
        Plain or gzip.

    Returns
    -------
    Recognised

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or looks like something that no reader takes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("job_id,submission_time,duration,num_gpu")
    >>> recognise(path)
    Recognised(reader='itp', reason='columns job_id, submission_time, duration, num_gpu')
    """
    raw = read_bytes(path, HEAD)
    if raw[:4] == b"PAR1":
        return Recognised("parquet", "it begins with PAR1")
    if foreign := _binary(raw, str(path)):
        raise ValueError(f"{path}: {foreign}")
    try:
        decoder = getincrementaldecoder("utf-8-sig")()
        text = decoder.decode(raw, final=len(raw) < HEAD)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8 text") from None
    lines = [line for line in StringIO(text, newline=None) if line.strip()]
    comments = next((i for i, line in enumerate(lines) if not line.startswith((";", "#"))), 0)
    lines = lines[max(comments - 40, 0) :][:50]
    if not lines:
        raise ValueError(f"{path}: line 1: the file is empty")
    found = next(_reasons(lines))
    if found.reader not in READERS:
        raise ValueError(f"{path}: {found.reason}")
    return found


def _binary(raw: bytes, name: str) -> str:
    """What a file is that is no text, by its first bytes; empty for text."""
    if raw.startswith(b"PK") and (b"xl/" in raw or name.endswith(".xlsx")):
        return "a spreadsheet of Excel (.xlsx): save the sheet as CSV"
    if raw[257:262] == b"ustar":
        return "a tar archive: unpack it"
    head = raw[:20].decode("latin-1")
    binary = any(byte < 9 or byte > 126 for byte in raw[:100])
    known = BINARY if binary else {}
    found = next((what for first, what in known.items() if head.startswith(first)), "")
    if not found and name.endswith((".parquet", ".pq")):
        return "its name is one of Parquet, but it does not begin with PAR1"
    return found or (
        "no text: bytes of another format, or UTF-16" if 4 * raw.count(0) > len(raw) else ""
    )


def _reasons(lines: list[str]) -> Iterator[Recognised]:
    """The reader and the reason, the first that is yielded counts; without a reader a refusal."""
    first = lines[0].strip()
    jobs = [line.split() for line in lines if not line.lstrip().startswith((";", "#"))]
    if first.startswith(("[", "{")):
        attempts = first.startswith("[") and re.search(r'"attempts"\s*:\s*\[', "".join(lines))
        yield Recognised("philly-json" if attempts else "json", "it is JSON")
    text = "".join(lines).lstrip()
    for pattern, what in FOREIGN.items():
        if re.match(pattern, text, re.MULTILINE):
            yield Recognised("", what)
    numbers = sum(len(job) >= LEAST and all(map(_is_number, job)) for job in jobs)
    if 2 * numbers > len(jobs):  # what is wrong with the others, its reader says
        yield Recognised("swf", f"lines of {len(jobs[0])} numbers")
    if any(map(SWF.match, lines)):
        yield Recognised("swf", "comments of the Standard Workload Format")
    columns = first.split("\t")
    if len(columns) in FORMS and _is_number(columns[-1]):
        yield Recognised("gavel", f"{len(columns)} columns without names, divided by tabs")
    if len(columns) > 4 and re.search(r"\(batch size \d+\)|python3? ", first):
        known = ", ".join(map(str, FORMS))
        yield Recognised("", f"a trace of Gavel with {len(columns)} columns, not one of {known}")
    bars = first.split("|")
    if (names := set(bars)) >= SACCT and names & {"JobID", "JobIDRaw"}:
        yield Recognised("sacct", f"columns {', '.join(sorted(SACCT))}, divided by bars")
    if in_order(first):
        yield Recognised("sacct", "sacct without a header, in the documented order of columns")
    if is_row(first):
        yield Recognised("", "sacct without a header: export without --noheader")
    fields = [name.strip().strip('"') for name in first.split(",")]
    if len(fields) == len(PRESETS["alibaba-pai"].header) and fields[3] in PAI_STATES:
        yield Recognised("alibaba-pai", f"{len(fields)} columns without names, the 4th a state")
    for reader, known in COLUMNS.items():
        wanted = [name for name in known.split() if name[0] != "("]
        maybe = [name[1:-1] for name in known.split() if name[0] == "("]
        if {*fields} - {*maybe} == {*wanted} and len({*fields}) == len(fields):
            yield Recognised(reader, f"columns {', '.join(wanted)}")
    for known, what in OTHERS.items():
        if " ".join(fields).startswith(known):
            yield Recognised("", what)
    values = re.split(r"[,;\t|]", first)
    if 2 * sum(map(bool, map(VALUE.fullmatch, values))) > len(values):
        yield Recognised("", f"line 1 holds values ({first[:40]}), not the names of columns")
    if len(values) == 1 and len(re.split(r"\s{2,}", first)) > 2:
        yield Recognised("", "columns are divided by spaces: write commas or tabs between them")
    yield Recognised("csv", "no published format has these columns")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-?nan", text, re.I) is not None


def read_auto(path: str | Path, *, models: Collection[str] = (), **options: Any) -> Trace:
    """Read a trace in the format by which it is recognised, and note why.

    Parameters
    ----------
    path : str or Path
    models : collection of str
        GPU models of the cluster, for readers that know columns by them.
    **options
        What the reader of this format takes: columns and tres for the formats csv and parquet, see
        :func:`read_csv`, steps_per_second for gavel, and so on. Where columns are given and the
        format takes none, the file is read as any table.

    Returns
    -------
    Trace

    Raises
    ------
    OSError, ValueError
        As the reader. Where no reader is for the file, the message says what it looks like.
    """
    reader, reason = recognise(path)
    takes = signature(READERS[reader]).parameters
    if options.get("columns") is not None and "columns" not in takes:
        reader, reason = "csv", "columns are given"
        takes = signature(read_csv).parameters
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in takes:
            raise ValueError(f"{path}: {name}={value!r} does not go with its format, {reader}")
    if "models" in takes:
        given["models"] = models
    trace = READERS[reader](path, **given)
    notes = (f"format: {reader}, as {reason}", *trace.report.notes)
    return replace(trace, report=replace(trace.report, notes=notes))


#: the readers of job logs, by the names of their formats
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        read.__name__.removeprefix("read_").replace("_", "-"): read
        for read in (
            read_auto, read_csv, read_parquet, read_acme, read_alibaba, read_alibaba_dlrm,
            read_alibaba_pai,
            read_alibaba_spot, read_chronus, read_gavel, read_helios, read_itp, read_json,
            read_philly_csv, read_philly_json, read_sacct, read_supercloud, read_swf,
        )
    }
)  # fmt: skip
