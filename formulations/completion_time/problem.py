"""Completion times of gangs: what every policy, online or not, is measured by.

Jobs are gangs with a release, a gang size and an amount of work. They may be interrupted and moved
at any moment without loss; a schedule may also hold GPUs longer than the work takes (overheads,
work done twice). Makespan, total completion time, total flow time or total slowdown is minimised:
``P | size_j, r_j, pmtn | C_max, sum w_j C_j, sum w_j (C_j - r_j)`` in the notation of scheduling
theory. The optimum knows all jobs in advance, so an objective divided by a lower bound of it (see
:mod:`gangsched.analysis.proofs.completion_time`) is at least its ratio to the offline optimum.

Symbols
-------
===========  ===================  ============================================
symbol       here                 unit
===========  ===================  ============================================
M            ``cluster.gpus``     GPUs
D_j          ``job.gpus``         GPUs
r_j          ``job.release``      seconds
W_j          ``job.work``         seconds at speed 1
s_jg         ``speeds[j, g]``     1; in millionths here
p_j          ``seconds[j]``       seconds
w_j          ``job.weight``       1
C_j          last ``segment.end`` seconds
===========  ===================  ============================================

Equations, of no paper: gang (each segment holds D_j GPUs), capacity (of each node), release, work
(segments of a job do not overlap, and what they do is W_j or more), pin (GPU model), model (each
segment is on GPUs of one model on which the job can run).

Speeds
------
On GPUs of model g a gang does s_jg seconds of its work in a second: ``job.speeds``, rounded to
millionths; 1 for a job without speeds. A segment of n seconds does floor(n s_jg): what is less than
a second of work is lost at an interruption, as in the trace driver. s_jg is 0 where the job cannot
run: on models that its speeds do not name, that are not its pin, or that have fewer than D_j GPUs
in all. p_j = ceil(W_j / max_g s_jg) is the time on its fastest model without any wait; with speeds
of 1, p_j = W_j. Slowdowns are over p_j, so that no job is below 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ...instances.arrays import Floats, Ints
from ...instances.check import flag, one_of, set_field
from ...instances.model import FULL_SPEED, Instance, Job
from ...instances.remembered import remembered
from ...instances.schedule import Schedule
from ..breaches import overfull, reference_violations, reruns
from ..problem import Described, Goal, Model, Sense, build, check_instance

Measure = Literal["makespan", "completion", "flow", "slowdown"]

#: times and GPU seconds stay below this: multiples by 20 still fit 64 bits
LIMIT = 2**56
FEW = 5  # breaches of a rule that are named


@dataclass(frozen=True, slots=True)
class CompletionTime(Described):
    r"""Minimise a measure of the completion times of preemptive gangs.

    .. math::

        \max_j C_j, \qquad \sum_j w_j C_j, \qquad \sum_j w_j (C_j - r_j) \qquad \text{or} \qquad
        \sum_j w_j \frac{C_j - r_j}{p_j}

    Parameters
    ----------
    instance : Instance
        Jobs with work, every one of which fits on the GPUs of a model on which it can run.
    measure : {"makespan", "completion", "flow", "slowdown"}
        max_j C_j, sum_j w_j C_j, sum_j w_j (C_j - r_j), or sum_j w_j (C_j - r_j) / p_j. Divided by
        the number of jobs, the last two are the mean job completion time and the mean slowdown.
    weighted : bool
        Whether w_j is the job's weight; it is 1 otherwise. A makespan has no weights.

    Attributes
    ----------
    models : tuple of str
        GPU models, in the order of their first nodes.
    speeds : (jobs, models) int array
        s_jg in millionths, 0 where a job cannot run.
    seconds : tuple of int
        p_j, by job number.
    weights : tuple of int
        w_j times `scale`, by job number.
    scale : int
        The least number that makes all weights integers (they are floats: a power of two).

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Examples
    --------
    A long job alone on its node while a short one waits, and the same with an interruption:

    >>> from gangsched.instances import Cluster, Instance, Job, Segment
    >>> jobs = [Job(id="long", gpus=2, work=4), Job(id="short", gpus=2, work=1, release=1)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "flow")
    >>> in_turn = Schedule.of([Segment(0, 0, 4, {0: 2}), Segment(1, 4, 5, {0: 2})])
    >>> interrupted = Schedule.of(
    ...     [Segment(0, 0, 1, {0: 2}), Segment(1, 1, 2, {0: 2}), Segment(0, 2, 5, {0: 2})]
    ... )
    >>> problem.violations(interrupted)
    []
    >>> problem.objective(in_turn), problem.objective(interrupted)
    (8, 6)
    """

    instance: Instance[Any]
    measure: Measure = "flow"
    weighted: bool = False
    models: tuple[str, ...] = field(init=False, repr=False, compare=False)
    speeds: Ints = field(init=False, repr=False, compare=False)
    seconds: tuple[int, ...] = field(init=False, repr=False, compare=False)
    weights: tuple[int, ...] = field(init=False, repr=False, compare=False)
    scale: int = field(init=False, repr=False, compare=False)

    sense: ClassVar[Sense] = Sense.MIN
    forms: ClassVar[tuple[str, ...]] = ("time-indexed",)

    @property
    def goal(self) -> Goal:  # type: ignore[override]
        """What the measure is called."""
        unit = "seconds" if self.instance.slot == 1 else "slots"
        if self.measure == "makespan":
            return Goal("makespan", unit, unit, end=True)
        kind = {"completion": "ends", "flow": "completion times", "slowdown": "slowdowns"}
        of_times = "" if self.measure == "slowdown" or self.weighted else unit
        name = f"{'weighted ' * self.weighted}sum of {kind[self.measure]}"
        return Goal(name, of_times, unit)

    def __post_init__(self) -> None:
        owner = "CompletionTime"
        check_instance(self)
        one_of(f"{owner}: measure", self.measure, get_args(Measure))
        flag(self, owner, "weighted")
        if self.weighted and self.measure == "makespan":
            raise ValueError(f"{owner}: weighted=True, but a makespan has no weights")
        columns = _columns(self.instance)
        set_field(self, "models", columns.models)
        set_field(self, "speeds", columns.speeds)
        set_field(self, "seconds", columns.seconds)
        if not self.weighted:
            set_field(self, "scale", 1)
            set_field(self, "weights", (1,) * len(self.jobs))
            return
        ratios = [job.weight.as_integer_ratio() for job in self.jobs]
        scale = max((below for _, below in ratios), default=1)  # powers of two
        set_field(self, "scale", scale)
        set_field(self, "weights", tuple(w * (scale // below) for w, below in ratios))

    @property
    def mixed(self) -> bool:
        """Whether there are several GPU models, or a job with a speed other than 1."""
        return len(self.models) > 1 or bool((self.speeds != FULL_SPEED).any())

    @property
    def jobs(self) -> Sequence[Job]:
        """The jobs, by number."""
        return self.instance.jobs

    @property
    def integral(self) -> bool:
        """Whether every objective value is an integer."""
        return self.measure == "makespan" or (self.measure != "slowdown" and self.scale == 1)

    # -- objective and feasibility ---------------------------------------------------------------

    def objective(self, solution: Schedule) -> float:
        """Return the measure of `solution`: an integer where `integral`, else a rounded float.

        Raises
        ------
        ValueError
            If a job has no segment.

        Notes
        -----
        A float is off by a relative 2**-51 at most: its terms are rounded, their sum is exact.
        """
        return self.objective_of(self.ends(solution))

    def objective_of(self, ends: Sequence[int]) -> float:
        """Return the measure where every job is complete at its `ends`."""
        if self.measure == "makespan":
            return max(ends, default=0)
        since = [0 if self.measure == "completion" else job.release for job in self.jobs]
        spans = [end - begin for end, begin in zip(ends, since, strict=True)]
        if self.integral:
            return sum(w * span for w, span in zip(self.weights, spans, strict=True))
        units = [self.scale * d for d in self.divisors()]
        return math.fsum(w * s / u for w, s, u in zip(self.weights, spans, units, strict=True))

    def ends(self, solution: Schedule) -> list[int]:
        """Return C_j of every job, by number.

        Raises
        ------
        ValueError
            If a job has no segment.
        """
        ends = np.zeros(len(self.jobs), dtype=np.int64)
        np.maximum.at(ends, solution.job, solution.end)
        for j in np.flatnonzero(ends == 0)[:1]:
            raise ValueError(f"job {self.jobs[j].id!r}: no segment, so it has no completion time")
        return [int(end) for end in ends]

    def divisors(self) -> list[int]:
        """Return what each span is divided by: p_j for the slowdown, else 1."""
        return list(self.seconds) if self.measure == "slowdown" else [1] * len(self.jobs)

    def rates(self) -> Floats:
        """Return what a second of each job's span costs: w_j, for the slowdown over p_j."""
        over = zip(self.weights, self.divisors(), strict=True)
        return np.array([w / (self.scale * d) for w, d in over])

    def violations(self, solution: Schedule) -> list[str]:
        """Return what `solution` breaks, for each rule the first few.

        Messages start with the rule's name. O(segments log segments).
        """
        broken = reference_violations(self, solution)[:FEW]
        if broken:
            return broken
        broken += self._gang_violations(solution)
        misplaced = [*self._pin_violations(solution), *self._model_violations(solution)]
        broken += misplaced
        broken += self._capacity_violations(solution)
        broken += self._time_violations(solution)
        broken += [] if misplaced else self._work_violations(solution)
        return broken

    def _gang_violations(self, solution: Schedule) -> Iterator[str]:
        held = np.add.reduceat(solution.gpus, solution.ptr[:-1]) if len(solution) else solution.gpus
        gangs = np.array([job.gpus for job in self.jobs], dtype=np.int64)[solution.job]
        for i in _first(held != gangs):
            job = self.jobs[solution.job[i]]
            at = solution.start[i]
            yield f"gang: job {job.id!r} holds {held[i]} of its {job.gpus} GPUs at {at}"

    def _pin_violations(self, solution: Schedule) -> Iterator[str]:
        if not any(job.pin for job in self.jobs):
            return
        owner = np.repeat(solution.job, np.diff(solution.ptr))
        models = np.array([node.model for node in self.instance.cluster.nodes])[solution.node]
        pins = np.array([job.pin for job in self.jobs] or [""])[owner]
        for i in _first((pins != "") & (pins != models)):
            job = self.jobs[owner[i]]
            yield f"pin: job {job.id!r} runs on model {models[i]!s}, pin={job.pin!r}"

    def _model_violations(self, solution: Schedule) -> Iterator[str]:
        if not len(solution):
            return
        kinds = self._kinds()[solution.node]
        first, last = (f.reduceat(kinds, solution.ptr[:-1]) for f in (np.minimum, np.maximum))
        for i in _first(first != last):
            name, at = self.jobs[solution.job[i]].id, solution.start[i]
            some = f"{self.models[first[i]]!r} and {self.models[last[i]]!r}"
            yield f"model: job {name!r} runs on {some} together at {at}"
        never = self.speeds[solution.job, first] == 0
        for i in _first(never & (first == last)):
            job = self.jobs[solution.job[i]]
            if job.pin not in ("", self.models[first[i]]):
                continue  # the pin's own rule
            at, model = solution.start[i], self.models[first[i]]
            yield f"model: job {job.id!r} has no speed on {model!r}, on which it runs at {at}"

    def _kinds(self) -> Ints:
        """Number of each node's GPU model."""
        number = {model: g for g, model in enumerate(self.models)}
        nodes = self.instance.cluster.nodes
        return np.array([number[node.model] for node in nodes], dtype=np.int64)

    def _capacity_violations(self, solution: Schedule) -> Iterator[str]:
        for name, held, size, time in overfull(self, solution)[:FEW]:
            yield f"capacity: node {name!r} holds {held} of its {size} GPUs at {time}"

    def _time_violations(self, solution: Schedule) -> Iterator[str]:
        release = np.array([job.release for job in self.jobs], dtype=np.int64)
        for i in _first(solution.start < release[solution.job]):
            job = self.jobs[solution.job[i]]
            yield f"release: job {job.id!r} starts at {solution.start[i]}, before {job.release}"
        for j, time in reruns(solution)[:FEW]:
            yield f"work: job {self.jobs[j].id!r} runs twice at {time}"

    def _work_violations(self, solution: Schedule) -> Iterator[str]:
        done = self.service(solution)
        at = " at speed 1" if self.mixed else ""
        for j in _first(done < np.array([job.work for job in self.jobs], dtype=np.int64)):
            short = self.jobs[j]
            yield f"work: job {short.id!r} runs for {done[j]} of its {short.work} s{at}"

    def service(self, solution: Schedule) -> Ints:
        """Return the seconds of work that are done for every job, by number.

        Parameters
        ----------
        solution : Schedule

        Returns
        -------
        (jobs,) int array
        """
        done = np.zeros(len(self.jobs), dtype=np.int64)
        if len(solution):
            on = self._kinds()[solution.node[solution.ptr[:-1]]]
            speed, length = self.speeds[solution.job, on], solution.end - solution.start
            many, few = np.divmod(length, FULL_SPEED)  # as their product may exceed 64 bits
            np.add.at(done, solution.job, many * speed + few * speed // FULL_SPEED)
        return done

    # -- declarative model -------------------------------------------------------------------------

    def build(self, form: str = "time-indexed", **options: Any) -> Model[Schedule]:
        """Return the Pyomo model, described in `completion_time_forms`.

        Raises
        ------
        ValueError
            Where `form` is unknown, the model too large, or GPUs are not alike for all jobs.
        """
        return build(self, form, **options)


@dataclass(frozen=True)
class _Columns:
    """What all measures of an instance have in common."""

    models: tuple[str, ...]
    speeds: Ints
    seconds: tuple[int, ...]


@remembered
def _columns(instance: Instance[Any]) -> _Columns:
    """Check the jobs, and find how fast they run."""
    gpus = instance.cluster.gpus
    for job in instance.jobs:
        if job.work is None:
            raise ValueError(
                f"job {job.id!r}: work=None, but completion times need seconds of work"
            )
        if job.gpus > gpus:
            raise ValueError(f"job {job.id!r}: gpus={job.gpus} exceeds the cluster's {gpus}")
    models = tuple(dict.fromkeys(node.model for node in instance.cluster.nodes))
    speeds = _speeds(instance, models)
    fastest = speeds.max(axis=1, initial=1).tolist()
    works = (FULL_SPEED * (job.work or 0) for job in instance.jobs)
    seconds = tuple(-(-work // speed) for work, speed in zip(works, fastest, strict=True))
    end = sum(seconds) + max((job.release for job in instance.jobs), default=0)
    if end * gpus >= LIMIT:
        raise ValueError(
            f"instance: releases and work reach {end} s, which times the cluster's {gpus} GPUs "
            "is 2**56 or more"
        )
    return _Columns(models, speeds, seconds)


def _speeds(instance: Instance[Any], models: tuple[str, ...]) -> Ints:
    """Of each job on each model, in millionths."""
    nodes, jobs = instance.cluster.nodes, instance.jobs
    room = [sum(node.gpus for node in nodes if node.model == model) for model in models]
    speeds = np.full((len(jobs), len(models)), FULL_SPEED, dtype=np.int64)
    for j, job in enumerate(jobs):
        if job.speeds:
            speeds[j] = [round(FULL_SPEED * job.speeds.get(model, 0)) for model in models]
    gangs = np.array([job.gpus for job in jobs], dtype=np.int64)
    pins = np.array([job.pin for job in jobs] or [""])
    for g, model in enumerate(models):
        speeds[(gangs > room[g]) | ((pins != "") & (pins != model))[: gangs.size], g] = 0
    for j in np.flatnonzero(~speeds.any(axis=1))[:1].tolist():
        job = jobs[j]
        raise ValueError(
            f"job {job.id!r}: gpus={job.gpus}, pin={job.pin!r} and speeds={dict(job.speeds)} "
            f"leave no GPU model of {', '.join(map(repr, models))} on which it can run"
        )
    speeds.flags.writeable = False
    return speeds


def _first(wrong: Any) -> list[int]:
    """Where the first few are."""
    return [int(i) for i in np.flatnonzero(wrong)[:FEW]]
