"""What FF and LS share: arrival order, and SJF-BCO's search for the limit theta."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...formulations.problem import check_class
from ...formulations.rar_ddls.problem import RarDdls, estimated_times
from ...instances.schedule import Schedule
from ..result import Result
from .gang_queue import GangQueue, Plan, head_of_line
from .sjf_bco import LimitSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalOrderParams:
    """Parameters of first fit and list scheduling.

    Parameters
    ----------
    compiled : bool
        False runs the readable reference; both give the same result.
    """

    compiled: bool = True


def search_in_arrival_order(
    problem: RarDdls,
    choose: Callable[[GangQueue, int, float], list[int] | None],
    rule: str,
    solver: str,
    seed: int,
    time_limit: float | None,
    params: ArrivalOrderParams,
) -> Result[Schedule]:
    """Serve the jobs in input order by one placement rule, given as function and as core's name."""
    check_class(solver.replace("-", "_"), problem, RarDdls)
    started = time.perf_counter()
    rho = estimated_times(problem)
    order = np.arange(len(problem.jobs))

    def run(kappa: int, limit: float) -> Plan | None:
        return head_of_line(problem, rho, order.tolist(), lambda q, j: choose(q, j, limit))

    if params.compiled:
        from . import gang_queue_core as core

        arrays, rules = core.Core(problem, rho), np.full(order.size, getattr(core, rule))

        def run(kappa: int, limit: float) -> Plan | None:
            return arrays.head_of_line(order, rules, limit=int(min(limit, core.NO_LIMIT)))

    search = LimitSearch(
        run=run,
        kappas=[0],
        horizon=problem.horizon,
        deadline=float("inf") if time_limit is None else started + time_limit,
    )
    search.feasibility(int(rho.max(initial=0)))
    info = {"seed": seed, "ties": "jobs by position; GPUs by (load, server, GPU) or (server, GPU)"}
    return search.result(problem, solver=solver, started=started, info=info)
