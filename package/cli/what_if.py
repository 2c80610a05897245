"""The command `what-if`: the same jobs on other clusters and at other loads, in one table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, cast

from .. import screen
from ..instances.display import in_doubt
from . import replay as replaying
from .source import listed, select_jobs

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

    Ctrl-C keeps the clusters that are finished.
    """
    from ..analysis.comparing.what_if import what_if as run
    from ..analysis.show import plots, what_if_table
    from ..instances import Instance

    with screen.reading():
        screen.check_output(trace, json, picture)
        chosen = replaying._policies(policies, seed)
        clusters = {text: _cluster(text, gpus_per_node) for text in dict.fromkeys(nodes)}
        how = screen.ReaderChoice(reader, tuple(reader_option or ()), columns)
        part = {"from": begin, "until": until, "speeds": None, "weights": None}
        room = dict.fromkeys(("nodes", "gpus-per-node", "cluster"))
        largest = max(clusters.values(), key=lambda cluster: cluster.gpus)
        source = select_jobs(trace, how, seed, first, room, part, largest)
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
    screen.say(console, f"{source.name}: {len(source.subject.jobs):,} jobs", "bold")
    for note in (*source.notes, *listed([reason for _, reason in source.rejected])):
        screen.say(console, f"- {note}", "dim")
    if found.left_out:
        screen.say(console, f"- {found.left_out:,} jobs left out: some cluster has no room", "dim")
    if doubt := in_doubt(source.doubts):
        screen.say(console, doubt, "bold")
    if found.cases:
        console.print()
        for line in what_if_table.answer(found):
            screen.say(console, f"{line}{' (in doubt)' * bool(doubt)}", "bold")
        console.print()
        screen.show_table(console, screen.rich_table(what_if_table.table(found)))
    screen.say_written(console, json, picture if found.cases else None)
    if found.interrupted:
        raise screen.Interrupted("interrupted, clusters were left to try")


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
        if gpus_per_node is not None or 0 in sizes:
            raise ValueError(f"--nodes {text!r} says nodes and GPUs of each, both above 0")
        return Cluster.uniform(nodes=sizes[0], gpus_per_node=sizes[1])
    return screen.cluster_of(screen.nodes_of(text), gpus_per_node, None)
