"""Small contended clusters for policies of the driver, and what holds for every policy on them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.segments import Segments
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node, User
from gangsched.solvers import Stop
from gangsched.solvers.placement import place_by_speed
from gangsched.solvers.policy import Decision, Policy, Preempts, Start, State
from reference_driver import drive
from strategies import deadline_jobs, rewards


class Case(NamedTuple):
    """An instance and the rules of its cluster."""

    instance: Instance[Any]
    rules: dict[str, Any]


@st.composite
def cases(
    draw: st.DrawFn, sizes: tuple[int, ...] = (1, 2, 3, 4), uniform: bool = False, wide: int = 0
) -> Case:
    """A few nodes, up to three users and ten jobs; shrinks to one job on one node.

    Gangs are up to so many GPUs too wide for the cluster.
    """
    node = st.sampled_from(sizes)
    if uniform:
        cluster = [draw(node)] * draw(st.integers(1, 3))
    else:
        cluster = draw(st.lists(node, min_size=1, max_size=3))
    users = draw(st.lists(st.sampled_from([1.0, 2.5, 0.3]), max_size=3))
    owners = [f"u{i}" for i in range(len(users))] or [""]
    row = st.tuples(
        st.integers(1, sum(cluster) + wide),
        st.integers(1, 600),
        st.integers(0, 300),
        st.sampled_from(owners),
        st.sampled_from([1.0, 1.0, 3.0]),
    )
    jobs = [
        Job(id=f"j{i}", gpus=gpus, work=work, release=release, user=user, weight=weight)
        for i, (gpus, work, release, user, weight) in enumerate(
            draw(st.lists(row, min_size=1, max_size=10))
        )
    ]
    round_length = draw(st.sampled_from([60, 10, 7]))
    lease = draw(st.integers(1, 4)) * round_length - draw(st.integers(0, 3))
    rules = {
        "round_length": round_length,
        "lease": lease,
        "overhead": draw(st.integers(0, min(lease - 1, 30))),
        "synchronous": draw(st.booleans()),
        "spread": draw(st.booleans()),
        "patience": draw(st.sampled_from([None, 0, 120])),
    }
    weights = [User(f"u{i}", weight) for i, weight in enumerate(users)]
    return Case(Instance(Cluster.of_sizes(cluster), jobs, weights), rules)


def checked(case: Case, policy: Policy, **how: Any) -> Run:
    """The run, once the independent checker has nothing to say."""
    run = drive(case.instance, policy, **case.rules, **how)
    assert violations(run, preempts=policy.preempts) == []
    return run


def one_run(case: Case, policy: Policy, data: st.DataObject, *, skip: bool = True) -> Run:
    """The run of a policy, which is the same by every way to it; all jobs finish."""
    whole = checked(case, policy)
    assert whole.stop is Stop.COMPLETED
    assert checked(case, policy) == whole  # one policy object, used again
    assert checked(case, policy, engine="reference") == whole
    assert not skip or checked(case, policy, skip=False) == whole
    until = data.draw(st.integers(0, whole.now), label="until")
    part = checked(case, policy, until=until)
    assert checked(case, policy, until=until, engine="reference") == part
    if part.checkpoint is not None:
        assert checked(case, policy, resume=part.checkpoint) == whole
    return whole


def dated(
    name: str, gpus: int, work: int, due: int = 0, release: int = 0, user: str = ""
) -> DeadlineJob:
    """A job with one deadline, or none."""
    rewards = [(due, 100.0)] if due else []
    return DeadlineJob(id=name, gpus=gpus, work=work, release=release, rewards=rewards, user=user)


def ends(policy: Any, gpus: int, *jobs: Job, **rules: Any) -> list[int]:
    """Completions on one node."""
    users = [User(name) for name in sorted({job.user for job in jobs} - {""})]
    run = drive(Instance(Cluster.of_sizes([gpus]), jobs, users), policy, **rules)
    found: list[int] = run.records.end.tolist()
    return found


def profiles(run: Run) -> list[tuple[int, int, int, int]]:
    """Profiling runs as (job, start, end, GPUs)."""
    found = Segments.of(run)
    return [
        (int(found.job[k]), int(found.start[k]), int(found.end[k]), int(found.gpus[k]))
        for k in np.flatnonzero(found.profile)
    ]


def due(job: Job, **more: Any) -> DeadlineJob:
    """The same job with what else those with deadlines have."""
    return DeadlineJob(
        id=job.id, gpus=job.gpus, work=job.work, release=job.release, user=job.user, **more
    )


@st.composite
def split_cases(draw: st.DrawFn) -> Case:
    """The same with jobs that know their speeds, some with a preemption cost of their own."""
    case = draw(cases())
    jobs = [
        due(
            job,
            split_speed=draw(st.sampled_from([1.0, 0.7, 1 / 3, 0.05])),
            scaling=draw(st.sampled_from([0.05, 0.0, 1.0])),
            preemption_cost=draw(st.sampled_from([None, 0, 13, 200])),
        )
        for job in case.instance.jobs
    ]
    return Case(Instance(case.instance.cluster, jobs, case.instance.users), case.rules)


@st.composite
def deadline_cases(draw: st.DrawFn) -> Case:
    """The small clusters of all policies, with deadlines of about the run times."""
    case = draw(cases())
    jobs = [
        draw(
            deadline_jobs(
                job.id,
                job.user,
                gpus=st.just(job.gpus),
                work=st.just(job.work),
                release=st.just(job.release),
                rewards=rewards(latest=1500),
                weight=st.just(1.0),
                speeds=st.just({}),
                pin=st.just(""),
                split_speed=st.sampled_from([1.0, 0.5]),
            )
        )
        for job in case.instance.jobs
    ]
    return Case(Instance(case.instance.cluster, jobs, case.instance.users), case.rules)


@st.composite
def mixed_cases(draw: st.DrawFn) -> Case:
    """Nodes of up to three GPU models; jobs with speeds, for some models or none, and with pins.

    A round is longer than what a resumption costs, by enough for a second of work at half speed.
    """
    node = st.tuples(st.sampled_from(["k80", "p40", "v100"]), st.integers(1, 4))
    nodes = [
        Node(f"n{n}", size, model)
        for n, (model, size) in enumerate(draw(st.lists(node, min_size=1, max_size=5)))
    ]
    models = sorted({node.model for node in nodes})
    speed = st.sampled_from([None, 1.0, 1.0, 0.5, 5 / 3, 3.25])
    owners = draw(st.sampled_from([[""], ["u"], ["u", "v", "w"]]))
    jobs = [
        Job(
            id=f"j{i}",
            gpus=draw(st.sampled_from([1, 1, 2, 2, 3, 4, 5, 8])),
            work=draw(st.integers(1, 600)),
            release=draw(st.integers(0, 300)),
            user=draw(st.sampled_from(owners)),
            speeds={
                model: value
                for model in ["k80", "p40", "v100"]
                if (value := draw(speed)) is not None
            }
            if draw(st.booleans())
            else {},
            pin=draw(st.sampled_from(["", "", "", *models])),
        )
        for i in range(draw(st.integers(1, 10)))
    ]
    round_length = draw(st.sampled_from([60, 10, 7]))
    cost = st.integers(0, round_length - 2)
    rules = {
        "round_length": round_length,
        "lease": draw(st.integers(1, 4)) * round_length,
        "overhead": draw(cost),
        "migration": draw(st.none() | cost),
        "synchronous": draw(st.booleans()),
        "spread": draw(st.booleans()),
        "patience": draw(st.sampled_from([None, 0, 120])),
    }
    users = [User(name, 1.0 + 0.7 * i) for i, name in enumerate(owners) if name]
    return Case(Instance(Cluster(nodes), jobs, users), rules)


class Forgetful:
    """A session that has nothing to save."""

    def save(self) -> dict[str, Any]:
        return {}

    def load(self, data: Any) -> None:
        pass


def _stopped(state: State, rng: np.random.Generator) -> tuple[list[int], list[int], Any]:
    """Half of those that may be stopped, which of them are killed, and what is free then."""
    stopped = [int(j) for j in state.preemptible if rng.random() < 0.5]
    kill = [j for j in stopped if rng.random() < 0.3]
    free = state.free.copy()
    for j in stopped:
        for n, gpus in state.nodes(j).items():
            free[n] += gpus
    return stopped, kill, free


@dataclass(frozen=True)
class Shuffle:
    """Stops, kills, moves, splits, resizes and profiles at random, every so many rounds.

    Calms down later: whoever waits starts where there is room.
    """

    seed: int = 0
    cycle: int = 2
    quiet: int = 3_000
    orders: bool = False
    always_asked: bool = True
    preempts: Preempts = Preempts.ALWAYS
    name: str = "shuffle"

    def decide(self, state: State) -> Decision:
        if state.now >= self.quiet:
            return Decision(order=state.waiting)
        if state.now % (self.cycle * state.rules.round_length):
            return Decision()
        rng = np.random.default_rng([self.seed, state.now])
        stopped, kill, free = _stopped(state, rng)
        start = self._starts(state, [*state.waiting.tolist(), *stopped], free, rng)
        named = {*stopped, *(entry.job for entry in start)}
        rest = [j for j in rng.permutation(state.candidates.tolist()).tolist() if j not in named]
        return Decision(
            suspend=[j for j in stopped if j not in kill],
            kill=kill,
            start=start,
            order=[j for j in rest if rng.random() < 0.7] if self.orders else (),
            blocking=bool(rng.random() < 0.3),
        )

    def _starts(
        self, state: State, jobs: list[int], free: Any, rng: np.random.Generator
    ) -> list[Start]:
        start: list[Start] = []
        for j in rng.permutation(jobs).tolist():
            gang, length = int(state.gpus[j]), state.rules.round_length
            profile = int(rng.integers(1, 6)) * length if rng.random() < 0.3 else 0
            most = gang if profile else 2 * gang
            gpus = int(rng.integers(1, most + 1)) if rng.random() < 0.4 else None
            entry = Start(j, None, gpus, profile)
            number = entry.number(gang)
            if rng.random() < 0.2 or number > free.sum():
                continue
            if gpus in (None, gang) and rng.random() < 0.2:
                return [*start, entry]  # the driver chooses: what is left is not known
            nodes = state.nodes(j) if gpus is None and not profile and rng.random() < 0.5 else {}
            if sum(nodes.values()) != number or any(free[n] < g for n, g in nodes.items()):
                nodes = _anywhere(number, free, rng)
            for n, taken in nodes.items():
                free[n] -= taken
            start.append(entry._replace(nodes=nodes))
        return start

    def next_change(self, state: State) -> int | None:
        if state.now >= self.quiet:
            return None
        length = self.cycle * state.rules.round_length
        return min((state.now // length + 1) * length, self.quiet)


def _anywhere(gpus: int, free: Any, rng: np.random.Generator) -> dict[int, int]:
    """So many free GPUs, on few or many nodes."""
    nodes: dict[int, int] = {}
    for n in rng.permutation(np.repeat(np.arange(free.size), free)).tolist():
        if sum(nodes.values()) < gpus and rng.random() < 0.5:
            nodes[n] = nodes.get(n, 0) + 1
    for n in rng.permutation(free.size).tolist():
        more = min(gpus - sum(nodes.values()), int(free[n]) - nodes.get(n, 0))
        if more:
            nodes[n] = nodes.get(n, 0) + more
    return nodes


@dataclass(frozen=True)
class Mover:
    """Stops, kills, profiles and starts at random, on nodes of its choice; calms down later."""

    seed: int = 0
    quiet: int = 2_000
    preempts: Preempts = Preempts.ALWAYS
    always_asked: bool = True
    name: str = "mover"

    def decide(self, state: State) -> Decision:
        if state.now >= self.quiet:
            return Decision(order=state.waiting)
        rng = np.random.default_rng([self.seed, state.now])
        stopped, kill, free = _stopped(state, rng)
        start = []
        for j in rng.permutation([*state.waiting.tolist(), *stopped]).tolist():
            if rng.random() < 0.3:
                continue
            profile = 2 * state.rules.round_length if rng.random() < 0.2 else 0
            entry = Start(j, profile=profile)
            nodes = self._nodes(state, entry, free, rng)
            if nodes is not None:
                for n, gpus in nodes.items():
                    free[n] -= gpus
                start.append(entry._replace(nodes=nodes))
        named = {*stopped, *(entry.job for entry in start)}
        return Decision(
            suspend=[j for j in stopped if j not in kill],
            kill=kill,
            start=start,
            order=[j for j in state.candidates.tolist() if j not in named],
        )

    @staticmethod
    def _nodes(
        state: State, entry: Start, free: Any, rng: np.random.Generator
    ) -> dict[int, int] | None:
        """Where it is, or on some model that it can run on, the nodes in any order."""
        held = state.nodes(entry.job)
        if held and not entry.profile and rng.random() < 0.4:
            stays = all(free[n] >= gpus for n, gpus in held.items())
            return dict(reversed(held.items())) if stays else None
        number = entry.number(int(state.gpus[entry.job]))
        any_order = np.where(state.speeds[entry.job] > 0, rng.permutation(len(state.models)) + 1, 0)
        nodes = place_by_speed(
            number,
            free.tolist(),
            state.sizes.tolist(),
            state.node_model.tolist(),
            any_order.tolist(),
            spread=state.rules.spread,
        )
        return nodes and dict(reversed(nodes.items()))

    def next_change(self, state: State) -> int | None:
        if state.now >= self.quiet:
            return None
        length = state.rules.round_length
        return min((state.now // length + 1) * length, self.quiet)
