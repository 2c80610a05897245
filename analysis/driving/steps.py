"""A decision as one array of numbers, which machine code checks and carries out.

It is `HEAD` numbers, then who is suspended, killed and passed, then for each start its job,
GPUs (-1 for those of its gang, or of a profile), seconds of profiling, speed (0 if the core knows),
number of nodes (0 for any place), and a node and its GPUs for each of them. What does not go
into it without doubt has none: the driver checks it in Python, which finds what to say, and has it
written in plain numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances import Instance
from ...solvers.machine.tables import Ints, Tables
from ...solvers.policy import PROFILE_GPUS, Decision, Rules, Start, WrittenStarts

NOTHING = np.zeros(0, dtype=np.int64)
INTEGER = {int}
#: order, blocking and repacking come beside it
Written = tuple[Ints, Ints, bool, bool]


class Steps:
    """Makes arrays of decisions in one run.

    Parameters
    ----------
    instance : Instance
    book : Tables
    rules : Rules
    """

    def __init__(self, instance: Instance[Any], book: Tables, rules: Rules) -> None:
        kind = instance.kind
        self.jobs, self.book = instance.jobs, book
        self.own_speeds = kind.spreads or kind.elastic
        self.flags = [int(kind.spreads or rules.spread), int(kind.elastic or kind.needs_ps)]
        self.sizes, self.models = book.sizes.tolist(), book.node_model.tolist()

    def of(self, decision: Decision) -> Written | None:
        """Return a decision as numbers, if it has no more in it."""
        if type(decision) is not Decision:
            return None
        order = _numbers(decision.order)
        steps: Ints | None = NOTHING
        stops = len(decision.suspend) or len(decision.kill) or len(decision.passed)
        if stops or len(decision.start):
            steps = self._stops_and_starts(decision)
        if order is None or steps is None:
            return None
        return steps, order, bool(decision.blocking), bool(decision.repacking)

    def _stops_and_starts(self, decision: Decision) -> Ints | None:
        named: tuple[Any, ...] = (decision.suspend, decision.kill, decision.passed)
        written = decision.start
        if type(written) is WrittenStarts and not self.own_speeds:
            head = [*map(len, named), written.size, *self.flags]
            parts = [np.array(head, dtype=np.int64)]
            for jobs in named:
                numbers = _numbers(jobs)
                if numbers is None:
                    return None
                parts += [numbers] if numbers.size else []
            return np.concatenate([*parts, written.numbers])
        steps: list[Any] = [*map(len, named), len(decision.start), *self.flags]
        for jobs in named:
            steps += jobs.tolist() if isinstance(jobs, np.ndarray) else jobs
        plain = not self.own_speeds
        for entry in decision.start:
            if plain and type(entry) is tuple and len(entry) == 2 and type(entry[1]) is dict:
                job, nodes = entry
                if not nodes:
                    return None
                steps += (job, -1, 0, 0, len(nodes))
                for pair in nodes.items():
                    steps += pair
                continue
            if type(entry) is Start:
                job, nodes, gpus, profile, ps = entry
                if ps is not None or not (gpus is None or _positive(gpus)):
                    return None
            elif type(entry) is tuple and len(entry) == 2:
                (job, nodes), gpus, profile = entry, None, 0
            else:
                return None
            steps += (job, -1 if gpus is None else gpus, profile)
            if nodes is None:
                steps += (0, 0)
                continue
            if not isinstance(nodes, dict):
                return None
            flat = [number for pair in nodes.items() for number in pair]
            speed = self._speed(steps[-3:], flat) if self.own_speeds else 0
            if not flat or speed is None:
                return None
            steps += (speed, len(nodes), *flat)
        whole = _whole(steps)
        try:
            return None if whole is None else np.array(whole, dtype=np.int64)
        except OverflowError:
            return None

    def _speed(self, own: list[Any], flat: list[Any]) -> int | None:
        """How fast a job that knows it is on its nodes, if it can run there."""
        whole, nodes, book = _whole(own), _whole(flat[::2]), self.book
        if not whole or not nodes:
            return None
        number, gpus, profile = whole
        if not 0 <= number < len(self.jobs) or not 0 <= min(nodes) <= max(nodes) < len(self.sizes):
            return None
        gang = int(book.jobs["gpus"][number])
        if gpus < 0:
            gpus = min(PROFILE_GPUS, gang) if profile else gang
        if profile or gpus > 2 * gang:
            return 0  # whether it may is seen later
        job, on_model = self.jobs[number], int(book.speeds[number, self.models[nodes[0]]])
        speed = job.speed_on(gpus, len(nodes), max(self.sizes[n] for n in nodes), on_model)
        return speed if speed > 0 and not job.too_slow(gpus, speed) else None


def _numbers(jobs: Any) -> Ints | None:
    """Job numbers as an array of their own."""
    if not len(jobs):
        return NOTHING
    array = np.array(jobs)
    return array if array.dtype == np.int64 and array.ndim == 1 else None


def _positive(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and bool(number > 0)


def _whole(numbers: list[Any]) -> list[int] | None:
    """The same as plain integers; none if they are others."""
    if {*map(type, numbers)} <= INTEGER:
        return numbers
    if all(type(number) is int or isinstance(number, np.integer) for number in numbers):
        return [int(number) for number in numbers]
    return None
