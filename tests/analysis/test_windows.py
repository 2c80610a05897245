"""Trees of windows: the verifier against the theorem second by second, every schedule, forgers."""

from __future__ import annotations

from base64 import b64encode
from fractions import Fraction
from math import ceil
from typing import Any
from zlib import compress

import numpy as np
import pytest

from few import each_seed
from gangsched.analysis.proofs.job_prices import job_price_bound
from gangsched.formulations import CompletionTime
from gangsched.formulations.io import problem_to_dict
from gangsched.verify import Refused, prove
from gangsched.verify.completion_time import JobPrices
from gangsched.verify.windows import Leaf, Windows
from preemptive import mixed_problem, optimum, problem_of, random_problem
from priced_windows import (
    Gang,
    certificate,
    ends_below,
    forged,
    grown,
    least,
    random_leaf,
    random_tree,
)

SUMS = ["completion", "flow", "slowdown"]
KIND = {"kind": "completions in windows"}


def proven(problem: Any, tree: dict[str, Any]) -> Any:
    """What the verifier says, None where it refuses."""
    try:
        return prove(problem_to_dict(problem), tree)
    except Refused:
        return None


def weighted(rng: np.random.Generator) -> CompletionTime:
    """Three or four gangs, of the same weight or not."""
    measure, jobs = str(rng.choice(SUMS)), int(rng.integers(3, 5))
    problem = random_problem(rng, measure, gpus=int(rng.integers(2, 5)), jobs=jobs)
    if rng.random() < 0.7:
        return problem
    weights = [1.0, 2.0, 0.5, 3.0]
    rows = [(j.gpus, j.release, j.work or 0, float(rng.choice(weights))) for j in problem.jobs]
    return problem_of([*problem.instance.cluster.sizes], rows, measure, weighted=True)


# --- completion times -----------------------------------------------------------------------------


@each_seed(range(200), plain=40)
def test_the_verifier_says_what_the_theorem_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = weighted(rng)
    best, room = optimum(problem), problem.instance.cluster.gpus
    gangs = ends_below(problem, best)
    until = max(end for gang in gangs for end, _ in gang.choices)
    tree = random_tree(rng, gangs, room, until)
    for less in (-1, 0, Fraction(1, 3), 1, 2, 4, 8):
        target = max(best - less, Fraction(0))
        value = least(tree, ends_below(problem, target), room)
        if value is not None and problem.integral:
            value = Fraction(ceil(value))
        holds = value is None or value >= target
        found = proven(problem, certificate(tree, target))
        assert (found is not None) == holds, (target, value)
        assert found is None or target <= found <= best


@each_seed(range(200), plain=30)
def test_good_prices_prove_the_optimum_and_nothing_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = weighted(rng)
    best, room = optimum(problem), problem.instance.cluster.gpus
    gangs = ends_below(problem, best)
    nearly = best if problem.integral else best - Fraction(1, 1000)
    enough = best - 1 + Fraction(1, 1000) if problem.integral else nearly
    tree = grown(gangs, room, enough)
    assert proven(problem, certificate(tree, nearly)) == nearly
    assert proven(problem, certificate(tree, best + Fraction(1, 1000))) is None


def test_a_target_between_two_integers_is_as_good_as_the_next() -> None:
    """To be above 5 - 1 does not prove 5 + 1/2: the next value that a flow can have is 5 only."""
    problem = three_gangs("flow")
    leaf = {"times": [0, 1], "first": [0] * 3, "counts": [0] * 3, "prices": packed([]), "scale": 1}
    made = {**KIND, "nodes": [leaf]}
    assert prove(problem_to_dict(problem), {**made, "target": [5, 2]}) == 3
    with pytest.raises(Refused, match=r"nodes\[0\]: it falls short of the target"):
        prove(problem_to_dict(problem), {**made, "target": [7, 2]})


