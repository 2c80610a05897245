"""One policy that ran to the end, as a replay shows it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...formulations.irmp.problem import Irmp
from ...formulations.problem import Sense
from ...instances.model import Instance
from ...solvers.policies.recorded import Recorded
from ...solvers.result import Bound, Stop
from ..driving import metrics
from ..driving.run import EventKind, Run
from ..show.columns import SECTIONS, computed
from .best_known import ROUNDING
from .bounded import REWARDS, weighted_flow
from .comparison import ratio
from .online_revenue import REVENUE, USUAL, earned, revenue_ratio
from .sharing import SharingBounds, user_columns


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """One policy that ran to the end.

    Parameters
    ----------
    name : str
        In the comparison; that of a policy that looked at jobs that had not come says so.
    run : Run
    measures : mapping of str to number or None
        As of :func:`gangsched.analysis.driving.metrics.summary`.
    ratios : mapping of str to float or None
        By measure: what the run attained over the verified bound, at least 1. None where there is
        no verified bound or it is 0, and for completion times where the run is `elastic`: the
        bounds are those of gangs. "reward": the verified bound over the reward that was won; of an
        elastic run with the bound for such runs. "reward after profiling": the bound for those who
        profile first, of a run that does.
    deadlines : mapping of str to number or None, optional
        As of :func:`gangsched.analysis.driving.metrics.deadline_summary`, for jobs with deadlines.
    elastic : bool
        Whether jobs made progress on other numbers of GPUs than their gangs.
    users : mapping of str to mapping of str to float or None, optional
        On several GPU models by user: mean "gpus" held and "work" rate in GPUs at speed 1, and the
        "share", its work over that of its fair share: as of
        :func:`gangsched.analysis.driving.metrics.user_work_rho`.
    alone : mapping of str to value, optional
        Of the users, against alone on their quotas: as of
        :meth:`gangsched.analysis.comparing.sharing.SharingBounds.measures`.
    revenue : mapping of str to number or None, optional
        As of :func:`gangsched.analysis.driving.metrics.revenue_summary`, for jobs with utilities,
        and the "share_of_bound". Of these "revenue" alone has a ratio: the verified bound over it.
    """

    name: str
    run: Run
    measures: Mapping[str, float | int | None]
    ratios: Mapping[str, float | None]
    deadlines: Mapping[str, float | int | None] | None = None
    elastic: bool = False
    users: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    alone: Mapping[str, Any] = field(default_factory=dict)
    revenue: Mapping[str, float | int | None] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        run: Run,
        instance: Instance[Any],
        bounds: Mapping[str, Bound],
        rejected: Collection[int],
        sharing: SharingBounds,
    ) -> Replayed:
        """Measure a run of the instance without the rejected jobs, against bounds of those."""
        attained = metrics.objectives(run)
        if "weighted flow" in bounds:
            attained["weighted flow"] = weighted_flow(run)
        measures, elastic = metrics.summary(run), metrics.is_elastic(run)
        same = _same_jobs(run, rejected)
        ratios = {
            name: _ratio(attained[name], bound) if same and not elastic else None
            for name, bound in bounds.items()
            if name not in REWARDS
        }
        won = None
        if instance.kind.has_deadlines:
            won = metrics.deadline_summary(run)
            whole = same and not measures["unfinished"]
            most = bounds.get(REWARDS[elastic])
            ratios["reward"] = ratio(won["reward"] if whole else None, most, Sense.MAX)
        return cls(
            name=_label(name, run),
            run=run,
            measures=measures,
            ratios=ratios,
            deadlines=won,
            elastic=elastic,
            users=user_columns(run),
            alone={} if elastic or not same else sharing.measures(run),
        )

    @classmethod
    def of_revenue(
        cls,
        name: str,
        run: Run,
        problem: Irmp,
        bounds: Mapping[str, Bound],
        rejected: Collection[int],
    ) -> Replayed:
        """Measure what a run earned, against the bound of the jobs that were not rejected."""
        won, bound, usual = earned(problem, run), bounds.get(REVENUE), metrics.summary(run)
        whole = run.stop is Stop.COMPLETED and _same_jobs(run, rejected)
        times = revenue_ratio(won["revenue"] if whole else None, bound)
        return cls(
            name=_label(name, run),
            run=run,
            measures={name: usual[name] for name in USUAL},
            ratios={REVENUE: times},
            revenue={**won, "share_of_bound": None if times is None else 1 / times},
        )

    @property
    def values(self) -> dict[str, Any]:
        """What columns show of it, by name."""
        return {
            **self.measures,
            **(self.deadlines or {}),
            **(self.revenue or {}),
            **self.alone,
            **{f"{name}_ratio": value for name, value in self.ratios.items()},
            "name": self.name,
            "run_times": self.information,
            "runtime": None if self.recorded else self.run.runtime,
        }

    @property
    def complete(self) -> bool:
        """Whether the run went on to its end: all jobs that can run are complete, or left out."""
        return self.run.stop is Stop.COMPLETED

    @property
    def recorded(self) -> bool:
        """Whether it is the log's own schedule."""
        return bool(self.run.policy == Recorded.name)

    @property
    def information(self) -> str:
        """How the policy knew run times: "told", "learned", "estimated" from told ones, etc."""
        if self.recorded:
            return "recorded"
        if self.run.information == "profiled" and self.run.parameters.get("dedicated"):
            return "after profiling on dedicated nodes"
        if self.profiles or self.run.information == "profiled":
            return "after profiling"
        if self.run.information is None:
            return "unknown"
        return "estimated" if self.run.parameters.get("overestimate") else self.run.information

    @cached_property
    def profiles(self) -> bool:
        """Whether the policy had to find out about new jobs."""
        return any((k == EventKind.PROFILE).any() for k in self.run.events.pieces("kind"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; wall time apart in ``timing``, all else is reproducible."""
        won, more = self.deadlines, [computed(section.every, self) for section in SECTIONS]
        return {
            "name": self.name,
            "policy": self.run.policy,
            "parameters": dict(self.run.parameters),
            "seed": self.run.seed,
            "digest": self.run.digest(),
            "measures": {k: v for part in (self.measures, *more) for k, v in part.items()},
            "ratios": dict(self.ratios),
            **({"deadlines": dict(won), "elastic": self.elastic} if won is not None else {}),
            **({"revenue": dict(self.revenue)} if self.revenue is not None else {}),
            **({"log": [dict(entry) for entry in self.run.log]} if self.run.log else {}),
            **({"users": dict(self.users)} if self.users else {}),
            **({"alone": dict(self.alone)} if self.alone else {}),
            "timing": {"runtime": self.run.runtime},
        }


def _label(name: str, run: Run) -> str:
    return f"{name} (clairvoyant)" if run.clairvoyant else name


def _same_jobs(run: Run, rejected: Collection[int]) -> bool:
    """Whether it rejected the jobs that bounds leave out, and no others."""
    return {j for j, _ in run.rejected} == set(rejected)


def _ratio(value: float | None, bound: Bound) -> float | None:
    """Sums of fractions are rounded, here and in the bound: what is equal may look better."""
    if value is not None and bound.value * (1 - ROUNDING) <= value < bound.value:
        value = bound.value
    return ratio(value, bound, Sense.MIN)
