"""How fair one round of LTGF can be: the optimum of the least rho, with a certificate.

The proof is in :mod:`gangsched.verify.fairness`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

from ...formulations.ltgf.round import LtgfRound
from ...solvers.result import Bound


def gang_sums_bound(problem: LtgfRound) -> Bound:
    """Return the largest least rho that sums of the users' gangs allow, which is the optimum.

    Notes
    -----
    What a level takes of all users grows with the level: bisection over the values that their rho
    can have.

    Examples
    --------
    Two users who have got nothing and are due 20 each, a lease of 10 s on 3 GPUs: only one of the
    gangs of two fits.

    >>> problem = LtgfRound(
    ...     gpus=3, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 2), (1, 2)]
    ... )
    >>> gang_sums_bound(problem).value
    0.0
    """
    if not problem.users:
        return _bound(Fraction(1), "gang sums", users=[], level=1, scale=1)
    values = {j: _values(problem, j) for j in problem.users}
    levels = sorted({value for mine in values.values() for value, _ in mine})
    low, high = 0, len(levels)  # all can have levels[low], not all levels[high]
    while high - low > 1:
        middle = (low + high) // 2
        if _needed(values, levels[middle]) <= problem.gpus:
            low = middle
        else:
            high = middle
    level = levels[high] if high < len(levels) else levels[-1] + 1
    fraction = {"level": level.numerator, "scale": level.denominator}
    return _bound(levels[low], "gang sums", users=problem.users, **fraction)


def _values(problem: LtgfRound, user: int) -> list[tuple[Fraction, int]]:
    """What rho the user can have, and with how many GPUs, rising."""
    sums = {0}
    for owner, gang in problem.jobs:
        if owner == user:
            sums |= {g + gang for g in sums if g + gang <= problem.gpus}
    got, due = problem.attained[user], problem.due(user)
    return [((got + problem.lease * g) / due, g) for g in sorted(sums)]


def _needed(values: dict[int, list[tuple[Fraction, int]]], level: Fraction) -> float:
    """GPUs with which all have the level; infinite where one cannot."""
    total = 0
    for mine in values.values():
        k = bisect_left(mine, (level, 0))
        if k == len(mine):
            return math.inf
        total += mine[k][1]
    return total


def _bound(value: Fraction, kind: str, **certificate: object) -> Bound:
    """The float nearest to it, as objectives are."""
    return Bound(float(value), kind, {"kind": kind, **certificate})
