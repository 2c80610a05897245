"""Records what the project computes, and compares two recordings: nothing may change unnoticed.

    python tests/recording.py record FILE [ENTRY ...]   writes FILE, or these entries of it
    python tests/recording.py compare OLD NEW
    python tests/recording.py check [--first] [ENTRY ...]
    python tests/recording.py keep [ENTRY ...]

`check` records now and compares with golden/recording.json, which was recorded before the house
was rebuilt, and with golden/recording-wide.json, which has a check sum for each of many cases. What
is meant to differ stands in golden/differences.md, one line with its reason. How it is meant to be
stands in golden/differing.json, which `keep` writes: `check` fails where it is not so, and where a
line no longer differs.

The entries are the functions of the folder recorded. Numbers are compared with a relative tolerance
of 1e-9, all else exactly; run times, versions and paths are not recorded.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN = Path(__file__).resolve().parent / "golden"
RECORDING, DIFFERENCES = GOLDEN / "recording.json", GOLDEN / "differences.md"
WIDE = GOLDEN / "recording-wide.json"  #: entries of many cases, by check sums
DIFFERING = GOLDEN / "differing.json"  #: what is meant to be in places that differ
RECORDED = "as recorded"
TOLERANCE = 1e-9
MOST_SHOWN = 25  #: differences of one entry
WIDTH, DEEPEST = 100, 1  #: of a line of the file, and the most that it is indented
Entries = Mapping[str, Callable[[Path], Any]]


# --- compare -------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """Where two recordings differ: ENTRY/key/3/key, and what stands there."""

    place: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.place}: {_shown(self.old)} -> {_shown(self.new)}"


class Missing:
    """Stands for what is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 70 else f"{text[:66]} ..."


