"""Fluid LTGF: which part of the time each packing of gangs runs, by the linear program of all."""

from __future__ import annotations

import time

from ...formulations.ltgf.fluid import LtgfFluid, TimeShares
from ...formulations.problem import build
from ..result import Result, Stop
from ..signature import solver


@solver(of=LtgfFluid)
def packing_shares(problem: LtgfFluid, *, seed: int) -> Result[TimeShares]:
    """Divide the time among all packings so that the least fairness is largest.

    Guarantee: optimal up to the tolerances of the linear program's solver; :func:`gangsched.bound`
    says how far it is.

    Parameters
    ----------
    problem : LtgfFluid
        With at most 20,000 sets of jobs.
    seed : int
        Not used: the algorithm draws nothing.

    Returns
    -------
    Result
        Without a bound. Fractions of the time are rationals that add up to 1.

    Raises
    ------
    ValueError
        For more sets of jobs.

    Examples
    --------
    Two gangs of 3 on 4 GPUs take turns.

    >>> result = packing_shares(LtgfFluid(4, (3, 3), (2, 2)))
    >>> round(result.objective, 6)
    0.75
    """
    started = time.perf_counter()
    model = build(problem)
    model.native.solve(solver="HIGHS")
    return Result.of(
        problem,
        model.extract(),
        solver="packing_shares",
        stop=Stop.COMPLETED,
        runtime=time.perf_counter() - started,
        info={"seed": seed},
    )
