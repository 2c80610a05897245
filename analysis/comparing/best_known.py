"""The best known schedules, with which a replay shows a bracket, and how much is tried for it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.irmp.problem import Irmp
from ...instances.check import finite
from ...instances.schedule import Schedule
from ...solvers.model_order import models_schedule, positive, prices_of, run_models
from ...solvers.pool import run_pool, schedule_of
from ...solvers.result import Bound
from ...solvers.reward_pool import priced_schedule
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
#: of the prices of GPU models that are tried
PRICE_POWERS: Mapping[Effort, tuple[float, ...]] = {
    "quick": (1.0,),
    "standard": (1.0, 0.9, 0.8, 0.6, 0.0),
    "full": (1.2, 1.1, 1.05, 1.0, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.0),
}
#: of ruin and recreate
MOVES: Mapping[Effort, int] = {"quick": 5_000, "standard": 50_000, "full": 500_000}
ROUNDING = 1e-12  #: relative error of a sum of floats
KNOWN = ("flow", "slowdown")  #: measures of which a best known schedule is shown
MOST = ("reward", "revenue")  #: and those of which more is better


class KnownSchedule(NamedTuple):
    """What a schedule attains, and in which order its jobs run, or how it was found."""

    objective: float
    order: str


def check_known(known: Mapping[str, KnownSchedule], bounds: Mapping[str, Bound]) -> None:
    """Refuse measures of which none is shown, and what is better than a verified bound."""
    for name, (objective, _) in known.items():
        if name not in (*KNOWN, *MOST):
            raise KeyError(f"replay: known[{name!r}] is none of {', '.join((*KNOWN, *MOST))}")
        number = finite("replay", f"known[{name!r}]", objective)
        bound = bounds.get(name)
        sign = -1 if name in MOST else 1
        if bound is not None and sign * (number - bound.value) < -ROUNDING * abs(bound.value):
            beyond = f"{number} is better than the verified bound {bound.value}"
            raise ValueError(f"replay: known[{name!r}]={beyond}")


def best_known(problem: CompletionTime, effort: Effort) -> KnownSchedule | None:
    """Return the best schedule of some orders of :func:`~gangsched.solvers.pool.area_order`.

    Where GPUs are not equal for all jobs, of some prices of
    :func:`~gangsched.solvers.model_order.run_models`. None where the problem finds something wrong
    with it.

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
        return _on_models(problem, effort)
    runs = {power: run_pool(problem, power=power) for power in POWERS[effort]}
    power = min(runs, key=lambda power: problem.objective_of(runs[power].ends.tolist()))
    best = schedule_of(problem, runs[power])
    return _checked(problem, best, f"least time left x gang^{power:g}")


def _on_models(problem: CompletionTime, effort: Effort) -> KnownSchedule | None:
    prices = positive(prices_of(problem))
    made = {
        power: models_schedule(problem, run_models(problem, prices**power))
        for power in PRICE_POWERS[effort]
    }
    power = min(made, key=lambda power: problem.objective(made[power]))
    return _checked(problem, made[power], f"least cost left at prices of models^{power:g}")


def _checked(problem: CompletionTime, schedule: Schedule, order: str) -> KnownSchedule | None:
    """What the schedule attains, if the problem finds nothing wrong with it."""
    if broken := problem.violations(schedule):
        logger.error("a best known schedule is left out: %s", broken[0])
        return None
    return KnownSchedule(float(problem.objective(schedule)), order)


def best_known_rewards(
    problem: DeadlineRewards, bound: Bound, effort: Effort
) -> KnownSchedule | None:
    """Return what :func:`~gangsched.solvers.reward_pool.priced_schedule` wins at a bound's prices.

    None where the problem finds something wrong with it.

    Parameters
    ----------
    problem : DeadlineRewards
    bound : Bound
        With a certificate of prices.
    effort : {"quick", "standard", "full"}

    Examples
    --------
    >>> from gangsched.analysis.proofs.deadline_rewards import reward_bound
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=5, rewards=[(10, 100)]) for i in "abc"]
    >>> problem = DeadlineRewards(Instance(Cluster.of_sizes([2]), jobs))
    >>> best_known_rewards(problem, reward_bound(problem), "quick").objective
    200.0
    """
    proof = bound.certificate or {}
    found = priced_schedule(
        problem, proof.get("times", ()), proof.get("prices", ()), moves=MOVES[effort]
    )
    if broken := problem.violations(found):
        logger.error("a best known schedule is left out: %s", broken[0])
        return None
    return KnownSchedule(float(problem.objective(found)), "value per GPU second, ruin and recreate")


def best_known_revenue(problem: Irmp) -> KnownSchedule | None:
    """Return what :func:`~gangsched.solvers.irmp.lists.lp_list` earns, which knows all jobs.

    None where it finds no schedule that keeps the problem.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> best_known_revenue(reduced_problem(5)).order
    'lp-list'
    """
    from ...solvers.irmp.lists import lp_list  # HiGHS takes a while to import

    found = lp_list(problem).solution
    if found is None:
        return None
    if broken := problem.violations(found):
        logger.error("a best known schedule is left out: %s", broken[0])
        return None
    return KnownSchedule(float(problem.objective(found)), "lp-list")
