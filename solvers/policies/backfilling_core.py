"""The compiled steps of backfilling: who starts beside a reservation, and a reservation for each.

A calendar is a list of times and the GPUs of each node that are free from each of them to the next.
"""

from __future__ import annotations

import numpy as np

from ...instances.compiled import compiled, inner

NONE = 2**62


@inner
def _fullest(free, nodes, found):
    """The node with the most free GPUs that is not among the first so many; the first of equals."""
    best = -1
    for n in range(free.size):
        if best < 0 or free[n] > free[best]:
            taken = False
            for k in range(found):
                taken = taken or nodes[k] == n
            if not taken:
                best = n
    return best


@inner
def place(gang, free, sizes, spread, nodes, parts):
    """As :func:`gangsched.solvers.placement.place`, into `nodes` and `parts`; how many, or 0."""
    before = 0
    while True:
        size = NONE
        for n in range(sizes.size):
            if before < sizes[n] < size:
                size = sizes[n]
        if size == NONE:
            break
        before = size
        full, rest = gang // size, gang % size
        found, best = 0, -1
        for n in range(sizes.size):
            if sizes[n] != size:
                continue
            if found < full and free[n] == size:
                nodes[found], parts[found] = n, size
                found += 1
            elif rest > 0 and free[n] >= rest and (best < 0 or free[n] < free[best]):
                best = n
        if found == full and (rest == 0 or best >= 0):
            if rest > 0:
                nodes[found], parts[found] = best, rest
                found += 1
            return found
    there = 0
    for n in range(free.size):
        there += free[n]
    if not spread or there < gang:
        return 0
    found = 0
    while gang > 0:
        best = _fullest(free, nodes, found)
        nodes[found], parts[found] = best, min(gang, free[best])
        gang -= parts[found]
        found += 1
    return found


@compiled
def easy_starts(gangs, ends, free, sizes, spread, running_ends, ptr, node, part):
    """Who of a queue starts now: (positions, ptr, nodes, GPUs).

    `gangs` and `ends`, where they start now, are of the queue; `running_ends` and (ptr, node, part)
    say when running jobs give back which GPUs.
    """
    count, started, entries = gangs.size, 0, 0
    free = free.copy()
    room = free.sum()
    chosen = np.empty(count, dtype=np.int64)
    out_ptr = np.zeros(count + 1, dtype=np.int64)
    out_node, out_part = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    nodes, parts = np.empty(sizes.size, dtype=np.int64), np.empty(sizes.size, dtype=np.int64)
    head = -1
    shadow = NONE
    extra = free
    short = long = NONE  # the smallest gangs that found no place
    for k in range(count):
        gang = gangs[k]
        if room == 0 or short == 1:
            break
        if gang >= long and (gang >= short or ends[k] > shadow):
            continue
        found = 0
        if head < 0 or ends[k] <= shadow:
            if gang < short:
                found = place(gang, free, sizes, spread, nodes, parts)
                if found == 0 and head >= 0:
                    short = gang
        elif gang < long:
            found = place(gang, np.minimum(free, extra), sizes, spread, nodes, parts)
            if found == 0:
                long = gang
            else:
                for i in range(found):
                    extra[nodes[i]] -= parts[i]
        if found == 0:
            if head < 0:
                head = k
                shadow, extra = _shadow(
                    gang, free, sizes, spread, running_ends, ptr, node, part,
                    ends[chosen[:started]], out_ptr, out_node, out_part,
                )  # fmt: skip
            continue
        for i in range(found):
            out_node[entries], out_part[entries] = nodes[i], parts[i]
            free[nodes[i]] -= parts[i]
            room -= parts[i]
            entries += 1
        chosen[started] = k
        started += 1
        out_ptr[started] = entries
    return chosen[:started], out_ptr[: started + 1], out_node[:entries], out_part[:entries]


