"""docs/papers/rar_ddls.md names every equation, line and erratum, and nothing that is not there."""

from __future__ import annotations

import re
from functools import cache

import pyomo.environ as pyo
import pytest

from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from layout import ROOT

PAGE = (ROOT / "docs" / "papers" / "rar_ddls.md").read_text("utf-8")
LINES = {"Algorithm 1": 24, "Algorithm 2": 10, "Algorithm 3": 13}


def section(heading: str) -> str:
    """The text below a heading, up to the next one of any level."""
    (found,) = re.findall(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    return str(found)


def table_rows(text: str) -> list[list[str]]:
    """The cells of all table rows, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def numbers(cell: str) -> list[int]:
    """The numbers of "1", "3, 4" or "10-13"."""
    found = []
    for part in cell.split(", "):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


@cache
def components(form: str) -> set[str]:
    """Names of the constraints and variables of a form."""
    jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    native = problem.build(form, horizon=4).native
    return {c.name for kind in (pyo.Constraint, pyo.Var) for c in native.component_objects(kind)}


@cache
def all_tests() -> set[str]:
    """Names of all tests of the project."""
    files = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in files for name in re.findall(r"def (test_\w+)", text)}


EQUATIONS = {row[0]: row[1:] for row in table_rows(section("Equations")) if row[0][0] == "("}


def test_every_equation_has_a_row() -> None:
    assert sorted(EQUATIONS, key=lambda name: int(name[1:-1])) == [f"({i})" for i in range(1, 17)]


@pytest.mark.parametrize("equation", [f"({i})" for i in range(1, 10)])
def test_constraints_of_an_equation_are_in_the_models(equation: str) -> None:
    compact, literal = (set(re.findall(r"`(\w+)`", cell)) for cell in EQUATIONS[equation][2:])
    assert compact
    assert compact <= components("compact")
    assert literal
    assert literal <= components("literal")


@pytest.mark.parametrize("equation", [f"({i})" for i in range(10, 17)])
def test_constraints_on_lists_are_in_the_models(equation: str) -> None:
    _, forms, names = EQUATIONS[equation]
    for form in re.findall(r"`(\w+)`", forms):
        assert set(re.findall(r"`(\w+)`", names)) <= components(form)


@pytest.mark.parametrize("algorithm", LINES)
def test_every_line_of_an_algorithm_has_a_row(algorithm: str) -> None:
    rows = [row[0] for row in table_rows(section(algorithm)) if row[0][0].isdigit()]
    assert [n for cell in rows for n in numbers(cell)] == list(range(1, LINES[algorithm] + 1))


def test_every_erratum_is_there_and_tested() -> None:
    rows = [row for row in table_rows(section("Errata and deviations")) if row[0][0] == "E"]
    assert [row[0] for row in rows] == [f"E{i}" for i in range(1, 24)]
    for row in rows:
        assert "`test_" in row[-1], row[0]


def test_tests_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named - all_tests() == set()
