"""Pictures: what is in them, that they stay small, and that they come out the same."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from gangsched.analysis.comparing.comparison import Comparison, Row
from gangsched.analysis.show import plots
from gangsched.formulations.problem import Sense
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, RingJob, Schedule, Segment
from gangsched.instances.generate import paper_cluster, rar_workload
from gangsched.solvers import Bound, sjf_bco
from strategies import rar_problems

TWO_NODES = Cluster.of_sizes([4, 2])


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


def comparison(*rows: Row, bound: Bound | None = None) -> Comparison:
    return Comparison(
        problem="RarDdls", instance="hand", sense=Sense.MIN, bound=bound, rows=tuple(rows)
    )


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


@pytest.mark.parametrize(("value", "text"), [(1.0001, "1.001"), (4 / 3, "1.334"), (2.0, "2.000")])
def test_a_shown_ratio_is_never_too_small(value: float, text: str) -> None:
    assert plots.shown_ratio(value) == text


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
    text = words(plots.overview(comparison(*rows), problem))
    assert f"bco: makespan {result.objective} slots" in text
    assert "certified ratio" in text
    alone = plots.overview(comparison(rows[0]), problem)
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
