"""Parts of algorithms that stand for themselves, by their names, in whichever module they stand.

Their names are no promise: where one goes, its entry goes with it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.registry import policy, solver

from .bounds import small_revenue
from .instances import market, queue, revenue, ring_problem
from .policies import CHANGES, crowd, is_number, leaves, put, read_json, short
from .table import attempt, entry, named


@entry
def results_in_files(folder: Path) -> Any:
    """Results of each problem, which come back from their files, and files that were changed."""
    found: dict[str, Any] = {}
    path = folder / "result.json"
    for stem, problem in (("rar-ddls", ring_problem()), ("unisched", queue()), ("irmp", revenue()),
                          ("gandiva-fair", market())):  # fmt: skip
        names = {"irmp": "lp-list", "gandiva-fair": "efficient", "unisched": "lp-selector"}
        result = solver(stem, names.get(stem, "laminar"))[1](problem)
        gs.io.save(path, result)
        again = gs.io.load(path)
        found[stem] = [again == result, repr(again)[:40], again.objective, again.gap]
        if stem in ("rar-ddls", "gandiva-fair"):
            found[f"{stem} changed"] = changed(folder, read_json(path))
    return found


def changed(folder: Path, data: Any) -> Any:
    found: dict[str, list[str]] = {}
    for place in leaves(data):
        if place[0] in ("versions", "info"):
            continue
        said = found.setdefault(".".join(map(str, place)), [])
        for change in CHANGES:
            (folder / "changed.json").write_text(json.dumps(put(data, place, change)), "utf-8")
            result = attempt(gs.io.load, folder / "changed.json")
            of_file = isinstance(result, str)
            said.append(result.partition("changed.json: ")[2] if of_file else str(result.objective))
    return found


@entry
def parts_of_models(folder: Path) -> Any:
    """Fair fractions of GPU models, and AlloX's matching."""
    found: dict[str, Any] = {}
    isolated = named("isolated_fractions")
    for seed in range(5):
        rng = np.random.default_rng([17, seed])
        jobs, models = 3 + seed, 2 + seed % 2
        rates = rng.uniform(0.5, 4, (jobs, models)) * (rng.random((jobs, models)) < 0.85)
        rates[:, 0] += 0.1
        gangs, gpus = rng.integers(1, 3, jobs), rng.integers(2, 5, models)
        left, since = rng.uniform(10, 99, jobs), rng.uniform(0, 50, jobs)
        for name, options in (
            ("finish_time_fairness", {"remaining": left}),
            ("finish_time_fairness", {"remaining": left, "elapsed": since, "isolated": since / 2}),
            ("max_min_fairness", {}), ("max_min_fairness", {"weights": since + 1}),
        ):  # fmt: skip
            made = named(name, "throughputs")(rates, gangs, gpus, **options)
            found[f"{name} {seed} {len(options)}"] = [made.objective, made.bound]
        found[f"isolated {seed}"] = isolated(gangs, gpus)
        times = rng.integers(1, 30, (jobs, models))
        times[times > 26] = named("position_matching").__globals__["FORBIDDEN"]
        matching = named("position_matching")(times, gpus)
        found[f"matching {seed}"] = matching
        check = named("optimality_violations")
        found[f"proof {seed}"] = [
            check(times, gpus, matching),
            check(times, gpus, replace(matching, objective=matching.objective + 1)),
            check(times, gpus, replace(matching, model=matching.model[::-1].copy())),
            check(times, gpus, replace(matching, value=matching.value + 1)),
            check(times, gpus, replace(matching, position=matching.position + 1)),
        ]
        found[f"starts {seed}"] = named("allox_starts")(times, gangs, gpus)
    for wrong in (([[1.0]], [1, 1], [1]), ([[1.0]], [0], [1]), ([[-1.0]], [1], [1]),
                  ([[0.0]], [1], [1]), ([[1.0]], [1.5], [1]), ([[1.0]], [1], [-1])):  # fmt: skip
        found[str(wrong)] = [
            attempt(named("max_min_fairness"), *wrong),
            attempt(named("finish_time_fairness", "throughputs"), *wrong, remaining=[1.0]),
        ]
    for wrong in ([1.0, 2.0], [0.0], [float("nan")]):
        function = named("finish_time_fairness", "throughputs")
        found[f"remaining {wrong}"] = attempt(function, [[1.0]], [1], [1], remaining=wrong)
    for times, gpus in (([[0]], [1]), ([[1.5]], [1]), ([[1]], [-1]), ([[1]], [1, 1]), ([1], [1])):
        found[f"matching {times} {gpus}"] = attempt(named("position_matching"), times, gpus)
    return found


