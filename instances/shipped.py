"""Tables that come with the package: data that code only reads."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def shipped(package: str, name: str) -> dict[str, Any]:
    """Return a table of a package, from its TOML file of this name.

    Examples
    --------
    >>> shipped("gangsched.analysis.show", "columns")["time"]["title"]
    'Time'
    """
    return tomllib.loads(files(package).joinpath(f"{name}.toml").read_text("utf-8"))
