"""What a run leaves, packed chunk after chunk while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...instances.packed import Packed
from ...solvers.machine import const
from ...solvers.machine.machine import Machine
from ...solvers.machine.tables import Ints

SEGMENT = ("job", "start", "end", "length", "node", "gpus")
EVENT = ("time", "job", "kind")


class Past:
    """Segments and events until now, in the order in which they were noted."""

    def __init__(self) -> None:
        self.segments = {name: Packed() for name in SEGMENT}
        self.events = {name: Packed() for name in EVENT}

    def take(self, machine: Machine) -> None:
        """Take what a machine has noted out of it."""
        count = machine.count
        segments = machine.segments[: count[const.SEGMENTS]]
        parts = machine.parts[: count[const.ENTRIES]]
        events = machine.events[: count[const.EVENTS]]
        for name in ("job", "start", "end"):
            self.segments[name].add(segments[name])
        self.segments["length"].add(np.diff(segments["ptr"], append=parts.size))
        for name in ("node", "gpus"):
            self.segments[name].add(parts[name])
        for name in EVENT:
            self.events[name].add(events[name])
        count[[const.SEGMENTS, const.ENTRIES, const.EVENTS]] = 0

    def with_segments(self, *columns: Ints) -> dict[str, Packed]:
        """Return the segments with others behind them."""
        longer = {name: column.copy() for name, column in self.segments.items()}
        for own, column in zip(longer.values(), columns, strict=True):
            own.add(column)
        return longer

    def save(self) -> dict[str, Any]:
        """Return it as plain data."""
        tables = {"segments": self.segments, "events": self.events}
        return {
            name: {own: column.array() for own, column in table.items()}
            for name, table in tables.items()
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Take it from there, in one part."""
        self.segments = {name: Packed([data["segments"][name]]) for name in SEGMENT}
        self.events = {name: Packed([data["events"][name]]) for name in EVENT}
