"""Declarative models of UniSched in Pyomo; symbols, equations and errata as in `unisched`.

============  =====  ==============================================================================
form          exact  what it says
============  =====  ==============================================================================
``slots``     yes    z = s y chooses an option (deadline and allocation), u = z x its leases
``literal``   no     (4)-(14) as printed: a relaxation, and a vacuous one
============  =====  ==============================================================================

They grow with the leases up to the last deadline: for tiny instances, as independent oracles of the
compact form in `unisched_compact`, whose rows are summed over leases.

Capacity of a lease
-------------------
Cells: for each level h, sum over g >= h of 2^(g-h) N_g^con <= the number of disjoint sets of 2^h
GPUs within nodes, which is (14) with N_g^cell from the bits of the free GPUs (U10). Gangs of
"exact" allocations: the rows of `CONSOLIDATION_ROWS`; where nodes differ in what is free, a count
of gangs for each number of free GPUs, with its rows. Both are sufficient for nodes to be assigned,
which `extract` does: largest pieces first, on the nodes they had if possible. Cells never need a
second try (U10), other sizes may.

A job that holds leases without meeting a deadline is not in the extracted schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import networkx as nx
import pyomo.environ as pyo

from ...instances.model import FULL_SPEED
from ...instances.schedule import Schedule, Segment
from ..problem import Model
from ..rows import check_size, constraint, constraint_of, joined, take
from . import compact
from .leases import mean_interruptions
from .problem import CONSOLIDATION_ROWS, CellAllocation, Option, UniSched, covers

#: what the size of a model is counted in
UNITS = "options x leases"

#: how far from an integer a value may be that is one
WHOLE = 1e-6

#: what runs in a lease: allocation by job
Running = Mapping[int, CellAllocation]


def build(problem: UniSched, form: str) -> Model[Schedule]:
    """Return one of the forms above as a Pyomo model, or that of `compact` as arrays.

    Parameters
    ----------
    problem : UniSched
    form : str

    Raises
    ------
    ValueError
        For a model beyond 200,000 options x leases.

    Examples
    --------
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id="a", gpus=2, work=900, rewards=[(1500, 100)])]
    >>> model = build(UniSched(Instance(Cluster.of_sizes([2]), jobs)), "slots")
    >>> model.native.service.doc, len(model.native.u_lease)
    ('(12) L leases in time', 2)
    """
    if form == "compact":
        return compact.build(problem)
    if form == "literal":
        return _literal(problem)
    options = problem.options()
    windows = _windows(problem, options)
    size = len(options) * max((window.stop for window in windows.values()), default=0)
    check_size("UniSched", size, UNITS, form, instead=": use lp_selector")
    made = _Slots(problem, options, windows)
    return Model(made.native, "pyomo", form, exact=True, extract=made.extract, embed=made.embed)


def _windows(problem: UniSched, options: Sequence[Option]) -> dict[int, range]:
    """Leases, of the whole problem, in which each job that has an option may run."""
    windows: dict[int, range] = {}
    for o in options:
        first = problem.first_slot(o.job)
        last = max(windows.get(o.job, range(0)).stop, first + o.within)
        windows[o.job] = range(first, last)
    return windows


# -- capacity -------------------------------------------------------------------------------------


def _free(problem: UniSched, slot: int) -> Sequence[int]:
    return problem.free if problem.free and slot == 0 else problem.instance.cluster.sizes


def _add_capacity(m: Any, problem: UniSched, runs: Iterable[tuple[int, Any, Any]]) -> None:
    """Rows for each lease; `runs` are a lease, an allocation and an expression in [0, 1] each."""
    held: dict[int, list[tuple[Any, Any]]] = {}
    for k, allocation, run in runs:
        held.setdefault(k, []).append((allocation, run))
    if problem.allocations == "exact":
        _add_rows(m, problem, held)
        return
    levels = range(problem.node_gpus.bit_length())

    @constraint(m, sorted(held), levels, doc="(11), (14) cells of level h and above")
    def level(m: Any, k: int, h: int) -> Any:
        cells = ((sum(piece >> h for piece in way.pieces), run) for way, run in held[k])
        return _at_most(cells, sum(free >> h for free in _free(problem, k)))


def _at_most(terms: Iterable[tuple[int, Any]], room: int) -> Any:
    kept = [factor * what for factor, what in terms if factor]
    return pyo.quicksum(kept) <= room if kept else pyo.Constraint.Skip


def _add_rows(m: Any, problem: UniSched, held: Mapping[int, list[tuple[Any, Any]]]) -> None:
    """Exact consolidation: gangs counted by size, and by the free GPUs of their node."""
    nodes = {k: Counter(free for free in _free(problem, k) if free) for k in held}
    keys = [(k, s, c) for k in sorted(held) for c in nodes[k] for s in range(1, c + 1)]
    m.n_pieces = pyo.Var(
        keys, domain=pyo.NonNegativeIntegers, doc="pieces of s GPUs on nodes with c free ones"
    )

    sizes = range(1, problem.node_gpus + 1)

    @constraint(m, sorted(held), sizes, doc="(11) every piece is on a node")
    def pieces(m: Any, k: int, s: int) -> Any:
        needed = [(way.pieces.count(s), run) for way, run in held[k] if s in way.pieces]
        places = [m.n_pieces[k, s, c] for c in nodes[k] if c >= s]
        if not needed and not places:
            return pyo.Constraint.Skip
        return pyo.quicksum(factor * run for factor, run in needed) == pyo.quicksum(places)

    numbers = [
        (k, c, r) for k in sorted(held) for c in nodes[k] for r in range(len(CONSOLIDATION_ROWS[c]))
    ]

    @constraint(m, numbers, doc="(14) for gangs of all sizes")
    def rows(m: Any, k: int, c: int, r: int) -> Any:
        factors, side = CONSOLIDATION_ROWS[c][r]
        counts = ((factor, m.n_pieces[k, s, c]) for s, factor in enumerate(factors, 1))
        return _at_most(counts, side * nodes[k][c])


def _embed_pieces(
    m: Any, problem: UniSched, chosen: Mapping[int, Option], schedule: Schedule
) -> None:
    """Count the pieces of a schedule; those of split jobs are single GPUs."""
    if problem.allocations != "exact":
        return
    for row in schedule:
        if row.job not in chosen:
            continue
        alone = chosen[row.job].allocation.anywhere
        for k in range(row.start // problem.lease, row.end // problem.lease):
            for n, count in row.gpus.items():
                piece, times = (1, count) if alone else (count, 1)
                key = k, piece, _free(problem, k)[n]
                if key in m.n_pieces:
                    m.n_pieces[key].set_value(m.n_pieces[key].value + times)


# -- models and schedules -------------------------------------------------------------------------


def _to_zero(m: Any) -> None:
    for variable in m.component_data_objects(pyo.Var):
        variable.set_value(0)


def _chosen(problem: UniSched, options: Sequence[Option], schedule: Schedule) -> dict[int, Option]:
    """The best option that each job's leases are enough for, if any."""
    slowest: dict[int, int] = {}
    for row in schedule:
        way = problem.way_of(row)
        if way is not None:
            slowest[row.job] = max(way, slowest.get(row.job, 0))
    held_leases = problem.leases(schedule)
    chosen: dict[int, Option] = {}
    for o in options:
        ways = problem.allocations_of(o.job)
        if o.job not in slowest or o.allocation not in ways[slowest[o.job] :]:
            continue
        first = problem.first_slot(o.job)
        enough = sum(k - first < o.within for k in held_leases[o.job]) >= o.needed
        if enough and (o.job not in chosen or o.value > chosen[o.job].value):
            chosen[o.job] = o
    return chosen


