"""The picture of makespan against mean completion: who is beaten, and what nobody can do."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..comparing.pareto import ParetoFront
from .plots import ACCENT, INK, MUTED, TRACK, WIDTH, axes_at, headline, legend_at, new_figure, note

MARGIN = 0.06  # of the range of the points and bounds, on each side
WIDE, TALL = WIDTH - 2.3, 3.0  # of the axes, in inches
SIZE = 8.0  # of names, in points
#: where a name may stand beside its point, in points
SHIFTS = tuple(
    (side, 3.0 + 11.0 * k) for k in (0, -1, 1, 2, -2, 3, 4, 5, 6) for side in (7.0, -7.0)
)

Box = tuple[float, float, float, float]  # left, right, bottom, top


def pareto_plot(front: ParetoFront) -> Figure:
    """Draw the solvers of a front by makespan (to the right) and mean completion (upward)."""
    figure = new_figure(4.4)
    axes = axes_at(figure, 0.8, 0.95, WIDE, TALL)
    makespan = None if front.makespan is None else float(front.makespan.value)
    xs = [x for x, _ in front.points.values()] + ([] if makespan is None else [makespan])
    ys = [y for _, y in front.points.values()] + ([] if front.mean is None else [front.mean])
    (left, right), (floor, top) = _range(xs), _range(ys)
    if makespan is not None:
        axes.axvspan(left, makespan, color=TRACK, linewidth=0)
    if front.mean is not None:
        axes.axhspan(floor, front.mean, color=TRACK, linewidth=0)
    edge = [front.points[name] for name in front.front]
    if edge:
        steps = [(edge[0][0], top), *edge, (right, edge[-1][1])]
        axes.step(*zip(*steps, strict=True), where="post", color=ACCENT, linewidth=1.4)
    names: dict[tuple[float, float], list[str]] = {}
    for name, point in front.points.items():
        names.setdefault(point, []).append(name)
    places = {
        ", ".join(own): (
            72 * WIDE * (x - left) / (right - left), 72 * TALL * (y - floor) / (top - floor)
        )
        for (x, y), own in names.items()
    }  # fmt: skip
    shifts = _shifts(places)
    for (x, y), own in names.items():
        best, name = not set(own).isdisjoint(front.front), ", ".join(own)
        shift = shifts[name]
        axes.plot([x], [y], "o", color=ACCENT if best else MUTED, markersize=6 if best else 4)
        note(
            axes, name, (x, y), shift, xycoords="data", fontsize=SIZE,
            ha="left" if shift[0] > 0 else "right", color=INK if best else MUTED,
        )  # fmt: skip
    axes.set_xlim(left, right)
    axes.set_ylim(floor, top)
    axes.set_xlabel("makespan (slots)")
    axes.set_ylabel("mean completion (slots)")
    axes.spines[["left", "bottom"]].set(visible=True, color=INK)
    handles = [
        Line2D([], [], color=ACCENT, marker="o", label="beaten by nobody in both"),
        Line2D([], [], color=MUTED, marker="o", linestyle="", markersize=4, label="beaten"),
        Patch(facecolor=TRACK, label="impossible for any schedule, certified"),
    ]
    legend_at(figure, handles, 0.7, 0.05)
    headline(figure, "Makespan against mean completion")
    return figure


def _range(values: list[float]) -> tuple[float, float]:
    """An interval with some room on both sides."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = MARGIN * ((high - low) or max(abs(high), 1.0))
    return low - room, high + room


def _shifts(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Where each name stands, by places in points, so that none covers a name or a point."""
    taken: list[Box] = [(x - 3, x + 3, y - 3, y + 3) for x, y in places.values()]
    found: dict[str, tuple[float, float]] = {}
    for name, (x, y) in sorted(places.items(), key=lambda item: item[1]):
        boxes = {shift: _box(name, x + shift[0], y + shift[1], shift[0]) for shift in SHIFTS}
        inside = {s: box for s, box in boxes.items() if box[2] >= 0 and box[3] <= 72 * TALL}
        free = (s for s, box in inside.items() if not any(_overlap(box, own) for own in taken))
        found[name] = next(free, SHIFTS[0])
        taken.append(boxes[found[name]])
    return found


def _box(name: str, x: float, y: float, side: float) -> Box:
    """About what a name covers that begins here, or ends."""
    wide = 0.56 * SIZE * len(name)
    return (x, x + wide, y, y + SIZE) if side > 0 else (x - wide, x, y, y + SIZE)


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
