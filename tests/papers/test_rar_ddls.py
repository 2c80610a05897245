"""Figures 4 to 7 of Yu et al.: what was reproduced is what the documentation shows."""

from statistics import fmean

import pytest

from figure_page import FigurePage
from gangsched import solvers as baselines
from gangsched.analysis.papers.experiment import FigureCell, Outcome
from gangsched.analysis.papers.rar_ddls import figures as figures
from gangsched.analysis.papers.reproduce import TARGETS, FigureRow, Study
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Instance
from gangsched.instances.generate import paper_cluster, rar_workload
from gangsched.solvers import BackfillingParams, SjfBcoParams, area_bound, laminar, sjf_bco

FIGURES = [name for name in TARGETS if name.startswith("rar_ddls:")]
PAGE = FigurePage("rar_ddls")
SEEDS = range(5)


def restored(name: str) -> Study:
    return PAGE.restored(name)


def of_seed(rows: list[FigureRow], seed: int) -> list[tuple[object, ...]]:
    """What one seed gave, of a study with others too."""
    names = [name for name in rows[0].values if name.endswith(f"[{seed}]")]
    return [(r.instance, r.policy, r.x, *(r.values[name] for name in names)) for r in rows]


# --- run again -----------------------------------------------------------------------------------


def test_one_seed_comes_out_again() -> None:
    done: list[str] = []
    study = figures.fig4(seeds=[1], variants=["A, light"], progress=done.append)
    known = [row for row in restored("rar_ddls:fig4").rows if row.instance == "A, light"]
    assert of_seed(list(study.rows), 1) == of_seed(known, 1)
    assert done[0] == "fig4: A, light, SJF-BCO, seed 1 (1 of 11)"
    assert done[-1] == "fig4: A, light, lower bound, seed 1 (11 of 11)"


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


# --- means by hand -------------------------------------------------------------------------------

Spans = list[list[int | None]]


def fig4(rand: Spans, others: Spans) -> Study:
    """Figure 4 on A, light, of makespans by seed and repeat; bounds are 100."""
    figure = TARGETS["rar_ddls:fig4"]
    finished: list[tuple[FigureCell, Outcome]] = []
    for cell in figure.cells(seeds=range(len(rand)), variants=["A, light"]):
        spans = (rand if cell.policy == "RAND" else others)[cell.seed]
        means = figures.means([None if s is None else (s, s / 2) for s in spans], 1200)
        finished.append((cell, {"bound": 100} if cell.policy == figures.BOUND else {**means}))
    for step in figure.steps:
        finished = step(finished)
    return figure.study({"A, light": {}}, figure.rows(finished, figure.measures))


def test_runs_beyond_the_horizon_are_shown() -> None:
    study = fig4([[None]], [[130]])
    (rand,) = (row.values for row in study.rows if row.policy == "RAND")
    assert (rand["beyond"], rand["makespan"], rand["mean_completion"]) == (1, 1200, None)
    text = study.to_markdown()
    assert "| RAND | ≥ 1200.0 | – | 12.000 (12.000) |" in text
    assert "| FF | 130.0 | 65.0 | 1.300 (1.300) |" in text
    assert "1 of 14 runs beyond T, which count as T;" in text


def test_repeats_count_once_a_seed() -> None:
    study = fig4([[150, 160, 170, 180, 190], [270] * 5], [[140], [240]])
    names = ("makespan", "ratio", "worst")
    found = {row.policy: [row.values[name] for name in names] for row in study.rows}
    assert found["RAND"] == [(170 + 270) / 2, 2.2, 2.7]
    assert found["FF"] == [190, 1.9, 2.4]


@pytest.mark.slow
def test_fewer_servers_are_a_prefix() -> None:
    """Bounds of one seed fall as servers are added, which they need not do for other clusters."""
    study = figures.fig6(seeds=[2], variants=["A, light"])
    xs = study.xs("A, light")
    bounds = [study.value("A, light", "FF", "bound", x) or 0.0 for x in xs]
    assert bounds == sorted(bounds, reverse=True)
