"""What restricts a job when it is driven: pods, predecessors, and limits that users asked for.

Starts are compared with those of plain simulations that step from second to second.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from few import each_seed
from gangsched import registry
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.metrics.jobs import fair_times
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.waits import longest_waits
from gangsched.analysis.show.replay_tables import legend
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.instances.io import instance_hash
from gangsched.solvers import Conservative, Easy, Fifo
from gangsched.solvers.placement import place
from reference_driver import drive

#: GPUs by node, or None where there is no room
Place = Callable[[Job, list[int]], dict[int, int] | None]


def crowd(seed: int, sizes: tuple[int, ...] = (4, 8), jobs: int = 10) -> Instance[Job]:
    """Jobs of two users in any order, with pods, limits and predecessors."""
    rng = np.random.default_rng([17, seed])
    made = []
    for k in range(jobs):
        gpus = int(rng.choice([1, 2, 3, 4, 6, 8]))
        pods = [pod for pod in range(1, min(gpus, max(sizes)) + 1) if gpus % pod == 0]
        ahead = rng.choice(k, size=min(k, int(rng.choice([0, 0, 1, 2]))), replace=False)
        made.append(
            Job(
                id=f"j{k}",
                gpus=gpus,
                user=str(rng.choice(["ann", "bob"])),
                pod=int(rng.choice(pods)),
                after=[f"j{i}" for i in ahead],
                limit=int(rng.integers(1, 40)),
                work=int(rng.integers(1, 30)),
                release=int(rng.integers(0, 40)),
            )
        )
    order = rng.permutation(jobs)
    return Instance(Cluster.of_sizes(sizes), [made[k] for k in order], [User("ann"), User("bob")])


def pooled(job: Job, free: list[int]) -> dict[int, int] | None:
    """A place on one pool."""
    return {0: job.gpus} if job.gpus <= free[0] else None


def in_pods(job: Job, free: list[int]) -> dict[int, int] | None:
    """The node with most room first, but all that is left where it fits most tightly."""
    taken: dict[int, int] = {}
    while missing := job.gpus - sum(taken.values()):
        room = {n: own // job.pod * job.pod for n, own in enumerate(free) if n not in taken}
        holding = [n for n in room if room[n] >= missing]
        best = min(holding, key=lambda n: free[n]) if holding else max(room, key=lambda n: room[n])
        if not room[best]:
            return None
        taken[best] = min(missing, room[best])
        if len(taken) == len(free) and sum(taken.values()) < job.gpus:
            return None
    return taken


def by_hand(instance: Instance[Job], sizes: list[int], where: Place, *, easy: bool) -> list[int]:
    """First seconds under strict FIFO, or EASY on one pool by limits, second by second."""
    jobs, first = {job.id: job for job in instance.jobs}, dict[str, int]()
    number = {id: k for k, id in enumerate(jobs)}
    held: dict[str, dict[int, int]] = {}
    now = -1
    while len(first) < len(jobs):
        now += 1
        end = {id: first[id] + (jobs[id].work or 0) for id in first}
        held = {id: nodes for id, nodes in held.items() if end[id] > now}
        free = [size - sum(own.get(n, 0) for own in held.values()) for n, size in enumerate(sizes)]
        ready = {
            id: max([job.release, *(end[other] for other in job.after)])
            for id, job in jobs.items()
            if id not in first and all(other in end for other in job.after)
        }
        head, shadow, extra = "", now, 0
        for id in sorted(
            (i for i in ready if ready[i] <= now), key=lambda i: (ready[i], number[i])
        ):
            job, nodes = jobs[id], where(jobs[id], free)
            late = now + (job.limit or 0) > shadow
            if head and late and job.gpus > extra:
                continue
            if nodes is not None:
                first[id], held[id] = now, nodes
                free = [own - nodes.get(n, 0) for n, own in enumerate(free)]
                extra -= job.gpus if late else 0
            elif not easy:
                break
            elif not head:
                head, extra = id, sum(free)
                expected = {i: max(first[i] + (jobs[i].limit or 0), now + 1) for i in held}
                for shadow in sorted({*expected.values()}):
                    extra = sum(free) + sum(jobs[i].gpus for i in held if expected[i] <= shadow)
                    if extra >= job.gpus:
                        break
                extra -= job.gpus
    return [first[id] for id in jobs]


@each_seed(range(100), plain=20)
def test_easy_plans_with_limits_and_jobs_come_when_others_have_ended(seed: int) -> None:
    made = crowd(seed)
    loose = replace(made, jobs=[replace(job, pod=0) for job in made.jobs])
    for cluster, spread in ((Cluster.of_sizes([12]), False), (made.cluster, True)):
        run = drive(replace(loose, cluster=cluster), Easy(), round_length=1, spread=spread)
        assert violations(run) == []
        assert run.records.first.tolist() == by_hand(loose, [12], pooled, easy=True)
    again = drive(loose, Easy(), engine="reference", round_length=1, spread=True, skip=False)
    assert again.digest() == run.digest()


@each_seed(range(100), plain=20)
def test_pods_are_placed_as_tightly_as_they_fit(seed: int) -> None:
    made = crowd(seed, (4, 8, 4))
    run = drive(made, Fifo(), round_length=1)
    assert violations(run) == []
    assert run.records.first.tolist() == by_hand(made, [4, 8, 4], in_pods, easy=False)


def restricted(run: Run, instance: Instance[Any]) -> None:
    """Nodes give whole pods, and nobody starts before the ends of whom it waits for."""
    number = {job.id: k for k, job in enumerate(instance.jobs)}
    for row in run.schedule:
        job = instance.jobs[row.job]
        assert sum(row.gpus.values()) == job.gpus
        assert not job.pod or all(gpus % job.pod == 0 for gpus in row.gpus.values())
        assert all(0 <= run.records.end[number[id]] <= row.start for id in job.after)


@pytest.mark.parametrize("name", sorted(registry.POLICIES.keys() - set(registry.EARNING)))
def test_all_policies_keep_to_pods_and_predecessors(name: str) -> None:
    for seed, sizes in enumerate([(8, 8), (4, 4, 4)]):
        made = crowd(seed, sizes)
        long = [replace(j, work=60 * (j.work or 0), limit=60 * (j.limit or 0)) for j in made.jobs]
        policy = registry.policy(name)[1]
        try:
            runs = [
                drive(replace(made, jobs=long), policy, engine=engine, overhead=0)
                for engine in ("compiled", "reference")
            ]
        except (ValueError, PolicyError) as error:
            if not re.search("leave no node|takes no notice of pods|NeverEnds", str(error)):
                raise
            continue
        assert runs[0].digest() == runs[1].digest()
        assert violations(runs[0], preempts=policy.preempts) == []
        assert np.allclose(fair_times(runs[0])[1], runs[0].records.fair_before)
        profiles = runs[0].information == "profiled" or getattr(policy, "profiles", False)
        if not profiles:
            restricted(runs[0], replace(made, jobs=long))


@each_seed(range(60), plain=15)
def test_conservative_keeps_pods_and_predecessors_with_limits_too_short(seed: int) -> None:
    made = crowd(seed)
    runs = [
        drive(made, Conservative(), engine=engine, round_length=1, spread=seed % 2 > 0, skip=skip)
        for engine, skip in (("compiled", True), ("reference", False))
    ]
    assert runs[0].digest() == runs[1].digest()
    assert violations(runs[0]) == []
    restricted(runs[0], made)


def test_whoever_is_rejected_holds_nobody_but_whom_it_waited_for_does() -> None:
    jobs = [
        Job(id="a", gpus=2, work=50),
        Job(id="wide", gpus=8, pod=8, work=50, after=["a"]),
        Job(id="b", gpus=1, work=50, after=["wide"]),
    ]
    run = drive(Instance(Cluster.of_sizes([4, 4]), jobs), Fifo(), round_length=1)
    assert run.rejected == ((1, "job 'wide': its 1 pod of 8 GPUs do not fit the nodes"),)
    assert run.records.first.tolist() == [0, -1, 50]
    assert violations(run) == []
    assert longest_waits(run)[0].reasons["predecessors"] == 50


def test_a_run_of_others_breaks_pods_and_precedence() -> None:
    """A run is looked at as one of jobs that are restricted, which it does not know."""
    jobs = [Job(id="a", gpus=8, work=90), Job(id="b", gpus=2, work=60), Job(id="c", gpus=1, work=5)]
    made = Instance(Cluster.of_sizes([6, 6]), jobs)
    run = drive(made, Fifo(), spread=True)
    told = [replace(jobs[0], pod=4), replace(jobs[1], after=["a"]), replace(jobs[2], after=["b"])]
    other = replace(made, jobs=told)
    wrong = replace(run, instance=other, instance_hash=instance_hash(other))
    assert [line.partition(" from")[0] for line in violations(wrong) if "visible" not in line] == [
        "precedence: job 'b' starts at 0, job 'a' before it ends at 90",
        "precedence: job 'c' starts at 0, job 'b' before it ends at 60",
    ]
    pods = replace(made, jobs=[told[0], *jobs[1:]])
    wrong = replace(run, instance=pods, instance_hash=instance_hash(pods))
    assert violations(wrong) == ["pod: job 'a' in pods of 4 GPUs has {0: 6, 1: 2} from 0"]


@pytest.mark.parametrize("spread", [False, True])
def test_pods_take_the_fewest_nodes_that_hold_them(spread: bool) -> None:
    """The least number of nodes is that of the largest capacities, whatever is free."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        free = rng.integers(0, 9, size=4).tolist()
        pod, pods = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        found = place(pod * pods, free, [8] * 4, spread=spread, pod=pod)
        room = sorted((own // pod for own in free), reverse=True)
        least = next((k for k in range(1, 5) if sum(room[:k]) >= pods), None)
        assert (found and len(found)) == least
        if found:
            assert sum(found.values()) == pod * pods
            assert all(own % pod == 0 and own <= free[n] for n, own in found.items())


def test_a_replay_says_who_plans_with_limits_and_what_bounds_take_no_notice_of() -> None:
    made = crowd(1)
    names = ["fifo", "easy", "easy:told", "easy:estimates"]
    found = gs.replay(made, names)
    assert [row.information for row in found.rows] == ["unknown", "limits", "known", "estimated"]
    said = " ".join(legend(found))
    assert "plan with the run times that users asked for: easy;" in said
    pods = sum(0 < job.pod < job.gpus for job in made.jobs)
    after = sum(bool(job.after) for job in made.jobs)
    assert f"Policies obey pods of {pods} jobs and predecessors of {after} jobs" in said
    assert not found.fairness
    known = gs.replay(replace(made, jobs=[Job(id="a", gpus=1, work=5, user="ann")]), ["easy"])
    said = " ".join(legend(known))
    assert "easy: run times known, as jobs have no limits of their users." in said
    assert "Policies obey" not in said
