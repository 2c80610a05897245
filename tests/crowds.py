"""Jobs that want more GPUs than there are, drawn from a seed: what many tests run policies on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gangsched.formulations import CompletionTime
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node, User


def crowd(
    seed: Any,
    nodes: Sequence[int | tuple[int, str]] = (4, 4),
    jobs: int = 40,
    *,
    gangs: Sequence[int] = (1, 1, 2, 4),
    work: tuple[int, int] = (20, 1500),
    release: tuple[int, int] = (0, 1500),
    users: Sequence[User] = (),
    speeds: Sequence[Mapping[str, float]] = ({},),
) -> Instance[Job]:
    """Nodes are GPUs, or GPUs and model; no gang is wider than what could hold it."""
    rng = np.random.default_rng(seed)
    rooms = [node if isinstance(node, tuple) else (node, "") for node in nodes]
    sizes = [size for size, _ in rooms]
    most = sum(sizes) if len(set(sizes)) == 1 else max(sizes)
    made = [
        Job(
            id=f"j{k}",
            gpus=min(int(rng.choice(gangs)), most),
            work=int(rng.integers(*work)),
            release=int(rng.integers(*release)),
            user=users[int(rng.integers(len(users)))].id if users else "",
            speeds=speeds[int(rng.integers(len(speeds)))],
        )
        for k in range(jobs)
    ]
    cluster = Cluster([Node(f"n{k}", size, model) for k, (size, model) in enumerate(rooms)])
    return Instance(cluster, made, users)


def with_deadlines(
    seed: int = 0, sizes: Sequence[int] = (4, 4), jobs: int = 24, users: Sequence[User] = ()
) -> Instance[DeadlineJob]:
    """Jobs of which some wait for others, with up to two deadlines; 40 % of the last user."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(jobs):
        work, release = int(rng.integers(100, 2_000)), int(rng.integers(0, 3_000))
        due = int(work * rng.uniform(1.1, 2)) + 600
        own: dict[str, Any] = {"rewards": [(due, 100), (2 * due, 20)][: int(rng.integers(0, 3))]}
        own["gpus"] = int(rng.choice([1, 1, 2, 4, 8]))
        if users:
            own["user"] = users[int(rng.random() < 0.4)].id
        made.append(DeadlineJob(id=f"{i}", work=work, release=release, **own))
    return Instance(Cluster.of_sizes(sizes), made, users)


def flows(
    seed: int, measure: str = "flow", jobs: int = 40, *, models: bool = False
) -> CompletionTime:
    """Jobs of some weights that have to wait, on equal GPUs or on three models."""
    nodes: Sequence[Any] = [(2, "new"), (4, "old"), (4, "newest")] if models else (4, 4)
    slow = [{"new": 2.5, "old": 1.0, "newest": 2.75}, {"new": 1.3, "old": 1.0, "newest": 4.0}]
    made = crowd(
        seed, nodes, jobs, work=(1, 90), release=(0, 200), speeds=slow if models else ({},)
    )
    weights = np.random.default_rng([1, seed]).integers(1, 9, jobs).tolist()
    own = [replace(j, weight=float(w)) for j, w in zip(made.jobs, weights, strict=True)]
    return CompletionTime(replace(made, jobs=own), measure, weighted=True)  # type: ignore[arg-type]
