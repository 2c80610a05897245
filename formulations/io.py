"""JSON of problems: one codec for each class, by its name on the command line.

Every file is one object: ``"format"`` and ``"version"`` as of :mod:`gangsched.instances.io`,
``"kind": "problem"``, the problem's name, and what :data:`CODECS` has for it.

- Most problems are an instance, as :mod:`gangsched.instances.io` writes it, and the parameters that
  differ from their defaults. Jobs and nodes that parameters refer to are numbers: of jobs to
  profile ("profilers", a list), of jobs that have run ("phases", an object such as
  ``{"3": "running"}``), and the free GPUs of each node ("free", a list). Of IRMP, the users that
  own the nodes are named ("owners", a list), and those that are promised what they earn alone
  ("alone", an object such as ``{"u": 120.0}``).
- A market of GPUs has "market", with the fields of
  :class:`~gangsched.formulations.gandiva_fair.GpuMarket`; a demand without limit is null.
- One round and the fluid relaxation of LTGF have "round" and "fluid", with the fields of
  :class:`~gangsched.formulations.LtgfRound` and :class:`~gangsched.formulations.LtgfFluid`; fair
  shares of the latter are rationals such as ``"3/2"``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..instances.io import (
    check_fields,
    check_header,
    default_of,
    header,
    instance_from_dict,
    instance_to_dict,
)
from .completion_time.problem import CompletionTime
from .deadline_rewards import DeadlineRewards
from .gandiva_fair.problem import GpuMarket
from .irmp.problem import Irmp
from .ltgf.fluid import LtgfFluid
from .ltgf.problem import Ltgf
from .ltgf.round import LtgfRound
from .rar_ddls.problem import RarDdls
from .sharing_incentive import SharingIncentive
from .unisched.leases import LeasePhase
from .unisched.problem import UniSched

Dict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Codec:
    """How one class of problems is written and read: the fields that follow its name."""

    kind: type[Any]
    body: frozenset[str]
    write: Callable[[Any], Dict]
    read: Callable[[Any, Dict], Any]


def problem_to_dict(problem: Any) -> Dict:
    """Return `problem` as plain JSON data; parameters at their default are left out.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2]), []), alpha=0.5, rate="floor")
    >>> problem_to_dict(problem)["problem"], problem_to_dict(problem)["parameters"]
    ('rar-ddls', {'alpha': 0.5})
    """
    for name, codec in CODECS.items():
        if type(problem) is codec.kind:
            return {**header("problem"), "problem": name, **codec.write(problem)}
    known = ", ".join(kind.__name__ for kind in PROBLEMS.values())
    raise TypeError(f"{problem!r} is a {type(problem).__name__}, not one of {known}")


def problem_from_dict(data: Any) -> Any:
    """Return the problem that :func:`problem_to_dict` wrote.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2]), []), alpha=0.5)
    >>> problem_from_dict(problem_to_dict(problem)) == problem
    True
    """
    check_header(data, "problem")
    name = data.get("problem")
    codec = CODECS.get(name) if isinstance(name, str) else None
    body = codec.body if codec is not None else INSTANCE
    check_fields("problem", data, required={*header(""), "problem", *body})
    if codec is None:
        raise ValueError(f"problem={name!r} is not one of {', '.join(map(repr, CODECS))}")
    return codec.read(codec.kind, data)


# --- problems of an instance ----------------------------------------------------------------------

INSTANCE = frozenset({"instance", "parameters"})


def _with_instance(kind: type[Any]) -> _Codec:
    return _Codec(kind, INSTANCE, _instance_to_body, _instance_from_body)


def _instance_to_body(problem: Any) -> Dict:
    instance = instance_to_dict(problem.instance)
    return {"instance": instance, "parameters": _parameters_to_dict(problem)}


def _instance_from_body(kind: type[Any], data: Dict) -> Any:
    try:
        instance = instance_from_dict(data["instance"])
    except ValueError as error:
        raise ValueError(f"instance: {str(error).removeprefix('instance: ')}") from None
    known = {field.name for field in fields(kind) if field.init} - {"instance"}
    check_fields("parameters", data["parameters"], required=set(), optional=known)
    parameters = _parameters_from_dict(data["parameters"])
    try:
        return kind(instance, **parameters)
    except TypeError as error:
        raise ValueError(str(error)) from None


# --- problems of their own fields -----------------------------------------------------------------

Reader = Callable[[str, Any], Any]


def _with_fields(kind: type[Any], place: str, **readers: Reader) -> _Codec:
    """Return the codec of a class without an instance; each field with its reader."""

    def write(problem: Any) -> Dict:
        return {place: {name: _json_value(getattr(problem, name)) for name in readers}}

    def read(kind: type[Any], data: Dict) -> Any:
        check_fields(place, data[place], required=set(readers))
        try:
            return kind(**{name: get(name, data[place][name]) for name, get in readers.items()})
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{place}: {error}") from None

    return _Codec(kind, frozenset({place}), write, read)


def _json_value(value: Any) -> Any:
    """A value as JSON has it: lists, rationals as text, null for infinity."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _json_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_json_value(one) for one in value]
    if isinstance(value, Fraction):
        return str(value)
    return None if value == math.inf else value


