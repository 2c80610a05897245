"""Consolidated placement of a gang on nodes, as every policy of the driver uses it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["place"]


def place(
    gpus: int, free: Sequence[int], sizes: Sequence[int], *, spread: bool = False
) -> dict[int, int] | None:
    """Return the GPUs to take on each node, or None where there is no room.

    A gang of D GPUs on nodes of g takes floor(D/g) nodes that are completely free, lowest numbers
    first, and the remainder on one more node, the one with the least sufficient free GPUs, ties to
    the lowest number. Where nodes differ in size a gang stays on nodes of one size, the smallest on
    which it finds room.

    Parameters
    ----------
    gpus : int
        D, at least 1.
    free, sizes : (nodes,) sequences of int
        Free GPUs and all GPUs of each node.
    spread : bool
        Where the above fails, take any free GPUs: nodes with most free GPUs first, ties to the
        lowest number.

    Returns
    -------
    dict of int to int, or None

    Notes
    -----
    Monotone for each node size: where D finds no room, no larger gang does. O(nodes) per size.

    Examples
    --------
    >>> place(5, [4, 2, 4, 1], [4, 4, 4, 4])
    {0: 4, 3: 1}
    >>> place(3, [2, 2], [4, 4]), place(3, [2, 2], [4, 4], spread=True)
    (None, {0: 2, 1: 1})
    """
    for size in sorted(set(sizes)):
        found = _on_one_size(gpus, free, sizes, size)
        if found is not None:
            return found
    if spread and sum(free) >= gpus:
        return _anywhere(gpus, free)
    return None


def _on_one_size(
    gpus: int, free: Sequence[int], sizes: Sequence[int], size: int
) -> dict[int, int] | None:
    full, rest = divmod(gpus, size)
    nodes = [n for n in range(len(sizes)) if sizes[n] == size]
    empty = [n for n in nodes if free[n] == size][:full]
    if len(empty) < full:
        return None
    taken = dict.fromkeys(empty, size)
    if rest:
        fitting = [n for n in nodes if n not in taken and free[n] >= rest]
        if not fitting:
            return None
        taken[min(fitting, key=lambda n: (free[n], n))] = rest
    return taken


def _anywhere(gpus: int, free: Sequence[int]) -> dict[int, int]:
    taken = {}
    for n in sorted(range(len(free)), key=lambda n: (-free[n], n)):
        taken[n] = min(gpus, int(free[n]))
        gpus -= taken[n]
        if gpus == 0:
            break
    return taken
