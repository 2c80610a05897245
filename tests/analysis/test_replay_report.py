"""The report of replays: what it says, what it refuses to say, and that it is one complete file."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.comparing.replay import Replay, replay
from gangsched.analysis.comparing.replayed import Replayed
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive, instance_hash
from gangsched.analysis.driving.run import Run
from gangsched.analysis.proofs.completion_time import online_bound
from gangsched.analysis.proofs.fluid_fairness import life_bound
from gangsched.analysis.show import replay_report
from gangsched.analysis.show.replay_report import write_replay_report
from gangsched.analysis.show.replay_tables import remarks
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.formulations.ltgf.problem import Ltgf
from gangsched.instances import Cluster, Instance, Job, Node, Segment, User
from gangsched.solvers import Bound, Fifo
from gangsched.solvers.gandiva_fair.policy import GandivaFair
from gangsched.solvers.policy import Rules
from run_builder import random_run, run_of
from web_page import EVIL, Page, assert_escaped, assert_self_contained, untimed

USERS = [User("alice", weight=2), User("bob")]
JOBS = [
    Job(id=f"j{i}", gpus=1 + i % 4, user=USERS[i % 2].id, release=70 * i, work=300 + 10 * i)
    for i in range(12)
]
INSTANCE = Instance(Cluster.of_sizes([4]), JOBS, USERS)


def ran(seed: int, **more: Any) -> Run:
    return random_run(JOBS, USERS, 4, np.random.default_rng(seed), **more)


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {"first": ran(0), "second": ran(1)}


@pytest.fixture(scope="module")
def bounds() -> dict[str, Bound]:
    measures: tuple[Any, ...] = ("makespan", "completion", "flow", "slowdown")
    return {m: online_bound(CompletionTime(INSTANCE, m)) for m in measures}


def written(
    folder: Path,
    runs: dict[str, Run],
    *,
    instance: Instance[Any] = INSTANCE,
    bounds: Any = None,
    fairness: Any = (),
    **more: Any,
) -> str:
    """The report of runs made by hand, with the hash of their instance, as a driver gives it."""
    path, first, hash = folder / "replay.html", next(iter(runs.values())), instance_hash(instance)
    found = Replay(
        instance=instance, rules=first.rules, rejected=dict(first.rejected), bounds=bounds or {},
        fairness=tuple(fairness),
    )  # fmt: skip
    rows = [
        Replayed.of(name, replace(run, instance_hash=hash).attach(instance), found)
        for name, run in runs.items()
    ]
    found = replace(found, rows=tuple(rows))
    write_replay_report(path, found, **{"title": "A title", **more})
    return path.read_text("utf-8")


def cells(text: str, name: str) -> list[str]:
    """The cells after this one in its row of a table."""
    row = re.search(rf"<tr><td>{re.escape(name)}</td>(.*?)</tr>", text)
    assert row is not None, name
    return [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row[1])]


# --- what it says --------------------------------------------------------------------------------


def test_the_measures_are_those_of_the_runs(tmp_path: Path, runs: dict[str, Run]) -> None:
    text = written(tmp_path, runs)
    found = [metrics.summary(run) for run in runs.values()]
    assert cells(text, "mean slowdown") == [f"{v['mean_slowdown']:,.2f}" for v in found]
    assert cells(text, "preemptions") == [f"{v['preemptions']:,}" for v in found]
    losses = [f"{100 * (v['loss'] or 0):.1f}%" for v in found]
    assert cells(text, "jobs with rho &lt; 0.95") == losses
    better = min(runs, key=lambda name: metrics.summary(runs[name])["mean_completion"] or 0)
    assert f"{better} has the shortest mean completion, " in Page(text).text
    assert "2 policies ran 12 jobs of 2 users on 1 node with 4 GPUs" in Page(text).text
    assert "No bound was computed" in Page(text).text


def test_ratios_are_certified_and_rounded_up(
    tmp_path: Path, runs: dict[str, Run], bounds: dict[str, Bound]
) -> None:
    text = written(tmp_path, runs, bounds=bounds)
    rows = {
        "makespan": "makespan",
        "flow": "mean completion",
        "completion": "mean end, from time 0",
        "slowdown": "mean slowdown",
    }
    table = text[text.index("How far from the best possible") :]
    for measure, name in rows.items():
        found = cells(table, name)
        assert found[-1] == bounds[measure].method
        for shown, run in zip(found[1:-1], runs.values(), strict=True):
            value = metrics.objectives(run)[measure]
            assert value is not None
            assert value / bounds[measure].value > 1  # the case is not trivial
            assert 0 <= float(shown) - value / bounds[measure].value <= 0.001
    assert re.search(
        r"at most [\d.]+ times the shortest that any policy can reach", Page(text).text
    )


def test_the_best_of_a_row_is_bold(tmp_path: Path, runs: dict[str, Run]) -> None:
    text = written(tmp_path, {**runs, "stopped": ran(2, now=500)})
    row = re.search(r"<tr><td>mean slowdown</td>(.*?)</tr>", text)
    assert row is not None
    bold = ["<strong>" in cell for cell in re.findall(r"<td.*?</td>", row[1])]
    values = [metrics.summary(run)["mean_slowdown"] or 0 for run in runs.values()]
    assert bold == [*(value == min(values) for value in values), False]


def test_how_fair_anyone_could_be(tmp_path: Path, runs: dict[str, Run]) -> None:
    problem = Ltgf(INSTANCE)
    bound = life_bound(problem)
    text = written(tmp_path, runs, fairness=[("least rho of whole lives", problem, bound)])
    shown, method = cells(text, "least rho of whole lives")
    assert 0 <= float(shown) - bound.value <= 0.001
    assert method == bound.method
    assert "How fair anyone could be" not in written(tmp_path, runs)


def test_stopped_runs_and_other_rejections_get_no_ratio(
    tmp_path: Path, runs: dict[str, Run], bounds: dict[str, Bound]
) -> None:
    stopped = ran(2, now=500)
    book = runs["second"].records
    odd = replace(
        runs["second"],
        records=replace(
            book, rejected=np.arange(12) == 3, end=np.where(np.arange(12) == 3, -1, book.end)
        ),
        rejected=((3, "no room"),),
    )
    text = written(tmp_path, {**runs, "stopped": stopped, "odd": odd}, bounds=bounds)
    table = text[text.index("How far from the best possible") :]
    for name in ("makespan", "mean completion"):
        assert [shown == "–" for shown in cells(table, name)[1:-1]] == [False, False, True, True]
    page = Page(text)
    assert "Stopped before all jobs were complete: stopped" in page.text
    assert "j3: no room (odd)" in page.text
    assert cells(text, "not complete") == [
        "0",
        "0",
        str(metrics.summary(stopped)["unfinished"]),
        "0",
    ]


def test_rejected_jobs_are_listed_once(tmp_path: Path) -> None:
    jobs = [Job(id="a", gpus=1, work=10), Job(id="b", gpus=9, work=10)]
    run = run_of(jobs, [Segment(0, 0, 10, {0: 1})], sizes=[2], rejected={1: "too wide"})
    cluster = Cluster.of_sizes([2])
    bound = online_bound(CompletionTime(Instance(cluster, jobs[:1]), "flow"))
    text = written(
        tmp_path,
        {"x": run, "y": run},
        instance=Instance(cluster, jobs),
        rejected=[("row7", "no GPUs")],
        notes=["Read 9 rows"],
        bounds={"flow": bound},
    )
    page = Page(text)
    assert "2 rejected jobs, not run row7: no GPUs b: too wide" in page.text
    assert "Read 9 rows" in page.text
    table = text[text.index("How far from the best possible") :]
    assert cells(table, "mean completion")[1] == "1.000"


def test_rules_are_said_once_where_they_are_the_same(tmp_path: Path, runs: dict[str, Run]) -> None:
    page = Page(written(tmp_path, runs))
    assert page.text.count("round_length 10 s, lease 30 s, overhead 0 s") == 1
    assert "all policies" in page.text
    other = replace(runs["second"], rules=replace(runs["second"].rules, synchronous=False))
    page = Page(written(tmp_path, {**runs, "third": other}))
    assert page.text.count("round_length 10") == 2
    assert "first, second" in page.text


# --- the file ------------------------------------------------------------------------------------


def test_everything_is_inside(
    tmp_path: Path, runs: dict[str, Run], bounds: dict[str, Bound]
) -> None:
    text = written(tmp_path, runs, bounds=bounds)
    assert Page(text).tags.count("svg") == 5  # two of them nodes over time
    assert "data:image/png;base64," in text  # the maps are pictures
    assert_self_contained(text)


def test_only_timings_differ(tmp_path: Path, runs: dict[str, Run]) -> None:
    slower = {name: replace(run, runtime=run.runtime + 1) for name, run in runs.items()}
    pages = [written(tmp_path, made) for made in (runs, slower)]
    assert pages[0] != pages[1]
    assert untimed(pages[0]) == untimed(pages[1])


def test_everything_is_escaped(tmp_path: Path) -> None:
    jobs = [Job(id=EVIL, gpus=9, user=EVIL, work=10), Job(id="b", gpus=1, user=EVIL, work=10)]
    run = run_of(
        jobs,
        [Segment(1, 0, 10, {0: 1})],
        sizes=[2],
        users=[User(EVIL)],
        rejected={0: EVIL},
        policy=EVIL,
    )
    run = replace(run, parameters={EVIL: EVIL}, versions={EVIL: EVIL}, instance_name=EVIL)
    instance = Instance(Cluster.of_sizes([2]), jobs, [User(EVIL)], name=EVIL)
    text = written(
        tmp_path, {EVIL: run}, instance=instance, title=EVIL, notes=[EVIL], rejected=[(EVIL, EVIL)]
    )
    assert_escaped(text, times=12)


def test_the_nodes_of_long_runs_are_drawn_without_unpacking_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay_report.gantt_data, "MOST_BARS", 3_500)
    cluster = Cluster.uniform(nodes=2, gpus_per_node=4)
    jobs = [Job(id=f"j{k}", gpus=1, work=60, release=60 * k) for k in range(4_000)]
    found = replay(Instance(cluster, jobs), {"fifo": Fifo()}, effort="quick")
    run = found.runs["fifo"]
    vars(run.schedule).pop("node", None)
    assert run.schedule.entries > replay_report.MOST_STILL_BARS
    replay_report._schedules(found)
    assert "node" not in vars(run.schedule)


@pytest.mark.slow
def test_long_runs_stay_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    jobs = [
        Job(id=f"j{j}", gpus=gpus, release=200 * j, work=work, user=USERS[j % 2].id)
        for j, (gpus, work) in enumerate(rng.integers(1, (9, 10**4), (60_000, 2)).tolist())
    ]
    run = drive(Instance(Cluster.of_sizes([64, 64]), jobs, USERS), Fifo())
    runs = {f"p{k}": run for k in range(12)}
    assert len(written(tmp_path, runs, instance=run.require_instance())) < 1_500_000


# --- several GPU models --------------------------------------------------------------------------

MIXED = Instance(
    Cluster([Node("n0", 4, "k80"), Node("n1", 4, "v100")]),
    [
        Job(
            id=f"m{i}",
            gpus=1,
            user=USERS[i % 2].id,
            release=60 * i,
            work=9000,
            speeds={"k80": 1, "v100": 2 + 2 * (i % 2)},
        )
        for i in range(16)
    ],
    USERS,
)


@pytest.fixture(scope="module")
def mixed() -> Replay:
    rules = Rules(lease=60, overhead=0, migration=5)
    return replay(MIXED, {"fifo": Fifo(), "gandiva-fair": GandivaFair()}, rules=rules)


def test_a_replay_on_several_models(mixed: Replay) -> None:
    assert set(mixed.bounds) == {"makespan", "completion", "flow", "slowdown"}
    assert "prices" in mixed.bounds["flow"].certificate
    for row in mixed.rows:
        assert all(ratio is not None and ratio >= 1 for ratio in row.ratios.values())
        assert row.measures["mean_slowdown"] >= 1
        assert list(row.users) == ["alice", "bob"]
    assert mixed.fairness == ()
    log = mixed.rows[1].run.log
    undone = sum(entry["rate"] < 0 for entry in log)
    assert 0 < undone < len(log)
    reason, trades = remarks(mixed)
    assert "so no bound of rho is given" in reason
    made = len(log) - undone
    assert trades == f"Trades of GPU models: gandiva-fair made {made}, undid {undone}."
    data = mixed.to_dict()
    assert data["remarks"] == [reason, trades]
    assert data["rows"][1]["log"] == list(log)
    assert "log" not in data["rows"][0]


def test_the_report_of_several_models(tmp_path: Path, mixed: Replay) -> None:
    runs, log = mixed.runs, mixed.rows[1].run.log
    path = tmp_path / "replay.html"
    write_replay_report(path, mixed, title="A title")
    text = path.read_text("utf-8")
    page = Page(text)
    slow = [metrics.summary(run)["mean_slowdown"] for run in runs.values()]
    measures = text[text.index('id="measures"') :]
    assert cells(measures, "mean slowdown")[:2] == [f"{value:,.2f}" for value in slow]
    held = [metrics.user_attained_time(run, [run.now])[1, 0] / run.now for run in runs.values()]
    work = [metrics.user_work(run)[1] for run in runs.values()]
    shares = [metrics.user_work_rho(run)[1] for run in runs.values()]
    wanted = [f"{v:.2f}" for row in zip(held, work, shares, strict=True) for v in row]
    assert cells(text, "bob") == wanted
    rows = re.findall(r"<tr><td>[\d,]+ s</td>.*?</tr>", text)
    assert len(rows) == len(log)
    assert [">undone<" in row for row in rows] == [entry["rate"] < 0 for entry in log]
    assert {row.split("</td><td>")[2] for row in rows} == {
        USERS[entry["buyer"]].id for entry in log
    }
    assert remarks(mixed)[1] in page.text
    assert "how far from the best possible" in text.lower()


def test_a_run_is_given_its_own_instance_only(mixed: Replay) -> None:
    old = replace(mixed.runs["fifo"], instance=None)
    assert old.attach(MIXED) == mixed.runs["fifo"]
    with pytest.raises(ValueError, match="run of 'fifo': it is of another instance"):
        old.attach(INSTANCE)


def test_long_trade_logs_are_cut(
    tmp_path: Path, mixed: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_report, "MOST_TRADES", 2)
    text = written(tmp_path, mixed.runs, instance=MIXED)
    assert len(re.findall(r"<tr><td>[\d,]+ s</td>.*?</tr>", text)) == 2
    assert "The first 2 of them:" in text
