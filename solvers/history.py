"""How a run's best objective and bound improved over time."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..formulations.problem import Sense

#: seconds since the run began, best objective and best bound until then; None where there is none
Entry = tuple[float, float | None, float | None]


class History:
    """Improvements of one run, noted as they come.

    Parameters
    ----------
    started : float
        When the run began, by :func:`time.perf_counter`.

    Examples
    --------
    >>> history = History(time.perf_counter())
    >>> history.note(objective=14)
    >>> history.note(bound=12)
    >>> [entry[1:] for entry in history.entries]
    [(14, None), (None, 12)]
    """

    def __init__(self, started: float) -> None:
        self.started = started
        self.entries: list[Entry] = []

    def note(self, *, objective: Any = None, bound: Any = None) -> None:
        """Note an objective or a bound found now, which need not be the best one."""
        self.entries.append(
            (time.perf_counter() - self.started, _python_number(objective), _python_number(bound))
        )

    def extend(self, other: History) -> None:
        """Take over what another run noted, which was part of this one."""
        later = other.started - self.started
        self.entries += [(t + later, objective, bound) for t, objective, bound in other.entries]


def settled(
    sense: Sense,
    entries: Iterable[Entry],
    *,
    objective: float | None,
    bound: float | None,
    runtime: float,
) -> tuple[Entry, ...]:
    """Return entries with the best so far of both, each better than the last, up to the outcome.

    Examples
    --------
    >>> found = [(0.1, 14, None), (0.2, 15, 10.0), (0.3, 13, 11.7)]
    >>> settled(Sense.MIN, found, objective=13, bound=11, runtime=0.5)
    ((0.1, 14, None), (0.2, 14, 10.0), (0.3, 13, 11))
    """
    lower, higher = (min, max) if sense is Sense.MIN else (max, min)
    kept: list[Entry] = []
    last: tuple[float | None, float | None] = None, None
    every = list(entries)
    if every or objective is not None or bound is not None:
        every.append((runtime, objective, bound))
    for at, found, proven in every:
        now = (
            _better(last[0], found, objective, lower, higher),
            _better(last[1], proven, bound, higher, lower),
        )
        if now != last or not kept:
            kept.append((max([at, *(entry[0] for entry in kept[-1:])]), *now))
            last = now
    return tuple(kept)


def _better(
    old: float | None, new: float | None, outcome: float | None, best: Any, worst: Any
) -> float | None:
    """The better of two values, no better than the outcome."""
    if outcome is None or (old is None and new is None):
        return None
    found = worst(new if new is not None else old, outcome)
    return found if old is None else best(old, found)  # type: ignore[no-any-return]


def _python_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
