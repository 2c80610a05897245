"""Why jobs waited, from segments and events of a run and nothing that the policy says of itself.

A job waits while it has come and holds no GPUs. Each second of that has one reason, the first of
these that holds:

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
A gang is the job's own number of GPUs, whatever an elastic policy would give it.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...instances import Schedule
from ...instances.model import FULL_SPEED
from ..proofs.gpu_prices import GpuPrices
from .drive import job_speeds, models_of
from .metrics.parts import Line, over_segments, segment_gangs, users_with_jobs
from .run import EventKind, Ints, Run
from .segments import segments_of

__all__ = ["REASONS", "Wait", "longest_waits"]

#: reasons, the first that holds counts, and what each says
REASONS: Mapping[str, str] = {
    "round": "the gang fits, and the next round is still to come",
    "policy": "the gang fits, and the policy keeps the GPUs from it",
    "fragmentation": "enough GPUs are free, but not together",
    "lease": "those who had its GPUs were within their last lease",
    "no room": "jobs that came before it had the GPUs",
    "fairness": "jobs that came later had the GPUs, while its user had their fair share",
    "order": "jobs that came later had the GPUs, while its user had less than their fair share",
}
CHUNK = 1 << 16  # free GPUs by piece and node that are looked at together
SPELLS = 128  # of a wait that are looked at together: none of them tells anything of another


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
        For a run without its instance, prices of another number of GPU models, or `most` below 1.

    Notes
    -----
    O(segments log segments), and for each job O(segments and nodes while it waits).

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
    history = _History(run, longest)
    models = history.able.shape[1]
    if prices is not None and len(prices.prices) != models:
        raise ValueError(f"waits: prices of {len(prices.prices)} GPU models, the run has {models}")
    found = (history.wait(int(j)) for j in longest if waited[j])
    return tuple(one if prices is None else history.priced(one, prices) for one in found)


class _History:
    """Which jobs held which GPUs over time, of a long run looked up in blocks of segments."""

    def __init__(self, run: Run, jobs: Ints) -> None:
        instance = run.require_instance()
        self.run = run
        self.jobs, self.own = jobs.tolist(), segments_of(run.schedule.blocks(), jobs.tolist())
        self.spans: list[tuple[int, int]] = []  # of time, by block
        times = [np.zeros(0, dtype=np.int64)]
        for plan in run.schedule.blocks():
            own = np.unique(np.concatenate([plan.start, plan.end]))
            times.append(own)
            self.spans.append((int(own[0]), int(own[-1])) if own.size else (0, 0))
        self.times = np.unique(np.concatenate(times))
        names = models_of(instance)
        self.model = np.array([names.index(node.model) for node in instance.cluster.nodes])
        self.sizes = np.array(run.sizes, dtype=np.int64)
        self.speeds = job_speeds(instance)
        self.able = self.speeds > 0
        rows = run.records
        self.rank = np.empty(len(rows), dtype=np.int64)
        self.rank[np.lexsort((np.arange(len(rows)), rows.release))] = np.arange(len(rows))
        times = [np.zeros(0, dtype=np.int64)]
        for log in run.events.blocks():
            stopped = np.isin(log.kind, (EventKind.SUSPEND, EventKind.KILL))
            times.append(np.unique(log.time[stopped]))
        self.suspensions = np.unique(np.concatenate(times))

    def wait(self, job: int) -> Wait:
        """The wait of a job, its seconds summed up by reason."""
        spells = tuple(self._spells(job))
        reasons = dict.fromkeys(REASONS, 0)
        for first in range(0, len(spells), SPELLS):
            for name, seconds in self._reasons(job, spells[first : first + SPELLS]):
                reasons[name] += seconds
        return Wait(job, sum(end - begin for begin, end in spells), reasons, spells)

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

    def _held(self, job: int) -> tuple[Ints, Ints]:
        """When the job began and ended to hold GPUs, in order of time."""
        own = np.flatnonzero(self.own.job == self.jobs.index(job))
        own = own[np.argsort(self.own.start[own], kind="stable")]
        return self.own.start[own], self.own.end[own]

    def _spells(self, job: int) -> Iterator[tuple[int, int]]:
        """When the job waited."""
        rows = self.run.records
        end = int(rows.end[job]) if rows.end[job] >= 0 else self.run.now
        at = int(rows.release[job])
        for start, stop in zip(*(times.tolist() for times in self._held(job)), strict=True):
            if start > at:
                yield at, start
            at = max(at, stop)
        if end > at:
            yield at, end

    def _pieces(self, job: int, spells: Sequence[tuple[int, int]]) -> tuple[Ints, ...]:
        """Starts of the pieces of all spells, their lengths, whose lease runs, where spells begin.

        Between two changes of what is held nothing does change. The time before the job is visible
        is in none of them.
        """
        visible, rules = int(self.run.records.visible[job]), self.run.rules
        running = set(self._held(job)[0].tolist())
        edges: list[Ints] = []
        leases: list[Ints] = []
        for begin, end in spells:
            if end <= visible:
                continue
            begin, lease = max(begin, visible), end
            if end in running and self._suspends(end):
                lease = max(begin, end - rules.lease_length)
            low, high = np.searchsorted(self.times, (begin + 1, end))
            edges.append(np.unique(np.concatenate([[begin, lease, end], self.times[low:high]])))
            leases.append((edges[-1][:-1] >= lease).astype(np.int64))
        firsts = [np.arange(len(part) - 1) == 0 for part in edges]
        none = np.zeros(0, dtype=np.int64)
        return (
            np.concatenate([none, *(part[:-1] for part in edges)]),
            np.concatenate([none, *map(np.diff, edges)]),
            np.concatenate([none, *leases]),
            np.concatenate([none, *firsts]),
        )

    def _suspends(self, time: int) -> bool:
        """Whether some job was suspended at this time."""
        k = int(np.searchsorted(self.suspensions, time))
        return bool(k < self.suspensions.size and self.suspensions[k] == time)

    def _reasons(self, job: int, spells: Sequence[tuple[int, int]]) -> Iterator[tuple[str, int]]:
        """The reasons of all spells, and their seconds."""
        rows = self.run.records
        gang, visible = int(rows.gpus[job]), int(rows.visible[job])
        yield "round", sum(max(0, min(end, visible) - begin) for begin, end in spells)
        starts, long, leased, first = self._pieces(job, spells)
        if not starts.size:
            return
        every, later, users = self._holders(job, starts, int(starts[-1] + long[-1]))
        free = int(self.sizes[self.able[job][self.model]].sum()) - every
        enough = free >= gang
        fits = enough.copy()
        fits[enough] = self._room(job, starts[enough])
        fresh = fits & ((first > 0) | ~np.append(False, fits[:-1]))
        since = np.maximum.accumulate(np.where(fresh, starts, 0))
        decided = -(-since // self.run.rules.round_length) * self.run.rules.round_length
        waits = np.clip(decided - starts, 0, long)
        yield "round", int(waits[fits].sum())
        yield "policy", int((long - waits)[fits].sum())
        yield "fragmentation", int(long[enough & ~fits].sum())
        rest = ~enough
        for name, holds in (
            ("lease", leased > 0),
            ("no room", free + later < gang),
            ("fairness", users + gang > self._fair(job, starts, starts + long) + 1e-6),
            ("order", np.ones(starts.size, dtype=np.bool_)),
        ):
            yield name, int(long[rest & holds].sum())
            rest = rest & ~holds

    def _near(self, low: int, high: int) -> Iterator[Schedule]:
        """Yield the blocks in which segments hold GPUs at a time from `low` on, before `high`."""
        return self.run.schedule.blocks([a < high and low < b for a, b in self.spans])

    def _holders(self, job: int, starts: Ints, until: int) -> NDArray[np.int64]:
        """GPUs held where the job could run, those of them of later jobs, those of its user."""
        rows = self.run.records
        change = np.zeros((3, starts.size + 1))
        for plan in self._near(int(starts[0]), until):
            held, able = segment_gangs(plan), self.able[job][self.model[plan.node[plan.ptr[:-1]]]]
            later = able & (self.rank[plan.job] > self.rank[job])
            chosen = able, later, rows.user[plan.job] == rows.user[job]
            for times, sign in ((plan.start, 1), (plan.end, -1)):
                at = np.searchsorted(starts, times)
                for row, some in zip(change, chosen, strict=True):
                    row += sign * np.bincount(at[some], held[some], row.size)
        return np.cumsum(change, axis=1)[:, :-1].astype(np.int64)

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

    def _room(self, job: int, starts: Ints) -> NDArray[np.bool_]:
        """Whether the gang fits from each of these times on."""
        own = np.flatnonzero(self.able[job][self.model])
        place = np.full(self.sizes.size, -1)
        place[own] = np.arange(own.size)
        fits, gang = np.empty(starts.size, np.bool_), int(self.run.records.gpus[job])
        step = max(1, CHUNK // own.size)
        for low in range(0, starts.size, step):
            part = starts[low : low + step]
            free = np.zeros((part.size + 1, own.size))
            for plan in self._near(int(part[0]), int(part[-1]) + 1):
                near = np.repeat((plan.start <= part[-1]) & (plan.end > part[0]), np.diff(plan.ptr))
                node = place[plan.node]
                near &= node >= 0
                row = np.repeat(np.arange(len(plan)), np.diff(plan.ptr))[near]
                gpus = plan.gpus[near].astype(float)
                for times, sign in ((plan.start, -1), (plan.end, 1)):
                    flat = np.searchsorted(part, times[row]) * own.size + node[near]
                    free += sign * np.bincount(flat, gpus, free.size).reshape(free.shape)
            free = self.sizes[own] + np.cumsum(free, axis=0)[:-1]
            fits[low : low + step] = self._fit(gang, free, own)
        return fits

    def _fit(self, gang: int, free: NDArray[np.float64], own: Ints) -> NDArray[np.bool_]:
        """In which rows of free GPUs by node a gang has a place."""
        if self.run.rules.spread:
            spread: NDArray[np.bool_] = free.sum(axis=1) >= gang
            return spread
        found = np.zeros(free.shape[0], dtype=np.bool_)
        for model in np.unique(self.model[own]):
            for size in np.unique(self.sizes[own][self.model[own] == model]):
                room = free[:, (self.model[own] == model) & (self.sizes[own] == size)]
                whole, rest = divmod(gang, int(size))
                idle = (room == size).sum(axis=1)
                last = ((room >= rest) & (room < size)).any(axis=1)
                found |= (idle >= whole + (rest > 0)) | ((idle >= whole) & last)
        return found
