"""What Wang et al. say about Figs. 4 to 13 and Table 2, judged by the rows of a study.

Statements on revenue and fairness are judged three times, for the three ways to count revenue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from ..study import Statement, Study
from ..verdicts import SEEDS_DISAGREE, Place, Write, each, mean

ASTRAEA, BATCH, GANDIVA, HIVED = "Astraea", "BatchSche", "Gandiva-like", "HiveD-like"
FIFO, LIST = "FIFO, planned anew", "LP list"
PAPER = (ASTRAEA, BATCH, GANDIVA, HIVED)
OWN = (FIFO, LIST)

TRUE, CLIPPED, IDEAL = "true", "clipped", "ideal"
SCALE = "scale"
COUNTINGS: Mapping[str, str] = {
    TRUE: "true revenue", CLIPPED: "losses as zero", IDEAL: "ideal revenue",
}  # fmt: skip
#: printed: times of Astraea's revenue over that of others, by jobs and by nodes
PRINTED: Mapping[str, Mapping[str, float]] = {
    "jobs": {BATCH: 1.58, GANDIVA: 1.24, HIVED: 1.35},
    "servers": {BATCH: 1.63, GANDIVA: 1.22, HIVED: 1.46},
}
FASTER: Mapping[str, float] = {GANDIVA: 0.83, HIVED: 0.67}
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


def over_x(here: Place, policy: str, measure: str) -> list[float]:
    """Return the sum over x for each seed; none where one is not defined."""
    column = [here.by_seed(policy, measure, x) for x in here.xs or (None,)]
    return [sum(own) for own in zip(*column, strict=True)] if column and all(column) else []


def rises(
    here: Place, text: str, means: Mapping[int, float], write: str = ",.0f", **of: Any
) -> Statement:
    """Judge "it grows with x" by means over seeds."""
    listed = ", ".join(f"{x}: {m:{write}}" for x, m in means.items())
    if len(means) < 2:
        return here.told(text, listed or "none", "not all were run", **of)
    return here.say(text, all(a < b for a, b in pairwise(means.values())), listed, **of)


Named = tuple[str, Sequence[float]]


def ranked(
    here: Place, text: str, larger: Named, smaller: Named, write: Write, *, missing: str = "",
    **more: Any,
) -> Statement:  # fmt: skip
    """Judge "the one is larger than the other" for every seed, and name whose numbers these are."""
    found = here.compared(text, smaller[1], larger[1], write, **more)
    measured = ", ".join(f"{name} {write(numbers)}" for name, numbers in (larger, smaller))
    known = smaller[1] and larger[1]
    return replace(found, measured=measured, why=found.why if known else missing or found.why)


def by_seed(here: Place, text: str, holds: Sequence[bool], measured: str, why: str) -> Statement:
    """Judge a statement that holds for a seed, or does not."""
    if len(set(holds)) > 1:
        return here.told(text, measured, SEEDS_DISAGREE)
    return here.say(text, all(holds), measured, why)


def why_waits(counting: str, other: str = "") -> str:
    """Say why Astraea earns less than who has no rounds."""
    if counting == IDEAL or other == BATCH:
        return ""
    return "jobs wait for the beginning of a round, each twice as far off as the one before"


# --- Figs. 4, 5, 6 -------------------------------------------------------------------------------


@each()
def fig4(here: Place) -> Iterator[Statement]:
    """Judge total revenue."""
    if varied(here.name) == SCALE:
        yield from _by_scale(here)
        return
    what = varied(here.name)
    for c, title in COUNTINGS.items():
        text = f"Revenue of Astraea grows with the number of {what}: {title}"
        yield rises(here, text, here.along(ASTRAEA, c))
        own = over_x(here, ASTRAEA, c)
        others = {p: over_x(here, p, c) for p in (BATCH, GANDIVA, HIVED)}
        for other, theirs in others.items():
            text, why = f"Astraea earns more than {other}: {title}", why_waits(c, other)
            yield ranked(here, text, (ASTRAEA, own), (other, theirs), whole, why=why)
        rest = [min(o) for o in zip(own, others[GANDIVA], others[HIVED], strict=True)]
        least, worst = ("least of the others", rest), (BATCH, others[BATCH])
        yield ranked(here, f"BatchSche earns the least: {title}", least, worst, whole)
        for other, printed in PRINTED[what].items():
            theirs = over_x(here, other, c)
            if "linear" in here.name and own and theirs:
                text = f"{printed} times {other} by {what}: {title}"
                if min(fmean(own), fmean(theirs)) > 0:
                    yield here.told(text, f"{fmean(own) / fmean(theirs):.2f} times")
                else:
                    yield here.told(text, "none", "a revenue is not positive")
    true = ASTRAEA, over_x(here, ASTRAEA, TRUE)
    for other in (LIST, FIFO):
        yield ranked(here, other, (other, over_x(here, other, TRUE)), true, whole)
    shares = list(here.along(ASTRAEA, f"share {IDEAL}").values()) or [0.0]
    measured = f"{min(shares):.2f} to {max(shares):.2f} of the bound"
    yield here.say("ideal", max(shares) > 1, measured)


def _by_scale(here: Place) -> Iterator[Statement]:
    """Judge what the unit of money does to the revenue."""
    xs = here.xs
    runs = {p: [here.by_seed(p, TRUE, x) for x in xs] for p in PAPER}
    yield assumed(here)
    for policy in (ASTRAEA, BATCH):
        rest = [min(at) for at in zip(*runs[policy][1:], strict=True)]
        larger, smaller = (f"least of {xs[1]} to {xs[-1]}", rest), ("at 1", runs[policy][0])
        yield ranked(here, "larger scale", larger, smaller, whole, policy=policy)
    best = {p: [max(at) for at in zip(*own, strict=True)] for p, own in runs.items()}
    for other in (BATCH, GANDIVA, HIVED):
        own, theirs, why = best[ASTRAEA], best[other], why_waits(TRUE, other)
        both = (ASTRAEA, own), (other, theirs)
        yield ranked(here, "best scale", *both, whole, why=why, other=other)


def assumed(here: Place) -> Statement:
    """Judge the assumption of (8) where prices are to the letter."""
    found = here.along(ASTRAEA, "within")
    listed = ", ".join(f"{x}: {v:.0f} %" for x, v in found.items())
    text = "At scale 1 all of Astraea's runs are worth 1 for each slot of a worker or PS"
    return here.say(text, found.get(1, 0.0) == 100, listed)


def fig5(study: Study) -> Iterator[Statement]:
    """Judge Astraea's performance ratio."""
    for law in dict.fromkeys(name.partition(",")[0] for name in study.instances):
        here = Place(study, law)
        own = [Place(study, name) for name in study.instances if name.startswith(f"{law},")]
        for c, title in COUNTINGS.items():
            shares = [place.along(ASTRAEA, f"share {c}") for place in own]
            found = [v for by_x in shares for v in by_x.values()]
            span = f"{min(found):.2f} to {max(found):.2f}"
            yield here.say("above 0.6", min(found) > 0.6, span, title=title)
            at = [fmean(by_x.values()) for by_x in shares]
            falls, listed = all(a > b for a, b in pairwise(at)), ", ".join(f"{v:.2f}" for v in at)
            yield here.say("falls", falls, listed, title=title)
            first, last = shares[0], shares[-1]
            by_servers = {x: fmean(by_x[x] for by_x in shares) for x in first}
            yield rises(here, "grows", by_servers, ".2f", title=title)
            gap = max((last[x] - first[x] for x in first), key=abs)
            yield here.say("changes", abs(gap) <= 0.22, f"most: {gap:+.2f}", title=title)


