"""The compiled schedules against stepping through time, and against themselves uncompiled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.analysis.proofs.fast_machine import run

JOBS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8), st.integers(0, 3)), max_size=8)


def stepped(jobs: list[tuple[int, int, int]], *, shortest: bool) -> list[int]:
    """Which job runs in each unit of time; -1 for none."""
    left = [size for _, size, _ in jobs]
    ran: list[int] = []
    while any(left):
        ready = [j for j, (release, _, _) in enumerate(jobs) if release <= len(ran) and left[j]]
        chosen = min(ready, key=lambda j: (left[j] if shortest else jobs[j][2], j), default=-1)
        if chosen >= 0:
            left[chosen] -= 1
        ran.append(chosen)
    return ran


def columns(jobs: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array([job[i] for job in jobs], dtype=np.int64) for i in range(3)]


@pytest.mark.parametrize("shortest", [True, False])
@given(jobs=JOBS)
def test_it_runs_what_stepping_through_time_runs(
    jobs: list[tuple[int, int, int]], shortest: bool
) -> None:
    release, size, key = columns(jobs)
    job, start, end = run(release, size, None if shortest else key)
    ran = [-1] * int(end.max(initial=0))
    for j, s, e in zip(job.tolist(), start.tolist(), end.tolist(), strict=True):
        assert ran[s:e] == [-1] * (e - s)
        ran[s:e] = [j] * (e - s)
    assert ran == stepped(jobs, shortest=shortest)
    assert np.all(end[:-1] <= start[1:])
    assert len(job) < max(1, 2 * len(jobs))


def test_large_times() -> None:
    late = 2**61
    job, start, end = run(np.array([late, late + 1]), np.array([2**60, 1]))
    assert job.tolist() == [0, 1, 0]
    assert start.tolist() == [late, late + 1, late + 2]
    assert end.tolist() == [late + 1, late + 2, late + 2**60 + 1]