@pytest.mark.parametrize("measure", SUMS)
def test_prices_of_jobs_are_a_tree_of_one_leaf(measure: str) -> None:
    for seed in range(4):
        problem = random_problem(np.random.default_rng(seed), measure, jobs=6, gpus=6)
        prices = dict(job_price_bound(problem, rounds=40, intervals=20).certificate or {})
        before = Fraction(prove(problem_to_dict(problem), prices))
        made = {"target": [*before.as_integer_ratio()], "nodes": [prices]}
        assert proven(problem, {**KIND, **made}) == before


@each_seed(range(400))
def test_least_costs_are_those_of_every_end(seed: int) -> None:
    """Long jobs, and long intervals which the window cuts."""
    rng = np.random.default_rng(seed)
    prices = random_leaf(rng, 1, 40)
    release, need, rate, unit = (int(rng.integers(*r)) for r in ((0, 20), (0, 15), (1, 5), (1, 4)))
    low, high = sorted(rng.integers(0, 60, 2).tolist())
    made = Leaf(Windows([low], [high]), JobPrices(prices.fields(), 1), {})
    found = made.least_cost(0, release, need, rate, unit)
    ends = range(max(low, release + need), high + 1)
    gang, row = Gang(1, release, need, (), last=need > 0), prices.by_second(0)
    costs = (rate * (end - release) + unit * (gang.paid(row, end) or 0) for end in ends)
    assert found == min(costs, default=None)


# --- certificates ---------------------------------------------------------------------------------


def packed(prices: list[int]) -> str:
    return b64encode(compress(bytes(prices))).decode()


def three_gangs(measure: str = "flow") -> CompletionTime:
    """No two of them run together, for a second each."""
    return problem_of([3], [(2, 0, 1, 1.0)] * 3, measure)


def split(job: int, at: int, then: list[Any]) -> dict[str, Any]:
    return {"job": job, "at": at, "then": then}


#: prices of 2 and 1, as job prices need them
LEAF = {"times": [0, 1, 2], "first": [0] * 3, "counts": [2] * 3, "prices": packed([2, 1] * 3),
        "scale": 1}  # fmt: skip
TREE = [split(0, 1, [1, 2]), LEAF, split(1, 1, [3, 4]), LEAF, LEAF]


def test_a_tree_by_hand() -> None:
    """Ends are 1, 2 and 3 in some order."""
    problem = three_gangs()
    assert proven(problem, {**KIND, "target": [6, 1], "nodes": TREE}) == 6
    assert proven(problem, {**KIND, "target": [7, 1], "nodes": TREE}) is None
    late = [split(0, 3, [1, 2]), LEAF, {**LEAF, "prices": packed([0] * 6)}]
    assert proven(problem, {**KIND, "target": [6, 1], "nodes": late}) == 6  # who ends at 4?


