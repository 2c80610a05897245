"""Parameters with which nothing can be drawn or converted: named, with value and rule."""

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gangsched.formulations.irmp.problem import paper_problem
from gangsched.instances import Cluster, Instance, Job, ReadReport, Trace
from gangsched.instances.convert import to_instance, to_rar_instance, to_revenue_instance
from gangsched.instances.deadlines import (
    deadline_instance,
    helios_like_workload,
    philly_like_workload,
    queue_snapshot,
    split_speed,
    testbed_workload,
    with_density,
    with_hostile,
)
from gangsched.instances.generate import (
    paper_cluster,
    philly_workload,
    rar_workload,
    venus_workload,
)
from gangsched.instances.heterogeneous import mixed_cluster, random_market, with_speeds

EIGHT = Cluster.of_sizes([8])
MIXED = mixed_cluster([("v100", 1, 4), ("k80", 1, 4)])
ONE = Instance(EIGHT, [Job(id="a", gpus=2, work=60, user="u")])
DATED = deadline_instance(ONE)
#: 1, 9, 8 and 2 GPUs, every 10 s, of u0, u1, u0 and u1
LOG = Trace(
    name="log",
    jobs=tuple(
        Job(id=f"r{i}", gpus=gpus, work=5 + i, release=10 * i, user=f"u{i % 2}")
        for i, gpus in enumerate((1, 9, 8, 2))
    ),
    report=ReadReport(read=4),
)
rings, philly = partial(rar_workload, paper_cluster(seed=0)), partial(philly_workload, EIGHT)
dated = partial(deadline_instance, ONE)
speeds = partial(with_speeds, Instance(MIXED, ONE.jobs))
to_rings, to_replay = partial(to_rar_instance, LOG, EIGHT), partial(to_instance, LOG, EIGHT)
to_revenue = partial(to_revenue_instance, LOG)

