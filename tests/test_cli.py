"""The command line as its users meet it: exit codes, one line for bad input, quiet in pipes."""

import json
import os
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gangsched
from command_line import (
    FAST,
    QUEUE,
    Gangsched,
    Outcome,
    assert_refused,
    assert_self_contained,
    process,
    table,
    toy_figure,
    write_solvers,
)
from gangsched import registry
from gangsched.analysis.papers import reproduce
from gangsched.analysis.papers.experiment import FigureCell, given
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.columns import COMPARED
from gangsched.cli import compare as cli
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.formulations.io import problem_from_dict
from gangsched.instances import (
    library,
)
from gangsched.instances.heterogeneous import random_market
from gangsched.io import load, save
from gangsched.solvers import Bound
from gangsched.solvers.gandiva_fair.trading import traded_allocation

COMMANDS = (
    "solve", "compare", "replay", "audit", "describe", "convert", "proof", "traces", "demo",
    "reproduce", "theorems", "library", "list", "doctor",
)  # fmt: skip


def test_compare_measures_a_trace_on_the_cluster_of_an_instance(
    gangsched_: Gangsched, files: Path
) -> None:
    done = gangsched_(
        "compare", files / "trace.swf", "--reader", "swf", "--problem", "rar-ddls", "--cluster",
        files / "instance.json", "--solvers", FAST,
    )  # fmt: skip
    assert done.code == 0
    assert "trace.swf: 4 jobs on 2 nodes, 4 GPUs" in done.out  # the fifth needs 16
    assert "gpus=16 exceeds the cluster's 4" in done.out


# --- happy paths ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(gangsched_: Gangsched, name: str) -> None:
    done = gangsched_(name, "--help")
    assert done.code == 0
    assert f"Usage: gangsched {name}" in done.out
    assert done.err == ""
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("args", [[], ["--help"]])
def test_without_a_command_there_is_help(gangsched_: Gangsched, args: list[str]) -> None:
    done = gangsched_(*args)
    assert done.code == 0
    assert all(f"\n  {name} " in done.out for name in COMMANDS)
    assert "..." not in done.out.split("Commands:")[1]  # no description is cut off


def test_the_version_is_shown(gangsched_: Gangsched) -> None:
    assert gangsched_("--version") == Outcome(0, f"gangsched {gangsched.__version__}\n", "")


def test_list_names_what_the_options_take(gangsched_: Gangsched) -> None:
    done = gangsched_("list")
    assert done.code == 0
    for entry in registry.PROBLEMS.values():
        assert f"solvers: {', '.join(entry.solvers)}" in done.out
        assert f"settings: {', '.join(entry.settings)}" in done.out
    assert ", ".join(registry.READERS) in done.out
    for name in registry.POLICIES:
        assert (f"\n{name}: " in done.out) == (":" in name)  # variants are explained
    for names in ("T360, T720", "H_SLO, H_MIX1, H_MIX2", "P_SLO, P_MIX1, P_MIX2"):
        assert re.search(rf"^{names}.*: jobs|^{names}.*: so many jobs", done.out, re.MULTILINE)
    assert "--reader scenario" in done.out
    assert done.out.splitlines()[-1].startswith("gangsched library list shows them")
    counts = Counter(row["problem"] for row in library.index().values())
    for name, count in counts.items():
        assert f"{count} of {name}" in done.out.splitlines()[-2]


def test_solve_says_that_an_optimum_is_proven(gangsched_: Gangsched, files: Path) -> None:
    done = gangsched_("solve", files / "instance.json", "--problem", "rar_ddls")
    assert done.code == 0
    assert done.out.splitlines()[0] == "instance.json: 3 jobs on 2 nodes, 4 GPUs"
    assert "status: proven optimal\nmakespan: 12\n" in done.out
    assert "bound: no schedule beats 12 (area, verified)\n" in done.out
    assert "ratio" not in done.out
    assert done.err == ""
    assert os.listdir() == ["files"]  # nothing is written unasked


def test_solve_shows_one_bound_and_what_it_certifies(gangsched_: Gangsched) -> None:
    done = gangsched_("solve", "rar-small-0", "--solver", "first_fit", "--json", "r.json")
    assert done.code == 0
    assert "status: feasible\n" in done.out
    assert done.out.count("bound") == 1
    assert "no schedule beats 646 (configuration lp, verified)" in done.out
    result = load("r.json")
    assert result.objective is not None
    assert result.bound is not None
    problem = problem_from_dict(library.entry("rar-small-0").problem)
    assert problem.objective(result.solution) == result.objective > result.bound.value == 646
    verify_bound(problem, result.bound)
    ratio = Fraction(int(result.objective), 646)
    shown = re.search(r"certified ratio: at most (\d\.\d{4}) times the optimum", done.out)
    assert shown
    assert 0 <= Fraction(shown[1]) - ratio < Fraction(1, 10_000)  # rounded up


