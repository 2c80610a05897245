"""Who is where and what users own, as machine code; `PlainSharing` in tests reads easier.

The steps of a decision are in :mod:`gangsched.solvers.gandiva_fair.sharing_steps`. Nodes are
numbered model after model. A job has three places, entry after entry from its `offset` on: its
home, where it runs, and where it is to run next. Numbers are compared and added up in the same
order as in plain Python, so that decisions are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...instances.arrays import Floats, Ints
from ...instances.compiled import compiled, inner
from ...instances.model import FULL_SPEED
from .stride_core import StrideOptions

if TYPE_CHECKING:
    from .limits import SharingLimits

# as in sharing and stride: compiled code keeps its own globals
LEAST_SHARE, MEMORY, FINE, STEPS = 1e-3, 10, 1e9, 1e6
INT, FLOAT = np.int64, np.float64


def _record(ints: str, floats: str, *more: tuple[str, Any]) -> np.dtype[Any]:
    fields = [*((n, INT) for n in ints.split()), *((n, FLOAT) for n in floats.split()), *more]
    return np.dtype(fields, align=True)


JOB = _record(
    "user gang rank kind home offset home_length run_length next_length stamp behind place arrival "
    "server", "weight value turn", ("busy", np.bool_),
)  # fmt: skip
ENTRY = _record("home home_gpus run run_gpus next next_gpus", "")
SERVER = _record("gpus model node asked jobs arrival free mark", "value last load")
#: of users also room to work in
USER = _record("asked short used head", "quota worth owned tickets price stride")
MODEL = _record("first last narrow wide fails", "gpus central")
#: counters; lists of jobs after those of each model, narrow and wide
MOST, ACTIVE, STAMP, NEW, STOPS, LENGTH, STARTS = range(7)
ALL, STOP, START, RUNS = range(4)
#: of limits
THRESHOLD, GAIN = range(2)


class SharingCore(NamedTuple):
    """All that is known, who is where, and room to work in."""

    count: Ints  # type: ignore[assignment]  # not tuple.count
    limits: Floats
    options: StrideOptions
    jobs: NDArray[Any]
    able: NDArray[np.bool_]  # (jobs, models)
    entries: NDArray[Any]
    servers: NDArray[Any]
    held: Ints  # (nodes, users)
    small: Ints  # the same of jobs of one node
    users: NDArray[Any]
    models: NDArray[Any]
    demand: Ints  # (models, users)
    shares: Floats  # (users, models)
    mean: Floats  # (kinds, models)
    times: Ints  # the same: measurements
    lists: Ints  # of jobs, a row each
    base: Floats  # (models, users): tickets
    out: Ints  # a decision: who stops, and `WrittenStarts`


def new_core(
    sizes: Sequence[Sequence[int]],
    nodes: Sequence[Sequence[int]],
    quota: Floats,
    limits: SharingLimits,
) -> SharingCore:
    """Return a cluster to which nobody has come."""
    models, users = len(sizes), quota.size
    flat = [gpus for own in sizes for gpus in own]
    core = SharingCore(
        count=np.array([limits.most, 0, 0, 0, 0, 0, 0], dtype=INT),
        limits=np.array([limits.threshold, limits.gain], dtype=FLOAT),
        options=StrideOptions(limits.debt_cap, limits.normalised, limits.literal),
        jobs=np.zeros(0, JOB), able=np.zeros((0, models), np.bool_), entries=np.zeros(0, ENTRY),
        servers=np.zeros(len(flat), SERVER), held=np.zeros((len(flat), users), INT),
        small=np.zeros((len(flat), users), INT), users=np.zeros(users, USER),
        models=np.zeros(models, MODEL), demand=np.zeros((models, users), INT),
        shares=np.zeros((users, models)), mean=np.zeros((0, models)),
        times=np.zeros((0, models), INT), lists=np.zeros((2 * models + 4, 0), INT),
        base=np.zeros((models, users)), out=np.zeros(8 * sum(flat), INT),
    )  # fmt: skip
    core.servers["gpus"], core.servers["node"] = flat, [n for own in nodes for n in own]
    core.servers["model"] = np.repeat(np.arange(models), [len(own) for own in sizes])
    last = np.cumsum([len(own) for own in sizes])
    core.models["last"], core.models["first"] = last, last - [len(own) for own in sizes]
    core.models["gpus"] = [sum(own) for own in sizes]
    core.users["quota"] = quota
    return new_jobs(core, 64)


def new_jobs(core: SharingCore, size: int) -> SharingCore:
    """Return room for jobs (and kinds of them) up to this number, with what was there."""
    grown: dict[str, Any] = {}
    for name in ("jobs", "able", "mean", "times"):
        old = getattr(core, name)
        grown[name] = np.zeros((size, *old.shape[1:]), old.dtype)
        grown[name][: len(old)] = old
    grown["jobs"]["home"][len(core.jobs) :] = -1
    lists = np.zeros((len(core.lists), size), INT)
    lists[:, : core.lists.shape[1]] = core.lists
    return core._replace(lists=lists, **grown)


def new_entries(core: SharingCore, size: int) -> SharingCore:
    """Return room for so many entries."""
    entries = np.zeros(size, ENTRY)
    entries[: core.entries.size] = core.entries
    return core._replace(entries=entries)


# --- tickets --------------------------------------------------------------------------------------


@inner
def as_compared(value, steps):
    """A value in whole steps, so that what differs by rounding is equal."""
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
def set_tickets(c, g, user, more):
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
def set_prices(c, g, user, more):
    """Tickets per GPU, equation (1)."""
    set_tickets(c, g, user, more)
    for u in range(c.users.size):
        asked = c.users[u].asked
        c.users[u].price = c.users[u].tickets / asked if asked > 0 else 0.0


@inner
def set_strides(c, g):
    """Set the users' strides on model g by their prices."""
    set_prices(c, g, 0, 0)
    for u in range(c.users.size):
        price = c.users[u].price
        c.users[u].stride = 1.0 / price if price > 0 else 0.0


