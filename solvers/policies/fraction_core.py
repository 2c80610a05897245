"""Compiled search of :mod:`gangsched.solvers.policies.fraction_programs`.

A job i may use the GPUs y of the polytope { y >= 0, sum_g y_g <= s_i, sum_g p_ig y_g >= a_i }. At
each corner of it one or two models are used: all s_i GPUs of one model; as many of one as the need
a_i takes; or s_i of two, so that the need is just met. In weights of the corners v the program is

    max  sum_v worth_v lambda_v
    s.t. sum_{v of i} lambda_v           = 1    for each job i
         sum_v y_vg lambda_v + f_g - e_g = N_g  for each model g   [price_g]

with f_g GPUs left and e_g GPUs too many: where the least sum_g e_g, the first phase, is above 0
there is no solution. The simplex method for it needs to invert no more than models x models numbers
in each step: every job has a key corner, which has what is left of 1, and as many columns as there
are models stand beside them, each a corner less its job's key (generalised upper bounding).

Source: G. B. Dantzig, R. M. Van Slyke, "Generalized upper bounding techniques", Journal of Computer
and System Sciences 1(3), 1967.

Rule of the steps, which settles ties: each job begins at its corner of the largest worth less what
its GPUs cost, ties to the first, by the order of :func:`corners_of`. These prices are 0 and then,
model by model and in a few rounds, about the least at which no more GPUs are wanted than there are.
The column of the largest gain enters, ties to the first, free GPUs after corners; of those that
could leave, each by no more than `BELOW` too late, the one with the largest pivot, ties to the
first. Numbers tie where they differ by no more than a trillionth, `SAME`, of what they are made of,
so that rounding settles hardly any tie. After many steps without a gain the first column that gains
anything enters, and the first that can leaves (Bland's rule, against circles). Where rounding keeps
it from its end all the same, as it can where needs differ by nine orders of magnitude, that is
said.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...instances.compiled import compiled, inner

#: rounds of prices to begin with, at most, and steps of bisection for each
ROUNDS, HALVINGS = 16, 10
#: by what prices fall in bisection until one is too low, and a change of them that is none
FALL, NEAR = 64.0, 0.1
#: gains and pivots, relative to what they are the sum of, that are none
NO_GAIN, NO_PIVOT = 1e-10, 1e-9
#: relative differences, and steps, that are none
SAME = 1e-12
#: by how much a share may be below 0 for a larger pivot
BELOW = 1e-9
#: GPUs too many, relative to all there are
OVER = 1e-11
#: steps of no length in a row for each model until Bland's rule holds
PATIENCE = 20
#: steps at most for each job and model, and bounds at most of Newton's method, which needs a few
STEPS, BOUNDS = 100, 60
#: what may be missing of a need
MISSING = 1e-9


class Corners(NamedTuple):
    """Corners of all jobs, job by job.

    GPUs used (corners, models), the same by model, job and worth (corners,); GPUs there are
    (models,); and what a corner is worth at the prices in hand (corners,).
    """

    used: Any
    by_model: Any
    owner: Any
    worth: Any
    room: Any
    net: Any


class KeyedBasis(NamedTuple):
    """Key corners (jobs,) and what they have, columns beside them (models,), and what these have.

    Columns from the number of corners on are f_g, and then e_g.
    """

    key: Any
    share: Any
    beside: Any
    value: Any
    price: Any
    inverse: Any
    square: Any
    column: Any
    pivot: Any


@inner
def corners_of(per: Any, limit: float, need: float, used: Any) -> int:
    """Write a job's corners; return how many. By model, and of each: all, enough, and both."""
    count, best = 0, np.argmax(per)
    for g in range(per.size):
        full = per[g] * limit
        enough = full >= need * (1 - SAME) or g == best
        if full > 0 and enough:
            used[count] = 0.0
            used[count, g] = limit
            count += 1
        if full > need * (1 + SAME):
            used[count] = 0.0
            used[count, g] = need / per[g]
            count += 1
        for h in range(per.size):
            if full > 0 and not enough and per[h] * limit > need * (1 + SAME):
                used[count] = 0.0
                used[count, h] = (need - full) / (per[h] - per[g])
                used[count, g] = limit - used[count, h]
                count += 1
    return count


