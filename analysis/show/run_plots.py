"""Pictures of runs side by side: how long jobs took, who got a fair share, what was in use.

What is a chart where a page has its script is drawn from the data of that chart, see
:mod:`gangsched.analysis.show.chart_data`; all else from up to twelve runs by name. Like those of
:mod:`gangsched.analysis.show.plots`, the figures belong to nobody's global state, and
:func:`~gangsched.analysis.show.plots.save` writes them with the same bytes each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ..driving import metrics
from ..driving.model_usage import model_usage
from ..driving.run import Floats, Run
from . import plots
from .chart_data import LOSS_ORDERS
from .colours import COLOURS, DASHES, MOST_RUNS
from .columns import duration, fixed, unit_for
from .plots import ACCENT, BOUND, INK, MUTED, TRACK, WIDTH

if TYPE_CHECKING:
    from ..comparing.losses import LossLedger

Runs = Mapping[str, Run]
Data = Mapping[str, Any]  # of a chart

MOST_USERS = 24  # rows of a heat map
NOTHING = "#d9dde2"  # where a user wants nothing
STEPS = 60  # of the use of each GPU model
OTHERS = "#aab2bb"  # users beyond those that have a colour
LINE = 17  # characters of a name on a line
ROW = ("axes fraction", "data")  # coordinates of what stands beside a row
LEGEND = {"handlelength": 1.6, "columnspacing": 1.6}
#: seconds where an axis has ticks, and where one has them that would have less than three
TICKS = (1, 10, 60, 600, 3_600, 36_000, 4 * 86_400, 40 * 86_400, 400 * 86_400)
FINE_TICKS = (
    *(1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 18_000),
    *(86_400 * d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)


# --- the pictures --------------------------------------------------------------------------------


def user_fairness(runs: Runs) -> Figure:
    """Draw each user's fairness degree over time, one map for each run: red is below 1, unfair."""
    _check(runs)
    length = _window(runs)
    users = _users(runs)
    columns = 1 if len(runs) < 3 else 2
    rows = -(-len(runs) // columns)
    tall = max(0.12 * len(users), 0.3)
    figure = plots.new_figure(0.42 + rows * (tall + 0.62) + 0.5)
    left, gap = 1.25, 0.25
    wide = (WIDTH - left - 0.2 - gap * (columns - 1)) / columns
    last, image = _last(runs), None
    for k, (name, run) in enumerate(runs.items()):
        row, column = divmod(k, columns)
        floor = figure.get_figheight() - 0.42 - (row + 1) * (tall + 0.62) + 0.38
        axes = plots.axes_at(figure, left + column * (wide + gap), floor, wide, tall)
        below = k + columns >= len(runs)
        image = _paint_fairness(axes, name, run, users, length, last, below=below)
        _row_names(axes, _user_names(run, users) if column == 0 else [], 7)
    _fairness_scale(figure, image)
    some = "" if len(users) == _user_count(runs) else f", the {len(users)} largest users"
    window = duration(length).replace("1 d", "a day").replace("1 h", "an hour")
    text = f"Fair share of each user in windows of {window}{some}: rho below 1 is unfair"
    plots.headline(figure, text)
    return figure


def cluster_use(data: Data) -> Figure:
    """Draw which share of the GPUs was held over time, and which was wanted.

    Parameters
    ----------
    data : mapping
        As :func:`gangsched.analysis.show.chart_data.shares` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows, times = data["runs"], np.array(data["times"])
    figure = plots.new_figure(0.42 + 0.72 * len(rows) + 0.85)
    for k, row in enumerate(rows):
        floor = figure.get_figheight() - 0.42 - 0.72 * (k + 1) + 0.12
        axes = plots.axes_at(figure, 1.6, floor, WIDTH - 1.6 - 1.5, 0.56)
        _paint_use(axes, row, times)
        _time_axis(axes, times[-1], shown=k == len(rows) - 1)
    handles = [
        Patch(facecolor=ACCENT, alpha=0.75, label="held by jobs"),
        Line2D([], [], color=BOUND, linewidth=1.2, label="demanded by active jobs, at most all"),
    ]
    plots.legend_at(figure, handles, 1.5, 0.04, **LEGEND)
    plots.headline(figure, "GPUs held and demanded over time, share of the cluster")
    return figure


def model_shares(runs: Runs) -> Figure:
    """Draw who held which share of each GPU model over time, and what work that did."""
    _check(runs)
    figure = plots.new_figure(0.6 + 0.9 * len(runs) + 0.55)
    last = _last(runs)
    used = [model_usage(run, -(-last // STEPS)) for run in runs.values()]
    order = np.argsort(-sum(u.total("gpus").sum(axis=1) for u in used), kind="stable")
    top = max(float(u.work.sum(axis=(1, 2)).max(initial=0)) for u in used) or 1.0
    nodes = next(iter(runs.values())).require_instance().cluster.nodes
    room = [sum(n.gpus for n in nodes if n.model == model) for model in used[0].models]
    named = zip(used[0].models, room, strict=True)
    titles = [
        "fair shares",
        *(f"{model}: {n:,}" for model, n in named),
        f"work: {f'{top:,.3g}' if top < 100 else f'{top:,.0f}'}",
    ]
    wide = (WIDTH - 1.8) / len(titles)
    for k, (name, run) in enumerate(runs.items()):
        floor = figure.get_figheight() - 0.6 - 0.9 * (k + 1) + 0.2
        layers = [
            _fair_layers(run, used[k].times),
            *(used[k].gpus[:, :, g] / n for g, n in enumerate(room)),
            used[k].work.sum(axis=2) / top,
        ]
        for i, part in enumerate(layers):
            axes = plots.axes_at(figure, 1.6 + i * wide, floor, wide - 0.12, 0.7)
            _paint_layers(axes, used[k].times, part[:, order])
            axes.set(xlim=(0, last), ylim=(0, 1.02), xticks=[], yticks=[])
            if k == 0:
                style: dict[str, Any] = {"size": 8.5, "color": MUTED, "parse_math": False}
                axes.set_title(_short(titles[i], 18), pad=4, **style)
            if i == 0:
                _name_row(axes, name, (0, 0.5), -10)
    style = {"size": 8, "color": MUTED, "va": "top"}
    for ha, x, text in (("left", 0, "0"), ("right", 1, duration(last))):
        plots.note(figure.axes[-len(titles)], text, (x, 0), (0, -4), ha=ha, **style)
    _user_legend(figure, next(iter(runs.values())), order.tolist())
    text = "Share of each GPU model held by user over time, and work in GPUs at speed 1"
    plots.headline(figure, text)
    return figure


def amounts(title: str, data: Data) -> Figure:
    """Draw what each policy won, and the most that anyone can.

    Parameters
    ----------
    title : str
    data : mapping
        As :func:`gangsched.analysis.show.chart_data.amounts` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names, (series,), top, mark = data["names"], data["series"], data["to"], data["mark"]
    figure = plots.new_figure(0.42 + 0.34 * len(names) + 1.05)
    axes = plots.axes_at(figure, 1.6, 0.9, WIDTH - 1.6 - 1.9, 0.34 * len(names))
    axes.set(xlim=(0, top), ylim=(len(names) - 0.5, -0.5), yticks=[])
    axes.set_xlabel(data["x"], labelpad=2)
    for k, (name, won, text) in enumerate(
        zip(names, series["values"], series["texts"], strict=True)
    ):
        axes.barh(k, top, height=0.66, color=TRACK, linewidth=0)
        axes.barh(k, max(won, 0), height=0.66, color=ACCENT, linewidth=0)
        _name_row(axes, name, (0, k), -8, ROW)
        plots.note(axes, text, (1, k), (8, 0), xycoords=ROW, va="center", size=8.5, color=MUTED)
    if mark is not None:
        axes.axvline(mark["value"], color=BOUND, linewidth=1.4)
        line = Line2D([], [], color=BOUND, linewidth=1.4, label="at most, any policy")
        plots.legend_at(figure, [line], 1.5, 0.04, **LEGEND)
    plots.headline(figure, title)
    return figure


def nodes(name: str, run: Run, last: int) -> Figure:
    """Draw who ran where and when in a run, on an axis of time up to `last`."""
    figure = plots.gantt(run.schedule, run.require_instance())
    end = int(run.schedule.end.max(initial=0))
    slots = run.require_instance().kind.slotted
    shown = f"{end:,} slots" if slots else duration(end)
    figure.texts[0].set_text(f"{name}: the last job ends after {shown}")
    axes = figure.axes[0]
    if slots:
        axes.set(xlim=(0, last), xlabel="time (slots)")
    else:
        _time_axis(axes, last, shown=True)
    return figure


def nodes_held(data: Data) -> Figure:
    """Draw which share of their GPUs jobs held over time, a row for each node or few of them.

    Parameters
    ----------
    data : mapping
        As :func:`gangsched.analysis.show.gantt_data.shares_of` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    views, names = data["views"], [name for name, *_ in data["rows"]]
    tall = max(0.11 * len(names), 0.4)
    figure = plots.new_figure(0.42 + len(views) * (tall + 0.32) + 0.4)
    colours = LinearSegmentedColormap.from_list("held", [TRACK, ACCENT])
    for k, view in enumerate(views):
        floor = figure.get_figheight() - 0.42 - (k + 1) * (tall + 0.32) + 0.08
        axes = plots.axes_at(figure, 1.6, floor, WIDTH - 1.6 - 0.3, tall)
        share = np.zeros((len(names), data["bins"]))
        share[view["cells"]["row"], view["cells"]["bin"]] = view["cells"]["held"]
        axes.imshow(
            share, cmap=colours, vmin=0, vmax=1000, aspect="auto", interpolation="none",
            extent=(0, data["end"], len(names) - 0.5, -0.5),
        )  # fmt: skip
        _time_axis(axes, data["end"], shown=k == len(views) - 1)
        _row_names(axes, [_short(n, 22) for n in names], 6.5)
        plots.note(axes, _short(view["name"], 48), (0, 1), (0, 3), va="bottom", size=9, color=INK)
    plots.headline(figure, "GPUs that jobs held, by node and time: the darker, the more of them")
    return figure


def losses(ledgers: Sequence[LossLedger]) -> Figure:
    """Draw what lies between the bound and each policy's mean completion, in both orders."""
    unit, size = unit_for(max(one.attained for one in ledgers), 3)
    rows = [max(map(len, one.orders)) + 2 for one in ledgers]
    figure = plots.new_figure(0.75 + sum(0.17 * n + 0.45 for n in rows) + 0.4)
    wide = (WIDTH - 0.2) / len(LOSS_ORDERS)
    floor = figure.get_figheight() - 0.65
    for one, count in zip(ledgers, rows, strict=True):
        floor -= 0.17 * count + 0.45
        for k, order in enumerate(LOSS_ORDERS):
            axes = plots.axes_at(
                figure, 0.1 + k * wide + 1.3, floor + 0.1, wide - 1.3 - 0.65, 0.17 * count
            )
            _paint_losses(axes, one, k, size)
            text = f"{_short(one.policy, 30)}, {order} removed first"
            plots.note(axes, text, (0, 1), (0, 2), va="bottom", size=8.5, color=INK)
            if one is ledgers[-1]:
                axes.set_xlabel(f"mean completion ({unit})", labelpad=2)
    handles = [
        Patch(facecolor=MUTED, label="the bound, and the policy"),
        Patch(facecolor=COLOURS[1], label="lost"),
        Patch(facecolor=COLOURS[2], label="won: a hindrance that helped"),
    ]
    plots.legend_at(figure, handles, 0.1, figure.get_figheight() - 0.6, **LEGEND)
    plots.headline(figure, "From the bound to each policy's mean completion")
    return figure


def distributions(title: str, data: Data) -> Figure:
    """Draw which share of the jobs each run had done within a time, or with a slowdown.

    Parameters
    ----------
    title : str
    data : mapping
        As :func:`gangsched.analysis.show.chart_data.distributions` gives it.

    Returns
    -------
    matplotlib.figure.Figure
    """
    views = data["views"]
    names = dict.fromkeys(series["name"] for view in views for series in view["series"])
    _check(names)
    styles = {name: _style(k) for k, name in enumerate(names)}
    below = 0.25 + 0.34 * -(-len(names) // 4)
    figure = plots.new_figure(3.4 + below)
    wide = (WIDTH - 0.85) / len(views)
    for k, view in enumerate(views):
        axes = plots.axes_at(figure, 0.75 + k * wide, below + 0.5, wide - 0.4, 2.4)
        _paint_curves(axes, view, styles)
        axes.set_xlabel(view["name"])
    figure.axes[0].set_ylabel(views[0]["y"]["name"])
    handles = [Line2D([], [], label=_folded(name), **style) for name, style in styles.items()]
    plots.legend_at(figure, handles, 0.6, 0.04, ncols=4, fontsize=8)
    plots.headline(figure, title)
    return figure


# --- shared --------------------------------------------------------------------------------------


def _check(runs: Mapping[str, Any]) -> None:
    if not 0 < len(runs) <= MOST_RUNS:
        raise ValueError(f"picture of {len(runs)} runs: 1 to {MOST_RUNS} can be told apart")


def _last(runs: Runs) -> int:
    """When the last run ended; at least 1."""
    return max(1, *(run.now for run in runs.values()))


def _style(k: int) -> dict[str, Any]:
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": DASHES[k // len(COLOURS)],
        "linewidth": 1.7,
    }


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _name_row(
    axes: Axes, name: str, at: tuple[float, float], shift: float, coordinates: Any = "axes fraction"
) -> None:
    """Write a name left of a row: small on two lines where it is too long."""
    text = _folded(name)
    place = {"xycoords": coordinates, "ha": "right", "va": "center"}
    size = 7.5 if "\n" in text else 9
    plots.note(axes, text, at, (shift, 0), size=size, color=INK, **place)


def _folded(text: str) -> str:
    """Break a long name in two, if possible after a sign; of two full lines the rest is left out.

    >>> _folded("unisched:static-profiler").splitlines()
    ['unisched:', 'static-profiler']
    >>> _folded("finish-time-fairness").splitlines()
    ['finish-time-', 'fairness']
    """
    if len(text) <= LINE:
        return text
    cuts = (text.rfind(sign, 0, LINE) + 1 for sign in ":-._")
    cut = next((cut for cut in cuts if cut and len(text) - cut <= LINE), LINE)
    return f"{text[:cut]}\n{_short(text[cut:], LINE)}"


def _time_axis(axes: Axes, last: int, *, shown: bool) -> None:
    """Days, hours, minutes or seconds from 0 to the last end, in round numbers."""
    unit, size = unit_for(last, 3)
    steps = {"s": (1, 2, 5, 10, 20, 60), "min": (1, 5, 10, 30, 60), "h": (1, 3, 6, 12, 24)}
    every = steps.get(unit, (1, 2, 7, 14, 28, 91, 182, 364))
    step = next((s for s in every if last / size / s <= 10), every[-1])
    axes.set_xlim(0, last)
    ticks = np.arange(0, last / size + 1e-9, step) if shown else np.zeros(0)
    axes.set_xticks(ticks * size, [f"{t:g}" for t in ticks])
    if shown:
        names = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}
        axes.set_xlabel(f"{names[unit]} from the start of the instance", labelpad=2)