def _as_it_is(name: str, value: Any) -> Any:
    return value


def _listed(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{name}={value!r} is not a list")
    return value


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}={value!r} is not an integer")
    return value


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name}={value!r} is not a number")
    return value


def _pair(name: str, value: Any) -> tuple[int, int]:
    found = _wholes(name, value)
    if len(found) != 2:
        raise ValueError(f"{name}={found} is not a pair (user, gang)")
    return found[0], found[1]


def _rational(name: str, text: Any) -> Fraction:
    try:
        return Fraction(text if isinstance(text, str) else "")
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name}={text!r} is not a rational such as '3/2'") from None


def _unlimited(name: str, value: Any) -> Any:
    return math.inf if value is None else value


def _each(read: Reader) -> Reader:
    """Read a list of what `read` reads."""
    return lambda name, value: [
        read(f"{name}[{i}]", one) for i, one in enumerate(_listed(name, value))
    ]


_wholes, _reals = _each(_whole), _each(_real)


# --- parameters ----------------------------------------------------------------------------------


def parameters_of(problem: Any) -> Dict:
    """Return parameters that differ from their default, as JSON has them; functions as they are."""
    parameters = {}
    for field in fields(problem):
        name, value = field.name, getattr(problem, field.name)
        if name != "instance" and field.init and value != default_of(field):
            parameters[name] = CODED[name][0](value) if name in CODED else value
    return parameters


def _parameters_to_dict(problem: Any) -> Dict:
    parameters = parameters_of(problem)
    for name, value in parameters.items():
        if callable(value):
            raise TypeError(
                f"{type(problem).__name__}: {name}={value!r} is a function, which a file cannot "
                "hold; use one that has a name"
            )
    return parameters


def _parameters_from_dict(data: Mapping[str, Any]) -> Dict:
    return {name: CODED[name][1](v) if name in CODED else v for name, v in data.items()}


def _phases_to_dict(phases: Mapping[int, LeasePhase]) -> dict[str, str]:
    return {str(i): phase.name.lower() for i, phase in sorted(phases.items())}


def _phases_from_dict(data: Any) -> dict[int, LeasePhase]:
    if not isinstance(data, dict):
        raise ValueError(f"parameters: phases={data!r} is not an object")
    names = {phase.name.lower(): phase for phase in LeasePhase}
    for key, name in data.items():
        if not (key.isascii() and key.isdigit() and str(int(key)) == key):
            raise ValueError(f"parameters: phases: {key!r} is not a job's number")
        if not isinstance(name, str) or name not in names:
            known = ", ".join(map(repr, names))
            raise ValueError(f"parameters: phases[{key!r}]={name!r} is not one of {known}")
    return {int(key): names[name] for key, name in data.items()}


def _free_from_list(data: Any) -> Any:
    if data is not None and not isinstance(data, list):
        raise ValueError(f"parameters: free={data!r} is not null nor a list")
    return data


#: parameters that JSON does not have as they are: writer, reader
CODED: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "phases": (_phases_to_dict, _phases_from_dict),
    "profilers": (sorted, lambda data: frozenset(_wholes("parameters: profilers", data))),
    "free": (list, _free_from_list),
    "owners": (list, partial(_listed, "parameters: owners")),
    "alone": (dict, lambda data: data),
}
MARKET = _with_fields(
    GpuMarket, "market", aim=_as_it_is, gpus=_listed, speeds=_listed, tickets=_listed,
    demand=_each(_unlimited), users=_listed, models=_listed,
)  # fmt: skip
ROUND = _with_fields(
    LtgfRound, "round", gpus=_whole, lease=_whole, attained=_wholes, fair=_reals, share=_reals,
    jobs=_each(_pair),
)  # fmt: skip
#: how each problem is written, by its name in files and on the command line
CODECS: Mapping[str, _Codec] = {
    "rar-ddls": _with_instance(RarDdls),
    "unisched": _with_instance(UniSched),
    "deadline-rewards": _with_instance(DeadlineRewards),
    "irmp": _with_instance(Irmp),
    "gandiva-fair": MARKET,
    "ltgf": _with_instance(Ltgf),
    "ltgf-round": ROUND,
    "ltgf-fluid": _with_fields(
        LtgfFluid, "fluid", gpus=_whole, gangs=_wholes, shares=_each(_rational)
    ),
    "completion-time": _with_instance(CompletionTime),
    "sharing-incentive": _with_instance(SharingIncentive),
}
#: problem classes by their name in files and on the command line
PROBLEMS: Mapping[str, type[Any]] = {name: codec.kind for name, codec in CODECS.items()}
