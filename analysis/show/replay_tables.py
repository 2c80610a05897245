"""The tables of a replay, and what their words mean: for screens, notebooks and text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from ...formulations.problem import Sense
from ...instances.display import counted, in_doubt, shortened
from ..comparing.measures import MEASURES, REWARDS, KnownSchedule, sense_of, uneven
from ..comparing.replayed import RECORDED, Replay, Replayed, certified
from .columns import (
    ANSWERS,
    DEADLINES,
    FAIRNESS,
    POLICY,
    REVENUE,
    SAID,
    SECTIONS,
    SHARING,
    STARRED,
    TIME,
    Column,
    ColumnTable,
    Limit,
    column,
    doubted,
    duration,
    explained,
    floored,
    footnotes,
    ratio,
    shown_ratio,
)
from .conditions import Conditions, left_out, rules_in_words, seed_range
from .loss_tables import loss_notes, loss_tables

if TYPE_CHECKING:
    from ..driving.run import Run

Limits = dict[str, Limit | str]


def tables(found: Replay, every: bool = False) -> list[ColumnTable]:
    """Return what a screen shows: what people ask first, or `every` usual measure, and losses."""
    first = measured(found) if every or found.problem is not None else answers(found)
    return [*first, *loss_tables(found)]


def answers(found: Replay) -> list[ColumnTable]:
    """Return one table of waits, completion, its ratio to the bound, and use; or of deadlines."""
    if not found.rows:
        return []
    first, names = (STARRED, "deadlines") if found.has_deadlines else (POLICY, "times")
    limits: tuple[Limits, ...] = _limits(found, first)
    if found.has_deadlines:
        limits = _reward_limits(found, *limits)
    columns = map(column, ANSWERS[names])
    known = [c for c in columns if any(c.value(row) is not None for row in found.rows)]
    return [_measured(found, known, limits, _failed(found), first)]


def measured(found: Replay) -> list[ColumnTable]:
    """Return what is measured of each policy, the usual of it."""
    if not found.rows:
        return []
    failed = _failed(found)
    known, bound = _limits(found, POLICY)
    if found.problem is not None:
        if schedule := found.known.get("revenue"):
            known["name"] = offline(schedule)
        return [_measured(found, REVENUE.columns, (known, bound), failed)]
    shown = [
        _measured(found, TIME.columns, (known, bound), failed),
        _measured(found, FAIRNESS.columns, (_fairness_limits(found, bound),)),
    ]
    if found.sharing.problems:
        shown.append(_measured(found, _sharing_columns(found), _sharing_limits(found)))
    if found.has_deadlines:
        limits = _reward_limits(found, *_limits(found, STARRED))
        columns = (STARRED, *DEADLINES.columns)
        shown.insert(0, ColumnTable(columns, found.rows, failed, limits))
    return shown


def _measured(
    found: Replay,
    columns: Sequence[Column],
    limits: Sequence[Limits],
    failed: tuple[tuple[str, str], ...] = (),
    first: Column = POLICY,
) -> ColumnTable:
    """Columns of all policies, above those limits that say something of one."""
    if found.doubts:
        columns = [doubted(one) for one in columns]
    keys = {one.key for one in columns}
    below = tuple(row for row in limits if keys & row.keys())
    return ColumnTable((first, *columns), found.rows, failed, below)


def _failed(found: Replay) -> tuple[tuple[str, str], ...]:
    """Names of the policies that failed, and how."""
    return tuple((one.name, "refuted" if one.refuted else "failed") for one in found.failed)


def whole_table(found: Replay) -> ColumnTable:
    """Return everything that is measured of each policy."""
    left_out = [DEADLINES] * (not found.has_deadlines) + [SHARING] * (not found.sharing.problems)
    sections = [s for s in SECTIONS if s not in (*left_out, REVENUE)]
    if found.problem is not None:
        sections = [REVENUE]
    return ColumnTable((POLICY, *(c for section in sections for c in section.every)), found.rows)


def _limits(found: Replay, first: Column) -> tuple[Limits, Limits]:
    """By column the best that is known, and what nobody can beat, of all measures."""
    known: Limits = {first.key: "best known"}
    bound: Limits = {first.key: "any policy (in doubt)" if found.doubts else "any policy"}
    if found.problem is None:
        bound |= {measure.column: "-" for measure in MEASURES if measure.mean}
    jobs = len(found.instance.jobs) - len(found.rejected)
    for measure in MEASURES:
        name, size = measure.name, jobs if measure.mean else 1
        proof = None if measure.elastic else found.bounds.get(name)
        value, _ = found.best_known.get(name, (None, ""))
        if proof is not None:
            sign = "≥" if sense_of(name) is Sense.MIN else "≤"
            bound[measure.column] = Limit(sign, proof.value / size)
        if value is not None:
            known[measure.column] = Limit("", value / size)
            times = certified(name, value, proof)
            known |= {} if times is None else {f"{name}_ratio": ratio(times)}
    return known, bound


def _fairness_limits(found: Replay, bound: Limits) -> Limits:
    """With the least rho, of the first of what is bounded."""
    if not found.fairness:
        return bound
    *_, rho = found.fairness[0]
    return {**bound, "min_service_rho": f"≤ {shown_ratio(rho.value)}"}


def _sharing_columns(found: Replay) -> tuple[Column, ...]:
    """With equal quotas also those of users with many jobs."""
    quotas = set(found.sharing.problems["wait"].quotas.values())
    every = SHARING.every if len(quotas) == 1 else SHARING.columns
    return tuple(c for c in every if found.submitted or not c.key.startswith("user_wait"))


def _sharing_limits(found: Replay) -> tuple[Limits, ...]:
    """The worst users of the best schedules known, and what nobody's can be below."""
    bounds, known = found.sharing.bounds, found.sharing.known
    least: Limits = {"name": "any policy"}
    least |= {f"user_{name}": f"≥ {floored(b.value, 3):,.3f}" for name, b in bounds.items()}
    best: Limits = {"name": "best known"}
    best |= {f"user_{name}": f"{value:,.3f}" for name, value in known.items()}
    return best, least


