"""The command line: solve, compare, replay, describe, reproduce, theorems, list, demo.

Bad input and wrong usage end with one line on stderr and exit code 2; a solver, target or claim
that fails, with 1. Ctrl-C keeps what is finished (130). Progress goes to stderr, and only where
that is a terminal.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table

from .. import __version__
from ..formulations.problem import Sense
from ..registry import (
    ALIASES,
    POLICIES,
    PROBLEMS,
    READERS,
    VARIANTS,
    ProblemEntry,
    lookup,
    plugins,
    solver,
    warm_up,
)
from ..screen import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    BadInput,
    ClusterFile,
    GpusPerNode,
    Interrupted,
    Json,
    Nodes,
    ReaderOption,
    Seed,
    check_output,
    cluster_of,
    count_of,
    new_table,
    one_line,
    only,
    open_console,
    positive,
    progress_line,
    reader_of,
    reading,
    say,
    shortened,
    show_table,
    shown,
    shown_ratio,
    whole,
)
from .replay import SCENARIOS, replay

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="GPU-cluster scheduling problems, algorithms, and proven bounds on how good they are.",
)
#: what typer raises for wrong usage; its module depends on typer's version
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the console script.

    Parameters
    ----------
    args : sequence of str, optional
        By default those of the process.

    Raises
    ------
    SystemExit
        Always.
    """
    logging.getLogger("gangsched").addHandler(logging.NullHandler())  # the lines below say it
    code, text = 0, ""
    try:
        code = app(args, prog_name="gangsched", standalone_mode=False) or 0
    except BadInput as error:
        code, text = EXIT_BAD_INPUT, f"error: {error}"
    except USAGE_ERROR as error:
        code, text = EXIT_BAD_INPUT, f"error: {cast(Any, error).format_message()}"
    except Interrupted as error:
        code, text = EXIT_INTERRUPTED, str(error)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    if code == EXIT_INTERRUPTED:  # what typer makes of a Ctrl-C
        text = text or "interrupted"
    if text:
        print(f"gangsched: {one_line(text)}", file=sys.stderr)  # noqa: T201
    raise SystemExit(code)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"gangsched {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


# --- where a problem comes from ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A problem and how it came about."""

    problem: Any
    stem: str
    title: str
    notes: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()
    bound: Any = None  #: the best that is known, where the library has one


def _load(name: str, problem: str | None) -> _Source:
    """An instance or problem file, or a named instance."""
    from ..instances import library

    path = Path(name)
    if path.is_file() or (path.exists() and name not in library.names()):
        return _from_file(name, problem)
    return _from_library(name, problem)


def _from_file(path: str, stem: str | None) -> _Source:
    from ..formulations.io import problem_from_dict
    from ..instances.io import check_header, instance_from_dict, read_json

    try:
        data = read_json(path)
    except ValueError as error:
        raise ValueError(f"{error} (a trace file needs compare --reader)") from None
    try:
        if check_header(data, "instance", "problem") == "problem":
            problem = problem_from_dict(data)
            known = _same_problem(path, str(data.get("problem")), stem)
        else:
            instance = instance_from_dict(data)
            known = _stem(stem)
            problem = PROBLEMS[known].make(instance)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return _Source(problem=problem, stem=known, title=_title(Path(path).name, problem))


def _from_library(name: str, stem: str | None) -> _Source:
    from ..formulations.io import problem_from_dict
    from ..instances import library
    from ..solvers import Bound

    if name not in library.names():
        raise ValueError(
            f"{name!r} is neither a file nor a named instance; `gangsched list` shows the names"
        )
    entry = library.entry(name)
    known = _same_problem(name, str(entry.problem["problem"]), stem)
    problem = problem_from_dict(entry.problem)
    bound = Bound(**entry.bound)
    best = f"best known: {entry.objective} ({entry.solver}), {_known(entry)}"
    return _Source(
        problem=problem,
        stem=known,
        title=_title(name, problem),
        notes=(entry.description, best),
        bound=None if bound.certificate is None else bound,
    )


