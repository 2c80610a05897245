"""One HTML file that compares runs of the same jobs, with each other and with the best possible.

A self-contained page like that of :mod:`gangsched.analysis.show.report`, with the same promises.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.problem import Sense
from ...instances.model import Instance
from ...solvers.result import Bound
from ..comparing.comparison import ratio
from ..comparing.replay import MODELS, REWARDS, rewards_problem, trades_line, user_columns
from ..driving import metrics
from ..driving.drive import models_of
from ..driving.run import EventKind, Run
from ..proofs.verify import verify_bound
from . import page, plots, run_plots

__all__ = ["write_replay_report"]

Runs = Mapping[str, Run]
Values = Mapping[str, float | int | None]
Fairness = tuple[str, Any, Bound]


def write_replay_report(
    path: str | Path,
    runs: Runs,
    *,
    title: str,
    bounds: Mapping[str, Bound] | None = None,
    fairness: Sequence[Fairness] = (),
    notes: Sequence[str] = (),
    rejected: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the comparison of runs as one self-contained HTML file.

    Parameters
    ----------
    path : path
        Replaced as a whole when the new file is complete, never left half written.
    runs : mapping of str to Run
        By the name to show: one to twelve, with their instance, which is the same. Where its jobs
        have deadlines there is a section on the rewards that they won; where it has several GPU
        models, one on who held and did what on which, with the trades.
    title : str
    bounds : mapping of str to Bound, optional
        Lower bounds by measure of :class:`~gangsched.formulations.completion_time.CompletionTime`
        ("makespan", "completion", "flow", "slowdown"; sums without weights), for the jobs of the
        instance without those that the runs rejected. With deadlines also "reward" and "elastic
        reward", upper bounds of :class:`~gangsched.formulations.deadline_rewards.DeadlineRewards`.
    fairness : sequence of (str, Problem, Bound)
        Upper bounds of how fair anyone could have been: what is bounded, in words, the problem for
        which the bound can be verified, and the bound.
    notes : sequence of str
        How the instance came about.
    rejected : sequence of (job, reason)
        Jobs that were left out of the instance; those that the runs rejected are added.

    Raises
    ------
    ValueError
        If there is no run, there are too many, or they are not of the same instance, or it is not
        known.
    KeyError
        If `bounds` has another measure.
    InvalidCertificate, NoCertificate
        If a bound does not pass `verify_bound`, which is run here.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched import Cluster, Instance, Job
    >>> from gangsched.analysis.driving.drive import drive
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id="a", gpus=2, work=100), Job(id="b", gpus=2, work=50, release=10)]
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), Fifo())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "replay.html"
    ...     write_replay_report(file, {"fifo": run}, title="Two jobs")
    ...     "1 policy ran 2 jobs" in file.read_text("utf-8")
    True
    """
    _check(runs)
    given = bounds or {}
    _verify(next(iter(runs.values())), given, fairness)
    found = {name: metrics.summary(run) for name, run in runs.items()}
    won = _won(runs)
    body = "\n".join(
        [
            f"<h1>{page.escape(title)}</h1>",
            f'<p class="summary">{page.escape(_words(runs, found, won, given))}</p>',
            page.picture(run_plots.overview(runs), "overview", "Measures of each policy"),
            *_deadlines(runs, won, given),
            *_measures(found),
            *_certified(runs, {n: b for n, b in given.items() if n in MEASURES}),
            *_how_fair(fairness),
            *_users(runs),
            *_models(runs),
            "<h2>Use of the cluster</h2>",
            page.picture(run_plots.cluster_use(runs), "use", "GPUs held and demanded over time"),
            *_jobs(runs, notes, rejected),
            *_records(runs, own_leases=bool(won)),
        ]
    )
    page.write_page(path, title, body)


def _users(runs: Runs) -> list[str]:
    """Show who got a fair share when; a single user shares with nobody."""
    if next(iter(runs.values())).user_weight.size < 2:
        return []
    figure = run_plots.user_fairness(runs)
    picture = page.picture(figure, "users", "Fairness of each user over time")
    return ["<h2>Fairness to users over time</h2>", picture]


