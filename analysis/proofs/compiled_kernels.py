"""Machine code of the kernels of :mod:`gangsched.verify`: the very same functions, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...instances.compiled import compiled, tiered
from ...verify.kernels import alone_flows, least_costs, most_gains, proven_costs

COMPILED: Mapping[Callable[..., None], Any] = {
    alone_flows: tiered(seconds=2, most=20_000, allocates=True)(alone_flows),
    least_costs: tiered(seconds=2, most=200_000)(least_costs),
    most_gains: compiled(most_gains),
    proven_costs: compiled(proven_costs),
}
