"""Algorithms: functions from a problem to a result, policies, and exact solving.

The names stand in ``__init__.pyi``; what needs HiGHS, numba or scipy is imported when asked for.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from lazy_loader import attach_stub as _attach_stub

_get, __dir__, __all__ = _attach_stub(__name__, __file__)


def __getattr__(name: str) -> _Any:
    if name == "baselines":  # this package, under its former name
        return _import_module(f"{__name__}.{name}")
    return _get(name)
