"""Why jobs waited, against a second implementation that goes second by second."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from crowds import crowd
from gangsched import Cluster, Instance, Job, drive
from gangsched.analysis.driving import waits
from gangsched.analysis.driving.metrics.users import user_fair_time
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.analysis.driving.waits import REASONS, longest_waits
from gangsched.instances import Schedule, Segment, User
from gangsched.registry import policy
from gangsched.solvers import Fifo
from idling import fits_somewhere

POLICIES = ("fifo", "srtf", "ltgf", "tiresias-l", "themis-greedy", "gandiva-fair", "smallest-area")
RULES = {"round_length": 5, "lease": 20, "overhead": 3}


def nine_gpus(seed: int, *, models: bool = False) -> Instance[Job]:
    """Ten jobs of three users on nine GPUs of nodes of 4, 4 and 1."""
    return crowd(
        seed, [(4, "a"), (4, "ab"[models]), (1, "a")], 10, gangs=(1, 1, 2, 3, 4), work=(5, 40),
        release=(0, 30), users=[User(id=name) for name in "uvw"],
        speeds=[{"a": 1.0}, {"a": 1.0, "b": 0.5}] if models else [{}],
    )  # fmt: skip


def second_by_second(run: Run, job: int) -> Counter[str]:
    """The reasons of one job, by their definitions."""
    found: Counter[str] = Counter()
    rows, rules, instance = run.records, run.rules, run.require_instance()
    me, cluster = instance.jobs[job], instance.cluster.nodes
    segments = list(run.schedule)
    starts = [s.start for s in segments if s.job == job]
    undone = {
        int(t) for t, k in zip(run.events.time, run.events.kind, strict=True)
        if k in (EventKind.SUSPEND, EventKind.KILL)
    }  # fmt: skip
    end = int(rows.end[job]) if rows.end[job] >= 0 else run.now
    able = [me.speed_on_model(n.model) > 0 for n in cluster]
    cuts = sorted({x for s in segments for x in (s.start, s.end)})
    since: int | None = None
    for t in range(me.release, end):
        held = {s.job: s for s in segments if s.start <= t < s.end}
        if job in held:
            since = None
            continue
        if t < rows.visible[job]:
            found["round"] += 1
            continue
        free = [n.gpus for n in cluster]
        for s in held.values():
            for node, gpus in s.gpus.items():
                free[node] -= gpus
        fits = any(
            fits_somewhere(
                me.gpus,
                [f for f, n in zip(free, cluster, strict=True) if n.model == model],
                [n.gpus for n in cluster if n.model == model],
            )
            for model in {n.model for n, a in zip(cluster, able, strict=True) if a}
        )
        total = sum(f for f, a in zip(free, able, strict=True) if a)
        since = (t if since is None else since) if fits else None
        if since is not None:
            decided = -(-since // rules.round_length) * rules.round_length
            found["round" if t < decided else "policy"] += 1
            continue
        if total >= me.gpus:
            found["fragmentation"] += 1
            continue
        later = sum(
            g for s in held.values() for n, g in s.gpus.items()
            if (instance.jobs[s.job].release, s.job) > (me.release, job) and able[n]
        )  # fmt: skip
        mine = sum(
            sum(s.gpus.values()) for s in held.values() if instance.jobs[s.job].user == me.user
        )
        after = [s for s in starts if s > t]
        until = min(after) if after else end
        before = [s.end for s in segments if s.job == job and s.end <= t]
        lease = until - rules.lease_length
        begin = max([int(rows.visible[job]), *before])
        edges = sorted({begin, max(begin, lease), until, *(c for c in cuts if begin < c < until)})
        low, high = max(x for x in edges if x <= t), min(x for x in edges if x > t)
        fair = np.diff(user_fair_time(run, [low, high])[rows.user[job]])[0] / (high - low)
        if after and until in undone and t >= lease:
            found["lease"] += 1
        elif total + later < me.gpus:
            found["no room"] += 1
        elif mine + me.gpus > fair + 1e-6:
            found["fairness"] += 1
        else:
            found["order"] += 1
    return found


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("models", [False, True])
def test_reasons_are_those_of_every_second(name: str, models: bool) -> None:
    seen: Counter[str] = Counter()
    for seed in range(2):
        run = drive(nine_gpus(seed, models=models), policy(name)[1], **RULES)
        waits = longest_waits(run, 12)
        assert [w.seconds for w in waits] == sorted((w.seconds for w in waits), reverse=True)
        for wait in waits:
            assert list(wait.reasons) == list(REASONS)
            assert sum(wait.reasons.values()) == wait.seconds
            expected = second_by_second(run, wait.job)
            assert {k: s for k, s in wait.reasons.items() if s} == dict(expected)
            assert wait.reasons[wait.main] == max(wait.reasons.values())
            seen.update(expected)
    assert len(seen) >= 3


def test_every_reason_occurs() -> None:
    seen: Counter[str] = Counter()
    for name in POLICIES:
        for seed in range(8):
            for wait in longest_waits(drive(nine_gpus(seed), policy(name)[1], **RULES)):
                seen.update({k: s for k, s in wait.reasons.items() if s})
    assert set(seen) == set(REASONS) - {"predecessors"}


def test_an_unfinished_run_counts_up_to_now() -> None:
    jobs = [Job(id=i, gpus=1, work=100) for i in "ab"]
    run = drive(Instance(Cluster.of_sizes([1]), jobs), Fifo(), until=60)
    (wait,) = longest_waits(run)
    assert (wait.job, wait.seconds, wait.spells, wait.main) == (1, 60, ((0, 60),), "no room")


def test_gangs_that_may_spread_are_not_fragmented() -> None:
    jobs = [Job(id=i, gpus=g, work=50) for i, g in (("a", 1), ("b", 1), ("c", 2))]
    for spread, reason in ((False, 50), (True, 0)):
        instance = Instance(Cluster.of_sizes([2, 2]), jobs)
        run = drive(instance, Fifo(), spread=spread)
        waits = {run.records.id[w.job]: w.reasons for w in longest_waits(run)}
        assert waits.get("c", {"fragmentation": 0})["fragmentation"] in (0, reason)


def test_segments_may_stand_in_any_order() -> None:
    run = drive(nine_gpus(3), policy("srtf")[1], **RULES)
    mixed = np.random.default_rng(0).permutation(len(run.schedule)).tolist()
    schedule = Schedule.of(list(run.schedule)[i] for i in mixed)
    assert np.any(np.diff(schedule.end) < 0)
    assert longest_waits(replace(run, schedule=schedule)) == longest_waits(run)


def test_few_jobs_at_a_time_have_the_same_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    run = drive(nine_gpus(1), policy("ltgf")[1], **RULES)
    whole = longest_waits(run, 10)
    assert len(whole) > 3
    monkeypatch.setattr(waits, "CELLS", 1)
    assert longest_waits(run, 10) == whole


def test_a_run_that_holds_more_than_there_is_has_its_reasons_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jobs = [Job(id=i, gpus=g, work=100) for i, g in (("a", 2), ("b", 2), ("c", 1))]
    run = drive(Instance(Cluster.of_sizes([2]), jobs), Fifo())
    two = [Segment(job=j, start=0, end=100, gpus={0: 2}) for j in range(2)]
    last = Segment(job=2, start=240, end=340, gpus={0: 1})
    both = replace(run, schedule=Schedule.of([*two, last]))
    (wait,) = longest_waits(both, 1)
    assert {k: s for k, s in wait.reasons.items() if s} == dict(second_by_second(both, wait.job))
    monkeypatch.setattr(waits, "SLOTS", 0)
    six = [Segment(job=j % 3, start=0, end=100, gpus={0: 1}) for j in range(6)]
    with pytest.raises(ValueError, match="many more GPUs at once than there are"):
        longest_waits(replace(run, schedule=Schedule.of(six)))


def test_wrong_calls() -> None:
    run = drive(Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1, work=5)]), Fifo())
    assert longest_waits(run) == ()
    with pytest.raises(ValueError, match="most=0 is not positive"):
        longest_waits(run, 0)
