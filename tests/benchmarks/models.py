"""Measure what building the default models costs beside solving them, and whether limits hold.

    python tests/benchmarks/models.py                     # all problems that are solved by a model
    python tests/benchmarks/models.py --only ltgf --limit 20
    python tests/benchmarks/models.py --into docs/benchmarks.md

Run by hand. *build* is the Pyomo model with its start, *pass on* its standard form and HiGHS' own
copy, *solve* is HiGHS up to `--limit` seconds (marked + where they were over). *2 s* is the wall
time of `solve_exact` with a limit of 2 s, which should end by 2.7.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.formulations import CompletionTime, DeadlineRewards, SharingIncentive
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, User
from gangsched.solvers import exact

LIMIT = 2.0
COLUMNS = "problem", "jobs", "columns", "nonzeros", "build (s)", "pass on (s)", "solve (s)", "2 s"
MARKERS = "<!-- models begin -->", "<!-- models end -->"


def short_jobs(number: int, seed: int = 0) -> list[dict[str, Any]]:
    """Jobs of 2 to 9 seconds, one of which comes each second."""
    rng = np.random.default_rng([number, seed])
    return [
        {"id": str(i), "gpus": int(rng.integers(1, 5)), "work": int(rng.integers(2, 10)),
         "release": i, "user": "uvw"[i % 3]}
        for i in range(number)
    ]  # fmt: skip


def completion(number: int) -> CompletionTime:
    """Completion times of short jobs on a node of 8 GPUs."""
    return CompletionTime(
        Instance(Cluster.of_sizes([8]), [Job(**row) for row in short_jobs(number)])
    )


def sharing(number: int) -> SharingIncentive:
    """The same of three users."""
    users = [User(u) for u in "uvw"]
    jobs = [Job(**row) for row in short_jobs(number)]
    return SharingIncentive(Instance(Cluster.of_sizes([8]), jobs, users))


def rewards(number: int) -> DeadlineRewards:
    """Short jobs with a deadline at twice their time."""
    jobs = [
        DeadlineJob(**row, rewards=[(row["release"] + 2 * row["work"], 100.0)])
        for row in short_jobs(number)
    ]
    return DeadlineRewards(Instance(Cluster.of_sizes([4]), jobs))


def named(problem: str, setting: str, number: int, nodes: int | None = None) -> Any:
    """So many jobs of a setting."""
    return gs.problem(problem, setting=setting, jobs=number, nodes=nodes)


#: problems by name: what makes one with so many jobs, and small and large numbers of them
CASES: Mapping[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "rar-ddls": (partial(named, "rar-ddls", "heavy", nodes=2), (4, 8)),
    "unisched": (partial(named, "unisched", "queue-philly"), (20, 60, 100)),
    "ltgf": (partial(named, "ltgf", "lives"), (5, 10)),
    "ltgf-round": (partial(named, "ltgf-round", "lease"), (40, 2000)),
    "completion-time": (completion, (20, 60, 120)),
    "sharing-incentive": (sharing, (20, 60, 120)),
    "deadline-rewards": (rewards, (20, 60, 120)),
}


def row(name: str, problem: Any, number: int, limit: float) -> str:
    """A line of the table."""
    began = time.perf_counter()
    gs.solve_exact(problem, time_limit=LIMIT)
    wall = time.perf_counter() - began
    start = exact._start_of(problem)
    known = None if start is None else gs.solve(problem, "laminar").solution
    options = {} if known is None else start.model_options(problem, known)
    marks = [time.process_time()]
    model = problem.build(problem.forms[0], **options)
    if known is not None:
        model.embed(known)
    marks.append(time.process_time())
    native = exact._Native.of(model.native)
    marks.append(time.process_time())
    answer = exact._solve_highs(native, limit, None, known is not None)
    marks.append(time.process_time())
    build, pass_on, solve = np.diff(marks)
    late = "+" if answer.stop is gs.solvers.Stop.TIME_LIMIT else ""
    cells = [
        name, f"{number}", f"{answer.info['columns']:,}", f"{answer.info['nonzeros']:,}",
        f"{build:.2f}", f"{pass_on:.2f}", f"{solve:.2f}{late}", f"{wall:.2f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def table(only: str | None, limit: float) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---|" + "--:|" * (len(COLUMNS) - 1)
    for name, (make, numbers) in CASES.items():
        if only in (None, name):
            exact._Native.of(make(2).build().native)  # what is imported and compiled
            for number in numbers:
                yield row(name, make(number), number, limit)
    if only in (None, "rar-ddls"):
        library = gs.problem("rar-small-4")
        yield row("rar-small-4", library, len(library.jobs), limit)


def main() -> None:
    """Measure, and print or write."""
    from table import deliver, machine

    parser = argparse.ArgumentParser(description="Measure models.")
    parser.add_argument("--only", choices=CASES, help="a problem")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of solving")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    if options.into is not None and not all(
        marker in options.into.read_text("utf-8") for marker in MARKERS
    ):
        parser.error(f"--into: {options.into} has no place {' to '.join(MARKERS)}")
    text = [machine("python tests/benchmarks/models.py --into docs/benchmarks.md"), ""]
    for line in table(options.only, options.limit):
        print(line, flush=True)
        text.append(line)
    if options.into is not None:
        deliver("\n".join(text), options.into, MARKERS)


if __name__ == "__main__":
    main()
