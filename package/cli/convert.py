"""The command `convert`: a trace in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .. import screen


def convert(
    trace: screen.LogFile,
    out: Annotated[Path, screen.argument("convert.out")],
    reader: screen.Reader = "auto",
    columns: screen.Columns = None,
    reader_option: screen.ReaderOption = None,
) -> None:
    """Convert a trace to CSV, Parquet or SWF.

    Says what the format cannot hold.
    """
    from ..instances.traces.write import format_of, write_trace

    with screen.reading():
        format_of(out)
        screen.check_output(trace, out)
        how = screen.ReaderChoice(reader, reader_option or (), columns)
        loaded = screen.read_log(trace, how)
        if not loaded.jobs:
            raise ValueError(f"{trace}: there are no jobs to write: {loaded.report}")
        with screen.progress_line("writing"):
            lost = write_trace(out, loaded)
    console = screen.open_console()
    screen.say(console, f"{Path(trace).name}: {loaded.report}")
    for note in lost:
        screen.say(console, f"- {note}")
    screen.say_written(console, out)
