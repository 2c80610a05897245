"""What every optimisation problem of the toolkit offers, whatever paper it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from ..instances.display import shortened
from ..instances.model import Instance

S = TypeVar("S")


class Sense(Enum):
    """Whether less or more is better."""

    MIN = "minimise"
    MAX = "maximise"


@dataclass(frozen=True, slots=True)
class Goal:
    """What an objective is called, and what it and the times of a solution are counted in.

    Parameters
    ----------
    name : str
    unit : str
        Of the objective; empty where it has none.
    time : str
        Unit of times; empty where solutions have none.
    end : bool
        Whether it is the time at which the solution ends.
    solution : str
        What a solution is called.
    """

    name: str = "objective"
    unit: str = ""
    time: str = ""
    end: bool = False
    solution: str = "schedule"


class NoModel(ValueError):
    """A problem has no model in a form: it is too large, or has what the form leaves out."""


@dataclass(frozen=True, slots=True)
class Model(Generic[S]):
    """One declarative form of a problem, built and ready for a solver.

    Parameters
    ----------
    native : object
        The Pyomo model, the CVXPY problem, or the named sparse arrays.
    kind : str
        Which of the three.
    form : str
        Name of the form, one of the problem's `forms`.
    exact : bool
        True when its optimum is the problem's.
    extract : callable
        Reads the solution out of the solved native model.
    embed : callable
        Writes a solution into the native model's variables (warm start, agreement tests).
    relaxation : bool
        True when it is not exact, but every solution of the problem is one of the model, worth the
        same or more: its bound holds for the problem.
    value : callable
        The problem's objective, from that of the native model; a monotone function. (A model may
        have to minimise 1 / objective to be linear.)
    """

    native: Any
    kind: Literal["pyomo", "cvxpy", "arrays"]
    form: str
    exact: bool
    extract: Callable[[], S]
    embed: Callable[[S], None]
    relaxation: bool = False
    value: Callable[[float], float] = float


class Problem(Protocol[S]):
    """An instance with one paper's parameters, objective, feasibility check and exact model.

    Examples
    --------
    Anything with these members is a problem; see :class:`gangsched.formulations.RarDdls`.
    """

    sense: ClassVar[Sense]
    #: names of the declarative forms that `build` knows, the default of exact solving first
    forms: ClassVar[tuple[str, ...]]

    @property
    def integral(self) -> bool:
        """Whether every objective value is an integer (bounds may then be rounded)."""
        ...

    def objective(self, solution: S) -> float:
        """Return the value of `solution`, recomputed from its plain data."""
        ...

    def violations(self, solution: S) -> list[str]:
        """Return what `solution` breaks, one message each, empty when it is feasible."""
        ...

    def build(self, form: str = ...) -> Model[S]:
        """Return the declarative model in one of its `forms`."""
        ...


class Described:
    """A problem that says what it is in a line."""

    __slots__ = ()
    goal: ClassVar[Goal] = Goal()
    sense: ClassVar[Sense]

    def summary(self) -> str:
        """Return the size of the problem in a line."""
        return str(self.instance.summary())  # type: ignore[attr-defined]

    def facts(self) -> dict[str, str]:
        """Return what there is to know of its size, by name."""
        return dict(self.instance.facts())  # type: ignore[attr-defined]

    def __str__(self) -> str:
        unit = f" ({self.goal.unit})" if self.goal.unit else ""
        return f"{type(self).__name__}: {self.summary()}; {self.sense.value} {self.goal.name}{unit}"


def goal_of(problem: Any) -> Goal:
    """Return the goal of a problem, also of one that does not say it."""
    goal: Goal = getattr(problem, "goal", Goal())
    return goal


def summary_of(problem: Any) -> str:
    """Return the size of a problem or instance in a line; its class where it does not say it."""
    owner: Any
    for owner in (problem, getattr(problem, "instance", None)):
        if hasattr(owner, "summary"):
            return str(owner.summary())
    return type(problem).__name__


def facts_of(problem: Any) -> dict[str, str]:
    """Return what there is to know of the size of a problem, by name, as far as it says it."""
    owner: Any
    for owner in (problem, getattr(problem, "instance", None)):
        if hasattr(owner, "facts"):
            return dict(owner.facts())
    return {}


def build(problem: Any, form: str = "", **options: Any) -> Model[Any]:
    """Return the declarative model of a problem in one of its forms.

    Parameters
    ----------
    problem : Problem
        Of any class of :mod:`gangsched.formulations`.
    form : str
        One of `problem.forms`; by default the first.
    **options
        Of the form, see the module that is opened.

    Raises
    ------
    ValueError
        Where `form` is unknown, there is none, or the model would be too large.
    TypeError
        For what is no problem of this package.

    Notes
    -----
    The forms of a class in ``<package>/problem.py`` stand in ``<package>/forms.py``, those of one
    in ``<package>/round.py`` in ``<package>/round_forms.py``. They are opened by name when a form
    is asked for: Pyomo and CVXPY take a second each, and solvers do without them.

    Examples
    --------
    >>> from gangsched.formulations import RarDdls
    >>> from gangsched.instances import Cluster, Instance
    >>> build(RarDdls(Instance(Cluster.of_sizes([2]), []))).form
    'compact'
    """
    own = __package__ + "."
    module = next((k.__module__ for k in type(problem).__mro__ if k.__module__.startswith(own)), "")
    name = type(problem).__name__
    if not module or not hasattr(problem, "forms"):
        raise TypeError(f"build: a {name} is not a problem of {__package__}")
    if not problem.forms:
        raise ValueError(f"{name}: form={form!r}, but it has no form")
    form = form or problem.forms[0]
    if form not in problem.forms:
        raise ValueError(f"{name}: form={form!r} is not one of {', '.join(problem.forms)}")
    package, _, stem = module.rpartition(".")
    opened = import_module(f"{package}.{'' if stem == 'problem' else stem + '_'}forms")
    model: Model[Any] = opened.build(problem, form, **options)
    return model


def check_instance(problem: Any) -> None:
    """Refuse a problem whose instance is none."""
    if not isinstance(problem.instance, Instance):
        owner = type(problem).__name__
        raise TypeError(f"{owner}: instance={shortened(repr(problem.instance))} is not an Instance")


def check_class(owner: str, problem: object, expected: type[Any]) -> None:
    """Raise TypeError where `problem` is of another class than `owner` solves."""
    if not isinstance(problem, expected):
        found = type(problem).__name__
        raise TypeError(f"{owner}: a {found} is not a {expected.__name__} problem")