@entry
def parts_of_stride(folder: Path) -> Any:
    """Gang-aware stride on servers: machine code and plain Python, jobs that come and go."""
    found: dict[str, Any] = {}
    for seed in range(6):
        options = {"debt_cap": seed % 2 == 0, "normalised": seed % 3 > 0,
                   "ties": ["arrival", "larger"][seed // 2 % 2]}  # fmt: skip
        for kind in ("StridePool", "ReferencePool"):
            rng = np.random.default_rng([19, seed])
            pool = attempt(named(kind), [4, 4, 2], 3, **options)
            if isinstance(pool, str):
                pool = named(kind)([4, 4, 2], 3)
            ran: list[Any] = []
            for now in range(24):
                if now < 12 or now % 5 == 0:
                    gang = int(rng.choice([1, 1, 2, 3, 4, 8]))
                    servers = (0, 1) if gang == 8 else (int(rng.integers(2 if gang > 2 else 3)),)
                    pool.add(now, gang, int(rng.integers(3)), servers, now)
                if now in (9, 15, 16):
                    pool.remove(now - 8)
                ran.append(sorted(pool.quantum([1.0, 2.0, 0.5])))
            found[f"{kind} {seed}"] = [sum(run) for run in ran], pool.passes()
    for demands in ([1, 2, 8], [4, 4, 4], [1, 0, 9]):
        tickets = named("effective_tickets")([1, 2, 1], demands, 6)
        found[f"tickets {demands}"] = tickets if seed else None
    return found


@entry
def parts_of_nodes(folder: Path) -> Any:
    """Gangs on nodes: cells, contents, whole slots."""
    found: dict[str, Any] = {}
    for gpus in (1, 3, 5, 6, 8, 11, 16, 17):
        for size in (4, 8):
            found[f"cells {gpus} {size}"] = [
                attempt(named(name, "node_size"), gpus, size)
                for name in ("round_up", "allocations", "nondominated")
            ]
    for wrong in ((0, 8), (3, 5), (True, 8), (2.5, 8)):
        found[f"cells {wrong}"] = attempt(named("round_up", "node_size"), *wrong)
    for seed in range(12):
        rng = np.random.default_rng([23, seed])
        size = (8, 4, 16, 6)[seed % 4]
        counts = rng.integers(0, 4, size)
        free = [size] * int(counts.sum() // 2 + 1) if seed < 8 else rng.integers(0, 9, 12).tolist()
        for less in (0, 2, 4):
            some = free[less:]
            found[f"pack {seed} {less}"] = [
                attempt(named("fits_consolidated"), counts.tolist(), some),
                attempt(named("pack", "counts"), counts.tolist(), some),
            ]
        cells = named("free_cells")(free) if size == 8 else (2, 1, 1, 1)
        for wanted in ((1, 0, 0, 0), (0, 1, 1, 0), (3, 2, 0, 1)):
            found[f"place {seed} {wanted}"] = [
                attempt(named("fits_cells"), wanted, cells),
                attempt(named("place_cells"), wanted, [min(n, 8) for n in free]),
            ]
        request = named("Request")
        order = [request(job=k, gpus=int(g)) for k, g in enumerate(rng.integers(1, 9, 9))]
        held = {2: {0: order[2].gpus}} if order[2].gpus <= 8 else {}
        for repack in (False, True):
            found[f"assign {seed} {repack}"] = attempt(
                named("assign"), order, [8, 8, 4, 2], [8, 8, 8, 8], held=held, repack=repack
            )
    found["measured"] = [named("measured_times")(g, n) for g, n in ((1, 1), (2, 1), (6, 2))]
    return found


@entry
def parts_of_measures(folder: Path) -> Any:
    """Measures of runs that no table shows, and descriptions of runs."""
    found: dict[str, Any] = {}
    for name, kind, seed in (("ltgf", "jobs", 1), ("srtf", "models", 0)):
        instance, rules = crowd(seed, kind)
        whole = gs.drive(instance, policy(name)[1], **rules)
        part = gs.drive(instance, policy(name)[1], **rules, until=whole.now // 2)
        for what, run in (("whole", whole), ("part", part)):
            place = f"{name} {what}"
            for measure in (
                "completion_time", "wait_time", "preemptions", "renewals", "attained_time",
                "fair_time", "rho", "user_rho", "user_work", "makespan", "utilisation",
            ):  # fmt: skip
                found[f"{place} {measure}"] = attempt(named(measure, "run"), run)
            for measure in ("finish_time_fairness", "slowdown", "ideal_time", "service_time",
                            "objectives", "summary", "user_work_rho"):  # fmt: skip
                function = named(measure, "run")
                given = (run, instance)[: len(signature(function).parameters)]
                found[f"{place} {measure}"] = attempt(function, *given)
            found[f"{place} miss"] = [
                attempt(named("deadline_miss"), run, deadlines, weighted=weighted)
                for deadlines in ({0: 500, 3: 9000}, [2000.0] * 12, [1.0], {99: 3})
                for weighted in (False, True)
            ]
            for by in ("demand", "quota"):
                found[f"{place} by {by}"] = [
                    attempt(named(measure), run, *more, by)
                    for measure, more in (("user_rho", ()), ("window_rho", (600,)),
                                          ("user_fair_time", ([100, 900],)))
                ]  # fmt: skip
            found[f"{place} described"] = said_of(named("describe")(instance, run))
    found["jain"] = [attempt(named("jain"), x) for x in ([1, 2, 3], [], [0, 0], [-1, 2], [[1]])]
    return found


def said_of(description: Any) -> Any:
    return [str(description).splitlines(), description.to_dict()]


@entry
def parts_of_selection(folder: Path) -> Any:
    """Selectors on small queues, with plain Python beside machine code."""
    found: dict[str, Any] = {}
    options_of, capacity = named("options_of_problem"), named("capacity_of_problem")
    for seed in range(4):
        problem = queue(jobs=10, nodes=2, size=8, seed=20 + seed)
        options = options_of(problem)
        room = capacity(problem, int(options.within.max()))
        for machine in (True, False):
            found[f"density {seed} {machine}"] = named("by_density")(options, room, machine=machine)
        found[f"release {seed}"] = named("by_release")(options, room)
        found[f"price {seed}"] = named("one_price")(options, room).bound(options, room)
    return found


@entry
def parts_of_markets(folder: Path) -> Any:
    """How far allocations and prices are from proving each other optimal."""
    found: dict[str, Any] = {}
    for seed in range(3):
        for aim, name in (("total", "efficient"), ("max-min", "max_min"), ("nash", "nash")):
            problem = market(seed, aim, users=3)
            result = getattr(gs.solvers, f"{name}_allocation")(problem)
            other = market(seed + 5, aim, users=3).fair()
            found[f"{aim} {seed}"] = [
                round(named("kkt_residual")(problem, one, result.bound.certificate), 9)
                for one in (result.solution, problem.fair(), other)
            ]
    return found


@entry
def parts_of_runs(folder: Path) -> Any:
    """Best runs of jobs with parameter servers at prices, by trying all and by machine."""
    found: dict[str, Any] = {}
    problem = small_revenue()
    classes = named("Classes").of(problem)
    trials = named("Trials").of(problem, classes)
    for seed in range(6):
        rng = np.random.default_rng([29, seed])
        worth = np.sort(rng.integers(0, 60, (3, 10)))[:, ::-1].copy()
        prices = rng.integers(0, 4, (len(classes), 2, 9))
        for job in range(3):
            found[f"plain {seed} {job}"] = named("reference_best_run")(
                problem, classes, job, worth[job], prices, 0
            )
        found[f"machine {seed}"] = named("best_runs")(
            problem, classes, trials, worth, prices, np.zeros(3, dtype=np.int64), np.arange(1, 10),
            hints=trials.ptr[:3].astype(np.int64), every=True,
        )  # fmt: skip
    return found


@entry
def parts_of_decisions(folder: Path) -> Any:
    """Policies of others: what they may decide, and what is refused."""
    found: dict[str, Any] = {}
    decision, start = gs.solvers.Decision, gs.solvers.Start
    made: dict[str, Any] = {
        "nothing": lambda state: decision(),
        "text": lambda state: "fifo",
        "unknown": lambda state: decision(order=[99]),
        "twice": lambda state: decision(order=[0, 0]),
        "real": lambda state: decision(order=[0.5]),
        "waiting": lambda state: decision(order=state.waiting),
        "suspend": lambda state: decision(order=state.waiting, suspend=state.running[:1]),
        "kill": lambda state: decision(order=state.waiting, kill=state.running[:1]),
        "both": lambda state: decision(suspend=[0], kill=[0]),
        "start": lambda state: decision(start=[start(int(j), {0: 1}) for j in state.waiting[:1]]),
        "whole": lambda state: decision(
            start=[start(int(j), {0: int(state.gpus[j])}) for j in state.waiting[:1]]
        ),
        "nowhere": lambda state: decision(start=[start(0, {7: 1})]),
        "none": lambda state: decision(start=[start(0, {0: 0})]),
        "spread": lambda state: decision(start=[start(int(j), {0: 1, 1: 1}) for j in range(12)]),
        "ps": lambda state: decision(start=[start(0, {0: 1}, ps={0: 1})]),
        "passed": lambda state: decision(order=state.waiting, passed=[0]),
        "profile": lambda state: decision(start=[start(0, {0: 1}, profile=True)]),
        "wrong": lambda state: decision(order="x"),
        "raises": lambda state: {}["x"],
    }
    for kind in ("jobs", "models", "deadlines"):
        instance, rules = crowd(0, kind)
        for preempts in (gs.solvers.Preempts.NEVER, gs.solvers.Preempts.ALWAYS):
            for name, decide in made.items():
                own = Own(name, preempts, decide)
                run = attempt(gs.drive, instance, own, **rules, until=2400)
                place = f"{kind} {preempts.name} {name}"
                found[place] = run if isinstance(run, str) else short(run)
    instance, rules = crowd(0, "jobs")
    shown = gs.replay(instance, {"own": Own("own", preempts, made["raises"])})
    found["replayed"] = [one.reason.partition(" at ")[0] for one in shown.failed]
    return found


@entry
def parts_of_servers(folder: Path) -> Any:
    """Jobs with parameter servers: decisions that are refused, and runs that break a rule."""
    found: dict[str, Any] = {}
    decision, start = gs.solvers.Decision, gs.solvers.Start
    problem = small_revenue()
    never = gs.solvers.Preempts.NEVER
    for name, gpus, ps in (
        ("none", {0: 2}, None), ("no ps", {0: 2}, {}), ("fits", {0: 2}, {0: 1}),
        ("far", {0: 2}, {1: 1}), ("zero", {0: 2}, {0: 0}), ("below", {0: 2}, {0: -1}),
        ("real", {0: 2}, {0: 1.5}), ("bool", {0: 2}, {0: True}), ("text", {0: 2}, {0: "x"}),
        ("nowhere", {0: 2}, {9: 1}), ("many", {0: 2}, {0: 99}), ("gang", {0: 99}, {0: 1}),
        ("key", {0: 2}, {"x": 1}), ("true", {0: 2}, {True: 1}), ("two", {0: 1, 1: 1}, {0: 1, 1: 1}),
    ):  # fmt: skip
        for order in (False, True):

            def decide(state: Any, gpus: Any = gpus, ps: Any = ps, order: bool = order) -> Any:
                jobs = state.waiting[:1]
                starts = [start(int(j), gpus, **({} if ps is None else {"ps": ps})) for j in jobs]
                return decision(start=starts, order=jobs if order else [])

            own = Own(name, never, decide)
            own.needs_ps = True
            run = attempt(gs.drive, problem.instance, own, round_length=1, until=60)
            found[f"{name} {order}"] = run if isinstance(run, str) else short(run)
    policy_of = named("OnlineRevenue").of(problem)
    gs.io.save(folder / "run.json", gs.drive(problem.instance, policy_of, round_length=1))
    data = read_json(folder / "run.json")
    check = named("violations", "preempts")
    for place in leaves(data):
        for change in (lambda old: old + 1, lambda old: 0):
            if place[0] != "tables" or not is_number(data, place):
                continue
            (folder / "changed.json").write_text(json.dumps(put(data, place, change)), "utf-8")
            run = attempt(gs.io.load, folder / "changed.json")
            if not isinstance(run, str):
                whole = (run.attach(problem.instance),) if hasattr(run, "attach") else (
                    run, problem.instance)  # fmt: skip
                broken = attempt(check, *whole, preempts=never)
                found.setdefault(".".join(map(str, place)), []).append(broken[:2])
    return found


class Own:
    """A policy of somebody else."""

    needs_ps = False

    def __init__(self, name: str, preempts: Any, decide: Any) -> None:
        self.name, self.preempts, self.decide = name, preempts, decide
