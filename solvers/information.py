"""How policies learn run times, as a setting: known, after a profiling run, or with an error.

A policy that uses run times *knows* those of the jobs that have come. Behind :class:`Profiled` it
knows that of a job once it has been profiled, behind :class:`Estimated` with an error. The policy
itself stays as it is: both hand it a state in which only the jobs of its own
:class:`~gangsched.solvers.policy.Seen` have come, so that policies can be compared with the same
information.

Symbols
-------
=========  ==================  ====================================================================
symbol     here                unit
=========  ==================  ====================================================================
D_j        ``state.gpus``      GPUs of the gang
T, G       ``Profiler``        seconds of a profiling run, and the most GPUs that it takes
K          ``dedicated``       nodes that only profile
p_j        ``state.work``      seconds of service
e_j        ``factor``          estimated over true run time
=========  ==================  ====================================================================

A profiling run
---------------
1. Each job is profiled once before it runs, for T s, on min(G, D_j) GPUs in a consolidated place
   (as gangs are placed; with several GPU models on the fastest that is free). It makes no progress.
2. At each round new jobs get their places on the GPUs that are free, by (release, number); whoever
   finds none is passed. Only what they leave is free for the policy: if it came first, a full
   cluster would never profile anybody. Nobody is stopped for it, and it is not stopped.
3. While it waits or is profiled the job has not come as far as the policy can see: it is in no
   list, its run time is 0, and to ask for it is refused. Its release stays the true one.

The GPUs that profiling runs hold are not free, and the policy does not know when they will be.

============  ===================  =======================================================
preset        T                    G
============  ===================  =======================================================
``unisched``  300 s                2: Gao et al. (2024), section III-A
``chronus``   min(120, 30 D_j) s   D_j: as published with Chronus (Gao et al., SoCC 2021)
============  ===================  =======================================================

T is rounded up to whole rounds.

Dedicated nodes
---------------
With K > 0 the last K nodes of the cluster do nothing but profile (Chronus and UniSched's static
profiler have such nodes of their own). The cluster is no larger for it, so that policies are
compared on equal resources: what profiles is lost to the rest. Of the above it changes:

* New jobs queue for these nodes by (release, number), and nobody passes: the first that finds no
  place there ends the walk. So every job is profiled, however many come after it.
* A run takes at most the GPUs for which there is a consolidated place on the empty K nodes.
* The policy is begun with the other nodes and sees no others: in ``cluster``, ``sizes``, ``free``,
  ``node_model``, ``capacity`` and in its ``quota``, which is scaled by their GPUs. Nor does the
  driver give them to the jobs that it places itself (``Session.dedicated``). Fair shares of (8),
  (9) and (14) stay those of the whole cluster, as it is shared; they go with no run times.
* A job without a consolidated place on the other nodes can never run, and is rejected before.

They are the last ones because the nodes that are left keep their numbers then. On several GPU
models there are none: to profile a job on one says nothing of the others.

An error
--------
The policy sees e_j p_j for p_j, and e_j times what is really left, as an iteration time that was
measured wrong would have it. e_j depends on the seed and the job's id alone: 1 + s z with z normal,
drawn again until it is positive ("gaussian"), or 1 + s u with u uniform on [0, 1) ("overestimate").
Of complete jobs the true run time is known.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..instances import Cluster, Job, User
from ..instances.check import integer
from ..instances.model import check_real
from ..instances.remembered import once
from .placement import place, place_by_speed
from .policy import (
    LATER,
    Decision,
    Information,
    Ints,
    NotShown,
    Phase,
    Policy,
    Preempts,
    Rules,
    Seen,
    Session,
    Start,
    State,
    begin,
    information_of,
    is_offline,
    is_policy,
)

ErrorModel = Literal["gaussian", "overestimate"]


# --- the settings --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiler:
    """What a profiling run takes.

    Parameters
    ----------
    seconds : int
        The most that it lasts, rounded up to whole rounds.
    gpus : int or None
        The most GPUs that it takes; None for the gang.
    per_gpu : int or None
        Seconds for each GPU of the gang, where that is less; None where the gang does not matter.

    Examples
    --------
    >>> [PROFILERS["chronus"].run(gang, Rules()) for gang in (1, 2, 8)]
    [(1, 60), (2, 60), (8, 120)]
    >>> PROFILERS["unisched"].run(8, Rules())
    (2, 300)
    """

    seconds: int = 300
    gpus: int | None = 2
    per_gpu: int | None = None

    def __post_init__(self) -> None:
        for name in ("seconds", "gpus", "per_gpu"):
            if name == "seconds" or getattr(self, name) is not None:
                integer(self, "profiler", name, least=1)

    def run(self, gang: int, rules: Rules) -> tuple[int, int]:
        """Return the GPUs and the seconds for which a gang is profiled.

        Parameters
        ----------
        gang : int
        rules : Rules
        """
        gpus = gang if self.gpus is None else min(self.gpus, gang)
        most = self.seconds if self.per_gpu is None else min(self.seconds, self.per_gpu * gang)
        return gpus, rules.round_up(most)


#: profilers of the papers
PROFILERS: Mapping[str, Profiler] = {
    "unisched": Profiler(),
    "chronus": Profiler(seconds=120, gpus=None, per_gpu=30),
}


def _check(policy: Any, what: str) -> None:
    """Refuse what is no policy, or one for which a setting means nothing."""
    if not is_policy(policy):
        raise TypeError(f"{what}: policy={policy!r} has no name, preempts or decide(state)")
    owner, known = f"{what}: policy {policy.name!r}", information_of(policy)
    if known is None:
        raise ValueError(f"{owner} does not use run times, which are what is {what}")
    if known in ("profiled", "estimated"):
        raise ValueError(f"{owner} has run times that are {known} already")
    if getattr(policy, "profiles", False):
        raise ValueError(f"{owner} profiles new jobs by itself, in its own way")
    if is_offline(policy):
        raise ValueError(f"{owner} looks at jobs that have not come")
    if getattr(policy, "needs_ps", False):
        raise ValueError(f"{owner} runs jobs with parameter servers, whose run times are known")


class _Setting:
    """What both settings have of the policy behind them."""

    policy: Policy
    information: ClassVar[Information]

    @property
    def name(self) -> str:
        """That of the policy, and the setting."""
        return f"{self.policy.name}:{self.information}"

    @property
    def preempts(self) -> Preempts:
        """As the policy behind it."""
        return self.policy.preempts

    @property
    def one_model(self) -> bool:
        """Whether the policy takes all GPUs for equal."""
        return bool(getattr(self.policy, "one_model", False))

    @property
    def pods(self) -> bool:
        """Whether the policy takes notice of pods."""
        return bool(getattr(self.policy, "pods", True))


@dataclass(frozen=True, kw_only=True)
class Profiled(_Setting):
    """A policy that knows the run time of a job once it has been profiled.

    Parameters
    ----------
    policy : Policy
        One that knows run times, and does not profile by itself.
    profiler : Profiler
        What a profiling run takes.
    dedicated : int
        K: so many nodes, the last ones, only profile; 0 where profiling takes any free GPUs.

    Notes
    -----
    See the module. Decisions are made in Python, whatever compiled rule the policy has.

    Guarantee: none, as the policy has only the GPUs that profiling leaves. O(jobs that are to be
    profiled x nodes) a decision beside the policy's.

    Examples
    --------
    Both jobs are profiled for 5 minutes, then the shorter one runs.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> from gangsched.solvers import Sjf
    >>> jobs = [Job(id="long", gpus=2, work=600), Job(id="short", gpus=2, work=60)]
    >>> run = drive(Instance(Cluster.of_sizes([4]), jobs), Profiled(policy=Sjf()))
    >>> run.policy, run.records.first.tolist(), run.records.end.tolist()
    ('sjf:profiled', [0, 0], [900, 360])

    On two nodes, of which the second only profiles, they run one after the other.

    >>> two = Instance(Cluster.of_sizes([2, 4]), jobs)
    >>> drive(two, Profiled(policy=Sjf(), dedicated=1)).records.end.tolist()
    [960, 360]
    """

    information: ClassVar[Information] = "profiled"
    policy: Policy
    profiler: Profiler = field(default_factory=Profiler)
    dedicated: int = 0

    def __post_init__(self) -> None:
        _check(self.policy, "profiled")
        if not isinstance(self.profiler, Profiler):
            raise TypeError(f"profiled: profiler={self.profiler!r} is not a Profiler")
        integer(self, "profiled", "dedicated", least=0)

    @property
    def seed(self) -> int | None:
        """That of the policy, where it draws."""
        return getattr(self.policy, "seed", None)

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Session:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
        rules : Rules
        """
        if not self.dedicated:
            return _ProfiledSession(self, begin(self.policy, cluster, users, rules))
        rest = _without_dedicated(cluster, self.dedicated)
        return _DedicatedSession(self, begin(self.policy, rest, users, rules), cluster, rules)


