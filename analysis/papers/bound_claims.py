"""The theorems behind the bounds of completion times by prices, of which no paper is the source.

M GPUs; job j is a gang of g_j GPUs that needs p_j seconds from its release r_j on and costs C - r_j
if it completes at C; pi(t) is a price of a GPU second, rho_j(t) one of a second of all GPUs of job
j. :mod:`gangsched.analysis.proofs.prices` and :mod:`gangsched.analysis.proofs.job_prices` have the
theorems, and :mod:`gangsched.verify.windows` has that of ends in windows. Here what jobs cost and
what sets are worth is found by trying everything, second by second, and so is the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations

import numpy as np

from .claim import Sides, claims_of

Rng = np.random.Generator
MOST = 6  #: the largest price
CLIMB = 300  #: changes of a price that are tried
LATE = 10**6  #: costs where a job cannot end in its window


@dataclass(frozen=True, slots=True)
class PricedGangs:
    """Gangs, and a price of each in each second.

    Parameters
    ----------
    gpus : int
        M.
    jobs : tuple of (int, int, int)
        r_j, p_j and g_j of each.
    prices : tuple of tuple of int
        rho_j(t) of each job, or pi(t) alone; there is none in later seconds.
    windows : tuple of (int, int)
        The first and the last end that each job may have; empty where they may have any.
    """

    gpus: int
    jobs: tuple[tuple[int, int, int], ...]
    prices: tuple[tuple[int, ...], ...]
    windows: tuple[tuple[int, int], ...] = ()

    def own_prices(self) -> PricedGangs:
        """Return the same with rho_j = g_j pi."""
        (pi,) = self.prices
        return replace(self, prices=tuple(tuple(g * q for q in pi) for _, _, g in self.jobs))

    def bound(self, gpus: int | None = None) -> int:
        """Return the least costs less what the dearest sets that fit so many GPUs are worth."""
        return sum(map(_least_cost, self.jobs, self.prices)) - self._worth(gpus)

    def window_bound(self, last: int = 1) -> int:
        """Return the same for ends in the windows, with so many last seconds that are paid for."""
        least = partial(_least_in_window, last=last)
        return sum(map(least, self.jobs, self.prices, self.windows)) - self._worth()

    def gpu_bound(self, gpus: int | None = None) -> int:
        """Return the same for prices of GPUs, of which so many are there."""
        room = self.gpus if gpus is None else gpus
        return sum(map(_least_cost, self.jobs, self.own_prices().prices)) - room * sum(
            self.prices[0]
        )

    def optimum(self) -> int:
        """Return the least sum of C_j - r_j; LATE or more where no schedule has these windows."""
        until = _end_of_all(self.jobs)
        return _optimum(self.gpus, self.jobs, self.windows or ((0, until),) * len(self.jobs))

    def _worth(self, gpus: int | None = None) -> int:
        """What the dearest sets that fit so many GPUs are worth in all seconds."""
        room = self.gpus if gpus is None else gpus
        sets = [chosen for chosen in self._sets() if sum(self.jobs[j][2] for j in chosen) <= room]
        return sum(
            max(sum(self.prices[j][t] for j in chosen) for chosen in sets)
            for t in range(len(self.prices[0]))
        )

    def _sets(self) -> Iterator[tuple[int, ...]]:
        every = range(len(self.jobs))
        return (chosen for n in range(len(self.jobs) + 1) for chosen in combinations(every, n))


def _least_cost(job: tuple[int, int, int], prices: Sequence[int]) -> int:
    """The least over C of C - r_j and the cheapest p_j seconds until then."""
    release, need, _ = job
    later = [*prices[release:], *[0] * need]
    return min(at + sum(sorted(later[:at])[:need]) for at in range(need, len(later) + 1))


def _least_in_window(
    job: tuple[int, int, int], prices: Sequence[int], window: tuple[int, int], last: int
) -> int:
    """The least over C in the window, with the last seconds before C among those of the job."""
    release, need, _ = job
    low, high = window
    later = [*prices[release:], *[0] * high]
    own, costs = min(last, need), []
    for at in range(max(low - release, need), high - release + 1):
        must, others = later[at - own : at], later[: at - own]
        costs.append(at + sum(must) + sum(sorted(others)[: need - own]))
    return min(costs, default=LATE)


@cache
def _optimum(
    gpus: int, jobs: tuple[tuple[int, int, int], ...], windows: tuple[tuple[int, int], ...]
) -> int:
    """The least sum of flow times, by all sets that can run in each second."""

    @cache
    def best(t: int, left: tuple[int, ...]) -> int:
        if not any(left):
            return 0
        if any(need and t >= high for need, (_, high) in zip(left, windows, strict=True)):
            return LATE
        ready = [j for j, (release, _, _) in enumerate(jobs) if left[j] and release <= t]
        after = [LATE]
        for n in range(len(ready) + 1):
            for chosen in combinations(ready, n):
                early = any(left[j] == 1 and t + 1 < windows[j][0] for j in chosen)
                if not early and sum(jobs[j][2] for j in chosen) <= gpus:
                    after.append(best(t + 1, tuple(r - (j in chosen) for j, r in enumerate(left))))
        return len(ready) + min(after)

    return best(0, tuple(need for _, need, _ in jobs))


# --- cases ---------------------------------------------------------------------------------------


def _draw(rng: Rng, *, own: bool, windows: bool = False) -> PricedGangs:
    """Three gangs, and prices that are changed one by one as long as the bound does not fall."""
    gpus = int(rng.integers(2, 5))
    jobs = tuple(
        (int(rng.integers(3)), int(rng.integers(1, 4)), int(rng.integers(1, gpus + 1)))
        for _ in range(3)
    )
    until = _end_of_all(jobs)
    now = PricedGangs(gpus, jobs, ((0,) * until,) * (len(jobs) if own else 1))
    if windows:
        first = [release + need + int(rng.integers(4)) for release, need, _ in jobs]
        now = replace(now, windows=tuple((low, low + int(rng.integers(4))) for low in first))
    value = _value(now)
    for _ in range(CLIMB):
        prices = np.array(now.prices)
        at, price = int(rng.integers(until)), int(rng.integers(MOST + 1))
        prices[rng.integers(len(prices)), at : at + int(rng.integers(1, 4))] = price
        other = replace(now, prices=tuple(map(tuple, prices.tolist())))
        if _value(other) >= value:
            now, value = other, _value(other)
    return now


def _end_of_all(jobs: tuple[tuple[int, int, int], ...]) -> int:
    """When all work can be done, one job after another."""
    return max(release for release, _, _ in jobs) + sum(need for _, need, _ in jobs)


def _value(case: PricedGangs) -> int:
    """What its prices prove."""
    if case.windows:
        return case.window_bound()
    return case.bound() if len(case.prices) == len(case.jobs) else case.gpu_bound()


# --- the claims ----------------------------------------------------------------------------------


def _proves(case: PricedGangs, taken: int = 0) -> Sides:
    """The bound of its prices for so many GPUs less than there are, and the optimum."""
    own = len(case.prices) == len(case.jobs)
    made = case.bound if own else case.gpu_bound
    return Sides(made(case.gpus - taken), case.optimum())


def _stronger(case: PricedGangs) -> Sides:
    return Sides(case.gpu_bound(), case.own_prices().bound())


def _in_windows(case: PricedGangs, last: int = 1) -> Sides | None:
    """The bound with so many last seconds, and the optimum, where there is one."""
    best = case.optimum()
    return Sides(case.window_bound(last), best) if best < LATE else None


BOUNDS = claims_of("", __name__)
