"""Small integer programs by HiGHS, with a limit on work instead of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ..policy import Floats

Bools = NDArray[np.bool_]

#: nodes of branch and bound; the same on a slow machine as on a fast one
NODES = 200

OPTIONS: Mapping[str, Any] = {
    "output_flag": False,
    "random_seed": 0,
    "threads": 1,
    "mip_max_nodes": NODES,
    "mip_abs_gap": 1e-6,
    "presolve": "off",  # these programs are small, and it takes longer than they do
}

TOLERANCE = 1e-9


def best_subset(values: Floats, rows: csc_array, limits: Floats, *, gap: float) -> Bools:
    """Return which binaries z to set, with values z largest and rows z <= limits.

    A rounded solution of the linear relaxation that is worth all but a share `gap` of it, else the
    best one that branch and bound finds within its nodes, or the rounded one where that is better.
    z = 0 must be allowed.
    """
    if not values.size:
        return np.zeros(0, dtype=bool)
    program = _program(values, rows, limits)
    relaxed = _solved(program, gap)
    rounded = round_down(values, rows, limits, relaxed)
    worth, most = float(values @ rounded), float(values @ relaxed)
    if worth >= most - gap * abs(most) - TOLERANCE:
        return rounded
    program.integrality_ = [highspy.HighsVarType.kInteger] * values.size
    found: Bools = _solved(program, gap) > 0.5
    return found if values @ found > worth else rounded


def round_down(values: Floats, rows: csc_array, limits: Floats, relaxed: Floats) -> Bools:
    """Return binaries near a solution of the linear relaxation.

    All that cost and are not 0 there are set; then those that pay, by falling amount there and
    falling value, as far as the rows allow; then those that cost are dropped where they are not
    needed, the dearest first.
    """
    columns = rows.toarray().T
    chosen = (values < 0) & (relaxed > TOLERANCE)
    left = limits - columns[chosen].sum(axis=0)
    for c in np.lexsort((-values, -relaxed)).tolist():
        if values[c] > 0 and (columns[c] <= left + TOLERANCE).all():
            chosen[c] = True
            left -= columns[c]
    costly = np.flatnonzero(chosen & (values < 0))
    for c in costly[np.argsort(values[costly], kind="stable")].tolist():
        if (left + columns[c] >= -TOLERANCE).all():
            chosen[c] = False
            left += columns[c]
    return chosen


def _program(values: Floats, rows: csc_array, limits: Floats) -> Any:
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = values.size, limits.size
    program.col_cost_, program.sense_ = values, highspy.ObjSense.kMaximize
    program.col_lower_, program.col_upper_ = np.zeros(values.size), np.ones(values.size)
    program.row_lower_ = np.full(limits.size, -highspy.kHighsInf)
    program.row_upper_ = limits
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
    program.a_matrix_.value_ = rows.data
    return program


def _solved(program: Any, gap: float) -> Floats:
    """The best values of the columns, 0 where nothing was found."""
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {**OPTIONS, "mip_rel_gap": gap}.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return np.zeros(program.num_col_)
    return np.array(solver.getSolution().col_value)
