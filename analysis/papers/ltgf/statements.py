"""What Ye et al. say about Figs. 6 and 9 to 14, judged by the rows of a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise

from ..study import Agreement, Statement
from ..verdicts import OTHER_JOBS, Place, each, over_seeds, turns

BASELINES = ("YARN-CS", "HiveD", "AlloX", "Tiresias-L", "Themis", "Gandiva-fair")
ASTRAEA = ("LTGF (16)", "LTGF (8)")  # as the paper ran it, and as it defines it
OWN_LEASES = "LTGF (8), own leases"
LEASED = "Tiresias-L, leases"
QUOTAS = ("YARN-CS", "HiveD")
EMPTY = ("no contention, 10 s", "no contention, 60 s")
WINDOWS = (("days_below", "(8)"), ("days_below_quota", "(16)"))
#: printed shares of users' windows below 1, Section 6.3
PRINTED_WINDOWS = {
    "ASTRAEA": 5.2, "AlloX": 6.9, "Gandiva-fair": 8.0, "Tiresias-L": 49.0, "YARN-CS": 44.6,
}  # fmt: skip


def percent(value: float | None) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.0712), percent(None)
    ('7.1 %', 'none')
    """
    return "none" if value is None else f"{100 * value:.1f} %"


def seconds(value: float | None) -> str:
    """Write a time.

    Examples
    --------
    >>> seconds(15090.4)
    '15,090 s'
    """
    return "none" if value is None else f"{value:,.0f} s"


def times(value: float | None) -> str:
    """Write a factor.

    Examples
    --------
    >>> times(2.84)
    '2.84'
    """
    return "none" if value is None else f"{value:.2f}"


#: how measures are written
WRITTEN = {
    "loss": percent, "loss_release": percent, "days_below": percent, "days_below_quota": percent,
    "mean_slowdown": times, "mean_completion": seconds,
}  # fmt: skip


# --- Fig. 6 --------------------------------------------------------------------------------------

FLUID, ALTERNATING, LONG_TERM = "(a) fluid", "(b) finish-time", "(c) LTGF"


@each()
def fig6(here: Place) -> Iterator[Statement]:
    """Judge the three schedules of Fig. 6."""
    found = {(row.policy, row.x): row for row in here.study.rows}
    say = here.say

    def column(policy: str, name: str) -> list[float]:
        return [float(found[policy, j].values[name] or 0.0) for j in (1, 2, 3)]

    def held(policy: str, begin: int, rounds: int) -> list[float]:
        """Mean GPUs of each job in some rounds."""
        curves = (found[policy, j].curve[begin : begin + rounds] for j in (1, 2, 3))
        return [sum(curve) / rounds for curve in curves]

    even = all(held(FLUID, k, 1) == [2.0, 2.0, 2.0] for k in range(6))
    yield say("equally", even, _listed(held(FLUID, 0, 6), "GPUs"))
    halves = [held(ALTERNATING, k, 2) for k in range(6)]
    in_turn = all(part == [3.0, 1.5, 1.5] for part in halves)
    yield say("in turn", in_turn, _listed(halves[0], "GPUs"))
    rho = column(ALTERNATING, "rho")
    yield say("incentive", rho[0] >= 1 > max(rho[1:]), "rho " + _listed(rho))
    b, c = (
        sorted(column(p, "finish-time fairness"), reverse=True) for p in (ALTERNATING, LONG_TERM)
    )
    measured = f"falling, (b) {_listed(b)}, (c) {_listed(c)}"
    yield say("finish-time fairness", b[0] < c[0] or b <= c, measured)
    parts = [held(LONG_TERM, k, 3) for k in range(4)]
    even = all(part == [2.0, 2.0, 2.0] for part in parts)
    yield say("half hours", even, _listed(parts[0], "GPUs"))
    rho = column(LONG_TERM, "rho")
    exact = all(abs(r - 1) < 1e-9 for r in rho)
    yield say("(c): every job has rho of 1", exact, "rho " + _listed(rho))
    fluid, alternating, ends = (column(p, "end") for p in (FLUID, ALTERNATING, LONG_TERM))
    means = f"mean {sum(ends) / 3:.1f} and {sum(alternating) / 3:.1f} min"
    measured = f"(a) {_listed(fluid, 'min')}, (c) {_listed(ends, 'min')}; {means}"
    yield say("ends", fluid == ends and sum(ends) / 3 < sum(alternating) / 3, measured)