def _known(entry: Any) -> str:
    """The library's bound in words; "claimed" where it has no certificate."""
    text = "optimal" if entry.optimal else f"bound {shown(entry.bound['value'])}"
    return text if entry.bound["certificate"] is not None else f"{text} (claimed)"


def _from_trace(path: str, stem: str, reader: str, **options: Any) -> _Source:
    entry = PROBLEMS[stem]
    if entry.convert is None:
        raise ValueError(f"problem {stem!r} takes no traces: give a file or a --setting")
    read = READERS[lookup("reader", READERS, reader)]
    with progress_line(f"reading {Path(path).name}"):
        trace = read(path)
    problem, made = entry.convert(trace, **options)
    return _Source(
        problem=problem,
        stem=stem,
        title=_title(Path(path).name, problem),
        notes=(str(trace.report), *made.notes),
        rejected=made.rejected,
    )


def _title(name: str, problem: Any) -> str:
    if not hasattr(problem, "instance"):
        return f"{name}: {problem.summary()}"
    cluster = problem.instance.cluster
    return f"{name}: {len(problem.jobs)} jobs on {len(cluster.nodes)} nodes, {cluster.gpus} GPUs"


def _stem(stem: str | None) -> str:
    if stem is None:
        raise ValueError(f"--problem is missing, one of {', '.join(PROBLEMS)}")
    return lookup("problem", PROBLEMS, stem)


def _same_problem(name: str, own: str, wanted: str | None) -> str:
    own = lookup("problem", PROBLEMS, own)
    if wanted is not None and lookup("problem", PROBLEMS, wanted) != own:
        raise ValueError(f"{name!r} is an instance of {own}, not of {wanted}")
    return own


def _select(
    source: str | None,
    problem: str | None,
    setting: str | None,
    seed: int,
    **options: Any,
) -> _Source:
    """The source that the options of `compare` mean; `options` by their name on the screen."""
    if (source is None) == (setting is None):
        raise ValueError("give either a file or named instance, or --setting")
    if setting is not None:
        only("--setting", options, ("nodes", "jobs", "utility"))
        stem = _stem(problem)
        settings = PROBLEMS[stem].settings
        key = lookup("setting", settings, setting)
        sizes = {"nodes": count_of(options["nodes"]), "jobs": options["jobs"]}
        law = _law(settings[key], f"--setting {key}", options["utility"])
        made = settings[key](seed=seed, **sizes, **law)
        return _Source(problem=made, stem=stem, title=_title(f"{key}, seed {seed}", made))
    assert source is not None
    if options["reader"] is None:
        only("an instance; a trace needs --reader", options, ())
        return _load(source, problem)
    stem = _stem(problem)
    how: dict[str, Any] = {"reader": options["reader"], "seed": seed}
    convert = PROBLEMS[stem].convert
    if convert is not None and "cluster" not in signature(convert).parameters:
        only(f"traces of {stem}", options, ("reader", "nodes", "first", "utility"))
        sizes = {"nodes": count_of(options["nodes"]), "jobs": options["first"]}
        law = _law(convert, f"traces of {stem}", options["utility"])
        return _from_trace(source, stem, **how, **sizes, **law)
    only(f"traces of {stem}", {"utility": options["utility"]}, ())
    room = {name: options[name] for name in ("nodes", "gpus-per-node", "cluster")}
    if room["cluster"] is not None:
        only("--cluster", room, ("cluster",))
    if options["jobs"] is not None:
        only("--jobs", {"first": options["first"]}, ())
    pick = "sample" if options["first"] is None else "first"
    count = options["jobs"] if options["first"] is None else options["first"]
    cluster = cluster_of(*room.values())
    return _from_trace(source, stem, **how, cluster=cluster, jobs=count, pick=pick)


