"""YARN-CS: a fixed part of the cluster for each user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ....formulations.fair_shares import FairShares
from ....instances import Cluster, Job, User
from ...placement import place
from ...policy import Decision, Ints, Key, Preempts, Rule, Rules, State
from .core import advance_by_quotas, with_quotas


def whole_quotas(quotas: Sequence[float] | NDArray[np.float64]) -> Ints:
    """Round quotas to whole GPUs by largest remainder; they add up to the cluster.

    Notes
    -----
    Everybody gets the whole part, and the GPUs that are left go one each to the users with the
    largest fractions, ties to the lower number.

    Examples
    --------
    >>> whole_quotas([2.5, 2.5, 1.0]).tolist()
    [3, 2, 1]
    """
    exact = np.asarray(quotas, dtype=np.float64)
    whole = np.floor(exact).astype(np.int64)
    left = round(float(exact.sum())) - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return whole


def quotas_of(cluster: Cluster, users: Sequence[User]) -> Ints:
    """Return the whole quota of each user; all GPUs where there are no users."""
    weights = [user.weight for user in users] or [1.0]
    return whole_quotas(FairShares(cluster.gpus, weights, by="demand").quotas)


class _Queues:
    """A session: all that is known beforehand are the quotas."""

    def __init__(self, policy: YarnCs, cluster: Cluster, users: Sequence[User]) -> None:
        self.policy = policy
        self.quotas = quotas_of(cluster, users).tolist()
        self.number = {user.id: u for u, user in enumerate(users)}

    def unable(self, job: Job) -> str:
        """Why a job needs more than its user's quota."""
        quota = self.quotas[self.number.get(job.user, 0)]
        if job.gpus <= quota:
            return ""
        user = job.user if self.number else ""
        return f"job {job.id!r}: gpus={job.gpus} exceeds user {user!r}'s quota of {quota}"

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        blocking = not self.policy.backfill
        return Rule(
            name="quotas", advance=advance_by_quotas, key=Key.RELEASE, by_user=True,
            numbers=tuple(map(float, self.quotas)), blocking=blocking, remember=with_quotas,
        )  # fmt: skip

    def decide(self, state: State) -> Decision:
        """Return the jobs that start, each with its nodes."""
        return self.policy.decide(state)

    def next_change(self, state: State) -> None:
        """Nothing changes between arrivals and completions."""

    def save(self) -> dict[str, Any]:
        """Return nothing: quotas follow from the users."""
        return {}

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue: there is no saved data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YarnCs:
    """Start each user's jobs in the order of their release, within its quota; never stop one.

    Parameters
    ----------
    backfill : bool
        False when a job that exceeds what is left of its user's quota, or finds no room, holds up
        all later jobs of this user. True lets them pass.

    Notes
    -----
    Source: V. K. Vavilapalli et al., "Apache Hadoop YARN: Yet Another Resource Negotiator", SoCC
    2013, with a queue a user, as Ye et al. (2022, Section 6.1.5) describe their baseline: a static
    quota by the users' weights. Our choices: quotas are whole GPUs, M W_u / sum W by largest
    remainder; nobody borrows what others leave idle; heads of users' queues are tried in the order
    of their release; by default a head that does not fit blocks its user. Run times are not used.

    Guarantee: no user ever holds more than its quota; without `backfill` the jobs of one user start
    in the order of their release. A user's idle quota can be of no use to it where the jobs of
    others leave no consolidated place.

    Complexity: O(waiting + (starts + users) nodes) a decision.

    Examples
    --------
    Two users with 2 GPUs each. The second GPU of `u` stays idle behind job `b`, and `v` idles.

    >>> from gangsched import Cluster, Instance, Job, User, drive
    >>> jobs = [Job(id=i, gpus=g, work=60, user="u") for i, g in (("a", 1), ("b", 2), ("c", 1))]
    >>> instance = Instance(Cluster.of_sizes([4]), jobs, [User("u"), User("v")])
    >>> drive(instance, YarnCs()).records.first.tolist()
    [0, 60, 120]
    >>> drive(instance, YarnCs(backfill=True)).records.first.tolist()
    [0, 60, 0]
    """

    name: ClassVar[str] = "yarn-cs"
    preempts: ClassVar[Preempts] = Preempts.NEVER
    one_model: ClassVar[bool] = True
    backfill: bool = False

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> _Queues:
        """Begin a session, which rejects jobs that need more GPUs than their user's quota.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
        rules : Rules
            Not used.
        """
        return _Queues(self, cluster, users)

    def decide(self, state: State) -> Decision:
        """Return the jobs that start, each with its nodes."""
        jobs = state.waiting
        gpus, pods, user = state.gpus[jobs], state.pod[jobs], state.user[jobs]
        room = whole_quotas(state.quota.tolist()) - state.user_gpus
        free, sizes = state.free.tolist(), state.sizes.tolist()
        start: list[tuple[int, Mapping[int, int]]] = []
        at, failed = 0, int(gpus.max(initial=0)) + 1  # the smallest gang that found no place
        while at < jobs.size:
            if self.backfill:
                tried = (gpus[at:] <= room[user[at:]]) & ((gpus[at:] < failed) | (pods[at:] > 0))
            else:
                tried = room[user[at:]] > 0
            if not tried.any():
                break
            at += int(tried.argmax())
            j, u, wanted, pod = int(jobs[at]), int(user[at]), int(gpus[at]), int(pods[at])
            fits = wanted <= room[u] and (wanted < failed or pod > 0)
            nodes = None
            if fits:
                nodes = place(wanted, free, sizes, spread=state.rules.spread, pod=pod)
            if nodes is not None:
                start.append((j, nodes))
                room[u] -= wanted
                for n, taken in nodes.items():
                    free[n] -= taken
            else:
                failed = min(failed, wanted) if fits and not pod else failed
                room[u] = room[u] if self.backfill else 0
            at += 1
        return Decision(start=start)