def _reward_limits(found: Replay, known: Limits, bound: Limits) -> tuple[Limits, ...]:
    """With those who profile first, those who change their number of GPUs, and all rewards."""
    rows = [known] * ("reward_ratio" in known)
    if found.profiled is not None:
        first = Limit("≤", found.profiled.bound.value)
        rows.append({STARRED.key: "any that profiles first", "reward": first})
    rows += [bound] * ("reward" in bound)
    if "elastic reward" in found.bounds:
        most = Limit("≤", found.bounds["elastic reward"].value)
        rows.append({STARRED.key: "any policy *", "reward": most})
    top = (found.rows[0].deadlines or {})["top_reward"]
    return (*rows, {STARRED.key: "all in time", "reward": Limit("", top or 0)})


# --- words ---------------------------------------------------------------------------------------


def answer(found: Replay) -> str:
    """Say which policy does best, how far it is from the best possible, and what the log did."""
    if found.problem is not None:
        return in_doubt(found.doubts)
    done = [row for row in found.rows if row.complete and not row.recorded]
    best = least(done, "mean_completion")
    text = _most_reward(found, done)
    if best is not None:
        keeps = " that keeps gangs" * found.has_deadlines
        times = _shortest(best, SAID["answer_bound"], keeps) or SAID["answer_open"]
        text += SAID["answer_finished"] * any(not row.complete for row in found.rows)
        text += SAID["answer"].format(best.name, *_completion(best), times)
    for row in found.rows:
        if row.recorded and row.measures["mean_completion"] is not None:
            times = _shortest(row, SAID["answer_recorded_bound"])
            text += SAID["answer_recorded"].format(*_completion(row), times)
            least_of_all = least([*done, row], "mean_completion")
            text += SAID["answer_shorter"] * (best is not None and least_of_all is not best)
    return f"{text} {in_doubt(found.doubts)}".strip()


