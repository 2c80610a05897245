"""Cells: GPUs of a node in blocks of powers of two, and gangs as numbers of cells.

Source: Gao et al. (2024), Section III-C3 (policy generator) and III-C4 ((10)-(14)).

A cell of level g is a block of 2^g GPUs of one node, g = 0..3. An allocation is a quadruple of
numbers of cells.

Deviations from the paper
-------------------------
- Which quadruples the policy generator makes is told by one example, (0, 0, 0, 1), (0, 1, 1, 0) and
  (6, 0, 0, 0) of 6 GPUs. Here: all exact covers, and the consolidated round-up.
- On nodes of 4 GPUs there is no level 3: (14) with N_3 = M / 8 would accept gangs that no node has
  room for.
- Free cells are counted by node, N_g being the number of nodes whose free GPUs have bit g. Which
  GPUs of a node they are does not matter. With aligned blocks, as in a buddy allocator, (14)
  refuses gangs that fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ...formulations.unisched.problem import covers
from ...instances.arrays import Ints as Ints

#: numbers of cells of level 0, 1, 2 and 3
Cells = tuple[int, int, int, int]


#: the policy generator is for gangs of at most so many GPUs
ENUMERATED = 16

_LEVELS = {1: 0, 2: 1, 4: 2, 8: 3}


def _top_level(gpus: int, node_size: int) -> int:
    if gpus < 1:
        raise ValueError(f"allocation: gpus={gpus} is below 1")
    if node_size not in _LEVELS:
        raise ValueError(f"allocation: node_size={node_size} is not 1, 2, 4 or 8, as cells need")
    return _LEVELS[node_size]


def _cells(numbers: Mapping[int, int]) -> Cells:
    return (numbers.get(0, 0), numbers.get(1, 0), numbers.get(2, 0), numbers.get(3, 0))


def round_up(gpus: int, node_size: int = 8) -> Cells:
    """Return the consolidated allocation: whole nodes, and one cell that holds the remainder.

    Examples
    --------
    >>> round_up(6), round_up(12), round_up(13), round_up(6, node_size=4)
    ((0, 0, 0, 1), (0, 0, 1, 1), (0, 0, 0, 2), (0, 1, 1, 0))
    """
    top = _top_level(gpus, node_size)
    whole, rest = divmod(gpus, node_size)
    numbers = Counter({top: whole})
    if rest:
        numbers[(rest - 1).bit_length()] += 1
    return _cells(numbers)


def allocations(gpus: int, node_size: int = 8) -> tuple[Cells, ...]:
    """Return all quadruples of the policy generator: exact covers and the consolidated round-up.

    Examples
    --------
    >>> allocations(6)[:3], len(allocations(16))
    (((0, 0, 0, 1), (0, 1, 1, 0), (0, 3, 0, 0)), 35)
    """
    top = _top_level(gpus, node_size)
    if gpus > ENUMERATED:
        return nondominated(gpus, node_size)
    every = {_cells(dict(enumerate(found))) for found in covers(gpus, top)}
    rounded = {round_up(gpus, node_size)}
    return tuple(sorted(every | rounded, key=lambda cells: (sum(cells), cells[::-1])))


def nondominated(gpus: int, node_size: int = 8) -> tuple[Cells, ...]:
    """Return the allocations that can be best where speed only tells one node from several.

    Examples
    --------
    >>> nondominated(4), nondominated(6), nondominated(12), nondominated(11)
    (((0, 0, 1, 0),), ((0, 0, 0, 1), (6, 0, 0, 0)), ((0, 0, 1, 1),), ((11, 0, 0, 0),))
    """
    rounded = round_up(gpus, node_size)
    single: Cells = (gpus, 0, 0, 0)
    if sum(number << level for level, number in enumerate(rounded)) == gpus:
        return (rounded,)
    return (single,) if gpus > node_size else (rounded, single)


def free_cells(free: Iterable[int]) -> Cells:
    """Return N^cell: of each level g, the number of nodes whose free GPUs have bit g.

    Examples
    --------
    >>> free_cells([8, 7, 2])
    (1, 2, 1, 1)
    """
    counts = list(free)
    bits = {level: sum(f >> level & 1 for f in counts) for level in range(3)}
    return _cells({**bits, 3: sum(f >> 3 for f in counts)})


def fits_cells(requested: Cells, cells: Cells) -> bool:
    """Say whether (14) holds: at every level, requested cells of it or above fit into the free.

    Notes
    -----
    Proposition 1: then there is a consolidated placement. With cells counted by
    :func:`free_cells` there is one only then.

    Examples
    --------
    >>> fits_cells((0, 2, 0, 0), free_cells([3, 2])), fits_cells((0, 0, 1, 0), free_cells([3, 2]))
    (True, False)
    """
    spare = 0
    for level in (3, 2, 1, 0):
        spare = 2 * spare + cells[level] - requested[level]
        if spare < 0:
            return False
    return True
