"""Declarative models of IRMP in Pyomo; symbols and equations as in `irmp`.

==============  ==========  ====================================================================
form            optimum     what it says
==============  ==========  ====================================================================
``columns``     exact       (5): choose one run a job from all that are worth choosing
``literal``     exact       (3) and (4) slot by slot, with columns of completion times
``dual``        a bound     (6), the dual of (5) without (5d): prices of nodes and slots
==============  ==========  ====================================================================

All need a horizon. Slots are 0 .. horizon - 1; slot t of these models is the paper's slot t + 1.
None knows of preemption. ``literal`` and ``columns`` are statements and oracles for small cases:
the number of columns is exponential in nodes and workers.

- (3i) is read for nodes that hold parameter servers of the job, W7.
- (3j) says that zeta is 0 on several nodes; that it is 1 on one follows, as that is no slower.
- (3k) is divided by n_j: worker-slots are integers, so the needed ones may be rounded up, and no
  solver's tolerance makes a mini-batch of a part of one. Which n_j counts, by zeta and by the type
  of the workers, is one choice, ``v_rate``.
- (3m), (3n): one of the job's slots is its first, ``x_start``, and one its last, ``x_end``.
- (3o) are the variables' domains.

Which runs are worth choosing
-----------------------------
A run can be cut down, and stay one, with the same end and nothing more on any node: to the
parameter servers of one node, and no more of these than (3i) asks for; to so few workers that one
less would take a slot longer (of those outside the parameter servers' node one can always go);
and to the last slots that it needs. What is left is a column. `embed` writes the run itself where
it is one, and one that it can be cut down to where it is not: both earn the same.

With ``problem.alone`` each form has one more row per user, and ``dual`` a variable nu for it:

    min sum mu + sum C eta - sum alone nu,  mu_j >= (1 + nu_u) f_j - sum eta y - sum eta z.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyomo.environ as pyo

from ...instances.schedule import Schedule, Segment
from ..problem import Model, NoModel
from ..rows import check_size, constraint_of, write
from .problem import Irmp, divisions, parameter_servers

#: jobs x nodes x slots of "literal", and runs of the other forms: half a minute to build
MODEL_LIMIT = 50_000


def build(problem: Irmp, form: str) -> Model[Schedule]:
    """Return one of the forms above as a Pyomo model.

    Parameters
    ----------
    problem : Irmp
    form : str

    Raises
    ------
    ValueError
        For a problem without horizon or with preemption, or more than 50,000 jobs x nodes x slots
        or columns.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> job = ParameterServerJob(id="a", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), [job]), horizon=4)
    >>> model = build(problem, "columns")
    >>> model.native.workers.doc, len(model.native.x_run)
    ('(5a) workers of a server', 4)
    """
    if problem.horizon is None:
        raise ValueError(f"Irmp: horizon=None, form {form!r} needs one")
    if problem.preemptive:
        raise ValueError(f"Irmp: preemptive=True, which form {form!r} does not know")
    forms: dict[str, Callable[..., Model[Schedule]]] = {
        "columns": _columns,
        "literal": _literal,
        "dual": _dual,
    }
    return forms[form](problem, problem.horizon)


def _row(doc: str, rule: Callable[..., Any], *sets: Any) -> Any:
    return constraint_of(rule, *sets, doc=doc)


def _add_sharing(m: Any, problem: Irmp, earned: Mapping[str, Iterable[Any]]) -> None:
    """Rows that let no user earn less than alone; `earned` has the terms of each user."""
    users, doc = list(problem.alone), "utility of a user's jobs"
    m.v_earned = pyo.Var(users, domain=pyo.Reals, doc=doc)
    m.earned = _row(doc, lambda m, u: m.v_earned[u] == pyo.quicksum(earned.get(u, ())), users)
    doc = "sharing incentive, which (3) lacks (W5)"
    m.sharing = _row(doc, lambda m, u: m.v_earned[u] >= problem.alone[u], users)


def _write_sharing(m: Any, problem: Irmp, schedule: Schedule) -> None:
    write(m.v_earned, problem.earnings(schedule))


# -- columns ---------------------------------------------------------------------------------------


class RunColumn(NamedTuple):
    """A run of a job, with the workers and parameter servers that it takes of each node."""

    job: int
    start: int
    end: int
    workers: tuple[int, ...]
    ps: tuple[int, ...]


def columns(problem: Irmp, horizon: int) -> list[RunColumn]:
    """Return the runs of all jobs that are worth choosing, by job, start and size."""
    found: list[RunColumn] = []
    for j in range(len(problem.jobs)):
        first = problem.earliest(j)
        shapes: dict[tuple[int, tuple[int, ...], int], int] = {}
        for slots, workers, host, ps in _shapes(problem, j, horizon - first):
            key = slots, workers, host
            shapes[key] = min(ps, shapes.get(key, ps))
            if len(found) + len(shapes) > MODEL_LIMIT:
                _refuse_columns()
        for (slots, workers, host), ps in shapes.items():
            held = tuple(ps if s == host else 0 for s in range(len(workers)))
            starts = range(first, horizon - slots + 1)
            if len(found) + len(starts) > MODEL_LIMIT:
                _refuse_columns()
            found += [RunColumn(j, start, start + slots, workers, held) for start in starts]
    return sorted(found)


def _refuse_columns() -> None:
    raise NoModel(f"Irmp: there are more than {MODEL_LIMIT} runs to choose from, too many")


def _shapes(problem: Irmp, j: int, limit: int) -> Iterator[tuple[int, tuple[int, ...], int, int]]:
    """(slots, workers of each node, host, its PSs) of up to `limit` slots."""
    servers = problem.instance.cluster.nodes
    for model in problem.models:
        there = sum(node.gpus for node in servers if node.model == model)
        for nodes in (1, 2):
            before = limit + 1
            for workers in range(1, min(problem.jobs[j].gpus, there) + 1):
                slots = problem.duration(j, workers, nodes, model)
                if slots >= before:
                    continue
                before = slots
                for host in range(len(servers)):
                    for held, ps in _holdings(problem, host, workers, nodes, model):
                        yield slots, held, host, ps


def _holdings(
    problem: Irmp, host: int, workers: int, nodes: int, model: str
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Ways to hold so many workers of type `model`, PSs on node `host`: central, or spread."""
    servers = problem.instance.cluster.nodes
    here = servers[host]
    most = here.gpus if here.model == model else 0
    if nodes == 1:
        if workers <= most and here.ps:
            yield tuple(workers if s == host else 0 for s in range(len(servers))), 1
        return
    room = [node.gpus if s != host and node.model == model else 0 for s, node in enumerate(servers)]
    for inside in range(min(workers - 1, most) + 1):
        outside = workers - inside
        ps = parameter_servers(outside, problem.worker_bandwidth, problem.ps_bandwidth)
        if ps <= here.ps:
            for rest in divisions(outside, room):
                yield tuple(n + inside * (s == host) for s, n in enumerate(rest)), ps


