"""Table III and figures 5 to 12 of Gao et al.: what is measured, and how statements are judged."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangsched import drive
from gangsched.analysis.driving.run import EventKind
from gangsched.analysis.papers import experiment
from gangsched.analysis.papers import verdicts as verdicts_
from gangsched.analysis.papers.experiment import FigureCell, given, run_cells, seed_means
from gangsched.analysis.papers.reproduce import TARGETS, Agreement, FigureRow, Study, from_rows
from gangsched.analysis.papers.study import Values
from gangsched.analysis.papers.unisched import figures as figures
from gangsched.analysis.papers.unisched import runs as runs
from gangsched.analysis.papers.unisched import statements as statements
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.instances.generate import offered_load
from gangsched.instances.model import TargetMetric
from gangsched.solvers import Fifo
from gangsched.solvers.policies.srtf import Srtf
from gangsched.solvers.policy import Policy
from gangsched.solvers.unisched.policy import UniSchedPolicy

AGREES, DIFFERS, OPEN = Agreement.AGREES, Agreement.DIFFERS, Agreement.OPEN
SMALL = {"H": runs.WorkloadSize(4, 12, 1), "P": runs.WorkloadSize(2, 12, 1)}
NAMES = [name.removeprefix("unisched:") for name in TARGETS if name.startswith("unisched:")]
RUNS = [name for name in NAMES if name not in ("fig5", "fig10d")]


def verdicts(study: Study, start: str = "") -> dict[str, Agreement]:
    """By text; for studies of one instance."""
    return {s.text: s.verdict for s in study.statements if s.text.startswith(start)}


def seeded(**means: Sequence[float] | float) -> dict[str, float | None]:
    """Values of seeds 0, 1, ... and their mean, by measure."""
    found: dict[str, float | None] = {}
    for name, own in means.items():
        by_seed = [own] if isinstance(own, (int, float)) else list(own)
        found[name] = float(np.mean(by_seed))
        found |= {f"{name} [{seed}]": value for seed, value in enumerate(by_seed)}
    return found


def judged(
    figure: str, rows: Mapping[tuple[Any, ...], Mapping[str, float | None]], **facts: Any
) -> Study:
    """A study of rows by (instance, policy) or (instance, policy, x)."""
    made = [
        FigureRow(key[0], key[1], key[2] if len(key) > 2 else None, v) for key, v in rows.items()
    ]
    names = dict.fromkeys(row.instance for row in made)
    return from_rows(f"unisched:{figure}", dict.fromkeys(names, facts), made)


# --- workloads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["H_SLO", "P_MIX2"])
def test_nodes_are_those_that_come_closest_to_the_load(name: str) -> None:
    size = runs.WorkloadSize(6, 120, 2)
    made = runs.DeadlineWorkload(name, size, 1).instance()
    nodes = len(made.cluster.nodes)
    loads = {
        n: offered_load(replace(made, cluster=Cluster.uniform(nodes=n, gpus_per_node=8)))
        for n in range(1, 60)
    }
    widest = -(-max(job.gpus for job in made.jobs) // 8)
    work = loads[1]
    assert nodes == max(widest + 1, round(work / 1.5))
    assert loads[nodes] == pytest.approx(1.5, rel=0.2) or nodes == widest + 1


def test_variants_of_a_workload_keep_the_rest_of_it() -> None:
    base = runs.DeadlineWorkload("H_MIX2", SMALL["H"])
    jobs = base.instance().jobs
    dear = replace(base, cost=3).instance()
    assert [job.preemption_cost for job in dear.jobs] == [
        3 * (j.preemption_cost or 0) for j in jobs
    ]
    assert [replace(a, preemption_cost=0) for a in dear.jobs] == [
        replace(b, preemption_cost=0) for b in jobs
    ]
    free = replace(base, cost=0).instance()
    assert {job.preemption_cost for job in free.jobs} == {0}
    dense = replace(base, density=150).instance()
    assert (len(dense.jobs), dense.cluster) == (18, base.instance().cluster)
    hostile = replace(base, hostile=50).instance()
    assert sum(job.gpus in (3, 5, 6, 7) for job in hostile.jobs) == 6
    assert runs.density_of(base, 100) == base


def test_testbeds_with_and_without_grace() -> None:
    """The first deadline is 1.1 to 2 run times, or up to an hour later."""
    late, printed = (
        runs.DeadlineWorkload(statements.testbed_of(60, printed=p), None).instance()
        for p in (False, True)
    )
    assert [job.work for job in late.jobs] == [job.work for job in printed.jobs]
    ratios = [job.rewards[0][0] / (job.work or 1) for job in printed.jobs if job.rewards]
    assert max(ratios) <= 2
    assert max(job.rewards[0][0] - 2 * (job.work or 1) for job in late.jobs if job.rewards) > 0


# --- what is measured ----------------------------------------------------------------------------


def toy() -> Instance[DeadlineJob]:
    """On 1 GPU by FIFO: ends 600, 1200, 1800."""
    target = TargetMetric(0.5, 4, [0.1, 0.5])
    jobs = [
        DeadlineJob(id="in time", gpus=1, work=600, rewards=[(900, 100)]),
        DeadlineJob(id="late", gpus=1, work=600, rewards=[(900, 100), (1200, 20)], stopping=target),
        DeadlineJob(id="best", gpus=1, work=600),
    ]
    return Instance(Cluster.of_sizes([1]), jobs)


def test_measures_of_a_run_by_hand() -> None:
    instance = toy()
    values = runs.measure(drive(instance, Fifo(), round_length=60), instance)
    assert values["miss"] == pytest.approx(40)  # 100 and 20 of 200
    assert values["metric_miss"] == pytest.approx(80)
    assert (values["latency"], values["jct"]) == (30, 20)
    assert (values["wait"], values["longest_wait"]) == (None, None)
    assert (values["slo_suspensions"], values["be_suspensions"]) == (0, 0)
    assert values["reward"] == 120


def test_wait_is_that_for_the_end_of_profiling() -> None:
    """All of 5 minutes, one after the other on 1 GPU; a job's own profiling counts."""
    instance = replace(toy(), jobs=toy().jobs[2:])
    values = runs.measure(drive(instance, UniSchedPolicy(), round_length=60), instance)
    assert (values["wait"], values["longest_wait"]) == (300, 300)


