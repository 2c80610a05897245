"""Imports go one way, and papers do not know each other (docs: CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from layout import ROOT, sources

LAYERS = ["verify", "instances", "formulations", "solvers", "analysis"]
STEMS = ["unisched", "rar_ddls", "irmp", "gandiva_fair", "ltgf"]
SOURCES = sources()


def layer(module: str) -> int:
    """Rank of a module's folder; what lies directly in gangsched comes last."""
    parts = module.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else len(LAYERS)


def stem(module: str) -> str | None:
    """The paper in whose folder a module stands, such as solvers.rar_ddls.laminar."""
    return next((part for part in module.split(".")[2:] if part in STEMS), None)


def wing(module: str) -> str:
    """The folder within a layer, such as solvers.policies; empty for what stands beside it."""
    return ".".join(module.split(".")[1:3]) if module.count(".") > 1 else ""


def shared(module: str) -> bool:
    """Whether a module stands in solvers/ itself, for all papers."""
    return module.startswith("gangsched.solvers.") and module.count(".") == 2 and not stem(module)


def imported(module: str, source: str, *, package: bool) -> list[str]:
    """Names of the gangsched modules that a source imports, wherever in the file it does."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".") if package else module.split(".")[:-1]
            base = parts[: len(parts) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{origin}.{alias.name}" for alias in node.names]  # a module or a thing in it
    return [name for name in names if name.split(".")[0] == "gangsched"]


def faults(module: str, source: str, *, package: bool = False) -> list[str]:
    """Imports that break a rule, each as one line."""
    found = []
    for name in imported(module, source, package=package):
        if layer(name) > layer(module):
            found.append(f"{module} imports {name}, which stands above it")
        if stem(module) and stem(name) not in (None, stem(module)):
            found.append(f"{module} imports {name}, which belongs to another paper")
        if wing(module) == "solvers.policies" and wing(name).startswith("solvers") and stem(name):
            found.append(f"{module} imports {name}, which belongs to a paper")
        if shared(module) and stem(name):
            found.append(f"{module} imports {name}, which belongs to a paper")
        if (
            wing(name) == "analysis.papers"
            and layer(module) < len(LAYERS)
            and wing(module) != wing(name)
        ):
            found.append(f"{module} imports {name}, which only the command line opens")
    return found


@pytest.mark.parametrize("module", SOURCES)
def test_imports_go_one_way(module: str) -> None:
    path = SOURCES[module]
    assert faults(module, path.read_text("utf-8"), package=path.name == "__init__.py") == []


def test_every_folder_is_covered() -> None:
    folders = {name.split(".")[1] for name in SOURCES if name.count(".") >= 1}
    assert folders >= set(LAYERS)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gangsched.instances.model", "from ..formulations.problem import Problem"),
        ("gangsched.instances.model", "from gangsched import solvers"),
        ("gangsched.instances.model", "from .. import analysis"),
        ("gangsched.instances.traces.swf", "from ...solvers import result"),
        ("gangsched.instances.model", "import gangsched"),
        ("gangsched.instances.model", "from gangsched import __version__"),
        ("gangsched.formulations.irmp.problem", "import gangsched.solvers.result"),
        ("gangsched.solvers.exact", "def f():\n    from ..analysis import bounds"),
        ("gangsched.analysis.show.plots", "from ...cli import main"),
        ("gangsched.solvers.irmp.chain", "from ..ltgf import round"),
        ("gangsched.solvers.irmp.chain", "from .. import ltgf"),
        ("gangsched.solvers.irmp.chain", "from ...formulations.rar_ddls import RarDdls"),
        ("gangsched.solvers.irmp.chain", "from ...formulations import rar_ddls"),
        ("gangsched.solvers.policies.fifo", "from ..unisched import deadlines"),
        ("gangsched.solvers.exact", "from .rar_ddls.bounds import area_bound"),
        ("gangsched.solvers.exact", "from ..formulations.rar_ddls.problem import RarDdls"),
        ("gangsched.solvers.policy", "from ..formulations.irmp.problem import Irmp"),
        ("gangsched.analysis.papers.irmp.figures", "from ....solvers.gandiva_fair import trading"),
        ("gangsched.analysis.show.plots", "from ..papers import study"),
    ],
)
def test_a_forbidden_import_is_seen(module: str, source: str) -> None:
    assert len(faults(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gangsched.instances.model", "import numpy\nfrom collections import abc"),
        ("gangsched.formulations.irmp.problem", "from ...instances.model import Job"),
        ("gangsched.solvers.irmp.chain", "from ...formulations.irmp import Irmp"),
        ("gangsched.solvers.rar_ddls.laminar", "from .laminar_core import place"),
        ("gangsched.solvers.unisched.genie", "from ..policies import fifo"),
        (
            "gangsched.solvers.rar_ddls.start",
            "from ...formulations.rar_ddls.problem import RarDdls",
        ),
        ("gangsched.solvers.exact", "from ..formulations.problem import Problem"),
        ("gangsched.analysis.show.plots", "from gangsched import instances"),
        ("gangsched.analysis.papers.irmp.figures", "from ..study import Study"),
        ("gangsched.cli.papers", "from ..analysis.papers import theorems"),
    ],
)
def test_an_allowed_import_is_not(module: str, source: str) -> None:
    assert faults(module, source) == []


def test_a_package_counts_its_dots_from_itself() -> None:
    upwards = "from ..analysis import plots"
    assert faults("gangsched.solvers", upwards, package=True)
    assert faults("gangsched.solvers", "from .result import Result", package=True) == []


def circles(arrows: Mapping[str, set[str]]) -> list[str]:
    """Modules from which a way leads back, by taking away those from which none leads on."""
    left = {name: set(targets) for name, targets in arrows.items()}
    while done := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in done:
            del left[name]
    return sorted(left)


def test_no_formulation_imports_what_imports_it() -> None:
    arrows: dict[str, set[str]] = {}
    for module, path in SOURCES.items():
        if module.startswith("gangsched.formulations.") and path.name != "__init__.py":
            names = imported(module, path.read_text("utf-8"), package=False)
            arrows[module] = {known for name in names for known in SOURCES if within(name, known)}
    assert circles(arrows) == []
    assert "gangsched.formulations.problem" in arrows["gangsched.formulations.ltgf.round"]


def within(name: str, module: str) -> bool:
    """Whether a name that was imported is that module, or a thing in it."""
    return module in (name, name.rpartition(".")[0])


def test_a_circle_is_seen_in_whatever_place_its_imports_stand() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]
    assert circles({"a": {"b", "x"}, "b": {"c"}, "c": set()}) == []


def test_no_public_class_name_twice() -> None:
    seen: dict[str, str] = {}
    twice = []
    for module, path in SOURCES.items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                if node.name in seen:
                    twice.append(f"{node.name}: {seen[node.name]}, {module}")
                seen[node.name] = module
    assert twice == []


MOST_LINES, LONGEST = 800, 80  #: of a file, and of a function without its docstring
TABLES = {"gangsched.analysis.papers.rar_ddls.claims"}  #: files that are long for their table


def too_long(source: str) -> list[str]:
    """The functions of a source that are longer than allowed, methods and inner ones too."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = node.body[0] if ast.get_docstring(node) is not None else None
            docstring = (said.end_lineno or 0) - said.lineno + 1 if said else 0
            length = (node.end_lineno or 0) - node.lineno + 1 - docstring
            found += [f"{node.name}: {length} lines"] if length > LONGEST else []
    return found


@pytest.mark.parametrize("module", SOURCES)
def test_no_file_and_no_function_is_too_long(module: str) -> None:
    source = SOURCES[module].read_text("utf-8")
    assert too_long(source) == []
    assert (len(source.splitlines()) > MOST_LINES) == (module in TABLES)


def test_no_file_of_tests_is_too_long() -> None:
    files = sorted((ROOT / "tests").rglob("*.py"))
    lines = [len(path.read_text("utf-8").splitlines()) for path in files]
    assert [path.name for path, n in zip(files, lines, strict=True) if n > MOST_LINES] == []


def test_a_function_that_is_too_long_is_seen_without_its_docstring() -> None:
    body = "    x = 1\n" * (LONGEST - 1)
    said = '    """Say.\n\n    More.\n    """\n'
    assert too_long(f"def f():\n{said}{body}") == []
    assert too_long(f"def f():\n{said}{body}    y = 2\n") == [f"f: {LONGEST + 1} lines"]
    inside = "class A:\n    async def g(self):\n" + "        x = 1\n" * LONGEST
    assert too_long(inside) == [f"g: {LONGEST + 1} lines"]
