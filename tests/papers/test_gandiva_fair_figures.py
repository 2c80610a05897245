"""Tables 2 and 3 and Figs. 1, 2, 4 to 11 of Chaudhary et al.: what the page shows is reproduced."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from figure_page import FigurePage
from gangsched.analysis.papers.gandiva_fair import figures as figures
from gangsched.analysis.papers.gandiva_fair import runs as runs
from gangsched.analysis.papers.reproduce import TARGETS, Agreement, Study, takes_trace
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Fifo

PAGE = FigurePage("gandiva_fair")
FIGURES = [name for name in TARGETS if name.startswith("gandiva_fair:")]
OVER_TIME = ("fig4", "fig5", "fig6", "fig7", "fig10", "fig11")


def restored(figure: str) -> Study:
    return PAGE.restored(f"gandiva_fair:{figure}")


def test_every_table_and_figure_is_there() -> None:
    parts = {"table2", "table3", "surplus", *(f"fig{k}" for k in (1, 2, *range(4, 12)))}
    assert set(FIGURES) == {f"gandiva_fair:{part}" for part in parts}
    assert not any(takes_trace(name) for name in FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_verdicts_and_settings_follow_from_the_rows(name: str) -> None:
    PAGE.check_verdicts_and_settings(name)


@pytest.mark.parametrize("name", FIGURES)
def test_the_page_shows_the_data(name: str) -> None:
    PAGE.check_it_shows_the_data(name, most_bytes=300_000)


SPOKEN: dict[str, dict[str, str]] = {
    "fig1": {
        "(a): C waits; A and B have 4 GPUs each": "+",
        "(b): one user has 4 GPUs, the other two have 2 each": "+",
        "(c): with equal time slices on a server, C has 4/3 GPUs": "+",
        "(d): A and B have 3 GPUs each, C has 2: fair to users": "+",
        "Gandiva_fair allocates GPUs as in (d)": "-",
        "it does if no job migrates": "-",
        "(e): A and B have 3 GPUs each, C has 2": "+",
    },
    "fig2": {
        "each of six users has its fair share, 1.33 GPUs": "--",
        "no GPU idles": "-+",
    },
    "table2": {
        "66.7, 33.3 and 16.7 % in 6 intervals": "+",
        "backfilling gives about 72, 37 and 12 % of the time": "--",
        "it is unbalanced over 100 intervals": "+",
    },
    "table3": {
        "after four trades A has 40 K80s, C 8 V100s: worth 40, 40 and 50": "++",
        "overall efficiency is maximised": "-",
        "the competitive equilibrium is what trading gives": "+",
    },
    "surplus": {
        "trading maximises efficiency": "---",
        "who has no slow GPUs left must not set the price": "+++",
        "halfway prices capture more than second prices, of ten users and more": "+++",
    },
    "fig4": {"each user has its ideal share of 1.33 GPUs": "+"},
    "fig5": {
        "each user has its ideal share of 2.66 GPUs": "+",
        "then User2 and User3 have 4 GPUs each": "+",
    },
    "fig6": {
        "each class of users has close to its fair share": "+",
        "after the 8-GPU jobs the others have their fair share of all": "-",
    },
    "fig7": {
        "each user has about 21.3 GPUs": "+",
        "each user has its share in any ten minutes": "-",
        "in total close to 64 GPUs are used throughout": "+",
    },
    "fig8": {
        "User1 and User4 gain about 30 % by trading": "--",
        "net performance improves or remains the same": "++-+",
        "it gets what its fair share is worth": "++-+",
        "by the speeds of Table 1, User1 and User4 can gain 30 % both": "-",
        "around hour 4 the rate with trading dips, and then increases": "+",
    },
    "fig9": {
        "a multitude of trades is made, some are undone: negative rates": "+",
        "trades are undone when jobs or users depart": "+",
        "printed rates lie between what the fast GPU is worth to the seller and to the buyer": "-",
    },
    "fig10": {
        "four users have equal shares: 3 V100s": "+",
        "four users have equal shares: 16 K80s": "+",
        "after User1 three users have equal shares: about 4 V100s": "+",
        "after User1 three users have equal shares: about 8 P100s": "+",
        "and keep them until one of them has few jobs left": "-++",
    },
    "fig11": {
        "shares diverge from the fair ones by trades": "+++",
        "users start with roughly their fair share": "---",
    },
}


@pytest.mark.parametrize("figure", SPOKEN)
def test_what_the_words_say_is_in_the_data(figure: str) -> None:
    PAGE.check_what_it_speaks_of(f"gandiva_fair:{figure}", SPOKEN[figure])


# --- printed numbers -----------------------------------------------------------------------------


def test_table_2_and_3_are_exact() -> None:
    stride = [r.values["exact"] for r in restored("table2").rows if r.instance.endswith("stride")]
    assert stride == pytest.approx([400 / 6, 400 / 6, 200 / 6, 200 / 6, 100 / 6, 100 / 6], rel=1e-5)
    table = restored("table3")
    for name, due in (("fair shares", (25, 40, 45)), ("trading", (40, 40, 50))):
        assert [table.value(name, user, "value") for user in "ABC"] == list(due)
    assert table.value("largest total", "all", "value") == 133.75
    assert table.value("max-min", "A", "value") == pytest.approx(25 * 1.1881, rel=1e-4)
    assert [table.value("Nash welfare", u, "value") for u in "ABC"] == pytest.approx([40, 40, 50])


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


SHORT: dict[str, dict[str, Any]] = {
    "table2": {"seeds": 2, "quanta": (10, 20)},
    "surplus": {"markets": 2, "users": (3, 10)},
    **{name: {"until": 1800} for name in (*OVER_TIME, "fig8", "fig9")},
}


@cache
def short(figure: str) -> Study:
    found: Study = getattr(figures, figure)(**SHORT[figure])
    return found


@pytest.mark.parametrize("figure", SHORT)
def test_short_runs_have_rows_verdicts_and_a_picture(figure: str) -> None:
    study = short(figure)
    assert study.name == f"gandiva_fair:{figure}"
    assert study.statements
    assert {s.verdict for s in study.statements} <= set(Agreement)
    assert study.plot().axes


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
    assert (first.since, first.end) == (300, 1200)
    assert (second.since, second.end) == (1200, 1800)  # of four GPUs, it asks for two


def test_phases_are_between_departures() -> None:
    leavings = [runs.Leaving(3000, 3100), runs.Leaving(3600, 5000), runs.Leaving(6100, 7000)]
    assert runs.phases(60, leavings) == [runs.StablePhase(60, 3000)]  # the second is too short
    assert runs.phases(0, []) == []


def test_a_mean_over_a_phase_counts_parts_of_bins() -> None:
    times, values = np.array([0, 60, 120]), np.array([[1.0], [4.0]])
    assert runs.within(times, values, runs.StablePhase(30, 120)).tolist() == [3.0]
    assert runs.within(times, values, runs.StablePhase(80, 110)).tolist() == [4.0]


def test_where_jobs_run_and_how_often_they_move() -> None:
    run = runs.driven(two_users(), Fifo())
    where = runs.on_servers(run, 0, 12)
    assert where.tolist() == [[1] * 10 + [0] * 2] * 2 + [[0] * 10 + [1] * 2]
    assert runs.held(where, [1, 1, 1]) == [10 / 12, 10 / 12, 2 / 12]
    assert runs.moves(where) == 0
