"""Readers of published tables that the reader of any table understands once their columns are told.

Those that follow the documentation of a table and were not tried on its rows say so in the report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ..shipped import shipped
from .export import csv_table, trace_of
from .names import ROLES
from .trace import UNKNOWN, Reading, Trace
from .values import ExportTable

#: note of every report
UNTRIED = "documented format, not tried on real rows"


class Preset(NamedTuple):
    """What a published table has in its columns.

    Parameters
    ----------
    columns : mapping of str to str
        Columns by role, as :func:`read_csv` takes them.
    id : sequence of str
        Columns that together name a job; none where rows are called row1, row2, ...
    header : sequence of str
        All columns, in order, where the file does not name them.
    tres : sequence of str
        Numbers of Slurm's resources that are GPUs.
    whole : int
        How a whole GPU is written.
    more : sequence of str
        Columns that are not read but have to be there, as they tell the table from others.
    shape : sequence of str
        Columns of all GPUs, and of the nodes with equal parts of them, if that is there.
    maybe : mapping of str to str
        Columns by role that are read where they are there.
    tried : bool
        Whether it was tried on real rows; then ids have to be unique.
    """

    columns: Mapping[str, str]
    id: Sequence[str]
    header: Sequence[str] = ()
    tres: Sequence[str] = ()
    whole: int = 1
    more: Sequence[str] = ()
    shape: Sequence[str] = ()
    maybe: Mapping[str, str] = MappingProxyType({})
    tried: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that the table has to have."""
        return (*self.id, *(name.partition(":")[0] for name in self.columns.values()))


_ROWS = shipped("gangsched.instances.data", "presets").items()
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {name: Preset(**{"id": (), **fields}) for name, fields in _ROWS}
)


def read_acme(path: str | Path) -> Trace:
    r"""Read job logs of Acme, Seren or Kalos (documented format, not tried on real rows).

    Q. Hu et al., "Characterization of Large Language Model Development in the Datacenter", NSDI
    2024; columns as in https://github.com/InternLM/AcmeTrace (``README.md``).

    Parameters
    ----------
    path : str or Path
        ``trace_seren.csv`` or ``trace_kalos.csv``, plain or gzip.

    Returns
    -------
    Trace

    Raises
    ------
    OSError, ValueError
        As :func:`read_csv`.

    Notes
    -----
    - GPUs: ``gpu_num``; jobs for processors only are skipped and counted, and so are those that
      never started.
    - Work: ``end_time`` minus ``start_time``. ``duration`` is documented as just that, but in both
      documented rows of Kalos it is ``end_time`` minus ``submit_time``, so it is not read.
    - Times have a zone and are turned into UTC.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trace_seren.csv"
    >>> _ = path.write_text(
    ...     "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
    ...     "duration,queue,gpu_time\n7,u1,1,8,128,Other,FAILED,2023-03-01 08:00:00+08:00,"
    ...     "2023-03-01 08:00:30+08:00,2023-03-01 08:02:00+08:00,90,30,720.0\n"
    ... )
    >>> trace = read_acme(path)
    >>> trace.jobs[0].gpus, trace.jobs[0].work, trace.origin
    (8, 90, '2023-03-01 00:00:00 UTC')
    """
    return read_preset(path, PRESETS["acme"])


def read_alibaba_dlrm(path: str | Path) -> Trace:
    """Read Alibaba's inference instances of 2025 (documented format, not tried on real rows).

    L. Yang et al., "GPU-Disaggregated Serving for Deep Learning Recommendation Models at Scale",
    NSDI 2025; columns as in https://github.com/alibaba/clusterdata
    (``cluster-trace-gpu-v2025/README.md``).

    Parameters
    ----------
    path : str or Path
        ``disaggregated_DLRM_trace.csv``, plain or gzip.

    Returns
    -------
    Trace
        Its jobs are instances of services, whose users are the applications.

    Raises
    ------
    OSError, ValueError
        As :func:`read_csv`.

    Notes
    -----
    - GPUs: ``gpu_request``; instances on nodes for processors (CN) have none, and are skipped and
      counted.
    - Times are seconds since the trace began. Instances that were there before, or outlived the
      trace, have no times, and are skipped and counted: of most instances with GPUs none is known.
    - Work: ``deletion_time`` minus ``scheduled_time``.
    """
    return read_preset(path, PRESETS["alibaba-dlrm"])


def read_alibaba_pai(path: str | Path) -> Trace:
    """Read Alibaba's PAI tasks of 2020 (documented format, not tried on real rows).

    Q. Weng et al., "MLaaS in the Wild: Workload Analysis and Scheduling in Large-Scale
    Heterogeneous GPU Clusters", NSDI 2022; columns as in https://github.com/alibaba/clusterdata
    (``cluster-trace-gpu-v2020/README.md`` and ``data/pai_task_table.header``).

    Parameters
    ----------
    path : str or Path
        ``pai_task_table.csv``, plain or gzip; it names no columns, but may.

    Returns
    -------
    Trace
        Its jobs are tasks, ``job_name/task_name``: those of one PAI job are jobs of their own. The
        table has no users.

    Raises
    ------
    OSError, ValueError
        As :func:`read_csv`.

    Notes
    -----
    - GPUs: ``inst_num`` times ``plan_gpu``, which is percent of a GPU. Where that is a fraction the
      row is skipped and counted, and so it is without GPUs; two instances of half a GPU are one.
    - Submission: ``start_time``, the launch of the task; when it was submitted is in another table.
      Dates are not the true ones, so the trace has no origin.
    - Work: ``end_time`` minus ``start_time``.
    - ``gpu_type`` is what a task got, not what it asked for, and is not read.
    """
    return read_preset(path, PRESETS["alibaba-pai"])


