"""Pictures: what is in them, that they stay small, and that they come out the same."""

import re
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from gangsched.analysis.comparing.comparison import Comparison, Relaxed, Row
from gangsched.analysis.show import plots
from gangsched.formulations import CompletionTime, UniSched
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, RingJob, Schedule, Segment
from gangsched.instances.generate import paper_cluster, rar_workload
from gangsched.solvers import Bound, Result, Stop, sjf_bco
from strategies import rar_problems

TWO_NODES = Cluster.of_sizes([4, 2])
HAND = RarDdls(
    Instance(TWO_NODES, [RingJob(id="a", gpus=1, iterations=4, gradient=0, base_time=0.9)])
)


def rectangles(figure: Figure) -> list[tuple[float, float, float]]:
    """(start, end, rows) of every bar."""
    found = []
    for group in figure.axes[-1].collections:
        assert isinstance(group, PolyCollection)
        for path in group.get_paths():
            (left, top), (right, bottom) = path.vertices.min(0), path.vertices.max(0)
            found.append((float(left), float(right), round(float(bottom - top), 6)))
    return sorted(found)


def words(figure: Figure) -> str:
    return " ".join(re.findall(r">([^<]+)</text>", plots.to_svg(figure)))


def comparison(*rows: Row, bound: Bound | None = None, problem: Any = None) -> Comparison:
    return Comparison(problem=problem or HAND, bound=bound, rows=tuple(rows))


# --- gantt ---------------------------------------------------------------------------------------


def test_contiguous_gpus_are_one_rectangle() -> None:
    row = Segment(0, 0, 5, {0: 3, 1: 1}, {0: (0, 1, 3), 1: (0,)})
    figure = plots.gantt(Schedule.of([row]), TWO_NODES)
    assert rectangles(figure) == [(0, 5, 1), (0, 5, 1), (0, 5, 2)]


def test_only_spanning_jobs_are_hatched() -> None:
    rows = [Segment(0, 0, 5, {0: 2}), Segment(1, 0, 5, {0: 1, 1: 1})]
    groups = plots.gantt(Schedule.of(rows), TWO_NODES).axes[0].collections
    assert sorted((len(g.get_paths()), bool(g.get_hatch())) for g in groups) == [
        (1, False),
        (2, True),
    ]


def test_without_devices_the_lowest_free_gpus_are_drawn() -> None:
    rows = [Segment(0, 0, 4, {0: 2}), Segment(1, 2, 6, {0: 2}), Segment(2, 4, 6, {0: 2})]
    figure = plots.gantt(Schedule.of(rows), TWO_NODES)
    assert rectangles(figure) == [(0, 4, 2), (2, 6, 2), (4, 6, 2)]


def test_colours_go_from_light_to_dark_with_the_gang() -> None:
    rows = [Segment(j, j, j + 1, {0: g}) for j, g in enumerate([1, 2, 4])]
    groups = plots.gantt(Schedule.of(rows), TWO_NODES).axes[0].collections
    light = [sum(group.get_facecolor()[0][:3]) for group in groups]
    assert light == sorted(light, reverse=True)
    assert len(set(light)) == 3


def test_sizes_between_powers_of_two_share_a_colour() -> None:
    big = Cluster.of_sizes([16])
    rows = [Segment(j, j, j + 1, {0: g}) for j, g in enumerate([1, 5, 6, 8])]
    assert "5–8" in words(plots.gantt(Schedule.of(rows), big))


def test_makespan_bound_and_unit_are_written() -> None:
    jobs = [RingJob(id=f"job{i}", gpus=2, iterations=50, gradient=0, base_time=0.1) for i in "ab"]
    problem = RarDdls(Instance(Cluster.of_sizes([2]), tuple(jobs)))
    result = sjf_bco(problem)
    figure = plots.gantt(result.solution, problem, bound=Bound(8, "hand"))
    text = words(figure)
    assert "Makespan 12 slots, bound 8 (hand): at most 1.500 times the optimum" in text
    assert "bound 8 " in text
    assert "joba" in text
    assert "time (slots)" in text
    lines = [line.get_xdata()[0] for line in figure.axes[0].lines]
    assert set(lines) == {8}


def test_a_schedule_as_long_as_its_bound_is_optimal() -> None:
    figure = plots.gantt(Schedule.of([Segment(0, 0, 4, {0: 1})]), TWO_NODES, bound=Bound(4, "hand"))
    assert "Makespan 4, bound 4 (hand): optimal" in words(figure)


