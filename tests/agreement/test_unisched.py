"""The forms of UniSched say what its checker says, and their optimum is that of all schedules.

`best_of_all` goes through all schedules without options, lease arithmetic or cells: it gives gangs
to nodes in every way, lets jobs run second by second, and looks at when they are complete.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from broken import Broken
from few import each_seed
from gangsched.formulations.unisched.forms import _placed
from gangsched.formulations.unisched.problem import CellAllocation, UniSched, covers
from gangsched.instances import Cluster, Instance, Schedule, Segment
from gangsched.instances.model import FULL_SPEED, DeadlineJob
from gangsched.solvers import ExactParams
from gangsched.solvers.exact import branch_and_bound
from gangsched.solvers.result import Status

T = 10
ALLOCATIONS = ["cells", "exact", "consolidated"]


# -- all schedules --------------------------------------------------------------------------------


def spreads(gpus: int, room: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every way to take so many GPUs of these nodes."""
    if len(room) == 1:
        if gpus <= room[0]:
            yield (gpus,)
        return
    for count in range(min(gpus, room[0]) + 1):
        for rest in spreads(gpus - count, room[1:]):
            yield (count, *rest)


def speed_on(problem: UniSched, i: int, counts: tuple[int, ...]) -> float | None:
    """Speed of a job that holds these GPUs of each node; None if it may not."""
    job, size = problem.jobs[i], problem.node_gpus
    held = sorted((c for c in counts if c), reverse=True)
    if i in problem.profilers:
        return 1.0 if sum(held) == min(2, job.gpus) else None
    up = {3: 4, 5: 8, 6: 8, 7: 8}
    rest = job.gpus % size
    if problem.allocations == "consolidated":
        nodes = [size] * (job.gpus // size) + ([up.get(rest, rest)] if rest else [])
        return 1.0 if held == nodes else None
    if job.gpus > size:
        return 1.0 if sum(held) == job.gpus else None
    if job.gpus not in up:
        return 1.0 if held == [job.gpus] else None
    together = job.gpus if problem.allocations == "exact" else up[job.gpus]
    if held == [together]:
        return 1.0
    return job.split_speed if sum(held) == job.gpus else None


def one_lease(problem: UniSched, k: int) -> dict[tuple[float, ...], list[tuple[int, ...]]]:
    """What can run in lease k, speeds of all jobs (0: does not run), with an assignment."""
    free = list(problem.free or problem.instance.cluster.sizes)
    if k:
        free = list(problem.instance.cluster.sizes)
    found: dict[tuple[float, ...], list[tuple[int, ...]]] = {}
    none = (0,) * len(free)

    def go(i: int, room: list[int], speeds: list[float], held: list[tuple[int, ...]]) -> None:
        if i == len(problem.jobs):
            found.setdefault(tuple(speeds), list(held))
            return
        go(i + 1, room, [*speeds, 0.0], [*held, none])
        job = problem.jobs[i]
        small = i in problem.profilers or not job.rewards
        if job.release > k * T or (small and k):
            return
        seen = set()
        for gpus in range(1, sum(room) + 1):
            for counts in spreads(gpus, room):
                speed = speed_on(problem, i, counts)
                left = [r - c for r, c in zip(room, counts, strict=True)]
                if speed is not None and (speed, tuple(left)) not in seen:
                    seen.add((speed, tuple(left)))
                    go(i + 1, left, [*speeds, speed], [*held, counts])

    go(0, free, [], [])
    return found


def earned(problem: UniSched, i: int, speeds: Sequence[float]) -> float:
    """Reward of a job that runs at its slowest speed wherever its speed is not 0."""
    job = problem.jobs[i]
    leases = [k for k, speed in enumerate(speeds) if speed]
    if not leases:
        return 0.0
    if i in problem.profilers:
        return 1.0
    assert job.work is not None
    work = -(-job.work * 10**6 // round(min(speeds[k] for k in leases) * 10**6))
    if not job.rewards:
        return problem.be_lease / (problem.be_lease + work)
    for k in leases:
        if work <= T:
            return job.reward(k * T + work)
        work -= T
    return 0.0


def best_of_all(problem: UniSched, leases: int) -> tuple[float, Schedule]:
    """The best of all schedules of so many leases, suspensions being free."""
    ways = [one_lease(problem, k) for k in range(leases)]
    best, run = -1.0, None
    for chosen in product(*ways):
        worth = sum(
            earned(problem, i, [speeds[i] for speeds in chosen]) for i in range(len(problem.jobs))
        )
        if worth > best:
            best, run = worth, chosen
    assert run is not None
    rows = [
        Segment(i, k * T, (k + 1) * T, {n: c for n, c in enumerate(counts) if c})
        for k, speeds in enumerate(run)
        for i, counts in enumerate(ways[k][speeds])
        if any(counts)
    ]
    return best, Schedule.of(rows)


def leases_of(problem: UniSched) -> int:
    """Leases that begin before the last deadline."""
    ends = [j.release + d for j in problem.jobs for d, _ in j.rewards]
    return max([-(-end // T) for end in ends], default=1)


def tiny(
    seed: int, allocations: Any, *, leases: int = 3, released: bool = True, **fixed: Any
) -> UniSched:
    """A few jobs on at most three nodes, with deadlines within so many leases."""
    rng = np.random.default_rng([seed, ALLOCATIONS.index(allocations)])
    size = int(rng.choice([2, 4, 4, 8]))
    nodes = int(rng.integers(1, 4 if size == 4 else 3))
    total = size * nodes
    jobs = []
    for i in range(int(rng.integers(2, 4 if leases > 2 else 5))):
        hostile = [g for g in (3, 5, 6, 7) if g <= total]
        gpus = int(rng.choice(hostile)) if hostile and rng.random() < 0.6 else 0
        gpus = gpus or int(rng.integers(1, min(total, size + 3) + 1))
        release = int(rng.integers(0, T * leases // 2)) if rng.random() < 0.2 * released else 0
        dues = np.unique(rng.integers(3, T * leases - release + 1, size=rng.integers(1, 3)))
        rewards = [(int(due), float(100 - 30 * f)) for f, due in enumerate(dues)]
        jobs.append(
            DeadlineJob(
                id=f"j{i}",
                gpus=gpus,
                release=release,
                work=int(rng.integers(1, T * leases)) // int(rng.integers(1, 4)) + 1,
                rewards=[] if rng.random() < 0.2 else rewards,
                split_speed=float(rng.choice([1.0, 0.9, 0.5])),
            )
        )
    free = [int(rng.integers(0, size + 1)) for _ in range(nodes)] if rng.random() < 0.5 else None
    profilers = frozenset(np.flatnonzero(rng.random(len(jobs)) < 0.15).tolist())
    parameters: dict[str, Any] = {"sr_aware": False, "be_lease": 5, **fixed}
    instance = Instance(Cluster.of_sizes([size] * nodes), jobs)
    return UniSched(
        instance, T, allocations=allocations, free=free, profilers=profilers, **parameters
    )


# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@each_seed(range(20))
def test_the_optimum_is_that_of_all_schedules(seed: int, allocations: str) -> None:
    problem = tiny(seed, allocations, leases=2 + seed % 2)
    best, schedule = best_of_all(problem, leases_of(problem))
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) == pytest.approx(best)
    result = branch_and_bound(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(best)
    assert problem.violations(result.solution) == []


# -- the models and the checker -------------------------------------------------------------------


def changes(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule with one segment left out, longer, moved in time, or twice as large."""
    rows = list(schedule)
    for i, row in enumerate(rows):
        rest = rows[:i] + rows[i + 1 :]
        yield Schedule.of(rest)
        yield Schedule.of([*rest, replace(row, end=row.end + T)])
        yield Schedule.of([*rest, replace(row, start=row.start + T, end=row.end + T)])
        if row.start:
            yield Schedule.of([*rest, replace(row, start=row.start - T, end=row.end - T)])


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@each_seed(range(30, 40))
def test_the_model_takes_every_schedule_at_its_worth(seed: int, allocations: str) -> None:
    problem = tiny(seed, allocations, leases=2)
    _, best = best_of_all(problem, leases_of(problem))
    model = problem.build()
    broken = Broken(model.native)
    for schedule in [best, Schedule.of([]), *changes(best)]:
        if problem.violations(schedule):
            continue
        model.embed(schedule)
        assert broken() == set()
        worth = problem.objective(schedule)
        assert model.value(pyo.value(model.native.objective)) == pytest.approx(worth)
        again = model.extract()
        assert problem.violations(again) == []
        assert problem.objective(again) == pytest.approx(worth)


@pytest.mark.parametrize(
    ("allocations", "gangs", "row"),
    [
        ("cells", (4, 4, 1), "level"),
        ("consolidated", (3, 3, 1), "level"),
        ("exact", (3, 3, 1), None),
        ("exact", (3, 3, 2), "rows"),
    ],
)
def test_capacity_is_a_row(allocations: Any, gangs: tuple[int, ...], row: str | None) -> None:
    """Gangs on two nodes of four, of which the last one is on the first node."""
    jobs = [
        DeadlineJob(id=f"j{i}", gpus=gang, work=T, rewards=[(T, 100)])
        for i, gang in enumerate(gangs)
    ]
    problem = UniSched(Instance(Cluster.of_sizes([4, 4]), jobs), T, 5, allocations)
    held = [problem.allocations_of(i)[0].pieces[0] for i in range(3)]
    schedule = Schedule.of(Segment(i, 0, T, {node: held[i]}) for i, node in enumerate((0, 1, 0)))
    model = problem.build()
    broken = Broken(model.native)
    model.embed(schedule)
    implied = {"prefix"}  # all leases together
    assert broken() - implied == ({row} if row else set())
    assert bool(problem.violations(schedule)) is (row is not None)


def test_fractions_of_single_gpus_are_made_whole() -> None:
    """Three jobs share two GPUs equally for three leases; then both GPUs are a gang's."""
    singles = [DeadlineJob(id=i, gpus=1, work=2 * T, rewards=[(3 * T, 100)]) for i in "abc"]
    gang = DeadlineJob(id="gang", gpus=2, work=T, rewards=[(4 * T, 100)])
    problem = UniSched(Instance(Cluster.of_sizes([2]), [*singles, gang]), T, 5, overhead=0)
    model = problem.build("slots")
    names = [problem.jobs[o.job].id for o in problem.options()]
    assert sorted(names) == ["a", "b", "c", "gang"]
    for o, z in model.native.z_option.items():
        z.set_value(1)
        for k in range(4):
            if (o, k) in model.native.u_lease:
                share = float(k == 3) if names[o] == "gang" else 2 / 3
                model.native.u_lease[o, k].set_value(share)
    broken = Broken(model.native)
    assert broken() == set()
    schedule = model.extract()
    assert problem.violations(schedule) == []
    assert problem.objective(schedule) == 400


def test_each_equation_is_a_constraint() -> None:
    job = DeadlineJob(id="a", gpus=3, work=15, rewards=[(25, 100), (30, 50)], split_speed=0.5)
    problem = UniSched(Instance(Cluster.of_sizes([4]), [job]), T, 5, sr_aware=False)
    model = problem.build()
    m, broken = model.native, Broken(model.native)
    served = Schedule.of([Segment(0, 0, 20, {0: 4})])
    model.embed(served)
    assert broken() == set()
    (chosen,) = [o for o in m.z_option if m.z_option[o].value]
    m.u_lease[chosen, 0].set_value(0)
    assert broken() == {"service"}
    model.embed(served)
    m.z_option[chosen].set_value(0)
    assert broken() == {"service", "tight"}
    model.embed(served)
    for o in m.z_option:
        m.z_option[o].set_value(1)
    assert broken() >= {"one", "service"}


def test_nothing_to_do_is_worth_nothing() -> None:
    late = DeadlineJob(id="a", gpus=1, work=100, rewards=[(99, 100)])
    for jobs in ([], [late]):
        result = branch_and_bound(UniSched(Instance(Cluster.of_sizes([2]), jobs)))
        assert (result.objective, result.status) == (0.0, Status.OPTIMAL)


def test_a_model_that_is_too_large_is_refused() -> None:
    jobs = [DeadlineJob(id="a", gpus=1, work=1, rewards=[(200_001, 100)])]
    problem = UniSched(Instance(Cluster.of_sizes([1]), jobs), 1, 1)
    for form in ("slots", "literal"):
        with pytest.raises(ValueError, match=rf"200001 options x leases.*form '{form}'"):
            problem.build(form)


def test_single_free_gpus_are_no_cell_of_two() -> None:
    pair = DeadlineJob(id="pair", gpus=2, work=T, rewards=[(T, 100)])
    three = DeadlineJob(id="three", gpus=3, work=T // 2, rewards=[(T, 80)], split_speed=0.5)
    for free, optimum in (((1, 1, 1), 80), ((2, 1, 0), 100), ((2, 3, 0), 180), ((4, 2, 0), 180)):
        problem = UniSched(Instance(Cluster.of_sizes([4, 4, 4]), [pair, three]), T, 5, free=free)
        assert branch_and_bound(problem).objective == optimum


@each_seed(range(30))
def test_pieces_that_fit_are_placed(seed: int) -> None:
    """What fills nodes, cut at random; and one that best fit alone does not place."""
    rng = np.random.default_rng(seed)
    free = rng.integers(0, 9, size=3).tolist()
    pieces: list[int] = []
    for room in free:
        while room:
            pieces.append(int(rng.integers(1, room + 1)))
            room -= pieces[-1]
    if seed == 0:
        free, pieces = [8, 8], [4, 3, 3, 2, 2, 2]
    ways = [CellAllocation((piece,), FULL_SPEED) for piece in pieces]
    running = {int(i): ways[i] for i in rng.permutation(len(ways))}
    placed = _placed(running, free, {0: [2], 1: [0]} if seed else {})
    for i, piece in enumerate(pieces):
        assert list(placed[i].values()) == [piece]
    used = [sum(nodes.get(n, 0) for nodes in placed.values()) for n in range(len(free))]
    assert used == free


def test_who_goes_on_keeps_its_nodes() -> None:
    running = {
        i: CellAllocation(pieces, FULL_SPEED) for i, pieces in enumerate([(2,), (2,), (1, 1)])
    }
    placed = _placed(running, [4, 4, 4], {0: [2], 1: [1], 2: [1, 2]})
    assert placed == {0: {2: 2}, 1: {1: 2}, 2: {1: 2}}


# -- the printed model ----------------------------------------------------------------------------


@each_seed(range(6))
def test_the_printed_model_is_vacuous(seed: int) -> None:
    """Its optimum is the sum of all first rewards, without a single free GPU."""
    problem = tiny(seed, "cells", leases=3)
    problem = replace(problem, free=(0,) * len(problem.instance.cluster.nodes))
    small = [i for i, j in enumerate(problem.jobs) if i in problem.profilers or not j.rewards]
    top = sum(j.top_reward for i, j in enumerate(problem.jobs) if i not in small)
    top += sum(earned(problem, i, [1.0]) for i in small)
    result = branch_and_bound(problem, params=ExactParams(form="literal"))
    assert result.bound is not None
    assert result.bound.value == pytest.approx(top)
    assert result.solution is None


def test_the_printed_model_bounds_the_problem() -> None:
    for seed in range(12):
        problem = tiny(seed, "cells", leases=2)
        _, schedule = best_of_all(problem, leases_of(problem))
        model = problem.build("literal")
        assert model.relaxation
        assert not model.exact
        model.embed(schedule)
        assert Broken(model.native)() == set()
        assert pyo.value(model.native.objective) >= problem.objective(schedule) - 1e-9


def test_the_printed_model_says_nothing_about_who_runs() -> None:
    with pytest.raises(ValueError, match="says nothing about who runs"):
        tiny(0, "cells").build("literal").extract()


def test_every_equation_of_the_printed_model_is_a_constraint() -> None:
    job = DeadlineJob(id="a", gpus=6, work=15, rewards=[(20, 100), (30, 50)], split_speed=0.5)
    problem = UniSched(Instance(Cluster.of_sizes([8]), [job]), T, 5, sr_aware=False)
    m = problem.build("literal").native
    names = {c.local_name: c.doc for c in m.component_objects(pyo.Constraint)}
    for number in (6, 7, 10, 11, 12, 13, 14):
        assert names[f"eq{number}"].startswith(f"({number})")

    def broken(**values: dict[Any, float]) -> set[str]:
        for variable in m.component_objects(pyo.Var):
            for key in variable:
                value = values.get(variable.local_name, {}).get(key, variable[key].lb or 0)
                variable[key].set_value(value)
        return {name for name in Broken(m)() if name.startswith("eq")}

    assert broken() == set()
    assert broken(s={(0, 0): 1, (1, 0): 1}) == {"eq6"}
    assert broken(sx={(k, 1, 0): 1 for k in range(3)}, s={(1, 0): 1}) == {"eq7"}
    assert broken(N_con={3: 1}) == {"eq11"}
    assert broken(y={(0, 0): 1}, N_con={3: 1}) == set()
    assert broken(y={(0, 0): 1}, N_con={3: 1}, ys={(0, 0, 0): 1}) == {"eq12"}
    six = next(
        p for i, p in m.y if m.eq11[0].body is not None and _cells(problem, p) == (6, 0, 0, 0)
    )
    assert broken(y={(0, 0): 1, (0, six): 1}, N_con={3: 1, 0: 6}) == {"eq13", "eq14"}


def _cells(problem: UniSched, p: int) -> tuple[int, ...]:
    """The quadruple of a gang of 6 with this number: the round-up first, then the covers."""
    return [(0, 0, 0, 1), *covers(6, 3)][p]


def test_equation_7_forbids_what_is_slower_than_full_speed() -> None:
    """Five leases at half speed are three at full speed, more than (7) allows."""
    job = DeadlineJob(id="a", gpus=3, work=30, rewards=[(60, 100)], split_speed=0.5)
    problem = UniSched(Instance(Cluster.of_sizes([2, 2]), [replace(job, gpus=2)]), T, 5)
    for speed, allowed in ((1.0, True), (0.5, False)):
        instance = Instance(Cluster.of_sizes([4]), [replace(job, split_speed=speed)])
        m = replace(problem, instance=instance, sr_aware=False).build("literal").native
        m.y[0, 0].fix(0)  # not the round-up: a split allocation
        m.linked = pyo.Constraint(expr=pyo.quicksum(m.y.values()) == pyo.quicksum(m.s.values()))
        pyo.SolverFactory("appsi_highs").solve(m)
        assert pyo.value(m.objective) == pytest.approx(100 if allowed else 0)


@pytest.mark.parametrize(
    ("gpus", "level", "number"), [(16, 3, 35), (15, 3, 25), (6, 3, 6), (4, 2, 4), (1, 0, 1)]
)
def test_covers_are_all_sums_of_cells(gpus: int, level: int, number: int) -> None:
    found = list(covers(gpus, level))
    assert len(set(found)) == len(found)
    assert all(sum(c << g for g, c in enumerate(cover)) == gpus for cover in found)
    every = product(*(range(gpus // 2**g + 1) for g in range(level + 1)))
    assert len(found) == sum(sum(c << g for g, c in enumerate(e)) == gpus for e in every)
    if gpus == 16:
        assert len(found) == number


# -- the paper's example, and the compact form ----------------------------------------------------


def compact_optimum(problem: UniSched) -> float:
    """The optimum of the compact form, by another interface to HiGHS."""
    blocks = problem.build("compact").native
    n, rows = blocks.V.size, blocks.C.size
    if not n:
        return 0.0
    slack = sparse.identity(rows) - blocks.S
    jobs = sparse.hstack([blocks.J, sparse.csr_matrix((blocks.J.shape[0], rows))])
    result = milp(
        c=np.concatenate([-blocks.V, np.zeros(rows)]),
        integrality=np.concatenate([np.ones(n), np.zeros(rows)]),
        bounds=Bounds(0, np.concatenate([np.ones(n), np.full(rows, np.inf)])),
        constraints=[
            LinearConstraint(jobs, ub=1),
            LinearConstraint(sparse.hstack([blocks.D, slack]), lb=blocks.C, ub=blocks.C),
        ],
        options={"mip_rel_gap": 0},
    )
    assert result.success
    return float(-result.fun)


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@each_seed(range(40, 60))
def test_the_compact_form_is_a_bound(seed: int, allocations: str) -> None:
    problem = tiny(seed, allocations, leases=4, released=False, sr_aware=bool(seed % 2))
    assert compact_optimum(problem) >= branch_and_bound(problem).objective - 1e-6


@pytest.mark.parametrize("allocations", ALLOCATIONS)
@pytest.mark.parametrize("gang", [1, 2, 4])
@each_seed(range(6))
def test_the_compact_form_is_exact_for_equal_gangs(seed: int, gang: int, allocations: Any) -> None:
    """Where the gang divides what is free on each node."""
    problem = tiny(seed, allocations, leases=4, released=False)
    rng = np.random.default_rng(seed)
    jobs = [replace(job, id=f"{i}{job.id}", gpus=gang) for i in range(2) for job in problem.jobs]
    free = [gang * int(c) for c in rng.integers(0, 4 // gang + 1, size=2)]
    problem = UniSched(
        Instance(Cluster.of_sizes([4, 4]), jobs), T, 5, allocations, free=free, sr_aware=False
    )
    assert compact_optimum(problem) == pytest.approx(branch_and_bound(problem).objective)


def test_the_compact_form_is_not_exact_for_different_gangs() -> None:
    """2 GPUs in two leases: one GPU twice and two GPUs once are 4 in all, but do not fit."""
    jobs = [
        DeadlineJob(id="long", gpus=1, work=2 * T, rewards=[(2 * T, 100)]),
        DeadlineJob(id="wide", gpus=2, work=T, rewards=[(2 * T, 80)]),
    ]
    problem = UniSched(Instance(Cluster.of_sizes([2]), jobs), T, 5, sr_aware=False)
    assert compact_optimum(problem) == 180
    assert branch_and_bound(problem).objective == 100
    assert best_of_all(problem, 2)[0] == 100


def four_gangs(slo: int, **parameters: Any) -> UniSched:
    """Section II-B: four gangs of 6 on three nodes of 8; the first ones have deadlines."""
    jobs = [
        DeadlineJob(
            id=f"j{i}",
            gpus=6,
            work=1080,
            rewards=[(1200, 100)] if i < slo else [],
            split_speed=0.9,
        )
        for i in range(4)
    ]
    return UniSched(Instance(Cluster.of_sizes([8, 8, 8]), jobs), **parameters)


@pytest.mark.parametrize(
    ("allocations", "optimum"), [("consolidated", 300), ("cells", 400), ("exact", 400)]
)
def test_splitting_admits_the_fourth_gang(allocations: str, optimum: float) -> None:
    problem = four_gangs(4, allocations=allocations)
    assert branch_and_bound(problem).objective == optimum


def test_a_split_gang_leaves_a_node_to_one_of_best_effort() -> None:
    """The round-up takes a node of 8 for it, and 3 x 6 + 8 GPUs are more than 24: split too."""
    cost = 25 * 3 / 2  # of four leases of 300 s
    together = 300 / (300 + 1080 + cost)
    apart = 300 / (300 + 1200 + cost)
    for allocations, value in (("consolidated", 0.0), ("cells", apart), ("exact", together)):
        result = branch_and_bound(four_gangs(3, allocations=allocations))
        assert result.objective == pytest.approx(300 + value)