def _law(function: Any, what: str, utility: str | None) -> dict[str, str]:
    """The option of the law of utilities, for what takes one."""
    if "utility" not in signature(function).parameters:
        only(what, {"utility": utility}, ())
    return {} if utility is None else {"utility": utility}


# --- running solvers -----------------------------------------------------------------------------


def _solvers(stem: str, names: str | None) -> dict[str, Any]:
    wanted = PROBLEMS[stem].compared if names is None else names.split(",")
    found: dict[str, Any] = {}
    for wish in wanted:
        if not wish.strip():
            raise ValueError(f"--solvers: {names!r} has an empty name")
        name, function = solver(stem, wish.strip())
        if name in found:
            raise ValueError(f"--solvers: {name!r} occurs twice")
        found[name] = function
    return found


def _run(
    source: _Source, solvers: Mapping[str, Any], seed: int = 0, time_limit: float | None = None
) -> Any:
    """Run the solvers one after the other; compiling does not count as run time."""
    from ..analysis.comparing.comparison import compare as run

    with progress_line("preparing") as show:

        def announced(text: str, function: Any) -> Callable[[Any], Any]:
            def call(problem: Any) -> Any:
                show(text)
                return function(problem, seed=seed, time_limit=time_limit)

            return call

        for name in solvers:
            show(f"preparing {name} (the first run on a machine compiles)")
            warm_up(source.stem, name)
        show("bound")
        extras = PROBLEMS[source.stem].extras
        calls = {
            name: announced(f"{name} ({i} of {len(solvers)})", function)
            for i, (name, function) in enumerate(solvers.items(), start=1)
        }
        return run(source.problem, calls, bound=source.bound, extras=extras, time_limit=time_limit)


def _thing(solution: Any) -> str:
    from ..instances.schedule import Allocation

    return "allocation" if isinstance(solution, Allocation) else "schedule"


def _bound_line(bound: Any, sense: Sense, relaxation: str = "", thing: str = "schedule") -> str:
    from ..analysis.show.columns import shown_bound

    kind = f"{relaxation} " if relaxation else ""
    if bound is None:
        return (
            f"no bound {f'of {kind}schedules ' * bool(kind)}is verified, so no ratio is certified"
        )
    return f"no {kind}{thing} beats {shown_bound(bound.value, sense)} ({bound.method}, verified)"


# --- commands ------------------------------------------------------------------------------------


