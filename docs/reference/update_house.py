"""Measure the house and draw it: `python docs/reference/update_house.py`.

Writes `house.md` (numbers before and after the rebuilding of 0.2.0; it needs the history of what
has been committed) and the picture of `docs/explanation/architecture.md`. With a folder as argument
it prints the numbers of another checkout as JSON, which is how `house.json` was made.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import textwrap
import tokenize
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = Path(__file__).with_name("house.md")
BEFORE = Path(__file__).with_name("house.json")
PICTURE = ROOT / "docs/images/architecture.png"
FLOORS = {
    "instances": "jobs, clusters, schedules, traces, generators",
    "formulations": "problems: objective, feasibility check, declarative models",
    "solvers": "algorithms and policies, results",
    "analysis": "proofs, comparisons, the driver, tables and pictures, the papers",
    "package": "what `import gangsched` and the command line offer",
}
STEMS = ("rar_ddls", "unisched", "irmp", "gandiva_fair", "ltgf")

#: the house as it was rebuilt, before the work on new features went on
REBUILT = "5f31984"
#: files that held nothing there but what there was not at 2e519fe: names in Python, the conformance
#: suite, names of before, histories, checkpoints, bounds and solvers of other problems, displays
NEW = (
    "package/api.py", "package/testing.py", "package/moved.py", "instances/display.py",
    "solvers/history.py", "solvers/signature.py", "solvers/ltgf/least_fair_first.py",
    "solvers/ltgf/packings.py", "formulations/deadline_rewards_forms.py",
    "formulations/ltgf/fluid_forms.py", "analysis/driving/checkpoint.py",
    "analysis/papers/renamed.py", "analysis/proofs/bound.py", "analysis/proofs/leases.py",
    "analysis/proofs/round_fairness.py", "analysis/proofs/verify_ltgf.py",
    "analysis/proofs/verify_deadline_rewards.py",
)  # fmt: skip
HEAD = f"""# The house in numbers

Before the rebuilding of 0.2.0 (commit 2e519fe), after it ({REBUILT}) and today, counted by
`python docs/reference/update_house.py`: lines of code are those that hold a token which is neither
comment nor docstring.

"""
FEATURES = """
## The features of 2e519fe

Much of today's house are features that 2e519fe did not have. To tell them apart, each line of
code is dated by `git blame -w -M -C -C`, which follows lines that moved to another place or file.
A function counts with all its lines among the features of 2e519fe as soon as a single one of them
is as old as {rebuilt}; of what stands outside functions (imports, tables, fields) each line counts
by its own date. Files that held nothing but new features at {rebuilt} are left out.

| | 2e519fe | {rebuilt} | today |
| --- | ---: | ---: | ---: |
{rows}

