"""HiveD: cells of the users' quotas and of nodes, as :mod:`.policy` says.

GPU number p is GPU p % g of node p // g, of nodes with g GPUs; so are the GPUs of the quotas' top
cells, each of which stands at a multiple of g. A free cell is written down where it begins, by its
size. Rows of the machine's memory:

- UNBOUND, IDLE: free cells of nodes that no top cell is bound to, and those that are not lent
- QUOTA: free cells of the top cells, those of one user side by side
- LENT: the job that runs on each GPU without being guaranteed it, or -1
- PLACE, WITHIN, TOP: by top cell, where it is bound (-1: nowhere), jobs' cells in it, its size
- FIRST: by user, its first top cell, and the number of all
- PHYSICAL, VIRTUAL: by entry of a job, where its cells begin, in nodes and in the quota (-1: lent)
- USED, PASSED: in this decision by user, its GPUs, and the least gang that is not tried any more
- HOLDERS: how many jobs hold cells; they stand in the list GROUP, job j at `turn` since `tier`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....instances.compiled import inlined, inner, tiered
from ...machine import const
from ...machine.machine import (
    Machine,
    begin_run,
    give_old,
    interrupt,
    less,
    open_round,
    pop,
    push,
    put,
    set_key,
    sort_list,
    speed_on_new,
    take_new,
)
from .buddy_cells import quota_cells

UNBOUND, IDLE, QUOTA, LENT, PLACE, WITHIN, TOP, FIRST, PHYSICAL, VIRTUAL = range(10)
USED, PASSED, HOLDERS = range(10, 13)
#: lists of this rule: who holds cells, and of this decision who lost them in this walk, who is
#: killed and who starts
HOLDING, GONE, KILLED, STARTED = const.GROUP, const.LOSERS, const.PICKED, const.STARTED


def with_cells(machine: Machine, _: Any) -> Machine:
    """Return the machine with memory for cells, which are all free."""
    users = machine.users.size
    node, gpus = int(machine.nodes["size"][0]), int(machine.nodes["size"].sum())
    tops = [quota_cells(int(quota), node) for quota in machine.numbers[:users].tolist()]
    sizes = np.array([size for own in tops for size in own], dtype=np.int64)
    columns = max(gpus, node * sizes.size, users + 1, machine.entries.size)
    memory = np.zeros((13, columns), dtype=np.int64)
    memory[UNBOUND, :gpus:node] = memory[IDLE, :gpus:node] = node
    memory[QUOTA, : node * sizes.size : node] = memory[TOP, : sizes.size] = sizes
    memory[[LENT, PLACE]] = -1
    memory[FIRST, 1 : users + 1] = np.cumsum([len(own) for own in tops])
    return machine._replace(memory=memory)


# --- free cells, as buddy_cells.Buddies -----------------------------------------------------------


@inner
def _node(m):
    return m.nodes[0].size


@inner
def _smallest(m, row, first, last, size):
    """Where the first of the smallest free cells of at least this size begins, or -1."""
    least, at, p = const.NONE, -1, first
    while p < last:
        own = m.memory[row, p]
        if size <= own < least:
            least, at = own, p
            if own == size:
                break
        p += max(1, own)
    return at


@inner
def _around(m, row, p, size):
    """Where the free cell begins that contains this one; -1 where part of it is taken."""
    length = _node(m)
    while length >= size:
        at = p - p % length
        if m.memory[row, at] == length:
            return at
        length //= 2
    return -1


@inner
def _take(m, row, p, size):
    """Take a free cell: the one around it is split in halves, as often as necessary."""
    at = _around(m, row, p, size)
    length = m.memory[row, at]
    m.memory[row, at] = 0
    while length > size:
        length //= 2
        m.memory[row, (p // length ^ 1) * length] = length


@inner
def _give(m, row, p, size, root):
    """Give a cell of a root of this size back."""
    while size < root:
        buddy = (p // size ^ 1) * size
        if m.memory[row, buddy] != size:
            break
        m.memory[row, buddy] = 0
        size *= 2
        p -= p % size
    m.memory[row, p] = size


# --- the cells of a job ---------------------------------------------------------------------------


@inner
def _cells(m, j):
    """How many cells the gang of j takes."""
    return max(1, -(-m.jobs[j].gpus // _node(m)))


@inner
def _cell_size(m, j):
    """The size of each of them."""
    size = 1
    while size < min(m.jobs[j].gpus, _node(m)):
        size *= 2
    return size


@inner
def _take_cells(m, row, first, last, j, into):
    """Take cells for j, the smallest free ones that are large enough; False if there are none."""
    number, size, at = _cells(m, j), _cell_size(m, j), m.jobs[j].offset
    if number > 1:
        whole = 0
        for p in range(first, last, size):
            whole += m.memory[row, p] == size
        if whole < number:
            return False
    for k in range(number):
        p = _smallest(m, row, first, last, size)
        if p < 0:
            return False
        _take(m, row, p, size)
        m.memory[into, at + k] = p
    return True


@inner
def _hold(m, j):
    """Note that j holds cells from now on."""
    n = m.memory[HOLDERS, 0]
    m.jobs[j].turn, m.jobs[j].tier = n, m.count[const.NOW]
    m.memory[HOLDERS, 0] = put(m, HOLDING, n, j)


@inner
def _set_lent(m, p, size, j):
    for i in range(p, p + size):
        m.memory[LENT, i] = j


@inner
def _bind(m, top, place):
    """Let a top cell stand for free GPUs."""
    _take(m, UNBOUND, place, m.memory[TOP, top])
    _take(m, IDLE, place, m.memory[TOP, top])
    m.memory[PLACE, top], m.memory[WITHIN, top] = place, 0


@inner
def _release(m, j):
    """Take back what j holds."""
    size, at, node = _cell_size(m, j), m.jobs[j].offset, _node(m)
    for k in range(at, at + _cells(m, j)):
        p = m.memory[VIRTUAL, k]
        if m.memory[VIRTUAL, at] < 0:
            _give(m, IDLE, m.memory[PHYSICAL, k], size, node)
            _set_lent(m, m.memory[PHYSICAL, k], size, -1)
            continue
        top = p // node
        _give(m, QUOTA, p, size, m.memory[TOP, top])
        m.memory[WITHIN, top] -= 1
        if m.memory[WITHIN, top] == 0:
            _give(m, UNBOUND, m.memory[PLACE, top], m.memory[TOP, top], node)
            _give(m, IDLE, m.memory[PLACE, top], m.memory[TOP, top], node)
            m.memory[PLACE, top] = -1
    m.memory[HOLDERS, 0] -= 1
    last = m.lists[HOLDING, m.memory[HOLDERS, 0]]
    m.lists[HOLDING, m.jobs[j].turn] = last
    m.jobs[last].turn = m.jobs[j].turn


@inner
def _lent_there(m, p, size):
    """How many GPUs of a cell are lent, and since when the first of their jobs has them."""
    lent, first = 0, const.NONE
    for i in range(p, p + size):
        j = m.memory[LENT, i]
        if j >= 0:
            lent += 1
            first = min(first, m.jobs[j].tier)
    return lent, first


@inner
def _least_lent(m, size):
    """The cell to bind, in the smallest free ones: fewest lent GPUs, then latest start."""
    found = m.memory[UNBOUND, _smallest(m, UNBOUND, 0, m.count[const.TOTAL], size)]
    best, least, latest = -1, const.NONE, -1
    for at in range(0, m.count[const.TOTAL], found):
        if m.memory[UNBOUND, at] != found:
            continue
        for p in range(at, at + found, size):
            lent, first = _lent_there(m, p, size)
            if lent < least or (lent == least and lent > 0 and first > latest):
                best, least, latest = p, lent, first
    return best


@inner
def _call_in(m, place, size, gone):
    """Release the jobs that run on lent GPUs there; returns how many have lost theirs by now."""
    for i in range(place, place + size):
        j = m.memory[LENT, i]
        if j >= 0:
            _release(m, j)
            gone = put(m, GONE, gone, j)
            m.memory[USED, m.jobs[j].user] -= m.jobs[j].gpus
    return gone


@inner
def _guarantee(m, j, gone):
    """Give j cells of its user's quota, if they are free: (whether, how many have lost theirs)."""
    u, node, at = m.jobs[j].user, _node(m), m.jobs[j].offset
    first, last = node * m.memory[FIRST, u], node * m.memory[FIRST, u + 1]
    if not _take_cells(m, QUOTA, first, last, j, VIRTUAL):
        return False, gone
    for k in range(at, at + _cells(m, j)):
        p = m.memory[VIRTUAL, k]
        top = p // node
        if m.memory[PLACE, top] < 0:
            place = _least_lent(m, m.memory[TOP, top])
            gone = _call_in(m, place, m.memory[TOP, top], gone)
            _bind(m, top, place)
        m.memory[WITHIN, top] += 1
        m.memory[PHYSICAL, k] = m.memory[PLACE, top] + p % node
    _hold(m, j)
    return True, gone