def _listed(values: Sequence[float], unit: str = "") -> str:
    return ", ".join(f"{value:.4g}" for value in values) + (f" {unit}" if unit else "")


# --- Fig. 9 --------------------------------------------------------------------------------------


@over_seeds
@each()
def fig9(here: Place) -> Iterator[Statement]:
    """Judge what lease terms do."""
    for policy in here.study.policies:
        yield from _lease_terms(here, policy)


def _lease_terms(here: Place, policy: str) -> Iterator[Statement]:
    xs, say = here.xs, partial(here.say, policy=policy)
    jct, paid, loss = (
        [float(here.value(policy, name, x) or 0.0) for x in xs]
        for name in ("mean_completion", "overhead", "loss")
    )
    listed = ", ".join(f"{x}: {value:,.0f}" for x, value in zip(xs, jct, strict=True))
    yield say("turns", turns(jct, 0.005) == "-+", f"{listed} s")
    least = xs[jct.index(min(jct))]
    yield say("least", least == 1200, f"least with {least} s")
    if 900 in xs:
        ratio, share = jct[xs.index(900)] / min(jct), paid[xs.index(900)]
        yield say("similar", ratio <= 1.01, f"{100 * (ratio - 1):.1f} % above it")
        yield say("overhead", 0.004 <= share <= 0.016, f"{100 * share:.2f} %")
    costs = ", ".join(f"{100 * value:.2f}" for value in paid)
    yield say("less overhead", rising(paid) <= 0.1, f"{costs} % of the mean JCT")
    yield say("less fair", rising(loss) >= 0.9, ", ".join(map(percent, loss)))


def rising(values: Sequence[float]) -> float:
    """Return the share of pairs in which the later is the larger.

    Examples
    --------
    >>> rising([1, 3, 2, 4]), rising([2, 2])
    (0.8333333333333334, 0.0)
    """
    pairs = list(combinations(values, 2))
    return sum(b > a for a, b in pairs) / len(pairs) if pairs else 0.0


# --- Figs. 10 to 13 ------------------------------------------------------------------------------


@over_seeds
@each()
def fig10(here: Place) -> Iterator[Statement]:
    """Judge the jobs' fairness, and show what the number rho < 0.95 is made of."""
    for measure, since in (("loss", "first round"), ("loss_release", "submission")):
        for own in ASTRAEA:
            text = f"{own}: fewest jobs with rho < 0.95, counted from {since}"
            yield _least(here, own, measure, text)
    for own in ASTRAEA:
        yield _in_order(here, own)
    shares = [here.value(p, "loss") for p in (ASTRAEA[0], "Themis", "YARN-CS")]
    why = f"{OTHER_JOBS} and the paper does not say from when rho is counted"
    yield here.told("shares", ", ".join(map(percent, shares)), why)
    yield from _metric_trap(here)


def _metric_trap(here: Place) -> Iterator[Statement]:
    """Jobs that never wait for GPUs have no loss, unless the wait for a round counts."""
    names = ("loss", "loss_release", "late", "expected")
    for empty, length in zip(EMPTY, (10, 60), strict=True):
        loss, lost, late, expected = (here.value(empty, name) for name in names)
        if loss is not None and lost is not None:
            measured = f"{percent(lost)}, and run time / JCT < 0.95 for {percent(late)} "
            measured += f"(submissions spread evenly: {percent(expected)}); from the first round "
            measured += percent(loss)
            yield here.say("trap", lost > 0.071 and loss == 0, measured, length=length)


