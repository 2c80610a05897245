"""JSON of problems: an instance together with one paper's parameters.

One object: ``"kind": "problem"``, the problem's name as on the command line, the instance as
:mod:`gangsched.instances.io` writes it, and the parameters that differ from their defaults. Jobs
and nodes that parameters refer to are numbers: of jobs to profile ("profilers", a list), of jobs
that have run ("phases", an object such as ``{"3": "running"}``), and the free GPUs of each node
("free", a list). Of IRMP, the users that own the nodes are named ("owners", a list), and those that
are promised what they earn alone ("alone", an object such as ``{"u": 120.0}``).

A market of GPUs has no instance: its file has "market" in place of instance and parameters, with
the fields of :class:`~gangsched.formulations.gandiva_fair.GpuMarket`; a demand without limit is
null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from ..instances.io import check_fields, check_header, header, instance_from_dict, instance_to_dict
from .deadline_rewards import DeadlineRewards
from .gandiva_fair.problem import GpuMarket
from .irmp.problem import Irmp
from .rar_ddls.problem import RarDdls
from .unisched.leases import Phase
from .unisched.problem import UniSched

__all__ = ["PROBLEMS", "problem_from_dict", "problem_to_dict"]

FileProblem = RarDdls | UniSched | DeadlineRewards | Irmp | GpuMarket

#: problem classes by their name in files and on the command line
PROBLEMS: dict[str, type[FileProblem]] = {
    "rar-ddls": RarDdls,
    "unisched": UniSched,
    "deadline-rewards": DeadlineRewards,
    "irmp": Irmp,
    "gandiva-fair": GpuMarket,
}


def problem_to_dict(problem: FileProblem) -> dict[str, Any]:
    """Return `problem` as plain JSON data; parameters at their default are left out.

    Parameters
    ----------
    problem : RarDdls, UniSched, DeadlineRewards, Irmp or GpuMarket

    Returns
    -------
    dict

    Raises
    ------
    TypeError
        If `problem` is not one of :data:`PROBLEMS`, or a parameter is a function.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2]), []), alpha=0.5, rate="floor")
    >>> problem_to_dict(problem)["problem"], problem_to_dict(problem)["parameters"]
    ('rar-ddls', {'alpha': 0.5})
    """
    names = {kind: name for name, kind in PROBLEMS.items()}
    if type(problem) not in names:
        known = ", ".join(kind.__name__ for kind in names)
        raise TypeError(f"{problem!r} is a {type(problem).__name__}, not one of {known}")
    if isinstance(problem, GpuMarket):
        return {**header("problem"), "problem": "gandiva-fair", "market": _market_to_dict(problem)}
    return {
        **header("problem"),
        "problem": names[type(problem)],
        "instance": instance_to_dict(problem.instance),
        "parameters": _parameters_to_dict(problem),
    }


def problem_from_dict(data: Any) -> FileProblem:
    """Return the problem that :func:`problem_to_dict` wrote.

    Parameters
    ----------
    data : object
        What :func:`gangsched.instances.io.read_json` returned.

    Returns
    -------
    RarDdls, UniSched, DeadlineRewards, Irmp or GpuMarket

    Raises
    ------
    ValueError
        If anything in it breaks the format or the problem's rules; the message names place, value
        and rule.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2]), []), alpha=0.5)
    >>> problem_from_dict(problem_to_dict(problem)) == problem
    True
    """
    check_header(data, "problem")
    market = {*header(""), "problem", "market"}
    if isinstance(data, dict) and data.get("problem") == "gandiva-fair":
        check_fields("problem", data, required=market)
        return _market_from_dict(data["market"])
    check_fields("problem", data, required={*header(""), "problem", "instance", "parameters"})
    name = data["problem"]
    if not isinstance(name, str) or name not in PROBLEMS:
        raise ValueError(f"problem={name!r} is not one of {', '.join(map(repr, PROBLEMS))}")
    kind: Any = PROBLEMS[name]
    try:
        instance = instance_from_dict(data["instance"])
    except ValueError as error:
        raise ValueError(f"instance: {str(error).removeprefix('instance: ')}") from None
    known = {field.name for field in fields(kind) if field.init} - {"instance"}
    check_fields("parameters", data["parameters"], required=set(), optional=known)
    parameters = _parameters_from_dict(data["parameters"])
    try:
        problem: FileProblem = kind(instance, **parameters)
        return problem
    except TypeError as error:
        raise ValueError(str(error)) from None


# --- markets --------------------------------------------------------------------------------------


def _market_to_dict(market: GpuMarket) -> dict[str, Any]:
    return {
        "aim": market.aim,
        "gpus": market.gpus.tolist(),
        "speeds": market.speeds.tolist(),
        "tickets": market.tickets.tolist(),
        "demand": [None if gpus == math.inf else gpus for gpus in market.demand.tolist()],
        "users": list(market.users),
        "models": list(market.models),
    }


def _market_from_dict(data: Any) -> GpuMarket:
    names = {field.name for field in fields(GpuMarket) if field.init}
    check_fields("market", data, required=names)
    for name in names - {"aim"}:
        if not isinstance(data[name], list):
            raise ValueError(f"market: {name}={data[name]!r} is not a list")
    demand = [math.inf if gpus is None else gpus for gpus in data["demand"]]
    try:
        return GpuMarket(**{**data, "demand": demand})
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"market: {error}") from None


# --- parameters ----------------------------------------------------------------------------------


def _parameters_to_dict(problem: FileProblem) -> dict[str, Any]:
    parameters = {}
    for field in fields(problem):
        name, value = field.name, getattr(problem, field.name)
        factory: Any = field.default_factory
        default = field.default if factory is MISSING else factory()
        if name == "instance" or not field.init or value == default:
            continue
        if callable(value):
            raise TypeError(
                f"{type(problem).__name__}: {name}={value!r} is a function, which a file cannot "
                "hold; use one that has a name"
            )
        parameters[name] = CODED[name][0](value) if name in CODED else value
    return parameters


def _parameters_from_dict(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: CODED[name][1](v) if name in CODED else v for name, v in data.items()}


def _phases_to_dict(phases: Mapping[int, Phase]) -> dict[str, str]:
    return {str(i): phase.name.lower() for i, phase in sorted(phases.items())}


def _phases_from_dict(data: Any) -> dict[int, Phase]:
    if not isinstance(data, dict):
        raise ValueError(f"parameters: phases={data!r} is not an object")
    names = {phase.name.lower(): phase for phase in Phase}
    for key, name in data.items():
        if not (key.isascii() and key.isdigit() and str(int(key)) == key):
            raise ValueError(f"parameters: phases: {key!r} is not a job's number")
        if not isinstance(name, str) or name not in names:
            known = ", ".join(map(repr, names))
            raise ValueError(f"parameters: phases[{key!r}]={name!r} is not one of {known}")
    return {int(key): names[name] for key, name in data.items()}


def _profilers_from_list(data: Any) -> frozenset[int]:
    if not isinstance(data, list):
        raise ValueError(f"parameters: profilers={data!r} is not a list")
    for i, number in enumerate(data):
        if type(number) is not int:
            raise ValueError(f"parameters: profilers[{i}]={number!r} is not an integer")
    return frozenset(data)


def _free_from_list(data: Any) -> Any:
    if data is not None and not isinstance(data, list):
        raise ValueError(f"parameters: free={data!r} is not null nor a list")
    return data


def _owners_from_list(data: Any) -> Any:
    if not isinstance(data, list):
        raise ValueError(f"parameters: owners={data!r} is not a list")
    return data


#: parameters that JSON does not have as they are: writer, reader
CODED: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "phases": (_phases_to_dict, _phases_from_dict),
    "profilers": (sorted, _profilers_from_list),
    "free": (list, _free_from_list),
    "owners": (list, _owners_from_list),
    "alone": (dict, lambda data: data),
}
