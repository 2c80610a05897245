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
- span: on n servers, a job runs for ceil(F_j / phi_j(n, 1)) slots or more.
- links: a server with k spanning jobs gives each of them p_j >= k, so their 1 / p_j add up to at
  most 1; summed over servers, sum_j n_j / p_j <= S.
- pairs: spanning jobs with p_j <= k take two or more of the k S places for them; one with p_j > k
  keeps k + 1 of the places free, so it counts as one more of the floor(k S / 2) jobs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo

from ...instances.schedule import Schedule
from ..problem import Model
from .problem import RarDdls, estimates, evaluate

__all__ = ["build"]

Placement = Mapping[int, int]

#: jobs x servers x slots that "compact" and "literal" may have: about a minute and 2 GB to build
MODEL_LIMIT = 200_000

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
        For a horizon that is no positive integer, a model beyond 200,000 jobs x servers x slots, an
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
    forms: dict[str, Callable[..., Model[Schedule]]] = {
        "compact": _compact,
        "literal": _literal,
        "schedules": _schedules,
        "workload": _workload,
    }
    horizon = options.pop("horizon", None)
    if horizon is None:
        horizon = int(problem.shortest_durations().sum())
    if isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < bool(problem.jobs):
        raise ValueError(f"RarDdls: horizon={horizon!r} is not a positive integer")
    horizon = min(horizon, problem.horizon or horizon)
    size = len(problem.jobs) * len(problem.instance.cluster.nodes) * horizon
    if form in ("compact", "literal") and size > MODEL_LIMIT:
        raise ValueError(
            f"RarDdls: {size} jobs x servers x slots are more than {MODEL_LIMIT}, "
            f"too many for form {form!r}"
        )
    return forms[form](problem, horizon, **options)


# -- from models to schedules and back -------------------------------------------------------------


def complete_schedule(
    problem: RarDdls, start: Sequence[int], placement: Sequence[Placement]
) -> Schedule | None:
    """Return the schedule of starts and placements, each job on the first GPUs that are free.

    None where a job never ends; without GPU identities where a server is too small. Costs
    O(jobs log jobs + gpus log gpus) after the evaluation.
    """
    plain = evaluate(problem, start, placement)
    if plain is None:
        return None
    free = [list(range(node.gpus)) for node in problem.instance.cluster.nodes]
    held: list[tuple[int, int, int]] = []  # (end, node, device)
    devices: list[dict[int, tuple[int, ...]]] = [{} for _ in problem.jobs]
    for row in sorted(plain, key=lambda row: (row.start, row.job)):
        while held and held[0][0] <= row.start:
            _, s, device = heapq.heappop(held)
            heapq.heappush(free[s], device)
        for s, count in row.gpus.items():
            if count > len(free[s]):
                return plain
            devices[row.job][s] = tuple(heapq.heappop(free[s]) for _ in range(count))
            for device in devices[row.job][s]:
                heapq.heappush(held, (row.end, s, device))
    return evaluate(problem, start, placement, devices)


def _solved(problem: RarDdls, start: Sequence[int], placement: Sequence[Placement]) -> Schedule:
    schedule = complete_schedule(problem, start, placement)
    if schedule is None:
        raise AssertionError("bug in a form of RarDdls: it accepted a job that never completes")
    return schedule


def _start(m: Any, j: int) -> int:
    """The slot whose x_start is set."""
    return int(max(m.slots, key=lambda t: float(m.x_start[j, t].value)))


def _write(variable: Any, values: Mapping[Any, float]) -> None:
    """Set a whole indexed variable; what is not named is 0."""
    for key in variable:
        variable[key].set_value(values.get(key, 0), skip_validation=True)


def _held(problem: RarDdls, schedule: Schedule, horizon: int) -> Any:
    """GPUs of each job on each server in each slot: (jobs, servers, horizon)."""
    held = np.zeros((len(problem.jobs), len(problem.instance.cluster.nodes), horizon), dtype=int)
    for row in schedule:
        for s, count in row.gpus.items():
            held[row.job, s, row.start : row.end] += count
    return held


def _contenders(problem: RarDdls, held: Any) -> Any:
    """p_j[t] of eq. (6), and whether j crosses the uplink of s in t, from `_held`'s array."""
    gang = np.array([job.gpus for job in problem.jobs])[:, None, None]
    cross = (held > 0) & (held < gang)
    shared = cross * cross.sum(axis=0)
    return shared.max(axis=1, initial=0), cross


