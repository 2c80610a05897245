"""Replays of jobs with utilities: what policies earn, against a verified bound and the optimum."""

import csv
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gangsched as gs
from gangsched.analysis.comparing import measures
from gangsched.analysis.comparing.replay import Replay, replay
from gangsched.analysis.comparing.replayed import Replayed
from gangsched.analysis.driving import check as check_run
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.replay_report import write_replay_report
from gangsched.analysis.show.replay_tables import legend
from gangsched.formulations.irmp.problem import Irmp, reduced_problem
from gangsched.instances import Linear, ParameterServerJob, Power, Table, Utility
from gangsched.registry import EARNING, policy
from gangsched.solvers import Bound, Fifo, Stop
from gangsched.solvers.ours.irmp.policy import OnlineRevenue
from gangsched.solvers.policy import Decision, Preempts, Rules, Start, State
from revenue_optimum import optimum
from strategies import irmp_instances, irmp_problems
from web_page import Page

BY = ("slope", "lp", "density", "spt", "fifo")


def rules(**parameters: Any) -> dict[str, Any]:
    return {by: OnlineRevenue(by, **parameters) for by in BY}  # type: ignore[arg-type]


def job(id: str, utility: Utility, epochs: int = 4, **more: Any) -> ParameterServerJob:
    """So many slots on both workers of a node, twice as many on two nodes."""
    given = {"gpus": 2, "minibatches": 1, "rates": (1, 0.5), **more}
    return ParameterServerJob(id=id, epochs=epochs, utility=utility, **given)


ONE = gs.Cluster([gs.Node("s", 2, ps=1)])
TWO = gs.Cluster([gs.Node("s", 2, ps=1), gs.Node("t", 2, ps=1)])
HAND = [
    job("linear", Linear(-2, 30), release=1),
    job("power", Power(64, 2), release=2),
    job("table", Table([9, 8, 7, 6, 5, 4, 3]), release=3),
    job("late", Linear(-5, 40), release=4),
]


@dataclass
class Starts:
    """What starts when, by hand."""

    starts: dict[int, list[Start]]
    name: str = "by hand"
    offline: bool = False
    needs_ps: ClassVar[bool] = True
    preempts: ClassVar[Preempts] = Preempts.NEVER

    def decide(self, state: State) -> Decision:
        return Decision(start=self.starts.get(state.now, ()))

    def next_change(self, state: State) -> int | None:
        return min((time for time in self.starts if time > state.now), default=None)


# --- what a run earns -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "won"),
    [
        # ends at 5, 9, 13, 17: 30 - 2 * 5; (64 / 9)^2; the last value; 40 - 5 * 17
        ("absolute", [20.0, 50.5679012345679, 3.0, -45.0]),
        # after 4, 7, 10, 13
        ("release", [22.0, 83.59183673469387, 3.0, -25.0]),
    ],
)
def test_what_jobs_earn_by_hand(clock: Any, won: list[float]) -> None:
    starts = {t: [Start(j, {0: 2}, ps={0: 1})] for j, t in enumerate((1, 5, 9, 13))}
    run = drive(gs.Instance(ONE, HAND), Starts(starts), round_length=1)
    assert run.records.end.tolist() == [5, 9, 13, 17]
    assert metrics.earnings(run, clock).tolist() == pytest.approx(won, rel=1e-14)
    found = metrics.revenue_summary(run, clock)
    assert found == {
        "revenue": pytest.approx(math.fsum(won)),
        "served": 4,
        "left_out": 0,
        "rejected": 0,
        "mean_completion": 8.5,
    }


def test_who_does_not_complete_earns_nothing() -> None:
    run = drive(gs.Instance(ONE, HAND), Starts({1: [Start(0, {0: 2}, ps={0: 1})]}), round_length=1)
    won = metrics.earnings(run)
    assert won[0] == 20
    assert np.isnan(won[1:]).all()
    found = metrics.revenue_summary(run)
    assert (found["revenue"], found["served"], found["left_out"]) == (20.0, 1, 3)
    part = drive(gs.Instance(ONE, HAND), OnlineRevenue(), round_length=1, until=3)
    assert metrics.revenue_summary(part)["revenue"] == 0.0


# --- against the bound ----------------------------------------------------------------------------


def in_time(**fixed: Any) -> st.SearchStrategy[Irmp]:
    """Problems of jobs that are known from their release, and may be left out."""
    more = {"optional": True, "paper_slot_r": False, **fixed}
    return (irmp_instances(max_jobs=6) | irmp_instances(models=("v100", "k80"))).flatmap(
        lambda instance: irmp_problems(instance, alone={}, **more)
    )


