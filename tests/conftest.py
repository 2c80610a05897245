"""Which tests run when, hypothesis profiles, and fixtures for every folder of tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import few

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, wherever the tests run
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as for what a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines: a test may not depend on how fast the machine is.
settings.register_profile("dev", deadline=None)
# The same examples each time, of which more would find no more; `deep` draws new ones.
settings.register_profile(
    "ci",
    max_examples=40,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("plain", parent=settings.get_profile("ci"), max_examples=20)
settings.register_profile("deep", parent=settings.get_profile("dev"), max_examples=2_000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

MOST_EXAMPLES = {"plain": 20, "ci": 70}  #: by profile, of tests that say their own number

#: marker and the tests that it is for, by path; `process` and `slow` stand beside the tests
PLACES = {
    "docs": ("test_docs.py", "test_words.py", "reference/"),
    "papers": (
        "papers/",
        "theorems/",
        "analysis/test_reproduce_",
        "analysis/test_gandiva_fair_surplus.py",
    ),
}
#: CPU seconds of a test above which it is listed, and above which a plain one fails the run
LISTED, TOO_LONG = 2.0, 10.0


def pytest_configure(config: pytest.Config) -> None:
    """Tell tests with many seeds whether this is the plain run."""
    few.PLAIN = config.getoption("--hypothesis-profile") == "plain"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by where they stand, and draw fewer examples where they say their own number."""
    for item in items:
        if not item.path.is_relative_to(HERE):  # an example of the package
            item.add_marker("docs")
            continue
        place = item.path.relative_to(HERE).as_posix()
        for name, starts in PLACES.items():
            if place.startswith(starts):
                item.add_marker(name)
    profile = config.getoption("--hypothesis-profile")
    for item in items if profile in MOST_EXAMPLES else ():
        draw_fewer(item, MOST_EXAMPLES[profile])


def draw_fewer(item: pytest.Item, most: int) -> None:
    """Cap the number of examples of a test that says its own."""
    test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples > most:
        test._hypothesis_internal_use_settings = settings(own, max_examples=most)  # type: ignore[union-attr]


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Measure the CPU time of a test."""
    began = cpu()
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", cpu() - began))


def long_tests(reporter: Any) -> list[tuple[float, str, bool]]:
    """CPU seconds and name of the tests that take long, and whether they take too long."""
    marked = {"slow", "process", "papers", "docs", "exhaustive"}
    return sorted(
        (seconds, report.nodeid, seconds > TOO_LONG and not marked & set(report.keywords))
        for outcome in ("passed", "failed")
        for report in reporter.stats.get(outcome, ())
        for name, seconds in report.user_properties
        if name == "cpu" and seconds > LISTED
    )[::-1]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the tests that take long."""
    found = long_tests(terminalreporter)
    if found:
        terminalreporter.section(f"{len(found)} tests above {LISTED:g} s of CPU time")
    for seconds, name, too_long in found:
        rule = f": a plain test may take {TOO_LONG:g} s" if too_long else ""
        terminalreporter.write_line(f"{seconds:6.1f} s  {name}{rule}")


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bound of RAR-DDLS that sees servers: a search of all states proves a tiny optimum."""
    from gangsched.analysis.proofs import makespan

    monkeypatch.setattr(makespan, "MOST_JOBS", 0)
    monkeypatch.setattr(makespan, "contention_bound", makespan.area_bound)


@pytest.fixture(scope="session")
def traces() -> Path:
    """Folder of real job traces, which are not part of the project."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("real traces are not here: no folder ../shared/traces beside the project")
    return folder


# --- commands in this process --------------------------------------------------------------------


@pytest.fixture
def gangsched_(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run a command in this process, in an empty folder."""
    import command_line

    return command_line.runner(tmp_path, monkeypatch, capsys)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Every kind of file that the commands read, and those that they refuse."""
    import command_line

    return command_line.write_files(tmp_path / "files")


@pytest.fixture
def drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run `gangsched replay` in this process, in a folder with the trace log.csv and theirs.py."""
    import replay_commands

    return replay_commands.runner(tmp_path, monkeypatch, capsys)


@pytest.fixture
def replay(drawn: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same without pictures in the report, which take most of the time."""
    import replay_commands

    replay_commands.leave_out_pictures(monkeypatch)
    return drawn
