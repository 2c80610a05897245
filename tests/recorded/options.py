"""Every option of every policy and solver, changed one at a time, whatever it means."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import gangsched as gs
from gangsched.registry import policy

from .calls import checksum
from .instances import market, queue, ring_problem
from .policies import crowd, policies, short
from .table import attempt, entry, places


def changed(kind: type) -> Iterator[tuple[str, Any]]:
    """Other values of the fields of a dataclass, by the kind of the default."""
    hints = get_type_hints(kind)
    for part in fields(kind):
        if not part.init or part.default is MISSING:
            continue
        hint, default = hints[part.name], part.default
        choices = [one for one in (hint, *get_args(hint)) if get_origin(one) is Literal]
        if choices:
            values = [one for one in get_args(choices[0]) if one != default]
        elif isinstance(default, bool):
            values = [not default]
        elif isinstance(default, int):
            values = [default + 1, 2 * default + 3, 1]
        elif isinstance(default, float):
            values = [default / 2, 2 * default + 0.3, 1.0, math.inf]
        elif default is None:
            values = [1, 2.5]
        else:
            values = []
        for value in dict.fromkeys(value for value in values if value != default):
            yield part.name, value


@entry
def options_of_policies(folder: Path) -> Any:
    found: dict[str, Any] = {}
    kinds = {type(made): name for name in policies() if is_dataclass(made := policy(name)[1])}
    del kinds[gs.RollingHorizon]  # slow
    for kind, name in kinds.items():
        for field, value in changed(kind):
            made = attempt(kind, **{field: value})
            runs = found.setdefault(f"{name} {field}={value}", [])
            if isinstance(made, str):
                runs.append(made)
                continue
            for seed, what in ((2, "jobs"), (3, "models"), (2, "deadlines")):
                instance, rules = crowd(seed, what)
                run = attempt(gs.drive, instance, made, **rules)
                runs.append(run if isinstance(run, str) else short(run))
    return found


#: dearer than they say
SLOW = ("solve_exact", "branch_and_bound", "exact_chain", "revenue_search")


@entry
def options_of_solvers(folder: Path) -> Any:
    """The functions that take parameters of their own, on a small problem of each kind."""
    reduced = gs.formulations.reduced_problem
    problems = [
        ring_problem(), queue(jobs=7, nodes=2), reduced(4, servers=5, users=2, seed=1),
        replace(reduced(5, servers=5, users=2, seed=2), preemptive=True), market(),
    ]  # fmt: skip
    found: dict[str, Any] = {}
    for name, things in sorted(places().items()):
        for function in things:
            params = attempt(lambda: signature(function).parameters["params"].default)  # noqa: B023
            if name in SLOW or name[0] == "_" or isinstance(function, type):
                continue
            if isinstance(params, type) or not is_dataclass(params):
                continue
            for field, value in changed(type(params)):
                made = attempt(type(params), **{field: value})
                said = found.setdefault(f"{name} {field}={value}", [])
                said += [made] if isinstance(made, str) else [
                    outcome(attempt(function, problem, params=made))
                    for problem in problems
                    if type(problem).__name__ in str(signature(function))
                    or "problem: Any" in str(signature(function))
                ]  # fmt: skip
    return found


def outcome(result: Any) -> Any:
    if isinstance(result, str) or not hasattr(result, "objective"):
        return str(result)[:200]
    bound = getattr(result.bound, "value", None)
    return result.objective, bound, attempt(checksum, result.solution)


@entry
def audited_and_recorded(folder: Path) -> Any:
    """A log with starts: what is wrong with it, and what its cluster did."""
    rows = ["id,user,gpus,submit,start,end"]
    for i in range(24):
        submit, start = 300 * i, 300 * i + 97 * (i % 5)
        gang = (1, 2, 4, 8)[i % 4] if i != 7 else 3
        rows.append(f"j{i},{'ab'[i % 2]},{gang},{submit},{start},{start + 150 + 37 * (i % 7)}")
    trace, cluster = folder / "log.csv", gs.Cluster.of_sizes([8, 8])
    found: dict[str, Any] = {}
    for name, more in {
        "fine": [], "early": ["x,a,1,7000,6000,7100"], "again": ["x,a,1,0,0,150"],
        "crowded": ["x,a,8,6000,6000,9000", "y,b,8,6010,6010,9000"], "wide": ["x,a,17,1,2,3"],
    }.items():  # fmt: skip
        trace.write_text("\n".join([*rows, *more]) + "\n", "utf-8")
        log = gs.traces.read_csv(trace)
        found[f"{name}, audit"] = str(gs.audit(log, cluster, quotas={"a": 16, "b": 15}))
        made = gs.convert.to_instance(log, cluster)
        replay = gs.replay(made.instance, ["fifo"], times=made.times)
        found[f"{name}, replay"] = [
            [row.name, row.run.digest()[:10], dict(row.ratios)] for row in replay.rows
        ] + list(replay.remarks)
    return found
