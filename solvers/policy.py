"""What an online policy sees, what it may decide, and the rules of the cluster it decides for.

A policy is an object with a method ``decide(state) -> Decision``. The trace driver
(:func:`gangsched.drive`) calls it at scheduling rounds and executes what it decides; the policy
cannot change the state. Anything with the members of :class:`Policy` is a policy.

Times are integer seconds from the start of the instance, jobs, users and nodes are numbers
(positions in the instance), arrays by job have one entry per job of the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from numbers import Integral
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..instances import Instance
from ..instances.model import FULL_SPEED, MOST_TIME

__all__ = ["Decision", "Phase", "Policy", "Preempts", "Rules", "Start", "State"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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


#: so many segments in a row that end without progress are taken for a policy that never ends
MOST_FRUITLESS = 100_000
#: GPUs on which a job is profiled where nothing else is said, unless its gang is smaller
PROFILE_GPUS = 2

#: members of enumerations take microseconds to look up
WAITING, RUNNING = int(Phase.WAITING), int(Phase.RUNNING)
LEASE, ALWAYS = Preempts.LEASE, Preempts.ALWAYS


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
    patience : int or None
        Seconds after which a job that was selected but found no place takes the place of jobs that
        come after it in the policy's order, and after which LTGF puts a job first that narrower
        ones of its user were picked before; None for never.

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
    patience: int | None = 21_600
    migration: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            *(("round_length", 1), ("lease", 1), ("overhead", 0)),
            *(("patience", 0), ("migration", 0)),
        ):
            value = getattr(self, name)
            if value is None and name in ("patience", "migration"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                raise TypeError(f"rules: {name}={value!r} is not an integer")
            if value < least:
                raise ValueError(f"rules: {name}={value} is below {least}")
            if value > MOST_TIME:
                raise ValueError(f"rules: {name}={value} is above {MOST_TIME}")
            object.__setattr__(self, name, int(value))
        for name in ("synchronous", "spread"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"rules: {name}={getattr(self, name)!r} is not True or False")
            object.__setattr__(self, name, bool(getattr(self, name)))
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

    def named(self) -> dict[str, Any]:
        """Return the rules by name; `migration` only where it is not the overhead.

        Examples
        --------
        >>> "migration" in Rules().named(), Rules(migration=5).named()["migration"]
        (False, 5)
        """
        rules = {part.name: getattr(self, part.name) for part in fields(self)}
        if self.migration is None:  # files and digests are those of before there was one
            del rules["migration"]
        return rules

    def round_up(self, time: int) -> int:
        """Return the first round at or after `time`."""
        return -(-time // self.round_length) * self.round_length

    def lease_end(self, start: int) -> int:
        """Return when a lease that begins at round `start` ends."""
        length = self.lease_length
        return (start // length + 1) * length if self.synchronous else start + length


def _record(ints: str, floats: str) -> np.dtype[Any]:
    return np.dtype(
        [*((name, np.int64) for name in ints.split()), *((n, np.float64) for n in floats.split())]
    )


#: one job of a run. Constant: gang, work, release, first round, user, place by (release, number),
#: overhead of a resumption, in place and elsewhere, speed where its gang is split, and which of the
#: sets of GPU models that jobs can run on is its own. Changing: where it stands; seconds of
#: service left when its segment began; since when it runs or waits; overhead at the head of its
#: segment; GPU seconds of earlier segments; GPUs and speed of this one; since when it is passed
#: over; profiling runs that have ended. Others are the compiled driver's own.
JOB = _record(
    "finish lease_end gpus rank key phase user mark since delay left held work kind_of turn tier "
    "blocked starts place_in offset length new_length gang_class urgency release visible first end "
    "active_start held_gpus speed overhead migration split_speed profiled reach",
    "score weight fair_start fair_before fair",
)
NODE = _record("size free kind model", "")
USER = _record(
    "rate base demand time first_kind last_kind picked passed group_at group_length",
    "quota total value slope key",
)


class Ledger:
    """The driver's own records of jobs, nodes and users; policies see them through a State.

    Columns are attributes: those of jobs under their name, ``sizes``, ``free`` and ``node_model``
    of nodes, ``quota``, ``user_rate`` (GPUs held now) and ``user_base`` of users, who until t have
    held ``user_base + user_rate * t`` GPU seconds. ``ps`` has the parameter servers by node that
    jobs were given, which they hold while they run; empty where jobs need none.

    Parameters
    ----------
    jobs : (jobs,) array of JOB
    nodes : (nodes,) array of NODE
    users : (users,) array of USER
    models : tuple of str
        Distinct GPU models, in the order of their first nodes.
    speeds : (jobs, models) int array
        Of each job on each model, in millionths; 0 where it cannot run.
    ps : dict of int to dict of int to int, optional
    """

    __slots__ = ("jobs", "models", "nodes", "ps", "speeds", "users")

    def __init__(
        self,
        jobs: NDArray[Any],
        nodes: NDArray[Any],
        users: NDArray[Any],
        models: tuple[str, ...],
        speeds: Ints,
        ps: dict[int, dict[int, int]] | None = None,
    ) -> None:
        self.jobs, self.nodes, self.users = jobs, nodes, users
        self.models, self.speeds = models, speeds
        self.ps: dict[int, dict[int, int]] = ps or {}

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name in JOB.names:  # type: ignore[operator]
            column: NDArray[Any] = self.jobs[name]
            return column
        if name in OTHER_COLUMNS:
            table, own = OTHER_COLUMNS[name]
            other: NDArray[Any] = getattr(self, table)[own]
            return other
        raise AttributeError(f"ledger has no column {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self.jobs, self.nodes, self.users, self.models, self.speeds, self.ps)

    def done(self, jobs: Ints | slice, time: int) -> Ints:
        """Seconds of service that these jobs got until `time` in their segments; 0 if none."""
        speed = self.jobs["speed"][jobs]
        begun = self.jobs["since"][jobs] + self.jobs["delay"][jobs]
        seconds = np.where(speed > 0, np.maximum(0, time - begun), 0)
        got: Ints = seconds * speed // FULL_SPEED
        return got


OTHER_COLUMNS = {
    "sizes": ("nodes", "size"),
    "free": ("nodes", "free"),
    "node_model": ("nodes", "model"),
    "quota": ("users", "quota"),
    "user_rate": ("users", "rate"),
    "user_base": ("users", "base"),
}


def _view(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


class State:
    """What a policy sees at a round; read-only.

    Attributes
    ----------
    now : int
        The round, in seconds.
    rules : Rules
    instance : Instance
    gpus, work, release, visible, user, weight : (jobs,) arrays
        Constants of the jobs; `visible` is the first round at or after the release. `work` is the
        ideal run time: a policy that reads it (or `remaining`) needs run times to be known. That of
        a job with parameter servers is 0 until it starts, then the slots that it runs there.
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

    Notes
    -----
    Jobs that are not visible yet must not be looked at by an online policy; nothing hides them.
    """

    def __init__(
        self,
        now: int,
        rules: Rules,
        ledger: Ledger,
        *,
        waiting: Callable[[], Ints],
        running: Callable[[], Ints],
        held_nodes: Callable[[int], dict[int, int]],
        job_fair: Callable[[Ints, int], Floats],
        user_fair: Callable[[int], Floats],
        user_share: Callable[[], Floats],
        mean_active: Callable[[Ints, int], Floats],
        fair_rate: Callable[[Ints], Floats],
        instance: Instance[Any],
        preempts: Preempts = Preempts.NEVER,
    ) -> None:
        self.now, self.rules, self._ledger = now, rules, ledger
        self._list_waiting, self._list_running = waiting, running
        self._waiting: Ints | None = None
        self._running: Ints | None = None
        self._preemptible: Ints | None = None
        self._candidates: Ints | None = None
        self._preempts = preempts
        self._held_nodes = held_nodes
        self._job_fair, self._user_fair, self._user_share = job_fair, user_fair, user_share
        self._mean_active, self._fair_rate, self.instance = mean_active, fair_rate, instance

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name in STATE_COLUMNS:
            return _view(getattr(self._ledger, name))
        raise AttributeError(f"state has no attribute {name!r}")

    @property
    def models(self) -> tuple[str, ...]:
        """Distinct GPU models of the cluster, in the order of their first nodes."""
        return self._ledger.models

    # --- jobs ---

    @property
    def waiting(self) -> Ints:
        """Visible jobs that hold nothing, by (release, number)."""
        if self._waiting is None:
            self._waiting = _view(self._list_waiting())
        return self._waiting

    @property
    def running(self) -> Ints:
        """Jobs that hold GPUs, by (release, number)."""
        if self._running is None:
            self._running = _view(self._list_running())
        return self._running

    @property
    def preemptible(self) -> Ints:
        """Running jobs whose GPUs the policy may give to others now, by (release, number)."""
        if self._preemptible is None:
            self._preemptible = self.running[self._may_stop(self.running)]
        return self._preemptible

    def _may_stop(self, running: Ints) -> NDArray[np.bool_]:
        """Which of these running jobs are preemptible."""
        if self._preempts is LEASE:
            ended: NDArray[np.bool_] = self._ledger.lease_end[running] <= self.now
            return ended
        if self._preempts is ALWAYS:
            progressing: NDArray[np.bool_] = self._ledger.speed[running] > 0
            return progressing
        return np.zeros(running.size, dtype=np.bool_)

    @property
    def candidates(self) -> Ints:
        """Waiting and preemptible jobs, by (release, number)."""
        if self._candidates is None:
            jobs = np.concatenate([self.waiting, self.preemptible])
            self._candidates = _view(jobs[np.argsort(self._ledger.rank[jobs], kind="stable")])
        return self._candidates

    @property
    def free_ps(self) -> Ints:
        """Parameter servers of each node that nobody holds, a (nodes,) int array."""
        free = np.array([node.ps for node in self.instance.cluster.nodes], dtype=np.int64)
        given = self._ledger.ps
        for job in self.running.tolist() if given else ():
            for node, count in given[job].items():
                free[node] -= count
        return free

    @property
    def capacity(self) -> int:
        """Free GPUs and those of the preemptible jobs."""
        return int(self._ledger.free.sum() + self._ledger.held_gpus[self.preemptible].sum())

    def remaining(self, jobs: Ints) -> Ints:
        """Return the seconds of service, at full speed, that each of `jobs` still needs.

        Overhead is not counted.
        """
        book = self._ledger
        left: Ints = book.left[jobs] - book.done(jobs, self.now)
        return left

    def attained(self, jobs: Ints) -> Ints:
        """Return the GPU seconds that each of `jobs` has held, overhead included (A_i)."""
        book = self._ledger
        current: Ints = book.held_gpus[jobs] * (self.now - book.since[jobs])
        return book.held[jobs] + current

    def fair(self, jobs: Ints) -> Floats:
        """Return F_i, the fair GPU seconds of each of `jobs` since its first round, (14)."""
        return self._job_fair(jobs, self.now)

    def fair_rate(self, jobs: Ints) -> Floats:
        """Return min(D_i, fair share) of each of `jobs` now, the integrand of (14)."""
        return self._fair_rate(jobs)

    def id(self, job: int) -> str:
        """Return the id of a job."""
        return str(self.instance.jobs[job].id)

    def mean_active(self, jobs: Ints) -> Floats:
        """Return the mean number of active jobs since each of `jobs` became visible."""
        return self._mean_active(jobs, self.now)

    def nodes(self, job: int) -> dict[int, int]:
        """Return the GPUs that a running job holds, by node; empty for others."""
        return self._held_nodes(int(job))

    # --- users ---

    @property
    def user_attained(self) -> Ints:
        """GPU seconds that each user has held until now, (11)."""
        base, rate = self._ledger.user_base, self._ledger.user_rate
        attained: Ints = base + rate * self.now
        return attained

    @property
    def user_gpus(self) -> Ints:
        """GPUs that each user holds now, (10)."""
        return _view(self._ledger.user_rate)

    @property
    def user_fair(self) -> Floats:
        """Fair GPU seconds of each user until now, (9) with (8)."""
        return self._user_fair(self.now)

    @property
    def user_share(self) -> Floats:
        """Fair number of GPUs of each user now, (8)."""
        return self._user_share()


#: columns of the ledger that a state shows under their own name
STATE_COLUMNS = frozenset(
    [
        *("gpus", "work", "release", "visible", "user", "weight", "rank", "phase", "starts"),
        *("first", "end", "since", "lease_end", "blocked", "sizes", "free", "quota"),
        *("overhead", "migration", "profiled", "held_gpus", "speed", "speeds", "node_model"),
    ]
)


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
    suspend: Sequence[int] = ()
    kill: Sequence[int] = ()
    start: Sequence[Start | tuple[int, Mapping[int, int] | None]] = ()
    passed: Sequence[int] = ()

    @property
    def starts(self) -> list[Start]:
        """`start` with pairs written out."""
        return [Start(*entry) for entry in self.start]


@runtime_checkable
class Policy(Protocol):
    """An online policy: an object that can be pickled and decides at rounds.

    `decide` is called at every visited round at which some job waits. Rounds are visited when a job
    arrives, completes or has been profiled and, where the policy preempts at leases, when one ends.
    Optional members refine that:

    - ``next_change(state) -> int | None``: the next time at which the decision could differ though
      nothing of that kind happens; None if there is none. Without this method every round is
      visited while a job waits. Skipping rounds is exact only if what it returns is true.
    - ``unable(instance, rules) -> Mapping[int, str]``: jobs that this policy can never run, with
      the reason; they are rejected before the run.
    - ``log``: what it has written down in this run, mappings of plain data that end in `Run.log`.
    - ``always_asked``: True for a policy that is to decide where no job waits too, as long as one
      runs: it may change the GPUs of running jobs.
    - ``one_model``: True for a policy that places jobs by node and takes all GPUs for equal; it is
      refused on clusters with several GPU models.

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

    def decide(self, state: State) -> Decision:
        """Return what should run from this round on."""
        ...


