"""Programs that HiGHS solves, in a process that has run HiGHS with other threads before."""

from collections.abc import Callable
from typing import Any

import highspy
import pytest

import gangsched as gs
from gangsched.analysis.proofs.makespan import configuration_bound
from gangsched.registry import PROBLEMS

CALLS: dict[str, Callable[[], Any]] = {
    "market": lambda: gs.solve(PROBLEMS["gandiva-fair"].tiny(), "efficient"),
    "queue": lambda: gs.solve(
        PROBLEMS["unisched"].settings["queue-helios"](jobs=30, nodes=None, seed=0), "lp-selector"
    ),
    "packing": lambda: configuration_bound(
        PROBLEMS["rar-ddls"].settings["paper-b"](jobs=20, nodes=4, seed=0)
    ),
    "revenue": lambda: gs.solve(PROBLEMS["irmp"].tiny(), "exact"),
    "revenue bound": lambda: gs.bound(
        PROBLEMS["irmp"].settings["reduced"](jobs=6, nodes=5, seed=0), effort="full"
    ),
    "least-fair-first": lambda: gs.solve(PROBLEMS["ltgf"].tiny(), "exact"),
    "max-min": lambda: gs.drive(
        gs.generate.philly_workload(gs.Cluster.of_sizes([8, 8]), jobs=20, load=0.9, seed=0),
        "max-min-fairness",
    ),
}


def told(result: Any) -> Any:
    """What there is to compare."""
    if isinstance(result, gs.Result):
        return result.objective, result.bound
    return result if isinstance(result, gs.Bound) else result.records.end.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("threads", [None, 3])
@pytest.mark.parametrize("name", CALLS)
def test_no_program_minds_how_many_threads_highs_has_used(name: str, threads: int | None) -> None:
    """HiGHS has one pool of threads a process, and refuses another number that is asked for."""
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.resetGlobalScheduler(True)
    if threads is not None:
        other.setOptionValue("threads", threads)
    try:
        other.addVar(0, 1)
        other.run()
        found = told(CALLS[name]())
    finally:
        other.resetGlobalScheduler(True)
    assert found == told(CALLS[name]())