@pytest.mark.slow
@given(problem=in_time())
@settings(max_examples=25)
def test_no_policy_beats_the_bound(problem: Irmp) -> None:
    found = replay(problem, rules())
    assert found.failed == ()
    bound = found.bounds["revenue"]
    verify_bound(problem, bound)
    for row in found.rows:
        assert row.revenue is not None
        won = row.revenue["revenue"]
        assert won == pytest.approx(problem.objective(row.run.schedule), rel=1e-12, abs=1e-12)
        assert won is not None
        assert won <= bound.value * (1 + 1e-12) + 1e-12
        assert check_run.violations(row.run, preempts=Preempts.NEVER) == []
        assert problem.violations(row.run.schedule) == []
        times = row.ratios["revenue"]
        assert (times is None) == (won <= 0 or bound.value <= 0)
        if times is not None:
            assert times >= 1
            assert times == pytest.approx(bound.value / won)
        assert row.revenue["served"] + row.revenue["left_out"] == len(problem.jobs)  # type: ignore[operator]


@given(
    problem=irmp_instances(max_jobs=2, max_nodes=2, max_workers=2, max_release=2).flatmap(
        lambda instance: irmp_problems(
            instance, alone={}, horizon=8, optional=True, preemptive=False, paper_slot_r=False
        )
    )
)
@settings(max_examples=25)
def test_the_optimum_lies_between_policies_and_bound(problem: Irmp) -> None:
    best = optimum(problem)
    assert best is not None
    found = replay(problem, rules())
    assert best[0] <= found.bounds["revenue"].value + 1e-9
    assert "revenue" in found.known
    for won in (
        found.known["revenue"].objective,
        *((row.revenue or {})["revenue"] for row in found.rows),
    ):
        assert won is not None
        assert won <= best[0] + 1e-9


PROBLEM = reduced_problem(12)


@pytest.fixture(scope="module")
def found() -> Replay:
    return replay(PROBLEM, rules())


def test_the_replay_shows_the_bound_and_who_knew_all_jobs(found: Replay) -> None:
    assert [row.name for row in found.rows] == list(BY)
    assert all(1 < row.ratios["revenue"] < 1.05 for row in found.rows)  # type: ignore[operator]
    known, bound = found.known["revenue"], found.bounds["revenue"]
    top = max((row.revenue or {})["revenue"] or 0 for row in found.rows)
    assert top < known.objective < bound.value
    assert found.best_known == {"revenue": (known.objective, "lp-list")}
    *_, last, most = str(found).splitlines()
    assert last.split() == ["lp-list", "(offline)", "3,624.64", "1.0043"]
    assert most.split() == ["any", "policy", "≤", "3,640.01"]
    assert 3640 < bound.value < 3640.01
    said = legend(found)
    assert any("also for one that knows all jobs in advance (column gen" in line for line in said)
    assert "lp-list (offline): a schedule of all jobs, known in advance; no policy" in said
    assert (
        "Terms of all policies: worker_bandwidth 2998, ps_bandwidth 6851, horizon None, clock "
        "absolute, optional True."
    ) in said
    settings = next(line for line in said if line.startswith("Information: "))
    assert "all policies: know what they use of run times when jobs come; seeds: " in settings
    assert "25 nodes, 80 GPUs, worker_bandwidth 2998, ps_bandwidth 6851" in settings
    assert "lease" not in settings  # times are slots, and nobody is suspended
    assert not [line for line in said if "rho" in line]


def test_each_rule_earns_what_the_solver_of_its_name_does(found: Replay) -> None:
    names = ("online-slope", "rolling-lp", "online-density", "online-spt", "online-fifo")
    for row, name in zip(found.rows, names, strict=True):
        assert row.run.policy == f"irmp-{row.name}"
        assert row.revenue is not None
        assert row.revenue["revenue"] == pytest.approx(gs.solve(PROBLEM, name).objective)


def test_all_run_under_the_terms_of_the_problem(found: Replay) -> None:
    """Whatever they were made for, so that none has more bandwidth than another."""
    again = replay(PROBLEM, rules(worker_bandwidth=1, ps_bandwidth=100, horizon=30))
    assert {row.name: row.run for row in again.rows} == found.runs
    narrow = replay(PROBLEM.instance, rules())
    assert narrow.terms["ps_bandwidth"] == 1
    assert narrow.rows[0].run != found.rows[0].run
    assert found.rows[0].run == drive(
        PROBLEM.instance, OnlineRevenue.of(PROBLEM), round_length=1
    )  # the policy object of before, driven by hand


def test_by_name_and_by_default(found: Replay) -> None:
    again = gs.replay(PROBLEM)
    assert [row.name for row in again.rows] == list(EARNING)
    assert EARNING[0] == "online-revenue"
    assert [row.run for row in again.rows] == [row.run for row in found.rows]
    one = gs.replay(PROBLEM, ["online-revenue:lp"]).rows[0].run
    assert one == again.rows[1].run
    offline = Starts({}, offline=True)
    row = gs.replay(PROBLEM, {"oracle": offline}).rows[0]
    assert (row.name, row.ratios["revenue"]) == ("oracle (offline)", None)


