"""The verifier imports nothing of ours, and says the same of files and of problems."""

import ast
import json
import shutil
import subprocess
import sys
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from brute_force import optimum
from certified_cases import cases, corrupted
from few import each_seed
from gangsched import verify
from gangsched.analysis.proofs.problem_data import proven
from gangsched.analysis.proofs.verify import RULES
from gangsched.formulations import CompletionTime, RarDdls
from gangsched.formulations.io import PROBLEMS, problem_to_dict
from gangsched.instances import library
from gangsched.instances.compiled import tier
from gangsched.verify import rar_ddls
from gangsched.verify.completion_time import GangProblem
from gangsched.verify.rar_ddls import MOST_JOBS, RingProblem
from tiny import tiny

FOLDER = Path(verify.__file__).parent
#: an entry of the library for each kind of certificate; `verify_bound` proves all of them
NAMES = {
    (entry.problem["problem"], entry.bound["certificate"]["kind"]): entry.name
    for entry in map(library.entry, library.names())
    if entry.problem and entry.bound["certificate"]
}

KINDS = [
    (kind.__name__, name) for kind, rules in RULES.items() for name in rules if name != "search"
]

COMPILED_KINDS = [
    ("CompletionTime", "GPU model prices"), ("CompletionTime", "GPU prices"),
    ("DeadlineRewards", "prices"), ("SharingIncentive", "user prices"),
]  # fmt: skip
#: kinds whose corrupted problems take longest
DEAR = [
    ("CompletionTime", "GPU model prices"), ("CompletionTime", "GPU prices"),
    ("Irmp", "revenue prices"),
]  # fmt: skip


def said(problem: Any, certificate: Any) -> Any:
    """What the verifier proves, or that it refuses."""
    try:
        return Fraction(verify.prove(json.loads(json.dumps(problem_to_dict(problem))), certificate))
    except verify.Refused:
        return "refused"


def also_said(problem: Any, certificate: Any) -> Any:
    """The same of a problem that is no file, with kernels compiled."""
    try:
        return Fraction(proven(problem, certificate))
    except verify.Refused:
        return "refused"


# --- alone ---------------------------------------------------------------------------------------


def test_it_imports_the_standard_library_only() -> None:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert all(
                    name.name.split(".")[0] in sys.stdlib_module_names for name in node.names
                )
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert str(node.module).split(".")[0] in sys.stdlib_module_names
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 1, f"{path.name} reaches out of its folder"


def test_every_rule_is_below_60_lines() -> None:
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 60, node.name


@pytest.mark.process
def test_a_copy_runs_without_any_package(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "verify", ignore=shutil.ignore_patterns("__pycache__"))
    entry = library.entry("rar-small-0")
    bound = {**entry.bound, "value": entry.bound["value"] + 1}
    for name, content in (
        ("problem", entry.problem), ("bound", entry.bound), ("more", bound), ("other", [1]),
    ):  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(content))

    def run(*args: str) -> tuple[int, str]:
        command = [sys.executable, "-S", "-E", "-m", "verify", *args]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, text = run("problem.json", "bound.json")
    assert code == 0
    assert text.startswith("holds: 646 (configuration lp); proven: 646")
    code, text = run("problem.json", "more.json")
    assert code == 1
    assert text == "refused: the certificate proves 646, and the bound claims 647\n"
    for args in (("other.json", "bound.json"), ("problem.json", "none.json"), ("problem.json",)):
        code, text = run(*args)
        assert code == 2
    assert run("problem.json", "other.json")[0] == 2


def test_defaults_are_those_of_the_problems() -> None:
    empty = {"kind": "problem", "problem": "", "instance": {"cluster": {"nodes": []}, "jobs": []}}
    ring = {f.name: f.default for f in fields(RarDdls)}
    own = RingProblem(empty)
    for name, value in (
        ("bandwidth_between", own.between), ("bandwidth_within", own.within), ("xi1", own.xi1),
        ("compute_speed", own.speed), ("xi2", own.xi2), ("alpha", own.alpha),
    ):  # fmt: skip
        assert Fraction(repr(ring[name])) == value, name
    assert (own.degradation, own.contention) == (ring["degradation"], ring["contention"])
    assert ring["rate"] == ("exact" if own.exact else "floor")
    gang = {f.name: f.default for f in fields(CompletionTime)}
    assert (GangProblem(empty).measure, GangProblem(empty).weighted) == (
        gang["measure"], gang["weighted"]
    )  # fmt: skip