@compiled
def _shadow(gang, free, sizes, spread, ends, ptr, node, part, more_ends, more_ptr, more_node, more):
    """When a gang finds a place if nobody else starts, and the GPUs free beside it then."""
    free = free.copy()
    nodes, parts = np.empty(sizes.size, dtype=np.int64), np.empty(sizes.size, dtype=np.int64)
    every = np.concatenate((ends, more_ends))
    order = np.argsort(every)
    for i in range(order.size):
        j = order[i]
        if j < ends.size:
            for k in range(ptr[j], ptr[j + 1]):
                free[node[k]] += part[k]
        else:
            j -= ends.size
            for k in range(more_ptr[j], more_ptr[j + 1]):
                free[more_node[k]] += more[k]
        if i + 1 < order.size and every[order[i + 1]] == every[order[i]]:
            continue
        found = place(gang, free, sizes, spread, nodes, parts)
        if found > 0:
            for k in range(found):
                free[nodes[k]] -= parts[k]
            return every[order[i]], free
    return NONE, free


@compiled
def new_calendar(now, sizes, running, reserved):
    """A calendar from now on: (whether nothing is held twice, calendar, its times, their number).

    Both are (starts, ends, ptr, node, part): of those that run, and of reservations.
    """
    known = np.unique(
        np.concatenate((np.array([now]), running[1], np.maximum(now, reserved[0]), reserved[1]))
    )
    count = known.size
    times = np.zeros(2 * count, dtype=np.int64)
    times[:count] = known
    calendar = np.zeros((sizes.size, 2 * count), dtype=np.int64)
    for table in (running, reserved):
        for j in range(table[0].size):
            first = np.searchsorted(known, max(now, table[0][j]))
            last = np.searchsorted(known, table[1][j])
            for k in range(table[2][j], table[2][j + 1]):
                calendar[table[3][k], first] -= table[4][k]
                calendar[table[3][k], last] += table[4][k]
    fine = True
    for n in range(sizes.size):
        free = sizes[n]
        for k in range(count):
            free += calendar[n, k]
            calendar[n, k] = free
            fine = fine and free >= 0
    return fine, calendar, times, count


@compiled
def turn(calendar, times, count, now):
    """Let a calendar begin now; how many times it has. What was before goes now and then."""
    first = np.searchsorted(times[:count], now)
    if first == count or times[first] > now:
        first -= 1
        times[first] = now
    if first < 256 and 2 * first < count:
        return count
    for n in range(calendar.shape[0]):
        for k in range(count - first):
            calendar[n, k] = calendar[n, k + first]
    for k in range(count - first):
        times[k] = times[k + first]
    return count - first


@compiled
def take(calendar, times, count, start, end, nodes, parts):
    """Take GPUs from a time that is in the calendar until another one; how many times there are."""
    first = np.searchsorted(times[:count], start)
    last = np.searchsorted(times[:count], end)
    if last == count or times[last] != end:
        for k in range(count, last, -1):
            times[k] = times[k - 1]
        times[last] = end
        for n in range(calendar.shape[0]):
            for k in range(count, last, -1):
                calendar[n, k] = calendar[n, k - 1]
            calendar[n, last] = calendar[n, last - 1]
        count += 1
    for i in range(nodes.size):
        for k in range(first, last):
            calendar[nodes[i], k] -= parts[i]
    return count


@compiled
def _least(calendar, times, count, first, end):
    """The GPUs of each node that are free throughout."""
    low = calendar[:, first].copy()
    for n in range(low.size):
        k = first + 1
        while k < count and times[k] < end:
            low[n] = min(low[n], calendar[n, k])
            k += 1
    return low


@compiled
def _count_starts(row, times, first, last, count, need, seconds, changes):
    """Add the times at which one node has enough for so long, as changes of a count; the first.

    Only those from place `first` to before `last` are looked for; `last` where there is none.
    """
    k, found = first, last
    while k < last:
        if row[k] < need:
            k += 1
            continue
        end = k
        while end < count and row[end] >= need:
            end += 1
        after = end
        if end < count:
            while after > k and times[after - 1] + seconds > times[end]:
                after -= 1
        if after > k:
            changes[k] += 1
            changes[after] -= 1
            found = min(found, k)
        k = end
    return found


