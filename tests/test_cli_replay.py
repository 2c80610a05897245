"""`gangsched replay`: tables, files, policies of others, bad traces."""

import json
import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from gangsched import Cluster, Instance, Node, drive
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.run_io import load_run
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.columns import UNITS
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.formulations.sharing_incentive import SharingIncentive
from gangsched.instances.deadlines import testbed_workload
from gangsched.instances.heterogeneous import family_of, with_speeds
from gangsched.instances.io import instance_hash, save
from gangsched.registry import policy as policy_of
from gangsched.solvers import Bound, Fifo, Srtf
from malformed import table as given
from replay_commands import (
    CLUSTER,
    LOG,
    MIXED,
    POLICIES,
    ROWS,
    TRACE,
    TWO,
    Replay,
    expected,
    lines,
    table,
)
from web_page import Page


def test_the_json_file_has_what_driving_and_measuring_give(replay: Replay) -> None:
    code, out, err = replay(*TRACE, *TWO, "--json", "r.json", "--lease", 600, "--overhead", 30)
    assert (code, err) == (0, "")
    assert out.endswith("written: replay.html, r.json\n")
    data = json.loads(Path("r.json").read_text())
    assert (data["format"], data["kind"], data["version"]) == ("gangsched", "replay", 1)
    rules = data["rules"]
    assert (rules["round_length"], rules["lease"], rules["overhead"]) == (60, 600, 30)
    instance = expected()
    for row, policy in zip(data["rows"], (Fifo(), Srtf()), strict=True):
        run = drive(instance, policy, lease=600, overhead=30)
        assert row["digest"] == run.digest()
        assert row["measures"] == metrics.summary(run)
        flow = Fraction(int((run.records.end - run.records.release).sum()))
        assert row["ratios"]["flow"] == float(flow / Fraction(data["bounds"]["flow"]["value"]))
    assert len(data["fairness"]) == 2  # over lives, and at the peak of the only day


