"""Write the golden files: ``python tests/build_golden.py FOLDER``, at the commit of their name.

``tests/golden/2e519fe`` was written by this script and the code of commit 2e519fe, and is never
written again: ``test_golden.py`` shows that later code still reads it, finds the same values and
accepts the same proofs. A later format gets a folder of its own, made by a script of its own.

Instances, problems, schedules, allocations, results and runs are what :func:`gangsched.io.save`
makes of them; wall times are set to constants, so that a second run gives the same bytes (the
versions of Python and numpy in results and runs apart). ``cases.json`` lists what belongs together:
to each problem its result, its solution where a result cannot hold it, and a solution that breaks
it; to each run its instance and its layouts. ``library.json`` has what the named instances were.
Checkpoints are left out: they are pickled objects, not data.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.analysis.fluid_fairness import fluid_bound, life_bound
from gangsched.analysis.online_bounds import busy_time_bound, release_bound, srpt_bound
from gangsched.formulations import (
    CompletionTime,
    DeadlineRewards,
    GpuMarket,
    Irmp,
    Ltgf,
    LtgfFluid,
    LtgfRound,
    RarDdls,
    UniSched,
)
from gangsched.formulations.leases import Phase
from gangsched.instances import Linear, ParameterServerJob, Power, Table
from gangsched.registry import policy
from gangsched.solvers.irmp_policy import OnlineRevenue

Case = dict[str, Any]


# --- instances -----------------------------------------------------------------------------------


def plain() -> gs.Instance[Any]:
    """Gangs of two users with weights that floats do not have exactly; one finds no place."""
    rows = [(6, 700, 0, "u"), (2, 850, 10, "v"), (12, 60, 20, "u"), (4, 1150, 60, "v"),
            (1, 1300, 31, "v"), (4, 500, 400, "u"), (2, 190, 900, "u"), (8, 333, 333, "v"),
            (4, 777, 100, "v"), (2, 1000, 100, "u")]  # fmt: skip
    jobs = [
        gs.Job(id=f"j{i}", gpus=d, work=p, release=r, user=u, weight=1 + 0.3 * i, group=f"g{i % 2}")
        for i, (d, p, r, u) in enumerate(rows)
    ]
    users = [gs.User("u"), gs.User("v", weight=3.3)]
    return gs.Instance(gs.Cluster.of_sizes([4, 4, 2]), jobs, users, name="two users")


def equal() -> gs.Instance[Any]:
    """Gangs of one user and one weight; more than half of the cluster is wanted at a time."""
    rows = [(3, 40, 0), (3, 25, 5), (1, 60, 7), (2, 10, 30), (4, 15, 31), (1, 5, 32)]
    jobs = [gs.Job(id=f"j{i}", gpus=d, work=p, release=r) for i, (d, p, r) in enumerate(rows)]
    return gs.Instance(gs.Cluster.of_sizes([4]), jobs)


def models() -> gs.Instance[Any]:
    """Three GPU models, users with jobs of other speeds on them, a pin."""
    nodes = [gs.Node("a0", 4, "k80"), gs.Node("a1", 4, "k80"), gs.Node("b0", 4, "p40"),
             gs.Node("c0", 4, "v100")]  # fmt: skip
    speeds = {"u": {"k80": 1.0, "p40": 1.2, "v100": 1.3}, "v": {"k80": 1.0, "p40": 2.0, "v100": 5}}
    jobs = [
        gs.Job(
            id=f"{user}{i}", user=user, gpus=2 + i % 3, work=3000 + 711 * i, release=130 * i,
            speeds=speeds[user],
        )
        for user in "uv"
        for i in range(6)
    ]  # fmt: skip
    jobs.append(gs.Job(id="old", user="u", gpus=2, work=1000, speeds={"k80": 1}, pin="k80"))
    return gs.Instance(gs.Cluster(nodes), jobs, [gs.User("u"), gs.User("v")], name="three models")


def rings(gangs: list[int], iterations: list[int], sizes: list[int]) -> gs.Instance[Any]:
    """Jobs that exchange gradients, on a link that is slow for them."""
    jobs = [
        gs.RingJob(id=f"j{i}", gpus=g, iterations=f, gradient=0.15, base_time=0.01)
        for i, (g, f) in enumerate(zip(gangs, iterations, strict=True))
    ]
    return gs.Instance(gs.Cluster.of_sizes(sizes), jobs)


def bins(lengths: list[int], gangs: list[int], sizes: list[int]) -> gs.Instance[Any]:
    """Jobs of so many slots that never need a link."""
    jobs = [
        gs.RingJob(id=f"j{i}", gpus=g, iterations=d, gradient=0, base_time=0.7)
        for i, (d, g) in enumerate(zip(lengths, gangs, strict=True))
    ]
    return gs.Instance(gs.Cluster.of_sizes(sizes), jobs)


def deadlines(*, releases: bool) -> gs.Instance[Any]:
    """Strict, soft and no deadlines; iterations and target metrics; own costs and speeds."""
    target = gs.TargetMetric(target=0.9, max_epochs=6, curve=[0.5, 0.7, 0.85, 0.93])
    kinds: list[dict[str, Any]] = [
        {"gpus": 6, "work": 1080, "rewards": [(1500, 100)], "split_speed": 0.9},
        {"gpus": 6, "work": 1080, "rewards": [(1800, 90), (3600, 40.5)], "split_speed": 0.9},
        {"gpus": 4, "work": 2400, "rewards": [(3000, 70)], "preemption_cost": 40},
        {"gpus": 2, "work": 1200, "stopping": target, "rewards": [(4000, 120)]},
        {"gpus": 1, "work": 4000, "scaling": 0.1},
        {"gpus": 8, "work": 900, "rewards": [(2500, 30)], "split_speed": 1 / 3},
        {"gpus": 3, "work": 700, "stopping": target},
    ]
    jobs = [
        gs.DeadlineJob(id=f"j{i}", release=45 * i if releases else 0, **kind)
        for i, kind in enumerate(2 * kinds)
    ]
    return gs.Instance(gs.Cluster.of_sizes([8, 8]), jobs, name="deadlines")


def servers() -> gs.Instance[Any]:
    """Workers and parameter servers of two users and two models; every kind of utility."""
    nodes = [gs.Node("s0", 2, "k80", ps=1), gs.Node("s1", 2, "k80", ps=2), gs.Node("s2", 4, ps=1)]
    utilities = [Linear(-2, 100), Power(20, 1.5), Table([90, 80.5, 80.5, 7]), Linear(-0.5, 60)]
    jobs = [
        ParameterServerJob(
            id=f"j{i}", user="uv"[i % 2], gpus=2 + i % 3, release=i // 2, epochs=2 + i % 2,
            minibatches=1 + i % 2, rates=(1, 0.6), utility=utilities[i % 4],
            speeds={"k80": 0.75} if i % 4 == 1 else {},
        )
        for i in range(7)
    ]  # fmt: skip
    users = [gs.User("u", 4, gpus=4, ps=3), gs.User("v", 4, gpus=4, ps=1)]
    return gs.Instance(gs.Cluster(nodes), jobs, users, slot=3600, name="servers")


# --- problems, solutions and bounds --------------------------------------------------------------


def result(problem: Any, solution: Any = None, **more: Any) -> gs.Result[Any]:
    """A result made by hand."""
    return gs.Result.of(problem, solution, solver="golden", stop=gs.Stop.COMPLETED, **more)


def together(solution: Any) -> Any:
    """All at once: what the schedule of a small cluster cannot be."""
    if isinstance(solution, gs.Allocation):
        return gs.Allocation(solution.users, solution.models, 2 * solution.shares)
    length = solution.end - solution.start
    return replace(solution, start=np.zeros_like(length), end=length)


def rar_cases() -> Iterator[tuple[str, Any, gs.Result[Any]]]:
    small = RarDdls(rings([3, 3, 4, 4], [16, 12, 12, 20], [3, 3, 2]), xi1=1, xi2=0.005, alpha=0.5)
    history = [(0.25, None, 3), (0.5, 12, 4), (0.75, 10, None)]
    found = gs.solvers.sjf_bco(small)
    yield "rar-area", small, replace(found, history=history)
    other = {"degradation": "power", "contention": "shifted", "rate": "exact", "horizon": 400}
    long = RarDdls(rings([1, 1, 3], [900, 20, 5], [2, 2]), **other)
    yield "rar-longest-job", long, gs.solvers.sjf_bco(long)
    items = RarDdls(bins([60, 60, 60], [1, 1, 1], [1, 1]))
    plan = gs.solvers.baselines.first_fit(items).solution
    yield "rar-dff", items, result(items, plan, bound=gs.best_bound(items))
    lengths = RarDdls(bins([7, 7, 4, 4, 3], [1] * 5, [1, 1]), bandwidth_between=0.3)
    plan = gs.solvers.laminar(lengths).solution
    best = gs.best_bound(lengths, effort="full")
    yield "rar-configuration-lp", lengths, result(lengths, plan, bound=best)
    wide = RarDdls(bins([9, 8, 5, 5, 4, 3], [2, 1, 2, 1, 1, 2], [2, 1]))
    plan = gs.solvers.baselines.list_scheduling(wide).solution
    yield "rar-without-bound", wide, result(wide, plan, info={"seed": 3, "ties": ["a", None, 0.5]})


def completion_cases() -> Iterator[tuple[str, Any, gs.Result[Any]]]:
    one, two, crowd = equal(), plain(), models()
    two = replace(two, jobs=[job for job in two.jobs if job.gpus <= 8])
    last = replace(crowd, jobs=crowd.jobs[-3:])

    def case(name: str, instance: Any, measure: str, bound: Any, **more: Any) -> Any:
        problem = CompletionTime(instance, measure, **more)  # type: ignore[arg-type]
        return name, problem, result(problem, in_turn(problem), bound=bound(problem))

    yield case("completion-last-job", last, "makespan", gs.online_bound)
    yield case("completion-released-work", one, "makespan", release_bound)
    yield case("completion-released-work-prices", crowd, "makespan", release_bound)
    yield case("completion-srpt", one, "flow", srpt_bound)
    yield case("completion-srpt-sum", two, "completion", srpt_bound)
    yield case("completion-srpt-prices", crowd, "flow", srpt_bound)
    yield case("completion-busy-time", one, "completion", busy_time_bound)
    yield case("completion-busy-time-weighted", two, "flow", busy_time_bound, weighted=True)
    yield case("completion-busy-time-slowdown", two, "slowdown", busy_time_bound)
    yield case("completion-busy-time-prices", crowd, "slowdown", busy_time_bound, weighted=True)


def in_turn(problem: CompletionTime) -> gs.Schedule:
    """One job after another, each on the first nodes of its fastest model."""
    now, rows = 0, []
    for j, job in enumerate(problem.jobs):
        model = problem.models[int(np.argmax(problem.speeds[j]))]
        left, held = job.gpus, {}
        for n, node in enumerate(problem.instance.cluster.nodes):
            if node.model == model and left:
                held[n] = min(left, node.gpus)
                left -= held[n]
        start = max(now, job.release)
        now = start + problem.seconds[j]
        rows.append(gs.Segment(j, start, now, held))
    return gs.Schedule.of(rows)


def deadline_cases() -> Iterator[tuple[str, Any, gs.Result[Any]]]:
    for name, elastic in (("rewards", False), ("rewards-elastic", True)):
        problem = DeadlineRewards(deadlines(releases=True), elastic=elastic)
        rows = [gs.Segment(0, 60, 1140, {0: 6}), gs.Segment(2, 200, 2600, {1: 4}),
                gs.Segment(1, 1200, 2280, {0: 6})]  # fmt: skip
        plan = gs.Schedule.of(rows)
        yield name, problem, result(problem, plan, bound=gs.reward_bound(problem))
    queue = deadlines(releases=False)
    phases = {1: Phase.RUNNING, 2: Phase.SUSPENDED}
    snapshot = UniSched(queue, phases=phases, profilers=frozenset({3}), free=[8, 4], overhead=30)
    yield "unisched-cells", snapshot, gs.solvers.lp_selector(snapshot)
    exact = UniSched(queue, allocations="exact", lexicographic=True, rounding="paper")
    yield "unisched-exact", exact, gs.solvers.lp_selector(exact)
    whole = UniSched(queue, allocations="consolidated", sr_aware=False, lease=900)
    yield "unisched-consolidated", whole, gs.solvers.density_greedy(whole)
    priced = UniSched(queue, overhead=0)
    yield "unisched-prices", priced, gs.solvers.opportunity_price(priced)
    gangs = [
        gs.DeadlineJob(id=f"j{i}", gpus=2, work=600, release=600 * (i > 1), rewards=[(600, 100)])
        for i in range(3)
    ]
    later = UniSched(gs.Instance(gs.Cluster.of_sizes([2]), gangs))
    bound = gs.Bound(200, "by hand", {"kind": "lease prices", "prices": [[50, 50]], "scale": 1})
    plan = gs.Schedule.of([gs.Segment(0, 0, 600, {0: 2}), gs.Segment(2, 600, 1200, {0: 2})])
    yield "unisched-releases", later, result(later, plan, bound=bound)


def fairness_cases() -> Iterator[tuple[str, Any, gs.Result[Any]]]:
    gangs = [gs.Job(id=f"J{i}", gpus=d, work=4) for i, d in enumerate([6, 3, 3])]
    wide, narrow = [(0, 1), (3, 4), (6, 8)], [(1, 3), (4, 6)]
    plan = gs.Schedule.of(
        [gs.Segment(0, a, b, {0: 6}) for a, b in wide]
        + [gs.Segment(j, a, b, {0: 3}) for j in (1, 2) for a, b in narrow]
    )
    single = Ltgf(gs.Instance(gs.Cluster.of_sizes([6]), gangs), horizon=40)
    yield "ltgf-one-user", single, result(single, plan, bound=life_bound(single))
    two = plain()
    two = replace(two, jobs=[replace(job, release=0) for job in two.jobs if job.gpus <= 8])
    several = Ltgf(two)
    rows, now = [], 0
    for j, job in enumerate(two.jobs):
        held = {0: min(job.gpus, 4), **({1: job.gpus - 4} if job.gpus > 4 else {})}
        rows.append(gs.Segment(j, now, now + job.work, held))
        now += job.work
    plan = gs.Schedule.of(rows)
    yield "ltgf-two-users", several, result(several, plan, bound=life_bound(several))
    later = Ltgf(equal())
    yield "ltgf-releases", later, result(later, bound=life_bound(later))
    fluid = LtgfFluid.of(equal())
    yield "ltgf-fluid", fluid, result(fluid, bound=fluid_bound(fluid))


def revenue_cases() -> Iterator[tuple[str, Any, gs.Result[Any]]]:
    made = servers()
    more: dict[str, Any] = {"worker_bandwidth": 2, "ps_bandwidth": 3}
    problem = Irmp(made, horizon=64, owners=["u", "u", "v"], **more)
    yield "irmp", problem, gs.solvers.lp_list(problem)
    promised = replace(problem, alone={"u": 12.5, "v": -3.0}, clock="release", paper_slot_r=True)
    yield "irmp-promised", promised, gs.solvers.online_density(promised)
    changing = replace(problem, preemptive=True, horizon=None)
    bound = gs.best_bound(changing)
    plan = gs.solvers.lp_list(problem).solution
    yield "irmp-fluid", changing, result(changing, plan, bound=bound)
    every = replace(problem, optional=False, instance=replace(problem.instance, slot=1))
    yield "irmp-all", every, result(every, bound=gs.best_bound(every, effort="full"))


def market_cases() -> Iterator[tuple[str, Any, gs.Result[Any]]]:
    speeds = [[1, 1.25, 0], [1, 5, 5.5], [1, 6.25, 7], [0.5, 0, 1]]
    more: dict[str, Any] = {"tickets": [1, 2, 1.1, 0.7], "users": "ABCD"}
    solve = {
        "total": gs.solvers.efficient_allocation,
        "max-min": gs.solvers.max_min_allocation,
        "nash": gs.solvers.nash_allocation,
    }
    for aim in ("total", "max-min", "nash"):
        market = GpuMarket([60, 12, 3], speeds, aim=aim, **more)  # type: ignore[arg-type]
        yield f"market-{aim}", market, solve[aim](market)
    capped = GpuMarket([60, 12], [[1, 1.25], [1, 5], [1, 6.25]], demand=[np.inf, 20, 7.5])
    yield "market-capped", capped, solve["total"](capped)


def rounds() -> Iterator[tuple[Case, Any, Any]]:
    """Problems whose solutions no file of the package can hold, as plain data."""
    gangs: Case = {
        "gpus": 4, "lease": 10, "attained": [20, 0], "fair": [20, 20.5], "share": [2, 2.25],
        "jobs": [[0, 4], [0, 1], [1, 3]],
    }  # fmt: skip
    one = LtgfRound(**gangs)
    yield {"name": "ltgf-round", "parameters": gangs}, one, gs.solvers.one_round(one).solution
    fluid = LtgfFluid(4, (1, 4), (1, 2))
    packings = (((0,), Fraction(2, 3)), ((1,), Fraction(1, 3)))
    yield {"name": "ltgf-packings", "parameters": fields(fluid)}, fluid, packings


def fields(problem: LtgfFluid) -> Case:
    shares = [str(share) for share in problem.shares]
    return {"gpus": problem.gpus, "gangs": list(problem.gangs), "shares": shares}


# --- runs ----------------------------------------------------------------------------------------


def runs() -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    """Names, instances, policies and what `gs.drive` is told besides."""
    yield "fifo", equal(), policy("fifo:backfill")[1], {"round_length": 7, "overhead": 0}
    yield "ltgf", plain(), policy("ltgf")[1], {"lease": 100, "overhead": 25}
    apart = {"lease": 300, "synchronous": False, "spread": True, "patience": None}
    yield "tiresias", plain(), policy("tiresias-l")[1], {**apart, "reject": {5: "left out"}}
    yield "stopped", plain(), policy("srtf")[1], {"until": 620, "round_length": 10}
    trading = {"round_length": 30, "lease": 60, "overhead": 5, "migration": 9}
    yield "gandiva-fair", models(), policy("gandiva-fair")[1], trading
    yield "unisched", deadlines(releases=True), policy("unisched", seed=4)[1], {"lease": 600}
    yield "elastic", deadlines(releases=True), policy("optimus:elastic")[1], {"lease": 600}
    yield "hived", borrowed(), gs.solvers.baselines.Hived(limit=2), {"lease": 300}
    problem = Irmp(servers(), horizon=64)
    yield "servers", problem.instance, OnlineRevenue.of(problem), {"round_length": 1}


def borrowed() -> gs.Instance[Any]:
    """The second user takes back the GPUs that the first has borrowed: its jobs are killed."""
    lent = [gs.Job(id=f"a{i}", user="a", gpus=4, work=2000) for i in range(4)]
    own = [gs.Job(id=f"b{i}", user="b", gpus=4, work=500, release=700) for i in range(2)]
    users = [gs.User("a", gpus=8), gs.User("b", gpus=8)]
    return gs.Instance(gs.Cluster.uniform(nodes=4, gpus_per_node=4), [*lent, *own], users)


#: layouts of each run beside JSON
FOLDERS = {"ltgf": ("csv", "parquet"), "gandiva-fair": ("parquet",), "servers": ("csv",)}


# --- files ---------------------------------------------------------------------------------------


class Files:
    """A folder, and what it holds so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instances: dict[str, Any] = {}

    def save(self, name: str, thing: Any) -> str:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        gs.io.save(self.folder / name, thing)
        return name

    def instance(self, instance: Any) -> str:
        """Equal instances share a file."""
        for name, other in self.instances.items():
            if other == instance:
                return name
        name = f"instances/i{len(self.instances)}.json" + ".gz" * (not self.instances)
        self.instances[name] = instance
        return self.save(name, instance)

    def write(self, name: str, data: Any) -> None:
        text = json.dumps(data, indent=1, sort_keys=True)
        (self.folder / name).write_text(text + "\n", encoding="ascii")


