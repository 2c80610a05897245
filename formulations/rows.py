"""What declarative models in Pyomo share: constraints by their rules, values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from .limited import check_time, time_is_over


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
