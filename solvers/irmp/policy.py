"""The online rules for IRMP as a policy of the trace driver.

The rules and their plans are those of :mod:`gangsched.solvers.irmp.online`; here the driver says
who waits, and executes what starts. Both give the same schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from ...formulations.irmp.problem import Irmp
from ...formulations.problem import check_class
from ...instances.model import Instance
from ..policy import Decision, Phase, Preempts, Rules, Start, State
from .online import ORDERS, Planner
from .response import Response

__all__ = ["OnlineRevenue"]


@dataclass
class OnlineRevenue:
    """Plan all jobs that wait when some arrive or end, and start what the plan starts at once.

    Not in the paper. The same as :func:`~gangsched.solvers.irmp.online.online_slope` and the other
    online rules, for :func:`gangsched.drive` with ``round_length=1``.

    Parameters
    ----------
    by : {"slope", "lp", "density", "spt", "fifo"}
        The order in which jobs are planned: that of ``online_slope``, ``rolling_lp``,
        ``online_density``, ``online_spt``, ``online_fifo``.
    worker_bandwidth, ps_bandwidth, horizon, clock, optional
        As of :class:`~gangsched.formulations.Irmp`. The rules look at nothing else of a problem:
        not at users, their quotas, their nodes, or what they earn alone.

    Raises
    ------
    ValueError
        For another order. `drive` refuses other parameters and instances that are not a problem's.

    Notes
    -----
    Jobs that can earn nothing any more are left out, if they may be. Jobs that are not visible are
    not looked at. Guarantee: none, see :mod:`gangsched.solvers.irmp.online`.

    Examples
    --------
    >>> import gangsched as gs
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> from gangsched.solvers import online_slope
    >>> problem = reduced_problem(5)
    >>> run = gs.drive(problem.instance, OnlineRevenue.of(problem), round_length=1)
    >>> problem.objective(run.schedule) == online_slope(problem).objective
    True
    """

    by: Literal["slope", "lp", "density", "spt", "fifo"] = "slope"
    worker_bandwidth: int = 1
    ps_bandwidth: int = 1
    horizon: int | None = None
    clock: Literal["absolute", "release"] = "absolute"
    optional: bool = True
    preempts: ClassVar[Preempts] = Preempts.NEVER
    _planner: Planner | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.by not in ORDERS:
            raise ValueError(f"OnlineRevenue: by={self.by!r} is not one of {', '.join(ORDERS)}")

    @classmethod
    def of(cls, problem: Irmp, by: Any = "slope") -> OnlineRevenue:
        """Return the policy that runs jobs as a problem says.

        Parameters
        ----------
        problem : Irmp
            With releases as they are (`paper_slot_r` is False): the driver shows no job before.
        by : str

        Examples
        --------
        >>> from gangsched.formulations.irmp import reduced_problem
        >>> OnlineRevenue.of(reduced_problem(5), "lp").name
        'irmp-lp'
        """
        check_class("OnlineRevenue", problem, Irmp)
        if problem.paper_slot_r:
            raise ValueError(
                "OnlineRevenue: paper_slot_r=True, the driver shows jobs at their release, "
                "not a slot before"
            )
        given = problem.parameters()
        return cls(by, **{name: given[name] for name in PARAMETERS})

    @property
    def name(self) -> str:
        """What the policy is called in results."""
        return f"irmp-{self.by}"

    def unable(self, instance: Instance[Any], rules: Rules) -> Mapping[int, str]:
        """Return no jobs; refuse instances of other kinds.

        Parameters
        ----------
        instance : Instance
        rules : Rules
        """
        self._problem(instance)
        return {}

    def decide(self, state: State) -> Decision:
        """Return what starts now.

        Parameters
        ----------
        state : State
        """
        waiting = state.waiting
        if state.now == state.visible[state.phase != Phase.REJECTED].min():  # a run begins
            self._planner = Planner(self._problem(state.instance), self.by)
        arrived, ended = state.visible[waiting] == state.now, state.end == state.now
        if not (arrived.any() or ended.any()):
            return Decision()
        assert self._planner is not None
        runs = self._planner.starts(state.now, waiting.tolist())
        return Decision(start=[_start(run) for run in runs])

    def next_change(self, state: State) -> int | None:
        """Return None: only arrivals and ends change anything.

        Parameters
        ----------
        state : State
        """
        return None

    def _problem(self, instance: Instance[Any]) -> Irmp:
        """Of nobody's nodes: users do not matter, and need no quotas."""
        given: dict[str, Any] = {name: getattr(self, name) for name in PARAMETERS}
        return Irmp(replace(instance, users=()), **given)


#: of a problem
PARAMETERS = "worker_bandwidth", "ps_bandwidth", "horizon", "clock", "optional"


def _start(run: Response) -> Start:
    workers = {node: count for node, count in run.nodes.items() if count}
    return Start(run.job, workers, run.workers, ps=run.ps)