class _Cut:
    """Finds the column that a run is, or can be cut down to."""

    def __init__(self, servers: int, found: Sequence[RunColumn]) -> None:
        self.servers = servers
        self.ends: dict[tuple[int, int], list[int]] = defaultdict(list)
        for i, column in enumerate(found):
            self.ends[column.job, column.end].append(i)
        self.found = found

    def __call__(self, row: Segment) -> int | None:
        """Return the number of the column, the largest where there are several."""
        held = [[0] * self.servers, [0] * self.servers]
        for kind, counts in zip(held, (row.gpus, row.ps or {}), strict=True):
            for s, count in counts.items():
                kind[s] += count
        most = (-row.start, *held[0], *held[1])
        within = [
            (sum(column.workers), -column.start, i)
            for i in self.ends.get((row.job, row.end), ())
            for column in [self.found[i]]
            if all(
                a <= b
                for a, b in zip((-column.start, *column.workers, *column.ps), most, strict=True)
            )
        ]
        return max(within)[-1] if within else None


def _columns(problem: Irmp, horizon: int) -> Model[Schedule]:
    """(5) over all nodes."""
    found = columns(problem, horizon)
    m: Any = pyo.ConcreteModel(name="IRMP, columns")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    m.x_run = pyo.Var(range(len(found)), domain=pyo.Binary, doc="(5d) o_j with a schedule")
    m.x_job = pyo.Var(m.jobs, domain=pyo.Binary, doc="(4a) o_j")
    worth = [problem.value(column.job, column.end) for column in found]
    earns = pyo.quicksum(worth[i] * m.x_run[i] for i in m.x_run)
    m.objective = pyo.Objective(expr=earns, sense=pyo.maximize, doc="(5)")
    rows = _capacity_terms(found)
    for kind, label, what in ((0, "workers", "(5a) workers"), (1, "ps", "(5b) PSs")):
        keys = sorted(key[1:] for key in rows if key[0] == kind)
        setattr(m, label, _row(f"{what} of a server", _capacity(problem, rows, kind), keys))
    runs: dict[int, list[int]] = {j: [] for j in m.jobs}
    for i, column in enumerate(found):
        runs[column.job].append(i)
    m.one = _row(
        "(5c) at most one schedule",
        lambda m, j: m.x_job[j] == pyo.quicksum(m.x_run[i] for i in runs[j]),
        m.jobs,
    )
    _add_all_jobs(m, problem)
    earned: dict[str, list[Any]] = defaultdict(list)
    for i, column in enumerate(found):
        earned[problem.user(column.job)].append(worth[i] * m.x_run[i])
    _add_sharing(m, problem, earned)

    def extract() -> Schedule:
        return Schedule.of(_segment(found[i]) for i in m.x_run if m.x_run[i].value > 0.5)

    return Model(m, "pyomo", "columns", True, extract, _writer(m, problem, found))


