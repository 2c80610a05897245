"""UniSched and Chronus, with all their variants, on traces that have no deadlines."""

from __future__ import annotations

import warnings

import pytest

from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError, drive
from gangsched.instances import Cluster, Instance, Job
from gangsched.registry import POLICIES, policy

NAMES = [name for name in POLICIES if name.split(":")[0] in ("unisched", "chronus")]


def plain(*gangs: int, user: str = "") -> list[Job]:
    return [
        Job(id=f"j{i}", gpus=gpus, work=600 + 300 * i, release=60 * i, user=user)
        for i, gpus in enumerate(gangs)
    ]


CASES: dict[str, tuple[Cluster, list[Job]]] = {
    "gangs wider than a node, which must not be split": (
        Cluster.of_sizes([4, 4]),
        plain(6, 3, 5, 3),
    ),
    "one node": (Cluster.of_sizes([8]), plain(3, 8, 2)),
    "one user": (Cluster.of_sizes([4, 4, 4]), plain(3, 4, 1, user="u")),
    "several whole nodes": (Cluster.of_sizes([4, 4, 4]), plain(9, 12, 7)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_all_jobs_finish_or_the_policy_says_in_one_line_why_not(name: str, case: str) -> None:
    cluster, jobs = CASES[case]
    made = policy(name)[1]
    instance, static = Instance(cluster, jobs), name == "unisched:static-profiler"
    if static and len(cluster.nodes) <= 2:
        with pytest.raises((ValueError, PolicyError), match=r"^unisched: profiler_nodes=2 .*$"):
            drive(instance, made)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = drive(instance, made)
    assert violations(run, preempts=made.preempts) == []
    outside = {number for number, _ in run.rejected}
    assert outside == set() or static
    assert [bool(done) for done in run.records.finished] == [
        j not in outside for j in range(len(jobs))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_no_cluster_can_hold_is_rejected_in_one_line(name: str) -> None:
    run = drive(Instance(Cluster.of_sizes([4, 4, 4]), plain(13)), policy(name)[1])
    assert run.rejected == ((0, "job 'j0': gpus=13 exceeds the cluster's 12"),)
