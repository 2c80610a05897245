"""Which rows of a Pyomo model its variables' present values break."""

from typing import Any

import numpy as np
from pyomo.opt import WriterFactory

TOLERANCE = 1e-6


class Broken:
    """Names of the constraints and variables of a model whose present values are not allowed."""

    def __init__(self, native: Any) -> None:
        form = WriterFactory("compile_standard_form").write(native, mixed_form=True)
        self.rows, self.sides, self.columns = form.A.tocsr(), form.rhs, form.columns
        self.types = np.array([row.bound_type for row in form.rows], dtype=int)
        self.row_names = [row.constraint.parent_component().local_name for row in form.rows]
        self.column_names = [v.parent_component().local_name for v in form.columns]
        self.low = np.array([-np.inf if v.lb is None else v.lb for v in form.columns])
        self.high = np.array([np.inf if v.ub is None else v.ub for v in form.columns])
        self.whole = np.array([not v.is_continuous() for v in form.columns], dtype=bool)

    def __call__(self) -> set[str]:
        x = np.array([variable.value for variable in self.columns], dtype=float)
        excess = self.rows @ x - self.sides
        wrong = np.where(self.types == 0, np.abs(excess), excess * np.sign(self.types)) > TOLERANCE
        strange = (x < self.low - TOLERANCE) | (x > self.high + TOLERANCE)
        strange |= self.whole & (x != np.round(x))
        return {self.row_names[i] for i in np.flatnonzero(wrong)} | {
            self.column_names[i] for i in np.flatnonzero(strange)
        }
