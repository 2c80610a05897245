"""Every kind of wrong field is refused by name, value and rule; what is right stays as given."""

import dataclasses
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
    "cluster empty": (lambda: Cluster(()), ValueError, "nodes=() is empty, a cluster has at least"),
    "cluster type": (lambda: Cluster([4]), TypeError, "cluster: nodes[0]=4 is not a Node"),
    "cluster text": (lambda: Cluster("n0"), TypeError, "nodes='n0' is not a sequence of Node"),
    "cluster twice": (
        lambda: Cluster((NODE, NODE)),
        ValueError,
        "cluster: node id 'n0' occurs 2 times, ids are unique",
    ),
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
    "instance after": (
        lambda: Instance(CLUSTER, (job(after=["b"]),)),
        ValueError,
        "job 'a': after has 'b', which is no job of the instance",
    ),
    "instance ring": (
        lambda: Instance(
            CLUSTER,
            [job(id=one, after=tuple(after)) for one, *after in ("xa", "ac", "cdb", "b", "da")],
        ),
        ValueError,
        "job 'a': after=('c',), it waits for itself by 'c', 'd'",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), WRONG.values(), ids=WRONG)
def test_wrong_fields_are_refused_by_name_value_and_rule(
    make: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make()


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
