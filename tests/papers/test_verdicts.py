"""Verdicts over seeds: a statement about means has to hold on every draw."""

from collections.abc import Iterator
from typing import Any

import pytest

from gangsched.analysis.papers.study import Agreement, FigureRow, Statement, Study
from gangsched.analysis.papers.verdicts import Place, each, over_seeds

DISAGREE = "the seeds disagree (it holds on 0, 2 of 0, 1, 2)"


@over_seeds
@each()
def judge(here: Place) -> Iterator[Statement]:
    """A has less than B, wherever both are known."""
    a, b = (here.value(policy, "time") for policy in "AB")
    if a is not None and b is not None:
        yield here.say("A is faster", a < b, f"{a:g}, {b:g}", "B is good")


def study(**draws: list[tuple[float, float]]) -> Study:
    """Instances with the times of A and B by seed, or once where a name begins with `trace`."""
    rows = []
    for instance, pairs in draws.items():
        for policy, own in zip("AB", zip(*pairs, strict=True), strict=True):
            values: dict[str, Any] = {"time": sum(own) / len(own)}
            if not instance.startswith("trace"):
                values |= {f"time [{seed}]": value for seed, value in enumerate(own)}
            rows.append(FigureRow(instance, policy, None, values))
    return Study(
        name="x:y", title="", axis="", measures={"time": "time"}, settings={}, levels=(),
        instances={name: {} for name in draws}, rows=tuple(rows), drawing=lambda _: None,  # type: ignore[arg-type, return-value]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "verdict", "why"),
    [
        ([(1, 2), (3, 4), (5, 9)], Agreement.AGREES, ""),
        ([(2, 1), (4, 3), (9, 5)], Agreement.DIFFERS, "B is good"),
        ([(1, 2), (4, 3), (5, 9)], Agreement.OPEN, DISAGREE),
        ([(1, 2), (40, 3), (5, 9)], Agreement.OPEN, DISAGREE),
    ],
)  # fmt: skip
def test_a_statement_holds_on_every_seed_or_is_open(
    pairs: list[tuple[float, float]], verdict: Agreement, why: str
) -> None:
    (found,) = judge(study(drawn=pairs))
    a, b = (sum(own) / len(own) for own in zip(*pairs, strict=True))
    assert (found.verdict, found.why, found.measured) == (verdict, why, f"{a:g}, {b:g}")


def test_what_is_not_drawn_is_judged_once() -> None:
    known, drawn = judge(study(trace=[(2.0, 1.0)], drawn=[(1.0, 2.0), (1.0, 3.0)]))
    assert (known.instance, known.verdict) == ("trace", Agreement.DIFFERS)
    assert (drawn.instance, drawn.verdict) == ("drawn", Agreement.AGREES)


def test_a_seed_without_a_value_says_nothing() -> None:
    """The statement is then that of the seeds on which it could be judged."""
    whole = study(drawn=[(1.0, 2.0), (3.0, 4.0)])
    rows = [
        FigureRow(row.instance, row.policy, None, {**row.values, "time [1]": None})
        for row in whole.rows
    ]
    (found,) = judge(Study(**{**vars_of(whole), "rows": tuple(rows)}))
    assert found.verdict is Agreement.AGREES


def vars_of(one: Study) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Study.__dataclass_fields__}
