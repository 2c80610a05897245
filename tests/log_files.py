"""Job logs in every format, written from the same rows, and what reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from gangsched.instances import Trace
from gangsched.instances.traces import READERS, read_gavel

START = datetime(2020, 6, 9, 18, 0, 0)


@dataclass(frozen=True)
class Line:
    """A job as a log may have it; times in minutes, so that every format can say them."""

    submit: int
    duration: int
    gpus: int
    user: str


def text(path: Path, *lines: str) -> Path:
    """Write a file of these lines."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def when(minutes: int) -> str:
    return str(START + timedelta(minutes=minutes))


def table(header: str, rows: list[str]) -> str:
    return "\n".join([header, *rows]) + "\n"


def alibaba(rows: list[Line]) -> str:
    return table(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time",
        [
            f"{i},1,1,{r.gpus},1000,,LS,Failed,{60 * r.submit},{60 * (r.submit + r.duration) + 7},"
            f"{60 * r.submit + 7}"
            for i, r in enumerate(rows, 1)
        ],
    )


def acme(rows: list[Line]) -> str:
    return table(
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
        "queue,gpu_time",
        [
            f"{i},{r.user},1,{r.gpus},16,Other,FAILED,{when(r.submit)}+08:00,"
            f"{when(r.submit + 3)}+08:00,{when(r.submit + 3 + r.duration)}+08:00,9,180,9.0"
            for i, r in enumerate(rows, 1)
        ],
    )


def alibaba_pai(rows: list[Line]) -> str:
    return "".join(
        f"j,{i},{r.gpus}.0,Terminated,{60 * r.submit}.0,{60 * (r.submit + r.duration)}.0,600.0,"
        "29.3,100.0,MISC\n"
        for i, r in enumerate(rows, 1)
    )


def alibaba_spot(rows: list[Line]) -> str:
    return table(
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
        "job_type",
        [
            f"{i},{r.user},A10,8,{r.gpus},1,{60 * r.submit},{60 * r.duration},HP"
            for i, r in enumerate(rows, 1)
        ],
    )


def supercloud(rows: list[Line]) -> str:
    first = 1609459200
    return table(
        "id_job,id_user,time_submit,time_start,time_end,tres_alloc,tres_req,state,nodes_alloc",
        [
            f"{i},{r.user},{first + 60 * r.submit},{first + 60 * r.submit + 5},"
            f'{first + 60 * (r.submit + r.duration) + 5},"1=40,2=85000,1002={r.gpus}",1=40,3,1'
            for i, r in enumerate(rows, 1)
        ],
    )


def chronus(rows: list[Line]) -> str:
    return table(
        "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,"
        "expect_time_list,expect_value_list,best_effort,job_type",
        [
            f"{i},{r.user},{r.gpus},{r.submit},9,vgg16,{r.duration},5,9-19,10-8,0,soft"
            for i, r in enumerate(rows, 1)
        ],
    )


def export(rows: list[Line]) -> str:
    return table(
        "job;owner;n_gpus;queued;runtime_min",
        [f"{i};{r.user};{r.gpus};{when(r.submit)};{r.duration}" for i, r in enumerate(rows, 1)],
    )


def gavel(rows: list[Line]) -> str:
    return "".join(
        f"A (batch size 1)\tcd x\t-n\t1\t{120 * r.duration}\t{60 * r.submit:f}\t{r.gpus}\n"
        for r in rows
    )


def helios(rows: list[Line]) -> str:
    return table(
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,"
        "queue",
        [
            f"{i},u1,{r.user},{r.gpus},4,1,FAILED,{when(r.submit)},,,{60 * r.duration},0"
            for i, r in enumerate(rows, 1)
        ],
    )


def itp(rows: list[Line]) -> str:
    return table(
        "job_id,submission_time,duration,num_gpu",
        [f"{i},{60 * r.submit},{60 * r.duration},{r.gpus}" for i, r in enumerate(rows, 1)],
    ).rstrip("\n")


def philly_csv(rows: list[Line]) -> str:
    return table(
        "timestamp,duration,num_gpus,gpu_time,cluster",
        [f"{when(r.submit)},{60.0 * r.duration},{r.gpus},0,{r.user}" for r in rows],
    )


def philly_json(rows: list[Line]) -> str:
    return json.dumps(
        [
            {
                "status": "Pass",
                "vc": r.user,
                "jobid": str(i),
                "user": "x",
                "submitted_time": when(r.submit),
                "attempts": [
                    {
                        "start_time": when(r.submit + 3),
                        "end_time": when(r.submit + 3 + r.duration),
                        "detail": [{"ip": "m1", "gpus": list(range(r.gpus))}],
                    }
                ],
            }
            for i, r in enumerate(rows, 1)
        ]
    )


def sacct(rows: list[Line]) -> str:
    return table(
        "JobID|User|Submit|Start|End|State|AllocTRES",
        [
            f"{i}|{r.user}|{when(r.submit).replace(' ', 'T')}|{when(r.submit).replace(' ', 'T')}"
            f"|{when(r.submit + r.duration).replace(' ', 'T')}|FAILED|cpu=2,gres/gpu={r.gpus}"
            for i, r in enumerate(rows, 1)
        ],
    )


def swf(rows: list[Line]) -> str:
    return "; comment\n" + "".join(
        f"{i} {60 * r.submit} -1 {60 * r.duration} {r.gpus} -1 -1 -1 -1 -1 1 {r.user} "
        "-1 -1 -1 -1 -1 -1\n"
        for i, r in enumerate(rows, 1)
    )


def read_seven(path: str | Path) -> Trace:
    return read_gavel(path, steps_per_second={"A (batch size 1)": 2})


@dataclass(frozen=True)
class Format:
    write: Callable[[list[Line]], str]
    read: Callable[[str | Path], Trace]
    prefix: str = ""
    users: bool = True
    no_gpus: str = "no GPUs"
    zero: str = "zero duration"
    ids: bool = True  #: that have to be unique


FORMATS = {
    "acme": Format(acme, READERS["acme"], ids=False),
    "alibaba": Format(alibaba, READERS["alibaba"], users=False),
    "alibaba-pai": Format(alibaba_pai, READERS["alibaba-pai"], prefix="j/", users=False, ids=False),
    "alibaba-spot": Format(alibaba_spot, READERS["alibaba-spot"], ids=False),
    "chronus": Format(chronus, READERS["chronus"]),
    "csv": Format(export, partial(READERS["csv"], columns="id=job")),
    "gavel": Format(gavel, read_seven, prefix="row", users=False, ids=False),
    "helios": Format(helios, READERS["helios"]),
    "itp": Format(itp, READERS["itp"], users=False),
    "philly-csv": Format(philly_csv, READERS["philly-csv"], prefix="row", ids=False),
    "philly-json": Format(philly_json, READERS["philly-json"], no_gpus="no GPUs in any attempt"),
    "sacct": Format(sacct, READERS["sacct"]),
    "supercloud": Format(supercloud, READERS["supercloud"], ids=False),
    "swf": Format(swf, READERS["swf"], no_gpus="no processors", zero="zero run time"),
}
