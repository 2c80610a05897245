"""Runs made by hand or at random, without the driver, for tests of what measures and draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gangsched.analysis.driving.run import EventKind, Events, Records, Run
from gangsched.formulations.fair_shares import FairShares
from gangsched.instances import Cluster, Instance, Job, Schedule, Segment, User
from gangsched.instances.io import instance_hash
from gangsched.solvers.policy import Rules
from gangsched.solvers.result import Stop

ROUND = 10
PLAIN = Rules(round_length=ROUND, lease=3 * ROUND, overhead=0)


def stretched(run: Run, factor: int) -> Run:
    """The same run in another unit of time."""
    book, plan = run.records, run.schedule
    names = ("release", "work", "visible", "first", "end", "left")
    times = {n: np.where((c := getattr(book, n)) < 0, c, c * factor) for n in names}
    rules = replace(run.rules, round_length=ROUND * factor, lease=3 * ROUND * factor)
    plan = replace(plan, start=plan.start * factor, end=plan.end * factor)
    book = replace(book, **times)
    return replace(run, records=book, schedule=plan, rules=rules, now=run.now * factor)


def run_of(
    jobs: Sequence[Job],
    segments: Sequence[Segment],
    *,
    sizes: Sequence[int],
    users: Sequence[User] = (),
    rules: Rules = PLAIN,
    now: int | None = None,
    rejected: Mapping[int, str] | None = None,
    policy: str = "hand",
) -> Run:
    """The run with these segments; jobs are complete when they got their work, without `now`.

    Fair times are those of :class:`FairShares`, which the driver uses.
    """
    gone = dict(rejected or {})
    plan = sorted(segments, key=lambda s: (s.start, s.job))
    end, left = _ends(jobs, plan, rules)
    stop = now if now is not None else rules.round_up(max(end, default=0))
    first = [min((s.start for s in plan if s.job == j), default=-1) for j in range(len(jobs))]
    held = [
        sum((s.end - s.start) * sum(s.gpus.values()) for s in plan if s.job == j)
        for j in range(len(jobs))
    ]
    weights = [user.weight for user in users] or [1.0]
    number = {user.id: k for k, user in enumerate(users)} or {"": 0}
    visible = [rules.round_up(job.release) for job in jobs]
    fair, before = _fair(jobs, end, weights, number, rules, sum(sizes), stop, gone)
    records = Records(
        id=tuple(job.id for job in jobs),
        user=np.array([number[job.user] for job in jobs], dtype=np.int64),
        gpus=np.array([job.gpus for job in jobs], dtype=np.int64),
        release=np.array([job.release for job in jobs], dtype=np.int64),
        work=np.array([job.work for job in jobs], dtype=np.int64),
        weight=np.array([job.weight for job in jobs], dtype=float),
        visible=np.array(visible, dtype=np.int64),
        rejected=np.array([j in gone for j in range(len(jobs))], dtype=bool),
        first=np.array(first, dtype=np.int64),
        end=np.array(end, dtype=np.int64),
        starts=np.array([sum(s.job == j for s in plan) for j in range(len(jobs))], dtype=np.int64),
        left=np.array(left, dtype=np.int64),
        held=np.array(held, dtype=np.int64),
        fair=np.array(fair, dtype=float),
        fair_before=np.array(before, dtype=float),
    )
    instance = Instance(Cluster.of_sizes(sizes), jobs, users, name="hand")
    done = all(e >= 0 or j in gone for j, e in enumerate(end))
    return Run(
        policy=policy,
        parameters={},
        rules=rules,
        instance=instance,
        instance_name=instance.name,
        instance_hash=instance_hash(instance),
        seed=None,
        stop=Stop.COMPLETED if done else Stop.ITERATION_LIMIT,
        now=stop,
        sizes=tuple(sizes),
        users=tuple(user.id for user in users),
        user_weight=np.array(weights),
        records=records,
        events=_events(visible, plan, end, stop, gone),
        schedule=Schedule.of(plan),
        rejected=tuple(gone.items()),
        versions={"gangsched": "test"},
    )


def _ends(
    jobs: Sequence[Job], plan: Sequence[Segment], rules: Rules
) -> tuple[list[int], list[int]]:
    end, left = [-1] * len(jobs), [int(job.work or 0) for job in jobs]
    starts = [0] * len(jobs)
    for s in plan:
        left[s.job] -= s.end - s.start - (rules.overhead if starts[s.job] else 0)
        starts[s.job] += 1
        assert left[s.job] >= 0, f"job {s.job} runs for too long"
        if left[s.job] == 0:
            end[s.job] = s.end
    return end, left


def _events(
    visible: Sequence[int],
    plan: Sequence[Segment],
    end: Sequence[int],
    stop: int,
    gone: Mapping[int, str],
) -> Events:
    rows = [(v, j, EventKind.VISIBLE) for j, v in enumerate(visible) if j not in gone and v <= stop]
    for s in plan:
        rows.append((s.start, s.job, EventKind.START))
        if s.end == end[s.job]:
            rows.append((s.end, s.job, EventKind.FINISH))
        elif s.end < stop:
            rows.append((s.end, s.job, EventKind.SUSPEND))
    rows.sort(key=lambda row: row[0])
    time, job, kind = zip(*rows, strict=True) if rows else ((), (), ())
    return Events(np.array(time, np.int64), np.array(job, np.int64), np.array(kind, np.int8))


def _fair(
    jobs: Sequence[Job],
    end: Sequence[int],
    weights: Sequence[float],
    number: Mapping[str, int],
    rules: Rules,
    gpus: int,
    stop: int,
    gone: Mapping[int, str],
) -> tuple[list[float], list[float]]:
    """F_i and its part before the first round, kept as a driver would: from round to round."""
    shares = FairShares(gpus, weights, by="demand")
    fair, before, begin = ([0.0] * len(jobs) for _ in range(3))
    able = [
        j for j in range(len(jobs)) if j not in gone and rules.round_up(jobs[j].release) <= stop
    ]
    kind: Any = {j: (number[jobs[j].user], jobs[j].gpus, jobs[j].weight) for j in able}
    rounds = {rules.round_up(jobs[j].release) for j in able}
    rounds |= {rules.round_up(end[j]) for j in able if end[j] >= 0}
    for t in sorted(rounds):
        leaving = [j for j in able if end[j] >= 0 and rules.round_up(end[j]) == t]
        coming = [j for j in able if rules.round_up(jobs[j].release) == t]
        for j in leaving:
            fair[j] = shares.job_time(*kind[j], end[j]) - begin[j]
        for j in leaving:
            shares.depart(t, *kind[j])
        for j in coming:
            shares.arrive(t, *kind[j])
        for j in coming:
            begin[j] = shares.job_time(*kind[j], t)
            slope = shares.job_time(*kind[j], t + 1) - begin[j]
            before[j] = slope * (t - jobs[j].release)
    for j in able:
        if end[j] < 0:
            fair[j] = shares.job_time(*kind[j], stop) - begin[j]
    return fair, before


@st.composite
def runs(draw: st.DrawFn, *, max_jobs: int = 8, stopped: bool | None = None) -> Run:
    """Runs of a policy that draws, each round, which jobs run; on one node, without overhead."""
    gpus = draw(st.integers(1, 8))
    users = [
        User(f"u{k}", weight=draw(st.sampled_from([1.0, 2.0, 0.25])))
        for k in range(draw(st.integers(1, 3)))
    ]
    jobs = [
        Job(
            id=f"j{j}",
            gpus=draw(st.integers(1, gpus)),
            user=draw(st.sampled_from(users)).id,
            release=draw(st.integers(0, 60)),
            work=draw(st.integers(1, 50)),
            weight=draw(st.sampled_from([1.0, 1.0, 3.0, 0.5])),
        )
        for j in range(draw(st.integers(1, max_jobs)))
    ]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    cut = draw(st.booleans()) if stopped is None else stopped
    return random_run(jobs, users, gpus, rng, now=draw(st.integers(0, 12)) * ROUND if cut else None)


def random_run(
    jobs: Sequence[Job],
    users: Sequence[User],
    gpus: int,
    rng: np.random.Generator,
    *,
    now: int | None = None,
    policy: str = "random",
) -> Run:
    """The run in which each round the jobs that fit run, tried in an order that `rng` draws."""
    left = [int(job.work or 0) for job in jobs]
    open_since: dict[int, int] = {}
    rows: list[Segment] = []
    t = 0
    while any(left) and (now is None or t <= now):
        active = [j for j, job in enumerate(jobs) if left[j] and PLAIN.round_up(job.release) <= t]
        room, chosen = gpus, set()
        for j in rng.permutation(active):
            if jobs[int(j)].gpus <= room and (now is None or t < now):
                room -= jobs[int(j)].gpus
                chosen.add(int(j))
        for j in sorted(set(open_since) - chosen):
            rows.append(Segment(j, open_since.pop(j), t, {0: jobs[j].gpus}))
        for j in sorted(chosen):
            begin = open_since.setdefault(j, t)
            left[j] -= min(left[j], ROUND)
            if not left[j]:
                work = int(jobs[j].work or 0)
                before = sum(s.end - s.start for s in rows if s.job == j)
                rows.append(Segment(j, begin, begin + work - before, {0: jobs[j].gpus}))
                del open_since[j]
        t += ROUND
    return run_of(jobs, rows, sizes=[gpus], users=users, now=now, policy=policy)
