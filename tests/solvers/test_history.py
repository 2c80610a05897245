"""Histories of results: how objective and bound improved, up to what the result says."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs
from gangsched import registry
from gangsched.formulations import LtgfRound
from gangsched.formulations.irmp.problem import Irmp, reduced_problem
from gangsched.formulations.problem import Sense
from gangsched.instances import Linear, ParameterServerJob, heterogeneous
from gangsched.instances.deadlines import queue_snapshot
from gangsched.solvers import LaminarParams, RevenueSearchParams
from gangsched.solvers.history import History, settled
from gangsched.solvers.ltgf.round import one_round
from gangsched.solvers.result import Result

#: solvers with a loop that improves what they have
LOOPS = {
    "rar-ddls": {
        "sjf-bco", "sjf-bco:printed", "first-fit", "list-scheduling", "random-placement",
        "backfill-longest", "backfill-area", "backfill-gpus", "backfill-arrival", "laminar",
    },
    "unisched": {"lp-selector"},
    "irmp": {"lp-list", "search", "exact"},
    "gandiva-fair": {"nash"},
}  # fmt: skip
EVERY = [(stem, name) for stem, entry in registry.PROBLEMS.items() for name in entry.solvers]


def check(result: Any) -> None:
    """Every entry is better than the one before, and the last one says what the result says."""
    assert isinstance(result, Result)
    assert all(entry[1:] != (None, None) for entry in result.history)
    times = [at for at, _, _ in result.history]
    assert times == sorted(times)
    assert all(0 <= at <= result.runtime for at in times)
    low = result.sense is Sense.MIN
    for before, after in pairwise(result.history):
        for old, new, less in (
            (before[1], after[1], low),
            (before[2], after[2], not low),
        ):
            assert old is None or new is not None
            if old is not None and new is not None:
                assert new <= old if less else new >= old
        assert before[1:] != after[1:]
    if result.history:
        bound = None if result.bound is None else result.bound.value
        assert result.history[-1][1:] == (result.objective, bound)


@pytest.mark.parametrize(("stem", "name"), EVERY)
def test_histories_lead_to_the_result(stem: str, name: str) -> None:
    entry = registry.PROBLEMS[stem]
    result = entry.solvers[name](entry.tiny())
    check(result)
    # two models that all can use have an equilibrium in closed form
    loops = LOOPS.get(stem, set()) - ({"nash"} if stem == "gandiva-fair" else set())
    searches = name in loops or entry.solvers[name].place == "exact.solve_exact"
    assert isinstance(result, Result)
    assert bool(result.history) == searches


def rar_problem(jobs: int) -> Any:
    cluster = gs.generate.paper_cluster(4, seed=0)
    return gs.problem("rar-ddls", gs.generate.rar_workload(cluster, jobs=jobs, seed=0, variant="B"))


def market(aim: str) -> Any:
    users, models, speeds, tickets, gpus = heterogeneous.random_market(8, seed=1)
    kind = registry.PROBLEMS["gandiva-fair"].kind
    assert kind is not None
    return kind(gpus, speeds, tickets, users=users, models=models, aim=aim)


def three_gangs() -> Irmp:
    """Of two workers, on two nodes of three, which the linear program takes for room for all."""
    jobs = [
        ParameterServerJob(
            id=id, gpus=2, release=0, epochs=2, minibatches=1, rates=(1, 0.25),
            utility=Linear(-1, worth),
        )
        for id, worth in (("a", 30), ("b", 29), ("c", 28))
    ]  # fmt: skip
    cluster = gs.Cluster([gs.Node("s1", 3, ps=2), gs.Node("s2", 3, ps=2)])
    return Irmp(gs.Instance(cluster, jobs), horizon=2)


#: problem, solver, parameters, and how many objectives and bounds it notes at least
CASES = {
    "sjf-bco": (partial(rar_problem, 40), "sjf-bco", None, 3, 1),
    "laminar": (partial(rar_problem, 60), "laminar", LaminarParams(rounds=4, steps=20_000), 3, 1),
    "lp-list": (partial(reduced_problem, 12), "lp-list", None, 1, 5),
    "search": (
        partial(reduced_problem, 12, servers=5),
        "search",
        RevenueSearchParams(iterations=60),
        4,
        5,
    ),
    "exact of IRMP": (three_gangs, "exact", None, 1, 2),
    "lp-selector": (
        lambda: gs.problem("unisched", queue_snapshot(40, mix="philly", seed=0)),
        "lp-selector",
        None,
        1,
        1,
    ),
    "nash": (partial(market, "nash"), "nash", None, 1, 5),
}


@pytest.mark.parametrize("case", CASES)
def test_a_loop_notes_more_than_its_end(case: str) -> None:
    make, name, params, objectives, bounds = CASES[case]
    result = gs.solve(make(), name, params=params)
    check(result)
    assert isinstance(result, Result)
    for column, least in ((1, objectives), (2, bounds)):
        found = {entry[column] for entry in result.history} - {None}
        assert len(found) >= least


def test_branch_and_bound_begins_with_what_is_known() -> None:
    result = gs.solve_exact(rar_problem(6))
    check(result)
    (_, nothing, bound), (_, start, _) = result.history[:2]
    assert nothing is None  # the bound comes before the heuristics
    assert bound is not None
    assert start is not None


def test_no_loop_no_history() -> None:
    problem = LtgfRound(
        gpus=4, lease=10, attained=[20, 0], fair=[20, 20], share=[2, 2],
        jobs=[(0, 4), (0, 1), (1, 3)],
    )  # fmt: skip
    assert one_round(problem).history == ()


# --- settling ------------------------------------------------------------------------------------


def test_claims_beyond_the_outcome_are_cut_off() -> None:
    """A maximisation: 9.9 was a bound of floats, which rounding has brought to 10."""
    found = [(0.1, None, 14.0), (0.3, 7, 9.9), (0.2, 8, None)]
    assert settled(Sense.MAX, found, objective=8, bound=10, runtime=1.0) == (
        (0.1, None, 14.0),
        (0.3, 7, 10),
        (0.3, 8, 10),
    )


def test_what_came_to_nothing_is_left_out() -> None:
    found = [(0.1, 14, None), (0.2, 13, 5)]
    assert settled(Sense.MIN, found, objective=None, bound=4, runtime=1.0) == (
        (0.1, None, None),
        (0.2, None, 4),
    )
    assert settled(Sense.MIN, [], objective=None, bound=None, runtime=1.0) == ()


def test_a_part_is_taken_over_with_its_times() -> None:
    whole, part = History(100.0), History(103.0)
    part.entries.append((0.5, None, 7))
    whole.extend(part)
    assert whole.entries == [(3.5, None, 7)]
    whole.note(objective=np.int64(3))
    assert type(whole.entries[-1][1]) is int


values = st.none() | st.integers(-5, 5)


@given(
    sense=st.sampled_from(Sense),
    found=st.lists(st.tuples(st.floats(0, 1), values, values), max_size=6),
    objective=values,
    bound=values,
)
def test_settled_histories_are_monotone_whatever_was_noted(
    sense: Sense, found: Any, objective: Any, bound: Any
) -> None:
    made = settled(sense, found, objective=objective, bound=bound, runtime=1.0)
    for before, after in pairwise(made):
        assert after[0] >= before[0]
        assert after[1:] != before[1:]
    if objective is not None or bound is not None or found:
        assert made[-1][1:] == (objective, bound)
    again = settled(sense, made, objective=objective, bound=bound, runtime=1.0)
    assert again == made