def test_error_in_the_middle_of_training_by_hand() -> None:
    """Profiled until 300, then 1200 s without a stop. At 900 half is left, in two leases of 300.

    Expected are 600 s and one half suspension of 20 s, so 10 s too many of 1200.
    """
    job = DeadlineJob(id="a", gpus=1, work=1200, preemption_cost=20)
    instance = Instance(Cluster.of_sizes([1]), [job])
    run = drive(instance, UniSchedPolicy(), round_length=60)
    expected = {"slo_error": None, "be_error": pytest.approx(100 * 10 / 1200)}
    assert runs.errors(run, instance) == expected


def test_error_of_a_job_that_is_suspended_by_hand() -> None:
    """SRTF stops `long` from 60 to 120; it then pays 20 s, and ends at 60 + 60 + 20 + 1140 = 1280.

    Half of its 1220 s on GPUs is over at 670; 20 s of these were no work, so 1200 - 590 s are
    left, what it needs. It is best effort: 610 s in three leases, 20 s expected of suspensions
    that do not come. `short` runs for 60 s, and has nothing to expect.
    """
    jobs = [
        DeadlineJob(id="long", gpus=1, work=1200, preemption_cost=20),
        DeadlineJob(id="short", gpus=1, work=60, release=60),
    ]
    instance = Instance(Cluster.of_sizes([1]), jobs)
    run = drive(instance, Srtf(), round_length=60)
    assert run.records.end.tolist() == [1280, 120]
    error = runs.errors(run, instance)["be_error"]
    assert error == pytest.approx((100 * 20 / 1220 + 0) / 2)


