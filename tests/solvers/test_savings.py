"""Epochs by what jobs usually save: calibrated on curves that nothing was fitted to."""

import math

import numpy as np
import pytest

from gangsched.instances.deadlines import target_metric
from gangsched.instances.model import TargetMetric
from gangsched.solvers.unisched.learning_curves import ensemble, epochs_at
from gangsched.solvers.unisched.savings import (
    OTHERWISE,
    POWER,
    distribution_of,
    epochs_prior,
    prediction_errors,
    stopping_distribution,
)


@pytest.fixture(scope="module")
def held_out() -> list[TargetMetric]:
    """300 curves of the workloads' generator, of a seed that no parameter was chosen by."""
    rng = np.random.default_rng(1)
    return [target_metric(rng) for _ in range(300)]


PARTS = (0.2, 0.4, 0.6, 0.8)  #: of the true epochs that are known


def covered(jobs: list[TargetMetric], predict: str, seen: float) -> float:
    """Share of jobs whose true epochs are within the 10 and the 90 % quantile."""
    within = []
    for job in jobs:
        stopped = distribution_of(job, int(seen * job.epochs), predict)
        within.append(epochs_at(stopped, 0.1) <= job.epochs <= epochs_at(stopped, 0.9))
    return float(np.mean(within))


@pytest.mark.parametrize("seen", PARTS)
def test_the_median_is_unbiased_and_intervals_of_80_percent_have_80_percent(
    held_out: list[TargetMetric], seen: float
) -> None:
    errors = prediction_errors(held_out, "calibrated", seen)
    assert abs(np.median(errors)) <= 0.03
    assert 0.4 <= (errors < 0).mean() + (errors == 0).mean() / 2 <= 0.6
    assert 0.75 <= covered(held_out, "calibrated", seen) <= 0.85


@pytest.mark.parametrize("seen", PARTS)
def test_the_ensemble_is_too_short_and_too_sure(held_out: list[TargetMetric], seen: float) -> None:
    """What the measure can tell: it is not met by what the paper describes."""
    errors = prediction_errors(held_out, "ensemble", seen)
    assert np.median(errors) < -0.04
    assert covered(held_out, "ensemble", seen) < 0.65
    ours = prediction_errors(held_out, "calibrated", seen)
    assert abs(ours).mean() < 0.75 * abs(errors).mean()


def test_users_epochs_are_too_many(held_out: list[TargetMetric]) -> None:
    errors = prediction_errors(held_out, "maximum", 0.4)
    assert np.median(errors) > 0.1
    assert (errors < 0).mean() + (errors == 0).mean() / 2 < 0.1


def test_more_of_a_curve_says_more(held_out: list[TargetMetric]) -> None:
    early, late = (abs(prediction_errors(held_out, "calibrated", part)) for part in (0.2, 0.8))
    assert late.mean() < 0.8 * early.mean()


def test_the_prior_is_that_of_two_stopping_criteria() -> None:
    """With M = 1000: savings within 22 and within 31 % at equal odds."""
    prior = epochs_prior(1000)
    assert prior.sum() == pytest.approx(1)
    rest = OTHERWISE / 1000
    dense, thin = (1 - OTHERWISE) * (0.5 / 220 + 0.5 / 310), (1 - OTHERWISE) * 0.5 / 310
    assert prior[900] == pytest.approx(dense + rest)
    assert prior[750] == pytest.approx(thin + rest)
    assert prior[500] == pytest.approx(rest)


def test_without_points_it_is_the_prior_of_what_is_left() -> None:
    few = stopping_distribution([0.1, 0.2, 0.3], 0.8, 60)
    prior = epochs_prior(60).copy()
    prior[:3] = 0
    assert few == pytest.approx(np.cumsum(prior) / prior.sum())


def test_the_posterior_by_integration() -> None:
    """Against the definition, b1 by least squares in a loop over curves and numbers of epochs."""
    rng = np.random.default_rng(3)
    curve = 0.8 - 0.5 / np.arange(1, 13) ** 0.7 + 0.01 * rng.standard_normal(12)
    target, most, n = 0.745, 40, 12
    model, prior = ensemble(most), epochs_prior(most)
    weight = np.zeros(most)
    r = curve - target
    for number in range(n + 1, most + 1):
        for g, log_prior in zip(model.table, model.log_prior, strict=True):
            h = g[:n] - g[number - 1]
            if h @ h <= 1e-20:
                continue
            b1 = (h @ r) / (h @ h)
            if b1 > 0 or target - b1 * g[number - 1] > 1.05:
                continue
            errors = float(((r - b1 * h) ** 2).sum())
            like = errors ** (-POWER * (n - 1) / 2) / math.sqrt(h @ h)
            weight[number - 1] += prior[number - 1] * math.exp(log_prior) * like
    found = stopping_distribution(curve, target, most)
    assert found == pytest.approx(np.cumsum(weight) / weight.sum(), abs=1e-9)


def test_a_clear_curve_beats_the_prior() -> None:
    """A job that saves 70 % of its epochs is recognised shortly before it ends."""
    curve = 0.9 - 0.6 / np.arange(1, 31) ** 0.5
    found = stopping_distribution(curve[:24], 0.79, 100)
    assert np.searchsorted(found, 0.5) + 1 == 30


@pytest.mark.parametrize("curve", [[0.5] * 6, [0.6, 0.5, 0.4, 0.3, 0.2], [-3.0, -2.0, -1.5, -1.2]])
@pytest.mark.parametrize("bounded", [True, False])
def test_any_curve_has_a_distribution(curve: list[float], bounded: bool) -> None:
    found = stopping_distribution(curve, 0.9, 50, bounded=bounded)
    assert (np.diff(found, prepend=0) >= -1e-15).all()
    assert found[len(curve) - 1] == 0
    assert found[-1] == pytest.approx(1)


def test_all_epochs_seen_is_the_end() -> None:
    assert stopping_distribution([0.1] * 5, 0.9, 5).tolist() == [0, 0, 0, 0, 1]
