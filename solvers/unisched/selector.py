"""Which options to choose: linear program, rounding with an exact test, and a bound by prices.

Source: the compact form of UniSched's selector (`formulations.unisched_compact`). Steps:

1. By density: options by falling V / (a L), smaller a first among equals, then as they stand. One
   is taken if all that is taken then fits (the prefix test, in integers); an option of a job that
   has one already replaces it if it is worth more.
2. The linear program, of few slots and few jobs. Capacity is looked at after some slots only, and
   then after those that the solution breaks, until it breaks none. Most jobs are clear: at the
   prices of the last cycle, or of the first program, one choice is better than all others of the
   job by far. It is taken for granted until the prices found say otherwise. The simplex method
   begins with the basis of the last cycle, moved by the slots that have passed, or with step 1.
3. Step 1 again, with the options first that the linear program takes in full.
4. Prices: the dual values, one for every row and slot. For any prices p >= 0 nobody gets more than

       sum_k p_k C_k + sum_jobs max(0, max_o V_o - a_o (sum of the L_o smallest p_k, k < Q_o)),

   which is summed in integers. It is an upper bound whatever the solver's tolerances.
5. Where that is more than 0.1 % away, as in short queues of large gangs: steps 1 and 3 again, the
   rest by falling V. The best choice is kept.
6. If asked for: the options that this bound and the value in hand do not exclude go to branch and
   bound, in a process that is stopped when the time is over (`.mip_worker`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...formulations.unisched.compact import Options, checked_capacity, compact, corners
from ...instances.arrays import Bools, Ints
from ..mip_worker import Program, solve_mip
from ..result import Bound, Stop
from .density import by_density, by_value
from .prices import Prices, best_by_job, best_prices, floor_to_step, plain_number, price_bound
from .relaxation import Basis, Relaxation, program_of, relaxed

#: options that the linear program takes so far are taken in full
FULL = 1 - 1e-6
#: a gap up to which nothing else is tried
CLOSE = 1e-3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Selection:
    """What is chosen, and what could be at most.

    Parameters
    ----------
    chosen : (m,) ints
        Positions of options, rising; at most one of a job.
    value : float
        What they are worth together.
    bound : Bound
        What no other choice can exceed, nor any schedule of these options.
    prices : Prices
        From which the bound follows.
    stop : Stop
        PROVEN where value and bound are equal, TIME_LIMIT, or COMPLETED.
    iterations : int
        Of the simplex method.
    rounds : int
        Linear programs.
    """

    chosen: Ints
    value: float
    bound: Bound
    prices: Prices
    stop: Stop
    iterations: int
    rounds: int


class Selector:
    """Chooses options cycle after cycle; each begins where the last one ended.

    Notes
    -----
    Guarantee: what is chosen fits in the sense of the compact form; the bound is proven by prices
    in integers. With `exact` and without a limit the choice is optimal for that form, up to the
    tolerances of HiGHS, and its bound may be a claim of the solver ("branch and bound").

    Examples
    --------
    Two GPUs for one slot and one for two, on one GPU and then two:

    >>> from gangsched.formulations.unisched.compact import Queue, options_of
    >>> queue = Queue(gpus=np.array([2, 1]), work=np.array([600, 1200]), ptr=np.array([0, 1, 2]),
    ...               split_speed=np.array([10**6] * 2), deadline=np.array([1200, 1200]),
    ...               value=np.array([100.0, 80.0]), cost=np.zeros(2, int),
    ...               phase=np.zeros(2, int), kind=np.zeros(2, int))
    >>> selection = Selector().select(options_of(queue, sizes=[2]), [1, 2])
    >>> selection.chosen, selection.value, selection.bound.value
    (array([0]), 100.0, 140)
    """

    def __init__(self) -> None:
        self._basis: Basis | None = None

    def save(self) -> dict[str, Any] | None:
        """Return the basis of the last cycle, as plain data."""
        if self._basis is None:
            return None
        return {part.name: getattr(self._basis, part.name) for part in fields(Basis)}

    def load(self, data: Mapping[str, Any] | None) -> None:
        """Begin with this basis."""
        self._basis = None if data is None else Basis(**{k: np.array(v) for k, v in data.items()})

    def select(
        self,
        options: Options,
        capacity: ArrayLike,
        *,
        keys: ArrayLike | None = None,
        shift: int = 1,
        time_limit: float | None = None,
        exact: bool = False,
    ) -> Selection:
        """Choose options of one cycle."""
        end = math.inf if time_limit is None else time.perf_counter() + time_limit
        room = checked_capacity(options, capacity)
        greedy = by_density(options, room)
        names = None if keys is None else np.asarray(keys, dtype=np.int64)
        solved = self._relaxed(options, room, names, shift, end)
        full = solved.z >= FULL
        chosen = _best(options, [by_density(options, room, full), greedy])
        prices = best_prices(options, room, solved.prices)
        bound = price_bound(options, room, prices, options.value)
        if bound.value > (1 + CLOSE) * _value(options, chosen):
            others = [by_value(options, room, first) for first in (full, np.zeros_like(full))]
            chosen = _best(options, [chosen, *others])
        if exact and _value(options, chosen) < bound.value:
            chosen, bound = self._finish(options, room, chosen, prices, bound, end)
        value = _value(options, chosen)
        timed = not solved.solved or (exact and value < bound.value)
        stop = Stop.TIME_LIMIT if timed else Stop.COMPLETED
        return Selection(
            chosen=chosen,
            value=value,
            bound=bound,
            prices=prices,
            stop=Stop.PROVEN if value == bound.value else stop,
            iterations=solved.iterations,
            rounds=solved.rounds,
        )

    def _relaxed(
        self, options: Options, room: Ints, keys: Ints | None, shift: int, end: float
    ) -> Relaxation:
        """Solve the linear program, from the basis of the last cycle on."""
        if not len(options):
            return Relaxation.nothing(options, room)
        unit = _unit(options)
        options = replace(options, value=options.value / unit)
        basis = None
        if keys is not None and self._basis is not None:
            basis = self._basis.moved(shift)
            basis = replace(basis, prices=basis.prices * (1 / unit))
        own = np.arange(options.jobs) if keys is None else keys
        found, basis = relaxed(options, room, own, basis, end)
        if keys is not None and basis is not None:
            self._basis = replace(basis, prices=basis.prices * unit)
        return replace(found, prices=found.prices * unit)

    def _finish(
        self, options: Options, room: Ints, chosen: Ints, prices: Prices, bound: Bound, end: float
    ) -> tuple[Ints, Bound]:
        """Branch and bound over what the prices do not exclude."""
        value = _value(options, chosen)
        cost, _ = prices.gains(options)
        gain = options.value - cost / prices.scale
        best = best_by_job(options, gain)[options.job]
        reach = float(prices.bound(options, room)) - best + gain
        unit = _unit(options)
        stays = reach > value * (1 + 1e-9) + 1e-9 * unit
        stays[chosen] = True
        at = np.flatnonzero(stays)
        few = options.take(at)
        few = replace(few, value=few.value / unit)
        program = _program(few, room[:, : few.slots], np.isin(at, chosen))
        limit = 1e6 if end == math.inf else end - time.perf_counter()
        if limit <= 0:
            return chosen, bound
        answer = solve_mip(program, time_limit=limit)
        if answer.x is not None:
            z = answer.x[: at.size] > 0.5
            fits = by_density(options, room, np.isin(np.arange(len(options)), at[z]))
            chosen = _best(options, [chosen, fits])
        value = _value(options, chosen)
        if answer.bound < math.inf:
            reached = Fraction(max(answer.bound * unit, value))
            claim = float(floor_to_step(reached + Fraction(1e-6 * unit), options.value))
            if answer.proven and claim - value <= 1e-5 * unit:
                claim = value  # within the tolerance to which HiGHS proves
            if claim < bound.value:
                bound = Bound(plain_number(max(claim, value)), "branch and bound")
        return chosen, bound


def _unit(options: Options) -> float:
    """A power of two in which the largest value is 64 to 128: solvers' tolerances are absolute."""
    return 2.0 ** (math.frexp(float(options.value.max()))[1] - 7)


def _best(options: Options, choices: Iterable[Ints]) -> Ints:
    """Return the choice that is worth most, the first one of equals."""
    return max(choices, key=lambda chosen: _value(options, chosen))


def _value(options: Options, chosen: Ints) -> float:
    return math.fsum(options.value[chosen].tolist())


def _program(options: Options, room: Ints, start: Bools) -> Program:
    """The mixed-integer program of some options, every slot that matters looked at."""
    blocks = compact(options, room, corners(options, room))
    z = start.astype(float)
    cost, matrix, lower, upper = program_of(blocks)
    return Program(
        cost=cost,
        matrix=matrix,
        lower=lower,
        upper=upper,
        binary=len(options),
        start=np.concatenate([z, blocks.left(z)]),
    )
