"""docs/papers/gandiva_fair.md names every equation, line and erratum, and nothing else."""

from __future__ import annotations

import re
from typing import Any, get_type_hints

import numpy as np
import pytest

from gangsched.analysis.papers import theorems
from gangsched.analysis.papers.gandiva_fair import misreports as gandiva_fair_misreports
from gangsched.analysis.papers.gandiva_fair.statements import PRINTED_LOG, PRINTED_SHARES
from gangsched.formulations.gandiva_fair import problem as problem
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.instances import heterogeneous, model
from gangsched.instances.heterogeneous import TABLE1
from gangsched.solvers import policy
from gangsched.solvers.gandiva_fair import lottery as gang_lottery
from gangsched.solvers.gandiva_fair import market, trading
from gangsched.solvers.gandiva_fair import policy as gandiva_fair
from gangsched.solvers.gandiva_fair import sharing as gandiva_fair_sharing
from gangsched.solvers.gandiva_fair import stride as gang_stride
from gangsched.solvers.gandiva_fair import stride_core as gang_stride_core
from gangsched.solvers.gandiva_fair.market import efficient_allocation
from gangsched.solvers.gandiva_fair.stride import StridePool, effective_tickets
from layout import ROOT

PAGE = (ROOT / "docs" / "papers" / "gandiva_fair.md").read_text("utf-8")
LINES = {"Algorithm 1": 13, "Algorithm 2": 12}
MODULES: tuple[Any, ...] = (
    gandiva_fair,
    gang_lottery,
    gang_stride,
    gandiva_fair_sharing,
    heterogeneous,
    market,
    model,
    policy,
    problem,
    trading,
    gandiva_fair_misreports,
)


