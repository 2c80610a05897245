"""A figure as data: the cells that are run, and how rows, verdicts and a picture come of them.

An :class:`Experiment` is one figure or table of a paper. It lists its cells, each a workload under
a policy or solver; :func:`run_cells` is the one runner of all. Cells that depend on the same things
are run once, in several processes, and what a finished one gave can be kept in a file, so that a
run that was killed goes on where it stopped. What comes out does not depend on the number of
processes, on the order in which they finish, or on how often the run was stopped.
"""

from __future__ import annotations

import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...instances.cores import cores
from ...instances.io import write_file
from ...instances.shipped import shipped
from .pictures import LINES, Looks, Panel, Panels
from .pictures import draw as draw_panels
from .study import ConditionsOf, FigureRow, Statement, Study, Values, per_seed, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress = Callable[[str], None]
#: plain data: measures by name, or rows and facts, or what the experiment's `rows` reads
Outcome = dict[str, Any]


# --- cells ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureCell:
    """One run of a figure, and where it stands in it.

    Parameters
    ----------
    instance, policy : str
        Labels in the figure.
    run : callable (FigureCell) -> dict
        Gives plain data; a function of a module, as it goes to other processes.
    workload, make : object
        What is run, and the policy or solver or how it is made: what `run` needs.
    x : int or None
        The quantity that the figure varies.
    seed : int
    same : str
        What the outcome depends on; by default `workload` and `make`.

    Examples
    --------
    >>> str(FigureCell(instance="H_SLO", policy="FIFO", run=given, x=80, seed=1))
    'H_SLO, FIFO, 80, seed 1'
    """

    instance: str
    policy: str
    run: Callable[[FigureCell], Outcome]
    workload: Any = None
    make: Any = None
    x: int | None = None
    seed: int = 0
    same: str = ""

    @property
    def key(self) -> str:
        """What gives the outcome: cells with the same key are run once."""
        if self.run is given:  # what it gives names its place
            return f"given: {self.instance}, {self.policy}, {self.x}: {self.workload!r}"
        return f"{_spelled(self.run)}: {self.same or f'{_spelled(self.make)} on {self.workload!r}'}"

    def __str__(self) -> str:
        x = "" if self.x is None else f", {self.x}"
        return f"{self.instance}, {self.policy}{x}, seed {self.seed}"


def _spelled(value: object) -> str:
    """A value as text, functions by their names: the same in every process."""
    if isinstance(value, partial):
        named = [f"{name}={_spelled(own)}" for name, own in sorted(value.keywords.items())]
        return f"{_spelled(value.func)}({', '.join([*map(_spelled, value.args), *named])})"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


def given(cell: FigureCell) -> Outcome:
    """Return the values that are the cell's workload: those that are printed, and not run."""
    return {"rows": [[cell.instance, cell.policy, cell.x, dict(cell.workload)]]}


# --- the runner ----------------------------------------------------------------------------------

#: outcomes by key: figures share runs
KNOWN: dict[str, Outcome] = {}


def run_cells(
    cells: Sequence[FigureCell],
    *,
    figure: str = "",
    processes: int | None = 1,
    parts: str | Path | None = None,
    known: dict[str, Outcome] | None = None,
    progress: Progress | None = None,
) -> list[Outcome]:
    """Return what each cell gives; cells with the same key are run once."""
    known = KNOWN if known is None else known
    folder = None if parts is None else Path(parts)
    new: dict[str, FigureCell] = {}
    for cell in cells:
        if cell.key not in known:
            new.setdefault(cell.key, cell)
    if folder is not None:
        found = {key: _read(folder, key) for key in new}
        known.update({key: outcome for key, outcome in found.items() if outcome is not None})
    todo = [cell for key, cell in new.items() if key not in known]
    failed: dict[str, Exception] = {}
    for done, (cell, outcome_or_error) in enumerate(_finished(todo, processes), 1):
        if isinstance(outcome_or_error, Exception):
            failed[cell.key] = outcome_or_error
        else:
            known[cell.key] = _keep(folder, cell.key, outcome_or_error)
        if progress is not None:
            progress(f"{figure}: {cell} ({done} of {len(todo)})")
    for cell in todo:
        if cell.key in failed:
            error, more = failed[cell.key], len(failed) - 1
            others = f"; {more} more failed" if more else ""
            raise RuntimeError(
                f"{figure}: cell '{cell}' failed: {type(error).__name__}: {error}{others}"
            ) from error
    return [known[cell.key] for cell in cells]


