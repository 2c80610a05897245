"""Sphinx: how the pages of this folder become a site, ``python3 run.py site``."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

project = "gangsched"
author = "The gangsched authors"
copyright = "The gangsched authors"
release = metadata.version("gangsched")

root_doc = "contents"
extensions = ["myst_nb"]
exclude_patterns = ["papers/data"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = -1  # no limit: a machine may be busy
nb_execution_raise_on_error = True

html_theme = "pydata_sphinx_theme"
html_title = "gangsched"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}

ROOT = Path(__file__).resolve().parents[1]


def _inside(app: object, name: str, source: list[str]) -> None:
    """Let links lead to pages of the site, also those to files above this folder."""
    text = source[0]
    if name == "contributing":
        text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").replace("](docs/", "](../docs/")
    up = "../" * name.count("/")
    text = text.replace("](../docs/", "](")
    text = re.sub(rf"\]\({up}\.\./CONTRIBUTING\.md", f"]({up}contributing.md", text)
    text = re.sub(rf"\]\({up}\.\./README\.md(#[\w-]+)?", f"]({up}index.md", text)
    # what is no page, such as a folder of data, is named without a link
    source[0] = re.sub(
        rf"\[([^\]]+)\]\((?:data|{up}\.\./[^)]*|tests/[^)]*|CHANGELOG\.md)\)", r"\1", text
    )


def setup(app: object) -> None:
    """Read pages in this way."""
    app.connect("source-read", _inside)  # type: ignore[attr-defined]
