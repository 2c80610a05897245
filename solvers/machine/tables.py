"""The driver's own records of jobs, nodes and users.

A policy sees what a :class:`~gangsched.solvers.policy.State` shows of them, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Ints as Ints
from ...instances.compiled import compiled
from ...instances.model import FULL_SPEED


def record(ints: str, floats: str = "") -> np.dtype[Any]:
    """Return the type of a record of these fields."""
    return np.dtype(
        [*((name, np.int64) for name in ints.split()), *((n, np.float64) for n in floats.split())]
    )


#: one job of a run. Constant: gang, work, release, first round, user, place by (release, number),
#: overhead of a resumption, in place and elsewhere, speed where its gang is split, and which of the
#: sets of GPU models that jobs can run on is its own. Changing: where it stands; seconds of
#: service left when its segment began; since when it runs or waits; overhead at the head of its
#: segment; GPU seconds of earlier segments; GPUs and speed of this one; since when it is passed
#: over; profiling runs that have ended; how many things it waits for before it comes: its release,
#: and predecessors. From then on its release is the end of the last of these, where that is later,
#: and its place is by that. Others are the compiled driver's own.
JOB = record(
    "finish lease_end gpus rank key phase user mark since delay left held work kind_of turn tier "
    "blocked starts place_in offset length new_length gang_class urgency release visible first end "
    "active_start held_gpus speed overhead migration split_speed profiled reach pod limit "
    "ahead follow_at follow_end",
    "score second weight fair_start fair_before fair",
)
NODE = record("size free kind model")
USER = record(
    "rate base demand time first_kind last_kind picked passed group_at group_length",
    "quota total value slope key",
)


@dataclass(slots=True, eq=False)
class Tables:
    """The driver's own records of jobs, nodes and users.

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
    followers : int array
        Jobs that wait for the end of others: of job j from its `follow_at` to before `follow_end`.
    ps : dict of int to dict of int to int, optional
    """

    jobs: NDArray[Any]
    nodes: NDArray[Any]
    users: NDArray[Any]
    models: tuple[str, ...]
    speeds: Ints
    followers: Ints
    ps: dict[int, dict[int, int]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name in JOB_COLUMNS:
            column: NDArray[Any] = self.jobs[name]
            return column
        if name in OTHER_COLUMNS:
            table, own = OTHER_COLUMNS[name]
            other: NDArray[Any] = getattr(self, table)[own]
            return other
        raise AttributeError(f"tables have no column {name!r}")

    def done(self, jobs: Ints | slice, time: int) -> Ints:
        """Seconds of service that these jobs got until `time` in their segments; 0 if none."""
        speed = self.jobs["speed"][jobs]
        begun = self.jobs["since"][jobs] + self.jobs["delay"][jobs]
        seconds = np.where(speed > 0, np.maximum(0, time - begun), 0)
        got: Ints = seconds * speed // FULL_SPEED
        return got

    def rest(self, jobs: Ints, time: int) -> Ints:
        """Seconds of service that these jobs still need at `time`: what :meth:`done` leaves."""
        table = self.jobs
        if type(jobs) is not np.ndarray or jobs.dtype != np.int64 or jobs.ndim != 1:
            jobs = np.atleast_1d(np.arange(table.size)[jobs])
        segment = table["left"], table["speed"], table["since"], table["delay"]
        left: Ints = _rest(*segment, jobs, time)
        return left


@compiled
def _rest(left: Ints, speed: Ints, since: Ints, delay: Ints, jobs: Ints, time: int) -> Ints:
    """:meth:`Tables.rest` without arrays in between."""
    rest = np.empty(jobs.size, np.int64)
    for i in range(jobs.size):
        j = jobs[i]
        if not 0 <= j < left.size:
            raise IndexError("there is no such job")
        rest[i] = left[j]
        if speed[j] > 0:
            rest[i] -= max(0, time - since[j] - delay[j]) * speed[j] // FULL_SPEED
    return rest


JOB_COLUMNS = frozenset(JOB.names or ())
OTHER_COLUMNS = {
    "sizes": ("nodes", "size"),
    "free": ("nodes", "free"),
    "node_model": ("nodes", "model"),
    "quota": ("users", "quota"),
    "user_rate": ("users", "rate"),
    "user_base": ("users", "base"),
}


def to_rows(held: Mapping[int, Mapping[int, int]]) -> list[list[Any]]:
    """Return what jobs hold by node as lists."""
    return [[job, [[node, count] for node, count in own.items()]] for job, own in held.items()]


def of_rows(rows: Sequence[Sequence[Any]]) -> dict[int, dict[int, int]]:
    """Return what jobs hold by node from lists."""
    return {job: dict(own) for job, own in rows}