@inner
def set_loads(c, g):
    """Tickets per GPU of each node, equation (2), by prices per GPU."""
    for n in range(c.models[g].first, c.models[g].last):
        total = 0.0
        for u in range(c.users.size):
            total += c.held[n, u] * c.users[u].price
        c.servers[n].load = total / c.servers[n].gpus


# --- homes ----------------------------------------------------------------------------------------


@inner
def _least_central(c, g):
    """Least pass of nodes with jobs, and of jobs of several nodes."""
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
def enter_home(c, j, now, arrival):
    """Let a job take turns on its new nodes."""
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
def leave_home(c, j):
    """Take a job from its nodes."""
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
    """Whether a node comes before another in `packed`."""
    a, b = as_compared(c.servers[n].load, STEPS), as_compared(c.servers[m].load, STEPS)
    if a != b:
        return a < b
    left = c.servers[n].gpus - c.servers[n].asked - min(gang, c.servers[n].gpus)
    other = c.servers[m].gpus - c.servers[m].asked - min(gang, c.servers[m].gpus)
    if (left < 0) != (other < 0):
        return other < 0
    return max(left, 0) < max(other, 0)


@inner
def next_size(c, g, size, above):
    """The nearest size of a model's nodes above this one, or below it; 0 for none."""
    found = 0
    for n in range(c.models[g].first, c.models[g].last):
        gpus = c.servers[n].gpus
        if (above and gpus > size and (found == 0 or gpus < found)) or (
            not above and found < gpus < size
        ):
            found = gpus
    return found


@inner
def write_home(c, j, g, beside):
    """`packed`: write the nodes of a new home; by load alone if it need not be `beside` others."""
    gang, k = c.jobs[j].gang, c.jobs[j].offset
    first, last = c.models[g].first, c.models[g].last
    best, single = -1, False
    for n in range(first, last):
        left = c.servers[n].gpus - c.servers[n].asked
        single = single or c.servers[n].gpus >= gang
        if (
            beside
            and left >= gang
            and (best < 0 or left < c.servers[best].gpus - c.servers[best].asked)
        ):
            best = n
    each, count = 0, 1
    while best < 0 and not single:
        each = next_size(c, g, each, True)
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
def find_home(c, j, g, now):
    """Algorithm 2, lines 8 to 11."""
    set_prices(c, g, c.jobs[j].user, c.jobs[j].gang)
    set_loads(c, g)
    write_home(c, j, g, not c.options.literal)
    enter_home(c, j, now, now)


