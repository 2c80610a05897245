"""What a column means follows from its values too; and what two readings explain is asked."""

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from few import each_seed
from gangsched.instances import Trace
from gangsched.instances.traces import read_csv
from malformed import table

T0 = "2024-03-01T08:00:00"
#: three jobs that waited 35, 0 and 600 s and ran 2,197, 1,800 and 600 s on 4, 2 and 8 GPUs
BASE: Mapping[str, Sequence[str]] = {
    "job_id": ["a", "b", "c"],
    "owner": ["ann", "ben", "ann"],
    "num_gpus": ["4", "2", "8"],
    "submit_time": [T0, "2024-03-01T08:10:00", "2024-03-01T08:20:00"],
    "start_time": ["2024-03-01T08:00:35", "2024-03-01T08:10:00", "2024-03-01T08:30:00"],
    "end_time": ["2024-03-01T08:37:12", "2024-03-01T08:40:00", "2024-03-01T08:40:00"],
}
JOBS = [("a", 4, 0, 2197), ("b", 2, 600, 1800), ("c", 8, 1200, 600)]


def read(folder: Path, table: Mapping[str, Sequence[str]], **more: str) -> Trace:
    path = folder / "log.csv"
    rows = zip(*table.values(), strict=True)
    path.write_text("\n".join([";".join(table), *(";".join(row) for row in rows)]) + "\n")
    return read_csv(path, **more)


def plain(trace: Trace) -> list[tuple[str, int, int, int | None]]:
    return [(job.id, job.gpus, job.release, job.work) for job in trace.jobs]


def roles(trace: Trace) -> dict[str, str]:
    note = next(note for note in trace.report.notes if note.startswith("columns: "))
    return dict(re.findall(r"(\w+)=([^,(]+?)(?: \(|,|$)", note))


def test_lines_above_the_names_are_left_aside(tmp_path: Path) -> None:
    read(tmp_path, BASE)
    path = tmp_path / "log.csv"
    for above in ("# exported by ann, 3 jobs\n\n", "Jobs of March;;;;;\n;;;;;\n", "Jobs\n"):
        (tmp_path / "above.csv").write_text(above + path.read_text())
        assert plain(read_csv(tmp_path / "above.csv")) == JOBS
    (tmp_path / "above.csv").write_text("#" + path.read_text())
    assert plain(read_csv(tmp_path / "above.csv")) == JOBS


#: columns that are added to the base, or left out where they are false, and what is read of them
TABLE = table("roles")


def changed(changes: Mapping[str, Any]) -> dict[str, Sequence[str]]:
    """The base with other columns."""
    return {name: texts for name, texts in {**BASE, **changes}.items() if texts}


@pytest.mark.parametrize(("changes", "wanted"), TABLE["read"].values(), ids=TABLE["read"])
def test_values_decide_what_names_suggest(
    tmp_path: Path, changes: Mapping[str, Any], wanted: Mapping[str, str]
) -> None:
    trace = read(tmp_path, changed(changes))
    assert plain(trace) == JOBS
    assert [row.start for row in trace.rows] == [35, 600, 1800]
    ends = [] if changes.get("end_time") is False else [2232, 2400, 2400]
    assert [row.end for row in trace.rows if row.end is not None] == ends
    assert roles(trace).items() >= wanted.items()
    assert trace.submitted


@pytest.mark.parametrize("names", ["submitTime created_at queued_at", "arrival timestamp date"])
@pytest.mark.parametrize("place", [0, 1])
def test_of_several_submissions_the_best_name_wins(tmp_path: Path, names: str, place: int) -> None:
    first, *others = names.split()
    own = {name: texts for name, texts in BASE.items() if name != "submit_time"}
    later = BASE["start_time"]
    added = {first: BASE["submit_time"], **dict.fromkeys(others, later)}
    both = {**own, **added} if place else {**added, **own}
    assert plain(read(tmp_path, both)) == JOBS


@pytest.mark.parametrize(
    ("changes", "question", "answer"), TABLE["asked"].values(), ids=TABLE["asked"]
)
def test_what_two_readings_explain_is_asked(
    tmp_path: Path, changes: Mapping[str, Any], question: str, answer: str
) -> None:
    columns = changed(changes)
    with pytest.raises(ValueError, match=re.escape(question)) as caught:
        read(tmp_path, columns)
    assert str(caught.value).startswith(f"{tmp_path / 'log.csv'}: ")
    assert "\n" not in str(caught.value)
    if answer:
        trace = read(tmp_path, columns, columns=answer)
        assert [job.id for job in trace.jobs] == ["a", "b", "c"]


