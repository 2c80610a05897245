"""Where the project's modules are: shared by the tests that read source files."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FOLDERS: dict[str, Path] = {
    package: ROOT / folder
    for package, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items()
}


def sources() -> dict[str, Path]:
    """Return {module name: file} of the whole package, packages under their own name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *parts)).removesuffix(".__init__")
            found[name] = path
    return found