def _frame(problem: RarDdls, horizon: int) -> Any:
    """A model with the sets that all forms share, and starts and runs of the jobs."""
    m: Any = pyo.ConcreteModel(name="RAR-DDLS")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    m.servers = pyo.RangeSet(0, len(problem.instance.cluster.nodes) - 1)
    m.slots = pyo.RangeSet(0, horizon - 1)
    m.x_start = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="1 in slot a_j")
    m.z_run = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="1 where t is in J[t]")
    m.start = pyo.Constraint(
        m.jobs,
        rule=lambda m, j: pyo.quicksum(m.x_start[j, t] for t in m.slots) == 1,
        doc="every job starts once",
    )
    m.contiguous = pyo.Constraint(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: m.z_run[j, t] - (m.z_run[j, t - 1] if t else 0) <= m.x_start[j, t],
        doc="(3) a job runs on, or starts",
    )
    return m


def _write_frame(m: Any, schedule: Schedule, held: Any) -> None:
    first = {row.job: row.start for row in sorted(schedule, key=lambda row: -row.start)}
    _write(m.x_start, dict.fromkeys(first.items(), 1))
    _write(m.z_run, dict(np.ndenumerate(held.any(axis=1).astype(int))))


# -- (1)-(9) as printed ----------------------------------------------------------------------------


def _literal(problem: RarDdls, horizon: int) -> Model[Schedule]:
    """(1)-(9) with a placement in every slot."""
    m = _frame(problem, horizon)
    sizes, gang = problem.instance.cluster.sizes, [job.gpus for job in problem.jobs]
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

    def row(rule: Callable[..., Any], doc: str, *sets: Any) -> Any:
        return pyo.Constraint(*(sets or keys), rule=rule, doc=doc)

    m.gang = row(
        lambda m, j, t: (
            pyo.quicksum(m.y_place[j, s, t] for s in m.servers) == gang[j] * m.z_run[j, t]
        ),
        "(1) all GPUs of the gang while it runs",
        m.jobs,
        m.slots,
    )
    m.capacity = row(
        lambda m, s, t: pyo.quicksum(m.y_place[j, s, t] for j in m.jobs) <= sizes[s],
        "(2) GPUs of a server",
        m.servers,
        m.slots,
    )
    m.keep_up = row(_keep(gang, 1), "(3) no GPUs are added during the run")
    m.keep_down = row(_keep(gang, -1), "(3) no GPUs are dropped during the run")
    m.idle = row(
        lambda m, j, s, t: m.y_place[j, s, t] <= gang[j] * m.z_run[j, t],
        "(4) no GPUs outside the run",
    )
    _indicators(m, keys, gang)
    _contention_as_printed(m, row)
    _rates_as_printed(m, problem, row, spans, range(most + 1))
    m.makespan = row(
        lambda m, j, t: m.x_makespan >= (t + 1) * m.z_run[j, t], "max_j T_j", m.jobs, m.slots
    )

    def extract() -> Schedule:
        start = [_start(m, j) for j in m.jobs]
        placement = [
            {s: round(count) for s in m.servers if (count := m.y_place[j, s, start[j]].value) > 0.5}
            for j in m.jobs
        ]
        return _solved(problem, start, placement)

    def embed(schedule: Schedule) -> None:
        _write_literal(m, problem, schedule, horizon)

    return Model(m, "pyomo", "literal", exact=True, extract=extract, embed=embed)


def _keep(gang: Sequence[int], sign: int) -> Callable[..., Any]:
    """(3) in one direction: y[t] = y[t-1] where j runs in both slots."""

    def rule(m: Any, j: int, s: int, t: int) -> Any:
        if t == 0:
            return pyo.Constraint.Skip
        stopped = 1 - m.z_run[j, t - 1 if sign > 0 else t]
        return sign * (m.y_place[j, s, t] - m.y_place[j, s, t - 1]) <= gang[j] * stopped

    return rule


