"""What figures of several papers share: frames, parallel runs, rows by seed, verdicts, panels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from os import cpu_count
from statistics import fmean
from typing import Any, Protocol, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..show.plots import INK, MUTED, PAPER, STYLE, WIDTH, headline, plain
from .study import Agreement, Row, Statement, Study

__all__ = [
    "DASHED", "DOTTED", "OTHER_JOBS", "SEEDS_DISAGREE", "Frame", "Looks", "Panel", "Progress",
    "Values", "compared", "draw", "judged", "mapped", "mean", "outcomes", "per_seed", "rows_of",
    "short", "values",
]  # fmt: skip

Progress = Callable[[str], None]
Values = dict[str, float | None]
A = TypeVar("A")
B = TypeVar("B")

OTHER_JOBS = "these are not the paper's jobs"
SEEDS_DISAGREE = "the seeds disagree"
EQUAL = "they are equal: these jobs cannot tell them apart"


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
    rows: Iterable[Row],
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
    rows : iterable of Row
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


def per_seed(measure: str, seed: int) -> str:
    """Return the name of the value of one seed.

    Parameters
    ----------
    measure : str
    seed : int
    """
    return f"{measure} [{seed}]"


def rows_of(
    tasks: Sequence[Placed], outcomes: Sequence[Values], measures: Mapping[str, str]
) -> list[Row]:
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
    return [Row(*place, _means(found, measures)) for place, found in places.items()]


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


def short(value: float | None) -> float | None:
    """Return a number with six digits.

    Parameters
    ----------
    value : float or None

    Examples
    --------
    >>> short(1 / 3), short(None)
    (0.333333, None)
    """
    return None if value is None else float(f"{value:.6g}")


# --- verdicts ------------------------------------------------------------------------------------


def values(
    study: Study, instance: str, policy: str, measure: str, x: int | None = None
) -> list[float]:
    """Return the values of the seeds; none where one is not defined.

    Parameters
    ----------
    study : Study
    instance, policy, measure : str
    x : int, optional
    """
    for row in study.rows:
        if (row.instance, row.policy, row.x) == (instance, policy, x):
            own = [v for name, v in row.values.items() if name.startswith(f"{measure} [")]
            known = [v for v in own if v is not None]
            return known if len(known) == len(own) else []
    return []


def compared(
    text: str,
    instance: str,
    small: Sequence[float],
    large: Sequence[float],
    write: Callable[[Sequence[float]], str],
    *,
    why: str = "",
    own: bool = False,
) -> Statement:
    """Judge "the one is smaller than the other", which must hold for every seed.

    Parameters
    ----------
    text, instance : str
    small, large : sequence of float
        By seed.
    write : callable
        Values to text.
    why : str
        Because of what it does not hold.
    own : bool
        Whether the paper does not say this.

    Examples
    --------
    >>> def judged(a, b):
    ...     return str(compared("", "", a, b, mean))
    >>> judged([1, 2], [3, 4]), judged([3, 4], [1, 2])
    ('agrees: 1.50, 3.50', '**does not**: 3.50, 1.50')
    >>> judged([1, 4], [2, 3]), judged([], [1])
    ('**not comparable**, because the seeds disagree: 2.50, 2.50', \
'**not comparable**, because not all were run: none, 1.00')
    """
    measured = f"{write(small)}, {write(large)}"
    verdict, reason = Agreement.OPEN, SEEDS_DISAGREE
    if not small or not large:
        reason = "not all were run"
    elif list(small) == list(large):
        reason = EQUAL
    elif all(a < b for a, b in zip(small, large, strict=True)):
        verdict, reason = Agreement.AGREES, ""
    elif all(a >= b for a, b in zip(small, large, strict=True)):
        verdict, reason = Agreement.DIFFERS, why
    return Statement(text, instance, verdict, measured, reason, in_paper=not own)


def mean(numbers: Sequence[float], unit: str = "") -> str:
    """Write a mean over seeds.

    Parameters
    ----------
    numbers : sequence of float
    unit : str

    Examples
    --------
    >>> mean([1.0, 2.0], " %"), mean([])
    ('1.50 %', 'none')
    """
    return f"{fmean(numbers):.2f}{unit}" if numbers else "none"


# --- pictures ------------------------------------------------------------------------------------

GRID = "#dfe3e8"
DASHED: Any = (0, (4, 1.6))
DOTTED: Any = (0, (1, 1.2))
SHADE: Mapping[Any, float] = {"-": 1.0, DOTTED: 0.65, DASHED: 0.35}  # of bars
Looks = Mapping[str, tuple[str, Any]]


def _look(policy: str, looks: Looks) -> tuple[str, Any]:
    return looks.get(policy, (INK, "-"))


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes; bars over `instances`, or lines along the axis of a single one.

    Parameters
    ----------
    measure, label : str
    instances : sequence of str
    axis : str
        Label of the axis of lines; empty for bars.
    policies : sequence of str
        By default all that have the measure.
    title : str
    """

    measure: str
    label: str
    instances: Sequence[str]
    axis: str = ""
    policies: Sequence[str] = ()
    title: str = ""