@over_seeds
@each()
def fig11(here: Place) -> Iterator[Statement]:
    """Judge the users' fairness by windows."""
    for own in ASTRAEA:
        share = here.value(own, "served")
        text = f"{own}: most users have rho of 1 or more (on their median day)"
        yield (
            _missing(here, text, [own]) if share is None
            else here.say(text, share > 0.5, f"{percent(share)} of the users")
        )  # fmt: skip
        for measure, by in WINDOWS:
            yield _least(here, own, measure, f"{own}: fewest of the users' days below 1, by {by}")
    yield _best_and_worst(here)
    printed = ", ".join(f"{name} {value} %" for name, value in PRINTED_WINDOWS.items())
    for measure, by in WINDOWS:
        names = (ASTRAEA[0], *list(PRINTED_WINDOWS)[1:])
        measured = ", ".join(percent(here.value(name, measure)) for name in names)
        why = f"{OTHER_JOBS}, and the paper names neither the windows nor the fair share"
        yield here.told(f"Shares of windows below 1: {printed}; by days and {by}", measured, why)
    least = here.value(ASTRAEA[0], "days_below")
    factors = sorted(v / least for v in here.known("days_below", BASELINES).values() if least)
    ends = "none" if not factors else f"{times(factors[0])} to {times(factors[-1])}"
    text = "The other schedulers have 1.3 to 9.42 times as many windows below 1 as ASTRAEA"
    yield here.told(text, ends)
    yield _told_apart(here)


def _told_apart(here: Place) -> Statement:
    """By (16) a user that asks for less than its quota is below 1 whoever schedules."""
    policies = [p for p in here.study.policies if p not in QUOTAS]
    shares = [here.known(measure, policies).values() for measure, _ in WINDOWS]
    (a, b), (c, d) = ((min(own, default=0.0), max(own, default=0.0)) for own in shares)
    measured = f"(16) {percent(c)} to {percent(d)}, (8) {percent(a)} to {percent(b)}"
    return here.say("told apart", d - c < b - a, measured)


def _best_and_worst(here: Place) -> Statement:
    text = "Of the others AlloX and then Gandiva-fair are best, YARN-CS and Tiresias-L worst"
    shares = here.known("days_below", BASELINES)
    order = sorted(shares, key=shares.__getitem__)
    measured = ", ".join(f"{p} {percent(shares[p])}" for p in order)
    if len(order) < len(BASELINES):
        return _missing(here, text, [p for p in BASELINES if p not in shares], measured)
    holds = order[:2] == ["AlloX", "Gandiva-fair"] and set(order[-2:]) == {"YARN-CS", "Tiresias-L"}
    return here.say(text, holds, measured)


@over_seeds
@each()
def fig12(here: Place) -> Iterator[Statement]:
    """Judge the slowdowns."""
    for own in ASTRAEA:
        yield _least(here, own, "mean_slowdown", f"{own}: the least mean slowdown")
        yield _above_all(here, own)
        slow, brief = (here.value(own, name) for name in ("slow", "slow_brief"))
        few = (slow or 0.0) < 0.05 and (slow == 0 or (brief or 0.0) > 0.5)
        measured = f"{percent(slow)} of the jobs, {percent(brief)} of them"
        yield here.say("few", few, measured, policy=own)


def _above_all(here: Place, own: str) -> Statement:
    text = f"{own}: at every level of the CDF the least slowdown"
    curves = {row.policy: row.curve for row in here.study.rows if row.instance == here.name}
    present = [p for p in BASELINES if p in curves]
    if own not in curves or not present:
        return _missing(here, text, [own, *BASELINES])
    best = [min(values) for values in zip(*(curves[p] for p in present), strict=True)]
    wins = sum(a <= b for a, b in zip(curves[own], best, strict=True))
    return _or_missing(here, text, wins == len(best), f"at {wins} of {len(best)} levels")


@over_seeds
@each()
def fig13(here: Place) -> Iterator[Statement]:
    """Judge the mean completion times."""
    for own in ASTRAEA:
        yield _least(here, own, "mean_completion", f"{own}: the least mean JCT")
    others = [p for p in BASELINES if p != "Tiresias-L"]
    text = "Tiresias-L: the least mean JCT of the baselines (Section 6.5)"
    yield _least(here, "Tiresias-L", "mean_completion", text, others)


