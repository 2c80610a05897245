"""JSON files: what is written comes back, same bytes for the same object, and clear refusals."""

import copy
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import full_disk
import gangsched as gs
from gangsched.instances import Linear, ParameterServerJob, Power, Table, io
from malformed import FILES
from strategies import instances, schedules


def write(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


# --- both ways -----------------------------------------------------------------------------------


def test_a_file_written_by_hand_is_read(tmp_path: Path) -> None:
    assert io.load(write(tmp_path / "i.json", FILES["instance"])) == gs.Instance(
        gs.Cluster((gs.Node("n0", 4), gs.Node("n1", 8, "v100"))),
        (
            gs.Job(id="a", gpus=2, user="u", work=60),
            gs.Job(id="b", gpus=1, user="u", speeds={"v100": 2}),
        ),
        (gs.User("u", weight=2),),
    )


def test_stopping_criteria_are_tagged(tmp_path: Path) -> None:
    loaded = io.load(write(tmp_path / "d.json", FILES["deadline"]))
    assert isinstance(loaded, gs.Instance)
    target, other = loaded.jobs
    assert target.stopping == gs.TargetMetric(target=0.9, max_epochs=5, curve=(0.5, 0.95))
    assert target.rewards == ((90, 100.0), (99, 80.0))
    assert other == gs.DeadlineJob(id="b", gpus=1)
    explicit = copy.deepcopy(FILES["deadline"])
    explicit["jobs"][1]["stopping"] = {"kind": "iterations"}
    assert io.instance_from_dict(explicit) == loaded


def test_utilities_are_tagged(tmp_path: Path) -> None:
    loaded = io.load(write(tmp_path / "s.json", FILES["servers"]))
    assert isinstance(loaded, gs.Instance)
    utilities = Linear(-2, 100), Power(20, 1.5), Table([9, 9, 3])
    for job, id, utility in zip(loaded.jobs, "abc", utilities, strict=True):
        assert job == ParameterServerJob(
            id=id, gpus=2, epochs=4, minibatches=5, rates=(1, 0.5), utility=utility
        )
    assert (loaded.slot, loaded.cluster.nodes[0].ps) == (3600, 1)


@given(instances())
def test_instances_come_back(instance: gs.Instance[Any]) -> None:
    assert io.instance_from_dict(json.loads(json.dumps(io.instance_to_dict(instance)))) == instance


@given(schedules())
def test_schedules_come_back(schedule: gs.Schedule) -> None:
    assert io.schedule_from_dict(json.loads(json.dumps(io.schedule_to_dict(schedule)))) == schedule


@given(st.data())
def test_allocations_come_back(data: st.DataObject) -> None:
    users = data.draw(st.lists(st.text(max_size=3), unique=True, max_size=3))
    models = data.draw(st.lists(st.text(max_size=3), unique=True, max_size=3))
    row = st.lists(st.floats(0, 1e9), min_size=len(models), max_size=len(models))
    shares = np.array([data.draw(row) for _ in users]).reshape(len(users), len(models))
    one = gs.Allocation(users, models, shares)
    assert io.allocation_from_dict(json.loads(json.dumps(io.allocation_to_dict(one)))) == one


def test_compressed_files_carry_no_time(tmp_path: Path) -> None:
    io.write_json(tmp_path / "x.json.gz", [1])
    raw = (tmp_path / "x.json.gz").read_bytes()
    assert raw[:2] == b"\x1f\x8b"
    assert raw[4:8] == bytes(4)  # MTIME of RFC 1952
    assert gzip.decompress(raw) == b"[1]\n"


def test_bytes_are_canonical(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    io.write_json(path, {"b": [1, 2.5], "a": "é"})
    assert path.read_bytes() == b'{"a":"\\u00e9","b":[1,2.5]}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        io.write_json(path, float("nan"))


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    io.write_json(path, ["old"])
    full_disk.fill(monkeypatch)
    with pytest.raises(OSError, match="No space left") as error:
        io.write_json(path, ["new"] * 10)
    assert error.value.filename == str(path)
    assert io.read_json(path) == ["old"]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="No such file") as error:
        io.write_file(tmp_path / "none" / "x.json", "")
    assert error.value.filename == str(tmp_path / "none" / "x.json")


@pytest.mark.skipif(os.name == "nt", reason="links and modes are another thing there")
def test_links_modes_and_devices_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    io.write_file(real, "old")
    real.chmod(0o600)
    link.symlink_to(real)
    io.write_file(link, "new \udc80")
    assert link.is_symlink()
    assert real.read_text() == "new \\udc80"
    assert real.stat().st_mode & 0o777 == 0o600
    io.write_file(os.devnull, "gone")
    assert Path(os.devnull).is_char_device()


def test_kinds_of_job_of_others_have_no_file(tmp_path: Path) -> None:
    class Mine(gs.Job):
        pass

    instance = gs.Instance(gs.Cluster.of_sizes([1]), [Mine(id="a", gpus=1)])
    with pytest.raises(TypeError, match="job 'a': a file has no kind for a Mine"):
        io.save(tmp_path / "x.json", instance)
    assert list(tmp_path.iterdir()) == []


def test_an_instance_without_jobs_comes_back(tmp_path: Path) -> None:
    io.save(tmp_path / "x.json", gs.Instance(gs.Cluster.of_sizes([1]), (), name="empty", slot=60))
    loaded = io.load(tmp_path / "x.json")
    assert isinstance(loaded, gs.Instance)
    assert (loaded.jobs, loaded.name, loaded.slot) == ((), "empty", 60)


def test_other_objects_cannot_be_saved(tmp_path: Path) -> None:
    message = r"x\.json: a file holds one of Allocation, Instance, Schedule, not a Node"
    with pytest.raises(TypeError, match=message):
        io.save(tmp_path / "x.json", gs.Node("n", 1))  # type: ignore[arg-type]


def test_large_schedules_are_refused_both_ways(tmp_path: Path) -> None:
    n = 10_001
    ones = np.ones(n, dtype=np.int64)
    columns = {"job": ones, "start": ones, "end": ones + 1, "node": ones, "gpus": ones}
    schedule = gs.Schedule(**columns, ptr=np.arange(n + 1))
    message = "schedule: 10001 segments, a file holds at most 10000"
    folder = r": save it in a folder that ends in \.parquet or \.csv$"
    with pytest.raises(ValueError, match=message + folder):
        io.save(tmp_path / "x.json", schedule)
    data = {
        **FILES["schedule"],
        "ptr": list(range(n + 1)),
        **{k: v.tolist() for k, v in columns.items()},
    }
    with pytest.raises(ValueError, match=f"{message}$"):
        io.load(write(tmp_path / "x.json", data))


# --- malformed files -----------------------------------------------------------------------------

# Text that is no JSON, or JSON that the project does not use.
TEXTS = {
    "empty": ("", "line 1, column 1: not JSON: Expecting value"),
    "cut off": ('{"format": "gangsched",', "line 1, column 24: not JSON"),
    "second line": ('{"format":\n oops}', "line 2, column 2: not JSON: Expecting value"),
    "nan": ('{"weight": NaN}', "NaN is not allowed, numbers are finite"),
    "infinity": ("[-Infinity]", "-Infinity is not allowed, numbers are finite"),
    "overflow": ("[1e999]", "1e999 is not allowed, numbers are finite"),
    "too long": ("9" * 5000, "Exceeds the limit"),
    "too deep": ("[" * 200_000, "nested too deeply"),
    "key twice": ('{"jobs": 1, "jobs": 2}', "field 'jobs' occurs twice in one object"),
    "a list": ("[]", "the file's content: [] is not an object"),
    "no format": ("{}", "field 'format' is missing"),
}


@pytest.mark.parametrize(("text", "message"), TEXTS.values(), ids=TEXTS)
def test_text_that_is_no_file_of_ours(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path / "bad.json", text)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {message}")):
        io.load(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b'{"name": "\xff"}')
    with pytest.raises(ValueError, match=r"bad\.json: byte 10 is not UTF-8 text"):
        io.load(path)
    path.write_bytes(gzip.compress(json.dumps(FILES["instance"]).encode())[:-9])
    with pytest.raises(ValueError, match=r"bad\.json: damaged gzip data"):
        io.load(path)
    path.write_bytes(b"\x1f\x8b\x08nonsense, not deflate at all")
    with pytest.raises(ValueError, match=r"bad\.json: damaged gzip data"):
        io.load(path)


def test_a_missing_file_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        io.load(tmp_path / "nowhere.json")


def test_long_values_are_shortened_in_messages() -> None:
    with pytest.raises(ValueError, match=r"^jobs='x{56}\.\.\. is not a list$"):
        io.instance_from_dict({**FILES["instance"], "jobs": "x" * 1000})