def problem_case(files: Files, name: str, problem: Any) -> Case:
    """Where a problem is: a file, or a class of `gangsched.formulations` and its parameters."""
    if isinstance(problem, (RarDdls, UniSched, DeadlineRewards, Irmp, GpuMarket)):
        return {"name": name, "problem": files.save(f"problems/{name}.json", problem)}
    case: Case = {"name": name, "class": type(problem).__name__}
    if isinstance(problem, LtgfFluid):
        return {**case, "parameters": fields(problem)}
    if isinstance(problem, Ltgf):
        parameters = problem.parameters()
    else:
        parameters = {"measure": problem.measure, "weighted": problem.weighted}
    return {**case, "instance": files.instance(problem.instance), "parameters": parameters}


def solved(files: Files) -> Iterator[Case]:
    """The problems with their results."""
    made = (rar_cases, completion_cases, deadline_cases, fairness_cases, revenue_cases,
            market_cases)  # fmt: skip
    for name, problem, found in (case for make in made for case in make()):
        case = problem_case(files, name, problem)
        case["result"] = files.save(f"results/{name}.json", replace(found, runtime=0.125))
        if found.bound is not None:
            assert found.bound.certificate is not None, name
            case["kind"] = found.bound.certificate["kind"]
            gs.verify_bound(problem, found.bound)
        if found.solution is not None:
            wrong = together(found.solution)
            case["broken"] = files.save(f"solutions/{name}-broken.json", wrong)
            case["violations"] = problem.violations(wrong)
            assert case["violations"], name
        yield case


