"""The commands `library list`, `show` and so on: the best known values, with proofs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import screen
from ..instances import library as shelf
from ..instances.check import check_real
from ..instances.display import counted, shortened
from ..registry import PROBLEMS, lookup
from .source import best_known

Folder = Annotated[Path | None, screen.option("library.folder")]
Names = Annotated[list[str] | None, screen.argument("library.instances")]


def library(context: typer.Context) -> None:
    """Best known values with proofs: list, show, verify, submit, challenge."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _folder(path: Path | None) -> Path | None:
    """Refuse a folder without an index."""
    if path is not None and not (path / shelf.INDEX).is_file():
        raise ValueError(f"{path}: is no library, there is no {shelf.INDEX}")
    return path


def list_entries(
    problem: Annotated[str | None, screen.option("library.problem")] = None,
    level: Annotated[
        str | None, screen.option("library.class", classes=", ".join(shelf.LEVELS))
    ] = None,
    folder: Folder = None,
    json: screen.Json = None,
) -> None:
    """List the instances: class, size, best known value, bound."""
    with screen.reading():
        rows = shelf.index(_folder(folder))
        if problem is not None:
            problem = lookup("problem", PROBLEMS, problem)
            rows = {name: row for name, row in rows.items() if row["problem"] == problem}
        if level is not None:
            level = lookup("class", shelf.LEVELS, level)
            rows = {name: row for name, row in rows.items() if row["class"] == level}
        if json is not None:
            screen.check_output(None, json)
            screen.write_json(json, rows)
    console = screen.open_console(json)
    heads = "instance", "problem", "class", "jobs", "best known", "bound", "gap", "by"
    table = screen.new_table(*heads, right=("jobs", "best known", "bound", "gap"))
    for name, row in sorted(rows.items()):
        gap = shelf.gap_of(row["objective"], row["bound"])
        claimed = "" if row["certified"] else " (claimed)"
        table.add_row(
            name, row["problem"], row["class"], f"{row['jobs']:,}",
            screen.shown(row["objective"]), screen.shown(row["bound"]) + claimed,
            f"{100 * gap:.2f} %", row["solver"],
        )  # fmt: skip
    screen.show_table(console, table)
    counts = [sum(row["class"] == name for row in rows.values()) for name in shelf.LEVELS]
    said = ", ".join(f"{count} {name}" for name, count in zip(shelf.LEVELS, counts, strict=True))
    screen.say(console, f"{counted(len(rows), 'instance')}: {said}", "dim")
    screen.say_written(console, json)


def show(
    name: Annotated[str, screen.argument("library.instance")],
    folder: Folder = None,
    json: screen.Json = None,
) -> None:
    """Show all that is known of an instance, and how it is known."""
    with screen.reading():
        found = shelf.entry(name, _folder(folder))
        if json is not None:
            screen.check_output(None, json)
            screen.write_json(json, shelf.entry_to_dict(found))
    console = screen.open_console(json)
    screen.say(console, found.name, "bold")
    for label, text in _facts(found):
        screen.say(console, f"{label}: {text}")
    for line in found.history:
        who = f"{screen.shown(line['objective'])}, bound {screen.shown(line['bound'])}"
        screen.say(console, f"- {line['date']}: {who}, by {line['by']}", "dim")
    if found.runs["rows"]:
        _show_runs(console, found)
    screen.say_written(console, json)


def _facts(found: shelf.Entry) -> list[tuple[str, str]]:
    best, bound = found.best, found.claim or found.proof or {}
    call, drawn = best["call"], found.generator
    when = f"version {best['version']}, {best['date']}" if best["date"] else "date unknown"
    how = ", ".join([found.solver, *(f"{key}={v}" for key, v in best["parameters"].items())])
    proof = f"{screen.shown(bound['value'])} ({bound['method']})"
    thing = "user" if found.formulation == "gandiva-fair" else "job"
    lines = [
        ("what", found.description),
        ("problem", f"{found.formulation}, to {found.sense}, {counted(found.jobs, thing)}"),
        ("class", f"{found.level}: {shelf.LEVELS[found.level]}"),
        ("best known", f"{screen.shown(found.objective)} ({how}; {when})"),
        ("bound", proof + (", claimed, without a certificate" if found.claim else ", certified")),
    ]
    if found.claim and found.proof:
        known = found.proof
        lines.append(("certified", f"{screen.shown(known['value'])} ({known['method']})"))
    lines.append(("gap", f"{100 * found.gap:.2f} %"))
    if drawn is not None:
        given = ", ".join(f"{key}={value}" for key, value in drawn["arguments"].items())
        lines.append(("generator", f"{drawn['family']}({given}, seed={drawn['seed']})"))
    if call is not None:
        lines.append(("solution", f"by {call['solver']}, seed {call['seed']}: too long for a file"))
    return [*lines, ("sha256 of the problem", found.sha256)]


def _show_runs(console: Console, found: shelf.Entry) -> None:
    """The solvers that were run, each with its gap to the best bound."""
    console.print()
    table = screen.new_table("solver", "objective", "gap", "s", right=("objective", "gap", "s"))
    for row in found.runs["rows"]:
        value = row["objective"]
        gap = None if value is None else shelf.gap_of(value, found.bound["value"])
        shown = "-" if gap is None else f"{100 * gap:.2f} %"
        table.add_row(row["solver"], screen.shown(value), shown, f"{row['seconds']:.3f}")
    screen.show_table(console, table)
    screen.say(console, str(conditions(found)), "dim")


