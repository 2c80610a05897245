"""Declarative models of RAR-DDLS in Pyomo; symbols and equations as in `rar_ddls`.

==============  =======  =======================================================================
form            exact    what it says
==============  =======  =======================================================================
``compact``     yes      (1)-(9) with one placement a job, strengthened; the one to solve
``literal``     yes      (1)-(9) slot by slot as printed, with (6) linearised
``schedules``   if full  (10)-(13): choose from a list of schedules
``workload``    no       (14)-(16): does the list hold a schedule with GPU loads up to theta?
==============  =======  =======================================================================

Slots are 0 .. horizon - 1. With the rate table, (7) and (8) are the choice of one entry: a one-hot
``v_rate``. ``literal`` and ``workload`` are statements and oracles for tiny cases.

``compact`` lets a job hold its GPUs longer than it needs, which helps no other job; `extract`
evaluates starts and placements again, so that runs end where (9) says. ``literal`` forbids it: its
solutions are exactly the feasible schedules. (With exact rates, or millions of iterations a slot,
"one iteration short" is below a solver's tolerance, and both allow it.) Contenders that give a job
the same rate are one level of ``v_rate`` in ``compact``, and these rows are valid inequalities,
named ``cut_...``:

- start: a job that starts runs for its shortest duration d_j.
- span: on n nodes, a job runs for ceil(F_j / phi_j(n, 1)) slots or more.
- links: a node with k spanning jobs gives each of them p_j >= k, so their 1 / p_j add up to at
  most 1; summed over nodes, sum_j n_j / p_j <= S.
- pairs: spanning jobs with p_j <= k take two or more of the k S places for them; one with p_j > k
  keeps k + 1 of the places free, so it counts as one more of the floor(k S / 2) jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.environ import quicksum

from ...instances.schedule import Schedule
from ..problem import Model
from ..rows import check_size, constraint, write, write_arrays
from .problem import RarDdls, complete_schedule, estimates

#: combinations of starts and placements that the default list of schedules may go through
LIST_LIMIT = 20_000


def build(problem: RarDdls, form: str, **options: Any) -> Model[Schedule]:
    """Return one of the forms above as a Pyomo model.

    Parameters
    ----------
    problem : RarDdls
    form : str
    **options
        horizon : slots, `problem.horizon` at most; default the length of the schedule that runs one
        job after the other, which no optimum exceeds.
        schedules : list of feasible schedules for "schedules" and "workload"; default all that end
        by the horizon (tiny cases only).
        theta, u : of "workload", the largest load of a GPU in slots, and the divisor of estimates.

    Raises
    ------
    ValueError
        For a horizon that is no positive integer, a model beyond 200,000 jobs x nodes x slots, an
        infeasible schedule in the list, one without GPU identities ("workload"), or too long a
        default list.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    >>> model = build(problem, "compact", horizon=4)
    >>> model.native.capacity.doc
    '(2) GPUs of a server'
    """
    horizon = options.pop("horizon", None)
    if horizon is None:
        horizon = int(problem.shortest_durations().sum())
    if isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < bool(problem.jobs):
        raise ValueError(f"RarDdls: horizon={horizon!r} is not a positive integer")
    horizon = min(horizon, problem.horizon or horizon)
    size = len(problem.jobs) * len(problem.instance.cluster.nodes) * horizon
    if form in ("compact", "literal"):
        check_size("RarDdls", size, "jobs x servers x slots", form)
    makers = {"compact": _compact, "literal": _literal, "schedules": _schedules}
    model: Model[Schedule] = makers.get(form, _workload)(problem, horizon, **options)
    return model


# -- from models to schedules and back -------------------------------------------------------------


def _solved(m: Any, problem: RarDdls, held: Callable[[int, int, int], Any]) -> Schedule:
    """The schedule of a model's starts, and of the variable of a job's GPUs on a node then."""
    start = [int(max(m.slots, key=lambda t: float(m.x_start[j, t].value))) for j in m.jobs]
    placement = [
        {s: round(count) for s in m.servers if (count := held(j, s, start[j]).value) > 0.5}
        for j in m.jobs
    ]
    schedule = complete_schedule(problem, start, placement)
    if schedule is None:
        raise AssertionError("bug in a form of RarDdls: it accepted a job that never completes")
    return schedule


def _held(problem: RarDdls, schedule: Schedule, horizon: int) -> Any:
    """GPUs of each job on each node in each slot: (jobs, nodes, horizon)."""
    held = np.zeros((len(problem.jobs), len(problem.instance.cluster.nodes), horizon), dtype=int)
    for row in schedule:
        for s, count in row.gpus.items():
            held[row.job, s, row.start : row.end] += count
    return held


def _contenders(problem: RarDdls, held: Any) -> Any:
    """p_j[t] of eq. (6), its terms, and whether j crosses the uplink of s in t; `_held`'s array."""
    gang = np.array([job.gpus for job in problem.jobs])[:, None, None]
    cross = (held > 0) & (held < gang)
    shared = cross * cross.sum(axis=0)
    return shared.max(axis=1, initial=0), shared, cross