def test_edf_runs_the_next_deadline_that_can_be_met() -> None:
    """At 60 `soon` arrives and goes first; `lost` can meet nothing and goes last."""
    jobs = [
        DeadlineJob(id="later", gpus=1, work=600, rewards=[(2000, 100)]),
        DeadlineJob(id="soon", gpus=1, work=300, release=60, rewards=[(400, 100)]),
        DeadlineJob(id="lost", gpus=1, work=300, release=60, rewards=[(200, 100)]),
    ]
    policy = runs.POLICIES["EDF, told"]()
    run = drive(Instance(Cluster.of_sizes([1]), jobs), policy, round_length=60, overhead=0)
    assert run.records.end.tolist() == [900, 360, 1200]


def test_rows_are_means_over_seeds_and_keep_the_seeds() -> None:
    load = runs.DeadlineWorkload("H_MIX2", SMALL["H"])
    cells = [runs.cell_of("a", "p", replace(load, seed=s), Fifo) for s in (0, 1)]
    outcomes: list[Values] = [{"miss": 10.0, "wait": None}, {"miss": 20.0, "wait": 3.0}]
    finished = list(zip(cells, outcomes, strict=True))
    (row,) = seed_means(finished, {"miss": "", "wait": "", "other": ""})
    assert row.values == {
        "miss": 15, "miss [0]": 10, "miss [1]": 20, "wait": None, "wait [0]": None, "wait [1]": 3,
    }  # fmt: skip
    study = replace(judged("fig8", {("a", "p"): {}}), rows=(row,))
    assert verdicts_.values(study, "a", "p", "miss") == [10, 20]
    assert verdicts_.values(study, "a", "p", "wait") == []
    assert verdicts_.values(study, "a", "q", "miss") == []


def test_latencies_are_normalised_at_the_same_place() -> None:
    load = runs.DeadlineWorkload("H_MIX2", SMALL["H"])
    places = [("UniSched", 80, 0), ("x", 80, 0), ("UniSched", 100, 0), ("x", 100, 0), ("x", 80, 1)]
    places += [("UniSched, told", 80, 0), ("x, told", 80, 0), ("x, told", 100, 0)]
    latencies = [10.0, 20.0, 40.0, 20.0, 7.0, 5.0, 20.0, 20.0]
    finished: experiment.Finished = [
        (runs.cell_of("a", p, replace(load, seed=s), Fifo, x), {"latency": own})
        for (p, x, s), own in zip(places, latencies, strict=True)
    ]
    found = [own for _, own in runs.normalised(finished)]
    ratios = [values["latency_ratio"] for values in found]
    assert ratios == [1, 2, 1, 0.5, None, 1, 4, None]


# --- whole figures -------------------------------------------------------------------------------


def test_fig5_is_as_worked_by_hand() -> None:
    study = figures.fig5()
    curve = {row.policy: dict(zip(study.levels, row.curve, strict=True)) for row in study.rows}
    assert [curve["soft SLO"][t] for t in (60, 65, 70, 90, 95)] == [100, 80, 50, 20, 0]
    assert [curve["strict SLO"][t] for t in (60, 65)] == [100, 0]
    assert [curve["best effort"][t] for t in (5, 15)] == [0.5, 0.25]  # 5 / (5 + t)
    assert set(curve["profiler"].values()) == {1}
    found = verdicts(study)
    assert [text for text, verdict in found.items() if verdict is not AGREES] == [
        "A best-effort job is worth the reciprocal of its remaining time",
        "1 to 100: newly submitted and best-effort jobs do not impact SLO jobs' deadlines",
    ]


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> list[FigureCell]:
    """No runs: every measure is a number that depends on policy, x and seed."""
    seen: list[FigureCell] = []

    def run(cell: FigureCell) -> Values:
        seen.append(cell)
        base = 10.0 + len(cell.policy) + (cell.x or 0) / 100 + cell.workload.seed
        names = "miss metric_miss latency jct slo_suspensions be_suspensions wait longest_wait"
        more = {"reward": 100.0, "slo_error": base, "be_error": base}
        return {**dict.fromkeys(names.split(), base), **more}

    monkeypatch.setattr(runs, "_run", run)
    monkeypatch.setattr(runs, "_bound", lambda cell: {"bound": 150.0})
    monkeypatch.setattr(experiment, "KNOWN", {})
    return seen


