"""What the named instances claim is checked again: schedule, value and bound."""

from __future__ import annotations

import pytest

from brute_force import optimum
from gangsched.analysis.proofs.makespan import verify_bound
from gangsched.formulations.io import problem_from_dict
from gangsched.instances import library
from gangsched.solvers import Bound

NAMES = library.names()


def test_there_are_instances_of_every_sort() -> None:
    assert len(NAMES) >= 12
    for sort in ("rar-a", "rar-b", "rar-heavy", "rar-philly", "rar-small", "rar-contention"):
        assert any(name.startswith(sort) for name in NAMES)
    assert sum(library.entry(name).optimal for name in NAMES) >= 6


@pytest.mark.parametrize("name", NAMES)
def test_claims_hold(name: str) -> None:
    entry = library.entry(name)
    problem = problem_from_dict(entry.problem)
    assert problem.violations(entry.schedule) == []
    assert problem.objective(entry.schedule) == entry.objective
    bound = Bound(**entry.bound)
    assert bound.value <= entry.objective
    if bound.certificate is None:  # a claim of branch and bound: small enough to search
        assert optimum(problem) == bound.value
    else:
        verify_bound(problem, bound)


def test_unknown_name() -> None:
    with pytest.raises(KeyError, match="named instance 'rar-z' is not one of rar-a-0, rar-a-1"):
        library.entry("rar-z")
