"""Public job traces: where they come from, under which licence, and which reader reads them.

They stand in ``instances/data/traces.toml``; nothing of them is part of this project. A hash is of
the unpacked file, so that it does not matter how a file is compressed; those of files that were
held and counted here come with their rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..io import read_bytes
from ..shipped import shipped

__all__ = ["TRACES", "KnownFile", "KnownTrace", "known_files"]


class KnownFile(NamedTuple):
    """A file of a public trace, by its hash.

    Parameters
    ----------
    name : str
        In the place that the trace comes from.
    rows : int or None
        How many it has, one a job; None where it was not counted here.
    sha256 : str
        Of the unpacked file, empty where it is not known.
    blob : str
        The beginning of its name in git, which is a SHA-1, where that is known.
    missing : str
        Which rows of the published file are not in the one with this hash.
    """

    name: str
    rows: int | None = None
    sha256: str = ""
    blob: str = ""
    missing: str = ""

    def __str__(self) -> str:
        parts = [] if self.rows is None else [f"{self.rows:,} rows"]
        parts += [f"SHA-256 {self.sha256}"] if self.sha256 else []
        parts += [f"git blob {self.blob}..."] if self.blob else []
        parts += [f"without {self.missing}"] if self.missing else []
        return f"{self.name}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTrace:
    """A public trace.

    Parameters
    ----------
    name, title : str
    jobs : str
        How many, in words.
    licence : str
        Of the data.
    source : str
        Address.
    download : str
        What to get from there.
    reader : str
        Name, and the options that it needs; empty where none reads it.
    remark : str
        What one has to know before trusting a number.
    files : tuple of KnownFile
    """

    name: str
    title: str
    jobs: str
    licence: str
    source: str
    download: str
    reader: str
    remark: str = ""
    files: tuple[KnownFile, ...] = ()

    @property
    def facts(self) -> Iterator[tuple[str, str]]:
        """Label and text of what is known, in the order of reading."""
        yield "jobs", self.jobs
        yield "licence", self.licence
        yield "from", self.source
        yield "download", self.download
        yield "read with", f"--reader {self.reader}" if self.reader else "no reader"
        if self.remark:
            yield "note", self.remark


def _held(lines: str) -> tuple[KnownFile, ...]:
    """Whole files that were held here: hash, rows and name in each line."""
    rows = (line.split() for line in lines.strip().splitlines())
    return tuple(KnownFile(name, int(count), sha256) for sha256, count, name in rows)


def _known(held: str = "", files: Sequence[Mapping[str, Any]] = (), **facts: str) -> KnownTrace:
    """A trace by its fields in the file."""
    others = (KnownFile(**file) for file in files)
    return KnownTrace(**facts, files=(*_held(held), *others))


_ROWS = shipped("gangsched.instances.data", "traces")["traces"]
TRACES: tuple[KnownTrace, ...] = tuple(_known(**fields) for fields in _ROWS)


def known_files(path: str | Path) -> list[tuple[KnownTrace, KnownFile]]:
    """Return the traces that a file is of, by the hash of its unpacked bytes.

    Parameters
    ----------
    path : str or Path
        Plain or gzip.

    Returns
    -------
    list of (KnownTrace, KnownFile)
        Empty where no hash fits.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "jobs.csv"
    >>> _ = path.write_text("job_id,submission_time,duration,num_gpu")
    >>> known_files(path)
    []
    """
    raw = read_bytes(path)
    sha256 = hashlib.sha256(raw).hexdigest()
    blob = hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
    return [
        (trace, file)
        for trace in TRACES
        for file in trace.files
        if sha256 == file.sha256 or (file.blob and blob.startswith(file.blob))
    ]
