"""Problems as JSON: both ways, and clear refusals."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given

from gangsched.formulations import RarDdls
from gangsched.formulations.io import problem_from_dict, problem_to_dict
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.instances.io import read_json, write_json
from strategies import quadratic, rar_problems

# Written by hand, not by the code under test.
HEAD = {"format": "gangsched", "version": 1}
PROBLEM: dict[str, Any] = {
    **HEAD,
    "kind": "problem",
    "problem": "rar-ddls",
    "instance": {
        **HEAD,
        "kind": "instance",
        "cluster": {"nodes": [{"id": "n0", "gpus": 4}]},
        "jobs": [
            {"kind": "ring", "id": "a", "gpus": 2, "iterations": 9, "gradient": 0, "base_time": 0.5}
        ],
    },
    "parameters": {"alpha": 0.5, "rate": "exact", "horizon": 1200},
}
JOB = RingJob(id="a", gpus=2, iterations=9, gradient=0, base_time=0.5)
SAME = RarDdls(
    Instance(Cluster.of_sizes([4]), [JOB]),  # type: ignore[arg-type]
    alpha=0.5,
    rate="exact",
    horizon=1200,
)


def test_a_problem_written_by_hand_is_read() -> None:
    assert problem_from_dict(PROBLEM) == SAME
    assert problem_to_dict(SAME) == PROBLEM


def test_parameters_at_their_default_stay_out_of_the_file() -> None:
    plain = RarDdls(SAME.instance)
    assert problem_to_dict(plain)["parameters"] == {}
    spelled = RarDdls(SAME.instance, xi1=0.5, degradation="linear", horizon=None)
    assert problem_to_dict(spelled)["parameters"] == {}
    assert problem_from_dict({**PROBLEM, "parameters": {}}) == plain
    assert problem_from_dict({**PROBLEM, "parameters": {"horizon": None}}) == plain


@given(problem=rar_problems(own_degradation=False))
def test_problems_come_back(problem: RarDdls) -> None:
    again = problem_from_dict(json.loads(json.dumps(problem_to_dict(problem))))
    assert again == problem
    assert again.rates.tolist() == problem.rates.tolist()


def test_problems_come_back_from_files(tmp_path: Any) -> None:
    path = tmp_path / "problem.json.gz"
    write_json(path, problem_to_dict(SAME))
    assert problem_from_dict(read_json(path)) == SAME


def test_functions_cannot_be_written() -> None:
    problem = RarDdls(SAME.instance, degradation=quadratic)
    with pytest.raises(
        TypeError,
        match=r"^RarDdls: degradation=<function quadratic at 0x\w+> is a function, which a file "
        r"cannot hold; use one that has a name$",
    ):
        problem_to_dict(problem)


def test_other_objects_are_no_problems() -> None:
    with pytest.raises(TypeError, match=r"^3 is a int, not one of RarDdls$"):
        problem_to_dict(3)  # type: ignore[arg-type]


DROP = object()


def changed(place: str, value: Any) -> dict[str, Any]:
    """The problem above with one place replaced or dropped."""
    data = copy.deepcopy(PROBLEM)
    *path, last = place.split(".")
    inner = data
    for step in path:
        inner = inner[step]
    if value is DROP:
        del inner[last]
    else:
        inner[last] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "the file's content: [] is not an object"),
        (changed("format", DROP), "field 'format' is missing"),
        (changed("format", "x"), "format='x' is not 'gangsched'"),
        (changed("version", 2), "version=2 is not supported, only 1 is"),
        (changed("kind", "instance"), "kind='instance' is not one of 'problem'"),
        (changed("problem", DROP), "problem: field 'problem' is missing"),
        (changed("problem", "rar"), "problem='rar' is not one of 'rar-ddls'"),
        (changed("problem", ["rar-ddls"]), "problem=['rar-ddls'] is not one of 'rar-ddls'"),
        (changed("parameters", DROP), "problem: field 'parameters' is missing"),
        (changed("parameters", []), "parameters: [] is not an object"),
        (
            changed("params", {}),
            "problem: unknown field 'params' (did you mean 'parameters'?)",
        ),
        (
            changed("parameters.alfa", 1),
            "parameters: unknown field 'alfa' (did you mean 'alpha'?)",
        ),
        (
            changed("parameters.rates", []),
            "parameters: unknown field 'rates' (did you mean 'rate'?)",
        ),
        (
            changed("parameters.instance", {}),
            (
                "parameters: unknown field 'instance' (known are alpha, bandwidth_between, "
                "bandwidth_within, compute_speed, contention, degradation, horizon, rate, xi1, xi2)"
            ),
        ),
        (changed("parameters.alpha", -1), "RarDdls: alpha=-1 is not >= 0"),
        (changed("parameters.alpha", "0.2"), "RarDdls: alpha='0.2' is not a number"),
        (changed("parameters.xi1", 2), "RarDdls: xi1=2.0 is not in (0, 1]"),
        (changed("parameters.horizon", 7.0), "RarDdls: horizon=7.0 is not an integer"),
        (changed("parameters.rate", None), "RarDdls: rate=None is not 'floor' or 'exact'"),
        (
            changed("parameters.degradation", {}),
            "RarDdls: degradation={} is not callable nor one of 'linear', 'power'",
        ),
        (changed("instance", DROP), "problem: field 'instance' is missing"),
        (changed("instance", None), "instance: the file's content: None is not an object"),
        (changed("instance.jobs", DROP), "instance: field 'jobs' is missing"),
        (changed("instance.version", 0), "instance: version=0 is not supported, only 1 is"),
        (
            changed("instance.jobs", [{"kind": "job", "id": "a", "gpus": 1}]),
            "job 'a': kind Job is not RingJob",
        ),
        (
            changed("instance.cluster", {"nodes": [{"id": "n0", "gpus": 1}]}),
            "job 'a': gpus=2 exceeds the cluster's 1",
        ),
    ],
)
def test_malformed_problems(data: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        problem_from_dict(data)
