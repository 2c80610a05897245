"""When a training metric will reach its target, given what jobs usually save.

Source: Gao et al. (2024), Fig. 1: a job that stops at its best accuracy takes up to 22 % fewer
epochs than its user allows, one that stops at 99 % of it up to 31 %. The rest is not in the paper.

Model
-----
A job that may take M epochs ends after N of them, where its mean curve reaches the target y*:

    y(x) = y* + b1 (g(x) - g(N)) + noise,    b1 <= 0,

g one of the curves of :class:`~.learning_curves.CurveEnsemble`. Prior of N: M less a saving that is
uniform within 0 and 22 % or within 0 and 31 %, at equal odds (Fig. 1), and with the chance
`OTHERWISE` anything from 1 to M; of g, b1 and the noise as there. With n points, r = y - y* and
h = g(x) - g(N), the likelihood of g and N is, b1 and the noise integrated out, up to a constant

    (sum r^2 - (sum h r)^2 / sum h^2)^(-POWER (n - 1) / 2)  (sum h^2)^(-1/2).

No curve of the grid is the true one, so errors are alike from epoch to epoch, and n points say less
than n independent ones would: the likelihood is raised to `POWER` (a fractional posterior). At 1,
intervals of 80 % have the truth in half of all cases. The value was chosen on 1,000 curves of
:func:`~gangsched.instances.deadlines.target_metric`; the tests draw others.

Difference from the ensemble
----------------------------
The ensemble asks when noise first lifts a value to the target, and has no opinion on N before it
sees the curve. Its median is too short for two of three such jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ...instances.arrays import Floats
from ...instances.model import TargetMetric
from .learning_curves import LEAST_POINTS, TOP, ensemble, epochs_at

#: largest savings of Fig. 1: at the best accuracy, and at 99 % of it
SAVINGS = (0.22, 0.31)
#: chance that a job saves anything from nothing to everything
OTHERWISE = 0.01
#: to which the likelihood is raised
POWER = 0.15


@lru_cache(maxsize=64)
def epochs_prior(max_epochs: int) -> Floats:
    """Return the chance of 1, 2, ..., `max_epochs` epochs before anything is seen.

    Examples
    --------
    >>> bool(0.98 < epochs_prior(100)[68:].sum() < 1)
    True
    """
    saved = 1 - np.arange(max_epochs + 1) / max_epochs
    below = np.mean([np.clip(saved / most, 0, 1) for most in SAVINGS], axis=0)
    prior: Floats = (1 - OTHERWISE) * -np.diff(below) + OTHERWISE / max_epochs
    prior.flags.writeable = False
    return prior


def stopping_distribution(
    curve: ArrayLike, target: float, max_epochs: int, *, bounded: bool = True
) -> Floats:
    """Return the chance that the job has stopped after 1, 2, ..., `max_epochs` epochs.

    Parameters
    ----------
    curve : (n,) floats
        The metric after epochs 1 to n, none of which ended the job. Larger is better.
    target : float
        Where the job stops.
    max_epochs : int
        After which it ends in any case, more than n.
    bounded : bool
        Whether 1 bounds the metric.

    Notes
    -----
    The prior of more than n epochs for fewer than 4 points, and where no curve of the grid rises to
    the target. O(points of the grid x max_epochs), about 0.4 ms for 100 epochs.

    Examples
    --------
    >>> curve = 0.9 - 0.6 / np.arange(1, 101) ** 0.5
    >>> [epochs_at(stopping_distribution(curve[:n], curve[79], 100)) for n in (1, 40, 70)]
    [88, 80, 80]
    """
    y = np.asarray(curve, dtype=np.float64)
    chance = epochs_prior(max_epochs).copy()
    chance[: y.size] = 0
    if y.size >= LEAST_POINTS and y.size < max_epochs:
        likely = _likelihood(y, target, max_epochs, bounded)
        if likely is not None:
            chance[y.size :] *= likely
    if not chance.sum() > 0:
        chance[-1] = 1.0
    stopped: Floats = np.cumsum(chance) / chance.sum()
    return stopped


def _likelihood(y: Floats, target: float, max_epochs: int, bounded: bool) -> Floats | None:
    """Of n + 1, n + 2, ... epochs, up to a constant; None where no curve rises to the target."""
    model, n, rest = ensemble(max_epochs, bounded), y.size, y - target
    seen, then = model.table[:, :n], model.table[:, n:]
    total, square, product = seen.sum(axis=1), (seen**2).sum(axis=1), seen @ rest
    spread = square[:, None] - 2 * then * total[:, None] + n * then**2
    told = spread > 1e-20
    spread[~told] = 1.0
    shared = product[:, None] - then * rest.sum()
    slope, least = shared / spread, 1e-8 * float(rest @ rest)
    errors = np.maximum(float(rest @ rest) - shared * slope, max(least, 1e-300))
    told &= slope <= 0
    if bounded:
        told &= target - slope * then <= TOP
    if not told.any():
        return None
    logs = model.log_prior[:, None] - POWER * (n - 1) / 2 * np.log(errors) - np.log(spread) / 2
    logs = np.where(told, logs, -np.inf)
    found: Floats = np.exp(logs - logs.max()).sum(axis=0)
    return found


def prediction_errors(jobs: Sequence[TargetMetric], predict: str, seen: float) -> Floats:
    """Return by what share of the true epochs each job's predicted median is too large.

    Parameters
    ----------
    jobs : sequence of TargetMetric
    predict : {"calibrated", "ensemble", "maximum"}
        Modes of :class:`~gangsched.solvers.DurationEstimates`.
    seen : float
        Part of the true epochs that is known, within [0, 1).

    Examples
    --------
    >>> from gangsched.instances.deadlines import target_metric
    >>> rng = np.random.default_rng(1)
    >>> jobs = [target_metric(rng) for _ in range(40)]
    >>> ours, paper = (prediction_errors(jobs, mode, 0.4) for mode in ("calibrated", "ensemble"))
    >>> bool(abs(ours).mean() < abs(paper).mean())
    True
    """
    medians = [epochs_at(distribution_of(job, int(seen * job.epochs), predict)) for job in jobs]
    true = np.array([job.epochs for job in jobs])
    return np.asarray((medians - true) / true)


def distribution_of(job: TargetMetric, seen: int, predict: str) -> Floats:
    """The chance that a job has stopped after 1, 2, ... epochs, by those seen."""
    bounded, curve = 0 < job.target <= 1, np.asarray(job.curve, dtype=np.float64)[:seen]
    if predict == "calibrated":
        return stopping_distribution(curve, job.target, job.max_epochs, bounded=bounded)
    if predict == "ensemble":
        return ensemble(job.max_epochs, bounded).distribution(curve, job.target)
    stopped = np.zeros(job.max_epochs)
    stopped[-1] = 1.0
    return stopped