@inner
def _begin(corners: Corners, price: Any, key: Any) -> None:
    """Choose a key for each job, by prices at which about as many GPUs are wanted as there are."""
    price[:] = 0.0
    moved = True
    for _ in range(ROUNDS):
        if not moved:
            break
        moved = False
        for g in range(price.size):
            before, low, high = price[g], 0.0, 0.0
            price[g] = 0.0
            _price(corners, price, 1.0)
            for v in range(corners.worth.size):
                if corners.by_model[g, v] > 0:
                    high = max(high, corners.worth[v] / corners.by_model[g, v])
            if _wanted(g, 0.0, corners, key) <= corners.room[g]:
                continue
            for _ in range(HALVINGS):
                middle = math.sqrt(low * high) if low > 0 else high / FALL
                if _wanted(g, middle, corners, key) > corners.room[g]:
                    low = middle
                else:
                    high = middle
            price[g] = high
            moved |= abs(high - before) > NEAR * high
            _wanted(g, high, corners, key)


@inner
def _price(corners: Corners, price: Any, weight: float) -> None:
    """Note what corners are worth at these prices, with so much of their own worth."""
    for v in range(corners.net.size):
        corners.net[v] = weight * corners.worth[v]
    for g in range(price.size):
        of, by = corners.by_model[g], price[g]
        for v in range(corners.net.size):
            corners.net[v] -= by * of[v]


@inner
def _wanted(g: int, price: float, corners: Corners, key: Any) -> float:
    """GPUs of model g at the corners that are worth most at this price, which become the keys."""
    owner, worth, net, of = corners.owner, corners.worth, corners.net, corners.by_model[g]
    total, v = 0.0, 0
    while v < owner.size:
        i, best = owner[v], v
        most = net[v] - price * of[v]
        v += 1
        while v < owner.size and owner[v] == i:
            value = net[v] - price * of[v]
            if value > most + SAME * worth[v]:
                best, most = v, value
            v += 1
        key[i] = best
        total += of[best]
    return total


@inner
def _write(v: int, corners: Corners, basis: KeyedBasis) -> None:
    """The column of v, in GPUs of each model."""
    used, column = corners.used, basis.column
    free, models = v - corners.owner.size, column.size
    if free < 0:
        key = basis.key[corners.owner[v]]
        for g in range(models):
            column[g] = used[v, g] - used[key, g]
    else:
        column[:] = 0.0
        column[free % models] = 1.0 if free < models else -1.0


@inner
def _invert(square: Any, inverse: Any) -> bool:
    """Gauss and Jordan's elimination; false where the matrix has no inverse."""
    size = square.shape[0]
    inverse[:] = 0.0
    for c in range(size):
        inverse[c, c] = 1.0
    for c in range(size):
        largest = c
        for r in range(c + 1, size):
            if abs(square[r, c]) > abs(square[largest, c]):
                largest = r
        if square[largest, c] == 0:
            return False
        for k in range(size):
            square[c, k], square[largest, k] = square[largest, k], square[c, k]
            inverse[c, k], inverse[largest, k] = inverse[largest, k], inverse[c, k]
        by = square[c, c]
        for k in range(size):
            square[c, k] /= by
            inverse[c, k] /= by
        for r in range(size):
            by = square[r, c]
            if r != c and by != 0:
                for k in range(size):
                    square[r, k] -= by * square[c, k]
                    inverse[r, k] -= by * inverse[c, k]
    return True


@inner
def _solve(corners: Corners, basis: KeyedBasis, serve: bool) -> float:
    """Values and prices of a basis; return the GPUs too many, -1 where it is none.

    The prices of the first phase where `serve`.
    """
    owner, worth, room = corners.owner, corners.worth, corners.room
    models, size = room.size, owner.size
    for k in range(models):
        _write(basis.beside[k], corners, basis)
        for g in range(models):
            basis.square[g, k] = basis.column[g]
    if not _invert(basis.square, basis.inverse):
        return -1.0
    left = basis.column
    for g in range(models):
        left[g] = room[g]
    for key in basis.key:
        for g in range(models):
            left[g] -= corners.used[key, g]
    over = 0.0
    basis.price[:] = 0.0
    basis.share[:] = 1.0
    for k in range(models):
        v, value, gain = basis.beside[k], 0.0, 0.0
        for g in range(models):
            value += basis.inverse[k, g] * left[g]
        basis.value[k] = value
        if v < size:
            basis.share[owner[v]] -= value
            gain = 0.0 if serve else worth[v] - worth[basis.key[owner[v]]]
        elif v >= size + models:
            over += value
            gain = -1.0
        for g in range(models):
            basis.price[g] += gain * basis.inverse[k, g]
    return max(over, 0.0)


