#!/usr/bin/env python3
"""Set up gangsched beside this file and run it. Needs Python 3.11 or newer, nothing else.

    python3 run.py demo [ARGS]   the main job: compare solvers on a named instance, picture in out/
    python3 run.py test [ARGS]   the plain tests; ARGS go to pytest
    python3 run.py test --all    all tests: papers, documentation, processes, slow ones
    python3 run.py check         lint, format, docstrings, types and layers
    python3 run.py site          the documentation as a site, in build/site
    python3 run.py notebooks     the notebooks alone, executed, in build/notebooks
    python3 run.py release oldest|newest   build the wheel, and test it outside this folder

The first call makes the virtual environment .venv and installs the project into it; later calls
install again only when pyproject.toml or the set of package files has changed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "gangsched-installed.json"
LOG = VENV / "gangsched-install.log"
WARM = VENV / "gangsched-compiled"
MACHINE_CODE = VENV / "gangsched-machine-code"

# What each command needs installed; every entry includes those before it.
EXTRAS = ["", "[test]", "[dev]"]
NEEDS = {
    "demo": "",
    "test": "[test]",
    "check": "[dev]",
    "site": "[test]",
    "notebooks": "[test]",
    "release": None,  # makes environments of its own
}

# How pip says that it got no answer from the package index.
NO_NETWORK = (
    "Retrying (Retry(",
    "Failed to establish a new connection",
    "Max retries exceeded",
    "name resolution",
    "timed out",
    "ProxyError",
    "SSLError",
)


class Failure(Exception):
    """Something that ends the run with one line."""


def main(argv: list[str]) -> int:
    """Run one command and return its exit code."""
    if sys.version_info < (3, 11):
        version = ".".join(map(str, sys.version_info[:3]))
        return fail("needs Python 3.11 or newer; this is %s (%s)" % (version, sys.executable))
    if argv[:1] in (["-h"], ["--help"], ["help"]):
        print(__doc__.strip())
        return 0
    bare = ("check", "site", "notebooks")
    if not argv or argv[0] not in NEEDS or (argv[0] in bare and argv[1:]):
        print(
            "usage: python3 run.py demo [ARGS] | test [--all] [ARGS] | "
            + " | ".join([*bare, "release oldest|newest [ARGS]"]),
            file=sys.stderr,
        )
        return 2
    try:
        extra = NEEDS[argv[0]]
        if extra is not None:
            install(extra)
        if argv[0] == "test" and not warm():
            return 1
        return COMMANDS[argv[0]](argv[1:])
    except (Failure, OSError) as failure:
        return fail(failure)
    except KeyboardInterrupt:
        return 130


def demo(args: list[str]) -> int:
    """Run the main job."""
    return call("-m", "gangsched", "demo", *args)


def test(args: list[str]) -> int:
    """Run the tests, with the same generated examples every time."""
    pytest = ["-m", "pytest", "-n", "auto", "--maxprocesses=4", "--dist=worksteal"]
    if "--all" not in args:
        return call(*pytest, "--hypothesis-profile=plain", *args)
    args = [arg for arg in args if arg != "--all"]
    code = call(*pytest, "--hypothesis-profile=ci", "-m", "not exhaustive", *args)
    examples = [*pytest, "--doctest-modules", "--pyargs", "gangsched", "-m", "docs"]
    return code if args else code or call(*examples)


def check(_: list[str]) -> int:
    """Run the static checks, all of them even when one fails."""
    steps = ["ruff check", "ruff format --check", "numpydoc lint", "mypy -p gangsched"]
    folders = "package", "instances", "formulations", "solvers", "analysis"
    sources = [str(path) for folder in folders for path in sorted(ROOT.glob(f"{folder}/**/*.py"))]
    codes = []
    for step in steps:
        say(step)
        files = sources if step == "numpydoc lint" else []
        codes.append(call("-W", "ignore", "-m", *step.split(), *files))
    say("lint-imports")
    codes.append(call("--no-cache", "--no-logo", python=PYTHON.with_name("lint-imports")))
    return next((code for code in codes if code), 0)


def site(_: list[str]) -> int:
    """Build the site; a warning fails it."""
    return sphinx("docs", "site", "contents")


def notebooks(_: list[str]) -> int:
    """Execute each notebook, and build a site of these alone."""
    return sphinx("docs/notebooks", "notebooks", "index", "-E", "-c", "docs")


def sphinx(source: str, name: str, first: str, *options: str) -> int:
    """Build pages in build/`name`; what is said on the way is shown where that fails."""
    made = ROOT / "build" / name
    command = ["-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-D", f"root_doc={first}"]
    done = subprocess.run(
        [str(PYTHON), *command, *options, source, str(made)],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stderr)
        return done.returncode
    say("made %s" % (made / f"{first}.html").relative_to(ROOT))
    return 0


def release(args: list[str]) -> int:
    """Build the wheel, and test it where nothing of this folder is seen."""
    return call(str(ROOT / "tests" / "release.py"), *args, python=sys.executable)


COMMANDS = {
    "demo": demo,
    "test": test,
    "check": check,
    "site": site,
    "notebooks": notebooks,
    "release": release,
}


def call(*args: str, python: object = PYTHON) -> int:
    """Run a Python, the environment's, in the project folder and return its exit code."""
    code = subprocess.run([str(python), *args], cwd=ROOT, check=False).returncode
    return code if code >= 0 else 128 - code


