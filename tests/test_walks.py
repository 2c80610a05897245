"""What was checked once is not checked again on its way to the report; what was changed, is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gangsched.analysis.comparing import comparison as comparing
from gangsched.analysis.comparing.comparison import compare
from gangsched.analysis.show import report
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.solvers import first_fit, sjf_bco


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
