"""Runs and replays that Ctrl-C or SIGTERM stops: what is raised, and that nothing is lost."""

import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from driven import Forgetful
from gangsched import Cluster, Instance, Job
from gangsched.analysis.driving.drive import PolicyError, interrupted_run
from gangsched.analysis.driving.run import Run
from gangsched.solvers import Decision, Fifo, Preempts, State, Stop
from handlers import INT, TERM, handlers, the_same_handlers_as_before  # noqa: F401
from reference_driver import drive

ENGINES = pytest.mark.parametrize("engine", ["reference", "compiled"])
ENDS = {INT: (KeyboardInterrupt, None), TERM: (SystemExit, 143)}
BOTH = pytest.mark.parametrize("number", ENDS)


def jobs(count: int, nodes: int = 1) -> Instance[Job]:
    rows = [Job(id=f"j{i}", gpus=1, work=50, release=60 * i) for i in range(count)]
    return Instance(Cluster.of_sizes([1] * nodes), rows)


@dataclass
class Signalled(Forgetful):
    """First in, first out; the process gets signals while it thinks at a time."""

    at: int
    sent: tuple[int, ...] = ()
    name: str = "signalled"
    preempts: Preempts = Preempts.NEVER

    def decide(self, state: State) -> Decision:
        if state.now == self.at:
            sent, self.at, self.sent = self.sent, -1, ()  # the policy's parameters are plain again
            for number in sent:
                signal.raise_signal(number)
        return Decision(order=state.waiting)


def stopped(
    number: int, instance: Instance[Job], policy: Any, **options: Any
) -> tuple[Run, BaseException]:
    """What a run that a signal stops raises, and the part of it that was simulated."""
    kind, code = ENDS[number]
    before = handlers()
    with pytest.raises(kind) as found:
        drive(instance, policy, **options)
    assert handlers() == before
    assert getattr(found.value, "code", None) == code
    run = interrupted_run(found.value)
    assert run is not None
    return run, found.value


@ENGINES
@BOTH
def test_a_signal_is_held_until_the_end_of_a_round_and_raised(engine: Any, number: int) -> None:
    instance, seen = jobs(400), []
    policy = Signalled(600, (number,))
    run, _ = stopped(number, instance, policy, engine=engine, on_checkpoint=seen.append)
    assert run.stop is Stop.INTERRUPTED
    assert run.now >= 600
    assert 0 < int(run.records.finished.sum()) < 400
    assert [part.digest() for part in seen] == [run.digest()]
    assert seen[0].checkpoint is not None
    whole = drive(instance, Signalled(-1), engine=engine)
    assert drive(instance, Signalled(-1), engine=engine, resume=run.checkpoint) == whole


@pytest.mark.slow
@ENGINES
@BOTH
def test_so_is_one_during_a_policy_in_machine_code(engine: Any, number: int) -> None:
    count = 9_000 if engine == "compiled" else 2_000
    instance, calls = jobs(count), []

    def progress(done: int, able: int) -> None:
        calls.append((done, able))
        if len(calls) == 1:
            signal.raise_signal(number)

    run, _ = stopped(number, instance, Fifo(), engine=engine, on_progress=progress)
    assert run.stop is Stop.INTERRUPTED
    assert 0 < int(run.records.finished.sum()) < count
    whole = drive(instance, Fifo(), engine=engine, resume=run.checkpoint)
    assert whole == drive(instance, Fifo(), engine=engine)


@ENGINES
@pytest.mark.parametrize("sent", [(INT, INT), (TERM, INT), (INT, TERM), (TERM, TERM)])
def test_a_second_signal_stops_a_policy_that_thinks_and_loses_nothing(
    engine: Any, sent: tuple[int, int]
) -> None:
    instance = jobs(20)
    run, _ = stopped(sent[0], instance, Signalled(600, sent), engine=engine)
    assert (run.stop, run.now) == (Stop.INTERRUPTED, 600)
    whole = drive(instance, Signalled(-1), engine=engine)
    assert drive(instance, Signalled(-1), engine=engine, resume=run.checkpoint) == whole


