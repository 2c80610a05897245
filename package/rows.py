"""Rows of the registry: a problem, a solver, a policy, by where their code is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from .analysis.comparing.comparison import Extras
from .instances.convert import Conversion
from .settings import Setting
from .solvers.result import Refuted, Result

Solver = Callable[..., Result[Any] | Refuted[Any]]


@dataclass(frozen=True, slots=True)
class SolverRow:
    """A solver by its place, and the parameters that it runs with.

    Parameters
    ----------
    place : str
        Module below ``gangsched.solvers``, and function, e.g. ``irmp.astraea.astraea``.
    params : mapping
        Fields of the solver's parameters that differ from their defaults.
    quick : mapping
        Those with which it does little on a tiny problem.
    folder : str
        Another one than "solvers" below which the module stands.
    """

    place: str
    params: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    folder: str = "solvers"

    @property
    def ours(self) -> bool:
        """Whether no paper says it."""
        return self.place.startswith("ours.")

    def load(self, **more: Any) -> Solver:
        """Import the function, and fix its parameters where they are not the defaults."""
        function = named_in(f"{self.folder}.{self.place}")
        params = {**self.params, **more}
        return partial(function, params=function.params(**params)) if params else function

    def __call__(self, problem: Any, **how: Any) -> Result[Any] | Refuted[Any]:
        """Solve a problem; `how` is seed, time_limit and params."""
        return self.load()(problem, **how)


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """A policy by its place, and what it is made with.

    Parameters
    ----------
    place : str
        Module below ``gangsched``, and class or function, e.g. ``solvers.policies.fifo.Fifo``.
    options : mapping
        Keyword arguments; a row among them is made too.
    note : str
        How a ``name:variant`` differs from the policy of that name.
    """

    place: str
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def ours(self) -> bool:
        """Whether no paper says it."""
        return self.place.startswith("solvers.ours.")

    def __call__(self, **more: Any) -> Any:
        """Return a new policy."""
        options = {name: v() if isinstance(v, PolicyRow) else v for name, v in self.options.items()}
        return named_in(self.place)(**options, **more)


def named_in(place: str) -> Any:
    """Import a module below gangsched, and return what has the name behind its last point."""
    module, _, name = place.rpartition(".")
    return getattr(import_module(f".{module}", __package__), name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemEntry:
    """What the command line knows of one problem.

    Parameters
    ----------
    make : callable
        Instance to problem, with the paper's parameters; a problem without instance refuses it.
    kind : type, optional
        Class of the problems; default `make`.
    convert : callable or None
        Trace to a problem and an account of what was left out; takes seed=, and cluster=, jobs=,
        pick=, or jobs=, nodes=, utility= where it draws the cluster. None where traces do not have
        what the problem needs.
    solvers : mapping of name to SolverRow
    compared : sequence of str
        Solvers that a comparison runs when none are named; the first is the one that `solve` runs.
    settings : mapping of name to Setting
        Seeded generators of whole problems.
    tiny : callable
        A problem that every solver solves at once.
    extras : Extras
        What it adds to comparisons: measures, relaxations, a legend.
    """

    make: Callable[..., Any]
    kind: type[Any] | None = None
    convert: Callable[..., tuple[Any, Conversion[Any]]] | None = None
    solvers: Mapping[str, SolverRow]
    compared: tuple[str, ...]
    settings: Mapping[str, Setting]
    tiny: Callable[[], Any]
    extras: Extras = field(default_factory=Extras)