def named(figure: Figure) -> dict[str, set[tuple[float, float]]]:
    """Start and end of the bars that bear each name."""
    axes, found = figure.axes[-1], {}
    for text in axes.texts:
        x, y = text.get_position()
        for group in axes.collections:
            for path in group.get_paths():
                (left, top), (right, bottom) = path.vertices.min(0), path.vertices.max(0)
                if left <= x <= right and min(top, bottom) <= y <= max(top, bottom):
                    found.setdefault(text.get_text(), set()).add((left, right))
    return found


@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("place", ["instance", "problem"])
def test_a_name_stands_on_a_segment_of_its_job(devices: bool, place: str) -> None:
    """In whatever order segments come, with or without device numbers, suspended or not."""
    jobs = [RingJob(id=id, gpus=2, iterations=4, gradient=0, base_time=0.9) for id in "abc"]
    problem = RarDdls(Instance(Cluster.of_sizes([2, 2]), jobs))
    rows = [(2, 8, 12, 0), (0, 4, 8, 0), (1, 0, 4, 0), (0, 9, 12, 1), (2, 0, 9, 1)]
    schedule = Schedule.of(
        Segment(job, start, end, {node: 2}, {node: (0, 1)} if devices else None)
        for job, start, end, node in rows
    )
    figure = plots.gantt(schedule, problem.instance if place == "instance" else problem)
    assert named(figure) == {
        "a": {(4, 8), (9, 12)}, "b": {(0, 4)}, "c": {(8, 12), (0, 9)},
    }  # fmt: skip


#: one lease on two GPUs: the single one is worth 60, the gang 100
QUEUE = UniSched(
    Instance(
        Cluster.of_sizes([2]),
        [
            DeadlineJob(id="one", gpus=1, work=600, rewards=[(600, 60)]),
            DeadlineJob(id="two", gpus=2, work=600, rewards=[(600, 100)]),
        ],
    )
)


def test_of_a_reward_the_title_says_so_and_no_line_stands_for_the_bound() -> None:
    single, gang = (Schedule.of([Segment(j, 0, 600, {0: j + 1})]) for j in (0, 1))
    title = "Reward 60 of at most 100 (hand): the optimum is at most 1.667 times it"
    figure = plots.gantt(single, QUEUE, bound=Bound(100, "hand"))
    assert (figure.texts[0].get_text(), figure.axes[0].get_xlabel()) == (title, "time (seconds)")
    assert not figure.axes[0].lines
    optimal = plots.gantt(gang, QUEUE, bound=Bound(100, "hand"))
    assert optimal.texts[0].get_text() == "Reward 100 of at most 100 (hand): optimal"
    alone = plots.gantt(gang, QUEUE)
    assert alone.texts[0].get_text() == "Reward 100, more is better"


@pytest.mark.parametrize(("measure", "lines"), [("makespan", 2), ("flow", 0)])
def test_only_a_bound_of_the_end_is_drawn(measure: Any, lines: int) -> None:
    """Two jobs of 60 s on one GPU: the second ends at 120 s, completion times sum up to 180 s."""
    jobs = [Job(id=id, gpus=1, work=60) for id in "ab"]
    problem = CompletionTime(Instance(Cluster.of_sizes([1]), jobs), measure)
    schedule = Schedule.of([Segment(j, 60 * j, 60 * j + 60, {0: 1}) for j in (0, 1)])
    figure = plots.gantt(schedule, problem, bound=Bound(100, "hand"))
    assert len(figure.axes[0].lines) == lines
    title = figure.texts[0].get_text()
    if measure == "makespan":
        assert title.startswith("Makespan 120 seconds, bound 100 (hand): at most 1.200 times")
    else:
        assert title.startswith("Sum of completion times 180 seconds, bound 100 (hand)")


def test_a_schedule_better_than_its_bound_is_refused() -> None:
    schedule = Schedule.of([Segment(1, 0, 600, {0: 2})])
    with pytest.raises(ValueError, match=r"objective=100.* beats the bound 99 \(hand, maximise\)"):
        plots.gantt(schedule, QUEUE, bound=Bound(99, "hand"))


