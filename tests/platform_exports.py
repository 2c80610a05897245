"""Logs as other platforms and people write them, of the jobs of ``exports.py``.

Each is read right, or refused in one line that tells what to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone
from typing import Any

from exports import BERLIN, Entry, parts, table

Jobs = Sequence[Entry]


@dataclass(frozen=True)
class Platform:
    """How a log is written, and what of it is read."""

    description: str
    write: Callable[[Jobs], str]
    columns: str = ""  #: the answer to a question
    refused: str = ""  #: a part of the question, or of the refusal
    users: bool = True
    submitted: bool = True
    limits: bool = False
    step: float = 1.0  #: seconds by which times are rounded

    @property
    def row(self) -> str:
        """The row of the documentation's table."""
        if self.refused and not self.columns:
            return f"| {self.description} | refused: {self.refused} |"
        asked = f"asks; `--columns {self.columns}` answers" if self.columns else "read"
        more = [", with limits"] if self.limits else []
        more += [] if self.submitted else [", without waits"]
        return f"| {self.description} | {asked}{''.join(more)} |"


PLATFORMS: dict[str, Platform] = {}


def platform(description: str, **more: Any) -> Callable[[Callable[[Jobs], str]], Any]:
    """Enter a function as a platform's log."""

    def enter(write: Callable[[Jobs], str]) -> Any:
        PLATFORMS[write.__name__] = Platform(description, write, **more)
        return write

    return enter


