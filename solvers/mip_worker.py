"""A mixed-integer program in a process of its own, which is stopped when its time is over.

HiGHS looks at its time limit between the steps of its search, and some of these take minutes: one
round of cuts at the root of UniSched's compact form does. Here the limit is kept by the caller,
who keeps what was found until then; a worker that crashes loses nothing that it has told.

The process runs this file as a script, and imports nothing of the toolkit: it starts in a fraction
of a second, and stays for the next program.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]  # no import of the package: this is a script too


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Program:
    """Maximise ``cost @ x`` where ``lower <= A x <= upper`` and ``0 <= x``, x[:binary] in {0, 1}.

    Parameters
    ----------
    cost : (n,) floats
    matrix : (start, index, value)
        A by columns.
    lower, upper : (rows,) floats
    binary : int
        The first so many variables are 0 or 1, the others continuous.
    start : (n,) floats
        A solution.
    """

    cost: Floats
    matrix: tuple[NDArray[Any], NDArray[Any], Floats]
    lower: Floats
    upper: Floats
    binary: int
    start: Floats


class MipAnswer(NamedTuple):
    """What is known of a program.

    Parameters
    ----------
    x : (n,) floats or None
        Best solution found, if any was.
    bound : float
        No solution has more; infinity where nothing is known.
    proven : bool
        Whether `x` is optimal, as the solver claims.
    """

    x: Floats | None
    bound: float
    proven: bool


class MipWorker:
    """A process that solves one program after another.

    Parameters
    ----------
    command : sequence of str, optional
        What to run instead, in tests.

    Examples
    --------
    Two things of one place each, and one place:

    >>> matrix = np.array([0, 1, 2]), np.array([0, 0]), np.array([1.0, 1.0])
    >>> program = Program(cost=np.array([2.0, 3.0]), matrix=matrix, lower=np.array([0.0]),
    ...                   upper=np.array([1.0]), binary=2, start=np.zeros(2))
    >>> worker = MipWorker()
    >>> answer = worker.solve(program, time_limit=60)
    >>> answer.x.round().astype(int).tolist(), answer.proven
    ([0, 1], True)
    >>> worker.close()
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = [sys.executable, os.path.abspath(__file__)] if command is None else command
        self._process: subprocess.Popen[bytes] | None = None
        self._told: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def solve(self, program: Program, *, time_limit: float) -> MipAnswer:
        """Return the best that is known when the program is solved or the time is over."""
        end = time.perf_counter() + time_limit
        found = MipAnswer(None, np.inf, False)
        # plain data: the script has no classes of the toolkit
        fields = {name: getattr(program, name) for name in program.__slots__}
        self._send({**fields, "limit": time_limit})
        while True:
            try:
                told = self._told.get(timeout=max(end - time.perf_counter(), 0.0))
            except queue.Empty:
                self.close()
                return found
            except BaseException:  # Ctrl-C: what the process tells from now on is for nobody
                self.close()
                raise
            if told is None:
                self.close()
                return found
            done, x, bound, proven = told
            found = MipAnswer(found.x if x is None else x, min(bound, found.bound), proven)
            if done:
                return found

    def close(self) -> None:
        """Stop the process, if there is one; the next program starts another."""
        if self._process is not None:
            _stop(self._process)
            self._process = None

    def _send(self, message: Any) -> None:
        """Give the process a message, without waiting for it to be read; replace a dead process."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        assert self._process is not None
        arguments = self._process.stdin, message
        threading.Thread(target=_write, args=arguments, daemon=True).start()

    def _start(self) -> None:
        self._told = queue.SimpleQueue()
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=nowhere)
        heard = self._process.stdout, self._told
        threading.Thread(target=_listen, args=heard, daemon=True).start()
        weakref.finalize(self, _stop, self._process)


def _write(stream: Any, message: Any) -> None:
    """Write to a process; that it is gone is told by its own stream."""
    with contextlib.suppress(OSError, ValueError):
        pickle.dump(message, stream)
        stream.flush()


def _listen(stream: Any, told: queue.SimpleQueue[Any]) -> None:
    """Pass on what a process says, and None when it has ended."""
    try:
        while True:
            told.put(pickle.load(stream))
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        told.put(None)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # what it had not read
                stream.close()


_own = threading.local()


def own_worker() -> MipWorker:
    """Return the worker of this thread of this process, which stays for the next call.

    Examples
    --------
    >>> own_worker() is own_worker()
    True
    """
    if getattr(_own, "of", None) != os.getpid():  # a fork must not talk to its parent's
        _own.of, _own.worker = os.getpid(), MipWorker()
    worker: MipWorker = _own.worker
    return worker


# --- in the process ------------------------------------------------------------------------------


def _serve() -> None:
    """Read programs from standard input until it ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever a library prints

    def tell(*told: Any) -> None:
        pickle.dump(told, out)
        out.flush()

    while True:
        try:
            program = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _solve(program, tell)


def _solve(program: dict[str, Any], tell: Any) -> None:
    import highspy

    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options = {"output_flag": False, "presolve": "off", "parallel": "off", "random_seed": 0}
    options |= {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-6, "time_limit": program["limit"]}
    for option, value in options.items():
        highs.setOptionValue(option, value)
    highs.passModel(_model(program))
    start = highspy.HighsSolution()
    start.col_value = program["start"].tolist()
    highs.setSolution(start)

    def improved(event: Any) -> None:
        data = event.data_out
        bound = data.mip_dual_bound
        tell(False, np.array(data.mip_solution), bound if abs(bound) < 1e100 else np.inf, False)

    highs.cbMipImprovingSolution += improved
    highs.run()
    status, info = highs.getModelStatus(), highs.getInfo()
    proven = status == highspy.HighsModelStatus.kOptimal
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.array(highs.getSolution().col_value) if feasible else None
    bound = info.mip_dual_bound if info.mip_node_count >= 0 else np.inf
    if proven:
        bound = min(bound, info.objective_function_value + 1e-6)
    tell(True, x, bound if abs(bound) < 1e100 else np.inf, proven)


def _model(program: dict[str, Any]) -> Any:
    import highspy

    lp, n = highspy.HighsLp(), program["cost"].size
    lp.num_col_, lp.num_row_ = n, program["lower"].size
    lp.sense_, lp.col_cost_ = highspy.ObjSense.kMaximize, program["cost"]
    lp.col_lower_ = np.zeros(n)
    lp.col_upper_ = np.where(np.arange(n) < program["binary"], 1.0, np.inf)
    lp.row_lower_, lp.row_upper_ = program["lower"], program["upper"]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = program["matrix"]
    kinds = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    binary = program["binary"]
    lp.integrality_ = [kinds[0]] * binary + [kinds[1]] * (n - binary)
    return lp


if __name__ == "__main__":
    _serve()
