"""The rules of the verifier were not pasted from what makes bounds, nor the other way round."""

import ast
import keyword
import re
import textwrap

import pytest

from layout import sources

#: equal lines of code in a row that are no accident
RUN = 6
MAKERS = ("gangsched.analysis.proofs", "gangsched.solvers", "gangsched.formulations")
NAMED = re.compile(rf"\b(?!(?:{'|'.join(keyword.kwlist)})\b)[a-zA-Z_]\w*")


def lines_of_code(text: str) -> list[str]:
    """Lines without docstrings, comments and layout, with one word for all names."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [one for one in body if not says_nothing(one)] or [ast.Pass()]
    return [NAMED.sub("x", line.strip()) for line in ast.unparse(tree).splitlines() if line]


def says_nothing(node: ast.AST) -> bool:
    """Whether it is a docstring or an import."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, (ast.Import, ast.ImportFrom))


def runs(text: str) -> set[tuple[str, ...]]:
    """All that stands in so many lines in a row."""
    lines = lines_of_code(text)
    return {tuple(lines[i : i + RUN]) for i in range(len(lines) - RUN + 1)}


def of(*parts: str) -> dict[str, set[tuple[str, ...]]]:
    return {
        name: runs(path.read_text("utf-8"))
        for name, path in sources().items()
        if name.startswith(parts)
    }


def test_no_rule_has_lines_in_common_with_what_makes_bounds() -> None:
    rules, makers = of("gangsched.verify"), of(*MAKERS)
    shared = [
        (rule, maker) for rule, own in rules.items() for maker in makers if own & makers[maker]
    ]
    assert len(rules) > 9
    assert len(makers) > 100
    assert shared == []


@pytest.mark.parametrize("name", ["left", "queue"])
def test_other_names_and_comments_hide_nothing(name: str) -> None:
    """Nor do line breaks; another rule for what is served is another function."""
    text = """
    def srpt(jobs):
        now, NAME, ends = 0, [], []
        for release, size in jobs:
            while NAME and now + NAME[0] <= release:
                now += heapq.heappop(NAME)  # until it comes
                ends.append(
                    now
                )
            now = release
        return ends
    """
    text = textwrap.dedent(text)
    pasted, other = text.replace("NAME", name), text.replace("now + NAME[0]", "now")
    assert runs(text) == runs(pasted)
    assert len(runs(text)) == 3
    assert not runs(text) & runs(other)
