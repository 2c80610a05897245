"""`gangsched library submit`: what is wrong is refused with its reason, the rest is compared."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gangsched as gs
from called import called
from command_line import assert_refused
from gangsched import submissions
from gangsched.formulations.io import problem_to_dict
from gangsched.instances import library
from gangsched.solvers.io import bound_to_dict, result_to_dict, solution_to_dict
from malformed import cases, changed, table

NAME = "rar-small-1"  # 10 jobs; 551 is known and proven, so that nobody will improve it
ENTRY = library.entry(NAME)
PROBLEM = submissions.problem_of(ENTRY)
Data = dict[str, Any]


def submission(**parts: Any) -> Data:
    """What repeats the library's best of :data:`NAME`."""
    return {
        "format": "gangsched", "version": 1, "kind": "submission", "name": NAME, "by": "somebody",
        "objective": ENTRY.objective, "solution": json.loads(json.dumps(ENTRY.best["solution"])),
        "bound": dict(ENTRY.bound), **parts,
    }  # fmt: skip


def without(data: Data, *keys: str) -> Data:
    return {key: value for key, value in data.items() if key not in keys}


def certificate(**parts: Any) -> Data:
    bound = dict(ENTRY.bound)
    return without(submission(bound={**bound, "certificate": {**bound["certificate"], **parts}}),
                   "solution", "objective")  # fmt: skip


def shortened_run() -> Data:
    """A job that ends a slot too early."""
    found = submission()
    found["solution"]["end"][0] -= 1
    return found


def without_a_job() -> Data:
    schedule = ENTRY.schedule
    kept = [segment for segment in schedule if segment.job != 3]
    return submission(solution=solution_to_dict(gs.Schedule.of(kept)))


def at_once() -> Data:
    """All jobs from the beginning: nodes hold more gangs than they have GPUs for."""
    found = submission()
    columns = found["solution"]
    columns["end"] = [e - s for s, e in zip(columns["start"], columns["end"], strict=True)]
    columns["start"] = [0] * len(columns["start"])
    return found


def other_problem() -> Data:
    return submission(problem=problem_to_dict(gs.problem("rar-small-2")))


def stranger(**parts: Any) -> Data:
    """An instance that is not in the library."""
    own = {"name": "my-rings", "problem": problem_to_dict(PROBLEM), "description": "Rings of mine"}
    return submission(**{**own, **parts})


ALLOCATION = solution_to_dict(gs.Allocation(("a",), ("k80",), [[1.0]]))
CALL = {"family": "rings-of-sizes", "arguments": {"jobs": 10, "sizes": [4, 8]}, "seed": 3}
#: files that are wrong, and what is said of each
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no JSON": (lambda: "{", "not JSON"),
    "no object": (list, "[] is not an object"),
    "a field twice": (lambda: '{"name": "a", "name": "b"}', "field 'name' occurs twice"),
    "not a number": (lambda: json.dumps(submission(objective=float("nan"))), "NaN is not allowed"),
    "nothing found": (
        lambda: without(submission(), "solution", "objective", "bound"), "neither a solution nor",
    ),
    "a solution of another kind": (
        lambda: submission(solution=ALLOCATION), "of rar-ddls is a schedule, not Allocation",
    ),
    "a job that is missing": (without_a_job, "j3"),
    "a job that ends too early": (shortened_run, "solution: "),
    "more gangs than GPUs": (at_once, "capacity"),
    "an unknown certificate": (lambda: certificate(kind="trust me"), "kind='trust me' is not a"),
    "a certificate of another instance": (
        lambda: submission(bound={**library.entry("rar-a-0").bound}), "bound 298",
    ),
    "another problem of this name": (other_problem, f"it is not that of '{NAME}'"),
    "another generator of this name": (
        lambda: submission(generator={**CALL, "seed": 2}), f"it is not that of '{NAME}'",
    ),
    "a generator of more jobs than memory holds": (
        lambda: stranger(generator={**CALL, "arguments": {"jobs": 10**9, "sizes": [8]}}),
        "jobs=1000000000 is not an integer within",
    ),
    "an unknown generator": (
        lambda: submission(generator={**CALL, "family": "os.system"}), "family='os.system' is not",
    ),
    "a new instance with a bad name": (
        lambda: stranger(name="../rar"), "name='../rar' is not of lower-case letters",
    ),
    "a new instance without a bound": (
        lambda: without(stranger(), "bound"), "needs description, solution and bound",
    ),
    "a new instance whose generator makes another": (
        lambda: stranger(generator={**CALL, "seed": 2}), "the call makes another problem",
    ),
}  # fmt: skip


def written(folder: Path, data: Any) -> Path:
    path = folder / "found.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def submitted(capsys: pytest.CaptureFixture[str], *args: Any) -> tuple[int, str, str]:
    return called(capsys, "library", "submit", *args)


