"""Astraea of Wang et al.: online batches, rounds in two stages, dual prices, income division.

Source: N. Wang, R. Zhou, L. Han, H. Chen, Z. Li, "Online Scheduling of Distributed Machine Learning
Jobs for Incentivizing Sharing in Multi-Tenant Systems", IEEE TC 72(3), 2023, Section 4.

======================  ============================================================================
paper                   here
======================  ============================================================================
Algorithm 1, Astraea    :func:`astraea`; tau_l = 2^l
Algorithm 2, A_round    :func:`a_round`
Algorithm 3, A_maxIrev  :func:`a_max_irev`; its search for one job is
                        :func:`~.irmp_response.best_response`, with Algorithms 4 and 5
eq. (2), (11)           :func:`accounts`
eq. (8)                 :func:`~.prices.prices_at`, :func:`~.prices.thetas`
Definition 1            :func:`ideal_revenue`
Lemma 1                 :func:`~.prices.lemma_1`
BatchSche, Section 5    :func:`batch_sche`
======================  ============================================================================

Deviations from the paper
-------------------------
- W1: tau_l = 2^(l-1) contradicts tau_0 = 1, tau_1 = 2 and the example; tau_l = 2^l.
- W2: see :mod:`~.irmp_response`, with W8 to W11.
- W12: Algorithm 3 must raise h after each job that it accepts, and return these jobs. Round i is
  the time ((lambda + i - 1) tau_l, (lambda + i) tau_l], and begins with an empty cluster.
- W13: the quota test max{q - used, a} is q - used in stage 1 and void in stage 2: what all users
  together have left is more than any one job finds free. a is what stage 1 leaves.
- W14: (2) divides the cost of each slot. With the job's whole cost each slot would pay it again.
- W16, W17: theta - 1 = max f / (sum of y over the run), as printed, is too small to keep a job out
  of a single full slot; ``theta="slot"`` takes the use of one slot. Logarithms are to base 2.
- W18: (8) is not invariant to the unit of money; ``scale`` is that unit. Prices are
  ((1 + scale Theta)^(h/C) - 1) / scale, so that those of a full cluster do not depend on it. The
  paper assumes f / use >= 1; in the unit of its generator that holds for a tenth of the runs, and
  prices are high from the first worker on. By default the unit is the least power of ten that
  meets the assumption, :func:`~.prices.assumed_scale`; ``scale=1`` is to the letter.
- W20: lambda of Lemma 1 needs all jobs, those of the future too, and is hundreds at the paper's
  scale: it is reported, and a run takes an integer, by default 1.
- W22: F and f_min of Lemma 1 are taken at each job's shortest run, of jobs that can earn.
- W23: batch 1 has the jobs released at 0, too. The intervals end when no job is left that could
  ever be accepted, at the latest after `cap` of them; jobs that are left earn nothing.
- W25: a job is accepted for its ideal utility, and can be worth less than nothing at its true
  completion; ``reject_negative=True`` allows only runs that are worth something.
- W31: a user's income counts its share of what its own jobs pay, which the sum over u' != u in
  Section 3.2 loses; so incomes equal payments. Jobs of stage 1 pay nothing.

Jobs are taken by (release, user, number); the paper's example takes them by number.
"""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...formulations.irmp.problem import Irmp
from ...instances.arrays import Floats, Ints
from ...instances.model import Cluster, Instance
from ...instances.schedule import Schedule, Segment
from ..facts import RevenueFacts
from ..result import Refuted, Result, Stop
from ..signature import solver
from .prices import AstraeaParams, assumed_scale, in_unit, lemma_1, prices_at, thetas
from .response import MARGIN, MOST_CELLS, Response, best_response, facts_of, longer, run_options
from .rounds import ideal_revenue, round_of, within_assumption

__all__ = [
    "Accepted", "Accounts", "AstraeaParams", "Round", "a_max_irev", "a_round", "accounts",
    "assumed_scale", "astraea", "batch_sche", "ideal_revenue", "lemma_1", "prices_at", "round_of",
    "thetas", "within_assumption",
]  # fmt: skip


