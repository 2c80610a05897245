"""What a schedule of IRMP means to users: gains, revenue fairness, payments; use of the cluster.

Source: N. Wang, R. Zhou, L. Han, H. Chen, Z. Li, "Online Scheduling of Distributed Machine Learning
Jobs for Incentivizing Sharing in Multi-Tenant Systems", IEEE TC 72(3), 2023, Sections 3.2 and 5.1.

A user gains g_u: the utilities of all its jobs, and its share of what all jobs of stage 2 pay, less
what its own pay. The paper leaves a user's share of its own payments out (errata W31); with it,
gains sum up to the revenue.

:func:`settle` finds payments and incomes of a schedule once more, slot by slot, with other code
than the solvers' accounts, so that the two check each other: :func:`money_violations`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...formulations.irmp.problem import Irmp
from ...instances.arrays import Floats
from ...instances.schedule import Schedule, Segment
from ...solvers.facts import RevenueFacts
from ...solvers.result import Result

#: how far from equal sums of money may be, relative to all payments or to 1
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """Payments of jobs, and the incomes of users.

    Parameters
    ----------
    payments : mapping of job id to float
        c_jw + c_jp of the jobs of stage 2; no other job pays.
    incomes : mapping of user to float
        rho^u over all jobs and slots, the user's own jobs included.
    """

    payments: Mapping[str, float]
    incomes: Mapping[str, float]


NOTHING = Money(payments={}, incomes={})


def money_of(result: Result[Any]) -> Money:
    """Return what a solver says of payments and incomes; nothing where it has none.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> from gangsched.solvers.irmp.astraea import batch_sche
    >>> money_of(batch_sche(reduced_problem(5))).payments
    {}
    """
    facts = RevenueFacts.of(result)
    return Money(payments=facts.payments, incomes=facts.incomes)


# --- fairness -------------------------------------------------------------------------------------


def gains(problem: Irmp, schedule: Schedule, money: Money = NOTHING) -> dict[str, float]:
    """Return g_u of each user: utilities of its jobs, plus its income, less its jobs' payments.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> gains(reduced_problem(5), Schedule.of([]))
    {'u0': 0.0, 'u1': 0.0}
    """
    owner = {job.id: problem.user(j) for j, job in enumerate(problem.jobs)}
    found = {}
    for user, own in problem.earnings(schedule).items():
        paid = [-cost for job, cost in money.payments.items() if owner[job] == user]
        found[user] = math.fsum([own, money.incomes.get(user, 0.0), *paid])
    return found


def revenue_fairness(problem: Irmp, schedule: Schedule, money: Money = NOTHING) -> dict[str, float]:
    """Return alpha_u: a user's share of the revenue over its share of workers and PSs.

    Notes
    -----
    alpha_u = g_u / sum f / ((q^u_w / sum q_w + q^u_p / sum q_p) / 2), true utilities.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> revenue_fairness(reduced_problem(5), Schedule.of([]))
    {}
    """
    revenue = problem.objective(schedule)
    if not revenue > 0:
        return {}
    quotas = problem.quotas.sum(axis=1)
    shares = (quotas / np.maximum(quotas.sum(axis=0), 1)).mean(axis=1)
    gained = gains(problem, schedule, money)
    return {
        user: gained[user] / revenue / share
        for user, share in zip(problem.users, shares.tolist(), strict=True)
        if share > 0
    }


def fairness_variance(problem: Irmp, schedule: Schedule, money: Money = NOTHING) -> float | None:
    """Return the variance of alpha_u over users; None where there are no ratios.

    Notes
    -----
    Of the population: the mean of the squared distances to the mean.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> fairness_variance(reduced_problem(5), Schedule.of([])) is None
    True
    """
    ratios = list(revenue_fairness(problem, schedule, money).values())
    return float(np.var(ratios)) if ratios else None


def revenue_without_losses(problem: Irmp, schedule: Schedule) -> float:
    """Return the true revenue of the jobs that are worth something.

    Notes
    -----
    It is the objective of a schedule too, that without the other jobs where these are optional; so
    bounds of the objective hold for it.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> revenue_without_losses(reduced_problem(5), Schedule.of([]))
    0.0
    """
    return math.fsum(max(worth, 0.0) for worth in problem.worths(schedule).values())


# --- use of the cluster ---------------------------------------------------------------------------


def makespan(schedule: Schedule) -> int:
    """Return when the last run ends; 0 without one.

    Examples
    --------
    >>> makespan(Schedule.of([Segment(0, 8, 10, {0: 2}, ps={0: 1})]))
    10
    """
    return int(schedule.end.max(initial=0))


def utilisation(problem: Irmp, schedule: Schedule) -> Floats:
    """Return which shares of all workers, and of all PSs, are in use over time.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> utilisation(reduced_problem(5), Schedule.of([])).shape
    (2, 0)
    """
    end = makespan(schedule)
    change = np.zeros((2, end + 1), dtype=np.int64)
    lengths = np.diff(schedule.ptr)
    for row, held in zip(change, (schedule.gpus, schedule.ps), strict=True):
        np.add.at(row, np.repeat(schedule.start, lengths), held)
        np.add.at(row, np.repeat(schedule.end, lengths), -held)
    nodes = problem.instance.cluster.nodes
    there = [sum(node.gpus for node in nodes), sum(node.ps for node in nodes)]
    used: Floats = change.cumsum(axis=1)[:, :end] / np.maximum(there, 1)[:, None]
    return used


# --- money ----------------------------------------------------------------------------------------


def settle(
    problem: Irmp, schedule: Schedule, shared: Collection[str], *, theta: ArrayLike,
    scale: float = 1.0,
) -> Money:  # fmt: skip
    """Return payments and incomes of a schedule, of which the jobs of stage 2 are known.

    Notes
    -----
    A slot of a run costs theta^(h / C) - 1 for each worker, and each PS, h what jobs accepted
    before hold of the C of its type in that slot, (8). Each user gets of it as large a share as it
    has of what is left of all quotas when the jobs of stage 1 have theirs, (2) and (11). Rounds do
    not matter: they have no slot in common. O(slots in use, times users).

    Examples
    --------
    The second job finds half of two nodes in use, and pays sqrt(16) - 1 twice a slot; the user of
    the first job has nothing left to share.

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, User
    >>> jobs = [ParameterServerJob(id=i, user="u", gpus=1, release=1, epochs=1, minibatches=1,
    ...                            rates=(1, 1), utility=Linear(-1, 50)) for i in "ab"]
    >>> cluster = Cluster([Node("s1", 1, ps=1), Node("s2", 1, ps=1)])
    >>> problem = Irmp(Instance(cluster, jobs, [User("u"), User("v")]), owners=["u", "v"])
    >>> runs = Schedule.of([Segment(j, 2, 3, {j: 1}, ps={j: 1}) for j in (0, 1)])
    >>> settle(problem, runs, {"b"}, theta=[[16, 16]])
    Money(payments={'b': 6.0}, incomes={'u': 0.0, 'v': 6.0})
    """
    nodes = problem.instance.cluster.nodes
    there = np.zeros((len(problem.models), 2), dtype=np.int64)
    for node in nodes:
        there[problem.models.index(node.model)] += node.gpus, node.ps
    logs = np.log(np.asarray(theta, dtype=np.float64))
    left = _left(problem, schedule, shared)
    held = np.zeros((*there.shape, makespan(schedule)), dtype=np.int64)
    payments: dict[str, float] = {}
    incomes: dict[str, list[float]] = {user: [] for user in problem.users}
    for row in schedule:
        job = problem.jobs[row.job].id
        for at, count in _uses(problem, row).items():
            for t in range(row.start, row.end):
                if job in shared:
                    price = math.expm1(logs[at] * float(held[at][t] / there[at])) / scale
                    cost = price * count
                    payments[job] = payments.get(job, 0.0) + cost
                    for user, part in _parts(problem, left[:, *at, t], job, count, t):
                        incomes[user].append(part * cost)
                held[at][t] += count
    return Money(payments=payments, incomes={u: math.fsum(got) for u, got in incomes.items()})


def _uses(problem: Irmp, row: Segment) -> dict[tuple[int, int], int]:
    """How many workers (0) and PSs (1) of which type a run holds."""
    nodes, total = problem.instance.cluster.nodes, dict[tuple[int, int], int]()
    for what, used in enumerate((row.gpus, row.ps or {})):
        for node, count in used.items():
            at = problem.models.index(nodes[node].model), what
            total[at] = total.get(at, 0) + count
    return {at: count for at, count in total.items() if count}


def _left(problem: Irmp, schedule: Schedule, shared: Collection[str]) -> NDArray[np.int64]:
    """(users, types, 2, slots): quotas less what the users' jobs of stage 1 hold."""
    left = np.repeat(problem.quotas[..., None], makespan(schedule), axis=-1)
    for row in schedule:
        if problem.jobs[row.job].id not in shared:
            user = problem.users.index(problem.user(row.job))
            for at, count in _uses(problem, row).items():
                left[(user, *at)][row.start : row.end] -= count
    for user, kind, what, t in np.argwhere(left < 0)[:1].tolist():
        raise ValueError(
            f"settle: jobs of user {problem.users[user]!r} that pay nothing hold "
            f"{-left[user, kind, what, t]} {('workers', 'PSs')[what]} above its quota at {t}"
        )
    return left


