"""RAR-DDLS as a constraint program: starts, placements, and contention slot by slot.

Symbols are those of :mod:`gangsched.formulations.rar_ddls.problem`. A job is an interval
[a_j, e_j) that holds y_js GPUs of each node, which is what ``Cumulative`` is about. It may hold
them longer than it needs, which helps no other job; the schedule that is read off ends where (9)
says. Without contention (all p = 1) the program is a relaxation, and has no slots: a job on n
nodes takes ceil(F_j / phi_j(n, 1)). With it, slot by slot,

- z_jt = 1 where a_j <= t < e_j; q_jst = 1 where job j, on several nodes, uses the uplink of s;
- levels l_jt2 >= l_jt3 >= ... are so many that 1 + sum_p l_jtp covers the jobs on each such uplink;
- x_jtn = 1 only where z_jt and j is on n nodes, and the iterations, phi_j(n, 1) for each x_jtn
  less phi_j(n, p - 1) - phi_j(n, p) for each level p, come to F_j.

Equal nodes are ordered by what they hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ....formulations.limited import check_time
from ....formulations.rar_ddls.problem import RarDdls, complete_schedule
from ....instances.schedule import Schedule
from ...cp_sat import CpModel, constant, variable


@dataclass(frozen=True, slots=True, eq=False)
class SlotModel:
    """The program and its variables by job, and by job and node.

    Parameters
    ----------
    program : CpModel
    start, length, end : sequence of int
        a_j, e_j - a_j and e_j.
    gpus, used, whole : sequence of sequence of int
        y_js, whether it is positive, and whether it is the gang.
    spans : sequence of {nodes: literal}
        Whether the job is on so many nodes.
    makespan : int
    """

    problem: RarDdls
    program: CpModel
    start: Sequence[int]
    length: Sequence[int]
    end: Sequence[int]
    gpus: Sequence[Sequence[int]]
    used: Sequence[Sequence[int]]
    whole: Sequence[Sequence[int]]
    spans: Sequence[dict[int, int]]
    makespan: int

    def schedule(self, values: Sequence[int]) -> Schedule | None:
        """Return the schedule of a solution's starts and placements, as (6)-(9) make it."""
        placement = [{s: values[y] for s, y in enumerate(row) if values[y]} for row in self.gpus]
        return complete_schedule(self.problem, [values[a] for a in self.start], placement)


def slot_model(
    problem: RarDdls, *, horizon: int, least: int, contention: bool, hint: Schedule | None = None
) -> SlotModel:
    """Return the program of schedules with `least` <= makespan <= `horizon`.

    Parameters
    ----------
    problem : RarDdls
    horizon, least : int
        Slots.
    contention : bool
        False for the relaxation in which no job slows another down.
    hint : Schedule, optional
        Where the search is to begin; what is beyond the horizon is cut off.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    >>> model = slot_model(problem, horizon=8, least=2, contention=False)
    >>> len(model.gpus), len(model.gpus[0])
    (2, 3)
    """
    m, shortest = CpModel(), problem.shortest_durations().tolist()
    numbers, sizes = range(len(problem.jobs)), problem.instance.cluster.sizes
    gangs = [job.gpus for job in problem.jobs]
    start = [m.integer(0, max(horizon - d, 0)) for d in shortest]
    length = [m.integer(d, max(horizon, d)) for d in shortest]
    end = [m.integer(d, max(horizon, d)) for d in shortest]
    makespan = m.integer(least, max(horizon, least))
    m.linear([(makespan, 1)], -math.inf, horizon)
    gpus = [[m.integer(0, min(gang, size)) for size in sizes] for gang in gangs]
    used = [[m.boolean() for _ in sizes] for _ in numbers]
    whole = [[m.boolean() for _ in sizes] for _ in numbers]
    spans = [{n: m.boolean() for n in problem.spans(j) if _slots(problem, j, n)} for j in numbers]
    model = SlotModel(problem, m, start, length, end, gpus, used, whole, spans, makespan)
    for j in numbers:
        m.linear([(makespan, 1), (end[j], -1)], 0, math.inf)
        _place(model, j)
        times = [(n, _slots(problem, j, n)) for n in spans[j]]
        terms = [(length[j], 1), *((spans[j][n], -d) for n, d in times)]
        m.linear(terms, 0, math.inf if contention else 0)
    _fit(model)
    _order_servers(model)
    if contention:
        _contend(model, horizon)
    m.minimise(makespan)
    if hint is not None:
        m.hint(_values(model, hint, horizon))
    return model


def _slots(problem: RarDdls, j: int, n: int) -> int:
    """Slots of a job on n nodes, alone; 0 where it never completes."""
    return problem.duration(j, n) or 0


def _place(model: SlotModel, j: int) -> None:
    """(1), and how many nodes a job is on."""
    check_time()
    m, gang = model.program, model.problem.jobs[j].gpus
    rows = zip(model.gpus[j], model.used[j], model.whole[j], strict=True)
    for y, u, f in rows:
        m.linear([(y, 1)], 1, gang, when=[u])
        m.linear([(y, 1)], 0, 0, when=[-1 - u])
        m.linear([(y, 1)], gang, gang, when=[f])
        m.linear([(y, 1)], 0, gang - 1, when=[-1 - f])
    m.linear([(y, 1) for y in model.gpus[j]], gang, gang)
    spans = model.spans[j]
    m.exactly_one(spans.values())
    m.linear([*((u, 1) for u in model.used[j]), *((b, -n) for n, b in spans.items())], 0, 0)
    one = [(spans[1], -1)] if 1 in spans else []
    m.linear([*((f, 1) for f in model.whole[j]), *one], 0, 0)


