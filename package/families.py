"""Seeded generators of the library's instances, by name.

An entry of the library records the call that makes its problem: a family of :data:`FAMILIES`, its
arguments and a seed. :func:`make` repeats it; the same call gives the same problem for ever, which
a hash in the entry shows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

from .formulations.completion_time.problem import CompletionTime, Measure
from .formulations.deadline_rewards import DeadlineRewards
from .formulations.gandiva_fair.problem import GpuMarket
from .formulations.irmp.problem import Irmp, paper_problem
from .formulations.ltgf.fluid import LtgfFluid
from .formulations.ltgf.problem import Ltgf
from .formulations.ltgf.round import LtgfRound
from .formulations.rar_ddls.problem import RarDdls
from .formulations.sharing_incentive import Reading, SharingIncentive
from .formulations.unisched.problem import UniSched
from .instances import (
    Cluster,
    DeadlineJob,
    Instance,
    Job,
    ReadReport,
    RingJob,
    Trace,
    User,
    generate,
    heterogeneous,
)
from .instances.check import one_of
from .instances.convert import to_rar_instance
from .instances.deadlines import (
    Family,
    helios_like_workload,
    philly_like_workload,
    queue_snapshot,
)
from .instances.io import check_fields

__all__ = ["FAMILIES", "make"]

Mix = Literal["philly", "helios"]
Aim = Literal["total", "max-min", "nash"]
Goal = Literal["completion", "flow", "slowdown", "makespan", "rewards", "wait", "stretch"]
#: shares of gangs of 1, 2, 4 and 8 GPUs
WIDTHS = {"narrow": (0.7, 0.15, 0.1, 0.05), "wide": (0.3, 0.2, 0.25, 0.25)}
#: of a call from a file: no number may be larger, nor a list longer
MOST, LONGEST = 1_000_000, 1_000


def rings(
    *,
    workload: Literal["A", "B", "heavy"],
    jobs: int = 160,
    nodes: int = 20,
    horizon: int = 1200,
    seed: int,
) -> RarDdls:
    """Yu et al. 2022, section 7; "heavy" is B with three times the contention."""
    heavy = workload == "heavy"
    changes: dict[str, Any] = {"xi2": 3e-4} if heavy else {}
    instance = generate.rar_workload(
        generate.paper_cluster(nodes, seed=seed),
        jobs=jobs,
        seed=seed,
        variant="B" if workload == "heavy" else workload,
        extra=(0.30, 0.60) if heavy else (0.05, 0.10),
    )
    return RarDdls(instance, horizon=horizon, **changes)


def rings_of_sizes(*, jobs: int, sizes: Sequence[int], seed: int) -> RarDdls:
    """Jobs of workload B on nodes of these sizes."""
    cluster = Cluster.of_sizes(list(sizes))
    return RarDdls(generate.rar_workload(cluster, jobs=jobs, seed=seed, variant="B"))


def rings_like_philly(*, jobs: int, sizes: Sequence[int], seed: int) -> RarDdls:
    """Rings with the sizes and run-time ranks of a workload like Philly's."""
    cluster = Cluster.of_sizes(list(sizes))
    made = generate.philly_workload(cluster, jobs=4 * jobs, seed=seed)
    trace = Trace(name="philly-like", jobs=tuple(made.jobs), report=ReadReport(read=len(made.jobs)))
    return RarDdls(to_rar_instance(trace, cluster, jobs=jobs, seed=seed).instance)


def rings_in_contention(
    *, gangs: Sequence[int], iterations: Sequence[int], sizes: Sequence[int], seed: int = 0
) -> RarDdls:
    """Jobs that cut each other's speed on a shared link to a quarter; nothing is drawn."""
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=f, gradient=0.15, base_time=0.01)
        for i, (g, f) in enumerate(zip(gangs, iterations, strict=True))
    ]
    return RarDdls(Instance(Cluster.of_sizes(list(sizes)), jobs), xi1=1.0, xi2=0.005, alpha=0.5)


def queue(
    *, mix: Mix, jobs: int, load: float = 1.5, deadlines: Family = "mix2", seed: int
) -> UniSched:
    """A queue of Gao et al.'s jobs, which want `load` times as many GPUs as there are."""
    return UniSched(queue_snapshot(jobs, load=load, mix=mix, family=deadlines, seed=seed))


def revenue(
    *, jobs: int, servers: int, users: int, utility: Literal["linear", "convex"], seed: int
) -> Irmp:
    """Wang et al.'s jobs, servers and users."""
    return paper_problem(jobs, servers=servers, users=users, utility=utility, seed=seed)


