"""Problems as JSON: both ways, and clear refusals."""

import dataclasses
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs
from gangsched.formulations import DeadlineRewards, LtgfFluid, LtgfRound, RarDdls, UniSched
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.formulations.io import problem_from_dict, problem_to_dict
from gangsched.formulations.irmp.problem import Irmp
from gangsched.formulations.unisched.leases import LeasePhase
from gangsched.instances import Linear, ParameterServerJob
from malformed import cases, changed, table
from strategies import deadline_instances, irmp_problems, rar_problems

# Written by hand, not by the code under test.
PROBLEM: dict[str, Any] = json.loads("""
{"format": "gangsched", "version": 1, "kind": "problem", "problem": "rar-ddls",
 "instance": {"format": "gangsched", "version": 1, "kind": "instance",
  "cluster": {"nodes": [{"id": "n0", "gpus": 4}]},
  "jobs": [{"kind": "ring", "id": "a", "gpus": 2, "iterations": 9,
    "gradient": 0, "base_time": 0.5}]},
 "parameters": {"alpha": 0.5, "rate": "exact", "horizon": 1200}}
""")
JOB = gs.RingJob(id="a", gpus=2, iterations=9, gradient=0, base_time=0.5)
SAME = RarDdls(
    gs.Instance(gs.Cluster.of_sizes([4]), [JOB]),  # type: ignore[arg-type]
    alpha=0.5,
    rate="exact",
    horizon=1200,
)

QUEUE: dict[str, Any] = json.loads("""
{"format": "gangsched", "version": 1, "kind": "problem", "problem": "unisched",
 "instance": {"format": "gangsched", "version": 1, "kind": "instance",
  "cluster": {"nodes": [{"id": "n0", "gpus": 4}, {"id": "n1", "gpus": 4}]},
  "jobs": [{"kind": "deadline", "id": "a", "gpus": 3, "work": 700,
    "rewards": [[1500, 100]]},
   {"kind": "deadline", "id": "b", "gpus": 2, "work": 900},
   {"kind": "deadline", "id": "c", "gpus": 1, "work": 900}]},
 "parameters": {"lease": 1200, "be_lease": 600, "allocations": "exact", "rounding": "paper",
  "sr_aware": false, "lexicographic": true,
  "phases": {"0": "running", "2": "suspended"}, "profilers": [1, 2],
  "free": [4, 1], "overhead": 40}}
""")
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
REWARDS = {**QUEUE, "problem": "deadline-rewards", "parameters": {"elastic": True}}
SAME_REWARDS = DeadlineRewards(SAME_QUEUE.instance, elastic=True)

REVENUE: dict[str, Any] = json.loads("""
{"format": "gangsched", "version": 1, "kind": "problem", "problem": "irmp",
 "instance": {"format": "gangsched", "version": 1, "kind": "instance",
  "cluster": {"nodes": [{"id": "n0", "gpus": 4, "ps": 1},
    {"id": "n1", "gpus": 2, "ps": 2}]},
  "jobs": [{"kind": "parameter-server", "id": "a", "gpus": 2, "user": "v",
    "release": 3, "epochs": 2, "minibatches": 1, "rates": [1.0, 0.5],
    "utility": {"kind": "linear", "slope": -2.0, "constant": 100.0}}],
  "users": [{"id": "u", "gpus": 2, "ps": 2}, {"id": "v", "gpus": 4, "ps": 1}],
  "slot": 3600},
 "parameters": {"worker_bandwidth": 100, "ps_bandwidth": 5120, "horizon": 64,
  "clock": "release", "optional": false, "preemptive": true,
  "paper_slot_r": true, "owners": ["v", "u"], "alone": {"v": 12.5}}}
""")
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

#: problems as files and as they are, and parameters that are their defaults
HAND: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "rar-ddls": (PROBLEM, SAME, {"xi1": 0.5, "degradation": "linear", "horizon": None}),
    "unisched": (
        QUEUE, SAME_QUEUE, {"phases": {}, "profilers": [], "free": None, "overhead": 25}
    ),
    "deadline-rewards": (REWARDS, SAME_REWARDS, {"elastic": False}),
    "irmp": (REVENUE, SAME_REVENUE, {"owners": [], "horizon": None}),
}  # fmt: skip


# --- both ways -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "same", "defaults"), HAND.values(), ids=HAND)
def test_a_problem_written_by_hand_is_read(data: Any, same: Any, defaults: Any) -> None:
    assert problem_from_dict(data) == same
    assert json.loads(json.dumps(problem_to_dict(same))) == data


