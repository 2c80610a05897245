"""The command line: solve, compare, reproduce, theorems, list, demo.

Bad input ends with one line on stderr and exit code 2; Ctrl-C keeps what is finished (exit code
130). Progress goes to stderr, and only where that is a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .registry import PROBLEMS, READERS, lookup, solver

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="GPU-cluster scheduling problems, algorithms, and proven bounds on how good they are.",
)
EXIT_BAD_INPUT, EXIT_INTERRUPTED = 2, 130


class BadInput(Exception):
    """Input that cannot be used; its text is shown as one line."""


@contextmanager
def _input() -> Iterator[None]:
    """Turn what loaders and constructors say of bad input into :class:`BadInput`."""
    try:
        yield
    except OSError as error:
        place = error.filename or "file"
        raise BadInput(f"{place}: {error.strerror or error}") from error
    except KeyError as error:
        raise BadInput(str(error.args[0])) from error
    except (ValueError, TypeError) as error:
        raise BadInput(str(error)) from error


def main() -> None:
    """Run the command line; the console script."""
    try:
        app()
    except BadInput as error:
        print(f"gangsched: error: {error}", file=sys.stderr)  # noqa: T201
        raise SystemExit(EXIT_BAD_INPUT) from None
    except KeyboardInterrupt:
        print("gangsched: interrupted", file=sys.stderr)  # noqa: T201
        raise SystemExit(EXIT_INTERRUPTED) from None


def _console() -> Console:
    """Standard output; wide enough for the tables where it is piped."""
    return Console() if sys.stdout.isatty() else Console(width=120)


@contextmanager
def _progress(total: int | None, what: str) -> Iterator[Any]:
    """Progress bar on stderr that vanishes at the end; nothing where stderr is piped."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda text: bar.update(task, advance=1, description=str(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A problem and how it came about."""

    problem: Any
    stem: str
    title: str
    notes: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str], ...] = ()


def _cluster(nodes: int | None, gpus_per_node: int | None, file: Path | None) -> Any:
    from .instances import Cluster, Instance
    from .instances.io import load

    if file is not None:
        loaded = load(file)
        if not isinstance(loaded, Instance):
            raise ValueError(f"{file}: no instance file, so it has no cluster")
        return loaded.cluster
    if nodes is None or gpus_per_node is None:
        raise ValueError("a trace needs a cluster: give --nodes and --gpus-per-node, or --cluster")
    for name, value in (("nodes", nodes), ("gpus-per-node", gpus_per_node)):
        if value < 1:
            raise ValueError(f"--{name}: {value} is below 1")
    return Cluster.uniform(nodes=nodes, gpus_per_node=gpus_per_node)


def _from_trace(
    path: str, stem: str, reader: str, cluster: Any, jobs: int | None, pick: str, seed: int
) -> _Source:
    read = READERS[lookup("reader", READERS, reader)]
    with _progress(None, f"reading {Path(path).name}"):
        trace = read(path)
    entry = PROBLEMS[stem]
    made = entry.convert(trace, cluster, jobs=jobs, pick=pick, seed=seed)
    return _Source(
        problem=entry.make(made.instance),
        stem=stem,
        title=f"{Path(path).name}, {len(made.instance.jobs)} jobs on {_shape(cluster)}",
        notes=(str(trace.report), *made.notes),
        rejected=made.rejected,
    )


def _shape(cluster: Any) -> str:
    return f"{len(cluster.nodes)} nodes with {cluster.gpus} GPUs"


def _from_file(path: str, stem: str | None) -> _Source:
    from .formulations.io import problem_from_dict
    from .instances.io import instance_from_dict, read_json

    data = read_json(path)
    try:
        if isinstance(data, dict) and data.get("kind") == "problem":
            problem = problem_from_dict(data)
            stem = lookup("problem", PROBLEMS, str(data.get("problem")))
        else:
            stem = _stem(stem)
            problem = PROBLEMS[stem].make(instance_from_dict(data))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return _Source(problem=problem, stem=stem, title=_title(Path(path).name, problem))


def _title(name: str, problem: Any) -> str:
    return f"{name}, {len(problem.jobs)} jobs on {_shape(problem.instance.cluster)}"


def _stem(stem: str | None) -> str:
    if stem is None:
        raise ValueError(f"--problem is missing, one of {', '.join(PROBLEMS)}")
    return lookup("problem", PROBLEMS, stem)


def _from_library(name: str, stem: str | None) -> _Source:
    from .formulations.io import problem_from_dict
    from .instances import library

    if name not in library.names():
        raise ValueError(
            f"{name!r} is neither a file nor a named instance; `gangsched list` shows the names"
        )
    entry = library.entry(name)
    known = lookup("problem", PROBLEMS, str(entry.problem["problem"]))
    if stem is not None and lookup("problem", PROBLEMS, stem) != known:
        raise ValueError(f"{name!r} is an instance of {known}, not of {stem}")
    problem = problem_from_dict(entry.problem)
    notes = (
        entry.description,
        f"best known {entry.objective} ({entry.solver}), proven bound {entry.bound['value']}",
    )
    return _Source(problem=problem, stem=known, title=_title(name, problem), notes=notes)


