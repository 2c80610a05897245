"""The papers' tables and figures, recomputed: data, picture, and which claims hold."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..show.study_report import write_study_report
from .experiment import Experiment, FigureCell
from .gandiva_fair import figures as gandiva_fair
from .irmp import figures as irmp
from .ltgf import figures as ltgf
from .rar_ddls import figures as rar_ddls
from .study import Agreement, FigureRow, Statement, Study
from .unisched import figures as unisched

if TYPE_CHECKING:
    from ...instances.traces import Trace

__all__ = [
    "TARGETS", "Agreement", "Experiment", "FigureCell", "FigureRow", "Statement", "Study",
    "from_rows", "reproduce",
]  # fmt: skip

#: what can be reproduced, by its name on the command line
TARGETS: dict[str, Experiment] = {
    one.name: one
    for paper in (rar_ddls, ltgf, unisched, irmp, gandiva_fair)
    for one in vars(paper).values()
    if isinstance(one, Experiment)
}


def from_rows(
    name: str, instances: Mapping[str, Mapping[str, Any]], rows: Iterable[FigureRow]
) -> Study:
    """Judge the rows of a figure again, for example those of a file.

    Parameters
    ----------
    name : str
        One of `TARGETS`.
    instances : mapping of str to mapping
        Facts about each instance.
    rows : iterable of FigureRow

    Returns
    -------
    Study
        Settings and verdicts follow from the rows.
    """
    return TARGETS[name].study(instances, rows)


def reproduce(
    name: str,
    out_dir: str | Path,
    progress: Callable[[str], None] | None = None,
    *,
    trace: Trace | None = None,
    processes: int | None = 1,
    report: str | Path | None = None,
) -> tuple[Path, ...]:
    """Recompute a figure and write its data and picture.

    What a finished run gave is kept in the folder STEM-FIGURE.parts until the figure is written, so
    that the same call goes on where one before was interrupted or killed.

    Parameters
    ----------
    name : str
        One of `TARGETS`.
    out_dir : path
        Made if it is not there; gets STEM-FIGURE.json, .csv and .png. The same bytes each time, but
        for the seconds of ``unisched:fig10d``, ``irmp:fig9`` and ``irmp:fig10``.
    progress : callable (str), optional
        Called after each run with what has been done.
    trace : Trace, optional
        A job trace for figures that take one, ``TARGETS[name].takes_trace``. Without it they are
        computed on synthetic jobs alone.
    processes : int or None
        How many runs at once; None for as many as there are cores. The result is the same. With
        more than one a script needs the usual ``if __name__ == "__main__":``.
    report : path, optional
        HTML report to write too.

    Returns
    -------
    tuple of Path
        The three files, and the report.

    Raises
    ------
    KeyError
        Where `name` is unknown.
    ValueError
        Where a trace is given that the figure does not take.
    RuntimeError
        Where a run fails: with its name. The others are kept.

    Examples
    --------
    >>> reproduce("rar_ddls:fig3", ".")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    KeyError: "target 'rar_ddls:fig3' is not one of rar_ddls:fig4, ...
    """
    if name not in TARGETS:
        raise KeyError(f"target {name!r} is not one of {', '.join(TARGETS)}")
    if trace is not None and not TARGETS[name].takes_trace:
        raise ValueError(f"target {name!r}: takes no trace")
    options = {} if trace is None else {"trace": trace}
    parts = Path(out_dir) / f"{name.replace(':', '-')}.parts"
    study = TARGETS[name](processes=processes, parts=parts, progress=progress, **options)
    paths = study.write(out_dir)
    if report is not None:
        write_study_report(report, study)
        paths = (*paths, Path(report))
    shutil.rmtree(parts, ignore_errors=True)
    return paths
