"""The best run of each job at given prices of workers and PSs: pricing of `irmp_columns`.

Nodes of one type, equal in model, workers and PSs, form a class and have the same prices. A run
is then a start, workers D_w and their model, and

- on one node (zeta = 1): the class of it, or
- spread: the class of the one node that holds the PSs (more such nodes never help), how many of
  the workers are there (k), z = max(1, ceil((D_w - k) b_w / b_p)) PSs, eq. (3i), and the other
  workers on the cheapest classes; that node itself holds no more.

So the best run is found by trying everything, O(T D (classes C_w)) for a job. Machine code tries
less, with the same result:

- of several D_w that take equally long, the least;
- f does not rise: once f(end) is not above the best gain, no later start is;
- where f is convex (linear, powers), so is f - cost between two starts at which a run begins or
  ends with a block of equal prices, as the cost is a minimum of linear functions: the best start is
  such a one. This is only used where rounding does not matter;
- the mode, host and k are tried where the cheapest worker and PS leave more than the best gain.

All numbers are integers, so sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....formulations.irmp.problem import Irmp, parameter_servers
from ....instances.arrays import Floats, Ints
from ....instances.compiled import compiled, inner
from ....instances.model import Table

#: the column of slots in `Trials.rows`
LENGTH = 3


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Nodes that are equal in model, workers and PSs.

    Parameters
    ----------
    gpus, ps, count, model : (classes,) ints
        C_w and C_p of each node, the number of nodes, and the model's number in `Irmp.models`.
    of_node : (nodes,) ints

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> cluster = Cluster([Node("a", 8, ps=1), Node("b", 2, ps=1), Node("c", 8, ps=1)])
    >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> classes = Classes.of(Irmp(Instance(cluster, [job])))
    >>> classes.gpus.tolist(), classes.count.tolist(), classes.of_node.tolist()
    ([2, 8], [1, 2], [1, 0, 1])
    """

    gpus: Ints
    ps: Ints
    count: Ints
    model: Ints
    of_node: Ints

    @classmethod
    def of(cls, problem: Irmp) -> Classes:
        """Return the classes of a problem's nodes, sorted by model, workers and PSs."""
        number = {model: m for m, model in enumerate(problem.models)}
        kinds = [(number[n.model], n.gpus, n.ps) for n in problem.instance.cluster.nodes]
        every = sorted(set(kinds))
        place = {kind: g for g, kind in enumerate(every)}
        of_node = np.array([place[kind] for kind in kinds], dtype=np.int64)
        model, gpus, ps = np.array(every, dtype=np.int64).T
        return cls(gpus, ps, np.bincount(of_node, minlength=len(every)), model, of_node)

    def __len__(self) -> int:
        return int(self.gpus.size)

    @property
    def room(self) -> Ints:
        """(classes, 2): workers and PSs of all nodes of each class."""
        return np.stack([self.gpus * self.count, self.ps * self.count], axis=1)

    def describe(self, problem: Irmp) -> list[list[Any]]:
        """Return [model, gpus, ps] of each class, as a record."""
        columns = self.model.tolist(), self.gpus.tolist(), self.ps.tolist()
        return [[problem.models[m], gpus, ps] for m, gpus, ps in zip(*columns, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """What a run may be like, but for start and placement.

    Parameters
    ----------
    rows : (n, 4) ints
        Model of the workers, 1 on one node and 0 spread, D_w, slots; by job, the shortest first.
    ptr : (jobs + 1,) ints
    dense : (jobs,) bools
        Where starts between the ends of blocks matter: f is not known to be convex.
    begin : (jobs,) ints
        The earliest start.
    """

    rows: Ints
    ptr: Ints
    dense: NDArray[np.bool_]
    begin: Ints

    @classmethod
    def of(cls, problem: Irmp, classes: Classes) -> Trials:
        """Return the trials of a problem; of equally long ones, that of the least D_w."""
        rows: list[tuple[int, ...]] = []
        ptr, caps = [0], worker_caps(problem, classes)
        for j in range(len(problem.jobs)):
            rows += sorted(_trials(problem, j, caps), key=lambda row: (row[LENGTH], row))
            ptr.append(len(rows))
        kinked = problem.paper_slot_r and problem.clock == "release"
        dense = [kinked or isinstance(job.utility, Table) for job in problem.jobs]
        begin = [problem.earliest(j) for j in range(len(problem.jobs))]
        return cls(
            np.array(rows, dtype=np.int64).reshape(-1, 4), np.array(ptr, dtype=np.int64),
            np.array(dense, dtype=bool), np.array(begin, dtype=np.int64),
        )  # fmt: skip


def worker_caps(problem: Irmp, classes: Classes) -> list[tuple[int, int]]:
    """By model: the most workers of a run on one node, and of a spread one."""
    caps = []
    for model in range(len(problem.models)):
        mine, hosts = classes.model == model, classes.ps > 0
        one = classes.gpus[mine & hosts].max(initial=0)
        away = np.searchsorted(needs(problem), classes.ps, side="right") - 1
        several = (away + classes.gpus * mine)[hosts].max(initial=0)
        caps.append((int(one), int(min(several, classes.room[mine, 0].sum()))))
    return caps


def _trials(problem: Irmp, job: int, caps: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    of = problem.jobs[job]
    for m, model in enumerate(problem.models):
        for central, cap in zip((1, 0), caps[m], strict=True):
            rate = problem.rate(job, 2 - central, model)
            work, speed = of.batches * rate.denominator, rate.numerator
            before = None
            for workers in range(1, min(of.gpus, cap) + 1):
                length = -(-work // (speed * workers))
                if length != before:
                    yield m, central, workers, length
                before = length


def needs(problem: Irmp) -> Ints:
    """Return how many PSs serve 0, 1, ... workers on other nodes, (3i)."""
    widest = max((job.gpus for job in problem.jobs), default=0)
    outside = range(min(widest, problem.instance.cluster.gpus) + 1)
    bandwidths = problem.worker_bandwidth, problem.ps_bandwidth
    return np.array([min(parameter_servers(n, *bandwidths), 2**31) for n in outside])


class CandidateRun(NamedTuple):
    """A best run: a column of the linear program."""

    start: int
    end: int
    workers: tuple[int, ...]  #: by class
    host: int  #: class of the node with the PSs
    ps: int
    central: bool
    own: int  #: workers on the node with the PSs
    gain: int

    def rows(self, ends: Ints) -> tuple[Ints, Floats]:
        """Return rows (class, resource, block) of the linear program, and how much of each."""
        first, last = np.searchsorted(ends, [self.start, self.end - 1], side="right")
        blocks = np.arange(first, last + 1)
        begin = np.where(blocks, ends[blocks - 1], 0)
        overlap = np.minimum(ends[blocks], self.end) - np.maximum(begin, self.start)
        held = [(2 * g, n) for g, n in enumerate(self.workers) if n]
        held.append((2 * self.host + 1, self.ps))
        rows = np.concatenate([row * ends.size + blocks for row, _ in held])
        return rows, np.concatenate([n * overlap for _, n in held]).astype(np.float64)


# --- machine code --------------------------------------------------------------------------------


def best_runs(
    problem: Irmp, classes: Classes, trials: Trials, worth: Ints, prices: Ints, floor: Ints,
    ends: Ints, *, hints: Ints, every: bool = False,
) -> list[CandidateRun | None]:  # fmt: skip
    """Return for every job a run of the most worth - cost, where that exceeds its `floor`."""
    jobs, slots = len(problem.jobs), int(ends[-1])
    sums = np.zeros((*prices.shape[:2], slots + 1), dtype=np.int64)
    lengths = np.diff(ends, prepend=0)
    np.cumsum(np.repeat(prices, lengths, axis=2), axis=2, out=sums[:, :, 1:])
    marks = np.concatenate([[0], ends, [2**62]])
    out = np.empty((jobs, 5), dtype=np.int64)
    _price_all(
        worth, floor, trials.begin, trials.dense | every, trials.rows, trials.ptr, hints, sums,
        classes.gpus, classes.ps, classes.count, classes.model,
        needs(problem), marks, out,
    )  # fmt: skip
    found: list[CandidateRun | None] = []
    for row, best in zip(hints.tolist(), out.tolist(), strict=True):
        gain, start, host, own, ps = best
        if start < 0:
            found.append(None)
            continue
        model, central, workers, length = trials.rows[row].tolist()
        end, held = start + length, [0] * len(classes)
        if not central:
            window = sums[:, 0, end] - sums[:, 0, start]
            held = _on_cheapest(classes, window, model, host, workers - own)
        held[host] += own
        found.append(CandidateRun(start, end, tuple(held), host, ps, bool(central), own, gain))
    return found


def _on_cheapest(classes: Classes, window: Ints, model: int, host: int, workers: int) -> list[int]:
    """Workers away from the host by class, on the cheapest nodes of a model."""
    held = [0] * len(classes)
    for g in np.argsort(window, kind="stable").tolist():
        if classes.model[g] == model:
            held[g] = min(workers, int(classes.gpus[g] * (classes.count[g] - (g == host))))
            workers -= held[g]
    return held


@compiled
def _price_all(
    worth: Any, floor: Any, begin: Any, dense: Any, rows: Any, ptr: Any, hints: Any, sums: Any,
    gpus: Any, ps: Any, count: Any, model: Any, need: Any, marks: Any, out: Any,
) -> None:  # fmt: skip
    classes = gpus.size
    order = np.empty(classes, dtype=np.int64)
    window = np.empty((classes, 2), dtype=np.int64)
    for j in range(floor.size):
        out[j, 0] = floor[j]
        out[j, 1] = -1
        hint = hints[j]
        for at in range(ptr[j] - 1, ptr[j + 1]):
            row = at if at >= ptr[j] else hint  # the last time's best trial first
            if row >= 0 and (row != hint or at < ptr[j]):
                _price_trial(
                    row, worth[j], begin[j], dense[j], rows, sums, gpus, ps, count, model, need,
                    marks, order, window, hints[j : j + 1], out[j],
                )  # fmt: skip


@inner
def _price_trial(
    row: Any, worth: Any, begin: Any, dense: Any, rows: Any, sums: Any, gpus: Any, ps: Any,
    count: Any, model: Any, need: Any, marks: Any, order: Any, window: Any, hint: Any, out: Any,
) -> None:  # fmt: skip
    """Improve `out` by the best start of one trial."""
    kind, central, workers, length = rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3]
    slots, start = sums.shape[2] - 1, begin
    if start + length > slots or worth[start + length] <= out[0]:
        return
    first = np.searchsorted(marks, start, side="right")
    last = np.searchsorted(marks, start + length, side="right")
    while start + length <= slots:
        end = start + length
        if worth[end] <= out[0]:
            return
        before = out[0]
        _price_run(
            start, end, kind, central, workers, worth[end], sums, gpus, ps, count, model, need,
            order, window, out,
        )  # fmt: skip
        if out[0] > before:
            hint[0] = row
        if dense:
            start += 1
        else:
            start = min(marks[first], marks[last] - length)
            if marks[first] == start:
                first += 1
            if marks[last] - length == start:
                last += 1


@inner
def _price_run(
    start: Any, end: Any, kind: Any, central: Any, workers: Any, worth: Any, sums: Any, gpus: Any,
    ps: Any, count: Any, model: Any, need: Any, order: Any, window: Any, out: Any,
) -> None:  # fmt: skip
    """Improve `out` by a run of one start: all workers on the host, or some elsewhere."""
    least = np.int64(2**62)
    cheapest = np.int64(2**62)
    for g in range(gpus.size):
        if model[g] == kind:
            cheapest = min(cheapest, sums[g, 0, end] - sums[g, 0, start])
        if ps[g] > 0:
            least = min(least, sums[g, 1, end] - sums[g, 1, start])
    if worth - workers * cheapest - least <= out[0]:
        return
    found = _windows(start, end, kind, sums, model, order, window)
    least_own, most_own = (workers, workers) if central else (0, workers - 1)
    for host in range(gpus.size):
        first = min(most_own, gpus[host]) if model[host] == kind else 0
        for own in range(first, least_own - 1, -1):
            outside = workers - own
            z = need[outside]
            if z > ps[host]:
                break
            cost = z * window[host, 1] + own * window[host, 0]
            for i in range(found):
                g = order[i]
                take = min(outside, gpus[g] * (count[g] - (g == host)))
                cost += take * window[g, 0]
                outside -= take
            if outside > 0:
                break
            if worth - cost > out[0]:
                out[0], out[1], out[2], out[3], out[4] = worth - cost, start, host, own, z


@inner
def _windows(
    start: Any, end: Any, kind: Any, sums: Any, model: Any, order: Any, window: Any
) -> Any:
    """Prices of the whole run, and the classes of one model, the cheapest first."""
    found = 0
    for g in range(model.size):
        window[g, 0] = sums[g, 0, end] - sums[g, 0, start]
        window[g, 1] = sums[g, 1, end] - sums[g, 1, start]
        if model[g] == kind:
            i = found
            while i > 0 and window[order[i - 1], 0] > window[g, 0]:
                order[i] = order[i - 1]
                i -= 1
            order[i] = g
            found += 1
    return found