def test_a_ratio_is_rounded_up() -> None:
    column = next(column for column in COMPARED if column.key == "ratio")
    assert [column.text({"ratio": value}) for value in (1.0, 1.00001, 1.2, None)] == [
        "1.0000", "1.0001", "1.2000", "-",
    ]  # fmt: skip


def test_solve_writes_a_proven_optimum_as_one(gangsched_: Gangsched) -> None:
    """The library's bound proves what the solver's own cannot."""
    done = gangsched_("solve", "rar-small-0", "--solver", "laminar", "--json", "r.json")
    assert "status: proven optimal\nmakespan: 646\n" in done.out
    result = load("r.json")
    assert (result.objective, result.status.value) == (646, "optimal")


@pytest.mark.usefixtures("no_search")
def test_a_claim_without_a_certificate_is_not_called_proven(gangsched_: Gangsched) -> None:
    """Two gangs whose optimum, 4, only branch and bound has found; the area proves 2."""
    save("two.json", problem_from_dict(library.entry("rar-contention-0").problem))
    args = ("--solver", "exact", "--time-limit", "60", "--json", "r.json")
    done = gangsched_("solve", "two.json", *args)
    assert done.code == 0
    assert "status: optimal (claimed)\nmakespan: 4\nbound: no schedule beats 2 (" in done.out
    assert "claimed by the solver, not verified: 4 (cp-sat)" in done.out
    assert "at most 2.0000 times the optimum" in done.out
    result = load("r.json")
    assert result.status.value == "optimal"
    assert result.bound is not None
    assert (result.bound.value, result.bound.certificate) == (4, None)


def test_compare_takes_an_instance_file(gangsched_: Gangsched, files: Path) -> None:
    args = ("compare", files / "instance.json", "--problem", "rar-ddls", "--solvers")
    done = gangsched_(*args, "first_fit, list-scheduling", "--json", "out.json")
    assert (done.code, done.err) == (0, "")
    assert "no schedule beats 12 (area, verified)" in done.out
    heads = done.out[done.out.index("verified)") : done.out.index("──")]
    assert re.sub(r"\s+", " ", heads).count("(slots)") == 2  # makespan and mean completion
    shown = table(done.out)
    assert list(shown) == ["first-fit", "list-scheduling"]
    assert [row[:2] + row[-1:] for row in shown.values()] == [
        ["12", "1.0000", "proven optimal"]
    ] * 2
    data = json.loads(Path("out.json").read_text())
    assert (data["format"], data["version"], data["kind"]) == ("gangsched", 1, "comparison")
    assert [row["objective"] for row in data["rows"]] == [12, 12]
    assert_self_contained(Path("gangsched-compare.html"))
    assert sorted(os.listdir()) == ["files", "gangsched-compare.html", "out.json"]
    assert "written: gangsched-compare.html, out.json" in done.out


def test_compare_takes_a_problem_file_and_a_setting(gangsched_: Gangsched, files: Path) -> None:
    args = ("--solvers", FAST, "--report")
    done = gangsched_("compare", files / "problem.json", *args, "a.html")
    assert done.code == 0
    assert table(done.out)["first-fit"][0] == "8"
    done = gangsched_(
        "compare", "--setting", "paper_a", "--problem", "rar-ddls", "--nodes", 9, "--jobs", 12,
        "--seed", 4, *args, "b.html",
    )  # fmt: skip
    assert done.code == 0
    assert "paper-a, seed 4: 12 jobs on 9 nodes" in done.out
    assert sorted(os.listdir()) == ["a.html", "b.html", "files"]


def test_solve_takes_the_first_solver_of_a_problem(gangsched_: Gangsched, files: Path) -> None:
    done = gangsched_("solve", files / "queue.json", "--json", "r.json")
    assert (done.code, done.err) == (0, "")
    assert "solver: lp-selector" in done.out
    assert "bound: no schedule beats 100 (" in done.out
    result = load("r.json")
    assert result.objective == QUEUE.objective(result.solution)
    assert f"\nreward: {result.objective:g}\n" in done.out
    assert result.bound is not None
    verify_bound(QUEUE, result.bound)


