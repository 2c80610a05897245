""":class:`gangsched.solvers.gandiva_fair.stride.StridePool` as machine code: quanta over arrays.

Jobs are their numbers. Entries of the central stride are nodes that have jobs of their own, then
jobs of several nodes ("wide") by number. Passes are compared as there (`STEPS`), and sums are
added up in the same order, so that results are the same bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner

STEPS = 1e6  # as in stride: compiled code keeps its own globals


class Jobs(NamedTuple):
    """Arrays by job number; `turn` and `busy` are room to work in."""

    gang: Ints
    user: Ints
    arrival: Ints
    server: Ints
    value: Floats
    turn: Floats
    busy: NDArray[np.bool_]


class Servers(NamedTuple):
    """Arrays by node; `small` are GPUs of its own jobs by user, `jobs` how many."""

    size: Ints
    small: Ints
    jobs: Ints
    arrival: Ints
    value: Floats


class Wide(NamedTuple):
    """Jobs of several nodes: job k has nodes[first[k] : first[k + 1]], the last in part."""

    job: Ints
    first: Ints
    servers: Ints
    used: Ints  # of the last node


class StrideOptions(NamedTuple):
    """As of the pool, and whether Algorithm 2 is kept to the letter."""

    debt_cap: bool
    normalised: bool
    literal: bool


@inner
def _before(a: Any, b: Any, turn: Any, arrival: Any, gang: Any) -> Any:
    """Whether a comes before b: by rising pass, then by arrival, gang and number."""
    if turn[a] != turn[b]:
        return turn[a] < turn[b]
    if arrival[a] != arrival[b]:
        return arrival[a] < arrival[b]
    if gang[a] != gang[b]:
        return gang[a] < gang[b]
    return a < b


@inner
def _sort(order: Any, low: Any, high: Any, spare: Any, turn: Any, arrival: Any, gang: Any) -> None:
    """Merge sort of order[low:high]."""
    width = 1
    while width < high - low:
        left = low
        while left + width < high:
            middle = left + width
            right = min(middle + width, high)
            if _before(order[middle], order[middle - 1], turn, arrival, gang):
                for i in range(left, middle):
                    spare[i] = order[i]
                i, j, k = left, middle, left
                while i < middle:
                    if j < right and _before(order[j], spare[i], turn, arrival, gang):
                        order[k] = order[j]
                        j += 1
                    else:
                        order[k] = spare[i]
                        i += 1
                    k += 1
            left = right
        width *= 2


@inner
def _stride(job: Any, jobs: Any, strides: Any, normalised: Any) -> Any:
    stride = strides[jobs.user[job]]
    return stride if normalised else stride / jobs.gang[job]


@inner
def _share(
    order: Any, low: Any, high: Any, spare: Any, room: Any, jobs: Any, strides: Any, part: Any,
    options: Any, runs: Any, count: Any,
) -> Any:  # fmt: skip
    """A node's own stride among order[low:high]; who runs is appended to `runs`."""
    for i in range(low, high):
        jobs.turn[order[i]] = np.floor(jobs.value[order[i]] * STEPS + 0.5)
    _sort(order, low, high, spare, jobs.turn, jobs.arrival, jobs.gang)
    began = count
    for i in range(low, high):
        job = order[i]
        if jobs.gang[job] <= room:
            room -= jobs.gang[job]
            jobs.value[job] += part * _stride(job, jobs, strides, options.normalised)
            runs[count] = job
            count += 1
    if options.debt_cap and count - began == high - low > 0:
        least = jobs.value[order[low]]
        for i in range(low, high):
            least = min(least, jobs.value[order[i]])
        for i in range(low, high):
            job = order[i]
            most = least + _stride(job, jobs, strides, options.normalised)
            jobs.value[job] = min(jobs.value[job], most)
    return count


@inner
def _by_server(active: Any, jobs: Any, room: Any, first: Any, last: Any, order: Any) -> None:
    """Jobs that do not run, where there is room, by node: order[first[n] : last[n]]."""
    last[:] = 0
    for job in active:
        if room[jobs.server[job]] > 0 and not jobs.busy[job]:
            last[jobs.server[job]] += 1
    begin = 0
    for n in range(room.size):
        first[n] = begin
        begin += last[n]
        last[n] = first[n]
    for job in active:
        n = jobs.server[job]
        if room[n] > 0 and not jobs.busy[job]:
            order[last[n]] = job
            last[n] += 1


@inner
def _is_free(wide: Any, k: Any, free: Any, size: Any) -> Any:
    """Whether all nodes of the k-th wide job are free."""
    for i in range(wide.first[k], wide.first[k + 1]):
        if free[wide.servers[i]] != size[wide.servers[i]]:
            return False
    return True


@inner
def _take(wide: Any, k: Any, free: Any) -> None:
    """Let the k-th wide job have its nodes, but for what it leaves on the last."""
    for i in range(wide.first[k], wide.first[k + 1]):
        left = free[wide.servers[i]] - wide.used[k] if i == wide.first[k + 1] - 1 else 0
        free[wide.servers[i]] = left