def _indicators(m: Any, keys: Any, gang: Sequence[int]) -> None:
    """1{y > 0} and 1{y = G_j}, in both directions; y as indexed by `keys`."""
    m.used = pyo.Constraint(
        *keys,
        rule=lambda m, j, *key: m.z_used[j, *key] <= m.y_place[j, *key],
        doc="(6) a used server holds a GPU",
    )
    m.whole = pyo.Constraint(
        *keys,
        rule=lambda m, j, *key: gang[j] * m.z_whole[j, *key] <= m.y_place[j, *key],
        doc="(6) a whole gang is whole",
    )
    m.part = pyo.Constraint(
        *keys,
        rule=lambda m, j, *key: (
            m.y_place[j, *key] <= (gang[j] - 1) * m.z_used[j, *key] + m.z_whole[j, *key]
        ),
        doc="(6) GPUs are on a used server; the whole gang makes it whole",
    )
    m.both = pyo.Constraint(
        *keys,
        rule=lambda m, j, *key: m.z_whole[j, *key] <= m.z_used[j, *key],
        doc="(6) the server of a whole gang is used",
    )


def _contention_as_printed(m: Any, row: Callable[..., Any]) -> None:
    """(6): the product of an indicator and a sum, and the maximum over servers, linearised."""
    total = len(m.jobs)

    def cross(j: int, s: int, t: int) -> Any:
        return m.z_used[j, s, t] - m.z_whole[j, s, t]

    m.crossing = pyo.Expression(
        m.servers, m.slots, rule=lambda m, s, t: pyo.quicksum(cross(j, s, t) for j in m.jobs)
    )
    m.shared_if = row(
        lambda m, j, s, t: m.h_shared[j, s, t] <= total * cross(j, s, t), "(6) 0 off the uplink"
    )
    m.shared_most = row(
        lambda m, j, s, t: m.h_shared[j, s, t] <= m.crossing[s, t], "(6) at most all spanning jobs"
    )
    m.shared_least = row(
        lambda m, j, s, t: m.h_shared[j, s, t] >= m.crossing[s, t] - total * (1 - cross(j, s, t)),
        "(6) all spanning jobs on the uplink",
    )
    m.contenders_least = row(
        lambda m, j, s, t: m.p_contend[j, t] >= m.h_shared[j, s, t], "(6) maximum over servers"
    )
    m.contenders_most = row(
        lambda m, j, s, t: (
            m.p_contend[j, t] <= m.h_shared[j, s, t] + total * (1 - m.z_busiest[j, s, t])
        ),
        "(6) the maximum is attained",
    )
    m.busiest = row(
        lambda m, j, t: pyo.quicksum(m.z_busiest[j, s, t] for s in m.servers) == 1,
        "(6) at one server",
        m.jobs,
        m.slots,
    )


def _rates_as_printed(
    m: Any, problem: RarDdls, row: Callable[..., Any], spans: range, levels: range
) -> None:
    """(7)-(9): one entry of the table a slot; a job runs until its iterations are done."""
    entries = list(product(spans, levels))

    def total(j: int, t: int, weight: Callable[[int, int], float]) -> Any:
        return pyo.quicksum(weight(n, p) * m.v_rate[j, n, p, t] for n, p in entries)

    m.one_rate = row(
        lambda m, j, t: total(j, t, lambda n, p: 1) == m.z_run[j, t],
        "(8) one rate while the job runs",
        m.jobs,
        m.slots,
    )
    m.rate_span = row(
        lambda m, j, t: (
            total(j, t, lambda n, p: n) == pyo.quicksum(m.z_used[j, s, t] for s in m.servers)
        ),
        "(8) the rate of its number of servers",
        m.jobs,
        m.slots,
    )
    m.rate_contenders = row(
        lambda m, j, t: total(j, t, lambda n, p: p) == m.p_contend[j, t],
        "(7) the rate of its contenders",
        m.jobs,
        m.slots,
    )
    top, goal = _scales(problem)
    m.phi = pyo.Expression(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: total(j, t, lambda n, p: problem.rates[j, n - 1, p] / top[j]),
        doc="phi_j[t] as a share of the job's best rate",
    )
    m.complete = row(
        lambda m, j: pyo.quicksum(m.phi[j, t] for t in m.slots) >= goal[j] / top[j],
        "(9) all iterations",
        m.jobs,
    )
    if problem.rate == "floor":
        m.prompt = row(
            lambda m, j, t: (
                pyo.quicksum(m.phi[j, r] for r in range(t))
                <= (goal[j] - 1) / top[j] + (t - (goal[j] - 1) / top[j]) * (1 - m.z_run[j, t])
                if t * top[j] >= goal[j]
                else pyo.Constraint.Skip
            ),
            "(9) and no slot longer",
            m.jobs,
            m.slots,
        )


