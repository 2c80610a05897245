"""Themis: finish-time fairness, by auction or greedily."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....instances.model import check_real
from ...policy import Decision, Floats, Information, Ints, Preempts, Rule, State, ranked
from .auction import advance_by_auction
from .greedy import advance_greedily
from .knapsack import UNITS

#: a fairness with a larger denominator is left to Python, where no product is too large
MOST_DIGITS = 10**9


def finish_time_fairness(state: State, jobs: Ints) -> Floats:
    """Return rho_i = T_sh / T_id of each of `jobs`, if it ran from now on without a break.

    T_sh = (now - release) + remaining time; T_id = run time times the mean number of active jobs
    over its life so far (Mahajan et al., NSDI 2020, Section 5.1: an even share of the cluster).
    """
    return _over_alone(state, jobs, _shared_time(state, jobs))


def _shared_time(state: State, jobs: Ints) -> Ints:
    """T_sh of each of `jobs`."""
    shared: Ints = state.now - state.release[jobs] + state.remaining(jobs)
    return shared


def _over_alone(state: State, jobs: Ints, shared: Ints) -> Floats:
    rho: Floats = shared / (state.work[jobs] * state.mean_active(jobs))
    return rho


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemisGreedy:
    """Give leases to the jobs with the largest finish-time fairness rho.

    Notes
    -----
    Source: K. Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020. This
    is its fairness without its auction: candidates by falling rho, ties by (release, number); a job
    that does not fit is skipped. Run times must be known; the paper's estimation error is left out.
    Guarantee: none.

    Examples
    --------
    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=180), Job(id="b", gpus=2, work=60)]
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), ThemisGreedy(), lease=60, overhead=0)
    >>> run.records.end.tolist()
    [240, 120]
    """

    name: ClassVar[str] = "themis-greedy"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    information: ClassVar[Information] = "known"

    @property
    def rule(self) -> Rule:
        """The compiled rule."""
        return Rule(name="finish time", advance=advance_greedily, leases=True)

    def decide(self, state: State) -> Decision:
        """Return the candidates by falling rho."""
        order = ranked(state, state.candidates, -finish_time_fairness(state, state.candidates))
        room, picks = state.capacity, []
        for j in order.tolist():
            if state.gpus[j] <= room:
                picks.append(j)
                room -= int(state.gpus[j])
        return Decision(order=[*picks, *(j for j in order.tolist() if j not in picks)])

    def next_change(self, state: State) -> None:
        """Fairness moves all the time, but no job that waits has room before something ends."""


def auction(gains: ArrayLike, gangs: ArrayLike, gpus: int) -> NDArray[np.bool_]:
    """Return the winners: of the gangs that fit together, those with the largest sum of gains.

    Notes
    -----
    A knapsack by dynamic programming, exact, in O(n R) time and space for R GPUs. Of the jobs with
    gangs of D at most R / D can win, those with the largest gains, so n <= R (1 + ln R).

    Examples
    --------
    >>> auction([5, 4, 4], [3, 2, 2], 4).tolist()
    [False, True, True]
    """
    from .knapsack import knapsack  # numba takes a second to import

    gain = np.asarray(gains, dtype=np.int64)
    gang = np.asarray(gangs, dtype=np.int64)
    won = np.zeros(gain.size, dtype=bool)
    if gang.sum() <= gpus:
        won[:] = True
        return won
    order = np.lexsort((np.arange(gain.size), -gain, gang))
    sorted_gang = gang[order]
    before = np.arange(gain.size) - np.searchsorted(sorted_gang, sorted_gang)
    able = np.sort(order[before < gpus // sorted_gang])
    won[able] = knapsack(gain[able], gang[able], gpus)
    return won


@dataclass(frozen=True, slots=True, kw_only=True)
class Themis:
    """Auction leases among the jobs with the largest finish-time fairness rho.

    Parameters
    ----------
    fairness : float
        f, from 0 to 1: of n candidates the ceil((1 - f) n) with the largest rho bid, at least one.
        Towards 1 the worst-off job alone decides, at 0 all bid.

    Notes
    -----
    Source: K. Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020, with
    f = 0.8, its default. At each decision the R GPUs that are free or whose lease has ended are on
    offer, and waiting jobs and those whose lease has ended are the candidates. A bid V says 1 / rho
    with the gang for the next L seconds, and without: rho = T_sh / T_id or (T_sh + L) / T_id, where
    T_sh is the time from the release to the completion if the job ran without a break from now on.
    Winners maximise the product of V: a knapsack over log((T_sh + L) / T_sh), in which T_id cancels
    (:func:`auction`, exact; logarithms in units of 2**-40, ties to the larger rho). What is left
    over goes to the others by falling rho, ties by (release, number).

    Our choices: the hidden payment of the partial allocation mechanism, which leaves a winner a
    fraction of what it won, leaves it the whole gang, as a gang cannot run on a fraction (truthful
    bids do not matter here: all run times are known); a job bids for its gang or nothing; L ends
    with the lease that would start now; a job that found no place is passed over. Guarantee: the
    product of the bidders' V is the largest, by number of GPUs. None on completion times.
    Complexity: O(n log n + R^2 log R) a decision.

    Examples
    --------
    Two GPUs. All bid: `b` and `c` together gain more than `a`. With f = 0.8 only the first bids.

    >>> from gangsched import Cluster, Instance, Job, drive
    >>> jobs = [Job(id="a", gpus=2, work=60)]
    >>> jobs += [Job(id=i, gpus=1, work=60) for i in "bc"]
    >>> instance = Instance(Cluster.of_sizes([2]), jobs)
    >>> drive(instance, Themis(fairness=0)).records.end.tolist()
    [120, 60, 60]
    >>> drive(instance, Themis()).records.end.tolist()
    [60, 120, 120]
    """

    name: ClassVar[str] = "themis"
    preempts: ClassVar[Preempts] = Preempts.LEASE
    information: ClassVar[Information] = "known"
    fairness: float = 0.8

    def __post_init__(self) -> None:
        if check_real("themis", "fairness", self.fairness) > 1:
            raise ValueError(f"themis: fairness={self.fairness} is above 1")

    @property
    def rule(self) -> Rule | None:
        """The compiled rule, for a fairness of few digits."""
        share = _exact(self.fairness)
        if share.denominator > MOST_DIGITS:
            return None
        numbers = float(share.numerator), float(share.denominator)
        return Rule(name="auction", advance=advance_by_auction, numbers=numbers, leases=True)

    def decide(self, state: State) -> Decision:
        """Return the winners of the auction by falling rho, then all others by falling rho."""
        room = state.capacity
        if room < state.gpus[state.waiting].min():
            return Decision()  # nobody who waits fits: who runs goes on
        jobs = state.candidates
        shared = _shared_time(state, jobs)
        by_rho = np.lexsort((state.rank[jobs], -_over_alone(state, jobs, shared)))
        jobs = jobs[by_rho]
        bidders = jobs[: self._bidders(jobs.size)]
        lease = state.rules.lease_end(state.now) - state.now
        longer = (lease / shared[by_rho[: bidders.size]]).tolist()
        logarithms = np.array([math.log1p(ratio) for ratio in longer])  # as in machine code
        gains = np.rint(logarithms * UNITS).astype(np.int64)
        won = auction(gains, state.gpus[bidders], room)
        order = np.concatenate([bidders[won], bidders[~won], jobs[bidders.size :]])
        return Decision(order=order)

    def next_change(self, state: State) -> None:
        """Fairness moves all the time, but no job that waits has room before something ends."""

    def _bidders(self, candidates: int) -> int:
        return max(1, candidates - int(_exact(self.fairness) * candidates))


@lru_cache
def _exact(number: float) -> Fraction:
    """The decimal number that is meant: 0.8 and not the nearest binary one."""
    return Fraction(str(number))
