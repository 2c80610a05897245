"""Hypothesis strategies of the project's types; all shrink to one job on one node."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import gangsched as gs
from brute_force import contenders, placements, speed
from gangsched.formulations.irmp.problem import Irmp
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Linear, ParameterServerJob, Power, Table

# --- instances and schedules ---------------------------------------------------------------------

names = st.text(min_size=1, max_size=4)
positive = st.floats(1e-9, 1e9)


def nodes(id: str = "n0") -> st.SearchStrategy[gs.Node]:
    return st.builds(
        gs.Node, st.just(id), st.integers(1, 64), st.text(max_size=3), st.integers(0, 4)
    )


@st.composite
def clusters(draw: st.DrawFn, *, max_nodes: int = 4) -> gs.Cluster:
    ids = draw(st.lists(names, min_size=1, max_size=max_nodes, unique=True))
    return gs.Cluster(tuple(draw(nodes(id)) for id in ids))


def _common(user: str, models: list[str]) -> dict[str, st.SearchStrategy[Any]]:
    return {
        "gpus": st.integers(1, 128),
        "user": st.just(user),
        "release": st.integers(0, 10**9),
        "work": st.none() | st.integers(1, 10**9),
        "weight": positive,
        "speeds": st.dictionaries(st.text(max_size=3), positive, max_size=2),
        "group": st.text(max_size=3),
        "pin": st.sampled_from(models),
    }


def jobs(
    id: str = "j0", user: str = "", models: tuple[str, ...] = ("",)
) -> st.SearchStrategy[gs.Job]:
    return st.builds(gs.Job, id=st.just(id), **_common(user, list(models)))


def ring_jobs(
    id: str = "j0", user: str = "", models: tuple[str, ...] = ("",)
) -> st.SearchStrategy[gs.RingJob]:
    return st.builds(
        gs.RingJob,
        id=st.just(id),
        iterations=st.integers(1, 10**6),
        gradient=st.floats(0, 1e6),
        base_time=positive,
        **_common(user, list(models)),
    )


# --- jobs of workers and parameter servers -------------------------------------------------------


def utilities(*, most: int = 60) -> st.SearchStrategy[Linear | Power | Table]:
    """A linear, convex or tabulated utility of small numbers; shrinks to a linear one."""
    worth = st.integers(1, most)
    values = st.lists(st.integers(-3, most), min_size=1, max_size=8)
    return st.one_of(
        st.builds(Linear, st.sampled_from([-1, 0, -2, -0.5, -3]), worth),
        st.builds(Power, worth, st.sampled_from([1, 2, 0.5, 1.5])),
        values.map(lambda drawn: Table(sorted(drawn, reverse=True))),
    )


#: mini-batches that a worker trains in a slot: on one node, and on several
RATES = ((1.0, 1.0), (1.0, 0.5), (2.0, 1.0), (0.5, 0.25), (1.0, 0.333333333333), (0.4, 0.3))


def ps_jobs(
    id: str = "j0", user: str = "", models: tuple[str, ...] = ("",), **fixed: Any
) -> st.SearchStrategy[ParameterServerJob]:
    """Any job of workers and parameter servers; `fixed` fields are strategies of their own."""
    given = {
        **_common(user, list(models)),
        "epochs": st.integers(1, 1000),
        "minibatches": st.integers(1, 1000),
        "rates": st.sampled_from(RATES) | st.tuples(positive, positive).map(_falling),
        "utility": utilities(),
    }
    return st.builds(ParameterServerJob, id=st.just(id), **{**given, **fixed})


def _falling(pair: tuple[float, float]) -> tuple[float, float]:
    return max(pair), min(pair)


@st.composite
def irmp_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 4,
    max_nodes: int = 3,
    max_workers: int = 4,
    max_users: int = 3,
    max_release: int = 4,
    models: tuple[str, ...] = ("",),
    **fixed: Any,
) -> gs.Instance[ParameterServerJob]:
    """A small instance of workers and parameter servers; shrinks to one job on one of each.

    Users, if any, have quotas: of nodes in turn, some perhaps of none, or, with one model, of any
    part of what there is. `fixed` fields of jobs are strategies of their own.
    """
    pairs = st.tuples(
        st.integers(1, max_workers), st.sampled_from(models), st.sampled_from([1, 0, 2, 3])
    )
    sizes = draw(st.lists(pairs, min_size=1, max_size=max_nodes))
    cluster = gs.Cluster([gs.Node(f"n{i}", *size) for i, size in enumerate(sizes)])
    count = draw(st.integers(0, max_users))
    users = [gs.User(f"u{u}", 1, *quota) for u, quota in enumerate(draw(_quotas(cluster, count)))]
    fields = {
        "gpus": st.integers(1, 4),
        "release": st.integers(0, max_release),
        "epochs": st.integers(1, 2),
        "minibatches": st.integers(1, 2),
        "rates": st.sampled_from(RATES),
        "work": st.none(),
        "weight": st.just(1.0),
        "group": st.just(""),
        "pin": st.just(""),
        "speeds": st.dictionaries(
            st.sampled_from([model for model in models if model] or [""]),
            st.sampled_from([1.0, 0.5, 2.0, 0.3]),
            max_size=len(models) - 1,
        ),
        **fixed,
    }
    owners = st.sampled_from([user.id for user in users] or [""])
    made = [
        draw(ps_jobs(f"j{i}", draw(owners), **fields))
        for i in range(draw(st.integers(1, max_jobs)))
    ]
    return gs.Instance(cluster, made, users)


@st.composite
def _quotas(draw: st.DrawFn, cluster: gs.Cluster, users: int) -> list[list[int]]:
    """Workers and PSs of each user, all together those of the cluster."""
    held = [(node.gpus, node.ps) for node in cluster.nodes]
    one_model = len({node.model for node in cluster.nodes}) == 1
    if users and one_model and draw(st.booleans()):
        both = (_parts(sum(count), users) for count in zip(*held, strict=True))
        return [list(quota) for quota in zip(*map(draw, both), strict=True)]
    quotas = [[0, 0] for _ in range(users)]
    turns = st.lists(st.integers(0, users - 1), min_size=len(held), max_size=len(held))
    for user, node in zip(sorted(draw(turns)) if users else [], held, strict=bool(users)):
        quotas[user] = [have + more for have, more in zip(quotas[user], node, strict=True)]
    return quotas


def _parts(total: int, count: int) -> st.SearchStrategy[list[int]]:
    cuts = st.lists(st.integers(0, total), min_size=count - 1, max_size=count - 1)
    return cuts.map(lambda at: np.diff([0, *sorted(at), total]).tolist())


@st.composite
def irmp_problems(
    draw: st.DrawFn, instance: gs.Instance[ParameterServerJob] | None = None, **fixed: Any
) -> Irmp:
    """IRMP on a small instance, drawn or given; `fixed` parameters are not drawn.

    Where users have quotas of nodes in turn, they may have nodes in any order instead.
    """
    instance = draw(irmp_instances()) if instance is None else instance
    parameters = {
        "worker_bandwidth": st.integers(1, 4),
        "ps_bandwidth": st.sampled_from([1, 2, 4, 3, 8]),
        "horizon": st.none() | st.integers(1, 40),
        "clock": st.sampled_from(["absolute", "release"]),
        "optional": st.sampled_from([True, False]),
        "preemptive": st.sampled_from([False, True]),
        "paper_slot_r": st.sampled_from([False, True]),
    }
    drawn = {name: draw(values) for name, values in parameters.items() if name not in fixed}
    if instance.users and "owners" not in fixed and draw(st.booleans()):
        size = len(instance.cluster.nodes)
        ids = st.sampled_from([user.id for user in instance.users])
        drawn["owners"] = draw(st.lists(ids, min_size=size, max_size=size))
        instance = replace(instance, users=[gs.User(user.id) for user in instance.users])
    return Irmp(instance, **drawn, **fixed)


# --- jobs with deadlines -------------------------------------------------------------------------


@st.composite
def rewards(draw: st.DrawFn, *, latest: int = 10**9) -> tuple[tuple[int, float], ...]:
    """A step function with one deadline, none (best effort) or up to four; shrinks to one."""
    count = draw(st.sampled_from([1, 0, 4, 2]))
    deadlines = st.lists(st.integers(1, latest), min_size=count, max_size=count, unique=True)
    values = draw(st.lists(st.integers(1, 100), min_size=count, max_size=count, unique=True))
    return tuple(zip(sorted(draw(deadlines)), map(float, sorted(values)[::-1]), strict=True))


@st.composite
def target_metrics(draw: st.DrawFn) -> gs.TargetMetric:
    """A target that is reached before the last epoch, in it, or not at all."""
    before = draw(st.lists(_thousandths(899), max_size=3))
    left = draw(st.integers(0, 3))
    last = draw(_thousandths(1000, 0 if not left else 900))
    return gs.TargetMetric(target=0.9, max_epochs=len(before) + 1 + left, curve=[*before, last])


def deadline_jobs(
    id: str = "j0", user: str = "", models: tuple[str, ...] = ("",), **fixed: Any
) -> st.SearchStrategy[gs.DeadlineJob]:
    """Any job with deadlines or of best effort; `fixed` fields are strategies of their own."""
    given = {
        **_common(user, list(models)),
        "rewards": rewards(),
        "stopping": st.just(gs.Iterations()) | target_metrics(),
        "split_speed": st.sampled_from([1.0, 0.5, 0.75, 0.9]) | _thousandths(1000, 1),
        "scaling": st.sampled_from([0.05, 0.0]),
        "preemption_cost": st.none() | st.integers(0, 90),
    }
    return st.builds(gs.DeadlineJob, id=st.just(id), **{**given, **fixed})


@st.composite
def deadline_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 4,
    node_sizes: tuple[int, ...] = (8, 4),
    max_nodes: int = 2,
    max_work: int = 2400,
    latest: int = 4200,
    max_release: int = 0,
    equal: bool = False,
) -> gs.Instance[gs.DeadlineJob]:
    """Jobs that fit equal nodes, works and deadlines of a few leases; shrinks to one job.

    Gangs are powers of two and the sizes between them (3, 5, 6, 7, more than a node); with `equal`
    all have one size.
    """
    cluster = gs.Cluster.uniform(
        nodes=draw(st.integers(1, max_nodes)), gpus_per_node=draw(st.sampled_from(node_sizes))
    )
    known = [n for n in (1, 2, 4, 8, 3, 6, 5, 7, 16, 12, 9, 11) if n <= cluster.gpus]
    sizes = st.just(draw(st.sampled_from(known))) if equal else st.sampled_from(known)
    made = [
        draw(
            deadline_jobs(
                f"j{i}",
                gpus=sizes,
                work=st.integers(1, max_work),
                release=st.integers(0, max_release),
                rewards=rewards(latest=latest),
                weight=st.just(1.0),
                speeds=st.just({}),
                group=st.just(""),
            )
        )
        for i in range(draw(st.integers(1, max_jobs)))
    ]
    return gs.Instance(cluster, made)


@st.composite
def instances(draw: st.DrawFn, *, max_jobs: int = 4) -> gs.Instance[Any]:
    """An instance of one kind of job, with or without users; shrinks to one job on one node."""
    cluster = draw(clusters())
    kind = draw(st.sampled_from([jobs, ring_jobs, deadline_jobs, ps_jobs]))
    owners = draw(st.lists(names, max_size=2, unique=True))
    models = ("", *(node.model for node in cluster.nodes))
    ids = draw(st.lists(names, min_size=1, max_size=max_jobs, unique=True))
    made = [draw(kind(id, draw(st.sampled_from(owners or [""])), models)) for id in ids]
    if draw(st.booleans()):
        made = [
            replace(
                job,
                pod=draw(st.sampled_from([0, 1, job.gpus])),
                after=tuple(ids[:i]) if draw(st.booleans()) else (),
                limit=draw(st.none() | st.integers(1, 9)),
            )
            for i, job in enumerate(made)
        ]
    users = [
        draw(st.builds(gs.User, st.just(id), positive, st.none() | st.integers(0, 9)))
        for id in owners
    ]
    return gs.Instance(cluster, made, users, draw(st.integers(1, 3600)), draw(st.text(max_size=5)))


@st.composite
def schedules(draw: st.DrawFn, *, max_segments: int = 4) -> gs.Schedule:
    """Any well-formed schedule, feasible or not, with or without devices and parameter servers."""
    counts = st.dictionaries(st.integers(0, 5), st.integers(1, 3), min_size=1, max_size=3)
    held = draw(st.lists(counts, min_size=1, max_size=max_segments))
    start = [draw(st.integers(0, 10**6)) for _ in held]
    gpus = [count for segment in held for count in segment.values()]
    devices = draw(st.booleans())
    servers = draw(st.booleans())
    return gs.Schedule(
        job=np.array([draw(st.integers(0, 9)) for _ in held]),
        start=np.array(start),
        end=np.array([at + draw(st.integers(1, 10**6)) for at in start]),
        ptr=np.cumsum([0, *map(len, held)]),
        node=np.array([node for segment in held for node in segment]),
        gpus=np.array(gpus),
        ps=np.array([draw(st.integers(0, 2)) for _ in gpus] if servers else [], dtype=np.int64),
        device=np.array([d for n in gpus for d in range(n)] if devices else [], dtype=np.int64),
    )


# --- RAR-DDLS ------------------------------------------------------------------------------------


def quadratic(_alpha: Fraction, k: Fraction) -> Fraction:
    """Return a user's own degradation, in rationals."""
    return k * k


