"""The selector's parts, each against something that shares nothing with it."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from few import each_seed
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.unisched.compact import (
    Blocks,
    Options,
    Queue,
    capacity_of,
    capacity_of_problem,
    compact,
    corners,
    lease_terms_of,
    node_capacity,
    options_of,
    options_of_problem,
    row_weights,
    used,
)
from gangsched.formulations.unisched.leases import LeasePhase, lease_terms
from gangsched.formulations.unisched.problem import CONSOLIDATION_ROWS, UniSched
from gangsched.instances import Cluster, Instance
from gangsched.instances.model import DeadlineJob
from gangsched.solvers.child import Child
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.mip_worker import Program, search, solve_mip
from gangsched.solvers.result import Bound, Stop
from gangsched.solvers.unisched.consolidation import consolidated_rows
from gangsched.solvers.unisched.density import by_density
from gangsched.solvers.unisched.prices import Prices, best_prices, floor_to_step
from gangsched.solvers.unisched.selector import Selector
from gangsched.solvers.unisched.selectors import (
    UniSchedParams,
    density_greedy,
    lp_selector,
)

ALLOCATIONS = ["cells", "exact", "consolidated"]


def queue_of(seed: int, jobs: int = 60, nodes: int = 2, **parameters: Any) -> UniSched:
    """More than fits: every kind of job, phase and gang."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(jobs):
        work = int(rng.integers(100, 6000))
        gpus = int(rng.choice([1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16]))
        first = int(work * rng.uniform(0.9, 2))
        rewards = [(first, 100.0), (int(first * 1.2) + 1, 80.0), (int(first * 1.5) + 2, 20.0)]
        made.append(
            DeadlineJob(
                id=f"j{i}",
                gpus=gpus,
                work=work,
                rewards=rewards[: int(rng.integers(0, 4))],
                split_speed=float(rng.choice([0.5, 0.75, 0.9, 1.0])),
                preemption_cost=int(rng.choice([0, 25, 300])),
            )
        )
    phases = {i: LeasePhase(int(rng.integers(0, 3))) for i in range(jobs)}
    few = frozenset(np.flatnonzero(rng.random(jobs) < 0.1).tolist())
    instance = Instance(Cluster.of_sizes([8] * nodes), made)
    return UniSched(instance, phases=phases, profilers=few, **parameters)


def without_best_effort(problem: UniSched) -> UniSched:
    jobs = [replace(job, rewards=job.rewards or [(9000, 50)]) for job in problem.jobs]
    return replace(problem, instance=replace(problem.instance, jobs=jobs), profilers=frozenset())


def case_of(problem: UniSched) -> tuple[Options, Any]:
    options = options_of_problem(problem)
    return options, capacity_of_problem(problem, options.slots)


def full_lp(options: Options, room: Any) -> float:
    """The linear program with every slot, by SciPy, in cumulative form."""
    rows, slots = room.shape
    t = np.arange(1, slots + 1)
    use = np.maximum(0, options.needed[:, None] - np.maximum(0, options.within[:, None] - t))
    takes = np.concatenate([(options.loads[r][:, None] * use).T for r in range(rows)])
    one = options.job[None, :] == np.unique(options.job)[:, None]
    found = linprog(
        -options.value,
        A_ub=np.concatenate([takes, one.astype(float)]),
        b_ub=np.concatenate([room.cumsum(axis=1).ravel(), np.ones(len(one))]),
    )
    return float(-found.fun)


# -- lease arithmetic and options -----------------------------------------------------------------


@settings(max_examples=100)
@given(
    work=st.integers(1, 4000),
    deadline=st.integers(-100, 9000),
    speed=st.sampled_from([10**6, 999_999, 750_000, 500_000, 123_457, 1]),
    cost=st.sampled_from([0, 1, 25, 599, 4000]),
    phase=st.sampled_from(list(LeasePhase)),
    lease=st.sampled_from([600, 7, 1]),
    rounding=st.sampled_from(["lossless", "paper"]),
)
def test_terms_of_columns_are_those_of_one_job(
    work: int, deadline: int, speed: int, cost: int, phase: LeasePhase, lease: int, rounding: Any
) -> None:
    """Three times in one array, beside two others: what one needs does not depend on others."""
    rows = [(1, 5, 10**6, 3, LeasePhase.FRESH), (work, deadline, speed, cost, phase)] * 2
    rows += [(99, 700, 500_000, 80, LeasePhase.RUNNING)]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    needed, within = lease_terms_of(*columns, lease=lease, rounding=rounding)  # type: ignore[call-arg]
    for k, (w, d, s, c, p) in enumerate(rows):
        terms = lease_terms(w, d, lease=lease, speed=s, cost=c, phase=p, rounding=rounding)
        assert (needed[k], within[k]) == (terms or (0, 0))


