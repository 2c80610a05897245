"""Solvers' own models: their building ends when the time is over, between any two of many steps."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from clock import Clock
from gangsched.formulations import limited as limiting
from gangsched.formulations.limited import OutOfTime, limited
from gangsched.formulations.rar_ddls import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.registry import PROBLEMS
from gangsched.solvers.history import History
from gangsched.solvers.ours.irmp.chain import _Chain
from gangsched.solvers.ours.irmp.columns import default_slots
from gangsched.solvers.ours.rar_ddls.slot_model import slot_model


def slots() -> Callable[[], Any]:
    jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    return lambda: slot_model(problem, horizon=8, least=1, contention=True)


def runs() -> Callable[[], Any]:
    problem = PROBLEMS["irmp"].tiny()
    chain = _Chain(problem, math.inf, History(0.0))
    columns = chain.relax(default_slots(problem), 0.0)
    return lambda: chain._master(columns)


@pytest.mark.parametrize(("make", "least"), [(slots, 50), (runs, 10)])
def test_the_building_of_a_model_ends_with_the_time(
    make: Callable[[], Callable[[], Any]], least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, clock = make(), Clock()
    monkeypatch.setattr(limiting, "time", clock)
    with limited(math.inf):
        build()
    looks = clock.looks
    assert looks > least
    for share in (0.2, 0.8):
        clock.looks = 0
        with pytest.raises(OutOfTime), limited(share * looks):
            build()
        assert clock.looks <= share * looks + 1  # nothing goes on
