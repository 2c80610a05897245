"""GENIE: waiting allowances, the lowest class, and gangs that stretch."""

from driven import ends
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, DeadlineJob, Instance, TargetMetric
from gangsched.solvers.unisched.genie import Genie


def job(name: str, gpus: int, work: int, *due: int, release: int = 0) -> DeadlineJob:
    """A job whose deadlines are worth less and less."""
    rewards = [(time, 100.0 - i) for i, time in enumerate(due)]
    return DeadlineJob(id=name, gpus=gpus, work=work, release=release, rewards=rewards, scaling=0.5)


def run_of(policy: Genie, gpus: int, *jobs: DeadlineJob) -> Run:
    """The run on one node."""
    return drive(Instance(Cluster.of_sizes([gpus]), jobs), policy)


def test_who_can_wait_least_goes_first() -> None:
    """Allowances 540 and 100, though the first has the earlier deadline."""
    assert ends(Genie(), 1, job("a", 1, 60, 600), job("b", 1, 600, 700)) == [660, 600]


def test_a_job_that_misses_all_goes_by_release_with_best_effort() -> None:
    jobs = [job("any", 1, 60), job("late", 1, 60, 30), job("due", 1, 60, 9999)]
    assert ends(Genie(), 1, *jobs) == [120, 180, 60]


def test_the_next_deadline_counts_when_the_first_is_lost() -> None:
    """Allowances 40 of the second deadline against 200."""
    assert ends(Genie(), 1, job("a", 1, 60, 260), job("b", 1, 60, 50, 100)) == [120, 60]


def test_users_state_the_most_epochs() -> None:
    """By its real run time of 60 s the job could wait for 140 s; it says 180 s, and 20."""
    metric = TargetMetric(target=0.9, max_epochs=3, curve=[0.95])
    early = DeadlineJob(id="b", gpus=1, work=60, rewards=[(200, 100.0)], stopping=metric)
    assert ends(Genie(), 1, job("a", 1, 60, 120), early) == [120, 60]


def test_best_effort_jobs_starve() -> None:
    stream = [job(f"j{i}", 1, 60, 200, release=60 * i) for i in range(40)]
    assert ends(Genie(), 1, job("any", 1, 30), *stream)[0] == 40 * 60 + 30


def test_elastic_takes_the_fewest_gpus_that_are_in_time() -> None:
    """f(1) = 1, f(2) = 4/3, f(4) = 8/5: 300 s on 2 GPUs are 400 on 1 and 250 on 4."""
    for due, gpus, end in ((400, 1, 400), (399, 2, 300), (299, 4, 250), (249, 2, 300)):
        run = run_of(Genie(elastic=True), 4, job("a", 2, 300, due))
        assert run.records.end.tolist() == [end]
        assert run.schedule.gpus.tolist() == [gpus]


def test_elastic_leaves_best_effort_jobs_their_gang() -> None:
    assert run_of(Genie(elastic=True), 4, job("a", 2, 300)).schedule.gpus.tolist() == [2]


def test_an_elastic_job_that_has_waited_too_long_takes_its_gang() -> None:
    """It needs 4 GPUs, of which 2 are taken until 600; after 120 - 50 s it is late on any."""
    jobs = [job("first", 2, 600), job("b", 2, 60, 55, release=1)]
    run = run_of(Genie(elastic=True), 4, *jobs)
    assert run.records.first.tolist() == [0, 60]
    jobs = [job("first", 2, 600), job("b", 2, 60, 175, release=1)]  # 4 GPUs: 50 s from 120 at last
    assert run_of(Genie(elastic=True), 4, *jobs).records.first.tolist() == [0, 60]
    jobs = [job("first", 2, 600), job("b", 2, 120, 180, release=1)]  # on 4 by 160, on 2 by 180
    assert run_of(Genie(elastic=True), 4, *jobs).records.first.tolist() == [0, 60]
    jobs = [job("first", 2, 600), job("b", 2, 120, 175, release=1)]  # only on 4, until 76
    assert run_of(Genie(elastic=True), 4, *jobs).records.first.tolist() == [0, 120]