def warm() -> bool:
    """Compile machine code, so that nothing waits for it, if sources have changed since then."""
    state = fingerprint(contents=True)
    if WARM.exists() and WARM.read_text() == state:
        return True
    done = call("-m", "gangsched", "warm-up") == 0
    if done:
        WARM.write_text(state)
    return done


def install(extra: str) -> None:
    """Bring .venv up to date with this folder; `extra` is the least it has to contain."""
    wanted = fingerprint()
    old = read_stamp()
    if old["extra"] in EXTRAS:
        extra = max(extra, old["extra"], key=EXTRAS.index)
    links = any(ROOT.glob("build/__editable__.gangsched-*"))
    if runs(PYTHON) and links and old == {"fingerprint": wanted, "extra": extra}:
        return
    make_environment()
    what = f"gangsched{extra} and what it needs"
    patience = "; the first time this takes a minute or more" if old["extra"] is None else ""
    say(f"installing {what} into .venv{patience}")
    started = time.monotonic()
    STAMP.unlink(missing_ok=True)
    WARM.unlink(missing_ok=True)
    pip(*build_requirements())
    set_machine_code_aside()
    try:
        editable = "--no-build-isolation", "--config-settings=editable_mode=strict", "-e"
        pip(*editable, f"{ROOT}{extra}")
    finally:
        put_machine_code_back()
    STAMP.write_text(json.dumps({"fingerprint": wanted, "extra": extra}))
    say(f"installed in {time.monotonic() - started:.0f} s")


def set_machine_code_aside() -> None:
    """Move machine code out of the folder of links to the sources, which pip makes anew."""
    for path in ROOT.glob("build/__editable__.gangsched-*/**/__pycache__/*.nb[ic]"):
        aside = MACHINE_CODE.joinpath(*path.relative_to(ROOT / "build").parts[1:])
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.replace(aside)


def put_machine_code_back() -> None:
    """Move it beside the new links; what a module that is gone was compiled to is deleted."""
    for links in ROOT.glob("build/__editable__.gangsched-*"):
        for aside in MACHINE_CODE.glob("**/*.nb[ic]"):
            path = links / aside.relative_to(MACHINE_CODE)
            if (path.parents[1] / (path.name.partition(".")[0] + ".py")).exists():
                path.parent.mkdir(exist_ok=True)
                aside.replace(path)
        shutil.rmtree(MACHINE_CODE, ignore_errors=True)


def read_stamp() -> dict[str, str | None]:
    """Return what the last finished installation recorded."""
    try:
        return dict(json.loads(STAMP.read_text()))
    except (OSError, ValueError):
        return {"fingerprint": None, "extra": None}


def fingerprint(contents: bool = False) -> str:
    """Hash what an installation depends on: Python, pyproject.toml and the package files' names.

    And, if asked for, what stands in them.
    """
    folders = pyproject()["tool"]["setuptools"]["package-dir"].values()
    files = sorted(
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    parts = [sys.version, str(ROOT), (ROOT / "pyproject.toml").read_text("utf-8"), *files]
    if contents:
        parts += [(ROOT / file).read_text("utf-8") for file in files if file.endswith(".py")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def pyproject() -> dict:
    """Read pyproject.toml."""
    import tomllib  # not before the version check

    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def build_requirements() -> list[str]:
    """Return what builds the project; kept in .venv so that a new file needs no network."""
    return pyproject()["build-system"]["requires"]


def make_environment() -> None:
    """Make .venv unless a usable one is there."""
    if runs(PYTHON, "-m", "pip", "--version"):
        return
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Failure(
                f"{sys.executable} has no module {module!r}, which makes virtual environments; "
                "install it (Debian and Ubuntu: apt install python3-venv) and run this again"
            )
    say("making the virtual environment .venv")
    clear = [] if runs(PYTHON) else ["--clear"]
    made = subprocess.run(
        [sys.executable, "-m", "venv", *clear, str(VENV)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if made.returncode:
        raise Failure(f"cannot make .venv: {last_line(made.stdout)}")


def pip(*args: str) -> None:
    """Run `pip install` quietly; its output is kept in LOG."""
    command = [str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check", *args]
    with LOG.open("w", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False)
    if done.returncode == 0:
        return
    output = LOG.read_text("utf-8", errors="replace")
    error = last_line(output)
    where = f"pip's output is in {LOG.relative_to(ROOT)}"
    if "No matching distribution" in error:
        error = output  # the reason stands further up
    if any(sign in error for sign in NO_NETWORK):
        raise Failure(f"cannot reach the package index, which the installation needs; {where}")
    raise Failure(f"pip could not install the project: {last_line(output)}; {where}")


def runs(*command: object) -> bool:
    """Say whether a command starts and succeeds."""
    words = [str(word) for word in command]
    if len(words) == 1:
        words += ["-c", ""]
    try:
        quiet = subprocess.DEVNULL
        return subprocess.run(words, stdout=quiet, stderr=quiet, check=False).returncode == 0
    except OSError:
        return False


def last_line(output: str) -> str:
    """Return the last line of an output that says something, pip's own errors first."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["no output"])[-1]


def say(text: object) -> None:
    """Tell the reader what happens next."""
    print(f"run.py: {text}", flush=True)


def fail(text: object) -> int:
    """Tell the reader why nothing more happens."""
    print(f"run.py: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
