"""The fewest nodes with which a policy reaches a target, and with how many no policy can.

A *target* is the most that a measure may be, such as a mean wait of half an hour. With n nodes
added, a policy attains P(n), and no schedule attains less than the certified bound B(n). A schedule
for n nodes is one for n + 1, so that what is best falls as nodes are added, and B(n) > target
proves that no policy reaches it with n nodes or fewer. Nor does any where a gang is wider than all
GPUs that it can use. The largest such n is found by doubling and halving. Policies are no such
functions of n: with a node more they may be worse. So every size is tried from the proof on, up to
one that reaches the target, and sizes that reach it below others that fail are named. Bounds are of
gangs, and say nothing of a policy that runs jobs on other numbers of GPUs.

A job's *wait* is what its completion takes beyond its run time on the fastest GPUs that it can use,
pauses and restarts counted; so a bound of the mean completion is one of the mean wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...instances.display import counted, near
from ...instances.model import Cluster, Instance, gpus_by_model
from ...solvers.policy import Rules
from ...solvers.result import Bound
from ..driving.drive import drive
from ..driving.metrics import jobs as measures
from ..proofs.bound import Effort, check_effort, strengthened, up_to
from ..proofs.verify import verify_bound
from .replayed import information_in

__all__ = ["Sizing", "Target", "size"]

MEASURES = ("wait", "completion", "slowdown")
#: seconds of the units of targets
UNITS: Mapping[str, float] = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "": 1}
FORM = re.compile(
    r"(mean|\d{1,2}(?:\.\d+)?\s*%) (\w+)(?: of (.+?))?\s*<=?\s*(\d+(?:\.\d+)?)\s*(\w*)", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Target:
    """The most that a measure may be.

    Parameters
    ----------
    measure : {"wait", "completion", "slowdown"}
    most : float
        In seconds; of the slowdown a number.
    quantile : float or None
        Of the jobs; None for the mean.
    user : str
        Whose jobs; all where it is empty.

    Examples
    --------
    >>> Target.of("95 % wait of ann <= 2 h")
    Target(measure='wait', most=7200.0, quantile=0.95, user='ann')
    """

    measure: str
    most: float
    quantile: float | None = None
    user: str = ""

    @classmethod
    def of(cls, text: str) -> Target:
        """Return the target that a text such as ``mean wait <= 30 min`` means.

        Raises
        ------
        ValueError
            If it is none, with an example of one.
        """
        found = FORM.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"target {text!r} is not of the form 'mean wait <= 30 min'")
        which, measure, user, number, unit = found.groups()
        if measure not in MEASURES:
            known = f"{', '.join(MEASURES)}{near(measure, MEASURES)}"
            raise ValueError(f"target {text!r}: {measure!r} is not one of {known}")
        if unit not in UNITS or (unit and measure == "slowdown"):
            raise ValueError(f"target {text!r}: {unit!r} is not one of s, min, h, d")
        quantile = None if which == "mean" else float(which.rstrip(" %")) / 100
        return cls(measure, float(number) * UNITS[unit], quantile, user or "")

    @property
    def has_proof(self) -> bool:
        """Whether bounds say something of it: of means over all jobs."""
        return self.quantile is None and not self.user

    def __str__(self) -> str:
        which = "mean" if self.quantile is None else f"{100 * self.quantile:g} %"
        whose = f" of {self.user}" if self.user else ""
        return f"{which} {self.measure}{whose} <= {self.shown(self.most)}"

    def shown(self, value: float) -> str:
        """Return a value of the measure in words."""
        if self.measure == "slowdown":
            return f"{value:,.2f}"
        if np.isinf(value):
            return "not all jobs run"
        unit = next((u for u in ("d", "h", "min") if value >= 2 * UNITS[u]), "s")
        return f"{value / UNITS[unit]:,.4g} {unit}"

    def attained(self, run: Any) -> float:
        """Return what a run attains; infinite where not all jobs are finished."""
        done = measures.completion_time(run)
        ideal = measures.ideal_time(run)
        values = {"wait": done - ideal, "completion": done, "slowdown": done / ideal}[self.measure]
        if self.user:
            jobs = run.require_instance().jobs
            values = values[np.array([job.user == self.user for job in jobs])]
        if not len(values):
            raise ValueError(f"target {str(self)!r}: user {self.user!r} has no jobs")
        if np.isnan(values).any():
            return float("inf")
        return float(values.mean() if self.quantile is None else np.quantile(values, self.quantile))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """How many nodes a target needs.

    Parameters
    ----------
    target : Target
    policy : str
    fewest : int or None
        Nodes with which the policy reaches the target; None where no size did.
    least : int
        The fewest nodes on which each gang has as many GPUs as it needs, whatever the policy.
    impossible : int
        No policy reaches the target with so many nodes or fewer; `least` - 1 or more.
    bound : Bound or None
        Its proof, of the sum over jobs of flow times or slowdowns; None where gangs do not fit.
    tried : mapping of int to float
        What the policy attained, by nodes.
    proofs : mapping of int to float
        Certified bounds of the measure, by nodes.
    interrupted : bool
        Whether Ctrl-C ended the search: what was found until then is here.
    start : int
        The least size that was thought of: 0 where nodes are added to others.
    information : str
        How the policy knew run times, as of a replay; empty before any run.
    """

    target: Target
    policy: str
    fewest: int | None
    least: int
    impossible: int
    bound: Bound | None
    tried: Mapping[int, float]
    proofs: Mapping[int, float] = field(default_factory=dict)
    interrupted: bool = False
    start: int = 1
    information: str = ""

    @property
    def worse(self) -> tuple[int, ...]:
        """Sizes above the fewest that fail the target nevertheless."""
        most = self.target.most
        above = (n for n, value in self.tried.items() if self.fewest is not None and value > most)
        return tuple(sorted(n for n in above if n > (self.fewest or 0)))

    def __str__(self) -> str:
        needs = f"{self.policy} reaches it with no size that was tried"
        if not self.tried:
            needs = f"{self.policy} was not tried"
        elif self.fewest is not None:
            at = self.target.shown(self.tried[self.fewest])
            verb = "reaches it with" if self.interrupted else "needs"
            needs = f"{self.policy} {verb} {counted(self.fewest, self._node)} ({at})"
            needs += ", and not all smaller sizes were tried" * self.interrupted
        proof = f"no policy can do it with fewer than {self.impossible + 1}"
        if self.bound is None and not self.target.has_proof:
            proof = "there is no proof for this measure"
        elif self.bound is None and self.impossible >= self.start:
            proof += ", as a gang would not fit"
        elif self.bound is None:
            proof = "no bound excludes any size"
        text = f"{self.target}: {needs}; {proof}"
        if self.worse:
            sizes = f"{', '.join(map(str, self.worse))} {self._node}s"
            text += f"; with {sizes} {self.policy} fails again"
        return text

    @property
    def _node(self) -> str:
        return "node" if self.start else "more node"

    @property
    def words(self) -> str:
        """What is proven, and for whom."""
        if not self.target.has_proof:
            return "Bounds are of means over all jobs."
        wait = "A wait is what a completion takes beyond the run time, restarts counted."
        if self.impossible < self.start:
            return wait
        method = f" ({self.bound.method}, verified)" if self.bound else ""
        return (
            f"The proof{method} holds for all policies that keep gangs, also for those that "
            f"know all jobs in advance and move them for free. {wait}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        proof = self.bound and {
            "value": self.bound.value,
            "method": self.bound.method,
            "certificate": dict(self.bound.certificate or {}),
        }
        return {
            "target": str(self.target),
            "policy": self.policy,
            "fewest": self.fewest,
            "least": self.least,
            "impossible": self.impossible,
            "run times": self.information,
            "fails again": list(self.worse),
            "interrupted": self.interrupted,
            "tried": {str(n): value for n, value in sorted(self.tried.items())},
            "bounds": {str(n): value for n, value in sorted(self.proofs.items())},
            "proof": proof,
        }


def size(
    instance_of: Callable[[int], Instance[Any]],
    policy: tuple[str, Any],
    target: Target,
    *,
    rules: Rules,
    start: int = 1,
    effort: Effort = "quick",
    on_progress: Callable[[str], object] | None = None,
) -> Sizing:
    """Find the fewest nodes with which a policy reaches a target, and a proof of how many it takes.

    Parameters
    ----------
    instance_of : callable (int) -> Instance
        The same jobs on a cluster of so many nodes more; more nodes can run whatever fewer can.
    policy : (str, Policy)
        With its name.
    target : Target
    rules : Rules
        Of the driver.
    start : int
        The least size: 0 where there are other nodes.
    effort : {"quick", "standard", "full"}
        Of the bounds, as of :func:`gangsched.bound`.
    on_progress : callable (str), optional

    Returns
    -------
    Sizing
        Every size between the proof and the answer was tried.

    Raises
    ------
    ValueError
        If the target is of a user without jobs, no number of nodes reaches it, or a job cannot run.

    Notes
    -----
    Ctrl-C ends the search and keeps what was found. O(log n) bounds, and a run for each size from
    the proof to the next power of two above the answer.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Job
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id=str(i), gpus=1, work=600) for i in range(8)]
    >>> found = size(
    ...     lambda n: Instance(Cluster.of_sizes([1] * n), jobs), ("fifo", Fifo()),
    ...     Target.of("mean wait <= 5 min"), rules=Rules(overhead=0),
    ... )
    >>> print(found)
    mean wait <= 5 min: fifo needs 4 nodes (5 min); no policy can do it with fewer than 4
    """
    check_effort("size", effort)
    name, made = policy
    say = on_progress or (lambda text: None)
    tried: dict[int, float] = {}
    proofs: dict[int, float] = {}
    bounds: dict[int, Bound] = {}
    interrupted, known = False, ""

    def attained(n: int) -> float:
        nonlocal known
        if n not in tried:
            say(f"{name} on {n} nodes")
            run = drive(instance_of(n), made, **asdict(rules))
            tried[n], known = target.attained(run), information_in(run)
        return tried[n]

    def proves(n: int) -> bool:
        if n not in proofs:
            say(f"bound on {n} nodes")
            bounds[n], proofs[n] = _bound(instance_of(n), target, effort)
        return proofs[n] > target.most

    def fits(n: int) -> bool:
        try:
            return _fits(instance_of(n))
        except ValueError:  # a job has to run on a model of which there are no nodes yet
            return False

    least = _first(fits, start)
    first = least
    try:
        if target.has_proof and _is_possible(instance_of(least), target):
            first = _first(lambda n: not proves(n), least)
        step, top = 1, first
        while attained(top) > target.most and not _ample(instance_of(top)):
            top, step = first + step, 2 * step
        if tried[top] <= target.most:
            for n in range(first, top):
                attained(n)
    except KeyboardInterrupt:
        interrupted = True
    proven = [n for n, value in proofs.items() if value > target.most]
    impossible = max([least - 1, *proven])
    bound = bounds.get(impossible)
    if bound is not None:
        verify_bound(_problem(instance_of(impossible), target), bound)
    reached = [n for n, value in tried.items() if value <= target.most]
    return Sizing(
        target=target,
        policy=name,
        fewest=min(reached, default=None),
        least=least,
        impossible=impossible,
        bound=bound,
        tried=tried,
        proofs=proofs,
        interrupted=interrupted,
        start=start,
        information=known,
    )


def _fits(instance: Instance[Any]) -> bool:
    """Whether the cluster has room for each job."""
    kinds = {(job.gpus, job.pin, tuple(job.speeds.items())): job for job in instance.jobs}
    return all(has_room(instance.cluster, job) for job in kinds.values())


def has_room(cluster: Cluster, job: Any) -> bool:
    """Say whether a gang is at most as wide as all GPUs of a model that it can run on."""
    models = gpus_by_model(cluster)
    return any(count >= job.gpus and job.speed_on_model(model) for model, count in models.items())


def _first(holds: Callable[[int], bool], start: int) -> int:
    """The first size from `start` on at which something holds that then holds for good."""
    low, high = start - 1, start
    while not holds(high):
        low, high = high, max(2 * high, 1)
        if high > 2**20:
            raise ValueError(f"a job cannot run on {high // 2:,} nodes")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _problem(instance: Instance[Any], target: Target) -> CompletionTime:
    """The problem that bounds a target."""
    return CompletionTime(instance, "slowdown" if target.measure == "slowdown" else "flow")


def _bound(instance: Instance[Any], target: Target, effort: Effort) -> tuple[Bound, float]:
    """A certified bound, and what it says of the measure."""
    problem = _problem(instance, target)
    found = strengthened(problem, None, up_to(effort), None)
    total = float(found.value) - (sum(problem.seconds) if target.measure == "wait" else 0)
    return found, total / len(instance.jobs)


def _is_possible(instance: Instance[Any], target: Target) -> bool:
    """Whether gangs can reach a target; refuse one that no job can with any number of nodes."""
    alone = sum(_problem(instance, target).seconds) / len(instance.jobs)
    least = {"wait": 0.0, "completion": alone, "slowdown": 1.0}[target.measure]
    if least > target.most and any(job.elastic for job in instance.jobs):
        return False
    if least > target.most:
        text = f"no number of nodes does it, {target.shown(least)} is the least"
        raise ValueError(f"target {str(target)!r}: {text}")
    return True


def _ample(instance: Instance[Any]) -> bool:
    """Whether there are twice the GPUs that all jobs hold if each starts when it comes."""
    times = [(job.release, job.gpus) for job in instance.jobs]
    times += [(job.release + (job.work or 0), -job.gpus) for job in instance.jobs]
    held = np.cumsum([gpus for _, gpus in sorted(times)])
    return instance.cluster.gpus >= 2 * int(held.max())
