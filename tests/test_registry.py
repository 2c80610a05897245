import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gangsched import registry
from gangsched.formulations.io import PROBLEMS as FILE_PROBLEMS
from gangsched.registry import PROBLEMS, lookup, plugins, policy, solver, warm_up
from gangsched.solvers import first_fit
from malformed import table

#: what the optimum of each tiny problem is worth
TINY = {
    "rar-ddls": 8,  # three jobs of four slots on two GPUs
    "unisched": 300,  # three deadlines
    "irmp": 300,  # three jobs, each worth 100 whenever it is complete
    "gandiva-fair": 4,  # two GPUs, and one that is twice as fast
    "ltgf": 2 / 3,  # the second one: a slot of service for half and then all of the GPU
    "ltgf-round": 0.5,  # 10 of 20 GPU-seconds
    "ltgf-fluid": 1,  # all that it wants
    "completion-time": 8,  # two jobs of four seconds
    "deadline-rewards": 200,  # both
    "sharing-incentive": 1,  # both as alone
}
EVERY = [(stem, name) for stem, entry in PROBLEMS.items() for name in entry.solvers]


def test_problems_have_the_names_that_files_use() -> None:
    assert set(PROBLEMS) == set(FILE_PROBLEMS)
    for stem, entry in PROBLEMS.items():
        assert FILE_PROBLEMS[stem] in (entry.make, entry.kind)
        assert set(entry.compared) <= set(entry.solvers)


def test_every_variant_is_explained() -> None:
    assert list(registry.VARIANTS) == [name for name in registry.POLICIES if ":" in name]


@pytest.mark.parametrize("name", ["rar-ddls", "rar_ddls"])
def test_names_take_both_signs(name: str) -> None:
    assert lookup("problem", PROBLEMS, name) == "rar-ddls"


def test_names_keep_underscores_that_belong_to_them() -> None:
    assert lookup("target", {"rar_ddls:fig4": 1}, "rar-ddls:fig4") == "rar_ddls:fig4"


def test_a_policy_has_the_name_that_papers_use_too() -> None:
    assert policy("max_min")[0] == policy("max-min")[0] == "max-min-fairness"
    assert set(registry.ALIASES.values()) <= set(registry.POLICIES)
    assert not set(registry.ALIASES) & set(registry.POLICIES)


def test_a_policy_without_trades_is_one_of_names() -> None:
    assert policy("gandiva_fair:no-trade")[1].trading is False  # type: ignore[attr-defined]
    assert policy("gandiva-fair")[1].trading is True  # type: ignore[attr-defined]


def test_an_unknown_name_is_refused_with_what_there_is() -> None:
    with pytest.raises(
        ValueError,
        match=r"^problem 'unknown' is not one of rar-ddls, unisched, irmp, gandiva-fair, ltgf, ",
    ):
        lookup("problem", PROBLEMS, "unknown")


@pytest.mark.parametrize(("stem", "name"), EVERY)
def test_every_solver_solves_the_tiny_problem(stem: str, name: str) -> None:
    entry = PROBLEMS[stem]
    result = entry.solvers[name](entry.tiny(), seed=1, time_limit=20.0)
    assert result.objective == TINY[stem]


def test_warming_up_reaches_the_annealing() -> None:
    row, problem = PROBLEMS["rar-ddls"].solvers["laminar"], PROBLEMS["rar-ddls"].tiny()
    assert row.load(**row.quick)(problem).iterations == 1 < row(problem).iterations


def test_warming_up_leaves_other_peoples_solvers_alone() -> None:
    warm_up("rar-ddls", "nobody:knows")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of somebody else in the current folder, which is not on the path."""
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    monkeypatch.delitem(sys.modules, "somebodys", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "somebodys.py"
    path.write_text("def mine(problem, *, seed, time_limit):\n    return seed\nnumber = 3\n")
    return path


def test_a_module_in_the_current_folder_is_found(module: Path) -> None:
    name, function = solver("rar-ddls", "somebodys:mine")
    assert name == "somebodys:mine"
    assert function(None, seed=7, time_limit=None) == 7
    assert sys.path[-1] == str(module.parent)  # last: it hides nothing that is installed


@pytest.mark.parametrize(
    ("name", "text"),
    table("refused_values")["what_is_no_solver_is_refused"],
)
@pytest.mark.usefixtures("module")
def test_what_is_no_solver_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        solver("rar-ddls", name)


def test_a_file_is_imported_once_wherever_it_is(module: Path, tmp_path: Path) -> None:
    folder = tmp_path / "random"  # beside it, and after the standard library's own
    folder.mkdir()
    (folder / "helping.py").write_text("seven = 7\n")
    path = folder / "random.py"
    path.write_text("import helping\nuses = []\ndef mine(problem, *, seed, time_limit):\n"
                    "    uses.append(seed)\n    return len(uses) + helping.seven\n")  # fmt: skip
    before = sys.modules.get("random")
    for count in (1, 2):
        name, function = solver("rar-ddls", f"{path}:mine")
        assert name == f"{path}:mine"
        assert function(None, seed=0, time_limit=None) == count + 7
    assert sys.modules.get("random") is before
    assert solver("rar-ddls", f"{module.name}:mine")[1](None, seed=3, time_limit=None) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"cannot be imported: FileNotFoundError: there is no file mine\.py$"),
        ("1 / 0", r"cannot be imported: ZeroDivisionError"),
        ("x = 1", r"cannot be imported: AttributeError: .* has no attribute 'Mine'"),
    ],
)
@pytest.mark.usefixtures("module")
def test_a_file_without_the_policy_is_refused(text: str | None, message: str) -> None:
    if text is not None:
        Path("mine.py").write_text(text)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            policy("mine.py:Mine")


@pytest.mark.parametrize("text", ["1 / 0", "def f(:", "raise SystemExit(3)"])
def test_a_module_that_breaks_on_import_is_refused(module: Path, text: str) -> None:
    module.write_text(text)
    with pytest.raises(ValueError, match=r"^solver 'somebodys:mine' cannot be imported: \w+"):
        solver("rar-ddls", "somebodys:mine")


def test_entry_points_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "gangsched.solvers"
    good = EntryPoint("ours", "gangsched.solvers:first_fit", group)
    bad = EntryPoint("gone", "gangsched.solvers:no_such", group)
    own = EntryPoint("sjf-bco", "gangsched.solvers:first_fit", group)
    wanted: list[str] = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        wanted.append(group)
        return [good, bad, own]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    assert solver("rar-ddls", "ours") == ("ours", first_fit)
    assert list(plugins()) == ["ours", "gone", "sjf-bco"]
    assert solver("rar-ddls", "sjf-bco")[1] is not first_fit  # nobody replaces the project's own
    assert set(wanted) == {group}
    with pytest.raises(ValueError, match=r"^solver 'gone' cannot be imported: AttributeError"):
        solver("rar-ddls", "gone")
    with pytest.raises(ValueError, match=r"exact, ours, gone"):
        solver("rar-ddls", "theirs")