def test_compare_takes_a_market(gangsched_: Gangsched) -> None:
    """Table 3: 130 of at most 133.75 by trading and in the equilibrium, 110 by fair shares."""
    done = gangsched_("compare", "--problem", "gandiva_fair", "--setting", "table3")
    assert (done.code, done.err) == (0, "")
    assert "table3, seed 0: 3 users of 72 GPUs of 2 models" in done.out
    assert "no allocation beats 133.75 (" in done.out
    rows = table(done.out)
    assert rows["trading"][:2] == rows["nash"][:2] == ["130.0000000", "1.0289"]
    assert rows["max-min"][0] == "130.6930693"  # all have as many decimals
    assert rows["efficient"][:3] == ["133.7500000", "1.0000", "1.00000"]
    assert rows["fair-share"][:4] == ["110.0000000", "1.2160", "1.00000", "1.00000"]
    assert float(rows["max-min"][2]) == pytest.approx(1.188, abs=5e-4)
    words = (
        "value: GPUs times their speeds, of all users\nleast gain: of a user, over its fair share"
    )
    assert words in done.out
    assert "wall time" not in done.out
    assert_self_contained(Path("gangsched-compare.html"))
    page = Path("gangsched-compare.html").read_text("utf-8")
    assert "runtime (s, less is better): wall time of the solver" in page
    explained = gangsched_(
        "compare", "--problem", "gandiva_fair", "--setting", "table3", "--explain"
    )
    assert "\nruntime (s, less is better): wall time of the solver\n" in explained.out
    assert "\nvalue: GPUs times their speeds, of all users\n" in explained.out
    assert "5 solvers on one problem: 3 users of 72 GPUs of 2 models." in page
    assert "No allocation is better than <strong>133.75</strong>" in page
    assert "schedule" not in page.split("<h2>")[0]


def test_compare_draws_a_market_and_solve_takes_one_from_a_file(gangsched_: Gangsched) -> None:
    done = gangsched_(
        "compare", "--problem", "gandiva-fair", "--setting", "random", "--seed", 5,
        "--solvers", "trading,nash,trading:second-of-all", "--json", "c.json",
    )  # fmt: skip
    assert done.code == 0
    data = json.loads(Path("c.json").read_text())
    _, models, speeds, tickets, gpus = random_market(20, seed=5)
    market = GpuMarket(gpus, speeds, tickets, models=models, users=[f"u{i}" for i in range(20)])
    assert data["rows"][0]["objective"] == traded_allocation(market).objective
    assert 1 < data["rows"][0]["ratio"] < data["rows"][2]["ratio"]  # no solver brought the bound
    verify_bound(market, Bound(**data["bound"]))
    save("market.json", market)
    done = gangsched_("solve", "market.json", "--solver", "nash", "--json", "r.json")
    assert (done.code, done.err) == (0, "")
    assert load("r.json").solution.models == ("k80", "p40", "p100", "v100")


def test_of_a_reward_the_optimum_is_at_most_so_many_times_what_is_in_hand(
    gangsched_: Gangsched, files: Path
) -> None:
    """By reward per GPU, the single GPU comes first, and its node has no room for the gang."""
    done = gangsched_("solve", files / "queue.json", "--solver", "density_greedy")
    assert "status: feasible\nreward: 60\n" in done.out
    assert "no schedule beats 100 (" in done.out
    assert "certified ratio: the optimum is at most 1.6667 times it\n" in done.out


def test_compare_takes_a_queue(gangsched_: Gangsched) -> None:
    args = ("compare", "--setting", "queue_philly", "--problem", "unisched", "--jobs", 20)
    done = gangsched_(*args, "--seed", 3, "--json", "out.json")
    assert (done.code, done.err) == (0, "")
    assert "queue-philly, seed 3: 20 jobs on " in done.out
    assert done.out.count("(seconds)") == 1  # mean completion; a reward has no unit
    assert "(slots)" not in done.out
    assert list(table(done.out)) == list(registry.PROBLEMS["unisched"].compared)
    data = json.loads(Path("out.json").read_text())
    assert (data["problem"], data["sense"]) == ("UniSched", "maximise")
    for row in data["rows"]:
        assert row["ratio"] == data["bound"]["value"] / row["objective"] >= 1
    assert_self_contained(Path("gangsched-compare.html"))


