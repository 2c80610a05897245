"""Gandiva_fair by Algorithm 2 to the letter: who waits, waits for GPUs of its own nodes.

The first reading of Section 3, kept as ``gandiva-fair:literal``; what names mean, and what the
whole system does beyond, is in :mod:`gangsched.solvers.gandiva_fair.policy`. Nobody starts on idle
GPUs of other nodes (3.3), a job goes to a model on which its speed is not known only when it
comes (3.4), and one job of each model moves between nodes at the begin of a quantum (3.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...instances import Cluster, Job
from ...instances.model import FULL_SPEED
from ..policy import Decision, Floats, Ints, State
from .stride import StridePool, effective_tickets, least_loaded
from .trading import Trade, log_of_changes, trade

__all__ = ["Kept", "LiteralSharing", "Profile", "Rooms", "among", "fits", "runs_on"]

Kind = tuple[int, str]  # user and group
#: to which gains are compared, so that rounding breaks no ties
DECIMALS = 9
#: GPUs of a model that a user with jobs there has at least
LEAST_SHARE = 1e-3
#: measurements that an average forgets after
MEMORY = 10
#: seconds of a quantum for each migration between models: the paper's quantum
PER_MIGRATION = 60


class Profile:
    """How fast the jobs of each user run on each model, as measured so far.

    Parameters
    ----------
    models : int

    Notes
    -----
    Jobs of one user and one group count as alike (a multi-job). A new measurement moves the average
    by one n-th of the difference, n the number of measurements up to 10.

    Examples
    --------
    >>> profile = Profile(2)
    >>> profile.add((0, ""), 1, 3.0)
    >>> profile.add((0, ""), 1, 4.0)
    >>> profile.speeds((0, "")).tolist()
    [nan, 3.5]
    """

    def __init__(self, models: int) -> None:
        self._models = models
        self._mean: dict[tuple[int, str], Floats] = {}
        self._count: dict[tuple[int, str], Ints] = {}

    def add(self, kind: tuple[int, str], model: int, speed: float) -> None:
        """Take a measurement into account."""
        mean = self._mean.setdefault(kind, np.full(self._models, np.nan))
        count = self._count.setdefault(kind, np.zeros(self._models, dtype=np.int64))
        if not count[model]:
            mean[model] = speed
        count[model] = min(count[model] + 1, MEMORY)
        mean[model] += (speed - mean[model]) / count[model]

    def speeds(self, kind: tuple[int, str]) -> Floats:
        """Return the mean speed on each model, nan where there is no measurement."""
        return self._mean.get(kind, np.full(self._models, np.nan)).round(DECIMALS)

    def save(self) -> list[list[Any]]:
        """Return means and numbers of measurements by kind, as plain data."""
        return [[*kind, mean, self._count[kind]] for kind, mean in self._mean.items()]

    def load(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from these."""
        for user, group, mean, count in rows:
            self._mean[user, group] = np.array(mean, dtype=np.float64)
            self._count[user, group] = np.array(count, dtype=np.int64)

    def of_user(self, kinds: Mapping[tuple[int, str], int], user: int) -> Floats:
        """Return a user's mean speeds over its jobs, nan where one is not known."""
        own = {kind: gpus for kind, gpus in kinds.items() if kind[0] == user}
        if not own:
            return np.full(self._models, np.nan)
        weights = list(own.values())
        mean = np.average([self.speeds(kind) for kind in own], axis=0, weights=weights)
        return np.asarray(mean).round(DECIMALS)


class Known(NamedTuple):
    """A job that has come: its user, GPUs, place in line, kind, and the models it can run on."""

    user: int
    gang: int
    rank: int
    kind: Kind
    able: tuple[int, ...]


class Alike(NamedTuple):
    """What jobs have in common that gain the same by a move: `able` are models they can run on."""

    kind: Kind
    gang: int
    model: int
    able: tuple[int, ...]


