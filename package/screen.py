"""What the commands share: the screen, bad input, options, and the files that they write."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from .analysis.show.columns import ColumnTable
from .endings import EXIT_BAD_INPUT as EXIT_BAD_INPUT
from .endings import EXIT_FAILED as EXIT_FAILED
from .endings import EXIT_INTERRUPTED as EXIT_INTERRUPTED
from .endings import BadInput as BadInput
from .endings import Interrupted as Interrupted
from .instances import io
from .instances.display import one_line, visible
from .instances.io import json_text
from .instances.model import Cluster
from .instances.shipped import shipped
from .instances.traces import Trace
from .registry import READERS
from .registry import reader as find_reader

MOST = 10**6  # nodes, GPUs of a node, jobs: what memory surely holds
#: GPU model, nodes of it, GPUs of each
Parts = tuple[tuple[str, int, int], ...]


#: as a path: the output goes to the screen
STDOUT = Path("-")


@contextmanager
def reading() -> Iterator[None]:
    """Turn what loaders and constructors say of bad input into :class:`BadInput`."""
    try:
        yield
    except OSError as error:
        place = error.filename or "file"
        raise BadInput(f"{place}: {error.strerror or error}") from error
    except KeyError as error:
        raise BadInput(str(error.args[0])) from error
    except (ValueError, TypeError, OverflowError, ModuleNotFoundError) as error:
        raise BadInput(str(error)) from error


# --- screen --------------------------------------------------------------------------------------


def open_console(*outputs: Path | None) -> Console:
    """Standard output, wide enough for the tables where it is piped; or stderr if it has JSON."""
    stderr = STDOUT in outputs
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 200
    return Console(width=width, markup=False, highlight=False, emoji=False, stderr=stderr)


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print one line, whatever the text holds."""
    console.print(one_line(text), style=style, soft_wrap=not console.is_terminal)


def new_table(*names: str, right: Sequence[str] = ()) -> Table:
    """Return a table with these headings; numbers stand on the right."""
    return _table((name, name in right) for name in names)


class VisibleTable(Table):
    """A table that spells out the control characters of its cells."""

    def add_row(self, *cells: Any, **how: Any) -> None:
        """Add a row."""
        super().add_row(
            *(visible(cell) if isinstance(cell, str) else cell for cell in cells), **how
        )


def _table(heads: Iterable[tuple[str, bool]]) -> Table:
    """An empty table: each heading, and whether numbers stand below it."""
    number: dict[str, Any] = {"justify": "right", "no_wrap": True}
    columns = (Column(name, **number if right else {"overflow": "fold"}) for name, right in heads)
    return VisibleTable(*columns, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))


def show_table(console: Console, table: Table) -> None:
    """Print a table; columns that would be cut stand in tables below, with the first one again."""
    for k, part in enumerate(_parts(table, console.width)):
        if k:
            console.print()
        console.print(part)


