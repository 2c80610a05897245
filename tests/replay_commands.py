"""`gangsched replay` in this process, with a trace and with policies of others."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from called import called
from gangsched import Cluster, Instance, Job, User
from gangsched.analysis.show import run_plots

Replay = Callable[..., tuple[int, str, str]]

HEADER = "timestamp,duration,num_gpus,cluster"
# hour and minute of the submission, seconds, GPUs, virtual cluster; on two nodes of four GPUs
ROWS = [
    ("01:00:10", 7_000, 8, "a"),
    ("01:01:00", 600, 2, "b"),
    ("01:02:30", 3_000, 4, "b"),
    ("01:10:00", 90, 1, "a"),
    ("03:00:00", 1_200, 8, "a"),
    ("03:00:00", 45, 2, "c"),
    ("03:05:00", 400, 6, "b"),
]
CLUSTER = ("--nodes", 2, "--gpus-per-node", 4)
TRACE = ("log.csv", "--reader", "philly-csv", *CLUSTER)
LOG = TRACE[:3]
MIXED = ("--nodes", "v100:1x4,k80:2x4")
TWO = ("--policies", "fifo,srtf")

# A policy by order of the gang, that others wrote, and policies that go wrong
POLICIES = """
import sys
import time
from pathlib import Path

import numpy as np
from gangsched.solvers import Decision, Preempts


class Widest:
    name = "widest"
    preempts = Preempts.NEVER

    def decide(self, state):
        waiting = state.waiting
        return Decision(order=waiting[np.argsort(-state.gpus[waiting], kind="stable")])


class Raises(Widest):
    def decide(self, state):
        raise KeyError("two\\nlines")


class Leaves(Widest):
    def decide(self, state):
        sys.exit(3)


class Invents(Widest):
    def decide(self, state):
        return Decision(order=[99])


class Lazy(Widest):
    def decide(self, state):
        return Decision()


class Rubbish(Widest):
    def decide(self, state):
        return "fifo"


class Slow(Widest):
    def decide(self, state):
        Path("started").touch()
        if not Path("go").exists():
            time.sleep(0.2)
        return super().decide(state)


class Steady(Widest):
    def decide(self, state):
        Path("started").touch()
        time.sleep(0.05)
        return super().decide(state)


class NoPolicy:
    pass
"""

# The command with checkpoints after every other round
OFTEN = """
import sys
from gangsched.analysis.driving import drive
from gangsched.cli import main

drive.MINUTE, drive.FEW, drive.MANY = 0.0, 2, 2
main(sys.argv[1:])
"""


def lines(rows: Sequence[tuple[str, int, int, str]]) -> list[str]:
    return [HEADER, *(f"2017-10-07 {t},{s},{g},{vc}" for t, s, g, vc in rows)]


def runner(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Replay:
    """What runs the command in this process, in a folder with log.csv and theirs.py."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    Path("log.csv").write_text("\n".join(lines(ROWS)) + "\n")
    Path("theirs.py").write_text(POLICIES)

    return partial(called, capsys, "replay")


def leave_out_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write reports without pictures, which take most of the time."""
    for name in ("distributions", "user_fairness", "cluster_use", "amounts"):
        monkeypatch.setattr(run_plots, name, lambda *_, **__: Figure(figsize=(1, 1)))


def expected() -> Instance[Job]:
    """The instance of ROWS, made without a reader or a conversion."""
    clocks = [tuple(map(int, t.split(":"))) for t, *_ in ROWS]
    release = [3_600 * h + 60 * m + s - 3_610 for h, m, s in clocks]
    jobs = [
        Job(id=f"row{i}", gpus=g, release=r, work=s, user=vc)
        for i, (r, (_, s, g, vc)) in enumerate(zip(release, ROWS, strict=True), 1)
    ]
    users = [User("a", weight=17), User("b", weight=12), User("c", weight=2)]
    return Instance(Cluster.uniform(nodes=2, gpus_per_node=4), jobs, users, name="log")


def table(out: str, heading: str) -> dict[str, list[str]]:
    """Rows by policy of the table whose head has a word."""
    text = out.splitlines()
    head = next(i for i, line in enumerate(text) if heading in line)
    start = next(i for i in range(head, len(text)) if text[i].startswith("──"))
    rows = (re.split(r"\s{2,}", line.strip()) for line in text[start + 1 : start + 12])
    found: dict[str, list[str]] = {}
    for cells in rows:
        if cells[0] in found or (cells == [""] and "any policy" in found):
            break
        if len(cells) > 1:
            found[cells[0]] = cells[1:]
    return found
