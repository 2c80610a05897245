"""Bounds by prices on many tiny instances: against every schedule, and against forgers.

Each instance is drawn by its number. What is made may not exceed the optimum, for which every set
of jobs is tried in every second; the verifier proves what is claimed and nothing more; and a
certificate that somebody has changed may prove something else, but never more than is true.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import deadline_optimum
import preemptive
import sharing_optimum
from corrupted import corrupted
from few import each_seed
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.job_prices import job_price_bound
from gangsched.analysis.proofs.model_prices import model_price_bound
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.user_prices import user_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations import CompletionTime, SharingIncentive
from gangsched.solvers import Bound

SUMS = "flow", "completion", "slowdown"
FORGERIES = 4  #: of each instance
Problem = Callable[[np.random.Generator], Any]


@dataclass(frozen=True)
class Kind:
    """Problems, their optimum by trying all schedules, and bounds after fewer and more steps."""

    draw: Problem
    optimum: Callable[[Any], Any]
    bound: Callable[..., Bound]
    options: Sequence[Mapping[str, Any]] = ({"rounds": 0}, {"rounds": 40, "intervals": 40})


def of_measure(make: Callable[..., CompletionTime], **more: Any) -> Problem:
    """One of the sums."""
    return lambda rng: make(rng, SUMS[int(rng.integers(3))], **more)


def weighted(rng: np.random.Generator, measure: str) -> CompletionTime:
    """Weights that are powers of two and some that are not."""
    problem = preemptive.random_problem(rng, measure)
    jobs = [replace(j, weight=float(rng.choice([1.0, 0.5, 0.1, 7.0]))) for j in problem.jobs]
    return replace(problem, instance=replace(problem.instance, jobs=jobs), weighted=True)


def users(rng: np.random.Generator) -> SharingIncentive:
    """The worst user, or the sum of flow times with a limit, up to twice the least worst ratio."""
    reading: Any = sharing_optimum.READINGS[int(rng.integers(3))]
    problem = SharingIncentive(sharing_optimum.random_instance(rng, jobs=4), reading)
    if rng.random() < 0.5:
        return problem
    least = float(sharing_optimum.optimum(problem))
    return replace(problem, limit=round(least * float(rng.uniform(1, 2)) + 1e-3, 3))


def deadlines(rng: np.random.Generator) -> Any:
    return deadline_optimum.random_problem(rng)


def elastic(rng: np.random.Generator) -> Any:
    return deadline_optimum.random_problem(rng, jobs=2, gpus=2, elastic=True)


KINDS = {
    "one model": Kind(of_measure(preemptive.random_problem), preemptive.optimum, price_bound),
    "weights": Kind(of_measure(weighted), preemptive.optimum, price_bound),
    "several models": Kind(
        of_measure(preemptive.mixed_problem), preemptive.mixed_optimum, model_price_bound
    ),
    "jobs": Kind(of_measure(preemptive.random_problem), preemptive.optimum, job_price_bound),
    "jobs on several models": Kind(
        of_measure(preemptive.mixed_problem), preemptive.mixed_optimum, job_price_bound
    ),
    "deadlines": Kind(
        deadlines, deadline_optimum.optimum, reward_bound,
        [{"intervals": n, "rounds": steps} for n in (1, 2, 32) for steps in (0, 40)],
    ),
    "elastic": Kind(elastic, deadline_optimum.optimum, reward_bound, [{}]),
    "users": Kind(
        users, sharing_optimum.optimum, user_bound,
        [{"orders": 0}, {"rounds": 0}, {"rounds": 40, "intervals": 30}],
    ),
}  # fmt: skip


def examined(kind: Kind, number: int) -> tuple[float, float]:
    """The optimum and the best bound of an instance, of which everything was tried."""
    problem, rng = kind.draw(np.random.default_rng([7, number])), Random(number)
    best, sign = Fraction(kind.optimum(problem)), -1 if problem.sense.value == "maximise" else 1
    bounds = [kind.bound(problem, **options) for options in kind.options]
    for bound in bounds:
        verify_bound(problem, bound)
        assert sign * (best - Fraction(bound.value)) >= -Fraction(1, 10**9) * abs(best)
        refused(problem, beyond(Fraction(bound.value), problem, sign), bound.certificate)
    for _ in range(FORGERIES):
        proof = corrupted(rng.choice(bounds).certificate or {}, rng)
        refused(problem, beyond(best, problem, sign), proof)
    return float(best), sign * max(sign * bound.value for bound in bounds)


def beyond(value: Fraction, problem: Any, sign: int) -> float:
    """The next value that can be, or a hair more."""
    hair = abs(value) / 10**6 + Fraction(1, 10**6)
    return float(value + sign * (1 if getattr(problem, "integral", False) else hair))


def refused(problem: Any, claim: float, proof: Any) -> None:
    with pytest.raises(InvalidCertificate):
        verify_bound(problem, Bound(claim, "too much", proof))


@pytest.mark.parametrize("name", KINDS)
def test_no_bound_exceeds_the_optimum_and_no_forgery_is_accepted(name: str) -> None:
    """Of some bounds that is what they are, and others are strict."""
    found = list[tuple[float, float]]()

    @each_seed(range(100), plain=16)
    def tried(seed: int) -> None:
        found.append(examined(KINDS[name], seed))

    tried()
    assert any(abs(bound - best) < 1e-6 for best, bound in found)
    assert any(abs(bound - best) > 1e-6 for best, bound in found)
