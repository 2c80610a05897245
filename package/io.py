"""Files of instances, problems, schedules, allocations, results and runs: one pair of functions.

What the files hold is described in :mod:`gangsched.instances.io`,
:mod:`gangsched.formulations.io`, :mod:`gangsched.solvers.io` and
:mod:`gangsched.analysis.driving.run_io`; the folders of tables that hold long schedules and runs in
:mod:`gangsched.instances.tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .analysis.driving import run_io
from .analysis.driving.run import Run
from .formulations.io import PROBLEMS, problem_from_dict, problem_to_dict
from .instances import Schedule
from .instances.io import CODECS, Codec, load_as, save_as
from .instances.tables import head_of, is_folder, load_schedule, save_schedule
from .solvers import Result
from .solvers.io import result_from_dict, result_to_dict

__all__ = ["load", "save"]

#: by the kind that stands in files
KINDS: Mapping[str, Codec] = {
    **CODECS,
    "problem": Codec(tuple(PROBLEMS.values()), problem_to_dict, problem_from_dict),
    "result": Codec((Result,), result_to_dict, result_from_dict),
    "run": Codec((Run,), run_io.run_to_dict, run_io.run_from_dict),
}
#: what a folder of tables may hold: type, writer, reader
FOLDERS: dict[str, tuple[type[Any], Callable[[Path, Any], None], Callable[[Path], Any]]] = {
    "run": (Run, run_io.save_run, run_io.load_run),
    "schedule": (Schedule, save_schedule, load_schedule),
}


def save(path: str | Path, thing: Any) -> None:
    """Write one thing as JSON, or a schedule or run as a folder of tables.

    Parameters
    ----------
    path : str or Path
        JSON is compressed if it ends in .gz. A path that ends in .parquet (which needs pyarrow) or
        .csv becomes a folder.
    thing : Instance, problem, Schedule, Allocation, Result or Run

    Raises
    ------
    TypeError
        If `thing` is none of these, or holds what JSON cannot.
    ValueError
        If a schedule or run has more than 10,000 segments, which only a folder may.

    Examples
    --------
    >>> import tempfile
    >>> import gangsched as gs
    >>> instance = gs.Instance(gs.Cluster.of_sizes([2]), [])
    >>> problem = gs.formulations.RarDdls(instance, alpha=0.5)
    >>> path = Path(tempfile.mkdtemp()) / "problem.json"
    >>> save(path, problem)
    >>> load(path) == problem
    True
    """
    if is_folder(path):
        _save_folder(Path(path), thing)
    else:
        save_as(path, thing, KINDS)
        if isinstance(thing, Run):
            run_io.save_instance(path, thing)


def _save_folder(path: Path, thing: Any) -> None:
    for kind, write, _ in FOLDERS.values():
        if isinstance(thing, kind):
            return write(path, thing)
    kinds = ", ".join(kind.__name__ for kind, _, _ in FOLDERS.values())
    raise TypeError(f"{path}: a folder holds one of {kinds}, not a {type(thing).__name__}")


def load(path: str | Path) -> Any:
    """Read what :func:`save` or ``gangsched solve --json`` wrote; the file says what it is.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Instance, problem, Schedule, Allocation, Result or Run
        A result is taken as it stands: `problem.violations`, `problem.objective` and
        :func:`gangsched.verify_bound` check it again.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If anything in it breaks the format; the message names file, place, value and rule.
    """
    if is_folder(path):
        return FOLDERS[head_of(path, *FOLDERS)["kind"]][2](Path(path))
    thing = load_as(path, KINDS)
    return run_io.attach_instance(path, thing) if isinstance(thing, Run) else thing