def loads_of(problem: UniSched, pieces: tuple[int, ...]) -> tuple[int, ...]:
    rows = [tuple(range(1, problem.node_gpus + 1))]
    if problem.allocations == "exact":
        rows += [row for row, _ in CONSOLIDATION_ROWS[problem.node_gpus][:-1]]
    return tuple(sum(row[piece - 1] for piece in pieces) for row in rows)


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@each_seed(range(6))
def test_options_are_those_of_the_problem_but_the_dominated(seed: int, allocations: Any) -> None:
    problem = queue_of(
        seed,
        allocations=allocations,
        rounding=["lossless", "paper"][seed % 2],
        sr_aware=seed % 3 > 0,
        lexicographic=seed % 2 == 0,
    )
    every = [(o, loads_of(problem, o.allocation.pieces)) for o in problem.options()]

    def better(a: Any, b: Any) -> bool:
        """Whoever serves b serves a: L_b of the first Q_b leases hold L_a of the first Q_a."""
        (one, less), (other, more) = a, b
        held = other.needed - max(0, other.within - one.within)
        cheap = all(x <= y for x, y in zip(less, more, strict=True))
        return one.value >= other.value and cheap and held >= one.needed

    kept = []
    for k, b in enumerate(every):
        mates = [(m, a) for m, a in enumerate(every) if a[0].job == b[0].job and m != k]
        ahead = (b[0].deadline, -b[0].allocation.speed)
        if not any(
            better(a, b) and (not better(b, a) or (a[0].deadline, -a[0].allocation.speed) < ahead)
            for _, a in mates
        ):
            kept.append(b)
    kept.sort(key=lambda b: (b[0].job, b[0].deadline, -b[0].allocation.speed))
    options = options_of_problem(problem)
    assert 0 < len(kept) < len(every)
    assert [tuple(column) for column in options.loads.T] == [loads for _, loads in kept]
    for name, read in {
        "job": lambda o: o.job,
        "gpus": lambda o: o.allocation.gpus,
        "needed": lambda o: o.needed,
        "within": lambda o: o.within,
        "value": lambda o: o.value,
        "speed": lambda o: o.allocation.speed,
        "split": lambda o: o.allocation.anywhere and o.allocation.gpus > 1,
        "deadline": lambda o: o.deadline,
    }.items():
        found = getattr(options, name)
        if name == "split":  # of a single GPU it says nothing
            found = found & (options.gpus > 1)
        assert found.tolist() == [read(o) for o, _ in kept], name


def test_no_candidates_have_no_options() -> None:
    problem = UniSched(Instance(Cluster.of_sizes([8]), []))
    options = options_of_problem(problem)
    assert (len(options), options.slots) == (0, 0)
    selection = Selector().select(options, capacity_of_problem(problem, 0), keys=[])
    assert (selection.value, selection.bound.value, selection.stop) == (0, 0, Stop.PROVEN)


def test_gangs_that_no_cluster_holds_have_no_options() -> None:
    queue = Queue.of(queue_of(0))
    assert options_of(queue, sizes=[0, 8, 0]).gpus.max() <= 8


def test_jobs_that_are_released_later_are_refused() -> None:
    job = DeadlineJob(id="late", gpus=1, work=5, release=3, rewards=[(9, 1)])
    problem = UniSched(Instance(Cluster.of_sizes([1]), [job]))
    for solve in (lp_selector, density_greedy):
        with pytest.raises(ValueError, match=r"job 'late': release=3, the compact form needs"):
            solve(problem)


