"""Functions run by Python and as machine code alike, which is made and found when it should be."""

import importlib
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core import caching

import gangsched as gs
from driven import Case, cases
from gangsched import Cluster, Instance, Job, registry
from gangsched.analysis.proofs import fast_machine, price_core
from gangsched.formulations import CompletionTime, alone_core
from gangsched.instances import compiled as _compiled
from gangsched.instances import compiling
from gangsched.instances.compiled import Tiered, inner, tier, tiered
from gangsched.instances.interpreted import interpret
from gangsched.solvers import Bound, LtgfPolicy, Result, Srtf, Stop
from gangsched.solvers.ours import pool_core
from gangsched.solvers.policy import Rules
from gangsched.solvers.rar_ddls.gang_queue import CompiledQueue

HEAD = "from gangsched.instances.compiled import compiled, inner\n"


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


# --- machine code of an older source --------------------------------------------------------------


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Writes modules anew and returns the first of them, imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(**texts: str) -> Any:
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(HEAD + text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        _compiled._source.cache_clear()
        return importlib.import_module(next(iter(texts)))

    return write


def test_machine_code_is_not_found_when_what_it_calls_has_changed(
    modules: Callable[..., Any],
) -> None:
    found = []
    for more, ten in ((1, 10), (5, 10), (5, 20), (5, 20)):
        outer = modules(
            outer="from beside import most\nfrom number import TEN\n\n\n"
            "@compiled\ndef twice(x):\n    return TEN * most(x)\n",
            beside="from far import more\n\n\n@inner\ndef most(x):\n    return more(x)\n",
            far=f"\n\n@inner\ndef more(x):\n    return x + {more}\n",
            number=f"TEN = {ten}\n",
        )
        found.append(outer.twice(1))
    assert found == [20, 60, 120, 120]  # and nothing is compiled for the last
    assert sum(outer.twice.stats.cache_hits.values()) == 1
    assert (
        len([*Path(outer.twice.stats.cache_path).glob("outer.twice-*.nbi")]) == 1
    )  # older ones are deleted


def test_machine_code_is_not_found_when_a_class_that_it_takes_has_another_name(
    modules: Callable[..., Any],
) -> None:
    for name in ("Pair", "Twin"):
        fields = "    first: int\n    last: int\n"
        total = "@compiled\ndef total(pair):\n    return pair.first + pair.last\n"
        kind = f"class {name}(NamedTuple):\n{fields}"
        renamed = modules(renamed=f"from typing import NamedTuple\n\n\n{kind}\n\n{total}")
        assert renamed.total(getattr(renamed, name)(1, 2)) == 3


@pytest.mark.parametrize(
    ("old", "new", "give"),
    [
        ("NUMBERS = np.array([2])", "NUMBERS = np.array([6])", "NUMBERS[0] * x.a"),
        ("NUMBER = np.int64(2)", "NUMBER = np.int64(6)", "NUMBER * x.a"),
        ("ab = 'a b'", "ab = 'b a'", "2 * x[0] + 4 * (x[0] > 1)"),
    ],
)
def test_machine_code_is_not_found_when_data_of_another_module_have_changed(
    modules: Callable[..., Any], old: str, new: str, give: str
) -> None:
    found = []
    for data in (old, new):
        outer = modules(
            outer=f"from other import *\n\n\n@compiled\ndef value(x):\n    return {give}\n",
            other="import numpy as np\nfrom collections import namedtuple\n"
            f"ab = 'a b'\n{data}\nPair = namedtuple('Pair', ab)\n",
        )
        found.append(outer.value(outer.Pair(a=1, b=3)))
    assert found[0] == 2
    assert found[1] != 2


# --- numba is as it was ---------------------------------------------------------------------------

BESIDE_A_USER = """
import sys
import numba, numpy as np


@numba.njit
def last(values, i):
    return values[i]

def state():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("numba", "llvmlite"):
            for key, value in vars(module).items():
                found[name, key] = id(value)
                if isinstance(value, type):
                    found |= {(name, key, k): id(v) for k, v in vars(value).items()}
    return found

assert last(np.array([5, 6, 7]), -1) == 7
before = state()
import gangsched as gs
cluster = gs.Cluster.of_sizes([2])
instance = gs.Instance(cluster, [gs.Job(id=i, gpus=1, work=60) for i in "abc"])
gs.drive(instance, "fifo")
gs.drive(instance, "gandiva-fair")
problem = gs.problem("rar-ddls", setting="paper-a", jobs=8, seed=0)
gs.solve(problem, "laminar")
after = state()
tables = {"_abc_impl", "__warningregistry__", "__annotations_cache__"}
print(sorted({k for k in before if before[k] != after.get(k) and k[-1] not in tables}))
assert last(np.array([5, 6, 7]), -1) == 7

@numba.njit
def fresh(values, i):
    return values[i]

assert fresh(np.array([5, 6, 7]), -1) == 7
"""


@pytest.mark.process
def test_a_users_numba_is_as_it_was() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BESIDE_A_USER], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# --- when functions are compiled ------------------------------------------------------------------


