"""Make the files of the named instances: ``python tests/build_library.py [NAME ...]``.

Every file comes from a seeded generator and from solvers of the project; running this again gives
the same bytes. A test checks what the files claim without this script.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gangsched.analysis.proofs.bound import bound as bound_of
from gangsched.formulations.io import problem_to_dict
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster, Instance, ReadReport, RingJob, Trace, generate
from gangsched.instances.convert import to_rar_instance
from gangsched.instances.io import header, schedule_to_dict, write_json
from gangsched.registry import PROBLEMS
from gangsched.solvers import Bound, Result

DATA = Path(__file__).resolve().parents[1] / "instances" / "data"


def paper(setting: str, seed: int) -> tuple[RarDdls, str]:
    return (
        PROBLEMS["rar-ddls"].settings[setting](jobs=None, nodes=None, seed=seed),
        f"Yu et al. 2022, Section 7, {setting}, seed {seed}: 160 jobs on 20 servers, T=1200",
    )


def philly(sizes: list[int], jobs: int, seed: int) -> tuple[RarDdls, str]:
    cluster = Cluster.of_sizes(sizes)
    made = generate.philly_workload(cluster, jobs=4 * jobs, seed=seed)
    trace = Trace(name="philly-like", jobs=made.jobs, report=ReadReport(read=len(made.jobs)))
    instance = to_rar_instance(trace, cluster, jobs=jobs, seed=seed).instance
    what = f"{jobs} jobs with the sizes and run-time ranks of a Philly-like workload, seed {seed}"
    return RarDdls(instance), f"{what}, on {len(sizes)} nodes with {cluster.gpus} GPUs"


def small(jobs: int, sizes: list[int], seed: int) -> tuple[RarDdls, str]:
    cluster = Cluster.of_sizes(sizes)
    instance = generate.rar_workload(cluster, jobs=jobs, seed=seed, variant="B")
    return RarDdls(instance), f"{jobs} jobs of the paper's workload B, seed {seed}, on {sizes} GPUs"


def contention(gangs: list[int], iterations: list[int], sizes: list[int]) -> tuple[RarDdls, str]:
    """Jobs that cut each other's speed on a shared link to a quarter (P2 in docs/theorems.md)."""
    jobs = [
        RingJob(id=f"j{i}", gpus=g, iterations=f, gradient=0.15, base_time=0.01)
        for i, (g, f) in enumerate(zip(gangs, iterations, strict=True))
    ]
    problem = RarDdls(Instance(Cluster.of_sizes(sizes), jobs), xi1=1.0, xi2=0.005, alpha=0.5)
    return problem, f"{len(jobs)} gangs on {sizes} GPUs where waiting beats running side by side"


ENTRIES: dict[str, Callable[[], tuple[RarDdls, str]]] = {
    **{f"rar-a-{seed}": lambda s=seed: paper("paper-a", s) for seed in range(3)},
    **{f"rar-b-{seed}": lambda s=seed: paper("paper-b", s) for seed in range(3)},
    **{f"rar-heavy-{seed}": lambda s=seed: paper("heavy", s) for seed in range(2)},
    "rar-philly-0": lambda: philly([8] * 8, 160, 0),
    "rar-philly-1": lambda: philly([4] * 6 + [8] * 5, 120, 1),
    "rar-small-0": lambda: small(10, [4, 8], 1),
    "rar-small-1": lambda: small(10, [4, 8], 3),
    "rar-small-2": lambda: small(10, [4, 8], 7),
    "rar-small-3": lambda: small(16, [4, 4, 8], 1),
    "rar-small-4": lambda: small(24, [8, 8], 2),
    "rar-contention-0": lambda: contention([3, 3], [8, 8], [2, 2, 2]),
    "rar-contention-1": lambda: contention([3, 3, 4, 4], [16, 12, 12, 20], [3, 3, 2]),
    "rar-contention-2": lambda: contention([4, 4, 3, 3], [12, 20, 4, 12], [3, 3, 2]),
}


def candidates(problem: RarDdls) -> Iterator[Result[Any]]:
    for name, solve in PROBLEMS["rar-ddls"].solvers.items():
        if name != "exact":
            yield solve(problem, seed=0)
    if len(problem.jobs) <= 4:
        from gangsched.analysis.exact import solve_exact  # Pyomo takes a second to import

        yield solve_exact(problem)


def build(name: str) -> dict[str, Any]:
    """Return the entry as JSON."""
    problem, description = ENTRIES[name]()
    results = [result for result in candidates(problem) if result.solution is not None]
    best = min(results, key=lambda result: result.objective)
    bound: Bound = bound_of(problem, effort="full")
    own = max((r.bound for r in results if r.bound), key=lambda b: b.value)
    if own.value > bound.value:
        bound = own
    return {
        **header("library entry"),
        "description": description,
        "problem": problem_to_dict(problem),
        "objective": best.objective,
        "solver": best.solver,
        "schedule": schedule_to_dict(best.solution),
        "bound": {
            "value": bound.value,
            "method": bound.method,
            "certificate": None if bound.certificate is None else dict(bound.certificate),
        },
    }


def main(names: list[str]) -> None:
    for name in names or ENTRIES:
        data = build(name)
        write_json(DATA / f"{name}.json", data)
        value = data["bound"]["value"]
        print(
            f"{name}: {data['objective']} ({data['solver']}), {value} ({data['bound']['method']})"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
