"""The best that trades of GPUs could reach: largest total, fairest, and equilibrium of incomes.

Each solver returns an allocation, and a bound whose certificate is the prices that prove it: pi_g
of a GPU of each model, nu_u of each user's floor, mu_u of its cap (see `gandiva_fair_forms`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ...formulations.gandiva_fair.problem import Aim, GpuMarket, effective_tickets
from ...instances.arrays import Floats
from ...instances.schedule import Allocation
from ..highs import is_optimal, load, new
from ..history import Entry
from ..result import Bound, Result, Stop
from ..signature import solver
from .equilibrium import equilibrium

KIND = "gpu prices"
#: what results call the solver, by aim
SOLVED_BY = {
    "total": "efficient_allocation", "max-min": "max_min_allocation", "nash": "nash_allocation",
}  # fmt: skip
#: an objective may be so much above what the prices prove, as rounding lets floors give way
SLACK = 1e-8
#: shares of a model below this part of it are taken for none
DUST = 1e-12


class _Duals(NamedTuple):
    """pi, nu and mu."""

    prices: Floats
    floors: Floats
    caps: Floats

    @classmethod
    def of_equilibrium(cls, prices: Floats, caps: Floats) -> _Duals:
        """Without floors, which "nash" has not."""
        return cls(prices, np.zeros(caps.size), caps)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationParams:
    """Parameters of :func:`best_allocation`.

    Parameters
    ----------
    aim : {"total", "max-min", "nash"} or None
        By what the GPUs are divided; None: by the market's own aim.
    """

    aim: Aim | None = None


@solver(AllocationParams, of=GpuMarket)
def best_allocation(problem: GpuMarket, *, params: AllocationParams) -> Result[Allocation]:
    """Divide the GPUs by one aim, whatever the market's own, which values the outcome.

    Guarantee: optimal for the market's own aim, up to the rounding that the gap shows; without a
    bound for another one.

    Notes
    -----
    "total": the sum of all values is largest where nobody is below its fair share. No outcome of
    trading that leaves everybody at least its fair share has a larger total. The linear program of
    `gandiva_fair_forms`, solved by HiGHS's dual simplex. Optima need not be unique.

    "max-min": the least of all U_u / f_u is largest, at least 1. Where users have caps or cannot
    use all models, only the worst-off ones count: others may be left with less than they could
    have. The same program with one column more.

    "nash": the mean of log U_u, weighted by tickets, is largest. Without caps, it is a competitive
    equilibrium in which every user spends its tickets: nobody is below its fair share, and nobody
    would rather have what another got for as many tickets. With caps neither need hold.

    Two models of which all users can use both, no caps: in closed form, O(users log users). With K
    slow and V fast GPUs, tickets adding up to 1, and users sorted by falling r = S_f / S_s, prices
    are p = pi_f / pi_s and pi_s = 1 / (K + p V). Who has r > p holds fast GPUs only, who has r < p
    slow ones only. Either p lies between two ratios, and those above it, T of the tickets, buy all
    fast GPUs: p V / (K + p V) = T; or p is the ratio of some users, who share what is left.

    Else by :func:`gangsched.solvers.gandiva_fair.equilibrium.equilibrium`.

    References
    ----------
    E. Eisenberg, D. Gale. Consensus of subjective probabilities: the pari-mutuel method. Annals of
    Mathematical Statistics 30, 1959.

    Examples
    --------
    Table 3: the largest total is 133.75, second-price trading reaches 130, and fair shares alone
    are worth 110.

    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> best = best_allocation(market)
    >>> best.objective, best.status.value, best.solution.shares.tolist()
    (133.75, 'optimal', [[25.0, 0.0], [35.0, 1.0], [0.0, 11.0]])
    >>> best.bound.certificate["prices"], best.bound.certificate["floors"]
    ([1.25, 6.25], [0.25, 0.25, 0.0])

    Everybody can have 18.8 % more than its fair share.

    >>> round(best_allocation(replace(market, aim="max-min")).objective, 4)
    1.1881

    The equilibrium is the same as second-price trading, at the same price.

    >>> best_allocation(market, params=AllocationParams(aim="nash")).objective
    130.0
    >>> result = best_allocation(replace(market, aim="nash"))
    >>> result.solution.shares.tolist()
    [[40.0, 0.0], [20.0, 4.0], [0.0, 8.0]]
    >>> exchange_rates(result.bound.certificate).round(6).tolist()
    [[1.0, 0.2], [5.0, 1.0]]
    """
    aim = problem.aim if params.aim is None else params.aim
    result = _solved(replace(problem, aim=aim), SOLVED_BY[aim])
    if problem.aim == aim or result.solution is None:
        return result
    return Result.of(
        problem, result.solution, solver=result.solver, stop=Stop.COMPLETED, runtime=result.runtime
    )


@solver(of=GpuMarket)
def fair_share(problem: GpuMarket) -> Result[Allocation]:
    """Give each user its fair share of each model.

    Guarantee: feasible; none of what it is worth.

    Notes
    -----
    O(users models), in rational arithmetic.

    Examples
    --------
    >>> fair_share(GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])).objective
    110.0
    """
    return Result.of(problem, problem.fair(), solver="fair-share", stop=Stop.COMPLETED)


def exchange_rates(certificate: Mapping[str, Any]) -> Floats:
    """Return how many GPUs of each model one GPU of each other model is worth at the prices.

    Parameters
    ----------
    certificate : mapping
        Of a bound of a :class:`GpuMarket`.

    Returns
    -------
    (models, models) float array
        [g, h]: GPUs of model h for one of g, pi_g / pi_h; inf where only h is worth nothing, nan
        where both are.

    Notes
    -----
    At an optimum, somebody who gives GPUs of h for a GPU of g at this rate gains where its own rate
    S_ug / S_uh is higher, loses where it is lower.

    Examples
    --------
    >>> exchange_rates({"prices": [1.25, 6.25]}).tolist()
    [[1.0, 0.2], [5.0, 1.0]]
    """
    prices = np.array(certificate["prices"], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(prices[:, None] / prices)


def market_bound(
    problem: GpuMarket, prices: ArrayLike, floors: ArrayLike, caps: ArrayLike, *, method: str
) -> Bound:
    """Return the bound that prices prove, whoever found them and however inexact they are.

    Parameters
    ----------
    problem : GpuMarket
    prices : (models,) array
        pi_g; raised to where the proof holds, and for "nash" scaled to where it is best.
    floors, caps : (users,) array
        nu_u, mu_u; negative ones count as 0, and so do floors for "nash" and caps of users without.
    method : str
        Of the bound.

    Returns
    -------
    Bound
        Its value is rounded up; :func:`gangsched.verify_bound` accepts it.

    Raises
    ------
    ValueError
        For "nash" where pi_g + mu_u = 0 < S_ug; for "max-min" where all floors are 0.

    Notes
    -----
    "total" and "max-min" are evaluated in rationals: pi_g = max_u (slope_u S_ug - mu_u), slope
    1 + nu_u or nu_u, is the least price that the proof allows. "nash" is evaluated in floats, and
    raised by more than these can be off. O(users models) operations.

    Examples
    --------
    Prices alone, without the user who could not do better than its fair share, prove little.

    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> market_bound(market, [1, 6.25], [0, 0, 0], [0, 0, 0], method="a guess").value
    135.0
    """
    capped = np.isfinite(problem.demand)
    mu = np.where(capped, np.maximum(np.asarray(caps, dtype=np.float64), 0.0), 0.0)
    nu = np.maximum(np.asarray(floors, dtype=np.float64), 0.0)
    pi = np.maximum(np.asarray(prices, dtype=np.float64), 0.0)
    proven = _equilibrium_bound if problem.aim == "nash" else _linear_bound
    value, duals = proven(problem, _Duals(pi, nu, mu))
    certificate = {
        "kind": KIND, "prices": duals.prices.tolist(), "floors": duals.floors.tolist(),
        "caps": duals.caps.tolist(),
    }  # fmt: skip
    return Bound(value, method, certificate)


# -- solving ---------------------------------------------------------------------------------------


def _solved(problem: GpuMarket, solver: str) -> Result[Allocation]:
    """The best allocation by the market's own aim."""
    aim = problem.aim
    started = time.perf_counter()
    history: list[Entry] | None = None
    if aim != "nash":
        shares, duals, iterations = _linear(problem)
        method = "linear program's dual"
    elif _has_closed_form(problem):
        shares, duals, iterations = *_two_models(problem), 0
        method = "equilibrium in closed form"
    else:
        found = equilibrium(
            problem.tickets / problem.tickets.sum(), problem.speeds,
            problem.gpus.astype(np.float64), problem.demand,
        )  # fmt: skip
        shares, duals = found.shares, _Duals.of_equilibrium(found.prices, found.caps)
        iterations, method = found.iterations, "equilibrium prices"
        history = [
            (at, None, _equilibrium_bound(problem, _Duals.of_equilibrium(prices, caps))[0])
            for at, prices, caps in found.path
        ]
    solution = Allocation(problem.users, problem.models, _within(problem, shares))
    objective = problem.objective(solution)
    bound = _no_lower(market_bound(problem, *duals, method=method), objective)
    return Result.of(
        problem, solution, solver=solver, bound=bound, iterations=iterations,
        stop=Stop.PROVEN if bound.value == objective else Stop.COMPLETED,
        runtime=time.perf_counter() - started, history=history,
    )  # fmt: skip


