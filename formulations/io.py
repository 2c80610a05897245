"""JSON of problems: an instance together with one paper's parameters.

One object: ``"kind": "problem"``, the problem's name as on the command line, the instance as
:mod:`gangsched.instances.io` writes it, and the parameters that differ from their defaults.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ..instances.io import check_fields, check_header, header, instance_from_dict, instance_to_dict
from .rar_ddls import RarDdls

__all__ = ["PROBLEMS", "problem_from_dict", "problem_to_dict"]

#: problem classes by their name in files and on the command line
PROBLEMS: dict[str, type[RarDdls]] = {"rar-ddls": RarDdls}


def problem_to_dict(problem: RarDdls) -> dict[str, Any]:
    """Return `problem` as plain JSON data; parameters at their default are left out.

    Parameters
    ----------
    problem : RarDdls

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
    defaults = {field.name: field.default for field in fields(problem)}
    parameters = {k: v for k, v in problem.parameters().items() if v != defaults[k]}
    for name, value in parameters.items():
        if callable(value):
            raise TypeError(
                f"{type(problem).__name__}: {name}={value!r} is a function, which a file cannot "
                "hold; use one that has a name"
            )
    return {
        **header("problem"),
        "problem": names[type(problem)],
        "instance": instance_to_dict(problem.instance),
        "parameters": parameters,
    }


def problem_from_dict(data: Any) -> RarDdls:
    """Return the problem that :func:`problem_to_dict` wrote.

    Parameters
    ----------
    data : object
        What :func:`gangsched.instances.io.read_json` returned.

    Returns
    -------
    RarDdls

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
    check_fields("problem", data, required={*header(""), "problem", "instance", "parameters"})
    name = data["problem"]
    if not isinstance(name, str) or name not in PROBLEMS:
        raise ValueError(f"problem={name!r} is not one of {', '.join(map(repr, PROBLEMS))}")
    kind = PROBLEMS[name]
    try:
        instance = instance_from_dict(data["instance"])
    except ValueError as error:
        raise ValueError(f"instance: {str(error).removeprefix('instance: ')}") from None
    known = {field.name for field in fields(kind) if field.init} - {"instance"}
    check_fields("parameters", data["parameters"], required=set(), optional=known)
    try:
        return kind(instance, **data["parameters"])
    except TypeError as error:
        raise ValueError(str(error)) from None
