"""`gangsched replay`: runs that are kept, interrupts and resuming, terminals."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import full_disk
from command_line import command, environment, on_terminal, wait_for
from gangsched import drive
from gangsched.analysis.driving.run_io import load_run
from gangsched.instances.io import instance_hash
from gangsched.solvers import Fifo
from replay_commands import OFTEN, TRACE, TWO, Replay, expected, table


def test_kept_runs_are_taken_only_when_asked_and_when_they_fit(replay: Replay) -> None:
    kept = (*TRACE, "--policies", "fifo,theirs.py:Widest", "--save-runs", "runs")
    assert replay(*kept)[0] == 0
    instance, *folders = sorted(Path("runs").iterdir(), key=lambda path: path.is_dir())
    folders.sort()
    assert instance.name == f"instance-{instance_hash(expected())[:16]}.json.gz"
    assert [folder.stem for folder in folders] == ["fifo", "theirs_py_Widest"]
    run = load_run(folders[0])
    assert run == drive(expected(), Fifo())
    assert run.instance == expected()
    instance.unlink()  # as 0.1.0 left it
    stamp = [(folder / "run.json").read_bytes() for folder in folders]
    code, out, _ = replay(*kept, "--resume", "--all")
    assert code == 0
    assert [(folder / "run.json").read_bytes() for folder in folders] == stamp  # not even rewritten
    assert table(out, "least rho")["fifo"][-1] == f"{run.runtime:.2f} s"
    assert instance.exists()
    for change in (("--lease", 600), ("--first", 3), ("--nodes", 3)):
        code, out, err = replay(*kept, "--resume", *change)
        assert (code, out) == (2, "")
        assert re.search(r"the earlier run of 'fifo' is of other (rules|instance)\n$", err)
    assert replay(*kept, "--first", 3)[0] == 0  # without --resume they are replaced
    assert len(load_run(folders[0]).records) == 3


def test_a_run_that_was_never_saved_whole_is_run_again(replay: Replay) -> None:
    kept = (*TRACE, "--policies", "fifo,srtf", "--save-runs", "runs", "--resume")
    assert replay(*kept[:-1])[0] == 0
    head = next(Path("runs").glob("srtf.*")) / "run.json"
    stamp = head.read_bytes()
    head.unlink()
    assert replay(*kept)[0] == 0
    assert json.loads(head.read_bytes())["tables"] == json.loads(stamp)["tables"]


def test_a_full_disk_costs_files_and_not_the_results(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (*TRACE, "--policies", "fifo,srtf", "--save-runs", "runs")
    assert replay(*kept, "--json", "r.json")[0] == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        full_disk.fill(patch)
        code, out, err = replay(*kept, "--json", "r.json", "--lease", 600)
    assert (code, err) == (2, "gangsched: error: r.json: No space left on device\n")
    assert list(table(out, "certified")) == ["fifo", "srtf", "best known", "any policy"]
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_runs_that_cannot_be_kept_are_named(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, run: Any) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("gangsched.analysis.driving.run_io.save_run", refuse)
    code, out, err = replay(*TRACE, *TWO, "--save-runs", "runs", "--json", "r.json")
    assert code == 2
    assert re.search(r"runs.fifo\.\w+: No space left on device; runs.srtf\.\w+: No space", err)
    assert len(json.loads(Path("r.json").read_text())["rows"]) == 2
    assert list(table(out, "certified")) == ["fifo", "srtf", "best known", "any policy"]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_finished_and_can_be_resumed(
    replay: Replay, tmp_path: Path, number: int
) -> None:
    names = ("--policies", "fifo,theirs.py:Slow,srtf")
    args = (*TRACE, *names, "--json", "r.json", "--save-runs", "runs")
    process = subprocess.Popen(
        command("replay", *args), cwd=tmp_path, env=environment(), text=True,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(tmp_path / "started", process)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == "gangsched: interrupted, not finished: theirs.py:Slow, srtf\n"
    assert list(table(out, "certified")) == ["fifo", "best known", "any policy"]
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["unfinished"] == ["theirs.py:Slow", "srtf"]
    assert "1 policy ran 7 jobs" in (tmp_path / "replay.html").read_text()
    Path("go").touch()
    assert replay(*args, "--resume")[0] == 0
    resumed = json.loads(Path("r.json").read_text())
    assert replay(*args)[0] == 0
    whole = json.loads(Path("r.json").read_text())
    digests = [[row["digest"] for row in data["rows"]] for data in (resumed, whole)]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize("seed", range(6))
def test_a_replay_that_was_killed_at_any_time_is_resumed_to_the_same_bytes(
    replay: Replay, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    names = ("--policies", "fifo,theirs.py:Steady,srtf,ltgf", "--overhead", 5)
    args = (*TRACE, *names, "--json", "r.json", "--save-runs", "runs")
    process = subprocess.Popen(
        [sys.executable, "-c", OFTEN, "replay", *map(str, args)], cwd=tmp_path, env=environment(),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(tmp_path / rng.choice(["runs", "started"]), process)
    time.sleep(rng.uniform(0, 1.5))
    process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM]))
    process.communicate(timeout=120)
    assert replay(*args, "--resume")[0] == 0
    resumed = without_timing(json.loads(Path("r.json").read_text()))
    assert replay(*args)[0] == 0
    assert without_timing(json.loads(Path("r.json").read_text())) == resumed


def without_timing(data: Any) -> Any:
    """The same data without its blocks `timing`."""
    if isinstance(data, dict):
        return {name: without_timing(part) for name, part in data.items() if name != "timing"}
    return [without_timing(part) for part in data] if isinstance(data, list) else data


@pytest.mark.process
def test_progress_is_shown_on_a_terminal_only(replay: Replay, tmp_path: Path) -> None:
    text = on_terminal("replay", *TRACE, *TWO, cwd=tmp_path)
    assert "reading log.csv" in text or "preparing fifo" in text
    assert max(map(len, re.split(r"[\r\n]+", text))) <= 80
    assert "certified" in text
    code, _, err = replay(*TRACE, *TWO)
    assert (code, err) == (0, "")


def test_progress_names_policy_and_jobs() -> None:
    from gangsched.cli import replay as replaying

    told: list[str] = []
    replaying._progress(told.append, ["fifo", "srtf"], "srtf", 1200, 5000)
    replaying._progress(told.append, ["fifo", "srtf"], "bounds", 0, 0)
    assert told == ["srtf (2 of 2): 1,200 of 5,000 jobs complete", "bounds"]
