"""JSON files of instances, problems, schedules, allocations and results: one pair of functions.

What the files hold is described in :mod:`gangsched.instances.io`,
:mod:`gangsched.formulations.io` and :mod:`gangsched.solvers.io`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .formulations.io import PROBLEMS, problem_from_dict, problem_to_dict
from .instances import Allocation, Instance, Schedule
from .instances import io as plain
from .solvers import Result
from .solvers.io import result_from_dict, result_to_dict

__all__ = ["load", "save"]

#: kinds of files: types, writer, reader
KINDS: dict[str, tuple[tuple[type[Any], ...], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "allocation": ((Allocation,), plain.allocation_to_dict, plain.allocation_from_dict),
    "instance": ((Instance,), plain.instance_to_dict, plain.instance_from_dict),
    "problem": (tuple(PROBLEMS.values()), problem_to_dict, problem_from_dict),
    "result": ((Result,), result_to_dict, result_from_dict),
    "schedule": ((Schedule,), plain.schedule_to_dict, plain.schedule_from_dict),
}


def save(path: str | Path, thing: Any) -> None:
    """Write one thing as JSON; compressed if `path` ends in .gz.

    Parameters
    ----------
    path : str or Path
    thing : Instance, problem, Schedule, Allocation or Result

    Raises
    ------
    TypeError
        If `thing` is none of these, or holds what JSON cannot.
    ValueError
        If a schedule has more than 10,000 segments.

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
    for types, to_dict, _ in KINDS.values():
        if isinstance(thing, types):
            return plain.write_json(path, to_dict(thing))
    kinds = ", ".join(type_.__name__ for types, _, _ in KINDS.values() for type_ in types)
    raise TypeError(f"{path}: a file holds one of {kinds}, not a {type(thing).__name__}")


def load(path: str | Path) -> Any:
    """Read what :func:`save` or ``gangsched solve --json`` wrote; the file says what it is.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Instance, problem, Schedule, Allocation or Result
        A result is taken as it stands: `problem.violations`, `problem.objective` and
        :func:`gangsched.verify_bound` check it again.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If anything in it breaks the format; the message names file, place, value and rule.
    """
    data = plain.read_json(path)
    try:
        kind = plain.check_header(data, *KINDS)
        return KINDS[kind][2](data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
