"""The instances of the library: name, family, arguments and seed of each."""

from collections.abc import Iterator
from typing import Any

Row = tuple[str, str, dict[str, Any], int]
WIDTHS = "narrow", "wide"


def rows() -> Iterator[Row]:
    """Yield all instances, a kind of problem after the other, the small ones first."""
    for part in (
        _rings, _queues, _revenue, _markets, _lives, _completion, _sharing, _deadlines,
        _gangs,
    ):  # fmt: skip
        yield from part()


def _rings() -> Iterator[Row]:
    contention = (
        ([3, 3], [8, 8], [2, 2, 2]),
        ([3, 3, 4, 4], [16, 12, 12, 20], [3, 3, 2]),
        ([4, 4, 3, 3], [12, 20, 4, 12], [3, 3, 2]),
    )
    for k, (gangs, iterations, sizes) in enumerate(contention):
        about = {"gangs": gangs, "iterations": iterations, "sizes": sizes}
        yield f"rar-contention-{k}", "rings-in-contention", about, 0
    for k in range(12):
        sizes, jobs = ([2, 6], [4, 4], [2, 2, 4], [8])[k % 4], 5 + k // 2
        yield f"rar-tiny-{k}", "rings-of-sizes", {"jobs": jobs, "sizes": sizes}, k
    small = ((10, [4, 8], 1), (10, [4, 8], 3), (10, [4, 8], 7), (16, [4, 4, 8], 1), (24, [8, 8], 2))
    for k, (jobs, sizes, seed) in enumerate(small):
        yield f"rar-small-{k}", "rings-of-sizes", {"jobs": jobs, "sizes": sizes}, seed
    for letter in "ab":
        for seed in range(3):
            yield f"rar-{letter}-{seed}", "rings", {"workload": letter.upper()}, seed
    for seed in range(2):
        yield f"rar-heavy-{seed}", "rings", {"workload": "heavy"}, seed
    yield "rar-philly-0", "rings-like-philly", {"jobs": 160, "sizes": [8] * 8}, 0
    yield "rar-philly-1", "rings-like-philly", {"jobs": 120, "sizes": [4] * 6 + [8] * 5}, 1
    for jobs, nodes in ((40, 8), (80, 12), (320, 24), (640, 32), (1_280, 40)):
        for workload in ("B", "heavy"):
            about = {"workload": workload, "jobs": jobs, "nodes": nodes}
            about |= {"horizon": 3_000} if jobs > 1_000 else {}
            yield f"rar-{workload.lower()}-{jobs}", "rings", about, 4
    about = {"workload": "B", "jobs": 10_000, "nodes": 100, "horizon": 10_000}
    yield "rar-b-10000", "rings", about, 0


def _queues() -> Iterator[Row]:
    for mix in ("helios", "philly"):
        for k, jobs in enumerate((5, 8, 12, 20, 40, 80, 160, 320, 640, 1_000)):
            for load in (0.8, 1.5) if jobs < 640 else (1.5,):
                kind = ("slo", "mix1", "mix2")[k % 3]
                about = {"mix": mix, "jobs": jobs, "load": load, "deadlines": kind}
                yield f"queue-{mix}-{jobs}-load{int(100 * load)}", "queue", about, k
    about = {"mix": "helios", "jobs": 10_000, "load": 1.5, "deadlines": "mix2"}
    yield "queue-helios-10000-load150", "queue", about, 0


def _revenue() -> Iterator[Row]:
    sizes = (
        (5, 15, 2), (8, 20, 2), (10, 25, 2), (12, 25, 3), (15, 45, 2),
        (20, 40, 4), (30, 50, 5), (50, 60, 8), (100, 100, 14),
    )  # fmt: skip
    for jobs, servers, users in sizes:
        for utility in ("linear", "convex"):
            about = {"jobs": jobs, "servers": servers, "users": users, "utility": utility}
            yield f"revenue-{utility}-{jobs}", "revenue", about, jobs


def _markets() -> Iterator[Row]:
    for aim in ("total", "max-min", "nash"):
        yield f"market-table3-{aim}", "table3-market", {"aim": aim}, 0
        for users in (5, 10, 20, 50, 100):
            yield f"market-{aim}-{users}", "market", {"users": users, "aim": aim}, users


