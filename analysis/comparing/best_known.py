"""The best known schedules, with which a replay shows a bracket, and how much is tried for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from ...formulations.completion_time.problem import CompletionTime
from ...instances.check import finite
from ...solvers.pool import AreaOrderParams, area_order
from ...solvers.result import Bound
from ..proofs.bound import STEPS, Effort

logger = logging.getLogger("gangsched")

#: of the bounds of completion times; mean busy times always have 16 rounds
EFFORTS: Mapping[Effort, Mapping[str, int]] = {
    "quick": {},
    "standard": {"steps": STEPS},
    "full": {"steps": STEPS, "halvings": 2},
}
#: of gangs in the orders that are tried
POWERS: Mapping[Effort, tuple[float, ...]] = {
    "quick": (1.0,),
    "standard": (1.0, 0.75, 0.5, 0.25, 0.0),
    "full": (1.25, 1.0, 0.9, 0.75, 0.6, 0.5, 0.25, 0.0),
}
ROUNDING = 1e-12  #: relative error of a sum of floats
KNOWN = ("flow", "slowdown")  #: measures of which a best known schedule is shown


class KnownSchedule(NamedTuple):
    """What a schedule attains, and in which order its jobs run."""

    objective: float
    order: str


def check_known(known: Mapping[str, KnownSchedule], bounds: Mapping[str, Bound]) -> None:
    """Refuse measures of which none is shown, and what is better than a verified bound."""
    for name, (objective, _) in known.items():
        if name not in KNOWN:
            raise KeyError(f"replay: known[{name!r}] is none of {', '.join(KNOWN)}")
        number = finite("replay", f"known[{name!r}]", objective)
        bound = bounds.get(name)
        if bound is not None and number < bound.value * (1 - ROUNDING):
            below = f"{number} is below the verified bound {bound.value}"
            raise ValueError(f"replay: known[{name!r}]={below}")


def best_known(problem: CompletionTime, effort: Effort) -> KnownSchedule | None:
    """Return the best schedule of some orders of :func:`~gangsched.solvers.pool.area_order`.

    None where GPUs are not equal for all jobs, or where the problem finds something wrong with it.

    Parameters
    ----------
    problem : CompletionTime
    effort : {"quick", "standard", "full"}

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=4), Job(id="short", gpus=2, work=1, release=1)]
    >>> best_known(CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "flow"), "quick")
    KnownSchedule(objective=6.0, order='least time left x gang^1')
    """
    if problem.mixed:
        return None
    made = {
        power: area_order(problem, params=AreaOrderParams(power=power)) for power in POWERS[effort]
    }
    power, result = min(made.items(), key=lambda item: item[1].objective or 0)
    if result.solution is None or result.objective is None:
        return None
    if broken := problem.violations(result.solution):
        logger.error("a best known schedule is left out: %s", broken[0])
        return None
    return KnownSchedule(float(result.objective), f"least time left x gang^{power:g}")
