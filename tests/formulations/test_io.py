"""Problems as JSON: both ways, and clear refusals."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from gangsched.formulations import DeadlineRewards, LtgfFluid, LtgfRound, RarDdls, UniSched
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.formulations.io import problem_from_dict, problem_to_dict
from gangsched.formulations.irmp.problem import Irmp
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.instances import Linear, ParameterServerJob
from malformed import FILES

JOB = gs.RingJob(id="a", gpus=2, iterations=9, gradient=0, base_time=0.5)
SAME = RarDdls(
    gs.Instance(gs.Cluster.of_sizes([4]), [JOB]),  # type: ignore[arg-type]
    alpha=0.5,
    rate="exact",
    horizon=1200,
)

SAME_QUEUE = UniSched(
    gs.Instance(
        gs.Cluster.of_sizes([4, 4]),
        [
            gs.DeadlineJob(id="a", gpus=3, work=700, rewards=[(1500, 100)]),
            gs.DeadlineJob(id="b", gpus=2, work=900),
            gs.DeadlineJob(id="c", gpus=1, work=900),
        ],
    ),
    lease=1200,
    be_lease=600,
    allocations="exact",
    rounding="paper",
    sr_aware=False,
    lexicographic=True,
    phases={2: LeasePhase.SUSPENDED, 0: LeasePhase.RUNNING},
    profilers=frozenset({2, 1}),
    free=(4, 1),
    overhead=40,
)
SAME_REWARDS = DeadlineRewards(SAME_QUEUE.instance, elastic=True)

SAME_REVENUE = Irmp(
    gs.Instance(
        gs.Cluster([gs.Node("n0", 4, ps=1), gs.Node("n1", 2, ps=2)]),
        [
            ParameterServerJob(
                id="a",
                gpus=2,
                user="v",
                release=3,
                epochs=2,
                minibatches=1,
                rates=(1, 0.5),
                utility=Linear(-2, 100),
            )
        ],
        [gs.User("u", gpus=2, ps=2), gs.User("v", gpus=4, ps=1)],
        slot=3600,
    ),
    worker_bandwidth=100,
    ps_bandwidth=5120,
    horizon=64,
    clock="release",
    optional=False,
    preemptive=True,
    paper_slot_r=True,
    owners=["v", "u"],
    alone={"v": 12.5},
)

#: problems that the files hold, and parameters that are their defaults
HAND: dict[str, tuple[Any, dict[str, Any]]] = {
    "rar-ddls": (SAME, {"xi1": 0.5, "degradation": "linear", "horizon": None}),
    "unisched": (SAME_QUEUE, {"phases": {}, "profilers": [], "free": None, "overhead": 25}),
    "deadline-rewards": (SAME_REWARDS, {"elastic": False}),
    "irmp": (SAME_REVENUE, {"owners": [], "horizon": None}),
}


# --- both ways -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HAND)
def test_a_problem_written_by_hand_is_read_and_defaults_stay_out_of_the_file(name: str) -> None:
    same, defaults = HAND[name]
    assert problem_from_dict(FILES[name]) == same
    plain = type(same)(same.instance)
    assert problem_to_dict(plain)["parameters"] == {}
    for parameters in ({}, defaults):
        read = problem_from_dict({**FILES[name], "parameters": parameters})
        assert read == plain
        assert problem_to_dict(read)["parameters"] == {}


def test_nodes_in_turn_do_not_make_up_the_users_quotas() -> None:
    assert Irmp(SAME_REVENUE.instance).owners == ()


# --- problems of their own fields -----------------------------------------------------------------


def test_a_market_comes_back() -> None:
    market = GpuMarket(
        [60, 12], [[1, 1.25], [1, 5], [1, 6.25]], [1, 2, 1], [30, math.inf, 40.5], users="ABC",
        aim="nash",
    )  # fmt: skip
    again = problem_from_dict(FILES["gandiva-fair"])
    assert isinstance(again, GpuMarket)
    for field in dataclasses.fields(GpuMarket):
        assert np.array_equal(getattr(again, field.name), getattr(market, field.name))


def test_problems_without_an_instance_are_read() -> None:
    assert problem_from_dict(FILES["ltgf-fluid"]) == LtgfFluid(4, [3, 1], [Fraction(5, 3), 1])
    assert problem_from_dict(FILES["ltgf-round"]) == LtgfRound(
        gpus=4, lease=10, attained=[20, 0], fair=[20, 2.5], share=[2, 2], jobs=[(0, 4), (1, 3)]
    )
