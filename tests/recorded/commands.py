"""Commands: list, demo, compare, replay, describe; and the solvers that compare runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import gangsched as gs
from gangsched.registry import solver

from .instances import log, market, paper_ring, queue, revenue, ring_problem
from .plain import cli, drawing, page, pictures, plain, process
from .table import ENTRIES, attempt, command, entry, solvers_of


@entry
def list_of_names(folder: Path) -> Any:
    return process("list")


@entry
def demo(folder: Path) -> Any:
    return command(folder, "demo", "--out", folder / "demo")


@entry
def demo_in_a_process(folder: Path) -> Any:
    said = process("demo", "--out", folder)
    kinds = {path.name: path.stat().st_size > 2_000 for path in folder.iterdir()}
    return {**said, "written": kinds}


def compared(make: Callable[[], Any], left_out: tuple[str, ...], folder: Path) -> Any:
    problem = make()
    gs.io.save(folder / "problem.json", problem)
    stem = gs.io.plain.read_json(folder / "problem.json")["problem"]
    names = [name for name in solvers_of(stem) if name not in left_out]
    files = "--json", folder / "found.json", "--report", folder / "found.html"
    said = command(folder, "compare", folder / "problem.json", "--solvers", ",".join(names), *files)
    said["files"].pop("problem.json")
    return said


def solved(make: Callable[[], Any], left_out: tuple[str, ...], folder: Path) -> Any:
    """Each solver's result with its schedule, and whether its certificate holds."""
    problem = make()
    gs.io.save(folder / "problem.json", problem)
    stem = gs.io.plain.read_json(folder / "problem.json")["problem"]
    found = {}
    for name in solvers_of(stem):
        if name in left_out:
            continue
        _, solve = solver(stem, name)
        result = attempt(solve, problem, seed=1)
        if isinstance(result, str):
            found[name] = result
        elif hasattr(result, "violations"):
            found[name] = {"refuted": list(result.violations)}
        else:
            gs.io.save(folder / "result.json", result)
            found[name] = gs.io.plain.read_json(folder / "result.json")
            found[name]["verified"] = attempt(gs.verify_bound, problem, result.bound)
    return found


PROBLEMS: Mapping[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "rar_ddls": (ring_problem, ()),
    "rar_ddls_larger": (paper_ring, ("exact",)),
    "unisched": (queue, ()),
    "irmp": (revenue, ()),
    "gandiva_fair": (market, ()),
    "gandiva_fair_nash": (partial(market, 1, "nash"), ()),
}
for _name, _made in PROBLEMS.items():
    ENTRIES[f"compare_{_name}"] = partial(compared, *_made)
    ENTRIES[f"solve_{_name}"] = partial(solved, *_made)


# --- replays -------------------------------------------------------------------------------------

SHOWN = "fifo,srtf,las,tiresias-l,themis-greedy,gandiva-fair,ltgf,unisched,ltgf:printed,max-min"


def replayed(folder: Path, *args: Any) -> Any:
    """Some policies through the command line, with all that it writes."""
    files = "--json", folder / "found.json", "--report", folder / "found.html"
    said = command(folder, "replay", *args, "--policies", SHOWN, *files)
    rows = said["files"]["found.json"].pop("rows")  # policies_on_a_log and others have such
    return {**said, "digests": {row["name"]: row["digest"][:10] for row in rows}}


@entry
def replay_log(folder: Path) -> Any:
    path = log(folder / "log.csv")
    where = "--reader", "philly-csv", "--nodes", 3, "--gpus-per-node", 4
    return replayed(folder, path, *where, "--round-length", 30, "--lease", 300)


@entry
def replay_models(folder: Path) -> Any:
    path = log(folder / "log.csv", jobs=30)
    where = "--reader", "philly-csv", "--nodes", "v100:1x4,p40:1x4,k80:2x4", "--speeds", "table1"
    return replayed(folder, path, *where, "--lease", 600)


@entry
def replay_deadlines(folder: Path) -> Any:
    where = "T24", "--reader", "scenario", "--nodes", 3, "--gpus-per-node", 4
    return replayed(folder, *where)


@entry
def replays_with_few_users(folder: Path) -> Any:
    """Replays of one user, of nobody, of one job and of jobs that come at once."""
    found: dict[str, Any] = {}
    head, *rows = log(folder / "log.csv", jobs=9).read_text("utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    for name, jobs in {
        "one user": [[*row[:3], "a"] for row in cells],
        "nobody": [[*row[:3], ""] for row in cells],
        "one job": cells[:1],
        "at once": [[cells[0][0], *row[1:]] for row in cells],
    }.items():
        path = folder / f"{name.replace(' ', '-')}.csv"
        path.write_text("\n".join([head, *map(",".join, jobs)]) + "\n", "utf-8")
        where = path, "--reader", "philly-csv", "--nodes", 2, "--gpus-per-node", 8
        files = "--report", folder / "a.html", "--json", folder / "a.json"
        found[name] = cli("replay", *where, "--policies", "fifo,ltgf,gandiva-fair", *files)
        found[f"{name}, described"] = cli("describe", *where[:3])
        if (folder / "a.html").exists():
            found[f"{name}, page"] = page((folder / "a.html").read_text("utf-8"))["lines"]
            (folder / "a.html").unlink()
    return found


