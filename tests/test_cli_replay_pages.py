"""The pages show what `gangsched replay` prints."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from called import called
from pages import replays
from pages.replays import PHILLY, POLICY, QUESTIONS, README, RESULTS, TUTORIAL, filled, timeless

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return partial(called, capsys)


def shows_what_is_printed(path: Path, command: Run, tables: int = 1) -> None:
    def run(*words: str) -> str:
        code, out, err = command(*words)
        assert (code, err) == (0, "")
        return out

    replays.prepare(Path())
    page = path.read_text("utf-8")
    fresh = filled(page, run)
    assert len(replays.SHOWN.findall(page)) == tables
    wrong = timeless(fresh) != timeless(page)
    assert not wrong, f"run: python docs/measure.py; it prints\n{fresh}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "tables"),
    [(TUTORIAL, 1), (POLICY, 1), (QUESTIONS, 4)],
    ids=lambda it: getattr(it, "stem", ""),
)
def test_a_page_shows_what_its_commands_print(path: Path, tables: int, command: Run) -> None:
    shows_what_is_printed(path, command, tables)


@pytest.mark.slow
def test_the_page_of_philly_shows_what_its_command_prints(command: Run, traces: Path) -> None:
    Path("philly.csv.gz").symlink_to(traces / "philly" / "philly.csv.gz")
    shows_what_is_printed(PHILLY, command)


def test_the_readme_has_its_first_table() -> None:
    readme, table = README.read_text("utf-8"), replays.excerpt(PHILLY.read_text("utf-8"))
    assert f"<!-- {replays.EXCERPT} -->\n{table}\n<!-- end -->" in readme
    assert "smallest-area" in table
    assert len(readme.split()) < 1_000


@pytest.mark.exhaustive
def test_the_results_are_what_their_commands_print(command: Run, traces: Path) -> None:
    Path("philly.csv.gz").symlink_to(traces / "philly" / "philly.csv.gz")
    shows_what_is_printed(RESULTS, command, tables=3)


def test_a_wrong_number_on_a_page_is_seen() -> None:
    page = "```console\ngangsched replay x\n```\n\n```text\nfifo  1.25   0.10 s\n```\n"
    same, other = (
        filled(page, lambda *_, text=text: f"fifo  {text}    10.31 s  \n")
        for text in ("1.25", "1.26")
    )
    assert timeless(same) == timeless(page)
    assert timeless(other) != timeless(page)
