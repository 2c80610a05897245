"""Hydra: classes, and the shortest first."""

from driven import dated as job
from driven import ends
from gangsched.solvers.unisched.hydra import Hydra


def test_the_shortest_with_a_deadline_goes_first() -> None:
    jobs = [job("short", 1, 60), job("long", 1, 300, 9999), job("due", 1, 120, 9999)]
    assert ends(Hydra(), 1, *jobs) == [480, 420, 120]


def test_a_missed_deadline_does_not_change_the_class() -> None:
    assert ends(Hydra(), 1, job("any", 1, 60), job("late", 1, 60, due=1)) == [120, 60]


def test_nobody_is_stopped_and_who_does_not_fit_is_skipped() -> None:
    jobs = [job("first", 1, 300), job("wide", 2, 60, 400, release=30), job("thin", 1, 60, 0, 30)]
    assert ends(Hydra(), 2, *jobs) == [300, 360, 120]


def test_best_effort_jobs_wait_as_long_as_others_arrive() -> None:
    stream = [job(f"j{i}", 1, 60, 999, release=60 * i) for i in range(50)]
    assert ends(Hydra(), 1, job("any", 1, 30), *stream)[0] == 50 * 60 + 30
