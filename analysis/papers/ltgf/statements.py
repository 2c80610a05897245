"""What Ye et al. say about Figs. 6 and 9 to 14, judged by the rows of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

from ..study import Agreement, Statement, Study
from ..verdicts import OTHER_JOBS, judged, over_seeds, turns

Write = Callable[[float | None], str]
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


# --- Fig. 6 --------------------------------------------------------------------------------------

FLUID, ALTERNATING, LONG_TERM = "(a) fluid", "(b) finish-time", "(c) LTGF"


def fig6(study: Study) -> Iterator[Statement]:
    """Judge the three schedules of Fig. 6."""
    (cluster,) = study.instances
    found = {(row.policy, row.x): row for row in study.rows}

    def column(policy: str, name: str) -> list[float]:
        return [float(found[policy, j].values[name] or 0.0) for j in (1, 2, 3)]

    def held(policy: str, begin: int, rounds: int) -> list[float]:
        """Mean GPUs of each job in some rounds."""
        curves = (found[policy, j].curve[begin : begin + rounds] for j in (1, 2, 3))
        return [sum(curve) / rounds for curve in curves]

    def say(text: str, holds: bool, measured: str, why: str = "", **own: bool) -> Statement:
        return judged(text, cluster, holds, measured, why, **own)

    even = all(held(FLUID, k, 1) == [2.0, 2.0, 2.0] for k in range(6))
    yield say("(a): the GPUs are shared equally at any time, while all three jobs are active", even,
              _listed(held(FLUID, 0, 6), "GPUs"))  # fmt: skip
    halves = [held(ALTERNATING, k, 2) for k in range(6)]
    yield say("(b): in each 20 minutes Job1 gets 1/2 of the GPU time, Job2 and Job3 1/4 each",
              all(part == [3.0, 1.5, 1.5] for part in halves),
              _listed(halves[0], "GPUs"))  # fmt: skip
    rho = column(ALTERNATING, "rho")
    yield say("(b): Job2 and Job3 lose the sharing incentive (rho below 1)",
              rho[0] >= 1 > max(rho[1:]), "rho " + _listed(rho))  # fmt: skip
    b, c = (
        sorted(column(p, "finish-time fairness"), reverse=True) for p in (ALTERNATING, LONG_TERM)
    )
    yield say("(b) is what min max finish-time fairness prescribes", b[0] < c[0] or b <= c,
              f"falling, (b) {_listed(b)}, (c) {_listed(c)}",
              "with the same maximum (c) is smaller after it: (b) is what one gets round "
              "by round, not the best schedule by this measure")  # fmt: skip
    parts = [held(LONG_TERM, k, 3) for k in range(4)]
    yield say("(c): each job gets equal GPU time in any half hour, while all three are active",
              all(part == [2.0, 2.0, 2.0] for part in parts),
              _listed(parts[0], "GPUs"))  # fmt: skip
    rho = column(LONG_TERM, "rho")
    exact = all(abs(r - 1) < 1e-9 for r in rho)
    yield say("(c): every job has rho of 1", exact, "rho " + _listed(rho))
    fluid, alternating, ends = (column(p, "end") for p in (FLUID, ALTERNATING, LONG_TERM))
    yield say("(c) ends every job when (a) does, and sooner than (b) on average",
              fluid == ends and sum(ends) / 3 < sum(alternating) / 3,
              f"(a) {_listed(fluid, 'min')}, (c) {_listed(ends, 'min')}; "
              f"mean {sum(ends) / 3:.1f} and {sum(alternating) / 3:.1f} min", own=True)  # fmt: skip


def _listed(values: Sequence[float], unit: str = "") -> str:
    return ", ".join(f"{value:.4g}" for value in values) + (f" {unit}" if unit else "")


# --- Fig. 9 --------------------------------------------------------------------------------------


@over_seeds
def fig9(study: Study) -> Iterator[Statement]:
    """Judge what lease terms do."""
    for instance in study.instances:
        for policy in study.policies:
            for text, holds, measured, why in _lease_terms(study, instance, policy):
                yield judged(f"{policy}: {text}", instance, holds, measured, why)


def _lease_terms(study: Study, instance: str, policy: str) -> Iterator[tuple[str, bool, str, str]]:
    """Text, whether it holds, what was measured, and why it may not hold."""
    xs = study.xs(instance)
    jct, paid, loss = (
        [float(study.value(instance, policy, name, x) or 0.0) for x in xs]
        for name in ("mean_completion", "overhead", "loss")
    )
    listed = ", ".join(f"{x}: {value:,.0f}" for x, value in zip(xs, jct, strict=True))
    yield ("with longer terms the mean JCT falls first, then rises (by more than 0.5 %)",
           turns(jct, 0.005) == "-+", f"{listed} s", "")  # fmt: skip
    least = xs[jct.index(min(jct))]
    yield "terms of 1,200 s have the least mean JCT", least == 1200, f"least with {least} s", ""
    if 900 in xs:
        ratio, share = jct[xs.index(900)] / min(jct), paid[xs.index(900)]
        yield ("terms of 900 s have a mean JCT similar to the least (here: within 1 %)",
               ratio <= 1.01, f"{100 * (ratio - 1):.1f} % above it", "")  # fmt: skip
        why = "only resumptions cost time here; a checkpoint at the end of each lease would add up "
        why += f"to {100 / 900:.2f} % for each of its seconds"
        yield ("about 0.8 % of the mean JCT is overhead with 900 s (here: 0.4 to 1.6 %)",
               0.004 <= share <= 0.016, f"{100 * share:.2f} %", why)  # fmt: skip
    costs = ", ".join(f"{100 * value:.2f}" for value in paid)
    yield ("the overhead becomes smaller with longer terms (in nine of ten pairs)",
           rising(paid) <= 0.1, f"{costs} % of the mean JCT", "")  # fmt: skip
    yield ("longer terms are less fair: more jobs with rho < 0.95 (in nine of ten pairs)",
           rising(loss) >= 0.9, ", ".join(map(percent, loss)), "")  # fmt: skip


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
def fig10(study: Study) -> Iterator[Statement]:
    """Judge the jobs' fairness, and show what the number rho < 0.95 is made of."""
    for instance in study.instances:
        for measure, since in (("loss", "first round"), ("loss_release", "submission")):
            for own in ASTRAEA:
                text = f"{own}: fewest jobs with rho < 0.95, counted from {since}"
                yield _least(study, instance, own, measure, percent, text)
        for own in ASTRAEA:
            yield _in_order(study, instance, (own, "Themis", "YARN-CS"), "loss")
        shares = [study.value(instance, p, "loss") for p in (ASTRAEA[0], "Themis", "YARN-CS")]
        yield Statement(
            "Shares of 7.1 % (ASTRAEA), 19.7 % (Themis) and 73.6 % (YARN-CS)", instance,
            Agreement.OPEN, ", ".join(map(percent, shares)),
            f"{OTHER_JOBS} and the paper does not say from when rho is counted",
        )  # fmt: skip
        yield from _metric_trap(study, instance)


