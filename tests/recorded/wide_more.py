"""What few others reach: pages, pieces, halved prices, lent cells, wrong values, by check sums."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import gangsched as gs
from gangsched.registry import PROBLEMS, policy, solver

from .bounds import tampered
from .digests import wide
from .instances import market, queue, revenue, ring_problem
from .parts import Own
from .plain import drawing, page, pictures
from .policies import crowd, leaves, other, put, read_json
from .table import attempt, named, places, policies
from .wide import EARN, LONGEST, throng

# --- names with values ---------------------------------------------------------------------------


@wide
def wide_members(folder: Path) -> Any:
    """Members of enumerations, which files and machine code know by their values."""
    return {
        name: [[str(one.name), one.value] for one in kind]
        for name, kinds in sorted(places().items())
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, Enum) and name[0] != "_"
    }


# --- replays -------------------------------------------------------------------------------------


def looked_at(shown: Any, path: Path) -> Any:
    """The report, all columns and the jobs that waited longest."""
    seen: list[Any] = []
    with pictures(seen, drawing):
        said = attempt(named("write_replay_report"), path, shown)
    text = path.read_text("utf-8") if said is None else str(said)
    waits = attempt(shown.waits, 3)
    return {
        "page": page(text), "pictures": seen, "csv": attempt(lambda: shown.csv().splitlines()[0]),
        "frame": attempt(lambda: shown.to_frame().to_dict()),
        "waits": waits if isinstance(waits, str) else {k: list(v) for k, v in waits.items()},
        "prices": attempt(lambda: shown.price_bound),
    }  # fmt: skip


@wide
def wide_pages(folder: Path) -> Any:
    """Reports of replays of every kind: with losses, trades, revenue, rejected jobs, no bounds."""
    found: dict[str, Any] = {}
    cases: dict[str, Any] = {}
    for seed in range(4):
        for kind in ("jobs", "models", "deadlines")[seed % 2 :]:
            instance, rules = throng(seed, kind)
            names = [["srtf", "gandiva-fair"], ["ltgf", "allox"], ["fifo", "unisched"],
                     ["gandiva-fair:no-trade", "gandiva-fair"]][seed]  # fmt: skip
            known = gs.solvers.Rules(**rules)
            cases[f"{kind} {seed}"] = partial(
                gs.replay, instance, names, rules=known, ledger=seed != 1,
                effort=("quick", "standard")[seed % 2],
            )  # fmt: skip
            runs = [(name, attempt(gs.drive, instance, policy(name)[1], **rules, until=900))
                    for name in names]  # fmt: skip
            cases[f"{kind} {seed} stopped"] = partial(
                named("Replay").of,
                instance,
                {k: run for k, run in runs if not isinstance(run, str)},
            )
    for seed in range(3):
        problem = gs.formulations.reduced_problem(
            4 + seed, servers=4, users=1 + seed, utility=("linear", "convex")[seed % 2], seed=seed
        )
        for effort in ("quick", "standard"):
            cases[f"revenue {seed} {effort}"] = partial(
                gs.replay, problem, list(EARN)[: 2 + seed], effort=effort
            )
    for name, make in cases.items():
        shown = attempt(make)
        if isinstance(shown, str):
            found[name] = shown
            continue
        found |= {f"{name} {k}": v for k, v in looked_at(shown, folder / "a.html").items()}
    return found


@wide
def wide_replays_of_runs(folder: Path) -> Any:
    """Replays of runs that there are, with bounds and schedules that are right or wrong."""
    found: dict[str, Any] = {}
    of = named("Replay").of
    for seed, kind in ((0, "jobs"), (1, "models"), (2, "deadlines")):
        instance, rules = throng(seed, kind)
        run = gs.drive(instance, policy("srtf")[1], **rules, until=LONGEST)
        problems = named("bounded")(instance, dict(run.rejected), None)
        for name, problem in problems.items():
            bound = attempt(gs.bound, problem)
            if isinstance(bound, str):
                continue
            beyond = replace(bound, value=bound.value * 1.5 + 1)
            for what, one in (("right", bound), ("wrong", beyond)):
                shown = attempt(of, instance, {"srtf": run}, bounds={name: one})
                found[f"{kind} {name} {what}"] = str(shown).splitlines()
        for what, given in (
            ("none", {}),
            ("other", {"a": gs.drive(throng(5, kind)[0], policy("fifo")[1])}),
        ):
            found[f"{kind} {what}"] = str(attempt(of, instance, given)).splitlines()
        flow = problems.get("flow")
        if flow is not None:
            bound = gs.bound(flow)
            found[f"{kind} name"] = attempt(of, instance, {"a": run}, bounds={"speed": bound})
            known = named("KnownSchedule")
            for name, value in (("flow", bound.value * 0.5), ("flow", bound.value * 2), ("x", 1)):
                schedule = attempt(known, "of nobody", value)
                given = {name: schedule}
                found[f"{kind} known {name} {value > bound.value}"] = str(
                    attempt(of, instance, {"a": run}, bounds={"flow": bound}, known=given)
                ).splitlines()
    return found


# --- runs ----------------------------------------------------------------------------------------


@wide
def wide_lent_cells(folder: Path) -> Any:
    """HiveD with quotas of whole nodes and of parts, which jobs outgrow, borrow and get back."""
    found: dict[str, Any] = {}
    for seed in range(16):
        rng = np.random.default_rng([89, seed])
        nodes, users = 2 + seed % 3, 2 + seed % 2
        quotas = [[8, 8], [4, 12], [12, 4], [8, 4, 4]][seed % 4]
        names = [gs.User(f"u{k}", gpus=q) for k, q in enumerate(quotas)]
        users = min(users, len(names))
        jobs = [
            gs.Job(
                id=f"j{k}", gpus=int(rng.choice([1, 2, 4, 8])), user=f"u{rng.integers(users)}",
                work=int(rng.choice([300, 900, 2400])), release=int(rng.integers(0, 3000)),
            )
            for k in range(24)
        ]  # fmt: skip
        instance = gs.Instance(gs.Cluster.of_sizes([8] * max(nodes, 2)), jobs, names)
        for name in ("hived", "hived:backfill", "yarn-cs", "yarn-cs:backfill"):
            for engine in ("compiled", "reference"):
                rules = {"engine": engine, "lease": 300}
                run = attempt(gs.drive, instance, policy(name)[1], **rules)
                place = f"{name} {seed} {engine}"
                if isinstance(run, str):
                    found[place] = run
                    continue
                part = gs.drive(instance, policy(name)[1], **rules, until=run.now // 2)
                whole = gs.drive(instance, policy(name)[1], **rules, resume=part.checkpoint)
                found[place] = [run.now, run.digest()[:10], part.digest()[:10], whole == run]
    return found


@wide
def wide_resumed(folder: Path) -> Any:
    """Runs of the driver that can be read, and of settings, which stop and go on from a file."""
    found: dict[str, Any] = {}
    names = [name for name in policies() if not name.startswith("rolling-horizon")]
    settings = ("", ":profiled", ":estimated", ":profiled-dedicated-1")
    for k, name in enumerate(names):
        for setting in ("", settings[1 + k % 3]):
            made = attempt(policy, f"{name}{setting}", seed=3)
            kind = ("jobs", "models", "deadlines")[k % 3]
            instance, rules = throng(3 + k % 6, kind)
            rules |= {"engine": "compiled" if setting else "reference"}
            place = f"{name}{setting} {kind}"
            if isinstance(made, str):
                found[place] = made
                continue
            part = attempt(gs.drive, instance, made[1], **rules, until=300 + 31 * k)
            if isinstance(part, str):
                found[place] = part
                continue
            if part.checkpoint is None:  # complete by then
                found[place] = [part.now, part.digest()[:10]]
                continue
            part.checkpoint.save(folder / "at.checkpoint")
            at = named("Checkpoint").load(folder / "at.checkpoint")
            made = policy(f"{name}{setting}", seed=3)
            whole = attempt(gs.drive, instance, made[1], **rules, until=LONGEST, resume=at)
            found[place] = whole if isinstance(whole, str) else [whole.now, whole.digest()[:10]]
            wrong = attempt(
                gs.drive, throng(2, kind)[0], policy(f"{name}{setting}", seed=3)[1],
                **rules, resume=at,
            )  # fmt: skip
            others = [wrong if isinstance(wrong, str) else "taken"]
            again = {**rules, "lease": 601, "overhead": 3}
            wrong = attempt(gs.drive, instance, made[1], **again, resume=at)
            found[f"{place}, elsewhere"] = [*others, wrong if isinstance(wrong, str) else "taken"]
    for seed, name in enumerate(EARN):
        problem = gs.formulations.reduced_problem(6, servers=4, users=2, seed=90 + seed)
        for engine in ("compiled", "reference"):
            rules = {"round_length": 1, "engine": engine}
            whole = attempt(gs.drive, problem.instance, policy(name)[1], **rules)
            if isinstance(whole, str):
                found[f"{name} {engine}"] = whole
                continue
            part = gs.drive(
                problem.instance, policy(name)[1], **rules, until=max(1, whole.now // 2)
            )
            again = attempt(
                gs.drive, problem.instance, policy(name)[1], **rules, resume=part.checkpoint
            )
            found[f"{name} {engine}"] = [whole.now, whole.digest()[:10], again == whole]
    return found


@wide
def wide_pieces(folder: Path) -> Any:
    """Runs that are checked job by job and node by node, as long ones are, right and wrong."""
    found: dict[str, Any] = {}
    check = import_module("gangsched.analysis.driving.check")
    own, check.PART = check.PART, 40
    try:
        for seed, name in enumerate(("srtf", "ltgf", "unisched", "srtf:profiled-dedicated-1")):
            kind = ("jobs", "models", "deadlines", "jobs")[seed]
            instance, rules = throng(4 + seed, kind)
            made = policy(name, seed=0)[1]
            run = attempt(gs.drive, instance, made, **rules, until=LONGEST)
            if isinstance(run, str):
                found[name] = run
                continue
            found[f"{name} right"] = check._is_right_in_parts(run, made.preempts)
            found[f"{name} violations"] = check.violations(run, preempts=made.preempts)
            gs.io.save(folder / "run.json", run)
            data = read_json(folder / "run.json")
            for place in leaves(data):
                for change in (other, lambda value: value - 20):
                    made_wrong = attempt(put, data, place, change)
                    if isinstance(made_wrong, str):
                        continue
                    (folder / "changed.json").write_text(json.dumps(made_wrong), "utf-8")
                    wrong = attempt(gs.io.load, folder / "changed.json")
                    if isinstance(wrong, str):
                        continue
                    wrong = attempt(wrong.attach, instance)
                    if not isinstance(wrong, str):
                        found.setdefault(f"{name} {place[0]}", []).append([
                            attempt(check._is_right_in_parts, wrong, made.preempts),
                            attempt(check.violations, wrong, preempts=made.preempts),
                        ])  # fmt: skip
    finally:
        check.PART = own
    return found


# --- bounds --------------------------------------------------------------------------------------


@wide
def wide_prices(folder: Path) -> Any:
    """Bounds by prices with few intervals, more rounds and halved ones, and machines by prices."""
    found: dict[str, Any] = {}
    for seed in range(6):
        for kind in ("jobs", "models"):
            instance, _ = throng(seed, kind)
            for measure in ("flow", "slowdown", "completion"):
                made = attempt(gs.formulations.CompletionTime, instance, measure)
                if isinstance(made, str):
                    found[f"{kind} {seed} {measure}"] = made
                    continue
                maker = "model_price_bound" if made.mixed else "price_bound"
                for options in ({"intervals": 4}, {"intervals": 9, "rounds": 60, "halvings": 2},
                                {"halvings": 3, "rounds": 20}):  # fmt: skip
                    bound = attempt(named(maker), made, **options)
                    place = f"{kind} {seed} {measure} {options}"
                    found[place] = [bound, attempt(gs.verify_bound, made, bound)]
                for rounds in (1, 5):
                    bound = attempt(named("busy_time_bound"), made, rounds=rounds)
                    place = f"{kind} {seed} {measure} busy {rounds}"
                    found[place] = [bound, attempt(gs.verify_bound, made, bound)]
                    if isinstance(bound, gs.Bound) and seed < 2 and measure == "flow":
                        found[f"{place} tampered"] = tampered(made, bound)
                for options in ({"rounds": 3, "steps": 5, "halvings": 1}, {"steps": 2}):
                    bound = attempt(named("online_bound"), made, **options)
                    found[f"{kind} {seed} {measure} {options}"] = bound
                for name in ("release_bound", "srpt_bound"):
                    found[f"{kind} {seed} {measure} {name}"] = attempt(named(name), made)
            if kind == "models":
                found |= machines_by_prices(seed, instance)
        rewards = attempt(gs.formulations.DeadlineRewards, throng(seed, "deadlines")[0])
        if not isinstance(rewards, str):
            for options in ({"rounds": 5}, {"rounds": 40, "halvings": 2}):
                bound = attempt(named("reward_bound", "halvings"), rewards, **options)
                found[f"rewards {seed} {options}"] = [
                    bound,
                    attempt(gs.verify_bound, rewards, bound),
                ]
    return found


def machines_by_prices(seed: int, instance: Any) -> dict[str, Any]:
    """Certificates of a fast machine that has prices of the GPU models."""
    found: dict[str, list[Any]] = {}
    for measure in ("flow", "makespan", "slowdown"):
        made = attempt(gs.formulations.CompletionTime, instance, measure)
        if isinstance(made, str):
            continue
        models = len(made.models)
        for prices in ([1] * models, [0] * models, list(range(1, models + 1)), [1], [-1] * models):
            for value in (0.0, 100.0, 1e9):
                for more in ({}, {"k": 2}, {"eps": 1}):
                    certificate = {"prices": prices, "densities": [], **more}
                    for method in ("busy times", "mean busy times", "release", "released work",
                                   "fast machine", "srpt"):  # fmt: skip
                        said_ = attempt(gs.verify_bound, made, gs.Bound(value, method, certificate))
                        found.setdefault(f"{measure} {seed} {prices}", []).append(said_)
    return found


@wide
def wide_exact(folder: Path) -> Any:
    """Exact solving with each form, limit and start, and with options that are wrong."""
    found: dict[str, Any] = {}
    params = named("ExactParams")
    for stem, row in PROBLEMS.items():
        problem = row.tiny()
        for form in [*getattr(problem, "forms", ()), "none"]:
            for given in (
                {},
                {"options": {"gap": 0.5}},
                {"options": {"no": 1}},
                {"solver": "no"},
                {"work_limit": -1},
            ):
                made = attempt(params, form=form, **given)
                for solve in ("solve_exact", "branch_and_bound")[: 2 if not given else 1]:
                    got = made if isinstance(made, str) else attempt(
                        named(solve, "problem"), problem, params=made
                    )  # fmt: skip
                    found.setdefault(f"{stem} {form} {given}", []).append(
                        got if isinstance(got, str)
                        else [got.objective, got.status, got.stop, got.bound and got.bound.value]
                    )  # fmt: skip
        for limit in (-1, math.nan, "x"):
            found[f"{stem} {limit}"] = [
                str(attempt(solver(stem, name)[1], problem, time_limit=limit))[:80]
                for name in row.solvers
            ]
    return found


# --- files ---------------------------------------------------------------------------------------


@wide
def wide_files(folder: Path) -> Any:
    """Results of every solver in a file, what comes back, and what is said of files changed."""
    found: dict[str, Any] = {}
    path, changed = folder / "result.json", folder / "changed.json"
    for stem, row in PROBLEMS.items():
        problem = row.tiny()
        for name in row.solvers:
            result = attempt(solver(stem, name)[1], problem)
            wrong = attempt(gs.io.save, path, result)
            if wrong is not None:
                found[f"{stem} {name}"] = str(wrong)
                continue
            again = gs.io.load(path)
            data = read_json(path)
            found[f"{stem} {name}"] = [again == result, again.objective, again.gap]
            for place in leaves(data):
                if place[0] in ("versions", "info", "timing", "facts"):
                    continue
                for change in (other, lambda _: None, lambda _: -1, lambda _: "x",
                               lambda _: [1, "a"], lambda _: {"a": 1}):  # fmt: skip
                    changed.write_text(json.dumps(put(data, place, change)), "utf-8")
                    got = attempt(gs.io.load, changed)
                    found.setdefault(f"{stem} {name} {place[0]}", []).append(
                        got.partition("changed.json: ")[2] if isinstance(got, str)
                        else [got.objective, got.gap]
                    )  # fmt: skip
    instance, rules = throng(1, "jobs")
    run = gs.drive(instance, policy("ltgf")[1], **rules, until=500)
    for ending in ("json", "json.gz", "csv", "txt", "gz"):
        found[f"run.{ending}"] = str(attempt(gs.io.save, folder / f"run.{ending}", run))[-60:]
        again = attempt(gs.io.load, folder / f"run.{ending}")
        found[f"run.{ending} again"] = again[-80:] if isinstance(again, str) else again == run
    found["run frame"] = attempt(lambda: run.to_frame().to_dict())
    return found


# --- experiments ---------------------------------------------------------------------------------


@wide
def wide_experiments(folder: Path) -> Any:
    """Cells of figures that run, go on after a failure, and are drawn with a report."""
    found: dict[str, Any] = {}
    cell, experiment = named("FigureCell"), import_module("gangsched.analysis.papers.experiment")
    told: list[str] = []
    cells = [
        cell(instance=f"i{k}", policy="p", x=k, workload={"a": k / 3, "b": k}, run=experiment.given)
        for k in range(3)
    ]
    wrong = cell(instance="wrong", policy="p", run=len)  # type: ignore[arg-type]
    for what, given in (("right", cells), ("one wrong", [*cells[:1], wrong]), ("none", [])):
        for parts in (None, folder / what):
            found[f"{what} {parts is None}"] = attempt(
                experiment.run_cells, given, figure="f", parts=parts, known={}, progress=told.append
            )
            if parts is not None:
                names = sorted(parts.glob("*")) if parts.exists() else []
                keys = sorted(read_json(p)["key"] for p in names)  # names change with the code
                found[f"{what} files"] = [len(names), *keys[:1]]
                found[f"{what} again"] = attempt(
                    experiment.run_cells, given, parts=parts, known={}, progress=told.append
                )
    found["told"] = [*told]  # what figures tell depends on the cells that are known by then
    found["cell"] = [str(cells[0]), cells[0].key, str(cells[0].seed)]
    for name in ("rar_ddls:fig1", "gandiva_fair:fig4", "gandiva_fair:table3", "irmp:table1", "x"):
        seen: list[Any] = []
        with pictures(seen, drawing):
            got = attempt(gs.reproduce.reproduce, name, folder, told.append,
                          report=folder / "a.html")  # fmt: skip
        found[name] = got if isinstance(got, str) else [p.name for p in got]
        found[f"{name} with a trace"] = attempt(gs.reproduce.reproduce, name, folder, trace=3)
    return found


@wide
def wide_fortnights(folder: Path) -> Any:
    """The busiest fortnight of a log, on nodes for a load."""
    found: dict[str, Any] = {}
    fortnight = named("fortnight")
    for seed in range(4):
        rng = np.random.default_rng([97, seed])
        rows = ["id,user,gpus,submit,duration"]
        for k, day in enumerate(sorted(rng.integers(0, 40, 60).tolist())):
            at = day * 86_400 + int(rng.integers(0, 86_400))
            gpus = int(rng.choice([1, 2, 4, 8, 16]))
            rows.append(f"j{k},u{k % 3},{gpus},{at},{int(rng.integers(600, 90_000))}")
        (folder / "log.csv").write_text("\n".join(rows) + "\n", "utf-8")
        log = gs.traces.read_csv(folder / "log.csv")
        for load in (0.3, 0.9, 2.0):
            case = attempt(fortnight, log, load)
            found[f"{seed} {load}"] = case if isinstance(case, str) else [
                case.name, case.start, case.days, len(case.instance.cluster.nodes),
                len(case.instance.jobs), str(case.on(7).instance),
            ]  # fmt: skip
    return found


# --- responses to prices -------------------------------------------------------------------------


@wide
def wide_responses(folder: Path) -> Any:
    """Best runs of jobs with parameter servers where little is free, within quotas, as printed."""
    found: dict[str, Any] = {}
    for seed, law in ((0, "linear"), (3, "convex"), (4, "linear")):
        problem = gs.formulations.reduced_problem(5, servers=4, users=2, utility=law, seed=seed)
        rng, slots = np.random.default_rng([43, seed]), 160
        free = gs.solvers.Occupancy(problem, slots=slots).free
        free -= np.repeat(rng.integers(0, free[:, :, ::20] + 1) * rng.integers(0, 2), 20, axis=2)
        room = np.repeat(rng.integers(2, 12, (2, slots // 20)), 20, axis=1)
        prices = np.repeat(rng.uniform(0, 0.02, (2, slots // 20)), 20, axis=1)
        values = np.linspace(900, 100, slots + 1)
        for job in range(1, 4):
            told: list[Any] = []
            for options in ({}, {"room": room}, {"literal": True}, {"room": room, "literal": True}):
                for machine in (True, False):
                    told += [sorted(options), machine, attempt(
                        gs.solvers.best_response, problem, job, free, prices, values,
                        begin=0, end=slots, machine=machine, **options,
                    )]  # fmt: skip
            for machine in (True, False):
                told.append(attempt(
                    gs.solvers.zero_price_response, problem, job, free, begin=0, limit=slots,
                    machine=machine,
                ))  # fmt: skip
            found[f"{seed} {job}"] = told
    return found


@wide
def wide_wait_prices(folder: Path) -> Any:
    """Waits at prices of this and of other clusters."""
    found: dict[str, Any] = {}
    times, prices = np.array([0, 60, 600, 3600]), np.array([[3, 1, 0.5], [2, 2, 1], [1, 0.1, 4]])
    for kind in ("jobs", "models"):
        instance, rules = crowd(0, kind)
        run = gs.drive(instance, policy("fifo")[1], **rules)
        for models in range(4):
            known = named("GpuPrices")(times, prices[:models]) if models else None
            found[f"{kind} {models}"] = attempt(named("longest_waits"), run, 4, prices=known)
    return found


# --- wrong values --------------------------------------------------------------------------------


@wide
def wide_wrong_calls(folder: Path) -> Any:
    """Functions of many parameters, each of which is wrong in turn."""
    found: dict[str, Any] = {}
    ring, money, earn, line = ring_problem(), market(), revenue(), queue()
    instance, _ = throng(0, "jobs")
    flow = gs.formulations.CompletionTime(instance)
    shares, speeds = money.fair().shares, money.speeds
    free = np.ones((len(earn.instance.cluster.nodes), 4), dtype=np.int64)
    calls: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
        "trade": (gs.solvers.trade, (shares, speeds), {"demand": None, "least": 0.1}),
        "trade shapes": (gs.solvers.trade, (shares[:1], speeds), {}),
        "prices": (named("price_bound"), (flow,), {"intervals": 5, "rounds": 3, "halvings": 1}),
        "stride": (named("gang_aware_stride"), ([1.0], [1.0], [1], 2), {"debt_cap": True}),
        "responses": (named("best_response"), (earn, 0, free), {
            "begin": 0, "limit": 4, "machine": True, "literal": False, "values": None}),
        "assigned": (named("assign"), ([], [4, 4], [4, 4]), {"repack": True}),
        "audit": (gs.audit, (gs.traces.read_csv(simple(folder)),), {
            "cluster": gs.Cluster.of_sizes([4]), "window": 3600, "quotas": {"a": 2}}),
        "laminar": (gs.solvers.laminar, (ring,), {"seed": 1}),
        "lower": (named("configuration_bound"), (ring,), {"time_limit": 1.0}),
        "optimum": (gs.solvers.irmp_exact, (earn,), {"time_limit": 5.0}),
        "replay": (gs.replay, (instance, ["fifo"]), {"effort": "quick", "ledger": False}),
        "drive": (gs.drive, (instance, policy("fifo")[1]), {"until": 100, "resume": None}),
        "profiler": (named("Profiler"), (), {"seconds": 10, "gpus": 1}),
        "estimated": (named("Estimated"), (policy("fifo")[1],), {"size": 0.1, "seed": 0}),
        "profiled": (named("Profiled"), (policy("fifo")[1],), {"profiler": None, "dedicated": 0}),
        "misreport": (named("find_misreport"), (money, 0), {}),
        "thetas": (named("thetas"), (earn,), {"scale": 1.0, "estimate": 1.0}),
        "price": (named("prices_at"), (2.0, [1, 2], 4), {"scale": 1.0}),
        "selector": (solver("unisched", "lp-selector")[1], (line,), {"seed": 0}),
    }  # fmt: skip
    wrong = (-1, 0, 1, 2.5, True, "x", math.nan, math.inf, None, [1, "x"], (3,), {"a": -1}, 10**30,
             np.ones((2, 3)), Fraction(1, 3))  # fmt: skip
    for name, (call, args, given) in calls.items():
        found[name] = brief(attempt(call, *args, **given))
        for part in given:
            for value in wrong:
                got = attempt(call, *args, **{**given, part: value})
                found.setdefault(f"{name} {part}", []).append(brief(got))
        for k in range(len(args)):
            for value in wrong:
                changed = [*args[:k], value, *args[k + 1 :]]
                found.setdefault(f"{name} {k}", []).append(brief(attempt(call, *changed, **given)))
    return found


@wide
def wide_starts(folder: Path) -> Any:
    """Numbers of a start, of jobs of three kinds: what can be carried out, and what cannot."""
    found: dict[str, Any] = {}
    numbers = {
        "gpus": (None, 0, -1, 1, 2, 4, 9, True, 2.5, "2"),
        "profile": (0, -60, 60, 90, 120, 61, 600, 2**41, 60 * 2**36, True, 60.0, None),
        "nodes": (None, {}, {0: 0}, {0: 1}, {0: 2}, {1: 1, 0: 1}, {99: 1}, {-1: 1}, {0: 99}),
        "ps": (None, {}, {0: 1}, {0: 0}),
    }
    for kind in ("jobs", "models", "deadlines"):
        for name, values in numbers.items():
            for value in values:
                instance, rules = crowd(1, kind)
                start = partial(gs.solvers.Start, **{"nodes": None, name: value})

                def decide(state: Any, start: Any = start) -> Any:
                    first = [start(int(j)) for j in state.waiting[:1]]
                    return gs.solvers.Decision(start=first)

                own = Own("starts", gs.solvers.Preempts.NEVER, decide)
                run = attempt(gs.drive, instance, own, **rules, until=2400)
                found[f"{kind} {name}={value!r}"] = (
                    run if isinstance(run, str) else [run.now, run.digest()[:10]]
                )
    return found


def brief(found: Any) -> Any:
    """An error, or a result in a few words."""
    if isinstance(found, str):
        return found[:40]
    return [getattr(found, name, None) for name in ("objective", "value", "now", "failed")] + [
        type(found).__name__
    ]


def simple(folder: Path) -> Path:
    """A log of three jobs."""
    path = folder / "simple.csv"
    rows = ["id,user,gpus,submit,start,end", "a,a,1,0,0,90", "b,a,2,5,9,900", "c,b,4,9,900,990"]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path
