"""What Wang et al. say about Figs. 4 to 13 and Table 2, judged by the rows of a study.

Statements on revenue and fairness are judged three times, for the three ways to count revenue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from statistics import fmean
from types import MappingProxyType

from ..study import Agreement, Statement, Study
from ..verdicts import OTHER_JOBS, SEEDS_DISAGREE, compared, judged, mean, values

__all__ = [
    "fig4", "fig5", "fig6", "fig7", "fig8", "fig11", "fig12", "fig13", "seconds", "table2",
]  # fmt: skip

ASTRAEA, BATCH, GANDIVA, HIVED = "Astraea", "BatchSche", "Gandiva-like", "HiveD-like"
FIFO, LIST = "FIFO, planned anew", "LP list"
PAPER = (ASTRAEA, BATCH, GANDIVA, HIVED)
OWN = (FIFO, LIST)

TRUE, CLIPPED, IDEAL = "true", "clipped", "ideal"
SCALE = "scale"
COUNTINGS: Mapping[str, str] = MappingProxyType(
    {TRUE: "true revenue", CLIPPED: "losses as zero", IDEAL: "ideal revenue"}
)
#: printed: times of Astraea's revenue over that of others, by jobs and by nodes
PRINTED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "jobs": {BATCH: 1.58, GANDIVA: 1.24, HIVED: 1.35},
        "servers": {BATCH: 1.63, GANDIVA: 1.22, HIVED: 1.46},
    }
)
FASTER: Mapping[str, float] = MappingProxyType({GANDIVA: 0.83, HIVED: 0.67})
LIMIT = 1.2  # of a quantity that is not sensitive
NOT_POSITIVE = "the revenue of a seed is not positive"


def whole(numbers: Sequence[float]) -> str:
    """Write a mean over seeds without digits after the point.

    Examples
    --------
    >>> whole([1000.0, 2001.0]), whole([])
    ('1,500', 'none')
    """
    return f"{fmean(numbers):,.0f}" if numbers else "none"


def varied(instance: str) -> str:
    """Return what an instance varies: "jobs", "nodes", "scale" or nothing.

    Examples
    --------
    >>> varied("linear, x = jobs"), varied("linear")
    ('jobs', '')
    """
    return instance.partition("x = ")[2]


def countings(study: Study) -> Iterator[tuple[str, str, str]]:
    """Yield each instance with each way to count revenue, and what that is called."""
    for name in study.instances:
        for counting, title in COUNTINGS.items():
            yield name, counting, title


def over_x(study: Study, instance: str, policy: str, measure: str) -> list[float]:
    """Return the sum over x for each seed; none where one is not defined."""
    xs = study.xs(instance) or (None,)
    column = [values(study, instance, policy, measure, x) for x in xs]
    return [sum(own) for own in zip(*column, strict=True)] if column and all(column) else []


def rises(text: str, instance: str, means: Mapping[int, float], write: str = ",.0f") -> Statement:
    """Judge "it grows with x" by means over seeds."""
    listed = ", ".join(f"{x}: {m:{write}}" for x, m in means.items())
    if len(means) < 2:
        return Statement(text, instance, Agreement.OPEN, listed or "none", "not all were run")
    return judged(text, instance, all(a < b for a, b in pairwise(means.values())), listed)


def means_of(study: Study, instance: str, policy: str, measure: str) -> dict[int, float]:
    """Return means over seeds by x, where they are defined."""
    found = {x: study.value(instance, policy, measure, x) for x in study.xs(instance)}
    return {x: value for x, value in found.items() if value is not None}


def ranked(
    text: str,
    instance: str,
    larger: tuple[str, Sequence[float]],
    smaller: tuple[str, Sequence[float]],
    write: Callable[[Sequence[float]], str],
    *,
    why: str = "",
    missing: str = "",
    own: bool = False,
) -> Statement:
    """Judge "the one is larger than the other" for every seed, and name whose numbers these are.

    Examples
    --------
    >>> str(ranked("a beats b", "", ("a", [1, 2]), ("b", [3, 4]), mean, why="a waits"))
    '**does not**, because a waits: a 1.50, b 3.50'
    """
    found = compared(text, instance, smaller[1], larger[1], write, why=why, own=own)
    measured = ", ".join(f"{name} {write(numbers)}" for name, numbers in (larger, smaller))
    known = smaller[1] and larger[1]
    return replace(found, measured=measured, why=found.why if known else missing or found.why)


def by_seed(text: str, instance: str, holds: Sequence[bool], measured: str, why: str) -> Statement:
    """Judge a statement that holds for a seed, or does not.

    Examples
    --------
    >>> by_seed("", "", [True, False], "1 of 2", "").verdict.value
    'not comparable'
    """
    if len(set(holds)) > 1:
        return Statement(text, instance, Agreement.OPEN, measured, SEEDS_DISAGREE)
    return judged(text, instance, all(holds), measured, why)


def why_waits(counting: str, other: str = "") -> str:
    """Say why Astraea earns less than who has no rounds."""
    if counting == IDEAL or other == BATCH:
        return ""
    return "jobs wait for the beginning of a round, each twice as far off as the one before"


# --- Figs. 4, 5, 6 -------------------------------------------------------------------------------


def fig4(study: Study) -> Iterator[Statement]:
    """Judge total revenue."""
    for name in study.instances:
        if varied(name) == SCALE:
            yield from _by_scale(study, name)
            continue
        for c, title in COUNTINGS.items():
            what = f"Revenue of Astraea grows with the number of {varied(name)}: {title}"
            yield rises(what, name, means_of(study, name, ASTRAEA, c))
            own = over_x(study, name, ASTRAEA, c)
            others = {p: over_x(study, name, p, c) for p in (BATCH, GANDIVA, HIVED)}
            for other, theirs in others.items():
                yield ranked(f"Astraea earns more than {other}: {title}", name, (ASTRAEA, own),
                             (other, theirs), whole, why=why_waits(c, other))  # fmt: skip
            rest = [min(o) for o in zip(own, others[GANDIVA], others[HIVED], strict=True)]
            yield ranked(f"BatchSche earns the least: {title}", name, ("least of the others", rest),
                         (BATCH, others[BATCH]), whole)  # fmt: skip
            for other, printed in PRINTED[varied(name)].items():
                theirs = over_x(study, name, other, c)
                if "linear" in name and own and theirs:
                    known = min(fmean(own), fmean(theirs)) > 0
                    yield Statement(
                        f"{printed} times {other} by {varied(name)}: {title}", name, Agreement.OPEN,
                        f"{fmean(own) / fmean(theirs):.2f} times" if known else "none",
                        OTHER_JOBS if known else "a revenue is not positive",
                    )  # fmt: skip
        true = ASTRAEA, over_x(study, name, ASTRAEA, TRUE)
        for other, text in ((LIST, "LP list earns"), (FIFO, "FIFO, planned anew, earns")):
            yield ranked(f"{text} more than Astraea: true revenue", name,
                         (other, over_x(study, name, other, TRUE)), true, whole,
                         own=True)  # fmt: skip
        yield _beyond(study, name)


def _by_scale(study: Study, name: str) -> Iterator[Statement]:
    """Judge what the unit of money does to the revenue."""
    xs = study.xs(name)
    yield assumed(study, name)
    for policy in (ASTRAEA, BATCH):
        runs = [values(study, name, policy, TRUE, x) for x in xs]
        rest = [min(at) for at in zip(*runs[1:], strict=True)]
        yield ranked(f"{policy} earns more at any larger scale than at 1: true revenue", name,
                     (f"least of {xs[1]} to {xs[-1]}", rest), ("at 1", runs[0]), whole,
                     own=True)  # fmt: skip
    best = [
        max(at) for at in zip(*(values(study, name, ASTRAEA, TRUE, x) for x in xs), strict=True)
    ]
    for other in (BATCH, GANDIVA, HIVED):
        theirs = [values(study, name, other, TRUE, x) for x in xs]
        highest = [max(at) for at in zip(*theirs, strict=True)]
        yield ranked(f"Astraea earns more than {other}, each at its best scale: true revenue", name,
                     (ASTRAEA, best), (other, highest), whole, why=why_waits(TRUE, other),
                     own=True)  # fmt: skip


def assumed(study: Study, name: str) -> Statement:
    """Judge the assumption of (8) where prices are to the letter."""
    found = means_of(study, name, ASTRAEA, "within")
    listed = ", ".join(f"{x}: {v:.0f} %" for x, v in found.items())
    return judged("At scale 1 all of Astraea's runs are worth 1 for each slot of a worker or PS",
                  name, found.get(1, 0.0) == 100, listed)  # fmt: skip


def _beyond(study: Study, name: str) -> Statement:
    """Ideal revenue that no schedule can earn."""
    shares = list(means_of(study, name, ASTRAEA, f"share {IDEAL}").values()) or [0.0]
    return judged(
        "Astraea's ideal revenue is more than any schedule can earn (mean, at some x)", name,
        max(shares) > 1, f"{min(shares):.2f} to {max(shares):.2f} of the bound", own=True,
    )  # fmt: skip


def fig5(study: Study) -> Iterator[Statement]:
    """Judge Astraea's performance ratio."""
    for law in dict.fromkeys(name.partition(",")[0] for name in study.instances):
        own = [name for name in study.instances if name.startswith(f"{law},")]
        for c, title in COUNTINGS.items():
            shares = {name: means_of(study, name, ASTRAEA, f"share {c}") for name in own}
            found = [v for by_x in shares.values() for v in by_x.values()]
            yield judged(f"The performance ratio is above 0.6: {title}", law, min(found) > 0.6,
                         f"{min(found):.2f} to {max(found):.2f}")  # fmt: skip
            at = [fmean(by_x.values()) for by_x in shares.values()]
            yield judged(f"It falls with the number of jobs (mean over servers): {title}", law,
                         all(a > b for a, b in pairwise(at)),
                         ", ".join(f"{v:.2f}" for v in at))  # fmt: skip
            xs = list(shares[own[0]])
            by_servers = {x: fmean(by_x[x] for by_x in shares.values()) for x in xs}
            yield rises(f"It grows with the number of servers (mean over jobs): {title}", law,
                        by_servers, ".2f")  # fmt: skip
            first, last = shares[own[0]], shares[own[-1]]
            gap = max((last[x] - first[x] for x in xs), key=abs)
            yield judged(f"From the fewest to the most jobs it changes by at most 0.22: {title}",
                         law, abs(gap) <= 0.22, f"most: {gap:+.2f}")  # fmt: skip