@entry
def options_of_replay(folder: Path) -> Any:
    """What other options of a replay change, each by itself."""
    path = log(folder / "log.csv", jobs=30)
    where = path, "--reader", "philly-csv", "--nodes", 3, "--gpus-per-node", 4
    names = "--policies", "srtf,las,ltgf,gandiva-fair", "--no-report", "--json", folder / "a.json"
    found: dict[str, Any] = {}
    for more in (
        ("--ledger",), ("--explain",), ("--effort", "standard"), ("--information", "profiled"),
        ("--information", "estimated"), ("--information", "profiled-dedicated-1"),
        ("--without", "2017-10-07..2017-10-08"), ("--without-users", "a"), ("--spread",),
        ("--asynchronous",), ("--until", "2017-10-08"), ("--first", 12), ("--overhead", 0),
    ):  # fmt: skip
        said = command(folder, "replay", *where, *names, *more)
        files = f"{crc32(json.dumps(plain(said.pop('files'), str(folder))).encode()):08x}"
        found[" ".join(map(str, more))] = {**said, "files": files}
    return found


@entry
def options_of_compare(folder: Path) -> Any:
    """Pictures and words of a comparison that come only when they are asked for."""
    problem, shown = folder / "problem.json", list[Any]()
    gs.io.save(problem, ring_problem())
    with pictures(shown, drawing):
        said = [
            cli("compare", source, "--no-report", *more)
            for source in (problem, "rar-b-0")
            for more in (("--explain",), ("--pareto", folder / "a.svg"))
        ]
    return {"said": said, "pictures": shown}


@entry
def describe(folder: Path) -> Any:
    path = log(folder / "log.csv", jobs=300, span=9 * 3600)
    files = "--json", folder / "found.json", "--plot", folder / "found.png"
    return command(folder, "describe", path, "--reader", "philly-csv", *files)


@entry
def looks_of_reports(folder: Path) -> Any:
    """The pictures of reports as they look: lines, sizes, places."""
    problem, path, few = folder / "problem.json", folder / "log.csv", folder / "few.csv"
    log(path, jobs=30)
    log(few, jobs=9, seed=1)
    gs.io.save(problem, market())
    report, nodes = ("--report", folder / "a.html"), ("--nodes", "v100:1x4,p40:1x4,k80:2x4")
    found = {}
    for name, args in {
        "replay": ("replay", path, "--nodes", 3, "--gpus-per-node", 4, "--policies", SHOWN),
        "models": ("replay", path, *nodes, "--speeds", "table1", "--policies", SHOWN),
        "few": ("replay", few, "--nodes", 1, "--gpus-per-node", 8, "--policies", "fifo,ltgf"),
        "deadlines": ("replay", "T24", "--nodes", 3, "--gpus-per-node", 4, "--policies", SHOWN),
        "market": ("compare", problem),
        "ring": ("compare", "rar-b-0"),
        "queue": ("compare", "--problem", "unisched", "--setting", "queue-philly", "--jobs", 40),
        "log": ("describe", path, "--plot", folder / "a.png"),
        "small log": ("describe", few, "--plot", folder / "a.png"),
    }.items():
        reader = "scenario" if "T24" in args else "philly-csv"
        given = [*args, *(("--reader", reader) if args[0] != "compare" else ())]
        found[name] = shown = list[Any]()
        with pictures(shown, drawing):
            cli(*given, *(report if args[0] != "describe" else ()))
    return found


@entry
def settings(folder: Path) -> Any:
    """The seeded settings, smaller than printed where that can be said."""
    found: dict[str, Any] = {}
    for k, (problem, setting, *more) in enumerate((
        ("rar-ddls", "paper-a", "--jobs", 14, "--nodes", 3, "--seed", 2),
        ("rar-ddls", "heavy", "--jobs", 12, "--nodes", 2),
        ("unisched", "queue-philly", "--jobs", 40), ("unisched", "queue-helios", "--jobs", 30),
        ("irmp", "reduced", "--jobs", 5, "--nodes", 6, "--utility", "convex"),
        ("gandiva-fair", "table3"), ("gandiva-fair", "random", "--seed", 3),
    )):  # fmt: skip
        (folder / str(k)).mkdir()
        files = "--json", folder / str(k) / "a.json", "--report", folder / str(k) / "a.html"
        where = "--problem", problem, "--setting", setting
        said = command(folder / str(k), "compare", *where, *more, *files)
        found[f"{problem} {setting}"] = {"out": said["out"], "found": said["files"]["a.json"]}
    return found


