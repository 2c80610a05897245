"""What declarative models in Pyomo share: their size, rules, values, and schedules from these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyomo.environ as pyo

from ..instances.schedule import Segment
from .limited import check_time, time_is_over
from .problem import NoModel

#: how large a model may be, in the units of its form: about a minute and 2 GB to build
MODEL_LIMIT = 200_000


def check_size(
    problem: str, size: int, what: str, form: str, limit: int = MODEL_LIMIT, instead: str = ""
) -> None:
    """Refuse a model of a form that is too large to be built."""
    if size > limit:
        too_many = f"{size} {what} are more than {limit}, too many for form {form!r}"
        raise NoModel(f"{problem}: {too_many}{instead}")


def constraint(m: Any, *sets: Any, doc: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Add a constraint over some sets to a model, named as the rule that it decorates."""

    def add(rule: Callable[..., Any]) -> Callable[..., Any]:
        m.add_component(rule.__name__, constraint_of(rule, *sets, doc=doc))
        check_time()
        return rule

    return add


def constraint_of(rule: Callable[..., Any], *sets: Any, doc: str | None = None) -> Any:
    """Return a constraint over some sets by its rule, without those rows for which time is over."""
    check_time()

    def in_time(m: Any, *index: Any) -> Any:  # Pyomo logs as an error whatever a rule raises
        return pyo.Constraint.Skip if time_is_over() else rule(m, *index)

    return pyo.Constraint(*sets, rule=in_time if sets else rule, doc=doc)


def write(variable: Any, values: Mapping[Any, float]) -> None:
    """Set a whole indexed variable; what is not named is 0."""
    for key in variable:
        variable[key].set_value(values.get(key, 0), skip_validation=True)


def write_arrays(m: Any, **arrays: Any) -> None:
    """Set indexed variables of a model, by name, to the integers of arrays."""
    for name, values in arrays.items():
        write(getattr(m, name), dict(np.ndenumerate(values.astype(int))))


# --- schedules of slots --------------------------------------------------------------------------


def take(gpus: int, free: list[int], first: Sequence[int] = ()) -> dict[int, int]:
    """Take a gang's GPUs from the first nodes that have some, before all from those given."""
    held = {}
    for n in sorted(range(len(free)), key=lambda n: (n not in first, n)):
        if count := min(free[n], gpus):
            held[n] = count
            free[n] -= count
            gpus -= count
    return held


def joined(rows: Iterable[tuple[int, int, dict[int, int]]], length: int = 1) -> Iterator[Segment]:
    """Yield jobs' segments, of slots that follow each other on the same nodes: (job, slot, GPUs).

    Examples
    --------
    >>> [(row.start, row.end) for row in joined([(0, 4, {0: 1}), (0, 3, {0: 1}), (0, 5, {1: 1})])]
    [(3, 5), (5, 6)]
    """
    numbered = enumerate(sorted(rows, key=lambda row: row[:2]))
    for _, run in groupby(
        numbered, key=lambda at: (at[1][0], at[1][1] - at[0], sorted(at[1][2].items()))
    ):
        slots = [row for _, row in run]
        yield Segment(slots[0][0], slots[0][1] * length, (slots[-1][1] + 1) * length, slots[0][2])
