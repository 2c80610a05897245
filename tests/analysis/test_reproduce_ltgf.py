"""Figures 6 and 9 to 14 of Ye et al.: what is measured, and how statements are judged by it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangsched import drive
from gangsched.analysis.papers.experiment import KNOWN
from gangsched.analysis.papers.ltgf import figures as figures
from gangsched.analysis.papers.ltgf.statements import rising, turns
from gangsched.analysis.papers.reproduce import (
    TARGETS,
    Agreement,
    FigureRow,
    Study,
    from_rows,
    reproduce,
    takes_trace,
)
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.instances.generate import offered_load, venus_workload
from gangsched.instances.traces import ReadReport, Trace
from gangsched.solvers import Fifo, TiresiasL
from gangsched.solvers.ltgf.policy import LtgfPolicy
from layout import ROOT

DOCS = ROOT / "docs"
FIGURES = [name for name in TARGETS if name.startswith("ltgf:")]
AGREES, DIFFERS, PARTLY, OPEN = (
    Agreement.AGREES,
    Agreement.DIFFERS,
    Agreement.PARTLY,
    Agreement.OPEN,
)
ROOM = "room"


def committed(name: str) -> dict[str, Any]:
    path = DOCS / "papers" / "data" / f"{name.replace(':', '-')}.json"
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return data


def restored(name: str) -> Study:
    data = committed(name)
    rows = [FigureRow(i, p, x, values, tuple(curve)) for i, p, x, values, curve in data["rows"]]
    return from_rows(name, data["instances"], rows)


def verdicts(study: Study) -> dict[str, Agreement]:
    """By text; for studies of one instance."""
    return {s.text: s.verdict for s in study.statements}


def why(study: Study, text: str) -> str:
    return next(s.why for s in study.statements if s.text == text)


# --- Fig. 6 --------------------------------------------------------------------------------------


def test_fig6_is_as_worked_by_hand() -> None:
    """6 GPUs, 40 min each; (b) alternates, (c) gives Job2 and Job3 two rounds for each of Job1's.

    (b): Job1 holds 6 GPUs in 4 of the 7 rounds until 70 min; its share is 2 GPUs: 4 * 6 / (7 * 2).
    The others hold 3 GPUs in 4 rounds; shares 2 until 70 min, then 3: 12 / (14 + 3).
    """
    ends: dict[str, list[float]] = {}
    rho: dict[str, list[float]] = {}
    study = figures.fig6()
    for row in study.rows:
        ends.setdefault(row.policy, []).append(row.values["end"] or 0)
        rho.setdefault(row.policy, []).append(row.values["rho"] or 0)
    assert ends == {
        "(a) fluid": [80, 60, 60],
        "(b) finish-time": [70, 80, 80],
        "(c) LTGF": [80, 60, 60],
    }
    assert rho["(b) finish-time"] == pytest.approx([24 / 14, 12 / 17, 12 / 17], abs=1e-5)
    assert rho["(a) fluid"] == rho["(c) LTGF"] == [1, 1, 1]
    held = {row.x: row.curve for row in study.rows if row.policy == "(c) LTGF"}
    assert held[1] == (6, 0, 0, 6, 0, 0, 6, 6)
    assert held[2] == held[3] == (0, 3, 3, 0, 3, 3, 0, 0)
    found = verdicts(study)
    assert [text for text, verdict in found.items() if verdict is not AGREES] == [
        "(b) is what min max finish-time fairness prescribes"
    ]


def test_statements_of_fig6_fail_on_other_schedules() -> None:
    """(b)'s schedule under (c)'s name, and the other way round."""
    study = figures.fig6()
    swap = {"(b) finish-time": "(c) LTGF", "(c) LTGF": "(b) finish-time", "(a) fluid": "(a) fluid"}
    rows = [replace(row, policy=swap[row.policy]) for row in study.rows]
    found = verdicts(from_rows("ltgf:fig6", study.instances, rows))
    assert set(found.values()) == {AGREES, DIFFERS}
    assert [text[:3] for text, verdict in found.items() if verdict is AGREES] == ["(a)", "(b)"]
    assert found["(b) is what min max finish-time fairness prescribes"] is AGREES


# --- what is measured ----------------------------------------------------------------------------


def test_wait_for_the_first_round_is_what_it_is_counted_to_be() -> None:
    """Run time 38 s, submitted at each second of a round of 10 s, and nobody waits for GPUs.

    p / JCT = 38 / (38 + w) < 0.95 for w > 2: for 7 of the waits 0 to 9.
    """
    jobs = [Job(id=f"{k}", gpus=1, work=38, release=k) for k in range(1, 11)]
    run = drive(Instance(Cluster.of_sizes([16]), jobs), Fifo(), round_length=10, overhead=0)
    values = figures.measure(run, 1)["values"]
    assert values["expected"] == values["late"] == 0.7
    assert values["loss_release"] == 0.7
    assert values["loss"] == values["waited"] == 0.0


@pytest.mark.parametrize(("work", "share"), [(1, 0.9), (19, 0.8), (37, 0.8), (189, 0.0)])
def test_expected_loss_of_one_run_time(work: int, share: float) -> None:
    """Waits of 0 to 9 s; too long is 19 w > p."""
    assert share == sum(19 * w > work for w in range(10)) / 10
    job = Job(id="a", gpus=1, work=work)
    run = drive(Instance(Cluster.of_sizes([1]), [job]), Fifo(), round_length=10, overhead=0)
    assert figures.measure(run, 1)["values"]["expected"] == share


def test_overhead_is_what_resumed_segments_begin_with() -> None:
    """Under LAS in GPU time `a` runs 0-60, is stopped for `b` 60-120, resumes with 25 s until 205.

    JCT: a 205, b 60; one resumption.
    """
    jobs = [Job(id="a", gpus=2, work=120), Job(id="b", gpus=2, work=60, release=60)]
    policy = TiresiasL(thresholds=[120])
    run = drive(Instance(Cluster.of_sizes([2]), jobs), policy, round_length=60, overhead=25)
    values = figures.measure(run, 1)["values"]
    assert values["mean_completion"] == (205 + 60) / 2
    assert values["overhead"] == pytest.approx(25 / 265, rel=1e-5)
    assert values["preemptions"] == 0.5
    assert values["mean_slowdown"] == pytest.approx((205 / 120 + 1) / 2, rel=1e-5)
    assert values["slow"] == 0.0


def test_users_windows_below_1() -> None:
    """Two users with 1 of 2 GPUs each; `u` holds both for two days, then `v` both for two days.

    By day and (8): u 2, 2, then no demand; v 0, 0, 2, 2. By (16): u 2, 2, 0, 0; v 0, 0, 2, 2.
    """
    day = 86_400
    jobs = [Job(id=i, gpus=2, work=2 * day, user=i) for i in "uv"]
    instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    run = drive(instance, Fifo(), round_length=60, overhead=0)
    values = figures.measure(run, 4)["values"]
    assert values["days_below"] == pytest.approx(2 / 6, rel=1e-5)
    assert values["days_below_quota"] == 4 / 8
    assert values["hours_below"] == pytest.approx(48 / 144, rel=1e-5)


# --- instances -----------------------------------------------------------------------------------


def trace_of(counts: Sequence[int]) -> Trace:
    """So many jobs of 3 GPUs for 5000 s on each day, evenly, of users a and b in turn."""
    jobs = [
        Job(
            id=f"{d}-{k}",
            gpus=3,
            work=5000,
            release=d * 86_400 + k * (86_000 // n),
            user="ab"[k % 2],
        )
        for d, n in enumerate(counts)
        for k in range(n)
    ]
    users = (User("a"), User("b"))
    return Trace(name="toy", jobs=tuple(jobs), users=users, report=ReadReport(read=len(jobs)))


@pytest.mark.parametrize("load", [0.3, 0.9, 1.2])
def test_the_fortnight_with_the_most_submissions_is_taken(load: float) -> None:
    counts = [40, 1, 1, *[30] * 14, 1, 1, 1, 35, 35]
    case = figures.fortnight(trace_of(counts), load)
    assert (case.name, case.workload, case.start) == (f"Toy, load {load:g}", "Toy", 3)
    assert len(case.instance.jobs) == 14 * 30
    assert case.instance.jobs[0].release == 0
    nodes = len(case.instance.cluster.nodes)
    loads = {n: offered_load(case.on(n).instance) for n in range(1, 60)}
    assert nodes == min(loads, key=lambda n: abs(loads[n] - load))
    assert {user.weight for user in case.instance.users} == {3 * 14 * 15}


def test_cases_without_and_with_a_trace() -> None:
    alone = [(case.name, case.seed) for case in figures.cases_of()]
    names = ("Venus-like, 133 nodes", "Venus-like, 100 nodes")
    assert alone == [(name, seed) for name in names for seed in (0, 1, 2)]
    both = [(case.name, case.seed) for case in figures.cases_of(trace_of([30] * 20))]
    toys = [("Toy, load 0.9", None), ("Toy, load 1.2", None), ("Toy, 210 nodes", None)]
    assert both == [*toys, *alone]


# --- small studies -------------------------------------------------------------------------------


def small() -> tuple[figures.Scenario, ...]:
    jobs = venus_workload(Cluster.uniform(nodes=6, gpus_per_node=8), jobs=150, days=1)
    crowd = figures.Scenario("crowd", "small", jobs, days=2)
    return (crowd.on(9), replace(crowd.on(6), name="more crowd"))


POLICIES = {name: figures.POLICIES[name] for name in ("YARN-CS", "Tiresias-L", "LTGF (8)")}


@pytest.mark.parametrize("name", ["fig10", "fig11", "fig12", "fig13"])
def test_small_studies_hold_every_policy_and_instance(name: str) -> None:
    KNOWN.clear()
    done: list[str] = []
    study = getattr(figures, name)(cases=small(), policies=POLICIES, progress=done.append)
    extra = ("Tiresias-L, leases", "no contention, 10 s", "no contention, 60 s")
    wanted = (*POLICIES, *extra) if name == "fig10" else tuple(POLICIES)
    assert study.policies == wanted
    assert done[-1].startswith(f"{name}: more crowd, ")
    for instance in ("crowd", "more crowd"):
        for policy in wanted:
            for measure in set(study.measures) - {"slow_brief"}:  # none may be slow
                assert study.value(instance, policy, measure) is not None
    assert all(len(r.curve) in (0, len(study.levels)) for r in study.rows)
    assert study.to_json() == getattr(figures, name)(cases=small(), policies=POLICIES).to_json()


def test_a_run_is_the_driver_s() -> None:
    """Of the first case, with the rules of the paper."""
    case = small()[1]
    study = figures.fig13(cases=[case], policies={"LTGF (8)": LtgfPolicy})
    run = drive(case.instance, LtgfPolicy(), round_length=10, lease=900, overhead=25)
    ends = run.records.end - np.array([job.release for job in case.instance.jobs])
    assert study.rows[0].values["mean_completion"] == pytest.approx(ends.mean(), rel=1e-5)


def test_jobs_that_one_policy_cannot_run_are_left_out_for_all() -> None:
    """User `u` has a quota of 2 of 8 GPUs, so that YARN-CS can never run its gang of 4."""
    jobs = [Job(id="a", gpus=4, work=300, user="u"), Job(id="b", gpus=1, work=100, user="v")]
    users = [User("u", weight=1), User("v", weight=3)]
    case = figures.Scenario(ROOM, ROOM, Instance(Cluster.of_sizes([8]), jobs, users), days=1)
    study = figures.fig13(cases=[case], policies=POLICIES)
    assert study.instances[ROOM]["rejected for all policies"] == 1
    left = [row for row in study.rows if row.instance == ROOM]
    assert {row.policy: row.values["mean_completion"] for row in left} == dict.fromkeys(
        POLICIES, 100
    )
    whole = [row for row in study.rows if row.instance != ROOM]
    assert {(row.instance, row.policy) for row in whole} == {
        (f"{ROOM}, all jobs", "Tiresias-L"), (f"{ROOM}, all jobs", "LTGF (8)"),
    }  # fmt: skip
    assert {row.values["mean_completion"] for row in whole} == {200}
    alone = figures.fig13(cases=[case], policies={"LTGF (8)": LtgfPolicy})
    assert alone.instances[ROOM]["rejected for all policies"] == 0


def test_files_are_the_same_each_time(tmp_path: Path) -> None:
    study = figures.fig13(cases=small(), policies=POLICIES)
    first, second = (study.write(tmp_path / name) for name in "ab")
    assert [path.name for path in first] == [f"ltgf-fig13.{k}" for k in ("json", "csv", "png")]
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
    rows = list(csv.DictReader(io.StringIO(first[1].read_text("utf-8"))))
    found = {(r["instance"], r["policy"], r["measure"]): float(r["value"]) for r in rows}
    assert found == {(r.instance, r.policy, n): v for r in study.rows for n, v in r.values.items()}
    assert all(row.values["ratio"] >= 1 for row in study.rows)


# --- statements ----------------------------------------------------------------------------------

ALL = ("YARN-CS", "HiveD", "AlloX", "Tiresias-L", "Themis", "Gandiva-fair")


def judged(
    figure: str,
    values: Mapping[tuple[str, int | None], Mapping[str, float]],
    curves: Mapping[str, tuple[float, ...]] | None = None,
) -> Study:
    rows = [
        FigureRow(ROOM, policy, x, numbers, (curves or {}).get(policy, ()))
        for (policy, x), numbers in values.items()
    ]
    return from_rows(f"ltgf:{figure}", {ROOM: {}}, rows)


def jct(**own: float) -> Study:
    """Mean JCT of the paper's policies, 200 unless given, and of LTGF (8), 100."""
    known = {"LTGF (8)": 100.0, **dict.fromkeys(ALL, 200.0), "Tiresias-L": 150.0}
    known |= {name.replace("_", "-"): value for name, value in own.items()}
    return judged("fig13", {(p, None): {"mean_completion": v} for p, v in known.items() if v})


