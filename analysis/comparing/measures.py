"""What a replay has bounds of: a row for each measure.

A row has the problem that the bound is of, what makes it, the best schedule that is shown beside
it, and the column below which both stand. All are of the jobs that were not rejected, and of one
effort, as of :mod:`gangsched.analysis.proofs.bound`.

Jobs with utilities are those of :class:`~gangsched.formulations.Irmp`, which also says how they
run: with which bandwidths, up to when, by which clock, and whether they may be left out. They have
a bound of the revenue alone, which no schedule beats, also none that knows all jobs in advance.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, get_args

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.completion_time.problem import Measure as Times
from ...formulations.deadline_rewards import DeadlineRewards
from ...formulations.irmp.problem import Irmp
from ...formulations.problem import Sense
from ...formulations.sharing_incentive import Reading, SharingIncentive
from ...instances.model import Instance, some_jobs
from ...instances.remembered import remembered
from ...instances.schedule import Schedule
from ...solvers.ours.annealed import Annealing, annealed_models, annealed_run, annealed_users
from ...solvers.ours.end_order import annealed_order, tries_of
from ...solvers.ours.model_order import models_schedule, positive, prices_of, run_models
from ...solvers.ours.pool import run_pool, schedule_of
from ...solvers.ours.reward_pool import priced_schedule
from ...solvers.ours.user_order import Members
from ...solvers.result import Bound, Stop
from ..driving.speeds import models_of
from ..proofs.bound import SCHEDULES, Effort, Progress, strengthened, up_to
from ..proofs.user_prices import tried
from ..proofs.verify import InvalidCertificate, NoCertificate, verify_bound

logger = logging.getLogger("gangsched")

REWARDS = ("reward", "elastic reward")  #: for gangs; for any number of GPUs
REVENUE = "revenue"
MOST_TRIES = 500_000  #: of annealing
USERS_WORK = 4e9  #: of annealing, for each reading: a third of a minute
ROUNDING = 1e-12  #: relative error of a sum of floats


class MeasuredJobs(NamedTuple):
    """The jobs that were not rejected, and with utilities the terms under which they run."""

    instance: Instance[Any]
    problem: Irmp | None = None

    @classmethod
    def of(
        cls, instance: Instance[Any], rejected: Container[int], problem: Irmp | None = None
    ) -> MeasuredJobs:
        """Return the jobs of an instance but for those of these numbers."""
        able = [job for j, job in enumerate(instance.jobs) if j not in rejected]
        rest = some_jobs(instance, able)
        return cls(rest, None if problem is None else replace(problem, instance=rest))


@remembered
def uneven(instance: Instance[Any]) -> bool:
    """Whether there are several GPU models, or speeds other than 1."""
    models = models_of(instance)
    speeds = (job.speeds.get(model, 1) for job in instance.jobs for model in models)
    return len(models) > 1 or any(speed != 1 for speed in speeds)


@dataclass(frozen=True, slots=True)
class KnownSchedule:
    """What a schedule attains, and in which order its jobs run, or how it was found.

    `stop` is INTERRUPTED where Ctrl-C ended the search for a better one.
    """

    objective: float
    order: str
    schedule: Schedule = field(repr=False, compare=False)
    stop: Stop = field(default=Stop.COMPLETED, repr=False)


# --- bounds --------------------------------------------------------------------------------------


def proven(
    problem: Any, effort: Effort, found: Mapping[str, Bound], on_progress: Progress | None
) -> Bound:
    """Return the bound of :func:`gangsched.bound`."""
    return strengthened(problem, None, up_to(effort), None, on_progress)


def _from_flow(
    problem: Any, effort: Effort, found: Mapping[str, Bound], on_progress: Progress | None
) -> Bound:
    """The proof of the flow, counted from time 0."""
    flow = found.get("flow")
    if flow is None:
        return proven(problem, effort, found, on_progress)
    shift = sum(job.release for job in problem.instance.jobs)
    return Bound(flow.value + shift, flow.method, flow.certificate)


def holds(name: str, problem: Any, bound: Bound) -> bool:
    """Whether the bound can be verified; one that cannot is a bug, and is not shown."""
    try:
        verify_bound(problem, bound)
    except (InvalidCertificate, NoCertificate) as error:
        logger.error("bound of %s is left out: %s", name, error)
        return False
    return True


# --- the best known schedules --------------------------------------------------------------------


def _checked(
    problem: Any, schedule: Schedule | None, order: str, stop: Stop = Stop.COMPLETED
) -> KnownSchedule | None:
    """What the schedule attains, if there is one and the problem finds nothing wrong with it."""
    if schedule is None:
        return None
    if broken := problem.violations(schedule):
        logger.error("a best known schedule is left out: %s", broken[0])
        return None
    return KnownSchedule(float(problem.objective(schedule)), order, schedule, stop)


def least_times(
    problem: CompletionTime,
    bound: Bound | None,
    effort: Effort,
    on_progress: Progress | None = None,
) -> Any:
    """Return the best schedule of some orders of :func:`~gangsched.solvers.ours.pool.area_order`.

    Where GPUs are not equal for all jobs, of some prices of
    :func:`~gangsched.solvers.ours.model_order.run_models`. At full effort it is annealed,
    and on equal GPUs, for 300 jobs at most, the order of its ends too.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=4), Job(id="short", gpus=2, work=1, release=1)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([2]), jobs), "flow")
    >>> least_times(problem, None, "quick")
    KnownSchedule(objective=6.0, order='least time left x gang^1')
    """
    powers = SCHEDULES[CompletionTime][effort]
    tries = min(powers["tries"] * len(problem.jobs), MOST_TRIES)
    how = Annealing(tries if problem.measure != "makespan" else 0, on_progress=on_progress)
    learned = ", annealed" if how.tries else ""
    if problem.mixed:
        prices = positive(prices_of(problem))
        made = {power: run_models(problem, prices**power) for power in powers["prices"]}
        power = min(made, key=lambda power: problem.objective_of(made[power].ends.tolist()))
        order = f"least cost left at prices of models^{power:g}{learned}"
        plan = annealed_models(problem, prices**power, how=how) if how.tries else made[power]
        return _checked(problem, models_schedule(problem, plan), order, plan.stop)
    runs = {power: run_pool(problem, power=power) for power in powers["gangs"]}
    power = min(runs, key=lambda power: problem.objective_of(runs[power].ends.tolist()))
    best = annealed_run(problem, power=power, how=how) if how.tries else runs[power]
    order = f"least time left x gang^{power:g}{learned}"
    orders = replace(how, tries=tries_of(len(problem.jobs)))
    if how.tries and orders.tries and best.stop is Stop.COMPLETED:
        best, order = annealed_order(problem, best, orders), f"{order}, then its ends"
    return _checked(problem, schedule_of(problem, best), order, best.stop)


def most_reward(
    problem: DeadlineRewards, bound: Bound, effort: Effort, on_progress: Progress | None = None
) -> KnownSchedule | None:
    """Return what `priced_schedule` of `solvers.ours.reward_pool` wins at a bound's prices.

    Examples
    --------
    >>> from gangsched.analysis.proofs.deadline_rewards import reward_bound
    >>> from gangsched.instances import Cluster, DeadlineJob, Instance
    >>> jobs = [DeadlineJob(id=i, gpus=2, work=5, rewards=[(10, 100)]) for i in "abc"]
    >>> problem = DeadlineRewards(Instance(Cluster.of_sizes([2]), jobs))
    >>> most_reward(problem, reward_bound(problem), "quick").objective
    200.0
    """
    proof, moves = bound.certificate or {}, SCHEDULES[DeadlineRewards][effort]["moves"]
    found = priced_schedule(problem, proof.get("times", ()), proof.get("prices", ()), moves=moves)
    return _checked(problem, found, "value per GPU second, ruin and recreate")


def most_revenue(
    problem: Irmp, bound: Bound, effort: Effort, on_progress: Progress | None = None
) -> KnownSchedule | None:
    """Return what :func:`.ours.irmp.lists.lp_list` earns, which knows all jobs."""
    from ...solvers.ours.irmp.lists import lp_list  # HiGHS takes a while to import

    return _checked(problem, lp_list(problem).solution, "lp-list")


def least_worst(
    problem: SharingIncentive, bound: Bound, effort: Effort, on_progress: Progress | None = None
) -> KnownSchedule | None:
    """Return the best of the schedules from which the bound began; at full effort annealed.

    For 300 jobs at most the order of its ends is annealed too.
    """
    made = SCHEDULES[SharingIncentive][effort]
    if not made["rounds"] or not problem.jobs:
        return None
    begun, order = tried(problem, made["rounds"]).best, "least area left over weights of users"
    tries = min(made["tries"] * len(problem.jobs), MOST_TRIES)
    if not tries or begun.cost(None)[0] <= bound.value * (1 + ROUNDING):
        return _checked(problem, schedule_of(problem.flow, begun.run), order)
    how = Annealing(tries, work=USERS_WORK, on_progress=on_progress)
    run = annealed_users(problem, begun, how=how)
    order, orders = f"{order}, annealed", replace(how, tries=tries_of(len(problem.jobs)))
    if orders.tries and run.stop is Stop.COMPLETED:
        run = annealed_order(problem.flow, run, orders, Members.of(problem))
        order = f"{order}, then its ends"
    return _checked(problem, schedule_of(problem.flow, run), order, run.stop)


#: by problem, what finds the best schedule that is shown beside a bound
KNOWN: Mapping[type, Callable[..., KnownSchedule | None]] = {
    CompletionTime: least_times,
    DeadlineRewards: most_reward,
    Irmp: most_revenue,
    SharingIncentive: least_worst,
}


# --- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measure:
    """One thing of which a replay has a bound.

    Parameters
    ----------
    name : str
    problem : callable
        Of :class:`Jobs`, the problem; None where these have none.
    column : str
        Key of the column below which the bound stands; empty for none.
    known : callable or None
        (problem, bound, effort, on_progress) to the best schedule that is shown; None for none.
    bound : callable
        (problem, effort, bounds so far, on_progress) to the bound.
    mean : bool
        Whether the column has the mean over jobs.
    elastic : bool
        Whether it is for jobs that change their number of GPUs: bounded when a run is one of those.
    """

    name: str
    problem: Callable[[MeasuredJobs], Any]
    column: str = ""
    known: Callable[..., KnownSchedule | None] | None = None
    bound: Callable[..., Bound] = proven
    mean: bool = False
    elastic: bool = False


def _times(name: Times) -> Callable[[MeasuredJobs], CompletionTime | None]:
    return lambda jobs: CompletionTime(jobs.instance, name) if jobs.problem is None else None


def _rewards(elastic: bool) -> Callable[[MeasuredJobs], DeadlineRewards | None]:
    def problem(jobs: MeasuredJobs) -> DeadlineRewards | None:
        due = jobs.problem is None and jobs.instance.kind.has_deadlines
        return DeadlineRewards(jobs.instance, elastic) if due else None

    return problem


def _worst(reading: Reading) -> Callable[[MeasuredJobs], SharingIncentive | None]:
    """None where there are no two users with jobs, or GPUs are not equal for all jobs."""

    def problem(jobs: MeasuredJobs) -> SharingIncentive | None:
        instance = jobs.instance
        users = {job.user for job in instance.jobs}
        if jobs.problem is not None or uneven(instance) or min(len(users), len(instance.users)) < 2:
            return None
        if any(job.work is None for job in instance.jobs):
            return None
        return SharingIncentive(instance, reading)

    return problem


#: what is measured of all jobs together
MEASURES: tuple[Measure, ...] = (
    Measure("slowdown", _times("slowdown"), "mean_slowdown", least_times, mean=True),
    Measure("flow", _times("flow"), "mean_completion", least_times, mean=True),
    Measure("completion", _times("completion"), bound=_from_flow),
    Measure("makespan", _times("makespan"), "makespan"),
    Measure(REWARDS[0], _rewards(False), "reward", most_reward),
    Measure(REWARDS[1], _rewards(True), "reward", elastic=True),
    Measure(REVENUE, lambda jobs: jobs.problem, "revenue", most_revenue),
)
#: what is measured of the worst user, against alone on its quota
SHARING: tuple[Measure, ...] = tuple(
    Measure(name, _worst(name), f"user_{name}", least_worst) for name in get_args(Reading)
)


def sense_of(name: str) -> Sense:
    """Whether less or more of a measure is better."""
    return Sense.MAX if name in (*REWARDS, REVENUE) else Sense.MIN
