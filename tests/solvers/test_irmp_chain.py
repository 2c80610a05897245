"""The exact chain of IRMP: equal to trying everything, and to branch and bound on the model."""

import math
import signal
import time
from dataclasses import replace
from importlib import import_module
from typing import Any

import highspy
import numpy as np
import pytest

from few import each_seed
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.formulations.irmp.problem import Irmp
from gangsched.formulations.limited import check_time
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, Power
from gangsched.solvers import Status, Stop
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.ours.irmp.chain import irmp_exact
from gangsched.solvers.ours.irmp.columns import generate
from gangsched.solvers.ours.irmp.placement import Choice, IntegerProgram, place
from gangsched.solvers.ours.irmp.pricing import Classes
from revenue_optimum import optimum, random_problem

# the module, not the function of its name
chain = import_module("gangsched.solvers.ours.irmp.chain")


def gang(id: str, worth: float, **more: Any) -> ParameterServerJob:
    """Two slots on two workers of one node; ten times as long on two nodes."""
    given: dict[str, Any] = {
        "gpus": 2, "epochs": 2, "minibatches": 1, "rates": (1, 0.1), "utility": Linear(-1, worth)
    }  # fmt: skip
    return ParameterServerJob(id=id, **{**given, **more})


def three(**more: Any) -> Irmp:
    """Three gangs of two workers; two nodes of three, which hold one gang each."""
    jobs = [gang(id, worth) for id, worth in (("a", 30), ("b", 29), ("c", 28))]
    return Irmp(Instance(Cluster([Node("s1", 3, ps=2), Node("s2", 3, ps=2)]), jobs), **more)


def check(problem: Irmp) -> int:
    """Compare with trying everything; return the number of cuts."""
    found, best = irmp_exact(problem), optimum(problem)
    assert found.stop is Stop.PROVEN
    if best is None:
        assert found.status is Status.INFEASIBLE
    else:
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(best[0], abs=1e-6)
    return int(found.info["cuts"])


@each_seed(range(12))
@pytest.mark.parametrize("types", [("",), ("A", "B")])
def test_tiny_instances_are_solved(seed: int, types: Any) -> None:
    rng = np.random.default_rng([seed, len(types)])
    check(random_problem(rng, types=types, nodes=3, optional=bool(seed % 2)))


@each_seed(range(8))
def test_promises_are_kept_or_proven_impossible(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    least = float(rng.integers(0, 40))
    check(random_problem(rng, jobs=4, users=2, alone={"u1": least}))


def test_no_run_of_an_optimum_is_left_out() -> None:
    looked_at = everything = 0
    for seed in range(20):
        problem = random_problem(np.random.default_rng([seed, 9]), nodes=3)
        best = optimum(problem)
        assert best is not None
        priced = chain._Priced(problem, generate(problem, block=1, tolerance=1e-6))
        # a start just below the optimum leaves the fewest runs over
        listed = {(run.job, run.start, run.end) for run in priced.choices(best[0] - 1e-7)}
        for j, run in enumerate(best[1]):
            if run is not None and problem.value(j, run.end) > 0:
                assert (j, run.start, run.end) in listed
        looked_at += len(listed)
        everything += len({run[:3] for run in priced.choices(-math.inf)})
    assert looked_at < everything / 2


def test_placements_that_fail_are_cut_off() -> None:
    cuts = []
    for seed in (5, 17, 46, 50):  # of a search over random ones
        rng = np.random.default_rng(seed)
        nodes = [Node(f"s{i}", int(rng.integers(2, 4)), ps=2) for i in range(2)]
        jobs = [
            gang(
                f"j{i}",
                0,
                epochs=int(rng.integers(1, 3)),
                release=int(rng.integers(0, 2)),
                rates=(1, float(rng.choice([0.1, 0.5]))),
                utility=Linear(-float(rng.integers(1, 9)), float(rng.integers(15, 40))),
            )
            for i in range(4)
        ]
        instance = Instance(Cluster(nodes), jobs)
        optional = bool(rng.integers(2))
        cuts.append(check(Irmp(instance, ps_bandwidth=2, horizon=4, optional=optional)))
    assert min(cuts) >= 1


def test_six_workers_on_two_nodes_do_not_hold_three_gangs() -> None:
    found = irmp_exact(three(horizon=2))
    # together the nodes have room for all, 28 + 27 + 26; one of them has no node
    assert (found.objective, found.info["cuts"], found.iterations) == (28 + 27, 1, 2)
    assert found.bound is not None
    assert (found.bound.method, found.bound.certificate) == ("branch and bound", None)


def test_all_must_run_and_cannot() -> None:
    found = irmp_exact(three(horizon=2, optional=False))
    assert (found.status, found.solution, found.bound) == (Status.INFEASIBLE, None, None)
    none = Irmp(Instance(Cluster([Node("s", 2)]), [gang("a", 9)]), optional=False)  # no PS
    assert irmp_exact(none).status is Status.INFEASIBLE


def test_a_job_that_fits_nowhere_is_not_waited_for() -> None:
    jobs = [gang("a", 0, utility=Power(9, 1))]
    found = irmp_exact(Irmp(Instance(Cluster([Node("s", 2)]), jobs)))  # no PS
    assert (found.status, found.objective) == (Status.OPTIMAL, 0)


def test_without_a_horizon_the_third_gang_waits() -> None:
    found = irmp_exact(three())
    assert (found.status, found.objective) == (Status.OPTIMAL, 28 + 27 + 24)


@pytest.mark.parametrize("optional", [True, False])
def test_more_slots_are_looked_at_where_a_job_is_late(
    optional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "default_slots", lambda problem: 2)
    jobs = [gang(i, 0, utility=Power(20, 1)) for i in "abc"]
    problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), jobs), optional=optional)
    monkeypatch.setattr(chain, "improved_runs", lambda *_, **__: None)
    found = irmp_exact(problem)
    assert found.objective == pytest.approx(20 / 2 + 20 / 4 + 20 / 6)
    assert (found.status, found.info["slots"]) == (Status.OPTIMAL, 8)