def _metric_trap(study: Study, instance: str) -> Iterator[Statement]:
    """Jobs that never wait for GPUs have no loss, unless the wait for a round counts."""
    names = ("loss", "loss_release", "late", "expected")
    for empty, length in zip(EMPTY, (10, 60), strict=True):
        loss, lost, late, expected = (study.value(instance, empty, name) for name in names)
        if loss is not None and lost is not None:
            yield judged(
                f"Where no job ever waits for GPUs, rounds of {length} s alone take more jobs "
                "below 0.95, counted from submission, than the 7.1 % printed for ASTRAEA",
                instance, lost > 0.071 and loss == 0,
                f"{percent(lost)}, and run time / JCT < 0.95 for {percent(late)} (submissions "
                f"spread evenly: {percent(expected)}); from the first round {percent(loss)}",
                own=True,
            )  # fmt: skip


@over_seeds
def fig11(study: Study) -> Iterator[Statement]:
    """Judge the users' fairness by windows."""
    for instance in study.instances:
        for own in ASTRAEA:
            yield _most_users(study, instance, own)
            for measure, by in WINDOWS:
                text = f"{own}: fewest of the users' days below 1, by {by}"
                yield _least(study, instance, own, measure, percent, text)
        yield _best_and_worst(study, instance)
        printed = ", ".join(f"{name} {value} %" for name, value in PRINTED_WINDOWS.items())
        for measure, by in WINDOWS:
            names = (ASTRAEA[0], *list(PRINTED_WINDOWS)[1:])
            yield Statement(
                f"Shares of windows below 1: {printed}; by days and {by}", instance, Agreement.OPEN,
                ", ".join(percent(study.value(instance, name, measure)) for name in names),
                f"{OTHER_JOBS}, and the paper names neither the windows nor the fair share",
            )  # fmt: skip
        yield _factors(study, instance)
        yield _told_apart(study, instance)


def _known(study: Study, instance: str, policies: Sequence[str], measure: str) -> dict[str, float]:
    """What was measured, by policy."""
    found = {p: study.value(instance, p, measure) for p in policies}
    return {p: value for p, value in found.items() if value is not None}