def market(*, users: int, aim: Aim = "total", seed: int) -> GpuMarket:
    """Users with the speeds of Chaudhary et al.'s Table 1, tickets and noise."""
    names, models, speeds, tickets, gpus = heterogeneous.random_market(users, seed=seed)
    return GpuMarket(gpus, speeds, tickets, users=names, models=models, aim=aim)


def table3_market(*, aim: Aim = "total", seed: int = 0) -> GpuMarket:
    """The market of Chaudhary et al.'s Table 3; nothing is drawn."""
    names, models, speeds, tickets, gpus = heterogeneous.table3_market()
    return GpuMarket(gpus, speeds, tickets, users=names, models=models, aim=aim)


def lives(*, jobs: int, nodes: int, seed: int) -> Ltgf:
    """Jobs of three users of 1 to 12 slots, one released in each slot, on nodes of 8 GPUs."""
    rng = np.random.default_rng([31, seed])
    made = [
        Job(
            id=f"j{i}",
            user=f"u{int(rng.integers(3))}",
            gpus=int(rng.choice([1, 2, 4, 8])),
            work=int(rng.integers(1, 13)),
            release=i,
        )
        for i in range(jobs)
    ]
    users = [User(f"u{j}", weight=1.0 + j) for j in range(3)]
    return Ltgf(Instance(Cluster.uniform(nodes=nodes, gpus_per_node=8), made, users))


def lease(*, jobs: int, nodes: int, seed: int) -> LtgfRound:
    """One round: gangs of five users who have got unequal GPU time."""
    rng = np.random.default_rng([32, seed])
    return LtgfRound(
        gpus=8 * nodes,
        lease=600,
        attained=(600 * rng.integers(0, 60, 5)).tolist(),
        fair=(600.0 * rng.integers(1, 60, 5)).tolist(),
        share=[8 * nodes / 5] * 5,
        jobs=[(int(rng.integers(5)), int(rng.choice([1, 2, 4, 8]))) for _ in range(jobs)],
    )


def moment(*, jobs: int, nodes: int, seed: int) -> LtgfFluid:
    """Gangs of 3, 5 or 6 that stay, on nodes of 8 GPUs."""
    rng = np.random.default_rng([33, seed])
    gangs = rng.choice([3, 5, 6], jobs).tolist()
    made = [Job(id=f"j{i}", gpus=gang) for i, gang in enumerate(gangs)]
    return LtgfFluid.of(Instance(Cluster.uniform(nodes=nodes, gpus_per_node=8), made))


def completion(
    *, measure: Measure, jobs: int, nodes: int, load: float, seed: int
) -> CompletionTime:
    """Jobs like Philly's, as they arrive, at an offered load on nodes of 8 GPUs."""
    cluster = Cluster.uniform(nodes=nodes, gpus_per_node=8)
    made = generate.philly_workload(cluster, jobs=jobs, seed=seed, load=load)
    return CompletionTime(made, measure)


def completion_like_venus(
    *, measure: Measure, jobs: int, nodes: int, days: int, seed: int
) -> CompletionTime:
    """Jobs like those of Helios' cluster Venus, as they arrive in so many days."""
    cluster = Cluster.uniform(nodes=nodes, gpus_per_node=8)
    made = generate.venus_workload(cluster, jobs=jobs, days=days, seed=seed)
    return CompletionTime(made, measure)


def sharing(*, reading: Reading, jobs: int, nodes: int, load: float, seed: int) -> SharingIncentive:
    """Jobs of nine users like Philly's at an offered load: the worst user against alone."""
    cluster = Cluster.uniform(nodes=nodes, gpus_per_node=8)
    return SharingIncentive(
        generate.philly_workload(cluster, jobs=jobs, seed=seed, load=load), reading
    )


def deadlines(
    *, mix: Mix, jobs: int, nodes: int, days: int, deadlines: Family, seed: int
) -> DeadlineRewards:
    """Jobs with deadlines, as they arrive in so many days, on nodes of 8 GPUs."""
    draw = helios_like_workload if mix == "helios" else philly_like_workload
    cluster = Cluster.uniform(nodes=nodes, gpus_per_node=8)
    return DeadlineRewards(draw(cluster, jobs=jobs, days=days, family=deadlines, seed=seed))


