"""The steps of a decision of Gandiva_fair as machine code; `PlainSharing` in tests reads easier.

Under the names that they have there.
"""

from __future__ import annotations

import numpy as np

from ...instances.compiled import compiled, inner
from .sharing_core import (
    ACTIVE,
    ALL,
    FINE,
    GAIN,
    INT,
    LENGTH,
    MOST,
    NEW,
    RUNS,
    START,
    STARTS,
    STEPS,
    STOP,
    STOPS,
    THRESHOLD,
    as_compared,
    enter_home,
    find_home,
    is_known,
    known_speed,
    leave_home,
    next_size,
    rate_of,
    set_loads,
    set_prices,
    set_strides,
    set_tickets,
    sort_jobs,
)  # fmt: skip
from .stride_core import Jobs, Servers, Wide, look
from .stride_core import quantum as stride_quantum

#: a user whose tickets per GPU are below this has jobs that take turns
TURNS = 1 - 1e-9
#: no gang has so many GPUs
WIDEST = 2**31


@compiled
def decide(c, now, part, begins):
    """`PlainSharing.decide`: write who stops and who starts."""
    _allocate(c, now)
    if begins:
        if c.models.size > 1:
            _between_models(c, now)
        for g in range(c.models.size):
            _balance(c, g, now)
    take_turns(c, part, begins)
    if not c.options.literal:
        _use_idle(c)
    write_decision(c)


@compiled
def queue_jobs(c, unhoused):
    """Queues of each user's jobs that have no home, or that do not run next, as they are taken.

    By weight, then those that run, then by rank, as which jobs that wait and jobs that run come.
    """
    row, queue, size, equal = 2 * c.models.size + ALL, 2 * c.models.size + STOP, 0, True
    for runs in (True, False):
        if runs and unhoused:
            continue  # who runs has a home
        for i in range(c.count[ACTIVE]):
            j = c.lists[row, i]
            if (c.jobs[j].run_length > 0) == runs and (
                c.jobs[j].home < 0 if unhoused else not c.jobs[j].busy
            ):
                equal = equal and c.jobs[j].weight == c.jobs[c.lists[queue, 0]].weight
                c.lists[queue, size] = j
                size += 1
    for u in range(c.users.size):
        c.users[u].head = -1
    if not equal:
        weights = np.empty(size)
        for i in range(size):
            weights[i] = -c.jobs[c.lists[queue, i]].weight
        c.lists[queue, :size] = c.lists[queue, :size][np.argsort(weights, kind="mergesort")]
    for i in range(size - 1, -1, -1):
        j = c.lists[queue, i]
        c.jobs[j].behind = c.users[c.jobs[j].user].head
        c.users[c.jobs[j].user].head = j


@inner
def with_queue(c):
    """List the users that have a queue; returns how many they are."""
    size = 0
    for u in range(c.users.size):
        if c.users[u].head >= 0:
            c.users[size].short = u
            size += 1
    return size


@inner
def next_user(c, size):
    """Where in the list the user stands that has least for its tickets."""
    best, least = 0, 0.0
    for i in range(size):
        u = c.users[i].short
        ratio = c.users[u].used / c.users[u].worth
        if i == 0 or ratio < least:
            best, least = i, ratio
    return best


@inner
def _drop_user(c, at, size):
    """Take a user from the list."""
    for i in range(at, size - 1):
        c.users[i].short = c.users[i + 1].short
    return size - 1


@compiled
def _allocate(c, now):
    """Algorithm 2: give new jobs their home."""
    if c.count[NEW] == 0:
        return
    queue_jobs(c, True)
    for u in range(c.users.size):
        c.users[u].used = 0
        for g in range(c.models.size):
            c.users[u].used += c.demand[g, u]
    for _ in range(c.count[NEW]):
        users = with_queue(c)
        u = c.users[next_user(c, users)].short  # line 2
        j = c.users[u].head  # line 3
        c.users[u].head = c.jobs[j].behind
        find_home(c, j, _model_for(c, j), now)
        c.users[u].used += c.jobs[j].gang