LEAST = "LTGF (8): the least mean JCT"


def test_the_least_is_judged_against_all_policies_of_the_paper() -> None:
    assert verdicts(jct())[LEAST] is AGREES
    assert verdicts(jct(AlloX=99))[LEAST] is DIFFERS
    assert verdicts(jct(HiveD=100))[LEAST] is OPEN
    assert "cannot tell" in why(jct(HiveD=100), LEAST)
    assert verdicts(jct(HiveD=0))[LEAST] is PARTLY  # it was not run
    assert why(jct(HiveD=0), LEAST) == "HiveD was not run"
    assert verdicts(jct(HiveD=0, AlloX=99))[LEAST] is DIFFERS


def test_a_statement_about_a_policy_that_was_not_run_is_open() -> None:
    assert verdicts(jct())["LTGF (16): the least mean JCT"] is OPEN
    text = "Tiresias-L: the least mean JCT of the baselines (Section 6.5)"
    assert verdicts(jct())[text] is AGREES
    assert verdicts(jct(Themis=149))[text] is DIFFERS


def losses(**own: float) -> Study:
    known = {"LTGF (8)": 0.05, "LTGF (16)": 0.06, **dict.fromkeys(ALL, 0.3), "Themis": 0.2}
    known |= {"Tiresias-L": 0.04, "no contention, 10 s": 0.0, **own}
    late = {name: value + 0.1 for name, value in known.items()}
    return judged(
        "fig10",
        {
            (p, None): {"loss": v, "loss_release": late[p], "late": 0.2, "expected": 0.2}
            for p, v in known.items()
        },
    )


