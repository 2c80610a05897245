"""The row of what a cluster itself did, by its log."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import gangsched as gs
from few import each_seed
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError, drive
from gangsched.analysis.show.replay_tables import remarks
from gangsched.cli.app import app
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.instances.convert import to_instance
from gangsched.instances.traces import read_csv
from gangsched.solvers import Preempts
from gangsched.solvers.policies.recorded import RECORDED_RULES, Recorded
from gangsched.solvers.policy import Rules

FIELDS = "id,user,gpus,submit,start,end,duration"
Row = tuple[str, str, int, int, int, int, int]


def log_of(seed: int, jobs: int = 40, gpus: int = 8) -> list[Row]:
    """A log of a cluster that starts its jobs in an order of its own, now and then too late."""
    rng = random.Random(seed)
    rows: list[Row] = []
    time = 1_000_000
    for i in range(jobs):
        time += rng.randrange(300)
        gang, run = rng.choice([1, 1, 2, 4, 8]), rng.randrange(1, 2_000)
        start = time + rng.randrange(500)
        while any(used(rows, at, gpus, gang) for at in {start, *begun(rows, start, start + run)}):
            start += rng.randrange(1, 200)
        rows.append((f"j{i}", rng.choice("ab"), gang, time, start, start + run, run))
    return rows


def used(rows: Sequence[Row], at: int, gpus: int, gang: int) -> bool:
    """Whether there is no room for a gang at a second."""
    return sum(row[2] for row in rows if row[4] <= at < row[5]) + gang > gpus


def begun(rows: Sequence[Row], start: int, end: int) -> list[int]:
    return [row[4] for row in rows if start <= row[4] < end]


def write(rows: Sequence[Sequence[Any]], path: Path, fields: str = FIELDS) -> Path:
    path.write_text("\n".join([fields, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def made_of(rows: Sequence[Sequence[Any]], tmp_path: Path, sizes: Sequence[int] = (4, 4)) -> Any:
    return to_instance(read_csv(write(rows, tmp_path / "log.csv")), Cluster.of_sizes(sizes))


@each_seed(range(12))
def test_each_job_waits_as_in_the_log(seed: int, tmp_path: Path) -> None:
    rows = log_of(seed)
    made = made_of(rows, tmp_path)
    found = gs.replay(made.instance, ["fifo"], times=made.times)
    row = found.rows[0]
    book = row.run.records
    waits = {name: start - submit for name, _, _, submit, start, _, _ in rows}
    assert row.name == "recorded"
    assert dict(zip(book.id, (book.first - book.release).tolist(), strict=True)) == waits
    flow = [end - submit for _, _, _, submit, _, end, _ in rows]
    assert row.ratios["flow"] == pytest.approx(sum(flow) / found.bounds["flow"].value)
    assert row.ratios["flow"] >= 1
    assert not violations(row.run, preempts=Preempts.NEVER)
    assert "what the cluster itself did, by its log" in remarks(found)[-1]


def test_the_bound_is_the_same_with_the_row_and_without(tmp_path: Path) -> None:
    made = made_of(log_of(5), tmp_path)
    found = gs.replay(made.instance, ["srtf"], times=made.times)
    without = gs.replay(made.instance, ["srtf"])
    assert found.bounds == without.bounds
    assert found.rows[1].ratios == without.rows[0].ratios


def test_an_interrupted_job_begins_and_ends_as_in_the_log(tmp_path: Path) -> None:
    rows = [
        ("a", "u", 4, 0, 10, 300, 100),  # 190 s of pauses
        ("b", "u", 8, 50, 120, 180, 60),
        ("c", "u", 1, 60, 190, 260, 1),  # too short to pause
        ("d", "u", 1, 60, 310, 330, 2),  # just long enough
    ]
    found = gs.replay((made := made_of(rows, tmp_path)).instance, ["fifo"], times=made.times)
    run = found.rows[0].run
    assert run.records.first.tolist() == [10, 120, 190, 310]
    assert run.records.end.tolist() == [300, 180, 191, 330]
    assert [(s.job, s.start, s.end) for s in map(run.schedule.__getitem__, range(6))] == [
        (0, 10, 109), (1, 120, 180), (2, 190, 191), (0, 299, 300), (3, 310, 311), (3, 329, 330)
    ]  # fmt: skip


def test_fractions_that_overlap_once_they_are_rounded_wait_a_second(tmp_path: Path) -> None:
    rows = [("a", "u", 8, 0, 0, 10.5, 10.5), ("b", "u", 8, 1, 10.6, 20, 9.4)]
    found = gs.replay((made := made_of(rows, tmp_path)).instance, ["fifo"], times=made.times)
    assert found.rows[0].run.records.first.tolist() == [0, 11]


@pytest.mark.parametrize(("end", "ends"), [(98, 100), (99, 100), (102, 100), (103, 103)])
def test_ends_within_two_seconds_of_the_run_time_are_rounded(
    end: int, ends: int, tmp_path: Path
) -> None:
    rows = [("a", "u", 8, 0, 0, end, 100)]
    found = gs.replay((made := made_of(rows, tmp_path)).instance, ["fifo"], times=made.times)
    assert found.rows[0].run.records.end.tolist() == [ends]


def test_jobs_with_speeds_have_no_recorded_run_times() -> None:
    jobs = [Job(id="a", gpus=1, work=9, speeds={"": 2.0})]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    found = gs.replay(instance, ["fifo"], times=[(0, 9)])
    why = "1 of 1 jobs with speeds, which the log does not have, such as 'a'"
    assert found.unrecorded == why


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (
            [("a", "u", 4, 0, 0, 99, 99), ("b", "u", 8, 1, 50, 99, 49)],
            (
                "log and cluster contradict each other, see an audit: job 'b' began at 50 by the "
                "log, with no room for its 8 GPUs: 4 of 8 were in use"
            ),
        ),
        (
            [("a", "u", 4, 0, 0, 99, 99), ("b", "u", 8, 1, "", 99, 49)],
            "1 of 2 jobs without a recorded start, such as 'b'",
        ),
        (
            [("a", "u", 4, 0, 0, 99, 99), ("b", "u", 8, 200, 150, 250, 49)],
            "1 of 2 jobs began before its submission, such as 'b'",
        ),
        (
            [("a", "u", 4, 0, 0, 99, 99), ("b", "u", 8, 100, 150, 250, 103)],
            "1 of 2 jobs ended before its run time was over, such as 'b'",
        ),
    ],
)
def test_a_log_that_cannot_be_is_no_row_and_no_failure(
    rows: list[Row], why: str, tmp_path: Path
) -> None:
    made = made_of(rows, tmp_path)
    found = gs.replay(made.instance, ["fifo"], times=made.times)
    assert [row.name for row in found.rows] == ["fifo"]
    assert not found.failed
    assert f"No row 'recorded': {why}." in remarks(found)


def test_a_log_without_starts_says_nothing(tmp_path: Path) -> None:
    path = write([("a", 4, 0, 99)], tmp_path / "log.csv", "id,gpus,submit,duration")
    made = to_instance(read_csv(path), Cluster.of_sizes([4]))
    found = gs.replay(made.instance, ["fifo"], times=made.times)
    assert [row.name for row in found.rows] == ["fifo"]
    assert remarks(found) == ()


def test_a_window_moves_the_recorded_times(tmp_path: Path) -> None:
    rows = [("a", "u", 4, 0, 0, 99, 99), ("b", "u", 8, 100, 150, 250, 100)]
    trace = read_csv(write(rows, tmp_path / "log.csv"))
    made = to_instance(trace, Cluster.of_sizes([8]), window=(40, None))
    assert made.times == ((110, 210),)
    assert gs.replay(made.instance, ["fifo"], times=made.times).rows[0].run.now == 210


def test_a_gang_has_gpus_of_one_model() -> None:
    cluster = Cluster([Node("n0", 4, "a"), Node("n1", 2, "b"), Node("n2", 2, "b")])
    jobs = [Job(id="a", gpus=2, work=60, pin="b"), Job(id="b", gpus=4, work=60)]
    jobs += [Job(id="c", gpus=2, work=60, release=10)]
    instance = Instance(cluster, jobs)
    run = drive(instance, Recorded([(0, 60), (5, 65), (20, 80)]), **asdict(RECORDED_RULES))
    places = [run.schedule[i].gpus for i in np.argsort(run.schedule.job)]
    assert places == [{1: 2}, {0: 4}, {2: 2}]
    four = replace_gang(instance)
    with pytest.raises(PolicyError, match="no room for its 4 GPUs: 6 of 8 were in use"):
        drive(four, Recorded([(0, 60), (5, 65), (20, 80)]), **asdict(RECORDED_RULES))


def replace_gang(instance: Instance[Job]) -> Instance[Job]:
    """The last job with four GPUs."""
    return Instance(
        instance.cluster, [*instance.jobs[:2], Job(id="c", gpus=4, work=60, release=10)]
    )


def test_other_rules_are_refused() -> None:
    instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=9)])
    with pytest.raises(ValueError, match="policy 'recorded': Rules"):
        drive(instance, Recorded([(0, None)]), **asdict(Rules()))
    with pytest.raises(ValueError, match="replay: 2 times for 1 jobs, one for each"):
        gs.replay(instance, ["fifo"], times=[(0, None), (1, None)])
    with pytest.raises(ValueError, match="'recorded' is the row of the log, name it otherwise"):
        gs.replay(instance, {"recorded": gs.solvers.Fifo()}, times=[(0, None)])


def test_jobs_that_a_policy_cannot_run_are_left_out_of_the_row_too(tmp_path: Path) -> None:
    class Narrow:
        name = "narrow"
        preempts = Preempts.NEVER

        def unable(self, job: Job) -> str:
            return "too wide" if job.gpus > 4 else ""

        def decide(self, state: Any) -> Any:
            return gs.solvers.Decision(order=state.waiting)

    rows = log_of(3)
    made = made_of(rows, tmp_path)
    found = gs.replay(made.instance, [Narrow()], times=made.times)
    wide = [j for j, job in enumerate(made.instance.jobs) if job.gpus > 4]
    assert [j for j, _ in found.rows[0].run.rejected] == wide != []
    assert found.rows[0].ratios["flow"] >= 1


def test_the_command_line_shows_it_and_goes_on_from_saved_runs(tmp_path: Path) -> None:
    rows = log_of(7)
    path = write(rows, tmp_path / "log.csv")
    args = ["replay", str(path), "--nodes", "2", "--gpus-per-node", "4", "--policies", "fifo,srtf"]
    args += ["--no-report", "--json", "-"]
    saved = ["--save-runs", str(tmp_path / "runs")]
    first = CliRunner().invoke(app, [*args, *saved])
    again = CliRunner().invoke(app, [*args, *saved, "--resume"])
    assert first.exit_code == again.exit_code == 0
    found, more = (json.loads(result.stdout) for result in (first, again))
    assert [row["name"] for row in found["rows"]] == ["recorded", "fifo", "srtf"]
    waits = [start - submit for _, _, _, submit, start, _, _ in rows]
    assert found["rows"][0]["measures"]["mean_wait"] == pytest.approx(sum(waits) / len(waits))
    assert [row["digest"] for row in found["rows"]] == [row["digest"] for row in more["rows"]]
