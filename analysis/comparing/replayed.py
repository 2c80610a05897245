"""What a replay has found: a row for each policy that ran to the end, and what is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.irmp.problem import Irmp
from ...formulations.problem import Sense
from ...instances.io import instance_hash
from ...instances.model import Instance, Job
from ...solvers.policy import Rules
from ...solvers.result import Bound, Stop
from ..driving import metrics
from ..driving.run import EventKind, Run
from ..driving.speeds import models_of
from ..driving.waits import Wait, longest_waits
from ..proofs.bound import MAKERS, Effort
from ..proofs.gpu_prices import GpuPrices
from ..proofs.model_prices import model_price_bound
from ..proofs.prices import price_bound
from .comparison import ratio
from .fairness import Fairness
from .losses import LossLedger
from .measures import (
    REVENUE,
    REWARDS,
    ROUNDING,
    KnownSchedule,
    MeasuredJobs,
    holds,
    sense_of,
)
from .profiling import ProfiledBound
from .revenue import fairness_variance
from .sharing import SharingBounds, user_columns
from .shown import Shown

__all__ = ["Failure", "Replay", "Replayed", "taken_apart"]

#: of the usual measures, those that do not take jobs for gangs of one size
USUAL = (
    *("jobs", "finished", "unfinished", "rejected", "mean_completion", "median_completion"),
    *("mean_wait", "max_wait", "utilisation", "utilisation_end"),
)
RECORDED = "recorded"  #: the row of the log's own schedule
#: parameters of a problem that say how its jobs run
TERMS = ("worker_bandwidth", "ps_bandwidth", "horizon", "clock", "optional")


def taken_apart(subject: Any) -> tuple[Instance[Any], Irmp | None]:
    """Return the instance of what is replayed, and the problem of jobs with utilities.

    Examples
    --------
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> taken_apart(reduced_problem(5).instance)[1]
    Irmp(5 jobs, 25 nodes, 2 users)
    """
    if isinstance(subject, Irmp):
        return subject.instance, subject
    if not isinstance(subject, Instance):
        raise TypeError(f"replay: a {type(subject).__name__} is neither an Instance nor an Irmp")
    return subject, Irmp(subject) if subject.kind.needs_ps else None


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """One policy that ran to the end.

    Parameters
    ----------
    name : str
        In the comparison; that of a policy that looked at jobs that had not come says so.
    run : Run
    measures : mapping of str to number or None
        As of :func:`gangsched.analysis.driving.metrics.summary`.
    ratios : mapping of str to float or None
        By measure: what the run attained over the verified bound, at least 1. None where there is
        no verified bound or it is 0, and for completion times where the run is `elastic`: the
        bounds are those of gangs. "reward": the verified bound over the reward that was won; of an
        elastic run with the bound for such runs. "reward after profiling": the bound for those who
        profile first, of a run that does.
    deadlines : mapping of str to number or None, optional
        As of :func:`gangsched.analysis.driving.metrics.deadline_summary`, for jobs with deadlines.
    elastic : bool
        Whether jobs made progress on other numbers of GPUs than their gangs.
    users : mapping of str to mapping of str to float or None, optional
        On several GPU models by user: mean "gpus" held and "work" rate in GPUs at speed 1, and the
        "share", its work over that of its fair share: as of
        :func:`gangsched.analysis.driving.metrics.user_work_rho`.
    alone : mapping of str to value, optional
        Of the users, against alone on their quotas: as of
        :meth:`gangsched.analysis.comparing.sharing.SharingBounds.measures`.
    revenue : mapping of str to number or None, optional
        As of :func:`gangsched.analysis.driving.metrics.revenue_summary`, for jobs with utilities,
        and the "share_of_bound". Of these "revenue" alone has a ratio: the verified bound over it.
    compared : Run, optional
        Of which the ratios are, where not of `run`: for the log's own schedule, as of
        :func:`gangsched.analysis.comparing.recorded.as_read`.
    """

    name: str
    run: Run
    measures: Mapping[str, float | int | None]
    ratios: Mapping[str, float | None]
    deadlines: Mapping[str, float | int | None] | None = None
    elastic: bool = False
    users: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    alone: Mapping[str, Any] = field(default_factory=dict)
    revenue: Mapping[str, float | int | None] | None = None
    compared: Run | None = None

    @classmethod
    def of(cls, name: str, run: Run, found: Replay, *, compared: Run | None = None) -> Replayed:
        """Measure a run of a replay's jobs, and compare it, or another one, with the bounds."""
        name = f"{name} (offline)" if run.offline else name
        measures, bounds, compared = metrics.summary(run), found.bounds, compared or run
        alone = {} if found.problem is not None else found.sharing.measures(run)
        if not found.submitted:
            measures |= dict.fromkeys(WAITS)
            alone = {n: value for n, value in alone.items() if not n.startswith("user_wait")}
        same = {j for j, _ in run.rejected} == set(found.rejected)
        if found.problem is not None:
            won = earned(found.problem, run)
            whole = run.stop is Stop.COMPLETED and same
            times = certified(REVENUE, won["revenue"] if whole else None, bounds.get(REVENUE))
            return cls(
                name=name,
                run=run,
                measures={name: measures[name] for name in USUAL},
                ratios={REVENUE: times},
                revenue={**won, "share_of_bound": None if times is None else 1 / times},
            )
        attained, elastic = metrics.objectives(compared), metrics.is_elastic(run)
        ratios = {
            name: certified(name, attained[name], bound) if same and not elastic else None
            for name, bound in bounds.items()
            if name not in REWARDS
        }
        rewards = None
        if found.has_deadlines:
            rewards = metrics.deadline_summary(run)
            won_most = metrics.deadline_summary(compared)["reward"]
            reward = won_most if same and not measures["unfinished"] else None
            ratios["reward"] = certified("reward", reward, bounds.get(REWARDS[elastic]))
        if run.policy == RECORDED:
            ratios = {n: None if r is None or r < 1 else r for n, r in ratios.items()}
        return cls(
            name=name,
            run=run,
            compared=compared,
            measures=measures,
            ratios=ratios,
            deadlines=rewards,
            elastic=elastic,
            users=user_columns(run),
            alone={} if elastic or not same else alone,
        )

    @cached_property
    def values(self) -> dict[str, Any]:
        """What columns show of it, by name."""
        return {
            **self.measures,
            **(self.deadlines or {}),
            **(self.revenue or {}),
            **self.alone,
            **{f"{name}_ratio": value for name, value in self.ratios.items()},
            "name": self.name,
            "run_times": self.information,
            "runtime": None if self.recorded else self.run.runtime,
        }

    def attained(self, name: str) -> float | None:
        """Return what it attained of a measure; no reward where it does not keep gangs."""
        if self.revenue is not None:
            return self.revenue[name]
        run = self.compared or self.run
        if name == "reward":
            known = not self.elastic and self.deadlines is not None
            return metrics.deadline_summary(run)["reward"] if known else None
        return metrics.objectives(run)[name]

    @property
    def complete(self) -> bool:
        """Whether the run went on to its end: all jobs that can run are complete, or left out."""
        return self.run.stop is Stop.COMPLETED

    @property
    def recorded(self) -> bool:
        """Whether it is the log's own schedule."""
        return self.run.policy == RECORDED

    @cached_property
    def information(self) -> str:
        """How the policy knew run times: "known", "learned", "estimated" from known ones, etc."""
        return information_in(self.run)

    @property
    def would_plan(self) -> bool:
        """Whether the policy goes by limits of users where there are some."""
        return self.run.parameters.get("overestimate", 0) is None