def made(name: str, **more: Any) -> Study:
    options: dict[str, Any] = {"sizes": SMALL, "seeds": (0, 1), "processes": 1}
    if name == "table3":
        options = {"jobs": (40, 80), "seeds": (0, 1), "processes": 1}
    if name == "fig7":
        options["curves"] = 8
    if name in ("fig10", "fig10d"):
        options["queues"] = (30, 60)
    if name in ("fig5", "fig10d"):
        options = {k: v for k, v in options.items() if k == "queues"}
    study = getattr(figures, name)(**options, **more)
    assert isinstance(study, Study)
    return study


@pytest.mark.parametrize("name", NAMES)
def test_figures_have_rows_statements_and_a_picture(name: str, canned: list[FigureCell]) -> None:
    """Every policy is named in the picture, every statement has one of its instances."""
    study = made(name)
    assert study.rows
    assert study.statements
    picture = study.plot()
    named = {text.get_text() for legend in picture.legends for text in legend.get_texts()}
    named |= {t.get_text() for a in picture.axes if a.legend_ for t in a.legend_.get_texts()}
    assert set(study.policies) <= named | {"FIFO", "printed, Kubernetes", "printed, simulator"}
    rows = [replace(row, curve=row.curve) for row in study.rows]
    again = from_rows(study.name, study.instances, rows)
    assert again.to_json() == study.to_json()
    assert study.to_markdown().count("| statement |") == 1


@pytest.mark.parametrize("name", RUNS)
def test_every_point_has_every_seed(name: str, canned: list[FigureCell]) -> None:
    study = made(name)
    for row in study.rows:
        for measure in [m for m in row.values if f"{m} [0]" in row.values]:
            own = verdicts_.values(study, row.instance, row.policy, measure, row.x)
            assert len(own) == 2
            assert row.values[measure] == pytest.approx(sum(own) / 2, rel=1e-5)


@pytest.mark.parametrize("name", ["fig6", "table3"])
def test_every_row_names_how_its_policy_knows_run_times(
    name: str, canned: list[FigureCell]
) -> None:
    """Each baseline twice, and the policies do what their labels say."""
    study = made(name)
    plain = {"FIFO": None, "UniSched, profilers worth 1": "profiled"}
    plain["UniSched, told, leases of 2 min"] = "told"
    for cell in canned:
        label, information = cell.policy, plain.get(cell.policy, cell.policy.rpartition(", ")[2])
        policy = cell.make()
        assert runs_profiling(policy) == (information == "profiled"), label
        assert information in (None, "profiled", "told", "learned")
    twice = {p.rpartition(", ")[0] for p in study.policies if p.endswith(", told")}
    assert twice == {p.rpartition(", ")[0] for p in study.policies if p.endswith(", profiled")}
    assert {"UniSched", "GENIE", "Hydra", "Optimus", "EDF"} <= twice


def runs_profiling(policy: Policy) -> bool:
    """Whether jobs are profiled when the policy runs them."""
    run = drive(toy(), policy, round_length=60)
    return bool((run.events.kind == EventKind.PROFILE).any())


def test_runs_are_made_once(canned: list[FigureCell]) -> None:
    made("fig8")
    before = len(canned)
    made("fig12")
    assert before == 12
    assert [t for t in canned[before:] if t.policy == "UniSched"] == []


def test_a_real_figure_is_the_driver_s_and_the_same_each_time(tmp_path: Path) -> None:
    sizes = {"H": runs.WorkloadSize(3, 4, 1), "P": runs.WorkloadSize(2, 4, 1)}
    study = figures.fig8(sizes=sizes, seeds=(0,), processes=1)
    load = runs.DeadlineWorkload("P_MIX1", sizes["P"], 0).instance()
    run = drive(load, UniSchedPolicy(), round_length=60, lease=600, overhead=25)
    book = run.records
    slo = [j for j, job in enumerate(load.jobs) if job.rewards]
    assert study.value("P_MIX1", "SLO", "suspensions") == pytest.approx(
        sum(int(book.starts[j]) - 1 for j in slo) / len(slo), rel=1e-5
    )
    experiment.KNOWN.clear()
    again = figures.fig8(sizes=sizes, seeds=(0,), processes=1)
    first, second = study.write(tmp_path / "a"), again.write(tmp_path / "b")
    assert [path.name for path in first] == [f"unisched-fig8.{k}" for k in ("json", "csv", "png")]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
    rows = list(csv.DictReader(io.StringIO(first[1].read_text("utf-8"))))
    found = {r["instance"]: r["value"] for r in rows if r["measure"] == "suspensions"}
    assert set(found) == set(figures.WORKLOADS)


