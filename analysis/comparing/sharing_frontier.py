"""The certified frontier of the mean completion time against the worst user's ratio.

Every bound of :class:`gangsched.formulations.SharingIncentive` with a limit is a line c F + y sum_u
v_u d_u >= B below all pairs of a sum of flow times F and a worst ratio y that any schedule has
(:mod:`gangsched.analysis.proofs.user_prices` has the theorem): its certificate holds at every
limit. Some of them, and the bound of the worst ratio itself, leave only one side of a frontier.
From the other side come the schedules of weighted area order, for the same limits and for the
sums that the lines bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...formulations.sharing_incentive import Reading, SharingIncentive
from ...instances.arrays import Floats
from ...instances.model import Instance
from ...solvers.ours.pool import schedule_of
from ...solvers.ours.user_order import UserRun, user_runs
from ...solvers.result import Bound
from ..driving.run import Run
from ..proofs.user_prices import mean_shares, user_bound
from ..proofs.verify import verify_bound
from .shown import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_LIMIT = 1e9


@dataclass(frozen=True)
class SharingFrontier:
    """What is impossible, and what schedules attain; made by :func:`sharing_frontier`.

    Parameters
    ----------
    instance : Instance
    reading : {"sharing", "wait", "stretch"}
    worst : Bound
        Of the worst ratio, whatever the flow times.
    lines : tuple of (float, Bound)
        Limits of the worst ratio, and a verified bound of the sum of flow times for each.
    schedules : tuple of (float, int)
        Worst ratio and sum of flow times of schedules of which none is better in both, by ratio.
    """

    instance: Instance[Any]
    reading: Reading
    worst: Bound
    lines: tuple[tuple[float, Bound], ...]
    schedules: tuple[tuple[float, int], ...]

    @cached_property
    def slopes(self) -> tuple[float, ...]:
        """How much less each line proves for a worst ratio that is larger by 1."""
        problem = SharingIncentive(self.instance, self.reading)
        return tuple(float(_shares(problem, bound).sum()) for _, bound in self.lines)

    def least_flow(self, ratio: float) -> float:
        """Return what the lines prove of the sum of flow times, for a worst ratio up to this."""
        rows = zip(self.lines, self.slopes, strict=True)
        # each bound was rounded up to a whole number
        return max(b.value - 1 - slope * (ratio - limit) for (limit, b), slope in rows)

    def brackets(self) -> list[float]:
        """Return for each line how far the schedules are from it.

        A line says that F and its slope times y add up to some number or more; the bracket is the
        least that the schedules have of this, over that number.
        """
        rows = zip(self.lines, self.slopes, strict=True)
        return [
            min(flow + slope * ratio for ratio, flow in self.schedules)
            / (bound.value - 1 + slope * limit)
            for (limit, bound), slope in rows
        ]

    def plot(self, runs: Mapping[str, Run] | None = None) -> Figure:
        """Draw it, with what is impossible in grey, and with runs as points."""
        problem = SharingIncentive(self.instance, self.reading)
        points = {}
        for name, run in (runs or {}).items():
            flows = problem.flows_of(run.records.end.tolist())
            points[name] = float(max(problem.ratios(flows).values())), sum(flows.values())
        figure: Figure = Shown.renderer().figure(self, points)
        return figure


def sharing_frontier(
    instance: Instance[Any],
    reading: Reading = "wait",
    *,
    limits: int = 5,
    orders: int = 20,
    rounds: int = 250,
) -> SharingFrontier:
    """Return the frontier of mean completion against the worst user, from both sides.

    Parameters
    ----------
    instance : Instance
        As of :class:`~gangsched.formulations.SharingIncentive`.
    reading : {"sharing", "wait", "stretch"}
    limits : int
        Limits of the worst ratio, at least 2, from the least that a schedule has to that of area
        order.
    orders : int
        Rounds of area order for each limit, and again for each line.
    rounds : int
        Steps of the bound's climb for each limit.

    Returns
    -------
    SharingFrontier

    Examples
    --------
    Whoever is first, the other one waits:

    >>> from gangsched.instances import Cluster, Job, User
    >>> jobs = [Job(id="a", gpus=2, work=40, user="u"), Job(id="b", gpus=2, work=50, user="v")]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    >>> found = sharing_frontier(instance, "sharing", limits=3)
    >>> found.schedules          # v has 100 s alone, and 90 or 50 here
    ((0.9, 130),)
    """
    if isinstance(limits, bool) or not isinstance(limits, int) or limits < 2:
        raise ValueError(f"sharing_frontier: limits={limits!r} is not a whole number >= 2")
    problem = SharingIncentive(instance, reading)
    tried = list(user_runs(problem, orders))
    worst = user_bound(problem, first=mean_shares(tried), rounds=rounds)
    verify_bound(problem, worst)
    area = next(
        user_runs(SharingIncentive(instance, reading, NO_LIMIT), 1, np.zeros(len(problem.members)))
    )
    least, most = (min(run.cost(None)[0] for run in runs) for runs in (tried, [area]))
    tried.append(area)
    lines, first = [], None
    for k in reversed(range(limits)):  # from the loosest one on
        limit = float(f"{least * (max(most / least, 1.01)) ** (k / (limits - 1)):.4g}")
        at = SharingIncentive(instance, reading, limit)
        runs = list(user_runs(at, orders, first))
        first = mean_shares(runs)
        bound = user_bound(at, first=first, rounds=rounds)
        verify_bound(at, bound)
        lines.append((limit, bound))
        tried += runs
        shares = _shares(problem, bound)
        if shares.any():  # of the line's own sum
            tried += user_runs(at, orders, shares, steady=True)
    return SharingFrontier(instance, reading, worst, tuple(lines[::-1]), _best(problem, tried))


def _shares(problem: SharingIncentive, bound: Bound) -> Floats:
    """The users' shares in a line: they add up to its slope."""
    proof, terms = dict(bound.certificate or {}), problem.terms().values()
    pairs = zip(proof["users"], terms, strict=True)
    return np.array([float(Fraction(v * over, proof["all"])) for v, (_, over) in pairs])


def _best(problem: SharingIncentive, tried: Sequence[UserRun]) -> tuple[tuple[float, int], ...]:
    """Pairs that no other one is better than, of schedules that the problem accepts."""
    found, least = [], math.inf
    for run in sorted(tried, key=lambda run: run.cost(None)):
        if run.flow < least and not problem.violations(schedule_of(problem.flow, run.run)):
            least = run.flow
            found.append((run.cost(None)[0], run.flow))
    return tuple(found)
