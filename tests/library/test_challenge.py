"""`gangsched library challenge`: it shows what beats the best known values."""

from pathlib import Path

import pytest

from called import called
from gangsched import submissions
from gangsched.instances import library

EASY, BEATEN = "flow-tiny-5", "makespan-tiny-8"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library of two instances: one is proven, of the other a list and a weak bound are known."""
    submissions.accept(library.entry(EASY), tmp_path)
    known = library.entry(BEATEN)
    problem = submissions.problem_of(known)
    listed = submissions.PROBLEMS["completion-time"].solvers["arrival"](problem, seed=0)
    best = {**known.best, "objective": listed.objective,
            "solution": submissions.solution_to_dict(listed.solution)}  # fmt: skip
    weaker = {
        **(known.proof or {}),
        "value": known.bound["value"] - 1,
    }  # the certificate proves more
    submissions.accept(submissions.replace(known, best=best, proof=weaker), tmp_path)
    return tmp_path


def challenged(
    capsys: pytest.CaptureFixture[str], folder: Path, *args: object
) -> tuple[int, list[str]]:
    code, out, err = called(capsys, "library", "challenge", "--library", folder, *args)
    assert err == ""
    return code, out.splitlines()


def test_what_is_known_is_not_beaten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = challenged(capsys, folder, EASY)
    assert code == 0
    assert lines[0].startswith("1 instance solved in ")
    assert lines[0].endswith(": none is beaten")


def test_what_is_beaten_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = challenged(capsys, folder)
    assert code == 1
    assert lines[0].startswith(f"{BEATEN}: solution: better (33497, known is 33499")
    assert lines[1].startswith(f"{BEATEN}: bound: better (33497, known is 33496")
    assert lines[2].startswith("2 instances solved in ")
    assert lines[2].endswith(": 1 beaten")


def test_a_text_draws_some(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = library.names()
    draws = [submissions.drawn(names, 10, text) for text in ("one", "one", "other")]
    assert draws[0] == draws[1] != draws[2]
    assert len(set(draws[0])) == 10
    assert set(draws[0]) <= set(names)
    drawn = submissions.drawn([EASY, BEATEN], 1, "x")
    code, lines = challenged(capsys, folder, "--some", 1, "--seed", "x")
    assert (code == 1) == (drawn == [BEATEN])
    assert lines[-1].startswith("1 instance solved")


@pytest.mark.parametrize("seconds", ["0", "-3"])
def test_a_limit_that_is_not_positive_is_refused(
    seconds: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = "library", "challenge", "--library", folder, "--seconds", seconds
    code, out, err = called(capsys, *args)
    assert (code, out) == (2, "")
    assert f"library challenge: seconds={float(seconds)} is not positive" in err
