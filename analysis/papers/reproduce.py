"""The papers' tables and figures, recomputed: data, picture, and which claims hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .gandiva_fair import figures as gandiva_fair
from .irmp import figures as irmp
from .ltgf import figures as ltgf
from .rar_ddls import figures as rar_ddls
from .record import Check as Check
from .record import Point as Point
from .record import Reproduction as Reproduction
from .study import Agreement as Agreement
from .study import Row as Row
from .study import Statement as Statement
from .study import Study as Study
from .unisched import figures as unisched

if TYPE_CHECKING:
    from ...instances.traces import Trace

__all__ = [
    "TARGETS",
    "Agreement",
    "Check",
    "Point",
    "Reproduction",
    "Row",
    "Statement",
    "Study",
    "reproduce",
    "takes_trace",
]

#: what can be reproduced, by its name on the command line
TARGETS: dict[str, Callable[..., Reproduction | Study]] = {
    "rar_ddls:fig4": rar_ddls.fig4,
    "rar_ddls:fig5": rar_ddls.fig5,
    "rar_ddls:fig6": rar_ddls.fig6,
    "rar_ddls:fig7": rar_ddls.fig7,
    "ltgf:fig6": ltgf.fig6,
    "ltgf:fig9": ltgf.fig9,
    "ltgf:fig10": ltgf.fig10,
    "ltgf:fig11": ltgf.fig11,
    "ltgf:fig12": ltgf.fig12,
    "ltgf:fig13": ltgf.fig13,
    "ltgf:fig14": ltgf.fig14,
    "unisched:table3": unisched.table3,
    "unisched:fig5": unisched.fig5,
    "unisched:fig6": unisched.fig6,
    "unisched:fig7": unisched.fig7,
    "unisched:fig8": unisched.fig8,
    "unisched:fig9": unisched.fig9,
    "unisched:fig10": unisched.fig10,
    "unisched:fig10d": unisched.fig10d,
    "unisched:fig11": unisched.fig11,
    "unisched:fig12": unisched.fig12,
    "irmp:fig4": irmp.fig4,
    "irmp:fig5": irmp.fig5,
    "irmp:fig6": irmp.fig6,
    "irmp:fig7": irmp.fig7,
    "irmp:fig8": irmp.fig8,
    "irmp:fig9": irmp.fig9,
    "irmp:fig10": irmp.fig10,
    "irmp:fig11": irmp.fig11,
    "irmp:fig12": irmp.fig12,
    "irmp:fig13": irmp.fig13,
    "irmp:table2": irmp.table2,
    "gandiva_fair:fig1": gandiva_fair.fig1,
    "gandiva_fair:fig2": gandiva_fair.fig2,
    "gandiva_fair:table2": gandiva_fair.table2,
    "gandiva_fair:table3": gandiva_fair.table3,
    "gandiva_fair:surplus": gandiva_fair.surplus,
    "gandiva_fair:fig4": gandiva_fair.fig4,
    "gandiva_fair:fig5": gandiva_fair.fig5,
    "gandiva_fair:fig6": gandiva_fair.fig6,
    "gandiva_fair:fig7": gandiva_fair.fig7,
    "gandiva_fair:fig8": gandiva_fair.fig8,
    "gandiva_fair:fig9": gandiva_fair.fig9,
    "gandiva_fair:fig10": gandiva_fair.fig10,
    "gandiva_fair:fig11": gandiva_fair.fig11,
}


def takes_trace(name: str) -> bool:
    """Say whether a figure can be computed on a job trace too, which is no part of the project.

    Parameters
    ----------
    name : str
        One of `TARGETS`.

    Examples
    --------
    >>> takes_trace("ltgf:fig13"), takes_trace("ltgf:fig6"), takes_trace("irmp:fig4")
    (True, False, True)
    """
    return name.startswith(("ltgf:", "irmp:")) and name != "ltgf:fig6"


def reproduce(
    name: str,
    out_dir: str | Path,
    progress: Callable[[str], None] | None = None,
    *,
    trace: Trace | None = None,
) -> tuple[Path, ...]:
    """Recompute a figure and write its data and picture.

    Parameters
    ----------
    name : str
        One of `TARGETS`.
    out_dir : path
        Made if it is not there; gets STEM-FIGURE.json, .csv and .png. The same bytes each time, but
        for the seconds of ``unisched:fig10d``, ``irmp:fig9`` and ``irmp:fig10``.
    progress : callable (str), optional
        Called after each instance with what has been done.
    trace : Trace, optional
        A job trace for figures that take one (:func:`takes_trace`). Without it they are computed on
        synthetic jobs alone.

    Returns
    -------
    tuple of Path
        The three files.

    Raises
    ------
    KeyError
        Where `name` is unknown.
    ValueError
        Where a trace is given that the figure does not take.

    Examples
    --------
    >>> reproduce("rar_ddls:fig3", ".")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    KeyError: "target 'rar_ddls:fig3' is not one of rar_ddls:fig4, ...
    """
    if name not in TARGETS:
        raise KeyError(f"target {name!r} is not one of {', '.join(TARGETS)}")
    if trace is None:
        return TARGETS[name](progress=progress).write(out_dir)
    if not takes_trace(name):
        raise ValueError(f"target {name!r}: takes no trace")
    return TARGETS[name](progress=progress, trace=trace).write(out_dir)
