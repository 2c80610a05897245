"""The Gavel reader on files made here in both documented forms, then on the real samples."""

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gangsched.instances import Job
from gangsched.instances.traces import read_gavel
from log_files import text
from malformed import table

A, B = "A (batch size 8)", "B"
SPEEDS = {A: 4.0, B: 0.5}
THROUGHPUTS = {
    "v100": {
        f"('{A}', 1)": {"null": 4.0, f"('{B}', 1)": [3.0, 0.1]},
        f"('{A}', 2)": {"null": 8.0},
        "('B', 1)": {"null": 0.5},
        "('B', 4)": {"null": 0.0},
    },
    "k80": {f"('{A}', 1)": {"null": 1.0}, "('C', 2)": {"null": 1.0}},
}


def seven(job_type: str = A, steps: object = 40, arrival: object = 0, gpus: object = 1) -> str:
    """A line of the published traces."""
    return f"{job_type}\tcd %s/x && python3 main.py \t-n\t1\t{steps}\t{arrival}\t{gpus}"


def ten(
    job_type: str = A,
    steps: object = 40,
    arrival: object = 0,
    gpus: object = 1,
    priority: object = 1,
) -> str:
    """A line that today's program reads."""
    line = f"{job_type}\tpython3 main.py\tfolder\t-n\t1\t{steps}\t{gpus}\t{priority}"
    return f"{line}\t-1.000000\t{arrival}"


@pytest.mark.parametrize("form", [seven, ten])
def test_steps_become_seconds(tmp_path: Path, form: Any) -> None:
    lines = [
        form(arrival="100.000000", gpus=4),
        form(B, arrival="50.75"),
        form(B, steps=1, arrival=100),
        form(steps=41, arrival=100.5),
    ]
    trace = read_gavel(text(tmp_path / "a.trace", *lines), steps_per_second=SPEEDS)
    assert trace.jobs == (
        Job(id="row2", gpus=1, release=0, work=80),
        Job(id="row1", gpus=4, release=50, work=10),
        Job(id="row3", gpus=1, release=50, work=2),
        Job(id="row4", gpus=1, release=50, work=11),
    )
    assert (trace.users, trace.origin, trace.name) == ((), None, "a")
    assert str(trace.report) == "4 rows read, 4 jobs; out of order: 1 [line 2], sorted"


def test_twelve_columns_have_run_times(tmp_path: Path) -> None:
    line = f"{A}\tpython3 main.py\tfolder\t-n\t1\t40\t2\taccordion\t3\t-1.000000\t720.5\t4825"
    path = text(tmp_path / "x.trace", line)
    wanted = Job(id="row1", gpus=2, work=721, weight=3.0)
    assert read_gavel(path).jobs == (wanted,)
    assert read_gavel(path, steps_per_second=SPEEDS).jobs[0].work == 10
    (tmp_path / "t.csv").write_text(f"job_type,model,speed\n{A},v100,4\n{A},k80,1\n")
    (job,) = read_gavel(path, speeds=tmp_path / "t.csv").jobs
    assert (job.work, dict(job.speeds)) == (721, {"v100": 1.0, "k80": 0.25})


def test_priorities_become_weights(tmp_path: Path) -> None:
    path = text(tmp_path / "x.trace", ten(priority=2.5), ten())
    assert [job.weight for job in read_gavel(path, steps_per_second=SPEEDS).jobs] == [2.5, 1.0]


def test_speeds_may_be_a_csv(tmp_path: Path) -> None:
    path = text(tmp_path / "x.trace", seven(), seven(B))
    speeds = text(tmp_path / "s.csv", "steps_per_second,job_type", f"4,{A}", "0.5,B")
    assert [job.work for job in read_gavel(path, steps_per_second=speeds).jobs] == [10, 80]


def test_speeds_may_be_the_throughputs_of_a_model(tmp_path: Path) -> None:
    path = text(tmp_path / "x.trace", ten(), ten(gpus=2), ten(B))
    speeds = tmp_path / "simulation_throughputs.json.gz"
    speeds.write_bytes(gzip.compress(json.dumps(THROUGHPUTS).encode()))
    jobs = read_gavel(path, steps_per_second=speeds).jobs
    assert [job.work for job in jobs] == [10, 5, 80]
    one = read_gavel(text(path, ten()), steps_per_second=str(speeds), model="k80")
    assert [job.work for job in one.jobs] == [40]


def test_a_job_without_gpus_needs_no_speed(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(THROUGHPUTS))
    path = text(tmp_path / "x.trace", ten(gpus=0), ten())
    assert read_gavel(path, steps_per_second=tmp_path / "t.json").report.skipped == {"no GPUs": 1}


BAD = table("logs")["gavel"]


@pytest.mark.parametrize(("lines", "message"), BAD.values(), ids=BAD)
def test_malformed_traces_are_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = text(tmp_path / "x.trace", *lines)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        read_gavel(path, steps_per_second=SPEEDS)


@pytest.mark.parametrize("form", [seven, ten])
def test_a_trace_without_speeds_is_refused_with_what_to_pass(tmp_path: Path, form: Any) -> None:
    path = text(tmp_path / "x.trace", form())
    with pytest.raises(ValueError, match=r"x\.trace: .*pass steps_per_second, the path of a CSV"):
        read_gavel(path)