def _within(problem: GpuMarket, shares: Floats) -> Floats:
    """The shares without dust, and within supply and caps."""
    shares = np.where((shares > DUST * problem.gpus) & (problem.speeds > 0), shares, 0.0)
    used = shares.sum(axis=0)
    shares = shares * np.minimum(1.0, problem.gpus / np.maximum(used, DUST))
    held = shares.sum(axis=1)
    return np.asarray(shares * np.minimum(1.0, problem.demand / np.maximum(held, DUST))[:, None])


def _no_lower(bound: Bound, objective: float) -> Bound:
    """The bound, or the objective where rounding has left that a little above."""
    if objective <= bound.value:
        return bound
    if objective - bound.value > SLACK * max(abs(objective), 1.0):
        raise AssertionError(f"bug in market: {objective} is above its bound {bound.value}")
    return Bound(objective, bound.method, bound.certificate)


def _linear(problem: GpuMarket) -> tuple[Floats, _Duals, int]:
    """Shares and duals of "total" or "max-min".

    The latter in parts of each model's GPUs, each cap and each fair value: HiGHS's tolerances are
    absolute, and fair values may be large numbers while the least ratio is about 1.
    """
    users, models = problem.speeds.shape
    share = np.arange(users * models).reshape(users, models)
    capped = np.flatnonzero(np.isfinite(problem.demand))
    gpus, caps, fair = problem.gpus, problem.demand[capped], problem.fair_values
    least = problem.aim == "max-min"
    units = (gpus, caps, fair) if least else (np.ones(n) for n in (models, caps.size, users))
    gpus_unit, caps_unit, fair_unit = units
    # rows: supply, caps, floors; columns: shares, and the least ratio
    rows = [*share.T, *share[capped], *share]
    values = [np.ones(users)] * models
    values += [*(gpus_unit / caps_unit[:, None])]
    values += [*(problem.speeds * gpus_unit / fair_unit[:, None])]
    if least:
        rows[-users:] = [np.append(row, users * models) for row in share]
        values[-users:] = [np.append(row, -1.0) for row in values[-users:]]
    limits = np.concatenate([gpus / gpus_unit, caps / caps_unit])
    lower = np.concatenate([np.full(limits.size, -np.inf), np.zeros(users) if least else fair])
    upper = np.concatenate([limits, np.full(users, np.inf)])
    usable = np.where(problem.speeds > 0, np.inf, 0.0).ravel()
    cost = np.append(np.zeros(users * models), 1.0) if least else problem.speeds.ravel()
    room = np.append(usable, np.inf) if least else usable
    highs = _highs(cost, room, lower, upper, rows, values)
    solution = highs.getSolution()
    duals = np.array(solution.row_dual) / np.concatenate([gpus_unit, caps_unit, fair_unit])
    mu = np.zeros(users)
    mu[capped] = duals[models : models + capped.size]
    shares = np.array(solution.col_value)[: users * models].reshape(users, models) * gpus_unit
    prices = _Duals(duals[:models], -duals[-users:], mu)
    return shares, prices, int(highs.getInfo().simplex_iteration_count)


