"""What comes out of one solve: what is in hand, why the run stopped, and what is proven.

The three are kept apart. :class:`Status` says what is known of the solution, :class:`Stop` why the
run ended, :class:`Bound` what no solution can beat. A result is made by :meth:`Result.of`, which
asks the problem whether the solution is feasible and what it is worth; no solver's word is taken.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np

from ..formulations.problem import Problem, Sense
from ..instances.compiling import without_waits
from ..instances.display import facts_html, frame
from .facts import Facts
from .history import Entry, settled

S = TypeVar("S")
#: up to which part of an objective that is a float a bound proves it
TOLERANCE = 1e-9


class Status(Enum):
    """What is in hand."""

    OPTIMAL = "optimal"  #: a solution, and a bound that is its objective, of floats up to 1e-9
    FEASIBLE = "feasible"  #: a solution
    INFEASIBLE = "infeasible"  #: proof that there is none
    UNBOUNDED = "unbounded"  #: proof that there is no best one
    UNKNOWN = "unknown"  #: neither a solution nor a proof


class Stop(Enum):
    """Why the run stopped."""

    PROVEN = "proven"  #: optimality, infeasibility or unboundedness was proven
    TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    INTERRUPTED = "interrupted"  #: by the user; what was found is kept
    COMPLETED = "completed"  #: a heuristic came to its end
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Bound:
    """A value that no solution can beat.

    Parameters
    ----------
    value : float or int
        Lower bound of a minimisation, upper bound of a maximisation.
    method : str
        How it was found, e.g. "area", "dual feasible function", "branch and bound".
    certificate : mapping or None
        Plain data from which :func:`gangsched.verify_bound` proves the bound again without the
        code that found it; None for a solver's own claim. Tuples become lists and numpy's numbers
        Python's, as in a file.

    Raises
    ------
    ValueError, TypeError
        If `value` is no finite integer or float, or `certificate` no mapping.

    Examples
    --------
    >>> Bound(12, "area").certificate is None
    True
    """

    value: float
    method: str
    certificate: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _number("bound", "value", self.value))
        if self.certificate is not None:
            if not isinstance(self.certificate, Mapping):
                raise TypeError(f"bound: certificate={self.certificate!r} is not a mapping")
            object.__setattr__(self, "certificate", MappingProxyType(_json_types(self.certificate)))

    def __reduce__(self) -> tuple[Any, ...]:
        certificate = None if self.certificate is None else dict(self.certificate)
        return Bound, (self.value, self.method, certificate)


def is_proven(objective: float | None, bound: Bound | None) -> bool:
    """Whether the bound is the objective, of floats up to :data:`TOLERANCE`.

    Examples
    --------
    >>> is_proven(12, Bound(11, "area")), is_proven(1.5, Bound(1.5 - 1e-10, "area"))
    (False, True)
    """
    if objective is None or bound is None:
        return False
    distance = abs(objective - bound.value)
    whole = isinstance(objective, int) and isinstance(bound.value, int)
    return distance == 0 or (not whole and distance <= TOLERANCE * abs(objective))


def _number(owner: str, name: str, value: Any) -> float:
    """Return an integer or a finite float as Python's own; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer)):
        raise TypeError(f"{owner}: {name}={value!r} is not an integer or a float")
    if not math.isfinite(value):
        raise ValueError(f"{owner}: {name}={value} is not finite, what is missing is None")
    return float(value) if isinstance(value, float) else int(value)


