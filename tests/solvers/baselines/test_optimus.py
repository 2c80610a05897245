"""Optimus: cycles, remaining times, and GPUs by marginal gain."""

from typing import Any

from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, DeadlineJob, Instance, Job
from gangsched.solvers.unisched.optimus import Optimus, shares


def test_it_decides_every_ten_minutes_only() -> None:
    jobs = [Job(id="long", gpus=1, work=1800), Job(id="short", gpus=1, work=60, release=60)]
    run = drive(Instance(Cluster.of_sizes([1]), jobs), Optimus(), overhead=20)
    assert run.records.first.tolist() == [0, 600]
    assert run.records.end.tolist() == [1200 + 20 + 1200, 660]  # the GPU is idle up to 1200


def test_long_jobs_wait_as_long_as_shorter_ones_fill_the_cluster() -> None:
    stream = [Job(id=f"j{i}", gpus=1, work=600, release=600 * i) for i in range(20)]
    jobs = [Job(id="long", gpus=1, work=601), *stream]
    run = drive(Instance(Cluster.of_sizes([1]), jobs), Optimus())
    assert run.records.first[0] == 20 * 600


def test_a_gpu_goes_where_it_shortens_the_remaining_time_most() -> None:
    """c = 1/2: 1 / f = 1, 3/4, 2/3, 5/8; per GPU 1/4, 1/12, 1/24 of the time on one GPU."""
    a = DeadlineJob(id="a", gpus=1, work=60, scaling=0.5)
    b = DeadlineJob(id="b", gpus=2, work=300, scaling=0.5)
    rows: list[tuple[int, Any, int, bool]] = [(0, a, 60, False), (1, b, 300, False)]
    # a: 15; b, of 400 s on one GPU: 100, 33.3, 16.7
    assert [shares(rows, n) for n in range(1, 8)] == [
        {0: 1},
        {0: 1, 1: 1},
        {0: 1, 1: 2},
        {0: 1, 1: 3},
        {0: 1, 1: 4},
        {0: 2, 1: 4},
        {0: 2, 1: 4},
    ]
    young: list[tuple[int, Any, int, bool]] = [(0, a, 66, False), (1, b, 300, True)]
    assert shares(young, 5) == {0: 2, 1: 3}  # 16.5 against 0.95 * 16.7


def test_plain_jobs_keep_their_gang() -> None:
    plain, elastic = Job(id="a", gpus=3, work=60), DeadlineJob(id="b", gpus=2, work=60)
    rows: list[tuple[int, Any, int, bool]] = [(0, plain, 60, False), (1, elastic, 60, False)]
    assert shares(rows, 5) == {0: 3, 1: 2}
    assert shares(rows, 2) == {1: 2}


def test_a_gpu_that_does_not_help_is_not_given() -> None:
    slow = DeadlineJob(id="a", gpus=2, work=60, scaling=1.0)
    assert shares([(0, slow, 60, False)], 4) == {0: 1}


def test_a_resized_job_pays_the_overhead() -> None:
    """Alone on 2 GPUs, twice as fast, up to 600; on one while the other runs; then on 2 again."""
    jobs = [
        DeadlineJob(id="a", gpus=1, work=1800, scaling=0),
        DeadlineJob(id="b", gpus=1, work=600, scaling=0, release=300),
    ]
    run = drive(Instance(Cluster.of_sizes([2]), jobs), Optimus(elastic=True), overhead=20)
    assert run.schedule.gpus.tolist() == [2, 1, 1, 2]
    assert run.records.end.tolist() == [1200 + 20 + (600 - 580) // 2, 1200]