def _parts(
    problem: Irmp, left: NDArray[np.int64], job: str, count: int, t: int
) -> Iterator[tuple[str, float]]:
    """Each user's share of what is left in a slot."""
    total = int(left.sum())
    if total < count:
        raise ValueError(f"settle: job {job!r} takes {count} at {t}, all users have left {total}")
    for user, mine in zip(problem.users, left.tolist(), strict=True):
        yield user, mine / total


def money_violations(problem: Irmp, result: Result[Schedule]) -> list[str]:
    """Return what is wrong with the payments and incomes that a solver states.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> from gangsched.solvers.irmp.astraea import astraea
    >>> problem = reduced_problem(15, servers=5)
    >>> money_violations(problem, astraea(problem))
    []
    """
    money, schedule = money_of(result), result.solution
    if schedule is None or not (money.payments or money.incomes):
        return []
    broken = _misnamed(problem, schedule, money)
    paid, got = math.fsum(money.payments.values()), math.fsum(money.incomes.values())
    if not broken and not _equal(paid, got, paid):
        broken.append(f"balance: payments of {paid!r} are not incomes of {got!r}")
    if not broken and money.payments:
        broken += _unsettled(problem, schedule, money, RevenueFacts.of(result))
    return broken


def _misnamed(problem: Irmp, schedule: Schedule, money: Money) -> list[str]:
    """Payers that do not run, users that are none, amounts that are none."""
    runs = {problem.jobs[j].id for j in schedule.job.tolist()}
    payers, users = set(money.payments) - runs, set(money.incomes) - set(problem.users)
    broken = [f"payment: job {job!r} pays, but does not run" for job in sorted(payers)]
    broken += [f"income: {user!r} is not a user" for user in sorted(users)]
    for kind, amounts in (("payment", money.payments), ("income", money.incomes)):
        for who, amount in amounts.items():
            if not 0 <= amount < math.inf:
                broken.append(f"{kind}: {who!r} has {amount}, not a finite number >= 0")
    return broken


