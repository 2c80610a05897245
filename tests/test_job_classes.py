"""Whoever drives, decides, measures and compares asks a job what it can do, not what it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

from gangsched.instances import io
from layout import ROOT

KINDS = {kind.__name__ for kind in io.JOB_KINDS.values()}
#: what only some classes have, so that to ask for it is to ask for the class
OWN = {
    name
    for kind in io.JOB_KINDS.values()
    for name in kind.__dataclass_fields__
    if any(name not in other.__dataclass_fields__ for other in io.JOB_KINDS.values())
}
FILES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("analysis/driving", "analysis/comparing", "analysis/show", "solvers")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def class_tests(source: str) -> Iterator[int]:
    """Lines that look at the class of a job."""
    for node in ast.walk(ast.parse(source)):
        named = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        if isinstance(node, ast.MatchClass) and named & KINDS:
            yield node.lineno
        if not isinstance(node, (ast.Call, ast.Compare)):
            continue
        asked = getattr(getattr(node, "func", None), "id", "")
        if asked in ("isinstance", "issubclass") and named & KINDS:
            yield node.lineno
        if isinstance(node, ast.Compare) and named & KINDS:
            yield node.lineno
        if asked in ("hasattr", "getattr") and len(node.args) > 1:  # type: ignore[union-attr]
            name = node.args[1]  # type: ignore[union-attr]
            if isinstance(name, ast.Constant) and name.value in OWN:
                yield node.lineno


def test_nobody_asks_for_the_class_of_a_job() -> None:
    lines = {file: list(class_tests(Path(ROOT, file).read_text("utf-8"))) for file in FILES}
    assert {file: found for file, found in lines.items() if found} == {}