def test_a_window_is_never_wider_than_that_of_its_parent() -> None:
    """With a late job 2 for each, less the first second, at a price of 1 for the others."""
    nothing = {**LEAF, "counts": [0] * 3, "prices": packed([])}
    late = {**LEAF, "counts": [0, 1, 1], "prices": packed([1, 1])}
    below = [split(0, 1, [1, 2]), LEAF, split(0, 0, [3, 4]), nothing, late]
    assert proven(three_gangs(), {**KIND, "target": [5, 1], "nodes": below}) == 5
    above = [split(0, 1, [1, 2]), split(0, 2, [3, 4]), late, LEAF, nothing]
    assert proven(three_gangs(), {**KIND, "target": [5, 1], "nodes": above}) == 5
    above[3:] = nothing, LEAF
    assert proven(three_gangs(), {**KIND, "target": [5, 1], "nodes": above}) is None


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([], "nodes are no list"), ({}, "nodes are no list"), ([5], "no object"),
        ([split(0, 1, [0, 1]), LEAF], "no later node"),
        ([split(0, 1, [1, 1]), LEAF], "another child"),
        ([split(0, 1, [1, 2]), split(1, 1, [2, 3]), LEAF, LEAF], "another child"),
        ([split(0, 1, [1, 2]), LEAF], "no later node"),
        ([split(0, 1, [1, 2]), split(0, 1, [1, 3]), LEAF, LEAF], "no later node"),
        ([LEAF, LEAF], "1 of 2 are no children"), ([split(3, 1, [1, 2]), LEAF, LEAF], "job=3"),
        ([split(0, -1, [1, 2]), LEAF, LEAF], "at=-1"), ([split(0, 1.5, [1, 2])], "at=1.5"),
        ([split(0, 1, [1])], "then has 1"), ([split(0, 1, [1, None])], r"then\[1\]=None"),
        ([{"at": 1, "then": [1, 2]}, LEAF, LEAF], "'job' is missing"),
        ([{}], "times=None"), ([{**LEAF, "times": [0, 2, 2]}], "times do not rise"),
        ([{**LEAF, "times": [0, 1.0, 2]}], r"times\[1\]"), ([{**LEAF, "scale": 0}], "scale=0"),
        ([{**LEAF, "counts": [2, 2, 3]}], "is not 7 packed"), ([{**LEAF, "prices": 1}], "prices"),
        ([{**LEAF, "counts": [2, 3, 1]}], "job 1 has prices in 3"),
        ([{**LEAF, "first": [0, 0, -1]}], r"first\[2\]=-1"),
        ([{**LEAF, "first": [0, 0]}], "first has 2"),
        ([{**LEAF, "scale": float("nan")}], "scale=nan"),
        ([{**LEAF, "scale": 10**5000}], "4000 digits"),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_refused_by_name(nodes: Any, said: str) -> None:
    with pytest.raises(Refused, match=said):
        prove(problem_to_dict(three_gangs()), {**KIND, "target": [1, 1], "nodes": nodes})


@pytest.mark.parametrize("target", [None, 6, [6], [6, 0], [-6, 1], [6.0, 1], [6, True], [6, 1, 1]])
def test_a_target_is_a_ratio_of_two_integers(target: Any) -> None:
    with pytest.raises(Refused, match="target"):
        prove(problem_to_dict(three_gangs()), {**KIND, "target": target, "nodes": TREE})


def test_other_measures_and_unequal_gpus_are_refused() -> None:
    nodes = {**KIND, "target": [3, 1], "nodes": [LEAF]}
    with pytest.raises(Refused, match="the measure is 'makespan'"):
        prove(problem_to_dict(three_gangs("makespan")), nodes)
    mixed = mixed_problem(np.random.default_rng(0), "flow", jobs=3)
    with pytest.raises(Refused, match="equal GPUs"):
        prove(problem_to_dict(mixed), nodes)


def test_a_tree_may_be_deep_but_not_too_large() -> None:
    """No recursion, and windows that are put right again after each leaf."""
    depth = 20_000
    chain = [split(0, 2 + k, [2 * k + 1, 2 * k + 2]) for k in range(depth)]
    nodes = [one for step in chain for one in (step, LEAF)] + [LEAF]
    assert proven(three_gangs(), {**KIND, "target": [6, 1], "nodes": nodes}) == 6
    with pytest.raises(Refused, match="nodes are no list of 1 to 100000"):
        prove(problem_to_dict(three_gangs()), {**KIND, "target": [6, 1], "nodes": [LEAF] * 100_001})


@each_seed(range(6), plain=3)
def test_what_is_forged_proves_nothing_false(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = weighted(rng)
    best, room = optimum(problem), problem.instance.cluster.gpus
    gangs = ends_below(problem, best)
    until = max(end for gang in gangs for end, _ in gang.choices)
    tree = certificate(random_tree(rng, gangs, room, until, 3), best + 1)
    for _ in range(200):
        found = proven(problem, forged(tree, rng))
        assert found is None or found <= best
