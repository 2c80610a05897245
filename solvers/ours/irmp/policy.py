"""The online rules for IRMP as a policy of the trace driver.

The rules and their plans are those of :mod:`.online`; here the driver says
who waits, and executes what starts. Both give the same schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from ....formulations.irmp.problem import Irmp
from ....formulations.problem import check_class
from ....instances import Cluster, Instance, Job, User
from ...irmp.response import Response
from ...policy import Decision, Information, Preempts, Rules, Start, State
from .online import ORDERS, Planner, Rule


@dataclass
class OnlineRevenue:
    """Plan all jobs that wait when some arrive or end, and start what the plan starts at once.

    Not in the paper. The same as :func:`~gangsched.solvers.ours.irmp.online.online`, for
    :func:`gangsched.drive` with ``round_length=1``.

    Parameters
    ----------
    by : {"slope", "lp", "density", "spt", "fifo"}
        The order in which jobs are planned.
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
    not looked at. Guarantee: none, see :mod:`gangsched.solvers.ours.irmp.online`.

    Examples
    --------
    >>> import gangsched as gs
    >>> from gangsched.formulations.irmp import reduced_problem
    >>> from gangsched.solvers import online
    >>> problem = reduced_problem(5)
    >>> run = gs.drive(problem.instance, OnlineRevenue.of(problem), round_length=1)
    >>> problem.objective(run.schedule) == online(problem).objective
    True
    """

    by: Rule = "slope"
    worker_bandwidth: int = 1
    ps_bandwidth: int = 1
    horizon: int | None = None
    clock: Literal["absolute", "release"] = "absolute"
    optional: bool = True
    preempts: ClassVar[Preempts] = Preempts.NEVER
    information: ClassVar[Information] = "known"
    needs_ps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.by not in ORDERS:
            raise ValueError(f"OnlineRevenue: by={self.by!r} is not one of {', '.join(ORDERS)}")

    @classmethod
    def of(cls, problem: Irmp, by: Any = "slope") -> OnlineRevenue:
        """Return the policy that runs jobs as a problem says.

        Examples
        --------
        >>> from gangsched.formulations.irmp import reduced_problem
        >>> OnlineRevenue.of(reduced_problem(5), "lp").name
        'irmp-lp'
        """
        return cls(by).under(problem)

    def under(self, problem: Irmp) -> OnlineRevenue:
        """Return the same rule for jobs that run as a problem says, whatever it was made for.

        Examples
        --------
        >>> from gangsched.formulations.irmp import reduced_problem
        >>> OnlineRevenue("lp").under(reduced_problem(5)).ps_bandwidth
        6851
        """
        check_class("OnlineRevenue", problem, Irmp)
        if problem.paper_slot_r:
            raise ValueError(
                "OnlineRevenue: paper_slot_r=True, the driver shows jobs at their release, "
                "not a slot before"
            )
        given = problem.parameters()
        return replace(self, **{name: given[name] for name in PARAMETERS})

    @property
    def name(self) -> str:
        """What the policy is called in results."""
        return f"irmp-{self.by}"

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Planning:
        """Begin a session; refuse clusters that are not a problem's."""
        return Planning(self, cluster)

    def problem(self, cluster: Cluster, jobs: Sequence[Any]) -> Irmp:
        """Return the problem of some jobs: of nobody's nodes, users do not matter."""
        given: dict[str, Any] = {name: getattr(self, name) for name in PARAMETERS}
        return Irmp(Instance(cluster, jobs), **given)


class Planning:
    """An online rule in one run: the jobs that have come, and what is taken of the cluster.

    Jobs are numbers in the order in which they came, by (release, number), in the planner.

    Parameters
    ----------
    policy : OnlineRevenue
    cluster : Cluster
    """

    def __init__(self, policy: OnlineRevenue, cluster: Cluster) -> None:
        self.policy, self.cluster = policy, cluster
        self._planner = Planner(policy.problem(cluster, ()), policy.by)
        self._numbers: list[int] = []  # of the jobs of the planner
        self._jobs: list[Job] = []
        self._places: dict[int, int] = {}

    def unable(self, job: Job) -> str:
        """Refuse jobs of other kinds; all others can run."""
        self.policy.problem(self.cluster, [job])
        return ""

    def decide(self, state: State) -> Decision:
        """Return what starts now."""
        self._meet(state)
        waiting = state.waiting
        arrived, ended = state.visible[waiting] == state.now, state.end == state.now
        if not (arrived.any() or ended.any()):
            return Decision()
        runs = self._planner.starts(state.now, [self._places[j] for j in waiting.tolist()])
        return Decision(start=[_start(run, self._numbers[run.job]) for run in runs])

    def next_change(self, state: State) -> int | None:
        """Return None: only arrivals and ends change anything."""
        return None

    def save(self) -> dict[str, Any]:
        """Return what is taken, and what the linear program has come to; plain data."""
        return self._planner.save()

    def load(self, data: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._planner.load(data)

    def _meet(self, state: State) -> None:
        """Let the planner know the jobs that have come since the last time."""
        new = state.arrived[len(self._numbers) :].tolist()
        if new:
            self._places.update((j, len(self._numbers) + i) for i, j in enumerate(new))
            self._numbers += new
            self._jobs += [state.job(j) for j in new]
            self._planner.follow(self.policy.problem(self.cluster, self._jobs))


#: of a problem
PARAMETERS = "worker_bandwidth", "ps_bandwidth", "horizon", "clock", "optional"


def _start(run: Response, job: int) -> Start:
    workers = {node: count for node, count in run.nodes.items() if count}
    return Start(job, workers, run.workers, ps=run.ps)
