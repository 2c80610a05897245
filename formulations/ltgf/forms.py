"""Declarative models of LTGF in Pyomo; symbols and equations as in `ltgf`.

===========  =====  ===============================================================================
form         exact  what it says
===========  =====  ===============================================================================
``compact``  yes    a user's state in a slot is how many jobs of each class it has active
``literal``  yes    a user's state in a slot is the set of its active jobs
===========  =====  ===============================================================================

Shares depend on the jobs that are active, and so on what the schedule has completed: in every slot,
each user is in exactly one state (a one-hot ``n_state``), for which the shares of its jobs are
known numbers. Jobs of one class get the same share before it is cut at the gang: with a single
user these are the jobs of one weight, so that ``compact`` counts k = 0, ..., n active jobs; with
several users, (8) also needs their demand, and a class is a weight and a gang size. The state
without active jobs belongs to it: a schedule that has completed all jobs is in it.

Both minimise z = max_i F_i / (D_i p_i) and stand for the problem with 1 / z.

A job may only run in its window, which cuts no optimum off: a schedule that is no worse than a
known one of fairness rho0 has F_i <= D_i p_i / rho0 for every job, F_i grows by the job's least
possible share in every slot of its life, so the life is no longer than their quotient.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import pyomo.environ as pyo
from pyomo.environ import quicksum

from ...instances.schedule import Schedule
from ..problem import Model
from ..rows import check_size, constraint, joined, take
from .problem import Ltgf


@dataclass(frozen=True, slots=True)
class _State:
    """One way in which a user's jobs can be active, and the shares that it gives them."""

    count: Mapping[Any, int]  #: active jobs by class (`compact`) or by number (`literal`)
    shares: Mapping[int, Fraction]  #: min(D_i, s_i) by job, of those that can be active in it


def build(problem: Ltgf, form: str) -> Model[Schedule]:
    """Return one of the forms above as a Pyomo model.

    Parameters
    ----------
    problem : Ltgf
    form : str

    Raises
    ------
    ValueError
        For a model beyond 200,000 slots x states x jobs.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="a", gpus=1, work=1), Job(id="b", gpus=2, work=1)]
    >>> model = build(Ltgf(Instance(Cluster.of_sizes([2]), jobs)), "compact")
    >>> model.native.capacity.doc, len(model.native.n_state)
    ('GPUs of the cluster', 9)
    """
    windows = _windows(problem)
    states = {user: _states(problem, jobs, form) for user, jobs in _users(problem).items()}
    slots = range(max(window.stop for window in windows))
    size = len(slots) * sum(len(s) for s in states.values()) * len(problem.jobs)
    check_size("Ltgf", size, "slots x states x jobs", form)
    m = _model(problem, form, windows, states)
    return Model(
        m, "pyomo", form, exact=True, extract=lambda: _extract(problem, m),
        embed=lambda schedule: _embed(problem, m, form, states, schedule),
        value=lambda z: 1 / z if z > 0 else float("inf"),
    )  # fmt: skip


# -- states ---------------------------------------------------------------------------------------


def _users(problem: Ltgf) -> dict[str, list[int]]:
    users: dict[str, list[int]] = {}
    for i in range(len(problem.jobs)):
        users.setdefault(problem._owner(i), []).append(i)
    return users


def _class(problem: Ltgf, job: int, form: str) -> Any:
    """What the job is counted under in a state."""
    if form == "literal":
        return job
    several = len(problem.instance.users) > 1
    return problem.weight(job), problem.jobs[job].gpus if several else None


def _states(problem: Ltgf, jobs: Sequence[int], form: str) -> list[_State]:
    members: dict[Any, list[int]] = {}
    for i in jobs:
        members.setdefault(_class(problem, i, form), []).append(i)
    size = math.prod(len(those) + 1 for those in members.values())
    check_size("Ltgf", size, "states", form)
    every = product(*(range(len(those) + 1) for those in members.values()))
    return [_state(problem, members, dict(zip(members, count, strict=True))) for count in every]


def _state(problem: Ltgf, members: Mapping[Any, Sequence[int]], count: Mapping[Any, int]) -> _State:
    """Shares when the first `count` jobs of each class are active; others of the class get alike.

    The cut at D_i is made afterwards: jobs of a class may differ in their gangs (single user).
    """
    active = [i for kind, k in count.items() for i in members[kind][:k]]
    if not active:
        return _State(count, {})
    total = sum(problem.weight(i) for i in active)
    fair = problem.user_share(problem._owner(active[0]), sum(problem.jobs[i].gpus for i in active))
    shares = {
        i: min(Fraction(problem.jobs[i].gpus), fair * problem.weight(i) / total)
        for kind, k in count.items()
        if k
        for i in members[kind]
    }
    return _State(count, shares)


# -- windows --------------------------------------------------------------------------------------