# Options that several commands share.
Problem = Annotated[str | None, typer.Option(help="Problem, e.g. rar-ddls.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")]
TimeLimit = Annotated[
    float | None, typer.Option(min=0, help="Wall seconds after which a solver should stop.")
]
Json = Annotated[Path | None, typer.Option(help="Write the results as JSON.")]


@app.command()
def solve(
    instance: Annotated[str, typer.Argument(help="Instance or problem file, or a named instance.")],
    problem: Problem = None,
    solver_name: Annotated[str, typer.Option("--solver", help="Solver.")] = "sjf-bco",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    json: Json = None,
) -> None:
    """Solve one instance and show objective, proven bound and gap."""
    from .analysis.bounds import best_bound, verify_bound
    from .analysis.ratio import ratio
    from .solvers.io import result_to_dict

    with _input():
        source = _load(instance, problem)
        name, function = solver(source.stem, solver_name)
        _check_parent(json)
    with _progress(None, f"{name} is running"):
        result = function(source.problem, seed=seed, time_limit=time_limit)
    bound = best_bound(source.problem)
    verify_bound(source.problem, bound)
    console = _console()
    console.print(source.title, highlight=False)
    console.print(str(result), highlight=False)
    certified = ratio(result, bound)
    console.print(
        f"certified {bound.value} ({bound.method}, verified)"
        + ("" if certified is None else f": at most {certified:.4f} times the optimum"),
        highlight=False,
    )
    if json is not None:
        from .instances.io import write_json

        write_json(json, result_to_dict(result))


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
    nodes: Annotated[int | None, typer.Option(help="Nodes of the cluster.")] = None,
    gpus_per_node: Annotated[int | None, typer.Option(help="GPUs of each node.")] = None,
    cluster: Annotated[
        Path | None, typer.Option(help="Instance file whose cluster is used.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Jobs: a seeded sample of the trace.")] = None,
    first: Annotated[int | None, typer.Option(help="Jobs: the first of the trace.")] = None,
    solvers: Annotated[str | None, typer.Option(help="Solvers, separated by commas.")] = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    json: Json = None,
    report: Annotated[
        Path | None, typer.Option(help="HTML report to write.  [default: gangsched-compare.html]")
    ] = None,
) -> None:
    """Compare solvers on one instance, each against a proven bound."""
    report = report or Path("gangsched-compare.html")
    with _input():
        loaded = _load_any(
            source, problem, reader, setting, nodes, gpus_per_node, cluster, jobs, first, seed
        )
        chosen = _solvers(loaded.stem, solvers, seed, time_limit)
        _check_parent(json)
        _check_parent(report)
    _compare(loaded, chosen, report=report, json=json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the picture.")] = Path("out"),
) -> None:
    """Compare solvers on a named instance; writes demo.html and demo.png."""
    with _input():
        out.mkdir(parents=True, exist_ok=True)
        loaded = _from_library("rar-b-0", None)
        chosen = _solvers(loaded.stem, None, 0, None)
    _compare(loaded, chosen, report=out / "demo.html", json=out / "demo.json", png=out / "demo.png")


def _load(name: str, problem: str | None) -> _Source:
    return _from_file(name, problem) if Path(name).is_file() else _from_library(name, problem)


def _load_any(
    source: str | None,
    problem: str | None,
    reader: str | None,
    setting: str | None,
    nodes: int | None,
    gpus_per_node: int | None,
    cluster: Path | None,
    jobs: int | None,
    first: int | None,
    seed: int,
) -> _Source:
    for name, value in (("jobs", jobs), ("first", first), ("nodes", nodes)):
        if value is not None and value < 1:
            raise ValueError(f"--{name}: {value} is below 1")
    if jobs is not None and first is not None:
        raise ValueError("--jobs and --first exclude each other")
    if (source is None) == (setting is None):
        raise ValueError("give either a file or named instance, or --setting")
    if setting is not None:
        stem = _stem(problem)
        settings = PROBLEMS[stem].settings
        key = lookup("setting", settings, setting)
        made = settings[key](jobs=jobs, nodes=nodes, seed=seed)
        return _Source(problem=made, stem=stem, title=_title(f"{key}, seed {seed}", made))
    assert source is not None
    if reader is None:
        return _load(source, problem)
    stem = _stem(problem)
    room = _cluster(nodes, gpus_per_node, cluster)
    pick = "first" if first is not None else "sample"
    return _from_trace(source, stem, reader, room, jobs or first, pick, seed)


def _solvers(stem: str, names: str | None, seed: int, time_limit: float | None) -> dict[str, Any]:
    """Name to a function of the problem alone."""
    wanted = PROBLEMS[stem].compared if names is None else names.split(",")
    found = dict(solver(stem, name.strip()) for name in wanted)
    return {
        name: lambda problem, f=function: f(problem, seed=seed, time_limit=time_limit)
        for name, function in found.items()
    }


