"""Jobs with deadlines: the reward is a falling step function, and every wrong field is refused."""

import dataclasses
import pickle
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangsched.instances import DeadlineJob, Iterations, TargetMetric
from gangsched.instances.model import FULL_SPEED
from strategies import deadline_jobs


def job(**fields: Any) -> DeadlineJob:
    return DeadlineJob(**{"id": "j", "gpus": 4, "work": 100, **fields})


# --- rewards -------------------------------------------------------------------------------------


@given(deadline_jobs(release=st.integers(0, 100)), st.data())
def test_the_reward_is_a_step_function_that_never_rises(
    made: DeadlineJob, data: st.DataObject
) -> None:
    marks = [made.release + deadline for deadline, _ in made.rewards]
    near = st.sampled_from([at + shift for at in [made.release, *marks] for shift in (-1, 0, 1)])
    times = sorted(data.draw(st.lists(near, min_size=2, max_size=8)))
    values = [made.reward(time) for time in times]
    assert values == sorted(values, reverse=True)
    for time, value in zip(times, values, strict=True):
        after = sum(mark < time for mark in marks)  # deadlines missed
        assert value == ([v for _, v in made.rewards] + [0.0])[after]
    assert made.best_effort == (not marks)
    assert made.top_reward == made.reward(0)


def test_deadlines_count_from_the_release_and_belong_to_their_value() -> None:
    made = job(release=1000, rewards=[(200, 100), (220, 80), (240, 50), (300, 20)])
    ends = [0, 1200, 1201, 1220, 1221, 1240, 1241, 1300, 1301]
    assert [made.reward(end) for end in ends] == [100, 100, 80, 80, 50, 50, 20, 20, 0]
    assert (made.top_reward, made.best_effort) == (100.0, False)
    assert (job().top_reward, job().best_effort, job().reward(0)) == (0.0, True, 0.0)


# --- speed ---------------------------------------------------------------------------------------


@given(deadline_jobs(), st.integers(1, 64), st.integers(1, 8), st.sampled_from([1, 2, 4, 8]))
def test_speed_is_that_of_eq_2_times_that_of_the_number_of_gpus(
    made: DeadlineJob, gpus: int, nodes: int, size: int
) -> None:
    def scaled(n: int) -> Fraction:
        return n / (1 + Fraction(made.scaling) * (n - 1))

    exact = Fraction(FULL_SPEED) * scaled(gpus) / scaled(made.gpus)
    if nodes > 1 and gpus <= size:
        exact *= Fraction(made.split_speed)
    assert abs(made.speed(gpus, nodes, size) - exact) <= Fraction(1, 2) + exact / 10**12


def test_speed_by_hand() -> None:
    made = job(gpus=8, split_speed=0.6, scaling=0.25)
    assert made.speed(8, 1, 8) == 1_000_000
    assert made.speed(8, 2, 8) == 600_000
    assert made.speed(8, 2, 4) == 1_000_000  # no node can hold it: nothing is split
    # f(n) = n / (1 + .25 (n - 1)): f(8) = 32/11, f(4) = 16/7, so 4 GPUs have 11/14 of the speed
    assert made.speed(4, 1, 8) == round(1_000_000 * 11 / 14)
    assert made.speed(4, 2, 8) == round(600_000 * 11 / 14)


# --- stopping criteria ---------------------------------------------------------------------------


def test_a_target_may_stay_out_of_reach() -> None:
    assert TargetMetric(target=0.9, max_epochs=2, curve=[0.5, 0.6]).epochs == 2


# --- records -------------------------------------------------------------------------------------


@given(deadline_jobs())
def test_jobs_are_values(made: DeadlineJob) -> None:
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert hash(again) == hash(made)
    assert dataclasses.replace(made, id="other") != made


def test_numbers_become_those_of_the_record() -> None:
    made = job(rewards=[[60, 50], [90, 20]], stopping=Iterations())
    assert made.rewards == ((60, 50.0), (90, 20.0))
    assert all(isinstance(value, float) for _, value in made.rewards)
    assert TargetMetric(1, 1, [0]).curve == (0.0,)
