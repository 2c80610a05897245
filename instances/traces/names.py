"""What the names of a table's columns say of their roles, and how columns are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ..display import near
from ..shipped import shipped
from .trace import UNKNOWN
from .values import CLOCKS, UNITS, ExportTable, missing, name_and_unit, words_of

_DATA = shipped("gangsched.instances.data", "roles")
_KNOWN = shipped("gangsched.instances.data", "known_columns")
#: of each role, names in tiers, and words
NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {role: tuple(tuple(tier.split()) for tier in own["names"]) for role, own in _DATA.items()}
)
WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {role: frozenset(own.get("words", "").split()) for role, own in _DATA.items()}
)
#: of each role, words that rule out one that has only one of those words
NOT: Mapping[str, frozenset[str]] = MappingProxyType(
    {role: frozenset(own.get("not", "").split()) for role, own in _DATA.items()}
)
ROLES: tuple[str, ...] = tuple(NAMES)
#: columns of :func:`write_trace` by role
WRITTEN: Mapping[str, Sequence[str]] = MappingProxyType(_KNOWN["written"])
SPANS = ("duration", "wait")
#: roles whose columns may have a unit at the end of their names
TIMED = (*CLOCKS, *SPANS, "eligible", "limit", "deadline")
#: columns of Slurm's accounting by role, the best first, and those of resources
SLURM: Mapping[str, Sequence[str]] = MappingProxyType(_KNOWN["slurm"])
RESOURCES = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
#: words of columns of times that say nothing
IDLE = frozenset(_KNOWN["idle"].split())


# --- what is given -------------------------------------------------------------------------------


def given_columns(columns: str | Mapping[str, str] | None) -> dict[str, str]:
    """Columns by role, as they were given."""
    if columns is None or isinstance(columns, Mapping):
        given = dict(columns or {})
    else:
        given = {}
        for part in columns.split(","):
            role, sign, name = (text.strip() for text in part.partition("="))
            if not sign or role in given:
                raise ValueError(f"columns: {part.strip()!r} is not role=column, each role once")
            given[role] = name
    for role in given:
        if role not in ROLES:
            known = f"{', '.join(ROLES)}{near(role, ROLES)}"
            raise ValueError(f"columns: {role!r} is not one of {known}")
    return given


def own_columns(names: Sequence[str]) -> dict[str, str]:
    """Columns by role where they are those of :func:`write_trace` alone, or those of Slurm."""
    found = {role: name for name in names for role in WRITTEN if name in WRITTEN[role]}
    if len(found) == len(names) and {"id", "gpus", "duration", "submit"} <= set(found):
        return found
    slurm = {"Submit", "Start", "End", "State"} <= set(names)
    if not slurm or not {"JobID", "JobIDRaw"} & set(names) or not set(RESOURCES) & set(names):
        return {}
    known = {role: [own for own in listed if own in names] for role, listed in SLURM.items()}
    found = {role: own[0] for role, own in known.items() if own}
    minutes = found.get("limit") == "TimelimitRaw"
    return {**found, "limit": "TimelimitRaw:min"} if minutes else found


def named_column(table: ExportTable, role: str, text: str) -> tuple[str, str]:
    """The column that was given for a role, and what stands after it, such as a unit."""
    for name, more in ((text, ""), text.rpartition(":")[::2]) if ":" in text else ((text, ""),):
        same = [own for own in table.names if own.lower() == name.lower()]
        if name in table.names or len(same) == 1:
            allowed = ("at", "after") if role == "deadline" else ()
            if more and more not in (*UNITS, *allowed):
                known = ", ".join(("ms", "s", "min", "h", "days", *allowed))
                raise ValueError(f"columns: {role}={text!r}: {more!r} is not one of {known}")
            return (name if name in table.names else same[0]), more
    found = f"no column {text!r} for {role}; found: {', '.join(table.names)}"
    raise ValueError(f"{table.reading.path}: {found}{near(text, table.names)}")


# --- names ---------------------------------------------------------------------------------------


@cache
def worth_of(role: str, name: str) -> float:
    """What a column's name says for a role: 3, 2, 1 or nothing."""
    (plain, unit), words = name_and_unit(name), words_of(name)
    if unit is not None and role not in TIMED:
        return 0.0
    spelled = {plain, name_and_unit(" ".join(w for w in words if w not in IDLE))[0]}
    for worth, tier in zip((3.0, 2.0, 1.0), NAMES[role], strict=False):
        if (spelled if role in TIMED else {plain}) & {*tier}:
            return worth
    if WORDS[role] & {*words} and not NOT[role] & {*words}:
        return 1.0
    inner = name.rpartition(".")[2]  # of an object within another
    return worth_of(role, inner) if role.startswith("gpus") and inner != name else 0.0


def rank_of(role: str, name: str) -> tuple[float, int]:
    """A sorting key: the better a name, the sooner it comes."""
    plain = name_and_unit(name)[0]
    listed = [known for tier in NAMES[role] for known in tier]
    return -worth_of(role, name), listed.index(plain) if plain in listed else len(listed)


def may_matter(name: str, texts: Sequence[str]) -> bool:
    """Whether a column can have a role, by its name or because its first values look like times."""
    words = set(words_of(name))
    some = [text for text in texts[:50] if text not in UNKNOWN]
    dated = bool(some) and all(text[:4].isdigit() and "-" in text[4:8] for text in some)
    return dated or bool(words & {"gpu", "model", "type"}) or any(worth_of(r, name) for r in ROLES)


def check_header(table: ExportTable, given: Mapping[str, str]) -> None:
    """Refuse a table of whose columns none can have a role that is needed, whatever they hold."""

    def any_of(*roles: str) -> bool:
        names = [n for n in table.names if any(worth_of(r, n) for r in roles if r not in given)]
        return bool(names) or any(given.get(role) for role in roles)

    needed = {
        "submit": ("submit", "start"),
        "gpus": ("gpus", "gpus_per_node", "gpus_per_task"),
        "duration": ("duration", "end"),
    }
    if lacking := [role for role, roles in needed.items() if not any_of(*roles)]:
        raise missing(table, lacking)