def _least(
    here: Place, own: str, measure: str, text: str, others: Sequence[str] = BASELINES
) -> Statement:
    """Judge whether a policy has less of a measure than all others of the paper."""
    mine, write = here.value(own, measure), WRITTEN[measure]
    found = here.known(measure, others)
    if mine is None or not found:
        return _missing(here, text, [own, *others])
    order = sorted(found, key=found.__getitem__)
    best = order[0]
    measured = f"{write(mine)}; {', '.join(f'{p} {write(found[p])}' for p in order[:2])}"
    if mine == found[best]:
        return here.told(text, measured, "they are equal: this instance cannot tell them apart")
    if mine > found[best]:
        return here.say(text, False, measured, _unequal_terms(here, best, measure, mine))
    return _or_missing(here, text, True, measured, others)


def _unequal_terms(here: Place, best: str, measure: str, mine: float) -> str:
    """Name the cause where Tiresias-L is better only because it may stop jobs at any round."""
    bound = here.value(LEASED, measure) if best == "Tiresias-L" else None
    if bound is None or bound <= mine:
        return ""
    why = "Tiresias-L may stop a job at every round: if it had to keep to LTGF's leases, it had "
    return why + percent(bound)


def _in_order(here: Place, own: str) -> Statement:
    text = f"{own}: fewer jobs with rho < 0.95 than Themis, and Themis fewer than YARN-CS"
    policies = (own, "Themis", "YARN-CS")
    known = here.known("loss", policies)
    if len(known) < len(policies):
        return _missing(here, text, [p for p in policies if p not in known])
    values = list(known.values())
    measured = ", ".join(map(percent, values))
    if values[0]:
        measured += f": 1 to {times(values[1] / values[0])} to {times(values[2] / values[0])} "
        measured += "(printed: 1 to 2.8 to 10.3)"
    return here.say(text, all(a < b for a, b in pairwise(values)), measured)


def _or_missing(
    here: Place, text: str, holds: bool, measured: str, others: Sequence[str] = BASELINES
) -> Statement:
    """A comparison with some of the paper's policies can refute a claim about all, no more."""
    there = {row.policy for row in here.study.rows if row.instance == here.name}
    missing = [p for p in others if p not in there]
    if holds and missing:
        why = f"{_listing(missing)} not run"
        return Statement(text, here.name, Agreement.PARTLY, measured, why)
    return here.say(text, holds, measured)


def _missing(
    here: Place, text: str, policies: Sequence[str], measured: str = "nothing"
) -> Statement:
    return here.told(text, measured, f"{_listing(policies)} not run")


def _listing(policies: Sequence[str]) -> str:
    return f"{' and '.join(policies)} {'was' if len(policies) == 1 else 'were'}"


# --- Fig. 14 -------------------------------------------------------------------------------------


@over_seeds
@each()
def fig14(here: Place) -> Iterator[Statement]:
    """Judge what the size of the cluster does."""
    kinds = {
        "mean_completion": "a smaller mean JCT",
        "loss": "fewer jobs with rho < 0.95, counted from the first round,",
        "loss_release": "fewer jobs with rho < 0.95, counted from submission,",
    }
    for measure, text in kinds.items():
        theirs = _along(here, "Tiresias-L", measure)
        for own in ASTRAEA:
            mine = _along(here, own, measure)
            if not mine or not theirs:
                continue
            wins = [a < b for a, b in zip(mine, theirs, strict=True)]
            ratios = [a / b for a, b in zip(mine, theirs, strict=True) if b]
            ratio = times(sum(ratios) / len(ratios) if ratios else None)
            measured = f"at {sum(wins)} of {len(wins)} sizes; mean ratio {ratio}"
            yield here.say(f"{own}: {text} than Tiresias-L at every size", all(wins), measured)
    for policy in (*ASTRAEA, "Tiresias-L"):
        for measure, text in (("mean_completion", "JCT"), ("loss", "share of rho < 0.95")):
            if values := _along(here, policy, measure):
                first, last = (WRITTEN[measure](value) for value in (values[0], values[-1]))
                falls = all(b <= a for a, b in pairwise(values))
                text = f"{policy}: the {text} falls with every larger cluster"
                yield here.say(text, falls, f"{first} to {last}")


def _along(here: Place, policy: str, measure: str) -> list[float]:
    """The means at every x; none where one is not defined."""
    known = here.along(policy, measure)
    return [*known.values()] if len(known) == len(here.xs) else []