def small(seed: int) -> Irmp:
    """Four jobs on three nodes of two or four workers."""
    rng = np.random.default_rng(seed)
    nodes = [Node(f"s{i}", int(rng.choice([2, 4])), ps=1) for i in range(3)]
    jobs = []
    for i in range(4):
        slope, worth = -float(rng.integers(1, 9)), float(rng.integers(20, 200))
        convex = Power(worth, float(rng.choice([1.0, 1.5])))
        jobs.append(
            gang(
                f"j{i}", 0, gpus=int(rng.integers(2, 9)), epochs=int(rng.integers(1, 4)),
                release=int(rng.integers(0, 4)), rates=(1, 0.7),
                utility=Linear(slope, worth) if seed % 2 else convex,
            )
        )  # fmt: skip
    return Irmp(Instance(Cluster(nodes), jobs), ps_bandwidth=4, horizon=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_model_has_the_same_optimum(seed: int) -> None:
    problem = small(seed)
    found, other = irmp_exact(problem), branch_and_bound(problem)
    assert found.status is other.status is Status.OPTIMAL
    assert found.objective == pytest.approx(other.objective, abs=1e-6)


def test_a_met_bound_of_the_program_is_a_certificate() -> None:
    problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), [gang("a", 9), gang("b", 8)]))
    found = irmp_exact(problem)
    assert (found.objective, found.status) == (7 + 4, Status.OPTIMAL)
    assert found.bound is not None
    assert found.bound.certificate is not None
    verify_bound(problem, found.bound)


def test_no_time_leaves_what_is_proven_so_far() -> None:
    problem = three(horizon=2)
    found = irmp_exact(problem, time_limit=1e-9)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert found.bound is not None
    assert found.objective == 55 < found.bound.value


