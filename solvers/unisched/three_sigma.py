"""3Sigma: plans by distributions of run times, jobs with deadlines before best effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ...instances.check import integer
from ..highs import best_subset
from ..policy import Decision, Floats, Information, Ints, Phase, Preempts, State, ranked
from .deadlines import NEVER, STATED, Deadlines, at_cycle, next_cycle

#: run times of a class: the latest, and so many that the class says more than a wider one
LATEST, ENOUGH = 100, 5

#: jobs of each kind that one plan decides on
MOST = 16

#: relative gaps: of the integer program, and of a rounded relaxation that does without it
GAP, ROUNDING = 0.01, 0.05

#: in GPUs, of sums of chances
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreeSigma:
    r"""Plan starts by distributions of run times; jobs with deadlines take GPUs of best effort.

    Parameters
    ----------
    cycle : int
        Seconds between decisions.
    slot : int
        Seconds of a slot of the plan.
    slots : int
        Slots of the plan.

    Notes
    -----
    Source: J. W. Park et al., "3Sigma: Distribution-based Cluster Scheduling for Runtime
    Uncertainty", EuroSys 2018; cycles of 60 s as in Gao et al. (2024, section IV-D). Each cycle
    decides by an integer program (x_it: job i starts in slot t; y_r: best-effort job r is stopped),
    with the last row in each slot:

    .. math::

        \max \sum_{it} E[U_i(\text{completion})] x_{it} - \sum_r c_r y_r, \qquad
        \sum_t x_{it} \le 1

    .. math::

        \sum_{it} D_i P[i \text{ still runs}] x_{it}
        + \sum_r D_r P[r \text{ still runs}] (1 - y_r) \le M

    Only starts in the first slot are carried out, and planned anew. Run times are distributed as
    those of the user's completed jobs of the same gang (:func:`left_after`; 5 or more, else all of
    the same gang, else all; before 5 have completed as users state them), given what a job has
    done. Jobs with deadlines are never stopped.

    Our choices. Utility: the reward by deadline; after the last one its value falls to 0 in the
    time that the job had, so that jobs that seem late are tried (3Sigma's answer to
    over-estimates); plus 1 / (1 + age in horizons), all that best-effort jobs have. c_r = 1 + share
    of its time that is done. A plan has the 16 jobs of least slack and the 16 oldest best-effort
    jobs. It is made at a cycle in which jobs arrived or completed since the last one, and every
    `slot`; in between the last one stands. The linear relaxation, rounded, is taken where
    it is within 5 % of the best; else HiGHS stops at a gap of 1 % or 200 nodes (a time limit would
    make runs depend on the machine). Then jobs start that the plan leaves out or puts later, if it
    has room in all slots, those with deadlines by slack first. Ties by (release, number).

    Guarantee: none. Best-effort jobs lose utility as they age, and can starve. A plan counts GPUs:
    a gang that has no consolidated place waits, and so do those that it left no room. Complexity:
    that of an integer program of at most 32 (slots + 1) variables and one per best-effort job that
    runs.

    Examples
    --------
    A job with a deadline takes the GPU of a best-effort job, which goes on after it.

    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> jobs = [DeadlineJob(id="any", gpus=1, work=600)]
    >>> jobs += [DeadlineJob(id="due", gpus=1, work=300, release=60, rewards=[(330, 100)])]
    >>> run = drive(Instance(Cluster.of_sizes([1]), jobs), ThreeSigma(), overhead=0)
    >>> run.records.end.tolist()
    [900, 360]
    """

    name: ClassVar[str] = "three-sigma"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "learned"
    one_model: ClassVar[bool] = True
    cycle: int = 60
    slot: int = 300
    slots: int = 12

    def __post_init__(self) -> None:
        for name in ("cycle", "slot", "slots"):
            integer(self, "three-sigma", name, least=1)

    def decide(self, state: State) -> Decision:
        """Return the jobs that start now, then those that lose their GPUs if need be."""
        if not self._acts(state):
            return Decision()
        plan = _Plan(self, state)
        if not plan.can_start():
            return Decision()
        starts, stops = plan.solve()
        return Decision(order=[*starts, *stops])

    def next_change(self, state: State) -> int:
        """Return the next cycle if anything happened since the last one, else the next slot.

        Parameters
        ----------
        state : State
        """
        last = state.rules.round_up(state.now // self.cycle * self.cycle)
        slot = next_cycle(state, self.slot)
        return min(slot, next_cycle(state, self.cycle)) if _changed(state, last) else slot

    def _acts(self, state: State) -> bool:
        """Whether a plan is made at this round."""
        last = state.rules.round_up((state.now // self.cycle - 1) * self.cycle)
        new = at_cycle(state, self.slot) or _changed(state, last)
        return new and at_cycle(state, self.cycle)


def _changed(state: State, since: int) -> bool:
    """Whether a job arrived or completed after a time."""
    end, visible = state.end, state.visible
    came = (visible > since) & (visible <= state.now) & (state.phase != Phase.REJECTED)
    return bool(((end > since) & (end <= state.now)).any() or came.any())


def left_after(runs: Ints, done: int, cycle: int) -> Ints:
    """Return what may be left of a run, one value for each run time of its class that it can have.

    Examples
    --------
    >>> left_after(np.array([100, 300, 500]), 100, 60).tolist()
    [200, 400]
    >>> left_after(np.array([100]), 159, 60).tolist(), left_after(np.array([100]), 160, 60).tolist()
    ([1], [120])
    """
    longer = runs[runs > done]
    if longer.size:
        return longer - done
    over, more = done - int(runs.max()), 1
    while more * cycle <= over:
        more = 2 * more + 1
    return np.array([more * cycle - over])


def utility(due: Sequence[tuple[int, float]], release: int, horizon: int, ends: Ints) -> Floats:
    """Return what completions of a job are worth to 3Sigma.

    Examples
    --------
    >>> utility([(100, 80), (200, 40)], 0, 3600, np.array([100, 150, 300, 900])).round(2).tolist()
    [80.97, 40.96, 20.92, 0.8]
    """
    worth: Floats = 1 / (1 + (ends - release) / horizon)
    if not due:
        return worth
    last, least = due[-1]
    late = least * np.maximum(0, 1 - (ends - last) / (last - release))
    values = np.array([value for _, value in due] + [0.0])
    met = values[np.searchsorted([time for time, _ in due], ends)]
    reward: Floats = np.where(ends <= last, met, late)
    return worth + reward


class _Left(NamedTuple):
    """What may be left of a run time."""

    seconds: Ints  # equally likely, rising
    mean: float
    runs: Floats  # chance that it still runs at the begin of each slot


class _RunTimes:
    """Distributions of run times: of the jobs that have completed, the latest first."""

    def __init__(self, policy: ThreeSigma, state: State) -> None:
        self.cycle = policy.cycle
        self.begins = policy.slot * np.arange(policy.slots)
        end = state.end
        done = np.flatnonzero((end >= 0) & (end <= state.now))
        done = done[np.lexsort((done, -end[done]))]
        self.gpus, self.user, self.work = state.gpus[done], state.user[done], state.work[done]
        self.classes: dict[tuple[int, int], Ints] = {}
        self.known: dict[tuple[int, int, int], _Left] = {}
        jobs = np.concatenate([state.waiting, state.running])
        ran, stated = state.work[jobs] - state.remaining(jobs), STATED.remaining(state, jobs)
        columns = jobs, state.user[jobs], state.gpus[jobs], ran, stated
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self.jobs = {j: self._left(*row) for j, *row in rows}

    def left(self, jobs: Ints) -> list[_Left]:
        """Return what is known of each of `jobs`."""
        return [self.jobs[j] for j in jobs.tolist()]

    def _left(self, user: int, gpus: int, done: int, stated: int) -> _Left:
        runs = self._runs(user, gpus)
        if not runs.size:
            return self._of(np.array([stated]))
        if (user, gpus, done) not in self.known:
            self.known[user, gpus, done] = self._of(left_after(runs, done, self.cycle))
        return self.known[user, gpus, done]

    def _of(self, seconds: Ints) -> _Left:
        still = seconds.size - np.searchsorted(seconds, self.begins, side="right")
        return _Left(seconds, int(seconds.sum()) / seconds.size, still / seconds.size)

    def _runs(self, user: int, gpus: int) -> Ints:
        """Run times of the narrowest class that says enough, rising; none where none does."""
        if (user, gpus) not in self.classes:
            gang = self.gpus == gpus
            classes = (gang & (self.user == user), gang, np.ones(gang.size, dtype=bool))
            say = (c for c in classes if np.count_nonzero(c) >= ENOUGH)
            chosen = next(say, np.zeros(gang.size, dtype=bool))
            self.classes[user, gpus] = np.sort(self.work[chosen][:LATEST])
        return self.classes[user, gpus]


class _Plan:
    """One cycle: who may start or be stopped, and what is known of their run times."""

    def __init__(self, policy: ThreeSigma, state: State) -> None:
        self.policy, self.state = policy, state
        self.deadlines = Deadlines.of(state)
        waiting, running = state.waiting, state.running
        last = self.deadlines.last(waiting)
        # a deadline is worth something until twice its time
        counts = (last < NEVER) & (state.now - last < last - state.release[waiting])
        self.pressing, self.others = waiting[counts], waiting[~counts]
        best_effort = self.deadlines.number[running] == 0
        self.stoppable = running[best_effort & bool(counts.any())]

    def can_start(self) -> bool:
        """Whether any job could find room."""
        gpus = self.state.gpus
        room = int(self.state.free.sum() + gpus[self.stoppable].sum())
        return bool(gpus[self.state.waiting].min() <= room)

    def solve(self) -> tuple[list[int], list[int]]:
        """Jobs that start now, and those that are stopped if need be, the least worthy last."""
        self.times = _RunTimes(self.policy, self.state)
        running = self.state.running
        room = self.state.sizes.sum() - self._use(running).sum(axis=0)
        left = [run.mean for run in self.times.left(self.pressing)]
        slack = self.deadlines.last(self.pressing) - np.array(left)
        self.pressing = ranked(self.state, self.pressing, slack)
        queue = np.concatenate([self.pressing, self.others])
        use = self._use(queue)
        if (use.sum(axis=0) <= room).all():
            return queue.tolist(), []
        most = np.concatenate([self.pressing[:MOST], self.others[:MOST]])
        starts, stops = self._optimum(most, room)
        room = room + self._use(stops).sum(axis=0)
        planned = {}
        for j, job, row in zip(most.tolist(), self._use(most), starts, strict=True):
            for t in np.flatnonzero(row).tolist():
                planned[j] = np.concatenate([np.zeros(t), job[: room.size - t]])
                room = room - planned[j]
        now = most[starts[:, 0]].tolist()
        first = set(now)
        for j, job in zip(queue.tolist(), use, strict=True):
            if j in first or job[0] > room[0] + TOLERANCE:
                continue
            without = room + planned.get(j, 0)
            if (job <= without + TOLERANCE).all():
                now.append(j)
                room = without - job
        return now, stops.tolist()

    def _optimum(self, jobs: Ints, room: Floats) -> tuple[NDArray[np.bool_], Ints]:
        """The slot in which each job starts (jobs, slots), and who is stopped, worthiest first."""
        worth, costs = self._worth(jobs), self._costs()
        stoppable = np.arange(costs.size)
        found = best_subset(
            np.concatenate([worth.ravel(), -costs]),
            _rows(self._use(jobs), self._use(self.stoppable)),
            np.concatenate([np.ones(jobs.size), room]),
            np.concatenate([np.repeat(np.arange(jobs.size), room.size), jobs.size + stoppable]),
            gap=GAP,
            rounding=ROUNDING,
        )
        stops = found[worth.size :]
        order = np.argsort(-costs[stops], kind="stable")
        return found[: worth.size].reshape(worth.shape), self.stoppable[stops][order]

    def _use(self, jobs: Ints) -> Floats:
        """Mean GPUs that each job holds in each slot if it starts, or goes on, now."""
        runs = np.array([run.runs for run in self.times.left(jobs)])
        use: Floats = runs.reshape(-1, self.policy.slots) * self.state.gpus[jobs][:, None]
        return use

    def _worth(self, jobs: Ints) -> Floats:
        """Mean utility of each job when it starts in each slot."""
        begins = self.state.now + self.times.begins[:, None]
        horizon, release = self.policy.slot * self.policy.slots, self.state.release
        rows = [
            utility(self.deadlines.steps(j), int(release[j]), horizon, begins + left.seconds)
            for j, left in zip(jobs.tolist(), self.times.left(jobs), strict=True)
        ]
        return np.array([row.mean(axis=1) for row in rows])

    def _costs(self) -> Floats:
        """1 and the share of its run time that each job has done that can be stopped."""
        state, jobs = self.state, self.stoppable
        done = state.work[jobs] - state.remaining(jobs)
        costs: Floats = 1 + done / (done + np.array([r.mean for r in self.times.left(jobs)]))
        return costs


def _rows(use: Floats, freed: Floats) -> csc_array:
    """One row a job: it starts once; one row a slot: GPUs in use, less those of stopped jobs."""
    n, slots = use.shape
    lag = np.arange(slots)[:, None] - np.arange(slots)
    held = np.where(lag >= 0, use[:, np.maximum(lag, 0)], 0.0)  # job, slot, start
    held = held.transpose(1, 0, 2).reshape(slots, n * slots)
    once = np.kron(np.eye(n), np.ones(slots))
    return csc_array(np.block([[once, np.zeros((n, len(freed)))], [held, -freed.T]]))
