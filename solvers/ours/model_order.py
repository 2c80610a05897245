"""Preemptive gangs on several GPU models, each at a price: at every event the cheapest ones run.

A GPU of model g costs c_g a second. On it a gang of D_j does s_jg seconds of its work in a second,
so that what job j has left of its work, rem_j, costs at the least

    rem_j D_j min_g (c_g / s_jg),

with one model its area. At every release and completion jobs are taken in the order of this cost
over their weight, and each gets the model on which its work is the cheapest of those with room;
then, in the same order, those that can run faster on GPUs that are left move there. All GPUs of a
model are alike: gangs spread over its nodes, and pauses and moves are free, but for the part of a
second of work that a segment does not complete. No job is known before it comes.

The prices are those of the linear program of all work, :func:`model_prices`, to some power.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.arrays import Floats, Ints
from ...instances.model import FULL_SPEED
from ...instances.schedule import Schedule
from ..result import Stop
from .model_order_core import Keys, schedule_models
from .pool_core import place_pieces

#: rows of speeds that prices are optimised for, those with the most work
ROWS = 1_000
CHEAPEST = 0.05  #: price over the dearest one's, at the least


@dataclass(frozen=True)
class ModelRun:
    """Pieces (job, start, end, model) of a schedule, in the order in which they end.

    Parameters
    ----------
    job, start, end, model : (pieces,) int arrays
    ends : (jobs,) int array
        Completions.
    stop : Stop
        INTERRUPTED where Ctrl-C ended the search for a better one.
    """

    job: Ints
    start: Ints
    end: Ints
    model: Ints
    ends: Ints
    stop: Stop = Stop.COMPLETED


def run_models(problem: CompletionTime, prices: Floats) -> ModelRun:
    """Run at every event the jobs whose work left is the cheapest over their weight.

    Parameters
    ----------
    problem : CompletionTime
    prices : (models,) array
        Of a GPU of each model, positive.

    Returns
    -------
    ModelRun

    Notes
    -----
    O(events x GPUs x distinct gangs and speeds), compiled.

    Examples
    --------
    Two GPUs, one of which is twice as fast; the short job takes it first, the long one moves there.

    >>> from gangsched.instances import Cluster, Instance, Job, Node
    >>> cluster = Cluster([Node("n", 1, "new"), Node("o", 1, "old")])
    >>> speeds = {"new": 2.0, "old": 1.0}
    >>> jobs = [Job(id=i, gpus=1, work=w, speeds=speeds) for i, w in (("long", 8), ("short", 4))]
    >>> problem = CompletionTime(Instance(cluster, jobs))
    >>> run_models(problem, np.array([2.0, 1.0])).ends.tolist()
    [5, 2]
    """
    return run_by(problem, keys_of(problem, prices))


def keys_of(problem: CompletionTime, prices: Floats) -> Keys:
    """Return what the work left of each job costs at the least, and its models by rising cost."""
    speeds, gpus = problem.speeds, np.array([job.gpus for job in problem.jobs], dtype=np.int64)
    cost = costs_of_work(prices, speeds)
    return Keys(gpus * cost.min(axis=1) * FULL_SPEED / problem.rates(), _choices(cost, speeds))


def run_by(problem: CompletionTime, keys: Keys) -> ModelRun:
    """Run at every event the jobs of the least work left times scale, on the first models free."""
    rows = problem.speeds
    columns = [[job.release for job in problem.jobs], [job.work for job in problem.jobs]]
    columns.append([job.gpus for job in problem.jobs])
    release, work, gpus = (np.array(column, dtype=np.int64) for column in columns)
    kinds, kind = np.unique(np.column_stack([gpus, rows, keys.models]), axis=0, return_inverse=True)
    speeds, cheap = kinds[:, 1 : 1 + rows.shape[1]], kinds[:, 1 + rows.shape[1] :].copy()
    kind = kind.ravel()
    pieces = schedule_models(
        np.argsort(release, kind="stable"), release, work, gpus, kind, kinds[:, 0].copy(),
        keys.scale, rows, cheap, by_speed(speeds), gpus_of_models(problem),
    )  # fmt: skip
    ends = np.zeros(release.size, dtype=np.int64)
    np.maximum.at(ends, pieces[:, 0], pieces[:, 2])
    job, start, end, model = (column.copy() for column in pieces.T)
    return ModelRun(job, start, end, model, ends)


def costs_of_work(prices: Floats, speeds: Ints) -> Floats:
    """What a unit of work costs on each model: infinitely much where it cannot be done."""
    able = speeds > 0
    costs: Floats = np.divide(prices, speeds, out=np.full(speeds.shape, np.inf), where=able)
    return costs


def by_speed(speeds: Ints) -> Ints:
    """Models by falling speed, in each row; -1 after those on which it can run."""
    return _choices(-speeds.astype(np.float64), speeds)


def _choices(key: Floats, speeds: Ints) -> Ints:
    """Models by rising key, in each row; -1 after those on which it can run."""
    order = np.argsort(key, axis=1, kind="stable")
    return np.where(np.take_along_axis(speeds, order, 1) > 0, order, -1)


def models_schedule(problem: CompletionTime, run: ModelRun) -> Schedule:
    """Return the pieces on nodes of their models; a job that goes on keeps its GPUs."""
    gpus = np.array([job.gpus for job in problem.jobs], dtype=np.int64)[run.job]
    nodes = problem.instance.cluster.nodes
    sizes = np.array(problem.instance.cluster.sizes, dtype=np.int64)
    columns = []
    for g, model in enumerate(problem.models):
        own = np.array([n for n, node in enumerate(nodes) if node.model == model])
        some = np.flatnonzero(run.model == g)
        start, end = run.start[some], run.end[some]
        order = np.lexsort((run.job[some], start))
        ptr, node, held = place_pieces(
            order, np.argsort(end, kind="stable"), start, end, gpus[some], sizes[own]
        )
        columns.append((run.job[some][order], start[order], end[order], ptr, own[node], held))
    lengths = np.concatenate([np.diff(column[3]) for column in columns])
    job, first, last, taken, parts = (
        np.concatenate([column[i] for column in columns]) for i in (0, 1, 2, 4, 5)
    )
    return Schedule(job, first, last, np.append(0, np.cumsum(lengths)), taken, parts)


def gpus_of_models(problem: CompletionTime) -> Ints:
    """Return N_g, the GPUs of each model."""
    nodes = problem.instance.cluster.nodes
    counts = [sum(n.gpus for n in nodes if n.model == model) for model in problem.models]
    return np.array(counts, dtype=np.int64)


def model_prices(speeds: Floats, needed: Floats, room: Ints) -> Floats:
    """Prices that sum to 1 over all GPUs and make all work together as dear as possible.

    Maximise sum_c A_c v_c with v_c <= pi_g / s_cg, by HiGHS.

    Parameters
    ----------
    speeds : (classes, models) array
        s_cg of jobs of equal speeds, 0 where they cannot run.
    needed : (classes,) array
        A_c, GPU seconds of work at speed 1.
    room : (models,) int array
        GPUs.

    Returns
    -------
    (models,) array
        Equal prices where the program has no solution.

    Notes
    -----
    They are the dual of the earliest end of all work if gangs could be split over GPUs at will.

    Examples
    --------
    Most of the work gains threefold from the first model, so that its price is the other's times 3:

    >>> model_prices(np.array([[3.0, 1.0], [1.5, 1.0]]), np.array([9.0, 1.0]), np.array([1, 1]))
    array([0.75, 0.25])
    """
    from scipy.optimize import linprog  # slow to load
    from scipy.sparse import coo_array

    kept = np.sort(np.argsort(-needed, kind="stable")[:ROWS])
    speeds, needed = speeds[kept], needed[kept]
    c, g = np.nonzero(speeds)
    at = np.arange(c.size)
    entries = np.concatenate([speeds[c, g], -np.ones(c.size)])
    columns = np.concatenate([c, needed.size + g])
    shape = (c.size, needed.size + room.size)
    found = linprog(
        np.concatenate([-needed / needed.sum(), np.zeros(room.size)]),
        A_ub=coo_array((entries, (np.tile(at, 2), columns)), shape=shape).tocsr(),
        b_ub=np.zeros(c.size),
        A_eq=np.concatenate([np.zeros(needed.size), room])[None, :],
        b_eq=[1.0],
        method="highs",
    )
    prices = found.x[needed.size :].clip(0) if found.status == 0 else np.zeros(room.size)
    total = float(np.dot(room, prices))
    if total < 0.5:
        return np.full(room.size, 1 / int(room.sum()))
    priced: Floats = prices / total
    return priced


def positive(prices: Floats) -> Floats:
    """Let no model be for nothing: a twentieth of the dearest price at the least."""
    dear: Floats = np.maximum(prices, CHEAPEST * prices.max())
    return dear


def prices_of(problem: CompletionTime) -> Floats:
    """Return :func:`model_prices` of all work of a problem.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=4)]))
    >>> prices_of(problem).tolist()
    [0.5]
    """
    rows, which = np.unique(problem.speeds, axis=0, return_inverse=True)
    needed = [job.gpus * (job.work or 0) for job in problem.jobs]
    work = np.bincount(which.ravel(), weights=needed).astype(np.float64)
    return model_prices(rows / FULL_SPEED, work, gpus_of_models(problem))
