"""Why jobs waited, from segments and events of a run and nothing that the policy says of itself.

A job waits while it has come and holds no GPUs. Each second of that has one reason, the first of
these that holds:

``predecessors``
    Jobs that it had to wait for were not complete.
``round``
    The gang fits, but nobody has decided since it does, or the job is not visible yet: rounds.
``policy``
    The gang fits, and the policy has decided not to start it: it keeps the GPUs free, or for a job
    before it.
``fragmentation``
    As many GPUs are free as the gang needs, but not where a gang may stand.
``lease``
    Too few are free, and the job starts within a lease's length, at a round at which running jobs
    are suspended: those were protected by their leases.
``no room``
    Too few are free, even without those of jobs that came later.
``fairness``
    It was overtaken: jobs that came later hold what is missing. With its gang the job's user would
    hold more than their fair share, min(demand, quota) of eq. (9) of Ye et al. (2022).
``order``
    It was overtaken though its user holds less than that.

GPUs are those of the models on which the job can run. Where gangs may not spread, a gang fits on
nodes of one size and model, all but one of them whole (:func:`.idle.fits_somewhere`).
A gang is the job's own number of GPUs, whatever an elastic policy would give it, and whatever pods
it has.

Prices
------
Prices of a bound of the completion times say what the GPUs were worth to all jobs meanwhile
(:mod:`gangsched.analysis.proofs.gpu_prices`), in seconds of completion time for a GPU second. With
pi_g the price on model g, D_j the gang, p_jg its run time without any wait on a model on which it
can run, and r_j its release, a wait has

    price    min over g of (the integral of pi_g over the wait) / (its seconds),
    at once  min over g of D_j (the integral of pi_g over [r_j, r_j + p_jg)), and
    as run   the sum of the integrals of pi over all GPU time that the job held.

To run at once instead of as it ran would have taken (at once - as run) from the others, in seconds
of completion time at these prices, and have spared the job its wait: where that is more than the
wait, somebody else had more use of the GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances import Schedule
from ...instances.arrays import Bools
from ...instances.model import FULL_SPEED
from ..proofs.gpu_prices import GpuPrices
from .metrics.parts import Line, over_segments, users_with_jobs
from .run import EventKind, Ints, Run
from .segments import segments_of
from .speeds import job_speeds, models_of
from .waits_core import Asked, Block, Pool, Sweep, follow_back

#: reasons, the first that holds counts, and what each says
REASONS: Mapping[str, str] = {
    "predecessors": "jobs that it had to wait for were not complete",
    "round": "the gang fits, and the next round is still to come",
    "policy": "the gang fits, and the policy keeps the GPUs from it",
    "fragmentation": "enough GPUs are free, but not together",
    "lease": "those who had its GPUs were within their last lease",
    "no room": "jobs that came before it had the GPUs",
    "fairness": "jobs that came later had the GPUs, while its user had their fair share",
    "order": "jobs that came later had the GPUs, while its user had less than their fair share",
}
CELLS = 1 << 22  # times by job that are looked at together: 13 bytes each
SLOTS = 1 << 16  # at least, for GPUs that are held at once, also by a run that breaks its rules
LONG_AGO = np.iinfo(np.int64).min  # before anybody held anything
NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a job waited for GPUs, and why.

    Parameters
    ----------
    job : int
        Its number.
    seconds : int
        From its release to its completion (or the end of the run), without those in which it held
        GPUs, to be profiled or to run.
    reasons : mapping of str to int
        Seconds by reason, of :data:`REASONS` and in that order; their sum is `seconds`.
    spells : tuple of (int, int)
        From when to when it waited.
    price : float or None
        Mean price of a GPU second in the wait, on the cheapest model on which it can run; seconds
        of completion time of all jobs for a GPU second. None without prices.
    at_once : float or None
        What its gang would have cost, had it run from its release on; seconds of completion time.
    as_run : float or None
        What the GPU time that it held did cost; None for a job that is not complete.
    """

    job: int
    seconds: int
    reasons: Mapping[str, int]
    spells: tuple[tuple[int, int], ...]
    price: float | None = None
    at_once: float | None = None
    as_run: float | None = None

    @property
    def main(self) -> str:
        """The reason of most seconds, "" for a job that never waited."""
        return max(self.reasons, key=lambda name: self.reasons[name]) if self.seconds else ""


