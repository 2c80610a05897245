"""What the pages share that `docs/measure.py` writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
TRACES = Path(os.environ.get("GANGSCHED_TRACES", ROOT.parent / "shared" / "traces"))


def put(page: Path, name: str, text: str) -> None:
    """Write a text between the line with this name and the next line that says end."""
    before, mark, rest = page.read_text("utf-8").partition(f"<!-- {name} -->\n")
    if not mark:
        raise RuntimeError(f"{page.name} has no line <!-- {name} -->")
    _, end, after = rest.partition("<!-- end -->")
    page.write_text(f"{before}{mark}{text.rstrip()}\n{end}{after}", "utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> str:
    """A Markdown table whose first columns are text, and the others numbers."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in (heads, *rows)]
    rule = "|" + " --- |" * left + " ---: |" * (len(heads) - left)
    return "\n".join([lines[0], rule, *lines[1:]])


def kept(file: Path, cells: Mapping[str, Callable[[], Any]], **head: Any) -> Mapping[str, Any]:
    """The data of a page, after running the cells that its file lacks; each is kept at once."""
    found = json.loads(file.read_text("utf-8")) if file.exists() else {"cells": {}}
    for key, compute in cells.items():
        if key not in found["cells"]:
            found = {**head, "cells": {**found["cells"], key: compute()}}
            print(key, found["cells"][key], flush=True)
            own = found["cells"].items()
            lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(own))
            text = f'{json.dumps(head)[:-1]}, "cells": {{\n{lines}\n}}}}\n'
            file.write_text(text, "utf-8")
    return found


def run(*words: str) -> str:
    """What a command of gangsched prints."""
    command = [sys.executable, "-m", "gangsched", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit() -> str:
    """The commit that is checked out."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "outside a repository"


def known_to(policies: Iterable[str]) -> str:
    """Which of these policies know run times."""
    from gangsched.registry import policy
    from gangsched.solvers.policy import information_of

    names = [name for name in policies if information_of(policy(name)[1]) is not None]
    said = f"run times when jobs come, for {', '.join(names)}; others use none"
    return said if names else "none used"