def test_several_processes_change_nothing() -> None:
    def printed(processes: int) -> list[Any]:
        made = partial(FigureCell, instance="a", policy="p", run=given)
        cells = [made(workload={"n": n}) for n in (2, 3, 4)]
        return run_cells(cells, processes=processes, known={})

    one = printed(1)
    assert printed(2) == one
    assert [own["rows"][0][3]["n"] for own in one] == [2, 3, 4]


def test_bounds_are_verified_and_above_what_is_won() -> None:
    load = runs.DeadlineWorkload("P_MIX2", SMALL["P"])
    (cell,) = runs.and_bounds([runs.cell_of("", "FIFO", load, Fifo)])[1:]
    bound, instance = cell.run(cell)["bound"], load.instance()
    reward = runs.measure(drive(instance, Fifo()), instance)["reward"]
    assert 0 < (reward or 0) <= bound <= sum(job.top_reward for job in instance.jobs)


# --- statements ----------------------------------------------------------------------------------


def test_a_statement_must_hold_for_every_seed() -> None:
    nowhere: Any = None

    def verdict(a: Sequence[float], b: Sequence[float]) -> tuple[Agreement, str]:
        here = verdicts_.Place(nowhere, "")
        found = here.compared("", a, b, statements.percent, why="reason")
        return found.verdict, found.why

    assert verdict([1, 2], [2, 3]) == (AGREES, "")
    assert verdict([2, 3], [1, 2]) == (DIFFERS, "reason")
    assert verdict([1, 3], [2, 2]) == (OPEN, verdicts_.SEEDS_DISAGREE)
    assert verdict([1, 2], [1, 2]) == (OPEN, verdicts_.EQUAL)
    assert verdict([], [1, 2])[0] is OPEN


BASELINES = ("3Sigma", "GENIE", "Hydra", "Optimus", "Themis")
BEST = "UniSched: (almost) the least R^slo (here: least + 1 point): "
ALL_PROFILE = [("profiled", "all profile"), ("told", "all are told")]


def rates(
    name: str, latency: float = 100, information: str = "profiled", **own: float
) -> dict[tuple[Any, ...], Any]:
    """The paper's picture: UniSched 10 %, deadline-aware 20, DL schedulers 40."""
    miss = dict.fromkeys(BASELINES, 20.0) | {"UniSched": 10.0, "Optimus": 40.0, "Themis": 50.0}
    miss |= {"GENIE": 15.0, **own}
    return {
        (name, statements.knows(p, information)): seeded(
            miss=[v, v + 1], latency=[latency if p == "UniSched" else 200] * 2
        )
        for p, v in miss.items()
    }


@pytest.mark.parametrize(("information", "terms"), ALL_PROFILE)
def test_miss_rates_as_printed_and_otherwise(information: str, terms: str) -> None:
    """Judged among rows with the same information; those with another one do not count."""
    other = {"profiled": "told", "told": "profiled"}[information]
    elsewhere = rates("H_SLO", information=other, UniSched=90.0)
    good = verdicts(judged("fig6", elsewhere | rates("H_SLO", information=information)))
    group = f"Every deadline-aware baseline misses less than every DL scheduler: {terms}"
    genie = f"GENIE misses less than 3Sigma and Hydra: {terms}"
    own = f"UniSched misses less than GENIE: {terms}"
    assert {good[t] for t in (BEST + terms, group, own, genie)} == {AGREES}
    worse = rates("H_SLO", information=information, Optimus=3.0, GENIE=8.0, Hydra=7.0)
    bad = verdicts(judged("fig6", worse))
    assert {bad[t] for t in (BEST + terms, group, own, genie)} == {DIFFERS}
    near = rates("H_SLO", information=information, Optimus=9.5)
    assert verdicts(judged("fig6", near))[BEST + terms] is AGREES