@inner
def _model_for(c, j):
    """Algorithm 2, lines 4 to 7."""
    known, best, most = is_known(c, j), -1, 0.0
    for g in range(c.models.size):
        if c.able[j, g]:
            set_prices(c, g, c.jobs[j].user, c.jobs[j].gang)
            value = as_compared(rate_of(c, j, g, known) * c.users[c.jobs[j].user].price, FINE)
            if best < 0 or value >= most:
                best, most = g, value
    return best


@inner
def _move(c, j, g, now):
    leave_home(c, j)
    find_home(c, j, g, now)


@compiled
def _between_models(c, now):
    """`_explore`, then `_migrate`."""
    models = c.models.size
    kinds, size = np.empty(c.count[ACTIVE], INT), 0
    for g in range(2 * models):
        for i in range(c.models[g].narrow if g < models else c.models[g - models].wide):
            kinds[size] = _alike(c, c.lists[g, i])
            size += 1
    kinds = np.unique(kinds[:size])
    last = np.empty((kinds.size, models, models), INT)
    _find_last(c, kinds, last)
    moved = 0 if c.options.literal else _explore(c, last, now)
    while moved < c.count[MOST]:
        if moved:
            _find_last(c, kinds, last)
        j, g = _best_move(c, last)
        if j < 0:
            return
        _move(c, j, g, now)
        moved += 1


@inner
def _alike(c, j):
    """The kind of a job, to the letter with its gang: of those that gain alike the last moves."""
    return c.jobs[j].kind * WIDEST + (c.jobs[j].gang if c.options.literal else 0)


@inner
def _find_last(c, kinds, last):
    """The last job of each kind at home on a model that can run on another (`_last`)."""
    models = c.models.size
    last[:] = -1
    for g in range(2 * models):
        home = g if g < models else g - models
        for i in range(c.models[home].narrow if g < models else c.models[home].wide):
            j = c.lists[g, i]
            k = np.searchsorted(kinds, _alike(c, j))
            for other in range(models):
                if c.able[j, other]:
                    before = last[k, home, other]
                    if before < 0 or c.jobs[j].rank > c.jobs[before].rank:
                        last[k, home, other] = j


@inner
def _explore(c, last, now):
    """Section 3.4: one job of each kind that takes turns goes to a model that is not profiled."""
    moved = 0
    for k in range(len(last)):
        if moved < c.count[MOST] and _explored(c, last[k], now):
            moved += 1
    return moved


@inner
def _explored(c, last, now):
    for g in range(c.models.size - 1, -1, -1):
        for other in range(c.models.size - 1, -1, -1):
            j = last[g, other]
            if j < 0 or last[other, other] >= 0 or c.times[c.jobs[j].kind, other] > 0:
                continue
            set_prices(c, g, 0, 0)
            if c.users[c.jobs[j].user].price < TURNS:
                _move(c, j, other, now)
                return True
    return False


@inner
def _best_move(c, last):
    """Section 3.5, Migration: which job gains most on which model; -1 for none."""
    for g in range(c.models.size):
        set_tickets(c, g, 0, 0)
        for u in range(c.users.size):
            c.base[g, u] = c.users[u].tickets
    best, most, own = -1, -np.inf, 0.0
    target = 0
    for k in range(len(last)):
        for g in range(c.models.size):
            for other in range(c.models.size):
                j = last[k, g, other]
                if j < 0 or other == g:
                    continue
                kind = c.jobs[j].kind
                slow, fast = known_speed(c, kind, g), known_speed(c, kind, other)
                if np.isnan(slow) or np.isnan(fast):
                    continue
                together, alone = _gain(c, j, g, other, slow, fast)
                if alone > as_compared(c.limits[GAIN], FINE) and (
                    together > most or (together == most and alone > own)
                ):
                    best, target, most, own = j, other, together, alone
    return best, target


