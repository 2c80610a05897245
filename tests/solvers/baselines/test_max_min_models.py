"""Max-min fairness on several GPU models: the program of classes, and leases that follow it."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from driven import Case, mixed_cases
from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.solvers.growing import longer
from gangsched.solvers.policies.gavel.max_min_fairness import (
    MaxMinFairness,
    class_fractions,
)
from gangsched.solvers.policies.gavel.model_leases import Received
from gangsched.solvers.policy import Rules, Session


def test_what_is_left_goes_where_it_is_worth_most() -> None:
    """One job always runs on its only GPU; of two others one gains from the free GPUs more."""
    x = class_fractions([[1, 0], [1, 2], [1, 6]], [1, 1, 1], [1, 1, 1], [1, 2])
    assert x.round(6).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_two_jobs_take_turns_on_the_fast_gpu_by_hand() -> None:
    """With y of the V100 for a, (1 + y/4) / (9/8) = (5 - 4 y) / 3 at y = 1/2: both have 1."""
    x = class_fractions([[1, 1.25], [1, 5]], [1, 1], [1, 1], [1, 1])
    assert x == pytest.approx(np.full((2, 2), 0.5), abs=1e-6)


def test_no_classes() -> None:
    assert class_fractions(np.zeros((0, 2)), np.zeros(0, int), [], [1, 1]).shape == (0, 2)


# --- leases ---------------------------------------------------------------------------------------


def mixed(*parts: tuple[str, int]) -> Cluster:
    return Cluster([Node(f"n{i}", gpus, model) for i, (model, gpus) in enumerate(parts)])


def held(run: Any, instance: Instance[Any], until: int) -> dict[tuple[str, str], int]:
    """Seconds on each model, by job and model, before a time."""
    total: dict[tuple[str, str], int] = defaultdict(int)
    for row in run.schedule:
        model = instance.cluster.nodes[next(iter(row.gpus))].model
        total[instance.jobs[row.job].id, model] += max(0, min(row.end, until) - row.start)
    return total


def test_leases_follow_the_fractions() -> None:
    cluster = mixed(("k80", 1), ("v100", 1))
    jobs = [
        Job(id=id, gpus=1, work=60_000, speeds={"k80": 1, "v100": fast})
        for id, fast in (("a", 1.25), ("b", 5))
    ]
    instance = Instance(cluster, jobs)
    found = held(drive(instance, MaxMinFairness(), lease=60, overhead=0), instance, 6000)
    assert found == {(i, m): 3000 for i in "ab" for m in ("k80", "v100")}


def test_a_job_left_alone_moves_to_the_faster_gpu() -> None:
    """a must leave the V100, to which b is pinned, and comes back at the lease after b's end."""
    cluster = mixed(("k80", 1), ("v100", 1))
    jobs = [
        Job(id="a", gpus=1, work=3000, speeds={"k80": 1, "v100": 2}),
        Job(id="b", gpus=1, work=800, speeds={"v100": 4}, pin="v100"),
    ]
    run = drive(Instance(cluster, jobs), MaxMinFairness(), lease=600, overhead=0)
    (last,) = [row for row in run.schedule if row.job == 0 and row.end == run.records.end[0]]
    assert list(last.gpus) == [1]
    assert last.start <= run.records.end[1] + 600


def test_a_wide_gang_takes_the_place_of_jobs_that_come_after_it() -> None:
    """Four single jobs hold one GPU of two on each node; the gang of two needs a whole one."""
    cluster = mixed(("k80", 2), ("k80", 2), ("v100", 1))
    speeds = {"k80": 1.0}
    small = [Job(id=f"s{i}", gpus=1, work=w, speeds=speeds) for i, w in enumerate((900, 5, 900, 5))]
    wide = Job(id="w", gpus=2, work=60, release=10, speeds=speeds)
    run = drive(Instance(cluster, [*small, wide]), MaxMinFairness(), lease=120, overhead=0)
    assert run.records.first[-1] == 120
    assert (run.records.end >= 0).all()


def test_free_gpus_go_to_jobs_without_a_fraction_too() -> None:
    """A job that comes within a lease is of no class with fractions: it starts at once."""
    cluster = mixed(("k80", 1), ("v100", 1))
    jobs = [
        Job(id="a", gpus=1, work=900, speeds={"k80": 1, "v100": 2}),
        Job(id="b", gpus=1, work=90, release=60, speeds={"k80": 1, "v100": 3}),
    ]
    run = drive(Instance(cluster, jobs), MaxMinFairness(), lease=600, overhead=0)
    assert run.records.first.tolist() == [0, 60]


class Spy:
    """Max-min fairness that compares what it counted with what has happened."""

    name = "spy"
    preempts = MaxMinFairness.preempts
    session: Any = None

    @property
    def received(self) -> Received:
        received: Received = self.session.received
        return received

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Session:
        self.session = MaxMinFairness().begin(cluster, users, rules)
        self.session.rule = None  # to be asked in Python
        return self.session


@settings(deadline=None, max_examples=40)
@given(case=mixed_cases())
def test_time_on_each_model_is_what_the_schedule_says(case: Case) -> None:
    models = list(dict.fromkeys(node.model for node in case.instance.cluster.nodes))
    spy = Spy()
    if len(models) == 1:
        return
    run = drive(case.instance, spy, **case.rules)
    expected = np.zeros((len(case.instance.jobs), len(models)), dtype=np.int64)
    for row in run.schedule:
        model = case.instance.cluster.nodes[next(iter(row.gpus))].model
        expected[row.job, models.index(model)] += row.end - row.start
    counted = longer(spy.received.seconds, len(expected))[: len(expected)]
    assert (counted <= expected).all()
    # what is not counted was held after the last decision, on one model
    assert ((counted < expected).sum(axis=1) <= 1).all()