def test_tiresias_is_better_for_it_stops_jobs_at_every_round() -> None:
    text = "LTGF (8): fewest jobs with rho < 0.95, counted from first round"
    assert verdicts(losses())[text] is DIFFERS
    assert why(losses(), text) == ""
    assert why(losses(**{"Tiresias-L, leases": 0.07}), text).endswith("it had 7.0 %")
    assert why(losses(**{"Tiresias-L, leases": 0.05}), text) == ""


def test_order_of_ltgf_themis_and_yarn_cs() -> None:
    text = "LTGF (8): fewer jobs with rho < 0.95 than Themis, and Themis fewer than YARN-CS"
    assert verdicts(losses())[text] is AGREES
    assert verdicts(losses(Themis=0.3))[text] is DIFFERS
    assert verdicts(losses(Themis=0.05))[text] is DIFFERS


def test_the_trap_of_rho_below_0_95() -> None:
    (text,) = (t for t in verdicts(losses()) if t.startswith("Where no job ever waits"))
    assert verdicts(losses())[text] is AGREES  # 10 % from submission, 0 from the first round
    assert verdicts(losses(**{"no contention, 10 s": 0.01}))[text] is DIFFERS
    few = judged("fig10", {("no contention, 10 s", None): {"loss": 0.0, "loss_release": 0.07}})
    assert verdicts(few)[text] is DIFFERS