# --- drawing -------------------------------------------------------------------------------------


def draw(
    study: Study,
    panels: Sequence[Sequence[Panel]],
    *,
    tall: float = 1.75,
    looks: Looks,
) -> Figure:
    """Draw panels in rows, and one legend of all policies.

    Parameters
    ----------
    study : Study
    panels : sequence of sequences of Panel
    tall : float
        Inches of a panel.
    looks : mapping of str to colour and line
        Of policies.
    """
    named = list(
        dict.fromkeys(p for row in panels for panel in row for p in _policies(study, panel))
    )
    columns = 4 if max(map(len, named), default=0) > 30 else 5
    below = 0.05 + 0.2 * (-(-len(named) // columns))
    height = 0.68 + len(panels) * (tall + 0.62) + below
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
        for r, row in enumerate(panels):
            wide = (WIDTH - 0.2 - 0.72 * len(row)) / len(row)
            for c, panel in enumerate(row):
                left = 0.62 + c * (wide + 0.72)
                bottom = height - 0.68 - tall - r * (tall + 0.62)
                place = (left / WIDTH, bottom / height, wide / WIDTH, tall / height)
                _paint(study, figure.add_axes(place, facecolor="none"), panel, looks)
    headline(figure, study.title)
    handles = [
        Line2D([], [], label=p, color=colour, linestyle=line, linewidth=2.4)
        for p in named
        for colour, line in [_look(p, looks)]
    ]
    figure.legend(
        handles=handles, ncols=columns, loc="lower left", bbox_to_anchor=(0.01, 0.0),
        frameon=False, fontsize=8.5, labelcolor=INK, handlelength=2.0, columnspacing=1.4,
    )  # fmt: skip
    return figure


def _policies(study: Study, panel: Panel) -> list[str]:
    """Those that have the measure in the panel."""
    wanted = panel.policies or study.policies
    there = {
        row.policy
        for row in study.rows
        if row.instance in panel.instances and row.values.get(panel.measure) is not None
    }
    return [policy for policy in wanted if policy in there]


def _paint(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    plain(axes)
    axes.tick_params(labelsize=8)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_ylabel(panel.label, size=8.5)
    axes.set_title(panel.title, size=9, color=MUTED, loc="left")
    if panel.axis:
        _lines(study, axes, panel, looks)
    else:
        _bars(study, axes, panel, looks)
    if not axes.dataLim.ymin < 0:
        axes.set_ylim(bottom=0)


def _bars(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    """A group for each instance; whiskers from the least to the largest seed."""
    policies = _policies(study, panel)
    wide = 0.8 / max(1, len(policies))
    for k, policy in enumerate(policies):
        colour, line = _look(policy, looks)
        for g, instance in enumerate(panel.instances):
            mean = study.value(instance, policy, panel.measure)
            if mean is None:
                continue
            x = g - 0.4 + (k + 0.5) * wide
            axes.bar(x, mean, 0.92 * wide, color=colour, alpha=SHADE[line])
            own = values(study, instance, policy, panel.measure)
            if len(own) > 1:
                axes.plot([x, x], [min(own), max(own)], color=INK, linewidth=0.8)
    names = [name.replace(", ", "\n").replace(" as ", "\nas ") for name in panel.instances]
    axes.set_xticks(range(len(names)), names, size=6.5 if any("\n" in n for n in names) else 8)
    axes.set_xlim(-0.5, max(1, len(panel.instances)) - 0.5)
    axes.grid(visible=False, axis="x")


def _lines(study: Study, axes: Axes, panel: Panel, looks: Looks) -> None:
    (instance,) = panel.instances
    for policy in _policies(study, panel):
        colour, line = _look(policy, looks)
        points = [
            (row.x, row.values[panel.measure])
            for row in study.rows
            if (row.instance, row.policy) == (instance, policy) and panel.measure in row.values
        ]
        points.sort(key=lambda point: point[0] or 0)
        xs, ys = zip(*points, strict=True)
        heights = [np.nan if y is None else y for y in ys]
        axes.plot(
            xs, heights, color=colour, linestyle=line, linewidth=1.6, marker="o", markersize=3
        )
    axes.set_xlabel(panel.axis, size=8.5, labelpad=1)
