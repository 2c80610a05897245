"""The public conformance checks, over all that the registry names, and on what breaks them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gangsched import testing
from gangsched.formulations import RarDdls
from gangsched.formulations.irmp import reduced_problem
from gangsched.instances import Cluster, DeadlineJob, Instance, RingJob, Trace
from gangsched.instances.traces import READERS
from gangsched.registry import EARNING, POLICIES, PROBLEMS, policy
from gangsched.solvers import Decision, Preempts, Result, State, Stop, sjf_bco

RING = RarDdls(
    Instance(
        Cluster.of_sizes([1, 1]),
        [RingJob(id=i, gpus=1, iterations=4, gradient=0, base_time=0.9) for i in "abc"],
    )
)
DEADLINES = Instance(
    Cluster.of_sizes([4, 4]),
    [
        DeadlineJob(
            id=f"j{i}", gpus=1 << i % 3, work=400 + 90 * i, release=130 * i,
            rewards=[(2000 + 50 * i, 100)] if i % 2 else [], split_speed=0.7,
        )
        for i in range(7)
    ],
    name="deadlines",
)  # fmt: skip
#: the policies whose jobs need rewards or deadlines
OF_DEADLINES = ("unisched", "chronus", "three-sigma", "genie", "hydra", "optimus")


@pytest.mark.parametrize("name", POLICIES)
def test_policies_conform(name: str) -> None:
    instances = None
    if name.startswith(OF_DEADLINES):
        more = 1 + name.endswith("static-profiler")  # which has two nodes of its own
        instances = [replace(DEADLINES, cluster=Cluster.of_sizes([4, 4] * more))]
    if name.startswith("hived"):
        instances = [
            replace(i, cluster=Cluster.of_sizes([4, 4])) for i in testing.small_instances()
        ]
    rules = {"round_length": 1} if name in EARNING else {}
    if name in EARNING:
        instances = [PROBLEMS["irmp"].tiny().instance, reduced_problem(8).instance]
    if name == "ltgf:printed":
        instances = []  # refuted: it never ends where a user has no job that fits
    testing.check_policy(lambda: policy(name)[1], instances, **rules)


@pytest.mark.parametrize(
    ("stem", "name"), [(stem, name) for stem, entry in PROBLEMS.items() for name in entry.solvers]
)
def test_solvers_conform(stem: str, name: str) -> None:
    entry = PROBLEMS[stem]
    problem = entry.tiny()
    if name in ("gandiva-like", "hived-like"):  # they preempt for free
        problem = replace(problem, preemptive=True)
    row = entry.solvers[name]
    testing.check_solver(row.load(**row.quick), [problem])


@pytest.mark.parametrize("stem", PROBLEMS)
def test_problems_conform(stem: str) -> None:
    entry = PROBLEMS[stem]
    problem = entry.tiny()
    solve = entry.solvers[entry.compared[0]]
    testing.check_problem(problem, [solve(problem, seed=0, time_limit=20.0).solution])


def test_a_reader_conforms(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submission_time,duration,num_gpu\n1,0,60,2\n2,5,0,1\n")
    testing.check_reader(READERS["itp"], path)


# --- what does not conform -----------------------------------------------------------------------


@dataclass
class Forgetful:
    """Decides nothing once it has seen a thousand rounds."""

    rounds: int = 0
    name: str = "forgetful"
    preempts: Preempts = Preempts.NEVER

    def decide(self, state: State) -> Decision:
        self.rounds += 1
        return Decision(order=state.waiting[:: -1 if self.rounds > 4 else 1])

    def next_change(self, state: State) -> None:
        return None


@dataclass(frozen=True)
class Sleepy:
    """Decides by the clock, but says that nothing changes."""

    name: str = "sleepy"
    preempts: Preempts = Preempts.NEVER

    def decide(self, state: State) -> Decision:
        if state.free.sum() == state.sizes.sum():
            return Decision(order=state.waiting[:1])
        third = state.now // state.rules.round_length % 3 == 2
        return Decision(order=state.waiting if third else ())

    def next_change(self, state: State) -> None:
        return None


def test_a_policy_that_remembers_is_seen() -> None:
    with pytest.raises(AssertionError, match=r"^policy 'forgetful' on instance 'one node': remem"):
        testing.check_policy(Forgetful)


def test_a_policy_that_misjudges_its_next_change_is_seen() -> None:
    with pytest.raises(AssertionError, match="next_change skips a round"):
        testing.check_policy(Sleepy)


def honest(problem: Any, *, seed: int = 0, time_limit: float | None = None) -> Any:
    return sjf_bco(problem, seed=seed)


def flattering(problem: Any, *, seed: int = 0, time_limit: float | None = None) -> Any:
    found = sjf_bco(problem)
    return replace(found, objective=found.objective - 1, bound=None)


def fickle(problem: Any, calls: list[int] = [], **options: Any) -> Any:  # noqa: B006
    calls.append(1)
    result: Result[Any] = sjf_bco(problem)
    return replace(result, iterations=len(calls))


def silent(problem: Any, **options: Any) -> Any:
    return Result.of(problem, None, solver="silent", stop=Stop.COMPLETED)


@pytest.mark.parametrize(
    ("solver", "text"),
    [
        (flattering, r"^problem 0 \(RarDdls\): objective=7 is 8$"),
        (fickle, "the same seed gives another result"),
        (lambda problem, **_: 8, "int is no Result"),
    ],
)
def test_a_solver_that_does_not_conform_is_seen(solver: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        testing.check_solver(solver, [RING])


@pytest.mark.parametrize("solver", [honest, silent])
def test_a_solver_that_conforms_is_not(solver: Any) -> None:
    testing.check_solver(solver, [RING])


def test_a_reader_that_loses_a_row_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submission_time,duration,num_gpu\n1,0,60,2\n2,5,60,1\n")

    def losing(name: str) -> Trace:
        trace = READERS["itp"](name)
        object.__setattr__(trace, "jobs", trace.jobs[1:])
        return trace

    with pytest.raises(AssertionError, match="1 of 2 rows are accounted for"):
        testing.check_reader(losing, path)


def test_a_reader_that_swallows_an_empty_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submission_time,duration,num_gpu\n1,0,60,2\n")
    good = READERS["itp"](str(path))
    with pytest.raises(AssertionError, match="a file that is missing is not refused"):
        testing.check_reader(lambda name: good, path)


@pytest.mark.slow
def test_a_problem_with_a_wrong_model_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = sjf_bco(RING).solution
    monkeypatch.setattr(RarDdls, "objective", lambda self, s: 8 + (s is not solution))
    with pytest.raises(AssertionError, match=r"solution 0, .*: 8 becomes 9"):
        testing.check_problem(RING, [solution])
