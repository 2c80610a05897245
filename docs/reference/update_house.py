"""Measure the house and draw it: `python docs/reference/update_house.py`.

Writes `house.md` (numbers before and after the rebuilding of 0.2.0) and the picture of
`docs/explanation/architecture.md`. With a folder as argument it prints the numbers of another
checkout as JSON, which is how `house.json` was made at 2e519fe.
"""

from __future__ import annotations

import ast
import io
import json
import sys
import textwrap
import tokenize
from collections import Counter
from collections.abc import Iterator
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

#: files that hold nothing but what there was not before: names in Python, the conformance suite,
#: names of before, histories, checkpoints, bounds and solvers of other problems, displays
NEW = (
    "package/api.py", "package/testing.py", "package/moved.py", "instances/display.py",
    "solvers/history.py", "solvers/signature.py", "solvers/ltgf/least_fair_first.py",
    "solvers/ltgf/packings.py", "formulations/deadline_rewards_forms.py",
    "formulations/ltgf/fluid_forms.py", "analysis/driving/checkpoint.py",
    "analysis/papers/renamed.py", "analysis/proofs/bound.py", "analysis/proofs/leases.py",
    "analysis/proofs/round_fairness.py", "analysis/proofs/verify_ltgf.py",
    "analysis/proofs/verify_deadline_rewards.py",
    # after 0.2.0
    "analysis/audit.py", "analysis/proofs/price_core.py", "analysis/proofs/prices.py",
    "analysis/proofs/model_price_core.py", "analysis/proofs/model_prices.py",
    "analysis/proofs/verify_audit.py", "analysis/proofs/verify_model_prices_core.py",
    "analysis/proofs/verify_prices_core.py",
    "instances/traces/auto.py", "instances/traces/catalogue.py", "instances/traces/export.py",
    "instances/traces/presets.py", "instances/traces/tres.py", "instances/traces/values.py",
    "instances/traces/write.py", "package/cli/audit.py", "package/cli/convert.py",
    "package/cli/traces.py", "solvers/policies/backfilling.py",
    "solvers/policies/backfilling_core.py", "solvers/policies/recorded.py",
    "solvers/model_order.py", "solvers/model_order_core.py", "solvers/policies/priced_models.py",
    "solvers/policies/serverfilling.py", "solvers/policies/smallest_area.py", "solvers/pool.py",
    "solvers/pool_core.py",
    "analysis/comparing/best_known.py", "analysis/comparing/pareto.py",
    "analysis/comparing/profiling.py", "analysis/show/pareto_plot.py",
    "analysis/comparing/regret.py", "analysis/comparing/sharing.py",
    "analysis/comparing/sharing_frontier.py", "analysis/proofs/reward_core.py",
    "analysis/proofs/user_prices.py", "analysis/proofs/verify_alone_core.py",
    "analysis/proofs/verify_rewards_core.py", "analysis/proofs/verify_user_prices.py",
    "analysis/show/frontier_plot.py", "analysis/show/loss_tables.py",
    "formulations/sharing_incentive.py", "formulations/sharing_incentive_forms.py",
    "solvers/policies/isolation_area.py", "solvers/policies/isolation_area_core.py",
    "solvers/repacking_core.py", "solvers/reward_pool.py", "solvers/reward_pool_core.py",
    "solvers/user_order.py",
    "analysis/driving/core/auction.py", "analysis/driving/core/backfilled.py",
    "analysis/driving/core/cells.py", "analysis/driving/core/deficit.py",
    "analysis/driving/core/leases.py", "analysis/driving/core/past.py",
    "analysis/driving/core/planned.py", "analysis/driving/core/priced.py",
    "analysis/driving/core/quotas.py", "analysis/driving/core/repacked.py",
    "analysis/driving/core/shares.py", "analysis/driving/core/steps.py",
    "instances/packed.py", "package/cli/warm_up.py", "instances/compiling.py",
    "solvers/limited.py",
)  # fmt: skip
HEAD = """# The house in numbers

Before (commit 2e519fe) and after the rebuilding of 0.2.0, counted by
`python docs/reference/update_house.py`: lines of code are those that hold a token which is neither
comment nor docstring.

"""


@dataclass(frozen=True)
class File:
    """What one source file is like."""

    name: str  # by its place, such as solvers/irmp/chain.py
    lines: int
    code: int
    docstrings: int
    functions: dict[str, int]  # code lines, docstring apart, by name

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
    functions = {
        node.name: (node.end_lineno or 0) - node.lineno + 1 - len(list(docstring_lines(node)))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    return File(name, source.count("\n"), len(code - said), len(said), functions)


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
        "- in files of new features only": sum(file.code for file in every if file.name in NEW),
        "lines of stubs, which name what packages offer": stubs(root),
        "lines of docstrings": sum(file.docstrings for file in every),
        "lines in all": sum(file.lines for file in every),
        "most files in one folder": max(Counter(f.name.rpartition("/")[0] for f in every).values()),
        "files above 800 lines": sum(file.lines > 800 for file in every),
        "lines of the longest file": max(file.lines for file in every),
        "functions above 80 lines": sum(n > 80 for f in every for n in f.functions.values()),
        "lines of the longest function": max(n for f in every for n in f.functions.values()),
    }


def page() -> str:
    """Return the page of numbers."""
    before, after = json.loads(BEFORE.read_text("utf-8")), numbers(ROOT)
    rows = [f"| {name} | {before[name]:,} | {value:,} |" for name, value in after.items()]
    return HEAD + "\n".join(["| | before | after |", "| --- | ---: | ---: |", *rows]) + "\n"


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
        print(json.dumps(numbers(Path(sys.argv[1])), indent=1))
    else:
        PAGE.write_text(page(), "utf-8")
        draw(files(ROOT)).savefig(PICTURE, dpi=110, metadata={"Software": None})