def _row_names(axes: Axes, names: Sequence[str], size: float) -> None:
    """Write names of rows where labels of ticks stand, which take long to make."""
    place, va, ha = axes.get_yaxis_text1_transform(3.5)
    style: dict[str, Any] = {"va": va, "ha": ha, "size": size, "color": plots.INK}
    axes.set_yticks([])
    for row, name in enumerate(names):
        axes.text(0, row, name, transform=place, parse_math=False, **style)


# --- distributions -------------------------------------------------------------------------------


def _log_ticks(
    axes: Axes, coarse: Sequence[int], fine: Sequence[int], write: Callable[[int], str]
) -> None:
    low, high = axes.get_xlim()
    shown = [t for t in coarse if low <= t <= high]
    if len(shown) < 3:
        shown = [t for t in fine if low <= t <= high]
    inches = axes.get_position().width * WIDTH / np.log(high / low)
    places = [inches * float(np.log(t / low)) for t in shown]
    shown = _apart(shown, places, list(map(write, shown)))
    axes.set_xticks(shown, [write(t) for t in shown])
    axes.set_xticks([], minor=True)
    axes.set_xlim(low, high)


def _apart(ticks: Sequence[int], places: Sequence[float], texts: Sequence[str]) -> list[int]:
    """Leave out ticks, from the left, whose texts would touch; places in inches on the axis."""
    kept: list[int] = []
    end = -0.06  # where the texts of the other axis are not far
    for tick, place, text in zip(ticks, places, texts, strict=True):
        half = 0.04 * (len(text) + 1)
        if place - half >= end:
            kept.append(tick)
            end = place + half
    return kept


