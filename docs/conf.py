"""Sphinx: how the pages of this folder become a site, ``python3 run.py site``."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

project = "gangsched"
author = "The gangsched authors"
copyright = "The gangsched authors"
release = metadata.version("gangsched")

root_doc = "contents"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["papers/data"]
autodoc_typehints = "none"  # docstrings have the types, with shapes and units
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # a shape such as (jobs,) is no reference to things of that name
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = -1  # no limit: a machine may be busy
nb_execution_raise_on_error = True

html_theme = "pydata_sphinx_theme"
html_title = "gangsched"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
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


def _api(app: Any) -> None:
    """Write the pages of the API in full, which are made of docstrings."""
    if Path(app.srcdir) != ROOT / "docs":
        return  # the notebooks alone have none
    folder = ROOT / "docs" / "reference" / "full"
    folder.mkdir(exist_ok=True)
    for name, text in runpy.run_path(str(ROOT / "docs/pages/api.py"))["full"]().items():
        page = folder / f"{name}.rst"
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def _math(display: str) -> Callable[[Any, Any], None]:
    """Write formulas as MathML, which browsers show without a script of somebody else."""

    def write(translator: Any, node: Any) -> None:
        formula = convert(node.astext(), display=display)
        if display == "block":
            style = "overflow-x: auto; padding: .5em 0"
            formula = f'<div class="formula" style="{style}">{formula}</div>'
        translator.body.append(formula)
        raise SkipNode

    return write


def setup(app: Any) -> None:
    """Read and write pages in this way."""
    app.add_html_math_renderer("mathml", (_math("inline"), None), (_math("block"), None))
    app.connect("builder-inited", _api)
    app.connect("source-read", _inside)