def waiting_times(run: Run) -> Ints:
    """Return the seconds that each job of a run waited, 0 for rejected ones."""
    rows = run.records
    held = over_segments(run, lambda plan: plan.end - plan.start).astype(np.int64)
    ends = np.where(rows.end < 0, run.now, rows.end)
    waited: Ints = np.where(rows.rejected, 0, np.maximum(ends - rows.release, 0) - held)
    return np.maximum(waited, 0)


def longest_waits(run: Run, most: int = 5, *, prices: GpuPrices | None = None) -> tuple[Wait, ...]:
    """Return why the jobs that waited longest did, the longest first.

    Parameters
    ----------
    run : Run
        With its instance.
    most : int
        How many jobs; those that never waited are left out.
    prices : GpuPrices, optional
        Of a bound of the completion times of the same jobs, for what GPUs were worth meanwhile.

    Returns
    -------
    tuple of Wait

    Raises
    ------
    ValueError
        For a run without its instance, prices of another number of GPU models, or `most` below 1;
        where far more GPUs are held at once than there are.

    Notes
    -----
    O(segments log segments), and O(segments + times at which GPUs change hands) for each job. Of a
    run as the driver keeps it few segments are unpacked at a time.

    Examples
    --------
    Two GPUs that the first job holds for 100 s; the second needs both, the third one of them. FIFO
    lets nobody pass, and starts jobs at rounds only.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id=i, gpus=k, work=100) for i, k in (("a", 1), ("b", 2), ("c", 1))]
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), Fifo())
    >>> for wait in longest_waits(run):
    ...     print(run.records.id[wait.job], {k: s for k, s in wait.reasons.items() if s})
    c {'round': 20, 'policy': 120, 'no room': 100}
    b {'round': 20, 'no room': 100}
    """
    if most < 1:
        raise ValueError(f"waits: most={most} is not positive")
    if run.instance is None:
        raise ValueError("waits: a run without its instance does not say where gangs fit")
    waited = waiting_times(run)
    longest = np.lexsort((np.arange(waited.size), -waited))[:most]
    history = _History(run, longest[waited[longest] > 0])
    models = history.able.shape[1]
    if prices is not None and len(prices.prices) != models:
        raise ValueError(f"waits: prices of {len(prices.prices)} GPU models, the run has {models}")
    found = history.waits()
    return tuple(one if prices is None else history.priced(one, prices) for one in found)


class _Pieces(NamedTuple):
    """A wait cut wherever anybody begins or ends to hold GPUs; not while the job is invisible."""

    start: Ints
    at: Ints  # the last of all times by then
    long: Ints
    leased: Bools  # those who had its GPUs are within their last lease
    first: Bools  # of its spell


