"""Long columns of integers in little memory, for what a run of millions of segments leaves.

A column is a list of parts. In each of them numbers stand as they differ from its smallest one, or
where they never fall from the one before; wide ones in multiples of a unit that they have in
common; all in the smallest type that holds them. Nothing is lost, and nobody calculates with small
types: whoever reads a column reads 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Ints


class _Part(NamedTuple):
    """Numbers of a column that follow one another."""

    least: int
    unit: int
    rises: bool  #: each is given as it differs from the one before
    numbers: NDArray[Any]


class Packed:
    """A column of integers, to which parts are added.

    Parameters
    ----------
    parts : iterable of int arrays, optional

    Examples
    --------
    >>> column = Packed([np.array([7, 1_000_007]), np.array([5])])
    >>> column.add(np.array([3_600_000, 3_600_060]))
    >>> column.array(), column.parts[-1].numbers.dtype
    (array([      7, 1000007,       5, 3600000, 3600060]), dtype('uint8'))
    """

    def __init__(self, parts: Iterable[NDArray[Any]] = ()) -> None:
        self.parts: list[_Part] = []
        self.size = 0
        for part in parts:
            self.add(part)

    def add(self, part: NDArray[Any]) -> None:
        """Append numbers."""
        if not part.size:
            return
        least, unit = int(part.min()), 1
        own = (part.astype(np.int64) - least).view(np.uint64)
        rises = bool(own[0] == 0 and (own[1:] >= own[:-1]).all())
        if rises:
            own = np.diff(own, prepend=own[:1])
        top = int(own.max())
        if 2**16 <= top < 2**63:  # such as times that are all at rounds
            unit = int(np.gcd.reduce(own))
            own //= np.uint64(unit)
        kind = np.min_scalar_type(top // unit)
        numbers = own.astype(kind) if top else np.broadcast_to(kind.type(0), own.size)
        self.parts.append(_Part(least, unit, rises, numbers))
        self.size += part.size

    def copy(self) -> Packed:
        """Return a column of the same numbers, to which others can be added."""
        other = Packed()
        other.parts, other.size = self.parts.copy(), self.size
        return other

    def __iter__(self) -> Iterator[Ints]:
        """Yield the parts as they were added."""
        return (self.array(k, k + 1) for k in range(len(self.parts)))

    def array(self, first: int = 0, last: int | None = None) -> Ints:
        """Return all numbers, or those of some parts, as one read-only array."""
        parts = self.parts[first:last]
        whole, at = np.empty(sum(part.numbers.size for part in parts), dtype=np.int64), 0
        for least, unit, rises, numbers in parts:
            own = whole[at : at + numbers.size]
            own[:] = numbers
            if unit > 1:
                own *= unit
            if rises:
                np.cumsum(own, out=own)
            if least:
                own += least
            at += own.size
        whole.flags.writeable = False
        return whole


#: numbers of a column that are unpacked at a time, at least, where it is looked at in blocks
BLOCK = 2**15
#: rows that are looked at together, about, where rows of the same jobs or nodes belong together
PART = 2**18


def in_blocks(
    columns: Sequence[Packed], wanted: Sequence[bool] | None = None
) -> Iterator[list[Ints]]:
    """Yield columns that have parts of the same rows, some parts at a time.

    Parameters
    ----------
    columns : sequence of Packed
    wanted : sequence of bool, optional
        Which of these blocks; by default all.

    Examples
    --------
    >>> [[c.size for c in block] for block in in_blocks([Packed([np.arange(3), np.arange(2)])])]
    [[5]]
    """
    first, rows, number = 0, 0, 0
    sizes = [part.numbers.size for part in columns[0].parts]
    for last, size in enumerate(sizes, start=1):
        rows += size
        if rows >= BLOCK or last == len(sizes):
            if wanted is None or wanted[number]:
                yield [column.array(first, last) for column in columns]
            first, rows, number = last, 0, number + 1


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

    def pieces(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield a column piece by piece, without unpacking it as a whole."""
        if name not in self.__dict__:
            yield from self._packed[name]
            return
        own = self.__dict__[name]
        for first in range(0, own.size, BLOCK):
            yield np.ascontiguousarray(own[first : first + BLOCK])