def check_decision(decision: Decision, state: State, name: str) -> None:
    """Refuse a decision that cannot be carried out.

    Parameters
    ----------
    decision : Decision
    state : State
        At which it was made.
    name : str
        Of the policy.

    Raises
    ------
    ValueError
        Naming policy, time, job and rule.
    """
    owner = f"policy {name!r} at {state.now}"
    if not isinstance(decision, Decision):
        raise TypeError(f"{owner}: decides {decision!r}, which is no Decision")
    phase = state.phase  # each access makes a view
    stopped = _numbers([*decision.suspend, *decision.kill])
    starts = _starts(decision, owner)
    started = _numbers([start.job for start in starts])
    order, passed = _numbers(decision.order), _numbers(decision.passed)
    for label, jobs in (
        ("stops", stopped),
        ("starts", started),
        ("orders", order),
        ("passes", passed),
    ):
        if jobs.size == 0:
            continue
        if jobs.min() < 0 or jobs.max() >= phase.size:
            job = next(j for j in jobs.tolist() if not 0 <= j < phase.size)
            raise ValueError(f"{owner}: {label} job {job}, which does not exist")
        again = np.sort(jobs)
        for j in again[1:][again[1:] == again[:-1]][:1]:
            raise ValueError(f"{owner}: {label} job {j} twice")
    for j in stopped[phase[stopped] != RUNNING][:1]:
        raise ValueError(f"{owner}: stops job {j}, which does not run")
    if stopped.size:
        for j in stopped[~state._may_stop(stopped)][:1]:
            why = "it is profiled" if state.speed[j] == 0 else repr(state._preempts)
            raise ValueError(f"{owner}: stops job {j}, which it may not now: {why}")
    for j in passed[phase[passed] != WAITING][:1]:
        raise ValueError(f"{owner}: passes job {j}, which does not wait")
    for j in started[phase[started] != WAITING].tolist():
        if j not in stopped:
            raise ValueError(f"{owner}: starts job {j}, which does not wait")
    others = order[phase[order] != WAITING]
    runs = others[phase[others] == RUNNING]
    if runs.size < others.size or not state._may_stop(runs).all():
        job = next(j for j in others.tolist() if j not in state.preemptible)
        raise ValueError(f"{owner}: orders job {job}, which is no candidate")
    for start in starts:
        _check_start(start, state, owner)
    if state.instance.kind.needs_ps:
        _check_ps(starts, order, state, owner)
    if stopped.size + started.size:
        for job in sorted({*stopped.tolist(), *started.tolist()}.intersection(order.tolist()))[:1]:
            raise ValueError(f"{owner}: job {job} is in the order and stopped or started")


