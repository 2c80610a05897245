"""The schedule that a cluster really had, as far as its log tells it, as a policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...instances.model import Cluster, Instance, User
from ..policy import Decision, Ints, Preempts, Rules, Start, State

Times = tuple[int | None, int | None]
#: of a cluster about which a log tells no more than when jobs ran
RECORDED_RULES = Rules(round_length=1, overhead=0, spread=True, patience=None)
ROUNDED = 2  #: seconds by which fractions that were rounded can move a start or an end
NEVER = 2**62


class Recorded:
    """Start each job when the log says that it started, and end it when it ended.

    Parameters
    ----------
    times : sequence of (int, int or None)
        Of each job of the instance when it began and ended, in seconds of the instance, as
        :attr:`~gangsched.instances.convert.Conversion.times` has them. Without an end a job ends
        after its run time.

    Notes
    -----
    Source: the log. It tells no nodes: a gang takes any free GPUs of one model, the model with most
    of them unless the job is pinned. A job whose start and end lie further apart than its run time
    was interrupted, nobody knows when: here it pauses before its last second, so that start and
    completion are those of the log. Fractions that were rounded may overlap: a start for which
    there is no room waits up to 2 s, then the log and the cluster contradict each other, and the
    run ends with a ValueError. Driven by :data:`RECORDED_RULES`; a session refuses others.
    Guarantee: where the run ends, each job waits as long as in the log, but for these 2 s.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=60), Job(id="b", gpus=1, work=50, release=7)]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> run = drive(instance, Recorded([(5, 65), (90, 140)]), **asdict(RECORDED_RULES))
    >>> run.records.first.tolist(), run.records.end.tolist()
    ([5, 90], [65, 140])
    """

    name: ClassVar[str] = "recorded"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[str] = "known"

    def __init__(self, times: Sequence[Times]) -> None:
        self._times = tuple(times)

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> _Session:
        """Return a session; it has nothing to remember."""
        if rules != RECORDED_RULES:
            raise ValueError(f"policy 'recorded': {rules} are not {RECORDED_RULES}")
        return _Session(self._times)


class _Session:
    """In one run; all that it knows is in the log and the state."""

    always_asked = True

    def __init__(self, times: Iterable[Times]) -> None:
        pairs = [(NEVER if a is None else a, -1 if b is None else b) for a, b in times]
        self._start, self._end = np.array(pairs, dtype=np.int64).reshape(-1, 2).T

    def decide(self, state: State) -> Decision:
        """Suspend whoever pauses now, and start whoever is due and finds room."""
        free = state.free.copy()
        running = state.running
        pausing = running[self._pause(state, running) == state.now]
        for job in pausing.tolist():
            for node, gpus in state.nodes(job).items():
                free[node] += gpus
        starts = []
        for job in self._due(state).tolist():
            nodes = _place(state, job, free)
            if nodes is not None:
                free[list(nodes)] -= list(nodes.values())
                starts.append(Start(job, nodes))
            elif state.now >= self._wanted(state, np.array([job]))[0] + ROUNDED:
                used, total = int((state.sizes - free).sum()), int(state.sizes.sum())
                raise ValueError(
                    f"job {state.id(job)!r} began at {self._start[job]} by the log, with no room "
                    f"for its {state.gpus[job]} GPUs: {used} of {total} were in use"
                )
        return Decision(suspend=pausing.tolist(), start=starts)

    def next_change(self, state: State) -> int | None:
        """The next start, or the next pause."""
        waiting, running = state.waiting, state.running
        times = np.concatenate([self._wanted(state, waiting), self._pause(state, running)])
        due = times <= state.now  # whoever found no room
        times = np.where(due, state.now + 1, times)
        return None if times.size == 0 or times.min() == NEVER else int(times.min())

    def _due(self, state: State) -> Ints:
        """Waiting jobs whose time has come, by it."""
        wanted = self._wanted(state, state.waiting)
        order = np.argsort(wanted, kind="stable")
        due: Ints = state.waiting[order][wanted[order] <= state.now]
        return due

    def _wanted(self, state: State, jobs: Ints) -> Ints:
        """When waiting jobs should start, or go on."""
        again = state.starts[jobs] > 0
        return np.where(again, self._end[jobs] - 1, self._start[jobs])

    def _pause(self, state: State, jobs: Ints) -> Ints:
        """When running jobs pause: those that were interrupted before their last second."""
        work, begun = state.work[jobs], state.since[jobs]
        pause = begun + work - 1
        pauses = (state.starts[jobs] == 1) & (work > 1) & (pause < self._end[jobs] - 1 - ROUNDED)
        return np.where(pauses, np.maximum(pause, begun + 1), NEVER)


def _place(state: State, job: int, free: Ints) -> dict[int, int] | None:
    """Free GPUs of one model, on the nodes with most of them; None where there are too few."""
    gang = int(state.gpus[job])
    usable = np.where(state.speeds[job][state.node_model] > 0, free, 0)
    by_model = np.bincount(state.node_model, weights=usable, minlength=len(state.models))
    model = int(np.argmax(by_model))
    if by_model[model] < gang:
        return None
    usable = np.where(state.node_model == model, usable, 0)
    nodes = {}
    for node in np.argsort(-usable, kind="stable").tolist():
        nodes[node] = min(gang, int(usable[node]))
        gang -= nodes[node]
        if gang == 0:
            break
    return nodes


def unrecorded(instance: Instance[Any], times: Sequence[Times]) -> str:
    """Say why the log's own schedule cannot be shown; nothing where it can.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job
    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=60, release=5)])
    >>> unrecorded(instance, [(3, None)])
    "1 of 1 jobs began before its submission, such as 'a'"
    """
    pairs = list(zip(instance.jobs, times, strict=True))
    rules = {
        "without a recorded start": [job.id for job, (start, _) in pairs if start is None],
        "began before its submission": [
            job.id for job, (start, _) in pairs if start is not None and start < job.release
        ],
        "ended before its run time was over": [
            job.id
            for job, (start, end) in pairs
            if start is not None and end is not None and end + ROUNDED < start + (job.work or 0)
        ],
        "with speeds, which the log does not have": [job.id for job, _ in pairs if job.speeds],
    }
    found = [
        f"{len(jobs):,} of {len(pairs):,} jobs {rule}, such as {jobs[0]!r}"
        for rule, jobs in rules.items()
        if jobs
    ]
    return "; ".join(found)
