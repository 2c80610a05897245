"""Certificates that hold, by hand, and what is said of those that are wrong in a place."""

import math
from base64 import b64encode
from dataclasses import replace
from typing import Any
from zlib import compress

import pytest

import deadline_optimum
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations import (
    CompletionTime,
    GpuMarket,
    Irmp,
    LtgfRound,
    RarDdls,
    SharingIncentive,
    UniSched,
)
from gangsched.instances import (
    Cluster,
    DeadlineJob,
    Instance,
    Job,
    Linear,
    Node,
    ParameterServerJob,
    RingJob,
    User,
)
from gangsched.solvers import Bound
from malformed import objects
from preemptive import problem_of

FIVES = [RingJob(id=i, gpus=1, iterations=5, gradient=0, base_time=1) for i in "abc"]
RINGS = RarDdls(Instance(Cluster.of_sizes([1, 1]), FIVES), xi2=0)
ROWS = [(2, 0, 1, 1.0), (1, 0, 2, 1.0), (2, 1, 1, 1.0)]
FLOW = problem_of([2], ROWS, "flow")
PAIR = problem_of([2], [(2, 0, 3, 1.0), (2, 0, 1, 1.0)])
MODELS = CompletionTime(
    Instance(
        Cluster([Node("n0", 1, "old"), Node("n1", 1, "new")]),
        [Job(id=i, gpus=1, work=6, speeds={"old": 1, "new": s}) for i, s in (("a", 2), ("b", 3))],
    )
)
GANGS = CompletionTime(
    Instance(
        Cluster([Node("n", 3, "new"), Node("o", 3, "old")]),
        [Job(id=i, gpus=2, work=2, speeds={"new": 2.0, "old": 1.0}) for i in "ab"],
    )
)
SHARED = SharingIncentive(
    Instance(
        Cluster.of_sizes([2]),
        [Job(id=i, gpus=2, work=4, user=u) for i, u in (("a", "u"), ("b", "v"))],
        [User("u"), User("v")],
    ),
    "stretch",
)
LEASES = UniSched(
    Instance(
        Cluster.of_sizes([2]),
        [DeadlineJob(id=i, gpus=2, work=600, rewards=[(1200, 100)]) for i in "abc"],
    )
)
SERVED = {"gpus": 2, "epochs": 2, "minibatches": 1, "rates": (1, 0.5), "utility": Linear(-2, 100)}
REVENUE = Irmp(
    Instance(Cluster([Node("s", 2, ps=1)]), [ParameterServerJob(id=i, **SERVED) for i in "ab"])  # type: ignore[arg-type]
)
MARKET = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]])
ROUND = LtgfRound(
    gpus=3, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 1), (0, 1), (1, 2)]
)
SPENT = {"kind": "user prices", "times": [0, 4], "prices": [1]}