def _check_parent(path: Path | None) -> None:
    """Refuse before the work, not after it, what could not be written."""
    if path is not None and not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: folder {path.parent} does not exist")
    if path is not None and path.is_dir():
        raise ValueError(f"{path}: is a folder")


def _compare(
    source: _Source,
    solvers: dict[str, Any],
    *,
    report: Path,
    json: Path | None,
    png: Path | None = None,
) -> None:
    from .analysis.ratio import compare as run

    with _progress(len(solvers), "comparing") as step:
        comparison = run(source.problem, solvers, on_result=lambda row: step(f"{row.solver} done"))
    console = _console()
    console.print(source.title, style="bold", highlight=False)
    for note in (*source.notes, *(reason for _, reason in source.rejected[:5])):
        console.print(f"  {note}", style="dim", highlight=False)
    if len(source.rejected) > 5:
        console.print(f"  ... and {len(source.rejected) - 5} more rejected jobs", style="dim")
    console.print(_table(comparison))
    _write(source, comparison, report=report, json=json, png=png, console=console)
    if comparison.interrupted:
        raise KeyboardInterrupt


def _table(comparison: Any) -> Table:
    bound = comparison.bound
    title = "no bound" if bound is None else f"no schedule beats {bound.value:g} ({bound.method})"
    table = Table(title=title, title_justify="left", title_style="")
    table.add_column("solver")
    for name in ("makespan", "certified ratio", "mean completion", "runtime"):
        table.add_column(name, justify="right")
    table.add_column("status")
    for row in comparison.rows:
        table.add_row(
            row.solver,
            _shown(row.objective, "g"),
            _shown(row.ratio, ".4f"),
            _shown(row.mean_completion, ".1f"),
            _shown(row.runtime, ".3f", " s"),
            str(row.status),
        )
    return table


def _shown(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def _write(
    source: _Source,
    comparison: Any,
    *,
    report: Path,
    json: Path | None,
    png: Path | None,
    console: Console,
) -> None:
    from .analysis.report import write_report
    from .instances.io import write_json

    if json is not None:
        made = {"title": source.title, "notes": source.notes, "rejected": source.rejected}
        write_json(json, {**comparison.to_dict(), "source": made})
    write_report(
        report,
        comparison,
        source.problem,
        title=source.title,
        notes=source.notes,
        rejected=source.rejected,
    )
    if png is not None:
        from .analysis import plots

        plots.overview(comparison, source.problem).savefig(png, dpi=150)
    written = [str(path) for path in (report, json, png) if path is not None]
    console.print(f"written: {', '.join(written)}", highlight=False)


@app.command()
def reproduce(
    target: Annotated[
        str | None, typer.Argument(help="What to reproduce, e.g. rar_ddls:fig4.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for data and picture.")] = Path("out"),
) -> None:
    """Reproduce a paper's table or figure as data (JSON, CSV) and picture."""
    from .analysis.reproduce import TARGETS
    from .analysis.reproduce import reproduce as run

    console = _console()
    if target is None:
        for name in TARGETS:
            console.print(name, highlight=False)
        return
    with _input():
        stem, _, figure = target.partition(":")
        key = f"{stem.replace('-', '_')}:{figure}"
        if key not in TARGETS:
            raise ValueError(f"target {target!r} is not one of {', '.join(TARGETS)}")
        out.mkdir(parents=True, exist_ok=True)
    with _progress(None, key) as step:
        paths = run(key, out, progress=step)
    for path in paths:
        console.print(str(path), highlight=False)


@app.command()
def theorems() -> None:
    """Run the papers' claims: verdict, instances tried, worst value seen."""
    from .analysis import theorems as claims

    with _progress(None, "checking claims") as step:
        rows = claims.verdicts(progress=step)
    table = Table()
    for name in ("claim", "source", "verdict", "tried", "evidence"):
        table.add_column(name)
    for row in rows:
        table.add_row(row.claim, row.source, row.verdict, str(row.tried), row.evidence)
    _console().print(table)


@app.command("list")
def list_names() -> None:
    """List problems with their solvers and settings, readers, and named instances."""
    from .instances import library

    console = _console()
    for stem, entry in PROBLEMS.items():
        console.print(f"[bold]{stem}[/bold]", highlight=False)
        console.print(f"  solvers   {', '.join(entry.solvers)}", highlight=False)
        console.print(f"  settings  {', '.join(entry.settings)}", highlight=False)
    console.print(f"[bold]readers[/bold]\n  {', '.join(READERS)}", highlight=False)
    table = Table(title="named instances", title_justify="left")
    for name in ("name", "best known", "proven bound", "what"):
        table.add_column(name)
    for name in library.names():
        entry_ = library.entry(name)
        table.add_row(name, str(entry_.objective), str(entry_.bound["value"]), entry_.description)
    console.print(table)
