"""SJF-BCO: its two placement rules by hand, the search for theta, and its honesty."""

from brute_force import optimum
from gangsched.formulations.rar_ddls.problem import RarDdls, estimates
from gangsched.instances import Cluster, Instance, RingJob, generate
from gangsched.solvers import (
    SjfBcoParams,
    Status,
    Stop,
    sjf_bco,
)
from gangsched.solvers.rar_ddls.gang_queue import GangQueue
from gangsched.solvers.rar_ddls.sjf_bco import _runner, fa_ffp, lbsgf, least_busy_servers


def constant(gangs, times, sizes, **parameters) -> RarDdls:
    """Jobs whose duration is `times` slots wherever they run: phi = 100, F = 100 rho."""
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=100 * t, gradient=0.0, base_time=0.0099)
        for i, (g, t) in enumerate(zip(gangs, times, strict=True))
    ]
    problem = RarDdls(Instance(Cluster.of_sizes(sizes), jobs), xi2=1e-6, **parameters)
    assert estimates(problem).times.tolist() == list(times)
    return problem


def queue_with_loads(problem: RarDdls, loads: list[int]) -> GangQueue:
    queue = GangQueue(problem, estimates(problem).times)
    queue.load[:] = loads
    return queue


def test_fa_ffp_takes_least_loaded_admissible_idle_gpus() -> None:
    problem = constant([2], [3], [2, 3])
    queue = queue_with_loads(problem, [5, 1, 4, 1, 0])
    assert fa_ffp(queue, 0, float("inf")) == [4, 1]  # ties by GPU: 1 before 3
    queue.idle[4] = False
    assert fa_ffp(queue, 0, float("inf")) == [1, 3]
    assert fa_ffp(queue, 0, 4) == [1, 3]  # 1 + 3 <= 4
    assert fa_ffp(queue, 0, 3) is None


def test_lbsgf_keeps_to_the_least_busy_servers() -> None:
    problem = constant([2], [3], [2, 3, 2])
    queue = queue_with_loads(problem, [6, 0, 2, 2, 2, 5, 5])  # 3, 2 and 5 per GPU
    assert least_busy_servers(queue, 2) == {1}
    assert least_busy_servers(queue, 4) == {0, 1}
    assert least_busy_servers(queue, 99) == {0, 1, 2}  # all, where lambda G_j exceeds the cluster
    assert lbsgf(queue, 0, float("inf")) == [2, 3]
    assert lbsgf(queue, 0, float("inf"), reach=2.0) == [1, 2]
    queue.idle[2] = queue.idle[3] = False
    assert lbsgf(queue, 0, float("inf")) is None  # waits, though server 0 is idle


def test_a_schedule_of_exactly_the_horizon_is_found_unless_printed() -> None:
    """Errata E12: the printed search starts at m = T and compares with <."""
    problem = constant([1, 1, 1], [1, 1, 2], [2], horizon=3)
    repaired = sjf_bco(problem)
    printed = sjf_bco(problem, params=SjfBcoParams(search="printed"))
    assert repaired.objective == 3
    assert printed.status is Status.UNKNOWN
    assert printed.objective is None


def test_the_printed_search_without_a_horizon_finds_jobs_one_after_the_other() -> None:
    """T is then one slot more than all estimates: with T = 12 there is no shorter schedule."""
    params = SjfBcoParams(search="printed")
    assert sjf_bco(constant([2, 2], [5, 7], [2]), params=params).objective == 12
    assert sjf_bco(constant([2, 2], [5, 7], [2], horizon=12), params=params).objective is None


def test_not_found_is_unknown_and_proven_impossible_is_infeasible() -> None:
    missed = constant([1, 1, 1], [1, 1, 2], [2], horizon=2)  # the optimum is 2
    assert optimum(missed) == 2
    assert sjf_bco(missed).status is Status.UNKNOWN
    impossible = constant([1, 1, 1], [1, 1, 3], [2], horizon=2)
    result = sjf_bco(impossible)
    assert result.status is Status.INFEASIBLE
    assert result.bound.value == 3


def test_runs_without_a_limit_save_makespan_that_the_bisection_loses() -> None:
    """Claim "feasibility-only": moving right on feasibility alone gives 13 on this instance."""
    problem = constant([2, 1, 2, 2], [3, 6, 4, 6], [3, 1])
    assert sjf_bco(problem).objective == 12


def test_a_run_is_reused_only_where_it_respects_the_limit() -> None:
    """Claim "reuse-upwards": at kappa = 4 the limit 6 gives makespan 9 and the limit 8 gives 8."""
    problem = constant([4, 3, 2, 3], [3, 3, 5, 3], [3, 1, 3])
    order = sorted(range(4), key=lambda j: (problem.jobs[j].gpus, j))
    run = _runner(problem, estimates(problem).times, order, SjfBcoParams())
    assert [run(4, limit).makespan for limit in (6, 8)] == [9, 8]


def test_reported_theta_is_feasible_and_bounds_the_load() -> None:
    cluster = generate.paper_cluster(10, seed=1)
    problem = RarDdls(generate.rar_workload(cluster, jobs=60, seed=1))
    result = sjf_bco(problem)
    again = sjf_bco(RarDdls(problem.instance), params=SjfBcoParams(kappa=result.info["kappa"]))
    assert again.objective == result.objective
    assert result.info["theta"] <= result.info["load"]


def test_a_limit_that_only_plans_beyond_the_horizon_respect_is_not_feasible() -> None:
    """One kappa ends by T = 10, the other later, with less load; it was reported at theta = 8."""
    problem = constant([2] * 6, [3, 5, 8, 3, 5, 2], [3, 2, 2], horizon=10)
    result = sjf_bco(problem)
    run = _runner(problem, estimates(problem).times, range(6), SjfBcoParams())
    plans = [run(kappa, result.info["theta"]) for kappa in (1, 2)]
    assert result.objective == 10
    assert min(plan.makespan for plan in plans if plan is not None) <= 10
    without_horizon = sjf_bco(RarDdls(problem.instance, xi2=problem.xi2))
    assert without_horizon.info["theta"] < result.info["theta"]


def test_time_limit_keeps_the_first_run() -> None:
    problem = constant([1, 2, 1, 2], [5, 6, 7, 8], [3])
    result = sjf_bco(problem, time_limit=0.0)
    assert result.stop is Stop.TIME_LIMIT
    assert result.iterations == 1
    assert result.objective is not None


def test_no_jobs() -> None:
    result = sjf_bco(RarDdls(Instance(Cluster.of_sizes([2]), [])))
    assert (result.objective, result.bound.value) == (0, 0)
    assert result.status is Status.OPTIMAL


def test_u_scales_theta_only() -> None:
    problem = constant([1, 2, 1, 2], [5, 6, 7, 8], [3])
    one, two = sjf_bco(problem), sjf_bco(problem, params=SjfBcoParams(u=2.0))
    assert one.objective == two.objective
    assert two.info["theta"] <= -(-one.info["theta"] // 2)
