"""The command `audit`: what is wrong with a log, or with what is said of its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import screen
from ..instances.display import counted, in_doubt

Quotas = Annotated[Path | None, screen.option("audit.quotas")]
Window = Annotated[int, screen.option("audit.window", screen.whole)]


def audit(
    trace: screen.LogFile,
    reader: screen.Reader = "auto",
    columns: screen.Columns = None,
    reader_option: screen.ReaderOption = None,
    nodes: screen.Nodes = None,
    gpus_per_node: screen.GpusPerNode = None,
    cluster: screen.ClusterFile = None,
    quotas: Quotas = None,
    window: Window = 86_400,
    json: screen.Json = None,
    report: screen.Report = None,
) -> None:
    """Look for contradictions in a log and with its cluster.

    What is proved wrong comes first, then what is odd, each with the rows; every proof is verified.
    Exit code 1 where something is proved wrong.
    """
    from ..analysis.audit import audit as run

    with screen.reading():
        screen.check_output(trace, json, report)
        if cluster is not None:
            screen.only("--cluster", {"nodes": nodes}, ())
        given = nodes is not None or cluster is not None
        given = given or (gpus_per_node is not None and quotas is None)
        room = screen.cluster_of(nodes, gpus_per_node, cluster) if given else None
        how = screen.ReaderChoice(reader, reader_option or (), columns)
        loaded = screen.read_log(trace, how, room)
        sizes = None if quotas is None else _quotas(quotas, loaded, gpus_per_node)
        with screen.progress_line("looking"):
            found = run(loaded, room, quotas=sizes, window=window)
        size = ""
        if room is not None:
            size = f", {counted(room.gpus, 'GPU')} on {counted(len(room.nodes), 'node')}"
        title = f"{Path(trace).name}: {found.jobs:,} jobs{size}"
        if json is not None:
            _write(json, found, loaded)
        if report is not None:
            from ..analysis.show.audit_report import write_audit_report

            write_audit_report(report, found, title=title, notes=[str(loaded.report)])
    console = screen.open_console(json)
    screen.say(console, title, "bold")
    screen.say(console, f"- {loaded.report}", "dim")
    if found.doubts:
        screen.say(console, in_doubt(found.doubts), "bold")
    for finding in found.findings:
        screen.say(console, str(finding), "bold" if finding.sure == "proved" else None)
    if not found.findings:
        screen.say(console, "nothing found")
    for line in found.unchecked:
        screen.say(console, f"- {line}", "dim")
    screen.say_written(console, json, report)
    if found.proved:
        raise typer.Exit(screen.EXIT_FAILED)


def _quotas(path: Path, trace: Any, gpus_per_node: int | None) -> dict[str, int]:
    """The most GPUs that each virtual cluster has on a day of the log."""
    from ..instances.traces import read_vc_sizes

    days: dict[str, Any] = {} if gpus_per_node is None else {"gpus_per_node": gpus_per_node}
    if trace.origin is not None:
        began = datetime.fromisoformat(trace.origin.removesuffix(" UTC"))
        ended = began + timedelta(seconds=max(_seconds(trace), default=0))
        days |= {"date": f"{began:%Y-%m-%d}", "until": f"{ended:%Y-%m-%d}"}
    return {user.id: int(user.weight) for user in read_vc_sizes(path, **days)}


def _seconds(trace: Any) -> Iterator[int]:
    """When jobs were submitted, began and ended, as far as the log tells."""
    for job, row in zip_longest(trace.jobs, trace.rows):
        began = job.release if row is None or row.start is None else row.start
        yield from (job.release, began + (job.work or 0))
        if row is not None and row.end is not None:
            yield row.end


def _write(path: Path, found: Any, trace: Any) -> None:
    from ..instances.io import header

    data = {**header("audit"), **found.to_dict(), "report": str(trace.report)}
    screen.write_json(path, data)
