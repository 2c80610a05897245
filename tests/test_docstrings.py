"""Every public thing says what it is, and what it says is true: examples run, parameters exist."""

from __future__ import annotations

import ast
import doctest
import importlib
import re

import pytest

from layout import sources

SOURCES = sources()
MODULES = [name for name in SOURCES if not name.endswith("__main__")]
Definition = ast.FunctionDef | ast.ClassDef
SOLVER_PARTS = ["guarantee", "parameters", "returns", "examples"]


def public(tree: ast.Module | ast.ClassDef, path: str = "") -> list[tuple[str, Definition]]:
    """The definitions without a leading underscore, and those in public classes."""
    found = []
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            found.append((path + node.name, node))
            if isinstance(node, ast.ClassDef):
                found += public(node, f"{path}{node.name}.")
    return found


def documented(doc: str) -> set[str]:
    """Names in the numpydoc section Parameters."""
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", doc, re.M | re.S)
    heads = re.findall(r"^([\w*][\w, *]*?)(?: *:.*)?$", match[1], re.M) if match else []
    return {name.strip(" *") for head in heads for name in head.split(",")}


def signature(node: ast.FunctionDef) -> set[str]:
    """Names of a function's parameters, without self and cls."""
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    return {arg.arg for arg in every} - {"self", "cls"}


def decorated(node: Definition, name: str) -> bool:
    """Say whether a definition carries this decorator."""
    return any(ast.unparse(d).split("(")[0].endswith(name) for d in node.decorator_list)


def faults(module: str, source: str) -> list[str]:
    """Public definitions whose docstring is missing or wrong, each as one line."""
    found = []
    for name, node in public(ast.parse(source)):
        if decorated(node, "overload") or decorated(node, ".setter") or decorated(node, "override"):
            continue
        where = f"{module}.{name}"
        doc = ast.get_docstring(node)
        if not doc:
            found.append(f"{where}: no docstring")
            continue
        summary = doc.split("\n\n")[0]
        if "\n" in summary or not summary.endswith((".", "?", ":")):
            found.append(
                f"{where}: the docstring must begin with one line that ends in a full stop"
            )
        if not isinstance(node, ast.ClassDef) and "Parameters\n---" in doc:
            wrong = documented(doc) ^ signature(node)
            if wrong:
                found.append(f"{where}: Parameters differ from the signature in {sorted(wrong)}")
    return found


def solver_faults(module: str, source: str) -> list[str]:
    """Public solvers (functions that return a Result) whose docstring lacks a part."""
    found = []
    for name, node in public(ast.parse(source)):
        if isinstance(node, ast.ClassDef) or node.returns is None or "." in name:
            continue
        if not re.match(r"['\"]?Result\b", ast.unparse(node.returns)):
            continue
        doc = (ast.get_docstring(node) or "").lower()
        missing = [part for part in SOLVER_PARTS if part not in doc]
        if missing:
            found.append(f"{module}.{name}: a solver's docstring also needs: {', '.join(missing)}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str) -> None:
    tested = doctest.testmod(importlib.import_module(module))
    assert tested.failed == 0


@pytest.mark.parametrize("module", SOURCES)
def test_public_names_are_documented(module: str) -> None:
    source = SOURCES[module].read_text("utf-8")
    assert ast.get_docstring(ast.parse(source)), f"{module}: no docstring"
    assert faults(module, source) == []


NO_SOLVERS = "gangsched.solvers.io"  # its functions return results that somebody else found


@pytest.mark.parametrize(
    "module",
    [
        m
        for m in SOURCES
        if m.startswith("gangsched.solvers.") and "._" not in m and m != NO_SOLVERS
    ],
)
def test_solvers_state_their_guarantee(module: str) -> None:
    assert solver_faults(module, SOURCES[module].read_text("utf-8")) == []


GOOD = '''
def f(a, *, b=1, **more):
    """Do it.

    Parameters
    ----------
    a : int
        One: of them.
    b
        Another.
    **more
        The rest.

    Returns
    -------
    int
        What came out.
    """

def _hidden(): ...
'''


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(): ...", "no docstring"),
        ("class C:\n    'Fine.'\n    def m(self): ...", "C.m: no docstring"),
        ("def f():\n    'No full stop'", "full stop"),
        ("def f():\n    '''Two\n    lines.'''", "one line"),
        (GOOD.replace("b=1", "b=1, c=2"), "['c']"),
        (GOOD.replace("b=1, ", "").replace("*, ", ""), "['b']"),
        (GOOD.replace("**more):", "**less):"), "['less', 'more']"),
    ],
)
def test_a_bad_docstring_is_seen(source: str, message: str) -> None:
    (fault,) = faults("m", source)
    assert message in fault


def test_a_good_docstring_is_not() -> None:
    assert faults("m", GOOD) == []


def test_a_solver_without_a_guarantee_is_seen() -> None:
    source = "def s(p) -> Result[Schedule]:\n    'Solve.'"
    assert solver_faults("m", source) == [
        "m.s: a solver's docstring also needs: guarantee, parameters, returns, examples"
    ]
    assert solver_faults("m", source.replace("Result", "tuple")) == []


def test_a_wrong_example_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    example = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner().run(example).failed == 1
    assert "Expected" in capsys.readouterr().out
