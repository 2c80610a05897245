"""What a scheduler believes that jobs take, against hand-worked numbers and the paper's sums."""

import pickle
from dataclasses import replace
from fractions import Fraction
from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gangsched.analysis.driving.drive import drive
from gangsched.formulations.unisched.leases import mean_interruptions
from gangsched.instances import Cluster, Instance, Job
from gangsched.instances.model import DeadlineJob, Iterations, TargetMetric
from gangsched.solvers.policy import Decision, Preempts, State
from gangsched.solvers.unisched.estimator import (
    DurationEstimates,
    IterationTimes,
)
from gangsched.solvers.unisched.learning_curves import CurveEnsemble, epochs_at
from gangsched.solvers.unisched.savings import epochs_prior, stopping_distribution

Ints = NDArray[np.int64]


#: the estimator as the paper has it
PAPER: Any = "ensemble"


def metric_job(
    name: str = "a", *, epochs: int = 30, allowed: int = 100, second: int = 100, target: float = 0.8
) -> DeadlineJob:
    """A job of so many epochs of 100 s; its curve is one of the grid's, without noise."""
    curve = np.minimum(0.95 - 0.6 / np.arange(1, epochs + 1) ** 0.5, target - 1e-9)
    curve[-1] = target
    stopping = TargetMetric(target, allowed, curve)
    return DeadlineJob(id=name, gpus=2, work=second * epochs, stopping=stopping)


def plain_job(name: str, work: int) -> DeadlineJob:
    """A job that its iterations end."""
    return DeadlineJob(id=name, gpus=1, work=work, stopping=Iterations())


def at(*jobs: Job, left: list[int] | None = None) -> Any:
    """A state in which jobs have these seconds of service left; by default all of them."""
    service = np.array([job.work for job in jobs] if left is None else left, dtype=np.int64)
    return SimpleNamespace(
        arrived=np.arange(len(jobs)),
        job=jobs.__getitem__,
        derived={},
        remaining=lambda numbers: service[numbers],
    )


def estimated(estimates: DurationEstimates, state: Any) -> list[int]:
    """The estimates for all jobs of a state."""
    return estimates.remaining(state, state.arrived).tolist()


def rising(rng: np.random.Generator, epochs: int) -> Any:
    """A curve that rises towards 0.9."""
    mean = 0.9 - 0.6 * np.exp(-np.arange(1, epochs + 1) / rng.uniform(3, 20))
    return mean + rng.normal(0, 0.005, epochs)


# --- eq. (2) -------------------------------------------------------------------------------------


def test_an_iteration_takes_computation_and_communication_per_further_gpu() -> None:
    times = IterationTimes(compute=1.0, intra=0.25, inter=0.5)
    assert [times.seconds(n, 1) for n in (1, 2, 8)] == [1.0, 1.25, 2.75]
    assert [times.seconds(n, k) for n, k in ((2, 2), (8, 2), (16, 3))] == [1.5, 4.5, 8.5]
    assert times.split_speed(8) == 2.75 / 4.5
    assert times.split_speed(1) == 1


@given(
    compute=st.floats(1e-3, 10),
    intra=st.floats(0, 10),
    more=st.floats(0, 10),
    gpus=st.integers(1, 64),
)
def test_split_speeds_are_those_that_jobs_may_have(
    compute: float, intra: float, more: float, gpus: int
) -> None:
    speed = IterationTimes(compute, intra, intra + more).split_speed(gpus)
    assert 0 < speed <= 1
    DeadlineJob(id="a", gpus=gpus, work=10, split_speed=max(speed, 1e-6))


def test_more_nodes_than_gpus_are_refused() -> None:
    with pytest.raises(ValueError, match="iteration times: nodes=3 is not within 1 and gpus=2"):
        IterationTimes(1, 1, 1).seconds(2, 3)


# --- eq. (3) -------------------------------------------------------------------------------------