def test_no_title_and_no_caption_is_cut() -> None:
    bound = Bound(1234567.125, "a method with a long name")
    name = "a-solver-of-somebody-else:with-a-variant"
    row = Row(
        solver=name, status="feasible", bound=bound, ratio=1.5, objective=1.0, runtime=0.0,
        result=Result.of(
            QUEUE, Schedule.of([Segment(0, 0, 600, {0: 1})]), solver=name, stop=Stop.COMPLETED
        ),
    )  # fmt: skip
    relaxed = [Relaxed(name=f"kind {k}", problem=QUEUE, bound=bound) for k in range(3)]
    found = replace(comparison(row, bound=bound, problem=QUEUE), relaxed=tuple(relaxed))
    figure = plots.overview(found)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    inside = figure.bbox
    labels = [*figure.texts, *(axes.xaxis.label for axes in figure.axes)]
    assert any("kind 2" in label.get_text() for label in labels)
    for label in labels:
        box = label.get_window_extent(canvas.get_renderer())
        assert inside.x0 <= box.x0 <= box.x1 <= inside.x1, label.get_text()
        assert inside.y0 <= box.y0 <= box.y1 <= inside.y1, label.get_text()


def test_many_jobs_get_no_names() -> None:
    problem = RarDdls(rar_workload(Cluster.uniform(nodes=2, gpus_per_node=16), jobs=41))
    assert " j1 " not in words(plots.gantt(sjf_bco(problem).solution, problem))


def test_a_node_too_many_is_refused() -> None:
    with pytest.raises(ValueError, match="schedule: node number 2, but the cluster has 2 nodes"):
        plots.gantt(Schedule.of([Segment(0, 0, 4, {2: 1})]), TWO_NODES)


def test_more_gpus_than_there_are_are_refused() -> None:
    rows = [Segment(0, 0, 4, {1: 2}), Segment(1, 3, 5, {1: 1})]
    with pytest.raises(ValueError, match="schedule: node 'n1' has too few GPUs at time 3"):
        plots.gantt(Schedule.of(rows), TWO_NODES)


def test_a_device_too_many_is_refused() -> None:
    row = Segment(0, 0, 4, {1: 1}, {1: (2,)})
    with pytest.raises(ValueError, match="schedule: node 'n1' has no GPU 2"):
        plots.gantt(Schedule.of([row]), TWO_NODES)


def test_paper_scale_stays_light_and_readable() -> None:
    problem = RarDdls(rar_workload(paper_cluster(seed=0), seed=0))
    figure = plots.gantt(sjf_bco(problem).solution, problem)
    assert len(plots.to_svg(figure)) < 300_000
    labels = figure.axes[0].get_yticks()
    rows_per_inch = figure.axes[0].get_ylim()[0] / (figure.get_figheight() - 1.38)
    assert min(b - a for a, b in pairwise(labels)) >= 0.14 * rows_per_inch


@given(rar_problems())
def test_every_schedule_can_be_drawn(problem: RarDdls) -> None:
    """Whatever the names: a job called $x$ is no formula."""
    result = sjf_bco(problem)
    if result.solution is not None:
        figure = plots.gantt(result.solution, problem, bound=result.bound)
        drawn = sum((end - start) * rows for start, end, rows in rectangles(figure))
        held = sum((row.end - row.start) * sum(row.gpus.values()) for row in result.solution)
        assert drawn == pytest.approx(held)


def test_names_are_no_formulas() -> None:
    job = RingJob(id=r"$\frac$", gpus=4, iterations=50, gradient=0, base_time=0.1)
    problem = RarDdls(Instance(Cluster.of_sizes([4]), (job,)))
    assert r"$\frac$" in words(plots.gantt(sjf_bco(problem).solution, problem))
    row = Row(solver="$a$", status="feasible", objective=3, ratio=1.5, runtime=0.0)
    assert "$a$" in words(plots.ratio(comparison(row)))


# --- ratio ---------------------------------------------------------------------------------------


def test_ratios_are_sorted_and_labelled() -> None:
    bound = Bound(10, "hand")
    rows = [
        Row(solver="b", status="feasible", objective=15, bound=bound, ratio=1.5, runtime=0.0),
        Row(solver="none", status="unknown", runtime=0.0),
        Row(solver="a", status="optimal", objective=10, bound=bound, ratio=1.0, runtime=0.0),
    ]
    figure = plots.ratio(comparison(*rows, bound=bound))
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b", "none"]
    assert [text.get_text() for text in axes.texts] == ["1.000", "1.500", "unknown"]
    assert [bar.get_x() + bar.get_width() for bar in axes.patches] == [1.0, 1.5, 1.0]
    assert "bound 10 (hand, verified)" in axes.get_xlabel()


