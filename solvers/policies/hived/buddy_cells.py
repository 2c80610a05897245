"""Buddy cells: GPUs in aligned groups of powers of two, as HiveD divides nodes and quotas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Cell(NamedTuple):
    """GPUs `offset` to `offset + size` of a root: of a node, or of a top cell of a quota.

    Parameters
    ----------
    root : int
    offset : int
        A multiple of the size.
    size : int
        A power of two.
    """

    root: int
    offset: int
    size: int


def cell_sizes(gpus: int, node: int) -> list[int]:
    """Return the sizes of the cells that a gang takes: one within a node, or whole nodes.

    Examples
    --------
    >>> cell_sizes(3, 8), cell_sizes(8, 8), cell_sizes(9, 8)
    ([4], [8], [8, 8])
    """
    if gpus > node:
        return [node] * -(-gpus // node)
    return [1 << (gpus - 1).bit_length()]


def quota_cells(quota: int, node: int) -> list[int]:
    """Return the sizes of a quota's top cells: whole nodes, then the remainder in binary.

    Examples
    --------
    >>> quota_cells(21, 8)
    [8, 8, 4, 1]
    """
    whole, rest = divmod(quota, node)
    levels = range(node.bit_length() - 2, -1, -1)
    return [node] * whole + [1 << level for level in levels if rest >> level & 1]


class Buddies:
    """Which cells are free: the largest free aligned cells, by size.

    Parameters
    ----------
    sizes : iterable of int
        Of the roots, powers of two; all are free.

    Attributes
    ----------
    roots : list of int
        Their sizes.
    free : dict of int to set of (root, offset)
        By size.

    Notes
    -----
    A cell that is given back merges with its buddy, the other half of the cell above, when that is
    free: what is free depends on what is taken and not on the order in which it was.

    Examples
    --------
    >>> cells = Buddies([4])
    >>> cells.take(Cell(0, 1, 1))
    >>> cells.free
    {4: set(), 2: {(0, 2)}, 1: {(0, 0)}}
    >>> cells.smallest(1), cells.smallest(4)
    (1, None)
    """

    def __init__(self, sizes: Iterable[int]) -> None:
        self.roots = list(sizes)
        largest = max(self.roots, default=1)
        self.free: dict[int, set[tuple[int, int]]] = {
            1 << level: set() for level in range(largest.bit_length() - 1, -1, -1)
        }
        for root, size in enumerate(self.roots):
            self.free[size].add((root, 0))

    def smallest(self, size: int) -> int | None:
        """Return the least size, at least `size`, of which a cell is free."""
        fitting = [s for s, cells in self.free.items() if s >= size and cells]
        return fitting[-1] if fitting else None

    def around(self, cell: Cell) -> Cell | None:
        """Return the largest free cell that contains `cell`, or None where part of it is taken."""
        for size, cells in self.free.items():
            place = (cell.root, cell.offset // size * size)
            if size >= cell.size and place in cells:
                return Cell(*place, size)
        return None

    def take(self, cell: Cell) -> None:
        """Take a free cell: the one around it is split in halves, as often as necessary."""
        whole = self.around(cell)
        if whole is None:
            raise ValueError(f"{cell} is not free")
        self.free[whole.size].remove((whole.root, whole.offset))
        size = whole.size
        while size > cell.size:
            size //= 2
            buddy = (cell.offset // size ^ 1) * size
            self.free[size].add((cell.root, buddy))

    def give(self, cell: Cell) -> None:
        """Give a cell back."""
        root, offset, size = cell
        while size < self.roots[root]:
            buddy = (root, (offset // size ^ 1) * size)
            if buddy not in self.free[size]:
                break
            self.free[size].remove(buddy)
            size *= 2
            offset = offset // size * size
        self.free[size].add((root, offset))