def _paint_curves(axes: Axes, view: Data, styles: Mapping[str, Mapping[str, Any]]) -> None:
    """One curve for each run."""
    axes.set_xscale("log")
    axes.grid(color=TRACK, linewidth=0.8)
    axes.set_axisbelow(True)
    for series in view["series"]:
        # from 0 up, and on to the right at the height that was reached
        xs, ys = [series["x"][0], *series["x"]], [0.0, *series["y"]]
        axes.plot(xs, ys, drawstyle="steps-post", **styles[series["name"]])
    low = min(series["x"][0] for series in view["series"])
    high = max(series["x"][-1] for series in view["series"])
    axes.set_xlim(low / 1.08, max(high, 2 * low) * 1.08)
    axes.set_ylim(0, 1.01)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    if view["x"]["unit"]:
        _log_ticks(axes, TICKS, FINE_TICKS, duration)
    else:
        powers = [10**k for k in range(12)]
        _log_ticks(axes, powers, [m * p for p in powers for m in (1, 2, 3, 5)], _brief)


def _brief(number: int) -> str:
    """1,000 as 1k, 1,000,000 as 1M."""
    for size, sign in ((10**9, "G"), (10**6, "M"), (1000, "k")):
        if number >= size:
            return f"{number // size}{sign}"
    return str(number)


