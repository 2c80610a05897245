"""Whether a run keeps the rules of its cluster, recomputed from its segments, events and records.

Nothing here is shared with the trace driver but the instance's hash: what a job did is derived
again from its segments, and events and records are compared with that. A violation is a line that
starts with the name of the rule: *instance*, *order*, *gang*, *placement*, *capacity*, *release*,
*round*, *renewal*, *events*, *completion*, *service*, *records*, *rejected*, *lease*, *model*,
*parameter servers*, *dedicated*, *pod*, *precedence*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formulations.breaches import excesses
from ...instances import Instance, ParameterServerJob, Schedule
from ...instances.arrays import Bools, Ints, by_number
from ...instances.io import instance_hash
from ...instances.model import FULL_SPEED
from ...instances.packed import PART
from ...instances.remembered import remembered
from ...solvers.policy import Preempts
from ...solvers.result import Stop
from .precedence import due_at, jobs_ahead
from .run import EventKind, Run
from .segments import (
    BEGINS,
    ENDS,
    MOST,
    Segments,
    by_jobs,
    same_places,
    speeds_of,
    sum_entries,
)

MOST_SHOWN = 20


def violations(run: Run, *, preempts: Preempts | None = None) -> list[str]:
    """Return what a run breaks, one line each; empty where it keeps all rules.

    Notes
    -----
    A gang holds all its GPUs or none; no node ever gives more than it has; nobody starts before
    the first round at or after the release, or before the last of the jobs that it waits for has
    ended, where those that are rejected hold nobody, but whom they waited for do; nodes give whole
    pods; jobs start and are suspended at rounds and complete to the second; progress adds up to the
    work. A segment of n seconds whose first o are overhead
    (0 the first time a job runs, else its own preemption cost or that of the rules: the overhead
    on the GPUs that it held last, what a migration costs on others) gives
    floor(v max(0, n - o)) seconds of progress, v the job's speed on these nodes, which are of one
    GPU model that the job can run on; a killed one only
    what it had at the last end of a lease; one in which the job is profiled none. Jobs that know
    their speeds may hold up to twice their gang, on any nodes; profiled ones at most their gang.
    Jobs with parameter servers hold 1 to their gang, run once, for the slots that they take there,
    and may be left out; what the problem says of bandwidths is checked by its own `violations`.
    That a policy leaves no GPU idle is not checked.

    O(n log n) in segments, events and jobs; arrays only.

    Examples
    --------
    >>> import numpy as np
    >>> from gangsched.instances.io import instance_hash
    >>> from gangsched.analysis.driving.run import Events, Records, Run
    >>> from gangsched.instances import Cluster, Job, Segment
    >>> from gangsched.solvers.policy import Rules
    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=90)])
    >>> records = Records(
    ...     id=["a"], user=[0], gpus=[2], release=[0], work=[90], weight=[1], visible=[0],
    ...     rejected=[False], first=[0], end=[80], starts=[1], left=[0], held=[160], fair=[160],
    ...     fair_before=[0],
    ... )
    >>> run = Run(
    ...     policy="hasty", parameters={}, rules=Rules(), instance_name="", seed=None, now=120,
    ...     instance_hash=instance_hash(instance), stop=Stop.COMPLETED, sizes=(2,), users=("",),
    ...     user_weight=np.ones(1), records=records, instance=instance,
    ...     events=Events(time=[0, 0, 80], job=[0, 0, 0], kind=[0, 1, 4]),
    ...     schedule=Schedule.of([Segment(0, 0, 80, {0: 2})]),
    ... )
    >>> violations(run)
    ["completion: job 'a' ends at 80, from 0 with 0 s of overhead it must end at 90"]
    """
    instance = run.require_instance()
    found = _instance(run, instance)
    if not found and _is_right_in_parts(run, preempts):
        return []
    found = found or _numbers(run, instance)
    if found:
        return found
    servers = _parameter_servers(run, instance) if instance.kind.needs_ps else []
    if instance.kind.needs_ps:
        run = replace(run, schedule=_workers(run.schedule))
    return [*servers, *_rules(run, preempts, _over(run.schedule, "gpus", run.sizes))]


def _rules(run: Run, preempts: Preempts | None, over: list[str]) -> list[str]:
    """What jobs break, and in its place what nodes do."""
    seg, instance = Segments.of(run), run.require_instance()
    return [
        *_order(run, seg),
        *_gangs(run, instance, seg),
        *_models(run, instance, seg),
        *_dedicated(run, seg),
        *over,
        *_times(run, seg),
        *_renewals(run, seg),
        *_events(run, seg),
        *_service(run, seg),
        *_records(run, seg),
        *_rejected(run, seg),
        *(_leases(run, seg, preempts) if preempts is not None else []),
    ]


def _is_right_in_parts(run: Run, preempts: Preempts | None) -> bool:
    """Whether a long run breaks nothing, looked at job by job and node by node in little memory.

    If not, or if it is short, it is looked at as a whole, which says what is wrong.
    """
    if max(len(run.schedule), len(run.events)) <= PART or run.require_instance().kind.needs_ps:
        return False
    jobs, before = len(run.records), 0
    for plan in run.schedule.blocks():
        if not (_are_below(jobs, plan.job) and _are_below(len(run.sizes), plan.node)):
            return False
    for log in run.events.blocks():
        if not (_are_below(jobs, log.job) and _are_below(len(EventKind), log.kind)):
            return False
        if (np.diff(log.time, prepend=before) < 0).any():
            return False
        before = int(log.time[-1])
    if not _are_below(jobs, np.array([j for j, _ in run.rejected], dtype=np.int64)):
        return False
    if _may_be_over(run):
        return False
    return not any(_rules(part, preempts, []) for _, part in by_jobs(run))


def _are_below(most: int, column: NDArray[Any]) -> bool:
    return bool(((column >= 0) & (column < most)).all())


def _may_be_over(run: Run) -> bool:
    """Whether a node gives more GPUs than it has, looked at some nodes at a time.

    Starts and ends are sorted as numbers that hold node, time and change; True where that needs
    larger numbers than there are.
    """
    sizes, span, most = np.array(run.sizes, dtype=np.int64), 1, 1
    entries = np.zeros(sizes.size, dtype=np.int64)
    for plan in run.schedule.blocks():
        entries += np.bincount(plan.node, minlength=sizes.size)
        span = max(span, int(plan.end.max(initial=0)) + 1)
        most = max(most, int(plan.gpus.max(initial=0)))
    part, base = np.cumsum(entries) // PART, 2 * most + 1
    if sizes.size * span * base >= 2**63:
        return True
    for k in np.unique(part[entries > 0]).tolist():
        found: list[Ints] = []
        for plan in run.schedule.blocks():
            own = part[plan.node] == k if part[-1] else slice(None)
            row = np.repeat(np.arange(len(plan)), np.diff(plan.ptr))[own]
            place, gpus = plan.node[own] * span, plan.gpus[own]
            found.append((place + plan.end[row]) * base + (most - gpus))
            found.append((place + plan.start[row]) * base + (most + gpus))
        moves = np.sort(np.concatenate(found))
        used = np.cumsum(moves % base - most)  # returns to 0 before the next node
        moves //= base
        last = np.append(moves[1:] != moves[:-1], True)  # all of a second has happened
        if (used[last] > sizes[moves[last] // span]).any():
            return True
    return False


def _report(rule: str, bad: Ints, text: Callable[[int], str]) -> list[str]:
    """The first lines about `bad`, and how many there are."""
    lines = [f"{rule}: {text(int(i))}" for i in bad[:MOST_SHOWN]]
    if bad.size > MOST_SHOWN:
        lines.append(f"{rule}: {bad.size:,} in all, the first {MOST_SHOWN} are shown")
    return lines


def _name(run: Run, job: int) -> str:
    return f"job {run.records.id[job]!r}"


# --- the run and its instance --------------------------------------------------------------------


def _instance(run: Run, instance: Instance[Any]) -> list[str]:
    """Rule "instance": the run is of this instance."""
    ids = _ids(instance)
    if run.records.id != ids:
        return [f"instance: the run's {len(run.records)} jobs are not the instance's {len(ids)}"]
    found = []
    if run.sizes != instance.cluster.sizes:
        found.append(f"instance: nodes of {run.sizes} GPUs, not of {instance.cluster.sizes}")
    if run.instance_hash != instance_hash(instance):
        found.append(f"instance: hash {run.instance_hash[:12]} is not the instance's own")
    return found + _users(run, instance) + _columns(run, instance)


@remembered
def _ids(instance: Instance[Any]) -> tuple[str, ...]:
    return tuple(job.id for job in instance.jobs)


def _users(run: Run, instance: Instance[Any]) -> list[str]:
    ids = tuple(user.id for user in instance.users)
    weights = [user.weight for user in instance.users] or [1.0]
    if ids and run.users != ids:
        return [f"instance: users {run.users} are not the instance's {ids}"]
    if run.user_weight.tolist() != weights or len(run.users) != len(weights):
        return [f"instance: weights of users {run.user_weight.tolist()} are not {weights}"]
    return _differences(run, "user", run.records.user, _wanted(instance)["user"], rule="instance")


@remembered
def _wanted(instance: Instance[Any]) -> dict[str, NDArray[Any]]:
    """What the columns of a run must be, by name; no work where it is known after a start only."""
    number, jobs = {user.id: u for u, user in enumerate(instance.users)}, instance.jobs
    found = {
        "user": np.array([number.get(job.user, 0) for job in jobs], dtype=np.int64),
        "gpus": np.array([job.gpus for job in jobs], dtype=np.int64),
        "release": np.array([job.release for job in jobs], dtype=np.int64),
        "weight": np.array([job.weight for job in jobs], dtype=np.float64),
    }
    if not instance.kind.needs_ps and all(job.work is not None for job in jobs):
        found["work"] = np.array([job.work for job in jobs], dtype=np.int64)
    return found


def _columns(run: Run, instance: Instance[Any]) -> list[str]:
    found: list[str] = []
    wanted, needs_ps = _wanted(instance), instance.kind.needs_ps
    if "work" not in wanted and not needs_ps:
        lacking = next(job for job in instance.jobs if job.work is None)
        return [f"instance: job {lacking.id!r} has no work"]
    for name in ("gpus", "release", "weight", *(() if needs_ps else ("work",))):
        column = getattr(run.records, name)
        found += _differences(run, name, column, wanted[name], rule="instance")
    found += _precedence(run, instance)
    return found + _differences(run, "visible", run.records.visible, due_at(run), rule="instance")


def _precedence(run: Run, instance: Instance[Any]) -> list[str]:
    """Nobody starts before those have ended that it waits for."""
    first, end = run.records.first, run.records.end
    early = [
        (j, i)
        for j, ahead in jobs_ahead(run, instance).items()
        for i in ahead
        if first[j] >= 0 and not 0 <= end[i] <= first[j]
    ]

    def text(k: int) -> str:
        j, i = early[k]
        until = f"ends at {end[i]}" if end[i] >= 0 else "has not ended"
        return f"{_name(run, j)} starts at {first[j]}, {_name(run, i)} before it {until}"

    return _report("precedence", np.arange(len(early)), text)


def _differences(
    run: Run, name: str, column: NDArray[Any], wanted: NDArray[Any], *, rule: str
) -> list[str]:
    return _report(
        rule,
        np.flatnonzero(column != wanted),
        lambda j: f"{_name(run, j)} has {name}={column[j]}, not {wanted[j]}",
    )


def _numbers(run: Run, instance: Instance[Any]) -> list[str]:
    """Rule "numbers": the jobs and nodes of the run are those of the instance."""
    jobs, nodes = len(instance.jobs), len(run.sizes)
    rejected = np.array([j for j, _ in run.rejected], dtype=np.int64)
    found = [
        *_below(jobs, "schedule", "job", run.schedule.job),
        *_below(nodes, "schedule", "node", run.schedule.node),
        *_below(jobs, "events", "job", run.events.job),
        *_below(len(EventKind), "events", "kind", run.events.kind),
        *_below(jobs, "rejected", "job", rejected),
    ]
    if not run.events.time.size == run.events.job.size == run.events.kind.size:
        found.append("events: columns differ in length")
    return found


def _below(most: int, rule: str, name: str, column: NDArray[Any]) -> list[str]:
    return _report(
        rule,
        np.flatnonzero((column < 0) | (column >= most)),
        lambda i: f"{name}[{i}]={column[i]} is not a number below {most}",
    )


# --- parameter servers ---------------------------------------------------------------------------


def _left_out(run: Run) -> Bools:
    """Jobs with parameter servers that never started: they have no work."""
    never: Bools = (run.records.work == 0) & (run.records.starts == 0)
    return never


def _run_slots(job: ParameterServerJob, workers: int, nodes: int, model: str) -> int:
    """Slots that a run takes: mini-batches over what all workers train in a slot, exactly."""
    rate = Fraction(repr(job.rates[0 if nodes == 1 else 1])) * workers
    if model in job.speeds:
        rate *= Fraction(repr(job.speeds[model]))
    return int(-(-job.batches // rate))


def _parameter_servers(run: Run, instance: Instance[Any]) -> list[str]:
    """Who runs has some, for the slots that it takes; once; no node gives more than it has."""
    plan, rule, nodes = run.schedule, "parameter servers", instance.cluster.nodes
    work = np.zeros(len(run.records), dtype=np.int64)
    found: list[str] = []
    for row in plan:
        name = _name(run, row.job)
        workers = {n: gpus for n, gpus in row.gpus.items() if gpus}
        if not workers or not row.ps:
            found.append(f"{name} has GPUs {workers} and parameter servers {row.ps}")
            continue
        if work[row.job]:
            found.append(f"{name} runs twice, the second time from {row.start}")
        used = {*workers, *(n for n, count in row.ps.items() if count)}
        model = nodes[next(iter(workers))].model
        work[row.job] = _run_slots(instance.jobs[row.job], sum(workers.values()), len(used), model)
    if run.stop is not Stop.COMPLETED:  # no segment is empty
        begun = (work == 0) & (run.records.first == run.now)
        work[begun] = run.records.work[begun]
    return [
        *_report(rule, np.arange(len(found)), lambda i: found[i]),
        *_over(plan, "ps", [node.ps for node in nodes], rule, "parameter servers"),
        *_differences(run, "work", run.records.work, work, rule=rule),
    ]


def _workers(schedule: Schedule) -> Schedule:
    """The same without parameter servers, and nodes that give only these."""
    kept = schedule.gpus > 0
    lengths = sum_entries(schedule, kept.astype(np.int64))
    some = lengths > 0
    return Schedule(
        job=schedule.job[some], start=schedule.start[some], end=schedule.end[some],
        ptr=np.cumsum([0, *lengths[some]]), node=schedule.node[kept], gpus=schedule.gpus[kept],
    )  # fmt: skip


# --- segments ------------------------------------------------------------------------------------


def _order(run: Run, seg: Segments) -> list[str]:
    """Segments of a job do not overlap; nothing happens after the end."""
    later = np.flatnonzero((seg.place > 0) & (seg.start < np.roll(seg.end, 1)))
    return [
        *_report(
            "order",
            later,
            lambda i: (
                f"{_name(run, seg.job[i])} starts at {seg.start[i]} in its segment "
                f"[{seg.start[i - 1]}, {seg.end[i - 1]})"
            ),
        ),
        *_report(
            "order",
            np.flatnonzero(seg.end > run.now),
            lambda i: (
                f"{_name(run, seg.job[i])} runs until {seg.end[i]}, the run only until {run.now}"
            ),
        ),
    ]


def _gangs(run: Run, instance: Instance[Any], seg: Segments) -> list[str]:
    """Every segment holds exactly the gang, in a consolidated place unless gangs may spread.

    Jobs that know their speeds may hold other numbers anywhere; those that are profiled hold less.
    """
    schedule, gang = run.schedule, run.records.gpus[seg.job]
    deadlines = instance.kind.has_deadlines
    free = deadlines or instance.kind.needs_ps
    most = np.where(seg.profile | (not deadlines), gang, 2 * gang)
    least = np.where(seg.profile | free, 1, gang)
    right = (least <= seg.gpus) & (seg.gpus <= most)
    found = _report(
        "gang",
        np.flatnonzero(~right),
        lambda i: (
            f"{_name(run, seg.job[i])} {'is profiled on' if seg.profile[i] else 'holds'} "
            f"{seg.gpus[i]} GPUs from {seg.start[i]}, its gang is {gang[i]}"
        ),
    )
    pods, cut = _pods(run, instance, seg, right)
    found += pods
    if run.rules.spread or free:
        return found
    return found + _report(
        "placement",
        np.flatnonzero(right & ~cut & ~_consolidated(run)[seg.number]),
        lambda i: (
            f"{_name(run, seg.job[i])} of {gang[i]} GPUs has {schedule[seg.number[i]].gpus} from "
            f"{seg.start[i]}, which is not consolidated"
        ),
    )


def _pods(
    run: Run, instance: Instance[Any], seg: Segments, right: Bools
) -> tuple[list[str], Bools]:
    """Nodes give whole pods, and which segments need no other place; jobs are profiled on any."""
    plan, pod = run.schedule, np.array([job.pod for job in instance.jobs], dtype=np.int64)
    own = pod[seg.job]
    if not own.any():
        return [], np.zeros(own.size, dtype=bool)
    size = np.maximum(np.repeat(pod[plan.job], np.diff(plan.ptr)), 1)
    broken = sum_entries(plan, plan.gpus % size)[seg.number] > 0
    found = _report(
        "pod",
        np.flatnonzero(right & broken & ~seg.profile),
        lambda i: (
            f"{_name(run, seg.job[i])} in pods of {own[i]} GPUs has {plan[seg.number[i]].gpus} "
            f"from {seg.start[i]}"
        ),
    )
    return found, (own > 0) & ~(broken & seg.profile)


def _models(run: Run, instance: Instance[Any], seg: Segments) -> list[str]:
    """Every segment is on GPUs of one model, on which its job can run."""
    plan, jobs = run.schedule, instance.jobs
    models = [node.model for node in instance.cluster.nodes]
    kinds = np.unique(models, return_inverse=True)[1][plan.node]
    first = np.repeat(kinds[plan.ptr[:-1]], np.diff(plan.ptr))
    mixed = (sum_entries(plan, (kinds != first).astype(np.int64)) > 0)[seg.number]
    lost = ~mixed & (speeds_of(run, instance)[seg.number] == 0)

    def where(i: int) -> str:
        on = {models[n]: 0 for n in plan[seg.number[i]].gpus}
        return (
            f"{_name(run, seg.job[i])} is on GPUs of {', '.join(map(repr, on))} from {seg.start[i]}"
        )

    def why(i: int) -> str:
        job = jobs[seg.job[i]]
        return f"its pin is {job.pin!r}" if job.pin else f"its speeds are {dict(job.speeds)}"

    return [
        *_report("model", np.flatnonzero(mixed), lambda i: f"{where(i)}, a gang runs on one model"),
        *_report("model", np.flatnonzero(lost), lambda i: f"{where(i)}, {why(i)}"),
    ]


def _dedicated(run: Run, seg: Segments) -> list[str]:
    """Nodes that only profile, as a run may say of its last ones: all of it is there, no more."""
    count = run.parameters.get("dedicated") if run.information == "profiled" else None
    if not count:
        return []
    plan, first = run.schedule, len(run.sizes) - count
    there = sum_entries(plan, (plan.node >= first).astype(np.int64))
    inside, outside = (there > 0)[seg.number], (there < np.diff(plan.ptr))[seg.number]
    wrong = np.where(seg.profile, outside, inside)
    return _report(
        "dedicated",
        np.flatnonzero(wrong),
        lambda i: (
            f"{_name(run, seg.job[i])} {'is profiled' if seg.profile[i] else 'runs'} on "
            f"{plan[seg.number[i]].gpus} from {seg.start[i]}, nodes from {first} on only profile"
        ),
    )


def _consolidated(run: Run) -> Bools:
    """Segments on floor(D/g) whole nodes of g GPUs and at most one more of that size."""
    schedule = run.schedule
    sizes = np.array(run.sizes, dtype=np.int64)[schedule.node]
    size = sizes[schedule.ptr[:-1]]
    alike = sum_entries(
        schedule, (sizes == np.repeat(size, np.diff(schedule.ptr))).astype(np.int64)
    )
    whole = sum_entries(schedule, (schedule.gpus == sizes).astype(np.int64))
    held, nodes = sum_entries(schedule, schedule.gpus), np.diff(schedule.ptr)
    fits: Bools = (alike == nodes) & (whole == held // size) & (nodes == -(-held // size))
    return fits


def _over(
    schedule: Schedule,
    column: str,
    sizes: Sequence[int],
    rule: str = "capacity",
    what: str = "GPUs",
) -> list[str]:
    """Nodes that give more than they have."""
    there = np.array(sizes, dtype=np.int64)
    node, used, size, time = excesses(schedule, getattr(schedule, column), lambda n, _: there[n])
    return _report(
        rule,
        np.arange(node.size),
        lambda i: f"node {node[i]} gives {used[i]} {what} at {time[i]}, it has {size[i]}",
    )


def _times(run: Run, seg: Segments) -> list[str]:
    """All but completions is at rounds, and not before the job is visible."""
    visible, length = run.records.visible[seg.job], run.rules.round_length
    stopped = np.isin(seg.kind, (EventKind.SUSPEND, EventKind.KILL, EventKind.PROFILED))
    return [
        *_report(
            "release",
            np.flatnonzero(seg.start < visible),
            lambda i: (
                f"{_name(run, seg.job[i])} starts at {seg.start[i]}, it is visible from "
                f"{visible[i]}"
            ),
        ),
        *_report(
            "round",
            np.flatnonzero(seg.start % length != 0),
            lambda i: (
                f"{_name(run, seg.job[i])} starts at {seg.start[i]}, not a multiple of {length}"
            ),
        ),
        *_report(
            "round",
            np.flatnonzero(stopped & (seg.end % length != 0)),
            lambda i: (
                f"{_name(run, seg.job[i])} is stopped at {seg.end[i]}, not a multiple of {length}"
            ),
        ),
    ]


def _renewals(run: Run, seg: Segments) -> list[str]:
    """A job that goes on where it is keeps one segment, unless it was killed in between.

    To be profiled is not to go on.
    """
    schedule, before = run.schedule, np.roll(seg.kind, 1)
    suspended = ~np.isin(before, (EventKind.KILL, EventKind.PROFILED)) & ~seg.profile
    after = np.flatnonzero((seg.place > 0) & (seg.start == np.roll(seg.end, 1)) & suspended)
    return _report(
        "renewal",
        after[same_places(schedule, seg.number[after - 1], seg.number[after])],
        lambda i: f"{_name(run, seg.job[i])} stops and starts at {seg.start[i]} on the same nodes",
    )


# --- events --------------------------------------------------------------------------------------


def _events(run: Run, seg: Segments) -> list[str]:
    """The log tells what the segments tell."""
    log = run.events
    falls = np.flatnonzero(np.diff(log.time) < 0) + 1
    return [
        *_report("events", falls, lambda i: f"time falls from {log.time[i - 1]} to {log.time[i]}"),
        *_sequence(run),
        *_visible(run),
        *_agreement(run, seg, BEGINS, seg.begun, seg.start),
        *_agreement(run, seg, ENDS, seg.ended, seg.end),
    ]


def _sequence(run: Run) -> list[str]:
    """VISIBLE, then a start and an end of its kind in turn, nothing after FINISH."""
    order = by_number(run.events.job)
    job, kind = run.events.job[order], run.events.kind[order]
    time, before = run.events.time[order], np.roll(kind, 1)
    first = np.ones(job.size, dtype=bool)
    first[1:] = job[1:] != job[:-1]
    follows = np.zeros((len(EventKind), len(EventKind)), dtype=bool)  # [before, after]
    for waits in (EventKind.VISIBLE, EventKind.SUSPEND, EventKind.KILL, EventKind.PROFILED):
        follows[waits, list(BEGINS)] = True
    follows[EventKind.START, [EventKind.SUSPEND, EventKind.KILL, EventKind.FINISH]] = True
    follows[EventKind.PROFILE, EventKind.PROFILED] = True
    right = np.where(first, kind == EventKind.VISIBLE, follows[before, kind])

    def text(i: int) -> str:
        after = "at first" if first[i] else f"after {EventKind(before[i]).name}"
        return f"{_name(run, job[i])} has {EventKind(kind[i]).name} {after}, at {time[i]}"

    return _report("events", np.flatnonzero(~right), text)


def _visible(run: Run) -> list[str]:
    log, visible = run.events, run.records.visible
    rows = np.flatnonzero(log.kind == EventKind.VISIBLE)
    late = rows[log.time[rows] != visible[log.job[rows]]]
    due = ~run.records.rejected
    if run.stop is not Stop.COMPLETED:
        due &= visible <= run.now
    due[log.job[rows]] = False
    return [
        *_report(
            "events",
            late,
            lambda i: (
                f"{_name(run, log.job[i])} has VISIBLE at {log.time[i]}, it is visible from "
                f"{visible[log.job[i]]}"
            ),
        ),
        *_report("events", np.flatnonzero(due), lambda j: f"{_name(run, j)} has no VISIBLE"),
    ]


def _agreement(
    run: Run, seg: Segments, kinds: tuple[EventKind, ...], pairs: tuple[Ints, Ints], times: Ints
) -> list[str]:
    """Events of these kinds and segments belong together one to one, at the same times."""
    log, (at, event) = run.events, pairs
    lonely = at < 0
    if run.stop is not Stop.COMPLETED and kinds[0] is EventKind.START:
        lonely &= log.time[event] != run.now  # no segment is empty
    paired = np.flatnonzero(at >= 0)
    wrong = paired[log.time[event[paired]] != times[at[paired]]]
    missing = np.ones(len(seg.job), dtype=bool)
    missing[at[at >= 0]] = False
    if run.stop is not Stop.COMPLETED and kinds[0] is not EventKind.START:
        missing &= ~(seg.last & (seg.end == run.now))
    what, side = ("START", "starts") if kinds[0] is EventKind.START else ("end", "ends")

    def told(i: int) -> str:
        return (
            f"{_name(run, log.job[event[i]])} has {EventKind(log.kind[event[i]]).name} at "
            f"{log.time[event[i]]}"
        )

    return [
        *_report("events", np.flatnonzero(lonely), lambda i: f"{told(i)}, but no segment there"),
        *_report("events", wrong, lambda i: f"{told(i)}, its segment {side} at {times[at[i]]}"),
        *_report(
            "events",
            np.flatnonzero(missing),
            lambda i: (
                f"{_name(run, seg.job[i])} has no {what} for its segment "
                f"[{seg.start[i]}, {seg.end[i]})"
            ),
        ),
    ]


# --- service and records -------------------------------------------------------------------------


def _service(run: Run, seg: Segments) -> list[str]:
    """Progress adds up to the work, and a job completes in the second in which it does."""
    jobs = run.records
    progress = seg.progress(run.rules)
    done = _by_job(run, seg, progress)
    left = jobs.work - done
    total = np.concatenate([[0], np.cumsum(progress)])
    before = jobs.work[seg.job] - (total[:-1] - total[seg.offset[seg.job]])  # left when it begins
    seconds = -(-np.minimum(before, MOST // FULL_SPEED) * FULL_SPEED // np.maximum(seg.speed, 1))
    finish = seg.start + seg.overhead + seconds
    ended = seg.last & (seg.kind == EventKind.FINISH) & (seg.speed > 0)
    late = np.flatnonzero(ended & ((finish != seg.end) | (before < 1)))
    open_ = ~jobs.finished
    wrong = np.flatnonzero(jobs.left != np.where(open_, left, 0))
    return [
        *_report(
            "completion",
            late,
            lambda i: (
                f"{_name(run, seg.job[i])} ends at {seg.end[i]}, from {seg.start[i]} with "
                f"{seg.overhead[i]} s of overhead{_pace(seg.speed[i])} it must end at {finish[i]}"
            ),
        ),
        *_report(
            "service",
            np.flatnonzero(open_ & (left < 1) & ~_left_out(run)),
            lambda j: (
                f"{_name(run, j)} has {done[j]} s of progress and has not finished, its "
                f"work is {jobs.work[j]} s"
            ),
        ),
        *_report(
            "service",
            wrong,
            lambda j: (
                f"{_name(run, j)} has left={jobs.left[j]}, with {done[j]} s of progress of "
                f"{jobs.work[j]} s it is {left[j] if open_[j] else 0}"
            ),
        ),
    ]


def _pace(speed: int) -> str:
    return "" if speed == FULL_SPEED else f" and speed {speed / FULL_SPEED:g}"


def _by_job(run: Run, seg: Segments, amount: Ints) -> Ints:
    """Sum of an amount over each job's segments."""
    total = np.concatenate([[0], np.cumsum(amount)])
    sums: Ints = total[seg.offset[1:]] - total[seg.offset[:-1]]
    return sums