class _History:
    """Which jobs held which GPUs over time, and what that is to some jobs."""

    def __init__(self, run: Run, jobs: Ints) -> None:
        instance = run.require_instance()
        self.run, self.plan = run, _by_end(run.schedule)
        self.jobs, self.own = jobs.tolist(), segments_of(self.plan.blocks(), jobs.tolist())
        names = models_of(instance)
        self.model = np.array([names.index(node.model) for node in instance.cluster.nodes])
        self.sizes = np.array(run.sizes, dtype=np.int64)
        self.speeds = job_speeds(instance)
        self.able = self.speeds > 0
        rows = run.records
        self.rank = np.empty(len(rows), dtype=np.int64)
        self.rank[np.lexsort((np.arange(len(rows)), rows.release))] = np.arange(len(rows))
        self.times = _distinct(self._changes())
        self.suspensions = _distinct(self._suspended())

    def _changes(self) -> Iterator[Ints]:
        """When GPUs changed hands, by block of segments, and a time before that."""
        yield np.array([LONG_AGO])
        for plan in self.plan.blocks():
            yield plan.start
            yield plan.end

    def _suspended(self) -> Iterator[Ints]:
        """When jobs were suspended, by block of events."""
        for log in self.run.events.blocks():
            yield log.time[np.isin(log.kind, (EventKind.SUSPEND, EventKind.KILL))]

    def waits(self) -> Iterator[Wait]:
        """Yield the wait of each job, its seconds summed up by reason."""
        some = max(1, CELLS // self.times.size)
        for first in range(0, len(self.jobs), some):
            jobs = self.jobs[first : first + some]
            sweep = self._sweep(np.array(jobs, dtype=np.int64))
            for job, fits, held in zip(jobs, sweep.fits, sweep.held, strict=True):
                begins, ends = self._spells(job)
                reasons = dict.fromkeys(REASONS, 0)
                for name, seconds in self._reasons(job, begins, ends, fits, held):
                    reasons[name] += seconds
                spells = tuple(zip(begins.tolist(), ends.tolist(), strict=True))
                yield Wait(job, int((ends - begins).sum()), reasons, spells)

    def priced(self, wait: Wait, prices: GpuPrices) -> Wait:
        """Add what GPUs were worth meanwhile; run times are those of the job's own gang."""
        rows, job = self.run.records, wait.job
        gang, release = int(rows.gpus[job]), int(rows.release[job])
        price, at_once = [], []
        begins, ends = np.array(wait.spells, dtype=np.int64).T
        room = np.bincount(self.model, self.sizes)
        for model in np.flatnonzero(self.able[job] & (room >= gang)).tolist():
            long = int(rows.work[job]) * FULL_SPEED / int(self.speeds[job, model])
            price.append(float(prices.worth(model, begins, ends).sum()) / wait.seconds)
            at_once.append(gang * float(prices.worth(model, release, release + long)))
        return replace(wait, price=min(price), at_once=min(at_once), as_run=self._cost(job, prices))

    def _cost(self, job: int, prices: GpuPrices) -> float | None:
        """The worth of all GPU time that a job held; None unless it is complete."""
        if self.run.records.end[job] < 0:
            return None
        plan, length = self.own, np.diff(self.own.ptr)
        mine = np.repeat(plan.job == self.jobs.index(job), length)
        begin, end = (np.repeat(times, length)[mine] for times in (plan.start, plan.end))
        models = self.model[plan.node[mine]]
        worth = np.zeros(models.size)
        for model in np.unique(models).tolist():
            on = models == model
            worth[on] = prices.worth(model, begin[on], end[on])
        return float(sum((plan.gpus[mine] * worth).tolist()))

    def _spells(self, job: int) -> tuple[Ints, Ints]:
        """When the job began and ended to wait, in order of time."""
        rows = self.run.records
        own = np.flatnonzero(self.own.job == self.jobs.index(job))
        own = own[np.argsort(self.own.start[own], kind="stable")]
        end = int(rows.end[job]) if rows.end[job] >= 0 else self.run.now
        begins = np.maximum.accumulate(np.append(rows.release[job], self.own.end[own]))
        ends = np.append(self.own.start[own], end)
        waits = ends > begins
        return begins[waits], ends[waits]

    def _pieces(self, job: int, begins: Ints, ends: Ints) -> _Pieces:
        """Cut spells wherever GPUs change hands: in between nothing does."""
        seen = ends > self.run.records.visible[job]
        begins, ends = np.maximum(begins, self.run.records.visible[job])[seen], ends[seen]
        own = self.own.start[self.own.job == self.jobs.index(job)]
        protected = np.isin(ends, own) & _among(self.suspensions, ends)
        lease = np.maximum(begins, ends - self.run.rules.lease_length)
        lease = np.where(protected, lease, ends)
        within = (begins[0], ends[-1]) if begins.size else (0, 0)
        low, high = np.searchsorted(self.times, within)
        times, cuts = self.times[low:high], _distinct([begins, lease, ends])
        cuts = cuts[~_among(times, cuts)]
        place = np.searchsorted(times, cuts)
        edges = np.insert(times, place, cuts)
        at = np.insert(np.arange(low, high), place, low + place - 1)
        start, spell = edges[:-1], np.searchsorted(begins, edges[:-1], side="right") - 1
        inside = (spell >= 0) & (start < ends[spell])
        start, spell, at = start[inside], spell[inside], at[:-1][inside]
        long = np.diff(edges)[inside]
        return _Pieces(start, at, long, start >= lease[spell], start == begins[spell])

    def _reasons(
        self, job: int, begins: Ints, ends: Ints, fits: Bools, held: NDArray[np.int32]
    ) -> Iterator[tuple[str, int]]:
        """The reasons of all spells, and their seconds."""
        rows = self.run.records
        gang, visible = int(rows.gpus[job]), int(rows.visible[job])
        unseen = int(np.maximum(0, np.minimum(ends, visible) - begins).sum())
        late = visible > self.run.rules.round_up(int(rows.release[job]))
        yield "predecessors" if late else "round", unseen
        starts, at, long, leased, first = self._pieces(job, begins, ends)
        if not starts.size:
            return
        every, later, users = held[:, at].astype(np.int64)
        free = int(self.sizes[self.able[job][self.model]].sum()) - every
        enough = free >= gang
        fitting = enough if self.run.rules.spread else enough & fits[at]
        fresh = fitting & (first | ~np.append(False, fitting[:-1]))
        since = np.maximum.accumulate(np.where(fresh, starts, 0))
        decided = -(-since // self.run.rules.round_length) * self.run.rules.round_length
        waits = np.clip(decided - starts, 0, long)
        yield "round", int(waits[fitting].sum())
        yield "policy", int((long - waits)[fitting].sum())
        yield "fragmentation", int(long[enough & ~fitting].sum())
        rest = ~enough
        for name, holds in (("lease", leased), ("no room", free + later < gang)):
            yield name, int(long[rest & holds].sum())
            rest = rest & ~holds
        starts, long, users = starts[rest], long[rest], users[rest]
        unfair = users + gang > self._fair(job, starts, starts + long) + 1e-6
        yield "fairness", int(long[unfair].sum())
        yield "order", int(long[~unfair].sum())

    def _sweep(self, jobs: Ints) -> Sweep:
        """Where gangs of some jobs fit and what is held, from each time on."""
        rows = self.run.records
        kinds, kind = np.unique(np.stack([self.model, self.sizes]), axis=1, return_inverse=True)
        user = rows.user.astype(np.int64)
        gang = rows.gpus[jobs].astype(np.int64)
        asked = Asked(gang, self.rank[jobs], user[jobs], self.able[jobs])
        pool = Pool(kind.ravel(), kinds[1].copy(), kinds[0].copy(), self.rank, user)
        held = min(max(int(self.sizes.sum()), SLOTS), self.plan.entries)  # at once
        slots = np.zeros((held + 1, 3), dtype=np.int64)
        slots[:, 0] = np.arange(1, len(slots) + 1)
        idle = np.zeros((kinds.shape[1], int(self.sizes.max()) + 1), dtype=np.int64)
        np.add.at(idle, (pool.kind, self.sizes), 1)
        sweep = Sweep(
            fits=np.zeros((jobs.size, self.times.size), dtype=np.bool_),
            held=np.zeros((jobs.size, 3, self.times.size), dtype=np.int32),
            free=self.sizes.copy(),
            idle=idle,
            slots=slots,
            begun=np.full(self.times.size, -1, dtype=np.int64),
            place=np.array([self.times.size - 1, 0], dtype=np.int64),
        )
        for plan in chain(_backwards(self.plan), [Schedule.of(())]):
            start, end = (np.searchsorted(self.times, times) for times in (plan.start, plan.end))
            block = Block(plan.job, start, end, plan.ptr, plan.node, plan.gpus)
            if not follow_back(block, asked, pool, sweep):
                raise ValueError("waits: the run holds many more GPUs at once than there are")
        np.cumsum(sweep.held, axis=2, dtype=np.int32, out=sweep.held)
        return sweep

    def _fair(self, job: int, starts: Ints, ends: Ints) -> NDArray[np.float64]:
        """The fair share of the job's user in each piece, GPUs; of a single user: all."""
        run = self.run
        if run.user_weight.size < 2:
            return np.full(starts.size, np.inf)
        user = next(u for u in users_with_jobs(run) if u.number == run.records.user[job])
        line = Line.of(user.time, user.fair)
        before, after = line.at(starts), line.at(ends)
        fair: NDArray[np.float64] = (after - before) / (ends - starts)
        return fair


def _by_end(plan: Schedule) -> Schedule:
    """The same segments in order of their ends, as the driver has them anyway."""
    last = 0
    for ends in plan.pieces("end"):
        if np.any(np.diff(ends, prepend=last) < 0):
            return Schedule.of(sorted(plan, key=lambda segment: segment.end))
        last = ends[-1] if ends.size else last
    return plan


def _backwards(plan: Schedule) -> Iterator[Schedule]:
    """Yield the blocks of a schedule, the last first."""
    blocks = sum(1 for _ in plan.blocks())
    for k in reversed(range(blocks)):
        yield from plan.blocks([i == k for i in range(blocks)])


def _among(numbers: Ints, wanted: Ints) -> Bools:
    """Which of these are among rising numbers."""
    place = np.searchsorted(numbers, wanted)
    there: Bools = np.append(numbers, LONG_AGO)[place] == wanted
    return there


def _distinct(parts: Iterable[Ints]) -> Ints:
    """All these numbers, each once, in order; few are kept at a time."""
    return _without_repeats(np.concatenate([NONE, *map(_without_repeats, parts)]))


def _without_repeats(numbers: Ints) -> Ints:
    """These numbers in order, each once."""
    order = np.sort(numbers)
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = order[1:] != order[:-1]
    return order[new]