@entry
def traces_of_problems(folder: Path) -> Any:
    """Jobs of a log as instances of two problems."""
    path, files = log(folder / "log.csv"), ("--report", folder / "a.html")
    where = path, "--reader", "philly-csv", "--seed", 1, *files
    ring = "--problem", "rar-ddls", "--nodes", 3, "--gpus-per-node", 4, "--jobs", 10
    return [
        command(folder, "compare", *where, *ring),
        command(folder, "compare", *where, "--problem", "irmp", "--nodes", 8, "--jobs", 6),
    ]


@entry
def solve(folder: Path) -> Any:
    problem = folder / "problem.json"
    gs.io.save(problem, ring_problem(3))
    return [
        command(folder, "solve", problem, "--json", folder / "found.json"),
        command(folder, "solve", problem, "--solver", "exact"),
        command(folder, "solve", "rar-contention-1", "--solver", "laminar", "--seed", 2),
    ]


@entry
def resumed(folder: Path) -> Any:
    """Runs that are kept, and a replay that takes them."""
    path, runs = log(folder / "log.csv", jobs=20), ("--save-runs", folder / "runs")
    where = path, "--reader", "philly-csv", "--nodes", 2, "--gpus-per-node", 4, "--spread"
    files = "--json", folder / "a.json", "--report", folder / "a.html"
    given = "replay", *where, *files, *runs, "--policies"
    first = command(folder, *given, "srtf,ltgf", "--asynchronous", "--migration", 40)
    again = cli(*given, "srtf,ltgf,fifo", "--asynchronous", "--migration", 40, "--resume")
    other = cli(*given, "srtf,ltgf", "--resume")
    weighted = cli(*given[:-1], "--policies", "ltgf,themis", "--weights", "equal", "--first", 9)
    return [first, again, other, weighted]


@entry
def one_claim(folder: Path) -> Any:
    return [cli("theorems", claim) for claim in ("lemma-3", "quota-window", "rounding", "none")]


WRONG: tuple[tuple[Any, ...], ...] = (
    ("solve", "nothing"), ("solve", "rar-b-0", "--solver", "best"),
    ("solve", "rar-b-0", "--problem", "irmp"), ("solve", "rar-b-0", "--time-limit", -1),
    ("compare",), ("compare", "rar-b-0", "--setting", "paper-a"), ("compare", "--setting", "x"),
    ("compare", "--setting", "x", "--problem", "irmp"), ("compare", "LOG"),
    ("compare", "LOG", "--reader", "none", "--problem", "irmp"),
    ("compare", "LOG", "--reader", "philly-csv", "--problem", "unisched"),
    ("compare", "LOG", "--reader", "philly-csv", "--problem", "rar-ddls"),
    ("compare", "rar-b-0", "--solvers", "laminar,"), ("compare", "rar-b-0", "--jobs", 3),
    ("compare", "--problem", "gandiva-fair", "--setting", "table3", "--jobs", 3),
    ("replay", "LOG"), ("replay", "LOG", "--reader", "philly-csv"),
    ("replay", "LOG", "--reader", "swf", "--nodes", 2, "--gpus-per-node", 4),
    ("replay", "LOG", "--reader", "philly-csv", "--nodes", "a:1x2,b:0x2"),
    ("replay", "LOG", "--reader", "philly-csv", "--nodes", 2, "--gpus-per-node", 0),
    *(("replay", "LOG", "--reader", "philly-csv", "--nodes", 2, "--gpus-per-node", 4, *more)
      for more in (("--policies", "best"), ("--policies", "fifo,fifo"), ("--policies", "fifo,,"),
                   ("--lease", 0), ("--overhead", 900), ("--round-length", 0), ("--resume",),
                   ("--weights", "x"), ("--speeds", "table1"), ("--from", "x"), ("--first", 0),
                   ("--from", 50, "--until", 10), ("--migration", 3), ("--json", "/no/where"))),
    ("replay", "T0", "--reader", "scenario"), ("replay", "Q_SLO", "--reader", "scenario"),
    ("replay", "T9", "--reader", "scenario", "--weights", "equal"),
    ("describe", "LOG", "--reader", "helios"), ("describe", "none", "--reader", "philly-csv"),
    ("describe", "LOG", "--reader", "philly-csv", "--plot", "a.gif"),
    ("reproduce", "rar_ddls:fig1"), ("reproduce", "rar_ddls:fig4", "--reader", "swf"),
    ("reproduce", "rar_ddls:fig4", "--reader", "swf", "--trace", "LOG"), ("nothing",), (),
)  # fmt: skip


@entry
def wrong_commands(folder: Path) -> Any:
    path, found = log(folder / "log.csv"), {}
    for args in WRONG:
        report = ("--report", folder / "a.html") if args[:1] in (("compare",), ("replay",)) else ()
        found[" ".join(map(str, args))] = cli(*(path if a == "LOG" else a for a in args), *report)
    return found
