"""What users can gain by false profiles: a search on one market, for each way of dividing it.

Chaudhary et al. (EuroSys 2020, Section 3.4) claim that trading at second prices leaves nothing to
gain by "artificially speeding up or slowing down" jobs. Here the claim is put to a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ....formulations.gandiva_fair.problem import Aim, GpuMarket
from ....solvers.gandiva_fair.market import best_allocation
from ....solvers.gandiva_fair.trading import trade

Floats = NDArray[np.float64]
Kind = Literal["lie", "slow-down", "collusion"]
Mechanism = Callable[[GpuMarket], Floats]
#: speeds by user
Rows = Mapping[int, Floats]

KINDS: tuple[Kind, ...] = ("lie", "slow-down", "collusion")
#: how near a report comes to where the outcome changes
EDGE = 1e-4
#: steps of the refinement, as parts of a speed
STEPS = tuple(0.1 / 2**k for k in range(14))
#: relative gains that are no more than this are rounding
LEAST = 1e-6
#: random first reports where there are more than two models
STARTS = 8


def _traded(market: GpuMarket) -> Floats:
    return trade(market.fair_shares, market.speeds, demand=market.demand).shares


def _best(market: GpuMarket, aim: Aim) -> Floats:
    solution = best_allocation(replace(market, aim=aim)).solution
    assert solution is not None, "fair shares are feasible"
    return np.asarray(solution.shares)


#: ways of dividing a market by what its users report: shares of (users, models)
MECHANISMS: Mapping[str, Mechanism] = {
    "trading": _traded, "nash": partial(_best, aim="nash"), "total": partial(_best, aim="total"),
    "max-min": partial(_best, aim="max-min"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Misreport:
    """The best false report that was found.

    Parameters
    ----------
    mechanism : str
    kind : {"lie", "slow-down", "collusion"}
    users : tuple of int
        Who reports falsely; empty if nothing was found.
    told : tuple of tuple of float
        The speeds that each of them reports, by model. Where it slows down: at which it runs.
    honest, gained : tuple of float
        What each of them gets by the truth and by the report, by its true speeds (where it slows
        down: `gained` by those at which it runs).
    tried : int
        Reports that were tried.
    """

    mechanism: str
    kind: Kind
    users: tuple[int, ...] = ()
    told: tuple[tuple[float, ...], ...] = ()
    honest: tuple[float, ...] = ()
    gained: tuple[float, ...] = ()
    tried: int = 0

    @property
    def gain(self) -> float:
        """What they gain together, as a part of what they get by the truth."""
        return sum(self.gained) / sum(self.honest) - 1 if self.users else 0.0


def find_misreport(
    market: GpuMarket, mechanism: str | Mechanism = "trading", *, kind: Kind = "lie", seed: int = 0
) -> Misreport:
    """Search for the false report that gains its users most.

    Notes
    -----
    Reports are relative to the slowest model, as a profile is: rates of different training jobs
    cannot be compared otherwise. Outcomes change where the liar's ratio of two models meets that of
    another user, so each speed is tried just below and above these points, between them, and beyond
    them: all of them for two models (all combinations, for two liars), and speed after speed, until
    none gains, for more. The best is refined by smaller and smaller steps. This finds gains, it
    does not bound them. Demands and tickets are known and not reported. Optima of "total" and
    "max-min" need not be unique: what is found for them depends on the solver's choice.

    Examples
    --------
    Of four users on 80 K80 and 16 V100, the second one asks for less than the first, sells before
    it, and gets 40 for 32.8.

    >>> market = GpuMarket([80, 16], [[1, 1.25], [1, 1.4], [1, 5], [1, 6.25]])
    >>> found = find_misreport(market)
    >>> found.users, round(found.gain, 2)
    ((1,), 0.22)
    """
    if isinstance(mechanism, str) and mechanism not in MECHANISMS:
        raise ValueError(f"misreport: mechanism={mechanism!r}, not one of {', '.join(MECHANISMS)}")
    if kind not in KINDS:
        raise ValueError(f"misreport: kind={kind!r}, not one of {', '.join(KINDS)}")
    for u, g in np.argwhere(market.speeds <= 0)[:1]:
        raise ValueError(
            f"misreport: user {market.users[u]!r} has speed 0 on {market.models[g]!r}, but a "
            "profile is relative to it"
        )
    search = _Search(market, mechanism, kind)
    rng = np.random.default_rng(seed)
    best: tuple[float, Rows] = (0.0, {})
    for liars in combinations(range(len(market.users)), 2 if kind == "collusion" else 1):
        found = search.best(liars, rng)
        if found[0] > best[0] + LEAST:
            best = found
    return search.named(*best)


def price_of_manipulation(
    market: GpuMarket,
    *,
    mechanisms: Sequence[str] = ("trading", "nash", "total"),
    kinds: Sequence[Kind] = KINDS,
    seed: int = 0,
) -> list[Misreport]:
    """Search for false reports of each kind, under each way of dividing a market.

    Parameters
    ----------
    market : GpuMarket
        With true speeds, all positive.
    mechanisms : sequence of str
        Of `MECHANISMS`.
    kinds : sequence of str
        Of `KINDS`.
    seed : int

    Returns
    -------
    list of Misreport
        For each mechanism each kind; see :func:`find_misreport`.

    Examples
    --------
    Table 3: B drives up the price that C pays, so that A has some left to sell to B.

    >>> market = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
    >>> for found in price_of_manipulation(market, kinds=["lie"]):
    ...     print(found.mechanism, found.users, round(found.gain, 3))
    trading (1,) 0.025
    nash () 0.0
    total (0,) 0.6
    """
    return [
        find_misreport(market, name, kind=kind, seed=seed) for name in mechanisms for kind in kinds
    ]


class _Search:
    """Scores reports on one market.

    Parameters
    ----------
    market : GpuMarket
    mechanism : str or callable
    kind : {"lie", "slow-down", "collusion"}
    """

    def __init__(self, market: GpuMarket, mechanism: str | Mechanism, kind: Kind) -> None:
        self._market, self._kind = market, kind
        self._name = mechanism if isinstance(mechanism, str) else mechanism.__name__
        self._mechanism = MECHANISMS[mechanism] if isinstance(mechanism, str) else mechanism
        self._honest = (market.speeds * self._mechanism(market)).sum(axis=1)
        self._tried = 0

    def best(self, liars: tuple[int, ...], rng: np.random.Generator) -> tuple[float, Rows]:
        """Return the largest gain of these users, and their reports."""
        truth = {u: self._market.speeds[u] for u in liars}
        if self._market.speeds.shape[1] == 2:
            best = self._best_of(0.0, truth, self._grid(truth))
        else:
            found = map(self._by_speed, self._starts(truth, rng))
            best = max(found, key=lambda b: b[0])
        return self._refined(*best)

    def named(self, gain: float, rows: Rows) -> Misreport:
        """Return what was found, with what it means for its users."""
        if gain <= LEAST:
            return Misreport(mechanism=self._name, kind=self._kind, tried=self._tried)
        values, run = self._outcome(rows)
        return Misreport(
            mechanism=self._name, kind=self._kind, users=tuple(rows),
            told=tuple(tuple(run[u].tolist()) for u in rows),
            honest=tuple(float(self._honest[u]) for u in rows), gained=tuple(values),
            tried=self._tried,
        )  # fmt: skip

    def _outcome(self, rows: Rows) -> tuple[list[float], Rows]:
        """What each liar gets, and the speeds that it reports or runs at."""
        told, run = np.array(self._market.speeds), dict(rows)
        for u, row in rows.items():
            told[u] = row
        shares = self._mechanism(replace(self._market, speeds=told))
        worth = {u: self._market.speeds[u] for u in rows}
        if self._kind == "slow-down":
            worth = run = {u: row * (worth[u] / row).min() for u, row in rows.items()}
        self._tried += 1
        return [float((worth[u] * shares[u]).sum()) for u in rows], run

    def _score(self, rows: Rows) -> float:
        """What the liars gain together; the largest loss, where one of them loses."""
        values, _ = self._outcome(rows)
        before = [float(self._honest[u]) for u in rows]
        worst = min(v / b - 1 for v, b in zip(values, before, strict=True))
        return sum(values) / sum(before) - 1 if worst > -(LEAST**2) else worst

    def _best_of(self, gain: float, rows: Rows, more: Iterator[Rows]) -> tuple[float, Rows]:
        for other in more:
            score = self._score(other)
            if score > gain + LEAST**2:
                gain, rows = score, other
        return gain, rows

    def _grid(self, truth: Rows) -> Iterator[Rows]:
        """All combinations of the points of each liar, of two models."""
        points = [[_with(row, 1, x) for x in self._points(u, row, 1)] for u, row in truth.items()]
        return (dict(zip(truth, rows, strict=True)) for rows in product(*points))

    def _by_speed(self, rows: Rows) -> tuple[float, Rows]:
        """Change one speed after the other, as long as that gains."""
        gain = self._score(rows)
        while True:
            before = gain
            for u in rows:
                for g in range(1, len(rows[u])):
                    points = self._points(u, rows[u], g)
                    more = ({**rows, u: _with(rows[u], g, x)} for x in points)
                    gain, rows = self._best_of(gain, rows, more)
            if gain <= before + LEAST:
                return gain, rows

    def _points(self, u: int, row: Floats, g: int) -> list[float]:
        """Speeds on model g about which another user changes places with u."""
        speeds = self._market.speeds
        models = [s for s in range(len(row)) if s != g]
        edges = sorted({float(row[s] * other[g] / other[s]) for other in speeds for s in models})
        between = [(low + high) / 2 for low, high in pairwise(edges)]
        near = [x * (1 + side * EDGE) for x in edges for side in (-1, 1)]
        return sorted([*near, *between, edges[0] / 2, edges[-1] * 2])

    def _starts(self, truth: Rows, rng: np.random.Generator) -> Iterator[Rows]:
        yield truth
        for _ in range(STARTS):
            noise = {u: np.exp(rng.normal(0, 0.5, size=len(row))) for u, row in truth.items()}
            yield {u: row * noise[u] * (1 / noise[u][0]) for u, row in truth.items()}

    def _refined(self, gain: float, rows: Rows) -> tuple[float, Rows]:
        if gain <= LEAST:
            return gain, rows
        for step in STEPS:
            for u in rows:
                for g in range(1, len(rows[u])):
                    points = [rows[u][g] * (1 + step), rows[u][g] * (1 - step)]
                    more = ({**rows, u: _with(rows[u], g, x)} for x in points)
                    gain, rows = self._best_of(gain, rows, more)
        return gain, rows


def _with(row: Floats, g: int, speed: float) -> Floats:
    row = np.array(row)
    row[g] = speed
    return row