log = logging.getLogger("gangsched")


# --- one round ------------------------------------------------------------------------------------


class Round:
    """A round: an empty cluster from `begin` on, its prices, and what users have left.

    Parameters
    ----------
    problem : Irmp
    begin : int
        When it begins; ideal utilities count from here.
    slots : int
        How long it is.
    theta : (types, 2) floats
        Of (8).
    params : AstraeaParams, optional
    deadline : float
        Of :func:`time.perf_counter`; no job is looked at after it.

    Attributes
    ----------
    free : (2, nodes, T) int array
    held : (types, 2, T) int array
        h_w, h_p.
    prices : (types, 2, T) float array
        eta_w, eta_p.
    room : (users, types, 2, T) int array
        Quotas less what the users' jobs of stage 1 hold.

    Notes
    -----
    T is at most `slots`: arrays grow as far as jobs can reach. Slots after all runs are free of
    charge, so the best start is never after their beginning. A round whose arrays would be larger
    than memory is a ValueError.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=i, gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                            utility=Linear(-2, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(Cluster([Node("s1", 4, ps=2)]), jobs))
    >>> one = Round(problem, 8, 4, np.array([[16.0, 16.0]]))
    >>> [(run.start, run.end, run.cost) for run in a_max_irev(one, [0, 1])]
    [(0, 2, 0.0), (2, 4, 0.0)]
    """

    def __init__(
        self,
        problem: Irmp,
        begin: int,
        slots: int,
        theta: Floats,
        params: AstraeaParams | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.problem, self.begin, self.slots, self.theta = problem, begin, slots, theta
        self.params, self.deadline = in_unit(problem, params), deadline
        self.facts = facts_of(problem)
        types, users = self.facts.types, len(problem.users)
        self.total = np.zeros((types, 2), dtype=np.int64)
        np.add.at(self.total, self.facts.model, self.facts.capacity.T)
        self.free: Ints = np.zeros((2, self.facts.model.size, 0), dtype=np.int64)
        self.held: Ints = np.zeros((types, 2, 0), dtype=np.int64)
        self.prices: Floats = np.zeros((types, 2, 0))
        self.room: Ints = np.zeros((users, types, 2, 0), dtype=np.int64)
        #: the end of the last run
        self.busy = 0
        self.ideal: dict[int, Floats] = {}
        self.reach(min(slots, 64))

    def reach(self, slots: int) -> None:
        """Let the arrays have at least so many slots."""
        there = self.held.shape[2]
        more = min(self.slots, max(slots, 2 * there)) - there
        if slots <= there or more <= 0:
            return
        row = self.facts.capacity.size + self.problem.quotas.size
        if min(slots, self.slots) * row > MOST_CELLS:
            raise ValueError(
                f"Irmp: a round of runs until slot {slots} on {self.facts.model.size} nodes needs "
                f"arrays of more than {MOST_CELLS:,} entries, use longer slots"
            )
        self.free = longer(self.free, self.facts.capacity, more)
        self.held = longer(self.held, 0, more)
        self.prices = longer(self.prices, 0.0, more)
        self.room = longer(self.room, self.problem.quotas, more)

    def respond(self, job: int, *, shared: bool) -> Response | None:
        """Return the run that problem (9) gives a job, in slots of the round."""
        end = self._end(job)
        self.reach(end)
        room: Ints | None = self.room[_user(self.problem, job)]
        if shared:
            room = self.room.sum(axis=0) if self.params.literal else None  # W13
        return best_response(
            self.problem, job, self.free, self.prices, self._ideal(job, end),
            begin=0, end=end, room=room, literal=self.params.literal,
        )  # fmt: skip

    def _end(self, job: int) -> int:
        """Until when a run that is accepted can last."""
        end = min(self.slots, self.busy + _longest(self.problem, job))
        if self.params.reject_negative:  # utilities do not rise
            value = self.problem.value
            end = bisect_left(range(end), True, key=lambda t: value(job, self.begin + t + 1) <= 0)
        return end

    def _ideal(self, job: int, end: int) -> Floats:
        """f_j of the time since the round began, W15."""
        known = self.ideal.get(job)
        if known is None or known.size <= end:
            value = self.problem.jobs[job].utility.value
            known = np.fromiter((value(max(x, 1)) for x in range(end + 1)), np.float64, end + 1)
            self.ideal[job] = known
        return known

    def accept(self, run: Response, *, shared: bool) -> None:
        """Hold what a run needs, and renew the prices, W12."""
        self.reach(run.end)
        self.busy = max(self.busy, run.end)
        time, scale = slice(run.start, run.end), self.params.unit
        for what, used in enumerate((run.nodes, run.ps)):
            kind, count = self.kind(used), sum(used.values())
            for node, here in used.items():
                self.free[what, node, time] -= here
            self.held[kind, what, time] += count
            if not shared:
                self.room[_user(self.problem, run.job), kind, what, time] -= count
            held, total = self.held[kind, what, time], int(self.total[kind, what])
            self.prices[kind, what, time] = prices_at(
                self.theta[kind, what], held, total, scale=scale
            )

    def kind(self, used: dict[int, int]) -> int:
        """Return the type of the nodes that are used."""
        return int(self.facts.model[next(node for node, count in used.items() if count)])


def _user(problem: Irmp, job: int) -> int:
    return problem.users.index(problem.jobs[job].user) if problem.instance.users else 0


def _longest(problem: Irmp, job: int) -> int:
    """Slots of the longest run that can be worth something; 0 where none can."""
    value = problem.jobs[job].utility.value
    slots = run_options(problem, job).slots.tolist()
    return max((d for d in slots if value(d) > MARGIN), default=0)


def a_max_irev(cluster: Round, jobs: Iterable[int], *, shared: bool = True) -> list[Response]:
    """Algorithm 3, A_maxIrev: accept jobs one by one, each with its best run at current prices.

    Notes
    -----
    Guarantee: each job has the best run at the prices that it finds, in stage 1 within its user's
    quota. Lemma 3, that all together earn a 2 (log theta_w + log theta_p)-th of an optimum, does
    not hold.

    Examples
    --------
    See :class:`Round`.
    """
    accepted: list[Response] = []
    with suppress(_Late):
        for run in _runs(cluster, jobs, shared=shared):
            accepted.append(run)
    return accepted


class _Late(Exception):
    """The time is up."""


def _runs(cluster: Round, jobs: Iterable[int], *, shared: bool) -> Iterator[Response]:
    """The runs of Algorithm 3, each when it is accepted."""
    for job in jobs:
        if time.perf_counter() >= cluster.deadline:
            raise _Late
        run = cluster.respond(job, shared=shared)
        if run is not None:
            cluster.accept(run, shared=shared)
            yield run


# --- batches --------------------------------------------------------------------------------------


class Accepted(NamedTuple):
    """A job that Algorithm 2 accepts.

    Parameters
    ----------
    run : Response
        In slots of the problem; its value is ideal.
    stage : int
        1 within the quota, 2 with shared resources.
    """

    run: Response
    stage: int


def a_round(
    problem: Irmp,
    jobs: Iterable[int],
    interval: int,
    params: AstraeaParams | None = None,
    *,
    theta: Floats | None = None,
    share: bool = True,
) -> list[Accepted]:
    """Algorithm 2, A_round: lambda rounds in the time (lambda tau_l, lambda tau_(l+1)].

    Notes
    -----
    Guarantee: runs lie in the interval and respect (3c)-(3n). Nothing else: of Lemma 1, (ii), that
    they earn at least an optimum with deadline tau_l, does not hold.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> job = ParameterServerJob(id="j", gpus=2, release=3, epochs=2, minibatches=1,
    ...                          rates=(1, 0.5), utility=Linear(-2, 100))
    >>> problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), [job]))
    >>> [(a.run.start, a.run.end, a.stage) for a in a_round(problem, [0], 2)]
    [(4, 6, 1)]
    """
    params = in_unit(problem, params)
    if theta is None:
        theta = thetas(problem, range(len(problem.jobs)), *params.prices)
    return list(_rounds(problem, jobs, interval, params, theta, math.inf, share=share))


def _rounds(
    problem: Irmp,
    jobs: Iterable[int],
    interval: int,
    params: AstraeaParams,
    theta: Floats,
    deadline: float,
    *,
    share: bool,
) -> Iterator[Accepted]:
    """What Algorithm 2 accepts, each when it is accepted."""
    left = _in_order(problem, jobs, params)
    for i in range(1, params.lam + 1):  # line 2
        begin = (params.lam + i - 1) << interval
        slots = 1 << interval
        if problem.horizon is not None:
            slots = min(slots, problem.horizon - begin)
        if not left or slots <= 0:
            return
        cluster = Round(problem, begin, slots, theta, params, deadline)
        for stage in (1, 2) if share else (1,):  # lines 3-5
            done = set()
            for run in _runs(cluster, left, shared=stage == 2):
                later = run._replace(start=run.start + begin, end=run.end + begin)
                yield Accepted(later, stage)
                done.add(run.job)
            left = [job for job in left if job not in done]  # line 7


def _in_order(problem: Irmp, jobs: Iterable[int], params: AstraeaParams) -> list[int]:
    def key(job: int) -> tuple[int, int, int]:
        user = _user(problem, job) if params.order == "user" else 0
        return problem.jobs[job].release, user, job

    return sorted(jobs, key=key)


class _Outcome(NamedTuple):
    """What became of the jobs."""

    accepted: list[Accepted]
    stop: Stop
    intervals: int

    @property
    def schedule(self) -> Schedule:
        """Segments in the order of acceptance."""
        return Schedule.of([a.run.segment for a in self.accepted])


def _algorithm_1(
    problem: Irmp, theta: Floats, params: AstraeaParams, deadline: float, *, share: bool = True
) -> _Outcome:
    accepted: list[Accepted] = []
    done: set[int] = set()
    #: l with tau_(l-1) <= r < tau_l; 1 for r = 0, W23
    batch = [max(job.release.bit_length(), 1) for job in problem.jobs]
    last, stop, intervals = max(batch, default=0), Stop.COMPLETED, 0
    try:
        for interval in range(1, max(params.cap, last) + 1):  # line 2
            left = [j for j, when in enumerate(batch) if when <= interval and j not in done]
            hopeful = [job for job in left if _hopeful(problem, job, interval, params)]  # line 4
            if not hopeful and interval >= last:
                break
            rounds = _rounds(problem, hopeful, interval, params, theta, deadline, share=share)
            for new in rounds:  # line 5
                accepted.append(new)
                done.add(new.run.job)  # line 7
            intervals = interval
    except _Late:
        stop = Stop.TIME_LIMIT
    except KeyboardInterrupt:
        log.warning("astraea: interrupted, what was accepted is kept")
        stop = Stop.INTERRUPTED
    return _Outcome(accepted, stop, intervals)


def _hopeful(problem: Irmp, job: int, interval: int, params: AstraeaParams) -> bool:
    """Whether a job can be accepted in this interval or later, W23."""
    if not _longest(problem, job):
        return False
    begin = params.lam << interval
    soonest = begin + int(run_options(problem, job).slots.min())
    if problem.horizon is not None and soonest > problem.horizon:
        return False
    return not params.reject_negative or problem.value(job, soonest) > 0


@solver(AstraeaParams, of=Irmp)
def astraea(
    problem: Irmp, *, seed: int, time_limit: float | None, params: AstraeaParams
) -> Result[Schedule] | Refuted[Schedule]:
    """Algorithm 1, Astraea: jobs in batches of doubling length, users' quotas first.

    Parameters
    ----------
    problem : Irmp
    seed : int
        Not used: the algorithm draws nothing. Every solver takes it.
    time_limit : float, optional
        Wall seconds after which no further job is looked at.
    params : AstraeaParams

    Returns
    -------
    Result or Refuted
        The objective is the true revenue. ``info``: runs within the assumption of (8) (see
        :func:`within_assumption`), ideal revenue (never to be mixed with the true one),
        lambda, that of Lemma 1 (None where it has no value), theta, payments of the jobs of stage 2
        and incomes of users, jobs that are left, intervals that are complete, parameters. What was
        accepted before the time limit, or Ctrl-C, is kept. Status UNKNOWN where jobs
        are left that the problem does not let out, or users earn less than its ``alone``. Refuted
        if ``params.literal`` and the schedule breaks the problem.

    Raises
    ------
    ValueError, TypeError
        Prices or theta too large for a float, theta too close to 1; `literal` with several types of
        nodes; a time limit below 0.

    Notes
    -----
    Guarantee: none; Theorem 1 (i) says less than that every job is complete at some time, (ii) does
    not hold. Every user is charged for jobs of stage 2 only.

    Theta and Lemma 1 are taken over all jobs of the problem: offline, as in the paper.

    Examples
    --------
    Two jobs on one node: they arrive in slot 3 and run in (4, 8].

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> jobs = [ParameterServerJob(id=i, gpus=2, release=3, epochs=2, minibatches=1,
    ...                            rates=(1, 0.5), utility=Linear(-2, 100)) for i in "ab"]
    >>> result = astraea(Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), jobs)))
    >>> result.objective, result.info["ideal"], result.info["left"]
    (172.0, 188.0, [])
    """
    if params.literal and len(problem.models) > 1:
        raise ValueError("astraea: literal=True, Algorithms 3-5 know one type of servers")
    started, params = time.perf_counter(), in_unit(problem, params)
    theta = thetas(problem, range(len(problem.jobs)), *params.prices)
    lemma = lemma_1(problem, range(len(problem.jobs)), theta)
    deadline = math.inf if time_limit is None else started + time_limit
    outcome = _algorithm_1(problem, theta, params, deadline)
    more = {"lemma1": lemma, "theta": theta.tolist()}
    if params.literal:
        broken = problem.violations(outcome.schedule)
        if broken:
            return Refuted("astraea-literal", outcome.schedule, tuple(broken))
    else:
        more |= _money(problem, outcome.schedule, params)
    return _result(problem, "astraea", outcome, params, seed, started, more)


def _result(
    problem: Irmp,
    solver: str,
    outcome: _Outcome,
    params: AstraeaParams,
    seed: int,
    started: float,
    more: dict[str, Any],
) -> Result[Schedule]:
    """The result, with `more` in its info: theta, and who pays what to whom."""
    schedule, done = outcome.schedule, {a.run.job for a in outcome.accepted}
    left = [job.id for j, job in enumerate(problem.jobs) if j not in done]
    ideal, theta = ideal_revenue(problem, schedule, params.lam), more["theta"]
    within = within_assumption(problem, schedule, params)
    info = {
        "ideal": ideal, "lambda": params.lam, "left": left, "intervals": outcome.intervals,
        "within assumption": within, "seed": seed, "params": asdict(params), **more,
    }  # fmt: skip
    facts = RevenueFacts(
        ideal_revenue=ideal, rounds=params.lam, intervals=outcome.intervals, left=left,
        payments=more.get("payments", {}), incomes=more.get("incomes", {}),
        theta=None if isinstance(theta, dict) else theta, scale=params.unit,
        within_assumption=within,
    )  # fmt: skip
    demanding = not problem.optional or problem.alone  # which the algorithm knows nothing of
    return Result.of(
        problem, None if demanding and problem.violations(schedule) else schedule, solver=solver,
        stop=outcome.stop, runtime=time.perf_counter() - started, iterations=outcome.intervals,
        info=info, facts=facts,
    )  # fmt: skip


@solver(AstraeaParams, of=Irmp)
def batch_sche(
    problem: Irmp, *, seed: int, time_limit: float | None, params: AstraeaParams
) -> Result[Schedule]:
    """BatchSche of Section 5: Astraea for each user alone, on the nodes that it owns.

    Parameters
    ----------
    problem : Irmp
        With owners of nodes.
    seed : int
        Not used.
    time_limit : float, optional
        Wall seconds after which no further job is looked at, of any user.
    params : AstraeaParams
        `literal` is not allowed.

    Returns
    -------
    Result
        ``info`` as of :func:`astraea`, with a theta for each user, without Lemma 1; nobody pays.
        The unit of money is that of the whole problem, for all users.

    Raises
    ------
    ValueError, TypeError
        Nodes without owners, `literal`, prices as for :func:`astraea`, a time limit below 0.

    Notes
    -----
    Guarantee: none. The paper says only that users do not share; prices of C and theta of the
    user's own nodes and jobs are our reading.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, User
    >>> cluster = Cluster([Node("s1", 2, ps=1), Node("s2", 2, ps=1)])
    >>> jobs = [ParameterServerJob(id=i, user="u", gpus=2, release=3, epochs=2, minibatches=1,
    ...                            rates=(1, 0.5), utility=Linear(-2, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(cluster, jobs, [User("u"), User("v")]), owners=["u", "v"])
    >>> batch_sche(problem).objective, astraea(problem).objective
    (172.0, 172.0)
    """
    if params.literal:
        raise ValueError("batch_sche: literal=True is for astraea")
    if not problem.owners:
        raise ValueError("batch_sche: the nodes of the problem have no owners")
    started, params = time.perf_counter(), in_unit(problem, params)
    deadline = math.inf if time_limit is None else started + time_limit
    accepted, stop, intervals = list[Accepted](), Stop.COMPLETED, 0
    theta: dict[str, Any] = {}
    for user, name in enumerate(problem.users):
        jobs = [job for job in range(len(problem.jobs)) if _user(problem, job) == user]
        nodes = [node for node, owner in enumerate(problem.owners) if owner == name]
        if not jobs or not nodes:
            continue
        own = _own_problem(problem, jobs, nodes)
        mine = thetas(own, range(len(jobs)), *params.prices)
        theta[name] = mine.tolist()
        part = _algorithm_1(own, mine, params, deadline, share=False)
        accepted += [_moved(a, jobs, nodes) for a in part.accepted]
        stop, intervals = part.stop, max(intervals, part.intervals)
        if stop is not Stop.COMPLETED:
            break
    outcome = _Outcome(accepted, stop, intervals)
    more = {"theta": theta, "payments": {}, "incomes": dict.fromkeys(problem.users, 0.0)}
    return _result(problem, "batch-sche", outcome, params, seed, started, more)


def _own_problem(problem: Irmp, jobs: Sequence[int], nodes: Sequence[int]) -> Irmp:
    """One user's jobs on its own nodes."""
    cluster = Cluster([problem.instance.cluster.nodes[node] for node in nodes])
    instance = Instance(cluster, [problem.jobs[job] for job in jobs], slot=problem.instance.slot)
    return replace(problem, instance=instance, owners=(), optional=True, alone={})


def _moved(accepted: Accepted, jobs: Sequence[int], nodes: Sequence[int]) -> Accepted:
    """In numbers of the whole problem."""
    run = accepted.run
    held, ps = ({nodes[s]: n for s, n in used.items()} for used in (run.nodes, run.ps))
    return accepted._replace(run=run._replace(job=jobs[run.job], nodes=held, ps=ps))


# --- money ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Accounts:
    """Who pays what to whom.

    Parameters
    ----------
    payment : (jobs,) floats
        c_jw + c_jp over all slots; 0 for jobs of stage 1 and those that do not run.
    income : (users, jobs) floats
        rho^u_j over all slots, (2) or (11): the user's own share included.
    stage : (jobs,) ints
        1 or 2; 0 for jobs that do not run.
    """

    payment: Floats
    income: Floats
    stage: Ints


def accounts(problem: Irmp, schedule: Schedule, params: AstraeaParams | None = None) -> Accounts:
    """Return payments and incomes of a schedule of :func:`astraea`, from the schedule alone.

    Parameters
    ----------
    problem : Irmp
    schedule : Schedule
        Segments in the order of acceptance.
    params : AstraeaParams, optional
        Those of the run that made it; not `literal`.

    Raises
    ------
    ValueError
        A run that is in no round, or that takes more than what is free.

    Notes
    -----
    Prices are those that each job found when it was accepted. Stage 2 begins with the first job of
    a round that does not fit into what is left of its user's quota: one that did would have been
    accepted in stage 1, where prices were no higher and no less was free.

    Each slot's cost of workers is divided by what each user has left of its workers after stage 1,
    and that of PSs likewise: shares sum up to 1, so incomes equal payments.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, User
    >>> cluster = Cluster([Node("s1", 2, ps=2), Node("s2", 2, ps=2)])
    >>> jobs = [ParameterServerJob(id=i, user="u", gpus=4, release=3, epochs=1, minibatches=2,
    ...                            rates=(1, 1), utility=Linear(-8, 100)) for i in "ab"]
    >>> problem = Irmp(Instance(cluster, jobs, [User("u"), User("v")]), owners=["u", "v"])
    >>> params = AstraeaParams(theta=16.0)
    >>> money = accounts(problem, astraea(problem, params=params).solution, params)
    >>> money.stage.tolist(), money.payment.tolist(), money.income.sum(axis=1).round(3).tolist()
    ([1, 2], [0.0, 28.0], [1.333, 26.667])
    """
    params = in_unit(problem, params)
    if params.literal:
        raise ValueError("accounts: literal=True breaks quotas, there is nothing to divide by")
    theta = thetas(problem, range(len(problem.jobs)), *params.prices)
    payment, stage = np.zeros(len(problem.jobs)), np.zeros(len(problem.jobs), dtype=np.int64)
    income = np.zeros((len(problem.users), len(problem.jobs)))
    rounds: dict[int, tuple[Round, bool]] = {}
    for row in schedule:
        interval, begin = round_of(row.start, params.lam)
        fresh = Round(problem, begin, 1 << interval, theta, params), False
        cluster, shared = rounds.get(begin, fresh)
        run = _run(row, begin)
        cluster.reach(run.end)
        _check_free(cluster, run)
        shared = shared or not _within_quota(cluster, run)
        rounds[begin] = cluster, shared
        stage[row.job] = 2 if shared else 1
        if shared:
            payment[row.job], income[:, row.job] = _division(cluster, run)
        cluster.accept(run, shared=shared)
    return Accounts(payment, income, stage)


def _run(row: Segment, begin: int) -> Response:
    used = dict(row.gpus)
    start, end = row.start - begin, row.end - begin
    return Response(row.job, start, end, sum(used.values()), used, dict(row.ps or {}), 0.0, 0.0)


def _check_free(cluster: Round, run: Response) -> None:
    for what, used in enumerate((run.nodes, run.ps)):
        for node, count in used.items():
            if cluster.free[what, node, run.start : run.end].min() < count:
                raise ValueError(
                    f"accounts: job {cluster.problem.jobs[run.job].id!r} takes more than is free; "
                    "this is no schedule of astraea with these parameters"
                )


def _within_quota(cluster: Round, run: Response) -> bool:
    room = cluster.room[_user(cluster.problem, run.job), :, :, run.start : run.end]
    return all(
        int(room[cluster.kind(used), what].min()) >= sum(used.values())
        for what, used in enumerate((run.nodes, run.ps))
    )


def _division(cluster: Round, run: Response) -> tuple[float, Floats]:
    """What a job of stage 2 pays, and what each user gets of it, eq. (2) and (11)."""
    payment, income = 0.0, np.zeros(cluster.room.shape[0])
    time = slice(run.start, run.end)
    for what, used in enumerate((run.nodes, run.ps)):
        kind = cluster.kind(used)
        costs = cluster.prices[kind, what, time] * sum(used.values())  # W14
        unused = cluster.room[:, kind, what, time]
        payment += float(costs.sum())
        income += (unused / unused.sum(axis=0) * costs).sum(axis=1)
    return payment, income


def _money(problem: Irmp, schedule: Schedule, params: AstraeaParams) -> dict[str, Any]:
    money = accounts(problem, schedule, params)
    paying = np.flatnonzero(money.stage == 2).tolist()
    incomes = dict(zip(problem.users, money.income.sum(axis=1).tolist(), strict=True))
    payments = {problem.jobs[j].id: float(money.payment[j]) for j in paying}
    return {"payments": payments, "incomes": incomes}
