"""Ratios, and tables of solvers against verified bounds."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from gangsched.analysis.comparing import comparison as comparing
from gangsched.analysis.comparing.comparison import Comparison, Extras, Row, compare, ratio
from gangsched.analysis.proofs.makespan import (
    InvalidCertificate,
    NoCertificate,
    area_bound,
    configuration_bound,
    dff_bound,
)
from gangsched.analysis.show import results
from gangsched.analysis.show.solver_tables import solver_table
from gangsched.formulations import Sense
from gangsched.formulations.rar_ddls.problem import RarDdls, evaluate
from gangsched.instances import Cluster, Instance, Job, Schedule, Segment
from gangsched.solvers import Bound, Refuted, Result, Stop
from gangsched.solvers.facts import Facts
from tiny import packing

Solver = Callable[[Any], Any]


FIVE = [7, 7, 4, 4, 3]  #: of one GPU each; on two optimum 14, dual feasible functions 13


def at(*start: int, bound: Bound | None = None) -> Solver:
    """A solver that starts the jobs at these slots."""

    def solver(problem: RarDdls) -> Result[Schedule]:
        schedule = evaluate(problem, start, [{0: 1}] * len(start))
        return Result.of(problem, schedule, solver="at", stop=Stop.COMPLETED, bound=bound)

    return solver


BEST = at(0, 7, 0, 4, 8)  # 14; ends 7, 14, 4, 8, 11
SERIAL = at(0, 7, 14, 18, 22)  # 25; ends 7, 14, 18, 22, 25


def broken(_: RarDdls) -> Result[Schedule]:
    raise KeyError("no such GPU")


def printed(_: RarDdls) -> Refuted[Schedule]:
    return Refuted("printed", None, ("capacity (2): too many", "gang (1): too few"))


def unknown(problem: RarDdls) -> Result[Schedule]:
    return Result.of(problem, None, solver="unknown", stop=Stop.TIME_LIMIT)


# --- ratio ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "bound", "sense", "expected"),
    [
        (15, 10, Sense.MIN, 1.5),
        (10, 15, Sense.MAX, 1.5),
        (7, 7, Sense.MIN, 1.0),
        (7, 0, Sense.MIN, None),
        (0, 7, Sense.MAX, None),
        (0, 0, Sense.MIN, None),
        (-2, -3, Sense.MIN, None),
        (-3, -2, Sense.MAX, None),
        (3, -2, Sense.MIN, None),
    ],
)
def test_ratio(objective: float, bound: float, sense: Sense, expected: float | None) -> None:
    assert ratio(objective, Bound(bound, "test"), sense) == expected


def test_ratio_of_a_result_knows_its_sense() -> None:
    result = SERIAL(packing(FIVE))
    assert ratio(result, Bound(20, "test")) == 1.25
    assert ratio(result, None) is None
    assert ratio(unknown(packing(FIVE)), Bound(20, "test")) is None
    with pytest.raises(ValueError, match=r"ratio: sense=Sense.MAX is not the result's Sense.MIN"):
        ratio(result, Bound(20, "test"), Sense.MAX)


def test_ratio_of_a_number_needs_a_sense() -> None:
    with pytest.raises(TypeError, match=r"an objective alone needs sense=Sense.MIN or Sense.MAX"):
        ratio(3, Bound(2, "test"))


@pytest.mark.parametrize(("objective", "sense"), [(8, Sense.MIN), (10, Sense.MAX)])
def test_an_objective_that_beats_the_bound_is_a_bug(objective: int, sense: Sense) -> None:
    message = rf"ratio: objective={objective} beats the bound 9 \(area, {sense.value}\): a bug"
    with pytest.raises(ValueError, match=message):
        ratio(objective, Bound(9, "area"), sense)


# --- compare -------------------------------------------------------------------------------------


def test_rows() -> None:
    comparison = compare(packing(FIVE), {"best": BEST, "serial": SERIAL, "lost": unknown})
    best, serial, lost = comparison.rows
    assert [row.solver for row in comparison.rows] == ["best", "serial", "lost"]
    assert comparison.bound is not None
    assert comparison.bound.value == 13
    assert (best.objective, best.ratio, best.status) == (14, 14 / 13, "feasible")
    assert best.mean_completion == (7 + 14 + 4 + 8 + 11) / 5
    assert (serial.objective, serial.ratio) == (25, 25 / 13)
    assert serial.mean_completion == (7 + 14 + 18 + 22 + 25) / 5
    assert (lost.objective, lost.ratio, lost.mean_completion) == (None, None, None)
    assert (lost.status, lost.bound) == ("unknown", comparison.bound)
    assert best.result is not None
    assert best.result.solution is not None
    assert best.result.solution.end.tolist() == [7, 14, 4, 8, 11]
    assert not comparison.interrupted


def test_a_given_bound_counts_once_it_is_verified() -> None:
    problem = packing(FIVE)
    full = configuration_bound(problem)
    assert compare(problem, {"best": BEST}, bound=full).rows[0].ratio == 1
    with pytest.raises(NoCertificate, match=r"bound 14 \(branch and bound\): no certificate"):
        compare(problem, {"best": BEST}, bound=Bound(14, "branch and bound"))
    with pytest.raises(InvalidCertificate, match=r"the certificate proves 13"):
        compare(problem, {"best": BEST}, bound=Bound(14, "area", {"kind": "area"}))


def test_the_best_verified_bound_of_the_results_serves_all() -> None:
    problem = packing(FIVE)
    proof = at(0, 7, 0, 4, 8, bound=configuration_bound(problem))
    comparison = compare(problem, {"serial": SERIAL, "proof": proof})
    assert comparison.bound == configuration_bound(problem)
    assert [row.ratio for row in comparison.rows] == [25 / 14, 1]
    assert [row.status for row in comparison.rows] == ["feasible", "optimal"]


def test_a_claim_without_a_certificate_certifies_nothing() -> None:
    claim = at(0, 7, 0, 4, 8, bound=Bound(14, "branch and bound"))
    (row,) = compare(packing(FIVE), {"claim": claim}).rows
    assert (row.status, row.ratio) == ("optimal", 14 / 13)
    assert results.data(row)["claimed_bound"]["value"] == 14


def test_a_bound_that_does_not_hold_is_an_error_of_its_solver() -> None:
    lie = at(0, 7, 14, 18, 22, bound=Bound(20, "area", {"kind": "area"}))
    comparison = compare(packing(FIVE), {"lie": lie, "best": BEST})
    assert comparison.rows[0].status == "error"
    assert "InvalidCertificate: bound 20 (area): the certificate proves 13" in str(comparison)
    assert comparison.rows[1].ratio == 14 / 13


def test_a_solver_that_raises_gets_a_row_and_the_others_go_on() -> None:
    comparison = compare(packing(FIVE), {"broken": broken, "none": lambda _: None, "best": BEST})
    first, second, third = comparison.rows
    assert (first.status, first.error) == ("error", "KeyError: 'no such GPU'")
    assert second.error == "TypeError: a solver returns a Result or a Refuted, not NoneType"
    assert third.objective == 14
    assert "broken: KeyError: 'no such GPU'" in str(comparison)


def test_refuted_solvers_stand_apart() -> None:
    comparison = compare(packing(FIVE), {"as printed": printed, "best": BEST})
    assert [row.solver for row in comparison.rows] == ["best"]
    assert [r.solver for r in comparison.refuted] == ["as printed"]
    assert "as printed: refuted: capacity (2): too many (and 1 more)" in str(comparison)
    assert comparison.to_dict()["refuted"] == [
        {"solver": "as printed", "violations": ["capacity (2): too many", "gang (1): too few"]}
    ]


def test_an_interrupt_keeps_what_is_finished() -> None:
    def stopped(_: RarDdls) -> Result[Schedule]:
        raise KeyboardInterrupt

    comparison = compare(packing(FIVE), {"best": BEST, "stopped": stopped, "serial": SERIAL})
    assert comparison.interrupted
    assert comparison.unfinished == ("stopped", "serial")
    assert [row.ratio for row in comparison.rows] == [14 / 13]
    assert "interrupted, not finished: stopped, serial" in str(comparison)


def test_results_are_reported_as_they_come() -> None:
    seen: list[Row | Refuted[Any]] = []
    solvers = {"as printed": printed, "best": BEST, "broken": broken}
    comparison = compare(packing(FIVE), solvers, on_result=seen.append)
    assert [item.solver for item in seen] == ["as printed", "best", "broken"]
    assert tuple(seen[1:]) == comparison.rows


def test_a_beaten_bound_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangsched.analysis.comparing.comparison.verify_bound", lambda *_: None)
    with pytest.raises(ValueError, match=r"objective=14 beats the bound 15 \(wrong, minimise\)"):
        compare(packing(FIVE), {"best": BEST}, bound=Bound(15, "wrong", {}))


class Widest:
    """A maximisation that the toolkit knows no bound of: the number of segments."""

    sense: ClassVar[Sense] = Sense.MAX
    forms: ClassVar[tuple[str, ...]] = ()
    integral: ClassVar[bool] = True
    instance = Instance(
        Cluster.of_sizes([1]), [Job(id="a", gpus=1, release=2), Job(id="b", gpus=1, release=5)]
    )

    def objective(self, solution: Schedule) -> float:
        return len(solution)

    def violations(self, _: Schedule) -> list[str]:
        return []

    def build(self, form: str = "") -> Any:
        raise NotImplementedError(form)


def test_other_problems_have_rows_without_a_ratio() -> None:
    problem = Widest()
    schedule = Schedule.of(
        [Segment(0, 2, 4, {0: 1}), Segment(1, 5, 6, {0: 1}), Segment(0, 8, 9, {0: 1})]
    )

    def solver(problem: Widest) -> Result[Schedule]:
        claim = Bound(4, "claim")
        return Result.of(problem, schedule, solver="s", stop=Stop.COMPLETED, bound=claim)

    comparison = compare(problem, {"s": solver})
    (row,) = comparison.rows
    assert (row.objective, row.bound, row.ratio) == (3, None, None)
    assert row.mean_completion == ((9 - 2) + (6 - 5)) / 2
    assert "bound: none verified, so no ratio is certified" in str(comparison)


# --- extras --------------------------------------------------------------------------------------


def wider(problem: RarDdls) -> RarDdls:
    """The same jobs on three GPUs: area 25 / 3, and 10 by dual feasible functions."""
    return packing([job.iterations for job in problem.jobs], sizes=[3])


def on_three(problem: RarDdls) -> Result[Schedule]:
    """Ends 7, 7, 4, 8, 11."""
    relaxed = wider(problem)
    schedule = evaluate(relaxed, [0, 0, 0, 4, 8], [{0: 1}] * 5)
    facts = Facts(relaxation="wider")
    return Result.of(relaxed, schedule, solver="three", stop=Stop.COMPLETED, facts=facts)


WIDER = Extras(
    relaxations={"wider": wider},
    measures=lambda problem, result: {
        "GPUs": problem.instance.cluster.gpus,
        "odd": None if result.objective % 2 == 0 else 1.5,
    },
    legend=("wider: on three GPUs",),
)


def test_who_solves_a_relaxation_is_measured_against_a_bound_of_it() -> None:
    comparison = compare(packing(FIVE), {"three": on_three, "best": BEST}, extras=WIDER)
    three, best = comparison.rows
    assert (three.relaxation, three.objective, three.ratio) == ("wider", 11, 11 / 10)
    assert (best.relaxation, best.objective, best.ratio) == ("", 14, 14 / 13)
    assert comparison.bound is not None
    assert comparison.bound.value == 13
    (relaxed,) = comparison.relaxed
    assert (relaxed.name, relaxed.problem, relaxed.bound) == (
        "wider",
        wider(packing(FIVE)),
        dff_bound(wider(packing(FIVE))),
    )
    data = comparison.to_dict()
    assert [row["relaxation"] for row in data["rows"]] == ["wider", ""]
    assert data["relaxed"]["wider"]["value"] == 10
    text = str(comparison)
    assert "feasible, wider" in text
    assert "\nbound: 13 (area, verified)\nbound, wider: 10 (dual feas" in text
    assert text.endswith("\nwider: on three GPUs")


def test_without_extras_a_relaxed_solution_is_an_error() -> None:
    (row,) = compare(packing(FIVE), {"three": on_three}).rows
    assert row.error.startswith("ValueError: infeasible solution: capacity")


def test_a_relaxation_that_is_the_problem_itself_is_none() -> None:
    same = Extras(relaxations={"wider": lambda problem: problem})
    problem = packing(FIVE, sizes=[3])
    comparison = compare(problem, {"three": on_three}, extras=same)
    assert comparison.rows[0].relaxation == ""
    assert comparison.relaxed == ()


def test_a_bound_is_looked_for_only_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def find(problem: RarDdls, effort: str, time_limit: float | None) -> Bound:
        assert (effort, time_limit) == ("quick", 7)
        asked.append(problem)
        return area_bound(problem)

    monkeypatch.setattr(comparing, "bound_of", find)
    extras, problem = Extras(relaxations=WIDER.relaxations), packing(FIVE)
    compare(problem, {"best": BEST}, bound=area_bound(problem), extras=extras, time_limit=7)
    assert asked == []
    solvers = {"best": BEST, "three": on_three, "again": on_three}
    compare(problem, solvers, extras=extras, time_limit=7)
    assert asked == [problem, wider(problem)]


def test_a_bound_that_takes_long_is_looked_for_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no solver has brought one."""
    monkeypatch.setattr(comparing, "LATE", {RarDdls})
    rows: list[Any] = []
    comparison = compare(packing(FIVE), {"best": BEST}, on_result=rows.append)
    assert rows[0].bound is None
    assert comparison.bound == dff_bound(packing(FIVE))
    area = area_bound(packing(FIVE))
    proof = at(0, 7, 0, 4, 8, bound=replace(area, value=area.value - 1))
    comparison = compare(packing(FIVE), {"proof": proof})
    assert comparison.bound is not None
    assert comparison.bound.value == area.value - 1


