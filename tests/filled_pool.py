"""Greedy filling of a pool, ruin and recreate: second by second, to compare the compiled one with.

Nothing is shared with :mod:`gangsched.solvers.ours.reward_pool_core` but the numbers of its search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gangsched.solvers.ours.reward_pool_core import AROUND, MOST


@dataclass
class Pool:
    """Jobs (start, need, gang) with rows (stop, worth), by release; the price of each second."""

    gpus: int
    jobs: Sequence[tuple[int, int, int]]
    rows: Sequence[Sequence[tuple[int, float]]]
    prices: Sequence[float]
    free: list[int] = field(init=False)
    held: dict[int, list[int]] = field(default_factory=dict)  #: seconds
    won: dict[int, int] = field(default_factory=dict)  #: row

    def __post_init__(self) -> None:
        self.free = [self.gpus] * len(self.prices)

    def density(self, j: int) -> float:
        _, need, gang = self.jobs[j]
        return self.rows[j][0][1] / (need * gang)

    def worth(self, jobs: Sequence[int]) -> float:
        return sum(self.rows[j][self.won[j]][1] for j in jobs if j in self.won)

    def insert(self, j: int) -> None:
        start, need, gang = self.jobs[j]
        for row, (stop, _) in enumerate(self.rows[j]):
            able = [t for t in range(start, stop) if self.free[t] >= gang]
            if len(able) >= need:
                self.put(j, row, sorted(sorted(able, key=lambda t: (self.prices[t], t))[:need]))
                return

    def put(self, j: int, row: int, seconds: list[int]) -> None:
        self.won[j], self.held[j] = row, seconds
        for t in seconds:
            self.free[t] -= self.jobs[j][2]

    def take_out(self, j: int) -> None:
        self.won.pop(j, None)
        for t in self.held.pop(j, []):
            self.free[t] += self.jobs[j][2]

    def fill(self, draws: Sequence[Sequence[float]]) -> None:
        order = sorted(range(len(self.jobs)), key=lambda j: -self.density(j))
        rank = {j: i for i, j in enumerate(order)}
        for j in order:
            self.insert(j)
        for draw in draws:
            open_ = [j for j in range(len(self.jobs)) if self.won.get(j) != 0]
            if not open_:
                return
            first = min(int(draw[0] * len(self.jobs)), len(self.jobs) - 1)
            wanted = next((j for j in open_ if j >= first), open_[0])
            self.move(wanted, draw, rank)

    def move(self, wanted: int, draw: Sequence[float], rank: dict[int, int]) -> None:
        low, high = max(wanted - AROUND, 0), min(wanted + AROUND + 1, len(self.jobs))
        count = 1 + min(int(draw[1] * MOST), MOST - 1)
        drawn = {min(low + int(x * (high - low)), high - 1) for x in draw[3 : 3 + count]}
        out = {j for j in drawn if j in self.won} - {wanted}
        if draw[2] < 0.5:
            out |= {j for j in range(low, high) if self.won.get(j) != 0} - {wanted}
        jobs = [wanted, *sorted(out, key=lambda j: rank[j])]
        before = self.worth(jobs)
        old = {j: (self.won[j], self.held[j]) for j in jobs if j in self.won}
        for j in jobs:
            self.take_out(j)
        for j in jobs:
            self.insert(j)
        if self.worth(jobs) < before:
            for j in jobs:
                self.take_out(j)
            for j, (row, seconds) in old.items():
                self.put(j, row, seconds)