Problem = Annotated[str | None, typer.Option(help="Problem, e.g. rar-ddls.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(callback=positive, help="Wall seconds after which each solver should stop."),
]


@app.command()
def solve(
    instance: Annotated[str, typer.Argument(help="Instance or problem file, or a named instance.")],
    problem: Problem = None,
    solver_name: Annotated[
        str | None,
        typer.Option("--solver", help="Solver, or module:object; else the problem's first."),
    ] = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    json: Json = None,
) -> None:
    """Solve an instance: objective, proven bound, certified ratio.

    The JSON has the schedule, and the certificate of the bound.
    """
    from ..solvers.io import save_result

    with reading():
        source = _load(instance, problem)
        name, function = solver(source.stem, solver_name or PROBLEMS[source.stem].compared[0])
        check_output(instance, json)
    comparison = _run(source, {name: function}, seed, time_limit)
    if comparison.interrupted:
        raise KeyboardInterrupt
    console = open_console()
    for refuted in comparison.refuted:
        say(console, f"{name} is refuted: {shortened('; '.join(refuted.violations))}")
        raise typer.Exit(EXIT_FAILED)
    row = comparison.rows[0]
    if row.error:
        raise BadInput(f"solver {name!r} failed: {shortened(row.error)}")
    say(console, source.title, "bold")
    for label, value in _summary(row, PROBLEMS[source.stem].measure):
        say(console, f"{label}: {value}")
    if json is not None:
        with reading():
            save_result(json, _verified(row))
        say(console, f"written: {json}")


def _summary(row: Any, measure: str) -> Iterator[tuple[str, str]]:
    """Yield what `solve` shows, line by line."""
    claim = row.result.bound
    yield "solver", f"{row.solver}, {row.runtime:.3f} s, {row.result.stop.value}"
    yield "status", row.standing
    yield measure, "none" if row.objective is None else shown(row.objective)
    yield (
        "bound",
        _bound_line(row.bound, row.result.sense, row.relaxation, _thing(row.result.solution)),
    )
    if claim is not None and claim.certificate is None:
        yield "claimed by the solver, not verified", f"{shown(claim.value)} ({claim.method})"
    if row.ratio is not None and row.ratio > 1:
        times = f"at most {shown_ratio(row.ratio)} times"
        low = row.result.sense is Sense.MIN
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


@app.command()
def compare(
    source: Annotated[
        str | None, typer.Argument(help="Instance, problem or trace file, or a named instance.")
    ] = None,
    problem: Problem = None,
    reader: Annotated[
        str | None, typer.Option(help=f"Reader of a trace file: {', '.join(READERS)}.")
    ] = None,
    setting: Annotated[
        str | None, typer.Option(help="Seeded setting instead of a file, e.g. paper-a.")
    ] = None,
    nodes: Nodes = None,
    gpus_per_node: GpusPerNode = None,
    cluster: ClusterFile = None,
    jobs: Annotated[
        int | None,
        typer.Option(callback=whole, help="How many jobs: a seeded sample of the trace."),
    ] = None,
    first: Annotated[
        int | None, typer.Option(callback=whole, help="How many jobs: the first of the trace.")
    ] = None,
    solvers: Annotated[
        str | None, typer.Option(help="Solvers or module:object, separated by commas.")
    ] = None,
    utility: Annotated[
        str | None, typer.Option(help="Law of the utilities of IRMP: linear or convex.")
    ] = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    json: Json = None,
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path(
        "gangsched-compare.html"
    ),
) -> None:
    """Compare solvers on one instance, each against a proven bound.

    Exit code 1 where a solver failed.
    """
    options = {
        "reader": reader, "nodes": nodes, "gpus-per-node": gpus_per_node, "cluster": cluster,
        "jobs": jobs, "first": first, "utility": utility,
    }  # fmt: skip
    with reading():
        check_output(source, json, report)
        loaded = _select(source, problem, setting, seed, **options)
        chosen = _solvers(loaded.stem, solvers)
    _compare(loaded, _run(loaded, chosen, seed, time_limit), report=report, json=json)


app.command()(replay)


@app.command()
def describe(
    trace: Annotated[str, typer.Argument(help="Trace file.")],
    reader: Annotated[str, typer.Option(help=f"Its reader: {', '.join(READERS)}.")],
    reader_option: ReaderOption = None,
    json: Annotated[Path | None, typer.Option(help="Write the numbers as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them into a .png or .svg file.")] = None,
) -> None:
    """Describe a trace: run times, GPUs, users over time.

    Table 1 and Figs. 1 to 4 of Ye et al. (2022), for any trace.
    """
    from ..analysis.show import describe as study

    with reading():
        check_output(trace, json, plot)
        if plot is not None and plot.suffix.lower() not in (".png", ".svg"):
            raise ValueError(f"picture {str(plot)!r}: the name must end in .png or .svg")
        read = reader_of(reader, reader_option)
        with progress_line(f"reading {Path(trace).name}") as show:
            loaded = read(trace)
            if not loaded.jobs:
                raise ValueError(f"{trace}: there are no jobs to describe: {loaded.report}")
            show("describing")
            found = study.describe(loaded)
            show("writing")
            _write_description(found, json, plot)
    console = open_console()
    users = f"{found.users} user{'s' * (found.users != 1)}"
    text = f"{found.all.jobs:,} jobs of {users} in {found.span / 86_400:,.1f} days"
    say(console, f"{Path(trace).name}: {text}", "bold")
    say(console, f"- {loaded.report}", "dim")
    console.print()
    say(console, "share of jobs and of GPU time by gang size, and run times")
    console.print()
    show_table(console, _described(found, study.LIMITS))
    console.print()
    show_table(console, _demand(found.usage))
    if found.users > len(found.usage.users):
        say(console, f"the {len(found.usage.users)} of {users} with most GPU time")
    console.print()
    say(console, "waits and use are not recorded in a trace: a replay gives them", "dim")
    if json is not None or plot is not None:
        say(console, f"written: {', '.join(str(path) for path in (json, plot) if path)}")


def _described(found: Any, limits: Mapping[str, int]) -> Table:
    """One row for all jobs and one for each class of gang sizes; times in seconds."""
    below = tuple(f"< {limit}" for limit in limits)
    right = ("jobs", "of jobs", "of GPU time", *below, "median", "99 %")
    table = new_table("GPUs", *right, right=right)
    for group in (found.all, *found.groups):
        if group.jobs:
            parts = group.jobs / found.all.jobs, group.gpu_seconds / found.all.gpu_seconds
            shares = (f"{share:.1%}" for share in (*parts, *group.below))
            times = (f"{group.run_time[level]:,.0f} s" for level in (50, 99))
            table.add_row(group.gpus, f"{group.jobs:,}", *shares, *times)
    return table


def _demand(usage: Any) -> Table:
    hours = "hour" if usage.bin == 3_600 else f"{usage.bin // 3_600} hours"
    heads = ("GPUs wanted\non average", f"GPUs wanted in\nthe busiest {hours}")
    table = new_table("user", *heads, right=heads)
    for user, gpus in zip(usage.users, usage.gpus, strict=True):
        table.add_row(user or "-", f"{gpus.mean():,.1f}", f"{gpus.max():,.1f}")
    return table


def _write_description(found: Any, json: Path | None, plot: Path | None) -> None:
    from ..instances.io import header, write_json

    if json is not None:
        write_json(json, {**header("description"), **found.to_dict()})
    if plot is not None:
        from ..analysis.show import plots
        from ..analysis.show.describe_plot import draw

        plots.save(draw(found), plot)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("out"),
) -> None:
    """Compare solvers on a named instance: the first thing to try.

    Writes demo.html, demo.json and demo.png.
    """
    report, json, png = (out / f"demo.{kind}" for kind in ("html", "json", "png"))
    with reading():
        out.mkdir(parents=True, exist_ok=True)
        check_output(None, json, report, png)
        loaded = _from_library("rar-b-0", None)
    _compare(loaded, _run(loaded, _solvers(loaded.stem, None)), report=report, json=json, png=png)