def read_alibaba_spot(path: str | Path) -> Trace:
    """Read Alibaba's spot GPU jobs, v2026 (documented format, not tried on real rows).

    J. Duan et al., "GFS: A Preemptive Scheduling Framework for GPU Clusters with Predictive Spot
    Management", ASPLOS 2026; columns as in https://github.com/alibaba/clusterdata
    (``cluster-trace-v2026-spot-gpu/README.md``).

    Parameters
    ----------
    path : str or Path
        ``job_info_df.csv``, plain or gzip.

    Returns
    -------
    Trace
        Users are organizations; the report counts jobs of high priority (HP) and Spot.

    Raises
    ------
    OSError, ValueError
        As :func:`read_csv`.

    Notes
    -----
    - GPUs: ``worker_num`` times ``gpu_request``; fractions are skipped and counted.
    - Models: ``gpu_model`` was asked for, so jobs are pinned to it and need a cluster that has it.
    - Times are seconds since the first submission, durations seconds.
    """
    return read_preset(path, PRESETS["alibaba-spot"])


def read_itp(path: str | Path) -> Trace:
    """Read an ITP CSV (2021) with the columns job_id, submission_time, duration and num_gpu.

    D. Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep
    Learning", ASPLOS 2023; the data are published under the MIT licence.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order. The columns that ElasticFlow
        added (num_iteration, model_name, deadline, batch_size) are generated and are not read; its
        deadlines suppose elastic jobs, and half of them are shorter than the run time.

    Returns
    -------
    Trace
        Job ids are those of the file. The log names no users: one file is one cluster.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - Clock: ``submission_time`` in seconds since the collection began (on 4 March 2021, at an hour
      that is not told), a fraction rounded down; time 0 is the first submission kept.
    - Work: ``duration`` in seconds, a fraction rounded up.
    - Skipped and counted: no GPUs (0), unknown submission, unknown duration, zero duration (the
      published files have none of these). Negative numbers are errors.
    """
    return read_preset(path, PRESETS["itp"])


def read_supercloud(path: str | Path) -> Trace:
    """Read MIT Supercloud's Slurm log (documented format, not tried on real rows).

    S. Samsi et al., "The MIT Supercloud Dataset", HPEC 2021, https://dcc.mit.edu; numbers of
    resources as in the archive's ``README.md`` and ``tres-mapping.txt``. The columns are those of
    Slurm's job table, https://github.com/SchedMD/slurm.

    Parameters
    ----------
    path : str or Path
        ``slurm-log.csv``, plain or gzip.

    Returns
    -------
    Trace

    Raises
    ------
    OSError, ValueError
        As :func:`read_csv`.

    Notes
    -----
    - GPUs: resources 1001 (Tesla) and 1002 (Volta) in ``tres_alloc``; jobs for processors only are
      skipped and counted.
    - Times: seconds since 1970, 0 where there is none. Work: ``time_end`` minus ``time_start``.
    - ``state`` is Slurm's number, such as 3 for completed.
    """
    return read_preset(path, PRESETS["supercloud"])


def read_preset(path: str | Path, preset: Preset) -> Trace:
    """Return the trace of a table by its preset."""
    return preset_trace(preset_table(path, preset), preset)


def preset_table(path: str | Path, preset: Preset, keep: Collection[str] = ()) -> ExportTable:
    """Read a table that has to have the columns of a preset; `keep`: columns without a role."""
    own = (*keep, *preset.names, *preset.shape, *preset.maybe.values())
    table = csv_table(Reading(path), _given(preset), preset.header, own)
    if missing := [n for n in (*preset.names, *preset.more) if n not in table.names]:
        found = f"no column {', '.join(missing)}; found: {', '.join(table.names)}"
        raise ValueError(f"{path}: {found}")
    return table


def preset_trace(table: ExportTable, preset: Preset) -> Trace:
    """Return the trace of such a table."""
    told = {name for name, texts in table.texts.items() if set(texts) - UNKNOWN}
    given = _given(preset) | {role: name for role, name in preset.maybe.items() if name in told}
    if len(preset.id) > 1:
        given["id"] = "/".join(preset.id)
        columns = zip(*(table.texts[name] for name in preset.id), strict=True)
        table = _with_column(table, given["id"], map("/".join, columns))
    if preset.shape and set(preset.shape) <= set(table.texts):
        given["pod"] = "/".join(preset.shape)
        columns = zip(*(table.texts[name] for name in preset.shape), strict=True)
        table = _with_column(table, given["pod"], (_divided(*both) for both in columns))
        table = replace(table, names=[n for n in table.names if n not in preset.shape[1:]])
    trace = trace_of(table, given, tres=preset.tres, whole=preset.whole, strict=preset.tried)
    notes = trace.report.notes
    if preset.tried:
        notes = tuple(note for note in notes if not note.startswith(("columns: ", "not read: ")))
    else:
        notes = (UNTRIED, *notes)
    return replace(trace, report=replace(trace.report, notes=notes))


def _given(preset: Preset) -> dict[str, str]:
    """Columns by role, and none for the other roles."""
    return {**dict.fromkeys(ROLES, ""), **preset.columns, "id": "".join(preset.id[:1])}


def _with_column(table: ExportTable, name: str, texts: Iterable[str]) -> ExportTable:
    return replace(table, names=[*table.names, name], texts={**table.texts, name: list(texts)})


def _divided(gpus: str, nodes: str) -> str:
    """GPUs on each node where all nodes have as many, else nothing."""
    try:
        each = float(gpus) / float(nodes)
    except (ValueError, ZeroDivisionError):
        return ""
    return f"{each:.0f}" if each.is_integer() else ""
