"""Who ran where and when, as data for the chart of it: jobs, or shares where they are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formulations.problem import goal_of
from ...instances.model import Cluster
from ...instances.schedule import Schedule
from ..driving.metrics.parts import held_by
from ..driving.run import Run
from ..driving.waits import Wait, longest_waits, waiting_times
from .chart_data import Data, unit_of
from .columns import duration
from .plots import gang_classes, held_together

#: bars of all views; more of them are put together by nodes and time
MOST_BARS = 50_000
MOST_ROWS = 48  # of nodes that are put together
BINS = 240  # of time
MOST_REASONS = 400  # jobs of a run of which the chart says why they waited
USERS = 6  # that have a colour each


def of_runs(runs: Mapping[str, Run]) -> Data:
    """Return runs of one instance, each a view; with the reasons of the longest waits."""
    first = next(iter(runs.values()))
    cluster = first.require_instance().cluster
    plans = {name: run.schedule for name, run in runs.items()}
    end = max(1, *(run.now for run in runs.values()))
    head = {"chart": "gantt", "by": "policy", "unit": unit_of(first), "end": end}
    if sum(plan.entries for plan in plans.values()) > MOST_BARS:
        return {**head, **_together(plans, cluster, end)}
    book = first.records
    data = _apart(plans, cluster, book.id, book.user.tolist(), first.users, book.gpus, book.release)
    for view, run in zip(data["views"], runs.values(), strict=True):
        view["wait"] = waiting_times(run).tolist()
        view["why"] = _reasons(run)
    return {**head, **data}


def shares_of(runs: Mapping[str, Run]) -> Data:
    """Return which share of the GPUs of some nodes each run held over time, whatever its size."""
    first = next(iter(runs.values()))
    end = max(1, *(run.now for run in runs.values()))
    plans = {name: run.schedule for name, run in runs.items()}
    return {"end": end, **_together(plans, first.require_instance().cluster, end)}


def of_schedules(plans: Mapping[str, Schedule], problem: Any, titles: Sequence[str]) -> Data:
    """Return schedules of one problem, each a view, below what it is worth."""
    instance, unit = problem.instance, goal_of(problem).time
    end = max(1, *(int(plan.end.max(initial=0)) for plan in plans.values()))
    head = {"chart": "gantt", "by": "solver", "unit": unit, "end": end}
    if sum(plan.entries for plan in plans.values()) > MOST_BARS:
        data = _together(plans, instance.cluster, end)
    else:
        jobs = instance.jobs
        gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
        release = np.array([job.release for job in jobs], dtype=np.int64)
        users = sorted({job.user for job in jobs})
        owner = [users.index(job.user) for job in jobs]
        data = _apart(plans, instance.cluster, [j.id for j in jobs], owner, users, gpus, release)
        for view, plan in zip(data["views"], plans.values(), strict=True):
            begun = np.full(len(jobs), end)
            np.minimum.at(begun, plan.job, plan.start)
            view["wait"] = np.maximum(begun - release, 0).tolist()
    for view, title in zip(data["views"], titles, strict=True):
        view["title"] = title
    return {**head, **data}


# --- jobs ----------------------------------------------------------------------------------------


def _apart(
    plans: Mapping[str, Schedule],
    cluster: Cluster,
    ids: Sequence[str],
    owner: Sequence[int],
    users: Sequence[str],
    gpus: NDArray[np.int64],
    release: NDArray[np.int64],
) -> Data:
    """A bar for each job's GPUs on a node without a break."""
    names, group = _users(users, owner, gpus)
    classes, by_size = gang_classes(gpus.tolist())
    many = len(names) > 1
    return {
        "rows": [[node.id, node.gpus] for node in cluster.nodes],
        "users": names,
        "classes": classes,
        "jobs": {
            "id": list(ids),
            "gpus": gpus.tolist(),
            "release": release.tolist(),
            "group": group if many else [by_size[gang] for gang in gpus.tolist()],
        },
        "views": [
            {"name": name, "bars": _bars(plan, cluster)} for name, plan in plans.items()
        ],
    }  # fmt: skip


