"""An audit finds what was planted, nothing where nothing is, and proves what it says."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import gangsched as gs
from called import called
from clean_logs import FIELDS, CleanLog, Row, clean_log
from few import first
from gangsched.analysis.audit import Audit
from gangsched.analysis.proofs.verify import InvalidCertificate
from gangsched.analysis.proofs.verify_audit import verify_finding
from gangsched.cli.app import app
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, Node
from gangsched.instances.io import save
from gangsched.instances.traces import LogRow, ReadReport, Trace

HOUR, DAY = 3_600, 86_400
GROUPS = 20  # of fifty clean logs each
UNTIMED = [name for name in FIELDS if name not in ("start", "end")]


def audited(log: CleanLog, folder: Path) -> Audit:
    return gs.audit(log.read(folder), log.cluster, quotas=log.quotas)


@pytest.mark.parametrize("group", first(4, range(GROUPS)))
def test_nothing_is_found_in_clean_logs(group: int, tmp_path: Path) -> None:
    for seed in range(50 * group, 50 * group + 50):
        found = audited(clean_log(seed), tmp_path)
        assert found.findings == (), seed


# --- planted contradictions ----------------------------------------------------------------------

Plant = Callable[[CleanLog], CleanLog]


def at_once(rows: Sequence[Row]) -> int:
    """The most GPUs in use, which no gang holds alone."""
    most = max(
        sum(row["gpus"] for row in rows if row["start"] <= one["start"] < row["end"])
        for one in rows
    )
    assert max(row["gpus"] for row in rows) < most
    return int(most)


def more_in_use(log: CleanLog) -> CleanLog:
    """A node less than there was where most GPUs were in use."""
    models = {node.model for node in log.cluster.nodes}
    rows = [{**row, "model": next(iter(models)), "user": "user0"} for row in log.rows]
    most = at_once(rows)
    size = log.cluster.nodes[0].gpus
    cluster = Cluster([Node("n", most - 1, next(iter(models)))])
    assert size <= most - 1
    return replace(log, rows=rows, cluster=cluster, quotas={"user0": 10**6})


def of_one_model(log: CleanLog) -> CleanLog:
    """Two models, all jobs on one of them, where the others' GPUs would do."""
    one = more_in_use(log)
    size = one.cluster.gpus
    rows = [{**row, "model": "a"} for row in one.rows]
    return replace(one, rows=rows, cluster=Cluster([Node("a", size, "a"), Node("b", 9, "b")]))


def beyond_a_quota(log: CleanLog) -> CleanLog:
    rows = [{**row, "user": "user0"} for row in log.rows]
    return replace(log, rows=rows, quotas={"user0": at_once(rows) - 1})


def wide(log: CleanLog) -> CleanLog:
    return replace(
        log.change(7, gpus=10 * log.cluster.gpus, user="big"), quotas={**log.quotas, "big": 10**6}
    )


def beyond_own_quota(log: CleanLog) -> CleanLog:
    return replace(log, quotas={**log.quotas, log.rows[7]["user"]: log.rows[7]["gpus"] - 1})


def backwards(log: CleanLog) -> CleanLog:
    row = log.rows[7]
    return replace(log.change(7, end=row["start"] - 60), fields=[*FIELDS[:6]])


def twin(log: CleanLog) -> CleanLog:
    """A row twice, with another id, without the times that would overlap."""
    rows = [*log.rows, {**log.rows[7], "id": "again"}]
    return replace(log, rows=sorted(rows, key=lambda row: row["submit"]), fields=UNTIMED)


def clock_set_back(log: CleanLog) -> CleanLog:
    """The clock goes back in the middle of the log."""
    back = log.rows[20]["submit"] - log.rows[19]["submit"] + HOUR
    rows = [
        {**row, "submit": row["submit"] - back} if i >= 20 else row
        for i, row in enumerate(log.rows)
    ]
    return replace(log, rows=rows, fields=UNTIMED)


def silent(log: CleanLog) -> CleanLog:
    """Seconds since 1970 that became 0 for one job."""
    rows = [{**row, "submit": row["submit"] + 10**9} for row in log.rows]
    rows[0]["submit"] = 7 * 10**8
    return replace(log, rows=rows, fields=UNTIMED)


