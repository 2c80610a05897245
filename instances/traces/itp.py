"""Reader of Microsoft's ITP traces (2021), raw or with the columns that ElasticFlow added.

D. Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep Learning",
ASPLOS 2023; the data are published under the MIT licence.
"""

from __future__ import annotations

from pathlib import Path

from .table import TextTable
from .trace import Reading, Trace

COLUMNS = ("job_id", "submission_time", "duration", "num_gpu")


def read_itp(path: str | Path) -> Trace:
    """Read an ITP CSV with the columns job_id, submission_time, duration and num_gpu.

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
    reading = Reading(path)
    for row in TextTable(reading, *COLUMNS):
        id, times = row.id("job_id"), (row.number("submission_time"), row.number("duration"))
        reading.offer(row.place, id, *times, row.count("num_gpu"))
    return reading.trace()
