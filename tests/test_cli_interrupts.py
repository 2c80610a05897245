"""Ctrl-C, pipes, terminals, and commands as processes of their own."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from command_line import (
    Gangsched,
    Outcome,
    assert_self_contained,
    command,
    environment,
    on_terminal,
    process,
    table,
    toy_figure,
    wait_for,
    write_solvers,
)
from gangsched import registry, screen
from gangsched.analysis.papers import reproduce
from gangsched.analysis.papers.experiment import FigureCell
from gangsched.cli import app, warm_up
from gangsched.cli import compare as cli
from gangsched.instances import (
    compiling,
)

# --- Ctrl-C --------------------------------------------------------------------------------------


def interrupted(args: Sequence[object], cwd: Path, env: Mapping[str, str]) -> Outcome:
    """Start a command, wait until the slow solver runs, send SIGINT."""
    child = subprocess.Popen(
        command(*args), cwd=cwd, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
        # a background job of a shell ignores SIGINT, and its children with it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )  # fmt: skip
    try:
        wait_for(cwd / "started", child)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    return Outcome(child.returncode, out, err)


@pytest.mark.process
def test_ctrl_c_keeps_the_finished_rows(files: Path, tmp_path: Path) -> None:
    module = write_solvers(tmp_path)
    args = (
        "compare",
        files / "problem.json",
        "--solvers",
        f"{module}:good,{module}:slow,first-fit",
    )
    args = (*args, "--json", "o.json", "--report", "r.html")
    done = interrupted(args, tmp_path, environment(PYTHONPATH=str(tmp_path)))
    assert done.code == 130
    assert list(table(done.out)) == ["theirs:good"]
    assert done.err == "gangsched: interrupted, not finished: theirs:slow, first-fit\n"
    data = json.loads((tmp_path / "o.json").read_text())
    assert [row["solver"] for row in data["rows"]] == ["theirs:good"]
    assert data["unfinished"] == ["theirs:slow", "first-fit"]
    assert_self_contained(tmp_path / "r.html")


@pytest.mark.parametrize("name", ["compare", "solve"])
def test_ctrl_c_before_anything_is_finished_writes_nothing(
    gangsched_: Gangsched, files: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(problem: object, *, seed: int, time_limit: float | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "solver", lambda stem, name: ("stop", stop))
    option = "--solver" if name == "solve" else "--solvers"
    done = gangsched_(name, files / "problem.json", option, "stop", "--json", "o.json")
    assert done == Outcome(130, "", "gangsched: interrupted\n")
    assert os.listdir() == ["files"]


def test_ctrl_c_in_reproduce_writes_nothing(
    gangsched_: Gangsched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(cell: FigureCell) -> dict[str, Any]:
        raise KeyboardInterrupt

    cell = FigureCell(instance="i", policy="p", run=stopped)
    toy = toy_figure("rar_ddls:toy", lambda: [cell])
    monkeypatch.setitem(reproduce.TARGETS, toy.name, toy)
    done = gangsched_("reproduce", "rar_ddls:toy")
    assert done == Outcome(130, "", "gangsched: interrupted\n")
    assert os.listdir("out") == []


# --- pipes and terminals -------------------------------------------------------------------------


@pytest.mark.process
def test_pipes_get_no_escape_codes_and_no_progress(files: Path, tmp_path: Path) -> None:
    module = write_solvers(tmp_path)
    args = (
        "compare",
        files / "problem.json",
        "--solvers",
        f"{module}:good,{module}:nap",
        "--report",
        "r.html",
    )
    done = process(*args, cwd=tmp_path, PYTHONPATH=str(tmp_path), TERM="xterm-256color")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert "\r" not in done.out
    lines = done.out.splitlines()
    (settings,) = [line for line in lines if line.startswith("Information: ")]  # to be searched
    assert max(len(line) for line in lines if line != settings) <= 80


@pytest.mark.process
def test_a_reader_that_stops_early_does_not_cost_the_files(files: Path, tmp_path: Path) -> None:
    """As in `gangsched compare ... | head -1`."""
    module = write_solvers(tmp_path)
    args = ("compare", files / "problem.json", "--solvers", f"{module}:good", "--json", "o.json")
    read, write = os.pipe()
    os.close(read)
    env = environment(PYTHONPATH=str(tmp_path))
    done = subprocess.run(
        command(*args), cwd=tmp_path, env=env, stdout=write, stderr=subprocess.PIPE, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    os.close(write)
    assert "Traceback" not in done.stderr
    assert len(json.loads((tmp_path / "o.json").read_text())["rows"]) == 1
    assert_self_contained(tmp_path / "gangsched-compare.html")


@pytest.mark.process
def test_a_terminal_shows_what_runs_now(files: Path, tmp_path: Path) -> None:
    module = write_solvers(tmp_path)
    args = ("compare", files / "problem.json", "--solvers", f"first-fit,{module}:nap")
    text = on_terminal(*args, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert f"{module}:nap (2 of 2)" in text
    lines = re.split(r"[\r\n]+", text)
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == ["first-fit", "8"] for line in lines)


@pytest.mark.process
def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    heavy = "matplotlib numba pyomo scipy networkx highspy"
    for module, names in (("compare", heavy), ("app", f"{heavy} numpy rich gangsched.screen")):
        code = (
            f"import sys, gangsched.cli.{module}\nprint(*{{*{names.split()}}} & {{*sys.modules}})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [], module


def test_help_says_of_commands_what_their_docstrings_do() -> None:
    for name, (place, text) in app.COMMANDS.items():
        module, _, function = place.partition(":")
        loaded = getattr(importlib.import_module(f"gangsched.cli.{module}"), function)
        assert (loaded.__doc__ or "").partition("\n")[0] == text, name


@pytest.mark.slow
def test_warm_up_runs_its_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every = [*warm_up._parts()]
    assert {part[0] for part in every if len(part) == 1} == {*registry.POLICIES}
    problems = registry.PROBLEMS.items()
    assert {part for part in every if len(part) == 2} == {
        (stem, name) for stem, entry in problems for name in entry.solvers
    }
    monkeypatch.setattr(warm_up, "_parts", lambda: [("fifo",), ("rar-ddls", "first-fit")])
    warm_up.warm_up()
    done = capsys.readouterr()
    assert done.out.startswith("machine code is ready (2 parts, ")
    assert done.err == "gangsched: compiling machine code, which takes a few minutes\n"


RARE = """
from gangsched.cli import warm_up
warm_up._run(warm_up.BOUNDS)
from gangsched.solvers.ours.irmp import fluid
assert fluid._complete_all.signatures
"""


@pytest.mark.process
def test_warm_up_runs_what_something_tiny_does_not_need() -> None:
    subprocess.run([sys.executable, "-c", RARE], check=True, timeout=300)


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_ctrl_c_ends_warm_up_with_all_its_processes(tmp_path: Path) -> None:
    child = subprocess.Popen(
        command("warm-up"), env=environment(NUMBA_CACHE_DIR=str(tmp_path)), start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for _ in range(600):
            if [*tmp_path.rglob("*.nbi")]:
                break
            time.sleep(0.1)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does
        out, err = child.communicate(timeout=180)  # until nobody holds the pipes
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    assert (child.returncode, out) == (130, "")
    assert err.splitlines() == [
        "gangsched: compiling machine code, which takes a few minutes", "gangsched: interrupted",
    ]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_a_ctrl_c_while_processes_begin_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with warm_up._deferred():
            code = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert b"SIGINT" in done.stdout
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_compiling_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.announced():
        compiling.note_compile()
        compiling.note_compile()
    compiling.note_compile()
    said = capsys.readouterr().err
    assert said.count("compiling machine code, which is kept for later") == 1
    with screen.announced():
        pass
    compiling.note_compile()
    assert capsys.readouterr().err == ""
