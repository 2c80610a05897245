r"""Sharing incentive: how much worse off than alone on its quota the worst user is.

A user has a reason to share a cluster where its jobs are complete no later than they would be if it
were alone on its part of the GPUs. Here that is asked of sums: for the flow times of a user's jobs
together, of preemptive gangs as in :mod:`gangsched.formulations.completion_time`.

Symbols
-------
===========  ======================  ===========================================================
symbol       here                    unit
===========  ======================  ===========================================================
q_u          ``quotas[u]``           GPUs, a rational: M by weight (M for a single user)
r_j, p_j     ``release``, ``work``   seconds
D_j          ``job.gpus``            GPUs
F_u          :meth:`flows`           sum over the user's jobs of C_j - r_j, seconds
P_u          ``run_times[u]``        sum of p_j, seconds
A_u          ``alone[u]``            the sum of flow times of u alone, seconds
n_u          ``len(members[u])``     jobs
===========  ======================  ===========================================================

Readings, of which the largest over the users with jobs is minimised, (F_u - b_u) / d_u:

==========  ===========================================  ==========================
reading     ratio of a user                              at most 1 where
==========  ===========================================  ==========================
"sharing"   F_u / A_u                                    nobody is worse off
"wait"      (F_u - P_u) / max(A_u - P_u, 60 n_u)         nobody waits longer
"stretch"   F_u / P_u                                    no job ever waits
==========  ===========================================  ==========================

The floor of 60 s a job in "wait" is ours: users who never wait alone would decide it otherwise.
With a `limit` the worst ratio is a rule, and the sum of all flow times is minimised.

Alone
-----
The counterfactual of A_u is fluid, so that a user whose quota is no whole number or is below one of
its gangs has one at all: at any moment its jobs hold q_u GPUs at the most, and a gang of D that
holds x D of them, x <= 1, does x seconds of its work a second. At every release and completion the
GPUs are given by least remaining area (p left times D), ties by (release, number): each job as many
as its gang, the last one those that are left. There are no rounds and no overhead. All of it is in
integers: with q_u = a / b, areas are counted in 1 / b GPU seconds, and what is complete within a
second counts as complete at its end, to which its GPUs are held.

It is a schedule that nobody would call optimal for its user, only a fair comparison: SRPT on one
GPU. The quota is all GPUs by the users' weights, also of users who are idle, which others may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..instances.check import one_of, real, set_field
from ..instances.model import Instance, Job
from ..instances.remembered import remembered
from ..instances.schedule import Schedule
from .completion_time.problem import CompletionTime
from .ltgf.problem import quota_of, rational
from .problem import Described, Goal, Model, Sense, build, check_instance

Reading = Literal["sharing", "wait", "stretch"]
#: seconds a job that the wait alone counts for at least
LEAST_WAIT = 60


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SharingIncentive(Described):
    """Minimise the worst ratio of a user, of what it gets to what it would get on its quota.

    Parameters
    ----------
    instance : Instance
        Jobs with work, on GPUs that are equal for all of them.
    reading : {"sharing", "wait", "stretch"}
        F_u / A_u, (F_u - P_u) / max(A_u - P_u, 60 n_u) or F_u / P_u.
    limit : float or None
        The sum of flow times of schedules in which the worst ratio is at most this is minimised;
        None to minimise the worst ratio.

    Attributes
    ----------
    members : mapping of str to tuple of int
        Numbers of each user's jobs, of users who have some; all of one user "" where the instance
        has no or one user.
    quotas : mapping of str to Fraction
        q_u.
    alone, run_times : mapping of str to int
        A_u and P_u.
    alone_flows : tuple of int
        Flow time of each job with its user alone, by job number.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Examples
    --------
    One GPU each; `b` needs its own for two seconds, and waits while `a` has both:

    >>> from gangsched.instances import Cluster, Instance, Job, Segment, User
    >>> jobs = [Job(id="a", gpus=2, work=2, user="u"), Job(id="b", gpus=1, work=2, user="v")]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    >>> problem = SharingIncentive(instance)
    >>> plan = Schedule.of([Segment(0, 0, 2, {0: 2}), Segment(1, 2, 4, {0: 1})])
    >>> dict(problem.alone), problem.flows(plan), problem.objective(plan)
    ({'u': 4, 'v': 2}, {'u': 2, 'v': 4}, 2.0)
    """

    instance: Instance[Any]
    reading: Reading = "sharing"
    limit: float | None = None
    members: Mapping[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)
    quotas: Mapping[str, Fraction] = field(init=False, repr=False, compare=False)
    alone: Mapping[str, int] = field(init=False, repr=False, compare=False)
    run_times: Mapping[str, int] = field(init=False, repr=False, compare=False)
    alone_flows: tuple[int, ...] = field(init=False, repr=False, compare=False)

    sense: ClassVar[Sense] = Sense.MIN
    forms: ClassVar[tuple[str, ...]] = ("time-indexed",)

    @property
    def goal(self) -> Goal:  # type: ignore[override]
        """What is minimised."""
        unit = "seconds" if self.instance.slot == 1 else "slots"
        if self.limit is not None:
            return Goal("sum of completion times", unit, unit)
        return Goal(f"worst {self.reading} ratio", time=unit)

    def __post_init__(self) -> None:
        owner = "SharingIncentive"
        check_instance(self)
        one_of(f"{owner}: reading", self.reading, get_args(Reading))
        if self.limit is not None:
            real(self, owner, "limit", positive=True)
        flow = self.flow
        if flow.mixed:
            raise ValueError(f"{owner}: the GPUs are not equal for all jobs")
        own = _alone(self.instance)
        set_field(self, "members", own.members)
        set_field(self, "quotas", own.quotas)
        set_field(self, "alone_flows", own.flows)
        set_field(self, "alone", own.sums)
        set_field(self, "run_times", own.run_times)

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs, by number."""
        return self.instance.jobs

    @property
    def flow(self) -> CompletionTime:
        """The problem of the sum of flow times, whose schedules these are."""
        return CompletionTime(self.instance, "flow")

    @property
    def integral(self) -> bool:
        """Whether every objective value is an integer."""
        return self.limit is not None

    @property
    def most(self) -> Fraction | None:
        """The limit, as the number that its shortest decimal is."""
        return None if self.limit is None else rational(self.limit)

    def terms(self) -> dict[str, tuple[int, int]]:
        """Return (b_u, d_u) of each user: its ratio is (F_u - b_u) / d_u."""
        found = {}
        for user, jobs in self.members.items():
            alone, busy = self.alone[user], self.run_times[user]
            wait = max(alone - busy, LEAST_WAIT * len(jobs))
            found[user] = {"sharing": (0, alone), "wait": (busy, wait), "stretch": (0, busy)}[
                self.reading
            ]
        return found

    # -- objective and feasibility ---------------------------------------------------------------

    def objective(self, solution: Schedule) -> float:
        """Return the worst ratio, to the nearest float; with a limit the sum of flow times."""
        if self.limit is not None:
            return sum(self.flows(solution).values())
        return float(max(self.ratios(self.flows(solution)).values(), default=Fraction(0)))

    def flows(self, solution: Schedule) -> dict[str, int]:
        """Return F_u of every user."""
        return self.flows_of(self.flow.ends(solution))

    def flows_of(self, ends: Sequence[int] | NDArray[np.int64]) -> dict[str, int]:
        """Return F_u of every user, of jobs that are complete at these times."""
        column = np.asarray(ends)
        if column.dtype != np.int64 or np.abs(column).max(initial=0) >= 2**62 // (column.size + 1):
            column = np.array([int(end) for end in ends], dtype=object)  # sums may not fit 64 bits
        released = _alone(self.instance).releases
        return {
            user: int(column[list(jobs)].sum()) - released[user]
            for user, jobs in self.members.items()
        }

    def ratios(self, flows: Mapping[str, int]) -> dict[str, Fraction]:
        """Return the ratio of every user, exactly."""
        return {u: Fraction(flows[u] - less, over) for u, (less, over) in self.terms().items()}

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks, for each rule the first few."""
        broken = self.flow.violations(solution)
        return broken or list(self._limit_violations(solution))

    def _limit_violations(self, solution: Schedule) -> Iterator[str]:
        if self.most is None:
            return
        for user, ratio in self.ratios(self.flows(solution)).items():
            if ratio > self.most:
                yield f"limit: user {user!r} has {float(ratio):.6g}, above {self.limit}"

    def build(self, form: str = "time-indexed", **options: Any) -> Model[Schedule]:
        """Return the Pyomo model, that of completion times with a row for each user."""
        return build(self, form, **options)


@dataclass(frozen=True)
class _Alone:
    """What each user does alone: the same for all readings and limits."""

    members: Mapping[str, tuple[int, ...]]
    quotas: Mapping[str, Fraction]
    flows: tuple[int, ...]
    sums: Mapping[str, int]
    run_times: Mapping[str, int]
    releases: Mapping[str, int]


@remembered
def _alone(instance: Instance[Any]) -> _Alone:
    """Those of an instance on equal GPUs."""
    jobs, seconds = instance.jobs, CompletionTime(instance).seconds
    several, found = len(instance.users) > 1, dict[str, list[int]]()
    for tenant in instance.users if several else ():
        found[tenant.id] = []
    for j, job in enumerate(jobs):
        found.setdefault(job.user if several else "", []).append(j)
    members = {user: tuple(own) for user, own in found.items() if own}
    quotas = {user: quota_of(instance, user) for user in members}
    times = [0] * len(jobs)
    for user, own in members.items():
        rows = [(jobs[j].release, seconds[j], jobs[j].gpus) for j in own]
        for j, time in zip(own, alone_flows(rows, quotas[user]), strict=True):
            times[j] = time
    sums = {user: sum(times[j] for j in own) for user, own in members.items()}
    busy = {user: sum(seconds[j] for j in own) for user, own in members.items()}
    releases = {user: sum(jobs[j].release for j in own) for user, own in members.items()}
    return _Alone(members, quotas, tuple(times), sums, busy, releases)


def alone_flows(rows: Sequence[tuple[int, int, int]], quota: Fraction) -> list[int]:
    """Return the flow time of each job of a user alone on its quota, see above.

    Parameters
    ----------
    rows : sequence of (release, seconds, gang)
    quota : Fraction
        GPUs, above 0.

    Examples
    --------
    Half a GPU; the second job comes when the first one has a second to go, as long as its own:

    >>> alone_flows([(0, 3, 1), (4, 1, 1)], Fraction(1, 2))
    [6, 4]
    """
    from .alone_core import flows  # numba loads slowly

    most, unit = quota.as_integer_ratio()
    order = sorted(range(len(rows)), key=lambda j: rows[j][0])
    columns = [(r, d * unit, p * d * unit) for r, p, d in (rows[j] for j in order)]
    release, rate, left = ([row[k] for row in columns] for k in range(3))
    times = [0] * len(rows)
    for j, time in zip(order, flows(release, rate, left, most), strict=True):
        times[j] = time
    return times