def fig6(study: Study) -> Iterator[Statement]:
    """Judge performance ratios of all."""
    for name, c, title in countings(study):
        xs = study.xs(name)
        shares = {p: [values(study, name, p, f"share {c}", x) for x in xs] for p in PAPER}
        for policy, text, sign, why in (
            (ASTRAEA, "Astraea has the highest", 1, why_waits(c)),
            (BATCH, "BatchSche has the lowest", -1, ""),
        ):
            others = [shares[p] for p in PAPER if p != policy]
            runs = [zip(*at, strict=True) for at in zip(shares[policy], *others, strict=True)]
            wins = [[sign * own > max(sign * v for v in rest) for own, *rest in at] for at in runs]
            yield by_seed(
                f"{text} performance ratio in any setting: {title}", name,
                [all(seed) for seed in zip(*wins, strict=True)],
                f"in {sum(map(sum, wins))} of {sum(map(len, wins))} runs", why,
            )  # fmt: skip
        if varied(name) == "jobs":
            yield _gentle(f"It falls less with the jobs (first to last) than others': {title}",
                          name, shares)  # fmt: skip


def _gentle(text: str, name: str, shares: Mapping[str, Sequence[Sequence[float]]]) -> Statement:
    """Whether Astraea's ratio falls less from the first x to the last than the others', by seed."""
    changes = {p: [b - a for a, b in zip(at[0], at[-1], strict=True)] for p, at in shares.items()}
    listed = ", ".join(f"{p} {fmean(own):+.2f}" for p, own in changes.items())
    if all(fmean(own) >= 0 for own in changes.values()):
        return Statement(text, name, Agreement.OPEN, listed, "none falls, on the mean")
    holds = [own > max(rest) for own, *rest in zip(*(changes[p] for p in PAPER), strict=True)]
    return by_seed(text, name, holds, listed, "")


