"""One pair of functions writes and reads everything that has a file."""

import re
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from gangsched.formulations.io import PROBLEMS
from hand_run import hand_run

JOBS = [gs.RingJob(id=id, gpus=2, iterations=30, gradient=0.1, base_time=0.2) for id in "ab"]
PROBLEM = gs.formulations.RarDdls(gs.Instance(gs.Cluster.of_sizes([2, 1]), JOBS), alpha=0.5)
RESULT = gs.solvers.sjf_bco(PROBLEM)
GANGS = [
    gs.DeadlineJob(id=f"j{i}", gpus=6, work=900 + i, rewards=[(1800, 100), (9000, 40)])
    for i in range(3)
]
QUEUE = gs.formulations.UniSched(gs.Instance(gs.Cluster.of_sizes([8]), GANGS))
REWARDS = gs.formulations.DeadlineRewards(QUEUE.instance)
THINGS: dict[str, Any] = {
    "allocation": gs.Allocation(("u",), ("v100",), [[1.5]]),
    "instance": PROBLEM.instance,
    "problem": PROBLEM,
    "problem: unisched": QUEUE,
    "problem: deadline-rewards": REWARDS,
    "result": RESULT,
    "run": hand_run(),
    "schedule": RESULT.solution,
}


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
@pytest.mark.parametrize("kind", THINGS)
def test_what_is_saved_comes_back(tmp_path: Path, kind: str, suffix: str) -> None:
    path = tmp_path / f"thing.{suffix}"
    gs.io.save(path, THINGS[kind])
    loaded = gs.io.load(path)
    assert type(loaded) is type(THINGS[kind])
    assert loaded == THINGS[kind]
    assert gs.instances.io.read_json(path)["kind"] == kind.split(":")[0]


def test_other_objects_have_no_file(tmp_path: Path) -> None:
    problems = ", ".join(kind.__name__ for kind in PROBLEMS.values())
    rule = f"a file holds one of Allocation, Instance, {problems}, Result, Run, Schedule, not a Bou"
    with pytest.raises(TypeError, match=f"x.json: {rule}"):
        gs.io.save(tmp_path / "x.json", RESULT.bound)
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["run", "schedule"])
def test_what_is_saved_as_a_folder_comes_back(tmp_path: Path, kind: str, suffix: str) -> None:
    path = tmp_path / f"thing.{suffix}"
    gs.io.save(path, THINGS[kind])
    assert path.is_dir()
    assert gs.io.load(path) == THINGS[kind]


def test_other_objects_have_no_folder(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"x\.csv: a folder holds one of Run, Schedule, not a Res"):
        gs.io.save(tmp_path / "x.csv", RESULT)
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(ValueError, match=r"x\.csv: the folder has no run\.json or schedule\.json"):
        gs.io.load(tmp_path / "x.csv")


def test_an_unknown_kind_names_file_and_rule(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    gs.instances.io.write_json(path, gs.instances.io.header("comparison"))
    kinds = "'allocation', 'instance', 'problem', 'result', 'run', 'schedule'"
    message = f"{path}: kind='comparison' is not one of {kinds}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        gs.io.load(path)
