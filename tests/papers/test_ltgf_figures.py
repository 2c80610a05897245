"""Figures 6 and 9 to 14 of Ye et al.: what was reproduced is what the documentation shows."""

import pytest

from figure_page import DOCS, FigurePage, check_first_draw
from gangsched.analysis.papers.ltgf import figures as figures
from gangsched.analysis.papers.reproduce import TARGETS, Study
from gangsched.solvers.policy import information_of

PAGE = FigurePage("ltgf")
committed, restored = PAGE.committed, PAGE.restored


def test_the_page_says_who_is_told_run_times() -> None:
    told = {n for n, make in figures.POLICIES.items() if information_of(make()) is not None}
    assert told == {"AlloX", "Themis", "Themis, greedy"}
    page = (DOCS / "papers" / "ltgf_figures.md").read_text("utf-8")
    assert "AlloX and Themis (with its greedy form) know run times; no other" in page


# --- run again -----------------------------------------------------------------------------------


def test_one_run_comes_out_again() -> None:
    """On 133 nodes no job is too wide for anybody's quota, so that other policies do not matter."""
    case = figures.cases_of()[0]
    policy = {"LTGF (16)": figures.POLICIES["LTGF (16)"]}
    for name, figure in (("ltgf:fig13", figures.fig13), ("ltgf:fig12", figures.fig12)):
        (row,) = figure(cases=[case], policies=policy).rows
        known = restored(name).row(row.instance, row.policy)
        assert known is not None
        check_first_draw(row, known)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TARGETS if name.startswith("ltgf:")])
def test_what_needs_no_trace_comes_out_again(name: str) -> None:
    """The first draw of the synthetic jobs, and Fig. 6."""
    first = [case for case in figures.cases_of() if case.seed == 0]
    study = TARGETS[name](**{} if name == "ltgf:fig6" else {"cases": first})
    assert isinstance(study, Study)
    known = {(row.instance, row.policy, row.x): row for row in restored(name).rows}
    assert study.rows
    for row in study.rows:
        there = known[row.instance, row.policy, row.x]
        if name == "ltgf:fig6":
            assert row == there
        check_first_draw(row, there)
    for instance, facts in study.instances.items():
        whole = restored(name).instances[instance]
        for fact in (
            ("jobs", "instance hash", "rejected for all policies") if "seeds" in facts else ()
        ):
            assert facts[fact] == whole[fact][:1]