# --- Figs. 7, 8, Table 2 -------------------------------------------------------------------------


def fig7(study: Study) -> Iterator[Statement]:
    """Judge revenue fairness by user."""
    for name, c, title in countings(study):
        for policy, text, wide in (
            (BATCH, "BatchSche: every user's ratio is 1 (here: 0.95 to 1.05)", 0.05),
            (ASTRAEA, "Astraea: ratios fluctuate around 1 (here: 0.5 to 1.5)", 0.5),
        ):
            by_x = [values(study, name, policy, f"alpha {c}", x) for x in study.xs(name)]
            found = list(chain.from_iterable(by_x))
            if found:
                holds = all(abs(v - 1) <= wide for v in found)
                span = f"{min(found):.2f} to {max(found):.2f}"
                yield judged(f"{text}: {title}", name, holds, span)
            else:
                yield Statement(f"{text}: {title}", name, Agreement.OPEN, "none", NOT_POSITIVE)
        own = values(study, name, ASTRAEA, f"fair {c}")
        for other in (GANDIVA, HIVED):
            theirs = values(study, name, other, f"fair {c}")
            yield ranked(f"Astraea has more users with a ratio of at least 1 than {other}: {title}",
                         name, (ASTRAEA, own), (other, theirs), mean,
                         missing=NOT_POSITIVE)  # fmt: skip


