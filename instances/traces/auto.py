"""Recognise the format of a trace by its first bytes and by exactly the columns that it has."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import StringIO
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..io import read_bytes
from .alibaba import read_alibaba
from .chronus import read_chronus
from .export import read_csv, read_parquet
from .gavel import FORMS, read_gavel
from .helios import read_helios
from .itp import read_itp
from .philly import read_philly_csv, read_philly_json
from .presets import PRESETS, read_acme, read_alibaba_pai, read_alibaba_spot, read_supercloud
from .sacct import read_sacct
from .swf import FIELDS, read_swf
from .trace import Reader, Trace

__all__ = ["READERS", "Recognised", "read_auto", "recognise"]

#: columns of published formats, in full; those in parentheses are not in every file
COLUMNS: Mapping[str, str] = {
    "acme": "job_id user node_num gpu_num cpu_num type state submit_time start_time end_time "
    "duration queue gpu_time (mem_per_pod_GB) (shared_mem_per_pod) (fail_time) (stop_time)",
    "alibaba": "name cpu_milli memory_mib num_gpu gpu_milli gpu_spec qos pod_phase creation_time "
    "deletion_time scheduled_time",
    "alibaba-pai": " ".join(PRESETS["alibaba-pai"].header),
    "alibaba-spot": "job_name organization gpu_model cpu_request gpu_request worker_num "
    "submit_time duration job_type",
    "chronus": "job_id user num_gpu submit_time iterations model_name duration interval "
    "expect_time_list expect_value_list best_effort job_type",
    "helios": "job_id user vc gpu_num cpu_num node_num state submit_time start_time end_time "
    "duration queue",
    "itp": "job_id submission_time duration num_gpu (num_iteration) (model_name) (deadline) "
    "(batch_size)",
    "philly-csv": "timestamp duration num_gpus gpu_time cluster",
    # of Slurm's table of jobs, but none that holds names of a site, such as account
    "supercloud": f"{' '.join(PRESETS['supercloud'].names)} "
    "(id_array_job) (id_array_task) (id_group) (array_max_tasks) (array_task_pending) "
    "(constraints) (cpus_req) (derived_ec) (exit_code) (flags) (gres_alloc) (gres_req) "
    "(gres_used) (job_type) (kill_requid) (mem_req) (nodelist) (nodes_alloc) (partition) "
    "(priority) (time_eligible) (time_suspended) (timelimit) (track_steps) (tres_req)",
}
#: bytes that are looked at
HEAD = 100_000
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
    raw = read_bytes(path, HEAD)
    if raw[:4] == b"PAR1":
        return Recognised("parquet", "it begins with PAR1")
    try:
        decoder = getincrementaldecoder("utf-8-sig")()
        text = decoder.decode(raw, final=len(raw) < HEAD)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8 text") from None
    lines = [line for line in islice(StringIO(text, newline=None), 50) if line.strip()]
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
    if len(fields) == len(PRESETS["alibaba-pai"].header) and fields[3] in PAI_STATES:
        yield Recognised("alibaba-pai", f"{len(fields)} columns without names, the 4th a state")
    for reader, known in COLUMNS.items():
        wanted = [name for name in known.split() if name[0] != "("]
        maybe = [name[1:-1] for name in known.split() if name[0] == "("]
        if {*fields} - {*maybe} == {*wanted} and len({*fields}) == len(fields):
            yield Recognised(reader, f"columns {', '.join(wanted)}")
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


#: the readers of job logs, by the names of their formats
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        read.__name__.removeprefix("read_").replace("_", "-"): read
        for read in (
            read_auto, read_csv, read_parquet, read_acme, read_alibaba, read_alibaba_pai,
            read_alibaba_spot, read_chronus, read_gavel, read_helios, read_itp, read_philly_csv,
            read_philly_json, read_sacct, read_supercloud, read_swf,
        )
    }
)  # fmt: skip
