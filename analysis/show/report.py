"""One HTML file that says what was compared, what came out, and what is proven about it.

The file needs nothing else: style, tables and pictures are inside, no script, no font, no link to
fetch. It follows the reader's light or dark setting. Apart from the elements of class ``timing``,
the same comparison gives the same bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...formulations.gandiva_fair.problem import GpuMarket
from ...formulations.problem import Sense, goal_of
from ...instances.display import counted
from ...instances.schedule import Schedule
from ...solvers.result import Bound, Refuted
from ..comparing.comparison import Comparison, Row
from ..proofs.verify import verify_bound
from . import page, plots
from .columns import shown_bound, shown_ratio

__all__ = ["write_report"]

MOST_CERTIFICATE = 20_000  # characters


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
        If a bound of `comparison` does not pass `verify_bound`, which is run again here.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.formulations.rar_ddls import RarDdls
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> from gangsched.solvers import sjf_bco
    >>> from gangsched.analysis.comparing.comparison import compare
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
    for relaxed in comparison.relaxed:
        if relaxed.bound is not None:
            verify_bound(relaxed.problem, relaxed.bound)
    body = "\n".join(
        [
            f"<h1>{page.escape(title)}</h1>",
            f'<p class="summary">{page.escape(_summary(comparison, problem))}</p>',
            *_results(comparison),
            *_schedules(comparison, problem),
            *_proofs(comparison, problem),
            *_instance(problem, notes, rejected),
            *_records(comparison, problem),
            *_refuted(comparison.refuted),
        ]
    )
    page.write_page(path, title, body)


# --- words ---------------------------------------------------------------------------------------


def _summary(comparison: Comparison, problem: Any) -> str:
    """Say in plain words what was compared, what is best, and what is proven of it."""
    if not hasattr(problem, "instance"):
        return _market_summary(comparison, problem)
    cluster, jobs = problem.instance.cluster, len(problem.instance.jobs)
    solvers, nodes = len(comparison.rows), len(cluster.nodes)
    text = (
        f"{counted(solvers, 'solver')} scheduled {counted(jobs, 'job')} "
        f"on {counted(nodes, 'node')} with {cluster.gpus} GPUs. "
    )
    best = plots.best_row(comparison)
    if best is None or best.objective is None:
        return text + "None of them found a schedule."
    text += f"The best, {best.solver}, reaches {_measured(best, problem)}"
    bound = best.bound
    if bound is None:
        return f"{text}. Nothing is proven about how far from optimal that is."
    if best.objective == bound.value:
        return f"{text}, which is proven to be optimal by a verified bound ({bound.method})."
    worse = "above" if comparison.sense is Sense.MAX else "below"
    text += f"; no schedule can be {worse} {shown_bound(bound.value, comparison.sense)}"
    if best.ratio is not None:
        times = f"is at most {shown_ratio(best.ratio)} times"
        low = comparison.sense is Sense.MIN
        text += f", so it {times} the optimum" if low else f", so the optimum {times} it"
    return f"{text}. The bound ({bound.method}) is proven, and was verified in exact arithmetic."


def _market_summary(comparison: Comparison, problem: Any) -> str:
    """The same of a market, where solutions are allocations."""
    solvers = counted(len(comparison.rows), "solver")
    text = f"{solvers} on one problem: {problem.summary()}. "
    if isinstance(problem, GpuMarket):
        gpus, users = int(problem.gpus.sum()), counted(len(problem.users), "user")
        models = counted(len(problem.models), "model")
        text = f"{solvers} divided {gpus} GPUs of {models} among {users}. "
    rows = [row for row in comparison.rows if row.objective is not None]
    if not rows:
        return text + "None of them found an allocation."
    best = max(rows, key=lambda row: row.objective or 0.0)
    text += f"The best, {best.solver}, reaches {_measured(best, problem)}"
    if best.bound is None:
        return f"{text}. Nothing is proven about how far from optimal that is."
    return (
        f"{text}; no allocation can be above "
        f"{shown_bound(best.bound.value, Sense.MAX)}. The bound "
        f"({best.bound.method}) is proven, and was verified in exact arithmetic."
    )


def _measured(row: Row, problem: Any) -> str:
    """The objective in the words of the problem."""
    goal = goal_of(problem)
    article = "an" if goal.name[:1] in "aeiou" else "a"
    return f"{article} {goal.name} of {row.objective:.10g}" + f" {goal.unit}" * bool(goal.unit)


# --- sections ------------------------------------------------------------------------------------


def _results(comparison: Comparison) -> list[str]:
    best = plots.best_row(comparison)
    measures = comparison.measures
    head = ("solver", "objective", "bound", "certified ratio", *measures, "mean completion")
    head = (*head, "runtime")
    lines = ["<tr>" + "".join(_cell("th", name) for name in head) + "<th>status</th></tr>"]
    for row in comparison.rows:
        values = (
            f"<td>{page.escape(row.solver)}</td>",
            _cell("td", _number(row.objective, ".10g")),
            _cell("td", shown_bound(row.bound.value, comparison.sense) if row.bound else "–"),
            _cell("td", "–" if row.ratio is None else shown_ratio(row.ratio)),
            *(_cell("td", _number(row.measures.get(name), ".6g")) for name in measures),
            _cell("td", _number(row.mean_completion, ".1f")),
            f'<td class="number timing">{row.runtime:.3f} s</td>',
            f"<td>{page.escape(_status(row))}</td>",
        )
        kind = ' class="best"' if row is best else ""
        lines.append(f"<tr{kind}>{''.join(values)}</tr>")
    parts = ["<h2>Results</h2>", f'<div class="wide"><table>{"".join(lines)}</table></div>']
    if comparison.unfinished:
        parts.append(
            f"<p>Interrupted, not finished: {page.escape(', '.join(comparison.unfinished))}.</p>"
        )
    low = comparison.sense is Sense.MIN
    sides = "objective over the verified bound" if low else "the verified bound over the objective"
    parts.append(
        f'<p class="muted">Certified ratio: {sides}, rounded up. No '
        "solution can be more than this factor better. Mean completion: from a job's release to "
        "its end, in the unit of the schedules below. Runtime: wall time of the solver.</p>"
    )
    parts += [f'<p class="muted">{page.escape(text)}</p>' for text in comparison.legend]
    figure = plots.ratio(comparison)
    return [*parts, page.picture(figure, "ratio", "Certified ratio of each solver")]


def _status(row: Row) -> str:
    return f"{row.standing}: {row.error}" if row.error else row.standing


def _schedules(comparison: Comparison, problem: Any) -> list[str]:
    best = plots.best_row(comparison)
    parts = []
    for k, row in enumerate(filter(None, (best, _other(comparison, best)))):
        schedule: Any = row.result and row.result.solution
        what = f"Schedule of {row.solver}" + (", the best" if row is best else "")
        figure = plots.gantt(schedule, problem, bound=row.bound)
        parts += [f"<h2>{page.escape(what)}</h2>", page.picture(figure, f"gantt{k}", what)]
    return parts


def _other(comparison: Comparison, best: Row | None) -> Row | None:
    """A schedule to see beside the best: SJF-BCO's, else the worst."""
    rows = [
        row
        for row in comparison.rows
        if row.result is not None
        and isinstance(row.result.solution, Schedule)
        and row is not best
        and (best is None or row.relaxation == best.relaxation)
        and (best is None or row.objective != best.objective)
    ]
    named = [row for row in rows if row.solver == "sjf-bco"]
    sign = -1 if comparison.sense is Sense.MIN else 1
    rows.sort(key=lambda row: sign * (row.objective or 0.0))
    return next(iter(named + rows), None)