def terms(jcts: Sequence[float], paid: Sequence[float], loss: Sequence[float]) -> Study:
    xs = (600, 900, 1200, 3600)
    return judged(
        "fig9",
        {
            ("LTGF (8)", x): {"mean_completion": j, "overhead": o, "loss": s}
            for x, j, o, s in zip(xs, jcts, paid, loss, strict=True)
        },
    )


def test_statements_on_lease_terms() -> None:
    good = terms([120, 100.9, 100, 110], [0.02, 0.008, 0.004, 0.002], [0.1, 0.2, 0.3, 0.4])
    assert set(verdicts(good).values()) == {AGREES}
    bad = terms([100, 101.1, 102, 110], [0.001, 0.002, 0.002, 0.002], [0.4, 0.3, 0.2, 0.4])
    assert set(verdicts(bad).values()) == {DIFFERS}
    flat = terms([100.2, 100.1, 100, 100.2], [0.02, 0.008, 0.004, 0.002], [0.1, 0.2, 0.3, 0.4])
    assert [t for t, v in verdicts(flat).items() if v is DIFFERS] == [
        "LTGF (8): with longer terms the mean JCT falls first, then rises (by more than 0.5 %)"
    ]


@pytest.mark.parametrize(
    ("values", "tolerance", "shape"),
    [
        ([9, 8, 9], 0.0, "-+"),
        ([9, 8, 8, 7], 0.0, "-"),
        ([8, 9, 8, 9], 0.0, "+-+"),
        ([100, 90, 90.5, 89, 95], 0.01, "-+"),
        ([100, 100.6, 101.2], 0.01, "+"),  # in small steps
        ([100, 101, 99.5, 100.5], 0.02, ""),
        ([5], 0.0, ""),
    ],
)
def test_turns(values: list[float], tolerance: float, shape: str) -> None:
    assert turns(values, tolerance) == shape


