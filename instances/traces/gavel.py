"""Reader of Gavel's traces, with seven columns (the published ones), ten, or Shockwave's twelve.

D. Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads",
OSDI 2020; program and traces are published under the MIT licence. P. Zheng et al., "Shockwave: Fair
and Efficient Cluster Scheduling for Dynamic Adaptation in Machine Learning", NSDI 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..io import read_text
from ..model import check_real
from .speeds import Row, SpeedTable, read_speeds
from .table import TextRow, TextTable, lines
from .trace import Reading, Trace

# The columns, in order; the lines of a trace have no names.
SEVEN = ("job_type", "command", "steps_option", "needs_data", "total_steps", "arrival", "gpus")
TEN = (
    "job_type", "command", "directory", "steps_option", "needs_data", "total_steps", "gpus",
    "priority", "deadline", "arrival",
)  # fmt: skip
TWELVE = (*TEN[:7], "mode", *TEN[7:9], "duration", TEN[9])
FORMS = {len(names): names for names in (SEVEN, TEN, TWELVE)}

Speeds = str | Path | Mapping[str, float]
Lookup = Callable[[str, int], float | None]


def read_gavel(
    path: str | Path,
    *,
    steps_per_second: Speeds | None = None,
    model: str = "v100",
    speeds: str | Path | None = None,
) -> Trace:
    """Read a Gavel trace; its steps become seconds by the speeds that you give.

    Parameters
    ----------
    path : str or Path
        Plain or gzip. Columns are separated by tabs and have no names; there are seven (job type,
        command, steps option, needs data, total steps, arrival, GPUs), ten (job type, command,
        directory, steps option, needs data, total steps, GPUs, priority weight, deadline, arrival)
        or twelve (those of Shockwave: ten, a mode of batch sizes behind the GPUs and a run time
        before the arrival), the same in every line.
    steps_per_second : str, Path or mapping
        Speed of each job type: a CSV with the columns job_type and steps_per_second, a mapping of
        that meaning, or JSON as `speeds` takes it, such as Gavel's
        ``simulation_throughputs.json``, where the speed also depends on the GPUs of the job. It has
        to cover every job type of the trace. The seven-column traces were made with speeds older
        than that JSON file. Twelve columns have run times, and need no speeds; given, they count.
    model : str
        GPU model of the job in ``simulation_throughputs.json``, and of the run times where `speeds`
        is given; Gavel made its traces with ``"v100"``. Not read otherwise.
    speeds : str or Path, optional
        Steps per second by job type and GPU model, see
        :func:`~gangsched.instances.traces.speeds.read_speeds`. Jobs get their speeds on all models,
        relative to the steps per second that their run time is computed with: those on `model`, if
        `steps_per_second` is not given.

    Returns
    -------
    Trace
        Job ids are ``row1``, ``row2``, ... in the order of the file. The format names no users:
        the published seven-column files hold one virtual cluster of Philly each. Weights are the
        priority weights of ten columns.

    Raises
    ------
    OSError
        If a file cannot be read.
    TypeError
        If a mapping holds something else than numbers.
    ValueError
        If a file is malformed, or `steps_per_second` is missing or does not cover a job; the
        message names file, line, value and rule.

    Notes
    -----
    - Clock: ``arrival`` in seconds since the first job, a fraction rounded down; time 0 is the
      first arrival kept.
    - Work: total steps divided by steps per second, a fraction rounded up; of twelve columns the
      run time in seconds, unless `steps_per_second` is given.
    - Skipped and counted: no GPUs (0), unknown arrival ("unknown submission"), unknown steps
      ("unknown duration"), zero steps ("zero duration"). Negative numbers are errors.
    - Deadlines (the SLO of ten columns) and modes of batch sizes are not read.
    - A job cannot run on a model that `speeds` does not name for it, or with 0.
    """
    table = None if speeds is None else read_speeds(speeds)
    speed: Lookup | None = None
    if steps_per_second is not None:
        speed = _lookup(steps_per_second, model)
    elif table is not None:
        speed = _of_model(table, model)
    reading = Reading(path)
    names: tuple[str, ...] = ()
    for place, fields in lines(reading, delimiter="\t", quoted=False):
        reading.rows += 1
        names = names or FORMS.get(len(fields), SEVEN)
        if len(fields) != len(names):
            first = f"{', '.join(map(str, [*FORMS][:-1]))} or {[*FORMS][-1]}"
            wanted = first if reading.rows == 1 else f"the {len(names)} of the first line"
            raise reading.error(place, f"{len(fields)} columns, not {wanted}")
        if speed is None and "duration" not in names:
            raise ValueError(
                f"{path}: a Gavel trace has steps and no run times: pass steps_per_second, the "
                "path of a CSV (job_type,steps_per_second) or of simulation_throughputs.json, or "
                "a mapping"
            )
        row = TextRow(reading, place, dict(zip(names, fields, strict=True)))
        _read_job(reading, row, speed, table, timed="duration" in row and steps_per_second is None)
    if table is None:
        return reading.trace()
    text = f"speeds on {', '.join(table.models)} by {table.path.name}"
    return reading.trace(notes=[text if steps_per_second else f"{text}, run times on {model}"])


def _read_job(
    reading: Reading, row: TextRow, speed: Lookup | None, table: SpeedTable | None, *, timed: bool
) -> None:
    steps, gpus = row.number("total_steps"), row.count("gpus")
    weight = _positive(row, "priority") if "priority" in row else 1.0
    arrival = row.number("arrival")
    duration, more = row.number("duration") if timed else steps, dict[str, Any]()
    if duration and gpus and speed is not None:
        own = _speed(row, gpus, speed)
        duration = duration if timed else duration / own
        if table is not None:
            more["speeds"] = _relative(row, gpus, table.of(row["job_type"], gpus), own)
    reading.offer(row.place, f"row{reading.rows}", arrival, duration, gpus, weight=weight, **more)


def _relative(row: TextRow, gpus: int, found: Row | None, own: float) -> dict[str, float]:
    """Speeds of a job on the models that it can run on."""
    job_type = row["job_type"]
    if found is None:
        raise row.error(f"speeds has no job type {job_type!r} on {gpus} GPUs")
    able = {model: speed / own for model, speed in found.items() if speed > 0}
    if not able:
        raise row.error(f"speeds of {job_type!r} on {gpus} GPUs are 0 on all models")
    return able


def _of_model(table: SpeedTable, model: str) -> Lookup:
    """Speeds on one model of a table."""
    if model not in table.models:
        raise ValueError(f"{table.path}: model={model!r} is not one of {', '.join(table.models)}")

    def speed(job_type: str, gpus: int) -> float | None:
        found = table.of(job_type, gpus)
        return None if found is None else found.get(model, 0.0)

    return speed


def _positive(row: TextRow, name: str) -> float:
    value = row.number(name)
    if not value:
        raise row.error(f"{name}={row[name]!r} is not above 0")
    return value


def _speed(row: TextRow, gpus: int, speed: Lookup) -> float:
    job_type = row.text("job_type", "every job has one")
    found = speed(job_type, gpus)
    if found is None:
        raise row.error(f"steps_per_second has no job type {job_type!r} on {gpus} GPUs")
    if not found > 0:
        raise row.error(f"steps_per_second of {job_type!r} on {gpus} GPUs is {found}, not above 0")
    return found


# --- speeds --------------------------------------------------------------------------------------


def _lookup(speeds: Speeds, model: str) -> Lookup:
    """Return the function from job type and GPUs to steps per second."""
    if isinstance(speeds, Mapping):
        table = {
            job_type: check_real("steps_per_second", repr(job_type), value, positive=True)
            for job_type, value in speeds.items()
        }
    elif read_text(speeds).lstrip().startswith("{"):
        return _of_model(read_speeds(speeds), model)
    else:
        reading = Reading(speeds)
        table = {
            row.id("job_type"): _positive(row, "steps_per_second")
            for row in TextTable(reading, "job_type", "steps_per_second")
        }
    return lambda job_type, gpus: table.get(job_type)
