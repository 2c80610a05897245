"""`gangsched doctor`, and `gangsched solve` with other backends."""

import json
import secrets
from importlib.metadata import version
from pathlib import Path

import pytest

from called import called
from gangsched.cli import doctor
from gangsched.cli.compare import _parsed


def test_a_table_and_the_same_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = called(capsys, "doctor", "--json", str(tmp_path / "found.json"))
    found = json.loads((tmp_path / "found.json").read_text())
    assert code == 0
    assert found["solver"]["highs"] == version("highspy")
    assert found["solver"]["cp-sat"] == version("ortools")
    assert found["dependency"]["numpy"] == version("numpy")
    assert set(found) >= {"program", "dependency", "solver", "checker", "machine code"}
    assert all(name in out for rows in found.values() for name in rows)


def test_what_is_missing_is_no_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    required = ["ortools>=9.15; extra == 'cpsat'", "no-such>=1", "ruff; extra == 'dev'"]
    monkeypatch.setattr(doctor, "_metadata", lambda: required)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    code, out, _ = called(capsys, "doctor", "--json", "-")
    found = json.loads(out)
    assert code == 0
    assert found["dependency"] == {"no-such": None}
    assert list(found["extra"]) == ["ortools"]
    assert found["checker"] == {"viprchk": None}


def test_machine_code_is_warm_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from gangsched.instances import compiled
    from gangsched.solvers.ours import pool_core

    def add(x: int) -> int:
        return x + 1

    add.__qualname__ = f"add_{secrets.token_hex(4)}"  # nobody has compiled it
    made = compiled.tiered(seconds=1)(add)
    monkeypatch.setattr(pool_core, doctor.KERNEL[1], made)
    assert doctor._kernels() == "cold: gangsched warm-up compiles it once"
    made.machine_code(1)
    again = compiled.tiered(seconds=1)(add)
    monkeypatch.setattr(pool_core, doctor.KERNEL[1], again)
    assert doctor._kernels() == "warm"


@pytest.mark.process
@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("backend", "method"), [("highs", "branch and bound"), ("cp-sat", "cp-sat")]
)
def test_solve_by_a_backend(capsys: pytest.CaptureFixture[str], backend: str, method: str) -> None:
    args = "--solver", "exact", "--backend", backend, "--option", "threads=1"
    code, out, _ = called(capsys, "solve", "rar-contention-0", *args)
    assert code == 0
    assert f"not verified: 4 ({method})" in out


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("0.5", 0.5), ("true", True), ("off", "off"), ("[1]", "[1]")]
)
def test_values_of_options(text: str, value: object) -> None:
    assert _parsed(text) == value