def test_who_is_ahead_of_deadline_aware_baselines_is_named() -> None:
    study = judged("fig6", rates("H_SLO", Themis=19.0))
    (why,) = (s.why for s in study.statements if "every DL scheduler: all profile" in s.text)
    assert why.startswith("of Themis:")


def test_families_and_the_missing_winner() -> None:
    best_effort = "Best-effort jobs lower R^slo: MIX1 below SLO (UniSched): all profile"
    soft = "Soft deadlines lower R^slo: MIX2 below MIX1 (UniSched): all profile"
    nobody = "There is no clear winner among 3Sigma, Hydra and GENIE (least R^slo): all profile"
    rows = rates("H_SLO", UniSched=12.0) | rates("H_MIX1") | rates("H_MIX2", UniSched=8.0)
    good = verdicts(judged("fig6", rows))
    assert (good[best_effort], good[soft], good[nobody]) == (AGREES, AGREES, DIFFERS)
    rows = rates("H_SLO", UniSched=9.0) | rates("H_MIX1") | rates("H_MIX2", UniSched=11, Hydra=1)
    bad = verdicts(judged("fig6", rows))
    assert (bad[best_effort], bad[soft], bad[nobody]) == (DIFFERS, DIFFERS, AGREES)


def test_best_effort_latencies() -> None:
    text, profiled = "UniSched: the least best-effort latency: all profile", "UniSched, profiled"
    assert verdicts(judged("fig6", rates("P_MIX1", latency=200)))[text] is OPEN  # all are equal
    rows = {k: seeded(miss=10, latency=100 if k[1] == profiled else 200) for k in rates("H_MIX1")}
    assert verdicts(judged("fig6", rows))[text] is AGREES
    slow = rows | {("H_MIX1", "Optimus, profiled"): seeded(miss=10, latency=50)}
    found = verdicts(judged("fig6", slow))
    assert found[text] is DIFFERS
    helios = "Optimus has less best-effort latency than UniSched on Helios: all profile"
    assert found[helios] is AGREES
    aware = "UniSched: less best-effort latency than the deadline-aware baselines: all profile"
    assert found[aware] is AGREES


def test_densities() -> None:
    name, rises = statements.DENSITY, "UniSched: a higher density raises R^slo: all are told"
    rows = {
        (name, statements.knows(p, "told"), x): seeded(
            miss=x / 10 if p == "UniSched" else x / 5, latency=x
        )
        for p in ("UniSched", *BASELINES)
        for x in (80, 100)
    }
    study = judged("fig6", rows)
    good = verdicts(study)
    assert good[rises] is AGREES
    assert good["UniSched: the least R^slo at density 80 %: all are told"] is AGREES
    span = "(c) The others miss 1.18 to 2.67 times as much as UniSched: all are told"
    (told,) = (s for s in study.statements if s.text == span)
    assert (told.verdict, told.measured) == (OPEN, "80: 2.00 to 2.00, 100: 2.00 to 2.00")
    falls = rows | {(name, "UniSched, told", 100): seeded(miss=1, latency=1)}
    assert verdicts(judged("fig6", falls))[rises] is DIFFERS


