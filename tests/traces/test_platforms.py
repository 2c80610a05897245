"""Logs of other platforms: each is read right, or refused in one line that tells what to do."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from exports import entries
from gangsched.instances.traces import read_auto
from layout import ROOT
from platform_exports import PLATFORMS, limit

JOBS = [replace(job, state="COMPLETED") for job in entries(seed=3)]


def test_a_page_lists_them() -> None:
    page = (ROOT / "docs/how-to/read-a-trace.md").read_text("utf-8")
    rows = page.split("| log | what becomes of it |\n| --- | --- |\n")[1].split("\n\n")[0]
    assert rows.splitlines() == [platform.row for platform in PLATFORMS.values()]


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_log_is_read_right_or_refused(name: str, tmp_path: Path) -> None:
    platform = PLATFORMS[name]
    path = tmp_path / "log"
    path.write_text(platform.write(JOBS))
    if platform.refused:
        with pytest.raises(ValueError, match=re.escape(platform.refused)) as caught:
            read_auto(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
        if not platform.columns:
            return
    trace = read_auto(path, columns=platform.columns or None)
    assert (len(trace.jobs), dict(trace.report.skipped)) == (len(JOBS), {})
    assert trace.submitted == platform.submitted
    known = {job.id: job for job in trace.jobs}
    places = {job.id: i for i, job in enumerate(trace.jobs)}
    first = min(job.submit if platform.submitted else job.start for job in JOBS)
    for job in JOBS:
        read = known[job.id]
        assert read.gpus == job.gpus
        assert read.user == (job.user if platform.users else "")
        came = (job.submit if platform.submitted else job.start) - first
        assert read.release == pytest.approx(came, abs=platform.step - 1)
        assert read.work == pytest.approx(job.end - job.start, abs=platform.step - 1)
        if platform.limits:
            assert read.limit == limit(job)
        row = trace.rows[places[job.id]]
        if row.start is not None and row.end is not None:
            assert row.start == pytest.approx(job.start - first, abs=platform.step)
            assert row.end == pytest.approx(job.end - first, abs=platform.step)
    assert {row.start is None for row in trace.rows} == {name in ("script",)}
