"""Pictures of runs: what is in them, that nothing overlaps, and that they come out the same."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text

from few import first
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.analysis.show import chart_data, gantt_data, plots, run_plots
from gangsched.instances import Cluster, Instance, Job, Node, Segment, User
from gangsched.registry import POLICIES
from gangsched.solvers import Fifo
from run_builder import random_run, run_of, stretched

USERS = [User("alice", weight=2), User("$b_1$ and a name that is far too long")]
JOBS = [
    Job(id=f"j{i}", gpus=1 + i % 4, user=USERS[i % 2].id, release=7 * i, work=30 + i)
    for i in range(12)
]
#: on two GPU models, of which only one is used
MODELS = Instance(Cluster([Node("n0", 4, "v_1$ $x"), Node("n1", 4, "k80")]), JOBS, USERS)


def models(runs: Any) -> Figure:
    """With one user without a name where there is none, as in a file."""
    known = {
        name: replace(run, instance=MODELS, users=run.users or ("",)) for name, run in runs.items()
    }
    return run_plots.model_shares(known)


def use(runs: Any) -> Figure:
    return run_plots.cluster_use(chart_data.shares(runs))


def distributions(runs: Any) -> Figure:
    return run_plots.distributions("Share of the jobs", chart_data.distributions(runs))


def amounts(runs: Any) -> Figure:
    won = dict(zip(runs, range(0, 100 * len(runs), 100), strict=True))
    return run_plots.amounts("Reward", chart_data.amounts(won, "reward", 850))


OF_RUNS: list[Callable[[Any], Figure]] = [run_plots.user_fairness, models]
PICTURES = [*OF_RUNS, use, distributions, amounts]


@cache
def many(count: int, *, scale: int = 1) -> dict[str, Run]:
    """Runs of the same jobs; the third was stopped, and names are not nice."""
    found = {}
    for k in range(count):
        run = random_run(JOBS, USERS, 4, np.random.default_rng(k), now=150 if k == 2 else None)
        found[f"policy_{k} $x$ with a long name"[: 8 + 2 * k]] = stretched(run, scale)
    return found


def words(figure: Figure) -> str:
    return " ".join(re.findall(r">([^<]+)</text>", plots.to_svg(figure)))


# --- every picture -------------------------------------------------------------------------------


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize(
    ("count", "scale"), first(2, [(2, 20), (4, 50_000), (1, 1), (2, 3_600), (12, 7_000)])
)
def test_no_text_touches_another(picture: Callable[[Any], Figure], count: int, scale: int) -> None:
    figure = picture(many(count, scale=scale))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in shown]
    inside = figure.bbox
    for text, box in boxes:
        if box.width > 0:
            assert inside.x0 <= box.x0 <= box.x1 <= inside.x1, text
            assert inside.y0 <= box.y0 <= box.y1 <= inside.y1, text
    for (one, a), (other, b) in combinations(boxes, 2):
        apart = a.x1 <= b.x0 or b.x1 <= a.x0 or a.y1 <= b.y0 or b.y1 <= a.y0
        assert apart, (one, other)


@pytest.mark.parametrize("picture", PICTURES)
def test_no_name_of_a_policy_is_cut(picture: Callable[[Any], Figure]) -> None:
    names = sorted(POLICIES, key=len)[-12:]
    text = plots.to_svg(picture(dict.fromkeys(names, next(iter(many(1).values())))))
    drawn = "".join(re.findall(r">([^<]+)</t(?:ext|span)>", text))
    assert [name for name in names if name not in drawn] == []


@pytest.mark.parametrize("picture", PICTURES)
def test_the_same_runs_give_the_same_bytes(picture: Callable[[Any], Figure]) -> None:
    first, second = (plots.to_svg(picture(many(3))) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("picture", PICTURES)
def test_names_are_no_formulas(picture: Callable[[Any], Figure]) -> None:
    assert "$a_1$" in words(picture({"$a_1$": next(iter(many(1).values()))}))


@pytest.mark.parametrize("picture", OF_RUNS)
def test_none_or_thirteen_are_refused(picture: Callable[[Any], Figure]) -> None:
    run = next(iter(many(1).values()))
    with pytest.raises(ValueError, match="picture of 0 runs: 1 to 12 can be told apart"):
        picture({})
    with pytest.raises(ValueError, match="picture of 13 runs"):
        picture(dict.fromkeys("abcdefghijklm", run))


@pytest.mark.parametrize("picture", [*OF_RUNS, use])
def test_runs_without_a_finished_job_or_without_jobs_are_drawn(
    picture: Callable[[Any], Figure],
) -> None:
    nothing = run_of([], [], sizes=[4])
    young = run_of([Job(id="a", gpus=1, work=50)], [Segment(0, 0, 10, {0: 1})], sizes=[4], now=10)
    early = run_of([Job(id="a", gpus=1, work=5, release=50)], [], sizes=[4], now=0)
    for run in (nothing, young, early):
        assert "<svg" in plots.to_svg(picture({"x": run}))


# --- curves --------------------------------------------------------------------------------------


def curve(figure: Figure, panel: int = 0) -> tuple[list[float], list[float]]:
    line = figure.axes[panel].lines[0]
    return list(line.get_xdata()), list(line.get_ydata())


def test_a_curve_is_the_distribution() -> None:
    jobs = [Job(id=i, gpus=1, work=w) for i, w in zip("abcd", (10, 20, 20, 40), strict=True)]
    run = run_of(
        jobs, [Segment(j, 0, int(i.work or 0), {0: 1}) for j, i in enumerate(jobs)], sizes=[4]
    )
    xs, ys = curve(distributions({"x": run}))
    assert xs == [10, 10, 20, 20, 40]
    assert ys == [0, 0.25, 0.5, 0.75, 1]
    assert set(curve(distributions({"x": run}), panel=2)[0]) == {1}


def test_unfinished_jobs_keep_a_curve_below_one() -> None:
    jobs = [Job(id=i, gpus=1, work=20) for i in "abcd"] + [Job(id="wide", gpus=99, work=1)]
    rows = [Segment(j, 0, 20, {0: 1}) for j in range(3)]
    run = run_of(jobs, rows, sizes=[3], now=20, rejected={4: "too wide"})
    assert curve(distributions({"x": run}))[1][-1] == 0.75


def test_long_curves_are_thinned_but_close() -> None:
    values = np.sort(np.random.default_rng(0).lognormal(8, 3, 50_000))
    at = chart_data.curve_ranks(values.size)
    assert at.size <= chart_data.MOST_POINTS
    assert (at[0], at[-1]) == (0, values.size - 1)
    assert np.diff(at).max() <= values.size / 250
    assert np.diff(at[-10:]).max() < 10  # the longest jobs are all there


def test_a_run_looks_the_same_in_every_panel() -> None:
    panels = distributions(many(12)).axes
    looks = [[(line.get_color(), line.get_linestyle()) for line in axes.lines] for axes in panels]
    assert looks[0] == looks[1] == looks[2]
    assert len(set(looks[0])) == 12


# --- fairness and use ----------------------------------------------------------------------------


def test_the_map_holds_the_windows() -> None:
    runs = many(2)
    figure = run_plots.user_fairness(runs)
    users = run_plots._users(runs)
    for axes, run in zip(figure.axes, runs.values(), strict=False):
        drawn = axes.images[0].get_array()
        expected = metrics.window_rho(run, 10)[users]
        np.testing.assert_array_equal(np.ma.filled(drawn, np.nan), expected)
    assert "windows of 10 s" in words(figure)


def test_the_largest_users_come_first_and_small_ones_are_left_out() -> None:
    users = [User(f"u{k:02}") for k in range(30)]
    jobs = [Job(id=u.id, gpus=1, user=u.id, work=10 * (k + 1)) for k, u in enumerate(users)]
    rows = [Segment(k, 0, 10 * (k + 1), {0: 1}) for k in range(30)]
    text = words(run_plots.user_fairness({"x": run_of(jobs, rows, sizes=[30], users=users)}))
    assert "the 24 largest users" in text
    assert "u29" in text
    assert "u06" in text
    assert "u05" not in text


def test_runs_of_other_users_are_refused() -> None:
    one = run_of([], [], sizes=[4], users=[User("a")])
    two = run_of([], [], sizes=[4], users=[User("a"), User("b")])
    with pytest.raises(ValueError, match="the runs are not of the same instance"):
        run_plots.user_fairness({"one": one, "two": two})


def test_the_strip_holds_what_was_used_and_wanted() -> None:
    jobs = [Job(id="a", gpus=2, work=100), Job(id="b", gpus=3, work=50)]
    rows = [Segment(0, 0, 100, {0: 2}), Segment(1, 100, 150, {0: 3})]
    figure = use({"x": run_of(jobs, rows, sizes=[4])})
    held, wanted = (patch for patch in figure.axes[0].patches if hasattr(patch, "get_data"))
    assert set(held.get_data().values.tolist()) == {0.5, 0.75}  # type: ignore[attr-defined]
    assert set(wanted.get_data().values.tolist()) == {1.0, 0.75}  # type: ignore[attr-defined]
    # 200 + 150 of 4 * 100 + 3 * 50
    assert "64 % of what" in words(figure)


def test_a_bar_is_what_was_won_and_a_line_the_most() -> None:
    won = {"a": 5.0, "b": -2.0, "none": 0.0}
    axes = run_plots.amounts("Revenue", chart_data.amounts(won, "revenue", 8.0)).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [8, 5, 8, 0, 8, 0]  # type: ignore[attr-defined]
    assert [line.get_xdata() for line in axes.lines] == [[8.0, 8.0]]
    assert axes.get_xlim() == (0, 8)
    assert plots.to_svg(run_plots.amounts("", chart_data.amounts({"a": -1.0}, "revenue", None)))


# --- GPU models ----------------------------------------------------------------------------------


def layers(figure: Figure, panel: int) -> list[list[float]]:
    """Heights of the layers of a panel, by user, in the order of what they held."""
    patches = [p for p in figure.axes[panel].patches if isinstance(p, StepPatch)]
    tops = [np.asarray(p.get_data().values) for p in patches]
    floors = [np.asarray(p.get_data().baseline) for p in patches]
    return [np.unique(t - f).round(12).tolist() for t, f in zip(tops, floors, strict=True)]


def test_the_layers_hold_who_had_what_of_which_model() -> None:
    """For a minute a has 2 of the 4 new GPUs, of which all 6 GPUs are a fair share of 4.

    b has 1 of the 2 old ones, at half the speed, and a fair share of 1: its demand.
    """
    cluster = Cluster([Node("n0", 4, "new"), Node("n1", 2, "old")])
    jobs = [
        Job(id="a", gpus=2, work=180, user="u", speeds={"new": 3}),
        Job(id="b", gpus=1, work=30, user="v", speeds={"old": 0.5}),
    ]
    instance = Instance(cluster, jobs, [User("v"), User("u", weight=2)])
    run = drive(instance, Fifo())
    assert run.now == 60
    figure = run_plots.model_shares({"fifo": run})
    fair, new, old, work = (layers(figure, panel) for panel in range(4))
    assert fair == [[pytest.approx(2 / 6)], [pytest.approx(1 / 6)]]
    assert (new, old) == ([[0.5], [0]], [[0], [0.5]])
    assert work == [[pytest.approx(6 / 6.5)], [pytest.approx(0.5 / 6.5)]]
    assert [axes.get_title() for axes in figure.axes] == [
        "fair shares", "new: 4", "old: 2", "work: 6.5"
    ]  # fmt: skip


def test_users_without_a_colour_are_one_layer() -> None:
    users = [User(f"u{i}") for i in range(9)]
    jobs = [Job(id=u.id, gpus=1, work=60 + i, user=u.id) for i, u in enumerate(users)]
    instance = Instance(Cluster([Node("n0", 9, "a"), Node("n1", 1, "b")]), jobs, users)
    figure = run_plots.model_shares({"fifo": drive(instance, Fifo())})
    assert "3 others" in words(figure)
    assert len(layers(figure, 1)) == 7
    assert max(layers(figure, 1)[-1]) == pytest.approx(3 / 9)


# --- nodes over time -----------------------------------------------------------------------------


def test_nodes_are_as_dark_as_jobs_held_their_gpus() -> None:
    instance = Instance(
        Cluster.of_sizes([2, 4]), [Job(id="a", gpus=2, work=60), Job(id="b", gpus=2, work=120)]
    )
    run = replace(drive(instance, Fifo()), now=120)
    data = gantt_data.shares_of({"fifo": run})
    axes = run_plots.nodes_held(data).axes[0]
    (image,) = axes.images
    share = np.asarray(image.get_array())
    assert share.shape == (2, data["bins"])
    gpu_time = (share.mean(axis=1) / 1000 * 120) @ [2, 4]
    assert gpu_time == pytest.approx(2 * 60 + 2 * 120, rel=0.01)
    assert [text.get_text() for text in axes.texts] == ["n0", "n1", "fifo"]
    assert axes.get_xlabel() == "seconds from the start of the instance"