def _completion(row: Replayed) -> tuple[str, str]:
    """The mean completion of a row, and its mean wait in parentheses, if it is known."""
    wait = row.measures["mean_wait"]
    waited = "" if wait is None else SAID["answer_wait"].format(duration(wait))
    return duration(row.measures["mean_completion"] or 0.0), waited


def _shortest(row: Replayed, words: str, *more: str) -> str:
    """How many times as long as the shortest mean completion, where that is bounded."""
    times = row.ratios.get("flow")
    return "" if times is None else words.format(shown_ratio(times), *more)


def _most_reward(found: Replay, rows: Sequence[Replayed]) -> str:
    """Say which complete runs won most, and what could be won on the same terms."""
    won = [(row, row.deadlines["reward"] or 0) for row in rows if row.deadlines]
    most = max((reward for _, reward in won), default=0)
    if not most:
        return ""
    best = [row for row, reward in won if reward == most]
    known = all(row.ratios["reward"] is not None for row in best)
    bound = found.bounds.get(REWARDS[any(row.elastic for row in best)]) if known else None
    limit = "" if bound is None else f" of at most {bound.value:,.10g}"
    names = ", ".join(row.name for row in best)
    return str(SAID["answer_reward"]).format(names, f"{most:,.10g}", limit)


def least(rows: Iterable[Replayed], measure: str) -> Replayed | None:
    """Return the row that has least of a measure; None where no row has it."""
    known = [row for row in rows if row.measures[measure] is not None]
    return min(known, key=lambda row: row.measures[measure] or 0, default=None)


def failures(found: Replay) -> list[str]:
    """Return why policies failed, one line each."""
    return [
        f"{one.name} {'is refuted' if one.refuted else 'failed'}: {shortened(one.reason)}"
        for one in found.failed
    ]


def brief(found: Replay, *, drawn: str = "", rejected: int = 0) -> list[str]:
    """Say below what people ask first how the policies were compared, and where more stands."""
    if found.problem is not None:
        return legend(found, drawn=drawn, rejected=rejected)
    settings = str(conditions(found, drawn=drawn, rejected=rejected))
    said = [SAID["elastic"]] * any(row.elastic for row in found.rows)
    said += [settings, *loss_notes(found), *remarks(found, briefly=True)]
    return [*said, SAID["answer_more"]]


def legend(
    found: Replay, explain: bool = False, *, every: bool = True, drawn: str = "", rejected: int = 0
) -> list[str]:
    """Say what the words of the tables mean, where they matter; with `explain`, of all columns.

    The settings of the comparison are there too, as of :func:`conditions`.
    """
    shown = measured(found) if every or found.problem is not None else answers(found)
    words = footnotes(shown)
    if explain:
        words = explained(one for table in shown for one in table.columns)
    if found.problem is not None:
        settings = str(conditions(found, drawn=drawn, rejected=rejected))
        words += [SAID["not_compiled"]] * any(run.runtime is None for run in found.runs.values())
        return [*earning_words(found), *words, settings, *remarks(found)]
    if all(row.measures["min_user_rho"] is None for row in found.rows):
        words.append("least rho of users: one user, or none, shares with nobody")
    said = [_any_policy(found), *_best_known(found), *words]
    said += [SAID["tight"]] * any(
        ceil(1000 * bound.value) == 1000 for *_, bound in found.fairness[:1]
    )
    said += [SAID["users_alike"]] * bool(found.sharing.bounds)
    said.append(str(conditions(found, drawn=drawn, rejected=rejected)))
    if found.has_deadlines:
        said += _any_that_profiles(found)
        said += [SAID["elastic"]] * any(row.elastic for row in found.rows)
    said += [SAID["not_compiled"]] * any(run.runtime is None for run in found.runs.values())
    peaks = sorted(found.fairness[1:], key=lambda peak: peak[2].value)
    for what, _, bound in peaks[:1]:
        if explain or ceil(1000 * bound.value) < 1000:
            most = f"at most {shown_ratio(bound.value)}, {what}"
            said.append(f"How fair anyone could have been at a peak: {most}.")
    return [*said, *loss_notes(found), *remarks(found)]


