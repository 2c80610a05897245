"""Time of the bounds, printed and never judged: ``pytest -m slow -s tests/benchmarks``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from gangsched.analysis.proofs.makespan import (
    area_bound,
    configuration_bound,
    dff_bound,
    verify_bound,
)
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances.generate import paper_cluster, rar_workload
from gangsched.solvers import Bound

pytestmark = pytest.mark.slow
SCALES = [(160, 20), (1600, 200)]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the least milliseconds of three calls."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        result = call()
        times.append(1e3 * (time.perf_counter() - started))
    return result, min(times)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("variant", ["A", "B"])
@pytest.mark.parametrize(("jobs", "servers"), SCALES)
def test_fast_bounds(
    jobs: int, servers: int, variant: Any, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = paper_cluster(servers, seed=seed)
    problem = RarDdls(rar_workload(cluster, jobs=jobs, variant=variant, seed=seed))
    area, area_ms = timed(lambda: area_bound(problem))
    dff, dff_ms = timed(lambda: dff_bound(problem))
    _, verify_ms = timed(lambda: verify_bound(problem, dff))
    assert dff.value >= area.value
    report(
        capsys,
        f"{variant}{seed} {jobs} jobs, {servers} servers: area {area.value} {area_ms:.1f} ms, "
        f"dff {dff.value} {dff_ms:.1f} ms, verified in {verify_ms:.1f} ms",
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("variant", ["A", "B"])
def test_configuration_bound(variant: Any, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    problem = RarDdls(rar_workload(paper_cluster(seed=seed), variant=variant, seed=seed))
    started = time.perf_counter()
    bound: Bound = configuration_bound(problem)
    seconds = time.perf_counter() - started
    _, verify_ms = timed(lambda: verify_bound(problem, bound))
    assert bound.value >= dff_bound(problem).value
    report(
        capsys,
        f"{variant}{seed} 160 jobs, 20 servers: {bound.value} ({bound.method}) {seconds:.2f} s, "
        f"verified in {verify_ms:.1f} ms",
    )


def report(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Show a line past pytest's capture."""
    with capsys.disabled():
        print(f"\n{line}", end="")
