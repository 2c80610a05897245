"""Commands in this process and others, the files that they read, and solvers of others."""

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib.figure import Figure

import gangsched as gs
import web_page
from called import called
from gangsched.analysis.papers.experiment import Experiment, FigureCell
from gangsched.formulations import DeadlineRewards, RarDdls, UniSched
from gangsched.formulations.io import problem_to_dict
from gangsched.instances.io import write_json
from gangsched.io import save

FAST = "first-fit,list_scheduling"  # no annealing


def ring(id: str, gpus: int, iterations: int = 6) -> gs.RingJob:
    """A job of as many slots as iterations: one iteration a slot."""
    return gs.RingJob(id=id, gpus=gpus, iterations=iterations, gradient=0.0, base_time=0.9)


# Two gangs of two and one of four on four GPUs: 6 slots side by side, then 6 more; area 48 / 4.
INSTANCE = gs.Instance(
    gs.Cluster.uniform(nodes=2, gpus_per_node=2),
    [ring("a", 2), ring("b", 2), ring("c", 4)],
    name="abc",
)
# Three jobs of four slots on two GPUs: 8 slots, but an area of only 12 / 2.
GAP = gs.Instance(gs.Cluster.of_sizes([1, 1]), [ring(id, 1, 4) for id in "abc"])

# One lease on two GPUs: the gang of two is worth more, the single GPU more for each GPU.
QUEUE = UniSched(
    gs.Instance(
        gs.Cluster.of_sizes([2]),
        [
            gs.DeadlineJob(id="gang", gpus=2, work=600, rewards=[(600, 100)]),
            gs.DeadlineJob(id="one", gpus=1, work=600, rewards=[(600, 60)]),
        ],
    )
)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Gangsched = Callable[..., Outcome]


