"""Several policies over one instance, side by side, with what is proven about all of them.

Every policy gets the same jobs: what one of them can never run is rejected for all. Before the
first run, bounds are computed that hold for every policy, also for one that knew all jobs in
advance and could suspend and move them for free; so the ratio of what a policy attained to its
bound is a certified ratio on this instance. Only bounds that were verified are kept.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...formulations.irmp.problem import Irmp
from ...formulations.problem import Sense
from ...instances.convert import LogTimes, Ran
from ...instances.io import instance_hash
from ...instances.model import Instance, some_jobs
from ...solvers.ltgf.policy import NeverEnds
from ...solvers.policy import Policy, Rules, is_policy
from ...solvers.result import Bound, Stop
from ..driving import check as check_run
from ..driving import metrics
from ..driving.drive import (
    PolicyError,
    check_kind,
    drive,
    interrupted_run,
    parameters_of,
    rejected_jobs,
)  # fmt: skip
from ..driving.run import Run, plain
from ..proofs.bound import Effort, check_effort
from .comparison import ratio
from .fairness import fairness_bounds
from .measures import MEASURES, SHARING, KnownSchedule, Measure, MeasuredJobs, holds
from .profiling import PROFILED, profiled_bound
from .recorded import as_read, recorded_run, unrecorded
from .regret import ledger as ledgers
from .replayed import RECORDED, Failure, Replay, Replayed, taken_apart
from .sharing import SharingBounds

logger = logging.getLogger("gangsched")

RULES = Rules()
SLOTS = Rules(round_length=1)  #: as times are slots


def replay(
    instance: Instance[Any] | Irmp,
    policies: Mapping[str, Policy],
    *,
    rules: Rules | None = None,
    before: Mapping[str, Run] | None = None,
    times: Sequence[Ran] | LogTimes = (),
    effort: Effort = "quick",
    ledger: bool = False,
    on_progress: Callable[[str, int, int], None] | None = None,
    on_run: Callable[[str, Run], None] | None = None,
    on_checkpoint: Callable[[str, Run], None] | None = None,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Replay:
    """Drive each policy over the instance and measure all of them against verified bounds.

    Parameters
    ----------
    instance : Instance or Irmp
        As of :func:`gangsched.drive`; or jobs with utilities, and the terms under which they run:
        an instance alone is an Irmp with its defaults.
    policies : mapping of str to Policy
        By the name to show. They run in this order. Those with a method `under`, as
        :class:`~gangsched.solvers.ours.irmp.policy.OnlineRevenue`, run under these terms.
    rules : Rules, optional
        Of the cluster, the same for all. Default ``Rules()``, with rounds of one slot for jobs with
        utilities.
    before : mapping of str to Run, optional
        By name, runs of an earlier replay: complete ones are taken as they are, others go on from
        their checkpoints.
    times : LogTimes or sequence of (int or None, int or None), optional
        Of each job when it began and ended by the cluster's own log, as a
        :class:`~gangsched.instances.convert.Conversion` has them: what the cluster did is then the
        first row, "recorded". Where it cannot be shown, the remarks say why. Doubts about how the
        log was read stand beside the certified ratios.
    effort : {"quick", "standard", "full"}
        How much to try for bounds and best known schedules, as of :func:`gangsched.bound`.
    ledger : bool
        Whether to find out of what the losses over the bound consist; see
        :func:`gangsched.analysis.comparing.regret.ledger`.
    on_progress : callable, optional
        Called now and then with what is done now (a policy's name, or "bounds"), the number of jobs
        that finished and the number of jobs that can.
    on_run : callable, optional
        Called with the name and the run of each policy as soon as it has ended, also when it was
        interrupted.
    on_checkpoint : callable, optional
        Called once a minute with the name of the policy that runs and its run until now, which can
        stand in `before` of another replay.
    on_interrupt : {"raise", "return"}
        "return" to be given what Ctrl-C or SIGTERM left, in place of an error that carries it.

    Returns
    -------
    Replay
        A policy that raises, decides what cannot be done, or whose run breaks a rule of the cluster
        stands in `failed`, and the others go on.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        After Ctrl-C, and after SIGTERM while a policy runs, as of :func:`gangsched.drive`. The
        error carries, as its `replay`, the policies that have finished; its `unfinished` names the
        others.
    ValueError, TypeError
        On bad input, naming object, value and rule; also where a run of `before` is of another
        instance, policy, rules or rejected jobs; a policy for jobs with parameter servers and
        others, or the other way round; a ledger of jobs with utilities.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Job
    >>> from gangsched.solvers import Fifo, Srtf
    >>> jobs = [Job(id="long", gpus=2, work=600), Job(id="short", gpus=2, work=60, release=60)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> found = replay(instance, {"fifo": Fifo(), "srtf": Srtf()})
    >>> [(row.name, row.ratios["flow"]) for row in found.rows]    # 600 + 600, 685 + 60; 660 + 60
    [('fifo', 1.6666666666666667), ('srtf', 1.0347222222222223)]
    """
    check_effort("replay", effort)
    if on_interrupt not in ("raise", "return"):
        raise ValueError(f"replay: on_interrupt={on_interrupt!r} is not 'raise' or 'return'")
    rules = rules or rules_of(instance)
    instance, problem = taken_apart(instance)
    policies = on_terms(policies, problem)
    for policy in filter(is_policy, policies.values()):
        check_kind(instance, policy, rules)
    if ledger and problem is not None:
        raise ValueError("replay: ledger=True, the losses of jobs with utilities have none")
    work = _Replay(instance, policies, rules, before or {}, times, effort, problem)
    todo = list(policies)
    run = stopped = None
    try:
        if on_progress is not None:
            on_progress("bounds", 0, 0)
        work.bound(on_progress)
        work.record()
        for name in policies:
            try:
                run = work.call(name, on_progress, on_checkpoint)
            except BaseException as error:
                run = stopped = interrupted_run(error)
                raise
            finally:
                if run is not None and on_run is not None:
                    on_run(name, run)
            todo.remove(name)
        found = work.replay(None, ())
        if ledger:
            todo = ["the ledgers"]
            found = replace(found, ledgers=ledgers(found, policies, on_progress=on_progress))
    except BaseException as error:
        if interrupted_run(error) is None and not isinstance(error, KeyboardInterrupt):
            raise
        logger.warning("interrupted: %s did not finish", ", ".join(todo) or "nothing")
        found = work.replay(stopped, tuple(todo))
        if on_interrupt == "raise":
            error.replay = found  # type: ignore[attr-defined]
            raise
    return found


def rules_of(subject: Instance[Any] | Irmp) -> Rules:
    """Return the rules of the cluster where none are given.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> rules_of(reduced_problem(5)).round_length
    1
    """
    return RULES if taken_apart(subject)[1] is None else SLOTS


def on_terms(policies: Mapping[str, Policy], problem: Irmp | None) -> dict[str, Policy]:
    """Return the policies as they run under the terms of a problem; as they are without one."""
    if problem is None:
        return dict(policies)
    asked: Mapping[str, Any] = policies
    return {
        name: policy.under(problem) if hasattr(policy, "under") else policy
        for name, policy in asked.items()
    }


@dataclass
class _Replay:
    """What a replay has found so far."""

    instance: Instance[Any]
    policies: Mapping[str, Policy]
    rules: Rules
    before: Mapping[str, Run]
    times: Sequence[Ran] | LogTimes
    effort: Effort
    problem: Irmp | None
    found: Replay = field(init=False)
    jobs: MeasuredJobs = field(init=False)
    log: LogTimes = field(init=False)
    bounds: dict[str, Bound] = field(default_factory=dict)
    known: dict[str, KnownSchedule] = field(default_factory=dict)
    failed: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.times and len(self.times) != len(self.instance.jobs):
            raise ValueError(
                f"replay: {len(self.times)} times for {len(self.instance.jobs)} jobs, one for each"
            )
        if self.times and RECORDED in self.policies:
            raise ValueError(f"replay: {RECORDED!r} is the row of the log, name it otherwise")
        self.log = self.times if isinstance(self.times, LogTimes) else LogTimes(tuple(self.times))
        rejected = self._rejected()
        self.jobs = MeasuredJobs.of(self.instance, rejected, self.problem)
        self.found = Replay(
            instance=self.instance, rules=self.rules, rejected=rejected, bounds=self.bounds,
            known=self.known, effort=self.effort, problem=self.problem,
            doubts=self.log.doubts, submitted=self.log.submitted,
        )  # fmt: skip
        for name, run in self.before.items():
            if name in self.policies:
                self._check_before(name, run)

    def _rejected(self) -> dict[int, str]:
        """What the cluster or one of the policies can never run; which policy, if not all."""
        found: dict[int, str] = {}
        who: dict[int, list[str]] = {}
        asked = 0
        for name, policy in self.policies.items():
            try:
                more = rejected_jobs(self.instance, policy, self.rules, ())
            except (Exception, SystemExit) as error:
                self._fail(name, error)
                continue
            asked += 1
            for j, reason in more.items():
                found.setdefault(j, reason)
                who.setdefault(j, []).append(name)
        return {
            j: reason if len(who[j]) == asked else f"{reason} ({', '.join(who[j])})"
            for j, reason in sorted(found.items())
        }

    def _check_before(self, name: str, run: Run) -> None:
        policy = self.policies[name]
        for what, old, new in (
            ("instance", run.instance_hash, instance_hash(self.instance)),
            ("rules", run.rules, self.rules),
            ("policy", run.policy, policy.name),
            ("parameters", run.parameters, plain(parameters_of(policy))),
            ("rejected jobs", dict(run.rejected).keys(), self.found.rejected.keys()),
        ):
            if old != new:
                raise ValueError(f"replay: the earlier run of {name!r} is of other {what}")

    def bound(self, on_progress: Callable[[str, int, int], None] | None) -> None:
        """Compute the bounds, and keep those that can be verified."""
        if not self.jobs.instance.jobs:
            return
        for measure in MEASURES:
            problem = None if measure.elastic else measure.problem(self.jobs)
            if problem is not None:
                self._prove(measure, problem, self.bounds, self.known, on_progress)
        if self.problem is not None:
            return
        fairness = fairness_bounds(self.jobs.instance, self.rules)
        fair = tuple(one for one in fairness if holds(*one))
        sharing = SharingBounds.of(self.jobs)
        bounds, known = dict[str, Bound](), dict[str, KnownSchedule]()
        for measure in SHARING:
            if measure.name in sharing.problems:
                problem = sharing.problems[measure.name]
                self._prove(measure, problem, bounds, known, on_progress)
        best = {name: schedule.objective for name, schedule in known.items()}
        sharing = replace(sharing, bounds=bounds, known=best)
        self.found = replace(self.found, fairness=fair, sharing=sharing)

    def _prove(
        self,
        measure: Measure,
        problem: Any,
        bounds: dict[str, Bound],
        known: dict[str, KnownSchedule],
        on_progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        """Note the bound of a measure, if it can be verified, and the best known schedule."""
        name = measure.name
        show = (
            None if on_progress is None else partial(_tell, on_progress, f"bound of {name}, step")
        )
        bound = measure.bound(problem, self.effort, bounds, show)
        if not holds(measure.name, problem, bound):
            return
        bounds[measure.name] = bound
        best = None
        if measure.known is not None:
            if on_progress is not None:
                show = partial(_tell, on_progress, f"best known {name}, try")
            best = measure.known(problem, bound, self.effort, show)
        if best is not None:
            known[measure.name] = best
            if best.stop is Stop.INTERRUPTED:
                raise KeyboardInterrupt

    def _elastic(self) -> None:
        """Bound the rewards of elastic jobs, once."""
        for measure in MEASURES:
            problem = measure.problem(self.jobs) if measure.elastic else None
            if problem is not None and not any(row.elastic for row in self.found.rows):
                self._prove(measure, problem, self.bounds, self.known)

    def _profiled(self) -> Replay:
        """Bound the rewards of those rows that profile first, and give these their ratios to it."""
        rows = [row for row in self.found.rows if row.ratios.get("reward") and not row.elastic]
        if "reward" not in self.bounds:
            return self.found
        found = profiled_bound(self.jobs.instance, [row.run for row in rows], self.effort)
        if found is None or not holds(PROFILED, found.problem, found.bound):
            return self.found
        measured = list(self.found.rows)
        for k, row in enumerate(measured):
            if any(row.run is run for run in found.runs):
                more = ratio((row.deadlines or {})["reward"], found.bound, Sense.MAX)
                measured[k] = replace(row, ratios={**row.ratios, PROFILED: more})
        return replace(self.found, rows=tuple(measured), profiled=found)

    def record(self) -> None:
        """Measure what the cluster itself did, where its log tells enough."""
        if not any(start is not None for start, _ in self.log):
            return
        able = [j for j in range(len(self.log)) if j not in self.found.rejected]
        own = some_jobs(self.instance, [self.instance.jobs[j] for j in able])
        why = unrecorded(own, replace(self.log, ran=[self.log[j] for j in able]))
        if why:
            self.found = replace(self.found, unrecorded=why)
            return
        run = recorded_run(self.instance, self.found.rejected, self.log)
        row = Replayed.of(RECORDED, run, self.found, compared=as_read(run))
        self.found = replace(self.found, rows=(*self.found.rows, row))

    def call(
        self,
        name: str,
        on_progress: Callable[[str, int, int], None] | None,
        on_checkpoint: Callable[[str, Run], None] | None,
    ) -> Run | None:
        """Run one policy, unless it has run or cannot; note what came out."""
        if any(failure.name == name for failure in self.failed):
            return None
        old, policy = self.before.get(name), self.policies[name]
        try:
            if old is not None and old.stop is Stop.COMPLETED:
                run = old.attach(self.instance)
            else:
                run = drive(
                    self.instance,
                    policy,
                    **asdict(self.rules),
                    reject=self.found.rejected,
                    on_progress=None if on_progress is None else partial(on_progress, name),
                    on_checkpoint=None if on_checkpoint is None else partial(on_checkpoint, name),
                    resume=None if old is None else old.checkpoint,
                )
            self._keep(name, run, policy)
        except (Exception, SystemExit) as error:
            if interrupted_run(error) is not None:
                raise
            self._fail(name, error)
            return None
        return run

    def _keep(self, name: str, run: Run, policy: Policy) -> None:
        broken = check_run.violations(run, preempts=policy.preempts)
        if broken:
            raise ValueError(f"its run breaks the rules of the cluster: {broken[0]}")
        if self.problem is not None and (wrong := self.problem.violations(run.schedule)):
            raise ValueError(f"its run breaks the problem: {wrong[0]}")
        if self.problem is None and metrics.is_elastic(run):
            self._elastic()
        row = Replayed.of(name, run, self.found)
        self.found = replace(self.found, rows=(*self.found.rows, row))

    def _fail(self, name: str, error: BaseException) -> None:
        logger.debug("policy %s failed", name, exc_info=True)
        known = isinstance(error, PolicyError)  # its text names policy, time and cause
        text = str(error) if known else f"{type(error).__name__}: {error}"
        text += _place(error.__cause__ or error, type(self.policies[name]))
        refuted = isinstance(error.__cause__, NeverEnds)
        self.failed.append(Failure(name=name, reason=text, refuted=refuted))

    def replay(self, stopped: Run | None, unfinished: tuple[str, ...]) -> Replay:
        """Return what there is, with what only all rows together tell."""
        failed = tuple(self.failed)
        return replace(self._profiled(), failed=failed, stopped=stopped, unfinished=unfinished)


def _place(error: BaseException, policy: type) -> str:
    """Return where in its own file somebody else's policy failed, if it did so there."""
    if policy.__module__.startswith("gangsched."):
        return ""
    try:
        file = inspect.getfile(policy)
    except (TypeError, OSError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    return f" ({Path(file).name}, line {lines[-1]})" if lines else ""


# --- bounds --------------------------------------------------------------------------------------


def _tell(show: Callable[[str, int, int], None], what: str, step: int, best: float) -> None:
    """Say now and then how far a search is."""
    if step % 10 == 0:
        show(f"{what} {step:,}", 0, 0)