@pytest.mark.parametrize(("data", "same", "defaults"), HAND.values(), ids=HAND)
def test_parameters_at_their_default_stay_out_of_the_file(
    data: Any, same: Any, defaults: Any
) -> None:
    plain = type(same)(same.instance)
    assert problem_to_dict(plain)["parameters"] == {}
    for parameters in ({}, defaults):
        read = problem_from_dict({**data, "parameters": parameters})
        assert read == plain
        assert problem_to_dict(read)["parameters"] == {}


def test_nodes_in_turn_do_not_make_up_the_users_quotas() -> None:
    assert Irmp(SAME_REVENUE.instance).owners == ()


@st.composite
def queues(draw: st.DrawFn) -> UniSched:
    """Any queue, with all parameters of which a file holds something else than a number."""
    instance = draw(deadline_instances(max_release=1200))
    numbers = st.integers(0, len(instance.jobs) - 1)
    free = st.tuples(*(st.integers(0, size) for size in instance.cluster.sizes))
    return UniSched(
        instance,
        lease=draw(st.sampled_from([600, 900])),
        allocations=draw(st.sampled_from(["cells", "exact", "consolidated"])),
        lexicographic=draw(st.booleans()),
        phases=draw(st.dictionaries(numbers, st.sampled_from(LeasePhase))),
        profilers=draw(st.frozensets(numbers)),
        free=draw(st.none() | free),
    )


REWARDED = st.builds(DeadlineRewards, deadline_instances(max_release=1200), st.booleans())
#: any problem, and what follows from its parameters
ANY: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Any]]] = {
    "rar-ddls": (rar_problems(own_degradation=False), lambda problem: problem.rates.tolist()),
    "unisched": (queues(), lambda problem: problem.options()),
    "deadline-rewards": (REWARDED, lambda problem: problem.elastic),
    "irmp": (
        irmp_problems(), lambda problem: (problem.parameters(), problem.quotas.tolist())
    ),
}  # fmt: skip


@pytest.mark.parametrize(("strategy", "of"), ANY.values(), ids=ANY)
@given(data=st.data())
def test_problems_come_back(strategy: Any, of: Any, data: st.DataObject) -> None:
    problem = data.draw(strategy)
    again = problem_from_dict(json.loads(json.dumps(problem_to_dict(problem))))
    assert again == problem
    assert of(again) == of(problem)


# --- files that break the format -----------------------------------------------------------------