class Sums(NamedTuple):
    """Numbers, records and a table."""

    numbers: Any
    records: Any
    table: Any
    marks: Any


RECORD = np.dtype([("count", np.int64), ("base", np.float64)])


def sums(more: int = 0) -> Sums:
    return Sums(
        np.arange(4) + more,
        np.zeros(2, dtype=RECORD),
        np.zeros((2, 3), dtype=np.int32),
        np.zeros(2, dtype=np.bool_),
    )


@inner
def last_of(line: Any) -> Any:
    line[line.size - 1] += 1
    return line[len(line) - 1]


def add_up(s: Sums, most: int) -> int:
    for i in range(most):
        s.records[i % 2].count += s.numbers[i]
        s.records[i % 2].base += s.numbers[i] / 4
        s.table[1, i % 3] = 2.75  # an integer there
        s.marks[i % 2] = s.numbers[i] > 2
    return last_of(s.table[0]) + s.table.shape[1] + len(s.records)


def made(seconds: float, most: int | None = None) -> Tiered:
    function: Tiered = tiered(seconds, most)(add_up)
    return function


def test_python_and_machine_code_leave_the_same() -> None:
    found = []
    for kind in ("python", "machine code"):
        given = sums()
        with tier(kind):  # type: ignore[arg-type]
            found.append((made(9)(given, 4), [array.tolist() for array in given]))
    assert found[0] == found[1]
    assert found[0][1] == [
        [0, 1, 2, 3], [(2, 0.5), (4, 1.0)], [[0, 0, 1], [2, 2, 2]], [False, True]
    ]  # fmt: skip


def test_a_function_is_compiled_once_python_has_taken_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_compiled, "is_kept", lambda _: False)
    clock = iter(range(100))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    function = made(seconds=2)
    before = compiling.interpreted()
    for calls in (1, 2):
        function(sums(), 1)
        assert compiling.interpreted() == before + calls
        assert not function.machine_code.signatures
    for _ in range(2):
        function(sums(), 1)
    assert compiling.interpreted() == before + 2
    assert len(function.machine_code.signatures) == 1


def test_machine_code_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    function, before = made(seconds=99), compiling.interpreted()
    with tier("machine code"):
        function(sums(), 1)
    assert _compiled.is_kept(made(99).machine_code)
    made(99)(sums(), 1)
    assert compiling.interpreted() == before


def test_many_numbers_are_not_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiled, "is_kept", lambda _: False)
    few, many, before = made(99, most=14), made(99, most=13), compiling.interpreted()
    few(sums(), 1)  # 4 + 2 + 6 + 2 of them
    assert compiling.interpreted() == before + 1
    many(sums(), 1)
    assert compiling.interpreted() == before + 1


def test_compiled_functions_call_those_that_python_may_run() -> None:
    tiers = tiered(seconds=99)(lambda x: x + 1)
    assert njit(lambda x: 2 * tiers(x))(3) == 8
    assert njit(lambda s: last_of(s))(np.zeros(2, dtype=np.int64)) == 1


def test_an_error_leaves_the_arrays_as_they_were() -> None:
    def fail(numbers: Any) -> None:
        numbers[0] = 7
        numbers[1] //= 0

    numbers = np.array([1, 2])
    with pytest.raises(ZeroDivisionError):
        interpret(fail, (numbers,))
    assert numbers.tolist() == [1, 2]


def test_a_number_that_does_not_fit_leaves_all_arrays_as_they_were() -> None:
    def fill(one: Any, other: Any) -> None:
        one[0], other[0] = 7, 300

    one, other = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int8)
    with pytest.raises(OverflowError):
        interpret(fill, (one, other))
    assert one.tolist() == other.tolist() == [0]


def set_before_the_first(a: Any) -> None:
    a[-1] = 5


@pytest.mark.parametrize(
    ("shape", "wrong"),
    [
        (2, lambda a: a[-1]), (2, lambda a: a[0:1]), (2, set_before_the_first),
        ((2, 2), lambda a: a[0, -1]), ((2, 2), lambda a: a[0][-1]),
    ],
)  # fmt: skip
def test_python_refuses_indexes_that_count_from_the_end(shape: Any, wrong: Any) -> None:
    array = np.zeros(shape)
    with pytest.raises((IndexError, TypeError)):
        interpret(wrong, (array,))
    assert not array.any()


def test_arrays_that_are_read_alone_or_left_alone_are_not_written() -> None:
    def read(one: Any, _: Any) -> Any:
        return one[0, 1]

    fixed = np.array([[3, 4]])
    fixed.flags.writeable = False
    assert interpret(read, (fixed, np.zeros((2, 1)))) == 4


def test_the_same_array_given_twice_is_one() -> None:
    def move(one: Any, other: Any) -> None:
        one[0] = 5
        other[1] = other[0]

    array = np.zeros(2, dtype=np.int64)
    interpret(move, (array, array))
    assert array.tolist() == [5, 5]


