"""Chronus: leases, admission of jobs with deadlines, and a profiler with nodes of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
from scipy.sparse import csc_array

from ...formulations.unisched.leases import LeasePhase, Rounding, Terms, lease_terms
from ...instances import Cluster, User
from ...instances.arrays import Bools
from ...instances.check import integer, one_of
from ..growing import longer
from ..highs import best_subset
from ..information import PROFILERS, Profiler
from ..placement import place
from ..policy import Decision, Information, Ints, Preempts, Rules, Start, State, ranked
from .deadlines import NEVER, STATED, Deadlines, Room, RunTimes, at_cycle, next_cycle

#: the profiler's nodes hold at most one of so many of the cluster's GPUs
SHARE = 4
#: answers to jobs with deadlines
NONE, REFUSED, ACCEPTED = -1, 0, 1
IDLE, NOBODY = Decision(), np.zeros(0, dtype=np.int64)
#: parts of the cluster: all nodes but the profiler's, the profiler's, and both
OUTSIDE, INSIDE, BOTH = range(3)


class Candidate(NamedTuple):
    """A job with deadlines at the begin of an SLO lease.

    Parameters
    ----------
    job : int
    gpus : int
        That it takes of a lease.
    terms : sequence of Terms
        Leases needed and available, for each deadline that it can still meet; at least one.
    values : sequence of float
        Of these deadlines.
    kept : bool
        Whether it was accepted before.
    """

    job: int
    gpus: int
    terms: Sequence[Terms]
    values: Sequence[float]
    kept: bool


class Admission(NamedTuple):
    """Which candidates will meet a deadline.

    Parameters
    ----------
    accepted : frozenset of int
        Jobs.
    now : list of int
        Those of them that get the first lease, the most urgent first.
    """

    accepted: frozenset[int]
    now: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chronus:
    """Admit jobs with deadlines lease by lease, and run best-effort jobs on what they leave.

    Parameters
    ----------
    lease, be_lease : int
        Seconds of leases of jobs with deadlines and of best-effort jobs; the second divides the
        first. Chronus has 20 minutes and 5; Gao et al. compare with 10 and 5.
    profilers : int
        The most GPUs whose nodes are set aside to profile new jobs; 0 where run times are known
        without.
    profiler : Profiler
        What the profiling run of a job takes; published are min(120 s, 30 s per GPU) on the gang.
    sr_aware : bool
        Whether the leases of a job include the mean cost of its suspensions, (3) of Gao et al.
    rounding : {"paper", "lossless"}
        Of leases, see :func:`gangsched.formulations.unisched.leases.lease_terms`.
    estimates : object with remaining(state, jobs)
        Of the seconds of service left.

    Notes
    -----
    Source: W. Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training
    Jobs", SoCC 2021, as Gao et al. (2024, sections II-B and IV-D) compare with it. At the begin of
    each SLO lease :meth:`admit` decides which new jobs with deadlines are accepted, and which of
    those accepted run; the others become best effort for good, as does an accepted job that cannot
    meet a deadline any more. Gangs count with the next power of two, or whole nodes. On the other
    GPUs best-effort jobs run by shortest remaining time, chosen anew at each best-effort lease. A
    job that goes on keeps its nodes, where no job with a deadline needs them.

    New jobs are profiled on nodes of their own, up to 16 GPUs (Gao et al. 2024, section II-B), from
    any round on; what is known of them counts from the next best-effort lease on.

    Our choices: a new job is profiled on its whole gang, up to the GPUs set aside (only UniSched's
    profiler makes do with two); in order of release, who fits; without progress. The profiler gets
    the last nodes that fit into `profilers` and a quarter of the cluster; where none does new jobs
    take any free GPUs first. A gang that finds no place outside these nodes, even on an empty
    cluster, may use them while they are idle. Among best-effort jobs those that fit by number of
    GPUs, in order, come first, then whoever finds a place. Places are consolidated. GPUs that
    become free within a lease stay idle up to the next best-effort lease. Run times are those that
    users state by default. Ties by (release, number), but for values of the integer program.

    Guarantee: none. Accepted jobs can miss their deadlines when estimates are wrong, by the cost of
    suspensions, and where gangs of several sizes find no place; wide best-effort gangs can wait as
    long as shorter jobs arrive. Complexity: O(jobs x leases) for the packing of a cycle, and a
    linear or integer program with a column for each deadline where that fails.

    Examples
    --------
    One GPU. Both want 10 minutes within 15: the second is refused, and runs as best effort.

    >>> from gangsched import Cluster, Instance, drive
    >>> from gangsched.instances import DeadlineJob
    >>> jobs = [DeadlineJob(id=i, gpus=1, work=600, rewards=[(900, 100)]) for i in "ab"]
    >>> run = drive(Instance(Cluster.of_sizes([1]), jobs), Chronus(profilers=0))
    >>> run.records.end.tolist()
    [600, 1200]
    """

    name: ClassVar[str] = "chronus"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[Information] = "known"
    one_model: ClassVar[bool] = True
    lease: int = 600
    be_lease: int = 300
    profilers: int = 16
    profiler: Profiler = PROFILERS["chronus"]
    sr_aware: bool = False
    rounding: Rounding = "paper"
    estimates: RunTimes = STATED

    def __post_init__(self) -> None:
        for name, least in (("lease", 1), ("be_lease", 1), ("profilers", 0)):
            integer(self, "chronus", name, least=least)
        if self.lease % self.be_lease:
            raise ValueError(
                f"chronus: lease={self.lease} is not a multiple of be_lease={self.be_lease}"
            )
        if not isinstance(self.profiler, Profiler):
            raise TypeError(f"chronus: profiler={self.profiler!r} is not a Profiler")
        one_of("chronus: rounding", self.rounding, get_args(Rounding))

    @property
    def profiles(self) -> bool:
        """Whether new jobs are profiled."""
        return self.profilers > 0

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Admissions:
        """Begin a session.

        Parameters
        ----------
        cluster : Cluster
            Not used.
        users : sequence of User
            Not used.
        rules : Rules
            Not used.
        """
        return Admissions(self)

    def admit(self, candidates: Sequence[Candidate], gpus: int) -> Admission:
        """Return which jobs are accepted, and which of them run now.

        Parameters
        ----------
        candidates : sequence of Candidate
            By (release, number).
        gpus : int
            In each lease.

        Notes
        -----
        :func:`admit`; a subclass may decide otherwise.
        """
        return admit(candidates, gpus)


class Admissions:
    """Chronus in one run: which jobs with deadlines were accepted.

    Parameters
    ----------
    policy : Chronus
    """

    def __init__(self, policy: Chronus) -> None:
        self.policy = policy
        self._answers = np.zeros(0, dtype=np.int64)  # by job: to those with deadlines
        self._floor: Floor | None = None

    def save(self) -> dict[str, Any]:
        """Return the answers, as plain data."""
        jobs = np.flatnonzero(self._answers != NONE)
        accepted = self._answers[jobs] == ACCEPTED
        return {"jobs": jobs.tolist(), "accepted": accepted.tolist()}

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from these answers."""
        jobs = np.array(data["jobs"], dtype=np.int64)
        self._answers = longer(self._answers, jobs.max(initial=-1) + 1, NONE)
        self._answers[jobs] = np.where(data["accepted"], ACCEPTED, REFUSED)

    def next_change(self, state: State) -> int:
        """Return the begin of the next best-effort lease."""
        return next_cycle(state, self.policy.be_lease)

    def decide(self, state: State) -> Decision:
        """Return who stops, and who starts or is profiled where; between leases the last only."""
        if at_cycle(state, self.policy.be_lease):
            return self._cycle(state)
        new = state.waiting[~self._known(state, state.waiting)]
        return self._shared_out(state, new) if new.size else IDLE

    def _known(self, state: State, jobs: Ints) -> Bools:
        """Whose run times are known; the others have to be profiled first."""
        if not self.policy.profiles:
            return np.ones(jobs.size, dtype=np.bool_)
        known: Bools = (state.profiled[jobs] > 0) | (state.starts[jobs] > 0)
        return known

    def _cycle(self, state: State) -> Decision:
        """Decide who has the next lease."""
        self._answers = longer(self._answers, state.gpus.size, NONE)
        waiting, running = state.waiting, state.running
        jobs = np.concatenate([waiting, running])
        known = self._known(state, jobs)
        new, moving = waiting[~known[: waiting.size]], running[known[waiting.size :]]
        others, now = ranked(state, jobs[known]), NOBODY
        asking = others[~self._best_effort(state, others)]
        if at_cycle(state, self.policy.lease):
            now = np.array(self._admission(state, asking).now, dtype=np.int64)
        elif asking.size:
            moving = moving[self._answers[moving] != ACCEPTED]
        if asking.size:
            others = others[self._best_effort(state, others)]
        seconds = self.policy.estimates.remaining(state, others)
        others = others[np.argsort(seconds, kind="stable")]
        return self._shared_out(state, new, moving, now, others)

    # --- jobs with deadlines ---

    def _admission(self, state: State, asking: Ints) -> Admission:
        """Ask for an answer to new jobs, and whether accepted ones still can."""
        candidates = self._candidates(state, asking) if asking.size else []
        admission = self.policy.admit(candidates, self._nodes(state).capacity)
        self._answers[asking] = [j in admission.accepted for j in asking.tolist()]
        return admission

    def _best_effort(self, state: State, jobs: Ints) -> Bools:
        """Which jobs have no deadline, or were refused."""
        without = Deadlines.of(state).number[jobs] == 0
        found: Bools = without | (self._answers[jobs] == REFUSED)
        return found

    def _candidates(self, state: State, jobs: Ints) -> list[Candidate]:
        """Those that can still meet a deadline."""
        deadlines = Deadlines.of(state)
        seconds = self.policy.estimates.remaining(state, jobs).tolist()
        costs = (state.overhead[jobs] * self.policy.sr_aware).tolist()
        own, size, capacity = self.policy, int(state.sizes.max()), self._nodes(state).capacity
        terms_of = partial(lease_terms, lease=own.lease, rounding=own.rounding)
        found = []
        for j, left, cost in zip(jobs.tolist(), seconds, costs, strict=True):
            phase = LeasePhase.SUSPENDED if state.starts[j] else LeasePhase.FRESH
            if state.held_gpus[j]:
                phase = LeasePhase.RUNNING
            met, values = [], []
            for due, value in deadlines.steps(j):
                terms = terms_of(left, due - state.now, cost=cost, phase=phase)
                if terms is not None:
                    met.append(terms)
                    values.append(value)
            if met:
                gpus = min(rounded_up(int(state.gpus[j]), size), capacity)
                kept = bool(self._answers[j] == ACCEPTED)
                found.append(Candidate(j, gpus, met, values, kept))
        return found

    # --- nodes ---

    def _nodes(self, state: State) -> Floor:
        """The nodes of this run."""
        if self._floor is None:
            self._floor = floor_of(state, self.policy.profilers)
        return self._floor

    def _shared_out(
        self,
        state: State,
        new: Ints,
        moving: Ints = NOBODY,
        now: Ints = NOBODY,
        others: Ints = NOBODY,
    ) -> Decision:
        """Profile who is new, and share the GPUs that are free and those of `moving` out.

        First to `now`, then to the others: who fits by number of GPUs in this order, then any; of
        these, but for the last, those that run come first.
        """
        floor = self._nodes(state)
        places = _Places(floor, state, moving)
        which = INSIDE if floor.inside else OUTSIDE
        runs: list[Start] = []
        for j, gang in zip(new.tolist(), state.gpus[new].tolist(), strict=True):
            gpus, seconds = self.policy.profiler.run(gang, state.rules)
            gpus = min(gpus, floor.inside) if floor.inside else gpus
            if (nodes := places.find(which, gpus)) is not None:
                runs.append(Start(j, nodes, gpus, seconds))
        places.put(sorted(now.tolist(), key=places.is_new))
        room, first = places.left(OUTSIDE), list[int]()
        for j, gang in zip(others.tolist(), state.gpus[others].tolist(), strict=True):
            if gang <= room:
                first.append(j)
                room -= gang
        places.put(sorted(first, key=places.is_new))
        places.put([j for j in others.tolist() if j not in places.placed])
        return places.decision(runs)


