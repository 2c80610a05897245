"""Measures of users: what they held and got done, against their fair shares."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ....instances.model import FULL_SPEED
from ..run import Floats, Ints, Run
from .jobs import able_speeds, gpus_by_model
from .parts import DAY, Line, active_jobs, degree, held_until, once, users_with_jobs

By = Literal["demand", "quota"]


def user_attained_time(run: Run, times: ArrayLike) -> Ints:
    """Return the GPU seconds that each user's jobs held until each of `times`: eq. (11)."""
    at = np.asarray(times, dtype=np.int64)
    if at.size == 1 and at.flat[0] == max(run.now, 0):
        return _attained_at_end(run)
    return held_until(run, at, run.records.user, len(run.user_weight))


@once
def _attained_at_end(run: Run) -> Ints:
    return held_until(run, [max(run.now, 0)], run.records.user, len(run.user_weight))


def user_fair_time(run: Run, times: ArrayLike, by: By = "demand") -> Floats:
    """Return the fair GPU seconds of each user until each of `times`: eq. (9)."""
    at = np.asarray(times, dtype=np.int64)
    if by == "quota":
        return run.quota[:, None] * at
    fair = np.zeros((len(run.user_weight), at.size))
    for user in users_with_jobs(run):
        fair[user.number] = Line.of(user.time, user.fair).at(at)
    return fair


def user_rho(run: Run) -> Floats:
    """Return the fairness degree of each user over the whole run: eq. (12)."""
    end = [max(run.now, 0)]
    rates = degree(user_attained_time(run, end)[:, 0], user_fair_time(run, end)[:, 0])
    seen = np.bincount(run.records.user[active_jobs(run)[0]], minlength=rates.size) > 0
    return np.where(seen, rates, np.nan)


def user_work(run: Run) -> Floats:
    """Return the mean rate at which each user's work was done: GPUs at speed 1 that would do it."""
    book, users = run.records, len(run.user_weight)
    count = np.bincount(book.user[~book.rejected], minlength=users)
    rate = np.bincount(book.user, _done(run), users) / max(run.now, 1)
    return np.where(count > 0, rate, np.nan)


def _done(run: Run) -> Floats:
    """GPU seconds at speed 1 that each job's work so far takes."""
    book = run.records
    done: Floats = np.where(book.rejected, 0.0, book.gpus * (book.work - book.left))
    return done


def user_work_rho(run: Run) -> Floats:
    """Return the work done of each user over that of its fair share of every GPU model.

    Its fair GPU time, (9), is given out on every model in proportion to the model's GPUs, where job
    j advances at its mean speed, sum_g N_g s_jg / M, overhead left out. On equal GPUs this is
    the share (12) of service alone. A user above 1 got more GPUs than its share, or faster ones.

    Examples
    --------
    >>> from gangsched.analysis.driving.drive import drive
    >>> from gangsched.instances import Cluster, Instance, Job, Node
    >>> from gangsched.solvers import Fifo
    >>> cluster = Cluster([Node("n0", 2, "k80"), Node("n1", 2, "v100")])
    >>> jobs = [Job(id="a", gpus=2, work=120, speeds={"k80": 1, "v100": 4})]
    >>> instance = Instance(cluster, jobs)
    >>> run = drive(instance, Fifo())    # 30 s on 2 fast GPUs; fair: on all 4, at 2.5
    >>> user_work(run).tolist(), user_work_rho(run).tolist()
    ([8.0], [0.8])
    """
    speeds = able_speeds(run) / FULL_SPEED
    mean = speeds @ gpus_by_model(run.require_instance()) / run.gpus
    needed = np.divide(_done(run), mean, out=np.zeros(mean.size), where=mean > 0)
    fair = user_fair_time(run, [max(run.now, 0)])[:, 0]
    return degree(np.bincount(run.records.user, needed, fair.size), fair)


def window_edges(run: Run, length: int = DAY) -> Ints:
    """Return the edges of tumbling windows from time 0 to the end of the run."""
    if length < 1:
        raise ValueError(f"windows: length={length} is below 1")
    return np.append(np.arange(0, max(run.now, 0), length), max(run.now, 0))


def window_rho(run: Run, length: int = DAY) -> Floats:
    """Return the fairness degree of each user in tumbling windows: eq. (12), Section 6.1.4.

    Notes
    -----
    A job demands GPUs until the round after its completion but holds them only until it completes:
    a user with nothing but very short jobs stays a little below 1 also on an empty cluster.
    """
    edges = window_edges(run, length)
    held = np.diff(user_attained_time(run, edges))
    return degree(held, np.diff(user_fair_time(run, edges)))
