"""Exports of any shape: read at the first try, and refused in one line where they are damaged."""

import random
from pathlib import Path

import pytest

from exports import BERLIN, EXPORTS, ORIGIN, entries, write
from few import each_seed
from gangsched.instances.traces import read_auto, read_csv, read_parquet, recognise
from malformed import table

JOBS = entries()


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_at_the_first_try(name: str, tmp_path: Path) -> None:
    export = EXPORTS[name]
    path = write(name, tmp_path, JOBS)
    read = read_parquet if export.suffix == ".parquet" else read_csv
    trace = read(path, columns=export.columns or None)
    assert (trace.report.read, dict(trace.report.skipped)) == (len(JOBS), {})
    assert [job.release for job in trace.jobs] == [entry.submit for entry in JOBS]
    assert [job.work for job in trace.jobs] == [entry.end - entry.start for entry in JOBS]
    assert [job.gpus for job in trace.jobs] == [entry.gpus for entry in JOBS]
    ids = [entry.id for entry in JOBS] if export.ids else [f"row{i + 1}" for i in range(len(JOBS))]
    assert [job.id for job in trace.jobs] == ids
    users = [entry.user for entry in JOBS] if export.users else [""] * len(JOBS)
    assert [job.user for job in trace.jobs] == users
    local = ORIGIN.astimezone(BERLIN)
    first = f"{local:%Y-%m-%d %H:%M:%S}" if export.local else f"{ORIGIN:%Y-%m-%d %H:%M:%S} UTC"
    assert trace.origin == (first if export.dates else None)


@pytest.mark.parametrize("name", [name for name in EXPORTS if not EXPORTS[name].columns])
def test_auto_reads_the_same(name: str, tmp_path: Path) -> None:
    path = write(name, tmp_path, JOBS)
    kind = EXPORTS[name].suffix[1:]
    assert recognise(path).reader == kind
    trace = read_auto(path)
    assert trace.jobs == (read_parquet if kind == "parquet" else read_csv)(path).jobs
    assert trace.report.notes[0].startswith(f"format: {kind}, as ")


def test_there_are_twelve_of_them() -> None:
    assert len({export.description for export in EXPORTS.values()}) == 12


# --- damaged files -------------------------------------------------------------------------------

#: what stands in a cell after an accident
GARBAGE = table("garbage")["cells"]


def damaged(text: str, rng: random.Random) -> str:
    """An export with one accident: a cell, a line, the header, a quotation mark, the end."""
    lines = text.splitlines()
    kind = rng.randrange(7)
    at = rng.randrange(1, len(lines))
    sign = next(sign for sign in "\t;|," if sign in lines[1])
    cells = lines[at].split(sign)
    if kind == 0:
        cells[rng.randrange(len(cells))] = rng.choice(GARBAGE)
    elif kind == 1:
        cells.append("more")
    elif kind == 2:
        cells.pop()
    elif kind == 3:
        lines[0] = sign.join(f"c{i}" for i in range(len(cells)))
    elif kind == 4:
        cells[0] = f'"{cells[0]}'
    elif kind == 5:
        cells = cells[: len(cells) // 2]
    else:
        lines[0] = rng.choice([lines[1], "", "id"])
    lines[at] = sign.join(cells)
    return "\n".join(lines)


@each_seed(range(300))
def test_a_damaged_export_gets_one_line(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    name = rng.choice([name for name in EXPORTS if EXPORTS[name].suffix == ".csv"])
    path = write(name, tmp_path, JOBS)
    path.write_text(damaged(path.read_text("utf-8-sig"), rng), "utf-8")
    columns = EXPORTS[name].columns or None
    trace, message = None, f"{path}: "
    try:
        trace = read_csv(path, columns=columns)
    except ValueError as error:
        message = str(error)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    if trace:  # a cell of a column that is not read, an unknown value or another one of its kind
        assert trace.report.read in (len(JOBS), len(JOBS) - 1)
        assert len(trace.jobs) >= len(JOBS) - 1
        assert "\n" not in str(trace.report)