def _schedule(problem: UniSched, runs: Iterable[tuple[int, int, CellAllocation]]) -> Schedule:
    """Place what runs, as (lease, job, allocation); who goes on keeps its nodes where it can."""
    running: dict[int, dict[int, CellAllocation]] = {}
    for k, i, allocation in runs:
        running.setdefault(k, {})[i] = allocation
    last: dict[int, list[int]] = {}
    rows: list[tuple[int, int, dict[int, int]]] = []
    for k in sorted(running):
        placed = _placed(running[k], _free(problem, k), last)
        last = {i: list(nodes) for i, nodes in placed.items()}
        rows += [(i, k, nodes) for i, nodes in placed.items()]
    return Schedule.of(joined(rows, problem.lease))


def _placed(
    running: Running, free: Sequence[int], last: Mapping[int, list[int]]
) -> dict[int, dict[int, int]]:
    """Nodes of each job in one lease: larger pieces first, then those of one GPU."""
    left = list(free)
    large = [(piece, i) for i, a in running.items() for piece in a.pieces if not a.anywhere]
    large.sort(key=lambda pair: -pair[0])
    nodes = _fitted(large, left, last)
    if nodes is None:
        raise RuntimeError(f"UniSched: no nodes for pieces {large} on {list(free)} free GPUs")
    placed: dict[int, dict[int, int]] = {i: {} for i in running}
    for (piece, i), n in zip(large, nodes, strict=True):
        placed[i][n] = placed[i].get(n, 0) + piece
        left[n] -= piece
    for i, allocation in running.items():
        if allocation.anywhere:
            placed[i] = take(allocation.gpus, left, last.get(i, ()))
    return placed


