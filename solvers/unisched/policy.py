"""UniSched as an online policy: profile, estimate, select by the reward MILP, lease, place.

Source: W. Gao, Z. Ye, P. Sun, T. Zhang, Y. Wen, "UniSched", IEEE TC 73(6), 2024, sections III and
IV. One scheduling cycle of the paper is one call of :meth:`UniSchedPolicy.decide` at a multiple of
the best-effort lease; other rounds change nothing.

Steps of a cycle
----------------
1. Candidates: at a multiple of the SLO lease every lease has expired and all jobs are candidates;
   in between, jobs under an SLO lease hold their GPUs, and all others compete for the rest.
2. Estimator: seconds of service left of each job (`.estimator`), eq. (1) to (3).
3. Reward and policy generator: the options of each job (`formulations.unisched_compact`).
4. Selector: which options (`solvers.selector`), eq. (4) to (14) in compact form.
5. Second stage: who runs in the first slot. The objective does not care when, within its deadline,
   a selected job runs; work-conserving: first who cannot wait, then who runs, then by deadline. By
   least laxity alone jobs of nearly equal laxity would suspend each other in turn.
6. Nodes: renewing jobs keep theirs, others are packed (`.nodes.assign`).

Readings
--------
- "At each BE scheduling cycle, the Selector is responsible for combining all the jobs (including
  SLO jobs at the SLO scheduling cycle)" can mean that SLO jobs start at multiples of the SLO lease
  only (`starts="grid"`). Fig. 10 (a) says otherwise: a job then waits half a lease on average, so
  that misses double or triple from leases of 10 to 30 minutes, and the paper finds them equal. Here
  waiting SLO jobs also compete at best-effort cycles (`starts="staggered"`), in leases of tau, for
  GPUs that no SLO lease holds; a lease that begins there ends at the next multiple of T.
- A new job is profiled once, on min(2, gpus) GPUs for exactly one best-effort lease, without
  progress. Its run time is unknown before, so it has no other option until then.
- The paper gives a profiler job a reward of 1, whatever the deadline of the job is worth. Where a
  GPU earns more in a lease, new jobs wait to be profiled until their deadlines have passed.
  Here the profiling run counts as one of the leases that a job has until its next deadline, and is
  worth its share: the reward of that deadline by the number of these leases, which is all that is
  known before the run time is. It is at least 1, and 1 for best-effort jobs.
- A job none of whose deadlines can be met is best effort in that cycle.
- A profiler or best-effort job that is chosen at an SLO cycle competes again after its own lease.
- The paper's "cached solution" where the solver ran out of time: options of the jobs that the last
  cycle selected, as far as they still fit, and others by density.
- "Only a feasible solution" (Fig. 10 b, c) has no unique meaning; here jobs are taken in the order
  of their release as long as all that was taken can still be scheduled, whatever the rewards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...formulations.unisched.compact import (
    Kind,
    Options,
    Queue,
    capacity_of,
    options_of,
    row_weights,
)
from ...formulations.unisched.leases import LeasePhase, Rounding
from ...formulations.unisched.problem import Allocations
from ...instances import Cluster, Job, User
from ...instances.arrays import Bools
from ...instances.arrays import Ints as Ints
from ...instances.check import flag, integer, one_of
from ...instances.model import check_real
from ..growing import longer
from ..policy import Decision, Information, Phase, Preempts, Rules, Start, State
from ..result import Stop
from .deadlines import Deadlines
from .density import by_density, by_release
from .estimator import DurationEstimates, Mode
from .nodes import Nodes, Request, assign, beside
from .selector import Selector

Place = Mapping[int, int]

#: order of kinds (SLO, best effort, profilers) among selected jobs of equal laxity, and of the rest
RANK, REST = np.array([0, 2, 1]), np.array([2, 1, 0])

CHOICES = {
    "allocations": ("cells", "exact", "consolidated"),
    "rounding": ("lossless", "paper"),
    "starts": ("staggered", "grid"),
    "profiling": ("joint", "static", "none"),
    "selector": ("lp", "density", "feasible"),
    "iterations": ("calibrated", "ensemble", "maximum", "true"),
}


#: of a job whose kind has not been read
UNKNOWN = -1


class Candidates(NamedTuple):
    """The jobs of one cycle, by position: which, what they count as, what they still need.

    And who of them runs, and where.
    """

    jobs: Ints
    kind: Ints
    queue: Queue
    options: Options
    runs: Ints
    where: dict[int, Place]

    @property
    def first_deadline(self) -> Ints:
        """Seconds from now to the first deadline; 0 for jobs without one."""
        has = np.diff(self.queue.ptr) > 0
        first = np.zeros(self.jobs.size, dtype=np.int64)
        first[has] = self.queue.deadline[self.queue.ptr[:-1][has]]
        return first


@dataclass
class UniSchedPolicy:
    """UniSched (Gao et al. 2024): deadlines and best effort by one MILP in each cycle.

    Parameters
    ----------
    lease, be_lease : int
        T and tau, seconds; 600 and 300 in the paper. tau divides T and is a multiple of the round.
    allocations : {"cells", "exact", "consolidated"}
        What the policy generator offers, see :class:`~gangsched.formulations.UniSched`.
    rounding : {"lossless", "paper"}
    starts : {"staggered", "grid"}
        Whether waiting SLO jobs also start between multiples of `lease`, or only at these.
    sr_aware : bool
        Whether the estimate of a run time has the mean cost of suspensions, eq. (3).
    profiling : {"joint", "static", "none"}
        New jobs are profiled through the selector, on `profiler_nodes` nodes that do nothing else
        (the ablation of Fig. 9 a), or not at all: run times are known at once.
    profiler_nodes : int
        Nodes of the static profiler; the first ones.
    profiler_reward : float or None
        What a profiler job is worth; 1 in the paper, where SLO jobs are worth 100. None: a lease's
        share of what the job can still win.
    selector : {"lp", "density", "feasible"}
        How options are chosen: linear program and rounding; greedily by reward per GPU lease; by
        release alone.
    iterations : {"calibrated", "ensemble", "maximum", "true"}
        Epochs of jobs with a target metric, see :class:`~gangsched.solvers.DurationEstimates`.
    quantile : float
        Of the posterior of the epochs, within 0 and 1.
    noise : float
        Standard deviation of a relative error of the profiled run times, Fig. 9 (d).
    seed : int
        Of that error.
    time_limit : float or None
        Seconds that the selector may take in a cycle. With a limit a run can depend on the machine.

    Notes
    -----
    Where nodes differ in size, options are those of the largest node, and nodes have the last word.

    Guarantee: none. Each cycle has a bound, the run as a whole is measured against
    :func:`gangsched.analysis.proofs.deadline_rewards.reward_bound`. A cycle costs one linear
    program of about 3 options a job, and O(jobs log jobs).

    Examples
    --------
    Two jobs of 10 minutes want the same GPU; the one whose deadline is worth more gets it.

    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> low = DeadlineJob(id="low", gpus=1, work=600, rewards=[(1000, 20)])
    >>> high = DeadlineJob(id="high", gpus=1, work=600, rewards=[(1000, 100)])
    >>> run = drive(Instance(Cluster.of_sizes([1]), [low, high]), UniSchedPolicy(profiling="none"))
    >>> run.records.end.tolist()
    [1200, 600]
    """

    name: ClassVar[str] = "unisched"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"
    one_model: ClassVar[bool] = True
    pods: ClassVar[bool] = False

    lease: int = 600
    be_lease: int = 300
    allocations: Allocations = "cells"
    rounding: Rounding = "lossless"
    starts: Literal["staggered", "grid"] = "staggered"
    sr_aware: bool = True
    profiling: Literal["joint", "static", "none"] = "joint"
    profiler_nodes: int = 2
    profiler_reward: float | None = None
    selector: Literal["lp", "density", "feasible"] = "lp"
    iterations: Mode = "calibrated"
    quantile: float = 0.5
    noise: float = 0.0
    seed: int = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for name in ("lease", "be_lease", "profiler_nodes"):
            integer(self, "unisched", name, least=1)
        if self.lease % self.be_lease:
            raise ValueError(
                f"unisched: lease={self.lease} is not a multiple of be_lease={self.be_lease}"
            )
        if self.profiler_reward is not None:
            check_real("unisched", "profiler_reward", self.profiler_reward, positive=True)
        if self.time_limit is not None:
            check_real("unisched", "time_limit", self.time_limit, positive=True)
        flag(self, "unisched", "sr_aware")
        for name, allowed in CHOICES.items():
            one_of(f"unisched: {name}", getattr(self, name), allowed)
        self.estimates()  # which checks quantile, noise and seed

    def estimates(self) -> DurationEstimates:
        """Return what estimates run times."""
        return DurationEstimates(
            mode=self.iterations, quantile=self.quantile, noise=self.noise, seed=self.seed
        )

    @property
    def profiles(self) -> bool:
        """Whether new jobs are profiled."""
        return self.profiling != "none"

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Cycles:
        """Begin a session; refuse rules and clusters that do not go with the leases.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
            Not used.
        rules : Rules
        """
        if self.be_lease % rules.round_length:
            raise ValueError(
                f"unisched: be_lease={self.be_lease} is not a multiple of the "
                f"round of {rules.round_length} s"
            )
        if self.allocations == "exact" and max(cluster.sizes) > 8:
            raise ValueError(
                f"unisched: nodes of {max(cluster.sizes)} GPUs exceed the 8 of 'exact' allocations"
            )
        nodes = len(cluster.nodes)
        if self.profiling == "static" and self.profiler_nodes >= nodes:
            raise ValueError(
                f"unisched: profiler_nodes={self.profiler_nodes} leave no node of {nodes} for "
                "the jobs"
            )
        return Cycles(self, cluster)


class Cycles:
    """UniSched in one run: what it has learnt from cycle to cycle.

    Parameters
    ----------
    policy : UniSchedPolicy
    cluster : Cluster

    Attributes
    ----------
    kind : (jobs,) int array
        SLO or BEST_EFFORT, as of the last cycle in which the job could change.
    split : (jobs,) int array
        Speed on several nodes, in millionths; 0 where neither job nor rules allow that.
    now, shift : int
        The last cycle, and SLO leases since the last linear program.
    selected : int array
        Jobs that it selected.
    """

    def __init__(self, policy: UniSchedPolicy, cluster: Cluster) -> None:
        self.policy, self.estimates, self.chooser = policy, policy.estimates(), Selector()
        self.kind, self.split = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.count = 0  # of jobs whose columns were read
        self.deadlines = Deadlines()
        self.now, self.shift = -1, 0
        self.selected = np.zeros(0, dtype=np.int64)
        self._left = sum(cluster.sizes[policy.profiler_nodes :])

    def unable(self, job: Job) -> str:
        """Why a job can never run beside the static profiler."""
        if self.policy.profiling != "static" or job.gpus <= self._left:
            return ""
        return (
            f"job {job.id!r}: gpus={job.gpus} exceeds the {self._left} outside the static profiler"
        )

    def save(self) -> dict[str, Any]:
        """Return what was learnt, as plain data."""
        own = {name: getattr(self, name) for name in ("kind", "now", "shift", "selected")}
        return {**own, "basis": self.chooser.save()}

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.kind, self.selected = np.array(data["kind"]), np.array(data["selected"])
        self.now, self.shift = data["now"], data["shift"]
        self.chooser.load(data["basis"])

    def _remember(self, state: State) -> None:
        """Look at who has come since the last cycle, and count the leases since then."""
        self.deadlines = Deadlines.of(state)
        for j in state.arrived[self.count :].tolist():
            job = state.job(j)
            if j >= self.split.size:
                self.split = longer(self.split, j + 1)
            if j >= self.kind.size:
                self.kind = longer(self.kind, j + 1, UNKNOWN)
            may = job.spreads or state.rules.spread
            self.split[j] = job.speed_on(job.gpus, 2, job.gpus) if may else 0
            if self.kind[j] == UNKNOWN:  # not of a checkpoint
                self.kind[j] = Kind.BEST_EFFORT if job.best_effort else Kind.SLO
        self.count = state.arrived.size
        if self.now >= 0:
            self.shift += state.now // self.policy.lease - self.now // self.policy.lease
        self.now = state.now

    def _ideal_kind(self, state: State, jobs: Ints) -> Ints:
        """What jobs are counted as, before it is known whether a deadline can be met."""
        has = np.where(self.deadlines.number[jobs] > 0, int(Kind.SLO), int(Kind.BEST_EFFORT))
        return np.where(self._begins(state, jobs), has, self.kind[jobs])

    def next_change(self, state: State) -> int:
        """Return the next cycle."""
        return (state.now // self.policy.be_lease + 1) * self.policy.be_lease

    def decide(self, state: State) -> Decision:
        """Return who is suspended, and who starts where, at a cycle; nothing between two cycles."""
        if state.now % self.policy.be_lease:
            return Decision()
        self._remember(state)
        found = self._candidates(state)
        free = self._free(state, found)
        chosen = self._select(state, found, free)
        placed = self._place(state, found, free, *self._order(found, chosen))
        return self._decision(state, found, placed)

    # --- steps 1 to 3: candidates and their options ---

    def _is_slo_cycle(self, state: State) -> bool:
        return state.now % self.policy.lease == 0

    def _begins(self, state: State, jobs: Ints) -> Bools:
        """Who may begin an SLO lease now."""
        if self._is_slo_cycle(state):
            return np.ones(jobs.size, dtype=bool)
        waits: Bools = state.phase[jobs] != Phase.RUNNING
        return waits & (self.policy.starts == "staggered")

    def _unprofiled(self, state: State, jobs: Ints) -> Bools:
        if self.policy.profiling == "none":
            return np.zeros(jobs.size, dtype=bool)
        new: Bools = (state.profiled[jobs] == 0) & (state.starts[jobs] == 0)
        return new

    def _candidates(self, state: State) -> Candidates:
        """Who competes in this cycle, as what, and with which options."""
        jobs = np.concatenate([state.waiting, state.running])
        jobs = jobs[np.argsort(state.rank[jobs], kind="stable")]
        new = self._unprofiled(state, jobs)
        stay = new | (self.kind[jobs] != Kind.SLO) | self._begins(state, jobs)
        jobs, new = jobs[stay], new[stay]  # other SLO jobs hold their leases, or wait for the next
        if self.policy.profiling == "static":  # they have nodes of their own
            jobs, new = jobs[~new], new[~new]
        kind = np.where(new, Kind.PROFILER, self._ideal_kind(state, jobs))
        work = self.estimates.remaining(state, jobs)
        queue = self._queue(state, jobs, work, kind)
        options = self._options(state, jobs, queue)
        late = (kind == Kind.SLO) & (np.bincount(options.job, minlength=jobs.size) == 0)
        if late.any():  # no deadline can be met: best effort in this cycle
            kind = np.where(late, Kind.BEST_EFFORT, kind)
            queue = self._queue(state, jobs, work, kind)
            options = self._options(state, jobs, queue)
        self.kind[jobs[~new]] = kind[~new]
        runs = np.flatnonzero(state.phase[jobs] == Phase.RUNNING)
        return Candidates(jobs, kind, queue, options, runs, self._where(state, jobs, runs))

    def _where(self, state: State, jobs: Ints, runs: Ints) -> dict[int, Place]:
        """GPUs by node of those that run."""
        ptr, node, gpus = state.places(jobs[runs])
        pairs = list(zip(node.tolist(), gpus.tolist(), strict=True))
        ends = ptr.tolist()
        return {i: dict(pairs[ends[k] : ends[k + 1]]) for k, i in enumerate(runs.tolist())}

    def _queue(self, state: State, jobs: Ints, work: Ints, kind: Ints) -> Queue:
        """The columns of the jobs in a cycle, deadlines counted from now."""
        known = self.deadlines
        count = np.where(kind == Kind.SLO, known.number[jobs], 0)
        ptr = np.concatenate([[0], np.cumsum(count)])
        theirs = np.arange(known.due.shape[1]) < count[:, None]
        phase = np.where(state.starts[jobs] > 0, LeasePhase.SUSPENDED, LeasePhase.FRESH)
        phase[state.phase[jobs] == Phase.RUNNING] = LeasePhase.RUNNING
        return Queue(
            gpus=state.gpus[jobs],
            work=work,
            split_speed=self.split[jobs],
            cost=state.overhead[jobs],
            phase=phase,
            kind=kind,
            ptr=ptr,
            deadline=known.due[jobs][theirs] - state.now,
            value=known.value[jobs][theirs],
        )

    def _options(self, state: State, jobs: Ints, queue: Queue) -> Options:
        lease = self.policy.lease if self._is_slo_cycle(state) else self.policy.be_lease
        names = ("be_lease", "allocations", "rounding", "sr_aware")
        own: Any = {name: getattr(self.policy, name) for name in names}
        options = options_of(queue, sizes=self._sizes(state), lease=lease, **own)
        new = np.flatnonzero(queue.kind[options.job] == Kind.PROFILER)
        value = options.value.copy()
        value[new] = self._stakes(state, jobs[options.job[new]])
        return replace(options, value=value)

    def _stakes(self, state: State, jobs: Ints) -> NDArray[np.float64]:
        """What it is worth to profile jobs: a lease's share of what they can still win."""
        if self.policy.profiler_reward is not None:
            return np.full(jobs.size, self.policy.profiler_reward)
        begin, known = state.now + self.policy.be_lease, self.deadlines
        first = (known.due[jobs] > begin).argmax(axis=1)
        value, due = known.value[jobs, first], known.due[jobs, first]  # 0 and NEVER without one
        leases = np.maximum(1.0, (due - begin) / self.policy.lease)
        share: NDArray[np.float64] = np.maximum(1.0, value / leases)
        return share

    # --- step 4: the selector ---

    def _sizes(self, state: State) -> Ints:
        """GPUs of each node that are there for all but the static profiler."""
        sizes: Ints = np.array(state.sizes)
        if self.policy.profiling == "static":
            sizes[: self.policy.profiler_nodes] = 0
        return sizes

    def _select(self, state: State, found: Candidates, free: Ints) -> Ints:
        """Options that the selector chooses, as positions."""
        sizes = self._sizes(state)
        rows = row_weights(int(sizes.max()), self.policy.allocations)
        capacity = capacity_of(sizes, found.options.slots, rows=rows, free=free)
        held = -state.now % self.policy.lease // self.policy.be_lease
        capacity[:, 1:held] = capacity[:, :1]  # as long as SLO leases hold the others
        if self.policy.selector == "feasible":
            return by_release(found.options, capacity)
        if self.policy.selector == "density" or not self._is_slo_cycle(state):
            return by_density(found.options, capacity)
        at = np.flatnonzero(found.options.value > 0)
        few = found.options.take(at)
        limit = self.policy.time_limit
        selection = self.chooser.select(
            few, capacity, keys=found.jobs, shift=self.shift, time_limit=limit
        )
        self.shift = 0
        chosen = selection.chosen
        if selection.stop is Stop.TIME_LIMIT:  # the cached solution, and what fits beside it
            before = np.isin(found.jobs[few.job], self.selected)
            chosen = by_density(few, capacity, before)
        self.selected = found.jobs[few.job[chosen]]
        return at[chosen]

    # --- step 5: who runs in the first slot ---

    def _order(self, found: Candidates, chosen: Ints) -> tuple[Ints, Ints, Bools]:
        """Return candidates, the most urgent first; the speed each counts on; who may be split.

        Selected jobs that cannot wait, wider ones first; other selected jobs that run, and those
        that do not, by deadline; then profilers, best-effort jobs by what they still need, and SLO
        jobs by their deadline.
        """
        options, n = found.options, found.jobs.size
        laxity, due = np.full(n, -1, dtype=np.int64), found.first_deadline
        speed, split = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
        laxity[options.job[chosen]] = (options.within - options.needed)[chosen]
        speed[options.job[chosen]] = options.speed[chosen]
        split[options.job[chosen]] = options.split[chosen]
        with_deadline = chosen[options.deadline[chosen] >= 0]
        at = options.job[with_deadline]
        due[at] = found.queue.deadline[found.queue.ptr[at] + options.deadline[with_deadline]]
        now, later = laxity == 0, laxity > 0
        by_need = np.where(found.kind == Kind.SLO, due, found.queue.work)
        waits = found.queue.phase != LeasePhase.RUNNING
        keys = (
            np.where(now | later, -found.queue.gpus, 0),
            np.where(now, RANK[found.kind], by_need),
            later & waits,
            np.where(now, 0, np.where(later, 1, 2 + REST[found.kind])),
        )
        return np.lexsort(keys), speed, split  # ties: candidates stand by release

    # --- step 6: nodes ---

    def _free(self, state: State, found: Candidates) -> Ints:
        """GPUs by node that candidates may get: idle ones, and those that candidates hold."""
        free: Ints = np.array(state.free)
        _, nodes, gpus = state.places(found.jobs[found.runs])
        np.add.at(free, nodes, gpus)
        return np.where(self._sizes(state) > 0, free, 0)

    def _place(
        self, state: State, found: Candidates, free: Ints, order: Ints, speed: Ints, split: Bools
    ) -> dict[int, Place]:
        """Nodes of those that run from now on, by position.

        First those that fit by number of GPUs in the given order, together; then, in the rest,
        whoever still finds a place, split over nodes if need be.
        """
        room, first = int(free.sum()), []
        gpus = found.queue.gpus  # in the first slot
        need = np.where(found.kind == Kind.PROFILER, np.minimum(gpus, 2), gpus)
        for i in order.tolist():
            if need[i] <= room:
                first.append(i)
                room -= int(need[i])
        requests = [Request(i, int(need[i]), bool(split[i])) for i in first]
        held, repack = self._held(state, found, speed), self._is_slo_cycle(state)
        done = assign(requests, free.tolist(), state.sizes.tolist(), held=held, repack=repack)
        left = beside(free.tolist(), done.nodes.values())
        rest, room = Nodes(left, int(state.sizes.max())), sum(left)
        may_split = self.policy.allocations != "consolidated"
        for i in order.tolist():
            if 0 < need[i] <= room and i not in done.nodes:
                request = Request(i, int(need[i]), bool(may_split and found.queue.split_speed[i]))
                room -= 0 if rest.place([request]) else int(need[i])
        return {**done.nodes, **rest.where}

    def _held(self, state: State, found: Candidates, speed: Ints) -> dict[int, Place]:
        """Nodes of running candidates that are as fast there as their option says."""
        keeps = state.speed[found.jobs] >= speed
        return {i: place for i, place in found.where.items() if keeps[i]}

    def _decision(self, state: State, found: Candidates, placed: Mapping[int, Place]) -> Decision:
        """What changes: a running job that keeps its nodes has renewed its lease."""
        now = found.where
        suspend = [int(found.jobs[i]) for i, nodes in now.items() if placed.get(i) != nodes]
        start = []
        for i in sorted(placed):
            if placed[i] != now.get(i):
                seconds = self.policy.be_lease if found.kind[i] == Kind.PROFILER else 0
                gpus = sum(placed[i].values())
                start.append(Start(int(found.jobs[i]), placed[i], gpus, seconds))
        return Decision(suspend=suspend, start=[*start, *self._static_profilers(state)])

    def _static_profilers(self, state: State) -> list[Start]:
        """New jobs on the nodes of the static profiler, first come, first served."""
        if self.policy.profiling != "static":
            return []
        own = Nodes(state.free[: self.policy.profiler_nodes].tolist(), int(state.sizes.max()))
        waiting = state.waiting
        starts = []
        for j in waiting[self._unprofiled(state, waiting)].tolist():
            gpus = min(2, int(state.gpus[j]))
            if own.place([Request(j, gpus)]):
                break
            starts.append(Start(j, own.where[j], gpus, self.policy.be_lease))
        return starts
