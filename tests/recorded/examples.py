"""What the examples of the docstrings give, one number for those of each module."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import gangsched as gs

from .table import entry

LAYERS = ("formulations", "solvers", "analysis")


class Outputs(doctest.DocTestRunner):
    """Runs examples and keeps what they give, right or wrong."""

    def __init__(self) -> None:
        super().__init__(verbose=False, optionflags=doctest.ELLIPSIS)
        self.given: list[str] = []

    def report_start(self, out: Any, test: Any, example: Any) -> None:
        """Say nothing."""

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        """Keep what came out as it should."""
        self.given.append(example.want)  # where it stands for anything: "..."

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        """Keep what came out otherwise."""
        self.given.append(got)

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, raised: Any) -> None:
        """Keep what was raised."""
        self.given.append(f"{raised[0].__name__}: {raised[1]}")


def outputs(module: ModuleType) -> list[str]:
    """What the examples of a module give, in the order of their names."""
    runner = Outputs()
    for test in sorted(doctest.DocTestFinder().find(module), key=lambda test: test.name):
        runner.run(test, out=lambda text: None)
    return runner.given


@entry
def examples(folder: Path) -> Any:
    found = {}
    for info in pkgutil.walk_packages(gs.__path__, "gangsched."):
        if info.name.split(".")[1] in LAYERS and "mip_worker" not in info.name:
            given = "\0".join(outputs(import_module(info.name)))
            found |= {info.name.removeprefix("gangsched."): crc32(given.encode())} if given else {}
    return found
