"""GPU models of a cluster, and how fast jobs run on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances import Instance
from ...instances.arrays import Ints
from ...instances.model import FULL_SPEED
from ...instances.remembered import remembered


def models_of(instance: Instance[Any]) -> tuple[str, ...]:
    """Return the distinct GPU models of a cluster, in the order of their first nodes."""
    return tuple(dict.fromkeys(node.model for node in instance.cluster.nodes))


@remembered
def job_speeds(instance: Instance[Any]) -> Ints:
    """Return how fast each job runs on each GPU model of the cluster, in millionths."""
    models = models_of(instance)
    speeds = np.full((len(instance.jobs), len(models)), FULL_SPEED, dtype=np.int64)
    for j, job in enumerate(instance.jobs):
        if job.speeds or job.pin:
            speeds[j] = [job.speed_on_model(model) for model in models]
    return speeds