def test_statements_on_the_testbed() -> None:
    facts = {"mean last deadline (min)": [100.0, 120.0]}
    rows = {
        ("T[360]", "UniSched, profiled"): seeded(miss=[5, 6], jct=[80, 90]),
        ("T[720]", "UniSched, profiled"): seeded(miss=[15, 16], jct=[70, 60]),
        ("T[720]", "UniSched, told"): seeded(miss=[5, 5], jct=[1, 1]),
    }
    found = verdicts(judged("table3", rows, **facts))
    assert found["R^slo of 4.97 % (simulator)"] is OPEN
    assert found["More jobs have a higher R^slo"] is AGREES
    assert found["More jobs have a smaller mean JCT"] is AGREES
    trap = next(text for text in found if "mean of their last deadlines" in text)
    assert found[trap] is AGREES
    other = rows | {("T[720]", "UniSched, profiled"): seeded(miss=[4, 3], jct=[170, 160])}
    found = verdicts(judged("table3", other, **{"mean last deadline (min)": [300.0]}))
    assert found["More jobs have a higher R^slo"] is DIFFERS
    assert found["More jobs have a smaller mean JCT"] is DIFFERS
    assert DIFFERS in {v for text, v in found.items() if "last deadlines" in text}


def test_statements_on_the_estimator_s_errors() -> None:
    c = statements.TRAININGS

    def study(errors: Sequence[float], slo: float) -> Study:
        rows: dict[tuple[Any, ...], Any] = {
            (c, policy, x): {"mean": e}
            for policy in ("UniSched", "epochs without a prior")
            for x, e in zip((10, 40, 80), errors, strict=True)
        }
        rows |= {(c, "users' epochs", x): {"mean": 40.0} for x in (10, 40, 80)}
        return judged("fig7", {**rows, ("(d) H_SLO", "UniSched"): seeded(slo_error=[slo, slo])})

    assert set(verdicts(study([30, 25, 15], 8)).values()) == {AGREES}
    assert set(verdicts(study([30, 35, 25], 12)).values()) == {DIFFERS}


def test_statements_on_suspensions() -> None:
    def found(slo: float, best: float) -> dict[str, Agreement]:
        rows = {("H_MIX1", "SLO"): seeded(suspensions=slo)}
        rows |= {("H_MIX1", "best effort"): seeded(suspensions=best)}
        return verdicts(judged("fig8", rows))

    assert set(found(3, 1).values()) == {AGREES}
    assert set(found(1, 2).values()) == {DIFFERS}


def test_statements_on_parts_of_the_estimator() -> None:
    def study(own: float, static: float, users: float, noisy: float) -> Study:
        rows: dict[tuple[Any, ...], Any] = {}
        parts = {"UniSched": own, "static profiler": static, "users' epochs": users}
        parts |= {"epochs at the 90 % quantile": own, "epochs known": own}
        parts["epochs without a prior"] = own + 0.5 if own < users else own - 0.5
        for policy, v in parts.items():
            rows["H_MIX1", policy] = seeded(miss=v, metric_miss=v, longest_wait=v)
        costs, noise = statements.costs_of("H_MIX2"), statements.noise_of("H_MIX2")
        rows[costs, "UniSched", 2] = seeded(miss=own, latency=own)
        rows[costs, "costs not estimated", 2] = seeded(miss=static, latency=static)
        for x, v in ((0, 9), (20, noisy), (100, 2 * noisy)):
            rows[noise, "UniSched", x] = seeded(miss=v)
        return judged("fig9", rows)

    points = "(b) ... by 0.7 to 5.1 points"
    good, bad = verdicts(study(5, 6, 7, 10)), verdicts(study(8, 6, 7, 20))
    assert good.pop(points) is bad.pop(points) is OPEN
    assert set(good.values()) == {AGREES}
    assert {t for t, v in bad.items() if v is not DIFFERS} == {"(d) Noise of 100 % raises R^slo"}
    quiet = verdicts(study(5, 6, 7, 4))
    assert quiet["(d) Noise of 100 % raises R^slo"] is DIFFERS


def test_statements_on_leases() -> None:
    def study(curve: Sequence[float]) -> Study:
        name = statements.lease_of("H_MIX2")
        rows = {}
        for x, v in zip((5, 10, 30, 60), curve, strict=True):
            for policy, more in (
                ("UniSched", 0),
                ("printed rounding", 5),
                ("suspensions free", -1),
                ("starts at multiples of the lease", x),
            ):
                rows[name, policy, x] = seeded(miss=v + more, latency=1)
        return judged("fig10", rows)

    good = verdicts(study([12, 10, 10.5, 20]))
    change = {text for text, v in good.items() if v is OPEN}
    assert all("part is suspensions" in text for text in change)
    assert len(change) == 2
    grid = good.pop("(a) Between 10 and 30 min the difference is small (here: 1 point); jobs start "
                    "at multiples of the lease only")  # fmt: skip
    assert grid is DIFFERS
    assert {v for text, v in good.items() if text not in change} == {AGREES}
    bad = verdicts(study([9, 10, 12, 8]))
    assert {t for t, v in bad.items() if v is AGREES} == {
        "(a) The printed rounding of leases has a higher R^slo at 60 min"
    }