def _best_known(found: Replay) -> list[str]:
    """Say whose schedules are the best ones."""
    best = found.best_known
    said = []
    if whose := dict.fromkeys(how for name, (_, how) in best.items() if name != "reward"):
        said.append(SAID["best_known"].format(", ".join(whose)))
    if "reward" in best:
        said.append(SAID["best_known_reward"].format(best["reward"][1]))
    return said


def offline(known: KnownSchedule) -> str:
    """Name a schedule as rows are named that look at jobs which have not come."""
    return f"{known.order} (offline)"


def earning_words(found: Replay) -> list[str]:
    """Say what bounds the revenue, whose the best schedule is, and under which terms all run."""
    bound = found.bounds.get("revenue")
    text = SAID["no_revenue_bound"]
    if bound is not None:
        text = SAID["revenue_bound"].format(bound.method, found.effort)
    said = [text]
    if known := found.known.get("revenue"):
        said.append(f"{offline(known)}: a schedule of all jobs, known in advance; no policy")
    given = ", ".join(f"{name} {value}" for name, value in found.terms.items())
    return [*said, f"Terms of all policies: {given}."]


def _any_that_profiles(found: Replay) -> list[str]:
    """Say for whom the bound after profiling holds, and how far they are from it."""
    if found.profiled is None:
        return []
    ratios = [(row.name, row.ratios.get("reward after profiling")) for row in found.rows]
    rows = ", ".join(f"{name} {ratio(value)}" for name, value in ratios if value is not None)
    return [f"any that profiles first: {found.profiled.profiling}; certified ratios to it: {rows}"]


def _any_policy(found: Replay) -> str:
    """Say what the last rows are, and by which methods."""
    bounds = [found.bounds.get(name) for name in ("flow", "slowdown", "makespan")]
    methods = ", ".join(dict.fromkeys(bound.method for bound in bounds if bound is not None))
    if not methods:
        return str(SAID["no_bounds"])
    keeps = " that keeps gangs" * found.has_deadlines
    return str(SAID["bounds"]).format(keeps, methods, found.effort)


#: what policies know of run times, by how they do
KNOWLEDGE: Mapping[str, str] = SAID["knowledge"]


def conditions(found: Replay, *, drawn: str = "", rejected: int = 0) -> Conditions:
    """Return under which settings the policies are compared.

    Parameters
    ----------
    found : Replay
    drawn : str
        Which seed drew what of the jobs, as the caller knows.
    rejected : int
        How many jobs were left out before.
    """
    cluster, known = found.instance.cluster, informed(found)
    nodes = f"{counted(len(cluster.nodes), 'node')}, {counted(cluster.gpus, 'GPU')}"
    seeds = [row.run.seed for row in found.rows if row.run.seed is not None and draws(row.run)]
    said = [drawn] * bool(drawn) + [f"{seed_range(seeds)} of policies"] * bool(seeds)
    certified = [what for name, what in CERTIFIED.items() if name in found.bounds]
    terms = ", ".join(f"{name} {value}" for name, value in found.terms.items())
    return Conditions(
        information=f"{known[:1].lower()}{known[1:-1]}" if known else "what the log's cluster had",
        seeds=", ".join(said) or seed_range([]),
        excluded=left_out([rejected + len(found.rejected)]),
        parameters=f"{nodes}, {terms or rules_in_words(found.rules)}",
        certificate=f"certified ratios in the tables, of {' and '.join(certified)}, and rows of "
        "what any policy could reach"
        if certified
        else "none, as no bound was verified",
    )


#: parameters that say how large the errors are that a policy draws
ERRORS = ("overestimate", "noise", "size")


