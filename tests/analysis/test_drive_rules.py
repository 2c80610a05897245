"""Compiled rules with records of their own against the sessions that are their references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from few import each_seed
from gangsched.instances import Cluster, Instance, Job, User, heterogeneous
from gangsched.solvers import Conservative, Easy, IsolationArea, ServerFillingSrpt, SmallestArea
from reference_driver import drive

POLICIES = [
    Easy(),
    Easy(overestimate=3.0, seed=1),
    Conservative(),
    Conservative(overestimate=3.0, seed=1),
    ServerFillingSrpt(),
    IsolationArea(),
    SmallestArea(guard=1_500),
]
SIZES = [[8, 8, 8, 8], [2, 4, 8, 4, 2], [16], [3] * 9]


def crowd(seed: int, sizes: Sequence[int], jobs: int = 90) -> Instance[Job]:
    """Far more jobs than there is room for, some at one time."""
    rng = np.random.default_rng([21, seed])
    most = sum(sizes) if len(set(sizes)) == 1 else max(sizes)
    users = [User(f"u{k}", 1.0 + k) for k in range(seed % 4)]
    return Instance(
        Cluster.of_sizes(sizes),
        [
            Job(
                id=f"j{k}",
                gpus=min(int(rng.choice([1, 1, 1, 2, 2, 3, 4, 8, 11, 16])), most),
                work=int(rng.choice([60, 300, rng.integers(1, 4_000)])),
                release=int(rng.choice([0, 600, rng.integers(0, 6_000)])),
                user=str(rng.choice([user.id for user in users])) if users else "",
            )
            for k in range(jobs)
        ],
        users,
    )


def by_name(policy: Any) -> str:
    return f"{policy.name}-{getattr(policy, 'overestimate', '')}"


@pytest.mark.parametrize("policy", POLICIES, ids=by_name)
@each_seed(range(8), plain=2)
def test_rules_decide_as_their_references(policy: Any, seed: int) -> None:
    instance = crowd(seed, SIZES[seed % 4])
    rules: dict[str, Any] = {"spread": seed == 4, "round_length": [60, 20][seed // 4]}
    run = drive(instance, policy, **rules)
    assert run == drive(instance, policy, engine="reference", **rules)
    part = drive(instance, policy, until=2_400, **rules)
    assert drive(instance, policy, resume=part.checkpoint, **rules) == run


@each_seed(range(10))
def test_on_models_the_rule_decides_as_its_reference(seed: int) -> None:
    sizes = [("v100", 2, 4), ("p100", 3, 4), ("k80", 2, 8)]
    made = crowd(seed, [4, 4, 4, 4, 8])
    instance = heterogeneous.with_speeds(
        replace(made, cluster=heterogeneous.mixed_cluster(sizes)), seed=seed, by="job"
    )
    rules: dict[str, Any] = {"overhead": [0, 25, 5][seed % 3], "spread": seed % 5 == 4}
    run = drive(instance, SmallestArea(), **rules)
    assert run == drive(instance, SmallestArea(), engine="reference", **rules)
    part = drive(instance, SmallestArea(), until=2_400, **rules)
    assert drive(instance, SmallestArea(), resume=part.checkpoint, **rules) == run


@pytest.mark.parametrize("policy", POLICIES, ids=by_name)
def test_a_run_that_python_decided_goes_on_in_python(policy: Any) -> None:
    """As runs of earlier versions, which had no rule for it."""
    kind = type("Former", (type(policy),), {"rule": None, "__slots__": ()})
    former = kind(**{name: getattr(policy, name) for name in policy.__dataclass_fields__
                     if name not in ("name", "preempts", "information", "one_model")})  # fmt: skip
    instance = crowd(1, SIZES[0], 40)
    part = drive(instance, former, until=2_400)
    assert drive(instance, policy, resume=part.checkpoint) == drive(instance, policy)
