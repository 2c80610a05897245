"""One HTML file that says what was compared, what came out, and what is proven about it.

The file needs nothing else: style, script, tables and pictures are inside, no font, no link to
fetch. It follows the reader's light or dark setting. Apart from the elements of class ``timing``,
the same comparison gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...formulations.problem import Sense, facts_of, goal_of, summary_of
from ...instances.display import counted
from ...solvers.result import Bound, Refuted
from ..comparing.comparison import Comparison, Row
from . import chart_data, gantt_data, page, plots
from .columns import SAID, shown_bound, shown_ratio
from .page import Topic
from .solver_tables import solver_conditions, solver_table, solver_words

__all__ = ["write_report"]

MOST_CERTIFICATE = 20_000  # characters


def write_report(
    path: str | Path,
    comparison: Comparison,
    *,
    title: str,
    notes: Sequence[str] = (),
    rejected: Sequence[tuple[str, str]] = (),
    drawn: str = "",
    left_out: int = 0,
) -> None:
    """Write the report of a comparison as one self-contained HTML file.

    Parameters
    ----------
    path : path
        Replaced as a whole when the new file is complete, never left half written.
    comparison : Comparison
        Whose bounds are verified, as those of :func:`compare` are.
    title : str
    notes : sequence of str
        How the instance came about.
    rejected : sequence of (job, reason)
        Jobs that were left out of the instance.
    drawn : str
        Which seed drew what of the instance.
    left_out : int
        How many more jobs options left out.

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
    ...     write_report(file, compare(problem, {"sjf-bco": sjf_bco}), title="Three jobs")
    ...     "proven to be optimal" in file.read_text("utf-8")
    True
    """
    conditions = solver_conditions(comparison, drawn=drawn, rejected=len(rejected) + left_out)
    topics = [
        _results(comparison, page.muted(str(conditions))),
        *_schedules(comparison),
        *_proofs(comparison),
        _instance(comparison.problem, notes, rejected),
        *_records(comparison),
        *_refuted(comparison.refuted),
    ]
    page.write_page(path, title, _summary(comparison), topics)


# --- words ---------------------------------------------------------------------------------------


def _summary(comparison: Comparison) -> str:
    """Say in plain words what was compared, what is best, and what is proven of it."""
    goal, sense = goal_of(comparison.problem), comparison.sense
    solvers = counted(len(comparison.rows), "solver")
    text = f"{solvers} on one problem: {summary_of(comparison.problem)}. "
    best = comparison.best()
    if best is None:
        article = "an" if goal.solution[:1] in "aeiou" else "a"
        return text + f"None of them found {article} {goal.solution}."
    article = "an" if goal.name[:1] in "aeiou" else "a"
    text += f"The best, {best.solver}, reaches {article} {goal.name} of {best.objective:.10g}"
    text += f" {goal.unit}" * bool(goal.unit)
    bound = best.bound
    if bound is None:
        return f"{text}. Nothing is proven about how far from optimal that is."
    if best.objective == bound.value:
        return f"{text}, which is proven to be optimal by a verified bound ({bound.method})."
    worse = "above" if sense is Sense.MAX else "below"
    text += f"; no {goal.solution} can be {worse} {shown_bound(bound.value, sense)}"
    if best.ratio is not None:
        times = f"is at most {shown_ratio(best.ratio)} times"
        low = sense is Sense.MIN
        text += f", so it {times} the optimum" if low else f", so the optimum {times} it"
    return f"{text}. The bound ({bound.method}) is proven, and was verified in exact arithmetic."


# --- sections ------------------------------------------------------------------------------------


def _results(comparison: Comparison, settings: Markup) -> Topic:
    parts = [page.table(solver_table(comparison), best=comparison.best(), name="results")]
    parts += [page.paragraph(f"{row.solver}: {row.error}") for row in comparison.rows if row.error]
    if comparison.unfinished:
        names = ", ".join(comparison.unfinished)
        parts.append(page.paragraph(f"Interrupted, not finished: {names}."))
    low = comparison.sense is Sense.MIN
    sides = "objective over the verified bound" if low else "the verified bound over the objective"
    text = f"Certified ratio: {sides}, rounded up. No solution can be more than this factor better."
    parts += map(page.muted, [text, *solver_words(comparison)])
    parts.append(page.folded("What the columns mean", solver_words(comparison, explain=True)))
    still = page.picture(plots.ratio(comparison), "ratio", "Certified ratio of each solver")
    data = chart_data.ratios(comparison.rows)
    title = "How far from optimal at most"
    parts.append(page.chart("ratio", title, data, still) if data["names"] else still)
    return Topic("Results", [*parts, settings])


def _schedules(comparison: Comparison) -> list[Topic]:
    """The schedules of all solvers in one chart; without script, two of them."""
    best = plots.best_row(comparison)
    if best is None:
        return []
    still = []
    for k, row in enumerate(filter(None, (best, _other(comparison, best)))):
        what = f"Schedule of {row.solver}" + (", the best" if row is best else "")
        figure = plots.gantt(_schedule(row), comparison.problem_of(row), bound=row.bound)
        still += [page.paragraph(what), page.picture(figure, f"gantt{k}", what)]
    rows = [best, *(r for r in comparison.rows if plots.scheduled(r) and r is not best)]
    plans = {row.name: _schedule(row) for row in rows}
    titles = [plots.worth(_schedule(r), comparison.problem_of(r), r.bound) for r in rows]
    data = gantt_data.of_schedules(plans, comparison.problem, titles)
    return [Topic("Schedules", [page.chart("schedules", "Who runs where and when", data, *still)])]


def _schedule(row: Row) -> Any:
    return row.result and row.result.solution


def _other(comparison: Comparison, best: Row | None) -> Row | None:
    """A schedule to see beside the best: SJF-BCO's, else the worst."""
    rows = [
        row
        for row in comparison.rows
        if plots.scheduled(row)
        and row is not best
        and (best is None or row.relaxation == best.relaxation)
        and (best is None or row.objective != best.objective)
    ]
    named = [row for row in rows if row.solver == "sjf-bco"]
    sign = -1 if comparison.sense is Sense.MIN else 1
    rows.sort(key=lambda row: sign * (row.objective or 0.0))
    return next(iter(named + rows), None)