# --- in other hands ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES.values())
def test_bounds_of_the_library_hold(name: str) -> None:
    entry = library.entry(name)
    proven = verify.verify(entry.problem, entry.bound)
    least = verify.PROBLEMS[entry.problem["problem"]][2]
    assert proven >= entry.bound["value"] if least else proven <= entry.bound["value"]
    more = abs(float(proven)) * 1e-3 + 1e-3
    more = float(proven) + (more if least else -more)
    with pytest.raises(verify.Refused, match="claims"):
        verify.verify(entry.problem, {**entry.bound, "value": more})


def groups() -> dict[tuple[str, str], list[tuple[Any, Any]]]:
    """Cases by problem and kind of certificate."""
    found: dict[tuple[str, str], list[tuple[Any, Any]]] = {}
    for problem, certificate in cases():
        found.setdefault((type(problem).__name__, certificate["kind"]), []).append(
            (problem, certificate)
        )
    return found


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_files_and_problems_are_read_alike(kind: tuple[str, str]) -> None:
    with tier("machine code"):
        for problem, certificate in groups()[kind]:
            found = said(problem, certificate)
            assert found != "refused", certificate
            assert found == also_said(problem, certificate), (problem, certificate)


def times(value: Any, factor: int) -> Any:
    """A number or nested numbers, each so many times as large."""
    return [times(one, factor) for one in value] if isinstance(value, list) else value * factor


@pytest.mark.parametrize("kind", COMPILED_KINDS, ids=" ".join)
def test_machine_code_runs_where_numbers_fit_64_bits(kind: tuple[str, str]) -> None:
    problem, certificate = min(groups()[kind], key=lambda case: len(case[0].jobs))
    scaled = {"prices", "rates", "scale", "users", "all"} & {*certificate}
    with tier("machine code"):
        for power in range(0, 66, 3):
            more = {name: times(certificate[name], 2**power) for name in scaled}
            made = certificate | more
            assert said(problem, made) == also_said(problem, made), power


@each_seed(range(4))
def test_corrupted_certificates_are_refused_alike(seed: int) -> None:
    rng, both = np.random.default_rng(seed), {"refused": 0, "proven": 0}
    for _ in range(100):
        kind = KINDS[rng.integers(len(KINDS))]
        problem, certificate = groups()[kind][rng.integers(len(groups()[kind]))]
        made = corrupted(certificate, rng)
        found = said(problem, made)
        both["refused" if found == "refused" else "proven"] += 1
        assert found == also_said(problem, made), (type(problem).__name__, made)
    assert min(both.values()) >= 10


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow) if kind in DEAR else kind for kind in KINDS],
    ids=" ".join,
)
def test_a_corrupted_problem_is_a_bad_file_or_another_problem(kind: tuple[str, str]) -> None:
    """Whatever stands in a file, there is a verdict or one line."""
    rng = np.random.default_rng(7)
    problem, certificate = groups()[kind][0]
    data = json.loads(json.dumps(problem_to_dict(problem)))
    verdicts = set()
    for _ in range(60):
        try:
            verify.prove(corrupted(data, rng), certificate)
            verdicts.add("proven")
        except (verify.BadFile, verify.Refused) as error:
            verdicts.add(type(error).__name__)
    assert "BadFile" in verdicts


def test_all_kinds_of_certificates_are_tried() -> None:
    """A search has tests of its own."""
    assert set(KINDS) == set(groups())
    assert {*verify.PROBLEMS} == {*PROBLEMS}


# --- search --------------------------------------------------------------------------------------


@each_seed(range(10))
def test_a_search_proves_the_optimum_and_no_more(seed: int) -> None:
    problem = tiny(seed)
    best = optimum(problem)
    assert best is not None
    assert said(problem, {"kind": "search", "target": best - 1}) == best
    assert said(problem, {"kind": "search", "target": best}) == "refused"


def test_a_search_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = problem_to_dict(gs.problem("rar-a-0"))
    with pytest.raises(verify.Refused, match=f"at most {MOST_JOBS} jobs, there are 160"):
        verify.prove(data, {"kind": "search", "target": 400})
    data = problem_to_dict(gs.problem("rar-small-0"))
    certificate = {"kind": "search", "target": 400}
    for name in ("MOST_STATES", "MOST_WAYS"):
        with monkeypatch.context() as patch:
            patch.setattr(rar_ddls, name, 2_000)
            with pytest.raises(verify.Refused, match="takes more than 2000"):
                verify.prove(data, certificate)