def overloaded(log: CleanLog) -> CleanLog:
    """Run times in minutes that were taken for seconds."""
    rows = [{**row, "duration": 60 * row["duration"], "deadline": 10**7} for row in log.rows]
    cluster = Cluster.of_sizes([max(row["gpus"] for row in rows)])
    return replace(
        log, rows=[{**row, "model": ""} for row in rows], cluster=cluster, fields=UNTIMED
    )


def no_whole_nodes(log: CleanLog) -> CleanLog:
    nodes = [Node(f"n{i}", 4, "a") for i in range(9)]
    rows = [{**row, "model": "a", "gpus": 1} for row in log.rows]
    rows[7]["gpus"] = 6
    return replace(
        log, rows=rows, cluster=Cluster(nodes), quotas={f"user{u}": 99 for u in range(3)}
    )


def changed(**fields: Callable[[Row], Any]) -> Plant:
    """Row 7 with fields that follow from it."""
    return lambda log: log.change(7, **{n: value(log.rows[7]) for n, value in fields.items()})


PLANTED: dict[str, tuple[Plant, bool]] = {
    "more GPUs in use than there are": (more_in_use, True),
    "more GPUs of 'a' in use than there are": (of_one_model, True),
    "user 'user0' beyond the quota": (beyond_a_quota, True),
    "a gang wider than the cluster": (wide, True),
    "a gang wider than the model it needs": (changed(model=lambda row: "c"), True),
    "a gang wider than its user's quota": (beyond_own_quota, True),
    "a start before the submission": (changed(start=lambda row: row["submit"] - 5), True),
    "an end before the run time is over": (
        changed(duration=lambda row: row["duration"] + 50),
        True,
    ),
    "an end before the start": (backwards, True),
    "a deadline before the run time is over": (
        changed(deadline=lambda row: int(row["duration"]) - 4),
        True,
    ),
    "demand over capacity": (overloaded, False),
    "the same job again": (twin, False),
    "the clock falls back": (clock_set_back, False),
    "nothing is submitted for very long": (silent, False),
    "a gang wider than a node that fills no whole nodes": (no_whole_nodes, False),
    "a job of a user without a quota": (changed(user=lambda row: "stranger"), False),
    "start and end that do not go with the run time": (
        changed(duration=lambda row: row["duration"] + HOUR, deadline=lambda row: DAY),
        False,
    ),
}
#: what follows from what was planted
ALSO = {
    "an end before the start": {"an end before the run time is over"},
    "start and end that do not go with the run time": {"an end before the run time is over"},
    "a gang wider than its user's quota": {"user 'user0' beyond the quota"},
    "a gang wider than the cluster": {"a gang wider than the model it needs"},
}


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("seed", [1, 4, 11])
def test_what_was_planted_is_found(kind: str, seed: int, tmp_path: Path) -> None:
    plant, proved = PLANTED[kind]
    found = audited(plant(clean_log(seed, fields=FIELDS)), tmp_path)
    kinds = {finding.kind: finding for finding in found.findings}
    allowed = {kind, *ALSO.get(kind, ())}
    if kind == "a gang wider than its user's quota":
        allowed |= {one for one in kinds if one.endswith("beyond the quota")}
    assert kind in kinds
    assert set(kinds) <= allowed
    assert (kinds[kind].sure == "proved") == proved
    assert (kinds[kind] in found.proved) == proved
    assert kinds[kind].count >= 1
    assert kinds[kind].rows[0].startswith("line ")


@pytest.mark.parametrize("lacking", ["start", "end", "duration"])
def test_what_is_in_use_follows_from_two_of_three_times(lacking: str, tmp_path: Path) -> None:
    log = more_in_use(clean_log(4, fields=FIELDS))
    fields = [name for name in FIELDS if name not in (lacking, "deadline")]
    found = audited(replace(log, fields=fields), tmp_path)
    assert [one.kind for one in found.findings] == ["more GPUs in use than there are"]
    assert [cell for cell in found.checks["in use"].values() if not isinstance(cell, int)] == [
        "no job wants one"
    ]


def test_clean_logs_use_all_that_there_is(tmp_path: Path) -> None:
    full = 0
    for seed in range(40):
        log = clean_log(seed, fields=FIELDS)
        less = {user: quota - 1 for user, quota in log.quotas.items()}
        found = gs.audit(log.read(tmp_path), log.cluster, quotas=less)
        full += any("beyond the quota" in one.kind for one in found.findings)
    assert full >= 20


# --- proofs --------------------------------------------------------------------------------------


