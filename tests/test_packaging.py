"""What is installed is what is in the folders, no more and no less."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest

import gangsched
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


def test_a_forgotten_package_or_data_file_is_seen(tmp_path: Path) -> None:
    folders = {"gangsched.solvers": tmp_path}
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "solver.py").touch()
    (tmp_path / "new" / "table.csv").touch()
    assert packages(folders) == {"gangsched.solvers.new"}
    assert data_files(folders, {"gangsched.solvers": ["*.csv"]}) == [
        "gangsched.solvers.new: table.csv"
    ]
    assert data_files(folders, {"gangsched.solvers.new": ["*.csv"]}) == []


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
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel, built from a copy of what is distributed."""
    copy, out = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("dist")
    ignore = shutil.ignore_patterns("__pycache__", "*.py[cod]", "*.nb[ic]")
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
        elif path in FOLDERS.values() or path.name in ("docs", "tests"):
            shutil.copytree(path, copy / path.name, ignore=ignore)
    steps = "from setuptools import build_meta as b; b.build_sdist({0!r}); b.build_wheel({0!r})"
    code = steps.format(str(out))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.process
def test_the_wheel_contains_the_folders(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        "/".join((*package.split("."), path.relative_to(folder).as_posix()))
        for package, folder in FOLDERS.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == expected


@pytest.mark.process
def test_the_sdist_contains_the_tests_and_the_licence(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside >= {"LICENSE", "run.py", "tests/conftest.py", "tests/test_packaging.py"}
    assert inside >= {path.relative_to(ROOT).as_posix() for path in sources().values()}
