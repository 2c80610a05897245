"""What Gao et al. say about Table III and Figs. 5 to 12, judged by the rows of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..study import Agreement, Statement, Study
from ..verdicts import OTHER_JOBS, compared, mean, values

if TYPE_CHECKING:
    from .runs import DeadlineWorkload

__all__ = ["STATEMENTS"]

UNISCHED, CHRONUS = "UniSched", "Chronus"
PROMPT, KNOWN, EDF = "UniSched, profilers worth 100", "UniSched, run times known", "EDF"
BRISK = "UniSched, run times known, leases of 2 min"
CAREFUL, TRUE = "epochs at the 90 % quantile", "epochs known"
OWN = (PROMPT, KNOWN, BRISK, EDF, "FIFO", CAREFUL, TRUE)
DEADLINE, LEARNING = ("3Sigma", "GENIE", "Hydra"), ("Optimus", "Themis")
STATIC, MAXIMUM, UNAWARE = "static profiler", "users' epochs", "costs not estimated"
PRINTED_ROUNDING, FREE = "printed rounding", "suspensions free"
FEASIBLE = "feasible only"
WITH_ESTIMATOR, WITH_SELECTOR = "Chronus + Estimator", "Chronus + Selector"
DENSITY, QUEUE = "H_MIX2 by density", "queue"

#: printed in Table III
PRINTED_TESTBED: Mapping[int, Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        360: {
            "printed, simulator": {"miss": 4.97, "jct": 266.39},
            "printed, Kubernetes": {"miss": 3.92, "jct": 274.42},
        },
        720: {
            "printed, simulator": {"miss": 13.52, "jct": 253.98},
            "printed, Kubernetes": {"miss": 16.11, "jct": 267.40},
        },
    }
)


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


def density_of(workload: DeadlineWorkload, x: int) -> DeadlineWorkload:
    """Return the workload at a job density."""
    return workload if x == 100 else replace(workload, density=x)


def hostile_of(workload: DeadlineWorkload, x: int) -> DeadlineWorkload:
    """Return the workload with a share of consolidation-hostile jobs."""
    return replace(workload, hostile=x)


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


# --- Table III -----------------------------------------------------------------------------------


def table3(study: Study) -> Iterator[Statement]:
    """Judge Table III."""
    names = list(study.instances)
    for name in names:
        printed = PRINTED_TESTBED.get(jobs_of(name), {}).get("printed, simulator")
        if printed is None:
            continue
        for measure, write, unit in (("miss", percent, "%"), ("jct", minutes, "min")):
            own = values(study, name, UNISCHED, measure)
            what = "R^slo" if measure == "miss" else "mean JCT"
            span = f" ({min(own):.1f} to {max(own):.1f} by seed)" if own else ""
            yield Statement(
                f"{what} of {printed[measure]} {unit} (simulator)", name, Agreement.OPEN,
                write(own) + span, OTHER_JOBS,
            )  # fmt: skip
        last = study.instances[name].get("mean last deadline (min)")
        if last:
            yield Statement(
                f"Jobs in time have a mean JCT below the printed {printed['jct']} min: that is "
                "more than the mean of their last deadlines",
                name, Agreement.of(max(last) < printed["jct"]),
                f"last deadlines {minutes(last)} after submission", in_paper=False,
            )  # fmt: skip
        yield from _profiling(study, name)
        yield compared(
            "UniSched with known run times misses less if leases are of 2 minutes instead of 10",
            name, *_pair(study, name, BRISK, KNOWN), percent, own=True,
        )  # fmt: skip
        yield compared(
            "EDF that decides every minute misses less than UniSched with known run times", name,
            *_pair(study, name, EDF, KNOWN), percent, own=True,
        )  # fmt: skip
    for few, many in pairwise(names):
        if jobs_of(few) >= jobs_of(many):
            continue
        small, large = (values(study, name, UNISCHED, "miss") for name in (few, many))
        yield compared("More jobs have a higher R^slo", many, small, large, percent)
        small, large = (values(study, name, UNISCHED, "jct") for name in (few, many))
        yield compared("More jobs have a smaller mean JCT", many, large, small, minutes,
                       why="all wait longer")  # fmt: skip


def _pair(study: Study, name: str, one: str, other: str) -> tuple[list[float], list[float]]:
    """Miss rates of two policies."""
    return values(study, name, one, "miss"), values(study, name, other, "miss")


def _profiling(study: Study, instance: str) -> Iterator[Statement]:
    """What profiling takes, among jobs that are short against the wait for it."""
    yield compared(
        "UniSched misses less if a profiler is worth 100 instead of 1", instance,
        values(study, instance, PROMPT, "miss"), values(study, instance, UNISCHED, "miss"),
        percent, own=True,
    )  # fmt: skip
    yield compared(
        "UniSched misses more than if it knew run times without profiling", instance,
        values(study, instance, KNOWN, "miss"), values(study, instance, UNISCHED, "miss"),
        percent, own=True,
    )  # fmt: skip


# --- Fig. 5 --------------------------------------------------------------------------------------


def fig5(study: Study) -> Iterator[Statement]:
    """Judge the reward functions."""
    curve = {row.policy: row.curve for row in study.rows}
    (name,) = study.instances

    def say(text: str, holds: bool, measured: str, why: str = "", own: bool = False) -> Statement:
        because = "" if holds else why
        return Statement(text, name, Agreement.of(holds), measured, because, in_paper=not own)

    every = [value for values in curve.values() for value in values]
    yield say("Rewards are between 0 and 100", min(every) >= 0 and max(every) <= 100,
              f"{min(every):g} to {max(every):g}")  # fmt: skip
    profiler, best = curve["profiler"], curve["best effort"]
    yield say("A profiler is worth 1, whenever it ends", set(profiler) == {1.0},
              f"{min(profiler):g} to {max(profiler):g}")  # fmt: skip
    yield say("A profiler is worth more than any best-effort job", min(profiler) > max(best),
              f"best effort at most {max(best):.3g}")  # fmt: skip
    products = [value * minute for value, minute in zip(best, study.levels, strict=True) if minute]
    yield say(
        "A best-effort job is worth the reciprocal of its remaining time",
        max(products) - min(products) < 1e-9,
        f"reward times minutes: {min(products):.2f} to {max(products):.2f}",
        "that has no unit, and exceeds a profiler's 1 where it is below 1 of its unit; here "
        "tau / (tau + remaining time), which falls likewise and is below 1",
    )
    strict, soft = (sorted(set(curve[kind]), reverse=True) for kind in ("strict SLO", "soft SLO"))
    yield say("A strict SLO job is worth 100 up to its deadline, then 0", strict == [100, 0],
              ", ".join(f"{value:g}" for value in strict))  # fmt: skip
    yield say("A soft SLO job is worth 100, 80, 50, 20, then 0 (Section IV-B)",
              soft == [100, 80, 50, 20, 0], ", ".join(f"{value:g}" for value in soft))  # fmt: skip
    small, unit = min(value for value in soft if value), profiler[0]
    many = int(small / unit) + 1
    yield say(
        "1 to 100: newly submitted and best-effort jobs do not impact SLO jobs' deadlines",
        not unit,
        f"{many} times {unit:g} against {small:g}",
        f"rewards add up: {many} profilers outweigh the last deadline of a soft job",
    )


# --- Fig. 6 --------------------------------------------------------------------------------------


def fig6(study: Study) -> Iterator[Statement]:
    """Judge the comparison of schedulers."""
    workloads = [name for name in study.instances if name != DENSITY]
    for name in workloads:
        yield from _miss_rates(study, name)
    for kind in "HP":
        yield from _families(study, kind)
    yield _no_winner(study, [name for name in workloads if "MIX" in name])
    for name in workloads:
        if "MIX" in name:
            yield from _latencies(study, name)
    if DENSITY in study.instances:
        yield from _densities(study)


def _of(study: Study, name: str, policies: Iterable[str], measure: str) -> list[list[float]]:
    return [values(study, name, policy, measure) for policy in policies]


def _miss_rates(study: Study, name: str) -> Iterator[Statement]:
    own, known = _of(study, name, (UNISCHED, KNOWN), "miss")
    aware, learning = (_of(study, name, group, "miss") for group in (DEADLINE, LEARNING))
    best = least(*aware, *learning)
    why = ""
    if known and best and all(a < b for a, b in zip(known, best, strict=True)):
        why = f"new jobs wait for profiling: without it UniSched has {percent(known)}"
    within = [value - 1 for value in own]  # "almost the best": here within a point
    yield compared("UniSched: (almost) the least R^slo (here: least + 1 point)", name, within,
                   best, lambda v: percent(own if v is within else v), why=why)  # fmt: skip
    yield compared("Every deadline-aware baseline misses less than every DL scheduler", name,
                   most(*aware), least(*learning), percent,
                   why="Optimus and Themis preempt, and favour short jobs, whose slack is the "
                   "least")  # fmt: skip
    if name.endswith("SLO"):
        others = _of(study, name, ("3Sigma", "Hydra"), "miss")
        yield compared("GENIE misses less than 3Sigma and Hydra", name, aware[1], least(*others),
                       percent)  # fmt: skip
        yield compared("UniSched misses less than GENIE", name, own, aware[1], percent, why=why)
    printed = {"SLO": "1.17 to 4.82", "MIX": "0.95 to 2.77"}["SLO" if "SLO" in name else "MIX"]
    yield Statement(f"Deadline-aware baselines miss {printed} times as much as UniSched", name,
                    Agreement.OPEN, factors(own, aware), OTHER_JOBS)  # fmt: skip
    if "MIX" in name:
        yield Statement("DL schedulers miss 2.01 to 6.84 times as much as UniSched", name,
                        Agreement.OPEN, factors(own, learning), OTHER_JOBS)  # fmt: skip
    yield from _profiling(study, name)


def _families(study: Study, kind: str) -> Iterator[Statement]:
    names = [f"{kind}_{family}" for family in ("SLO", "MIX1", "MIX2")]
    if not set(names) <= set(study.instances):
        return
    slo, mix1, mix2 = ([values(study, n, p, "miss") for p in (*DEADLINE, UNISCHED)] for n in names)
    where = f"{kind}_*"
    yield compared("Best-effort jobs lower R^slo: MIX1 below SLO (UniSched)", where, mix1[-1],
                   slo[-1], percent)  # fmt: skip
    yield compared("Soft deadlines lower R^slo: MIX2 below MIX1 (UniSched)", where, mix2[-1],
                   mix1[-1], percent)  # fmt: skip


def _no_winner(study: Study, names: Sequence[str]) -> Statement:
    best = []
    for name in names:
        found = {p: values(study, name, p, "miss") for p in DEADLINE}
        known = {p: fmean(own) for p, own in found.items() if own}
        best.append(min(known, key=lambda p: known[p]) if known else "none")
    measured = ", ".join(f"{name} {own}" for name, own in zip(names, best, strict=True))
    return Statement("There is no clear winner among 3Sigma, Hydra and GENIE (least R^slo)",
                     "MIX", Agreement.of(len(set(best)) > 1), measured)  # fmt: skip


def _latencies(study: Study, name: str) -> Iterator[Statement]:
    own = values(study, name, UNISCHED, "latency")
    aware, learning = (_of(study, name, group, "latency") for group in (DEADLINE, LEARNING))
    yield compared("UniSched: the least best-effort latency", name, own,
                   least(*aware, *learning), minutes)  # fmt: skip
    yield compared("UniSched: less best-effort latency than the deadline-aware baselines", name,
                   own, least(*aware), minutes)  # fmt: skip
    if name.startswith("H"):
        yield compared("Optimus has less best-effort latency than UniSched on Helios", name,
                       learning[0], own, minutes)  # fmt: skip
    for group, printed, label in ((aware, "1.66 to 4.02", "Deadline-aware baselines"),
                                  (learning, "1.18 to 3.11", "DL schedulers")):  # fmt: skip
        yield Statement(f"{label} have {printed} times UniSched's best-effort latency", name,
                        Agreement.OPEN, factors(own, group), OTHER_JOBS)  # fmt: skip


def _densities(study: Study) -> Iterator[Statement]:
    xs = study.xs(DENSITY)
    others = (*DEADLINE, *LEARNING)
    for policy in (UNISCHED, *others):
        column = [values(study, DENSITY, policy, "miss", x) for x in xs]
        if all(column):
            means = [fmean(own) for own in column]
            yield Statement(
                f"{policy}: a higher density raises R^slo", DENSITY,
                Agreement.of(all(a < b for a, b in pairwise(means))),
                ", ".join(f"{x}: {m:.2f}" for x, m in zip(xs, means, strict=True)) + " %",
            )  # fmt: skip
    for x in xs:
        for measure, text, write in (
            ("miss", "the least R^slo", percent),
            ("latency", "the least best-effort latency", minutes),
        ):
            own = values(study, DENSITY, UNISCHED, measure, x)
            best = least(*(values(study, DENSITY, p, measure, x) for p in others))
            yield compared(f"UniSched: {text} at density {x} %", DENSITY, own, best, write)
    own, optimus = (values(study, DENSITY, p, "latency", 80) for p in (UNISCHED, "Optimus"))
    yield compared("Optimus has less best-effort latency at 80 % (printed: 0.67 times)", DENSITY,
                   optimus, own, minutes)  # fmt: skip
    own, genie = (values(study, DENSITY, p, "latency", 160) for p in (UNISCHED, "GENIE"))
    yield Statement("GENIE has 3.78 times UniSched's best-effort latency at 160 %", DENSITY,
                    Agreement.OPEN, factors(own, [genie]), OTHER_JOBS)  # fmt: skip


# --- Figs. 7 and 8 -------------------------------------------------------------------------------


def fig7(study: Study) -> Iterator[Statement]:
    """Judge the errors of the estimator."""
    for name in study.instances:
        if name.startswith("(c)"):
            xs = study.xs(name)
            errors = [study.value(name, UNISCHED, "mean", x) or 0.0 for x in xs]
            listed = ", ".join(f"{x}: {e:.0f}" for x, e in zip(xs, errors, strict=True))
            yield Statement("The error falls as more epochs are seen (more than a point up: no)",
                            name, Agreement.of(all(b < a + 1 for a, b in pairwise(errors))
                                               and errors[-1] < errors[0]),
                            f"{listed} %")  # fmt: skip
            limit = study.value(name, MAXIMUM, "mean", xs[-1]) or 0.0
            yield Statement("At the end it is less than half of that of the users' epochs", name,
                            Agreement.of(2 * errors[-1] < limit),
                            f"{errors[-1]:.0f} and {limit:.0f} %", in_paper=False)  # fmt: skip
            continue
        for kind, measure in (("SLO", "slo_error"), ("best-effort", "be_error")):
            own = values(study, name, UNISCHED, measure)
            if own:
                yield Statement(
                    f"{kind} jobs: in the middle of training the mean error is within 10 %", name,
                    Agreement.of(max(own) <= 10), percent(own),
                    "speeds are exact here: what is left are epochs and suspensions",
                )  # fmt: skip


def fig8(study: Study) -> Iterator[Statement]:
    """Judge the suspensions."""
    for name in study.instances:
        own, best = (values(study, name, kind, "suspensions") for kind in ("SLO", "best effort"))
        if not own:
            continue
        yield Statement("SLO jobs have 2 to 6 suspensions on average", name,
                        Agreement.of(2 <= fmean(own) <= 6), mean(own))  # fmt: skip
        if best:
            yield compared("SLO jobs are suspended more than best-effort jobs", name, best, own,
                           mean)  # fmt: skip


# --- Fig. 9 --------------------------------------------------------------------------------------


def fig9(study: Study) -> Iterator[Statement]:
    """Judge the parts of the estimator."""
    for name in [name for name in study.instances if "x =" not in name]:
        own, static, users = (
            {m: values(study, name, p, m) for m in ("miss", "metric_miss", "longest_wait")}
            for p in (UNISCHED, STATIC, MAXIMUM)
        )
        wait = "a static profiler has its nodes whatever is queued; in the selector a profiler "
        wait += "is worth 1 against 100, so that new jobs wait where GPUs are short"
        yield compared("(a) Joint profiling: less R^slo than with a static profiler", name,
                       own["miss"], static["miss"], percent, why=wait)  # fmt: skip
        yield compared(
            "(a) Joint profiling: a shorter longest wait (printed: 840 s against 2,105 s)", name,
            own["longest_wait"], static["longest_wait"], lambda v: mean(v, " s"), why=wait,
        )  # fmt: skip
        careful, true = (values(study, name, p, "metric_miss") for p in (CAREFUL, TRUE))
        half = "the estimate is a median, too short for every other job; the 90 % quantile has "
        less = all(a < b for a, b in zip(careful, own["metric_miss"], strict=False))
        yield compared(
            "(b) Epochs estimated: less R^slo of jobs with a target metric", name,
            own["metric_miss"], users["metric_miss"], percent,
            why=half + percent(careful) if careful and less else "",
        )  # fmt: skip
        reduced = [b - a for a, b in zip(own["metric_miss"], users["metric_miss"], strict=True)]
        yield Statement("(b) ... by 0.7 to 5.1 points", name, Agreement.OPEN,
                        mean(reduced, " points"), OTHER_JOBS)  # fmt: skip
        yield compared("(b) ... and less where the 90 % quantile is estimated", name, careful,
                       users["metric_miss"], percent, own=True)  # fmt: skip
        yield compared("(b) ... and less where the true epochs are known", name, true,
                       users["metric_miss"], percent, own=True)  # fmt: skip
    for name in [name for name in study.instances if "costs" in name]:
        for measure, text, write in (
            ("miss", "less R^slo", percent),
            ("latency", "less best-effort latency", minutes),
        ):
            aware, other = (_over_factors(study, name, p, measure) for p in (UNISCHED, UNAWARE))
            yield compared(f"(c) SR-aware: {text} with costs of 2 to 5 times (mean)", name,
                           aware, other, write)  # fmt: skip
    for name in [name for name in study.instances if "noise" in name]:
        yield from _noise(study, name)


def _over_factors(study: Study, name: str, policy: str, measure: str) -> list[float]:
    """Means over the larger costs, by seed."""
    column = [values(study, name, policy, measure, x) for x in study.xs(name) if x > 1]
    return [fmean(own) for own in zip(*column, strict=True)] if all(column) else []


def _noise(study: Study, name: str) -> Iterator[Statement]:
    column = {x: values(study, name, UNISCHED, "miss", x) for x in study.xs(name)}
    means = {x: fmean(own) for x, own in column.items() if own}
    listed = ", ".join(f"{x}: {m:.2f}" for x, m in means.items()) + " %"
    if {0, 20, 100} <= set(means):
        yield Statement(
            "(d) Robust to noise below 40 % (here: at 20 % at most a third more R^slo, + 1 point)",
            name, Agreement.of(means[20] <= means[0] * 4 / 3 + 1), listed,
        )  # fmt: skip
        yield compared("(d) Noise of 100 % raises R^slo", name, column[0], column[100], percent,
                       own=True)  # fmt: skip


# --- Fig. 10 -------------------------------------------------------------------------------------


def fig10(study: Study) -> Iterator[Statement]:
    """Judge lease length, objective and size of the linear program."""
    for name in [name for name in study.instances if "lease" in name]:
        yield from _leases(study, name)
    for name in [name for name in study.instances if "lease" not in name and name != QUEUE]:
        own, other = ({m: values(study, name, p, m) for m in ("miss", "latency")}
                      for p in (UNISCHED, FEASIBLE))  # fmt: skip
        yield compared("(b) Maximising the reward: less R^slo than only a feasible solution", name,
                       own["miss"], other["miss"], percent)  # fmt: skip
        if own["latency"]:
            yield compared("(c) Maximising the reward: slightly more best-effort latency", name,
                           other["latency"], own["latency"], minutes)  # fmt: skip
    if QUEUE in study.instances:
        gaps = [study.value(QUEUE, UNISCHED, "gap", x) or 0.0 for x in study.xs(QUEUE)]
        yield Statement("(d) At every size the choice is within 1 % of the proven bound", QUEUE,
                        Agreement.of(max(gaps) <= 1), ", ".join(f"{g:.3g}" for g in gaps) + " %",
                        in_paper=False)  # fmt: skip


def _leases(study: Study, name: str) -> Iterator[Statement]:
    xs = study.xs(name)
    column = {x: values(study, name, UNISCHED, "miss", x) for x in xs}
    if not all(column.values()) or not {5, 10, 60} <= set(xs):
        return
    means = ", ".join(f"{x}: {fmean(own):.2f}" for x, own in column.items()) + " %"
    short = "a lease costs nothing where the job goes on, and who is suspended is the selector's "
    short += "choice"
    yield compared("(a) Leases of 5 min have a higher R^slo than of 10", name, column[10],
                   column[5], percent, why=short)  # fmt: skip
    yield compared("(a) Leases of 60 min have a higher R^slo than of 10", name, column[10],
                   column[60], percent)  # fmt: skip
    best = min(xs, key=lambda x: fmean(column[x]))
    if "MIX2" in name:
        yield Statement("(a) 10 min have the least R^slo", name, Agreement.of(best == 10), means)
        wide = [fmean(column[x]) for x in xs if 10 <= x <= 30]
        yield Statement("(a) Between 10 and 30 min the difference is small (here: 1 point)", name,
                        Agreement.of(max(wide) - min(wide) <= 1), means)  # fmt: skip
    for x in (5, 60):
        total = fmean(column[x]) - fmean(column[10])
        free = [values(study, name, FREE, "miss", y) for y in (x, 10)]
        paper = [values(study, name, PRINTED_ROUNDING, "miss", y) for y in (x, 10)]
        if all(free) and all(paper):
            without = fmean(free[0]) - fmean(free[1])
            printed = fmean(paper[0]) - fmean(paper[1])
            yield Statement(
                f"(a) Of the change from 10 to {x} min, part is suspensions, part the rounding of "
                "leases", name, Agreement.OPEN,
                f"{total:+.2f} points; {without:+.2f} where suspensions are free; {printed:+.2f} "
                "with the printed rounding",
                "the paper does not separate them", in_paper=False,
            )  # fmt: skip
    yield compared("(a) The printed rounding of leases has a higher R^slo at 60 min", name,
                   column[60], values(study, name, PRINTED_ROUNDING, "miss", 60), percent,
                   own=True)  # fmt: skip


def fig10d(study: Study) -> Iterator[Statement]:
    """Judge the selector's time."""
    worst, at = 0.0, 0
    for x in study.xs(QUEUE):
        parts = [study.value(QUEUE, UNISCHED, m, x) or 0.0
                 for m in ("options_seconds", "cold_seconds")]  # fmt: skip
        if sum(parts) >= worst:
            worst, at = sum(parts), x
    yield Statement("The selector takes less than 10 s (960 GPUs, a commercial solver)", QUEUE,
                    Agreement.of(worst < 10), f"at most {worst:.2g} s, on {at} GPUs")  # fmt: skip


