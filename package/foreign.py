"""Other people's solvers, policies and readers, by ``module:object`` or ``file.py:object``."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from .solvers.policy import Policy, is_policy

FOREIGN = "module:object or file.py:object"
#: such as file.py:Policy(beta=2)
FOREIGN_NAME = re.compile(r"(?P<module>.*):(?P<attribute>[^\W\d]\w*)(?P<parameters>\(.*\))?")


def named_object(module: str, attribute: str, parameters: str | None) -> Any:
    """An object of a module or file, with the parameters that stand behind its name."""
    found = getattr(_module(module), attribute)
    if parameters is None:
        return found
    call = ast.parse(f"f{parameters}", mode="eval").body
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ValueError(f"{parameters} is not of the form (name=value, ...)")
    given = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    inspect.signature(found).bind_partial(**given)  # says what it does not take
    return partial(found, **given)


def _module(name: str) -> Any:
    """Import a module, or a file that ends in .py.

    The current folder comes last, where `python -m` has it first; so does the folder of a file.
    """
    if name.endswith(".py"):
        return _file(Path(name))
    _search(Path.cwd())
    return import_module(name)


def _file(path: Path) -> Any:
    """Import a file once, under a name that no installed module has."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = f"_gangsched_file_{path.resolve().with_suffix('')}".replace(".", "_")
    if name not in sys.modules:
        _search(path.resolve().parent)
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError("it cannot be loaded")
        sys.modules[name] = module_from_spec(spec)  # where pickled policies look
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _search(folder: Path) -> None:
    """Look for modules in a folder too, after all others."""
    here = {"", str(folder)} if folder == Path.cwd() else {str(folder)}
    if not here & set(sys.path):
        sys.path.append(str(folder))


def loaded(kind: str, name: str, load: Callable[[], Any]) -> Any:
    """Return what somebody else wrote, whose import may raise anything."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        text = f"{kind} {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise ValueError(text) from None


def foreign_function(kind: str, name: str, load: Callable[[], Any]) -> Any:
    """Return somebody else's solver or reader."""
    found = loaded(kind, name, load)
    if not callable(found):
        raise ValueError(f"{kind} {name!r} is of type {type(found).__name__}, which is no function")
    return found


def new_policy(name: str, load: Callable[[], Any], seed: int) -> Policy:
    """Return a policy: what was loaded, or what it makes."""
    found = loaded("policy", name, load)
    if callable(found) and (isinstance(found, type) or not is_policy(found)):
        found = _made(name, found, seed)
    if not is_policy(found):
        raise ValueError(
            f"policy {name!r} is of type {type(found).__name__}, "
            "which has no name, preempts or decide(state)"
        )
    made: Policy = found
    return made


def _made(name: str, make: Callable[..., Any], seed: int) -> Any:
    try:
        if "seed" in inspect.signature(make).parameters:
            return make(seed=seed)
        made = make()
        if "seed" in getattr(type(made), "__dataclass_fields__", ()):  # of this project
            return make(seed=seed)
    except (Exception, SystemExit) as error:
        text = f"policy {name!r} cannot be made: {type(error).__name__}: {error}"
        raise ValueError(text) from None
    return made