@each()
def fig6(here: Place) -> Iterator[Statement]:
    """Judge performance ratios of all."""
    for c, title in COUNTINGS.items():
        shares = {p: [here.by_seed(p, f"share {c}", x) for x in here.xs] for p in PAPER}
        for policy, text, sign, why in (
            (ASTRAEA, "Astraea has the highest", 1, why_waits(c)),
            (BATCH, "BatchSche has the lowest", -1, ""),
        ):
            others = [shares[p] for p in PAPER if p != policy]
            runs = [zip(*at, strict=True) for at in zip(shares[policy], *others, strict=True)]
            wins = [[sign * own > max(sign * v for v in rest) for own, *rest in at] for at in runs]
            text = f"{text} performance ratio in any setting: {title}"
            measured = f"in {sum(map(sum, wins))} of {sum(map(len, wins))} runs"
            yield by_seed(here, text, [*map(all, zip(*wins, strict=True))], measured, why)
        if varied(here.name) == "jobs":
            text = f"It falls less with the jobs (first to last) than others': {title}"
            yield _gentle(here, text, shares)


def _gentle(here: Place, text: str, shares: Mapping[str, Sequence[Sequence[float]]]) -> Statement:
    """Whether Astraea's ratio falls less from the first x to the last than the others', by seed."""
    changes = {p: [b - a for a, b in zip(at[0], at[-1], strict=True)] for p, at in shares.items()}
    listed = ", ".join(f"{p} {fmean(own):+.2f}" for p, own in changes.items())
    if all(fmean(own) >= 0 for own in changes.values()):
        return here.told(text, listed, "none falls, on the mean")
    holds = [own > max(rest) for own, *rest in zip(*(changes[p] for p in PAPER), strict=True)]
    return by_seed(here, text, holds, listed, "")


