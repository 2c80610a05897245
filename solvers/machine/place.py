"""Where jobs run: nodes for a gang, and the way from a selection to the next segments."""

from __future__ import annotations

from ...instances.compiled import inlined, inner
from . import const, machine

#: list of those that may get other nodes
LOOSE = const.GROUP

# --- placement, as solvers.placement.place_by_speed -----------------------------------------------


@inner
def place(m, j):
    """Choose nodes for j into its new entries, without taking them."""
    return place_gang(m, j, m.jobs[j].gpus, False)


@inner
def place_gang(m, j, gang, beside):
    """Choose nodes for so many GPUs of j into its new entries, without taking them."""
    m.jobs[j].new_length = 0
    if gang > m.count[const.FREE]:
        return False
    for i in range(m.fastest.shape[1]):
        g = m.fastest[j, i]
        if m.speeds[j, g] == 0:
            return False
        if place_on_model(m, j, gang, g, beside):
            return True
    return False


@inner
def place_on_model(m, j, gang, g, beside):
    """Choose nodes of model g for so many GPUs of j, without taking them.

    With `beside` those of which others want the fewest GPUs, where it has no pods.
    """
    m.jobs[j].new_length = 0
    if m.jobs[j].pod > 0 and gang % m.jobs[j].pod == 0:
        return _place_in_pods(m, j, gang // m.jobs[j].pod, m.jobs[j].pod, g)
    for c in range(m.first_class[g], m.first_class[g + 1]):
        if beside:
            if _place_beside(m, j, gang, c):
                return True
        elif _place_on_class(m, j, gang, c):
            return True
    if m.params[const.SPREAD] and gang <= free_of_model(m, g):
        return _place_in_pods(m, j, gang, 1, g)
    return False


@inner
def free_of_model(m, g):
    """How many GPUs of model g nobody has."""
    free = 0
    for c in range(m.first_class[g], m.first_class[g + 1]):
        for f in range(1, m.class_size[c] + 1):
            free += f * m.level[c, f]
    return free


@inner
def may_fit(m, j):
    """Whether no gang like j or smaller, with the same models to run on, has found no place."""
    return m.jobs[j].gpus < m.least[m.jobs[j].reach]


@inner
def nobody_fits(m, gpus):
    """Whether a gang of so many GPUs or less has found no place, with any models to run on."""
    least = m.least[0]
    for r in range(1, m.least.size):
        least = max(least, m.least[r])
    return least <= gpus


@inner
def note_refusal(m, j):
    """Note that j has found no place."""
    m.least[m.jobs[j].reach] = min(m.least[m.jobs[j].reach], m.jobs[j].gpus)


@inner
def forget_refusals(m):
    """Forget who has found no place."""
    for r in range(m.least.size):
        m.least[r] = const.NONE


@inner
def _place_on_class(m, j, gang, c):
    size = m.class_size[c]
    full, rest = gang // size, gang % size
    if m.level[c, size] < full:
        return False
    best = -1
    if rest:
        above = m.level[c, size] - full
        for f in range(rest, size):
            above += m.level[c, f]
        if above == 0:
            return False
        level = rest  # the least level at which a node is left
        while level < size and m.level[c, level] == 0:
            level += 1
    at, found = m.jobs[j].offset, 0
    for n in range(m.nodes.size):
        if m.nodes[n].kind != c:
            continue
        if found < full and m.nodes[n].free == size:
            m.entries[at + found].new_node, m.entries[at + found].new_part = n, size
            found += 1
        elif rest and best < 0 and m.nodes[n].free == level:
            best = n
        if found == full and (best >= 0 or not rest):
            break
    if rest:
        m.entries[at + found].new_node, m.entries[at + found].new_part = best, rest
        found += 1
    m.jobs[j].new_length = found
    return True


@inner
def _place_in_pods(m, j, pods, pod, g):
    """On the nodes of model g with room for most, but the last pods of j where there is least."""
    at, found, most, room = m.jobs[j].offset, 0, 0, 0
    for n in range(m.nodes.size):
        if m.nodes[n].model == g:
            room += m.nodes[n].free // pod
            most = max(most, m.nodes[n].free // pod)
    if room < pods:
        return False
    for level in range(most, 0, -1):
        for n in range(m.nodes.size):
            if m.nodes[n].model != g or m.nodes[n].free // pod != level:
                continue
            best = n
            for i in range(m.nodes.size if m.jobs[j].pod > 0 and level >= pods else 0):
                if m.nodes[i].model != g or m.nodes[i].free >= m.nodes[best].free:
                    continue
                if m.nodes[i].free // pod >= pods and (m.nodes[i].free // pod < level or i > n):
                    best = i
            part = min(level, pods)
            m.entries[at + found].new_node, m.entries[at + found].new_part = best, part * pod
            found += 1
            pods -= part
            if pods == 0:
                m.jobs[j].new_length = found
                return True
    return False


# --- from a selection to the next segments --------------------------------------------------------


@inner
def is_due(m, j):
    """Whether j has found no place for the patience."""
    since = m.jobs[j].blocked
    return since >= 0 and m.count[const.NOW] - since >= m.params[const.PATIENCE]


@inlined
def _displace(m, j, kept, losers):
    """Room for j among GPUs that jobs later in the selection would keep: (kept, losers)."""
    gone, found = 0, False
    for i in range(kept - 1, -1, -1):
        k = m.lists[const.KEPT, i]
        if m.jobs[k].turn < m.jobs[j].turn:
            break
        machine.give_old(m, k)
        gone += 1
        if place(m, j):
            found = True
            break
    first = kept - gone
    if not found:
        for i in range(first, kept):
            machine.take_old(m, m.lists[const.KEPT, i])
        return kept, losers, False
    machine.take_new(m, j)
    stay = first
    for i in range(first, kept):
        k = m.lists[const.KEPT, i]
        if machine.old_is_free(m, k):
            machine.take_old(m, k)
            stay = machine.put(m, const.KEPT, stay, k)
        else:
            losers = machine.put(m, const.LOSERS, losers, k)
            m.jobs[k].blocked = m.count[const.NOW]  # it is selected, and finds no place
    machine.give_new(m, j)
    return stay, losers, True


# --- nodes anew for all that are selected ---------------------------------------------------------


@inner
def _displaced(m, n, part):
    """GPUs of node n that others want and would not find there, and those that would be spare."""
    spare = m.nodes[n].free - m.lists[const.WANTED, n]
    return max(0, part - spare), spare


@inner
def _is_chosen(m, j, found, n):
    """Whether node n is among the first so many that were chosen for j."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + found):
        if m.entries[k].new_node == n:
            return True
    return False


@inner
def _place_beside(m, j, gang, c):
    """Choose nodes of class c on which others want the fewest GPUs."""
    size = m.class_size[c]
    full, rest = gang // size, gang % size
    if m.level[c, size] < full:
        return False
    at, found = m.jobs[j].offset, 0
    while found < full:
        best = -1
        for n in range(m.nodes.size):
            if m.nodes[n].kind != c or m.nodes[n].free < size or _is_chosen(m, j, found, n):
                continue
            if best < 0 or m.lists[const.WANTED, n] < m.lists[const.WANTED, best]:
                best = n
        m.entries[at + found].new_node, m.entries[at + found].new_part = best, size
        found += 1
    if rest:
        best = -1
        least, most_fit = const.NONE, const.NONE
        for n in range(m.nodes.size):
            if m.nodes[n].kind != c or m.nodes[n].free < rest or _is_chosen(m, j, found, n):
                continue
            displaced, spare = _displaced(m, n, rest)
            if displaced < least or (displaced == least and spare < most_fit):
                best, least, most_fit = n, displaced, spare
        if best < 0:
            return False
        m.entries[at + found].new_node, m.entries[at + found].new_part = best, rest
        found += 1
    m.jobs[j].new_length = found
    return True


@inner
def want_old(m, j, sign):
    """Count the GPUs that j has as wanted, or no longer."""
    for k in range(m.jobs[j].offset, m.jobs[j].offset + m.jobs[j].length):
        m.lists[const.WANTED, m.entries[k].node] += sign * m.entries[k].part


@inner
def _width(m, j):
    return m.jobs[j].held_gpus if m.jobs[j].phase == const.RUNNING else m.jobs[j].gpus


@inner
def _next_width(m, selected, loose, width):
    """The widest selected gang below a width; 0 if there is none."""
    widest = 0
    for i in range(loose):
        own = _width(m, m.lists[LOOSE, i])
        if own < width:
            widest = max(widest, own)
    for i in range(selected):
        own = _width(m, m.lists[const.PICKED, i])
        if own < width:
            widest = max(widest, own)
    return widest


@inlined
def _pack(m, selected, loose):
    """Nodes for selected and loose jobs, the widest first: (started, failed, whether to do so).

    Those that have other nodes than before stand among the started ones.
    """
    for n in range(m.nodes.size):
        m.lists[const.WANTED, n] = 0
    for i in range(loose):
        want_old(m, m.lists[LOOSE, i], 1)
        m.jobs[m.lists[LOOSE, i]].new_length = 0
    started = failed = 0
    fine = True
    width = _next_width(m, selected, loose, const.NONE)
    while width > 0:
        for i in range(loose):
            j = m.lists[LOOSE, i]
            if _width(m, j) == width and machine.old_is_free(m, j):
                machine.keep_old(m, j)
                want_old(m, j, -1)
        for i in range(loose):
            j = m.lists[LOOSE, i]
            if _width(m, j) == width and m.jobs[j].new_length == 0:
                want_old(m, j, -1)
                if not place_gang(m, j, m.jobs[j].gpus, True):
                    return started, failed, False
                machine.take_new(m, j)
                started = machine.put(m, const.STARTED, started, j)
        for i in range(selected):
            j = m.lists[const.PICKED, i]
            if _width(m, j) != width:
                continue
            if place_gang(m, j, m.jobs[j].gpus, True):
                machine.take_new(m, j)
                started = machine.put(m, const.STARTED, started, j)
            else:
                failed = machine.put(m, const.FAILED, failed, j)
                fine = fine and not (m.params[const.PATIENCE] >= 0 and is_due(m, j))
        width = _next_width(m, selected, loose, width)
    return started, failed, fine


@inner
def repack(m, selected, kept, losers):
    """Give nodes to all selected jobs anew: (started, failed, losers, done).

    Losers are then also those that move. Not done where somebody that runs, or is due, would be
    left without nodes: then nothing has changed. Those not narrower than the widest new one
    come before it, and find their own nodes free: only the others are loose.
    """
    for i in range(losers):
        machine.give_old(m, m.lists[const.LOSERS, i])
        m.jobs[m.lists[const.LOSERS, i]].new_length = 0
    widest = loose = 0
    for i in range(selected):
        j = m.lists[const.PICKED, i]
        m.jobs[j].new_length = 0
        widest = max(widest, m.jobs[j].gpus)
    for i in range(kept):
        j = m.lists[const.KEPT, i]
        if _width(m, j) < widest:
            machine.give_old(m, j)
            loose = machine.put(m, LOOSE, loose, j)
    started, failed, done = _pack(m, selected, loose)
    if not done:
        for i in range(loose):
            j = m.lists[LOOSE, i]
            if m.jobs[j].new_length > 0:
                machine.give_new(m, j)
        for i in range(selected):
            j = m.lists[const.PICKED, i]
            if m.jobs[j].new_length > 0:
                machine.give_new(m, j)
        for i in range(loose):
            machine.take_old(m, m.lists[LOOSE, i])
        for i in range(losers):
            machine.take_old(m, m.lists[const.LOSERS, i])
        return 0, 0, losers, False
    for i in range(loose):
        j = m.lists[LOOSE, i]
        if not machine.new_is_old(m, j):
            losers = machine.put(m, const.LOSERS, losers, j)
    for i in range(failed):
        j = m.lists[const.FAILED, i]
        if m.jobs[j].blocked < 0:
            m.jobs[j].blocked = m.count[const.NOW]
    return started, failed, losers, True


@inner
def place_selected(m, selected, kept, losers, expired):
    """Give nodes to the selected waiting jobs: (started, failed, kept, losers)."""
    started = failed = 0
    displacing = m.params[const.PATIENCE] >= 0 and expired
    own = losers
    for i in range(own):
        machine.give_old(m, m.lists[const.LOSERS, i])
        m.jobs[m.lists[const.LOSERS, i]].new_length = 0
    forget_refusals(m)
    for i in range(selected):
        j = m.lists[const.PICKED, i]
        found, displaced = may_fit(m, j) and place(m, j), False
        if not found and displacing and is_due(m, j):
            kept, losers, found = _displace(m, j, kept, losers)
            displaced = found
            for k in range(own, losers):
                m.jobs[m.lists[const.LOSERS, k]].new_length = 0
            forget_refusals(m)
        if found:
            machine.take_new(m, j)
            started = machine.put(m, const.STARTED, started, j)
            if displaced:  # it may have left room for those before it
                before, failed = failed, 0
                for k in range(before):
                    i_before = m.lists[const.FAILED, k]
                    if may_fit(m, i_before) and place(m, i_before):
                        machine.take_new(m, i_before)
                        started = machine.put(m, const.STARTED, started, i_before)
                    else:
                        note_refusal(m, i_before)
                        failed = machine.put(m, const.FAILED, failed, i_before)
            continue
        note_refusal(m, j)
        failed = machine.put(m, const.FAILED, failed, j)
        if expired and m.jobs[j].blocked < 0:
            m.jobs[j].blocked = m.count[const.NOW]
        if m.params[const.BLOCKING]:
            break
    return started, failed, kept, losers


@inner
def backfill(m, j, started):
    """Backfill: its old nodes first, then any place; returns how many have started.

    GPUs are only taken from one to the next, so that refusals stand.
    """
    if m.jobs[j].phase == const.RUNNING and machine.old_is_free(m, j):
        machine.keep_old(m, j)
    elif may_fit(m, j) and place(m, j):
        machine.take_new(m, j)
    else:
        note_refusal(m, j)
        m.jobs[j].new_length = 0
        return started
    m.lists[const.STARTED, started] = j
    return started + 1


@inner
def settle(m, started, kept, losers):
    """Suspension is decided only now: the same nodes as before are a renewal."""
    now = m.count[const.NOW]
    for i in range(losers):
        j = m.lists[const.LOSERS, i]
        if m.jobs[j].new_length == 0 or not machine.new_is_old(m, j):
            machine.interrupt(m, j, const.SUSPEND, m.jobs[j].new_length == 0)
        else:
            m.jobs[j].lease_end = machine.new_lease(m, now)
            m.jobs[j].blocked = -1
    for i in range(started):
        j = m.lists[const.STARTED, i]
        if m.jobs[j].phase == const.WAITING:
            machine.begin_run(m, j, m.jobs[j].gpus, machine.speed_on_new(m, j))
    if m.params[const.PREEMPTS] == const.LEASE:
        for i in range(m.count[const.RUNS]):
            j = m.lists[const.RUNNERS, i]
            if m.jobs[j].lease_end <= now:
                m.jobs[j].lease_end = machine.new_lease(m, now)
