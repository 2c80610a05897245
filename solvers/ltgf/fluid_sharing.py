"""Instantaneous max-min sharing of GPUs: what fair schedulers are measured by, gangs left aside.

Source: Z. Ye, P. Sun, W. Gao, T. Zhang, X. Wang, S. Yan, Y. Luo, "ASTRAEA: A Fair Deep Learning
Scheduler for Multi-Tenant GPU Clusters", IEEE TPDS 2022, Section 4.1.1 and Fig. 6 (a): at every
instant maximise the least number of GPUs that an active job has; what a job cannot use goes to the
others. Jobs can use fractions of GPUs, so this is no schedule of gangs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...formulations.ltgf.problem import rational
from ...instances.model import Instance


def max_min_shares(
    gpus: Fraction | int, demands: Sequence[Fraction | int], weights: Sequence[Fraction | int]
) -> list[Fraction]:
    """Return the weighted max-min shares of some GPUs, exactly.

    Parameters
    ----------
    gpus : Fraction or int
        To be divided, not negative.
    demands : sequence of Fraction or int
        What each can use at most.
    weights : sequence of Fraction or int
        Positive.

    Returns
    -------
    list of Fraction
        min(demand_k, level * weight_k) with the largest level that `gpus` allow.

    Notes
    -----
    By rising demand / weight: each takes its demand, or all that are left divide what is left.
    O(n log n).

    Examples
    --------
    One can use a single GPU; the other two divide the rest.

    >>> [str(share) for share in max_min_shares(6, [1, 4, 6], [1, 1, 1])]
    ['1', '5/2', '5/2']
    """
    shares = [Fraction(0)] * len(demands)
    free, total = Fraction(gpus), sum(map(Fraction, weights), start=Fraction(0))
    for k in sorted(range(len(demands)), key=lambda k: Fraction(demands[k]) / Fraction(weights[k])):
        shares[k] = min(Fraction(demands[k]), free * Fraction(weights[k]) / total)
        free -= shares[k]
        total -= Fraction(weights[k])
    return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class FluidSharing:
    """What instantaneous max-min sharing gives; all numbers exact.

    Parameters
    ----------
    times : tuple of Fraction
        Instants at which a job arrives or completes, in seconds.
    shares : tuple of tuple of (int, Fraction)
        (job, GPUs) of the active jobs from each of `times` to the next, by number; nobody is active
        after the last one.
    end : tuple of Fraction
        Completion of each job, in seconds.
    """

    times: tuple[Fraction, ...]
    shares: tuple[tuple[tuple[int, Fraction], ...], ...]
    end: tuple[Fraction, ...]


def fluid_sharing(instance: Instance[Any]) -> FluidSharing:
    """Share the GPUs at every instant so that the least share is as large as possible.

    Parameters
    ----------
    instance : Instance
        Jobs with `work`. All GPUs of the cluster are one pool.

    Returns
    -------
    FluidSharing

    Raises
    ------
    ValueError
        Where a job has no `work`.

    Notes
    -----
    With r GPUs, at most its gang of D, a job of D p GPU seconds gets r of them a second; it need
    not have all of its gang. Where there are several users, they share by their weights and
    demands first, then the jobs of each by their weights: our reading, as (6)-(8) and (13), but
    here what one cannot use goes to the others.

    Guarantee: at every instant the shares are max-min optimal; no GPU idles while it can be used.
    Nobody's completion is bounded by it: a schedule of gangs can be better for a job, and for all.

    O(jobs) instants of O(jobs log jobs) operations on rational numbers, which grow with the number
    of instants: for hundreds of jobs, not for thousands.

    Examples
    --------
    Fig. 6 (a): a job of 6 GPUs and two of 3, 40 minutes each, on 6 GPUs.

    >>> from gangsched.instances import Cluster, Job
    >>> jobs = [Job(id=i, gpus=g, work=40) for i, g in (("1", 6), ("2", 3), ("3", 3))]
    >>> run = fluid_sharing(Instance(Cluster.of_sizes([6]), jobs))
    >>> [int(end) for end in run.end]
    [80, 60, 60]
    >>> [[int(share) for _, share in shares] for shares in run.shares]
    [[2, 2, 2], [6], []]
    """
    for job in instance.jobs:
        if job.work is None:
            raise ValueError(f"job {job.id!r}: work=None, sharing needs seconds of service")
    left = {j: Fraction(job.gpus * job.work) for j, job in enumerate(instance.jobs)}
    release = [Fraction(job.release) for job in instance.jobs]
    order = sorted(left, key=lambda j: (release[j], j))
    end = [Fraction(0)] * len(left)
    seen, now, active = 0, min(release, default=Fraction(0)), list[int]()
    times, kept = list[Fraction](), list[tuple[tuple[int, Fraction], ...]]()
    while seen < len(order) or active:
        while seen < len(order) and release[order[seen]] <= now:
            active.append(order[seen])
            seen += 1
        shares = _shares(instance, sorted(active))
        times.append(now)
        kept.append(tuple(shares.items()))
        ends = [now + left[j] / share for j, share in shares.items()]
        until = min(ends + [release[j] for j in order[seen : seen + 1]])
        for j, share in shares.items():
            left[j] -= share * (until - now)
            if left[j] == 0:
                end[j] = until
                active.remove(j)
        now = until
    return FluidSharing(times=(*times, now), shares=(*kept, ()), end=tuple(end))


def _shares(instance: Instance[Any], active: list[int]) -> dict[int, Fraction]:
    """GPUs of each active job: users first, then the jobs of each."""
    owner = {j: instance.jobs[j].user if len(instance.users) > 1 else "" for j in active}
    weight = {user.id: rational(user.weight) for user in instance.users}
    users = sorted(set(owner.values()))
    mine = [[j for j in active if owner[j] == user] for user in users]
    demands = [sum(instance.jobs[j].gpus for j in jobs) for jobs in mine]
    parts = max_min_shares(
        instance.cluster.gpus, demands, [weight.get(user, Fraction(1)) for user in users]
    )
    shares: dict[int, Fraction] = {}
    for part, jobs in zip(parts, mine, strict=True):
        gangs = [instance.jobs[j].gpus for j in jobs]
        weights = [rational(instance.jobs[j].weight) for j in jobs]
        shares.update(zip(jobs, max_min_shares(part, gangs, weights), strict=True))
    return dict(sorted(shares.items()))
