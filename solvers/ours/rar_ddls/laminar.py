"""Laminar schedules for RAR-DDLS: gangs on nested blocks of GPUs, without contention or idling.

Not in the paper. Nodes offer blocks of 2^l GPUs that are nested in each other: each node's
largest power of two may be merged with an equally large block of other nodes, the rest is split
inside the node. A job of 2^l GPUs takes one block of that size. If every GPU runs its jobs in
non-increasing order of block size, then

1. no GPU of a gang waits for another: before a job, all GPUs of its block have had the same jobs;
2. no two jobs that span nodes share one at the same time, as each owns the whole mergeable block
   of each of its nodes, so p_j[t] = 1 and the duration is d_j(n_b), n_b the job's nodes there.

Hence the makespan is the largest sum of durations on one GPU, which turns RAR-DDLS into an
assignment problem without time:

    min C   s.t.  sum_b x_jb = 1,   sum_{j, b containing g} d_j(n_b) x_jb <= C  for every GPU g.

:func:`laminar` assigns greedily from the largest gangs down, and comes closer to a target load by
fillings (:mod:`.laminar_filling_core`), where these are asked for, and by annealing.
A gang size that is no power of two takes the first G_j GPUs of the next larger block and leaves the
others idle; with loads counted for whole blocks, all of this still holds. Proofs: "laminar" and
"laminar-greedy" in docs/theorems.md.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ....formulations.rar_ddls.problem import RarDdls
from ....instances.arrays import Ints
from ....instances.schedule import Schedule
from ...facts import MakespanFacts
from ...history import History
from ...rar_ddls.backfilling import backfilling
from ...rar_ddls.bounds import area_bound
from ...rar_ddls.gang_queue import Plan
from ...result import Result, Stop
from ...signature import solver

#: jobs x GPUs x slots up to which fillings are tried, and of which a look at the clock is worth one
FILLING, CLOCKED = 10**9, 10**9
#: fillings towards each target, in the first pass over the targets
TRIES = 50
#: a job's price is its length to this power, and this part more for each level
POWER, LEVEL = 1.1, 0.05


@dataclass(frozen=True, slots=True)
class LaminarParams:
    """Parameters of the laminar search.

    Parameters
    ----------
    rounds : int
        Annealing runs at most, at least 0; 0 leaves the greedy assignment.
    steps : int
        Proposals of one run, at least 1.
    enough : int
        Makespan in slots at which the search ends, such as a bound that is better than the area
        bound, at which it ends anyway; at least 0.
    fillings : int
        Fillings at most, before the annealing; at least 0. Much better for its time than annealing
        where many jobs fill the cluster, up to :data:`FILLING` jobs x GPUs x slots.
    """

    rounds: int = 16
    steps: int = 400_000
    enough: int = 0
    fillings: int = 0

    def __post_init__(self) -> None:
        for name, least in (("rounds", 0), ("steps", 1), ("enough", 0), ("fillings", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"LaminarParams: {name}={value!r} is not an integer >= {least}")


class Forest:
    """The nested blocks of a cluster, over its GPUs put in an order in which blocks are intervals.

    Parameters
    ----------
    sizes : sequence of int
        GPUs of each node.
    levels : int
        Blocks have 1, 2, ..., 2 ** (levels - 1) GPUs.

    Attributes
    ----------
    gpu : (GPUs,) int array
        GPU, numbered over the whole cluster, at each place of the order.
    server : (GPUs,) int array
        Its node.
    first : sequence of int arrays
        First places of the blocks of each level, rising.
    roots : (blocks, 2) int array
        First place and level of each block that is in no other, the largest first.

    Examples
    --------
    >>> forest = Forest([4, 6], levels=4)           # 4 and 4 of 6 merge to a block of 8
    >>> [first.tolist() for first in forest.first]
    [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 2, 4, 6, 8], [0, 4], [0]]
    >>> forest.gpu.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(self, sizes: tuple[int, ...] | list[int], levels: int) -> None:
        offsets = np.cumsum([0, *sizes])
        mergeable: dict[int, list[list[int]]] = {level: [] for level in range(levels)}
        blocks: list[list[int]] = []
        for s, size in enumerate(sizes):
            gpus = list(range(int(offsets[s]), int(offsets[s + 1])))
            top = 1 << (size.bit_length() - 1)
            if top >> (levels - 1):  # no job needs a larger block: cut it into the largest ones
                top = 1 << (levels - 1)
            mergeable[top.bit_length() - 1].append(gpus[:top])
            blocks += _powers_of_two(gpus[top:], 1 << (levels - 1))
        for level in range(levels - 1):
            pairs = mergeable[level]
            while len(pairs) > 1:
                mergeable[level + 1].append(pairs.pop(0) + pairs.pop(0))
        blocks = [block for group in mergeable.values() for block in group] + blocks
        blocks.sort(key=lambda block: (-len(block), block[0]))
        self.gpu = np.array([g for block in blocks for g in block], dtype=np.int64)
        self.server = np.searchsorted(offsets, self.gpu, side="right") - 1
        starts = np.cumsum([0, *map(len, blocks)])[:-1]
        roots = [(a, len(own).bit_length() - 1) for a, own in zip(starts, blocks, strict=True)]
        self.roots = np.array(roots, dtype=np.int64).reshape(-1, 2)
        self.first = []
        for size in (1 << level for level in range(levels)):
            inside = [range(0, len(block) - size + 1, size) for block in blocks]
            firsts = [a + i for a, own in zip(starts, inside, strict=True) for i in own]
            self.first.append(np.array(firsts, dtype=np.int64))

    def spans(self, level: int, gpus: int) -> Ints:
        """Nodes that a gang spans on the first `gpus` places of each block of `level`."""
        return np.array([np.unique(self.server[a : a + gpus]).size for a in self.first[level]])