def runner(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Gangsched:
    """What runs a command in this process, in an empty folder."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    return lambda *args: Outcome(*called(capsys, *args))


def environment(**more: str) -> dict[str, str]:
    hidden = ("FORCE_COLOR", "COLUMNS", "LINES", "NO_COLOR")
    return {**{k: v for k, v in os.environ.items() if k not in hidden}, **more}


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "gangsched", *map(str, args)]


def process(*args: object, cwd: Path, **more: str) -> Outcome:
    """Run a command as a process of its own, with pipes."""
    done = subprocess.run(
        command(*args), cwd=cwd, env=environment(**more), capture_output=True, text=True,
        errors="surrogateescape", timeout=120, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


def wait_for(path: Path, child: subprocess.Popen[str]) -> None:
    """Wait until a process has written a file, or has ended."""
    for _ in range(1200):
        if path.exists() or child.poll() is not None:
            return
        time.sleep(0.1)


def on_terminal(*args: object, cwd: Path, **more: str) -> str:
    """What a command writes on a terminal of 80 columns, without its escape codes."""
    pty = pytest.importorskip("pty", reason="pseudo-terminals are of Unix")
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        command(*args), cwd=cwd, stdin=follower, stdout=follower, stderr=follower, close_fds=True,
        env=environment(COLUMNS="80", LINES="24", TERM="xterm", **more),
    )  # fmt: skip
    os.close(follower)
    seen = b""
    try:
        while part := os.read(leader, 4096):
            seen += part
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(leader)
    assert child.wait(timeout=120) == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())


def write_files(folder: Path) -> Path:
    """Every kind of file that the commands read, and those that they refuse."""
    folder.mkdir()
    save(folder / "instance.json", INSTANCE)
    write_json(folder / "problem.json", problem_to_dict(RarDdls(GAP)))
    wide = gs.Instance(gs.Cluster.of_sizes([2]), [ring("wide", 3)])
    save(folder / "wide.json", wide)
    save(folder / "schedule.json", gs.Schedule.of([gs.Segment(0, 0, 4, {0: 1})]))
    (folder / "broken.json").write_text('{"format": ')
    (folder / "list.json").write_text("[1, 2]")
    (folder / "nan.json").write_text('{"format": NaN}')
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    (folder / "other.json").write_text('{"format": "xyz", "version": 1, "kind": "instance"}')
    write_json(folder / "unknown.json", {**problem_to_dict(RarDdls(GAP)), "problem": "tsp"})
    write_json(folder / "queue.json", problem_to_dict(QUEUE))
    rewards = problem_to_dict(DeadlineRewards(QUEUE.instance))
    write_json(folder / "rewards.json", {**rewards, "parameters": {"elastic": 1}})
    (folder / "empty.csv").write_text("")
    write_traces(folder)
    return folder


def write_traces(folder: Path) -> None:
    """Five jobs in each of the three documented formats; the last needs 16 GPUs."""
    rows = [(1, 100), (2, 4000), (4, 50), (1, 9), (16, 600)]
    with (folder / "trace.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["timestamp", "duration", "num_gpus", "cluster"])
        for hour, (gpus, seconds) in enumerate(rows):
            lines.writerow([f"2017-10-07 0{hour}:00:00", seconds, gpus, "vc1"])
    fields = [
        [i + 1, 60 * i, 0, seconds, gpus, -1, -1, gpus, -1, -1, 1, 7, *[-1] * 6]
        for i, (gpus, seconds) in enumerate(rows)
    ]
    text = "\n".join(" ".join(map(str, line)) for line in fields)
    (folder / "trace.swf").write_text(f"; Version: 2.2\n{text}\n")
    log = [
        {
            "status": "Pass", "vc": "vc1", "user": "u", "jobid": f"application_{i}",
            "submitted_time": f"2017-10-07 0{i}:00:00",
            "attempts": [
                {
                    "start_time": "2017-10-08 00:00:00",
                    "end_time": f"2017-10-08 {seconds // 3600:02}:{seconds // 60 % 60:02}"
                    f":{seconds % 60:02}",
                    "detail": [{"ip": "m1", "gpus": [f"gpu{g}" for g in range(gpus)]}],
                }
            ],
        }
        for i, (gpus, seconds) in enumerate(rows)
    ]  # fmt: skip
    (folder / "trace.json").write_text(json.dumps(log))


def write_solvers(folder: Path, name: str = "theirs") -> str:
    """A module with solvers of somebody else: good, slow, raising, returning rubbish."""
    (folder / f"{name}.py").write_text(
        "import pathlib, sys, time\n"
        "from dataclasses import replace\n"
        "from gangsched.solvers import first_fit\n"
        "def good(problem, *, seed, time_limit):\n"
        "    return first_fit(problem)\n"
        "def slow(problem, *, seed, time_limit):\n"
        "    pathlib.Path('started').touch()\n"
        "    time.sleep(100)\n"
        "def nap(problem, *, seed, time_limit):\n"
        "    time.sleep(0.5)\n"
        "    return first_fit(problem)\n"
        "def broken(problem, *, seed, time_limit):\n"
        "    raise ValueError('two\\nlines')\n"
        "def leaves(problem, *, seed, time_limit):\n"
        "    sys.exit(3)\n"
        "def rubbish(problem, *, seed, time_limit):\n"
        "    return 17\n"
        "def boasts(problem, *, seed, time_limit):\n"
        "    return replace(first_fit(problem), bound=None, objective=1)\n"
        "def forgets(problem, *, seed, time_limit):\n"
        "    made = first_fit(problem)\n"
        "    return replace(made, solution=type(made.solution).of([]), objective=0, bound=None)\n"
        "def no_keywords(problem):\n"
        "    return first_fit(problem)\n"
    )
    return name


def assert_refused(done: tuple[int, str, str], text: str) -> None:
    """Exit code 2, and one line on stderr that has this pattern."""
    code, out, err = done
    (line,) = (line for line in err.splitlines() if "compiling machine code" not in line)
    assert (code, out) == (2, "")
    assert line.startswith("gangsched: error: ")
    assert re.search(text, line), line


def table(out: str) -> dict[str, list[str]]:
    """Rows of a table by their first cell."""
    start = next(i for i, line in enumerate(out.splitlines()) if line.startswith("──"))
    rows = (re.split(r"\s{2,}", line.strip()) for line in out.splitlines()[start + 1 :])
    return {cells[0]: cells[1:] for cells in rows if len(cells) > 1}


def assert_self_contained(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "<svg" in text
    web_page.assert_self_contained(text)


def toy_figure(name: str, cells: Callable[..., list[FigureCell]]) -> Experiment:
    return Experiment(
        name=name, title="toy", cells=cells, statements=lambda study: (), settings={},
        drawing=lambda study: Figure(),
    )  # fmt: skip
