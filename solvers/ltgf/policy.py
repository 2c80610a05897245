"""LTGF, the two-phase lease scheduling of Ye et al.'s ASTRAEA, as an online policy.

Source: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo, "ASTRAEA: A Fair Deep Learning
Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 2022, Section 5.2: Algorithms 1 and 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..policy import Decision, Floats, Ints, Phase, Preempts, Rule, State, ranked
from .core import advance


@dataclass(frozen=True, slots=True, kw_only=True)
class LtgfPolicy:
    """Give leases to the user, and within it to the job, that is furthest below its fair GPU time.

    Parameters
    ----------
    fair_share : {"demand", "quota"}
        Fair share of a user: min(demand, quota), eq. (8), or its quota at all times, eq. (16).
        With (16) a user that was idle is owed the GPU time it did not ask for, and starves the
        others for as long when it comes back.
    job_key : {"rho", "rho-minus"}
        Within a user, jobs by rho_i = A_i / F_i now, as printed, or by rho_i at the end of the
        lease if they are left out, A_i / (F_i + L f_i). The latter is max-min optimal for the jobs
        of one user in one round, and leximin optimal where the values differ.
    renewal_first : bool
        Section 5.2.1 (2): within a user, jobs that run come before jobs that wait.
    urgent : collection of str
        Section 5.2.1 (3): ids of jobs that come first within their user.

    Notes
    -----
    Algorithm 1 in our reading, at each round:

    - line 2: key_j = (A_j + C_j + L P_j) / (F_j + L f_j) is the user's fairness (12) at the end of
      a lease of L seconds that starts now, where C_j are the GPU seconds that its unexpired leases
      can still hold (to their ends: run times are not used) and P_j the GPUs picked for it so far.
    - lines 4-7: among the users with a candidate that fits by number of GPUs, take the one with
      the least (key_j, number); of its candidates that fit, the one with the least (rho_i, release,
      number), Algorithm 2. A job that never ran has rho 0: new jobs come first (Section 5.2.1 (1)).
    - lines 10-15: pick it and raise P_j. Placement follows when all are picked (Section 5.1.2 (3)):
      running jobs that are picked renew their lease and keep their nodes.
    - line 17: a job that does not fit takes neither its user nor its user's smaller jobs out. As
      printed it does, so that wide gangs do not starve; :class:`PrintedLtgf` shows what else comes
      of it. Here such a job is passed over for at most the patience of the rules: after that it is
      picked before all others at the next round at which leases end and it fits.

    Jobs that were not picked follow by (key_j, user, rho_i, release, number) where a picked job
    finds no place. Deviations from the paper: at a round only expired leases are open, and not all
    jobs (Section 5.1.2 (1)), because leases are longer than rounds; the lease is added to the fair
    share too, as to the allocation in line 14.

    Guarantee: the two-phase rule does not maximise the least fairness, neither of users nor of jobs
    (smallest counterexamples in docs/theorems.md). Run times are not used.
    Complexity: O(candidates log candidates + picks * users) a round in the compiled driver,
    O(picks * candidates) in `decide`, which is for reading.

    Examples
    --------
    Fig. 6 (c): on 6 GPUs a 6-GPU job and two 3-GPU jobs of 40 minutes, in rounds of 10.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id=i, gpus=g, work=2400) for i, g in (("1", 6), ("2", 3), ("3", 3))]
    >>> instance = Instance(Cluster.of_sizes([6]), jobs)
    >>> run = drive(instance, LtgfPolicy(), round_length=600, lease=600, overhead=0)
    >>> (run.records.end // 60).tolist()
    [80, 60, 60]
    """

    name: ClassVar[str] = "ltgf"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    fair_share: Literal["demand", "quota"] = "demand"
    job_key: Literal["rho", "rho-minus"] = "rho"
    renewal_first: bool = False
    urgent: Collection[str] = ()

    def __post_init__(self) -> None:
        for name, known in (
            ("fair_share", ("demand", "quota")),
            ("job_key", ("rho", "rho-minus")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"ltgf: {name}={getattr(self, name)!r} is not one of {known}")
        if isinstance(self.urgent, str):
            raise TypeError(f"ltgf: urgent={self.urgent!r} is a string, not a collection of ids")
        object.__setattr__(self, "urgent", tuple(sorted(self.urgent)))

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        flags = (self.fair_share == "quota", self.job_key == "rho-minus", self.renewal_first)
        return Rule(
            name="ltgf", advance=advance, numbers=tuple(map(float, flags)), leases=True,
            by_user=True,
        )  # fmt: skip

    def decide(self, state: State) -> Decision:
        """Return the picks of Algorithm 1 in their order, then the other candidates."""
        users = _Users(state, by_quota=self.fair_share == "quota")  # line 2
        room, candidates = state.capacity, state.candidates
        queues = self._queues(state, candidates)  # line 3, Algorithm 2
        picks: list[int] = []
        passed: dict[int, int] = {}
        for job in _due(state, candidates, room):  # in place of line 17
            if state.gpus[job] <= room:
                picks.append(job)
                room -= int(state.gpus[job])
                user = int(state.user[job])
                queues[user].remove(job)
                users.pick(user, int(state.gpus[job]))
        while True:  # line 4
            best = min(
                (u for u, queue in queues.items() if any(state.gpus[j] <= room for j in queue)),
                key=lambda u: (users.key(u), u),  # line 5
                default=None,
            )
            if best is None:
                break
            job = next(j for j in queues[best] if state.gpus[j] <= room)  # lines 6-8, 10
            first = next(j for j in queues[best] if state.gpus[j] <= state.capacity)
            if job != first:  # lines 16-17: the user stays in, patience counts
                passed.setdefault(best, first)
            picks.append(job)  # lines 9 and 11 are the driver's
            room -= int(state.gpus[job])  # line 12
            queues[best].remove(job)  # line 13
            users.pick(best, int(state.gpus[job]))  # lines 14-15
        order = sorted(queues, key=lambda u: (users.key(u), u))
        return Decision(
            order=[*picks, *(j for u in order for j in queues[u])],
            passed=[j for j in passed.values() if state.phase[j] == Phase.WAITING],
        )

    def next_change(self, state: State) -> None:
        """Fairness moves all the time, but no job that waits has room before something ends."""

    def _queues(self, state: State, jobs: Ints) -> dict[int, list[int]]:
        """Candidates by user, each user's in the order of Algorithm 2."""
        keys: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
        if self.urgent:
            ids = frozenset(self.urgent)
            keys.append(np.array([state.id(int(j)) not in ids for j in jobs], dtype=float))
        if self.renewal_first:
            keys.append((state.phase[jobs] != Phase.RUNNING).astype(float))
        keys.append(self._fairness(state, jobs))
        queues: dict[int, list[int]] = {}
        for j in ranked(state, jobs, *keys):
            queues.setdefault(int(state.user[j]), []).append(int(j))
        return queues

    def _fairness(self, state: State, jobs: Ints) -> Floats:
        """Line 3 and Algorithm 2: rho_i of (15), or its value at the end of a lease left out."""
        attained, fair = state.attained(jobs), state.fair(jobs)
        if self.job_key == "rho-minus":
            lease = state.rules.lease_end(state.now) - state.now
            fair = fair + lease * state.fair_rate(jobs)
            return np.where(fair > 0, attained / np.where(fair > 0, fair, 1.0), np.inf)
        ratio = np.where(fair > 0, attained / np.where(fair > 0, fair, 1.0), np.inf)
        return np.where(attained == 0, 0.0, ratio)


def _due(state: State, candidates: Ints, room: int) -> list[int]:
    """Jobs that have been passed over for the patience, those passed over first in front.

    Only where leases have ended, and only gangs that fit what is open then.
    """
    patience = state.rules.patience
    if patience is None or not state.preemptible.size:
        return []
    blocked = state.blocked[candidates]
    due = (blocked >= 0) & (state.now - blocked >= patience) & (state.gpus[candidates] <= room)
    return [int(j) for j in ranked(state, candidates[due], blocked[due].astype(float))]


class _Users:
    """key_j of every user while picks are made."""

    def __init__(self, state: State, *, by_quota: bool) -> None:
        now = state.now
        self.lease = state.rules.lease_end(now) - now
        if by_quota:
            self.fair = state.quota * now + self.lease * state.quota
        else:
            self.fair = state.user_fair + self.lease * state.user_share
        self.attained = state.user_attained.copy()
        unexpired = state.running[state.lease_end[state.running] > now]
        held = state.gpus[unexpired] * (state.lease_end[unexpired] - now)
        np.add.at(self.attained, state.user[unexpired], held)

    def key(self, user: int) -> float:
        fair = float(self.fair[user])
        if fair > 0:
            return float(self.attained[user] / fair)
        return 0.0 if self.attained[user] == 0 else float("inf")

    def pick(self, user: int, gpus: int) -> None:
        self.attained[user] += self.lease * gpus


class NeverEnds(RuntimeError):
    """The printed algorithm has reached a point from which it would loop for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedLtgf:
    """Algorithm 1 as printed, with its line 17; for study.

    A user whose first job does not fit is out for the rest of the round (line 17), its smaller jobs
    with it. The condition of line 4 looks at all pending jobs, so that it stays true when a user
    that is out has a job that fits: with every user out, line 5 takes the arg min of nothing.

    Parameters
    ----------
    stuck : {"raise", "end"}
        What to do at such a point: raise :class:`NeverEnds` and say where, or end the round.

    Notes
    -----
    Line 9 asks for a placement before the pick. Like :class:`LtgfPolicy` this policy picks by
    number of GPUs, and lines 14-15 add the lease to the allocation only, as printed: a user whose
    fair share is 0 until now (the first round) keeps rho = 0 / 0, which counts as 0, so that it can
    take the whole cluster. A user without a job is skipped, as the text says; the listing never
    removes it. The order of jobs can change while GPUs are idle: no round may be skipped.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=60), Job(id="b", gpus=3, work=60)]
    >>> jobs += [Job(id="c", gpus=1, work=60)]
    >>> instance = Instance(Cluster.of_sizes([4]), jobs)
    >>> drive(instance, PrintedLtgf())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gangsched.analysis.driving.drive.PolicyError: ...: line 4 still finds job 'c' (1 of 2 free ...
    """

    name: ClassVar[str] = "printed-ltgf"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    stuck: Literal["raise", "end"] = "raise"

    def decide(self, state: State) -> Decision:
        """Return what Algorithm 1 allocates, in its order; no backfill."""
        queues = LtgfPolicy()._queues(state, state.candidates)
        room = state.capacity
        attained, fair = state.user_attained.copy(), state.user_fair
        lease = state.rules.lease_length
        users, picks = set(queues), []
        while any(state.gpus[j] <= room for j in _all(queues)):  # line 4
            able = [u for u in users if queues[u]]
            if not able:
                if self.stuck == "end":
                    break
                job = next(j for j in _all(queues) if state.gpus[j] <= room)
                raise NeverEnds(
                    f"line 4 still finds job {state.id(job)!r} ({state.gpus[job]} of {room} "
                    "free GPUs), but line 17 has removed every user"
                )
            user = min(able, key=lambda u: (attained[u] / fair[u] if fair[u] > 0 else 0.0, u))
            job = queues[user][0]  # lines 6-7
            if state.gpus[job] <= room:  # lines 10-15
                picks.append(job)
                queues[user].remove(job)
                room -= int(state.gpus[job])
                attained[user] += lease * state.gpus[job]
            else:  # line 17
                users.remove(user)
        losers = [j for j in state.preemptible.tolist() if j not in picks]
        moved = [j for j in picks if state.phase[j] == Phase.WAITING]
        return Decision(suspend=losers, start=[(j, None) for j in moved])


def _all(queues: dict[int, list[int]]) -> Iterator[int]:
    return (j for queue in queues.values() for j in queue)
