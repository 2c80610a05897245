"""Tables 2 and 3 and Figs. 1, 2, 4 to 11 of Chaudhary et al.: what the page shows is reproduced."""

from functools import cache

import numpy as np
import pytest

from figure_page import FigurePage
from gangsched.analysis.papers.gandiva_fair import figures as figures
from gangsched.analysis.papers.gandiva_fair import runs as runs
from gangsched.analysis.papers.reproduce import Study
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Fifo

PAGE = FigurePage("gandiva_fair")
OVER_TIME = ("fig4", "fig5", "fig6", "fig7", "fig10", "fig11")


def restored(figure: str) -> Study:
    return PAGE.restored(f"gandiva_fair:{figure}")


# --- printed numbers -----------------------------------------------------------------------------


#: by an independent program, on other random draws of the same markets
KNOWN_SURPLUS = {
    "K80 + V100": (0.93, 0.85, 0.78, 0.76),
    "K80 + P100 + V100": (0.82, 0.78, 0.71, 0.73),
    "K80 + P40 + P100 + V100": (0.84, 0.70, 0.66, 0.58),
}
KNOWN_AT_20 = {
    "midpoint": (0.84, 0.82, 0.68),
    "nash": (0.81, 0.81, 0.75),
    "second-of-all": (0.13, 0.11, 0.11),
}


def test_the_surplus_is_what_another_program_found() -> None:
    study = restored("surplus")
    for place, due in KNOWN_SURPLUS.items():
        found = [study.value(place, "second", "mean", x) for x in (3, 5, 10, 20)]
        assert found == pytest.approx(due, abs=0.05)
    for rule, due in KNOWN_AT_20.items():
        found = [study.value(place, rule, "mean", 20) for place in KNOWN_SURPLUS]
        assert found == pytest.approx(due, abs=0.05), rule


# --- run again, small ----------------------------------------------------------------------------


def test_figure_1_comes_out_again() -> None:
    assert figures.fig1().to_json() == restored("fig1").to_json()


def test_figure_2_comes_out_again() -> None:
    assert figures.fig2().to_json() == restored("fig2").to_json()


@pytest.mark.slow
def test_table_3_comes_out_again() -> None:
    again, known = figures.table3(), restored("table3")
    for row in known.rows:
        value = again.value(row.instance, row.policy, "value")
        assert value == pytest.approx(row.values["value"], rel=1e-6)


@cache
def short(figure: str) -> Study:
    found: Study = getattr(figures, figure)(until=1800)
    return found


@pytest.mark.parametrize("figure", ["fig4", "fig5", "fig7", "fig10"])
def test_a_short_run_is_the_head_of_the_long_one(figure: str) -> None:
    known = {(r.instance, r.policy): r.curve for r in restored(figure).rows if r.curve}
    bins = 2 if figure == "fig4" else 3
    for row in short(figure).rows:
        if row.curve and not row.policy.endswith("ideal"):
            assert row.curve[:bins] == known[row.instance, row.policy][:bins]


def test_no_more_gpus_are_held_than_there_are() -> None:
    for figure in OVER_TIME:
        study = restored(figure)
        for place, facts in study.instances.items():
            curves = {r.policy: np.array(r.curve) for r in study.rows
                      if r.instance == place and r.curve}  # fmt: skip
            everybody = curves.pop("all")
            assert everybody.max() <= facts["GPUs"] + 1e-6
            own = [c for name, c in curves.items() if not name.endswith("ideal")]
            np.testing.assert_allclose(sum(own), everybody, atol=0.02)


# --- what is read off a run ----------------------------------------------------------------------


def two_users() -> Instance[Job]:
    """Three equal jobs: u has two and v one on two GPUs; v's is short."""
    jobs = [
        Job(id="u1", user="u", gpus=1, work=600),
        Job(id="u2", user="u", gpus=1, work=600),
        Job(id="v1", user="v", gpus=1, work=300, release=60),
    ]
    return Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])


def test_ideal_shares_by_hand() -> None:
    run = runs.driven(two_users(), Fifo())
    assert run.records.end.tolist() == [600, 600, 900]
    times = np.array([0, 120, 600, 900])
    # u alone for 60 s, then one GPU each until u has gone; v has one job
    assert runs.ideal_shares(run, times).tolist() == [[1.5, 0.5], [1.0, 1.0], [0.0, 1.0]]


def test_a_user_leaves_when_its_jobs_ask_for_less_than_its_share() -> None:
    jobs = [Job(id=f"{u}{k}", user=u, gpus=1, work=60 * w, release=0)
            for u, k, w in (("u", 1, 5), ("u", 2, 20), ("v", 1, 30), ("v", 2, 30))]  # fmt: skip
    run = runs.driven(Instance(Cluster.of_sizes([4]), jobs, [User("u"), User("v")]), Fifo())
    first, second = runs.leavings(run, [(0,), (1,)])
    assert (first.begin, first.end) == (300, 1200)
    assert (second.begin, second.end) == (1200, 1800)  # of four GPUs, it asks for two


def test_phases_are_between_departures() -> None:
    leavings = [runs.Span(3000, 3100), runs.Span(3600, 5000), runs.Span(6100, 7000)]
    assert runs.phases(60, leavings) == [runs.Span(60, 3000)]  # the second is too short
    assert runs.phases(0, []) == []


def test_a_mean_over_a_phase_counts_parts_of_bins() -> None:
    times, values = np.array([0, 60, 120]), np.array([[1.0], [4.0]])
    assert runs.within(times, values, runs.Span(30, 120)).tolist() == [3.0]
    assert runs.within(times, values, runs.Span(80, 110)).tolist() == [4.0]


def test_where_jobs_run_and_how_often_they_move() -> None:
    run = runs.driven(two_users(), Fifo())
    where = runs.on_servers(run, 0, 12)
    assert where.tolist() == [[1] * 10 + [0] * 2] * 2 + [[0] * 10 + [1] * 2]
    assert runs.held(where, [1, 1, 1]) == [10 / 12, 10 / 12, 2 / 12]
    assert runs.moves(where) == 0
