"""The command line: solve, compare, replay, audit, describe, convert, traces and the rest.

Bad input and wrong usage end with one line on stderr and exit code 2; a solver, target or claim
that fails, with 1. Ctrl-C keeps what is finished (130). Progress goes to stderr, and only where
that is a terminal.
"""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, cast

import typer

from .. import __version__, screen
from ..instances.display import one_line
from ..registry import (
    ALIASES,
    POLICIES,
    PROBLEMS,
    READERS,
    VARIANTS,
    lookup,
    plugins,
    policy,
    solver,
)
from .audit import audit
from .compare import compare, demo, solve
from .convert import convert
from .describe import describe
from .papers import reproduce, theorems
from .replay import replay
from .source import SCENARIOS, best_known
from .traces import traces

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="GPU-cluster scheduling problems, algorithms, and proven bounds on how good they are.",
)
#: what typer raises for wrong usage; its module depends on typer's version
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the console script."""
    logging.getLogger("gangsched").addHandler(logging.NullHandler())  # the lines below say it
    code, text = 0, ""
    try:
        code = app(args, prog_name="gangsched", standalone_mode=False) or 0
    except screen.BadInput as error:
        code, text = screen.EXIT_BAD_INPUT, f"error: {error}"
    except USAGE_ERROR as error:
        code, text = screen.EXIT_BAD_INPUT, f"error: {cast(Any, error).format_message()}"
    except screen.Interrupted as error:
        code, text = screen.EXIT_INTERRUPTED, str(error)
    except (KeyboardInterrupt, typer.Abort):
        code = screen.EXIT_INTERRUPTED
    if code == screen.EXIT_INTERRUPTED:  # what typer makes of a Ctrl-C
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


def _first_line(thing: Any) -> str:
    """The first line of a docstring, and with which parameters."""
    given = ""
    if isinstance(thing, partial):
        given = ", ".join(f"{name}={value}" for name, value in thing.keywords.items())
        thing, given = thing.func, f" ({given})"
    return (inspect.getdoc(thing) or "").partition("\n")[0] + given


def _problems() -> Iterator[tuple[str, str]]:
    for name, entry in PROBLEMS.items():
        yield name, _first_line(entry.kind or entry.make)


def _solvers() -> Iterator[tuple[str, str]]:
    for stem, entry in PROBLEMS.items():
        for name in entry.solvers:
            yield f"{stem} {name}", _first_line(solver(stem, name)[1])


def _policies() -> Iterator[tuple[str, str]]:
    for name in POLICIES:
        yield name, VARIANTS.get(name) or _first_line(policy(name)[1])


def _readers() -> Iterator[tuple[str, str]]:
    for name, read in READERS.items():
        yield name, _first_line(read)


def _instances() -> Iterator[tuple[str, str]]:
    from ..instances import library

    for found in map(library.entry, library.names()):
        yield found.name, f"{found.description}; {best_known(found)}"


KINDS: Mapping[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "problems": _problems,
    "solvers": _solvers,
    "policies": _policies,
    "readers": _readers,
    "instances": _instances,
}


def list_names(
    what: Annotated[
        str | None, typer.Argument(help=f"One kind, with a line for each: {', '.join(KINDS)}.")
    ] = None,
) -> None:
    """List problems, solvers, readers, policies, named instances."""
    from ..instances import library

    console = screen.open_console()
    if what is not None:
        with screen.reading():
            lines = KINDS[lookup("kind", KINDS, what)]()
        for name, text in lines:
            screen.say(console, f"{name}: {text}")
        return
    for stem, entry in PROBLEMS.items():
        screen.say(console, stem, "bold")
        screen.say(console, f"solvers: {', '.join((*entry.solvers, *plugins()))}")
        screen.say(console, f"settings: {', '.join(entry.settings)}")
    console.print()
    screen.say(console, "readers", "bold")
    screen.say(console, ", ".join(READERS))
    console.print()
    screen.say(console, "scenarios: synthetic jobs with deadlines (Gao et al. 2024)", "bold")
    for names, text in SCENARIOS.items():
        screen.say(console, f"{names}: {text}")
    screen.say(console, "instead of a trace: gangsched replay T360 --reader scenario", "dim")
    console.print()
    screen.say(console, "policies", "bold")
    screen.say(console, ", ".join((*POLICIES, *plugins("gangsched.policies"))))
    for name, other in ALIASES.items():
        screen.say(console, f"{name}: another name of {other}")
    console.print()
    screen.say(console, "variants: how they differ from the policy", "bold")
    for name, text in VARIANTS.items():
        screen.say(console, f"{name}: {text}")
    console.print()
    table = screen.new_table("instance", "best", "known", "what", right=("best",))
    for found in map(library.entry, library.names()):
        table.add_row(
            found.name, screen.shown(found.objective), best_known(found), found.description
        )
    screen.show_table(console, table)


for command in (
    solve, compare, replay, audit, describe, convert, traces, demo, reproduce, theorems,
):  # fmt: skip
    app.command()(command)
app.command("list")(list_names)