@inner
def _entering(corners: Corners, basis: KeyedBasis, serve: bool, first: bool) -> int:
    """The column of the largest gain, or the first that has any; -1 where there is none."""
    owner, net, price = corners.owner, corners.net, basis.price
    weight, most, found = 0.0 if serve else 1.0, 0.0, -1
    _price(corners, price, weight)
    for v in range(owner.size):
        key = basis.key[owner[v]]
        gain = net[v] - net[key]
        if gain > most:
            size = _size(v, corners, price, weight) + _size(key, corners, price, weight)
            if gain > max(NO_GAIN * size, most + SAME * size):
                most, found = gain, v
                if first:
                    return found
    for g in range(price.size):
        if -price[g] > max(most, NO_GAIN):
            most, found = -price[g], owner.size + g
            if first:
                return int(found)
    return found


@inner
def _size(v: int, corners: Corners, price: Any, weight: float) -> float:
    """How large the numbers are of which what a corner is worth is the difference."""
    size = weight * corners.worth[v]
    for g in range(price.size):
        size += abs(price[g]) * corners.used[v, g]
    return float(size)


@inner
def _change(basis: KeyedBasis) -> None:
    """How fast what stands beside the keys falls as a column enters."""
    for k in range(basis.beside.size):
        size = basis.pivot[k] = 0.0
        for g in range(basis.beside.size):
            part = basis.inverse[k, g] * basis.column[g]
            basis.pivot[k] += part
            size += abs(part)
        if abs(basis.pivot[k]) <= NO_PIVOT * size:
            basis.pivot[k] = 0.0


@inner
def _falling(
    k: int, entering: int, corners: Corners, basis: KeyedBasis
) -> tuple[int, int, float, float]:
    """A column that may leave, its number, how fast it falls, and its value.

    Of k below the number of models one beside the keys; of others the key of the job of one, or of
    the entering column; rate 0 where there is none.
    """
    models, owner = basis.beside.size, corners.owner
    if k < models:
        return k, basis.beside[k], basis.pivot[k], max(basis.value[k], 0.0)
    of = entering if k == 2 * models else basis.beside[k - models]
    if of >= owner.size:
        return -1, -1, 0.0, 0.0
    i = owner[of]
    rate = 1.0 if entering < owner.size and owner[entering] == i else 0.0
    for c in range(models):
        if basis.beside[c] < owner.size and owner[basis.beside[c]] == i:
            rate -= basis.pivot[c]
    return models + i, basis.key[i], rate, max(basis.share[i], 0.0)


@inner
def _leaving(entering: int, corners: Corners, basis: KeyedBasis, first: bool) -> tuple[int, float]:
    """What reaches 0 first: a place beside the keys, or, from the models on, a job; and when.

    Of all that would fall below 0 by no more than `BELOW` the one with the largest pivot.
    """
    last = 2 * basis.beside.size + 1
    limit, largest, number, found, step = np.inf, 0.0, 0, -1, 0.0
    for k in range(last):
        _, _, rate, value = _falling(k, entering, corners, basis)
        if rate > NO_PIVOT:
            limit = min(limit, (value + BELOW) / rate)
    for k in range(last):
        out, v, rate, value = _falling(k, entering, corners, basis)
        better = found < 0 or (v < number if first else rate > largest * (1 + SAME))
        if better and rate > NO_PIVOT and value <= limit * rate:
            largest, number, found, step = rate, v, out, value / rate
    return found, step


@inner
def _exchange(entering: int, leaving: int, corners: Corners, basis: KeyedBasis) -> None:
    """Let a column enter for another one; a key that leaves is followed by one of its job."""
    models, owner = basis.beside.size, corners.owner
    if leaving < models:
        basis.beside[leaving] = entering
        return
    i = leaving - models
    for k in range(models):
        if basis.beside[k] < owner.size and owner[basis.beside[k]] == i:
            basis.key[i], basis.beside[k] = basis.beside[k], entering
            return
    basis.key[i] = entering


@inner
def _phase(corners: Corners, basis: KeyedBasis, serve: bool, enough: float) -> float:
    """Go from basis to basis until no column gains; return the GPUs too many, -1 if it is stuck.

    The first phase, `serve`, ends where there are `enough` GPUs.
    """
    idle = 0
    for _ in range(STEPS * (basis.key.size + basis.beside.size)):
        over = _solve(corners, basis, serve)
        if over < 0 or (serve and over <= enough):
            return float(over)
        first = idle > PATIENCE * basis.beside.size
        entering = _entering(corners, basis, serve, first)
        if entering < 0:
            return float(over)
        _write(entering, corners, basis)
        _change(basis)
        leaving, step = _leaving(entering, corners, basis, first)
        if leaving < 0:
            return -1.0
        idle = idle + 1 if step <= SAME else 0
        _exchange(entering, leaving, corners, basis)
    return -1.0


