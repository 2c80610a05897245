r"""The optimum of preemptive gangs: branch and bound over windows of their ends.

The root's windows hold all schedules that are better than the best one known. A node

1. climbs its parent's prices and then makes them better by columns
   (:mod:`gangsched.analysis.proofs.windows`), as long as such a linear program is not too large
   and gains something; else the ends that the climb liked are taken for the program's;
2. narrows windows: an end is left out that costs so much more than the job's cheapest that the
   bound with it would close the node;
3. refines the intervals by the ends inside them that the linear program likes best, as long as the
   bound gains by it, and begins anew;
4. looks for a better schedule by mean ends and weights of the jobs (`WindowGoal.plans`);
5. branches on the job whose ends cost the most different amounts: C_j <= T or C_j > T, T the mean.

The node of the least bound comes next. The certificate is the tree, whose leaves have prices
(:mod:`gangsched.verify.windows`); those that are still open at a limit have their parent's. In
floats a node is closed at a little more than its prices have to prove, so that they do so in
integers: prices are rounded down, and any prices are valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.schedule import Schedule
from ...solvers.result import Bound
from .job_prices import packed
from .window_goals import WindowGoal
from .windows import EndWindows, WindowColumns, WindowPrices, WindowProgram

__all__ = ["WindowSearch"]

METHOD = "completions in windows"
#: steps of the climb, and the first one as a part of the usual price: from no prices, from others
FIRST_CLIMB, LATER_CLIMB = (600, 1.0), (200, 0.2)
#: rounds of refining a node at most, the root and others, and what part of the gap each must close
ROOT_ROUNDS, ROUNDS, GAIN = 12, 3, 0.05
#: pairs up to which there is a linear program, and if the one before gained next to nothing
MOST_PAIRS, FEW_PAIRS = 4_000, 1_000
#: nodes in which plans are made: the first ones, and each so many
EARLY, EACH = 5, 3
#: what a leaf proves beyond what it must, in slacks, at least; weights of patterns that count
OF_SLACK, OFTEN = 1e-4, 1e-6


@dataclass(frozen=True)
class _Node:
    """Windows to be searched, with prices and columns of the parent."""

    windows: EndWindows
    prices: WindowPrices
    columns: WindowColumns
    place: int  #: in the tree's list


@dataclass(frozen=True)
class _Proof:
    """Prices, what they prove of a node, and the windows that are left of it if it is narrowed."""

    prices: WindowPrices
    bound: float
    narrowed: EndWindows | None = None
    then: int = 0


@dataclass
class WindowSearch:
    """A search for the optimum: what is known so far.

    Parameters
    ----------
    goal : WindowGoal
    solution : Schedule
        To begin with.
    take : callable (Schedule) -> bool
        Called with each solution that may be better: whether it is allowed, and better.
    left : callable () -> float
        Seconds that are left, infinite without a limit.
    note : callable (Fraction) -> None
        Called with what is proven of the objective, whenever it is more.

    Attributes
    ----------
    best : float
        Cost of the best solution.
    nodes : int
        That were searched.
    """

    goal: WindowGoal
    solution: Schedule
    take: Callable[[Schedule], bool]
    left: Callable[[], float]
    note: Callable[[Fraction], None]
    best: float = field(init=False)
    nodes: int = field(init=False, default=0)
    #: nodes as in the certificate, but for proofs, by which the others are leaves or narrowed
    tree: list[Any] = field(init=False, default_factory=list)
    #: nodes to be searched, by bound; and bounds of leaves that are not closed
    waiting: list[tuple[float, int, _Node]] = field(init=False, default_factory=list)
    given_up: list[float] = field(init=False, default_factory=list)
    programs: bool = field(init=False, default=True)  #: whether linear programs gain enough
    #: of the node that is searched, its place in the tree, and the job and end that part it
    last: int = field(init=False, default=0)
    split: tuple[int, int] = field(init=False, default=(0, 0))

    def run(self) -> None:
        """Search until nothing is left, or the time is up."""
        self.best = self.goal.value(self.solution)
        self._wait(-math.inf, *self._root())
        known = -math.inf
        while self.waiting and not self.late():
            bound, _, node = self.waiting[0]
            if self.closed(bound):
                break
            if bound > known:
                known = bound
                self.note(self.goal.target(self.least, self.best))
            self.nodes += 1
            found, children = self._searched(node)
            if not children and not self.closed(found):
                self.given_up.append(found)
            if children:
                job, at = self.split
                both = [len(self.tree), len(self.tree) + 1]
                for windows, prices, columns in children:
                    self._wait(found, windows, prices, columns)
                self.tree[self.last] = {"job": job, "at": at, "then": both}
            heappop(self.waiting)  # only now, so that what is interrupted is not lost

    def late(self) -> bool:
        """Whether the time is up."""
        return self.left() <= 0

    def closed(self, bound: float) -> bool:
        """Whether nothing better is left above a bound."""
        return bound > self.goal.threshold(self.best)

    @property
    def least(self) -> float:
        """The least bound of all that is left."""
        return min([self.best, *self.given_up, *(bound for bound, *_ in self.waiting)])

    def _wait(
        self, bound: float, windows: EndWindows, prices: WindowPrices, columns: WindowColumns
    ) -> None:
        """Add a node, a leaf so far."""
        node = _Node(windows, prices, columns, len(self.tree))
        self.tree.append(_Proof(prices, bound))
        heappush(self.waiting, (bound, node.place, node))

    def _root(self) -> tuple[EndWindows, WindowPrices, WindowColumns]:
        """Windows of all that is better, without prices."""
        gangs, ends = self.goal.gangs, self.goal.ends(self.solution)
        high = self.goal.latest(self.best)
        must = np.full(gangs.size, gangs.steps is None)
        points: list[Any] = [gangs.release, ends[ends >= 0], [high.max()]]
        points += [steps for steps, _ in gangs.steps or ()]
        edges = np.unique(np.concatenate(points).astype(np.int64))
        count = 0 if gangs.users is None else gangs.users.over.size
        prices = WindowPrices(
            edges, np.zeros((gangs.size, edges.size - 1)), np.full(count, 1.0 / max(count, 1))
        )
        return (
            EndWindows(gangs.release + gangs.need, high, must),
            prices,
            WindowColumns.none(gangs, edges),
        )

    # -- a node ------------------------------------------------------------------------------------

    def _searched(
        self, node: _Node
    ) -> tuple[float, list[tuple[EndWindows, WindowPrices, WindowColumns]]]:
        """The bound of a node, and its children; none if it is closed, or left open."""
        self.last, windows, prices, columns = node.place, node.windows, node.prices, node.columns
        gangs, rounds = self.goal.gangs, ROOT_ROUNDS if self.nodes == 1 else ROUNDS
        before, whole = -math.inf, False
        missing = replace(prices, own=np.zeros_like(prices.own))  # pairs that need rows, above 0
        while True:
            prices = prices.on(self._cut(prices.edges, windows))
            program = WindowProgram(gangs, windows, prices)
            program.climb(*(LATER_CLIMB if prices.own.any() else FIRST_CLIMB), self.left())
            bound, prices = self._proven(program), program.prices
            if self.closed(bound) or self.late():
                return bound, []
            narrowed = self._narrowed(program)
            if narrowed is not windows:
                windows, prices = narrowed, prices.on(self._cut(prices.edges, narrowed))
                tried, program = program.tried, WindowProgram(gangs, windows, prices)
                program.tried = tried
            if self.nodes == 1 and before == -math.inf:
                self._plan(*program.cheapest(), bound)
            if self.closed(bound):
                return bound, []
            pairs = np.count_nonzero(program.prices.own)
            if pairs <= (MOST_PAIRS if self.programs else FEW_PAIRS):
                program.converge(
                    columns.within(windows).on(prices.edges), self._penalties(),
                    missing.on(prices.edges),
                    closed=self.closed, best=self.best, left=self.left, whole=whole,
                )  # fmt: skip
                found, prices = self._proven(program), program.prices
                if self.closed(found) or not program.solved:
                    return found, []
                columns = program.useful(self.best - found)
                self.programs = found - bound > GAIN * (self.best - bound)
                bound = found
            job, end, weight = program.chosen()
            choice = self._choice(program, job, end, weight)
            if self.nodes <= EARLY or self.nodes % EACH == 0 or choice is None:
                self._plan(job, end, weight, bound)
            if self.closed(bound) or self.late():
                return bound, []
            windows = self._narrowed(program)
            missed = program.missing()
            rows = missed | (program.pair_row >= 0) if choice is None else missed
            missing = replace(prices, own=rows.astype(np.float64))
            inside = self._inside(prices.edges, end, weight)
            gained = bound - before > GAIN * (self.best - bound)
            if inside.size and ((rounds and gained) or choice is None):
                rounds, before = max(rounds - 1, 0), bound
                prices = prices.on(np.union1d(prices.edges, inside))
            elif choice is None and (missed.any() or not whole):
                whole = True
            else:
                break
        if choice is None:
            return bound, []
        self.split = branched, at = choice
        prices = prices.on(np.union1d(prices.edges, [at]))
        high, low, must = windows.high.copy(), windows.low.copy(), windows.must.copy()
        high[branched], low[branched], must[branched] = at, at + 1, True
        early, late = replace(windows, high=high, must=must), replace(windows, low=low)
        return bound, [(early, prices, columns), (late, prices, columns)]

    def _proven(self, program: WindowProgram) -> float:
        """The best bound of the node that is searched, which is noted with its prices."""
        known: _Proof = self.tree[self.last]
        if program.bound > known.bound:
            self.tree[self.last] = _Proof(program.prices, program.bound)
        return max(program.bound, known.bound)

    def _penalties(self) -> Floats:
        """What it costs in the program not to run a job that must."""
        gangs = self.goal.gangs
        if gangs.steps is not None:
            return np.full(gangs.size, 10.0 * (1.0 - self.best))
        if gangs.users is not None:
            longest = float((self.goal.latest(self.best) - gangs.release).max())
            return np.full(gangs.size, 10.0 * longest / float(gangs.users.over.min()))
        alone = gangs.weight * gangs.need
        return 4 * (self.best - float(alone.sum())) + 10 * alone + 1

    def _cut(self, edges: Ints, windows: EndWindows) -> Ints:
        """Edges up to the last end."""
        last = int(windows.high.max())
        return np.union1d(edges[edges < last], [last])

    def _narrowed(self, program: WindowProgram) -> EndWindows:
        """Windows without ends that would close the node, which becomes the parent of the rest."""
        room = self.goal.threshold(self.best) - program.bound
        windows = program.narrowed(room + self.goal.slack(self.best))
        low, high = program.windows.low, program.windows.high
        if (windows.low == low).all() and (windows.high == high).all():
            return program.windows
        then = len(self.tree)
        self.tree.append(_Proof(program.prices, program.bound))
        self.tree[self.last] = _Proof(program.prices, program.bound, windows, then)
        self.last = then
        return windows

    def _inside(self, edges: Ints, end: Ints, weight: Floats) -> Ints:
        """Ends inside intervals, those that matter most: by weight and distance to the edges."""
        at = np.searchsorted(edges, end)
        away = np.minimum(end - edges[np.maximum(at - 1, 0)], edges[at] - end)
        ends, which = np.unique(end[away > 0], return_inverse=True)
        score = np.bincount(which, (weight * away)[away > 0], minlength=ends.size)
        most = max(3, self.goal.gangs.size // 4)
        return ends[np.argsort(-score, kind="stable")[:most]]

    def _choice(
        self, program: WindowProgram, job: Ints, end: Ints, weight: Floats
    ) -> tuple[int, int] | None:
        """The job whose ends differ most in cost, and where to part them; None where all agree."""
        gangs = self.goal.gangs
        cost = program.cost_of(job, end)
        total = np.bincount(job, weight, minlength=gangs.size)
        mean = np.bincount(job, weight * cost, minlength=gangs.size)
        differs = np.bincount(job, weight * np.abs(cost - mean[job]), minlength=gangs.size)
        differs += np.maximum(1 - total, 0) * np.abs(mean)
        for j in np.argsort(-differs, kind="stable").tolist():
            own = (job == j) & (weight > OFTEN)
            ends = np.unique(end[own])
            left_out = gangs.steps is not None and total[j] < 1 - OFTEN
            if ends.size + left_out < 2 or not ends.size:
                continue
            at = int(np.average(end[own], weights=weight[own]))
            if gangs.steps is None:
                return j, int(min(max(at, ends[0]), ends[-1] - 1))
            before = ends[: ends.size if left_out else -1]
            return j, int(before[max(int(np.searchsorted(before, at, side="right")) - 1, 0)])
        return None

    def _plan(self, job: Ints, end: Ints, weight: Floats, bound: float) -> None:
        """Look for better solutions."""
        size = self.goal.gangs.size
        total = np.bincount(job, weight, minlength=size).astype(np.float64)
        mean = np.bincount(job, weight * end, minlength=size) / np.maximum(total, OFTEN)
        ends = self.goal.ends(self.solution).astype(np.float64)
        guesses = [mean, ends] if self.nodes == 1 else [mean]
        for guess in guesses:
            better, now = True, guess.astype(np.float64)
            while better and not self.closed(bound) and not self.late():
                better = False
                for plan in self.goal.plans(now, total, bound, self.best, self.left()):
                    if self.take(plan) and self.goal.value(plan) < self.best:
                        self.best, self.solution, better = self.goal.value(plan), plan, True
                        now = self.goal.ends(plan).astype(np.float64)
                        total = (now >= 0).astype(np.float64)

    # -- the certificate ---------------------------------------------------------------------------

    def proven(self, value: Callable[[Fraction], float]) -> Bound:
        """Return what the tree proves, with its certificate; `value` rounds it to a number."""
        target = self.goal.target(self.least, self.best)
        nodes, place = list[Any](), {k: n for n, k in enumerate(self._reached())}
        for k in place:
            node = self.tree[k]
            shown = node if isinstance(node, dict) else self._shown(node, target)
            if "then" in shown:
                shown = {**shown, "then": [place[child] for child in shown["then"]]}
            nodes.append(shown)
        ratio = [target.numerator, target.denominator]
        return Bound(value(target), METHOD, {"kind": METHOD, "target": ratio, "nodes": nodes})

    def _reached(self) -> list[int]:
        """Nodes from the root on; the parent of others was interrupted before it had them."""
        found = [0]
        for k in found:
            node = self.tree[k]
            if isinstance(node, dict):
                found += node["then"]
            elif node.narrowed is not None:
                found.append(node.then)
        return sorted(found)

    def _shown(self, proof: _Proof, target: Fraction) -> dict[str, Any]:
        """A leaf or a narrowed node with prices in whole parts."""
        prices, gangs = proof.prices, self.goal.gangs
        margin = self.goal.slack(self.best)
        if proof.narrowed is None:
            margin = max(proof.bound - self.goal.needed(target), margin * OF_SLACK)
        finest = 2 * float(gangs.need.sum()) / min(margin, float(gangs.need.sum()))
        scale = 2 ** math.ceil(math.log2(finest))
        weights = {}
        if gangs.users is not None:
            each = prices.users / gangs.users.over
            scale = 2 ** (40 - math.frexp(float(each.max()))[1])
            weights = {"weights": [math.floor(m * scale) for m in each.tolist()]}
        parts = np.floor(prices.own * scale).astype(np.int64)
        on = parts > 0
        first = np.where(on.any(axis=1), on.argmax(axis=1), 0)
        last = np.where(on.any(axis=1), on.shape[1] - on[:, ::-1].argmax(axis=1), 0)
        flat = [
            parts[j, a:b]
            for j, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True))
        ]
        shown = {
            "times": prices.edges.tolist(),
            "first": first.tolist(),
            "counts": (last - first).tolist(),
            "prices": packed(np.concatenate(flat)),
            **(weights or {"scale": scale}),
        }
        if proof.narrowed is not None:
            shown["low"], shown["high"] = proof.narrowed.low.tolist(), proof.narrowed.high.tolist()
            shown["then"] = [proof.then]
        return shown
