"""Runs written by hand: what the driver should leave, derived from segments by plain loops."""

from dataclasses import replace
from typing import Any, NamedTuple

from gangsched.analysis.driving.run import EventKind, Events, Records, Run
from gangsched.instances import Cluster, Instance, Job, Schedule, Segment, User
from gangsched.instances.io import instance_hash
from gangsched.solvers import Stop
from gangsched.solvers.policy import Rules

SUSPEND, KILL, FINISH = EventKind.SUSPEND, EventKind.KILL, EventKind.FINISH
PROFILED = EventKind.PROFILED
RULES = Rules(round_length=60, lease=100, overhead=25, patience=None)  # leases end at 120, 240, ...


class Piece(NamedTuple):
    """A segment and how it ended; None if it ran until the end of the run."""

    job: int
    start: int
    end: int
    nodes: dict[int, int]
    how: EventKind | None = FINISH


#: 4 + 4 + 2 GPUs; job c is too large for nodes of one size
INSTANCE = Instance(
    Cluster.of_sizes([4, 4, 2]),
    [
        Job(id="a", gpus=6, user="u", work=200),
        Job(id="b", gpus=2, user="v", work=50, release=10),
        Job(id="c", gpus=12, user="u", work=60),
        Job(id="d", gpus=1, user="v", work=150, release=60),
        Job(id="e", gpus=1, user="v", work=100, release=31, weight=2.5),
    ],
    [User("u"), User("v", weight=3)],
    name="five jobs",
)

#: d moves at the end of a lease; e is killed one round into its second, which costs that round
PIECES = (
    Piece(0, 0, 200, {0: 4, 1: 2}),
    Piece(1, 60, 110, {2: 2}),
    Piece(3, 60, 120, {1: 1}, SUSPEND),
    Piece(3, 120, 235, {2: 1}),  # 25 overhead and the 90 left of 150
    Piece(4, 60, 180, {1: 1}, KILL),  # keeps the 60 until 120
    Piece(4, 240, 305, {0: 1}),  # 25 overhead and the 40 left of 100
)
LEFT = {2: 60}  # what unfinished (and rejected) jobs still need
REJECTED = ((2, "12 GPUs find no consolidated place"),)


def hand_run(
    pieces: tuple[Piece, ...] = PIECES,
    *,
    instance: Instance[Any] = INSTANCE,
    rules: Rules = RULES,
    left: dict[int, int] = LEFT,
    rejected: tuple[tuple[int, str], ...] = REJECTED,
    stop: Stop = Stop.COMPLETED,
    now: int = 360,
) -> Run:
    """The run with these segments; events and records agree with them, whatever they are."""
    visible = [-(-job.release // rules.round_length) * rules.round_length for job in instance.jobs]
    out = {j for j, _ in rejected}
    log = [(t, 1, j, EventKind.VISIBLE) for j, t in enumerate(visible) if j not in out and t <= now]
    rows = {j: [p for p in pieces if p.job == j] for j in range(len(instance.jobs))}
    for piece in pieces:
        begin = EventKind.PROFILE if piece.how is PROFILED else EventKind.START
        log.append((piece.start, 3, piece.job, begin))
        if piece.how is not None:
            early = piece.how in (FINISH, PROFILED)
            log.append((piece.end, 0 if early else 2, piece.job, piece.how))
    log.sort()
    users = [user.id for user in instance.users] or [""]
    held = {j: sum(sum(p.nodes.values()) * (p.end - p.start) for p in rows[j]) for j in rows}
    done = {p.job: p.end for p in pieces if p.how is FINISH}
    every = range(len(instance.jobs))
    records = Records(
        id=tuple(job.id for job in instance.jobs),
        user=[users.index(job.user) for job in instance.jobs],
        gpus=[job.gpus for job in instance.jobs],
        release=[job.release for job in instance.jobs],
        work=[job.work for job in instance.jobs],
        weight=[job.weight for job in instance.jobs],
        visible=visible,
        rejected=[j in out for j in every],
        first=[min((p.start for p in rows[j]), default=-1) for j in every],
        end=[done.get(j, -1) for j in every],
        starts=[sum(p.how is not PROFILED for p in rows[j]) for j in every],
        left=[left.get(j, 0) for j in every],
        held=[held[j] for j in every],
        fair=[0.1 * held[j] for j in every],
        fair_before=[
            0.3 * (t - job.release) for t, job in zip(visible, instance.jobs, strict=True)
        ],
    )
    return Run(
        policy="by-hand",
        parameters={"kappa": 2.5, "queues": [1, 2], "note": None},
        rules=rules,
        instance=instance,
        instance_name=instance.name,
        instance_hash=instance_hash(instance),
        seed=7,
        stop=stop,
        now=now,
        sizes=instance.cluster.sizes,
        users=tuple(users),
        user_weight=[user.weight for user in instance.users] or [1.0],
        records=records,
        events=Events(*([row[k] for row in log] for k in (0, 2, 3))),
        schedule=Schedule.of(Segment(p.job, p.start, p.end, p.nodes) for p in pieces),
        rejected=rejected,
        rounds=7,
        decisions=4,
        runtime=0.25,
        versions={"gangsched": "0.1.0"},
    )


def with_record(run: Run, **columns: dict[int, Any]) -> Run:
    """The run with other entries in its records: column, job number, value."""
    changed = {}
    for name, entries in columns.items():
        column = list(getattr(run.records, name))
        for j, value in entries.items():
            column[j] = value
        changed[name] = column
    return replace(run, records=replace(run.records, **changed))


def with_events(run: Run, rows: list[tuple[int, int, int]]) -> Run:
    """The run with this log of (time, job, kind)."""
    columns = ([row[k] for row in rows] for k in range(3))
    return replace(run, events=Events(*columns))


def log_of(run: Run) -> list[tuple[int, int, int]]:
    """Its log as rows of (time, job, kind)."""
    log = run.events
    return list(zip(log.time.tolist(), log.job.tolist(), log.kind.tolist(), strict=True))