# -- rows and blocks ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_rows_are_those_of_the_consolidation_test(size: int) -> None:
    weights, limits = consolidated_rows(size)
    own = row_weights(size, "exact")
    assert own[0].tolist() == list(range(1, size + 1))
    assert sorted(map(tuple, own.tolist())) == sorted(map(tuple, np.asarray(weights).tolist()))
    sides = {
        tuple(row): limit for row, limit in zip(weights.tolist(), limits.tolist(), strict=True)
    }
    for row in own.tolist():
        assert node_capacity(tuple(row), size)[size] == sides[tuple(row)]


def test_capacity_counts_what_each_node_has_free() -> None:
    room = capacity_of([8, 8], 2, rows=row_weights(8, "exact"), free=[3, 8])
    assert room[0].tolist() == [11, 16]
    assert room[1].tolist() == [0 + 2, 4]  # no gang of 4 fits on 3 GPUs


@pytest.mark.parametrize("allocations", ALLOCATIONS)
def test_blocks_say_what_the_first_slots_must_hold(allocations: Any) -> None:
    problem = queue_of(1, jobs=25, allocations=allocations, free=[5, 8])
    options, room = case_of(problem)
    rng = np.random.default_rng(0)
    for ends in (None, corners(options, room), np.array([2, 3, options.slots])):
        blocks = compact(options, room, ends)
        at = np.arange(1, options.slots + 1) if ends is None else ends
        z = rng.random(len(options))
        for r, left in enumerate(np.split(blocks.left(z), len(room))):
            for t, s in zip(at, left, strict=True):
                window = np.maximum(0, options.within - t)
                takes = options.loads[r] * np.maximum(0, options.needed - window)
                assert s == pytest.approx(room[r, :t].sum() - takes @ z)
        slack = (sparse.identity(blocks.C.size) - blocks.S) @ blocks.left(z)
        assert blocks.D @ z + slack == pytest.approx(blocks.C)
        assert (
            blocks.J @ np.ones(len(options)) == np.unique(options.job, return_counts=True)[1]
        ).all()


@each_seed(range(4))
def test_corners_are_enough(seed: int) -> None:
    """A choice that fits after the corners fits after every slot; dropping one is noticed."""
    problem = queue_of(seed, jobs=20, free=[3, 6])
    options, room = case_of(problem)
    rng = np.random.default_rng(seed)
    supply, at = room.cumsum(axis=1), corners(options, room) - 1
    fits = broken = 0
    for _ in range(300):
        z = (rng.random(len(options)) < rng.uniform(0.05, 0.5)).astype(int)
        over = used(options, z, 1, options.slots) > supply
        assert over.any() == over[:, at].any()
        fits += not over.any()
        broken += bool(over.any())
    assert min(fits, broken) > 10


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        ([2], r"capacity: 1 slots, the options need \d+"),
        ([16] * 40 + [15] * 40, r"capacity: it falls from one slot to the next"),
        ([-1] + [16] * 79, r"capacity: a slot has less than 0"),
        ([[16] * 80, [8] * 80], r"capacity: 2 rows, options have 1"),
    ],
)
def test_a_wrong_capacity_is_refused(capacity: Any, message: str) -> None:
    problem = UniSched(
        Instance(
            Cluster.of_sizes([8, 8]),
            [DeadlineJob(id="a", gpus=1, work=600 * 70, rewards=[(600 * 71, 100)])],
        )
    )
    with pytest.raises(ValueError, match=message):
        by_density(options_of_problem(problem), capacity)


@pytest.mark.parametrize("allocations", ALLOCATIONS)
def test_a_schedule_is_a_solution_of_the_compact_form(allocations: Any) -> None:
    problem = queue_of(5, jobs=25, allocations=allocations, free=[8, 5])
    result = lp_selector(problem)
    model = problem.build("compact")
    model.embed(result.solution)
    blocks: Blocks = model.native
    assert blocks.V @ blocks.z == pytest.approx(result.objective)
    assert (blocks.J @ blocks.z <= 1).all()
    assert (blocks.left(blocks.z) >= 0).all()
    assert (model.exact, model.relaxation) == (False, True)
    with pytest.raises(ValueError, match="form 'compact' is a relaxation"):
        model.extract()


