"""Rows that no reader of a table may take: counted by reason, or refused with place and rule."""

import re
from pathlib import Path
from typing import Any

import pytest

from log_files import FORMATS, Line
from malformed import table

GOOD = Line(5, 1, 1, "1")
ROWS = table("unusable_rows")

#: what each kind of column cannot hold, and the message behind the column's name
KINDS: dict[str, list[tuple[object, str]]] = {
    "id": [("", "='' is empty, every row has one")],
    "count": [
        ("", "='' is not an integer"), ("x", "='x' is not an integer"),
        (0.5, "='0.5' is not an integer"), (-1, "=-1 is below 0"),
    ],
    "number": [
        ("long", "='long' is not a number"), (-1, "=-1 is below 0"), ("inf", "=inf is not finite"),
    ],
    "user": [("", "='' is empty, every job has one")],
    "weight": [(0, "='0' is not above 0"), ("", "='' is not above 0")],
}  # fmt: skip
#: columns by what they hold, of readers that read row by row
COLUMNS = {
    "chronus": "id:job_id user:user count:num_gpu number:submit_time number:duration user:job_type",
    "gavel": "user:job_type number:total_steps number:arrival count:gpus",
}
#: rules of one format
MORE: dict[str, list[tuple[dict[str, object], str]]] = ROWS["refused"]
WRONG = [
    *(
        (name, {column: value}, f"{column}{message}")
        for name, listed in COLUMNS.items()
        for kind, column in (pair.split(":") for pair in listed.split())
        for value, message in KINDS[kind]
    ),
    *((name, fields, message) for name, rows in MORE.items() for fields, message in rows),
]


def first_line(name: str) -> int:
    return 1 + bool(FORMATS[name].header)


@pytest.mark.parametrize(("name", "fields", "message"), WRONG)
def test_a_value_that_breaks_its_rule_is_refused(
    tmp_path: Path, name: str, fields: dict[str, object], message: str
) -> None:
    form = FORMATS[name]
    path = tmp_path / "log"
    path.write_text(form.log(form.line(1, GOOD, **fields)))
    with pytest.raises(ValueError, match=re.escape(f"{path}: line {first_line(name)}: {message}")):
        form.read(path)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "gavel"])
def test_columns_are_there_once_and_in_every_row(tmp_path: Path, name: str) -> None:
    form, path = FORMATS[name], tmp_path / "log"
    row, count = form.line(1, GOOD), len(form.base)
    for wrong in (row.rpartition(form.sign)[0], f"{row}{form.sign}1"):
        path.write_text(form.log(row, "", wrong))
        rule = f"line 4: {wrong.count(form.sign) + 1} fields, not the {count} of the header"
        with pytest.raises(ValueError, match=re.escape(f"{path}: {rule}")):
            form.read(path)
    for column in (pair.partition(":")[2] for pair in COLUMNS[name].split()):
        other = form.header.replace(column, "xyz", 1)
        for header, times in ((other, 0), (f"{form.header}{form.sign}{column}", 2)):
            path.write_text(f"{header}\n{row}\n")
            rule = f"line 1: column {column!r} occurs {times} times, not once"
            with pytest.raises(ValueError, match=re.escape(f"{path}: {rule}")):
                form.read(path)


SKIPPED: dict[str, list[tuple[dict[str, Any], str]]] = ROWS["skipped"]


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [(name, fields, reason) for name, rows in SKIPPED.items() for fields, reason in rows],
)
def test_a_row_without_a_usable_job_is_counted_by_its_reason(
    tmp_path: Path, name: str, fields: dict[str, object], reason: str
) -> None:
    form, place = FORMATS[name], f"line {first_line(name)}"
    path = tmp_path / "log"
    path.write_text(form.log(form.line(1, GOOD, **fields), form.line(2, GOOD)))
    trace = form.read(path)
    assert [job.id for job in trace.jobs] == [f"{form.prefix}2"]
    assert (trace.report.read, dict(trace.report.skipped)) == (2, {reason: 1})
    assert trace.report.places == {reason: (place,)}
    tally = [note for note in trace.report.notes if " of the jobs: " in note]
    assert all(note.endswith(": 1") for note in tally)  # the job alone
