"""A mixed-integer program in a process of its own, which is stopped when its time is over.

HiGHS looks at its time limit between the steps of its search, and some of these take minutes: one
round of cuts at the root of UniSched's compact form does.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..instances.arrays import Floats
from .child import Child
from .highs import best_found, is_optimal, load, new, start_from

if TYPE_CHECKING:
    from scipy.sparse import csc_array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Program:
    """Maximise ``cost @ x`` where ``lower <= A x <= upper`` and ``0 <= x``, x[:binary] in {0, 1}.

    Parameters
    ----------
    cost : (n,) floats
    matrix : (rows, n) sparse array
        A.
    lower, upper : (rows,) floats
    binary : int
        The first so many variables are 0 or 1, the others continuous.
    start : (n,) floats
        A solution.
    """

    cost: Floats
    matrix: csc_array
    lower: Floats
    upper: Floats
    binary: int
    start: Floats


class MipAnswer(NamedTuple):
    """What is known of a program.

    Parameters
    ----------
    x : (n,) floats or None
        Best solution found, if any was.
    bound : float
        No solution has more; infinity where nothing is known.
    proven : bool
        Whether `x` is optimal, as the solver claims.
    """

    x: Floats | None
    bound: float
    proven: bool


def solve_mip(program: Program, *, time_limit: float, child: Child | None = None) -> MipAnswer:
    """Return the best that is known when the program is solved or the time is over.

    Parameters
    ----------
    program : Program
    time_limit : float
        Seconds.
    child : Child, optional
        The process; by default one of this thread, which stays for the next call.

    Returns
    -------
    MipAnswer

    Examples
    --------
    Two things of one place each, and one place:

    >>> from scipy.sparse import csc_array
    >>> program = Program(cost=np.array([2.0, 3.0]), matrix=csc_array([[1.0, 1.0]]),
    ...                   lower=np.array([0.0]), upper=np.array([1.0]), binary=2,
    ...                   start=np.zeros(2))
    >>> answer = solve_mip(program, time_limit=60)
    >>> answer.x.round().astype(int).tolist(), answer.proven
    ([0, 1], True)
    """
    end = time.perf_counter() + time_limit
    found = MipAnswer(None, np.inf, False)

    def hear(told: MipAnswer) -> bool:
        nonlocal found
        x, bound, proven = told
        found = MipAnswer(found.x if x is None else x, min(bound, found.bound), proven)
        return False

    with contextlib.suppress(TimeoutError, ChildProcessError):
        (own_child() if child is None else child).ask((program, time_limit), hear, end)
    return found


_own = threading.local()


def own_child() -> Child:
    """Return the process of this thread of this process."""
    if getattr(_own, "of", None) != os.getpid():  # a fork must not talk to its parent's
        _own.of, _own.child = os.getpid(), Child(search)
    child: Child = _own.child
    return child


def search(message: tuple[Program, float], tell: Callable[[MipAnswer], None]) -> None:
    """Run HiGHS on a program, in the process."""
    program, time_limit = message
    gaps = {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-6}
    highs = new({**gaps, "presolve": "off", "time_limit": time_limit})
    binary = np.arange(program.cost.size) < program.binary
    rows = program.matrix, program.lower, program.upper
    load(highs, program.cost, *rows, most=np.where(binary, 1.0, np.inf), integer=binary)
    start_from(highs, program.start)

    def improved(event: Any) -> None:
        data = event.data_out
        tell(MipAnswer(np.array(data.mip_solution), _bound(data.mip_dual_bound), False))

    highs.cbMipImprovingSolution += improved
    highs.run()
    proven, info = is_optimal(highs), highs.getInfo()
    bound = info.mip_dual_bound if info.mip_node_count >= 0 else np.inf
    if proven:
        bound = min(bound, info.objective_function_value + 1e-6)
    tell(MipAnswer(best_found(highs), _bound(bound), proven))


def _bound(value: float) -> float:
    return value if abs(value) < 1e100 else np.inf