def _add_all_jobs(m: Any, problem: Irmp) -> None:
    if not problem.optional:
        doc = "(3) has no o_j: every job runs"
        m.all_jobs = _row(doc, lambda m, j: m.x_job[j] == 1, m.jobs)


def _capacity_terms(
    found: Sequence[RunColumn],
) -> dict[tuple[int, int, int], list[tuple[int, int]]]:
    """(count, column) by kind (0 workers, 1 PSs), node and slot."""
    rows: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, column in enumerate(found):
        for count, key in _uses(column):
            rows[key].append((count, i))
    return rows


def _uses(column: RunColumn) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """How much a run takes, by kind (0 workers, 1 PSs), node and slot."""
    for kind, held in enumerate((column.workers, column.ps)):
        for g, count in enumerate(held):
            for t in range(column.start, column.end) if count else ():
                yield count, (kind, g, t)


def _capacity(problem: Irmp, rows: Any, kind: int) -> Callable[..., Any]:
    def rule(m: Any, s: int, t: int) -> Any:
        held = pyo.quicksum(count * m.x_run[i] for count, i in rows[kind, s, t])
        return held <= _there(problem, s)[kind]

    return rule


def _there(problem: Irmp, s: int) -> tuple[int, int]:
    """Workers and PSs of a node."""
    node = problem.instance.cluster.nodes[s]
    return node.gpus, node.ps


def _writer(m: Any, problem: Irmp, found: Sequence[RunColumn]) -> Callable[[Schedule], None]:
    """The `embed` of (5): a run that is no column has o_j = 1 and no schedule."""
    cut = _Cut(len(problem.instance.cluster.nodes), found)

    def embed(schedule: Schedule) -> None:
        runs: dict[int, int] = defaultdict(int)
        jobs: dict[int, int] = defaultdict(int)
        for row in schedule:
            jobs[row.job] += 1
            i = cut(row)
            if i is not None:
                runs[i] += 1
        write(m.x_run, runs)
        write(m.x_job, jobs)
        _write_sharing(m, problem, schedule)

    return embed


def _segment(column: RunColumn) -> Segment:
    """The run of a column over single nodes."""
    workers = dict(enumerate(column.workers))
    ps = {s: count for s, count in enumerate(column.ps) if count}
    gpus = {s: count for s, count in workers.items() if count or s in ps}
    return Segment(column.job, column.start, column.end, gpus, ps=ps)


