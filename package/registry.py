"""Names of problems, solvers, settings, policies and readers, as the command line uses them.

One table per kind, one row per name: :data:`PROBLEMS` with the solvers of each (problems.toml),
:data:`POLICIES` (policies.toml) and :data:`~gangsched.instances.traces.READERS`. A row says where
the code is, which is imported when it is asked for, and with which parameters it runs.

Names are the Python names with ``-`` for ``_``; both are accepted. ``NAME:profiled`` and the other
keys of :data:`SETTINGS` are any policy that knows run times, with these after profiling or with
an error. Other people's solvers and
policies take part as ``module:object``, as ``file.py:object`` or through the entry point groups
``gangsched.solvers`` and ``gangsched.policies``. A solver is a callable ``(problem, *, seed,
time_limit) -> Result``; a policy is a :class:`gangsched.solvers.Policy`, or a class or function
that makes one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from . import settings
from .analysis.comparing.comparison import Extras
from .families import FAMILIES
from .foreign import FOREIGN, FOREIGN_NAME, foreign_function, named_object, new_policy
from .instances.display import near
from .instances.shipped import shipped
from .instances.traces import READERS as READERS
from .instances.traces.trace import Reader
from .rows import PolicyRow as PolicyRow
from .rows import ProblemEntry as ProblemEntry
from .rows import Solver as Solver
from .rows import SolverRow as SolverRow
from .rows import named_in
from .solvers.policy import Policy, information_of, is_offline

# --- problems ------------------------------------------------------------------------------------


def _problem(row: Mapping[str, Any]) -> ProblemEntry:
    """A problem by its fields in the file."""
    extras = {"legend": (), **row.get("extras", {})}
    if "measures" in extras:
        extras["measures"] = named_in(extras["measures"])
        relaxed = extras.get("relaxations", {}).items()
        extras["relaxations"] = {name: named_in(place) for name, place in relaxed}
    drawn = row["settings"].items()
    return ProblemEntry(
        make=named_in(row["make"]) if "make" in row else settings.refused(row["refuses"]),
        kind=named_in(row["kind"]) if "kind" in row else None,
        convert=named_in(row["convert"]) if "convert" in row else None,
        solvers={name: SolverRow(**one) for name, one in row["solvers"].items()},
        compared=tuple(row["compared"]),
        settings={n: settings.Setting(**{**o, "family": FAMILIES[o["family"]]}) for n, o in drawn},
        tiny=named_in(f"settings.{row['tiny']}"),
        extras=Extras(**extras),
    )


#: problems, and the solvers of each, by name
PROBLEMS: Mapping[str, ProblemEntry] = {
    name: _problem(row) for name, row in shipped("gangsched", "problems").items()
}

# --- policies ------------------------------------------------------------------------------------

REVENUE = "solvers.ours.irmp.policy.OnlineRevenue"


def _told(place: str, note: str = "", options: Mapping[str, Any] | None = None) -> PolicyRow:
    """A policy by its fields in the file."""
    made = {
        name: PolicyRow(**value) if isinstance(value, dict) else value
        for name, value in (options or {}).items()
    }
    return PolicyRow(place, made, note)


#: policies by name; ``name:variant`` is one with other options than the default
POLICIES: Mapping[str, PolicyRow] = {
    name: _told(**row) for name, row in shipped("gangsched", "policies").items()
}
INFORMATION = "solvers.information"


def _policy(place: str, note: str = "", **options: Any) -> PolicyRow:
    return PolicyRow(place, options, note)


PROFILED = f"{INFORMATION}.Profiled"
ESTIMATED = f"{INFORMATION}.Estimated"
#: how policies that know run times may learn them otherwise, behind the name of any
SETTINGS: Mapping[str, PolicyRow] = {
    "profiled": _policy(PROFILED, "each new job is profiled first, for 300 s on two GPUs at most"),
    "profiled-chronus": _policy(
        PROFILED,
        "each new job is profiled first on its gang, for 30 s a GPU and at most 120 s",
        profiler=_policy(f"{INFORMATION}.Profiler", seconds=120, gpus=None, per_gpu=30),
    ),
    "estimated": _policy(ESTIMATED, "run times have a Gaussian error, of 20 % of the true ones"),
    "overestimated": _policy(
        ESTIMATED, "run times are up to four times too long", error="overestimate", size=3.0
    ),
}
#: the same on the last nodes, which do nothing else: behind the keys that profile
DEDICATED = re.compile(r"(?P<key>.+)-dedicated-(?P<nodes>[1-9]\d*)")
DEDICATED_NOTE = (
    "profiled-dedicated-K, profiled-chronus-dedicated-K",
    "the same, on the last K nodes, which do nothing else",
)
#: other names of policies
ALIASES: Mapping[str, str] = {"max-min": "max-min-fairness"}
#: how each ``name:variant`` differs from the policy of that name
VARIANTS: Mapping[str, str] = {name: row.note for name, row in POLICIES.items() if ":" in name}
#: policies that a replay runs when none are named
REPLAYED = ("fifo", "srtf", "tiresias-l", "themis-greedy", "ltgf")
#: and those of jobs with utilities, which run no others
EARNING = tuple(name for name, row in POLICIES.items() if row.place == REVENUE)


# --- looking up ----------------------------------------------------------------------------------


def lookup(kind: str, table: Mapping[str, Any], name: str) -> str:
    """Return the key of `table` that `name` means, with ``_`` and ``-`` alike.

    Examples
    --------
    >>> lookup("problem", PROBLEMS, "rar_ddls")
    'rar-ddls'
    """
    keys = {key.replace("_", "-"): key for key in table}
    if name.replace("_", "-") not in keys:
        raise ValueError(f"{kind} {name!r} is not one of {', '.join(table)}{near(name, table)}")
    return keys[name.replace("_", "-")]


def entry(name: str) -> ProblemEntry:
    """Return what is known of the problem of this name.

    Raises
    ------
    ValueError
        Where there is none.

    Examples
    --------
    >>> entry("rar_ddls").compared[0]
    'sjf-bco'
    """
    return PROBLEMS[lookup("problem", PROBLEMS, name)]


def find(problem: Any) -> str | None:
    """Return the name of the problem that an object is one of, None where there is none.

    Examples
    --------
    >>> find(settings.tiny_market())
    'gandiva-fair'
    """
    for name, row in PROBLEMS.items():
        if type(problem) is (row.kind or row.make):
            return name
    return None


def entry_of(problem: Any) -> tuple[str, ProblemEntry]:
    """Return the name of the problem that an object is one of, and what is known of it.

    Examples
    --------
    >>> entry_of(settings.tiny_market())[0]
    'gandiva-fair'
    """
    name = find(problem)
    if name is None:
        text = f"a {type(problem).__name__} is not a problem of {', '.join(PROBLEMS)}"
        raise TypeError(text)
    return name, PROBLEMS[name]


def solver(problem: str, name: str) -> tuple[str, Solver]:
    """Return the name and the function of a solver of `problem`.

    Looks among the project's own solvers, then the entry points, then for ``module:object`` or
    ``file.py:object``.

    Examples
    --------
    >>> solver("rar-ddls", "first_fit")[0]
    'first-fit'
    """
    own = PROBLEMS[problem].solvers
    key, load = _found("solver", name, own, "gangsched.solvers")
    return key, own[key].load() if key in own else foreign_function("solver", key, load)


def reader(name: str) -> tuple[str, Reader]:
    """Return the name and the function of a reader of traces.

    Looks among the project's own readers, then the entry points, then for ``module:object`` or
    ``file.py:object``; :func:`gangsched.testing.check_reader` says whether one keeps the rules.

    Examples
    --------
    >>> reader("philly_csv")[0]
    'philly-csv'
    """
    key, load = _found("reader", name, READERS, "gangsched.readers")
    return key, foreign_function("reader", name, load)


def policy(name: str, *, seed: int = 0) -> tuple[str, Policy]:
    """Return the name of a policy and a new one of its kind.

    Looks among the project's own policies, then the entry points, then for ``module:object`` or
    ``file.py:object``; behind each of them may stand one of :data:`SETTINGS`.

    Examples
    --------
    >>> policy("tiresias_l")
    ('tiresias-l', TiresiasL(thresholds=(18000,)))
    >>> policy("max-min")[0]
    'max-min-fairness'
    >>> policy("ltgf:quota")[1].fair_share
    'quota'
    >>> policy("hydra:profiled")[1].profiler.seconds
    300
    """
    wanted = ALIASES.get(name.replace("_", "-"), name)
    stem, setting = _split(wanted)
    if setting:
        key, made = policy(stem, seed=seed)
        return f"{key}:{setting}", informed(made, setting, seed=seed)
    key, load = _found("policy", wanted, POLICIES, "gangsched.policies")
    return key, new_policy(key, load, seed)


def informed(made: Policy, setting: str, *, seed: int = 0) -> Policy:
    """Return a policy that learns run times as one of :data:`SETTINGS` says.

    Raises
    ------
    ValueError
        Where it does not use run times, or profiles by itself.

    Examples
    --------
    >>> informed(policy("srtf")[1], "estimated", seed=3).seed
    3
    >>> informed(policy("srtf")[1], "profiled-dedicated-2").dedicated
    2
    """
    key, nodes = _key_of(setting)
    row = SETTINGS[lookup("setting", SETTINGS, key)]
    more = {"seed": seed} if row.place == ESTIMATED else {}
    found: Policy = row(policy=made, **more, **({"dedicated": nodes} if nodes else {}))
    return found


def information(kind: str, name: str, *others: str) -> str:
    """Return the setting that `name` means, one of :data:`SETTINGS` or of `others`.

    Examples
    --------
    >>> information("--information:", "profiled_dedicated_2")
    'profiled-dedicated-2'
    """
    key, nodes = _key_of(name)
    found = lookup(kind, {**dict.fromkeys(others), **SETTINGS}, key)
    return f"{found}-dedicated-{nodes}" if nodes else found


def _key_of(setting: str) -> tuple[str, int]:
    """One of the keys of settings, if it is one, and the number of dedicated nodes."""
    found = DEDICATED.fullmatch(setting.replace("_", "-"))
    if found is None or getattr(SETTINGS.get(found["key"]), "place", "") != PROFILED:
        return setting, 0
    return found["key"], int(found["nodes"])


def may_be_informed(made: Policy) -> bool:
    """Return whether a policy knows run times, so that it can learn them otherwise.

    Examples
    --------
    >>> [may_be_informed(policy(name)[1]) for name in ("srtf", "ltgf", "unisched")]
    [True, False, False]
    """
    knows = information_of(made) in ("known", "learned")
    own = getattr(made, "profiles", False) or getattr(made, "needs_ps", False)
    return knows and not own and not is_offline(made)


def replayed(subject: Any) -> tuple[str, ...]:
    """Return the policies that a replay of an instance, or of IRMP, runs when none are named.

    Examples
    --------
    >>> replayed(settings.tiny_revenue())[0]
    'online-revenue'
    """
    return EARNING if getattr(subject, "instance", subject).kind.needs_ps else REPLAYED


def _split(name: str) -> tuple[str, str]:
    """The name of a policy, and the setting that stands behind it; none of the names of rows."""
    stem, _, setting = name.rpartition(":")
    key = setting.replace("_", "-")
    if _key_of(key)[0] not in SETTINGS or name.replace("_", "-") in POLICIES:
        return name, ""
    known = stem.replace("_", "-") in {*POLICIES, *ALIASES} or stem in plugins("gangsched.policies")
    return (stem, key) if known or FOREIGN_NAME.fullmatch(stem) else (name, "")


def _found(
    kind: str, name: str, own: Mapping[str, Any], group: str
) -> tuple[str, Callable[[], Any]]:
    """What a name means, in full, and how it is loaded."""
    key = name.replace("_", "-")
    if key in own:
        return key, lambda: own[key]
    offered = plugins(group)
    if name in offered:
        return name, offered[name].load
    place = FOREIGN_NAME.fullmatch(name)
    if place is not None and place["module"].replace("_", "-") not in own:
        return name, lambda: named_object(**place.groupdict())
    names = (*own, *offered)
    known = f"{', '.join(names)}, nor {FOREIGN}{near(name, names)}"
    raise ValueError(f"{kind} {name!r} is not one of {known}")


def plugins(group: str = "gangsched.solvers") -> dict[str, EntryPoint]:
    """Return what installed packages offer in an entry point group, by name."""
    return {point.name: point for point in entry_points(group=group)}


def warm_up(problem: str, name: str) -> None:
    """Run one of the project's own solvers on a tiny problem, so that its code is compiled.

    Other people's solvers are left alone.

    Examples
    --------
    >>> warm_up("rar-ddls", "first-fit")
    """
    entry = PROBLEMS[problem]
    if name in entry.solvers:
        row = entry.solvers[name]
        row.load(**row.quick)(entry.tiny())