def test_a_bound_that_was_looked_for_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(problem: RarDdls, *_: Any) -> Bound:
        return Bound(13 if problem.instance.cluster.gpus == 2 else 99, "lie", {"kind": "area"})

    monkeypatch.setattr(comparing, "bound_of", lie)
    with pytest.raises(InvalidCertificate, match=r"bound 99 \(lie\): the certificate proves 9"):
        compare(packing(FIVE), {"three": on_three}, extras=WIDER)


def test_a_bound_that_cannot_be_found_costs_no_comparison(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> Bound:
        raise ValueError("rewards are too large to be counted exactly")

    monkeypatch.setattr(comparing, "bound_of", fails)
    comparison = compare(packing(FIVE), {"best": BEST})
    assert (comparison.bound, comparison.rows[0].objective) == (None, 14)
    assert "no bound of RarDdls: rewards are too large to be counted exactly" in caplog.text


def test_an_interrupt_of_the_bound_keeps_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(problem: RarDdls, *_: Any) -> Bound:
        if problem.instance.cluster.gpus == 2:
            return dff_bound(problem)
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "bound_of", stopped)
    comparison = compare(packing(FIVE), {"three": on_three, "best": BEST}, extras=WIDER)
    assert comparison.unfinished == ("bound",)
    assert [row.ratio for row in comparison.rows] == [None, 14 / 13]
    assert "bound, wider: none verified, so no ratio is certified" in str(comparison)


