"""Names of problems, solvers, settings and readers, as the command line uses them.

Names are the Python names with ``-`` for ``_``; both are accepted. Other people's solvers take part
as ``module:object`` or through the entry point group ``gangsched.solvers``: a solver is a callable
``(problem, *, seed, time_limit) -> Result``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .formulations.rar_ddls import RarDdls
from .instances import Cluster, Instance, RingJob, generate
from .instances.convert import Conversion, to_rar_instance
from .instances.traces import READERS
from .solvers.baselines import backfilling, first_fit, list_scheduling, random_placement
from .solvers.laminar_blocks import LaminarParams, laminar
from .solvers.rar_ddls import SjfBcoParams, sjf_bco
from .solvers.result import Result

__all__ = ["PROBLEMS", "READERS", "ProblemEntry", "lookup", "plugins", "solver", "warm_up"]

Solver = Callable[..., Result[Any]]


def _exact(problem: Any, *, seed: int = 0, time_limit: float | None = None) -> Result[Any]:
    from .solvers.exact import solve_exact  # Pyomo takes a second to import

    return solve_exact(problem, time_limit=time_limit)


def _paper(
    variant: Any, *, jobs: int | None, nodes: int | None, seed: int, **changes: Any
) -> RarDdls:
    """Yu et al.'s setting: 160 jobs on 20 servers of 4, 8, 16 or 32 GPUs, T = 1200."""
    extra = changes.pop("extra", (0.05, 0.10))
    cluster = generate.paper_cluster(nodes or 20, seed=seed)
    instance = generate.rar_workload(
        cluster, jobs=jobs or 160, seed=seed, variant=variant, extra=extra
    )
    return RarDdls(instance, **{"horizon": 1200, **changes})


def _tiny() -> RarDdls:
    """Three jobs of four slots on two GPUs: no schedule meets the area bound of six."""
    jobs = [RingJob(id=i, gpus=1, iterations=4, gradient=0.0, base_time=0.9) for i in "abc"]
    return RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemEntry:
    """What the command line knows of one problem.

    Parameters
    ----------
    make : callable
        Instance to problem, with the paper's parameters.
    convert : callable
        (trace, cluster, jobs=, pick=, seed=) to an instance and an account of what was left out.
    solvers : mapping of name to solver
    compared : sequence of str
        Solvers that a comparison runs when none are named.
    settings : mapping of name to callable (jobs=, nodes=, seed=)
        Seeded generators of whole problems.
    measure : str
        What the objective is, in one word.
    tiny : callable
        A problem that every solver solves at once.
    quick : mapping of solver to keyword arguments
        What makes it do little there.
    """

    make: Callable[..., Any]
    convert: Callable[..., Conversion[Any]]
    solvers: Mapping[str, Solver]
    compared: tuple[str, ...]
    settings: Mapping[str, Callable[..., Any]]
    measure: str
    tiny: Callable[[], Any]
    quick: Mapping[str, Mapping[str, Any]]


PROBLEMS: Mapping[str, ProblemEntry] = {
    "rar-ddls": ProblemEntry(
        make=RarDdls,
        convert=to_rar_instance,
        solvers={
            "sjf-bco": sjf_bco,
            "sjf-bco:printed": partial(sjf_bco, params=SjfBcoParams(search="printed")),
            "first-fit": first_fit,
            "list-scheduling": list_scheduling,
            "random-placement": random_placement,
            "backfill-longest": partial(backfilling, order="longest"),
            "backfill-area": partial(backfilling, order="area"),
            "backfill-gpus": partial(backfilling, order="gpus"),
            "backfill-arrival": partial(backfilling, order="arrival"),
            "laminar": laminar,
            "exact": _exact,
        },
        compared=(
            "sjf-bco",
            "first-fit",
            "list-scheduling",
            "random-placement",
            "backfill-area",
            "backfill-longest",
            "laminar",
        ),
        settings={
            "paper-a": partial(_paper, "A"),
            "paper-b": partial(_paper, "B"),
            "heavy": partial(_paper, "B", extra=(0.30, 0.60), xi2=3e-4),
        },
        measure="makespan",
        tiny=_tiny,
        quick={"laminar": {"params": LaminarParams(rounds=1, steps=1)}},
    ),
}


def lookup(kind: str, table: Mapping[str, Any], name: str) -> str:
    """Return the key of `table` that `name` means, with ``_`` and ``-`` alike.

    Raises
    ------
    ValueError
        Naming what there is.

    Examples
    --------
    >>> lookup("problem", PROBLEMS, "rar_ddls")
    'rar-ddls'
    """
    keys = {key.replace("_", "-"): key for key in table}
    if name.replace("_", "-") not in keys:
        raise ValueError(f"{kind} {name!r} is not one of {', '.join(table)}")
    return keys[name.replace("_", "-")]


def solver(problem: str, name: str) -> tuple[str, Solver]:
    """Return the name and the function of a solver of `problem`.

    Looks among the project's own solvers, then the entry points, then for ``module:object``.

    Raises
    ------
    ValueError
        Where there is none of that name.

    Examples
    --------
    >>> solver("rar-ddls", "first_fit")[0]
    'first-fit'
    """
    own = PROBLEMS[problem].solvers
    key = name.replace("_", "-")
    if key in own:
        return key, own[key]
    if name in plugins():
        return name, _foreign(name, plugins()[name].load)
    module, _, attribute = name.partition(":")
    if attribute and module.replace("_", "-") not in own:
        return name, _foreign(name, lambda: getattr(_module(module), attribute))
    raise ValueError(
        f"solver {name!r} is not one of {', '.join((*own, *plugins()))}, nor module:object"
    )


def plugins() -> dict[str, EntryPoint]:
    """Return the solvers that installed packages offer, by name."""
    return {point.name: point for point in entry_points(group="gangsched.solvers")}


def warm_up(problem: str, name: str) -> None:
    """Run one of the project's own solvers on a tiny problem, so that its code is compiled.

    Other people's solvers are left alone.

    Examples
    --------
    >>> warm_up("rar-ddls", "first-fit")
    """
    entry = PROBLEMS[problem]
    if name in entry.solvers:
        entry.solvers[name](entry.tiny(), **entry.quick.get(name, {}))


def _module(name: str) -> Any:
    """Import a module; the current folder comes last, where `python -m` has it first."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
    return import_module(name)


def _foreign(name: str, load: Callable[[], Any]) -> Solver:
    """Return somebody else's solver, whose import may raise anything."""
    try:
        found: Solver = load()
    except (Exception, SystemExit) as error:
        text = f"solver {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise ValueError(text) from None
    if not callable(found):
        raise ValueError(f"solver {name!r} is of type {type(found).__name__}, which is no function")
    return found
