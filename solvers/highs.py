"""Small programs by HiGHS: integer ones with a limit on work instead of time, and linear ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array

from ..instances.arrays import Bools
from .policy import Floats, Ints

log = logging.getLogger("gangsched")

#: nodes of branch and bound; the same on a slow machine as on a fast one
NODES = 200

OPTIONS: Mapping[str, Any] = {
    "output_flag": False,
    "random_seed": 0,
    "parallel": "off",  # not "threads": a process that has run HiGHS with others gets an error
    "mip_max_nodes": NODES,
    "mip_abs_gap": 1e-6,
    "presolve": "off",  # these programs are small, and it takes longer than they do
}

TOLERANCE = 1e-9


def best_subset(
    values: Floats,
    rows: csc_array,
    limits: Floats,
    owner: Ints,
    *,
    gap: float,
    rounding: float | None = None,
) -> Bools:
    """Return which binaries z to set, with values z largest and rows z <= limits.

    The rounded linear relaxation if it is worth all but a share `rounding` (by default `gap`) of
    the relaxation, else the best that branch and bound finds within its nodes, at most a share
    `gap` from the best where they suffice, or the rounded one where that is better. `owner` says
    which binaries are alternatives of one another. z = 0 must be allowed.
    """
    if not values.size:
        return np.zeros(0, dtype=bool)
    program = _program(rows, values, np.full(limits.size, -highspy.kHighsInf), limits, 1.0)
    relaxed = _answer(program, gap)
    assert relaxed is not None, "z = 0 is allowed"
    rounded = round_down(values, rows, limits, owner, relaxed)
    worth, bound = float(values @ rounded), float(values @ relaxed)
    allowed = gap if rounding is None else rounding
    if worth >= bound - allowed * abs(bound) - TOLERANCE:
        return rounded
    program.integrality_ = [highspy.HighsVarType.kInteger] * values.size
    found = _answer(program, gap)
    return rounded if found is None or values @ found <= worth else found > 0.5


def round_down(
    values: Floats, rows: csc_array, limits: Floats, owner: Ints, relaxed: Floats
) -> Bools:
    """Return binaries near a solution of the linear relaxation.

    All that cost and are not 0 there are set; then those that pay, by what their owner has there in
    all, then by value, as far as the rows allow; then those that cost are dropped where they are
    not needed, the dearest first.
    """
    columns = rows.toarray().T
    amount = np.bincount(owner, weights=relaxed)[owner].round(6)
    chosen = (values < 0) & (relaxed > TOLERANCE)
    left = limits - columns[chosen].sum(axis=0)
    for c in np.lexsort((-values, -amount)).tolist():
        if values[c] > 0 and (columns[c] <= left + TOLERANCE).all():
            chosen[c] = True
            left -= columns[c]
    costly = np.flatnonzero(chosen & (values < 0))
    for c in costly[np.argsort(values[costly], kind="stable")].tolist():
        if (left + columns[c] >= -TOLERANCE).all():
            chosen[c] = False
            left += columns[c]
    return chosen


def _program(rows: csc_array, costs: Floats, lower: Floats, upper: Floats, most: float) -> Any:
    """The largest c x with lower <= A x <= upper and 0 <= x <= most."""
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = rows.shape
    program.sense_, program.col_cost_ = highspy.ObjSense.kMaximize, costs
    program.col_lower_, program.col_upper_ = np.zeros(costs.size), np.full(costs.size, most)
    program.row_lower_, program.row_upper_ = lower, upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = rows.indptr, rows.indices
    program.a_matrix_.value_ = rows.data
    return program


def _answer(program: Any, gap: float) -> Floats | None:
    """The best values of the columns, None where nothing was found."""
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {**OPTIONS, "mip_rel_gap": gap}.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    return np.array(solver.getSolution().col_value)


class Maximum:
    """A linear program: the largest c x with lower <= A x <= upper and x >= 0.

    Parameters
    ----------
    rows : (rows, columns) sparse array
        A.
    lower, upper : (rows,) arrays
        Infinite where there is no limit.
    tolerance : float
        By how much limits may be missed.
    """

    def __init__(
        self, rows: csc_array, lower: Floats, upper: Floats, *, tolerance: float = 1e-7
    ) -> None:
        costs = np.zeros(rows.shape[1])
        self.columns = np.arange(rows.shape[1], dtype=np.int32)
        self.solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in {
            **OPTIONS,
            "solver": "simplex",
            "primal_feasibility_tolerance": tolerance,
        }.items():
            self.solver.setOptionValue(name, value)
        self.solver.passModel(_program(rows, costs, lower, upper, highspy.kHighsInf))

    def at_least(self, column: int, value: float) -> None:
        """Demand x >= value of one column."""
        self.solver.changeColBounds(column, value, highspy.kHighsInf)

    def leave_out(self, column: int) -> None:
        """Demand x = 0 of one column."""
        self.solver.changeColBounds(column, 0.0, 0.0)

    def demand(self, lower: Floats) -> None:
        """Let the first rows have these lower limits, and no upper ones."""
        rows, upper = np.arange(lower.size, dtype=np.int32), np.full(lower.size, highspy.kHighsInf)
        self.solver.changeRowsBounds(lower.size, rows, lower, upper)

    def duals(self) -> Floats:
        """By what the last optimum grows with the limit of each row."""
        return np.array(self.solver.getSolution().row_dual)

    def solve(self, costs: Floats) -> Floats:
        """Return x, from the last optimum on; raise RuntimeError where there is none."""
        self.solver.changeColsCost(self.columns.size, self.columns, costs)
        self.solver.run()
        status = self.solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(
                f"a linear program ended as {self.solver.modelStatusToString(status)}"
            )
        return np.array(self.solver.getSolution().col_value)


def run_interruptibly(highs: Any) -> bool:
    """Run HiGHS so that Ctrl-C stops it and not the program; return whether it did.

    What else a handler of signals raises is raised once HiGHS has stopped.
    """
    highs.HandleUserInterrupt = True
    highs.startSolve()
    done = interrupted = False
    raised: BaseException | None = None
    while not done:
        try:
            done, _ = highs.wait(0.1)
        except KeyboardInterrupt:
            log.warning("interrupted: waiting for HiGHS to stop")
            interrupted = True
            highs.cancelSolve()
        except BaseException as error:  # its thread would abort the program
            raised = error
            highs.cancelSolve()
    if raised is not None:
        raise raised
    return interrupted
