"""What driving a policy over an instance leaves: schedule, events, one record a job, parameters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances import Instance, Schedule
from ...instances.arrays import Floats as Floats
from ...instances.arrays import Ints as Ints
from ...instances.display import facts_html, frame, shortened
from ...instances.io import instance_hash
from ...instances.packed import Packed, Unpacking, in_blocks
from ...solvers.machine.const import EventKind as EventKind
from ...solvers.policy import Rules
from ...solvers.result import Stop


class _Columns:
    """Arrays of equal length, compared by what they hold."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _equal(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Events(_Columns, Unpacking):
    """The event log as columns, in the order in which the driver processed the events.

    Parameters
    ----------
    time : (n,) int array
        Seconds; never falls. A completion stands at its exact time, everything else at rounds.
    job : (n,) int array
    kind : (n,) int array
        An :class:`EventKind` each.
    """

    time: Ints
    job: Ints
    kind: NDArray[np.int8]

    def __post_init__(self) -> None:
        for name, kind in (("time", np.int64), ("job", np.int64), ("kind", np.int8)):
            object.__setattr__(self, name, _frozen(getattr(self, name), kind))

    @classmethod
    def of_packed(cls, columns: Mapping[str, Packed]) -> Events:
        """Return the log of packed columns, which it keeps packed.

        Parameters
        ----------
        columns : mapping of str to Packed
        """
        log: Events = object.__new__(cls)
        log.__dict__.update(_packed=dict(columns))
        return log

    def __len__(self) -> int:
        packed = self.__dict__.get("_packed")
        return packed["kind"].size if packed else int(self.kind.size)

    def blocks(self, wanted: Sequence[bool] | None = None) -> Iterator[Events]:
        """Yield it in pieces of events that follow one another; see `Schedule.blocks`."""
        packed = self.__dict__.get("_packed")
        if packed is None:
            if wanted is None or wanted[0]:
                yield self
            return
        columns = [packed[name] for name in ("time", "job", "kind")]
        for time, job, kind in in_blocks(columns, wanted):
            block: Events = object.__new__(type(self))
            block.__dict__.update(time=time, job=job, kind=kind.astype(np.int8))
            yield block

    def unpacked(self, name: str) -> NDArray[Any]:
        """Return a column unpacked, without keeping it so."""
        column = super().unpacked(name)
        if name == "kind" and column.dtype != np.int8:
            column = column.astype(np.int8)
            column.flags.writeable = False
        return column

    def pieces(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield a column piece by piece, without unpacking it as a whole."""
        kind = np.int8 if name == "kind" else np.int64
        return (piece.astype(kind, copy=False) for piece in super(Events, self).pieces(name))


@dataclass(frozen=True, eq=False, kw_only=True)
class Records(_Columns):
    """One row for each job of the instance, as columns.

    Parameters
    ----------
    id : tuple of str
    user : (jobs,) int array
        Number of the user in the run's `users`.
    gpus, release, work : (jobs,) int arrays
        Gang, seconds, seconds.
    weight : (jobs,) float array
    visible : (jobs,) int array
        First round at or after the release.
    rejected : (jobs,) bool array
        True for jobs that could never run; they have no other outcome.
    first, end : (jobs,) int arrays
        First start, be it to be profiled, and completion in seconds; -1 where it has not come.
    starts : (jobs,) int array
        How often it was given GPUs to make progress; each of these after the first follows a
        suspension.
    left : (jobs,) int array
        Seconds of service still needed at the end of the run, 0 for finished jobs.
    held : (jobs,) int array
        GPU seconds held, overhead and profiling included: A_i of Ye et al. (15).
    fair : (jobs,) float array
        Fair GPU seconds from its first round to its completion (or the end of the run): F_i of
        (14) with (8) and (13), as the driver accounted for it.
    fair_before : (jobs,) float array
        Fair GPU seconds from release to first round, at the share of that round.
    """

    id: tuple[str, ...]
    user: Ints
    gpus: Ints
    release: Ints
    work: Ints
    weight: Floats
    visible: Ints
    rejected: NDArray[np.bool_]
    first: Ints
    end: Ints
    starts: Ints
    left: Ints
    held: Ints
    fair: Floats
    fair_before: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", tuple(self.id))
        for name in self.__dataclass_fields__:
            if name == "id":
                continue
            kind = {"weight": float, "fair": float, "fair_before": float, "rejected": bool}
            array = _frozen(getattr(self, name), kind.get(name, np.int64))
            if array.shape != (len(self.id),):
                raise ValueError(f"records: column {name} has shape {array.shape}, not one a job")
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.id)

    @property
    def finished(self) -> NDArray[np.bool_]:
        """True for jobs that completed."""
        done: NDArray[np.bool_] = self.end >= 0
        return done


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """The outcome of driving one policy over one instance.

    Parameters
    ----------
    policy : str
        Its name.
    parameters : mapping of str to object
        Those of the policy, plain data. Tuples become lists and numpy's numbers Python's, as in a
        file.
    rules : Rules
    instance_name : str
        For display.
    instance_hash : str
        As of :func:`gangsched.instances.io.instance_hash`.
    seed : int or None
        Seed of the policy, where it draws.
    stop : Stop
        COMPLETED when every job that could run has finished.
    now : int
        Time reached, seconds.
    sizes : tuple of int
        GPUs of each node.
    users : tuple of str
    user_weight : (users,) float array
    records : Records
    events : Events
    schedule : Schedule
        One segment for each time that a job held GPUs without a break; of jobs that still ran at
        the end of an unfinished run, up to `now`.
    rejected : tuple of (int, str)
        Number of each job that could never run, and why.
    log : tuple of mapping of str to object
        What the policy wrote down, such as trades; plain data. Empty for most.
    rounds : int
        Rounds visited. Skipping and not skipping differ here and in `decisions`.
    decisions : int
        Calls of the policy.
    runtime : float or None
        Wall seconds, without those in which machine code was compiled or loaded; None where Python
        ran what was not compiled yet, so that they would say nothing of the policy.
    versions : mapping of str to str
    information : str or None
        How the policy knew run times: "known", "learned", "profiled", "estimated", or None where it
        did not.
    offline : bool
        Whether it looked at jobs that had not come.
    checkpoint : object or None
        From which :func:`gangsched.drive` goes on; None when the run is complete.
    instance : Instance or None
        What was driven, by reference: no part of a file, a pickle or the digest of the run. None
        where it is not known, see :meth:`attach`.

    Notes
    -----
    Two runs are equal when policy, parameters, rules, instance, seed, records, events, schedule and
    the rest agree; `rounds`, `decisions`, `runtime`, `versions`, `information`, `offline`,
    `checkpoint` and the reference to the instance do not count.
    """

    policy: str
    parameters: Mapping[str, Any]
    rules: Rules
    instance_name: str
    instance_hash: str
    seed: int | None
    stop: Stop
    now: int
    sizes: tuple[int, ...]
    users: tuple[str, ...]
    user_weight: Floats
    records: Records
    events: Events
    schedule: Schedule
    rejected: tuple[tuple[int, str], ...] = ()
    log: tuple[Mapping[str, Any], ...] = ()
    rounds: int = 0
    decisions: int = 0
    runtime: float | None = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    information: str | None = None
    offline: bool = False
    checkpoint: Any = field(default=None, repr=False)
    instance: Instance[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.instance is not None and not isinstance(self.instance, Instance):
            raise TypeError(f"run: instance={shortened(repr(self.instance))} is not an Instance")
        object.__setattr__(self, "user_weight", _frozen(self.user_weight, float))
        object.__setattr__(self, "parameters", plain(self.parameters))
        object.__setattr__(self, "log", tuple(plain(entry) for entry in self.log))

    @cached_property
    def gpus(self) -> int:
        """M, the GPUs of the cluster."""
        return sum(self.sizes)

    @cached_property
    def quota(self) -> Floats:
        """M W_u / sum W of each user, Ye et al. (6)."""
        return _frozen(self.gpus * self.user_weight / self.user_weight.sum(), float)

    def attach(self, instance: Instance[Any]) -> Run:
        """Return the run with its instance, for measures that need speeds, models or deadlines."""
        if instance is self.instance:
            return self
        own = instance_hash(instance)
        if own != self.instance_hash:
            raise ValueError(
                f"{self._title()}: it is of another instance, of hash {self.instance_hash[:12]} "
                f"and not {own[:12]}"
            )
        return replace(self, instance=instance)

    def require_instance(self) -> Instance[Any]:
        """Return the instance."""
        if self.instance is None:
            raise ValueError(
                f"{self._title()}: its instance, of hash {self.instance_hash[:12]}, is not known: "
                "give it with run.attach(instance)"
            )
        return self.instance

    def _title(self) -> str:
        return f"run of {self.policy!r}"

    @cached_property
    def measured(self) -> dict[str, Any]:
        """What was measured of the run, so that it is measured once; by name of the function."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "instance": None, "measured": {}}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and _equal(self, other, without=UNCOMPARED)

    __hash__ = None  # type: ignore[assignment]

    def digest(self) -> str:
        """Return a SHA-256 over everything that equality looks at.

        Two equal runs have the same digest, whatever machine and thread count made them.
        """
        return self._digest

    @cached_property
    def _digest(self) -> str:
        """The digest, which takes a while to compute for a long run."""
        total = hashlib.sha256()
        plain: dict[str, Any] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if part.name in UNCOMPARED:
                continue
            if part.name in ("records", "events", "schedule"):
                for name in value.__dataclass_fields__:
                    total.update(name.encode())
                    for piece in _bytes_of(value, name):
                        total.update(piece)
            else:
                plain[part.name] = value
        plain["rules"] = asdict(self.rules)
        plain["user_weight"] = self.user_weight.tolist()
        text = json.dumps(plain, sort_keys=True, default=_python_value)
        total.update(text.encode())
        return total.hexdigest()

    def __str__(self) -> str:
        done = int(self.records.finished.sum())
        return (
            f"{self.policy}: {done:,} of {len(self.records):,} jobs finished by {self.now:,} s, "
            f"{len(self.rejected):,} rejected, {len(self.schedule):,} segments ({self.stop.value})"
        )

    def _repr_html_(self) -> str:
        name, _, text = str(self).partition(": ")
        return facts_html({"policy": name, "run": text, "wall time": self.time_taken})

    @property
    def time_taken(self) -> str:
        """The wall time as text."""
        return "not compiled" if self.runtime is None else f"{self.runtime:.2f} s"

    def to_frame(self) -> Any:
        """Return the jobs' records as a pandas DataFrame, with the names of their users."""
        columns = {name: getattr(self.records, name) for name in self.records.__dataclass_fields__}
        users = [self.users[u] if self.users else "" for u in self.records.user]
        return frame({**columns, "user": users})


#: fields that say how a run came about and not what came out
UNCOMPARED = frozenset(
    {
        *("rounds", "decisions", "runtime", "versions", "checkpoint", "instance"),
        *("information", "offline"),  # a policy of these parameters always has the same
    }
)


def _python_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def plain(value: Any) -> Any:
    """Return parameters as a file gives them back: lists for tuples, plain numbers, fields."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in fields(value) if part.init}
        return {"kind": type(value).__name__, **plain(parts)}
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _bytes_of(value: Any, name: str) -> Iterator[Any]:
    """The bytes of a column, of a long one piece by piece."""
    if isinstance(value, Unpacking):
        yield from value.pieces(name)
    else:
        column = getattr(value, name)
        yield "\0".join(column).encode() if name == "id" else column.tobytes()


def _frozen(array: Any, kind: Any) -> NDArray[Any]:
    whole = isinstance(array, np.ndarray) and array.dtype == kind and array.base is None
    if whole and not array.flags.writeable:
        return array  # type: ignore[no-any-return]
    column = np.array(array, dtype=kind)
    column.flags.writeable = False
    return column


def _equal(one: Any, other: Any, without: frozenset[str] = frozenset()) -> bool:
    for part in fields(one):
        if part.name in without:
            continue
        a, b = getattr(one, part.name), getattr(other, part.name)
        same = np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        if not same:
            return False
    return True
