"""Descriptions of traces: numbers worked by hand, the panels of the picture, a real trace."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from gangsched.analysis.show import plots
from gangsched.analysis.show.describe import LEVELS, describe
from gangsched.analysis.show.describe_plot import draw
from gangsched.instances import Cluster, Instance, Job, ReadReport, Trace, User
from gangsched.instances.generate import venus_workload
from gangsched.instances.traces import read_philly_csv
from hand_run import INSTANCE, hand_run

MEDIAN, MOST = LEVELS.index(0.5), LEVELS.index(1.0)


def trace(*jobs: Job) -> Trace:
    users = tuple(User(id) for id in sorted({job.user for job in jobs if job.user}))
    return Trace(name="log", jobs=jobs, users=users, report=ReadReport(read=len(jobs)))


def job(id: str, gpus: int, work: int, release: int = 0, user: str = "") -> Job:
    return Job(id=id, gpus=gpus, work=work, release=release, user=user)


# 1 + 1 + 2 + 4 + 5 + 8 + 16 GPUs; run times on and around the limits of Table 1
STUDY = trace(
    job("a", 1, 599),
    job("b", 1, 600),
    job("c", 2, 3_599),
    job("d", 4, 21_600),
    job("e", 5, 86_399),
    job("f", 8, 86_400),
    job("h", 1, 7),
    job("g", 16, 600_000, release=100),
)


def test_run_times_below_the_limits_of_table_1() -> None:
    found = describe(STUDY)
    # strictly below 10 min: a, h; 1 h: a, b, c, h; 6 h: the same; 1 d: also d, e; 6 d: also f
    assert found.all.below == (2 / 8, 4 / 8, 4 / 8, 6 / 8, 7 / 8)
    assert found.groups[0].below == (2 / 3, 1, 1, 1, 1)
    assert found.groups[1].below == (0, 1 / 2, 1 / 2, 1, 1)


def test_shares_of_jobs_and_of_gpu_time() -> None:
    found = describe(STUDY)
    assert [(group.gpus, group.jobs) for group in found.groups] == [
        ("1", 3),
        ("2–4", 2),
        ("5–8", 2),
        ("over 8", 1),
    ]
    seconds = [599 + 600 + 7, 2 * 3_599 + 4 * 21_600, 5 * 86_399 + 8 * 86_400, 16 * 600_000]
    assert [group.gpu_seconds for group in found.groups] == seconds
    assert found.all.gpu_seconds == sum(seconds)
    assert [(size.gpus, size.jobs) for size in found.sizes] == [
        (1, 3), (2, 1), (4, 1), (5, 1), (8, 1), (16, 1),
    ]  # fmt: skip
    assert found.sizes[0].gpu_seconds == seconds[0]
    assert (found.span, found.users, found.unfinished) == (100, 1, 0)


def test_quantiles_are_values_that_occur() -> None:
    found = describe(STUDY)
    # 7, 599, 600, 3599 | 21600, ...: the fourth of eight
    assert found.all.run_time[MEDIAN] == 3_599
    assert found.all.run_time[0] == 7
    assert found.all.run_time[MOST] == 600_000
    assert found.groups[1].service[MEDIAN : MEDIAN + 2] == (7_198, 86_400)
    hundred = describe(trace(*(job(f"j{i}", 1, i + 1) for i in range(100)))).all
    assert hundred.run_time[1:100] == tuple(range(1, 100))  # level k/100 is the k-th of a hundred


def test_a_trace_tells_no_waits() -> None:
    found = describe(STUDY)
    assert {(group.pending, group.slowdown) for group in found.groups} == {(None, None)}
    assert (found.replay, found.usage.quota, found.usage.share) == ("", None, None)


def test_demand_is_as_if_every_job_started_when_submitted() -> None:
    found = describe(
        trace(
            job("a", 2, 5_400, release=1_800, user="u"),  # half of hour 0, all of hour 1
            job("b", 4, 10**9, release=9_000, user="u"),  # half of hour 2, the last submission's
            job("c", 1, 3_600, release=9_000, user="v"),
        )
    ).usage
    assert found.users == ("u", "v")
    assert found.bin == 3_600
    assert found.gpus.tolist() == [[1, 2, 2], [0, 0, 0.5]]


def test_quotas_are_the_weights_part_of_the_cluster() -> None:
    jobs = [job("a", 2, 3_600, user="u"), job("b", 6, 3_600, user="v")]
    users = [User("u"), User("v", weight=3), User("idle", weight=4)]
    found = describe(Instance(Cluster.of_sizes([8, 8]), jobs, users)).usage
    # 16 GPUs by 1 : 3 : 4; users with most GPU time come first
    assert found.users == ("v", "u")
    assert found.quota is not None
    assert found.quota.tolist() == [6, 2]
    assert found.share is not None
    assert found.share.tolist() == [[1], [1]]
    alone = describe(Instance(Cluster.of_sizes([8, 8]), jobs)).usage
    assert alone.users == ("",)
    assert alone.quota is not None
    assert (alone.quota.tolist(), alone.gpus.tolist()) == ([16], [[8]])


def test_users_with_least_gpu_time_are_left_out() -> None:
    jobs = [job(f"j{i}", 1 + i, 60, user=f"u{i:02}") for i in range(18)]
    found = describe(trace(*jobs))
    assert found.users == 18
    assert found.usage.users == tuple(f"u{i:02}" for i in range(17, 1, -1))
    assert found.usage.gpus[0, 0] == 18 * 60 / 3_600


def test_a_long_time_has_longer_bins() -> None:
    jobs = [job("a", 1, 7_200), job("b", 3, 60, release=15_000 * 3_600)]
    usage = describe(trace(*jobs)).usage
    assert usage.bin == 7_200
    assert usage.gpus.shape == (1, 7_501)
    assert usage.gpus[0, :2].tolist() == [1, 0]
    assert usage.gpus[0, -1] == 3 * 60 / 7_200


# --- with a replay -------------------------------------------------------------------------------


def test_waits_come_from_the_replay() -> None:
    """Jobs a, b, d, e end at 200, 110, 235, 305; c cannot run."""
    found = describe(INSTANCE, hand_run())
    assert found.replay == hand_run().policy
    assert found.unfinished == 1
    one, few, node, wide = found.groups
    # d: 235 - 60 - 150; e: 305 - 31 - 100
    assert one.pending is not None
    assert {one.pending[0], one.pending[MOST]} == {25, 174}
    assert one.slowdown is not None
    assert (one.slowdown[0], one.slowdown[MOST]) == (pytest.approx(175 / 150), 274 / 100)
    assert few.pending is not None
    assert set(few.pending) == {50}
    assert few.slowdown is not None
    assert set(few.slowdown) == {2}
    assert node.pending is not None
    assert set(node.pending) == {0}
    assert (wide.jobs, wide.pending, wide.slowdown) == (1, (), ())
    assert found.all.pending is not None
    assert found.all.pending[MEDIAN] == 25  # 0, 25 | 50, 174


def test_use_comes_from_the_replay() -> None:
    usage = describe(INSTANCE, hand_run()).usage
    assert usage.users == ("u", "v")
    # u: 6 GPUs for 200 s; v: 2 for 50 s and 1 for 60 + 115 + 120 + 65 s
    assert usage.gpus.tolist() == [[pytest.approx(1_200 / 3_600)], [pytest.approx(460 / 3_600)]]
    assert usage.quota is not None
    assert usage.quota.tolist() == [2.5, 7.5]


def test_a_replay_of_other_jobs_is_refused() -> None:
    other = replace(INSTANCE, jobs=INSTANCE.jobs[:4], name="four")
    with pytest.raises(ValueError, match=r"run of '.*': its jobs are not those of 'four'"):
        describe(other, hand_run())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (trace(), "'log': there are no jobs to describe"),
        (trace(Job(id="x", gpus=1)), "job 'x': work=None, a description needs run times"),
        (
            Instance(Cluster.of_sizes([1]), [job("x", 1, 1)], slot=60, name="slots"),
            "'slots': slot=60, a description needs times in seconds",
        ),
    ],
)
def test_what_cannot_be_described_is_refused(source: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        describe(source)


# --- what is written -----------------------------------------------------------------------------


def test_the_plain_data_hold_everything() -> None:
    data = json.loads(json.dumps(describe(INSTANCE, hand_run()).to_dict()))
    assert [group["gpus"] for group in data["groups"]] == ["all", "1", "2–4", "5–8", "over 8"]
    assert data["groups"][0]["jobs"] == 5
    assert len(data["groups"][0]["run_time"]) == len(data["levels"]) == len(LEVELS)
    assert data["groups"][4]["pending"] == []
    assert data["limits"] == [600, 3_600, 21_600, 86_400, 518_400]
    assert data["usage"]["kind"] == "in use"
    assert data["usage"]["gpus"][0] == [0.333333]
    plain = describe(STUDY).to_dict()
    assert (plain["replay"], plain["usage"]["kind"]) == (None, "demanded")
    assert plain["groups"][0]["pending"] is None


def test_the_text_has_the_shares() -> None:
    lines = str(describe(STUDY)).splitlines()
    assert lines[0] == "log: 8 jobs, users 1, 0.0 days"
    assert lines[1] == "run time below 10 min 25.0%, 1 h 50.0%, 6 h 50.0%, 1 d 75.0%, 6 d 87.5%"
    assert lines[2] == "GPUs 1: 37.5% of jobs, 0.0% of GPU time"


def words(figure: Figure) -> list[str]:
    return re.findall(r">([^<]+)</text>", plots.to_svg(figure))


def test_the_picture_says_what_a_trace_does_not_record() -> None:
    seen = words(draw(describe(STUDY)))
    assert seen.count("not recorded in the trace;") == 2  # pending time and slowdown
    assert "GPUs wanted if every job began when submitted, by user" in seen
    assert {"1", "2–4", "5–8", "over 8"} <= set(seen)


def test_the_picture_of_a_replay_has_its_waits() -> None:
    figure = draw(describe(INSTANCE, hand_run()))
    seen = words(figure)
    assert "not recorded in the trace;" not in seen
    assert "GPUs in use, by user, relative to the quota" in seen
    slowdown = figure.axes[4]
    (curve,) = [line for line in slowdown.lines if line.get_label() == "2–4"]
    assert set(np.asarray(curve.get_xdata())) == {2.0}
    assert not [line for line in slowdown.lines if line.get_label() == "over 8"]  # unfinished


def test_many_sizes_share_bars() -> None:
    figure = draw(describe(trace(*(job(f"j{i}", i, 60) for i in range(1, 41)))))
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["1", "2", "≤4", "≤8", "≤16", "≤32", "≤40"]
    heights = [bar.get_height() for bar in figure.axes[0].patches[:7]]
    assert heights == pytest.approx([n / 40 for n in (1, 1, 2, 4, 8, 16, 8)])


def test_foreign_names_are_text_and_the_picture_is_the_same_again() -> None:
    jobs = [job("a", 1, 60, user="<$\\frac$> & a name much too long"), job("b", 2, 9, user="ü")]
    one, two = (plots.to_svg(draw(describe(trace(*jobs)))) for _ in range(2))
    assert one == two
    assert "&lt;$\\frac$&gt; &amp; a…" in one


# --- whole traces --------------------------------------------------------------------------------


def test_a_large_workload_has_a_small_picture(tmp_path: Path) -> None:
    found = describe(venus_workload())
    plots.save(draw(found), tmp_path / "venus.svg")
    assert (tmp_path / "venus.svg").stat().st_size < 500_000


@pytest.mark.slow
def test_the_passed_jobs_of_philly(traces: Path) -> None:
    found = describe(read_philly_csv(traces / "philly" / "philly.csv.gz"))
    # counted in the file on its own, see the traces' calibration
    assert found.all.jobs == 69_089
    assert found.groups[0].jobs / 69_089 == pytest.approx(0.9436, abs=5e-5)
    assert found.all.run_time[MEDIAN] == 1_347
    assert found.all.below == pytest.approx((0.3682, 0.7658, 0.9366, 0.9710, 0.9966), abs=5e-5)
    service = [group.gpu_seconds / found.all.gpu_seconds for group in found.groups]
    assert service == pytest.approx([0.2192, 0.2112, 0.4145, 0.1552], abs=1e-4)
