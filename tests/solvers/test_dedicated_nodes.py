"""Nodes that only profile: who queues for them, and that the policy behind has the others alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from crowds import with_deadlines
from driven import profiles
from few import but
from gangsched import registry
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, Instance, Job, Node, Schedule, User
from gangsched.solvers import Profiled, Profiler
from gangsched.solvers.information import PROFILERS
from gangsched.solvers.policy import Decision, Preempts, Rules, Start, State
from reference_driver import drive

SIZES, REST = [4, 4, 4], [4, 4]
workload = partial(with_deadlines, sizes=SIZES, users=[User("u"), User("v", 2.0)])
#: policies that look at no age of a job: by orders, repacking, plans, starts, elastic gangs
ALIKE = (
    *("sjf", "srtf", "easy", "conservative", "smallest-area", "allox", "serverfilling-srpt"),
    *("edf", "hydra", "genie", "genie:elastic", "optimus", "optimus:elastic", "unisched:known"),
)
#: those that do
OTHERS = (
    *("value-density", "themis", "finish-time-fairness", "min-total-duration", "three-sigma"),
    "isolation-area",
)


def setting(name: str, dedicated: int = 1, **more: Any) -> Profiled:
    """A policy on the cluster without its last nodes."""
    return Profiled(policy=registry.policy(name)[1], dedicated=dedicated, **more)


def work(run: Run, number: list[int]) -> list[tuple[Any, ...]]:
    """All but profiling, with other numbers of jobs."""
    known = {(job, start) for job, start, *_ in profiles(run)}
    return sorted(
        (number[row.job], row.start, row.end, sorted(row.gpus.items()))
        for row in run.schedule
        if (row.job, row.start) not in known
    )


# --- the policy has the other nodes, and no others -----------------------------------------------


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_policy_does_as_on_a_smaller_cluster(name: str, seed: int) -> None:
    """With jobs that come there when they have been profiled, and deadlines at the same moments."""
    instance = workload(seed)
    policy = setting(name)
    run = drive(instance, policy)
    known = {job: end for job, _, end, _ in profiles(run)}
    order = sorted(range(len(instance.jobs)), key=lambda j: (instance.jobs[j].release, j))
    later = []
    for j in order:
        job = instance.jobs[j]
        gone = known[j] - job.release
        due = [(at - gone, value) for at, value in job.rewards if at > gone]
        later.append(replace(job, release=known[j], rewards=due))
    smaller = Instance(Cluster.of_sizes(REST), later, instance.users)
    assert work(run, [*range(len(order))]) == work(drive(smaller, policy.policy), order)


@pytest.mark.parametrize("name", but(["three-sigma"], [*ALIKE, *OTHERS]))
def test_both_engines_agree_and_runs_go_on_from_checkpoints(name: str) -> None:
    instance, policy = workload(2), setting(name)
    run = drive(instance, policy)
    assert run.records.finished.all()
    assert violations(run, preempts=policy.preempts) == []
    for segment in run.schedule:
        profile = (segment.job, segment.start) in {(j, at) for j, at, *_ in profiles(run)}
        assert {node >= len(REST) for node in segment.gpus} == {profile}
    assert drive(instance, policy, engine="reference") == run
    if name in ALIKE:
        assert drive(instance, policy, skip=False) == run
    for until in (600, run.now // 2):
        part = drive(instance, policy, until=until)
        again = drive(instance, policy, resume=part.checkpoint)
        assert again.digest() == run.digest()
        assert again == run


def test_two_nodes_of_other_sizes() -> None:
    instance = replace(workload(3), cluster=Cluster.of_sizes([8, 4, 4, 2]))
    for name, spread in product(("srtf", "edf", "hydra", "smallest-area"), (False, True)):
        policy = setting(name, dedicated=2)
        run = drive(instance, policy, spread=spread)
        assert violations(run, preempts=policy.preempts) == []
        assert {n for row in run.schedule for n in row.gpus} == {0, 1, 2, 3}
        assert drive(instance, policy, spread=spread, engine="reference") == run


class Spy:
    """Sjf that notes what it sees of the cluster."""

    name = "spy"
    preempts = Preempts.ALWAYS
    information = "known"

    def __init__(self) -> None:
        self.noted: list[Any] = []
        self.nodes: list[int] = []

    def begin(self, cluster: Cluster, users: Any, rules: Rules) -> Spy:
        self.nodes = list(cluster.sizes)
        return self

    def decide(self, state: State) -> Decision:
        assert state.capacity == state.free.sum() + state.held_gpus[state.preemptible].sum()
        _, node, gpus = state.places(state.running)
        used = np.bincount(node, gpus, minlength=state.sizes.size)
        assert (state.free + used == state.sizes).all()
        self.noted.append(
            (list(state.cluster.sizes), state.sizes.tolist(), state.node_model.tolist(),
             state.quota.tolist(), state.free.size)
        )  # fmt: skip
        order = state.candidates
        return Decision(order=order[np.argsort(state.work[order], kind="stable")])


def test_what_the_policy_sees_of_the_cluster() -> None:
    spy = Spy()
    drive(workload(1), Profiled(policy=spy, dedicated=1))
    assert spy.nodes == REST
    assert len(spy.noted) > 20
    assert all(one == (REST, REST, [0, 0], [8 / 3, 16 / 3], 2) for one in spy.noted)


# --- the queue -----------------------------------------------------------------------------------


def queued(instance: Instance[Any], size: int, profiler: Profiler) -> list[tuple[int, ...]]:
    """Who is profiled when, on one node, by a queue that is walked round by round."""
    waiting = sorted(range(len(instance.jobs)), key=lambda j: (instance.jobs[j].release, j))
    running: list[tuple[int, ...]] = []
    found, now = [], 0
    while waiting:
        running = [one for one in running if one[2] > now]
        while waiting and instance.jobs[waiting[0]].release <= now:
            job = instance.jobs[waiting[0]]
            gpus, seconds = profiler.run(job.gpus, Rules())
            gpus = min(gpus, size)
            if sum(one[3] for one in running) + gpus > size:
                break
            running.append((waiting.pop(0), now, now + seconds, gpus))
            found.append(running[-1])
        now += 60
    return sorted(found)


@pytest.mark.parametrize("profiler", ["unisched", "chronus"])
@pytest.mark.parametrize("name", ["edf", "easy", "genie:elastic"])
def test_jobs_queue_for_the_nodes_by_release_and_nobody_passes(name: str, profiler: str) -> None:
    for seed in range(3):
        instance = workload(seed)
        run = drive(instance, setting(name, profiler=PROFILERS[profiler]))
        assert profiles(run) == queued(instance, SIZES[-1], PROFILERS[profiler])


def test_the_profiler_has_two_jobs_where_a_third_waits_though_the_cluster_is_idle() -> None:
    jobs = [Job(id=i, gpus=2, work=60) for i in "abc"]
    run = drive(Instance(Cluster.of_sizes([8, 4]), jobs), setting("sjf"))
    assert profiles(run) == [(0, 0, 300, 2), (1, 0, 300, 2), (2, 300, 600, 2)]
    assert run.records.end.tolist() == [360, 360, 660]


def test_a_gang_is_profiled_on_as_much_as_the_nodes_have() -> None:
    jobs = [Job(id=str(gpus), gpus=gpus, work=60) for gpus in (12, 5, 3)]
    whole = Profiler(seconds=60, gpus=None)
    cluster = Cluster.of_sizes([4, 4, 4, 4, 2])
    run = drive(Instance(cluster, jobs), setting("sjf", dedicated=2, profiler=whole))
    # 12 and 5 have no consolidated place on nodes of 4 and 2, nor has 6
    assert profiles(run) == [(0, 0, 60, 4), (1, 60, 120, 4), (2, 120, 180, 3)]


# --- what is refused -----------------------------------------------------------------------------


def test_jobs_that_have_no_place_outside_are_rejected() -> None:
    jobs = [Job(id=str(gpus), gpus=gpus, work=60) for gpus in (13, 12, 9, 8, 6)]
    instance = Instance(Cluster.of_sizes([4, 4, 4]), jobs)
    run = drive(instance, setting("sjf"))
    assert dict(run.rejected) == {
        0: "job '13': gpus=13 exceeds the cluster's 12",
        1: "job '12': gpus=12 exceeds the 8 of the nodes that do not only profile",
        2: "job '9': gpus=9 exceeds the 8 of the nodes that do not only profile",
    }
    assert violations(run) == []
    assert run.records.finished.tolist() == [False, False, False, True, True]
    mixed = replace(instance, cluster=Cluster.of_sizes([8, 4, 4, 4]), jobs=instance.jobs[1:])
    why = "has no consolidated place on the nodes that do not only profile"
    assert dict(drive(mixed, setting("sjf")).rejected) == {
        0: f"job '12': gpus=12 {why}", 1: f"job '9': gpus=9 {why}",
    }  # fmt: skip
    assert drive(mixed, setting("sjf"), spread=True).rejected == ()


def test_compared_policies_leave_out_the_same_jobs() -> None:
    jobs = [Job(id=str(gpus), gpus=gpus, work=60) for gpus in (12, 4)]
    found = gs.replay(
        Instance(Cluster.of_sizes([4, 4, 4]), jobs), ["sjf", "sjf:profiled-dedicated-1"]
    )
    assert [[j for j, _ in row.run.rejected] for row in found.rows] == [[0], [0]]


@pytest.mark.parametrize(
    ("cluster", "dedicated", "text"),
    [
        (Cluster.of_sizes([4, 4]), 2, "dedicated=2 leaves none of the 2 nodes"),
        (Cluster([Node(id="k", gpus=4, model="k80"), Node(id="v", gpus=4, model="v100")]), 1,
         "dedicated=1 needs one GPU model, a job that is profiled on one says nothing of others"),
    ],
)  # fmt: skip
def test_clusters_without_a_rest_are_refused(cluster: Cluster, dedicated: int, text: str) -> None:
    instance = Instance(cluster, [Job(id="a", gpus=1, work=60)])
    with pytest.raises(ValueError, match=text):
        drive(instance, setting("sjf", dedicated=dedicated))


# --- the rule of the driver and its checker ------------------------------------------------------


@dataclass
class Fixed:
    """What is decided in the first round; then an order of all that wait."""

    decision: Decision
    name = "fixed"
    preempts = Preempts.NEVER
    dedicated = (1,)

    def decide(self, state: State) -> Decision:
        return self.decision if state.now == 0 else Decision(order=state.waiting)


JOBS = [Job(id=i, gpus=2, work=90) for i in "abc"]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(
    "decision",
    [
        Decision(order=[0, 1, 2]),
        Decision(start=[Start(0), Start(1)], order=[2]),
        Decision(start=[Start(2, {1: 2}, 2, 60), Start(0)], order=[1]),
    ],
)
def test_the_driver_places_nobody_on_dedicated_nodes(decision: Decision, engine: Any) -> None:
    instance = Instance(Cluster.of_sizes([2, 4]), JOBS)
    run = drive(instance, Fixed(decision), engine=engine)
    known = {(job, start) for job, start, *_ in profiles(run)}
    assert len(known) == sum(start.profile > 0 for start in decision.starts)
    for row in run.schedule:
        assert [*row.gpus] == [int((row.job, row.start) in known)]
    assert run.records.end.max() == 3 * 120 - 30


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("start", [Start(0, {1: 2}), (0, {1: 2}), Start(0, {0: 2, 1: 2}, 4)])
def test_nobody_starts_on_dedicated_nodes(start: Any, engine: Any) -> None:
    instance = Instance(Cluster.of_sizes([2, 4]), JOBS)
    with pytest.raises(PolicyError, match="'fixed' at 0: starts job 0 on node 1, which profiles"):
        drive(instance, Fixed(Decision(start=[start])), engine=engine)


def test_the_checker_sees_who_is_on_which_nodes() -> None:
    jobs = [Job(id=i, gpus=2, work=90) for i in "ab"]
    run = drive(Instance(Cluster.of_sizes([4, 4]), jobs), setting("sjf"))
    assert violations(run) == []

    def moved(profile: bool) -> list[str]:
        """What is said where the first profiling run, or the first other one, is elsewhere."""
        rows, known = [*run.schedule], {(job, start) for job, start, *_ in profiles(run)}
        k = next(k for k, row in enumerate(rows) if ((row.job, row.start) in known) == profile)
        rows[k] = replace(rows[k], gpus={1 - next(iter(rows[k].gpus)): 2})
        return violations(replace(run, schedule=Schedule.of(rows)))

    assert moved(True) == [
        "dedicated: job 'a' is profiled on {0: 2} from 0, nodes from 1 on only profile"
    ]
    assert moved(False) == [
        "dedicated: job 'a' runs on {1: 2} from 300, nodes from 1 on only profile"
    ]
    free = replace(run, parameters={**run.parameters, "dedicated": 0})
    assert violations(free) == []


# --- names ---------------------------------------------------------------------------------------


def test_names_have_a_number_of_nodes() -> None:
    name, made = registry.policy("genie:elastic:profiled_dedicated_2")
    assert (name, made.dedicated) == ("genie:elastic:profiled-dedicated-2", 2)
    assert made.policy.elastic
    name, made = registry.policy("srtf:profiled-chronus-dedicated-10")
    assert (made.dedicated, made.profiler) == (10, PROFILERS["chronus"])
    for wrong in ("profiled-dedicated-0", "profiled-dedicated", "estimated-dedicated-1"):
        with pytest.raises(ValueError, match=f"policy 'srtf:{wrong}' is not one of"):
            registry.policy(f"srtf:{wrong}")
    with pytest.raises(ValueError, match="'ltgf' does not use run times"):
        registry.policy("ltgf:profiled-dedicated-1")


def test_the_command_line_takes_the_number_for_all() -> None:
    from gangsched.cli.replay import _policies

    found = _policies("ltgf,srtf,unisched", 0, "profiled_dedicated_3")
    assert [*found] == ["ltgf", "srtf:profiled-dedicated-3", "unisched"]
    assert found["srtf:profiled-dedicated-3"].dedicated == 3
    with pytest.raises(ValueError, match="'estimated-dedicated-3' is not one of known, profiled"):
        _policies("srtf", 0, "estimated-dedicated-3")


def test_a_replay_says_that_nodes_are_dedicated() -> None:
    from gangsched.analysis.show.replay_tables import conditions

    names = ["edf", "edf:profiled", "edf:profiled-dedicated-1"]
    found = gs.replay(workload(4, jobs=8), names)
    known = ["known", "after profiling", "after profiling on dedicated nodes"]
    assert [row.information for row in found.rows] == known
    assert conditions(found).information.endswith(
        "profile new jobs first, and pay for it: edf:profiled; profile new jobs first, on nodes "
        "that do nothing else: edf:profiled-dedicated-1"
    )
    assert found.profiled is not None
    assert len(found.profiled.runs) == 2
