"""The fairest selection of gangs for one lease, exactly and without branch and bound."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from ...formulations.ltgf.round import LtgfRound, Selection
from ..result import Bound, Result, Stop
from ..signature import solver


@solver(of=LtgfRound)
def one_round(problem: LtgfRound) -> Result[Selection]:
    """Select the gangs of one round so that the users' fairness is leximin optimal.

    Guarantee: no selection has a larger least rho_j, none with the same least a larger second
    least, and so on, in exact arithmetic of the given numbers. No gang can be added.

    Returns
    -------
    Result
        OPTIMAL; its objective and bound are the least rho_j.

    Notes
    -----
    The fairness of user j depends only on the GPUs g_j that its jobs get, one of the sums of its
    gang sizes, and grows with it. Let g_j(v) be the least such sum with rho_j >= v. A selection
    whose sorted fairness is at least v_1 <= ... <= v_U everywhere exists if and only if the users
    can be assigned to the positions so that the sum of g_j(v_position) is at most M: a minimum cost
    assignment. Leximin is found position by position: the largest attainable v at which the rest
    can all be, by bisection over the fairness values that occur.

    O(U log(U M) (U^3 + U log M)) after O(jobs M / 64) for the sums. Users with a fair share of 0
    come last, and get what is left in the order of their jobs.

    References
    ----------
    Z. Ye et al., ASTRAEA, IEEE TPDS 2022, eq. (12) and Algorithm 1, which is a greedy heuristic for
    the same question.

    Examples
    --------
    >>> problem = LtgfRound(
    ...     gpus=4, lease=10, attained=[20, 0], fair=[20, 20], share=[2, 2],
    ...     jobs=[(0, 4), (0, 1), (1, 3)],
    ... )
    >>> result = one_round(problem)
    >>> result.solution, result.objective, result.status.value
    ((1, 2), 0.75, 'optimal')
    """
    started = time.perf_counter()
    users = [_User(problem, j) for j in problem.users]
    gpus = _leximin(users, problem.gpus)
    chosen = [i for user, amount in zip(users, gpus, strict=True) for i in user.jobs_of(amount)]
    free, taken = problem.gpus - sum(gpus), set(chosen)
    for i, (_, gang) in enumerate(problem.jobs):
        if i not in taken and gang <= free:  # of users without fair share
            chosen.append(i)
            free -= gang
    solution = tuple(sorted(chosen))
    bound = Bound(problem.objective(solution), "assignment of users to positions")
    return Result.of(
        problem,
        solution,
        solver="one_round",
        stop=Stop.PROVEN,
        bound=bound,
        runtime=time.perf_counter() - started,
    )


class _User:
    """What one user can get: sums of gang sizes, and its fairness at each, as integers."""

    def __init__(self, problem: LtgfRound, user: int) -> None:
        self.jobs = [(i, gang) for i, (j, gang) in enumerate(problem.jobs) if j == user]
        within = (1 << (problem.gpus + 1)) - 1
        self.reach = [1]  # bit g: some of the first jobs add up to g
        for _, gang in self.jobs:
            self.reach.append((self.reach[-1] | self.reach[-1] << gang) & within)
        self.sums = [g for g, bit in enumerate(reversed(f"{self.reach[-1]:b}")) if bit == "1"]
        # rho_j times a common multiple of all numerators of F_j + L f_j: integers that compare
        due = problem.due(user)
        common = math.lcm(*(problem.due(j).numerator for j in problem.users))
        scale = common // due.numerator * due.denominator
        attained, lease = problem.attained[user], problem.lease
        self.values = [(attained + lease * g) * scale for g in self.sums]

    def cost(self, value: int) -> int | None:
        """Fewest GPUs with which its fairness is at least `value`."""
        k = bisect_left(self.values, value)
        return self.sums[k] if k < len(self.sums) else None

    def jobs_of(self, amount: int) -> list[int]:
        """Jobs that add up to the amount; of equal ones the first."""
        chosen = []
        for k in range(len(self.jobs) - 1, -1, -1):
            if not self.reach[k] >> amount & 1:
                i, gang = self.jobs[k]
                chosen.append(i)
                amount -= gang
        return chosen


def _leximin(users: Sequence[_User], gpus: int) -> list[int]:
    """GPUs of each user in a leximin optimal selection."""
    if not users:
        return []
    levels = sorted({value for user in users for value in user.values})
    fixed: list[int] = []
    while len(fixed) < len(users):
        low, high = 0, len(levels)  # all users that are left can reach levels[low]
        while high - low > 1:
            middle = (low + high) // 2
            if _assigned(users, fixed, levels[middle], gpus) is None:
                high = middle
            else:
                low = middle
        fixed.append(levels[low])
        levels = levels[low:]
    found = _assigned(users, fixed, fixed[-1], gpus)
    if found is None:
        raise AssertionError("bug in one_round: the positions it has found cannot be filled")
    return found


def _assigned(
    users: Sequence[_User], fixed: Sequence[int], rest: int, gpus: int
) -> list[int] | None:
    """GPUs of the users, one at each fixed value or above and the others at `rest`; or None."""
    from scipy.optimize import linear_sum_assignment  # takes half a second to import

    values = [*fixed, *[rest] * (len(users) - len(fixed))]
    never = gpus + 1
    known = {value: [user.cost(value) for user in users] for value in set(values)}
    costs = np.array([[never if c is None else c for c in known[value]] for value in values])
    positions, owners = linear_sum_assignment(costs)
    if costs[positions, owners].sum() > gpus:
        return None
    found = [0] * len(users)
    for position, owner in zip(positions.tolist(), owners.tolist(), strict=True):
        found[owner] = int(costs[position, owner])
    return found