def _scales(problem: RarDdls) -> tuple[list[int], list[int]]:
    """Best rate and iterations of each job, both in units of 1 / resolution."""
    top = problem.rates.max(axis=(1, 2), initial=0).tolist()
    return top, [job.iterations * problem.resolution for job in problem.jobs]


def _write_literal(m: Any, problem: RarDdls, schedule: Schedule, horizon: int) -> None:
    held = _held(problem, schedule, horizon)
    contenders, cross = _contenders(problem, held)
    shared = cross * cross.sum(axis=0)
    gang = np.array([job.gpus for job in problem.jobs])[:, None, None]
    _write_frame(m, schedule, held)
    for variable, values in (
        (m.y_place, held),
        (m.z_used, held > 0),
        (m.z_whole, held >= gang),
        (m.h_shared, shared),
    ):
        _write(variable, dict(np.ndenumerate(values.astype(int))))
    _write(m.p_contend, dict(np.ndenumerate(contenders)))
    busiest = np.ndenumerate(shared.argmax(axis=1))
    _write(m.z_busiest, {(j, s, t): 1 for (j, t), s in busiest})
    spans = (held > 0).sum(axis=1)
    _write(
        m.v_rate,
        {(j, int(n), int(contenders[j, t]), t): 1 for (j, t), n in np.ndenumerate(spans) if n},
    )
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
        placement = [
            {s: round(count) for s in m.servers if (count := m.y_place[j, s].value) > 0.5}
            for j in m.jobs
        ]
        return _solved(problem, [_start(m, j) for j in m.jobs], placement)

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
    """Jobs that can be on more than one server."""
    return [j for j, found in enumerate(levels) if any(n > 1 for n in found)]


def _rates_of(m: Any, levels: Levels, j: int, t: int, weight: Callable[[int, int], float]) -> Any:
    """Sum of weight(n, p) v over the entries of a job in a slot, p as in `_levels`."""
    return pyo.quicksum(
        weight(n, p) * m.v_rate[j, n, k, t]
        for n, found in levels[j].items()
        for k, (p, _) in enumerate(found)
        if weight(n, p)
    )


def _place_once(m: Any, problem: RarDdls) -> None:
    """(1), (5): the gang's GPUs on the servers, once for all slots of the run."""
    sizes, gang = problem.instance.cluster.sizes, [job.gpus for job in problem.jobs]
    keys = (m.jobs, m.servers)

    def room(m: Any, j: int, s: int) -> tuple[int, int]:
        return 0, min(gang[j], sizes[s])

    m.y_place = pyo.Var(*keys, domain=pyo.NonNegativeIntegers, bounds=room, doc="(5) y_js, E1")
    m.z_used = pyo.Var(*keys, domain=pyo.Binary, doc="1{y_js > 0}")
    m.z_whole = pyo.Var(
        *keys,
        domain=pyo.Binary,
        bounds=lambda m, j, s: (0, int(gang[j] <= sizes[s])),
        doc="1{y_js = G_j}",
    )
    m.gang = pyo.Constraint(
        m.jobs,
        rule=lambda m, j: pyo.quicksum(m.y_place[j, s] for s in m.servers) == gang[j],
        doc="(1) all GPUs of the gang",
    )
    _indicators(m, keys, gang)


def _choose_span(m: Any, problem: RarDdls, levels: Levels) -> None:
    """(8): the number of servers in use, one-hot."""
    m.z_span = pyo.Var(_spans(levels), domain=pyo.Binary, doc="1 where j is on n servers")
    m.one_span = pyo.Constraint(
        m.jobs,
        rule=lambda m, j: pyo.quicksum(m.z_span[j, n] for n in levels[j]) == 1,
        doc="(8) one span",
    )
    m.span = pyo.Constraint(
        m.jobs,
        rule=lambda m, j: (
            pyo.quicksum(n * m.z_span[j, n] for n in levels[j])
            == pyo.quicksum(m.z_used[j, s] for s in m.servers)
        ),
        doc="(8) the number of used servers",
    )
    m.single = pyo.Constraint(
        [j for j, found in enumerate(levels) if 1 in found],
        rule=lambda m, j: m.z_span[j, 1] == pyo.quicksum(m.z_whole[j, s] for s in m.servers),
        doc="(6) a job on one server is whole there",
    )