def _fitted(
    pieces: Sequence[tuple[int, int]], free: Sequence[int], last: Mapping[int, list[int]]
) -> list[int] | None:
    """A node for each piece: best fit, with a second try of other nodes where that fails."""
    if not pieces:
        return []
    piece, job = pieces[0]
    tried: set[int] = set()
    for n in sorted(range(len(free)), key=lambda n: (n not in last.get(job, ()), free[n], n)):
        if free[n] < piece or free[n] in tried:
            continue
        tried.add(free[n])
        rest = _fitted(pieces[1:], [f - piece * (n == at) for at, f in enumerate(free)], last)
        if rest is not None:
            return [n, *rest]
    return None


# -- one binary per option and lease --------------------------------------------------------------


class _Slots:
    """z chooses at most one option of each job, u exactly L of its Q leases."""

    def __init__(
        self, problem: UniSched, options: Sequence[Option], windows: Mapping[int, range]
    ) -> None:
        self.problem, self.options, self.windows = problem, options, windows
        self.native = self._model()

    def _leases(self, option: Option) -> range:
        first = self.windows[option.job].start
        return range(first, first + option.within)

    def _model(self) -> Any:
        options = self.options
        m: Any = pyo.ConcreteModel(name="UniSched, slots")
        m.options = pyo.RangeSet(0, len(options) - 1)
        m.z_option = pyo.Var(m.options, domain=pyo.Binary, doc="1 for the option of a job")
        m.u_lease = pyo.Var(
            [(o, k) for o, option in enumerate(options) for k in self._leases(option)],
            domain=lambda _, o, k: pyo.UnitInterval if self._is_single(o) else pyo.Binary,
            doc="1 where it has lease k",
        )
        m.objective = pyo.Objective(
            expr=pyo.quicksum(option.value * m.z_option[o] for o, option in enumerate(options)),
            sense=pyo.maximize,
            doc="(4)",
        )

        @constraint(m, sorted(self.windows), doc="(6), (13)")
        def one(m: Any, i: int) -> Any:
            own = (m.z_option[o] for o, option in enumerate(options) if option.job == i)
            return pyo.quicksum(own) <= 1

        @constraint(m, m.options, doc="(12) L leases in time")
        def service(m: Any, o: int) -> Any:
            got = pyo.quicksum(m.u_lease[o, k] for k in self._leases(options[o]))
            return got == options[o].needed * m.z_option[o]

        @constraint(m, list(m.u_lease), doc="implied for integers; tightens the LP")
        def tight(m: Any, o: int, k: int) -> Any:
            return m.u_lease[o, k] <= m.z_option[o]

        ends = [self._leases(option).stop for option in options]
        times = {t for o, end in zip(options, ends, strict=True) for t in (end, end - o.needed)}
        free = (sum(_free(self.problem, k)) for k in range(max(ends, default=0)))
        room = [0, *accumulate(free)]

        @constraint(m, sorted(times - {0}), doc="implied; what must run before t fits there")
        def prefix(m: Any, t: int) -> Any:
            forced = (
                (o, option.allocation.gpus * (option.needed - min(option.within, max(0, end - t))))
                for o, (option, end) in enumerate(zip(options, ends, strict=True))
            )
            terms = [gpus * m.z_option[o] for o, gpus in forced if gpus > 0]
            return pyo.quicksum(terms) <= room[t] if terms else pyo.Constraint.Skip

        runs = m.u_lease.items()
        _add_capacity(m, self.problem, ((k, options[o].allocation, run) for (o, k), run in runs))
        return m

    def _is_single(self, o: int) -> bool:
        """Whether an option is of one GPU, and only a lease's GPUs limit it.

        Once all others are fixed, such options and leases are a transport problem: integers are
        among its best solutions, so u need not be declared integer.
        """
        return self.options[o].allocation.gpus == 1 and self.problem.allocations != "exact"

    def _whole(self) -> list[tuple[int, int]]:
        """Leases of the chosen options, those of single GPUs by a flow where u is fractional."""
        leases = self.native.u_lease
        fixed = [key for key, lease in leases.items() if lease.value > 0.5]
        if all(min(lease.value, 1 - lease.value) < WHOLE for lease in leases.values()):
            return fixed
        fixed = [(o, k) for o, k in fixed if not self._is_single(o)]
        taken = Counter[int]()
        for o, k in fixed:
            taken[k] += self.options[o].allocation.gpus
        graph = nx.DiGraph()
        for o, option in enumerate(self.options):
            if self._is_single(o) and self.native.z_option[o].value > 0.5:
                graph.add_edge("options", (o, -1), capacity=option.needed)
                graph.add_edges_from(((o, -1), k, {"capacity": 1}) for k in self._leases(option))
        for k in [k for k in graph if isinstance(k, int)]:
            graph.add_edge(k, "leases", capacity=sum(_free(self.problem, k)) - taken[k])
        _, flow = nx.maximum_flow(graph, "options", "leases")
        singles = ((key[0], to) for key, to in flow.items() if isinstance(key, tuple))
        return [*fixed, *((o, k) for o, to in singles for k, held in to.items() if held)]

    def extract(self) -> Schedule:
        """The leases of u."""
        held = self._whole()
        runs = ((k, self.options[o].job, self.options[o].allocation) for o, k in held)
        return _schedule(self.problem, runs)

    def embed(self, schedule: Schedule) -> None:
        """Write a schedule; leases that a job does not need are lost."""
        m = self.native
        _to_zero(m)
        held = self.problem.leases(schedule)
        chosen = _chosen(self.problem, self.options, schedule)
        kept = []
        for o, option in enumerate(self.options):
            if chosen.get(option.job) is not option:
                continue
            m.z_option[o].set_value(1)
            for k in sorted(held[option.job] & set(self._leases(option)))[: option.needed]:
                m.u_lease[o, k].set_value(1)
                kept.append((option.job, k))
        _embed_pieces(m, self.problem, chosen, _only(self.problem, schedule, set(kept)))