def rounded_up(gpus: int, size: int) -> int:
    """Return the GPUs that a gang counts with: a power of two, or whole nodes.

    Examples
    --------
    >>> [rounded_up(gpus, 8) for gpus in (1, 3, 6, 8, 9)]
    [1, 4, 8, 8, 16]
    """
    if gpus >= size:
        return -(-gpus // size) * size
    return min(size, 1 << (gpus - 1).bit_length())


# --- admission -----------------------------------------------------------------------------------


def admit(candidates: Sequence[Candidate], gpus: int) -> Admission:
    """Return which jobs are accepted for the largest sum of values, and which of them run now.

    Notes
    -----
    Jobs are packed by the lease of their first deadline that can be met, then by slack: each takes
    the first leases with room. If all fit, all are accepted. If not, an integer program chooses a
    deadline for each job or none,

        max  sum_o V_o z_o
        s.t. sum_o z_o <= 1 for each job,
             sum_o a_o max(0, L_o - max(0, Q_o - t)) z_o <= t M, for each lease t,

    in which accepted jobs are worth more than all others together: the projection of Chronus' model
    with one variable per job and lease, exact for gangs of one size that divides M, and a
    relaxation otherwise. Then accepted jobs are packed first; new ones that do not fit are refused.
    An accepted one that does not fit gets what is left before its deadline.

    Examples
    --------
    >>> short = Candidate(0, 1, [Terms(1, 1)], [100], False)
    >>> long = Candidate(1, 1, [Terms(2, 2), Terms(2, 3)], [100, 20], False)
    >>> admit([short, long], 1)
    Admission(accepted=frozenset({0, 1}), now=[0])
    """
    if not candidates:
        return Admission(frozenset(), [])
    asked = {c.job: c.terms[0] for c in candidates}
    order = sorted(candidates, key=lambda c: _urgency(asked[c.job]))
    missing, now = _pack(order, asked, gpus)
    if missing:
        asked = _chosen(candidates, gpus)
        order = [c for c in candidates if c.job in asked]
        order.sort(key=lambda c: (not c.kept, *_urgency(asked[c.job])))
        missing, now = _pack(order, asked, gpus)
        missing -= {c.job for c in order if c.kept}
    return Admission(frozenset(asked) - missing, now)


def _urgency(terms: Terms) -> tuple[int, int]:
    return terms.within, terms.within - terms.needed


def _pack(
    order: Sequence[Candidate], asked: Mapping[int, Terms], gpus: int
) -> tuple[set[int], list[int]]:
    """Jobs that do not fit after those before them, and who gets the first lease."""
    free = np.full(max((terms.within for terms in asked.values()), default=0), gpus)
    missing, now = set(), []
    for c in order:
        needed, within = asked[c.job]
        leases = np.flatnonzero(free[:within] >= c.gpus)[:needed]
        if leases.size < needed:
            missing.add(c.job)
            if not c.kept:
                continue
        free[leases] -= c.gpus
        if leases.size and leases[0] == 0:
            now.append(c.job)
    return missing, now


def _chosen(candidates: Sequence[Candidate], gpus: int) -> dict[int, Terms]:
    """The deadline of each job that the integer program accepts, or of one kept nevertheless."""
    rest = 1 + sum(c.values[0] for c in candidates if not c.kept)
    options = [(i, f) for i, c in enumerate(candidates) for f in range(len(c.terms))]
    owner = np.array([i for i, _ in options])
    values = [candidates[i].values[f] + rest * candidates[i].kept for i, f in options]
    needed, within = np.array([candidates[i].terms[f] for i, f in options]).T
    size = np.array([candidates[i].gpus for i, _ in options])
    leases = np.arange(1, within.max() + 1)[:, None]
    early = size * np.maximum(0, needed - np.maximum(0, within - leases))
    once = (owner == np.arange(len(candidates))[:, None]).astype(np.float64)
    rows = csc_array(np.concatenate([once, early]))
    limits = np.concatenate([np.ones(len(candidates)), gpus * leases.ravel()])
    taken = best_subset(np.array(values), rows, limits, owner, gap=0.0)
    found = {c.job: c.terms[-1] for c in candidates if c.kept}
    for (i, f), yes in zip(options, taken.tolist(), strict=True):
        if yes:
            found[candidates[i].job] = candidates[i].terms[f]
    return found


# --- nodes ---------------------------------------------------------------------------------------


class Floor(NamedTuple):
    """The nodes of a run.

    Parameters
    ----------
    parts : tuple of three lists of int
        Nodes outside of the profiler's, those inside, and all.
    inside, capacity : int
        GPUs of the profiler's nodes, and of the others.
    widest : int
        The most GPUs of a gang that has a place outside on an empty cluster.
    """

    parts: tuple[list[int], list[int], list[int]]
    inside: int
    capacity: int
    widest: int


def floor_of(state: State, profilers: int) -> Floor:
    """Return the nodes of a run, with those of the profiler: the last that fit into its limits."""
    sizes: list[int] = state.sizes.tolist()
    limit = min(profilers, sum(sizes) // SHARE)
    inside: list[int] = []
    for n in reversed(range(len(sizes))):
        if sizes[n] <= limit:
            inside.insert(0, n)
            limit -= sizes[n]
    outside = [n for n in range(len(sizes)) if n not in inside]
    own = Counter(sizes[n] for n in outside)
    capacity = sum(own.elements())
    widest = capacity if state.rules.spread else max(size * n for size, n in own.items())
    parts = outside, inside, [*range(len(sizes))]
    return Floor(parts, sum(sizes) - capacity, capacity, widest)


class _Places:
    """Places that jobs get one after the other, of GPUs that are free or held by `moving`."""

    def __init__(self, floor: Floor, state: State, moving: Ints) -> None:
        self.floor, self.room = floor, Room(state, state.free.tolist())
        self.gangs, self.pods = state.gpus, state.pod
        self.held = {j: state.nodes(j) for j in moving.tolist()}
        self.placed: dict[int, dict[int, int]] = {}
        self._least = [NEVER] * 3  # no gang of so many GPUs or more finds one in a part
        for nodes in self.held.values():
            self.room.give(nodes)

    def is_new(self, job: int) -> bool:
        """Whether a job holds nothing."""
        return job not in self.held

    def left(self, part: int) -> int:
        """GPUs of a part that nobody has."""
        return sum(self.room.free[n] for n in self.floor.parts[part])

    def find(self, part: int, gpus: int, pod: int = 0) -> dict[int, int] | None:
        """Take a place of a part; None where there is none."""
        if gpus >= self._least[part] and not pod:
            return None
        own, room = self.floor.parts[part], self.room
        free, sizes = [room.free[n] for n in own], [room.sizes[n] for n in own]
        found = place(gpus, free, sizes, spread=room.spread, pod=pod)
        if found is None:
            self._least[part] = self._least[part] if pod else gpus
            return None
        nodes = {own[i]: count for i, count in found.items()}
        room.take(nodes)
        return nodes

    def put(self, jobs: Sequence[int]) -> None:
        """Place jobs: where they are, on other nodes, or else on the profiler's too."""
        for j in jobs:
            nodes, gang, pod = self.held.get(j), int(self.gangs[j]), int(self.pods[j])
            if nodes is None or not self.room.take(nodes):
                nodes = self.find(OUTSIDE, gang, pod)
                if nodes is None and self.floor.inside and (pod or gang > self.floor.widest):
                    nodes = self.find(BOTH, gang, pod)
            if nodes is not None:
                self.placed[j] = nodes

    def decision(self, runs: Sequence[Start]) -> Decision:
        """Who is profiled, who starts, and who of those that held nodes goes or moves."""
        moved = [(j, nodes) for j, nodes in self.placed.items() if self.held.get(j) != nodes]
        gone = [j for j, nodes in self.held.items() if self.placed.get(j) != nodes]
        return Decision(suspend=gone, start=[*runs, *moved])