def forged(proof: dict[str, Any], ids: list[str]) -> list[dict[str, Any]]:
    """Proofs that claim something else."""
    made: list[dict[str, Any]] = [{**proof, "rule": "nothing"}]
    if "jobs" in proof:
        others = [id for id in ids if id not in proof["jobs"]]
        made += [
            {**proof, "jobs": []},
            {**proof, "jobs": [*proof["jobs"], proof["jobs"][0]]},
            {**proof, "jobs": [*proof["jobs"], others[0]]},
            {**proof, "jobs": [*proof["jobs"], "nobody"]},
        ]
    made += [{k: value for k, value in proof.items() if k != name} for name in proof]
    for name in ("second", "from", "to", "behind"):
        made += [{**proof, name: wrong} for wrong in (float("nan"), "0", None) if name in proof]
    if proof["rule"] == "in use":
        made += [{**proof, "second": -5}, {**proof, "second": proof["second"] + 10**7}]
        made += [{**proof, "jobs": proof["jobs"][:-1]}, {**proof, "jobs": proof["jobs"][1:]}]
        made += [{**proof, "of": "model", "name": "none"}, {**proof, "of": "user", "name": "none"}]
    if proof["rule"] == "overload":
        made += [{**proof, "behind": proof["behind"] + 1}, {**proof, "from": proof["from"] - 10**6}]
        made += [{**proof, "from": proof["to"], "behind": 0}]
    if proof["rule"] == "backwards":
        rows = proof["rows"]
        made += [{**proof, "rows": wrong} for wrong in ([], rows * 2, ["line 99"], None, "line")]
    return made


WITH_PROOF = [kind for kind, (_, proved) in PLANTED.items() if proved] + ["demand over capacity"]


@pytest.mark.parametrize("kind", WITH_PROOF)
def test_forged_proofs_are_refused(kind: str, tmp_path: Path) -> None:
    log = PLANTED[kind][0](clean_log(4, fields=FIELDS))
    trace = log.read(tmp_path)
    finding = next(one for one in audited(log, tmp_path).findings if one.kind == kind)
    assert finding.proof is not None
    verify_finding(finding.proof, trace, log.cluster, log.quotas)
    for proof in forged(dict(finding.proof), [job.id for job in trace.jobs]):
        with pytest.raises(InvalidCertificate, match="audit: "):
            verify_finding(proof, trace, log.cluster, log.quotas)


@pytest.mark.parametrize("kind", ["a gang wider than the cluster", "demand over capacity"])
def test_a_proof_needs_what_it_is_about(kind: str, tmp_path: Path) -> None:
    log = PLANTED[kind][0](clean_log(4, fields=FIELDS))
    proof = next(one for one in audited(log, tmp_path).findings if one.kind == kind).proof
    with pytest.raises(InvalidCertificate):
        verify_finding(proof, log.read(tmp_path))


def trace_of(*jobs: Job, rows: Sequence[LogRow] = (), **more: Any) -> Trace:
    more = {"report": ReadReport(read=len(jobs)), **more}
    return Trace(name="log", jobs=jobs, rows=tuple(rows), **more)


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        (LogRow("a", 0, 0, 60), LogRow("b", 1, 60, 120), False),
        (LogRow("a", 0, 0, 60), LogRow("b", 1, 59, 119), False),  # 59.2 rounded up, 59.3 cut
        (LogRow("a", 0, 0, 60), LogRow("b", 1, 58, 118), True),
        (LogRow("a", 0, 0), LogRow("b", 1, 58), False),  # a may have run from -.9 to 58.2
        (LogRow("a", 0, 0), LogRow("b", 1, 57), True),
        (LogRow("a", 0, None, 60), LogRow("b", 1, 58, 118), True),
        (LogRow("a", 0, None, 60), LogRow("b", 1, None, 118), False),
        (LogRow("a", 0, None, 60), LogRow("b", 1, None, 117), True),
        (LogRow("a", 0, 0, 63), LogRow("b", 1, 58, 118), False),  # interrupted
        (LogRow("a", 0, 0, 62), LogRow("b", 1, 58, 118), True),
    ],
)
def test_what_fractions_can_explain_is_no_overlap(
    first: LogRow, second: LogRow, overlap: bool
) -> None:
    jobs = Job(id="a", gpus=4, work=60), Job(id="b", gpus=5, work=60)
    found = gs.audit(trace_of(*jobs, rows=[first, second]), Cluster.of_sizes([8]))
    assert [one.kind for one in found.findings] == ["more GPUs in use than there are"] * overlap


