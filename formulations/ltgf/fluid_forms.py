"""Fluid LTGF as a linear program over all packings, in CVXPY; symbols as in `fluid`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import product
from typing import Any

from ..problem import Model
from .fluid import LtgfFluid, TimeShares

cp: Any = import_module("cvxpy")  # whose names are not all annotated

#: packings that the form "packings" may list
LIST_LIMIT = 20_000


def build(problem: LtgfFluid, form: str = "packings") -> Model[TimeShares]:
    """Return the linear program over all packings; for small cases.

    Parameters
    ----------
    problem : LtgfFluid
    form : {"packings"}

    Raises
    ------
    ValueError
        Where there are more than 20,000 packings.

    Examples
    --------
    >>> build(LtgfFluid(4, (3, 3), (2, 2))).native.size_metrics.num_scalar_variables
    3
    """
    packings = list(_packings(problem))
    number = range(len(problem.gangs))
    x = cp.Variable(len(packings), nonneg=True, name="x_run")
    fairness = cp.Variable(name="z_fairness")
    rows = [cp.sum(x) == 1]  # time
    for i in number:  # cover
        containing = [k for k, packing in enumerate(packings) if i in packing]
        rows.append(cp.sum(x[containing]) >= fairness * float(problem.requirement(i)))
    native = cp.Problem(cp.Maximize(fairness), rows)

    def extract() -> TimeShares:
        whole = [Fraction(max(float(value), 0.0)) for value in x.value]
        total = sum(whole)
        return tuple((p, v / total) for p, v in zip(packings, whole, strict=True) if v)

    def embed(solution: TimeShares) -> None:
        worth: Counter[tuple[int, ...]] = Counter()
        for packing, fraction in solution:
            worth[tuple(sorted(packing))] += fraction  # type: ignore[assignment]
        x.value = [float(worth[packing]) for packing in packings]
        fairness.value = problem.objective(solution)

    return Model(native, "cvxpy", form, exact=True, extract=extract, embed=embed)


def _packings(problem: LtgfFluid) -> Iterator[tuple[int, ...]]:
    """All sets of jobs that fit together, but the empty one."""
    if 2 ** len(problem.gangs) > LIST_LIMIT:
        raise ValueError(
            f"LtgfFluid: {len(problem.gangs)} jobs have more than {LIST_LIMIT} sets, "
            "too many for form 'packings'"
        )
    for taken in product((False, True), repeat=len(problem.gangs)):
        packing = tuple(i for i, yes in enumerate(taken) if yes)
        if packing and sum(problem.gangs[i] for i in packing) <= problem.gpus:
            yield packing
