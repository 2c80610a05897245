"""Replay the proof of a bound of revenue: prices of workers and parameter servers, in integers.

Runs are enumerated again from the problem's rates, for all starts at once; completions of jobs that
may change from slot to slot are priced in rationals. Nothing of the solvers is used.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formulations.irmp.problem import Irmp
from ...instances.model import Linear, Table
from .readers import integers

__all__ = ["revenue_prices"]

Ints = NDArray[Any]  # int64, or Python integers where int64 could overflow

#: most slots that are looked at
MAX_SLOTS = 10**6
MAX_SCALE = 2**1023
#: integers up to this, and their sums and products, are exact as floats
EXACT = 2**53


def revenue_prices(problem: Irmp, certificate: Mapping[str, Any]) -> Fraction:
    """Return what prices of workers and PSs prove of a problem's objective.

    Notes
    -----
    Let pi >= 0 be prices, T the last slot of the last block. For every schedule that runs jobs j as
    i(j), each complete by T,

        sum f_j(t+) <= sum (f_j(t+) - cost of i(j) at pi) + sum over slots of pi n C
                    <= sum over jobs of max(0, max over runs of f_j - cost) + sum of pi n C,

    as no more is in use than there is. A job that is complete later earns f_j(T + 1) at most, and
    nothing if it never can be: no run fits, or none is over by the horizon. Only
    runs as short as D_w workers allow, with one node of PSs and no more PSs than (3i) asks for are
    cheap enough to matter, and only those with the other workers on the cheapest nodes: f does
    not rise. Values are rounded up to multiples of 1 / scale.

    With "fluid" a job pays less, for schedules in which it may change from slot to slot. In a slot,
    q mini-batches on one node take q / n_1 workers at least, and q <= C n_1, C the most workers on
    a node with PSs; on several nodes q / n_0, and q <= D' n_0. The largest convex function of q
    below both goes through 0, (C n_1, C w) and, if it is further, (D' n_0, D' w), for the cheapest
    worker's price w. At least one PS is held, so a share q / max(C n_1, D' n_0) of the cheapest
    one's price is paid. So a completion by t costs no less than the cheapest mini-batches of all
    slots from the release to t: found by keeping them in a heap, in rationals.

    O(T D C) integer operations for each job, most of which a look at the best gain so far saves; or
    O(T log T).

    Examples
    --------
    One node of 2 workers, two jobs that want it for 2 slots: at 1 a worker and slot both would
    pay 4, and can have 96 - 4 of 100 - 2 t at best.

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=i, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-2, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs))
    >>> certificate = {"classes": [["", 2, 1]], "ends": [2, 4], "prices": [[[1, 0], [0, 0]]],
    ...                "scale": 1, "fluid": False}
    >>> revenue_prices(problem, certificate)
    Fraction(188, 1)
    """
    case = _Case.of(problem, certificate)
    best = _fluid_gain if case.fluid else _gain
    total = Fraction(case.spent)
    for job in range(len(problem.jobs)):
        total += best(case, job)
    total = _floored(problem, total / case.scale)
    return Fraction(float(total)) if total <= sys.float_info.max else total


# --- reading it ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Case:
    """A certificate, checked."""

    problem: Irmp
    classes: list[tuple[str, int, int]]
    count: list[int]
    slots: int
    scale: Fraction
    fluid: bool
    spent: int  # sum of pi n C
    prices: Ints  # (classes, 2, slots)
    sums: Ints  # (classes, 2, slots + 1)

    @classmethod
    def of(cls, problem: Irmp, certificate: Mapping[str, Any]) -> _Case:
        """Check all fields."""
        classes, count = _classes(problem, certificate)
        ends = _ends(problem, certificate)
        prices = _prices(certificate, len(classes), len(ends))
        scale = _power_of_two(certificate.get("scale"))
        fluid = certificate.get("fluid")
        if not isinstance(fluid, bool):
            raise ValueError(f"fluid={fluid!r} is not True or False")
        if problem.preemptive and not fluid:
            raise ValueError("fluid=False, but jobs of a preemptive problem may change")
        lengths = [end - before for before, end in pairwise([0, *ends])]
        spent = sum(
            n * held * price * length
            for (_, gpus, ps), n, rows in zip(classes, count, prices, strict=True)
            for held, row in zip((gpus, ps), rows, strict=True)
            for price, length in zip(row, lengths, strict=True)
        )
        most = max((price for rows in prices for row in rows for price in row), default=0)
        kind = np.int64 if max(spent, most * ends[-1]) < 2**61 else object
        by_slot = np.repeat(np.array(prices, dtype=kind), lengths, axis=2)
        sums = np.zeros((len(classes), 2, ends[-1] + 1), dtype=kind)
        sums[:, :, 1:] = by_slot.cumsum(axis=2)
        return cls(
            problem=problem, classes=classes, count=count, slots=ends[-1], scale=scale,
            fluid=fluid, spent=spent, prices=by_slot, sums=sums,
        )  # fmt: skip

    def worth(self, job: int) -> Ints:
        """Of completions at 0, 1, ..., in units of 1 / scale, rounded up; not rising."""
        values = [self.problem.value(job, max(t, 1)) for t in range(self.slots + 1)]
        # below 1, products of floats could be 0
        if self.scale >= 1 and max(map(abs, values)) * float(self.scale) < 2**61:
            worth = np.ceil(np.array(values) * float(self.scale)).astype(np.int64)
            worth = worth.astype(self.sums.dtype)
        else:
            worth = np.array([_rounded_up(value, self.scale) for value in values], dtype=object)
        highest: Ints = np.maximum.accumulate(worth[::-1])[::-1]
        return highest

    def floor(self, job: int) -> int | None:
        """Without a run by the last slot: left out, or complete later; None: neither may be."""
        may = [0] if self.problem.optional else []
        least = _least_slots(self, job)
        if least is not None:
            late = max(self.slots + 1, self.problem.earliest(job) + least)
            if self.problem.horizon is None or late <= self.problem.horizon:
                may.append(_rounded_up(self.problem.value(job, late), self.scale))
        return max(may, default=None)


def _rounded_up(value: float, scale: Fraction) -> int:
    return math.ceil(Fraction(value) * scale)


def _power_of_two(scale: Any) -> Fraction:
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise ValueError(f"scale={scale!r} is not a number")
    if isinstance(scale, int) and scale > MAX_SCALE:
        raise ValueError(f"scale has {scale.bit_length()} bits, more than a float can hold")
    if not 0 < scale < math.inf or math.frexp(scale)[0] != 0.5 or Fraction(scale) != float(scale):
        raise ValueError(f"scale={scale!r} is not a power of two")
    return Fraction(scale)


def _classes(
    problem: Irmp, certificate: Mapping[str, Any]
) -> tuple[list[tuple[str, int, int]], list[int]]:
    """The nodes that are equal, and how many they are; as the certificate says."""
    kinds = [(node.model, node.gpus, node.ps) for node in problem.instance.cluster.nodes]
    classes = sorted(set(kinds))
    said = certificate.get("classes")
    if not isinstance(said, Sequence) or [list(kind) for kind in classes] != list(map(_row, said)):
        raise ValueError(f"classes={said!r} are not those of the problem's nodes: {classes}")
    return classes, [kinds.count(kind) for kind in classes]


def _row(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _ends(problem: Irmp, certificate: Mapping[str, Any]) -> list[int]:
    ends = integers(certificate.get("ends"), "ends", least=1)
    if not ends or any(after <= before for before, after in pairwise(ends)):
        raise ValueError("ends do not rise from 1 or more")
    most = min(MAX_SLOTS, problem.horizon or MAX_SLOTS)
    if ends[-1] > most:
        raise ValueError(f"ends: {ends[-1]} slots are more than {most}")
    return ends


def _prices(certificate: Mapping[str, Any], classes: int, blocks: int) -> list[list[list[int]]]:
    prices = certificate.get("prices")
    if not isinstance(prices, Sequence) or len(prices) != classes:
        raise ValueError(f"prices are not a list of {classes} classes")
    for rows in prices:
        if not isinstance(rows, Sequence) or len(rows) != 2:
            raise ValueError("prices of a class are not a pair (workers, PSs)")
    found = [
        [integers(row, f"prices[{c}][{k}]") for k, row in enumerate(rows)]
        for c, rows in enumerate(prices)
    ]
    for rows in found:
        if any(len(row) != blocks for row in rows):
            raise ValueError(f"prices: there is not one for each of {blocks} blocks")
    return found


def _floored(problem: Irmp, total: Fraction) -> Fraction:
    """The largest possible sum of values that is not above `total`, as far as divisors tell.

    Integers up to 2**53 are exact, so k t + g is a multiple of the divisors unless |k t| is larger
    or the sum is. As k <= 0 and t >= 1 no job has more than max(0, g); one with such a value has
    max(0, g) - 2**53 at most, rounded or not. So sums of values are multiples, or less by 2**53
    than that of all max(0, g).
    """
    step = highest = 0
    for job in problem.jobs:
        if isinstance(job.utility, Linear):
            values: Sequence[float] = (job.utility.constant, job.utility.slope)
        elif isinstance(job.utility, Table):
            values = job.utility.values
        else:
            return total
        if any(value != int(value) or abs(value) > EXACT for value in values):
            return total
        step = math.gcd(step, *(int(value) for value in values))
        highest += max(0, int(values[0]))
    if step == 0:
        return total
    return max(Fraction(total // step * step), min(total, Fraction(highest - EXACT)))


# --- runs as they are ----------------------------------------------------------------------------


def _gain(case: _Case, job: int) -> int:
    """The most that a job gains at the prices."""
    worth, begin = case.worth(job), case.problem.earliest(job)
    best = case.floor(job)
    for length, model, workers, central in sorted(_shapes(case, job)):
        if begin + length > case.slots:
            break
        reached = worth[begin + length :]
        starts = np.arange(reached.size) if best is None else np.flatnonzero(reached > best)
        if not starts.size:
            continue
        window = case.sums[:, :, begin + length + starts] - case.sums[:, :, begin + starts]
        costs = _central if central else _spread
        for cost in costs(case, model, workers, window, reached[starts], best):
            gain = int((reached[starts] - cost).max())
            best = gain if best is None else max(best, gain)
    # a job that must run and cannot: nothing is to be proven, as there is no schedule
    return 0 if best is None else best


def _shapes(case: _Case, job: int) -> Iterator[tuple[int, str, int, bool]]:
    """Slots, model, workers and whether on one node; of equally long ones the fewest workers."""
    problem, of = case.problem, case.problem.jobs[job]
    for model in problem.models:
        for nodes, most in zip((1, 2), _most(case, model), strict=True):
            rate, before = problem.rate(job, nodes, model), None
            for workers in range(1, min(of.gpus, most) + 1):
                length = -(-of.batches * rate.denominator // (rate.numerator * workers))
                if length != before:
                    yield length, model, workers, nodes == 1
                before = length


def _least_slots(case: _Case, job: int) -> int | None:
    """Of any run; None where there is none."""
    if not case.fluid:
        return min((length for length, _, _, _ in _shapes(case, job)), default=None)
    most = sum(_pieces(case, job)[0])
    return math.ceil(case.problem.jobs[job].batches / most) if most else None


def _most(case: _Case, model: str) -> tuple[int, int]:
    """Workers of a model, on a node with PSs and together with others."""
    problem = case.problem
    one = several = room = 0
    for (own, gpus, ps), count in zip(case.classes, case.count, strict=True):
        mine = gpus if own == model else 0
        room += mine * count
        if ps:
            one = max(one, mine)
            several = max(several, mine + ps * problem.ps_bandwidth // problem.worker_bandwidth)
    return one, min(several, room)


def _central(
    case: _Case, model: str, workers: int, window: Ints, worth: Ints, best: int | None
) -> Iterator[Ints]:
    """Costs, for all starts, on one node of each class."""
    for g, (own, gpus, ps) in enumerate(case.classes):
        if own == model and gpus >= workers and ps:
            yield workers * window[g, 0] + window[g, 1]


def _spread(
    case: _Case, model: str, workers: int, window: Ints, worth: Ints, best: int | None
) -> Iterator[Ints]:
    """Costs, for all starts, of each host of the PSs and each number of workers on it."""
    mine = [g for g, (own, _, _) in enumerate(case.classes) if own == model]
    hosts = [g for g, (_, _, ps) in enumerate(case.classes) if ps]
    least = workers * window[mine, 0].min(axis=0) + window[hosts, 1].min(axis=0)
    if best is not None and not (worth - least > best).any():
        return
    order = np.argsort(window[mine, 0], axis=0, kind="stable")
    prices = np.take_along_axis(window[mine, 0], order, axis=0)
    rank = np.array(mine)[order]
    room = np.array([gpus * n for (_, gpus, _), n in zip(case.classes, case.count, strict=True)])
    for host in hosts:
        own, gpus, ps = case.classes[host]
        free = room[rank] - gpus * (rank == host)
        for here in range(min(workers - 1, gpus) if own == model else 0, -1, -1):
            need = -(-(workers - here) * case.problem.worker_bandwidth // case.problem.ps_bandwidth)
            if max(need, 1) > ps or int(free[:, 0].sum()) < workers - here:
                break
            cost = here * window[host, 0] + max(need, 1) * window[host, 1]
            left = np.full(cost.shape, workers - here)
            for price, there in zip(prices, free, strict=True):
                taken = np.minimum(left, there)
                cost = cost + taken * price
                left = left - taken
            yield cost


# --- jobs that may change from slot to slot -------------------------------------------------------


def _fluid_gain(case: _Case, job: int) -> Fraction:
    """The same for the cheapest mini-batches of all slots."""
    floor, worth = case.floor(job), case.worth(job).tolist()
    best = None if floor is None else Fraction(floor)
    sizes, rates = _pieces(case, job)
    whole = reduce(math.lcm, (size.denominator for size in sizes), 1)
    unit = reduce(math.lcm, (rate.denominator for pair in rates for rate in pair), 1)
    pieces = [
        (int(size * whole), int(worker * unit), int(ps * unit))
        for size, (worker, ps) in zip(sizes, rates, strict=True)
    ]
    need = case.problem.jobs[job].batches * whole
    cheapest = case.prices.min(axis=0).tolist()
    held: list[tuple[int, int]] = []  # the dearest on top: (- price of a mini-batch, mini-batches)
    trained = cost = 0
    for t in range(case.problem.earliest(job), case.slots):
        if best is not None and worth[t + 1] <= best:
            break
        for size, workers, ps in pieces:
            price = workers * cheapest[0][t] + ps * cheapest[1][t]
            heapq.heappush(held, (-price, size))
            trained, cost = trained + size, cost + price * size
        while held and trained - held[0][1] >= need:
            price, size = heapq.heappop(held)
            trained, cost = trained - size, cost + price * size
        if trained >= need:
            paid = cost + (trained - need) * held[0][0]
            gain = worth[t + 1] - Fraction(paid, whole * unit)
            best = gain if best is None else max(best, gain)
    return Fraction(0) if best is None else best


def _pieces(case: _Case, job: int) -> tuple[list[Fraction], list[tuple[Fraction, Fraction]]]:
    """Mini-batches of a slot, by price; workers and PSs of each of them."""
    problem, of = case.problem, case.problem.jobs[job]
    fast, slow = (max(problem.rate(job, n, model) for model in problem.models) for n in (1, 2))
    most = [_most(case, model) for model in problem.models]
    few, many = (min(of.gpus, max(row[k] for row in most)) for k in (0, 1))
    first, second = few * fast, many * slow - few * fast
    ps = 1 / max(first, many * slow) if few or many else Fraction(0)
    pieces = [(first, 1 / fast)] if few else []
    pieces += [(second, (many - few) / second)] if second > 0 else []
    return [size for size, _ in pieces], [(workers, ps) for _, workers in pieces]