#: problem, what is claimed, and the certificate that proves it
HOLDS: dict[str, tuple[Any, float, dict[str, Any]]] = {
    # three jobs of 5 s on two GPUs: the area needs 8 s, and two jobs on one GPU 10
    "area": (RINGS, 8, {"kind": "area"}),
    "less than the area": (RINGS, 7, {"kind": "area"}),
    "longest job": (RINGS, 5, {"kind": "longest job", "job": 0}),
    "dff": (RINGS, 10, {"kind": "dff", "target": 9, "k": 1, "eps": 0}),
    "configuration lp": (
        RINGS, 10, {"kind": "configuration lp", "target": 9, "scale": 1, "duals": [1, 1, 1]}
    ),
    # 6 GPU seconds on 2 GPUs; SRPT of sizes 1, 1, 1 ends at 1, 2, 3, alone 1, 2, 2; B: 1/2, 3/2,
    # 5/2 in this order, with p_j / 2, less r_j: 1, 5/2, 2; with Q = 2 and q_j = 1 is lambda 1
    "last job": (replace(FLOW, measure="makespan"), 2, {"kind": "last job", "job": 1}),
    "released work": (
        replace(FLOW, measure="makespan"), 3,
        {"kind": "released work", "release": 0, "k": 0, "eps": 0},
    ),
    "shortest remaining first": (
        FLOW, 5, {"kind": "shortest remaining first", "k": 0, "eps": 0}
    ),
    "mean busy time": (
        FLOW, 6, {"kind": "mean busy time", "scale": 2, "densities": [1, 1, 1], "k": 0, "eps": 0}
    ),
    # sizes 6 and 4 on 3 units a second: 10 / 3 s; SRPT: b until 4/3, a until 10/3, so 2 and 4;
    # B_b = 2/3, B_a = 7/3, h: 1, 3/2, and the sum of B_j + h_j is 5.5
    "released work on two models": (
        replace(MODELS, measure="makespan"), 4,
        {"kind": "released work", "release": 0, "prices": [1, 2]},
    ),
    "shortest remaining first on two models": (
        MODELS, 6, {"kind": "shortest remaining first", "prices": [1, 2]}
    ),
    "mean busy time on two models": (
        MODELS, 6, {"kind": "mean busy time", "scale": 12, "densities": [2, 3], "prices": [1, 2]}
    ),
    "configuration prices": (
        problem_of([3], [(2, 0, 2, 1.0)] * 3, "makespan"), 6,
        {"kind": "configuration prices", "prices": [1, 1, 1]},
    ),
    # at 1/2 for a GPU second until 1 the first job costs at least 4, as it waits or pays one, and
    # the second 2 either way; what all GPUs are worth is 1: so 5, the optimum
    "GPU prices": (PAIR, 5, {"kind": "GPU prices", "times": [0, 1], "prices": [1], "scale": 2}),
    # see test_job_price_bound.py
    "job prices": (
        GANGS, 3,
        {
            "kind": "job prices", "times": [0, 1, 2], "first": [0, 0], "counts": [1, 1],
            "prices": b64encode(compress(bytes([1, 1, 0, 0]))).decode(), "scale": 2,
            "rates": [[1], [1]],
        },
    ),
    # a GPU second costs a third of a unit of 50: one job gains a unit, and the GPU is worth one
    "prices": (
        deadline_optimum.problem_of(1, [(1, 0, 3, [(3, v)]) for v in (100, 50, 50)]), 100,
        {"kind": "prices", "times": [0, 3], "prices": [1], "scale": 3},
    ),
    # at 2 for a job second and 1 for a GPU second up to 4 both cost 16: 24 to share of 16
    "user prices": (SHARED, 1.5, {**SPENT, "users": [2, 2], "all": 0}),
    "user prices and a limit": (
        replace(SHARED, limit=2.0), 8, {**SPENT, "users": [0, 0], "all": 1}
    ),
    # with a GPU at 50 a lease, in both leases, nobody gains
    "lease prices": (LEASES, 200, {"kind": "lease prices", "prices": [[50, 50]], "scale": 1}),
    "lease prices, finer": (
        LEASES, 200, {"kind": "lease prices", "prices": [[5 * 10**20] * 2], "scale": 10**19}
    ),
    # with 1 for a worker in slots 1 and 2, both jobs gain 92 wherever they run, and 4 are paid
    "revenue prices": (
        REVENUE, 188,
        {
            "kind": "revenue prices", "classes": [["", 2, 1]], "ends": [2, 4],
            "prices": [[[1, 0], [0, 0]]], "scale": 1, "fluid": False,
        },
    ),
    "gpu prices": (
        MARKET, 133.75,
        {
            "kind": "gpu prices", "prices": [1.25, 6.25], "floors": [0.25, 0.25, 0.0],
            "caps": [0.0] * 3,
        },
    ),
    # a K80 at 5 and a V100 at 25: 600 in all; fair shares cost 25 * 5, 40 * 5 and 45 * 4
    "gpu prices of gains": (
        replace(MARKET, aim="max-min"), 120 / 101 + 1e-15,
        {"kind": "gpu prices", "prices": [5.0, 25.0], "floors": [5.0, 5.0, 4.0], "caps": [0.0] * 3},
    ),
    # all spend a third: 40 at 1 / 120, 40 at 1 / 120, 8 at 1 / 24 of a speed of 6.25
    "gpu prices of welfare": (
        replace(MARKET, aim="nash"), (2 * math.log(40) + math.log(50)) / 3 + 1e-15,
        {
            "kind": "gpu prices", "prices": [1 / 120, 5 / 120], "floors": [0.0] * 3,
            "caps": [0.0] * 3,
        },
    ),
    # 1 takes 2 GPUs of each: the first user has 10 of 20 at best
    "gang sums": (ROUND, 0.5, {"kind": "gang sums", "users": [0, 1], "level": 1, "scale": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDS)
def test_a_certificate_holds(name: str) -> None:
    problem, value, certificate = HOLDS[name]
    verify_bound(problem, Bound(value, "by hand", certificate))


@pytest.mark.parametrize(("name", "changes", "refusal"), objects("certificates"))
def test_what_is_wrong_is_named(name: str, changes: dict[str, Any], refusal: str) -> None:
    """A field may be another one or DROPped, and the problem and the claim be others too."""
    problem, value, certificate = HOLDS[name]
    problem, value = replace(problem, **changes.get("problem", {})), changes.get("value", value)
    fields = {k: v for k, v in changes.items() if k not in ("problem", "value")}
    wrong = {k: v for k, v in {**certificate, **fields}.items() if v != "DROP"}
    with pytest.raises(InvalidCertificate) as found:
        verify_bound(problem, Bound(value, "by hand", wrong))
    assert str(found.value).startswith(f"bound {value} (by hand): {refusal}")
