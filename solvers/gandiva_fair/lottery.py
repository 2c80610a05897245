"""Lottery scheduling of gangs on one node, with which Gandiva_fair compares its stride.

Jobs are numbers, time is counted in quanta. A job's weight in a draw is its tickets over its GPUs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np


def lottery_backfill_quantum(
    weights: Sequence[float], gangs: Sequence[int], gpus: int, rng: np.random.Generator
) -> list[int]:
    """Return who runs in a quantum of a lottery with backfilling, as they are drawn.

    Notes
    -----
    Source: S. Chaudhary et al., EuroSys 2020, Section 3.1: who is drawn and does not fit is
    forgotten, and the draw goes on among the others until nobody fits. No GPU idles that somebody
    could use; wide gangs get less than their tickets are worth. Drawing among those that fit is the
    same, as who does not fit will not fit later.

    Examples
    --------
    >>> sorted(lottery_backfill_quantum([1, 1, 1], [2, 2, 4], 4, np.random.default_rng(0)))
    [0, 1]
    """
    runs: list[int] = []
    while able := [i for i, gang in enumerate(gangs) if gang <= gpus and i not in runs]:
        runs.append(able[_draw(list(accumulate(weights[i] for i in able)), rng)])
        gpus -= gangs[runs[-1]]
    return runs


def lottery_backfill_shares(
    weights: Sequence[int | Fraction], gangs: Sequence[int], gpus: int
) -> tuple[Fraction, ...]:
    """Return the probability with which each job runs in a quantum of that lottery.

    Exact, and as quanta do not depend on each other, the share of time in the long run.

    Notes
    -----
    O(2^jobs jobs).

    Examples
    --------
    >>> [str(share) for share in lottery_backfill_shares([2, 1], [1, 2], 2)]
    ['2/3', '1/3']
    """
    jobs = range(len(gangs))

    @cache
    def after(runs: frozenset[int]) -> tuple[Fraction, ...]:
        room = gpus - sum(gangs[i] for i in runs)
        able = [i for i in jobs if i not in runs and gangs[i] <= room]
        if not able:
            return tuple(Fraction(i in runs) for i in jobs)
        total = Fraction(sum(weights[i] for i in able))
        each = [(weights[i] / total, after(runs | {i})) for i in able]
        return tuple(sum((p * then[i] for p, then in each), Fraction(0)) for i in jobs)

    return after(frozenset())


class GangLottery:
    """Lottery in which every draw that is won is a claim for one quantum.

    Parameters
    ----------
    weights : sequence of float
        Positive.
    gangs : sequence of int
        At most `gpus` each.
    gpus : int
        Of the node.
    seed : int
        Of NumPy's default generator.

    Attributes
    ----------
    claims : list of int
        Jobs that have won and wait, the oldest first; a job may be there several times.

    Raises
    ------
    ValueError
        If a gang does not fit on the node.

    Notes
    -----
    Source: S. Chaudhary et al., EuroSys 2020, Section 3.1, the gang-aware lottery: draws with
    replacement; a winner that does not fit waits, and who waits goes first in the next quantum. Our
    reading: who waits, or runs already, may win again (if it could not, jobs that often wait would
    take part in fewer draws, and get less than their tickets are worth for ever); draws go on while
    somebody who does not run would fit. Claims are served in the long run in proportion to weights,
    where no GPU idles; more and more of them wait meanwhile.

    Examples
    --------
    >>> lottery = GangLottery([4, 4, 2, 2, 1, 1], [1, 1, 2, 2, 4, 4], 4, seed=0)
    >>> quanta = [lottery.quantum() for _ in range(1000)]
    >>> {sum(lottery.gangs[i] for i in runs) for runs in quanta}  # no GPU idles
    {4}
    >>> round(sum(0 in runs for runs in quanta) / 1000, 1)
    0.7
    """

    def __init__(
        self, weights: Sequence[float], gangs: Sequence[int], gpus: int, *, seed: int = 0
    ) -> None:
        for i, gang in enumerate(gangs):
            if gang > gpus:
                raise ValueError(f"job {i}: gangs={gang} exceeds the server's {gpus}")
        self.gangs, self.gpus = list(gangs), gpus
        self.claims: list[int] = []
        self._total = list(accumulate(weights))
        self._rng = np.random.default_rng(seed)

    def quantum(self) -> list[int]:
        """Return the jobs that run in the next quantum."""
        room, runs, waiting = self.gpus, list[int](), list[int]()

        def claim(job: int) -> None:
            nonlocal room
            if job in runs or self.gangs[job] > room:
                waiting.append(job)
            else:
                runs.append(job)
                room -= self.gangs[job]

        for job in self.claims:
            claim(job)
        while any(gang <= room and i not in runs for i, gang in enumerate(self.gangs)):
            claim(_draw(self._total, self._rng))
        self.claims = waiting
        return runs


def _draw(total: Sequence[float], rng: np.random.Generator) -> int:
    """An index, by weights that have been added up."""
    return min(bisect_right(total, rng.random() * total[-1]), len(total) - 1)
