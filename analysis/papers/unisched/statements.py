"""What Gao et al. say about Table III and Figs. 5 to 12, judged by the rows of a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from ..study import Statement, Study
from ..verdicts import Place, Write, each, mean

UNISCHED, CHRONUS, EDF = "UniSched", "Chronus", "EDF"
DEADLINE, LEARNING = ("3Sigma", "GENIE", "Hydra"), ("Optimus", "Themis")
PROFILED, KNOWN_TIMES = "profiled", "known"
INFORMATION = (PROFILED, KNOWN_TIMES)
#: by how the rows of Table III and Fig. 6 end
EQUAL_TERMS: Mapping[str, str] = {PROFILED: "all profile", KNOWN_TIMES: "all know run times"}


def knows(policy: str, information: str) -> str:
    """Return the label of a policy, with how it knows run times.

    Examples
    --------
    >>> knows("Hydra", "known"), knows("3Sigma", "known")
    ('Hydra, known', '3Sigma, learned')
    """
    return f"{policy}, {'learned' if policy == '3Sigma' else information}"


PAYING, KNOWN = (knows(UNISCHED, information) for information in INFORMATION)
PRINTED_REWARD = "UniSched, profilers worth 1"
BRISK = "UniSched, known, leases of 2 min"
CAREFUL, TRUE, ENSEMBLE = "epochs at the 90 % quantile", "epochs known", "epochs without a prior"
GRID = "starts at multiples of the lease"
OWN = (KNOWN, BRISK, EDF, "FIFO", "rigid", CAREFUL, TRUE, GRID)
STATIC, MAXIMUM, UNAWARE = "static profiler", "users' epochs", "costs not estimated"
PRINTED_ROUNDING, FREE = "printed rounding", "suspensions free"
FEASIBLE = "feasible only"
WITH_ESTIMATOR, WITH_SELECTOR = "Chronus + Estimator", "Chronus + Selector"
DENSITY, QUEUE, TRAININGS = "H_MIX2 by density", "queue", "(c) trainings of the workloads"

#: printed in Table III
PRINTED_TESTBED: Mapping[int, Mapping[str, Mapping[str, float]]] = {
    360: {"printed, simulator": {"miss": 4.97, "jct": 266.39},
          "printed, Kubernetes": {"miss": 3.92, "jct": 274.42}},
    720: {"printed, simulator": {"miss": 13.52, "jct": 253.98},
          "printed, Kubernetes": {"miss": 16.11, "jct": 267.40}},
}  # fmt: skip


# --- names ---------------------------------------------------------------------------------------


def testbed_of(jobs: int, *, printed: bool) -> str:
    """Return the name of T[m]."""
    return f"T[{jobs}], deadlines as printed" if printed else f"T[{jobs}]"


def jobs_of(name: str) -> int:
    """Return m of a T[m].

    Examples
    --------
    >>> jobs_of("T[360], deadlines as printed")
    360
    """
    return int(name[2 : name.index("]")])


def costs_of(name: str) -> str:
    """Return the name of an instance whose preemption costs vary."""
    return f"{name}, x = factor of preemption costs"


def noise_of(name: str) -> str:
    """Return the name of an instance whose run times are known with errors."""
    return f"{name}, x = noise (%)"


def lease_of(name: str) -> str:
    """Return the name of an instance whose leases vary."""
    return f"{name}, x = lease (min)"


# --- judging -------------------------------------------------------------------------------------


def least(*columns: Sequence[float]) -> list[float]:
    """Return the least value of each seed."""
    return [min(own) for own in zip(*columns, strict=True)] if all(columns) else []


def most(*columns: Sequence[float]) -> list[float]:
    """Return the largest value of each seed."""
    return [max(own) for own in zip(*columns, strict=True)] if all(columns) else []


def percent(numbers: Sequence[float]) -> str:
    """Write a mean over seeds in %."""
    return mean(numbers, " %")


def minutes(numbers: Sequence[float]) -> str:
    """Write a mean over seeds in minutes."""
    return f"{fmean(numbers):.0f} min" if numbers else "none"


def factors(own: Sequence[float], others: Iterable[Sequence[float]]) -> str:
    """Write the range of what others have over one's own, of means over seeds.

    Examples
    --------
    >>> factors([2.0, 4.0], [[6.0, 6.0], [3.0, 3.0]]), factors([], [[1.0]])
    ('1.00 to 2.00', 'none')
    """
    if not own or not fmean(own):
        return "none"
    found = sorted(fmean(other) / fmean(own) for other in others if other)
    return f"{found[0]:.2f} to {found[-1]:.2f}" if found else "none"


#: how the mean over seeds of a measure is written
WRITTEN: Mapping[str, Write] = {
    "miss": percent, "metric_miss": percent, "latency": minutes, "jct": minutes,
    "longest_wait": lambda numbers: mean(numbers, " s"), "suspensions": mean,
}  # fmt: skip


def _at(study: Study, name: str) -> Place:
    return Place(study, name, None, WRITTEN)


# --- Table III -----------------------------------------------------------------------------------


def table3(study: Study) -> Iterator[Statement]:
    """Judge Table III."""
    names = list(study.instances)
    for name in names:
        if jobs_of(name) in PRINTED_TESTBED:
            yield from _testbed(_at(study, name))
    for few, many in pairwise(names):
        if jobs_of(few) < jobs_of(many):
            here, before = _at(study, many), _at(study, few)
            miss, jct = ([p.by_seed(PAYING, m) for p in (before, here)] for m in ("miss", "jct"))
            yield here.compared("More jobs have a higher R^slo", miss[0], miss[1], percent)
            yield here.compared("smaller JCT", jct[1], jct[0], minutes)


def _testbed(here: Place) -> Iterator[Statement]:
    simulated = PRINTED_TESTBED[jobs_of(here.name)]["printed, simulator"]
    for measure, what, unit in (("miss", "R^slo", "%"), ("jct", "mean JCT", "min")):
        own = here.by_seed(PAYING, measure)
        span = f" ({min(own):.1f} to {max(own):.1f} by seed)" if own else ""
        text = f"{what} of {simulated[measure]} {unit} (simulator)"
        yield here.told(text, WRITTEN[measure](own) + span)
    last = here.study.instances[here.name].get("mean last deadline (min)")
    if last:
        due, measured = simulated["jct"], f"last deadlines {minutes(last)} after submission"
        yield here.say("in time", max(last) < due, measured, jct=due)
    yield from _profiling(here)
    yield here.less("brisk", "miss", BRISK, KNOWN)
    for information, terms in EQUAL_TERMS.items():  # between EDF and the other baselines
        own_label, edf = (knows(policy, information) for policy in (UNISCHED, EDF))
        for policy in ("GENIE", "Hydra", "Optimus"):
            other = knows(policy, information)
            yield here.less("ahead", "miss", own_label, other, policy=policy, terms=terms)
        yield here.less("EDF", "miss", edf, own_label, terms=terms)


def _profiling(here: Place) -> Iterator[Statement]:
    """What profiling takes, among jobs that are short against the wait for it."""
    yield here.less("stakes", "miss", PAYING, PRINTED_REWARD)
    yield here.less("profiling", "miss", KNOWN, PAYING)


# --- Fig. 5 --------------------------------------------------------------------------------------


@each()
def fig5(here: Place) -> Iterator[Statement]:
    """Judge the reward functions."""
    curve = {row.policy: row.curve for row in here.study.rows}
    every = [value for values in curve.values() for value in values]
    within = min(every) >= 0 and max(every) <= 100
    yield here.say("Rewards are between 0 and 100", within, f"{min(every):g} to {max(every):g}")
    profiler, best = curve["profiler"], curve["best effort"]
    measured = f"{min(profiler):g} to {max(profiler):g}"
    yield here.say("A profiler is worth 1, whenever it ends", set(profiler) == {1.0}, measured)
    measured = f"best effort at most {max(best):.3g}"
    yield here.say("profiler", min(profiler) > max(best), measured)
    products = [
        value * minute for value, minute in zip(best, here.study.levels, strict=True) if minute
    ]
    measured = f"reward times minutes: {min(products):.2f} to {max(products):.2f}"
    yield here.say("reciprocal", max(products) - min(products) < 1e-9, measured)
    soft = sorted({*curve["soft SLO"]}, reverse=True)
    for kind, due in (("strict", [100, 0]), ("soft", [100, 80, 50, 20, 0])):
        found = sorted({*curve[f"{kind} SLO"]}, reverse=True)
        yield here.say(kind, found == due, ", ".join(f"{value:g}" for value in found))
    small, unit = min(value for value in soft if value), profiler[0]
    many = int(small / unit) + 1
    why = f"rewards add up: {many} profilers outweigh the last deadline of a soft job"
    yield here.say("1 to 100", not unit, f"{many} times {unit:g} against {small:g}", why)


# --- Fig. 6 --------------------------------------------------------------------------------------


def fig6(study: Study) -> Iterator[Statement]:
    """Judge the comparison of schedulers."""
    workloads = [name for name in study.instances if name != DENSITY]
    places = [_at(study, name) for name in workloads]
    mixed = [here for here in places if "MIX" in here.name]
    for information in INFORMATION:
        for here in places:
            yield from _miss_rates(here, information)
        for kind in "HP":
            yield from _families(study, kind, information)
        yield _no_winner(study, mixed, information)
        for here in mixed:
            yield from _latencies(here, information)
        if DENSITY in study.instances:
            yield from _densities(_at(study, DENSITY), information)
    for here in places:
        yield from _profiling(here)
        for information, terms in EQUAL_TERMS.items():
            edf, own = (knows(policy, information) for policy in (EDF, UNISCHED))
            yield here.less("EDF", "miss", edf, own, terms=terms)


def _of(here: Place, measure: str, group: Iterable[str], information: str) -> list[list[float]]:
    """What these policies have, all of them with the same information."""
    return here.of(measure, *(knows(policy, information) for policy in group))


def _miss_rates(here: Place, information: str) -> Iterator[Statement]:
    terms = EQUAL_TERMS[information]
    (own,) = _of(here, "miss", [UNISCHED], information)
    aware, learning = (_of(here, "miss", group, information) for group in (DEADLINE, LEARNING))
    within = [value - 1 for value in own]  # "almost the best": here within a point
    write = lambda v: percent(own if v is within else v)  # noqa: E731
    yield here.compared("least", within, least(*aware, *learning), write, terms=terms)
    worst = most(*aware)
    ahead = [p for p, v in zip(LEARNING, learning, strict=True) if v and fmean(v) < fmean(worst)]
    why = f"of {' and '.join(ahead)}: preemption, in favour of short jobs, whose slack is the least"
    yield here.compared("aware", worst, least(*learning), percent, why=why, terms=terms)
    if here.name.endswith("SLO"):
        yield here.compared("GENIE", aware[1], least(aware[0], aware[2]), percent, terms=terms)
        yield here.compared(f"UniSched misses less than GENIE: {terms}", own, aware[1], percent)
    printed = "1.17 to 4.82" if "SLO" in here.name else "0.95 to 2.77"
    text = f"Deadline-aware baselines miss {printed} times as much as UniSched: {terms}"
    yield here.told(text, factors(own, aware))
    if "MIX" in here.name:
        text = f"DL schedulers miss 2.01 to 6.84 times as much as UniSched: {terms}"
        yield here.told(text, factors(own, learning))


def _families(study: Study, kind: str, information: str) -> Iterator[Statement]:
    names = [f"{kind}_{family}" for family in ("SLO", "MIX1", "MIX2")]
    if not set(names) <= set(study.instances):
        return
    own, terms = knows(UNISCHED, information), EQUAL_TERMS[information]
    both = _at(study, f"{kind}_*")
    slo, mix1, mix2 = (_at(study, name).by_seed(own, "miss") for name in names)
    yield both.compared("MIX1", mix1, slo, percent, terms=terms)
    yield both.compared("MIX2", mix2, mix1, percent, terms=terms)


def _no_winner(study: Study, places: Sequence[Place], information: str) -> Statement:
    best = {}
    for here in places:
        found = zip(DEADLINE, _of(here, "miss", DEADLINE, information), strict=True)
        known = {policy: fmean(own) for policy, own in found if own}
        best[here.name] = min(known, key=lambda p: known[p]) if known else "none"
    listed = ", ".join(f"{name} {own}" for name, own in best.items())
    terms = EQUAL_TERMS[information]
    return _at(study, "MIX").say("no winner", len({*best.values()}) > 1, listed, terms=terms)


def _latencies(here: Place, information: str) -> Iterator[Statement]:
    terms = EQUAL_TERMS[information]
    (own,) = _of(here, "latency", [UNISCHED], information)
    aware, learning = (_of(here, "latency", group, information) for group in (DEADLINE, LEARNING))
    yield here.compared("latency", own, least(*aware, *learning), minutes, terms=terms)
    yield here.compared("less latency", own, least(*aware), minutes, terms=terms)
    if here.name.startswith("H"):
        yield here.compared("Optimus", learning[0], own, minutes, terms=terms)
    for group, printed, label in ((aware, "1.66 to 4.02", "Deadline-aware baselines"),
                                  (learning, "1.18 to 3.11", "DL schedulers")):  # fmt: skip
        text = f"{label} have {printed} times UniSched's best-effort latency: {terms}"
        yield here.told(text, factors(own, group))


def _densities(here: Place, information: str) -> Iterator[Statement]:
    terms, others, spans = EQUAL_TERMS[information], (*DEADLINE, *LEARNING), []
    for policy in (UNISCHED, *others):
        means = here.along(knows(policy, information), "miss")
        if len(means) == len(here.xs):
            rises, text = all(a < b for a, b in pairwise(means.values())), "a higher density raises"
            listed = ", ".join(f"{x}: {m:.2f}" for x, m in means.items()) + " %"
            yield here.say(f"{policy}: {text} R^slo: {terms}", rises, listed)
    for x in here.xs:
        for measure, what in (("miss", "R^slo"), ("latency", "best-effort latency")):
            own, *rest = _of(here.at(x), measure, (UNISCHED, *others), information)
            text = f"UniSched: the least {what} at density {x} %: {terms}"
            yield here.compared(text, own, least(*rest), WRITTEN[measure])
            if measure == "miss":
                spans.append(f"{x}: {factors(own, rest)}")
    text = f"(c) The others miss 1.18 to 2.67 times as much as UniSched: {terms}"
    yield here.told(text, ", ".join(spans))
    own, optimus = _of(here.at(80), "latency", (UNISCHED, "Optimus"), information)
    text = f"Optimus has less best-effort latency at 80 % (printed: 0.67 times): {terms}"
    yield here.compared(text, optimus, own, minutes)
    own, genie = _of(here.at(160), "latency", (UNISCHED, "GENIE"), information)
    text = f"GENIE has 3.78 times UniSched's best-effort latency at 160 %: {terms}"
    yield here.told(text, factors(own, [genie]))


# --- Figs. 7 and 8 -------------------------------------------------------------------------------


@each()
def fig7(here: Place) -> Iterator[Statement]:
    """Judge the errors of the estimator."""
    if here.name.startswith("(c)"):
        for policy, more in ((ENSEMBLE, ": without a prior, as printed"), (UNISCHED, "")):
            along = here.along(policy, "mean")
            errors = [*along.values()]
            falls = all(b < a + 1 for a, b in pairwise(errors)) and errors[-1] < errors[0]
            text = f"The error falls as more epochs are seen (more than a point up: no){more}"
            yield here.say(text, falls, ", ".join(f"{x}: {e:.0f}" for x, e in along.items()) + " %")
        limit = here.value(MAXIMUM, "mean", here.xs[-1]) or 0.0
        yield here.say("end", 2 * errors[-1] < limit, f"{errors[-1]:.0f} and {limit:.0f} %")
        return
    for kind, measure in (("SLO", "slo_error"), ("best-effort", "be_error")):
        if own := here.by_seed(UNISCHED, measure):
            found = here.say("middle", max(own) <= 10, percent(own), kind=kind)
            why = "speeds are exact here: what is left are epochs and suspensions"
            yield replace(found, why=why)


@each(WRITTEN)
def fig8(here: Place) -> Iterator[Statement]:
    """Judge the suspensions."""
    own, best = here.of("suspensions", "SLO", "best effort")
    if own:
        text = "SLO jobs have 2 to 6 suspensions on average"
        yield here.say(text, 2 <= fmean(own) <= 6, mean(own))
    if own and best:
        text = "SLO jobs are suspended more than best-effort jobs"
        yield here.less(text, "suspensions", "best effort", "SLO")


# --- Fig. 9 --------------------------------------------------------------------------------------


@each(WRITTEN)
def fig9(here: Place) -> Iterator[Statement]:
    """Judge the parts of the estimator."""
    if "costs" in here.name:
        for measure, what in (("miss", "R^slo"), ("latency", "best-effort latency")):
            aware, other = (_over_factors(here, policy, measure) for policy in (UNISCHED, UNAWARE))
            text = f"(c) SR-aware: less {what} with costs of 2 to 5 times (mean)"
            yield here.compared(text, aware, other, WRITTEN[measure])
    else:
        yield from _noise(here) if "noise" in here.name else _joint_parts(here)


def _joint_parts(here: Place) -> Iterator[Statement]:
    for measure in ("miss", "longest_wait"):
        yield here.less(measure, measure, UNISCHED, STATIC)
    own, users, careful = here.of("metric_miss", UNISCHED, MAXIMUM, CAREFUL)
    half = "the estimate is a median, too short for every other job, and late is worse than early; "
    half += "the 90 % quantile has "
    less = careful and all(a < b for a, b in zip(careful, own, strict=False))
    why = half + percent(careful) if less else ""
    yield here.less("metric_miss", "metric_miss", UNISCHED, MAXIMUM, why=why)
    reduced = [b - a for a, b in zip(own, users, strict=True)]
    yield here.told("(b) ... by 0.7 to 5.1 points", mean(reduced, " points"))
    for one, other in ((ENSEMBLE, MAXIMUM), (UNISCHED, ENSEMBLE), (CAREFUL, MAXIMUM),
                       (TRUE, MAXIMUM)):  # fmt: skip
        yield here.less(one, "metric_miss", one, other)


def _over_factors(here: Place, policy: str, measure: str) -> list[float]:
    """Means over the larger costs, by seed."""
    column = [here.by_seed(policy, measure, x) for x in here.xs if x > 1]
    return [fmean(own) for own in zip(*column, strict=True)] if all(column) else []


def _noise(here: Place) -> Iterator[Statement]:
    means = here.along(UNISCHED, "miss")
    if {0, 20, 100} <= set(means):
        listed = ", ".join(f"{x}: {m:.2f}" for x, m in means.items()) + " %"
        yield here.say("robust", means[20] <= means[0] * 4 / 3 + 1, listed)
        none, much = (here.by_seed(UNISCHED, "miss", x) for x in (0, 100))
        yield here.compared("(d) Noise of 100 % raises R^slo", none, much, percent, own=True)


# --- Fig. 10 -------------------------------------------------------------------------------------


@each(WRITTEN)
def fig10(here: Place) -> Iterator[Statement]:
    """Judge lease length, objective and size of the linear program."""
    if here.name == QUEUE:
        gaps = here.along(UNISCHED, "gap").values()
        yield here.say("gap", max(gaps) <= 1, ", ".join(f"{g:.3g}" for g in gaps) + " %")
    elif "lease" in here.name:
        yield from _leases(here)
    else:
        yield here.less("miss", "miss", UNISCHED, FEASIBLE)
        if any(here.of("latency", UNISCHED)):
            yield here.less("latency", "latency", FEASIBLE, UNISCHED)


def _leases(here: Place) -> Iterator[Statement]:
    xs = here.xs
    column = {x: here.by_seed(UNISCHED, "miss", x) for x in xs}
    if not all(column.values()) or not {5, 10, 60} <= set(xs):
        return
    means = ", ".join(f"{x}: {fmean(own):.2f}" for x, own in column.items()) + " %"
    short = "a lease costs nothing where the job goes on, and who is suspended is the selector's "
    short += "choice"
    for x, why in ((5, short), (60, "")):
        text = f"(a) Leases of {x} min have a higher R^slo than of 10"
        yield here.compared(text, column[10], column[x], percent, why=why)
    best = min(xs, key=lambda x: fmean(column[x]))
    if "MIX2" in here.name:
        yield here.say("(a) 10 min have the least R^slo", best == 10, means)
    for policy, more in ((UNISCHED, ""), (GRID, "; jobs start at multiples of the lease only")):
        wide = {x: fmean(v) for x in (10, 30) if (v := here.by_seed(policy, "miss", x))}
        if len(wide) == 2:
            small = abs(wide[30] - wide[10]) <= 1, f"10: {wide[10]:.2f}, 30: {wide[30]:.2f} %"
            why = "jobs wait half a lease on average before they begin" if more else ""
            own = bool(more) or "MIX2" not in here.name
            yield here.say("10 and 30", *small, why, own=own, more=more)
    for x in (5, 60):
        changes = [_change(here, policy, x) for policy in (UNISCHED, FREE, PRINTED_ROUNDING)]
        known = [change for change in changes if change is not None]
        if known == changes:
            parts = "{:+.2f} points; {:+.2f} where suspensions are free; {:+.2f} with the printed "
            why = "the paper does not separate them"
            yield here.told("change", f"{parts}rounding".format(*known), why, x=x)
    yield here.at(60).less("printed rounding", "miss", UNISCHED, PRINTED_ROUNDING)


def _change(here: Place, policy: str, x: int) -> float | None:
    """By how much R^slo rises from leases of 10 min to others."""
    then, now = (here.by_seed(policy, "miss", minutes) for minutes in (x, 10))
    return fmean(then) - fmean(now) if then and now else None


@each()
def fig10d(here: Place) -> Iterator[Statement]:
    """Judge the selector's time."""
    parts = [here.along(UNISCHED, measure) for measure in ("options_seconds", "cold_seconds")]
    seconds = {x: sum(part[x] for part in parts) for x in here.xs}
    at = max(seconds, key=lambda x: (seconds[x], x))
    text = "The selector takes less than 10 s (960 GPUs, a commercial solver)"
    yield here.say(text, seconds[at] < 10, f"at most {seconds[at]:.2g} s, on {at} GPUs")


