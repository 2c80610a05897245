"""Pictures: who runs where and when, and how far from optimal each solver can be.

Every function returns a matplotlib ``Figure`` that belongs to nobody's global state; :func:`save`
and :func:`to_svg` write it with the same bytes each time. Gang sizes are coloured light to dark, so
that the order also shows in grey and to the colour-blind.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, fontManager, get_font
from matplotlib.legend import Legend
from matplotlib.patches import Patch
from matplotlib.text import Text

from ...formulations.problem import Goal, Sense, goal_of
from ...instances.display import visible
from ...instances.io import write_file
from ...instances.model import Cluster, Instance
from ...instances.schedule import Schedule, Segment
from ...solvers.result import Bound, Result
from ..comparing.comparison import ratio as certified
from .columns import shown_bound, shown_ratio

if TYPE_CHECKING:
    from ..comparing.comparison import Comparison, Row

__all__ = ["bracket", "gantt", "overview", "ratio", "save", "to_svg"]

INK, MUTED, TRACK, PAPER = "#1b1f24", "#5b6570", "#eceff2", "#fefefe"
ACCENT, BOUND = "#2b7a9e", "#b5450f"
EDGE = (1.0, 1.0, 1.0, 0.62)  # of bars, and of the hatching of jobs that span nodes
WIDTH = 9.0  # inches of every figure
NAMED_JOBS = 40  # more jobs than this get no names
SOONEST, LONG = 1e-3, 20  # second over time; how many times as long needs a logarithmic axis
LONGEST = 92  # characters of a line below a picture, or of a headline
#: fonts that have other scripts than the usual one, where they are installed
SCRIPTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans SC"),
    *("WenQuanYi Micro Hei", "PingFang SC", "Microsoft YaHei", "Hiragino Sans", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Ethiopic", "Noto Color Emoji"),
    *("Arial Unicode MS", "Unifont"),
)
MAKESPAN = Goal("makespan", end=True)  # of a schedule without a problem
STYLE: Any = {
    "font.size": 9.0,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "gangsched",
    "svg.fonttype": "none",
}

Box = tuple[float, float, float, float]  # left, right, bottom, top


@dataclass(frozen=True, slots=True)
class _Bar:
    """One job's contiguous GPUs on one node during one segment."""

    segment: tuple[int, int]  # job and start
    job: int
    box: Box
    gang: int
    spanning: bool


def gantt(schedule: Schedule, cluster: Any, *, bound: Bound | None = None) -> Figure:
    """Draw a schedule: time to the right, one row per GPU, rows grouped by node.

    Parameters
    ----------
    schedule : Schedule
        Where it does not say which GPUs of a node a job holds, the lowest free ones are drawn.
    cluster : Cluster, Instance or Problem
        An instance also gives the names of the jobs, which are written into bars with enough room;
        a problem what the schedule is worth, and the unit of time.
    bound : Bound, optional
        Of the problem's objective; without a problem, a lower bound of the makespan. Drawn as a
        vertical line where it is one of the time at which the schedule ends.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the schedule does not fit the cluster, or is better than the bound.

    Notes
    -----
    Contiguous GPUs of a job on one node are one rectangle, so that the picture's size grows with
    the jobs and not with the GPUs.

    Examples
    --------
    >>> two = Schedule.of([Segment(0, 0, 4, {0: 2}), Segment(1, 4, 6, {0: 1, 1: 1})])
    >>> figure = gantt(two, Cluster.of_sizes([2, 2]), bound=Bound(5, "area"))
    >>> [text.get_text() for text in figure.texts][0]
    'Makespan 6, bound 5 (area): at most 1.200 times the optimum'
    """
    chart = _Chart.of(schedule, cluster, bound)
    panel = _Panel.alone(_gantt_height(chart.cluster))
    _paint_gantt(panel, chart)
    return panel.figure


def ratio(comparison: Comparison) -> Figure:
    """Draw how far from optimal each solver can be at most: certified ratios, best first.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    matplotlib.figure.Figure
        A bar from 1 (optimal) to the ratio for each row; rows without a ratio show their status.
    """
    panel = _Panel.alone(_ratio_height(comparison))
    _paint_ratio(panel, comparison)
    return panel.figure


