"""Problems that the registry's names make: settings, tiny ones, and those of traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from .formulations.completion_time.problem import CompletionTime, Measure
from .formulations.deadline_rewards import DeadlineRewards
from .formulations.gandiva_fair.problem import GpuMarket
from .formulations.irmp.problem import Irmp
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
    Linear,
    Node,
    ParameterServerJob,
    RingJob,
    User,
    generate,
    heterogeneous,
)
from .instances.convert import Conversion, to_rar_instance, to_revenue_instance
from .instances.deadlines import helios_like_workload, philly_like_workload, queue_snapshot


def rar_ddls(
    variant: Any, *, jobs: int | None, nodes: int | None, seed: int, **changes: Any
) -> RarDdls:
    """Yu et al.'s setting: 160 jobs on 20 nodes of 4, 8, 16 or 32 GPUs, T = 1200."""
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
    """Wang et al.'s workload with the submissions of a trace; nodes are drawn."""
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
    """Wang et al.'s setting, with its own numbers of jobs and nodes where none are given."""
    sizes = {name: size for name, size in (("jobs", jobs), ("servers", nodes)) if size is not None}
    return make(utility=utility, seed=seed, **sizes)


def tiny_revenue() -> Irmp:
    """Three jobs of two users, each on one of three nodes; they are worth the same at any end."""
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
    """A market of one user, who has every GPU."""
    return GpuMarket(np.array([2, 1]), np.array([[1.0, 2.0]]))


def lives(*, jobs: int | None, nodes: int | None, seed: int) -> Ltgf:
    """30 jobs of three users, of 1 to 12 slots on 2 nodes of 8 GPUs: one at a time is released."""
    rng = np.random.default_rng([31, seed])
    made = [
        Job(
            id=f"j{i}",
            user=f"u{int(rng.integers(3))}",
            gpus=int(rng.choice([1, 2, 4, 8])),
            work=int(rng.integers(1, 13)),
            release=i,
        )
        for i in range(jobs or 30)
    ]
    users = [User(f"u{j}", weight=1.0 + j) for j in range(3)]
    return Ltgf(Instance(Cluster.uniform(nodes=nodes or 2, gpus_per_node=8), made, users))


def tiny_lives() -> Ltgf:
    """Two jobs of a slot on one GPU: all schedules are alike."""
    return Ltgf(Instance(Cluster.of_sizes([1]), [Job(id=i, gpus=1, work=1) for i in "ab"]))


def one_lease(*, jobs: int | None, nodes: int | None, seed: int) -> LtgfRound:
    """40 gangs of five users who have got unequal GPU time want the GPUs of 4 nodes of 8."""
    rng = np.random.default_rng([32, seed])
    many = 40 if jobs is None else jobs
    return LtgfRound(
        gpus=8 * (nodes or 4),
        lease=600,
        attained=(600 * rng.integers(0, 60, 5)).tolist(),
        fair=(600.0 * rng.integers(1, 60, 5)).tolist(),
        share=[8 * (nodes or 4) / 5] * 5,
        jobs=[(int(rng.integers(5)), int(rng.choice([1, 2, 4, 8]))) for _ in range(many)],
    )


def no_round(instance: Instance[Any]) -> LtgfRound:
    """Refuse an instance."""
    raise ValueError(
        "a round of LTGF is not made of an instance, which has no past: give a problem file or "
        "a setting"
    )


def tiny_round() -> LtgfRound:
    """Two users, and a gang of one GPU for each."""
    return LtgfRound(
        gpus=2, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 1), (1, 1)]
    )


def one_moment(*, jobs: int | None, nodes: int | None, seed: int) -> LtgfFluid:
    """12 jobs that stay, of gangs of 3, 5 or 6, on a node of 8 GPUs."""
    rng = np.random.default_rng([33, seed])
    gangs = rng.choice([3, 5, 6], jobs or 12).tolist()
    made = [Job(id=f"j{i}", gpus=gang) for i, gang in enumerate(gangs)]
    return LtgfFluid.of(Instance(Cluster.uniform(nodes=nodes or 1, gpus_per_node=8), made))


def tiny_moment() -> LtgfFluid:
    """A job that is alone and has all that it wants."""
    return LtgfFluid(2, [2], [2])  # type: ignore[list-item]


def completion(
    measure: Measure, *, jobs: int | None, nodes: int | None, seed: int
) -> CompletionTime:
    """300 jobs of a workload like Philly's on 4 nodes of 8 GPUs, at a load of 1.2."""
    cluster = Cluster.uniform(nodes=nodes or 4, gpus_per_node=8)
    instance = generate.philly_workload(cluster, jobs=jobs or 300, seed=seed, load=1.2)
    return CompletionTime(instance, measure)


def tiny_completion() -> CompletionTime:
    """Two jobs, a GPU for each."""
    jobs = [Job(id=i, gpus=1, work=4) for i in "ab"]
    return CompletionTime(Instance(Cluster.of_sizes([2]), jobs))


def sharing(
    reading: Reading, *, jobs: int | None, nodes: int | None, seed: int
) -> SharingIncentive:
    """The jobs of the completion times, of as many users as the generator draws."""
    return SharingIncentive(completion("flow", jobs=jobs, nodes=nodes, seed=seed).instance, reading)


def tiny_sharing() -> SharingIncentive:
    """Two jobs of two users, a GPU for each."""
    jobs = [Job(id=i, gpus=1, work=4, user=i) for i in "ab"]
    return SharingIncentive(Instance(Cluster.of_sizes([2]), jobs, [User("a"), User("b")]))


def deadline_run(
    mix: Literal["philly", "helios"], *, jobs: int | None, nodes: int | None, seed: int
) -> DeadlineRewards:
    """300 jobs with deadlines, as they arrive, on 4 nodes of 8 GPUs."""
    draw = helios_like_workload if mix == "helios" else philly_like_workload
    cluster = Cluster.uniform(nodes=nodes or 4, gpus_per_node=8)
    return DeadlineRewards(draw(cluster, jobs=jobs or 300, seed=seed))


def tiny_deadlines() -> DeadlineRewards:
    """Two jobs in turn, each in time."""
    jobs = [
        DeadlineJob(id="a", gpus=1, work=2, rewards=[(2, 100)]),
        DeadlineJob(id="b", gpus=1, work=2, rewards=[(4, 100)]),
    ]
    return DeadlineRewards(Instance(Cluster.of_sizes([1]), jobs))