# --- Figs. 11 and 12 -----------------------------------------------------------------------------


@each(WRITTEN)
def fig11(whole: Place) -> Iterator[Statement]:
    """Judge the allocations."""
    gains = {}
    for x in whole.xs:
        here = whole.at(x)
        own, tight = here.of("miss", UNISCHED, "consolidated")
        gains[x] = [b - a for a, b in zip(own, tight, strict=True)]
        for measure in ("miss", "latency"):
            yield here.less(measure, measure, UNISCHED, "consolidated", x=x)
    means = {x: fmean(own) for x, own in gains.items() if own}
    if len(means) > 1:
        first, *_, last = means.values()
        listed = ", ".join(f"{x}: {m:+.2f}" for x, m in means.items()) + " points"
        yield whole.say("gap", last > first, listed)


def fig12(study: Study) -> Iterator[Statement]:
    """Judge UniSched against Chronus and its parts."""
    yield from _printed_reductions(study)
    for name in study.instances:
        here = _at(study, name)
        for parts in (UNISCHED, WITH_ESTIMATOR, WITH_SELECTOR):
            yield here.less(parts, "miss", parts, CHRONUS)
        yield here.less("Estimator", "miss", WITH_ESTIMATOR, WITH_SELECTOR)
        for parts, text in ((WITH_SELECTOR, "Selector"), (WITH_ESTIMATOR, "Estimator")):
            yield here.less(f"The {text} lowers best-effort latency", "latency", parts, CHRONUS)
        if name == "P_MIX2":
            yield here.less("latency", "latency", CHRONUS, UNISCHED)


