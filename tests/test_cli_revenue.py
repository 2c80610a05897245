"""`gangsched compare --problem irmp`: true and ideal revenue, fairness, and which bound counts."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from command_line import Gangsched, table
from gangsched.analysis.comparing.revenue import fairness_variance, money_of
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.io import problem_to_dict
from gangsched.formulations.irmp.problem import Irmp, paper_problem, reduced_problem
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
from gangsched.instances.io import write_json
from gangsched.io import load
from gangsched.solvers import Bound, Result, RevenueFacts
from gangsched.solvers.irmp.astraea import astraea

SIZES = ("--jobs", 8, "--nodes", 15, "--seed", 2)
SOLVERS = ("astraea", "batch-sche", "gandiva-like", "hived-like", "lp-list")


def problem(utility: Any = "linear") -> Irmp:
    return paper_problem(8, servers=15, utility=utility, seed=2)


def bound_of(data: Any) -> Bound:
    return Bound(**data)


def test_revenue_is_compared(gangsched_: Gangsched) -> None:
    code, out, err = gangsched_(
        "compare", "--problem", "irmp", "--setting", "paper", *SIZES, "--utility", "linear",
        "--solvers", ",".join((*SOLVERS, "astraea:printed")), "--json", "out.json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out.startswith("paper, seed 2: 8 jobs on 15 nodes, ")
    data = json.loads(Path("out.json").read_text())
    assert [row["solver"] for row in data["rows"]] == list(table(out)) == list(SOLVERS)
    assert not [row["error"] for row in data["rows"] if row["error"]]
    assert [row["solver"] for row in data["refuted"]] == ["astraea:printed"]
    assert "astraea:printed is refuted: bandwidth (3i): " in out
    row = data["rows"][0]
    result = astraea(problem())
    assert isinstance(result, Result)
    assert result.solution is not None
    assert row["objective"] == result.objective != result.info["ideal"]
    variance = fairness_variance(problem(), result.solution, money_of(result))
    assert row["measures"]["ideal revenue"] == result.info["ideal"]
    assert row["measures"]["fairness variance"] == variance
    shown = table(out)["astraea"]
    for place, number in ((0, result.objective), (3, result.info["ideal"]), (4, variance)):
        column = [cells[place] for cells in table(out).values() if cells[place] != "-"]
        (places,) = {len(text.partition(".")[2]) for text in column}
        assert shown[place] == ("-" if number is None else f"{number:.{places}f}")


def above(value: float) -> str:
    """A number between 10 and 100 in ten digits, rounded up."""
    return str(Decimal(value).quantize(Decimal("1e-8"), "ROUND_CEILING"))


def test_who_preempts_has_a_bound_of_its_own(gangsched_: Gangsched) -> None:
    """Both bounds are verified again here, each for its problem."""
    code, out, _ = gangsched_(
        "compare", "--problem", "irmp", "--setting", "paper", *SIZES, "--utility", "convex",
        "--solvers", ",".join(SOLVERS), "--json", "out.json",
    )  # fmt: skip
    assert code == 0
    data = json.loads(Path("out.json").read_text())
    bounds = {"": data["bound"], "preemptive": data["relaxed"]["preemptive"]}
    verify_bound(problem("convex"), bound_of(bounds[""]))
    verify_bound(replace(problem("convex"), preemptive=True), bound_of(bounds["preemptive"]))
    assert bounds[""]["value"] != bounds["preemptive"]["value"]
    for row in data["rows"]:
        preempts = row["solver"] in ("gandiva-like", "hived-like")
        assert row["relaxation"] == ("preemptive" if preempts else "")
        assert (row["measures"]["ideal revenue"] is None) == (
            preempts or row["solver"] == "lp-list"
        )
        bound = bounds[row["relaxation"]]["value"]
        assert row["ratio"] == bound / row["objective"] >= 1
        assert table(out)[row["solver"]][-1] == ("feasible, preemptive" if preempts else "feasible")
    most = {name: above(bound["value"]) for name, bound in bounds.items()}
    assert f"no schedule beats {most['']} (column generation, verified)" in out
    assert f"no preemptive schedule beats {most['preemptive']} (column generation, ver" in out
    assert "\npreemptive: preempts for free, " in out
    report = Path("gangsched-compare.html").read_text("utf-8")
    for text in ("ideal revenue", "fairness variance", "feasible, preemptive", "Proof, preemptive",
                 "No preemptive schedule is better than", "The best, lp-list"):  # fmt: skip
        assert text in report


def test_solvers_without_a_bound_get_one(gangsched_: Gangsched) -> None:
    code, out, _ = gangsched_(
        "compare", "--problem", "irmp", "--setting", "reduced", "--jobs", 6, "--nodes", 9,
        "--solvers", "online-fifo",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("reduced, seed 0: 6 jobs on 9 nodes")
    assert "(column generation, verified)" in out
    assert float(table(out)["online-fifo"][1]) >= 1


def test_the_largest_utilities_have_bounds_too(gangsched_: Gangsched) -> None:
    """Two jobs of 2 slots on one server: more than 54 bits can count in ones."""
    jobs = [
        ParameterServerJob(
            id=i, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5), utility=Linear(-1e78, 1e80)
        )
        for i in "ab"
    ]
    large = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), jobs))
    write_json("large.json", problem_to_dict(large))
    code, out, err = gangsched_("compare", "large.json", "--json", "out.json")
    assert (code, err) == (0, "")
    assert "(column generation, verified)" in out
    data = json.loads(Path("out.json").read_text())
    assert not [row["error"] for row in data["rows"] if row["error"]]
    bounds = {"": data["bound"], "preemptive": data["relaxed"]["preemptive"]}
    for name, bound in bounds.items():
        verify_bound(replace(large, preemptive=bool(name)), bound_of(bound))
        assert 1.94e80 <= bound["value"] <= 1.97e80


def test_solve_says_that_it_preempts(gangsched_: Gangsched) -> None:
    write_json("p.json", problem_to_dict(reduced_problem(5, servers=6)))
    code, out, _ = gangsched_("solve", "p.json", "--solver", "gandiva-like", "--json", "r.json")
    assert code == 0
    assert "\nstatus: feasible, preemptive\ntrue revenue: " in out
    assert "\nbound: no preemptive schedule beats " in out
    preemptive = replace(reduced_problem(5, servers=6), preemptive=True)
    result = load("r.json")
    assert result.objective == preemptive.objective(result.solution)
    verify_bound(preemptive, result.bound)


def test_submissions_of_a_trace_are_compared(gangsched_: Gangsched) -> None:
    lines = [f"2017-10-07 0{h}:30:00,900,{4 + h},vc{h % 2}" for h in range(6)]
    Path("log.csv").write_text("\n".join(["timestamp,duration,num_gpus,cluster", *lines, ""]))
    code, out, _ = gangsched_(
        "compare", "log.csv", "--reader", "philly-csv", "--problem", "irmp", "--nodes", 4,
        "--first", 5, "--utility", "convex", "--solvers", "astraea,online-spt",
    )  # fmt: skip
    assert code == 0
    assert out.startswith("log.csv: 5 jobs on 4 nodes")
    assert "5 of the 6 jobs, released at 1 to 5 h" in out
    assert "2 users of 4 servers; D as requested, the rest drawn (seed 0)" in out
    assert list(table(out)) == ["astraea", "online-spt"]


def test_bad_accounts_are_an_error_of_their_solver(
    gangsched_: Gangsched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generous(problem: Irmp, **_: Any) -> Any:
        result = astraea(problem)
        assert isinstance(result, Result)
        return replace(result, facts=replace(RevenueFacts.of(result), incomes={"u0": 1e6}))

    monkeypatch.setattr("gangsched.solvers.irmp.astraea.astraea", generous)
    code, out, _ = gangsched_(
        "compare", "--problem", "irmp", "--setting", "reduced", "--jobs", 5, "--nodes", 6,
        "--solvers", "astraea,online-fifo",
    )  # fmt: skip
    assert code == 1
    assert "astraea: ValueError: money: balance: payments of " in out
    assert table(out)["astraea"][-1] == "error"