def information_in(run: Run) -> str:
    """Return how the policy of a run knew run times, as :attr:`Replayed.information`."""
    if run.policy == RECORDED:
        return "recorded"
    profiles = any((k == EventKind.PROFILE).any() for k in run.events.pieces("kind"))
    if run.information == "profiled" and run.parameters.get("dedicated"):
        return "after profiling on dedicated nodes"
    if profiles or run.information == "profiled":
        return "after profiling"
    if run.information is None:
        return "unknown"
    if run.parameters.get("overestimate", 0) is None and all(job.limit for job in jobs_of(run)):
        return "limits"
    return "estimated" if run.parameters.get("overestimate") else run.information


def jobs_of(run: Run) -> list[Job]:
    """Jobs that can run."""
    every = enumerate(run.require_instance().jobs)
    return [job for j, job in every if not run.records.rejected[j]]


#: measures that say nothing where a log does not tell when jobs were submitted
WAITS = ("mean_wait", "p95_wait", "max_wait", "waited_hour")


def certified(name: str, value: float | None, bound: Bound | None) -> float | None:
    """Return the ratio of a measure to its bound; what is equal but for rounding may look better.

    Sums of fractions are rounded, here and in the bound.
    """
    sense = sense_of(name)
    if value is not None and bound is not None:
        gained = bound.value - value if sense is Sense.MIN else value - bound.value
        value = bound.value if 0 < gained <= ROUNDING * abs(bound.value) else value
    return ratio(value, bound, sense)


