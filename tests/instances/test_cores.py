"""Cores that a process may use: affinity, and control groups of both versions."""

import ast
import os
from pathlib import Path

import pytest

from gangsched.instances import cores as counting
from gangsched.instances.cores import cores

ROOT = Path(__file__).parents[2]


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system with eight cores and files of its own."""
    monkeypatch.setattr(counting, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(counting, "LIMITS", tmp_path / "limits")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    return tmp_path


def write(system: Path, groups: str, **files: str) -> None:
    (system / "groups").write_text(groups)
    for name, text in files.items():
        path = system / "limits" / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_without_control_groups_it_is_the_affinity(
    system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cores() == 8
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("max 100000\n", 8), ("200000 100000\n", 2), ("150000 100000\n", 2), ("10000 100000\n", 1),
        ("1600000 100000\n", 8), ("0 100000\n", 1), ("nonsense\n", 8), ("1 0\n", 8),
    ],
)  # fmt: skip
def test_version_2(system: Path, text: str, found: int) -> None:
    write(system, "0::/a/b\n", a__b__cpu_DOT_max=text)
    assert cores() == found


def test_the_tightest_of_a_group_and_those_above_it_counts(system: Path) -> None:
    write(system, "0::/a/b\n", a__b__cpu_DOT_max="500000 100000", a__cpu_DOT_max="300000 100000")
    assert cores() == 3
    write(system, "0::/a/b\n", cpu_DOT_max="200000 100000")  # as a container sees its own
    assert cores() == 2
    write(system, "0::/another/containers\n")
    assert cores() == 2


@pytest.mark.parametrize(("quota", "found"), [("-1", 8), ("200000", 2), ("210000", 3)])
def test_version_1(system: Path, quota: str, found: int) -> None:
    groups = "5:memory:/m\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/s\n"
    names = ("cpu__docker__x__cpu_DOT_cfs_quota_us", "cpu__docker__x__cpu_DOT_cfs_period_us")
    write(system, groups, **dict(zip(names, (quota + "\n", "100000\n"), strict=True)))
    assert cores() == found


def test_nobody_counts_the_machine_s_cores() -> None:
    places = ("instances", "formulations", "solvers", "analysis", "package", "tests", "docs")
    files = [path for place in places for path in (ROOT / place).rglob("*.py")]
    counted = []
    for path in [ROOT / "run.py", *files]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "cpu_count":
                counted.append(path.relative_to(ROOT).as_posix())
    assert counted == ["instances/cores.py"]
