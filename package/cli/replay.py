"""The command `replay`: policies over the jobs of a trace, side by side, against proven bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..registry import READERS, REPLAYED, lookup, policy, warm_up_policy
from ..screen import (
    EXIT_FAILED,
    BadInput,
    ClusterFile,
    GpusPerNode,
    Interrupted,
    Json,
    Nodes,
    ReaderOption,
    Seed,
    check_output,
    cluster_of,
    natural,
    new_table,
    only,
    open_console,
    progress_line,
    reader_of,
    reading,
    say,
    shortened,
    show_table,
    shown,
    shown_ratio,
    whole,
)

SCENARIO = "scenario"
_FAMILIES = "SLO: all deadlines strict; MIX1: a tenth best effort; MIX2: so too, and 60 % soft"
#: names that are read with `--reader scenario`, and what they mean
SCENARIOS: Mapping[str, str] = {
    "T360, T720, T<jobs>": "so many jobs like those of Table III, MIX2, 16 nodes of 4 GPUs; "
    "first deadlines up to an hour later than printed",
    "H_SLO, H_MIX1, H_MIX2": f"jobs like Helios', 120 nodes of 8 GPUs. {_FAMILIES}",
    "P_SLO, P_MIX1, P_MIX2": f"jobs like Philly's, 120 nodes of 8 GPUs. {_FAMILIES}",
}
#: tables of speeds by name, in :mod:`gangsched.instances.heterogeneous`
SPEEDS: Mapping[str, str] = {"table1": "TABLE1"}
MOST_USERS = 20  # whose families are listed
MOST_LISTED = 5  # rejected jobs on the screen; the report has more, the JSON file all


def replay(
    trace: Annotated[
        str,
        typer.Argument(
            help="Trace file; with --reader scenario a name: T360, T720 or another T<jobs> (whose "
            "cluster has 16 nodes of 4 GPUs), H_SLO, H_MIX1, H_MIX2, P_SLO, P_MIX1, P_MIX2."
        ),
    ],
    reader: Annotated[
        str,
        typer.Option(
            help=f"Its reader: {', '.join(READERS)}; or scenario, for synthetic jobs with "
            "deadlines (Gao et al. 2024) drawn with --seed."
        ),
    ],
    reader_option: ReaderOption = None,
    nodes: Nodes = None,
    gpus_per_node: GpusPerNode = None,
    cluster: ClusterFile = None,
    policies: Annotated[
        str,
        typer.Option(
            help="Policies, module:object or file.py:object, separated by commas; "
            "`gangsched list` shows the names."
        ),
    ] = ",".join(REPLAYED),
    begin: Annotated[
        str | None,
        typer.Option("--from", help="First submission to take: seconds of the trace, or a date."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Take submissions before: seconds of the trace, or a date.")
    ] = None,
    first: Annotated[
        int | None, typer.Option(callback=whole, help="How many jobs: the first that can run.")
    ] = None,
    speeds: Annotated[
        str | None,
        typer.Option(
            help="Speeds of the jobs on GPU models: table1, of which every user draws one of seven "
            "families of training jobs with --seed (Chaudhary et al. 2020). Run times count as "
            "those on a K80."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="Weights of the users: requested (the GPUs that their jobs request), equal, trace "
            "(what the reader says), or a file of sizes of virtual clusters. By default trace "
            "where the reader says something, else requested."
        ),
    ] = None,
    round_length: Annotated[
        int, typer.Option(callback=whole, help="Seconds between scheduling rounds.")
    ] = 60,
    lease: Annotated[int, typer.Option(callback=whole, help="Seconds of a lease.")] = 900,
    overhead: Annotated[
        int,
        typer.Option(callback=natural, help="Seconds before a resumed job makes progress again."),
    ] = 25,
    migration: Annotated[
        int | None,
        typer.Option(callback=natural, help="The same where it is resumed on other GPUs."),
    ] = None,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="Leases start with their jobs, not together.")
    ] = False,
    spread: Annotated[
        bool, typer.Option("--spread", help="Jobs may take any free GPUs where nodes are split.")
    ] = False,
    seed: Seed = 0,
    save_runs: Annotated[
        Path | None, typer.Option(help="Folder that keeps every run, also an interrupted one.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the runs in the folder of --save-runs.")
    ] = False,
    json: Json = None,
    report: Annotated[Path, typer.Option(help="HTML report to write.")] = Path("replay.html"),
) -> None:
    """Replay a trace or scenario under policies, with proven bounds.

    Ctrl-C or SIGTERM keeps the policies that have finished. Exit code 1 where a policy failed.
    """
    from ..solvers.policy import Rules

    with reading():
        check_output(trace, json, report)
        chosen = _policies(policies, seed)
        rules = Rules(
            round_length=round_length,
            lease=lease,
            overhead=overhead,
            migration=migration,
            synchronous=not asynchronous,
            spread=spread,
        )
        kept = _Kept.of(save_runs, tuple(chosen), resume)
        if cluster is not None:
            only("--cluster", {"nodes": nodes, "gpus-per-node": gpus_per_node}, ())
        if reader == SCENARIO:
            more = {"from": begin, "until": until, "speeds": speeds, "weights": weights}
            only("--reader scenario", more, ())
            where = (nodes, gpus_per_node, cluster)
            room = None if where == (None, None, None) else cluster_of(*where)
            source = _draw(trace, reader_option or (), room, first, seed)
        else:
            room = cluster_of(nodes, gpus_per_node, cluster)
            source = _read(trace, reader, reader_option or (), room, (begin, until), first, weights)
            if speeds is not None:
                source = _sped(source, lookup("speeds", SPEEDS, speeds), seed)
        found = _run(source, chosen, rules, kept)
    if not found.rows and not found.failed:
        raise KeyboardInterrupt
    _finish(source, found, report=report, json=json, kept=kept)


# --- the jobs ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """An instance and how it came about."""

    instance: Any
    title: str
    notes: tuple[str, ...]
    rejected: tuple[tuple[str, str], ...]


def _read(
    path: str,
    reader: str,
    options: Sequence[str],
    cluster: Any,
    window: tuple[str | None, str | None],
    first: int | None,
    weights: str | None,
) -> _Source:
    from ..instances.convert import to_instance

    read = reader_of(reader, options)
    with progress_line(f"reading {Path(path).name}"):
        loaded = read(path)
        made = to_instance(
            loaded,
            cluster,
            window=(_time(loaded, "from", window[0]), _time(loaded, "until", window[1])),
            jobs=first,
            weights=_weights(loaded, weights),
        )
    instance = made.instance
    if not instance.jobs:
        more = [reason for _, reason in made.rejected[:1]]
        raise ValueError(f"{path}: no job can be run: {'; '.join([str(loaded.report), *more])}")
    return _Source(
        instance=instance,
        title=_title(Path(path).name, instance),
        notes=(str(loaded.report), *made.notes),
        rejected=made.rejected,
    )


def _sped(source: _Source, table: str, seed: int) -> _Source:
    """The same jobs with speeds of a table, drawn by user."""
    from ..instances import heterogeneous
    from ..instances.generate import offered_load

    speeds = getattr(heterogeneous, SPEEDS[table])
    instance = heterogeneous.with_speeds(source.instance, speeds, seed=seed)
    users = sorted({job.user for job in instance.jobs})
    drawn = (f"{user} {heterogeneous.family_of(user, speeds, seed=seed)}" for user in users)
    listed = ", ".join(islice(drawn, MOST_USERS)) + ", ..." * (len(users) > MOST_USERS)
    load = offered_load(instance)
    note = (
        f"speeds of {table}, a family for each user, drawn with seed {seed}: {listed}; the load "
        f"is {load:.2f} of the GPUs' time up to the last arrival, at their mean speed"
    )
    return replace(source, instance=instance, notes=(*source.notes, note))


def _draw(name: str, options: Sequence[str], cluster: Any, first: int | None, seed: int) -> _Source:
    """A scenario by name; its own cluster where none is given."""
    with progress_line(f"drawing {name}"):
        instance = _scenario(name, options, cluster, seed)
    if first is not None:
        instance = replace(instance, jobs=instance.jobs[:first])
    if not instance.jobs:
        raise ValueError(f"scenario {name}: it has no jobs")
    note = f"synthetic jobs, drawn with seed {seed}: {instance.name}"
    return _Source(instance=instance, title=_title(name, instance), notes=(note,), rejected=())


def _scenario(name: str, options: Sequence[str], cluster: Any, seed: int) -> Any:
    from ..instances.deadlines import helios_like_workload, philly_like_workload, testbed_workload

    testbed = re.fullmatch(r"T\[?(\d{1,6})\]?", name, re.IGNORECASE | re.ASCII)
    if testbed is not None:
        if options:
            raise ValueError(f"--reader-option: scenario {name!r} takes none")
        made = testbed_workload(int(testbed[1]), seed=seed)
        return made if cluster is None else replace(made, cluster=cluster)
    family = re.fullmatch(r"([HP])_(SLO|MIX1|MIX2)", name, re.IGNORECASE)
    if family is None:
        known = "T<jobs>, H_SLO, H_MIX1, H_MIX2, P_SLO, P_MIX1, P_MIX2"
        raise ValueError(f"scenario {name!r} is not one of {known}")
    draw = helios_like_workload if family[1].upper() == "H" else philly_like_workload
    return draw(cluster, family=family[2].lower(), seed=seed, **_sizes(options))  # type: ignore[arg-type]


def _sizes(options: Sequence[str]) -> dict[str, Any]:
    """Options of a family: how many jobs, in how many days, at which density."""
    kinds: Mapping[str, Callable[[str], Any]] = {"jobs": int, "days": int, "density": float}
    given: dict[str, Any] = {}
    for text in options:
        option, sign, value = (part.strip() for part in text.partition("="))
        if not sign or option not in kinds or option in given:
            raise ValueError(
                f"--reader-option: {text!r} is not one of jobs=, days=, density=, each once"
            )
        try:
            given[option] = kinds[option](value)
        except ValueError:
            raise ValueError(f"--reader-option: {option}={value!r} is not a number") from None
    return given


def _time(trace: Any, name: str, text: str | None) -> int | None:
    """Seconds of the trace."""
    from ..instances.convert import between

    if text is None:
        return None
    if re.fullmatch(r"\d{1,15}", text, re.ASCII):
        return int(text)
    try:
        return between(trace, text, None)[0]
    except ValueError as error:
        raise ValueError(f"--{name}: {error}") from None


def _weights(trace: Any, text: str | None) -> Any:
    """What :func:`to_instance` takes as weights."""
    from ..instances.traces import read_vc_sizes

    own = {user.id: user.weight for user in trace.users}
    if text is None:
        return own if set(own.values()) - {1.0} else "requested"
    if text in ("requested", "equal"):
        return text
    if text == "trace":
        return own
    day = None if trace.origin is None else trace.origin[:10]
    sizes = {user.id: user.weight for user in read_vc_sizes(text, date=day)}
    unknown = [job for job in trace.jobs if job.user not in sizes]
    if unknown:
        places = ", ".join(f"{job.id!r} of {job.user!r}" for job in unknown[:3])
        more = ", ..." if len(unknown) > 3 else ""
        raise ValueError(f"{text}: {len(unknown):,} jobs of users without a size: {places}{more}")
    return sizes


def _title(name: str, instance: Any) -> str:
    cluster = instance.cluster
    return f"{name}: {len(instance.jobs):,} jobs on {len(cluster.nodes)} nodes, {cluster.gpus} GPUs"


# --- the policies --------------------------------------------------------------------------------


def _policies(names: str, seed: int) -> dict[str, Any]:
    from ..analysis.show.run_plots import MOST_RUNS

    found: dict[str, Any] = {}
    for wish in names.split(","):
        if not wish.strip():
            raise ValueError(f"--policies: {names!r} has an empty name")
        name, made = policy(wish.strip(), seed=seed)
        if name in found:
            raise ValueError(f"--policies: {name!r} occurs twice")
        found[name] = made
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
        whole = [(n, p) for n, p in old if resume and (p / "run.json").exists()]
        return cls(paths, {n: load_run(p) for n, p in whole}, {})

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


def _run(source: _Source, policies: Mapping[str, Any], rules: Any, kept: _Kept) -> Any:
    """Run the policies one after the other; compiling does not count as run time."""
    from ..analysis.comparing.replay import replay as run

    with progress_line("preparing") as show:
        for name in policies:
            show(f"preparing {name} (the first run on a machine compiles)")
            warm_up_policy(name)
        return run(
            source.instance,
            policies,
            rules=rules,
            before=kept.before,
            on_progress=partial(_progress, show, list(policies)),
            on_run=kept.save,
            on_checkpoint=kept.save if kept.paths else None,
        )


def _progress(
    show: Callable[[str], None], names: Sequence[str], name: str, done: int, able: int
) -> None:
    place = f" ({names.index(name) + 1} of {len(names)})" if name in names else ""
    jobs = f": {done:,} of {able:,} jobs complete" if able else ""
    show(f"{name}{place}{jobs}")


# --- what came out -------------------------------------------------------------------------------


def _finish(source: _Source, found: Any, *, report: Path, json: Path | None, kept: _Kept) -> None:
    """Show and write what a replay gave, finished or not."""
    console = open_console()
    written = [path for path in (report if found.rows else None, json) if path is not None]
    try:
        _show(console, source, found)
    finally:  # also where the screen is a pipe that nobody reads to the end
        with reading(), progress_line("writing the report"):
            _write(source, found, report=report, json=json)
    places = [*map(str, written), *sorted({str(path.parent) for path in kept.paths.values()})]
    if places:
        say(console, "written: " + ", ".join(places))
    if kept.unsaved:
        raise BadInput("; ".join(kept.unsaved.values()))
    if found.interrupted:
        raise Interrupted(f"interrupted, not finished: {', '.join(found.unfinished)}")
    if any(not failure.refuted for failure in found.failed):
        raise typer.Exit(EXIT_FAILED)


def _show(console: Console, source: _Source, found: Any) -> None:
    say(console, source.title, "bold")
    for note in (*source.notes, *_left_out(source, found)):
        say(console, f"- {note}", "dim")
    if found.rows:
        if _has_deadlines(found):
            console.print()
            show_table(console, _deadlines(found))
        console.print()
        show_table(console, _times(found))
        console.print()
        show_table(console, _fairness(found))
        console.print()
        for line in _legend(found):
            say(console, line, "dim")
    for line in _failures(found):
        say(console, line)


def _failures(found: Any) -> list[str]:
    return [
        f"{one.name} {'is refuted' if one.refuted else 'failed'}: {shortened(one.reason)}"
        for one in found.failed
    ]


def _left_out(source: _Source, found: Any) -> list[str]:
    reasons = [reason for _, reason in source.rejected] + list(found.rejected.values())
    if len(reasons) > MOST_LISTED:
        reasons[MOST_LISTED:] = [f"... and {len(reasons) - MOST_LISTED:,} more rejected jobs"]
    if found.rejected:
        more = f"{len(found.rejected):,} of these jobs rejected for all: a policy cannot run them"
        reasons.insert(0, more)
    return reasons


def _has_deadlines(found: Any) -> bool:
    return any(row.deadlines is not None for row in found.rows)


def _deadlines(found: Any) -> Table:
    """How many deadlines are met, what that is worth, and what it could be worth."""
    from ..analysis.show.run_plots import duration

    heads = (
        "weighted\nmiss rate", "reward", "certified\nratio", "complete by\nlast deadline",
        "best-effort\nlatency", "suspensions\nper SLO job", "suspensions per\nbest-effort job",
    )  # fmt: skip
    table = new_table("policy", *heads, right=heads)
    for row in found.rows:
        one = row.deadlines
        latency = one["best_effort_latency"]
        table.add_row(
            f"{row.name} *" if row.elastic else row.name,
            shown(one["weighted_miss"], ".1%"),
            shown(one["reward"], ",.10g"),
            shown_ratio(row.ratios["reward"]),
            shown(one["in_time"], ".1%"),
            "-" if latency is None else duration(latency),
            shown(one["slo_suspensions"], ".2f"),
            shown(one["best_effort_suspensions"], ".2f"),
        )
    for failure in found.failed:
        table.add_row(failure.name, "refuted" if failure.refuted else "failed")
    table.add_section()
    for name, star in (("reward", ""), ("elastic reward", " *")):
        if name in found.bounds:
            most = found.bounds[name].value
            table.add_row(f"any policy{star}", "", f"≤ {most:,.10g}", style="dim")
    top = found.rows[0].deadlines["top_reward"]
    table.add_row("all in time", "", f"{top:,.10g}", style="dim")
    return table


def _times(found: Any) -> Table:
    """How soon jobs are complete, and how soon they could be."""
    from ..analysis.show.run_plots import duration, floored

    heads = (
        "mean\ncompletion", "certified\nratio", "99 %\ncompletion", "mean\nslowdown", "makespan",
        "certified\nratio ",
    )  # fmt: skip
    table = new_table("policy", *heads, right=heads)
    for row in found.rows:
        one = row.measures
        table.add_row(
            row.name,
            duration(one["mean_completion"]),
            shown_ratio(row.ratios.get("flow")),
            duration(one["p99_completion"]),
            f"{one['mean_slowdown']:,.2f}",
            duration(one["makespan"]),
            shown_ratio(row.ratios.get("makespan")),
        )
    for failure in found.failed:
        table.add_row(failure.name, "refuted" if failure.refuted else "failed")
    jobs = len(found.instance.jobs) - len(found.rejected)
    mean = {name: bound.value / jobs for name, bound in found.bounds.items()}
    last = found.bounds.get("makespan")
    table.add_section()
    table.add_row(
        "any policy",
        _least(mean.get("flow"), partial(duration, down=True)),
        "",
        "",
        _least(mean.get("slowdown"), lambda value: f"{floored(value, 2):,.2f}"),
        _least(None if last is None else last.value, partial(duration, down=True)),
        style="dim",
    )
    return table


def _least(value: float | None, write: Callable[[float], str]) -> str:
    """A lower bound, which `write` rounds down."""
    return "-" if value is None else f"≥ {write(value)}"


def _fairness(found: Any) -> Table:
    """How fair users and jobs are treated, and what that takes."""
    heads = (
        "least rho\nof users", "user-days\nbelow 1", "least rho\nof jobs", "jobs with\nrho < 0.95",
        "GPUs\nin use", "preemp-\ntions", "runtime",
    )  # fmt: skip
    table = new_table("policy", *heads, right=heads)
    for row in found.rows:
        one = row.measures
        table.add_row(
            row.name,
            shown(one["min_user_rho"], ".3f"),
            shown(one["days_below"], ".1%"),
            shown(one["min_service_rho"], ".3f"),
            shown(one["loss"], ".1%"),
            shown(one["utilisation"], ".1%"),
            f"{one['preemptions']:,}",
            f"{row.run.runtime:.2f} s",
        )
    for _, _, bound in found.fairness[:1]:
        table.add_section()
        table.add_row("any policy", "", "", f"≤ {_up(bound.value)}", style="dim")
    return table


def _up(value: float) -> str:
    return f"{ceil(1000 * value) / 1000:.3f}"


def _legend(found: Any) -> list[str]:
    """What the last rows and the less usual columns are."""
    bounds = [found.bounds.get(name) for name in ("flow", "slowdown", "makespan")]
    methods = ", ".join(dict.fromkeys(bound.method for bound in bounds if bound is not None))
    known = (
        "any policy: verified bounds. Not even one that knew all jobs in advance and could suspend "
        f"and move them for free gets beyond ({methods}); ratios are to these bounds."
    )
    if not methods:
        known = "any policy: nothing is proven about completion times, so no ratio is certified."
    rho = (
        "rho: GPU time that was got over the fair share (Ye et al. 2022), of jobs from their first "
        "rounds, the least without overhead. User-days: of the days on which a user had jobs, "
        "those with less than 99.9 % of its fair share; a job counts in that up to the round after "
        "its end, so that users of short jobs are below 1 on an empty cluster too. GPUs in use: to "
        "the last arrival."
    )
    if all(row.measures["min_user_rho"] is None for row in found.rows):
        rho += " One user, or none, shares with nobody."
    peaks = sorted(found.fairness[1:], key=lambda peak: peak[2].value)
    peak = [
        f"How fair anyone could have been at a peak: at most {_up(bound.value)}, {what}."
        for what, _, bound in peaks[:1]
    ]
    return [*_rewards_legend(found), known, rho, *peak, *found.remarks]


def _rewards_legend(found: Any) -> list[str]:
    if not _has_deadlines(found):
        return []
    from ..analysis.show.replay_report import who_profiles

    missed = (
        "weighted miss rate: 1 less the mean reward of a job with deadlines (SLO job) over the "
        "largest of all jobs (Gao et al. 2024). Certified ratio of reward: the most that any "
        "policy that keeps gangs can win over what was won."
    )
    lines = [missed, who_profiles(found.runs)]
    if any(row.elastic for row in found.rows):
        lines.append(
            "* ran jobs on other numbers of GPUs than their gangs. Its rewards are compared with "
            "the most for any policy that may do so, with up to twice the gang; the bounds of "
            "completion times and of rho are those of gangs, and hold for the others."
        )
    return lines


def _write(source: _Source, found: Any, *, report: Path, json: Path | None) -> None:
    from ..analysis.comparing.replay import REWARDS
    from ..analysis.show.replay_report import MEASURES, write_replay_report
    from ..instances.io import header, write_json

    if json is not None:
        made = {"title": source.title, "notes": source.notes, "rejected": source.rejected}
        write_json(json, {**header("replay"), **found.to_dict(), "source": made})
    if found.rows:
        shown_bounds = {*MEASURES, *REWARDS}
        write_replay_report(
            report,
            found.runs,
            title=source.title,
            bounds={name: bound for name, bound in found.bounds.items() if name in shown_bounds},
            fairness=found.fairness,
            notes=(*source.notes, *_failures(found)),
            rejected=source.rejected,
        )