# -- (6), prices -----------------------------------------------------------------------------------


def _dual(problem: Irmp, horizon: int) -> Model[Schedule]:
    """(6); `embed` writes prices of 0, at which every job earns its most."""
    found = columns(problem, horizon)
    m = _dual_model(problem, found)

    def extract() -> Schedule:
        raise ValueError("Irmp: a solution of form 'dual' are prices, and nobody runs")

    def embed(schedule: Schedule) -> None:
        for variable in m.component_objects(pyo.Var):
            write(variable, {})
        for column in found:
            worth = problem.value(column.job, column.end)
            m.mu[column.job].set_value(max(m.mu[column.job].value, worth))

    return Model(m, "pyomo", "dual", False, extract, embed, relaxation=True)


def _dual_model(problem: Irmp, found: Sequence[RunColumn]) -> Any:
    m: Any = pyo.ConcreteModel(name="IRMP, dual")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    keys = sorted(_capacity_terms(found))
    prices = pyo.NonNegativeReals
    signs = prices if problem.optional else pyo.Reals
    m.mu = pyo.Var(m.jobs, domain=signs, doc="(6b) what a job earns")
    m.eta = pyo.Var(keys, domain=prices, doc="(6b) price of a worker (0) or PS (1) in a slot")
    m.nu = pyo.Var(list(problem.alone), domain=prices, doc="price of the sharing incentive")
    m.objective = pyo.Objective(
        expr=pyo.quicksum(m.mu[j] for j in m.jobs)
        + pyo.quicksum(_there(problem, s)[kind] * m.eta[kind, s, t] for kind, s, t in keys)
        - pyo.quicksum(problem.alone[u] * m.nu[u] for u in m.nu),
        sense=pyo.minimize,
        doc="(6)",
    )

    def earns(m: Any, i: int) -> Any:
        column = found[i]
        worth, user = problem.value(column.job, column.end), problem.user(column.job)
        cost = pyo.quicksum(count * m.eta[key] for count, key in _uses(column))
        share = worth * m.nu[user] if user in problem.alone else 0
        return m.mu[column.job] + cost - share >= worth

    m.earns = _row("(6a) no run earns more", earns, range(len(found)))
    return m


# -- (3) slot by slot ------------------------------------------------------------------------------


def _literal(problem: Irmp, horizon: int) -> Model[Schedule]:
    """(3), or (4) where jobs are optional."""
    size = len(problem.jobs) * len(problem.instance.cluster.nodes) * horizon
    check_size("Irmp", size, "jobs x servers x slots", "literal", MODEL_LIMIT)
    m = _literal_variables(problem, horizon)
    _add_capacity(m, problem)
    _add_holding(m, problem)
    _add_placement(m, problem)
    _add_times(m, problem)
    _add_training(m, problem, horizon)
    _add_all_jobs(m, problem)
    earned: dict[str, list[Any]] = defaultdict(list)
    for j, t in m.x_end:
        earned[problem.user(j)].append(problem.value(j, t + 1) * m.x_end[j, t])
    _add_sharing(m, problem, earned)

    def extract() -> Schedule:
        return Schedule.of(_literal_segment(m, j) for j in m.jobs if m.x_job[j].value > 0.5)

    embed = partial(_write_literal, m, problem)
    return Model(m, "pyomo", "literal", True, extract, embed)


