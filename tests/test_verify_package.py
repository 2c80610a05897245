"""The verifier that stands alone: it imports nothing of ours, and says what `verify_bound` says."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from brute_force import optimum
from gangsched import verify
from gangsched.analysis.proofs.verify import RULES
from gangsched.formulations import CompletionTime, RarDdls
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import generate, heterogeneous, library
from gangsched.verify.completion_time import GangProblem
from gangsched.verify.rar_ddls import MOST_STATES, RingProblem
from tiny import tiny

FOLDER = Path(verify.__file__).parent
NAMES = [
    name
    for name in library.names()
    if name.split("-")[0] in ("rar", "flow", "slowdown", "makespan")
]


def said(problem: Any, certificate: Any) -> Any:
    """What the verifier proves, or that it refuses."""
    try:
        return Fraction(verify.prove(problem_to_dict(problem), certificate))
    except verify.Refused:
        return "refused"


def also_said(problem: Any, certificate: Any) -> Any:
    """The same of the rules of `verify_bound`."""
    rules = RULES[type(problem)]
    try:
        return Fraction(rules[certificate["kind"]](problem, certificate))
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return "refused"


def plain(certificate: Any) -> Any:
    return json.loads(json.dumps(dict(certificate), default=dict))


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


# --- with verify_bound ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_bounds_of_the_library_hold(name: str) -> None:
    entry = library.entry(name)
    if entry.problem is None or entry.bound["certificate"] is None:
        return
    proven = verify.verify(entry.problem, entry.bound)
    assert proven >= entry.bound["value"]
    with pytest.raises(verify.Refused, match="claims"):
        verify.verify(entry.problem, {**entry.bound, "value": float(proven) * 1.001 + 1})


@cache
def cases() -> list[tuple[Any, Any]]:
    """Problems with a certificate of each kind."""
    found: list[tuple[Any, Any]] = []
    for seed in range(3):
        ring = gs.registry.PROBLEMS["rar-ddls"].settings["paper-b"](jobs=12, nodes=3, seed=seed)
        for effort in ("quick", "full"):
            found.append((ring, gs.bound(ring, effort=effort).certificate))
        found += [(ring, {"kind": "longest job", "job": 3}), (ring, {"kind": "area"})]
        instance = generate.philly_workload(
            gs.Cluster.of_sizes([8, 4]), jobs=25, load=1.0, seed=seed
        )
        mixed = heterogeneous.with_speeds(
            generate.philly_workload(
                heterogeneous.mixed_cluster([("v100", 1, 4), ("k80", 2, 4)]), jobs=25, load=1.0,
                seed=seed,
            ),
            seed=seed,
        )  # fmt: skip
        for one in (instance, mixed):
            for measure in ("makespan", "completion", "flow", "slowdown"):
                problem = CompletionTime(one, measure, weighted=measure == "flow" and seed == 1)
                for effort in ("quick", "standard"):
                    found.append((problem, gs.bound(problem, effort=effort).certificate))
    return [(problem, plain(certificate)) for problem, certificate in found]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of a certificate."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, (dict, list)):
            yield from leaves(one, (*path, key))


def corrupted(certificate: Any, rng: np.random.Generator) -> Any:
    """A certificate with something else in one place or two."""
    made = deepcopy(certificate)
    for _ in range(rng.integers(1, 3)):
        places = list(leaves(made))
        *path, last = places[rng.integers(len(places))]
        at = made
        for key in path:
            at = at[key]
        old = at[last]
        what = rng.integers(7)
        if what == 0 and isinstance(at, dict) and last != "kind":
            del at[last]
        elif what == 1 and isinstance(at, list):
            at.insert(last, old)
        elif what == 2 and isinstance(at, list):
            at.pop(last)
        elif what == 3:
            at[last] = [None, "1", -1, 0.5, True, [], {}][rng.integers(7)]
        elif isinstance(old, int) and not isinstance(old, bool):
            step = int(rng.integers(-3, 4)) or 1
            at[last] = [old + step, old * 2, old // 2, 0, old * 10**12][rng.integers(5)]
    return made


@pytest.mark.parametrize(
    "seed", [seed if seed < 2 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(20)]
)
def test_it_agrees_with_verify_bound_on_corrupted_certificates(seed: int) -> None:
    """20 times 100 of them; refusals of either are refusals of both, and values are equal.

    Where numbers exceed 64 bits, `verify_bound` rounds waiting costs of slowdowns down.
    """
    rng, both = np.random.default_rng(seed), {"refused": 0, "proven": 0}
    for _ in range(100):
        problem, certificate = cases()[rng.integers(len(cases()))]
        made = corrupted(certificate, rng)
        one, other = said(problem, made), also_said(problem, made)
        both["refused" if one == "refused" else "proven"] += 1
        what = type(problem).__name__, certificate["kind"], one, other
        if certificate["kind"] == "GPU prices" and problem.measure == "slowdown":
            assert (one == "refused") == (other == "refused"), what
            assert one == "refused" or 0 <= one - other <= 1e-6 * abs(one), what
        else:
            assert one == other, what
    assert min(both.values()) >= 10


def test_kinds_of_certificates_are_all_tried() -> None:
    kinds = {(type(problem), certificate["kind"]) for problem, certificate in cases()}
    assert {kind for owner, kind in kinds if owner is CompletionTime} == {
        "last job", "GPU prices", "GPU model prices", "shortest remaining first",
        "mean busy time",
    }  # fmt: skip
    assert {kind for owner, kind in kinds if owner is RarDdls} == {
        "area", "longest job", "dff", "configuration lp",
    }  # fmt: skip


# --- search --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_a_search_proves_the_optimum_and_no_more(seed: int) -> None:
    problem = tiny(seed)
    best = optimum(problem)
    assert best is not None
    assert said(problem, {"kind": "search", "target": best - 1}) == best
    assert said(problem, {"kind": "search", "target": best}) == "refused"


def test_a_search_that_takes_too_long_is_refused() -> None:
    problem = gs.problem("rar-a-0")
    data = problem_to_dict(problem)
    with pytest.raises(verify.Refused, match=f"more than {MOST_STATES} states"):
        verify.prove(data, {"kind": "search", "target": 400})
