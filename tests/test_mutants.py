"""What the mutation tester changes and what it leaves alone, and that it tells who is noticed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import mutants
from mutants import ROOT, Copy, Mutant, candidates, drawn, judged, main, sites

SOURCE = '''\
"""Say 1 + 1 and not True."""

from __future__ import annotations

import logging
from typing import Literal

__all__ = ["f", "g"]
Kind = Literal["a", "b"]
logger = logging.getLogger("x" or "y")


def f(a: Literal[1, 2], b: int = 3) -> Literal[4]:
    """Return 1 + 1."""
    logger.info("5 and %d", 6)
    if a < b:
        raise ValueError(f"a={a + 7} is below" + str(8))
    assert a > 9, "10"
    for x in range(a):
        if x and b:
            continue
    return min(a - b, 11)


class C:
    """Holds 12."""

    y: int = 13

    def g(self) -> bool:
        text = f"{self.y + 14}"
        return not text
'''


def changes(source: str) -> set[tuple[str, str, str]]:
    found = [mutant for place in sites(source.encode()) for mutant in place]
    return {mutant.key[:3] for mutant in found}


def test_every_change_of_a_source() -> None:
    assert changes(SOURCE) == {
        ("<module>", 'logger = logging.getLogger("x" or "y")',
         """logger = logging.getLogger(('x' and 'y'))"""),
        ("f", "def f(a: Literal[1, 2], b: int = 3) -> Literal[4]:",
         "def f(a: Literal[1, 2], b: int = 4) -> Literal[4]:"),
        ("f", "def f(a: Literal[1, 2], b: int = 3) -> Literal[4]:",
         "def f(a: Literal[1, 2], b: int = 2) -> Literal[4]:"),
        ("f", "if a < b:", "if (a <= b):"),
        ("f", "if a < b:", "if (a >= b):"),
        ("f", "if a < b:", "if (not a < b):"),
        ("f", 'raise ValueError(f"a={a + 7} is below" + str(8))', "pass"),
        ("f", "if x and b:", "if (x or b):"),
        ("f", "if x and b:", "if (not (x and b)):"),
        ("f", "continue", "pass"),
        ("f", "return min(a - b, 11)", "return None"),
        ("f", "return min(a - b, 11)", "return (max(a - b, 11))"),
        ("f", "return min(a - b, 11)", "return min((a + b), 11)"),
        ("f", "return min(a - b, 11)", "return min(a - b, 12)"),
        ("f", "return min(a - b, 11)", "return min(a - b, 10)"),
        ("C", "y: int = 13", "y: int = 14"),
        ("C", "y: int = 13", "y: int = 12"),
        ("C.g", "return not text", "return None"),
        ("C.g", "return not text", "return (text)"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = a is b", ["x = (a is not b)"]),
        ("x = a not in b", ["x = (a in b)"]),
        ("x = a <= b == c", ["x = (a < b == c)", "x = (a > b == c)", "x = (a <= b != c)"]),
        ("x += y", ["x -= y", "pass"]),
        ("x = a | b", ["x = (a & b)"]),
        ("x = np.maximum(a, b)", ["x = (np.minimum(a, b))"]),
        ("x = any(y)", ["x = (all(y))"]),
        ("x = True", ["x = False"]),
        ("x = 0.5", ["x = 1.5", "x = -0.5"]),
        ("x = -y", ["x = (y)"]),
        ("x[i] = y", ["pass"]),
        ("x = [y for y in z if y]", ["x = [y for y in z if (not y)]"]),
        ("x = a if b else c", ["x = a if (not b) else c"]),
        ("x.clear()", ["pass"]),
        ("x = 'é' + y", ["x = ('é' - y)"]),
        ("log.warning(x + y)", []),
        ("warnings.warn(x + y)", []),
    ],
)
def test_a_change(before: str, after: list[str]) -> None:
    assert changes(before) == {("<module>", before, line) for line in after}


@pytest.mark.slow
def test_all_changes_of_the_project_are_python() -> None:
    places = candidates(ROOT, ["instances/io.py"])
    for mutant in (mutant for place in places for mutant in place):
        source = (ROOT / mutant.path).read_bytes()
        ast.parse(mutant.apply(source))
        assert mutant.apply(source) != source


TWO_FUNCTIONS = """\
def f(x):
    if x > 5:
        x -= 1
    return x + x + 0


def g():
    return 2
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "package").mkdir(parents=True)
    (root / "solvers").mkdir()
    (root / "package" / "__init__.py").write_text("from .solvers.s import f as f\n")
    (root / "solvers" / "__init__.py").touch()
    (root / "solvers" / "s.py").write_text(TWO_FUNCTIONS)
    return root


