"""Compiled :class:`gangsched.solvers.gandiva_fair.sharing.PlainSharing`: its steps, under its names.

Servers are numbered model after model. A job has three places, entry after entry from its `offset`
on: its home, where it runs, and where it is to run next. Numbers are compared and added up in the
same order as there, so that decisions are the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.model import FULL_SPEED
from ..compiled import compiled, inner
from .stride_core import Jobs, Servers, StrideOptions, Wide, look
from .stride_core import quantum as stride_quantum

__all__ = [
    "Core",
    "decide",
    "new_core",
    "new_entries",
    "new_jobs",
    "open_round",
    "own",
    "user_speeds",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
# as in sharing and stride: compiled code keeps its own globals
LEAST_SHARE, MEMORY, FINE, STEPS, TURNS = 1e-3, 10, 1e9, 1e6, 1 - 1e-9
INT, FLOAT = np.int64, np.float64


def _record(ints: str, floats: str, *more: tuple[str, Any]) -> np.dtype[Any]:
    fields = [*((n, INT) for n in ints.split()), *((n, FLOAT) for n in floats.split()), *more]
    return np.dtype(fields, align=True)


JOB = _record(
    "user gang rank kind home offset home_length run_length next_length stamp behind place arrival "
    "server", "weight value turn", ("busy", np.bool_),
)  # fmt: skip
ENTRY = _record("home home_gpus run run_gpus next next_gpus", "")
SERVER = _record("gpus model asked jobs arrival free mark", "value last load")
#: of users also room to work in
USER = _record("asked short used head", "quota worth owned tickets price stride")
MODEL = _record("first last narrow wide fails", "gpus central")
#: counters; lists of jobs after those of each model, narrow and wide
MOST, ACTIVE, STAMP, STOPS, STARTS = range(5)
ALL, STOP, START, RUNS = range(4)
#: of limits
THRESHOLD, GAIN = range(2)


class Core(NamedTuple):
    """All that is known, who is where, and room to work in."""

    count: Ints  # type: ignore[assignment]  # not tuple.count
    limits: Floats
    options: StrideOptions
    jobs: NDArray[Any]
    able: NDArray[np.bool_]  # (jobs, models)
    entries: NDArray[Any]
    servers: NDArray[Any]
    held: Ints  # (servers, users)
    small: Ints  # the same of jobs of one server
    users: NDArray[Any]
    models: NDArray[Any]
    demand: Ints  # (models, users)
    shares: Floats  # (users, models)
    mean: Floats  # (kinds, models)
    times: Ints  # the same: measurements
    lists: Ints  # of jobs, a row each
    base: Floats  # (models, users)


def new_core(
    sizes: list[list[int]], quota: Floats, limits: tuple[float, float], most: int,
    options: StrideOptions,
) -> Core:  # fmt: skip
    """Return a cluster to which nobody has come."""
    models, users = len(sizes), quota.size
    flat = [gpus for own in sizes for gpus in own]
    core = Core(
        count=np.array([most, 0, 0, 0, 0], dtype=INT), limits=np.array(limits), options=options,
        jobs=np.zeros(0, JOB), able=np.zeros((0, models), np.bool_), entries=np.zeros(0, ENTRY),
        servers=np.zeros(len(flat), SERVER), held=np.zeros((len(flat), users), INT),
        small=np.zeros((len(flat), users), INT), users=np.zeros(users, USER),
        models=np.zeros(models, MODEL), demand=np.zeros((models, users), INT),
        shares=np.zeros((users, models)), mean=np.zeros((0, models)),
        times=np.zeros((0, models), INT), lists=np.zeros((2 * models + 4, 0), INT),
        base=np.zeros((models, users)),
    )  # fmt: skip
    core.servers["gpus"] = flat
    core.servers["model"] = np.repeat(np.arange(models), [len(own) for own in sizes])
    last = np.cumsum([len(own) for own in sizes])
    core.models["last"], core.models["first"] = last, last - [len(own) for own in sizes]
    core.models["gpus"] = [sum(own) for own in sizes]
    core.users["quota"] = quota
    return new_jobs(core, 64)


def new_jobs(core: Core, size: int) -> Core:
    """Return room for jobs (and kinds of them) up to this number, with what was there."""
    grown = {}
    for name in ("jobs", "able", "mean", "times"):
        old = getattr(core, name)
        grown[name] = np.zeros((size, *old.shape[1:]), old.dtype)
        grown[name][: len(old)] = old
    grown["jobs"]["home"][len(core.jobs) :] = -1
    lists = np.zeros((len(core.lists), size), INT)
    lists[:, : core.lists.shape[1]] = core.lists
    return core._replace(lists=lists, **grown)


def new_entries(core: Core, size: int) -> Core:
    """Return room for so many entries."""
    entries = np.zeros(size, ENTRY)
    entries[: core.entries.size] = core.entries
    return core._replace(entries=entries)


# --- tickets --------------------------------------------------------------------------------------


@inner
def _turn(value, steps):
    return np.floor(value * steps + 0.5)


@inner
def _by_demand(users, gpus):
    """`tickets_by_demand`: from what users own and ask for, their tickets."""
    asked, n = 0, 0
    for u in range(users.size):
        users[u].tickets = users[u].asked
        if users[u].asked > 0:
            asked += users[u].asked
            users[n].short = u
            n += 1
    if asked <= gpus:
        return
    room, total, level, before = gpus, 0.0, 0.0, 0
    for i in range(n):
        total += users[users[i].short].owned
    while n != before:
        level, before, left = room / total, n, 0
        for i in range(before):
            u = users[i].short
            if users[u].asked <= level * users[u].owned:
                room -= users[u].asked
                total -= users[u].owned
            else:
                users[left].short = u
                left += 1
        n = left
    for i in range(n):
        u = users[i].short
        users[u].tickets = level * users[u].owned


@inner
def _tickets(c, g, user, more):
    """Effective tickets on a model, where a user asks for `more` GPUs."""
    for u in range(c.users.size):
        c.users[u].asked = c.demand[g, u]
    c.users[user].asked += more
    if c.models.size == 1:
        for u in range(c.users.size):
            c.users[u].tickets = c.shares[u, 0] if c.users[u].asked > 0 else 0.0
        return
    for u in range(c.users.size):
        c.users[u].owned = max(c.shares[u, g], LEAST_SHARE)
    _by_demand(c.users, c.models[g].gpus)


@inner
def _per_gpu(c, g, user, more):
    """Tickets per GPU, equation (1)."""
    _tickets(c, g, user, more)
    for u in range(c.users.size):
        asked = c.users[u].asked
        c.users[u].price = c.users[u].tickets / asked if asked > 0 else 0.0


@inner
def _strides(c, g):
    _per_gpu(c, g, 0, 0)
    for u in range(c.users.size):
        price = c.users[u].price
        c.users[u].stride = 1.0 / price if price > 0 else 0.0


@inner
def _loads(c, g):
    """Tickets per GPU of each server, equation (2), by prices per GPU."""
    for n in range(c.models[g].first, c.models[g].last):
        total = 0.0
        for u in range(c.users.size):
            total += c.held[n, u] * c.users[u].price
        c.servers[n].load = total / c.servers[n].gpus


# --- homes ----------------------------------------------------------------------------------------


@inner
def _least_central(c, g):
    """Least pass of servers with jobs, and of jobs of several servers."""
    least, found = 0.0, False
    for n in range(c.models[g].first, c.models[g].last):
        if c.servers[n].jobs > 0 and not (found and c.servers[n].value >= least):
            least, found = c.servers[n].value, True
    for i in range(c.models[g].wide):
        value = c.jobs[c.lists[c.models.size + g, i]].value
        if not (found and value >= least):
            least, found = value, True
    return least if found else c.models[g].central


@inner
def _count(c, j, sign):
    """Count what a job asks for at home."""
    u, length = c.jobs[j].user, c.jobs[j].home_length
    for k in range(c.jobs[j].offset, c.jobs[j].offset + length):
        n, gpus = c.entries[k].home, sign * c.entries[k].home_gpus
        c.held[n, u] += gpus
        c.servers[n].asked += gpus
        c.demand[c.servers[n].model, u] += gpus
        if length == 1:
            c.small[n, u] += gpus


@inner
def _enter(c, j, now, arrival):
    """Let a job take turns on its new servers."""
    _count(c, j, 1)
    n = c.entries[c.jobs[j].offset].home
    g = c.servers[n].model
    c.jobs[j].home, c.jobs[j].arrival = g, arrival
    if c.jobs[j].home_length > 1:
        c.jobs[j].value = _least_central(c, g)
        row, k = c.models.size + g, c.models[g].wide
        while k > 0 and c.lists[row, k - 1] > j:
            c.lists[row, k] = c.lists[row, k - 1]
            k -= 1
        c.lists[row, k] = j
        c.models[g].wide += 1
        return
    server = n - c.models[g].first
    if c.servers[n].jobs > 0:
        least, found = 0.0, False
        for i in range(c.models[g].narrow):
            other = c.lists[g, i]
            value = c.jobs[other].value
            if c.jobs[other].server == server and not (found and value >= least):
                least, found = value, True
        c.jobs[j].value = least
    else:
        c.jobs[j].value = c.servers[n].last
        c.servers[n].value, c.servers[n].arrival = _least_central(c, g), now
    c.servers[n].jobs += 1
    c.jobs[j].server, c.jobs[j].place = server, c.models[g].narrow
    c.lists[g, c.models[g].narrow] = j
    c.models[g].narrow += 1


@inner
def _leave(c, j):
    """Take a job from its servers."""
    g, value = c.jobs[j].home, c.jobs[j].value
    if c.jobs[j].home_length > 1:
        row, k = c.models.size + g, 0
        while c.lists[row, k] != j:
            k += 1
        c.models[g].wide -= 1
        for i in range(k, c.models[g].wide):
            c.lists[row, i] = c.lists[row, i + 1]
    else:
        n = c.entries[c.jobs[j].offset].home
        c.models[g].narrow -= 1
        other = c.lists[g, c.models[g].narrow]
        c.lists[g, c.jobs[j].place] = other
        c.jobs[other].place = c.jobs[j].place
        c.servers[n].jobs -= 1
        if c.servers[n].jobs == 0:
            c.servers[n].last, value = value, c.servers[n].value
    if c.models[g].narrow == 0 and c.models[g].wide == 0:
        c.models[g].central = value
    _count(c, j, -1)
    c.jobs[j].home = -1


@inner
def _before(c, n, m, gang):
    """Whether a server comes before another in `packed`."""
    a, b = _turn(c.servers[n].load, STEPS), _turn(c.servers[m].load, STEPS)
    if a != b:
        return a < b
    left = c.servers[n].gpus - c.servers[n].asked - min(gang, c.servers[n].gpus)
    other = c.servers[m].gpus - c.servers[m].asked - min(gang, c.servers[m].gpus)
    if (left < 0) != (other < 0):
        return other < 0
    return max(left, 0) < max(other, 0)


@inner
def _next_size(c, g, size):
    """The smallest size of a model's servers above this one; 0 for none."""
    found = 0
    for n in range(c.models[g].first, c.models[g].last):
        gpus = c.servers[n].gpus
        if gpus > size and (found == 0 or gpus < found):
            found = gpus
    return found