# -- by density -----------------------------------------------------------------------------------


def taken(options: Options, room: Any, order: Any) -> list[int]:
    """Options in this order, each if all that is taken fits, or worth more than its job's own."""
    left, held = room.cumsum(axis=1), dict[int, int]()
    for o in order.tolist():
        before = held.get(options.job[o])
        if before is not None and options.value[before] >= options.value[o]:
            continue
        z = np.zeros(len(options), dtype=int)
        z[[*({*held.values()} - {before}), o]] = 1
        if (used(options, z, *room.shape) <= left).all():
            held[options.job[o]] = o
    return sorted(held.values())


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@each_seed(range(5))
def test_machine_code_takes_what_fits_by_falling_density(seed: int, allocations: Any) -> None:
    options, room = case_of(queue_of(seed, allocations=allocations, free=[7, 2]))
    first = np.random.default_rng(seed).random(len(options)) < 0.1
    for before in (None, first):
        chosen = by_density(options, room, before)
        dense = options.value / (options.gpus * options.needed)
        late = np.zeros(len(options), bool) if before is None else ~before
        assert chosen.tolist() == taken(options, room, np.lexsort((options.gpus, -dense, late)))
        z = np.isin(np.arange(len(options)), chosen).astype(int)
        assert (used(options, z, *room.shape) <= room.cumsum(axis=1)).all()
        assert np.unique(options.job[chosen]).size == chosen.size
        assert 0 < chosen.size < np.unique(options.job).size


def test_a_better_option_replaces_a_denser_one() -> None:
    """100 for four leases is thinner than 80 for one slow... but there is room for it."""
    jobs = [
        DeadlineJob(id="a", gpus=3, work=600, rewards=[(700, 100), (1800, 99)], split_speed=0.6)
    ]
    problem = UniSched(Instance(Cluster.of_sizes([4]), jobs), sr_aware=False)
    options, room = case_of(problem)
    assert options.value[by_density(options, room)].tolist() == [100.0]


# -- the linear program, its prices and its basis -------------------------------------------------


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@each_seed(range(8))
def test_prices_prove_the_optimum_of_the_linear_program(seed: int, allocations: Any) -> None:
    problem = queue_of(seed, allocations=allocations, free=[8, seed] if seed % 2 else None)
    options, room = case_of(problem)
    selection = Selector().select(options, room)
    best = full_lp(options, room)
    proven = selection.prices.bound(options, room)
    assert float(proven) == pytest.approx(best, rel=1e-7)
    assert selection.value <= selection.bound.value <= proven + Fraction(1, 10**6)
    assert selection.value >= 0.9 * best
    assert selection.value >= math.fsum(options.value[by_density(options, room)])


def test_few_slots_are_looked_at() -> None:
    """The selector's rows are far fewer than the slots, and more than one program is needed."""
    problem = queue_of(2, jobs=150)
    options, room = case_of(problem)
    selector = Selector()
    selection = selector.select(options, room, keys=np.arange(len(problem.jobs)))
    assert selector._basis is not None
    assert selector._basis.ends.size < options.slots
    assert selection.rounds > 1


def later(problem: UniSched) -> UniSched:
    """One lease later: nobody has run, and three more jobs are there."""
    jobs = [
        replace(job, rewards=[(d - 600, v) for d, v in job.rewards if d > 600])
        for job in problem.jobs
    ]
    more = [replace(job, id=f"new{i}") for i, job in enumerate(problem.jobs[:3])]
    return replace(problem, instance=replace(problem.instance, jobs=[*jobs, *more]))


def test_without_the_shift_the_basis_is_another_and_the_optimum_is_not() -> None:
    problem = queue_of(4, jobs=300, nodes=5)
    keys = np.arange(300) * 7
    second = case_of(later(problem))
    then = np.concatenate([keys, [5000, 5001, 5002]])
    outcome = {}
    for name, shift in (("warm", 1), ("cold", 1), ("unshifted", 0)):
        selector = Selector()
        first = selector.select(*case_of(problem), keys=keys)
        assert first.iterations > 20
        if name == "cold":
            selector.load(None)
        outcome[name] = selector.select(*second, keys=then, shift=shift)
    bounds = [float(found.prices.bound(*second)) for found in outcome.values()]
    assert bounds == pytest.approx([bounds[0]] * 3, rel=1e-7)
    assert outcome["warm"].iterations < outcome["unshifted"].iterations
    assert outcome["warm"].rounds < outcome["cold"].rounds  # the slots that matter are known