@dataclass(frozen=True, kw_only=True)
class Estimated(_Setting):
    """A policy that knows run times with an error.

    Parameters
    ----------
    policy : Policy
        One that knows run times, and does not profile by itself.
    error : {"gaussian", "overestimate"}
        How the estimate over the true run time is drawn.
    size : float
        s, not negative: the standard deviation, or the most by which a run time is too long,
        relative to the true one.
    seed : int
        Of the draws. With a job's id it determines its error, whatever other jobs there are.

    Notes
    -----
    See the module. Decisions are made in Python, whatever compiled rule the policy has.

    Guarantee: none. O(jobs) a decision beside the policy's.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> from gangsched.solvers import Sjf
    >>> jobs = [Job(id="long", gpus=2, work=600), Job(id="short", gpus=2, work=480)]
    >>> wrong = Estimated(policy=Sjf(), size=0.5, seed=4)
    >>> drive(Instance(Cluster.of_sizes([2]), jobs), wrong).records.first.tolist()
    [0, 600]
    """

    information: ClassVar[Information] = "estimated"
    policy: Policy
    error: ErrorModel = "gaussian"
    size: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        _check(self.policy, "estimated")
        if self.error not in get_args(ErrorModel):
            raise ValueError(
                f"estimated: error={self.error!r} is not one of gaussian, overestimate"
            )
        if check_real("estimated", "size", self.size) > 100:
            raise ValueError(f"estimated: size={self.size} is above 100")
        integer(self, "estimated", "seed", least=0)

    def factor(self, job: Job) -> float:
        """Return the estimated over the true run time of a job.

        Parameters
        ----------
        job : Job
        """
        if self.error == "gaussian":
            return gaussian_factor(job.id, self.size, self.seed)
        return 1 + self.size * float(_drawn(job.id, self.seed).random())

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Session:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
        users : sequence of User
        rules : Rules
        """
        return _EstimatedSession(self, begin(self.policy, cluster, users, rules))


def gaussian_factor(job: str, deviation: float, seed: int) -> float:
    """Return 1 and a Gaussian error, drawn until it is positive; by seed and the id of a job.

    Examples
    --------
    >>> gaussian_factor("a", 0.0, 0), gaussian_factor("a", 0.5, 1) == gaussian_factor("a", 0.5, 1)
    (1.0, True)
    """
    rng = _drawn(job, seed)
    while (factor := 1 + deviation * rng.standard_normal()) <= 0:
        pass
    return float(factor)


def _drawn(job: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(job.encode())])


# --- what a policy behind a setting sees ---------------------------------------------------------


class _Shown(Seen):
    """What the policy behind a setting has been shown, with e_j of each job."""

    def __init__(self, state: State, policy: Policy, error: Callable[[Job], float] | None) -> None:
        super().__init__(state._seen.instance, state._book, policy)
        self.error, self.factor = error, np.ones(self.book.jobs.size)
        self._told: dict[int, Job] = {}

    def knows(self, jobs: Ints) -> NDArray[np.bool_]:
        """Which of these jobs have come, as far as the policy can see."""
        known: NDArray[np.bool_] = self.columns["visible"][jobs] < LATER
        return known

    def show(self, jobs: Ints | int) -> None:
        """Let jobs be seen, with their errors."""
        super().show(jobs)
        self.columns["limit"][jobs] = 0  # it is to go by what it is told
        if self.error is not None:
            for j in np.atleast_1d(jobs).tolist():
                self.factor[j] = self.error(self.instance.jobs[j])
                self.columns["work"][j] = self.scaled(np.array([j]), self.columns["work"][[j]])[0]

    def scaled(self, jobs: Ints, seconds: Ints) -> Ints:
        """Seconds as they are estimated, at least 1 for those that have any."""
        estimated = np.rint(seconds * self.factor[jobs]).astype(np.int64)
        return np.where(
            self.factor[jobs] == 1, seconds, np.maximum(np.minimum(1, seconds), estimated)
        )

    def learn(self) -> None:
        """Tell the true run times of complete jobs."""
        if self.error is None:
            return
        own = slice(self.size)
        done = np.flatnonzero((self.factor[own] != 1) & (self.phase() == Phase.FINISHED))
        self.columns["work"][done] = self.book.jobs["work"][done]
        self.factor[done] = 1.0
        for j in done.tolist():
            self._told.pop(j, None)

    def job(self, number: int) -> Job:
        """Return a job that has come, with its run time as estimated."""
        if not self.has_come(number):
            raise NotShown(f"job {number} has not come")
        if self.factor[number] == 1:
            return super().job(number)
        if number not in self._told:
            told = int(self.columns["work"][number])
            self._told[number] = replace(super().job(number), work=told)
        return self._told[number]


class _View(State):
    """A state in which only the jobs of its own `_Shown` have come, and these GPUs are free.

    With fewer numbers than there are nodes the last nodes are not there.
    """

    _seen: _Shown

    def __init__(self, state: State, seen: _Shown, free: Ints) -> None:
        super().__init__(state.now, state.rules, seen, state._engine)
        free.flags.writeable = False
        self.free = free
        if free.size < state.sizes.size:
            self.sizes, self.node_model = state.sizes[: free.size], state.node_model[: free.size]
            self.quota = state.quota * (self.sizes.sum() / state.sizes.sum())
            self.quota.flags.writeable = False

    @property
    def cluster(self) -> Cluster:
        """The nodes."""
        return _first_nodes(super().cluster, self.free.size)

    @property
    def phase(self) -> Ints:
        """A Phase of each job."""
        known = self._seen.knows(np.arange(self._seen.size))
        return np.where(known, self._seen.phase(), int(Phase.UNSEEN))

    @once
    def waiting(self) -> Ints:
        """Jobs that hold nothing, by (release, number)."""
        waiting: Ints = self._engine.list_waiting()
        return waiting[self._seen.knows(waiting)]

    @once
    def running(self) -> Ints:
        """Jobs that hold GPUs, by (release, number)."""
        running: Ints = self._engine.list_running()
        return running[self._seen.knows(running)]

    @property
    def capacity(self) -> int:
        """Free GPUs and those of the preemptible jobs."""
        return int(self.free.sum() + self.held_gpus[self.preemptible].sum())

    def remaining(self, jobs: Ints) -> Ints:
        """Return the seconds of service, at full speed, that each job still needs, as estimated."""
        jobs = np.asarray(jobs, dtype=np.int64)
        for j in jobs[~self._seen.knows(jobs)][:1].tolist():
            raise NotShown(f"job {j} has not come")
        return self._seen.scaled(jobs, super().remaining(jobs))


# --- sessions ------------------------------------------------------------------------------------


class _Behind:
    """A policy behind a setting, in one run.

    Parameters
    ----------
    setting : Profiled or Estimated
    inner : Session
        Of the policy.
    """

    def __init__(self, setting: Any, inner: Session) -> None:
        self.setting, self.inner = setting, inner
        self.always_asked = bool(getattr(inner, "always_asked", False))
        self.seen: _Shown | None = None
        self._before = np.zeros(0, dtype=np.int64)  # who had come by the checkpoint
        if hasattr(inner, "next_change"):  # without it every round is visited
            self.next_change = self._next_change

    @property
    def log(self) -> Sequence[Mapping[str, Any]]:
        """What the policy has written down."""
        return getattr(self.inner, "log", ())

    def unable(self, job: Job) -> str:
        """Why a job can never run in this session, or nothing."""
        ask: Callable[[Job], str] | None = getattr(self.inner, "unable", None)
        return ask(job) if ask is not None else ""

    def save(self) -> dict[str, Any]:
        """Return who has come, in order, and what the policy remembers."""
        seen = self.seen
        shown = self._before if seen is None else seen.numbers[: seen.count].copy()
        return {"shown": shown, "session": saved(self.inner, self.setting.policy)}

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._before = np.array(data["shown"], dtype=np.int64)
        if data["session"] is not None:
            self.inner.load(data["session"])  # type: ignore[attr-defined]

    def decide(self, state: State) -> Decision:
        """Return who is profiled, and what the policy decides."""
        starts = self.profiles(state)
        view = self._view(state, starts)
        if not self._is_asked(view):
            return Decision(start=starts)
        own = self.inner.decide(view)
        self._refuse_unseen(own)
        return replace(own, start=[*starts, *own.start]) if starts else own

    def profiles(self, state: State) -> list[Start]:
        """Who is profiled from now on."""
        return []

    def free(self, state: State, starts: Sequence[Start]) -> Ints:
        """GPUs by node that these profiling runs leave free for the policy."""
        free = np.array(state.free)
        for start in starts:
            for node, gpus in (start.nodes or {}).items():
                free[node] -= gpus
        return free

    def come(self, state: State) -> Ints:
        """Who has come since the last look, as far as the policy can see."""
        raise NotImplementedError

    def _next_change(self, state: State) -> int | None:
        """When the decision could differ: at once where a job finds a place to be profiled."""
        if self.profiles(state):
            return state.now + 1
        view = self._view(state, [])
        ask: Any = self.inner
        found: int | None = ask.next_change(view) if self._is_asked(view) else None
        return found

    def _is_asked(self, view: State) -> bool:
        """Whether the policy would be asked if there were no other jobs."""
        return bool(view.waiting.size or (self.always_asked and view.running.size))

    def _view(self, state: State, starts: Sequence[Start]) -> _View:
        """What the policy sees beside the profiling runs that start now."""
        if self.seen is None:
            self.seen = _Shown(state, self.setting.policy, getattr(self.setting, "factor", None))
            self.seen.arrive(self._before)
        self.seen.arrive(self.come(state))
        self.seen.learn()
        return _View(state, self.seen, self.free(state, starts))

    def _refuse_unseen(self, decision: Any) -> None:
        """Refuse that a policy orders or starts who has not come, as far as it can see."""
        if not isinstance(decision, Decision) or self.seen is None:
            return  # the driver says what it is
        visible = self.seen.columns["visible"]
        for jobs in (decision.order, [start[0] for start in decision.start]):
            named = np.asarray(jobs)
            if named.dtype.kind in "iu":
                named = named[(named >= 0) & (named < visible.size)]
                for j in named[visible[named] >= LATER][:1]:
                    raise ValueError(f"orders or starts job {j}, which was not profiled")


class _EstimatedSession(_Behind):
    """A policy that knows run times with an error, in one run."""

    def come(self, state: State) -> Ints:
        """Who has come since the last look."""
        count = self.seen.count if self.seen is not None else 0
        return state.arrived[count:]


class _ProfiledSession(_Behind):
    """A policy that knows run times after profiling, in one run."""

    def come(self, state: State) -> Ints:
        """Who has been profiled since the last look."""
        assert self.seen is not None
        jobs = state.waiting
        return jobs[(state.profiled[jobs] > 0) & ~self.seen.knows(jobs)]

    def profiles(self, state: State) -> list[Start]:
        """Who is profiled from now on: by (release, number), whoever finds free GPUs."""
        jobs, found, full = state.waiting, [], set()
        free, sizes = state.free.tolist(), state.sizes.tolist()
        models, room = state.node_model.tolist(), int(state.free.sum())
        for j in jobs[state.profiled[jobs] == 0].tolist():
            if not room:
                break
            gpus, seconds = self.setting.profiler.run(int(state.gpus[j]), state.rules)
            speeds = tuple(state.speeds[j].tolist())
            if gpus > room or (gpus, speeds) in full:
                continue
            nodes = place_by_speed(gpus, free, sizes, models, speeds, spread=state.rules.spread)
            if nodes is None:
                full.add((gpus, speeds))
                continue
            for node, taken in nodes.items():
                free[node] -= taken
            room -= gpus
            found.append(Start(j, nodes, gpus, seconds))
        return found


class _DedicatedSession(_ProfiledSession):
    """The same on dedicated nodes: they are the last ones of the cluster."""

    def __init__(self, setting: Profiled, inner: Session, cluster: Cluster, rules: Rules) -> None:
        super().__init__(setting, inner)
        nodes, self.rest = len(cluster.nodes), len(cluster.nodes) - setting.dedicated
        self.dedicated = tuple(range(self.rest, nodes))
        self.sizes, self.spread = list(cluster.sizes), rules.spread
        self._most: dict[int, int] = {}  # GPUs on which gangs are profiled

    def unable(self, job: Job) -> str:
        """Why a job can never run in this session, or nothing."""
        sizes = self.sizes[: self.rest]
        if place(job.gpus, sizes, sizes, spread=self.spread, pod=job.pod) is None:
            text = f"job {job.id!r}: gpus={job.gpus}"
            if job.gpus > sum(sizes):
                return f"{text} exceeds the {sum(sizes)} of the nodes that do not only profile"
            return f"{text} has no consolidated place on the nodes that do not only profile"
        return super().unable(job)

    def profiles(self, state: State) -> list[Start]:
        """Who is profiled from now on: by (release, number), up to the first without a place."""
        jobs, found = state.waiting, []
        free, sizes = state.free[self.rest :].tolist(), self.sizes[self.rest :]
        for j in jobs[state.profiled[jobs] == 0].tolist():
            gpus, seconds = self.setting.profiler.run(int(state.gpus[j]), state.rules)
            gpus = self._at_most(gpus)
            nodes = place(gpus, free, sizes, spread=self.spread)
            if nodes is None:
                break
            for node, taken in nodes.items():
                free[node] -= taken
            own = {self.rest + node: taken for node, taken in nodes.items()}
            found.append(Start(j, own, gpus, seconds))
        return found

    def free(self, state: State, starts: Sequence[Start]) -> Ints:
        """GPUs by node that are free for the policy: those of the other nodes."""
        return np.array(state.free[: self.rest])

    def _at_most(self, gpus: int) -> int:
        """So many GPUs, or the most for which the empty dedicated nodes have a place."""
        if gpus not in self._most:
            sizes = self.sizes[self.rest :]
            fits = (g for g in range(gpus, 0, -1) if place(g, sizes, sizes, spread=self.spread))
            self._most[gpus] = next(fits)
        return self._most[gpus]


def _without_dedicated(cluster: Cluster, dedicated: int) -> Cluster:
    """The nodes that are left for the policy."""
    nodes = len(cluster.nodes)
    if dedicated >= nodes:
        raise ValueError(f"profiled: dedicated={dedicated} leaves none of the {nodes} nodes")
    if len({node.model for node in cluster.nodes}) > 1:
        raise ValueError(
            f"profiled: dedicated={dedicated} needs one GPU model, a job that is profiled on one "
            "says nothing of others"
        )
    return _first_nodes(cluster, nodes - dedicated)


@lru_cache(maxsize=8)
def _first_nodes(cluster: Cluster, count: int) -> Cluster:
    """The first nodes of a cluster; itself where these are all."""
    return cluster if count == len(cluster.nodes) else Cluster(cluster.nodes[:count])


def saved(session: Any, policy: Policy) -> Any:
    """Return what a session remembers as plain data; None for nothing.

    Raises
    ------
    TypeError
        Where it remembers something and cannot say what.

    Examples
    --------
    >>> from gangsched.solvers import Fifo
    >>> policy = Fifo()
    >>> saved(policy, policy) is None
    True
    """
    if hasattr(session, "save") and hasattr(session, "load"):
        return session.save()
    frozen = getattr(getattr(type(session), "__dataclass_params__", None), "frozen", False)
    if session is policy and (frozen or not getattr(session, "__dict__", None)):
        return None
    raise TypeError("its session has no save and load")
