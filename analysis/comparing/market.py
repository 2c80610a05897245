"""What comparisons say of allocations of a market of GPUs, beside what they are worth."""

from __future__ import annotations

from math import prod

from ...formulations.gandiva_fair.problem import GpuMarket
from ...instances.schedule import Allocation
from ...solvers.result import Result


def market_measures(problem: GpuMarket, result: Result[Allocation]) -> dict[str, float | None]:
    """Return the least gain of a user over its fair share, and the mean by tickets.

    Examples
    --------
    >>> from gangsched.solvers.gandiva_fair.market import fair_share
    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> market_measures(market, fair_share(market))
    {'least gain': 1.0, 'mean gain': 1.0}
    """
    assert result.solution is not None
    values = problem.values(result.solution)
    gains = (values / problem.fair_values).tolist()
    weights = (problem.tickets / problem.tickets.sum()).tolist()
    mean = prod(gain**weight for gain, weight in zip(gains, weights, strict=True))
    return {"least gain": min(gains), "mean gain": mean}