def test_the_same_cycle_again_takes_no_iteration() -> None:
    options, room = case_of(queue_of(4, jobs=100))
    selector = Selector()
    first = selector.select(options, room, keys=np.arange(100))
    again = selector.select(options, room, keys=np.arange(100), shift=0)
    assert (first.iterations > 0, again.iterations, again.rounds) == (True, 0, 1)
    assert again.bound.value == first.bound.value


def test_without_time_there_is_a_choice_and_a_bound() -> None:
    problem = queue_of(0, jobs=80)
    options, room = case_of(problem)
    selection = Selector().select(options, room, time_limit=1e-9)
    assert selection.stop is Stop.TIME_LIMIT
    assert selection.chosen.tolist() == by_density(options, room).tolist()
    best = np.zeros(80)
    np.maximum.at(best, options.job, options.value)
    assert selection.bound.value == pytest.approx(best.sum())  # no prices: nothing is short
    verify_bound(problem, selection.bound)


@each_seed(range(20))
def test_what_prices_prove_is_the_sum_of_fractions(seed: int) -> None:
    """Against one job after the other, with rewards that no power of two divides."""
    rng = np.random.default_rng(seed)
    options = options_of_problem(queue_of(seed))
    value = options.value * rng.choice([1.0, 0.1, 1 / 3, 1e-9, 7e-20], len(options))
    options = replace(options, value=value)
    room = rng.integers(0, 50, (len(options.loads), options.slots))
    prices = Prices.of(rng.random(room.shape) * rng.choice([0, 0.01, 1]), largest=1e6)
    cost, _ = prices.gains(options)
    best = [Fraction(0)] * options.jobs
    for o, j in enumerate(options.job.tolist()):
        best[j] = max(best[j], Fraction(float(value[o])) * prices.scale - int(cost[o]))
    total = sum(best) + int((prices.numerator * room).sum())
    assert prices.bound(options, room) == total / prices.scale


def test_what_prices_prove_is_exact() -> None:
    """Values that are no binary fractions, against rationals."""
    problem = queue_of(6, jobs=30)
    options, room = case_of(problem)
    rng = np.random.default_rng(0)
    options = replace(options, value=rng.random(len(options)) * 100)
    prices = Prices.of(rng.random(room.shape) / 3, largest=1e6)
    falling = [Fraction(int(p), prices.scale) for p in prices.numerator[0]]
    assert falling == sorted(falling, reverse=True)
    total = sum((p * int(c) for p, c in zip(falling, room[0], strict=True)), Fraction(0))
    for j in np.unique(options.job):
        own = np.flatnonzero(options.job == j)
        total += max(
            0,
            *(
                Fraction(float(options.value[o]))
                - int(options.gpus[o])
                * sum(sorted(falling[: options.within[o]])[: options.needed[o]])
                for o in own
            ),
        )
    assert prices.bound(options, room) == total


def test_sums_of_integers_are_multiples_of_their_divisor() -> None:
    assert floor_to_step(Fraction(999, 10), np.array([20.0, 50.0])) == 90
    assert floor_to_step(Fraction(999, 10), np.array([20.0, 0.5])) == Fraction(999, 10)


# -- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@pytest.mark.parametrize("seed", range(2))
def test_bounds_are_what_their_certificates_prove(seed: int, allocations: Any) -> None:
    free = [8, 3] if seed % 2 else None
    for problem in (
        queue_of(seed, allocations=allocations, free=free),
        without_best_effort(queue_of(seed, allocations=allocations, free=free)),
    ):
        for solve in (lp_selector, density_greedy):
            bound = solve(problem).bound
            assert bound is not None
            assert bound.certificate is not None
            verify_bound(problem, bound)
            less = np.nextafter(float(bound.value), 0)
            with pytest.raises(InvalidCertificate, match="the certificate proves"):
                verify_bound(problem, Bound(less, bound.method, bound.certificate))