def test_mutants_of_a_function_look_alike_but_for_a_number(tree: Path) -> None:
    (tree / "solvers" / "t.py").write_bytes((tree / "solvers" / "s.py").read_bytes())
    places = candidates(tree, ["solvers"])
    keys = [mutant.key for place in places for mutant in place]
    assert len(set(keys)) == len(keys)
    assert {key[3] for key in keys} == {0, 1}
    assert {place[0].function for place in candidates(tree, ["solvers/s.py:g"])} == {"g"}
    assert drawn(places, 5, seed=3) == drawn(places, 5, seed=3)
    assert drawn(places, 5, seed=3) != drawn(places, 5, seed=4)
    assert len(drawn(places, 100, seed=0)) == len(places)


def test_who_is_noticed(tree: Path) -> None:
    found = {mutant.after: mutant for place in candidates(tree, ["solvers"]) for mutant in place}
    cases = {
        "return (x + x - 0)": False,
        "return (x - x) + 0": True,
        "return x + x + 1": True,
        "return 3": False,  # of g, which nobody calls
        "if (x >= 5):": False,
    }
    chosen = [found[after] for after in cases]
    command = ["python", "-c", "import gangsched; assert gangsched.f(2) == 4"]
    assert list(judged(tree, chosen, command, jobs=2)) == list(cases.values())
    assert "x + x + 0" in (tree / "solvers" / "s.py").read_text()


def test_a_mutant_runs_with_the_machine_code_that_there_is(tree: Path) -> None:
    """Which knows by itself what it is made of, and whether that has changed."""
    made = Copy(tree, tree.parent / "copy")
    cached = made.folder / "unchanged" / "code"
    cached.parent.mkdir()
    cached.touch()
    time_before = (made.tree / "solvers" / "s.py").stat().st_mtime_ns
    seen = "import os; raise SystemExit(os.path.exists(os.environ['NUMBA_CACHE_DIR'] + '/code'))"
    mutant = Mutant("solvers/s.py", "f", 1, 0, 0, " ", "", "")
    assert made.killed(mutant, ["python", "-c", seen], 60)
    assert (made.tree / "solvers" / "s.py").stat().st_mtime_ns == time_before
    assert cached.exists()
    assert not (made.folder / "changed").exists()


def test_mutants_are_found_again_when_their_function_has_moved(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "ROOT", tree)
    saved, again = tree / "first.json", tree / "again.json"
    command = ["--", "python", "-c", "import gangsched; assert gangsched.f(2) == 4"]
    drawing = ["--count", "4", "--seed", "2", "--files", "solvers/s.py", "--save", str(saved)]
    main([*drawing, *command])
    (tree / "solvers" / "moved.py").write_text("# moved\n\n" + TWO_FUNCTIONS)
    (tree / "solvers" / "s.py").write_text("from .moved import f as f\n")
    capsys.readouterr()
    following = ["--of", str(saved), "--files", "solvers", "--save", str(again)]
    main([*following, *command])
    assert "gone" not in capsys.readouterr().out
    first, second = (json.loads(path.read_text()) for path in (saved, again))
    assert first["total"] == 4
    assert 0 < first["killed"] < 4
    assert second["mutants"] == first["mutants"]
    lost = next(row for row in first["mutants"] if row["function"] == "f")
    (tree / "solvers" / "moved.py").write_text("def f(x):\n    return 4\n")
    main([*following, *command])
    shown = f"gone     f: {lost['before']}  ->  {lost['after']}"
    assert shown in capsys.readouterr().out


def test_a_command_has_to_pass_without_a_mutant(tree: Path) -> None:
    chosen = drawn(candidates(tree, ["solvers"]), 1, seed=0)
    with pytest.raises(SystemExit, match="without a mutant the command fails:\nno"):
        list(judged(tree, chosen, ["python", "-c", "raise SystemExit('no')"], jobs=1))


def test_what_takes_too_long_is_ended(tree: Path, tmp_path: Path) -> None:
    made = Copy(tree, tmp_path / "copy")
    assert made.run(["python", "-c", "import time; time.sleep(600)"], 0.2, "unchanged") is None
    assert made.run(["python", "-c", "raise SystemExit(3)"], None, "unchanged") == 3


def test_a_command_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--files", "solvers"])
    assert "files or command are missing" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--freeze", "--files", "solvers", "--", "true"])
    assert "--freeze needs --save" in capsys.readouterr().err


def test_a_list_is_frozen_before_it_is_run(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "ROOT", tree)
    frozen, run = tree / "frozen.json", tree / "run.json"
    command = ["python", "-c", "import gangsched; assert gangsched.f(2) == 4"]
    drawing = ["--count", "4", "--seed", "2", "--files", "solvers/s.py"]
    monkeypatch.setattr(mutants, "judged", None)
    main([*drawing, "--freeze", "--save", str(frozen), "--", *command])
    monkeypatch.undo()
    monkeypatch.setattr(mutants, "ROOT", tree)
    main(["--of", str(frozen), "--save", str(run)])  # with its files and command
    first, second = (json.loads(path.read_text()) for path in (frozen, run))
    assert "killed" not in first
    assert {name: second[name] for name in ("seed", "files", "command")} == {
        name: first[name] for name in ("seed", "files", "command")
    }
    assert [{**row, "killed": True} for row in first["mutants"]] == [
        {**row, "killed": True} for row in second["mutants"]
    ]