def _literal_variables(problem: Irmp, horizon: int) -> Any:
    """(3o), and the objective."""
    m: Any = pyo.ConcreteModel(name="IRMP, literal")
    m.jobs = pyo.RangeSet(0, len(problem.jobs) - 1)
    m.servers = pyo.RangeSet(0, len(problem.instance.cluster.nodes) - 1)
    m.slots = pyo.RangeSet(0, horizon - 1)
    m.models = pyo.Set(initialize=problem.models)
    keys = (m.jobs, m.servers, m.slots)
    m.y_workers = pyo.Var(*keys, domain=pyo.NonNegativeIntegers, doc="(3o) y_js(t)")
    m.z_ps = pyo.Var(*keys, domain=pyo.NonNegativeIntegers, doc="(3o) z_js(t)")
    m.zeta = pyo.Var(m.jobs, domain=pyo.Binary, doc="(3o) all on one server")
    m.x_job = pyo.Var(m.jobs, domain=pyo.Binary, doc="(4a) o_j")
    m.x_start = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="(3o) 1 in slot t^-_j")
    m.x_end = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="(3o) 1 in slot t^+_j")
    m.z_run = pyo.Var(m.jobs, m.slots, domain=pyo.Binary, doc="1 from t^-_j to t^+_j")
    m.z_host = pyo.Var(m.jobs, m.servers, domain=pyo.Binary, doc="1{z_js > 0}")
    m.z_used = pyo.Var(m.jobs, m.servers, domain=pyo.Binary, doc="1{y_js + z_js > 0}")
    doc = "n_j: type of the workers, and zeta"
    m.v_rate = pyo.Var(m.jobs, m.models, (0, 1), domain=pyo.Binary, doc=doc)
    m.v_ps_type = pyo.Var(m.jobs, m.models, domain=pyo.Binary, doc="type of the PSs")
    earns = pyo.quicksum(problem.value(j, t + 1) * m.x_end[j, t] for j, t in m.x_end)
    doc = "(3) with completion times as columns"
    m.objective = pyo.Objective(expr=earns, sense=pyo.maximize, doc=doc)
    return m


def _on_all(m: Any, held: Any, j: int, t: int) -> Any:
    """Workers or PSs of a job in a slot."""
    return pyo.quicksum(held[j, s, t] for s in m.servers)


def _add_capacity(m: Any, problem: Irmp) -> None:
    """(3a)-(3d); what is idle of the other users' quotas may be used, which is all there is."""
    nodes = problem.instance.cluster.nodes
    mine = {u: [j for j in m.jobs if problem.user(j) == u] for u in problem.users}

    def quota(held: Any, kind: int) -> Callable[..., Any]:
        def rule(m: Any, u: str, k: str, t: int) -> Any:
            of = problem.quotas[:, problem.models.index(k), kind].tolist()
            servers = [s for s in m.servers if nodes[s].model == k]
            use = {v: pyo.quicksum(held[j, s, t] for j in mine[v] for s in servers) for v in mine}
            idle = (of[n] - use[v] for n, v in enumerate(problem.users) if v != u)
            row = use[u] <= of[problem.users.index(u)] + pyo.quicksum(idle)
            return row if not isinstance(row, bool) else pyo.Constraint.Skip

        return rule

    sets = list(problem.users), m.models, m.slots
    m.quota_workers = _row("(3a) a quota, and what others leave", quota(m.y_workers, 0), *sets)
    m.quota_ps = _row("(3b) a quota, and what others leave", quota(m.z_ps, 1), *sets)
    if not problem.jobs:
        return
    keys = m.servers, m.slots
    m.workers = _row(
        "(3c) workers of a server",
        lambda m, s, t: pyo.quicksum(m.y_workers[j, s, t] for j in m.jobs) <= nodes[s].gpus,
        *keys,
    )
    m.ps = _row(
        "(3d) PSs of a server",
        lambda m, s, t: pyo.quicksum(m.z_ps[j, s, t] for j in m.jobs) <= nodes[s].ps,
        *keys,
    )


