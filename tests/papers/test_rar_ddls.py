"""Figures 4 to 7 of Yu et al.: what was reproduced is what the documentation shows."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from figure_page import FigurePage
from gangsched import solvers as baselines
from gangsched.analysis.papers.experiment import FigureCell, Outcome
from gangsched.analysis.papers.rar_ddls import figures as figures
from gangsched.analysis.papers.reproduce import TARGETS, FigureRow, Study, reproduce
from gangsched.analysis.papers.study import per_seed
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Instance
from gangsched.instances.generate import paper_cluster, rar_workload
from gangsched.solvers import BackfillingParams, SjfBcoParams, area_bound, laminar, sjf_bco

FIGURES = [name for name in TARGETS if name.startswith("rar_ddls:")]
PAGE = FigurePage("rar_ddls")
SEEDS = range(5)


def restored(name: str) -> Study:
    return PAGE.restored(name)


def verdicts(study: Study) -> dict[str, bool]:
    """Of one variant."""
    return {said.text: said.verdict == "agrees" for said in study.statements}


def of_seed(rows: list[FigureRow], seed: int) -> list[tuple[object, ...]]:
    """What one seed gave, of a study with others too."""
    names = [name for name in rows[0].values if name.endswith(f"[{seed}]")]
    return [(r.instance, r.policy, r.x, *(r.values[name] for name in names)) for r in rows]


# --- the committed data --------------------------------------------------------------------------


def test_no_run_beats_its_bound() -> None:
    ratios = [
        row.values[per_seed("ratio", seed)] or 0.0
        for name in FIGURES
        for row in restored(name).rows
        for seed in SEEDS
    ]
    assert min(ratios) >= 1
    assert sum(ratio > 1 for ratio in ratios) > 0.9 * len(ratios)


def test_the_figures_agree_where_they_meet() -> None:
    """20 servers, kappa = 1 and lambda = 1, and kappa = 32 occur in two figures each."""

    def of(name: str, policy: str, x: int | None) -> dict[tuple[str, int], float | None]:
        rows = [r for r in restored(name).rows if (r.policy, r.x) == (policy, x)]
        return {(r.instance, s): r.values[per_seed("makespan", s)] for r in rows for s in SEEDS}

    for policy in ("SJF-BCO", "FF", "LS", "RAND", "LS in SJF order"):
        assert of("rar_ddls:fig4", policy, None) == of("rar_ddls:fig6", policy, 20)
    assert of("rar_ddls:fig5", "SJF-BCO", 1) == of("rar_ddls:fig7", "SJF-BCO", 1)
    assert of("rar_ddls:fig5", "SJF-BCO", 32) == of("rar_ddls:fig4", "LS in SJF order", None)
    best = of("rar_ddls:fig4", "SJF-BCO", None)
    kappas = [of("rar_ddls:fig5", "SJF-BCO", k) for k in (1, 2, 4, 8, 16, 32)]
    assert best == {key: min(spans[key] or 1200 for spans in kappas) for key in best}


# --- run again -----------------------------------------------------------------------------------


def test_one_seed_comes_out_again() -> None:
    done: list[str] = []
    study = figures.fig4(seeds=[1], variants=["A, light"], progress=done.append)
    known = [row for row in restored("rar_ddls:fig4").rows if row.instance == "A, light"]
    assert of_seed(list(study.rows), 1) == of_seed(known, 1)
    assert done[0] == "fig4: A, light, SJF-BCO, seed 1 (1 of 15)"
    assert done[-1] == "fig4: A, light, lower bound, seed 1 (15 of 15)"


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_the_whole_figure_comes_out_again(name: str) -> None:
    """A seed of all variants, contentions, policies and values of the axis."""
    study = TARGETS[name](seeds=[2])
    assert of_seed(list(study.rows), 2) == of_seed(list(restored(name).rows), 2)


def test_runs_are_those_that_the_settings_say() -> None:
    """The same numbers from the solvers themselves."""
    instance = rar_workload(paper_cluster(20, seed=3), seed=3, variant="B")
    problem = RarDdls(instance, horizon=1200)
    ordered = Instance(instance.cluster, tuple(sorted(instance.jobs, key=lambda job: job.gpus)))
    results = {
        "SJF-BCO": sjf_bco(problem),
        "FF": baselines.first_fit(problem),
        "LS": baselines.list_scheduling(problem),
        "LS in SJF order": baselines.list_scheduling(RarDdls(ordered, horizon=1200)),
        "FF in SJF order": baselines.first_fit(RarDdls(ordered, horizon=1200)),
        "backfilling, longest first": baselines.backfilling(problem),
        "backfilling, least GPU time first": baselines.backfilling(
            problem, params=BackfillingParams(order="area")
        ),
        "laminar": laminar(problem),
        "LBSGF alone, lambda 8": sjf_bco(problem, params=SjfBcoParams(kappa=1, reach=8)),
    }
    rows = {r.policy: r.values for r in restored("rar_ddls:fig4").rows if r.instance == "B, light"}
    for name, result in results.items():
        assert result.solution is not None
        own = rows[name]
        assert own["makespan [3]"] == result.objective
        mean = fmean(result.solution.end.tolist())
        assert own["mean_completion [3]"] == pytest.approx(mean, abs=1e-6)
        assert (own["bound [3]"] or 0) >= area_bound(problem).value
    random = [baselines.random_placement(problem, seed=seed).objective for seed in range(15, 20)]
    assert rows["RAND"]["makespan [3]"] == fmean(span or 0 for span in random)


def test_kappa_and_lambda_are_what_varies() -> None:
    problem = RarDdls(rar_workload(paper_cluster(20, seed=1), seed=1, variant="A"), horizon=1200)
    for name, params in {
        "rar_ddls:fig5": {kappa: SjfBcoParams(kappa=kappa) for kappa in (1, 2, 4, 8, 16, 32)},
        "rar_ddls:fig7": {reach: SjfBcoParams(kappa=1, reach=reach) for reach in (1, 2, 4, 8)},
    }.items():
        spans = {
            row.x: row.values["makespan [1]"]
            for row in restored(name).rows
            if row.instance == "A, light"
        }
        assert spans == {x: sjf_bco(problem, params=own).objective for x, own in params.items()}


# --- verdicts, means and files by hand -----------------------------------------------------------

OTHERS = {
    "LS in SJF order": 120,
    "FF in SJF order": 120,
    "backfilling, longest first": 110,
    "backfilling, least GPU time first": 110,
    "laminar": 105,
    "LBSGF alone, lambda 8": 118,
}
Spans = dict[str, dict[int, list[int | None]]]


def by_hand(name: str, spans: dict[int, Spans]) -> Study:
    """Makespans of A, light by x (0: nothing varies), policy, seed and repeat; bounds are 100."""
    figure = TARGETS[name]
    finished: list[tuple[FigureCell, Outcome]] = []
    for x, policies in spans.items():
        for policy, seeds in policies.items():
            for seed, repeats in seeds.items():
                cell = FigureCell(
                    instance="A, light", policy=policy, run=figures._run, x=x or None, seed=seed,
                    workload=figures.RarWorkload("A, light", seed, x or 20, 1200),
                )  # fmt: skip
                for span in repeats:
                    mean = None if span is None else span / 2
                    finished.append((cell, {"makespan": span, "mean_completion": mean}))
                bound = figures.replace(cell, policy=figures.BOUND, run=figures._bound)
                finished.append((bound, {"bound": 100}))
    for step in figure.steps:
        finished = step(finished)
    return figure.study({"A, light": {}}, figure.rows(finished, figure.measures))


def one(**spans: int | None) -> Spans:
    return {policy: {0: [span]} for policy, span in {**spans, **OTHERS}.items()}


def fig4(bco: int, ff: int, ls: int, rand: int | None) -> Study:
    return by_hand("rar_ddls:fig4", {0: one(**{"SJF-BCO": bco}, FF=ff, LS=ls, RAND=rand)})


def test_verdicts_of_figure_4() -> None:
    first = "SJF-BCO has the smallest mean makespan of the paper's four policies"
    last = "RAND has the largest mean makespan of the four"
    order = "The job order alone gives SJF-BCO's makespan: LS in SJF order is within 1 %"
    agreed, other = verdicts(fig4(120, 130, 140, 150)), verdicts(fig4(131, 130, 140, 135))
    assert agreed[first]
    assert agreed[last]
    assert agreed[order]
    assert not other[first]
    assert not other[last]
    assert not other[order]


@pytest.mark.parametrize(
    ("spans", "holds"),
    [
        ([9, 8, 7, 8, 9, 5], True),  # falls, rises, falls
        ([9, 8, 8, 9, 9, 5], True),  # level stretches do not count
        ([9, 8, 7, 6, 5, 4], False),
        ([5, 6, 7, 6, 5, 4], False),
        ([9, 8, 7, 8, 7, 8], False),
    ],
)
def test_verdict_of_figure_5(spans: list[int], holds: bool) -> None:
    kappas = zip((1, 2, 4, 8, 16, 32), spans, strict=True)
    study = by_hand("rar_ddls:fig5", {x: {"SJF-BCO": {0: [100 + span]}} for x, span in kappas})
    claim = "As kappa increases, the mean makespan drops, rises and drops again"
    assert verdicts(study)[claim] is holds


@pytest.mark.parametrize(
    ("spans", "holds"), [([9, 8, 8, 7], True), ([9, 7, 8, 6], False), ([9, 9, 9, 9], False)]
)
def test_verdict_of_figure_7(spans: list[int], holds: bool) -> None:
    reaches = zip((1, 2, 4, 8), spans, strict=True)
    study = by_hand("rar_ddls:fig7", {x: {"SJF-BCO": {0: [100 + span]}} for x, span in reaches})
    assert verdicts(study)["The mean makespan falls as lambda increases"] is holds


def test_verdicts_of_figure_6() -> None:
    few = one(**{"SJF-BCO": 200}, FF=260, LS=250, RAND=300)
    many = one(**{"SJF-BCO": 150}, FF=160, LS=160, RAND=170)
    assert all(verdicts(by_hand("rar_ddls:fig6", {10: few, 20: many})).values())
    swapped = verdicts(by_hand("rar_ddls:fig6", {10: many, 20: few}))
    assert not any(holds for text, holds in swapped.items() if "at every number" not in text)


def test_runs_beyond_the_horizon_are_shown() -> None:
    study = fig4(120, 130, 140, None)
    (rand,) = (row.values for row in study.rows if row.policy == "RAND")
    assert (rand["beyond"], rand["makespan"], rand["mean_completion"]) == (1, 1200, None)
    text = study.to_markdown()
    assert "| RAND | ≥ 1200.0 | – | 12.000 (12.000) |" in text
    assert "| FF | 130.0 | 65.0 | 1.300 (1.300) |" in text
    assert "1 of 14 runs beyond T, which count as T;" in text
    assert verdicts(study)["RAND has the largest mean makespan of the four"]


def test_a_run_beyond_the_horizon_is_found() -> None:
    """With 10 servers and a horizon that nothing can meet."""
    problem = RarDdls(rar_workload(paper_cluster(10, seed=0), seed=0), horizon=300)
    assert sjf_bco(problem).objective is None


def test_repeats_count_once_a_seed() -> None:
    both: Spans = {p: {0: [140], 1: [240]} for p in ("SJF-BCO", "FF", "LS", *OTHERS)}
    rand: Spans = {"RAND": {0: [150, 160, 170, 180, 190], 1: [270] * 5}}
    study = by_hand("rar_ddls:fig4", {0: {**both, **rand}})
    names = ("makespan", "ratio", "worst")
    found = {row.policy: [row.values[name] for name in names] for row in study.rows}
    assert found["RAND"] == [(170 + 270) / 2, 2.2, 2.7]
    assert found["FF"] == [190, 1.9, 2.4]


def test_files_hold_every_seed_and_are_the_same_each_time(tmp_path: Path) -> None:
    study = fig4(120, 130, 140, 150)
    first, second = (study.write(tmp_path / name) for name in "ab")
    assert [path.name for path in first] == [f"rar_ddls-fig4.{k}" for k in ("json", "csv", "png")]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
    assert '"A, light",SJF-BCO,,makespan [0],120' in first[1].read_text("utf-8")
    rows = json.loads(first[0].read_text("utf-8"))["rows"]
    assert [FigureRow.of(row) for row in rows] == list(study.rows)


def test_pictures_show_every_policy_and_the_bound() -> None:
    study = restored("rar_ddls:fig4")
    bars = study.plot()
    assert len(bars.axes) == 2
    assert len(bars.axes[0].patches) == len(study.policies) * len(study.instances)
    mean = study.value("A, light", "SJF-BCO", "makespan")
    assert bars.axes[0].patches[0].get_height() == pytest.approx(mean)
    for figure, shown in ((bars, study.policies), (restored("rar_ddls:fig6").plot(), ("FF", "LS"))):
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert {*shown, "verified bound"} <= set(labels)


def test_an_unknown_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="target 'rar_ddls:fig3' is not one of rar_ddls:fig4, "):
        reproduce("rar_ddls:fig3", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_fewer_servers_are_a_prefix() -> None:
    """Bounds of one seed fall as servers are added, which they need not do for other clusters."""
    study = figures.fig6(seeds=[2], variants=["A, light"])
    xs = study.xs("A, light")
    bounds = [study.value("A, light", "FF", "bound", x) or 0.0 for x in xs]
    assert bounds == sorted(bounds, reverse=True)


def test_a_variant_alone_can_be_drawn() -> None:
    assert len(figures.fig7(seeds=[0], variants=["B, light"]).plot().axes) == 1
