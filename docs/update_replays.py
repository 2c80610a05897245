"""Run the `gangsched replay` commands of the pages, and put what they print below them.

Run ``python docs/update_replays.py`` in a folder with the traces that the pages name; other pages
stay as they are. Runtimes differ each time. With ``--notes`` only the lines above the tables are
written, and of the settings below them what comes from the jobs and the cluster and not from the
policies, so that one policy will do.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = "docs/tutorial/replay-your-own-trace.md"  # makes jobs.csv
POLICY = "docs/how-to/add-a-policy.md"  # makes smallest_area.py and needs jobs.csv
PHILLY, RESULTS = "docs/philly.md", "docs/results.md"  # need philly.csv.gz
README = "README.md"  # has the first table of PHILLY
QUICKEST = "fifo"

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(
    r"^```console\ngangsched (?P<command>replay [^\n]+)\n```$.*?^```text\n(?P<out>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


#: settings of a comparison: what was known of run times, which the policies decide, and the rest
SETTINGS = re.compile(r"^(Information: .+?)(; seeds: .+)$", re.MULTILINE)


def prepare(folder: Path) -> None:
    """Write what the pages make before they replay, into the current folder `folder`."""
    exec(PYTHON.findall((ROOT / TUTORIAL).read_text("utf-8"))[0], {})
    code = PYTHON.findall((ROOT / POLICY).read_text("utf-8"))[0]
    (folder / "smallest_area.py").write_text(code, "utf-8")


def filled(page: str, run: Callable[[list[str]], str]) -> str:
    """Return a page with what `run` says its commands print."""

    def fresh(block: re.Match[str]) -> str:
        lines = [line.rstrip() for line in run(block["command"].split()).splitlines()]
        start, end = (place - block.start() for place in block.span("out"))
        return block[0][:start] + "\n".join([*lines, ""]) + block[0][end:]

    return SHOWN.sub(fresh, page)


def noted(page: str, run: Callable[[list[str]], str]) -> str:
    """Return a page with the lines above the tables that its commands print with one policy."""

    def fresh(block: re.Match[str]) -> str:
        command = re.sub(r"(?<=--policies )\S+", QUICKEST, block["command"])
        found = run(command.split())
        notes, old = found.partition("\n\n")[0], block["out"].partition("\n\n")[0]
        settings = SETTINGS.search(found)
        text = block[0].replace(old, notes, 1)
        return SETTINGS.sub(lambda m: m[1] + (settings or m)[2], text)

    return SHOWN.sub(fresh, page)


EXCERPT = re.compile(r"(?<=<!-- excerpt: docs/philly.md -->\n).*?(?=<!-- end -->)", re.DOTALL)


def excerpted(readme: str, page: str) -> str:
    """Return the README with the first table of a page, and its settings."""
    block = SHOWN.search(page)
    assert block is not None
    parts = block["out"].split("\n\n")
    settings = SETTINGS.search(parts[-1])
    assert settings is not None
    text = "\n\n".join([*parts[1:3], settings[0]])
    return EXCERPT.sub(lambda _: f"```text\n{text}\n```\n", readme)


def timeless(page: str) -> list[str]:
    """Return the lines of a page without runtimes, and without the width that they need."""
    lines = (re.sub(r" +\d+\.\d\d s$", " 0 s", line) for line in page.splitlines())
    return [re.sub(r"─+", "─", re.sub(r" {2,}", "  ", line)) for line in lines]


def _run(command: list[str]) -> str:
    words = [sys.executable, "-m", "gangsched", *command]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    prepare(Path())
    update = noted if sys.argv[1:] == ["--notes"] else filled
    for name in (TUTORIAL, POLICY, PHILLY, RESULTS):
        path = ROOT / name
        if name in (TUTORIAL, POLICY) or Path("philly.csv.gz").exists():
            path.write_text(update(path.read_text("utf-8"), _run), "utf-8")
    readme, philly = ROOT / README, (ROOT / PHILLY).read_text("utf-8")
    readme.write_text(excerpted(readme.read_text("utf-8"), philly), "utf-8")
