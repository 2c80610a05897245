"""One HTML file that compares runs of the same jobs, with each other and with the best possible.

A self-contained page like that of :mod:`gangsched.analysis.show.report`, with the same promises.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ...instances.display import counted, in_doubt
from ...solvers.result import Bound
from ..comparing.measures import REWARDS
from ..comparing.replayed import Replay
from ..driving.run import Run
from ..driving.speeds import models_of
from ..driving.waits import REASONS, longest_waits
from ..proofs.gpu_prices import GpuPrices
from . import chart_data, gantt_data, page, run_plots
from .columns import (
    DEADLINES,
    FAIRNESS,
    JOBS,
    REVENUE,
    SAID,
    TIME,
    USERS,
    Column,
    ColumnTable,
    Decimals,
    Section,
    duration,
    explained,
    floored,
    shown_ratio,
    whole,
)
from .loss_tables import loss_notes, loss_tables
from .page import Topic
from .replay_tables import (
    answer,
    conditions,
    earning_words,
    failures,
    informed,
    least,
    legend,
    measured,
    trades_line,
)
from .wait_table import wait_notes, wait_table

__all__ = ["write_replay_report"]

MOST_CERTIFICATE = 5_000  # characters
MOST_STILL_BARS = 3_000  # of all policies, in pictures for pages without script
MOST_WAITS = 5  # of each policy


def write_replay_report(
    path: str | Path,
    found: Replay,
    *,
    title: str,
    notes: Sequence[str] = (),
    rejected: Sequence[tuple[str, str]] = (),
    drawn: str = "",
    left_out: int = 0,
) -> None:
    """Write the comparison of policies as one self-contained HTML file.

    Parameters
    ----------
    path : path
    found : Replay
    title : str
    notes : sequence of str
        How the instance came about.
    rejected : sequence of (job, reason)
        Jobs that were left out of the instance.
    drawn : str
        Which seed drew what of the jobs.
    left_out : int
        How many more jobs options left out.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.analysis.comparing.replay import replay
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> from gangsched.solvers import Fifo
    >>> jobs = [Job(id="a", gpus=2, work=100), Job(id="b", gpus=2, work=50, release=10)]
    >>> found = replay(Instance(Cluster.of_sizes([2]), jobs), {"fifo": Fifo()})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "replay.html"
    ...     write_replay_report(file, found, title="Two jobs")
    ...     "1 policy ran 2 jobs" in file.read_text("utf-8")
    True
    """
    settings = page.muted(str(conditions(found, drawn=drawn, rejected=len(rejected) + left_out)))
    earns = found.problem is not None
    topics = [
        *(_earning if earns else _timed)(found, settings),
        _jobs(found, (*notes, *failures(found)), rejected),
        *_records(found),
    ]
    words = f"{_revenue_words(found)} {in_doubt(found.doubts)}" if earns else _words(found)
    page.write_page(path, title, words.rstrip(), topics)


def _timed(found: Replay, settings: Markup) -> list[Topic]:
    """Show completion times, fairness, and rewards where there are deadlines."""
    return [
        _results(found, settings),
        _distributions(found),
        *_deadlines(found),
        *_certified(found),
        *_losses(found),
        *_schedules(found),
        *_waits(found),
        _use(found),
        *_how_fair(found),
        *_users(found),
        *_models(found),
        _measures(found),
    ]


def _results(found: Replay, settings: Markup) -> Topic:
    """The tables of the screen: a line for each policy, and below what nobody can beat."""
    tables = measured(found)
    names = [f"results {k}" for k in range(1, 1 + len(tables))]
    shown = [page.table(table, name=name) for table, name in zip(tables, names, strict=True)]
    columns = [column for table in tables for column in table.columns]
    meant = page.folded("What the columns mean", explained(columns))
    return Topic("Results", [*shown, *map(page.muted, _limits(found)), settings, meant])


def _limits(found: Replay) -> list[str]:
    """What the lines below the policies are."""
    every = legend(found)
    return [line for line in every if line.startswith(("any policy", "best known"))]


def _distributions(found: Replay) -> Topic:
    data = chart_data.distributions(found.runs)
    if not found.submitted:
        data["views"] = [view for view in data["views"] if view["name"] != "wait"]
    title = "Share of the jobs up to a completion time, wait or slowdown"
    if data["views"]:
        still = page.picture(run_plots.distributions(title, data), "distributions", title)
        part = page.chart("distributions", title, data, still)
    else:
        part = page.paragraph("No job was complete.")
    return Topic("Completion times, waits and slowdowns", [part])


def _schedules(found: Replay) -> list[Topic]:
    """Nodes over time: without script jobs where they are few, else shares of the GPUs."""
    runs = {row.name: row.run for row in found.rows if not row.recorded}
    if not runs:
        return []
    data, still = gantt_data.of_runs(runs), []
    if sum(run.schedule.entries for run in runs.values()) > MOST_STILL_BARS:
        held = run_plots.nodes_held(gantt_data.shares_of(runs))
        still.append(page.picture(held, "nodes", "GPUs held by node and time"))
    else:
        for k, (name, run) in enumerate(runs.items()):
            figure = run_plots.nodes(name, run, data["end"])
            still.append(page.picture(figure, f"nodes{k}", f"Jobs under {name}"))
    chart = page.chart("nodes", "Who ran where and when", data, *still)
    said = [page.muted(SAID["unplaced"])] * (len(runs) < len(found.rows))
    return [Topic("Nodes over time", [chart, *said])]


def _use(found: Replay) -> Topic:
    data = chart_data.shares(found.runs)
    figure = run_plots.cluster_use(data)
    still = page.picture(figure, "use", "GPUs held and demanded over time")
    title = "Share of the GPUs that users held"
    return Topic("Use of the cluster", [page.chart("use", title, data, still)])


def _waits(found: Replay) -> list[Topic]:
    """Why the jobs waited that did so longest; with prices, if the bound is by prices."""
    prices = GpuPrices.of(found.bounds.get("flow"))
    runs = found.by_model if found.submitted else {}
    waits = {name: longest_waits(run, MOST_WAITS, prices=prices) for name, run in runs.items()}
    every = [wait for own in waits.values() for wait in own]
    if not every:
        return []
    slots = chart_data.unit_of(found.rows[0].run) == "slots"
    table = wait_table(found, waits)
    columns = (*table.columns, Column("reasons", "all reasons"))
    if slots:
        columns = tuple(
            replace(c, unit="slots", write=whole) if c.unit == "s" else c for c in columns
        )
    rows = tuple(
        {**row, "reasons": gantt_data.reasons(wait, slots)}
        for row, wait in zip(table.rows, every, strict=True)
    )
    shown = page.table(ColumnTable(columns, rows), name="longest waits")
    meant = page.folded("What the reasons mean", [f"{k}: {text}" for k, text in REASONS.items()])
    said = [note for note in wait_notes(waits) if note.partition(":")[0] not in REASONS]
    return [Topic("Longest waits", [shown, *map(page.muted, said), meant])]


def _users(found: Replay) -> list[Topic]:
    """Show who got a fair share when; a single user shares with nobody."""
    if found.rows[0].run.user_weight.size < 2:
        return []
    figure = run_plots.user_fairness(found.runs)
    picture = page.picture(figure, "users", "Fairness of each user over time")
    return [Topic("Fairness to users over time", [picture])]


# --- words ---------------------------------------------------------------------------------------


def _words(found: Replay) -> str:
    """Say in plain words what was compared and who did best at what."""
    text = f"{_ran(found)} {answer(found)}"
    done = [row for row in found.rows if row.complete]
    fairest = least(done, "days_below")
    if fairest is not None and len({row.measures["days_below"] for row in done}) > 1:
        share = 100 * (fairest.measures["days_below"] or 0.0)
        text += f" Users get less than their fair share on the fewest days, {share:.0f} % of them, "
        text += f"with {fairest.name}."
    stopped = [row.name for row in found.rows if not row.complete]
    if stopped:
        text += f" Stopped before all jobs were complete: {', '.join(stopped)}."
    return text


def _ran(found: Replay) -> str:
    run, cluster = found.rows[0].run, found.instance.cluster
    able = int((~run.records.rejected).sum())
    policies = "1 policy" if len(found.rows) == 1 else f"{len(found.rows)} policies"
    return (
        f"{policies} ran {counted(able, 'job')} of {counted(run.user_weight.size, 'user')} "
        f"on {counted(len(cluster.nodes), 'node')} with {cluster.gpus:,} GPUs."
    )


# --- measures ------------------------------------------------------------------------------------


def _said(found: Replay, *sections: Section) -> Markup:
    """What the columns that are shown mean, to unfold."""
    every = (column for section in sections for column in section.every)
    shown = [column for column in every if page.wanted(column, found.rows)]
    return page.folded("What the measures mean", explained(shown))


def _measures(found: Replay) -> Topic:
    """A line for each measure, a cell for each policy."""
    table = page.across((JOBS, TIME, FAIRNESS), found.rows, "name")
    said = _said(found, JOBS, TIME, FAIRNESS)
    return Topic("Measures", [table, said, page.muted(SAID["measures"])])


# --- revenue -------------------------------------------------------------------------------------


def _revenue_words(found: Replay) -> str:
    """Say who earned most, and what anyone can earn."""
    text, bound = _ran(found), found.bounds.get("revenue")
    best = max(found.rows, key=lambda row: (row.revenue or {})["revenue"] or 0)
    won = (best.revenue or {})["revenue"] or 0
    text += f" Most revenue: {best.name}, {won:,.6g}"
    return text + ("." if bound is None else f" of at most {Decimals(6, ',', 1)(bound.value)}.")


def _earning(found: Replay, settings: Markup) -> list[Topic]:
    """Show what the policies earned, and what anyone can earn."""
    bound, known = found.bounds.get("revenue"), found.known.get("revenue")
    lines = {row.name: (row.revenue or {})["revenue"] or 0 for row in found.rows}
    lines |= {} if known is None else {"offline": known.objective}
    most = None if bound is None else bound.value
    data = chart_data.amounts(lines, "revenue", most)
    title = "Revenue of the same jobs under each policy"
    still = page.picture(run_plots.amounts(title, data), "revenue", "What policies earned")
    parts = [
        page.chart("revenue", title, data, still),
        *(page.table(table, name="revenue") for table in measured(found)),
        page.across((REVENUE,), found.rows, "name"),
        _said(found, REVENUE),
        settings,
        *map(page.muted, earning_words(found)),
    ]
    return [Topic("Revenue", parts), *_schedules(found), *_waits(found)]


# --- deadlines -----------------------------------------------------------------------------------


def _deadlines(found: Replay) -> list[Topic]:
    if not found.has_deadlines:
        return []
    elastic = sorted(row.name for row in found.rows if row.elastic)
    most, gangs = found.bounds.get(REWARDS[bool(elastic)]), found.bounds.get(REWARDS[False])
    said = [SAID["rewarded"]]
    if gangs is not None:
        said.append(f"No policy that keeps gangs wins more than {_most(gangs)}.")
    said.append(informed(found))
    if elastic:
        said.append(SAID["elastic_ratio"].format(", ".join(elastic), _most(most)))
    line = None if most is None else most.value
    won = {row.name: (row.deadlines or {})["reward"] or 0 for row in found.rows}
    top = (found.rows[0].deadlines or {})["top_reward"] or 0
    data = chart_data.amounts(won, "reward", line, top)
    title = "Reward for met deadlines"
    still = page.picture(run_plots.amounts(title, data), "deadlines", f"{title} of each policy")
    parts = [
        page.chart("deadlines", title, data, still),
        page.across((DEADLINES,), found.rows, "name"),
        _said(found, DEADLINES),
        page.muted(" ".join(said)),
    ]
    return [Topic("Deadlines", parts)]


def _most(bound: Bound | None) -> str:
    return "for which no bound is known" if bound is None else f"{bound.value:,.10g}"


# --- what is proven ------------------------------------------------------------------------------

#: measure, what its mean (or the makespan) is called, how a bound of it is written: rounded down
MEASURES: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "makespan": ("makespan", partial(duration, down=True)),
    "completion": ("mean end, from time 0", partial(duration, down=True)),
    "flow": ("mean completion", partial(duration, down=True)),
    "slowdown": ("mean slowdown", lambda value: f"{floored(value, 3):,.3f}"),
}


def _certified(found: Replay) -> list[Topic]:
    title = "How far from the best possible"
    bounds = {name: bound for name, bound in found.bounds.items() if name in MEASURES}
    if not bounds:
        return [Topic(title, [page.paragraph("No bound was computed.")])]
    jobs = max(len(found.instance.jobs) - len(found.rejected), 1)
    numbers = range(1, 2 + len(found.runs))
    heads = "measure", "at least", *found.runs, "method of the bound"
    lines = []
    for measure, bound in bounds.items():
        name, write = MEASURES[measure]
        least = write(bound.value / (1 if measure == "makespan" else jobs))
        ratios = (row.ratios.get(measure) for row in found.rows)
        times = ("–" if r is None else shown_ratio(r) for r in ratios)
        lines.append((name, least, *times, bound.method))
    table = page.rows(heads, lines, numbers=numbers, name="certified ratios")
    proofs = [
        page.proof(
            f"Proof of the bound of {name} ({bound.method})", bound.certificate, MOST_CERTIFICATE
        )
        for name, bound in found.bounds.items()
    ]
    return [Topic(title, [table, page.muted(SAID["certified"]), *proofs])]


def _losses(found: Replay) -> list[Topic]:
    """Of what losses over the bound consist."""
    if not found.ledgers:
        return []
    tables = loss_tables(found)
    shown = [page.table(table, name=f"losses {k}") for k, table in enumerate(tables, 1)]
    known = [one for one in found.ledgers.values() if not isinstance(one, str)]
    parts = list(shown)
    if known:
        title = "From the bound to each policy's mean completion"
        still = page.picture(run_plots.losses(known), "losses", title)
        parts.insert(0, page.chart("losses", title, chart_data.losses(known), still))
    notes = map(page.muted, loss_notes(found))
    return [Topic("Of what the losses consist", [*parts, *notes])]


def _how_fair(found: Replay) -> list[Topic]:
    if not found.fairness:
        return []
    lines = [(what, shown_ratio(bound.value), bound.method) for what, _, bound in found.fairness]
    heads = "what is bounded", "at most", "method"
    table = page.rows(heads, lines, numbers=[1], name="fairness bounds")
    return [Topic("How fair anyone could be", [table, page.muted(SAID["how_fair"])])]


# --- GPU models ----------------------------------------------------------------------------------

MOST_TRADES = 5_000  # for the size of the file; a run has all
TRADE_HEADS = ("time", "", "buyer", "seller", "fast", "slow", "amount", "rate")


def _models(found: Replay) -> list[Topic]:
    """Show who held and did what on which GPU model; nothing where there is one."""
    if len(models_of(found.instance)) < 2:
        return []
    if not found.by_model:
        return []
    figure = run_plots.model_shares(found.by_model)
    parts = [page.picture(figure, "models", "GPUs of each model by user")]
    parts += [page.muted(SAID["models"]), *_work(found)]
    return [
        Topic("GPU models", parts + [p for row in found.rows for p in _trades(row.name, row.run)])
    ]


def _work(found: Replay) -> list[Markup]:
    """What each user held and did, in each run."""
    shown = [row for row in found.rows if row.name in found.by_model]
    names = [page.TableCell(row.name, "number", span=len(USERS)) for row in shown]
    below = [column.heading for column in USERS] * len(shown)
    lines = []
    for user in shown[0].users:
        rows = (row.users[user] for row in shown)
        lines.append((user or "all jobs", *(c.text(row, "–") for row in rows for c in USERS)))
    heads, numbers = ["user", *below], range(1, 1 + len(below))
    above = [page.TableCell(""), *names]
    table = page.rows(heads, lines, numbers=numbers, name="users by model", above=above)
    return [table, page.muted(SAID["work"])]


def _trades(name: str, run: Run) -> list[Markup]:
    """The trade log of a run, in full."""
    log = [entry for entry in run.log if "rate" in entry]
    if not log:
        return []
    lines = []
    for entry in log[:MOST_TRADES]:
        undone = entry["rate"] < 0
        sides = (_user(run, entry[side]) for side in ("buyer", "seller"))
        amount, rate = f"{entry['amount']:,.3f}", f"{abs(entry['rate']):,.3f}"
        when = f"{entry['time']:,} s", "undone" if undone else ""
        lines.append((*when, *sides, entry["fast"], entry["slow"], amount, rate))
    count = " ".join(trades_line({name: run}))
    if len(log) > MOST_TRADES:
        count += f" The first {MOST_TRADES:,} of them:"
    table = page.rows(TRADE_HEADS, lines, name=f"trades of {name}")
    return [page.details(count, table, page.muted(SAID["trades"]))]


def _user(run: Run, user: Any) -> str:
    """Its name, where a log has its number."""
    return run.users[user] if isinstance(user, int) and user < len(run.users) else str(user)


# --- the instance, and how to run it again -------------------------------------------------------


def _jobs(found: Replay, notes: Sequence[str], rejected: Sequence[tuple[str, str]]) -> Topic:
    run, sizes = found.rows[0].run, Counter(found.instance.cluster.sizes)
    nodes = [f"{counted(sizes[size], 'node')} of {size}" for size in sorted(sizes)]
    facts = {
        "name": found.instance.name or "–",
        "hash": found.instance_hash,
        "jobs": f"{len(run.records):,}",
        "nodes by GPUs": ", ".join(nodes),
        "GPUs": f"{run.gpus:,}",
        "users": f"{run.user_weight.size:,}",
    }
    parts = [page.facts(facts), *map(page.paragraph, notes)]
    if run.users:
        quotas = zip(run.users, run.user_weight, run.quota, strict=True)
        lines = [f"{user}: weight {w:,g}, quota {q:,.1f} GPUs" for user, w, q in quotas]
        parts.append(page.folded(counted(len(lines), "user"), lines))
    lines = [f"{job}: {reason}" for job, reason in rejected]
    lines += list(dict.fromkeys(_rejected(found.runs)))
    if lines:
        parts.append(page.folded(f"{counted(len(lines), 'rejected job')}, not run", lines))
    return Topic("Jobs and cluster", parts)


def _rejected(runs: Mapping[str, Run]) -> list[str]:
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


def _rule(name: str, value: Any, unit: str) -> str:
    """Say a rule with its unit: all numbers are times."""
    plain = isinstance(value, bool) or value is None
    return f"{name} {value}" if plain else f"{name} {value:,} {unit}"


def _records(found: Replay) -> list[Topic]:
    """Everything that is needed to run it again."""
    versions: dict[str, str] = {}
    lines: list[Sequence[object]] = []
    rules: dict[str, list[str]] = {}
    unit = chart_data.unit_of(found.rows[0].run)
    for name, run in found.runs.items():
        versions |= run.versions
        text = ", ".join(_rule(*rule, unit) for rule in asdict(run.rules).items())
        rules.setdefault(text, []).append(name)
        texts = (
            f"{name} ({run.policy})" if run.policy != name else name,
            page.TableCell(
                json.dumps(dict(run.parameters), default=str, ensure_ascii=False), "text"
            ),
            "–" if run.seed is None else run.seed,
            f"{run.stop.value} at {run.now:,} {unit}",
            run.digest()[:16],
            page.TableCell(run.time_taken, "number timing"),
        )
        lines.append(texts)
    heads = ("policy", "parameters", "seed", "ended", "digest", "runtime")
    said = {", ".join(n) if len(rules) > 1 else "all policies": text for text, n in rules.items()}
    own = [page.muted(SAID["own_leases"])] * found.has_deadlines
    return [
        Topic("Parameters", [page.rows(heads, lines, numbers=[5], name="parameters")]),
        Topic("Rules of the cluster", [page.facts(said), *own]),
        Topic("Versions", [page.facts(dict(sorted(versions.items())))]),
    ]