@inner
def _lend(m, j):
    """Give j idle cells of nodes; False if there are none."""
    if not _take_cells(m, IDLE, 0, m.count[const.TOTAL], j, PHYSICAL):
        return False
    size, at = _cell_size(m, j), m.jobs[j].offset
    for k in range(at, at + _cells(m, j)):
        m.memory[VIRTUAL, k] = -1
        _set_lent(m, m.memory[PHYSICAL, k], size, j)
    _hold(m, j)
    return True


@inner
def _is_bindable(m, place, size, j):
    """Whether :func:`_guarantee` could have bound a top cell there, but for j."""
    around = _around(m, UNBOUND, place, size)
    if around < 0:
        return False
    for i in range(place, place + size):
        if m.memory[LENT, i] >= 0 and m.memory[LENT, i] != j:
            return False
    least = _smallest(m, UNBOUND, 0, m.count[const.TOTAL], size)
    return m.memory[UNBOUND, around] == m.memory[UNBOUND, least]


@inner
def _secure(m, j):
    """Let free top cells of its user's quota stand for the lent cells of j, if they can."""
    u, number, size, at = m.jobs[j].user, _cells(m, j), _cell_size(m, j), m.jobs[j].offset
    least, roots = const.NONE, 0
    for top in range(m.memory[FIRST, u], m.memory[FIRST, u + 1]):
        if m.memory[PLACE, top] < 0 and m.memory[TOP, top] >= size:
            if m.memory[TOP, top] < least:
                least, roots = m.memory[TOP, top], 0
            roots += m.memory[TOP, top] == least
    if roots < number:
        return False
    for k in range(at, at + number):
        p = m.memory[PHYSICAL, k]
        if not _is_bindable(m, p - p % least, least, j):
            return False
    top = m.memory[FIRST, u]
    for k in range(at, at + number):
        while m.memory[PLACE, top] >= 0 or m.memory[TOP, top] != least:
            top += 1
        p = m.memory[PHYSICAL, k]
        _give(m, IDLE, p, size, _node(m))
        _set_lent(m, p, size, -1)
        _bind(m, top, p - p % least)
        m.memory[WITHIN, top] += 1
        m.memory[VIRTUAL, k] = top * _node(m) + p % least
        _take(m, QUOTA, m.memory[VIRTUAL, k], size)
    return True