def _starts(decision: Decision, owner: str) -> list[Start]:
    for entry in decision.start:
        if not isinstance(entry, tuple) or not 2 <= len(entry) <= len(Start._fields):
            raise TypeError(f"{owner}: start has {entry!r}, which is no Start")
    return decision.starts


def _numbers(jobs: Sequence[int] | Ints) -> Ints:
    numbers = np.asarray(jobs)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"jobs {numbers.tolist()!r} are not integers")
    return numbers.astype(np.int64, copy=False)


def _check_start(start: Start, state: State, owner: str) -> None:
    """What can be said about numbers before anything happens."""
    job, gang, length = start.job, int(state.gpus[start.job]), state.rules.round_length
    for name, value in (("gpus", start.gpus), ("profile", start.profile)):
        if value is None and name == "gpus":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{owner}: starts job {job} with {name}={value!r}, not an integer")
    if start.profile < 0 or start.profile % length or start.profile * gang > MOST_TIME:
        raise ValueError(
            f"{owner}: profiles job {job} for {start.profile} s, "
            f"not for a multiple of {length} s, or for too long"
        )
    served = state.instance.kind.needs_ps
    if start.ps is not None and not served:
        raise ValueError(
            f"{owner}: starts job {job} with parameter servers {dict(start.ps)}, "
            "a job of its kind has none"
        )
    if start.gpus is None or start.gpus == gang:
        return
    most = gang if start.profile or served else 2 * gang
    if not 1 <= start.gpus <= most:
        raise ValueError(f"{owner}: starts job {job} on {start.gpus} GPUs, not on 1 to {most}")
    if start.profile or served:
        return
    if not state.instance.kind.elastic:
        raise ValueError(
            f"{owner}: starts job {job} on {start.gpus} GPUs, a job of its kind needs its {gang}"
        )
    if start.nodes is None:
        raise ValueError(f"{owner}: starts job {job} on {start.gpus} GPUs without nodes")


