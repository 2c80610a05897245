"""Which of the driver's compiled rules decides like a policy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class RuleKind(IntEnum):
    """Ways to decide that the driver has as machine code."""

    PYTHON = 0  #: calls `decide`
    RELEASE = 1  #: by key, the smallest first: no key
    WORK = 2
    REMAINING = 3  #: work that is left
    ATTAINED = 4  #: GPU time
    LEVEL = 5  #: how many thresholds the attained GPU time has reached
    USERS = 6  #: users by fairness, in each its jobs by fairness
    FINISH_TIME = 7  #: jobs by finish-time fairness
    AREA = 8  #: GPU time that is left, by key; with repacking, and perhaps overdue jobs first
    QUOTAS = 9  #: by release, within whole quotas of the users, which are its numbers
    CELLS = 10  #: by release, in cells; numbers: quotas, then limits to borrow
    AUCTION = 11  #: by an auction among the jobs furthest from finish-time fairness
    DEFICIT = 12  #: by how far jobs are behind fair fractions of time, on GPUs that are alike
    SHARES = 13  #: the same on several models; the session says which fractions, once in a lease
    EASY = 14  #: beside the reservation of the first that waits
    CONSERVATIVE = 15  #: a reservation for each
    FILLING = 16  #: the least areas that fill the cluster, the widest first; with repacking
    ISOLATION = 17  #: areas over weights of users; with repacking

    @property
    def grouped(self) -> bool:
        """Whether the order depends on what is picked, or on the time: leases are given by it."""
        kinds = (
            RuleKind.USERS,
            RuleKind.FINISH_TIME,
            RuleKind.AUCTION,
            RuleKind.DEFICIT,
            self.SHARES,
        )
        return self in kinds


@dataclass(frozen=True, slots=True)
class Rule:
    """Which compiled rule decides like a policy, and its numbers.

    A policy that has it as its attribute ``rule`` must decide the same in Python: tests compare.

    Parameters
    ----------
    kind : RuleKind
    numbers : tuple of float
    blocking : bool
    """

    kind: RuleKind
    numbers: tuple[float, ...] = ()
    blocking: bool = False