# --- a decision -----------------------------------------------------------------------------------


@inner
def _first_class(m):
    """The gang class whose first job is tried next, or -1."""
    best = -1
    for g in range(m.gangs.size):
        if m.gangs[g].heap_length == 0 or m.gangs[g].size >= m.memory[PASSED, m.gangs[g].user]:
            continue
        if best < 0 or less(
            m, m.lists[const.HEAP, m.gangs[g].heap_at], m.lists[const.HEAP, m.gangs[best].heap_at]
        ):
            best = g
    return best


@inlined
def _walk(m, started):
    """Go along the queues once: (how many start, how many borrowers lost their cells)."""
    gone = 0
    for u in range(m.users.size):
        m.memory[PASSED, u] = const.NONE
    g = _first_class(m)
    while g >= 0:
        j, u, gang = m.lists[const.HEAP, m.gangs[g].heap_at], m.gangs[g].user, m.gangs[g].size
        fits, gone = _guarantee(m, j, gone)
        if not fits and m.memory[USED, u] + gang <= m.numbers[m.users.size + u]:
            fits = _lend(m, j)
        if fits:
            pop(m, g)
            started = put(m, STARTED, started, j)
            m.jobs[j].mark = const.CHOSEN
            m.memory[USED, u] += gang
        else:
            m.memory[PASSED, u] = 0 if m.params[const.BLOCKING] else gang
        g = _first_class(m)
    return started, gone