BAD_SPEEDS: dict[str, tuple[Any, str]] = {
    "mapping": ({A: 0}, "steps_per_second: 'A (batch size 8)'=0 is not positive"),
    "text": ({A: "4"}, "steps_per_second: 'A (batch size 8)'='4' is not a number"),
    "csv column": ("job_type,speed\n", "line 1: column 'steps_per_second' occurs 0 times"),
    "csv zero": ("job_type,steps_per_second\nB,0\n", "line 2: steps_per_second='0' is not above 0"),
    "csv none": ("job_type,steps_per_second\nB,\n", "line 2: steps_per_second='' is not above 0"),
    "csv negative": ("job_type,steps_per_second\nB,-1\n", "steps_per_second=-1 is below 0"),
    "csv twice": (
        "job_type,steps_per_second\nB,1\nB,1\n",
        "line 3: job_type='B' occurs at line 2 too",
    ),
    "csv empty": ("", "line 1: the file is empty"),
    "json": ("{", "not JSON"),
    "model": (json.dumps({"k80": {"('B', 1)": 1.0}}), "model='v100' is not one of k80"),
    "word": (json.dumps({"k80": {"('B', 1)": "fast"}}), "speed='fast' is not a number"),
    "no gpus": (json.dumps(THROUGHPUTS), "line 1: steps_per_second has no job type 'B' on 2 GPUs"),
}


@pytest.mark.parametrize(("speeds", "message"), BAD_SPEEDS.values(), ids=BAD_SPEEDS)
def test_bad_speeds_are_refused(tmp_path: Path, speeds: Any, message: str) -> None:
    path = text(tmp_path / "x.trace", ten(B, gpus=2))
    if isinstance(speeds, str):
        (tmp_path / "speeds").write_text(speeds)
        speeds = tmp_path / "speeds"
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        read_gavel(path, steps_per_second=speeds)


def test_a_speed_that_is_used_is_a_number_above_0(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(THROUGHPUTS))
    path = text(tmp_path / "x.trace", ten(B, gpus=4))
    with pytest.raises(ValueError, match=r"line 1: steps_per_second of 'B' on 4 GPUs is 0\.0, not"):
        read_gavel(path, steps_per_second=tmp_path / "t.json")


# --- the real samples ----------------------------------------------------------------------------

SEEDS = {
    "seed=0": {"6214e9": 2_000, "6c71a0": 2_000, "b436b2": 2_000, "ee9e8c": 2_000, "23dbec": 9,
               "795a4c": 3},
    "seed=1": {"ee9e8c": 2_000},
}  # fmt: skip


def one(folder: Path, vc: str) -> Path:
    packed = folder / f"{vc}.trace.gz"
    return packed if packed.exists() else folder / f"{vc}.trace"


@pytest.mark.parametrize("seed", SEEDS)
def test_decoded_durations_are_the_recovered_ones(traces: Path, seed: str) -> None:
    """The recovered durations combine five seeds; one seed alone agrees to the 0.1 % stated.

    The exceptions are the slowest models, of a few hundred to a few thousand steps, where the
    speeds themselves are good to 0.2 % only: less than one job in 300.
    """
    folder = traces / "gavel_msr"
    with gzip.open(folder / "decoded_jobs.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    off = []
    for vc, count in SEEDS[seed].items():
        trace = read_gavel(one(folder / seed, vc), steps_per_second=folder / "steps_per_second.csv")
        assert (trace.report.read, trace.report.kept, trace.report.notes) == (count, count, ())
        jobs = {job.id: job for job in trace.jobs}
        known = [row for row in rows if row["vc"] == vc]
        assert len(known) == (0 if vc == "795a4c" else count)  # the derived file leaves it out
        for row in known:
            job = jobs[f"row{int(row['row']) + 1}"]
            assert (job.release, job.gpus) == (int(row["arrival_s"]), int(row["num_gpus"]))
            off.append(abs((job.work or 0) - int(row["duration_s"])) / int(row["duration_s"]))
    assert sum(error > 0.001 for error in off) < len(off) / 300
    assert max(off) < 0.002


@pytest.mark.parametrize(("name", "count"), [("small_test", 20), ("artifact_evaluation", 15)])
def test_traces_of_ten_columns(traces: Path, name: str, count: int) -> None:
    folder = traces / "gavel_msr"
    path = folder / "new_format" / f"{name}.trace"
    trace = read_gavel(path, steps_per_second=folder / "simulation_throughputs.json.gz")
    assert (trace.report.read, trace.report.kept) == (count, count)
    with gzip.open(folder / "simulation_throughputs.json.gz", "rt") as file:
        table = json.load(file)["v100"]
    for job, line in zip(trace.jobs, path.read_text().splitlines(), strict=True):
        fields = line.split("\t")
        assert job.gpus == int(fields[6])
        seconds = int(fields[5]) / table[str((fields[0], job.gpus))]["null"]
        assert seconds <= (job.work or 0) < seconds + 1
