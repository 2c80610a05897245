"""What is installed is what is in the folders, no more and no less."""

import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from fnmatch import fnmatch
from importlib import metadata
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest

import gangsched
import release
from layout import FOLDERS, PYPROJECT, ROOT, sources

SETUPTOOLS = PYPROJECT["tool"]["setuptools"]


def packages(folders: dict[str, Path]) -> set[str]:
    """Every folder with a Python file in it, as a package name."""
    return {
        ".".join((package, *path.parent.relative_to(folder).parts))
        for package, folder in folders.items()
        for path in folder.rglob("*.py")
    }


def data_files(folders: dict[str, Path], listed: dict[str, list[str]]) -> list[str]:
    """Files beside the Python files that no pattern of package-data would install."""
    missing = []
    for package, folder in folders.items():
        for path in folder.rglob("*"):
            if path.is_dir() or path.suffix == ".py" or "__pycache__" in path.parts:
                continue
            owner = ".".join((package, *path.parent.relative_to(folder).parts))
            if not any(fnmatch(path.name, pattern) for pattern in listed.get(owner, [])):
                missing.append(f"{owner}: {path.name}")
    return missing


def test_the_package_list_equals_the_folders() -> None:
    assert set(SETUPTOOLS["packages"]) == packages(FOLDERS)


def test_every_package_has_an_init() -> None:
    modules = sources()
    assert [
        name for name in packages(FOLDERS) if modules.get(name, Path()).name != "__init__.py"
    ] == []


def test_every_data_file_is_installed() -> None:
    assert data_files(FOLDERS, SETUPTOOLS["package-data"]) == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an sdist has no links")
def test_tools_see_one_package_in_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The links in package/ lead to the other folders, and their imports go down."""
    monkeypatch.syspath_prepend(str(ROOT))
    grimp = pytest.importorskip("grimp", reason="comes with what `run.py check` needs")
    graph = grimp.build_graph("package", cache_dir=None)
    assert {module.replace("package", "gangsched", 1) for module in graph.modules} == {*sources()}
    floors = ("instances", "formulations", "solvers", "analysis", "cli")
    for low, high in combinations((f"package.{floor}" for floor in floors), 2):
        assert graph.find_shortest_chains(high, low)
        assert not graph.find_shortest_chains(low, high)


def test_no_root_folder_shadows_the_package() -> None:
    assert not (ROOT / "gangsched").exists()


def test_one_version() -> None:
    version = PYPROJECT["project"]["version"]
    assert gangsched.__version__ == version
    assert metadata.version("gangsched") == version


def test_the_command_is_installed() -> None:
    (command,) = metadata.entry_points(group="console_scripts", name="gangsched")
    assert callable(command.load())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The unpacked sdist, and the wheel built from it."""
    return release.build(sys.executable, tmp_path_factory.mktemp("release"))


@pytest.mark.process
def test_the_wheel_contains_the_folders(built: tuple[Path, Path]) -> None:
    _, wheel = built
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        "/".join((*package.split("."), path.relative_to(folder).as_posix()))
        for package, folder in FOLDERS.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == expected


@pytest.mark.process
def test_the_sdist_contains_the_tests_and_the_licence(built: tuple[Path, Path]) -> None:
    project, _ = built
    wanted = {"LICENSE", "run.py", "tests/conftest.py", "tests/test_packaging.py"}
    wanted |= {path.relative_to(ROOT).as_posix() for path in sources().values()}
    assert [name for name in sorted(wanted) if not (project / name).is_file()] == []


@pytest.mark.process
@pytest.mark.slow
def test_the_wheel_works_outside_this_folder(built: tuple[Path, Path]) -> None:
    project, wheel = built
    folder = wheel.parents[1]
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    (python,) = (folder / "env").glob("*/python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--no-index", wheel], check=True)
    # what else it needs is that of these tests; gangsched itself is not in the folder
    (site,) = (folder / "env").glob("lib/*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    found = release.run(python, "-c", release.WHERE, cwd=project, quiet=True).strip()
    assert Path(found) == (site / "gangsched" / "__init__.py").resolve()
    options = "--solvers", "first-fit", "--no-report"
    shown = release.run(python, "-m", "gangsched", "compare", "rar-a-0", *options, cwd=folder,
                        quiet=True)  # fmt: skip
    assert re.search(r"first-fit +\d+", shown)
    some = "tests/instances/test_model.py", "tests/test_sources.py", "tests/test_packaging.py"
    assert " passed" in release.run(python, "-m", "pytest", "-q", *some, cwd=project, quiet=True)


def test_machine_code_outlives_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = load_runner(tmp_path, monkeypatch)
    links = tmp_path / "build/__editable__.gangsched-1/gangsched"

    def install(*args: str) -> None:
        if "-e" in args:
            shutil.rmtree(links.parent, ignore_errors=True)
            (links / "solvers").mkdir(parents=True)
            (links / "solvers" / "core.py").touch()

    monkeypatch.setattr(runner, "pip", install)
    runner.install("")
    for name in "core.sum-3.py311.1.nbc", "core.sum-3.py311.nbi", "gone.sum-3.py311.nbi":
        (links / "solvers/__pycache__").mkdir(exist_ok=True)
        (links / "solvers/__pycache__" / name).write_text(name)
    runner.WARM.touch()
    runner.install("[test]")
    kept = {path.name: path.read_text() for path in links.rglob("*.nb?")}
    assert kept == {name: name for name in ("core.sum-3.py311.1.nbc", "core.sum-3.py311.nbi")}
    assert not runner.WARM.exists()  # so that what is missing is compiled
    assert not runner.MACHINE_CODE.exists()


def load_runner(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """run.py as a module, at work in another folder in which nothing is installed."""
    spec = importlib.util.spec_from_file_location("run", ROOT / "run.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    for name in "VENV", "STAMP", "WARM", "MACHINE_CODE":
        monkeypatch.setattr(runner, name, root / getattr(runner, name).relative_to(runner.ROOT))
    monkeypatch.setattr(runner, "ROOT", root)
    monkeypatch.setattr(runner, "make_environment", lambda: None)
    monkeypatch.setattr(runner, "runs", lambda *command: True)
    (root / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    runner.VENV.mkdir()
    return runner


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    pins = release.lowest()
    assert "numpy==2.0.2" in pins
    assert {pin.partition("==")[0] for pin in pins} >= {"pyomo", "highspy", "ortools", "pytest"}
    assert len({pin.partition("==")[0] for pin in pins}) == len(pins)


def test_a_release_is_of_the_oldest_or_the_newest(capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["latest"]) == 2
    assert capsys.readouterr().err.startswith("usage: python3 run.py release oldest | newest")
