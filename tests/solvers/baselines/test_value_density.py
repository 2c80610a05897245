"""Value density: its plan, order and places against plain references, and what it may not know."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import driven
from deadline_optimum import optimum, random_problem
from few import each_seed
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import Run
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.instances import Cluster, DeadlineJob, Instance, Job, TargetMetric
from gangsched.solvers.ours.unisched.value_density import ValueDensity, _Complete, _Jobs, _Plan
from gangsched.solvers.ours.unisched.value_density_core import give_places, plan, select, settle
from gangsched.solvers.placement import place
from gangsched.solvers.policy import Decision, Preempts, State, WrittenStarts
from gangsched.solvers.unisched.deadlines import NEVER
from gangsched.solvers.unisched.earliest_deadline import EarliestDeadline
from gangsched.solvers.unisched.estimator import DurationEstimates
from reference_driver import drive

Held = dict[int, dict[int, int]]
ends = partial(driven.ends, overhead=0)  #: interruptions cost nothing


def job(name: str, gpus: int, work: int, *rewards: tuple[int, float], **more: Any) -> DeadlineJob:
    """A job with these deadlines."""
    return DeadlineJob(id=name, gpus=gpus, work=work, rewards=rewards, **more)


class Watched:
    """A policy whose decisions someone sees."""

    name: ClassVar[str] = "watched"
    preempts: ClassVar[Preempts] = Preempts.ALWAYS
    information: ClassVar[str] = "known"

    def __init__(self, policy: ValueDensity, see: Callable[[State, Decision], None]) -> None:
        self.policy, self.see = policy, see

    def decide(self, state: State) -> Decision:
        decision = self.policy.decide(state)
        self.see(state, decision)
        return decision


# --- the plan ------------------------------------------------------------------------------------


def reserved(
    order: list[int], gpus: list[int], need: Any, at: Any, levels: list[int], edges: list[int],
    free: list[int],
) -> tuple[list[int], list[int]]:  # fmt: skip
    """Levels and starts, one GPU second after the other; `free` is used up."""
    level, start = [-1] * len(gpus), [2**62] * len(gpus)
    for j in order:
        for f in range(levels[j]):
            most = [
                min(room, gpus[j] * (edges[k + 1] - edges[k])) if k < at[j][f] else 0
                for k, room in enumerate(free)
            ]
            wanted = gpus[j] * need[j][f]
            if sum(most) < wanted:
                continue
            level[j], taken = f, [0] * len(free)
            for _ in range(wanted):
                k = max(k for k in range(len(free)) if taken[k] < most[k])
                taken[k], free[k] = taken[k] + 1, free[k] - 1
            first = min(k for k, took in enumerate(taken) if took)
            start[j] = edges[first + 1] - math.ceil(taken[first] / gpus[j])
            break
    return level, start


def drawn_plan(seed: int) -> tuple[Any, ...]:
    """Some jobs with up to three deadlines, which are edges; some GPU seconds are gone."""
    rng = np.random.default_rng([3, seed])
    edges = np.cumsum(rng.integers(1, 7, int(rng.integers(2, 7))))
    jobs, whole, spans = int(rng.integers(1, 7)), int(rng.integers(1, 6)), np.diff(edges)
    free = whole * spans - rng.integers(0, 3, spans.size) * rng.integers(0, whole * spans + 1) // 2
    gpus, levels = rng.integers(1, whole + 1, jobs), rng.integers(0, 4, jobs)
    at = np.sort(rng.integers(0, edges.size, (jobs, 4)), axis=1)
    need = rng.integers(1, int(rng.choice([4, 15])), (jobs, 4))
    return rng.permutation(jobs), gpus, need, at, levels, edges, free


@each_seed(range(200))
def test_the_plan_is_that_of_single_gpu_seconds(seed: int) -> None:
    *given, free = drawn_plan(seed)
    mine, slow, left = free.copy(), free.copy(), free.tolist()
    expected = reserved(*(column.tolist() for column in given), left)  # type: ignore[arg-type]
    level, start = plan(*given, mine)
    assert (level.tolist(), start.tolist()) == expected
    assert mine.tolist() == left
    for one, other in zip(plan.py_func(*given, slow), (level, start), strict=True):
        assert one.tolist() == other.tolist()


def test_the_latest_free_seconds_are_taken() -> None:
    """The second job finds only 20 s before the first, which has the last 60 of 100 s."""
    order, one = np.array([0, 1]), np.ones(2, dtype=np.int64)
    edges, free = np.array([0, 100]), np.array([100])
    need, at = np.array([[60], [40]]), np.array([[1], [1]])
    level, start = plan(order, one, need, at, one, edges, free)
    assert (level.tolist(), start.tolist(), free.tolist()) == ([0, 0], [40, 60], [0])


# --- density and order ---------------------------------------------------------------------------


def drawn_jobs(rng: np.random.Generator) -> tuple[Any, _Jobs, _Plan]:
    """Jobs of a decision at 1,000 s, and any plan."""
    n, width = int(rng.integers(1, 9)), 3
    levels, number = rng.integers(0, width, n), rng.permutation(n)
    due = np.sort(1_000 + rng.integers(-300, 20_000, (n, width)), axis=1)
    due[np.arange(width) >= levels[:, None]] = NEVER
    value = np.where(due < NEVER, -np.sort(-rng.integers(1, 100, (n, width))), 0).astype(float)
    gpus, need = rng.integers(1, 9, n), rng.integers(1, 9_000, n)
    new = rng.random(n) < 0.3
    area = gpus * need + np.where(new, np.minimum(gpus, 2) * 300, 0)
    tried = np.repeat(need[:, None], width, axis=1) - rng.integers(0, 2, (n, width))
    runs, nothing = rng.random(n) < 0.5, np.zeros(n, dtype=np.int64)
    state = SimpleNamespace(now=1_000, rank=rng.permutation(n))
    level = np.where(levels > 0, rng.integers(-1, width, n).clip(max=levels - 1), -1)
    start = np.where(level >= 0, 1_000 + rng.choice([0, 60, 119, 120, 121, 500], n), 2**62)
    return (
        state,
        _Jobs(number, gpus, need, area, new, runs, nothing, levels, due, value, tried),
        _Plan(level, start),
    )


@each_seed(range(60))
def test_density_is_the_best_reward_within_reach_for_a_gpu_second(seed: int) -> None:
    state, jobs, _ = drawn_jobs(np.random.default_rng(seed))
    found = ValueDensity()._density(state, jobs)
    for i in range(jobs.number.size):
        profile = int(jobs.area[i] - jobs.gpus[i] * jobs.need[i])
        reach = [
            jobs.value[i, f] / (int(jobs.gpus[i] * jobs.tried[i, f]) + profile)
            for f in range(jobs.levels[i])
            if state.now + jobs.tried[i, f] <= jobs.due[i, f]
        ]
        steady = 1.3 if jobs.runs[i] else 1.0
        assert found[i] == pytest.approx(steady * max(reach, default=0.0), rel=1e-12)


@pytest.mark.parametrize("balanced", [False, True])
@each_seed(range(100))
def test_order_is_that_of_the_tiers(balanced: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    state, jobs, made = drawn_jobs(rng)
    density = np.where(made.level >= 0, rng.integers(1, 4, made.level.size) / 1e3, 0.0)
    density = np.where((jobs.levels > 0) & (rng.random(density.size) < 0.5), 0.002, density)

    def key(i: int) -> tuple[float, float, int]:
        rank, area = int(state.rank[jobs.number[i]]), float(jobs.area[i])
        if jobs.levels[i] == 0:
            return (1, -100 / area, rank) if balanced else (2, area, rank)
        if density[i] == 0:
            return 4, area, rank
        if jobs.new[i] or (made.level[i] >= 0 and made.start[i] <= state.now + 120):
            return 0, -density[i], rank
        if made.level[i] < 0:
            return 3, -density[i], rank
        waits = math.exp(-(made.start[i] - state.now) / 14_400) if balanced else 1.0
        return 1, -density[i] * waits, rank

    found = ValueDensity(balanced=balanced)._order(state, jobs, density, made)
    assert found.tolist() == sorted(range(density.size), key=key)


def test_who_has_to_start_comes_before_a_denser_job_that_can_wait() -> None:
    jobs = [job("dense", 1, 600, (3_000, 100)), job("now", 1, 600, (700, 50))]
    assert ends(ValueDensity(), 1, *jobs) == [1200, 600]
    jobs[1] = job("later", 1, 600, (1_500, 50))
    assert ends(ValueDensity(), 1, *jobs) == [600, 1200]
    assert ends(ValueDensity(urgency=900), 1, *jobs) == [1200, 600]


def test_the_next_deadline_is_planned_when_the_first_cannot_be() -> None:
    """Two jobs of the same first deadline; the one with a second one is in time for that."""
    soft = job("soft", 1, 600, (600, 100), (1_200, 90))
    hard = job("hard", 1, 600, (600, 101))
    assert ends(ValueDensity(), 1, soft, hard) == [1200, 600]


def test_best_effort_jobs_come_last_or_compete() -> None:
    """The admitted job can wait for an hour and a half: .0278 e^-.375 = .0191 < 100 / 1,200."""
    jobs = [job("due", 1, 3_600, (9_000, 100)), job("any", 1, 1_200)]
    assert ends(ValueDensity(), 1, *jobs) == [3600, 4800]
    assert ends(ValueDensity(balanced=True), 1, *jobs) == [4800, 1200]


# --- places --------------------------------------------------------------------------------------


def drawn_crowd(seed: int) -> tuple[Any, ...]:
    """Nodes with running and new jobs in any order."""
    rng = np.random.default_rng([4, seed])
    sizes = rng.integers(1, 5, int(rng.integers(1, 5))).tolist()
    free, held, size = list(sizes), dict[int, dict[int, int]](), list[int]()
    spread = bool(rng.integers(2))
    for i in range(int(rng.integers(1, 10))):
        size.append(int(rng.integers(1, min(sum(sizes), 5) + 1)))
        nodes = place(size[i], free, sizes, spread=spread)
        if nodes is not None and rng.random() < 0.7:
            held[i] = dict(nodes)
            for n, gpus in nodes.items():
                free[n] -= gpus
    return rng.permutation(len(size)), held, size, free, sizes, spread


def plain_places(
    first: list[int], rest: list[int], held: Held, size: list[int], free: list[int],
    sizes: list[int], spread: bool,
) -> Held:  # fmt: skip
    """The same, one job after the other in dictionaries."""
    room, later = list(free), [0] * len(free)

    def add(where: list[int], nodes: dict[int, int], times: int) -> None:
        for n, gpus in nodes.items():
            where[n] += times * gpus

    for i, own in held.items():
        add(room, own, 1)
        add(later, own, int(i in first))
    found, least = dict[int, dict[int, int]](), NEVER
    for i in (*first, *rest):
        nodes = held.get(i)
        add(later, nodes or {}, -int(i in first))
        if nodes is None or any(room[n] < gpus for n, gpus in nodes.items()):
            nodes = None
            if i in first:
                beside = [max(0, a - b) for a, b in zip(room, later, strict=True)]
                nodes = place(size[i], beside, sizes, spread=spread)
            if nodes is None and size[i] < least:
                nodes = place(size[i], room, sizes, spread=spread)
            if nodes is None and i in rest:
                least = min(least, size[i])
        if nodes is not None:
            add(room, nodes, -1)
            found[i] = nodes
    return found


def compiled_places(
    order: Any, held: Held, size: list[int], free: list[int], sizes: list[int], spread: bool
) -> tuple[list[int], list[int], Held]:
    """Who is selected, all others, and places, by machine code and by its source."""
    runs = np.array([i in held for i in range(len(size))])
    rows = [held[i] for i in sorted(held)]
    ptr = np.cumsum([0, *map(len, rows)])
    node = np.array([n for own in rows for n in own], dtype=np.int64)
    part = np.array([gpus for own in rows for gpus in own.values()], dtype=np.int64)
    wide, none = np.array(size), np.zeros(len(size), dtype=np.int64)
    selected = select(order, wide, sum(sizes))
    given = (
        np.arange(len(size)), order, selected, wide, none, runs, ptr, node, part, np.array(free),
        np.array(sizes), spread,
    )  # fmt: skip
    kept, fresh, starts = give_places(*given)
    for one, other in zip(give_places.py_func(*given), (kept, fresh, starts), strict=True):
        assert one.tolist() == other.tolist()
    written = WrittenStarts(starts, int(fresh.sum()))
    found = dict(written) | {i: held[i] for i in np.flatnonzero(kept).tolist()}
    assert set(dict(written)) == set(np.flatnonzero(fresh).tolist())
    first = [i for i in order.tolist() if selected[i]]
    return first, [i for i in order.tolist() if not selected[i]], found


@each_seed(range(300))
def test_places(seed: int) -> None:
    order, held, size, free, sizes, spread = drawn_crowd(seed)
    first, rest, found = compiled_places(order, held, size, free, sizes, spread)
    assert found == plain_places(first, rest, held, size, free, sizes, spread)


def test_a_running_job_stays_where_others_find_room() -> None:
    """The new gang of two comes first in order, and takes the node where nobody runs."""
    places = compiled_places(np.array([0, 1]), {1: {0: 1}}, [2, 1], [1, 2], [2, 2], False)
    assert places == ([0, 1], [], {0: {1: 2}, 1: {0: 1}})


def mixed_instance(seed: int, *, metric: bool = False) -> Instance[DeadlineJob]:
    """Overload on a few nodes: strict, soft and best-effort jobs, gangs wider than a node."""
    rng = np.random.default_rng([17, seed])
    jobs = []
    for i in range(24):
        work, kind = 60 * int(rng.integers(3, 60)), int(rng.integers(3))
        first = int(work * rng.uniform(0.75, 2.5))
        rewards = [(first, 100.0), (2 * first, 60.0)][:kind]
        more: dict[str, Any] = {"release": int(rng.integers(0, 7_200))}
        if metric and rng.random() < 0.6:
            epochs = int(rng.integers(6, 20))
            work = epochs * max(1, work // epochs)
            more["stopping"] = TargetMetric(0.9, epochs, [0.1] * (epochs - 1) + [0.8])
        jobs.append(job(f"j{i}", int(rng.choice([1, 1, 2, 3, 4, 6])), work, *rewards, **more))
    return Instance(Cluster.of_sizes([4, 4]), jobs)


@each_seed(range(5))
@pytest.mark.parametrize("options", [{}, {"balanced": True}, {"profiling": 300}])
def test_no_gpus_are_idle_while_a_job_that_fits_waits(seed: int, options: Any) -> None:
    policy, seen = ValueDensity(**options), []

    def see(state: State, decision: Decision) -> None:
        free = state.free.copy()
        for j in decision.suspend:
            for n, gpus in state.nodes(j).items():
                free[n] += gpus
        started = {entry.job for entry in decision.starts}
        for entry in decision.starts:
            for n, gpus in (entry.nodes or {}).items():
                free[n] -= gpus
        waiting = {*state.waiting.tolist(), *decision.suspend} - started
        profiled = policy.profiling and (state.profiled == 0) & (state.starts == 0)
        for j in waiting:
            gang = int(state.gpus[j])
            size = min(2, gang) if policy.profiling and profiled[j] else gang
            assert place(size, free.tolist(), state.sizes.tolist()) is None
        seen.append(len(waiting))

    drive(mixed_instance(seed), Watched(policy, see))
    assert max(seen) > 5


# --- rounds that are skipped ---------------------------------------------------------------------


def by_area(
    need: Any, size: list[int], held: Held, free: list[int], *more: Any
) -> tuple[set[int], Held]:
    """Who is selected by area, and all places; `need` is 0 of who is not there."""
    here = np.flatnonzero(need > 0)
    order = here[np.argsort((need * np.array(size))[here], kind="stable")]
    room, first, rest = sum(free) + sum(size[i] for i in held), list[int](), list[int]()
    for i in order.tolist():
        (first if size[i] <= room else rest).append(i)
        room -= size[i] if size[i] <= room else 0
    return set(first), plain_places(first, rest, held, size, free, *more)


def drawn_fragments(rng: np.random.Generator) -> tuple[Held, list[int], list[int], list[int]]:
    """Nodes on which narrow jobs run wherever they came, so that wide ones find no place."""
    sizes = [int(rng.choice([5, 6, 8]))] * 2
    free, held, size = list(sizes), dict[int, dict[int, int]](), list[int]()
    for i in range(int(rng.integers(5, 10))):
        size.append(int(rng.integers(2, 7)))
        node = int(rng.integers(len(sizes)))
        if size[i] <= free[node] and rng.random() < 0.8:
            held[i] = {node: size[i]}
            free[node] -= size[i]
    return held, size, free, sizes


@each_seed(range(300))
def test_places_stay_until_they_are_said_to_change(seed: int) -> None:
    """Second after second: whoever runs needs less, whoever was stopped has to be resumed.

    Until then the same jobs are selected, too, without which places seldom change.
    """
    rng = np.random.default_rng([8, seed])
    held, size, free, sizes = drawn_fragments(rng)
    spread, now, n, cost = bool(rng.random() < 0.1), 1_000, len(size), int(rng.integers(0, 9))
    need, speed = 1 + rng.integers(50, 130, n) // np.array(size), rng.integers(1, 3, n)
    runs = np.array([i in held for i in range(n)])
    new = ~runs & (rng.random(n) < 0.2)
    size = np.where(new, 2, size).tolist()
    resumption = np.where(~runs & ~new & (rng.random(n) < 0.5), cost, 0)
    need = need + resumption
    wide = np.array(size)
    rows = [held[i] for i in sorted(held)]
    before, _ = by_area(need, size, held, free, sizes, spread)
    kept, starts, count, until = settle(
        now, np.arange(n), np.argsort(wide * need, kind="stable"), wide, wide * need, new, runs,
        resumption, np.cumsum([0, *map(len, rows)]),
        np.array([k for own in rows for k in own], dtype=np.int64),
        np.array([k for own in rows for k in own.values()], dtype=np.int64),
        np.array(free), np.array(sizes), 1_000_000 * speed[:, None], spread, 60, True,
    )  # fmt: skip
    given = {start[0]: start[1] for start in WrittenStarts(starts, count)}
    after = {i: held[i] for i in np.flatnonzero(kept).tolist()} | given
    room = np.array(sizes)
    for own in after.values():
        for k, gpus in own.items():
            room[k] -= gpus
    after = {i: own for i, own in after.items() if not new[i]}
    for i in range(n):
        if i in after or i in given:
            need[i] -= resumption[i]
        elif runs[i]:
            need[i] += cost
        if new[i] and i in given:
            need[i] = 0
    for second in range(1, 40 if until == NEVER else until - now):
        left = need.copy()
        for i in after:
            left[i] = max(1, need[i] - second * speed[i])
        selected, places = by_area(left, size, after, room.tolist(), sizes, spread)
        assert places == after
        assert selected == before - set(np.flatnonzero(need == 0).tolist())


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("profiling", [0, 90])
@each_seed(range(8), plain=2)
def test_machine_code_decides_like_python(seed: int, profiling: int, balanced: bool) -> None:
    """Without deadlines, gangs on one node or several, with jobs that end and are stopped often."""
    rng = np.random.default_rng([10, seed])
    kind = (Job, DeadlineJob)[seed % 2]
    jobs = []
    many = seed == 0 and profiling > 0  # more run times than are kept without sorting them
    for i in range(230 if many else 40):
        epochs, more = int(rng.integers(6, 20)), dict[str, Any]()
        if seed % 2 and rng.random() < 0.5:
            more = {"split_speed": 0.7, "preemption_cost": int(rng.integers(0, 90))}
            metric = TargetMetric(0.9, 2 * epochs, [0.1] * (epochs - 1) + [0.95])
            more |= {"stopping": metric} if rng.random() < 0.7 else {}
        work = epochs * int(rng.integers(1, 200))
        jobs.append(kind(
            id=f"j{i}", gpus=int(rng.choice([1, 1, 2, 3, 4, 8])), work=work,
            release=int(rng.integers(0, 9_000)), user=f"u{i % 3}", **more,
        ))  # fmt: skip
    instance = Instance(Cluster.of_sizes([4, 4, 2, 2]), jobs)
    policy = ValueDensity(profiling=profiling, balanced=balanced)
    rules: dict[str, Any] = {
        "round_length": int(rng.choice([1, 30, 60])), "overhead": int(rng.integers(0, 60)),
        "spread": seed % 4 > 1, "migration": int(rng.integers(0, 60)),
    }  # fmt: skip
    asked = 0

    def count(_: State, __: Decision) -> None:
        nonlocal asked
        asked += 1

    watched = Watched(policy, count)
    python, found = drive(instance, watched, **rules), drive(instance, policy, **rules)
    plain = drive(instance, policy, engine="reference", **rules)
    assert found == plain
    assert asked == python.decisions > 0
    for run in (plain, python):
        for name in ("time", "job", "kind"):
            assert getattr(found.events, name).tolist() == getattr(run.events, name).tolist()
        assert list(found.schedule) == list(run.schedule)
    for until in (python.now // 2, 9 * python.now // 10):
        part = drive(instance, policy, until=until, **rules)
        assert drive(instance, policy, resume=part.checkpoint, **rules) == found


@pytest.mark.parametrize("balanced", [False, True])
def test_many_jobs_that_come_at_once_are_sorted_as_a_whole(balanced: bool) -> None:
    """Each is smaller than all before it, but for some that are as large."""
    jobs = [job(f"j{i}", 1 + i % 2, 60 * (200 - i // 2)) for i in range(300)]
    instance = Instance(Cluster.of_sizes([4] * 8), jobs)
    policy = ValueDensity(balanced=balanced)
    found = drive(instance, policy)
    assert found == drive(instance, policy, engine="reference")
    assert found.records.end[-2] == 51 * 60


def test_only_one_class_is_in_machine_code() -> None:
    class WidestFirst(ValueDensity):
        def _best_effort_order(self, jobs: _Jobs) -> Any:
            return (-jobs.gpus).argsort(kind="stable")

    jobs = [job("narrow", 1, 60), job("wide", 2, 600)]
    run = drive(Instance(Cluster.of_sizes([2]), jobs), WidestFirst(), overhead=0)
    assert run.records.end.tolist() == [660, 600]


def test_a_profiling_run_that_is_too_long_is_refused_by_name() -> None:
    instance = Instance(Cluster.of_sizes([2]), [job("a", 2, 60)])
    with pytest.raises(PolicyError, match="profiles job 0"):
        drive(instance, ValueDensity(profiling=2**40))


def test_rounds_are_visited_while_estimates_can_rise() -> None:
    """And while deadlines come nearer; not where nothing but the area counts."""
    jobs = [job(name, 1, 6_000) for name in "ab"]
    dated = [jobs[0], job("c", 1, 6_000, (90_000, 1.0))]
    found = []
    for policy, own in (
        (ValueDensity(), jobs),
        (ValueDensity(), dated),
        (ValueDensity(estimates=DurationEstimates(mode="calibrated")), jobs),
        (ValueDensity(estimates=DurationEstimates(mode="maximum", noise=0.1)), jobs),
    ):
        found.append(drive(Instance(Cluster.of_sizes([1]), own), policy).decisions)
    assert found == [2, 101, 101, 2]  # at 0 and 6,000 s, and each minute between them


# --- what it knows -------------------------------------------------------------------------------


def saving(instance: Instance[DeadlineJob], rng: np.random.Generator) -> Instance[DeadlineJob]:
    """The same jobs as anyone can see them, of which some reach their targets early."""
    jobs = []
    for one in instance.jobs:
        if isinstance(one.stopping, TargetMetric) and rng.random() < 0.7:
            most = one.stopping.max_epochs
            epochs = int(rng.integers(most // 2, most))
            stopping = replace(one.stopping, curve=[0.1] * (epochs - 1) + [0.95])
            jobs.append(replace(one, stopping=stopping, work=(one.work or 0) // most * epochs))
        else:
            jobs.append(one)
    return replace(instance, jobs=tuple(jobs))


def decisions(instance: Instance[DeadlineJob], policy: ValueDensity) -> tuple[Run, dict[int, Any]]:
    """The run, and what was decided when."""
    found: dict[int, Any] = {}

    def see(state: State, decision: Decision) -> None:
        found[state.now] = decision.suspend, decision.starts

    return drive(instance, Watched(policy, see)), found


@pytest.mark.parametrize("options", [{}, {"profiling": 300}, {"balanced": True, "profiling": 300}])
@each_seed(range(8), plain=1)
def test_nobody_sees_which_jobs_will_save_epochs(seed: int, options: Any) -> None:
    """Until the first of them is complete all is decided as if none did."""
    policy, rng = ValueDensity(**options), np.random.default_rng(seed)
    long = mixed_instance(seed, metric=True)
    short = saving(long, rng)
    run, mine = decisions(short, policy)
    _, others = decisions(long, policy)
    differ = [a != b for a, b in zip(short.jobs, long.jobs, strict=True)]
    known = int(run.records.end[differ].min())
    assert known > 300
    assert {t: own for t, own in mine.items() if t < known} == {
        t: own for t, own in others.items() if t < known
    }


def seen_jobs(policy: ValueDensity, instance: Instance[DeadlineJob], at: int) -> _Jobs:
    """What the policy takes jobs to need at a time."""
    found: list[_Jobs] = []

    def see(state: State, decision: Decision) -> None:
        if state.now == at:
            found.append(policy._jobs(state))

    drive(instance, Watched(policy, see), until=at + 60)
    return found[0]


def metric_job(*rewards: tuple[int, float]) -> DeadlineJob:
    """10 epochs of 100 s that the user allows, of which it runs 8."""
    stopping = TargetMetric(target=0.9, max_epochs=10, curve=[0.1] * 7 + [0.95])
    return job("metric", 1, 800, *rewards, stopping=stopping)


def test_hope_is_the_odds_of_a_uniform_saving() -> None:
    """Between 690 and 1,000 s: 845 s is half of that, so worth 50 + .5 * 20."""
    one = Instance(Cluster.of_sizes([1]), [metric_job((845, 100), (2_000, 20))])
    jobs = seen_jobs(ValueDensity(), one, 0)
    assert jobs.need.tolist() == [1000]
    assert jobs.tried[0, :2].tolist() == [845, 1000]
    assert jobs.value[0, :2].tolist() == pytest.approx([60, 20])
    jobs = seen_jobs(ValueDensity(hope=False), one, 0)
    assert jobs.tried[0, :2].tolist() == [1000, 1000]
    assert jobs.value[0, :2].tolist() == [100, 20]


@pytest.mark.parametrize(("due", "tried"), [(689, 1000), (700, 1000), (722, 722), (1000, 1000)])
def test_hope_has_limits(due: int, tried: int) -> None:
    """More than 31 % is never saved, odds of less than a tenth are not tried: 721 s."""
    one = Instance(Cluster.of_sizes([1]), [metric_job((due, 100), (2_000, 20))])
    assert seen_jobs(ValueDensity(), one, 0).tried[0, 0] == tried


def test_hope_wins_a_deadline_that_users_epochs_miss() -> None:
    jobs = [metric_job((850, 100)), job("any", 1, 600)]
    assert ends(ValueDensity(), 1, *jobs)[0] == 800
    assert ends(ValueDensity(hope=False), 1, *jobs)[0] == 1400


def test_a_job_is_guessed_by_those_with_the_nearest_deadlines() -> None:
    """Ratios to the deadline: near ones .5, far ones .1; at 600 s all have been profiled."""
    near = [job(f"n{i}", 1, 500 + i, (1_000 + 2 * i, 100)) for i in range(15)]
    far = [job(f"f{i}", 1, 1_000, (10_000, 100)) for i in range(20)]
    new = [job("new", 1, 77, (1_200, 100), release=600), job("any", 1, 99, release=600)]
    instance = Instance(Cluster.of_sizes([40]), [*near, *far, *new])
    jobs = seen_jobs(ValueDensity(profiling=300), instance, 600)
    guess = dict(zip(jobs.number.tolist(), jobs.need.tolist(), strict=True))
    assert jobs.new.tolist() == [j >= 35 for j in jobs.number.tolist()]
    assert guess[35] == 600  # .5 of 1,200 s
    assert guess[36] == 1_000  # without deadlines: the median of all
    assert seen_jobs(ValueDensity(profiling=300), instance, 0).need.tolist() == [3_600] * 35


@each_seed(range(40))
def test_the_median_is_that_of_all_run_times(seed: int) -> None:
    rng, known, every = np.random.default_rng([6, seed]), _Complete(), list[int]()
    assert known.median_with(np.zeros(0, dtype=np.int64)) == 3_600
    for _ in range(12):
        new, others = rng.integers(1, 900, rng.integers(0, 90)), rng.integers(1, 900, 1 + seed % 5)
        known.add(new)
        every += new.tolist()
        assert known.median_with(others) == int(np.median([*every, *others.tolist()]))


def test_profiling_costs_area_and_two_gpus_at_most() -> None:
    jobs = [job("wide", 4, 600, (2_000, 100)), job("one", 1, 600, (2_000, 100))]
    instance = Instance(Cluster.of_sizes([4]), jobs)
    found = seen_jobs(ValueDensity(profiling=300), instance, 0)
    assert (found.area - found.gpus * found.need).tolist() == [600, 300]
    run = drive(instance, ValueDensity(profiling=300))
    assert run.records.end.min() >= 900


# --- the whole -----------------------------------------------------------------------------------


UNIT = 600  #: seconds of a round, of which jobs take one to four


def longer(problem: DeadlineRewards) -> Instance[DeadlineJob]:
    """The same jobs with units for seconds."""
    jobs = [
        replace(
            one, work=UNIT * (one.work or 0), release=UNIT * one.release,
            rewards=[(UNIT * due, value) for due, value in one.rewards],
        ) for one in problem.instance.jobs
    ]  # fmt: skip
    return replace(problem.instance, jobs=tuple(jobs))


@pytest.mark.slow
def test_it_is_optimal_more_often_than_edf() -> None:
    rng, hits, shares = np.random.default_rng(5), [0, 0], [0.0, 0.0]
    for _ in range(120):
        problem = random_problem(rng, jobs=6)
        most, instance = optimum(problem), longer(problem)
        for k, policy in enumerate((ValueDensity(), EarliestDeadline())):
            run = drive(instance, policy, round_length=UNIT, lease=UNIT, overhead=0)
            won = float(np.nansum(metrics.rewards(run)))
            assert won <= most
            hits[k] += won == most
            shares[k] += won / most if most else 1.0
    assert hits[0] > hits[1]
    assert shares[0] > shares[1] + 1
    assert shares[0] > 0.97 * 120