def _check_ps(starts: Sequence[Start], order: Ints, state: State, owner: str) -> None:
    """Jobs with parameter servers start on given nodes, with given servers that are free."""
    for job in order[:1]:
        raise ValueError(
            f"{owner}: orders job {job}, a job with parameter servers starts on given nodes"
        )
    free = state.free_ps
    for start in starts:
        what = f"{owner}: starts job {start.job}"
        if start.profile:
            raise ValueError(f"{what} to be profiled, which jobs with parameter servers are not")
        if not start.nodes or not start.ps:
            raise ValueError(f"{what} without nodes or parameter servers, which it needs")
        what = f"{owner}: job {start.job} is given parameter servers {dict(start.ps)}"
        for node, count in start.ps.items():
            if any(isinstance(n, bool) or not isinstance(n, Integral) for n in (node, count)):
                raise TypeError(f"{what}, which are not integers")
            if count < 1:
                raise ValueError(f"{what}, below 1 on node {node}")
            if not 0 <= node < free.size or free[node] < count:
                raise ValueError(f"{what}, more than is free on node {node}")
            free[node] -= count


def give_ps(starts: Sequence[Start], state: State) -> None:
    """Note what parameter servers jobs start with, and as their work the slots that they run there.

    Parameters
    ----------
    starts : sequence of Start
        Checked; those of other jobs change nothing.
    state : State
    """
    book = state._ledger
    for start in starts:
        if start.nodes is None or start.ps is None:
            continue
        job = int(start.job)
        book.ps[job] = {int(node): int(count) for node, count in start.ps.items()}
        model = state.models[int(state.node_model[next(iter(start.nodes))])]
        workers, nodes = sum(start.nodes.values()), len({*start.nodes, *start.ps})
        slots = state.instance.jobs[job].service(int(workers), nodes, model)
        book.work[job] = book.left[job] = slots


