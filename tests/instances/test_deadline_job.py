"""Jobs with deadlines: the reward is a falling step function, and every wrong field is refused."""

import dataclasses
import math
import pickle
import re
from fractions import Fraction
from typing import Any

import pytest
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


# --- refusals ------------------------------------------------------------------------------------

WRONG = {
    "same deadline": (
        {"rewards": [(90, 50), (90, 20)]},
        ValueError,
        "job 'j': rewards[1] has deadline 90, which is not after 90 of the one before",
    ),
    "earlier deadline": (
        {"rewards": [(90, 50), (60, 20)]},
        ValueError,
        "rewards[1] has deadline 60, which is not after 90 of the one before",
    ),
    "rising value": (
        {"rewards": [(60, 50), (90, 80)]},
        ValueError,
        "job 'j': rewards[1] has value 80, which is not below 50 of the one before",
    ),
    "same value": ({"rewards": [(60, 50), (90, 50)]}, ValueError, "which is not below 50 of"),
    "negative reward": (
        {"rewards": [(60, 50), (90, -20)]},
        ValueError,
        "job 'j': rewards[1] value=-20 is not positive",
    ),
    "no reward": ({"rewards": [(60, 0)]}, ValueError, "rewards[0] value=0 is not positive"),
    "reward nan": ({"rewards": [(60, math.nan)]}, ValueError, "rewards[0] value=nan is not finite"),
    "reward text": ({"rewards": [(60, "50")]}, TypeError, "rewards[0] value='50' is not a number"),
    "deadline zero": ({"rewards": [(0, 1)]}, ValueError, "rewards[0] has deadline 0, which is bel"),
    "deadline float": (
        {"rewards": [(60.5, 1)]},
        TypeError,
        "job 'j': rewards[0] has deadline 60.5, which is not an integer",
    ),
    "deadline bool": ({"rewards": [(True, 1)]}, TypeError, "has deadline True, which is not an"),
    "function": (
        {"rewards": max},
        TypeError,
        "job 'j': rewards=<built-in function max> is not a step function, a sequence of pairs",
    ),
    "number": ({"rewards": 100}, TypeError, "rewards=100 is not a step function"),
    "text": ({"rewards": "100"}, TypeError, "rewards='100' is not a step function"),
    "no pair": ({"rewards": [(1, 2, 3)]}, TypeError, "rewards[0]=(1, 2, 3) is not a pair"),
    "flat": ({"rewards": (60, 100)}, TypeError, "rewards[0]=60 is not a pair (deadline, value)"),
    "stopping": (
        {"stopping": "accuracy"},
        TypeError,
        "job 'j': stopping='accuracy' is not Iterations or TargetMetric",
    ),
    "split speed": (
        {"split_speed": 1.01},
        ValueError,
        "job 'j': split_speed=1.01 is not within 1e-6 and 1",
    ),
    "split speed tiny": ({"split_speed": 4e-7}, ValueError, "is not within 1e-6 and 1"),
}


@pytest.mark.parametrize(("fields", "error", "message"), WRONG.values(), ids=WRONG)
def test_wrong_fields_are_refused(
    fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        job(**fields)


WRONG_TARGETS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "curve": ({"curve": 0.5}, TypeError, "target metric: curve=0.5 is not a sequence of numbers"),
    "curve text": ({"curve": "0.5"}, TypeError, "curve='0.5' is not a sequence of numbers"),
    "curve entry": ({"curve": [0.5, None]}, TypeError, "curve[1]=None is not a number"),
    "curve inf": ({"curve": [math.inf]}, ValueError, "curve[0]=inf is not finite"),
    "empty": ({"curve": []}, ValueError, "curve has 0 entries, not 1 to max_epochs=4"),
    "long": ({"curve": [0.1] * 5}, ValueError, "curve has 5 entries, not 1 to max_epochs=4"),
    "early": (
        {"curve": [0.1, 0.9, 0.95]},
        ValueError,
        "target metric: curve[1]=0.9 reaches target=0.9 before its last entry",
    ),
    "short": (
        {"curve": [0.1, 0.8]},
        ValueError,
        "target metric: curve ends after 2 of 4 epochs at 0.8, below target=0.9",
    ),
}


@pytest.mark.parametrize(("fields", "error", "message"), WRONG_TARGETS.values(), ids=WRONG_TARGETS)
def test_wrong_targets_are_refused(
    fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    good: dict[str, Any] = {"target": 0.9, "max_epochs": 4, "curve": [0.1, 0.92]}
    with pytest.raises(error, match=re.escape(message)):
        TargetMetric(**{**good, **fields})


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