def _finished(
    cells: Sequence[FigureCell], processes: int | None
) -> Iterator[tuple[FigureCell, Outcome | Exception]]:
    """Cells as they finish, with what they gave or what went wrong."""
    at_once = min(processes or cores(), len(cells))
    if at_once <= 1:
        for cell in cells:
            try:
                yield cell, cell.run(cell)
            except Exception as error:
                yield cell, error
        return
    spawn = get_context("spawn")
    pool = ProcessPoolExecutor(at_once, mp_context=spawn, initializer=_end_with_parent)
    try:
        running = {pool.submit(cell.run, cell): cell for cell in cells}
        for future in as_completed(running):
            try:
                yield running[future], future.result()
            except BrokenExecutor:
                raise
            except Exception as error:
                yield running[future], error
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """In a worker: do not outlive a main process that was killed."""
    parent = parent_process()
    if parent is not None:
        end = lambda: (wait([parent.sentinel]), os._exit(1))  # noqa: E731
        threading.Thread(target=end, daemon=True).start()


@cache
def _sources() -> str:
    """The code and tables that outcomes come from: parts of others are not read."""
    found, root = sha256(), Path(__file__).resolve().parents[2]
    for folder in ("instances", "formulations", "solvers", "analysis"):
        for path in sorted((root / folder).rglob("*.*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def _part(folder: Path, key: str) -> Path:
    return folder / f"{sha256(f'{_sources()} {key}'.encode()).hexdigest()[:32]}.json"


def _read(folder: Path, key: str) -> Outcome | None:
    """What a finished cell gave; nothing where its file is not there, or damaged."""
    try:
        part = json.loads(_part(folder, key).read_text("utf-8"))
        outcome: Outcome = part["outcome"]
        return outcome if part["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _keep(folder: Path | None, key: str, outcome: Outcome) -> Outcome:
    """Write a part as a whole, or not at all; return the outcome as it will be read."""
    text = json.dumps({"key": key, "outcome": outcome})
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(_part(folder, key), text)
    plain: Outcome = json.loads(text)["outcome"]
    return plain


# --- from outcomes to rows -----------------------------------------------------------------------

#: cells and their outcomes, in the order of the figure
Finished = list[tuple[FigureCell, Outcome]]


def seed_means(finished: Finished, measures: Mapping[str, str]) -> list[FigureRow]:
    """Return means over seeds with the value of each; rows that a cell gives stay as they are."""
    places: dict[Any, list[Any]] = {}
    for number, (cell, outcome) in enumerate(finished):
        if "rows" in outcome:
            places[number] = [FigureRow.of(row) for row in outcome["rows"]]
        else:
            place = (cell.instance, cell.policy, cell.x)
            places.setdefault(place, []).append((cell.seed, outcome))
    rows: list[FigureRow] = []
    for place, found in places.items():
        rows += (
            [FigureRow(*place, means_of_seeds(found, measures))]
            if isinstance(place, tuple)
            else found
        )
    return rows


def means_of_seeds(found: Sequence[tuple[int | None, Values]], measures: Iterable[str]) -> Values:
    """Return means over seeds, and the value of each; one without a number is no draw."""
    means: dict[str, float | None] = {}
    seeds: dict[str, float | None] = {}
    for name in measures:
        if any(name in own for _, own in found):
            known = [own[name] for _, own in found]
            numbers = [value for value in known if value is not None]
            means[name] = short(fmean(numbers)) if len(numbers) == len(known) else None
            seeds |= {per_seed(name, k): own[name] for k, own in found if k is not None}
    return {**means, **seeds}


# --- bounds --------------------------------------------------------------------------------------

BoundOf = Callable[[FigureCell], str]


def and_bounds(
    cells: Iterable[FigureCell], bound_of: BoundOf, run: Callable[[FigureCell], Outcome]
) -> list[FigureCell]:
    """Return the cells, and one for each bound of each workload that their policies need."""
    runs = list(cells)
    kinds = {(c.workload, bound_of(c)): c for c in reversed(runs) if c.make is not None}
    return runs + [
        replace(cell, policy=kind, run=run, make=None, same=f"{kind} of {cell.workload!r}")
        for (_, kind), cell in reversed(kinds.items())
    ]


def over_bounds(
    finished: Finished, bound_of: BoundOf, divide: Callable[[Values, float], Values]
) -> Finished:
    """Add to each run what its values are over the bound of its workload; bounds are dropped."""
    bounds = {(c.workload, c.policy): own["bound"] for c, own in finished if "bound" in own}
    return [
        (cell, {**own, **divide(own, bounds[cell.workload, bound_of(cell)])} if cell.make else own)
        for cell, own in finished
        if "bound" not in own
    ]


# --- experiments ---------------------------------------------------------------------------------

Facts = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One figure or table of a paper, as data. Called with its options, it is run.

    Parameters
    ----------
    name : str
        As on the command line, ``stem:figN``.
    title, axis : str
        Of the study; the axis is empty where the figure varies nothing.
    measures : mapping of str to str
        What the tables show of the values: name, and its heading with the unit.
    cells : callable
        Options, with defaults, to cells. One that takes a `trace` is computed on one too.
    steps : tuple of callable
        From finished cells to finished cells, one after the other: what is measured over several.
    rows : callable (finished, measures) -> rows
    facts : callable (cells) -> mapping, optional
        Facts about an instance by its cells, if no outcome gives any; where the figure varies
        something, by the cells at its first x.
    statements : callable (Study) -> statements
    settings : mapping, or callable (rows) -> mapping
        Everything that others need to make the data again.
    panels : rows of Panel
        The picture.
    looks : mapping
        Colour and line of each policy in it.
    room : mapping of str to float
        Of the panels, see :func:`~gangsched.analysis.papers.pictures.draw`.
    drawing : callable (Study) -> Figure, optional
        Draws the picture where panels cannot.
    levels : tuple of float
        Where the curves of the rows are given.
    form : type
        Class of the study.
    timed : bool
        Whether seconds are measured: one cell at a time, and each time anew.
    conditions : callable (Study, instances) -> Conditions, optional
    said : mapping
        Of the study.
    """

    name: str
    title: str
    cells: Callable[..., Iterable[FigureCell]]
    statements: Callable[[Any], Iterable[Statement]]
    panels: Panels = ()
    looks: Looks = field(default_factory=dict)
    room: Mapping[str, Any] = field(default_factory=dict)
    drawing: Callable[[Any], Figure] | None = None
    measures: Mapping[str, str] = field(default_factory=dict)
    axis: str = ""
    steps: tuple[Callable[[Finished], Finished], ...] = ()
    rows: Callable[[Finished, Mapping[str, str]], Iterable[FigureRow]] = seed_means
    facts: Callable[[list[FigureCell]], Mapping[str, Any]] | None = None
    settings: Mapping[str, Any] | Callable[[Sequence[FigureRow]], Mapping[str, Any]]
    levels: tuple[float, ...] = ()
    form: type[Study] = Study
    timed: bool = False
    conditions: ConditionsOf | None = None
    said: Mapping[str, Any] = field(default_factory=dict)

    @property
    def takes_trace(self) -> bool:
        """Whether the figure can be computed on a job trace too."""
        return "trace" in inspect.signature(self.cells).parameters

    def __call__(
        self,
        *,
        processes: int | None = 1,
        parts: str | Path | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Study:
        """Run the cells and judge what came out."""
        cells = list(self.cells(**options))
        outcomes = run_cells(
            cells, figure=self.name.partition(":")[2], parts=parts, progress=progress,
            processes=1 if self.timed else processes, known={} if self.timed else KNOWN,
        )  # fmt: skip
        finished = list(zip(cells, outcomes, strict=True))
        facts = self._facts(finished)
        for step in self.steps:
            finished = step(finished)
        return self.study(facts, self.rows(finished, self.measures))

    def _facts(self, finished: Finished) -> Facts:
        cells: dict[str, list[FigureCell]] = {}
        given: dict[str, Mapping[str, Any]] = {}
        for cell, outcome in finished:
            cells.setdefault(cell.instance, []).append(cell)
            given |= outcome.get("facts", {})
        if self.facts is None:
            return given
        first = {name: [c for c in own if c.x == own[0].x] for name, own in cells.items()}
        return {name: given.get(name) or self.facts(own) for name, own in first.items()} | given

    def study(self, instances: Facts, rows: Iterable[FigureRow]) -> Study:
        """Return the figure with these rows, for example those of a file, and its verdicts.

        Parameters
        ----------
        instances : mapping of str to mapping
            Facts about each instance.
        rows : iterable of FigureRow
        """
        rows = tuple(rows)
        draw = partial(draw_panels, panels=self.panels, looks=self.looks, **self.room)
        settings = self.settings(rows) if callable(self.settings) else self.settings
        study = self.form(
            name=self.name, title=self.title, axis=self.axis, measures=self.measures,
            settings=settings, instances=instances, levels=self.levels, rows=rows,
            drawing=self.drawing or draw, conditions=self.conditions, said=self.said,
        )  # fmt: skip
        return replace(study, statements=tuple(self.statements(study)))


def figures_of(
    paper: str, statements: ModuleType | None = None, **usual: Any
) -> Callable[..., Experiment]:
    """Return what makes a figure of a paper by its name, as figures.toml in its folder has it.

    The file has the looks and settings of all figures, what is `usual` in their panels, and of each
    figure its title, axis, measures, panels and room, its settings, or those that are changed, and
    what its statements say.
    Statements are the function of that name; `usual` is what figures have unless they say
    otherwise, its settings beside those of the file.
    """
    data = shipped(f"{__package__}.{paper}", "figures")
    looks = {name: (colour, LINES[line]) for name, (colour, line) in data.get("looks", {}).items()}
    if "settings" in data:
        usual["settings"] = {**data["settings"], **usual["settings"]}

    def figure(name: str, **more: Any) -> Experiment:
        rows, every = data[name].get("panels", ()), data.get("usual", {})
        panels = [[Panel.from_file(**{**every, **one}) for one in row] for row in rows]
        own = {**data[name], "panels": panels, "looks": looks}
        if changed := own.pop("changed", None):
            own["settings"] = {**usual["settings"], **changed}
        if hasattr(statements, name):
            own["statements"] = getattr(statements, name)
        return Experiment(name=f"{paper}:{name}", **{**usual, **own, **more})

    return figure
