"""Files of runs: what is saved comes back, what is not as it should be is refused."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gangsched as gs
from gangsched.analysis.driving.drive import Checkpoint, drive
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.run_io import load_run, run_from_dict, run_to_dict, save_run
from gangsched.instances import Cluster, Instance, Job, Schedule, Segment, io
from gangsched.instances.deadlines import testbed_workload
from gangsched.instances.generate import philly_workload, rar_workload
from gangsched.instances.heterogeneous import trading_groups
from gangsched.instances.io import instance_hash
from gangsched.instances.revenue import revenue_instance
from gangsched.instances.tables import save_folder
from gangsched.solvers import Stop
from gangsched.solvers.policies.fifo import Fifo
from gangsched.solvers.policies.tiresias_l import TiresiasL
from hand_run import INSTANCE, PIECES, Piece, hand_run, with_record
from malformed import table

FORMS = ["json", "json.gz", "csv", "parquet"]
forms = pytest.mark.parametrize("form", FORMS)
RUN = hand_run()
DEVICES = Schedule.of(
    [Segment(p.job, p.start, p.end, p.nodes, {n: tuple(range(g)) for n, g in p.nodes.items()})
     for p in PIECES]
)  # fmt: skip
OPEN = hand_run(
    (Piece(0, 0, 60, {0: 4, 1: 2}, None),), left={0: 140, 1: 50, 2: 60, 3: 150, 4: 100},
    now=60, stop=Stop.ITERATION_LIMIT,
)  # fmt: skip
RUNS = {
    "whole": RUN,
    "stopped": OPEN,
    "without seed": replace(RUN, seed=None, versions={}, parameters={}),
    "with devices": replace(RUN, schedule=DEVICES),
    "with a migration": replace(RUN, rules=replace(RUN.rules, migration=5)),
    "of no jobs": hand_run((), instance=Instance(Cluster.of_sizes([2]), []), rejected=()),
    "awkward ids": with_record(RUN, id={0: 'a,"b"\n\r', 1: "", 2: "Zürich"}),
    "awkward numbers": with_record(RUN, fair={0: 0.1 + 0.2, 1: 1e-320, 2: -0.0}, left={2: 2**62}),
}


def everything(run: Run) -> dict[str, Any]:
    """What equality leaves out, too."""
    names = ("rounds", "decisions", "runtime", "versions")
    return {name: getattr(run, name) for name in names}


@forms
@pytest.mark.parametrize("name", RUNS)
def test_what_is_saved_comes_back(tmp_path: Path, name: str, form: str) -> None:
    run, path = RUNS[name], tmp_path / f"night.{form}"
    save_run(path, run)
    loaded = load_run(path)
    assert loaded == run
    assert loaded.digest() == run.digest()
    assert everything(loaded) == everything(run)


@forms
def test_saved_bytes_are_the_same_but_for_timing(tmp_path: Path, form: str) -> None:
    def files(name: str, run: Run) -> dict[str, bytes]:
        path = tmp_path / f"{name}.{form}"
        save_run(path, run)
        parts = path.iterdir() if path.is_dir() else [path]
        return {"file" if part == path else part.name: part.read_bytes() for part in parts}

    one, same, slow = files("a", RUN), files("b", RUN), files("c", replace(RUN, runtime=9.5))
    assert one == same
    head = "run.json" if "run.json" in one else "file"
    assert {name for name in one if one[name] != slow[name]} == {head}
    if form != "json.gz":
        head_one, head_slow = json.loads(one[head]), json.loads(slow[head])
        assert head_one.pop("timing") == {"runtime": 0.25}
        assert head_slow.pop("timing") == {"runtime": 9.5}
        assert head_one == head_slow


@forms
def test_a_saved_run_replaces_another(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"night.{form}"
    save_run(path, RUNS["with devices"])
    save_run(path, OPEN)
    assert load_run(path) == OPEN


@forms
def test_parameters_of_a_policy_come_back(tmp_path: Path, form: str) -> None:
    run = drive(INSTANCE, TiresiasL(thresholds=(60, 500)))
    assert run.parameters == {"thresholds": [60, 500]}
    save_run(tmp_path / f"night.{form}", run)
    assert load_run(tmp_path / f"night.{form}") == run


def test_a_stopped_run_can_be_resumed_from_its_folder(tmp_path: Path) -> None:
    whole, part = drive(INSTANCE, Fifo()), drive(INSTANCE, Fifo(), until=120)
    folder = tmp_path / "night.csv"
    save_run(folder, part)
    loaded = load_run(folder)
    assert loaded == part
    assert isinstance(loaded.checkpoint, Checkpoint)
    assert drive(INSTANCE, Fifo(), resume=loaded.checkpoint) == whole
    save_run(folder, whole)  # no checkpoint is left
    assert load_run(folder).checkpoint is None
    assert not (folder / "checkpoint").exists()


def test_a_checkpoint_has_to_belong_to_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "night.csv"
    save_run(folder, drive(INSTANCE, Fifo(), until=120))
    (folder / "checkpoint").write_text("x")
    with pytest.raises(ValueError, match=r"night\.csv.*: not a checkpoint of a run"):
        load_run(folder)
    other = Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1, work=9)])
    stopped = drive(other, Fifo(), until=0)
    assert stopped.checkpoint is not None
    stopped.checkpoint.save(folder / "checkpoint")
    with pytest.raises(ValueError, match=r"night\.csv: checkpoint: of another instance"):
        load_run(folder)


# --- what has no file ----------------------------------------------------------------------------


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    rule = r"night\.txt: a run is a file \.json or \.json\.gz, or a folder \.parquet or \.csv"
    with pytest.raises(ValueError, match=rule):
        save_run(tmp_path / "night.txt", RUN)
    with pytest.raises(ValueError, match=rule):
        load_run(tmp_path / "night.txt")


def test_long_runs_go_into_folders(tmp_path: Path) -> None:
    n = io.MAX_SEGMENTS + 1
    column = np.arange(n)
    ones = np.ones(n, dtype=np.int64)
    many = Schedule(column * 0, column, column + 1, np.arange(n + 1), column * 0, ones)
    run = replace(RUN, schedule=many)
    rule = r"run: 10,001 segments, a JSON file holds at most 10,000: save it in a folder that ends"
    with pytest.raises(ValueError, match=rf"night\.json: {rule} in \.parquet or \.csv"):
        save_run(tmp_path / "night.json", run)
    assert not (tmp_path / "night.json").exists()
    save_run(tmp_path / "night.csv", run)
    assert load_run(tmp_path / "night.csv") == run


@pytest.mark.parametrize("form", ["json", "csv"])
def test_what_a_file_cannot_hold_is_refused(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"night.{form}"
    with pytest.raises(TypeError, match=r"run: parameters\['keys'\]=\{1\} is not plain data"):
        save_run(path, replace(RUN, parameters={"keys": {1}}))
    with pytest.raises(TypeError, match=r"run: parameters\['a'\]: key 1 is not a string"):
        save_run(path, replace(RUN, parameters={"a": {1: 2}}))
    with pytest.raises(ValueError, match=rf"\.{form}: run: parameters\['a'\]\[1\]=inf is not fin"):
        save_run(path, replace(RUN, parameters={"a": [1, float("inf")]}))
    with pytest.raises(ValueError, match=rf"\.{form}: records: fair\[1\]=nan is not finite"):
        save_run(path, with_record(RUN, fair={1: float("nan")}))
    assert not path.exists()


# --- files that are not as written ---------------------------------------------------------------


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"night\.json"):
        load_run(tmp_path / "night.json")
    with pytest.raises(FileNotFoundError, match=r"night\.csv: no such folder"):
        load_run(tmp_path / "night.csv")
    save_run(tmp_path / "night.csv", RUN)
    (tmp_path / "night.csv" / "events.csv").unlink()
    with pytest.raises(ValueError, match=r"night\.csv: table 'events' has no file events\.csv"):
        load_run(tmp_path / "night.csv")


HEADS = table("refused_values")["runs"]


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize(("change", "rule"), HEADS)
def test_broken_heads_are_refused(
    tmp_path: Path, change: dict[str, Any], rule: str, form: str
) -> None:
    path = tmp_path / f"night.{form}"
    save_run(path, RUN)
    head = path if form == "json" else path / "run.json"
    io.write_json(head, json.loads(head.read_text()) | change)
    with pytest.raises(ValueError, match=rf"night\.{form}.*: {rule}"):
        load_run(path)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    table("refused_values")["broken_rules_are_refused"],
)
def test_broken_rules_are_refused(name: str, value: Any, rule: str) -> None:
    data = run_to_dict(RUN)
    with pytest.raises(ValueError, match=f"^rules: {rule}"):
        run_from_dict({**data, "rules": {**data["rules"], name: value}})


def test_a_migration_that_costs_something_else_makes_another_run() -> None:
    data = run_to_dict(RUN)
    assert data["rules"]["migration"] is None
    moved = replace(RUN, rules=replace(RUN.rules, migration=5))
    assert run_to_dict(moved)["rules"]["migration"] == 5
    assert run_from_dict(data).rules.migration is None
    assert moved.digest() != RUN.digest()
    assert moved != RUN


TABLES = [
    ("records", "gpus", [1], r"tables\.records: columns have .* entries, not equally many"),
    ("records", "gpus", [1, 2, 3, 4, "5"], r"tables\.records: gpus\[4\]='5' is not a 64-bit int"),
    ("records", "rejected", [0] * 5, r"tables\.records: rejected\[0\]=0 is not true or false"),
    ("events", "kind", 7, r"events: kind\[0\]=7 is not a number below 7"),
    ("events", "job", 5, r"events: job\[0\]=5 is not a number below 5"),
    ("segments", "job", 7, r"segments: job\[0\]=7 is not a number below 5"),
    ("segments", "end", 0, r"schedule: segment 0 of job 0: start=0 is not before end=0"),
    ("entries", "gpus", 0, r"schedule: entry 0 on node 0 uses nothing"),
    ("entries", "segment", 9, r"entries: segment\[0\]=9 is not a number below 6"),
]


@pytest.mark.parametrize(("table", "column", "value", "rule"), TABLES)
def test_broken_tables_are_refused(table: str, column: str, value: Any, rule: str) -> None:
    data = run_to_dict(RUN)
    good = data["tables"][table]
    other = value if isinstance(value, list) else [value, *good[column][1:]]
    tables = {**data["tables"], table: {**good, column: other}}
    with pytest.raises(ValueError, match=f"^{rule}"):
        run_from_dict({**data, "tables": tables})


def test_a_table_of_another_run_is_refused(tmp_path: Path) -> None:
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    save_run(one, RUN)
    save_run(other, with_record(RUN, fair={0: 1.0}))
    (other / "records.parquet").rename(one / "records.parquet")
    with pytest.raises(ValueError, match=r"records\.parquet: its SHA-256 is not the one in run"):
        load_run(one)


def test_a_schedule_is_no_run(tmp_path: Path) -> None:
    save_folder(tmp_path / "plan.csv", io.header("schedule"), {})
    with pytest.raises(ValueError, match=r"plan\.csv: the folder has no run\.json"):
        load_run(tmp_path / "plan.csv")


def test_a_run_carries_its_instance_by_reference_only() -> None:
    run = hand_run()
    bare = replace(run, instance=None)
    assert run.instance is INSTANCE
    assert bare == run
    assert bare.digest() == run.digest()
    assert run_to_dict(bare) == run_to_dict(run)
    again = pickle.loads(pickle.dumps(run))
    assert again.instance is None
    assert again == run
    assert again.attach(INSTANCE).instance is INSTANCE
    with pytest.raises(TypeError, match="run: instance='five jobs' is not an Instance"):
        replace(run, instance="five jobs")  # type: ignore[arg-type]


# --- the instance beside its runs ----------------------------------------------------------------


@forms
def test_an_instance_is_saved_once_beside_its_runs(tmp_path: Path, form: str) -> None:
    for name in ("a", "b"):
        save_run(tmp_path / f"{name}.{form}", RUN)
    (place,) = tmp_path.glob("instance-*")
    assert place.name == f"instance-{RUN.instance_hash[:16]}.json.gz"
    one, two = (load_run(tmp_path / f"{name}.{form}") for name in ("a", "b"))
    assert one.instance == INSTANCE
    assert one.instance is two.instance
    place.unlink()
    assert load_run(tmp_path / f"a.{form}").instance is None


def test_a_run_saved_by_any_name_finds_its_instance(tmp_path: Path) -> None:
    gs.io.save(tmp_path / "x.json", RUN)
    assert gs.io.load(tmp_path / "x.json").instance == INSTANCE


def test_another_instance_beside_a_run_is_refused(tmp_path: Path) -> None:
    save_run(tmp_path / "a.csv", RUN)
    (place,) = tmp_path.glob("instance-*")
    io.save(place, Instance(Cluster.of_sizes([1]), []))
    with pytest.raises(ValueError, match=r"instance-\w+.json.gz: its hash is \w{12}, the run in"):
        load_run(tmp_path / "a.csv")
    place.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"instance-\w+.json.gz: line 1, column 1: not JSON"):
        load_run(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "instance",
    [
        testbed_workload(20, seed=1),
        philly_workload(Cluster.of_sizes([8, 8]), jobs=20, seed=1, load=0.9),
        rar_workload(Cluster.of_sizes([8, 8]), jobs=20, seed=1),
        trading_groups(),
        revenue_instance(8, users=2, servers=8, utility="convex", seed=1)[0],
    ],
    ids=lambda instance: type(instance.jobs[0]).__name__,
)
def test_instances_of_all_kinds_come_back_as_they_were(
    tmp_path: Path, instance: Instance[Any]
) -> None:
    run = replace(RUN, instance=instance, instance_hash=instance_hash(instance))
    save_run(tmp_path / "a.csv", run)
    assert load_run(tmp_path / "a.csv").instance == instance


def test_an_instance_that_no_file_holds_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Mine(Job):
        pass

    instance = Instance(Cluster.of_sizes([2]), [Mine(id="a", gpus=1, work=9)])
    run = drive(instance, Fifo())
    save_run(tmp_path / "a.csv", run)
    assert "the instance of" in caplog.text
    assert "job 'a': a file has no kind for a Mine" in caplog.text
    loaded = load_run(tmp_path / "a.csv")
    assert loaded.instance is None
    assert loaded.attach(instance) == run


def test_a_checkpoint_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "night.csv"
    save_run(folder, drive(INSTANCE, Fifo(), until=120))
    place = folder / "checkpoint"
    place.write_bytes(place.read_bytes() + b"x")
    with pytest.raises(ValueError, match=r"checkpoint: its SHA-256 is not the one in run\.json"):
        load_run(folder)
    head = io.read_json(folder / "run.json")
    bare = {k: v for k, v in head.items() if k != "checkpoint"}
    io.write_json(folder / "run.json", bare)
    with pytest.raises(ValueError, match="checkpoint: its SHA-256 is not the one in"):
        load_run(folder)
    io.write_json(folder / "run.json", head)
    place.unlink()
    with pytest.raises(ValueError, match="the run has no file checkpoint"):
        load_run(folder)
    io.write_json(folder / "run.json", bare)
    assert load_run(folder).checkpoint is None  # as of a policy that cannot be pickled