# --- what may stand in it ------------------------------------------------------------------------


def _check(runs: Runs) -> None:
    if not runs:
        raise ValueError("replay report: runs={} is empty, there is nothing to compare")
    (first, one), *others = runs.items()
    for name, run in others:
        if run.instance_hash != one.instance_hash:
            raise ValueError(
                f"replay report: runs {first!r} and {name!r} are not of the same instance"
            )


def _verify(
    run: Run,
    bounds: Mapping[str, Bound],
    fairness: Sequence[Fairness],
) -> None:
    instance = run.require_instance()
    known = (*MEASURES, *(REWARDS if instance.kind.has_deadlines else ()))
    for name in sorted(set(bounds) - set(known))[:1]:
        raise KeyError(f"replay report: bounds[{name!r}] is none of {', '.join(known)}")
    for measure, bound in bounds.items():
        if measure in MEASURES:
            verify_bound(CompletionTime(_able(run), measure), bound)  # type: ignore[arg-type]
        else:
            gone = dict(run.rejected)
            elastic = measure == REWARDS[True]
            verify_bound(rewards_problem(instance, gone, elastic=elastic), bound)
    for _, problem, bound in fairness:
        verify_bound(problem, bound)


def _able(run: Run) -> Instance[Any]:
    """The instance without the jobs that the run rejected."""
    instance, able = run.require_instance(), np.flatnonzero(~run.records.rejected).tolist()
    return replace(instance, jobs=tuple(instance.jobs[j] for j in able))


# --- words ---------------------------------------------------------------------------------------


def _words(
    runs: Runs,
    found: Mapping[str, Values],
    won: Mapping[str, Values],
    bounds: Mapping[str, Bound],
) -> str:
    """Say in plain words what was compared and who did best at what."""
    run = next(iter(runs.values()))
    policies = "1 policy" if len(runs) == 1 else f"{len(runs)} policies"
    able = int((~run.records.rejected).sum())
    text = (
        f"{policies} ran {page.count(able, 'job')} of {page.count(run.user_weight.size, 'user')} "
        f"on {page.count(len(run.sizes), 'node')} with {run.gpus:,} GPUs."
    )
    text += _most_reward(runs, won, bounds)
    done = {name: values for name, values in found.items() if not values["unfinished"]}
    fastest = _best(done, "mean_completion")
    if fastest is not None:
        value = found[fastest]["mean_completion"] or 0.0
        text += f" Jobs are complete soonest, {run_plots.duration(value)} after their submission "
        text += f"on average, with {fastest}"
        ratio = _ratio(runs[fastest], run, "flow", bounds)
        if ratio is not None:
            text += f", at most {plots.shown_ratio(ratio)} times what any policy could have reached"
            text += " that keeps gangs" if won else ""
        text += "."
    fairest = _best(done, "days_below")
    if fairest is not None and len(done) > 1:
        share = 100 * (found[fairest]["days_below"] or 0.0)
        text += f" Users get less than their fair share on the fewest days, {share:.0f} % of them, "
        text += f"with {fairest}."
    stopped = [name for name in runs if name not in done]
    if stopped:
        text += f" Stopped before all jobs were complete: {', '.join(stopped)}."
    return text


def _most_reward(runs: Runs, won: Mapping[str, Values], bounds: Mapping[str, Bound]) -> str:
    """Say which complete runs won most, and what could be won on the same terms."""
    rewards = {name: v["reward"] or 0 for name, v in won.items() if not v["unfinished"]}
    most = max(rewards.values(), default=0)
    if not most:
        return ""
    best = [name for name, reward in rewards.items() if reward == most]
    text = f" Most reward: {', '.join(best)}, {most:,.10g}"
    bound = bounds.get(REWARDS[any(metrics.is_elastic(runs[name]) for name in best)])
    first = next(iter(runs.values())).records.rejected
    if bound is not None and all(np.array_equal(runs[n].records.rejected, first) for n in best):
        text += f" of at most {_most(bound)}"
    return f"{text}."


