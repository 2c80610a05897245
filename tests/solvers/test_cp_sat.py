"""CP-SAT in its own process, and its models of RAR-DDLS against brute force."""

import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from few import each_seed
from gangsched.analysis.exact import solve_exact
from gangsched.formulations import CompletionTime, RarDdls
from gangsched.instances import Cluster, Instance, Job, RingJob
from gangsched.solvers import ExactParams, Status, Stop, child, cp_sat
from gangsched.solvers.child import Child
from gangsched.solvers.cp_sat import CpModel, NoCpSat
from gangsched.solvers.history import History
from gangsched.solvers.ours.rar_ddls import cp_search
from gangsched.solvers.ours.rar_ddls.cp_search import CpSearch
from gangsched.solvers.ours.rar_ddls.slot_model import slot_model
from tiny import optimum, tiny

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("no_search")]  # about CP-SAT


def knapsack() -> tuple[CpModel, list[int]]:
    """Three things of which two are needed, the cheapest ones cost 2 + 3."""
    model = CpModel()
    things = [model.boolean() for _ in range(3)]
    cost = model.integer(0, 20)
    model.linear([(x, 1) for x in things], 2, math.inf)
    model.linear([(cost, 1), *zip(things, (-2, -7, -3), strict=True)], 0, 0)
    model.minimise(cost)
    return model, things


def pigeons(count: int) -> CpModel:
    """More pigeons than holes, which takes for ever without symmetry."""
    model = CpModel()
    at = [[model.boolean() for _ in range(count - 1)] for _ in range(count)]
    for row in at:
        model.clause(*row)
    for hole in zip(*at, strict=True):
        for i, one in enumerate(hole):
            for other in hole[:i]:
                model.clause(-1 - one, -1 - other)
    return model


# --- the process ---------------------------------------------------------------------------------


def test_an_optimum_and_how_it_was_found() -> None:
    model, things = knapsack()
    answer = cp_sat.solve(model)
    assert answer.values is not None
    assert [answer.values[x] for x in things] == [1, 0, 1]
    assert (answer.status, answer.bound, answer.stopped) == ("optimal", 5, "")
    assert answer.history[-1][1:] == (5, 5)
    assert answer.version == cp_sat.require()


def test_infeasible() -> None:
    model, things = knapsack()
    model.linear([(x, 1) for x in things], 0, 1)
    answer = cp_sat.solve(model)
    assert (answer.status, answer.values) == ("infeasible", None)


def test_one_thread_gives_the_same_answer_again() -> None:
    problem = tiny(10)
    models = [slot_model(problem, horizon=12, least=1, contention=True) for _ in range(2)]
    one, other = (cp_sat.solve(model.program) for model in models)
    assert models[0].program.data == models[1].program.data
    assert (one.values, one.branches) == (other.values, other.branches)


def test_the_process_ends_at_the_limit() -> None:
    options = {"cp_model_presolve": False, "symmetry_level": 0}
    answer = cp_sat.solve(pigeons(14), time_limit=3, options=options)
    assert (answer.status, answer.stopped) == ("unknown", "time limit")


def test_ctrl_c_keeps_what_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = knapsack()
    started: list[subprocess.Popen[bytes]] = []
    start = Child._start

    def starting(child: Child) -> None:
        start(child)
        assert child._process is not None
        started.append(child._process)
        child._told = Interrupting(child._told.get)  # type: ignore[assignment]

    monkeypatch.setattr(Child, "_start", starting)
    answer = cp_sat.solve(model)
    assert (answer.status, answer.stopped) == ("feasible", "interrupted")
    assert answer.values is not None
    assert started[0].poll() is not None


class Interrupting:
    """A queue with a Ctrl-C behind the first solution."""

    def __init__(self, get: Callable[..., Any]) -> None:
        self.take, self.found = get, False

    def get(self, timeout: float | None = None) -> Any:
        if self.found:
            raise KeyboardInterrupt
        done, *told = self.take(timeout=timeout)
        self.found = any("values" in found for found in told)
        return done, *({k: v for k, v in found.items() if k != "status"} for found in told)