def test_a_ratio_without_a_bound_says_so() -> None:
    row = Row(solver="a", status="feasible", objective=3, runtime=0.0)
    assert plots.ratio(comparison(row)).axes[0].get_xlabel() == "no verified bound"
    assert plots.ratio(comparison()).axes[0].get_xlabel() == "no verified bound"


# --- overview and files --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> tuple[RarDdls, Any]:
    problem = RarDdls(rar_workload(Cluster.uniform(nodes=2, gpus_per_node=16), jobs=12))
    return problem, sjf_bco(problem)


def test_the_overview_shows_the_best_schedule(small: tuple[RarDdls, Any]) -> None:
    problem, result = small
    rows = [
        Row(solver="none", status="unknown", runtime=0.0),
        Row(solver="bco", status="feasible", objective=9, ratio=1.5, runtime=0.0, result=result),
    ]
    text = words(plots.overview(comparison(*rows, problem=problem)))
    assert f"bco: makespan {result.objective} slots" in text
    assert "certified ratio" in text
    alone = plots.overview(comparison(rows[0], problem=problem))
    assert len(alone.axes) == 1


def test_the_same_picture_has_the_same_bytes(small: tuple[RarDdls, Any], tmp_path: Path) -> None:
    problem, result = small
    for kind in ("png", "svg"):
        files = [tmp_path / f"{k}.{kind}" for k in "ab"]
        for file in files:
            plots.save(plots.gantt(result.solution, problem), file)
        first, second = (file.read_bytes() for file in files)
        assert first == second
        assert not re.search(rb"20\d\d-\d\d-\d\d|Software|Matplotlib v", first)


def test_other_kinds_of_file_are_refused(small: tuple[RarDdls, Any]) -> None:
    figure = plots.gantt(small[1].solution, small[0])
    with pytest.raises(ValueError, match=r"picture 'a\.gif': the name must end in \.png or \.svg"):
        plots.save(figure, "a.gif")


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_names_of_any_script_are_drawn_without_a_warning(kind: str, tmp_path: Path) -> None:
    figure = Figure()
    figure.text(0.1, 0.5, "\u5f20\u4e09 \u0905\u0928\u093f\u0932 \x1b]0;x\x07 \u202eeve")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.save(figure, tmp_path / f"names.{kind}")
    if kind == "svg":
        text = (tmp_path / "names.svg").read_text("utf-8")
        assert "\u5f20\u4e09 \u0905\u0928\u093f\u0932 " in text
        assert r"\x1b]0;x\x07 \u202eeve" in text


# --- bracket -------------------------------------------------------------------------------------


def closing(*history: tuple[float, float | None, float | None], runtime: float) -> Result[Any]:
    made = Result.of(
        HAND, solver="closing", solution=sjf_bco(HAND).solution, stop=Stop.COMPLETED,
        bound=Bound(3, "by hand"), runtime=0,
    )  # fmt: skip
    return replace(made, history=history, runtime=runtime)


def test_a_bracket_has_both_sides_as_steps_and_shades_what_is_between() -> None:
    history = (1.0, None, 1.0), (2.0, 8.0, 1.0), (3.0, 6.0, 3.0)
    figure = plots.bracket(closing(*history, runtime=4.0))
    best, bound = figure.axes[0].lines
    assert np.array_equal(best.get_xdata(), [1, 2, 3, 4])
    assert np.array_equal(best.get_ydata(), [np.nan, 8, 6, 6], equal_nan=True)
    assert np.array_equal(bound.get_ydata(), [1, 1, 3, 3])
    assert {best.get_drawstyle(), bound.get_drawstyle()} == {"steps-post"}
    (shaded,) = figure.axes[0].collections
    assert shaded.get_paths()[0].get_extents().extents.tolist() == [2, 1, 4, 8]
    assert "closing: best 4, bound 3: at most 1.334 times the optimum" in words(figure)
    assert figure.axes[0].get_xscale() == "linear"


def test_a_bracket_that_takes_long_to_close_is_drawn_over_the_logarithm_of_time() -> None:
    axes = plots.bracket(closing((0.0, 5, 1), (0.1, 4, 3), runtime=9.0)).axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_xlim() == (0.001, 9)


def test_without_a_history_there_is_no_bracket_to_draw() -> None:
    with pytest.raises(ValueError, match="bracket: the result of closing has no history"):
        plots.bracket(closing(runtime=1.0))
