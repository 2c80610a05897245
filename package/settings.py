"""Problems that the registry's names make: settings, tiny ones, and those of traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Never, TypeVar

import numpy as np

from .formulations.completion_time.problem import CompletionTime
from .formulations.deadline_rewards import DeadlineRewards
from .formulations.gandiva_fair.problem import GpuMarket
from .formulations.irmp.problem import Irmp
from .formulations.ltgf.fluid import LtgfFluid
from .formulations.ltgf.problem import Ltgf
from .formulations.ltgf.round import LtgfRound
from .formulations.rar_ddls.problem import RarDdls
from .formulations.sharing_incentive import SharingIncentive
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
)
from .instances.convert import Conversion, to_instance, to_rar_instance, to_revenue_instance

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Setting:
    """A seeded generator of whole problems: a family of :mod:`gangsched.families` with arguments.

    Parameters
    ----------
    family : callable
    arguments : mapping
        What it is called with, where the options do not say otherwise.
    nodes : str
        Its argument that is the number of nodes.
    what : str
        What has no number of jobs or nodes that one could choose.

    Examples
    --------
    >>> from gangsched.families import moment
    >>> Setting(moment, {"jobs": 12, "nodes": 1})(jobs=3, seed=0).gpus
    8
    """

    family: Callable[..., Any]
    arguments: Mapping[str, Any]
    nodes: str = "nodes"
    what: str = "this setting"

    def __call__(self, *, seed: int, **options: Any) -> Any:
        """Return a problem; `options` are jobs, nodes and utility, None for those of the setting.

        Raises
        ------
        ValueError
            For an option that it does not take, or what the family refuses.
        """
        given: dict[str, Any] = {}
        for name, value in options.items():
            key = self.nodes if name == "nodes" else name
            if value is not None and key not in self.arguments:
                raise ValueError(f"--{name} does not go with {self.what}")
            given |= {} if value is None else {key: value}
        return self.family(**{**self.arguments, **given}, seed=seed)


def refused(text: str) -> Callable[[Instance[Any]], Never]:
    """Return what refuses to make a problem of an instance."""

    def refuse(instance: Instance[Any]) -> Never:
        raise ValueError(f"{text}: give a problem file or a setting")

    return refuse


def rar_ddls_of_trace(
    trace: Any, *, cluster: Cluster, **options: Any
) -> tuple[RarDdls, Conversion[Any]]:
    """RAR-DDLS of the gangs of a trace; their rings are drawn."""
    made = to_rar_instance(trace, cluster, **options)
    return RarDdls(made.instance), made


def jobs_of_trace(
    trace: Any, make: Callable[[Any], P], cluster: Cluster, jobs: int | None, pick: str
) -> tuple[P, Conversion[Any]]:
    """A problem of the jobs of a trace as they are."""
    if pick != "first" and jobs is not None:
        raise ValueError("--jobs draws a sample, of which times say little: give --first")
    made = to_instance(trace, cluster, jobs=jobs)
    return make(made.instance), made


def times_of_trace(
    trace: Any, *, cluster: Cluster, seed: int, jobs: int | None, pick: str
) -> tuple[CompletionTime, Conversion[Any]]:
    """Completion times of the jobs of a trace."""
    return jobs_of_trace(trace, CompletionTime, cluster, jobs, pick)


def sharing_of_trace(
    trace: Any, *, cluster: Cluster, seed: int, jobs: int | None, pick: str
) -> tuple[SharingIncentive, Conversion[Any]]:
    """The worst user among those of a trace."""
    return jobs_of_trace(trace, SharingIncentive, cluster, jobs, pick)


def rewards_of_trace(
    trace: Any, *, cluster: Cluster, seed: int, jobs: int | None, pick: str
) -> tuple[DeadlineRewards, Conversion[Any]]:
    """Rewards of the jobs of a trace with deadlines."""
    return jobs_of_trace(trace, DeadlineRewards, cluster, jobs, pick)


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


def preemptive(problem: Irmp) -> Irmp:
    """The relaxation of IRMP in which jobs may be suspended."""
    return replace(problem, preemptive=True)


fluid_of = LtgfFluid.of


def tiny_rar_ddls() -> RarDdls:
    """Three jobs of four slots on two GPUs: no schedule meets the area bound of six."""
    jobs = [RingJob(id=i, gpus=1, iterations=4, gradient=0.0, base_time=0.9) for i in "abc"]
    return RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))


def tiny_queue() -> UniSched:
    """Three gangs, two of which have to share a node in turn; all meet their deadlines."""
    jobs = [
        DeadlineJob(id=i, gpus=3, work=600, rewards=[(1200, 100)], split_speed=0.5) for i in "abc"
    ]
    return UniSched(Instance(Cluster.of_sizes([4, 4]), jobs))


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


def tiny_market() -> GpuMarket:
    """A market of one user, who has every GPU."""
    return GpuMarket(np.array([2, 1]), np.array([[1.0, 2.0]]))


def tiny_lives() -> Ltgf:
    """Two jobs of a slot on one GPU: all schedules are alike."""
    return Ltgf(Instance(Cluster.of_sizes([1]), [Job(id=i, gpus=1, work=1) for i in "ab"]))


def tiny_round() -> LtgfRound:
    """Two users, and a gang of one GPU for each."""
    return LtgfRound(
        gpus=2, lease=10, attained=[0, 0], fair=[0, 0], share=[2, 2], jobs=[(0, 1), (1, 1)]
    )


def tiny_moment() -> LtgfFluid:
    """A job that is alone and has all that it wants."""
    return LtgfFluid(2, [2], [2])  # type: ignore[list-item]


def tiny_completion() -> CompletionTime:
    """Two jobs, a GPU for each."""
    jobs = [Job(id=i, gpus=1, work=4) for i in "ab"]
    return CompletionTime(Instance(Cluster.of_sizes([2]), jobs))


def tiny_sharing() -> SharingIncentive:
    """Two jobs of two users, a GPU for each."""
    jobs = [Job(id=i, gpus=1, work=4, user=i) for i in "ab"]
    return SharingIncentive(Instance(Cluster.of_sizes([2]), jobs, [User("a"), User("b")]))


def tiny_deadlines() -> DeadlineRewards:
    """Two jobs in turn, each in time."""
    jobs = [
        DeadlineJob(id="a", gpus=1, work=2, rewards=[(2, 100)]),
        DeadlineJob(id="b", gpus=1, work=2, rewards=[(4, 100)]),
    ]
    return DeadlineRewards(Instance(Cluster.of_sizes([1]), jobs))