def _lives() -> Iterator[Row]:
    for k, jobs in enumerate((5, 6, 8, 12, 20, 30, 60, 120)):
        nodes = 1 if jobs < 20 else 2
        yield f"lives-{jobs}", "lives", {"jobs": jobs, "nodes": nodes}, k
    for k, jobs in enumerate((5, 10, 15, 20, 30, 40, 80, 160, 320, 1_000)):
        nodes = max(1, jobs // 10)
        yield f"round-{jobs}", "lease", {"jobs": jobs, "nodes": nodes}, k
    for k, jobs in enumerate((5, 6, 7, 8, 9, 10, 12, 13, 14)):
        yield f"shares-{jobs}", "moment", {"jobs": jobs, "nodes": 1}, k


def _completion() -> Iterator[Row]:
    for measure in ("flow", "completion", "slowdown", "makespan"):
        for jobs in (5, 8, 12):
            about = {"measure": measure, "jobs": jobs, "nodes": 1, "load": 1.5}
            yield f"{measure}-tiny-{jobs}", "completion", about, jobs
        for k, load in enumerate((0.7, 1.0, 1.4)):
            about = {"measure": measure, "jobs": 100, "nodes": 2, "load": load}
            yield f"{measure}-100-load{round(100 * load)}", "completion", about, k
    for load in (0.7, 0.9, 1.2):
        about = {"measure": "flow", "jobs": 300, "nodes": 4, "load": load}
        yield f"flow-300-load{round(100 * load)}", "completion", about, 0
    for measure in ("flow", "slowdown"):
        for days in (1, 3, 7):
            about = {"measure": measure, "jobs": 300, "nodes": 6, "days": days}
            yield f"{measure}-venus-300-days{days}", "completion-like-venus", about, days
    for jobs, nodes in ((1_000, 8), (3_000, 20), (10_000, 60), (30_000, 80), (70_000, 100)):
        about = {"measure": "flow", "jobs": jobs, "nodes": nodes, "load": 0.9}
        yield f"flow-{jobs}", "completion", about, 0
    for jobs, nodes in ((1_000, 8), (10_000, 60)):
        about = {"measure": "slowdown", "jobs": jobs, "nodes": nodes, "load": 0.9}
        yield f"slowdown-{jobs}", "completion", about, 0


def _sharing() -> Iterator[Row]:
    for reading in ("wait", "stretch", "sharing"):
        for jobs, nodes, load in ((5, 1, 1.5), (10, 1, 1.5), (30, 2, 1.0), (100, 2, 1.2)):
            about = {"reading": reading, "jobs": jobs, "nodes": nodes, "load": load}
            yield f"users-{reading}-{jobs}", "sharing", about, jobs
    about = {"reading": "stretch", "jobs": 300, "nodes": 4, "load": 0.9}
    yield "users-stretch-300", "sharing", about, 0


def _deadlines() -> Iterator[Row]:
    for mix in ("helios", "philly"):
        for jobs in (5, 8, 12):
            about = {"mix": mix, "jobs": jobs, "nodes": 1, "days": 1, "deadlines": "mix2"}
            yield f"deadlines-{mix}-{jobs}", "deadlines", about, jobs
        for kind in ("slo", "mix1", "mix2"):
            for days in (7, 21):
                about = {"mix": mix, "jobs": 100, "nodes": 2, "days": days, "deadlines": kind}
                yield f"deadlines-{mix}-{kind}-100-days{days}", "deadlines", about, days
        for jobs, nodes in ((300, 4), (1_000, 10)):
            about = {"mix": mix, "jobs": jobs, "nodes": nodes, "days": 14, "deadlines": "mix2"}
            yield f"deadlines-{mix}-{jobs}", "deadlines", about, 0


def _gangs() -> Iterator[Row]:
    flow = [("flow", jobs, widths) for jobs in (12, 20, 30, 50, 300) for widths in WIDTHS]
    others = [
        ("stretch", 12, "wide"), ("slowdown", 20, "wide"), ("rewards", 20, "wide"),
        ("rewards", 50, "narrow"), ("makespan", 50, "wide"),
    ]  # fmt: skip
    for goal, jobs, widths in [*flow, *others]:
        nodes, load = (1, 1.5) if jobs <= 20 else (4 if jobs == 300 else 2, 1.0)
        about = {"goal": goal, "jobs": jobs, "nodes": nodes, "load": load, "widths": widths}
        yield f"gangs-{goal}-{widths}-{jobs}", "gangs", about, jobs
