"""What a driver refuses of a decision, and what it notes of a start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np

from ...instances.model import MOST_TIME
from ...solvers.placement import place_by_speed
from ...solvers.policy import Decision, Ints, Phase, Session, Start, State

WAITING, RUNNING = int(Phase.WAITING), int(Phase.RUNNING)


def check_decision(decision: Decision, state: State, name: str) -> None:
    """Refuse a decision that cannot be carried out."""
    owner = f"policy {name!r} at {state.now}"
    if not isinstance(decision, Decision):
        raise TypeError(f"{owner}: decides {decision!r}, which is no Decision")
    phase = state._book.jobs["phase"]  # of all jobs: whoever has not come does not wait
    stopped = _numbers([*decision.suspend, *decision.kill])
    starts = _starts(decision, owner)
    started = _numbers([start.job for start in starts])
    order, passed = _numbers(decision.order), _numbers(decision.passed)
    for label, jobs in (
        ("stops", stopped),
        ("starts", started),
        ("orders", order),
        ("passes", passed),
    ):
        if jobs.size == 0:
            continue
        if jobs.min() < 0 or jobs.max() >= phase.size:
            job = next(j for j in jobs.tolist() if not 0 <= j < phase.size)
            raise ValueError(f"{owner}: {label} job {job}, which does not exist")
        again = np.sort(jobs)
        for j in again[1:][again[1:] == again[:-1]][:1]:
            raise ValueError(f"{owner}: {label} job {j} twice")
    for j in stopped[phase[stopped] != RUNNING][:1]:
        raise ValueError(f"{owner}: stops job {j}, which does not run")
    if stopped.size:
        for j in stopped[~state._may_stop(stopped)][:1]:
            why = "it is profiled" if state.speed[j] == 0 else repr(state._seen.preempts)
            raise ValueError(f"{owner}: stops job {j}, which it may not now: {why}")
    for j in passed[phase[passed] != WAITING][:1]:
        raise ValueError(f"{owner}: passes job {j}, which does not wait")
    for j in started[phase[started] != WAITING].tolist():
        if j not in stopped:
            raise ValueError(f"{owner}: starts job {j}, which does not wait")
    others = order[phase[order] != WAITING]
    runs = others[phase[others] == RUNNING]
    if runs.size < others.size or not state._may_stop(runs).all():
        job = next(j for j in others.tolist() if j not in state.preemptible)
        raise ValueError(f"{owner}: orders job {job}, which is no candidate")
    for start in starts:
        _check_start(start, state, owner)
    if state._seen.instance.kind.needs_ps:
        _check_ps(starts, order, state, owner)
    if stopped.size + started.size:
        for job in sorted({*stopped.tolist(), *started.tolist()}.intersection(order.tolist()))[:1]:
            raise ValueError(f"{owner}: job {job} is in the order and stopped or started")
    _check_places(starts, stopped, state, owner)


def withheld(
    decision: Decision, state: State, dedicated: Sequence[int], name: str
) -> dict[int, int]:
    """GPUs of dedicated nodes, by node, that a decision must not get: those it does not profile on.

    Refuses a start there that profiles nobody.
    """
    if not dedicated or not isinstance(decision, Decision):
        return {}
    owner = f"policy {name!r} at {state.now}"
    free = {n: int(state.free[n]) for n in dedicated}
    for start in _starts(decision, owner):
        for node, gpus in (start.nodes or {}).items():
            if node in free and not start.profile:
                raise ValueError(f"{owner}: starts job {start.job} on node {node}, which profiles")
            if node in free:
                free[node] -= gpus
    return {n: gpus for n, gpus in free.items() if gpus > 0}


def _starts(decision: Decision, owner: str) -> list[Start]:
    for entry in decision.start:
        if not isinstance(entry, tuple) or not 2 <= len(entry) <= len(Start._fields):
            raise TypeError(f"{owner}: start has {entry!r}, which is no Start")
    return decision.starts


def _numbers(jobs: Sequence[int] | Ints) -> Ints:
    numbers = np.asarray(jobs)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"jobs {numbers.tolist()!r} are not integers")
    return numbers.astype(np.int64, copy=False)


def _check_start(start: Start, state: State, owner: str) -> None:
    """What can be said about numbers before anything happens."""
    job, gang, length = start.job, int(state.gpus[start.job]), state.rules.round_length
    for name, value in (("gpus", start.gpus), ("profile", start.profile)):
        if value is None and name == "gpus":
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{owner}: starts job {job} with {name}={value!r}, not an integer")
    if start.profile < 0 or start.profile % length or start.profile * gang > MOST_TIME:
        raise ValueError(
            f"{owner}: profiles job {job} for {start.profile} s, "
            f"not for a multiple of {length} s, or for too long"
        )
    served = state._seen.instance.kind.needs_ps
    if start.ps is not None and not served:
        raise ValueError(
            f"{owner}: starts job {job} with parameter servers {dict(start.ps)}, "
            "a job of its kind has none"
        )
    if start.gpus is None or start.gpus == gang:
        return
    most = gang if start.profile or served else 2 * gang
    if not 1 <= start.gpus <= most:
        raise ValueError(f"{owner}: starts job {job} on {start.gpus} GPUs, not on 1 to {most}")
    if start.profile or served:
        return
    if not state._seen.instance.kind.elastic:
        raise ValueError(
            f"{owner}: starts job {job} on {start.gpus} GPUs, a job of its kind needs its {gang}"
        )
    if start.nodes is None:
        raise ValueError(f"{owner}: starts job {job} on {start.gpus} GPUs without nodes")
    if (pod := int(state.pod[job])) and start.gpus % pod:
        raise ValueError(f"{owner}: starts job {job} on {start.gpus} GPUs, not in pods of {pod}")


def _check_ps(starts: Sequence[Start], order: Ints, state: State, owner: str) -> None:
    """Jobs with parameter servers start on given nodes, with servers of theirs that are free."""
    for job in order[:1]:
        raise ValueError(
            f"{owner}: orders job {job}, a job with parameter servers starts on given nodes"
        )
    free = state.free_ps
    for start in starts:
        what = f"{owner}: starts job {start.job}"
        if start.profile:
            raise ValueError(f"{what} to be profiled, which jobs with parameter servers are not")
        if not start.nodes or not start.ps:
            raise ValueError(f"{what} without nodes or parameter servers, which it needs")
        what = f"{owner}: job {start.job} is given parameter servers {dict(start.ps)}"
        for node, count in start.ps.items():
            if any(isinstance(n, bool) or not isinstance(n, Integral) for n in (node, count)):
                raise TypeError(f"{what}, which are not integers")
            if count < 1:
                raise ValueError(f"{what}, below 1 on node {node}")
            if not 0 <= node < free.size or free[node] < count:
                raise ValueError(f"{what}, more than is free on node {node}")
            free[node] -= count


def give_ps(starts: Sequence[Start], state: State) -> None:
    """Note the parameter servers that jobs start with, and their slots there as their work."""
    book, jobs = state._book, state._seen.instance.jobs
    for start in starts:
        if start.nodes is None or start.ps is None:
            continue
        job = int(start.job)
        book.ps[job] = {int(node): int(count) for node, count in start.ps.items()}
        model = state.models[int(state.node_model[next(iter(start.nodes))])]
        workers, nodes = sum(start.nodes.values()), len({*start.nodes, *start.ps})
        slots = jobs[job].service(int(workers), nodes, model)
        book.work[job] = book.left[job] = state._seen.columns["work"][job] = slots


def left_out(session: Session, state: State) -> bool:
    """Return whether jobs that wait, while nothing runs and nobody comes, are left out for good.

    Jobs with parameter servers may be, unless the session names a time at which it decides anew.
    """
    ask: Callable[[State], int | None] | None = getattr(session, "next_change", None)
    return state._seen.instance.kind.needs_ps and (ask is None or ask(state) is None)


def in_numbers(decision: Decision) -> Decision:
    """Return a good decision in plain numbers, without parameter servers."""
    order, suspend, kill, passed = (
        np.asarray(jobs, dtype=np.int64)
        for jobs in (decision.order, decision.suspend, decision.kill, decision.passed)
    )
    starts = [
        Start(
            int(start.job),
            None if start.nodes is None else {int(n): int(c) for n, c in start.nodes.items()},
            None if start.gpus is None else int(start.gpus),
            int(start.profile),
        )
        for start in decision.starts
    ]
    return replace(
        decision, order=order, suspend=suspend, kill=kill.tolist(), start=starts,
        passed=passed.tolist(),
    )  # fmt: skip


def _check_places(starts: Sequence[Start], stopped: Ints, state: State, owner: str) -> None:
    """Jobs take their nodes one after the other, once all who stop have left theirs."""
    if not starts:
        return
    free, sizes, models = np.array(state.free), state.sizes.tolist(), state.node_model.tolist()
    for j in stopped.tolist():
        for n, count in state.nodes(j).items():
            free[n] += count
    for start in starts:
        nodes, job = start.nodes, state._seen.instance.jobs[start.job]
        if nodes is None:
            gpus = start.number(int(state.gpus[start.job]))
            speeds, spread = state.speeds[start.job].tolist(), state.rules.spread
            nodes = place_by_speed(
                gpus, free.tolist(), sizes, models, speeds, spread=spread, pod=job.pod
            )
        else:
            _check_nodes(start, free, state, owner)
        for n, count in (nodes or {}).items():
            free[n] -= count


def _check_nodes(start: Start, free: Ints, state: State, owner: str) -> None:
    """Refuse GPUs that are not free, too many or few, or on which a job cannot be."""
    nodes, job = start.nodes, state._seen.instance.jobs[start.job]
    assert nodes is not None
    owner = f"{owner}: job {start.job} is given {dict(nodes)}"
    wanted = start.number(int(state.gpus[start.job]))
    if sum(nodes.values()) != wanted or min(nodes.values()) < 1:
        raise ValueError(f"{owner}, not its {wanted} GPUs")
    for n, count in nodes.items():
        if not 0 <= n < free.size or free[n] < count:
            raise ValueError(f"{owner}, more than is free on node {n}")
    sizes, model = state.sizes[list(nodes)].tolist(), _one_model(nodes, state, owner)
    in_pods = job.pod > 0 and not any(count % job.pod for count in nodes.values())
    if job.pod and not start.profile:
        if not in_pods:
            raise ValueError(f"{owner}, which are no whole pods of {job.pod} GPUs")
    elif not (job.spreads or state.rules.spread or in_pods) and not _consolidated(nodes, sizes):
        raise ValueError(f"{owner}, which is no consolidated place, and spread=False")
    on_model = int(state.speeds[start.job, model])
    if on_model == 0:
        why = f"pin={job.pin!r}" if job.pin else f"its speeds are {dict(job.speeds)}"
        raise ValueError(f"{owner} of model {state.models[model]!r}, where it cannot run: {why}")
    speed = job.speed_on(wanted, len(nodes), max(sizes), on_model)
    if not start.profile and job.too_slow(wanted, speed):
        raise ValueError(f"{owner}, where its speed is {speed} millionths")


def _one_model(nodes: Mapping[int, int], state: State, owner: str) -> int:
    """The number of the GPU model of these nodes."""
    model, *others = dict.fromkeys(state.node_model[list(nodes)].tolist())
    if others:
        names = " and ".join(repr(state.models[g]) for g in (model, *others))
        raise ValueError(f"{owner}, which are of the models {names}: a gang runs on one")
    return int(model)


def _consolidated(nodes: Mapping[int, int], sizes: Sequence[int]) -> bool:
    """All nodes of one size, as few as possible, and all but one taken whole."""
    gang, size = sum(nodes.values()), sizes[0]
    whole = sum(count == size for count in nodes.values())
    return {*sizes} == {size} and whole == gang // size and len(nodes) == -(-gang // size)