def test_statements_on_the_objective_and_the_program() -> None:
    def study(own: float, other: float, gap: float) -> Study:
        rows: dict[tuple[Any, ...], Any] = {
            ("H_MIX1", "UniSched"): seeded(miss=own, latency=20 - own),
            ("H_MIX1", "feasible only"): seeded(miss=other, latency=20 - other),
        }
        return judged("fig10", {**rows, ("queue", "UniSched", 64): {"gap": gap}})

    assert set(verdicts(study(5, 10, 0.1)).values()) == {AGREES}
    assert set(verdicts(study(10, 5, 2.0)).values()) == {DIFFERS}


def test_statements_on_seconds() -> None:
    def verdict(seconds: float) -> Agreement:
        values = {"options_seconds": 1.0, "cold_seconds": seconds, "warm_seconds": 0.1}
        study = judged("fig10d", {("queue", "UniSched", 960): values})
        return study.statements[0].verdict

    assert (verdict(8.5), verdict(9.5)) == (AGREES, DIFFERS)


def test_statements_on_hostile_jobs() -> None:
    def found(gains: Sequence[float]) -> dict[str, Agreement]:
        rows = {}
        for x, gain in zip((10, 80), gains, strict=True):
            rows["H_MIX2", "UniSched", x] = seeded(miss=10, latency=10)
            rows["H_MIX2", "consolidated", x] = seeded(miss=10 + gain, latency=10 + gain)
        return verdicts(judged("fig11", rows))

    assert set(found([1, 5]).values()) == {AGREES}
    assert set(found([-1, -5]).values()) == {DIFFERS}


def test_statements_on_chronus() -> None:
    def found(own: float, estimator: float, selector: float) -> dict[str, Agreement]:
        parts = {"Chronus": 10.0, "Chronus + Estimator": estimator, "Chronus + Selector": selector}
        values = {**parts, "UniSched": own}
        return verdicts(
            judged("fig12", {("P_MIX2", p): seeded(miss=v, latency=v) for p, v in values.items()})
        )

    good = found(5, 6, 8)
    printed = {t for t, v in good.items() if v is OPEN}
    assert len(printed) == 4  # of 5: one is of Helios
    assert {t for t, v in good.items() if v is DIFFERS} == {
        "Chronus has less best-effort latency than UniSched"
    }
    bad = found(12, 14, 13)
    assert {t for t, v in bad.items() if v is AGREES} == {
        "Chronus has less best-effort latency than UniSched"
    }


def test_printed_reductions_against_chronus() -> None:
    """The largest difference of means, and where it is; ratios of latencies."""
    rows: dict[tuple[Any, ...], Any] = {}
    for name, estimator in (("H_MIX1", 6.0), ("P_MIX1", 9.0)):
        means = {"Chronus": 10.0, "Chronus + Estimator": estimator, "UniSched": 8.0}
        for policy, v in means.items():
            rows[name, policy] = seeded(miss=[v - 1, v + 1], latency=[v, v])
    found = {s.text: s.measured for s in judged("fig12", rows).statements if s.instance == "MIX"}
    assert found == {
        "UniSched: less R^slo than Chronus by up to 5.2 points": "up to 2.00 points, in H_MIX1",
        "Chronus + Estimator: less R^slo than Chronus by up to 4.2 points, in H_MIX1": (
            "up to 4.00 points, in H_MIX1"
        ),
        "Chronus + Estimator: best-effort throughput of up to 1.73 times Chronus's, Helios": (
            "1.67 to 1.67 times"
        ),
    }
