"""What a trace looks like: the study of Ye et al. (2022, section 3) for any trace.

:func:`describe` gives the numbers of their Table 1 and Figs. 1 to 5 as plain data,
:func:`gangsched.analysis.show.describe_plot.draw` the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Floats, Ints
from ...instances.model import Instance, Job
from ..driving.metrics.parts import held_by

if TYPE_CHECKING:
    from ...instances.traces import Trace
    from ..driving.run import Run

Quantiles = tuple[float, ...]

LIMITS = {"10 min": 600, "1 h": 3_600, "6 h": 21_600, "1 d": 86_400, "6 d": 518_400}  # Table 1
LEVELS = (*(k / 100 for k in range(100)), 0.995, 0.999, 1.0)  # of every distribution
CLASSES = {1: "1", 2: "2–4", 5: "5–8", 9: "over 8"}  # gang sizes by the least one
HOUR = 3_600
MOST_BINS = 10_000  # a longer time is cut into bins of several hours
MOST_USERS = 16  # of whom the use is kept: those with most GPU time


@dataclass(frozen=True, slots=True, kw_only=True)
class GangClass:
    """Jobs that are described together: those of one class of gang sizes, or all.

    Parameters
    ----------
    gpus : str
        Their gang sizes, such as ``"2–4"``; ``"all"`` for all.
    jobs : int
    gpu_seconds : int
        GPU service time (Ye et al., section 3.1): GPUs times run time, of all of them.
    below : tuple of float
        Share of jobs with a run time below 10 min, 1 h, 6 h, 1 d and 6 d (Table 1); empty where
        there are no jobs, as all that follows.
    run_time, service : tuple of float
        Quantiles at `LEVELS` of run time (s) and GPU service time (GPU s), Fig. 3.
    pending, slowdown : tuple of float, or None
        Quantiles at `LEVELS` over the finished jobs of a replay, Fig. 5: seconds between submission
        and completion without progress, and (run time + pending time) / run time. None without a
        replay: a trace does not tell.
    """

    gpus: str
    jobs: int
    gpu_seconds: int
    below: Quantiles
    run_time: Quantiles
    service: Quantiles
    pending: Quantiles | None
    slowdown: Quantiles | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One gang size: its part of the jobs (Fig. 1) and of the GPU service time (Fig. 2).

    Parameters
    ----------
    gpus : int
    jobs : int
    gpu_seconds : int
    """

    gpus: int
    jobs: int
    gpu_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserDemand:
    """GPUs of each user over time (Fig. 4).

    Parameters
    ----------
    users : tuple of str
        Those who have most GPU time in all bins, most first.
    bin : int
        Seconds of one column: an hour, or more of them where the time is very long.
    gpus : (users, bins) float array
        Mean number of GPUs in each bin: in use in a replay; without one demanded, as if every job
        started at its submission and ran to its end without a break.
    quota : (users,) float array or None
        GPUs that the user's weight stands for, M W_u / sum W, Ye et al. (6); None without a
        cluster.
    """

    users: tuple[str, ...]
    bin: int
    gpus: Floats
    quota: Floats | None

    @property
    def share(self) -> Floats | None:
        """GPUs over quota, above 1 where a user has or wants more; None without quotas."""
        return None if self.quota is None else np.asarray(self.gpus / self.quota[:, None])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Description:
    """Ye et al.'s Table 1 and Figs. 1 to 5 of one trace.

    Parameters
    ----------
    name : str
    replay : str
        The policy of the replay that waits and use come from; empty without one.
    span : int
        Seconds from time 0 to the last submission.
    users : int
    all : GangClass
    groups : tuple of GangClass
        By gang size: 1, 2 to 4, 5 to 8, and more GPUs.
    sizes : tuple of Size
        Every gang size that occurs, ascending.
    usage : UserDemand
    unfinished : int
        Jobs that the replay did not finish; they count in no pending time or slowdown.
    """

    name: str
    replay: str
    span: int
    users: int
    all: GangClass
    groups: tuple[GangClass, ...]
    sizes: tuple[Size, ...]
    usage: UserDemand
    unfinished: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON; shares rounded to six digits."""
        usage = self.usage
        return {
            "name": self.name,
            "replay": self.replay or None,
            "span": self.span,
            "users": self.users,
            "unfinished": self.unfinished,
            "limits": list(LIMITS.values()),
            "levels": list(LEVELS),
            "groups": [_rounded_lists(asdict(group)) for group in (self.all, *self.groups)],
            "sizes": [asdict(size) for size in self.sizes],
            "usage": {
                "kind": "in use" if self.replay else "demanded",
                "bin": usage.bin,
                "users": list(usage.users),
                "quota": None if usage.quota is None else _rounded(usage.quota),
                "gpus": [_rounded(row) for row in usage.gpus],
            },
        }

    def __str__(self) -> str:
        jobs, service = self.all.jobs, self.all.gpu_seconds
        below = zip(LIMITS, self.all.below, strict=True)
        lines = [
            f"{self.name}: {jobs:,} jobs, users {self.users}, {self.span / 86_400:.1f} days",
            f"run time below {', '.join(f'{limit} {share:.1%}' for limit, share in below)}",
        ]
        for group in self.groups:
            parts = group.jobs / jobs, group.gpu_seconds / service
            lines.append(f"GPUs {group.gpus}: {parts[0]:.1%} of jobs, {parts[1]:.1%} of GPU time")
        return "\n".join(lines)


def describe(source: Trace | Instance[Any], run: Run | None = None) -> Description:
    """Return the numbers of Ye et al.'s Table 1 and Figs. 1 to 5 for a trace or an instance.

    Notes
    -----
    Quantiles are values that occur: at level q the least one that at least a share q of the jobs
    does not exceed. Table 1 counts run times strictly below its limits. O(n log n) for n jobs.

    References
    ----------
    Z. Ye et al. ASTRAEA: A Fair Deep Learning Scheduler for Multi-Tenant GPU Clusters. IEEE TPDS
    33(11), 2022, section 3.

    Examples
    --------
    >>> from gangsched.instances import Cluster
    >>> jobs = [Job(id="a", gpus=1, work=60), Job(id="b", gpus=8, work=7200, release=9)]
    >>> print(describe(Instance(Cluster.of_sizes([8]), jobs, name="two")))
    two: 2 jobs, users 1, 0.0 days
    run time below 10 min 50.0%, 1 h 50.0%, 6 h 100.0%, 1 d 100.0%, 6 d 100.0%
    GPUs 1: 50.0% of jobs, 0.1% of GPU time
    GPUs 2–4: 0.0% of jobs, 0.0% of GPU time
    GPUs 5–8: 50.0% of jobs, 99.9% of GPU time
    GPUs over 8: 0.0% of jobs, 0.0% of GPU time
    """
    _check(source, run)
    jobs = source.jobs
    gpus, work, release = _columns(jobs)
    pending = (
        None if run is None else np.where(run.records.end < 0, -1, run.records.end - release - work)
    )
    every = np.ones(gpus.size, dtype=bool)
    least = [*CLASSES, np.iinfo(np.int64).max]
    groups = tuple(
        _group(label, (gpus >= low) & (gpus < high), gpus, work, pending)
        for (low, label), high in zip(CLASSES.items(), least[1:], strict=True)
    )
    users, owner = _owners(source, run)
    return Description(
        name=source.name,
        replay="" if run is None else run.policy,
        span=int(release.max()),
        users=len(users),
        all=_group("all", every, gpus, work, pending),
        groups=groups,
        sizes=_sizes(gpus, work),
        usage=_usage(source, run, users, owner),
        unfinished=0 if pending is None else int((pending < 0).sum()),
    )


# --- jobs ----------------------------------------------------------------------------------------


def _check(source: Trace | Instance[Any], run: Run | None) -> None:
    name = source.name
    if not source.jobs:
        raise ValueError(f"{name!r}: there are no jobs to describe")
    if isinstance(source, Instance) and source.slot != 1:
        raise ValueError(f"{name!r}: slot={source.slot}, a description needs times in seconds")
    for job in source.jobs:
        if job.work is None:
            raise ValueError(f"job {job.id!r}: work=None, a description needs run times")
    if run is not None and run.records.id != tuple(job.id for job in source.jobs):
        raise ValueError(f"run of {run.policy!r}: its jobs are not those of {name!r}")


def _columns(jobs: Sequence[Job]) -> tuple[Ints, Ints, Ints]:
    """GPUs, run time and release of each job."""
    gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
    work = np.array([job.work for job in jobs], dtype=np.int64)
    return gpus, work, np.array([job.release for job in jobs], dtype=np.int64)


def _group(
    label: str, own: NDArray[np.bool_], gpus: Ints, work: Ints, pending: Ints | None
) -> GangClass:
    """Describe the jobs of the mask `own`; a pending time below 0 is that of an unfinished job."""
    run_time, service = work[own], gpus[own] * work[own]
    waits = slowdown = None
    if pending is not None:
        done = pending[own] >= 0
        waits = _quantiles(pending[own][done])
        slowdown = _quantiles(1 + pending[own][done] / run_time[done])
    return GangClass(
        gpus=label,
        jobs=int(own.sum()),
        gpu_seconds=int(service.sum()),
        below=tuple(float((run_time < limit).mean()) for limit in LIMITS.values() if own.any()),
        run_time=_quantiles(run_time),
        service=_quantiles(service),
        pending=waits,
        slowdown=slowdown,
    )


def _quantiles(values: NDArray[Any]) -> Quantiles:
    if not values.size:
        return ()
    ordered = np.sort(values)
    ranks = np.ceil(np.round(np.array(LEVELS) * ordered.size, 9)).astype(np.int64)
    return tuple(float(value) for value in ordered[np.maximum(ranks, 1) - 1])


def _sizes(gpus: Ints, work: Ints) -> tuple[Size, ...]:
    sizes, place, counts = np.unique(gpus, return_inverse=True, return_counts=True)
    service = np.zeros(sizes.size, dtype=np.int64)
    np.add.at(service, place, gpus * work)
    return tuple(
        Size(gpus=int(size), jobs=int(count), gpu_seconds=int(total))
        for size, count, total in zip(sizes, counts, service, strict=True)
    )


# --- users over time -----------------------------------------------------------------------------


def _owners(source: Trace | Instance[Any], run: Run | None) -> tuple[list[str], Ints]:
    """Return the users that have jobs, sorted, and the number of each job's user."""
    alone = isinstance(source, Instance) and not source.users
    if alone or (run is not None and run.users == ("",)):
        return [""], np.zeros(len(source.jobs), dtype=np.int64)
    users = sorted({job.user for job in source.jobs})
    number = {user: i for i, user in enumerate(users)}
    return users, np.array([number[job.user] for job in source.jobs], dtype=np.int64)


