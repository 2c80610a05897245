"""3Sigma: distributions, utilities, and plans against brute force."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_array

import driven
from driven import dated as job
from gangsched.solvers.highs import best_subset
from gangsched.solvers.unisched.three_sigma import ThreeSigma, left_after, utility

ends = partial(driven.ends, overhead=0)  #: suspensions are free


@pytest.mark.parametrize(
    ("done", "left"),
    [
        *((0, [100, 300]), (99, [1, 201]), (100, [200]), (300, [60]), (359, [1])),
        *((360, [120]), (479, [1]), (480, [240]), (719, [1]), (720, [480])),
    ],
)
def test_what_may_be_left(done: int, left: list[int]) -> None:
    """Beyond all run times it is 1, 3, 7, 15 cycles more than the longest."""
    assert left_after(np.array([100, 300]), done, 60).tolist() == left


def test_utility_falls_after_the_last_deadline_for_as_long_as_the_job_had() -> None:
    worth = utility([(300, 80.0), (400, 40.0)], 200, 1000, np.array([300, 301, 400, 500, 600, 900]))
    reward = np.array([80, 40, 40, 20, 0, 0])
    age = np.array([0.1, 0.101, 0.2, 0.3, 0.4, 0.7])
    assert worth == pytest.approx(reward + 1 / (1 + age))


def test_the_plan_is_a_best_one() -> None:
    @given(
        st.lists(st.integers(-9, 9), min_size=1, max_size=6),
        st.lists(st.integers(0, 9), min_size=2, max_size=2),
        st.data(),
    )
    def check(values: list[int], limits: list[int], data: st.DataObject) -> None:
        entry = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values))
        rows = np.array([data.draw(entry), data.draw(entry)], dtype=float)
        rows[:, np.array(values) < 0] *= -1  # what costs makes room
        every = product((0, 1), repeat=len(values))
        allowed = [z for z in every if (rows @ z <= limits).all()]
        best = max(float(np.dot(values, z)) for z in allowed)
        own, owner = np.array(values, float), np.arange(len(values))
        z = best_subset(own, csc_array(rows), np.array(limits, float), owner, gap=0.0)
        assert (rows @ z <= np.array(limits) + 1e-6).all()
        assert np.dot(values, z) == pytest.approx(best)

    check()


def test_a_deadline_takes_the_gpus_of_best_effort_only() -> None:
    jobs = [job("any", 1, 600), job("due", 1, 600, 9999), job("new", 1, 300, 300, release=60)]
    assert ends(ThreeSigma(), 2, *jobs) == [900, 600, 360]
    jobs = [job("due", 1, 600, 9999), job("too", 1, 600, 9999), job("new", 1, 300, 300, release=60)]
    assert ends(ThreeSigma(), 2, *jobs) == [600, 600, 900]


def test_best_effort_jobs_are_not_stopped_for_each_other() -> None:
    assert ends(ThreeSigma(), 1, job("long", 1, 900), job("short", 1, 60, release=60)) == [900, 960]


def test_a_job_that_can_wait_leaves_its_gpu_to_one_that_cannot() -> None:
    jobs = [job("patient", 1, 300, 9000), job("urgent", 1, 300, 300)]
    assert ends(ThreeSigma(), 1, *jobs) == [600, 300]


def test_run_times_are_those_of_the_same_user_and_gang() -> None:
    """u's jobs have run for 600 s, v's for 60 s: within 100 s only v's will be done in time."""
    past = [job(f"u{i}", 1, 600, user="u") for i in range(5)]
    past += [job(f"v{i}", 1, 60, user="v") for i in range(5)]
    now = [
        job("u", 1, 300, 100, release=1200, user="u"),
        job("v", 1, 300, 100, release=1200, user="v"),
        *(job(f"w{i}", 1, 6000, 99999, release=720, user="w") for i in range(9)),
    ]
    found = ends(ThreeSigma(), 10, *past, *now)
    assert found[11] == 1500
    assert found[10] > 1500


def test_a_job_whose_deadlines_are_worth_nothing_any_more_is_best_effort() -> None:
    assert ends(ThreeSigma(), 1, job("due", 1, 300, 300), job("late", 1, 60, 10)) == [300, 360]


def test_who_is_planned_for_later_does_not_stop_others() -> None:
    """The wide job waits for the GPU that is taken; a short one runs beside it."""
    jobs = [job("busy", 1, 600, 9999), job("wide", 2, 300, 2000, 60), job("thin", 1, 300, 0, 60)]
    assert ends(ThreeSigma(), 2, *jobs) == [600, 900, 360]
