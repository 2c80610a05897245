"""JSON of results, both ways.

A result's file holds everything that equal runs have in common, and apart from it a block
``"timing"`` (runtime and history), which can be left out: then equal runs give equal bytes. What is
missing is null; integers stay integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from typing import Any

from ..formulations.problem import Sense
from ..instances.check import one_of
from ..instances.io import (
    INTEGER,
    LIST,
    OBJECT,
    TEXT,
    allocation_from_dict,
    allocation_to_dict,
    check_fields,
    check_header,
    check_values,
    header,
    plain_data,
    schedule_from_dict,
    schedule_to_dict,
)
from ..instances.schedule import Allocation, Schedule
from .facts import facts_from_dict, facts_to_dict
from .result import Bound, Result, Status, Stop

FIELDS = {
    "solver", "sense", "status", "stop", "solution", "objective", "bound", "iterations", "info",
}  # fmt: skip


def _selection_to_dict(solution: tuple[int, ...]) -> dict[str, Any]:
    return {**header("selection"), "jobs": list(solution)}


def _selection_from_dict(data: Any) -> tuple[int, ...]:
    check_fields("selection", data, required={*header(""), "jobs"})
    return _numbers("jobs", data["jobs"])


def _shares_to_dict(solution: tuple[Any, ...]) -> dict[str, Any]:
    packings = [{"jobs": list(jobs), "fraction": str(part)} for jobs, part in solution]
    return {**header("time-shares"), "packings": packings}


def _shares_from_dict(data: Any) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    check_fields("time-shares", data, required={*header(""), "packings"})
    if not isinstance(data["packings"], list):
        raise ValueError(f"packings={data['packings']!r} is not a list")
    found = []
    for k, one in enumerate(data["packings"]):
        check_fields(f"packings[{k}]", one, required={"jobs", "fraction"})
        text = one["fraction"]
        try:
            part = Fraction(text if isinstance(text, str) else "")
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"packings[{k}]: fraction={text!r} is no rational") from None
        found.append((_numbers(f"packings[{k}]: jobs", one["jobs"]), part))
    return tuple(found)


def _numbers(name: str, values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or any(type(value) is not int for value in values):
        raise ValueError(f"{name}={values!r} is not a list of integers")
    return tuple(values)


#: what reads solutions, by their kind in files
SOLUTIONS: Mapping[str, Callable[[Any], Any]] = {
    "schedule": schedule_from_dict,
    "allocation": allocation_from_dict,
    "selection": _selection_from_dict,
    "time-shares": _shares_from_dict,
}


def result_to_dict(result: Result[Any], *, timing: bool = True) -> dict[str, Any]:
    """Return `result` as plain JSON data.

    Examples
    --------
    >>> result = Result(solver="toy", sense=Sense.MIN, status=Status.UNKNOWN, stop=Stop.ERROR)
    >>> data = result_to_dict(result, timing=False)
    >>> data["status"], data["objective"]
    ('unknown', None)
    """
    data = {
        **header("result"),
        "solver": result.solver,
        "sense": result.sense.value,
        "status": result.status.value,
        "stop": result.stop.value,
        "solution": solution_to_dict(result.solution),
        "objective": result.objective,
        "bound": bound_to_dict(result.bound),
        "iterations": result.iterations,
        "info": plain_data("result: info", result.info),
    }
    if result.facts is not None:
        data["facts"] = plain_data("result: facts", facts_to_dict(result.facts))
    if timing:
        history = plain_data("result: timing.history", result.history)
        data["timing"] = {"runtime": result.runtime, "history": history}
    return data


def result_from_dict(data: Any) -> Result[Any]:
    """Return the result that :func:`result_to_dict` wrote.

    Solution, objective and bound are taken as they stand; a problem's `violations` and `objective`
    and :func:`gangsched.verify_bound` check them again.

    Parameters
    ----------
    data : object
        What :func:`gangsched.instances.io.read_json` returned.

    Returns
    -------
    Result
        Without a timing block: runtime 0 and no history.

    Raises
    ------
    ValueError
        If anything in it breaks the format or the rules of :class:`Result`; the message names
        place, value and rule.

    Examples
    --------
    >>> result = Result(solver="toy", sense=Sense.MIN, status=Status.UNKNOWN, stop=Stop.ERROR)
    >>> result_from_dict(result_to_dict(result)) == result
    True
    """
    check_header(data, "result")
    check_fields("result", data, required={*header(""), *FIELDS}, optional={"facts", "timing"})
    check_values("result", data, {"solver": TEXT, "info": OBJECT, "iterations": INTEGER})
    try:
        read = {name: of(data[name]) for name, of in READERS.items() if name in data}
        timing = _timing_from_dict(data["timing"]) if "timing" in data else {}
        plain = {name: data[name] for name in FIELDS - READERS.keys()}
        return Result(**{**plain, **read, **timing})
    except TypeError as error:
        raise ValueError(str(error)) from None


def solution_to_dict(solution: Any) -> dict[str, Any] | None:
    """Return a solution of any problem as plain JSON data, None as it is."""
    if solution is None:
        return None
    if isinstance(solution, Schedule):
        return schedule_to_dict(solution)
    if isinstance(solution, Allocation):
        return allocation_to_dict(solution)
    if type(solution) is not tuple:
        raise TypeError(f"result: solution={solution!r} is not one of Schedule, Allocation, tuple")
    numbers = all(isinstance(one, int) for one in solution)  # of LTGF, or packings
    return _selection_to_dict(solution) if numbers else _shares_to_dict(solution)


def solution_from_dict(data: Any) -> Any:
    """Return the solution that :func:`solution_to_dict` wrote; its object says of which kind."""
    if data is None:
        return None
    if not isinstance(data, dict) or data.get("kind") not in tuple(SOLUTIONS):
        kinds = ", ".join(map(repr, SOLUTIONS))
        raise ValueError(f"result: solution is not null nor an object of kind {kinds}")
    try:
        return SOLUTIONS[data["kind"]](data)
    except ValueError as error:
        raise ValueError(f"solution: {error}") from None


def bound_to_dict(bound: Bound | None) -> dict[str, Any] | None:
    """Return a bound as plain JSON data, None as it is."""
    if bound is None:
        return None
    certificate = plain_data("result: bound.certificate", bound.certificate)
    return {"value": bound.value, "method": bound.method, "certificate": certificate}


def bound_from_dict(data: Any) -> Bound | None:
    """Return the bound that :func:`bound_to_dict` wrote."""
    if data is None:
        return None
    check_fields("bound", data, required={"value", "method", "certificate"})
    check_values("bound", data, {"method": TEXT})
    return Bound(**data)


def _timing_from_dict(data: Any) -> dict[str, Any]:
    check_fields("timing", data, required={"runtime", "history"})
    check_values("timing", data, {"history": LIST})
    for i, entry in enumerate(data["history"]):
        if not _is_history(entry):
            raise ValueError(
                f"timing: history[{i}]={entry!r} is not [time, objective or null, bound or null]"
            )
    return dict(data)


def _is_history(entry: Any) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) == 3
        and type(entry[0]) in (int, float)
        and all(value is None or type(value) in (int, float) for value in entry[1:])
    )


def _member(name: str, kind: type[Enum]) -> Callable[[Any], Enum]:
    def read(value: Any) -> Enum:
        members = {member.value: member for member in kind}
        one_of(f"result: {name}", value, members)
        return members[value]

    return read


#: fields that JSON does not have as they are
READERS: Mapping[str, Callable[[Any], Any]] = {
    "sense": _member("sense", Sense),
    "status": _member("status", Status),
    "stop": _member("stop", Stop),
    "solution": solution_from_dict,
    "bound": bound_from_dict,
    "facts": facts_from_dict,
}
