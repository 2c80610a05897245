"""Readers of Alibaba's GPU cluster trace of 2023: its pods (jobs) and its nodes.

Q. Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent", USENIX ATC 2023.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import compress
from pathlib import Path

from ..model import Cluster, Node
from .presets import PRESETS, preset_table, preset_trace
from .table import TextTable
from .trace import LogRow, Reading, Trace

WHOLE = 1000  # gpu_milli of a pod that has its GPU alone
logger = logging.getLogger("gangsched")


def read_alibaba(path: str | Path) -> Trace:
    """Read a pod list (``openb_pod_list_*.csv``); a pod is a job.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order; those for processors, memory
        and quality of service are not read.

    Returns
    -------
    Trace
        Job ids are the names of the pods. The log names no users. The report's notes count the
        pods by their last phase, and what was simplified.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - Clock: ``creation_time`` in seconds since the log began, a fraction rounded down; time 0 is
      the first one kept.
    - Work: ``deletion_time`` minus ``scheduled_time`` in seconds, a fraction rounded up. A pod that
      outlived the log has the end of the log as its deletion, so its work is cut short.
    - GPUs: ``num_gpu``. A pod that asks for a part of one GPU (``gpu_milli`` below 1000) counts as
      a gang of one whole GPU; the report says how many do. When it ran is not kept, since it did
      not have that GPU alone.
    - Models: ``gpu_spec`` may list several GPU models of which any will do, which a job here cannot
      say; it is not heeded, and the report says how many jobs have one.
    - Skipped and counted: never started, an end before the start, no GPUs (0), unknown submission,
      unknown duration, zero duration. Negative numbers are errors.
    """
    preset = PRESETS["alibaba"]
    table = preset_table(path, preset, preset.more)
    trace = preset_trace(table, preset)
    shares = table.column("share of a GPU", "gpu_milli").numbers()
    shared = {
        place
        for place, share in zip(table.places, shares, strict=True)
        if share is not None and share < WHOLE
    }
    special = set(compress(table.places, table.texts["gpu_spec"]))
    places = [row.place for row in trace.rows]
    phase = dict(zip(table.places, table.texts["pod_phase"], strict=True))
    phases = sorted(Counter(phase[place] for place in places).items())
    notes = (
        *trace.report.notes,
        f"pod_phase of the jobs: {', '.join(f'{name}: {count:,}' for name, count in phases)}",
        f"jobs that asked for a part of a GPU and have a whole one: {_among(places, shared):,}",
        f"jobs with a gpu_spec, which is not heeded: {_among(places, special):,}",
    )
    alone = (row if row.place not in shared else _untimed(row) for row in trace.rows)
    return replace(trace, rows=tuple(alone), report=replace(trace.report, notes=notes))


def _untimed(row: LogRow) -> LogRow:
    return row._replace(start=None, end=None)


def _among(places: Iterable[str], chosen: Collection[str]) -> int:
    """How many of some places are among others."""
    return sum(place in chosen for place in places)


def read_alibaba_nodes(path: str | Path) -> Cluster:
    """Read a node list (``openb_node_list_*.csv``) as a cluster with GPU models.

    Parameters
    ----------
    path : str or Path
        Plain or gzip, with the columns sn, gpu and model, in any order; those for processors and
        memory are not read.

    Returns
    -------
    Cluster
        The nodes with GPUs, in the order of the file, with their serial names and models. How many
        nodes without GPUs were left out goes to the log ``gangsched`` (level INFO).

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed or has no node with GPUs; the message names file, line, value and
        rule.
    """
    reading = Reading(path)
    nodes = []
    for row in TextTable(reading, "sn", "gpu", "model"):
        id, gpus = row.id("sn"), row.count("gpu")
        if gpus:
            nodes.append(Node(id, gpus, row.text("model", "a node with GPUs has a model")))
    if not nodes:
        raise ValueError(f"{path}: {reading.rows} nodes, none of which has GPUs")
    logger.info("%s: %d nodes without GPUs left out", path, reading.rows - len(nodes))
    return Cluster(tuple(nodes))