# --- fairness ------------------------------------------------------------------------------------


def _window(runs: Runs) -> int:
    """The longest window of which the longest run has at least seven."""
    last = _last(runs)
    return next((w for w in (86_400, 3_600, 600, 60, 10) if last >= 7 * w), 1)


def _user_count(runs: Runs) -> int:
    return int(next(iter(runs.values())).user_weight.size)


def _users(runs: Runs) -> list[int]:
    """Users to show: the largest fair time over all runs first."""
    count = _user_count(runs)
    if any(run.user_weight.size != count for run in runs.values()):
        raise ValueError("picture of users: the runs are not of the same instance")
    total = sum(metrics.user_fair_time(run, [max(run.now, 0)])[:, 0] for run in runs.values())
    order = np.lexsort((np.arange(count), -np.asarray(total)))
    return [int(u) for u in order[:MOST_USERS]]


def _user_names(run: Run, users: Sequence[int]) -> list[str]:
    names = run.users if len(run.users) == run.user_weight.size else ("all jobs",)
    return [_short(names[u] or "all jobs", 16) for u in users]


def _paint_fairness(
    axes: Axes, name: str, run: Run, users: Sequence[int], length: int, last: int, *, below: bool
) -> Any:
    degrees = metrics.window_rho(run, length)
    edges = metrics.window_edges(run, length)
    wide = max(len(edges) - 1, 1) * length
    image = None
    if degrees.shape[1]:
        image = axes.imshow(
            np.ma.masked_invalid(degrees[users]), cmap=_rho_colours(), vmin=0, vmax=2,
            aspect="auto", interpolation="none", extent=(0, wide, len(users) - 0.5, -0.5),
        )  # fmt: skip
    _time_axis(axes, last, shown=below)
    axes.set_ylim(len(users) - 0.5, -0.5)
    share = metrics.share_below(degrees, metrics.BELOW)
    text = _short(name, 48)
    if share is not None:
        text += ": " if len(name) <= 24 else "\n"
        text += f"{100 * share:.0f} % of the windows below 1"
    plots.note(axes, text, (0, 1), (0, 3), va="bottom", size=9, color=INK)
    return image


