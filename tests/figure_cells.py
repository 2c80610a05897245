"""Cells of a toy figure. Workers import this file, so it has little to import."""

import os
import time
from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from gangsched.analysis.papers.experiment import Experiment, FigureCell
from gangsched.analysis.papers.study import Agreement, Statement, Study

LOG = "GANGSCHED_TEST_LOG"


def square(cell: FigureCell) -> dict[str, Any]:
    """The square of the workload; each call leaves a line in the log."""
    if LOG in os.environ:
        with open(os.environ[LOG], "a") as log:
            log.write(f"{cell.workload}\n")
    return {"value": cell.workload**2 / 3, "none": None}


def slow_square(cell: FigureCell) -> dict[str, Any]:
    time.sleep(0.25)
    return square(cell)


def process_id(cell: FigureCell) -> dict[str, Any]:
    return {"value": float(os.getpid()), "none": None}


def reciprocal(cell: FigureCell) -> dict[str, Any]:
    return {"value": 1 / cell.workload}


def broken() -> FigureCell:
    return FigureCell(instance="broken", policy="p", run=reciprocal, workload="text")


def cells(n: int = 6, run: Any = square) -> list[FigureCell]:
    return [
        FigureCell(instance=f"i{k % 2}", policy="p", run=run, workload=k, x=k // 4, seed=k // 2 % 2)
        for k in range(n)
    ]


def toy(name: str = "rar_ddls:toy", run: Any = square) -> Experiment:
    """Two instances, two seeds; a statement on each instance."""

    def statements(study: Study) -> Iterator[Statement]:
        for instance in study.instances:
            value = study.value(instance, "p", "value", 0) or 0.0
            yield Statement("small", instance, Agreement.of(value < 2), f"{value:.2f}")

    return Experiment(
        name=name,
        title="squares",
        axis="x",
        measures={"value": "a third of the square", "none": "nothing"},
        cells=lambda n=4: cells(n, run),
        facts=lambda own: {"workloads": [cell.workload for cell in own]},
        statements=statements,
        settings={"by": "hand"},
        drawing=lambda study: Figure(),
    )