def test_measures_are_columns() -> None:
    comparison = compare(packing(FIVE), {"best": BEST, "serial": SERIAL}, extras=WIDER)
    assert comparison.measures == ("GPUs", "odd")
    assert [dict(row.measures) for row in comparison.rows] == [
        {"GPUs": 2, "odd": None},
        {"GPUs": 2, "odd": 1.5},
    ]
    lines = str(comparison).splitlines()
    assert " ".join(lines[0].split()) == (
        "solver makespan (slots) bound (slots) certified ratio GPUs odd mean completion (slots) "
        "runtime status"
    )
    assert [line.split()[4:6] for line in lines[1:3]] == [["2", "-"], ["2", "1.5"]]
    page = comparison._repr_html_()
    assert "<th>GPUs</th><th>odd</th>" in page
    assert "<td>2</td><td>1.5</td>" in page


def test_a_measure_that_fails_is_an_error_of_the_solver() -> None:
    extras = Extras(measures=lambda problem, result: {"x": 1 / 0})
    (row,) = compare(packing(FIVE), {"best": BEST}, extras=extras).rows
    assert row.error == "ZeroDivisionError: division by zero"


# --- output --------------------------------------------------------------------------------------


def without_timing(comparison: Comparison) -> str:
    data = comparison.to_dict()
    for row in data["rows"]:
        assert set(row.pop("timing")) == {"runtime"}
    return json.dumps(data)


