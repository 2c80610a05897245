"""One round of LTGF: against all selections, and against the same question as a program."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broken import Broken
from few import each_seed
from gangsched.formulations.ltgf.round import LtgfRound
from gangsched.formulations.ltgf.round_forms import lexicographic
from gangsched.solvers import ExactParams
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.ltgf.round import one_round
from gangsched.solvers.result import Status


def given_round(seed: int, users: int = 3, jobs: int = 7) -> LtgfRound:
    rng = np.random.default_rng(seed)
    new = seed % 3 == 0  # all users tie at 0
    return LtgfRound(
        gpus=int(rng.integers(1, 12)),
        lease=int(rng.integers(1, 9)),
        attained=[0 if new else int(a) for a in rng.integers(0, 60, users)],
        fair=[0.0 if new else float(f) for f in rng.integers(1, 60, users) / 3],
        share=[float(s) for s in rng.integers(1, 5, users) / (1 if new else 7)],
        jobs=[(int(rng.integers(users)), int(rng.integers(1, 7))) for _ in range(jobs)],
    )


@st.composite
def rounds(draw: st.DrawFn) -> LtgfRound:
    users = draw(st.integers(1, 4))
    few = st.integers(0, 3)
    return LtgfRound(
        gpus=draw(st.integers(0, 10)),
        lease=draw(st.integers(1, 3)),
        attained=[draw(few) for _ in range(users)],
        fair=[draw(few) / 3 for _ in range(users)],
        share=[draw(few) / 7 for _ in range(users)],
        jobs=draw(st.lists(st.tuples(st.integers(0, users - 1), st.integers(1, 5)), max_size=8)),
    )


def selections(problem: LtgfRound) -> list[tuple[int, ...]]:
    every = range(len(problem.jobs))
    sets = [chosen for k in range(len(every) + 1) for chosen in combinations(every, k)]
    return [c for c in sets if sum(problem.jobs[i][1] for i in c) <= problem.gpus]


def rho(problem: LtgfRound, chosen: tuple[int, ...]) -> list[Fraction]:
    """Sorted fairness, written from the definition."""
    found = []
    for j in range(len(problem.attained)):
        due = Fraction(problem.fair[j]) + problem.lease * Fraction(problem.share[j])
        got = sum(problem.jobs[i][1] for i in chosen if problem.jobs[i][0] == j)
        if due:
            found.append((problem.attained[j] + problem.lease * got) / due)
    return sorted(found)


@given(rounds())
@settings(deadline=None, max_examples=200)
def test_it_is_leximin_over_all_selections(problem: LtgfRound) -> None:
    result = one_round(problem)
    assert problem.violations(result.solution) == []
    best = max(rho(problem, chosen) for chosen in selections(problem))
    assert rho(problem, result.solution) == best
    assert result.status is Status.OPTIMAL
    assert result.objective == float(best[0] if best else 1)


@given(rounds())
@settings(deadline=None, max_examples=100)
def test_no_gang_can_be_added_and_the_first_of_equal_ones_are_taken(problem: LtgfRound) -> None:
    chosen = one_round(problem).solution
    free = problem.gpus - sum(problem.jobs[i][1] for i in chosen)
    for i, kind in enumerate(problem.jobs):
        if i not in chosen:
            assert kind[1] > free
            assert not any(k > i and problem.jobs[k] == kind for k in chosen)


def test_a_tie_is_broken_for_the_sake_of_those_who_come_next() -> None:
    """Users 0 and 1 tie at the least rho, and only one can do better: the one that costs less.

    With 4 GPUs and nothing so far, user 0 has a gang of 3, user 1 one of 2, user 2 one of 2. To
    serve 1 and 2 leaves 0 behind, and is the only way to leave one alone behind.
    """
    problem = LtgfRound(
        gpus=4, lease=1, attained=[0] * 3, fair=[0.0] * 3, share=[1.0] * 3,
        jobs=[(0, 3), (1, 2), (2, 2)],
    )  # fmt: skip
    assert one_round(problem).solution == (1, 2)


@pytest.mark.parametrize("form", ["compact", "literal"])
@each_seed(range(12))
def test_the_programs_find_the_same_least_fairness(seed: int, form: str) -> None:
    problem = given_round(seed)
    result, program = one_round(problem), branch_and_bound(problem, params=ExactParams(form=form))
    assert program.status is Status.OPTIMAL
    assert program.objective == pytest.approx(result.objective)


@each_seed(range(9))
def test_the_program_of_all_positions_finds_the_same_fairness(seed: int) -> None:
    """The sums of the k least rho, one after the other, are those of the assignment."""
    problem = given_round(seed)
    sums: list[float] = []
    for _ in problem.users:
        model = problem.build("compact")
        lexicographic(problem, model, sums)
        solver = pyo.SolverFactory("appsi_highs")
        solver.highs_options["presolve_rule_off"] = 1 << 16
        solver.solve(model.native)
        sums.append(pyo.value(model.native.objective))
    wanted = np.cumsum(
        [float(value) for value in sorted(problem.fairness(one_round(problem).solution))]
    )
    assert sums == pytest.approx(wanted.tolist(), abs=1e-6)


@pytest.mark.parametrize("form", ["compact", "literal"])
def test_the_model_accepts_what_the_checker_accepts(form: str) -> None:
    problem = given_round(4, jobs=5)
    model = problem.build(form)
    broken = Broken(model.native)
    seen = set()
    for k in range(6):
        for chosen in combinations(range(5), k):
            model.embed(chosen)
            fine = problem.violations(chosen) == []
            assert (broken() == set()) is fine
            seen.add(fine)
            assert pyo.value(model.native.objective) == problem.objective(chosen)
            if fine:
                assert problem.fairness(model.extract()) == problem.fairness(chosen)
    assert seen == {True, False}


def test_sixteen_users_and_three_thousand_jobs() -> None:
    rng = np.random.default_rng(0)
    share = (2500 * rng.dirichlet(np.ones(16))).tolist()
    problem = LtgfRound(
        gpus=2500,
        lease=900,
        attained=rng.integers(0, 10**8, 16).tolist(),
        fair=rng.uniform(10**6, 10**8, 16).tolist(),
        share=share,
        jobs=[(int(u), int(2**k)) for u, k in zip(
            rng.integers(0, 16, 3000), rng.integers(0, 7, 3000), strict=True
        )],
    )  # fmt: skip
    result, program = one_round(problem), branch_and_bound(problem)
    assert program.objective == pytest.approx(result.objective, rel=1e-6)
    assert sorted(problem.fairness(program.solution)) <= sorted(problem.fairness(result.solution))


def test_there_may_be_nothing_to_choose() -> None:
    nobody = LtgfRound(gpus=3, lease=1, attained=[], fair=[], share=[], jobs=[])
    assert (one_round(nobody).solution, one_round(nobody).objective) == ((), 1.0)
    assert branch_and_bound(nobody).objective == 1.0
    idle = LtgfRound(gpus=3, lease=1, attained=[5], fair=[0.0], share=[0.0], jobs=[(0, 2), (0, 2)])
    assert one_round(idle).solution == (0,)


def test_cheating_selections_are_named() -> None:
    problem = given_round(4, jobs=5)
    assert problem.violations((0, 0))[0] == "gang: job 0 is taken 2 times"
    assert problem.violations((9,)) == ["reference: job number 9 of 5"]
    assert problem.violations((0, 1, 2, 3, 4))[0].startswith("capacity: gangs use")