def _json_types(data: Any) -> Any:
    """Return nested data with the types that JSON gives back, as far as it has them."""
    if isinstance(data, Mapping):
        return {key: _json_types(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_json_types(value) for value in data]
    return data.item() if isinstance(data, np.generic) else data


@dataclass(frozen=True, kw_only=True)
class Result(Generic[S]):
    """Outcome of one solve; made by :meth:`Result.of`.

    Parameters
    ----------
    solver : str
        Name of the solver.
    sense : Sense
        Whether the objective is minimised or maximised.
    status : Status
        What is in hand.
    stop : Stop
        Why the run stopped.
    solution : Schedule, Allocation or None
    objective : float or None
        Recomputed by the problem from `solution`; None without a solution.
    bound : Bound or None
        What is proven; None where nothing is.
    iterations : int
        Solver's own count (runs, nodes, columns).
    info : mapping
        For display and records: seed, tie-breaks, parameters, versions.
    facts : Facts or None
        What else the solver states of its solution, which metrics and comparisons go by.
    runtime : float
        Wall seconds, without those in which machine code was compiled or loaded. Not compared.
    history : sequence of (time, objective or None, bound or None)
        Best so far of both over time, each better than the one before; made by :meth:`of`, it ends
        at the result's own. Empty of solvers without a loop that improves. Not compared.

    Raises
    ------
    ValueError, TypeError
        Negative runtime or iterations; numbers that are not finite; objective without solution or
        the reverse; OPTIMAL without a bound or with a gap; PROVEN without a proof; a bound on the
        wrong side of the objective (a bug to chase, not to ignore).
    """

    solver: str
    sense: Sense
    status: Status
    stop: Stop
    solution: S | None = None
    objective: float | None = None
    bound: Bound | None = None
    iterations: int = 0
    info: Mapping[str, Any] = field(default_factory=dict, compare=False)
    facts: Facts | None = field(default=None, hash=False)
    runtime: float = field(default=0.0, compare=False)
    history: Sequence[Entry] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        owner = f"result of {self.solver}"
        object.__setattr__(self, "info", MappingProxyType(_json_types(self.info)))
        if self.facts is not None and not isinstance(self.facts, Facts):
            raise TypeError(f"{owner}: facts={self.facts!r} are no Facts")
        object.__setattr__(self, "history", tuple(tuple(entry) for entry in self.history))
        if self.objective is not None:
            object.__setattr__(self, "objective", _number(owner, "objective", self.objective))
        for name in ("runtime", "iterations"):
            value = _number(owner, name, getattr(self, name))
            if value < 0:
                raise ValueError(f"{owner}: {name}={value} is negative")
            object.__setattr__(self, name, value)
        self._check_status()
        self._check_side()

    def _check_side(self) -> None:
        if self.objective is not None and self.bound is not None:
            excess = self.bound.value - self.objective
            if (excess if self.sense is Sense.MIN else -excess) > 0:
                raise self._wrong(
                    f"bound={self.bound.value} ({self.bound.method}) is on the wrong side of "
                    f"objective={self.objective} ({self.sense.value})"
                )

    def _check_status(self) -> None:
        has, status = self.solution is not None, self.status
        if has != (self.objective is not None):
            raise self._wrong("objective and solution go together")
        if has != (status in (Status.OPTIMAL, Status.FEASIBLE)):
            raise self._wrong(f"status={status.value} {'with' if has else 'without'} a solution")
        if self.stop is Stop.PROVEN and status in (Status.FEASIBLE, Status.UNKNOWN):
            raise self._wrong(f"stop=proven with status={status.value}")
        if status is Status.OPTIMAL and not is_proven(self.objective, self.bound):
            raise self._wrong(f"status=optimal with gap={self.gap}")

    def _wrong(self, text: str) -> ValueError:
        return ValueError(f"result of {self.solver}: {text}")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return partial(Result, **{**fields, "info": dict(self.info)}), ()

    @property
    def gap(self) -> float | None:
        """Distance of objective and bound over the objective; 0 if equal, None if one is absent."""
        if self.objective is None or self.bound is None:
            return None
        distance = abs(self.objective - self.bound.value)
        if distance == 0:
            return 0.0
        return distance / abs(self.objective) if self.objective else math.inf

    @classmethod
    def of(
        cls,
        problem: Problem[S],
        solution: S | None,
        *,
        solver: str,
        stop: Stop,
        bound: Bound | None = None,
        infeasible: bool = False,
        runtime: float = 0.0,
        history: Iterable[Entry] | None = None,
        **more: Any,
    ) -> Result[S]:
        """Make the result of a run from its solution, which the problem checks and values.

        Parameters
        ----------
        problem : Problem
        solution : S or None
        solver, stop, bound, runtime : as of the class
        infeasible : bool
            True when the solver has proven that no solution exists.
        history : iterable of (time, objective or None, bound or None), optional
            As it was noted; None says nothing new.
        **more
            `iterations`, `info`, `facts`.

        Raises
        ------
        AssertionError
            When `solution` violates the problem, or is feasible although `infeasible` says that
            nothing is: a bug of the solver.
        """
        objective = None
        runtime, whole = without_waits(runtime), runtime
        status = Status.INFEASIBLE if infeasible else Status.UNKNOWN
        if solution is not None:
            violations = problem.violations(solution)
            if violations:
                raise AssertionError(f"bug in solver {solver}: " + "; ".join(violations[:5]))
            if infeasible:
                raise AssertionError(f"bug in solver {solver}: infeasible with a feasible solution")
            objective = problem.objective(solution)
            status = Status.OPTIMAL if is_proven(objective, bound) else Status.FEASIBLE
        info = {**more.pop("info", {}), "versions": versions()}
        improved: tuple[Entry, ...] = ()
        if history is not None:
            value = None if bound is None else bound.value
            later = ((max(at - whole + runtime, 0.0), x, y) for at, x, y in history)
            improved = settled(
                problem.sense, later, objective=objective, bound=value, runtime=runtime
            )
        made = cls(
            solver=solver,
            sense=problem.sense,
            status=status,
            stop=stop,
            solution=solution,
            objective=objective,
            bound=bound,
            runtime=runtime,
            info=info,
            history=improved,
            **more,
        )
        object.__setattr__(made, "_checked", problem)  # no field: a changed copy is not checked
        return made

    def is_checked(self, problem: Problem[S]) -> bool:
        """Whether :meth:`of` made this result, unchanged, for a problem equal to this one."""
        known = getattr(self, "_checked", None)
        return known is problem or (known is not None and bool(known == problem))

    def to_frame(self) -> Any:
        """Return the result as a pandas DataFrame of one row."""
        facts = {
            "solver": self.solver,
            "status": self.status.value,
            "stop": self.stop.value,
            "objective": self.objective,
            "bound": None if self.bound is None else self.bound.value,
            "gap": self.gap,
            "iterations": self.iterations,
            "runtime": self.runtime,
        }
        return frame({name: [value] for name, value in facts.items()})

    def __str__(self) -> str:
        return "\n".join(f"{name:<10}{value}" for name, value in self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        bound, value = "none", "none"
        if self.bound is not None:
            bound = f"{_shown(self.bound.value)} ({self.bound.method})"
        if self.objective is not None:
            value = f"{_shown(self.objective)} ({self.sense.value})"
        return [
            ("solver", self.solver),
            ("status", f"{self.status.value}, stopped: {self.stop.value}"),
            ("objective", value),
            ("bound", bound),
            ("gap", "unknown" if self.gap is None else f"{100 * self.gap:.2f} %"),
            ("runtime", f"{self.runtime:.3f} s"),
        ]

    def _repr_html_(self) -> str:
        return facts_html(dict(self._lines()))


def _shown(value: float) -> str:
    """Integers in full (a makespan of 1234567 slots is no 1.23457e+06), others to six digits."""
    return str(int(value)) if value == int(value) else f"{value:g}"


def versions() -> dict[str, str]:
    """Versions that a record of a result needs."""
    own = {name: _installed(name) for name in ("gangsched", "numpy")}
    return {**own, "python": platform.python_version()}


@cache
def _installed(name: str) -> str:
    return version(name)


@dataclass(frozen=True, slots=True)
class Refuted(Generic[S]):
    """What a printed (literal) variant of an algorithm gives when its answer breaks the problem.

    Never a :class:`Result`: there is no objective to compare.

    Examples
    --------
    >>> Refuted("printed", None, ("capacity: node n0 holds 9 of 8 GPUs at 3",)).violations[0][:8]
    'capacity'
    """

    solver: str
    solution: S | None
    violations: tuple[str, ...]