def _best(found: Mapping[str, Values], measure: str) -> str | None:
    known = {name: value for name, v in found.items() if (value := v[measure]) is not None}
    return min(known, key=lambda name: known[name], default=None)


# --- measures ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    """A measure: how it is called and written, and whether less or more of it is better."""

    measure: str
    name: str
    write: Callable[[float], str]
    better: int  # -1 less, 1 more, 0 neither


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _degree(value: float) -> str:
    return f"{value:.3f}"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


GROUPS: Mapping[str, Sequence[_Row]] = {
    "Jobs": (
        _Row("finished", "complete", _whole, 0),
        _Row("unfinished", "not complete", _whole, 0),
        _Row("rejected", "rejected", _whole, 0),
    ),
    "Time": (
        _Row("mean_completion", "mean completion time", run_plots.duration, -1),
        _Row("median_completion", "median completion time", run_plots.duration, -1),
        _Row("p99_completion", "99 % of jobs: completion time up to", run_plots.duration, -1),
        _Row("mean_wait", "mean wait", run_plots.duration, -1),
        _Row("mean_slowdown", "mean slowdown", lambda v: f"{v:,.2f}", -1),
        _Row("p99_slowdown", "99 % of jobs: slowdown up to", lambda v: f"{v:,.2f}", -1),
        _Row("makespan", "makespan", run_plots.duration, -1),
    ),
    "Cluster": (
        _Row("utilisation", "utilisation to the last arrival", _percent, 1),
        _Row("utilisation_end", "utilisation to the end", _percent, 1),
        _Row("preemptions", "preemptions", _whole, 0),
    ),
    "Fairness to jobs": (
        _Row("min_rho", "least rho", _degree, 1),
        _Row("min_service_rho", "least rho of service alone", _degree, 1),
        _Row("mean_rho", "mean rho", _degree, 0),
        _Row("loss", "rho < 0.95, from the first round", _percent, -1),
        _Row("loss_release", "rho < 0.95, from submission", _percent, -1),
        _Row("jain_jobs", "Jain's index of rho", _degree, 1),
    ),
    "Fairness to users": (
        _Row("min_user_rho", "least rho over the run", _degree, 1),
        _Row("days_below", "user-days below 1", _percent, -1),
        _Row("hours_below", "user-hours below 1", _percent, -1),
        _Row("jain_users", "Jain's index of rho", _degree, 1),
    ),
}
MEANING = (
    "Completion time: from submission to completion. Wait: the part of it in which the job held no "
    "GPUs. Slowdown: completion time over the run time without any wait. Preemption: a job lost "
    "its GPUs before it was complete. rho: GPU time that a job or user got, over the fair share of "
    "Ye et al. (2022), eq. (8), (12) and (15); of a job from its first round unless said "
    "otherwise. Of service alone: overhead does not count as got, as in the bounds below. From "
    "submission, the wait for the next round alone takes many short jobs below 0.95, on an empty "
    "cluster too. So it is with users: a job that completes between two rounds counts in its "
    "user's fair share up to the later one, so that users of short jobs are below 1 on an empty "
    "cluster too. Do not compare such shares across round lengths. User-days and "
    "user-hours: those in which the user has a fair share above 0; below 1: less than 99.9 % of it "
    "was got. Jain's index: 1 when all are equal. Bold: best of its row; runs that were stopped "
    "have their means over complete jobs and take no part in that."
)


def _measures(found: Mapping[str, Values]) -> list[str]:
    """One row for each measure, one column for each policy."""
    heads = "".join(_cell("th", name) for name in found)
    lines = []
    for group, rows in GROUPS.items():
        lines.append(f"<tr><th>{page.escape(group)}</th>{heads}</tr>")
        lines += [_line(row, found) for row in rows if _wanted(row, found)]
    table = f'<div class="wide"><table>{"".join(lines)}</table></div>'
    return ["<h2>Measures</h2>", table, f'<p class="muted">{page.escape(MEANING)}</p>']


def _wanted(row: _Row, found: Mapping[str, Values]) -> bool:
    """Leave out jobs of a kind that no run has."""
    optional = row.measure in ("unfinished", "rejected")
    return not optional or any(values[row.measure] for values in found.values())