def fig8(study: Study) -> Iterator[Statement]:
    """Judge the variance of users' ratios."""
    for name, c, title in countings(study):
        for small, large in ((ASTRAEA, GANDIVA), (ASTRAEA, HIVED), (BATCH, ASTRAEA)):
            less, more = (values(study, name, p, f"variance {c}") for p in (small, large))
            yield ranked(f"{small} has a smaller variance than {large}: {title}", name,
                         (large, more), (small, less), mean, missing=NOT_POSITIVE)  # fmt: skip


def table2(study: Study) -> Iterator[Statement]:
    """Judge the sensitivity to the number of users."""
    yield from (assumed(study, name) for name in study.instances if varied(name) == SCALE)
    for name, c, title in countings(study):
        if varied(name) == SCALE:
            continue
        for measure, what, printed in (
            (f"a job {c}", "Revenue a job", 1.069),
            (f"variance {c}", "Variance of fairness", 1.131),
        ):
            found = means_of(study, name, ASTRAEA, measure)
            text = f"{what} is not sensitive to the number of users (printed: most over least "
            text += f"{printed}; here: at most {LIMIT}): {title}"
            listed = ", ".join(f"{x}: {v:.3g}" for x, v in found.items())
            if len(found) < len(study.xs(name)) or min(found.values()) <= 0:
                yield Statement(text, name, Agreement.OPEN, listed or "none", NOT_POSITIVE)
            else:
                most = max(found.values()) / min(found.values())
                yield judged(text, name, most <= LIMIT, f"{most:.2f} ({listed})")


# --- Figs. 9 to 13 -------------------------------------------------------------------------------


def seconds(study: Study) -> Iterator[Statement]:
    """Judge running times."""
    for name in study.instances:
        what = varied(name)
        found = means_of(study, name, ASTRAEA, "seconds")
        yield rises(f"The running time grows with the number of {what} (s)", name, found, ".3g")
        each = means_of(study, name, ASTRAEA, "a job ms")
        if each:
            listed = ", ".join(f"{x}: {v:.3g}" for x, v in each.items())
            yield Statement("A job takes about 1.56 s (on an i5-8250U)", name, Agreement.OPEN,
                            f"{listed} ms", "of another machine and another program")  # fmt: skip
            most = max(each.values()) / min(each.values())
            yield judged("... under different settings (here: most over least at most 2)", name,
                         most <= 2, f"{most:.2f} times")  # fmt: skip
            yield judged("A job takes less than 1.56 s", name, max(each.values()) < 1560,
                         f"{listed} ms", own=True)  # fmt: skip


