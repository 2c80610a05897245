"""docs/papers/ltgf.md names every equation, line and erratum, and nothing that is not there."""

from __future__ import annotations

import re
from functools import cache

import pyomo.environ as pyo
import pytest

from gangsched import solvers
from gangsched.analysis.driving import check as check_run
from gangsched.analysis.driving import decisions, metrics
from gangsched.analysis.driving.core import grouped, machine, place
from gangsched.analysis.driving.reference import Reference
from gangsched.analysis.papers.ltgf.claims import LTGF
from gangsched.formulations import FairShares, Ltgf, LtgfRound
from gangsched.formulations.ltgf import problem as ltgf
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import LtgfPolicy, PrintedLtgf, Rules, State, policy
from gangsched.solvers.ltgf import policy as algorithm
from layout import ROOT

PAGE = (ROOT / "docs" / "papers" / "ltgf.md").read_text("utf-8")
PAGES = [PAGE, (ROOT / "docs" / "explanation" / "the-driver.md").read_text("utf-8")]
PAGES += [(ROOT / "docs" / "explanation" / "online-bounds.md").read_text("utf-8")]
LINES = {"Algorithm 1": 17, "Algorithm 2": 5}
CLASSES = {
    one.__name__: one
    for one in (FairShares, Ltgf, LtgfPolicy, LtgfRound, PrintedLtgf, Reference, Rules, State)
} | {"_Users": algorithm._Users, "check_run": check_run}
MODULES = (algorithm, decisions, ltgf, metrics, policy, solvers)


def section(heading: str) -> str:
    """The text below a heading, up to the next one of any level."""
    (found,) = re.findall(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    return str(found)


def rows(heading: str) -> list[list[str]]:
    """The cells of all table rows of a section, heads included."""
    lines = [line for line in section(heading).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def numbers(cell: str) -> list[int]:
    return [int(part) for part in cell.split(", ")]


def exists(name: str) -> bool:
    """Whether `Class.member`, or a name of one of the modules, is there."""
    owner, _, member = name.partition(".")
    if not member:
        return owner in CLASSES or any(hasattr(module, owner) for module in MODULES)
    if owner in ("State", "FairShares") and not hasattr(CLASSES[owner], member):
        return member in {*policy.CONSTANT, *policy.CHANGING, *policy.OTHERS}
    return hasattr(CLASSES[owner], member)


@cache
def components(form: str) -> set[str]:
    """Constraints, variables and expressions of a form of both problems."""
    users = [User("u"), User("v")]
    jobs = [Job(id=f"j{i}", user=user, gpus=1, work=1) for i, user in enumerate("uuv")]
    lives = Ltgf(Instance(Cluster.of_sizes([2]), jobs, users)).build(form).native
    one = LtgfRound(gpus=1, lease=1, attained=[0], fair=[0], share=[1], jobs=[(0, 1)])
    kinds = (pyo.Constraint, pyo.Var, pyo.Expression)
    models = (lives, one.build(form).native)
    return {c.name for m in models for kind in kinds for c in m.component_objects(kind)}


EQUATIONS = {row[0]: row[1:] for row in rows("Equations") if row[0][0] == "("}


def test_every_equation_has_a_row() -> None:
    assert sorted(EQUATIONS, key=lambda name: int(name[1:-1])) == [f"({i})" for i in range(1, 17)]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_what_an_equation_points_at_is_there(equation: str) -> None:
    *code, model = EQUATIONS[equation][1:]
    for cell in code:
        for name in re.findall(r"`([\w.]+)", cell):
            assert exists(name), name
    for form in ("compact", "literal"):
        named = set(re.findall(r"`(\w+)`", model)) - {"LtgfRound"}
        assert named <= components(form)


@pytest.mark.parametrize("algorithm_name", LINES)
def test_every_line_of_an_algorithm_has_a_row(algorithm_name: str) -> None:
    table = [row for row in rows(algorithm_name) if row[0][0].isdigit()]
    assert [n for row in table for n in numbers(row[0])] == list(
        range(1, LINES[algorithm_name] + 1)
    )
    for _, step, compiled, _ in table:
        for name in re.findall(r"`((?:[A-Z_]\w+\.)\w+|_\w+)`", step):
            assert exists(name), name
        for name in re.findall(r"`(\w+)`", compiled):
            assert any(hasattr(module, name) for module in (grouped, machine, place)), name


def test_every_erratum_is_there_and_those_of_the_paper_are_tested() -> None:
    table = [row for row in rows("Errata and deviations") if re.match(r"L\d", row[0])]
    assert sorted(int(row[0][1:]) for row in table) == list(range(1, 25))
    for row in table:
        assert "`test_" in row[-1] or 15 <= int(row[0][1:]) <= 20, row[0]


def test_tests_that_the_pages_name_exist() -> None:
    files = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    known = {name for text in files for name in re.findall(r"def (test_\w+)", text)}
    assert {name for page in PAGES for name in re.findall(r"`(test_\w+)`", page)} - known == set()


def test_claims_that_the_page_names_exist() -> None:
    named = set(re.findall(r"\(`([a-z0-9-]+)`\)", section("Claims and guarantees")))
    assert named
    assert named - {claim.id for claim in LTGF} == set()