def _compare(
    source: _Source, comparison: Any, *, report: Path, json: Path | None, png: Path | None = None
) -> None:
    """Show and write what a comparison gave, finished or not."""
    if not comparison.rows and not comparison.refuted:
        raise KeyboardInterrupt
    console = open_console()
    try:
        _show(console, source, comparison)
    finally:  # also where the screen is a pipe that nobody reads to the end
        with reading(), progress_line("writing the report"):
            _write(source, comparison, report=report, json=json, png=png)
    say(console, "written: " + ", ".join(str(path) for path in (report, json, png) if path))
    if comparison.interrupted:
        raise Interrupted(f"interrupted, not finished: {', '.join(comparison.unfinished)}")
    if any(row.error for row in comparison.rows):
        raise typer.Exit(EXIT_FAILED)


def _show(console: Console, source: _Source, comparison: Any) -> None:
    say(console, source.title, "bold")
    left_out = [reason for _, reason in source.rejected]
    if len(left_out) > 5:
        left_out[5:] = [f"... and {len(left_out) - 5} more rejected jobs"]
    for note in (*source.notes, *left_out):
        say(console, f"- {note}", "dim")
    if comparison.bound is not None or not comparison.relaxed:
        thing = "schedule" if hasattr(source.problem, "instance") else "allocation"
        say(console, _bound_line(comparison.bound, comparison.sense, thing=thing))
    for relaxed in comparison.relaxed:
        say(console, _bound_line(relaxed.bound, comparison.sense, relaxed.name))
    console.print()
    show_table(console, _table(comparison, PROBLEMS[source.stem]))
    console.print()
    for text in comparison.legend:
        say(console, text, "dim")
    for row in comparison.rows:
        if row.error:
            say(console, f"{row.solver}: {shortened(row.error)}")
    for refuted in comparison.refuted:
        say(console, f"{refuted.solver} is refuted: {shortened('; '.join(refuted.violations))}")


