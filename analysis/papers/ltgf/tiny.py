"""Tiny cases of LTGF in exact arithmetic: one round, whole lives, and what policies make of them.

Written for a handful of jobs: optima are found by trying all selections, or by branch and bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, repeat

from ....formulations.ltgf.problem import Ltgf
from ....formulations.ltgf.round import LtgfRound
from ....instances.model import Cluster, Instance, Job, User
from ....solvers.exact import branch_and_bound
from ....solvers.ltgf.policy import LtgfPolicy
from ....solvers.policy import Policy
from ...driving.drive import drive
from ...driving.run import Run


@dataclass(frozen=True, slots=True)
class RoundJob:
    """A job of one user at the begin of a round.

    Parameters
    ----------
    attained : Fraction
        A_i, GPU seconds.
    fair : Fraction
        F_i, GPU seconds.
    share : Fraction
        f_i = min(D_i, s_i), GPUs, positive.
    gpus : int
        D_i.
    """

    attained: Fraction
    fair: Fraction
    share: Fraction
    gpus: int


@dataclass(frozen=True, slots=True)
class OneUser:
    """A round of one user: which of its jobs get a lease of the free GPUs.

    Parameters
    ----------
    gpus : int
        M, free GPUs.
    lease : int
        L, seconds.
    jobs : tuple of RoundJob

    Examples
    --------
    >>> one = RoundJob(Fraction(0), Fraction(0), Fraction(1), 1)
    >>> two = RoundJob(Fraction(0), Fraction(0), Fraction(1), 2)
    >>> case = OneUser(2, 1, (one, two))
    >>> case.greedy(case.missed), case.fairest()
    ((0,), (1,))
    """

    gpus: int
    lease: int
    jobs: tuple[RoundJob, ...]

    @property
    def missed(self) -> list[Fraction]:
        """rho^-_i = A_i / (F_i + f_i L): rho_i at the end of the lease of a job left out."""
        return [job.attained / (job.fair + job.share * self.lease) for job in self.jobs]

    @property
    def current(self) -> list[Fraction]:
        """rho_i = A_i / F_i now, 0 where A_i = 0, as Algorithm 2 has it."""
        return [job.attained / job.fair if job.attained else Fraction(0) for job in self.jobs]

    def after(self, chosen: Iterable[int]) -> list[Fraction]:
        """Return the sorted rho_i at the end of the lease."""
        run = set(chosen)
        got = [job.attained + self.lease * job.gpus * (i in run) for i, job in enumerate(self.jobs)]
        due = [job.fair + job.share * self.lease for job in self.jobs]
        return sorted(a / f for a, f in zip(got, due, strict=True))

    def greedy(self, keys: Sequence[Fraction]) -> tuple[int, ...]:
        """Return what is chosen by rising key, ties by gang; who does not fit is passed over."""
        free, chosen = self.gpus, []
        for i in sorted(range(len(self.jobs)), key=lambda i: (keys[i], self.jobs[i].gpus, i)):
            if self.jobs[i].gpus <= free:
                chosen.append(i)
                free -= self.jobs[i].gpus
        return tuple(sorted(chosen))

    def selections(self) -> Iterator[tuple[int, ...]]:
        """Yield every set of jobs that the GPUs can hold."""
        n = len(self.jobs)
        for chosen in chain.from_iterable(combinations(range(n), k) for k in range(n + 1)):
            if sum(self.jobs[i].gpus for i in chosen) <= self.gpus:
                yield chosen

    def fairest(self) -> tuple[int, ...]:
        """Return the first selection with the leximin largest fairness."""
        return max(self.selections(), key=self.after)


def leximin_better(
    best: Sequence[Fraction], found: Sequence[Fraction]
) -> tuple[Fraction, Fraction]:
    """Return the two values at the first position where sorted vectors differ, or the last ones."""
    for one, other in zip(best, found, strict=True):
        if one != other:
            return one, other
    return best[-1], found[-1]


def two_phase(problem: LtgfRound) -> tuple[int, ...]:
    """Return what Algorithm 1 selects in a round of several users, its line 17 repaired.

    Notes
    -----
    As :class:`~gangsched.solvers.ltgf.policy.LtgfPolicy`, in exact arithmetic: take the user with
    the least (A_j + L P_j) / (F_j + L f_j) that has a job that fits, its first such job, and
    repeat.

    Examples
    --------
    >>> problem = LtgfRound(
    ...     gpus=2, lease=1, attained=[2, 0], fair=[1, 1], share=[1, 1],
    ...     jobs=[(0, 1), (1, 1), (1, 2)],
    ... )
    >>> two_phase(problem)
    (0, 1)
    """
    attained, free = list(problem.attained), problem.gpus
    left, chosen = list(range(len(problem.jobs))), list[int]()
    while fitting := [i for i in left if problem.jobs[i][1] <= free]:
        owners = {problem.jobs[i][0] for i in fitting}
        user = min(owners, key=lambda j: (Fraction(attained[j]) / problem.due(j), j))
        job = next(i for i in fitting if problem.jobs[i][0] == user)
        chosen.append(job)
        left.remove(job)
        free -= problem.jobs[job][1]
        attained[user] += problem.lease * problem.jobs[job][1]
    return tuple(sorted(chosen))


# --- driven --------------------------------------------------------------------------------------


def alone(
    gpus: int, gangs: Sequence[int], works: Sequence[int], releases: Sequence[int] = ()
) -> Instance[Job]:
    """Return jobs of one user on one node."""
    jobs = zip(repeat(0), gangs, works, releases or [0] * len(gangs), strict=False)
    return shared(gpus, jobs, users=0)


def shared(gpus: int, jobs: Iterable[tuple[int, int, int, int]], *, users: int) -> Instance[Job]:
    """Return jobs of several users with equal weights on one node."""
    made = [
        Job(id=f"j{i}", user=f"u{u}" if users else "", gpus=gang, work=work, release=release)
        for i, (u, gang, work, release) in enumerate(jobs)
    ]
    return Instance(Cluster.of_sizes([gpus]), made, [User(f"u{j}") for j in range(users)])


def in_rounds(instance: Instance[Job], policy: Policy, *, until: int | None = None) -> Run:
    """Return the run of a policy with rounds and leases of one second, without overhead."""
    return drive(instance, policy, round_length=1, lease=1, overhead=0, until=until)


def lives(instance: Instance[Job]) -> list[Fraction]:
    """Return rho_i of every job over its life under LTGF, in rounds of one second.

    Examples
    --------
    >>> [str(rho) for rho in lives(alone(2, [2, 1], [1, 1]))]
    ['2', '1/2']
    """
    return Ltgf(instance).rho(in_rounds(instance, LtgfPolicy()).schedule)


def fairest_lives(instance: Instance[Job]) -> Fraction:
    """Return the largest least rho_i that any schedule gives, by branch and bound.

    Examples
    --------
    >>> str(fairest_lives(alone(2, [2, 1], [1, 1])))
    '2/3'
    """
    problem = Ltgf(instance)
    schedule = branch_and_bound(problem).solution
    if schedule is None:
        raise AssertionError("bug in branch_and_bound: every instance of LTGF has a schedule")
    return min(problem.rho(schedule))