def gangs(
    *, goal: Goal, jobs: int, nodes: int, load: float, widths: Literal["narrow", "wide"], seed: int
) -> CompletionTime | DeadlineRewards | SharingIncentive:
    """Gangs with lognormal run times, released at random, on nodes of 8 GPUs."""
    rng = np.random.default_rng([34, seed])
    sizes = rng.choice([1, 2, 4, 8], jobs, p=WIDTHS[widths])
    work = np.maximum(1, np.rint(1_000 * np.exp(1.2 * rng.standard_normal(jobs)))).astype(int)
    between = float((sizes * work).mean()) / (8 * nodes * load)  # s, the mean
    release = np.cumsum(-between * np.log1p(-rng.random(jobs))).astype(int)
    users, slack, soft = rng.integers(3, size=jobs), rng.uniform(1.05, 2, jobs), rng.random(jobs)
    cluster = Cluster.uniform(nodes=nodes, gpus_per_node=8)
    columns = sizes.tolist(), work.tolist(), (release - release[0]).tolist(), users.tolist()
    common = [
        {"id": f"j{i}", "gpus": gpus, "work": seconds, "release": second, "user": f"u{user}"}
        for i, (gpus, seconds, second, user) in enumerate(zip(*columns, strict=True))
    ]
    if goal == "rewards":
        made = []
        for given, seconds, late in zip(common, (work * slack).astype(int), soft, strict=True):
            steps = [(int(seconds), 100)]
            if late >= 0.5:
                steps += [(int(seconds * (10 + k)) // 10 + k, 100 - 20 * k) for k in (1, 2, 4)]
            made.append(DeadlineJob(**given, rewards=steps))
        return DeadlineRewards(Instance(cluster, made))
    instance = Instance(cluster, [Job(**given) for given in common])
    if goal == "wait" or goal == "stretch":
        return SharingIncentive(instance, goal)
    return CompletionTime(instance, goal)


#: generators by the names that calls record: their own, with - for _
FAMILIES: Mapping[str, Callable[..., Any]] = {
    family.__name__.replace("_", "-"): family
    for family in (
        rings, rings_of_sizes, rings_like_philly, rings_in_contention, queue, revenue, market,
        table3_market, lives, lease, moment, completion, completion_like_venus, sharing, deadlines,
        gangs,
    )
}  # fmt: skip


@cache
def _hints(name: str) -> Mapping[str, Any]:
    """The types of a family's arguments, without the seed."""
    hints = get_type_hints(FAMILIES[name])
    return {key: hint for key, hint in hints.items() if key not in ("return", "seed")}


def make(call: Any) -> Any:
    """Return the problem that a recorded call makes.

    Parameters
    ----------
    call : mapping
        With "family" (a name of :data:`FAMILIES`), "arguments" and "seed".

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        For an unknown family, or arguments that it does not take; nothing is called then.

    Examples
    --------
    >>> len(make({"family": "lives", "arguments": {"jobs": 5, "nodes": 1}, "seed": 3}).jobs)
    5
    >>> make({"family": "lives", "arguments": {"jobs": 5, "gpus": 1}, "seed": 3})
    Traceback (most recent call last):
        ...
    ValueError: generator lives: unknown field 'gpus' (known are jobs, nodes)
    """
    check_fields("generator", call, required={"family", "arguments", "seed"})
    name, arguments, seed = call["family"], call["arguments"], call["seed"]
    one_of("generator: family", name, FAMILIES)
    place, hints = f"generator {name}", _hints(name)
    signature = inspect.signature(FAMILIES[name]).parameters
    needed = {key for key in hints if signature[key].default is inspect.Parameter.empty}
    check_fields(place, arguments, required=needed, optional={*hints})
    for key, value in {**arguments, "seed": seed}.items():
        _check(f"{place}: {key}", value, int if key == "seed" else hints[key])
    try:
        return FAMILIES[name](**arguments, seed=seed)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def _check(place: str, value: Any, hint: Any) -> None:
    """Refuse a value of another type, or one that memory may not hold."""
    if choices := get_args(hint) if hint not in (Sequence[int],) else ():
        one_of(place, value, choices)
    elif hint == Sequence[int]:
        if not isinstance(value, list) or not 1 <= len(value) <= LONGEST:
            raise ValueError(f"{place}={value!r} is not a list of 1 to {LONGEST} integers")
        for one in value:
            _check(place, one, int)
    elif hint is str:
        if not isinstance(value, str):
            raise ValueError(f"{place}={value!r} is not a string")
    else:
        allowed = (int,) if hint is int else (int, float)
        if type(value) not in allowed or not 0 <= value <= MOST:
            kind = "an integer" if hint is int else "a number"
            raise ValueError(f"{place}={value!r} is not {kind} within 0 to {MOST:,}")
