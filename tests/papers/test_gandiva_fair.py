"""What Chaudhary et al. print and cannot be, computed again."""

import numpy as np
import pytest

from gangsched.analysis.papers.gandiva_fair.statements import PRINTED_LOG, PRINTED_SHARES
from gangsched.formulations.gandiva_fair import problem as problem
from gangsched.formulations.gandiva_fair.problem import GpuMarket
from gangsched.instances.heterogeneous import TABLE1
from gangsched.solvers.gandiva_fair.market import best_allocation
from gangsched.solvers.gandiva_fair.stride import StridePool, effective_tickets

# --- errata --------------------------------------------------------------------------------------


def test_what_table_2_prints_for_lotteries_cannot_be() -> None:
    gangs = (1, 1, 2, 2, 4, 4)
    backfill, gang_aware, stride = PRINTED_SHARES.values()
    # three pairs of jobs of one gang always fill four GPUs, so quanta add up to the whole server
    assert sum(p * g for p, g in zip(backfill, gangs, strict=True)) / 4 == pytest.approx(96.4)
    assert sum(p * g for p, g in zip(gang_aware, gangs, strict=True)) / 4 == pytest.approx(100.125)
    assert sum(p * g for p, g in zip(stride, gangs, strict=True)) / 4 == pytest.approx(100, abs=0.1)
    assert [p for p in gang_aware if p % 1] == [66.5]  # of 100 intervals


def test_printed_rates_that_one_side_would_refuse() -> None:
    family = {"User4": "super-resolution"}
    refused = []
    for when, fast, buyer, slow, seller, rate in PRINTED_LOG:
        worth = {
            user: TABLE1[family.get(user, "resnet-50")][fast]
            / TABLE1[family.get(user, "resnet-50")][slow]
            for user in (buyer, seller)
        }
        if not 0.95 * worth[seller] <= abs(rate) <= 1.05 * worth[buyer]:
            refused.append((when, rate))
    # neither a bid of ResNet-50 (5.14) nor, below 1.78, what a V100 is worth to SuperResolution
    assert refused == [
        ("15:09", 1.71), ("15:11", 1.94), ("18:06", -1.49), ("18:06", -1.93), ("18:06", -1.94),
        ("18:07", 1.50), ("18:23", 1.00), ("18:25", 1.00),
    ]  # fmt: skip


def test_figure_1_d_needs_tickets_that_are_not_effective() -> None:
    def shares(tickets: list[float]) -> list[float]:
        """GPUs of A1, B1 and C on a server of four, of users with 4, 4 and 2 GPUs in all."""
        pool = StridePool([4], 3)
        for job in range(3):
            pool.add(job, 2, job, (0,), 0)
        strides = np.array([4, 4, 2]) / np.array(tickets)
        pool.quantum(strides)  # in which C comes last
        ran = [job for _ in range(40) for job in pool.quantum(strides)]
        return [2 * ran.count(job) / 40 for job in range(3)]

    effective = effective_tickets([1, 1, 1], [4, 4, 2], 8).tolist()
    assert effective == [3, 3, 2]
    assert shares([1, 1, 1]) == pytest.approx([1, 1, 2], abs=0.05)
    assert shares(effective) == pytest.approx([1.2, 1.2, 1.6], abs=0.05)
    loads = [(2 * 0.75 + 2 * 0.75 + 2 * 1) / 4, (2 * 0.75 + 2 * 0.75) / 4]
    assert loads == [1.25, 0.75]


def test_two_gains_of_30_percent_are_more_than_the_optimum() -> None:
    speeds = [[TABLE1[f][m] for m in ("k80", "p100", "v100")]
              for f in ("resnet-50",) * 3 + ("super-resolution",)]  # fmt: skip
    users = GpuMarket([64, 24, 12], speeds)
    due = users.fair_values
    assert due.tolist() == pytest.approx([51.46, 51.46, 51.46, 31.99])
    bound = best_allocation(users).bound
    assert bound is not None
    assert bound.value - due.sum() == pytest.approx(19.47, abs=0.01)
    assert 0.3 * (due[0] + due[3]) > 25