def root(_alpha: Fraction, k: Fraction) -> np.float64:
    """Return a user's own degradation, in floats of numpy."""
    return np.sqrt(np.float64(k))


def _thousandths(most: int, least: int = 0) -> st.SearchStrategy[float]:
    return st.integers(least, most).map(lambda i: i / 1000)


@st.composite
def rar_problems(
    draw: st.DrawFn, *, max_jobs: int = 4, own_degradation: bool = True, **fixed: Any
) -> RarDdls:
    """RAR-DDLS on at most three nodes of at most four GPUs; `fixed` parameters are not drawn.

    An uncontended job always progresses (tau < 0.9 at p = 1), a contended one may come to a halt.
    """
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    jobs = [
        gs.RingJob(
            id=f"j{i}",
            gpus=draw(st.integers(1, min(6, sum(sizes)))),
            iterations=draw(st.integers(1, 30)),
            gradient=draw(_thousandths(200)),
            base_time=draw(_thousandths(300, 10)),
        )
        for i in range(draw(st.integers(1, max_jobs)))
    ]
    own = [quadratic, root] if own_degradation else []
    parameters = {
        "bandwidth_within": st.sampled_from([50.0, 1.0, 2.5]),
        "xi1": st.sampled_from([1.0, 0.5, 0.3, 0.75]),
        "xi2": st.sampled_from([0.0, 0.0001, 0.005]),
        "alpha": st.sampled_from([0.0, 0.2, 0.5, 1.0]),
        "degradation": st.sampled_from(["linear", "power", *own]),
        "contention": st.sampled_from(["clipped", "shifted"]),
        "rate": st.sampled_from(["floor", "exact"]),
    }
    drawn = {name: draw(values) for name, values in parameters.items() if name not in fixed}
    return RarDdls(gs.Instance(gs.Cluster.of_sizes(sizes), jobs), **drawn, **fixed)


