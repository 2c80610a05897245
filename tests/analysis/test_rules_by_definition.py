"""What rules prove, beside short programs that follow their theorems by trying everything."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certified_cases import cases, of_library
from few import each_seed
from gangsched.analysis.proofs.problem_data import data_of, proven
from gangsched.formulations import Irmp, UniSched
from gangsched.verify import irmp
from gangsched.verify.unisched import LeaseProblem, capacities
from revenue_optimum import first_slot, random_problem, shapes, worth


def gain_of_any_run(problem: Irmp, j: int, prices: Any) -> float:
    """The most value less price of a run by the horizon; `prices` (nodes, 2, slots)."""
    assert problem.horizon is not None
    best = 0.0 if problem.optional else -math.inf
    for shape in shapes(problem, j):
        held = np.array([shape.workers, shape.ps]).T
        paid = np.cumsum([0, *(held[:, :, None] * prices).sum(axis=(0, 1))])
        for end in range(first_slot(problem, j) + shape.slots, problem.horizon + 1):
            best = max(best, worth(problem, j, end) - paid[end] + paid[end - shape.slots])
    return best


@each_seed(range(30))
def test_no_run_gains_more_than_the_best_that_is_priced(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, types=("", "v")[: 1 + seed % 2], optional=seed % 3 > 0)
    read = irmp.RevenueProblem(data_of(problem))
    horizon = problem.horizon or 0
    drawn = rng.integers(0, 1 + rng.integers(1, 40), (len(read.classes), 2, horizon))
    certificate = {
        "classes": [list(kind) for kind in read.classes], "ends": [*range(1, horizon + 1)],
        "prices": drawn.tolist(), "scale": 1, "fluid": False,
    }  # fmt: skip
    kinds = [(node.model, node.gpus, node.ps) for node in problem.instance.cluster.nodes]
    by_node = drawn[[read.classes.index(kind) for kind in kinds]]
    prices = irmp.SlotPrices(read, certificate)
    sizes = np.array([kind[1:] for kind in kinds])
    assert prices.spent == (sizes[:, :, None] * by_node).sum()
    for j in range(len(problem.jobs)):
        found = irmp._gain(read, prices, j)
        wanted = gain_of_any_run(problem, j, by_node)
        assert (-math.inf if found is None else found) == (
            wanted if math.isinf(wanted) else math.ceil(wanted - 1e-9)
        )


def parts(total: int, most: int) -> Iterator[list[int]]:
    """All ways to fill so many GPUs or fewer with gangs."""
    yield []
    for gang in range(1, min(total, most) + 1):
        for rest in parts(total - gang, gang):
            yield [gang, *rest]


def by_leases(problem: UniSched, certificate: Any) -> Fraction:
    """S sum of V <= sum p_k C_k + sum over jobs of max(0, max over options of S V - cost)."""
    prices, scale = certificate["prices"], certificate["scale"]
    loads = certificate.get("rows", [[*range(1, problem.node_gpus + 1)]])
    sizes = problem.instance.cluster.sizes
    total = Fraction(0)
    for load, row in zip(loads, prices, strict=True):
        most = [
            max(sum(load[gang - 1] for gang in one) for one in parts(free, free))
            for free in range(problem.node_gpus + 1)
        ]
        for k, price in enumerate(row):
            free = problem.free if problem.free is not None and k == 0 else sizes
            total += price * sum(most[gpus] for gpus in free)
    gains: dict[int, Fraction] = {}
    for option in problem.options():
        first = problem.first_slot(option.job)
        paid = [
            sum(
                row[k] * sum(load[piece - 1] for piece in option.allocation.pieces)
                for load, row in zip(loads, prices, strict=True)
                if k < len(row)
            )
            for k in range(first, first + option.within)
        ]
        gain = Fraction(option.value) * scale - sum(sorted(paid)[: option.needed])
        gains[option.job] = max(gain, gains.get(option.job, Fraction(0)))
    return (total + sum(gains.values())) / scale


@pytest.mark.parametrize("place", range(0, 16, 3))
def test_prices_of_leases_prove_what_the_theorem_says(place: int) -> None:
    """Up to what is rounded down, as sums of integral rewards are multiples of their divisor."""
    queues = [one for one in cases() if isinstance(one[0], UniSched)]
    problem, certificate = queues[2 * place]
    wanted, found = by_leases(problem, certificate), proven(problem, certificate)
    assert found <= float(wanted)
    assert wanted - found < max(v for job in problem.jobs for _, v in job.rewards)


def test_nodes_hold_the_best_set_of_gangs() -> None:
    read = LeaseProblem(data_of(of_library("queue-philly-8-load150")))
    load = [3, 5, 9, 10, 11, 19, 20, 21][: read.size]
    best = max(sum(load[gang - 1] for gang in one) for one in parts(read.size, read.size))
    assert capacities(read, [load]) == [(read.nodes * best, read.nodes * best)]
