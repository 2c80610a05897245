"""The narrowest gang first as machine code."""

from typing import Any

from gangsched.instances.compiled import inner, tiered
from gangsched.solvers.machine import const
from gangsched.solvers.machine.machine import begin_run, open_round, speed_on_new, take_new
from gangsched.solvers.machine.place import place
from gangsched.solvers.policy import Rule


@inner
def _comes_first(m: Any, one: int, other: int) -> bool:
    if m.jobs[one].gpus != m.jobs[other].gpus:
        return bool(m.jobs[one].gpus < m.jobs[other].gpus)
    return bool(m.jobs[one].rank < m.jobs[other].rank)


@inner
def _decide(m: Any) -> None:
    """Start the narrowest job that waits, until it has no place."""
    while m.count[const.WAITS] > 0:
        first = m.lists[const.WAITERS, 0]
        for i in range(1, m.count[const.WAITS]):
            if _comes_first(m, m.lists[const.WAITERS, i], first):
                first = m.lists[const.WAITERS, i]
        if m.jobs[first].gpus > m.count[const.FREE] or not place(m, first):
            break
        take_new(m, first)
        begin_run(m, first, m.jobs[first].gpus, speed_on_new(m, first))


@tiered(seconds=5)
def _advance(m: Any, until: int, most: int) -> int:
    for _ in range(most):
        why = open_round(m, until)
        if why < const.QUIET:
            return int(why)
        if why == const.READY:
            _decide(m)
    return const.MORE


RULE = Rule(name="narrowest", advance=_advance)
