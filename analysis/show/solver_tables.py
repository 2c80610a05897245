"""The table of a comparison of solvers, and what its words mean."""

from __future__ import annotations

from ...formulations.problem import goal_of, summary_of
from ..comparing.comparison import Comparison
from .columns import ColumnTable, compared, explained, footnotes, shown_bound
from .conditions import Conditions, left_out, seed_range


def solver_table(found: Comparison) -> ColumnTable:
    """Return the rows under their columns."""
    goal = goal_of(found.problem)
    return ColumnTable(compared(goal, found.sense, found.measures, found.rows), found.rows)


def solver_words(found: Comparison, explain: bool = False) -> list[str]:
    """Return what explains the words that occur; with `explain`, all words and columns."""
    table = solver_table(found)
    if explain:
        return [*found.legend, *explained(table.columns)]
    words = {*(c.plain for c in table.columns), *(row.relaxation for row in found.rows)}
    return [
        *(line for line in found.legend if line.partition(":")[0] in words),
        *footnotes([table]),
    ]


def solver_notes(found: Comparison) -> list[str]:
    """Return what stands below the table: bounds, words, errors and what is refuted."""
    bounds = [("bound", found.bound), *((f"bound, {r.name}", r.bound) for r in found.relaxed)]
    notes = [
        f"{name}: none verified, so no ratio is certified"
        if bound is None
        else f"{name}: {shown_bound(bound.value, found.sense)} ({bound.method}, verified)"
        for name, bound in bounds
    ]
    notes += solver_words(found)
    notes += [f"{row.solver}: {row.error}" for row in found.rows if row.error]
    for r in found.refuted:
        more = len(r.violations) - 1
        tail = f" (and {more} more)" if more > 0 else ""
        notes.append(f"{r.solver}: refuted: {''.join(r.violations[:1])}{tail}")
    return notes


def solver_conditions(found: Comparison, *, drawn: str = "", rejected: int = 0) -> Conditions:
    """Return under which settings the solvers are compared.

    Parameters
    ----------
    found : Comparison
    drawn : str
        Which seed drew what of the instance, as the caller knows.
    rejected : int
        How many jobs were left out of it.
    """
    infos = [row.result.info for row in found.rows if row.result is not None]
    seeds = [info["seed"] for info in infos if isinstance(info.get("seed"), int)]
    said = [drawn] * bool(drawn) + [f"{seed_range(seeds)} of solvers"] * bool(seeds)
    own = found.problem.parameters() if hasattr(found.problem, "parameters") else {}
    plain = (f"{k} {v}" for k, v in own.items() if isinstance(v, int | float | str) and v != "")
    methods = dict.fromkeys(row.bound.method for row in found.rows if row.bound is not None)
    ratios = f"certified ratio in the table, to verified bounds ({', '.join(methods)})"
    return Conditions(
        information="the whole instance; online solvers use a job once it is there",
        seeds=", ".join(said) or seed_range([]),
        excluded=left_out([rejected]),
        parameters=", ".join([summary_of(found.problem), *plain]),
        certificate=ratios if methods else "none, as no bound was verified",
    )