def _line(row: _Row, found: Mapping[str, Values]) -> str:
    texts = {
        name: "–" if (value := values[row.measure]) is None else row.write(value)
        for name, values in found.items()
    }
    rated = {
        name: row.better * value
        for name, values in found.items()
        if (value := values[row.measure]) is not None and not values["unfinished"]
    }
    best = {texts[name] for name in rated if rated[name] == max(rated.values())}
    cells = (
        _cell("td", text, bold=bool(row.better) and name in rated and text in best)
        for name, text in texts.items()
    )
    return f"<tr><td>{page.escape(row.name)}</td>{''.join(cells)}</tr>"


def _cell(tag: str, text: str, *, bold: bool = False) -> str:
    inner = page.escape(text)
    return f'<{tag} class="number">{f"<strong>{inner}</strong>" if bold else inner}</{tag}>'


# --- deadlines -----------------------------------------------------------------------------------

DEADLINES: Sequence[_Row] = (
    _Row("weighted_miss", "weighted miss rate", _percent, -1),
    _Row("weighted_miss_own", "the same, all jobs alike", _percent, -1),
    _Row("reward", "reward", _whole, 1),
    _Row("strict_miss", "strict deadlines missed", _percent, -1),
    _Row("in_time", "complete by the last deadline", _percent, 1),
    _Row("best_effort_latency", "best effort: mean completion time", run_plots.duration, -1),
    _Row("slo_suspensions", "suspensions per SLO job", lambda v: f"{v:,.2f}", 0),
    _Row("best_effort_suspensions", "suspensions per best-effort job", lambda v: f"{v:,.2f}", 0),
    _Row("profiling_wait", "submission to the end of profiling", run_plots.duration, 0),
)
REWARDED = (
    "Weighted miss rate: 1 less the mean reward of a job with deadlines (SLO job) over "
    "the largest of all jobs (Gao et al. 2024, Section IV-C); all jobs alike: over its own largest "
    "one. Certified ratio of reward: no policy that keeps gangs could have won more than this "
    "factor more (for a policy that changed numbers of GPUs: none that may do so, with up to twice "
    "the gang), verified by gangsched.verify_bound when this report was written, and rounded up."
)
ELASTIC = (
    "{} ran jobs on other numbers of GPUs than their gangs: the ratio is to the most that policies "
    "can win which may do so, {}, and times are compared with no bound."
)


def _profiles(run: Run) -> bool:
    return bool((run.events.kind == EventKind.PROFILE).any())


def who_profiles(runs: Runs) -> str:
    """Say which policies had to find out about new jobs, and which were told."""
    names = [name for name, run in runs.items() if _profiles(run)]
    if not names:
        return "No policy profiled new jobs: all are told what they use of run times."
    text = f"Profile new jobs first, and pay for it: {', '.join(names)}"
    return text + (
        "." if len(names) == len(runs) else "; others are told what they use of run times."
    )


def _won(runs: Runs) -> dict[str, Values]:
    """Measures of deadlines by run; nothing without deadlines."""
    if not next(iter(runs.values())).require_instance().kind.has_deadlines:
        return {}
    return {
        name: {"unfinished": int((~run.records.finished & ~run.records.rejected).sum()), **measures}
        for name, run in runs.items()
        for measures in (metrics.deadline_summary(run),)
    }


