"""`gangsched replay --waits`: the table, the words below it, and the JSON file."""

import json
from pathlib import Path

import pytest

from gangsched import Cluster, Instance, Job, drive
from gangsched.analysis.driving.waits import longest_waits
from gangsched.analysis.proofs.gpu_prices import GpuPrices
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.cli import main
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.formulations.irmp import reduced_problem
from gangsched.io import save
from gangsched.solvers import Bound, Fifo, Srtf

JOBS = [("wide", 4, 600, 0), ("narrow", 1, 120, 60), ("late", 4, 60, 120), ("last", 2, 60, 180)]
INSTANCE = Instance(
    Cluster.of_sizes([2, 2]), [Job(id=i, gpus=g, work=w, release=r) for i, g, w, r in JOBS]
)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save("jobs.json", INSTANCE)
    return tmp_path / "out.json"


def replay(*args: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["replay", *map(str, args), "--no-report"])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_each_policy_has_its_longest_waits(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("jobs.json", "--policies", "fifo,srtf", "--waits", 2, "--json", out) == 0
    data = json.loads(out.read_text())["waits"]
    bound = Bound(**data["bound"])
    verify_bound(CompletionTime(INSTANCE), bound)
    for name, policy in (("fifo", Fifo()), ("srtf", Srtf())):
        expected = longest_waits(drive(INSTANCE, policy), 2, prices=GpuPrices.of(bound))
        assert data["rows"][name] == [
            {
                "job": INSTANCE.jobs[wait.job].id,
                "seconds": wait.seconds,
                "reasons": dict(wait.reasons),
                "spells": [list(spell) for spell in wait.spells],
                "price": wait.price,
                "at_once": wait.at_once,
                "as_run": wait.as_run,
            }
            for wait in expected
        ]
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if line.startswith(("fifo  ", "srtf  "))]
    waits = [row for row in rows if row[1] in dict.fromkeys(name for name, *_ in JOBS)]
    assert [row[:2] for row in waits] == [
        [name, row["job"]] for name, own in data["rows"].items() for row in own
    ]
    assert "no room: jobs that came before it had the GPUs" in shown
    assert "GPU price: by how many seconds" in shown


def test_nobody_who_did_not_ask_is_told(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("jobs.json", "--policies", "fifo", "--json", out) == 0
    assert "waits" not in json.loads(out.read_text())
    assert "GPU price:" not in capsys.readouterr().out


def test_jobs_with_utilities_have_no_prices(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save("problem.json", reduced_problem(5))
    assert replay("problem.json", "--policies", "online-revenue", "--waits", 1, "--json", out) == 0
    data = json.loads(out.read_text())["waits"]
    assert data["bound"] is None
    assert {wait["price"] for own in data["rows"].values() for wait in own} <= {None}
    assert "GPU price:" not in capsys.readouterr().out


def test_a_number_that_is_none(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("jobs.json", "--policies", "fifo", "--waits", 0) == 2
    assert "--waits" in capsys.readouterr().err
