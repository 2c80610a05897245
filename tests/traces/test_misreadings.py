"""Tables that a careless reader gets wrong without noticing: read rightly, or refused in a line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gangsched.instances import Trace
from gangsched.instances.traces import read_auto, read_csv


def read(folder: Path, header: str, *rows: str) -> Trace:
    path = folder / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return read_csv(path)


def refused(folder: Path, message: str, header: str, *rows: str) -> None:
    """The message begins with the file, and is one line."""
    with pytest.raises(ValueError, match=f"^{re.escape(str(folder / 'log.csv'))}: ") as caught:
        read(folder, header, *rows)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# --- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", ["gpu_hours", "gpus (h)", "gpu_s", "GPU min", "GpuHours"])
def test_gpu_hours_are_no_gpus(tmp_path: Path, hours: str) -> None:
    trace = read(tmp_path, f"id,submit,duration,num_gpus,{hours}", "a,0,3600,2,24")
    assert trace.jobs[0].gpus == 2
    assert f"not read: {hours}" in trace.report.notes
    refused(tmp_path, "no column for gpus; found: id", f"id,submit,duration,{hours}", "a,0,60,24")


def test_seconds_in_a_queue_are_no_user(tmp_path: Path) -> None:
    trace = read(tmp_path, "id,submit_s,runtime_h,gpus,queue_s", "a,0,2,2,24")
    assert (trace.jobs[0].user, trace.jobs[0].work) == ("", 7200)