def _deadlines(
    runs: Runs,
    found: Mapping[str, Values],
    bounds: Mapping[str, Bound],
) -> list[str]:
    if not found:
        return []
    elastic = {name for name, run in runs.items() if metrics.is_elastic(run)}
    ratios = {}
    first = next(iter(runs.values()))
    for name, run in runs.items():
        bound = bounds.get(REWARDS[name in elastic])
        same = np.array_equal(run.records.rejected, first.records.rejected)
        won = found[name]["reward"] if same and not found[name]["unfinished"] else None
        ratios[name] = ratio(won, bound, Sense.MAX)
    most = bounds.get(REWARDS[bool(elastic)])
    heads = "".join(_cell("th", name) for name in found)
    lines = [f"<tr><th>Deadlines</th>{heads}</tr>"]
    used = [row for row in DEADLINES if any(v[row.measure] is not None for v in found.values())]
    lines += [_line(row, found) for row in used]
    cells = (_cell("td", "–" if r is None else plots.shown_ratio(r)) for r in ratios.values())
    lines.append(f"<tr><td>certified ratio of reward</td>{''.join(cells)}</tr>")
    told = (_cell("td", "after profiling" if _profiles(r) else "told") for r in runs.values())
    lines.append(f"<tr><td>run times, if used</td>{''.join(told)}</tr>")
    said = [
        REWARDED,
        who_profiles(runs),
        *([ELASTIC.format(", ".join(sorted(elastic)), _most(most))] * bool(elastic)),
    ]
    gangs = bounds.get(REWARDS[False])
    if gangs is not None:
        said.insert(1, f"No policy that keeps gangs wins more than {_most(gangs)}.")
    figure = run_plots.deadlines(runs, bound=None if most is None else most.value)
    return [
        "<h2>Deadlines</h2>",
        page.picture(figure, "deadlines", "Reward for met deadlines of each policy"),
        f'<div class="wide"><table>{"".join(lines)}</table></div>',
        f'<p class="muted">{page.escape(" ".join(said))}</p>',
    ]


def _most(bound: Bound | None) -> str:
    return "for which no bound is known" if bound is None else f"{bound.value:,.10g}"


# --- what is proven ------------------------------------------------------------------------------

#: measure, what its mean (or the makespan) is called, how a bound of it is written: rounded down
MEASURES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "makespan": ("makespan", partial(run_plots.duration, down=True)),
    "completion": ("mean end, from time 0", partial(run_plots.duration, down=True)),
    "flow": ("mean completion time", partial(run_plots.duration, down=True)),
    "slowdown": ("mean slowdown", lambda value: f"{run_plots.floored(value, 3):,.3f}"),
}


def _certified(runs: Runs, bounds: Mapping[str, Bound]) -> list[str]:
    if not bounds:
        return ["<h2>How far from the best possible</h2>", "<p>No bound was computed.</p>"]
    run = next(iter(runs.values()))
    jobs = max(int((~run.records.rejected).sum()), 1)
    heads = "".join(_cell("th", name) for name in ("at least", *runs))
    lines = [f"<tr><th>measure</th>{heads}<th>method of the bound</th></tr>"]
    for measure, bound in bounds.items():
        name, write = MEASURES[measure]
        least = write(bound.value / (1 if measure == "makespan" else jobs))
        ratios = (_ratio(one, run, measure, bounds) for one in runs.values())
        cells = [_cell("td", "–" if r is None else plots.shown_ratio(r)) for r in ratios]
        lines.append(
            f"<tr><td>{page.escape(name)}</td>{_cell('td', least)}{''.join(cells)}"
            f"<td>{page.escape(bound.method)}</td></tr>"
        )
    text = (
        "Bounds are rounded down. Ratio of what each policy reached to the lower bound, rounded "
        "up: no policy whatever, not "
        "even one that knew all jobs in advance and could suspend and move them for free, can be "
        "more than this factor better. The bounds were verified by gangsched.verify_bound when "
        "this report was written. Mean end: most of it are the times of submission, so that "
        "its ratios are close to 1. Without a ratio: runs that were "
        "stopped, rejected other jobs than the first one, or changed jobs' numbers of GPUs."
    )
    table = f'<div class="wide"><table>{"".join(lines)}</table></div>'
    return ["<h2>How far from the best possible</h2>", table, f'<p class="muted">{text}</p>']


def _ratio(run: Run, first: Run, measure: str, bounds: Mapping[str, Bound]) -> float | None:
    """Objective over bound, where the bound is of this run's jobs and all of them are complete."""
    bound, value = bounds.get(measure), metrics.objectives(run)[measure]
    if bound is None or value is None or bound.value <= 0 or value <= 0:
        return None
    if metrics.is_elastic(run):  # the bound is that of gangs
        return None
    same = np.array_equal(run.records.rejected, first.records.rejected)
    return value / bound.value if same else None


