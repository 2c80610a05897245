"""What the charts of reports are drawn from, and the library that draws them."""

import base64
import json
import re
import zlib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangsched.analysis.comparing.comparison import compare
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.analysis.show import chart_data, gantt_data, page
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.instances.generate import rar_workload
from gangsched.solvers import Fifo, Srtf, first_fit
from web_page import EVIL

SHOW = Path(page.__file__).parent
USERS = [User("alice"), User("bob")]
JOBS = [
    Job(id=f"j{i}", gpus=1 + 2 * (i % 4), user=USERS[i % 2].id, release=90 * i, work=400 + 70 * i)
    for i in range(24)
]
INSTANCE = Instance(Cluster.of_sizes([8, 8]), JOBS, USERS)


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {"fifo": drive(INSTANCE, Fifo()), "srtf": drive(INSTANCE, Srtf())}


def unpacked(text: str) -> Any:
    data = json.loads(text)
    if set(data) != {"packed"}:
        return data
    return json.loads(zlib.decompress(base64.b64decode(data["packed"])))


# --- the library ---------------------------------------------------------------------------------


def test_the_library_is_what_its_page_says() -> None:
    known = sha256((SHOW / "vendor/echarts.min.js").read_bytes()).hexdigest()
    said = (SHOW / "vendor/README.md").read_text("utf-8")
    assert re.findall(r"SHA-256: `([0-9a-f]{64})`", said) == [known]
    text = (SHOW / "vendor/echarts.min.js").read_text("utf-8")
    assert "</script" not in text
    assert "Apache License 2.0" in text
    assert len(text) < 1 << 20


def test_the_script_makes_no_element_of_text() -> None:
    script = (SHOW / "templates/report.js").read_text("utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)
    assert "</script" not in script


# --- data within a page --------------------------------------------------------------------------


def test_names_are_harmless_in_data() -> None:
    line = chr(0x2028)
    for names in ([EVIL, "</script>", line], [EVIL + line] * 2_000):
        text = str(page.embedded({"names": names}))
        assert not set("<>&" + line) & set(text)
        assert unpacked(text) == {"names": names}
    assert "packed" in json.loads(str(page.embedded({"names": [EVIL] * 2_000})))
    with pytest.raises(TypeError, match="page: a value of type Run is no data"):
        page.embedded({"run": drive(INSTANCE, Fifo())})


# --- who ran where and when ----------------------------------------------------------------------


def test_bars_are_the_schedule_and_no_two_overlap(runs: dict[str, Run]) -> None:
    data = gantt_data.of_runs(runs)
    assert [row[1] for row in data["rows"]] == [8, 8]
    for view, run in zip(data["views"], runs.values(), strict=True):
        bars = view["bars"]
        columns = [bars[name] for name in ("job", "row", "first", "count", "start", "end")]
        busy = np.zeros((2, 8, run.now + 1), dtype=int)
        held = dict.fromkeys(range(len(JOBS)), 0)
        for job, row, first, count, start, end in zip(*columns, strict=True):
            assert 0 <= first < first + count <= 8
            busy[row, first : first + count, start:end] += 1
            held[job] += count * (end - start)
        assert busy.max() == 1
        assert list(held.values()) == run.records.held.tolist()
        waits = run.records.end - run.records.release - metrics.ideal_time(run)
        assert [*map(float, view["wait"])] == waits.tolist()
        assert set(view["why"]) == set(np.flatnonzero(view["wait"]).tolist())


def test_many_bars_are_put_together(runs: dict[str, Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gantt_data, "MOST_BARS", 20)
    data = gantt_data.of_runs(runs)
    assert "too many to tell apart" in data["note"]
    assert "jobs" not in data
    for view, run in zip(data["views"], runs.values(), strict=True):
        cells, long = view["cells"], data["end"] / data["bins"]
        total = sum(held / 1000 * 8 * long for held in cells["held"])
        assert total == pytest.approx(run.records.held.sum(), rel=0.02)
        assert max(cells["row"]) == 1


def test_schedules_of_solvers_have_their_headline() -> None:
    problem = RarDdls(rar_workload(Cluster.uniform(nodes=2, gpus_per_node=4), jobs=6, seed=1))
    (row,) = compare(problem, {"first-fit": first_fit}).rows
    assert row.result is not None
    plan = row.result.solution
    data = gantt_data.of_schedules({"first-fit": plan}, problem, ["Makespan"])
    (view,) = data["views"]
    assert view["title"] == "Makespan"
    assert data["unit"] == "slots"
    assert max(view["bars"]["end"]) == plan.end.max() == data["end"]


# --- shares and distributions --------------------------------------------------------------------


def test_shares_add_up_to_what_was_held(runs: dict[str, Run]) -> None:
    data = chart_data.shares(runs)
    assert sorted(data["users"]) == ["alice", "bob"]
    long = np.diff(data["times"])
    for row, run in zip(data["runs"], runs.values(), strict=True):
        held = (np.array(row["held"]) / 1000 * long * run.gpus).sum(axis=1)
        own = np.array([held[data["users"].index(name)] for name in run.users])
        wanted = metrics.user_attained_time(run, [run.now])[:, 0]
        assert own == pytest.approx(wanted, rel=0.02)


def test_a_run_that_was_stopped_wants_nothing_after(runs: dict[str, Run]) -> None:
    stopped = drive(INSTANCE, Fifo(), until=600)
    data = chart_data.shares({"stopped": stopped, **runs})
    wanted, later = np.array(data["runs"][0]["wanted"]), np.array(data["times"]) >= stopped.now
    assert wanted[later[:-1]].sum() == 0 < wanted.sum()


def test_a_distribution_reaches_all_complete_jobs(runs: dict[str, Run]) -> None:
    views = chart_data.distributions(runs)["views"]
    assert [view["name"] for view in views] == ["completion time", "wait", "slowdown"]
    for view in views:
        for one in view["series"]:
            assert one["y"][-1] == 1
            assert one["x"] == sorted(one["x"])
            assert min(one["x"]) >= 1
    times = np.sort(metrics.completion_time(runs["fifo"]))
    assert views[0]["series"][0]["x"] == times.tolist()