def left_out(policy: Policy, state: State) -> bool:
    """Return whether jobs that wait, while nothing runs and nobody comes, are left out for good.

    Jobs with parameter servers may be, unless the policy names a time at which it changes its mind.

    Parameters
    ----------
    policy : Policy
    state : State
        After the decision.
    """
    ask: Callable[[State], int | None] | None = getattr(policy, "next_change", None)
    return state.instance.kind.needs_ps and (ask is None or ask(state) is None)


def check_nodes(start: Start, state: State, name: str) -> int:
    """Refuse GPUs that are not free, too many or few, or on which a job cannot be.

    Parameters
    ----------
    start : Start
        With nodes.
    state : State
    name : str
        Of the policy.

    Returns
    -------
    int
        The job's speed there, in millionths; 0 if it is to be profiled.

    Raises
    ------
    ValueError
        Naming policy, time, job and rule.
    """
    nodes, job = start.nodes, state.instance.jobs[start.job]
    assert nodes is not None
    owner = f"policy {name!r} at {state.now}: job {start.job} is given {dict(nodes)}"
    wanted = start.number(int(state.gpus[start.job]))
    if sum(nodes.values()) != wanted or min(nodes.values()) < 1:
        raise ValueError(f"{owner}, not its {wanted} GPUs")
    for n, count in nodes.items():
        if not 0 <= n < state.sizes.size or state.free[n] < count:
            raise ValueError(f"{owner}, more than is free on node {n}")
    sizes, model = state.sizes[list(nodes)].tolist(), _one_model(nodes, state, owner)
    if not (job.spreads or state.rules.spread) and not _consolidated(nodes, sizes):
        raise ValueError(f"{owner}, which is no consolidated place, and spread=False")
    on_model = int(state.speeds[start.job, model])
    if on_model == 0:
        why = f"pin={job.pin!r}" if job.pin else f"its speeds are {dict(job.speeds)}"
        raise ValueError(f"{owner} of model {state.models[model]!r}, where it cannot run: {why}")
    speed = job.speed_on(wanted, len(nodes), max(sizes), on_model)
    if not start.profile and job.too_slow(wanted, speed):
        raise ValueError(f"{owner}, where its speed is {speed} millionths")
    return 0 if start.profile else speed