def test_rising_counts_pairs() -> None:
    assert rising([1, 2, 2, 3]) == 5 / 6
    assert rising([3, 2, 1]) == rising([1]) == 0


def windows(own: float, medians: Sequence[float], **others: float) -> Study:
    known = {"YARN-CS": 0.5, "HiveD": 0.3, "AlloX": 0.1, "Tiresias-L": 0.4, "Themis": 0.3}
    known |= {"Gandiva-fair": 0.2, "LTGF (16)": own, **others}
    rows = [
        FigureRow(ROOM, p, None, {"days_below": v, "days_below_quota": 0.5})
        for p, v in known.items()
    ]
    served = sum(median >= 0.999 for median in medians) / len(medians)
    rows = [replace(r, values={**r.values, "served": served}) for r in rows]
    return from_rows("ltgf:fig11", {ROOM: {}}, rows)


def test_statements_on_users() -> None:
    fewest = "LTGF (16): fewest of the users' days below 1, by (8)"
    most = "LTGF (16): most users have rho of 1 or more (on their median day)"
    order = "Of the others AlloX and then Gandiva-fair are best, YARN-CS and Tiresias-L worst"
    by_quota = "LTGF (16): fewest of the users' days below 1, by (16)"
    good = verdicts(windows(0.05, [1.0, 1.2, 0.4]))
    assert (good[fewest], good[most], good[order]) == (AGREES,) * 3
    assert good[by_quota] is OPEN  # all are equal
    bad = verdicts(windows(0.15, [0.9, 0.8, 1.1], Themis=0.45))
    assert (bad[fewest], bad[most], bad[order]) == (DIFFERS,) * 3
    (told,) = (text for text in good if "tells the policies apart less" in text)
    assert good[told] is AGREES
    same = dict.fromkeys(("HiveD", "AlloX", "Tiresias-L", "Themis", "Gandiva-fair"), 0.2)
    assert verdicts(windows(0.2, [1.0], **same))[told] is DIFFERS