@inner
def _gain(c, j, g, other, slow, fast):
    """What a move brings the user's jobs together, and the job itself."""
    u, gang = c.jobs[j].user, c.jobs[j].gang
    total = slow * c.base[g, u]
    each = total / max(c.demand[g, u], 1)
    set_tickets(c, g, u, -gang)
    lost = total - slow * c.users[u].tickets
    set_tickets(c, other, u, gang)
    gained = fast * c.users[u].tickets
    after = gained / max(c.users[u].asked, 1)
    gained -= fast * c.base[other, u]
    return as_compared(gained - lost, FINE), as_compared(after / each, FINE)


@inner
def _balance(c, g, now):
    """Section 3.5, Migration between the nodes of a model."""
    first, last = c.models[g].first, c.models[g].last
    for _ in range(1 if c.options.literal else c.count[MOST]):
        set_prices(c, g, 0, 0)
        set_loads(c, g)
        source, target, total = -1, first, 0.0
        for n in range(first, last):
            load = c.servers[n].load
            total += load
            crowded = c.options.literal or c.servers[n].asked > c.servers[n].gpus
            if crowded and (source < 0 or load > c.servers[source].load):
                source = n
            if load < c.servers[target].load:
                target = n
        if source < 0:
            return
        gap = c.servers[source].load - c.servers[target].load
        if gap <= c.limits[THRESHOLD] * (total / (last - first)):
            return
        j = _to_balance(c, g, source, target, gap)
        if j < 0:
            return
        arrival = c.jobs[j].arrival
        leave_home(c, j)
        c.entries[c.jobs[j].offset].home = target
        enter_home(c, j, now, arrival)


@inner
def _to_balance(c, g, source, target, gap):
    """The job whose move leaves the least gap, those first that run at once; -1 for none."""
    best, least, best_waits = -1, 0.0, False
    left = c.servers[target].gpus - c.servers[target].asked
    for i in range(c.models[g].narrow):
        j = c.lists[g, i]
        gang = c.jobs[j].gang
        if c.jobs[j].server != source - c.models[g].first or gang > c.servers[target].gpus:
            continue
        moved = gang * c.users[c.jobs[j].user].price
        after = as_compared(
            abs(gap - moved / c.servers[source].gpus - moved / c.servers[target].gpus), STEPS
        )
        if after >= as_compared(gap, STEPS):
            continue
        waits = gang > left and not c.options.literal
        first = best < 0 or (best_waits and not waits)
        if not first and waits == best_waits:
            first = after < least or (after == least and j < best)
        if first:
            best, least, best_waits = j, after, waits
    return best


@inner
def _next_at_home(c, j):
    """Let a job run at home next."""
    c.jobs[j].busy, c.jobs[j].next_length = True, c.jobs[j].home_length
    for k in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].home_length):
        c.entries[k].next, c.entries[k].next_gpus = c.entries[k].home, c.entries[k].home_gpus
        c.servers[c.entries[k].home].free -= c.entries[k].home_gpus


@compiled
def _wide(c, g):
    """Jobs of several nodes, as machine code of strides has them."""
    size, entries, row = c.models[g].wide, 0, c.models.size + g
    for k in range(size):
        entries += c.jobs[c.lists[row, k]].home_length
    first, used = np.zeros(size + 1, INT), np.empty(size, INT)
    servers, at = np.empty(entries, INT), 0
    for k in range(size):
        j = c.lists[row, k]
        for i in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].home_length):
            servers[at] = c.entries[i].home - c.models[g].first
            used[k] = c.entries[i].home_gpus
            at += 1
        first[k + 1] = at
    return Wide(c.lists[row, :size], first, servers, used)


