"""Gandiva_fair: tickets, split stride, balance, work conservation, and traded GPU models.

Source: S. Chaudhary et al., "Balancing Efficiency and Fairness in Heterogeneous GPU Clusters for
Deep Learning", EuroSys 2020. The whole system, as a decision goes through it; `PlainSharing` in
tests/plain_sharing.py has a method for each step in plain Python, and :mod:`.sharing_steps` decides
the same as machine code.

========  =================================================  ================================
section   step                                               method of `PlainSharing`
========  =================================================  ================================
3.5       profiling: averages of a user's recent speeds      `open`
3.2       effective tickets t'_i: fair share, up to demand   `open`, `tickets_by_demand`
3.4, 3.5  trading: fast GPUs for slow ones, second price     :func:`.trading.trade`
Alg. 2    allocation: user (2), job (3), model (4 to 7),     `_allocate`, `_model_for`,
          nodes (8 to 11), packed (3.2)                      `_add`, `packed`
3.4       exploration: a job that takes turns goes to a      `_explore`
          model that is not profiled, if it fits in memory
3.5       migration between models: largest gain first       `_migrate`, `_gain`
3.5       migration between nodes of a model                 `_balance`
Alg. 1    gang-aware stride, split (3.1); eqs. (1) to (3)    `_take_turns`, :class:`.StridePool`
3.3, 3.5  work conservation: on-demand migration to idle     `_use_idle`, `best_fit`
          GPUs, of the next model where one is used up
========  =================================================  ================================

=======================  ==========================  =============================================
paper                    here                        meaning
=======================  ==========================  =============================================
t_i                      `User.weight`               tickets of user i
r_ij                     `Job.gpus`                  GPUs of its job j
effective tickets        `worth`                     GPUs that the tickets are worth, by demand
fair share of model g    `worth` by models           that, in proportion to the models' GPUs N_g
ticketsPerGPU (1)        `_per_gpu`                  of a user on a model over its GPUs there
ticketLoadPerGPU (2)     `_loads`                    of a node
jobTickets (3)           `_strides`                  its stride is r_ij over them, 1 over (1)
=======================  ==========================  =============================================

Deviations from the paper, and what it leaves open
    Algorithm 2, line 2, picks the user with least tickets per GPU; the text wants the one that uses
    the least for its tickets, which is the one with most (of placed jobs). Line 5 divides durations
    by tickets, migration divides rates by them: rates are multiplied here, both times, and the
    tickets per GPU count up to what the job can use: effective tickets on that model over the GPUs
    that the user's jobs ask for there, the job included. Without that limit a job that runs at full
    speed moves to a GPU five times slower.
    A job of unknown speeds goes to the newest model of which the user has not yet used up its
    share, as Section 3.5 tells (line 7 would pile all on the newest), or else where most of the
    share is left.
    Newest is the model on which the jobs of the run that can run there are fastest on average: what
    an operator knows of the cluster (`State.models_by_speed`).
    "Memory requirements fit" (3.4): jobs name the models on which they can run, and go to no other.
    "Jobs are time-shared" (3.4): the user's tickets per GPU on the model are below 1.
    Who migrates on demand (3.3) runs on GPUs that nobody else wants, for the rest of the quantum,
    and keeps its home: its turns there come as if GPUs had idled, and nobody is charged. So fair
    shares stay what strides give, and what is left is shared by tickets, too. A gang moves for good
    by the steps of 3.4 and 3.5 alone.
    Packing (3.2, 3.3, without a rule in the paper): a new job goes where it fits beside all others
    with the fewest GPUs left, to the least load only where somebody has to take turns; jobs move
    away from nodes only where some do; idle GPUs are given best fit.
    Users trade the models on which their speeds are known, if each of their jobs can run on all.
    A user that sold its share of a model keeps a thousandth of a GPU there, so that strides stay
    finite; where a share changes, nobody keeps a pass of more than a stride above the least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...instances import Cluster, Job, User
from ...instances.check import check_real, flag
from ..policy import Decision, Floats, Preempts, Rules, Session, State
from .sharing import CompiledSharing, Models, SharingLimits
from .trading import RULES, PriceRule, Trade, log_of_changes, trade

#: seconds of a quantum for each migration: the paper's quantum
PER_MIGRATION = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class GandivaFair:
    """Share every node by gang-aware stride, each user's jobs by its tickets; trade GPU models.

    Parameters
    ----------
    threshold : float
        A job moves from the most to the least loaded node of a model when their tickets per GPU
        differ by more than this many times the mean.
    trading : bool
        False to leave every user its share of every model.
    price : str
        Of trades, see :func:`~gangsched.solvers.gandiva_fair.trading.trade`.
    migration_gain : float
        A job moves to another model where it advances more than so many times as fast.
    debt_cap, normalised : bool
        Of strides, see :class:`~gangsched.solvers.gandiva_fair.stride.StridePool`; False as
        printed.
    literal : bool
        True for Algorithm 2 to the letter: nobody migrates on demand or to explore, one job of each
        model moves between nodes in a quantum, and packing breaks ties only.

    Notes
    -----
    Source and deviations: see the module. Tickets are the users' weights; among a user's waiting
    jobs that of largest `weight` is placed first (Algorithm 2, line 3).

    Our choices: the quantum is the driver's lease, and quanta begin at its multiples, whether or
    not leases are synchronous (the paper's is one to two minutes); a resumed job pays the driver's
    overhead (next to none in the paper), on other nodes than before the cost of a migration (5 s).
    For each minute of the quantum one job moves between models, and one between the nodes of each
    model, as many as in the paper; the threshold is 0.25, the gain 1.1 (it gives neither). What
    becomes free within a quantum goes to jobs of that node at once, by pass, charged by the part
    of the quantum that is left, and then to any that wait. On one model, quanta in which nobody
    waits are not charged. Shares are traded at the begin of a quantum and when a user comes or
    goes, always from fair shares on: what is not bought again is undone. Run times are not used.

    Guarantee: after a decision no GPUs idle that a waiting gang could have in a consolidated place
    (not so if `literal`); on one node as of
    :func:`~gangsched.solvers.gandiva_fair.stride.gang_aware_stride`; none for the cluster. What
    trades guarantee (:func:`~gangsched.solvers.gandiva_fair.trading.trade`) holds for the shares,
    not for the time that jobs get, which do not always pack. Complexity: O(active jobs log) at the
    begin of a quantum and O(kinds * models^2 * users) for each job moved, else O(nodes + active
    jobs).

    Examples
    --------
    Two users, one of whom has twice as many jobs, on one GPU for eight quanta.

    >>> from gangsched import Cluster, Instance, Job, User, drive
    >>> jobs = [Job(id=i, gpus=1, work=600, user=u) for i, u in ("au", "bv", "cv")]
    >>> instance = Instance(Cluster.of_sizes([1]), jobs, [User("u"), User("v")])
    >>> run = drive(instance, GandivaFair(), lease=60, overhead=0, until=8 * 60)
    >>> run.records.held.tolist()
    [240, 120, 120]
    """

    name: ClassVar[str] = "gandiva-fair"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    pods: ClassVar[bool] = False
    threshold: float = 0.25
    trading: bool = True
    price: PriceRule = "second"
    migration_gain: float = 1.1
    debt_cap: bool = True
    normalised: bool = True
    literal: bool = False

    def __post_init__(self) -> None:
        check_real("gandiva-fair", "threshold", self.threshold)
        check_real("gandiva-fair", "migration_gain", self.migration_gain, positive=True)
        for name in ("trading", "debt_cap", "normalised", "literal"):
            flag(self, "gandiva-fair", name)
        if self.price not in RULES:
            raise ValueError(f"gandiva-fair: price={self.price!r} is not one of {', '.join(RULES)}")

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Session:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used: the driver has their shares.
        rules : Rules
            Not used.
        """
        return TicketSharing(self, cluster)


NOBODY = np.zeros(0, dtype=np.int64)


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
            runs = (not job.pin or job.pin == model) and (not job.speeds or model in job.speeds)
            if runs and self._fits(job.gpus, model):
                return ""
        return f"job {job.id!r}: gpus={job.gpus} exceeds the nodes of any one size"


class TicketSharing:
    """Gandiva_fair in one run.

    Parameters
    ----------
    policy : GandivaFair
    cluster : Cluster
    """

    def __init__(self, policy: GandivaFair, cluster: Cluster) -> None:
        self.policy = policy
        self._rooms = Rooms(cluster)
        self._core: CompiledSharing | None = None
        self._saved: Mapping[str, Any] | None = None
        self._traded_by = np.zeros(0, dtype=np.bool_)  # who had jobs when shares were traded last
        self._trades: list[Trade] = []
        self._log: list[dict[str, Any]] = []
        self._kinds: dict[tuple[int, str], int] = {}
        self._able: dict[tuple[Any, ...], tuple[int, ...]] = {}  # models, by gang and speeds

    @property
    def always_asked(self) -> bool:
        """Whether jobs may move though none waits: from a slow model to a fast one."""
        return len(self._rooms.sizes) > 1

    @property
    def log(self) -> list[dict[str, Any]]:
        """The trades, made and undone, as they happened."""
        return self._log

    @property
    def unable(self) -> Callable[[Job], str] | None:
        """Why no model has enough nodes for a job, where there is something to ask."""
        return self._rooms.asked

    def save(self) -> dict[str, Any]:
        """Return who is where, what is known of speeds, and who owns what; plain data."""
        if self._core is None:
            return dict(self._saved or {})
        several = len(self._gpus) > 1
        return {
            "core": self._core.save(),
            "active": (self._traded_by if several else self._core.worth > 0).astype(np.int64),
            "log": [dict(entry) for entry in self._log],
            "trades": [list(one) for one in self._trades],
            "kinds": [list(kind) for kind in self._kinds],
            "known": self._core.known,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._saved = data or None
        if data:
            self._log = [dict(entry) for entry in data["log"]]

    def decide(self, state: State) -> Decision:
        """Return who stops and who starts where."""
        core = self._core if self._core is not None else self._begin(state)
        self._meet(state, core)
        quantum = state.rules.lease_length
        gone = state.now % quantum
        running, ran, speed = state.running, NOBODY, NOBODY
        if not gone and self.always_asked:
            ran = running[state.since[running] < state.now]
            speed = state.speed[ran]
        core.open(state.waiting, running, ran, speed)
        self._share(state, core, begins=not gone)
        stop, start = core.decide(state.now, (quantum - gone) / quantum, begins=not gone)
        return Decision(suspend=stop, start=start)

    def next_change(self, state: State) -> int:
        """Return the begin of the next quantum."""
        quantum = state.rules.lease_length
        return (state.now // quantum + 1) * quantum

    def _begin(self, state: State) -> CompiledSharing:
        """What is known of this run, where the first decision is due."""
        policy, models = self.policy, state.models_by_speed
        nodes = [np.flatnonzero(state.node_model == m).tolist() for m in models]
        sizes = [state.sizes[own].tolist() for own in nodes]
        self._sizes = [Counter(own) for own in sizes]
        self._models = models
        self._names = [state.models[m] for m in models]
        self._gpus = np.array([sum(own) for own in sizes], dtype=np.float64)
        limits = SharingLimits(
            threshold=policy.threshold, gain=policy.migration_gain,
            most=max(1, state.rules.lease_length // PER_MIGRATION),
            debt_cap=policy.debt_cap, normalised=policy.normalised, literal=policy.literal,
        )  # fmt: skip
        self._core = core = self.sharing(sizes, nodes, state.quota, limits)
        if (data := self._saved) is not None:
            self._saved = None
            self._traded_by = np.array(data["active"]).astype(np.bool_)
            self._trades = [Trade(*one) for one in data["trades"]]
            self._kinds = {(user, group): k for k, (user, group) in enumerate(data["kinds"])}
            self._meet(state, core, data["known"])
            core.load(data["core"])
        return core

    def sharing(
        self, sizes: list[list[int]], nodes: list[list[int]], quota: Floats, limits: SharingLimits
    ) -> CompiledSharing:
        """Return what decides, before anybody has come."""
        return CompiledSharing(sizes, nodes, quota, limits)

    def _meet(self, state: State, core: CompiledSharing, until: int | None = None) -> None:
        """Take note of jobs that have come."""
        new = state.arrived[core.known : until]
        if not new.size:
            return
        columns = state.user, state.gpus, state.rank, state.weight
        users, known = state.user[new].tolist(), self._kinds
        kinds = [
            known.setdefault((user, state.group(j)), len(known))
            for j, user in zip(new.tolist(), users, strict=True)
        ]
        able: Models = [(0,)] * new.size  # others are rejected before the run
        if len(self._models) > 1:
            fast = (state.speeds[new] > 0).tolist()
            able = [*map(self._models_for, state.gpus[new].tolist(), fast)]
        core.meet(new, columns, kinds, able)

    def _models_for(self, gang: int, fast: list[bool]) -> tuple[int, ...]:
        """The models on which a gang finds enough nodes, of those on which it can run."""
        able = self._able.get((gang, *fast))
        if able is None:
            fit = zip(self._models, self._sizes, strict=True)
            able = tuple(g for g, (m, own) in enumerate(fit) if fast[m] and fits(gang, own))
            self._able[gang, *fast] = able
        return able

    def _share(self, state: State, core: CompiledSharing, *, begins: bool) -> None:
        """Fair shares of the models, and trades; on one model they are what tickets are worth."""
        if len(self._gpus) == 1:
            return
        worth, trades = core.worth, self.policy.trading
        active = worth > 0
        if trades and not begins and np.array_equal(active, self._traded_by):
            return
        self._traded_by = active
        shares = worth[:, None] * (self._gpus / self._gpus.sum())
        core.set_shares(self._traded(state, core, shares) if trades else shares)

    def _traded(self, state: State, core: CompiledSharing, shares: Floats) -> Floats:
        """Shares after the trades of users whose speeds are known."""
        speeds, demand = core.user_speeds()
        users = np.flatnonzero(self._traded_by & np.isfinite(speeds).any(axis=1))
        row = {user: i for i, user in enumerate(users.tolist())}
        keep = among(row, (one for one in self._trades if one.buyer in row and one.seller in row))
        found = trade(
            shares[users], speeds[users], demand=demand[users], price=self.policy.price, keep=keep
        )
        self._note_trades(state.now, among(users.tolist(), found.trades))
        shares[users] = found.shares
        return shares

    def _note_trades(self, now: int, trades: list[Trade]) -> None:
        """Log which trades are new, and which are undone."""
        for one in log_of_changes(self._trades, trades):
            self._log.append({
                "time": now, "buyer": one.buyer, "seller": one.seller,
                "fast": self._names[one.fast], "slow": self._names[one.slow],
                "amount": one.amount, "rate": one.price,
            })  # fmt: skip
        self._trades = trades


def among(number: Mapping[int, int] | Sequence[int], trades: Iterable[Trade]) -> list[Trade]:
    """Trades between users that have other numbers."""
    return [t._replace(buyer=number[t.buyer], seller=number[t.seller]) for t in trades]


def fits(gang: int, sizes: Mapping[int, int]) -> bool:
    """Whether some nodes of one size can hold a gang, by how many there are of each size."""
    return any(-(-gang // size) <= count for size, count in sizes.items())