def test_gpu_models_speeds_and_what_a_move_costs_reach_the_driver(replay: Replay) -> None:
    names = ("gandiva-fair", "gandiva-fair:no-trade", "max-min-fairness", "ltgf")
    asked = ",".join(names).replace("-fairness", "")
    code, out, err = replay(
        *LOG, *MIXED, "--speeds", "table1", "--seed", 3, "--migration", 5, "--overhead", 0,
        "--policies", asked, "--json", "r.json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "log.csv: 7 jobs on 3 nodes, 12 GPUs" in out
    data = json.loads(Path("r.json").read_text())
    assert (data["rules"]["overhead"], data["rules"]["migration"]) == (0, 5)
    cluster = Cluster([Node("n0", 4, "v100"), Node("n1", 4, "k80"), Node("n2", 4, "k80")])
    instance = with_speeds(replace(expected(), cluster=cluster), seed=3)
    load = sum(
        job.gpus * job.work / (job.speeds["v100"] + 2) * 3 for job in instance.jobs if job.work
    ) / (12 * instance.jobs[-1].release)
    drawn = ", ".join(f"{user} {family_of(user, seed=3)}" for user in "abc")
    text = " ".join(out.split())
    assert f"speeds of table1, a family for each user, drawn with seed 3: {drawn}; the" in text
    assert f"the load is {load:.2f} of the GPUs' time" in text
    assert (data["bounds"] == {}) == ("so no ratio is certified" in text)
    assert [row["name"] for row in data["rows"]] == list(names)
    for row, name in zip(data["rows"], names, strict=True):
        run = drive(instance, policy_of(name)[1], overhead=0, migration=5)
        assert row["digest"] == run.digest()


def test_gangs_that_exceed_every_model_are_rejected(replay: Replay) -> None:
    code, out, _ = replay(*LOG, "--nodes", "v100:1x4,k80:1x6", *TWO)
    assert code == 0
    assert "gpus=8 exceeds the cluster's 6 of any one model" in out


def test_every_bound_in_the_json_file_can_be_verified(replay: Replay) -> None:
    replay(*TRACE, *TWO, "--json", "r.json")
    bounds = json.loads(Path("r.json").read_text())["bounds"]
    assert set(bounds) == {"flow", "completion", "slowdown", "makespan"}
    measures: tuple[Any, ...] = tuple(bounds)
    for measure in measures:
        verify_bound(CompletionTime(expected(), measure), Bound(**bounds[measure]))


def test_the_tables_show_each_policy_and_any_policy(replay: Replay) -> None:
    code, out, err = replay(*TRACE, *TWO, "--all")
    assert (code, err) == (0, "")
    text = out.splitlines()
    assert text[0] == "log.csv: 7 jobs on 2 nodes, 8 GPUs"
    assert text[1].startswith("srtf has the shortest mean completion, ")
    assert [line for line in text if line.startswith("- ")][:3] == [
        "- 7 rows read, 7 jobs",
        "- log: 7 of the 7 jobs, 0 rejected",
        "- 3 users, weight by requested GPUs: a 17, b 12, c 2",
    ]
    run = drive(expected(), Fifo())
    times, fair = table(out, "certified"), table(out, "least rho")
    assert list(fair) == ["fifo", "srtf", "any policy"]
    assert list(times) == ["fifo", "srtf", "best known", "any policy"]
    wait = (run.records.end - run.records.release).mean()
    assert times["fifo"][0] == f"{wait / 60:.1f} min"  # as the bound, of less than an hour
    assert fair["fifo"][3] == f"{run.records.end.max() / 3_600:.2f} h"
    # 97,130 GPU seconds on 8 GPUs, but the last job comes at 7,490 and takes 400 s
    assert float(times["fifo"][1]) > float(times["srtf"][1]) >= 1
    # nobody can be complete sooner than its run time, nor on average
    work = sum(s for _, s, _, _ in ROWS) / len(ROWS)
    assert times["any policy"][0].startswith("≥ ")
    assert float(times["any policy"][0].split()[1]) * 60 >= work - 30
    assert fair["fifo"][0] == f"{np.nanmin(metrics.user_rho(run)):.3f}"
    assert fair["fifo"][5] == "0"  # preemptions
    assert fair["any policy"][0] == "≤ 1.000"
    alone = table(out, "as alone")
    assert list(alone) == ["fifo", "srtf", "any policy"]
    for k, least in enumerate(alone["any policy"]):
        assert 0 <= float(least.removeprefix("≥ ")) <= float(alone["srtf"][k])
    own = SharingIncentive(expected())
    worst = own.ratios(own.flows_of(run.records.end.tolist()))
    assert alone["fifo"][0] == f"{float(max(worst.values())):.3f}"
    assert alone["fifo"][4].startswith(f"{sum(ratio > 1 for ratio in worst.values())}: ")


def test_no_bound_on_the_screen_is_more_than_is_proven(replay: Replay) -> None:
    for count in (4, 5, 6, 7):
        _, out, _ = replay(*TRACE, *TWO, "--first", count, "--all", "--json", "r.json")
        bounds = json.loads(Path("r.json").read_text())["bounds"]
        flow, slowdown = table(out, "certified")["any policy"]
        makespan = table(out, "least rho")["any policy"][-1]
        for text, name, number in ((flow, "flow", count), (makespan, "makespan", 1)):
            least, unit = text.removeprefix("≥ ").split()
            proven = Fraction(bounds[name]["value"], number)
            assert 0 <= proven - Fraction(least) * UNITS[unit] < proven / 100
        assert 0 <= bounds["slowdown"]["value"] / count - float(slowdown.split()[1]) < 0.01


def test_a_single_user_has_no_fair_share(drawn: Replay) -> None:
    Path("log.csv").write_text("\n".join(lines([(*row[:3], "a") for row in ROWS])) + "\n")
    _, out, _ = drawn(*TRACE, *TWO, "--all", "--report", "night.html")
    assert table(out, "least rho")["fifo"][:2] == ["-", "-"]
    assert "least rho of users: one user, or none, shares with nobody\n" in out
    assert "user-days:" not in out  # there is no such number
    assert "\nrho: GPU time" in out  # which jobs have
    page = Path("night.html").read_text()
    assert "Fairness to users over time" not in page
    assert "Users get less" not in page


def test_the_report_has_the_pictures_and_says_the_same(drawn: Replay) -> None:
    drawn(*TRACE, *TWO, "--report", "night.html")
    page = Path("night.html").read_text()
    assert "2 policies ran 7 jobs of 3 users on 2 nodes with 8 GPUs." in page
    for heading in ("How far from the best", "How fair anyone", "Fairness to users over time"):
        assert heading in page
    assert page.count("<svg") >= 3


def test_the_same_command_gives_the_same_bytes(replay: Replay) -> None:
    replay(*TRACE, "--policies", "fifo", "--json", "r.json")
    before = json.loads(Path("r.json").read_text())
    replay(*TRACE, "--policies", "fifo", "--json", "r.json")
    after = json.loads(Path("r.json").read_text())
    for data in (before, after):
        for row in data["rows"]:
            del row["timing"]
    assert before == after


def hours(*names: str) -> tuple[str, ...]:
    return (*TRACE, "--policies", "fifo", "--json", "r.json", *names)


@pytest.mark.parametrize(
    ("args", "jobs"),
    given("replay_options")["a_part_of_a_trace"],
)
def test_a_part_of_a_trace(replay: Replay, args: tuple[str, ...], jobs: list[str]) -> None:
    runs = ("--save-runs", "runs")
    assert replay(*hours(*args), *runs)[0] == 0
    (folder,) = (path for path in Path("runs").iterdir() if path.is_dir())
    assert list(load_run(folder).records.id) == jobs


@pytest.mark.parametrize(
    ("args", "stay"),
    given("replay_options")["what_is_left_out_might_as_well_not_be_in_the_file"],
)
def test_what_is_left_out_might_as_well_not_be_in_the_file(
    replay: Replay, args: tuple[str, ...], stay: list[int]
) -> None:
    Path("less").mkdir()
    Path("less/log.csv").write_text("\n".join(lines([ROWS[i] for i in stay])) + "\n")
    found = []
    rest = args[-2:] * args[-2].startswith(("--from", "--weights"))
    for log, more in (("log.csv", args), ("less/log.csv", rest)):
        code, out, err = replay(log, *TRACE[1:], "--policies", "fifo", "--json", "r.json", *more)
        assert (code, err) == (0, "")
        data = json.loads(Path("r.json").read_text())
        data["rows"][0].pop("timing")
        notes = data.pop("source")["notes"]
        first = next(line for line in out.splitlines() if line.startswith("- "))
        found.append((data, notes[1:], first))
    (full, notes, read), (less, fewer, _) = found
    assert full == less
    assert notes == fewer
    gone = len(ROWS) - len(stay)
    assert read.startswith(f"- 7 rows read, {7 - gone} jobs, {gone} skipped (left out, ")


@pytest.mark.parametrize(
    ("args", "gone"),
    given("replay_options")["jobs_that_options_leave_out_are_counted_in_the_settings"],
)
def test_jobs_that_options_leave_out_are_counted_in_the_settings(
    replay: Replay, args: tuple[str, ...], gone: str
) -> None:
    code, out, _ = replay(*TRACE, "--policies", "fifo", *args)
    assert code == 0
    assert f"; excluded: {gone}; " in out
    assert f"; excluded: {gone}; " in Path("replay.html").read_text()


@pytest.mark.parametrize(
    ("args", "weights"),
    given("replay_options")["weights_of_the_users"],
)
def test_weights_of_the_users(replay: Replay, args: tuple[str, ...], weights: list[float]) -> None:
    Path("sizes.csv").write_text("vc,num\na,3\nb,1\nc,1\nd,2\n")
    assert replay(*hours(*args), "--save-runs", "runs")[0] == 0
    (folder,) = (path for path in Path("runs").iterdir() if path.is_dir())
    assert load_run(folder).user_weight.tolist() == weights


def test_a_reader_gets_its_options(replay: Replay) -> None:
    Path("sizes.csv").write_text("vc,num\na,3\nb,1\n")
    rows = ["job_id,vc,gpu_num,state,submit_time,duration"]
    rows += [f"{i},{vc},1,COMPLETED,2020-08-25 10:0{i}:00,60" for i, vc in enumerate("abc")]
    Path("helios.csv").write_text("\n".join(rows) + "\n")
    code, out, _ = replay(
        "helios.csv", "--reader", "helios", "--reader-option", "sizes=sizes.csv", *CLUSTER,
        "--policies", "fifo",
    )  # fmt: skip
    assert code == 0
    assert "2 users, weight as given: a 24, b 8" in out
    assert "[line 4]" in out  # c has no size: its job is counted with its row
    step = ["ResNet-18 (batch size 32)", "python3 main.py", "--num_steps", "1", "6600", "0.0", "2"]
    Path("a.trace").write_text("\t".join(step) + "\n")
    Path("speeds.csv").write_text("job_type,steps_per_second\nResNet-18 (batch size 32),66\n")
    done = replay(
        "a.trace", "--reader", "gavel", "--reader-option", "steps-per-second=speeds.csv", *CLUSTER,
        "--policies", "fifo",
    )  # fmt: skip
    assert done[0] == 0
    assert "1 rows read, 1 jobs" in done[1]


def test_the_cluster_of_an_instance_file(replay: Replay) -> None:
    save("cluster.json", Instance(Cluster.of_sizes([8, 2]), []))
    code, out, _ = replay(
        "log.csv", "--reader", "philly-csv", "--cluster", "cluster.json", "--policies", "fifo"
    )
    assert code == 0
    assert out.startswith("log.csv: 7 jobs on 2 nodes, 10 GPUs\n")


def test_jobs_that_cannot_run_are_listed_and_counted(replay: Replay) -> None:
    rows = [(f"0{i}:00:00", 60, 9 + i, "a") for i in range(7)] + [("08:00:00", 60, 1, "a")]
    rows += [("08:01:00", 60, 5, "a")]  # no consolidated place: nodes of 4, 3 and 1
    Path("wide.csv").write_text("\n".join(lines(rows)) + "\n")
    save("cluster.json", Instance(Cluster.of_sizes([4, 3, 1]), []))
    wide = ("wide.csv", "--reader", "philly-csv", "--cluster", "cluster.json", "--policies", "fifo")
    code, out, _ = replay(*wide, "--json", "r.json")
    assert code == 0
    assert "2 of the 9 jobs, 7 rejected" in out
    assert "- job 'row1': gpus=9 exceeds the cluster's 8\n" in out
    data = json.loads(Path("r.json").read_text())
    left_out = [*data["source"]["rejected"], *data["rejected"]]
    assert [job for job, _ in left_out][:7] == [f"row{i}" for i in range(1, 8)]
    more = len(left_out) - 5
    assert f"... and {more} more rejected jobs\n" in out
    assert "7 rejected" in Path("replay.html").read_text()


# --- bad input -----------------------------------------------------------------------------------


def test_a_row_without_a_usable_job_is_counted_with_its_place(replay: Replay) -> None:
    rows = ["2017-10-07 05:00:00,0,1,a", "2017-10-07 00:10:00,60,1,a"]
    Path("bad.csv").write_text("\n".join([*lines(ROWS), *rows]) + "\n")
    code, out, err = replay("bad.csv", *TRACE[1:], "--policies", "fifo", "--json", "r.json")
    assert (code, err) == (0, "")
    message = "8 jobs, 1 skipped (zero duration: 1 [line 9]); out of order: 1 [line 10], sorted"
    assert message in out
    assert message in json.loads(Path("r.json").read_text())["source"]["notes"][0]
    assert message in Path("replay.html").read_text()


def test_no_more_policies_than_can_be_told_apart(replay: Replay) -> None:
    names = [f"Widest{i}" for i in range(40)]
    Path("theirs.py").write_text(POLICIES + "".join(f"\n{name} = Widest" for name in names))
    code, _, err = replay(*TRACE, "--policies", ",".join(f"theirs.py:{name}" for name in names))
    assert code == 2
    assert "--policies: 40 policies, at most " in err


# --- policies of others --------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["theirs.py", "./theirs.py", "theirs"])
def test_a_policy_of_somebody_else(
    replay: Replay, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    code, out, err = replay(*TRACE, "--policies", f"fifo,{place}:Widest", "--json", "r.json")
    assert (code, err) == (0, "")
    assert list(table(out, "certified")) == ["fifo", f"{place}:Widest", "best known", "any policy"]
    rows = json.loads(Path("r.json").read_text())["rows"]
    assert [row["policy"] for row in rows] == ["fifo", "widest"]
    # the gang of 8 that comes first holds everything until 7,000; then 4 + 2 + 1, the widest first
    assert rows[1]["measures"]["finished"] == 7


@pytest.mark.parametrize(
    ("policy", "reason"),
    given("replay_options")["a_policy_that_goes_wrong_fails_alone"],
)
def test_a_policy_that_goes_wrong_fails_alone(replay: Replay, policy: str, reason: str) -> None:
    name = f"theirs.py:{policy}"
    code, out, err = replay(*TRACE, "--policies", f"fifo,{name},srtf", "--json", "r.json")
    assert (code, err) == (1, "")
    assert list(table(out, "certified")) == ["fifo", "srtf", name, "best known", "any policy"]
    assert table(out, "certified")[name] == ["failed"]
    assert f"{name} failed: " in out
    assert reason in out
    data = json.loads(Path("r.json").read_text())
    assert [row["name"] for row in data["rows"]] == ["fifo", "srtf"]
    assert [row["name"] for row in data["failed"]] == [name]
    assert f"{name} failed: " in Path("replay.html").read_text()


def test_a_printed_policy_that_does_not_end_is_refuted_in_a_line(replay: Replay) -> None:
    """Line 17 takes the only user out of the round for b, though c would fit beside a."""
    rows = [("01:00:00", 60, gang, "u") for gang in (1, 2, 1)]
    Path("three.csv").write_text("\n".join(lines(rows)) + "\n")
    node = ("--reader", "philly-csv", "--nodes", 1, "--gpus-per-node", 2)
    code, out, err = replay("three.csv", *node, "--policies", "fifo,ltgf:printed")
    assert (code, err) == (0, "")  # it did what is printed: no failure
    said = "ltgf:printed is refuted: policy 'printed-ltgf' at 0: NeverEnds: line 4 still finds job"
    assert said in " ".join(out.split())
    assert table(out, "certified")["ltgf:printed"] == ["refuted"]
    assert "Traceback" not in out
    code, out, err = replay("three.csv", *node, "--policies", "ltgf:printed")
    assert (code, err) == (0, "")
    assert said in " ".join(out.split())


def test_where_in_its_file_a_policy_failed_is_said(replay: Replay) -> None:
    place = next(i for i, line in enumerate(POLICIES.splitlines(), 1) if "raise KeyError" in line)
    _, out, _ = replay(*TRACE, "--policies", "theirs.py:Raises")
    assert f"KeyError: 'two\\nlines' (theirs.py, line {place})" in out


def test_a_job_that_one_policy_cannot_run_is_rejected_in_its_name(replay: Replay) -> None:
    _, out, _ = replay(*TRACE, "--policies", "fifo,yarn-cs", "--weights", "equal", "--first", 3)
    assert "exceeds user 'a''s quota of 4 (yarn-cs)\n" in out
    assert "- 1 of these jobs rejected for all: a policy cannot run them\n" in out
    _, out, _ = replay(*TRACE, "--policies", "yarn-cs", "--weights", "equal", "--first", 3)
    assert "exceeds user 'a''s quota of 4\n" in out


def test_without_a_run_there_is_no_report(replay: Replay) -> None:
    code, out, err = replay(*TRACE, "--policies", "theirs.py:Raises", "--json", "r.json")
    assert (code, err) == (1, "")
    assert "theirs.py:Raises failed: " in out
    assert out.endswith("written: r.json\n")
    assert not Path("replay.html").exists()


# --- what words mean -----------------------------------------------------------------------------


def below(out: str) -> list[str]:
    """The lines below the last table, without the files that were written."""
    lines = out.rpartition("\n\n")[2].splitlines()
    return [line for line in lines if not line.startswith(("written", "- "))]


def test_only_what_matters_is_explained_unless_asked(replay: Replay) -> None:
    for nodes in (2, 9):  # on nine, nobody is in another's way
        args = (*LOG, "--nodes", nodes, "--gpus-per-node", 4, *TWO, "--json", "r.json")
        short, full = (below(replay(*args, "--all", *more)[1]) for more in ((), ("--explain",)))
        peaks = [one["value"] for one in json.loads(Path("r.json").read_text())["fairness"][1:]]
        words = [line.partition(":")[0].partition(" (")[0] for line in short]
        peak = "How fair anyone could have been at a peak"
        last = ["Information", *[peak] * (nodes == 2)]
        alike = ["any policy of least rho", "any policy of the sharing ratio"]
        assert words == ["any policy", "best known", "rho", "user-days", *alike, *last]
        assert {*short} < {*full}
        assert [line.startswith(peak) for line in full].count(True) == bool(peaks)
        heads = ("mean completion (s, less is better)", "certified ratio (less is better)")
        for heading in (
            *heads,
            "least rho of users (more is better)",
            "preemptions",
            "runtime (s)",
        ):
            assert [line for line in full if line.startswith(f"{heading}: ")], heading
        assert not any("deadline" in line for line in full)


def test_deadlines_are_explained_where_there_are_some(replay: Replay) -> None:
    given = (*SMALL, "--policies", "fifo", "--seed", 3, "--all")
    short, full = (below(replay(*given, *more)[1]) for more in ((), ("--explain",)))
    words = [line.partition(":")[0].partition(" (")[0] for line in short]
    first = ["any policy that keeps gangs", "best known", "best known reward"]
    alike = ["any policy of least rho", "any policy of the sharing ratio"]
    assert words == [*first, "weighted miss rate", "rho", "user-days", *alike, "Information"]
    assert "reward (more is better): won by completions before deadlines" in full
    (settings,) = {line for line in {*short} & {*full} if line.startswith("Information")}
    assert settings == (
        "Information: all policies: do not use run times; seeds: 3 of the jobs; excluded: no job; "
        "parameters: 2 nodes, 8 GPUs, rounds of 60 s, leases of 900 s that end together, 25 s to "
        "resume, patience 7,200 s; certificate: certified ratios in the tables, of reward and mean "
        "completion, and rows of what any policy could reach."
    )
    assert settings in Page(Path("replay.html").read_text("utf-8")).text
    few = (*SMALL[:3], "--nodes", 1, "--gpus-per-node", 2, "--policies", "fifo", "--seed", 3)
    wide = sum(job.gpus > 2 for job in testbed_workload(40, seed=3).jobs)
    assert wide > 1
    assert f"; excluded: {wide} jobs; " in replay(*few)[1]


def test_the_hash_of_the_instance_stands_wherever_results_do(replay: Replay) -> None:
    """On the screen its beginning, as in names of saved instances; in files as a whole."""
    _, out, _ = replay(*TRACE, *TWO, "--json", "r.json", "--save-runs", "runs")
    own = instance_hash(expected())
    assert f"\n- hash of the instance: {own[:16]}\n" in out
    assert json.loads(Path("r.json").read_text())["instance_hash"] == own
    assert own in Path("replay.html").read_text()
    assert Path(f"runs/instance-{own[:16]}.json.gz").exists()


# --- deadlines -----------------------------------------------------------------------------------

SMALL = ("T40", "--reader", "scenario", "--nodes", 2, "--gpus-per-node", 4)


def test_deadlines_have_a_table(replay: Replay) -> None:
    code, out, _ = replay(*SMALL, *TWO, "--json", "out.json", "--seed", 3, "--all")
    assert code == 0
    instance = Instance(
        Cluster.uniform(nodes=2, gpus_per_node=4), testbed_workload(40, seed=3).jobs
    )
    data = json.loads(Path("out.json").read_text())
    bound = data["bounds"]["reward"]
    able = [job for job in instance.jobs if job.gpus <= 8]
    problem = DeadlineRewards(Instance(instance.cluster, able))
    verify_bound(problem, Bound(bound["value"], bound["method"], bound["certificate"]))
    for name, policy in (("fifo", Fifo()), ("srtf", Srtf())):
        reject = [j for j, job in enumerate(instance.jobs) if job.gpus > 8]
        run = drive(instance, policy, reject=reject)
        won = metrics.deadline_summary(run)
        row = next(line.split() for line in out.splitlines() if line.startswith(name))
        assert row[1] == f"{won['weighted_miss']:.1%}"
        assert row[2] == f"{won['reward']:,.10g}"
        exact = Fraction(bound["value"]) / Fraction(won["reward"])
        assert float(row[3]) - Fraction(1, 10**4) < exact <= Fraction(row[3])
    assert f"≤ {bound['value']:,.10g}" in out
    assert "Gao et al. 2024" in out
    assert "weighted miss rate" in Path("replay.html").read_text()
    assert "Certified ratio of reward" in Path("replay.html").read_text()
    assert "Information: know what they use of run times when jobs come: srtf; do not use" in out


def test_no_number_is_cut_on_a_narrow_screen(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = (*SMALL, "--policies", "fifo,finish-time-fairness", "--seed", 3, "--all")
    wide = replay(*args)[1]
    screen = Console(width=60, force_terminal=True, color_system=None, highlight=False)
    monkeypatch.setattr("gangsched.cli.replay.screen.open_console", lambda *_: screen)
    code, narrow, _ = replay(*args)
    assert code == 0
    assert max(map(len, narrow.splitlines())) <= 60
    assert "…" not in narrow
    pattern = r" (?:\S+%|\d\.\d{3,4}|\S+ (?:h|min)) "
    texts = (out[out.index("\npolicy") :] for out in (wide, narrow))
    numbers = [set(re.findall(pattern, out)) for out in texts]
    assert len(numbers[0]) > 20
    assert numbers[0] <= numbers[1]


def test_deadlines_say_who_profiles_and_who_changes_gangs(replay: Replay) -> None:
    names = "fifo,chronus,optimus:elastic"
    args = ("--json", "out.json", "--seed", 3, "--all")
    code, out, _ = replay(*SMALL, "--policies", names, *args)
    assert code == 0
    told = "Information: know what they use of run times when jobs come: optimus:elastic"
    assert f"{told}; profile new jobs first, and pay for it: chronus; do not use" in out
    assert "\nany policy that keeps gangs: verified bounds" in out
    assert "\n* ran jobs on other numbers of GPUs than their gangs." in out
    assert "suspensions per" in out
    assert "per SLO job" in out
    report = Page(Path("replay.html").read_text("utf-8")).text
    assert "run times unknown after profiling known" in report
    data = json.loads(Path("out.json").read_text())
    won = {one["name"]: one["deadlines"]["reward"] for one in data["rows"]}
    best = [name for name in won if won[name] == max(won.values())]
    most = data["bounds"]["elastic reward" if "optimus:elastic" in best else "reward"]["value"]
    said = f"Most reward: {', '.join(best)}, {max(won.values()):,.10g} of at most {most:,.10g}."
    assert said in report
    assert report.index("Most reward") < report.index("has the shortest mean")
    assert "do not follow the lease" in report


def test_a_trace_without_deadlines_has_no_such_table(replay: Replay) -> None:
    code, out, _ = replay(*TRACE, "--policies", "fifo")
    assert code == 0
    assert "deadline" not in out
    report = Page(Path("replay.html").read_text("utf-8")).text
    assert not re.search("Most reward|profil|do not follow the lease|that keeps gangs", report)


def test_a_scenario_brings_its_cluster(replay: Replay) -> None:
    assert (
        "T[9]: 9 jobs on 16 nodes, 64 GPUs"
        in replay("T[9]", "--reader", "scenario", "--policies", "fifo")[1]
    )
    family = ("--reader", "scenario", "--policies", "fifo", "--reader-option", "jobs=30")
    for name in ("H_SLO", "p_mix1"):
        _, out, _ = replay(name, *family, "--first", 4)
        assert f"{name}: 4 jobs on 120 nodes, 960 GPUs" in out


@pytest.mark.parametrize(
    ("args", "message"),
    given("replay_options")["a_scenario_that_cannot_be_is_told"],
)
def test_a_scenario_that_cannot_be_is_told(
    replay: Replay, args: tuple[str, ...], message: str
) -> None:
    code, _, err = replay(*args, "--reader", "scenario", "--policies", "fifo")
    assert code == 2
    assert message in " ".join(err.split())