def driven(files: Files) -> Iterator[Case]:
    """The runs with their instances."""
    for name, instance, chosen, how in runs():
        run = gs.drive(instance, chosen, **how)
        run = replace(run, runtime=0.25, checkpoint=None)
        layouts = ["json.gz" if name == "fifo" else "json", *FOLDERS.get(name, ())]
        yield {
            "name": name,
            "instance": files.instance(instance),
            "preempts": chosen.preempts.name,
            "layouts": [files.save(f"runs/{name}.{suffix}", run) for suffix in layouts],
        }


def main(folder: Path) -> None:
    """Write everything."""
    files = Files(folder)
    folder.mkdir(parents=True)
    cases: dict[str, list[Case]] = {"problems": list(solved(files)), "plain": []}
    for case, problem, solution in rounds():
        held = json.loads(json.dumps(solution, default=str))
        case |= {"class": type(problem).__name__, "solution": held}
        cases["plain"].append({**case, "objective": problem.objective(solution)})
    cases["runs"] = list(driven(files))
    rows = [gs.Segment(0, 0, 4, {0: 2, 1: 1}, {0: (0, 3), 1: (1,)}),
            gs.Segment(1, 4, 9, {1: 2}, {1: (2, 0)})]  # fmt: skip
    shared = [gs.Segment(0, 0, 4, {0: 2, 1: 0}, ps={1: 2}), gs.Segment(1, 4, 9, {1: 1}, ps={1: 1})]
    for suffix in ("json", "csv", "parquet"):
        files.save(f"solutions/devices.{suffix}", gs.Schedule.of(rows))
        files.save(f"solutions/servers.{suffix}", gs.Schedule.of(shared))
    files.save("solutions/empty.json", gs.Schedule.of([]))
    files.save("solutions/shares.json", gs.Allocation(("a", "b"), ("k80",), [[1.5], [1 / 3]]))
    files.save("instances/empty.json", gs.Instance(gs.Cluster.of_sizes([1]), []))
    files.save("instances/rings.json", rings([3, 3], [8, 9], [2, 2, 2]))
    stopped: dict[str, Any] = {"solver": "golden", "sense": gs.formulations.Sense.MIN}
    stopped |= {"status": gs.Status.UNKNOWN, "stop": gs.Stop.TIME_LIMIT, "runtime": 60.125}
    files.save("results/nothing.json", gs.Result(**stopped))
    refuted = {"status": gs.Status.INFEASIBLE, "stop": gs.Stop.PROVEN, "iterations": 7}
    files.save("results/infeasible.json", gs.Result(**{**stopped, **refuted}))
    files.write("cases.json", cases)
    entries = {name: gs.library.entry(name) for name in gs.library.names()}
    known = {
        name: {"problem": e.sha256, "objective": e.objective, "bound": e.bound["value"]}
        for name, e in entries.items()
    }
    files.write("library.json", known)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
