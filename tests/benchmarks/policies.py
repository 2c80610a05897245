"""Measure every policy, and print the table of them for docs/benchmarks.md.

    python tests/benchmarks/policies.py FOLDER                        # to the screen
    python tests/benchmarks/policies.py FOLDER --only philly:las      # one cell
    python tests/benchmarks/policies.py FOLDER --older ../older       # beside another checkout
    python tests/benchmarks/policies.py FOLDER --older ../older --into docs/benchmarks.md
    python tests/benchmarks/policies.py FOLDER --only others --into docs/benchmarks.md   # one table
    python tests/benchmarks/policies.py FOLDER --growth docs/images/policies.png

FOLDER has the traces, see docs/how-to/read-a-trace.md. A run is from an instance in memory to the
finished `Run`. Times are CPU seconds, the median of `--runs` processes; in each of them a small
instance was driven first, which compiles or loads compiled code. *decide* is the part of it in the
policy's own Python, from one more run; *command* the peak of the whole command that replays the
trace under the policy and writes its report. With another checkout its processes run in turn with
these; it runs once where that takes above a minute, and `--limit` seconds are the most for a run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.instances import convert, generate, heterogeneous
from gangsched.instances.traces import READERS
from gangsched.registry import policy

COMMAND = "python tests/benchmarks/policies.py FOLDER"
LOADS, SIZES, MOST = (0.8, 1.0), (10_000, 30_000, 100_000, 300_000, 1_000_000), 100.0
PATIENCE = 21_600  # seconds: commit 2e519fe's default
LONG, SHORT = (
    60.0,
    5.0,
)  # seconds of a run of this checkout, and the other, after which it runs once
COLUMNS = (
    "policy", "CPU (s)", "target", "met", "before / now", "same ends", "in decide",
    "µs outside, a call", "decisions", "peak (MiB)", "command (MiB)",
)  # fmt: skip
PLAIN = (
    "fifo,fifo:backfill,sjf,sjf:backfill,srtf,las,yarn-cs,yarn-cs:backfill,hived,hived:backfill,"
    "tiresias-l,themis,themis-greedy,finish-time-fairness,max-min-fairness,gandiva-fair,ltgf,"
    "ltgf:quota,ltgf:rho-minus,ltgf:renewal-first,allox,max-sum-throughput,hydra,optimus,"
    "smallest-area,smallest-area:guard,"
    "easy,easy:estimates,conservative,conservative:estimates,serverfilling-srpt,isolation-area"
)
MODELS = (
    "fifo,sjf,srtf,las,allox,tiresias-l,themis,themis-greedy,finish-time-fairness,"
    "max-min-fairness,gandiva-fair,gandiva-fair:no-trade,ltgf,smallest-area"
)
#: those for jobs with deadlines, and others that decide in Python, where no job has one
OTHERS = (
    "edf,genie,genie:elastic,hydra:cost,optimus:elastic,chronus,chronus:estimator,chronus:selector,"
    "value-density,value-density:balanced,value-density:profiled,min-total-duration,"
    "gandiva-fair:literal"
)
DEADLINES = (
    "chronus,genie,genie:elastic,hydra,hydra:cost,optimus,optimus:elastic,three-sigma,unisched"
)
SIZED = "fifo,srtf,tiresias-l,ltgf,themis-greedy,smallest-area"
#: what stands in the table: heading, policies, seconds that are the target (for all, and others)
SETTINGS: dict[str, tuple[str, str, float, dict[str, float]]] = {
    "philly": (
        "Philly CSV, 69,089 jobs, 320 GPUs", PLAIN, 5, {"hived": 3, "yarn-cs": 3, "themis": 4},
    ),
    "others": (
        "Philly CSV, 69,089 jobs, 320 GPUs: those for deadlines, and others", OTHERS, 5,
        {"hydra:cost": math.nan, "chronus:selector": math.nan},  # exact search, linear programs
    ),
    "20k": ("20,000 jobs on 320 GPUs, load .95: where time goes", PLAIN, math.nan, {}),
    "models": ("Philly CSV on three GPU models (README)", MODELS, 15, {}),
    "deadlines": ("First 1,000 rows of P_MIX2, 30 nodes of 8", DEADLINES, 10, {}),
    "300k": ("300,000 jobs on 320 GPUs, load .9", SIZED, 8, {}),
    "1m": ("1,000,000 jobs on 10,000 GPUs, load .9", "fifo,ltgf", 20, {}),
}  # fmt: skip

#: whole commands, with the seconds that are the target; FOLDER is that of the traces
PHILLY = "replay FOLDER/philly/philly.csv.gz --reader philly-csv --nodes 40 --gpus-per-node 8"
WHOLE = {"philly": PHILLY, "others": PHILLY}  # commands that replay the jobs of a setting
EIGHT = "fifo,easy,tiresias-l,themis,ltgf,srtf,isolation-area,smallest-area"
COMMANDS: dict[str, tuple[str, float]] = {
    "README's, of eight policies": (f"{PHILLY} --policies {EIGHT} --effort quick", 12),
    "of README's four at 2e519fe": (
        f"{PHILLY} --policies fifo,tiresias-l,themis,ltgf --effort quick", 12,
    ),
    "compare rar-contention-2 (four jobs)": ("compare rar-contention-2", 1.5),
    "help": ("--help", 0.3),
}  # fmt: skip
#: of which the first use after `gangsched warm-up` is timed
FIRST = ("compare rar-contention-2", f"{PHILLY} --policies fifo,ltgf,themis --effort quick")


class Timed:
    """A policy or session whose decisions are timed."""

    def __init__(self, own: Any, taken: list[tuple[bool, float]]) -> None:
        self.own, self.taken = own, taken

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.own, name)
        if name == "begin":
            return lambda *rest: Timed(found(*rest), self.taken)
        if name not in ("decide", "next_change"):
            return found

        def timed(state: Any) -> Any:
            began = time.process_time()
            decided = found(state)
            self.taken.append((name == "decide", time.process_time() - began))
            return decided

        return timed


def instance_of(setting: str, folder: Path, few: int | None = None) -> Any:
    """Return the jobs and the cluster of a setting; or so few of its jobs."""
    pool = gs.Cluster.uniform(nodes=40, gpus_per_node=8)
    if setting in ("philly", "others"):
        trace = READERS["philly-csv"](folder / "philly/philly.csv.gz")
        return convert.to_instance(trace, pool, jobs=few).instance
    if setting == "models":
        trace = READERS["philly-csv"](folder / "philly/philly.csv.gz")
        sizes = [("v100", 5, 4), ("p100", 9, 4), ("k80", 24, 4)]
        cluster = heterogeneous.mixed_cluster(sizes)
        made = convert.to_instance(trace, cluster, jobs=few).instance
        return heterogeneous.with_speeds(made, seed=0)
    if setting == "deadlines":
        trace = READERS["chronus"](folder / "chronus/trace_job_Philly_MIX2.csv.gz")
        cluster = gs.Cluster.uniform(nodes=30, gpus_per_node=8)
        return convert.to_instance(trace, cluster, jobs=few or 1_000).instance
    nodes, jobs, load = {
        "20k": (40, 20_000, 0.95), "300k": (40, 300_000, 0.9), "1m": (1_250, 1_000_000, 0.9)
    }.get(setting) or (313, *map(float, setting.removeprefix("growth-").split("@")))  # fmt: skip
    cluster = gs.Cluster.uniform(nodes=nodes, gpus_per_node=8)
    return generate.philly_workload(cluster, jobs=few or int(jobs), load=load, seed=0)


@lru_cache(maxsize=2)
def kept(setting: str, folder: Path, few: int | None, store: Path | None) -> Any:
    """The same from a file that an earlier process of this checkout has written."""
    if store is None:
        return instance_of(setting, folder, few)
    file = store / f"{setting}-{few}.pickle"
    if not file.exists():
        file.write_bytes(pickle.dumps(instance_of(setting, folder, few)))
    return pickle.loads(file.read_bytes())


def cell(setting: str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One run, in this process."""
    folder, store = options.folder, options.store
    made = policy(name, seed=0)[1]
    taken: list[tuple[bool, float]] = []
    gs.drive(kept(setting, folder, 40, store), made)
    asked: Any = Timed(made, taken)
    gs.drive(kept(setting, folder, 40, store), asked)
    python = any(decides for decides, _ in taken)
    instance = kept(setting, folder, None, store)
    taken.clear()
    around = time_decisions() if options.inside else []
    wall, cpu = time.perf_counter(), time.process_time()
    run = gs.drive(instance, asked if options.inside else made, patience=PATIENCE)
    found: dict[str, Any] = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    if options.inside:
        return found | {
            "decide": sum(seconds for decides, seconds in taken if decides),
            "around": sum(around) - sum(seconds for _, seconds in taken),
            "asked": sum(decides for decides, _ in taken),
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    ends = np.ascontiguousarray(run.records.end, dtype=np.int64).tobytes()
    return found | {
        "peak": peak, "decisions": run.decisions, "segments": len(run.schedule), "name": name,
        "ends": hashlib.sha256(ends).hexdigest()[:12], "python": python,
    }  # fmt: skip


def time_decisions() -> list[float]:
    """Let the driver note how long each decision takes, with all that it does around the call."""
    from gangsched.analysis.driving.core.engine import Compiled  # an older checkout has another

    own, around = Compiled._decide, list[float]()

    def timed(engine: Compiled) -> None:
        began = time.process_time()
        own(engine)
        around.append(time.process_time() - began)

    Compiled._decide = timed  # type: ignore[method-assign]
    return around


def measured(command: list[str], path: Path | None, limit: float) -> dict[str, Any] | None:
    """What a cell's process prints last; nothing if it takes too long."""
    more = {} if path is None else {"PYTHONPATH": str(path)}
    try:
        done = subprocess.run(
            command, env={**os.environ, **more}, capture_output=True, text=True,
            check=False, timeout=limit,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])}: {done.stderr.strip()[-600:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(setting: str, name: str, options: argparse.Namespace, older: Path | None) -> str:
    """A line of the table."""
    _, _, target, others = SETTINGS[setting]
    command = [sys.executable, __file__, str(options.folder), "--cell", f"{setting}:{name}"]
    here: list[dict[str, Any]] = []
    there: list[dict[str, Any]] = []
    for _ in range(options.runs):
        store = ["--store", str(options.room / "this")]
        if not here or here[0]["cpu"] < LONG:
            found = measured([*command, *store], None, options.limit)
            if found is None:
                rest = " |" * (len(COLUMNS) - 2)
                return f"| {name} | above {options.limit:g} s of wall time |{rest}"
            here.append(found)
        if older is not None and (not there or there[0]["cpu"] < SHORT):
            store = ["--store", str(options.room / "other")]
            try:
                one = measured([*command, *store], older, options.limit)
            except RuntimeError:  # it has no such policy
                one = {"cpu": math.nan}
            there.append(one or {"cpu": math.inf})
    cpu = statistics.median(one["cpu"] for one in here)
    before = statistics.median(one["cpu"] for one in there) if there else math.nan
    most, first, old = others.get(name, target), here[0], (there or [{}])[0]
    cells = [
        name, f"{cpu:.2f}", "" if math.isnan(most) else f"{most:g}",
        "" if math.isnan(most) else "yes" if cpu < most else "no",
        "" if math.isnan(before) else f"{before / cpu:.1f}" if before < math.inf else "long",
        "" if "ends" not in old else "yes" if old["ends"] == first["ends"] else "no",
    ]  # fmt: skip
    if first["python"]:
        inside = measured(
            [*command, *store[:1], str(options.room / "this"), "--inside"], None, options.limit
        )
        assert inside is not None
        each = inside["around"] / max(inside["asked"], 1)
        cells += [f"{inside['decide'] / inside['cpu']:.0%}", f"{1e6 * each:.0f}"]
    else:
        cells += ["compiled", ""]
    cells += [f"{first['decisions']:,}", f"{first['peak']:.0f}"]
    words = (
        command_words(f"{WHOLE[setting]} --policies {name}", options) if setting in WHOLE else []
    )
    cells.append(f"{command_cost(words, None, options.room / 'this')[1]:.0f}" if words else "")
    return f"| {' | '.join(cells)} |"


def table(setting: str, options: argparse.Namespace, older: Path | None) -> Iterator[str]:
    """Yield the lines of a setting."""
    heading, names, _, _ = SETTINGS[setting]
    wanted = options.only.partition(":")[2].split(",") if ":" in (options.only or "") else None
    yield from ("", f"### {heading}", "", f"| {' | '.join(COLUMNS)} |")
    yield "|---|" + "--:|" * (len(COLUMNS) - 1)
    for name in wanted or names.split(","):
        try:
            yield row(setting, name, options, older)
        except RuntimeError as error:
            yield f"| {name} | {error} |"


def commands(options: argparse.Namespace, older: Path | None) -> Iterator[str]:
    """Yield the lines of the table of whole commands, Python's start and reports with them."""
    yield from ("", "### Whole commands", "", "| command | CPU (s) | target | met | before / now |")
    yield "|---|" + "--:|" * 4
    for name, (words, target) in COMMANDS.items():
        given = command_words(words, options)
        taken: dict[Path | None, list[float]] = {None: [], older: []}
        for k in range(options.runs + 1):
            for path, seconds in taken.items():
                cpu, _ = command_cost(given, path, options.room / "this")
                seconds += [cpu] if k else []  # the first one compiles
        cpu, before = (statistics.median(taken[path]) for path in (None, older))
        more = "" if older is None or math.isnan(before) else f"{before / cpu:.1f}"
        yield f"| {name} | {cpu:.2f} | {target:g} | {'yes' if cpu < target else 'no'} | {more} |"
    yield from first_uses(options)


def first_uses(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the table of first uses, with machine code that was made beforehand."""
    head = "command", "CPU (s) of the first use", "of later ones", "first / later", "target"
    yield from ("", "### After `gangsched warm-up`", "", f"| {' | '.join(head)} |")
    yield "|---|" + "--:|" * 4
    with tempfile.TemporaryDirectory() as cache:
        code = {"NUMBA_CACHE_DIR": cache}
        made, _ = command_cost(["warm-up"], None, options.room / "this", code)
        yield f"| warm-up, from nothing | {made:.0f} | | | |"
        for text in FIRST:
            given = command_words(text, options)
            costs = [
                command_cost(given, None, options.room / "this", code)[0]
                for _ in range(options.runs + 1)
            ]
            first, later = costs[0], statistics.median(costs[1:])
            name = text.replace("FOLDER/", "")
            yield f"| {name} | {first:.2f} | {later:.2f} | {first / later:.2f} | 2 |"


def command_words(text: str, options: argparse.Namespace) -> list[str]:
    """The words of a command."""
    return text.replace("FOLDER", str(options.folder.resolve())).split()


def command_cost(
    words: list[str], path: Path | None, room: Path, code: dict[str, str] | None = None
) -> tuple[float, float]:
    """CPU seconds and MiB of a command; without the options of bounds where a checkout knows none.

    NaN where it fails. Byte code is kept, as it is where nobody forbids it.
    """
    more = {} if path is None else {"PYTHONPATH": str(path)}
    more |= {**(code or {}), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "gangsched", *words]
    with subprocess.Popen(
        command, env={**os.environ, **more}, cwd=room, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and "--effort" in words:
        return command_cost(words[: words.index("--effort")], path, room, code)
    if process.returncode:
        return math.nan, math.nan
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**10


def growth(options: argparse.Namespace) -> dict[str, list[tuple[int, float]]]:
    """CPU seconds over jobs of every policy, by policy and load, up to the first long run."""
    with ThreadPoolExecutor(len(LOADS)) as pool:
        parts = pool.map(partial(growth_at, options=options), LOADS)
    return {name: points for part in parts for name, points in part.items()}


def growth_at(load: float, options: argparse.Namespace) -> dict[str, list[tuple[int, float]]]:
    """The same at one load: a process for each number of jobs."""
    found: dict[str, list[tuple[int, float]]] = {f"{name}@{load}": [] for name in PLAIN.split(",")}
    left = PLAIN.split(",")
    for jobs in SIZES:
        place = f"growth-{jobs}@{load}:{','.join(left)}"
        command = [sys.executable, __file__, str(options.folder), "--cell", place]
        store = ["--store", str(options.room / "this")]
        done = subprocess.run([*command, *store], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            one = json.loads(line)
            found[f"{one['name']}@{load}"].append((jobs, one["cpu"]))
            if one["cpu"] > MOST * jobs / SIZES[-1]:
                left.remove(one["name"])
            print(
                load, jobs, one["name"], f"{one['cpu']:.2f} s", f"{one['peak']:.0f} MiB", flush=True
            )
    return found


def draw(found: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Plot CPU time over jobs: each policy a line, a panel a load."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(LOADS), figsize=(11, 5.2), sharey=True, layout="constrained"
    )
    names = PLAIN.split(",")
    for load, axes in zip(LOADS, panels, strict=True):
        for k, name in enumerate(names):
            points = found[f"{name}@{load}"]
            style = ("-", "--", ":", "-.")[k // 10]
            axes.loglog(
                *zip(*points, strict=True), style, marker=".", color=f"C{k % 10}", label=name
            )
        linear = [SIZES[0] * 6e-6 * size / SIZES[0] for size in SIZES]
        axes.loglog(SIZES, linear, color="0.8", linewidth=4, zorder=0, label="linear")
        axes.set_title(f"offered load {load:g}")
        axes.set_xlabel("jobs (2,504 GPUs)")
    panels[0].set_ylabel("CPU seconds of one run")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside right center",
        fontsize=7,
        frameon=False,
    )
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure every policy.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="a setting, or setting:policies")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds of wall time a run")
    parser.add_argument("--older", type=Path, help="another checkout")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    parser.add_argument("--growth", type=Path, help="draw CPU over jobs into this file instead")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    setting = (options.only or "").partition(":")[0]
    if options.only and setting not in ("commands", *SETTINGS):
        parser.error(f"--only: setting {setting!r} is not one of commands, {', '.join(SETTINGS)}")
    chosen = [options.only] if options.only else ["commands", *SETTINGS]
    places = {
        name: (f"<!-- policies {name} begin -->", f"<!-- policies {name} end -->")
        for name in chosen
    }
    page = "" if options.into is None else options.into.read_text("utf-8")
    for markers in places.values() if options.into is not None else ():
        if not all(marker in page for marker in markers):
            parser.error(f"--into: {options.into} has no place {' to '.join(markers)}")
    if options.cell:
        setting, _, names = options.cell.partition(":")
        for name in names.split(",") if setting.startswith("growth") else [names]:
            print(json.dumps(cell(setting, name, options)), flush=True)
        return
    from against import links
    from table import deliver, machine

    with tempfile.TemporaryDirectory() as room:
        options.room = Path(room)
        for name in ("this", "other"):
            (options.room / name).mkdir()
        if options.growth is not None:
            draw(growth(options), options.growth)
            return
        older = links(options.older.resolve(), options.room) if options.older else None
        beside = " --older OLDER" if options.older else ""
        if options.limit != parser.get_default("limit"):
            beside += f" --limit {options.limit:g}"
        for name in chosen:
            text = [machine(f"{COMMAND} --only {name}{beside} --into docs/benchmarks.md")]
            print(text[0], flush=True)
            setting = name.partition(":")[0]
            whole = setting == "commands"
            for line in commands(options, older) if whole else table(setting, options, older):
                print(line, flush=True)
                text.append(line)
            if options.into is not None:
                deliver("\n".join(text), options.into, places[name])


if __name__ == "__main__":
    main()