def overview(comparison: Comparison) -> Figure:
    """Draw the ratios of a comparison, and below them the schedule of its best solver.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    matplotlib.figure.Figure
        The ratios alone where no solver has a schedule.
    """
    best = best_row(comparison)
    if best is None:
        return ratio(comparison)
    place = comparison.problem_of(best)
    chart = _Chart.of(best.result and best.result.solution, place, best.bound)
    above, below = _ratio_height(comparison), _gantt_height(chart.cluster)
    figure = new_figure(above + below)
    _paint_ratio(_Panel(figure, below, above), comparison)
    _paint_gantt(_Panel(figure, 0.0, below), chart, best.solver)
    return figure


def bracket(result: Result[Any]) -> Figure:
    """Draw how the best solution and the bound come together over time.

    Parameters
    ----------
    result : Result
        Of any solver that keeps a history, such as :func:`gangsched.solve_exact` and
        :func:`gangsched.bracket`.

    Returns
    -------
    matplotlib.figure.Figure
        Both as steps over seconds, on a logarithmic axis where improvements took long; the optimum
        lies in the shaded part.

    Raises
    ------
    ValueError
        If the result has no history.

    Examples
    --------
    >>> from gangsched import Instance, Job, solve_exact
    >>> from gangsched.formulations import CompletionTime
    >>> jobs = [Job(id=i, gpus=2, work=1) for i in "abc"]
    >>> found = solve_exact(CompletionTime(Instance(Cluster.of_sizes([3]), jobs)))
    >>> [text.get_text() for text in bracket(found).texts]
    ['exact: best 6, bound 6: optimal']
    """
    if not result.history:
        raise ValueError(f"bracket: the result of {result.solver} has no history")
    panel = _Panel.alone(3.6)
    _paint_bracket(panel, result)
    return panel.figure


def worth(schedule: Schedule, place: Any, bound: Bound | None) -> str:
    """Return the headline of a schedule: what it is worth, and what is proven of it."""
    return _Chart.of(schedule, place, bound).title()


def best_row(comparison: Comparison) -> Row | None:
    """Return the row with the best objective that has a schedule."""
    return comparison.best(scheduled)


def scheduled(row: Row) -> bool:
    """Whether a row has a schedule."""
    return row.result is not None and isinstance(row.result.solution, Schedule)


# --- files ---------------------------------------------------------------------------------------


def to_svg(figure: Figure) -> str:
    """Return the figure as an SVG document, the same text each time.

    >>> to_svg(gantt(Schedule.of([]), Cluster.of_sizes([1]))).startswith("<?xml")
    True
    """
    return _bytes(figure, "svg", 72).decode()


def save(figure: Figure, path: str | Path, *, dpi: int = 150) -> None:
    """Write the figure to a .png or .svg file, the same bytes each time.

    Parameters
    ----------
    figure : Figure
    path : path
    dpi : int
        Dots per inch of a PNG.

    Raises
    ------
    ValueError
        Where the name ends otherwise.
    """
    kind = Path(path).suffix[1:].lower()
    if kind not in ("png", "svg"):
        raise ValueError(f"picture {str(path)!r}: the name must end in .png or .svg")
    write_file(path, _bytes(figure, kind, dpi))


def _bytes(figure: Figure, kind: str, dpi: int) -> bytes:
    nothing = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[kind]
    with mpl.rc_context(STYLE), io.BytesIO() as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # shown as boxes
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")  # unshaped
        for text in figure.findobj(Text):
            _make_readable(text)
        figure.savefig(file, format=kind, dpi=dpi, metadata=nothing)
        return file.getvalue()


def _make_readable(text: Any) -> None:
    """Spell control characters out, and draw other scripts with whatever font has them."""
    words = visible(text.get_text())
    if words.isascii() and words == text.get_text():
        return
    text.set_text(words)
    font = get_font(findfont(text.get_fontproperties()))
    if not all(font.get_char_index(ord(c)) for c in words if c != "\n"):
        installed = {entry.name for entry in fontManager.ttflist}
        text.set_fontfamily([*text.get_fontfamily(), *(f for f in SCRIPTS if f in installed)])


# --- shared --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Panel:
    """A horizontal strip of a figure, in inches: `floor` is the height of its lower edge."""

    figure: Figure
    floor: float
    height: float

    @classmethod
    def alone(cls, height: float) -> _Panel:
        return cls(new_figure(height), 0.0, height)

    def axes(self, *, left: float, right: float, top: float, bottom: float) -> Axes:
        """Frameless axes with these margins in inches."""
        low, high = self.floor + bottom, self.floor + self.height - top
        return axes_at(self.figure, left, low, WIDTH - (left + right), high - low)

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        """Text at `x` and `y` inches from the strip's lower left corner."""
        y = (self.floor + y) / self.figure.get_figheight()
        self.figure.text(x / WIDTH, y, text, parse_math=False, **style)

    def headline(self, text: str) -> None:
        """Say what the picture shows, in one line above it."""
        y, size = self.height - 0.12, 10.5 * min(1, LONGEST / max(len(text), 1))
        self.text(0.12, y, text, va="top", size=size, weight="bold", color=INK)