def _frame(problem: RarDdls, horizon: int) -> Any:
    """A model with the sets that all forms share, and starts and runs of the jobs."""
    m: Any = pyo.ConcreteModel(name="RAR-DDLS")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    m.servers = pyo.RangeSet(0, len(problem.instance.cluster.nodes) - 1)
    m.slots = pyo.RangeSet(0, horizon - 1)
    m.x_start = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="1 in slot a_j")
    m.z_run = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="1 where t is in J[t]")

    @constraint(m, m.jobs, doc="every job starts once")
    def start(m: Any, j: int) -> Any:
        return quicksum(m.x_start[j, t] for t in m.slots) == 1

    @constraint(m, m.jobs, m.slots, doc="(3) a job runs on, or starts")
    def contiguous(m: Any, j: int, t: int) -> Any:
        return m.z_run[j, t] - (m.z_run[j, t - 1] if t else 0) <= m.x_start[j, t]

    return m


def _write_frame(m: Any, schedule: Schedule, held: Any) -> None:
    first = {row.job: row.start for row in sorted(schedule, key=lambda row: -row.start)}
    write(m.x_start, dict.fromkeys(first.items(), 1))
    write_arrays(m, z_run=held.any(axis=1))


# -- (1)-(9) as printed ----------------------------------------------------------------------------


def _literal(problem: RarDdls, horizon: int) -> Model[Schedule]:
    """(1)-(9) with a placement in every slot."""
    m = _frame(problem, horizon)
    sizes, gangs = problem.instance.cluster.sizes, [job.gpus for job in problem.jobs]
    keys = (m.jobs, m.servers, m.slots)
    most = problem.rates.shape[2] - 1
    spans = range(1, problem.rates.shape[1] + 1)

    m.y_place = pyo.Var(*keys, domain=pyo.NonNegativeIntegers, doc="(5) y_js[t], errata E1")
    m.z_used = pyo.Var(*keys, domain=pyo.Binary, doc="1{y_js[t] > 0}")
    m.z_whole = pyo.Var(*keys, domain=pyo.Binary, doc="1{y_js[t] = G_j}")
    m.h_shared = pyo.Var(*keys, domain=pyo.NonNegativeReals, doc="term of s in (6)")
    m.z_busiest = pyo.Var(*keys, domain=pyo.Binary, doc="the server where (6) is attained")
    m.p_contend = pyo.Var(m.jobs, m.slots, bounds=(0, most), doc="p_j[t]")
    m.v_rate = pyo.Var(m.jobs, spans, range(most + 1), m.slots, domain=pyo.Binary, doc="(7), (8)")
    m.x_makespan = pyo.Var(domain=pyo.NonNegativeReals)
    m.objective = pyo.Objective(expr=m.x_makespan, sense=pyo.minimize)

    @constraint(m, m.jobs, m.slots, doc="(1) all GPUs of the gang while it runs")
    def gang(m: Any, j: int, t: int) -> Any:
        return quicksum(m.y_place[j, s, t] for s in m.servers) == gangs[j] * m.z_run[j, t]

    @constraint(m, m.servers, m.slots, doc="(2) GPUs of a server")
    def capacity(m: Any, s: int, t: int) -> Any:
        return quicksum(m.y_place[j, s, t] for j in m.jobs) <= sizes[s]

    @constraint(m, *keys, doc="(3) no GPUs are added during the run")
    def keep_up(m: Any, j: int, s: int, t: int) -> Any:
        if t == 0:
            return pyo.Constraint.Skip
        return m.y_place[j, s, t] - m.y_place[j, s, t - 1] <= gangs[j] * (1 - m.z_run[j, t - 1])

    @constraint(m, *keys, doc="(3) no GPUs are dropped during the run")
    def keep_down(m: Any, j: int, s: int, t: int) -> Any:
        if t == 0:
            return pyo.Constraint.Skip
        return m.y_place[j, s, t - 1] - m.y_place[j, s, t] <= gangs[j] * (1 - m.z_run[j, t])

    @constraint(m, *keys, doc="(4) no GPUs outside the run")
    def idle(m: Any, j: int, s: int, t: int) -> Any:
        return m.y_place[j, s, t] <= gangs[j] * m.z_run[j, t]

    _indicators(m, keys, gangs)
    _contention_as_printed(m, keys)
    _rates_as_printed(m, problem, spans, range(most + 1))

    @constraint(m, m.jobs, m.slots, doc="max_j T_j")
    def makespan(m: Any, j: int, t: int) -> Any:
        return m.x_makespan >= (t + 1) * m.z_run[j, t]

    def extract() -> Schedule:
        return _solved(m, problem, lambda j, s, t: m.y_place[j, s, t])

    def embed(schedule: Schedule) -> None:
        _write_literal(m, problem, schedule, horizon)

    return Model(m, "pyomo", "literal", exact=True, extract=extract, embed=embed)


