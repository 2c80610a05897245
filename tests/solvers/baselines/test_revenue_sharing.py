"""Gandiva_fair and HiveD as baselines of IRMP: shares slot by slot, by hand and in general."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from gangsched.formulations.irmp.problem import Irmp, reduced_problem
from gangsched.instances import (
    Cluster,
    Instance,
    Linear,
    Node,
    ParameterServerJob,
    Schedule,
    User,
)
from gangsched.solvers import Result, Status
from gangsched.solvers.irmp.revenue_sharing import gandiva_like, hived_like
from strategies import irmp_instances, irmp_problems

Solver = Callable[[Irmp], Result[Schedule]]

ANY = (irmp_instances(max_jobs=5) | irmp_instances(models=("v100", "k80"))).flatmap(
    lambda instance: irmp_problems(instance, alone={})
)

BOTH: list[Solver] = [gandiva_like, hived_like]


def job(id: str, slots: int, *, user: str = "", release: int = 0, gpus: int = 1) -> Any:
    """It takes so many slots on all of its workers, on one node; twice as many on several."""
    return ParameterServerJob(
        id=id, user=user, release=release, gpus=gpus, epochs=slots, minibatches=1, rates=(1, 0.5),
        utility=Linear(-1, 100),
    )  # fmt: skip


def rows(result: Result[Schedule]) -> list[tuple[int, int, int, dict[int, int]]]:
    """Job, start, end and workers of each segment."""
    assert result.solution is not None
    return [(row.job, row.start, row.end, dict(row.gpus)) for row in result.solution]


def slots(result: Result[Schedule], job: int) -> list[int]:
    """In which a job runs."""
    return [t for j, start, end, _ in rows(result) if j == job for t in range(start, end)]


def one_place(*jobs: Any, quotas: dict[str, tuple[int, int]], **more: Any) -> Irmp:
    """One server of one worker with a PS, and one with two workers that no PS can serve."""
    cluster = Cluster([Node("s1", 1, ps=1), Node("s2", 2)])
    users = [User(id, gpus=gpus, ps=ps) for id, (gpus, ps) in quotas.items()]
    return Irmp(Instance(cluster, jobs, users), worker_bandwidth=2, **more)


# --- Gandiva_fair ---------------------------------------------------------------------------------


def test_workers_are_shared_in_proportion_to_quotas() -> None:
    """Passes a, b: 0 0, a; 1/2 0, b; 1/2 1, a; 1 1, a; 3/2 1, b; 3/2 2, a; then b alone."""
    jobs = [job(user, 4, user=user) for user in "ab"]
    result = gandiva_like(one_place(*jobs, quotas={"a": (2, 1), "b": (1, 0)}))
    assert (slots(result, 0), slots(result, 1)) == ([0, 2, 3, 5], [1, 4, 6, 7])
    assert result.objective == 94 + 92


def test_users_without_a_quota_of_workers_come_last() -> None:
    jobs = [job(user, 2, user=user) for user in "ab"]
    result = gandiva_like(one_place(*jobs, quotas={"a": (0, 1), "b": (3, 0)}))
    assert (slots(result, 0), slots(result, 1)) == ([2, 3], [0, 1])


def test_who_comes_later_does_not_catch_up() -> None:
    jobs = [job("a", 6, user="a"), job("b", 2, user="b", release=3)]
    result = gandiva_like(one_place(*jobs, quotas={"a": (1, 1), "b": (2, 0)}))
    # passes at 3: a has 3, b begins there; ties go to a, then b has 3 and 3 1/2 against 4
    assert (slots(result, 0), slots(result, 1)) == ([0, 1, 2, 3, 6, 7], [4, 5])


def test_the_oldest_job_of_a_user_is_first() -> None:
    jobs = [job("late", 2, user="a", release=1), job("old", 3, user="a")]
    result = gandiva_like(one_place(*jobs, quotas={"a": (3, 1)}))
    assert (slots(result, 1), slots(result, 0)) == ([0, 1, 2], [3, 4])


def test_gangs_are_as_large_as_parameter_servers_allow() -> None:
    """One worker away for one PS (3i): 2 + 1 workers, then 2 + 1 again; 6 / (3 0.5) slots."""
    cluster = Cluster([Node(f"s{i}", 2, ps=1) for i in range(3)])
    problem = Irmp(Instance(cluster, [job(i, 1, gpus=6) for i in "ab"]))
    result = gandiva_like(problem)
    assert rows(result) == [(0, 0, 4, {0: 2, 1: 1}), (1, 0, 4, {2: 2, 1: 1})]
    assert [row.ps for row in result.solution] == [{0: 1, 1: 0}, {2: 1, 1: 0}]
    more = gandiva_like(replace(problem, ps_bandwidth=2))  # then 2 + 2, and the 2 that are left
    assert rows(more)[0] == (0, 0, 3, {0: 2, 1: 2})
    assert rows(more)[1] == (1, 0, 3, {2: 2})  # alone on a node, at the higher rate


def test_gangs_take_the_emptiest_servers() -> None:
    cluster = Cluster([Node("s0", 1, ps=1), Node("s1", 3, ps=1), Node("s2", 2, ps=1)])
    problem = Irmp(Instance(cluster, [job("a", 1, gpus=5)]), ps_bandwidth=9)
    assert rows(gandiva_like(problem)) == [(0, 0, 2, {1: 3, 2: 2})]


def test_a_gang_has_workers_of_one_type() -> None:
    nodes = [Node("s0", 2, "v100", ps=1), Node("s1", 3, "k80", ps=1)]
    fast = replace(job("a", 3, gpus=5), speeds={"k80": 2.0})
    problem = Irmp(Instance(Cluster(nodes), [fast]), ps_bandwidth=9)
    assert rows(gandiva_like(problem)) == [(0, 0, 3, {1: 3})]  # 15 / (3 2) slots


# --- HiveD ----------------------------------------------------------------------------------------


def owned(*sizes: tuple[str, int]) -> tuple[Cluster, list[User], tuple[str, ...]]:
    """Servers of users with one PS each."""
    cluster = Cluster([Node(f"s{i}", gpus, ps=1) for i, (_, gpus) in enumerate(sizes)])
    owners = tuple(owner for owner, _ in sizes)
    return cluster, [User(id) for id in sorted(set(owners))], owners


def problem_of(*sizes: tuple[str, int], jobs: list[Any], **more: Any) -> Irmp:
    cluster, users, owners = owned(*sizes)
    return Irmp(Instance(cluster, jobs, users), owners=owners, **more)


def test_own_servers_come_first() -> None:
    """b's job is older and would train as fast on s0, which is free by number first."""
    jobs = [job("b", 3, user="b"), job("a", 3, user="a")]
    result = hived_like(problem_of(("a", 1), ("b", 1), jobs=jobs))
    assert rows(result) == [(0, 0, 3, {1: 1}), (1, 0, 3, {0: 1})]


