"""The command `describe`: a trace in numbers and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table

from .. import screen
from ..instances.display import in_doubt


def describe(
    trace: screen.LogFile,
    reader: screen.Reader = "auto",
    columns: screen.Columns = None,
    reader_option: screen.ReaderOption = None,
    without: screen.Without = None,
    without_users: screen.WithoutUsers = None,
    json: screen.Json = None,
    plot: Annotated[Path | None, screen.option("describe.plot")] = None,
    report: screen.Report = None,
) -> None:
    """Describe a trace: run times, GPUs, users over time.

    Table 1 and Figs. 1 to 4 of Ye et al. (2022), for any trace.
    """
    from ..analysis.show import describe as study

    with screen.reading():
        screen.check_output(trace, json, plot, report)
        if plot is not None and plot.suffix.lower() not in (".png", ".svg"):
            raise ValueError(f"picture {str(plot)!r}: the name must end in .png or .svg")
        how = screen.ReaderChoice(
            reader, reader_option or (), columns, without or (), without_users
        )
        loaded = screen.read_log(trace, how)
        if not loaded.jobs:
            raise ValueError(f"{trace}: there are no jobs to describe: {loaded.report}")
        with screen.progress_line("describing") as show:
            found = study.describe(loaded)
            users = f"{found.users} user{'s' * (found.users != 1)}"
            text = f"{found.all.jobs:,} jobs of {users} in {found.span / 86_400:,.1f} days"
            title = f"{Path(trace).name}: {text}"
            doubt = [in_doubt(loaded.doubts)] * bool(loaded.doubts)
            show("writing")
            _write_description(found, loaded.doubts, json, plot)
            if report is not None:
                from ..analysis.show.describe_report import write_description_report

                notes = [*doubt, str(loaded.report)]
                write_description_report(report, found, title=title, notes=notes)
    console = screen.open_console(json)
    screen.say(console, title, "bold")
    for line in doubt:
        screen.say(console, line, "bold")
    screen.say(console, f"- {loaded.report}", "dim")
    console.print()
    screen.say(console, "share of jobs and of GPU time by gang size, and run times")
    console.print()
    screen.show_table(console, _described(found, study.LIMITS))
    console.print()
    screen.show_table(console, _demand(found.usage))
    if found.users > len(found.usage.users):
        screen.say(console, f"the {len(found.usage.users)} of {users} with most GPU time")
    console.print()
    text = "waits and use are not recorded in a trace: a replay gives them"
    if loaded.submitted and any(row.start is not None for row in loaded.rows):
        text = "when jobs began is recorded: a replay has the waits in its row recorded"
    screen.say(console, text, "dim")
    screen.say_written(console, json, plot, report)


def _described(found: Any, limits: Mapping[str, int]) -> Table:
    """One row for all jobs and one for each class of gang sizes; times in seconds."""
    below = tuple(f"< {limit}" for limit in limits)
    right = ("jobs", "of jobs", "of GPU time", *below, "median", "99 %")
    table = screen.new_table("GPUs", *right, right=right)
    for group in (found.all, *found.groups):
        if group.jobs:
            parts = group.jobs / found.all.jobs, group.gpu_seconds / found.all.gpu_seconds
            shares = (f"{share:.1%}" for share in (*parts, *group.below))
            times = (f"{group.run_time[level]:,.0f} s" for level in (50, 99))
            table.add_row(group.gpus, f"{group.jobs:,}", *shares, *times)
    return table


def _demand(usage: Any) -> Table:
    hours = "hour" if usage.bin == 3_600 else f"{usage.bin // 3_600} hours"
    heads = ("GPUs wanted\non average", f"GPUs wanted in\nthe busiest {hours}")
    table = screen.new_table("user", *heads, right=heads)
    for user, gpus in zip(usage.users, usage.gpus, strict=True):
        table.add_row(user or "-", f"{gpus.mean():,.1f}", f"{gpus.max():,.1f}")
    return table


def _write_description(
    found: Any, doubts: Sequence[str], json: Path | None, plot: Path | None
) -> None:
    from ..instances.io import header

    if json is not None:
        more = {"doubts": list(doubts)} if doubts else {}
        screen.write_json(json, {**header("description"), **more, **found.to_dict()})
    if plot is not None:
        from ..analysis.show import plots
        from ..analysis.show.describe_plot import draw

        plots.save(draw(found), plot)