def conditions(found: shelf.Entry) -> Any:
    """The line below a table of an instance's runs."""
    from ..analysis.show.conditions import Conditions

    runs = found.runs
    seed = "none drawn" if found.generator is None else f"{found.generator['seed']} of the instance"
    return Conditions(
        information="all solvers know the whole instance",
        seeds=f"{seed}, {runs['seed']} of solvers",
        excluded="no job",
        parameters=f"{runs['limit']:g} s for each solver, {runs['exact_limit']:g} s for exact, "
        f"{runs['bound_limit']:g} s for the bound, version {runs['version']}",
        certificate="gap in the table, to the best bound above",
    )


def verify(
    names: Names = None,
    folder: Folder = None,
) -> None:
    """Replay all: problems, solutions, values, bounds, classes.

    Problems are generated again and their hashes compared, solutions checked and valued, bounds
    proven again from their certificates. Exit code 1 where anything does not hold.
    """
    from ..submissions import checked

    began, wrong, done = time.monotonic(), 0, 0
    console = screen.open_console()
    with screen.reading():
        rows = shelf.index(_folder(folder))
        wanted = sorted(rows) if not names else [lookup("instance", rows, name) for name in names]
    with screen.progress_line("verifying") as said, screen.announced():
        for name, reasons in checked(wanted, folder, lambda name: said(f"verifying {name}")):
            done += 1
            wrong += bool(reasons)
            for reason in reasons:
                screen.say(console, f"{name}: {shortened(reason)}")
    claimed = sum(not rows[name]["certified"] for name in wanted)
    result = f"{wrong} wrong" if wrong else "all hold"
    more = f"; {counted(claimed, 'bound')} only claimed by a solver" if claimed else ""
    took = time.monotonic() - began
    screen.say(console, f"{counted(done, 'instance')} replayed in {took:.0f} s: {result}{more}")
    if wrong:
        raise typer.Exit(screen.EXIT_FAILED)


def submit(
    file: Annotated[Path, screen.argument("library.file")],
    name: Annotated[str | None, screen.option("library.name")] = None,
    by: Annotated[str | None, screen.option("library.by")] = None,
    folder: Folder = None,
    write: Annotated[bool, screen.option("library.write")] = False,
) -> None:
    """Judge a solution or bound: new, better, equal, worse or wrong.

    Exit code 0 if anything is new or better, 1 if nothing is, 2 if anything is wrong.
    """
    from ..submissions import BETTER, NEW, accept, judge, read_submission

    console = screen.open_console()
    with screen.reading():
        if write and folder is None:
            raise ValueError("--write: give --library FOLDER, the library to write to")
        known = _folder(folder)
        given = read_submission(file, name, by)
        with screen.progress_line("checking"), screen.announced():
            try:
                verdicts, found = judge(given, known)
            except ValueError as error:
                raise ValueError(f"{file}: wrong: {error}") from None
        better = any(verdict.word in (NEW, BETTER) for verdict in verdicts)
        if write and better and folder is not None:
            accept(found, folder)
    screen.say(console, f"{given.name}: {best_known(found)}", "bold")
    for verdict in verdicts:
        screen.say(console, str(verdict))
    if not better:
        raise typer.Exit(screen.EXIT_FAILED)
    if write and folder is not None:
        screen.say_written(console, shelf.path_of(found.name, folder))


def challenge(
    names: Names = None,
    seconds: Annotated[float, screen.option("library.seconds")] = 60.0,
    some: Annotated[int | None, screen.option("library.some")] = None,
    seed: Annotated[str, screen.option("library.seed")] = "",
    folder: Folder = None,
) -> None:
    """Solve instances again, and show what beats the best known.

    Exit code 1 where a better solution is found; a better bound is only shown.
    """
    from ..submissions import BETTER, challenge, drawn

    began, lost, closer = time.monotonic(), 0, 0
    console = screen.open_console()
    with screen.reading():
        check_real("library challenge", "seconds", seconds, positive=True)
        rows = shelf.index(_folder(folder))
        wanted = sorted(rows) if not names else [lookup("instance", rows, name) for name in names]
        wanted = wanted if some is None else drawn(wanted, some, seed)
    with screen.progress_line("solving") as said, screen.announced():
        for name in wanted:
            said(f"solving {name}")
            better = [one for one in challenge(name, seconds, folder) if one.word == BETTER]
            for verdict in better:
                screen.say(console, f"{name}: {verdict}")
            beaten = any(verdict.part == "solution" for verdict in better)
            lost += beaten
            closer += bool(better) and not beaten
    more = f"; {counted(closer, 'bound')} improved" if closer else ""
    result = f"{lost} beaten" if lost else "none is beaten"
    took = time.monotonic() - began
    screen.say(
        console, f"{counted(len(wanted), 'instance')} solved in {took:.0f} s: {result}{more}"
    )
    if lost:
        raise typer.Exit(screen.EXIT_FAILED)


#: what `gangsched library` has
SUBCOMMANDS: Mapping[str, Callable[..., None]] = {
    "list": list_entries, "show": show, "verify": verify, "submit": submit,
    "challenge": challenge,
}  # fmt: skip