def new_figure(height: float) -> Figure:
    """Return an empty figure of this height in inches."""
    with mpl.rc_context(STYLE):
        return Figure(figsize=(WIDTH, height), facecolor=PAPER)


def axes_at(figure: Figure, left: float, floor: float, wide: float, tall: float) -> Axes:
    """Return frameless axes at this place, in inches from the lower left corner."""
    height = figure.get_figheight()
    with mpl.rc_context(STYLE):
        box = (left / WIDTH, floor / height, wide / WIDTH, tall / height)
        axes = figure.add_axes(box, facecolor="none")
    plain(axes)
    return axes


def legend_at(
    figure: Figure, handles: Sequence[Any], left: float, floor: float, **style: Any
) -> Legend:
    """Draw a legend on one line, if nothing else is said, at this place in inches."""
    usual = {"ncols": len(handles), "fontsize": 9, "handlelength": 1.4, "columnspacing": 1.4}
    place = (left / WIDTH, floor / figure.get_figheight())
    legend = figure.legend(
        handles=handles, loc="lower left", bbox_to_anchor=place, frameon=False, labelcolor=INK,
        **{**usual, **style},
    )  # fmt: skip
    legend.get_title().set(color=MUTED, size=9)
    for text in legend.get_texts():  # names are no formulas, whatever signs they have
        text.set_parse_math(False)
    return legend


def note(
    axes: Axes, text: str, at: tuple[float, float], shift: tuple[float, float], **style: Any
) -> None:
    """Write a text beside a point of the axes, shifted by so many points."""
    usual = {"xycoords": "axes fraction", "parse_math": False}
    axes.annotate(text, at, shift, textcoords="offset points", **{**usual, **style})