def _windows(problem: Ltgf) -> list[range]:
    """Slots in which each job may run."""
    known = _round_by_round(problem)
    rho0 = min(problem.rho(known))
    last = problem.horizon
    if last is not None and int(known.end.max()) > last:
        return [range(job.release, last) for job in problem.jobs]
    windows = []
    for i, job in enumerate(problem.jobs):
        life = problem.service(i) / (rho0 * _least_share(problem, i))
        end = job.release + int(life)
        windows.append(range(job.release, end if last is None else min(end, last)))
    return windows


def _least_share(problem: Ltgf, job: int) -> Fraction:
    """A share that the job has in any state, from sum of D / sum of w >= min of D / w."""
    owner = problem._owner(job)
    mates = [i for i in range(len(problem.jobs)) if problem._owner(i) == owner]
    total = sum(problem.weight(i) for i in mates)
    most = problem.user_share(owner, sum(problem.jobs[i].gpus for i in mates))
    rate = most / total  # of quota (or cluster) to all weights
    if len(problem.instance.users) > 1:
        rate = min(rate, *(problem.jobs[i].gpus / problem.weight(i) for i in mates))
    return min(Fraction(problem.jobs[job].gpus), rate * problem.weight(job))


def _round_by_round(problem: Ltgf) -> Schedule:
    """A feasible schedule: in each slot, take what fits by A_i / (F_i + f_i), least first."""
    left = [job.work or 0 for job in problem.jobs]
    fair = [Fraction(0)] * len(left)
    runs: list[list[int]] = []
    while any(left):
        t = len(runs)
        active = [i for i, job in enumerate(problem.jobs) if left[i] and job.release <= t]
        for i, share in problem.shares(active).items():
            fair[i] += share

        def key(i: int) -> tuple[Fraction, int, int]:
            done = (problem.jobs[i].work or 0) - left[i]
            return problem.jobs[i].gpus * done / fair[i], problem.jobs[i].gpus, i

        runs.append([])
        free = problem.instance.cluster.gpus
        for i in sorted(active, key=key):
            if problem.jobs[i].gpus <= free:
                free -= problem.jobs[i].gpus
                left[i] -= 1
                runs[t].append(i)
    return _placed(problem, runs)


# -- the model ------------------------------------------------------------------------------------


def _variables(
    problem: Ltgf, windows: Sequence[range], states: Mapping[str, Sequence[_State]]
) -> Any:
    """A model with sets, variables and the objective."""
    jobs, ways = problem.jobs, list(states.values())
    m: Any = pyo.ConcreteModel(name="LTGF")
    m.jobs = pyo.RangeSet(0, len(jobs) - 1)
    m.slots = pyo.RangeSet(0, max(window.stop for window in windows) - 1)
    runs = [(i, t) for i in m.jobs for t in windows[i]]
    lives = [(i, t) for i in m.jobs for t in m.slots if t >= jobs[i].release]
    cases = [(j, t, s) for j, way in enumerate(ways) for t in m.slots for s in range(len(way))]
    m.runs = pyo.Set(initialize=runs, dimen=2)
    m.lives = pyo.Set(initialize=lives, dimen=2)
    m.cases = pyo.Set(initialize=cases, dimen=3)
    m.x_run = pyo.Var(m.runs, domain=pyo.Binary, doc="(1) 1 where Alloc_i(t) = D_i")
    m.c_complete = pyo.Var(m.runs, domain=pyo.Binary, doc="1 in the last slot of i")
    m.n_state = pyo.Var(m.cases, domain=pyo.Binary, doc="1 for the state of user j in t")
    m.f_share = pyo.Var(m.lives, domain=pyo.NonNegativeReals, doc="min(D_i, s_i) in t")
    m.z_worst = pyo.Var(domain=pyo.NonNegativeReals, doc="max F_i / A_i")
    m.nothing = pyo.Var(bounds=(0, 0), doc="keeps rows of empty windows in the model")
    m.objective = pyo.Objective(expr=m.z_worst, sense=pyo.minimize, doc="1 / min rho_i")
    return m


