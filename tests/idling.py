"""GPUs that idle while a gang waits that could have them: what work conservation leaves none of."""

from collections.abc import Sequence

import numpy as np

from gangsched.analysis.driving.run import Ints, Run
from gangsched.analysis.driving.speeds import job_speeds, models_of


def idle_while_waiting(run: Run, step: int = 900) -> Ints:
    """The GPUs that idle, every `step` seconds, though a gang waits that fits on them as a whole.

    From segments alone: who waits has come and is in none of them.
    """
    instance, rows, schedule = run.require_instance(), run.records, run.schedule
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
    """Whether a gang has a place: on nodes of one size, all but one of them whole."""
    nodes = list(zip(free, sizes, strict=True))
    for each in set(sizes):
        whole, rest = divmod(gang, each)
        idle = sum(room == size == each for room, size in nodes)
        last = any(size == each and rest <= room < each for room, size in nodes)
        if idle >= whole + (rest > 0) or (idle >= whole and last):
            return True
    return False
