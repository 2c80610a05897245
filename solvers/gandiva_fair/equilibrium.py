"""Prices at which users who spend fixed incomes buy all GPUs: a primal-dual interior point method.

What is solved is the program of Eisenberg and Gale with caps,

    max sum_u w_u log sum_g S_ug x_ug,  sum_u x_ug + s_g = N_g,  sum_g x_ug + r_u = cap_u,

with x, s, r >= 0. Its optimality conditions, with v_u the worth of a unit of speed to user u and z
the reduced prices, are

    v_u S_ug - pi_g - mu_u + z_ug = 0,   v_u U_u = w_u,   x z = 0,   s pi = 0,   r mu = 0.

Newton's method is applied to them with the last three products equal to a falling tau: v_u U_u =
w_u is a product of the same kind whose target does not fall. Everything but prices is eliminated
user by user, so that a step costs one (models + 1)-square system a user and one models-square one.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ...instances.arrays import Floats

#: share of the way to the boundary that a step goes
STEP = 0.995
ITERATIONS = 60
TOLERANCE = 1e-13


class Equilibrium(NamedTuple):
    """Shares and the prices that support them.

    Parameters
    ----------
    shares : (users, models) array
        x_ug, GPUs; positive, if only by very little.
    prices : (models,) array
        pi_g, so that all users' spending is 1 or less.
    caps : (users,) array
        mu_u, what one more GPU in use would earn; 0 without a cap.
    iterations : int
    path : tuple of (seconds, prices, caps)
        What the prices were on the way, with the time since the call.
    """

    shares: Floats
    prices: Floats
    caps: Floats
    iterations: int
    path: tuple[tuple[float, Floats, Floats], ...] = ()


class _Point(NamedTuple):
    """A point, or a step: x, s, r, z, pi, mu, v and the values U."""

    x: Floats
    s: Floats
    r: Floats
    z: Floats
    pi: Floats
    mu: Floats
    v: Floats
    value: Floats

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(a + length * d for a, d in zip(self, step, strict=True)))

    def room(self, step: _Point) -> float:
        """How long a step may be."""
        most = np.inf
        for a, d in zip(self, step, strict=True):
            if (falls := d < 0).any():
                most = min(most, float((-a[falls] / d[falls]).min()))
        return most

    @property
    def gap(self) -> float:
        """Sum of the products that are to vanish."""
        return float((self.x * self.z).sum() + self.s @ self.pi + self.r @ self.mu)


class _Products(NamedTuple):
    """What is missing of each product: x z, s pi, r mu, v U."""

    x: Floats
    s: Floats
    r: Floats
    v: Floats


def equilibrium(weights: Floats, speeds: Floats, gpus: Floats, caps: Floats) -> Equilibrium:
    """Solve the program of the module.

    Notes
    -----
    Predictor and corrector of Mehrotra (1992), equal primal and dual steps. O(users models^3) a
    step, vectorised; 10 to 20 steps.

    Examples
    --------
    >>> found = equilibrium(np.ones(3) / 3, np.array([[1, 1.25], [1, 5], [1, 6.25]]),
    ...                     np.array([60.0, 12]), np.full(3, np.inf))
    >>> found.shares.round(6).tolist(), (found.prices / found.prices[0]).round(6).tolist()
    ([[40.0, 0.0], [20.0, 4.0], [0.0, 8.0]], [1.0, 5.0])
    """
    program = _Program(weights, speeds / speeds.max(axis=1, keepdims=True), gpus, caps)
    point = program.start()
    rounds, path = 0, list[tuple[float, Floats, Floats]]()
    started = time.perf_counter()
    while rounds < ITERATIONS and not program.solved(point):
        try:
            step = program.step(point)
        except np.linalg.LinAlgError:  # rounding has won
            break
        point = point.moved(step, min(1.0, STEP * point.room(step)))
        rounds += 1
        path.append((time.perf_counter() - started, point.pi, program.every(point.mu)))
    return Equilibrium(point.x, point.pi, program.every(point.mu), rounds, tuple(path))


class _Program:
    """Data, and the equations of a step."""

    def __init__(self, weights: Floats, speeds: Floats, gpus: Floats, caps: Floats) -> None:
        self.w, self.speeds, self.gpus = weights, speeds, gpus
        self.capped = np.flatnonzero(np.isfinite(caps))
        self.caps = caps[self.capped]
        self.all_caps = caps
        users, models = speeds.shape
        # rows and columns of x_u, and of mu_u
        self.system = np.zeros((users, models + 1, models + 1))
        self.system[:, -1, -1] = -1.0
        self.system[self.capped, -1, :-1] = self.system[self.capped, :-1, -1] = 1.0
        unit = np.eye(models + 1)[:, :-1]
        self.unit = np.broadcast_to(unit, (users, *unit.shape))
        self.products = speeds.size + models + self.caps.size

    def every(self, caps: Floats) -> Floats:
        """What caps earn, of all users."""
        found = np.zeros(self.w.size)
        found[self.capped] = caps
        return found

    def start(self) -> _Point:
        """Half of what every user would get of each model by its weight or cap; low prices."""
        total = self.gpus.sum()
        x = 0.5 * np.outer(np.minimum(self.all_caps, self.w * total) / total, self.gpus)
        value = (self.speeds * x).sum(axis=1)
        v = self.w / value
        return _Point(
            x=x, s=self.gpus - x.sum(axis=0), r=self.caps - x[self.capped].sum(axis=1),
            z=np.maximum(v[:, None] * self.speeds, 1 / total),
            pi=np.full(self.gpus.size, 1 / total), mu=0.5 * self.w[self.capped] / self.caps,
            v=v, value=value,
        )  # fmt: skip

    def slope(self, point: _Point) -> Floats:
        """v_u S_ug - pi_g - mu_u + z_ug, which is to vanish."""
        slope = point.v[:, None] * self.speeds - point.pi + point.z
        slope[self.capped] -= point.mu[:, None]
        return slope

    def solved(self, point: _Point) -> bool:
        """Whether no product and no slope is off by what matters."""
        off = np.abs(self.w - point.v * point.value).sum()
        largest = (point.v[:, None] * self.speeds).max()
        steep = np.abs(self.slope(point)).max()
        return bool(point.gap < TOLERANCE and off < TOLERANCE and steep < 1e-9 * largest)

    def step(self, point: _Point) -> _Point:
        """Towards tau = 0, then corrected by the products of that step and a tau it can reach."""
        curve = (point.v / point.value)[:, None, None]
        diagonal = np.arange(self.gpus.size)
        self.system[:, :-1, :-1] = curve * self.speeds[:, :, None] * self.speeds[:, None, :]
        self.system[:, diagonal, diagonal] += point.z / point.x
        self.system[self.capped, -1, -1] = -point.r / point.mu
        by_price = np.asarray(np.linalg.solve(self.system, self.unit), dtype=np.float64)
        off = self.w - point.v * point.value
        goal = _Products(-point.x * point.z, -point.s * point.pi, -point.r * point.mu, off)
        first = self._newton(point, by_price, goal)
        ahead = point.moved(first, min(1.0, point.room(first)))
        tau = (ahead.gap / point.gap) ** 3 * point.gap / self.products
        goal = _Products(
            goal.x + tau - first.x * first.z, goal.s + tau - first.s * first.pi,
            goal.r + tau - first.r * first.mu, off - first.v * first.value,
        )  # fmt: skip
        return self._newton(point, by_price, goal)

    def _newton(self, point: _Point, by_price: Floats, goal: _Products) -> _Point:
        x, s, r, z, pi, mu, v, value = point
        right = np.zeros((*by_price.shape[:2], 1))
        right[:, :-1, 0] = self.slope(point) + goal.x / x + (goal.v / value)[:, None] * self.speeds
        right[self.capped, -1, 0] = self.caps - x[self.capped].sum(axis=1) - r - goal.r / mu
        moves = np.linalg.solve(self.system, right)[:, :, 0]
        # supply: sum of dx, and ds, make up for what is unused
        matrix = by_price[:, :-1].sum(axis=0) + np.diag(s / pi)
        unused = self.gpus - x.sum(axis=0) - s
        dpi = np.linalg.lstsq(matrix, moves[:, :-1].sum(axis=0) - unused + goal.s / pi, rcond=None)[
            0
        ]
        moves -= by_price @ dpi
        dx, dmu = moves[:, :-1], moves[self.capped, -1]
        gain = (self.speeds * dx).sum(axis=1)
        return _Point(
            x=dx, s=(goal.s - s * dpi) / pi, r=(goal.r - r * dmu) / mu, z=(goal.x - z * dx) / x,
            pi=dpi, mu=dmu, v=(goal.v - v * gain) / value, value=gain,
        )  # fmt: skip
