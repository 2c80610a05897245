"""What is meant to be faster than something else, and how much; the table of docs/benchmarks.md."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

import gangsched as gs
import reference_driver
from gangsched.analysis.proofs.makespan import configuration_bound, dff_bound
from gangsched.formulations.rar_ddls.problem import RarDdls, evaluate
from gangsched.instances.compiled import tier
from gangsched.instances.generate import philly_workload
from gangsched.registry import EARNING, POLICIES, policy
from gangsched.solvers.policies.allox.position_matching import position_matching

Call = Callable[[], Any]


class Pair(NamedTuple):
    """A fast way and a slow one; `least` times the CPU of the fast one the slow one needs."""

    fast: Call
    slow: Call
    least: float
    same: bool = True  #: whether both find the same


def cpu(call: Call, runs: int = 3) -> float:
    """The least CPU seconds of some calls, all in machine code."""
    taken = []
    with tier("machine code"):
        call()
        for _ in range(runs):
            began = time.process_time()
            call()
            taken.append(time.process_time() - began)
    return min(taken)


def times_faster(pair: Pair) -> float:
    """How many times the CPU time of the fast way is in that of the slow one."""
    return cpu(pair.slow) / cpu(pair.fast)


# --- pairs ---------------------------------------------------------------------------------------


def workload(jobs: int, load: float = 0.9, nodes: int = 16) -> gs.Instance[gs.Job]:
    return philly_workload(gs.Cluster.uniform(nodes=nodes, gpus_per_node=8), jobs=jobs, load=load)


def compiled_driver(name: str) -> Pair:
    instance, made = workload(500), policy(name)[1]
    slow = partial(reference_driver.drive, instance, made, engine="reference")
    return Pair(partial(gs.drive, instance, made), slow, 3)


def skipped_rounds(name: str) -> Pair:
    drive = partial(gs.drive, workload(2_000), policy(name)[1], round_length=10, lease=900)
    return Pair(drive, partial(drive, skip=False), 2)


def paper_problem(seed: int = 0) -> RarDdls:
    """160 jobs on 20 servers of 4, 8, 16 or 32 GPUs, T = 1200: section 7 of Yu et al. 2022."""
    cluster = gs.generate.paper_cluster(20, seed=seed)
    return RarDdls(gs.generate.rar_workload(cluster, jobs=160, seed=seed, variant="B"), 1200)


def compiled_sjf_bco() -> Pair:
    def interpreted() -> Any:
        with tier("python"):
            return gs.solvers.sjf_bco(problem).solution

    problem = paper_problem()
    return Pair(lambda: gs.solvers.sjf_bco(problem).solution, interpreted, 3)


def slot_by_slot(
    problem: RarDdls, start: Sequence[int], placement: Sequence[dict[int, int]]
) -> list[int]:
    """Ends of all jobs, found by going through every slot: what `evaluate` does by events."""
    left = [job.iterations * problem.resolution for job in problem.jobs]
    end, t = [0] * len(left), 0
    while any(rest > 0 for rest in left):
        active = [j for j, rest in enumerate(left) if rest > 0 and start[j] <= t]
        crossing: dict[int, int] = {}
        for j in active:
            for s in placement[j] if len(placement[j]) > 1 else ():
                crossing[s] = crossing.get(s, 0) + 1
        for j in active:
            span = placement[j]
            p = max(crossing[s] for s in span) if len(span) > 1 else 0
            left[j] -= int(problem.rates[j, len(span) - 1, min(p, problem.rates.shape[2] - 1)])
            end[j] = t + 1
        t += 1
    return end


def events() -> Pair:
    short = paper_problem()
    jobs = [replace(job, iterations=20 * job.iterations) for job in short.jobs]
    problem = RarDdls(replace(short.instance, jobs=tuple(jobs)))
    schedule = gs.solvers.sjf_bco(problem).solution
    assert schedule is not None
    given = problem, schedule.start.tolist(), [dict(row.gpus) for row in schedule]
    assert slot_by_slot(*given) == schedule.end.tolist()
    return Pair(partial(evaluate, *given), partial(slot_by_slot, *given), 3, same=False)


def dual_feasible_functions() -> Pair:
    problem = paper_problem(seed=2)
    pair = Pair(partial(dff_bound, problem), partial(configuration_bound, problem), 2, same=False)
    assert pair.fast().value < pair.slow().value  # or the program had nothing to do
    return pair


def replayed_certificate() -> Pair:
    problem = paper_problem(seed=2)
    find = partial(configuration_bound, problem)
    return Pair(partial(gs.verify_bound, problem, find()), find, 3, same=False)


def certified_ratio() -> Pair:
    def certify() -> None:
        gs.verify_bound(problem, gs.bound(problem))

    problem = paper_problem()
    return Pair(certify, partial(gs.solvers.sjf_bco, problem), 1.5, same=False)


def columns_by_position() -> Pair:
    times = np.random.default_rng(0).integers(1, 1_000, (250, 2))
    gpus = (2, 1)
    # column (model g, GPU, position k from the end): k times the run time
    every = [
        np.outer(times[:, g], 1 + np.arange(250)) for g, n in enumerate(gpus) for _ in range(n)
    ]
    cost = np.concatenate(every, axis=1)

    def whole() -> int:
        return int(cost[linear_sum_assignment(cost)].sum())

    return Pair(lambda: position_matching(times, gpus).objective, whole, 1.5)


PAIRS: dict[str, Callable[[], Pair]] = {
    "drive fifo: machine code, Python": partial(compiled_driver, "fifo"),
    "drive tiresias-l: machine code, Python": partial(compiled_driver, "tiresias-l"),
    "drive ltgf: machine code, Python": partial(compiled_driver, "ltgf"),
    "drive fifo, rounds of 10 s: skipped, each visited": partial(skipped_rounds, "fifo"),
    "drive ltgf, rounds of 10 s: skipped, each visited": partial(skipped_rounds, "ltgf"),
    "SJF-BCO: machine code, Python": compiled_sjf_bco,
    "completion times of RAR-DDLS: by events, slot by slot": events,
    "bound of RAR-DDLS: dual feasible functions, configuration program": dual_feasible_functions,
    "configuration bound: verified, found": replayed_certificate,
    "RAR-DDLS: certified ratio, schedule of SJF-BCO": certified_ratio,
    "matching of AlloX, 250 jobs: columns by position, whole matrix": columns_by_position,
}

# --- policies ------------------------------------------------------------------------------------

#: these solve programs at each decision, and as printed ltgf may never end
OTHERS = ("unisched", "three-sigma", "rolling-horizon", "chronus:selector", "ltgf:printed")
NAMES = [name for name in POLICIES if not name.startswith(OTHERS) and name not in EARNING]


def growth(name: str, times: int, jobs: int = 10_000) -> float:
    """How many times the CPU time so many times the jobs cost, on 1,024 GPUs of load .8."""
    few, many = (workload(n, load=0.8, nodes=128) for n in (jobs, times * jobs))
    made = policy(name)[1]
    return cpu(partial(gs.drive, many, made)) / cpu(partial(gs.drive, few, made))


def table() -> str:
    """What docs/benchmarks.md shows, measured now."""
    lines = ["| first, second | CPU of the first | of the second | times faster |"]
    lines += ["| --- | ---: | ---: | ---: |"]
    for name, make in PAIRS.items():
        pair = make()
        pair.fast()
        fast, slow = cpu(pair.fast), cpu(pair.slow)
        lines.append(f"| {name} | {1e3 * fast:.3g} ms | {1e3 * slow:.3g} ms | {slow / fast:.3g} |")
    lines += ["", "| drives 5,000 jobs on 128 GPUs, load .95 | CPU | over `fifo` |"]
    lines += ["| --- | ---: | ---: |"]
    instance, base = workload(5_000, load=0.95), 0.0
    for name in ["fifo", *(other for other in NAMES if other != "fifo")]:
        gs.drive(workload(40), policy(name)[1])
        seconds = cpu(partial(gs.drive, instance, policy(name)[1]), 1)
        base = base or seconds
        lines.append(f"| `{name}` | {seconds:.3g} s | {seconds / base:.3g} |")
    return "\n".join(lines)