def test_lent_servers_are_reclaimed_at_once() -> None:
    jobs = [job("1", 3, user="a"), job("2", 3, user="a"), job("3", 3, user="b", release=1)]
    result = hived_like(problem_of(("a", 1), ("b", 1), jobs=jobs))
    assert rows(result) == [
        (0, 0, 3, {0: 1}),
        (1, 0, 1, {1: 1}),
        (1, 3, 5, {0: 1}),
        (2, 1, 4, {1: 1}),
    ]


def test_jobs_move_to_where_they_train_more_until_the_owner_comes() -> None:
    """12 mini-batches: 4 in [0, 1) on b's server, 4 in [1, 3) on a's, 4 again on b's."""
    jobs = [job("a", 3, user="a", gpus=4), job("b", 2, user="b", release=1, gpus=4)]
    result = hived_like(problem_of(("a", 2), ("b", 4), jobs=jobs))
    assert rows(result) == [
        (0, 0, 1, {1: 4}),
        (0, 1, 3, {0: 2}),
        (0, 3, 4, {1: 4}),
        (1, 1, 3, {1: 4}),
    ]


def test_a_server_that_somebody_leaves_is_used() -> None:
    """Both jobs are a's: the older one moves to b's server, the other has a's own."""
    jobs = [job("1", 2, user="a", gpus=4), job("2", 2, user="a", gpus=2)]
    result = hived_like(problem_of(("a", 2), ("b", 4), jobs=jobs))
    assert rows(result) == [(0, 0, 2, {1: 4}), (1, 0, 2, {0: 2})]


def test_one_server_a_job_and_small_jobs_share_it() -> None:
    """Each needs a PS, too."""
    jobs = [job(str(i), 2, gpus=2) for i in range(3)]
    cluster = Cluster([Node("s0", 5, ps=2), Node("s1", 1, ps=1)])
    assert rows(hived_like(Irmp(Instance(cluster, jobs)))) == [
        (0, 0, 2, {0: 2}), (1, 0, 2, {0: 2}), (2, 0, 2, {1: 1}), (2, 2, 3, {0: 2}),
    ]  # fmt: skip


def test_nodes_without_owners_are_refused() -> None:
    cluster = Cluster([Node("s0", 2, ps=2)])
    users = [User(id, gpus=1, ps=1) for id in "ab"]
    problem = Irmp(Instance(cluster, [job("a", 2, user="a")], users))
    with pytest.raises(
        ValueError, match=r"^hived_like: nodes have no owners, as quotas end within"
    ):
        hived_like(problem)
    assert gandiva_like(problem).objective == 98


