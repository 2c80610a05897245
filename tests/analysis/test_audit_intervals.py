"""A number stands for all values that are written so, and a proof holds for all of them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

import gangsched as gs
from clean_logs import CleanLog, Row, clean_log
from few import first
from gangsched import screen
from gangsched.analysis.proofs.verify import InvalidCertificate
from gangsched.analysis.proofs.verify_audit import verify_finding
from gangsched.cli.app import app
from gangsched.instances import Cluster, DeadlineJob, Job
from gangsched.instances.convert import to_instance
from gangsched.instances.traces import LogRow, ReadReport, Trace, read_csv

TIMES = ("submit", "start", "end", "duration", "deadline")


EIGHT = Cluster.of_sizes([8])


def trace_of(jobs: Any, rows: Any, steps: dict[str, int], **more: Any) -> Trace:
    report = ReadReport(read=len(jobs))
    return Trace(name="log", jobs=jobs, rows=rows, steps=steps, report=report, **more)


def written(log: CleanLog, steps: dict[str, int], rng: random.Random) -> Trace:
    """The history as a log of these steps has it, each column cut, rounded or rounded up."""
    ways = {name: rng.choice([math.floor, round, math.ceil]) for name in TIMES}
    shift = rng.randrange(3_600)

    def as_written(row: Row, name: str) -> int:
        """What stands in the log, as a reader takes it: whole seconds."""
        way, step = ways[name], steps[name]
        over = 0 if name in ("duration", "deadline") else shift
        return math.ceil(way((row[name] + over) / step) * step) - over

    rows = [row for row in log.rows if as_written(row, "duration") > 0]
    rows.sort(key=lambda row: as_written(row, "submit"))
    jobs, ran = [], []
    for i, row in enumerate(rows):
        at = {name: as_written(row, name) for name in TIMES}
        jobs.append(
            DeadlineJob(
                id=row["id"], user=row["user"], pin=row["model"], gpus=row["gpus"],
                release=at["submit"], work=at["duration"], rewards=[(max(at["deadline"], 1), 1)],
            )
        )  # fmt: skip
        known = [at["start"], at["end"]]
        if rng.random() < 0.2:
            known[rng.randrange(2)] = None
        ran.append(LogRow(f"line {i + 2}", i, *known))
    return trace_of(jobs, ran, steps)


@pytest.mark.parametrize("group", first(1, range(10)))
def test_nothing_is_proved_of_what_rounding_explains(group: int, tmp_path: Path) -> None:
    wrong = 0
    for seed in range(60 * group, 60 * group + 60):
        rng, log = random.Random(seed), clean_log(seed)
        steps = {name: rng.choice([1, 60, 360, 3_600]) for name in TIMES}
        trace = written(log, steps, rng)
        assert gs.audit(trace, log.cluster, quotas=log.quotas).proved == (), seed
        wrong += bool(gs.audit(replace(trace, steps={}), log.cluster, quotas=log.quotas).proved)
    assert wrong > 40  # as logs of seconds they could not be


STAMPS = {
    "%Y-%m-%dT%H:%M:%S": 1, "%Y-%m-%d %H:%M": 60, "%d.%m.%Y %H:%M": 60, "%m/%d/%Y %I:%M %p": 60,
}  # fmt: skip
RUN_TIMES = {"duration_s": (1, "d"), "runtime_min": (60, "d"), "duration_h": (360, ".1f")}


@pytest.mark.parametrize("seed", first(12, range(60)))
def test_what_spreadsheets_save_has_the_row_recorded(seed: int, tmp_path: Path) -> None:
    rng, log = random.Random(seed), clean_log(seed)
    form, column = rng.choice([*STAMPS]), rng.choice([*RUN_TIMES])
    (step, written_as), cut = RUN_TIMES[column], rng.choice([math.floor, round, math.ceil])
    midnight = datetime(2025, 3, 3) - timedelta(seconds=999_000 + rng.randrange(600))
    rows = [row for row in log.rows if cut(row["duration"] / step)]
    lines = [f"id;gpus;submit;start;end;{column}"]
    for row in rows:
        times = [
            (midnight + timedelta(seconds=cut(row[name] / STAMPS[form]) * STAMPS[form]))
            for name in TIMES[:3]
        ]
        run = cut(row["duration"] / step) * (0.1 if column == "duration_h" else 1)
        stamps = ";".join(time.strftime(form) for time in times)
        lines.append(f"{row['id']};{row['gpus']};{stamps};{run:{written_as}}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    trace = read_csv(tmp_path / "log.csv")
    assert gs.audit(trace, log.cluster).proved == ()
    made = to_instance(trace, log.cluster)
    found = gs.replay(made.instance, ["fifo"], times=made.times)
    assert [row.name for row in found.rows] == ["recorded", "fifo"], found.unrecorded
    truth = sum(row["end"] - row["submit"] for row in rows) / len(rows)
    error = (found.rows[0].measures["mean_completion"] or 0) - truth
    assert abs(error) <= 2 * STAMPS[form] + step
    assert (found.rows[0].ratios["flow"] or 0) >= 1


ZONES = {
    "America/New_York": datetime(2024, 11, 3, 6), "Europe/Berlin": datetime(2024, 10, 27, 1),
    "Australia/Sydney": datetime(2025, 4, 5, 16), "America/Santiago": datetime(2025, 4, 6, 3),
}  # fmt: skip


@pytest.mark.parametrize("zone", ZONES)
def test_nothing_is_proved_of_a_clock_that_was_set_back(zone: str) -> None:
    """Clean logs around the hour that comes twice, in local time of a zone that is not named."""
    wrong = 0
    for seed in range(12):
        log, rng = clean_log(seed), random.Random(seed)
        middle = log.rows[rng.randrange(len(log.rows))]["start"]

        def local(row: Row, name: str, middle: float = middle) -> int:
            """Seconds of the local clock since 1970."""
            moment = ZONES[zone] + timedelta(seconds=math.floor(row[name] - middle))
            clock = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
            return int((clock - datetime(1970, 1, 1)).total_seconds())

        rows = sorted(log.rows, key=lambda row: local(row, "submit"))
        first = local(rows[0], "submit")
        jobs, ran = [], []
        for i, row in enumerate(rows):
            at = {name: local(row, name) - first for name in TIMES[:3]}
            jobs.append(
                Job(
                    id=row["id"], user=row["user"], pin=row["model"], gpus=row["gpus"],
                    release=at["submit"], work=max(math.ceil(row["duration"]), 1),
                )
            )  # fmt: skip
            known = (at["start"], None), (None, at["end"]), (at["start"], at["end"])
            ran.append(LogRow(f"line {i + 2}", i, *known[i % 3]))
        origin = str(datetime(1970, 1, 1) + timedelta(seconds=first))
        for text in (origin, None):
            found = gs.audit(trace_of(jobs, ran, {}, origin=text), log.cluster, quotas=log.quotas)
            wrong += bool(found.proved) and text is None
            assert not (found.proved and text), (seed, found)
    assert wrong


@pytest.mark.parametrize("step", [1, 60, 360, 3_600])
@pytest.mark.parametrize("times", [4, 12])
def test_a_job_may_hide_in_pauses_as_short_as_steps(times: int, step: int) -> None:
    """Two gangs of 5 on 8 GPUs: b may run while a pauses, unless it runs for far too long."""
    long = times * step
    jobs = [Job(id="a", gpus=5, work=3 * long), Job(id="b", gpus=5, work=long, release=long)]
    rows = [LogRow("line 2", 0, 0, 3 * long + 2 * step), LogRow("line 3", 1, long, 2 * long)]
    trace = trace_of(jobs, rows, dict.fromkeys(TIMES, step))
    rules = [one.proof and one.proof["rule"] for one in gs.audit(trace, EIGHT).proved]
    proof = {"rule": "in use", "of": "cluster", "second": long + step, "jobs": ["a", "b"]}
    if times == 12 or step == 1:
        assert rules == ["in use"]
        verify_finding(proof, trace, EIGHT)
    else:
        assert rules == []
        with pytest.raises(InvalidCertificate, match="pauses may hide"):
            verify_finding(proof, trace, EIGHT)


@pytest.mark.parametrize("step", [1, 60, 360, 3_600])
@pytest.mark.parametrize("less", [0, 1])
@pytest.mark.parametrize("rule", ["start", "end", "deadline"])
def test_what_is_wrong_by_as_much_as_the_steps_is_proved(rule: str, less: int, step: int) -> None:
    """A second less is not, where the submission, start, end, run time and deadline have steps."""
    work, start, end, due = 9 * step, 0, 9 * step, 9 * step
    if rule == "start":
        start = less - 2 * step
    elif rule == "end":
        end += less - 3 * step
    else:
        due += less - 3 * step
    job = DeadlineJob(id="a", gpus=1, work=work, rewards=[(due, 1)])
    trace = trace_of([job], [LogRow("line 2", 0, start, end)], dict.fromkeys(TIMES, step))
    found = gs.audit(trace, Cluster.of_sizes([1]))
    assert [one.proof and one.proof["rule"] for one in found.proved] == [rule] * (not less)
    if less:
        with pytest.raises(InvalidCertificate):
            verify_finding({"rule": rule, "jobs": ["a"]}, trace)


@pytest.mark.parametrize(
    "command",
    [
        "audit --nodes 1", "describe", "replay --nodes 1 --policies fifo",
        "compare --problem rar-ddls --solvers sjf-bco --nodes 1 --reader csv",
    ],
    ids=lambda command: command.split()[0],
)  # fmt: skip
def test_each_command_says_what_was_assumed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = trace_of([Job(id="a", gpus=1, work=60)], [], {}, doubts=["gpus is a guess"])
    monkeypatch.setattr(screen, "reader_of", lambda choice: lambda path: trace)
    page, more = tmp_path / "page.html", ["--gpus-per-node", "2"] * ("--nodes" in command)
    name, *options = command.split()
    args = [name, "log.csv", *options, *more, "--report", str(page)]
    shown = CliRunner().invoke(app, args).stdout
    data = CliRunner().invoke(app, [*args, "--json", "-"]).stdout
    for text in (shown, data, page.read_text("utf-8")):
        assert "gpus is a guess" in text
