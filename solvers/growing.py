"""Columns by job that grow as jobs come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def longer(column: NDArray[Any], size: int, fill: Any = 0) -> NDArray[Any]:
    """Return a column with at least so many rows, of which new ones are filled.

    >>> longer(np.array([7]), 3, -1).tolist()
    [7, -1, -1]
    >>> longer(np.array([7, 8]), 2).tolist()
    [7, 8]
    """
    if len(column) >= size:
        return column
    new = np.full((max(size, 2 * len(column)), *column.shape[1:]), fill, dtype=column.dtype)
    new[: len(column)] = column
    return new