def test_an_unknown_option_is_one_line() -> None:
    with pytest.raises(NoCpSat, match=r"^CP-SAT has no option 'speed'$"):
        cp_sat.solve(knapsack()[0], options={"speed": 3})


def test_a_crash_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "COMMAND", [sys.executable, "-c", "raise SystemExit(7)"])
    with pytest.raises(NoCpSat, match=r"without an answer \(exit code 7\)"):
        cp_sat.solve(knapsack()[0])


def test_no_library_of_highs_in_the_process() -> None:
    """Both bring a libhighs, and cannot be loaded together."""
    text = "import sys; import gangsched.solvers.cp_sat; import ortools.sat.python.cp_model"
    text += "; print([n for n in sys.modules if 'highs' in n])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", text], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("version", "text"),
    [("", "OR-tools is not installed"), ("9.9.1", "OR-tools 9.9.1 is too old"), ("9.15.1", "")],
)
def test_old_or_missing(version: str, text: str) -> None:
    assert cp_sat._refusal(version).startswith(text)
    assert bool(cp_sat._refusal(version)) == bool(text)


# --- the models ----------------------------------------------------------------------------------


@each_seed(range(0, 12, 2))
def test_the_optimum_is_that_of_brute_force(seed: int) -> None:
    problem = tiny(seed)
    search = CpSearch(problem, None, 0, History(time.perf_counter()))
    search.run()
    assert search.solution is not None
    assert problem.violations(search.solution) == []
    assert problem.objective(search.solution) == search.least == optimum(seed)


@pytest.mark.parametrize("seed", [1, 5, 8, 11])
def test_contention_is_counted(seed: int) -> None:
    """Without it these have shorter schedules, which their jobs cannot keep to."""
    problem, best = tiny(seed), optimum(seed)
    relaxed = slot_model(problem, horizon=best, least=1, contention=False)
    assert cp_sat.solve(relaxed.program).bound < best
    shorter = slot_model(problem, horizon=best - 1, least=1, contention=True)
    assert cp_sat.solve(shorter.program).status == "infeasible"


def test_exact_rates() -> None:
    problem = tiny(2, rate="exact")
    found = solve_exact(problem, params=ExactParams(solver="cp-sat", warm_start=None))
    other = solve_exact(problem, params=ExactParams(solver="highs", warm_start=None))
    assert found.status is Status.OPTIMAL
    assert found.objective == other.objective


def test_a_horizon_that_is_too_short() -> None:
    problem = tiny(1, horizon=optimum(1) - 1)
    found = solve_exact(problem, params=ExactParams(solver="cp-sat"))
    assert (found.status, found.stop) == (Status.INFEASIBLE, Stop.PROVEN)


def test_no_jobs() -> None:
    problem = RarDdls(Instance(Cluster.of_sizes([2]), list[RingJob]()))
    found = solve_exact(problem, params=ExactParams(solver="cp-sat", warm_start=None))
    assert (found.objective, found.status) == (0, Status.OPTIMAL)


# --- in solve_exact ------------------------------------------------------------------------------


def test_it_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert solve_exact(tiny(1)).bound.method == "cp-sat"  # type: ignore[union-attr]
    monkeypatch.setattr("gangsched.analysis.exact.works", lambda name: name != "cp-sat")
    found = solve_exact(tiny(1))
    assert found.bound is not None
    assert (found.bound.method, found.objective) == ("branch and bound", optimum(1))


def test_a_form_is_for_highs() -> None:
    with pytest.raises(ValueError, match="'cp-sat' is for RarDdls, without a form"):
        solve_exact(tiny(1), params=ExactParams(solver="cp-sat", form="compact"))
    jobs = [Job(id="a", gpus=1, work=1)]
    other = CompletionTime(Instance(Cluster.of_sizes([1]), jobs))
    with pytest.raises(ValueError, match="'cp-sat' is for RarDdls"):
        solve_exact(other, params=ExactParams(solver="cp-sat"))


def test_ctrl_c_in_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(cp_search.cp_sat, "solve", interrupted)
    found = solve_exact(tiny(1))
    assert found.stop is Stop.INTERRUPTED
    assert found.solution is not None