def _fit(model: SlotModel) -> None:
    """(2), for each node and, which follows, for all of them."""
    m, problem = model.program, model.problem
    parts = zip(model.start, model.length, model.end, strict=True)
    intervals = [m.interval(a, d, e) for a, d, e in parts]
    for s, size in enumerate(problem.instance.cluster.sizes):
        m.cumulative(intervals, [variable(row[s]) for row in model.gpus], size)
    gangs = [constant(job.gpus) for job in problem.jobs]
    m.cumulative(intervals, gangs, sum(problem.instance.cluster.sizes))


def _order_servers(model: SlotModel) -> None:
    """Of equal nodes the first holds the most, by a weight for each job."""
    sizes, m = model.problem.instance.cluster.sizes, model.program
    for size in sorted(set(sizes)):
        equal = [s for s, other in enumerate(sizes) if other == size]
        for first, second in pairwise(equal):
            check_time()
            terms = [
                term
                for j, row in enumerate(model.gpus)
                for term in ((row[first], j + 1), (row[second], -j - 1))
            ]
            m.linear(terms, 0, math.inf)


def _contend(model: SlotModel, horizon: int) -> None:
    """(6)-(9) slot by slot, for jobs that can be on several nodes and be slowed down there."""
    m, problem = model.program, model.problem
    spanning = [j for j, spans in enumerate(model.spans) if max(spans) > 1]
    servers = range(len(problem.instance.cluster.sizes))
    runs = {j: [_running(model, j, t) for t in range(horizon)] for j in spanning}
    crosses = {(j, s): _crosses(model, j, s) for j in spanning for s in servers}
    slots: dict[int, list[tuple[int, list[int]]]] = {j: [] for j in spanning}
    for t in range(horizon):
        links = {(j, s): m.boolean() for j in spanning for s in servers}
        for (j, s), q in links.items():
            m.clause(q, -1 - crosses[j, s], -1 - runs[j][t])
        levels = {j: [m.boolean() for _ in range(_most(problem) - 1)] for j in spanning}
        for j in spanning:
            for high, low in zip(levels[j][1:], levels[j], strict=False):
                m.implies(high, low)
            for s in servers:
                check_time()
                terms = [*((links[i, s], 1) for i in spanning), *((b, -1) for b in levels[j])]
                m.linear(terms, -math.inf, 1, when=[links[j, s]])
            slots[j].append((runs[j][t], levels[j]))
    for j in spanning:
        _progress(model, j, slots[j])


def _most(problem: RarDdls) -> int:
    """Contenders at most."""
    return min(len(problem.jobs), max(problem.instance.cluster.sizes))


def _running(model: SlotModel, j: int, t: int) -> int:
    """Whether a_j <= t < e_j."""
    check_time()
    m = model.program
    begun, left, both = m.boolean(), m.boolean(), m.boolean()
    m.linear([(model.start[j], 1)], -math.inf, t, when=[begun])
    m.linear([(model.start[j], 1)], t + 1, math.inf, when=[-1 - begun])
    m.linear([(model.end[j], 1)], t + 1, math.inf, when=[left])
    m.linear([(model.end[j], 1)], -math.inf, t, when=[-1 - left])
    m.implies(both, begun, left)
    m.clause(both, -1 - begun, -1 - left)
    return both


def _crosses(model: SlotModel, j: int, s: int) -> int:
    """Whether job j uses the uplink of s."""
    m, used, whole = model.program, model.used[j][s], model.whole[j][s]
    cross = m.boolean()
    m.linear([(cross, 1), (used, -1), (whole, 1)], 0, 0)
    return cross


def _progress(model: SlotModel, j: int, slots: Sequence[tuple[int, list[int]]]) -> None:
    """(7)-(9): the iterations of a job that is on several nodes."""
    m, problem = model.program, model.problem
    terms: list[tuple[int, int]] = []
    for n, span in model.spans[j].items():
        if n == 1:
            continue
        rates = [problem.rate_of(j, n, p) for p in range(1, _most(problem) + 1)]
        for run, levels in slots:
            check_time()
            works = m.boolean()
            m.implies(works, span, run)
            terms.append((works, rates[0]))
            for p, level in enumerate(levels):
                if rates[p] > rates[p + 1]:
                    slowed = m.boolean()
                    m.clause(slowed, -1 - works, -1 - level)
                    terms.append((slowed, rates[p + 1] - rates[p]))
    alone = [-1 - model.spans[j][1]] if 1 in model.spans[j] else []
    m.linear(terms, problem.jobs[j].iterations * problem.resolution, math.inf, when=alone)


def _values(model: SlotModel, schedule: Schedule, horizon: int) -> dict[int, int]:
    """A schedule in terms of the variables, with equal nodes in their order."""
    sizes, problem = model.problem.instance.cluster.sizes, model.problem
    weight = [0] * len(sizes)
    for row in schedule:
        for s, count in row.gpus.items():
            weight[s] += (row.job + 1) * count
    place: dict[int, int] = {}
    for size in set(sizes):
        equal = [s for s, other in enumerate(sizes) if other == size]
        place |= dict(zip(sorted(equal, key=lambda s: -weight[s]), equal, strict=True))
    values = {model.makespan: min(problem.objective(schedule), horizon)}
    for row in schedule:
        j = row.job
        held = {place[s]: count for s, count in row.gpus.items()}
        end = min(row.end, horizon)
        values |= {model.start[j]: min(row.start, end), model.end[j]: end}
        values[model.length[j]] = max(end - row.start, 0)
        for s in range(len(sizes)):
            values[model.gpus[j][s]] = held.get(s, 0)
            values[model.used[j][s]] = s in held
            values[model.whole[j][s]] = held.get(s, 0) == problem.jobs[j].gpus
        values |= {b: n == len(held) for n, b in model.spans[j].items()}
    return values