def _printed_reductions(study: Study) -> Iterator[Statement]:
    """By how much less is missed, and how much sooner best-effort jobs end, at most."""
    mix = _at(study, "MIX")
    for parts, printed in ((UNISCHED, "up to 5.2 points"),
                           (WITH_ESTIMATOR, "up to 4.2 points, in H_MIX1"),
                           (WITH_SELECTOR, "up to 1.5 points, in P_MIX1")):  # fmt: skip
        found = _pairs(study, parts, "miss")
        if found:
            less = {name: chronus - own for name, (own, chronus) in found.items()}
            top = max(less, key=lambda name: less[name])
            text = f"{parts}: less R^slo than Chronus by {printed}"
            yield mix.told(text, f"up to {less[top]:.2f} points, in {top}")
    for parts, kind, printed in ((WITH_ESTIMATOR, "H", "up to 1.73 times Chronus's, Helios"),
                                 (WITH_SELECTOR, "", "1.04 to 1.66 times Chronus's")):  # fmt: skip
        found = _pairs(study, parts, "latency")
        ratios = [c / own for name, (own, c) in found.items() if name.startswith(kind) and own]
        if ratios:
            measured = f"{min(ratios):.2f} to {max(ratios):.2f} times"
            yield mix.told(f"{parts}: best-effort throughput of {printed}", measured)


def _pairs(study: Study, parts: str, measure: str) -> dict[str, tuple[float, float]]:
    """Means over seeds with these parts and of Chronus, by instance."""
    found = {name: _at(study, name).of(measure, parts, CHRONUS) for name in study.instances}
    return {name: (fmean(own), fmean(c)) for name, (own, c) in found.items() if own and c}