def _hold_while_running(m: Any, problem: RarDdls) -> None:
    """(3), (4): y_js[t] is y_js during the run and 0 outside."""
    gang = [job.gpus for job in problem.jobs]
    keys = (m.jobs, m.servers, m.slots)
    m.y_held = pyo.Var(
        *keys, bounds=lambda m, j, s, t: (0, m.y_place[j, s].ub), doc="y_js[t] = y_js z_run"
    )
    m.keep_down = pyo.Constraint(
        *keys,
        rule=lambda m, j, s, t: (
            m.y_held[j, s, t] >= m.y_place[j, s] - m.y_place[j, s].ub * (1 - m.z_run[j, t])
        ),
        doc="(3) no GPUs are dropped during the run",
    )
    m.keep_up = pyo.Constraint(
        *keys,
        rule=lambda m, j, s, t: m.y_held[j, s, t] <= m.y_place[j, s],
        doc="(3) no GPUs are added during the run",
    )
    m.idle = pyo.Constraint(
        *keys,
        rule=lambda m, j, s, t: m.y_held[j, s, t] <= m.y_place[j, s].ub * m.z_run[j, t],
        doc="(4) no GPUs outside the run",
    )
    m.gang_held = pyo.Constraint(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: (
            pyo.quicksum(m.y_held[j, s, t] for s in m.servers) == gang[j] * m.z_run[j, t]
        ),
        doc="(1) all GPUs of the gang while it runs",
    )


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
    m.objective = pyo.Objective(expr=pyo.quicksum(m.x_busy[t] for t in m.slots), sense=pyo.minimize)
    m.makespan = pyo.Constraint(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: m.z_run[j, t] <= m.x_busy[t],
        doc="max_j T_j: jobs run before it",
    )
    m.busy = pyo.Constraint(
        m.slots,
        rule=lambda m, t: m.x_busy[t] <= m.x_busy[t - 1] if t else pyo.Constraint.Skip,
        doc="max_j T_j: all slots up to it",
    )
    m.capacity = pyo.Constraint(
        m.servers,
        m.slots,
        rule=lambda m, s, t: (
            (pyo.quicksum(m.y_held[j, s, t] for j in m.jobs) <= sizes[s] * m.x_busy[t])
            if len(m.jobs)
            else pyo.Constraint.Skip
        ),
        doc="(2) GPUs of a server",
    )


def _choose_rate(m: Any, problem: RarDdls, levels: Levels) -> None:
    """(7)-(9): one rate a slot, of the span; enough slots for all iterations."""
    entries = [
        (j, n, k, t) for j, n in _spans(levels) for k in range(len(levels[j][n])) for t in m.slots
    ]
    m.v_rate = pyo.Var(entries, domain=pyo.Binary, doc="(7), (8): n servers, k-th level of p")
    m.one_rate = pyo.Constraint(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: _rates_of(m, levels, j, t, lambda n, p: 1) == m.z_run[j, t],
        doc="(8) one rate while the job runs",
    )
    m.rate_span = pyo.Constraint(
        _spans(levels),
        m.slots,
        rule=lambda m, j, n, t: (
            pyo.quicksum(m.v_rate[j, n, k, t] for k in range(len(levels[j][n]))) <= m.z_span[j, n]
        ),
        doc="(8) the rate of its number of servers",
    )
    _, goal = _scales(problem)

    def complete(m: Any, j: int, n: int) -> Any:
        top = levels[j][n][0][1]
        done = (
            rate / top * m.v_rate[j, n, k, t]
            for k, (_, rate) in enumerate(levels[j][n])
            for t in m.slots
        )
        return pyo.quicksum(done) >= goal[j] / top * m.z_span[j, n]

    m.complete = pyo.Constraint(_spans(levels), rule=complete, doc="(9) all iterations")


def _contend(m: Any, problem: RarDdls, levels: Levels) -> None:
    """(6): the rate of a job on an uplink allows for all spanning jobs there."""
    spanning, sizes = _spanning(levels), problem.instance.cluster.sizes
    keys = (spanning, m.servers, m.slots)
    m.q_cross = pyo.Var(*keys, bounds=(0, 1), doc="1 where j runs and crosses the uplink of s")
    m.crossing = pyo.Constraint(
        *keys,
        rule=lambda m, j, s, t: (
            m.q_cross[j, s, t] >= m.z_used[j, s] - m.z_whole[j, s] + m.z_run[j, t] - 1
        ),
        doc="(6) the two indicators",
    )
    m.q_links = pyo.Var(m.servers, m.slots, bounds=(0, len(spanning)), doc="spanning jobs on s")
    m.links = pyo.Constraint(
        m.servers,
        m.slots,
        rule=lambda m, s, t: (
            (m.q_links[s, t] == pyo.quicksum(m.q_cross[j, s, t] for j in spanning))
            if spanning
            else pyo.Constraint.Skip
        ),
        doc="(6) the sum",
    )
    m.contenders = pyo.Constraint(
        *keys,
        rule=lambda m, j, s, t: (
            _rates_of(m, levels, j, t, lambda n, p: p)
            >= m.q_links[s, t] - min(len(spanning) - 1, sizes[s]) * (1 - m.q_cross[j, s, t])
        ),
        doc="(6) spanning jobs on the busiest server",
    )


