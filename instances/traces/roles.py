"""Which column of a table has which role: names suggest it, and the values decide.

A column is a candidate for a role where its name is listed for it, or has one of its words (see
``data/roles.toml``; a listed name is worth 3, 2 or 1, a word 1). The roles of times are decided
together: a *reading* gives some of them a column each, and is worth

    names + 2 share(duration = end - start) + 2 share(wait = start - submit)
          - 20 share(impossible) - 6 share(out of order)

with shares of rows. A row is impossible where a run is longer than what lies between start and end,
or the wait another one than what lies between submission and start, and out of order where the
submission is after the start or the start after the end, each by more than the steps in which they
were written: a log may contradict itself, which an audit proves. So the columns
that agree win over those whose names sound better: a wall time that is longer than end - start is
no run time but a limit, and a ``queue`` in which each row has start - submit is no user.

Where two readings are worth the same and give other jobs, the file is refused with a question that
names both. A column that does not parse and is not needed is left aside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from .names import ROLES, SPANS, named_column, rank_of, worth_of
from .trace import UNKNOWN
from .values import (
    CLOCKS,
    NO_DURATION,
    NUMBER,
    UNITS,
    ExportTable,
    NumberColumn,
    TextColumn,
    check_clocks,
    durations,
    gpus,
    less,
    listed,
    missing,
    name_and_unit,
    possible,
    seconds_of,
    times,
    unit_of,
)

__all__ = ["Roles", "find_roles"]

#: limits that are none
UNLIMITED = frozenset(("UNLIMITED", "Partition_Limit", "INFINITE", "INVALID"))
SAMPLED = 2000  #: rows on which readings are compared
TIE = 0.5  #: readings that are worth this little less are others of the same worth
IMPOSSIBLE = 20.0  #: what it costs if no row can have such a run time, or wait
DISORDERED = 6.0  #: what it costs if one time is after another in all rows
FEW = 0.01  #: share of rows in which two readings may differ
LONGEST = 60 * 86_400.0  #: run times without a unit that are mostly longer may be of another unit
WEEK = 7 * 86_400.0  #: most runs and waits are shorter, where their unit follows from that
MANY = 3  #: so many whole seconds in milliseconds are no chance


@dataclass(frozen=True)
class Roles:
    """Columns by role, those of times and durations as numbers, and what speaks for them."""

    columns: Mapping[str, str]
    read: Mapping[str, NumberColumn]
    units: Mapping[str, str]  #: what was given of them, a unit or a clock
    resources: tuple[str, ...] = ()  #: columns of GPUs, of which the first counts that has any
    checked: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


class _Reading(NamedTuple):
    """Columns of the roles of times, None where a role has none, and what that is worth."""

    worth: float
    columns: Mapping[str, NumberColumn | None]


# --- the choice ----------------------------------------------------------------------------------


def find_roles(
    table: ExportTable,
    given: Mapping[str, str],
    *,
    models: Collection[str] = (),
    tres: Collection[str] = (),
) -> Roles:
    """Choose a column for each role.

    Parameters
    ----------
    table : ExportTable
    given : mapping
        Columns by role, perhaps with ``:`` and a unit; an empty name leaves a role out.
    models : collection of str
        GPU models of the cluster: a column that has nothing else is the model of each job.
    tres : collection of str
        Numbers of Slurm's resources that are GPUs.
    """
    return _Choice(table, given, models, tres).roles()


@dataclass
class _Choice:
    """Everything that is known of a table while roles are chosen."""

    table: ExportTable
    given: Mapping[str, str]
    models: Collection[str]
    tres: Collection[str]
    chosen: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    read: dict[str, NumberColumn] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    errors: dict[tuple[str, str], ValueError] = field(default_factory=dict)
    clocks: dict[str, NumberColumn | None] = field(default_factory=dict)
    kept_columns: dict[tuple[str, str], TextColumn] = field(default_factory=dict)
    kept_clocks: dict[tuple[str, str], NumberColumn] = field(default_factory=dict)
    kept_spans: dict[tuple[str, str, float | None], NumberColumn] = field(default_factory=dict)

    def roles(self) -> Roles:
        """Choose: what is given, the GPUs, times, and then texts."""
        for role, text in self.given.items():
            if text:
                self.chosen[role], self.units[role] = named_column(self.table, role, text)
        listed = self._gpus()
        self._times()
        self._limit()
        self._eligible()
        for role in ("id", "user", "queue", "state", "after", "pod", "priority", "deadline"):
            self._text(role)
        self._model()
        order = {role: self.chosen[role] for role in ROLES if role in self.chosen}
        return Roles(order, self.read, self.units, listed, tuple(self.checked), tuple(self.doubts))

    # columns

    @cached_property
    def kept(self) -> list[str]:
        """Columns with any value, of which all texts are there; deadlines may be all unknown."""
        texts = self.table.texts
        names = (name for name in self.table.names if name in texts)
        empty = not self.table.places
        return [n for n in names if empty or set(texts[n]) - UNKNOWN or worth_of("deadline", n)]

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The rows on which readings are compared."""
        count = len(self.table.places)
        return np.unique(np.linspace(0, max(count - 1, 0), min(count, SAMPLED)).astype(np.intp))

    def column(self, role: str, name: str) -> TextColumn:
        if (role, name) not in self.kept_columns:
            self.kept_columns[role, name] = self.table.column(role, name)
        return self.kept_columns[role, name]

    def free(self, role: str) -> list[str]:
        """The candidates for a role, the best name first; what was given is the only one."""
        if role in self.given:
            return [self.chosen[role]] if role in self.chosen else []
        taken = set(self.chosen.values())
        found = [name for name in self.kept if name not in taken and worth_of(role, name)]
        return sorted(found, key=lambda name: rank_of(role, name))

    def ask(self, text: str) -> ValueError:
        """Return the question about a table that can be read in two ways."""
        return ValueError(f"{self.table.reading.path}: {text}")

    # times

    def clock(self, role: str, name: str) -> NumberColumn | None:
        """A column as times, None where it has none; what was given has to have them."""
        if name not in self.clocks:
            try:
                self.clocks[name] = possible(times(self.column(role, name), self._unit(role)))
            except ValueError as error:
                if role in self.given:
                    raise
                self.errors[role, name] = error
                self.clocks[name] = None
        found = self.clocks[name]
        if found and (role, name) not in self.kept_clocks:
            own = replace(found, column=replace(found.column, role=role))
            self.kept_clocks[role, name] = own
        return self.kept_clocks[role, name] if found else None

    def span(self, role: str, name: str, spans: Floats | None = None) -> NumberColumn | None:
        """A column as durations, None where it has none."""
        column = self.column(role, name)
        try:
            unit = self._unit(role) or name_and_unit(name)[1]
            if spans is not None and unit is None and (column.numeric or column.short):
                numbers = column.parsed(seconds_of, NO_DURATION)
                unit = unit_of([numbers[i] for i in self.rows], listed(spans[self.rows]))
            key = role, name, unit
            if key not in self.kept_spans:
                read = durations(column, listed(spans), self._unit(role), self._usual())
                self.kept_spans[key] = possible(read)
            return self.kept_spans[key]
        except ValueError as error:
            if role in self.given:
                raise
            self.errors[role, name] = error
            return None

    def _damaged(self) -> None:
        """Refuse a column with the name of a role and many values of its kind, but not all."""
        for role in (*CLOCKS, "duration"):
            for name in self.free(role) if role not in self.given else ():
                column = self.column(role, name)
                numbers = sum(t[:1].isdigit() or t[:1] in "+-.P" for t in column.known)
                timed = not (role == "duration" and column.numeric) and self.clock(role, name)
                if worth_of(role, name) < 2 or 2 * numbers < len(column.known) or timed:
                    continue
                if not column.short and self.span("duration", name) is None:
                    raise next(error for key, error in self.errors.items() if key[1] == name)

    def _unit(self, role: str) -> float | None:
        return UNITS.get(self.units.get(role, ""))

    def _usual(self) -> float:
        """The unit of the times where they are numbers of one unit, else seconds."""
        named = {n for n in self.clocks if any(worth_of(role, n) for role in CLOCKS)}
        named |= {self.chosen[role] for role in CLOCKS if role in self.chosen}
        clocks = (found for name, found in self.clocks.items() if name in named)
        told = {found.unit for found in clocks if found and found.unit}
        return told.pop() if len(told) == 1 else 1.0

    def _times(self) -> None:
        self._damaged()
        readings = sorted(self._readings(), key=lambda found: -found.worth)
        if not readings:
            self._missing()
        best = readings[0]
        for other in readings[1:]:
            if other.worth <= best.worth - TIE:
                break
            self._compare(best, other)
        for role, found in best.columns.items():
            if found is not None:
                self.chosen[role], self.read[role] = found.column.name, found
        self._submission(best.columns)
        self._plausible()
        self._notes(best.columns)

    def _candidates(self) -> dict[str, list[NumberColumn]]:
        """Columns by role of a time; where any has dates, mere numbers are no times."""
        found: dict[str, list[NumberColumn]] = {}
        for role in CLOCKS:
            columns = (self.clock(role, name) for name in self.free(role)[:4])
            found[role] = [column for column in columns if column]
        dated = [column for own in found.values() for column in own if column.clock]
        for role, own in found.items() if dated else ():
            for column in own:
                name = column.column.name
                texts = column.column.texts
                flags = len(texts) > 1 and set(texts) - UNKNOWN <= {"0", "1"}
                better = any(
                    c.clock and worth_of(role, c.column.name) >= worth_of(role, name) for c in own
                )
                other = (
                    flags
                    or better
                    or any(worth_of(role, name) for role in SPANS)
                    or worth_of(role, name) < 2
                )
                if not column.clock and (role in self.given or not other):
                    check_clocks(self.table.reading, [column, dated[0]])
            found[role] = [column for column in own if column.clock]
        return found

    def _readings(self) -> Iterator[_Reading]:
        clocks = self._candidates()
        columns = [[*clocks[role], *([] if role in self.chosen else [None])] for role in CLOCKS]
        for submit, start, end in product(*columns):
            used = {c.column.name for c in (submit, start, end) if c}
            if len(used) < sum(c is not None for c in (submit, start, end)):
                continue
            check_clocks(self.table.reading, [c for c in (submit, start, end) if c])
            runs = self._spans("duration", used, less(end, start))
            waits = self._spans("wait", used, less(start, submit))
            for duration, wait in product(runs, waits):
                if duration and wait and duration.column.name == wait.column.name:
                    continue
                made = {"submit": submit, "start": start, "end": end}
                made |= {"duration": duration, "wait": wait}
                begun = start or (submit and wait)
                if (submit or start) and (duration or (begun and end)):
                    yield _Reading(self._value(made), made)

    def _spans(
        self, role: str, used: Collection[str], spans: Floats | None
    ) -> list[NumberColumn | None]:
        """Columns that may be durations of a role, and None where it may have none."""
        found: list[NumberColumn | None] = []
        for name in self.free(role)[:4]:
            clock = self.clock("start", name) if role not in self.given else None
            if name not in used and not (clock and clock.clock):
                found.append(self.span(role, name, spans))
        return [*filter(None, found), *([] if role in self.chosen else [None])]

    def _value(self, made: Mapping[str, NumberColumn | None]) -> float:
        """What a reading is worth."""
        worth = sum(worth_of(role, c.column.name) or 1.0 for role, c in made.items() if c)
        duration = made["duration"]
        if duration and worth_of("limit", duration.column.name):  # if others are as good, a limit
            worth -= 3 * TIE
        clocks = (made[role] for role in CLOCKS)
        if len({c.unit or 1.0 for c in clocks if c and not c.clock}) > 1:
            worth -= 2.0  # such as a wait in minutes before a start in seconds
        for name, broken, equal in self._relations(made):
            if len(broken):
                cost = IMPOSSIBLE if "<=" not in name else DISORDERED
                worth -= cost * float(broken.mean())
                worth += 0.0 if equal is None else 2 * float(equal.mean())
        return worth

    def _relations(
        self, made: Mapping[str, NumberColumn | None]
    ) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.bool_] | None]]:
        """What columns of a reading say of each other: where it is broken, and where equal."""
        value = {role: c.array[self.rows] for role, c in made.items() if c}
        step: dict[str, Any] = {role: c.step + 1.0 for role, c in made.items() if c}
        for role in step.keys() & {"start", "end"}:
            step[role] = step[role] + self.repeated(made)
        with np.errstate(invalid="ignore"):
            for sooner, later in (("submit", "start"), ("start", "end"), ("submit", "end")):
                if {sooner, later} <= set(value):
                    slack = step[sooner] + step[later]
                    yield f"{sooner} <= {later}", value[sooner] > value[later] + slack, None
            if {"start", "end", "duration"} <= set(value):
                over = value["duration"] - (value["end"] - value["start"])
                slack = step["start"] + step["end"] + step["duration"]
                yield "duration = end - start", over > slack, abs(over) <= slack
            elif {"submit", "end", "duration"} <= set(value):
                over = value["duration"] - (value["end"] - value["submit"])
                slack = step["submit"] + step["end"] + step["duration"]
                yield "duration fits end - submit", over > slack, None
            if {"submit", "start", "wait"} <= set(value):
                off = abs(value["start"] - value["submit"] - value["wait"])
                slack = step["submit"] + step["start"] + step["wait"]
                yield "wait = start - submit", off > slack, off <= slack

    def repeated(self, made: Mapping[str, NumberColumn | None]) -> Floats:
        """An hour in rows of a Sunday's first hours, where a clock without a zone may change."""
        hour = np.zeros(len(self.rows))
        for found in made.values():
            if found and found.clock and not found.utc:
                with np.errstate(invalid="ignore"):
                    sunday = (found.array[self.rows] // 86_400 + 4) % 7 == 0
                    hour[sunday & (found.array[self.rows] % 86_400 <= 5 * 3600)] = 3600.0
        return hour

    def _compare(self, best: _Reading, other: _Reading) -> None:
        """Ask where another reading is as good, and gives other jobs."""
        for role, one in best.columns.items():
            two = other.columns[role]
            if one is None or two is None or one.column.name == two.column.name:
                continue
            with np.errstate(invalid="ignore"):
                differ = abs(one.array - two.array) > one.step + two.step + 1.0
            differ |= np.isnan(one.array) != np.isnan(two.array)
            if differ.mean() > FEW:
                names = f"{one.column.name!r} or {two.column.name!r}"
                raise self.ask(
                    f"{role} may be {names}, which differ in {differ.sum():,} of {len(differ):,} "
                    f"rows: say which, such as columns='{role}={one.column.name}'"
                )

    def _missing(self) -> None:
        """Say what no column is for, or what is wrong with the one that might be."""
        lacking = []
        for role, others in (("submit", ("start",)), ("duration", ("end",))):
            found = [(own, name) for own in (role, *others) for name in self.free(own)]
            found = [
                (own, name)
                for own, name in found
                if worth_of(own, name) >= 2 and any(t[:1].isdigit() for t in self.table.texts[name])
            ]
            broken = [self.errors[key] for key in found if key in self.errors]
            if broken and len(broken) == len(found):
                raise broken[0]
            lacking += [] if found else [role]
        broken = [error for key, error in self.errors.items() if worth_of(*key) >= 2]
        if broken and not lacking:
            raise broken[-1]
        raise missing(self.table, lacking or ["duration"])

    def _submission(self, columns: Mapping[str, NumberColumn | None]) -> None:
        """Ask where a column that was not read may be the submission."""
        if columns["submit"] or columns["wait"] or self.given.get("submit") == "":
            return
        start = columns["start"]
        assert start is not None
        for name in self.kept:
            if name in self.chosen.values() or worth_of("end", name) or worth_of("eligible", name):
                continue
            found = self.clock("submit", name)
            if (
                found is None
                or found.clock != start.clock
                or (not found.clock and not worth_of("submit", name))
            ):
                continue
            with np.errstate(invalid="ignore"):
                late = found.array > start.array + found.step + start.step
                sooner = found.array < start.array - 1
            comparable = found.utc == start.utc or worth_of("submit", name)
            if comparable and late.mean() <= 0.05 and sooner.any():
                raise self.ask(
                    f"is {name!r} the submission? It comes before {start.column.name!r}: say "
                    f"columns='submit={name}', or 'submit=' if it is not"
                )
            if worth_of("submit", name) >= 2 and late.any():
                raise self.ask(
                    f"{name!r} is named like a submission and lies after {start.column.name!r} in "
                    f"{late.sum():,} rows: say columns='submit={name}', or 'submit=' if it is none"
                )

    def _plausible(self) -> None:
        """Ask about spans whose unit nothing tells, where most jobs were impossible in it."""
        for role in SPANS:
            found = self.read.get(role)
            if found is None or "as no unit is told" not in found.form:
                continue
            runs = found.array[found.array > 0]
            usual = self._usual()
            typical = float(np.median(runs)) if len(runs) else 0.0
            if not typical or (usual == 1.0 and self._short(role, runs, typical)):
                continue
            units = [] if usual == 1 else [u for u in (usual, 1.0) if _usually(runs / usual * u)]
            whole = usual < 1 and len(runs) >= MANY and not np.any(np.round(runs, 9) % 1)
            if len(units) == 2 and whole:  # such as 90000, 120000: whole seconds in milliseconds
                units = [usual]
            name = found.column.name
            if len(units) != 1:
                raise self.ask(
                    f"the unit of {name!r} is not told, and half of them would be longer than "
                    f"{typical:,.3g} s: say columns='{role}={name}:s', or :ms, :min, :h"
                )
            read = durations(self.column(role, name), (), units[0])
            form = f"{read.form}, as no unit is told, as most jobs are possible then"
            self.read[role] = replace(read, form=form, unit=None)

    def _short(self, role: str, runs: Floats, typical: float) -> bool:
        """Whether runs in seconds are possible: shorter than months, and than most of the log."""
        clock = self.read.get("submit") or self.read["start"]
        known = clock.array[~np.isnan(clock.array)]
        span = float(np.ptp(known)) if len(known) else 0.0
        long = len(runs) >= 20 and typical > 100 * span > 0
        return role == "wait" or (typical <= LONGEST and not long)

    def _notes(self, columns: Mapping[str, NumberColumn | None]) -> None:
        """Keep what the reading was checked by."""
        count = len(self.rows)
        for name, broken, equal in self._relations(columns):
            held = int((~broken).sum() if equal is None else equal.sum())
            self.checked.append(f"{name} in {'all' if held == count else f'{held:,} of {count:,}'}")

    def _limit(self) -> None:
        """The requested run time: it is below the run time in few rows."""
        ran = self._ran()
        for name in self.free("limit"):
            column = self.column("limit", name)
            texts = ["" if text in UNLIMITED else text for text in column.texts]
            column = replace(column, texts=texts)
            told = self._unit("limit") or name_and_unit(name)[1]
            for unit in [1.0, 60.0, 3600.0] if column.numeric and told is None else [told]:
                try:
                    found = durations(column, (), unit)
                except ValueError as error:
                    self.errors["limit", name] = error
                    break
                with np.errstate(invalid="ignore"):
                    below = (found.array < ran - found.step - 2.0).mean() if len(ran) else 1.0
                if "limit" in self.given or below <= 0.05:
                    self.chosen["limit"], self.read["limit"] = name, found
                    return

    def _ran(self) -> Floats:
        """Run times, less what rounding may have added."""
        duration, start, end = (self.read.get(role) for role in ("duration", "start", "end"))
        if duration:
            return duration.array - duration.step
        spans = less(end, start)
        steps = start.step + end.step if start and end else 0.0
        return spans - steps if spans is not None else np.zeros(0)

    def _eligible(self) -> None:
        """When jobs could start at the earliest, on the clock of the other times."""
        base = self.read.get("submit") or self.read["start"]
        for name in self.free("eligible"):
            found = self.clock("eligible", name)
            if found and (found.clock, found.utc) == (base.clock, base.utc):
                self.chosen["eligible"], self.read["eligible"] = name, found
                return

    # texts

    def _text(self, role: str) -> None:
        """A column of texts: the best name whose values can be what the role needs."""
        for name in self.free(role):
            texts = self.table.texts[name]
            known = {text for text in texts if text not in UNKNOWN}
            unique = len(known) > 0.9 * len(texts)
            if role in self.given or not known:
                fits = True
            elif role in ("user", "queue"):
                fits = not (unique and len(texts) >= 20) and not self._is_span(name)
            elif role == "id":
                fits = len(known) == len(texts)
            else:
                fits = True
            if fits:
                self.chosen[role] = name
                return
        if role == "id" and (names := self.free(role)):
            self.chosen["id"] = names[0]

    def _is_span(self, name: str) -> bool:
        """Whether a column is numbers that were left aside as waits, not names of queues."""
        column = self.column("wait", name)
        return bool(worth_of("wait", name)) and column.numeric and len(set(column.texts)) > 3

    def _model(self) -> None:
        """A column of nothing but the cluster's GPU models."""
        if "model" in self.given or "model" in self.chosen:
            return
        known = {model.casefold() for model in self.models if model}
        for name in (*self.free("model"), *(self.kept if known else ())):
            values = {t.casefold() for t in self.table.texts[name] if t not in UNKNOWN}
            free = name not in self.chosen.values()
            if free and values and (worth_of("model", name) or values <= known):
                self.chosen["model"] = name
                return

    # GPUs

    def _gpus(self) -> tuple[str, ...]:
        """GPUs in all, or per node and task; return the columns of resources that give them."""
        if {"gpus_per_node", "nodes"} <= set(self.chosen) and "gpus" not in self.chosen:
            return ()
        totals = [name for name in self.free("gpus") if self._counts(name)]
        per = [name for name in self.free("gpus_per_node") if self._counts(name)]
        many = [name for name in self.free("nodes") if self._counts(name)]
        if per and many and not ("gpus" in self.given and "gpus_per_node" not in self.given):
            self.chosen["gpus_per_node"], self.chosen["nodes"] = per[0], many[0]
            if totals and "gpus" in self.given:
                self.chosen["gpus"] = totals[0]
            return ()
        tasks = [self._best(role) for role in ("gpus_per_task", "tasks")]
        if not totals and all(tasks):
            self.chosen["gpus_per_task"], self.chosen["tasks"] = map(str, tasks)
            return ()
        if not totals:
            raise next(
                (
                    self.errors["gpus", name]
                    for name in self.free("gpus")
                    if ("gpus", name) in self.errors
                ),
                missing(self.table, ["gpus"]),
            )
        slurm = [n for n in totals if not self.column("gpus", n).numeric]
        if totals[0] in slurm and "gpus" not in self.given:
            self.chosen["gpus"] = totals[0]
            return tuple(slurm)
        self.chosen["gpus"] = self._likeliest(totals)
        if many and "gpus" not in self.given and "nodes" not in self.given:
            self._whole_or_each(self.chosen["gpus"], many[0])
        return ()

    def _likeliest(self, totals: Sequence[str]) -> str:
        """The column of counts of GPUs, of several with equally good names."""
        best = [name for name in totals if worth_of("gpus", name) == worth_of("gpus", totals[0])]
        texts = {name: self.column("gpus", name).plain for name in best}
        shares = {name: _share_of_powers(texts[name]) for name in best}
        first = max(best, key=lambda name: shares[name])
        for other in best:
            both = zip(texts[first], texts[other], strict=True)
            differ = sum(a != b for a, b in both if {a, b}.isdisjoint(UNKNOWN))
            if differ > FEW * len(texts[first]) and shares[first] - shares[other] < 0.3:
                raise self.ask(
                    f"the GPUs of a job may be {first!r} or {other!r}, which differ in {differ:,} "
                    f"rows: say which, such as columns='gpus={first}'"
                )
        return first

    def _best(self, role: str) -> str | None:
        """The best candidate for a role of counts."""
        return next((name for name in self.free(role) if self._counts(name)), None)

    def _counts(self, name: str) -> bool:
        """Whether a column has counts or resources; mostly fractions are none."""
        column = self.column("gpus", name)
        try:
            found = gpus(column, self.tres)
        except ValueError as error:
            self.errors["gpus", name] = error
            return name in self.chosen.values()
        known = [n for n in found if n is not None]
        whole = sum(float(n).is_integer() for n in known)
        if column.numeric and 2 * whole < len(known) and name not in self.chosen.values():
            i = next(i for i, n in enumerate(found) if n is not None and n % 1)
            self.errors["gpus", name] = column.error(
                i, "and most others there are no counts of GPUs"
            )
            return False
        return True

    def _whole_or_each(self, total: str, many: str) -> None:
        """Decide whether GPUs are those of a job, or of each of its nodes or pods."""
        count = self.column("nodes", many).parsed(float, "is not a number")
        found = self.column("gpus", total).parsed(float, "is not a number")
        both = [(n, g) for n, g in zip(count, found, strict=True) if n and g]
        if all(n <= 1 for n, _ in both):
            return
        fewer = sum(g < n for n, g in both)
        uneven = sum(bool(g % n) for n, g in both)
        nodes = "node" in many.lower() or "host" in many.lower() or "machine" in many.lower()
        if nodes and fewer == 0 and uneven <= 0.05 * len(both):
            return  # what is in all is at least one a node
        if nodes and fewer > 0.5 * sum(n > 1 for n, _ in both):
            self.chosen["gpus_per_node"], self.chosen["nodes"] = self.chosen.pop("gpus"), many
            return
        raise self.ask(
            f"is {total!r} the GPUs of a job, or of each of its {many!r}? Say "
            f"columns='gpus={total}' or 'gpus_per_node={total},nodes={many}'"
        )


def _share_of_powers(texts: Sequence[str]) -> float:
    """How many of some counts are powers of two, as most gangs are."""
    known = [float(text) for text in texts if NUMBER.fullmatch(text)]
    powers = sum(n >= 1 and n.is_integer() and int(n) & (int(n) - 1) == 0 for n in known)
    return powers / len(known) if known else 0.0


def _usually(runs: Floats) -> bool:
    """Whether some times are those of jobs: most from a second to a week, few in no time."""
    few, typical, most = np.quantile(runs, (0.1, 0.5, 1.0))
    return bool(few >= 0.05 and 1 <= typical <= WEEK and most <= LONGEST)
