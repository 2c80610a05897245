"""Measuring: bounds, ratios, metrics, plots and reports."""

from importlib import import_module as _import_module
from typing import Any as _Any

from .comparing.shown import Shown as _Shown

_Shown.renderer = lambda: _import_module(f"{__name__}.show.results")


def __getattr__(name: str) -> _Any:
    try:
        return _import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
