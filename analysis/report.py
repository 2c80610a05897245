"""One HTML file that says what was compared, what came out, and what is proven about it.

The file needs nothing else: style, tables and pictures are inside, no script, no font, no link to
fetch. It follows the reader's light or dark setting. Apart from the elements of class ``timing``,
the same comparison gives the same bytes.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..formulations.problem import Sense
from ..instances.schedule import Schedule
from ..solvers.result import Bound, Refuted
from . import plots
from .certificates import verify_bound
from .ratio import Comparison, Row

__all__ = ["write_report"]

#: longer lists end with "and so many more", so that a file stays small
MOST_LISTED = 200
MOST_CERTIFICATE = 20_000  # characters

STYLE = """
:root { --ink: #1b1f24; --muted: #5b6570; --paper: #fefefe; --track: #eceff2; --line: #d5dae0;
  --accent: #1f6f94; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --muted: #a3adb8; --paper: #16191d;
  --track: #2a3037; --line: #39414a; --accent: #6fb9dc; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
.summary { font-size: 1.1rem; border-left: 4px solid var(--accent); padding-left: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { color: var(--muted); font-weight: 600; }
td.number, th.number { text-align: right; }
tr.best td { font-weight: 700; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
.muted { color: var(--muted); }
code, pre { font: .85rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; background: var(--track); padding: .75rem; border-radius: 6px; }
summary { cursor: pointer; }
"""

#: colours of the pictures that are too dark, or too light, on a dark page, and what they become
DARK = {
    plots.INK: "#e6e9ed",
    plots.MUTED: "#a3adb8",
    plots.PAPER: "#16191d",
    plots.TRACK: "#2a3037",
    plots.BOUND: "#f08a52",
}
DARK_PICTURES = "".join(
    f'figure svg [style*="{part}: {light}"] {{ {part}: {dark} !important; }}\n'
    for light, dark in DARK.items()
    for part in ("fill", "stroke")
)


def write_report(
    path: str | Path,
    comparison: Comparison,
    problem: Any,
    *,
    title: str,
    notes: Sequence[str] = (),
    rejected: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the report of a comparison as one self-contained HTML file.

    Parameters
    ----------
    path : path
        Replaced as a whole when the new file is complete, never left half written.
    comparison : Comparison
    problem : Problem
        The one that was compared on.
    title : str
    notes : sequence of str
        How the instance came about.
    rejected : sequence of (job, reason)
        Jobs that were left out of the instance.

    Raises
    ------
    InvalidCertificate, NoCertificate
        If the bound of `comparison` does not pass `verify_bound`, which is run again here.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.formulations.rar_ddls import RarDdls
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> from gangsched.solvers import sjf_bco
    >>> from gangsched.analysis.ratio import compare
    >>> jobs = [RingJob(id=i, gpus=1, iterations=60, gradient=0, base_time=0.7) for i in "abc"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "report.html"
    ...     write_report(file, compare(problem, {"sjf-bco": sjf_bco}), problem, title="Three jobs")
    ...     "proven to be optimal" in file.read_text("utf-8")
    True
    """
    if comparison.bound is not None:
        verify_bound(problem, comparison.bound)
    body = "\n".join(
        [
            f"<h1>{_text(title)}</h1>",
            f'<p class="summary">{_text(_summary(comparison, problem))}</p>',
            *_results(comparison),
            *_schedules(comparison, problem),
            *_proof(comparison.bound),
            *_instance(problem, notes, rejected),
            *_records(comparison, problem),
            *_refuted(comparison.refuted),
        ]
    )
    _replace(Path(path), _page(title, body))


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}"
        f"@media (prefers-color-scheme: dark) {{\n{DARK_PICTURES}}}\n</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _replace(path: Path, text: str) -> None:
    """Write beside the file and move into its place, so that nobody sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


# --- words ---------------------------------------------------------------------------------------


def _summary(comparison: Comparison, problem: Any) -> str:
    """Say in plain words what was compared, what is best, and what is proven of it."""
    cluster, jobs = problem.instance.cluster, len(problem.instance.jobs)
    solvers, nodes = len(comparison.rows), len(cluster.nodes)
    text = (
        f"{_count(solvers, 'solver')} scheduled {_count(jobs, 'job')} on {_count(nodes, 'node')} "
        f"with {cluster.gpus} GPUs. "
    )
    best = plots.best_row(comparison)
    if best is None or best.objective is None:
        return text + "None of them found a schedule."
    text += f"The best, {best.solver}, reaches {_measured(best)}"
    bound = comparison.bound
    if bound is None:
        return f"{text}. Nothing is proven about how far from optimal that is."
    if best.objective == bound.value:
        return f"{text}, which is proven to be optimal by a verified bound ({bound.method})."
    worse = "above" if comparison.sense is Sense.MAX else "below"
    text += f"; no schedule can be {worse} {bound.value:g}"
    if best.ratio is not None:
        text += f", so it is at most {plots.shown_ratio(best.ratio)} times the optimum"
    return f"{text}. The bound ({bound.method}) is proven, and was verified in exact arithmetic."


def _measured(row: Row) -> str:
    """Name the objective makespan where it is one."""
    schedule: Any = row.result and row.result.solution
    is_makespan = len(schedule) > 0 and row.objective == schedule.end.max()
    return f"a{' makespan' if is_makespan else 'n objective'} of {row.objective:.10g}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + "s" * (number != 1)


# --- sections ------------------------------------------------------------------------------------


def _results(comparison: Comparison) -> list[str]:
    best = plots.best_row(comparison)
    head = ("solver", "objective", "bound", "certified ratio", "mean completion", "runtime")
    lines = ["<tr>" + "".join(_cell("th", name) for name in head) + "<th>status</th></tr>"]
    for row in comparison.rows:
        values = (
            f"<td>{_text(row.solver)}</td>",
            _cell("td", _number(row.objective, ".10g")),
            _cell("td", _number(row.bound.value if row.bound else None, ".10g")),
            _cell("td", "–" if row.ratio is None else plots.shown_ratio(row.ratio)),
            _cell("td", _number(row.mean_completion, ".1f")),
            f'<td class="number timing">{row.runtime:.3f} s</td>',
            f"<td>{_text(row.status + (f': {row.error}' if row.error else ''))}</td>",
        )
        kind = ' class="best"' if row is best else ""
        lines.append(f"<tr{kind}>{''.join(values)}</tr>")
    parts = ["<h2>Results</h2>", f'<div class="wide"><table>{"".join(lines)}</table></div>']
    if comparison.unfinished:
        parts.append(
            f"<p>Interrupted, not finished: {_text(', '.join(comparison.unfinished))}.</p>"
        )
    parts.append(
        '<p class="muted">Certified ratio: objective over the verified bound, rounded up. No '
        "solution can be more than this factor better. Mean completion: from a job's release to "
        "its end, in the unit of the schedules below. Runtime: wall time of the solver.</p>"
    )
    picture = plots.ratio(comparison)
    return [*parts, _picture(picture, "ratio", "Certified ratio of each solver")]


def _schedules(comparison: Comparison, problem: Any) -> list[str]:
    best = plots.best_row(comparison)
    parts = []
    for k, row in enumerate(filter(None, (best, _other(comparison, best)))):
        schedule: Any = row.result and row.result.solution
        what = f"Schedule of {row.solver}" + (", the best" if row is best else "")
        figure = plots.gantt(schedule, problem, bound=comparison.bound)
        parts += [f"<h2>{_text(what)}</h2>", _picture(figure, f"gantt{k}", what)]
    return parts


def _other(comparison: Comparison, best: Row | None) -> Row | None:
    """A schedule to see beside the best: SJF-BCO's, else the worst."""
    rows = [
        row
        for row in comparison.rows
        if row.result is not None
        and isinstance(row.result.solution, Schedule)
        and row is not best
        and (best is None or row.objective != best.objective)
    ]
    named = [row for row in rows if row.solver == "sjf-bco"]
    sign = -1 if comparison.sense is Sense.MIN else 1
    rows.sort(key=lambda row: sign * (row.objective or 0.0))
    return next(iter(named + rows), None)


def _proof(bound: Bound | None) -> list[str]:
    if bound is None:
        return ["<h2>Proof</h2>", "<p>No bound was verified, so nothing is certified.</p>"]
    certificate = json.dumps(dict(bound.certificate or {}), default=str)
    if len(certificate) > MOST_CERTIFICATE:
        rest = len(certificate) - MOST_CERTIFICATE
        certificate = f"{certificate[:MOST_CERTIFICATE]} … and {rest} more characters"
    text = (
        f"<p>No schedule is better than <strong>{bound.value:g}</strong> (method: "
        f"{_text(bound.method)}). The certificate below was replayed by "
        "<code>gangsched.verify_bound</code> when this report was written: in integers or "
        "rationals, and without the code that found it.</p>"
    )
    return ["<h2>Proof</h2>", text, f"<pre>{_text(certificate)}</pre>"]


def _instance(problem: Any, notes: Sequence[str], rejected: Sequence[tuple[str, str]]) -> list[str]:
    instance = problem.instance
    sizes = Counter(node.gpus for node in instance.cluster.nodes)
    gangs = Counter(job.gpus for job in instance.jobs)
    facts = {
        "name": instance.name or "–",
        "problem": f"{type(problem).__name__}, {problem.sense.value}",
        "jobs": len(instance.jobs),
        "nodes": len(instance.cluster.nodes),
        "GPUs": instance.cluster.gpus,
        "nodes by GPUs": _histogram(sizes, "node"),
        "jobs by gang size": _histogram(gangs, "job"),
        "users": len(instance.users) or "–",
    }
    parts = ["<h2>Instance</h2>", _facts(facts)]
    parts += [f"<p>{_text(note)}</p>" for note in notes]
    if rejected:
        lines = [f"{job}: {reason}" for job, reason in rejected]
        parts.append(_folded(f"{_count(len(lines), 'rejected job')}, not scheduled", lines))
    return parts


def _histogram(counts: Mapping[int, int], thing: str) -> str:
    return ", ".join(f"{_count(counts[size], thing)} of {size}" for size in sorted(counts)) or "–"


def _records(comparison: Comparison, problem: Any) -> list[str]:
    """Everything that is needed to run it again."""
    parameters = problem.parameters() if hasattr(problem, "parameters") else {}
    versions: dict[str, str] = {"matplotlib": version("matplotlib")}
    runs = {}
    for row in comparison.rows:
        info = dict(row.result.info) if row.result is not None else {}
        versions |= info.pop("versions", {})
        runs[row.solver] = json.dumps(info, default=str, ensure_ascii=False) if info else "–"
    return [
        "<h2>Parameters</h2>",
        _facts(parameters),
        "<h2>Seeds and options of the solvers</h2>",
        _facts(runs),
        "<h2>Versions</h2>",
        _facts(dict(sorted(versions.items()))),
    ]


def _refuted(refuted: Sequence[Refuted[Any]]) -> list[str]:
    if not refuted:
        return []
    text = (
        "<p>These follow the print literally, and what they return breaks the problem. They have "
        "no objective and take no part in the comparison.</p>"
    )
    parts = ["<h2>Refuted variants</h2>", text]
    for one in refuted:
        number = _count(len(one.violations), "violation")
        parts.append(_folded(f"{one.solver}: {number}", one.violations))
    return parts


# --- HTML ----------------------------------------------------------------------------------------


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _cell(tag: str, text: str) -> str:
    kind = "" if text == "solver" else ' class="number"'
    return f"<{tag}{kind}>{_text(text)}</{tag}>"


def _facts(facts: Mapping[str, object]) -> str:
    rows = (
        f"<tr><th>{_text(key)}</th><td>{_text('–' if value is None else value)}</td></tr>"
        for key, value in facts.items()
    )
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def _folded(head: str, lines: Sequence[str]) -> str:
    shown: Iterable[str] = islice(lines, MOST_LISTED)
    items = [f"<li>{_text(line)}</li>" for line in shown]
    if len(lines) > MOST_LISTED:
        items.append(f"<li>and {len(lines) - MOST_LISTED} more</li>")
    return f"<details><summary>{_text(head)}</summary><ul>{''.join(items)}</ul></details>"


def _picture(figure: Figure, name: str, alt: str) -> str:
    """Inline SVG whose ids are unique in the page."""
    svg = plots.to_svg(figure)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{_text(alt)}" ', 1)
    return f"<figure>{svg.strip()}</figure>"