@ENGINES
@pytest.mark.parametrize("name", ["on_progress", "on_checkpoint"])
def test_a_second_signal_stops_a_callback(engine: Any, name: str) -> None:
    reached = []

    def call(*_: Any) -> None:
        signal.raise_signal(INT)
        signal.raise_signal(INT)
        reached.append(True)

    policy = Signalled(600, (INT,) if name == "on_checkpoint" else ())
    run, _ = stopped(INT, jobs(400), policy, engine=engine, **{name: call})
    assert run.stop is Stop.INTERRUPTED
    assert reached == []


@ENGINES
@BOTH
def test_a_signal_in_the_last_rounds_is_not_lost(engine: Any, number: int) -> None:
    """The run is complete, and the program is told all the same."""
    instance = jobs(1)
    run, _ = stopped(number, instance, Signalled(0, (number,)), engine=engine)
    assert run.stop is Stop.COMPLETED
    assert run == drive(instance, Signalled(-1), engine=engine)


@ENGINES
def test_a_checkpoint_that_cannot_be_saved_does_not_cost_the_run(engine: Any) -> None:
    def full(part: Run) -> None:
        raise OSError(28, "No space left on device")

    policy = Signalled(600, (TERM,))
    run, error = stopped(TERM, jobs(400), policy, engine=engine, on_checkpoint=full)
    assert run.checkpoint is not None
    assert isinstance(error.__context__, OSError)


@ENGINES
def test_a_run_goes_on_where_the_program_s_own_handler_returns(engine: Any) -> None:
    told = []
    before = signal.signal(INT, lambda number, frame: told.append(number))
    own = signal.getsignal(INT)
    try:
        run = drive(jobs(400), Signalled(600, (INT,)), engine=engine)
        assert signal.getsignal(INT) is own
    finally:
        signal.signal(INT, before)
    assert told == [INT]
    assert run == drive(jobs(400), Signalled(-1), engine=engine)


@ENGINES
def test_what_the_program_s_own_handler_raises_carries_the_run(engine: Any) -> None:
    class Enough(Exception):
        pass

    def handle(number: int, frame: Any) -> None:
        raise Enough

    before = signal.signal(TERM, handle)
    try:
        with pytest.raises(Enough) as found:
            drive(jobs(400), Signalled(600, (TERM,)), engine=engine)
        assert signal.getsignal(TERM) is handle
    finally:
        signal.signal(TERM, before)
    run = interrupted_run(found.value)
    assert run is not None
    assert run.stop is Stop.INTERRUPTED


@ENGINES
def test_a_signal_that_the_program_ignores_is_ignored(engine: Any) -> None:
    before = signal.signal(INT, signal.SIG_IGN)
    try:
        run = drive(jobs(40), Signalled(600, (INT,)), engine=engine)
        assert signal.getsignal(INT) is signal.SIG_IGN
    finally:
        signal.signal(INT, before)
    assert run == drive(jobs(40), Signalled(-1), engine=engine)


