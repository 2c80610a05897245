"""The functions that take the command line's names, and what importing the package costs."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from gangsched import registry
from gangsched.analysis.comparing.comparison import compare as compare_objects
from gangsched.formulations.problem import Sense
from gangsched.solvers import Fifo, SjfBcoParams, Srtf, first_fit, sjf_bco
from gangsched.solvers.policy import Rules

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("numba", "pyomo", "cvxpy", "scipy", "matplotlib")


def two_jobs() -> gs.Instance[gs.Job]:
    jobs = [
        gs.Job(id="long", gpus=2, work=600),
        gs.Job(id="short", gpus=2, work=60, release=60),
    ]
    return gs.Instance(gs.Cluster.of_sizes([2]), jobs)


# --- problems ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stem", "setting"),
    [(stem, name) for stem, entry in registry.PROBLEMS.items() for name in entry.settings],
)
def test_every_setting_gives_a_problem_of_its_kind(stem: str, setting: str) -> None:
    made = gs.problem(stem, setting=setting, seed=1)
    assert registry.find(made) == stem


def test_a_setting_is_seeded_and_sized() -> None:
    one, same, other = (
        gs.problem("rar_ddls", setting="paper_a", seed=s, jobs=7) for s in (1, 1, 2)
    )
    assert len(one.jobs) == 7
    assert one == same != other


def test_an_instance_becomes_a_problem() -> None:
    jobs = [gs.RingJob(id="a", gpus=1, iterations=4, gradient=0.0, base_time=0.9)]
    instance = gs.Instance(gs.Cluster.of_sizes([1]), jobs)
    made = gs.problem("rar-ddls", instance)
    assert registry.find(made) == "rar-ddls"
    assert made.instance is instance


def test_a_named_instance_is_that_of_the_library() -> None:
    assert (
        gs.problem("rar-b-0").instance.name
        == gs.library.entry("rar-b-0").problem["instance"]["name"]
    )


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (("rar", None, {"setting": "paper-a"}), ValueError, "problem 'rar' is not one of rar-ddls"),
        (("rar-ddls", None, {"setting": "paper"}), ValueError, "setting 'paper' is not one of"),
        (("rar-ddls", None, {}), KeyError, "rar-ddls"),
        (("rar-b-0", None, {"jobs": 3}), ValueError, "problem: jobs=3 goes with a setting"),
        (("unisched", None, {"setting": "queue-philly", "nodes": 3}), ValueError, "nodes"),
    ],
)
def test_a_problem_that_is_none_is_refused(given: Any, error: type[Exception], text: str) -> None:
    name, instance, how = given
    with pytest.raises(error, match=text):
        gs.problem(name, instance, **how)


# --- solving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", registry.PROBLEMS)
def test_a_name_solves_what_its_function_solves(stem: str) -> None:
    entry = registry.PROBLEMS[stem]
    tiny = entry.tiny()
    for name in entry.compared:
        assert gs.solve(tiny, name, seed=1) == entry.solvers[name](tiny, seed=1)


@pytest.mark.parametrize("stem", registry.PROBLEMS)
def test_without_a_name_the_first_one_solves(stem: str) -> None:
    entry = registry.PROBLEMS[stem]
    assert gs.solve(entry.tiny()) == entry.solvers[entry.compared[0]](entry.tiny())


def test_solve_takes_parameters_functions_and_other_peoples_names() -> None:
    tiny = registry.PROBLEMS["rar-ddls"].tiny()
    params = SjfBcoParams(reach=2.0)
    assert gs.solve(tiny, "sjf_bco", params=params) == sjf_bco(tiny, params=params)
    assert gs.solve(tiny, first_fit) == first_fit(tiny)
    assert gs.solve(tiny, "gangsched.solvers:first_fit") == first_fit(tiny)


def test_time_limit_and_seed_reach_the_solver() -> None:
    seen: list[Any] = []

    def mine(problem: Any, *, seed: int, time_limit: float | None) -> Any:
        seen.append((seed, time_limit))
        return first_fit(problem)

    gs.solve(registry.PROBLEMS["rar-ddls"].tiny(), mine, seed=4, time_limit=2.5)
    assert seen == [(4, 2.5)]


def test_what_is_no_problem_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^a Instance is not a problem of rar-ddls, "):
        gs.solve(two_jobs(), "sjf-bco")
    with pytest.raises(ValueError, match=r"^solver 'nothing' is not one of trading"):
        gs.solve(registry.PROBLEMS["gandiva-fair"].tiny(), "nothing")


# --- comparing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", registry.PROBLEMS)
def test_compare_runs_what_the_command_line_runs(stem: str) -> None:
    entry = registry.PROBLEMS[stem]
    found = gs.compare(entry.tiny())
    assert [row.solver for row in found.rows] == list(entry.compared)
    assert not any(row.error for row in found.rows)
    assert found.bound is not None
    assert list(found.legend) == list(entry.extras.legend)
    for row in found.rows:
        assert row.ratio is None or row.ratio >= 1


def test_compare_takes_names_functions_and_mappings() -> None:
    tiny = registry.PROBLEMS["rar-ddls"].tiny()

    def mine(problem: Any) -> Any:
        return first_fit(problem)

    names = [row.solver for row in gs.compare(tiny, ["first_fit", mine, "laminar"]).rows]
    assert names == ["first-fit", "mine", "laminar"]
    named = gs.compare(tiny, {"ours": mine, "theirs": "first-fit"})
    assert [row.solver for row in named.rows] == ["ours", "theirs"]
    assert named.rows[0].result == named.rows[1].result
    assert named.bound == compare_objects(tiny, {"ours": mine}).bound


def test_compare_refuses_one_name_and_names_twice() -> None:
    tiny = registry.PROBLEMS["rar-ddls"].tiny()
    with pytest.raises(TypeError, match=r"^compare: 'laminar' is one name, give a list of names$"):
        gs.compare(tiny, "laminar")
    with pytest.raises(ValueError, match=r"^compare: 'first-fit' occurs twice$"):
        gs.compare(tiny, ["first-fit", "first_fit"])


def test_compare_takes_problems_that_the_registry_does_not_know() -> None:
    class Least:
        """The least number of a list."""

        sense = Sense.MIN

        def violations(self, solution: int) -> list[str]:
            return []

        def objective(self, solution: int) -> int:
            return solution

    def three(problem: Any) -> Any:
        return gs.Result.of(problem, 3, solver="three", stop=gs.Stop.COMPLETED)

    assert [row.objective for row in gs.compare(Least(), {"three": three}).rows] == [3]


# --- policies ------------------------------------------------------------------------------------


def test_a_policy_by_name_runs_as_the_policy() -> None:
    assert gs.drive(two_jobs(), "srtf", overhead=5) == gs.drive(two_jobs(), Srtf(), overhead=5)


def test_replay_takes_names_policies_and_mappings() -> None:
    rules = Rules(overhead=5)
    names = gs.replay(two_jobs(), ["fifo", Srtf()], rules=rules)
    mapping = gs.replay(two_jobs(), {"fifo": Fifo(), "srtf": "srtf"}, rules=rules)
    assert [row.name for row in names.rows] == ["fifo", "srtf"]
    assert [row.run for row in names.rows] == [row.run for row in mapping.rows]


def test_replay_without_names_runs_what_the_command_line_runs() -> None:
    found = gs.replay(two_jobs())
    assert [row.name for row in found.rows] == list(registry.REPLAYED)


def test_a_policy_that_draws_gets_the_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "drawing.py"
    path.write_text(
        "from gangsched.solvers import Fifo\nseeds = []\n"
        "def make(*, seed):\n    seeds.append(seed)\n    return Fifo()\n"
    )
    gs.drive(two_jobs(), f"{path}:make", seed=7)
    gs.replay(two_jobs(), [f"{path}:make"], seed=8)
    module = next(m for m in sys.modules.values() if getattr(m, "__file__", "") == str(path))
    assert module.seeds == [7, 8]


@pytest.mark.parametrize("call", [gs.drive, lambda case, name: gs.replay(case, [name])])
def test_a_policy_that_is_none_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match=r"^policy 'nothing' is not one of fifo"):
        call(two_jobs(), "nothing")


# --- the package ---------------------------------------------------------------------------------


def test_dir_shows_every_public_name() -> None:
    stub = (ROOT / "package" / "__init__.pyi").read_text("utf-8")
    names = re.findall(r"^from \S+ import \w+ as (\w+)$", stub, re.M)
    assert len(names) == len(set(names)) >= 40
    assert sorted(names) == sorted(dir(gs))
    for name in names:
        assert getattr(gs, name) is not None


@pytest.mark.parametrize(
    "text",
    [
        "import gangsched",
        "import gangsched; gangsched.Job; gangsched.Instance; gangsched.Result",
        "import gangsched; gangsched.registry.solver('rar-ddls', 'sjf-bco')",
        "import gangsched; gangsched.solve, gangsched.compare, gangsched.drive, gangsched.replay",
        "import gangsched; gangsched.convert.to_instance; gangsched.library.names()",
    ],
)
def test_importing_loads_nothing_heavy(text: str) -> None:
    code = f"import sys; {text}; print(*(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