def _indicators(m: Any, keys: Any, gangs: Sequence[int]) -> None:
    """1{y > 0} and 1{y = G_j}, in both directions; y as indexed by `keys`."""

    @constraint(m, *keys, doc="(6) a used server holds a GPU")
    def used(m: Any, j: int, *key: int) -> Any:
        return m.z_used[j, *key] <= m.y_place[j, *key]

    @constraint(m, *keys, doc="(6) a whole gang is whole")
    def whole(m: Any, j: int, *key: int) -> Any:
        return gangs[j] * m.z_whole[j, *key] <= m.y_place[j, *key]

    @constraint(m, *keys, doc="(6) GPUs are on a used server; the whole gang makes it whole")
    def part(m: Any, j: int, *key: int) -> Any:
        return m.y_place[j, *key] <= (gangs[j] - 1) * m.z_used[j, *key] + m.z_whole[j, *key]

    @constraint(m, *keys, doc="(6) the server of a whole gang is used")
    def both(m: Any, j: int, *key: int) -> Any:
        return m.z_whole[j, *key] <= m.z_used[j, *key]


def _contention_as_printed(m: Any, keys: Any) -> None:
    """(6): the product of an indicator and a sum, and the maximum over nodes, linearised."""
    total = len(m.jobs)

    def cross(j: int, s: int, t: int) -> Any:
        return m.z_used[j, s, t] - m.z_whole[j, s, t]

    m.crossing = pyo.Expression(
        m.servers, m.slots, rule=lambda m, s, t: quicksum(cross(j, s, t) for j in m.jobs)
    )

    @constraint(m, *keys, doc="(6) 0 off the uplink")
    def shared_if(m: Any, j: int, s: int, t: int) -> Any:
        return m.h_shared[j, s, t] <= total * cross(j, s, t)

    @constraint(m, *keys, doc="(6) at most all spanning jobs")
    def shared_most(m: Any, j: int, s: int, t: int) -> Any:
        return m.h_shared[j, s, t] <= m.crossing[s, t]

    @constraint(m, *keys, doc="(6) all spanning jobs on the uplink")
    def shared_least(m: Any, j: int, s: int, t: int) -> Any:
        return m.h_shared[j, s, t] >= m.crossing[s, t] - total * (1 - cross(j, s, t))

    @constraint(m, *keys, doc="(6) maximum over servers")
    def contenders_least(m: Any, j: int, s: int, t: int) -> Any:
        return m.p_contend[j, t] >= m.h_shared[j, s, t]

    @constraint(m, *keys, doc="(6) the maximum is attained")
    def contenders_most(m: Any, j: int, s: int, t: int) -> Any:
        return m.p_contend[j, t] <= m.h_shared[j, s, t] + total * (1 - m.z_busiest[j, s, t])

    @constraint(m, m.jobs, m.slots, doc="(6) at one server")
    def busiest(m: Any, j: int, t: int) -> Any:
        return quicksum(m.z_busiest[j, s, t] for s in m.servers) == 1


def _rates_as_printed(m: Any, problem: RarDdls, spans: range, levels: range) -> None:
    """(7)-(9): one entry of the table a slot; a job runs until its iterations are done."""
    entries = list(product(spans, levels))

    def total(j: int, t: int, weight: Callable[[int, int], float]) -> Any:
        return quicksum(weight(n, p) * m.v_rate[j, n, p, t] for n, p in entries)

    @constraint(m, m.jobs, m.slots, doc="(8) one rate while the job runs")
    def one_rate(m: Any, j: int, t: int) -> Any:
        return total(j, t, lambda n, p: 1) == m.z_run[j, t]

    @constraint(m, m.jobs, m.slots, doc="(8) the rate of its number of servers")
    def rate_span(m: Any, j: int, t: int) -> Any:
        return total(j, t, lambda n, p: n) == quicksum(m.z_used[j, s, t] for s in m.servers)

    @constraint(m, m.jobs, m.slots, doc="(7) the rate of its contenders")
    def rate_contenders(m: Any, j: int, t: int) -> Any:
        return total(j, t, lambda n, p: p) == m.p_contend[j, t]

    top, goal = _scales(problem)
    m.phi = pyo.Expression(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: total(j, t, lambda n, p: problem.rates[j, n - 1, p] / top[j]),
        doc="phi_j[t] as a share of the job's best rate",
    )

    @constraint(m, m.jobs, doc="(9) all iterations")
    def complete(m: Any, j: int) -> Any:
        return quicksum(m.phi[j, t] for t in m.slots) >= goal[j] / top[j]

    if problem.rate == "floor":

        @constraint(m, m.jobs, m.slots, doc="(9) and no slot longer")
        def prompt(m: Any, j: int, t: int) -> Any:
            if t * top[j] < goal[j]:
                return pyo.Constraint.Skip
            short = (goal[j] - 1) / top[j]
            done = quicksum(m.phi[j, r] for r in range(t))
            return done <= short + (t - short) * (1 - m.z_run[j, t])