def test_times_of_one_table_have_one_unit(tmp_path: Path) -> None:
    own = {"id": ["a", "b"], "GPU(s)": ["1", "2"], "queue time_min": ["1", "0"]}
    trace = read(tmp_path, {**own, "start_s": ["60", "90"], "end_s": ["70", "95"]})
    assert plain(trace) == [("a", 1, 0, 10), ("b", 2, 90, 5)]
    assert roles(trace)["wait"] == "queue time_min"


def test_pods_are_kept_and_tasks_counted(tmp_path: Path) -> None:
    own = {name: texts for name, texts in BASE.items() if name != "num_gpus"}
    pods = {"gpus_per_node": ["4", "2", "4"], "nodes": ["1", "1", "2"]}
    assert [(job.gpus, job.pod) for job in read(tmp_path, {**own, **pods}).jobs] == [
        (4, 4), (2, 2), (8, 4),
    ]  # fmt: skip
    tasks = {"gpus_per_task": ["1", "1", "2"], "ntasks": ["4", "2", "4"]}
    assert [(job.gpus, job.pod) for job in read(tmp_path, {**own, **tasks}).jobs] == [
        (4, 0), (2, 0), (8, 0),
    ]  # fmt: skip
    nodes = {**BASE, "num_nodes": ["1", "1", "2"]}  # at least a GPU a node: GPUs are those of a job
    assert [job.gpus for job in read(tmp_path, nodes).jobs] == [4, 2, 8]
    each = {**BASE, "num_nodes": ["8", "4", "16"]}
    assert [job.gpus for job in read(tmp_path, each).jobs] == [32, 8, 128]


def test_what_is_not_known_is_said(tmp_path: Path) -> None:
    own = {name: texts for name, texts in BASE.items() if name != "submit_time"}
    trace = read(tmp_path, own)
    assert not trace.submitted
    assert "jobs are submitted when they start" in trace.report.notes
    assert read(tmp_path, BASE).submitted


def test_limits_predecessors_and_eligible_times_are_kept(tmp_path: Path) -> None:
    columns = {
        **BASE,
        "dependency": ["", "afterok:a", "afterany:a:b,afterok:x"],
        "req_walltime": ["UNLIMITED", "01:00:00", "2-00:00:00"],
        "eligible_time": [T0, "2024-03-01T08:10:00", "2024-03-01T08:25:00"],
    }
    trace = read(tmp_path, columns)
    assert [job.after for job in trace.jobs] == [(), ("a",), ("a", "b")]
    assert [job.limit for job in trace.jobs] == [None, 3600, 172_800]
    assert [job.release for job in trace.jobs] == [0, 600, 1500]
    assert "released when they were eligible, later than submitted: 1" in trace.report.notes


def test_models_of_the_cluster_are_models_of_jobs(tmp_path: Path) -> None:
    columns = {**BASE, "kind": ["a100", "V100", "a100"], "gres": ["gpu:h1:4", "gpu:2", "gpu:8"]}
    path = tmp_path / "log.csv"
    read(tmp_path, columns)
    assert [job.pin for job in read_csv(path, models=["A100", "V100"]).jobs] == [
        "A100", "V100", "A100",
    ]  # fmt: skip
    assert [job.pin for job in read_csv(path, models=["A100"]).jobs] == ["", "", ""]


@pytest.mark.parametrize(("changes", "steps"), TABLE["steps"].values(), ids=TABLE["steps"])
def test_how_finely_times_were_written(
    tmp_path: Path, changes: Mapping[str, Any], steps: Mapping[str, float]
) -> None:
    assert read(tmp_path, changed(changes)).steps == pytest.approx(dict(steps))


# --- units and clocks ----------------------------------------------------------------------------


def numeric(rng: random.Random, count: int = 30) -> dict[str, list[float]]:
    """Jobs of a log whose times are numbers, of which some wait, with deadlines."""
    submit, found = 0.0, {"submit": [], "start": [], "end": [], "duration": [], "due": []}
    for _ in range(count):
        start = submit + rng.choice([0, 0, 7, 1800])
        run = rng.randrange(60, 9000)
        found["submit"].append(submit)
        found["start"].append(start)
        found["end"].append(start + run)
        found["duration"].append(float(run))
        found["due"].append(submit + rng.uniform(1.2, 4) * run)
        submit += rng.randrange(1, 4000)
    return found


