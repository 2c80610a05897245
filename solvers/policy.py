"""What an online policy sees, what it may decide, and the rules of the cluster it decides for.

A policy is an object with a method ``decide(state) -> Decision``. The trace driver
(:func:`gangsched.drive`) calls it at scheduling rounds and executes what it decides; the policy
cannot change the state. Anything with the members of :class:`Policy` is a policy. One that
remembers something from round to round has a method ``begin(cluster, users, rules) -> Session``
instead, and each run is a session of its own.

Times are integer seconds from the start of the instance, jobs, users and nodes are numbers
(positions in the instance), arrays by job have one entry per job of the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..instances import Cluster, Instance, Job, User
from ..instances.arrays import Floats as Floats
from ..instances.arrays import Ints as Ints
from ..instances.check import flag, integer, set_field
from ..instances.model import MOST_TIME
from ..instances.remembered import once
from .rule import Key as Key
from .rule import Rule as Rule


class Phase(IntEnum):
    """Where a job stands."""

    UNSEEN = 0  #: its first round has not come
    WAITING = 1
    RUNNING = 2  #: holds GPUs; a job that is profiled too
    FINISHED = 3
    REJECTED = 4  #: can never run here; listed in the run


class Preempts(IntEnum):
    """Which running jobs a policy may take GPUs from."""

    NEVER = 0
    LEASE = 1  #: those whose lease has ended
    ALWAYS = 2  #: all, at every round


#: GPUs on which a job is profiled where nothing else is said, unless its gang is smaller
PROFILE_GPUS = 2

#: members of enumerations take microseconds to look up
LEASE, ALWAYS = Preempts.LEASE, Preempts.ALWAYS

#: how a policy knows run times: not at all, as they are, as it learns them from complete jobs (the
#: last two are shown the same), once a job is profiled, or with an error (`.information`)
Information = Literal["known", "learned", "profiled", "estimated"] | None


#: leases after which a job that found no place makes room
PATIENCE = 8
#: the patience of rules that do not say how many seconds
LEASES: Any = "leases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the cluster is run, whatever the policy.

    Parameters
    ----------
    round_length : int
        Seconds between scheduling rounds, at least 1. Rounds are at its multiples.
    lease : int
        Seconds of a lease, rounded up to rounds; a killed job falls back to its last lease start.
    overhead : int
        Seconds a resumed job holds its GPUs before it makes progress, below the lease.
    migration : int or None
        The same for a job that is resumed on other GPUs by node than it held last; None where that
        costs the overhead too.
    synchronous : bool
        True when leases end together, at the multiples of the lease: a start in between gets a
        shorter one. False when each lease starts with its job.
    spread : bool
        True when a job that finds no consolidated place may take any free GPUs.
    patience : int, "leases" or None
        Seconds after which a job that was selected but found no place takes the place of jobs that
        come after it in the policy's order, and after which LTGF puts a job first that narrower
        ones of its user were picked before; "leases" for :data:`PATIENCE` leases, None for never.

    Examples
    --------
    >>> Rules(round_length=60, lease=900).lease_length
    900
    >>> Rules(round_length=60, lease=100, overhead=120)
    Traceback (most recent call last):
        ...
    ValueError: rules: overhead=120 is not below the lease of 120 s
    """

    round_length: int = 60
    lease: int = 900
    overhead: int = 25
    synchronous: bool = True
    spread: bool = False
    patience: int | None = LEASES
    migration: int | None = None

    def __post_init__(self) -> None:
        for name in ("round_length", "lease", "overhead", "patience", "migration"):
            if getattr(self, name) is None and name in ("patience", "migration"):
                continue
            if name == "patience" and self.patience == LEASES:
                set_field(self, name, min(PATIENCE * self.lease_length, MOST_TIME))
            integer(self, "rules", name, least=1 if name in ("round_length", "lease") else 0)
            if getattr(self, name) > MOST_TIME:
                raise ValueError(f"rules: {name}={getattr(self, name)} is above {MOST_TIME}")
        for name in ("synchronous", "spread"):
            if isinstance(getattr(self, name), np.bool_):
                set_field(self, name, bool(getattr(self, name)))
            flag(self, "rules", name)
        for name in ("overhead", "migration"):
            value = getattr(self, name)
            if value is not None and value >= self.lease_length:
                raise ValueError(
                    f"rules: {name}={value} is not below the lease of {self.lease_length} s"
                )

    @property
    def lease_length(self) -> int:
        """The lease in seconds, rounded up to rounds."""
        return self.round_up(self.lease)

    def round_up(self, time: int) -> int:
        """Return the first round at or after `time`."""
        return -(-time // self.round_length) * self.round_length

    def lease_end(self, start: int) -> int:
        """Return when a lease that begins at round `start` ends."""
        length = self.lease_length
        return (start // length + 1) * length if self.synchronous else start + length


def _view(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


class NotShown(RuntimeError):
    """A policy looked at what it has not declared that it uses."""


#: of a job that has not come: later than all others
LATER = 2**62
#: columns by job that a state shows under their own name: constant ones, and others
CONSTANT = (
    *("gpus", "pod", "work", "limit", "release", "visible", "user", "weight", "rank"),
    *("overhead", "migration"),
)
CHANGING = frozenset(
    ["starts", "first", "end", "since", "lease_end", "blocked", "profiled", "held_gpus", "speed"]
)
#: columns by node and by user
OTHERS = frozenset(["sizes", "free", "node_model", "quota"])


class Seen:
    """What a session has been shown of the jobs: those that have come, as far as it may know them.

    Parameters
    ----------
    instance : Instance
    book : Tables
        The driver's records.
    policy : Policy
        Which declares what it uses.
    """

    def __init__(self, instance: Instance[Any], book: Any, policy: Policy) -> None:
        self.instance, self.book, self.name = instance, book, policy.name
        self.information, self.offline = information_of(policy), is_offline(policy)
        jobs = book.jobs
        self.numbers = np.zeros(jobs.size, dtype=np.int64)  # in the order in which they came
        self.count = self.size = 0  # so many have come; one more than the largest of their numbers
        self.columns = {name: np.zeros_like(jobs[name]) for name in CONSTANT}
        self.columns["release"][:] = self.columns["visible"][:] = LATER
        self.speeds = np.zeros_like(book.speeds)
        self._pairs = [(column, jobs[name]) for name, column in self.columns.items()]
        self._pairs.append((self.speeds, book.speeds))
        self.rejected = bool((jobs["phase"] == Phase.REJECTED).any())
        self.preempts = Preempts(policy.preempts)
        self.derived: dict[Any, Any] = {}
        self.shown: dict[str, NDArray[Any]] = {}  # columns as states show them
        self._whole = {**self.columns, "speeds": self.speeds}
        if self.offline:
            self.show(np.arange(jobs.size))
            self.size = jobs.size

    def show(self, jobs: Ints | int) -> None:
        """Let jobs be seen."""
        for own, source in self._pairs:
            own[jobs] = source[jobs]

    def arrive(self, jobs: Ints) -> None:
        """Note that jobs have come."""
        if not jobs.size:
            return
        self.numbers[self.count : self.count + jobs.size] = jobs
        self.count += jobs.size
        if not self.offline:
            last = int(jobs[0]) if jobs.size == 1 else int(jobs.max())
            self.show(last if jobs.size == 1 else jobs)
            if last >= self.size:
                self.size = last + 1
                self.shown.clear()

    def view(self, name: str) -> NDArray[Any]:
        """Return a column as a state shows it, until more jobs are seen."""
        whole = self._whole.get(name)
        if whole is None:
            if name not in CHANGING and name not in OTHERS:
                raise AttributeError(f"state has no attribute {name!r}")
            column: NDArray[Any] = getattr(self.book, name)
            whole = self._whole[name] = column
        shown = self.shown[name] = whole[:] if name in OTHERS else whole[: self.size]
        shown.flags.writeable = False
        return shown

    def phase(self) -> NDArray[Any]:
        """Where jobs stand; whoever never comes is not seen."""
        phase: NDArray[Any] = self.book.jobs["phase"][: self.size]
        if self.rejected and not self.offline:
            return _view(np.where(phase == Phase.REJECTED, int(Phase.UNSEEN), phase))
        return _view(phase)

    def job(self, number: int) -> Job:
        """Return a job that has come."""
        job = self.come(number)
        return job if self.information else without_run_time(job)

    def come(self, number: int) -> Job:
        """Return a job that has come, with its run time."""
        if not (self.offline or self.has_come(number)):
            raise NotShown(f"job {number} has not come")
        job: Job = self.instance.jobs[number]
        return job

    def has_come(self, number: int) -> bool:
        """Whether a job has been shown."""
        return 0 <= number < self.size and bool(self.columns["visible"][number] < LATER)

    def refuse_without_run_times(self, what: str) -> None:
        """Refuse a policy that has not declared that it uses run times."""
        if self.information is None:
            raise NotShown(
                f"{what} is a run time: policies that use it declare information = 'known'"
            )

    @property
    def whole_instance(self) -> Instance[Any]:
        """All jobs, also those that have not come."""
        if not self.offline:
            raise NotShown(
                "state.instance has jobs that have not come: policies that look at it declare "
                "offline = True; state.cluster, state.users and state.job are for others"
            )
        return self.instance


def information_of(policy: Policy) -> Information:
    """Return how a policy declares that it knows run times."""
    information: Information = getattr(policy, "information", None)
    if information not in (None, "known", "learned", "profiled", "estimated"):
        text = "is not None, 'known', 'learned', 'profiled' or 'estimated'"
        raise ValueError(f"policy {policy.name!r}: information={information!r} {text}")
    return information


def is_offline(policy: Policy) -> bool:
    """Return whether a policy declares that it looks at jobs that have not come."""
    return bool(getattr(policy, "offline", False))


def without_run_time(job: Job) -> Job:
    """Return a job as it is known before it has run."""
    return job.untold() if job.work is not None else job


class State:
    """What a policy sees at a round; read-only.

    Arrays by job reach to the largest number of a job that has come. Of others among them they
    hold zeros, and times that are later than all.

    Attributes
    ----------
    now : int
        The round, in seconds.
    rules : Rules
    cluster : Cluster
    users : tuple of User
    gpus, pod, work, release, visible, user, weight : (jobs,) arrays
        Constants of the jobs; `visible` is the first round at or after the release, and a job that
        had to wait for others is released when the last of them ends. `work` is the
        ideal run time: only a policy that declares its `information` can read it, or `remaining`.
        That of a job with parameter servers is 0 until it starts, then the slots that it runs
        there.
    limit : (jobs,) int array
        Run times that users asked for; 0 for all, unless each job that can run has one.
    rank : (jobs,) int array
        Place by (release, number).
    overhead, migration : (jobs,) int arrays
        Seconds that each start after the first costs, on the GPUs by node that the job held last
        and on others: the job's `preemption_cost`, or those of the rules.
    phase : (jobs,) int array
        A :class:`Phase` each.
    starts, first, end, since, lease_end, blocked : (jobs,) int arrays
        Number of starts, first start of any kind and completion (-1 before), begin of the current
        segment or wait, end of the current lease (or profiling), and since when a job that should
        run is passed over: it is selected and finds no place, or the policy says so (or -1).
    profiled : (jobs,) int array
        Profiling runs that have ended; they do not count in `starts`.
    held_gpus, speed : (jobs,) int arrays
        GPUs that each job holds, and its speed on them in millionths of that of its gang in a
        consolidated place on GPUs of the reference model; both 0 where it holds nothing, the speed
        while it is profiled.
    sizes, free, node_model : (nodes,) int arrays
        GPUs of each node, those that nobody holds, and the number of their model in `models`.
    models : tuple of str
        Distinct GPU models, in the order of their first nodes.
    speeds : (jobs, models) int array
        Speed of each job on each model in millionths; 0 where it cannot run there.
    quota : (users,) float array
        M W_u / sum W.

    derived : dict
        What was computed from this and can be computed again, such as tables of deadlines; by a
        key of its own. The next round has the same one. Nothing in it may change a decision: it is
        not part of checkpoints.
    """

    def __init__(self, now: int, rules: Rules, seen: Seen, engine: Any) -> None:
        self.now, self.rules, self._seen, self._engine = now, rules, seen, engine

    def __getattr__(self, name: str) -> NDArray[Any]:
        seen: Seen = self._seen
        if name == "work":
            seen.refuse_without_run_times("state.work")
        shown = seen.shown.get(name)
        return seen.view(name) if shown is None else shown

    @property
    def _book(self) -> Any:
        return self._seen.book

    # --- the cluster ---

    @property
    def cluster(self) -> Cluster:
        """The nodes."""
        return self._seen.instance.cluster

    @property
    def users(self) -> Sequence[User]:
        """The users, in the order of their numbers; empty where the instance has none."""
        return self._seen.instance.users

    @property
    def models(self) -> tuple[str, ...]:
        """Distinct GPU models of the cluster, in the order of their first nodes."""
        models: tuple[str, ...] = self._book.models
        return models

    @property
    def models_by_speed(self) -> list[int]:
        """GPU models from the slowest to the fastest, as operators know them before jobs come.

        By the mean speed, over the jobs of the run that can run there; ties by number.
        """
        key = "models by speed"
        if key not in self.derived:
            speeds = self._book.speeds
            mean = speeds.sum(axis=0) / np.maximum(np.count_nonzero(speeds, axis=0), 1)
            self.derived[key] = np.argsort(mean, kind="stable").tolist()
        return list(self.derived[key])

    @property
    def instance(self) -> Instance[Any]:
        """All there is, also jobs that have not come; for offline policies."""
        return self._seen.whole_instance

    @property
    def derived(self) -> dict[Any, Any]:
        """What was computed from this and can be computed again."""
        return self._seen.derived

    # --- jobs ---

    @property
    def arrived(self) -> Ints:
        """All jobs that have come, in the order in which they did."""
        return _view(self._seen.numbers[: self._seen.count])

    @property
    def phase(self) -> Ints:
        """A :class:`Phase` of each job."""
        return self._seen.phase()

    @property
    def speeds(self) -> Ints:
        """Speed of each job on each GPU model in millionths; 0 where it cannot run there."""
        seen: Seen = self._seen
        shown = seen.shown.get("speeds")
        return seen.view("speeds") if shown is None else shown

    def job(self, number: int) -> Job:
        """Return a job that has come, as far as the policy may know it."""
        return self._seen.job(int(number))

    @once
    def waiting(self) -> Ints:
        """Visible jobs that hold nothing, by (release, number)."""
        waiting: Ints = self._engine.list_waiting()
        return waiting

    @once
    def running(self) -> Ints:
        """Jobs that hold GPUs, by (release, number)."""
        running: Ints = self._engine.list_running()
        return running

    @once
    def preemptible(self) -> Ints:
        """Running jobs whose GPUs the policy may give to others now, by (release, number)."""
        return self.running[self._may_stop(self.running)]

    def _may_stop(self, running: Ints) -> NDArray[np.bool_]:
        """Which of these running jobs are preemptible."""
        if self._seen.preempts is LEASE:
            ended: NDArray[np.bool_] = self._book.jobs["lease_end"][running] <= self.now
            return ended
        if self._seen.preempts is ALWAYS:
            progressing: NDArray[np.bool_] = self._book.jobs["speed"][running] > 0
            return progressing
        return np.zeros(running.size, dtype=np.bool_)

    @once
    def candidates(self) -> Ints:
        """Waiting and preemptible jobs, by (release, number)."""
        jobs = np.concatenate([self.waiting, self.preemptible])
        return _view(jobs[np.argsort(self._book.jobs["rank"][jobs], kind="stable")])

    @property
    def free_ps(self) -> Ints:
        """Parameter servers of each node that nobody holds, a (nodes,) int array."""
        free = np.array([node.ps for node in self.cluster.nodes], dtype=np.int64)
        given = self._book.ps
        for job in self.running.tolist() if given else ():
            for node, count in given[job].items():
                free[node] -= count
        return free

    @property
    def capacity(self) -> int:
        """Free GPUs and those of the preemptible jobs."""
        book = self._book
        return int(book.nodes["free"].sum() + book.jobs["held_gpus"][self.preemptible].sum())

    def remaining(self, jobs: Ints) -> Ints:
        """Return the seconds of service, at full speed, that each of `jobs` still needs.

        Overhead is not counted.
        """
        self._seen.refuse_without_run_times("state.remaining")
        left: Ints = self._book.rest(jobs, self.now)
        return left

    def attained(self, jobs: Ints) -> Ints:
        """Return the GPU seconds that each of `jobs` has held, overhead included (A_i)."""
        table = self._book.jobs
        current: Ints = table["held_gpus"][jobs] * (self.now - table["since"][jobs])
        whole: Ints = table["held"][jobs] + current
        return whole

    def fair(self, jobs: Ints) -> Floats:
        """Return F_i, the fair GPU seconds of each of `jobs` since its first round, (14)."""
        fair: Floats = self._engine.job_fair(jobs, self.now)
        return fair

    def fair_rate(self, jobs: Ints) -> Floats:
        """Return min(D_i, fair share) of each of `jobs` now, the integrand of (14)."""
        rate: Floats = self._engine.fair_rate(jobs)
        return rate

    def group(self, job: int) -> str:
        """Return the group of a job that has come: a user's jobs of one group are alike."""
        return self._seen.come(int(job)).group

    def id(self, job: int) -> str:
        """Return the id of a job."""
        return self.job(job).id

    def mean_active(self, jobs: Ints) -> Floats:
        """Return the mean number of active jobs since each of `jobs` became visible."""
        mean: Floats = self._engine.mean_active(jobs, self.now)
        return mean

    def nodes(self, job: int) -> dict[int, int]:
        """Return the GPUs that a running job holds, by node; empty for others."""
        held: dict[int, int] = self._engine.nodes_of(int(job))
        return held

    def places(self, jobs: Ints) -> tuple[Ints, Ints, Ints]:
        """Return (ptr, node, gpus): what running `jobs` hold, job k at ptr[k] to ptr[k + 1]."""
        places: tuple[Ints, Ints, Ints] = self._engine.places(jobs)
        return places

    # --- users ---

    @property
    def user_attained(self) -> Ints:
        """GPU seconds that each user has held until now, (11)."""
        base, rate = self._book.user_base, self._book.user_rate
        attained: Ints = base + rate * self.now
        return attained

    @property
    def user_gpus(self) -> Ints:
        """GPUs that each user holds now, (10)."""
        return _view(self._book.users["rate"])

    @property
    def user_fair(self) -> Floats:
        """Fair GPU seconds of each user until now, (9) with (8)."""
        fair: Floats = self._engine.user_fair(self.now)
        return fair

    @property
    def user_share(self) -> Floats:
        """Fair number of GPUs of each user now, (8)."""
        share: Floats = self._engine.user_share()
        return share


class Start(NamedTuple):
    """A job to start or to profile.

    Parameters
    ----------
    job : int
    nodes : mapping of int to int, optional
        GPUs by node; without it where there is room for them, in a consolidated place (or any, if
        the rules let gangs spread): it may find none, and nothing happens.
    gpus : int, optional
        Another number than its gang, for jobs that know their speed on it
        (:class:`~gangsched.instances.DeadlineJob`): at most twice the gang, on given nodes. To be
        profiled: at most the gang, which is the default where that has one GPU, else 2.
    profile : int
        If positive: hold the GPUs for so many seconds, a multiple of the round length, make no
        progress, and wait again. That is neither a start (it costs no overhead, and causes none
        later) nor a suspension, and nobody can take the GPUs in between.
    ps : mapping of int to int, optional
        Parameter servers by node, for jobs that need them
        (:class:`~gangsched.instances.ParameterServerJob`), and only for these: they start on given
        nodes, on 1 to `job.gpus` GPUs of one model, and are never profiled.

    Examples
    --------
    >>> Start(3, profile=300)
    Start(job=3, nodes=None, gpus=None, profile=300, ps=None)
    """

    job: int
    nodes: Mapping[int, int] | None = None
    gpus: int | None = None
    profile: int = 0
    ps: Mapping[int, int] | None = None

    def number(self, gang: int) -> int:
        """Return how many GPUs it takes.

        Parameters
        ----------
        gang : int
            Of its job.
        """
        if self.gpus is not None:
            return int(self.gpus)
        return min(PROFILE_GPUS, gang) if self.profile else gang


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy wants at a round.

    Parameters
    ----------
    order : sequence of int
        Candidates (waiting or preemptible jobs), the most important first; each at most once. The
        driver selects those that fit by number of GPUs, preemptible jobs that are selected keep
        their nodes, the others give theirs back, then waiting jobs are placed in this order: the
        selected ones first, then all others for which there is room. Preemptible jobs that are not
        named keep running.
    blocking : bool
        True when no job may overtake one that does not fit: the walk ends at the first such job.
    suspend, kill : sequence of int
        Running jobs to stop first; a killed job loses what it did since its last lease began.
    start : sequence of Start or of (int, mapping of int to int or None)
        Then jobs to start, on the given GPUs by node, or where there is room (None: it may fail).
        Given GPUs are of one model on which the job can run, and consolidated as those of
        :func:`~gangsched.solvers.placement.place` (on any nodes of one size), unless the rules let
        gangs spread or the job knows its speed on several nodes
        (:class:`~gangsched.instances.DeadlineJob`, jobs with parameter servers).
        A job that is suspended and started in one decision moves, which costs the overhead; on the
        very GPUs that it has, it goes on as if it had not been named.
    repacking : bool
        True when the selected jobs are given nodes anew, the widest gang first: the nodes that it
        has, or those where the fewest GPUs are taken that others of them have. Whoever gets
        others than it has moves. Nobody moves where a running job would be left without a place,
        or one that waits and has lost patience: then nodes are kept and given as without this.
    passed : sequence of int
        Waiting jobs that should have come before some in the order and did not fit by number of
        GPUs. Where running jobs can lose theirs, patience counts from now (`State.blocked`).

    Notes
    -----
    `suspend`, `kill` and `start` come first, `order` after them; most policies give the order only.

    Examples
    --------
    >>> Decision(order=[2, 0]).blocking
    False
    """

    order: Sequence[int] | Ints = ()
    blocking: bool = False
    repacking: bool = False
    suspend: Sequence[int] | Ints = ()
    kill: Sequence[int] = ()
    start: Sequence[Start | tuple[int, Mapping[int, int] | None]] = ()
    passed: Sequence[int] = ()

    @property
    def starts(self) -> list[Start]:
        """`start` with pairs written out."""
        return [Start(*entry) for entry in self.start]


class WrittenStarts(Sequence[Any]):
    """Starts on given GPUs, as the numbers that machine code writes and carries out.

    Parameters
    ----------
    numbers : int array
        For each start its job, GPUs (-1 for those of its gang), seconds of profiling, 0, the number
        of nodes, and each node and its GPUs.
    size : int
        How many they are.
    """

    def __init__(self, numbers: Ints, size: int) -> None:
        self.numbers, self.size = numbers, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: Any) -> Any:
        return list(self)[at]

    def __iter__(self) -> Iterator[Any]:
        rest = iter(self.numbers.tolist())
        for job in rest:
            gpus, seconds, _, nodes = islice(rest, 4)
            place = {node: next(rest) for node in islice(rest, nodes)}
            yield (job, place) if gpus < 0 else Start(job, place, gpus, seconds)


class Session(Protocol):
    """A policy in one run, from its begin on; what it remembers is here.

    `decide` is called at every visited round at which some job waits. Rounds are visited when a job
    arrives, completes or has been profiled and, where the policy preempts at leases, when one ends.
    Optional members refine that:

    - ``next_change(state) -> int | None``: the next time at which the decision could differ though
      nothing of that kind happens; None if there is none. Without this method every round is
      visited while a job waits. Skipping rounds is exact only if what it returns is true.
    - ``always_asked``: True for a session that is to decide where no job waits too, as long as one
      runs: it may change the GPUs of running jobs.
    - ``unable(job) -> str``: why a job can never run in this session, or nothing; it is rejected
      before the run. Of the job nothing but this may be remembered: the driver asks a session that
      it does not run, before the job has come.
    - ``dedicated``: numbers of nodes on which nothing but profiling runs may be: the driver places
      nobody there by itself. A decision names those profiling runs before its other starts.
    - ``rule``: as of a policy, where it follows from what the session was begun with; None where
      Python is to decide.
    - ``log``: what it has written down, mappings of plain data that end in `Run.log`.
    - ``save() -> dict`` and ``load(data)``: what it remembers as plain data (dicts with string
      keys, lists, numbers, strings, None and numpy arrays of numbers), and a new session that goes
      on from there. A run whose session remembers something and has no such methods cannot be
      resumed.
    """

    def decide(self, state: State) -> Decision:
        """Return what should run from this round on."""
        ...


@runtime_checkable
class Policy(Protocol):
    """An online policy: an object with a name, that says what it uses and decides at rounds.

    One that remembers nothing has the method ``decide(state) -> Decision``, and is its own session,
    with that one's optional members. Another one has ``begin(cluster, users, rules) -> Session``,
    which refuses what does not go with it, and changes nothing in the policy: the same object can
    be driven twice, or twice at a time. Other optional members:

    - ``information``: "known" for a policy that knows the run times of jobs that have come, or
      "learned" where it goes by those of complete jobs once there are some. Others cannot read
      `State.work` or `State.remaining`, nor the work of `State.job`.
    - ``profiles``: True for one that knows run times, and profiles new jobs before it uses them.
    - ``offline``: True for a policy that looks at jobs that have not come, in
      `State.instance`; runs and tables say so.
    - ``one_model``: True for a policy that places jobs by node and takes all GPUs for equal; it is
      refused on clusters with several GPU models.
    - ``pods``: False for a policy that names nodes and takes no notice of pods; it is refused where
      a consolidated place, or any place of those that gangs may have, can break some.
    - ``needs_ps``: True for one that starts jobs with parameter servers on nodes and servers of its
      choice. It is refused for other jobs, and others are for these.
    - ``under``: ``under(problem)`` returns the policy as it runs under the terms of a problem; a
      replay of jobs with utilities asks for it.
    - ``rule``: the compiled :class:`Rule` that decides the same.

    Examples
    --------
    >>> class Widest:
    ...     name = "widest"
    ...     preempts = Preempts.NEVER
    ...     def decide(self, state):
    ...         waiting = state.waiting
    ...         return Decision(order=waiting[np.argsort(-state.gpus[waiting], kind="stable")])
    >>> isinstance(Widest(), Policy)
    True
    """

    @property
    def name(self) -> str:
        """What the policy is called in results."""
        ...

    @property
    def preempts(self) -> Preempts:
        """Which running jobs it may stop."""
        ...


def is_policy(made: object) -> bool:
    """Return whether something has the members of a policy."""
    return isinstance(made, Policy) and (hasattr(made, "decide") or hasattr(made, "begin"))


def begin(policy: Policy, cluster: Cluster, users: Sequence[User], rules: Rules) -> Session:
    """Begin a session of a policy.

    Examples
    --------
    >>> from gangsched.solvers import Fifo
    >>> policy = Fifo()
    >>> begin(policy, Cluster.of_sizes([8]), (), Rules()) is policy
    True
    """
    own: Any = policy
    session: Session = own.begin(cluster, users, rules) if hasattr(own, "begin") else own
    return session


def unable_jobs(policy: Policy, instance: Instance[Any], rules: Rules) -> dict[int, str]:
    """Return the jobs that a policy can never run, by number, with the reason."""
    session = begin(policy, instance.cluster, instance.users, rules)
    ask: Callable[[Job], str | None] | None = getattr(session, "unable", None)
    if ask is None:
        return {}
    knows = information_of(policy) is not None
    asked = ((j, job if knows else without_run_time(job)) for j, job in enumerate(instance.jobs))
    return {j: why for j, job in asked if (why := ask(job))}


def ranked(state: State, jobs: Ints, *keys: NDArray[Any]) -> Ints:
    """Return `jobs` by rising `keys` (the first matters most), ties by (release, number)."""
    return jobs[np.lexsort((state.rank[jobs], *reversed(keys)))]
