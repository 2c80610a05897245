"""Every kind of wrong field is refused by name, value and rule; what is right stays as given."""

from __future__ import annotations

import dataclasses
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from gangsched.instances import Cluster, Instance, Job, Node, RingJob, User
from strategies import instances, jobs, ring_jobs

NODE, CLUSTER = Node("n0", 8, "v100"), Cluster((Node("n0", 8, "v100"),))
JOB = Job(id="a", gpus=2)
RING = {"id": "r", "gpus": 2, "iterations": 10, "gradient": 0.1, "base_time": 0.2}


def job(**fields: Any) -> Job:
    return Job(**{"id": "a", "gpus": 2, **fields})


def ring(**fields: Any) -> RingJob:
    return RingJob(**{**RING, **fields})


WRONG = {
    "node id type": (lambda: Node(7, 8), TypeError, "node 7: id=7 is not a string"),
    "node id empty": (lambda: Node("", 8), ValueError, "node '': id='' is empty"),
    "node gpus zero": (lambda: Node("n", 0), ValueError, "node 'n': gpus=0 is below 1"),
    "node gpus float": (lambda: Node("n", 8.0), TypeError, "node 'n': gpus=8.0 is not an integer"),
    "node gpus bool": (lambda: Node("n", True), TypeError, "gpus=True is not an integer"),
    "node model type": (lambda: Node("n", 8, None), TypeError, "model=None is not a string"),
    "node ps negative": (lambda: Node("n", 8, ps=-1), ValueError, "node 'n': ps=-1 is below 0"),
    "cluster empty": (lambda: Cluster(()), ValueError, "nodes=() is empty, a cluster has at least"),
    "cluster type": (lambda: Cluster([4]), TypeError, "cluster: nodes[0]=4 is not a Node"),
    "cluster text": (lambda: Cluster("n0"), TypeError, "nodes='n0' is not a sequence of Node"),
    "cluster twice": (
        lambda: Cluster((NODE, NODE)),
        ValueError,
        "cluster: node id 'n0' occurs 2 times, ids are unique",
    ),
    "user weight zero": (
        lambda: User("u", weight=0),
        ValueError,
        "user 'u': weight=0 is not positive",
    ),
    "user weight nan": (lambda: User("u", math.nan), ValueError, "weight=nan is not finite"),
    "user quota": (lambda: User("u", gpus=-1), ValueError, "user 'u': gpus=-1 is below 0"),
    "job id": (lambda: job(id=None), TypeError, "job None: id=None is not a string"),
    "job gpus": (lambda: job(gpus=0), ValueError, "job 'a': gpus=0 is below 1"),
    "job gpus type": (lambda: job(gpus="2"), TypeError, "job 'a': gpus='2' is not an integer"),
    "job user": (lambda: job(user=3), TypeError, "job 'a': user=3 is not a string"),
    "job release": (lambda: job(release=-5), ValueError, "job 'a': release=-5 is below 0"),
    "job release nan": (lambda: job(release=math.nan), TypeError, "release=nan is not an integer"),
    "job work": (lambda: job(work=0), ValueError, "job 'a': work=0 is below 1"),
    "job weight": (lambda: job(weight=-1), ValueError, "job 'a': weight=-1 is not positive"),
    "job weight type": (lambda: job(weight="x"), TypeError, "weight='x' is not a number"),
    "job weight inf": (lambda: job(weight=math.inf), ValueError, "weight=inf is not finite"),
    "job speeds": (lambda: job(speeds=[1]), TypeError, "speeds=[1] is not a mapping of model"),
    "job speed": (
        lambda: job(speeds={"k80": 0}),
        ValueError,
        "job 'a': speeds['k80']=0 is not positive",
    ),
    "job group": (lambda: job(group=b"g"), TypeError, "group=b'g' is not a string"),
    "ring iterations": (lambda: ring(iterations=0), ValueError, "job 'r': iterations=0 is below 1"),
    "ring gradient": (lambda: ring(gradient=-0.5), ValueError, "gradient=-0.5 is not >= 0"),
    "ring base time": (lambda: ring(base_time=0), ValueError, "base_time=0 is not positive"),
    "ring inherits": (lambda: ring(gpus=0), ValueError, "job 'r': gpus=0 is below 1"),
    "instance cluster": (lambda: Instance([NODE], ()), TypeError, "is not a Cluster"),
    "instance jobs": (lambda: Instance(CLUSTER, JOB), TypeError, "is not a sequence of Job"),
    "instance job": (lambda: Instance(CLUSTER, [NODE]), TypeError, "instance: jobs[0]=Node("),
    "instance slot": (lambda: Instance(CLUSTER, (), slot=0), ValueError, "slot=0 is below 1"),
    "instance name": (lambda: Instance(CLUSTER, (), name=1), TypeError, "name=1 is not a string"),
    "instance job twice": (
        lambda: Instance(CLUSTER, (JOB, JOB)),
        ValueError,
        "instance: job id 'a' occurs 2 times, ids are unique",
    ),
    "instance user twice": (
        lambda: Instance(CLUSTER, (), (User("u"), User("u"))),
        ValueError,
        "instance: user id 'u' occurs 2 times",
    ),
    "instance kinds": (
        lambda: Instance(CLUSTER, (JOB, ring())),
        TypeError,
        "jobs are of kinds Job, RingJob, one kind is allowed",
    ),
    "instance user": (
        lambda: Instance(CLUSTER, (JOB,), (User("u"),)),
        ValueError,
        "job 'a': user='' is not a user of the instance",
    ),
    "instance pin": (
        lambda: Instance(CLUSTER, (job(pin="k80"),)),
        ValueError,
        "job 'a': pin='k80' is not a model of the cluster",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), WRONG.values(), ids=WRONG)
