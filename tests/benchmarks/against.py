"""Measure this checkout against another one, such as an older commit: ratios of times from one run.

    git worktree add ../older 2e519fe
    python tests/benchmarks/against.py ../older                        # all scripts, three rounds
    python tests/benchmarks/against.py ../older driver -- --runs 3     # more goes to the script

In every round each script runs in both checkouts, in turn, with the Python that runs this. Printed
are the fastest wall times of all rounds, so that what else the machine does counts little, and
their ratio: above 1, this checkout is slower. With --cpu they are the least of the medians of CPU
times, for a machine that is never quiet. Lines that only one of them has are left out. At the end
stands a line for each script.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("instances", "formulations", "solvers", "analysis")
SCRIPTS = ("table", "driver", "selector", "revenue", "gandiva_fair")
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "min": 60.0}
WALL, CPU = "fastest wall", "CPU"  #: columns that can be read


def links(checkout: Path, folder: Path) -> Path:
    """Make a folder that PYTHONPATH can name, in which the checkout is the package."""
    package = folder / "gangsched"
    package.mkdir(parents=True)
    for path in [*(checkout / "package").iterdir(), *map(checkout.joinpath, LAYERS)]:
        (package / path.name).symlink_to(path)
    return folder


def times(text: str, heading: str) -> dict[str, float]:
    """Seconds of a column, by section and line of a script's tables."""
    found: dict[str, float] = {}
    section, column = "", None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif not line.startswith("|"):
            column = None
        elif heading in cells:
            column = cells.index(heading)
        elif column is not None and not cells[0].startswith("---"):
            number, _, unit = cells[column].partition(" ")
            if unit in UNITS:
                found[f"{section}: {cells[0]}"] = float(number.replace(",", "")) * UNITS[unit]
    return found


def measured(
    checkout: Path, path: Path, script: str, more: list[str], heading: str
) -> dict[str, float]:
    """Run a script of a checkout and read its tables."""
    command = [sys.executable, f"tests/benchmarks/{script}.py", *more]
    environment = {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{script}.py of {checkout.name} fails:\n{done.stderr[-2000:]}")
    return times(done.stdout, heading)


def main() -> None:
    """Run the scripts in both checkouts, in turn, and print a table of ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("scripts", nargs="*", default=SCRIPTS, help="; ".join(SCRIPTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="compare CPU times")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, more = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    print("| what | other | this | ratio |\n| --- | ---: | ---: | ---: |", flush=True)
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            (side, links(side, Path(folder) / str(i)))
            for i, side in enumerate((options.other.resolve(), ROOT))
        ]
        for script in options.scripts:
            best: list[dict[str, float]] = [{}, {}]
            for _ in range(options.rounds):
                for (checkout, path), known in zip(sides, best, strict=True):
                    found = measured(checkout, path, script, more, CPU if options.cpu else WALL)
                    for what, seconds in found.items():
                        known[what] = min(seconds, known.get(what, seconds))
            for what, seconds in best[1].items():
                if what in best[0]:
                    ratio = seconds / best[0][what]
                    ratios.setdefault(script, []).append(ratio)
                    row = f"{best[0][what] * 1e3:.4g} ms | {seconds * 1e3:.4g} ms"
                    print(f"| {what} | {row} | {ratio:.2f} |", flush=True)
    print(
        "\n| script | lines | least ratio | median | largest |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for script, all_of in ratios.items():
        levels = f"{min(all_of):.2f} | {statistics.median(all_of):.2f} | {max(all_of):.2f}"
        print(f"| {script} | {len(all_of)} | {levels} |")


if __name__ == "__main__":
    main()