def _scales(problem: RarDdls) -> tuple[list[int], list[int]]:
    """Best rate and iterations of each job, both in units of 1 / resolution."""
    top = problem.rates.max(axis=(1, 2), initial=0).tolist()
    return top, [job.iterations * problem.resolution for job in problem.jobs]


def _write_literal(m: Any, problem: RarDdls, schedule: Schedule, horizon: int) -> None:
    held = _held(problem, schedule, horizon)
    contenders, shared, _ = _contenders(problem, held)
    gang = np.array([job.gpus for job in problem.jobs])[:, None, None]
    _write_frame(m, schedule, held)
    write_arrays(m, y_place=held, z_used=held > 0, z_whole=held >= gang)
    write_arrays(m, h_shared=shared, p_contend=contenders)
    busiest = np.ndenumerate(shared.argmax(axis=1))
    write(m.z_busiest, {(j, s, t): 1 for (j, t), s in busiest})
    spans = np.ndenumerate((held > 0).sum(axis=1))
    write(m.v_rate, {(j, int(n), int(contenders[j, t]), t): 1 for (j, t), n in spans if n})
    m.x_makespan.set_value(int(schedule.end.max(initial=0)))


# -- (1)-(9) with one placement a job --------------------------------------------------------------


def _compact(problem: RarDdls, horizon: int) -> Model[Schedule]:
    """(1)-(9) with time-constant placements, and valid inequalities."""
    m = _frame(problem, horizon)
    levels = _levels(problem)
    _place_once(m, problem)
    _choose_span(m, problem, levels)
    _hold_while_running(m, problem)
    _makespan_by_slots(m, problem)
    _choose_rate(m, problem, levels)
    _contend(m, problem, levels)
    _cut(m, problem, levels, horizon)

    def extract() -> Schedule:
        return _solved(m, problem, lambda j, s, t: m.y_place[j, s])

    def embed(schedule: Schedule) -> None:
        _write_compact(m, problem, schedule, horizon, levels)

    return Model(m, "pyomo", "compact", exact=True, extract=extract, embed=embed)


#: for each job {span: [(most contenders, rate), ...]}, rates decreasing
Levels = Sequence[Mapping[int, Sequence[tuple[int, int]]]]


def _levels(problem: RarDdls) -> Levels:
    """The table without repetitions: for each span, the most contenders at which each rate holds.

    Spans on which the job makes no progress even alone are left out.
    """
    levels = []
    for j in range(len(problem.jobs)):
        found = {}
        for n in problem.spans(j):
            rates = problem.rates[j, n - 1].tolist()
            last = len(rates) - 1
            kept = [p for p in range(1, last + 1) if p == last or rates[p] != rates[p + 1]]
            if rates[1]:
                found[n] = [(p, rates[p]) for p in kept] if n > 1 else [(0, rates[0])]
        levels.append(found)
    return levels


def _spans(levels: Levels) -> list[tuple[int, int]]:
    return [(j, n) for j, found in enumerate(levels) for n in found]


def _spanning(levels: Levels) -> list[int]:
    """Jobs that can be on more than one node."""
    return [j for j, found in enumerate(levels) if any(n > 1 for n in found)]


def _rates_of(m: Any, levels: Levels, j: int, t: int, weight: Callable[[int, int], float]) -> Any:
    """Sum of weight(n, p) v over the entries of a job in a slot, p as in `_levels`."""
    return quicksum(
        weight(n, p) * m.v_rate[j, n, k, t]
        for n, found in levels[j].items()
        for k, (p, _) in enumerate(found)
        if weight(n, p)
    )


