"""Of what the loss of a policy over the bound consists: the terms, and the runs behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Variant(NamedTuple):
    """A policy, and the constraints that are lifted for it."""

    policy: str
    free: bool = False  #: resuming and moving cost nothing
    pool: bool = False  #: one node for each GPU model
    seconds: bool = False  #: rounds of a second

    def __str__(self) -> str:
        named = (("free restarts", self.free), ("pool", self.pool), ("rounds of 1 s", self.seconds))
        return ", ".join([self.policy, *(name for name, holds in named if holds)])


class Term(NamedTuple):
    """One term: seconds of the mean completion time that `less` has not, and `more` has."""

    name: str
    seconds: float
    more: str
    less: str


@dataclass(frozen=True, slots=True)
class LossLedger:
    """The loss of one policy over the bound, in two orders of removal.

    Parameters
    ----------
    policy : str
    attained, bound : float
        Mean completion times in seconds.
    orders : tuple of tuple of Term
        The terms of each add up to the loss.
    runs : mapping of Variant to float
        Mean completion time of each run that is named in them, in seconds.
    """

    policy: str
    attained: float
    bound: float
    orders: tuple[tuple[Term, ...], ...]
    runs: Mapping[Variant, float]

    @property
    def loss(self) -> float:
        """Seconds of the mean completion time over the bound."""
        return self.attained - self.bound
