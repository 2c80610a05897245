"""Panels as data: whom they show, how they are laid out, and what is drawn."""

import re
from typing import Any

import pytest

from gangsched.analysis.papers.pictures import LIMIT, Panel, draw
from gangsched.analysis.papers.study import FigureRow, Study


def study() -> Study:
    """Two workloads along x, and one where nothing varies, of two policies."""
    rows = [
        FigureRow(name, policy, x, {"time": 10.0 * x, "bound": 5.0 * x}, (1.0, 2.0))
        for name in ("a, x = jobs", "b, x = jobs")
        for policy in ("p", "q (8)")
        for x in (1, 2, 4)
    ]
    rows += [
        FigureRow("c", "p", None, {"time": 7.0, "time [0]": 6.0, "time [1]": 8.0}, (3.0, 4.0)),
        FigureRow("c", "q (8)", None, {"time": None}),
        FigureRow("c", "late", None, {"time": 700.0}),
    ]
    return Study(
        name="x:y", title="", axis="x", measures={"time": "time"}, settings={}, levels=(0.0, 9.0),
        instances={"a, x = jobs": {}, "b, x = jobs": {}, "c": {}}, rows=tuple(rows),
        drawing=lambda _: None,  # type: ignore[arg-type, return-value]
    )  # fmt: skip


def axes_of(*rows: list[Panel], **room: Any) -> list[Any]:
    return draw(study(), rows, looks={"p": ("#123456", "-")}, **room).axes


def test_a_panel_alone_goes_on_to_the_right_and_others_below() -> None:
    line = Panel("time", "seconds", "lines", title="{}")
    alone = axes_of([line])
    assert [a.get_title(loc="left") for a in alone] == ["a", "b"]
    assert [a.get_ylabel() for a in alone] == ["seconds", ""]
    assert [a.get_xlabel() for a in alone] == ["jobs", "jobs"]
    both = axes_of([line, line])
    assert [a.get_title(loc="left") for a in both] == ["a", "a", "b", "b"]
    assert len({a.get_position().y0 for a in alone}) == 1
    below = [a.get_position().y0 for a in axes_of([line], across=1)]
    assert len(below) == len({*below}) == 2


def test_a_panel_shows_the_rows_that_it_names() -> None:
    (one,) = axes_of([Panel("time", kind="lines", on="a.*", of=re.escape("q (8)"), limit="bound")])
    drawn = [list(line.get_ydata()) for line in one.lines]
    assert drawn == [[10, 20, 40], [5, 10, 20]]
    assert [text.get_text() for text in one.figure.legends[0].get_texts()] == ["q (8)", LIMIT]
    (together,) = axes_of([Panel("time", kind="lines", of="p", together=True, scale=0.1)])
    assert [list(line.get_ydata()) for line in together.lines] == [[1, 2, 4]] * 2
    assert axes_of([Panel("time", kind="lines", on="c")], [Panel("none")]) == []


def test_bars_have_whiskers_of_seeds_and_long_ones_are_cut() -> None:
    (bars,) = axes_of([Panel("time", on="c", cut=1.0)])
    assert [bar.get_height() for bar in bars.patches] == [7.0, pytest.approx(353.5)]
    assert [list(line.get_ydata()) for line in bars.lines] == [[6.0, 8.0]]
    assert [text.get_text() for text in bars.texts] == [" 700"]


def test_curves_and_shares_are_drawn_at_the_levels() -> None:
    for kind, points in (("curves", [[0, 9], [3, 4]]), ("shares", [[3, 4], [0, 9]])):
        (axes,) = axes_of([Panel("", kind=kind, on="c")])  # type: ignore[arg-type]
        (line,) = axes.lines
        assert [list(line.get_xdata()), list(line.get_ydata())] == points