def _how_fair(fairness: Sequence[Fairness]) -> list[str]:
    if not fairness:
        return []
    lines = ['<tr><th>what is bounded</th><th class="number">at most</th><th>method</th></tr>']
    for what, _, bound in fairness:
        value = plots.shown_ratio(bound.value)
        lines.append(
            f"<tr><td>{page.escape(what)}</td>{_cell('td', value)}"
            f"<td>{page.escape(bound.method)}</td></tr>"
        )
    text = (
        "Upper bounds, rounded up, and verified by gangsched.verify_bound when this report was "
        "written. They say what any policy could give to everybody at once: rho of 1 for all is "
        "not always possible."
    )
    table = f'<div class="wide"><table>{"".join(lines)}</table></div>'
    return ["<h2>How fair anyone could be</h2>", table, f'<p class="muted">{text}</p>']


# --- GPU models ----------------------------------------------------------------------------------

WORK = (
    "Held: GPU time of a user over that of the run. Work: GPUs at speed 1 that would have done the "
    "same. Over fair share: that work, over what the user's fair share min(demand, quota), the "
    "same share of every model, would have done at the mean speeds of its jobs, without overhead."
)
TRADES = (
    "Amount: fast GPUs to the buyer. Rate: slow GPUs to the seller for each of them. Trades at the "
    "same time follow one another; one that was undone returned what it had moved."
)
MOST_TRADES = 5_000  # for the size of the file; a run has all
TRADE_HEADS = ("time", "", "buyer", "seller", "fast", "slow", "amount", "rate")


def _models(runs: Runs) -> list[str]:
    """Show who held and did what on which GPU model; nothing where there is one."""
    if len(models_of(next(iter(runs.values())).require_instance())) < 2:
        return []
    figure = run_plots.model_shares(runs)
    parts = ["<h2>GPU models</h2>", page.picture(figure, "models", "GPUs of each model by user")]
    parts += [f'<p class="muted">{page.escape(text)}</p>' for text in (MODELS,)]
    parts += _work(runs)
    return parts + [part for name, run in runs.items() for part in _trades(name, run)]


def _work(runs: Runs) -> list[str]:
    """What each user held and did, in each run."""
    columns = [user_columns(run) for run in runs.values()]
    heads = "".join(f'<th colspan="3" class="number">{page.escape(name)}</th>' for name in runs)
    below = "".join(_cell("th", head) for head in ("held", "work", "over fair share") * len(runs))
    lines = [f"<tr><th>user</th>{heads}</tr>", f"<tr><th></th>{below}</tr>"]
    for user in columns[0]:
        rows = (column[user] for column in columns)
        values = [row[name] for row in rows for name in ("gpus", "work", "share")]
        cells = (_cell("td", "–" if v is None else f"{v:,.2f}") for v in values)
        lines.append(f"<tr><td>{page.escape(user or 'all jobs')}</td>{''.join(cells)}</tr>")
    table = f'<div class="wide"><table>{"".join(lines)}</table></div>'
    return [table, f'<p class="muted">{page.escape(WORK)}</p>']


def _trades(name: str, run: Run) -> list[str]:
    """The trade log of a run, in full."""
    log = [entry for entry in run.log if "rate" in entry]
    if not log:
        return []
    lines = ["<tr>" + "".join(f"<th>{head}</th>" for head in TRADE_HEADS) + "</tr>"]
    for entry in log[:MOST_TRADES]:
        undone = entry["rate"] < 0
        texts = (
            f"{entry['time']:,} s",
            "undone" if undone else "",
            _user(run, entry["buyer"]),
            _user(run, entry["seller"]),
            entry["fast"],
            entry["slow"],
            f"{entry['amount']:,.3f}",
            f"{abs(entry['rate']):,.3f}",
        )
        lines.append("<tr>" + "".join(f"<td>{page.escape(t)}</td>" for t in texts) + "</tr>")
    count = page.escape(" ".join(trades_line({name: run})))
    if len(log) > MOST_TRADES:
        count += f" The first {MOST_TRADES:,} of them:"
    return [
        f"<details><summary>{count}</summary>",
        f'<div class="wide"><table>{"".join(lines)}</table></div>',
        f'<p class="muted">{page.escape(TRADES)}</p></details>',
    ]


