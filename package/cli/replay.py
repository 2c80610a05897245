"""The command `replay`: policies over the jobs of a trace, side by side, against proven bounds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from .. import screen
from ..registry import (
    DEDICATED_NOTE,
    EARNING,
    READERS,
    REPLAYED,
    SETTINGS,
    informed,
    may_be_informed,
    policy,
    replayed,
)
from ..registry import information as known_by
from .source import Source, listed, select_jobs

#: as policies are made
KNOWN = "known"
Trace = Annotated[str, screen.argument("replay.trace")]
Reader = Annotated[str, screen.option("replay.reader", readers=", ".join(READERS))]
Policies = Annotated[
    str | None, screen.option("replay.policies", usual=", ".join(REPLAYED), earning=EARNING[0])
]
Information = Annotated[
    str,
    screen.option(
        "replay.information",
        known=KNOWN,
        settings="; ".join(f"{name}: {row.note}" for name, row in SETTINGS.items()),
        dedicated=": ".join(DEDICATED_NOTE),
    ),
]
Begin = Annotated[str | None, screen.option("replay.from")]
Until = Annotated[str | None, screen.option("replay.until")]
First = Annotated[int | None, screen.option("replay.first", screen.whole)]
Speeds = Annotated[str | None, screen.option("replay.speeds")]
Weights = Annotated[str | None, screen.option("replay.weights")]
RoundLength = Annotated[int | None, screen.option("replay.round-length", screen.whole)]
Lease = Annotated[int, screen.option("replay.lease", screen.whole)]
Overhead = Annotated[int, screen.option("replay.overhead", screen.natural)]
Migration = Annotated[int | None, screen.option("replay.migration", screen.natural)]
Asynchronous = Annotated[bool, screen.option("replay.asynchronous")]
Spread = Annotated[bool, screen.option("replay.spread")]
Effort = Annotated[str, screen.option("replay.effort")]
Ledger = Annotated[bool, screen.option("replay.ledger")]
Waits = Annotated[int | None, screen.option("replay.waits", screen.whole)]
Every = Annotated[bool, screen.option("replay.all")]
ByUser = Annotated[bool, screen.option("replay.by-user")]
ByQueue = Annotated[bool, screen.option("replay.by-queue")]
SaveRuns = Annotated[Path | None, screen.option("replay.save-runs")]
Resume = Annotated[bool, screen.option("replay.resume")]
Report = Annotated[Path, screen.option("report")]


def replay(
    context: typer.Context,
    trace: Trace,
    reader: Reader = "auto",
    columns: screen.Columns = None,
    reader_option: screen.ReaderOption = None,
    nodes: screen.Nodes = None,
    gpus_per_node: screen.GpusPerNode = None,
    cluster: screen.ClusterFile = None,
    policies: Policies = None,
    information: Information = KNOWN,
    without: screen.Without = None,
    without_users: screen.WithoutUsers = None,
    begin: Begin = None,
    until: Until = None,
    first: First = None,
    speeds: Speeds = None,
    weights: Weights = None,
    round_length: RoundLength = None,
    lease: Lease = 900,
    overhead: Overhead = 25,
    migration: Migration = None,
    asynchronous: Asynchronous = False,
    spread: Spread = False,
    effort: Effort = "quick",
    ledger: Ledger = False,
    waits: Waits = None,
    by_user: ByUser = False,
    by_queue: ByQueue = False,
    seed: screen.Seed = 0,
    save_runs: SaveRuns = None,
    resume: Resume = False,
    json: screen.Json = None,
    report: Report = Path("replay.html"),
    no_report: screen.NoReport = False,
    every: Every = False,
    explain: screen.Explain = False,
) -> None:
    """Replay a trace or scenario under policies, with proven bounds.

    Ctrl-C or SIGTERM keeps the policies that have finished. Exit code 1 where a policy failed.
    """
    from ..analysis.comparing.replay import rules_of
    from ..solvers.policy import Rules

    with screen.reading():
        page = None if no_report else report
        screen.check_output(trace, json, page)
        chosen = {} if policies is None else _policies(policies, seed, information)
        room = {"nodes": nodes, "gpus-per-node": gpus_per_node, "cluster": cluster}
        part = {"from": begin, "until": until, "speeds": speeds, "weights": weights}
        how = screen.ReaderChoice(
            reader, tuple(reader_option or ()), columns, tuple(without or ()), without_users
        )
        source = select_jobs(trace, how, seed, first, room, part)
        chosen = chosen or _policies(",".join(replayed(source.subject)), seed, information)
        rules = Rules(
            round_length=round_length or rules_of(source.subject).round_length,
            lease=lease,
            overhead=overhead,
            migration=migration,
            synchronous=not asynchronous,
            spread=spread,
        )
        kept = _Kept.of(save_runs, tuple(chosen), resume)
        found = _run(source, chosen, rules, kept, effort, ledger)
    if not found.rows and not found.failed:
        raise KeyboardInterrupt
    _finish(
        source,
        found,
        context,
        kept,
        report=page,
        json=json,
        waits=waits,
        by=[*["user"] * by_user, *["queue"] * by_queue],
        every=every,
        explain=explain,
    )


# --- the policies --------------------------------------------------------------------------------


def _policies(names: str, seed: int, information: str = KNOWN) -> dict[str, Any]:
    from ..analysis.show.colours import MOST_RUNS

    setting = known_by("--information:", information, KNOWN)

    def named(name: str) -> tuple[str, Any]:
        key, made = policy(name, seed=seed)
        if setting == KNOWN or not may_be_informed(made):
            return key, made
        return f"{key}:{setting}", informed(made, setting, seed=seed)

    found = screen.each_of("--policies", names, named)
    if len(found) > MOST_RUNS:
        raise ValueError(
            f"--policies: {len(found)} policies, at most {MOST_RUNS} can be told apart"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Kept:
    """Where runs are kept from one replay to the next; nowhere without a folder."""

    paths: Mapping[str, Path]
    before: Mapping[str, Any]
    unsaved: dict[str, str]  # what went wrong, by name

    @classmethod
    def of(cls, folder: Path | None, names: Sequence[str], resume: bool) -> _Kept:
        from ..analysis.driving.run_io import load_run

        if folder is None:
            if resume:
                raise ValueError("--resume needs the folder of an earlier replay: --save-runs")
            return cls({}, {}, {})
        if resume and not folder.is_dir():
            raise ValueError(f"{folder}: there is no such folder to resume from")
        folder.mkdir(parents=True, exist_ok=True)
        kind = "csv" if find_spec("pyarrow") is None else "parquet"
        paths = {name: folder / f"{stem}.{kind}" for name, stem in _stems(names).items()}
        old = [(n, p.with_suffix(s)) for n, p in paths.items() for s in (".csv", ".parquet")]
        saved = [(n, p) for n, p in old if resume and (p / "run.json").exists()]
        return cls(paths, {n: load_run(p) for n, p in saved}, {})

    def save(self, name: str, run: Any) -> None:
        """Write a run that has ended, was stopped, or goes on; note what went wrong."""
        from ..analysis.driving.run_io import save_instance, save_run

        if name not in self.paths:
            return
        save = save_instance if run == self.before.get(name) else save_run
        try:
            save(self.paths[name], run)
        except OSError as error:
            self.unsaved[name] = f"{error.filename}: {error.strerror}"
        else:
            self.unsaved.pop(name, None)


def _stems(names: Sequence[str]) -> dict[str, str]:
    """Return names of files, which differ where the names do."""
    stems = {name: re.sub(r"[^A-Za-z0-9_-]+", "_", name) for name in names}
    taken = list(stems.values())
    return {
        name: stem if taken.count(stem) == 1 else f"{stem}-{i}"
        for i, (name, stem) in enumerate(stems.items(), start=1)
    }


def _run(
    source: Source,
    policies: Mapping[str, Any],
    rules: Any,
    kept: _Kept,
    effort: str,
    ledger: bool,
) -> Any:
    """Run the policies one after the other."""
    from ..analysis.comparing.replay import replay as run

    with screen.progress_line("preparing") as show, screen.announced():
        return run(
            source.subject,
            policies,
            rules=rules,
            before=kept.before,
            times=source.times,
            effort=cast(Any, effort),
            ledger=ledger,
            on_progress=partial(_progress, show, list(policies)),
            on_run=kept.save,
            on_checkpoint=kept.save if kept.paths else None,
            on_interrupt="return",
        )


def _progress(
    show: Callable[[str], None], names: Sequence[str], name: str, done: int, able: int
) -> None:
    place = f" ({names.index(name) + 1} of {len(names)})" if name in names else ""
    jobs = f": {done:,} of {able:,} jobs complete" if able else ""
    show(f"{name}{place}{jobs}")


# --- what came out -------------------------------------------------------------------------------


def _finish(
    source: Source,
    found: Any,
    context: typer.Context,
    kept: _Kept,
    *,
    report: Path | None,
    json: Path | None,
    waits: int | None,
    by: Sequence[Any],
    every: bool,
    explain: bool,
) -> None:
    """Show and write what a replay gave, finished or not."""
    from ..analysis.show.user_table import user_rows

    console = screen.open_console(json)
    explained = found.waits(waits) if waits and found.rows else {}
    users = {one: user_rows(found, one) for one in by if found.rows}
    try:
        _show(console, source, found, every, explain)
        _show_users(console, found, users)
        _show_waits(console, found, explained)
        _show_commands(console, found, context)
    finally:  # also where the screen is a pipe that nobody reads to the end
        with screen.reading(), screen.progress_line("writing the report"):
            _write(source, found, explained, users, report=report, json=json)
    folders = sorted({path.parent for path in kept.paths.values()})
    screen.say_written(console, report if found.rows else None, json, *folders)
    if kept.unsaved:
        raise screen.BadInput("; ".join(kept.unsaved.values()))
    if found.interrupted:
        raise screen.Interrupted(f"interrupted, not finished: {', '.join(found.unfinished)}")
    if any(not failure.refuted for failure in found.failed):
        raise typer.Exit(screen.EXIT_FAILED)


def _show(console: Console, source: Source, found: Any, every: bool, explain: bool) -> None:
    from ..analysis.show.replay_tables import answer, brief, failures, legend, tables

    screen.say(console, source.title, "bold")
    if said := answer(found):
        screen.say(console, said, "bold")
    for table in tables(found, every):
        console.print()
        screen.show_table(console, screen.rich_table(table))
    console.print()
    if found.rows:
        left = len(source.rejected) + source.left_out
        words = partial(legend, explain=explain, every=every) if every or explain else brief
        for line in words(found, drawn=source.drawn, rejected=left):
            screen.say(console, line, "dim")
    own = [f"hash of the instance: {found.instance_hash[:16]}"] * bool(found.rows)
    for note in (*source.notes, *own, *_left_out(source, found)):
        screen.say(console, f"- {note}", "dim")
    for line in failures(found):
        screen.say(console, line)


def _show_users(console: Console, found: Any, every: Mapping[Any, list[dict[str, Any]]]) -> None:
    from ..analysis.show.user_table import MOST_USERS, user_answers, user_table

    for by, rows in every.items():
        console.print()
        screen.show_table(console, screen.rich_table(user_table(found, rows, by)))
        for line in user_answers(rows, by):
            screen.say(console, line)
        more = len({row[by] for row in rows}) - MOST_USERS
        if more > 0:
            screen.say(console, f"{more} more {by}s are in the file of --json", "dim")


def _show_waits(console: Console, found: Any, waits: Mapping[str, Any]) -> None:
    from ..analysis.show.wait_table import wait_notes, wait_table

    if waits:
        console.print()
        screen.show_table(console, screen.rich_table(wait_table(found, waits)))
        console.print()
    for line in wait_notes(waits):
        screen.say(console, line, "dim")


def _show_commands(console: Console, found: Any, context: typer.Context) -> None:
    """Print a command for each run that ledgers are made of."""
    runs = [one.runs for one in found.ledgers.values() if not isinstance(one, str)]
    made = {variant: mean for each in runs for variant, mean in each.items()}
    for variant, mean in made.items():
        if any((variant.free, variant.pool, variant.seconds)) or variant.policy not in found.runs:
            command = _command(context, _changes(variant, found))
            screen.say(console, f"{variant}, {mean / 3600:.3f} h: {command}", "dim")


def _changes(variant: Any, found: Any) -> dict[str, Any]:
    """What the command of a variant says otherwise than that of the replay."""
    from ..analysis.comparing.regret import pool_of

    changes: dict[str, Any] = {"policies": variant.policy, "ledger": False, "no_report": True}
    changes |= dict.fromkeys(("json", "save_runs", "report", "waits"), None) | {
        "resume": False,
        "explain": False,
        "every": False,
        "by_user": False,
        "by_queue": False,
        "information": KNOWN,  # as the names say
    }
    if variant.free:
        changes |= {"overhead": 0, "migration": None}
    if variant.seconds:
        changes |= {"round_length": 1}
    if variant.pool:
        nodes = pool_of(found.instance.cluster).nodes
        text = ",".join(f"{node.model}:1x{node.gpus}" for node in nodes)
        one = {"nodes": "1", "gpus_per_node": nodes[0].gpus, "cluster": None}
        changes |= one if len(nodes) == 1 else one | {"nodes": text, "gpus_per_node": None}
    return changes


def _command(context: typer.Context, changes: Mapping[str, Any]) -> str:
    """Return the command of this context with other values, without those that are defaults."""
    parts = ["gangsched", "replay"]
    for param in context.command.params:
        value = {**context.params, **changes}.get(param.name or "")
        if param.param_type_name == "argument":
            parts.append(str(value))
        elif value is True:
            parts.append(param.opts[0])
        elif value is not None and value is not False and value != param.default:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                parts += [param.opts[0], str(one)]
    return shlex.join(parts)


def _left_out(source: Source, found: Any) -> list[str]:
    reasons = listed([reason for _, reason in source.rejected] + list(found.rejected.values()))
    if found.rejected:
        more = f"{len(found.rejected):,} of these jobs rejected for all: a policy cannot run them"
        reasons.insert(0, more)
    return reasons


def _write(
    source: Source,
    found: Any,
    waits: Mapping[str, Any],
    users: Mapping[Any, list[dict[str, Any]]],
    *,
    report: Path | None,
    json: Path | None,
) -> None:
    from ..analysis.show.replay_report import write_replay_report
    from ..analysis.show.wait_table import waits_to_dict

    if json is not None:
        more: dict[str, Any] = {"waits": waits_to_dict(found, waits)} if waits else {}
        more |= {f"{by}s": rows for by, rows in users.items()}
        source.save(json, "replay", found, **more)
    if found.rows and report is not None:
        write_replay_report(report, found, **source.about)
