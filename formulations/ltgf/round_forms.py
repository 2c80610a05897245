"""Declarative models of one round of LTGF in Pyomo; symbols as in `ltgf_round`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyomo.environ as pyo

from ..problem import Model
from ..rows import constraint, constraint_of
from .round import LtgfRound, Selection


def build(problem: LtgfRound, form: str) -> Model[Selection]:
    """Return "compact" (counts of each user and gang size) or "literal" (a binary a job).

    Parameters
    ----------
    problem : LtgfRound
    form : str

    Examples
    --------
    >>> problem = LtgfRound(
    ...     gpus=4, lease=1, attained=[0], fair=[0], share=[4], jobs=[(0, 1)] * 9
    ... )
    >>> len(build(problem, "compact").native.y_run), len(build(problem, "literal").native.y_run)
    (1, 9)
    """
    groups: dict[Any, list[int]] = {}
    for i, kind in enumerate(problem.jobs):
        groups.setdefault(i if form == "literal" else kind, []).append(i)
    members = list(groups.values())
    m: Any = pyo.ConcreteModel(name="LTGF round")
    m.kinds = pyo.RangeSet(0, len(members) - 1)
    m.y_run = pyo.Var(
        m.kinds, domain=pyo.NonNegativeIntegers, bounds=lambda m, k: (0, len(members[k])),
        doc="candidates of a kind that run",
    )  # fmt: skip
    m.z_least = pyo.Var(doc="min rho_j")
    m.nothing = pyo.Var(bounds=(0, 0), doc="keeps rows without candidates in the model")
    m.objective = pyo.Objective(expr=m.z_least, sense=pyo.maximize)
    used = pyo.quicksum(problem.jobs[members[k][0]][1] * m.y_run[k] for k in m.kinds)
    m.capacity = pyo.Constraint(expr=used + m.nothing <= problem.gpus, doc="free GPUs")
    some = m.nothing <= 0 if problem.users else m.z_least <= 1
    m.some = pyo.Constraint(expr=some, doc="1 where no user has a fair share")
    m.after = pyo.Expression(problem.users, rule=lambda m, j: _after(problem, m, members, j))

    @constraint(m, problem.users, doc="(12) rho_j >= z")
    def fair(m: Any, j: int) -> Any:
        return m.after[j] >= m.z_least * float(problem.due(j))

    def extract() -> Selection:
        chosen: list[int] = []
        for k in m.kinds:
            chosen += members[k][: round(m.y_run[k].value)]
        return tuple(sorted(chosen))

    def embed(solution: Selection) -> None:
        taken = set(solution)
        for k in m.kinds:
            m.y_run[k].set_value(len(taken & set(members[k])))
        m.z_least.set_value(problem.objective(solution))
        m.nothing.set_value(0)

    return Model(m, "pyomo", form, exact=True, extract=extract, embed=embed)


def _after(problem: LtgfRound, m: Any, members: Sequence[Sequence[int]], user: int) -> Any:
    """A_j + L sum D_i x_i."""
    own = [k for k in m.kinds if problem.jobs[members[k][0]][0] == user]
    got = pyo.quicksum(problem.jobs[members[k][0]][1] * m.y_run[k] for k in own)
    return problem.attained[user] + problem.lease * (got + m.nothing)


def lexicographic(problem: LtgfRound, model: Model[Selection], sums: Iterable[float]) -> None:
    """Turn a form's objective to the sum of the k + 1 least rho, given the sums for 1 .. k.

    The sum of the k least of numbers rho_j is max_r k r - sum_j max(0, r - rho_j), which is linear
    (Ogryczak, Sliwinski 2003). Maximising these sums one after the other, each with those before it
    held, gives the leximin optimum also where users tie. For small cases: an oracle.
    """
    m, held = model.native, list(sums)
    users = problem.users
    m.add_component("depths", pyo.RangeSet(1, len(held) + 1))
    m.add_component("r_level", pyo.Var(m.depths))
    m.add_component("d_below", pyo.Var(m.depths, users, domain=pyo.NonNegativeReals))

    def total(k: int) -> Any:
        return k * m.r_level[k] - pyo.quicksum(m.d_below[k, j] for j in users)

    @constraint(m, m.depths, users, doc="d >= r - rho_j")
    def below(m: Any, k: int, j: int) -> Any:
        return (m.d_below[k, j] - m.r_level[k]) * float(problem.due(j)) + m.after[j] >= 0

    m.held = constraint_of(lambda m, k: total(k) >= held[k - 1] - 1e-9, range(1, len(held) + 1))
    m.objective.set_value(total(len(held) + 1))
