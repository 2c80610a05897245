"""What figures of several papers share: frames, parallel runs, rows by seed, verdicts, panels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from os import cpu_count
from statistics import fmean
from typing import Any, Protocol, TypeVar

from matplotlib.figure import Figure

from .experiment import Progress
from .study import FigureRow, Statement, Study, Values, per_seed, short

__all__ = ["Frame", "judged", "mapped", "outcomes", "rows_of"]

A = TypeVar("A")
B = TypeVar("B")


# --- figures -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """What a figure shows, whatever its numbers.

    Parameters
    ----------
    title, axis : str
    measures : mapping of str to str
        Those of the tables, with their headings.
    drawing : callable
        Study to picture.
    levels : tuple of float
        Where its curves are given.
    """

    title: str
    axis: str
    measures: Mapping[str, str]
    drawing: Callable[[Study], Figure]
    levels: tuple[float, ...] = ()


def judged(
    name: str,
    frame: Frame,
    statements: Callable[[Study], Iterable[Statement]],
    *,
    settings: Mapping[str, Any],
    instances: Mapping[str, Mapping[str, Any]],
    rows: Iterable[FigureRow],
) -> Study:
    """Return a figure with these rows, and the statements judged by them.

    Parameters
    ----------
    name : str
    frame : Frame
    statements : callable
        Study to statements.
    settings : mapping
    instances : mapping of str to mapping
        Facts about each instance.
    rows : iterable of FigureRow
    """
    study = Study(
        name=name,
        title=frame.title,
        axis=frame.axis,
        measures=frame.measures,
        settings=settings,
        instances=instances,
        levels=frame.levels,
        rows=tuple(rows),
        drawing=frame.drawing,
    )
    return replace(study, statements=tuple(statements(study)))


# --- runs ----------------------------------------------------------------------------------------


def mapped(
    work: Callable[[A], B],
    items: Sequence[A],
    name: Callable[[A], str],
    processes: int | None,
    progress: Progress | None,
) -> Iterator[B]:
    """Yield what each item gives, in order, from several processes where there are several.

    Parameters
    ----------
    work : callable
    items : sequence
    name : callable
        Of an item, for the progress.
    processes : int or None
        How many at once; None for as many as there are cores.
    progress : callable (str) or None
        Called after each item.
    """
    pool = None
    if processes != 1 and len(items) > 1:
        pool = ProcessPoolExecutor(processes or cpu_count(), mp_context=get_context("spawn"))
    try:
        found = map(work, items) if pool is None else pool.map(work, items)
        for k, (item, value) in enumerate(zip(items, found, strict=True), 1):
            if progress is not None:
                progress(f"{name(item)} ({k} of {len(items)})")
            yield value
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


class Seeded(Protocol):
    """What is drawn by a seed."""

    @property
    def seed(self) -> int:
        """Of the draw."""


class Placed(Protocol):
    """A run, and where it stands in a figure."""

    @property
    def instance(self) -> str:
        """Label in the figure."""

    @property
    def policy(self) -> str:
        """Label in the figure."""

    @property
    def x(self) -> int | None:
        """The quantity that the figure varies."""

    @property
    def workload(self) -> Seeded:
        """What was run."""


T = TypeVar("T", bound=Placed)


def outcomes(
    figure: str,
    tasks: Sequence[T],
    run: Callable[[T], Values],
    key: Callable[[T], Hashable],
    known: dict[Any, Values],
    processes: int | None,
    progress: Progress | None,
) -> list[Values]:
    """Return what each run gives; runs with the same key are made once.

    Parameters
    ----------
    figure : str
        For the progress.
    tasks : sequence of Placed
    run : callable
        Task to values; goes to another process.
    key : callable
        What the values of a task depend on.
    known : dict
        Values by key; new ones are put there.
    processes : int or None
        How many at once; None for as many as there are cores.
    progress : callable (str) or None
        Called after each run.
    """
    new = {key(task): task for task in tasks if key(task) not in known}

    def name(task: T) -> str:
        x = "" if task.x is None else f" {task.x}"
        return f"{figure}: {task.instance}, {task.policy}{x}, seed {task.workload.seed}"

    found = mapped(run, list(new.values()), name, processes, progress)
    for own, values_of_run in zip(new, found, strict=True):
        known[own] = values_of_run
    return [known[key(task)] for task in tasks]


def rows_of(
    tasks: Sequence[Placed], outcomes: Sequence[Values], measures: Mapping[str, str]
) -> list[FigureRow]:
    """Means over seeds, and the value of each seed.

    Parameters
    ----------
    tasks : sequence of Placed
    outcomes : sequence of mapping
    measures : mapping of str to str
        Which of the values to keep.
    """
    places: dict[tuple[str, str, int | None], list[tuple[int, Values]]] = {}
    for task, values in zip(tasks, outcomes, strict=True):
        place = (task.instance, task.policy, task.x)
        places.setdefault(place, []).append((task.workload.seed, values))
    return [FigureRow(*place, _means(found, measures)) for place, found in places.items()]


def _means(found: Sequence[tuple[int, Values]], measures: Iterable[str]) -> Values:
    values: Values = {}
    for name in measures:
        if not any(name in own for _, own in found):
            continue
        known = [own[name] for _, own in found]
        numbers = [value for value in known if value is not None]
        whole = len(numbers) == len(known) > 0
        values[name] = short(fmean(numbers)) if whole else None
        for (seed, _), value in zip(found, known, strict=True):
            values[per_seed(name, seed)] = value
    return {**{name: values[name] for name in measures if name in values}, **values}
