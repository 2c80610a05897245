"""The commands `solve`, `compare` and `demo`: solvers on one problem, against a proven bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import screen
from ..analysis.show.columns import ratio, shown_bound
from ..formulations.problem import Sense, goal_of
from ..instances.display import shortened
from ..registry import PROBLEMS, READERS, solver, warm_up
from .source import Source, from_library, listed, select_problem

Problem = Annotated[str | None, screen.option("problem")]
TimeLimit = Annotated[float | None, screen.option("time-limit", screen.positive)]
Named = Annotated[str, screen.argument("instance")]
LOG_OPTIONS = "reader", "jobs", "utility", "columns", "without", "without-users"


def solve(
    instance: Named,
    problem: Problem = None,
    nodes: screen.Nodes = None,
    gpus_per_node: screen.GpusPerNode = None,
    cluster: screen.ClusterFile = None,
    first: Annotated[int | None, screen.option("compare.first", screen.whole)] = None,
    solver_name: Annotated[str | None, screen.option("solve.solver")] = None,
    seed: screen.Seed = 0,
    time_limit: TimeLimit = None,
    backend: Annotated[str | None, screen.option("solve.backend")] = None,
    option: Annotated[list[str] | None, screen.option("solve.option")] = None,
    json: screen.Json = None,
    report: screen.Report = None,
) -> None:
    """Solve an instance: objective, proven bound, certified ratio.

    The JSON has the schedule, and the certificate of the bound.
    """
    from ..solvers.io import result_to_dict

    with screen.reading():
        options: dict[str, Any] = dict.fromkeys(LOG_OPTIONS)
        options |= {"nodes": nodes, "gpus-per-node": gpus_per_node, "cluster": cluster}
        source = select_problem(instance, problem, None, seed, **options | {"first": first})
        name, function = solver(source.stem, solver_name or PROBLEMS[source.stem].compared[0])
        screen.check_output(instance, json, report)
        if backend is not None or option:
            function = _with_backend(name, function, backend, option or [])
    comparison = _run(source, {name: function}, seed, time_limit)
    if comparison.interrupted:
        raise KeyboardInterrupt
    console = screen.open_console(json)
    for refuted in comparison.refuted:
        screen.say(console, f"{name} is refuted: {shortened('; '.join(refuted.violations))}")
        raise typer.Exit(screen.EXIT_FAILED)
    row = comparison.rows[0]
    if row.error:
        raise screen.BadInput(f"solver {name!r} failed: {shortened(row.error)}")
    screen.say(console, source.title, "bold")
    for label, value in _summary(row, comparison.problem):
        doubt = " (in doubt)" * (label in ("bound", "certified ratio") and bool(source.doubts))
        screen.say(console, f"{label}: {value}{doubt}")
    with screen.reading():
        if json is not None:
            screen.write_json(json, result_to_dict(_verified(row)))
        _write(source, comparison, report=report)
    screen.say_written(console, json, report)


def _with_backend(name: str, function: Any, backend: str | None, options: list[str]) -> Any:
    """The exact solver with another solver of models."""
    from ..solvers.backends import check, named
    from ..solvers.exact import ExactParams

    if getattr(function, "params", None) is not ExactParams:
        raise ValueError(f"--backend and --option go with --solver exact, not {name!r}")
    given = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"--option: {text!r} is not of the form name=value")
        given[key] = _parsed(value)
    chosen = "auto" if backend is None else backend
    check(chosen)
    named(chosen, given)
    return partial(function, params=ExactParams(solver=chosen, options=given))


def _parsed(text: str) -> Any:
    """A number or a truth value as JSON writes them, and all else as it stands."""
    try:
        found = loads(text)
    except JSONDecodeError:
        return text
    return found if isinstance(found, bool | int | float) else text


def _summary(row: Any, problem: Any) -> Iterator[tuple[str, str]]:
    """Yield what `solve` shows, line by line."""
    claim, goal, sense = row.result.bound, goal_of(problem), problem.sense
    yield "solver", f"{row.solver}, {row.runtime:.3f} s, {row.result.stop.value}"
    yield "status", row.standing
    yield goal.name, "none" if row.objective is None else screen.shown(row.objective)
    yield "bound", _bound_line(row.bound, sense, f"{row.relaxation} {goal.solution}".strip())
    if claim is not None and claim.certificate is None:
        yield "claimed by the solver, not verified", f"{screen.shown(claim.value)} ({claim.method})"
    if row.ratio is not None and row.ratio > 1:
        times, low = f"at most {ratio(row.ratio)} times", sense is Sense.MIN
        yield "certified ratio", f"{times} the optimum" if low else f"the optimum is {times} it"


def _verified(row: Any) -> Any:
    """The result with the verified bound, unless the solver claims a better one."""
    from ..solvers.result import Status

    result, bound = row.result, row.bound
    if bound is None or result.objective is None:
        return result
    gap = abs(result.objective - bound.value)
    if result.bound is not None and gap > abs(result.objective - result.bound.value):
        return result
    return replace(result, bound=bound, status=result.status if gap else Status.OPTIMAL)


def compare(
    source: Annotated[str | None, screen.argument("compare.source")] = None,
    problem: Problem = None,
    reader: Annotated[
        str | None, screen.option("compare.reader", readers=", ".join(READERS))
    ] = None,
    columns: screen.Columns = None,
    without: screen.Without = None,
    without_users: screen.WithoutUsers = None,
    setting: Annotated[str | None, screen.option("compare.setting")] = None,
    nodes: screen.Nodes = None,
    gpus_per_node: screen.GpusPerNode = None,
    cluster: screen.ClusterFile = None,
    jobs: Annotated[int | None, screen.option("compare.jobs", screen.whole)] = None,
    first: Annotated[int | None, screen.option("compare.first", screen.whole)] = None,
    solvers: Annotated[str | None, screen.option("compare.solvers")] = None,
    utility: Annotated[str | None, screen.option("compare.utility")] = None,
    seed: screen.Seed = 0,
    time_limit: TimeLimit = None,
    json: screen.Json = None,
    report: Annotated[Path, screen.option("report")] = Path("gangsched-compare.html"),
    no_report: screen.NoReport = False,
    pareto: Annotated[Path | None, screen.option("compare.pareto")] = None,
    explain: screen.Explain = False,
) -> None:
    """Compare solvers on one instance, each against a proven bound.

    Exit code 1 where a solver failed.
    """
    options = {
        "reader": reader, "nodes": nodes, "gpus-per-node": gpus_per_node, "cluster": cluster,
        "jobs": jobs, "first": first, "utility": utility, "columns": columns,
        "without": without or None, "without-users": without_users,
    }  # fmt: skip
    with screen.reading():
        page = None if no_report else report
        screen.check_output(source, json, page, pareto)
        loaded = select_problem(source, problem, setting, seed, **options)
        if pareto is not None:
            _check_pareto(loaded.stem, pareto)
            solvers = solvers or _all_solvers(loaded.stem, time_limit)
        chosen = _solvers(loaded.stem, solvers)
    found = _run(loaded, chosen, seed, time_limit)
    _compare(loaded, found, report=page, json=json, pareto=pareto, explain=explain)


def _check_pareto(stem: str, picture: Path) -> None:
    """Refuse --pareto for what has no such picture, before anything runs."""
    if stem != "rar-ddls":
        raise screen.BadInput(f"--pareto is for rar-ddls, not {stem}")
    if picture.suffix.lower() not in (".png", ".svg"):
        raise screen.BadInput(f"--pareto {str(picture)!r}: the name must end in .png or .svg")


def _all_solvers(stem: str, time_limit: float | None) -> str:
    return ",".join(n for n in PROBLEMS[stem].solvers if n != "exact" or time_limit is not None)


def demo(out: Annotated[Path, screen.option("demo.out")] = Path("out")) -> None:
    """Compare solvers on a named instance: the first thing to try.

    Writes demo.html, demo.json and demo.png.
    """
    report, json, png = (out / f"demo.{kind}" for kind in ("html", "json", "png"))
    with screen.reading():
        out.mkdir(parents=True, exist_ok=True)
        screen.check_output(None, json, report, png)
        loaded = from_library("rar-b-0", None)
    _compare(loaded, _run(loaded, _solvers(loaded.stem, None)), report=report, json=json, png=png)


def _compare(
    source: Source,
    comparison: Any,
    *,
    report: Path | None,
    json: Path | None,
    png: Path | None = None,
    pareto: Path | None = None,
    explain: bool = False,
) -> None:
    """Show and write what a comparison gave, finished or not."""
    if not comparison.rows and not comparison.refuted:
        raise KeyboardInterrupt
    console = screen.open_console(json)
    try:
        _show(console, source, comparison, explain)
    finally:  # also where the screen is a pipe that nobody reads to the end
        with screen.reading(), screen.progress_line("writing the report"):
            _write(source, comparison, report=report, json=json, png=png, pareto=pareto)
    screen.say_written(console, report, json, png, pareto)
    if comparison.interrupted:
        raise screen.Interrupted(f"interrupted, not finished: {', '.join(comparison.unfinished)}")
    if any(row.error for row in comparison.rows):
        raise typer.Exit(screen.EXIT_FAILED)


def _solvers(stem: str, names: str | None) -> dict[str, Any]:
    wanted = ",".join(PROBLEMS[stem].compared) if names is None else names
    return screen.each_of("--solvers", wanted, lambda name: solver(stem, name))


def _run(
    source: Source, solvers: Mapping[str, Any], seed: int = 0, time_limit: float | None = None
) -> Any:
    """Run the solvers one after the other; compiling does not count as run time."""
    from ..analysis.comparing.comparison import compare as run

    how: dict[str, Any] = {"seed": seed, "time_limit": time_limit}
    places = {name: f" ({i} of {len(solvers)})" for i, name in enumerate(solvers, start=1)}
    with screen.progress_line("preparing") as show, screen.announced():
        for name in solvers:
            show(f"preparing {name}")
            if time_limit is not None:  # which compiling would use up
                warm_up(source.stem, name)
        return run(
            source.subject,
            {name: partial(function, **how) for name, function in solvers.items()},
            bound=source.bound,
            extras=PROBLEMS[source.stem].extras,
            time_limit=time_limit,
            on_start=lambda name: show(f"{name}{places.get(name, '')}"),
        )


def _bound_line(bound: Any, sense: Sense, thing: str) -> str:
    if bound is None:
        where = "" if thing in ("schedule", "allocation") else f" of {thing}s"
        return f"no bound{where} is verified, so no ratio is certified"
    return f"no {thing} beats {shown_bound(bound.value, sense)} ({bound.method}, verified)"


def _show(console: Console, source: Source, comparison: Any, explain: bool) -> None:
    from ..analysis.show.columns import doubted
    from ..analysis.show.solver_tables import solver_conditions, solver_table, solver_words

    screen.say(console, source.title, "bold")
    for note in (*source.notes, *listed([reason for _, reason in source.rejected])):
        screen.say(console, f"- {note}", "dim")
    thing, sense = goal_of(comparison.problem).solution, comparison.sense
    if comparison.bound is not None or not comparison.relaxed:
        doubt = " (in doubt)" * bool(source.doubts)
        screen.say(console, f"{_bound_line(comparison.bound, sense, thing)}{doubt}")
    for relaxed in comparison.relaxed:
        screen.say(console, _bound_line(relaxed.bound, sense, f"{relaxed.name} {thing}"))
    console.print()
    table = solver_table(comparison)
    without = tuple(column for column in table.columns if column.key != "bound")
    if source.doubts:
        without = tuple(map(doubted, without))
    screen.show_table(console, screen.rich_table(replace(table, columns=without)))
    console.print()
    left = len(source.rejected) + source.left_out
    settings = solver_conditions(comparison, drawn=source.drawn, rejected=left)
    for text in (*solver_words(comparison, explain), str(settings)):
        screen.say(console, text, "dim")
    for row in comparison.rows:
        if row.error:
            screen.say(console, f"{row.solver}: {shortened(row.error)}")
    for refuted in comparison.refuted:
        screen.say(
            console, f"{refuted.solver} is refuted: {shortened('; '.join(refuted.violations))}"
        )


def _write(
    source: Source,
    comparison: Any,
    *,
    report: Path | None,
    json: Path | None = None,
    png: Path | None = None,
    pareto: Path | None = None,
) -> None:
    if json is not None:
        source.save(json, "comparison", comparison)
    if report is None and png is None and pareto is None:
        return
    from ..analysis.show import plots  # which loads matplotlib
    from ..analysis.show.report import write_report

    if report is not None:
        write_report(report, comparison, **source.about)
    if png is not None:
        plots.save(plots.overview(comparison), png)
    if pareto is not None:
        from ..analysis.comparing.pareto import pareto_front
        from ..analysis.show.pareto_plot import pareto_plot

        plots.save(pareto_plot(pareto_front(comparison)), pareto)
