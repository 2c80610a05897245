"""Fields of JSON: what is read, or a reason why it cannot be."""

from __future__ import annotations

import math
import sys
from base64 import b64decode
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any
from zlib import decompressobj, error

#: decimal digits of an integer in a file
MOST_DIGITS = 4000
TOO_LONG = 10**MOST_DIGITS
#: of the largest knapsack
MOST_ROOM = 10**8
#: numbers that are packed together
MOST_PACKED = 10**7


class BadFile(ValueError):
    """What is no problem, or no bound."""


class Refused(ValueError):
    """A certificate that is malformed, does not hold, or proves less than its bound claims."""


def integer(data: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a field that is an integer, not below `least`."""
    if name not in data:
        raise Refused(f"field {name!r} is missing")
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f"{name}={value!r} is not an integer")
    if value < least:
        raise Refused(f"{name}={value} is below {least}")
    return value


def item(data: Mapping[str, Any], name: str, count: int) -> int:
    """Return a field that is the number of one of `count` things, such as a job."""
    value = integer(data, name)
    if value >= count:
        raise Refused(f"{name}={value} is not one of the {count} {name}s")
    return value


def integers(
    values: Any, name: str, *, least: int = 0, count: int | None = None, what: str = "jobs"
) -> list[int]:
    """Return a list of integers, none below `least`; so many, one for each of `what`."""
    if not isinstance(values, list):
        raise Refused(f"{name}={values!r} is not a list of integers")
    if count not in (None, len(values)):
        raise Refused(f"{name} has {len(values)} entries for {count} {what}")
    for j, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise Refused(f"{name}[{j}]={value!r} is not an integer >= {least}")
    return values


def lists(values: Any, name: str, count: int, what: str) -> list[Any]:
    """Return a list of anything, one for each of `what`."""
    if not isinstance(values, list):
        raise Refused(f"{name}={values!r} is not a list")
    if len(values) != count:
        raise Refused(f"{name} has {len(values)} entries for {count} {what}")
    return values


def rising(values: Any, name: str) -> list[int]:
    """Return a list of two integers or more that rise."""
    found = integers(values, name)
    if len(found) < 2 or any(b <= a for a, b in pairwise(found)):
        raise Refused(f"{name} do not rise, or are fewer than two")
    return found


def unpacked(data: Mapping[str, Any], name: str, count: int) -> list[int]:
    """Return `count` integers below 2**64 that were packed: all lowest bytes, all next ones, ...

    These are compressed by zlib and written in base 64.
    """
    text = data.get(name)
    if not isinstance(text, str):
        raise Refused(f"{name} is {text!r}, no text")
    if count > MOST_PACKED:
        raise Refused(f"{name}: {count} numbers are more than {MOST_PACKED}")
    reader = decompressobj()
    try:
        packed = reader.decompress(b64decode(text, validate=True), 8 * count + 1)
    except (ValueError, error) as wrong:
        raise Refused(f"{name} cannot be unpacked: {wrong}") from wrong
    if len(packed) > 8 * count or len(packed) % max(count, 1) or not reader.eof:
        raise Refused(f"{name} is not {count} packed numbers")
    values = [0] * count
    for place in range(0, len(packed), max(count, 1)):
        high = 8 * (place // count)
        values = [
            v + (b << high) for v, b in zip(values, packed[place : place + count], strict=True)
        ]
    return values


def check_digits(place: str, value: Any) -> None:
    """Refuse integers with more digits than can be shown."""
    if isinstance(value, int):
        if abs(value) >= TOO_LONG:
            raise Refused(f"{place} has more than {MOST_DIGITS} digits")
    elif isinstance(value, Mapping):
        for key, one in value.items():
            check_digits(str(key), one)
    elif isinstance(value, list):
        for i, one in enumerate(value):
            if type(one) is not int or abs(one) >= TOO_LONG:  # without a place for each
                check_digits(f"{place}[{i}]", one)


def number(data: Mapping[str, Any], name: str, default: Any = None) -> Fraction:
    """Return a number of a problem as the rational that its decimal denotes: 0.1 is 1/10."""
    value = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadFile(f"{name}={value!r} is not a finite number")
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def whole(data: Mapping[str, Any], name: str, default: Any = None) -> int:
    """Return an integer >= 0 of a problem."""
    value = data.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadFile(f"{name}={value!r} is not an integer >= 0")
    return value


def one_of(data: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    """Return a word of a problem; the first one that is known where it says nothing."""
    value = data.get(name, known[0])
    if value not in known:
        raise BadFile(f"{name}={value!r} is not one of {', '.join(known)}")
    return str(value)


def flag(data: Mapping[str, Any], name: str, *, default: bool) -> bool:
    """Return a truth value of a problem."""
    value = data.get(name, default)
    if not isinstance(value, bool):
        raise BadFile(f"{name}={value!r} is not true or false")
    return value


def steps(pairs: Any) -> list[tuple[int, float]]:
    """Return the pairs (deadline, value) of a job."""
    found = []
    for pair in pairs or ():
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise BadFile(f"rewards: {pair!r} is not a pair (deadline, value)")
        deadline, value = pair
        number({"value": value}, "value")
        found.append((whole({"deadline": deadline}, "deadline"), float(value)))
    return found


def rows(data: Any, *path: str) -> list[Any]:
    """Return the list of objects at a place in a problem."""
    for name in path:
        if not isinstance(data, Mapping) or name not in data:
            raise BadFile(f"the problem has no {'.'.join(path)}")
        data = data[name]
    if not isinstance(data, list) or not all(isinstance(row, Mapping) for row in data):
        raise BadFile(f"{'.'.join(path)} is not a list of objects")
    return data


class JobColumns:
    """Jobs of a problem by field: those of a file, or of whoever has a subclass for its own."""

    def __init__(self, found: list[Any]) -> None:
        self.found = found

    @classmethod
    def of(cls, data: Any) -> JobColumns:
        """Return those of a problem."""
        instance = data.get("instance")
        given = instance.get("jobs") if isinstance(instance, Mapping) else None
        return given if isinstance(given, JobColumns) else cls(rows(data, "instance", "jobs"))

    def __len__(self) -> int:
        return len(self.found)

    def column(self, name: str, default: Any = None) -> list[Any]:
        """Return a field of every job."""
        return [job.get(name, default) for job in self.found]

    def wholes(self, name: str, default: Any = None) -> list[int]:
        """Return a field of every job that is an integer >= 0."""
        values = self.column(name, default)
        for value in values:
            if type(value) is not int or value < 0:
                raise BadFile(f"{name}={value!r} is not an integer >= 0")
        return values

    def numbers(self, name: str, default: Any = None) -> list[Fraction]:
        """Return a field of every job that is a number, as :func:`number` reads it."""
        values = self.column(name, default)
        known = {value: number({name: value}, name) for value in {*values}}
        return [known[value] for value in values]


def gpus_by_model(data: Any) -> dict[str, int]:
    """Return how many GPUs of each model there are, in the order of their first nodes."""
    room: dict[str, int] = {}
    for node in rows(data, "instance", "cluster", "nodes"):
        model = node.get("model", "")
        room[model] = room.get(model, 0) + whole(node, "gpus")
    return room


def to_float(value: Fraction) -> Fraction:
    """Return the float next to a value, as objectives are; the value itself beyond all floats."""
    return Fraction(float(value)) if abs(value) <= sys.float_info.max else value


def knapsack(sizes: list[int], values: list[int], capacity: int) -> int:
    """Most that items of these values can add up to within the capacity, each at most once."""
    if capacity > MOST_ROOM:
        raise Refused(f"a knapsack of {capacity} is larger than {MOST_ROOM}")
    best = [(0, 0)]  # (used, worth), both rising: whatever uses more for less is dropped
    for size, value in zip(sizes, values, strict=True):
        if not value:
            continue
        more = [(used + size, worth + value) for used, worth in best if used + size <= capacity]
        merged = list[tuple[int, int]]()
        for used, worth in sorted(best + more):
            if merged and worth <= merged[-1][1]:
                continue
            if merged and used == merged[-1][0]:
                merged.pop()
            merged.append((used, worth))
        best = merged
    return best[-1][1]


def thresholded(d: int, target: int, eps: int) -> int:
    """Scaled by C = `target`: U_eps(x) = 1 above 1 - eps/C, 0 below eps/C, else x = d/C."""
    return target if d > target - eps else 0 if d < eps else d


def stepped(d: int, target: int, k: int) -> int:
    """Scaled by k C: u_k(x) = x if (k + 1) x is integral, else floor((k + 1) x) / k; k = 0: x."""
    if k == 0:
        return d
    steps, rest = divmod((k + 1) * d, target)
    return steps * target if rest else k * d
