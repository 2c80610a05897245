"""What the library says of its instances, and that `library verify` sees what is wrong."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import build_library
import gangsched as gs
from brute_force import optimum
from called import called
from gangsched import submissions
from gangsched.formulations.io import PROBLEMS, problem_from_dict
from gangsched.instances import library
from layout import ROOT
from library_instances import rows
from malformed import table

NAMES = library.names()
DATA = build_library.DATA
HERE = ROOT / "tests" / "library"
SCHEMA = json.loads((ROOT / "docs" / "reference" / "library-schema.json").read_text("utf-8"))
#: small ones of RAR-DDLS
FIRST = [f"rar-{sort}-{k}" for sort, number in (
    ("a", 3), ("b", 3), ("heavy", 2), ("philly", 2), ("small", 5), ("contention", 3)
) for k in range(number)]  # fmt: skip
#: replayed at once; the others by the slow test below
QUICK = (
    *FIRST, "rar-tiny-0", "queue-helios-20-load150", "revenue-linear-8",
    "market-nash-10", "market-total-5", "lives-12", "round-20", "shares-8", "flow-tiny-8",
    "slowdown-100-load100", "users-stretch-10", "deadlines-helios-12",
)  # fmt: skip


def listed(capsys: pytest.CaptureFixture[str], *args: Any) -> tuple[int, str, str]:
    return called(capsys, "library", *args)


# --- what there is -------------------------------------------------------------------------------


def test_there_are_instances_of_every_sort() -> None:
    index = library.index()
    assert len(index) >= 200
    assert {*FIRST} <= {*index}
    assert {row["problem"] for row in index.values()} == {*PROBLEMS}
    classes = Counter(row["class"] for row in index.values())
    assert {*classes} == {*library.LEVELS}
    assert min(classes.values()) >= 3
    sizes = [row["jobs"] for row in index.values()]
    assert (min(sizes), max(sizes)) <= (5, 70_000)
    assert max(sizes) == 70_000


def test_files_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in DATA.iterdir() if path.is_file()}
    assert sum(sizes.values()) <= 10 * 2**20
    assert [name for name, size in sizes.items() if size > 2**20] == []


def test_the_index_says_what_the_entries_do() -> None:
    index = library.index()
    assert {path.stem for path in DATA.glob("*.json")} - {"index"} == {*index}
    for name, row in index.items():
        assert library.index_row(library.entry(name)) == row, name


def test_names_come_without_reading_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    read = library.read_json

    def noted(path: Any) -> Any:
        seen.append(Path(path).name)
        return read(path)

    monkeypatch.setattr(library, "read_json", noted)
    library.names()
    assert seen == [library.INDEX]
    library.entry("rar-tiny-0")
    assert seen == [library.INDEX] * 2 + ["rar-tiny-0.json"]


def test_each_instance_has_the_call_that_the_build_makes() -> None:
    made = {name: (family, arguments, seed) for name, family, arguments, seed in rows()}
    assert sorted(made) == NAMES
    for name, (family, arguments, seed) in made.items():
        call = {"family": family, "arguments": arguments, "seed": seed}
        assert library.entry(name).generator == call, name


@pytest.mark.parametrize("kind", sorted(PROBLEMS))
def test_entries_follow_the_schema(kind: str) -> None:
    check = jsonschema.Draft202012Validator({"$ref": "#/$defs/entry", "$defs": SCHEMA["$defs"]})
    for name, row in library.index().items():
        if row["problem"] == kind:
            data = json.loads(library.path_of(name).read_text("ascii"))
            assert [error.message for error in check.iter_errors(_without_columns(data))] == []


def _without_columns(data: Any) -> Any:
    """The same without long lists, about which the schema says nothing."""
    for part in ("problem", "best"):
        inner = data[part] and data[part].get("solution" if part == "best" else "instance")
        for key, value in (inner or {}).items():
            inner[key] = value[:2] if isinstance(value, list) else value
    return data


def test_the_schema_sees_what_is_wrong() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads((DATA / library.INDEX).read_text("ascii")), SCHEMA)
    data = json.loads(library.path_of("rar-tiny-0").read_text("ascii"))
    jsonschema.validate(data, SCHEMA)
    for wrong in ({"class": "nice"}, {"extra": 1}, {"history": []}, {"sha256": "x"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data | wrong, SCHEMA)


# --- what holds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_claims_hold(name: str) -> None:
    assert submissions.faults(library.entry(name), library.index()[name]) == []


@pytest.mark.slow
def test_all_claims_hold(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = listed(capsys, "verify")
    assert out.splitlines()[-1].startswith(f"{len(NAMES)} instances replayed in ")
    assert (code, ": all hold" in out) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [f"rar-contention-{k}" for k in range(3)])
def test_a_claim_is_what_exhaustive_search_gives(name: str) -> None:
    """And it is no mere claim: the bound has a certificate."""
    found = library.entry(name)
    assert (found.claim, found.bound["certificate"]["kind"]) == (None, "search")
    assert optimum(problem_from_dict(found.problem)) == found.objective == found.bound["value"]


def test_a_large_instance_is_made_by_its_generator() -> None:
    found = library.entry("flow-10000")
    assert found.problem is found.best["solution"] is None
    problem = gs.problem("flow-10000")
    assert len(problem.jobs) == found.jobs == 10_000
    assert submissions.problem_hash(problem) == found.sha256


SMALL = library.entry("rar-small-1")  # proven, so that nobody will improve it
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "objective": ({"best": {**SMALL.best, "objective": 550}}, "the solution is worth 551"),
    "solution": (
        {"best": {**SMALL.best, "solution": library.entry("rar-small-4").best["solution"]}},
        "best: ",
    ),
    "hash of the solution": ({"best": {**SMALL.best, "sha256": "0" * 64}}, "the solution's hash"),
    "bound": ({"proof": {**SMALL.proof, "value": 552}}, "the certificate proves 551"),  # type: ignore[dict-item]
    "claim": ({"claim": {"value": 552, "method": "mine"}}, "wrong side of 551"),
    "hash": ({"sha256": "0" * 64}, "sha256 is not the problem's"),
    "generator": ({"generator": {**SMALL.generator, "seed": 2}}, "makes another problem"),  # type: ignore[dict-item]
    "problem": ({"problem": library.entry("rar-small-4").problem}, "sha256"),
    "class": ({"level": "hard"}, "by the rule it is 'toy'"),
    "jobs": ({"jobs": 17}, "jobs=17, but there are 10"),
    "formulation": ({"formulation": "irmp"}, "the problem is 'rar-ddls'"),
    "sense": ({"sense": "maximise"}, "formulation="),
    "history": ({"history": [{**SMALL.history[0], "objective": 700}]}, "history: the last line"),
    "worse later": (
        {"history": [{**SMALL.history[0], "objective": 500}, *SMALL.history]}, "is worse than 500",
    ),
    "malformed": ({"best": {}}, "KeyError"),
    "foreign code": (
        {"best": {**SMALL.best, "solution": None, "call": {"solver": "os:system", "seed": 0}}},
        "call: solver='os:system' is not one of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_hold_is_seen(what: str) -> None:
    change, reason = WRONG[what]
    assert any(reason in text for text in submissions.faults(replace(SMALL, **change)))


@pytest.mark.parametrize(
    ("change", "reason"),
    table("refused_values")["another_format_is_refused"],
)
def test_another_format_is_refused(change: dict[str, Any], reason: str) -> None:
    data = library.entry_to_dict(SMALL)
    with pytest.raises(ValueError, match=reason):
        library.entry_from_dict(SMALL.name, data | change)
    del data["edition"]
    with pytest.raises(ValueError, match=r"^entry: field 'edition' is missing$"):
        library.entry_from_dict(SMALL.name, data)


def test_verify_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("rar-tiny-0", SMALL.name):
        submissions.accept(library.entry(name), tmp_path)
    args = "verify", "--library", tmp_path
    code, out, err = listed(capsys, *args)
    assert (code, err) == (0, "")
    assert out.startswith("2 instances replayed in ")
    path = tmp_path / "rar-small-1.json"
    path.write_text(path.read_text().replace('"value":551', '"value":552'))
    code, out, _ = listed(capsys, *args)
    assert code == 1
    assert "rar-small-1: InvalidCertificate: bound 552 (configuration lp): the certificate" in out
    assert out.splitlines()[-1].endswith(": 1 wrong")
    path.write_text("{")
    assert "rar-small-1: " in listed(capsys, *args)[1]
    assert listed(capsys, "verify", "rar-tiny-0", "--library", tmp_path)[0] == 0


# --- builds --------------------------------------------------------------------------------------


def test_a_build_that_finds_nothing_better_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = library.entry("rar-tiny-0")
    row = next(row for row in rows() if row[0] == "rar-tiny-0")
    assert build_library.build(row) == before
    monkeypatch.setattr(build_library, "DATA", tmp_path)
    fresh = build_library.build(row)
    assert (fresh.objective, fresh.bound, fresh.sha256) == (
        before.objective, before.bound, before.sha256,
    )  # fmt: skip
    worse = replace(fresh, best={**fresh.best, "objective": fresh.objective + 1})
    again = build_library.merged(fresh, worse)
    assert len(again.history) == len(worse.history) + 1
    assert again.objective == fresh.objective


def test_the_class_follows_its_rule() -> None:
    slow = {"solver": "exact", "objective": 10, "seconds": 2.0}
    list_ = {"solver": "list", "objective": 11, "seconds": 0.1}
    cases: tuple[tuple[float, float, list[dict[str, Any]], str], ...] = (
        (10, 10, [{**slow, "seconds": 0.9}], "toy"),
        (10, 10, [slow, {**list_, "objective": 10}], "easy"),
        (10, 10, [slow, list_], "medium"),
        (100, 98, [], "hard"),
        (100, 97, [], "open"),
        (0, 1, [], "open"),
        (1.0, 1.0 - 1e-9, [{**slow, "objective": 1.0}], "medium"),
        (10**9, 10**9 - 1, [slow], "hard"),
    )
    for objective, bound, found, level in cases:
        assert library.level_of(objective, bound, found) == level


# --- commands ------------------------------------------------------------------------------------


def test_list_shows_all_or_some(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = listed(capsys, "list")
    assert (code, err) == (0, "")
    assert all(f"\n{name} " in out for name in NAMES)
    assert f"{len(NAMES)} instances: " in out
    some = "list", "--problem", "rar_ddls", "--class", "easy", "--json", "-"
    code, out, err = listed(capsys, *some)
    found = json.loads(out)
    assert code == 0
    assert "rar-a-0" in err
    assert {(row["problem"], row["class"]) for row in found.values()} == {("rar-ddls", "easy")}
    code, _, err = listed(capsys, "list", "--class", "harrd")
    assert (code, "did you mean 'hard'?" in err) == (2, True)


def test_show_says_how_it_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = listed(capsys, "show", "rar-small-1")
    assert (code, err) == (0, "")
    for text in (
        "class: toy: proven", "best known: 551 (laminar", "bound: 551 (configuration lp), ",
        "generator: rings-of-sizes(jobs=10, sizes=[4, 8], seed=3)", "by laminar", "gap: 0.00 %",
        "Information: all solvers know the whole instance; seeds: 3 of the instance, 0 of solvers",
    ):  # fmt: skip
        assert text in out
    assert "claimed, without a certificate" in listed(capsys, "show", "revenue-linear-5")[1]
    assert "too long for a file" in listed(capsys, "show", "flow-10000")[1]
    out = listed(capsys, "show", "rar-small-1", "--json", "-")[1]
    assert json.loads(out) == json.loads(library.path_of("rar-small-1").read_text("ascii"))
    code, _, err = listed(capsys, "show", "rar-smal-1")
    assert (code, "did you mean 'rar-small-1'?" in err) == (2, True)


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = listed(capsys)
    assert code == 0
    for name in ("list", "show", "verify", "submit", "challenge"):
        assert f"\n  {name} " in out
    assert "..." not in out.split("Commands:")[1]


def test_unknown_name() -> None:
    with pytest.raises(KeyError, match=f"named instance 'rar-z' is not one of {len(NAMES)}"):
        library.entry("rar-z")


# --- pages ---------------------------------------------------------------------------------------


def test_the_page_s_classes_and_example_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "reference" / "library.md").read_text("utf-8")
    for level, rule in library.LEVELS.items():
        assert f"| {level} | {rule} |" in text
    example = text.partition("```json\n")[2].partition("```")[0]
    jsonschema.validate(json.loads(example), SCHEMA)
