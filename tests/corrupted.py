"""Certificates of bounds that somebody has changed."""

from collections.abc import Mapping
from random import Random
from typing import Any

#: what stands in no certificate
ODD: tuple[Any, ...] = (None, "x", [1.5], -1, [-1], [[-1], [2]], [], True, 10**30)


def corrupted(certificate: Mapping[str, Any], rng: Random) -> dict[str, Any]:
    """Change one field: numbers of it, the length or order of a list, or all of it."""
    fields = [name for name in certificate if name != "kind"]
    name = rng.choice(fields)
    value = certificate[name]
    if isinstance(value, str):
        at = rng.randrange(len(value))
        changed = [value[:at], value[at:], value[::-1], value[:at] + "A" + value[at + 1 :]]
        return {**certificate, name: rng.choice([*changed, *ODD])}
    if not isinstance(value, list) or not value:
        return {**certificate, name: rng.choice([1, 3, *_changed(value, rng), *ODD])}
    kind = rng.randrange(5)
    if kind == 0:
        changed = list(value)
        at = rng.randrange(len(value))
        changed[at] = rng.choice(_changed(value[at], rng))
    elif kind == 1:
        changed = [rng.choice(_changed(one, rng)) for one in value]
    elif kind == 2:
        changed = value[1:]
    elif kind == 3:
        changed = value[::-1]
    else:
        changed = rng.choice(ODD)
    return {**certificate, name: changed}


def _changed(value: Any, rng: Random) -> list[Any]:
    """Near a number, or a list of such ones."""
    if isinstance(value, list):
        return [[rng.choice(_changed(one, rng)) for one in value]]
    return [value, 2 * value, value // 2, value + rng.randrange(3), max(0, value - 1), 0]
