"""The pages show what `gangsched replay` prints."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from layout import ROOT
from replay_commands import Replay

UPDATE = runpy.run_path(str(ROOT / "docs" / "update_replays.py"))


def shows_what_is_printed(name: str, replay: Replay, tables: int = 1) -> None:
    def run(command: list[str]) -> str:
        code, out, err = replay(*command[1:])
        assert (code, err) == (0, "")
        return out

    UPDATE["prepare"](Path())
    page = (ROOT / name).read_text("utf-8")
    fresh = UPDATE["filled"](page, run)
    assert len(UPDATE["SHOWN"].findall(page)) == tables
    wrong = UPDATE["timeless"](fresh) != UPDATE["timeless"](page)
    assert not wrong, f"run: python docs/update_replays.py; it prints\n{fresh}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [UPDATE["TUTORIAL"], UPDATE["POLICY"]])
def test_a_page_shows_what_its_command_prints(name: str, replay: Replay) -> None:
    shows_what_is_printed(name, replay)


@pytest.mark.slow
def test_the_page_of_philly_shows_what_its_command_prints(replay: Replay, traces: Path) -> None:
    Path("philly.csv.gz").symlink_to(traces / "philly" / "philly.csv.gz")
    shows_what_is_printed(UPDATE["PHILLY"], replay)


def test_the_readme_has_its_first_table() -> None:
    readme, philly = ((ROOT / UPDATE[name]).read_text("utf-8") for name in ("README", "PHILLY"))
    assert UPDATE["excerpted"](readme, philly) == readme
    assert UPDATE["excerpted"](readme.replace("smallest-area", "x"), philly) == readme
    assert len(readme.split()) < 1_000


@pytest.mark.exhaustive
def test_the_results_are_what_their_commands_print(replay: Replay, traces: Path) -> None:
    Path("philly.csv.gz").symlink_to(traces / "philly" / "philly.csv.gz")
    shows_what_is_printed(UPDATE["RESULTS"], replay, tables=3)


def test_notes_on_a_page_are_written_without_its_policies() -> None:
    page = """
```console
gangsched replay x --policies ltgf,themis --seed 0
```

```text
x: 4 jobs
- old

table: old

words: old
```

below: old
"""
    asked: list[str] = []

    def run(command: list[str]) -> str:
        asked.append(" ".join(command))
        return "x: 5 jobs\n- new\n\ntable: new\n\nwords: new\n"

    assert UPDATE["noted"](page, run) == page.replace("x: 4 jobs\n- old", "x: 5 jobs\n- new")
    assert asked == ["replay x --policies fifo --seed 0"]


def test_settings_on_a_page_are_written_but_for_what_policies_know() -> None:
    page = "```console\ngangsched replay x --policies srtf\n```\n\n```text\nx\n\n{}\n```\n"
    made = "Information: {}; seeds: {}; excluded: no job; parameters: 1; certificate: 2."
    fresh = UPDATE["noted"](page.format(made.format("told", "old")),
                            lambda _: f"x\n\n{made.format('none', 'new')}\n")  # fmt: skip
    assert fresh == page.format(made.format("told", "new"))


def test_a_wrong_number_on_a_page_is_seen() -> None:
    page = "```console\ngangsched replay x\n```\n\n```text\nfifo  1.25   0.10 s\n```\n"
    same, other = (
        UPDATE["filled"](page, lambda _, text=text: f"fifo  {text}    10.31 s  \n")
        for text in ("1.25", "1.26")
    )
    assert UPDATE["timeless"](same) == UPDATE["timeless"](page)
    assert UPDATE["timeless"](other) != UPDATE["timeless"](page)