def _model(
    problem: Ltgf, form: str, windows: Sequence[range], known: Mapping[str, Sequence[_State]]
) -> Any:
    """One rule per equation."""
    m = _variables(problem, windows, known)
    jobs, users, ways = problem.jobs, list(known), list(known.values())

    def done(i: int, t: int) -> Any:
        """1 where job i has completed before slot t."""
        return quicksum(m.c_complete[i, s] for s in windows[i] if s < t)

    @constraint(m, m.jobs, doc="(2) A_i = D_i p_i")
    def service(m: Any, i: int) -> Any:
        return quicksum(m.x_run[i, t] for t in windows[i]) + m.nothing == (jobs[i].work or 0)

    @constraint(m, m.jobs, doc="every job completes once")
    def completion(m: Any, i: int) -> Any:
        return quicksum(m.c_complete[i, t] for t in windows[i]) + m.nothing == 1

    @constraint(m, m.runs, doc="a job completes in a slot in which it runs")
    def completes(m: Any, i: int, t: int) -> Any:
        return m.c_complete[i, t] <= m.x_run[i, t]

    @constraint(m, m.runs, doc="no job runs after its completion")
    def after(m: Any, i: int, t: int) -> Any:
        return m.x_run[i, t] + done(i, t) <= 1

    @constraint(m, m.slots, doc="GPUs of the cluster")
    def capacity(m: Any, t: int) -> Any:
        used = quicksum(jobs[i].gpus * m.x_run[i, t] for i in m.jobs if t in windows[i])
        return used + m.nothing <= problem.instance.cluster.gpus

    @constraint(m, range(len(users)), m.slots, doc="a user is in one state")
    def states(m: Any, j: int, t: int) -> Any:
        return quicksum(m.n_state[j, t, s] for s in range(len(ways[j]))) == 1

    kinds = [(j, kind) for j, way in enumerate(ways) for kind in way[0].count]

    @constraint(m, range(len(kinds)), m.slots, doc="(3), (7), (13) Active(J_i, t)")
    def count(m: Any, k: int, t: int) -> Any:
        j, kind = kinds[k]
        members = [i for i in m.jobs if _class(problem, i, form) == kind]
        members = [i for i in members if problem._owner(i) == users[j]]
        return quicksum(
            state.count[kind] * m.n_state[j, t, s] for s, state in enumerate(ways[j])
        ) == quicksum(1 - done(i, t) for i in members if jobs[i].release <= t)

    @constraint(m, m.lives, doc="(4), (14) min(D_i, s_i) while active")
    def fair(m: Any, i: int, t: int) -> Any:
        j = users.index(problem._owner(i))
        share = quicksum(
            float(state.shares[i]) * m.n_state[j, t, s]
            for s, state in enumerate(ways[j])
            if i in state.shares
        )
        # in `literal`, the states in which i is active are those that name its share
        return m.f_share[i, t] >= share - (0 if form == "literal" else jobs[i].gpus * done(i, t))

    @constraint(m, m.jobs, doc="(5), (15) 1 / rho_i <= z")
    def ratio(m: Any, i: int) -> Any:
        owed = quicksum(m.f_share[i, t] for t in m.slots if t >= jobs[i].release)
        return owed <= m.z_worst * problem.service(i)

    return m


# -- from models to schedules and back ------------------------------------------------------------


def _extract(problem: Ltgf, m: Any) -> Schedule:
    chosen = {key for key in m.runs if m.x_run[key].value > 0.5}
    return _placed(problem, [[i for i in m.jobs if (i, t) in chosen] for t in m.slots])


def _placed(problem: Ltgf, runs: Sequence[Sequence[int]]) -> Schedule:
    """The schedule in which these jobs run in each slot; who goes on keeps its GPUs' nodes."""
    held: dict[int, dict[int, int]] = {}
    rows: list[tuple[int, int, dict[int, int]]] = []
    for t, chosen in enumerate(runs):
        held = {i: held[i] for i in chosen if i in held}
        free = list(problem.instance.cluster.sizes)
        for nodes in held.values():
            for n, count in nodes.items():
                free[n] -= count
        for i in chosen:
            if i not in held:
                held[i] = take(problem.jobs[i].gpus, free)
        rows += [(i, t, held[i]) for i in chosen]
    return Schedule.of(joined(rows))


def _embed(
    problem: Ltgf, m: Any, form: str, states: Mapping[str, Sequence[_State]], schedule: Schedule
) -> None:
    """Write a schedule; what lies outside the windows is lost, and the model then not satisfied."""
    for variable in (m.x_run, m.c_complete, m.n_state, m.f_share):
        for key in variable:
            variable[key].set_value(0)
    end = [0] * len(problem.jobs)
    for row in schedule:
        end[row.job] = max(end[row.job], row.end)
        for t in range(row.start, row.end):
            if (row.job, t) in m.runs:
                held = sum(row.gpus.values())
                x = m.x_run[row.job, t]
                x.set_value(x.value + held / problem.jobs[row.job].gpus, skip_validation=True)
    for i, stop in enumerate(end):
        if (i, stop - 1) in m.runs:
            m.c_complete[i, stop - 1].set_value(1)
    fair = [Fraction(0)] * len(problem.jobs)
    for t in m.slots:
        alive = [i for i, job in enumerate(problem.jobs) if job.release <= t < end[i]]
        for i, share in problem.shares(alive).items():
            m.f_share[i, t].set_value(float(share))
            fair[i] += share
        for j, (user, ways) in enumerate(states.items()):
            mine = Counter(_class(problem, i, form) for i in alive if problem._owner(i) == user)
            now = {kind: mine[kind] for kind in ways[0].count}
            m.n_state[j, t, [way.count for way in ways].index(now)].set_value(1)
    m.nothing.set_value(0)
    m.z_worst.set_value(float(max(f / problem.service(i) for i, f in enumerate(fair))))
