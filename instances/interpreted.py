"""Functions on arrays run by Python itself: numbers of Python stand in for those of numpy.

Numpy makes an object for each number that is read, which takes Python several times as long as its
own numbers. So an array is a dictionary here, from an index to a number, or to a row with its
fields; each is read when it is first needed, and what was read or set is written back at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import make_dataclass
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray


def interpret(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function with arrays, also in named tuples, as Python runs it fastest.

    An exception of the function leaves the arrays as they were, and so does an index below 0 or a
    number that does not fit its array.

    Parameters
    ----------
    function : callable
        It indexes arrays, or the lines of tables, by whole numbers from 0 on, asks for their
        length, `size` and `shape`, and does nothing else with them. Until the end a number that it
        sets stays as it is, where an array of machine code would round it at once.
    args : tuple
        Arrays do not overlap.

    Examples
    --------
    >>> def double(numbers):
    ...     for i in range(numbers.size):
    ...         numbers[i] *= 2
    >>> numbers = np.array([3, 4])
    >>> interpret(double, (numbers,))
    >>> numbers.tolist()
    [6, 8]
    """
    opened: dict[int, _Cells] = {}
    result = function(*[_opened(value, opened) for value in args])
    for array, at, numbers in [cells.changes() for cells in opened.values()]:
        if len(numbers):  # where there are none, numpy may refuse
            array[at] = numbers
    return result


def _opened(value: Any, opened: dict[int, _Cells]) -> Any:
    """What stands in for a value: for an array its cells, the same for the same array."""
    if isinstance(value, np.ndarray):
        if id(value) not in opened:
            opened[id(value)] = _Cells(value) if value.dtype.names is None else Rows(value)
        return opened[id(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_opened(part, opened) for part in value])
    return value


class _Cells(dict[Any, Any]):
    """The numbers of an array that were read or set, by index."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.size = array, array.size
        self.shape: tuple[int, ...] = array.shape

    def __missing__(self, at: Any) -> Any:
        if isinstance(at, int) and len(self.shape) == 2:
            return _Line(self, at)
        if (min(at) if isinstance(at, tuple) else at) < 0:
            raise IndexError(f"index {at} is below 0")
        value = self[at] = self.array[at].item()
        return value

    def __len__(self) -> int:
        return self.shape[0]

    def changes(self) -> tuple[NDArray[Any], Any, NDArray[Any]]:
        """The array, and what is to stand where in it; refused before anything is written."""
        at = np.array([*self.keys()], dtype=np.int64)
        if not self.array.flags.writeable:
            at = at[:0]  # it was read alone
        elif at.size and at.min() < 0:
            raise IndexError(f"index {at.min()} is below 0")
        numbers = np.array(self.numbers()[: len(at)], dtype=self.array.dtype)
        return self.array, at if at.ndim == 1 else tuple(at.T), numbers

    def numbers(self) -> list[Any]:
        """What stands here, as numpy takes it."""
        return list(self.values())


class _Line:
    """One line of a table of cells."""

    __slots__ = ("cells", "line", "size")

    def __init__(self, cells: _Cells, line: int) -> None:
        self.cells, self.line, self.size = cells, line, cells.shape[1]

    def __len__(self) -> int:
        return int(self.size)

    def __getitem__(self, at: int) -> Any:
        return self.cells[self.line, at]

    def __setitem__(self, at: int, value: Any) -> None:
        self.cells[self.line, at] = value


class Rows(_Cells):
    """The rows of an array of records, each with its fields."""

    def __init__(self, array: NDArray[Any]) -> None:
        super().__init__(array)
        self.kind, self.fields = _row(array.dtype.names or ())

    def __missing__(self, at: Any) -> Any:
        row = self[at] = self.kind(*super().__missing__(at))
        return row

    def numbers(self) -> list[Any]:
        """What stands here, as numpy takes it."""
        return list(map(self.fields, self.values()))


@cache
def _row(names: tuple[str, ...]) -> tuple[type, Callable[[Any], tuple[Any, ...]]]:
    """A class with these fields, and what takes them from it."""
    kind = make_dataclass("Row", names, slots=True)
    take = attrgetter(*names)
    return kind, take if len(names) > 1 else lambda row: (take(row),)