@compiled
def best_use(per: Any, limit: Any, needs: Any, room: Any) -> tuple[Any, Any, float]:
    """GPUs y of jobs on models with the largest sum of throughputs over needs; prices; too many.

    Where GPUs are too few for the needs, the prices prove it: what the needs cost at least is more
    than all GPUs are worth. -1 GPUs too many where the method is stuck.
    """
    jobs, models = per.shape
    most = 2 * models + models * models // 4
    room = room.copy()
    used, owner = np.empty((jobs * most, models)), np.empty(jobs * most, np.int64)
    worth, size = np.empty(jobs * most), 0
    for i in range(jobs):
        first, size = size, size + corners_of(per[i], limit[i], needs[i], used[size:])
        for v in range(first, size):
            owner[v], worth[v] = i, 0.0
            for g in range(models):
                worth[v] += per[i, g] * used[v, g] / needs[i]
    used = used[:size]
    corners = Corners(used, used.T.copy(), owner[:size], worth[:size], room, np.empty(size))
    key, beside, left = np.empty(jobs, np.int64), np.arange(size, size + models), room.copy()
    basis = KeyedBasis(
        key, np.empty(jobs), beside, np.empty(models), np.empty(models),
        np.empty((models, models)), np.empty((models, models)), np.empty(models), np.empty(models),
    )  # fmt: skip
    _begin(corners, basis.price, key)
    for i in range(jobs):
        left -= used[key[i]]
    beside[left < 0] += models
    enough = OVER * room.sum()
    over = _phase(corners, basis, True, enough)
    price = basis.price.copy()
    if 0 <= over <= enough:
        for k in range(models):
            if beside[k] >= size + models:  # almost 0: counted as there, which leaves none free
                room[beside[k] - size - models] += basis.value[k]
                beside[k] -= models
        over = _phase(corners, basis, False, enough)
    y = used[key]
    for k in range(models):
        v = beside[k]
        if v < size:
            y[owner[v]] += basis.value[k] * (used[v] - used[key[owner[v]]])
    return y, price, over


@inner
def _root(
    per: Any, limit: Any, left: Any, since: Any, whole: Any, price: Any, worth: float,
    low: float, used: Any,
) -> float:  # fmt: skip
    """The least bound above `low` at which needs cost no more than what all GPUs are worth."""
    high = 2 * low
    while _needs_cost(per, limit, left, since, whole, price, high, used) > worth:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            return high
        if _needs_cost(per, limit, left, since, whole, price, middle, used) > worth:
            low = middle
        else:
            high = middle


@inner
def _needs_cost(
    per: Any, limit: Any, left: Any, since: Any, whole: Any, price: Any, bound: float, used: Any
) -> float:
    """What the needs of a bound cost at least."""
    total = 0.0
    for i in range(left.size):
        least, need = np.inf, left[i] / (bound * whole[i] - since[i])
        for v in range(corners_of(per[i], limit[i], need, used)):
            cost = 0.0
            for g in range(price.size):
                cost += price[g] * used[v, g]
            least = min(least, cost)
        total += least
    return total


@inner
def _make_up(per: Any, needs: Any, y: Any) -> None:
    """Give jobs what rounding has taken of their needs, on their fastest models."""
    for i in range(needs.size):
        missing = needs[i]
        for g in range(per.shape[1]):
            y[i, g] = max(y[i, g], 0.0)
            missing -= per[i, g] * y[i, g]
        if missing > MISSING * needs[i]:
            fastest = np.argmax(per[i])
            y[i, fastest] += missing / per[i, fastest]


@compiled
def fairest_use(
    per: Any, limit: Any, room: Any, left: Any, since: Any, whole: Any
) -> tuple[Any, float]:
    """GPUs of jobs on models with the least max_i (since_i + left_i / throughput_i) / whole_i.

    And that bound, -1 where the method is stuck. Newton's method: where the GPUs are too few for
    the needs of a bound, the next one is that at which their prices do not say so.
    """
    jobs, models = per.shape
    quickest, bound = np.empty(jobs), 0.0
    for i in range(jobs):
        quickest[i] = left[i] / (per[i].max() * limit[i])
        bound = max(bound, (since[i] + quickest[i]) / whole[i])
    used = np.empty((2 * models + models * models // 4, models))
    y = np.empty((jobs, models))
    for _ in range(BOUNDS):
        needs = left / np.maximum(bound * whole - since, quickest)
        y, price, over = best_use(per, limit, needs, room)
        if over < 0:
            break
        if over <= OVER * room.sum():
            _make_up(per, needs, y)
            return y, bound
        worth = (price * room).sum()
        root = _root(per, limit, left, since, whole, price, worth, bound, used)
        bound = max(root, bound * (1 + SAME))
    return y, -1.0