@pytest.mark.parametrize("way", WRONG)
def test_a_wrong_file_is_refused_with_the_reason(
    way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, reason = WRONG[way]
    assert_refused(submitted(capsys, written(tmp_path, make())), re.escape(reason))


@pytest.mark.parametrize(
    ("place", "value", "reason"), cases(table("malformed_submissions")["submission"])
)
def test_a_file_that_is_wrong_in_one_place_is_too(
    place: str, value: Any, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, changed(submission(), place, value))
    assert_refused(submitted(capsys, path), re.escape(reason))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library of two instances, one of which is known worse than in the package."""
    made = tmp_path / "library"
    made.mkdir()
    found = gs.solve(PROBLEM, "first-fit")
    worse = submissions.Submission(name="x", by="first-fit", objective=found.objective)
    best = submissions._best_of(submissions.replace(worse, solution=found.solution))
    area = submissions._proof_of(gs.Bound(1, "area", {"kind": "area"}))
    old = submissions.replace(ENTRY, best=best, proof=area, claim=None, history=[])
    submissions.accept(submissions._renewed(old, "first-fit"), made)
    submissions.accept(library.entry("rar-tiny-0"), made)
    return made


def test_the_same_again_is_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = submitted(capsys, written(tmp_path, submission()))
    assert (code, err) == (1, "")
    assert "solution: equal (551, known is 551 by laminar)" in out
    assert "bound: equal (551, known is 551)" in out


def test_what_is_worse_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = gs.solve(PROBLEM, "first-fit")
    worse = submission(
        objective=found.objective, solution=solution_to_dict(found.solution),
        bound={"value": 1, "method": "area", "certificate": {"kind": "area"}},
    )  # fmt: skip
    code, out, _ = submitted(capsys, written(tmp_path, worse))
    assert code == 1
    assert f"solution: worse ({found.objective}, known is 551 by laminar)" in out
    assert "bound: worse (1, known is 551)" in out


def test_more_is_better_where_it_is_maximised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "deadlines-helios-mix1-100-days7"
    known, problem = library.entry(name), gs.problem(name)
    found = gs.solve(problem, "reward-list")
    assert found.objective < known.objective
    proof = {key: known.proof[key] for key in ("method", "certificate")}  # type: ignore[index]
    bound = {**proof, "value": known.bound["value"] + 100}  # the certificate proves more
    data = {"name": name, "objective": found.objective, "bound": bound}
    path = written(tmp_path, submission(**data, solution=solution_to_dict(found.solution)))
    code, out, _ = submitted(capsys, path)
    assert code == 1
    assert f"solution: worse ({found.objective:.10g}, known is {known.objective:.10g}" in out
    assert "bound: worse (" in out
    made = tmp_path / "library"
    made.mkdir()
    best = submissions._best_of(submissions.read_submission(path))
    submissions.accept(submissions.replace(known, best=best), made)
    better = submission(name=name, objective=known.objective, solution=known.best["solution"])
    path = written(tmp_path, without(better, "bound"))
    code, out, _ = submitted(capsys, path, "--library", made)
    assert (code, "solution: better (" in out) == (0, True)


def test_a_certificate_takes_the_place_of_a_claim(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = library.entry("queue-helios-20-load150")
    assert (known.claim or {})["value"] == 1800 < (known.proof or {})["value"] == 1900
    monkeypatch.setattr(submissions, "verify_bound", lambda problem, bound: None)
    for value, claimed in ((1800, False), (1850, True)):
        bound = {"value": value, "method": "mine", "certificate": {"kind": "mine"}}
        data = without(submission(name=known.name, bound=bound), "solution", "objective")
        judged, after = submissions.judge(submissions.read_submission(written(tmp_path, data)))
        assert [one.word for one in judged] == ["better"]
        assert (after.proof or {})["value"] == value
        assert (after.claim is not None) == claimed
        assert after.bound["value"] == 1800


def test_what_is_better_is_accepted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, before = written(tmp_path, submission()), library.entry(NAME, folder)
    untouched = library.path_of(NAME, folder).read_bytes()
    code, out, _ = submitted(capsys, path, "--library", folder)
    assert code == 0
    assert f"solution: better (551, known is {before.objective} by first-fit)" in out
    assert "bound: better (551, known is 1)" in out
    assert library.path_of(NAME, folder).read_bytes() == untouched  # only with --write
    code, out, _ = submitted(capsys, path, "--library", folder, "--write", "--by", "me")
    assert code == 0
    assert f"written: {library.path_of(NAME, folder)}" in out
    after = library.entry(NAME, folder)
    assert (after.objective, after.bound["value"], after.level) == (551, 551, ENTRY.level)
    assert after.history[:-1] == before.history
    assert after.history[-1]["by"] == "me"
    assert library.index(folder)[NAME] == library.index_row(after)
    assert submissions.faults(after, library.index(folder)[NAME]) == []
    assert submitted(capsys, path, "--library", folder)[0] == 1  # now it is equal


def test_a_new_instance_is_taken_in(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = written(tmp_path, stranger(generator=CALL)), "--library", folder, "--write"
    code, out, _ = submitted(capsys, *args)
    assert code == 0
    assert "instance: new (well-formed, 551 and bound 551, gap 0.00 %, medium)" in out
    found = library.entry("my-rings", folder)
    assert submissions.faults(found, library.index(folder)["my-rings"]) == []
    assert library.names(folder) == ["my-rings", NAME, "rar-tiny-0"]


def test_the_file_of_a_solve_is_accepted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one whose bound is only a claim, which is passed over."""
    found = gs.solve(PROBLEM, "laminar")
    path = written(tmp_path, result_to_dict(found))
    assert "give --name" in submitted(capsys, path, "--library", folder)[2]
    code, out, _ = submitted(capsys, path, "--library", folder, "--name", NAME)
    assert (code, "solution: better (551" in out) == (0, True)
    claim = bound_to_dict(gs.Bound(500, "branch and bound"))
    path = written(tmp_path, {**result_to_dict(found), "bound": claim})
    code, out, _ = submitted(capsys, path, "--name", NAME)
    assert code == 1
    assert "bound: ignored (500 is the solver's claim, without a certificate)" in out


def test_a_library_is_written_to_only_where_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, submission())
    assert "--write: give --library" in submitted(capsys, path, "--write")[2]
    code, _, err = submitted(capsys, path, "--library", tmp_path)
    assert (code, "is no library" in err) == (2, True)


