"""What commit 2e519fe saved still loads, means the same and proves the same (build_golden.py)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from gangsched.analysis.driving.check import violations
from gangsched.formulations.io import problem_from_dict

GOLDEN = Path(__file__).parent / "golden" / "2e519fe"
CASES: dict[str, list[dict[str, Any]]] = json.loads((GOLDEN / "cases.json").read_text("ascii"))
LIBRARY: dict[str, dict[str, Any]] = json.loads((GOLDEN / "library.json").read_text("ascii"))
FILES = sorted(
    path.relative_to(GOLDEN).as_posix()
    for path in GOLDEN.glob("*/*")
    if path.parent.parent == GOLDEN
)


def by_name(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def load(name: str) -> Any:
    return gs.io.load(GOLDEN / name)


def same(value: Any, expected: Any) -> bool:
    """Integers are equal; of floats the last digits may be those of another machine's logarithm."""
    if isinstance(expected, int):
        return type(value) is int and value == expected
    return bool(value == pytest.approx(expected, rel=1e-12, abs=0))


def problem_of(case: dict[str, Any]) -> Any:
    """From its file, or made of the parameters and the instance of the case."""
    if "problem" in case:
        return load(case["problem"])
    kind, given = getattr(gs.formulations, case["class"]), dict(case["parameters"])
    if "shares" in given and case["class"] == "LtgfFluid":
        given["shares"] = [Fraction(share) for share in given["shares"]]
    if "instance" in case:
        return kind(load(case["instance"]), **given)
    return kind(**given)


def data_of(path: Path) -> dict[str, Any]:
    """Everything a file or folder says."""
    if not path.is_dir():
        return {"": gs.instances.io.read_json(path)}
    found: dict[str, Any] = {
        file.name: gs.instances.io.read_json(file) for file in path.glob("*.json")
    }
    return found | {file.name: file.read_bytes() for file in path.glob("*.csv")}


def version_of(data: dict[str, Any]) -> int:
    return int(next(part["version"] for part in data.values() if isinstance(part, dict)))


def test_there_are_files_of_every_kind() -> None:
    kinds = {case["kind"] for case in CASES["problems"] if "kind" in case}
    assert kinds == {
        "area", "longest job", "dff", "configuration lp",
        "last job", "released work", "shortest remaining first", "mean busy time",
        "prices", "packing", "life", "lease prices", "revenue prices", "gpu prices",
    }  # fmt: skip
    assert {name.partition("/")[0] for name in FILES} == {
        "instances", "problems", "results", "runs", "solutions",
    }  # fmt: skip
    assert {name.partition(".")[2] for name in FILES} == {"json", "json.gz", "csv", "parquet"}
    jobs = [job for name in FILES if name.startswith("instances/") for job in load(name).jobs]
    assert {type(job).__name__ for job in jobs} == {
        "Job", "RingJob", "DeadlineJob", "ParameterServerJob",
    }  # fmt: skip
    problems = [load(name) for name in FILES if name.startswith("problems/")]
    assert {type(problem).__name__ for problem in problems} == {
        "RarDdls", "UniSched", "DeadlineRewards", "Irmp", "GpuMarket",
    }  # fmt: skip
    rest = CASES["problems"] + CASES["plain"]
    assert {case["class"] for case in rest if "class" in case} == {
        "CompletionTime", "Ltgf", "LtgfFluid", "LtgfRound",
    }  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_saved_again_says_the_same(name: str, tmp_path: Path) -> None:
    before = data_of(GOLDEN / name)
    path = tmp_path / Path(name).name
    thing = load(name)
    gs.io.save(path, thing)
    again = gs.io.load(path)
    assert type(again) is type(thing)
    if not isinstance(thing, gs.formulations.GpuMarket):  # which has no equality
        assert again == thing
    after = data_of(path)
    if version_of(after) == version_of(before):
        for part in (before, after):
            if path.suffix == ".parquet":  # whose bytes depend on the version of pyarrow
                (head,) = part.values()
                del head["tables"]
        if name.startswith("results/"):  # which have facts apart from `info` since 0.2.0
            (data,) = after.values()
            data.pop("facts", None)
        assert after == before


# --- problems ------------------------------------------------------------------------------------


@by_name(CASES["problems"])
def test_a_problem_finds_the_same_value(case: dict[str, Any]) -> None:
    problem, result = problem_of(case), load(case["result"])
    assert result.sense is problem.sense
    assert ("kind" in case) == (result.bound is not None)
    if result.solution is None:
        assert "broken" not in case
        assert result.objective is None
        return
    assert problem.violations(result.solution) == []
    assert same(problem.objective(result.solution), result.objective)
    found = problem.violations(load(case["broken"]))
    assert rules(found) == rules(case["violations"])


def rules(found: list[str]) -> list[str]:
    """Lines of violations, up to the first colon: how the rest is worded may change."""
    return [line.partition(":")[0] for line in found]


@by_name([case for case in CASES["problems"] if "kind" in case])
def test_a_certificate_proves_its_bound_and_no_better_one(case: dict[str, Any]) -> None:
    problem, bound = problem_of(case), load(case["result"]).bound
    assert bound.certificate["kind"] == case["kind"]
    gs.verify_bound(problem, bound)
    step = 1 if isinstance(bound.value, int) else 0.05 * abs(bound.value)
    less = -step if problem.sense is gs.formulations.Sense.MAX else step
    better = gs.Bound(bound.value + less, bound.method, bound.certificate)
    with pytest.raises(ValueError, match=r"the certificate proves") as raised:
        gs.verify_bound(problem, better)
    assert type(raised.value).__name__ == "InvalidCertificate"
    claimed = gs.Bound(bound.value, bound.method)
    with pytest.raises(ValueError, match=r"no certificate"):
        gs.verify_bound(problem, claimed)


@by_name(CASES["plain"])
def test_a_plain_solution_has_the_same_value(case: dict[str, Any]) -> None:
    problem = problem_of(case)
    solution = case["solution"]
    if case["class"] == "LtgfFluid":
        solution = [(tuple(packing), Fraction(share)) for packing, share in solution]
    assert problem.violations(solution) == []
    assert same(problem.objective(solution), case["objective"])
    assert problem.violations([*solution, *solution]) != []


# --- runs ----------------------------------------------------------------------------------------


@by_name(CASES["runs"])
def test_a_run_passes_the_checker(case: dict[str, Any]) -> None:
    instance = load(case["instance"])
    first, *others = [load(name).attach(instance) for name in case["layouts"]]
    assert violations(first, preempts=gs.solvers.Preempts[case["preempts"]]) == []
    assert all(other == first for other in others)
    longer = first.schedule.end.copy()
    longer[0] += 1
    wrong = replace(first, schedule=replace(first.schedule, end=longer))
    assert violations(wrong) != []


# --- named instances -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIBRARY)
def test_a_named_instance_is_the_same_and_known_no_worse(name: str) -> None:
    """That what it claims holds is shown by tests/instances/test_library.py."""
    entry, before = gs.library.entry(name), LIBRARY[name]
    text = json.dumps(entry.problem, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == before["problem"] == entry.sha256
    assert entry.objective <= before["objective"]
    assert entry.bound["value"] >= before["bound"]
    assert problem_from_dict(entry.problem).objective(entry.schedule) == entry.objective