def test_the_printed_sum_of_suspensions_has_the_closed_form() -> None:
    for m in range(1, 41):
        for n in range(1, m + 1):
            odds = [
                Fraction(comb(n - 1, k) * comb(m - n + 1, k + 1), comb(m, n))
                for k in range(min(n - 1, m - n) + 1)
            ]
            assert sum(odds) == 1
            printed = sum(k * odd for k, odd in enumerate(odds))
            assert printed == Fraction(*mean_interruptions(n, m))


# --- durations -----------------------------------------------------------------------------------


def test_iterations_are_known() -> None:
    state = at(plain_job("a", 500), plain_job("b", 40), left=[123, 40])
    for mode in ("ensemble", "maximum", "true"):
        assert estimated(DurationEstimates(mode=mode), state) == [123, 40]


@pytest.mark.parametrize(("left", "most"), [(3000, 10_000), (2450, 9_450), (1, 7_001)])
def test_the_most_epochs_and_the_true_ones(left: int, most: int) -> None:
    state = at(metric_job(), left=[left])
    assert estimated(DurationEstimates(mode="maximum"), state) == [most]
    assert estimated(DurationEstimates(mode="true"), state) == [left]


def test_before_the_fourth_epoch_is_complete_the_most_epochs_are_assumed() -> None:
    job = metric_job(target=0.95 - 0.6 / 29.5**0.5)
    left = [3000, 2701, 2601, 2600]
    assert [estimated(DurationEstimates(mode=PAPER), at(job, left=[s]))[0] for s in left] == [
        *(10_000, 9_701, 9_601),
        2_600,  # four points of a curve without noise
    ]


def test_epochs_are_predicted_from_those_that_are_complete() -> None:
    """Between epochs the estimate falls by what is done."""
    job = metric_job(target=0.95 - 0.6 / 29.5**0.5)
    estimates = DurationEstimates(mode=PAPER)
    assert [estimated(estimates, at(job, left=[s]))[0] for s in (2050, 1999, 1)] == [2050, 1999, 1]


def test_what_lies_ahead_is_not_looked_at() -> None:
    known = 0.95 - 0.6 / np.arange(1, 61) ** 0.5
    other = known.copy()
    other[20:] = known[19]
    target = 0.95 - 0.6 / 59.5**0.5
    other[-1] = target
    jobs = [
        DeadlineJob(id=name, gpus=1, work=6000, stopping=TargetMetric(target, 90, metric))
        for name, metric in (("a", known), ("b", other))
    ]
    assert estimated(DurationEstimates(mode=PAPER), at(*jobs, left=[4000, 4000])) == [
        4000,
        4000,
    ]
    assert estimated(DurationEstimates(mode=PAPER), at(*jobs, left=[2000, 2000])) == [
        2000,
        5000,
    ]


def test_predictions_are_those_of_the_ensemble() -> None:
    rng = np.random.default_rng(5)
    curve = np.append(np.minimum(rising(rng, 40), 0.74), 0.75)
    job = DeadlineJob(id="a", gpus=1, work=410 * 7, stopping=TargetMetric(0.75, 120, curve))
    for quantile in (0.2, 0.5, 0.9):
        total = epochs_at(CurveEnsemble(120).distribution(curve[:15], 0.75), quantile)
        expected = total * 70 - 15 * 70
        left = 26 * 70
        found = estimated(DurationEstimates(mode=PAPER, quantile=quantile), at(job, left=[left]))
        assert found == [expected]


def test_negated_losses_and_percentages_are_predicted() -> None:
    """Targets outside (0, 1] are of metrics that 1 does not bound."""
    x = np.arange(1, 41)
    loss = -0.4 - 2 / x**0.5
    job = DeadlineJob(
        id="a",
        gpus=1,
        work=4000,
        stopping=TargetMetric((loss[39] + loss[38]) / 2, 100, loss),
    )
    assert estimated(DurationEstimates(mode=PAPER), at(job, left=[3000])) == [3000]
    target = 90 - 190 / 39.5**0.5
    percent = replace(job, stopping=TargetMetric(target, 100, 90 - 190 / x**0.5))
    assert estimated(DurationEstimates(mode=PAPER), at(percent, left=[3000])) == [3000]


