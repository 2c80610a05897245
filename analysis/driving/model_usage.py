"""Who held how many GPUs of which model, and what was done on them, over the time of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...instances.check import at_least
from .run import Floats, Ints, Run
from .segments import Segments
from .speeds import models_of

MOST_PIECES = 10**8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelUsage:
    """GPUs and work of each user on each GPU model, as means over bins of time.

    Parameters
    ----------
    times : (bins + 1,) int array
        Ends of the bins in seconds; the last bin ends with the run.
    users, models : tuple of str
        Users as in the run, models in the order of their first nodes.
    gpus : (bins, users, models) float array
        Mean number of GPUs held, overhead and profiling included.
    work : (bins, users, models) float array
        Mean number of GPUs at speed 1 that would have done what was done for good.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, Node, drive
    >>> from gangsched.solvers import Fifo
    >>> cluster = Cluster([Node("n0", 2, "k80"), Node("n1", 2, "v100")])
    >>> fast = Job(id="a", gpus=2, work=120, speeds={"k80": 1, "v100": 4})
    >>> instance = Instance(cluster, [fast, Job(id="b", gpus=1, work=60)])
    >>> usage = model_usage(drive(instance, Fifo()), step=20)
    >>> usage.times.tolist(), usage.gpus[:, 0, 1].tolist(), usage.work[:, 0, 1].tolist()
    ([0, 20, 40, 60], [2.0, 1.0, 0.0], [8.0, 4.0, 0.0])
    """

    times: Ints
    users: tuple[str, ...]
    models: tuple[str, ...]
    gpus: Floats
    work: Floats

    def total(self, name: str) -> Floats:
        """Return GPU seconds (`gpus`) or seconds of work by GPU (`work`) of the whole run."""
        sums: Floats = np.tensordot(np.diff(self.times), getattr(self, name), axes=1)
        return sums


def model_usage(run: Run, step: int) -> ModelUsage:
    """Return what each user held and did on each GPU model, in bins of `step` seconds.

    Notes
    -----
    Within a segment the work is spread evenly over the seconds after its overhead; of one that was
    killed, over those until the end of its last lease. So the sum of a job's work is its gang times
    the seconds of service that it got for good: its work, once it has finished.

    O(segments + bins * users * models).

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> from gangsched.solvers import Fifo
    >>> instance = Instance(Cluster.of_sizes([2], model="v100"), [Job(id="a", gpus=2, work=90)])
    >>> model_usage(drive(instance, Fifo()), step=60).work.ravel().tolist()
    [2.0, 2.0]
    """
    instance = run.require_instance()
    models = models_of(instance)
    cells = len(run.users) * len(models)
    times = _times(run, step, cells)
    seg = Segments.of(run)
    number = {model: g for g, model in enumerate(models)}
    of_node = np.array([number[node.model] for node in instance.cluster.nodes], dtype=np.int64)
    first = run.schedule.node[run.schedule.ptr[:-1]][seg.number]
    cell = run.records.user[seg.job] * len(models) + of_node[first]
    begin, until = seg.start + seg.overhead, seg.until(run.rules)
    rate = _service(run, seg) * seg.gpus / np.maximum(until - begin, 1)
    shape = (times.size - 1, len(run.users), len(models))
    return ModelUsage(
        times=times,
        users=run.users,
        models=models,
        gpus=_means(times, cells, cell, seg.start, seg.end, seg.gpus).reshape(shape),
        work=_means(times, cells, cell, begin, until, rate).reshape(shape),
    )


def _times(run: Run, step: int, cells: int) -> Ints:
    """The ends of the bins."""
    at_least("model_usage: step", step, 1)
    if -(-run.now // step) * cells > MOST_PIECES:
        raise ValueError(
            f"model_usage: step={step} gives {-(-run.now // step):,} bins for {cells:,} users by "
            f"models, more than {MOST_PIECES:,} numbers"
        )
    return np.append(np.arange(0, run.now, step), run.now)


def _service(run: Run, seg: Segments) -> Ints:
    """Seconds of service that each segment gave for good; the last one no more than was left."""
    given = seg.progress(run.rules)
    before = np.concatenate([[0], np.cumsum(given)])[:-1]
    before = before - before[seg.offset[seg.job]]
    left: Ints = np.minimum(given, run.records.work[seg.job] - before)
    return left


def _means(
    times: Ints, cells: int, cell: Ints, begin: Ints, end: Ints, rate: NDArray[Any]
) -> Floats:
    """Mean sum of rates in each bin and cell, each of which holds from `begin` to `end`."""
    some = np.flatnonzero(end > begin)
    first = np.searchsorted(times, begin[some], side="right") - 1
    bins = np.searchsorted(times, end[some], side="left") - first
    if bins.sum() > MOST_PIECES:
        raise ValueError(
            f"model_usage: the bins cut the run into {bins.sum():,} pieces, more than "
            f"{MOST_PIECES:,}: make step larger"
        )
    piece = np.repeat(some, bins)
    at = np.arange(piece.size) - np.repeat(np.cumsum(bins) - bins, bins) + np.repeat(first, bins)
    seconds = np.minimum(end[piece], times[at + 1]) - np.maximum(begin[piece], times[at])
    size = (times.size - 1) * cells
    sums = np.bincount(at * cells + cell[piece], rate[piece] * seconds, minlength=size)
    means: Floats = sums.reshape(-1, cells) / np.diff(times)[:, None]
    return means
