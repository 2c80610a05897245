"""Make the files of the named instances: ``python tests/build_library.py [--again] [NAME ...]``.

Every problem comes from a seeded generator, solutions and bounds from public calls of the project.
Instances that have a file are passed over, so that a build which was stopped
goes on; with ``--again`` all are run again, and a file is written only where a value or a bound is
better: otherwise its bytes, dates and history stay. A test checks what the files claim without
this script.
"""

import argparse
import datetime
import inspect
import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gangsched as gs
from gangsched import families, submissions
from gangsched.analysis.proofs.verify import InvalidCertificate, NoCertificate
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import library
from gangsched.instances.cores import cores
from gangsched.instances.io import json_text
from gangsched.instances.library import Entry
from gangsched.registry import find
from gangsched.solvers import Bound, Result
from gangsched.solvers.io import solution_to_dict
from gangsched.solvers.result import versions
from library_instances import Row, rows

DATA = Path(__file__).resolve().parents[1] / "instances" / "data"
#: seconds: of each solver, of the exact one, of the bound
LIMIT, EXACT_LIMIT, BOUND_LIMIT = 8.0, 8.0, 5.0
#: up to how many jobs the exact solver has how many seconds, where it searches windows of ends
WINDOW_LIMITS = {20: 10.0, 100: 60.0, 300: 120.0}
WINDOWED = ("completion-time", "sharing-incentive", "deadline-rewards")
#: characters of JSON up to which a problem, or a solution that a call gives, stands in the file
MOST_TEXT = 60_000
#: of a certificate: a longer one does not replace a weaker one that is shorter
MOST_CERTIFICATE = 300_000
COMPLETION = ("shortest-remaining", "smallest-area", "arrival", "area-order")
RINGS = ("first-fit", "list-scheduling", "sjf-bco", "backfill-longest", "backfill-area", "laminar")
#: solvers that are run, and up to how many jobs the exact one
SOLVERS: Mapping[str, tuple[tuple[str, ...], int]] = {
    "rar-ddls": (RINGS, 24),
    "unisched": (("density-greedy", "lp-selector"), 80),
    "irmp": (("online-density", "lp-list", "astraea", "search"), 20),
    "gandiva-fair": (("fair-share", "trading", "efficient", "max-min", "nash"), 0),
    "ltgf": (("least-fair-first",), 12),
    "ltgf-round": (("one-round",), 160),
    "ltgf-fluid": ((), 100),
    "completion-time": (COMPLETION, 300),
    "sharing-incentive": (("user-order",), 300),
    "deadline-rewards": (("reward-list", "reward-search"), 300),
}
#: of large problems only those that need seconds for them
LARGE, QUICKLY = 1_500, {"area-order", "backfill-longest", "density-greedy"}


def runs(problem: Any) -> Iterator[tuple[str, Result[Any]]]:
    """Yield the name and the result of each solver that gives a solution of the problem."""
    names, most = SOLVERS[str(find(problem))]
    jobs = submissions.size_of(problem)
    for name in names if jobs <= LARGE else [name for name in names if name in QUICKLY]:
        found = gs.solve(problem, name, seed=0, time_limit=LIMIT)
        if not isinstance(found, Result) or found.solution is None:
            continue
        if not problem.violations(found.solution):  # others solve a relaxation
            yield name, found
    if jobs <= most:
        found = gs.solve(problem, "exact", time_limit=exact_limit(problem))
        assert isinstance(found, Result)
        yield "exact", found


def exact_limit(problem: Any) -> float:
    """The seconds of the exact solver."""
    if str(find(problem)) not in WINDOWED:
        return EXACT_LIMIT
    jobs = submissions.size_of(problem)
    return next((limit for most, limit in WINDOW_LIMITS.items() if jobs <= most), EXACT_LIMIT)


def proven(problem: Any, bound: Bound) -> bool:
    try:
        gs.verify_bound(problem, bound)
    except (NoCertificate, InvalidCertificate):
        return False
    return True


def fits(bound: Bound) -> bool:
    """Whether a certificate, if there is one, is short enough for a file."""
    certificate = bound.certificate
    return certificate is None or len(json_text(dict(certificate))) <= MOST_CERTIFICATE


def stamp() -> dict[str, str]:
    return {"version": versions()["gangsched"], "date": datetime.date.today().isoformat()}


def row_of(name: str, result: Result[Any]) -> dict[str, Any]:
    return {
        "solver": name,
        "objective": result.objective,
        "bound": None if result.bound is None else result.bound.value,
        "seconds": round(result.runtime, 3),
        "stop": result.stop.value,
    }


def best_of(name: str, result: Result[Any], limit: float) -> dict[str, Any]:
    """The best known solution; by the call that gives it where it is too long for a file."""
    short, call = None, None
    if not hasattr(result.solution, "job") or len(result.solution.job) < 10_000:
        short = solution_to_dict(result.solution)
    if short is None or (name != "exact" and len(json_text(short)) > MOST_TEXT):
        short, call = None, {"solver": name, "seed": 0}
    return {
        "objective": result.objective,
        "solver": name,
        "parameters": {"seed": 0, "time_limit": limit},
        **stamp(),
        "solution": short,
        "call": call,
        "sha256": submissions.solution_hash(result.solution),
    }