def _parts(table: Table, width: int) -> list[Table]:
    """As few tables as a screen of this width takes; just the table where it is wide enough."""
    first, *others = table.columns
    parts: list[list[Column]] = [[]]
    used = room = min(_least_width(first), width // 2)
    for group in _groups(others):
        wide = sum(map(_least_width, group))
        if parts[-1] and used + wide > width:
            parts.append([])
            used = room
        parts[-1] += group
        used += wide
    return [table] if len(parts) == 1 else [_part(table, [first, *part]) for part in parts]


def _groups(columns: Iterable[Column]) -> list[list[Column]]:
    """Columns, each with the certified ratio that follows it."""
    groups: list[list[Column]] = []
    for column in columns:
        if groups and str(column.header).startswith("certified"):
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def _least_width(column: Column) -> int:
    """Characters that a column needs for its words, or for its lines where these may not break."""
    texts = [str(column.header), *map(str, column.cells)]
    words = (w for text in texts for w in (text.split("\n") if column.no_wrap else text.split()))
    return max(map(cell_len, words), default=0) + 2  # padding, and the space to the next column


def _part(table: Table, columns: Sequence[Column]) -> Table:
    """The rows that have something in these columns beside their name."""
    copies = (column.copy() for column in columns)
    part = Table(*copies, box=table.box, show_edge=table.show_edge, padding=table.padding)
    cells = zip(*(column.cells for column in columns), strict=True)
    for row, (name, *rest) in zip(table.rows, cells, strict=True):
        if any(rest):
            part.add_row(name, *rest, style=row.style, end_section=row.end_section)
    return part


@contextmanager
def progress_line(first: str) -> Iterator[Callable[[str], None]]:
    """What runs now, on stderr, gone at the end; nothing where stderr is piped."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)
        yield lambda text: bar.update(task, description=text)


def read_log(path: str, choice: ReaderChoice, cluster: Cluster | None = None) -> Trace:
    """Read a trace as the options say; columns may be known by the models of a cluster."""
    if cluster is not None:
        choice = replace(choice, models=[node.model for node in cluster.nodes])
    read = reader_of(choice)
    with progress_line(f"reading {Path(path).name}"):
        return read(path)


def announced() -> AbstractContextManager[None]:
    """Say it on stderr, piped or not, where something is compiled."""
    from .instances.compiling import on_compile

    text = "compiling machine code, which is kept for later; `gangsched warm-up` does it for all"
    return on_compile(lambda: typer.echo(f"gangsched: {text}", err=True))


def shown(value: float | None, form: str = ".10g") -> str:
    """Return a number as text; a dash where there is none."""
    return "-" if value is None else format(value, form)


def rich_table(shown: ColumnTable) -> Table:
    """Return a table of columns for the screen; their headings stand on several lines."""
    table = _table((column.lines, column.number) for column in shown.columns)
    failed, limits = shown.below()
    for cells in (*shown.texts(), *failed):
        table.add_row(*cells)
    if limits:
        table.add_section()
    for cells in limits:
        table.add_row(*cells, style="dim")
    return table


# --- options --------------------------------------------------------------------------------------


def positive(value: float | None) -> float | None:
    """Refuse an option that is not above 0."""
    if value is not None and not value > 0:
        raise typer.BadParameter(f"{value:g} is not above 0")
    return value


def whole(value: int | None) -> int | None:
    """Refuse an option that memory does not surely hold."""
    if value is not None and not 1 <= value <= MOST:
        raise typer.BadParameter(f"{value} is not within 1 to {MOST}")
    return value


def natural(value: int | None) -> int | None:
    """Refuse an option below 0."""
    if value is not None and value < 0:
        raise typer.BadParameter(f"{value} is below 0")
    return value


#: help of the options by command, and of those that several have
OPTIONS = shipped("gangsched", "commands")["options"]


def option(name: str, check: Any = None, parser: Any = None, **words: str) -> Any:
    """Return an option of several commands, or ``command.option``, with its help."""
    row = _help(name, words)
    flags = [row.pop("flag")] if "flag" in row else []
    return typer.Option(*flags, callback=check, parser=parser, **row)


def argument(name: str, **words: str) -> Any:
    """Return an argument of several commands, or ``command.argument``, with its help."""
    return typer.Argument(**_help(name, words))


def _help(name: str, words: Mapping[str, str]) -> dict[str, Any]:
    command, _, own = name.rpartition(".")
    row = OPTIONS[command or "shared"][own]
    return {**row, "help": row["help"].format(**words)}


Seed = Annotated[int, option("seed", natural)]
LogFile = Annotated[str, argument("trace")]
ReaderOption = Annotated[list[str] | None, option("reader-option")]
Reader = Annotated[str, option("reader", readers=", ".join(READERS))]
Columns = Annotated[str | None, option("columns")]
Without = Annotated[list[str] | None, option("without")]
WithoutUsers = Annotated[str | None, option("without-users")]
Json = Annotated[Path | None, option("json")]
Explain = Annotated[bool, option("explain")]
Report = Annotated[Path | None, option("report")]
NoReport = Annotated[bool, option("no-report")]


def nodes_of(text: str) -> int | Parts:
    """Return what --nodes means: a number, or the parts of a cluster of several GPU models.

    Examples
    --------
    >>> nodes_of("40"), nodes_of("v100:5x4,k80:24x4")
    (40, (('v100', 5, 4), ('k80', 24, 4)))
    """
    if re.fullmatch(r"[+-]?\d{1,18}", text.strip(), re.ASCII):
        count = int(text)
        whole(count)
        return count
    parts = tuple(_part_of(part.strip(), text) for part in text.split(","))
    total = sum(count for _, count, _ in parts)
    if total > MOST:
        raise typer.BadParameter(f"{text!r} has {total} nodes, at most {MOST}")
    return parts


def _part_of(part: str, text: str) -> tuple[str, int, int]:
    """One of the GPU models of --nodes."""
    found = re.fullmatch(r"([^\s:,]+):(\d{1,18})x(\d{1,18})", part, re.ASCII)
    if found is None:
        where = "" if part == text else f", in {text!r},"
        raise typer.BadParameter(
            f"{part!r}{where} is neither a number nor of the form model:nodesxgpus (v100:5x4)"
        )
    for what, number in (("nodes", found[2]), ("GPUs of a node", found[3])):
        if not 1 <= int(number) <= MOST:
            raise typer.BadParameter(f"{part!r}: {number} {what} are not within 1 to {MOST}")
    return found[1], int(found[2]), int(found[3])


Nodes = Annotated[Any, option("nodes", parser=nodes_of)]
GpusPerNode = Annotated[int | None, option("gpus-per-node", whole)]
ClusterFile = Annotated[Path | None, option("cluster")]


def only(what: str, given: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse options that would be ignored."""
    for name, value in given.items():
        if value is not None and name not in allowed:
            raise ValueError(f"--{name} does not go with {what}")


def count_of(nodes: int | Parts | None) -> int | None:
    """Return --nodes where it says how many; refuse GPU models there."""
    if isinstance(nodes, tuple):
        models = ", ".join(dict.fromkeys(model for model, _, _ in nodes))
        raise ValueError(f"--nodes: a number is wanted here, without GPU models ({models})")
    return nodes


def cluster_of(nodes: int | Parts | None, gpus_per_node: int | None, file: Path | None) -> Any:
    """Return the cluster that the options mean."""
    from .instances import Instance
    from .instances.heterogeneous import mixed_cluster
    from .instances.io import load

    if file is not None:
        loaded = load(file)
        if not isinstance(loaded, Instance):
            raise ValueError(f"--cluster: {file} is no instance file, so it has no cluster")
        return loaded.cluster
    if isinstance(nodes, tuple):
        only("GPU models in --nodes", {"gpus-per-node": gpus_per_node}, ())
        return mixed_cluster(nodes)
    if nodes is None or gpus_per_node is None:
        raise ValueError("a trace needs a cluster: give --nodes and --gpus-per-node, or --cluster")
    return Cluster.uniform(nodes=nodes, gpus_per_node=gpus_per_node)


@dataclass(frozen=True)
class ReaderChoice:
    """The options that say how a trace is read."""

    name: str
    options: Sequence[str] = ()  #: texts name=value
    columns: str | None = None  #: roles of columns
    without: Sequence[str] = ()  #: windows that are left out
    without_users: str | None = None
    models: Sequence[str] = ()  #: of the cluster's GPUs

    @property
    def left_out(self) -> dict[str, Any]:
        """The options that leave jobs out, where they are given."""
        return {"without": self.without or None, "without-users": self.without_users}


def reader_of(choice: ReaderChoice) -> Callable[[str], Trace]:
    """Return what reads a trace as the options say; refuse what the reader does not take."""
    windows = [_window(text) for texts in choice.without for text in texts.split(",")]
    names = choice.without_users
    users = [] if names is None else [name.strip() for name in names.split(",")]
    if "" in users:
        raise ValueError(f"--without-users: {names!r} has an empty name")
    read = _reader(choice)

    def kept(path: str) -> Trace:
        from .instances.convert import without

        return without(read(path), windows=windows, users=users)

    return kept if windows or users else read


def _window(text: str) -> tuple[int | str, int | str]:
    """What one of the windows of --without means."""
    ends = [end.strip() for end in text.split("..")]
    if len(ends) != 2 or not all(ends):
        raise ValueError(
            f"--without: {text.strip()!r} is not of the form FROM..UNTIL (2017-11-06..2017-11-20)"
        )
    start, end = (int(end) if re.fullmatch(r"\d{1,15}", end, re.ASCII) else end for end in ends)
    return start, end


def reader_parameters(name: str) -> list[str]:
    """Return the names of what a reader takes besides the path and the cluster's models."""
    names = list(inspect.signature(find_reader(name)[1]).parameters)[1:]
    own = [name for name in names if name != "models"]
    if own != ["options"]:
        return own
    taken = (reader_parameters(other) for other in READERS if other != name)
    return list(dict.fromkeys(chain.from_iterable(taken)))  # those of whichever reads the file


def _reader(choice: ReaderChoice) -> Callable[[str], Trace]:
    """The reader with what the options give it."""
    name, read = find_reader(choice.name)
    known = reader_parameters(name)
    given = {} if choice.columns is None else {"columns": choice.columns}
    if given and "columns" not in known:
        raise ValueError(f"--columns: reader {name!r} takes none")
    for text in choice.options:
        option, sign, value = (part.strip() for part in text.partition("="))
        option = option.replace("-", "_")
        if not sign or not option:
            raise ValueError(f"--reader-option: {text!r} is not of the form name=value")
        if option not in known:
            takes = f"takes {', '.join(known)}" if known else "takes none"
            raise ValueError(f"--reader-option: reader {name!r} {takes}, not {option!r}")
        if option in given:
            raise ValueError(f"--reader-option: {option!r} occurs twice")
        given[option] = value
    if name not in READERS:
        return partial(_read_foreign, name, read, **given)
    models = "models" in inspect.signature(read).parameters
    return partial(read, **given, **({"models": choice.models} if models else {}))


def _read_foreign(name: str, read: Callable[..., Any], path: str, **given: Any) -> Any:
    """What somebody else's reader returns, which may raise anything."""
    try:
        trace = read(path, **given)
    except OSError:
        raise
    except (Exception, SystemExit) as error:
        failed = f"failed: {type(error).__name__}: {error}"
    else:
        if isinstance(trace, Trace):
            return trace
        failed = f"returned a value of type {type(trace).__name__}, not a Trace"
    raise ValueError(f"{path}: reader {name!r} {failed}")


def each_of(option: str, names: str, make: Callable[[str], tuple[str, Any]]) -> dict[str, Any]:
    """Return by its name what each of the names that an option lists means."""
    found: dict[str, Any] = {}
    for wish in re.split(r",(?![^(]*\))", names):
        if not wish.strip():
            raise ValueError(f"{option}: {names!r} has an empty name")
        name, made = make(wish.strip())
        if name in found:
            raise ValueError(f"{option}: {name!r} occurs twice")
        found[name] = made
    return found


def write_json(path: Path, data: Any) -> None:
    """Write JSON into a file, or to the screen."""
    if path == STDOUT:
        typer.echo(json_text(data), nl=False)
    else:
        io.write_json(path, data)


def say_written(console: Console, *paths: Path | None) -> None:
    """Print which files were written, if there are any."""
    files = [str(path) for path in paths if path is not None and path != STDOUT]
    if files:
        say(console, f"written: {', '.join(files)}")


def check_output(source: str | None, *paths: Path | None) -> None:
    """Refuse before the work, not after it, what cannot be written."""
    wanted = [path for path in paths if path is not None and path != STDOUT]
    if len({path.absolute() for path in wanted}) < len(wanted):
        raise ValueError(f"{wanted[0]}: two outputs in one file")
    for path in wanted:
        if not path.absolute().parent.is_dir():
            raise ValueError(f"{path}: folder {path.parent} does not exist")
        if path.exists() and not path.is_file():
            raise ValueError(f"{path}: is no regular file")
        if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise ValueError(f"{path}: is not writable")
        if source is not None and path.exists() and path.resolve() == Path(source).resolve():
            raise ValueError(f"{path}: would replace the input")