@compiled
def take_turns(c, part, begins):
    """Algorithm 1, split (3.1)."""
    models = c.models.size
    every, runs = 2 * models + ALL, c.lists[2 * models + RUNS]
    for n in range(c.servers.size):
        c.servers[n].free = c.servers[n].gpus
    for i in range(c.count[ACTIVE]):
        j = c.lists[every, i]
        c.jobs[j].busy = False
        if not begins and c.jobs[j].run_length > 0:
            c.jobs[j].busy, c.jobs[j].next_length = True, c.jobs[j].run_length
            for k in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].run_length):
                c.entries[k].next, c.entries[k].next_gpus = c.entries[k].run, c.entries[k].run_gpus
                c.servers[c.entries[k].run].free -= c.entries[k].run_gpus
    j = c.jobs
    jobs = Jobs(
        j["gang"], j["user"], j["arrival"], j["server"], j["value"], j["turn"], j["busy"]
    )  # fmt: skip
    for g in range(models):
        first, last = c.models[g].first, c.models[g].last
        if c.models[g].narrow + c.models[g].wide == 0:
            continue
        idle = 0
        for n in range(first, last):
            idle += c.servers[n].free
        if idle == 0:
            continue
        set_strides(c, g)
        s = c.servers[first:last]
        servers = Servers(s["gpus"], c.small[first:last], s["jobs"], s["arrival"], s["value"])
        strides, narrow = c.users["stride"], c.lists[g, : c.models[g].narrow]
        if begins:
            n = stride_quantum(servers, jobs, _wide(c, g), narrow, strides, c.options, runs)
        else:
            free = s["free"].copy()
            n = look(servers, jobs, _wide(c, g), narrow, strides, c.options, runs, free, part)
        for i in range(n):
            _next_at_home(c, runs[i])


@inner
def _at_old_place(c, j):
    """Let a job run next where it runs, if nobody else does."""
    if c.jobs[j].run_length == 0:
        return False
    first, last = c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].run_length
    for k in range(first, last):
        if c.servers[c.entries[k].run].free < c.entries[k].run_gpus:
            return False
    return True


@inner
def _take(c, j, i, n, gpus):
    """Write the i-th entry of where a job runs next."""
    k = c.jobs[j].offset + i
    c.entries[k].next, c.entries[k].next_gpus = n, gpus
    return i + 1


@inner
def _best_fit(c, j, g):
    """`best_fit`: write idle GPUs of a model for a job; False for none."""
    gang, first, last = c.jobs[j].gang, c.models[g].first, c.models[g].last
    best = -1
    if gang >= c.models[g].fails:
        return False
    for n in range(first, last):
        free = c.servers[n].free
        if free >= gang and (best < 0 or free < c.servers[best].free):
            best = n
    if best >= 0:
        c.jobs[j].next_length = _take(c, j, 0, best, gang)
        return True
    each = next_size(c, g, gang, False)
    while each > 0:
        whole, rest, idle, best = gang // each, gang % each, 0, -1
        for n in range(first, last):
            if c.servers[n].gpus == each:
                free = c.servers[n].free
                idle += free == each
                if 0 < rest <= free < each and (best < 0 or free < c.servers[best].free):
                    best = n
        if idle >= whole + (rest > 0) or (best >= 0 and idle >= whole):
            i = 0
            for n in range(first, last):
                if c.servers[n].gpus == each and c.servers[n].free == each:
                    if i < whole:
                        i = _take(c, j, i, n, each)
                    elif rest > 0 and best < 0:
                        best = n
            if rest > 0:
                i = _take(c, j, i, best, rest)
            c.jobs[j].next_length = i
            return True
        each = next_size(c, g, each, False)
    c.models[g].fails = gang  # room only shrinks, and wider gangs find none either
    return False


@inner
def _idle_place(c, j):
    """Where a job finds room; False for nowhere."""
    if _at_old_place(c, j):
        c.jobs[j].next_length = c.jobs[j].run_length
        for k in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].run_length):
            c.entries[k].next, c.entries[k].next_gpus = c.entries[k].run, c.entries[k].run_gpus
        return True
    wide = 0  # gangs that find no room on any model
    for g in range(c.models.size):
        wide = max(wide, c.models[g].fails)
    if c.jobs[j].gang >= wide:
        return False
    known, before, newest = is_known(c, j), np.inf, c.models.size
    while True:
        best, most = -1, -np.inf
        for g in range(c.models.size):
            if c.able[j, g]:
                rate = as_compared(rate_of(c, j, g, known), FINE)
                left = rate < before or (rate == before and g < newest)
                if left and rate >= most:
                    best, most = g, rate
        if best < 0:
            return False
        if _best_fit(c, j, best):
            return True
        before, newest = most, best


