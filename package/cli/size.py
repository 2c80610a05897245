"""The command `size`: how many nodes a policy needs for a target, and with how many none can."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from .. import screen
from ..instances.display import counted, in_doubt
from . import replay as replaying
from .source import Source, listed, select_jobs

LARGE = 4096  #: nodes on which every job of a log fits that fits at all

Policy = Annotated[str, screen.option("size.policy")]
Wanted = Annotated[str, screen.option("size.target")]
Grow = Annotated[str | None, screen.option("size.grow")]
Fixed = Annotated[Any, screen.option("size.nodes", parser=screen.nodes_of)]


def size(
    trace: replaying.Trace,
    target: Wanted,
    policy: Policy = "easy",
    reader: replaying.Reader = "auto",
    columns: screen.Columns = None,
    reader_option: screen.ReaderOption = None,
    gpus_per_node: screen.GpusPerNode = None,
    nodes: Fixed = None,
    grow: Grow = None,
    begin: replaying.Begin = None,
    until: replaying.Until = None,
    first: replaying.First = None,
    round_length: replaying.RoundLength = None,
    lease: replaying.Lease = 900,
    overhead: replaying.Overhead = 25,
    migration: replaying.Migration = None,
    asynchronous: replaying.Asynchronous = False,
    spread: replaying.Spread = False,
    effort: replaying.Effort = "quick",
    seed: screen.Seed = 0,
    json: screen.Json = None,
) -> None:
    """Find the fewest nodes for a target, and how many no policy can do without.

    With --grow, nodes are those that are added. Exit code 1 where the policy reaches the target
    with no size; Ctrl-C keeps what was found.
    """
    from ..analysis.comparing.replay import rules_of
    from ..analysis.comparing.sizing import Target
    from ..analysis.comparing.sizing import size as run
    from ..instances import Instance
    from ..solvers.policy import Rules

    with screen.reading():
        screen.check_output(trace, json)
        wanted = Target.of(target)
        chosen = replaying._policies(policy, seed)
        if len(chosen) != 1:
            raise ValueError(f"--policy {policy!r}: one is wanted")
        cluster_of = _clusters(nodes, grow, gpus_per_node)
        how = screen.ReaderChoice(reader, tuple(reader_option or ()), columns)
        part = {"from": begin, "until": until, "speeds": None, "weights": None}
        room = dict.fromkeys(("nodes", "gpus-per-node", "cluster"))
        source = select_jobs(trace, how, seed, first, room, part, cluster_of(LARGE))
        if not isinstance(source.subject, Instance):
            raise ValueError(f"{trace}: jobs with utilities have no wait: size takes run times")
        if not getattr(source.times, "submitted", True):
            raise ValueError(f"{trace} does not tell when jobs were submitted, so nothing of waits")

        @cache
        def instance_of(n: int) -> Any:
            return replace(source.subject, cluster=cluster_of(n))

        rules = Rules(
            round_length=round_length or rules_of(source.subject).round_length,
            lease=lease,
            overhead=overhead,
            migration=migration,
            synchronous=not asynchronous,
            spread=spread,
        )
        with _told(), screen.progress_line("looking") as show, screen.announced():
            found = run(
                instance_of,
                next(iter(chosen.items())),
                wanted,
                rules=rules,
                start=0 if nodes else 1,
                effort=cast(Any, effort),
                on_progress=show,
            )
        if json is not None:
            end = found.fewest or found.least
            replace(source, subject=instance_of(end)).save(json, "size", found)
    console = screen.open_console(json)
    _show(console, source, found, rules)
    screen.say_written(console, json)
    if found.interrupted:
        raise screen.Interrupted("interrupted, sizes were left to try")
    if found.fewest is None:
        raise typer.Exit(screen.EXIT_FAILED)


@contextmanager
def _told() -> Iterator[None]:
    """Say in one line what a policy that fails has raised."""
    from ..analysis.driving.drive import PolicyError

    try:
        yield
    except PolicyError as error:
        raise ValueError(str(error)) from None


def _show(console: Console, source: Source, found: Any, rules: Any) -> None:
    """Say what was found, and what about it is in doubt."""
    from ..analysis.show.conditions import Conditions, left_out, rules_in_words, seed_range
    from ..analysis.show.replay_tables import KNOWLEDGE

    screen.say(console, f"{source.name}: {counted(len(source.subject.jobs), 'job')}", "bold")
    for note in (*source.notes, *listed([reason for _, reason in source.rejected])):
        screen.say(console, f"- {note}", "dim")
    doubt = in_doubt(source.doubts)
    if doubt:
        screen.say(console, doubt, "bold")
    screen.say(console, f"{found}{' (in doubt)' * bool(doubt)}", "bold")
    for n in _near(found):
        value = found.tried[n]
        reached = "reached" if value <= found.target.most else "not reached"
        shown = found.target.shown(value)
        screen.say(console, f"{counted(n, 'node'):>10}: {shown:>10}, {reached}")
    screen.say(console, found.words, "dim")
    if found.information:
        settings = Conditions(
            information=f"{KNOWLEDGE[found.information]}: {found.policy}",
            seeds=seed_range([]),
            excluded=left_out([len(source.rejected) + source.left_out]),
            parameters=rules_in_words(rules),
            certificate="none, as no bound was verified" if found.bound is None else "the proof",
        )
        screen.say(console, str(settings), "dim")


def _near(found: Any) -> list[int]:
    """The sizes that are shown: about the answer, and those that fail again above it."""
    sizes = sorted(found.tried)
    place = len(sizes) - 1 if found.fewest is None else sizes.index(found.fewest)
    return sorted({*sizes[max(0, place - 4) : place + 3], *found.worse[:5]})


def _clusters(nodes: Any, grow: str | None, gpus_per_node: int | None) -> Callable[[int], Any]:
    """The cluster with so many more nodes, by what --nodes, --grow and --gpus-per-node say."""
    from ..instances import Cluster
    from ..instances.heterogeneous import mixed_cluster

    if grow is None:
        if nodes is not None or gpus_per_node is None:
            raise ValueError("say which nodes to add: --gpus-per-node 8, or --grow v100:4")
        return lambda n: Cluster.uniform(nodes=n, gpus_per_node=gpus_per_node)
    found = re.fullmatch(r"([^\s:,]+):(\d{1,6})", grow.strip(), re.ASCII)
    if found is None or int(found[2]) < 1:
        raise ValueError(f"--grow {grow!r} is not of the form model:gpus (v100:4)")
    if isinstance(nodes, int) or gpus_per_node is not None:
        raise ValueError("--grow goes with --nodes of GPU models (v100:2x4,k80:8x4)")
    model, gpus = found[1], int(found[2])
    return lambda n: mixed_cluster([*(nodes or ()), *([(model, n, gpus)] if n else [])])
