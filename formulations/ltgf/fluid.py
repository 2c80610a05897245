"""Fluid LTGF: how fair gangs that all stay active can be treated when time is divisible.

Source: the definitions of Ye et al., "ASTRAEA" (see `ltgf`), eq. (3)-(15); the problem is not in
the paper. It is fractional bin packing: gangs that run at the same time are a packing of the M
GPUs, a packing runs for a fraction x_p of the time, and job i with the constant share
f_i = min(D_i, s_i) has the fairness

    rho_i = D_i sum_(p contains i) x_p / f_i.

Symbols
-------
==========  =============  ===========
symbol      here           unit
==========  =============  ===========
M           ``gpus``       GPUs
D_i         ``gangs[i]``   GPUs
f_i         ``shares[i]``  GPUs
x_p         solution       1
lambda*     optimum        1
==========  =============  ===========

As a linear program, ``packings``: maximise lambda subject to ``time`` sum_p x_p = 1 and ``cover``
D_i sum_(p contains i) x_p >= lambda f_i for every job i. Jobs with equal D_i and f_i may be treated
alike (average any solution over their permutations).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ...instances.check import at_least, integer, sequence, set_field, written
from ...instances.display import counted
from ...instances.model import Instance
from ..problem import Described, Goal, Model, Sense, build
from .problem import shares_of

#: packings as (numbers of the jobs that run, fraction of the time)
TimeShares = tuple[tuple[tuple[int, ...], Fraction], ...]


@dataclass(frozen=True, slots=True)
class LtgfFluid(Described):
    """Problem: maximise the least fairness of jobs that all stay active, by time-sharing.

    Parameters
    ----------
    gpus : int
        M, as one pool: which node a GPU is on does not matter.
    gangs : sequence of int
        D_i by job; at least one job, none wider than the cluster.
    shares : sequence of Fraction
        min(D_i, s_i) by job, in (0, D_i].

    Raises
    ------
    ValueError, TypeError
        Naming object, value and rule.

    Notes
    -----
    lambda* bounds the least rho of any policy from above only while all the jobs stay active, their
    shares stay the same, and suspending costs nothing: then over any time, of any length. It says
    nothing of the least rho of a run in which jobs come and go, which can be larger, as a job can
    be served when others have left.

    Examples
    --------
    A 1-GPU and a 4-GPU job on 4 GPUs deserve 1 and 2 GPUs. They cannot run together, and need all
    the time and half of it.

    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="a", gpus=1), Job(id="b", gpus=4)]
    >>> problem = LtgfFluid.of(Instance(Cluster.of_sizes([4]), jobs))
    >>> problem.shares
    (Fraction(1, 1), Fraction(2, 1))
    >>> problem.objective((((0,), Fraction(2, 3)), ((1,), Fraction(1, 3))))
    0.6666666666666666
    """

    gpus: int
    gangs: Sequence[int]
    shares: Sequence[Fraction]

    sense: ClassVar[Sense] = Sense.MAX
    goal: ClassVar[Goal] = Goal("least rho", solution="set of time shares")
    forms: ClassVar[tuple[str, ...]] = ("packings",)
    integral: ClassVar[bool] = False

    def summary(self) -> str:
        """Return the size of the problem in a line."""
        return f"{counted(len(self.gangs), 'job')} on {counted(self.gpus, 'GPU')}"

    def facts(self) -> dict[str, str]:
        """Return what there is to know of the size of the problem, by name."""
        return {"jobs": f"{len(self.gangs):,}", "GPUs": f"{self.gpus:,}"}

    def __post_init__(self) -> None:
        integer(self, "LtgfFluid", "gpus", least=1)
        gangs = enumerate(sequence("LtgfFluid: gangs", self.gangs, "integers"))
        set_field(self, "gangs", tuple(at_least(f"job {i}: gpus", gang, 1) for i, gang in gangs))
        shares = enumerate(sequence("LtgfFluid: shares", self.shares, "rationals"))
        set_field(self, "shares", tuple(_rational(i, share) for i, share in shares))
        if len(self.gangs) != len(self.shares):
            raise ValueError(
                f"LtgfFluid: {len(self.shares)} shares for {len(self.gangs)} gangs, one a job"
            )
        if not self.gangs:
            raise ValueError("LtgfFluid: gangs=() is empty, there is at least one job")
        for i, (gang, share) in enumerate(zip(self.gangs, self.shares, strict=True)):
            if gang > self.gpus:
                raise ValueError(f"job {i}: gpus={gang} is not in 1 .. {self.gpus}, the cluster's")
            if not 0 < share <= gang:
                raise ValueError(f"job {i}: share={share} is not in (0, {gang}], its gang")

    @classmethod
    def of(cls, instance: Instance[Any], active: Iterable[int] | None = None) -> LtgfFluid:
        """Return the problem of the moment at which these jobs are active.

        Parameters
        ----------
        instance : Instance
            Cluster, jobs and users, whose weights define the shares by (3), or (6)-(8) and (13).
        active : iterable of int, optional
            Numbers of the jobs, each once; default all. They are numbered anew, in this order.
        """
        chosen = list(range(len(instance.jobs)) if active is None else active)
        shares = shares_of(instance, chosen)
        if len(shares) != len(chosen):
            raise ValueError("LtgfFluid: active names a job twice")
        gangs = [instance.jobs[i].gpus for i in chosen]
        return cls(instance.cluster.gpus, gangs, [shares[i] for i in chosen])

    def requirement(self, job: int) -> Fraction:
        """Return f_i / D_i, the fraction of the time that a fairness of 1 takes.

        Parameters
        ----------
        job : int
        """
        return self.shares[job] / self.gangs[job]

    def objective(self, solution: TimeShares) -> float:
        """Return min_i rho_i, to the nearest float; exact until then."""
        time = [Fraction(0)] * len(self.gangs)
        for packing, fraction in solution:
            for i in packing:
                time[i] += fraction
        return float(min(x / self.requirement(i) for i, x in enumerate(time)))

    def violations(self, solution: TimeShares) -> list[str]:
        """Return what `solution` breaks: packings that do not fit, time beyond 1."""
        broken = []
        for k, (packing, fraction) in enumerate(solution):
            if not set(packing) <= set(range(len(self.gangs))) or len(set(packing)) < len(packing):
                broken.append(f"reference: packing {k} is not a set of jobs: {packing}")
                continue
            used = sum(self.gangs[i] for i in packing)
            if used > self.gpus:
                broken.append(f"capacity: packing {k} uses {used} of {self.gpus} GPUs")
            if fraction < 0:
                broken.append(f"time: packing {k} runs for a fraction of {fraction}")
        total = sum(fraction for _, fraction in solution)
        if total > 1:
            broken.append(f"time: fractions add up to {float(total)}, above 1")
        return broken

    def build(self, form: str = "packings") -> Model[TimeShares]:
        """Return the linear program over all packings as a CVXPY problem; for small cases.

        Raises
        ------
        ValueError
            Where `form` is unknown, or there are more than 20,000 packings.
        """
        return build(self, form)


def _rational(job: int, share: Any) -> Fraction:
    """A share, which files must be able to hold."""
    try:
        exact = Fraction(share)
    except (OverflowError, TypeError, ValueError, ZeroDivisionError):
        raise ValueError(f"job {job}: share={share!r} is not a rational number") from None
    for part in exact.as_integer_ratio():
        written(f"job {job}: share", part)
    return exact
