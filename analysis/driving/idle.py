"""GPUs that idle while a gang waits that could have them: what work conservation leaves none of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .run import Ints, Run
from .speeds import job_speeds, models_of


def idle_while_waiting(run: Run, step: int = 900) -> Ints:
    """Return, every `step` seconds, the GPUs that idle though a gang waits that fits on them.

    Parameters
    ----------
    run : Run
    step : int
        Seconds between two looks, from 0 to the end; at rounds, where a policy has just decided.

    Returns
    -------
    (looks,) int array
        Idle GPUs of all models on which a gang that waits fits, in a consolidated place of its
        whole gang, moving nobody.

    Notes
    -----
    From segments alone: who waits has come and is in none of them. Nodes that only profile count
    too, as what they idle is lost to the jobs that wait. O(segments + looks * nodes *
    distinct gangs).

    Examples
    --------
    A job of 2 GPUs keeps one of 1 from the third: FIFO lets nobody pass the next, which needs 2.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id=i, gpus=k, work=1800) for i, k in (("a", 2), ("b", 2), ("c", 1))]
    >>> instance = Instance(Cluster.of_sizes([3]), jobs)
    >>> idle_while_waiting(drive(instance, Fifo())).tolist()
    [1, 1, 0, 0]
    >>> idle_while_waiting(drive(instance, Fifo(blocking=False))).tolist()
    [0, 0, 0, 0]
    """
    if step < 1:
        raise ValueError(f"idle: step={step} is not positive")
    if run.instance is None:
        raise ValueError("idle: a run without its instance does not say where gangs fit")
    instance, rows, schedule = run.instance, run.records, run.schedule
    names = models_of(instance)
    model = np.array([names.index(node.model) for node in instance.cluster.nodes])
    sizes = np.array(run.sizes, dtype=np.int64)
    kinds, kind = np.unique(
        np.column_stack([rows.gpus, job_speeds(instance) > 0]), axis=0, return_inverse=True
    )
    kind = kind.ravel()
    looks = np.arange(0, run.now, step)
    came = np.flatnonzero(~rows.rejected)
    ends = np.where(rows.end < 0, run.now + 1, rows.end)
    # at each look: who is there, and who runs
    waiting = np.zeros((looks.size + 1, len(kinds)), dtype=np.int64)
    free = np.zeros((looks.size + 1, sizes.size), dtype=np.int64)
    node = np.repeat(np.arange(len(schedule)), np.diff(schedule.ptr))
    for first, last, sign in (
        (rows.visible[came], ends[came], 1), (schedule.start, schedule.end, -1),
    ):  # fmt: skip
        jobs = came if sign > 0 else schedule.job
        np.add.at(waiting, (np.searchsorted(looks, first), kind[jobs]), sign)
        np.add.at(waiting, (np.searchsorted(looks, last), kind[jobs]), -sign)
    for times, sign in ((schedule.start, -1), (schedule.end, 1)):
        at = np.searchsorted(looks, times)
        np.add.at(free, (at[node], schedule.node), sign * schedule.gpus)
    waiting, free = np.cumsum(waiting, axis=0), sizes + np.cumsum(free, axis=0)
    found = np.zeros(looks.size, dtype=np.int64)
    for k in np.flatnonzero((free[:-1].sum(axis=1) > 0) & (waiting[:-1].sum(axis=1) > 0)):
        able = np.zeros(len(names), dtype=np.bool_)
        for gang, *on in kinds[waiting[k] > 0].tolist():
            for g in np.flatnonzero(on):
                own = model == g
                able[g] |= fits_somewhere(gang, free[k, own].tolist(), sizes[own].tolist())
        found[k] = free[k, able[model]].sum()
    return found


def fits_somewhere(gang: int, free: Sequence[int], sizes: Sequence[int]) -> bool:
    """Return whether a gang has a place: on nodes of one size, all but one of them whole.

    Examples
    --------
    >>> fits_somewhere(5, [4, 1, 3], [4, 4, 4]), fits_somewhere(7, [4, 2, 2], [4, 4, 4])
    (True, False)
    """
    nodes = list(zip(free, sizes, strict=True))
    for each in set(sizes):
        whole, rest = divmod(gang, each)
        idle = sum(room == size == each for room, size in nodes)
        last = any(size == each and rest <= room < each for room, size in nodes)
        if idle >= whole + (rest > 0) or (idle >= whole and last):
            return True
    return False
