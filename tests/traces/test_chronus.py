"""The Chronus reader on files made here in the documented format, then on the real samples."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from gangsched.instances import DeadlineJob, User
from gangsched.instances.traces import read_chronus
from log_files import FORMATS, text

HEADER, row = FORMATS["chronus"].header, FORMATS["chronus"].row


def test_minutes_become_seconds(tmp_path: Path) -> None:
    rows = [
        row(job_id=5, submit_time=12, duration=96, user="vc_b", job_type="best", best_effort=1),
        row(
            job_id=6,
            submit_time=7.5,
            num_gpu=1,
            job_type="soft",
            expect_time_list="30-40.5-50-60",
            expect_value_list="10-8-5-2",
        ),
        row(job_id=7, submit_time=12),
    ]
    trace = read_chronus(text(tmp_path / "mix.csv", HEADER, *rows))
    # on two nodes: (.22 + 138.4 / 2500) / (.22 + 138.4 / 1250) = .27536 / .33072
    job = partial(DeadlineJob, gpus=2, release=270, split_speed=0.832608)
    soft = (1800, 100), (2430, 80), (3000, 50), (3600, 20)
    assert trace.jobs == (
        DeadlineJob(id="6", gpus=1, user="vc_a", release=0, work=1200, rewards=soft),
        job(id="5", user="vc_b", work=5760),  # the placeholders of a best-effort job are ignored
        job(id="7", user="vc_a", work=1200, rewards=[(1800, 100)]),
    )
    assert trace.users == (User("vc_a"), User("vc_b"))
    assert trace.origin is None
    assert str(trace.report) == (
        "3 rows read, 3 jobs; out of order: 1 [line 3], sorted; "
        "job_type of the jobs: best: 1, soft: 1, strict: 1"
    )


def test_rewards_are_scaled(tmp_path: Path) -> None:
    path = text(tmp_path / "x.csv", HEADER, row(expect_value_list="8"))
    values = [read_chronus(path, top_reward=top).jobs[0].rewards for top in (100, 10, "1")]
    assert values == [((1800, 80.0),), ((1800, 8.0),), ((1800, 0.8),)]


def test_speeds_on_several_nodes_are_the_slowest_tabulated(tmp_path: Path) -> None:
    info = {"vgg16": {"2": {"1": 1.0, "2": 0.9}, "4": {"1": 1, "2": 0.7, "4": 0.4}}}
    info["alexnet"] = {"2": {"1": 1.0, "2": 1.02}}
    (tmp_path / "info.json").write_text(json.dumps(info))
    rows = [
        row(job_id=i, num_gpu=gpus, model_name=model)
        for i, (gpus, model) in enumerate(
            [(1, "vgg16"), (2, "vgg16"), (3, "vgg16"), (4, "vgg16"), (12, "vgg16"), (2, "alexnet")]
        )
    ]
    path = text(tmp_path / "x.csv", HEADER, *rows)
    for given in (info, tmp_path / "info.json", str(tmp_path / "info.json")):
        jobs = read_chronus(path, model_info=given).jobs
        assert [job.split_speed for job in jobs] == [1.0, 0.9, 0.4, 0.4, 0.4, 1.0]


WRONG_OPTIONS = {
    "word": ({"top_reward": "x"}, "top_reward='x' is not a number"),
    "zero": ({"top_reward": 0}, "top_reward=0 is not positive"),
    "no table": ({"model_info": {}}, "model_info: {} is not an object with entries"),
    "no sizes": ({"model_info": {"vgg16": {}}}, "model_info: vgg16: {} is not an object"),
    "size": ({"model_info": {"vgg16": {"two": {"1": 1}}}}, "vgg16: two is not a gang size"),
    "speed": ({"model_info": {"vgg16": {"2": {"2": 0}}}}, "vgg16: 2: 2=0 is not positive"),
    "model": (
        {"model_info": {"bert": {"2": {"1": 1}}}},
        "line 2: model_name='vgg16' is not one of 'bert'",
    ),
}


@pytest.mark.parametrize(("options", "message"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS)
def test_wrong_options_are_refused(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    path = text(tmp_path / "x.csv", HEADER, row())
    with pytest.raises(ValueError, match=re.escape(message)):
        read_chronus(path, **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "no_gpus"), [("SLO", 205), ("MIX2", 194)])
def test_the_real_workloads(traces: Path, name: str, no_gpus: int) -> None:
    trace = read_chronus(traces / "chronus" / f"trace_job_Philly_{name}.csv.gz")
    assert trace.report.read == 30_940
    assert trace.report.skipped == {"no GPUs": no_gpus}
    works = [job.work or 0 for job in trace.jobs]
    assert (min(works), max(works)) == (20 * 60, 4_317 * 60)
    assert max(job.gpus for job in trace.jobs) == 32
    assert 13 * 86_400 < trace.jobs[-1].release <= (20_151 - 1) * 60
    assert len(trace.users) == 11
    note = next(note for note in trace.report.notes if note.startswith("job_type"))
    assert (", soft: " in note) == (name == "MIX2")
    jobs = [job for job in trace.jobs if isinstance(job, DeadlineJob)]
    assert len(jobs) == len(trace.jobs)
    assert {tuple(value for _, value in job.rewards) for job in jobs} == (
        {(100.0,), (100.0, 80.0, 50.0, 20.0), ()} if name == "MIX2" else {(100.0,)}
    )
    slack = [job.rewards[0][0] / (job.work or 1) for job in jobs if job.rewards]
    assert 1.1 <= min(slack) < 1.11
    assert 4.9 < max(slack) <= 5.0
    info = traces / "chronus" / "model_info.json"
    again = read_chronus(traces / "chronus" / f"trace_job_Philly_{name}.csv.gz", model_info=info)
    speeds = {job.split_speed for job in again.jobs if isinstance(job, DeadlineJob)}
    assert min(speeds) == pytest.approx(0.26089, abs=1e-5)  # vgg16, 8 GPUs on 4 nodes
