"""The convex programs of :class:`GpuMarket`, in CVXPY, and the prices that solve their duals.

==============  ==========================================  ===================================
constraint      equation                                    dual variable
==============  ==========================================  ===================================
``supply``      sum_u x_ug <= N_g                           pi_g, price of a GPU of model g
``cap``         sum_g x_ug <= cap_u, of finite caps         mu_u, what one more GPU in use earns
``floor``       U_u >= f_u ("total")                        nu_u, cost of the fair share's unit
``least``       U_u >= z f_u ("max-min")                    nu_u
==============  ==========================================  ===================================

The dual of "total" is

    min sum_g pi_g N_g + sum_u mu_u cap_u - sum_u nu_u f_u
    s.t. pi_g + mu_u >= (1 + nu_u) S_ug,  pi, mu, nu >= 0,

so at an optimum pi_g / pi_h is the rate at which a GPU of model g is worth giving for GPUs of model
h, to anybody who holds both and can use more GPUs: the exchange rate that the trades look for. It
is the same for "max-min" with nu_u S_ug for (1 + nu_u) S_ug and sum nu_u f_u = 1, and for "nash"
with t_u S_ug / (U_u sum t): there the prices are those of a competitive equilibrium, and add up to
pi N + sum_u mu_u cap_u = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...instances.schedule import Allocation
from ..problem import Model

if TYPE_CHECKING:
    from .problem import GpuMarket


def build(problem: GpuMarket, form: str) -> Model[Allocation]:
    """Return the convex program of the problem's aim.

    Parameters
    ----------
    problem : GpuMarket
    form : {"conic"}
    """
    cp: Any = import_module("cvxpy")  # takes a second to import

    x = cp.Variable(problem.speeds.shape, nonneg=True, name="x_share")
    z = cp.Variable(name="z_least")
    values = cp.sum(cp.multiply(problem.speeds, x), axis=1)
    rows = {"supply": cp.sum(x, axis=0) <= problem.gpus}
    capped = np.flatnonzero(np.isfinite(problem.demand))
    if capped.size:
        rows["cap"] = cp.sum(x, axis=1)[capped] <= problem.demand[capped]
    if problem.aim == "total":
        rows["floor"] = values >= problem.fair_values
        aim = cp.sum(values)
    elif problem.aim == "max-min":
        rows["least"] = values >= z * problem.fair_values
        aim = z
    else:
        aim = (problem.tickets / problem.tickets.sum()) @ cp.log(values)
    native = cp.Problem(cp.Maximize(aim), list(rows.values()))

    def extract() -> Allocation:
        return Allocation(problem.users, problem.models, np.maximum(x.value, 0.0))

    def embed(solution: Allocation) -> None:
        x.value = solution.shares
        z.value = (problem.values(solution) / problem.fair_values).min()

    return Model(native, "cvxpy", form, exact=True, extract=extract, embed=embed)


def constraints(problem: GpuMarket, model: Model[Allocation]) -> dict[str, Any]:
    """Return the constraints of a form by name."""
    names = ["supply"]
    if np.isfinite(problem.demand).any():
        names.append("cap")
    names += {"total": ["floor"], "max-min": ["least"], "nash": []}[problem.aim]
    return dict(zip(names, model.native.constraints, strict=True))


def prices(problem: GpuMarket, model: Model[Allocation]) -> Mapping[str, Any]:
    """Return the dual solution of a solved form, as a certificate of a bound has it.

    Examples
    --------
    >>> from gangsched.formulations.gandiva_fair import GpuMarket
    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> model = market.build()
    >>> value = model.native.solve()
    >>> [round(price, 4) for price in prices(market, model)["prices"]]
    [1.25, 6.25]
    """
    rows = constraints(problem, model)
    floors, caps = np.zeros(len(problem.users)), np.zeros(len(problem.users))
    for name in ("floor", "least"):
        if name in rows:
            floors = rows[name].dual_value
    if "cap" in rows:
        caps[np.isfinite(problem.demand)] = rows["cap"].dual_value
    duals = {"prices": rows["supply"].dual_value, "floors": floors, "caps": caps}
    return {name: np.maximum(values, 0.0).tolist() for name, values in duals.items()}
