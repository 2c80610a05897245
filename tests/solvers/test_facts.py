"""Facts of results: what metrics and comparisons go by, while `info` is for display."""

import ast
import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest

from gangsched import registry
from gangsched.analysis.comparing.revenue import money_of, money_violations, revenue_measures
from gangsched.formulations.irmp.problem import reduced_problem
from gangsched.solvers import Facts, MakespanFacts, Result, RevenueFacts, Stop
from gangsched.solvers.io import result_from_dict, result_to_dict
from gangsched.solvers.irmp.astraea import astraea
from layout import sources

#: who may show `info`; the second, the seeds in the line of settings
SHOWN = {"gangsched.analysis.show.report", "gangsched.analysis.show.solver_tables"}
SOURCES = {
    name: path
    for name, path in sources().items()
    if not name.startswith(("gangsched.solvers", "gangsched.formulations", "gangsched.instances"))
}


def reads_of_info(source: str) -> list[int]:
    """Lines that read an attribute `info`, whatever of."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Attribute) and node.attr == "info")
        or (isinstance(node, ast.Constant) and node.value == "info")
    ]


@pytest.mark.slow
def test_nothing_above_the_solvers_goes_by_info() -> None:
    found = {name for name, path in SOURCES.items() if reads_of_info(path.read_text("utf-8"))}
    assert found == SHOWN
    assert len(SOURCES) > 50


@pytest.mark.parametrize(
    "text", ["result.info['a']", "getattr(result, 'info')", "f(row.result.info)"]
)
def test_a_reader_of_info_is_seen(text: str) -> None:
    assert reads_of_info(text) == [1]


def test_what_was_earned_is_the_same_whatever_info_says() -> None:
    problem = reduced_problem(15, servers=5)
    result = astraea(problem)
    assert isinstance(result, Result)
    assert money_of(result).payments
    bare = replace(result, info={"ideal": -1.0, "payments": {"nobody": 3}, "preemptive": True})
    assert revenue_measures(problem, bare) == revenue_measures(problem, result)
    assert money_violations(problem, bare) == []


def test_payments_need_prices() -> None:
    problem = reduced_problem(15, servers=5)
    result = astraea(problem)
    silent = replace(result, facts=replace(RevenueFacts.of(result), theta=None))
    assert money_violations(problem, silent) == ["payment: jobs pay, but theta is not stated"]


@pytest.mark.parametrize("stem", registry.PROBLEMS)
def test_facts_go_through_files_pickles_and_copies(stem: str) -> None:
    entry = registry.PROBLEMS[stem]
    kinds = set()
    for name in entry.solvers:
        result = entry.solvers[name](entry.tiny())
        assert isinstance(result, Result)
        kinds.add(type(result.facts))
        data = result_to_dict(result)
        assert ("facts" in data) == (result.facts is not None)
        again = result_from_dict(data)
        assert again.facts == result.facts
        assert again == result == pickle.loads(pickle.dumps(result)) == copy.deepcopy(result)
    if stem in ("irmp", "rar-ddls"):
        assert kinds & {RevenueFacts, MakespanFacts}


def test_facts_of_a_result_without_any_are_the_default() -> None:
    result = registry.PROBLEMS["unisched"].solvers["density-greedy"](
        registry.PROBLEMS["unisched"].tiny()
    )
    assert isinstance(result, Result)
    assert result.facts is None
    assert RevenueFacts.of(result) == RevenueFacts()
    assert Facts.of(result).relaxation == ""


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: Facts(relaxation=None), "facts: relaxation=None is not a string"),  # type: ignore[arg-type]
        (lambda: MakespanFacts(load=1.5), "facts: load=1.5 is not an integer"),  # type: ignore[arg-type]
        (lambda: MakespanFacts(fallback=1), "facts: fallback=1 is not True or False"),  # type: ignore[arg-type]
        (lambda: RevenueFacts(payments=[1]), r"facts: payments=\[1\] is not a mapping"),  # type: ignore[arg-type]
        (lambda: RevenueFacts(incomes={"u": "1"}), r"facts: incomes\['u'\]='1' is not a number"),  # type: ignore[dict-item]
        (lambda: RevenueFacts(scale=None), "facts: scale=None is not a number"),  # type: ignore[arg-type]
    ],
)
def test_facts_of_another_type_are_refused(made: Any, text: str) -> None:
    with pytest.raises(TypeError, match=f"^{text}$"):
        made()


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (None, "facts: not an object of kind 'facts', 'makespan', 'revenue'"),
        ({"kind": "profit"}, "facts: not an object of kind 'facts', 'makespan', 'revenue'"),
        ({"kind": "facts", "load": 3}, "facts: unknown field 'load'"),
        ({"kind": "makespan", "load": "3"}, "facts: load='3' is not an integer"),
    ],
)
def test_bad_facts_in_a_file_are_refused(facts: Any, text: str) -> None:
    problem = registry.PROBLEMS["rar-ddls"].tiny()
    data = result_to_dict(
        Result.of(problem, None, solver="toy", stop=Stop.COMPLETED, facts=Facts())
    )
    with pytest.raises(ValueError, match=f"^{text}$"):
        result_from_dict({**data, "facts": facts})


def test_a_result_takes_facts_only() -> None:
    problem = registry.PROBLEMS["rar-ddls"].tiny()
    with pytest.raises(TypeError, match=r"^result of toy: facts=\{\} are no Facts$"):
        Result.of(problem, None, solver="toy", stop=Stop.COMPLETED, facts={})