def _add_holding(m: Any, problem: Irmp) -> None:
    """(3e)-(3h)."""
    most = _most(problem)

    def keep(kind: int, sign: int) -> Callable[..., Any]:
        held = (m.y_workers, m.z_ps)[kind]

        def rule(m: Any, j: int, s: int, t: int) -> Any:
            if t == 0:
                return pyo.Constraint.Skip
            change = sign * (held[j, s, t] - held[j, s, t - 1])
            return change <= most(j, s)[kind] * (2 - m.z_run[j, t] - m.z_run[j, t - 1])

        return rule

    keys, jobs = (m.jobs, m.servers, m.slots), (m.jobs, m.slots)
    m.chunks = _row(
        "(3e) a chunk a worker, at least",
        lambda m, j, t: _on_all(m, m.y_workers, j, t) <= problem.jobs[j].gpus,
        *jobs,
    )
    m.keep_workers_up = _row("(3f) no workers are added", keep(0, 1), *keys)
    m.keep_workers_down = _row("(3f) no workers are dropped", keep(0, -1), *keys)
    m.host = _row(
        "(3g) a PS while it runs", lambda m, j, t: _on_all(m, m.z_ps, j, t) >= m.z_run[j, t], *jobs
    )
    m.keep_ps_up = _row("(3h) no PSs are added", keep(1, 1), *keys)
    m.keep_ps_down = _row("(3h) no PSs are dropped", keep(1, -1), *keys)


def _most(problem: Irmp) -> Callable[[int, int], tuple[int, int]]:
    """Workers and PSs that a job can have on a node."""
    nodes = problem.instance.cluster.nodes
    return lambda j, s: (min(problem.jobs[j].gpus, nodes[s].gpus), nodes[s].ps)


def _add_placement(m: Any, problem: Irmp) -> None:
    """(3i), (3j), and Section 6."""
    nodes, most = problem.instance.cluster.nodes, _most(problem)
    keys, pairs = (m.jobs, m.servers, m.slots), (m.jobs, m.servers)

    def bandwidth(m: Any, j: int, s: int, t: int) -> Any:
        elsewhere = pyo.quicksum(m.y_workers[j, v, t] for v in m.servers if v != s)
        allowed = problem.ps_bandwidth * m.z_ps[j, s, t]
        free = problem.jobs[j].gpus * (1 - m.z_host[j, s])
        return problem.worker_bandwidth * (elsewhere - free) <= allowed

    m.bandwidth = _row("(3i) PSs serve all workers on other servers, W7", bandwidth, *keys)
    m.hosts = _row(
        "(3i) servers with PSs",
        lambda m, j, s, t: m.z_ps[j, s, t] <= most(j, s)[1] * m.z_host[j, s],
        *keys,
    )
    m.used_workers = _row(
        "(3j) servers with workers",
        lambda m, j, s, t: m.y_workers[j, s, t] <= most(j, s)[0] * m.z_used[j, s],
        *keys,
    )
    m.used_ps = _row(
        "(3j) servers with PSs", lambda m, j, s: m.z_host[j, s] <= m.z_used[j, s], *pairs
    )
    m.central = _row(
        "(3j) one server only where zeta is 1",
        lambda m, j: (
            pyo.quicksum(m.z_used[j, s] for s in m.servers)
            <= 1 + (len(nodes) - 1) * (1 - m.zeta[j])
        ),
        m.jobs,
    )
    m.worker_type = _row(
        "Section 6: workers of one type",
        lambda m, j, s, t: (
            m.y_workers[j, s, t]
            <= most(j, s)[0] * pyo.quicksum(m.v_rate[j, nodes[s].model, c] for c in (0, 1))
        ),
        *keys,
    )
    m.ps_type = _row(
        "Section 6: PSs of one type",
        lambda m, j, s: m.z_host[j, s] <= m.v_ps_type[j, nodes[s].model],
        *pairs,
    )
    m.one_ps_type = _row(
        "Section 6: PSs of one type",
        lambda m, j: pyo.quicksum(m.v_ps_type[j, k] for k in m.models) <= 1,
        m.jobs,
    )


