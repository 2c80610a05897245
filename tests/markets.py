"""Random markets of GPU models for tests, and their exact optimum by going through all vertices."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from gangsched.formulations.gandiva_fair.problem import Aim, GpuMarket
from gangsched.instances.heterogeneous import MODELS, random_market


def any_market(
    seed: int, *, capped: bool = False, aim: Aim = "total", users: int = 12
) -> GpuMarket:
    """Every third with the families of Table 1; of the rest half with small whole speeds (ties)."""
    rng = np.random.default_rng([6, seed])
    count, models = int(rng.integers(1, 13)), int(rng.integers(1, 5))
    demand = None
    if seed % 3 == 0:
        chosen = ("k80", *sorted(rng.choice(MODELS[1:], models - 1, replace=False)))
        drawn = random_market(count, models=sorted(chosen, key=MODELS.index), seed=seed)
        speeds, tickets, gpus = drawn.speeds, drawn.tickets, drawn.gpus
    else:
        steps = rng.integers(0, 4, (count, models)) if seed % 2 else rng.random((count, models)) * 3
        speeds = 1 + np.cumsum(steps, axis=1) - steps[:, :1]
        tickets = rng.choice([1.0, 2.0, 4.0, 0.3], count)
        gpus = rng.integers(1, 40, models)
    if capped:
        caps = rng.integers(1, max(2, 4 * gpus.sum() // count), count).astype(np.float64)
        demand = np.where(rng.random(count) < 0.3, np.inf, caps)
    return GpuMarket(gpus, speeds, tickets, demand, aim=aim)


def largest_total(market: GpuMarket) -> Fraction:
    """The optimum of "total", exactly: the best of all points with enough tight constraints."""
    users, models = market.speeds.shape
    rows, limits = [], []
    for row, limit in _rows(market):
        rows.append(row)
        limits.append(limit)
    best = None
    for tight in combinations(range(len(rows)), users * models):
        x = _solve([rows[k] for k in tight], [limits[k] for k in tight])
        if x is None:
            continue
        sides = (sum(a * b for a, b in zip(row, x, strict=True)) for row in rows)
        if all(side <= limit for side, limit in zip(sides, limits, strict=True)):
            speeds = [Fraction(s) for s in market.speeds.ravel().tolist()]
            value = sum((s * share for s, share in zip(speeds, x, strict=True)), Fraction(0))
            best = value if best is None else max(best, value)
    assert best is not None, "the fair allocation is feasible, so there is a vertex"
    return best


def _rows(market: GpuMarket) -> Iterator[tuple[list[Fraction], Fraction]]:
    """All constraints as a x <= b; for markets with equal tickets and without caps."""
    users, models = market.speeds.shape
    speeds = [[Fraction(s) for s in row] for row in market.speeds.tolist()]
    gpus = market.gpus.tolist()
    cells = [(u, g) for u in range(users) for g in range(models)]
    for g in range(models):
        yield [Fraction(cell[1] == g) for cell in cells], Fraction(gpus[g])
    for u in range(users):
        fair = sum((s * n for s, n in zip(speeds[u], gpus, strict=True)), Fraction(0)) / users
        yield [-speeds[u][g] if v == u else Fraction(0) for v, g in cells], -fair
    for one in cells:
        yield [-Fraction(cell == one) for cell in cells], Fraction(0)


def _solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Gauss and Jordan; None where the matrix is singular."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]