def _told_apart(study: Study, instance: str) -> Statement:
    """By (16) a user that asks for less than its quota is below 1 whoever schedules."""
    policies = [p for p in study.policies if p not in QUOTAS]
    shares = [_known(study, instance, policies, measure).values() for measure, _ in WINDOWS]
    (a, b), (c, d) = ((min(own, default=0.0), max(own, default=0.0)) for own in shares)
    return judged(
        "By (16) the share of days below 1 tells the policies apart less than by (8) (YARN-CS "
        "and HiveD with their quotas aside)", instance, d - c < b - a,
        f"(16) {percent(c)} to {percent(d)}, (8) {percent(a)} to {percent(b)}", own=True,
    )  # fmt: skip


def _most_users(study: Study, instance: str, own: str) -> Statement:
    """Half of the paper's claim "most tenants >= 1" needs a number: the median day."""
    share = study.value(instance, own, "served")
    text = f"{own}: most users have rho of 1 or more (on their median day)"
    if share is None:
        return _missing(text, instance, [own])
    return judged(text, instance, share > 0.5, f"{percent(share)} of the users")


def _best_and_worst(study: Study, instance: str) -> Statement:
    text = "Of the others AlloX and then Gandiva-fair are best, YARN-CS and Tiresias-L worst"
    shares = _known(study, instance, BASELINES, "days_below")
    order = sorted(shares, key=shares.__getitem__)
    measured = ", ".join(f"{p} {percent(shares[p])}" for p in order)
    if len(order) < len(BASELINES):
        return _missing(text, instance, [p for p in BASELINES if p not in shares], measured)
    holds = order[:2] == ["AlloX", "Gandiva-fair"] and set(order[-2:]) == {"YARN-CS", "Tiresias-L"}
    return judged(text, instance, holds, measured)


def _factors(study: Study, instance: str) -> Statement:
    own = study.value(instance, ASTRAEA[0], "days_below")
    others = _known(study, instance, BASELINES, "days_below").values()
    factors = sorted(other / own for other in others if own)
    ends = "none" if not factors else f"{times(factors[0])} to {times(factors[-1])}"
    text = "The other schedulers have 1.3 to 9.42 times as many windows below 1 as ASTRAEA"
    return Statement(text, instance, Agreement.OPEN, ends, OTHER_JOBS)


@over_seeds
def fig12(study: Study) -> Iterator[Statement]:
    """Judge the slowdowns."""
    for instance in study.instances:
        for own in ASTRAEA:
            text = f"{own}: the least mean slowdown"
            yield _least(study, instance, own, "mean_slowdown", times, text)
            yield _above_all(study, instance, own)
            slow, brief = (study.value(instance, own, name) for name in ("slow", "slow_brief"))
            yield judged(
                f"{own}: few jobs (here: under 5 %) have a slowdown above 5, most of them with run "
                "times of a few rounds (here: under a minute)", instance,
                (slow or 0.0) < 0.05 and (slow == 0 or (brief or 0.0) > 0.5),
                f"{percent(slow)} of the jobs, {percent(brief)} of them",
            )  # fmt: skip


def _above_all(study: Study, instance: str, own: str) -> Statement:
    text = f"{own}: at every level of the CDF the least slowdown"
    curves = {row.policy: row.curve for row in study.rows if row.instance == instance}
    present = [p for p in BASELINES if p in curves]
    if own not in curves or not present:
        return _missing(text, instance, [own, *BASELINES])
    best = [min(values) for values in zip(*(curves[p] for p in present), strict=True)]
    wins = sum(a <= b for a, b in zip(curves[own], best, strict=True))
    return _or_missing(study, instance, text, wins == len(best), f"at {wins} of {len(best)} levels")


@over_seeds
def fig13(study: Study) -> Iterator[Statement]:
    """Judge the mean completion times."""
    for instance in study.instances:
        for own in ASTRAEA:
            text = f"{own}: the least mean JCT"
            yield _least(study, instance, own, "mean_completion", seconds, text)
        others = [p for p in BASELINES if p != "Tiresias-L"]
        text = "Tiresias-L: the least mean JCT of the baselines (Section 6.5)"
        yield _least(study, instance, "Tiresias-L", "mean_completion", seconds, text, others)


