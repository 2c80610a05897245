"""HiGHS: how it is made and given a program, how it is stopped, and small programs.

The small ones are integer, with a limit on work instead of time, or linear.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ..instances.arrays import Bools, Floats, Ints
from ..instances.interrupts import held

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

log = logging.getLogger("gangsched")

#: nodes of branch and bound; the same on a slow machine as on a fast one
NODES = 200

#: of every program
QUIET: Mapping[str, Any] = {
    "output_flag": False,
    "random_seed": 0,
    "parallel": "off",  # not "threads": a process that has run HiGHS with others gets an error
}
OPTIONS: Mapping[str, Any] = {
    "mip_max_nodes": NODES,
    "mip_abs_gap": 1e-6,
    "presolve": "off",  # these programs are small, and it takes longer than they do
}

#: of integer programs that are solved to the end
EXACT: Mapping[str, Any] = {
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-6,
    "mip_feasibility_tolerance": 1e-7,
    "primal_feasibility_tolerance": 1e-7,
    # "enumeration", new in HiGHS 1.15, cuts solutions off: models with one, even optima, were found
    # infeasible, one in five of LTGF's smallest
    "presolve_rule_off": 1 << 16,
}
TOLERANCE = 1e-9


def new(options: Mapping[str, Any]) -> Any:
    """HiGHS without a program, quiet and on one thread, with these options."""
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {**QUIET, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def load(
    highs: Any,
    cost: Floats,
    matrix: csc_array | csr_array,
    lower: Floats,
    upper: Floats,
    *,
    least: Floats | float = 0.0,
    most: Floats | float = np.inf,
    integer: Bools | bool = False,
    minimise: bool = False,
    offset: float = 0.0,
) -> None:
    """Give HiGHS the largest ``cost @ x + offset``, ``lower <= matrix x <= upper`` and bounds on x.

    As arrays, which is several times faster than field by field.
    """
    rows, columns = matrix.shape
    forms, senses = highspy.MatrixFormat, highspy.ObjSense
    form = forms.kColwise if matrix.format == "csc" else forms.kRowwise
    sense = senses.kMinimize if minimise else senses.kMaximize
    sides = [np.broadcast_to(np.asarray(side, dtype=float), columns) for side in (least, most)]
    highs.passModel(
        columns, rows, matrix.nnz, int(form), int(sense), offset,
        cost, *sides, lower, upper,
        matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data,
        np.broadcast_to(np.asarray(integer, dtype=np.int32), columns),
    )  # fmt: skip


def start_from(highs: Any, x: Floats | Sequence[float]) -> None:
    """Begin with a solution."""
    known = highspy.HighsSolution()
    known.col_value = np.asarray(x, dtype=float)
    highs.setSolution(known)


def is_optimal(highs: Any) -> bool:
    """Whether HiGHS says that it has the best solution."""
    return bool(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def best_found(highs: Any) -> Floats | None:
    """The best values of the columns, None where nothing was found."""
    if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    return np.array(highs.getSolution().col_value)


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
    program = values, rows, np.full(limits.size, -np.inf), limits
    relaxed = _answer(program, gap, integer=False)
    assert relaxed is not None, "z = 0 is allowed"
    rounded = round_down(values, rows, limits, owner, relaxed)
    worth, bound = float(values @ rounded), float(values @ relaxed)
    allowed = gap if rounding is None else rounding
    if worth >= bound - allowed * abs(bound) - TOLERANCE:
        return rounded
    found = _answer(program, gap, integer=True)
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


def _answer(
    program: tuple[Floats, csc_array, Floats, Floats], gap: float, *, integer: bool
) -> Floats | None:
    """The best values of the columns, all between 0 and 1, None where nothing was found."""
    highs = new({**OPTIONS, "mip_rel_gap": gap})
    load(highs, *program, most=1.0, integer=integer)
    highs.run()
    return best_found(highs)


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
        self.columns = np.arange(rows.shape[1], dtype=np.int32)
        simplex = {"solver": "simplex", "primal_feasibility_tolerance": tolerance}
        self.solver = new({**OPTIONS, **simplex})
        load(self.solver, np.zeros(rows.shape[1]), rows, lower, upper)

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
        if not is_optimal(self.solver):
            status = self.solver.modelStatusToString(self.solver.getModelStatus())
            raise RuntimeError(f"a linear program ended as {status}")
        return np.array(self.solver.getSolution().col_value)


def run_interruptibly(highs: Any) -> bool:
    """Run HiGHS so that Ctrl-C stops it and not the program; return whether it did.

    What else a handler of signals raises is raised once HiGHS has stopped. HiGHS runs in this
    thread, and looks for signals by its callbacks: in a thread of its own, as highspy has it, it
    waits for ever now and then.
    """

    def look(event: Any) -> None:
        if signals.came:
            event.interrupt()

    highs.HandleUserInterrupt = True  # for `cancelSolve`
    try:
        with held(lambda: False) as signals:  # an error in a callback would abort the program
            highs.cbSimplexInterrupt += look
            highs.cbIpmInterrupt += look
            highs.cbMipInterrupt += look
            try:
                highs.run()
            finally:
                highs.cbSimplexInterrupt -= look
                highs.cbIpmInterrupt -= look
                highs.cbMipInterrupt -= look
    except KeyboardInterrupt:
        log.warning("interrupted: HiGHS has stopped")
        return True
    return False
