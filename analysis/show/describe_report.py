"""One HTML file that says what a trace looks like: gang sizes, run times, users over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from . import page
from .chart_data import SHARE_OF_JOBS, Data
from .columns import SAID, Column, ColumnTable, duration, percent, tenth, whole
from .describe import LEVELS, LIMITS, Description, GangClass
from .describe_plot import draw, size_bars
from .page import Topic

__all__ = ["write_description_report"]

MOST_BINS = 240  # of the use over time
#: what is drawn of each class of gang sizes: key, name, unit
MEASURED = (
    ("run_time", "run time", "s"),
    ("service", "GPU service time (GPU s)", ""),
    ("pending", "time without progress", "s"),
    ("slowdown", "slowdown", ""),
)


def write_description_report(
    path: str | Path, found: Description, *, title: str, notes: Sequence[str] = ()
) -> None:
    """Write what a trace looks like as one self-contained HTML file.

    Parameters
    ----------
    path : path
    found : Description
    title : str
    notes : sequence of str
        How the trace was read.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.analysis.show.describe import describe
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> found = describe(Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=60)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "trace.html"
    ...     write_description_report(file, found, title="One job")
    ...     "1 job of 1 user" in file.read_text("utf-8")
    True
    """
    still = page.picture(draw(found), "trace", "Gang sizes, run times and users of the trace")
    title_of_distributions = "Share of the jobs up to a value, by gang size"
    topics = [
        Topic("Gang sizes", [page.table(_classes(found), name="gang sizes"), *_sizes(found)]),
        Topic(
            "Distributions",
            [page.chart("distributions", title_of_distributions, _distributions(found), still)],
        ),
        Topic("Users", _users(found)),
        Topic("How it was read", [*map(page.paragraph, notes), page.muted(SAID["description"])]),
    ]
    page.write_page(path, title, _summary(found), topics)


def _summary(found: Description) -> str:
    group = found.all
    jobs = f"{group.jobs:,} job{'s' * (group.jobs != 1)}"
    users = f"{found.users:,} user{'s' * (found.users != 1)}"
    text = f"{jobs} of {users} in {found.span / 86_400:,.1f} days. Half of them run for at most "
    text += f"{duration(group.run_time[50])}, 99 % for at most {duration(group.run_time[99])}."
    largest = max(found.groups, key=lambda one: one.gpu_seconds)
    share = largest.gpu_seconds / group.gpu_seconds
    jobs_share = largest.jobs / group.jobs
    text += f" Most GPU time, {share:.0%}, goes to jobs of {largest.gpus} GPUs, which are "
    text += f"{jobs_share:.0%} of the jobs."
    if found.unfinished:
        text += f" {found.unfinished:,} were not finished under {found.replay}."
    return text


# --- gang sizes ----------------------------------------------------------------------------------


def _classes(found: Description) -> ColumnTable:
    """A row for all jobs and one for each class of gang sizes."""
    jobs, service = found.all.jobs, found.all.gpu_seconds
    columns = [
        Column(lambda one: one.gpus, "GPUs"),
        Column(lambda one: one.jobs, "jobs", "", 0, whole),
        Column(lambda one: one.jobs / jobs, "of jobs", "", 0, percent),
        Column(lambda one: one.gpu_seconds / service, "of GPU time", "", 0, percent),
        *(
            Column(partial(_below, k), f"run time < {limit}", "", 0, percent)
            for k, limit in enumerate(LIMITS)
        ),
        Column(lambda one: one.run_time[50], "median", "s", 0, duration),
        Column(lambda one: one.run_time[99], "99 %", "s", 0, duration),
    ]
    rows = tuple(one for one in (found.all, *found.groups) if one.jobs)
    return ColumnTable(tuple(columns), rows)


def _below(k: int, group: GangClass) -> float:
    return group.below[k]


def _sizes(found: Description) -> list[Markup]:
    """The part of each gang size in jobs and in GPU time."""
    bars = size_bars(found)
    data = {
        "chart": "bars",
        "x": "share",
        "percent": True,
        "names": [name for name, *_ in bars],
        "series": [
            {"name": name, "values": values, "texts": list(map(percent, values))}
            for name, values in (
                ("share of jobs", [jobs for _, jobs, _ in bars]),
                ("share of GPU time", [time for *_, time in bars]),
            )
        ],
        "hover": [
            [f"{jobs:.2%} of the jobs", f"{time:.2%} of the GPU time"] for _, jobs, time in bars
        ],
    }
    return [page.chart("sizes", "Jobs and GPU time by the GPUs of a job", data)]


# --- distributions -------------------------------------------------------------------------------


def _distributions(found: Description) -> Data:
    views = []
    for key, name, unit in MEASURED:
        series = [_curve(one, key) for one in found.groups if getattr(one, key)]
        if series:
            axis = {"name": name, "log": True, "unit": unit}
            views.append({"name": name, "x": axis, "y": SHARE_OF_JOBS, "series": series})
    by = "GPUs of a job"
    return {"chart": "lines", "of": "of", "by": by, "kind": by, "step": True, "views": views}


def _curve(group: GangClass, key: str) -> Data:
    values = np.maximum(np.array(getattr(group, key)), 1)
    return {"name": group.gpus, "x": values.tolist(), "y": list(LEVELS)}


# --- users ---------------------------------------------------------------------------------------


def _users(found: Description) -> list[Markup]:
    """Who wants or uses how many GPUs, on average, at most and over time."""
    usage, kind = found.usage, "in use" if found.replay else "wanted"
    rows = [
        {"user": user or "all jobs", "mean": gpus.mean(), "most": gpus.max()}
        for user, gpus in zip(usage.users, usage.gpus, strict=True)
    ]
    hours = "hour" if usage.bin == 3_600 else f"{usage.bin // 3_600} hours"
    columns = (
        Column("user", "user"),
        Column("mean", f"GPUs {kind} on average", "", 0, tenth),
        Column("most", f"GPUs {kind} in the busiest {hours}", "", 0, tenth),
    )
    parts = [page.table(ColumnTable(columns, tuple(rows)), name="users")]
    if found.users > len(rows):
        parts.append(page.muted(f"The {len(rows)} of {found.users:,} users with most GPU time."))
    if usage.gpus.shape[1] > 1:
        title = f"GPUs {kind} by user"
        parts.insert(0, page.chart("users", title, _over_time(found, kind)))
    if not found.replay:
        parts.append(page.muted("Wanted: if every job began when it was submitted."))
    return parts


def _over_time(found: Description, kind: str) -> Data:
    usage = found.usage
    bins = usage.gpus.shape[1]
    width = -(-bins // MOST_BINS)
    edges = np.arange(0, bins, width)
    sizes = np.diff([*edges, bins])
    means = np.add.reduceat(usage.gpus, edges, axis=1) / sizes
    times = (edges * usage.bin).tolist()
    series: list[dict[str, Any]] = [
        {"name": user or "all jobs", "x": times, "y": np.round(gpus, 2).tolist()}
        for user, gpus in zip(usage.users, means, strict=True)
    ]
    view = {
        "name": kind,
        "x": {"name": "time", "unit": "s", "zoom": True},
        "y": {"name": f"GPUs {kind}", "from": 0},
        "series": series,
    }
    return {"chart": "lines", "by": "users", "kind": "user", "step": True, "views": [view]}
