"""Tables of speeds: three forms, what is refused, and Gavel's jobs with them."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from called import called
from command_line import assert_refused
from gangsched.instances.traces import read_gavel
from gangsched.instances.traces.speeds import read_speeds

THROUGHPUTS = {
    "v100": {"('A (b 8)', 1)": {"null": 4.0, "('B', 1)": [3, 0.1]}, "('A (b 8)', 2)": {"null": 6}},
    "k80": {"('A (b 8)', 1)": {"null": 1.0}, "('A (b 8)', 2)": {"null": 0.0}},
    "k80_unconsolidated": {"('A (b 8)', 2)": {"null": 5.0}},
}


def save(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_gavels_file_tells_speeds_by_gang_without_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps(THROUGHPUTS).encode()))
    table = read_speeds(path)
    assert table.models == ("v100", "k80")
    assert table.of("A (b 8)", 1) == {"v100": 4.0, "k80": 1.0}
    assert table.of("A (b 8)", 2) == {"v100": 6.0, "k80": 0.0}
    assert (table.of("A (b 8)", 3), table.of("B", 1)) == (None, None)


def test_a_csv_may_tell_speeds_of_some_gangs(tmp_path: Path) -> None:
    lines = "job_type,model,speed,gpus", "A,k80,1,", "A,v100,4,", "A,v100,9,2", '"B, b",k80,2,1'
    table = read_speeds(save(tmp_path / "s.csv", "\n".join(lines)))
    assert table.of("A", 1) == {"k80": 1.0, "v100": 4.0}
    assert table.of("A", 2) == {"v100": 9.0}
    assert (table.of("B, b", 1), table.of("B, b", 2)) == ({"k80": 2.0}, None)


def test_json_by_type(tmp_path: Path) -> None:
    table = read_speeds(save(tmp_path / "s.json", '{"A": {"k80": 1, "v100": 0}}'))
    assert table.of("A", 7) == {"k80": 1.0, "v100": 0.0}


BAD = {
    "empty": ("", "line 1: the file is empty"),
    "no rows": ("job_type,model,speed\n", "there are no speeds in it"),
    "column": ("job_type,speed\nA,1\n", "line 1: column 'model' occurs 0 times"),
    "negative": ("job_type,model,speed\nA,k80,-1\n", "line 2: speed=-1 is below 0"),
    "text": ("job_type,model,speed\nA,k80,fast\n", "line 2: speed='fast' is not a number"),
    "unknown": ("job_type,model,speed\nA,k80,\n", "line 2: speed='' is not a number"),
    "infinite": ("job_type,model,speed\nA,k80,inf\n", "line 2: speed=inf is not finite"),
    "twice": ("job_type,model,speed\nA,k80,1\nA,k80,2\n", "line 3: 'A' on 'k80' occurs twice"),
    "no model": ("job_type,model,speed\nA,,1\n", "line 2: model='' is empty, every row has one"),
    "gang": ("job_type,model,speed,gpus\nA,k80,1,x\n", "line 2: gpus='x' is not an integer"),
    "not json": ("{", "line 1, column 2: not JSON"),
    "list": ("[]", "the file is not a mapping"),
    "flat": ('{"A": 4}', "'A' is not a mapping"),
    "nothing": ("{}", "there are no speeds in it"),
    "json text": ('{"A": {"k80": "1"}}', "'A', 'k80': speed='1' is not a number"),
    "json negative": ('{"A": {"k80": -1}}', "'A', 'k80': speed=-1 is not >= 0"),
    "alone": ('{"k80": {"(\'A\', 1)": {}}}', "'k80', \"('A', 1)\": speed=None is not a number"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = save(tmp_path / "speeds", text)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_speeds(path)


# --- Gavel's jobs ---------------------------------------------------------------------------------


def line(job_type: str = "A", steps: int = 40, gpus: int = 1, arrival: int = 0) -> str:
    row = [job_type, "run", "folder", "-n", 1, steps, gpus, 1, "-1.0", arrival]
    return "\t".join(map(str, row)) + "\n"


CSV = "job_type,model,speed\nA,v100,4\nA,k80,1\nA,m60,0\nB,k80,2\n"


def test_jobs_get_their_speeds_relative_to_their_run_times(tmp_path: Path) -> None:
    speeds = save(tmp_path / "s.csv", CSV)
    trace = save(tmp_path / "a.trace", line())
    (job,) = read_gavel(trace, speeds=speeds).jobs
    assert (job.work, dict(job.speeds)) == (10, {"v100": 1.0, "k80": 0.25})
    (job,) = read_gavel(trace, speeds=speeds, model="k80").jobs
    assert (job.work, dict(job.speeds)) == (40, {"v100": 4.0, "k80": 1.0})
    made = read_gavel(trace, speeds=speeds, steps_per_second={"A": 2.0})
    assert (made.jobs[0].work, dict(made.jobs[0].speeds)) == (20, {"v100": 2.0, "k80": 0.5})
    assert made.report.notes == ("speeds on v100, k80, m60 by s.csv",)


def test_types_without_speeds_are_refused(tmp_path: Path) -> None:
    speeds = save(tmp_path / "s.csv", CSV)
    for job, options, message in (
        ("B", {}, "line 1: steps_per_second of 'B' on 1 GPUs is 0.0, not above 0"),
        ("C", {}, "line 1: steps_per_second has no job type 'C' on 1 GPUs"),
        ("C", {"steps_per_second": {"C": 1}}, "line 1: speeds has no job type 'C' on 1 GPUs"),
        ("A", {"model": "p4"}, "model='p4' is not one of v100, k80, m60"),
    ):
        trace = save(tmp_path / "a.trace", line(job))
        with pytest.raises(ValueError, match=re.escape(message)):
            read_gavel(trace, speeds=speeds, **options)  # type: ignore[arg-type]
    idle = save(tmp_path / "t.csv", "job_type,model,speed\nA,v100,0\n")
    with pytest.raises(ValueError, match="speeds of 'A' on 1 GPUs are 0 on all models"):
        read_gavel(save(trace, line()), speeds=idle, steps_per_second={"A": 1})


Replay = Callable[..., tuple[int, str, str]]


@pytest.fixture
def replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Replay:
    """Run the command on two jobs of Gavel's on a K80 and a V100."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    save(Path("a.trace"), line(steps=4000) + line("B", steps=4000))
    save(Path("s.csv"), CSV + "B,v100,2\n")
    save(Path("log.csv"), "job_id,submission_time,duration,num_gpu\na,2017-10-07 00:00:00,9,1\n")

    fixed = ("--nodes", "k80:1x1,v100:1x1", "--no-report")
    return lambda *args: called(capsys, "replay", *args, *fixed)