# --- Figs. 11 and 12 -----------------------------------------------------------------------------


def fig11(study: Study) -> Iterator[Statement]:
    """Judge the allocations."""
    for name in study.instances:
        gains = {}
        for x in study.xs(name):
            own, tight = (values(study, name, p, "miss", x) for p in (UNISCHED, "consolidated"))
            gains[x] = [b - a for a, b in zip(own, tight, strict=True)]
            yield compared(f"Joint optimisation: less R^slo than consolidation, {x} % hostile",
                           name, own, tight, percent)  # fmt: skip
            own, tight = (values(study, name, p, "latency", x) for p in (UNISCHED, "consolidated"))
            yield compared(f"... and less best-effort latency, {x} % hostile", name, own, tight,
                           minutes)  # fmt: skip
        xs = [x for x in gains if gains[x]]
        if len(xs) > 1:
            listed = ", ".join(f"{x}: {fmean(gains[x]):+.2f}" for x in xs)
            first, last = fmean(gains[xs[0]]), fmean(gains[xs[-1]])
            yield Statement("The gap in R^slo grows with the share (first to last)", name,
                            Agreement.of(last > first), f"{listed} points")  # fmt: skip


def fig12(study: Study) -> Iterator[Statement]:
    """Judge UniSched against Chronus and its parts."""
    for name in study.instances:
        chronus, estimator, selector, own = (
            {m: values(study, name, p, m) for m in ("miss", "latency")}
            for p in (CHRONUS, WITH_ESTIMATOR, WITH_SELECTOR, UNISCHED)
        )
        wait = "Chronus profiles on nodes of its own; UniSched's new jobs wait for leases of SLO "
        wait += "jobs to end"
        for parts, text in ((own, UNISCHED), (estimator, WITH_ESTIMATOR),
                            (selector, WITH_SELECTOR)):  # fmt: skip
            yield compared(f"{text}: less R^slo than Chronus", name, parts["miss"],
                           chronus["miss"], percent,
                           why="" if text == WITH_ESTIMATOR else wait)  # fmt: skip
        yield compared("The Estimator lowers R^slo more than the Selector", name,
                       estimator["miss"], selector["miss"], percent)  # fmt: skip
        yield compared("The Selector lowers best-effort latency", name, selector["latency"],
                       chronus["latency"], minutes)  # fmt: skip
        yield compared("The Estimator lowers best-effort latency", name, estimator["latency"],
                       chronus["latency"], minutes)  # fmt: skip
        if name == "P_MIX2":
            yield compared("Chronus has less best-effort latency than UniSched", name,
                           chronus["latency"], own["latency"], minutes)  # fmt: skip


#: judges by figure
STATEMENTS: Mapping[str, Callable[[Study], Iterator[Statement]]] = MappingProxyType(
    {
        "unisched:table3": table3,
        "unisched:fig5": fig5,
        "unisched:fig6": fig6,
        "unisched:fig7": fig7,
        "unisched:fig8": fig8,
        "unisched:fig9": fig9,
        "unisched:fig10": fig10,
        "unisched:fig10d": fig10d,
        "unisched:fig11": fig11,
        "unisched:fig12": fig12,
    }
)