def _proofs(comparison: Comparison, problem: Any) -> list[str]:
    thing = "schedule" if hasattr(problem, "instance") else "allocation"
    named = [(one.name, one.bound) for one in comparison.relaxed]
    return [
        line
        for name, bound in [("", comparison.bound), *named]
        if bound is not None or name or not named
        for line in _proof(bound, name, thing, comparison.sense)
    ]


def _proof(bound: Bound | None, relaxation: str, thing: str, sense: Sense) -> list[str]:
    kind = page.escape(f"{relaxation} " if relaxation else "")
    title = f"<h2>Proof{kind and ', '}{kind.strip()}</h2>"
    if bound is None:
        return [title, "<p>No bound was verified, so nothing is certified.</p>"]
    certificate = json.dumps(dict(bound.certificate or {}), default=str)
    if len(certificate) > MOST_CERTIFICATE:
        rest = len(certificate) - MOST_CERTIFICATE
        certificate = f"{certificate[:MOST_CERTIFICATE]} … and {rest} more characters"
    text = (
        f"<p>No {kind}{thing} is better than "
        f"<strong>{shown_bound(bound.value, sense)}</strong> (method: "
        f"{page.escape(bound.method)}). The certificate below was replayed by "
        "<code>gangsched.verify_bound</code> when this report was written: in integers or "
        "rationals, and without the code that found it.</p>"
    )
    return [title, text, f"<pre>{page.escape(certificate)}</pre>"]


def _instance(problem: Any, notes: Sequence[str], rejected: Sequence[tuple[str, str]]) -> list[str]:
    if not hasattr(problem, "instance"):
        return _market_facts(problem, notes)
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
    parts = ["<h2>Instance</h2>", page.facts(facts)]
    parts += [f"<p>{page.escape(note)}</p>" for note in notes]
    if rejected:
        lines = [f"{job}: {reason}" for job, reason in rejected]
        parts.append(page.folded(f"{counted(len(lines), 'rejected job')}, not scheduled", lines))
    return parts


def _market_facts(problem: Any, notes: Sequence[str]) -> list[str]:
    if not isinstance(problem, GpuMarket):
        kind = f"{type(problem).__name__}, {problem.sense.value}"
        facts: dict[str, Any] = {"problem": kind, "size": problem.summary()}
        return ["<h2>Problem</h2>", page.facts(facts), *(f"<p>{page.escape(n)}</p>" for n in notes)]
    gpus = zip(problem.gpus.tolist(), problem.models, strict=True)
    facts = {
        "problem": f"{type(problem).__name__}, {problem.aim}, {problem.sense.value}",
        "GPUs": ", ".join(f"{count} of {model}" for count, model in gpus),
        "users": len(problem.users),
    }
    return ["<h2>Market</h2>", page.facts(facts), *(f"<p>{page.escape(n)}</p>" for n in notes)]


def _histogram(counts: Mapping[int, int], thing: str) -> str:
    parts = [f"{counted(counts[size], thing)} of {size}" for size in sorted(counts)]
    return ", ".join(parts) or "–"


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
        page.facts(parameters),
        "<h2>Seeds and options of the solvers</h2>",
        page.facts(runs),
        "<h2>Versions</h2>",
        page.facts(dict(sorted(versions.items()))),
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
        number = counted(len(one.violations), "violation")
        parts.append(page.folded(f"{one.solver}: {number}", one.violations))
    return parts


# --- HTML ----------------------------------------------------------------------------------------


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _cell(tag: str, text: str) -> str:
    kind = "" if text == "solver" else ' class="number"'
    return f"<{tag}{kind}>{page.escape(text)}</{tag}>"