def _user(run: Run, user: Any) -> str:
    """Its name, where a log has its number."""
    return run.users[user] if isinstance(user, int) and user < len(run.users) else str(user)


# --- the instance, and how to run it again -------------------------------------------------------


def _jobs(runs: Runs, notes: Sequence[str], rejected: Sequence[tuple[str, str]]) -> list[str]:
    run = next(iter(runs.values()))
    sizes = Counter(run.sizes)
    nodes = [f"{page.count(sizes[size], 'node')} of {size}" for size in sorted(sizes)]
    facts = {
        "name": run.instance_name or "–",
        "hash": run.instance_hash,
        "jobs": f"{len(run.records):,}",
        "nodes by GPUs": ", ".join(nodes),
        "GPUs": f"{run.gpus:,}",
        "users": f"{run.user_weight.size:,}",
    }
    parts = ["<h2>Jobs and cluster</h2>", page.facts(facts)]
    parts += [f"<p>{page.escape(note)}</p>" for note in notes]
    if run.users:
        quotas = zip(run.users, run.user_weight, run.quota, strict=True)
        lines = [f"{user}: weight {w:,g}, quota {q:,.1f} GPUs" for user, w, q in quotas]
        parts.append(page.folded(page.count(len(lines), "user"), lines))
    lines = [f"{job}: {reason}" for job, reason in rejected]
    lines += list(dict.fromkeys(_rejected(runs)))
    if lines:
        parts.append(page.folded(f"{page.count(len(lines), 'rejected job')}, not run", lines))
    return parts


def _rejected(runs: Runs) -> list[str]:
    """Jobs that runs rejected; the policy is named where others did not."""
    by_job: dict[tuple[int, str], list[str]] = {}
    for name, run in runs.items():
        for job, reason in run.rejected:
            by_job.setdefault((job, reason), []).append(name)
    ids = next(iter(runs.values())).records.id
    return [
        f"{ids[job]}: {reason}" + ("" if len(names) == len(runs) else f" ({', '.join(names)})")
        for (job, reason), names in by_job.items()
    ]


def _rule(name: str, value: Any) -> str:
    """Say a rule with its unit: all numbers are seconds."""
    plain = isinstance(value, bool) or value is None
    return f"{name} {value}" if plain else f"{name} {value:,} s"


OWN_LEASES = (
    '<p class="muted">Policies with leases of their own, such as unisched and chronus, do not '
    "follow the lease, nor jobs with a preemption cost of their own the overhead.</p>"
)


def _records(runs: Runs, *, own_leases: bool) -> list[str]:
    """Everything that is needed to run it again."""
    versions: dict[str, str] = {}
    heads = ("policy", "parameters", "seed", "ended", "digest", "runtime")
    lines = ["<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>"]
    rules: dict[str, list[str]] = {}
    for name, run in runs.items():
        versions |= run.versions
        text = ", ".join(_rule(*rule) for rule in run.rules.named().items())
        rules.setdefault(text, []).append(name)
        texts = (
            f"{name} ({run.policy})" if run.policy != name else name,
            json.dumps(dict(run.parameters), default=str, ensure_ascii=False),
            "–" if run.seed is None else run.seed,
            f"{run.stop.value} at {run.now:,} s",
            run.digest()[:16],
        )
        cells = "".join(f"<td>{page.escape(text)}</td>" for text in texts)
        lines.append(f'<tr>{cells}<td class="number timing">{run.runtime:.2f} s</td></tr>')
    said = {", ".join(n) if len(rules) > 1 else "all policies": text for text, n in rules.items()}
    return [
        "<h2>Parameters</h2>",
        f'<div class="wide"><table>{"".join(lines)}</table></div>',
        "<h2>Rules of the cluster</h2>",
        page.facts(said),
        *([OWN_LEASES] * own_leases),
        "<h2>Versions</h2>",
        page.facts(dict(sorted(versions.items()))),
    ]
