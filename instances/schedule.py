"""What a solver hands back: who runs where and when, or who owns which share.

Both are plain data. They hold jobs and nodes by number (position in the instance), and do not know
the instance: feasibility and objective are recomputed by the problem, never stored here.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import Ints
from .display import frame, table_html
from .packed import Packed, Unpacking, in_blocks

MOST_SHOWN = 20  # segments in a notebook
#: segments of a packed schedule whose blocks are kept for who looks next
MOST_KEPT = 2**18
#: the columns of the schedule that was looked at last in blocks, and these
_recent: list[tuple[dict[str, Packed] | None, list[Schedule]]] = [(None, [])]


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array = np.array(array)
    array.flags.writeable = False
    return array


def _integers(owner: str, name: str, values: ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{owner}: column {name} has {array.ndim} dimensions, a column has 1")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{owner}: column {name} has type {array.dtype}, integers are required")
    return _frozen(array.astype(np.int64))


@dataclass(frozen=True, slots=True)
class Segment:
    """An interval [start, end) in which a job runs on a fixed set of GPUs.

    Parameters
    ----------
    job : int
        Number of the job in the instance.
    start, end : int
        Half-open interval in the instance's time unit.
    gpus : mapping of int to int
        GPUs used on each node, by the node's number (0 where it only gives parameter servers).
    devices : mapping of int to tuple of int, optional
        Which GPUs of each node (0 .. node.gpus - 1), where known.
    ps : mapping of int to int, optional
        Parameter-server slots used on nodes of `gpus`, where there are any.

    Examples
    --------
    >>> Segment(0, 5, 9, {2: 4}).gpus[2]
    4
    """

    job: int
    start: int
    end: int
    gpus: Mapping[int, int]
    devices: Mapping[int, tuple[int, ...]] | None = None
    ps: Mapping[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Schedule(Unpacking):
    """Segments as columns; preempted jobs have several segments.

    Parameters
    ----------
    job, start, end : (n,) int arrays
        One entry a segment; ``start < end``.
    ptr : (n + 1,) int array
        Segment i uses the entries ``ptr[i]:ptr[i + 1]`` of the next columns.
    node, gpus, ps : (m,) int arrays
        Node number, GPUs (at least 1 of GPUs and parameter servers) and parameter-server slots of
        each entry; a node occurs once a segment. `ps` defaults to zeros.
    device : (sum of gpus,) int array
        Number of each GPU within its node, entry after entry; empty where identities are unknown.

    Examples
    --------
    >>> s = Schedule.of([Segment(0, 0, 4, {0: 2}), Segment(1, 4, 6, {0: 1, 1: 1})])
    >>> s.end.max(), len(s), s[1].gpus
    (np.int64(6), 2, {0: 1, 1: 1})
    """

    job: Ints
    start: Ints
    end: Ints
    ptr: Ints
    node: Ints
    gpus: Ints
    ps: Ints = ()  # type: ignore[assignment]
    device: Ints = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, _integers("schedule", name, getattr(self, name)))
        if not self.ps.size:
            object.__setattr__(self, "ps", _frozen(np.zeros(self.node.size, dtype=np.int64)))
        self._check_lengths()
        self._check_values()

    def _check_lengths(self) -> None:
        n, m = self.job.size, self.node.size
        wanted = {"start": n, "end": n, "ptr": n + 1, "gpus": m, "ps": m}
        for name, length in wanted.items():
            size = getattr(self, name).size
            if size != length:
                raise ValueError(f"schedule: column {name} has {size} entries, not {length}")
        if self.ptr[0] != 0 or self.ptr[-1] != m or np.any(np.diff(self.ptr) < 1):
            raise ValueError(f"schedule: ptr must rise from 0 to {m}, one entry or more a segment")
        if self.device.size not in (0, int(self.gpus.sum())):
            raise ValueError(
                f"schedule: column device has {self.device.size} entries, "
                f"not 0 or the {int(self.gpus.sum())} of gpus"
            )

    def _check_values(self) -> None:
        for name in ("job", "start", "node", "gpus", "ps", "device"):
            column = getattr(self, name)
            if column.size and column.min() < 0:
                raise ValueError(f"schedule: {name}={column.min()} is below 0")
        for i in np.flatnonzero(self.start >= self.end)[:1]:
            raise ValueError(
                f"schedule: segment {i} of job {self.job[i]}: start={self.start[i]} "
                f"is not before end={self.end[i]}"
            )
        for i in np.flatnonzero(self.gpus + self.ps == 0)[:1]:
            raise ValueError(f"schedule: entry {i} on node {self.node[i]} uses nothing")
        length = np.diff(self.ptr)
        wide = np.flatnonzero(length > 1)  # most gangs of a long run are on one node
        segment = np.repeat(wide, length[wide])
        node = self.node[np.repeat(length > 1, length)]
        order = np.lexsort((node, segment))
        if np.any((np.diff(segment[order]) == 0) & (np.diff(node[order]) == 0)):
            raise ValueError("schedule: a node occurs twice in one segment")

    @classmethod
    def of(cls, segments: Iterable[Segment]) -> Schedule:
        """Return the schedule made of `segments`, in their order."""
        rows = list(segments)
        for row in rows:
            held = {n: len(d) for n, d in row.devices.items()} if row.devices else row.gpus
            if held != row.gpus:
                raise ValueError(
                    f"schedule: devices={row.devices} of job {row.job} do not fit its "
                    f"gpus={dict(row.gpus)}"
                )
            if not set(row.ps or ()) <= set(row.gpus):
                raise ValueError(
                    f"schedule: ps={row.ps} of job {row.job} names nodes that its "
                    f"gpus={dict(row.gpus)} do not"
                )
        entries = [(node, count) for row in rows for node, count in row.gpus.items()]
        lengths = [len(row.gpus) for row in rows]
        ps = [row.ps.get(node, 0) if row.ps else 0 for row in rows for node in row.gpus]
        device = [d for row in rows if row.devices for n in row.gpus for d in row.devices[n]]
        return cls(
            job=np.array([row.job for row in rows], dtype=np.int64),
            start=np.array([row.start for row in rows], dtype=np.int64),
            end=np.array([row.end for row in rows], dtype=np.int64),
            ptr=np.cumsum([0, *lengths]),
            node=np.array([node for node, _ in entries], dtype=np.int64),
            gpus=np.array([count for _, count in entries], dtype=np.int64),
            ps=np.array(ps, dtype=np.int64),
            device=np.array(device, dtype=np.int64),
        )

    @classmethod
    def of_packed(cls, columns: Mapping[str, Packed]) -> Schedule:
        """Return the schedule of packed columns of segments, which it keeps packed.

        Parameters
        ----------
        columns : mapping of str to Packed
            ``job``, ``start``, ``end`` and ``length`` (entries) of segments, ``node`` and ``gpus``
            of entries; all with parts of the same segments.
        """
        for job, start, end, length, node, gpus in zip(*map(iter, columns.values()), strict=True):
            cls(job, start, end, np.concatenate([[0], np.cumsum(length)]), node, gpus)
        plan: Schedule = object.__new__(cls)
        nothing = np.broadcast_to(np.int64(0), columns["node"].size)
        plan.__dict__.update(_packed=dict(columns), ps=nothing, device=_frozen(nothing[:0]))
        return plan

    def blocks(self, wanted: Sequence[bool] | None = None) -> Iterator[Schedule]:
        """Yield it in pieces of segments that follow one another.

        A packed one is not unpacked by that: only one piece at a time takes memory.

        Parameters
        ----------
        wanted : sequence of bool, optional
            Which of the pieces; by default all.
        """
        packed = self.__dict__.get("_packed")
        if packed is None:
            if wanted is None or wanted[0]:
                yield self
            return
        if packed["job"].size > MOST_KEPT:
            yield from self._unpack_blocks(wanted)
            return
        owner, blocks = _recent[0]
        if owner is not packed:
            blocks = list(self._unpack_blocks())
            _recent[0] = packed, blocks
        yield from (b for k, b in enumerate(blocks) if wanted is None or wanted[k])

    def _unpack_blocks(self, wanted: Sequence[bool] | None = None) -> Iterator[Schedule]:
        """Yield the pieces of a packed schedule, which are made now."""
        columns = list(self.__dict__["_packed"].values())
        for job, start, end, length, node, gpus in in_blocks(columns, wanted):
            block: Schedule = object.__new__(type(self))
            ptr = np.concatenate([[0], np.cumsum(length)])
            nothing = np.broadcast_to(np.int64(0), node.size)
            block.__dict__.update(job=job, start=start, end=end, ptr=ptr, node=node, gpus=gpus)
            block.__dict__.update(ps=nothing, device=nothing[:0])
            yield block

    def unpacked(self, name: str) -> Ints:
        """Return a column unpacked, without keeping it so."""
        if name != "ptr" or name in self.__dict__:
            return super().unpacked(name)
        ends = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(self._packed["length"].array(), out=ends[1:])
        ends.flags.writeable = False
        return ends

    def pieces(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield a column piece by piece, without unpacking it as a whole."""
        if name != "ptr" or name in self.__dict__:
            yield from super().pieces(name)
            return
        last = np.zeros(1, dtype=np.int64)
        yield last
        for length in self._packed["length"]:
            ends = np.cumsum(length) + last
            last = ends[-1:]
            yield ends

    def __len__(self) -> int:
        packed = self.__dict__.get("_packed")
        return packed["job"].size if packed else int(self.job.size)

    @property
    def entries(self) -> int:
        """How many entries all segments have together."""
        packed = self.__dict__.get("_packed")
        return packed["node"].size if packed else int(self.node.size)

    def __getitem__(self, i: int) -> Segment:
        if not -len(self) <= i < len(self):
            raise IndexError(f"segment {i} of a schedule of {len(self)}")
        i %= len(self)
        first, last = int(self.ptr[i]), int(self.ptr[i + 1])
        columns = (self.node, self.gpus, self.ps)
        nodes, counts, slots = (column[first:last].tolist() for column in columns)
        devices = None
        if self.device.size:
            at = np.cumsum([int(self.gpus[:first].sum()), *counts])
            own = (tuple(self.device[a:b].tolist()) for a, b in pairwise(at))
            devices = dict(zip(nodes, own, strict=True))
        job, start, end = int(self.job[i]), int(self.start[i]), int(self.end[i])
        ps = dict(zip(nodes, slots, strict=True)) if any(slots) else None
        return Segment(job, start, end, dict(zip(nodes, counts, strict=True)), devices, ps)

    def __iter__(self) -> Iterator[Segment]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in self.__dataclass_fields__
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        # arrays come out of a pickle writable: make them anew
        return Schedule, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __repr__(self) -> str:
        end = int(self.end.max()) if len(self) else 0
        return f"Schedule({len(self)} segments, end={end})"

    def _columns(self) -> dict[str, list[Any]]:
        """One entry a segment; GPUs and parameter servers over all its nodes."""
        at = self.ptr[:-1]
        sums = {
            name: np.add.reduceat(column, at).tolist() if len(self) else []
            for name, column in (("gpus", self.gpus), ("ps", self.ps))
        }
        plain = {name: getattr(self, name).tolist() for name in ("job", "start", "end")}
        return {**plain, **sums, "nodes": [list(row.gpus) for row in self]}

    def to_frame(self) -> Any:
        """Return the segments as a pandas DataFrame; `nodes` holds the numbers of their nodes."""
        return frame(self._columns())

    def _repr_html_(self) -> str:
        first = Schedule.of(self[i] for i in range(min(len(self), MOST_SHOWN)))._columns()
        rows = [list(map(str, row)) for row in zip(*first.values(), strict=True)]
        more = f"<p>{html.escape(repr(self))}</p>"
        return table_html(list(first), rows) + more


