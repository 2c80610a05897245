"""Heaps of numbers by their keys, and lists that are nearly sorted by them, for machine code."""

from __future__ import annotations

from typing import Any

from .arrays import Ints
from .compiled import inner


@inner
def before(key: Any, one: int, other: int) -> bool:
    """Whether a number comes before another: by the least key, ties by number."""
    return bool(key[one] < key[other] or (key[one] == key[other] and one < other))


@inner
def push(heap: Ints, key: Any, first: int, size: int, number: int) -> None:
    """Put a number into the heap of `size` that begins at `first`."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        other = heap[first + above]
        if key[other] < key[number] or (key[other] == key[number] and other < number):
            break
        heap[first + at] = other
        at = above
    heap[first + at] = number


@inner
def pop(heap: Ints, key: Any, first: int, size: int) -> int:
    """Take the first number off the heap of `size` that begins at `first`."""
    top, number = heap[first], heap[first + size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size:
            below += before(key, heap[first + below + 1], heap[first + below])
        other = heap[first + below]
        if key[number] < key[other] or (key[number] == key[other] and number < other):
            break
        heap[first + at] = other
        at = below
    heap[first + at] = number
    return int(top)


@inner
def sort(numbers: Ints, size: int, key: Any) -> None:
    """Sort the first numbers by insertion, as they are hardly out of order."""
    for i in range(1, size):
        number, at = numbers[i], i
        while at > 0 and before(key, number, numbers[at - 1]):
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number
