"""docs/papers/unisched.md names every equation and erratum, and nothing that is not there."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, get_args, get_type_hints

import pyomo.environ as pyo
import pytest

from gangsched.analysis.driving import metrics
from gangsched.analysis.papers.unisched.claims import UNISCHED
from gangsched.analysis.proofs import deadline_rewards as reward_bounds
from gangsched.formulations.unisched import compact as unisched_compact
from gangsched.formulations.unisched import leases
from gangsched.formulations.unisched import problem as problem
from gangsched.instances import Cluster, DeadlineJob, Instance, TargetMetric, deadlines
from gangsched.registry import POLICIES
from gangsched.solvers import policy
from gangsched.solvers.unisched import (
    cells,
    consolidation,
    estimator,
    learning_curves,
    lease_schedule,
    nodes,
)
from gangsched.solvers.unisched import selectors as solvers
from gangsched.solvers.unisched.chronus import Chronus
from gangsched.solvers.unisched.policy import Cycles, UniSchedPolicy
from layout import ROOT

PAGE = (ROOT / "docs" / "papers" / "unisched.md").read_text("utf-8")
HOW_TO = (ROOT / "docs" / "how-to" / "select-jobs-with-deadlines.md").read_text("utf-8")
MODULES: tuple[Any, ...] = (
    cells,
    consolidation,
    deadlines,
    estimator,
    lease_schedule,
    leases,
    learning_curves,
    metrics,
    nodes,
    policy,
    problem,
    reward_bounds,
    solvers,
    unisched_compact,
)
CLASSES = {
    one.__name__: one for one in (Chronus, Cycles, DeadlineJob, TargetMetric, UniSchedPolicy)
}
#: not of what the page is about: cut in words, or explained where they stand
OTHER = {"job", "instance", "analysis", "solvers", "deadlines", "consolidation", "cells", "len"}


def section(heading: str) -> str:
    """The text below a heading, up to the next one of any level."""
    (found,) = re.findall(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    return str(found)


def rows(heading: str) -> list[list[str]]:
    """The cells of all table rows of a section, without the head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]


def owner(name: str) -> Any:
    """What a name is in one of the modules; None where it is nowhere."""
    return CLASSES.get(name) or next((getattr(m, name) for m in MODULES if hasattr(m, name)), None)


def exists(name: str) -> bool:
    """Whether `name`, or `Class.member`, is there."""
    first, _, member = name.partition(".")
    found = owner(first)
    if found is None or not member:
        return found is not None
    known = {*dir(found), *(get_type_hints(found) if isinstance(found, type) else ())}
    return member in known or (
        found is policy.State and member in {*policy.CONSTANT, *policy.CHANGING, *policy.OTHERS}
    )


@cache
def components(form: str) -> set[str]:
    """Constraints, variables and objectives of a form, with all allocations."""
    jobs = [DeadlineJob(id=i, gpus=3, work=600, rewards=[(1300, 100)]) for i in "ab"]
    jobs.append(DeadlineJob(id="c", gpus=1, work=600))
    instance = Instance(Cluster.of_sizes([4, 4]), jobs)
    kinds = (pyo.Constraint, pyo.Var, pyo.Objective)
    models = [
        problem.UniSched(instance, allocations=allocations).build(form).native
        for allocations in get_args(problem.Allocations)
    ]
    return {c.local_name for m in models for kind in kinds for c in m.component_objects(kind)}


EQUATIONS = {row[0]: row[1:] for row in rows("Equations")}


def test_every_equation_has_a_row() -> None:
    assert list(EQUATIONS) == [f"({i})" for i in range(1, 16)]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_what_an_equation_points_at_is_there(equation: str) -> None:
    _, *code, exact, literal = EQUATIONS[equation]
    for cell in code:
        for name in re.findall(r"`([\w.]+)", cell):
            assert exists(name), name
    assert set(re.findall(r"`(\w+)`", exact)) <= components("repaired") | components("slots")
    assert set(re.findall(r"`(\w+)`", literal)) <= components("literal")
    number = f"eq{equation[1:-1]}"
    assert (number in components("literal")) == (f"`{number}`" in literal)


def test_constraints_that_the_text_names_are_there() -> None:
    text = section("Equations").split("`pieces` and `rows`")[1]
    known = components("repaired") | components("slots") | {"literal"}
    assert set(re.findall(r"`(\w+)`", text)) - {"exact"} <= known


@pytest.mark.parametrize("heading", ["Symbols", "Sections", "A cycle of the policy"])
def test_what_a_table_names_is_there(heading: str) -> None:
    for row in rows(heading):
        for name in re.findall(r"`([A-Za-z_][\w.-]+)", " ".join(row[1:])):
            known = {*problem.UniSched.__slots__, *solvers.__all__, *POLICIES}
            if name.split(".")[0] in OTHER | known or name.startswith("test_"):
                continue
            assert exists(name), name


def test_forms_are_those_of_the_problem() -> None:
    named = tuple(row[0].strip("`") for row in rows("Forms of the model"))
    assert sorted(named) == sorted(problem.UniSched.forms)


def test_options_that_the_page_offers_are_there() -> None:
    text = "".join(map(section, ("Readings that can be chosen", "Ablations")))
    known = {*problem.UniSched.__slots__, *UniSchedPolicy.__dataclass_fields__, "own", "grace"}
    known |= set(Chronus.__dataclass_fields__)
    named = set(re.findall(r"[`(](?:weighted_miss\()?(\w+)=", text))
    assert named >= {"selector", "profiling", "own", "estimates"}
    assert named - known == set()
    choices = re.findall(r"(\w+)=\"(\w+)\"", text)
    assert len(choices) > 5
    for name, value in choices:
        UniSchedPolicy(**{name: value})


def test_every_erratum_is_there_and_tested() -> None:
    table = rows("Errata and deviations")
    assert [row[0] for row in table] == [f"U{i}" for i in range(1, 27)]
    for row in table:
        assert len(row) == 5, row[0]
        assert "`test_" in row[-1] or row[0] == "U24", row[0]


def test_numbers_of_errata_are_those_of_the_module() -> None:
    said = set(re.findall(r"\bU\d+\b", problem.__doc__ or ""))
    assert {f"U{i}" for i in range(1, 11)} <= said
    assert said | set(re.findall(r"\bU\d+\b", PAGE)) <= {f"U{i}" for i in range(1, 27)}


def test_tests_that_the_pages_name_exist() -> None:
    files = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    known = {name for text in files for name in re.findall(r"def (test_\w+)", text)}
    assert set(re.findall(r"`(test_\w+)`", PAGE + HOW_TO)) - known == set()


def test_claims_that_the_page_names_exist() -> None:
    claims = {claim.id: claim.verdict.value for claim in UNISCHED}
    named = set(re.findall(r"\(`([a-z0-9-]+)`\)", section("Claims and guarantees")))
    assert named == set(claims)
    for row in rows("Claims and guarantees"):
        if row[1] in ("proved", "refuted"):
            first = re.findall(r"\(`([a-z0-9-]+)`\)", row[0])[0]
            assert claims[first] == row[1], first
