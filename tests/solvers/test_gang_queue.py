"""Compiled runs take the GPUs that the paper's lines say, and do what a gang queue promises."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brute_force import slot_by_slot
from gangsched.formulations.rar_ddls.problem import RarDdls, estimates
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.solvers.rar_ddls import gang_queue_core as core
from gangsched.solvers.rar_ddls.gang_queue import (
    CompiledQueue,
    GangQueue,
    Plan,
    backfill,
    head_of_line,
)
from gangsched.solvers.rar_ddls.sjf_bco import fa_ffp, lbsgf
from strategies import rar_problems


def first_idle(queue: GangQueue, job: int, limit: float) -> list[int] | None:
    """The first G_j idle GPUs whose load stays within the limit."""
    fits = limit - queue.rho[job]
    idle = [g for g, free in enumerate(queue.idle) if free and queue.load[g] <= fits]
    return idle[: queue.gang(job)] if len(idle) >= queue.gang(job) else None


RULES = {core.LEAST_LOADED: fa_ffp, core.FIRST: first_idle}


def same(one: Plan | None, other: Plan | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        np.array_equal(one.start, other.start)
        and np.array_equal(one.end, other.end)
        and all(map(np.array_equal, one.gpus, other.gpus))
        and one.load == other.load
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[RarDdls, list[int], list[int], float, float]:
    problem = draw(rar_problems(max_jobs=7))
    jobs = range(len(problem.jobs))
    order = draw(st.permutations(jobs))
    rule = [draw(st.sampled_from([0, 1, 2])) for _ in jobs]
    limit = draw(st.one_of(st.just(core.NO_LIMIT), st.integers(1, 60)))
    return problem, list(order), rule, limit, draw(st.sampled_from([1.0, 1.5, 2.0, 8.0]))


@given(runs())
def test_compiled_runs_place_as_the_paper_s_lines(run) -> None:
    problem, order, rule, limit, reach = run
    rho = estimates(problem).times

    def choose(queue: GangQueue, job: int) -> list[int] | None:
        if rule[job] == core.LEAST_BUSY_SERVERS:
            return lbsgf(queue, job, limit, reach)
        return RULES[rule[job]](queue, job, limit)

    compiled = CompiledQueue(problem, rho).head_of_line(
        np.array(order), np.array(rule), limit=limit, reach=reach
    )
    assert same(compiled, head_of_line(problem, rho, order, choose))


@given(runs())
def test_completions_are_those_of_the_slot_by_slot_reference(run) -> None:
    problem, order, *_ = run
    rho = estimates(problem).times
    for plan in (
        head_of_line(problem, rho, order, lambda q, j: fa_ffp(q, j, float("inf"))),
        CompiledQueue(problem, rho).backfill(np.array(order)),
    ):
        if plan is not None:
            placement = [row.gpus for row in plan.schedule(problem)]
            longest = plan.makespan + 1
            assert slot_by_slot(problem, plan.start, placement, longest) == plan.end.tolist()


@given(runs())
def test_head_of_line_never_overtakes_and_never_idles_needlessly(run) -> None:
    problem, order, *_ = run
    rho = estimates(problem).times
    plan = head_of_line(problem, rho, order, lambda q, j: fa_ffp(q, j, float("inf")))
    if plan is None:
        return
    starts = plan.start[order]
    assert np.all(np.diff(starts) >= 0)
    gangs = np.array([job.gpus for job in problem.jobs])
    for before, job in pairwise(order):
        if plan.start[job] > plan.start[before]:
            slot = plan.start[job] - 1  # it did not fit one slot earlier
            running = (plan.start <= slot) & (plan.end > slot)
            assert gangs[running].sum() + gangs[job] > problem.instance.cluster.gpus


@given(runs())
def test_backfill_leaves_no_waiting_job_that_fits(run) -> None:
    problem, order, *_ = run
    plan = CompiledQueue(problem, estimates(problem).times).backfill(np.array(order))
    if plan is None:
        return
    gangs = np.array([job.gpus for job in problem.jobs])
    for job in order:
        for slot in range(int(plan.start[job])):
            running = (plan.start <= slot) & (plan.end > slot)
            assert gangs[running].sum() + gangs[job] > problem.instance.cluster.gpus


def spanning(*gangs: int, sizes: tuple[int, ...], hundreds: int = 1) -> RarDdls:
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=100 * hundreds, gradient=0.0, base_time=0.0098)
        for i, g in enumerate(gangs)
    ]
    return RarDdls(Instance(Cluster.of_sizes(sizes), jobs))


def test_backfilling_prefers_the_tightest_server_then_the_emptiest_ones() -> None:
    problem = spanning(2, 5, 1, sizes=(4, 2, 3))
    queue = CompiledQueue(problem, estimates(problem).times)
    plans = [queue.backfill(np.array(order)) for order in ([0], [1, 2])]
    taken = [{j: plan.gpus[j].tolist() for j in (0, 1, 2)} for plan in plans if plan is not None]
    assert taken[0][0] == [4, 5]  # server 1 fits exactly
    assert taken[1][1] == [0, 1, 2, 3, 6]  # no server holds 5: servers 0 and 2 have most idle
    assert taken[1][2] == [4]  # servers 1 and 2 have two idle GPUs each: the first one


def test_a_gang_that_only_ever_waits_gives_no_plan() -> None:
    problem = spanning(2, sizes=(1, 1))
    assert head_of_line(problem, estimates(problem).times, [0], lambda q, j: None) is None
    assert backfill(problem, estimates(problem).times, [0], lambda q, j: None) is None


def test_a_deadlock_gives_no_plan() -> None:
    """Claim "progress": two spanning jobs bring each other to a halt, phi(2, 2) = 0."""
    jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.3, base_time=0.01) for i in "ab"]
    problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    rho = estimates(problem).times
    assert CompiledQueue(problem, rho).backfill(np.array([0, 1])) is None
    assert head_of_line(problem, rho, [0, 1], lambda q, j: fa_ffp(q, j, float("inf"))) is None
