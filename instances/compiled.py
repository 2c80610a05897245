"""Machine code for hot loops, and when it is worth compiling.

Compiling the loops of a replay takes half a minute, and a small replay itself a second. So a
function marked :func:`tiered` is first run by Python, from the same source, until it has used about
as much time as compiling it takes; then it is compiled, and kept on disk for the next process.
Machine code that is already there is always used. Searches, which are slow in Python, are marked
:func:`compiled` and are compiled when they are first called.

Nothing of numba is changed. Of what it does not document, three things are used:

- `_nrt=False` for functions that allocate nothing: counting references, the driver takes three
  (FIFO) to twenty times (SRTF) as long over Philly's jobs.
- A *part*, which only other functions of this kind call, stays a Python function. What numba asks
  a value of a global name for its type, `_numba_type_`, gives it the compiled one.
- numba finds machine code by the name of a function, and does not notice a changed function that it
  calls. So while it chooses the file, the name ends with a hash of what the function is compiled
  from, and by what.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Literal

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba import config, njit, typeof
from numba.core import event
from numba.core.dispatcher import Dispatcher

from .compiling import note_compile, note_interpreted, note_wait
from .interpreted import interpret

log = logging.getLogger("gangsched")

#: options of functions that no Python code calls
_PART = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: hashes of what functions are compiled from, and the files of their machine code
_stamps: dict[Any, str] = {}
_files: dict[Any, tuple[Path, str]] = {}


# --- how functions are marked ---------------------------------------------------------------------


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the machine code for the next process.

    It goes beside the source, or to the user's cache folder, or to `NUMBA_CACHE_DIR`. Where none of
    them can be written, every process compiles again.
    """
    return _machine_code(function)