@inner
def _smaller_size(c, g, size):
    """The largest size of a model's servers below this one; 0 for none."""
    found = 0
    for n in range(c.models[g].first, c.models[g].last):
        gpus = c.servers[n].gpus
        if found < gpus < size:
            found = gpus
    return found


@inner
def _packed(c, j, g):
    """`packed`: write the servers of a new home."""
    gang, k = c.jobs[j].gang, c.jobs[j].offset
    first, last = c.models[g].first, c.models[g].last
    best, single = -1, False
    for n in range(first, last):
        left = c.servers[n].gpus - c.servers[n].asked
        single = single or c.servers[n].gpus >= gang
        if left >= gang and (best < 0 or left < c.servers[best].gpus - c.servers[best].asked):
            best = n
    each, count = 0, 1
    while best < 0 and not single:
        each = _next_size(c, g, each)
        count, there = -(-gang // each), 0
        for n in range(first, last):
            there += c.servers[n].gpus == each
        if there >= count:
            break
    for n in range(first, last):
        c.servers[n].mark = 0
    rest, last = gang, last if best < 0 else first
    for i in range(count):
        found = best
        for n in range(first, last):
            able = c.servers[n].gpus == each if each > 0 else c.servers[n].gpus >= gang
            if able and c.servers[n].mark == 0 and (found < 0 or _before(c, n, found, gang)):
                found = n
        c.servers[found].mark = 1
        c.entries[k + i].home = found
        c.entries[k + i].home_gpus = min(rest, c.servers[found].gpus)
        rest -= c.entries[k + i].home_gpus
    c.jobs[j].home_length = count


@inner
def _add(c, j, g, now):
    """Algorithm 2, lines 8 to 11."""
    _per_gpu(c, g, c.jobs[j].user, c.jobs[j].gang)
    _loads(c, g)
    _packed(c, j, g)
    _enter(c, j, now, now)


# --- speeds ---------------------------------------------------------------------------------------


@inner
def _speed(c, kind, g):
    """What is known of a speed, or nan."""
    return _turn(c.mean[kind, g], FINE) / FINE if c.times[kind, g] > 0 else np.nan


@inner
def _rate(c, j, g, known):
    """How fast a job is on a model; 1 where not all is known."""
    return _speed(c, c.jobs[j].kind, g) if known else 1.0


@inner
def _is_known(c, j):
    """Whether a job's speed is known wherever it can run."""
    for g in range(c.models.size):
        if c.able[j, g] and c.times[c.jobs[j].kind, g] == 0:
            return False
    return True


@compiled
def user_speeds(c, total, demand):
    """Each user's mean speeds on the models, and its demand."""
    models = c.models.size
    for i in range(c.count[ACTIVE]):
        j = c.lists[2 * models + ALL, i]
        u, gang, bound = c.jobs[j].user, c.jobs[j].gang, False
        demand[u] += gang
        for g in range(models):
            bound = bound or not c.able[j, g]
        for g in range(models):
            total[u, g] += gang * (np.nan if bound else _speed(c, c.jobs[j].kind, g))
    for u in range(c.users.size):
        for g in range(models):
            if demand[u] > 0:
                total[u, g] = _turn(total[u, g] / demand[u], FINE) / FINE
            else:
                total[u, g] = np.nan


# --- a round --------------------------------------------------------------------------------------


@inner
def _sort(c, row, n):
    """Numbers of jobs that rise, but for few."""
    for i in range(1, n):
        j, k = c.lists[row, i], i
        while k > 0 and c.lists[row, k - 1] > j:
            c.lists[row, k] = c.lists[row, k - 1]
            k -= 1
        c.lists[row, k] = j


@compiled
def open_round(c, waiting, running, ran, speed):
    """Forget jobs that have ended, profile those that `ran`, count tickets."""
    models = c.models.size
    row, gone = 2 * models + ALL, 2 * models + STOP
    c.count[STAMP] += 1
    for i in range(waiting.size + running.size):
        j = waiting[i] if i < waiting.size else running[i - waiting.size]
        c.lists[row, i] = j
        c.jobs[j].stamp = c.count[STAMP]
    c.count[ACTIVE] = waiting.size + running.size
    ended = 0
    for g in range(2 * models):
        for i in range(c.models[g].narrow if g < models else c.models[g - models].wide):
            j = c.lists[g, i]
            if c.jobs[j].stamp != c.count[STAMP]:
                c.lists[gone, ended] = j
                ended += 1
    _sort(c, gone, ended)
    for i in range(ended):
        _leave(c, c.lists[gone, i])
        c.jobs[c.lists[gone, i]].run_length = 0
    for i in range(ran.size):
        j = ran[i]
        kind, g = c.jobs[j].kind, c.servers[c.entries[c.jobs[j].offset].run].model
        one = speed[i] / FULL_SPEED
        if c.times[kind, g] == 0:
            c.mean[kind, g] = one
        c.times[kind, g] = min(c.times[kind, g] + 1, MEMORY)
        c.mean[kind, g] += (one - c.mean[kind, g]) / c.times[kind, g]
    gpus = 0.0
    for g in range(models):
        gpus += c.models[g].gpus
    for u in range(c.users.size):
        c.users[u].asked, c.users[u].owned = 0, c.users[u].quota
    for i in range(c.count[ACTIVE]):
        j = c.lists[row, i]
        c.users[c.jobs[j].user].asked += c.jobs[j].gang
    _by_demand(c.users, gpus)
    for u in range(c.users.size):
        c.users[u].worth = c.users[u].tickets


@compiled
def own(c, shares):
    """Let users own these GPUs of each model (`PlainSharing.set_shares`)."""
    changed = False
    for u in range(c.users.size):
        for g in range(c.models.size):
            changed = changed or c.shares[u, g] != shares[u, g]
            c.shares[u, g] = shares[u, g]
    if changed and c.models.size > 1:
        for g in range(c.models.size):
            _strides(c, g)
            _forgive(c, g)


@inner
def _forgive(c, g):
    """`StridePool.forgive`: nobody owes more than a stride."""
    normalised = c.options.normalised
    first, last = c.models[g].first, c.models[g].last
    for n in range(first, last):
        c.servers[n].load = np.inf  # the least pass of its jobs
    for i in range(c.models[g].narrow):
        j = c.lists[g, i]
        n = first + c.jobs[j].server
        c.servers[n].load = min(c.servers[n].load, c.jobs[j].value)
    for i in range(c.models[g].narrow):
        j = c.lists[g, i]
        stride = c.users[c.jobs[j].user].stride / (1 if normalised else c.jobs[j].gang)
        most = c.servers[first + c.jobs[j].server].load + stride
        c.jobs[j].value = min(c.jobs[j].value, most)
    central = _least_central(c, g)
    for i in range(c.models[g].wide):
        j = c.lists[c.models.size + g, i]
        stride = c.users[c.jobs[j].user].stride / (1 if normalised else c.jobs[j].gang)
        c.jobs[j].value = min(c.jobs[j].value, central + stride)
    for n in range(first, last):
        if c.servers[n].jobs == 0:
            continue
        asked, tickets = 0, 0.0
        for u in range(c.users.size):
            if c.small[n, u] > 0:
                asked += c.small[n, u]
                tickets += c.small[n, u] / c.users[u].stride
        gang = min(asked, c.servers[n].gpus) if normalised else 1
        c.servers[n].value = min(c.servers[n].value, central + gang / tickets)


# --- the steps of a decision ----------------------------------------------------------------------


@compiled
def decide(c, now, part, begins):
    """`PlainSharing.decide`: write who stops and who starts."""
    _allocate(c, now)
    if begins:
        if c.models.size > 1:
            _between_models(c, now)
        for g in range(c.models.size):
            _balance(c, g, now)
    _take_turns(c, part, begins)
    _use_idle(c)
    _write(c)


@inner
def _queue(c, unhoused):
    """Queues of each user's jobs that have no home, or that do not run next."""
    for u in range(c.users.size):
        c.users[u].head = -1
    row = 2 * c.models.size + ALL
    for i in range(c.count[ACTIVE] - 1, -1, -1):
        j = c.lists[row, i]
        if c.jobs[j].home < 0 if unhoused else not c.jobs[j].busy:
            c.jobs[j].behind = c.users[c.jobs[j].user].head
            c.users[c.jobs[j].user].head = j


@inner
def _unqueue(c, j):
    """Take a job from its user's queue."""
    u = c.jobs[j].user
    if c.users[u].head == j:
        c.users[u].head = c.jobs[j].behind
        return
    other = c.users[u].head
    while c.jobs[other].behind != j:
        other = c.jobs[other].behind
    c.jobs[other].behind = c.jobs[j].behind


@inner
def _next_user(c):
    """The user that has least for its tickets, of those with a queue; -1 for none."""
    best, least = -1, 0.0
    for u in range(c.users.size):
        if c.users[u].head >= 0:
            ratio = c.users[u].used / c.users[u].worth
            if best < 0 or ratio < least:
                best, least = u, ratio
    return best


@inner
def _comes_first(c, j, other, by_place):
    """Whether a job comes before another of its user."""
    if c.jobs[j].weight != c.jobs[other].weight:
        return c.jobs[j].weight > c.jobs[other].weight
    if by_place and (c.jobs[j].run_length > 0) != (c.jobs[other].run_length > 0):
        return c.jobs[j].run_length > 0
    return c.jobs[j].rank < c.jobs[other].rank


@inner
def _allocate(c, now):
    """Algorithm 2: give new jobs their home."""
    _queue(c, True)
    for u in range(c.users.size):
        c.users[u].used = 0
        for g in range(c.models.size):
            c.users[u].used += c.demand[g, u]
    while True:
        u = _next_user(c)  # line 2
        if u < 0:
            return
        best = c.users[u].head
        j = c.jobs[best].behind
        while j >= 0:
            if _comes_first(c, j, best, False):  # line 3
                best = j
            j = c.jobs[j].behind
        _unqueue(c, best)
        _add(c, best, _model_for(c, best), now)
        c.users[u].used += c.jobs[best].gang


@inner
def _model_for(c, j):
    """Algorithm 2, lines 4 to 7."""
    known, best, most = _is_known(c, j), -1, 0.0
    for g in range(c.models.size):
        if c.able[j, g]:
            _per_gpu(c, g, c.jobs[j].user, c.jobs[j].gang)
            value = _turn(_rate(c, j, g, known) * c.users[c.jobs[j].user].price, FINE)
            if best < 0 or value >= most:
                best, most = g, value
    return best


@inner
def _move(c, j, g, now):
    _leave(c, j)
    _add(c, j, g, now)


@compiled
def _between_models(c, now):
    """`_explore`, then `_migrate`."""
    models = c.models.size
    kinds, size = np.empty(c.count[ACTIVE], INT), 0
    for g in range(2 * models):
        for i in range(c.models[g].narrow if g < models else c.models[g - models].wide):
            kinds[size] = c.jobs[c.lists[g, i]].kind
            size += 1
    kinds = np.unique(kinds[:size])
    last = np.empty((kinds.size, models, models), INT)
    _find_last(c, kinds, last)
    moved = _explore(c, kinds, last, now)
    while moved < c.count[MOST]:
        if moved:
            _find_last(c, kinds, last)
        j, g = _best_move(c, kinds, last)
        if j < 0:
            return
        _move(c, j, g, now)
        moved += 1


@inner
def _find_last(c, kinds, last):
    """The last job of each kind at home on a model that can run on another (`_last`)."""
    models = c.models.size
    last[:] = -1
    for g in range(2 * models):
        home = g if g < models else g - models
        for i in range(c.models[home].narrow if g < models else c.models[home].wide):
            j = c.lists[g, i]
            k = np.searchsorted(kinds, c.jobs[j].kind)
            for other in range(models):
                if c.able[j, other]:
                    before = last[k, home, other]
                    if before < 0 or c.jobs[j].rank > c.jobs[before].rank:
                        last[k, home, other] = j


@inner
def _explore(c, kinds, last, now):
    """Section 3.4: one job of each kind that takes turns goes to a model that is not profiled."""
    moved = 0
    for k in range(kinds.size):
        if moved < c.count[MOST] and _explored(c, kinds[k], last[k], now):
            moved += 1
    return moved


@inner
def _explored(c, kind, last, now):
    for g in range(c.models.size - 1, -1, -1):
        for other in range(c.models.size - 1, -1, -1):
            j = last[g, other]
            if j < 0 or last[other, other] >= 0 or c.times[kind, other] > 0:
                continue
            _per_gpu(c, g, 0, 0)
            if c.users[c.jobs[j].user].price < TURNS:
                _move(c, j, other, now)
                return True
    return False


@inner
def _best_move(c, kinds, last):
    """Section 3.5, Migration: which job gains most on which model; -1 for none."""
    for g in range(c.models.size):
        _tickets(c, g, 0, 0)
        for u in range(c.users.size):
            c.base[g, u] = c.users[u].tickets
    best, most, own = -1, -np.inf, 0.0
    target = 0
    for k in range(kinds.size):
        for g in range(c.models.size):
            slow = _speed(c, kinds[k], g)
            for other in range(c.models.size):
                j, fast = last[k, g, other], _speed(c, kinds[k], other)
                if j < 0 or other == g or np.isnan(slow) or np.isnan(fast):
                    continue
                together, alone = _gain(c, j, g, other, slow, fast)
                if alone > _turn(c.limits[GAIN], FINE) and (
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
    _tickets(c, g, u, -gang)
    lost = total - slow * c.users[u].tickets
    _tickets(c, other, u, gang)
    gained = fast * c.users[u].tickets
    after = gained / max(c.users[u].asked, 1)
    gained -= fast * c.base[other, u]
    return _turn(gained - lost, FINE), _turn(after / each, FINE)


@inner
def _balance(c, g, now):
    """Section 3.5, Migration between the servers of a model."""
    first, last = c.models[g].first, c.models[g].last
    for _ in range(c.count[MOST]):
        _per_gpu(c, g, 0, 0)
        _loads(c, g)
        source, target, total = -1, first, 0.0
        for n in range(first, last):
            load = c.servers[n].load
            total += load
            if c.servers[n].asked > c.servers[n].gpus:
                if source < 0 or load > c.servers[source].load:
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
        _leave(c, j)
        c.entries[c.jobs[j].offset].home = target
        _enter(c, j, now, arrival)


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
        after = _turn(
            abs(gap - moved / c.servers[source].gpus - moved / c.servers[target].gpus), STEPS
        )
        if after >= _turn(gap, STEPS):
            continue
        waits = gang > left
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
    """Jobs of several servers, as machine code of strides has them."""
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
def _take_turns(c, part, begins):
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
        _strides(c, g)
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
    each = _smaller_size(c, g, gang)
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
        each = _smaller_size(c, g, each)
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
    known, before, newest = _is_known(c, j), np.inf, c.models.size
    while True:
        best, most = -1, -np.inf
        for g in range(c.models.size):
            if c.able[j, g]:
                rate = _turn(_rate(c, j, g, known), FINE)
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
    _queue(c, False)
    for g in range(c.models.size):
        c.models[g].fails = idle + 1
    while idle > 0:
        u = _next_user(c)
        if u < 0:
            return
        best, before, j = -1, -1, c.users[u].head
        while j >= 0:
            behind = c.jobs[j].behind
            if not _idle_place(c, j):  # nor will it later: room only shrinks
                if before < 0:
                    c.users[u].head = behind
                else:
                    c.jobs[before].behind = behind
            else:
                before = j
                if best < 0 or _comes_first(c, j, best, True):
                    best = j
            j = behind
        if best < 0:
            continue
        _unqueue(c, best)
        c.jobs[best].busy = True
        c.users[u].used += c.jobs[best].gang
        idle -= c.jobs[best].gang
        for k in range(c.jobs[best].offset, c.jobs[best].offset + c.jobs[best].next_length):
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
def _write(c):
    """Write who stops and who starts, by number; where each runs next is where it runs."""
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
    _sort(c, stop, stops)
    _sort(c, start, starts)
    c.count[STOPS], c.count[STARTS] = stops, starts
