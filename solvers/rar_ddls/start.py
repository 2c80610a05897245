"""What the exact solution of RAR-DDLS begins with: a schedule, a bound, a horizon."""

from __future__ import annotations

from typing import Any

from ...formulations.rar_ddls.problem import RarDdls
from ...instances.schedule import Schedule
from .backfilling import BackfillingParams, Order, backfilling
from .bounds import area_bound

#: ties go to the first
ORDERS: tuple[Order, ...] = ("longest", "area", "gpus", "arrival")

bound = area_bound


def solution(problem: RarDdls) -> Schedule | None:
    """Return the best schedule of list scheduling with backfilling over all its orders, or None."""
    every = (BackfillingParams(order=order, compiled=False) for order in ORDERS)
    results = (backfilling(problem, params=params) for params in every)
    found = [result.solution for result in results if result.solution is not None]
    return min(found, key=problem.objective, default=None)


def model_options(problem: RarDdls, known: Schedule) -> dict[str, Any]:
    """Say that a model need be no longer than a schedule that is known: its best speed-up."""
    return {"horizon": problem.objective(known)}