def _highs(
    cost: Floats, room: Floats, lower: Floats, upper: Floats,
    rows: Sequence[NDArray[np.int64]], values: Sequence[Floats],
) -> Any:  # fmt: skip
    """HiGHS after maximising cost z over 0 <= z <= room and lower <= rows z <= upper."""
    entries = np.concatenate(values), np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    highs = new({"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10})
    load(highs, cost, csr_array(entries, shape=(len(rows), cost.size)), lower, upper, most=room)
    highs.run()
    if not is_optimal(highs):
        status = highs.modelStatusToString(highs.getModelStatus())
        raise AssertionError(f"bug in market: HiGHS says {status}, but fair shares are feasible")
    return highs


# -- Nash welfare in closed form -------------------------------------------------------------------


def _has_closed_form(problem: GpuMarket) -> bool:
    uncapped = bool(np.isinf(problem.demand).all())
    alike = problem.tickets.min() > DUST * problem.tickets.sum()
    return uncapped and len(problem.models) == 2 and bool(problem.speeds.all() and alike)


def _two_models(problem: GpuMarket) -> tuple[Floats, _Duals]:
    """Equilibrium of two models."""
    slow, fast = (float(n) for n in problem.gpus)
    tickets = problem.tickets / math.fsum(problem.tickets)
    ratios = problem.speeds[:, 1] / problem.speeds[:, 0]
    price, marginal = _price(slow, fast, tickets, ratios)
    buys = ratios > price
    here = np.zeros_like(buys) if marginal is None else ratios == marginal
    if marginal is None:
        above = math.fsum(tickets[buys])
        pi = np.array([(1 - above) / slow, above / fast])
    else:
        pi = np.array([1.0, price]) / (slow + price * fast)
    shares = np.zeros_like(problem.speeds)
    shares[buys, 1] = tickets[buys] / pi[1]
    sells = ~(buys | here)
    shares[sells, 0] = tickets[sells] / pi[0]
    if here.any():
        left = np.maximum(problem.gpus - shares.sum(axis=0), 0.0)
        shares[here] = np.outer(tickets[here] / math.fsum(tickets[here]), left)
    return shares, _Duals.of_equilibrium(pi, np.zeros(tickets.size))


def _price(slow: float, fast: float, tickets: Floats, ratios: Floats) -> tuple[float, float | None]:
    """p, and the ratio of the users who are indifferent, if there are any."""
    above, ratio = 0.0, math.nan
    order = np.argsort(-ratios, kind="stable").tolist()
    for ratio, group in groupby(order, key=lambda u: float(ratios[u])):
        between = above * slow / ((1 - above) * fast) if above else -math.inf
        if between >= ratio:
            return between, None
        above += math.fsum(tickets[u] for u in group)
        if ratio * fast <= above * (slow + ratio * fast):
            return ratio, ratio
    return ratio, ratio  # rounding: all tickets are above


# -- bounds ----------------------------------------------------------------------------------------


def _linear_bound(problem: GpuMarket, duals: _Duals) -> tuple[float, _Duals]:
    """In rationals, with the least prices that are floats."""
    nu, mu = _exact(duals.floors), _exact(duals.caps)
    extra = 1 if problem.aim == "total" else 0
    speeds = [_exact(row) for row in problem.speeds]
    needed = [Fraction(0)] * len(problem.models)
    for row, floor, cap in zip(speeds, nu, mu, strict=True):
        for g, speed in enumerate(row):
            needed[g] = max(needed[g], (extra + floor) * speed - cap)
    pi = [_float_above(price) for price in needed]
    spent = sum(Fraction(p) * n for p, n in zip(pi, problem.gpus.tolist(), strict=True))
    spent += sum(m * Fraction(c) for m, c in zip(mu, problem.demand.tolist(), strict=True) if m)
    due = sum(floor * f for floor, f in zip(nu, _fair_values(problem, speeds), strict=True))
    if problem.aim == "max-min" and not due:
        raise ValueError("market_bound: all floors are 0, which proves nothing of the least ratio")
    value = spent - due if extra else spent / due
    return _float_above(value), duals._replace(prices=np.array(pi))


def _fair_values(problem: GpuMarket, speeds: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """f_u, exactly."""
    gpus = problem.gpus.tolist()
    shares = effective_tickets(_exact(problem.tickets), problem.demand.tolist(), sum(gpus))
    return [
        share * sum(s * n for s, n in zip(row, gpus, strict=True)) / sum(gpus)
        for share, row in zip(shares, speeds, strict=True)
    ]


def _equilibrium_bound(problem: GpuMarket, duals: _Duals) -> tuple[float, _Duals]:
    """In floats, and then more than rounding can have taken away."""
    caps = np.where(duals.caps > 0, problem.demand, 0.0)
    spent = duals.prices @ problem.gpus + duals.caps @ caps
    pi, mu = duals.prices / spent, duals.caps / spent
    weights = problem.tickets / math.fsum(problem.tickets)
    price = pi + mu[:, None]
    if (free := (price <= 0) & (problem.speeds > 0)).any():
        user = problem.users[int(np.argwhere(free)[0][0])]
        raise ValueError(f"market_bound: user {user!r} pays nothing for a model that it can use")
    best = (problem.speeds / np.where(price > 0, price, 1.0)).max(axis=1)
    terms = [*(pi * problem.gpus), *(mu * caps), -1.0, *(weights * np.log(weights * best))]
    # each term is off by a few units in its last place, or of its weight's: weights add up to 1
    error = 16 * np.finfo(np.float64).eps * (math.fsum(map(abs, terms)) + 1)
    return float(math.fsum(terms) + error), _Duals.of_equilibrium(pi, mu)


def _exact(values: Floats) -> list[Fraction]:
    return [Fraction(value) for value in values.tolist()]


def _float_above(value: Fraction) -> float:
    """The least float that is not below."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
