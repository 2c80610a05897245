"""LTGF: long-term GPU-time fairness of gangs that share a cluster in rounds.

Source: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo, "ASTRAEA: A Fair Deep Learning
Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 2022, Section 4.2.

A job is fairly treated when the GPU time that it got is not below its fair share: the cluster
divided among users by weight, a user's part divided among its active jobs by weight, and never more
than the gang. Jobs may be suspended and moved at any slot, free of charge. The least fairness of
all jobs, each over its life, is maximised, with all jobs known in advance: how fair could anybody
have been?

Symbols
-------
===========================  ================================  ====================================
paper                        here                              unit
===========================  ================================  ====================================
M                            ``instance.cluster.gpus``         GPUs
Demand_i                     ``job.gpus``                      GPUs
W_i, W_j^tenant              ``job.weight``, ``user.weight``   1
(run time of J_i)            ``job.work``                      slots
Active(J_i, t)               ``release <= t < completion``     slots; pending or running
Alloc_i(t)                   ``Segment.gpus``                  GPUs
Quota_j                      :func:`quota_of`                  GPUs
FairShare_j, f_j             :meth:`Ltgf.user_share`           GPUs
FairShare_i (job), s_i       :meth:`Ltgf.shares` (cut at D_i)  GPUs
A_i, overlined Alloc         ``job.gpus * job.work``           GPU-slots, when the job is complete
F_i, overlined FairShare     summed up by :meth:`Ltgf.rho`     GPU-slots
rho_i                        :meth:`Ltgf.rho`                  1
===========================  ================================  ====================================

Equations
---------
=========  ==================================================  ====================================
equation   component                                           note
=========  ==================================================  ====================================
(1)        ``violations``: "gang (1)"; forms: ``x_run``        all GPUs or none
(2)        "service (2)"; ``service``                          A_i = D_i p_i at completion
(3)        :meth:`Ltgf.shares`, single user; ``count``         errata L5
(4)        :meth:`Ltgf.rho`; ``fair``
(5)        :meth:`Ltgf.rho`; ``ratio``                         errata L1
(6)        :func:`quota_of`; ``FairShares.quotas``             errata L2
(7), (8)   :meth:`Ltgf.user_share`; :meth:`FairShares.share`   errata L2; ``count``
(9)        :meth:`FairShares.user_time`
(10)-(12)  :meth:`LtgfRound.fairness`                          fairness of users, one lease
(13)       :meth:`Ltgf.shares`; ``states``, ``count``          errata L3
(14)       :meth:`Ltgf.rho`, :meth:`FairShares.job_time`       ``fair``
(15)       :meth:`Ltgf.rho`; ``ratio``
(16)       ``FairShares(by="quota")``                          users only, not inside a job's share
=========  ==================================================  ====================================

Because a job that completes has A_i = D_i p_i whatever the schedule, its fairness is D_i p_i / F_i,
and to maximise the least of them is to minimise z = max_i F_i / (D_i p_i), which is linear in F.

Deviations from the paper
-------------------------
- L1: rho is 0/0 at birth. Here it is only evaluated over whole lives, where F_i > 0. (A policy that
  looks earlier takes 0 for a job, and skips a user that has no fair share.)
- L2: (7) and (8) write the quota as a function of t, (6) makes it constant, and (7) lacks its t:
  constant quotas, demand over time.
- L3, L4: (13) uses one letter for the job and for the sum over jobs, and the text after (12) calls
  the user's number a job's and its quota M/T, which holds for equal weights only: read as meant.
- L5: (3) with (4) cuts a share at the gang without giving the rest to others, so fair shares may
  add up to less than M and are not max-min fair shares. Kept: it is the definition.
- L6: Definition 1 compares with a private cluster of M/N GPUs, on which a gang wider than that
  cannot run at all. A fairness of 1 is therefore a measure, not a promise: it cannot always be had
  (a 1-GPU and a 4-GPU job that stay on 4 GPUs cannot both exceed 2/3).
- L7-L13 concern Algorithms 1 and 2, which are no part of this problem: the printed line 17 drops a
  user as soon as one of its jobs does not fit; the loop does not end when the dropped user still
  has a job that fits, nor when users without pending jobs are left; lines 14 and 15 mix up
  subscripts and add a lease of service without a lease of fair share; line 5's index runs to now
  and counts future service; only jobs whose lease has ended can be pending; ties are left open.
- L14: Fig. 6(b) is not what least finish-time unfairness prescribes, (c) is better in that measure.
- L15-L20 are differences between the paper and its published simulator (a daily window instead of
  all time, fair shares by (16) within jobs too, extra queues, constants that have no effect, a loop
  over a list that it changes, quotas rounded to zero, other cluster sizes, lives that begin with
  the first round). Here lives begin with the release: give instances whose releases are rounds to
  count from there.
- L21-L24 concern Algorithm 1's M, Section 6's share of jobs below 0.95, eq. (16) and what one
  round of Algorithm 2 maximises: docs/papers/ltgf.md has all errata, each with its test.
- Overheads of suspension are 0; the paper's are part of the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from ...instances.check import integer
from ...instances.display import shortened
from ...instances.model import Instance, Job
from ...instances.schedule import Schedule
from ..breaches import overfull, reference_violations, reruns
from ..problem import Described, Goal, Model, Sense, build


@dataclass(frozen=True, slots=True)
class Ltgf(Described):
    r"""Problem LTGF: maximise the least fairness rho_i of all jobs over their lives.

    .. math::

        \max \min_i \rho_i, \qquad \rho_i = \frac{D_i p_i}{F_i}, \qquad
        F_i = \sum_{t = r_i}^{C_i - 1} s_i(t)

    Parameters
    ----------
    instance : Instance of Job
        At least one job; every job with `work` (slots of service at full gang), every gang within
        the cluster. Without users, or with one, shares follow (3); else (6)-(8) and (13).
    horizon : int or None
        No job may run past this slot; None for no limit.

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Notes
    -----
    A job may use GPUs of any nodes, other ones in every slot; GPU identities are not looked at.
    Idling can pay: a job that stays longer makes the shares of others smaller, so the optimum is
    not among the schedules that never leave a GPU idle.

    Examples
    --------
    The paper's Fig. 6: 6 GPUs, gangs of 6, 3 and 3, four rounds each. Running the wide job in two
    rounds of the first six and finishing it at the end treats all three fairly.

    >>> from gangsched.instances import Cluster, Instance, Job, Schedule, Segment
    >>> gangs = {"J1": 6, "J2": 3, "J3": 3}
    >>> jobs = [Job(id=name, gpus=gang, work=4) for name, gang in gangs.items()]
    >>> problem = Ltgf(Instance(Cluster.of_sizes([6]), jobs))
    >>> wide = [(0, 1), (3, 4), (6, 8)]
    >>> narrow = [(1, 3), (4, 6)]
    >>> schedule = Schedule.of(
    ...     [Segment(0, a, b, {0: 6}) for a, b in wide]
    ...     + [Segment(j, a, b, {0: 3}) for j in (1, 2) for a, b in narrow]
    ... )
    >>> problem.violations(schedule), problem.objective(schedule)
    ([], 1.0)
    """

    instance: Instance[Job]
    horizon: int | None = None

    sense: ClassVar[Sense] = Sense.MAX
    goal: ClassVar[Goal] = Goal("least rho", time="seconds")
    forms: ClassVar[tuple[str, ...]] = ("compact", "literal")
    integral: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Instance):
            raise TypeError(f"Ltgf: instance={shortened(repr(self.instance))} is not an Instance")
        if not self.jobs:
            raise ValueError("instance: it has no jobs, whose least fairness is not defined")
        total = self.instance.cluster.gpus
        for job in self.jobs:
            if job.work is None:
                raise ValueError(f"job {job.id!r}: work=None, LTGF needs slots of service")
            if job.gpus > total:
                raise ValueError(f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {total}")
        if self.horizon is not None:
            integer(self, "Ltgf", "horizon", least=1)

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs, by number."""
        return self.instance.jobs

    def parameters(self) -> dict[str, Any]:
        """Return all parameters but the instance, as a record."""
        return {"horizon": self.horizon}

    # -- fair shares, in exact arithmetic ----------------------------------------------------------

    def shares(self, active: Iterable[int]) -> dict[int, Fraction]:
        """Return min(D_i, s_i) of each active job: :func:`shares_of`.

        Parameters
        ----------
        active : iterable of int
            Numbers of the jobs that are active, each once.
        """
        return shares_of(self.instance, active)

    def user_share(self, user: str, demand: int) -> Fraction:
        """Return f_j, eq. (8), of a user that demands so many GPUs; M in (3), with a single user.

        Parameters
        ----------
        user : str
            Id of the user; "" where the instance has one or none.
        demand : int
            GPUs of all its active jobs, positive.
        """
        return _user_share(self.instance, user, demand)

    def weight(self, job: int) -> Fraction:
        """Return the rational that the shortest decimal of the job's weight denotes.

        Parameters
        ----------
        job : int
        """
        return rational(self.jobs[job].weight)

    def _owner(self, job: int) -> str:
        """Id of the job's user; all jobs are of one where there is one user or none."""
        return _owner(self.instance, job)

    # -- objective and feasibility -----------------------------------------------------------------

    def objective(self, solution: Schedule) -> float:
        """Return the least rho_i, to the nearest float; exact until then."""
        return float(min(self.rho(solution)))

    def rho(self, solution: Schedule) -> list[Fraction]:
        """Return rho_i = D_i p_i / F_i of every job over [release, completion), (5) and (15).

        Parameters
        ----------
        solution : Schedule
            A feasible one; a job that it leaves out has no completion.

        Raises
        ------
        ValueError
            Where a job does not run.

        Notes
        -----
        O(jobs^2) rational numbers; :class:`FairShares` is the fast one, in floats.
        """
        end = self._completions(solution)
        fair = [Fraction(0)] * len(self.jobs)
        kinks = sorted({job.release for job in self.jobs} | set(end))
        for start, stop in pairwise(kinks):
            alive = [i for i, job in enumerate(self.jobs) if job.release <= start < end[i]]
            for i, share in self.shares(alive).items():
                fair[i] += share * (stop - start)
        return [self.service(i) / f for i, f in enumerate(fair)]

    def service(self, job: int) -> int:
        """Return D_i p_i, GPU-slots that the job has got when it completes.

        Parameters
        ----------
        job : int
        """
        return self.jobs[job].gpus * (self.jobs[job].work or 0)

    def _completions(self, solution: Schedule) -> list[int]:
        end = [0] * len(self.jobs)
        for job, stop in zip(solution.job.tolist(), solution.end.tolist(), strict=True):
            end[job] = max(end[job], stop)
        for job, stop in zip(self.jobs, end, strict=True):
            if stop <= job.release:
                raise ValueError(f"job {job.id!r}: not in the schedule, so it never completes")
        return end

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks: gangs, service, releases, capacity, horizon.

        Messages start with the constraint's name. O(segments log segments).
        """
        broken = reference_violations(self, solution, "the jobs of LTGF")
        if broken:
            return broken
        broken = self._job_violations(solution)
        broken += self._capacity_violations(solution)
        if self.horizon is not None:
            broken += [
                f"horizon: job {self.jobs[row.job].id!r} runs until {row.end}, after {self.horizon}"
                for row in solution
                if row.end > self.horizon
            ]
        return broken

    def _job_violations(self, solution: Schedule) -> list[str]:
        broken, served = [], [0] * len(self.jobs)
        for row in solution:
            job, held = self.jobs[row.job], sum(row.gpus.values())
            if held != job.gpus:
                broken.append(f"gang (1): job {job.id!r} holds {held} of its {job.gpus} GPUs")
            if row.start < job.release:
                broken.append(
                    f"release: job {job.id!r} starts at {row.start}, before {job.release}"
                )
            served[row.job] += row.end - row.start
        for i, time in reruns(solution):
            broken.append(f"gang (1): job {self.jobs[i].id!r} runs twice at {time}")
        for job, slots in zip(self.jobs, served, strict=True):
            if slots != job.work:
                broken.append(f"service (2): job {job.id!r} runs for {slots} of {job.work} slots")
        return broken

    def _capacity_violations(self, solution: Schedule) -> list[str]:
        return [
            f"capacity: node {name!r} holds {held} of its {size} GPUs at slot {time}"
            for name, held, size, time in overfull(self, solution)
        ]

    # -- declarative models ------------------------------------------------------------------------

    def build(self, form: str = "compact") -> Model[Schedule]:
        """Return the Pyomo model in one of `forms`, each described in `ltgf_forms`.

        Raises
        ------
        ValueError
            Where `form` is unknown, or the model would be too large.
        """
        return build(self, form)


def shares_of(instance: Instance[Any], active: Iterable[int]) -> dict[int, Fraction]:
    """Return min(D_i, s_i), the integrand of (4) and (14), of each active job, exactly.

    Examples
    --------
    >>> from gangsched.instances import Cluster
    >>> jobs = [Job(id="a", gpus=1), Job(id="b", gpus=4), Job(id="c", gpus=4)]
    >>> shares_of(Instance(Cluster.of_sizes([5]), jobs), [0, 1, 2])
    {0: Fraction(1, 1), 1: Fraction(5, 3), 2: Fraction(5, 3)}
    """
    members: dict[str, list[int]] = {}
    for i in active:
        members.setdefault(_owner(instance, i), []).append(i)
    shares = {}
    for user, jobs in members.items():
        fair = _user_share(instance, user, sum(instance.jobs[i].gpus for i in jobs))
        weights = [rational(instance.jobs[i].weight) for i in jobs]
        rate = fair / sum(weights)
        for i, weight in zip(jobs, weights, strict=True):
            shares[i] = min(Fraction(instance.jobs[i].gpus), rate * weight)
    return shares


def _user_share(instance: Instance[Any], user: str, demand: int) -> Fraction:
    quota = quota_of(instance, user)
    return quota if len(instance.users) < 2 else min(Fraction(demand), quota)


def quota_of(instance: Instance[Any], user: str) -> Fraction:
    """Return Quota_j, eq. (6), exactly; M with a single user."""
    gpus = instance.cluster.gpus
    if len(instance.users) < 2:
        return Fraction(gpus)
    weights = {one.id: rational(one.weight) for one in instance.users}
    return gpus * weights[user] / sum(weights.values())


def _owner(instance: Instance[Any], job: int) -> str:
    return instance.jobs[job].user if len(instance.users) > 1 else ""


def rational(value: float) -> Fraction:
    """Return the rational that the shortest decimal of `value` denotes: 0.1 is 1/10."""
    return Fraction(repr(float(value)))
