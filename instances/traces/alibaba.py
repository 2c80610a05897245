"""Readers of Alibaba's GPU cluster trace of 2023: its pods (jobs) and its nodes.

Q. Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent", USENIX ATC 2023.
"""

from __future__ import annotations

import logging
from pathlib import Path

from ..model import Cluster, Node
from .table import TextRow, TextTable
from .trace import Reading, Trace

COLUMNS = (
    "name", "num_gpu", "gpu_milli", "gpu_spec", "pod_phase", "creation_time", "deletion_time",
    "scheduled_time",
)  # fmt: skip
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
    - Skipped and counted, in this order: never scheduled, end before start, no GPUs (0), unknown
      submission, unknown duration, zero duration. Negative numbers are errors.
    """
    reading = Reading(path)
    parts = specs = 0
    for row in TextTable(reading, *COLUMNS):
        share = row.number("gpu_milli")
        part = share is not None and share < WHOLE
        if _read_pod(reading, row, part):
            parts += part
            specs += bool(row["gpu_spec"])
    return reading.trace(
        tally="pod_phase",
        notes=(
            f"jobs that asked for a part of a GPU and have a whole one: {parts:,}",
            f"jobs with a gpu_spec, which is not heeded: {specs:,}",
        ),
    )


def _read_pod(reading: Reading, row: TextRow, part: bool) -> bool:
    id, gpus = row.id("name"), row.count("num_gpu")
    created, deleted = row.number("creation_time"), row.number("deletion_time")
    scheduled = row.number("scheduled_time")
    if scheduled is None:
        reading.skip(row.place, "never scheduled")
        return False
    if deleted is not None and deleted < scheduled:
        reading.skip(row.place, "end before start", (scheduled, deleted))
        return False
    duration = None if deleted is None else deleted - scheduled
    phase = row.text("pod_phase", "every pod has one")
    ran = (None, None) if part else (scheduled, deleted)
    return reading.offer(row.place, id, created, duration, gpus, tag=phase, ran=ran)


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
