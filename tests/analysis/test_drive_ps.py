"""Jobs with parameter servers on the driver: by hand, the online rules as policies, and misuse."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gangsched as gs
from few import first
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import Run
from gangsched.analysis.driving.run_io import load_run, save_run
from gangsched.formulations import CompletionTime
from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Linear, ParameterServerJob
from gangsched.solvers import Fifo, Result, Stop
from gangsched.solvers.ours.irmp.online import ORDERS, OnlineParams, online
from gangsched.solvers.ours.irmp.policy import OnlineRevenue
from gangsched.solvers.policy import Decision, Preempts, Start, State
from reference_driver import drive
from strategies import irmp_instances, irmp_problems

Solver = Callable[[Irmp], Result[gs.Schedule]]
RULES: dict[str, Solver] = {
    by: partial(online, params=OnlineParams(by=by))  # type: ignore[arg-type]
    for by in ORDERS
}
ENGINES = pytest.mark.parametrize("engine", ["compiled", "reference"])


@dataclass
class Table:
    """What is decided at each time, by hand."""

    starts: dict[int, list[Start]] = field(default_factory=dict)
    orders: bool = False
    seen: dict[int, list[int]] = field(default_factory=dict)
    name: str = "table"
    preempts: Preempts = Preempts.NEVER
    needs_ps: bool = True

    def decide(self, state: State) -> Decision:
        self.seen[state.now] = state.free_ps.tolist()
        order = state.waiting if self.orders else ()
        return Decision(start=self.starts.get(state.now, ()), order=order)

    def next_change(self, state: State) -> int | None:
        return min((time for time in self.starts if time > state.now), default=None)


def job(id: str, gpus: int = 2, *, release: int = 0, **more: Any) -> ParameterServerJob:
    """Four mini-batches a worker of its most: 4 slots on all on one node, 8 on two."""
    given = {"epochs": 4, "minibatches": 1, "rates": (1, 0.5), "utility": Linear(-1, 90), **more}
    return ParameterServerJob(id=id, gpus=gpus, release=release, **given)


TWO = gs.Cluster([gs.Node("s1", 2, ps=1), gs.Node("s2", 2, ps=2)])


def on_two(*jobs: Any) -> gs.Instance[Any]:
    return gs.Instance(TWO, jobs)


def driven(case: gs.Instance[Any], policy: Any, **how: Any) -> Run:
    """The run, once the checker has nothing to say."""
    run = drive(case, policy, round_length=1, **how)
    assert violations(run, preempts=policy.preempts) == []
    return run


# --- by hand --------------------------------------------------------------------------------------


@ENGINES
def test_a_run_takes_the_slots_of_its_workers_and_nodes(engine: Any) -> None:
    """a: 8 mini-batches of one worker, at once; b: of two on two nodes, half as fast each; its PS
    is on a node of its own for c."""
    table = Table(
        {
            0: [Start(0, {0: 1}, 1, ps={0: 1}), Start(1, {0: 1, 1: 1}, ps={1: 1})],
            8: [Start(2, {0: 2}, ps={1: 2})],
        }
    )
    run = driven(on_two(job("a"), job("b"), job("c")), table, engine=engine)
    assert list(run.schedule) == [
        gs.Segment(0, 0, 8, {0: 1}, ps={0: 1}),
        gs.Segment(1, 0, 8, {1: 1, 0: 1}, ps={1: 1, 0: 0}),
        gs.Segment(2, 8, 16, {1: 0, 0: 2}, ps={1: 2, 0: 0}),
    ]
    assert run.records.work.tolist() == [8, 8, 8]
    assert run.records.held.tolist() == [8, 16, 16]
    assert table.seen == {0: [1, 2], 8: [1, 2]}


@ENGINES
def test_what_running_jobs_hold_is_not_free(engine: Any) -> None:
    table = Table({0: [Start(0, {0: 2}, ps={0: 1})], 1: [Start(1, {1: 1}, 1, ps={1: 2})]})
    case = on_two(job("a"), job("b", 1), job("c", release=2), job("d", release=4))
    driven(case, table, engine=engine)
    assert table.seen == {0: [1, 2], 1: [0, 2], 2: [0, 0], 4: [1, 0], 5: [1, 2]}


def test_speeds_of_models_count_in_the_length_of_a_run() -> None:
    cluster = gs.Cluster([gs.Node("k", 2, "k80", ps=1), gs.Node("v", 2, "v100", ps=1)])
    fast = job("a", speeds={"v100": 4})  # on others as fast as its rates
    for node, end in ((0, 4), (1, 1)):
        table = Table({0: [Start(0, {node: 2}, ps={node: 1})]})
        assert driven(gs.Instance(cluster, [fast]), table).records.end.tolist() == [end]
    away = Table({0: [Start(0, {1: 2}, ps={0: 2 - 1})]})  # servers on the other model
    assert driven(gs.Instance(cluster, [fast]), away).records.end.tolist() == [2]


def test_most_workers_may_exceed_the_cluster() -> None:
    table = Table({0: [Start(0, {0: 2, 1: 2}, 4, ps={1: 2})]})
    assert driven(on_two(job("a", 40, epochs=1)), table).records.end.tolist() == [20]


@ENGINES
@pytest.mark.parametrize("skip", [True, False])
def test_who_is_never_started_is_left_out(engine: Any, skip: bool) -> None:
    table = Table({3: [Start(1, {0: 2}, ps={0: 1})]})
    run = driven(on_two(job("a"), job("b"), job("c", release=1)), table, engine=engine, skip=skip)
    assert (run.stop, run.now, run.records.end.tolist()) == (Stop.COMPLETED, 7, [-1, 7, -1])
    assert (run.records.work.tolist(), run.records.left.tolist()) == ([0, 4, 0], [0, 0, 0])
    nobody = driven(on_two(job("a"), job("b", release=2)), Table(), engine=engine, skip=skip)
    assert (nobody.stop, nobody.now, len(nobody.schedule)) == (Stop.COMPLETED, 2, 0)


def test_runs_with_parameter_servers_are_kept_in_files(tmp_path: Any) -> None:
    problem = paper_problem(6, servers=14)
    run = driven(problem.instance, OnlineRevenue.of(problem))
    assert run.schedule.ps.any()
    for name in ("run.json", "run.parquet"):
        save_run(tmp_path / name, run)
        assert load_run(tmp_path / name) == run


# --- the online rules -----------------------------------------------------------------------------


def in_time(**fixed: Any) -> st.SearchStrategy[Irmp]:
    """Problems in which jobs are known from their release; nobody has to earn anything."""
    instances = irmp_instances(max_jobs=6) | irmp_instances(models=("v100", "k80"))
    return instances.flatmap(
        lambda instance: irmp_problems(instance, alone={}, paper_slot_r=False, **fixed)
    )


def by_job(run: Run) -> gs.Schedule:
    return gs.Schedule.of(sorted(run.schedule, key=lambda row: row.job))


def broken_otherwise(problem: Irmp, schedule: gs.Schedule) -> list[str]:
    """What is broken, but for jobs that must run and do not."""
    return [line for line in problem.violations(schedule) if not line.startswith("all jobs")]


@pytest.mark.parametrize("by", first(2, RULES))
@given(problem=in_time(), data=st.data())
@settings(max_examples=40)
def test_the_driver_gives_the_schedule_of_the_online_rule(
    by: str, problem: Irmp, data: st.DataObject
) -> None:
    expected = RULES[by](problem)
    policy = OnlineRevenue.of(problem, by)
    run = driven(problem.instance, policy)
    left = [id for id, first in zip(run.records.id, run.records.first, strict=True) if first < 0]
    assert left == expected.info["left"]
    assert expected.solution in (None, by_job(run))
    assert broken_otherwise(problem, run.schedule) == []
    for how in ({}, {"skip": False}, {"engine": "reference"}):
        assert driven(problem.instance, policy, **how) == run  # one object, used again
    until = data.draw(st.integers(0, run.now), label="until")
    part = driven(problem.instance, policy, until=until)
    if part.checkpoint is not None:
        other = OnlineRevenue.of(problem, by)
        assert driven(problem.instance, other, resume=part.checkpoint) == run


def test_users_without_quotas_and_owners_do_not_matter() -> None:
    jobs = [job("a", user="u"), job("b", user="v", release=1)]
    case = gs.Instance(TWO, jobs, [gs.User("u"), gs.User("v", 3)])
    with pytest.raises(ValueError, match="users have no quotas"):
        Irmp(case)
    assert driven(case, OnlineRevenue("slope")).records.end.tolist() == [4, 5]


def test_the_policy_shows_its_parameters() -> None:
    problem = paper_problem(3, servers=14)
    run = driven(problem.instance, OnlineRevenue.of(problem, "spt"))
    assert run.policy == "irmp-spt"
    assert run.parameters == {
        "by": "spt",
        **{
            name: problem.parameters()[name]
            for name in ("worker_bandwidth", "ps_bandwidth", "horizon", "clock", "optional")
        },
    }


def test_other_orders_and_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="by='lifo' is not one of fifo, spt, density, slope, lp"):
        OnlineRevenue("lifo")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="paper_slot_r=True, the driver shows jobs at their rele"):
        OnlineRevenue.of(Irmp(on_two(job("a")), paper_slot_r=True))
    plain = gs.Instance(TWO, [gs.Job(id="a", gpus=1, work=3)])
    with pytest.raises(TypeError, match="OnlineRevenue: a CompletionTime is not a Irmp"):
        OnlineRevenue.of(CompletionTime(plain))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'irmp-slope': job 'a' has no parameter servers, it runs"):
        drive(plain, OnlineRevenue())
    with pytest.raises(ValueError, match="worker_bandwidth=0 is below 1"):
        drive(on_two(job("a")), OnlineRevenue(worker_bandwidth=0), round_length=1)


# --- misuse ---------------------------------------------------------------------------------------


def test_jobs_in_slots_need_rounds_of_a_slot_and_a_policy_that_never_stops_them() -> None:
    case = on_two(job("a"))
    with pytest.raises(ValueError, match="round_length=60, times of jobs with parameter servers"):
        drive(case, OnlineRevenue())
    with pytest.raises(ValueError, match="'table': jobs with parameter servers never stop, preem"):
        drive(case, Table(preempts=Preempts.LEASE), round_length=1)
    with pytest.raises(ValueError, match="jobs with parameter servers need a policy that starts"):
        drive(case, Fifo(), round_length=1)
    late = on_two(job("a", epochs=2**39))
    with pytest.raises(ValueError, match=re.escape(f"or {2**41} slots on one worker is above")):
        drive(late, Table(), round_length=1)


@ENGINES
@pytest.mark.parametrize(
    ("starts", "why"),
    [
        ([Start(0, {0: 2}, ps={0: 2})], "given parameter servers {0: 2}, more than is free on n"),
        ([Start(0, {0: 2}, ps={7: 1})], "given parameter servers {7: 1}, more than is free on n"),
        ([Start(0, {0: 2}, ps={-1: 1})], "parameter servers {-1: 1}, more than is free on node "),
        ([Start(0, {0: 2}, ps={0: 0})], "given parameter servers {0: 0}, below 1 on node 0"),
        ([Start(0, {0: 2}, ps={0: 0.5})], "servers {0: 0.5}, which are not integers"),
        ([Start(0, {0: 2})], "starts job 0 without nodes or parameter servers"),
        ([Start(0, ps={0: 1})], "starts job 0 without nodes or parameter servers"),
        ([Start(0)], "starts job 0 without nodes or parameter servers"),
        ([Start(0, {0: 2}, profile=5, ps={0: 1})], "starts job 0 to be profiled"),
        ([Start(0, {0: 2, 1: 1}, 3, ps={0: 1})], "starts job 0 on 3 GPUs, not on 1 to 2"),
        ([Start(0, {0: 1}, ps={0: 1})], "is given {0: 1}, not its 2 GPUs"),
        ([Start(0, {0: 3}, 2, ps={0: 1})], "is given {0: 3}, not its 2 GPUs"),
        (
            [Start(0, {0: 1}, 1, ps={0: 1}), Start(1, {0: 1}, 1, ps={0: 1})],
            "job 1 is given parameter servers {0: 1}, more than is free on node 0",
        ),
        (
            [Start(0, {0: 2}, ps={0: 1}), Start(1, {0: 1}, 1, ps={1: 1})],
            "job 1 is given {0: 1}, more than is free on node 0",
        ),
    ],
)
def test_what_is_not_there_is_not_given(engine: Any, starts: list[Start], why: str) -> None:
    table = Table({0: starts})
    with pytest.raises(PolicyError, match=f"^policy 'table' at 0: .*{re.escape(why)}"):
        drive(on_two(job("a"), job("b")), table, round_length=1, engine=engine)


@ENGINES
def test_servers_of_a_running_job_are_not_given_again(engine: Any) -> None:
    table = Table({0: [Start(0, {0: 2}, ps={0: 1})], 3: [Start(1, {1: 2}, ps={0: 1})]})
    with pytest.raises(PolicyError, match=r"at 3: job 1 is given parameter servers \{0: 1\}, more"):
        drive(on_two(job("a"), job("b")), table, round_length=1, engine=engine)


@ENGINES
def test_such_jobs_are_not_ordered_and_other_jobs_have_no_servers(engine: Any) -> None:
    with pytest.raises(PolicyError, match="orders job 0, a job with parameter servers starts on"):
        drive(on_two(job("a")), Table(orders=True), round_length=1, engine=engine)
    plain = on_two(gs.Job(id="a", gpus=2, work=3))
    table = Table({0: [Start(0, {0: 2}, ps={0: 1})]}, needs_ps=False)
    with pytest.raises(PolicyError, match=r"job 0 with parameter servers \{0: 1\}, a job of its"):
        drive(plain, table, engine=engine)


# --- the checker ----------------------------------------------------------------------------------


def tampered(run: Run, row: gs.Segment, **records: Any) -> Run:
    """Another first segment, and other records."""
    schedule = gs.Schedule.of([row, *list(run.schedule)[1:]])
    return replace(run, schedule=schedule, records=replace(run.records, **records))


def test_the_checker_knows_parameter_servers() -> None:
    case = on_two(job("a"), job("b", release=1))
    table = Table({0: [Start(0, {0: 2}, ps={0: 1})], 1: [Start(1, {1: 2}, ps={1: 1})]})
    run = driven(case, table)
    row = run.schedule[0]

    def lines(row: gs.Segment, **records: Any) -> list[str]:
        return violations(tampered(run, row, **records))

    assert lines(row) == []
    assert lines(replace(row, ps={0: 2})) == [
        "parameter servers: node 0 gives 2 parameter servers at 0, it has 1"
    ]
    assert lines(replace(row, ps=None)) == [
        "parameter servers: job 'a' has GPUs {0: 2} and parameter servers None",
        "parameter servers: job 'a' has work=4, not 0",
    ]
    assert lines(replace(row, gpus={0: 2, 1: 0}, ps={1: 1})) == [
        "parameter servers: job 'a' has work=4, not 8"
    ]
    assert lines(replace(row, gpus={0: 1})) == [
        "parameter servers: job 'a' has work=4, not 8",
        "records: job 'a' has held=8, not 4",
    ]
    assert "completion: job 'a' ends at 4, from 0 with 0 s of overhead it must end at 9" in lines(
        row, work=[9, 4]
    )
    twice = replace(run, schedule=gs.Schedule.of([*run.schedule, replace(row, start=5, end=9)]))
    assert "parameter servers: job 'a' runs twice, the second time from 5" in violations(twice)


def test_the_checker_wants_jobs_that_started_to_finish() -> None:
    case = on_two(job("a"))
    part = drive(case, Table({0: [Start(0, {0: 2}, ps={0: 1})]}), round_length=1, until=2)
    assert violations(part) == []
    assert violations(replace(part, stop=Stop.COMPLETED)) != []
