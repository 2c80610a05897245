"""The pages that `docs/measure.py` writes: generated ones are as committed, others run in small."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from layout import ROOT
from measure import PAGES, listed
from pages import DOCS, kept, profiling, put, table, users

CLUSTER = gs.Cluster.uniform(nodes=2, gpus_per_node=8)


def measure(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "measure.py"), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["api", "traces", "baseline"])
def test_a_generated_page_is_what_it_would_be_now(name: str) -> None:
    page = PAGES[name]
    made = importlib.import_module(f"pages.{page.module}").page()
    wrong = made != (DOCS / page.file).read_text("utf-8")
    assert not wrong, f"run: python docs/measure.py {name}"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_there_and_names_its_command(name: str) -> None:
    page = PAGES[name]
    assert callable(importlib.import_module(f"pages.{page.module}").write)
    assert (DOCS / page.data).exists()
    assert name in listed()
    if page.module != "replays":  # whose pages show the commands themselves
        words = " ".join((DOCS / page.file).read_text("utf-8").split())
        assert f"python docs/measure.py {name}`" in words


@pytest.mark.process
def test_an_unknown_page_is_refused_in_one_line() -> None:
    for words, why in ((["api", "apu"], "page 'apu' is not one of api, "), ([], "no page")):
        done = measure(*words)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith(f"measure.py: {why}")
        assert done.stderr.count("\n") == 1
    assert measure("--list").stdout.splitlines()[0].startswith("page    ")


def test_only_what_is_missing_in_the_data_is_run(tmp_path: Path) -> None:
    file, ran = tmp_path / "data.json", list[str]()

    def cell(name: str) -> Any:
        return lambda: ran.append(name) or len(ran)

    assert kept(file, {"a": cell("a"), "b": cell("b")}, version=1)["cells"] == {"a": 1, "b": 2}
    stored = json.loads(file.read_text("utf-8"))
    assert stored == {"version": 1, "cells": {"a": 1, "b": 2}}
    del stored["cells"]["a"]
    file.write_text(json.dumps(stored), "utf-8")
    again = kept(file, {"a": cell("a"), "b": cell("b")}, version=2)
    assert again == {"version": 2, "cells": {"a": 3, "b": 2}}
    assert ran == ["a", "b", "a"]


def test_a_text_is_put_between_its_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- x -->\nold\n<!-- end -->\n<!-- y -->\n<!-- end -->\nB\n", "utf-8")
    put(page, "x", table(["p", "q"], [["a", 1]]))
    put(page, "y", "new")
    assert page.read_text("utf-8") == (
        "# A\n\n<!-- x -->\n| p | q |\n| --- | ---: |\n| a | 1 |\n<!-- end -->\n"
        "<!-- y -->\nnew\n<!-- end -->\nB\n"
    )
    with pytest.raises(RuntimeError, match=r"page\.md has no line <!-- three -->"):
        put(page, "three", "")


@pytest.mark.slow
def test_users_in_small(tmp_path: Path) -> None:
    made = gs.generate.philly_workload(CLUSTER, jobs=60, seed=1, load=1.5)
    text = users.comparison([("some", made)])
    old = (DOCS / PAGES["user-bounds"].file).read_text("utf-8")
    heads, _, *rows = text.partition("\n\n")[0].splitlines()
    assert heads in old.splitlines()
    assert [row.split(" | ")[1] for row in rows] == [*users.POLICIES, "any policy ≥"]
    assert text.rpartition("\n")[2] in old
    text = users.frontiers(made, tmp_path, limits=2, orders=2, rounds=20)
    assert text.partition("\n")[0] in old.splitlines()
    assert {path.name for path in tmp_path.iterdir()} == {
        "user-frontier-wait.png", "user-frontier-stretch.png",
    }  # fmt: skip


@pytest.mark.slow
def test_profiling_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one seed and two policies; the first row is that of the page, but for its means."""
    monkeypatch.setattr(profiling, "SEEDS", range(1))
    monkeypatch.setattr(profiling, "NODES", {"P_MIX2": ((1,), 2)})
    monkeypatch.setattr(profiling, "POLICIES", ("edf", "easy"))
    text = profiling.text()
    assert "| `edf` |" in text
    assert "| P_MIX2, narrow |" in text
    assert text.count("Information: by column") == 2
