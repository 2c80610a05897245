"""Rules in machine code against the same policies in Python, on contended clusters."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Literal

import numpy as np
import pytest

from few import first
from gangsched.analysis.driving.drive import interrupted_run
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.registry import policy
from gangsched.solvers import Fifo, YarnCs
from gangsched.solvers.policies.themis.policy import Themis
from gangsched.solvers.policy import Decision, Rules, State
from reference_driver import drive

POLICIES = ["yarn-cs", "yarn-cs:backfill", "hived", "hived:backfill", "themis"]
POLICIES += ["max-min-fairness"]
#: those that keep records of their own, beside the machine
RECORDS = ["easy", "easy:estimates", "conservative", "conservative:estimates"]
RECORDS += ["serverfilling-srpt", "isolation-area", "smallest-area"]
RULES: list[dict[str, Any]] = [
    {},
    {"spread": True, "patience": 1_800, "lease": 300},
    {"synchronous": False, "lease": 480, "patience": 0},
    {"round_length": 7, "lease": 70, "overhead": 3, "patience": None},
]


def contended(seed: int, *, users: int, nodes: int, size: int) -> Instance[Job]:
    """Sixty jobs that come twice as fast as the cluster can serve them, some wider than a node."""
    rng = np.random.default_rng(seed)
    gangs = rng.choice([1, 1, 1, 2, 2, 3, 4, size, size + 1, 2 * size], 60)
    work = rng.integers(60, 7_200, 60)
    span = int((gangs * work).sum() / (2 * nodes * size))
    jobs = [
        Job(
            id=f"j{i}",
            gpus=int(gangs[i]),
            work=int(work[i]),
            release=int(rng.integers(0, span)),
            user=f"u{rng.integers(users)}" if users else "",
        )
        for i in range(60)
    ]
    weights = [User(f"u{u}", float(rng.choice([1.0, 2.5, 0.7]))) for u in range(users)]
    return Instance(Cluster.uniform(nodes=nodes, gpus_per_node=size), jobs, weights)


CLUSTERS = [(4, 6, 8), (3, 12, 4), (0, 4, 8), (7, 9, 2)]


def on_models(instance: Instance[Job], seed: int) -> Instance[Job]:
    """The same on nodes of three GPU models, with speeds of three kinds and none, and weights."""
    rng = np.random.default_rng(seed)
    names = ["old", "mid", "new"]
    nodes = instance.cluster.nodes
    cluster = Cluster([replace(node, model=names[n % 3]) for n, node in enumerate(nodes)])
    kinds: list[dict[str, float]] = [
        {"old": 1.0, "mid": 1.5, "new": 4.0}, {"old": 1.0, "mid": 1.25}, {"new": 2.0}, {},
    ]  # fmt: skip
    jobs = [
        replace(job, speeds=kinds[rng.integers(4)], weight=float(rng.choice([1.0, 1.0, 0.3])))
        for job in instance.jobs
    ]
    return Instance(cluster, jobs, instance.users)


def number_of(run: Run, kind: EventKind) -> int:
    return int(np.count_nonzero(run.events.kind == kind))


def assert_all_ways_agree(instance: Instance[Job], name: str, rules: dict[str, Any]) -> Run:
    """Of both engines, and of a run in two parts."""
    run = drive(instance, policy(name)[1], **rules)
    assert run == drive(instance, policy(name)[1], engine="reference", **rules)
    assert number_of(run, EventKind.FINISH) == 60 - len(run.rejected)
    part = drive(instance, policy(name)[1], until=run.now // 3, **rules)
    assert run == drive(instance, policy(name)[1], resume=part.checkpoint, **rules)
    return run


@pytest.mark.parametrize("name", [*POLICIES, *RECORDS])
@pytest.mark.parametrize(("users", "nodes", "size"), first(2, CLUSTERS))
def test_machine_code_decides_like_python(name: str, users: int, nodes: int, size: int) -> None:
    """Half of the rules on each cluster."""
    for seed, rules in [*enumerate(RULES)][users % 2 :: 2]:
        instance = contended(seed, users=users, nodes=nodes, size=size)
        assert_all_ways_agree(instance, name, rules)


SEVERAL = ["themis", "max-min-fairness", "max-sum-throughput", "smallest-area"]


@pytest.mark.parametrize("name", first(1, SEVERAL))
@pytest.mark.parametrize(
    ("users", "nodes", "size"),
    first(1, CLUSTERS),
)
def test_it_does_so_on_several_gpu_models(name: str, users: int, nodes: int, size: int) -> None:
    moves = 0
    for seed, rules in enumerate(RULES):
        instance = on_models(contended(seed, users=users, nodes=nodes, size=size), seed)
        run = assert_all_ways_agree(instance, name, rules)
        moves += number_of(run, EventKind.SUSPEND)
    assert moves > 60


@pytest.mark.parametrize("name", RECORDS)
def test_a_run_that_python_decided_goes_on_in_python(name: str) -> None:
    """As runs of earlier versions, which had no rule for it."""
    own: Any = policy(name)[1]
    kind = type("Former", (type(own),), {"rule": None, "__slots__": ()})
    former = kind(**{field.name: getattr(own, field.name) for field in fields(own) if field.init})
    instance = contended(1, users=3, nodes=4, size=8)
    part = drive(instance, former, until=2_400)
    assert drive(instance, own, resume=part.checkpoint) == drive(instance, own)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_themis_bids_for_what_is_left_of_a_lease(engine: Literal["compiled", "reference"]) -> None:
    """log(1 + L / 60) is above 2 log(1 + L / 240) for L = 60, not for the lease of 900."""
    work = [("a", 2, 60), ("b", 1, 240), ("c", 1, 240)]
    jobs = [Job(id=name, gpus=gang, work=own, release=840) for name, gang, own in work]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    run = drive(instance, Themis(fairness=0.0), engine=engine, overhead=0)
    assert run.records.first.tolist() == [840, 900, 900]


def test_a_run_on_several_gpu_models_can_be_watched_and_stopped() -> None:
    instance = on_models(contended(0, users=0, nodes=6, size=4), 0)
    seen: list[int] = []

    def stop(finished: int, able: int) -> None:
        seen.append(finished)
        if finished > able // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        drive(instance, policy("max-min-fairness")[1], on_progress=stop)
    part = interrupted_run(stopped.value)
    assert len(seen) > 5
    assert part is not None
    assert part.checkpoint is not None
    whole = drive(instance, policy("max-min-fairness")[1])
    assert drive(instance, policy("max-min-fairness")[1], resume=part.checkpoint) == whole


def test_these_clusters_are_contended() -> None:
    """Borrowers are killed, quotas reject, leases are lost."""
    kinds = {EventKind.KILL: 0, EventKind.SUSPEND: 0}
    rejected = 0
    for seed, (users, nodes, size) in enumerate(CLUSTERS):
        instance = contended(seed, users=users, nodes=nodes, size=size)
        for name in POLICIES:
            run = drive(instance, policy(name)[1], **RULES[1])
            rejected += len(run.rejected)
            for kind in kinds:
                kinds[kind] += number_of(run, kind)
    assert kinds[EventKind.KILL] > 20
    assert kinds[EventKind.SUSPEND] > 200
    assert rejected > 20


class Narrowest(YarnCs):
    """Another order, in a class that has YARN-CS's rule."""

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Any:
        return self

    def decide(self, state: State) -> Decision:
        return Decision(order=state.waiting[np.argsort(state.gpus[state.waiting], kind="stable")])


class LastFirst(Fifo):
    """Another order, in a class that has the rule of first in, first out."""

    def decide(self, state: State) -> Decision:
        return Decision(order=state.waiting[::-1])


@pytest.mark.parametrize("kind", [Narrowest, LastFirst])
def test_a_subclass_that_decides_anew_is_asked(kind: type[Any]) -> None:
    instance = contended(0, users=2, nodes=3, size=4)
    runs = [drive(instance, kind(), engine=engine) for engine in ("compiled", "reference")]  # type: ignore[arg-type]
    assert runs[0] == runs[1]
    base = drive(instance, kind.__mro__[1]())
    assert runs[0].records.end.tolist() != base.records.end.tolist()
