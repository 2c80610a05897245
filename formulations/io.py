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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import Any

from ..instances.io import check_fields, check_header, header, instance_from_dict, instance_to_dict
from .completion_time.problem import CompletionTime
from .deadline_rewards import DeadlineRewards
from .gandiva_fair.problem import GpuMarket
from .irmp.problem import Irmp
from .ltgf.fluid import LtgfFluid
from .ltgf.problem import Ltgf
from .ltgf.round import LtgfRound
from .rar_ddls.problem import RarDdls
from .unisched.leases import LeasePhase
from .unisched.problem import UniSched

__all__ = ["PROBLEMS", "problem_from_dict", "problem_to_dict"]

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

Coder = tuple[Callable[[Any], Any], Callable[[str, Any], Any]]


def _with_fields(kind: type[Any], place: str, **coders: Coder) -> _Codec:
    """Return the codec of a class without an instance; each field's writer, and reader by name."""

    def write(problem: Any) -> Dict:
        return {place: {name: put(getattr(problem, name)) for name, (put, _) in coders.items()}}

    def read(kind: type[Any], data: Dict) -> Any:
        check_fields(place, data[place], required=set(coders))
        try:
            return kind(**{name: get(name, data[place][name]) for name, (_, get) in coders.items()})
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"{place}: {error}") from None

    return _Codec(kind, frozenset({place}), write, read)


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


def _wholes(name: str, value: Any) -> list[int]:
    return [_whole(f"{name}[{i}]", entry) for i, entry in enumerate(_listed(name, value))]


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name}={value!r} is not a number")
    return value


def _reals(name: str, value: Any) -> list[float]:
    return [_real(f"{name}[{i}]", entry) for i, entry in enumerate(_listed(name, value))]


def _pairs(name: str, value: Any) -> list[tuple[int, int]]:
    found = [_wholes(f"{name}[{i}]", entry) for i, entry in enumerate(_listed(name, value))]
    for i, entry in enumerate(found):
        if len(entry) != 2:
            raise ValueError(f"{name}[{i}]={entry} is not a pair (user, gang)")
    return [(entry[0], entry[1]) for entry in found]


def _rationals(name: str, value: Any) -> list[Fraction]:
    found = []
    for i, text in enumerate(_listed(name, value)):
        try:
            found.append(Fraction(text if isinstance(text, str) else ""))
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{name}[{i}]={text!r} is not a rational such as '3/2'") from None
    return found


def _limited(demand: Any) -> list[float | None]:
    return [None if gpus == math.inf else gpus for gpus in demand.tolist()]


def _unlimited(name: str, value: Any) -> list[Any]:
    return [math.inf if gpus is None else gpus for gpus in _listed(name, value)]


def _rows(array: Any) -> Any:
    return array.tolist()


def _strings(values: Sequence[Any]) -> list[str]:
    return [str(value) for value in values]


def _ints(values: Sequence[Any]) -> list[int]:
    return [int(value) for value in values]


def _lists(rows: Sequence[Any]) -> list[list[Any]]:
    return [list(row) for row in rows]


def _floats(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


# --- parameters ----------------------------------------------------------------------------------


def _parameters_to_dict(problem: Any) -> Dict:
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


#: how each problem is written, by its name in files and on the command line
CODECS: Mapping[str, _Codec] = {
    "rar-ddls": _with_instance(RarDdls),
    "unisched": _with_instance(UniSched),
    "deadline-rewards": _with_instance(DeadlineRewards),
    "irmp": _with_instance(Irmp),
    "gandiva-fair": _with_fields(
        GpuMarket,
        "market",
        aim=(str, _as_it_is),
        gpus=(_rows, _listed),
        speeds=(_rows, _listed),
        tickets=(_rows, _listed),
        demand=(_limited, _unlimited),
        users=(list, _listed),
        models=(list, _listed),
    ),
    "ltgf": _with_instance(Ltgf),
    "ltgf-round": _with_fields(
        LtgfRound,
        "round",
        gpus=(int, _whole),
        lease=(int, _whole),
        attained=(_ints, _wholes),
        fair=(_floats, _reals),
        share=(_floats, _reals),
        jobs=(_lists, _pairs),
    ),
    "ltgf-fluid": _with_fields(
        LtgfFluid,
        "fluid",
        gpus=(int, _whole),
        gangs=(_ints, _wholes),
        shares=(_strings, _rationals),
    ),
    "completion-time": _with_instance(CompletionTime),
}
#: problem classes by their name in files and on the command line
PROBLEMS: Mapping[str, type[Any]] = {name: codec.kind for name, codec in CODECS.items()}