def earned(problem: Irmp, run: Run) -> dict[str, Any]:
    """Return what a run is measured by, by name."""
    found = metrics.revenue_summary(run, problem.clock)
    return {**found, "fairness variance": fairness_variance(problem, run.schedule)}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One policy that did not run to the end by its own fault.

    Parameters
    ----------
    name : str
        In the comparison.
    reason : str
        Kind and message of what it raised, or the rules that its run breaks.
    refuted : bool
        True where a printed algorithm has shown that it cannot go on, which is a finding.
    """

    name: str
    reason: str
    refuted: bool = False


@dataclass(frozen=True, kw_only=True)
class Replay(Shown):
    """Several policies on one instance; made by :func:`replay`.

    Parameters
    ----------
    instance : Instance
    rules : Rules
    rejected : mapping of int to str
        Number of each job that no policy was given, and why.
    bounds : mapping of str to Bound
        Verified lower bounds by measure of
        :class:`~gangsched.formulations.completion_time.CompletionTime`, over the jobs that were not
        rejected. Where they have deadlines also verified upper bounds "reward" of the rewards of
        gangs, and "elastic reward", if a run was elastic, of jobs that may change their number of
        GPUs, as in :class:`~gangsched.formulations.deadline_rewards.DeadlineRewards`. Of jobs with
        utilities only the "revenue".
    known : mapping of str to KnownSchedule
        By measure a schedule in which gangs spread over any nodes of a model, and pauses and
        moves are free: the best of some orders of :func:`~gangsched.solvers.ours.pool.area_order`,
        checked by the problem. "reward": a schedule on nodes in which pauses and moves are free, of
        :func:`~gangsched.solvers.ours.reward_pool.priced_schedule`, checked likewise. "revenue":
        one of :func:`~gangsched.solvers.ours.irmp.lists.lp_list`, which knows all jobs in advance.
    profiled : ProfiledBound or None
        What those can win who profile first, if some of the rows do.
    fairness : tuple of (str, Problem, Bound)
        Verified upper bounds of how fair anyone could have been: what is bounded, in words, the
        problem for which the bound can be verified, and the bound.
    rows : tuple of Replayed
        In the order of the policies.
    failed : tuple of Failure
    stopped : Run or None
        The run that an interrupt stopped, with its checkpoint (unless it was at its end).
    unfinished : tuple of str
        Policies that an interrupt kept from finishing.
    effort : {"quick", "standard", "full"}
        Of bounds and best known schedules.
    unrecorded : str
        Why there is no row of the log's own schedule, where one was wanted.
    sharing : SharingBounds
        Bounds of the worst user, against alone on its quota.
    ledgers : mapping of str to LossLedger or str
        By row, of what its loss over the bound consists, or why nobody knows; empty where nobody
        asked.
    problem : Irmp or None
        Of jobs with utilities: the terms under which all rows run.
    doubts : tuple of str
        What had to be assumed to read the log of the jobs.
    submitted : bool
        Whether the log tells when jobs were submitted; else nothing is known of waits.
    """

    instance: Instance[Any]
    rules: Rules
    rejected: Mapping[int, str]
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    fairness: tuple[Fairness, ...] = ()
    rows: tuple[Replayed, ...] = ()
    failed: tuple[Failure, ...] = ()
    stopped: Run | None = None
    unfinished: tuple[str, ...] = ()
    effort: Effort = "quick"
    unrecorded: str = ""
    known: Mapping[str, KnownSchedule] = field(default_factory=dict)
    sharing: SharingBounds = field(default_factory=SharingBounds)
    profiled: ProfiledBound | None = None
    ledgers: Mapping[str, LossLedger | str] = field(default_factory=dict)
    problem: Irmp | None = None
    doubts: tuple[str, ...] = ()
    submitted: bool = True

    @property
    def instance_hash(self) -> str:
        """Of the instance."""
        return instance_hash(self.instance)

    @property
    def has_deadlines(self) -> bool:
        """Whether jobs have deadlines."""
        return self.instance.kind.has_deadlines

    @property
    def terms(self) -> dict[str, Any]:
        """Under which terms jobs with utilities run, by name of the parameter; else nothing."""
        if self.problem is None:
            return {}
        given = self.problem.parameters()
        return {name: given[name] for name in TERMS}

    @property
    def runs(self) -> dict[str, Run]:
        """The complete runs by name."""
        return {row.name: row.run for row in self.rows}

    @property
    def by_model(self) -> dict[str, Run]:
        """The complete runs of which it is known on which GPU models jobs ran."""
        models = models_of(self.instance)
        return {
            n: run for n, run in self.runs.items() if models_of(run.require_instance()) == models
        }

    @cached_property
    def price_bound(self) -> Bound | None:
        """A verified bound of the sum of completion times by prices of GPU time.

        That of the bounds, if it is by prices; else another one, of the same effort. None where
        nothing is proven about completion times.
        """
        best = self.bounds.get("flow")
        if best is None or GpuPrices.of(best) is not None:
            return best
        problem = CompletionTime(MeasuredJobs.of(self.instance, self.rejected).instance, "flow")
        maker = model_price_bound if problem.mixed else price_bound
        how = MAKERS[CompletionTime][self.effort].options
        bound = maker(
            problem,
            rounds=how.get("model_steps" if problem.mixed else "steps", 0),
            halvings=how.get("halvings", 0),
        )
        return bound if holds("flow", problem, bound) else None

    def waits(self, most: int = 5) -> dict[str, tuple[Wait, ...]]:
        """Return by row why the jobs that waited longest did, and what GPUs were worth meanwhile.

        Parameters
        ----------
        most : int
            How many jobs of each row; as of
            :func:`~gangsched.analysis.driving.waits.longest_waits`, with the prices of
            :meth:`price_bound`.
        """
        prices = GpuPrices.of(self.price_bound)
        runs = self.by_model if self.submitted else {}
        return {name: longest_waits(run, most, prices=prices) for name, run in runs.items()}

    @property
    def best_known(self) -> dict[str, tuple[float, str]]:
        """By measure the best objective of known schedules and of rows, and whose it is."""
        found = {}
        for name, schedule in self.known.items():
            values = [(schedule.objective, schedule.order)]
            values += [
                (float(attained), row.name)
                for row in self.rows
                if row.ratios.get(name) is not None
                and (not row.recorded or row.name in self.by_model)
                and (attained := row.attained(name)) is not None
            ]
            sign = 1 if sense_of(name) is Sense.MIN else -1
            value, whose = min((sign * value, whose) for value, whose in values)
            found[name] = sign * value, whose
        return found

    @property
    def interrupted(self) -> bool:
        """Whether some of the policies did not finish."""
        return bool(self.unfinished)