def _cut(m: Any, problem: RarDdls, levels: Levels, horizon: int) -> None:
    """Valid inequalities, see the module's docstring."""
    durations = problem.shortest_durations().tolist()
    spanning, count = _spanning(levels), len(m.servers)
    _, goal = _scales(problem)
    for j, t in m.x_start:
        if t + durations[j] > horizon:
            m.x_start[j, t].setub(0)
    m.cut_start = pyo.Constraint(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: (
            pyo.quicksum(m.x_start[j, r] for r in range(max(0, t - durations[j] + 1), t + 1))
            <= m.z_run[j, t]
        ),
    )
    m.cut_started = pyo.Constraint(
        m.jobs,
        m.slots,
        rule=lambda m, j, t: pyo.quicksum(m.x_start[j, r] for r in range(t + 1)) >= m.z_run[j, t],
    )
    m.cut_span = pyo.Constraint(
        _spans(levels),
        rule=lambda m, j, n: (
            pyo.quicksum(m.v_rate[j, n, k, t] for k in range(len(levels[j][n])) for t in m.slots)
            >= -(-goal[j] // levels[j][n][0][1]) * m.z_span[j, n]
        ),
    )
    m.cut_crossing = pyo.Constraint(
        spanning,
        m.slots,
        rule=lambda m, j, t: (
            pyo.quicksum(m.q_cross[j, s, t] for s in m.servers)
            >= _rates_of(m, levels, j, t, lambda n, p: n if n > 1 else 0)
        ),
    )
    if spanning:
        _cut_links(m, levels, spanning, count)


def _few(levels: Levels) -> int:
    """Contenders that no spanning job notices."""
    return min((found[n][0][0] for found in levels for n in found if n > 1), default=0)


def _cut_links(m: Any, levels: Levels, spanning: Sequence[int], count: int) -> None:
    """What the uplinks of the cluster can carry, in rates alone."""
    few = _few(levels)
    m.cut_links = pyo.Constraint(
        m.slots,
        rule=lambda m, t: (
            pyo.quicksum(
                _rates_of(m, levels, j, t, lambda n, p: n / p if n > 1 else 0) for j in spanning
            )
            <= count * m.x_busy[t]
        ),
    )
    m.q_few = pyo.Var(m.slots, bounds=(0, few * count // 2), doc="spanning jobs with p_j <= few")
    m.few = pyo.Constraint(
        m.slots,
        rule=lambda m, t: (
            m.q_few[t]
            == pyo.quicksum(
                _rates_of(m, levels, j, t, lambda n, p: float(n > 1 and p <= few)) for j in spanning
            )
        ),
    )
    m.cut_pairs = pyo.Constraint(
        spanning,
        m.slots,
        rule=lambda m, j, t: (
            m.q_few[t] + _rates_of(m, levels, j, t, lambda n, p: float(n > 1 and p > few))
            <= few * count // 2 * m.x_busy[t]
        ),
    )


def _write_compact(
    m: Any, problem: RarDdls, schedule: Schedule, horizon: int, levels: Levels
) -> None:
    held = _held(problem, schedule, horizon)
    contenders, cross = _contenders(problem, held)
    _write_frame(m, schedule, held)
    place = np.zeros(held.shape[:2], dtype=int)
    for row in sorted(schedule, key=lambda row: row.start, reverse=True):
        place[row.job] = [row.gpus.get(s, 0) for s in m.servers]
    whole = place >= np.array([job.gpus for job in problem.jobs])[:, None]
    for variable, values in (
        (m.y_place, place),
        (m.z_used, place > 0),
        (m.z_whole, whole),
        (m.y_held, held),
        (m.q_cross, cross),
        (m.q_links, cross.sum(axis=0)),
    ):
        _write(variable, dict(np.ndenumerate(values.astype(int))))
    _write(m.z_span, {(j, int(n)): 1 for j, n in enumerate((place > 0).sum(axis=1))})
    rates, few = {}, dict.fromkeys(m.slots, 0)
    for (j, t), n in np.ndenumerate((held > 0).sum(axis=1)):
        for k, (p, _) in enumerate(levels[j].get(int(n), [])):
            if p >= contenders[j, t]:
                rates[j, int(n), k, t] = 1
                few[t] += n > 1 and p <= _few(levels)
                break
    _write(m.v_rate, rates)
    if _spanning(levels):
        _write(m.q_few, few)
    _write(m.x_busy, dict.fromkeys(range(int(schedule.end.max(initial=0))), 1))


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
    m.choose = pyo.Constraint(
        m.jobs,
        rule=lambda m, j: pyo.quicksum(m.x_choose[j, k] for k in m.choices) + m.nothing == 1,
        doc="(11) one schedule",
    )
    m.same = pyo.Constraint(
        m.jobs,
        m.choices,
        rule=lambda m, j, k: m.x_choose[j, k] == m.x_choose[0, k] if j else pyo.Constraint.Skip,
        doc="(12) of all jobs",
    )

    def extract() -> Schedule:
        if not problem.jobs:
            return Schedule.of([])
        chosen = max(range(len(given)), key=lambda k: float(m.x_choose[0, k].value))
        return given[chosen]

    def embed(schedule: Schedule) -> None:
        runs = [k for k in m.choices if _same_runs(given[k], schedule)]
        _write(m.x_choose, {(j, k): 1 for j in m.jobs for k in runs[:1]})
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
    m, given, extract, write = _choice(problem, horizon, schedules)
    ends = [{row.job: row.end for row in schedule} for schedule in given]  # a_j + rho_j
    m.x_makespan = pyo.Var(domain=pyo.NonNegativeReals)
    m.objective = pyo.Objective(expr=m.x_makespan, sense=pyo.minimize)
    m.makespan = pyo.Constraint(
        m.jobs,
        rule=lambda m, j: (
            m.x_makespan >= pyo.quicksum(ends[k][j] * m.x_choose[j, k] for k in m.choices)
        ),
        doc="(10) max_j T_j",
    )

    def embed(schedule: Schedule) -> None:
        write(schedule)
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
    m, given, extract, write = _choice(problem, horizon, schedules)
    held = [_gpus(schedule, k) for k, schedule in enumerate(given)]
    rho = estimates(problem).times.tolist()
    gpus = [(s, d) for s, o in enumerate(problem.instance.cluster.sizes) for d in range(o)]
    m.w_load = pyo.Var(m.jobs, m.choices, gpus, bounds=(0, None), doc="(15) W_jg^k")
    m.objective = pyo.Objective(expr=m.nothing - 1, sense=pyo.minimize, doc="(14)")
    m.loads = pyo.Constraint(
        m.jobs,
        m.choices,
        gpus,
        rule=lambda m, j, k, s, d: (
            m.w_load[j, k, s, d] == (rho[j] / u if (s, d) in held[k][j] else 0) * m.x_choose[j, k]
        ),
        doc="(15) load of a GPU by a job",
    )
    m.limit = pyo.Constraint(
        gpus,
        rule=lambda m, s, d: (
            pyo.quicksum(m.w_load[j, k, s, d] for j in m.jobs for k in m.choices) + m.nothing
            <= (horizon if theta is None else theta)
        ),
        doc="(16) load of a GPU",
    )

    def embed(schedule: Schedule) -> None:
        write(schedule)
        loads = {
            (j, k, s, d): rho[j] / u
            for j in m.jobs
            for k in m.choices
            if m.x_choose[j, k].value
            for s, d in held[k][j]
        }
        _write(m.w_load, loads)

    return Model(m, "pyomo", "workload", exact=False, extract=extract, embed=embed)


def _gpus(schedule: Schedule, k: int) -> dict[int, set[tuple[int, int]]]:
    """G_j(y^k) of every job."""
    if len(schedule) and not schedule.device.size:
        raise ValueError(f"RarDdls: schedules[{k}] has no GPU identities, (15) needs them")
    return {
        row.job: {(s, d) for s, devices in (row.devices or {}).items() for d in devices}
        for row in schedule
    }