# --- all tiered functions, both ways --------------------------------------------------------------


def both(call: Callable[[], Any]) -> tuple[Any, Any]:
    """What a call gives by Python and as machine code."""
    found = []
    for kind in ("python", "machine code"):
        with tier(kind):  # type: ignore[arg-type]
            found.append(call())
    return found[0], found[1]


RULED = sorted(
    name for name in registry.POLICIES if getattr(registry.policy(name)[1], "rule", None)
)


@given(cases(), st.sampled_from(RULED))
def test_policies_run_alike(case: Case, name: str) -> None:
    def run() -> Any:
        try:
            return gs.drive(case.instance, registry.policy(name)[1], **case.rules).digest()
        except ValueError as error:  # what it refuses
            return str(error)

    one, other = both(run)
    assert one == other


class PlainLtgf(LtgfPolicy):
    """Decides in Python, on leases."""

    rule = None  # type: ignore[assignment]


class PlainSrtf(Srtf):
    """Decides in Python."""

    rule = None  # type: ignore[assignment]


@given(cases(), st.sampled_from([PlainSrtf(), PlainLtgf()]))
def test_policies_that_decide_in_python_run_alike(case: Case, policy: Any) -> None:
    rules = {**case.rules, "spread": False}
    one, other = both(lambda: gs.drive(case.instance, policy, **rules).digest())
    assert one == other


@pytest.mark.slow
@given(cases())
@settings(max_examples=3)
def test_replays_measure_alike(case: Case) -> None:
    policies = {name: registry.policy(name)[1] for name in ("fifo", "srtf")}
    rules = {**case.rules, "spread": True}

    def measured() -> Any:
        found = gs.replay(case.instance, policies, effort="standard", rules=Rules(**rules))
        return [row.measures for row in found.rows], [row.ratios for row in found.rows]

    one, other = both(measured)
    for mine, theirs in zip(one, other, strict=True):
        for row, same in zip(mine, theirs, strict=True):
            assert {**row, "runtime": None} == {**same, "runtime": None}


LARGE = st.integers(0, 2**40)


@given(st.lists(st.tuples(LARGE, st.integers(1, 2**20), st.integers(1, 8)), min_size=1), st.data())
def test_prices_machines_and_pools_are_alike_to_64_bits(rows: Any, data: Any) -> None:
    release, need, gang = np.array(sorted(rows), dtype=np.int64).T.copy()
    edges = np.unique([0, 1, *data.draw(st.lists(LARGE, max_size=6))])
    price = st.integers(0, 2**10)
    prices = np.array([data.draw(price) for _ in edges[1:]], dtype=np.int64)
    first = np.searchsorted(edges, release, side="right")
    jobs = release, need, gang, gang, first
    assert_equal(*both(lambda: price_core.answers(*jobs, edges, prices)))
    floats = release, need, 1 / gang, gang, first
    assert_equal(*both(lambda: price_core.evaluate(*floats, edges, prices / 7)))
    assert_equal(*both(lambda: fast_machine.run(release, need)))
    assert_equal(*both(lambda: fast_machine.run(release, need, gang)))
    areas = [column.tolist() for column in (release, gang, need * gang)]
    assert_equal(*both(lambda: alone_core.flows(*areas, 8)))
    kinds, kind = np.unique(gang, return_inverse=True)
    pool = np.argsort(release, kind="stable"), release, need, gang, kind, kinds
    for dynamic in (False, True):
        one, other = both(lambda d=dynamic: pool_core.schedule_pool(*pool, gang / 3, 8, d))
        assert_equal(one, other)
        job, start, end = one
        order, last = np.lexsort((job, start)), np.argsort(end, kind="stable")
        sizes = np.array([5, 3])
        place = lambda: pool_core.place_pieces(order, last, start, end, gang[job], sizes)  # noqa: E731, B023
        assert_equal(*both(place))


@given(st.integers(0, 99), st.sampled_from([0, 1, 2]))
def test_queues_of_gangs_are_alike(seed: int, rule: int) -> None:
    problem = gs.problem("rar-ddls", setting="paper-a", jobs=12, seed=seed)
    queue = CompiledQueue(problem, np.arange(1, len(problem.jobs) + 1))
    order = np.random.default_rng(seed).permutation(len(problem.jobs))
    rules = np.full(order.size, rule)
    one, other = both(lambda: queue.head_of_line(order, rules, reach=1.5))
    assert str(one) == str(other)
    one, other = both(lambda: queue.backfill(order))
    assert str(one) == str(other)


def assert_equal(one: Any, other: Any) -> None:
    """Two results have the same numbers."""
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


# --- run times ------------------------------------------------------------------------------------


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


def test_a_run_that_python_has_run_has_no_runtime() -> None:
    instance = Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1, work=1)])
    one, other = both(lambda: gs.drive(instance, "fifo"))
    assert one.runtime is None
    assert one.time_taken == "not compiled"
    assert other.runtime is not None
    assert one.digest() == other.digest()


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