def test_the_text_says_how_many_for_how_long() -> None:
    jobs = [Job(id=f"j{i}", gpus=4, work=100, release=i) for i in range(4)]
    rows = [
        LogRow(f"line {i + 2}", i, start, start + 100) for i, start in enumerate((0, 40, 90, 400))
    ]
    found = gs.audit(trace_of(*jobs, rows=rows), Cluster.of_sizes([8]))
    assert found.to_dict()["findings"][0]["sure"] == "proved"
    assert str(found.findings[0]) == (
        "proved: more GPUs in use than there are: 12 of 8 at second 91, for 9 s in all [line 2, "
        "line 3, line 4]"
    )
    assert "<td>proved</td>" in found._repr_html_()


# --- at the border -------------------------------------------------------------------------------


def refused(proof: Any, trace: Trace, *said: Any) -> None:
    with pytest.raises(InvalidCertificate, match=r"^audit: "):
        verify_finding(proof, trace, *said)


A_RUN = Job(id="a", gpus=9, work=60, user="ann", pin="v")
A_RUN_TOO = replace(A_RUN, id="b")


@pytest.mark.parametrize(
    ("row", "held", "free"),
    [
        (LogRow("a", 0, 5), (6, 63), (5, 64)),  # from 5.99 or to 63.01, as far as is known
        (LogRow("a", 0, None, 118), (60, 117), (59, 118)),
        (LogRow("a", 0, 0, 62), (1, 61), (0, 62)),
        (LogRow("a", 0, 0, 63), (), (0, 30, 62)),  # it was interrupted
        (LogRow("a", 0), (), (0, 30)),
    ],
)
def test_a_job_counts_where_it_surely_ran(
    row: LogRow, held: tuple[int, ...], free: tuple[int, ...]
) -> None:
    trace, cluster = trace_of(A_RUN, rows=[row]), Cluster.of_sizes([8])
    for second in held:
        proof = {"rule": "in use", "of": "cluster", "second": second, "jobs": ["a"]}
        verify_finding(proof, trace, cluster)
        refused(proof, trace_of(replace(A_RUN, speeds={"": 2.0}), rows=[row]), cluster)
    for second in free:
        refused(
            {"rule": "in use", "of": "cluster", "second": second, "jobs": ["a"]}, trace, cluster
        )


def test_nobodys_jobs_count_as_a_users_or_as_a_models() -> None:
    trace = trace_of(A_RUN, rows=[LogRow("a", 0, 0, 60)])
    proof = {"rule": "in use", "second": 5, "jobs": ["a"]}
    quotas = {"ann": 8, "bob": 8, "": 8}
    cluster = Cluster([Node("v", 8, "v"), Node("w", 8, "w")])
    verify_finding({**proof, "of": "user", "name": "ann"}, trace, None, quotas)
    refused({**proof, "of": "user", "name": "bob"}, trace, None, quotas)
    verify_finding({**proof, "of": "model", "name": "v"}, trace, cluster)
    refused({**proof, "of": "model", "name": "w"}, trace, cluster)


@pytest.mark.parametrize("behind", [0, -1])
def test_what_the_gpus_can_do_is_no_demand_over_capacity(behind: int) -> None:
    proof = {"rule": "overload", "of": "cluster", "from": 1, "to": 58, "behind": behind}
    refused(proof, trace_of(A_RUN), Cluster.of_sizes([9]))
    refused({**proof, "to": 66}, trace_of(A_RUN, A_RUN_TOO), Cluster.of_sizes([17]))
    verify_finding(proof, trace_of(A_RUN, A_RUN_TOO), Cluster.of_sizes([17]))