def bound_of(bound: Bound) -> dict[str, Any]:
    certificate = None if bound.certificate is None else dict(bound.certificate)
    return {"value": bound.value, "method": bound.method, "certificate": certificate, **stamp()}


def measured(results: Mapping[str, Result[Any]], exact: float) -> dict[str, Any]:
    about = {"python": platform.python_version(), "machine": f"{cores()} cores"}
    limits = {"limit": LIMIT, "exact_limit": exact, "bound_limit": BOUND_LIMIT}
    rows = [row_of(name, result) for name, result in results.items()]
    return {**stamp(), **about, **limits, "seed": 0, "rows": rows}


def describe(family: str, arguments: Mapping[str, Any], seed: int) -> str:
    text = (inspect.getdoc(families.FAMILIES[family]) or "").partition("\n")[0].rstrip(".")
    said = ", ".join(f"{key}={value}" for key, value in arguments.items())
    return f"{text}; {said}, seed {seed}"


def build(row: Row) -> Entry:
    """Return the entry that a row gives, without what was known before."""
    name, family, arguments, seed = row
    call = {"family": family, "arguments": arguments, "seed": seed}
    problem = families.make(call)
    low = problem.sense.value == library.SENSES[0]
    results = dict(runs(problem))
    found = {key: result for key, result in results.items() if result.solution is not None}
    pick = min if low else max
    winner = pick(found, key=lambda key: found[key].objective)
    bounds = [gs.bound(problem, "full", time_limit=BOUND_LIMIT)]
    bounds += [result.bound for result in results.values() if result.bound is not None]
    certified = [bound for bound in bounds if fits(bound) and proven(problem, bound)]
    claims = [bound for bound in bounds if bound.certificate is None]
    last = max if low else min
    proof = last(certified, key=lambda bound: bound.value)
    claim = last(claims, key=lambda bound: bound.value) if claims else None
    if claim is not None and (
        library.meets(claim.value, proof.value) or (claim.value < proof.value) == low
    ):
        claim = None
    text, exact = problem_to_dict(problem), exact_limit(problem)
    made = Entry(
        name=name,
        description=describe(family, arguments, seed),
        formulation=str(find(problem)),
        sense=problem.sense.value,
        level="open",
        jobs=submissions.size_of(problem),
        problem=text if len(json_text(text)) <= MOST_TEXT else None,
        generator=call,
        sha256=submissions.problem_hash(problem),
        best=best_of(winner, found[winner], exact if winner == "exact" else LIMIT),
        proof=bound_of(proof),
        claim=None if claim is None else bound_of(claim),
        runs=measured(results, exact),
        history=[],
    )
    return merged(made, known(name))


def known(name: str) -> Entry | None:
    path = library.path_of(name, DATA)
    return None if not path.exists() else library.entry_from_dict(name, library.read_json(path))


def merged(made: Entry, before: Entry | None) -> Entry:
    """The new entry with what was better before; the old one where nothing is better now."""
    gains: list[bool] = []
    if before is not None:
        sides = library.SENSES if made.sense == library.SENSES[0] else library.SENSES[::-1]
        gains.append(submissions._beats(sides[0], made.objective, before.objective))
        if not gains[0]:
            digest = submissions.solution_hash(
                submissions.solution_of(before, submissions.problem_of(before))
            )
            best = {**made.best, **before.best, "sha256": digest}
            made = replace(made, best=best)
        value = None if before.proof is None else before.proof["value"]
        gains.append(value is None or submissions._beats(sides[1], made.proof["value"], value))
        if not gains[1]:
            made = replace(made, proof=before.proof)
        if not any(gains) and before.sha256 == made.sha256:
            return before
        claim = before.claim if made.claim is None else None
        if claim is not None and submissions._beats(sides[1], claim["value"], made.proof["value"]):
            made = replace(made, claim={**claim, **stamp()})
    level = library.level_of(made.objective, made.bound["value"], made.runs["rows"])
    history = [] if before is None else list(before.history)
    line = {"objective": made.objective, "bound": made.bound["value"], "by": made.solver}
    history.append({"date": stamp()["date"], **line})
    return replace(made, level=level, history=history)


def write_all() -> None:
    """Write the index of all files that there are."""
    found = (known(path.stem) for path in sorted(DATA.glob("*.json")) if path.name != library.INDEX)
    rows = {entry.name: library.index_row(entry) for entry in found if entry is not None}
    submissions.write_index(rows, DATA)


def build_rows(chosen: list[Row], again: bool) -> None:
    for row in chosen:
        before = known(row[0])
        if before is not None and not again:
            continue
        start = time.perf_counter()
        made = build(row)
        if made != before:
            submissions.accept(made, DATA)
        bound, took = made.bound, time.perf_counter() - start
        said = f"{made.objective} ({made.solver}), {bound['value']} ({bound['method']})"
        print(f"{made.name}: {said}, {made.level}, {took:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    chosen = [row for row in rows() if not options.names or row[0] in options.names]
    failed = False
    for _, group in groupby(chosen, key=lambda row: row[1]):
        # HiGHS keeps the number of threads of its first run in a process, and refuses another one
        worker = get_context("fork").Process(target=build_rows, args=([*group], options.again))
        worker.start()
        worker.join()
        failed |= bool(worker.exitcode)
    write_all()
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
