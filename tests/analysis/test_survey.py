"""Bounds by prices on many tiny instances: against brute force, policies and forgeries.

Each instance is drawn by its number: its kind, and then all else. Asked is whether the bound that
is made exceeds the optimum (every set of jobs is tried in every second), or what a policy attains
in the driver; whether changed certificates are accepted for more than the optimum; and whether the
bound is what its prices give by another evaluation, with the price of every second in a list.
"""

import copy
import random
import sys
from collections import Counter
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pytest

import deadline_optimum
import gangsched as gs
import preemptive
from few import each_seed
from gangsched.analysis.driving import metrics
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.model_prices import model_price_bound
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.registry import policy
from gangsched.solvers import Bound

SUMS = "flow", "completion", "slowdown"
POLICIES = "fifo", "sjf:backfill", "srtf", "ltgf", "smallest-area", "las"
KINDS = "one model", "weights", "several models", "deadlines"
SOME = 50  #: one in so many is evaluated again, and has forgeries


def problem_of(kind: str, rng: np.random.Generator) -> Any:
    """A problem of a kind, of two to four jobs."""
    measure = SUMS[int(rng.integers(3))]
    if kind == "deadlines":
        return deadline_optimum.random_problem(rng, jobs=3)
    if kind == "several models":
        return preemptive.mixed_problem(rng, measure, jobs=int(rng.integers(2, 4)))
    gpus = int(rng.integers(1, 5))
    rows = [
        (
            int(rng.integers(1, gpus + 1)),
            int(rng.integers(0, 4)),
            int(rng.integers(1, 5)),
            float(rng.choice([1.0, 2.0, 0.5, 0.1, 7.0])) if kind == "weights" else 1.0,
        )
        for _ in range(int(rng.integers(2, 5)))
    ]
    return preemptive.problem_of([gpus], rows, measure, weighted=kind == "weights")


def optimum_of(kind: str, problem: Any) -> Fraction:
    """What no schedule is better than, by trying all."""
    if kind == "deadlines":
        return Fraction(deadline_optimum.optimum(problem))
    one = preemptive.mixed_optimum if kind == "several models" else preemptive.optimum
    return Fraction(one(problem))


def bound_of(kind: str, problem: Any, rng: random.Random) -> Bound:
    """The bound by prices, after a few steps or none."""
    steps = rng.choice([0, 5, 30])
    if kind == "deadlines":
        return reward_bound(problem, rounds=steps)
    if kind == "several models":
        return model_price_bound(problem, intervals=12, rounds=steps)
    return price_bound(problem, intervals=rng.choice([3, 12, 40]), rounds=steps)


def attained(kind: str, problem: Any, name: str) -> Fraction:
    """The objective of a policy in the driver, in rounds of a second and without overhead."""
    run = gs.drive(problem.instance, policy(name)[1], round_length=1, overhead=0)
    if kind == "deadlines":
        return Fraction(metrics.deadline_summary(run)["reward"] or 0)
    value = metrics.objectives(run)[problem.measure]
    if kind == "weights":
        book, jobs = run.records, problem.instance.jobs
        starts = [0 if problem.measure == "completion" else job.release for job in jobs]
        length = preemptive.fastest(problem) if problem.measure == "slowdown" else [1] * len(jobs)
        return sum(
            (
                Fraction(job.weight) * (int(end) - start) / p
                for job, end, start, p in zip(jobs, book.end, starts, length, strict=True)
            ),
            Fraction(),
        )
    return Fraction(value or 0)


# --- certificates --------------------------------------------------------------------------------


def evaluated(kind: str, problem: Any, proof: dict[str, Any]) -> Fraction:
    """What a price list proves, second by second."""
    times, parts, scale = proof["times"], proof["prices"], proof["scale"]
    last = max(times[-1], 0) + 20
    price = [Fraction(0)] * last
    for q, a, b in zip(parts, times, times[1:], strict=False):
        for t in range(max(a, 0), b):
            price[t] = Fraction(q, scale)
    room = problem.instance.cluster.gpus * sum(price)
    total = Fraction(0)
    for job in problem.instance.jobs:

        def bought(length: int, job: Any = job) -> Fraction:
            return job.gpus * sum(sorted(price[job.release : job.release + length])[: job.work])

        if kind == "deadlines":
            worths = [(d, Fraction(v) / problem.unit) for d, v in job.rewards if d >= job.work]
            total += max([Fraction(0), *(v - bought(d) for d, v in worths)])
            continue
        weight = Fraction(job.weight) if problem.weighted else Fraction(1)
        weight /= job.work if problem.measure == "slowdown" else 1
        lengths = range(job.work, last - job.release + 1)
        total += min(weight * length + bought(length) for length in lengths)
        total += weight * job.release if problem.measure == "completion" else 0
    if kind == "deadlines":
        return floor(total + room) * problem.unit
    return total - room