def test_files(found: Replay, tmp_path: Path) -> None:
    rows = [*csv.DictReader(found.csv().splitlines())]
    assert [row["name"] for row in rows] == list(BY)
    for cells, row in zip(rows, found.rows, strict=True):
        won = row.revenue
        assert won is not None
        assert float(cells["revenue"]) == won["revenue"]
        assert float(cells["revenue_ratio"]) == row.ratios["revenue"]
        assert float(cells["share_of_bound"]) == 1 / row.ratios["revenue"]  # type: ignore[operator]
        assert int(cells["served"]) + int(cells["left_out"]) == 12
        assert float(cells["mean_completion"]) == won["mean_completion"]
    assert "mean_slowdown" not in rows[0]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["bounds"]["revenue"]["value"] == found.bounds["revenue"].value
    assert data["terms"]["worker_bandwidth"] == 2998
    assert data["rows"][0]["revenue"]["revenue"] == (found.rows[0].revenue or {})["revenue"]
    assert data["rows"][0]["ratios"] == {"revenue": found.rows[0].ratios["revenue"]}
    assert not [name for name in data["rows"][0]["measures"] if "rho" in name]
    page = tmp_path / "replay.html"
    write_replay_report(page, found, title="Revenue <&>")
    text = " ".join(Page(page.read_text("utf-8")).words)
    for said in (
        "5 policies ran 12 jobs of 2 users on 25 nodes with 80 GPUs.",
        "Most revenue: slope, 3,587.84 of at most 3,640.01.",
        "jobs served",
        "round_length 1 slots",
    ):
        assert said in text
    assert "slowdown" not in text


# --- what is refused ------------------------------------------------------------------------------


def test_a_bound_that_is_too_low_is_left_out(
    monkeypatch: pytest.MonkeyPatch, found: Replay, caplog: pytest.LogCaptureFixture
) -> None:
    right = found.bounds["revenue"]
    wrong = Bound(right.value / 2, right.method, right.certificate)
    monkeypatch.setattr(measures, "strengthened", lambda *_: wrong)
    made = replay(PROBLEM, {"fifo": OnlineRevenue("fifo")})
    assert "bound of revenue is left out" in caplog.text
    assert (dict(made.bounds), made.rows[0].ratios) == ({}, {"revenue": None})
    assert "any policy: nothing is proven about the revenue, so no ratio is certified" in legend(
        made
    )
    write = str(made)
    assert "any policy" not in write


def test_a_policy_that_breaks_the_problem_fails() -> None:
    """Two workers on the other node than the only PS: 2 * 3 exceeds 5 (3i)."""
    problem = Irmp(gs.Instance(TWO, HAND[:1]), worker_bandwidth=3, ps_bandwidth=5)
    away = {1: [Start(0, {1: 2}, ps={0: 1})]}
    made = replay(problem, {"away": Starts(away), "slope": OnlineRevenue()})
    assert [(one.name, one.reason.partition(":")[2][:58]) for one in made.failed] == [
        ("away", " its run breaks the problem: bandwidth (3i): job 'linear' ")
    ]
    assert [row.name for row in made.rows] == ["slope"]
    wide = replay(replace(problem, ps_bandwidth=6), {"away": Starts(away)})
    assert wide.rows[0].ratios == {"revenue": pytest.approx(20 / 12)}  # it ends at 9, not at 5


def test_policies_and_jobs_of_the_other_kind_are_refused() -> None:
    for name in ("fifo", "yarn-cs", "hydra", "genie"):
        with pytest.raises(ValueError, match="need a policy that starts them on nodes") as caught:
            gs.replay(PROBLEM, ["online-revenue", name])
        assert "\n" not in str(caught.value)
    plain = gs.Instance(gs.Cluster.of_sizes([2]), [gs.Job(id="a", gpus=1, work=3)])
    with pytest.raises(ValueError, match="'irmp-slope': job 'a' has no parameter servers"):
        replay(plain, {"fifo": Fifo(), "slope": OnlineRevenue()})
    with pytest.raises(ValueError, match="ledger=True, the losses of jobs with utilities"):
        replay(PROBLEM, {"slope": OnlineRevenue()}, ledger=True)
    with pytest.raises(ValueError, match="round_length=60, times of jobs with"):
        replay(PROBLEM, {"slope": OnlineRevenue()}, rules=Rules())
    with pytest.raises(ValueError, match="paper_slot_r=True, the driver shows jobs at"):
        replay(replace(PROBLEM, paper_slot_r=True), {"slope": OnlineRevenue()})
    with pytest.raises(TypeError, match="a str is neither an Instance nor an Irmp"):
        replay("jobs.csv", {"slope": OnlineRevenue()})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="runs jobs with parameter servers, whose run times are"):
        policy("online-revenue:profiled")


def test_a_stopped_run_goes_on(found: Replay) -> None:
    whole = found.runs["lp"]
    part = drive(PROBLEM.instance, OnlineRevenue.of(PROBLEM, "lp"), round_length=1, until=40)
    assert part.stop is Stop.ITERATION_LIMIT
    kept: dict[str, Run] = {}
    again = replay(
        PROBLEM, {"lp": OnlineRevenue("lp")}, before={"lp": part}, on_run=kept.__setitem__
    )
    assert again.rows[0].run == whole == kept["lp"]
    unfinished = Replayed.of("lp", part, found)
    assert unfinished.ratios == {"revenue": None}
    assert not unfinished.complete
