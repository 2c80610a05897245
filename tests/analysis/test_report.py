"""The report: what it says, that it is one complete file, and that nothing gets in unescaped."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangsched import solvers as baselines
from gangsched.analysis.comparing.comparison import Comparison, compare
from gangsched.analysis.show import page as html_page
from gangsched.analysis.show import report
from gangsched.analysis.show.report import write_report
from gangsched.formulations import UniSched
from gangsched.formulations.rar_ddls.problem import RarDdls, evaluate
from gangsched.instances import Cluster, DeadlineJob, Instance, RingJob, Schedule, Segment
from gangsched.instances.generate import rar_workload
from gangsched.solvers import Bound, Refuted, Result, Stop, sjf_bco
from web_page import EVIL, Page, assert_escaped, assert_self_contained, untimed


@pytest.fixture(scope="module")
def problem() -> RarDdls:
    return RarDdls(rar_workload(Cluster.uniform(nodes=4, gpus_per_node=8), jobs=40, seed=1))


@pytest.fixture(scope="module")
def comparison(problem: RarDdls) -> Comparison:
    solvers = {"sjf-bco": sjf_bco, "backfilling": baselines.backfilling, "broken": lambda p: 1 / 0}
    return compare(problem, solvers)


def written(folder: Path, *args: Any, **more: Any) -> str:
    path = folder / "report.html"
    write_report(path, *args, **{"title": "A title", **more})
    return path.read_text("utf-8")


def test_it_says_what_is_proven(tmp_path: Path, problem: RarDdls, comparison: Comparison) -> None:
    page = Page(written(tmp_path, comparison))
    best = min(
        (row for row in comparison.rows if row.objective), key=lambda row: row.objective or 0
    )
    bound = comparison.bound
    assert bound is not None
    assert best.objective > bound.value
    ratio = float(re.findall(r"so it is at most ([\d.]+) times the optimum", page.text)[0])
    assert best.objective / bound.value <= ratio <= best.objective / bound.value + 0.001
    assert f"The best, {best.solver}, reaches a makespan of {best.objective} slots;" in page.text
    assert f"no schedule can be below {bound.value}" in page.text
    assert "3 solvers on one problem: 40 jobs on 4 nodes, 32 GPUs" in page.text
    assert f"(method: {bound.method})" in page.text
    assert "ZeroDivisionError: division by zero" in page.text


def test_of_a_reward_it_says_what_no_schedule_is_above(tmp_path: Path) -> None:
    """A single GPU, worth 60, in the way of a gang of two, worth 100. At a price of 50 both gain
    10 beside the 100 that the GPUs cost, and rewards are multiples of 20."""
    worth = {1: 60, 2: 100}
    jobs = [DeadlineJob(id=f"j{n}", gpus=n, work=600, rewards=[(600, worth[n])]) for n in worth]
    queue = UniSched(Instance(Cluster.of_sizes([2]), jobs))

    def single(problem: UniSched) -> Result[Any]:
        schedule = Schedule.of([Segment(0, 0, 600, {0: 1})])
        bound = Bound(100, "hand", {"kind": "lease prices", "prices": [[50]], "scale": 1})
        return Result.of(problem, schedule, solver="single", stop=Stop.COMPLETED, bound=bound)

    page = Page(written(tmp_path, compare(queue, {"single": single})))
    assert "The best, single, reaches a reward of 60; no schedule can be above 100" in page.text
    assert "so the optimum is at most 1.667 times it" in page.text
    assert "Certified ratio: the verified bound over the objective" in page.text
    assert "bound / objective; bound 100 (lp dual, verified)" in page.text
    assert "Reward 60 of at most 100 (lp dual): the optimum is at most 1.667 times it" in page.text


def test_everything_is_inside(tmp_path: Path, problem: RarDdls, comparison: Comparison) -> None:
    text = written(tmp_path, comparison)
    assert Page(text).tags.count("svg") == 3
    assert_self_contained(text)
    assert "prefers-color-scheme: dark" in text


def test_only_timings_differ(tmp_path: Path, problem: RarDdls, comparison: Comparison) -> None:
    slower = tuple(replace(row, runtime=row.runtime + 1) for row in comparison.rows)
    pages = [written(tmp_path, made) for made in (comparison, replace(comparison, rows=slower))]
    assert pages[0] != pages[1]
    assert untimed(pages[0]) == untimed(pages[1])


def test_an_optimum_is_called_so(tmp_path: Path) -> None:
    job = RingJob(id="a", gpus=1, iterations=60, gradient=0, base_time=0.7)
    problem = RarDdls(Instance(Cluster.of_sizes([1]), (job,)))
    page = Page(written(tmp_path, compare(problem, {"sjf-bco": sjf_bco})))
    assert "1 solver on one problem: 1 job on 1 node, " in page.text
    assert "proven to be optimal by a verified bound" in page.text


def test_no_schedule_and_no_bound(tmp_path: Path, comparison: Comparison, problem: RarDdls) -> None:
    none = replace(comparison, rows=comparison.rows[2:], bound=None)
    page = Page(written(tmp_path, none))
    assert "None of them found a schedule" in page.text
    assert "nothing is certified" in page.text
    bare = tuple(replace(row, bound=None, ratio=None) for row in comparison.rows)
    unproven = Page(written(tmp_path, replace(comparison, rows=bare, bound=None)))
    assert "Nothing is proven about how far from optimal that is" in unproven.text


def test_everything_is_escaped(tmp_path: Path) -> None:
    jobs = (RingJob(id=EVIL, gpus=4, iterations=60, gradient=0, base_time=0.7),)
    problem = RarDdls(Instance(Cluster.of_sizes([4]), jobs, name=EVIL))

    def solver(problem: RarDdls) -> Result[Any]:
        schedule = evaluate(problem, [0], [{0: 4}])
        return Result.of(problem, schedule, solver=EVIL, stop=Stop.COMPLETED, info={EVIL: EVIL})

    def fails(problem: RarDdls) -> Result[Any]:
        raise ValueError(EVIL)

    made = compare(problem, {EVIL: solver, "fails": fails})
    made = replace(made, refuted=(Refuted(EVIL, None, (EVIL,)),), unfinished=(EVIL,))
    text = written(tmp_path, made, title=EVIL, notes=[EVIL], rejected=[(EVIL, EVIL)])
    assert_escaped(text, times=10)


def test_refuted_variants_stand_apart(
    tmp_path: Path, comparison: Comparison, problem: RarDdls
) -> None:
    violations = ("capacity (2): node n0 holds 9 of its 8 GPUs at slot 3",) * 300
    refuted = replace(comparison, refuted=(Refuted("printed", None, violations),))
    page = Page(written(tmp_path, refuted))
    assert "printed: 300 violations" in page.text
    assert page.text.count("holds 9 of its 8") == html_page.MOST_LISTED
    assert "and 100 more" in page.text
    assert page.text.index("Refuted variants") > page.text.index("Versions")
    assert "Refuted variants" not in Page(written(tmp_path, comparison)).text


def test_notes_and_rejected_jobs_are_listed(
    tmp_path: Path, comparison: Comparison, problem: RarDdls
) -> None:
    rejected = [("j7", "gpus=128 exceeds the cluster's 32")]
    page = Page(written(tmp_path, comparison, notes=["Read 9 rows"], rejected=rejected))
    assert "Read 9 rows" in page.text
    assert "1 rejected job, not scheduled j7: gpus=128 exceeds the cluster's 32" in page.text
    assert "4 nodes of 8" in page.text


def test_the_other_schedule(problem: RarDdls, comparison: Comparison) -> None:
    best = min(
        (row for row in comparison.rows if row.objective), key=lambda row: row.objective or 0
    )
    assert best.solver == "backfilling"
    other = report._other(comparison, best)
    assert other is not None
    assert other.solver == "sjf-bco"


def test_160_jobs_on_64_gpus_stay_small(tmp_path: Path) -> None:
    problem = RarDdls(rar_workload(Cluster.uniform(nodes=8, gpus_per_node=8), seed=0))
    made = compare(problem, {"sjf-bco": sjf_bco, "random": baselines.random_placement})
    assert len(written(tmp_path, made)) < 1_500_000
