"""What :mod:`gangsched.verify` says of a problem here: both are given to it as a file has them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ...formulations.io import problem_to_dict
from ...verify import prove

__all__ = ["plainly_proven"]


def plainly_proven(problem: Any, certificate: Mapping[str, Any]) -> int | Fraction | None:
    """Return what the plain verifier proves; None for a problem that no file can hold.

    Raises
    ------
    ValueError
        Where it refuses the certificate.
    """
    try:
        data = problem_to_dict(problem)
    except TypeError:  # a parameter is a function
        return None
    return prove(_as_json(data), _as_json(certificate))


def _as_json(value: Any) -> Any:
    """Data as a file would give it back."""
    if isinstance(value, Mapping):
        return {key: _as_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(one) for one in value]
    return value