@given(problem=ANY)
@settings(max_examples=80)
def test_no_job_trains_less_than_on_the_servers_of_its_user(problem: Irmp) -> None:
    """At any time, each job that is not complete, as if all others served at home."""
    if not problem.owners:
        return
    problem = replace(problem, horizon=None, optional=True)
    found = list(hived_like(problem).solution)
    ends = {row.job: row.end for row in sorted(found, key=lambda row: row.end)}
    for t in {row.start for row in found}:
        there = {row.job: row for row in found if row.start <= t < row.end}
        active = [j for j in ends if problem.earliest(j) <= t < ends[j]]
        for j, least in at_home(problem, active).items():
            ((node, workers),) = there[j].gpus.items()
            assert speed(problem, j, node, workers) >= least


def speed(problem: Irmp, j: int, node: int, gpus: int) -> Any:
    """Mini-batches a slot on this node, with so many workers free."""
    rate = problem.rate(j, 1, problem.instance.cluster.nodes[node].model)
    return rate * min(problem.jobs[j].gpus, gpus)


def at_home(problem: Irmp, jobs: list[int]) -> dict[int, Any]:
    """Mini-batches a slot if jobs only had servers of their users, the oldest first."""
    free = [[node.gpus, node.ps] for node in problem.instance.cluster.nodes]
    found = {}
    for j in sorted(jobs, key=lambda j: (problem.earliest(j), j)):
        own = [s for s, of in enumerate(free) if min(of) and problem.owners[s] == problem.user(j)]
        if own:
            s = min(own, key=lambda s: (-speed(problem, j, s, free[s][0]), free[s][0], s))
            found[j] = speed(problem, j, s, free[s][0])
            free[s][0] -= min(problem.jobs[j].gpus, free[s][0])
            free[s][1] -= 1
    return found


# --- both -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", BOTH)
@given(problem=ANY)
@settings(max_examples=80)
def test_schedules_are_of_the_preemptive_problem(solver: Solver, problem: Irmp) -> None:
    if solver is hived_like and not problem.owners:
        return
    result = solver(problem)
    if result.solution is None:
        assert not problem.optional
        return
    free = replace(problem, preemptive=True)
    assert free.violations(result.solution) == []
    assert result.objective == free.objective(result.solution)
    assert solver(free).solution == result.solution
    ids = {problem.jobs[j].id for j in result.solution.job.tolist()}
    assert sorted([*ids, *result.info["left"]]) == sorted(job.id for job in problem.jobs)
    for before, after in zip(list(result.solution), list(result.solution)[1:], strict=False):
        where = before.job, before.end, before.gpus, before.ps
        assert where != (after.job, after.start, after.gpus, after.ps), "one segment"


@pytest.mark.parametrize("solver", BOTH)
def test_all_jobs_are_complete_where_time_does_not_end(solver: Solver) -> None:
    problem = reduced_problem(8, servers=5, seed=2)
    result = solver(problem)
    assert set(result.solution.job.tolist()) == set(range(8))
    assert result.info["preemptive"]


@pytest.mark.parametrize("solver", BOTH)
def test_what_the_horizon_cuts_off_is_dropped(solver: Solver) -> None:
    cluster = Cluster([Node("s0", 1, ps=1)])
    problem = Irmp(Instance(cluster, [job("a", 3), job("b", 3)]), horizon=5)
    result = solver(problem)
    assert (rows(result), result.info["left"]) == ([(0, 0, 3, {0: 1})], ["b"])
    must = solver(replace(problem, optional=False))
    assert (must.status, must.solution) == (Status.UNKNOWN, None)


@pytest.mark.parametrize("solver", BOTH)
def test_jobs_released_after_the_horizon_are_left_out(solver: Solver) -> None:
    problem = Irmp(Instance(Cluster([Node("s0", 1, ps=1)]), [job("a", 1, release=9)]), horizon=5)
    assert solver(problem).info["left"] == ["a"]


@pytest.mark.parametrize("solver", BOTH)
def test_utilities_are_not_looked_at(solver: Solver) -> None:
    """The second job is worth -1 when it is complete."""
    cheap = replace(job("b", 2), utility=Linear(-1, 4))
    result = solver(Irmp(Instance(Cluster([Node("s0", 1, ps=1)]), [job("a", 3), cheap])))
    assert result.objective == 97 - 1


@pytest.mark.parametrize("solver", BOTH)
def test_idle_times_are_skipped(solver: Solver) -> None:
    jobs = [job("a", 2), job("b", 2, release=10**9)]
    result = solver(Irmp(Instance(Cluster([Node("s0", 1, ps=1)]), jobs)))
    assert [row[1] for row in rows(result)] == [0, 10**9]


@pytest.mark.parametrize("solver", BOTH)
def test_nothing_runs_where_there_are_no_parameter_servers(solver: Solver) -> None:
    result = solver(Irmp(Instance(Cluster([Node("s0", 1)]), [job("a", 3)])))
    assert (result.objective, result.info["left"]) == (0, ["a"])