@inner
def _unstart(m, started, j):
    """Take j out of those that start; returns how many are left."""
    i = 0
    while m.lists[STARTED, i] != j:
        i += 1
    m.lists[STARTED, i] = m.lists[STARTED, started - 1]
    m.jobs[j].mark = const.NOT_CANDIDATE
    return started - 1


@inlined
def _secure_all(m, killed):
    """Let all borrowers that can have cells of their own, by rank, until none can any more."""
    sort_list(m, const.RUNNERS, m.count[const.RUNS], True)
    lent = 0
    for i in range(m.count[const.RUNS]):
        j = m.lists[const.RUNNERS, i]
        m.jobs[j].place_in = i
        stays = m.memory[VIRTUAL, m.jobs[j].offset] < 0
        for k in range(killed):
            stays = stays and m.lists[KILLED, k] != j
        if stays:
            lent = put(m, const.REST, lent, j)
    before = -1
    while lent != before:
        before, lent = lent, 0
        for i in range(before):
            j = m.lists[const.REST, i]
            if not _secure(m, j):
                lent = put(m, const.REST, lent, j)


@inlined
def _carry_out(m, killed, started):
    """Kill and start, each by number."""
    sort_list(m, KILLED, killed, False)
    sort_list(m, STARTED, started, False)
    for i in range(killed):
        give_old(m, m.lists[KILLED, i])
    for i in range(started):
        j = m.lists[STARTED, i]
        size, at, left = _cell_size(m, j), m.jobs[j].offset, m.jobs[j].gpus
        m.jobs[j].new_length = _cells(m, j)
        for k in range(at, at + m.jobs[j].new_length):
            m.entries[k].new_node = m.memory[PHYSICAL, k] // _node(m)
            m.entries[k].new_part = min(left, size)
            left -= size
        take_new(m, j)
    for i in range(killed):
        interrupt(m, m.lists[KILLED, i], const.KILL, False)
    for i in range(started):
        j = m.lists[STARTED, i]
        m.jobs[j].mark = const.NOT_CANDIDATE
        begin_run(m, j, m.jobs[j].gpus, speed_on_new(m, j))


@inlined
def _decide_by_cells(m):
    i = 0
    while i < m.memory[HOLDERS, 0]:
        if m.jobs[m.lists[HOLDING, i]].phase == const.RUNNING:
            i += 1
        else:
            _release(m, m.lists[HOLDING, i])
    for u in range(m.users.size):
        m.memory[USED, u] = m.users[u].rate
    started = killed = 0
    while True:
        started, gone = _walk(m, started)
        for i in range(gone):
            j = m.lists[GONE, i]
            if m.jobs[j].mark == const.CHOSEN:
                started = _unstart(m, started, j)
            else:
                killed = put(m, KILLED, killed, j)
                set_key(m, j, m.count[const.NOW])
            push(m, j)
        if gone == 0:
            break
    _secure_all(m, killed)
    _carry_out(m, killed, started)


@tiered(seconds=5, most=const.MANY_NUMBERS)
def advance_by_cells(m, until, most):
    """As :func:`.keyed.advance_by_key`, for HiveD."""
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return why
        if why == const.READY:
            _decide_by_cells(m)
    return const.MORE