NAMES = (
    "'rar-ddls', 'unisched', 'deadline-rewards', 'irmp', 'gandiva-fair', 'ltgf', 'ltgf-round', "
    "'ltgf-fluid', 'completion-time', 'sharing-incentive'"
)
RINGS = PROBLEM["instance"]["jobs"]
MALFORMED = table("malformed_problems")
LONG: list[tuple[str, str, Any, str]] = [
    ("rar-ddls", "problem", "rar", f"problem='rar' is not one of {NAMES}"),
    ("rar-ddls", "problem", ["rar-ddls"], f"problem=['rar-ddls'] is not one of {NAMES}"),
    (
        "rar-ddls", "parameters.instance", {},
        "parameters: unknown field 'instance' (known are alpha, bandwidth_between, bandwidth_with",
    ),
    (
        "unisched", "instance.jobs", [{**RINGS[0], "id": id} for id in "abc"],
        "job 'a': kind RingJob is not DeadlineJob",
    ),
    (
        "unisched", "instance.cluster", PROBLEM["instance"]["cluster"],
        "UniSched: free has 2 entries for 1 nodes",
    ),
    (
        "unisched", "parameters.phases", {"0": "RUNNING"},
        "parameters: phases['0']='RUNNING' is not one of 'fresh', 'suspended', 'running'",
    ),
    (
        "deadline-rewards", "instance.jobs", RINGS,
        "DeadlineRewards: job 'a' is a RingJob, which has no deadlines",
    ),
    ("irmp", "instance.jobs", RINGS, "instance: job 'a': user='' is not a user of"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [*(case for name, table in MALFORMED.items() for case in cases(table, name)), *LONG],
)
def test_malformed_problems(name: str, place: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        problem_from_dict(changed(HAND[name][0], place, value))


def test_a_list_is_no_problem() -> None:
    with pytest.raises(ValueError, match=r"^the file's content: \[\] is not an object$"):
        problem_from_dict([])


# --- problems of their own fields -----------------------------------------------------------------

MARKET = GpuMarket(
    [60, 12], [[1, 1.25], [1, 5], [1, 6.25]], [1, 2, 1], [30, math.inf, 40.5], users="ABC",
    aim="nash",
)  # fmt: skip
ROUND = LtgfRound(
    gpus=4, lease=10, attained=[20, 0], fair=[20, 2.5], share=[2, 2], jobs=[(0, 4), (1, 3)]
)
FLUID = LtgfFluid(4, [3, 1], [Fraction(5, 3), Fraction(1)])


def test_markets_come_back() -> None:
    data = json.loads(json.dumps(problem_to_dict(MARKET)))
    assert data["market"]["demand"] == [30, None, 40.5]
    again = problem_from_dict(data)
    assert isinstance(again, GpuMarket)
    for field in dataclasses.fields(GpuMarket):
        assert np.array_equal(getattr(again, field.name), getattr(MARKET, field.name))


@pytest.mark.parametrize(
    ("problem", "body"),
    [
        (
            ROUND,
            {
                "round": {
                    "gpus": 4,
                    "lease": 10,
                    "attained": [20, 0],
                    "fair": [20.0, 2.5],
                    "share": [2.0, 2.0],
                    "jobs": [[0, 4], [1, 3]],
                }
            },
        ),
        (FLUID, {"fluid": {"gpus": 4, "gangs": [3, 1], "shares": ["5/3", "1"]}}),
    ],
    ids=["round", "fluid"],
)
def test_problems_without_an_instance_are_written_by_their_fields(problem: Any, body: Any) -> None:
    data = json.loads(json.dumps(problem_to_dict(problem)))
    assert {name: data[name] for name in body} == body
    assert problem_from_dict(data) == problem


@pytest.mark.parametrize(
    ("problem", "name", "value", "message"),
    [
        (MARKET, "gpus", 3, "market: gpus=3 is not a list"),
        (MARKET, "gpus", [60, 0], "market: model 'g1': gpus=0 is not an integer from 1 to 1e7"),
        (MARKET, "speeds", [[1, 2], [1]], "market: "),
        (MARKET, "tickets", [1, -1, 1], "market: user 'B': tickets=-1.0 is not from 1e-6 to 1e7"),
        (MARKET, "tickets", [10**400, 1, 1], "market: int too large to convert to float"),
        (MARKET, "aim", "most", "market: GpuMarket: aim='most' is not one of total, max-min, nash"),
        (MARKET, "instance", {}, "market: unknown field 'instance'"),
        (ROUND, "gpus", 4.5, "round: gpus=4.5 is not an integer"),
        (ROUND, "gpus", True, "round: gpus=True is not an integer"),
        (ROUND, "lease", 0, "round: LtgfRound: lease=0 is below 1"),
        (ROUND, "attained", [20, 0.5], "round: attained[1]=0.5 is not an integer"),
        (ROUND, "fair", [20, "2"], "round: fair[1]='2' is not a number"),
        (ROUND, "share", 2, "round: share=2 is not a list"),
        (ROUND, "jobs", [[0, 4, 1]], "round: jobs[0]=[0, 4, 1] is not a pair (user, gang)"),
        (ROUND, "jobs", [[0, 1.5]], "round: jobs[0][1]=1.5 is not an integer"),
        (ROUND, "jobs", [[2, 1]], "round: job 0: user=2 is not one of the 2 users"),
        (ROUND, "user", [], "round: unknown field 'user'"),
        (FLUID, "shares", ["5/3", 1], "fluid: shares[1]=1 is not a rational such as '3/2'"),
        (FLUID, "shares", ["5/3", "1/0"], "fluid: shares[1]='1/0' is not a rational"),
        (FLUID, "shares", ["5/3", "3/2"], "fluid: job 1: share=3/2 is not in (0, 1], its gang"),
        (FLUID, "gangs", [3, 5], "fluid: job 1: gpus=5 is not in 1 .. 4, the cluster's"),
    ],
)
def test_malformed_fields_are_refused(problem: Any, name: str, value: Any, message: str) -> None:
    data = problem_to_dict(problem)
    data[next(iter(set(data) & {"market", "round", "fluid"}))][name] = value
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        problem_from_dict(data)


def test_a_market_has_no_instance_in_its_file() -> None:
    data = {**problem_to_dict(MARKET), "instance": {}}
    with pytest.raises(ValueError, match=r"^problem: unknown field 'instance'"):
        problem_from_dict(data)
