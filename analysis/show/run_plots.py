"""Pictures of runs side by side: how long jobs took, who got a fair share, what was in use.

Up to twelve runs by name; a run has the same colour and dash in all pictures. Like those of
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

from ...instances.model import DeadlineJob
from ..driving import metrics
from ..driving.model_usage import model_usage
from ..driving.run import Floats, Run
from . import plots
from .colours import COLOURS, DASHES, MOST_RUNS
from .columns import Column, column, duration, fixed, unit_for
from .plots import ACCENT, BOUND, INK, MUTED, TRACK, WIDTH

if TYPE_CHECKING:
    from ..comparing.losses import LossLedger

Runs = Mapping[str, Run]
Measured = Sequence[float | None]
Bar = tuple[float, float, str, float]  # left, width, colour, opacity

MOST_POINTS = 400  # of a curve
MOST_USERS = 24  # rows of a heat map
NOTHING = "#d9dde2"  # where a user wants nothing
BINS = 240  # of the use of the cluster over time
STEPS = 60  # of the use of each GPU model
OTHERS = "#aab2bb"  # users beyond those that have a colour
MARGIN = 0.12  # inches beside the headline
LOSS_ORDERS = ("policy", "cluster")  # what is removed first
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


def cluster_use(runs: Runs) -> Figure:
    """Draw which share of the GPUs was held over time, and which was wanted."""
    _check(runs)
    figure = plots.new_figure(0.42 + 0.72 * len(runs) + 0.85)
    last = _last(runs)
    for k, (name, run) in enumerate(runs.items()):
        floor = figure.get_figheight() - 0.42 - 0.72 * (k + 1) + 0.12
        axes = plots.axes_at(figure, 1.6, floor, WIDTH - 1.6 - 1.5, 0.56)
        _paint_use(axes, name, run, last)
        _time_axis(axes, last, shown=k == len(runs) - 1)
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


def deadlines(runs: Runs, *, bound: float | None = None) -> Figure:
    """Draw the reward that each run won for met deadlines, by kind of job, and its miss rate."""
    _check(runs)
    jobs: Sequence[DeadlineJob] = next(iter(runs.values())).require_instance().jobs
    top, rate = sum(job.top_reward for job in jobs), column("weighted_miss")
    strict = np.array([len(job.rewards) == 1 for job in jobs], dtype=bool)
    rows = {}
    for name, run in runs.items():
        won, missed = metrics.rewards(run), metrics.weighted_miss(run)
        first, rest = (float(np.nansum(won[kind])) for kind in (strict, ~strict))
        bars = [(0.0, top, TRACK, 1.0), (0.0, first, ACCENT, 1.0), (first, rest, ACCENT, 0.5)]
        text = "nothing was due" if missed is None else f"{rate.title} {rate.write(missed)}"
        rows[name] = bars, text
    kinds = [
        Patch(facecolor=ACCENT, label="strict deadlines"),
        Patch(facecolor=ACCENT, alpha=0.5, label="soft deadlines"),
    ]
    title = "Reward for met deadlines, of what all jobs together could win"
    figure, axes = _won(rows, title, top or 1, bound, kinds)
    shares = (0, 0.25, 0.5, 0.75, 1)
    axes.set_xticks([share * (top or 1) for share in shares], ["0", "¼", "½", "¾", "1"])
    axes.set_xlabel(f"share of the top rewards, {top:,.6g}", labelpad=2)
    return figure


def earnings(revenue: Mapping[str, float], *, bound: float | None = None) -> Figure:
    """Draw what each run earned, by name, and the most that anyone can."""
    rows = {
        name: ([(0.0, max(won, 0), ACCENT, 1.0)], column("revenue").write(won))
        for name, won in revenue.items()
    }
    top = max(*revenue.values(), bound or 0, 0) or 1
    return _won(rows, "Revenue of the same jobs under each policy", top, bound)[0]


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


def nodes_held(data: Mapping[str, Any]) -> Figure:
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


def overview(runs: Runs, *, measures: Mapping[str, Mapping[str, Any]] | None = None) -> Figure:
    """Draw the usual measures of each run, and how its completion times and slowdowns spread.

    Parameters
    ----------
    runs : mapping of str to Run
        One to twelve, with their instance.
    measures : mapping of str to mapping, optional
        By run, what :func:`gangsched.analysis.driving.metrics.summary` gave, if it did already.

    Returns
    -------
    matplotlib.figure.Figure
    """
    _check(runs)
    known = measures or {name: metrics.summary(run) for name, run in runs.items()}
    table = 0.75 + 0.27 * len(runs) + 0.25
    figure = plots.new_figure(3.3 + table)
    for left, paint, title in (
        (0.75, _paint_completions, "completion time"),
        (5.05, _paint_slowdowns, "slowdown"),
    ):
        axes = plots.axes_at(figure, left, table + 0.4, 3.75, 2.4)
        paint(axes, runs)
        axes.set_xlabel(title)
    figure.axes[0].set_ylabel("share of jobs")
    _paint_table(figure, runs, table, known)
    text = "Completion times, slowdowns and fairness of the same jobs under each policy"
    plots.headline(figure, text)
    return figure


# --- shared --------------------------------------------------------------------------------------


def _check(runs: Runs) -> None:
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


def _named(text: str) -> dict[str, Any]:
    """A name beside a row, as arguments of a text: small on two lines where it is too long."""
    text = _folded(text)
    return {"text": text, "size": 7.5 if "\n" in text else 9, "color": INK, "parse_math": False}


def _name_row(
    axes: Axes, name: str, at: tuple[float, float], shift: float, coordinates: Any = "axes fraction"
) -> None:
    """Write a name left of a row."""
    style = _named(name)
    text = style.pop("text")
    plots.note(axes, text, at, (shift, 0), xycoords=coordinates, ha="right", va="center", **style)


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


def _paint_completions(axes: Axes, runs: Runs) -> None:
    _paint_curves(axes, runs, metrics.completion_time)
    _log_ticks(axes, TICKS, FINE_TICKS, duration)


def _paint_slowdowns(axes: Axes, runs: Runs) -> None:
    _paint_curves(axes, runs, metrics.slowdown)
    powers = [10**k for k in range(12)]
    _log_ticks(axes, powers, [m * p for p in powers for m in (1, 2, 3, 5)], _brief)


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


def _paint_curves(axes: Axes, runs: Runs, measure: Callable[[Run], Floats]) -> None:
    """One curve for each run."""
    axes.set_xscale("log")
    axes.grid(color=TRACK, linewidth=0.8)
    axes.set_axisbelow(True)
    lows, highs = [], []
    for k, run in enumerate(runs.values()):
        values, shares = distribution(run, measure)
        if not values.size:
            continue
        # from 0 up, and on to the right at the height that was reached
        xs, ys = np.concatenate([values[:1], values]), np.concatenate([[0.0], shares])
        axes.plot(xs, ys, drawstyle="steps-post", **_style(k))
        lows.append(values[0])
        highs.append(values[-1])
    low, high = min(lows, default=1.0), max(highs, default=10.0)
    axes.set_xlim(low / 1.08, max(high, 2 * low) * 1.08)
    axes.set_ylim(0, 1.01)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])


def distribution(run: Run, measure: Callable[[Run], Floats]) -> tuple[Floats, Floats]:
    """Values of a measure in order, and the share of the jobs that could run up to each."""
    values = measure(run)
    known = np.sort(values[~np.isnan(values)])
    at = curve_ranks(known.size)
    return known[at], (at + 1) / int((~run.records.rejected).sum())


def _brief(number: int) -> str:
    """1,000 as 1k, 1,000,000 as 1M."""
    for size, sign in ((10**9, "G"), (10**6, "M"), (1000, "k")):
        if number >= size:
            return f"{number // size}{sign}"
    return str(number)


def curve_ranks(count: int) -> NDArray[np.int64]:
    """Ranks that draw a curve of `count` sorted values; closer to each other at its upper end."""
    if count <= MOST_POINTS:
        return np.arange(count)
    even = np.linspace(0, count - 1, MOST_POINTS * 3 // 4)
    tail = count - np.geomspace(1, count, MOST_POINTS // 4)
    return np.unique(np.rint(np.concatenate([even, tail])).astype(np.int64))


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


def _paint_use(axes: Axes, name: str, run: Run, last: int) -> None:
    edges = np.unique(np.linspace(0, last, BINS + 1).round().astype(np.int64))
    edges = np.append(edges[edges < run.now], max(run.now, 0))
    size = np.maximum(np.diff(edges), 1) * run.gpus
    busy, wanted = metrics.busy_time(run, edges), metrics.wanted_time(run, edges)
    held, want = float(busy[-1]), float(wanted[-1])
    axes.set_ylim(0, 1.06)
    axes.axhspan(0, 1, facecolor=TRACK, linewidth=0)
    if size.size:
        axes.stairs(np.diff(busy) / size, edges, fill=True, color=ACCENT, alpha=0.75, linewidth=0)
        axes.stairs(np.diff(wanted) / size, edges, color=BOUND, linewidth=0.9, baseline=None)
    axes.set_yticks([0, 1], ["0", "1"])
    axes.tick_params(axis="y", labelsize=8)
    _name_row(axes, name, (0, 0.5), -24)
    text = f"{100 * held / want:.0f} % of what\nwas demanded" if want else "no demand"
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


# --- rewards and revenue -------------------------------------------------------------------------


def _won(
    rows: Mapping[str, tuple[Sequence[Bar], str]],
    title: str,
    top: float,
    bound: float | None,
    kinds: Sequence[Patch] = (),
) -> tuple[Figure, Axes]:
    """A row of bars for each run with a text behind it, and the most that anyone can win."""
    figure = plots.new_figure(0.42 + 0.34 * len(rows) + 1.05)
    axes = plots.axes_at(figure, 1.6, 0.9, WIDTH - 1.6 - 1.9, 0.34 * len(rows))
    axes.set(xlim=(0, top), ylim=(len(rows) - 0.5, -0.5), yticks=[])
    for k, (name, (bars, text)) in enumerate(rows.items()):
        for left, width, colour, alpha in bars:
            axes.barh(k, width, left=left, height=0.66, color=colour, alpha=alpha, linewidth=0)
        _name_row(axes, name, (0, k), -8, ROW)
        plots.note(axes, text, (1, k), (8, 0), xycoords=ROW, va="center", size=8.5, color=MUTED)
    handles: list[Any] = [*kinds]
    if bound is not None:
        axes.axvline(bound, color=BOUND, linewidth=1.4)
        handles.append(Line2D([], [], color=BOUND, linewidth=1.4, label="at most, any policy"))
    if handles:
        plots.legend_at(figure, handles, 1.5, 0.04, **LEGEND)
    plots.headline(figure, title)
    return figure, axes


# --- the table of the overview -------------------------------------------------------------------


#: columns of the overview, and whether their axes are logarithmic
COLUMNS: Mapping[str, bool] = {
    "mean_completion": True,
    "mean_slowdown": True,
    "p99_slowdown": True,
    "loss": False,
    "days_below": False,
    "utilisation": False,
}


def _paint_table(
    figure: Figure, runs: Runs, height: float, found: Mapping[str, Mapping[str, Any]]
) -> None:
    """A row for each run with its line, its name, and each measure as a number and a dot."""
    stopped = [name for name, values in found.items() if values["unfinished"]]
    left, step = 1.85, (WIDTH - 1.85 - 0.1) / len(COLUMNS)
    tall = 0.27 * len(runs)
    names = plots.axes_at(figure, 0.15, height - 0.7 - tall, left - 0.15, tall)
    _rows(names, len(runs))
    for k, name in enumerate(runs):
        names.plot([0.0, 0.17], [k, k], **_style(k))
        style = _named(name)
        shown = style.pop("text") + " *" * (name in stopped)
        names.text(0.21, k, shown, va="center", linespacing=1.05, **style)
    names.set_xlim(0, 1)
    for k, (key, log) in enumerate(COLUMNS.items()):
        axes = plots.axes_at(figure, left + k * step, height - 0.7 - tall, step - 0.12, tall)
        _rows(axes, len(runs))
        values = [found[name][key] for name in runs]
        done = [value for name, value in zip(runs, values, strict=True) if name not in stopped]
        _paint_column(axes, column(key), values, done, log)
    text = "Bold: best of its column."
    if stopped:
        text += " * Stopped before all jobs were complete: times are of those that were."
    floor = 0.1 / figure.get_figheight()
    figure.text(MARGIN / WIDTH, floor, text, size=8.5, color=MUTED, parse_math=False)


def _rows(axes: Axes, count: int) -> None:
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks([])


def _paint_column(axes: Axes, column: Column, values: Measured, done: Measured, log: bool) -> None:
    """The number in the left half, the dot in the right half; bold is the best of `done`."""
    write, more = column.write, column.better > 0
    known = [float(v) for v in values if v is not None]
    texts = [None if v is None else write(v) for v in values]
    rated = [float(v) for v in done if v is not None]
    best = None if not rated else write(max(rated) if more else min(rated))
    style = {"size": 8, "color": MUTED, "va": "bottom", "linespacing": 1.05}
    plots.note(axes, column.lines, (0, 1), (0, 4), **style)
    scale = np.log10 if log else np.asarray
    low = float(scale(min(known))) if log and known else 0.0
    high = float(scale(max(known))) if log and known else 1.0
    for k, (value, text) in enumerate(zip(values, texts, strict=True)):
        weight = "bold" if text is not None and text == best and value in done else "normal"
        axes.text(0.44, k, text or "–", ha="right", va="center", size=8.5, color=INK, weight=weight)
        axes.plot([0.52, 0.95], [k, k], color=TRACK, linewidth=2, solid_capstyle="butt")
        if value is not None:
            part = (float(scale(value)) - low) / (high - low) if high > low else 0.0
            axes.plot(
                0.52 + 0.43 * min(part, 1.0), k, "o", markersize=4.5, color=_style(k)["color"]
            )
    axes.set_xlim(0, 1)
