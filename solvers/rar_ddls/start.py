"""What a schedule for RAR-DDLS tells of the model: how long it need be."""

from __future__ import annotations

from typing import Any

from ...formulations.rar_ddls.problem import RarDdls
from ...instances.schedule import Schedule


def model_options(problem: RarDdls, known: Schedule) -> dict[str, Any]:
    """Say that a model need be no longer than a schedule that is known: its best speed-up."""
    return {"horizon": problem.objective(known)}