def section(heading: str) -> str:
    """The text below a heading, up to the next one of any level."""
    (found,) = re.findall(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", PAGE, re.M | re.S)
    return str(found)


def rows(heading: str) -> list[list[str]]:
    """The cells of all table rows of a section, without the head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]


def exists(name: str) -> bool:
    """Whether `name`, or `Class.member`, is in one of the modules."""
    first, _, member = name.partition(".")
    found = next((getattr(m, first) for m in MODULES if hasattr(m, first)), None)
    if found is None or not member:
        return found is not None
    hints = get_type_hints(found) if isinstance(found, type) else {}
    source = f"self.{member}" in (found.__doc__ or "") or member in (found.__doc__ or "")
    return member in {*dir(found), *hints} or source


def test_every_equation_has_a_row() -> None:
    assert [row[0] for row in rows("Equations")] == ["(1)", "(2)", "(3)"]


@pytest.mark.parametrize("heading", ["Symbols", "Equations", "Mechanisms"])
def test_what_a_table_points_at_is_there(heading: str) -> None:
    named = [name for row in rows(heading) for name in re.findall(r"`([A-Za-z_][\w.]*)`", row[-1])]
    named += [n for row in rows("Symbols") for n in re.findall(r"`([A-Za-z_][\w.]*)`", row[1])]
    assert named
    assert [name for name in named if not exists(name)] == []


@pytest.mark.parametrize("algorithm", LINES)
def test_every_line_of_an_algorithm_has_a_row(algorithm: str) -> None:
    table = [row for row in rows(algorithm) if row[0][0].isdigit()]
    numbers = [int(n) for row in table for n in row[0].split(", ")]
    assert sorted(numbers) == list(range(1, LINES[algorithm] + 1))
    for row in table:
        assert all(exists(name) for name in re.findall(r"`([\w.]+)`", row[2]))
        if len(row) > 3:
            assert all(hasattr(gang_stride_core, n) for n in re.findall(r"`(\w+)`", row[3]))


def test_every_erratum_is_there() -> None:
    table = rows("Errata")
    assert [row[0] for row in table] == [f"G{k}" for k in range(1, 24)]
    untested = {row[0] for row in table if "`test_" not in row[-1]}
    assert untested == {"G10", "G13", "G20"}  # names and line numbers, and another program


def test_tests_that_the_page_names_exist() -> None:
    files = (path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    known = {name for text in files for name in re.findall(r"def (test_\w+)", text)}
    assert set(re.findall(r"`(test_\w+)`", PAGE)) - known == set()


def test_claims_that_the_page_names_exist_and_none_is_forgotten() -> None:
    named = set(re.findall(r"`((?:stride|trading|nash)-[a-z0-9-]+)`", section("Claims")))
    known = set(theorems.CLAIMS)
    assert named - known == set()
    assert {id for id in known if id.startswith(("trading-", "nash-"))} - named == set()


# --- errata --------------------------------------------------------------------------------------


def test_what_table_2_prints_for_lotteries_cannot_be() -> None:
    gangs = (1, 1, 2, 2, 4, 4)
    backfill, gang_aware, stride = PRINTED_SHARES.values()
    # three pairs of jobs of one gang always fill four GPUs, so quanta add up to the whole server
    assert sum(p * g for p, g in zip(backfill, gangs, strict=True)) / 4 == pytest.approx(96.4)
    assert sum(p * g for p, g in zip(gang_aware, gangs, strict=True)) / 4 == pytest.approx(100.125)
    assert sum(p * g for p, g in zip(stride, gangs, strict=True)) / 4 == pytest.approx(100, abs=0.1)
    assert [p for p in gang_aware if p % 1] == [66.5]  # of 100 intervals


def test_printed_rates_that_one_side_would_refuse() -> None:
    family = {"User4": "super-resolution"}
    refused = []
    for when, fast, buyer, slow, seller, rate in PRINTED_LOG:
        worth = {
            user: TABLE1[family.get(user, "resnet-50")][fast]
            / TABLE1[family.get(user, "resnet-50")][slow]
            for user in (buyer, seller)
        }
        if not 0.95 * worth[seller] <= abs(rate) <= 1.05 * worth[buyer]:
            refused.append((when, rate))
    # neither a bid of ResNet-50 (5.14) nor, below 1.78, what a V100 is worth to SuperResolution
    assert refused == [
        ("15:09", 1.71), ("15:11", 1.94), ("18:06", -1.49), ("18:06", -1.93), ("18:06", -1.94),
        ("18:07", 1.50), ("18:23", 1.00), ("18:25", 1.00),
    ]  # fmt: skip


def test_figure_1_d_needs_tickets_that_are_not_effective() -> None:
    def shares(tickets: list[float]) -> list[float]:
        """GPUs of A1, B1 and C on a server of four, of users with 4, 4 and 2 GPUs in all."""
        pool = StridePool([4], 3)
        for job in range(3):
            pool.add(job, 2, job, (0,), 0)
        strides = np.array([4, 4, 2]) / np.array(tickets)
        pool.quantum(strides)  # in which C comes last
        ran = [job for _ in range(40) for job in pool.quantum(strides)]
        return [2 * ran.count(job) / 40 for job in range(3)]

    effective = effective_tickets([1, 1, 1], [4, 4, 2], 8).tolist()
    assert effective == [3, 3, 2]
    assert shares([1, 1, 1]) == pytest.approx([1, 1, 2], abs=0.05)
    assert shares(effective) == pytest.approx([1.2, 1.2, 1.6], abs=0.05)
    loads = [(2 * 0.75 + 2 * 0.75 + 2 * 1) / 4, (2 * 0.75 + 2 * 0.75) / 4]
    assert loads == [1.25, 0.75]


def test_two_gains_of_30_percent_are_more_than_the_optimum() -> None:
    speeds = [[TABLE1[f][m] for m in ("k80", "p100", "v100")]
              for f in ("resnet-50",) * 3 + ("super-resolution",)]  # fmt: skip
    users = GpuMarket([64, 24, 12], speeds)
    due = users.fair_values
    assert due.tolist() == pytest.approx([51.46, 51.46, 51.46, 31.99])
    bound = efficient_allocation(users).bound
    assert bound is not None
    assert bound.value - due.sum() == pytest.approx(19.47, abs=0.01)
    assert 0.3 * (due[0] + due[3]) > 25