def forged(proof: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A certificate in which some things are changed."""
    made = copy.deepcopy(proof)
    for _ in range(rng.choice([1, 1, 2, 5])):
        name = rng.choice([name for name in made if name != "kind"])
        own = made[name]
        while isinstance(own, list) and own and isinstance(own[0], list):
            own = rng.choice(own)
        if not isinstance(own, list) or not own:
            wrong = [0, -1, None, "1", [1], 1.5, float("nan"), 10**40]
            whole = isinstance(own, int)
            made[name] = rng.choice([own * 2, own // 2, own + 1] if whole else wrong)
            continue
        at, how = rng.randrange(len(own)), rng.randrange(6)
        if how == 0:
            own[at] = -own[at] if isinstance(own[at], int) else 0
        elif how == 1:
            own.pop(at)
        elif how == 2:
            own.insert(at, own[at])
        elif how == 3:
            own.reverse()
        elif how == 4:
            own[at] = rng.choice([None, "x", 1.5, True, 2**63, -(2**63), 10**30])
        else:
            step = max(1, abs(own[at]) // 4) if isinstance(own[at], int) else 1
            own[at] = (own[at] if isinstance(own[at], int) else 0) + rng.randrange(-step, step + 1)
    return made


def accepted(problem: Any, bound: Bound, proof: dict[str, Any], best: Fraction, most: bool) -> bool:
    """Whether a certificate is taken as proof of what the optimum refutes."""
    beyond = best * (1 - Fraction(1, 10**6)) - Fraction(1, 10**6) if most else None
    if beyond is None:
        beyond = best * (1 + Fraction(1, 10**6)) + Fraction(1, 10**6)
    try:
        verify_bound(problem, Bound(float(beyond), bound.method, proof))
    except InvalidCertificate:
        return False
    return True


# --- one instance, and all -----------------------------------------------------------------------


def examined(number: int) -> Counter[str]:
    """What was counted of one instance; names of failures begin with !."""
    rng, random_ = np.random.default_rng([7, number]), random.Random(number)
    kind = KINDS[number % len(KINDS)]
    problem = problem_of(kind, rng)
    most = kind == "deadlines"
    best, bound = optimum_of(kind, problem), bound_of(kind, problem, random_)
    found = Counter({f"{kind}: instances": 1})

    def better(value: Fraction, than: Fraction) -> bool:
        """By more than sums of floats are off."""
        return (value - than if most else than - value) > Fraction(1, 10**9)

    found[f"{kind}: bound is the optimum"] += abs(float(bound.value) - float(best)) < 1e-6
    found[f"!{kind}: optimum beats the bound"] += better(best, Fraction(bound.value))
    # under las jobs take turns at each round, in which half a second of work is none
    name = random_.choice(POLICIES[:-1] if kind == "several models" else POLICIES)
    ran = attained(kind, problem, name)
    found[f"{kind}: runs of policies"] += 1
    found[f"!{kind}: {name} beats the bound"] += better(ran, Fraction(bound.value))
    found[f"!{kind}: {name} beats the optimum"] += better(ran, best)
    if number // len(KINDS) % (SOME // 2) == 0:
        verify_bound(problem, bound)
        if kind != "several models":
            again = evaluated(kind, problem, dict(bound.certificate))
            found[f"{kind}: evaluated again"] += 1
            if kind != "deadlines" and problem.integral:
                again = Fraction(ceil(again))
            off = abs(again - Fraction(bound.value))
            found[f"!{kind}: another value"] += off > again * Fraction(1, 10**9)
        proof = forged(dict(bound.certificate), random_)
        found[f"{kind}: forged certificates"] += 1
        found[f"!{kind}: forgery accepted"] += accepted(problem, bound, proof, best, most)
    return found


def survey(numbers: range) -> Counter[str]:
    """What was counted of all."""
    return sum(map(examined, numbers), Counter())


@each_seed(range(4), plain=1, name="part")
def test_no_bound_is_beaten_and_no_forgery_accepted(part: int) -> None:
    total = survey(range(100 * part, 100 * part + 100))
    assert not {name: n for name, n in total.items() if name[0] == "!" and n}
    for kind in KINDS:
        assert total[f"{kind}: instances"] == 25
        assert 0 < total[f"{kind}: bound is the optimum"] < 25 + (kind == "deadlines")
        assert total[f"{kind}: forged certificates"] >= 1


def test_beaten_bounds_and_accepted_forgeries_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kind: str, problem: object, rng: object) -> Bound:
        bound = made(kind, problem, rng)  # type: ignore[arg-type]
        better = -1 if kind == "deadlines" else 1
        return Bound(bound.value + 1000 * better, bound.method, bound.certificate)

    made = bound_of
    monkeypatch.setattr(sys.modules[__name__], "bound_of", broken)
    monkeypatch.setattr(sys.modules[__name__], "verify_bound", lambda problem, bound: None)
    total = survey(range(8))
    for kind in KINDS:
        assert total[f"!{kind}: optimum beats the bound"] == 2
        assert total[f"!{kind}: forgery accepted"] == 1