def _rho_colours() -> Colormap:
    """Dark red to white at 1 to a blue that is lighter than the red, so that dark is unfair."""
    shades = np.concatenate([np.linspace(0.02, 0.5, 128), np.linspace(0.5, 0.84, 128)])
    return ListedColormap(mpl.colormaps["RdBu"](shades)).with_extremes(bad=NOTHING)


def _fairness_scale(figure: Figure, image: Any) -> None:
    """What the colours mean, at the foot of the figure."""
    axes = plots.axes_at(figure, 1.25, 0.3, 2.4, 0.1)
    if image is None:
        axes.set_axis_off()
        return
    ramp = np.linspace(0, 2, 128)[None, :]
    axes.imshow(ramp, cmap=image.cmap, aspect="auto", extent=(0, 2, 0, 1), interpolation="none")
    axes.set_yticks([])
    axes.set_xticks([0, 0.5, 1, 1.5, 2], ["0", "½", "1", "1½", "2 or more"])
    axes.tick_params(labelsize=8, pad=2)
    handles = [Patch(facecolor=NOTHING, label="wants nothing")]
    plots.legend_at(figure, handles, 4.1, 0.12, **LEGEND)


# --- losses --------------------------------------------------------------------------------------


def _paint_losses(axes: Axes, one: LossLedger, order: int, size: int) -> None:
    """The bound, a bar for each term from where the last one ended, and the policy."""
    at, steps = one.bound, [("any policy ≥", 0.0, one.bound, MUTED)]
    for term in reversed(one.orders[order]):
        colour = COLOURS[1] if term.seconds >= 0 else COLOURS[2]
        steps.append((term.name, at, term.seconds, colour))
        at += term.seconds
    steps.append((_short(one.policy, 20), 0.0, one.attained, MUTED))
    for k, (_, left, width, colour) in enumerate(steps):
        axes.barh(k, width / size, left=left / size, height=0.7, color=colour, linewidth=0)
        end = max(left, left + width) / size
        text = fixed(width, places=3, comma=",", size=size)
        plots.note(axes, text, (end, k), (3, 0), xycoords="data", va="center", size=7, color=INK)
    axes.set_yticks(range(len(steps)), [name for name, *_ in steps], parse_math=False)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_xlim(0, max(left + max(width, 0) for _, left, width, _ in steps) / size or 1)
    axes.tick_params(labelsize=7)


