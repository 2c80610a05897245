"""Readers of published tables that the reader of any table understands once their columns are told.

They follow the documentation of the tables and were not tried on their rows, which the report says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from .export import csv_table, trace_of
from .roles import ROLES
from .trace import Reading, Trace
from .values import ExportTable

__all__ = [
    "PRESETS",
    "UNTRIED",
    "Preset",
    "read_acme",
    "read_alibaba_dlrm",
    "read_alibaba_pai",
    "read_alibaba_spot",
    "read_supercloud",
]

#: note of every report
UNTRIED = "documented format, not tried on real rows"


class Preset(NamedTuple):
    """What a published table has in its columns.

    Parameters
    ----------
    columns : mapping of str to str
        Columns by role, as :func:`read_csv` takes them.
    id : tuple of str
        Columns that together name a job.
    header : tuple of str
        All columns, in order, where the file does not name them.
    tres : tuple of str
        Numbers of Slurm's resources that are GPUs.
    whole : int
        How a whole GPU is written.
    more : tuple of str
        Columns that are not read but have to be there, as they tell the table from others.
    """

    columns: Mapping[str, str]
    id: tuple[str, ...]
    header: tuple[str, ...] = ()
    tres: tuple[str, ...] = ()
    whole: int = 1
    more: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that the table has to have, and by which it is recognised."""
        return (*self.id, *self.columns.values(), *self.more)


def _preset(columns: Mapping[str, str], whole: int = 1, **lists: list[str]) -> Preset:
    """A preset by its fields in the file."""
    return Preset(columns, whole=whole, **{name: tuple(own) for name, own in lists.items()})


_FILE = files("gangsched.instances.data").joinpath("presets.toml").read_text("utf-8")
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {name: _preset(**fields) for name, fields in tomllib.loads(_FILE).items()}
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
    return _read(path, PRESETS["acme"])


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
    return _read(path, PRESETS["alibaba-dlrm"])


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
    return _read(path, PRESETS["alibaba-pai"])


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
    return _read(path, PRESETS["alibaba-spot"])


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
    return _read(path, PRESETS["supercloud"])


def _read(path: str | Path, preset: Preset) -> Trace:
    """The trace of a table by its preset."""
    reading, id = Reading(path), "/".join(preset.id)
    given = {**dict.fromkeys(ROLES, ""), **preset.columns, "id": preset.id[0]}
    table = csv_table(reading, given, preset.header, preset.id)
    if missing := [name for name in preset.names if name not in table.names]:
        found = f"no column {', '.join(missing)}; found: {', '.join(table.names)}"
        raise ValueError(f"{path}: {found}")
    table = _joined(table, preset.id)
    trace = trace_of(table, {**given, "id": id}, tres=preset.tres, whole=preset.whole, strict=False)
    notes = (UNTRIED, *trace.report.notes)
    return replace(trace, report=replace(trace.report, notes=notes))


def _joined(table: ExportTable, parts: tuple[str, ...]) -> ExportTable:
    """The table with one column for those that together name a job."""
    if len(parts) == 1:
        return table
    joined = ["/".join(row) for row in zip(*(table.texts[name] for name in parts), strict=True)]
    names = ["/".join(parts), *(name for name in table.names if name not in parts)]
    return replace(table, names=names, texts={**table.texts, names[0]: joined})
