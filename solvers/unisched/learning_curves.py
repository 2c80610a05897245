"""When will a training metric reach its target? A Bayesian ensemble of learning curves.

Source: Gao et al. (2024), section III-B2, the training iteration estimator. The families are among
those of T. Domhan, J. T. Springenberg, F. Hutter, "Speeding up automatic hyperparameter
optimization of deep neural networks by extrapolation of learning curves", IJCAI 2015.

Model
-----
The metric after epoch x is y = b0 + b1 g(x) + noise, g falling to 0: b0 is the asymptote, b1 <= 0.

=======  =======================  ===========
family   g(x)                     parameters
=======  =======================  ===========
weibull  exp(-(x / s)^d)          s, d
hill     1 / (1 + (x / s)^d)      s, d
pow4     (1 + x / s)^-d           s, d
pow3     x^-d                     d
vapor    1 - exp(-s / x)          s
ilog2    ln 2 / ln(x + 1)         none
=======  =======================  ===========

Prior: uniform over the families and over the grid points within each (s: 15 values from 0.5 to 4
times the most epochs, evenly by their logarithm; d: 7 values); b0, b1 flat, the standard deviation
of the noise with density 1/sigma. With n points, SSE of the least squares and S the sum of squares
of g about its mean, the marginal likelihood of a grid point is then, up to a constant,
SSE^(-(n-2)/2) S^(-1/2): nothing is sampled, and the same points give the same answer.

Deviations from the cited work
------------------------------
- No Markov chain and no weights of a linear combination of families: one family is right, which one
  is part of the posterior. Log-power is hill with other names for its parameters.
- The conditions b1 <= 0 and b0 <= 1.05 (metrics that 1 bounds) are tested at the least squares.
- SSE is at least 1e-8 times the sum of squares of y: curves without noise stay finite.
- The job stops at its first epoch whose *measured* value reaches the target, earlier than the mean
  curve does where the noise is not small against the slope. The chance of that is followed epoch by
  epoch, with the noise of the least squares.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...instances.arrays import Floats
from ...instances.check import integer

#: fewer points than this say nothing: n - 2 degrees of freedom, and one to tell families apart
LEAST_POINTS = 4
#: metrics that 1 bounds may have an asymptote up to here
TOP = 1.05
SHAPES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
SCALES = 15
#: grid points that together weigh less are left out when epochs are predicted
NEGLIGIBLE = 1e-2
#: the normal distribution function at -6, ..., 6 in steps of 1/STEPS
STEPS, FAR = 128, 6 * 128
NORMAL = np.array([math.erfc(-k / STEPS / math.sqrt(2)) / 2 for k in range(-FAR, FAR + 1)])


class Posterior(NamedTuple):
    """What some epochs of a curve say of each grid point.

    Parameters
    ----------
    weight : (points,) float array
        Posterior probabilities; all 0 where nothing can be said.
    asymptote, slope, noise : (points,) float arrays
        b0, b1 and sigma of the least squares.
    """

    weight: Floats
    asymptote: Floats
    slope: Floats
    noise: Floats


class CurveEnsemble:
    """The learning curves that a job of so many epochs may follow.

    Parameters
    ----------
    max_epochs : int
        N_max, the epochs after which the job ends in any case, at least 1.
    bounded : bool
        Whether 1 bounds the metric (accuracy, F1, mAP). False for a negated loss.

    Attributes
    ----------
    families : tuple of str
        The family of each grid point.
    table : (points, max_epochs) float array
        g(1), g(2), ... of each grid point.
    log_prior : (points,) float array

    Notes
    -----
    338 grid points; a call costs O(points x max_epochs) time, the table as much memory. All of it
    is linear algebra in NumPy, about 0.5 ms for 200 epochs.

    Examples
    --------
    Of a curve without noise the first ten epochs are known.

    >>> curve = 0.9 - 0.6 / np.arange(1, 101) ** 0.5
    >>> stopped = CurveEnsemble(100).distribution(curve[:10], 0.8295)
    >>> epochs_at(stopped), int(np.argmax(curve >= 0.8295)) + 1
    (73, 73)
    >>> epochs_at(CurveEnsemble(100).distribution(curve[:3], 0.8295))
    100
    """

    def __init__(self, max_epochs: int, *, bounded: bool = True) -> None:
        self.max_epochs, self.bounded = max_epochs, bounded
        integer(self, "curve ensemble", "max_epochs", least=1)
        grids = _families(self.max_epochs)
        self.families = tuple(name for name, rows in grids.items() for _ in rows)
        self.table = np.vstack(list(grids.values()))
        self.table.flags.writeable = False
        self.log_prior = np.concatenate([np.full(len(g), -np.log(len(g))) for g in grids.values()])

    def posterior(self, curve: ArrayLike) -> Posterior:
        """Return what the first epochs of a curve say of each grid point.

        Parameters
        ----------
        curve : (n,) floats
            The metric after epochs 1 to n. Larger is better.

        Notes
        -----
        Weights are all 0 for fewer than 4 points, a constant curve, and where no grid point meets
        the conditions (a falling curve, say).
        """
        y = self._points(curve)
        n = y.size
        if n < LEAST_POINTS:
            none = np.zeros(len(self.families))
            return Posterior(none, none, none, none)
        g = self.table[:, :n]
        mean, rise = g.mean(axis=1), y - y.mean()
        g = g - mean[:, None]
        spread = np.einsum("ij,ij->i", g, g)
        told = spread > 1e-20  # where g is flat on these points, b1 could be anything
        spread[~told] = 1.0
        slope = (g @ rise) / spread
        asymptote = y.mean() - slope * mean
        total = float(rise @ rise)
        errors = np.maximum(total - slope**2 * spread, max(1e-8 * total, 1e-300))
        told &= (slope <= 0) & (asymptote <= TOP if self.bounded else True) & (total > 0)
        log_weight = self.log_prior - (n - 2) / 2 * np.log(errors) - np.log(spread) / 2
        return Posterior(
            _weights(np.where(told, log_weight, -np.inf)),
            asymptote,
            slope,
            np.sqrt(errors / (n - 2)),
        )

    def distribution(self, curve: ArrayLike, target: float) -> Floats:
        """Return the chance that the job has stopped after 1, 2, ..., `max_epochs` epochs.

        Parameters
        ----------
        curve : (n,) floats
            The metric after epochs 1 to n.
        target : float
            The job stops after the first epoch with this value or more.

        Returns
        -------
        (max_epochs,) float array
            Rising to 1; all the chance is at the last epoch where the curve says nothing.
        """
        y = self._points(curve)
        reached = np.flatnonzero(y >= target)[:1]
        stopped = np.zeros(self.max_epochs)
        if reached.size:
            stopped[reached[0] :] = 1.0
        elif self.max_epochs > y.size >= LEAST_POINTS:
            stopped[y.size :] = self._first_passage(self.posterior(y), y.size, target)
        stopped[-1] = 1.0
        return stopped

    def _points(self, curve: ArrayLike) -> Floats:
        y = np.asarray(curve, dtype=np.float64)
        if y.ndim != 1 or y.size > self.max_epochs:
            raise ValueError(
                f"curve ensemble: a curve of shape {y.shape} is not one of at most "
                f"max_epochs={self.max_epochs} numbers"
            )
        for i in np.flatnonzero(~np.isfinite(y))[:1]:
            raise ValueError(f"curve ensemble: curve[{i}]={y[i]} is not finite")
        return y

    def _first_passage(self, posterior: Posterior, n: int, target: float) -> Floats:
        """Chance that one of the epochs n + 1, ..., x reaches the target, for each x."""
        order = np.argsort(-posterior.weight, kind="stable")
        weight = posterior.weight[order]
        kept = int(np.searchsorted(np.cumsum(weight), (1 - NEGLIGIBLE) * weight.sum())) + 1
        order, weight = order[:kept], weight[:kept]
        if not weight[0] > 0:
            return np.zeros(self.max_epochs - n)
        b0, b1, noise = (column[order, None] for column in posterior[1:])
        # how far the mean curve is below the target in standard deviations, as a place in NORMAL
        below = self.table[order, n:] * (-STEPS * b1 / noise)
        below += STEPS * (target - b0) / noise + (FAR + 0.5)
        places = np.clip(below, 0, 2 * FAR, out=below).astype(np.intp)
        still = np.multiply.accumulate(NORMAL[places], axis=1)
        gone: Floats = 1 - (weight / weight.sum()) @ still
        return np.clip(gone, 0, 1)


@lru_cache(maxsize=64)
def ensemble(max_epochs: int, bounded: bool = True) -> CurveEnsemble:
    """Return the ensemble for so many epochs, made once.

    Examples
    --------
    >>> ensemble(50) is ensemble(50)
    True
    """
    return CurveEnsemble(max_epochs, bounded=bounded)


def epochs_at(stopped: Floats, quantile: float = 0.5) -> int:
    """Return after how many epochs a job has stopped with this chance.

    Parameters
    ----------
    stopped : (max_epochs,) float array
        The chance that it has after 1, 2, ... epochs, rising to 1.
    quantile : float
        Within (0, 1).

    Examples
    --------
    >>> epochs_at(np.array([0.0, 0.5, 1.0])), epochs_at(np.array([0.0, 0.5, 1.0]), 0.9)
    (2, 3)
    """
    return int(np.searchsorted(stopped, quantile)) + 1


def _families(max_epochs: int) -> dict[str, Floats]:
    """The values g(1), g(2), ... of each family, a row a grid point."""
    x = np.arange(1, max_epochs + 1, dtype=np.float64)
    scales, shapes = np.geomspace(0.5, 4 * max_epochs, SCALES)[:, None], np.array(SHAPES)[:, None]
    s, d = np.repeat(scales, len(SHAPES), axis=0), np.tile(shapes, (SCALES, 1))
    return {
        "weibull": np.exp(-((x / s) ** d)),
        "hill": 1 / (1 + (x / s) ** d),
        "pow4": (1 + x / s) ** -d,
        "pow3": x**-shapes,
        "vapor": -np.expm1(-scales / x),
        "ilog2": np.log(2) / np.log(x + 1)[None, :],
    }


def _weights(logs: Floats) -> Floats:
    """Probabilities of these logarithms, or zeros where all are -inf."""
    top = logs.max()
    if not np.isfinite(top):
        return np.zeros(logs.size)
    weights: Floats = np.exp(logs - top)
    weights /= weights.sum()
    return weights
