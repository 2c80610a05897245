"""The usual measures of a run, by name."""

from __future__ import annotations

import numpy as np

from ..run import Run
from . import jobs
from .parts import BELOW, DAY, HOUR, LOSS, degree, jain, mean, once, quantile, share_below
from .users import user_attained_time, user_fair_time, user_rho, window_edges


@once
def summary(run: Run) -> dict[str, float | int | None]:
    """Return the usual measures of a run by name.

    Examples
    --------
    >>> from gangsched.analysis.driving.drive import drive
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id="a", gpus=2, work=100), Job(id="b", gpus=2, work=50, release=10)]
    >>> found = summary(drive(Instance(Cluster.of_sizes([2]), jobs), Fifo()))
    >>> found["mean_completion"], found["makespan"], found["mean_slowdown"]
    (130.0, 170, 2.1)
    """
    book = run.records
    done, slow, held = jobs.completion_time(run), jobs.slowdown(run), jobs.attained_time(run)
    waits = jobs.wait_time(run)
    fair, before = jobs.fair_times(run)
    degrees, users = degree(held, fair), user_rho(run)
    hours = window_edges(run, HOUR)
    user_held, user_fair = user_attained_time(run, hours), user_fair_time(run, hours)
    days = np.append(np.arange(0, hours.size - 1, DAY // HOUR), hours.size - 1)
    daily, hourly = (
        degree(np.diff(user_held[:, at]), np.diff(user_fair[:, at])) for at in (days, slice(None))
    )
    finished, rejected = int(book.finished.sum()), int(book.rejected.sum())
    shared = run.user_weight.size > 1
    return {
        "jobs": len(book),
        "finished": finished,
        "unfinished": len(book) - finished - rejected,
        "rejected": rejected,
        "mean_completion": mean(done),
        "median_completion": quantile(done, 0.5),
        "p99_completion": quantile(done, 0.99),
        "p999_completion": quantile(done, 0.999),
        "mean_wait": mean(waits),
        "p95_wait": quantile(waits, 0.95),
        "max_wait": quantile(waits, 1.0),
        "waited_hour": share_below(-waits, -HOUR),
        "mean_slowdown": mean(slow),
        "p99_slowdown": quantile(slow, 0.99),
        "makespan": jobs.makespan(run),
        "utilisation": jobs.utilisation(run),
        "utilisation_end": jobs.utilisation(run, "end"),
        "min_rho": quantile(degrees, 0.0),
        "min_service_rho": quantile(degree(jobs.service_time(run), fair), 0.0),
        "mean_rho": mean(degrees),
        "loss": share_below(degrees, LOSS),
        "loss_time": share_below(degrees, LOSS, held),
        "loss_release": share_below(degree(held, fair + before), LOSS),
        "min_user_rho": quantile(users, 0.0) if shared else None,
        "days_below": share_below(daily, BELOW) if shared else None,
        "hours_below": share_below(hourly, BELOW) if shared else None,
        "jain_users": jain(users) if shared else None,
        "jain_jobs": jain(degrees),
        "preemptions": int(jobs.preemptions(run).sum()),
    }
