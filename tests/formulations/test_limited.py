"""A limit of time on building: where it is noticed, and that it stays in its place."""

import logging
import math
import threading
import time
from typing import Any

import pyomo.environ as pyo
import pytest
from pyomo.core.base.block import BlockData

from clock import Clock
from gangsched.formulations import limited as limiting
from gangsched.formulations.limited import OutOfTime, check_time, limited, time_is_over
from gangsched.formulations.problem import NoModel
from gangsched.formulations.rows import constraint, constraint_of
from gangsched.registry import PROBLEMS


def past() -> float:
    return time.perf_counter() - 1


@pytest.mark.parametrize("left", [60.0, math.inf])
def test_nothing_happens_in_time(left: float) -> None:
    with limited(time.perf_counter() + left):
        check_time()
    check_time()


def test_what_is_over_before_it_begins_does_not_begin() -> None:
    begun = []
    with pytest.raises(OutOfTime), limited(past()):
        begun.append(True)
    assert begun == []
    check_time()  # the limit is gone


def test_it_is_noticed_between_two_steps_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    steps = []
    with pytest.raises(OutOfTime), limited(3.0):  # noqa: PT012
        while True:
            check_time()
            steps.append(now[0])
            now[0] += 1
    assert steps == [0, 1, 2]
    with pytest.raises(OutOfTime), limited(5.0):
        now[0] = 5.0


def test_a_limit_within_another_is_not_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with limited(3.0):
        with pytest.raises(OutOfTime), limited(-1.0):
            pass
        check_time()  # that one is gone
        with limited(math.inf):
            assert not time_is_over()
            now[0] = 3.0
            assert time_is_over()
            now[0] = 2.0


def test_other_threads_have_limits_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def work() -> None:
        check_time()
        seen.append(True)

    with pytest.raises(OutOfTime), limited(1.0):  # noqa: PT012
        now[0] = 2.0
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [True]


def test_rows_of_a_model_end_with_the_time_and_nothing_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now, rows = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    m: Any = pyo.ConcreteModel()
    m.x = pyo.Var(range(5))

    def row(m: Any, i: int) -> Any:
        now[0] += 1
        rows.append(i)
        return m.x[i] <= 1

    with pytest.raises(OutOfTime), limited(3.0):
        m.rows = constraint_of(row, range(5))
    assert rows == [0, 1, 2]
    now[0], reached = 0.0, []
    with pytest.raises(OutOfTime), limited(3.0):  # noqa: PT012
        constraint(m, range(5), doc="the same")(row)
        reached.append(True)
    assert (rows, reached) == ([0, 1, 2, 0, 1, 2], [])
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


MODELS = [(stem, form) for stem, entry in PROBLEMS.items() for form in entry.tiny().forms]


@pytest.mark.parametrize(("stem", "form"), MODELS)
def test_every_model_s_building_ends_between_any_two_rows(
    stem: str, form: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    problem = PROBLEMS[stem].tiny()

    def built(end: float) -> tuple[Any, int]:
        monkeypatch.setattr(limiting, "time", clock := Clock())
        with limited(end):
            model = problem.build(form)
        return model.native, clock.looks

    try:
        native, looks = built(math.inf)
    except NoModel as error:
        pytest.skip(str(error))
    if not isinstance(native, BlockData):
        pytest.skip("not a model of Pyomo's")
    sets = [c for c in native.component_objects(pyo.Constraint) if c.is_indexed()]
    assert looks >= sum(map(len, sets))
    with pytest.raises(OutOfTime):
        built(0.6 * looks)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_pyomo_s_logger_is_left_alone() -> None:
    import gangsched.solvers.exact  # noqa: F401

    assert logging.getLogger("pyomo.core").filters == []
