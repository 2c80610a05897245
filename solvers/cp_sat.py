"""Constraint programs with intervals, solved by CP-SAT in a process of its own.

CP-SAT is optional: ``pip install 'gangsched[cpsat]'``. It always runs in another process, as
OR-tools and highspy cannot be imported into one: both bring a library of the name libhighs. The
process imports OR-tools, this module and `.child`; it is given a model in the terms of CP-SAT's own
protocol buffers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .child import Child

#: the oldest OR-tools that the models have been run with
OLDEST = (9, 15)
#: seconds beyond its limit that the process has to end by itself
GRACE = 1.0

#: a literal: a variable's number, or -1 - number for its negation, as in CP-SAT
Literal = int
#: (variable, coefficient)
Terms = Iterable[tuple[int, int]]


class NoCpSat(ValueError):
    """OR-tools is not there, or too old, or ended without an answer."""


class CpModel:
    """A constraint program, in the terms of CP-SAT's protocol buffers.

    Attributes
    ----------
    data : dict
        The model as JSON.

    Examples
    --------
    >>> model = CpModel()
    >>> x = model.integer(0, 5)
    >>> model.linear([(x, 2)], 3, 10)
    >>> model.minimise(x)
    >>> model.data["constraints"]
    [{'linear': {'vars': [0], 'coeffs': [2], 'domain': [3, 10]}}]
    """

    def __init__(self) -> None:
        self.data: dict[str, Any] = {"variables": [], "constraints": []}

    def integer(self, low: int, high: int) -> int:
        """Return a new variable between two integers."""
        self.data["variables"].append({"domain": [int(low), int(high)]})
        return len(self.data["variables"]) - 1

    def boolean(self) -> Literal:
        """Return a new variable of 0 or 1."""
        return self.integer(0, 1)

    def linear(
        self, terms: Terms, low: float, high: float, *, when: Sequence[Literal] = ()
    ) -> None:
        """Keep a sum between two values, infinite ones for none, where all of `when` hold."""
        pairs = [(int(v), int(c)) for v, c in terms]
        sides = [_side(low), _side(high)]
        row = {"vars": [v for v, _ in pairs], "coeffs": [c for _, c in pairs], "domain": sides}
        self._add({"linear": row}, when)

    def implies(self, literal: Literal, *others: Literal) -> None:
        """Have all of `others` where `literal` holds."""
        self._add({"boolAnd": {"literals": list(others)}}, [literal])

    def clause(self, *literals: Literal) -> None:
        """Have at least one of the literals."""
        self._add({"boolOr": {"literals": list(literals)}}, [])

    def exactly_one(self, literals: Iterable[Literal]) -> None:
        """Have one of the literals, and no other."""
        self._add({"exactlyOne": {"literals": list(literals)}}, [])

    def interval(self, start: int, size: int, end: int, *, when: Sequence[Literal] = ()) -> int:
        """Return an interval [start, end) of variables, which `cumulative` takes."""
        if not when:
            self.linear([(start, 1), (size, 1), (end, -1)], 0, 0)
        parts = {"start": _expression(start), "size": _expression(size), "end": _expression(end)}
        return self._add({"interval": parts}, when)

    def cumulative(
        self, intervals: Sequence[int], demands: Sequence[Mapping[str, Any]], capacity: int
    ) -> None:
        """Keep the demands of intervals, by :func:`variable` or :func:`constant`, in a capacity."""
        parts = {"intervals": list(intervals), "demands": list(demands)}
        self._add({"cumulative": {"capacity": constant(capacity), **parts}}, [])

    def minimise(self, variable: int) -> None:
        """Make a variable the objective."""
        self.data["objective"] = {"vars": [variable], "coeffs": [1]}

    def hint(self, values: Mapping[int, int]) -> None:
        """Say where the search is to begin."""
        pairs = sorted(values.items())
        hint = {"vars": [v for v, _ in pairs], "values": [int(x) for _, x in pairs]}
        self.data["solutionHint"] = hint

    def _add(self, constraint: dict[str, Any], when: Sequence[Literal]) -> int:
        enforced = {"enforcementLiteral": list(when)} if when else {}
        self.data["constraints"].append({**constraint, **enforced})
        return len(self.data["constraints"]) - 1


def variable(number: int) -> dict[str, Any]:
    """Return a demand that is a variable."""
    return _expression(number)


def constant(value: int) -> dict[str, Any]:
    """Return a demand that is fixed."""
    return {"offset": int(value)}


def _expression(number: int) -> dict[str, Any]:
    return {"vars": [number], "coeffs": [1]}


def _side(value: float) -> int:
    if math.isinf(value):
        return -(2**62) if value < 0 else 2**62
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpAnswer:
    """What CP-SAT said of a model.

    Parameters
    ----------
    values : sequence of int or None
        The best solution, by variable.
    bound : float
        No solution has a smaller objective, as CP-SAT claims; -inf where nothing is known.
    status : str
        "optimal", "feasible", "infeasible" or "unknown".
    stopped : str
        Why it stopped early: "time limit", "interrupted", or "".
    version : str
        Of OR-tools.
    branches : int
    history : sequence of (seconds, objective, bound)
        Since the call.
    """

    values: Sequence[int] | None = None
    bound: float = -math.inf
    status: str = "unknown"
    stopped: str = ""
    version: str = ""
    branches: int = 0
    history: tuple[tuple[float, float | None, float | None], ...] = ()


@dataclass(slots=True)
class _Heard:
    """What the process has told so far."""

    began: float = field(default_factory=time.perf_counter)
    values: Sequence[int] | None = None
    bound: float = -math.inf
    last: dict[str, Any] = field(default_factory=dict)
    history: list[tuple[float, float | None, float | None]] = field(default_factory=list)

    def take(self, told: dict[str, Any]) -> None:
        """Note one line."""
        self.values = told.get("values", self.values)
        if told.get("bound") is not None:
            self.bound = max(self.bound, told["bound"])
        now = time.perf_counter() - self.began
        self.history.append((now, told.get("objective"), told.get("bound")))
        self.last = told

    def answer(self, stopped: str) -> CpAnswer:
        """The answer when the process has stopped."""
        found = "unknown" if self.values is None else "feasible"
        return CpAnswer(
            values=self.values,
            bound=self.bound,
            status=self.last.get("status", found),
            stopped=stopped,
            version=self.last.get("version", ""),
            branches=self.last.get("branches", 0),
            history=tuple(self.history),
        )


def solve(
    model: CpModel,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    goal: Callable[[CpAnswer], bool] | None = None,
) -> CpAnswer:
    """Return what CP-SAT finds until the model is solved or the time is over.

    With one thread and without a time limit that strikes, the same model gives the same answer.
    Ctrl-C ends the process too; what it had told is returned.

    Parameters
    ----------
    model : CpModel
    time_limit : float, optional
        Wall seconds.
    threads, seed : int
    options : mapping, optional
        Other parameters of CP-SAT by their names, such as ``linearization_level``.
    goal : callable, optional
        Whether an answer is good enough to stop.

    Returns
    -------
    CpAnswer

    Raises
    ------
    NoCpSat
        Where OR-tools is missing or too old, or refuses the model or an option.
    """
    heard = _Heard()
    end = math.inf if time_limit is None else heard.began + time_limit + GRACE
    given = {"num_workers": threads, "random_seed": seed, **(options or {})}
    # the process takes a second or two to start
    until = None if time_limit is None else time.time() + time_limit
    child = Child(_work)

    def hear(told: dict[str, Any]) -> bool:
        if "error" in told:
            raise NoCpSat(told["error"])
        heard.take(told)
        return "status" not in told and goal is not None and goal(heard.answer(""))

    try:
        child.ask((model.data, given, until), hear, end)
    except TimeoutError:
        return heard.answer("time limit")
    except KeyboardInterrupt:
        return heard.answer("interrupted")
    except ChildProcessError as error:
        raise NoCpSat(f"CP-SAT ended without an answer ({error})") from None
    finally:
        child.close()
    early = heard.last.get("status") in ("feasible", "unknown")
    return heard.answer("time limit" if early else "")


def require() -> str:
    """Return the version of OR-tools; raise NoCpSat where it is missing or too old.

    Does not import it: the packages' metadata tell.

    Examples
    --------
    >>> isinstance(require(), str)
    True
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("ortools")
    except PackageNotFoundError:
        found = ""
    text = _refusal(found)
    if text:
        raise NoCpSat(text)
    return found


