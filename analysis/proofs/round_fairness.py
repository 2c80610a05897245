"""How fair one round of LTGF could be: upper bounds of the least rho, with certificates.

=============================  =============================================  =====================
bound                          users share                                    cost
=============================  =============================================  =====================
:func:`pooled_gangs_bound`     GPUs, one by one                               O(jobs + U log U)
:func:`gang_sums_bound`        sums of their gangs: it is the optimum         O(jobs M + U log M)
=============================  =============================================  =====================

The proofs are in :mod:`gangsched.analysis.proofs.verify_ltgf`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction

from ...formulations.ltgf.round import LtgfRound
from ...solvers.result import Bound
from .rounding import float_above

__all__ = ["gang_sums_bound", "pooled_gangs_bound"]


def pooled_gangs_bound(problem: LtgfRound) -> Bound:
    """Return the least rho that some users could have if they shared the GPUs one by one.

    Parameters
    ----------
    problem : LtgfRound

    Returns
    -------
    Bound
        Certificate ``{"kind": "pooled gangs", "users": [j, ...]}``: with A_j what they have got,
        d_j = F_j + L f_j what they are due and E GPUs in their gangs, all of d_j rho_j add up to
        sum A_j + L min(M, E) at most.

    Notes
    -----
    Every single user is tried, and those that are worst off, as many as make the least quotient.

    Examples
    --------
    Two users who have got nothing and are due 20 each, a lease of 10 s on 3 GPUs:

    >>> problem = LtgfRound(
    ...     gpus=3, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 2), (1, 2)]
    ... )
    >>> bound = pooled_gangs_bound(problem)
    >>> bound.value, bound.certificate["users"]
    (0.75, [0, 1])
    """
    users = sorted(problem.users, key=lambda j: Fraction(problem.attained[j]) / problem.due(j))
    tried = [[j] for j in users] + [users[: k + 1] for k in range(1, len(users))]
    if not users:
        return _bound(Fraction(1), "pooled gangs", users=[])
    best = min(tried, key=lambda some: _pooled(problem, some))
    return _bound(_pooled(problem, best), "pooled gangs", users=sorted(best))


def _pooled(problem: LtgfRound, users: Sequence[int]) -> Fraction:
    own = set(users)
    widths = sum(gang for user, gang in problem.jobs if user in own)
    got = sum(problem.attained[j] for j in users) + problem.lease * min(problem.gpus, widths)
    return Fraction(got) / sum((problem.due(j) for j in users), Fraction(0))


def gang_sums_bound(problem: LtgfRound) -> Bound:
    """Return the largest least rho that sums of the users' gangs allow, which is the optimum.

    Parameters
    ----------
    problem : LtgfRound

    Returns
    -------
    Bound
        Certificate ``{"kind": "gang sums", "users": [j, ...], "level": p, "scale": q}``: these
        users cannot all have p / q or more. :func:`pooled_gangs_bound` where nobody is due
        anything.

    Notes
    -----
    What a level takes of all users grows with the level: bisection over the values that their rho
    can have.

    Examples
    --------
    The same users as of :func:`pooled_gangs_bound`: only one of the gangs of two fits.

    >>> problem = LtgfRound(
    ...     gpus=3, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 2), (1, 2)]
    ... )
    >>> gang_sums_bound(problem).value
    0.0
    """
    if not problem.users:
        return pooled_gangs_bound(problem)
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
    return Bound(float_above(value), kind, {"kind": kind, **certificate})
