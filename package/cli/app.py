"""The command line: solve, compare, replay, audit, describe, convert, proof, doctor and the rest.

Bad input and wrong usage end with one line on stderr and exit code 2; a solver, target or claim
that fails, with 1. Ctrl-C keeps what is finished (130). Progress goes to stderr, and only where
that is a terminal. A command's module is imported when the command is called: help is quick.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from .. import __version__
from ..endings import EXIT_BAD_INPUT, EXIT_INTERRUPTED, BadInput, Interrupted
from ..instances.display import one_line
from ..instances.shipped import shipped

#: each command: where it is, and the first line of its docstring
COMMANDS: Mapping[str, Sequence[str]] = shipped("gangsched", "commands")["commands"]
#: what typer raises for wrong usage; its module depends on typer's version
USAGE_ERROR = cast(type[Exception], typer.BadParameter.__mro__[1])


class _Loaded(dict[str, Any]):
    """Commands by name, which are imported when they are asked for."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return a command, or the default where there is none of this name."""
        if name in self and self[name] is None:
            module, _, function = COMMANDS[name][0].partition(":")
            alone = typer.Typer(
                add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
            )
            loaded = import_module(f".{module}", __package__)
            parts = getattr(loaded, "SUBCOMMANDS", None)
            if parts is None:
                alone.command(name)(getattr(loaded, function))
            else:
                alone.callback(invoke_without_command=True)(getattr(loaded, function))
                for part, run in parts.items():
                    alone.command(part)(run)
            self[name] = typer.main.get_command(alone)
        return super().get(name, default)


class _Commands(TyperGroup):
    """The commands of :data:`COMMANDS`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _Loaded.fromkeys(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names of the commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="GPU-cluster scheduling problems, algorithms, and proven bounds on how good they are.",
)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; the console script."""
    # before numpy is imported: its threads wait in a loop, and no command has matrices worth them
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(400_000, 20, 100)  # an instance is a million objects, none of them garbage
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
    if args is None:
        gc.freeze()  # the process ends: no search for garbage in what it leaves
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
