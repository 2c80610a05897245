"""What people reported of logs in public, on logs of the same forms that are made up here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from called import called
from gangsched.instances.traces import read_auto
from malformed import table

TABLE = table("public_reports")


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("case", TABLE["read"])
def test_a_log_means_what_it_says(case: str, tmp_path: Path) -> None:
    wanted = TABLE["read"][case]
    trace = read_auto(write(tmp_path, wanted["lines"]))
    jobs = [f"{j.id} {j.user or '-'} {j.gpus} {j.release} {j.work}" for j in trace.jobs]
    assert jobs == wanted["jobs"]
    assert dict(trace.report.skipped) == wanted.get("skipped", {})
    assert trace.submitted
    if "limits" in wanted:
        assert [job.limit or 0 for job in trace.jobs] == wanted["limits"]
    if "times" in wanted:
        assert [f"{row.start} {row.end}" for row in trace.rows] == wanted["times"]


@pytest.mark.parametrize("case", TABLE["refused"])
def test_what_is_wrong_is_named(case: str, tmp_path: Path) -> None:
    text, message = TABLE["refused"][case]
    path = write(tmp_path, [text])
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_auto(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("told", TABLE["told"], ids=lambda told: told["case"])
def test_commands_say_what_holds(
    told: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path, told["lines"])
    monkeypatch.chdir(tmp_path)
    code, out, err = called(capsys, *told["call"].split())
    assert (code, "error" in err) == (told.get("code", 0), False)
    for pattern in told["has"]:
        assert re.search(pattern, out), out
    for pattern in told.get("lacks", []):
        assert not re.search(pattern, out), out


@pytest.mark.parametrize("guard", TABLE["guard"], ids=lambda guard: guard["case"])
def test_policies_start_jobs_as_by_hand(guard: dict[str, Any]) -> None:
    jobs = [
        gs.Job(id=f"j{i}", gpus=gpus, release=release, work=work)
        for i, (gpus, release, work) in enumerate(guard["jobs"])
    ]
    instance = gs.Instance(gs.Cluster.of_sizes(guard["nodes"]), jobs)
    length, spread = guard.get("round", 1), guard.get("spread", False)
    for policy, wanted in guard["found"].items():
        run = gs.drive(
            instance, policy, round_length=length, lease=length, overhead=0, spread=spread
        )
        assert [run.records.first.tolist(), run.records.end.tolist()] == wanted, policy


def test_an_exact_answer_does_not_depend_on_the_unit() -> None:
    rows = [(1, 2, 4, 5), (3, 1, 3, 7), (2, 3, 3, 8), (4, 1, 5, 9)]
    found = []
    for unit in (1, 600):
        jobs = [
            gs.DeadlineJob(id=f"j{i}", gpus=g, work=w * unit, rewards=[(d * unit, r)])
            for i, (g, w, d, r) in enumerate(rows)
        ]
        problem = gs.formulations.DeadlineRewards(gs.Instance(gs.Cluster.of_sizes([4]), jobs))
        result = gs.solve_exact(problem, time_limit=20)
        found.append((result.status.value, result.objective))
    assert found == [("optimal", found[0][1])] * 2