def fig11(study: Study) -> Iterator[Statement]:
    """Judge wrong estimates of the highest prices."""
    for name, c, title in countings(study):
        found = means_of(study, name, ASTRAEA, c)
        listed = ", ".join(f"{x} %: {v:,.0f}" for x, v in found.items())
        for x in (120, 140, 100):
            under, other = (values(study, name, ASTRAEA, c, y) for y in (80, x))
            yield ranked(f"80 % earns more than {x} %: {title}", name, ("80 %:", under),
                         (f"{x} %:", other), whole, own=x == 100)  # fmt: skip
        spread = max(found.values()) - min(found.values()) if found else 0.0
        largest = max((abs(v) for v in found.values()), default=0.0)
        yield judged(f"The estimate changes revenue by less than 5 %: {title}", name,
                     spread < 0.05 * largest, listed, own=True)  # fmt: skip


def fig12(study: Study) -> Iterator[Statement]:
    """Judge admission control."""
    for name in study.instances:
        get = {m: study.value(name, ASTRAEA, m) or 0.0 for m in ("accepted", "below", "true below")}
        measured = {m: f"not for {get[m]:.0f} of {get['accepted']:.0f} jobs" for m in get}
        for counting, m in ((IDEAL, "below"), (TRUE, "true below")):
            text = f"The {counting} revenue of each accepted job is larger than its cost"
            yield judged(text, name, not get[m], measured[m], own=counting == TRUE)


def fig13(study: Study) -> Iterator[Statement]:
    """Judge use over time and makespans."""
    for name in study.instances:
        if varied(name) == SCALE:
            yield assumed(study, name)
            for policy in (ASTRAEA, BATCH):
                spans = [values(study, name, policy, "makespan", x) for x in study.xs(name)]
                rest = [max(at) for at in zip(*spans[1:], strict=True)]
                yield ranked(f"{policy} is done sooner at any larger scale than at 1", name,
                             ("at 1", spans[0]), ("longest of the others", rest), whole,
                             own=True)  # fmt: skip
            continue
        for policy in (ASTRAEA, GANDIVA, BATCH, HIVED):
            all_in_use = policy in (ASTRAEA, GANDIVA)
            says = "reaches 100 % (here: 99 %)", "rarely reaches 100 % (here: never 99 %)"
            text = f"{policy} {says[0] if all_in_use else says[1]}"
            top = values(study, name, policy, "most use")
            yield _seeds_agree(text, name, [(v >= 99) == all_in_use for v in top], top)
        yield _off_peak(study, name)
        own = values(study, name, ASTRAEA, "makespan")
        waits = "rounds begin twice as far off each time, and hold what did not fit before"
        for other in (GANDIVA, HIVED, BATCH):
            theirs = values(study, name, other, "makespan")
            yield ranked(f"Astraea has a smaller makespan than {other}", name, (other, theirs),
                         (ASTRAEA, own), whole, why=waits)  # fmt: skip
            if other in FASTER and own and theirs:
                yield Statement(
                    f"{FASTER[other]} times the makespan of {other}", name, Agreement.OPEN,
                    f"{fmean(own) / fmean(theirs):.2f} times", OTHER_JOBS,
                )  # fmt: skip


def _off_peak(study: Study, name: str) -> Statement:
    """Who is the first to stay below half of the highest mean use."""
    curves = {row.policy: row.curve for row in study.rows if row.instance == name}
    last = {
        p: max(x for x, v in zip(study.levels, curves[p], strict=True) if 2 * v >= max(curves[p]))
        for p in (ASTRAEA, GANDIVA)
    }
    return judged(
        "Astraea gets off-peak faster than Gandiva-like (here: below half of the highest mean use)",
        name, last[ASTRAEA] < last[GANDIVA],
        ", ".join(f"{p} after slot {x:.0f}" for p, x in last.items()),
    )  # fmt: skip


def _seeds_agree(text: str, name: str, holds: Sequence[bool], found: Sequence[float]) -> Statement:
    if not holds:
        return Statement(text, name, Agreement.OPEN, "none", "not all were run")
    return by_seed(text, name, holds, mean(found, " %"), "")
