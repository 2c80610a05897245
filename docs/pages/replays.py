"""What commands of a page print, below them; runtimes differ each time."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from pages import DOCS, ROOT, TRACES, put, run

TUTORIAL = DOCS / "tutorial/replay-your-own-trace.md"  # makes jobs.csv
POLICY = DOCS / "how-to/add-a-policy.md"  # makes smallest_area.py and needs jobs.csv
QUESTIONS = DOCS / "how-to/answer-questions-about-a-cluster.md"  # makes cluster.csv
PHILLY, RESULTS, README = DOCS / "philly.md", DOCS / "results.md", ROOT / "README.md"
EXCERPT = "excerpt: docs/philly.md"

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(
    r"^```console\ngangsched (?P<command>(?:replay|size|what-if) [^\n]+)\n```$.*?"
    r"^```text\n(?P<out>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def prepare(folder: Path) -> None:
    """Write what the pages make before they replay, into the current folder `folder`."""
    for page in (TUTORIAL, QUESTIONS):
        exec(PYTHON.findall(page.read_text("utf-8"))[0], {})
    code = PYTHON.findall(POLICY.read_text("utf-8"))[0]
    (folder / "smallest_area.py").write_text(code, "utf-8")


def filled(page: str, run: Callable[..., str]) -> str:
    """Return a page with what `run` says its commands print."""

    def fresh(block: re.Match[str]) -> str:
        lines = [line.rstrip() for line in run(*shlex.split(block["command"])).splitlines()]
        start, end = (place - block.start() for place in block.span("out"))
        return block[0][:start] + "\n".join([*lines, ""]) + block[0][end:]

    return SHOWN.sub(fresh, page)


def excerpt(page: str) -> str:
    """Return the first table of a page, and its settings."""
    block = SHOWN.search(page)
    assert block is not None
    parts = block["out"].split("\n\n")
    settings = re.search(r"^Information: .+$", parts[-1], re.MULTILINE)
    assert settings is not None
    text = "\n\n".join([*parts[1:3], settings[0]])
    return f"```text\n{text}\n```"


def timeless(page: str) -> list[str]:
    """Return the lines of a page without runtimes, and without the width that they need."""
    lines = (re.sub(r" +\d+\.\d\d s$", " 0 s", line) for line in page.splitlines())
    return [re.sub(r"─+", "─", re.sub(r" {2,}", "  ", line)) for line in lines]


def write(page: Path) -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        prepare(Path())
        if (TRACES / "philly/philly.csv.gz").exists():
            os.symlink(TRACES / "philly/philly.csv.gz", "philly.csv.gz")
        page.write_text(filled(page.read_text("utf-8"), run), "utf-8")
        for picture in Path().glob("*.svg"):
            shutil.copy(picture, DOCS / "images" / f"what-if-{picture.name}")
    if page == PHILLY:
        put(README, EXCERPT, excerpt(page.read_text("utf-8")))
