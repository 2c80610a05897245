"""How far data walks: few functions between the command line, the solver and the report."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from gangsched import registry
from gangsched.analysis.comparing import comparison as comparing
from gangsched.analysis.comparing.comparison import compare
from gangsched.analysis.show import report
from gangsched.cli import main
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.solvers import first_fit, sjf_bco

MOST = 6  # functions of ours on the way, without the two ends


def walk() -> list[str]:
    """Functions of this package from the command line's entry to the caller, outermost first."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] == "gangsched":
            found.append(f"{module}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return found[::-1]


@pytest.mark.parametrize("own", [True, False])
def test_a_compare_is_a_short_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    """To the solver, our own or somebody else's, and from there to the report."""
    monkeypatch.chdir(tmp_path)
    seen: dict[str, list[str]] = {}

    def solver(problem: Any, *, seed: int, time_limit: Any) -> Any:
        seen["solver"] = walk()
        return first_fit(problem)

    def write(*args: Any, **more: Any) -> None:
        seen["report"] = walk()

    if own:
        entry = registry.PROBLEMS["rar-ddls"]
        row = SimpleNamespace(load=lambda: solver)
        monkeypatch.setitem(entry.solvers, "spy", row)  # type: ignore[index]
        monkeypatch.setattr("gangsched.cli.compare.warm_up", lambda *_: None)
        name = "spy"
    else:
        monkeypatch.setitem(sys.modules, "test_walks", sys.modules[__name__])
        monkeypatch.setattr(sys.modules[__name__], "SPY", solver, raising=False)
        name = "test_walks:SPY"
    monkeypatch.setattr(report, "write_report", write)
    with pytest.raises(SystemExit) as stop:
        main(["compare", "rar-small-0", "--solvers", name])
    assert stop.value.code == 0
    for end in ("solver", "report"):
        first, *between = seen[end]
        assert first == "gangsched.cli.app.main"
        assert 0 < len(between) <= MOST, between


def test_what_is_checked_once_is_not_checked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither a solution nor its value nor a bound, from the solver to the report."""
    jobs = [RingJob(id=id, gpus=1, iterations=4, gradient=0, base_time=0.9) for id in "abc"]
    problem = RarDdls(Instance(Cluster.of_sizes([2]), jobs))
    calls: Counter[Any] = Counter()

    def counting(name: str, function: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            calls[name, id(args[-1])] += 1  # the solution, or the bound
            return function(*args, **more)

        return call

    monkeypatch.setattr(RarDdls, "violations", counting("violations", RarDdls.violations))
    verify = counting("verify", comparing.verify_bound)
    monkeypatch.setattr(comparing, "verify_bound", verify)
    found = compare(problem, {"first-fit": first_fit, "sjf-bco": sjf_bco})
    assert [row.status for row in found.rows] == ["feasible", "feasible"] or found.bound is not None
    report.write_report(tmp_path / "report.html", found, title="Three jobs")
    assert "first-fit" in (tmp_path / "report.html").read_text("utf-8")
    solutions = [id(row.result.solution) for row in found.rows if row.result]
    assert [calls["violations", solution] for solution in solutions] == [1, 1]
    assert calls["verify", id(found.bound)] == 1
    assert max(calls.values()) == 1


def test_a_changed_result_is_checked() -> None:
    """Only what :meth:`Result.of` made is taken as checked, for this problem."""
    jobs = [RingJob(id=id, gpus=1, iterations=4, gradient=0, base_time=0.9) for id in "abc"]
    problem = RarDdls(Instance(Cluster.of_sizes([2]), jobs))
    other = RarDdls(Instance(Cluster.of_sizes([1]), jobs))
    made = first_fit(problem)
    assert made.is_checked(problem)
    assert made.is_checked(RarDdls(problem.instance))
    assert not made.is_checked(other)
    assert not replace(made, runtime=1.0).is_checked(problem)
    boasts = compare(problem, {"boasts": lambda _: replace(made, objective=1, bound=None)})
    assert boasts.rows[0].error == "ValueError: objective=1, but its solution has 8"
    elsewhere = compare(other, {"elsewhere": lambda _: made})
    assert elsewhere.rows[0].error.startswith("ValueError: infeasible solution")