# --- Figs. 7, 8, Table 2 -------------------------------------------------------------------------


@each()
def fig7(here: Place) -> Iterator[Statement]:
    """Judge revenue fairness by user."""
    for c, title in COUNTINGS.items():
        for policy, text, wide in (
            (BATCH, "BatchSche: every user's ratio is 1 (here: 0.95 to 1.05)", 0.05),
            (ASTRAEA, "Astraea: ratios fluctuate around 1 (here: 0.5 to 1.5)", 0.5),
        ):
            found = [v for x in here.xs for v in here.by_seed(policy, f"alpha {c}", x)]
            if found:
                holds = all(abs(v - 1) <= wide for v in found)
                yield here.say(f"{text}: {title}", holds, f"{min(found):.2f} to {max(found):.2f}")
            else:
                yield here.told(f"{text}: {title}", "none", NOT_POSITIVE)
        for other in (GANDIVA, HIVED):
            own, theirs = here.of(f"fair {c}", ASTRAEA, other)
            text = f"Astraea has more users with a ratio of at least 1 than {other}: {title}"
            yield ranked(here, text, (ASTRAEA, own), (other, theirs), mean, missing=NOT_POSITIVE)


@each()
def fig8(here: Place) -> Iterator[Statement]:
    """Judge the variance of users' ratios."""
    for c, title in COUNTINGS.items():
        for small, large in ((ASTRAEA, GANDIVA), (ASTRAEA, HIVED), (BATCH, ASTRAEA)):
            less, more = here.of(f"variance {c}", small, large)
            text = f"{small} has a smaller variance than {large}: {title}"
            yield ranked(here, text, (large, more), (small, less), mean, missing=NOT_POSITIVE)


def table2(study: Study) -> Iterator[Statement]:
    """Judge the sensitivity to the number of users."""
    places = [Place(study, name) for name in study.instances]
    yield from (assumed(here) for here in places if varied(here.name) == SCALE)
    for here in places:
        if varied(here.name) != SCALE:
            yield from _by_users(here)


def _by_users(here: Place) -> Iterator[Statement]:
    for c, title in COUNTINGS.items():
        for measure, what, printed in (
            (f"a job {c}", "Revenue a job", 1.069),
            (f"variance {c}", "Variance of fairness", 1.131),
        ):
            found = here.along(ASTRAEA, measure)
            text: Any = {"what": what, "printed": printed, "limit": LIMIT, "title": title}
            listed = ", ".join(f"{x}: {v:.3g}" for x, v in found.items())
            if len(found) < len(here.xs) or min(found.values()) <= 0:
                yield here.told("insensitive", listed or "none", NOT_POSITIVE, **text)
            else:
                most = max(found.values()) / min(found.values())
                yield here.say("insensitive", most <= LIMIT, f"{most:.2f} ({listed})", **text)


# --- Figs. 9 to 13 -------------------------------------------------------------------------------