@inner
def _aggregate(n: Any, servers: Any, strides: Any, normalised: Any) -> Any:
    """Stride of a node's own jobs, and the GPUs for which they count together."""
    asked, tickets = 0, 0.0
    for user in range(strides.size):
        if servers.small[n, user]:
            asked += servers.small[n, user]
            tickets += servers.small[n, user] / strides[user]
    gang = min(asked, servers.size[n])
    return (gang if normalised else 1) / tickets, gang


@compiled
def quantum(
    servers: Any, jobs: Any, wide: Any, active: Any, strides: Any, options: Any, runs: Any
) -> Any:
    """Write the jobs of the next quantum into `runs`, charge them, and return how many they are."""
    size = servers.size
    most = size.size + wide.job.size
    owner, gang = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    arrival, order = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    spare = np.empty(max(most, active.size), dtype=np.int64)
    value, turn, stride = np.empty(most), np.empty(most), np.empty(most)
    entries = 0
    for n in range(size.size):
        if servers.jobs[n]:
            stride[entries], gang[entries] = _aggregate(n, servers, strides, options.normalised)
            owner[entries], arrival[entries] = n, servers.arrival[n]
            value[entries] = servers.value[n]
            entries += 1
    for k in range(wide.job.size):
        job = wide.job[k]
        stride[entries] = _stride(job, jobs, strides, options.normalised)
        owner[entries], gang[entries] = size.size + k, jobs.gang[job]
        arrival[entries], value[entries] = jobs.arrival[job], jobs.value[job]
        entries += 1
    for i in range(entries):
        order[i] = i
        turn[i] = np.floor(value[i] * STEPS + 0.5)
    _sort(order, 0, entries, spare, turn, arrival, gang)
    free, room = size.copy(), np.zeros_like(size)
    count, served = 0, 0
    for i in range(entries):
        entry = order[i]
        n = owner[entry]
        if n < size.size:
            if free[n] != size[n] or not free[n]:
                continue
            free[n], room[n] = 0, size[n]
        else:
            k = n - size.size
            if not _is_free(wide, k, free, size):
                continue
            last = wide.servers[wide.first[k + 1] - 1]
            _take(wide, k, free)
            room[last], free[last] = free[last], 0
            runs[count] = wide.job[k]
            count += 1
        value[entry] += stride[entry]
        served += 1
    least = np.inf
    if options.debt_cap and served == entries:
        for i in range(entries):
            least = min(least, value[i])
    for i in range(entries):
        after = min(value[i], least + stride[i])
        if owner[i] < size.size:
            servers.value[owner[i]] = after
        else:
            jobs.value[wide.job[owner[i] - size.size]] = after
    first, last_of = np.empty_like(size), np.empty_like(size)
    own = np.empty(active.size, dtype=np.int64)
    _by_server(active, jobs, room, first, last_of, own)
    for n in range(size.size):
        if first[n] < last_of[n]:
            count = _share(
                own, first[n], last_of[n], spare, room[n], jobs, strides, 1.0, options, runs, count
            )
    return count


@compiled
def look(
    servers: Any, jobs: Any, wide: Any, active: Any, strides: Any, options: Any, runs: Any,
    free: Any, part: Any,
) -> Any:  # fmt: skip
    """Write the jobs that begin on `free` into `runs`, charge them, and return how many they are.

    Jobs that run already are `jobs.busy`.
    """
    size = servers.size
    first, last = np.empty_like(size), np.empty_like(size)
    own = np.empty(active.size, dtype=np.int64)
    _by_server(active, jobs, free, first, last, own)
    most = size.size + wide.job.size
    owner, gang = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    arrival, order = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    spare, turn = np.empty(max(most, active.size), dtype=np.int64), np.empty(most)
    entries = 0
    for n in range(size.size):
        if first[n] < last[n]:
            gang[entries] = _aggregate(n, servers, strides, options.normalised)[1]
            owner[entries], arrival[entries] = n, servers.arrival[n]
            turn[entries] = np.floor(servers.value[n] * STEPS + 0.5)
            entries += 1
    for k in range(wide.job.size):
        job = wide.job[k]
        if not jobs.busy[job] and _is_free(wide, k, free, size):
            owner[entries], gang[entries] = size.size + k, jobs.gang[job]
            arrival[entries] = jobs.arrival[job]
            turn[entries] = np.floor(jobs.value[job] * STEPS + 0.5)
            entries += 1
    for i in range(entries):
        order[i] = i
    _sort(order, 0, entries, spare, turn, arrival, gang)
    count = 0
    for i in range(entries):
        n = owner[order[i]]
        if n >= size.size:
            k = n - size.size
            if _is_free(wide, k, free, size):
                _take(wide, k, free)
                job = wide.job[k]
                jobs.value[job] += part * _stride(job, jobs, strides, options.normalised)
                runs[count] = job
                count += 1
        elif free[n]:
            began = count
            count = _share(
                own, first[n], last[n], spare, free[n], jobs, strides, part, options, runs, count
            )
            for j in range(began, count):
                free[n] -= jobs.gang[runs[j]]
    return count