def plain(axes: Axes) -> None:
    """Take frame and tick marks off, and set the colours of the text."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    axes.xaxis.label.set(color=MUTED, size=9)
    axes.yaxis.label.set(color=MUTED, size=9)


def headline(figure: Figure, text: str) -> None:
    """Say what the picture shows, in one line above it."""
    _Panel(figure, 0.0, figure.get_figheight()).headline(text)


# --- ratio ---------------------------------------------------------------------------------------


def _ratio_height(comparison: Comparison) -> float:
    return 0.9 + 0.15 * len(_caption(comparison)) + 0.3 * max(len(comparison.rows), 1)


def _paint_ratio(panel: _Panel, comparison: Comparison) -> None:
    rows = sorted(comparison.rows, key=lambda row: (row.ratio is None, row.ratio or 0.0))
    caption = _caption(comparison)
    axes = panel.axes(left=2.0, right=0.8, top=0.45, bottom=0.45 + 0.15 * len(caption))
    for y, row in enumerate(rows):
        value = row.ratio or 1.0
        alpha = 1.0 if row.ratio == rows[0].ratio else 0.55
        axes.barh(y, value - 1.0, left=1.0, height=0.62, color=ACCENT, alpha=alpha)
        text = row.verdict if row.ratio is None else shown_ratio(value)
        colour = INK if row.ratio else MUTED
        note(axes, text, (value, y), (6, 0), xycoords="data", va="center", color=colour, size=10)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(1.0, max([1.02, *(row.ratio for row in rows if row.ratio)]))
    axes.axvline(1.0, color=INK, linewidth=1.2)
    axes.set_xlabel("\n".join(caption), parse_math=False)
    panel.headline("How far from optimal at most: certified ratio")


def _caption(comparison: Comparison) -> list[str]:
    """What the ratios are to, in lines that are not too long."""
    bounds = [("", comparison.bound), *((one.name, one.bound) for one in comparison.relaxed)]
    known = [
        f"bound{f', {name},' if name else ''} {shown_bound(bound.value, comparison.sense)} "
        f"({bound.method}, verified)"
        for name, bound in bounds
        if bound is not None
    ]
    if not known:
        return ["no verified bound"]
    sides = "objective / bound" if comparison.sense is Sense.MIN else "bound / objective"
    lines = [sides]
    for part in (*known, "1 is optimal"):
        if len(lines[-1]) + len(part) + 2 <= LONGEST:
            lines[-1] += f"; {part}"
        else:
            lines[-1] += ";"
            lines.append(part)
    return lines


# --- bracket -------------------------------------------------------------------------------------


def _paint_bracket(panel: _Panel, result: Result[Any]) -> None:
    axes = panel.axes(left=1.0, right=1.4, top=0.45, bottom=0.5)
    rows = [*result.history, (max(result.runtime, result.history[-1][0]), *result.history[-1][1:])]
    seconds, *sides = np.array(rows, dtype=float).T
    seconds = np.maximum(seconds, SOONEST)
    axes.fill_between(seconds, sides[0], sides[1], step="post", color=TRACK, linewidth=0)
    marks = ("best", ACCENT, result.objective), ("bound", BOUND, result.bound)
    for side, (name, colour, last) in zip(sides, marks, strict=True):
        axes.step(seconds, side, where="post", color=colour, linewidth=1.6)
        if last is not None:
            place = {"xycoords": "data", "color": colour, "size": 9}
            shift = 4 if (name == "best") is (result.sense is Sense.MIN) else -10
            note(axes, f"{name} {side[-1]:.7g}", (seconds[-1], side[-1]), (6, shift), **place)
    if seconds[-1] > LONG * seconds[0]:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlim(seconds[0], seconds[-1])
    else:
        axes.set_xlim(0, seconds[-1])
    axes.set_xlabel("seconds")
    axes.spines[["left", "bottom"]].set(visible=True, color=INK)
    panel.headline(_bracket_title(result))


def _bracket_title(result: Result[Any]) -> str:
    """Say what both sides came to, and what follows."""
    best, bound = result.objective, result.bound
    text = f"{result.solver}: " + ("no solution" if best is None else f"best {_exact(best)}")
    text += ", no bound" if bound is None else f", bound {shown_bound(bound.value, result.sense)}"
    return text if best is None or bound is None else text + _proven(best, bound, result.sense)


# --- gantt ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Chart:
    """A schedule, what it is worth, and what is known of that."""

    schedule: Schedule
    cluster: Cluster
    goal: Goal
    sense: Sense
    value: float
    jobs: Sequence[Any] = ()
    bound: Bound | None = None

    @classmethod
    def of(cls, schedule: Any, place: Any, bound: Bound | None) -> _Chart:
        """The chart on a cluster, an instance or a problem."""
        instance = place if isinstance(place, Instance) else getattr(place, "instance", None)
        cluster, jobs = (place, ()) if instance is None else (instance.cluster, instance.jobs)
        _check_fits(schedule, cluster)
        if hasattr(place, "objective"):
            goal, sense, value = goal_of(place), place.sense, place.objective(schedule)
        else:
            goal, sense, value = MAKESPAN, Sense.MIN, int(schedule.end.max(initial=0))
        return cls(schedule, cluster, goal, sense, value, jobs, bound)

    @property
    def line(self) -> float | None:
        """Where the bound stands on the axis of time, if it is one of the end."""
        known = self.goal.end and self.bound is not None and 0 < self.bound.value < self.value
        return self.bound.value if known and self.bound is not None else None

    def title(self) -> str:
        """Say what the schedule is worth, in the words of its problem, and what is proven."""
        unit = f" {self.goal.unit}" if self.goal.unit else ""
        text = f"{self.goal.name[:1].upper()}{self.goal.name[1:]} {_exact(self.value)}{unit}"
        low = self.sense is Sense.MIN
        if self.bound is None:
            return text if self.goal.end else f"{text}, {'less' if low else 'more'} is better"
        most = shown_bound(self.bound.value, self.sense, digits=7)
        text += f", bound {most}" if low else f" of at most {most}"
        return f"{text} ({self.bound.method}){_proven(self.value, self.bound, self.sense)}"


def _proven(value: float, bound: Bound, sense: Sense) -> str:
    """What the bound says of the value, after a colon; nothing where no ratio is."""
    if value == bound.value:
        return ": optimal"
    times = certified(value, bound, sense)
    if times is None:
        return ""
    shown = f"at most {shown_ratio(times)} times"
    return f": {shown} the optimum" if sense is Sense.MIN else f": the optimum is {shown} it"


def _exact(value: float) -> str:
    """Integers in full, others to seven digits."""
    return str(int(value)) if value == int(value) else f"{value:.7g}"


def _gantt_height(cluster: Cluster) -> float:
    return min(7.5, max(3.0, 1.4 + 0.05 * cluster.gpus))


def _paint_gantt(panel: _Panel, chart: _Chart, solver: str = "") -> None:
    tops, total = _rows(chart.cluster)
    end = int(chart.schedule.end.max(initial=0))
    axes = panel.axes(left=0.9, right=0.3, top=0.56, bottom=0.82)
    _tracks(axes, chart.cluster, tops, rows_per_inch=total / (panel.height - 1.38))
    bars = list(_bars(chart.schedule, chart.cluster, tops))
    classes = _gang_colours(bar.gang for bar in bars)
    _draw_bars(axes, bars, classes)
    axes.set_xlim(0, max(end, 1))
    axes.set_ylim(total, 0)
    axes.set_xlabel(f"time ({chart.goal.time})" if chart.goal.time else "time")
    if 0 < len(chart.jobs) <= NAMED_JOBS:
        _name_jobs(axes, bars, [job.id for job in chart.jobs], classes)
    if chart.line is not None:
        _mark_bound(axes, end, chart.line)
    text = chart.title()
    panel.headline(f"{solver}: {text[0].lower()}{text[1:]}" if solver else text)
    _gang_legend(panel, classes, any(bar.spanning for bar in bars))


def _check_fits(schedule: Schedule, cluster: Cluster) -> None:
    for number in schedule.node[schedule.node >= len(cluster.nodes)][:1]:
        raise ValueError(
            f"schedule: node number {number}, but the cluster has {len(cluster.nodes)} nodes"
        )


def _rows(cluster: Cluster) -> tuple[list[float], float]:
    """First row of each node, with a gap between nodes, and the number of rows in all."""
    gap = 0.3 + 0.005 * cluster.gpus
    tops = np.cumsum([0.0, *(node.gpus + gap for node in cluster.nodes)])
    return [float(top) for top in tops[:-1]], float(tops[-1]) - gap


def _tracks(axes: Axes, cluster: Cluster, tops: Sequence[float], *, rows_per_inch: float) -> None:
    """Idle background and label of each node; labels that would touch the last one are left out."""
    ticks, names, last = [], [], -rows_per_inch
    for node, top in zip(cluster.nodes, tops, strict=True):
        axes.axhspan(top, top + node.gpus, facecolor=TRACK, linewidth=0)
        middle = top + node.gpus / 2
        if middle - last >= 0.14 * rows_per_inch:
            ticks.append(middle)
            names.append(f"{node.id} · {node.gpus}")
            last = middle
    axes.set_yticks(ticks, names, parse_math=False)
    axes.set_ylabel("node · GPUs")


def _bars(schedule: Schedule, cluster: Cluster, tops: Sequence[float]) -> Iterator[_Bar]:
    for row, node, first, count in held_together(schedule, cluster):
        box = (row.start, row.end, tops[node] + first, tops[node] + first + count)
        gang = sum(row.gpus.values())
        yield _Bar((row.job, row.start), row.job, box, gang, len(row.gpus) > 1)


def held_together(schedule: Schedule, cluster: Cluster) -> Iterator[tuple[Segment, int, int, int]]:
    """Yield segment, node, first and number of GPUs side by side that a job holds."""
    for row, devices in _with_devices(schedule, cluster):
        for node, held in devices.items():
            for first, last in stretches(held):
                yield row, node, first, last - first + 1


def _with_devices(
    schedule: Schedule, cluster: Cluster
) -> Iterator[tuple[Segment, Mapping[int, Sequence[int]]]]:
    """Each segment with its GPUs; where the schedule does not name them, the lowest free ones."""
    free_from = [np.zeros(node.gpus, dtype=np.int64) for node in cluster.nodes]
    named = schedule.device.size > 0
    for row in schedule if named else sorted(schedule, key=lambda row: row.start):
        if row.devices is not None:
            _check_devices(row, cluster)
            yield row, row.devices
            continue
        chosen: dict[int, Sequence[int]] = {}
        for node, count in row.gpus.items():
            free = np.flatnonzero(free_from[node] <= row.start)[:count]
            if free.size < count:
                name = cluster.nodes[node].id
                raise ValueError(f"schedule: node {name!r} has too few GPUs at time {row.start}")
            free_from[node][free] = row.end
            chosen[node] = free.tolist()
        yield row, chosen


def _check_devices(row: Segment, cluster: Cluster) -> None:
    for number, devices in (row.devices or {}).items():
        node = cluster.nodes[number]
        if max(devices) >= node.gpus:
            raise ValueError(f"schedule: node {node.id!r} has no GPU {max(devices)}")


def stretches(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    ordered = sorted(numbers)
    cuts = [0, *(k for k, (a, b) in enumerate(pairwise(ordered), 1) if b > a + 1), len(ordered)]
    yield from ((ordered[a], ordered[b - 1]) for a, b in pairwise(cuts) if a < b)


def gang_classes(gangs: Iterable[int]) -> tuple[list[str], dict[int, int]]:
    """Names of classes of gang sizes between the same powers of two, and the class of each size.

    >>> gang_classes([8, 1, 6, 1])
    (['1', '6–8'], {1: 0, 6: 1, 8: 1})
    """
    classes: dict[int, list[int]] = {}
    for gang in sorted(set(gangs)):
        classes.setdefault((gang - 1).bit_length(), []).append(gang)
    names = [f"{c[0]}" if len(c) == 1 else f"{c[0]}–{c[-1]}" for c in classes.values()]
    return names, {gang: k for k, sizes in enumerate(classes.values()) for gang in sizes}


def _gang_colours(gangs: Iterable[int]) -> dict[int, tuple[str, Any]]:
    """Label and colour of each gang size."""
    names, number = gang_classes(gangs)
    shades = np.linspace(0.18, 0.92, max(len(names), 2))
    return {gang: (names[k], mpl.colormaps["YlGnBu"](shades[k])) for gang, k in number.items()}


def _draw_bars(axes: Axes, bars: Sequence[_Bar], classes: dict[int, tuple[str, Any]]) -> None:
    groups: dict[tuple[str, bool], list[_Bar]] = {}
    for bar in bars:
        groups.setdefault((classes[bar.gang][0], bar.spanning), []).append(bar)
    for (_, spanning), members in groups.items():
        corners = [
            ((left, top), (right, top), (right, bottom), (left, bottom))
            for left, right, top, bottom in (bar.box for bar in members)
        ]
        colour = classes[members[0].gang][1]
        group = PolyCollection(corners, facecolors=colour, edgecolors=EDGE, linewidths=0.5)
        group.set_hatch("////" if spanning else "")
        axes.add_collection(group)


def _name_jobs(
    axes: Axes, bars: Sequence[_Bar], names: Sequence[str], classes: dict[int, tuple[str, Any]]
) -> None:
    """Write the name of its job into the largest bar of each segment, where there is room."""
    to_inches = axes.transData + axes.figure.dpi_scale_trans.inverted()
    largest: dict[tuple[int, int], _Bar] = {}
    for bar in bars:
        left, right, top, bottom = bar.box
        known = largest.get(bar.segment)
        if known is None or bottom - top > known.box[3] - known.box[2]:
            largest[bar.segment] = bar
    for bar in largest.values():
        left, right, top, bottom = bar.box
        (x0, y0), (x1, y1) = to_inches.transform([(left, bottom), (right, top)])
        name = names[bar.job]
        if y1 - y0 >= 0.13 and x1 - x0 >= 0.075 * len(name) + 0.04:
            shade = classes[bar.gang][1]
            ink = "white" if np.dot(shade[:3], (0.3, 0.59, 0.11)) < 0.5 else INK
            patch = {"facecolor": shade, "linewidth": 0, "pad": 1.0}
            axes.text(
                (left + right) / 2, (top + bottom) / 2, name, ha="center", va="center", size=8,
                color=ink, bbox=patch, parse_math=False,
            )  # fmt: skip


def _mark_bound(axes: Axes, end: int, bound: float) -> None:
    axes.axvline(bound, color=PAPER, linewidth=3.4, alpha=0.85)
    axes.axvline(bound, color=BOUND, linewidth=1.6, linestyle=(0, (5, 2)))
    left = bound > 0.5 * end
    note(
        axes, f"bound {bound:g}", (bound, 1), (-3 if left else 3, 3), size=9, color=BOUND,
        xycoords=("data", "axes fraction"), ha="right" if left else "left",
    )  # fmt: skip


def _gang_legend(panel: _Panel, classes: dict[int, tuple[str, Any]], spanning: bool) -> None:
    shades = dict(classes.values())
    handles = [Patch(facecolor=colour, label=label) for label, colour in shades.items()]
    if spanning:
        handles.append(
            Patch(facecolor=MUTED, edgecolor=EDGE, hatch="////", label="spans several nodes")
        )
    if not handles:
        return
    style = {"title": "GPUs of a job:", "columnspacing": 1.3}
    legend = legend_at(panel.figure, handles, 0.9, panel.floor, **style)
    legend._legend_box.align = "left"  # type: ignore[attr-defined]
