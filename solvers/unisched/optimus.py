"""Optimus: GPUs go where they shorten the remaining time most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...instances.check import integer
from ...instances.model import DeadlineJob
from ..growing import longer
from ..policy import Decision, Information, Ints, Preempts, Start, State, ranked
from .deadlines import (
    STATED,
    Arrived,
    Room,
    RunTimes,
    at_cycle,
    next_cycle,
    places_in_turn,
)

#: what is left of the gain of a job that has done less than a twentieth of its work
YOUNG, DAMPING = 20, 0.95
AT_ONCE = 256  #: jobs of which is looked up what they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimus:
    """Every ten minutes run the jobs with the least remaining time, whatever runs.

    Parameters
    ----------
    elastic : bool
        Change the number of GPUs of jobs: one each, by rising remaining time, then one after the
        other where it shortens the remaining time most, up to twice the gang. False: the gang or
        nothing.
    cycle : int
        Seconds between decisions.
    estimates : object with remaining(state, jobs)
        Of the seconds of service left on the job's own gang.

    Notes
    -----
    Source: Y. Peng et al., "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning
    Clusters", EuroSys 2018: marginal gains, decisions every 10 minutes. With gangs (the default,
    to compare with gang policies) there is no gain to choose by: jobs go by remaining time, and one
    that does not fit is skipped. Deadlines are not used.

    Our choices, elastic: a job is as fast on n GPUs as f(n) = n / (1 + c (n - 1)) says, with c its
    `scaling`, so its gain is rem f(D) (1 / f(n) - 1 / f(n + 1)), times 0.95 while less than 5 % is
    done; jobs without `scaling` keep their gang or get nothing; places are consolidated, widest
    first, on fewer GPUs where there is no place; a job whose number changes pays the overhead.
    Ties by (release, number). Run times are those that users state by default.

    Guarantee: none. Between two cycles GPUs that become free stay idle. Long jobs wait as long as
    shorter ones fill the cluster. O((n + M) log n) a decision.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="long", gpus=1, work=1200), Job(id="short", gpus=1, work=60, release=30)]
    >>> drive(Instance(Cluster.of_sizes([1]), jobs), Optimus(), overhead=0).records.end.tolist()
    [1800, 660]
    """

    name: ClassVar[str] = "optimus"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"
    one_model: ClassVar[bool] = True
    elastic: bool = False
    cycle: int = 600
    estimates: RunTimes = STATED

    def __post_init__(self) -> None:
        integer(self, "optimus", "cycle", least=1)

    @property
    def always_asked(self) -> bool:
        """Whether numbers of GPUs change where no job waits, too."""
        return self.elastic

    def decide(self, state: State) -> Decision:
        """Return all jobs by remaining time, or who changes its GPUs; nothing between cycles."""
        if not at_cycle(state, self.cycle):
            return Decision()
        jobs = state.candidates
        seconds = self.estimates.remaining(state, jobs)
        if not self.elastic:
            return Decision(order=ranked(state, jobs, seconds))
        order = np.lexsort((state.rank[jobs], seconds))
        if not _Elastic.of(state).column[jobs].any():
            return self._in_turn(state, jobs[order])
        rows = self._rows(state, jobs[order], seconds[order])
        return self._resized(state, shares(rows, int(state.sizes.sum())))

    def next_change(self, state: State) -> int:
        """Return the next cycle.

        Parameters
        ----------
        state : State
        """
        return next_cycle(state, self.cycle)

    def _in_turn(self, state: State, order: Ints) -> Decision:
        """The same where nobody can change its number: gangs by remaining time that fit by it."""
        fits = _that_fit(state.gpus[order], int(state.sizes.sum()))
        gets = np.zeros(state.gpus.size, dtype=np.bool_)
        gets[order[fits]] = True
        gone = state.running[~gets[state.running]]
        new = order[fits & (state.speed[order] == 0)]
        _, node, gpus = state.places(gone)
        free = state.free.copy()
        np.add.at(free, node, gpus)
        new = new[np.argsort(-state.gpus[new], kind="stable")]
        return Decision(suspend=gone, start=places_in_turn(state, new, state.gpus[new], free))

    def _rows(self, state: State, order: Ints, left: Ints) -> Iterator[tuple[int, Any, int, bool]]:
        """Each job with its seconds and whether it is young; few at once, as few get GPUs."""
        known: dict[int, Any] = state.derived.setdefault(Optimus, {})
        for at in range(0, order.size, AT_ONCE):
            jobs, seconds = order[at : at + AT_ONCE], left[at : at + AT_ONCE].tolist()
            done = (state.work[jobs] - state.remaining(jobs)).tolist()
            for j, rest, past in zip(jobs.tolist(), seconds, done, strict=True):
                if j not in known:
                    known[j] = state.job(j)
                yield j, known[j], rest, YOUNG * past < past + rest

    def _resized(self, state: State, wanted: Mapping[int, int]) -> Decision:
        """Jobs whose number stays keep their nodes, the others are placed anew, widest first."""
        running = state.running
        held = dict(zip(running.tolist(), state.held_gpus[running].tolist(), strict=True))
        gone = [j for j, gpus in held.items() if wanted.get(j) != gpus]
        room = Room(state, state.free.tolist())
        for j in gone:
            room.give(state.nodes(j))
        new = [j for j in wanted if wanted[j] != held.get(j)]
        start = []
        for j in sorted(new, key=lambda j: -wanted[j]):
            nodes = self._place(state, room, j, wanted[j])
            if nodes is not None:
                start.append(Start(j, nodes, sum(nodes.values())))
        return Decision(suspend=gone, start=start)

    def _place(self, state: State, room: Room, job: int, gpus: int) -> dict[int, int] | None:
        fewest = 1 if state.job(job).elastic else gpus
        pod = int(state.pod[job])
        places = (room.place(n, pod) for n in range(gpus, fewest - 1, -1) if n % max(pod, 1) == 0)
        return next((nodes for nodes in places if nodes is not None), None)


class _Elastic(Arrived):
    """Which of the jobs that have come can change their number of GPUs."""

    def __init__(self) -> None:
        super().__init__()
        self.column = np.zeros(0, dtype=np.bool_)

    def read(self, state: State, new: list[int]) -> None:
        """Read whether they can."""
        self.column = longer(self.column, max(new) + 1)
        self.column[new] = [state.job(j).elastic for j in new]


def shares(jobs: Iterable[tuple[int, Any, int, bool]], gpus: int) -> dict[int, int]:
    """Return the GPUs of each job that gets any.

    Examples
    --------
    Both get one; the long one gains more from the third.

    >>> short = DeadlineJob(id="short", gpus=1, work=60)
    >>> long = DeadlineJob(id="long", gpus=2, work=900)
    >>> shares([(0, short, 60, False), (1, long, 900, False)], 3)
    {0: 1, 1: 2}
    """
    found, elastic = dict[int, int](), list[tuple[int, Any, int, bool]]()
    for row in jobs if gpus else ():
        j, job, *_ = row
        first = 1 if job.elastic else job.gpus
        if first <= gpus:
            found[j] = first
            gpus -= first
            elastic += [row] if job.elastic else []
        if not gpus:
            break
    heap = [(-_gain(*row[1:], 1), i) for i, row in enumerate(elastic)]
    heapify(heap)
    while gpus and heap and heap[0][0] < 0:
        _, i = heappop(heap)
        j, job, left, young = elastic[i]
        found[j] += 1
        gpus -= 1
        if found[j] < 2 * job.gpus:
            heappush(heap, (-_gain(job, left, young, found[j]), i))
    return found


def _gain(job: DeadlineJob, left: int, young: bool, gpus: int) -> float:
    """Seconds by which one GPU more shortens the remaining time."""

    def per_speed(n: int) -> float:
        return (1 + job.scaling * (n - 1)) / n

    gain = left / per_speed(job.gpus) * (per_speed(gpus) - per_speed(gpus + 1))
    return gain * (DAMPING if young else 1)


def _that_fit(gangs: Ints, room: int) -> NDArray[np.bool_]:
    """Who fits by number of GPUs, one after another."""
    fits = np.zeros(gangs.size, dtype=np.bool_)
    for i, gang in enumerate(gangs.tolist()):
        if gang <= room:
            fits[i] = True
            room -= gang
    return fits
