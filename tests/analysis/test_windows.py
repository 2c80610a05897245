"""Trees of windows: the verifier against the theorem second by second, every schedule, forgers."""

from base64 import b64decode, b64encode
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zlib import compress, decompress

import numpy as np
import pytest

import deadline_optimum
import sharing_optimum
from certified_cases import corrupted
from few import each_seed
from gangsched.analysis.proofs.job_prices import job_price_bound
from gangsched.formulations import CompletionTime, SharingIncentive
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.verify import Refused, prove, windows
from gangsched.verify.completion_time import JobPrices
from gangsched.verify.windows import Leaf, Windows
from preemptive import mixed_problem, problem_of, random_problem
from priced_windows import (
    Case,
    Gang,
    grown,
    least,
    of_completions,
    of_rewards,
    of_users,
    random_leaf,
    random_tree,
)

SUMS = ["completion", "flow", "slowdown"]
KIND = {"kind": "completions in windows"}
Draw = Callable[[np.random.Generator], Case]


def proven(problem: Any, tree: dict[str, Any]) -> Any:
    """What the verifier says, None where it refuses."""
    try:
        return prove(problem_to_dict(problem), tree)
    except Refused:
        return None


def completions(rng: np.random.Generator) -> Case:
    """Three or four gangs, of the same weight or not."""
    measure, jobs = str(rng.choice(SUMS)), int(rng.integers(3, 5))
    problem = random_problem(rng, measure, gpus=int(rng.integers(2, 5)), jobs=jobs)
    if rng.random() < 0.6:  # where prices alone often prove too little
        weights = [1.0, 2.0, 0.5, 3.0, 5.0]
        rows = [(j.gpus, j.release, j.work or 0, float(rng.choice(weights))) for j in problem.jobs]
        sizes = [*problem.instance.cluster.sizes]
        problem = problem_of(sizes, rows, measure, weighted=True)
    return of_completions(problem)


def rewards(rng: np.random.Generator) -> Case:
    """One to five jobs, some of which win nothing."""
    return of_rewards(deadline_optimum.random_problem(rng, jobs=5))


def users(rng: np.random.Generator) -> Case:
    """Two or three users with four jobs."""
    instance = sharing_optimum.random_instance(rng, jobs=4)
    return of_users(SharingIncentive(instance, sharing_optimum.READINGS[rng.integers(3)]))


