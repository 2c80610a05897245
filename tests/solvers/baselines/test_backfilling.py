from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from crowds import crowd
from few import each_seed
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, DeadlineJob, Instance, Job
from gangsched.solvers import Conservative, Easy
from gangsched.solvers.placement import place
from gangsched.solvers.policy import Decision, Preempts, State
from reference_driver import drive

TAU = 60


def many(seed: int, sizes: Sequence[int], jobs: int = 14) -> Instance[Job]:
    span = {"work": (1, 1200), "release": (0, 900)}
    return crowd([3, seed], sizes, jobs, gangs=(1, 1, 2, 2, 3, 4, 8), **span)


def by_release(instance: Instance[Job]) -> list[int]:
    return sorted(range(len(instance.jobs)), key=lambda j: (instance.jobs[j].release, j))


def estimates(instance: Instance[Job], overestimate: float, seed: int) -> list[int]:
    """Estimated run times in rounds."""
    drawn = np.random.default_rng(seed).random(len(instance.jobs))
    return [
        int(-(-np.ceil(job.work * (1 + overestimate * x)) // TAU))
        for job, x in zip(instance.jobs, drawn, strict=True)
    ]


def rounds(seconds: int) -> int:
    return -(-seconds // TAU)


def easy_on_nodes(instance: Instance[Job], wanted: list[int], *, spread: bool) -> list[int]:
    """The definition, whenever a job comes or ends; first rounds of the jobs.

    Where gangs may be anywhere, that is on one pool of GPUs.
    """
    jobs, sizes = instance.jobs, instance.cluster.sizes
    sizes = (sum(sizes),) if spread else sizes
    free, first = list(sizes), [-1] * len(jobs)
    runs: dict[int, tuple[int, dict[int, int]]] = {}  # when they are expected to end

    def change(free: list[int], nodes: dict[int, int], sign: int) -> None:
        for n, gpus in nodes.items():
            free[n] += sign * gpus

    now = -1
    while -1 in first:
        now += 1
        ended = [j for j in runs if first[j] + rounds(jobs[j].work) <= now]
        if not ended and all(rounds(job.release) != now for job in jobs):
            continue
        for j in ended:
            change(free, runs.pop(j)[1], 1)
        shadow, extra = 0, None  # GPUs that are then free beside the head
        for j in by_release(instance):
            if first[j] >= 0 or rounds(jobs[j].release) > now:
                continue
            late = extra is not None and now + wanted[j] > shadow
            room = [*map(min, free, extra)] if late and extra is not None else free
            nodes = place(jobs[j].gpus, room, sizes, spread=spread)
            if nodes is not None:
                first[j], runs[j] = now, (now + wanted[j], nodes)
                change(free, nodes, -1)
                if late and extra is not None:
                    change(extra, nodes, -1)
            elif extra is None:
                for shadow in sorted({end for end, _ in runs.values()}):
                    extra = list(free)
                    for end, held in runs.values():
                        change(extra, held, int(end <= shadow))
                    nodes = place(jobs[j].gpus, extra, sizes, spread=spread)
                    if nodes is not None:
                        change(extra, nodes, -1)
                        break
    return first


def conservative_on_nodes(
    instance: Instance[Job], wanted: list[int], *, spread: bool
) -> tuple[list[int], Any]:
    """First rounds, and those of the first reservations, from a table of free GPUs by round."""
    jobs, sizes = instance.jobs, instance.cluster.sizes
    first, reserved = [-1] * len(jobs), [-1] * len(jobs)
    free = np.tile(sizes, (30 + sum(wanted) + max(rounds(job.release) for job in jobs), 1))
    planned: dict[int, tuple[int, dict[int, int]]] = {}
    runs: dict[int, tuple[int, dict[int, int]]] = {}

    def change(start: int, end: int, nodes: dict[int, int], sign: int) -> None:
        for n, gpus in nodes.items():
            free[start:end, n] += sign * gpus

    now = 0
    while -1 in first:
        for j in [j for j in runs if first[j] + rounds(jobs[j].work) <= now]:
            end, nodes = runs.pop(j)
            change(now, end, nodes, 1)
        for j in by_release(instance):
            if first[j] >= 0 or rounds(jobs[j].release) > now:
                continue
            if j in planned:
                change(planned[j][0], planned[j][0] + wanted[j], planned[j][1], 1)
            for start in [now] if j in planned else range(now, len(free)):
                low = free[start : start + wanted[j]].min(axis=0).tolist()
                nodes_there = place(jobs[j].gpus, low, sizes, spread=spread)
                if nodes_there is not None:
                    # a reservation for now is kept as it is
                    if j not in planned or planned[j][0] > now:
                        planned[j] = start, nodes_there
                    break
            change(planned[j][0], planned[j][0] + wanted[j], planned[j][1], -1)
            reserved[j] = planned[j][0] if reserved[j] < 0 else reserved[j]
        for j in [j for j in planned if planned[j][0] == now]:
            first[j] = now
            runs[j] = now + wanted[j], planned.pop(j)[1]
        now += 1
    return first, reserved


def compressed_on_a_pool(instance: Instance[Job], wanted: list[int]) -> list[int]:
    """First rounds where all reservations move forward, by release, when a job ends early."""
    jobs, count = instance.jobs, len(instance.jobs)
    used = [0] * (30 + sum(wanted) + max(rounds(job.release) for job in jobs))
    planned: list[int | None] = [None] * count

    def change(j: int, start: int, end: int, sign: int) -> None:
        for t in range(start, end):
            used[t] += sign * jobs[j].gpus

    def plan(j: int, now: int) -> None:
        room = instance.cluster.gpus - jobs[j].gpus
        at = next(t for t in range(now, len(used)) if max(used[t : t + wanted[j]]) <= room)
        change(j, at, at + wanted[j], 1)
        planned[j] = at

    for now in range(len(used)):
        early = False
        for j, at in enumerate(planned):
            if at is not None and at + rounds(jobs[j].work) == now and wanted[j] > now - at:
                change(j, now, at + wanted[j], -1)
                early = True
        for j in by_release(instance):
            at = planned[j]
            if at is None and rounds(jobs[j].release) <= now:
                plan(j, now)
            elif at is not None and early and at > now:
                change(j, at, at + wanted[j], -1)
                plan(j, now)
    return [-1 if at is None else at for at in planned]


def driven(instance: Instance[Any], policy: Any, *, each_round: bool = True, **rules: Any) -> Run:
    run = drive(instance, policy, round_length=TAU, **rules)
    assert violations(run, preempts=Preempts.NEVER) == []
    if each_round:
        assert run == drive(instance, policy, round_length=TAU, skip=False, **rules)
    assert run == drive(instance, policy, round_length=TAU, engine="reference", **rules)
    return run


SIZES = [4], [4, 4], [2, 4, 3], [4, 4, 4, 4], [8]


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("overestimate", [0.0, 2.0])
@each_seed(range(15), plain=5)
def test_easy_is_the_textbook(seed: int, overestimate: float, spread: bool) -> None:
    """In the next round the head may have other nodes in view, on several, and others may pass."""
    instance = many(seed, SIZES[seed % 5])
    policy, one = Easy(overestimate=overestimate, seed=seed), len(SIZES[seed % 5]) == 1
    run = driven(instance, policy, each_round=one, spread=spread)
    wanted = estimates(instance, overestimate, seed)
    expected = easy_on_nodes(instance, wanted, spread=spread)
    assert (run.records.first // TAU).tolist() == expected


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("overestimate", [0.0, 2.0])
@each_seed(range(15), plain=5)
def test_conservative_is_a_table_of_rounds(seed: int, overestimate: float, spread: bool) -> None:
    instance = many(seed, SIZES[seed % 5])
    run = driven(instance, Conservative(overestimate=overestimate, seed=seed), spread=spread)
    wanted = estimates(instance, overestimate, seed)
    first, reserved = conservative_on_nodes(instance, wanted, spread=spread)
    assert (run.records.first // TAU).tolist() == first
    assert all(came <= at for came, at in zip(first, reserved, strict=True))
    if overestimate == 0:
        assert first == reserved


@each_seed(range(5))
def test_nothing_is_compressed_where_no_job_ends_early(seed: int) -> None:
    instance = many(seed, [4])
    run = driven(instance, Conservative())
    assert (run.records.first // TAU).tolist() == compressed_on_a_pool(
        instance, estimates(instance, 0.0, seed)
    )


def test_reservations_that_cannot_begin_at_once_stay() -> None:
    """`b` ends 9 rounds early, at 3, and `c` begins; `d`, planned behind it, keeps round 18.

    So there is room for `a` from 9 on, and it comes first when `c` ends early, at 7. With all
    reservations moved forward `d` had got round 9, and `a` came after it.
    """
    rows = [("a", 2, 1, 3), ("b", 2, 3, 0), ("c", 2, 4, 0), ("d", 1, 2, 2)]
    jobs = [Job(id=i, gpus=g, work=w * TAU, release=r * TAU) for i, g, w, r in rows]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    wanted = estimates(instance, 3.0, 1)
    assert wanted == [3, 12, 6, 8]
    run = driven(instance, Conservative(overestimate=3.0, seed=1))
    assert (run.records.first // TAU).tolist() == [7, 0, 3, 8]
    assert compressed_on_a_pool(instance, wanted) == [9, 0, 3, 7]


@dataclass(frozen=True)
class Noting(Easy):
    """Notes the first shadow time of each head, by number of GPUs in consolidated places."""

    name = "easy"  # type: ignore[misc]
    rule = None  # type: ignore[assignment]
    shadow: dict[int, int] = field(default_factory=dict)

    def decide(self, state: State) -> Decision:
        found = super().decide(state)
        started = dict(found.start)  # type: ignore[arg-type]
        left = [int(j) for j in state.waiting if int(j) not in started]
        if left and left[0] not in self.shadow:
            ends = {int(j): dict(state.nodes(int(j))) for j in state.running}
            free = state.free.copy()
            later = []
            for j, nodes in {**ends, **started}.items():
                speed = state.speeds[[j], 0]
                begin = state.now if j in started else int(state.since[j])
                later.append((begin + int(self.seconds(state, np.array([j]), speed)[0]), nodes))
                if j in started:
                    for n, gpus in nodes.items():
                        free[n] -= gpus
            for at in sorted({end for end, _ in later}):
                there = free.copy()
                for end, nodes in later:
                    for n, gpus in nodes.items() if end <= at else ():
                        there[n] += gpus
                if place(int(state.gpus[left[0]]), there.tolist(), state.sizes.tolist()):
                    self.shadow[left[0]] = at
                    break
        return found


@pytest.mark.parametrize("overestimate", [0.0, 2.0])
@each_seed(range(12))
def test_the_head_starts_by_its_first_shadow_time(seed: int, overestimate: float) -> None:
    sizes = [[8, 8], [4, 4, 4, 4], [2, 4, 8], [8]][seed % 4]
    instance, policy = many(seed, sizes, 30), Noting(overestimate=overestimate, seed=seed)
    run = drive(instance, policy, round_length=TAU)
    assert policy.shadow
    for j, at in policy.shadow.items():
        assert run.records.first[j] <= at


def test_jobs_that_take_longer_than_expected_renew_the_reservations() -> None:
    """`a` is spread, and then takes twice as long as its gang on one node."""
    jobs = [
        DeadlineJob(id="x", gpus=1, work=600),
        DeadlineJob(id="y", gpus=1, work=600),
        DeadlineJob(id="a", gpus=2, work=60, split_speed=0.5),
        DeadlineJob(id="b", gpus=2, work=60, release=1),
    ]
    cluster = Cluster.of_sizes([2, 2])
    policies = (Conservative(), Easy(), Conservative(overestimate=1.0))
    for policy in policies:
        driven(Instance(cluster, jobs), policy, spread=True)
    jobs[1] = DeadlineJob(id="y", gpus=2, work=600)
    jobs[2] = DeadlineJob(id="a", gpus=1, work=600)
    jobs.append(DeadlineJob(id="z", gpus=2, work=90, release=10, split_speed=0.3))
    for policy in policies:
        driven(Instance(cluster, jobs), policy, spread=True)


def test_a_reservation_whose_gpus_are_still_held_is_renewed() -> None:
    """Spread gangs at half speed run on: at 900 `b` has its time, but not its GPUs."""
    rows = [("a", 1, 8, 5, 0.5), ("b", 4, 5, 5, 1.0), ("c", 2, 8, 2, 0.5), ("d", 4, 7, 0, 0.5),
            ("e", 1, 8, 1, 1.0), ("f", 3, 7, 0, 1.0)]  # fmt: skip
    jobs = [
        DeadlineJob(id=i, gpus=g, work=w * TAU, release=r * TAU, split_speed=speed)
        for i, g, w, r, speed in rows
    ]
    run = driven(Instance(Cluster.of_sizes([2, 2, 2]), jobs), Conservative(), spread=True)
    assert run.records.first[1] > 900