# -- branch and bound in its own process ----------------------------------------------------------


def program() -> Program:
    return Program(
        cost=np.array([2.0, 3.0]),
        matrix=sparse.csc_array([[1.0, 1.0]]),
        lower=np.array([0.0]),
        upper=np.array([1.0]),
        binary=2,
        start=np.zeros(2),
    )


HANGS = "import time\nwhile True: time.sleep(1)"
TELLS = (
    "import pickle, sys, time, numpy\npickle.load(sys.stdin.buffer)\n"
    "pickle.dump((False, (numpy.array([1.0, 0.0]), 7.0, False)), sys.stdout.buffer)\n"
    "sys.stdout.flush()\n"
)


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child(search)
    yield made
    made.close()


@pytest.fixture
def running(child: Child, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Child]:
    """A process that runs a script instead."""

    def run(script: str) -> Child:
        monkeypatch.setattr("gangsched.solvers.child.COMMAND", [sys.executable, "-c", script])
        return child

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("script", "found"), [(HANGS, None), (TELLS + HANGS, [1.0, 0.0])])
def test_a_solver_that_hangs_is_stopped(running: Any, script: str, found: Any) -> None:
    child = running(script)
    started = time.perf_counter()
    answer = solve_mip(program(), time_limit=2, child=child)
    assert time.perf_counter() - started < 3
    assert (answer.x is None) == (found is None)
    assert answer.x is None or answer.x.tolist() == found
    assert not answer.proven
    assert child._process is None


def test_a_crash_loses_nothing_that_was_told(running: Any) -> None:
    child = running(TELLS + "import os; os._exit(3)")
    answer = solve_mip(program(), time_limit=60, child=child)
    assert answer.x is not None
    assert (answer.x.tolist(), answer.bound, answer.proven) == ([1.0, 0.0], 7.0, False)


def test_a_program_larger_than_a_pipe_does_not_block(running: Any) -> None:
    large, child = replace(program(), start=np.zeros(10**6)), running(HANGS)
    started = time.perf_counter()
    solve_mip(large, time_limit=0.5, child=child)
    assert time.perf_counter() - started < 1.5


def test_the_process_stays_for_the_next_program(child: Child) -> None:
    answers = [solve_mip(program(), time_limit=60, child=child)]
    process = child._process
    answers.append(solve_mip(program(), time_limit=60, child=child))
    assert child._process is process
    assert process is not None
    for answer in answers:
        assert answer.proven
        assert answer.x is not None
        assert answer.x.round().tolist() == [0.0, 1.0]
        assert answer.bound == pytest.approx(3)
    process.kill()
    process.wait()
    assert solve_mip(program(), time_limit=60, child=child).proven  # another one


def test_the_process_ends_with_its_caller(child: Child) -> None:
    """A caller that is killed closes nothing, but the system does."""
    solve_mip(program(), time_limit=60, child=child)
    process = child._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=20) == 1


def test_ctrl_c_stops_the_process(running: Any) -> None:
    child, processes = running(TELLS + HANGS), []

    def hear(told: Any) -> bool:
        processes.append(child._process)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        child.ask(program(), hear)
    assert child._process is None
    assert processes[0].poll() is not None


