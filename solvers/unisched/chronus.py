"""Chronus: leases, admission of jobs with deadlines, and a profiler with nodes of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from ...formulations.unisched.leases import LeasePhase, Rounding, Terms, lease_terms
from ...instances import Cluster, User
from ...instances.arrays import Bools
from ..highs import best_subset
from ..information import PROFILERS, Profiler
from ..policy import Decision, Information, Ints, Preempts, Rules, Start, State, ranked
from .deadlines import STATED, Deadlines, Room, RunTimes, at_cycle, check_seconds, next_cycle

__all__ = ["Admission", "Candidate", "Chronus", "admit", "rounded_up"]

#: the profiler's nodes hold at most one of so many of the cluster's GPUs
SHARE = 4


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
    information: ClassVar[Information] = "told"
    one_model: ClassVar[bool] = True
    lease: int = 600
    be_lease: int = 300
    profilers: int = 16
    profiler: Profiler = PROFILERS["chronus"]
    sr_aware: bool = False
    rounding: Rounding = "paper"
    estimates: RunTimes = STATED

    def __post_init__(self) -> None:
        for name in ("lease", "be_lease"):
            check_seconds("chronus", name, getattr(self, name))
        if self.lease % self.be_lease:
            raise ValueError(
                f"chronus: lease={self.lease} is not a multiple of be_lease={self.be_lease}"
            )
        if isinstance(self.profilers, bool) or not isinstance(self.profilers, int):
            raise TypeError(f"chronus: profilers={self.profilers!r} is not an integer")
        if self.profilers < 0:
            raise ValueError(f"chronus: profilers={self.profilers} is below 0")
        if not isinstance(self.profiler, Profiler):
            raise TypeError(f"chronus: profiler={self.profiler!r} is not a Profiler")
        if self.rounding not in ("paper", "lossless"):
            raise ValueError(f"chronus: rounding={self.rounding!r} is not 'paper' or 'lossless'")

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
        self._answers: dict[int, bool] = {}  # of jobs with deadlines

    def save(self) -> dict[str, Any]:
        """Return the answers, as plain data."""
        return {"jobs": list(self._answers), "accepted": list(self._answers.values())}

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from these answers."""
        self._answers = dict(zip(data["jobs"], data["accepted"], strict=True))

    def next_change(self, state: State) -> int:
        """Return the begin of the next best-effort lease."""
        return next_cycle(state, self.policy.be_lease)

    def decide(self, state: State) -> Decision:
        """Return who stops, and who starts or is profiled where; between leases the last only."""
        board = _Board(state, self.policy.profilers)
        if not at_cycle(state, self.policy.be_lease):
            self._profile(state, board)
            return board.decision()
        known = ranked(state, board.known(np.concatenate([state.waiting, state.running])))
        moving, now = known, list[int]()
        if at_cycle(state, self.policy.lease):
            now = self._admission(state, known, board).now
        else:
            moving = known[~np.array([self._answers.get(j, False) for j in known.tolist()], bool)]
        board.free_up(moving[state.held_gpus[moving] > 0].tolist())
        self._profile(state, board)
        board.place_first(now)
        others = known[self._best_effort(state, known)]
        seconds = self.policy.estimates.remaining(state, others)
        board.share_out(ranked(state, others, seconds).tolist())
        return board.decision()

    def _profile(self, state: State, board: _Board) -> None:
        """Profile new jobs, in order of release, that find room."""
        for j in board.unknown(state.waiting):
            board.profile(j, *self.policy.profiler.run(int(state.gpus[j]), state.rules))

    # --- jobs with deadlines ---

    def _admission(self, state: State, known: Ints, board: _Board) -> Admission:
        """Ask for an answer to new jobs, and whether accepted ones still can."""
        asking = known[~self._best_effort(state, known)].tolist()
        candidates = [c for c in self._candidates(state, asking, board) if c.terms]
        admission = self.policy.admit(candidates, board.capacity)
        for j in asking:
            self._answers[j] = j in admission.accepted
        return admission

    def _best_effort(self, state: State, jobs: Ints) -> Bools:
        """Which jobs have no deadline, or were refused."""
        refused = [self._answers.get(j) is False for j in jobs.tolist()]
        found: Bools = (Deadlines.of(state).number[jobs] == 0) | np.array(refused, dtype=bool)
        return found

    def _candidates(self, state: State, jobs: Sequence[int], board: _Board) -> list[Candidate]:
        numbers = np.array(jobs, dtype=np.int64)
        deadlines = Deadlines.of(state)
        seconds = self.policy.estimates.remaining(state, numbers).tolist()
        costs = (state.overhead[numbers] * self.policy.sr_aware).tolist()
        own, size = self.policy, int(state.sizes.max())
        terms_of = partial(lease_terms, lease=own.lease, rounding=own.rounding)
        found = []
        for j, left, cost in zip(jobs, seconds, costs, strict=True):
            phase = LeasePhase.SUSPENDED if state.starts[j] else LeasePhase.FRESH
            if j in board.holding:
                phase = LeasePhase.RUNNING
            met, values = [], []
            for due, value in deadlines.steps(j):
                terms = terms_of(left, due - state.now, cost=cost, phase=phase)
                if terms is not None:
                    met.append(terms)
                    values.append(value)
            gpus = min(rounded_up(int(state.gpus[j]), size), board.capacity)
            found.append(Candidate(j, gpus, met, values, self._answers.get(j, False)))
        return found


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