def test_data_are_json_and_reproducible_but_for_timing() -> None:
    problem = packing(FIVE)
    solvers = {"best": BEST, "broken": broken, "as printed": printed}
    bound = configuration_bound(problem)
    first, second = (compare(problem, solvers, bound=bound) for _ in range(2))
    assert without_timing(first) == without_timing(second)
    data = json.loads(json.dumps(first.to_dict()))
    assert (data["problem"], data["instance"], data["sense"]) == (
        "RarDdls",
        "packing",
        "minimise",
    )
    assert data["bound"]["certificate"]["target"] == 13
    assert data["rows"][0]["objective"] == 14
    assert data["rows"][0]["timing"]["runtime"] > 0


def test_text_is_aligned() -> None:
    lines = str(compare(packing(FIVE), {"best": BEST, "one after another": SERIAL})).splitlines()
    assert " ".join(lines[0].split()) == (
        "solver makespan (slots) bound (slots) certified ratio mean completion (slots) "
        "runtime status"
    )
    assert lines[1].split()[:5] == ["best", "14", "13", "1.0770", "8.8"]
    assert re.match(r"one after another {10,}25 ", lines[2])
    assert lines[2].endswith("feasible")
    assert len({line.index("feasible") for line in lines[1:3]}) == 1
    assert lines[3] == "bound: 13 (area, verified)"


def test_a_ratio_is_rounded_up() -> None:
    """1.00001 is not shown as optimal, and 1.1 keeps its digits."""
    rows = tuple(
        Row(solver="s", status="feasible", runtime=0.0, ratio=ratio)
        for ratio in (1.0, 1.00001, 1.1, 1.2345, 1.23451)
    )
    found = Comparison(problem=packing(FIVE), bound=None, rows=rows)
    shown = [line[3] for line in solver_table(found).texts()]
    assert shown == ["1.0000", "1.0001", "1.1000", "1.2345", "1.2346"]


def test_html_escapes_what_others_wrote() -> None:
    page = compare(packing(FIVE), {"<b>": BEST, "bad": broken})._repr_html_()
    assert "<td>&lt;b&gt;</td><td>14</td>" in page
    assert "bad: KeyError: &#x27;no such GPU&#x27;" in page