@pytest.mark.parametrize(
    ("name", "best", "status"),
    [
        ("rar-small-0", "laminar", "proven optimal"),
        ("two.json", "exact", "optimal (claimed)"),
    ],
)
@pytest.mark.usefixtures("no_search")
def test_screen_json_and_report_agree_on_a_status(
    gangsched_: Gangsched, name: str, best: str, status: str
) -> None:
    """Proven by the library's bound, not by the solver's own; or claimed by branch and bound."""
    save("two.json", problem_from_dict(library.entry("rar-contention-0").problem))
    args = ("--json", "c.json", "--report", "c.html", "--solvers", f"first-fit,{best}")
    done = gangsched_("compare", name, *args)
    assert done.code == 0
    shown = {solver: row[-1] for solver, row in table(done.out).items()}
    data = json.loads(Path("c.json").read_text())
    assert {row["solver"]: row["status"] for row in data["rows"]} == shown
    assert shown == {"first-fit": "feasible", best: status}
    page = Path("c.html").read_text("utf-8")
    rows = re.findall(r"<tr[^>]*><td>([^<]*)</td>.*?<td>([^<]*)</td></tr>", page)
    assert {solver: status for solver, status in rows if solver in shown} == shown


def test_compare_uses_the_bound_of_a_named_instance(gangsched_: Gangsched) -> None:
    """Its configuration bound is above the fast one, and verified again."""
    done = gangsched_("compare", "rar-small-0", "--solvers", "first-fit,laminar")
    assert done.code == 0
    assert "no schedule beats 646 (" in done.out
    assert table(done.out)["laminar"][1] == "1.0000"
    assert table(done.out)["laminar"][-1] == "proven optimal"
    assert table(done.out)["first-fit"][-1] == "feasible"


@pytest.mark.parametrize(
    ("name", "reader"),
    [("trace.csv", "philly-csv"), ("trace.json", "philly_json"), ("trace.swf", "swf")],
)
def test_compare_reads_traces(
    gangsched_: Gangsched, files: Path, name: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "_write", lambda *args, **kwargs: None)  # pictures take a second
    args = ("compare", files / name, "--reader", reader, "--problem", "rar-ddls", "--nodes", 2)
    args = (*args, "--gpus-per-node", 4, "--solvers", "first-fit")
    every = gangsched_(*args)
    assert every.code == 0
    assert "5 rows read, 5 jobs" in every.out
    assert "4 of 4 jobs that fit, 1 rejected" in every.out
    assert f"{name}: 4 jobs on 2 nodes, 8 GPUs" in every.out
    some = gangsched_(*args, "--first", 3)
    assert "3 of 4 jobs that fit (the first)" in some.out
    sample = gangsched_(*args, "--jobs", 3, "--seed", 5)
    assert "3 of 4 jobs that fit (seed 5)" in sample.out
    less = gangsched_(*args, "--without", "0..1")
    assert "5 rows read, 4 jobs, 1 skipped (left out, submitted 0..1: 1)" in less.out


def test_equal_runs_give_equal_files(gangsched_: Gangsched, files: Path) -> None:
    args = ("compare", files / "problem.json", "--seed", 3, "--solvers", "random-placement,laminar")
    for name in ("a.json", "b.json"):
        assert gangsched_(*args, "--json", name).code == 0
    first, second = (json.loads(Path(name).read_text()) for name in ("a.json", "b.json"))
    assert all(row.pop("timing").keys() == {"runtime"} for row in first["rows"] + second["rows"])
    assert first == second


