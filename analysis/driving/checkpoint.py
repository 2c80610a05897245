"""A cluster in the middle of a run, as plain data: nothing in a file of it can run.

A checkpoint is a NumPy archive: the member ``head`` is JSON, in which arrays are named that are the
other members. It says by which version it was written, of which instance, policy and rules it is,
and holds what the engine and the policy's session have saved. Numbers in it are trusted.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...instances.io import write_file

#: of what is in a checkpoint; others are refused
FORMAT = 2
#: by which an array is named in JSON
ARRAY = "$array"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A cluster in the middle of a run, with what the policy's session remembers.

    Parameters
    ----------
    data : bytes
        As of :func:`pack`.
    instance_hash : str
        Of the instance that it belongs to.
    """

    data: bytes
    instance_hash: str

    def save(self, path: str | Path) -> None:
        """Write to a file."""
        write_file(path, bytes(self))

    def __bytes__(self) -> bytes:
        """The bytes of a file."""
        return self.data

    @classmethod
    def load(cls, path: str | Path) -> Checkpoint:
        """Read from a file, which cannot run code."""
        data = Path(path).read_bytes()
        try:
            return cls(data, str(unpack(data)["instance"]))
        except (ValueError, KeyError) as error:
            raise ValueError(f"{path}: not a checkpoint of a run: {error}") from None


def pack(content: Mapping[str, Any]) -> bytes:
    """Return plain data as bytes.

    Examples
    --------
    >>> unpack(pack({"now": 60, "free": np.array([1, 2])}))["free"]
    array([1, 2])
    >>> pack({"rule": {"key": print}})
    Traceback (most recent call last):
        ...
    TypeError: rule.key is of type builtin_function_or_method, which is no plain data
    """
    arrays: dict[str, Any] = {}
    head = json.dumps({"format": FORMAT, **_packed_value(content, "", arrays)})
    file = io.BytesIO()
    arrays["head"] = np.frombuffer(head.encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _packed_value(value: Any, place: str, arrays: dict[str, Any]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {ARRAY: name}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key == ARRAY:
                raise TypeError(f"{place or 'data'} has the key {key!r}, which is no plain string")
        return {key: _packed_value(part, _at(place, key), arrays) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed_value(part, _at(place, i), arrays) for i, part in enumerate(value)]
    raise TypeError(f"{place} is of type {type(value).__name__}, which is no plain data")


def _at(place: str, key: object) -> str:
    return f"{place}.{key}" if place else str(key)


def unpack(data: bytes) -> dict[str, Any]:
    """Return what was packed, without running code from the file."""
    if not data.startswith(b"PK"):
        raise ValueError("it is no archive")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            hook = lambda part: file[part[ARRAY]] if list(part) == [ARRAY] else part  # noqa: E731
            content = json.loads(file["head"].tobytes(), object_hook=hook)
    except Exception as error:  # whatever damaged bytes raise
        raise ValueError(f"it cannot be read: {type(error).__name__}: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise ValueError(f"it has format {found!r}, this version reads {FORMAT}")
    return content
