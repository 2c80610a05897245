"""Figures 6 and 9 to 14 of Ye et al.: what was reproduced is what the documentation shows."""

from __future__ import annotations

import re
from collections import Counter
from statistics import fmean
from typing import Any

import pytest

from figure_page import DOCS, FigurePage
from gangsched.analysis.papers.ltgf import figures as figures
from gangsched.analysis.papers.reproduce import TARGETS, Study
from gangsched.solvers.policy import information_of

FIGURES = [name for name in TARGETS if name.startswith("ltgf:")]
PHILLY, VENUS = (
    ("Philly, load 0.9", "Philly, load 1.2", "Philly, 210 nodes"),
    ("Venus-like, 133 nodes", "Venus-like, 100 nodes"),
)
CROWDED = ("Philly, load 0.9", "Philly, load 1.2", "Venus-like, 100 nodes")


PAGE = FigurePage("ltgf")
committed, restored = PAGE.committed, PAGE.restored


def test_instances_are_those_of_the_paper_s_section_6() -> None:
    """26,505 submissions in 14 days; 11,304 jobs of 16 users on 1,064 and 800 GPUs, thrice."""
    facts = restored("ltgf:fig13").instances
    whole = [f"{name}, all jobs" for name in CROWDED]
    assert [name for name in facts if name not in whole] == [*PHILLY, *VENUS]
    assert [name for name in facts if name in whole] == whole
    assert {facts[name]["jobs"] for name in PHILLY} == {26_505}
    assert [facts[name]["GPUs"] for name in VENUS] == [1064, 800]
    for name in VENUS:
        assert facts[name]["jobs"] == [11_304] * 3
        assert facts[name]["seeds"] == [0, 1, 2]
        assert facts[name]["users"] == [16] * 3
    assert facts["Philly, 210 nodes"]["nodes"] == 210
    for name, load in zip(PHILLY, (0.9, 1.2), strict=False):
        assert facts[name]["days"] == "32 to 46"
        assert facts[name]["offered load"] == pytest.approx(load, abs=0.02)


def test_the_page_says_who_is_told_run_times() -> None:
    told = {n for n, make in figures.POLICIES.items() if information_of(make()) is not None}
    assert told == {"AlloX", "Themis", "Themis, greedy"}
    page = (DOCS / "papers" / "ltgf_figures.md").read_text("utf-8")
    assert "AlloX and Themis (with its greedy form) are told run times; no other" in page


def test_who_is_left_out_stands_on_the_page() -> None:
    """The counts in the tables are those of the instances, and all jobs are compared as well."""
    study = restored("ltgf:fig13")
    (table,) = re.findall(r"^\| Venus-like, 100 nodes \|.*$", study.to_markdown(), re.MULTILINE)
    out = study.instances["Venus-like, 100 nodes"]["rejected for all policies"]
    assert all(number > 0 for number in out)
    assert all(f"{number:,} (" in table for number in out)
    for name in CROWDED:
        assert study.instances[f"{name}, all jobs"]["rejected for all policies"] in (0, [0] * 3)
        there = {row.policy for row in study.rows if row.instance == f"{name}, all jobs"}
        assert {"LTGF (8)", "Tiresias-L", "FIFO"} <= there
        assert "YARN-CS" not in there


def test_each_draw_stands_beside_the_mean() -> None:
    for row in restored("ltgf:fig13").rows:
        draws = [row.values.get(f"mean_completion [{seed}]") for seed in figures.SEEDS]
        if row.instance.startswith("Venus"):
            assert row.values["mean_completion"] == pytest.approx(
                fmean(map(float, draws)), rel=1e-5
            )
            assert len(set(draws)) == len(figures.SEEDS)
        else:
            assert draws == [None] * 3


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "ltgf:fig6"])
def test_nothing_of_single_jobs_is_kept(name: str) -> None:
    """Means, shares and quantiles; one row a policy, and in Fig. 11 one a user."""
    study = restored(name)
    assert all(len(row.curve) <= 47 for row in study.rows)
    assert max(Counter((row.instance, row.policy) for row in study.rows).values()) <= 17
    assert all(len(row.values) <= 40 for row in study.rows)