def _powers_of_two(gpus: list[int], most: int) -> list[list[int]]:
    """Cut a list into runs of falling powers of two, none longer than `most`."""
    runs = []
    while gpus:
        size = min(most, 1 << (len(gpus).bit_length() - 1))
        runs.append(gpus[:size])
        gpus = gpus[size:]
    return runs


@dataclass(frozen=True, slots=True)
class _Assignment:
    """The assignment problem as arrays; jobs sorted by level.

    `cost[i, k]` is the duration of job ``order[i]`` on block k of its level.
    """

    forest: Forest
    order: Ints
    level: Ints
    cost: Ints
    first: Ints
    count: Ints
    index: Ints


def _assignment(problem: RarDdls) -> _Assignment | None:
    """Return the arrays; None where some job has no block on which it progresses."""
    gangs = [job.gpus for job in problem.jobs]
    of_job = np.array([(g - 1).bit_length() for g in gangs], dtype=np.int64)
    levels = int(of_job.max(initial=0)) + 1
    forest = Forest(problem.instance.cluster.sizes, levels)
    count = np.array([first.size for first in forest.first], dtype=np.int64)
    if not count[of_job].all():
        return None
    order = np.argsort(of_job, kind="stable")
    places = forest.gpu.size
    first = np.zeros((levels, places), dtype=np.int64)
    index = np.full((levels, places), -1, dtype=np.int64)
    for level, starts in enumerate(forest.first):
        first[level, : starts.size] = starts
        index[level, starts] = np.arange(starts.size)
    cost = np.zeros((order.size, int(count.max())), dtype=np.int64)
    spans: dict[int, Ints] = {}
    for i, j in enumerate(order):
        level, gang = int(of_job[j]), gangs[j]
        if gang not in spans:
            spans[gang] = forest.spans(level, gang)
        rate = problem.rates[j, spans[gang] - 1, 1]
        if not rate.all():
            return None
        work = problem.jobs[j].iterations * problem.resolution
        cost[i, : count[level]] = -(-work // rate)
    return _Assignment(forest, order, of_job[order], cost, first, count, index)


def _greedy(data: _Assignment) -> Ints:
    """Largest gangs first, longest first among equals, each to the block that ends first.

    Makespan <= max_l (sum of B_j rho_j over blocks of 2^l and more) / N_l + D: B_j, rho_j the GPUs
    of a job's block and its time there, N_l the GPUs in blocks of 2^l, D the longest time on any.
    """
    load = np.zeros(data.forest.gpu.size, dtype=np.int64)
    block = np.zeros(data.order.size, dtype=np.int64)
    shortest = [int(data.cost[i, : data.count[lv]].min()) for i, lv in enumerate(data.level)]
    for i in sorted(range(block.size), key=lambda i: (-data.level[i], -shortest[i], data.order[i])):
        level = int(data.level[i])
        starts = data.first[level, : data.count[level]]
        ends = load[starts] + data.cost[i, : starts.size]
        block[i] = np.argmin(ends)
        a = starts[block[i]]
        load[a : a + (1 << level)] += data.cost[i, block[i]]
    return block


def _plan(problem: RarDdls, data: _Assignment, block: Ints) -> Plan:
    """Run each GPU's jobs in non-increasing order of gang size (by level)."""
    jobs = len(problem.jobs)
    busy = np.zeros(data.forest.gpu.size, dtype=np.int64)
    start, end = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    gpus: list[Ints] = [np.zeros(0, dtype=np.int64)] * jobs
    for i in range(jobs - 1, -1, -1):
        j, level = int(data.order[i]), int(data.level[i])
        a = int(data.first[level, block[i]])
        start[j] = busy[a]
        end[j] = start[j] + data.cost[i, block[i]]
        busy[a : a + (1 << level)] = end[j]
        gpus[j] = np.sort(data.forest.gpu[a : a + problem.jobs[j].gpus])
    return Plan(start, end, gpus, int(busy.max(initial=0)))


@solver(LaminarParams, of=RarDdls)
def laminar(
    problem: RarDdls, *, seed: int, time_limit: float | None, params: LaminarParams
) -> Result[Schedule]:
    """Schedule gangs on nested blocks: no contention, no gang waits for a GPU of its own.

    Guarantee: makespan <= max_l (sum of B_j rho_j over jobs with B_j >= 2^l) / N_l + D. B_j is the
    gang size rounded up to a power of two, rho_j the job's time in the greedy assignment, N_l the
    GPUs in blocks of 2^l, D the longest time of a job on a block of its size (laminar-greedy in
    docs/theorems.md; false with the shortest times d_j for rho_j, or with all GPUs for N_l).
    Annealing only improves on it. Void where the answer is a fallback.

    Parameters
    ----------
    problem : RarDdls
    seed : int
        Of the annealing.
    time_limit : float, optional
        Wall seconds after which no new annealing run starts.
    params : LaminarParams

    Returns
    -------
    Result
        With the area bound; optimal where they meet. Where a gang fits no block, or makes no
        progress on one of its size (floor), the answer is that of
        :func:`gangsched.solvers.rar_ddls.backfilling` and ``info["fallback"]`` says so. Large
        gangs go first, so mean completion times are worse than those of SJF-BCO.

    Notes
    -----
    A run anneals the sum over GPUs of max(0, load - target)^2 with three moves: a job to another
    block, two jobs swapped, a job moved while the smaller jobs of the two blocks change places.
    Targets: the area bound first, then halving the distance to the best load, over again while
    rounds are left. A step costs O(G_j), the third move O(jobs + sum of the smaller gangs).

    Examples
    --------
    >>> from gangsched.instances import generate
    >>> cluster = generate.paper_cluster(4, seed=0)
    >>> problem = RarDdls(generate.rar_workload(cluster, jobs=40, seed=0))
    >>> result = laminar(problem)
    >>> result.objective >= result.bound.value
    True
    """
    started = time.perf_counter()
    history = History(started)
    deadline = float("inf") if time_limit is None else started + time_limit
    bound = area_bound(problem)
    history.note(bound=bound.value)
    data = _assignment(problem)
    info: dict[str, Any] = {"seed": seed, "params": asdict(params), "ties": "jobs by position"}
    if data is None:
        instead = backfilling(problem, seed=seed)
        plan_or_none, stop, rounds = instead.solution, instead.stop, 0
        info["fallback"] = "backfill-longest: some gang fits no block, or makes no progress on one"
    else:
        block, rounds = _search(data, int(bound.value), seed, params, deadline, history)
        plan = _plan(problem, data, block)
        plan_or_none = plan.schedule(problem)
        proven = plan.makespan == bound.value
        late = time.perf_counter() > deadline
        stop = Stop.PROVEN if proven else Stop.TIME_LIMIT if late else Stop.COMPLETED
        if problem.horizon is not None and plan.makespan > problem.horizon:
            plan_or_none = None
    return Result.of(
        problem,
        plan_or_none,
        solver="laminar",
        stop=stop,
        bound=bound,
        infeasible=plan_or_none is None and bound.value > (problem.horizon or float("inf")),
        runtime=time.perf_counter() - started,
        iterations=rounds,
        info=info,
        facts=MakespanFacts(fallback=data is None),
        history=history.entries,
    )


class _Targets:
    """Loads to aim at: the least first, then halving the distance to the best load, over again."""

    def __init__(self, least: int, longest: int) -> None:
        self.least = self.low = self.now = least
        self.longest = longest
        self.passes = 0

    def note(self, load: int) -> None:
        """Take the largest load that a search towards the target has come to."""
        if load > self.now:
            self.low = self.now + 1
        self.longest = min(self.longest, load)
        if self.low >= self.longest:  # no target is left: start over, the draws are new ones
            self.low = self.least
            self.passes += 1
        self.now = (self.low + self.longest - 1) // 2


def _search(
    data: _Assignment,
    bound: int,
    seed: int,
    params: LaminarParams,
    deadline: float,
    history: History,
) -> tuple[Ints, int]:
    """Fill and anneal towards targets; return the best assignment and the number of runs."""
    best = _greedy(data)
    longest = _largest_load(data, best)
    history.note(objective=longest)
    enough = max(bound, params.enough)
    rng = np.random.default_rng(seed)
    if longest > enough and params.fillings:
        best = _filled(data, best, enough, params.fillings, rng, deadline, history)
        longest = _largest_load(data, best)
    if longest <= enough or params.rounds == 0:
        return best, 0
    from . import laminar_core as core

    targets, rounds = _Targets(bound, longest), 0
    while rounds < params.rounds and longest > enough and time.perf_counter() <= deadline:
        rounds += 1
        found = core.anneal(
            data.level, data.cost, data.first, data.count, data.index, best, targets.now,
            params.steps, rng,
        )  # fmt: skip
        load = _largest_load(data, found)
        if load < longest:
            best, longest = found, load
            history.note(objective=longest)
        targets.note(load)
    return best, rounds


def _filled(
    data: _Assignment,
    best: Ints,
    enough: int,
    fillings: int,
    rng: np.random.Generator,
    deadline: float,
    history: History,
) -> Ints:
    """Fill towards targets, in each pass over them twice as often; return the best assignment."""
    from . import laminar_filling_core as core

    targets = _Targets(enough, _largest_load(data, best))
    size = data.order.size * data.forest.gpu.size * targets.longest
    if size > FILLING:
        return best
    shortest = [data.cost[i, : data.count[lv]].min() for i, lv in enumerate(data.level)]
    base = np.array(shortest, dtype=np.float64) ** POWER * (1 + LEVEL * data.level)
    price, upto = base.copy(), np.searchsorted(data.level, range(len(data.count)), side="right")
    tries = 0  # towards this target
    while fillings > 0 and targets.longest > enough and time.perf_counter() <= deadline:
        wanted = (TRIES << targets.passes) - tries
        block, done = core.fillings(
            data.level, data.cost, data.first, data.index, upto, data.forest.roots, base, price,
            targets.now, min(max(1, CLOCKED // size), wanted, fillings), rng,
        )  # fmt: skip
        fillings, tries = fillings - done, tries + done
        if block.min() >= 0:
            best, tries = block, 0
            targets.note(_largest_load(data, best))
            history.note(objective=targets.longest)
        elif done == wanted:
            tries = 0
            targets.note(targets.longest)
    return best


def _largest_load(data: _Assignment, block: Ints) -> int:
    load = np.zeros(data.forest.gpu.size, dtype=np.int64)
    for i, level in enumerate(data.level.tolist()):
        a = data.first[level, block[i]]
        load[a : a + (1 << level)] += data.cost[i, block[i]]
    return int(load.max(initial=0))