def test_wrong_fields_are_refused_by_name_value_and_rule(
    make: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make()


PLAIN = {"gpus": 2, "user": "u", "release": 0, "work": 9, "weight": 1.0}
ALONE_WRONG = [
    ("id", "", "is empty"),
    *((name, 3, "is not a string") for name in ("id", "user", "group", "pin")),
    *((name, 2.0, "is not an integer") for name in ("gpus", "release", "work")),
    *((name, -1, "is below") for name in ("gpus", "release", "work")),
    *((name, 10**4200, "has more than") for name in ("gpus", "release", "work")),
    ("weight", 0.0, "is not positive"),
    ("weight", math.inf, "is not finite"),
    ("weight", math.nan, "is not finite"),
    ("speeds", [], "is not a mapping"),
    ("speeds", {"k80": -1}, "is not positive"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"), ALONE_WRONG, ids=[f"{n} {m}" for n, _, m in ALONE_WRONG]
)
def test_a_wrong_field_is_refused_where_all_others_are_plain(
    name: str, value: Any, message: str
) -> None:
    assert job(**PLAIN).speeds == {}
    with pytest.raises((TypeError, ValueError), match=message):
        job(**{**PLAIN, name: value})


def test_the_smallest_instances_are_legal() -> None:
    assert Instance(CLUSTER, ()).jobs == ()
    assert Instance(CLUSTER, [job(pin="v100", user="u")], [User("u")]).jobs[0].pin == "v100"


def test_numpy_numbers_become_plain_ones() -> None:
    made = job(gpus=np.int64(4), weight=np.float32(0.5), release=np.int32(7))
    assert [type(x) for x in (made.gpus, made.release, made.weight)] == [int, int, float]


def test_records_cannot_be_changed() -> None:
    speeds = {"v100": 2.0}
    made = job(speeds=speeds)
    speeds["v100"] = 3.0
    assert made.speeds["v100"] == 2.0
    with pytest.raises(TypeError, match="does not support item assignment"):
        made.speeds["v100"] = 1.0  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError, match="gpus"):
        made.gpus = 1  # type: ignore[misc]


@given(jobs() | ring_jobs())
def test_equal_jobs_hash_alike_and_survive_pickling(one: Job) -> None:
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)
    assert type(again) is type(one)


@given(instances())
def test_instances_survive_pickling(instance: Instance[Any]) -> None:
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_a_ring_job_is_not_the_job_it_extends() -> None:
    assert ring() != Job(id="r", gpus=2)


def test_clusters_from_sizes() -> None:
    cluster = Cluster.of_sizes([4, 8, 2], model="p100")
    assert [(n.id, n.gpus, n.model) for n in cluster.nodes] == [
        ("n0", 4, "p100"),
        ("n1", 8, "p100"),
        ("n2", 2, "p100"),
    ]
    assert cluster.gpus == 14
    assert Cluster.uniform(nodes=3, gpus_per_node=2) == Cluster.of_sizes([2, 2, 2])
