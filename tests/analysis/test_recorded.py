"""The row of what a cluster itself did, by its log."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gangsched as gs
from few import each_seed
from gangsched.analysis.show.replay_report import write_replay_report
from gangsched.analysis.show.replay_tables import remarks
from gangsched.analysis.show.user_table import user_rows
from gangsched.cli.app import app
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.instances.convert import LogTimes, to_instance
from gangsched.instances.traces import LogRow, ReadReport, Trace, read_csv
from gangsched.solvers import Preempts
from malformed import table

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
    assert row.compared is row.run
    assert "what the cluster itself did, by the starts and ends of its log" in remarks(found)[-1]


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
        ("c", "u", 1, 60, 190, 260, 1),
        ("d", "u", 1, 60, 310, 312, 1),  # rounded, not interrupted
    ]
    found = gs.replay((made := made_of(rows, tmp_path)).instance, ["fifo"], times=made.times)
    run = found.rows[0].run
    assert run.records.first.tolist() == [10, 120, 190, 310]
    assert run.records.end.tolist() == [300, 180, 260, 312]
    assert run.records.held.tolist() == [400, 480, 1, 2]
    waits = [200, 70, 199, 250]
    assert found.rows[0].measures["mean_wait"] == sum(waits) / 4
    assert {wait.job: wait.seconds for wait in found.waits()["recorded"]} == dict(enumerate(waits))
    assert "2 jobs paused at times that nobody knows" in remarks(found)[-1]


@each_seed(range(20))
def test_rounding_does_not_add_up_along_chains(seed: int, tmp_path: Path) -> None:
    """Fractions of seconds, each job as soon as it fits; the log is read to the second."""
    rng = random.Random(seed)
    rows: list[Any] = []
    free = [0.0] * 4
    for i in range(30):
        run, gang = rng.randrange(1, 300) / 10, rng.choice([1, 2, 4])
        free.sort()
        start = max(free[gang - 1], i / 10)
        free[:gang] = [round(start + run, 1)] * gang
        rows.append((f"j{i}", "u", gang, i / 10, start, round(start + run, 1), run))
    made = made_of(rows, tmp_path, [4])
    row = gs.replay(made.instance, ["fifo"], times=made.times).rows[0]
    truth = sum(end - submit for _, _, _, submit, _, end, _ in rows) / len(rows)
    assert row.name == "recorded"
    assert abs(row.measures["mean_completion"] - truth) < 1
    assert row.ratios["flow"] >= 1
    repaired = row.compared
    book, work = repaired.records, made.instance.jobs
    assert (book.end >= row.run.records.end).all()
    held = [(book.end[j] - job.work, book.end[j], job.gpus) for j, job in enumerate(work)]
    for at, _, _ in held:
        assert sum(gpus for start, end, gpus in held if start <= at < end) <= 4


MINUTES = {"submit": 60, "start": 60, "end": 60}


@pytest.mark.parametrize(
    ("ran", "work", "steps", "ended"),
    [
        ((300, 540), 284, MINUTES, 584),  # a run time in seconds tells more than an end in minutes
        ((300, 600), 300, {"duration": 60}, 600),
        ((300, 580), 300, {"duration": 60}, 580),
        ((300, 300), 20, MINUTES, 320),
        ((240, None), 20, {}, 260),
        ((179, 250), 70, {}, 250),  # the start was cut, the submission rounded up
    ],
)
def test_what_is_written_more_finely_counts(ran: Any, work: int, steps: Any, ended: int) -> None:
    jobs = [Job(id="a", gpus=1, work=work, release=180)]
    log = LogTimes([ran], steps)
    found = gs.replay(Instance(Cluster.of_sizes([1]), jobs), ["fifo"], times=log)
    assert found.rows[0].name == "recorded", found.unrecorded
    book = found.rows[0].run.records
    assert (book.first.tolist(), book.end.tolist()) == ([max(ran[0], 180)], [ended])
    assert found.rows[0].ratios["flow"] >= 1


def test_jobs_with_speeds_have_no_recorded_run_times() -> None:
    jobs = [Job(id="a", gpus=1, work=9, speeds={"": 2.0})]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    found = gs.replay(instance, ["fifo"], times=[(0, 9)])
    why = "1 of 1 jobs with speeds, which the log does not have, such as 'a'"
    assert found.unrecorded == why


@pytest.mark.parametrize(("rows", "why"), table("broken_runs")["recorded"])
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
    assert made.times[:] == ((110, 210),)
    assert gs.replay(made.instance, ["fifo"], times=made.times).rows[0].run.now == 210


TWO_MODELS = Cluster([Node("n0", 4, "a"), Node("n1", 2, "b"), Node("n2", 2, "b")])
HALF = [Job(id="a", gpus=2, work=60), Job(id="b", gpus=2, work=60), Job(id="c", gpus=4, work=60)]


def test_no_placement_of_ours_is_charged_to_the_log(tmp_path: Path) -> None:
    """Half of the GPUs are in use; on which models the log does not tell."""
    log = LogTimes([(0, 60), (0, 60), (10, 70)])
    found = gs.replay(Instance(TWO_MODELS, HALF), ["fifo"], times=log)
    row = found.rows[0]
    assert (row.name, row.run.sizes, row.measures["mean_wait"]) == ("recorded", (8,), 10 / 3)
    assert [*found.waits()] == ["fifo"]
    assert "GPUs of all models count together, as the log names none" in remarks(found)[-1]
    write_replay_report(tmp_path / "page.html", found, title="x")
    assert "on 3 nodes with 8 GPUs" in (tmp_path / "page.html").read_text("utf-8")


def test_models_that_the_log_names_count_apart() -> None:
    jobs = [replace(job, pin=pin) for job, pin in zip(HALF, "bba", strict=True)]
    instance, log = Instance(TWO_MODELS, jobs), LogTimes([(0, 60), (0, 60), (10, 70)])
    found = gs.replay(instance, ["fifo"], times=log)
    assert (found.rows[0].run.sizes, found.rows[0].run.schedule.node.tolist()) == (
        (4, 4),
        [1, 1, 0],
    )
    assert [*found.waits()] == ["recorded", "fifo"]
    wrong = replace(instance, jobs=[*jobs, Job(id="d", gpus=2, work=60, pin="b")])
    found = gs.replay(wrong, ["fifo"], times=LogTimes([*log, (5, 65)]))
    assert "more GPUs of 'b' in use than there are: 6 of 4 at second 6" in found.unrecorded


def test_an_hour_of_autumn_is_no_contradiction_and_no_row() -> None:
    instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=6_600)])
    log = LogTimes([(10, 3_010)], origin="2024-11-03 00:30:00")
    found = gs.replay(instance, ["fifo"], times=log)
    assert found.unrecorded.startswith("times of the log may be an hour apart from what they say")
    sure = gs.replay(instance, ["fifo"], times=replace(log, origin="2024-11-03 00:30:00 UTC"))
    assert sure.unrecorded.startswith("log and cluster contradict each other")


def test_nothing_of_the_log_is_drawn_on_nodes(tmp_path: Path) -> None:
    made = made_of(log_of(3), tmp_path)
    found = gs.replay(made.instance, ["fifo"], times=made.times)
    write_replay_report(tmp_path / "page.html", found, title="x")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "recorded is not drawn: its log names no nodes" in text
    assert "Jobs under fifo" in text
    assert "Jobs under recorded" not in text


def test_what_was_assumed_stands_beside_the_ratios(tmp_path: Path) -> None:
    trace = Trace(
        name="log", jobs=[Job(id="a", gpus=1, work=60)], rows=[LogRow("line 2", 0, 0, 60)],
        report=ReadReport(read=1), submitted=False, doubts=["units are guessed"],
    )  # fmt: skip
    made = to_instance(trace, Cluster.of_sizes([2]))
    found = gs.replay(made.instance, ["fifo"], times=made.times)
    assert [row.name for row in found.rows] == ["fifo"]
    assert "the log does not tell when jobs were submitted" in remarks(found)[-1]
    assert (found.rows[0].measures["mean_wait"], found.waits(), user_rows(found)) == (None, {}, [])
    doubt = "In doubt is how the log was read: units are guessed; jobs are taken to be submitted"
    assert doubt in str(found).splitlines()[1]
    assert "(in doubt)" in str(found)
    assert found.to_dict()["doubts"][0] == "units are guessed"
    write_replay_report(tmp_path / "page.html", found, title="x")
    assert doubt in (tmp_path / "page.html").read_text("utf-8")
    sure = gs.replay(made.instance, ["fifo"], times=LogTimes(made.times[:]))
    assert "in doubt" not in str(sure)
    assert [row.name for row in sure.rows] == ["recorded", "fifo"]


def test_times_are_those_of_the_jobs() -> None:
    instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=9)])
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
