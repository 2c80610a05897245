"""Branch and bound over windows of ends: every optimum by trying all, and what a limit leaves."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deadline_optimum
import preemptive
import sharing_optimum
from few import each_seed
from gangsched import solve_exact, verify_bound
from gangsched.analysis.proofs import window_tree
from gangsched.analysis.proofs.windows import WindowProgram
from gangsched.formulations import SharingIncentive
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.result import Status, Stop
from gangsched.verify import Refused, prove

Case = tuple[Any, Fraction]
WEIGHTS = [1.0, 2.0, 2.5, 0.3, 7.25]


def rows(rng: np.random.Generator) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Nodes, and gangs of a kind: as wide as all, more than half, late, or any."""
    gpus, jobs = int(rng.integers(2, 5)), int(rng.integers(3, 6))
    parts = int(rng.integers(1, gpus)) if rng.random() < 0.3 else gpus
    gang = rng.integers(1, gpus + 1, jobs)
    wide = [gang, np.full(jobs, gpus), np.full(jobs, gpus // 2 + 1)][rng.integers(3)]
    gang = np.where(rng.random(jobs) < 0.5, gang, wide)
    release = rng.integers(0, 4, jobs) * (rng.random() < 0.75)
    release += 8 * (rng.random(jobs) < 0.1)
    both = zip(gang.tolist(), release.tolist(), rng.integers(1, 5, jobs).tolist(), strict=True)
    return [n for n in (parts, gpus - parts) if n], list(both)


def of_measure(measure: str, weighted: bool) -> Callable[[np.random.Generator], Case]:
    def drawn(rng: np.random.Generator) -> Case:
        sizes, jobs = rows(rng)
        weights = rng.choice(WEIGHTS, len(jobs)) if weighted else np.ones(len(jobs))
        weights = weights.round() + 1 if rng.random() < 0.3 else weights
        problem = preemptive.problem_of(
            sizes,
            [(*job, w) for job, w in zip(jobs, weights.tolist(), strict=True)],
            measure,
            weighted=weighted,
        )
        return problem, preemptive.optimum(problem)

    return drawn


def rewards(rng: np.random.Generator) -> Case:
    """Up to three steps, of whole rewards or not."""
    sizes, jobs = rows(rng)
    values = [100.0, 60.0, 37.0, 20.0] if rng.random() < 0.7 else [10.5, 7.25, 3.1, 0.2]
    steps = []
    for _ in jobs:
        first, count = int(rng.integers(1, 8)), int(rng.integers(0, 4))
        deadlines = (first + np.cumsum([0, *rng.integers(1, 4, 2)]))[:count].tolist()
        won = sorted(rng.choice(values, count, replace=False).tolist(), reverse=True)
        steps.append(list(zip(deadlines, won, strict=True)))
    problem = deadline_optimum.problem_of(
        sum(sizes), [(*job, own) for job, own in zip(jobs, steps, strict=True)]
    )
    return problem, Fraction(deadline_optimum.optimum(problem))


def of_users(reading: str) -> Callable[[np.random.Generator], Case]:
    def drawn(rng: np.random.Generator) -> Case:
        sizes, some = rows(rng)
        users = [User(id, float(rng.choice([1, 2, 0.7]))) for id in "uvw"[: rng.integers(2, 4)]]
        owners = rng.choice([user.id for user in users], len(some)).tolist()
        jobs = [
            Job(id=f"j{i}", gpus=g, release=r, work=p, user=user)
            for i, ((g, r, p), user) in enumerate(zip(some, owners, strict=True))
        ]
        problem = SharingIncentive(Instance(Cluster.of_sizes(sizes), jobs, users), reading)
        return problem, Fraction(sharing_optimum.optimum(problem) or 0)

    return drawn


KINDS = {
    **{measure: of_measure(measure, False) for measure in ("completion", "flow", "slowdown")},
    **{f"weighted {m}": of_measure(m, True) for m in ("completion", "flow", "slowdown")},
    "rewards": rewards,
    **{reading: of_users(reading) for reading in sharing_optimum.READINGS},
}


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in sharing_optimum.READINGS])
@each_seed(range(50), plain=12)
def test_the_optimum_is_found_and_proven(kind: str, seed: int) -> None:
    check(kind, seed)


@pytest.mark.parametrize("reading", sharing_optimum.READINGS)
@each_seed(range(16), plain=4)
def test_the_worst_user_is_as_well_off_as_can_be(reading: str, seed: int) -> None:
    check(reading, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
@each_seed(range(1_000))
def test_a_thousand_optima_of_each_kind(kind: str, seed: int) -> None:
    check(kind, seed)


def check(kind: str, seed: int) -> None:
    """Found, proven, and not a little more than that is proven."""
    problem, best = KINDS[kind](np.random.default_rng(seed))
    result = solve_exact(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(float(best), rel=1e-12, abs=1e-12)
    assert result.bound is not None
    assert result.bound.value == pytest.approx(float(best), rel=1e-9)
    verify_bound(problem, result.bound)
    certificate = dict(result.bound.certificate or {})
    better = best + Fraction(-1 if kind == "rewards" else 1, 1_000)
    if "target" in certificate and better >= 0:
        with pytest.raises(Refused):
            prove(problem_to_dict(problem), {**certificate, "target": [*better.as_integer_ratio()]})


@pytest.mark.parametrize("kind", KINDS)
def test_by_climbs_alone_what_is_proven_holds(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where linear programs are too large: ends are those that the climb liked."""
    for name in ("MOST_PAIRS", "FEW_PAIRS"):
        monkeypatch.setattr(window_tree, name, -1)
    proven = 0
    for seed in range(3):
        problem, best = KINDS[kind](np.random.default_rng(seed))
        result = solve_exact(problem)
        assert result.bound is not None
        verify_bound(problem, result.bound)
        assert result.objective == pytest.approx(float(best), rel=1e-12)
        proven += result.status is Status.OPTIMAL
    assert proven


def gangs_of(seed: int, jobs: int = 14) -> Any:
    """Flow times that take some seconds to be proven."""
    rng = np.random.default_rng(seed)
    works, gaps = rng.lognormal(6, 1.2, jobs).astype(int) + 1, rng.exponential(300, jobs)
    some = zip(rng.choice([1, 2, 4, 8], jobs), gaps.cumsum().astype(int), works, strict=True)
    return preemptive.problem_of([8], [(int(g), int(r), int(p), 1.0) for g, r, p in some])


@pytest.mark.parametrize("calls", [1, 30, 300])
def test_what_is_interrupted_is_kept(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, made, answer = gangs_of(3), [], WindowProgram._answer

    def interrupting(*given: Any) -> Any:
        made.append(0)
        if len(made) == calls:
            raise KeyboardInterrupt
        return answer(*given)

    monkeypatch.setattr(WindowProgram, "_answer", interrupting)
    result = solve_exact(problem)
    assert result.stop is Stop.INTERRUPTED
    assert result.solution is not None
    assert result.bound is not None
    verify_bound(problem, result.bound)


@pytest.mark.parametrize("limit", [0.01, 0.3])
def test_a_limit_leaves_a_solution_and_a_bound(limit: float) -> None:
    problem = gangs_of(4, jobs=120)
    result = solve_exact(problem, time_limit=limit)
    assert result.solution is not None
    assert result.bound is not None
    verify_bound(problem, result.bound)


def test_the_same_problem_has_the_same_certificate() -> None:
    one, two = (solve_exact(gangs_of(5, jobs=7)) for _ in range(2))
    assert one.status is Status.OPTIMAL
    assert one.bound == two.bound
