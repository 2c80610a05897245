"""What logs say of their jobs besides the jobs: where they stand, and when they ran."""

import json
from pathlib import Path

import pytest

from gangsched.instances import Job
from gangsched.instances.traces import READERS, LogRow, ReadReport, Trace

SWF = "; MaxProcs: 8\n7 50 10 600 4 -1 -1 4 -1 -1 1 3 -1 -1 -1 -1 -1 -1\n"
SACCT = (
    "JobID|User|Submit|Start|End|ElapsedRaw|State|AllocTRES\n"
    "7|ann|2024-05-01T00:00:50|2024-05-01T00:01:00|2024-05-01T00:11:00|600|COMPLETED|gres/gpu=4\n"
)
HELIOS = (
    "job_id,vc,gpu_num,state,submit_time,duration,start_time,end_time\n"
    "7,vc0,4,COMPLETED,2020-04-01 00:00:50,600,2020-04-01 00:01:00,2020-04-01 00:11:00\n"
)
CSV = "id,user,gpus,submit,start,end\n7,ann,4,50,60.25,660\n"
ALIBABA = (
    "name,num_gpu,gpu_milli,gpu_spec,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "7,4,{share},,Succeeded,50,660,60\n"
)
PHILLY = [
    {
        "status": "Pass", "vc": "v", "jobid": "7", "submitted_time": "2017-10-01 00:00:50",
        "attempts": [
            {"start_time": "2017-10-01 00:01:00", "end_time": "2017-10-01 00:05:00",
             "detail": [{"ip": "m1", "gpus": ["a", "b", "c", "d"]}]},
            {"start_time": "2017-10-01 00:06:00", "end_time": "2017-10-01 00:11:00", "detail": []},
        ],
    }
]  # fmt: skip
LOGS = {
    "swf": (SWF, "line 2"),
    "sacct": (SACCT, "line 2"),
    "helios": (HELIOS, "line 2"),
    "csv": (CSV, "line 2"),
    "alibaba": (ALIBABA.format(share=1000), "line 2"),
    "philly-json": (json.dumps(PHILLY), "job[0]"),
}


@pytest.mark.parametrize("reader", LOGS)
def test_a_log_says_when_its_jobs_ran(reader: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    text, place = LOGS[reader]
    path.write_text(text)
    assert READERS[reader](path).rows == (LogRow(place, 0, 10, 610),)


def test_a_pod_that_shares_a_gpu_did_not_have_it(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(ALIBABA.format(share=500))
    assert READERS["alibaba"](path).rows == (LogRow("line 2", 0),)


def test_rows_are_in_the_order_of_the_jobs(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("id,gpus,submit,start,duration\nb,1,90,95,5\na,1,40,,5\nzero,0,1,1,1\n")
    trace = READERS["csv"](path)
    assert [job.id for job in trace.jobs] == ["a", "b"]
    assert trace.rows == (LogRow("line 3", 1), LogRow("line 2", 0, 55))


def test_there_is_a_row_for_each_job_or_none() -> None:
    with pytest.raises(ValueError, match="trace 't': 1 rows for 0 jobs"):
        Trace(name="t", jobs=(), rows=[LogRow("line 1", 0)], report=ReadReport(read=0))
    assert Trace(name="t", jobs=[Job(id="a", gpus=1)], report=ReadReport(read=1)).rows == ()
