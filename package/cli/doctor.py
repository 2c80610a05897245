"""`gangsched doctor`: what is installed, and which solvers work."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version

from .. import __version__, screen

#: extras that users install, the others are for the development
EXTRAS = "cpsat", "parquet"
#: the machine code that is looked for: part of every replay
KERNEL = "solvers.ours.pool_core", "_run_while_room"

#: (kind, name, what is there; "" for nothing)
Row = tuple[str, str, str]


def doctor(json: screen.Json = None) -> None:
    """Show versions, solvers that work, and whether machine code is ready.

    What is optional and not there is shown as such, and is no error.
    """
    with screen.reading():
        screen.check_output(None, json)
    rows = list(_rows())
    console = screen.open_console(json)
    table = screen.new_table("kind", "what", "found")
    for kind, name, found in rows:
        table.add_row(kind, name, found or "-")
    screen.show_table(console, table)
    if json is not None:
        with screen.reading():
            screen.write_json(json, _nested(rows))
        screen.say_written(console, json)


def _rows() -> Iterator[Row]:
    yield "program", "python", platform.python_version()
    yield "program", "gangsched", __version__
    yield from _packages()
    yield from _solvers()
    yield "checker", "viprchk", shutil.which("viprchk") or ""
    yield "machine code", "kernels", _kernels()


def _packages() -> Iterator[Row]:
    """Dependencies with their versions, those of extras last."""
    for kind, wanted in (("dependency", False), ("extra", True)):
        for name in _required(extra=wanted):
            try:
                yield kind, name, version(name)
            except PackageNotFoundError:
                yield kind, name, ""


def _required(*, extra: bool) -> list[str]:
    """Names that the package's own metadata require; those of its users' extras, or of none."""
    found = {}
    for text in _metadata():
        name = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
        of = re.search(r"extra\s*==\s*['\"](\w+)['\"]", text)
        if name != "gangsched" and (of is not None) == extra and (of is None or of[1] in EXTRAS):
            found[name] = True
    return sorted(found)


def _metadata() -> list[str]:
    try:
        return requires("gangsched") or []
    except PackageNotFoundError:  # run from a folder
        return []


def _solvers() -> Iterator[Row]:
    """HiGHS, CP-SAT and what Pyomo finds."""
    from ..solvers.backends import PYOMO, available

    works = available()
    for name in ("highs", "cp-sat", *PYOMO):
        yield "solver", name, works.get(name, "")


def _kernels() -> str:
    """Whether machine code of the present source is on disk."""
    from ..instances.compiled import is_kept

    module, name = KERNEL
    code = getattr(import_module(f"..{module}", __package__), name).machine_code
    if not code.stats.cache_path:
        return "cold: it is compiled in every process"
    return "warm" if is_kept(code) else "cold: gangsched warm-up compiles it once"


def _nested(rows: list[Row]) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {}
    for kind, name, what in rows:
        found.setdefault(kind, {})[name] = what or None
    return found
