"""IRMP by trying everything: all runs of a job, all schedules of tiny instances.

Shares nothing with the formulations but the records that it reads. Runs are as long as the job
needs: a longer one is worth no more, and costs no less.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import gangsched as gs
from gangsched.formulations.irmp.problem import Irmp
from gangsched.instances import Linear, ParameterServerJob, Power, Table


class Shape(NamedTuple):
    """Workers and PSs on each node, and the slots that the job then takes."""

    workers: tuple[int, ...]
    ps: tuple[int, ...]
    slots: int


class Run(NamedTuple):
    """A shape from `start` to `end`."""

    start: int
    end: int
    workers: tuple[int, ...]
    ps: tuple[int, ...]


def shapes(problem: Irmp, j: int) -> Iterator[Shape]:
    """Every way to hold workers and PSs, on any nodes."""
    job, nodes = problem.instance.jobs[j], problem.instance.cluster.nodes
    for workers in product(*(range(min(node.gpus, job.gpus) + 1) for node in nodes)):
        on = [s for s, count in enumerate(workers) if count]
        types = sorted({nodes[s].model for s in on})
        if sum(workers) > job.gpus or len(types) != 1:
            continue
        for ps in product(*(range(node.ps + 1) for node in nodes)):
            hosts = [s for s, count in enumerate(ps) if count]
            if not hosts or len({nodes[s].model for s in hosts}) > 1:
                continue
            if all(
                (sum(workers) - workers[s]) * problem.worker_bandwidth
                <= ps[s] * problem.ps_bandwidth
                for s in hosts
            ):
                rate = Fraction(str(job.rates[0 if len({*on, *hosts}) == 1 else 1]))
                rate *= Fraction(str(job.speeds.get(types[0], 1.0)))
                need = Fraction(job.epochs * job.gpus * job.minibatches)
                yield Shape(workers, ps, math.ceil(need / (rate * sum(workers))))


def best_single_run(
    problem: Irmp,
    j: int,
    free: Any,
    prices: Any,
    values: Any,
    *,
    begin: int,
    end: int,
    room: Any = None,
) -> tuple[float, list[Run]]:
    """Problem (9): the most value less cost of one job, and all runs that earn it.

    `free` (2, nodes, slots): workers and PSs; `prices` (2, slots), or (types, 2, slots) with types
    in the order of `problem.models`; `values` (slots + 1,): worth of completion at each time;
    `room` (2, slots): what is left of a quota, for all nodes together. Runs lie in [begin, end),
    released or not. (-inf, []) where there is none.
    """
    found: list[tuple[float, Run]] = []
    for shape in shapes(problem, j):
        for start in range(begin, end - shape.slots + 1):
            run = Run(start, start + shape.slots, shape.workers, shape.ps)
            if _fits(run, free, room):
                worth = float(values[run.end]) - _cost(problem, run, np.asarray(prices))
                found.append((worth, run))
    best = max((worth for worth, _ in found), default=-math.inf)
    return best, [run for worth, run in found if worth >= best - 1e-9]


def _fits(run: Run, free: Any, room: Any) -> bool:
    for t in range(run.start, run.end):
        for kind, held in enumerate((run.workers, run.ps)):
            if any(count > free[kind][s][t] for s, count in enumerate(held)):
                return False
            if room is not None and sum(held) > room[kind][t]:
                return False
    return True


def _cost(problem: Irmp, run: Run, prices: Any) -> float:
    cost = 0.0
    models = sorted({node.model for node in problem.instance.cluster.nodes})
    for s, node in enumerate(problem.instance.cluster.nodes):
        mine = prices if prices.ndim == 2 else prices[models.index(node.model)]
        for t in range(run.start, run.end):
            cost += float(mine[0][t]) * run.workers[s] + float(mine[1][t]) * run.ps[s]
    return cost


def first_slot(problem: Irmp, j: int) -> int:
    """The time from which a job may run."""
    release = problem.instance.jobs[j].release
    return release - 1 if problem.paper_slot_r and release else release


def worth(problem: Irmp, j: int, end: int) -> float:
    """What a completion at `end` is worth."""
    job = problem.instance.jobs[j]
    return job.utility.value(max(end - job.release, 1) if problem.clock == "release" else end)


def needed(found: Sequence[Shape]) -> list[Shape]:
    """Shapes without those that hold no less anywhere, and no shorter, than another."""
    kept: list[Shape] = []
    for shape in sorted(found, key=lambda one: (sum(one.workers) + sum(one.ps), one.slots)):
        flat = (shape.slots, *shape.workers, *shape.ps)
        if not any(
            all(a <= b for a, b in zip((k.slots, *k.workers, *k.ps), flat, strict=True))
            for k in kept
        ):
            kept.append(shape)
    return kept


def optimum(problem: Irmp) -> tuple[float, list[Run | None]] | None:
    """The most revenue by the horizon and the run of each job; None where nothing is allowed."""
    nodes, horizon = problem.instance.cluster.nodes, problem.horizon
    assert horizon is not None
    room = np.array([[[node.gpus] * horizon for node in nodes], [[n.ps] * horizon for n in nodes]])
    options: list[list[tuple[float, Run | None]]] = []
    for j in range(len(problem.instance.jobs)):
        mine: list[tuple[float, Run | None]] = [(0.0, None)] if problem.optional else []
        for shape in needed(list(shapes(problem, j))):
            for start in range(first_slot(problem, j), horizon - shape.slots + 1):
                end = start + shape.slots
                mine.append((worth(problem, j, end), Run(start, end, shape.workers, shape.ps)))
        if not mine:
            return None
        options.append(sorted(mine, key=lambda one: -one[0]))
    rest = [sum(mine[0][0] for mine in options[j:]) for j in range(len(options) + 1)]
    best: list[Any] = [-math.inf, None]

    def extend(j: int, earned: float, chosen: list[Run | None], free: Any) -> None:
        if j == len(options):
            if earned > best[0] and _all_earn(problem, chosen):
                best[:] = [earned, list(chosen)]
            return
        for more, run in options[j]:
            if earned + more + rest[j + 1] <= best[0]:
                return
            left = free
            if run is not None:
                left = free.copy()
                held = np.array([run.workers, run.ps])
                left[:, :, run.start : run.end] -= held[:, :, None]
                if (left < 0).any():
                    continue
            extend(j + 1, earned + more, [*chosen, run], left)

    extend(0, 0.0, [], room)
    return None if best[1] is None else (best[0], best[1])


def _all_earn(problem: Irmp, chosen: Sequence[Run | None]) -> bool:
    """Whether no user earns less than `alone` says."""
    for user, least in problem.alone.items():
        earned = sum(
            worth(problem, j, run.end)
            for j, run in enumerate(chosen)
            if run is not None and problem.instance.jobs[j].user == user
        )
        if earned < least - 1e-9:
            return False
    return True


def segment(j: int, run: Run) -> gs.Segment:
    """A run as a row of a schedule."""
    used = [s for s in range(len(run.workers)) if run.workers[s] or run.ps[s]]
    return gs.Segment(
        j,
        run.start,
        run.end,
        {s: run.workers[s] for s in used},
        ps={s: run.ps[s] for s in used if run.ps[s]},
    )


def schedule(chosen: Sequence[Run | None]) -> gs.Schedule:
    """What `optimum` found, as a schedule."""
    return gs.Schedule.of(segment(j, run) for j, run in enumerate(chosen) if run is not None)


def random_problem(
    rng: np.random.Generator,
    *,
    jobs: int = 3,
    nodes: int = 2,
    horizon: int = 6,
    types: Sequence[str] = ("",),
    users: int = 1,
    **parameters: Any,
) -> Irmp:
    """Up to so many jobs and nodes, on which the network, PSs and lateness matter."""
    machines = [
        gs.Node(
            f"s{i}", int(rng.integers(1, 4)), str(rng.choice(types)), ps=int(rng.integers(0, 3))
        )
        for i in range(int(rng.integers(1, nodes + 1)))
    ]
    names = [f"u{i}" for i in range(users)] if users > 1 else []
    owners = [str(rng.choice(names)) for _ in machines] if names else []
    rows = []
    for i in range(int(rng.integers(1, jobs + 1))):
        one = float(rng.choice([0.5, 1, 1, 2]))
        several = one * float(rng.choice([0.4, 0.5, 0.7, 1]))
        slope, start = -float(rng.integers(1, 6)), float(rng.integers(10, 40))
        kinds = [
            Linear(slope, start),
            Power(float(rng.integers(2, 20)), float(rng.choice([0.5, 1, 2]))),
            Table(np.sort(rng.integers(-2, 30, size=4))[::-1].astype(float).tolist()),
        ]
        rows.append(
            ParameterServerJob(
                id=f"j{i}",
                gpus=int(rng.integers(1, 5)),
                user=str(rng.choice(names)) if names else "",
                release=int(rng.integers(0, 3)),
                epochs=int(rng.integers(1, 3)),
                minibatches=1,
                rates=(one, round(several, 6)),
                speeds={model: float(rng.choice([1, 1.5, 0.3])) for model in types if model},
                utility=kinds[int(rng.integers(3))],
            )
        )
    settings: dict[str, Any] = {
        "worker_bandwidth": int(rng.integers(1, 3)),
        "ps_bandwidth": int(rng.integers(1, 4)),
        "horizon": horizon,
        "clock": str(rng.choice(["absolute", "release"])),
        "paper_slot_r": bool(rng.integers(2)),
        "owners": owners,
        **parameters,
    }
    return Irmp(
        gs.Instance(gs.Cluster(machines), rows, users=list(map(gs.User, names))), **settings
    )
