"""What sources keep that no linter knows: names once, short functions, and solvers that promise."""

import ast
import re
from collections import Counter

from layout import ROOT, sources

TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in sources().items()}
MOST_LINES, LONGEST = 800, 80  #: of a file, and of a function without its docstring
SOLVER_PARTS = ["guarantee", "examples"]
OTHER_PARTS = ["parameters", "returns"]  #: which @solver adds where they are as everywhere
NO_SOLVERS = "gangsched.solvers.io"  #: its functions return results that somebody else found


def test_no_public_class_name_twice() -> None:
    names = Counter(
        node.name
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


def too_long(tree: ast.Module) -> list[str]:
    """The functions that are longer than allowed, methods and inner ones too."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = node.body[0] if ast.get_docstring(node) is not None else None
            docstring = (said.end_lineno or 0) - said.lineno + 1 if said else 0
            length = (node.end_lineno or 0) - node.lineno + 1 - docstring
            found += [f"{node.name}: {length} lines"] if length > LONGEST else []
    return found


def test_no_function_is_too_long() -> None:
    assert {name: found for name, tree in TREES.items() if (found := too_long(tree))} == {}


def test_no_file_is_too_long() -> None:
    tests = {path.stem: path for path in (ROOT / "tests").rglob("*.py")}
    files = {**sources(), **tests}
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in files.items()}
    assert {name for name, count in lines.items() if count > MOST_LINES} == set()


def test_a_function_that_is_too_long_is_seen_without_its_docstring() -> None:
    body = "    x = 1\n" * (LONGEST - 1)
    said = '    """Say.\n\n    More.\n    """\n'
    assert too_long(ast.parse(f"def f():\n{said}{body}")) == []
    assert too_long(ast.parse(f"def f():\n{said}{body}    y = 2\n")) == [f"f: {LONGEST + 1} lines"]


def test_solvers_state_their_guarantee() -> None:
    missing = {}
    for name, tree in TREES.items():
        if name.startswith("gangsched.solvers.") and name != NO_SOLVERS:
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                    returns = ast.unparse(node.returns) if node.returns else ""
                    said = (ast.get_docstring(node) or "").lower()
                    parts = SOLVER_PARTS + ([] if node.decorator_list else OTHER_PARTS)
                    lacks = [part for part in parts if part not in said]
                    if re.match(r"['\"]?Result\b", returns) and lacks:
                        missing[node.name] = lacks
    assert missing == {}