class _Board:
    """Who is where in a cycle, and who will be.

    Parameters
    ----------
    state : State
    profilers : int
        The most GPUs whose nodes are set aside to profile.
    """

    def __init__(self, state: State, profilers: int) -> None:
        self.state, self.profiling = state, profilers > 0
        sizes = state.sizes.tolist()
        aside = _aside(sizes, profilers)
        self.reserved = sum(sizes[n] for n in aside)
        self.capacity = sum(sizes) - self.reserved
        own = [g if n in aside else 0 for n, g in enumerate(sizes)]
        others = [g - h for g, h in zip(sizes, own, strict=True)]
        free = state.free.tolist()
        self.lab = Room(state, [min(f, h) for f, h in zip(free, own, strict=True)])
        self.room = Room(state, [min(f, h) for f, h in zip(free, others, strict=True)])
        self.aside, self.empty = aside, others
        self.outside: dict[int, bool] = {}
        self.holding = {j: state.nodes(j) for j in state.running.tolist()}
        self.stopped: dict[int, dict[int, int]] = {}
        self.placed: dict[int, dict[int, int]] = {}
        self.profiles: list[Start] = []

    def known(self, jobs: Ints) -> Ints:
        """Those of `jobs` whose run times are known."""
        if not self.profiling:
            return jobs
        return jobs[(self.state.profiled[jobs] > 0) | (self.state.starts[jobs] > 0)]

    def unknown(self, jobs: Ints) -> list[int]:
        """Those of `jobs` that have to be profiled first."""
        known = set(self.known(jobs).tolist())
        return [j for j in jobs.tolist() if j not in known]

    def free_up(self, jobs: Sequence[int]) -> None:
        """Let running jobs compete for their GPUs."""
        for j in jobs:
            self.stopped[j] = self.holding[j]
            inside, outside = self._parts(self.holding[j])
            self.lab.give(inside)
            self.room.give(outside)

    def profile(self, job: int, gpus: int, seconds: int) -> None:
        """Profile a job if there is room."""
        if self.aside:
            gpus = min(gpus, self.reserved)
        nodes = (self.lab if self.aside else self.room).place(gpus)
        if nodes is not None:
            self.profiles.append(Start(job, nodes, gpus, seconds))

    def place_all(self, jobs: Sequence[int]) -> None:
        """Place jobs in this order, on the nodes they have if these are free."""
        for j in jobs:
            back = self.stopped.get(j)
            nodes = back if back is not None and self._take(back) else self._place(j)
            if nodes is not None:
                self.placed[j] = nodes

    def place_first(self, jobs: Sequence[int]) -> None:
        """Place jobs, those that run before others."""
        self.place_all(sorted(jobs, key=lambda j: j not in self.stopped))

    def share_out(self, jobs: Sequence[int]) -> None:
        """Place those that fit by number of GPUs, those that run before others, then any."""
        room, first = sum(self.room.free), []
        for j in jobs:
            if self.state.gpus[j] <= room:
                first.append(j)
                room -= int(self.state.gpus[j])
        self.place_first(first)
        self.place_all([j for j in jobs if j not in self.placed])

    def decision(self) -> Decision:
        """Who stops and who starts: not those that go on where they are."""
        stays = {j for j, nodes in self.stopped.items() if self.placed.get(j) == nodes}
        starts = [Start(j, nodes) for j, nodes in self.placed.items() if j not in stays]
        suspend = [j for j in self.stopped if j not in stays]
        return Decision(suspend=suspend, start=[*self.profiles, *starts])

    def _place(self, job: int) -> dict[int, int] | None:
        gpus = int(self.state.gpus[job])
        nodes = self.room.place(gpus)
        if nodes is not None or not self.aside:
            return nodes
        if self._fits_outside(gpus):
            return None
        both = [a + b for a, b in zip(self.room.free, self.lab.free, strict=True)]
        nodes = Room(self.state, both).place(gpus)
        if nodes is not None:
            self._take(nodes)
        return nodes

    def _fits_outside(self, gpus: int) -> bool:
        """Whether a gang would find a place on the other nodes if they were idle."""
        if gpus not in self.outside:
            self.outside[gpus] = Room(self.state, self.empty).place(gpus) is not None
        return self.outside[gpus]

    def _take(self, nodes: Mapping[int, int]) -> bool:
        """Take GPUs of either part, all or none."""
        inside, outside = self._parts(nodes)
        if self.room.take(outside):
            if self.lab.take(inside):
                return True
            self.room.give(outside)
        return False

    def _parts(self, nodes: Mapping[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        inside = {n: gpus for n, gpus in nodes.items() if n in self.aside}
        return inside, {n: gpus for n, gpus in nodes.items() if n not in self.aside}


def _aside(sizes: Sequence[int], profilers: int) -> set[int]:
    """The profiler's nodes: the last ones that fit into its limits."""
    limit = min(profilers, sum(sizes) // SHARE)
    found: set[int] = set()
    for n in reversed(range(len(sizes))):
        if sizes[n] <= limit:
            found.add(n)
            limit -= sizes[n]
    return found
