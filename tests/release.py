"""Test the wheel as a stranger gets it: built, installed and tested outside this folder.

    python3 run.py release oldest [ARGS]   with the oldest versions that pyproject.toml allows
    python3 run.py release newest [ARGS]   with the newest ones; ARGS go to pytest

Needs Python with pip and a package index, and no environment: all is made in a temporary folder,
with the Python that runs this. The sdist is built from what is distributed, the wheel from the
unpacked sdist; the tests of that sdist run against the installed wheel.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETS = ("oldest", "newest")
BUILD = "from setuptools import build_meta; build_meta.build_{}({!r})"
# A project folder has no folder `gangsched`: what is imported must be what is installed.
WHERE = "import gangsched, pathlib; print(pathlib.Path(gangsched.__file__).resolve())"


def main(argv: list[str]) -> int:
    """Build, install and test one set of versions."""
    if not argv or argv[0] not in SETS:
        print(f"usage: python3 run.py release {' | '.join(SETS)} [ARGS]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="gangsched-release-") as folder:
        return release(Path(folder), argv[0], argv[1:])


def release(folder: Path, versions: str, args: list[str]) -> int:
    """Build, install and test in a folder; return the exit code of the step that failed, or 0."""
    try:
        python = environment(folder / "env")
        project, wheel = build(python, folder)
        pins = folder / f"{versions}.txt"
        pins.write_text("\n".join(lowest() if versions == "oldest" else []))
        say(f"installing {wheel.name} with the {versions} versions")
        run(python, "-m", "pip", "install", "-q", "-c", pins, f"{wheel}[test]", cwd=folder)
        run(python, "-m", "pip", "list", "--disable-pip-version-check", cwd=folder)
        found = run(python, "-c", WHERE, cwd=project, quiet=True).strip()
        if not Path(found).is_relative_to((folder / "env").resolve()):
            say(f"gangsched is imported from {found}, not from the installed wheel")
            return 1
        run(python, "-m", "gangsched", "demo", cwd=folder)
        run(python, "-m", "gangsched", "warm-up", cwd=folder)
        say(f"testing {found}")
        run(python, "-m", "pytest", "--hypothesis-profile=plain", *args, cwd=project)
    except subprocess.CalledProcessError as failure:
        return failure.returncode
    say(f"the wheel passes on Python {sys.version.split()[0]} with the {versions} versions")
    return 0


def environment(folder: Path) -> Path:
    """Make a virtual environment that sees nothing else, and return its Python."""
    run(sys.executable, "-m", "venv", folder, cwd=ROOT)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
        *project_file()["build-system"]["requires"], cwd=folder)  # fmt: skip
    return python


def build(python: str | Path, folder: Path) -> tuple[Path, Path]:
    """Build the sdist in `folder`, unpack it, build the wheel of that; return project and wheel."""
    say("building the sdist, and the wheel from it")
    copy, made, unpacked = (folder / name for name in ("copy", "made", "unpacked"))
    distributed(copy)
    made.mkdir()
    run(python, "-c", BUILD.format("sdist", str(made)), cwd=copy, quiet=True)
    (sdist,) = made.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (project,) = unpacked.iterdir()
    run(python, "-c", BUILD.format("wheel", str(made)), cwd=project, quiet=True)
    shutil.rmtree(project / "build")
    (wheel,) = made.glob("*.whl")
    return project, wheel


def distributed(target: Path) -> None:
    """Copy the files and folders of the project from which the sdist takes what it contains."""
    target.mkdir()
    folders = {"docs", "tests", *project_file()["tool"]["setuptools"]["package-dir"].values()}
    ignore = shutil.ignore_patterns("__pycache__", "*.py[cod]", "*.nb[ic]")
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, target)
        elif path.name in folders:
            shutil.copytree(path, target / path.name, ignore=ignore)


def lowest() -> list[str]:
    """Return all requirements, of the extras as well, pinned to their lower bounds."""
    project = project_file()["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(line for extra in extras for line in extra)]
    pins = dict(
        re.match(r"([\w-]+)>=([\d.]+)", line).groups()  # type: ignore[union-attr]
        for line in wanted
        if not line.startswith("gangsched[")
    )
    return [f"{name}=={version}" for name, version in pins.items()]


def project_file() -> dict:
    """Read pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def run(*command: object, cwd: Path, quiet: bool = False) -> str:
    """Run a command and return its output, which is shown unless `quiet` and it succeeds."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=kept, check=False, text=True,
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout or "", file=sys.stderr)
        say(f"failed: {' '.join(str(word) for word in command)[:200]}")
        raise subprocess.CalledProcessError(done.returncode, list(command))
    return done.stdout or ""


def say(text: str) -> None:
    """Tell the reader what happens next."""
    print(f"release: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