class Raises(Signalled):
    """Cannot decide, or ends the program."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(-1)
        self.error = error

    def decide(self, state: State) -> Decision:
        raise self.error


@ENGINES
@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), KeyboardInterrupt()])
def test_handlers_are_there_again_after_errors(engine: Any, error: BaseException) -> None:
    before = handlers()
    kind = PolicyError if isinstance(error, Exception) else type(error)
    with pytest.raises(kind) as found:
        drive(jobs(4), Raises(error), engine=engine)
    assert handlers() == before
    run = interrupted_run(found.value)
    assert (run is not None) == isinstance(error, KeyboardInterrupt)


@ENGINES
def test_nothing_is_held_in_other_threads(engine: Any) -> None:
    before, seen = handlers(), []

    class Looks(Signalled):
        def decide(self, state: State) -> Decision:
            seen.append(handlers())
            return super().decide(state)

    thread = threading.Thread(target=drive, args=(jobs(4), Looks(-1)), kwargs={"engine": engine})
    thread.start()
    thread.join()
    assert seen == [before] * 4


# --- replays -------------------------------------------------------------------------------------


def replayed(number: int, **options: Any) -> Any:
    policies = {"fifo": Fifo(), "signalled": Signalled(600, (number,)), "srtf": "srtf"}
    return gs.replay(jobs(400), policies, **options)


@BOTH
def test_a_replay_raises_too_and_keeps_what_has_finished(number: int) -> None:
    runs: dict[str, Run] = {}
    before = handlers()
    kind, code = ENDS[number]
    with pytest.raises(kind) as found:
        replayed(number, on_run=runs.__setitem__)
    assert handlers() == before
    assert getattr(found.value, "code", None) == code
    kept = found.value.replay  # type: ignore[attr-defined]
    assert [row.name for row in kept.rows] == ["fifo"]
    assert kept.unfinished == ("signalled", "srtf")
    assert kept.stopped is runs["signalled"]
    assert [run.stop for run in runs.values()] == [Stop.COMPLETED, Stop.INTERRUPTED]


@BOTH
def test_a_replay_returns_what_has_finished_where_it_is_asked_to(number: int) -> None:
    kept = replayed(number, on_interrupt="return")
    assert [row.name for row in kept.rows] == ["fifo"]
    assert kept.unfinished == ("signalled", "srtf")
    with pytest.raises(ValueError, match="on_interrupt='no' is not 'raise' or 'return'"):
        replayed(number, on_interrupt="no")


def test_a_policy_that_ends_the_program_fails_alone() -> None:
    policies = {"ends": Raises(SystemExit(3)), "fifo": Fifo()}
    found = gs.replay(jobs(4), policies)
    assert [failure.name for failure in found.failed] == ["ends"]
    assert [row.name for row in found.rows] == ["fifo"]


# --- scripts -------------------------------------------------------------------------------------

#: three runs one after the other, the first of them slow
SCRIPT = """
import time
from pathlib import Path
import gangsched as gs
from gangsched.solvers import Decision, Preempts

class Slow:
    name, preempts = "slow", Preempts.NEVER
    def decide(self, state):
        Path("started").touch()
        time.sleep(0.01)
        return Decision(order=state.waiting)

rows = [gs.Job(id=str(i), gpus=1, work=50, release=60 * i) for i in range(3_000)]
instance = gs.Instance(gs.Cluster.of_sizes([1]), rows)
"""
THREE = """
for number in range(3):
    print("begins", number, flush=True)
    print(gs.drive(instance, Slow()).stop, flush=True)
"""
CAUGHT = """
try:
    gs.drive(instance, Slow())
except KeyboardInterrupt as error:
    print(error.run.stop, 0 < error.run.records.finished.sum() < 3_000, flush=True)
    raise
"""


def signalled(script: str, number: int, folder: Path) -> tuple[int, str]:
    """Run a script until its first run has begun, send a signal; return how it ended."""
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT + script], cwd=folder, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(INT, signal.default_int_handler) and None,
    )  # fmt: skip
    try:
        for _ in range(600):
            if (folder / "started").exists() or child.poll() is not None:
                break
            time.sleep(0.1)
        time.sleep(0.3)
        child.send_signal(number)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    return child.returncode, out


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another thing there")
@pytest.mark.parametrize(
    ("script", "number", "end"),
    [
        (THREE, TERM, (143, "begins 0\n")),
        (THREE, INT, (-INT, "begins 0\n")),
        (CAUGHT, INT, (-INT, "Stop.INTERRUPTED True\n")),
    ],
)
def test_a_script_ends_when_it_is_told_to(
    tmp_path: Path, script: str, number: int, end: tuple[int, str]
) -> None:
    assert signalled(script, number, tmp_path) == end