def slowness(own: float, slow: float, brief: float, curve: float) -> Study:
    known = {**dict.fromkeys(ALL, 3.0), "LTGF (8)": own}
    curves = dict.fromkeys(ALL, (2.0,) * 47) | {"LTGF (8)": (*[2.0] * 46, curve)}
    values = {
        (p, None): {"mean_slowdown": v, "slow": slow, "slow_brief": brief} for p, v in known.items()
    }
    return judged("fig12", values, curves)


def test_statements_on_slowdowns() -> None:
    good = [s for s in slowness(2, 0.04, 0.6, 2.0).statements if s.text.startswith("LTGF (8)")]
    assert [s.verdict for s in good] == [AGREES] * 3
    bad = [s for s in slowness(4, 0.06, 0.6, 2.1).statements if s.text.startswith("LTGF (8)")]
    assert [s.verdict for s in bad] == [DIFFERS] * 3
    assert bad[1].measured == "at 46 of 47 levels"
    long = [s for s in slowness(4, 0.04, 0.4, 2.0).statements if "few jobs" in s.text]
    assert long[-1].verdict is DIFFERS


def sizes(ltgf: Sequence[float], tiresias: Sequence[float]) -> Study:
    values = {}
    for policy, numbers in (("LTGF (8)", ltgf), ("Tiresias-L", tiresias)):
        for x, v in zip((10, 20), numbers, strict=True):
            values[policy, x] = {"mean_completion": v, "loss": v, "loss_release": v}
    return judged("fig14", values)


def test_statements_on_sizes() -> None:
    assert set(verdicts(sizes([3, 2], [4, 3])).values()) == {AGREES}
    found = verdicts(sizes([3, 4], [4, 3]))
    assert {t for t, v in found.items() if v is AGREES} == {
        "Tiresias-L: the JCT falls with every larger cluster",
        "Tiresias-L: the share of rho < 0.95 falls with every larger cluster",
    }


# --- targets -------------------------------------------------------------------------------------


def test_a_trace_is_refused_where_none_is_used(tmp_path: Path) -> None:
    assert [name for name in TARGETS if takes_trace(name) and "irmp:" not in name] == [
        f"ltgf:fig{n}" for n in (9, 10, 11, 12, 13, 14)
    ]
    with pytest.raises(ValueError, match=r"^target 'ltgf:fig6': takes no trace$"):
        reproduce("ltgf:fig6", tmp_path, trace=trace_of([1]))


def test_pictures_name_every_policy_and_instance() -> None:
    """Of small studies; that they are legible is for eyes."""
    for name in ("fig10", "fig12", "fig13"):
        figure = getattr(figures, name)(cases=small(), policies=POLICIES).plot()
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        groups = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        assert (groups if name == "fig13" else titles)[:2] == ["crowd", "more crowd"]
        named = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
        assert set(POLICIES) <= set(named)
    rows = figures.fig11(cases=small(), policies=POLICIES).plot().axes
    assert [axes.get_ylabel() for axes in rows if axes.get_ylabel()] == list(POLICIES)
    for study in (figures.fig9(cases=small(), leases=(600, 900)), figures.fig6()):
        assert study.plot().axes