def _records(run: Run, seg: Segments) -> list[str]:
    """Each job's row tells what its segments tell."""
    jobs, log = run.records, run.events
    first, end = np.full(len(jobs), -1), np.full(len(jobs), -1)
    begun = np.isin(log.kind, BEGINS)
    first[log.job[begun][::-1]] = log.time[begun][::-1]
    ended = log.kind == EventKind.FINISH
    end[log.job[ended]] = log.time[ended]
    starts = np.bincount(log.job[log.kind == EventKind.START], minlength=len(jobs))
    held = _by_job(run, seg, seg.gpus * (seg.end - seg.start))
    wanted = {"first": first, "end": end, "starts": starts, "held": held}
    found = [
        line
        for name, column in wanted.items()
        for line in _differences(run, name, getattr(jobs, name), column, rule="records")
    ]
    waits = ~jobs.rejected & ~jobs.finished & ~_left_out(run)
    if run.stop is Stop.COMPLETED:
        found += _report(
            "records",
            np.flatnonzero(waits),
            lambda j: f"{_name(run, j)} has not finished, the run is completed",
        )
    return found + _fair(run, "fair") + _fair(run, "fair_before")


def _fair(run: Run, name: str) -> list[str]:
    column = getattr(run.records, name)
    return _report(
        "records",
        np.flatnonzero(~(np.isfinite(column) & (column >= 0))),
        lambda j: f"{_name(run, j)} has {name}={column[j]}, not a finite number >= 0",
    )