def _least(
    study: Study, instance: str, own: str, measure: str, write: Write, text: str,
    others: Sequence[str] = BASELINES,
) -> Statement:  # fmt: skip
    """Judge whether a policy has less of a measure than all others of the paper."""
    mine = study.value(instance, own, measure)
    found = _known(study, instance, others, measure)
    if mine is None or not found:
        return _missing(text, instance, [own, *others])
    order = sorted(found, key=found.__getitem__)
    best = order[0]
    measured = f"{write(mine)}; {', '.join(f'{p} {write(found[p])}' for p in order[:2])}"
    if mine == found[best]:
        why = "they are equal: this instance cannot tell them apart"
        return Statement(text, instance, Agreement.OPEN, measured, why)
    if mine > found[best]:
        why = _unequal_terms(study, instance, best, measure, mine)
        return judged(text, instance, False, measured, why)
    return _or_missing(study, instance, text, True, measured, others)


def _unequal_terms(study: Study, instance: str, best: str, measure: str, mine: float) -> str:
    """Name the cause where Tiresias-L is better only because it may stop jobs at any round."""
    bound = study.value(instance, LEASED, measure) if best == "Tiresias-L" else None
    if bound is None or bound <= mine:
        return ""
    why = "Tiresias-L may stop a job at every round: if it had to keep to LTGF's leases, it had "
    return why + percent(bound)


def _in_order(study: Study, instance: str, policies: Sequence[str], measure: str) -> Statement:
    text = f"{policies[0]}: fewer jobs with rho < 0.95 than Themis, and Themis fewer than YARN-CS"
    known = _known(study, instance, policies, measure)
    if len(known) < len(policies):
        return _missing(text, instance, [p for p in policies if p not in known])
    values = list(known.values())
    measured = ", ".join(map(percent, values))
    if values[0]:
        measured += f": 1 to {times(values[1] / values[0])} to {times(values[2] / values[0])} "
        measured += "(printed: 1 to 2.8 to 10.3)"
    return judged(text, instance, all(a < b for a, b in pairwise(values)), measured)


def _or_missing(
    study: Study, instance: str, text: str, holds: bool, measured: str,
    others: Sequence[str] = BASELINES,
) -> Statement:  # fmt: skip
    """A comparison with some of the paper's policies can refute a claim about all, no more."""
    there = {row.policy for row in study.rows if row.instance == instance}
    missing = [p for p in others if p not in there]
    if holds and missing:
        return Statement(text, instance, Agreement.PARTLY, measured, f"{_listing(missing)} not run")
    return judged(text, instance, holds, measured)


def _missing(
    text: str, instance: str, policies: Sequence[str], measured: str = "nothing"
) -> Statement:
    return Statement(text, instance, Agreement.OPEN, measured, f"{_listing(policies)} not run")


def _listing(policies: Sequence[str]) -> str:
    return f"{' and '.join(policies)} {'was' if len(policies) == 1 else 'were'}"


# --- Fig. 14 -------------------------------------------------------------------------------------


@over_seeds
def fig14(study: Study) -> Iterator[Statement]:
    """Judge what the size of the cluster does."""
    kinds = {
        "mean_completion": "a smaller mean JCT",
        "loss": "fewer jobs with rho < 0.95, counted from the first round,",
        "loss_release": "fewer jobs with rho < 0.95, counted from submission,",
    }
    falling = (("mean_completion", "JCT", seconds), ("loss", "share of rho < 0.95", percent))
    for instance in study.instances:
        for measure, text in kinds.items():
            theirs = _along(study, instance, "Tiresias-L", measure)
            for own in ASTRAEA:
                mine = _along(study, instance, own, measure)
                if not mine or not theirs:
                    continue
                wins = [a < b for a, b in zip(mine, theirs, strict=True)]
                said = f"{own}: {text} than Tiresias-L at every size"
                ratio = times(_mean_ratio(mine, theirs))
                measured = f"at {sum(wins)} of {len(wins)} sizes; mean ratio {ratio}"
                yield judged(said, instance, all(wins), measured)
        for policy in (*ASTRAEA, "Tiresias-L"):
            for measure, text, write in falling:
                if values := _along(study, instance, policy, measure):
                    yield judged(f"{policy}: the {text} falls with every larger cluster", instance,
                                 all(b <= a for a, b in pairwise(values)),
                                 f"{write(values[0])} to {write(values[-1])}")  # fmt: skip


def _along(study: Study, instance: str, policy: str, measure: str) -> list[float]:
    known = [study.value(instance, policy, measure, x) for x in study.xs(instance)]
    values = [value for value in known if value is not None]
    return values if len(values) == len(known) else []


def _mean_ratio(mine: Sequence[float], theirs: Sequence[float]) -> float | None:
    ratios = [a / b for a, b in zip(mine, theirs, strict=True) if b]
    return sum(ratios) / len(ratios) if ratios else None
