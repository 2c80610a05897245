"""What is added touches one file and one row: a policy, a solver, a bound.

A column is added in show/test_columns.py, a figure in papers/test_experiment.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import gangsched as gs
from gangsched import registry
from gangsched.analysis.proofs import bound as bounds
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, Job, RingJob

POLICY = """
import numpy as np
from gangsched.solvers.policy import Decision, Preempts

class Widest:
    name = "widest"
    preempts = Preempts.NEVER
    def decide(self, state):
        waiting = state.waiting
        return Decision(order=waiting[np.argsort(-state.gpus[waiting], kind="stable")])
"""

SOLVER = """
from gangsched.formulations.rar_ddls.problem import evaluate
from gangsched.solvers.result import Result, Stop

def one_gpu_each(problem, *, seed=0, time_limit=None, params=None):
    starts = [4 * k for k in range(len(problem.jobs))]
    schedule = evaluate(problem, starts, [{0: 1}] * len(problem.jobs))
    return Result.of(problem, schedule, solver="one-gpu-each", stop=Stop.COMPLETED)
"""

PROBLEM = RarDdls(
    Instance(
        Cluster.of_sizes([1, 1]),
        [RingJob(id=i, gpus=1, iterations=4, gradient=0, base_time=0.9) for i in "abc"],
    )
)
Write = Callable[[str, str], None]


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Write:
    """Put a file of this source under a module name of the package."""

    def module(name: str, source: str) -> None:
        made = ModuleType(name)
        exec(source, made.__dict__)
        monkeypatch.setitem(sys.modules, name, made)

    return module


def test_a_policy(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("gangsched.solvers.policies.widest", POLICY)
    row = registry.PolicyRow("solvers.policies.widest.Widest")
    monkeypatch.setitem(registry.POLICIES, "widest", row)
    jobs = [Job(id="thin", gpus=1, work=60), Job(id="wide", gpus=2, work=60)]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    assert gs.drive(instance, "widest").records.end.tolist() == [120, 60]
    assert [row.name for row in gs.replay(instance, ["fifo", "widest"]).rows] == ["fifo", "widest"]


def test_a_solver(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("gangsched.solvers.rar_ddls.one_gpu_each", SOLVER)
    row = registry.SolverRow("rar_ddls.one_gpu_each.one_gpu_each")
    monkeypatch.setitem(registry.PROBLEMS["rar-ddls"].solvers, "one-gpu-each", row)
    assert gs.solve(PROBLEM, "one-gpu-each").objective == 12
    found = gs.compare(PROBLEM, ["first-fit", "one-gpu-each"])
    assert [row.objective for row in found.rows] == [8, 12]


def test_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    makers = bounds.MAKERS[RarDdls]

    def nine(problem: RarDdls, seconds: float | None) -> gs.Bound:
        return gs.Bound(9, "by hand")

    monkeypatch.setitem(makers, "full", nine)  # type: ignore[index]
    assert gs.bound(PROBLEM, "full").value == 9
    assert gs.bound(PROBLEM, "standard").value == 8
    with pytest.raises(ValueError, match="no certificate"):
        gs.verify_bound(PROBLEM, gs.bound(PROBLEM, "full"))
    assert {"quick", "full"} <= set(makers)


def test_what_is_registered_is_there() -> None:
    """Every row can be loaded, so that a row without its file is seen."""
    for entry in registry.PROBLEMS.values():
        for row in entry.solvers.values():
            assert callable(row.load())
    for name in registry.POLICIES:
        made: Any = registry.policy(name)[1]
        assert made.name
