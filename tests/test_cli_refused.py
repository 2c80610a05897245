"""What the commands refuse: one line on stderr, exit code 2, and nothing written."""

import gzip
import os
import re
import shlex
from pathlib import Path

import pytest

from command_line import Gangsched, assert_refused
from gangsched.formulations import RarDdls
from gangsched.formulations.irmp.problem import reduced_problem
from gangsched.instances import Cluster, Instance, Job
from gangsched.io import save
from malformed import table
from replay_commands import HEADER, POLICIES, ROWS, lines

SHORT = {
    "TRACE": "--reader philly-csv --problem rar-ddls",
    "ROOM": "--nodes 2 --gpus-per-node 4",
    "RAR": "--problem rar-ddls",
    "REVENUE": "--reader philly-csv --problem irmp",
    "LOG": "F/log.csv --reader philly-csv",
    "MIXED": "--nodes v100:1x4,k80:2x4",
}

#: what is refused, and how; F is the folder with the files
BAD = table("refused")


@pytest.fixture
def more(files: Path) -> Path:
    """Beside the usual files: a log of seven rows and those that are wrong, and saved problems."""
    problem = reduced_problem(6)
    plain = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=60)])
    for name, thing in (
        ("revenue", problem), ("plain", plain), ("rings", RarDdls(Instance(plain.cluster, [])))
    ):  # fmt: skip
        save(files / f"{name}.json", thing)
    texts = {
        "log.csv": lines(ROWS),
        "bad.csv": [*lines(ROWS), "2017-10-07 05:00:00,-5,1,a"],
        "header.csv": [HEADER],
        "wide.csv": lines([("01:00:00", 60, 9, "a")]),
        "sizes.csv": ["vc,num", "a,3", "c,1"],
        "own.csv": ["id,user,gpus,submit,duration", "a,ann,2,2024-05-01T09:00:00,3600",
                    "b,bob,4,2024-05-01T09:10:00,60"],
        "theirs.py": [POLICIES],
    }  # fmt: skip
    for name, rows in texts.items():
        (files / name).write_text("\n".join(rows) + "\n")
    (files / "broken.csv.gz").write_bytes(gzip.compress(b"timestamp\n" * 100)[:-9])
    return files


def contents(folder: Path) -> dict[Path, bytes]:
    """All files but what Python keeps of a module that it has imported."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.parent.name != "__pycache__"}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_refused_in_one_line(gangsched_: Gangsched, more: Path, line: str) -> None:
    text = BAD[line]
    for name, meaning in SHORT.items():
        line = line.replace(name, meaning)
    before = contents(more)
    args = [re.sub(r"^F\b", str(more), arg) for arg in shlex.split(line)]
    assert_refused(gangsched_(*args), re.sub(r"\bF(?=[/:])", "files", text))
    assert contents(more) == before
    assert os.listdir() == ["files"]
