"""Compiled code runs wherever Python does, also where nothing can be written."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
import time
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numba import config, njit
from numba.core import caching

from gangsched import Cluster, Instance, Job
from gangsched.formulations import CompletionTime
from gangsched.instances import compiled as _compiled
from gangsched.instances import compiling
from gangsched.solvers import Bound, Result, Stop


def add_one(x: int) -> int:
    return x + 1


def test_without_a_folder_for_machine_code_functions_compile_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    _compiled._say_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="gangsched"):
        functions = [_compiled.compiled(add_one) for _ in range(2)]
    assert [f(1) for f in functions] == [2, 2]
    assert [f.py_func(1) for f in functions] == [2, 2]
    assert [record.message for record in caplog.records] == [
        "machine code cannot be kept: set NUMBA_CACHE_DIR to a folder that can be written"
    ]


def test_machine_code_is_stale_when_a_module_beside_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    head = "from gangsched.instances.compiled import compiled, inner\n"
    (tmp_path / "outer_part.py").write_text(
        f"{head}from inner_part import more\n\n\n@compiled\ndef twice(x):\n    return 2 * more(x)\n"
    )
    for number in (1, 5):
        (tmp_path / "inner_part.py").write_text(
            f"{head}\n\n@inner\ndef more(x):\n    return x + {number}\n"
        )
        for name in ("outer_part", "inner_part"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        _compiled._state.cache_clear()
        assert importlib.import_module("outer_part").twice(1) == 2 * (1 + number)
    assert list(tmp_path.rglob("outer_part.twice*.nbi"))  # it was kept, and not read again


def test_machine_code_is_stale_when_what_it_takes_from_another_folder_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    head = "from gangsched.instances.compiled import compiled, inner\n"
    names = {name: f"{name}_module" for name in ("outer", "beside", "far", "number")}
    for name in names:
        (tmp_path / name).mkdir()
        monkeypatch.syspath_prepend(str(tmp_path / name))
    (tmp_path / "outer" / "beside_module.py").write_text(
        f"{head}from far_module import more\n\n\n@inner\ndef most(x):\n    return more(x)\n"
    )
    (tmp_path / "outer" / "outer_module.py").write_text(
        f"{head}from beside_module import most\nfrom number_module import TEN\n\n\n"
        "@compiled\ndef twice(x):\n    return TEN * most(x)\n"
    )
    found = []
    for more, ten in ((1, 10), (5, 10), (5, 20), (5, 20)):
        (tmp_path / "far" / "far_module.py").write_text(
            f"{head}\n\n@inner\ndef more(x):\n    return x + {more}\n"
        )
        (tmp_path / "number" / "number_module.py").write_text(f"TEN = {ten}\n")
        for module in names.values():
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        _compiled._state.cache_clear()
        twice = importlib.import_module("outer_module").twice
        found.append(twice(1))
    assert found == [20, 60, 120, 120]
    assert sum(twice.stats.cache_hits.values()) == 1


def test_machine_code_is_stale_when_a_class_that_it_takes_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("Pair", "Twin"):
        (tmp_path / "renamed_part.py").write_text(
            "from typing import NamedTuple\nfrom gangsched.instances.compiled import compiled\n\n\n"
            f"class {name}(NamedTuple):\n    first: int\n    last: int\n\n\n"
            "@compiled\ndef total(pair):\n    return pair.first + pair.last\n"
        )
        sys.modules.pop("renamed_part", None)
        importlib.invalidate_caches()
        _compiled._state.cache_clear()
        module = importlib.import_module("renamed_part")
        assert module.total(getattr(module, name)(1, 2)) == 3
    assert list(tmp_path.rglob("renamed_part.total*.nbi"))


def pick(values: Any, i: int) -> Any:
    return values[i]


def pick_last(values: Any, i: int) -> Any:
    return values[-1] + i


def test_only_a_written_index_of_ours_counts_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that with bounds checks one below 0 is an error; without them it is never looked at."""
    values = np.array([5, 6, 7])
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    for name, ours in (("gangsched.elsewhere", True), ("gangscheduler", False)):
        one, last = (FunctionType(f.__code__, globals(), f.__name__) for f in (pick, pick_last))
        one.__module__ = last.__module__ = name
        assert njit(one)(values, 2) == njit(last)(values, 0) == 7
        if ours:
            with pytest.raises(IndexError):
                njit(one)(values, -1)
        else:
            assert njit(one)(values, -1) == 7
        with pytest.raises(IndexError):
            njit(one)(values, 3)


def test_scipy_is_not_imported_for_machine_code_that_multiplies_no_matrices() -> None:
    code = (
        "import sys\nimport numpy as np\nfrom numba import njit\n"
        "from gangsched.instances.compiled import compiled\n"
        "assert njit(lambda x: x + 1)(1) == 2\nassert 'scipy.linalg' not in sys.modules\n"
        "assert njit(lambda a: a @ a)(np.full((2, 2), 3.0))[0, 0] == 18\n"
        "assert 'scipy.linalg' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_run_times_leave_out_what_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[float, float]] = []
    monkeypatch.setattr(compiling, "_waits", waits)
    fresh = njit(lambda x: x + 1)
    before = time.perf_counter()
    fresh(1)  # which watches nothing of ours, but numba
    whole = time.perf_counter() - before
    (only,) = waits
    assert before < only[0]
    assert 0.5 * whole < only[1] < whole
    assert compiling.without_waits(whole + 1) == pytest.approx(whole + 1 - only[1], abs=0.2)
    fresh(2)
    assert waits == [only]


def test_a_result_does_not_count_them(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = CompletionTime(Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1, work=1)]))
    now = time.perf_counter()
    monkeypatch.setattr(compiling, "_waits", [(now - 50, 49.0), (now - 500, 300.0)])
    history = [(0.5, None, 1.0)]
    made = Result.of(
        problem, None, solver="x", stop=Stop.TIME_LIMIT, bound=Bound(1, "y"), runtime=100.0,
        history=history,
    )  # fmt: skip
    assert made.runtime == pytest.approx(51, abs=0.5)
    assert [at for at, *_ in made.history] == [0.0]
    monkeypatch.setattr(compiling, "_waits", [])
    assert Result.of(problem, None, solver="x", stop=Stop.COMPLETED, runtime=2.0).runtime == 2.0