def test_two_checked_claims_that_contradict_each_other_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No file can bring this about; a wrong rule of the verifier could."""
    monkeypatch.setattr(submissions, "verify_bound", lambda problem, bound: None)
    high = written(tmp_path, submission(bound={**ENTRY.bound, "value": 552}))
    with pytest.raises(ValueError, match="551 and bound 552 contradict each other"):
        submissions.judge(submissions.read_submission(high))


def test_an_entry_too_large_is_not_written(folder: Path) -> None:
    known = library.entry("rar-tiny-0", folder)
    large = submissions.replace(known, description="x" * 2**20)
    with pytest.raises(ValueError, match="bytes are more than"):
        submissions.accept(large, folder)
    assert library.entry("rar-tiny-0", folder) == known


# --- any problem, any file -----------------------------------------------------------------------

SMALLEST = {
    row["problem"]: name
    for name, row in sorted(library.index().items(), key=lambda pair: -pair[1]["jobs"])
}


@pytest.mark.parametrize("kind", sorted(SMALLEST))
def test_solutions_of_every_problem_can_be_submitted(kind: str, tmp_path: Path) -> None:
    name = SMALLEST[kind]
    found = library.entry(name)
    data = submission(
        name=name, objective=found.objective, solution=found.best["solution"],
        bound={key: found.proof[key] for key in ("value", "method", "certificate")},  # type: ignore[index]
    )  # fmt: skip
    judged, after = submissions.judge(submissions.read_submission(written(tmp_path, data)))
    assert [one.word for one in judged] == ["equal", "equal"]
    assert after == found
    for part in ("solution", "bound"):
        wrong = written(tmp_path, data | {part: {**data[part], "kind": "other"}})
        with pytest.raises(ValueError, match=r"kind|unknown field"):
            submissions.read_submission(wrong)


ODD = [None, True, -1, 0, 3, 10**30, 0.5, -1e300, "", "x", "1/0", [], [0], {}, {"kind": "area"}]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in nested data; of lists the first places."""
    inner = data.items() if isinstance(data, dict) else enumerate(data[:2])
    nested = [(key, value) for key, value in inner if isinstance(value, (dict, list))]
    own = [(*path, key) for key in (data if isinstance(data, dict) else range(len(data[:2])))]
    return own + [one for key, value in nested for one in places(value, (*path, key))]


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_stands_in_a_file_it_is_judged_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Nothing else than a ValueError, and nothing better than what is known."""
    kind = data.draw(st.sampled_from(sorted(SMALLEST)))
    found = library.entry(SMALLEST[kind])
    file = submission(
        name=found.name, objective=found.objective, problem=found.problem,
        solution=found.best["solution"], bound=dict(found.proof or {}), generator=found.generator,
    )  # fmt: skip
    file["bound"] = {key: file["bound"][key] for key in ("value", "method", "certificate")}
    file = json.loads(json.dumps(file))
    *path, last = data.draw(st.sampled_from(places(file)))
    inner = file
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(st.sampled_from(ODD))
    judged: list[submissions.Judgement] = []
    with suppress(ValueError):
        given = submissions.read_submission(written(tmp_path_factory.mktemp("odd"), file))
        judged, _ = submissions.judge(given)
    assert {one.word for one in judged} <= {"equal", "worse"}