@dataclass(frozen=True, eq=False)
class Allocation:
    """Fractional shares of GPU models owned by users.

    Parameters
    ----------
    users, models : sequence of str
        Names of the rows and of the columns, each unique.
    shares : (users, models) float array
        GPUs of each model that each user owns on average; finite and not negative.

    Examples
    --------
    >>> Allocation(("a", "b"), ("v100",), [[1.5], [0.5]]).shares.sum()
    np.float64(2.0)
    """

    users: Sequence[str]
    models: Sequence[str]
    shares: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("users", "models"):
            names = tuple(getattr(self, name))
            if len(set(names)) != len(names):
                raise ValueError(f"allocation: {name}={names!r} has a name twice")
            object.__setattr__(self, name, names)
        shares = np.asarray(self.shares, dtype=np.float64)
        if shares.shape != (len(self.users), len(self.models)):
            raise ValueError(
                f"allocation: shares has shape {shares.shape}, "
                f"not {(len(self.users), len(self.models))}"
            )
        bad = np.argwhere(~np.isfinite(shares) | (shares < 0))
        for u, m in bad[:1]:
            raise ValueError(
                f"allocation: share of user {self.users[u]!r} in {self.models[m]!r} "
                f"is {shares[u, m]}, not a finite number >= 0"
            )
        object.__setattr__(self, "shares", _frozen(shares))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Allocation):
            return NotImplemented
        same_names = self.users == other.users and self.models == other.models
        return same_names and np.array_equal(self.shares, other.shares)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Allocation, (self.users, self.models, self.shares)