def test_the_figures_agree_where_they_meet() -> None:
    """Runs of one policy on one cluster occur in several figures."""
    jct, slow = restored("ltgf:fig13"), restored("ltgf:fig12")
    loss, users, sizes = (restored(f"ltgf:fig{n}") for n in (10, 11, 14))
    assert jct.policies == slow.policies == users.policies
    assert set(jct.policies) < set(loss.policies)
    for workload, instance in (("Philly", PHILLY[1]), ("Venus-like", VENUS[1])):
        nodes = jct.instances[instance]["nodes"]  # the smallest of the workload
        for policy in sizes.policies:
            for study, measure in ((jct, "mean_completion"), (loss, "loss")):
                value = sizes.value(workload, policy, measure, nodes)
                assert value == study.value(instance, policy, measure)


def test_tiresias_is_fairer_to_jobs_only_for_it_may_stop_them_at_any_round() -> None:
    study = restored("ltgf:fig10")
    for instance in study.instances:
        if instance == PHILLY[2]:
            continue  # where nobody waits
        own, free, bound = (
            study.value(instance, policy, "loss") or 0.0
            for policy in ("LTGF (8)", "Tiresias-L", "Tiresias-L, leases")
        )
        assert free < own < bound


def test_rounds_alone_take_more_below_0_95_than_is_printed() -> None:
    study = restored("ltgf:fig10")
    for instance in VENUS:
        assert (study.value(instance, "no contention, 10 s", "loss_release") or 0.0) > 0.071
        assert study.value(instance, "no contention, 10 s", "loss") == 0


# --- run again -----------------------------------------------------------------------------------


def test_one_run_comes_out_again() -> None:
    """On 133 nodes no job is too wide for anybody's quota, so that other policies do not matter."""
    case = figures.cases_of()[0]
    policy = {"LTGF (16)": figures.POLICIES["LTGF (16)"]}
    for name, figure in (("ltgf:fig13", figures.fig13), ("ltgf:fig12", figures.fig12)):
        (row,) = figure(cases=[case], policies=policy).rows
        (known,) = (
            one
            for one in restored(name).rows
            if (one.instance, one.policy) == (row.instance, row.policy)
        )
        own = {n: value for n, value in known.values.items() if n.endswith(" [0]")}
        assert {n: value for n, value in row.values.items() if n.endswith("]")} == own


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
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
        for measure in [m for m in row.values if m.endswith(" [0]")]:
            assert row.values[measure] == there.values[measure]
    for instance, facts in study.instances.items():
        whole = restored(name).instances[instance]
        for fact in (
            ("jobs", "instance hash", "rejected for all policies") if "seeds" in facts else ()
        ):
            assert facts[fact] == whole[fact][:1]


@pytest.mark.parametrize(
    ("name", "measure"),
    [("ltgf:fig9", "mean_completion"), ("ltgf:fig12", "mean_slowdown"),
     ("ltgf:fig13", "mean_completion"), ("ltgf:fig14", "mean_completion")],
)  # fmt: skip
def test_ratios_of_a_cluster_are_to_one_bound(name: str, measure: str) -> None:
    """Whoever runs the same jobs on the same GPUs is measured against the same mean."""
    bounds: dict[Any, list[float]] = {}
    for row in restored(name).rows:
        for suffix in ("", *(f" [{seed}]" for seed in range(3))):
            value, ratio = row.values.get(measure + suffix), row.values.get("ratio" + suffix)
            if value is not None and (suffix or "seeds" not in restored_facts(name, row.instance)):
                assert ratio is not None
                assert ratio >= 1
                place = (row.instance, suffix, row.x if name.endswith("14") else None)
                bounds.setdefault(place, []).append(value / ratio)
    assert len(bounds) > 8
    for found in bounds.values():
        assert max(found) / min(found) - 1 < 1e-4


def restored_facts(name: str, instance: str) -> Any:
    return committed(name)["instances"][instance]