def inner(function: Callable[..., Any]) -> Any:
    """Mark a part of compiled functions that allocates nothing; Python can call it as it is."""
    return _part(function, _nrt=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Like :func:`inner`, for a part of one function that is called in each of its rounds."""
    return _part(function, _nrt=False, forceinline=True)


def tiered(
    seconds: float, most: int | None = None, *, allocates: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Run a function by Python until that has taken `seconds` of CPU time, then compile it.

    Parameters
    ----------
    seconds : float
        About what compiling it takes: then nobody waits more than twice as long as needed.
    most : int, optional
        Numbers in its arrays; with more of them it is compiled at once. None where one call does a
        bounded amount of work on arrays of any size.
    allocates : bool
        Whether it makes arrays or lists. They are numpy's own in Python, which reads them slowly.

    Notes
    -----
    It calls parts and no other tiered function, and does with its arrays what
    :func:`.interpreted.interpret` says. In Python it works on numbers without a limit; machine code
    on those of 64 bits.
    """

    def mark(function: Callable[..., Any]) -> Any:
        options = {} if allocates else {"_nrt": False}
        return Tiered(function, _machine_code(function, **options), seconds, most)

    return mark


class Tiered:
    """A function that Python runs until compiling it pays; numba sees its machine code."""

    forced: str | None = None  #: how all of them run, where not each decides

    def __init__(
        self, function: Callable[..., Any], made: Dispatcher, seconds: float, most: int | None
    ) -> None:
        update_wrapper(self, function)
        self.py_func, self.machine_code, self.left, self.most = function, made, seconds, most
        self.ready = self.looked = False  # once machine code is used, it is used for good
        self._numba_type_: Any = typeof(self.machine_code)  # type: ignore[no-untyped-call]

    def __call__(self, *args: Any) -> Any:
        """Run it, one way or the other."""
        if self.is_ready(args):
            return self.machine_code(*args)
        began = time.thread_time()
        try:
            return interpret(self.py_func, args)
        finally:
            self.left -= time.thread_time() - began
            note_interpreted()

    def is_ready(self, args: tuple[Any, ...]) -> bool:
        """Whether machine code runs this call: there is some, or Python has taken its time."""
        if self.forced is not None:
            return self.forced == "machine code"
        if not self.ready:
            many = self.most is not None and _numbers(args) > self.most
            kept = not self.looked and is_kept(self.machine_code)
            self.ready, self.looked = self.left <= 0 or many or kept, True
        return self.ready


def _numbers(value: Any) -> int:
    """How many numbers arrays have, also those in tuples."""
    if isinstance(value, tuple):
        return sum(map(_numbers, value))
    return value.size if isinstance(value, np.ndarray) else 0


@contextmanager
def tier(kind: Literal["python", "machine code"]) -> Iterator[None]:
    """Let all tiered functions run in one way inside; for tests and measurements."""
    before, Tiered.forced = Tiered.forced, kind
    try:
        yield
    finally:
        Tiered.forced = before


def entered(function: Any, *like: Any) -> Callable[..., Any]:
    """Return a function for arguments of these types, which machine code does not look at again.

    Looking takes microseconds where there are many arrays.
    """
    if isinstance(function, Tiered):
        if not function.is_ready(like):
            return function
        function = function.machine_code
    made: Callable[..., Any] = function.compile(tuple(map(typeof, like)))
    return made


# --- machine code and where it is kept ------------------------------------------------------------


def _part(function: Callable[..., Any], **options: Any) -> Any:
    """The function itself, which numba takes for its machine code."""
    made = _machine_code(function, **_PART, **options)
    vars(function)["_numba_type_"] = typeof(made)  # type: ignore[no-untyped-call]
    _parts[function] = made  # numba's types do not keep what they stand for
    _stamps[function] = _stamps[made]
    return function


_parts: dict[Any, Dispatcher] = {}


def _machine_code(function: Callable[..., Any], **options: Any) -> Dispatcher:
    """What numba compiles, kept in a file of which the name says what it was compiled from."""
    stamp, name = _stamp(function, options), function.__qualname__
    function.__qualname__ = f"{name}-{stamp}"
    try:
        made = njit(cache=True, **options)(function)
    except RuntimeError:  # no folder can be written
        _say_once()
        made = njit(**options)(function)
    finally:
        function.__qualname__ = name
    _stamps[made] = stamp
    if made.stats.cache_path:
        file = f"{Path(function.__code__.co_filename).stem}.{name}-"
        _files[made] = Path(made.stats.cache_path), file
    return made  # type: ignore[no-any-return]


def is_kept(made: Dispatcher) -> bool:
    """Whether there is machine code of a function, in this process or on disk."""
    if made.signatures:
        return True
    folder, file = _files.get(made, (None, ""))
    return folder is not None and any(folder.glob(f"{file}{_stamps[made]}-*.nbc"))


def _forget_older(made: Dispatcher) -> None:
    """Delete machine code of what a function was before its source has changed."""
    folder, file = _files.get(made, (None, ""))
    for path in () if folder is None else folder.glob(f"{file}*.nb[ic]"):
        if not path.name.startswith(f"{file}{_stamps[made]}-"):
            with suppress(OSError):
                path.unlink()


def _stamp(function: Callable[..., Any], options: dict[str, Any]) -> str:
    """A hash of what a function is compiled from: its module, and what that takes from others."""
    total = sha256(_source(function.__code__.co_filename) + repr((_COMPILER, options)).encode())
    for name, value in _constants(function.__globals__):
        total.update(f"{name}={value}\n".encode())
    return total.hexdigest()[:12]


def _constants(names: dict[str, Any], within: str = "") -> list[tuple[str, str]]:
    """Names with the stamps of functions, or the numbers, that they stand for."""
    found = []
    for name, value in sorted(names.items()):
        if isinstance(value, int | float | tuple | np.generic) and not name.startswith("__"):
            found.append((within + name, repr(value)))
        elif isinstance(value, np.ndarray):
            found.append((within + name, f"{value.dtype}{value.shape}{value.tobytes().hex()}"))
        elif isinstance(value, type) and hasattr(value, "_fields"):
            found.append((within + name, repr(value._fields)))
        elif isinstance(value, ModuleType) and value.__name__.startswith(_PACKAGE) and not within:
            found += _constants(vars(value), f"{name}.")
        elif (stamp := _stamp_of(value)) is not None:
            found.append((within + name, stamp))
    return found


def _stamp_of(value: Any) -> str | None:
    if isinstance(value, Tiered):
        value = value.machine_code
    return _stamps.get(value) if isinstance(value, FunctionType | Dispatcher) else None


_PACKAGE = f"{__name__.partition('.')[0]}."


#: what compiles, and for what
_COMPILER = (
    numba.__version__,
    sys.implementation.cache_tag,
    get_host_cpu_name(),
    *(vars(config)[name] for name in ("CPU_NAME", "CPU_FEATURES", "OPT", "BOUNDSCHECK")),
)


@cache
def _source(file: str) -> bytes:
    """A hash of a module; of none for what was typed in, which is not kept either."""
    try:
        return sha256(Path(file).read_bytes()).digest()
    except OSError:
        return b""


@cache
def _say_once() -> None:
    log.warning("machine code cannot be kept: set NUMBA_CACHE_DIR to a folder that can be written")


# --- what is told of it ---------------------------------------------------------------------------


class _Watch(event.Listener):
    """Notes when numba compiles or loads something, parts of it included."""

    depth, began = 0, 0.0

    def on_start(self, happening: event.Event) -> None:
        """Note when the outermost phase begins, and that something is compiled."""
        if happening.kind == "numba:compile":
            made = happening.data["dispatcher"]
            if made in _stamps:  # one of ours
                note_compile()
                _forget_older(made)
            return
        self.began = self.began if self.depth else time.perf_counter()
        self.depth += 1

    def on_end(self, happening: event.Event) -> None:
        """Note how long the outermost phase took, once it ends."""
        if happening.kind == "numba:compile":
            return
        self.depth -= 1
        if not self.depth:
            note_wait(self.began)


for _kind in ("numba:compile", "numba:compiler_lock"):
    event.register(_kind, _Watch())  # type: ignore[no-untyped-call]