def _place_once(m: Any, problem: RarDdls) -> None:
    """(1), (5): the gang's GPUs on the nodes, once for all slots of the run."""
    sizes, gangs = problem.instance.cluster.sizes, [job.gpus for job in problem.jobs]
    keys = (m.jobs, m.servers)

    def room(m: Any, j: int, s: int) -> tuple[int, int]:
        return 0, min(gangs[j], sizes[s])

    m.y_place = pyo.Var(*keys, domain=pyo.NonNegativeIntegers, bounds=room, doc="(5) y_js, E1")
    m.z_used = pyo.Var(*keys, domain=pyo.Binary, doc="1{y_js > 0}")
    m.z_whole = pyo.Var(
        *keys,
        domain=pyo.Binary,
        bounds=lambda m, j, s: (0, int(gangs[j] <= sizes[s])),
        doc="1{y_js = G_j}",
    )

    @constraint(m, m.jobs, doc="(1) all GPUs of the gang")
    def gang(m: Any, j: int) -> Any:
        return quicksum(m.y_place[j, s] for s in m.servers) == gangs[j]

    _indicators(m, keys, gangs)


def _choose_span(m: Any, problem: RarDdls, levels: Levels) -> None:
    """(8): the number of nodes in use, one-hot."""
    m.z_span = pyo.Var(_spans(levels), domain=pyo.Binary, doc="1 where j is on n servers")

    @constraint(m, m.jobs, doc="(8) one span")
    def one_span(m: Any, j: int) -> Any:
        return quicksum(m.z_span[j, n] for n in levels[j]) == 1

    @constraint(m, m.jobs, doc="(8) the number of used servers")
    def span(m: Any, j: int) -> Any:
        servers = quicksum(m.z_used[j, s] for s in m.servers)
        return quicksum(n * m.z_span[j, n] for n in levels[j]) == servers

    alone = [j for j, found in enumerate(levels) if 1 in found]

    @constraint(m, alone, doc="(6) a job on one server is whole there")
    def single(m: Any, j: int) -> Any:
        return m.z_span[j, 1] == quicksum(m.z_whole[j, s] for s in m.servers)


def _hold_while_running(m: Any, problem: RarDdls) -> None:
    """(3), (4): y_js[t] is y_js during the run and 0 outside."""
    gangs = [job.gpus for job in problem.jobs]
    keys = (m.jobs, m.servers, m.slots)
    m.y_held = pyo.Var(
        *keys, bounds=lambda m, j, s, t: (0, m.y_place[j, s].ub), doc="y_js[t] = y_js z_run"
    )

    @constraint(m, *keys, doc="(3) no GPUs are dropped during the run")
    def keep_down(m: Any, j: int, s: int, t: int) -> Any:
        return m.y_held[j, s, t] >= m.y_place[j, s] - m.y_place[j, s].ub * (1 - m.z_run[j, t])

    @constraint(m, *keys, doc="(3) no GPUs are added during the run")
    def keep_up(m: Any, j: int, s: int, t: int) -> Any:
        return m.y_held[j, s, t] <= m.y_place[j, s]

    @constraint(m, *keys, doc="(4) no GPUs outside the run")
    def idle(m: Any, j: int, s: int, t: int) -> Any:
        return m.y_held[j, s, t] <= m.y_place[j, s].ub * m.z_run[j, t]

    @constraint(m, m.jobs, m.slots, doc="(1) all GPUs of the gang while it runs")
    def gang_held(m: Any, j: int, t: int) -> Any:
        return quicksum(m.y_held[j, s, t] for s in m.servers) == gangs[j] * m.z_run[j, t]


