"""Recognise the format of a trace by its first bytes and the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..io import read_bytes
from .alibaba import COLUMNS as ALIBABA
from .chronus import COLUMNS as CHRONUS
from .export import read_csv, read_parquet
from .gavel import FORMS
from .helios import COLUMNS as HELIOS
from .itp import COLUMNS as ITP
from .philly import COLUMNS as PHILLY
from .presets import ALIBABA_PAI, PRESETS
from .sacct import read_sacct
from .swf import FIELDS
from .trace import Trace

__all__ = ["Recognised", "read_auto", "recognise"]

#: columns by which published formats are known, the most telling ones first
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "chronus": CHRONUS,
    "alibaba": ALIBABA,
    "helios": HELIOS,
    "itp": ITP,
    "philly-csv": PHILLY,
    **{name: preset.names for name, preset in PRESETS.items()},
}
#: states of Alibaba's tasks, whose table does not name its columns
PAI_STATES = ("Running", "Terminated", "Failed", "Waiting")
#: a comment at the head of the Standard Workload Format, which may be longer than what is looked at
SWF = re.compile(r";\s*(Version|Computer|UnixStartTime|MaxJobs|MaxNodes|MaxProcs):")
#: of sacct, whose lines are divided by bars
SACCT = {"Submit", "Start", "End", "State"}


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
        If the file cannot be read, or is no text.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("job_id,submission_time,duration,num_gpu")
    >>> recognise(path)
    Recognised(reader='itp', reason='columns job_id, submission_time, duration, num_gpu')
    """
    raw = read_bytes(path)
    if raw[:4] == b"PAR1":
        return Recognised("parquet", "it begins with PAR1")
    text = raw.decode("utf-8-sig", errors="replace")
    lines = [line for line in text[:100_000].splitlines()[:50] if line.strip()]
    if not lines:
        raise ValueError(f"{path}: line 1: the file is empty")
    return next(_reasons(lines))


def _reasons(lines: list[str]) -> Iterator[Recognised]:
    """The reader and the reason, the first that is yielded counts."""
    first = lines[0].strip()
    jobs = [line.split() for line in lines if not line.lstrip().startswith(";")]
    if first.startswith(("[", "{")):
        yield Recognised("philly-json", "it is JSON")
    if jobs and all(len(job) == len(FIELDS) and all(map(_is_number, job)) for job in jobs):
        yield Recognised("swf", f"lines of {len(FIELDS)} numbers")
    if not jobs and any(map(SWF.match, lines)):
        yield Recognised("swf", "comments of the Standard Workload Format")
    columns = first.split("\t")
    if len(columns) in FORMS and _is_number(columns[-1]):
        yield Recognised("gavel", f"{len(columns)} columns without names, divided by tabs")
    if (names := set(first.split("|"))) >= SACCT and names & {"JobID", "JobIDRaw"}:
        yield Recognised("sacct", f"columns {', '.join(sorted(SACCT))}, divided by bars")
    fields = [name.strip().strip('"') for name in first.split(",")]
    if len(fields) == len(ALIBABA_PAI.header) and fields[3] in PAI_STATES:
        yield Recognised("alibaba-pai", f"{len(fields)} columns without names, the 4th a state")
    names = set(fields)
    for reader, known in COLUMNS.items():
        if names >= set(known):
            yield Recognised(reader, f"columns {', '.join(known)}")
    yield Recognised("csv", "no published format has these columns")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", text) is not None


def read_auto(
    path: str | Path,
    *,
    columns: str | Mapping[str, str] | None = None,
    tres: str | None = None,
) -> Trace:
    """Read a trace in the format by which it is recognised, and note why.

    Parameters
    ----------
    path : str or Path
    columns : str or mapping, optional
        Roles of columns, which only the formats csv and parquet take; see :func:`read_csv`.
    tres : str, optional
        Numbers of the resources that are GPUs, which these and sacct take.

    Returns
    -------
    Trace

    Raises
    ------
    OSError, ValueError
        As the reader.
    """
    from . import READERS

    reader, reason = recognise(path)
    if columns is not None and reader != "parquet":
        reader, reason = "csv", "columns are given"
    if reader in ("csv", "parquet"):
        read = read_parquet if reader == "parquet" else read_csv
        trace = read(path, columns=columns, tres=tres)
    elif tres is not None and reader != "sacct":
        raise ValueError(f"{path}: tres={tres!r} does not go with its format, {reader}")
    else:
        trace = READERS[reader](path) if tres is None else read_sacct(path, tres=tres)
    notes = (f"format: {reader}, as {reason}", *trace.report.notes)
    return replace(trace, report=replace(trace.report, notes=notes))
