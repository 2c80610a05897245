"""The command `what-if`: the same jobs on other clusters and at other loads, in one table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from .. import screen
from ..instances.display import counted, in_doubt
from . import replay as replaying
from .source import listed, select_jobs

MOST_GPUS = 1_000_000
Clusters = Annotated[list[str], screen.option("what-if.nodes")]
Loads = Annotated[str, screen.option("what-if.load")]
Picture = Annotated[Path | None, screen.option("what-if.picture")]


def what_if(
    trace: replaying.Trace,
    nodes: Clusters,
    policies: Annotated[str, screen.option("what-if.policies")] = "fifo,easy,srtf",
    load: Loads = "1",
    reader: replaying.Reader = "auto",
    columns: screen.Columns = None,
    reader_option: screen.ReaderOption = None,
    gpus_per_node: screen.GpusPerNode = None,
    begin: replaying.Begin = None,
    until: replaying.Until = None,
    first: replaying.First = None,
    effort: replaying.Effort = "quick",
    seed: screen.Seed = 0,
    json: screen.Json = None,
    picture: Picture = None,
) -> None:
    """Compare clusters and loads: what more nodes bring, with proven bounds.

    Ctrl-C keeps what is finished. Exit code 1 where a policy failed.
    """
    from ..analysis.comparing.what_if import what_if as run
    from ..analysis.show import plots, what_if_table
    from ..analysis.show.replay_tables import failures
    from ..instances import Instance

    with screen.reading():
        screen.check_output(trace, json, picture)
        chosen = replaying._policies(policies, seed)
        clusters = {text: _cluster(text, gpus_per_node) for text in dict.fromkeys(nodes)}
        how = screen.ReaderChoice(reader, tuple(reader_option or ()), columns)
        part = {"from": begin, "until": until, "speeds": None, "weights": None}
        room = dict.fromkeys(("nodes", "gpus-per-node", "cluster"))
        source = select_jobs(trace, how, seed, first, room, part, _all_of(clusters.values()))
        if not isinstance(source.subject, Instance):
            raise ValueError(f"{trace}: jobs with utilities are not compared over clusters")
        with screen.progress_line("preparing") as show, screen.announced():
            found = run(
                source.subject,
                clusters,
                chosen,
                loads=tuple(screen.each_of("--load", load, _load).values()),
                times=cast(Any, source.times or None),
                effort=cast(Any, effort),
                on_progress=show,
            )
        if json is not None:
            source.save(json, "what-if", found)
        if picture is not None and found.cases:
            plots.save(what_if_table.picture(found), picture)
    console = screen.open_console(json)
    screen.say(console, f"{source.name}: {counted(len(source.subject.jobs), 'job')}", "bold")
    for note in (*source.notes, *listed([reason for _, reason in source.rejected])):
        screen.say(console, f"- {note}", "dim")
    if found.left_out:
        jobs = counted(found.left_out, "job")
        screen.say(console, f"- {jobs} left out of all: some cluster has no room", "dim")
    if doubt := in_doubt(source.doubts):
        screen.say(console, doubt, "bold")
    if found.cases:
        console.print()
        for line in what_if_table.answer(found):
            screen.say(console, f"{line}{' (in doubt)' * bool(doubt)}", "bold")
        console.print()
        screen.show_table(console, screen.rich_table(what_if_table.table(found)))
        console.print()
        left = len(source.rejected) + source.left_out
        for line in what_if_table.words(found, drawn=source.drawn, rejected=left):
            screen.say(console, line, "dim")
    failed = [line for case in found.cases for line in failures(case.found)]
    for line in dict.fromkeys(failed):
        screen.say(console, line)
    screen.say_written(console, json, picture if found.cases else None)
    if found.interrupted:
        raise screen.Interrupted("interrupted, clusters or policies were left to try")
    if failed:
        raise typer.Exit(screen.EXIT_FAILED)


def _load(text: str) -> tuple[str, float]:
    """A load, by what was written."""
    try:
        return text, float(text)
    except ValueError:
        raise ValueError(f"--load: {text!r} is not a number") from None


def _cluster(text: str, gpus_per_node: int | None) -> Any:
    """What --nodes says: a number beside --gpus-per-node, 4x8, or GPU models."""
    from ..instances import Cluster

    found = re.fullmatch(r"(\d{1,6})x(\d{1,4})", text, re.ASCII)
    if found is not None:
        sizes = int(found[1]), int(found[2])
        if gpus_per_node is not None:
            raise ValueError(f"--gpus-per-node does not go with --nodes {text}")
        if not 0 < sizes[0] * sizes[1] <= MOST_GPUS:
            raise ValueError(f"--nodes {text!r}: its GPUs are not within 1 to {MOST_GPUS:,}")
        return Cluster.uniform(nodes=sizes[0], gpus_per_node=sizes[1])
    return screen.cluster_of(screen.nodes_of(text), gpus_per_node, None)


def _all_of(clusters: Iterable[Any]) -> Any:
    """One cluster of all nodes: on it whatever runs on some cluster does."""
    from ..instances import Cluster

    nodes = (node for cluster in clusters for node in cluster.nodes)
    return Cluster([replace(node, id=f"n{k}") for k, node in enumerate(nodes)])