def _add_times(m: Any, problem: Irmp) -> None:
    """(3l)-(3n)."""
    most, held, jobs = _most(problem), (m.y_workers, m.z_ps), (m.jobs, m.slots)

    def once(moments: Any) -> Callable[..., Any]:
        return lambda m, j: pyo.quicksum(moments[j, t] for t in m.slots) == m.x_job[j]

    m.release = _row(
        "(3l) not before the release, W2",
        lambda m, j, t: m.z_run[j, t] == 0 if t < problem.earliest(j) else pyo.Constraint.Skip,
        *jobs,
    )
    m.outside = _row(
        "(3l) nothing outside the run",
        lambda m, j, s, t, kind: held[kind][j, s, t] <= most(j, s)[kind] * m.z_run[j, t],
        *(m.jobs, m.servers, m.slots, (0, 1)),
    )
    m.between = _row(
        "(3m), (3n) from the first slot to the last",
        lambda m, j, t: (
            m.z_run[j, t] == m.x_start[j, t] + (m.z_run[j, t - 1] - m.x_end[j, t - 1] if t else 0)
        ),
        *jobs,
    )
    m.occupied = _row(
        "(3m), (3n) workers in all slots of the run",
        lambda m, j, t: _on_all(m, m.y_workers, j, t) >= m.z_run[j, t],
        *jobs,
    )
    m.last = _row("(3m) one last slot", once(m.x_end), m.jobs)
    m.first = _row("(3n) one first slot", once(m.x_start), m.jobs)


def _add_training(m: Any, problem: Irmp, horizon: int) -> None:
    """(3k), and which n_j it has; more worker-slots than the job can get are one too many."""

    def needed(j: int, k: str, zeta: int) -> int:
        return min(problem.duration(j, 1, 2 - zeta, k), problem.jobs[j].gpus * horizon + 1)

    rates = [(k, c) for k in m.models for c in (0, 1)]

    def training(m: Any, j: int) -> Any:
        least = pyo.quicksum(needed(j, k, c) * m.v_rate[j, k, c] for k, c in rates)
        return pyo.quicksum(m.y_workers[j, s, t] for s in m.servers for t in m.slots) >= least

    m.rate = _row(
        "(1) one of the rates",
        lambda m, j: pyo.quicksum(m.v_rate[j, k, c] for k, c in rates) == m.x_job[j],
        m.jobs,
    )
    m.rate_central = _row(
        "(1) by zeta",
        lambda m, j: pyo.quicksum(m.v_rate[j, k, 1] for k in m.models) == m.zeta[j],
        m.jobs,
    )
    m.training = _row("(3k) worker-slots for all mini-batches, W9", training, m.jobs)


def _literal_segment(m: Any, j: int) -> Segment:
    """The run of a job, as it is in its first slot."""
    start = max(m.slots, key=lambda t: float(m.x_start[j, t].value))
    end = max(m.slots, key=lambda t: float(m.x_end[j, t].value)) + 1
    workers = {s: round(m.y_workers[j, s, start].value) for s in m.servers}
    ps = {s: round(m.z_ps[j, s, start].value) for s in m.servers}
    held = {s: count for s, count in workers.items() if count or ps[s]}
    return Segment(j, start, end, held, ps={s: count for s, count in ps.items() if count})


def _write_literal(m: Any, problem: Irmp, schedule: Schedule) -> None:
    """What a schedule says of every slot up to the horizon; no end where that is later."""
    found: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
    nodes = problem.instance.cluster.nodes
    for row in schedule:
        j, ps = row.job, {s: count for s, count in (row.ps or {}).items() if count}
        found["x_job"][j] += 1
        found["x_start"][j, row.start] += 1
        found["x_end"][j, row.end - 1] += 1
        for t in range(row.start, row.end):
            found["z_run"][j, t] = 1
            for s, count in row.gpus.items():
                found["y_workers"][j, s, t] += count
                found["z_ps"][j, s, t] += ps.get(s, 0)
        used = [s for s in row.gpus if row.gpus[s] or ps.get(s)]
        found["z_used"].update(((j, s), 1) for s in used)
        found["z_host"].update(((j, s), 1) for s in ps)
        zeta = found["zeta"][j] = int(len(used) == 1)
        for s in [s for s in used if row.gpus[s]][:1]:
            found["v_rate"][j, nodes[s].model, zeta] = 1
        for s in list(ps)[:1]:
            found["v_ps_type"][j, nodes[s].model] = 1
    for name in (
        "y_workers", "z_ps", "zeta", "x_job", "x_start", "x_end", "z_run", "z_host", "z_used",
        "v_rate", "v_ps_type",
    ):  # fmt: skip
        write(m.component(name), found[name])
    _write_sharing(m, problem, schedule)