def draws(run: Run) -> bool:
    """Say whether a policy with a seed draws anything: not where its errors have size 0.

    Examples
    --------
    >>> import gangsched as gs
    >>> one = gs.Instance(gs.Cluster.of_sizes([1]), [gs.Job(id="a", gpus=1, work=5)])
    >>> [draws(gs.drive(one, name)) for name in ("easy", "easy:profiled", "easy:estimates")]
    [False, False, True]
    """
    behind = run.parameters.get("policy")
    given = {**(behind if isinstance(behind, Mapping) else {}), **run.parameters}
    sizes = [given[name] for name in ERRORS if name in given]
    return any(sizes) or not sizes


#: measures that have a column of certified ratios, by the name of the bound
CERTIFIED = {"reward": "reward", "flow": "mean completion", "revenue": "revenue"}


def informed(found: Replay) -> str:
    """Say what each policy knows of run times; empty where there is only the log's schedule."""
    names: dict[str, list[str]] = {}
    for row in found.rows:
        if not row.recorded:
            names.setdefault(row.information, []).append(row.name)
    if len(names) == 1:
        return f"All policies: {KNOWLEDGE[next(iter(names))]}."
    said = [f"{what}: {', '.join(names[how])}" for how, what in KNOWLEDGE.items() if how in names]
    text = "; ".join(said)
    return text and f"{text[0].upper()}{text[1:]}."


# --- remarks --------------------------------------------------------------------------------------


def _restrictions(found: Replay) -> list[str]:
    """Say what policies obey and bounds take no notice of."""
    jobs = found.instance.jobs
    pods = sum(0 < job.pod < job.gpus for job in jobs)
    after = sum(bool(job.after) for job in jobs)
    what = [f"pods of {counted(pods, 'job')}"] * bool(pods)
    what += [f"predecessors of {counted(after, 'job')}, whose waits for them count"] * bool(after)
    return [SAID["restrictions"].format(" and ".join(what))] * bool(what)


def remarks(found: Replay, briefly: bool = False) -> tuple[str, ...]:
    """Say what to know about GPU models, about trades and about the log's own schedule."""
    fluid = found.problem is None and not found.fairness
    said = [SAID["models"]] if fluid and uneven(found.instance) else []
    said += _restrictions(found)
    told = [row.name for row in found.rows if row.would_plan and row.information == "known"]
    if told:
        jobs = found.instance.jobs
        without = sum(job.limit is None for job in jobs)
        some = f"{without:,} of {len(jobs):,} " if without < len(jobs) else ""
        said.append(SAID["no_limits"].format(", ".join(told), some))
    if found.unrecorded:
        said.append(f"No row {RECORDED!r}: {found.unrecorded}.")
    own = [row for row in found.rows if row.recorded]
    said += [_recorded(found, row, briefly) for row in own]
    return (*said, *trades_line(found.runs))


def _recorded(found: Replay, row: Replayed, briefly: bool) -> str:
    """Say what the row of the log's own schedule is."""
    as_read = [SAID["recorded_as_read"]] * (row.compared is not row.run)
    if briefly:
        return " ".join([SAID["recorded_briefly"], *as_read])
    book, plan = row.run.records, row.run.schedule
    paused = int((plan.end < book.end[plan.job]).sum())
    said = [SAID["recorded"]]
    said += [SAID["recorded_models"]] * (row.name not in found.by_model)
    said += [SAID["recorded_paused"].format(counted(paused, "job"))] * bool(paused)
    return " ".join([*said, *as_read])


def trades_line(runs: Mapping[str, Run]) -> tuple[str, ...]:
    """Say in a line how many trades each run made and undid; nothing where there were none."""
    said = []
    for name, run in runs.items():
        rates = [entry["rate"] for entry in run.log if "rate" in entry]
        undone = sum(rate < 0 for rate in rates)
        if rates:
            said.append(f"{name} made {len(rates) - undone:,}, undid {undone:,}")
    return (f"Trades of GPU models: {'; '.join(said)}.",) if said else ()
