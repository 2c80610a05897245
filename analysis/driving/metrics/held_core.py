"""Compiled part of :func:`.parts.held_by`."""

from __future__ import annotations

from typing import Any

from ....instances.compiled import inner, tiered


@inner
def _first_at_or_after(grid: Any, moment: Any, high: Any) -> Any:
    low = 0
    while low < high:
        middle = (low + high) // 2
        if grid[middle] < moment:
            low = middle + 1
        else:
            high = middle
    return low


@tiered(seconds=2, most=400_000)
def add_held(start: Any, end: Any, gpus: Any, group: Any, grid: Any, grown: Any, rate: Any) -> None:
    """Add to what each group of segments has held when the next time comes, and holds from then on.

    Rows of the sums are groups, columns the rising times of the grid.
    """
    for s in range(start.size):
        g, held = group[s], gpus[s]
        last = _first_at_or_after(grid, end[s], grid.size)
        first = _first_at_or_after(grid, start[s], min(last + 1, grid.size))
        if first < grid.size:
            grown[g, first] += held * (grid[first] - start[s])
            rate[g, first] += held
        if last < grid.size:
            grown[g, last] -= held * (grid[last] - end[s])
            rate[g, last] -= held
