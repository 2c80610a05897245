"""Long columns of integers in little memory, for what a run of millions of segments leaves.

A column is a list of parts. In each of them numbers stand as they differ from its smallest one, in
the smallest type that holds them. Nothing is lost, and nobody calculates with small types: whoever
reads a column reads 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .arrays import Ints


class Packed:
    """A column of integers, to which parts are added.

    Parameters
    ----------
    parts : iterable of int arrays, optional

    Examples
    --------
    >>> column = Packed([np.array([7, 1_000_007]), np.array([5])])
    >>> column.add(np.array([3_600_000, 3_600_060]))
    >>> column.array(), column.parts[-1][1].dtype
    (array([      7, 1000007,       5, 3600000, 3600060]), dtype('uint8'))
    """

    def __init__(self, parts: Iterable[NDArray[Any]] = ()) -> None:
        self.parts: list[tuple[int, NDArray[Any]]] = []
        self.size = 0
        for part in parts:
            self.add(part)

    def add(self, part: NDArray[Any]) -> None:
        """Append numbers."""
        if not part.size:
            return
        least, most = int(part.min()), int(part.max())
        self.parts.append((least, (part - least).astype(np.min_scalar_type(most - least))))
        self.size += part.size

    def copy(self) -> Packed:
        """Return a column of the same numbers, to which others can be added."""
        other = Packed()
        other.parts, other.size = self.parts.copy(), self.size
        return other

    def __iter__(self) -> Iterator[Ints]:
        """Yield the parts as they were added."""
        return (part.astype(np.int64) + least for least, part in self.parts)

    def array(self) -> Ints:
        """Return all numbers as one read-only array."""
        whole, at = np.empty(self.size, dtype=np.int64), 0
        for least, part in self.parts:
            np.add(part, least, out=whole[at : at + part.size], dtype=np.int64, casting="unsafe")
            at += part.size
        whole.flags.writeable = False
        return whole


#: numbers of a column that are unpacked at a time, at least, where it is looked at in blocks
BLOCK = 2**18


def in_blocks(columns: Iterable[Packed]) -> Iterator[list[Ints]]:
    """Yield columns that have parts of the same rows, some parts at a time.

    >>> [[c.size for c in block] for block in in_blocks([Packed([np.arange(3), np.arange(2)])])]
    [[5]]
    """
    own: list[list[Ints]] = []
    size = 0
    for row in zip(*map(iter, columns), strict=True):
        own.append(list(row))
        size += row[0].size
        if size >= BLOCK:
            yield [np.concatenate(column) for column in zip(*own, strict=True)]
            own, size = [], 0
    if own:
        yield [np.concatenate(column) for column in zip(*own, strict=True)]


class Unpacking:
    """A dataclass whose columns are packed until somebody reads them."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    _packed: dict[str, Packed]

    def __getattr__(self, name: str) -> Ints:
        if "_packed" not in self.__dict__ or name not in type(self).__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        column = self.__dict__[name] = self.unpacked(name)
        return column

    def unpacked(self, name: str) -> Ints:
        """Return a column unpacked, without keeping it so."""
        own: Ints | None = self.__dict__.get(name)
        return self._packed[name].array() if own is None else own
