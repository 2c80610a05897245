"""Reader of the workloads of Chronus, which are drawn from Microsoft's Philly trace.

W. Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs",
SoCC 2021; the data are published under the MIT licence.
"""

from __future__ import annotations

from pathlib import Path

from .table import Table
from .trace import Reading, Trace

__all__ = ["read_chronus"]

COLUMNS = ("job_id", "user", "num_gpu", "submit_time", "duration", "job_type")


def read_chronus(path: str | Path) -> Trace:
    """Read a Chronus CSV, whose times are minutes.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. The first line names the columns, in any order: job_id, user, num_gpu,
        submit_time, duration, job_type. The other ones (iterations, model_name, interval,
        expect_time_list, expect_value_list, best_effort) are not read: jobs have no deadlines.

    Returns
    -------
    Trace
        Job ids and users are those of the file. Its users bear names of Philly's virtual clusters
        but were drawn evenly at random. The report's notes count the kinds of job (strict, soft,
        best).

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is malformed; the message names file, line, value and rule.

    Notes
    -----
    - Clock: ``submit_time`` in minutes since the window began, times 60, a fraction of a second
      rounded down; time 0 is the first submission kept.
    - Work: ``duration`` in minutes, times 60, a fraction of a second rounded up.
    - Skipped and counted: no GPUs (0: Philly jobs without an attempt, which Chronus leaves out
      too), unknown submission, unknown duration, zero duration. Negative numbers are errors.
    """
    reading = Reading(path)
    for row in Table(reading, *COLUMNS):
        submitted, duration = row.number("submit_time"), row.number("duration")
        reading.offer(
            row.place,
            row.id("job_id"),
            time=None if submitted is None else 60 * submitted,
            duration=None if duration is None else 60 * duration,
            gpus=row.count("num_gpu"),
            user=row.text("user", "every job has one"),
            tag=row.text("job_type", "every job has one"),
        )
    return reading.trace(tally="job_type")
