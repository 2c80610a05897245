"""Users alone on their quotas while jobs come, as machine code.

What it computes is that of :func:`gangsched.formulations.sharing_incentive.alone_flows`, as far as
the time has come: its reference.
"""

from __future__ import annotations

from typing import Any

from ....instances.arrays import Ints
from ....instances.compiled import compiled, inner

PARTS = 1_000  #: of a GPU, in which quotas are counted
GRACE = 3_600  #: tau, in seconds


@inner
def weight(flow: int, total: int, power: float, size: float) -> float:
    """Weight of a user, of the flow times so far of its jobs, here and alone."""
    alone = float(total + GRACE)
    found: float = ((flow + GRACE) / alone) ** power / (alone / GRACE) ** size
    return found


@inner
def _later(area: Ints, rank: Ints, one: int, other: int) -> bool:
    """Whether a job comes after another one."""
    equal = area[one] == area[other] and rank[one] > rank[other]
    return bool(equal or area[one] > area[other])


@inner
def advance_users(
    new: Ints, first: int, last: int, release: Ints, user: Ints, rank: Ints, rate: Ints,
    area: Ints, quota: Ints, queue: Ints, count: Ints, total: Ints, since: int, until: int,
) -> None:  # fmt: skip
    """Let each user's own run go on from `since` to `until`, with new[first:last] by their release.

    By job `rate` is the gang, and `area` what is left of it times the run time; with `quota` by
    user in the same unit. Row u of `queue` has the `count[u]` jobs of u that are not complete, and
    `total[u]` is the sum of their flow times so far and of those that are.
    """
    for u in range(quota.size):
        now, i, n = since, first, count[u]
        row = queue[u]
        while True:
            while i < last and user[new[i]] != u:
                i += 1
            more = i < last
            upto = max(now, release[new[i]]) if more else until
            room, served = quota[u], 0
            step = upto - now
            while served < n and room > 0:
                speed = min(rate[row[served]], room)
                step = min(step, -(-area[row[served]] // speed))
                room -= speed
                served += 1
            total[u] += n * step
            now += step
            room, kept = quota[u], 0
            for k in range(served):
                speed = min(rate[row[k]], room)
                room -= speed
                area[row[k]] -= speed * step
            for k in range(served):
                if area[row[k]] > 0:
                    row[kept] = row[k]
                    kept += 1
            comes = more and now == upto
            if kept < served:
                for k in range(served, n):
                    row[k - served + kept] = row[k]
                n -= served - kept
            if kept < served or comes:  # the order is looked at anew
                for k in range(1, kept):
                    job, at = row[k], k
                    while at > 0 and _later(area, rank, row[at - 1], job):
                        row[at] = row[at - 1]
                        at -= 1
                    row[at] = job
            while comes:
                job, at = new[i], n
                while at > 0 and _later(area, rank, row[at - 1], job):
                    row[at] = row[at - 1]
                    at -= 1
                row[at] = job
                n += 1
                i += 1
                total[u] += now - release[job]
                while i < last and user[new[i]] != u:
                    i += 1
                comes = i < last and release[new[i]] <= now
            if now == until and not more:
                break
        count[u] = n


@compiled
def advance(*columns: Any) -> None:
    """As :func:`advance_users`, for a session in Python."""
    advance_users(*columns)
