r"""What GPU time is worth, moment by moment: the prices that prove a bound of completion times.

The bounds of :mod:`.prices` and :mod:`.model_prices` are a sum over jobs less what all GPUs are
worth, sum_g N_g times the integral of pi_g. With one GPU more of model g during [a, b) the same
prices prove a bound that is lower by the integral of pi_g over [a, b), and no more: this is what
the GPU is worth there. So a price is seconds of all jobs' completion times for each second of a
GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...instances.arrays import Floats, Ints
from ...solvers.result import Bound


@dataclass(frozen=True, eq=False)
class GpuPrices:
    """The price of a GPU second at every time, by GPU model.

    Parameters
    ----------
    times : (K + 1,) int array
        Seconds at which prices change.
    prices : (models, K) float array
        Of a GPU second in each interval between them, in units of the bound's measure: for the flow
        seconds of completion time, of all jobs together, for a GPU second. Models in the order of
        their first nodes. Before the first time and after the last one a GPU costs nothing.

    Examples
    --------
    One GPU and two jobs of 2 s. Each second of it in the first two is worth about a second of
    somebody's wait, and later ones next to nothing:

    >>> from gangsched.analysis.proofs.prices import price_bound
    >>> from gangsched.formulations.completion_time.problem import CompletionTime
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id=i, gpus=1, work=2) for i in "ab"]
    >>> bound = price_bound(CompletionTime(Instance(Cluster.of_sizes([1]), jobs)))
    >>> prices = GpuPrices.of(bound)
    >>> bound.value, bool(prices.worth(0, 0, 2) > 4 * prices.worth(0, 2, 4))
    (6, True)
    """

    times: Ints
    prices: Floats

    @classmethod
    def of(cls, bound: Bound | None) -> GpuPrices | None:
        """Return the prices of a bound's certificate; None where it is proven without prices."""
        proof = {} if bound is None or bound.certificate is None else bound.certificate
        if proof.get("kind") not in ("GPU prices", "GPU model prices"):
            return None
        rows: Sequence[Sequence[int]] = proof["prices"]
        if proof["kind"] == "GPU prices":
            rows = [proof["prices"]]
        scale = proof["scale"]
        prices = np.array([[q / scale for q in row] for row in rows], dtype=np.float64)
        return cls(np.array(proof["times"], dtype=np.int64), prices)

    def worth(self, model: int, begin: float | Ints, end: float | Ints) -> Floats:
        """Return what one GPU of a model is worth from `begin` to `end`, elementwise.

        Parameters
        ----------
        model : int
            Its number, in the order of the models' first nodes.
        begin, end : float or (n,) array
            Seconds.
        """
        own = self.prices[model] * np.diff(self.times)
        whole = np.append(0.0, np.cumsum(own))
        upto: Floats = np.interp(end, self.times, whole) - np.interp(begin, self.times, whole)
        return upto