def _makespan_by_slots(m: Any, problem: RarDdls) -> None:
    """max_j T_j as the number of slots up to the last in use, and (2)."""
    sizes = problem.instance.cluster.sizes
    durations = problem.shortest_durations()
    area = sum(job.gpus * int(d) for job, d in zip(problem.jobs, durations, strict=True))
    least = max(-(-area // sum(sizes)), int(durations.max(initial=0)))
    m.x_busy = pyo.Var(
        m.slots,
        domain=pyo.Binary,
        bounds=lambda m, t: (int(t < least), 1),
        doc="1 before the makespan; before the area bound in any case",
    )
    m.objective = pyo.Objective(expr=quicksum(m.x_busy[t] for t in m.slots), sense=pyo.minimize)

    @constraint(m, m.jobs, m.slots, doc="max_j T_j: jobs run before it")
    def makespan(m: Any, j: int, t: int) -> Any:
        return m.z_run[j, t] <= m.x_busy[t]

    @constraint(m, m.slots, doc="max_j T_j: all slots up to it")
    def busy(m: Any, t: int) -> Any:
        return m.x_busy[t] <= m.x_busy[t - 1] if t else pyo.Constraint.Skip

    @constraint(m, m.servers, m.slots, doc="(2) GPUs of a server")
    def capacity(m: Any, s: int, t: int) -> Any:
        if not len(m.jobs):
            return pyo.Constraint.Skip
        return quicksum(m.y_held[j, s, t] for j in m.jobs) <= sizes[s] * m.x_busy[t]


def _choose_rate(m: Any, problem: RarDdls, levels: Levels) -> None:
    """(7)-(9): one rate a slot, of the span; enough slots for all iterations."""
    entries = [
        (j, n, k, t) for j, n in _spans(levels) for k in range(len(levels[j][n])) for t in m.slots
    ]
    m.v_rate = pyo.Var(entries, domain=pyo.Binary, doc="(7), (8): n servers, k-th level of p")

    @constraint(m, m.jobs, m.slots, doc="(8) one rate while the job runs")
    def one_rate(m: Any, j: int, t: int) -> Any:
        return _rates_of(m, levels, j, t, lambda n, p: 1) == m.z_run[j, t]

    @constraint(m, _spans(levels), m.slots, doc="(8) the rate of its number of servers")
    def rate_span(m: Any, j: int, n: int, t: int) -> Any:
        return quicksum(m.v_rate[j, n, k, t] for k in range(len(levels[j][n]))) <= m.z_span[j, n]

    _, goal = _scales(problem)

    @constraint(m, _spans(levels), doc="(9) all iterations")
    def complete(m: Any, j: int, n: int) -> Any:
        top = levels[j][n][0][1]
        done = (
            rate / top * m.v_rate[j, n, k, t]
            for k, (_, rate) in enumerate(levels[j][n])
            for t in m.slots
        )
        return quicksum(done) >= goal[j] / top * m.z_span[j, n]


def _contend(m: Any, problem: RarDdls, levels: Levels) -> None:
    """(6): the rate of a job on an uplink allows for all spanning jobs there."""
    spanning, sizes = _spanning(levels), problem.instance.cluster.sizes
    keys = (spanning, m.servers, m.slots)
    m.q_cross = pyo.Var(*keys, bounds=(0, 1), doc="1 where j runs and crosses the uplink of s")

    @constraint(m, *keys, doc="(6) the two indicators")
    def crossing(m: Any, j: int, s: int, t: int) -> Any:
        return m.q_cross[j, s, t] >= m.z_used[j, s] - m.z_whole[j, s] + m.z_run[j, t] - 1

    m.q_links = pyo.Var(m.servers, m.slots, bounds=(0, len(spanning)), doc="spanning jobs on s")

    @constraint(m, m.servers, m.slots, doc="(6) the sum")
    def links(m: Any, s: int, t: int) -> Any:
        if not spanning:
            return pyo.Constraint.Skip
        return m.q_links[s, t] == quicksum(m.q_cross[j, s, t] for j in spanning)

    @constraint(m, *keys, doc="(6) spanning jobs on the busiest server")
    def contenders(m: Any, j: int, s: int, t: int) -> Any:
        slack = min(len(spanning) - 1, sizes[s]) * (1 - m.q_cross[j, s, t])
        return _rates_of(m, levels, j, t, lambda n, p: p) >= m.q_links[s, t] - slack


def _cut(m: Any, problem: RarDdls, levels: Levels, horizon: int) -> None:
    """Valid inequalities, see the module's docstring."""
    durations = problem.shortest_durations().tolist()
    spanning, count = _spanning(levels), len(m.servers)
    _, goal = _scales(problem)
    for j, t in m.x_start:
        if t + durations[j] > horizon:
            m.x_start[j, t].setub(0)

    @constraint(m, m.jobs, m.slots)
    def cut_start(m: Any, j: int, t: int) -> Any:
        recent = range(max(0, t - durations[j] + 1), t + 1)
        return quicksum(m.x_start[j, r] for r in recent) <= m.z_run[j, t]

    @constraint(m, m.jobs, m.slots)
    def cut_started(m: Any, j: int, t: int) -> Any:
        return quicksum(m.x_start[j, r] for r in range(t + 1)) >= m.z_run[j, t]

    @constraint(m, _spans(levels))
    def cut_span(m: Any, j: int, n: int) -> Any:
        slots = quicksum(m.v_rate[j, n, k, t] for k in range(len(levels[j][n])) for t in m.slots)
        return slots >= -(-goal[j] // levels[j][n][0][1]) * m.z_span[j, n]

    @constraint(m, spanning, m.slots)
    def cut_crossing(m: Any, j: int, t: int) -> Any:
        crossed = _rates_of(m, levels, j, t, lambda n, p: n if n > 1 else 0)
        return quicksum(m.q_cross[j, s, t] for s in m.servers) >= crossed

    if spanning:
        _cut_links(m, levels, spanning, count)


def _few(levels: Levels) -> int:
    """Contenders that no spanning job notices."""
    return min((found[n][0][0] for found in levels for n in found if n > 1), default=0)


def _cut_links(m: Any, levels: Levels, spanning: Sequence[int], count: int) -> None:
    """What the uplinks of the cluster can carry, in rates alone."""
    least = _few(levels)
    most = least * count // 2

    def rates(j: int, t: int, weight: Callable[[int, int], float]) -> Any:
        return _rates_of(m, levels, j, t, lambda n, p: weight(n, p) if n > 1 else 0)

    @constraint(m, m.slots)
    def cut_links(m: Any, t: int) -> Any:
        return quicksum(rates(j, t, lambda n, p: n / p) for j in spanning) <= count * m.x_busy[t]

    m.q_few = pyo.Var(m.slots, bounds=(0, most), doc="spanning jobs with p_j <= few")

    @constraint(m, m.slots)
    def few(m: Any, t: int) -> Any:
        return m.q_few[t] == quicksum(rates(j, t, lambda n, p: float(p <= least)) for j in spanning)

    @constraint(m, spanning, m.slots)
    def cut_pairs(m: Any, j: int, t: int) -> Any:
        return m.q_few[t] + rates(j, t, lambda n, p: float(p > least)) <= most * m.x_busy[t]


def _write_compact(
    m: Any, problem: RarDdls, schedule: Schedule, horizon: int, levels: Levels
) -> None:
    held = _held(problem, schedule, horizon)
    contenders, _, cross = _contenders(problem, held)
    _write_frame(m, schedule, held)
    place = np.zeros(held.shape[:2], dtype=int)
    for row in sorted(schedule, key=lambda row: row.start, reverse=True):
        place[row.job] = [row.gpus.get(s, 0) for s in m.servers]
    whole = place >= np.array([job.gpus for job in problem.jobs])[:, None]
    write_arrays(m, y_place=place, z_used=place > 0, z_whole=whole, y_held=held)
    write_arrays(m, q_cross=cross, q_links=cross.sum(axis=0))
    write(m.z_span, {(j, int(n)): 1 for j, n in enumerate((place > 0).sum(axis=1))})
    rates, few = {}, dict.fromkeys(m.slots, 0)
    for (j, t), n in np.ndenumerate((held > 0).sum(axis=1)):
        for k, (p, _) in enumerate(levels[j].get(int(n), [])):
            if p >= contenders[j, t]:
                rates[j, int(n), k, t] = 1
                few[t] += n > 1 and p <= _few(levels)
                break
    write(m.v_rate, rates)
    if _spanning(levels):
        write(m.q_few, few)
    write(m.x_busy, dict.fromkeys(range(int(schedule.end.max(initial=0))), 1))


# -- (10)-(16): lists of schedules -----------------------------------------------------------------


def _all_schedules(problem: RarDdls, horizon: int) -> Iterator[Schedule]:
    """Every feasible schedule that ends by the horizon, up to the identities of GPUs."""
    sizes, durations = problem.instance.cluster.sizes, problem.shortest_durations().tolist()
    runs = []
    for job, d in zip(problem.jobs, durations, strict=True):
        counts = product(*(range(min(job.gpus, size) + 1) for size in sizes))
        places = [{s: c for s, c in enumerate(row) if c} for row in counts if sum(row) == job.gpus]
        runs.append(list(product(range(max(0, horizon - d + 1)), places)))
    combinations = math.prod(map(len, runs))
    if combinations > LIST_LIMIT:
        raise ValueError(
            f"RarDdls: {combinations} combinations of starts and placements are more than "
            f"{LIST_LIMIT}, too many to list; give schedules=[...]"
        )
    for chosen in product(*runs):
        found = complete_schedule(problem, [a for a, _ in chosen], [y for _, y in chosen])
        if found is not None and found.device.size and problem.objective(found) <= horizon:
            yield found  # GPUs were found for all: feasible


def _choice(problem: RarDdls, horizon: int, schedules: Sequence[Schedule] | None) -> Any:
    """(11)-(13): one schedule of the list, the same for all jobs."""
    given = list(_all_schedules(problem, horizon)) if schedules is None else list(schedules)
    for k, schedule in enumerate(given if schedules is not None else ()):
        broken = problem.violations(schedule)
        if broken:
            raise ValueError(f"RarDdls: schedules[{k}] is not feasible: {broken[0]}")
    m: Any = pyo.ConcreteModel(name="RAR-DDLS")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    m.choices = pyo.RangeSet(0, len(given) - 1)
    m.x_choose = pyo.Var(m.jobs, m.choices, domain=pyo.Binary, doc="(13) x_j^k")
    m.nothing = pyo.Var(bounds=(0, 0), doc="keeps rows of an empty list in the model")

    @constraint(m, m.jobs, doc="(11) one schedule")
    def choose(m: Any, j: int) -> Any:
        return quicksum(m.x_choose[j, k] for k in m.choices) + m.nothing == 1

    @constraint(m, m.jobs, m.choices, doc="(12) of all jobs")
    def same(m: Any, j: int, k: int) -> Any:
        return m.x_choose[j, k] == m.x_choose[0, k] if j else pyo.Constraint.Skip

    def extract() -> Schedule:
        if not problem.jobs:
            return Schedule.of([])
        chosen = max(range(len(given)), key=lambda k: float(m.x_choose[0, k].value))
        return given[chosen]

    def embed(schedule: Schedule) -> None:
        runs = [k for k in m.choices if _same_runs(given[k], schedule)]
        write(m.x_choose, {(j, k): 1 for j in m.jobs for k in runs[:1]})
        m.nothing.set_value(0)

    return m, given, extract, embed


def _same_runs(a: Schedule, b: Schedule) -> bool:
    """Whether two schedules differ at most in the order of rows and in the identities of GPUs."""

    def runs(schedule: Schedule) -> list[Any]:
        return sorted((r.job, r.start, r.end, sorted(r.gpus.items())) for r in schedule)

    return runs(a) == runs(b)


def _schedules(
    problem: RarDdls, horizon: int, *, schedules: Sequence[Schedule] | None = None
) -> Model[Schedule]:
    """(10)-(13), with errata E9: max_j sum_k x_j^k (a_j(y^k) + rho_j(y^k)), as an epigraph."""
    m, given, extract, choose = _choice(problem, horizon, schedules)
    ends = [{row.job: row.end for row in schedule} for schedule in given]  # a_j + rho_j
    m.x_makespan = pyo.Var(domain=pyo.NonNegativeReals)
    m.objective = pyo.Objective(expr=m.x_makespan, sense=pyo.minimize)

    @constraint(m, m.jobs, doc="(10) max_j T_j")
    def makespan(m: Any, j: int) -> Any:
        return m.x_makespan >= quicksum(ends[k][j] * m.x_choose[j, k] for k in m.choices)

    def embed(schedule: Schedule) -> None:
        choose(schedule)
        m.x_makespan.set_value(int(schedule.end.max(initial=0)))

    exact = schedules is None
    return Model(m, "pyomo", "schedules", exact=exact, extract=extract, embed=embed)


def _workload(
    problem: RarDdls,
    horizon: int,
    *,
    schedules: Sequence[Schedule] | None = None,
    theta: float | None = None,
    u: float = 1.0,
) -> Model[Schedule]:
    """(14)-(16), with errata E10: job j loads the GPUs of G_j(y^k) only, and E22: known GPUs.

    The estimate rho_hat_j is that of Section 5.1, the same in all schedules; theta defaults to the
    horizon.
    """
    m, given, extract, choose = _choice(problem, horizon, schedules)
    held = [_gpus(schedule, k) for k, schedule in enumerate(given)]
    rho = estimates(problem).times.tolist()
    gpus = [(s, d) for s, o in enumerate(problem.instance.cluster.sizes) for d in range(o)]
    m.w_load = pyo.Var(m.jobs, m.choices, gpus, bounds=(0, None), doc="(15) W_jg^k")
    m.objective = pyo.Objective(expr=m.nothing - 1, sense=pyo.minimize, doc="(14)")

    @constraint(m, m.jobs, m.choices, gpus, doc="(15) load of a GPU by a job")
    def loads(m: Any, j: int, k: int, s: int, d: int) -> Any:
        time = rho[j] / u if (s, d) in held[k][j] else 0
        return m.w_load[j, k, s, d] == time * m.x_choose[j, k]

    @constraint(m, gpus, doc="(16) load of a GPU")
    def limit(m: Any, s: int, d: int) -> Any:
        load = quicksum(m.w_load[j, k, s, d] for j in m.jobs for k in m.choices)
        return load + m.nothing <= (horizon if theta is None else theta)

    def embed(schedule: Schedule) -> None:
        choose(schedule)
        loads = {
            (j, k, s, d): rho[j] / u
            for j in m.jobs
            for k in m.choices
            if m.x_choose[j, k].value
            for s, d in held[k][j]
        }
        write(m.w_load, loads)

    return Model(m, "pyomo", "workload", exact=False, extract=extract, embed=embed)


def _gpus(schedule: Schedule, k: int) -> dict[int, set[tuple[int, int]]]:
    """G_j(y^k) of every job."""
    if len(schedule) and not schedule.device.size:
        raise ValueError(f"RarDdls: schedules[{k}] has no GPU identities, (15) needs them")
    return {
        row.job: {(s, d) for s, devices in (row.devices or {}).items() for d in devices}
        for row in schedule
    }