def limit(job: Entry) -> int:
    """Seconds that a job asked for: whole hours, more than it ran."""
    return 3600 * ((job.end - job.start) // 3600 + 2)


def stamps(job: Entry, form: str, zone: timezone = UTC) -> list[str]:
    """Submission, start and end, written in a form."""
    return [format(job.at(m).astimezone(zone), form) for m in ("submit", "start", "end")]


def millis(job: Entry) -> list[int]:
    return [1000 * int(job.at(m).timestamp()) for m in ("submit", "start", "end")]


def wall(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


@platform("LSF, `bhist` or `bacct` as CSV: `Mar 03 08:04:57 2025`, `284 second(s)`", limits=True)
def lsf(jobs: Jobs) -> str:
    head = ["JOBID", "USER", "STAT", "QUEUE", "SUBMIT_TIME", "START_TIME", "FINISH_TIME",
            "RUN_TIME", "PEND_TIME", "RUNLIMIT_min", "GPU_NUM", "EXEC_HOST", "MAX_MEM"]  # fmt: skip
    rows = [
        [j.id, j.user, j.state, "normal", *stamps(j, "%b %d %H:%M:%S %Y"),
         f"{j.end - j.start} second(s)", f"{j.start - j.submit} second(s)", limit(j) / 60, j.gpus,
         "gpu01:gpu02", "1.2 Gbytes"]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@platform("PBS, accounting records", refused="accounting of PBS: write the table of jobs as CSV")
def pbs_records(jobs: Jobs) -> str:
    return "".join(
        f"{j.at('end'):%m/%d/%Y %H:%M:%S};E;{j.id}.srv;user={j.user} Resource_List.ngpus={j.gpus}\n"
        for j in jobs
    )


@platform("OpenPBS, `qstat -xf -F json`: nested objects by id", limits=True)
def pbs_json(jobs: Jobs) -> str:
    found = {}
    for j in jobs:
        queued, started, _ = stamps(j, "%a %b %d %H:%M:%S %Y")
        found[j.id] = {
            "Job_Name": "train", "Job_Owner": j.user, "job_state": "F", "queue": "gpuq",
            "ctime": queued, "qtime": queued, "etime": queued, "stime": started,
            "Resource_List": {"ngpus": j.gpus, "nodect": j.nodes, "walltime": wall(limit(j))},
            "resources_used": {"cput": "99:00:00", "walltime": wall(j.end - j.start), "ncpus": 8},
        }  # fmt: skip
    return json.dumps({"timestamp": 1714550400, "pbs_version": "23.06", "Jobs": found})


@platform("HTCondor, `condor_history -json`")
def condor(jobs: Jobs) -> str:
    found = []
    for i, j in enumerate(jobs):
        queued, started, ended = (t // 1000 for t in millis(j))
        found.append({
            "ClusterId": 100 + i, "ProcId": 0, "GlobalJobId": j.id, "Owner": j.user, "JobStatus": 4,
            "QDate": queued, "JobStartDate": started, "CompletionDate": ended,
            "EnteredCurrentStatus": ended, "RequestGPUs": j.gpus, "RequestCpus": 8, "JobPrio": 0,
            "RemoteWallClockTime": float(j.end - j.start), "NumJobStarts": 1, "MaxHosts": 1,
        })  # fmt: skip
    return json.dumps(found)


@platform("Grid Engine, `qacct -j`", refused="what qacct prints: write the table of jobs as CSV")
def qacct(jobs: Jobs) -> str:
    return "".join(
        f"{'=' * 62}\nqname        gpu.q\nowner        {j.user}\njobnumber    {j.id}\n"
        for j in jobs
    )


@platform("AWS Batch, `describe-jobs`: resources by type, milliseconds", users=False)
def aws_batch(jobs: Jobs) -> str:
    found = []
    for j in jobs:
        created, started, stopped = millis(j)
        needs = [{"type": "VCPU", "value": "8"}, {"type": "GPU", "value": str(j.gpus)}]
        found.append({
            "jobId": j.id, "jobName": "train", "status": "SUCCEEDED", "createdAt": created,
            "startedAt": started, "stoppedAt": stopped, "attempts": [{"exitCode": 0}],
            "container": {"image": "x", "exitCode": 0, "resourceRequirements": needs},
            "timeout": {"attemptDurationSeconds": limit(j)},
        })  # fmt: skip
    return json.dumps({"jobs": found})


@platform("Ray, table of jobs: milliseconds, no submission", users=False, submitted=False)
def ray(jobs: Jobs) -> str:
    head = ["submission_id", "status", "entrypoint", "message", "start_time", "end_time",
            "entrypoint_num_cpus", "entrypoint_num_gpus"]  # fmt: skip
    rows = [[j.id, "SUCCEEDED", "python x.py", "", *millis(j)[1:], 8, j.gpus] for j in jobs]
    return table([head, *rows])


@platform("SageMaker, `describe-training-job` as table: `TrainingTimeInSeconds`", limits=True)
def sagemaker(jobs: Jobs) -> str:
    head = ["TrainingJobName", "CreatedBy", "TrainingJobStatus", "InstanceType", "InstanceCount",
            "GpusPerInstance", "CreationTime", "TrainingStartTime", "TrainingEndTime",
            "LastModifiedTime", "MaxRuntimeInSeconds", "TrainingTimeInSeconds",
            "BillableTimeInSeconds"]  # fmt: skip
    rows = [
        [j.id, j.user, "Completed", "ml.x", j.nodes, j.each,
         *stamps(j, "%Y-%m-%dT%H:%M:%S.120000+00:00"),
         stamps(j, "%Y-%m-%dT%H:%M:%S.900000+00:00")[2], limit(j), *2 * [j.end - j.start]]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@platform(
    "Vertex AI, custom jobs: accelerators of each replica",
    users=False,
    refused="is 'acceleratorCount' the GPUs of a job, or of each of its 'replicaCount'?",
    columns="gpus_per_node=acceleratorCount,nodes=replicaCount",
)
def vertex(jobs: Jobs) -> str:
    head = ["name", "displayName", "state", "createTime", "startTime", "endTime", "updateTime",
            "machineType", "acceleratorType", "acceleratorCount", "replicaCount"]  # fmt: skip
    rows = [
        [j.id, "train", "JOB_STATE_SUCCEEDED", *stamps(j, "%Y-%m-%dT%H:%M:%S.123456Z"),
         stamps(j, "%Y-%m-%dT%H:%M:%S.999999Z")[2], "a2", "NVIDIA_A100", j.each, j.nodes]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@platform("Run:ai, table of workloads: GPUs requested and allocated, `1d 2h 3m 4s`")
def runai(jobs: Jobs) -> str:
    head = ["Workload", "Type", "Status", "Project", "Requested GPUs", "Allocated GPUs",
            "GPU utilization (%)", "Creation time", "Pending time", "Running time"]  # fmt: skip
    rows = []
    for j in jobs:
        hours, minutes, seconds = parts(j)
        ran = f"{hours // 24}d {hours % 24}h {minutes}m {seconds}s"
        rows.append([j.id, "Training", j.state, j.user, f"{j.gpus:.2f}", f"{j.gpus:.2f}", 87.5,
                     stamps(j, "%m/%d/%Y %I:%M:%S %p")[0], f"{j.start - j.submit}s",
                     ran])  # fmt: skip
    return table([head, *rows])


@platform(
    "Determined AI, allocations: slots, no submission",
    submitted=False,
    refused="no column for gpus; found: kind, task_id, username, labels, slots,",
    columns="gpus=slots",
)
def determined(jobs: Jobs) -> str:
    head = ["kind", "task_id", "username", "labels", "slots", "start_time", "end_time", "seconds"]
    rows = [
        ["experiment", j.id, j.user, "", j.gpus, *stamps(j, "%Y-%m-%dT%H:%M:%S.5Z")[1:],
         f"{j.end - j.start}.000"]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@platform("ClearML, table of tasks: created, started, completed, last update")
def clearml(jobs: Jobs) -> str:
    head = ["ID", "NAME", "TYPE", "USER", "PROJECT", "STATUS", "CREATED", "STARTED", "COMPLETED",
            "UPDATED", "ITERATION", "GPU COUNT", "GPU TYPE", "QUEUE"]  # fmt: skip
    rows = [
        [j.id, "train", "training", j.user, "p", "completed", *stamps(j, "%Y-%m-%d %H:%M:%S"),
         stamps(j, "%Y-%m-%d %H:%M:%S")[2], i, j.gpus, "A100", "default"]
        for i, j in enumerate(jobs)
    ]  # fmt: skip
    return table([head, *rows])


@platform(
    "A German spreadsheet: `Eingereicht`, `Laufzeit (min)` with decimal commas, a title above"
)
def german(jobs: Jobs) -> str:
    head = ["Auftragsnummer", "Benutzer", "Anzahl GPUs", "Eingereicht am", "Gestartet am",
            "Laufzeit (min)", "Kosten (EUR)"]  # fmt: skip
    rows = [
        [j.id, j.user, j.gpus, *stamps(j, "%d.%m.%Y %H:%M:%S", BERLIN)[:2],
         f"{(j.end - j.start) / 60:.4f}".replace(".", ","), "12,50"]
        for j in jobs
    ]  # fmt: skip
    return table([["Auslastung", *[""] * 6], head, *rows], ";")


@platform("Days of a spreadsheet, where the header says so: `Start (Excel days)`", step=2)
def excel_days(jobs: Jobs) -> str:
    head = ["Job", "User", "GPUs", "Submit (Excel days)", "Start (Excel days)", "End (Excel days)"]
    rows = [
        [j.id, j.user, j.gpus,
         *(f"{45586 + (23400 + t) / 86400:.6f}" for t in (j.submit, j.start, j.end))]
        for j in jobs
    ]  # fmt: skip
    return table([head, *rows])


@platform("A script's CSV: comments above, zones by row, `1 day, 2:03:04`, thousands by commas")
def script(jobs: Jobs) -> str:
    head = ["job", "user", "gpus", "submitted", "elapsed", "steps"]
    rows = [
        [j.id, j.user, j.gpus,
         j.at("submit").astimezone(timezone(timedelta(hours=i % 5 - 2))).isoformat(),
         str(timedelta(seconds=j.end - j.start)), f"{1000 * i + 7:,}"]
        for i, j in enumerate(jobs)
    ]  # fmt: skip
    return "# made by jobs.py, v2\n# cluster: a, b\n\n" + table([head, *rows])


@platform("A query of MongoDB, one object a line: dates within objects, numbers as texts")
def mongo(jobs: Jobs) -> str:
    return "".join(
        json.dumps({
            "_id": {"$oid": j.id}, "user": {"name": j.user, "group": "g"}, "numGpus": str(j.gpus),
            "queuedAt": {"$date": queued}, "startedAt": {"$date": started},
            "finishedAt": {"$date": ended}, "status": j.state,
        }) + "\n"
        for j in jobs
        for queued, started, ended in [stamps(j, "%Y-%m-%dT%H:%M:%S.250Z")]
    )  # fmt: skip
