"""Replays of jobs with deadlines: rewards against verified bounds, also of elastic policies."""

import re
from pathlib import Path
from typing import Any

import pytest

from deadline_optimum import optimum
from gangsched.analysis.comparing import measures
from gangsched.analysis.comparing.replay import Replay, replay
from gangsched.analysis.driving import check as check_run
from gangsched.analysis.driving import metrics
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.replay_report import write_replay_report
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.instances import Cluster, DeadlineJob, Instance, Job
from gangsched.solvers import Bound, Fifo, Srtf
from gangsched.solvers.policy import Decision, Preempts, Rules, Start
from web_page import Page

#: seconds are rounds, so that nobody waits for one; suspending is free
RULES = Rules(round_length=1, lease=1, overhead=0)
ROWS: list[dict[str, Any]] = [
    {"gpus": 2, "work": 4, "rewards": [(5, 100), (7, 50)]},
    {"gpus": 2, "work": 3, "rewards": [(3, 100)]},
    {"gpus": 1, "work": 2, "release": 2, "rewards": [(4, 100), (5, 80), (6, 50)]},
    {"gpus": 1, "work": 3, "release": 2},
    {"gpus": 5, "work": 3, "rewards": [(90, 100)]},  # too wide for the cluster
]
INSTANCE = Instance(
    Cluster.of_sizes([2]),
    [DeadlineJob(id=f"j{i}", scaling=0.5, **row) for i, row in enumerate(ROWS)],
)
ABLE = Instance(INSTANCE.cluster, INSTANCE.jobs[:4])


class Halves:
    """Every job on one GPU, in order of submission."""

    name = "halves"
    preempts = Preempts.NEVER

    def decide(self, state: Any) -> Decision:
        free = int(state.free[0])
        first = [int(j) for j in state.waiting[:free]]
        return Decision(start=[Start(j, nodes={0: 1}, gpus=1) for j in first])


@pytest.fixture(scope="module")
def found() -> Replay:
    return replay(INSTANCE, {"fifo": Fifo(), "srtf": Srtf()}, rules=RULES)


def test_rewards_are_compared_with_a_verified_bound(found: Replay) -> None:
    problem, bound = DeadlineRewards(ABLE), found.bounds["reward"]
    verify_bound(problem, bound)
    assert optimum(problem) <= bound.value < problem.top == 300
    for row in found.rows:
        assert row.deadlines == metrics.deadline_summary(row.run)
        assert not row.elastic
        won = problem.objective(row.run.schedule)
        assert row.deadlines["reward"] == won > 0
        assert row.ratios["reward"] == bound.value / won
        assert row.ratios["flow"] >= 1


def test_data_hold_the_deadlines(found: Replay) -> None:
    data = found.to_dict()
    assert data["bounds"]["reward"]["certificate"]["kind"] == "prices"
    for row, one in zip(data["rows"], found.rows, strict=True):
        assert row["deadlines"] == one.deadlines
        assert row["elastic"] is False
    title, table, *_ = str(found).split("\n\n")
    assert title.startswith(
        "Replay: 5 jobs on 1 node, 2 GPUs\nMost reward: srtf, 200 of at most 230."
    )
    head, line, *_ = table.splitlines()
    assert head.startswith("policy       weighted miss rate  reward  certified ratio  complete by")
    assert line.split()[2] == f"{found.rows[0].deadlines['reward']:,.10g}"


def test_jobs_without_deadlines_have_no_rewards() -> None:
    plain = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=9)])
    one = replay(plain, {"fifo": Fifo()})
    assert "reward" not in one.bounds
    assert one.rows[0].deadlines is None
    assert not {"deadlines", "elastic"} & set(one.to_dict()["rows"][0])
    assert "miss rate" not in str(one)


def test_a_bound_that_cannot_be_verified_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = Bound(50, "prices of GPU time", {"kind": "prices", "times": [], "prices": []})
    right = measures.strengthened

    def lie(problem: Any, *how: Any) -> Bound:
        return wrong if isinstance(problem, DeadlineRewards) else right(problem, *how)

    monkeypatch.setattr(measures, "strengthened", lie)
    one = replay(INSTANCE, {"fifo": Fifo(), "srtf": Srtf()}, rules=RULES)
    assert "reward" not in one.bounds
    assert [row.ratios["reward"] for row in one.rows] == [None, None]
    assert caplog.text.count("bound of reward is left out") == 1


def test_elastic_runs_have_a_bound_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of gangs, the bound does not hold for them: one GPU each wins more than one gang a time."""
    rows = [{"gpus": 2, "work": 3, "rewards": [(4, 100)]}] * 2  # 4 s on one GPU
    jobs = [DeadlineJob(id=f"{i}", scaling=0.5, **row) for i, row in enumerate(rows)]
    instance = Instance(Cluster.of_sizes([2]), jobs)
    monkeypatch.setattr(check_run, "violations", lambda *_, **__: [])  # has its own tests
    one = replay(instance, {"fifo": Fifo(), "halves": Halves()}, rules=RULES)
    assert [row.elastic for row in one.rows] == [False, True]
    assert (one.bounds["reward"].value, one.bounds["elastic reward"].value) == (100, 200)
    verify_bound(DeadlineRewards(instance, elastic=True), one.bounds["elastic reward"])
    assert [row.ratios["reward"] for row in one.rows] == [1, 1]
    assert one.rows[0].ratios["flow"] is not None
    assert one.rows[1].ratios["flow"] is None


# --- the report ----------------------------------------------------------------------------------


def written(folder: Path, found: Replay) -> str:
    path = folder / "replay.html"
    write_replay_report(path, found, title="T")
    return Page(path.read_text("utf-8")).text


def test_the_report_has_a_section_on_deadlines(tmp_path: Path, found: Replay) -> None:
    text = written(tmp_path, found)
    assert "weighted miss rate" in text
    assert "Certified ratio of reward" in text
    assert f"No policy that keeps gangs wins more than {found.bounds['reward'].value}." in text
    shown = [float(number) for number in re.findall(r"\d\.\d{4}", text)]
    for row in found.rows:
        exact = row.ratios["reward"]
        assert any(0 <= number - exact < 1e-4 for number in shown)
    plain = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=9)])
    assert "miss rate" not in written(tmp_path, replay(plain, {"fifo": Fifo()}))


def test_the_report_says_what_is_elastic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_run, "violations", lambda *_, **__: [])
    one = replay(ABLE, {"fifo": Fifo(), "halves": Halves()}, rules=RULES)
    text = written(tmp_path, one)
    assert "halves ran jobs on other numbers of GPUs than their gangs" in text
    assert f"which may do so, {one.bounds['elastic reward'].value:,.10g}" in text
