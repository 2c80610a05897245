"""Former names of what a module offers: they still work, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def former_names(module: str, today: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that knows its former names."""

    def found(name: str) -> Any:
        if name not in today:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is now {today[name]}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], today[name])

    return found