def _one_model(nodes: Mapping[int, int], state: State, owner: str) -> int:
    """The number of the GPU model of these nodes."""
    model, *others = dict.fromkeys(state.node_model[list(nodes)].tolist())
    if others:
        names = " and ".join(repr(state.models[g]) for g in (model, *others))
        raise ValueError(f"{owner}, which are of the models {names}: a gang runs on one")
    return int(model)


def _consolidated(nodes: Mapping[int, int], sizes: Sequence[int]) -> bool:
    """All nodes of one size, as few as possible, and all but one taken whole."""
    gang, size = sum(nodes.values()), sizes[0]
    whole = sum(count == size for count in nodes.values())
    return {*sizes} == {size} and whole == gang // size and len(nodes) == -(-gang // size)


def ranked(state: State, jobs: Ints, *keys: NDArray[Any]) -> Ints:
    """Return `jobs` by rising `keys` (the first matters most), ties by (release, number).

    Parameters
    ----------
    state : State
    jobs : (n,) int array
    *keys : (n,) arrays
    """
    return jobs[np.lexsort((state.rank[jobs], *reversed(keys)))]


class RuleKind(IntEnum):
    """Ways to decide that the driver has as machine code."""

    PYTHON = 0  #: calls `decide`
    FIFO = 1  #: by key, the smallest first: no key
    SJF = 2  #: work
    SRTF = 3  #: remaining work
    LAS = 4  #: attained GPU time
    TIRESIAS = 5  #: how many thresholds the attained GPU time has reached
    LTGF = 6  #: users by fairness, in each its jobs by fairness
    THEMIS = 7  #: jobs by finish-time fairness


@dataclass(frozen=True, slots=True)
class Rule:
    """Which compiled rule decides like a policy, and its numbers.

    A policy that has it as its attribute ``rule`` must decide the same in Python: tests compare.

    Parameters
    ----------
    kind : RuleKind
    numbers : tuple of float
    blocking : bool
    """

    kind: RuleKind
    numbers: tuple[float, ...] = ()
    blocking: bool = False
