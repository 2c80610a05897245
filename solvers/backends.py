"""Solvers of models by name: which there are, which work here, what their options are called."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.metadata import version
from typing import Any

import pyomo.environ as pyo

from ..instances.shipped import shipped
from . import cp_sat

#: names of gap, threads and seed by solver, and other names of the same solvers in Pyomo
OPTIONS, SAME = shipped("gangsched.solvers", "backends").values()
#: solvers of Pyomo that are looked for
PYOMO = ("appsi_highs", "cbc", "cplex", "glpk", "gurobi", "scip", "xpress")


def named(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by the solver's own names.

    Parameters
    ----------
    solver : str
    options : mapping
        "gap", "threads" and "seed", or any of the solver's own.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        For one of the three that the solver does not have, or that is out of range.

    Examples
    --------
    >>> named("highs", {"gap": 0.01, "mip_max_leaves": 5})
    {'mip_rel_gap': 0.01, 'mip_max_leaves': 5}
    """
    own = OPTIONS.get(SAME.get(solver, "highs" if solver == "auto" else solver), {})
    found = {}
    for name, value in options.items():
        if name not in ("gap", "threads", "seed"):
            found[name] = value
            continue
        if own.get(name) is None:
            raise ValueError(f"solve_exact: option {name!r} of {solver!r} goes by its own name")
        least, what = int(name == "threads"), "a number" if name == "gap" else "an integer"
        right = isinstance(value, int | float) if name == "gap" else isinstance(value, int)
        if isinstance(value, bool) or not right or not value >= least:
            raise ValueError(f"solve_exact: option {name}={value!r} is not {what} >= {least}")
        found[str(own[name])] = value
    return found


def check(solver: str) -> None:
    """Raise ValueError where a solver does not work here, saying which do.

    Examples
    --------
    >>> check("highs")
    """
    if solver == "cp-sat":
        cp_sat.require()
    elif not works(solver):
        there = ", ".join(available())
        raise ValueError(f"solve_exact: solver={solver!r} does not work here; these do: {there}")


def available() -> dict[str, str]:
    """Return the version of each solver that works here, by name.

    Examples
    --------
    >>> "highs" in available()
    True
    """
    found = {"highs": version("highspy")}
    with suppress(cp_sat.NoCpSat):
        found["cp-sat"] = cp_sat.require()
    for name in PYOMO:
        if works(name):
            with _quiet():
                found[name] = ".".join(map(str, pyo.SolverFactory(name).version() or ()))
    return found


def works(name: str) -> bool:
    """Return whether a solver works here.

    Examples
    --------
    >>> works("highs"), works("no such solver")
    (True, False)
    """
    if name in ("auto", "highs"):
        return True
    if name == "cp-sat":
        with suppress(cp_sat.NoCpSat):
            return bool(cp_sat.require())
        return False
    with _quiet():
        try:
            return bool(pyo.SolverFactory(name).available(exception_flag=False))
        except Exception:  # whatever a solver's own package raises where it is half there
            return False


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("pyomo")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        logger.setLevel(before)