def _table(comparison: Any, entry: ProblemEntry) -> Table:
    is_time = comparison.sense is Sense.MIN  # a reward has no unit
    measure = f"{entry.measure}\n({entry.unit})" if is_time else entry.measure.replace(" ", "\n")
    names = comparison.measures
    more = (name.replace(" ", "\n") for name in names)
    completion = [f"mean\ncompletion\n({entry.unit})"] if entry.unit else []
    right = (measure, "certified\nratio", *more, *completion, "runtime")
    table = new_table("solver", *right, "status", right=right)
    for row in comparison.rows:
        table.add_row(
            row.solver,
            shown(row.objective),
            shown_ratio(row.ratio),
            *(shown(row.measures.get(name), ".6g") for name in names),
            *(shown(row.mean_completion, ".1f") for _ in completion),
            f"{row.runtime:.3f} s",
            row.standing,
        )
    return table


def _write(
    source: _Source, comparison: Any, *, report: Path, json: Path | None, png: Path | None
) -> None:
    from ..analysis.show.report import write_report
    from ..instances.io import header, write_json

    if json is not None:
        made = {"title": source.title, "notes": source.notes, "rejected": source.rejected}
        write_json(json, {**header("comparison"), **comparison.to_dict(), "source": made})
    write_report(
        report,
        comparison,
        source.problem,
        title=source.title,
        notes=source.notes,
        rejected=source.rejected,
    )
    if png is not None:
        from ..analysis.show import plots

        plots.save(plots.overview(comparison, source.problem), png, dpi=150)


@app.command()
def reproduce(
    target: Annotated[
        str | None, typer.Argument(help="What to reproduce, e.g. rar_ddls:fig4; without: a list.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for data and picture.")] = Path("out"),
    trace: Annotated[
        str | None,
        typer.Option(help="Trace file, for figures that are computed on a trace too: ltgf:fig9."),
    ] = None,
    reader: Annotated[str | None, typer.Option(help=f"Its reader: {', '.join(READERS)}.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at once; by default one for each core.")
    ] = None,
) -> None:
    """Reproduce a paper's figure as data and picture.

    Writes JSON, CSV and PNG. After an interruption, go on with the same command.
    """
    from ..analysis.papers.reproduce import TARGETS, takes_trace
    from ..analysis.papers.reproduce import reproduce as run

    console = open_console()
    if target is None:
        for name in TARGETS:
            say(console, name)
        return
    with reading():
        key = lookup("target", TARGETS, target)
        if (trace is None) != (reader is None):
            raise ValueError("a trace needs --trace and --reader")
        if trace is not None and not takes_trace(key):
            raise ValueError(f"target {key!r}: takes no trace")
        rows = None
        if trace is not None and reader is not None:
            read = READERS[lookup("reader", READERS, reader)]
            with progress_line(f"reading {Path(trace).name}"):
                rows = read(trace)
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise ValueError(f"{out}: is not writable")
        with progress_line(key) as show:
            paths = run(key, out, progress=show, trace=rows, processes=jobs)
    for path in paths:
        say(console, str(path))