# --- use of the cluster --------------------------------------------------------------------------


def _paint_use(axes: Axes, row: Data, times: NDArray[Any]) -> None:
    held, wanted = np.sum(row["held"], axis=0), np.array(row["wanted"])
    axes.set_ylim(0, 1.06)
    axes.axhspan(0, 1, facecolor=TRACK, linewidth=0)
    axes.stairs(held / 1000, times, fill=True, color=ACCENT, alpha=0.75, linewidth=0)
    axes.stairs(wanted / 1000, times, color=BOUND, linewidth=0.9, baseline=None)
    axes.set_yticks([0, 1], ["0", "1"])
    axes.tick_params(axis="y", labelsize=8)
    _name_row(axes, row["name"], (0, 0.5), -24)
    want = float(wanted @ np.diff(times))
    part = 100 * float(held @ np.diff(times)) / want if want else 0
    text = f"{part:.0f} % of what\nwas demanded" if want else "no demand"
    plots.note(axes, text, (1, 0.5), (8, 0), va="center", size=8.5, color=MUTED)


# --- GPU models ----------------------------------------------------------------------------------


def _grouped(values: NDArray[Any]) -> NDArray[Any]:
    """The columns of the users that have a colour, and the sum of the others'."""
    most = len(COLOURS)
    few = values[:, :most]
    if values.shape[1] <= most:
        return few
    return np.concatenate([few, values[:, most:].sum(axis=1, keepdims=True)], axis=1)


def _paint_layers(axes: Axes, times: NDArray[Any], values: Floats) -> None:
    axes.axhspan(0, 1, facecolor=TRACK, linewidth=0)
    if not values.size:
        return
    floor = np.zeros(values.shape[0])
    for colour, layer in zip((*COLOURS, OTHERS), _grouped(values).T, strict=False):
        axes.stairs(floor + layer, times, baseline=floor, fill=True, color=colour, linewidth=0)
        floor = floor + layer


def _fair_layers(run: Run, times: NDArray[Any]) -> Floats:
    """The users' fair shares of every model, (bins, users)."""
    fair = np.diff(metrics.user_fair_time(run, times)) / (np.diff(times) * run.gpus)
    layers: Floats = fair.T
    return layers


def _user_legend(figure: Figure, run: Run, order: Sequence[int]) -> None:
    names = _user_names(run, order)
    handles: list[Any] = [
        Patch(facecolor=colour, label=name) for colour, name in zip(COLOURS, names, strict=False)
    ]
    if len(names) > len(COLOURS):
        handles.append(Patch(facecolor=OTHERS, label=f"{len(names) - len(COLOURS)} others"))
    plots.legend_at(figure, handles, 1.5, 0.04, ncols=4, fontsize=8.5)
