"""Files of runs: one JSON file, or a folder of Parquet or CSV tables for runs of any length.

A folder such as ``night.parquet`` holds the tables ``records`` (one row a job), ``events``,
``segments`` and ``entries`` (the nodes of each segment), the rest in ``run.json``, and for a run
that was stopped ``checkpoint``, from which it can be resumed. Equal runs give equal bytes but for
the block ``timing``; of Parquet with the same version of pyarrow.

The instance lies beside its runs, once for all of them, in a file named after its hash, and is
attached to a run that is loaded.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...instances import Instance, io
from ...instances.tables import (
    FOLDERS,
    SCHEDULE_TABLES,
    Table,
    columns_of,
    is_folder,
    load_folder,
    save_folder,
    schedule_of,
    schedule_tables,
)
from ...solvers.policy import Rules
from ...solvers.result import Stop
from .checkpoint import Checkpoint
from .run import EventKind, Events, Records, Run

logger = logging.getLogger("gangsched")

FLOATS = {"weight", "fair", "fair_before"}
TABLES: dict[str, dict[str, type]] = {
    "records": {
        name: {"id": str, "rejected": bool}.get(name, float if name in FLOATS else int)
        for name in Records.__dataclass_fields__
    },
    "events": {"time": int, "job": int, "kind": int},
    **SCHEDULE_TABLES,
}
CHECKPOINT = "checkpoint"


def save_run(path: str | Path, run: Run) -> None:
    """Write a run.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> from gangsched.solvers import Fifo
    >>> instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=2, work=100)])
    >>> run = drive(instance, Fifo())
    >>> path = Path(tempfile.mkdtemp()) / "night.csv"
    >>> save_run(path, run)
    >>> load_run(path) == run
    True
    """
    if not is_folder(path):
        _check_file(path)
    try:
        if not is_folder(path):
            io.write_json(path, run_to_dict(run))
            return save_instance(path, run)
        head, tables = _head(run), _tables(run)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    checkpoint = None if run.checkpoint is None else bytes(run.checkpoint)
    if checkpoint is not None:
        head[CHECKPOINT] = hashlib.sha256(checkpoint).hexdigest()
    save_folder(path, head, tables, {CHECKPOINT: checkpoint})
    return save_instance(path, run)


def save_instance(path: str | Path, run: Run) -> None:
    """Write the instance of a run beside its file or folder, unless it is there or not known."""
    place = _place_of_instance(path, run)
    if run.instance is None or place.exists():
        return
    try:
        data = io.instance_to_dict(run.instance)
        same = io.instance_hash(io.instance_from_dict(data)) == run.instance_hash
        if not same:
            raise TypeError("a file does not give it back as it is")
    except TypeError as error:
        logger.warning("the instance of %s is not saved: %s", path, error)
    else:
        io.write_json(place, data)


def attach_instance(path: str | Path, run: Run) -> Run:
    """Return a run with the instance that lies beside its file or folder, if there is one."""
    place = _place_of_instance(path, run)
    if not place.exists():
        return run
    state = place.stat()
    instance, own = _read_instance(place, state.st_mtime_ns, state.st_size)
    if own != run.instance_hash:
        raise ValueError(
            f"{place}: its hash is {own[:12]}, the run in {path} is of instance "
            f"{run.instance_hash[:12]}"
        )
    return replace(run, instance=instance)


def _place_of_instance(path: str | Path, run: Run) -> Path:
    return Path(path).parent / f"instance-{run.instance_hash[:16]}.json.gz"


@lru_cache(maxsize=2)
def _read_instance(place: Path, changed: int, size: int) -> tuple[Instance[Any], str]:
    """An instance and its hash; read once for all runs beside it, while the file stays the same."""
    try:
        instance = io.instance_from_dict(io.read_json(place))
    except ValueError as error:
        text = str(error).removeprefix(f"{place}: ")
        raise ValueError(f"{place}: {text}") from None
    return instance, io.instance_hash(instance)


def load_run(path: str | Path) -> Run:
    """Read what :func:`save_run` wrote."""
    if not is_folder(path):
        _check_file(path)
        data = io.read_json(path)
        try:
            run = run_from_dict(data)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        return attach_instance(path, run)
    head, tables = load_folder(path, "run", TABLES, optional={"devices"})
    checkpoint = Path(path) / CHECKPOINT
    try:
        run = _run(head, tables, Checkpoint.load(checkpoint) if checkpoint.exists() else None)
        _check_checkpoint(checkpoint, head.get(CHECKPOINT))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return attach_instance(path, run)


def _check_checkpoint(place: Path, digest: Any) -> None:
    """The checkpoint is the one of which the head has the hash."""
    if digest is not None and not place.exists():
        raise ValueError(f"the run has no file {CHECKPOINT}")
    if place.exists() and hashlib.sha256(place.read_bytes()).hexdigest() != digest:
        raise ValueError(f"{CHECKPOINT}: its SHA-256 is not the one in run.json, it was changed")


def run_to_dict(run: Run) -> dict[str, Any]:
    """Return a run, but for its checkpoint, as plain JSON data."""
    if len(run.schedule) > io.MAX_SEGMENTS:
        raise ValueError(
            f"run: {len(run.schedule):,} segments, a JSON file holds at most {io.MAX_SEGMENTS:,}: "
            f"save it in a folder that ends in {' or '.join(FOLDERS)}"
        )
    tables = {
        name: {column: np.asarray(values).tolist() for column, values in table.items()}
        for name, table in _tables(run).items()
    }
    return {**_head(run), "tables": tables}


def run_from_dict(data: Any) -> Run:
    """Return the run that :func:`run_to_dict` wrote."""
    io.check_header(data, "run")
    io.check_fields("run", data, required=FIELDS)
    optional = {"devices"}
    io.check_fields("tables", data["tables"], required=set(TABLES) - optional, optional=optional)
    tables: dict[str, Table] = {
        name: columns_of(f"tables.{name}", table, TABLES[name])
        for name, table in data["tables"].items()
    }
    return _run(data, tables, None)


def _check_file(path: str | Path) -> None:
    if not str(path).endswith((".json", ".json.gz")):
        raise ValueError(
            f"{path}: a run is a file .json or .json.gz, or a folder {' or '.join(FOLDERS)}"
        )


# --- from a run to plain data --------------------------------------------------------------------


def _head(run: Run) -> dict[str, Any]:
    return {
        **io.header("run"),
        "policy": run.policy,
        "parameters": io.plain_data("run: parameters", run.parameters),
        "rules": asdict(run.rules),
        "instance": run.instance_name,
        "instance_hash": run.instance_hash,
        "seed": run.seed,
        "stop": run.stop.value,
        "now": run.now,
        "sizes": list(run.sizes),
        "users": list(run.users),
        "user_weight": io.plain_data("run: user_weight", run.user_weight.tolist()),
        "rejected": [[job, reason] for job, reason in run.rejected],
        "log": io.plain_data("run: log", run.log),
        "rounds": run.rounds,
        "decisions": run.decisions,
        "versions": dict(run.versions),
        "information": run.information,
        "offline": run.offline,
        "timing": {"runtime": run.runtime},
    }


def _tables(run: Run) -> dict[str, Table]:
    tables: dict[str, Table] = {
        name: {column: getattr(getattr(run, name), column) for column in TABLES[name]}
        for name in ("records", "events")
    }
    for column in sorted(FLOATS):
        for j in np.flatnonzero(~np.isfinite(getattr(run.records, column)))[:1]:
            value = getattr(run.records, column)[j]
            raise ValueError(f"records: {column}[{j}]={value} is not finite")
    return {**tables, **schedule_tables(run.schedule)}


# --- and back ------------------------------------------------------------------------------------


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _real(value: Any) -> bool:
    return type(value) in (int, float) and value >= 0


def _is_rejected(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and _count(value[0])
        and isinstance(value[1], str)
    )


COUNT: io.Rule = _count, "a count"
REAL: io.Rule = _real, "a number >= 0"
SIZE: io.Rule = lambda value: _count(value) and value > 0, "a positive integer"
REJECTED: io.Rule = _is_rejected, "[number of a job, reason]"
#: what the fields of the head hold
HEAD: dict[str, io.Rule] = {
    "policy": io.TEXT,
    "parameters": io.OBJECT,
    "instance": io.TEXT,
    "instance_hash": io.TEXT,
    "seed": io.or_null(io.INTEGER),
    "stop": (lambda value: value in [stop.value for stop in Stop], "a known reason"),
    "now": (_count, "a number of seconds"),
    "sizes": io.list_of(SIZE, "a list of positive integers"),
    "users": io.TEXTS,
    "user_weight": io.list_of(REAL, "a list of numbers >= 0"),
    "rejected": io.list_of(REJECTED, "a list of [number of a job, reason]"),
    "rounds": COUNT,
    "decisions": COUNT,
    "versions": (
        lambda value: isinstance(value, dict) and io.TEXTS[0]([*value.values()]),
        "names to strings",
    ),
    "log": io.list_of(io.OBJECT, "a list of objects"),
    "information": io.or_null(io.TEXT),
    "offline": io.FLAG,
}
FIELDS = {*io.header(""), *HEAD, "rules", "timing", "tables"}


def _run(head: Mapping[str, Any], tables: Mapping[str, Table], checkpoint: Any) -> Run:
    io.check_fields("run", head, required=FIELDS, optional={CHECKPOINT})
    io.check_values("run", head, HEAD)
    io.check_fields("timing", head["timing"], required={"runtime"})
    io.check_values("timing", head["timing"], {"runtime": io.or_null(REAL)})
    plain = {name: head[name] for name in HEAD}
    plain["instance_name"] = plain.pop("instance")
    run = Run(
        **{
            **plain,
            "stop": Stop(head["stop"]),
            "sizes": tuple(head["sizes"]),
            "users": tuple(head["users"]),
            "rejected": tuple((job, reason) for job, reason in head["rejected"]),
            "log": tuple(head["log"]),
        },
        rules=_rules(head["rules"]),
        records=Records(**tables["records"]),  # type: ignore[arg-type]
        events=_events(tables["events"]),
        schedule=schedule_of(tables),
        runtime=head["timing"]["runtime"],
        checkpoint=checkpoint,
    )
    _check_numbers(run)
    return run


def _rules(data: Any) -> Rules:
    io.check_fields("rules", data, required={part.name for part in fields(Rules)})
    io.check_values("rules", data, {"synchronous": io.FLAG, "spread": io.FLAG})
    try:
        return Rules(**data)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _events(table: Table) -> Events:
    kind = np.asarray(table["kind"])
    for i in np.flatnonzero((kind < 0) | (kind >= len(EventKind)))[:1]:
        raise ValueError(f"events: kind[{i}]={kind[i]} is not a number below {len(EventKind)}")
    return Events(**table)  # type: ignore[arg-type]


def _check_numbers(run: Run) -> None:
    """Jobs, users and nodes that are named are there."""
    if len(run.users) != run.user_weight.size:
        raise ValueError(f"run: {run.user_weight.size} weights of {len(run.users)} users")
    for place, column, most in (
        ("records: user", run.records.user, len(run.users)),
        ("events: job", run.events.job, len(run.records)),
        ("segments: job", run.schedule.job, len(run.records)),
        ("entries: node", run.schedule.node, len(run.sizes)),
        ("run: rejected", np.array([job for job, _ in run.rejected]), len(run.records)),
    ):
        for i in np.flatnonzero((column < 0) | (column >= most))[:1]:
            raise ValueError(f"{place}[{i}]={column[i]} is not a number below {most}")
    if run.checkpoint is not None and run.checkpoint.instance_hash != run.instance_hash:
        raise ValueError(f"{CHECKPOINT}: of another instance than the run")
