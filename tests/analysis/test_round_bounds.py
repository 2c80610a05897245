"""The bound of one round of LTGF: by hand, and what its verifier refuses."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.analysis.proofs.round_fairness import gang_sums_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations import LtgfRound
from gangsched.solvers import Bound, one_round

#: two users are due 20 each: 0, 10 or 20 of 20 for the first, 0 or 20 of 20 for the second
ROUND = LtgfRound(
    gpus=3, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 1), (0, 1), (1, 2)]
)
#: 1 takes 2 GPUs of each: the first has 10 of 20 at best
HOLDS: dict[str, Any] = {"kind": "gang sums", "users": [0, 1], "level": 1, "scale": 1}


def verify(value: float = 0.5, problem: LtgfRound = ROUND, **changed: Any) -> None:
    verify_bound(problem, Bound(value, "by hand", {**HOLDS, **changed}))


def test_the_users_cannot_both_have_all() -> None:
    verify()
    verify(level=3, scale=4)  # for which both take 2 too
    bound = gang_sums_bound(ROUND)
    assert (bound.value, dict(bound.certificate or {})) == (0.5, HOLDS)


def test_where_nobody_is_due_anything_the_objective_is_one() -> None:
    nobody = replace(ROUND, share=[0, 0])
    bound = gang_sums_bound(nobody)
    assert bound.value == 1 == nobody.objective((0,))
    verify_bound(nobody, bound)
    with pytest.raises(InvalidCertificate, match="the certificate proves 1"):
        verify_bound(nobody, replace(bound, value=0.9))


@st.composite
def rounds(draw: st.DrawFn) -> LtgfRound:
    users = draw(st.integers(1, 3))
    small = st.lists(st.integers(0, 20), min_size=users, max_size=users)
    return LtgfRound(
        gpus=draw(st.integers(0, 6)),
        lease=draw(st.integers(1, 4)),
        attained=draw(small),
        fair=draw(small),
        share=draw(small),
        jobs=draw(st.lists(st.tuples(st.integers(0, users - 1), st.integers(1, 4)), max_size=6)),
    )


def best(problem: LtgfRound) -> float:
    number = range(len(problem.jobs))
    every = (some for size in range(len(number) + 1) for some in combinations(number, size))
    return max(problem.objective(some) for some in every if not problem.violations(some))


@given(rounds())
def test_the_bound_is_the_optimum(problem: LtgfRound) -> None:
    bound = gang_sums_bound(problem)
    verify_bound(problem, bound)
    assert bound.value == best(problem)
    assert one_round(problem).objective == best(problem)


@given(rounds(), st.data())
def test_tampered_certificates_never_prove_too_much(
    problem: LtgfRound, data: st.DataObject
) -> None:
    certificate = {
        "kind": "gang sums",
        "users": data.draw(st.lists(st.integers(0, 2), max_size=3)),
        "level": data.draw(st.integers(0, 12)),
        "scale": data.draw(st.integers(1, 4)),
    }
    bound = Bound(data.draw(st.floats(0, 3)), "tampered", certificate)
    try:
        verify_bound(problem, bound)
    except InvalidCertificate:
        return
    assert bound.value >= best(problem)
