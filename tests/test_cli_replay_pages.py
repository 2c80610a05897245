"""The pages show what `gangsched replay` prints."""

from pathlib import Path

import pytest

from pages import replays
from pages.replays import PHILLY, POLICY, README, RESULTS, TUTORIAL, filled, timeless
from replay_commands import Replay


def shows_what_is_printed(path: Path, replay: Replay, tables: int = 1) -> None:
    def run(*command: str) -> str:
        code, out, err = replay(*command[1:])
        assert (code, err) == (0, "")
        return out

    replays.prepare(Path())
    page = path.read_text("utf-8")
    fresh = filled(page, run)
    assert len(replays.SHOWN.findall(page)) == tables
    wrong = timeless(fresh) != timeless(page)
    assert not wrong, f"run: python docs/measure.py; it prints\n{fresh}"


@pytest.mark.slow
@pytest.mark.parametrize("path", [TUTORIAL, POLICY], ids=lambda path: path.stem)
def test_a_page_shows_what_its_command_prints(path: Path, replay: Replay) -> None:
    shows_what_is_printed(path, replay)


@pytest.mark.slow
def test_the_page_of_philly_shows_what_its_command_prints(replay: Replay, traces: Path) -> None:
    Path("philly.csv.gz").symlink_to(traces / "philly" / "philly.csv.gz")
    shows_what_is_printed(PHILLY, replay)


def test_the_readme_has_its_first_table() -> None:
    readme, table = README.read_text("utf-8"), replays.excerpt(PHILLY.read_text("utf-8"))
    assert f"<!-- {replays.EXCERPT} -->\n{table}\n<!-- end -->" in readme
    assert "smallest-area" in table
    assert len(readme.split()) < 1_000


@pytest.mark.exhaustive
def test_the_results_are_what_their_commands_print(replay: Replay, traces: Path) -> None:
    Path("philly.csv.gz").symlink_to(traces / "philly" / "philly.csv.gz")
    shows_what_is_printed(RESULTS, replay, tables=3)


def test_a_wrong_number_on_a_page_is_seen() -> None:
    page = "```console\ngangsched replay x\n```\n\n```text\nfifo  1.25   0.10 s\n```\n"
    same, other = (
        filled(page, lambda *_, text=text: f"fifo  {text}    10.31 s  \n")
        for text in ("1.25", "1.26")
    )
    assert timeless(same) == timeless(page)
    assert timeless(other) != timeless(page)