def _usage(
    source: Trace | Instance[Any], run: Run | None, users: Sequence[str], owner: Ints
) -> UserDemand:
    gpus, work, release = _columns(source.jobs)
    start, end, job = release, release + work, np.arange(gpus.size)
    until = int(release.max()) + 1
    if run is not None:
        start, end, job = run.schedule.start, run.schedule.end, run.schedule.job
        until = max(run.now, 1)
    bin = HOUR * max(1, -(-until // (HOUR * MOST_BINS)))
    bins = -(-until // bin)
    start, end = np.minimum(start, bins * bin), np.minimum(end, bins * bin)
    held = np.bincount(owner[job], gpus[job] * (end - start), minlength=len(users))
    shown = np.lexsort((np.arange(len(users)), -held))[:MOST_USERS]
    place = np.full(len(users), -1)
    place[shown] = np.arange(shown.size)
    row = place[owner[job]]
    own = row >= 0
    times = bin * np.arange(bins + 1)
    used = held_by(start[own], end[own], gpus[job][own], times, row[own], shown.size)
    quota = _quotas(source, run)
    return UserDemand(
        users=tuple(users[u] for u in shown),
        bin=bin,
        gpus=np.diff(used, axis=1) / bin,
        quota=None if quota is None else np.array([quota[users[u]] for u in shown]),
    )


def _quotas(source: Trace | Instance[Any], run: Run | None) -> dict[str, float] | None:
    """Return the quota of each user where there is a cluster."""
    if run is not None:
        return dict(zip(run.users, run.quota.tolist(), strict=True))
    if not isinstance(source, Instance):
        return None
    weights = {user.id: user.weight for user in source.users} or {"": 1.0}
    total = sum(weights.values())
    return {id: source.cluster.gpus * weight / total for id, weight in weights.items()}


# --- plain data ----------------------------------------------------------------------------------


def _rounded(values: NDArray[Any]) -> list[float]:
    return [float(value) for value in np.round(values, 6)]


def _rounded_lists(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group with lists of rounded numbers."""
    return {
        name: _rounded(np.array(value)) if isinstance(value, tuple) else value
        for name, value in group.items()
    }
