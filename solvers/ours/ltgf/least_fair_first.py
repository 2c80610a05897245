"""Whole lives of LTGF: the jobs that are treated worst so far run, as far as they fit."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ....formulations.ltgf.problem import Ltgf
from ....instances.schedule import Schedule
from ...result import Result, Stop
from ...signature import solver
from ..preemptive_lists import PreemptiveList, Where, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastFairFirstParams:
    """Parameters of :func:`least_fair_first`.

    Parameters
    ----------
    lease : int
        Slots until everybody's fairness is looked at again, at least 1.
    """

    lease: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.lease, bool) or not isinstance(self.lease, int) or self.lease < 1:
            raise ValueError(f"LeastFairFirstParams: lease={self.lease!r} is not an integer >= 1")


@solver(LeastFairFirstParams, of=Ltgf)
def least_fair_first(
    problem: Ltgf, *, seed: int, time_limit: float | None, params: LeastFairFirstParams
) -> Result[Schedule]:
    """Run the gangs whose GPU time is least of their fair share, in every lease anew.

    Guarantee: none. It never leaves GPUs idle that a gang could use, though idling can pay.

    Parameters
    ----------
    problem : Ltgf
    seed : int
        Not used: the algorithm draws nothing.
    time_limit : float, optional
        Wall seconds, after which there is no schedule.
    params : LeastFairFirstParams

    Returns
    -------
    Result
        Without a bound, see :func:`gangsched.bound`; without a schedule where one ends after the
        horizon.

    Notes
    -----
    Jobs by A_i / F_i so far, 0 at birth, ties by number. O(slots / lease x jobs) exact shares.

    Examples
    --------
    The paper's Fig. 6: 6 GPUs, gangs of 6, 3 and 3, four rounds each.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> gangs = {"J1": 6, "J2": 3, "J3": 3}
    >>> jobs = [Job(id=name, gpus=gang, work=4) for name, gang in gangs.items()]
    >>> least_fair_first(Ltgf(Instance(Cluster.of_sizes([6]), jobs))).objective
    1.0
    """
    started = time.perf_counter()
    end = None if time_limit is None else time.monotonic() + time_limit
    jobs, sizes = problem.jobs, problem.instance.cluster.sizes
    state = PreemptiveList([job.work or 0 for job in jobs], [job.release for job in jobs], sizes)
    fair = [0.0] * len(jobs)
    rates, since = dict[int, float](), 0

    def order() -> list[int]:
        nonlocal since
        for j, rate in rates.items():
            fair[j] += rate * (state.now - since)
        since = state.now
        rates.clear()
        rates.update({j: float(share) for j, share in problem.shares(state.active).items()})

        def rho(j: int) -> float:
            got = jobs[j].gpus * ((jobs[j].work or 0) - state.left[j])
            return got / fair[j] if fair[j] else 0.0

        return sorted(state.active, key=lambda j: (rho(j), j))

    def place(j: int, free: list[int], before: Where) -> Where | None:
        return spread(jobs[j].gpus, free, before, range(len(sizes)))

    segments = state.run(
        order, place, lambda j, where: state.left[j], lambda j, where, length: length,
        step=params.lease, end=end,
    )  # fmt: skip
    late = problem.horizon is not None and any(s.end > problem.horizon for s in segments)
    return Result.of(
        problem, Schedule.of(segments) if segments and not late else None,
        solver="least_fair_first", stop=Stop.COMPLETED if segments else Stop.TIME_LIMIT,
        runtime=time.perf_counter() - started, info={"seed": seed, "lease": params.lease},
    )  # fmt: skip
