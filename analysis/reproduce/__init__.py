"""The papers' tables and figures, recomputed: data, picture, and which claims hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import rar_ddls
from .record import Check as Check
from .record import Point as Point
from .record import Reproduction as Reproduction

__all__ = ["TARGETS", "Check", "Point", "Reproduction", "reproduce"]

#: what can be reproduced, by its name on the command line
TARGETS: dict[str, Callable[..., Reproduction]] = {
    "rar_ddls:fig4": rar_ddls.fig4,
    "rar_ddls:fig5": rar_ddls.fig5,
    "rar_ddls:fig6": rar_ddls.fig6,
    "rar_ddls:fig7": rar_ddls.fig7,
}


def reproduce(
    name: str, out_dir: str | Path, progress: Callable[[str], None] | None = None
) -> tuple[Path, ...]:
    """Recompute a figure and write its data and picture.

    Parameters
    ----------
    name : str
        One of `TARGETS`.
    out_dir : path
        Made if it is not there; gets STEM-FIGURE.json, .csv and .png. The same bytes each time.
    progress : callable (str), optional
        Called after each instance with what has been done.

    Returns
    -------
    tuple of Path
        The three files.

    Raises
    ------
    KeyError
        Where `name` is unknown.

    Examples
    --------
    >>> reproduce("rar_ddls:fig3", ".")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    KeyError: "target 'rar_ddls:fig3' is not one of rar_ddls:fig4, ...
    """
    if name not in TARGETS:
        raise KeyError(f"target {name!r} is not one of {', '.join(TARGETS)}")
    return TARGETS[name](progress=progress).write(out_dir)