def _only(problem: UniSched, schedule: Schedule, kept: set[tuple[int, int]]) -> Schedule:
    """The schedule of these jobs in these leases."""
    lease = problem.lease
    return Schedule.of(
        Segment(row.job, k * lease, (k + 1) * lease, row.gpus)
        for row in schedule
        for k in range(row.start // lease, row.end // lease)
        if (row.job, k) in kept
    )


# -- the model as printed -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Printed:
    """What the printed model has for one job: rewards with L and Q, and quadruples with phi."""

    steps: Sequence[tuple[float, int, int]]  #: V, L, Q by deadline
    ways: Sequence[tuple[tuple[int, ...], float]]  #: cells by level, phi


def _printed(problem: UniSched, job: int) -> _Printed:
    ways = list(_quadruples(problem, job))
    if not problem.has_deadlines(job):
        value = problem.small_value(job, FULL_SPEED)
        return _Printed([(value, 1, 1)], ways)
    one, lease = problem.jobs[job], problem.lease
    steps = []
    for deadline, value in one.rewards:
        within = max(one.release + deadline - problem.first_slot(job) * lease, 0) // lease
        steps.append((value, _printed_leases(problem, job, within), within))
    return _Printed(steps, ways)


def _printed_leases(problem: UniSched, job: int, within: int) -> int:
    """L_i = ceil(T^dur / T) with (3) of the leases of the work alone."""
    work, lease = problem.jobs[job].work or 0, problem.lease
    least = -(-work // lease)
    times, share = mean_interruptions(least, within) if least <= within else (0, 1)
    return -(-(work * share + problem._cost(job) * times) // (lease * share))


def _quadruples(problem: UniSched, job: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Covers of the gang by cells up to 16 GPUs, and the round-up; phi by one node or several."""
    size, gang = problem.node_gpus, problem.jobs[job].gpus
    if job in problem.profilers:
        gang = min(2, gang)
    top = size.bit_length() - 1
    whole = -(-gang // size)
    one_cell = (gang - 1).bit_length()
    up = tuple(int(g == one_cell) if whole == 1 else whole * (g == top) for g in range(top + 1))
    split = problem.jobs[job].speed(problem.jobs[job].gpus, 2, size) / FULL_SPEED
    yield up, 1.0
    for cover in covers(gang, top) if gang <= 16 else ():
        if cover != up:
            yield cover, 1.0 if whole > 1 else split


def _literal(problem: UniSched) -> Model[Schedule]:
    printed = {i: _printed(problem, i) for i in range(len(problem.jobs))}
    last = max((q for one in printed.values() for _, _, q in one.steps), default=0)
    size = last * sum(len(one.steps) * len(one.ways) for one in printed.values())
    check_size("UniSched", size, UNITS, "literal")
    m = _literal_model(problem, printed, last)

    def extract() -> Schedule:
        raise ValueError("UniSched: a solution of form 'literal' says nothing about who runs")

    def embed(schedule: Schedule) -> None:
        _to_zero(m)
        for g in m.N_cell:
            m.N_cell[g].set_value(m.N_cell[g].lb)
        for i, value in problem.values(schedule).items():
            values = [v for v, _, _ in printed[i].steps]
            if value:
                m.s[values.index(value) if value in values else 0, i].set_value(1)

    return Model(m, "pyomo", "literal", exact=False, extract=extract, embed=embed, relaxation=True)


def _literal_model(problem: UniSched, printed: Mapping[int, _Printed], last: int) -> Any:
    """The paper's names; products of binaries are variables of their own."""
    levels = range(problem.node_gpus.bit_length())
    hits = [(f, i) for i, one in printed.items() for f in range(len(one.steps))]
    ways = [(i, p) for i, one in printed.items() for p in range(len(one.ways))]
    m: Any = pyo.ConcreteModel(name="UniSched, literal")
    m.x = pyo.Var([(k, i) for i in printed for k in range(last)], domain=pyo.Binary, doc="(5)")
    m.s = pyo.Var(hits, domain=pyo.Binary, doc="(5)")
    m.y = pyo.Var(ways, domain=pyo.Binary, doc="(9)")
    m.N_con = pyo.Var(levels, domain=pyo.NonNegativeIntegers, doc="cells requested, by level")
    free = _free(problem, 0)
    m.N_cell = pyo.Var(levels, domain=pyo.NonNegativeIntegers, doc="cells free, by level")
    for g in levels:
        count = sum(gpus >> g & 1 for gpus in free)
        m.N_cell[g].setlb(count)
        m.N_cell[g].setub(count)
    m.objective = pyo.Objective(
        expr=pyo.quicksum(printed[i].steps[f][0] * m.s[f, i] for f, i in hits),
        sense=pyo.maximize,
        doc="(4)",
    )
    _add_literal_selection(m, printed, hits, ways)
    _add_literal_cells(m, printed, ways, levels, sum(free))
    return m


def _add_literal_selection(
    m: Any, printed: Mapping[int, _Printed], hits: Sequence[Any], ways: Sequence[Any]
) -> None:
    """(6), (7), (12), (13)."""
    leases = {(f, i): range(printed[i].steps[f][2]) for f, i in hits}

    @constraint(m, list(printed), doc="(6) one deadline")
    def eq6(m: Any, i: int) -> Any:
        return pyo.quicksum(m.s[f, i] for f in range(len(printed[i].steps))) <= 1

    pairs = {(k, f, i): (m.s[f, i], m.x[k, i]) for f, i in hits for k in leases[f, i]}
    sx = _product(m, "sx", pairs)

    @constraint(m, hits, doc="(7) at most L leases in time")
    def eq7(m: Any, f: int, i: int) -> Any:
        got = pyo.quicksum(sx[k, f, i] for k in leases[f, i])
        return got <= printed[i].steps[f][1] * m.s[f, i]

    triples = [(f, i, p) for f, i in hits for j, p in ways if i == j]
    ys = _product(m, "ys", {(f, i, p): (m.y[i, p], m.s[f, i]) for f, i, p in triples})
    held = {(k, f, i, p): (m.y[i, p], *pairs[k, f, i]) for f, i, p in triples for k in leases[f, i]}
    ysx = _product(m, "ysx", held)

    @constraint(m, triples, doc="(12) leases times speed are enough")
    def eq12(m: Any, f: int, i: int, p: int) -> Any:
        served = pyo.quicksum(printed[i].ways[p][1] * ysx[k, f, i, p] for k in leases[f, i])
        return served >= printed[i].steps[f][1] * ys[f, i, p]

    @constraint(m, list(printed), doc="(13) one allocation")
    def eq13(m: Any, i: int) -> Any:
        return pyo.quicksum(m.y[i, p] for p in range(len(printed[i].ways))) <= 1


def _add_literal_cells(
    m: Any, printed: Mapping[int, _Printed], ways: Sequence[Any], levels: range, gpus: int
) -> None:
    """(10), (11), (14), for one lease: the paper's have no other."""

    def worth(cells: Any, h: int) -> Any:
        return pyo.quicksum(2 ** (g - h) * cells[g] for g in levels if g >= h)

    m.eq10 = pyo.Constraint(expr=worth(m.N_cell, 0) <= gpus, doc="(10) M available GPUs")

    @constraint(m, levels, doc="(11) cells requested")
    def eq11(m: Any, g: int) -> Any:
        asked = (printed[i].ways[p][0][g] * m.y[i, p] for i, p in ways)
        return m.N_con[g] == pyo.quicksum(asked)

    @constraint(m, levels, doc="(14) consolidated placement")
    def eq14(m: Any, h: int) -> Any:
        return worth(m.N_con, h) <= worth(m.N_cell, h)


def _product(m: Any, name: str, factors: Mapping[Any, tuple[Any, ...]]) -> Any:
    """Variables equal to products of binaries, as (name) and its rows (name)_most, (name)_least."""
    product = pyo.Var(list(factors), bounds=(0, 1), doc=f"product {' '.join(name)}")
    setattr(m, name, product)
    each = [(key, factor) for key, parts in factors.items() for factor in parts]

    def most(_: Any, at: int) -> Any:
        key, factor = each[at]
        return product[key] <= factor

    def least(_: Any, *key: int) -> Any:
        return product[key] >= pyo.quicksum(factors[key]) - (len(factors[key]) - 1)

    setattr(m, f"{name}_most", constraint_of(most, range(len(each))))
    setattr(m, f"{name}_least", constraint_of(least, list(factors)))
    return product