# --- speeds ---------------------------------------------------------------------------------------


@inner
def known_speed(c, kind, g):
    """What is known of a speed, or nan."""
    return as_compared(c.mean[kind, g], FINE) / FINE if c.times[kind, g] > 0 else np.nan


@inner
def rate_of(c, j, g, known):
    """How fast a job is on a model; 1 where not all is known."""
    return known_speed(c, c.jobs[j].kind, g) if known else 1.0


@inner
def is_known(c, j):
    """Whether a job's speed is known wherever it can run."""
    unknown = False
    for g in range(c.models.size):
        unknown = unknown or (c.able[j, g] and c.times[c.jobs[j].kind, g] == 0)
    return not unknown


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
            total[u, g] += gang * (np.nan if bound else known_speed(c, c.jobs[j].kind, g))
    for u in range(c.users.size):
        for g in range(models):
            if demand[u] > 0:
                total[u, g] = as_compared(total[u, g] / demand[u], FINE) / FINE
            else:
                total[u, g] = np.nan


# --- a round --------------------------------------------------------------------------------------


@inner
def sort_jobs(c, row, n):
    """Numbers of jobs that rise, but for few."""
    for i in range(1, n):
        j, k = c.lists[row, i], i
        while k > 0 and c.lists[row, k - 1] > j:
            c.lists[row, k] = c.lists[row, k - 1]
            k -= 1
        c.lists[row, k] = j


@compiled
def meet(c, new, user, gang, rank, weight, kind, able, end, smallest, most):
    """Take note of new jobs, whose entries begin at `end`; returns where they end.

    Columns are of all jobs, but kinds and models of these. If there is no room nothing is noted.
    """
    last = end
    for j in new:
        last += min(-(-gang[j] // smallest), most)
    if last > c.entries.size:
        return last
    for i in range(new.size):
        j = new[i]
        c.jobs[j].user, c.jobs[j].gang, c.jobs[j].rank = user[j], gang[j], rank[j]
        c.jobs[j].kind, c.jobs[j].offset, c.jobs[j].weight = kind[i], end, weight[j]
        for g in range(c.models.size):
            c.able[j, g] = able[i, g] > 0
        end += min(-(-gang[j] // smallest), most)
    return last


@compiled
def open_round(c, waiting, running, ran, speed):
    """Forget jobs that have ended, profile those that `ran`, count tickets."""
    models = c.models.size
    row, gone = 2 * models + ALL, 2 * models + STOP
    stamp, new = c.count[STAMP] + 1, 0
    for u in range(c.users.size):
        c.users[u].asked, c.users[u].owned = 0, c.users[u].quota
    for i in range(waiting.size + running.size):
        j = waiting[i] if i < waiting.size else running[i - waiting.size]
        c.lists[row, i] = j
        c.jobs[j].stamp = stamp
        new += c.jobs[j].home < 0
        c.users[c.jobs[j].user].asked += c.jobs[j].gang
    c.count[STAMP], c.count[NEW], c.count[ACTIVE] = stamp, new, waiting.size + running.size
    ended, housed = 0, 0
    for g in range(2 * models):
        housed += c.models[g].narrow if g < models else c.models[g - models].wide
    if housed + new > c.count[ACTIVE]:
        for g in range(2 * models):
            for i in range(c.models[g].narrow if g < models else c.models[g - models].wide):
                j = c.lists[g, i]
                if c.jobs[j].stamp != stamp:
                    c.lists[gone, ended] = j
                    ended += 1
    sort_jobs(c, gone, ended)
    for i in range(ended):
        leave_home(c, c.lists[gone, i])
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
    _by_demand(c.users, gpus)
    for u in range(c.users.size):
        c.users[u].worth = c.users[u].tickets
        if models == 1:
            c.shares[u, 0] = c.users[u].worth


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
            set_strides(c, g)
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