def _rejected(run: Run, seg: Segments) -> list[str]:
    """Rejected jobs are listed with a reason and nothing happens to them."""
    listed = np.zeros(len(run.records), dtype=np.int64)
    np.add.at(listed, np.array([j for j, _ in run.rejected], dtype=np.int64), 1)
    marked = run.records.rejected
    happened = np.zeros(len(run.records), dtype=bool)
    happened[seg.job] = True
    happened[run.events.job] = True
    silent = np.array([i for i, (_, why) in enumerate(run.rejected) if not why.strip()], dtype=int)
    return [
        *_report(
            "rejected",
            np.flatnonzero(listed != marked),
            lambda j: (
                f"{_name(run, j)} is listed {listed[j]} times, its record says "
                f"rejected={bool(marked[j])}"
            ),
        ),
        *_report(
            "rejected", silent, lambda i: f"{_name(run, run.rejected[i][0])} is without a reason"
        ),
        *_report(
            "rejected",
            np.flatnonzero(marked & happened),
            lambda j: f"{_name(run, j)} has segments or events",
        ),
    ]


def _leases(run: Run, seg: Segments, preempts: Preempts) -> list[str]:
    """Policies that do not preempt stop nobody, those that do at leases only at their ends."""
    length = run.rules.lease_length
    suspended, killed = seg.kind == EventKind.SUSPEND, seg.kind == EventKind.KILL
    if preempts is Preempts.NEVER:
        bad, why = suspended | killed, "the policy never preempts"
    elif preempts is Preempts.LEASE:
        since = 0 if run.rules.synchronous else seg.start
        bad, why = suspended & ((seg.end - since) % length != 0), f"no lease of {length} s ends"
    else:
        return []
    return _report(
        "lease",
        np.flatnonzero(bad),
        lambda i: (
            f"{_name(run, seg.job[i])} runs from {seg.start[i]} and is stopped at "
            f"{seg.end[i]}, {why}"
        ),
    )