@compiled
def _use_idle(c):
    """Section 3.3, work conservation: on-demand migration to GPUs that would idle."""
    idle, every, widest = 0, 2 * c.models.size + ALL, 0
    for n in range(c.servers.size):
        idle += c.servers[n].free
    if idle == 0:
        return
    for u in range(c.users.size):
        c.users[u].used = 0
    for i in range(c.count[ACTIVE]):
        j = c.lists[every, i]
        if c.jobs[j].busy:
            c.users[c.jobs[j].user].used += c.jobs[j].gang
        else:
            widest = max(widest, c.jobs[j].gang)
    if widest == 0:
        return
    queue_jobs(c, False)
    for g in range(c.models.size):
        c.models[g].fails = idle + 1
    users = with_queue(c)
    while idle > 0 and users > 0:
        at = next_user(c, users)
        u = c.users[at].short
        j = c.users[u].head
        while j >= 0 and not _idle_place(c, j):  # nor will it later: room only shrinks
            j = c.jobs[j].behind
        c.users[u].head = c.jobs[j].behind if j >= 0 else -1
        if c.users[u].head < 0:
            users = _drop_user(c, at, users)
        if j < 0:
            continue
        c.jobs[j].busy = True
        c.users[u].used += c.jobs[j].gang
        idle -= c.jobs[j].gang
        for k in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].next_length):
            c.servers[c.entries[k].next].free -= c.entries[k].next_gpus


@inner
def _stays(c, j):
    """Whether a job runs next where it runs."""
    length = c.jobs[j].run_length
    if c.jobs[j].next_length != length:
        return False
    for k in range(c.jobs[j].offset, c.jobs[j].offset + length):
        found = False
        for i in range(c.jobs[j].offset, c.jobs[j].offset + length):
            same = c.entries[i].run == c.entries[k].next
            found = found or (same and c.entries[i].run_gpus == c.entries[k].next_gpus)
        if not found:
            return False
    return True


@inner
def write_decision(c):
    """Write who stops, and who starts where, as `WrittenStarts` has it; then it runs there."""
    models = c.models.size
    every, stop, start = 2 * models + ALL, 2 * models + STOP, 2 * models + START
    stops = starts = 0
    for i in range(c.count[ACTIVE]):
        j = c.lists[every, i]
        if not c.jobs[j].busy:
            c.jobs[j].next_length = 0
        runs = c.jobs[j].run_length > 0
        if (runs or c.jobs[j].next_length > 0) and not _stays(c, j):
            if runs:
                c.lists[stop, stops] = j
                stops += 1
            if c.jobs[j].next_length > 0:
                c.lists[start, starts] = j
                starts += 1
        c.jobs[j].run_length = c.jobs[j].next_length
        for k in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].next_length):
            c.entries[k].run, c.entries[k].run_gpus = c.entries[k].next, c.entries[k].next_gpus
    sort_jobs(c, stop, stops)
    sort_jobs(c, start, starts)
    for i in range(stops):
        c.out[i] = c.lists[stop, i]
    at = stops
    for i in range(starts):
        j = c.lists[start, i]
        c.out[at], c.out[at + 1], c.out[at + 2], c.out[at + 3] = j, -1, 0, 0
        c.out[at + 4] = c.jobs[j].run_length
        at += 5
        for k in range(c.jobs[j].offset, c.jobs[j].offset + c.jobs[j].run_length):
            c.out[at], c.out[at + 1] = c.servers[c.entries[k].run].node, c.entries[k].run_gpus
            at += 2
    c.count[STOPS], c.count[STARTS], c.count[LENGTH] = stops, starts, at
