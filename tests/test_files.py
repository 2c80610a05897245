"""Files written by hand: the same is written again, and what is wrong in one place is refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from gangsched.formulations.io import problem_from_dict
from gangsched.solvers.io import result_from_dict
from malformed import FILES, cases, changed, table


def written(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
@pytest.mark.parametrize("name", FILES)
def test_the_same_is_written_again_byte_by_byte(tmp_path: Path, name: str, suffix: str) -> None:
    """And what has its default stays out."""
    thing = gs.io.load(written(tmp_path / "in.json", FILES[name]))
    one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    gs.io.save(one, thing)
    assert gs.instances.io.read_json(one) == FILES[name]
    again = gs.io.load(one)
    gs.io.save(two, again)
    assert one.read_bytes() == two.read_bytes()
    assert again == thing or name == "gandiva-fair"  # a market is compared by what it is


@pytest.mark.parametrize(
    ("name", "place", "value", "refusal"),
    [case for name, rows in table("malformed_files").items() for case in cases(rows, name)],
)
def test_what_is_wrong_in_one_place_is_refused_by_place_value_and_rule(
    tmp_path: Path, name: str, place: str, value: Any, refusal: str
) -> None:
    path = written(tmp_path / "bad.json", changed(FILES[name], place, value))
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}: {refusal}')}"):
        gs.io.load(path)


@pytest.mark.parametrize(
    ("read", "known"),
    [
        (problem_from_dict, "'problem'"),
        (result_from_dict, "'result'"),
        (gs.instances.io.instance_from_dict, "'instance'"),
    ],
)
def test_another_kind_or_a_list_is_refused(read: Callable[[Any], Any], known: str) -> None:
    with pytest.raises(ValueError, match=f"^kind='run' is not one of {known}$"):
        read({**FILES["instance"], "kind": "run"})
    with pytest.raises(ValueError, match=r"the file's content: \[\] is not an object$"):
        read([])