What these functions have gained since then is mostly what new features asked of them (a setting, a
column, a case more) and cannot be told apart by such a rule, so that the features of 2e519fe take
between {least:,} and {most:,} lines today: between {fewer:,} fewer and {more}. The aim was 5,000
fewer{met}.
"""


@dataclass(frozen=True)
class File:
    """What one source file is like."""

    name: str  # by its place, such as solvers/irmp/chain.py
    lines: int
    code: int
    docstrings: int
    functions: list[int]  # lines, docstring apart
    parts: list[list[int]]  # numbers of the lines of code of each function, then of the rest

    @property
    def floor(self) -> str:
        """The layer."""
        return self.name.split("/")[0]

    @property
    def room(self) -> str:
        """The paper, or the folder within the layer, or the layer itself."""
        parts = self.name.split("/")[1:-1]
        return next((p for p in parts if p in STEMS), parts[0] if parts else "")


def files(root: Path) -> list[File]:
    """Measure every source file of a checkout."""
    found = sorted(path for floor in FLOORS for path in (root / floor).rglob("*.py"))
    return [measured(path.relative_to(root).as_posix(), path.read_text("utf-8")) for path in found]


def measured(name: str, source: str) -> File:
    """Count the lines of one file."""
    tree = ast.parse(source)
    said = {line for node in ast.walk(tree) for line in docstring_lines(node)}
    code: set[int] = set()
    empty = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*empty, tokenize.ENDMARKER):
            code.update(range(token.start[0], token.end[0] + 1))
    code -= said
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lengths = [
        (node.end_lineno or 0) - node.lineno + 1 - len(list(docstring_lines(node)))
        for node in nodes
    ]
    return File(name, source.count("\n"), len(code), len(said), lengths, parts_of(tree, code))


def parts_of(tree: ast.AST, code: set[int]) -> list[list[int]]:
    """Divide lines of code among functions, inner ones with those around them, and the rest."""
    parts, left = [], [tree]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            if isinstance(node, ast.FunctionDef):
                first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                parts.append(sorted(code & set(range(first, (node.end_lineno or 0) + 1))))
            else:
                left.append(node)
    return [*parts, sorted(code.difference(*parts))]


def docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of a node's docstring."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
        yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


def stubs(root: Path) -> int:
    """Count the lines of all .pyi files of a checkout."""
    found = (path for floor in FLOORS for path in (root / floor).rglob("*.pyi"))
    return sum(len(path.read_text("utf-8").splitlines()) for path in found)


def numbers(root: Path) -> dict[str, Any]:
    """Return what the page shows of a checkout."""
    every = files(root)
    code = dict.fromkeys(FLOORS, 0)
    for file in every:
        code[file.floor] += file.code
    return {
        "files": len(every),
        "lines of code": sum(file.code for file in every),
        **{f"- in {floor}/": count for floor, count in code.items()},
        "lines of stubs, which name what packages offer": stubs(root),
        "lines of docstrings": sum(file.docstrings for file in every),
        "lines in all": sum(file.lines for file in every),
        "most files in one folder": max(Counter(f.name.rpartition("/")[0] for f in every).values()),
        "files above 800 lines": sum(file.lines > 800 for file in every),
        "lines of the longest file": max(file.lines for file in every),
        "functions above 80 lines": sum(n > 80 for f in every for n in f.functions),
        "lines of the longest function": max(n for f in every for n in f.functions),
    }


def page() -> str:
    """Return the page of numbers."""
    known, after = json.loads(BEFORE.read_text("utf-8")), numbers(ROOT)
    before, rebuilt = known["2e519fe"], known[REBUILT]
    rows = [
        f"| {name} | {before[name]:,} | {rebuilt[name]:,} | {value:,} |"
        for name, value in after.items()
    ]
    table = ["| | 2e519fe | 5f31984 | today |", "| --- | ---: | ---: | ---: |", *rows]
    return HEAD + "\n".join(table) + "\n" + features(before["lines of code"], rebuilt)


def features(before: int, rebuilt: dict[str, int]) -> str:
    """Return what the page says of the lines for the features of 2e519fe."""
    every = [file for file in files(ROOT) if file.name not in NEW]
    with ThreadPoolExecutor() as pool:
        dated = list(pool.map(old_lines, every))
    most = least = gone = 0
    for file, old in zip(every, dated, strict=True):
        *functions, rest = file.parts
        held = [lines for lines in functions if old.intersection(lines)]
        kept = len(old.intersection(rest))
        least += kept + sum(len(old.intersection(lines)) for lines in held)
        most += kept + sum(map(len, held))
        gone += file.code
    new, were = (
        sum(file.code for file in files(ROOT)) - gone,
        rebuilt["in files of new features only"],
    )
    apart = rebuilt["lines of code"] - were
    rows = [
        f"| features of 2e519fe, at the most | {before:,} | {apart:,} | {most:,} |",
        f"| - lines that stood at {REBUILT} | | {apart:,} | {least:,} |",
        f"| - lines that their functions have gained | | | {most - least:,} |",
        f"| files of what was new at {REBUILT} | 0 | {were:,} | {new:,} |",
        f"| functions and lines that came after | 0 | 0 | {gone - most:,} |",
    ]
    more = f"{most - before:,} more" if most > before else f"{before - most:,} fewer"
    met = "" if before - most >= 5_000 else ": not met"
    return FEATURES.format(
        rebuilt=REBUILT, rows="\n".join(rows), least=least, most=most, fewer=before - least,
        more=more, met=met,
    )  # fmt: skip


def old_lines(file: File) -> set[int]:
    """Return the numbers of the lines of a file that are as old as the rebuilt house."""
    command = ["git", "blame", "-w", "-M", "-C", "-C", "--porcelain", f"{REBUILT}..HEAD"]
    done = subprocess.run(
        [*command, "--", file.name], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: set[int] = set()
    commits: dict[str, bool] = {}  # whether blame went no further than this one
    commit, number = "", 0
    for line in done.stdout.splitlines():
        head = re.fullmatch(r"([0-9a-f]{40}) \d+ (\d+)( \d+)?", line)
        if head:
            commit, number = head[1], int(head[2])
            commits.setdefault(commit, False)
        elif line == "boundary":
            commits[commit] = True
        elif line.startswith("\t") and commits[commit]:
            found.add(number)
    return found


def draw(every: list[File]) -> Any:
    """Draw a floor for each layer, a wing for each paper, and the shared rooms on the left."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(13, 6.6))
    for y, (floor, purpose) in enumerate(FLOORS.items()):
        inside: Counter[str] = Counter()
        for file in every:
            if file.floor == floor:
                inside[file.room] += file.code
        shared = {room: lines for room, lines in inside.items() if room not in STEMS}
        own = shared.pop("", 0)
        rooms = [f"{room} {lines:,}" for room, lines in sorted(shared.items()) if lines]
        texts = [purpose, f"{own:,} lines" + "".join(f", {room}" for room in rooms)]
        box(axes, 0, 5.6, y, "\n".join([f"{floor}/", *map(wrapped, texts)]), 0)
        for x, stem in enumerate(STEMS):
            if inside[stem]:
                box(axes, 5.75 + 1.9 * x, 1.75, y, f"{inside[stem]:,} lines", x + 1)
    for x, stem in enumerate(STEMS):
        axes.text(6.62 + 1.9 * x, 5.05, stem, ha="center", fontsize=11, weight="bold")
    axes.text(2.8, 5.05, "shared", ha="center", fontsize=11, weight="bold")
    axes.annotate("", (-0.3, 0.1), (-0.3, 4.8), arrowprops={"arrowstyle": "-|>", "lw": 2.5})
    axes.text(-0.55, 2.45, "imports go down", rotation=90, va="center", ha="center", fontsize=11)
    axes.set(xlim=(-0.8, 15.3), ylim=(-0.1, 5.3))
    axes.axis("off")
    figure.tight_layout()
    return figure


def box(axes: Any, left: float, width: float, floor: int, text: str, colour: int) -> None:
    """Draw a room."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.1"
    fill = plt.get_cmap("Set2")(colour)
    place = (left, floor)
    axes.add_patch(FancyBboxPatch(place, width, 0.86, style, fc=fill, ec="0.35", alpha=0.75))
    axes.text(left + width / 2, floor + 0.43, text, ha="center", va="center", fontsize=9.5)


def wrapped(text: str) -> str:
    """Return a text in lines."""
    return textwrap.fill(text, 60)


if __name__ == "__main__":
    if sys.argv[1:]:
        every = files(Path(sys.argv[1]))
        apart = sum(file.code for file in every if file.name in NEW)
        found = {**numbers(Path(sys.argv[1])), "in files of new features only": apart}
        print(json.dumps(found, indent=1))
    else:
        PAGE.write_text(page(), "utf-8")
        draw(files(ROOT)).savefig(PICTURE, dpi=110, metadata={"Software": None})
