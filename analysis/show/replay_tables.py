"""The tables of a replay, and what their words mean: for screens, notebooks and text."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from ...instances.display import shortened
from .columns import (
    DEADLINES,
    FAIRNESS,
    POLICY,
    SECTIONS,
    STARRED,
    TIME,
    ColumnTable,
    duration,
    floored,
)

if TYPE_CHECKING:
    from ..comparing.replay import Replay

Limits = dict[str, str]


def tables(found: Replay) -> list[ColumnTable]:
    """Return what a screen shows: deadlines where there are some, times, fairness."""
    if not found.rows:
        return []
    failed = tuple((one.name, "refuted" if one.refuted else "failed") for one in found.failed)
    shown = [
        ColumnTable((POLICY, *TIME.columns), found.rows, failed, _soonest(found)),
        ColumnTable((POLICY, *FAIRNESS.columns), found.rows, (), _fairest(found)),
    ]
    if found.has_deadlines:
        columns = (STARRED, *DEADLINES.columns)
        shown.insert(0, ColumnTable(columns, found.rows, failed, _richest(found)))
    return shown


def whole_table(found: Replay) -> ColumnTable:
    """Return everything that is measured of each policy."""
    sections = [s for s in SECTIONS if s is not DEADLINES or found.has_deadlines]
    return ColumnTable((POLICY, *(c for section in sections for c in section.every)), found.rows)


def _soonest(found: Replay) -> tuple[Limits, ...]:
    """The best schedule known, rounded up, and how soon anyone could be complete, rounded down."""
    jobs = len(found.instance.jobs) - len(found.rejected)
    least = {name: bound.value / jobs for name, bound in found.bounds.items()}
    best = {name: (result.objective or 0) / jobs for name, result in found.known.items()}
    last = found.bounds.get("makespan")
    known = {
        "mean_completion": duration(best["flow"]) if "flow" in best else None,
        "flow_ratio": f"{best['flow'] / least['flow']:.4f}"
        if {"flow"} <= {*best, *least}
        else None,
        "mean_slowdown": f"{best['slowdown']:,.2f}" if "slowdown" in best else None,
    }
    texts = {
        "mean_completion": duration(least["flow"], down=True) if "flow" in least else None,
        "mean_slowdown": f"{floored(least['slowdown'], 2):,.2f}" if "slowdown" in least else None,
        "makespan": None if last is None else duration(last.value, down=True),
    }
    bound = {"name": "any policy", **{k: f"≥ {t}" if t else "-" for k, t in texts.items()}}
    if not best:
        return (bound,)
    return {"name": "best known", **{k: t for k, t in known.items() if t}}, bound


def _fairest(found: Replay) -> tuple[Limits, ...]:
    return tuple(
        {"name": "any policy", "min_service_rho": f"≤ {_up(bound.value)}"}
        for _, _, bound in found.fairness[:1]
    )


def _richest(found: Replay) -> tuple[Limits, ...]:
    most = [
        {STARRED.key: f"any policy{star}", "reward": f"≤ {found.bounds[name].value:,.10g}"}
        for name, star in (("reward", ""), ("elastic reward", " *"))
        if name in found.bounds
    ]
    top = (found.rows[0].deadlines or {})["top_reward"]
    return (*most, {STARRED.key: "all in time", "reward": f"{top:,.10g}"})


def _up(value: float) -> str:
    return f"{ceil(1000 * value) / 1000:.3f}"


# --- words ---------------------------------------------------------------------------------------


def failures(found: Replay) -> list[str]:
    """Return why policies failed, one line each."""
    return [
        f"{one.name} {'is refuted' if one.refuted else 'failed'}: {shortened(one.reason)}"
        for one in found.failed
    ]


def legend(found: Replay) -> list[str]:
    """Say what the last rows and the less usual columns are."""
    bounds = [found.bounds.get(name) for name in ("flow", "slowdown", "makespan")]
    methods = ", ".join(dict.fromkeys(bound.method for bound in bounds if bound is not None))
    known = (
        "any policy: verified bounds. Not even one that knew all jobs in advance and could suspend "
        f"and move them for free gets beyond ({methods}; effort {found.effort}); ratios are to "
        "these bounds."
    )
    if found.known:
        known += (
            " best known: schedules of the smallest remaining areas, one for each column, on any "
            "free GPUs, paused and moved for free: between them and the bound lies the optimum."
        )
    if not methods:
        known = "any policy: nothing is proven about completion times, so no ratio is certified."
    rho = (
        "rho: GPU time that was got over the fair share (Ye et al. 2022), of jobs from their first "
        "rounds, the least without overhead. User-days: of the days on which a user had jobs, "
        "those with less than 99.9 % of its fair share; a job counts in that up to the round after "
        "its end, so that users of short jobs are below 1 on an empty cluster too. GPUs in use: to "
        "the last arrival."
    )
    if all(row.measures["min_user_rho"] is None for row in found.rows):
        rho += " One user, or none, shares with nobody."
    peaks = sorted(found.fairness[1:], key=lambda peak: peak[2].value)
    peak = [
        f"How fair anyone could have been at a peak: at most {_up(bound.value)}, {what}."
        for what, _, bound in peaks[:1]
    ]
    return [*_rewards_legend(found), known, rho, *peak, *found.remarks]


def _rewards_legend(found: Replay) -> list[str]:
    if not found.has_deadlines:
        return []
    missed = (
        "weighted miss rate: 1 less the mean reward of a job with deadlines (SLO job) over the "
        "largest of all jobs (Gao et al. 2024). Certified ratio of reward: the most that any "
        "policy that keeps gangs can win over what was won."
    )
    lines = [missed, who_profiles(found)]
    if any(row.elastic for row in found.rows):
        lines.append(
            "* ran jobs on other numbers of GPUs than their gangs. Its rewards are compared with "
            "the most for any policy that may do so, with up to twice the gang; the bounds of "
            "completion times and of rho are those of gangs, and hold for the others."
        )
    return lines


def who_profiles(found: Replay) -> str:
    """Say which policies had to find out about new jobs, and which were told."""
    names = [row.name for row in found.rows if row.profiles]
    if not names:
        return "No policy profiled new jobs: all are told what they use of run times."
    text = f"Profile new jobs first, and pay for it: {', '.join(names)}"
    return text + (
        "." if len(names) == len(found.rows) else "; others are told what they use of run times."
    )