def test_other_peoples_solvers_take_part(
    gangsched_: Gangsched, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = write_solvers(tmp_path, "theirs_in_process")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("good", "broken", "leaves", "rubbish", "boasts", "forgets", "no_keywords")
    wanted = ",".join(f"{module}:{name}" for name in names)
    done = gangsched_("compare", files / "problem.json", "--json", "o.json", "--solvers", wanted)
    assert (done.code, done.err) == (1, "")
    rows = {row["solver"]: row for row in json.loads(Path("o.json").read_text())["rows"]}
    assert rows.pop(f"{module}:good")["objective"] == 8
    assert {row["status"] for row in rows.values()} == {"error"}
    assert {row["ratio"] for row in rows.values()} == {None}
    for name, text in {
        "broken": "ValueError: two lines\n",
        "leaves": "SystemExit: 3",
        "rubbish": "TypeError: a solver returns a Result or a Refuted, not int",
        "boasts": "ValueError: objective=1, but its solution has 8",
        "forgets": "ValueError: infeasible solution: ",
        "no_keywords": "TypeError: no_keywords() got an unexpected keyword argument 'seed'",
    }.items():
        assert f"\n{module}:{name}: {text}" in done.out
    assert_self_contained(Path("gangsched-compare.html"))


def test_solve_with_a_solver_that_fails_is_one_line(
    gangsched_: Gangsched, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = write_solvers(tmp_path, "theirs_alone")
    monkeypatch.syspath_prepend(tmp_path)
    args = ("solve", files / "problem.json", "--json", "o.json", "--solver")
    assert_refused(
        gangsched_(*args, f"{module}:broken"), "solver 'theirs_alone:broken' failed: Val"
    )
    assert_refused(gangsched_(*args, f"{module}:rubbish"), "failed: TypeError: a solver returns a")
    assert not Path("o.json").exists()


@pytest.mark.slow
def test_demo_writes_its_files(gangsched_: Gangsched) -> None:
    done = gangsched_("demo", "--out", "some/folder")
    assert (done.code, done.err) == (0, "")
    assert sorted(os.listdir("some/folder")) == ["demo.html", "demo.json", "demo.png"]
    assert len(table(done.out)) == len(registry.PROBLEMS["rar-ddls"].compared)
    assert Path("some/folder/demo.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_demo_works_on_a_small_instance(
    gangsched_: Gangsched, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cli.from_library
    monkeypatch.setattr(cli, "from_library", lambda name, stem: made("rar-contention-0", stem))
    done = gangsched_("demo", "--out", "here")
    assert (done.code, done.err) == (0, "")
    assert sorted(os.listdir("here")) == ["demo.html", "demo.json", "demo.png"]


def test_reproduce_lists_and_runs_targets(
    gangsched_: Gangsched, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = FigureCell(instance="i", policy="p", run=given, workload={"value": 1})
    toy = toy_figure("rar_ddls:toy", lambda: [cell])
    monkeypatch.setitem(reproduce.TARGETS, toy.name, toy)
    listed = gangsched_("reproduce")
    assert listed.code == 0
    assert listed.out.split() == list(reproduce.TARGETS)
    done = gangsched_("reproduce", "rar-ddls:toy", "--out", "new/folder", "--jobs", "1")
    paths = [f"new/folder/rar_ddls-toy.{kind}" for kind in ("json", "csv", "png")]
    assert done == Outcome(0, "".join(f"{path}\n" for path in paths), "")
    assert sorted(os.listdir("new/folder")) == sorted(Path(path).name for path in paths)


def test_reproduce_takes_a_trace(
    gangsched_: Gangsched, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def cells(trace: Any = None) -> list[FigureCell]:
        seen.append(None if trace is None else len(trace.jobs))
        return []

    monkeypatch.setitem(reproduce.TARGETS, "ltgf:toy", toy_figure("ltgf:toy", cells))
    assert gangsched_("reproduce", "ltgf:toy").code == 0
    trace = ("--trace", str(files / "trace.csv"), "--reader", "philly-csv")
    done = gangsched_("reproduce", "ltgf:toy", *trace)
    assert (done.code, done.err) == (0, "")
    assert seen == [None, 5]  # its lines


@pytest.mark.slow
def test_reproduce_writes_a_figure(gangsched_: Gangsched) -> None:
    done = gangsched_("reproduce", "rar_ddls:fig5", "--out", "figures")
    assert done.code == 0
    assert sorted(os.listdir("figures")) == [f"rar_ddls-fig5.{k}" for k in ("csv", "json", "png")]


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.process
def test_a_file_name_may_hold_anything(gangsched_: Gangsched, files: Path) -> None:
    """Neither markup nor a line break nor bytes that are no text upset the screen."""
    assert_refused(gangsched_("solve", "two\nlines"), r"'two\\nlines' is neither")
    assert_refused(gangsched_("solve", "no/file\udcff"), r"is neither")
    for name, shown in (("[bold]x[bad].json",) * 2, ("\udcff.json", r"\udcff.json")):
        target = files / name
        target.write_bytes((files / "instance.json").read_bytes())
        done = process("solve", target, "--problem", "rar-ddls", "--solver", "first-fit", cwd=files)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"{shown}: 3 jobs")


def test_a_write_that_fails_late_is_one_line(
    gangsched_: Gangsched, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device", "r.html")

    monkeypatch.setattr(cli, "_write", full)
    done = gangsched_(
        "compare", files / "problem.json", "--solvers", "first-fit", "--report", "r.html"
    )
    assert done.code == 2
    assert "first-fit" in table(done.out)  # the work is not lost
    assert done.err == "gangsched: error: r.html: No space left on device\n"
