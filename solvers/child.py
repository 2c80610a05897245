"""Work in a process of its own, which is stopped when its time is over.

A solver may look at its time limit between steps that take minutes, or not go into one process with
another: OR-tools and highspy both bring a library of the name libhighs. Here the limit is kept by
the caller, who keeps what was told until then; a process that crashes loses nothing of it.

The process imports the module of its work and what that imports, so it starts in a fraction of a
second. It stays for the next message, and ends when its caller does.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

#: work(message, tell) tells what it finds
Work = Callable[[Any, Callable[[Any], None]], None]

#: it is sent where modules are, then what to call
COMMAND = (
    sys.executable, "-P", "-c",
    "import pickle, sys\nsys.path = pickle.load(sys.stdin.buffer)\npickle.load(sys.stdin.buffer)()",
)  # fmt: skip


class Child:
    """A process that does `work`, a function of a module, on one message after another."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._process: subprocess.Popen[bytes] | None = None
        self._told: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask(self, message: Any, hear: Callable[[Any], bool], end: float = math.inf) -> None:
        """Pass on what is told of a message, until the work is done or `hear` says it is enough.

        Raise TimeoutError at `end`, by ``time.perf_counter``, and ChildProcessError where the
        process ended before. Unless the work is done, the process is stopped.
        """
        try:
            self._send(message)
            while True:
                left = None if end == math.inf else max(end - time.perf_counter(), 0.0)
                told = self._told.get(timeout=left)
                if told is None:
                    raise ChildProcessError(f"exit code {self._exit_code()}")
                done, *found = told
                if done:
                    return
                if hear(*found):
                    break
        except queue.Empty:
            self.close()
            raise TimeoutError("the time of a child process is over") from None
        except BaseException:  # Ctrl-C: what the process tells from now on is for nobody
            self.close()
            raise
        self.close()

    def close(self) -> None:
        """Stop the process, if there is one; the next message starts another."""
        if self._process is not None:
            _stop(self._process)
            self._process = None

    def _exit_code(self) -> int | None:
        return None if self._process is None else self._process.wait()

    def _send(self, message: Any) -> None:
        """Give the process a message, without waiting for it to be read; replace a dead process."""
        messages = [message]
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
            messages = [sys.path, partial(_serve, self._work), message]
        assert self._process is not None
        arguments = self._process.stdin, messages
        threading.Thread(target=_write, args=arguments, daemon=True).start()

    def _start(self) -> None:
        self._told = queue.SimpleQueue()
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(
            COMMAND, stdin=pipe, stdout=pipe, stderr=nowhere,
            start_new_session=True,  # a terminal's Ctrl-C is for the caller, who stops this one
        )  # fmt: skip
        heard = self._process.stdout, self._told
        threading.Thread(target=_listen, args=heard, daemon=True).start()
        weakref.finalize(self, _stop, self._process)


def _write(stream: Any, messages: list[Any]) -> None:
    """Write to a process; that it is gone is told by its own stream."""
    with contextlib.suppress(OSError, ValueError):
        for message in messages:
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
            with contextlib.suppress(OSError, ValueError):  # what it had not read
                stream.close()


def _serve(work: Work) -> None:
    """In the process: work on what standard input brings, until it ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whatever a library prints
    lock, messages = threading.Lock(), queue.SimpleQueue[Any]()

    def say(done: bool, *found: Any) -> None:
        with lock:
            pickle.dump((done, *found), out)
            out.flush()

    def read() -> None:
        with contextlib.suppress(EOFError):
            while True:
                messages.put(pickle.load(sys.stdin.buffer))
        os._exit(1)  # the caller has ended

    threading.Thread(target=read, daemon=True).start()
    while True:
        work(messages.get(), partial(say, False))
        say(True)