def test_run_times_of_jobs_with_speeds_prove_nothing() -> None:
    """On a GPU of speed 4 an hour takes a quarter of it."""
    own: dict[str, Any] = {"gpus": 8, "work": HOUR, "rewards": [(900, 1)]}
    jobs = [DeadlineJob(id=id, user=id, **own) for id in "ab"]
    rows = [LogRow("a", 0, 0, 900), LogRow("b", 1, 600)]
    cluster = Cluster([Node("n", 8, "v")])
    fast = trace_of(*(replace(job, speeds={"v": 4.0}) for job in jobs), rows=rows)
    assert gs.audit(fast, cluster, window=HOUR // 2).findings == ()
    found = gs.audit(trace_of(*jobs, rows=rows), cluster, window=HOUR // 2).findings
    rules = [one.proof and one.proof["rule"] for one in found]
    assert rules == ["end", "deadline", "in use", "overload"]
    for one in found:
        refused(one.proof, fast, cluster)


HUGE = 10**5000


@pytest.mark.parametrize(
    "proof",
    [
        {"rule": "backwards", "rows": None},
        {"rule": "backwards", "rows": ["line 3"]},
        {"rule": "backwards", "rows": "line 2"},
        {"rule": "backwards", "rows": [5]},
        {"rule": "backwards", "rows": [HUGE]},
        {"rule": "width", "of": "cluster", "jobs": "ab"},
        {"rule": "width", "of": "cluster", "jobs": {"a": 1}},
        {"rule": "width", "of": "node size", "pod": 0, "jobs": ["a"]},
        {"rule": "width", "of": "cluster", "jobs": [["a"]]},
        {"rule": HUGE, "jobs": ["a"]},
        {"rule": {HUGE}, "jobs": ["a"]},
        {"rule": "in use", "of": "cluster", "second": HUGE, "jobs": ["a", "b"]},
        {"rule": "in use", "of": "user", "name": HUGE, "second": 0, "jobs": ["a", "b"]},
        {"rule": "overload", "of": "cluster", "from": -HUGE, "to": HUGE, "behind": HUGE},
        {HUGE: HUGE},
        [],
        HUGE,
        "cluster",
    ],
    ids=range(18),
)  # fmt: skip
def test_what_is_no_proof_is_refused(proof: Any) -> None:
    jobs = [replace(A_RUN, id=id) for id in "ab"]
    report = ReadReport(read=6, skipped={"no GPUs": 4}, backwards=[("line 2", 9, 5)])
    refused(proof, Trace(name="t", jobs=jobs, report=report), Cluster.of_sizes([8]), {"ann": 8})


@pytest.mark.parametrize(
    ("start", "step", "proved", "odd"),
    [(2, 1, 1, 0), (1, 1, 0, 0), (119, 60, 0, 0), (120, 60, 1, 0)],
)
def test_rows_that_end_before_they_start_do_so_by_more_than_steps(
    start: int, step: int, proved: int, odd: int
) -> None:
    report = ReadReport(read=2, skipped={"end before start": 1}, backwards=[("line 2", start, 0)])
    trace = trace_of(Job(id="a", gpus=1, work=9), steps={"start": step, "end": step}, report=report)
    found = gs.audit(trace)
    assert (len(found.proved), len(found.findings)) == (proved, proved + odd)
    if proved:
        assert found.proved[0].proof == {"rule": "backwards", "rows": ["line 2"]}


# --- scopes --------------------------------------------------------------------------------------


def test_one_model_is_overloaded_among_others() -> None:
    """Ten days of work for 8 slow GPUs come in a day, none for the 24 fast ones."""
    cluster = Cluster([Node("s", 8, "slow"), *(Node(f"f{i}", 8, "fast") for i in range(3))])
    jobs = [
        Job(id=f"j{i}", user=f"{i}", gpus=4, work=HOUR * 20, release=i * HOUR, pin=pin)
        for i in range(24)
        for pin in ["fast" if i % 6 == 0 else "slow"]
    ]
    found = gs.audit(trace_of(*jobs), cluster)
    (finding,) = found.findings
    assert (finding.sure, finding.kind) == ("odd", "demand over capacity of 'slow'")
    assert finding.count == 20
    verify_finding(finding.proof, trace_of(*jobs), cluster)
    more = [replace(job, pin="fast") for job in jobs]
    with pytest.raises(InvalidCertificate):
        verify_finding(finding.proof, trace_of(*more), cluster)


@pytest.mark.parametrize(
    ("pod", "gpus", "pin", "kind"),
    [
        (8, 8, "", "a pod wider than any node"),
        (4, 8, "", None),
        (3, 12, "", "more pods than nodes have room for"),  # 3 nodes of 4, one pod of 3 on each
        (3, 9, "", None),
        (4, 8, "a", "more pods than nodes have room for"),  # one node of a
        (0, 12, "", None),
    ],
)
def test_pods_stand_on_one_node(pod: int, gpus: int, pin: str, kind: str | None) -> None:
    nodes = [Node(f"b{i}", 4, "b") for i in range(2)]
    nodes += [Node(f"a{size}{i}", size, "a") for i, size in enumerate((4, 2, 2))]
    trace = trace_of(Job(id="a", gpus=gpus, work=9, pod=pod, pin=pin))
    found = gs.audit(trace, Cluster(nodes))
    assert [one.kind for one in found.proved] == ([] if kind is None else [kind])
    for one in found.proved:
        with pytest.raises(InvalidCertificate):
            verify_finding(
                one.proof, trace, Cluster([*nodes, *(Node(f"m{i}", 8, "a") for i in "ab")])
            )
        refused({**(one.proof or {}), "pod": pod + 1}, trace, Cluster(nodes))


def test_more_pods_at_once_than_nodes_have_room_for() -> None:
    """Two pods of 5 on one node of 8 and one of 4 that idles."""
    jobs = [Job(id=i, user=i, gpus=5, work=60, pod=5) for i in "ab"]
    rows = [LogRow("line 2", 0, 0, 60), LogRow("line 3", 1, 30, 90)]
    trace, cluster = trace_of(*jobs, rows=rows), Cluster.of_sizes([8, 4])
    (finding,) = gs.audit(trace, cluster).proved
    assert finding.kind == "more pods of 5 GPUs or more at once than nodes have room for"
    free = trace_of(*(replace(job, pod=0) for job in jobs), rows=rows)
    assert gs.audit(free, cluster).findings == ()
    refused(finding.proof, free, cluster)


def test_each_cell_is_checked_or_says_why_not() -> None:
    everything = Job(id="a", user="ann", gpus=2, work=60, pin="v", pod=2)
    cluster, quotas, rows = Cluster([Node("n", 4, "v")]), {"ann": 4}, [LogRow("line 2", 0, 0, 60)]
    for job, room, given, ran, lacking in (
        (everything, cluster, quotas, rows, set[str]()),
        (everything, cluster, None, rows, {"quota"}),
        (replace(everything, pin=""), cluster, quotas, rows, {"model"}),
        (replace(everything, pod=0), cluster, quotas, rows, {"node size"}),
        (everything, None, quotas, rows, {"cluster", "model", "node size"}),
        (everything, cluster, quotas, (), {"in use"}),
    ):
        checks = gs.audit(trace_of(job, rows=ran), room, quotas=given).checks
        cells = {(rule, scope): cell for rule, row in checks.items() for scope, cell in row.items()}
        assert len(cells) == 15
        for names, cell in cells.items():
            lacks = lacking & {*names} or names == ("width", "window")
            assert isinstance(cell, str) if lacks else cell == 1, names


# --- the audit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("origin", "sure"),
    [
        (None, "proved"),
        ("2024-10-27 01:30:00", "odd"),  # Europe
        ("2024-11-03 00:30:00", "odd"),  # the United States
        ("2025-04-06 01:30:00", "odd"),  # Australia
        ("2024-10-27 01:30:00 UTC", "proved"),
        ("2024-10-27 01:30:00+02:00", "proved"),
        ("2024-05-01 01:30:00", "proved"),
        ("2025-03-30 01:30:00", "proved"),  # Europe's clocks go forward
    ],
)
def test_what_an_hour_of_autumn_explains_is_odd(origin: str | None, sure: str) -> None:
    """Submitted before the clock went back, started after; the same of an end and of room."""
    jobs = [Job(id=id, gpus=5, work=3_000, release=at) for id, at in (("a", 0), ("b", 3_000))]
    rows = [LogRow("line 2", 0, 0, 3_000 - 600), LogRow("line 3", 1, 1_200, 4_200)]
    skipped = ReadReport(read=3, skipped={"x": 1}, backwards=[("line 4", *skip(origin))])
    trace = trace_of(*jobs, rows=rows, origin=origin, report=skipped)
    found = gs.audit(trace, Cluster.of_sizes([8]))
    kinds = {one.kind: one for one in found.findings}
    assert [*kinds] == [
        "an end before the start", "a start before the submission",
        "an end before the run time is over", "more GPUs in use than there are",
    ]  # fmt: skip
    assert {one.sure for one in kinds.values()} == {sure}
    said = [("clock was set back" in one.text) == (sure == "odd") for one in kinds.values()]
    assert all(said)


def skip(origin: str | None) -> tuple[int, int]:
    """A start and an end half an hour before it, in seconds since 1970."""
    text = (origin or "1970-01-01 09:00:00")[:19]
    start = int((datetime.fromisoformat(text) - datetime(1970, 1, 1)).total_seconds())
    return start, start - 1_800


def test_more_than_an_hour_is_proved_in_autumn_too() -> None:
    jobs = [Job(id="a", gpus=5, work=9_000), Job(id="b", gpus=5, work=9_000, release=3_700)]
    rows = [LogRow("line 2", 0, 0, 9_000), LogRow("line 3", 1, 30, 9_030)]
    trace = trace_of(*jobs, rows=rows, origin="2024-11-03 00:30:00")
    found = gs.audit(trace, Cluster.of_sizes([8]))
    assert [(one.sure, one.proof and one.proof["rule"]) for one in found.findings] == [
        ("proved", "start"), ("proved", "in use")
    ]  # fmt: skip


def test_findings_are_a_frame() -> None:
    pytest.importorskip("pandas")
    found = gs.audit(trace_of(Job(id="j", gpus=6, work=9)), Cluster.of_sizes([4]))
    assert found.to_frame()["finding"].tolist() == ["a gang wider than the cluster"]
    assert len(gs.audit(trace_of()).to_frame()) == 0


def test_a_gang_wider_than_any_one_model_is_odd() -> None:
    cluster = Cluster([Node("a", 4, "a"), Node("b", 4, "b")])
    found = gs.audit(trace_of(Job(id="j", gpus=6, work=9)), cluster)
    assert str(found.findings[0]) == (
        "odd: a gang wider than any one model: 1 job, such as 'j', 6 GPUs, at most 4 are of one "
        "model [job 'j']"
    )


def test_demand_counts_what_every_schedule_leaves_undone() -> None:
    """Two GPUs, three jobs on both for an hour from 0 on, all but a second on either side."""
    jobs = [Job(id=f"j{i}", gpus=2, work=HOUR + 1) for i in range(3)]
    for window, there in ((2 * HOUR - 3, 0), (2 * HOUR - 4, 1)):
        found = gs.audit(trace_of(*jobs), Cluster.of_sizes([2]), window=window)
        behind = [one for one in found.findings if one.kind == "demand over capacity"]
        assert len(behind) == there
    assert found.proved == ()
    assert behind[0].proof == {
        "rule": "overload", "of": "cluster", "from": 0, "to": HOUR, "behind": 4 * HOUR - 6
    }  # fmt: skip


def test_demand_falls_behind_anew_after_a_time_with_nothing_to_do() -> None:
    """What was missing at first is done by 3 h; from 5 h on two jobs of four hours want both."""
    early = [Job(id=f"e{i}", user=f"{i}", gpus=2, work=HOUR) for i in range(2)]
    small = Job(id="small", gpus=1, work=HOUR, release=4 * HOUR)
    late = [Job(id=f"l{i}", user=f"{i}", gpus=2, work=4 * HOUR, release=5 * HOUR) for i in range(2)]
    found = gs.audit(trace_of(*early, small, *late), Cluster.of_sizes([2]), window=HOUR)
    (finding,) = found.findings
    assert finding.proof == {
        "rule": "overload", "of": "cluster", "from": 5 * HOUR, "to": 9 * HOUR - 1,
        "behind": 8 * HOUR - 6,
    }  # fmt: skip
    assert (finding.count, finding.rows) == (2, ("job 'l0'", "job 'l1'"))
    wanted = "16 GPU hours are wanted of 8, 2.00 times what there is: 4.0 h more would be needed"
    assert finding.text == f"from second 18,000 to second 32,399, {wanted}"


def test_a_silence_is_told_in_days() -> None:
    jobs = [Job(id=f"j{i}", gpus=1, work=9, release=r * 86_400) for i, r in enumerate((0, 5, 45))]
    (finding,) = gs.audit(trace_of(*jobs)).findings
    assert finding.text == "40 of 45 days, up to second 3,888,000"
    assert finding.rows == ("job 'j2'",)


@pytest.mark.parametrize(("rows", "falls"), [(19, 0), (20, 1)])
def test_a_clock_falls_back_in_a_log_of_twenty_rows_or_more(rows: int, falls: int) -> None:
    releases = [10 * i - 15 * (i == rows - 1) for i in range(rows)]
    jobs = [Job(id=f"j{i}", gpus=i + 1, work=9, release=r) for i, r in enumerate(releases)]
    log = [LogRow(f"line {i + 2}", i) for i in range(rows)]
    order = sorted(range(rows), key=lambda i: releases[i])
    trace = trace_of(*(jobs[i] for i in order), rows=[log[i] for i in order])
    found = gs.audit(trace)
    assert [one.text for one in found.findings] == [
        f"by 5 s at second {releases[-1]:,}, in a log that is otherwise in order"
    ] * falls


def test_without_a_cluster_it_says_what_was_not_checked() -> None:
    found = gs.audit(trace_of(Job(id="j", gpus=6, work=9)))
    assert found.findings == ()
    lacking = [f"{scope} (no cluster is given)" for scope in ("cluster", "model", "node size")]
    assert str(found).splitlines() == [
        "Audit of 'log': 1 job, 0 findings, 0 proved",
        f"not checked: {', '.join(lacking)}, quota (none are given)",
    ]


# --- the command ---------------------------------------------------------------------------------


def invoked(*args: str) -> Any:
    return CliRunner().invoke(app, ["audit", *args])


def test_the_command_ends_with_1_where_something_is_proved_wrong(tmp_path: Path) -> None:
    log = clean_log(4, fields=FIELDS)
    log.read(tmp_path)
    path = str(tmp_path / "log.csv")
    save(tmp_path / "cluster.json", Instance(log.cluster, []))
    (tmp_path / "vc.csv").write_text("vc,num\n" + "".join(f"{u},1\n" for u in log.quotas))
    fine = invoked(path, "--cluster", str(tmp_path / "cluster.json"))
    assert fine.exit_code == 0, fine.output
    assert "\nnothing found\n" in fine.stdout
    broken = invoked(path, "--nodes", "1", "--gpus-per-node", "1", "--json", "-")
    assert broken.exit_code == 1
    found = json.loads(broken.stdout)
    assert found["findings"][0]["kind"] == "a gang wider than the cluster"
    assert found["findings"][0]["proof"]["rule"] == "width"
    quotas = invoked(path, "--quotas", str(tmp_path / "vc.csv"), "--gpus-per-node", "1")
    assert quotas.exit_code == 1
    assert "beyond the quota" in quotas.stdout


def test_quotas_are_the_largest_of_the_days_of_the_log(tmp_path: Path) -> None:
    """The log goes from the second day of the file to the fourth, of which one is not in it."""
    path, sizes = tmp_path / "log.csv", tmp_path / "gpus.csv"
    path.write_text(
        "id,user,gpus,submit,duration\n"
        "a,ann,4,2020-04-02 08:00:00,60\n"
        "b,bob,6,2020-04-03 08:00:00,60\n"
        "c,ann,2,2020-04-03 09:00:00,86400\n"
    )
    head = "date,ann,bob,total\n2020-04-01,4,2,6\n"
    for rows, code in (
        ("2020-04-03,2,6,8\n", 0),
        ("2020-04-04,2,6,8\n", 0),
        ("2020-04-05,2,6,8\n", 1),
        ("2020-04-02,3,6,9\n", 1),
    ):
        sizes.write_text(head + rows)
        done = invoked(str(path), "--quotas", str(sizes))
        assert done.exit_code == code, done.output


def test_a_long_queue_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("id,gpus,submit,duration\n" + "".join(f"{i},4,{i},86400\n" for i in range(9)))
    done = invoked(str(path), "--nodes", "1", "--gpus-per-node", "4")
    assert done.exit_code == 0, done.output
    assert "odd: demand over capacity: " in done.stdout


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("none.csv",), "none.csv: No such file or directory"),
        (("log.csv", "--nodes", "3"), "give --nodes and --gpus-per-node"),
        (("log.csv", "--nodes", "a"), "is neither a number"),
        (("log.csv", "--window", "0"), "0 is not within 1 to"),
        (("log.csv", "--quotas", "none.csv"), "none.csv: No such file"),
        (("log.csv", "--cluster", "log.csv", "--nodes", "3"), "--nodes does not go with --cluster"),
    ],
)
def test_bad_input_is_one_line(
    args: tuple[str, ...], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    clean_log(4).read(tmp_path)
    code, _, err = called(capsys, "audit", *args)
    assert code == 2
    assert text in err
    assert err.count("\n") == 1
