"""Smallest remaining area over the weight of the user, by how it fares against isolation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....instances.arrays import Floats
from ....instances.check import check_real
from ....instances.model import Cluster, User
from ...policy import (
    Decision,
    Information,
    Ints,
    Phase,
    Preempts,
    Rule,
    Rules,
    State,
    ranked,
)
from .isolation_area_core import PARTS, advance, weight
from .isolation_rule import by_isolation


class _Isolation:
    """A session: what the users' jobs have waited and run so far, here and alone on their quotas.

    Sums of flow times are those of :mod:`gangsched.formulations.sharing_incentive`, of the jobs
    that have come and until now.
    """

    def __init__(self, policy: IsolationArea) -> None:
        self.policy = policy
        self.weights: Floats | None = None  # by user, once a job has come
        self.active = np.zeros(0, dtype=np.int64)
        self.known = np.zeros(0, dtype=np.bool_)
        self.area = np.zeros(0, dtype=np.int64)
        self.done = self.alone = self.count = np.zeros(0, dtype=np.int64)
        self.queue = np.zeros((0, 0), dtype=np.int64)
        self.since = 0

    def decide(self, state: State) -> Decision:
        """Return all jobs by (area over weight, release, number), to be repacked."""
        new = state.waiting[~self._known(state)[state.waiting]]
        over = state.phase[self.active] == Phase.FINISHED
        if self.weights is None or new.size or over.any():
            self._renew(state, new, over)
        assert self.weights is not None
        jobs = state.candidates
        area = state.remaining(jobs) * state.gpus[jobs]
        order = ranked(state, jobs, area / self.weights[_owner(state)[jobs]])
        return Decision(order=order, repacking=True)

    def next_change(self, state: State) -> int | None:
        """Nothing changes between arrivals and completions, but where a job finds no place."""
        return state.now + 1 if (state.blocked[state.waiting] >= 0).any() else None

    def _known(self, state: State) -> Any:
        """Which jobs have come, with room for all numbers; and for the users at first."""
        more = state.gpus.size - self.known.size
        if more > 0:
            self.known = np.append(self.known, np.zeros(more, dtype=np.bool_))
            self.area = np.append(self.area, np.zeros(more, dtype=np.int64))
        if self.weights is None:
            users = max(len(state.users), 1)
            self.done, self.alone, self.count = np.zeros((3, users), dtype=np.int64)
            self.queue = np.zeros((users, 16), dtype=np.int64)
        return self.known

    def _renew(self, state: State, new: Ints, over: Any) -> None:
        """Sum up what has been, and give the users their weights until something happens."""
        user, users = _owner(state), self.count.size
        ended = self.active[over]
        np.add.at(self.done, user[ended], (state.end - state.release)[ended])
        self.active = np.concatenate([self.active[~over], new])
        self.known[new] = True
        self.area[new] = PARTS * state.gpus[new] * state.work[new]
        if int(self.count.max()) + new.size > self.queue.shape[1]:
            more = np.zeros((users, self.queue.shape[1] + new.size), dtype=np.int64)
            self.queue = np.hstack([self.queue, more])
        quota = np.maximum(np.floor(PARTS * _quota(state)), 1).astype(np.int64)
        advance(
            new, 0, new.size, state.release, user, state.rank, PARTS * state.gpus, self.area,
            quota, self.queue, self.count, self.alone, self.since, state.now,
        )  # fmt: skip
        self.since = state.now
        flow = self.done.copy()
        np.add.at(flow, user[self.active], state.now - state.release[self.active])
        power, size = float(self.policy.power), float(self.policy.size)
        sums = zip(flow.tolist(), self.alone.tolist(), strict=True)
        self.weights = np.array([weight(*both, power, size) for both in sums])

    def save(self) -> dict[str, Any]:
        """Return the state of the session, as plain data."""
        return {name: value for name, value in vars(self).items() if name != "policy"}

    def load(self, data: Mapping[str, Any]) -> None:
        """Continue from saved data."""
        for name, value in data.items():
            kept = value is None or isinstance(value, int)
            setattr(self, name, value if kept else np.array(value))


def _owner(state: State) -> Ints:
    """The user of each job; one for all where there are none."""
    return state.user if state.users else np.zeros_like(state.user)


def _quota(state: State) -> Floats:
    return state.quota if state.users else np.array([float(state.sizes.sum())])


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationArea:
    """As ``smallest-area``, with areas over the weights of users that fare worse than alone.

    Jobs run by their remaining area (run time left times gang) over the weight of their user u,

        x_u ** power / (A_u + tau) ** size,    x_u = (F_u + tau) / (A_u + tau),

    with F_u the sum of the flow times so far of all its jobs that have come, and A_u the same in a
    virtual run of u alone on its quota, with fluid gangs by least remaining area; tau is an hour.
    So it is x_u, the sharing ratio so far, that rises where a user waits for others; and a user of
    much wait anyhow (a large A_u) comes later, which costs its own ratio little.

    Parameters
    ----------
    power : float
        0 or more; with 0 the ratio does not count.
    size : float
        0 or more; with 0 the sizes of the sums do not count.

    Notes
    -----
    Source: ours; the counterfactual, and A_u, are those of
    :class:`gangsched.formulations.SharingIncentive`, in thousandths of a GPU. Weights are renewed
    where a job comes or completes. Run times must be known. Nodes are repacked as by
    ``smallest-area``, and as there a wide gang can wait for long.

    Guarantee: none. Where it has been tried: docs/explanation/user-bounds.md.

    Complexity: O(n log n) a decision with n jobs, and O(users x served) each that comes or goes.

    Examples
    --------
    `c` is a little smaller than `b`, but alone its user would not have been faster than v's:

    >>> from gangsched import Cluster, Instance, Job, User, drive
    >>> jobs = [Job(id="a", gpus=2, work=7200, user="u")]
    >>> jobs += [Job(id="b", gpus=2, work=7300, user="v", release=60)]
    >>> jobs += [Job(id="c", gpus=2, work=7290, user="u", release=7200)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    >>> drive(instance, IsolationArea(), overhead=0).records.first.tolist()
    [0, 7200, 14520]
    """

    power: float = 1.0
    size: float = 0.5

    name: ClassVar[str] = "isolation-area"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"

    def __post_init__(self) -> None:
        for name in ("power", "size"):
            check_real("IsolationArea", name, getattr(self, name))
            if not 0 <= getattr(self, name) <= 16:
                raise ValueError(f"IsolationArea: {name}={getattr(self, name)} is not in 0 to 16")

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return by_isolation(float(self.power), float(self.size))

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> _Isolation:
        """Begin a session in which nobody has come."""
        return _Isolation(self)