def differences(old: Any, new: Any, place: str = "") -> Iterator[Difference]:
    """Yield each place where two recordings differ, in the order of the old one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{place}/{key}" if place else str(key)
            yield from differences(old.get(key, MISSING), new.get(key, MISSING), inner)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Difference(f"{place}/length", len(old), len(new))
        for k, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, f"{place}/{k}")
    elif not same(old, new):
        yield Difference(place, old, new)


def same(old: Any, new: Any) -> bool:
    """Whether two values agree: numbers within the tolerance, and true is not 1."""
    if type(old) is type(new) and old == new:
        return True
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (old, new)):
        return False
    if isinstance(old, int) and isinstance(new, int):
        return old == new
    return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=1e-12)


def named_differences(text: str) -> dict[str, str]:
    """Return the reasons of the table of differences.md by pattern of places."""
    rows = re.findall(r"^\| *`([^`]+)` *\| *(.*?) *\|$", text, re.MULTILINE)
    if any(not reason for _, reason in rows):
        raise ValueError(f"{DIFFERENCES.name}: a difference has no reason")
    return dict(rows)


def judge(
    found: Sequence[Difference], named: Mapping[str, str]
) -> tuple[list[Difference], list[str]]:
    """Return the differences that nobody named, and the lines that say what was left out."""
    open_, counts = [], dict.fromkeys(named, 0)
    for difference in found:
        patterns = [pattern for pattern in named if fnmatchcase(difference.place, pattern)]
        for pattern in patterns:
            counts[pattern] += 1
        if not patterns:
            open_.append(difference)
    return open_, [f"left out {counts[p]} x {p}: {named[p]}" for p in named if counts[p]]


def not_as_meant(found: Sequence[Difference], meant: Mapping[str, Any]) -> list[Difference]:
    """Return the places that are neither as they were recorded nor as they are meant to be."""
    now = {difference.place: stored(difference.new) for difference in found}
    places = dict.fromkeys([*now, *meant])
    both = [(p, meant.get(p, RECORDED), now.get(p, RECORDED)) for p in places]
    return [Difference(*row) for row in both if any(differences(*row[1:]))]


def stored(value: Any) -> Any:
    """What stands in differing.json for a value, also for one that is not there."""
    return repr(value) if value is MISSING else value


def stale(found: Sequence[Difference], named: Mapping[str, str]) -> list[str]:
    """Return the named patterns that no difference has."""
    return [p for p in named if not any(fnmatchcase(d.place, p) for d in found)]


# --- record --------------------------------------------------------------------------------------


def record_one(name: str, entry: Callable[[Path], Any]) -> Any:
    """Return what an entry gives as plain data; what it raises is recorded too."""
    from recorded.plain import plain

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they name lines of files
        logging.disable()
        try:
            found = entry(Path(folder))
        except Exception as error:
            found = {"raised": f"{type(error).__name__}: {error}"}
        finally:
            logging.disable(logging.NOTSET)
        return json.loads(json.dumps(plain(found, folder)))


def record(entries: Entries) -> dict[str, Any]:
    """Return the recording of these entries; says on stderr how long each takes."""
    found = {}
    for name, entry in entries.items():
        began = time.process_time()
        found[name] = record_one(name, entry)
        print(f"{time.process_time() - began:7.2f} s  {name}", file=sys.stderr)
    return found


def written(data: Any, indent: int = 0) -> str:
    """Return JSON in which what fits on a line stands on one."""
    line = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(data, dict | list) or len(line) + indent <= WIDTH:
        return line
    pad = " " * min(indent + 1, DEEPEST)
    if isinstance(data, list):
        cells = [written(value, indent + 1) for value in data]
        return (
            f"[\n{pad}"
            + f",\n{pad}".join(_packed(cells, WIDTH - indent))
            + f"\n{' ' * min(indent, DEEPEST)}]"
        )
    cells = [
        f"{json.dumps(key, ensure_ascii=False)}:{written(value, indent + 1)}"
        for key, value in data.items()
    ]
    return f"{{\n{pad}" + f",\n{pad}".join(cells) + f"\n{' ' * min(indent, DEEPEST)}}}"


def _packed(cells: Sequence[str], width: int) -> Iterator[str]:
    """Put short cells of a list together on lines."""
    line = ""
    for cell in cells:
        if line and ("\n" in cell or len(line) + len(cell) + 1 > width):
            yield line
            line = ""
        line = f"{line},{cell}" if line else cell
        if "\n" in cell:
            yield line
            line = ""
    if line:
        yield line


# --- the commands --------------------------------------------------------------------------------


def recorded_before() -> dict[str, Any]:
    """Return the committed recordings as one."""
    return {**json.loads(RECORDING.read_text("utf-8")), **json.loads(WIDE.read_text("utf-8"))}


def chosen(names: Sequence[str]) -> Entries:
    """Return the entries of these names, or all, for a screen of 120 columns and no window."""
    os.environ.update(MPLBACKEND="Agg", COLUMNS="120", NO_COLOR="1")
    from recorded import ENTRIES

    for name in names:
        if name not in ENTRIES:
            raise SystemExit(f"entry {name!r} is not one of {', '.join(ENTRIES)}")
    return {name: ENTRIES[name] for name in names or ENTRIES}


def report(
    found: Sequence[Difference], wrong: Sequence[Difference] = (), *, whole: bool = True
) -> int:
    """Print what differs and return the exit code."""
    named = named_differences(DIFFERENCES.read_text("utf-8"))
    left, lines = judge(found, named)
    left += wrong
    for line in lines:
        print(line)
    counts: dict[str, int] = {}
    for difference in left:
        entry = difference.place.partition("/")[0]
        counts[entry] = counts.get(entry, 0) + 1
        if counts[entry] <= MOST_SHOWN:
            print(difference)
    for entry, count in counts.items():
        if count > MOST_SHOWN:
            print(f"{entry}: {count - MOST_SHOWN} more differences")
    old = stale(found, named) if whole else []
    for pattern in old:
        print(f"{pattern}: named in {DIFFERENCES.name}, but does not differ")
    print(f"{len(left)} differences" if left or old else "no difference that is not named")
    return int(bool(left or old))


def check(names: Sequence[str], first: bool) -> int:
    """Record now and compare with the committed recording."""
    entries, known = chosen(names), recorded_before()
    meant = json.loads(DIFFERING.read_text("utf-8"))
    named = named_differences(DIFFERENCES.read_text("utf-8"))
    found: list[Difference] = []
    wrong: list[Difference] = []
    for name, entry in entries.items():
        new = list(differences(known.get(name, MISSING), record_one(name, entry), name))
        of_entry = {place: meant[place] for place in meant if place.partition("/")[0] == name}
        wrong += not_as_meant([d for d in new if not judge([d], named)[0]], of_entry)
        found += new
        if first and (wrong or judge(new, named)[0]):
            return report(found, wrong, whole=False)
    if not names:
        found += [Difference(name, "an entry", MISSING) for name in known if name not in entries]
    return report(found, wrong, whole=not names)


def keep(names: Sequence[str]) -> int:
    """Record now and write how named differences are, which `check` then expects."""
    entries, known = chosen(names), recorded_before()
    named = named_differences(DIFFERENCES.read_text("utf-8"))
    before = json.loads(DIFFERING.read_text("utf-8")) if DIFFERING.exists() else {}
    meant = {p: value for p, value in before.items() if p.partition("/")[0] not in entries}
    for name, new in record(entries).items():
        found = differences(known.get(name, MISSING), new, name)
        meant |= {d.place: stored(d.new) for d in found if not judge([d], named)[0]}
    DIFFERING.write_text(written(dict(sorted(meant.items()))) + "\n", "utf-8")
    return 0


def main(args: Sequence[str]) -> int:
    """Run one of the commands of the module's docstring."""
    match args:
        case ["record", file, *names]:
            path = Path(file)
            before = json.loads(path.read_text("utf-8")) if names and path.exists() else {}
            path.write_text(written({**before, **record(chosen(names))}) + "\n", "utf-8")
            return 0
        case ["compare", old, new]:
            one, other = (json.loads(Path(file).read_text("utf-8")) for file in (old, new))
            return report(list(differences(one, other)))
        case ["check", "--first", *names]:
            return check(names, True)
        case ["check", *names]:
            return check(names, False)
        case ["keep", *names]:
            return keep(names)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