@pytest.mark.parametrize("reader", ["auto", "gavel"])
def test_the_command_line_takes_a_file(replay: Replay, reader: str) -> None:
    """a has 1,000 s of work on the V100, b 2,000 on either; AlloX gives each its own."""
    code, out, err = replay(
        "a.trace",
        "--reader",
        reader,
        "--speeds",
        "s.csv",
        "--policies",
        "allox",
        "--json",
        "o.json",
    )
    assert (code, err) == (0, "")
    assert "speeds on v100, k80, m60 by s.csv, run times on v100" in out
    (row,) = json.loads(Path("o.json").read_text())["rows"]
    assert row["measures"]["makespan"] == 2000, sorted(row["measures"])
    assert row["measures"]["mean_completion"] == 1500


def test_bad_files_give_one_line(replay: Replay) -> None:
    save(Path("bad.csv"), "job_type,model,speed\nA,v100,fast\n")
    for args, message in (
        (("a.trace", "--speeds", "bad.csv"), "bad.csv: line 2: speed='fast' is not a number"),
        (("a.trace", "--speeds", "none.csv"), "speeds 'none.csv' is not one of table1, and there"),
        (("log.csv", "--speeds", "s.csv"), "--speeds s.csv: reader 'itp' names no types"),
    ):
        assert_refused(replay(*args), message)


def test_gavels_own_trace(traces: Path) -> None:
    folder = traces / "gavel_msr"
    made = read_gavel(
        traces / "gavel_physical" / "max_min_fairness.trace",
        speeds=folder / "simulation_throughputs.json.gz",
    )
    assert len(made.jobs) == 96
    assert all({"v100", "p100"} <= job.speeds.keys() for job in made.jobs)
    assert {model for job in made.jobs for model in job.speeds} == {"v100", "p100", "k80"}
    assert all(job.speeds["v100"] == 1 for job in made.jobs)
