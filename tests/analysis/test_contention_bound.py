"""Bounds that see nodes and contention: cliques and uplinks, against brute force and by hand."""

from typing import Any

import pytest
from hypothesis import given, settings

import gangsched as gs
import tiny
from brute_force import optimum
from few import each_seed
from gangsched.analysis.proofs import contention
from gangsched.analysis.proofs.contention import contention_bound
from gangsched.analysis.proofs.makespan import InvalidCertificate, configuration_bound
from gangsched.analysis.proofs.problem_data import proven
from gangsched.formulations import RarDdls
from malformed import table
from strategies import rar_problems


def wide(gangs: list[int], sizes: list[int], **parameters: Any) -> RarDdls:
    """Jobs of two slots on two nodes, of eight beside another: phi(2, 1) = 4, phi(2, 2) = 1."""
    jobs = [
        gs.RingJob(id=f"j{i}", gpus=g, iterations=8, gradient=0.15, base_time=0.01)
        for i, g in enumerate(gangs)
    ]
    settings = {"xi1": 1, "xi2": 0.005, "alpha": 0.5, **parameters}
    return RarDdls(gs.Instance(gs.Cluster.of_sizes(sizes), jobs), **settings)


@pytest.mark.parametrize(
    ("gangs", "sizes", "together", "value"),
    table("refused_values")["jobs_that_clash"],
)
def test_jobs_that_clash(gangs: list[int], sizes: list[int], together: bool, value: int) -> None:
    problem = wide(gangs, sizes)
    assert contention._Clashes(problem).clash(0, 1) is together
    assert contention._Clashes(problem).clash(1, 0) is together
    assert contention_bound(problem).value <= value == optimum(problem)
    if together:
        assert contention_bound(problem).value == value


def test_jobs_that_are_not_slowed_down_may_run_together() -> None:
    """Two on a link are as fast as one where xi1 = 0.5: they clash, and it costs nothing."""
    problem = wide([3, 3], [2, 2, 2], xi1=0.5)
    assert (contention_bound(problem).value, optimum(problem)) == (2, 2)


def test_uplinks_are_shared() -> None:
    """11 jobs on two of five uplinks for two slots: 44 / 5; 33 places for two slots on 10 GPUs."""
    problem = wide([3] * 11, [2] * 5)
    bound = contention_bound(problem)
    assert (bound.value, bound.certificate) == (9, {"kind": "uplinks"})
    assert configuration_bound(problem).value == 8
    gs.verify_bound(problem, bound)
    assert gs.bound(problem, "full").value == 9


def test_a_longer_job_takes_the_place_of_the_smallest() -> None:
    """9 of 10 GPUs clash with all: of the others the longest counts, whatever its size."""
    jobs = [
        gs.RingJob(id=f"j{i}", gpus=g, iterations=n, gradient=0, base_time=0.9)
        for i, (g, n) in enumerate([(9, 5), (3, 2), (2, 7), (1, 9)])
    ]
    problem = RarDdls(gs.Instance(gs.Cluster.of_sizes([10]), jobs))
    bound = contention_bound(problem)
    assert (bound.value, bound.certificate) == (12, {"kind": "clique", "jobs": [0, 2]})
    gs.verify_bound(problem, bound)


@each_seed(tiny.SEEDS[:24])
def test_no_optimum_is_below_the_bound(seed: int) -> None:
    problem = tiny.tiny(seed)
    for bound in (contention._clique_bound(problem), contention._uplink_bound(problem)):
        assert bound.value <= tiny.optimum(seed)
        assert proven(problem, bound.certificate or {}) == bound.value


def test_many_optima_are_proven_that_no_packing_proves() -> None:
    better = [
        seed
        for seed in tiny.SEEDS[:24]
        if configuration_bound(tiny.tiny(seed)).value < contention_bound(tiny.tiny(seed)).value
    ]
    assert len(better) >= 12
    assert all(contention_bound(tiny.tiny(seed)).value == tiny.optimum(seed) for seed in better)


@settings(max_examples=60)
@given(rar_problems(max_jobs=4))
def test_no_bound_exceeds_an_optimum(problem: RarDdls) -> None:
    best = optimum(problem)
    for bound in (contention._clique_bound(problem), contention._uplink_bound(problem)):
        gs.verify_bound(problem, bound)
        assert best is None or bound.value <= best


@pytest.mark.parametrize(
    ("jobs", "message"),
    table("refused_values")["what_is_no_clique_is_refused"],
)
def test_what_is_no_clique_is_refused(jobs: Any, message: str) -> None:
    problem, certificate = wide([3, 3], [2] * 4), {"kind": "clique", "jobs": jobs}
    with pytest.raises(InvalidCertificate, match=message):
        gs.verify_bound(problem, gs.Bound(2, "clique", certificate))


def test_a_clique_proves_no_more_than_it_does() -> None:
    problem = wide([3, 3], [2, 2, 2])
    certificate = {"kind": "clique", "jobs": [1, 0]}
    gs.verify_bound(problem, gs.Bound(4, "clique", certificate))
    with pytest.raises(InvalidCertificate, match="the certificate proves 4"):
        gs.verify_bound(problem, gs.Bound(5, "clique", certificate))