def _refusal(version: str) -> str:
    """Why this version will not do, "" where it does; "" is none."""
    if version and tuple(map(int, version.split(".")[:2])) >= OLDEST:
        return ""
    there = f"OR-tools {version} is too old" if version else "OR-tools is not installed"
    wanted = ".".join(map(str, OLDEST))
    return f"{there} (CP-SAT needs {wanted} or newer): pip install 'gangsched[cpsat]'"


# --- in the process ------------------------------------------------------------------------------


def _work(message: tuple[Any, Any, float | None], tell: Callable[[dict[str, Any]], None]) -> None:
    try:
        _solve(*message, lambda **told: tell(told))
    except Exception as error:  # told to the caller, in one line
        tell({"error": " ".join(f"CP-SAT: {type(error).__name__}: {error}".split())[:300]})


def _solve(
    model: dict[str, Any],
    options: dict[str, Any],
    until: float | None,
    tell: Callable[..., None],
) -> None:
    try:
        from importlib.metadata import version

        from google.protobuf import json_format
        from ortools.sat import cp_model_pb2
        from ortools.sat.python import cp_model
    except ImportError as error:
        tell(error=_refusal("") + f" ({error})")
        return
    number = version("ortools")
    if _refusal(number):
        tell(error=_refusal(number))
        return
    program = cp_model.CpModel()
    text = str(json_format.ParseDict(model, cp_model_pb2.CpModelProto()))
    if not program.Proto().parse_text_format(text):
        raise ValueError("the model cannot be read")
    solver = cp_model.CpSolver()
    for name, value in options.items():
        if not hasattr(solver.parameters, name):
            tell(error=f"CP-SAT has no option {name!r}")
            return
        setattr(solver.parameters, name, value)
    if until is not None:
        solver.parameters.max_time_in_seconds = max(until - time.time(), 0.01)
    numbers = range(len(model["variables"]))

    class Told(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            response = self.response_proto
            values = list(response.solution)
            bound = _finite(self.best_objective_bound)
            tell(values=values, objective=self.objective_value, bound=bound)

    solver.best_bound_callback = lambda bound: tell(bound=_finite(bound))
    status = solver.solve(program, Told())
    name = solver.status_name(status).lower()
    if name == "model_invalid":
        raise ValueError("the model is invalid: " + program.validate())
    found: dict[str, Any] = {}
    if name in ("optimal", "feasible"):
        found = {"values": [solver.response_proto.solution[i] for i in numbers]}
        found["objective"] = solver.objective_value
    tell(
        status=name, version=number, branches=solver.num_branches,
        bound=_finite(solver.best_objective_bound) if name != "infeasible" else None, **found,
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < 1e15 else None
