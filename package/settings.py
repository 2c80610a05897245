"""Problems that the registry's names make: settings, tiny ones, and those of traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .formulations.gandiva_fair.problem import GpuMarket
from .formulations.irmp.problem import Irmp
from .formulations.rar_ddls.problem import RarDdls
from .formulations.unisched.problem import UniSched
from .instances import (
    Cluster,
    DeadlineJob,
    Instance,
    Linear,
    Node,
    ParameterServerJob,
    RingJob,
    User,
    generate,
    heterogeneous,
)
from .instances.convert import Conversion, to_rar_instance, to_revenue_instance
from .instances.deadlines import queue_snapshot

__all__ = [
    "gpu_market",
    "no_market",
    "queue",
    "rar_ddls",
    "rar_ddls_of_trace",
    "revenue",
    "revenue_of_trace",
    "tiny_market",
    "tiny_queue",
    "tiny_rar_ddls",
    "tiny_revenue",
]


def rar_ddls(
    variant: Any, *, jobs: int | None, nodes: int | None, seed: int, **changes: Any
) -> RarDdls:
    """Yu et al.'s setting: 160 jobs on 20 servers of 4, 8, 16 or 32 GPUs, T = 1200."""
    extra = changes.pop("extra", (0.05, 0.10))
    cluster = generate.paper_cluster(nodes or 20, seed=seed)
    instance = generate.rar_workload(
        cluster, jobs=jobs or 160, seed=seed, variant=variant, extra=extra
    )
    return RarDdls(instance, **{"horizon": 1200, **changes})


def tiny_rar_ddls() -> RarDdls:
    """Three jobs of four slots on two GPUs: no schedule meets the area bound of six."""
    jobs = [RingJob(id=i, gpus=1, iterations=4, gradient=0.0, base_time=0.9) for i in "abc"]
    return RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))


def queue(
    mix: Literal["philly", "helios"], *, jobs: int | None, nodes: int | None, seed: int
) -> UniSched:
    """2,000 jobs that want 1.5 times as many GPUs as there are."""
    if nodes is not None:
        raise ValueError("--nodes does not go with a queue, whose cluster follows from its load")
    return UniSched(queue_snapshot(jobs or 2000, mix=mix, seed=seed))


def tiny_queue() -> UniSched:
    """Three gangs, two of which have to share a node in turn; all meet their deadlines."""
    jobs = [
        DeadlineJob(id=i, gpus=3, work=600, rewards=[(1200, 100)], split_speed=0.5) for i in "abc"
    ]
    return UniSched(Instance(Cluster.of_sizes([4, 4]), jobs))


def rar_ddls_of_trace(
    trace: Any, *, cluster: Cluster, **options: Any
) -> tuple[RarDdls, Conversion[Any]]:
    """RAR-DDLS of the gangs of a trace; their rings are drawn."""
    made = to_rar_instance(trace, cluster, **options)
    return RarDdls(made.instance), made


def revenue_of_trace(
    trace: Any,
    *,
    jobs: int | None,
    nodes: int | None,
    seed: int,
    utility: Literal["linear", "convex"] = "linear",
) -> tuple[Irmp, Conversion[Any]]:
    """Wang et al.'s workload with the submissions of a trace; servers are drawn."""
    made, parameters = to_revenue_instance(
        trace, jobs=jobs, servers=nodes or 100, utility=utility, seed=seed
    )
    return Irmp(made.instance, **parameters), made


def revenue(
    make: Callable[..., Irmp],
    *,
    jobs: int | None,
    nodes: int | None,
    seed: int,
    utility: Literal["linear", "convex"] = "linear",
) -> Irmp:
    """Wang et al.'s setting, with its own numbers of jobs and servers where none are given."""
    sizes = {name: size for name, size in (("jobs", jobs), ("servers", nodes)) if size is not None}
    return make(utility=utility, seed=seed, **sizes)


def tiny_revenue() -> Irmp:
    """Three jobs of two users, each on one of three servers; they are worth the same at any end."""
    jobs = [
        ParameterServerJob(
            id=id, user=id[0], gpus=2, release=1, epochs=2, minibatches=1, rates=(1, 0.5),
            utility=Linear(0, 100),
        )
        for id in ("a1", "a2", "b1")
    ]  # fmt: skip
    cluster = Cluster([Node(f"s{i}", 2, ps=1) for i in range(4)])
    return Irmp(Instance(cluster, jobs, [User("a"), User("b")]), owners=tuple("aabb"), horizon=64)


def gpu_market(draw: str, *, jobs: int | None, nodes: int | None, seed: int) -> GpuMarket:
    """A market of Chaudhary et al.'s kind; its GPUs belong to it."""
    for name, number in (("jobs", jobs), ("nodes", nodes)):
        if number is not None:
            raise ValueError(f"--{name} does not go with a market of users and GPUs")
    if draw == "table3":
        users, models, speeds, tickets, gpus = heterogeneous.table3_market()
    else:
        users, models, speeds, tickets, gpus = heterogeneous.random_market(20, seed=seed)
    return GpuMarket(gpus, speeds, tickets, users=users, models=models)


def no_market(instance: Instance[Any]) -> GpuMarket:
    """Refuse an instance."""
    raise ValueError(
        "a market of GPUs is not made of an instance: give a problem file or a setting"
    )


def tiny_market() -> GpuMarket:
    """One user: all have all."""
    return GpuMarket(np.array([2, 1]), np.array([[1.0, 2.0]]))
