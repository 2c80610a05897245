"""One HTML file that says what an audit found in a log, with the proofs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...instances.display import counted, in_doubt
from . import page, plots
from .columns import Column, ColumnTable, whole
from .page import Topic

if TYPE_CHECKING:
    from ..audit import Audit

__all__ = ["write_audit_report"]

COLUMNS = (
    Column(lambda one: one.sure, "proved or odd"),
    Column(lambda one: one.kind, "what"),
    Column(lambda one: one.text, "found"),
    Column(lambda one: one.count, "jobs or rows", "", -1, whole),
    Column(lambda one: _rows(one), "rows"),
)
MEANING = (
    "Proved: cannot be true, by a few jobs of the log and a rule that they break between them. "
    "Odd: possible, and worth a look before anything is concluded from the log. Every proof was "
    "verified by gangsched.analysis.proofs.verify_audit, which shares no code with what found it."
)
CHECKED = (
    "Jobs that each rule was asked of, or why of none. Width: whether a gang fits at all. In use: "
    "whether more was in use at once than there is. Demand: whether more work was wanted than "
    "could be done in the window that is worst. Node size: pods, whose GPUs must be of one node."
)
MOST_PROOF = 10_000  # characters


def write_audit_report(
    path: str | Path, found: Audit, *, title: str, notes: Sequence[str] = ()
) -> None:
    """Write what an audit found as one self-contained HTML file.

    Parameters
    ----------
    path : path
    found : Audit
    title : str
    notes : sequence of str
        How the log was read.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.analysis.audit import Audit, Finding
    >>> twice = Finding(kind="same job twice", text="2 jobs", count=2, rows=("line 3", "line 7"))
    >>> found = Audit(name="log", jobs=9, findings=(twice,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "audit.html"
    ...     write_audit_report(file, found, title="log: 9 jobs")
    ...     "1 finding in 9 jobs" in file.read_text("utf-8")
    True
    """
    heads = "rule", *next(iter(found.checks.values()), ())
    lines = [(rule, *map(str, cells.values())) for rule, cells in found.checks.items()]
    table = page.rows(heads, lines, name="checks")
    topics = [_findings(found), Topic("What was checked", [table, page.muted(CHECKED)])]
    topics += _proofs(found)
    topics.append(Topic("How it was read", list(map(page.paragraph, notes))))
    page.write_page(path, title, _summary(found), topics)


def _summary(found: Audit) -> str:
    jobs, proved = counted(found.jobs, "job"), len(found.proved)
    doubt = in_doubt(found.doubts)
    if not found.findings:
        return f"Nothing was found in {jobs}. {doubt}".rstrip()
    odd = len(found.findings) - proved
    text = f"{counted(len(found.findings), 'finding')} in {jobs}: "
    text += f"{proved} proved, so that the log or what is said of its cluster is wrong; {odd} odd."
    return f"{text} {doubt}".rstrip()


def _rows(finding: object) -> str:
    rows, count = getattr(finding, "rows", ()), getattr(finding, "count", 0)
    return ", ".join(rows) + ", …" * (count > len(rows))


def _findings(found: Audit) -> Topic:
    if not found.findings:
        return Topic("Findings", [page.paragraph("Nothing was found."), page.muted(MEANING)])
    table = page.table(ColumnTable(COLUMNS, found.findings), name="findings")
    picture = page.picture(_picture(found), "findings", "Jobs or rows of each finding")
    return Topic("Findings", [table, page.muted(MEANING), picture])


def _picture(found: Audit) -> Figure:
    """A bar for each finding, below its name: as long as it has jobs or rows."""
    count = len(found.findings)
    figure = plots.new_figure(0.42 + 0.42 * count + 0.6)
    axes = plots.axes_at(figure, 0.15, 0.55, plots.WIDTH - 0.15 - 0.9, 0.42 * count)
    for k, one in enumerate(found.findings):
        alpha = 1.0 if one.sure == "proved" else 0.5
        axes.barh(k + 0.2, one.count, height=0.36, color=plots.ACCENT, alpha=alpha, linewidth=0)
        style = {"va": "center", "size": 9, "color": plots.INK}
        plots.note(axes, f"{one.sure}: {one.kind}", (0, k - 0.2), (0, 0), xycoords="data", **style)
        at = one.count, k + 0.2
        plots.note(axes, f"{one.count:,}", at, (4, 0), xycoords="data", **style)
    axes.set_xlim(0, max(one.count for one in found.findings) or 1)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("jobs or rows")
    plots.headline(figure, "Jobs or rows of each finding")
    return figure


def _proofs(found: Audit) -> list[Topic]:
    """What each finding was verified from, to unfold."""
    parts = [
        page.proof(f"{one.kind}: {one.text}", one.proof, MOST_PROOF)
        for one in found.findings
        if one.proof is not None
    ]
    return [Topic("Proofs", parts)] if parts else []