@pytest.mark.slow
@pytest.mark.parametrize("script", [HANGS, "raise SystemExit"])
def test_the_selector_keeps_what_it_has_when_branch_and_bound_fails(
    running: Any, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, room = case_of(queue_of(0))
    selector = Selector()
    plain = selector.select(options, room)
    monkeypatch.setattr("gangsched.solvers.mip_worker.own_child", lambda: running(script))
    started = time.perf_counter()
    selection = selector.select(options, room, exact=True, time_limit=1.0)
    assert time.perf_counter() - started < 2
    assert selection.chosen.tolist() == plain.chosen.tolist()
    assert (selection.bound.value, selection.stop) == (plain.bound.value, Stop.TIME_LIMIT)
    started = time.perf_counter()
    result = lp_selector(queue_of(0), params=UniSchedParams(exact=True), time_limit=2.0)
    assert time.perf_counter() - started < 3
    assert result.objective is not None


@each_seed(range(5))
def test_branch_and_bound_closes_gaps(seed: int) -> None:
    problem = without_best_effort(queue_of(seed, jobs=30))
    options, room = case_of(problem)
    rounded, best = Selector().select(options, room), Selector().select(options, room, exact=True)
    assert rounded.value <= best.value == best.bound.value <= rounded.bound.value
    assert best.stop is Stop.PROVEN
    result = lp_selector(problem, params=UniSchedParams(exact=True))
    assert result.bound is not None
    assert result.bound.value == best.bound.value


# -- the solvers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solve", [lp_selector, density_greedy])
def test_limits_must_be_positive(solve: Any) -> None:
    with pytest.raises(ValueError, match=rf"{solve.__name__}: time_limit=0 is not positive"):
        solve(queue_of(0, jobs=2), time_limit=0)


def test_prices_of_duals_that_rise_are_counted_without_overflow() -> None:
    """Where the linear program is stopped, a dual of a late slot stands for all before it."""
    problem = queue_of(0)
    options = options_of_problem(problem)
    room = capacity_of_problem(problem, options.slots)
    duals = np.zeros(room.shape)
    duals[0, -1] = 1e12
    proven = best_prices(options, room, duals).bound(options, room)
    assert proven >= options.value[by_density(options, room)].sum()


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e-9])
def test_tiny_rewards_are_proven_as_large_ones_are(scale: float) -> None:
    rng = np.random.default_rng(5)
    jobs = [
        DeadlineJob(
            id=f"j{i}",
            gpus=int(rng.integers(1, 9)),
            work=600 * (work := int(rng.integers(1, 4))),
            rewards=[(600 * (work + int(rng.integers(0, 3))), scale * int(rng.integers(1, 30)))],
        )
        for i in range(9)
    ]
    problem = UniSched(Instance(Cluster.of_sizes([8]), jobs), allocations="exact")
    result = lp_selector(problem, params=UniSchedParams(exact=True))
    best = branch_and_bound(problem_of(problem, 1 / scale)).objective
    assert best is not None
    assert result.bound is not None
    assert result.bound.value >= best * scale * (1 - 1e-9)
    rounded = lp_selector(problem).objective
    assert rounded == pytest.approx(scale * (lp_selector(problem_of(problem, 1 / scale)).objective))


def problem_of(problem: UniSched, factor: float) -> UniSched:
    """The same problem with other units of reward."""
    jobs = [
        replace(job, rewards=[(d, round(v * factor)) for d, v in job.rewards])
        for job in problem.instance.jobs
    ]
    return replace(problem, instance=replace(problem.instance, jobs=jobs))


def test_a_large_reward_is_not_lost_to_a_dense_small_one() -> None:
    """The linear program takes the small job in full and half of the other one."""
    jobs = [
        DeadlineJob(id="a", gpus=2, work=600, rewards=[(600, 100)]),
        DeadlineJob(id="b", gpus=1, work=600, rewards=[(600, 60)]),
    ]
    problem = UniSched(Instance(Cluster.of_sizes([2]), jobs))
    assert density_greedy(problem).objective == 60
    assert lp_selector(problem).objective == branch_and_bound(problem).objective == 100


def test_rewards_beyond_64_bits_are_refused() -> None:
    jobs = [DeadlineJob(id="a", gpus=1, work=600, rewards=[(600, 1e19)])]
    with pytest.raises(ValueError, match=r"rewards of 1e\+19 in all are too large"):
        lp_selector(UniSched(Instance(Cluster.of_sizes([1]), jobs)))


def test_where_a_choice_finds_no_room_the_other_one_is_tried() -> None:
    """More fits in the linear program than on nodes, and what is left of it is worth less."""
    found = 0
    for seed in range(12):
        problem = queue_of(seed, jobs=40)
        best, greedy = lp_selector(problem), density_greedy(problem)
        assert best.objective is not None
        assert greedy.objective is not None
        assert best.objective >= greedy.objective or not best.info["missed"]
        found += bool(best.info["missed"])
    assert found
