"""Measure Gandiva_fair's parts, and print their table of docs/benchmarks.md.

    python tests/benchmarks/gandiva_fair.py                            # to the screen
    python tests/benchmarks/gandiva_fair.py --into docs/benchmarks.md \\
        --picture docs/images/gandiva_fair-speed.png                    # between the markers there

How times are taken: see table.py. Jobs, users and markets are synthetic and seeded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.instances.heterogeneous import random_market
from gangsched.solvers.gandiva_fair.market import (
    efficient_allocation,
    max_min_allocation,
    nash_allocation,
)
from gangsched.solvers.gandiva_fair.stride import ReferencePool, StridePool, least_loaded
from gangsched.solvers.gandiva_fair.trading import trade

try:
    from benchmarks.table import Line, deliver, machine, rows, seconds
except ImportError:  # run as a script
    from table import Line, deliver, machine, rows, seconds  # type: ignore[import-not-found, no-redef]

MARKERS = "<!-- gandiva_fair begins -->", "<!-- gandiva_fair ends -->"
COMMAND = (
    "python tests/benchmarks/gandiva_fair.py --into docs/benchmarks.md "
    "--picture docs/images/gandiva_fair-speed.png"
)
#: (jobs, servers of 8 GPUs): ten jobs a server
POOLS = ((100, 10), (1_000, 100), (10_000, 1_000), (100_000, 10_000))
POOL_USERS = 200
#: users of a market of four models
MARKETS = (10, 50, 200, 1_000)
TARGET_USERS = 200
Lines = list[Line]


def pool_of(kind: type[StridePool | ReferencePool], jobs: int, servers: int) -> StridePool:
    """Jobs of 1 to 32 GPUs; those of one server go to any, the others to neighbours."""
    rng = np.random.default_rng(0)
    pool = kind([8] * servers, POOL_USERS)
    gangs = rng.choice([1, 2, 4, 8, 16, 32], p=[0.7, 0.1, 0.1, 0.08, 0.015, 0.005], size=jobs)
    places = rng.integers(servers, size=jobs).tolist()
    users = rng.integers(POOL_USERS, size=jobs).tolist()
    for job, (gang, place, user) in enumerate(zip(gangs.tolist(), places, users, strict=True)):
        count = -(-gang // 8)
        pool.add(job, gang, user, tuple((place + i) % servers for i in range(count)), 0)
    return pool  # type: ignore[return-value]


def strides_of(pool: StridePool) -> np.ndarray:
    """The inverse of tickets per GPU, of users with equal tickets."""
    return np.maximum(pool.demand, 1) / 100


def served(pool: StridePool) -> str:
    """What a quantum gives."""
    running = pool.quantum(strides_of(pool))
    gpus = sum(pool.claims[job].gang for job in running)
    return f"{len(running):,} jobs run on {gpus:,} of {sum(pool.sizes):,} GPUs"


def half_filled(pool: StridePool) -> tuple[list[int], set[int]]:
    """GPUs that are free, and who still runs, when every tenth of the running jobs has gone."""
    running = pool.quantum(strides_of(pool))
    for job in sorted(running)[::10]:
        running.remove(job)
        pool.remove(job)
    free = list(pool.sizes)
    for job in running:
        for server, count in pool.nodes(job).items():
            free[server] -= count
    return free, running


def stride(jobs: int, servers: int, runs: int) -> Iterator[Line]:
    """A quantum, a look within one, a placement, and a quantum in plain Python."""
    size = f"{jobs:,} jobs, {servers:,} servers"
    pool = pool_of(StridePool, jobs, servers)
    strides = strides_of(pool)
    yield Line(f"{size}: quantum", seconds(lambda: pool.quantum(strides), runs), None, served(pool))
    if jobs <= 10_000:
        plain = pool_of(ReferencePool, jobs, servers)
        taken = seconds(lambda: plain.quantum(strides), 3)
        # new ones to compare, as both must have had the same quanta
        pair = [pool_of(kind, jobs, servers) for kind in (StridePool, ReferencePool)]
        same = all(len({frozenset(p.quantum(strides)) for p in pair}) == 1 for _ in range(3))
        told = "identical" if same and pair[0].passes() == pair[1].passes() else "DIFFERENT"
        yield Line(f"{size}: quantum, plain Python", taken, None, told)
    free, running = half_filled(pool)
    begun = pool.fill(free, running, strides, 0.5)
    taken = seconds(lambda: pool.fill(free, running, strides, 0.5), runs)
    yield Line(f"{size}: look within a quantum", taken, None, f"{len(begun):,} jobs begin")
    prices = np.divide(1.0, strides)

    def place() -> None:
        least_loaded(1, pool.loads(prices), pool.left(), pool.sizes)

    yield Line(f"{size}: server for a new job", seconds(place, runs))
    move = seconds(lambda: pool.imbalance(prices, 0.25), runs)
    yield Line(f"{size}: job to move", move)


def market_of(users: int, aim: str) -> GpuMarket:
    """Users with model families of Table 1 and tickets of 1, 2 or 4, on 248 GPUs of four models."""
    made = random_market(users, seed=0)
    return GpuMarket(made.gpus, made.speeds, made.tickets, aim=aim)


def market(users: int, runs: int) -> Iterator[Line]:
    """The linear program, max-min, Nash, and trading on the same market."""
    size = f"{users:,} users, 4 models"
    asked = users == TARGET_USERS
    problem = market_of(users, "total")
    shares, speeds = problem.fair_shares, problem.speeds
    best = efficient_allocation(problem)
    solve = partial(efficient_allocation, problem)
    told = f"total {best.objective:.2f}, gap {best.gap:.1e}"
    yield Line(f"{size}: largest total", seconds(solve, runs), 0.5 if asked else None, told)
    found = trade(shares, speeds)
    fair, traded = (float((x * speeds).sum()) for x in (shares, found.shares))
    part = (traded - fair) / ((best.objective or 0.0) - fair)
    told = f"{len(found.trades):,} trades, {100 * part:.0f} % of what can be won"
    taken = seconds(lambda: trade(shares, speeds), runs)
    yield Line(f"{size}: trading", taken, 0.01 if asked else None, told)
    for aim, call in (("max-min", max_min_allocation), ("nash", nash_allocation)):
        if users <= TARGET_USERS:
            other = market_of(users, aim)
            told = f"gap {call(other).gap:.1e}"
            yield Line(f"{size}: {aim}", seconds(partial(call, other), 3), None, told)


def report(runs: int, largest: int) -> tuple[str, Lines, Lines]:
    """All sections as Markdown, and their lines."""
    strides = [
        line for jobs, servers in POOLS if jobs <= largest for line in stride(jobs, servers, runs)
    ]
    markets = [line for users in MARKETS for line in market(users, runs)]
    text = [machine(COMMAND), "", "### Gang-aware stride", "", *rows(iter(strides))]
    text += ["", "### Markets of GPU models", "", *rows(iter(markets))]
    return "\n".join(text), strides, markets


def draw(strides: Sequence[Line], markets: Sequence[Line], path: Path) -> None:
    """Plot CPU time over jobs, and over users."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter

    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
    for axes, lines, label in (
        (panels[0], strides, "jobs, ten on each server"),
        (panels[1], markets, "users of four GPU models"),
    ):
        curves: dict[str, list[tuple[int, float]]] = {}
        for line in lines:
            size, what = line.what.split(": ")
            number = int(size.split()[0].replace(",", ""))
            curves.setdefault(what, []).append((number, 1000 * line.cpu))
        for what, points in curves.items():
            axes.loglog(*zip(*points, strict=True), "o-", markersize=4, label=what)
        axes.set_xlabel(label)
        axes.set_ylabel("CPU time (ms)")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description="Measure Gandiva_fair's parts.")
    parser.add_argument("--runs", type=int, default=9, help="runs of each measurement")
    parser.add_argument("--largest", type=int, default=100_000, help="jobs of the largest pool")
    parser.add_argument("--into", type=Path, help="page whose table is replaced")
    parser.add_argument("--picture", type=Path, help="where to draw the growth")
    options = parser.parse_args()
    text, strides, markets = report(options.runs, options.largest)
    if options.picture is not None:
        draw(strides, markets, options.picture)
    deliver(text, options.into, MARKERS)


if __name__ == "__main__":
    main()