#: whole numbers by what takes them, with the least that each may be
LEAST: list[tuple[Callable[..., Any], dict[str, int]]] = [
    (partial(paper_cluster, seed=0), {"servers": 1, "seed": 0}),
    (rings, {"jobs": 1, "seed": 0}),
    (philly, {"jobs": 0, "seed": 0}),
    (venus_workload, {"jobs": 0, "days": 1, "seed": 0}),
    (paper_problem, {"jobs": 0, "servers": 1, "users": 1, "seed": 0}),
    (dated, {"grace": 0, "seed": 0}),
    (helios_like_workload, {"jobs": 0, "days": 1}),
    (philly_like_workload, {"jobs": 0, "days": 1}),
    (testbed_workload, {"jobs": 0, "grace": 0}),
    (queue_snapshot, {"jobs": 1, "seed": 0}),
    (partial(split_speed, "bert"), {"gpus": 1}),
    (speeds, {"seed": 0}),
    (random_market, {"users": 1, "seed": 0}),
    (to_rings, {"jobs": 0, "seed": 0}),
    (to_replay, {"jobs": 0}),
    (to_revenue, {"jobs": 1, "servers": 1, "seed": 0}),
]
WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (philly, {"per_day": 0}, "per_day=0 is not a positive number"),
    (philly, {"load": math.nan}, "load=nan is not a positive number"),
    (philly, {"per_day": 5, "load": 0.8}, "per_day=5 and load=0.8: each follows from the other"),
    (rings, {"variant": "C"}, "variant='C' is not one of 'A', 'B'"),
    (rings, {"extra": (0.2, 0.1)}, "extra=(0.2, 0.1) is not a range"),
    (rings, {"cluster": Cluster.of_sizes([16])}, "jobs=160: gpus=32 exceeds the cluster's 16"),
    (paper_problem, {"users": []}, "users=0 is below 1"),
    (paper_problem, {"servers": 13}, "servers=13 are fewer than the 14 users, each owns one"),
    (paper_problem, {"users": ["a", "a"]}, "instance: user id 'a' occurs 2 times, ids are unique"),
    (paper_problem, {"utility": "flat"}, "utility='flat' is not one of 'linear', 'convex'"),
    (paper_problem, {"jobs": 0, "utility": ""}, "utility='' is not one of 'linear', 'convex'"),
    (dated, {"instance": Instance(EIGHT, [Job(id="j3", gpus=12, work=9)])}, "job 'j3': gpus=12 ex"),
    (dated, {"instance": Instance(EIGHT, [Job(id="j3", gpus=1)])}, "job 'j3': work=None, a deadli"),
    (dated, {"family": "mix3"}, "family='mix3' is not one of 'slo', 'mix1', 'mix2'"),
    (split_speed, {"model": "gpt", "gpus": 2}, "model='gpt' is not one of 'resnet18', "),
    (partial(with_density, DATED), {"density": 0}, "density=0 is not within (0, 2]"),
    (partial(with_density, DATED), {"density": 2.5}, "density=2.5 is not within (0, 2]"),
    (partial(with_hostile, DATED), {"share": -0.1}, "share=-0.1 is not within 0 and 1"),
    (
        with_hostile, {"instance": Instance(Cluster.of_sizes([4, 8]), DATED.jobs), "share": 0.5},
        "cluster: nodes have 4, 8 GPUs, hostile gangs need equal nodes",
    ),
    (
        with_hostile, {"instance": Instance(Cluster.of_sizes([2]), DATED.jobs), "share": 1},
        "share=1 of 1 jobs is not within the 0 to 0 that can be hostile",
    ),
    (queue_snapshot, {"family": "x"}, "family='x' is not one of 'slo', 'mix1', 'mix2'"),
    (queue_snapshot, {"load": 0}, "load=0 is not a positive number"),
    (queue_snapshot, {"mix": "x"}, "mix='x' is not one of 'philly', 'helios'"),
    (speeds, {"table": {}}, "table: it has no families to draw from"),
    (speeds, {"instance": ONE}, "cluster: model='' of its nodes has no speed for 'vae', the table"),
    *(
        (random_market, {"models": models}, "are not k80 and others of")
        for models in (("v100",), ("v100", "k80"), ("k80", "k80"), ("k80", "t4"), ())
    ),
    (mixed_cluster, {"parts": [("k80", 0, 4)]}, "nodes of model 'k80'=0 is below 1"),
    (mixed_cluster, {"parts": [("k80", 1, 0)]}, "node 'n0': gpus=0 is below 1"),
    (to_rings, {"jobs": 4}, "jobs=4 exceeds the 3 jobs of 'log' that fit"),
    (to_rings, {"pick": "last"}, "pick='last' is not one of 'first', 'sample'"),
    (to_replay, {"jobs": 4}, "jobs=4 exceeds the 3 jobs of 'log' that can run"),
    (to_replay, {"window": (20, 20)}, "window=(20, 20) ends before it starts"),
    (to_replay, {"window": (None, -5)}, "window=(None, -5) ends before it starts"),
    (to_replay, {"window": (41, None)}, "trace 'log': window=(41, None) has none of its jobs"),
    (to_replay, {"window": (0.5, 9)}, "window=(0.5, 9) is not a pair of integers or None"),
    (to_replay, {"weights": "vc"}, "weights='vc' is not one of 'requested', 'equal', nor a mapp"),
    (to_replay, {"weights": {"u0": 1}}, "job 'r3': user='u1' has no weight"),
    (to_replay, {"weights": {"u0": 1, "u1": 0}}, "user 'u1': weight=0 is not positive"),
    (to_revenue, {"jobs": 6}, "jobs=6 exceeds the 4 jobs of 'log'"),
    (to_revenue, {"window": (9**9, None)}, "has none of its jobs"),
    (to_revenue, {"servers": 1}, "servers=1 are fewer than the 2 users, each owns one"),
    (to_revenue, {"utility": "x"}, "utility='x' is not one of 'linear', 'convex'"),
    (to_revenue, {"chunks": "x"}, "chunks='x' is not one of 'requested', 'drawn'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "name", "least"),
    [(make, name, least) for make, names in LEAST for name, least in names.items()],
)
def test_numbers_are_whole_and_not_too_small(
    make: Callable[..., Any], name: str, least: int
) -> None:
    with pytest.raises(ValueError, match=f"^{name}={least - 1} is below {least}$"):
        make(**{name: least - 1})
    for value in (2.5, True, None if name == "seed" else "2"):
        with pytest.raises(TypeError, match=f"^{name}={value!r} is not an integer$"):
            make(**{name: value})


@pytest.mark.parametrize(("make", "change", "message"), WRONG)
def test_what_cannot_be_made_is_refused(
    make: Callable[..., Any], change: dict[str, Any], message: str
) -> None:
    if isinstance(make, partial) and make.args and {"cluster", "instance"} & change.keys():
        make = make.func
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        make(**change)