@st.composite
def rar_placements(draw: st.DrawFn, problem: RarDdls) -> list[dict[int, int]]:
    """A placement of each job that fits the empty cluster."""
    sizes = problem.instance.cluster.sizes
    return [draw(st.sampled_from(list(placements(j.gpus, sizes)))) for j in problem.jobs]


@st.composite
def rar_schedules(draw: st.DrawFn, problem: RarDdls, *, delay: int = 2) -> gs.Schedule:
    """A feasible schedule without GPU identities.

    Jobs start in a drawn order, each as soon as its drawn placement fits and up to `delay` slots
    later; made slot by slot with the rates of `brute_force`, not with the code under test.
    """
    sizes = problem.instance.cluster.sizes
    placement = draw(rar_placements(problem))
    queue = draw(st.permutations(range(len(placement))))
    wait = [draw(st.integers(0, delay)) for _ in placement]
    left = [Fraction(job.iterations) for job in problem.jobs]
    active: list[int] = []
    start, end, t = [0] * len(left), [0] * len(left), 0

    def fits(job: int) -> bool:
        held = ((placement[j].get(s, 0) for j in [*active, job]) for s in range(len(sizes)))
        return all(sum(on) <= room for on, room in zip(held, sizes, strict=True))

    while queue or active:
        while queue and not wait[queue[0]] and fits(queue[0]):
            start[queue[0]] = t
            active.append(queue.pop(0))
        rates = {
            j: speed(problem, j, len(placement[j]), contenders(j, active, placement))
            for j in active
        }
        # nobody progresses and nobody else will start: a deadlock, phi = 0 for good
        assume(any(rates.values()) or (queue and fits(queue[0])))
        t += 1
        if queue and wait[queue[0]]:
            wait[queue[0]] -= 1
        for j, rate in rates.items():
            left[j] -= rate
            end[j] = t
        active = [j for j in active if left[j] > 0]
    return gs.Schedule.of(gs.Segment(j, start[j], end[j], held) for j, held in enumerate(placement))
