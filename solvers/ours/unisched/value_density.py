"""Value density: jobs with deadlines by reward for GPU time, admitted as late as they can start.

What is known of overload in real-time systems (Locke's best-effort scheduling, Clark's DASA): when
not all deadlines can be met, take the jobs that give most for what they use, as long as a schedule
remains in which all that were taken are in time. Here jobs are gangs, rewards have steps, some run
times are learned, and jobs without deadlines wait for what is left.

Symbols
-------
=============  =====================  ===========================================================
symbol         here                   unit
=============  =====================  ===========================================================
need_j         ``need``               seconds of service left as estimated, with what a resumption
                                      costs
D_j            ``gpus``               GPUs of the gang
V_jf, d_jf     ``value``, ``due``     reward of a completion by the f-th deadline, and its time
area_j         ``gpus * need``        GPU seconds; with those of a profiling run that is to come
dens_j                                the largest V_jf / area_j of deadlines within reach, 1.3
                                      times that of a job that runs (so that order is steady)
=============  =====================  ===========================================================

Steps of a decision
-------------------
1. Estimate: what jobs still need. A job that a target metric ends is taken to run all epochs that
   its user allows.
2. Hope: where that just misses a deadline f, but a saving of at most 31 % of the epochs (the most
   in Fig. 1 of Gao et al.) would meet it, level f is tried with the seconds that remain. Savings
   are taken to be uniform: the odds that f is met are (room - least) / (need - least), and what
   it is worth odds V_f + (1 - odds) V_(f+1). Below a tenth it is not tried.
3. Plan: GPU seconds between now, 60, 120, 300 and 600 s from now and all deadlines. By falling
   density each job is given the latest free GPU seconds before the first deadline for which there
   are enough, D_j a second at most. Whoever gets them is admitted; the first reserved second is
   when it has to start.
4. Order: admitted jobs that have to start within two minutes, and those that have to be profiled;
   other admitted ones; best-effort jobs by area; then jobs that were not admitted by density, and
   those that are late, by area. `balanced`: second come admitted jobs by dens exp(-slack / 4 h)
   together with best-effort jobs as if each were worth 100.
5. Places: jobs are selected by number of GPUs in this order. Running ones keep their nodes unless
   one before them finds no other place; what is left goes to all who still fit.

The plan counts GPUs, not nodes, and knows nothing of jobs to come.

References
----------
C. D. Locke. Best-effort decision making for real-time scheduling. PhD thesis, CMU-CS-86-134, 1986.

R. K. Clark. Scheduling dependent real-time activities. PhD thesis, CMU-CS-90-155, 1990.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ....instances.arrays import Bools, Floats, Ints
from ....instances.check import flag, integer
from ....instances.model import MOST_TIME
from ...policy import Decision, Information, Preempts, State, WrittenStarts
from ...unisched.deadlines import NEVER, STATED, Deadlines, RunTimes
from ...unisched.estimator import DurationEstimates
from .value_density_core import WORTH, look, plan, settle

STEPS = np.array([60, 120, 300, 600])  #: seconds from now at which intervals end
INERTIA = 1.3  #: of the density of running jobs
SAVING, LEAST_ODDS = 0.31, 0.1  #: of the epochs that users allow; of a deadline that is tried
DECAY = 14_400.0  #: seconds in which the weight of an admitted job that can wait falls to 1 / e
MOST_NEW = 200  #: run times that are not sorted yet
ALIKE = 15  #: profiled jobs by which others are guessed


class _Jobs(NamedTuple):
    """The jobs of a decision, by position: what they need, and what they can win."""

    number: Ints
    gpus: Ints
    need: Ints
    area: Ints  # with that of a profiling run to come
    new: Bools  # which have to be profiled
    runs: Bools
    resumption: Ints  # of the need, what a resumption costs
    levels: Ints  # deadlines
    due: Ints  # (jobs, levels)
    value: Floats
    tried: Ints  # what is needed for each level; above the room where it is out of reach

    @property
    def dated(self) -> bool:
        """Whether any have deadlines."""
        return self.due.size > 0


#: levels of jobs that have no deadlines
NO_LEVELS = np.full((0, 1), NEVER), np.zeros((0, 1)), np.zeros((0, 1), dtype=np.int64)


class _Plan(NamedTuple):
    """Which level each job was admitted for, -1 for none, and when it has to start."""

    level: Ints
    start: Ints


class _Complete:
    """Run times of complete jobs, for the median of these and others."""

    def __init__(self) -> None:
        self.rising, self.new = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.count = 0
        self._active, self._come = np.zeros(0, dtype=np.int64), 0

    def read(self, state: State) -> Ints:
        """Jobs that have become complete since the last time."""
        jobs = np.concatenate([self._active, state.arrived[self._come :]])
        complete = state.end[jobs] >= 0
        self._active, self._come = jobs[~complete], state.arrived.size
        found: Ints = jobs[complete]
        return found

    def add(self, seconds: Ints) -> None:
        """Add run times of so many."""
        self.count += seconds.size
        self.new = np.concatenate([self.new, seconds])
        if self.new.size > MOST_NEW:
            self.rising = np.sort(np.concatenate([self.rising, self.new]), kind="stable")
            self.new = self.new[:0]

    def median_with(self, others: Ints) -> int:
        """The median with those of others, rounded down; 3,600 of none."""
        size = self.count + others.size
        if size == 0:
            return 3_600
        few, middle = np.concatenate([self.new, others]), (size - 1) // 2
        first = max(0, middle - few.size)  # it is near the middle of those that are sorted
        near = np.sort(np.concatenate([self.rising[first : size // 2 + 1], few]))
        return int(near[middle - first] + near[size // 2 - first]) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDensity:
    """Admit jobs with deadlines by reward per GPU second, each as late as it can start.

    Parameters
    ----------
    balanced : bool
        Let best-effort jobs compete with admitted ones that can wait; otherwise they have what
        these leave.
    profiling : int
        Seconds for which a new job is profiled on two GPUs at most before its run time is known,
        to the end of a round; 0 where run times are known. Until then it is guessed by the profiled
        jobs with the nearest deadlines.
    hope : bool
        Whether jobs that a target metric ends are tried for deadlines that they meet only if they
        save epochs.
    urgency : int
        Admitted jobs that have to start within so many seconds come before all others; 0 for those
        that have to start now.
    estimates : object with remaining(state, jobs)
        Of the seconds of service left.

    Notes
    -----
    See the module for the steps. It is this project's own. Constants were tuned on seeds 0 to 2 of
    five workloads and then frozen.

    Guarantee: none. Jobs without deadlines, and late ones, can wait as long as others arrive.
    O(jobs x (intervals + nodes)) a decision, compiled. Where only jobs without deadlines are there,
    rounds are skipped at which nothing can change.

    Examples
    --------
    One GPU for 10 minutes: of two jobs of 10 minutes the one whose deadline is worth more gets it.

    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> low = DeadlineJob(id="low", gpus=1, work=600, rewards=[(900, 20)])
    >>> high = DeadlineJob(id="high", gpus=1, work=600, rewards=[(900, 100)])
    >>> drive(Instance(Cluster.of_sizes([1]), [low, high]), ValueDensity()).records.end.tolist()
    [1200, 600]
    """

    name: ClassVar[str] = "value-density"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"
    one_model: ClassVar[bool] = True
    pods: ClassVar[bool] = False
    balanced: bool = False
    profiling: int = 0
    hope: bool = True
    urgency: int = 120
    estimates: RunTimes = STATED

    def __post_init__(self) -> None:
        for name in ("profiling", "urgency"):
            integer(self, "value-density", name, least=0)
            if (value := getattr(self, name)) > MOST_TIME:
                raise ValueError(f"value-density: {name}={value} is above {MOST_TIME}")
        for name in ("balanced", "hope"):
            flag(self, "value-density", name)

    @property
    def profiles(self) -> bool:
        """Whether new jobs are profiled."""
        return self.profiling > 0

    def decide(self, state: State) -> Decision:
        """Return who stops, and who starts or is profiled where."""
        jobs = self._jobs(state)
        if not jobs.dated:
            return self._decision(state, jobs, self._best_effort_order(jobs))
        density = self._density(state, jobs)
        plan = self._plan(state, jobs, density)
        order = self._order(state, jobs, density, plan)
        return self._decision(state, jobs, order)

    def next_change(self, state: State) -> int | None:
        """Return when the decision of this round could differ.

        Parameters
        ----------
        state : State
        """
        if not state.running.size:  # nobody who waits finds a place
            return None
        decided, until = state.derived.get(("value-density", id(self)), (-1, NEVER))
        if decided != state.now:
            return state.now + 1
        return None if until == NEVER else int(until)

    # --- steps 1 and 2 ---

    def _jobs(self, state: State) -> _Jobs:
        """What the candidates need, and what it takes to meet each of their deadlines."""
        known = Deadlines.of(state)
        number, gpus, levels, new, runs, resumption, profiling, dated = look(
            state.waiting, state.running, state.rank, state.speed, state.gpus, known.number,
            state.starts, state.overhead, state.profiled, self.profiling,
        )  # fmt: skip
        need = self.estimates.remaining(state, number)
        if self.profiling and new.any():
            need = need.copy()
            need[new] = self._guess(state, known, number, new, need)
        need = need + resumption
        found = number, gpus, need, gpus * need + profiling, new, runs, resumption, levels
        if not dated:
            return _Jobs(*found, *NO_LEVELS)
        due, value = known.due[number], known.value[number]  # copies
        tried = np.repeat(need[:, None], due.shape[1], axis=1)
        if self.hope:
            for i in np.flatnonzero(~new & (levels > 0)).tolist():
                if state.job(int(number[i])).target is not None:
                    self._discount_levels(
                        state, int(number[i]), int(need[i]), due[i], value[i], tried[i]
                    )
        return _Jobs(*found, due, value, tried)

    def _discount_levels(
        self, state: State, job: int, need: int, due: Ints, value: Floats, tried: Ints
    ) -> None:
        """Change what levels of a job need and are worth that it meets only if it saves epochs."""
        one = np.array([job])
        done = int(state.work[job]) - int(state.remaining(one)[0])
        least = max(1.0, need - SAVING * (need + done))
        for f in range(due.size - 1):
            room = int(due[f]) - state.now
            if due[f] == NEVER or not least <= room < need:
                continue
            odds = (room - least) / (need - least)
            if odds >= LEAST_ODDS:
                tried[f] = room
                value[f] = odds * value[f] + (1 - odds) * value[f + 1]

    def _guess(self, state: State, known: Deadlines, number: Ints, new: Bools, need: Ints) -> Ints:
        """Seconds of jobs that were not profiled: by the ratio to the deadline of similar ones.

        Candidates that are not new, and complete jobs, are those that were profiled.
        """
        jobs, old = number[new], ~new
        usual = self._usual(state, number[old], need[old])
        found = np.full(jobs.size, usual, dtype=np.int64)
        dated = np.flatnonzero(known.number[jobs] > 0)
        if not dated.size:
            return found
        seen = state.arrived[known.number[state.arrived] > 0]
        seen = seen[(state.profiled[seen] > 0) | (state.starts[seen] > 0)]
        if seen.size:
            own = known.due[seen, 0] - state.release[seen]
            ratio, first = self._whole(state, seen) / own, known.due[jobs, 0] - state.release[jobs]
            for i in dated.tolist():
                near = np.argsort(np.abs(own - first[i]), kind="stable")[:ALIKE]
                found[i] = max(1, int(first[i] * np.median(ratio[near])))
        return found

    def _usual(self, state: State, active: Ints, need: Ints) -> int:
        """The median of jobs that were profiled."""
        key = "value-density", "complete", id(self)
        known: _Complete | None = state.derived.get(key)
        if known is None:
            known = state.derived[key] = _Complete()
        if state.arrived.size > known.count + state.waiting.size + state.running.size:
            known.add(self._whole(state, known.read(state)))
        return known.median_with(state.work[active] - state.remaining(active) + need)

    def _whole(self, state: State, jobs: Ints) -> Ints:
        """Run times as estimated; `work` has epochs that nobody knows."""
        done: Ints = state.work[jobs] - state.remaining(jobs)
        return done + self.estimates.remaining(state, jobs)

    # --- step 3 ---

    def _density(self, state: State, jobs: _Jobs) -> Floats:
        """The best reward within reach for a GPU second; 0 where none is."""
        within = (jobs.due < NEVER) & (jobs.tried <= jobs.due - state.now)
        extra = jobs.area - jobs.gpus * jobs.need
        areas = jobs.gpus[:, None] * jobs.tried + extra[:, None]
        best = np.where(within, jobs.value / areas, 0.0).max(axis=1)
        density: Floats = np.where(jobs.runs, INERTIA * best, best)
        return density

    def _plan(self, state: State, jobs: _Jobs, density: Floats) -> _Plan:
        """Admit jobs by falling density."""
        live = jobs.due[(jobs.due > state.now) & (jobs.due < NEVER)]
        edges = np.unique(np.concatenate([[state.now], state.now + STEPS, live]))
        free = int(state.sizes.sum()) * np.diff(edges) - self._profiled(state, edges)
        order = np.lexsort((state.rank[jobs.number], -density))
        order = order[density[order] > 0]
        at = np.searchsorted(edges, jobs.due)
        return _Plan(*plan(order, jobs.gpus, jobs.tried, at, jobs.levels, edges, free))

    def _profiled(self, state: State, edges: Ints) -> Ints:
        """GPU seconds of profiling runs in each interval; of what follows nothing is known."""
        held = np.zeros(edges.size - 1, dtype=np.int64)
        for j in np.setdiff1d(state.running, state.candidates).tolist():
            end = int(state.lease_end[j])
            spent = np.clip(np.minimum(edges[1:], end) - edges[:-1], 0, None)
            held += int(state.held_gpus[j]) * spent
        return held

    # --- steps 4 and 5 ---

    def _order(self, state: State, jobs: _Jobs, density: Floats, plan: _Plan) -> Ints:
        """Positions, the most important first."""
        admitted, best_effort = plan.level >= 0, jobs.levels == 0
        urgent = admitted & (plan.start <= state.now + self.urgency)
        urgent |= jobs.new & (density > 0)
        by_area = best_effort | (density == 0)
        tier = np.select([urgent, admitted, best_effort, density > 0], [0, 1, 2, 3], 4)
        key = np.where(by_area, jobs.area, -density)
        if self.balanced:
            wait = np.exp(-np.maximum(plan.start - state.now, 0) / DECAY)
            share = tier == 1
            key = np.where(share, -density * wait, key)
            key = np.where(best_effort, -WORTH / jobs.area, key)
            tier = np.where(best_effort, 1, tier)
        return np.lexsort((state.rank[jobs.number], key, tier))

    def _best_effort_order(self, jobs: _Jobs) -> Ints:
        """The same where nobody has deadlines: by area; jobs stand by (release, number)."""
        return (-WORTH / jobs.area if self.balanced else jobs.area).argsort(kind="stable")

    def _decision(self, state: State, jobs: _Jobs, order: Ints) -> Decision:
        """Give places: first to those that fit by number of GPUs, then to all that still fit."""
        kept, starts, count, until = settle(
            state.now, jobs.number, order, jobs.gpus, jobs.area, jobs.new, jobs.runs,
            jobs.resumption, *state.places(jobs.number[jobs.runs]), np.array(state.free),
            np.array(state.sizes), state.speeds, state.rules.spread,
            state.rules.round_up(self.profiling), self._only_areas_count(jobs),
        )  # fmt: skip
        if until < NEVER and not self._areas_are_exact(state):
            until = state.now + 1
        state.derived["value-density", id(self)] = state.now, until
        suspend = jobs.number[jobs.runs & ~kept]
        return Decision(suspend=suspend.tolist(), start=WrittenStarts(starts, count))

    def _only_areas_count(self, jobs: _Jobs) -> bool:
        """Whether all go by areas that never rise, and that change only while jobs run."""
        estimates = self.estimates
        return (
            type(estimates) is DurationEstimates
            and estimates.mode in ("maximum", "true")
            and not (self.profiling and estimates.noise)  # others are guessed by those that run
            and not jobs.dated
        )

    def _areas_are_exact(self, state: State) -> bool:
        """Whether an area falls by no more than the service that a job can get."""
        return type(state) is State and not getattr(self.estimates, "noise", 1)