@compiled
def _first_time(calendar, times, count, first, gang, seconds, sizes):
    """Place of the first time from which on a gang has a consolidated place for so long."""
    best = count
    for s in range(sizes.size):
        size, seen = sizes[s], False
        for n in range(s):
            seen = seen or sizes[n] == size
        if seen:
            continue
        full, rest = gang // size, gang % size
        whole, rests = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
        for n in range(s, sizes.size):
            if sizes[n] != size:
                continue
            row = calendar[n]
            if full > 0:
                _count_starts(row, times, first, best, count, size, seconds, whole)
            if rest > 0:
                found = _count_starts(row, times, first, best, count, rest, seconds, rests)
                best = found if full == 0 else best
        enough = fitting = 0
        for k in range(first, best if full > 0 else first):
            enough += whole[k]
            fitting += rests[k]
            if enough >= full and (rest == 0 or fitting > full):
                best = k
                break
    return best


@compiled
def reserve(now, sizes, spread, calendar, times, count, reserved, gangs, seconds, early):
    """Give a reservation to each job that has none: (times, starts, ptr, nodes, GPUs).

    `reserved` is (starts, ends, ptr, node, part) of those that have one, which come first in
    `gangs` and `seconds`, multiples of a round. With `early` each of them that can start now
    without being in the way of another one does. The calendar, of `count` times, has room for as
    many more as there are jobs; how many it has then is returned.
    """
    old, jobs = reserved[0].size, gangs.size
    first = np.searchsorted(times[:count], now)
    starts = np.empty(jobs, dtype=np.int64)
    out_ptr = np.zeros(jobs + 1, dtype=np.int64)
    room = np.minimum(gangs, sizes.size).sum()
    out_node, out_part = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    nodes, parts = np.empty(sizes.size, dtype=np.int64), np.empty(sizes.size, dtype=np.int64)
    at = 0
    least = NONE  # the smallest gang that has no place now
    for j in range(jobs):
        found, start, takes = 0, now, True
        if j < old:
            start = reserved[0][j]
            begin, end = reserved[2][j], reserved[2][j + 1]
            takes = early and start > now and gangs[j] < least
            if takes and place(gangs[j], calendar[:, first], sizes, spread, nodes, parts) == 0:
                takes, least = False, gangs[j]
            if takes:  # as if it had no reservation
                own_nodes, own_parts = reserved[3][begin:end], -reserved[4][begin:end]
                count = take(calendar, times, count, start, reserved[1][j], own_nodes, own_parts)
                low = _least(calendar, times, count, first, now + seconds[j])
                found = place(gangs[j], low, sizes, spread, nodes, parts)
                start = now if found > 0 else start
            if found == 0:
                found = end - begin
                nodes[:found], parts[:found] = reserved[3][begin:end], reserved[4][begin:end]
        elif not spread:
            k = _first_time(calendar, times, count, first, gangs[j], seconds[j], sizes)
            start = times[k]
            low = _least(calendar, times, count, k, start + seconds[j])
            found = place(gangs[j], low, sizes, spread, nodes, parts)
        else:
            k = first - 1
            while found == 0:
                k += 1
                low = _least(calendar, times, count, k, times[k] + seconds[j])
                found = place(gangs[j], low, sizes, spread, nodes, parts)
            start = times[k]
        if takes:
            until = start + seconds[j]
            count = take(calendar, times, count, start, until, nodes[:found], parts[:found])
        starts[j] = start
        out_node[at : at + found], out_part[at : at + found] = nodes[:found], parts[:found]
        at += found
        out_ptr[j + 1] = at
    return count, starts, out_ptr, out_node[:at], out_part[:at]
