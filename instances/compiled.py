"""Machine code for hot loops, kept on disk where there is a folder for it."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, typeof
from numba.core import event, types
from numba.core.dispatcher import Dispatcher
from numba.np import arrayobj, linalg

from .compiling import note_compile, note_wait

log = logging.getLogger("gangsched")


class _Watch(event.Listener):
    """Notes when numba compiles or loads something, parts of it included."""

    depth, began = 0, 0.0

    def on_start(self, happening: event.Event) -> None:
        """Note when the outermost phase begins, and that something is compiled."""
        if happening.kind == "numba:compile":
            note_compile()
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


def _as_they_are(fix: Callable[..., Any]) -> Callable[..., Any]:
    """Let no variable index of this package's machine code count from the end.

    To look whether it does takes a seventh of the time of a replay. Indexes that are numbers in
    the source may, and so may all of other packages. With `NUMBA_BOUNDSCHECK=1` those below 0 are
    errors, as are those beyond an array.
    """
    top = __name__.partition(".")[0]

    def fix_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        number = isinstance(index, ir.Constant)
        if number or not builder.function.name.startswith(f"_ZN{len(top)}{top}"):
            return fix(context, builder, kind, index, size)
        return context.cast(builder, index, kind, types.intp)

    return fix_index


def _take_blas_for_granted() -> None:
    """Let numba not import scipy.linalg to see whether there is a BLAS, which takes .3 s.

    There is, as gangsched needs SciPy; what multiplies matrices still imports it.
    """
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = look  # type: ignore[attr-defined]
    finally:
        linalg.ensure_blas = look


# numba's own, which may change: then it is slower
if hasattr(arrayobj, "fix_integer_index"):
    arrayobj.fix_integer_index = _as_they_are(arrayobj.fix_integer_index)
if hasattr(linalg, "ensure_blas"):
    _take_blas_for_granted()


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the machine code for the next process.

    It goes beside the source, or to the user's cache folder, or to `NUMBA_CACHE_DIR`. Where none of
    them can be written, every process compiles again.
    """
    return _kept(function)


def entry(function: Callable[..., Any]) -> Any:
    """Like :func:`compiled`, for functions that allocate nothing: no counting of references.

    Which costs a tenth of the time of a replay where it is not optimised away.
    """
    return _kept(function, _nrt=False)


def inner(function: Callable[..., Any]) -> Any:
    """Like :func:`compiled`, for functions that only compiled ones call and that allocate nothing.

    No way in from Python and no counting of references, which cost more to compile than they do.
    """
    return _kept(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Like :func:`inner`, for a part of one function: compiled within it and not once more."""
    return _kept(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, inline="always")


def entered(function: Any, *like: Any) -> Callable[..., Any]:
    """Return a compiled function for arguments of these types, which are not looked at again.

    Looking takes microseconds where there are many arrays.
    """
    made: Callable[..., Any] = function.compile(tuple(map(typeof, like)))
    return made


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    try:
        made = njit(cache=True, **options)(function)
    except RuntimeError:
        _say_once()
        return njit(**options)(function)
    _stamp(made, function)
    return made


def _stamp(made: Any, function: Callable[..., Any]) -> None:
    """Let machine code be stale also where something has changed that may be part of it.

    That are modules beside it and beside what its module calls, and numbers from elsewhere.
    """
    folders, numbers = {Path(function.__code__.co_filename).parent}, []
    for name, value in sorted(function.__globals__.items()):
        if isinstance(value, Dispatcher) and value in _folders:
            folders |= _folders[value]
        elif isinstance(value, int | float | tuple) and not name.startswith("__"):
            numbers.append(f"{name}={value!r}")
    _folders[made] = frozenset(folders)
    file = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if file is not None:
        how = _state(Path(__file__)), *map(_state, sorted(folders)), *numbers
        file._source_stamp = (file._source_stamp, *how)
        file._load_index = partial(_known, file._load_index)


def _known(load: Callable[[], dict[Any, str]]) -> dict[Any, str]:
    """What machine code there is; none where what it was made for is no longer in the source.

    Such as a class of tuples that has another name now, by which numba's index is not read at all.
    """
    try:
        return load()
    except (AttributeError, ImportError, pickle.UnpicklingError):
        return {}


#: of the modules that machine code may be made of
_folders: dict[Any, frozenset[Path]] = {}


@cache
def _state(place: Path) -> str:
    """A hash of a module, or of those of a folder."""
    total = sha256()
    for path in [place] if place.is_file() else sorted(place.glob("*.py")):
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


@cache
def _say_once() -> None:
    log.warning("machine code cannot be kept: set NUMBA_CACHE_DIR to a folder that can be written")
