"""`gangsched replay` of jobs with utilities: scenarios, saved problems, and what is refused."""

import json
import re
from pathlib import Path

import pytest

import gangsched as gs
from gangsched.analysis.driving.drive import drive
from gangsched.formulations import RarDdls
from gangsched.formulations.irmp.problem import paper_problem, reduced_problem
from gangsched.instances import Cluster, Instance, Job
from gangsched.io import save
from gangsched.registry import EARNING
from gangsched.solvers.ours.irmp.policy import OnlineRevenue
from replay_commands import Replay

PROBLEM = reduced_problem(6)
PLAIN = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=60)])


@pytest.fixture(autouse=True)
def saved(replay: Replay) -> None:
    """Saved problems and instances, where the command runs."""
    save("problem.json", PROBLEM)
    save("instance.json.gz", PROBLEM.instance)
    save("plain.json", PLAIN)
    save("other.json", RarDdls(Instance(PLAIN.cluster, [])))


def rows(out: str) -> dict[str, list[str]]:
    """Cells by first cell, where a line has a number."""
    lines = (line.split("  ") for line in out.splitlines())
    cells = ([cell.strip() for cell in line if cell.strip()] for line in lines)
    return {line[0]: line[1:] for line in cells if len(line) > 1}


def test_a_saved_problem(replay: Replay) -> None:
    code, out, _ = replay("problem.json", "--json", "r.json")
    assert code == 0
    assert out.startswith("problem.json: 6 jobs on 25 nodes, 80 GPUs\n")
    found = rows(out)
    assert [name for name in found if name in EARNING] == list(EARNING)
    run = drive(PROBLEM.instance, OnlineRevenue.of(PROBLEM), round_length=1)
    data = json.loads(Path("r.json").read_text())
    assert data["kind"] == "replay"
    assert data["rows"][0]["digest"] == run.digest()
    won = PROBLEM.objective(run.schedule)
    assert data["rows"][0]["revenue"]["revenue"] == pytest.approx(won)
    assert found["online-revenue"][0] == f"{won:,.2f}"
    assert data["rows"][0]["ratios"] == {
        "revenue": data["bounds"]["revenue"]["value"] / data["rows"][0]["revenue"]["revenue"]
    }
    assert found["any policy"] == [f"≤ {data['bounds']['revenue']['value'] + 0.005:,.2f}"]
    assert "lp-list (offline)" in found
    page = Path("replay.html").read_text()
    assert "Most revenue: " in page
    assert "slowdown" not in page


def test_the_first_jobs_of_a_problem_keep_its_terms(replay: Replay) -> None:
    code, out, _ = replay("problem.json", "--first", 2, "--no-report")
    assert code == 0
    assert out.startswith("problem.json: 2 jobs on 25 nodes")
    assert f"Terms of all policies: worker_bandwidth {PROBLEM.worker_bandwidth}, " in out


def test_a_saved_instance_has_the_defaults_of_a_problem(replay: Replay) -> None:
    how = "--policies", "online-revenue:fifo", "--no-report"
    code, out, _ = replay("instance.json.gz", *how)
    assert code == 0
    assert "Terms of all policies: worker_bandwidth 1, ps_bandwidth 1, horizon None" in out
    code, out, _ = replay("instance.json.gz", *how, "--first", 2)
    assert out.startswith("instance.json.gz: 2 jobs on 25 nodes")
    code, out, _ = replay("plain.json", "--policies", "fifo", "--no-report")
    assert code == 0
    assert re.search(r"^fifo .* 1 min +1\.0000", out, re.MULTILINE)


@pytest.mark.parametrize("law", ["linear", "convex"])
def test_scenarios(replay: Replay, law: str) -> None:
    how = ("--reader", "scenario", "--policies", "online-revenue", "--no-report", "--json", "-")
    sizes = ("--nodes", 15, "--reader-option", "jobs=8", "--reader-option", "users=3")
    code, out, err = replay(f"w_{law}", *how, *sizes, "--seed", 4)
    assert code == 0
    problem = paper_problem(8, servers=15, users=3, utility=law, seed=4)  # type: ignore[arg-type]
    assert "8 jobs on 15 nodes" in err
    data = json.loads(out)
    assert data["terms"]["worker_bandwidth"] == problem.worker_bandwidth
    run = drive(problem.instance, OnlineRevenue.of(problem), round_length=1)
    assert data["rows"][0]["digest"] == run.digest()


def test_runs_are_kept_and_go_on(replay: Replay) -> None:
    how = ("problem.json", "--save-runs", "runs", "--no-report")
    first = replay(*how)
    again = replay(*how, "--resume")
    assert first[0] == again[0] == 0
    assert [line.rpartition("  ")[0] for line in first[1].splitlines()] == [
        line.rpartition("  ")[0] for line in again[1].splitlines()
    ]


def test_the_same_from_python() -> None:
    found = gs.replay(PROBLEM, ["online-revenue", "online-revenue:spt"])
    assert [row.name for row in found.rows] == ["online-revenue", "online-revenue:spt"]
    assert all(row.ratios["revenue"] for row in found.rows)