def _unsettled(problem: Irmp, schedule: Schedule, money: Money, facts: RevenueFacts) -> list[str]:
    """What differs from the same accounts made here."""
    if facts.theta is None:
        return ["payment: jobs pay, but theta is not stated"]
    theta, paying = facts.theta, money.payments
    try:
        own = settle(problem, schedule, paying, theta=theta, scale=facts.scale)
    except ValueError as error:
        return [str(error)]
    paid, broken = math.fsum(own.payments.values()), []
    for kind, found in (("payments", own.payments), ("incomes", own.incomes)):
        for who, amount in found.items():
            said = getattr(money, kind).get(who, 0.0)
            if not _equal(said, amount, paid):
                broken.append(f"{kind[:-1]}: {who!r} has {said:.12g}, but {amount:.12g} by (2)")
    return broken


def _equal(one: float, other: float, all_payments: float) -> bool:
    return abs(one - other) <= TOLERANCE * max(1.0, all_payments)


# --- comparisons ----------------------------------------------------------------------------------


def revenue_measures(problem: Irmp, result: Result[Schedule]) -> dict[str, float | None]:
    """Return what a comparison says of a solver beside its true revenue.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> from gangsched.solvers.irmp.astraea import astraea
    >>> problem = reduced_problem(5)
    >>> [*revenue_measures(problem, astraea(problem))]
    ['without losses', 'ideal revenue', 'fairness variance', 'workers in use', 'makespan']
    """
    schedule = result.solution
    if schedule is None:
        raise ValueError(f"measures: {result.solver} has no schedule")
    wrong = money_violations(problem, result)
    if wrong:
        raise ValueError(f"money: {'; '.join(wrong[:3])}")
    used = utilisation(problem, schedule)[0]
    return {
        "without losses": revenue_without_losses(problem, schedule),
        "ideal revenue": RevenueFacts.of(result).ideal_revenue,
        "fairness variance": fairness_variance(problem, schedule, money_of(result)),
        "workers in use": float(used.mean()) if used.size else None,
        "makespan": makespan(schedule),
    }
