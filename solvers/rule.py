"""What decides for a policy as machine code, which the policy's own folder exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Key(IntEnum):
    """By what the machine keeps jobs that wait, the smallest first, ties by (release, number)."""

    NONE = 0  #: it does not
    RELEASE = 1
    WORK = 2
    LEFT = 3  #: work that is left
    AREA = 4  #: GPU time that is left
    ATTAINED = 5  #: GPU time
    LEVEL = 6  #: how many of the rule's numbers the attained GPU time has reached
    RETURNED = 7  #: jobs that were stopped first


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which machine code decides like a policy, and what it knows.

    A policy that has it as its attribute ``rule`` must decide the same in Python: tests compare.

    Parameters
    ----------
    name : str
    advance : callable
        Compiled: (machine, until, most), or (machine, plan, until, most); visits rounds, decides in
        each, and returns why it stops (:mod:`gangsched.solvers.machine.const`).
    key : Key
        Of the jobs that wait.
    numbers : tuple of float
        Which the rule finds in the machine.
    blocking : bool
        Whether a job that does not fit holds up those behind it.
    leases : bool
        Whether it stops jobs as their leases end, and not at any round.
    by_user : bool
        Whether jobs of each user wait, and are selected, on their own.
    remember : callable, optional
        (machine, session) to the machine with the memory of the rule.
    able : callable, optional
        (tables, rules) to whether it can decide for these jobs; where not, Python does.
    plan : callable, optional
        (tables, rules) to what the rule knows beside the machine, a named tuple of arrays.
    longer : callable, optional
        A plan to the same with more room.
    """

    name: str
    advance: Callable[..., Any]
    key: Key = Key.NONE
    numbers: tuple[float, ...] = ()
    blocking: bool = False
    leases: bool = False
    by_user: bool = False
    remember: Callable[[Any, Any], Any] | None = None
    able: Callable[[Any, Any], bool] | None = None
    plan: Callable[[Any, Any], Any] | None = None
    longer: Callable[[Any], Any] | None = None
