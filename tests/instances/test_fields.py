"""Fields of all records: what breaks the rule of its kind is refused by name, value and rule."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from gangsched.instances import (
    DeadlineJob,
    Job,
    Linear,
    Node,
    ParameterServerJob,
    Power,
    RingJob,
    TargetMetric,
    User,
)

#: wrong values by kind of field, and what is said of them behind the field's name
NO_NUMBER = [("x", "='x' is not a number"), (True, "=True is not a number")]
NOT_FINITE = [
    (math.nan, "=nan is not finite"), (math.inf, "=inf is not finite"),
    (10**400, " is an integer too large for a float"),
]  # fmt: skip
NO_INTEGER = [
    (8.0, "=8.0 is not an integer"), (True, "=True is not an integer"),
    ("2", "='2' is not an integer"), (math.nan, "=nan is not an integer"),
    (10**4200, " has more than"),
]  # fmt: skip
NO_TEXT = [(7, "=7 is not a string"), (b"g", "=b'g' is not a string")]
KINDS: dict[str, list[tuple[Any, str]]] = {
    "name": [*NO_TEXT, ("", "='' is empty")],
    "text": NO_TEXT,
    "count": [*NO_INTEGER, (0, "=0 is below 1"), (-1, "=-1 is below 1")],
    "natural": [*NO_INTEGER, (-1, "=-1 is below 0")],
    "finite": [*NO_NUMBER, *NOT_FINITE],
    "positive": [*NO_NUMBER, *NOT_FINITE, (0, "=0 is not positive"), (-1, "=-1 is not positive")],
    "not negative": [*NO_NUMBER, *NOT_FINITE, (-0.5, "=-0.5 is not >= 0")],
}
STOPPING = TargetMetric(target=0.9, max_epochs=4, curve=[0.1, 0.92])
SERVED = ParameterServerJob(
    id="j", gpus=4, epochs=2, minibatches=3, rates=(1, 0.5), utility=Linear(-2, 100)
)
#: a record of each class, how messages begin, and the kinds of its fields
RECORDS: list[tuple[Any, str, dict[str, str]]] = [
    (Node("n", 8), "node", {"name": "id", "count": "gpus", "text": "model", "natural": "ps"}),
    (User("u"), "user", {"name": "id", "positive": "weight", "natural": "gpus ps"}),
    (
        Job(id="a", gpus=2, user="u", release=0, work=9, weight=1.0),  # nothing else to look at
        "job",
        {
            "name": "id", "text": "user group pin", "count": "gpus work limit",
            "natural": "release pod", "positive": "weight",
        },
    ),
    (
        RingJob(id="r", gpus=2, iterations=10, gradient=0.1, base_time=0.2), "job",
        {"count": "gpus iterations", "not negative": "gradient", "positive": "base_time"},
    ),
    (
        DeadlineJob(id="j", gpus=4, work=100), "job",
        {
            "count": "gpus work", "positive": "split_speed", "not negative": "scaling",
            "natural": "preemption_cost",
        },
    ),
    (SERVED, "job", {"count": "gpus epochs minibatches"}),
    (STOPPING, "target metric", {"finite": "target", "count": "max_epochs"}),
    (Linear(-2, 100), "utility", {"finite": "slope constant"}),
    (Power(2, 1), "utility", {"positive": "scale exponent"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("record", "owner", "field", "value", "rule"),
    [
        pytest.param(record, owner, field, value, rule, id=f"{type(record).__name__} {field}{rule}")
        for record, owner, kinds in RECORDS
        for kind, names in kinds.items()
        for field in names.split()
        for value, rule in KINDS[kind]
    ],
)
def test_a_field_that_breaks_its_rule_is_refused(
    record: Any, owner: str, field: str, value: Any, rule: str
) -> None:
    error = TypeError if "is not a" in rule else ValueError
    with pytest.raises(error, match=f"^{owner}.*: {re.escape(field + rule)}"):
        replace(record, **{field: value})
