"""Runs that are looked at in blocks: the same measures, and the same violations."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from gangsched.analysis.driving import check, metrics, segments
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.run import Events, Run
from gangsched.analysis.driving.waits import longest_waits, waiting_times
from gangsched.analysis.proofs.gpu_prices import GpuPrices
from gangsched.analysis.show.gantt_data import _cells
from gangsched.instances import Cluster, generate, packed
from gangsched.registry import policy
from gangsched.solvers.policy import Preempts

BLOCK = 64
PRICES = GpuPrices(np.array([0, 5_000, 70_000]), np.array([[2.0, 0.5]]))
MEASURES: dict[str, Any] = {
    "wait": metrics.wait_time,
    "attained": metrics.attained_time,
    "service": metrics.service_time,
    "preemptions": metrics.preemptions,
    "profiling": metrics.profiling_wait,
    "busy": lambda run: metrics.busy_time(run, [0, 5_000, 70_000, 10**6]),
    "users": lambda run: metrics.user_attained_time(run, [60, 5_000, 10**6]),
    "elastic": lambda run: np.array(metrics.is_elastic(run)),
    "digest": lambda run: np.array(run.digest()),
    "waiting": waiting_times,
    "waits": lambda run: np.array(str(longest_waits(run, 20, prices=PRICES))),
    "cells": lambda run: np.array(str(_cells(run.schedule, 2, (8, 4), np.linspace(0, 9e4, 9)))),
}


@pytest.fixture(scope="module")
def run() -> Run:
    cluster = Cluster.uniform(nodes=3, gpus_per_node=4)
    instance = generate.philly_workload(cluster, jobs=60, load=20, seed=3)
    found = gs.drive(instance, policy("las", seed=0)[1])
    assert len(found.schedule) > 4 * BLOCK
    return found


def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever is looked at in blocks be looked at in many."""
    monkeypatch.setattr(packed, "BLOCK", BLOCK)
    for module in (segments, check):
        monkeypatch.setattr(module, "PART", BLOCK)


def in_small_parts(run: Run) -> Run:
    """The same run, packed in parts of a few rows."""
    plan, log = run.schedule, run.events
    length = np.diff(plan.ptr)
    cuts = np.arange(0, len(plan) + 1, 10)[1:]
    rows = {"job": plan.job, "start": plan.start, "end": plan.end, "length": length}
    columns = {name: packed.Packed(np.split(own, cuts)) for name, own in rows.items()}
    for name in ("node", "gpus"):
        columns[name] = packed.Packed(np.split(getattr(plan, name), plan.ptr[cuts]))
    parts = np.arange(0, len(log) + 1, 10)[1:]
    events = {
        name: packed.Packed(np.split(getattr(log, name), parts)) for name in ("time", "job", "kind")
    }
    schedule = gs.Schedule.of_packed(columns)
    return replace(run, schedule=schedule, events=Events.of_packed(events))


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_the_same_in_blocks(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = MEASURES[name](run)
    in_blocks(monkeypatch)
    other = in_small_parts(run)
    assert np.array_equal(MEASURES[name](other), whole, equal_nan=whole.dtype.kind == "f")
    assert not {"job", "start", "node", "ptr"} & other.schedule.__dict__.keys()  # still packed
    assert not {"time", "job", "kind"} & other.events.__dict__.keys()


def test_a_right_run_is_right_in_blocks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch)
    other = in_small_parts(run)
    assert len(list(segments.by_jobs(other))) > 4
    assert violations(other, preempts=Preempts.ALWAYS) == []
    assert not {"job", "node", "end"} & other.schedule.__dict__.keys()
    assert "time" not in other.events.__dict__


def test_nodes_that_stay_idle_are_right_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [gs.Job(id=f"j{k}", gpus=2, work=60, release=60 * k) for k in range(3 * BLOCK)]
    run = gs.drive(gs.Instance(Cluster.of_sizes([1, 4]), jobs), "fifo")
    assert set(run.schedule.node.tolist()) == {1}
    in_blocks(monkeypatch)
    assert violations(in_small_parts(run), preempts=Preempts.NEVER) == []


def bent(run: Run, what: str) -> Run:
    """The run with one thing wrong."""
    plan, log, book = run.schedule, run.events, run.records
    own = {name: getattr(plan, name).copy() for name in ("job", "start", "end", "node", "gpus")}
    at = len(plan) // 2
    if what == "capacity":
        wide = np.flatnonzero(np.diff(plan.ptr) == 1)[5]
        own["node"][plan.ptr[wide]] = (own["node"][plan.ptr[wide]] + 1) % len(run.sizes)
    elif what in own:
        own[what][at] += {"gpus": -1, "node": 99, "job": 99}.get(what, 1)
    if what in own or what == "capacity":
        return replace(run, schedule=gs.Schedule(**own, ptr=plan.ptr))
    if what == "time":
        time = log.time.copy()
        time[len(log) // 2] += 60
        return replace(run, events=Events(time, log.job, log.kind))
    if what == "last event":
        return replace(run, events=Events(log.time[:-1], log.job[:-1], log.kind[:-1]))
    column = getattr(book, what).copy()
    column[-1] += 1
    return replace(run, records=replace(book, **{what: column}))


@pytest.mark.parametrize(
    "what",
    ["capacity", "gpus", "node", "job", "start", "end", "time", "last event", "held", "left"],
)
def test_violations_are_the_same_in_blocks(
    what: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = bent(run, what)
    lines = violations(wrong, preempts=Preempts.ALWAYS)
    assert lines
    in_blocks(monkeypatch)
    assert violations(in_small_parts(wrong), preempts=Preempts.ALWAYS) == lines
