"""The trace driver: an online policy over an instance, round by round."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formulations.fair_shares import FairShares
from ...instances import Instance, Job, Schedule
from ...instances.arrays import distinct
from ...instances.compiling import interpreted, seconds_since
from ...instances.display import counted, shortened
from ...instances.interrupts import held
from ...instances.io import instance_hash as instance_hash
from ...instances.model import FULL_SPEED, predecessors
from ...instances.remembered import remembered
from ...solvers.information import saved
from ...solvers.machine.tables import JOB, NODE, USER, Tables
from ...solvers.placement import place_by_speed, reaches
from ...solvers.policy import (
    LATER,
    LEASES,
    Ints,
    Phase,
    Policy,
    Preempts,
    Rules,
    begin,
    information_of,
    is_offline,
    is_policy,
    unable_jobs,
)
from ...solvers.result import Stop, versions
from .checkpoint import Checkpoint, pack, unpack
from .engine import Compiled
from .run import Records, Run, plain
from .speeds import job_speeds, models_of

Engine = Compiled
#: what simulates; tests put a plain one in its place
ENGINE: type[Engine] = Compiled
logger = logging.getLogger("gangsched")
LAST = 2**62  # seconds, beyond all rounds


class PolicyError(RuntimeError):
    """A policy failed, or decided what cannot be done.

    Attributes
    ----------
    run : Run
        What was simulated until then, without a checkpoint.
    """

    def __init__(self, text: str, run: Run) -> None:
        super().__init__(text)
        self.run = run

    def __reduce__(self) -> tuple[Any, ...]:  # otherwise no process can tell another of it
        return type(self), (str(self), self.run)


def interrupted_run(error: BaseException) -> Run | None:
    """Return the run that a signal stopped, of what :func:`drive` raised; None for other errors.

    Examples
    --------
    >>> interrupted_run(KeyboardInterrupt()) is None     # not from within a drive
    True
    """
    run = getattr(error, "run", None)
    return run if isinstance(run, Run) and not isinstance(error, PolicyError) else None


def drive(
    instance: Instance[Any],
    policy: Policy,
    *,
    round_length: int = 60,
    lease: int = 900,
    overhead: int = 25,
    synchronous: bool = True,
    spread: bool = False,
    patience: int | None = LEASES,
    migration: int | None = None,
    reject: Collection[int] | Mapping[int, str] = (),
    until: int | None = None,
    skip: bool = True,
    on_progress: Callable[[int, int], None] | None = None,
    on_checkpoint: Callable[[Run], None] | None = None,
    resume: Checkpoint | None = None,
) -> Run:
    """Drive a policy over the jobs of an instance, as they arrive.

    Decisions are made at rounds, the multiples of `round_length`. In a round, in this order: jobs
    that completed since the last one give their GPUs back, leases end, new jobs become visible, the
    policy decides, preemptible jobs that it selects keep their nodes, those of the others are
    free, selected jobs are placed in its order, then all others for which there is room. A running
    job that ends up on the nodes it had has renewed its lease, at no cost.

    Parameters
    ----------
    instance : Instance
        Jobs with `work` in seconds at speed 1, whatever GPUs they run on, or jobs with parameter
        servers. Users' weights give their quotas; an instance without users has one.
    policy : Policy
    round_length, lease, overhead, synchronous, spread, patience, migration
        As of :class:`~gangsched.solvers.policy.Rules`.
    reject : collection of int, or mapping of int to str
        Numbers of further jobs to leave out, for example those that another policy under
        comparison can never run; with reasons, where it is a mapping.
    until : int, optional
        Stop after the last round at or before this time; the run has a checkpoint.
    skip : bool
        False to visit every round, which gives the same run.
    on_progress : callable, optional
        Called now and then with the number of jobs that finished and the number of jobs that can.
    on_checkpoint : callable, optional
        Called once a minute with the run until now, as if it had been stopped there, and when a
        signal is about to stop it.
    resume : Checkpoint, optional
        From which to go on; `policy` and rules must be those of the interrupted run. What the
        policy's session remembered comes from the checkpoint, which holds plain data.

    Returns
    -------
    Run
        Complete, or up to `until`.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        After Ctrl-C, and after SIGTERM (with exit code 143). The error carries what was simulated,
        with a checkpoint, as its `run`.
    ValueError, TypeError
        On bad input, naming object, value and rule.
    PolicyError
        When the policy raises or decides what cannot be done; carries the run until then.

    Notes
    -----
    On a cluster of several GPU models a gang runs on one of them, the fastest for it on which there
    is room if the policy does not say which, at the job's speed there: 1 everywhere for a job
    without `speeds`, else it cannot run on models that they do not name. GPU seconds count alike on
    all models, in fair shares and quotas too. Jobs with deadlines need one model, at speed 1.

    Jobs with parameter servers have times in slots and need ``round_length=1`` and a policy with
    ``needs_ps = True``, which never preempts, starts them on GPUs and parameter servers that it
    names, and runs no other jobs. Their work is
    the service that they need on what they are given (their method `service`). The run ends where
    nothing runs and nobody comes: whoever still waits is left out.

    A job with predecessors comes when the last of them ends, if it has been released by then: that
    is its release as the policy sees it. Each pod of a job is on one node.

    Jobs that can never run (gang beyond the cluster, without a consolidated place on it, or on no
    model that they can run on) are rejected and listed. A skipped round is one at which nothing
    could have changed: no arrival, no completion, no end of a lease while a job waits, and no
    change that the policy announces. Results do not depend on the number of threads (there is one).

    In the main thread Ctrl-C and SIGTERM are held back until the end of a round, when the program's
    own handlers are told, as :func:`~gangsched.instances.interrupts.held` says: a handler that
    raises ends the run and its error carries it; where it returns, the run goes on. A second signal
    ends at once a policy that thinks, or a callback, but never machine code. A signal that the
    program ignores stays ignored.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id="a", gpus=2, work=100), Job(id="b", gpus=2, work=50, release=10)]
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), Fifo())
    >>> run.records.first.tolist(), run.records.end.tolist()
    ([0, 120], [100, 170])
    """
    rules = Rules(
        round_length=round_length, lease=lease, overhead=overhead, synchronous=synchronous,
        spread=spread, patience=patience, migration=migration,
    )  # fmt: skip
    _check(instance, policy)
    check_kind(instance, policy, rules)
    _check_how(until, skip, resume)
    rejected = rejected_jobs(instance, policy, rules, reject)
    began, by_python = time.perf_counter(), interpreted()
    key = instance_hash(instance)
    machine: Engine
    if resume is not None:
        machine = _restore(resume, key, instance, policy, rules, rejected)
    else:
        machine = _begun(instance, policy, rules, rejected, skip)

    def run_until(now: int, stop: Stop) -> Run:
        compiled = interpreted() == by_python
        return _run(machine, rejected, key, stop, now, seconds_since(began) if compiled else None)

    def tell_progress() -> None:
        if on_progress is not None:
            finished = int(np.count_nonzero(machine.book.phase == Phase.FINISHED))
            on_progress(finished, len(instance.jobs) - len(rejected))

    def keep() -> None:
        if on_checkpoint is not None:
            on_checkpoint(run_until(max(0, machine.now), Stop.INTERRUPTED))

    stop, failure = _advance(machine, until, tell_progress, keep)
    run = run_until(_reached(machine, until, stop), stop)
    if stop is Stop.ERROR:
        place = f"policy {policy.name!r} at {machine.now}: "
        kind = "" if str(failure).startswith(place) else f"{type(failure).__name__}: "
        raise PolicyError(f"{place}{kind}{str(failure).removeprefix(place)}", run) from failure
    if failure is not None:
        failure.run = run  # type: ignore[attr-defined]
        raise failure
    return run


#: rounds between two looks at the outside: where Python decides, and of machine code
FEW, MANY = 16, 4096
#: seconds between two calls of `on_checkpoint`
MINUTE = 60.0


def _advance(
    machine: Engine, until: int | None, progress: Callable[[], None], keep: Callable[[], None]
) -> tuple[Stop, BaseException | None]:
    """Visit the rounds; return why they ended, and the error that ended them."""
    done: bool | None = None
    kept, calling = time.perf_counter(), False

    def call(callback: Callable[[], None]) -> None:
        nonlocal calling
        calling = True
        callback()
        calling = False

    alone = machine.rule is not None
    chunk = MANY if alone else FEW
    with held(lambda: machine.deciding or calling) as signals:
        try:
            while (done := machine.advance(until, chunk)) is None:
                call(progress)
                try:
                    if signals.came or time.perf_counter() - kept >= MINUTE:
                        call(keep)
                        kept = time.perf_counter()
                finally:
                    signals.deliver()
            signals.deliver()
        except BaseException as error:
            if error is signals.raised or isinstance(error, KeyboardInterrupt):
                return ENDS[done], error
            if not isinstance(error, Exception):
                raise
            return Stop.ERROR, error
    return ENDS[done], None


#: by what an engine says at the end
ENDS = {True: Stop.COMPLETED, False: Stop.ITERATION_LIMIT, None: Stop.INTERRUPTED}


def _check(instance: Any, policy: Any) -> None:
    if not isinstance(instance, Instance):
        raise TypeError(f"drive: instance={shortened(repr(instance))} is not an Instance")
    if isinstance(policy, type):
        raise TypeError(f"drive: policy={policy.__name__} is a class, not an object of it")
    if not isinstance(policy, Policy) or not (
        hasattr(policy, "decide") or hasattr(policy, "begin")
    ):
        raise TypeError(f"drive: policy={policy!r} has no name, preempts or decide(state)")
    if not isinstance(policy.preempts, Preempts):
        raise TypeError(
            f"policy {policy.name!r}: preempts={policy.preempts!r} is not a member of Preempts"
        )
    models = models_of(instance)
    if len(models) > 1 and getattr(policy, "one_model", False):
        raise ValueError(
            f"policy {policy.name!r} takes all GPUs for equal, "
            f"but the cluster has GPU models {_named(models)}"
        )
    _check_jobs(instance)
    if len(models) > 1 and instance.kind.equal_gpus:
        raise ValueError(
            f"drive: jobs with deadlines run on one GPU model, the cluster has {_named(models)}"
        )


@remembered
def _check_jobs(instance: Instance[Any]) -> None:
    models = models_of(instance)
    for job in instance.jobs:
        job.check_drive(models)


def check_kind(instance: Instance[Any], policy: Policy, rules: Rules) -> None:
    """Refuse a policy, or rules, that are for jobs without parameter servers, or only for others.

    Raises
    ------
    ValueError
    """
    if not getattr(policy, "pods", True):
        _check_pods(instance, policy, rules)
    if not instance.kind.needs_ps:
        if instance.jobs and getattr(policy, "needs_ps", False):
            raise ValueError(
                f"policy {policy.name!r}: job {instance.jobs[0].id!r} has no parameter servers, "
                "it runs no other jobs"
            )
        return
    kind = f"policy {policy.name!r}: jobs with parameter servers"
    if rules.round_length != 1:
        raise ValueError(
            f"drive: round_length={rules.round_length}, times of jobs with parameter servers are "
            "slots, they need round_length=1"
        )
    if not getattr(policy, "needs_ps", False):
        raise ValueError(
            f"{kind} need a policy that starts them on nodes of its choice: with needs_ps=True"
        )
    if policy.preempts is not Preempts.NEVER:
        raise ValueError(f"{kind} never stop, preempts={policy.preempts!r} is not NEVER")


def _check_pods(instance: Instance[Any], policy: Policy, rules: Rules) -> None:
    """Refuse jobs with pods that a policy might break, which takes no notice of them."""
    anywhere, sizes = rules.spread or instance.kind.spreads, {*instance.cluster.sizes}
    for job in instance.jobs:
        whole = all(job.gpus <= size or size % job.pod == 0 for size in sizes if job.pod > 1)
        if job.pod > 1 and (anywhere or not whole):
            raise ValueError(
                f"policy {policy.name!r}: it names nodes and takes no notice of pods, "
                f"job {job.id!r} has pods of {job.pod} GPUs"
            )


def _named(models: Sequence[str]) -> str:
    return ", ".join(map(repr, models))


def _check_how(until: Any, skip: Any, resume: Any) -> None:
    if until is not None:
        if isinstance(until, bool) or not isinstance(until, (int, np.integer)):
            raise TypeError(f"drive: until={until!r} is not an integer or None")
        if not 0 <= until < LAST:
            raise ValueError(f"drive: until={until} is not within 0 and {LAST - 1}")
    if not isinstance(skip, (bool, np.bool_)):
        raise TypeError(f"drive: skip={skip!r} is not True or False")
    if resume is not None and not isinstance(resume, Checkpoint):
        raise TypeError(f"drive: resume={resume!r} is not a Checkpoint")


def rejected_jobs(
    instance: Instance[Any],
    policy: Policy,
    rules: Rules,
    reject: Collection[int] | Mapping[int, str],
) -> dict[int, str]:
    """Return the jobs that never run here, by number, with the reason."""
    found = {} if instance.kind.needs_ps else _without_place(instance, rules)
    unable = unable_jobs(policy, instance, rules)
    if not isinstance(reject, Mapping):
        numbers = _numbers(instance, reject)
        reject = {j: f"job {instance.jobs[j].id!r}: left out" for j in numbers}
    for reasons in (unable, reject):
        for j in _numbers(instance, reasons):
            found.setdefault(j, reasons[j])
    return dict(sorted(found.items()))


def _without_place(instance: Instance[Any], rules: Rules) -> dict[int, str]:
    """Jobs for which there is no place on the empty cluster, with the reason."""
    models, sizes = models_of(instance), instance.cluster.sizes
    number = {model: g for g, model in enumerate(models)}
    kinds = [number[node.model] for node in instance.cluster.nodes]
    found, kind = _kinds(instance)
    never = [
        place_by_speed(gpus, sizes, sizes, kinds, able, spread=rules.spread, pod=pod) is None
        for gpus, pod, able in found
    ]
    jobs = np.flatnonzero(np.array(never, dtype=np.bool_)[kind]).tolist() if any(never) else ()
    return {j: _why_never(instance, instance.jobs[j]) for j in jobs}


@remembered
def _kinds(instance: Instance[Any]) -> tuple[list[tuple[int, int, list[bool]]], Ints]:
    """Gangs, pods and whether jobs can run on each model, and which of these is each job's."""
    sets, reach = reaches(job_speeds(instance))
    pods, which = distinct(columns_of(instance)["pod"])
    codes = columns_of(instance)["gpus"] * pods.size + which
    kinds, kind = distinct(codes * len(sets) + reach)
    parts = [(*divmod(k // len(sets), pods.size), sets[k % len(sets)]) for k in kinds.tolist()]
    return [(gpus, int(pods[i]), able.tolist()) for gpus, i, able in parts], kind


def _why_never(instance: Instance[Any], job: Job) -> str:
    """Why a job has no place."""
    cluster, every, owner = instance.cluster, models_of(instance), f"job {job.id!r}"
    models = [model for model in every if job.speed_on_model(model)]
    if job.gpus > cluster.gpus:
        return f"{owner}: gpus={job.gpus} exceeds the cluster's {cluster.gpus}"
    if not models:
        pin = f"pin={job.pin!r} and " if job.pin else ""
        return (
            f"{owner}: {pin}speeds on {_named(list(job.speeds))} leave none of the cluster's GPU "
            f"models {_named(every)}"
        )
    most = max(sum(node.gpus for node in cluster.nodes if node.model == m) for m in models)
    if job.gpus > most:
        return f"{owner}: gpus={job.gpus} exceeds the {most} of one model, of {_named(models)}"
    if job.pod:
        return (
            f"{owner}: its {counted(job.gpus // job.pod, 'pod')} of {job.pod} GPUs do not fit the "
            f"nodes{' of one model' * (len(every) > 1)}"
        )
    if len(every) == 1:
        return f"{owner}: gpus={job.gpus} has no consolidated place on the cluster"
    return (
        f"{owner}: gpus={job.gpus} has no consolidated place on nodes of one model, "
        f"of {_named(models)}"
    )


def _numbers(instance: Instance[Any], jobs: Collection[int]) -> list[int]:
    for j in jobs:
        if isinstance(j, bool) or not isinstance(j, (int, np.integer)):
            raise TypeError(f"reject: job {j!r} is not a number")
        if not 0 <= j < len(instance.jobs):
            raise ValueError(f"reject: job {j} is not one of the {len(instance.jobs)} jobs")
    return [int(j) for j in jobs]


def new_tables(instance: Instance[Any], rules: Rules, rejected: Collection[int]) -> Tables:
    """Return the columns of a cluster before the first round."""
    jobs, columns = instance.jobs, columns_of(instance)
    n, release = len(jobs), columns["release"]
    weights = [user.weight for user in instance.users] or [1.0]
    sizes = np.array(instance.cluster.sizes, dtype=np.int64)
    table, nodes, users = np.zeros(n, JOB), np.zeros(sizes.size, NODE), np.zeros(len(weights), USER)
    for name, column in columns.items():
        table[name] = column
    table["left"] = table["work"]
    table["visible"] = -(-release // rules.round_length) * rules.round_length
    table["overhead"], table["split_speed"] = rules.overhead, FULL_SPEED
    table["migration"] = rules.overhead if rules.migration is None else rules.migration
    for j, job in enumerate(jobs if instance.kind.spreads else ()):
        table["split_speed"][j] = job.speed_on(job.gpus, 2, job.gpus)
        if (cost := job.resumption) is not None:
            table["overhead"][j] = table["migration"][j] = cost
    table["rank"][np.argsort(release, kind="stable")] = np.arange(n)
    table["phase"][list(rejected)] = Phase.REJECTED
    if not table["limit"][table["phase"] != Phase.REJECTED].all():
        table["limit"] = 0
    followers = _followers(instance, table)
    for name in ("blocked", "first", "end"):
        table[name] = -1
    models = models_of(instance)
    nodes["size"] = nodes["free"] = sizes
    nodes["model"] = [models.index(node.model) for node in instance.cluster.nodes]
    users["quota"] = FairShares(int(sizes.sum()), weights, by="demand").quotas
    return Tables(table, nodes, users, models, job_speeds(instance).copy(), followers)


def _followers(instance: Instance[Any], table: NDArray[Any]) -> Ints:
    """Note whom jobs wait for; whoever is rejected holds nobody, but whom it waited for does."""
    table["ahead"] = 1
    if not any(map(attrgetter("after"), instance.jobs)):
        return np.zeros(0, dtype=np.int64)
    number = {job.id: j for j, job in enumerate(instance.jobs)}
    kept = {id for id, j in number.items() if table["phase"][j] != Phase.REJECTED}
    pairs = [
        (number[before], number[id])
        for id, ahead in predecessors(instance.jobs, kept).items()
        for before in ahead
    ]
    before, after = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    table["ahead"] += np.bincount(after, minlength=table.size)
    table["visible"][after] = LATER
    table["follow_end"] = np.cumsum(np.bincount(before, minlength=table.size))
    table["follow_at"][1:] = table["follow_end"][:-1]
    return after.copy()


@remembered
def columns_of(instance: Instance[Any]) -> dict[str, Any]:
    """What the tables take from the jobs, by name."""
    jobs = instance.jobs
    number = {user.id: u for u, user in enumerate(instance.users)}
    unknown = instance.kind.needs_ps  # until they start
    work = [0] * len(jobs) if unknown else _column(jobs, "work")
    found = {
        "gpus": np.array(_column(jobs, "gpus"), dtype=np.int64),
        "pod": np.array(_column(jobs, "pod"), dtype=np.int64),
        "limit": np.array([job.limit or 0 for job in jobs], dtype=np.int64),
        "work": np.array(work, dtype=np.int64),
        "release": np.array(_column(jobs, "release"), dtype=np.int64),
        "user": np.array([number.get(user, 0) for user in _column(jobs, "user")], dtype=np.int64),
        "weight": np.array(_column(jobs, "weight"), dtype=np.float64),
    }
    for column in found.values():
        column.flags.writeable = False
    return found


def _column(things: Sequence[Any], name: str) -> list[Any]:
    return list(map(attrgetter(name), things))


def _begun(
    instance: Instance[Any],
    policy: Policy,
    rules: Rules,
    rejected: Collection[int],
    skip: bool,
) -> Engine:
    """The engine before the first round, with a new session."""
    session = begin(policy, instance.cluster, instance.users, rules)
    tables = new_tables(instance, rules, rejected)
    return ENGINE(instance, policy, session, rules, tables, skip=skip)


def _restore(
    resume: Checkpoint,
    key: str,
    instance: Instance[Any],
    policy: Policy,
    rules: Rules,
    rejected: Collection[int],
) -> Engine:
    """The engine as it was, with a session of this policy that goes on."""
    if resume.instance_hash != key:
        raise ValueError("drive: resume is a checkpoint of another instance")
    try:
        data = unpack(resume.data)
    except ValueError as error:
        raise ValueError(f"drive: resume: {error}") from None
    own = _title(policy)
    if data["policy"] != own:
        raise ValueError(
            f"drive: resume is a checkpoint of policy {data['policy'][0]!r} {data['policy'][1]}, "
            f"not of {own[0]!r} {own[1]}"
        )
    before = Rules(**data["rules"])
    if before != rules:
        raise ValueError(f"drive: resume is a checkpoint under {before}, not {rules}")
    if data["rejected"] != list(rejected):
        raise ValueError(
            f"drive: resume is a checkpoint with {len(data['rejected'])} rejected jobs, other than "
            f"the {len(rejected)} of now"
        )
    machine = _begun(instance, policy, rules, rejected, data["skip"])
    try:
        machine.load(data["machine"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"drive: resume cannot be read: {error}") from None
    if data["session"] is not None:
        machine.session.load(data["session"])  # type: ignore[attr-defined]
    return machine


def _title(policy: Policy) -> list[Any]:
    return [policy.name, plain(parameters_of(policy))]


def _reached(machine: Engine, until: int | None, stop: Stop) -> int:
    """The time up to which everything is known."""
    if stop is Stop.COMPLETED:
        book = machine.book
        left_out = book.visible[book.phase == Phase.WAITING]
        return int(max(book.end.max(initial=0), left_out.max(initial=0)))
    if stop is Stop.ITERATION_LIMIT and until is not None:
        length = machine.rules.round_length
        return max(0, until // length * length)
    return max(0, machine.now)


#: columns of the tables that a run keeps as they are, and those of them that it shares with others
RECORDED = ("work", "visible", "first", "end", "starts", "fair_before")
SHARED = ("user", "gpus", "release", "weight")


def _run(
    machine: Engine,
    rejected: Mapping[int, str],
    key: str,
    stop: Stop,
    now: int,
    runtime: float | None,
) -> Run:
    instance, book, policy = machine.instance, machine.book, machine.policy
    current = book.held_gpus * (now - book.since)
    segments = machine.schedule(now)
    unfinished = stop in (Stop.INTERRUPTED, Stop.ITERATION_LIMIT)
    log = getattr(machine.session, "log", ())
    return Run(
        policy=policy.name,
        parameters=parameters_of(policy),
        rules=machine.rules,
        instance=instance,
        instance_name=instance.name,
        instance_hash=key,
        seed=getattr(policy, "seed", None),
        stop=stop,
        now=now,
        sizes=instance.cluster.sizes,
        users=tuple(user.id for user in instance.users) or ("",),
        user_weight=np.array([user.weight for user in instance.users] or [1.0]),
        records=Records(
            id=tuple(_column(instance.jobs, "id")),
            **{name: getattr(book, name) for name in RECORDED},
            **{name: columns_of(instance)[name] for name in SHARED},
            rejected=book.phase == Phase.REJECTED,
            left=book.left - book.done(slice(None), now),
            held=book.held + current,
            fair=machine.fair_at(now),
        ),
        events=machine.event_log(),
        schedule=_with_ps(segments, book.ps) if book.ps else segments,
        rejected=tuple(rejected.items()),
        log=tuple(log) if isinstance(log, (list, tuple)) else (),
        rounds=machine.rounds,
        decisions=machine.decisions,
        runtime=runtime,
        versions=versions(),
        information=information_of(policy),
        offline=is_offline(policy),
        checkpoint=_checkpoint(machine, rejected, key) if unfinished else None,
    )


def _with_ps(segments: Schedule, ps: Mapping[int, Mapping[int, int]]) -> Schedule:
    """Segments with the parameter servers of their jobs, on nodes without workers too."""
    return Schedule.of(
        replace(row, gpus={**dict.fromkeys(ps[row.job], 0), **row.gpus}, ps=ps[row.job])
        for row in segments
    )


def _checkpoint(machine: Engine, rejected: Collection[int], key: str) -> Checkpoint | None:
    """From which the run can go on; None, with a warning, where its session cannot be saved."""
    content = {
        "made_by": versions()["gangsched"],
        "instance": key,
        "policy": _title(machine.policy),
        "rules": asdict(machine.rules),
        "rejected": list(rejected),
        "skip": bool(machine.skip),
        "machine": machine.save(),
    }
    try:
        return Checkpoint(pack({**content, "session": saved(machine.session, machine.policy)}), key)
    except Exception as error:  # whatever somebody's session raises
        logger.warning("policy %r: this run cannot be resumed: %s", machine.policy.name, error)
        return None


def parameters_of(policy: object) -> dict[str, Any]:
    """The fields of a policy that is a dataclass; others have none that can be seen."""
    if not is_dataclass(policy) or isinstance(policy, type):
        return {}
    return {
        part.name: _plain_policy(getattr(policy, part.name))
        for part in fields(policy)
        if part.init and part.name not in ("name", "preempts")
    }


def _plain_policy(value: Any) -> Any:
    """A parameter; of a policy that is no dataclass what can be told of it."""
    return {"kind": type(value).__name__} if is_policy(value) and not is_dataclass(value) else value