def text_of(times: Mapping[str, Sequence[float]], columns: str, shift: float, scale: float) -> str:
    """A table of some columns, with all times shifted and all numbers scaled."""
    names = columns.split()
    rows = [["id", "gpus", *names]]
    for i in range(len(times["submit"])):
        row = [times[n][i] + (shift if n != "duration" else 0.0) for n in names]
        rows.append([f"j{i}", str(2 ** (i % 4)), *(f"{scale * value:.3f}" for value in row)])
    return "\n".join(",".join(row) for row in rows) + "\n"


@pytest.mark.parametrize("columns", ["submit start end", "submit duration", "submit start duration",
                                     "submit end duration", "submit duration due"])  # fmt: skip
@each_seed(range(6))
def test_shifts_and_units_of_all_times_change_nothing(
    seed: int, columns: str, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    times, found = numeric(rng), []
    due = "deadline=due" if "due" in columns else ""
    for shift, scale in [(0, 1), (1e6, 1), (1.7e9, 1), (1.7e9, 1000)]:
        path = tmp_path / f"{shift}-{scale}.csv"
        path.write_text(text_of(times, columns, shift, scale))
        trace = read_csv(path, columns=due or None)
        jobs = [(j.id, j.gpus, j.release, j.work, getattr(j, "rewards", ())) for j in trace.jobs]
        found.append((jobs, roles(trace)))
    assert found == [found[0]] * len(found)


@pytest.mark.parametrize(("unit", "scale"), [("ms", 1000), ("min", 1 / 60), ("h", 1 / 3600)])
def test_a_unit_that_is_stated_holds(tmp_path: Path, unit: str, scale: float) -> None:
    runs = [2197.0, 1800.0, 600.0]
    own = {name: texts for name, texts in BASE.items() if name != "end_time"}
    columns = {**own, "runtime": [f"{run * scale:.6f}" for run in runs]}
    trace = read(tmp_path, columns, columns=f"duration=runtime:{unit}")
    assert plain(trace) == JOBS
    with pytest.raises(ValueError, match="columns: duration='runtime:week': 'week' is not one of"):
        read(tmp_path, columns, columns="duration=runtime:week")


def test_milliseconds_beside_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"j{i},1,{1_714_550_000_000 + 60_000 * i},{90_000 + 1000 * i}" for i in range(9)]
    path.write_text("\n".join(["id,gpus,submit,duration", *rows]))
    assert [job.work for job in read_csv(path).jobs][:2] == [90, 91]
    seconds = [f"j{i},1,{1_714_550_000_000 + 60_000 * i},{900 + i}" for i in range(9)]
    path.write_text("\n".join(["id,gpus,submit,duration", *seconds]))
    assert [job.work for job in read_csv(path).jobs][:2] == [900, 901]


@pytest.mark.parametrize("how", ["", ":at", ":after"])
def test_deadlines_are_times_or_count_from_submissions(tmp_path: Path, how: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id,gpus,submit,duration,ddl\na,1,0,9,120\nb,1,1000,9,1120\nc,1,2000,9,2080\n")
    rewards = [job.rewards for job in read_csv(path, columns=f"deadline=ddl{how}").jobs]  # type: ignore[attr-defined]
    at, after = [120, 120, 80], [120, 1120, 2080]
    assert rewards == [((seconds, 100),) for seconds in (after if how == ":after" else at)]
    path.write_text("id,gpus,submit,duration,ddl\na,1,0,9,120\nb,1,1000,9,90\nc,1,2000,9,2080\n")
    if how:
        assert read_csv(path, columns=f"deadline=ddl{how}").jobs
    else:
        with pytest.raises(ValueError, match="is 'ddl' a time on the clock of the submissions, or"):
            read_csv(path, columns="deadline=ddl")


def test_columns_that_are_given_with_units_are_kept_in_long_tables(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"j{i},1,{i},{i + 60_000},{i % 7}" for i in range(2_500)]
    path.write_text("\n".join(["id,gpus,at,lasted,other", *rows]))
    trace = read_csv(path, columns="submit=at:min,duration=lasted:ms")
    assert (len(trace.jobs), trace.jobs[-1].work, trace.jobs[-1].release) == (2_500, 63, 149_940)


def test_slices_of_gpus_are_fractions(tmp_path: Path) -> None:
    table = {**BASE, "num_gpus": ["gres/gpu:a100_1g.5gb=2", "gres/gpu:mig-3g.20gb=1", "gpu:8"]}
    trace = read(tmp_path, table)
    assert [(job.id, job.gpus) for job in trace.jobs] == [("c", 8)]
    assert dict(trace.report.skipped) == {"a fraction of a GPU": 2}