def _proofs(comparison: Comparison) -> list[Topic]:
    thing = goal_of(comparison.problem).solution
    named = [(one.name, one.bound) for one in comparison.relaxed]
    return [
        _proof(bound, name, thing, comparison.sense)
        for name, bound in [("", comparison.bound), *named]
        if bound is not None or name or not named
    ]


def _proof(bound: Bound | None, relaxation: str, thing: str, sense: Sense) -> Topic:
    title = f"Proof, {relaxation}" if relaxation else "Proof"
    if bound is None:
        return Topic(title, [page.paragraph("No bound was verified, so nothing is certified.")])
    what = f"{relaxation} {thing}".strip()
    said = Markup(SAID["proof"]).format(what, shown_bound(bound.value, sense), bound.method)
    proof = page.proof("The certificate", bound.certificate, MOST_CERTIFICATE)
    return Topic(title, [said, proof])


def _instance(problem: Any, notes: Sequence[str], rejected: Sequence[tuple[str, str]]) -> Topic:
    kind = f"{type(problem).__name__}, {problem.sense.value} {goal_of(problem).name}"
    parts = [page.facts({"problem": kind, **facts_of(problem)}), *map(page.paragraph, notes)]
    if rejected:
        lines = [f"{job}: {reason}" for job, reason in rejected]
        parts.append(page.folded(f"{counted(len(lines), 'rejected job')}, not scheduled", lines))
    return Topic("Instance", parts)


def _records(comparison: Comparison) -> list[Topic]:
    """Everything that is needed to run it again."""
    problem = comparison.problem
    parameters = problem.parameters() if hasattr(problem, "parameters") else {}
    versions: dict[str, str] = {"matplotlib": version("matplotlib")}
    runs = {}
    for row in comparison.rows:
        info = dict(row.result.info) if row.result is not None else {}
        versions |= info.pop("versions", {})
        runs[row.solver] = json.dumps(info, default=str, ensure_ascii=False) if info else "–"
    return [
        Topic("Parameters", [page.facts(parameters)]),
        Topic("Seeds and options of the solvers", [page.facts(runs)]),
        Topic("Versions", [page.facts(dict(sorted(versions.items())))]),
    ]


def _refuted(refuted: Sequence[Refuted[Any]]) -> list[Topic]:
    if not refuted:
        return []
    parts = [page.paragraph(SAID["refuted"])]
    for one in refuted:
        number = counted(len(one.violations), "violation")
        parts.append(page.folded(f"{one.solver}: {number}", one.violations))
    return [Topic("Refuted variants", parts)]