@app.command()
def theorems(
    claim: Annotated[str | None, typer.Argument(help="One claim, in full; without: all.")] = None,
) -> None:
    """Run the papers' claims: verdict and evidence.

    Exit code 1 where a run disagrees with a verdict.
    """
    from ..analysis.papers.theorems import CLAIMS, run

    with reading():
        chosen = list(CLAIMS) if claim is None else [lookup("claim", CLAIMS, claim)]
    rows, console, interrupted = [], open_console(), False
    with progress_line("preparing") as show:
        try:
            for i, name in enumerate(chosen, start=1):
                show(f"{name} ({i} of {len(chosen)})")
                rows.append(run(CLAIMS[name]))
        except KeyboardInterrupt:
            interrupted = True
    if claim is None:
        console.print(_verdicts(rows))
        console.print()
        say(
            console,
            "proved: by the proof in docs/theorems.md; random cases try to break it, with slack "
            "where the two sides differ. refuted: the counterexample breaks it.",
            "dim",
        )
        say(console, "One of them in full: gangsched theorems CLAIM")
    else:
        for row in rows:
            _full(console, row, CLAIMS[row.claim].assumptions)
    if interrupted:
        raise Interrupted(f"interrupted, not finished: {', '.join(chosen[len(rows) :])}")
    if not all(row.confirmed for row in rows):
        raise typer.Exit(EXIT_FAILED)


def _verdicts(rows: Sequence[Any]) -> Table:
    from ..analysis.papers.theorems import PAPERS

    first = {claims[0].id: paper for paper, claims in PAPERS.items()}
    table = new_table("claim", "verdict", "seen")
    for row in rows:
        if row.claim in first:
            table.add_section()
            table.add_row(first[row.claim], style="bold")
        table.add_row(row.claim, str(row.verdict), _seen(row))
    return table


def _seen(row: Any) -> str:
    if not row.confirmed:
        return "THE RUN DISAGREES WITH THE VERDICT"
    for name, sides in row.counterexamples.items():
        return f"counterexample {name}: {sides}"
    return f"holds in {row.tried} random cases, with slack in {row.strict}"


def _full(console: Console, row: Any, assumptions: str) -> None:
    say(console, f"{row.claim} ({row.source})", "bold")
    say(console, row.statement)
    if assumptions:
        say(console, f"assumptions: {assumptions}")
    say(console, f"verdict: {row.verdict}{'' if row.confirmed else ', AGAINST THIS RUN'}")
    say(console, f"evidence: {row.evidence}")
    say(console, f"random cases: {row.tried}, failed in {row.failed}, with slack in {row.strict}")
    if row.worst is not None:
        say(console, f"nearest to breaking it: {row.worst}")


@app.command("list")
def list_names() -> None:
    """List problems, solvers, readers, policies, named instances."""
    from ..instances import library

    console = open_console()
    for stem, entry in PROBLEMS.items():
        say(console, stem, "bold")
        say(console, f"solvers: {', '.join((*entry.solvers, *plugins()))}")
        say(console, f"settings: {', '.join(entry.settings)}")
    console.print()
    say(console, "readers", "bold")
    say(console, ", ".join(READERS))
    console.print()
    say(console, "scenarios: synthetic jobs with deadlines (Gao et al. 2024)", "bold")
    for names, what in SCENARIOS.items():
        say(console, f"{names}: {what}")
    say(console, "instead of a trace: gangsched replay T360 --reader scenario", "dim")
    console.print()
    say(console, "policies", "bold")
    say(console, ", ".join((*POLICIES, *plugins("gangsched.policies"))))
    for name, policy in ALIASES.items():
        say(console, f"{name}: another name of {policy}")
    console.print()
    say(console, "variants: how they differ from the policy", "bold")
    for name, what in VARIANTS.items():
        say(console, f"{name}: {what}")
    console.print()
    table = new_table("instance", "best", "known", "what", right=("best",))
    for found in map(library.entry, library.names()):
        table.add_row(found.name, shown(found.objective), _known(found), found.description)
    show_table(console, table)