@given(
    epochs=st.integers(1, 30),
    more=st.integers(0, 30),
    second=st.integers(1, 50),
    done=st.floats(0, 1),
    seed=st.integers(0, 20),
)
def test_estimates_are_within_one_second_and_the_most_epochs(
    epochs: int, more: int, second: int, done: float, seed: int
) -> None:
    curve = np.minimum(rising(np.random.default_rng(seed), epochs), 0.97)
    curve[-1] = 0.98
    stopping = TargetMetric(0.98, epochs + more, curve)
    job = DeadlineJob(id="a", gpus=1, work=epochs * second, stopping=stopping)
    left = max(1, int(job.work * (1 - done)))
    state = at(job, left=[left])
    most = -(-job.work * stopping.max_epochs // epochs) - (job.work - left)
    assert 1 <= estimated(DurationEstimates(mode=PAPER), state)[0] <= most
    assert estimated(DurationEstimates(mode="maximum"), state) == [most]


def test_what_jobs_usually_save_is_the_default() -> None:
    """Before the first epoch, of 100: the median of savings; then by curve and prior together."""
    job, estimates = metric_job(), DurationEstimates()
    epochs = int(np.searchsorted(np.cumsum(epochs_prior(job.stopping.max_epochs)), 0.5)) + 1
    assert estimated(estimates, at(job)) == [job.work * epochs // job.stopping.epochs]
    stopped = stopping_distribution(job.stopping.curve[:20], job.stopping.target, 100)
    seen = job.work * 20 // job.stopping.epochs
    epochs = int(np.searchsorted(stopped, 0.5)) + 1
    expected = job.work * epochs // job.stopping.epochs - seen
    assert estimated(estimates, at(job, left=[job.work - seen])) == [expected]
    assert expected != estimated(DurationEstimates(mode=PAPER), at(job, left=[job.work - seen]))[0]


def test_an_epoch_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    original = CurveEnsemble.distribution

    def counted(self: CurveEnsemble, curve: Any, *rest: Any) -> Any:
        calls.append(len(curve))
        return original(self, curve, *rest)

    monkeypatch.setattr(CurveEnsemble, "distribution", counted)
    job, estimates = metric_job(), DurationEstimates(mode=PAPER)
    left = [2000]
    state = at(job, left=left)
    service = np.array(left)
    state.remaining = lambda numbers: service[numbers]
    for service[0] in (2000, 1950, 1901, 1900, 1850, 2000):
        estimated(estimates, state)
    assert calls == [10, 11, 10]


def test_estimates_of_another_instance_do_not_stay() -> None:
    estimates = DurationEstimates(mode=PAPER)
    job = metric_job(target=0.95 - 0.6 / 29.5**0.5)
    longer = metric_job(target=0.95 - 0.6 / 29.5**0.5, second=200)
    state, other = at(job, left=[2000]), at(longer, left=[4000])
    assert estimated(estimates, state) == [2000]
    assert estimated(estimates, other) == [4000]
    assert estimated(estimates, state) == [2000]


def test_jobs_of_another_kind_have_no_stopping_criterion() -> None:
    assert estimated(DurationEstimates(mode=PAPER), at(Job(id="a", gpus=1, work=70))) == [70]


def test_copies_are_small_and_answer_the_same() -> None:
    estimates = DurationEstimates(mode="maximum", quantile=0.7, noise=0.2, seed=3)
    state = at(metric_job(), left=[2000])
    found = estimated(estimates, state)
    copy = pickle.loads(pickle.dumps(estimates))
    assert copy == estimates
    assert estimated(copy, state) == found
    assert len(pickle.dumps(estimates)) < 400


# --- errors put in -------------------------------------------------------------------------------


def test_the_error_of_a_job_does_not_depend_on_others() -> None:
    jobs = [plain_job(f"j{i}", 100_000) for i in range(20)]
    estimates = DurationEstimates(noise=0.3, seed=1)
    found = dict(zip((job.id for job in jobs), estimated(estimates, at(*jobs)), strict=True))
    turned = estimated(DurationEstimates(noise=0.3, seed=1), at(*jobs[:4:-1]))
    assert turned == [found[job.id] for job in jobs[:4:-1]]
    assert estimated(DurationEstimates(noise=0.3, seed=2), at(*jobs)) != [*found.values()]
    assert len({*found.values()}) == 20


@pytest.mark.parametrize("noise", [0.1, 0.4, 1.0])
def test_errors_are_normal_and_leave_positive_times(noise: float) -> None:
    """Truncated at -1: below a standard deviation of 1/3 next to nothing is cut off."""
    jobs = [plain_job(f"j{i}", 1_000_000) for i in range(2000)]
    factor = np.array(estimated(DurationEstimates(noise=noise), at(*jobs))) / 1e6
    assert factor.min() > 0
    z = (np.random.default_rng(0).standard_normal(400_000)) * noise
    z = z[z > -1]
    assert factor.mean() - 1 == pytest.approx(z.mean(), abs=4 * noise / 2000**0.5)
    assert factor.std() == pytest.approx(z.std(), rel=0.08)


def test_the_error_scales_what_is_left_whatever_ends_the_job() -> None:
    jobs = [plain_job("a", 4000), metric_job("b")]
    for left in ([4000, 3000], [1000, 1500], [1, 1]):
        exact = estimated(DurationEstimates(mode="maximum"), at(*jobs, left=left))
        found = estimated(DurationEstimates(mode="maximum", noise=0.4), at(*jobs, left=left))
        first = estimated(
            DurationEstimates(noise=0.4), at(*(plain_job(x, 10**9) for x in ("a", "b")))
        )
        assert found == [max(1, round(e * f / 1e9)) for e, f in zip(exact, first, strict=True)]


def test_at_least_a_second_is_left() -> None:
    jobs = [plain_job(f"j{i}", 1) for i in range(50)]
    assert set(estimated(DurationEstimates(noise=1.0), at(*jobs))) == {1, 2, 3}


# --- on the driver -------------------------------------------------------------------------------


class Watching:
    """First come first served; notes what it estimates of jobs that wait or run."""

    name = "watching"
    preempts = Preempts.LEASE
    information = "known"

    def __init__(self) -> None:
        self.estimates = DurationEstimates(mode=PAPER)
        self.seen: list[tuple[int, list[int], list[int]]] = []

    def decide(self, state: State) -> Decision:
        """Waiting and running jobs by arrival."""
        jobs = np.sort(state.candidates)
        left = self.estimates.remaining(state, jobs)
        self.seen.append((state.now, jobs.tolist(), left.tolist()))
        return Decision(order=jobs)


def test_a_policy_on_the_driver_sees_estimates_come_down_to_the_truth() -> None:
    jobs = [
        replace(metric_job("a", target=0.95 - 0.6 / 29.5**0.5), gpus=2),
        replace(plain_job("b", 3000), gpus=2),
    ]
    policy = Watching()
    drive(Instance(Cluster.of_sizes([2]), jobs), policy, round_length=300, lease=300, overhead=0)
    assert policy.seen[0] == (0, [0, 1], [10_000, 3000])
    by_time = {now: left[0] for now, numbers, left in policy.seen if numbers[0] == 0}
    assert by_time[300] == 9_700
    assert [by_time[t] for t in range(600, 3000, 300)] == [3000 - t for t in range(600, 3000, 300)]
