"""Other clusters and loads: the same jobs in all cases, each as a replay by itself."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import gangsched as gs
from gangsched.analysis.comparing.what_if import at_load, what_if
from gangsched.analysis.show import plots, what_if_table
from gangsched.cli import main
from gangsched.instances import Cluster, Instance, Job
from gangsched.solvers import Fifo, Srtf

CLUSTERS = {f"{n}x4": Cluster.uniform(nodes=n, gpus_per_node=4) for n in (1, 2, 3)}


def some_jobs(seed: int, widest: int = 4) -> list[Job]:
    rng = random.Random(seed)
    return [
        Job(id=str(j), gpus=rng.choice([1, 2, widest]), work=rng.randint(60, 4000),
            release=rng.randint(0, 3000))
        for j in range(12)
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_each_case_is_the_replay_of_its_cluster_and_load(seed: int) -> None:
    instance = Instance(CLUSTERS["1x4"], some_jobs(seed))
    policies = {"fifo": Fifo(), "srtf": Srtf()}
    found = what_if(instance, CLUSTERS, policies, loads=(1, 2))
    assert [(case.cluster, case.load) for case in found.cases] == [
        (name, load) for name in CLUSTERS for load in (1, 2)
    ]
    first = min(job.release for job in instance.jobs)
    for case in found.cases:
        jobs = [
            Job(id=job.id, gpus=job.gpus, work=job.work,
                release=first + (job.release - first) // int(case.load))
            for job in instance.jobs
        ]  # fmt: skip
        alone = gs.replay(Instance(CLUSTERS[case.cluster], jobs), list(policies))
        assert [row.measures for row in case.found.rows] == [row.measures for row in alone.rows]
        assert case.found.bounds["flow"].value == alone.bounds["flow"].value
    bounds = [case.found.bounds["flow"].value for case in found.cases if case.load == 1]
    assert bounds == sorted(bounds, reverse=True)
    least = [row["least"] for row in what_if_table.table(found).rows]
    for value, row in zip(least, what_if_table.table(found).rows, strict=True):
        assert value <= row["mean_completion"]


def test_jobs_that_some_cluster_has_no_room_for_are_in_no_case(tmp_path: Path) -> None:
    jobs = [*some_jobs(1), Job(id="wide", gpus=8, work=100)]
    found = what_if(Instance(CLUSTERS["2x4"], jobs), CLUSTERS, {"fifo": Fifo()})
    assert found.left_out == 1
    assert {len(case.found.instance.jobs) for case in found.cases} == {12}
    assert len(what_if_table.answer(found)) == 2
    plots.save(what_if_table.picture(found), tmp_path / "cases.svg")
    assert "impossible for any policy, certified" in (tmp_path / "cases.svg").read_text("utf-8")


def test_deadlines_and_loads_that_are_none_are_refused() -> None:
    due = gs.DeadlineJob(id="a", gpus=1, work=10, release=5, rewards=[(20, 1.0)])
    one = Instance(CLUSTERS["1x4"], [due])
    assert at_load(one, 1) is one
    with pytest.raises(ValueError, match="jobs have deadlines"):
        at_load(one, 2)
    with pytest.raises(ValueError, match="load=0"):
        at_load(one, 0)


def run(args: list[str]) -> int:
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_the_command_names_what_more_nodes_bring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    rows = [f"{j.id},{j.gpus},{j.release},{j.work}" for j in some_jobs(3)]
    log.write_text("\n".join(["id,gpus,submit,duration", *rows]) + "\n", "utf-8")
    out = tmp_path / "out.json"
    base = ["what-if", str(log), "--nodes", "1x4", "--nodes", "2x4", "--policies", "easy"]
    assert run([*base, "--json", str(out), "--picture", str(tmp_path / "p.png")]) == 0
    text = capsys.readouterr().out
    assert "easy: mean completion" in text
    assert "Any policy: at least" in text
    assert [case["cluster"] for case in json.loads(out.read_text())["cases"]] == ["1x4", "2x4"]
    for wrong in (["--load", "x"], ["--load", "0"], ["--nodes", "0x4"], ["--nodes", "3"]):
        assert run([*base, *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