def _bars(plan: Schedule, cluster: Cluster) -> Data:
    found = [
        (row.job, node, first, count, row.start, row.end)
        for row, node, first, count in held_together(plan, cluster)
    ]
    columns = zip(*found, strict=True) if found else ((),) * 6
    names = ("job", "row", "first", "count", "start", "end")
    return dict(zip(names, map(list, columns), strict=True))


def _users(
    users: Sequence[str], owner: Sequence[int], gpus: NDArray[np.int64]
) -> tuple[list[str], list[int]]:
    """Users, those whose jobs ask for most GPUs first, and the number of each job's user."""
    total = np.bincount(np.array(owner, dtype=np.int64), gpus, max(len(users), 1))
    order = [int(u) for u in np.lexsort((np.arange(total.size), -total))]
    place = {user: k for k, user in enumerate(order)}
    return [users[u] if u < len(users) else "" for u in order], [place[int(u)] for u in owner]


def reasons(wait: Wait, slots: bool) -> str:
    """Say why a job waited, the reason of most of it first."""
    parts = sorted(wait.reasons.items(), key=lambda item: -item[1])
    texts = [(name, f"{s:,} slots" if slots else duration(s)) for name, s in parts if s]
    return ", ".join(f"{name} {text}" for name, text in texts)


def _reasons(run: Run) -> dict[int, str]:
    """Why the jobs waited that did so longest."""
    slots = unit_of(run) == "slots"
    return {wait.job: reasons(wait, slots) for wait in longest_waits(run, MOST_REASONS)}


# --- shares --------------------------------------------------------------------------------------


def _together(plans: Mapping[str, Schedule], cluster: Cluster, end: int) -> Data:
    """The share of the GPUs of some nodes that jobs hold, in thousandths, by span of time."""
    size = -(-len(cluster.nodes) // MOST_ROWS)
    groups = [cluster.nodes[k : k + size] for k in range(0, len(cluster.nodes), size)]
    gpus = [sum(node.gpus for node in group) for group in groups]
    bins = min(BINS, end)  # times are whole
    edges = np.linspace(0, end, bins + 1)
    total = sum(plan.entries for plan in plans.values())
    note = (
        f"{total:,} bars are too many to tell apart: this shows the share of the GPUs that jobs "
        f"held, by {'node' if size == 1 else f'{size} nodes'} and {duration(end / bins)}."
    )
    return {
        "rows": [[_span(group), 1, g] for group, g in zip(groups, gpus, strict=True)],
        "users": [],
        "classes": [],
        "note": note,
        "bins": bins,
        "views": [
            {"name": name, "cells": _cells(plan, size, gpus, edges)}
            for name, plan in plans.items()
        ],
    }  # fmt: skip


def _span(nodes: Sequence[Any]) -> str:
    return str(nodes[0].id if len(nodes) == 1 else f"{nodes[0].id} to {nodes[-1].id}")


def _cells(plan: Schedule, size: int, gpus: Iterable[int], edges: NDArray[np.float64]) -> Data:
    room = np.array(list(gpus))
    times = np.rint(edges).astype(np.int64)
    held = np.zeros((room.size, times.size), dtype=np.int64)
    for part in plan.blocks():
        length = np.diff(part.ptr)
        start, end = np.repeat(part.start, length), np.repeat(part.end, length)
        held += held_by(start, end, part.gpus, times, part.node // size, room.size)
    size_of = room[:, None] * np.maximum(np.diff(times), 1)
    share = np.minimum(np.rint(1000 * np.diff(held, axis=1) / size_of), 1000).astype(int)
    row, bin = np.nonzero(share)
    return {"row": row.tolist(), "bin": bin.tolist(), "held": share[row, bin].tolist()}
