"""What the charts of a page are drawn from: plain data, as the script of the reports takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..driving import metrics
from ..driving.run import Floats, Run
from .columns import shown_ratio

if TYPE_CHECKING:
    from ..comparing.comparison import Row
    from ..comparing.losses import LossLedger

Runs = Mapping[str, Run]
Data = dict[str, Any]

MOST_USERS = 12  # that are told apart
MOST_POINTS = 400  # of a curve
BINS = 240  # of the use of the cluster over time
LOSS_ORDERS = ("policy", "cluster")  # what is removed first
OTHERS = "others"
SHARE_OF_JOBS = {"name": "share of jobs", "percent": True, "from": 0}


def unit_of(run: Run) -> str:
    """Return the unit of a run's times."""
    return "slots" if run.require_instance().kind.slotted else "s"


# --- distributions -------------------------------------------------------------------------------


def distributions(runs: Runs) -> Data:
    """Return which share of the jobs each run had done within a time, or with a slowdown.

    Less than a second, or than a slowdown of 1, is drawn as that: the axis is one of logarithms.
    """
    unit = unit_of(next(iter(runs.values())))
    views = [
        _distribution(runs, metrics.completion_time, "completion time", unit),
        _distribution(runs, metrics.wait_time, "wait", unit),
        _distribution(runs, metrics.slowdown, "slowdown", ""),
    ]
    known = [view for view in views if view["series"]]
    return {"chart": "lines", "of": "of", "by": "policies", "step": True, "views": known}


def _distribution(runs: Runs, measure: Callable[[Run], Floats], name: str, unit: str) -> Data:
    series = []
    for run_name, run in runs.items():
        values = measure(run)
        known = np.sort(values[~np.isnan(values)])
        if known.size:
            at = curve_ranks(known.size)
            xs, ys = np.maximum(known[at], 1), (at + 1) / int((~run.records.rejected).sum())
            series.append({"name": run_name, "x": _short(xs), "y": _short(ys)})
    axis = {"name": name, "log": True, "unit": unit}
    return {"name": name, "x": axis, "y": SHARE_OF_JOBS, "series": series}


def curve_ranks(count: int) -> NDArray[np.int64]:
    """Ranks that draw a curve of `count` sorted values; closer to each other at its upper end."""
    if count <= MOST_POINTS:
        return np.arange(count)
    even = np.linspace(0, count - 1, MOST_POINTS * 3 // 4)
    tail = count - np.geomspace(1, count, MOST_POINTS // 4)
    return np.unique(np.rint(np.concatenate([even, tail])).astype(np.int64))


def _short(values: NDArray[Any]) -> list[float]:
    """Numbers in five digits."""
    return [int(v) if v == int(v) else float(f"{v:.5g}") for v in values.tolist()]


# --- shares of the GPUs --------------------------------------------------------------------------


def shares(runs: Runs) -> Data:
    """Return which share of the GPUs users held over time in each run, in thousandths."""
    first = next(iter(runs.values()))
    last = max(1, *(run.now for run in runs.values()))
    edges = np.unique(np.linspace(0, last, BINS + 1).round().astype(np.int64))
    order = _largest_users(runs)
    names = [first.users[u] if u < len(first.users) else "" for u in order[:MOST_USERS]]
    rows = []
    for name, run in runs.items():
        size = np.diff(edges) * run.gpus
        held = np.diff(metrics.user_attained_time(run, edges), axis=1)[order] / size
        few, rest = held[:MOST_USERS], held[MOST_USERS:].sum(axis=0, keepdims=True)
        parts = np.concatenate([few, rest]) if len(order) > MOST_USERS else few
        until = np.minimum(edges, run.now)  # of a run that was stopped, no more is known
        wanted = np.diff(metrics.wanted_time(run, until)) / size
        rows.append({"name": name, "held": _thousandths(parts), "wanted": _thousandths(wanted)})
    return {
        "chart": "shares",
        "said": "Switch policies and users on and off: a line is what the users that are on held "
        "together.",
        "unit": unit_of(first),
        "times": edges.tolist(),
        "users": names + [OTHERS] * (len(order) > MOST_USERS),
        "runs": rows,
    }


def _largest_users(runs: Runs) -> list[int]:
    """Numbers of users, those with most GPU time over all runs first."""
    held = sum(metrics.user_attained_time(run, [max(run.now, 0)])[:, 0] for run in runs.values())
    order: list[int] = np.argsort(-np.asarray(held), kind="stable").tolist()
    return order


def _thousandths(values: NDArray[Any]) -> list[Any]:
    found: list[Any] = np.rint(1000 * values).astype(int).tolist()
    return found


# --- losses --------------------------------------------------------------------------------------


def losses(ledgers: Sequence[LossLedger]) -> Data:
    """Return the terms between what is proven and what each policy attained."""
    return {
        "chart": "waterfall",
        "said": "From what no policy can be below to what the policy attained. Terms below 0 are "
        "hindrances that helped.",
        "orders": list(LOSS_ORDERS),
        "ledgers": [
            {
                "policy": one.policy,
                "attained": one.attained,
                "bound": one.bound,
                "orders": [[[term.name, term.seconds] for term in order] for order in one.orders],
            }
            for one in ledgers
        ],
    }


# --- bars ----------------------------------------------------------------------------------------


def ratios(rows: Sequence[Row]) -> Data:
    """Return the certified ratios of solvers, best first."""
    known = sorted((row for row in rows if row.ratio is not None), key=lambda row: row.ratio or 0)
    values = [row.ratio or 1.0 for row in known]
    return {
        "chart": "bars",
        "x": "certified ratio; 1 is optimal",
        "from": 1,
        "to": max([1.02, *values]),
        "names": [row.name for row in known],
        "series": [{"name": "ratio", "values": values, "texts": list(map(shown_ratio, values))}],
        "hover": [
            [f"at most {shown_ratio(value)} times from the optimum", row.standing]
            for row, value in zip(known, values, strict=True)
        ],
    }


def amounts(values: Mapping[str, float], name: str, bound: float | None, top: float = 0) -> Data:
    """Return what each policy won, and the most that anyone can."""
    return {
        "chart": "bars",
        "x": name,
        "to": max([*values.values(), bound or 0, top, 0]) or 1,
        "names": list(values),
        "series": [
            {
                "name": name,
                "values": list(values.values()),
                "texts": [f"{value:,.6g}" for value in values.values()],
            }
        ],
        "mark": None if bound is None else {"value": bound},
        "hover": [[f"{value:,.10g}", *_over(value, bound)] for value in values.values()],
        "said": "" if bound is None else "The line: the most that any policy can win, verified.",
    }


def _over(value: float, bound: float | None) -> list[str]:
    return [] if not bound else [f"{100 * value / bound:.1f} % of the most that anyone can win"]