@each()
def seconds(here: Place) -> Iterator[Statement]:
    """Judge running times."""
    text = f"The running time grows with the number of {varied(here.name)} (s)"
    yield rises(here, text, here.along(ASTRAEA, "seconds"), ".3g")
    each_job = here.along(ASTRAEA, "a job ms")
    if each_job:
        listed = ", ".join(f"{x}: {v:.3g}" for x, v in each_job.items()) + " ms"
        why = "of another machine and another program"
        yield here.told("A job takes about 1.56 s (on an i5-8250U)", listed, why)
        most = max(each_job.values()) / min(each_job.values())
        text = "... under different settings (here: most over least at most 2)"
        yield here.say(text, most <= 2, f"{most:.2f} times")
        slowest = max(each_job.values())
        yield here.say("A job takes less than 1.56 s", slowest < 1560, listed, own=True)


@each()
def fig11(here: Place) -> Iterator[Statement]:
    """Judge wrong estimates of the highest prices."""
    for c, title in COUNTINGS.items():
        found = here.along(ASTRAEA, c)
        for x in (120, 140, 100):
            under, other = (here.by_seed(ASTRAEA, c, y) for y in (80, x))
            both, text = (("80 %:", under), (f"{x} %:", other)), f"80 % earns more than {x} %"
            yield ranked(here, f"{text}: {title}", *both, whole, own=x == 100)
        spread = max(found.values()) - min(found.values()) if found else 0.0
        largest = max((abs(v) for v in found.values()), default=0.0)
        listed = ", ".join(f"{x} %: {v:,.0f}" for x, v in found.items())
        yield here.say("estimate", spread < 0.05 * largest, listed, title=title)


@each()
def fig12(here: Place) -> Iterator[Statement]:
    """Judge admission control."""
    jobs = here.value(ASTRAEA, "accepted") or 0.0
    for counting, measure in ((IDEAL, "below"), (TRUE, "true below")):
        below = here.value(ASTRAEA, measure) or 0.0
        text = f"The {counting} revenue of each accepted job is larger than its cost"
        measured = f"not for {below:.0f} of {jobs:.0f} jobs"
        yield here.say(text, not below, measured, own=counting == TRUE)


@each()
def fig13(here: Place) -> Iterator[Statement]:
    """Judge use over time and makespans."""
    if varied(here.name) == SCALE:
        yield assumed(here)
        for policy in (ASTRAEA, BATCH):
            spans = [here.by_seed(policy, "makespan", x) for x in here.xs]
            rest = [max(at) for at in zip(*spans[1:], strict=True)]
            larger, smaller = ("at 1", spans[0]), ("longest of the others", rest)
            yield ranked(here, "sooner", larger, smaller, whole, policy=policy)
        return
    for policy in (ASTRAEA, GANDIVA, BATCH, HIVED):
        all_in_use = policy in (ASTRAEA, GANDIVA)
        says = "reaches 100 % (here: 99 %)", "rarely reaches 100 % (here: never 99 %)"
        text = f"{policy} {says[0] if all_in_use else says[1]}"
        top = here.by_seed(policy, "most use")
        holds = [(v >= 99) == all_in_use for v in top]
        if holds:
            yield by_seed(here, text, holds, mean(top, " %"), "")
        else:
            yield here.told(text, "none", "not all were run")
    yield _off_peak(here)
    for other in (GANDIVA, HIVED, BATCH):
        own, theirs = here.of("makespan", ASTRAEA, other)
        yield ranked(here, "makespan", (other, theirs), (ASTRAEA, own), whole, other=other)
        if other in FASTER and own and theirs:
            text = f"{FASTER[other]} times the makespan of {other}"
            yield here.told(text, f"{fmean(own) / fmean(theirs):.2f} times")


def _off_peak(here: Place) -> Statement:
    """Who is the first to stay below half of the highest mean use."""
    curves = {row.policy: row.curve for row in here.study.rows if row.instance == here.name}
    levels = here.study.levels
    last = {
        p: max(x for x, v in zip(levels, curves[p], strict=True) if 2 * v >= max(curves[p]))
        for p in (ASTRAEA, GANDIVA)
    }
    listed = ", ".join(f"{p} after slot {x:.0f}" for p, x in last.items())
    return here.say("off-peak", last[ASTRAEA] < last[GANDIVA], listed)