class Kept:
    """A run of Gandiva_fair: who is where, what is known of speeds, and who owns what.

    Models are numbers here, from the slowest to the newest; nodes are numbers within a model.

    Parameters
    ----------
    state : State
        At the first round.
    debt_cap, normalised : bool
        Of the policy.

    Attributes
    ----------
    gpus : (models,) float array
        N_g.
    pools : list of StridePool
        By model.
    at : dict of int to int
        Model of each job that has nodes.
    shares : (users, models) float array
        GPUs that users own on average.
    active : (users,) bool array
        Who had jobs when shares were traded last.
    trades : list of Trade
        In force, between users and models by number.
    log : list of dict
        Trades made and undone.
    """

    def __init__(self, state: State, *, debt_cap: bool, normalised: bool) -> None:
        self._models = state.models_by_speed
        self._nodes = [np.flatnonzero(state.node_model == m).tolist() for m in self._models]
        users = state.quota.size
        self.pools = [
            StridePool(state.sizes[nodes].tolist(), users, debt_cap=debt_cap, normalised=normalised)
            for nodes in self._nodes
        ]
        self.gpus = np.array([sum(pool.sizes) for pool in self.pools], dtype=np.float64)
        self.at: dict[int, int] = {}
        self.worth = np.zeros(users)
        self.shares = np.zeros((users, len(self.pools)))
        self.active = np.zeros(users, dtype=np.bool_)
        self.log: list[dict[str, Any]] = []
        self.trades: list[Trade] = []
        self._profile = Profile(len(self.pools))
        self._names = [state.models[m] for m in self._models]
        self._sizes = [Counter(pool.sizes) for pool in self.pools]
        self._jobs: dict[int, Known] = {}

    # --- jobs ---

    def meet(self, state: State) -> None:
        """Take note of jobs that have come."""
        arrived = state.arrived
        for j in arrived[len(self._jobs) :].tolist() if arrived.size > len(self._jobs) else ():
            user, gang, speeds = int(state.user[j]), int(state.gpus[j]), state.speeds[j]
            models = zip(self._models, self._sizes, strict=True)
            able = (g for g, (m, own) in enumerate(models) if speeds[m] > 0 and fits(gang, own))
            kind = user, state.group(j)
            self._jobs[j] = Known(user, gang, int(state.rank[j]), kind, tuple(able))

    def forget(self, state: State) -> None:
        """Take jobs that have ended from their nodes."""
        for j in sorted(set(self.at) - {*state.waiting.tolist(), *state.running.tolist()}):
            self.pools[self.at.pop(j)].remove(j)

    def add(self, state: State, job: int, model: int) -> None:
        """Give a job the nodes of least load, the job included (eqs. (1) and (2))."""
        (user, gang, *_), pool = self._jobs[job], self.pools[model]
        loads = pool.loads(self.per_gpu(model, user, gang)).tolist()
        servers = least_loaded(gang, loads, pool.left(), pool.sizes)
        assert servers is not None, "others are rejected before the run"
        pool.add(job, gang, user, servers, state.now)
        self.at[job] = model

    def move(self, state: State, job: int, model: int) -> None:
        """Give a job nodes of another model."""
        self.pools[self.at[job]].remove(job)
        self.add(state, job, model)

    def placed(self) -> Ints:
        """GPUs that each user's jobs ask for where they are."""
        return np.asarray(sum(pool.demand for pool in self.pools))

    def nodes_of(self, job: int) -> dict[int, int]:
        """Return the GPUs that a job takes, by node of the cluster."""
        model = self.at[job]
        taken = self.pools[model].nodes(job)
        return {self._nodes[model][server]: gpus for server, gpus in taken.items()}

    # --- tickets ---

    def set_shares(self, shares: Floats) -> None:
        """Let users own other shares than before."""
        changed = not np.array_equal(shares, self.shares)
        self.shares = shares
        if changed and len(self.pools) > 1:
            for pool, own in zip(self.pools, self.strides(), strict=True):
                pool.forgive(own)

    def per_gpu(self, model: int, user: int = 0, gang: int = 0) -> Floats:
        """Return the tickets per GPU of each user on a model, eq. (1).

        At most 1, which is a GPU for each that is asked for.
        """
        tickets, demand = self._effective(model, user, gang)
        return np.divide(tickets, demand, out=np.zeros_like(tickets), where=demand > 0)

    def _effective(self, model: int, user: int = 0, gang: int = 0) -> tuple[Floats, Ints]:
        """Effective tickets of each user on a model, and the GPUs that its jobs there ask for."""
        demand = self.pools[model].demand.copy()
        demand[user] += gang
        there = demand > 0
        tickets = np.zeros(demand.size)
        if len(self.pools) == 1:
            tickets[there] = self.shares[there, 0]
        elif there.any():
            owned = np.maximum(self.shares[there, model], LEAST_SHARE)
            tickets[there] = effective_tickets(owned, demand[there], int(self.gpus[model]))
        return tickets, demand

    def strides(self) -> list[list[float]]:
        """Return the strides of each user's jobs on each model: the inverse of eq. (1)."""
        prices = [self.per_gpu(model) for model in range(len(self.pools))]
        return [
            np.divide(1.0, own, out=np.zeros_like(own), where=own > 0).tolist() for own in prices
        ]

    def quantum(self, strides: Sequence[Sequence[float]]) -> set[int]:
        """Return who runs in the next quantum."""
        pairs = zip(self.pools, strides, strict=True)
        return set().union(*(pool.quantum(own) for pool, own in pairs))

    def fill(
        self, state: State, running: set[int], strides: Sequence[Sequence[float]], part: float
    ) -> set[int]:
        """Return who begins within a quantum, on what is free."""
        begun: set[int] = set()
        for model, pool in enumerate(self.pools):
            free = state.free[self._nodes[model]]
            if free.any():
                begun |= pool.fill(free.tolist(), running, strides[model], part)
        return begun

    # --- speeds ---

    def measure(self, state: State) -> None:
        """Profile the jobs that have run until now."""
        running = state.running[state.since[state.running] < state.now]
        if len(self.pools) == 1:
            return
        for j, speed in zip(running.tolist(), state.speed[running].tolist(), strict=True):
            self._profile.add(self._jobs[j].kind, self.at[j], speed / FULL_SPEED)

    def user_speeds(self, state: State) -> tuple[Floats, Floats]:
        """Return each user's mean speeds on the models, and its demand in GPUs."""
        kinds: dict[tuple[int, str], int] = {}
        speeds, demand = np.full(self.shares.shape, np.nan), np.zeros(self.worth.size)
        bound = set()
        for j in (*state.waiting.tolist(), *state.running.tolist()):
            user, gang, _, kind, able = self._jobs[j]
            kinds[kind] = kinds.get(kind, 0) + gang
            demand[user] += gang
            if len(able) < len(self.pools):
                bound.add(user)
        for user in {kind[0] for kind in kinds} - bound:
            speeds[user] = self._profile.of_user(kinds, user)
        return speeds, demand

    def model_for(self, state: State, job: int) -> int:
        """Return the model for a new job (Algorithm 2, lines 4 to 7).

        Notes
        -----
        Where it advances most, by what is known of the user's jobs of its group; ties to the newer.
        If not all speeds are known: the newest model on which it would always run, or else the one
        on which it would run most of the time.
        """
        user, gang, _, kind, able = self._jobs[job]
        if len(able) == 1:
            return able[0]
        part = {g: float(self.per_gpu(g, user, gang)[user]) for g in able}
        speeds = self._profile.speeds(kind)[list(able)]
        if np.isfinite(speeds).all():
            rate = dict(zip(able, speeds.tolist(), strict=True))
            return max(able, key=lambda g: (round(rate[g] * part[g], DECIMALS), g))
        return max(able, key=lambda g: (round(part[g], DECIMALS), g))

    def migrate(self, state: State, least: float, most: int) -> list[int]:
        """Move jobs to models on which they gain, and return them.

        Notes
        -----
        One after another: of the jobs that would advance at least so much faster, the one by whose
        move its user's jobs advance most together; ties to the largest gain of its own, then the
        first user. Of jobs that are alike the latest one moves.
        """
        alike, moved = self._alike(state), list[int]()
        known: dict[tuple[int, int, int], tuple[Floats, Ints]] = {}
        while len(moved) < most:
            best = self._best_move(alike, known, least)
            if best is None:
                break
            key, model = best
            job = alike[key].pop()
            if not alike[key]:
                del alike[key]
            known = {at: one for at, one in known.items() if at[0] not in (key.model, model)}
            self.move(state, job, model)
            moved.append(job)
        return moved

    def _best_move(
        self,
        alike: Mapping[Alike, object],
        known: dict[tuple[int, int, int], tuple[Floats, Ints]],
        least: float,
    ) -> tuple[Alike, int] | None:
        """Which of the jobs that are alike gain most, and on which model."""

        def advance(speeds: Floats, model: int, user: int, gang: int) -> tuple[float, float]:
            """How fast each of a user's jobs on a model advances, and all of them together."""
            at = model, user if gang else 0, gang
            if at not in known:
                known[at] = self._effective(*at)
            tickets, demand = known[at]
            total = float(speeds[model] * tickets[user])
            return total / max(int(demand[user]), 1), total

        best, found = (-np.inf, 0.0), None
        for key in alike:
            (user, _), gang, model, able = key
            speeds = self._profile.speeds(key.kind)
            part, total = advance(speeds, model, user, 0)
            lost = total - advance(speeds, model, user, -gang)[1]
            for other in able:
                if other == model or not np.isfinite(speeds[other] * part):
                    continue
                new, more = advance(speeds, other, user, gang)
                more -= advance(speeds, other, user, 0)[1]
                gain = (round(more - lost, DECIMALS), round(new / part, DECIMALS))
                if gain[1] > least and gain > best:
                    best, found = gain, (key, other)
        return found

    def _alike(self, state: State) -> dict[Alike, list[int]]:
        """Jobs that gain alike by a move, the latest last."""
        found: dict[Alike, list[int]] = {}
        for j in sorted(self.at, key=lambda j: self._jobs[j].rank):
            _, gang, _, kind, able = self._jobs[j]
            found.setdefault(Alike(kind, gang, self.at[j], able), []).append(j)
        return dict(sorted(found.items()))

    # --- trades ---

    def note_trades(self, now: int, trades: Sequence[Trade]) -> None:
        """Log which trades are new, and which are undone."""
        for one in log_of_changes(self.trades, trades):
            self.log.append({
                "time": now, "buyer": one.buyer, "seller": one.seller,
                "fast": self._names[one.fast], "slow": self._names[one.slow],
                "amount": one.amount, "rate": one.price,
            })  # fmt: skip
        self.trades = list(trades)

    # --- checkpoints ---

    def save(self) -> dict[str, Any]:
        """Return what the run has come to, as plain data."""
        return {
            "pools": [pool.save() for pool in self.pools],
            "at": [[j, model] for j, model in self.at.items()],
            "worth": self.worth,
            "shares": self.shares,
            "active": self.active.astype(np.int64),
            "log": [dict(entry) for entry in self.log],
            "trades": [list(one) for one in self.trades],
            "profile": self._profile.save(),
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there, in a run that has just begun."""
        for pool, own in zip(self.pools, data["pools"], strict=True):
            pool.load(own)
        self.at = dict(data["at"])
        self.worth, self.shares = np.array(data["worth"]), np.array(data["shares"])
        self.active = np.array(data["active"]).astype(np.bool_)
        self.log = [dict(entry) for entry in data["log"]]
        self.trades = [Trade(*one) for one in data["trades"]]
        self._profile.load(data["profile"])


class Rooms:
    """What gangs have a place on the nodes of which GPU models."""

    def __init__(self, cluster: Cluster) -> None:
        self.sizes: dict[str, Counter[int]] = {}  # of the nodes of each model
        for node in cluster.nodes:
            self.sizes.setdefault(node.model, Counter())[node.gpus] += 1
        self._fits = cache(lambda gang, model: fits(gang, self.sizes[model]))

    @property
    def asked(self) -> Callable[[Job], str] | None:
        """`unable`; None where all nodes are alike, on which there is room for all that fits."""
        return None if sum(map(len, self.sizes.values())) == 1 else self.unable

    def unable(self, job: Job) -> str:
        """Why no model has enough nodes for a job."""
        for model in self.sizes:
            if runs_on(job, model) and self._fits(job.gpus, model):
                return ""
        return f"job {job.id!r}: gpus={job.gpus} exceeds the nodes of any one size"


class LiteralSharing:
    """Gandiva_fair by Algorithm 2 to the letter in one run.

    Parameters
    ----------
    policy : GandivaFair
    cluster : Cluster
    """

    def __init__(self, policy: Any, cluster: Cluster) -> None:
        self.policy = policy
        self._rooms = Rooms(cluster)
        self._kept: Kept | None = None
        self._saved: Mapping[str, Any] | None = None

    @property
    def always_asked(self) -> bool:
        """Whether jobs may move though none waits: from a slow model to a fast one."""
        return len(self._rooms.sizes) > 1

    @property
    def log(self) -> list[dict[str, Any]]:
        """The trades, made and undone, as they happened."""
        if self._kept is not None:
            return self._kept.log
        return [] if self._saved is None else list(self._saved["log"])

    @property
    def unable(self) -> Callable[[Job], str] | None:
        """Why no model has enough nodes for a job, where there is something to ask."""
        return self._rooms.asked

    def save(self) -> dict[str, Any]:
        """Return who is where, what is known of speeds, and who owns what; plain data."""
        if self._kept is not None:
            return self._kept.save()
        return dict(self._saved or {})

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._saved = data or None

    def decide(self, state: State) -> Decision:
        """Return who stops and who starts where."""
        kept = self._ready(state)
        quantum = state.rules.lease_length
        gone = state.now % quantum
        before = set(state.running.tolist())
        if not gone:
            kept.measure(state)
        self._share(state, kept, begins=not gone)
        _place(state, kept)
        moved = set() if gone else self._migrate(state, kept, quantum // PER_MIGRATION)
        strides = kept.strides()
        if gone:
            running = before | kept.fill(state, before, strides, (quantum - gone) / quantum)
        else:
            running = kept.quantum(strides)
        stay = (before & running) - moved
        return Decision(
            suspend=sorted(before - stay),
            start=[(j, kept.nodes_of(j)) for j in sorted(running - stay)],
        )

    def next_change(self, state: State) -> int:
        """Return the begin of the next quantum."""
        quantum = state.rules.lease_length
        return (state.now // quantum + 1) * quantum

    def _ready(self, state: State) -> Kept:
        """What is known of this run, without the jobs that have ended."""
        if self._kept is None:
            policy = self.policy
            self._kept = Kept(state, debt_cap=policy.debt_cap, normalised=policy.normalised)
            if self._saved is not None:
                self._kept.load(self._saved)
                self._saved = None
        self._kept.meet(state)
        self._kept.forget(state)
        return self._kept

    def _share(self, state: State, kept: Kept, *, begins: bool) -> None:
        """Effective tickets, fair shares of the models, and trades."""
        kept.worth = worth = _worth(state)
        active = worth > 0
        trades = self.policy.trading and len(kept.pools) > 1
        if trades and not begins and np.array_equal(active, kept.active):
            return
        kept.active = active
        shares = worth[:, None] * (kept.gpus / kept.gpus.sum())
        if len(kept.pools) == 1:
            shares = worth[:, None]
        if trades:
            shares = self._traded(state, kept, shares)
        kept.set_shares(shares)

    def _traded(self, state: State, kept: Kept, shares: Floats) -> Floats:
        """Shares after the trades of users whose speeds are known."""
        speeds, demand = kept.user_speeds(state)
        users = np.flatnonzero(kept.active & np.isfinite(speeds).any(axis=1))
        row = {user: i for i, user in enumerate(users.tolist())}
        keep = among(row, (one for one in kept.trades if one.buyer in row and one.seller in row))
        found = trade(
            shares[users], speeds[users], demand=demand[users], price=self.policy.price, keep=keep
        )
        kept.note_trades(state.now, among(users.tolist(), found.trades))
        shares = shares.copy()
        shares[users] = found.shares
        return shares

    def _migrate(self, state: State, kept: Kept, most: int) -> set[int]:
        """Move jobs to models and to nodes that are better for them."""
        moved: set[int] = set()
        if len(kept.pools) > 1:
            moved.update(kept.migrate(state, self.policy.migration_gain, max(1, most)))
        for model, pool in enumerate(kept.pools):
            move = pool.imbalance(kept.per_gpu(model), self.policy.threshold)
            if move is not None:
                pool.move(*move, state.now)
                moved.add(move[0])
        return moved


def _place(state: State, kept: Kept) -> None:
    """Give new jobs their model and nodes (Algorithm 2)."""
    queues: dict[int, list[int]] = {}
    new = [j for j in state.waiting.tolist() if j not in kept.at]
    for j in sorted(new, key=lambda j: -state.weight[j])[::-1]:
        queues.setdefault(int(state.user[j]), []).append(j)
    while queues:
        placed = kept.placed()
        user = min(queues, key=lambda u: (placed[u] / kept.worth[u], u))  # line 2
        j = queues[user].pop()  # line 3
        model = kept.model_for(state, j)  # lines 4 to 7
        kept.add(state, j, model)  # lines 8 to 11
        queues = {u: queue for u, queue in queues.items() if queue}


def among(number: Mapping[int, int] | Sequence[int], trades: Iterable[Trade]) -> list[Trade]:
    """Trades between users that have other numbers."""
    return [t._replace(buyer=number[t.buyer], seller=number[t.seller]) for t in trades]


def fits(gang: int, sizes: Mapping[int, int]) -> bool:
    """Whether some nodes of one size can hold a gang, by how many there are of each size."""
    return any(-(-gang // size) <= count for size, count in sizes.items())


def runs_on(job: Job, model: str) -> bool:
    """Whether a job can run on a model."""
    return (not job.pin or job.pin == model) and (not job.speeds or model in job.speeds)


def _worth(state: State) -> Floats:
    """Effective tickets of each user, in GPUs; 0 for those without active jobs."""
    jobs = np.concatenate([state.waiting, state.running])
    demand = np.bincount(state.user[jobs], weights=state.gpus[jobs], minlength=state.quota.size)
    tickets = np.zeros(demand.size)
    active = demand > 0
    gpus = int(state.sizes.sum())
    tickets[active] = effective_tickets(state.quota[active], demand[active], gpus)
    return tickets