@pytest.mark.slow
def test_a_program_that_is_not_built_in_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its building has no end here, but that of the time."""

    def endless(*_: Any) -> None:
        while True:
            time.sleep(0.001)
            check_time()

    monkeypatch.setattr(chain, "_Master", endless)
    result = irmp_exact(three(), time_limit=1.0)
    assert (result.status, result.stop) == (Status.FEASIBLE, Stop.TIME_LIMIT)
    assert (result.objective, result.bound.value) == (79, 81)
    verify_bound(three(), result.bound)


@pytest.mark.parametrize("program", [1, 2, 3])
def test_ctrl_c_in_highs_keeps_what_was_found(
    program: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """First the choice of runs, then their placement, then what of them has none."""
    run = highspy.Highs.run
    started: list[int] = []

    def interrupted(self: Any) -> Any:
        if self.HandleUserInterrupt:
            started.append(program)
            if len(started) == program:
                signal.raise_signal(signal.SIGINT)
        return run(self)

    monkeypatch.setattr(highspy.Highs, "run", interrupted)
    found = irmp_exact(three(horizon=2))
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.INTERRUPTED)
    assert found.bound is not None
    assert found.objective == 28 + 27 < found.bound.value
    assert "interrupted: HiGHS has stopped" in caplog.text
    assert found.iterations == 1


@pytest.mark.parametrize("where", ["generate", "improved_runs", "place"])
def test_ctrl_c_elsewhere_leaves_a_schedule_and_a_bound(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function, calls = getattr(chain, where), []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(where)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return function(*args, **options)

    monkeypatch.setattr(chain, where, interrupted)
    problem = three(horizon=2)
    found = irmp_exact(problem)
    assert (found.status, found.stop) == (Status.FEASIBLE, Stop.INTERRUPTED)
    assert found.bound is not None
    assert found.objective == 28 + 27 < found.bound.value
    verify_bound(problem, found.bound)
    assert "interrupted, what was found is kept" in caplog.text


@pytest.mark.parametrize("unit", [1e-12, 1e15, 1e60])
def test_optima_do_not_depend_on_the_unit_of_money(unit: float) -> None:
    """HiGHS takes 1e-6 for 0, and 1e20 for infinite."""
    problem = three(horizon=2)
    jobs = [
        replace(job, utility=Linear(job.utility.slope * unit, job.utility.constant * unit))
        for job in problem.jobs
        if isinstance(job.utility, Linear)
    ]
    found = irmp_exact(replace(problem, instance=replace(problem.instance, jobs=jobs)))
    assert (found.status, found.info["cuts"]) == (Status.OPTIMAL, 1)
    assert found.objective == pytest.approx((28 + 27) * unit)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="time_limit=0 is not positive"):
        irmp_exact(three(), time_limit=0)
    with pytest.raises(ValueError, match="preemptive=True"):
        irmp_exact(three(preemptive=True))


# --- placement -----------------------------------------------------------------------------------


def test_the_smallest_set_without_a_placement_is_named() -> None:
    problem = three()
    runs = [Choice(j, 0, 2, 1.0, 0, True, (2,), 1) for j in (0, 1, 2)]
    runs.append(Choice(0, 0, 9, 1.0, 0, True, (1,), 1))  # the third worker of a node
    placed = place(problem, Classes.of(problem), runs, math.inf)
    assert placed.runs is None
    assert placed.unplaced == [runs[:3]]


def test_spread_workers_have_the_parameter_servers_that_they_need() -> None:
    # one PS serves two workers: a host with 2 of 5 workers needs two, with 3 of 5 one
    nodes = [Node("s1", 3, ps=1), Node("s2", 3, ps=1)]
    problem = Irmp(Instance(Cluster(nodes), [gang("a", 90, gpus=5)]), ps_bandwidth=2)
    (run,) = place(
        problem, Classes.of(problem), [Choice(0, 0, 20, 70.0, 0, False, (5,), 1)], math.inf
    ).runs or []  # fmt: skip
    (host,) = run.ps
    assert run.nodes[host] == 3
    assert sum(run.nodes.values()) == 5
    assert run.ps == {host: 1}


@pytest.mark.parametrize(
    ("change", "no_less"),
    [
        ({}, True),
        ({"start": 0, "end": 9, "workers": (3, 1)}, True),
        ({"start": 2}, False),
        ({"end": 3}, False),
        ({"workers": (3, 0)}, False),
        ({"host": 1}, False),
        ({"central": True}, True),  # it has one node for all, others may have several
    ],
)
def test_cuts_hold_for_runs_that_need_no_less(change: Any, no_less: bool) -> None:
    spread = Choice(0, 1, 4, 1.0, 0, False, (2, 1), 1)
    assert spread._replace(**change).needs_no_less(spread) is no_less
    central = spread._replace(central=True)
    assert not spread.needs_no_less(central)


def test_without_time_nothing_is_said_of_a_placement() -> None:
    problem = three()
    runs = [Choice(0, 0, 2, 1.0, 0, True, (2,), 1)]
    assert place(problem, Classes.of(problem), runs, -math.inf) == (None, [])


def test_a_program_without_variables_is_judged_by_its_rows() -> None:
    program = IntegerProgram()
    assert program.solve(math.inf).x is not None
    program.rows.append((1.0, {}, 1.0))
    answer = program.solve(math.inf)
    assert (answer.x, answer.proven) == (None, True)