def forged(made: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A certificate that somebody has changed: anything in one place or two, or prices."""
    if rng.random() < 0.7:
        found: dict[str, Any] = corrupted(made, rng)
        return found
    nodes = [dict(node) for node in made["nodes"]]
    node = nodes[rng.choice([k for k, node in enumerate(nodes) if "prices" in node])]
    text, at = node["prices"], int(rng.integers(len(node["prices"])))
    if rng.random() < 0.3:
        changes = [text[:at], text[at:], text[::-1], text[:at] + "A" + text[at + 1 :]]
        node["prices"] = changes[rng.integers(4)]
    else:
        raw = np.frombuffer(decompress(b64decode(text)), dtype=np.uint8).copy()
        if raw.size:
            some = rng.integers(raw.size, size=int(rng.integers(1, 4)))
            raw[some] = rng.integers(0, 256, some.size)
        node["prices"] = b64encode(compress(raw.tobytes())).decode()
    return {**made, "nodes": nodes}


DRAWN = pytest.mark.parametrize("draw", [completions, rewards, users])
#: how much better than the optimum a target is: the first one is too good
BETTER = -1, Fraction(-1, 20), 0, Fraction(1, 50), Fraction(1, 3), 1, 2, 4, 8, 20, 40


@DRAWN
@each_seed(range(60), plain=24)
def test_the_verifier_says_what_the_theorem_does(draw: Draw, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = draw(rng)
    tree = random_tree(rng, case.gangs(case.best), case.room, case.terms)
    for better in BETTER:
        target = case.best - better if case.sign < 0 else max(case.best - better, Fraction(0))
        if case.sign * target < 0:
            continue
        value = least(tree, case.gangs(target), case.room, case.terms)
        holds = value is None or case.next(value) >= target
        found = proven(case.problem, case.certificate(tree, target))
        assert (found is not None) == holds, (target, value)
        if found is not None:  # a ratio is rounded to a float, as objectives are
            assert float(case.sign * found) == float(case.next(target)) <= float(case.best)


@DRAWN
@each_seed(range(60), plain=24)
def test_good_prices_prove_the_optimum_and_nothing_more(draw: Draw, seed: int) -> None:
    case = draw(np.random.default_rng(seed))
    little = Fraction(1, 10_000)
    target = case.best if case.next(case.best - little) == case.best else case.best - little
    tree = grown(case, case.gangs(case.best), target)
    found = proven(case.problem, case.certificate(tree, target))
    assert found is not None
    assert float(found) == float(case.sign * target)
    if case.sign * (case.best + little) >= 0:
        assert proven(case.problem, case.certificate(tree, case.best + little)) is None


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


@each_seed(range(200))
def test_least_costs_are_those_of_every_end(seed: int) -> None:
    """Long jobs, and long intervals which the window cuts."""
    rng = np.random.default_rng(seed)
    prices = random_leaf(rng, 1, 40)
    release, need, rate, unit = (int(rng.integers(*r)) for r in ((0, 20), (0, 15), (1, 5), (1, 4)))
    low, high = sorted(rng.integers(0, 60, 2).tolist())
    made = Leaf(Windows([low], [high], [True]), JobPrices(prices.fields(), 1), {})
    found = made.least_cost(
        0, (made.windows.low[0], made.windows.high[0]), release, need, rate, unit
    )
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


def test_all_may_be_done_one_by_one() -> None:
    """Not all ends are at most 2, where seconds are dear, but each may be 3."""
    nothing = {**LEAF, "counts": [0] * 3, "prices": packed([])}
    dear = {**LEAF, "prices": packed([10] * 6)}
    nodes = [split(0, 2, [1, 2]), split(1, 2, [3, 4]), nothing, split(2, 2, [5, 6]), nothing, dear]
    assert proven(three_gangs(), {**KIND, "target": [5, 1], "nodes": [*nodes, nothing]}) == 5
    assert proven(three_gangs(), {**KIND, "target": [7, 1], "nodes": [*nodes, nothing]}) is None


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


@pytest.mark.parametrize("end", [1, 3])
def test_what_is_narrowed_is_wide_again_in_the_other_half(end: int) -> None:
    """All prices of a leaf prove 6, so any ends may go: but not those of job 0 that ends later."""
    narrowed = {**LEAF, "low": [1, end, end], "high": [1, end, end], "then": [2]}
    dear = {**LEAF, "times": [end - 1, end], "counts": [0, 1, 1], "prices": packed([10, 10])}
    for other, found in ((LEAF, 6), (dear, None)):
        nodes = [split(0, 1, [1, 3]), narrowed, LEAF, other]
        assert proven(three_gangs(), {**KIND, "target": [6, 1], "nodes": nodes}) == found


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


def test_elastic_jobs_and_limits_are_refused() -> None:
    elastic = deadline_optimum.random_problem(np.random.default_rng(0), elastic=True)
    instance = sharing_optimum.random_instance(np.random.default_rng(0))
    nodes = {**KIND, "target": [3, 1], "nodes": [LEAF]}
    for problem, said in ((elastic, "elastic"), (SharingIncentive(instance, limit=2), "a limit")):
        with pytest.raises(Refused, match=said):
            prove(problem_to_dict(problem), nodes)


@pytest.mark.parametrize(
    ("weights", "said"),
    [(None, "weights"), ([1], "weights has 1 entries for 2 users"), ([0, 0], "weights are all 0"),
     ([1, -1], r"weights\[1\]=-1"), ([1, 0.5], r"weights\[1\]=0.5")],
)  # fmt: skip
def test_weights_of_users_are_integers_some_of_which_count(weights: Any, said: str) -> None:
    """Two users wait for each other: a stretch of 3 / 2 if each second costs the same."""
    jobs = [Job(id=i, gpus=1, work=2, user=i) for i in "ab"]
    instance = Instance(Cluster.of_sizes([1]), jobs, [User(id) for id in "ab"])
    data = problem_to_dict(SharingIncentive(instance, "stretch"))
    leaf = {"times": [0, 3], "first": [0] * 2, "counts": [1] * 2, "prices": packed([1, 1])}
    tree = {**KIND, "target": [3, 2], "nodes": [{**leaf, "weights": [1, 1]}]}
    assert prove(data, tree) == Fraction(3, 2)
    with pytest.raises(Refused, match=rf"nodes\[0\]: {said}"):
        prove(data, {**tree, "nodes": [{**leaf, "weights": weights}]})


def test_a_tree_may_be_deep_but_not_too_large() -> None:
    """No recursion, and windows that are put right again after each leaf."""
    depth = 20_000
    chain = [split(0, 2 + k, [2 * k + 1, 2 * k + 2]) for k in range(depth)]
    nodes = [one for step in chain for one in (step, LEAF)] + [LEAF]
    assert proven(three_gangs(), {**KIND, "target": [6, 1], "nodes": nodes}) == 6
    with pytest.raises(Refused, match="nodes are no list of 1 to 100000"):
        prove(problem_to_dict(three_gangs()), {**KIND, "target": [6, 1], "nodes": [LEAF] * 100_001})


def test_all_leaves_together_have_so_many_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST_PACKED", 17)
    with pytest.raises(Refused, match=r"nodes\[4\]: there are more than 17 prices up to here"):
        prove(problem_to_dict(three_gangs()), {**KIND, "target": [6, 1], "nodes": TREE})


@DRAWN
@each_seed(range(6), plain=3)
def test_what_is_forged_proves_nothing_false(draw: Draw, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = draw(rng)
    tree = random_tree(rng, case.gangs(case.best), case.room, case.terms, 3)
    made = case.certificate(tree, case.best + case.sign)
    for _ in range(100):
        found = proven(case.problem, forged(made, rng))
        assert found is None or case.sign * found <= case.best
