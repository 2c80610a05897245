"""What Gao et al. say about Table III and Figs. 5 to 12, judged by the rows of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from ..study import Agreement, Statement, Study
from ..verdicts import OTHER_JOBS, compared, judged, mean, values

if TYPE_CHECKING:
    from .runs import DeadlineWorkload

__all__ = [
    "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig10d", "fig11", "fig12", "table3",
]  # fmt: skip

UNISCHED, CHRONUS, EDF = "UniSched", "Chronus", "EDF"
DEADLINE, LEARNING = ("3Sigma", "GENIE", "Hydra"), ("Optimus", "Themis")
PROFILED, TOLD = "profiled", "told"
INFORMATION = (PROFILED, TOLD)
#: by how the rows of Table III and Fig. 6 end
EQUAL_TERMS: Mapping[str, str] = {PROFILED: "all profile", TOLD: "all are told"}


def knows(policy: str, information: str) -> str:
    """Return the label of a policy, with how it knows run times.

    Examples
    --------
    >>> knows("Hydra", "told"), knows("3Sigma", "told")
    ('Hydra, told', '3Sigma, learned')
    """
    return f"{policy}, {'learned' if policy == '3Sigma' else information}"


PAYING, KNOWN = (knows(UNISCHED, information) for information in INFORMATION)
PRINTED_REWARD = "UniSched, profilers worth 1"
BRISK = "UniSched, told, leases of 2 min"
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


#: how the mean over seeds of a measure is written
WRITTEN: Mapping[str, Callable[[Sequence[float]], str]] = {
    "miss": percent, "metric_miss": percent, "latency": minutes, "jct": minutes,
    "longest_wait": lambda numbers: mean(numbers, " s"), "suspensions": mean,
}  # fmt: skip


class _Place(NamedTuple):
    """An instance of a figure, at one x."""

    study: Study
    name: str
    x: int | None = None

    def of(self, measure: str, *policies: str) -> list[list[float]]:
        """What these policies have of a measure, by seed."""
        return [values(self.study, self.name, policy, measure, self.x) for policy in policies]

    def less(
        self, text: str, measure: str, one: str, other: str, *, why: str = "", own: bool = False
    ) -> Statement:
        """Judge whether the one policy has less of a measure than the other."""
        small, large = self.of(measure, one, other)
        return compared(text, self.name, small, large, WRITTEN[measure], why=why, own=own)


def _told(text: str, instance: str, measured: str) -> Statement:
    """A number that other jobs cannot confirm."""
    return Statement(text, instance, Agreement.OPEN, measured, OTHER_JOBS)


# --- Table III -----------------------------------------------------------------------------------


def table3(study: Study) -> Iterator[Statement]:
    """Judge Table III."""
    names = list(study.instances)
    for name in names:
        here, printed = _Place(study, name), PRINTED_TESTBED.get(jobs_of(name), {})
        if not printed:
            continue
        simulated = printed["printed, simulator"]
        for measure, what, unit in (("miss", "R^slo", "%"), ("jct", "mean JCT", "min")):
            (own,) = here.of(measure, PAYING)
            span = f" ({min(own):.1f} to {max(own):.1f} by seed)" if own else ""
            yield _told(f"{what} of {simulated[measure]} {unit} (simulator)", name,
                        WRITTEN[measure](own) + span)  # fmt: skip
        last = study.instances[name].get("mean last deadline (min)")
        if last:
            yield judged(
                f"Jobs in time have a mean JCT below the printed {simulated['jct']} min: that is "
                "more than the mean of their last deadlines",
                name, max(last) < simulated["jct"],
                f"last deadlines {minutes(last)} after submission", own=True,
            )  # fmt: skip
        yield from _profiling(here)
        yield here.less("UniSched that is told run times misses less if leases are of 2 minutes "
                        "instead of 10", "miss", BRISK, KNOWN, own=True)  # fmt: skip
        for information in INFORMATION:
            yield from _references(here, information)
    for few, many in pairwise(names):
        if jobs_of(few) < jobs_of(many):
            miss, jct = ([values(study, name, PAYING, measure) for name in (few, many)]
                         for measure in ("miss", "jct"))  # fmt: skip
            yield compared("More jobs have a higher R^slo", many, miss[0], miss[1], percent)
            yield compared("More jobs have a smaller mean JCT", many, jct[1], jct[0], minutes,
                           why="all wait longer")  # fmt: skip


def _profiling(here: _Place) -> Iterator[Statement]:
    """What profiling takes, among jobs that are short against the wait for it."""
    yield here.less("UniSched misses less if a profiler is worth what the job can still win "
                    "instead of 1", "miss", PAYING, PRINTED_REWARD, own=True)  # fmt: skip
    yield here.less("UniSched misses more than if it were told run times", "miss", KNOWN, PAYING,
                    own=True)  # fmt: skip


def _references(here: _Place, information: str) -> Iterator[Statement]:
    """UniSched between EDF and the other baselines of Table III."""
    own, terms = knows(UNISCHED, information), EQUAL_TERMS[information]
    for policy in ("GENIE", "Hydra", "Optimus"):
        yield here.less(f"UniSched misses less than {policy}: {terms}", "miss", own,
                        knows(policy, information), own=True)  # fmt: skip
    yield here.less(f"EDF that decides every minute misses less than UniSched: {terms}", "miss",
                    knows(EDF, information), own, own=True)  # fmt: skip


# --- Fig. 5 --------------------------------------------------------------------------------------


def fig5(study: Study) -> Iterator[Statement]:
    """Judge the reward functions."""
    curve = {row.policy: row.curve for row in study.rows}
    (name,) = study.instances
    every = [value for values in curve.values() for value in values]
    yield judged("Rewards are between 0 and 100", name, min(every) >= 0 and max(every) <= 100,
                 f"{min(every):g} to {max(every):g}")  # fmt: skip
    profiler, best = curve["profiler"], curve["best effort"]
    yield judged("A profiler is worth 1, whenever it ends", name, set(profiler) == {1.0},
                 f"{min(profiler):g} to {max(profiler):g}")  # fmt: skip
    yield judged("A profiler is worth more than any best-effort job", name,
                 min(profiler) > max(best), f"best effort at most {max(best):.3g}")  # fmt: skip
    products = [value * minute for value, minute in zip(best, study.levels, strict=True) if minute]
    yield judged(
        "A best-effort job is worth the reciprocal of its remaining time", name,
        max(products) - min(products) < 1e-9,
        f"reward times minutes: {min(products):.2f} to {max(products):.2f}",
        "that has no unit, and exceeds a profiler's 1 where it is below 1 of its unit; here "
        "tau / (tau + remaining time), which falls likewise and is below 1",
    )  # fmt: skip
    strict, soft = (sorted(set(curve[kind]), reverse=True) for kind in ("strict SLO", "soft SLO"))
    yield judged("A strict SLO job is worth 100 up to its deadline, then 0", name,
                 strict == [100, 0], ", ".join(f"{value:g}" for value in strict))  # fmt: skip
    yield judged("A soft SLO job is worth 100, 80, 50, 20, then 0 (Section IV-B)", name,
                 soft == [100, 80, 50, 20, 0],
                 ", ".join(f"{value:g}" for value in soft))  # fmt: skip
    small, unit = min(value for value in soft if value), profiler[0]
    many = int(small / unit) + 1
    yield judged(
        "1 to 100: newly submitted and best-effort jobs do not impact SLO jobs' deadlines", name,
        not unit, f"{many} times {unit:g} against {small:g}",
        f"rewards add up: {many} profilers outweigh the last deadline of a soft job",
    )  # fmt: skip


# --- Fig. 6 --------------------------------------------------------------------------------------


def fig6(study: Study) -> Iterator[Statement]:
    """Judge the comparison of schedulers."""
    workloads = [name for name in study.instances if name != DENSITY]
    mixed = [name for name in workloads if "MIX" in name]
    for information in INFORMATION:
        for name in workloads:
            yield from _miss_rates(_Place(study, name), information)
        for kind in "HP":
            yield from _families(study, kind, information)
        yield _no_winner(study, mixed, information)
        for name in mixed:
            yield from _latencies(_Place(study, name), information)
        if DENSITY in study.instances:
            yield from _densities(study, information)
    for name in workloads:
        yield from _profiling(_Place(study, name))
        for information in INFORMATION:
            yield _Place(study, name).less(
                f"EDF misses less than UniSched: {EQUAL_TERMS[information]}", "miss",
                knows(EDF, information), knows(UNISCHED, information), own=True)  # fmt: skip


def _of(here: _Place, measure: str, group: Iterable[str], information: str) -> list[list[float]]:
    """What these policies have, all of them with the same information."""
    return here.of(measure, *(knows(policy, information) for policy in group))


def _miss_rates(here: _Place, information: str) -> Iterator[Statement]:
    name, terms = here.name, EQUAL_TERMS[information]
    (own,) = _of(here, "miss", [UNISCHED], information)
    aware, learning = (_of(here, "miss", group, information) for group in (DEADLINE, LEARNING))
    best = least(*aware, *learning)
    within = [value - 1 for value in own]  # "almost the best": here within a point
    yield compared(f"UniSched: (almost) the least R^slo (here: least + 1 point): {terms}", name,
                   within, best, lambda v: percent(own if v is within else v))  # fmt: skip
    worst = most(*aware)
    ahead = [p for p, v in zip(LEARNING, learning, strict=True) if v and fmean(v) < fmean(worst)]
    why = f"of {' and '.join(ahead)}: preemption, in favour of short jobs, whose slack is the least"
    yield compared(f"Every deadline-aware baseline misses less than every DL scheduler: {terms}",
                   name, worst, least(*learning), percent, why=why)  # fmt: skip
    if name.endswith("SLO"):
        yield compared(f"GENIE misses less than 3Sigma and Hydra: {terms}", name, aware[1],
                       least(aware[0], aware[2]), percent)  # fmt: skip
        yield compared(f"UniSched misses less than GENIE: {terms}", name, own, aware[1], percent)
    printed = {"SLO": "1.17 to 4.82", "MIX": "0.95 to 2.77"}["SLO" if "SLO" in name else "MIX"]
    yield _told(f"Deadline-aware baselines miss {printed} times as much as UniSched: {terms}", name,
                factors(own, aware))  # fmt: skip
    if "MIX" in name:
        yield _told(f"DL schedulers miss 2.01 to 6.84 times as much as UniSched: {terms}", name,
                    factors(own, learning))  # fmt: skip


def _families(study: Study, kind: str, information: str) -> Iterator[Statement]:
    names = [f"{kind}_{family}" for family in ("SLO", "MIX1", "MIX2")]
    if not set(names) <= set(study.instances):
        return
    own, terms = knows(UNISCHED, information), EQUAL_TERMS[information]
    slo, mix1, mix2 = (values(study, name, own, "miss") for name in names)
    yield compared(f"Best-effort jobs lower R^slo: MIX1 below SLO (UniSched): {terms}",
                   f"{kind}_*", mix1, slo, percent)  # fmt: skip
    yield compared(f"Soft deadlines lower R^slo: MIX2 below MIX1 (UniSched): {terms}", f"{kind}_*",
                   mix2, mix1, percent)  # fmt: skip


def _no_winner(study: Study, names: Sequence[str], information: str) -> Statement:
    best = []
    for name in names:
        found = {p: values(study, name, knows(p, information), "miss") for p in DEADLINE}
        known = {p: fmean(own) for p, own in found.items() if own}
        best.append(min(known, key=lambda p: known[p]) if known else "none")
    measured = ", ".join(f"{name} {own}" for name, own in zip(names, best, strict=True))
    return judged("There is no clear winner among 3Sigma, Hydra and GENIE (least R^slo): "
                  f"{EQUAL_TERMS[information]}", "MIX", len(set(best)) > 1,
                  measured)  # fmt: skip


def _latencies(here: _Place, information: str) -> Iterator[Statement]:
    name, terms = here.name, EQUAL_TERMS[information]
    (own,) = _of(here, "latency", [UNISCHED], information)
    aware, learning = (_of(here, "latency", group, information) for group in (DEADLINE, LEARNING))
    yield compared(f"UniSched: the least best-effort latency: {terms}", name, own,
                   least(*aware, *learning), minutes)  # fmt: skip
    yield compared("UniSched: less best-effort latency than the deadline-aware baselines: "
                   f"{terms}", name, own, least(*aware), minutes)  # fmt: skip
    if name.startswith("H"):
        yield compared(f"Optimus has less best-effort latency than UniSched on Helios: {terms}",
                       name, learning[0], own, minutes)  # fmt: skip
    for group, printed, label in ((aware, "1.66 to 4.02", "Deadline-aware baselines"),
                                  (learning, "1.18 to 3.11", "DL schedulers")):  # fmt: skip
        yield _told(f"{label} have {printed} times UniSched's best-effort latency: {terms}", name,
                    factors(own, group))  # fmt: skip


def _densities(study: Study, information: str) -> Iterator[Statement]:
    xs, terms = study.xs(DENSITY), EQUAL_TERMS[information]
    others, spans = (*DEADLINE, *LEARNING), []
    for policy in (UNISCHED, *others):
        label = knows(policy, information)
        column = [values(study, DENSITY, label, "miss", x) for x in xs]
        if all(column):
            means = [fmean(own) for own in column]
            yield judged(
                f"{policy}: a higher density raises R^slo: {terms}", DENSITY,
                all(a < b for a, b in pairwise(means)),
                ", ".join(f"{x}: {m:.2f}" for x, m in zip(xs, means, strict=True)) + " %",
            )  # fmt: skip
    for x in xs:
        for measure, what in (("miss", "R^slo"), ("latency", "best-effort latency")):
            own, *column = _of(_Place(study, DENSITY, x), measure, (UNISCHED, *others), information)
            yield compared(f"UniSched: the least {what} at density {x} %: {terms}", DENSITY, own,
                           least(*column), WRITTEN[measure])  # fmt: skip
            if measure == "miss":
                spans.append(f"{x}: {factors(own, column)}")
    yield _told(f"(c) The others miss 1.18 to 2.67 times as much as UniSched: {terms}", DENSITY,
                ", ".join(spans))  # fmt: skip
    own, optimus = _of(_Place(study, DENSITY, 80), "latency", (UNISCHED, "Optimus"), information)
    yield compared(f"Optimus has less best-effort latency at 80 % (printed: 0.67 times): {terms}",
                   DENSITY, optimus, own, minutes)  # fmt: skip
    own, genie = _of(_Place(study, DENSITY, 160), "latency", (UNISCHED, "GENIE"), information)
    yield _told(f"GENIE has 3.78 times UniSched's best-effort latency at 160 %: {terms}", DENSITY,
                factors(own, [genie]))  # fmt: skip


# --- Figs. 7 and 8 -------------------------------------------------------------------------------


def fig7(study: Study) -> Iterator[Statement]:
    """Judge the errors of the estimator."""
    for name in study.instances:
        if name.startswith("(c)"):
            xs = study.xs(name)
            for policy, more in ((ENSEMBLE, ": without a prior, as printed"), (UNISCHED, "")):
                errors = [study.value(name, policy, "mean", x) or 0.0 for x in xs]
                listed = ", ".join(f"{x}: {e:.0f}" for x, e in zip(xs, errors, strict=True))
                falls = all(b < a + 1 for a, b in pairwise(errors)) and errors[-1] < errors[0]
                yield judged(
                    f"The error falls as more epochs are seen (more than a point up: no){more}",
                    name, falls, f"{listed} %",
                )  # fmt: skip
            limit = study.value(name, MAXIMUM, "mean", xs[-1]) or 0.0
            yield judged("At the end it is less than half of that of the users' epochs", name,
                         2 * errors[-1] < limit, f"{errors[-1]:.0f} and {limit:.0f} %",
                         own=True)  # fmt: skip
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
        here = _Place(study, name)
        own, best = here.of("suspensions", "SLO", "best effort")
        if own:
            yield judged("SLO jobs have 2 to 6 suspensions on average", name,
                         2 <= fmean(own) <= 6, mean(own))  # fmt: skip
        if own and best:
            yield here.less("SLO jobs are suspended more than best-effort jobs", "suspensions",
                            "best effort", "SLO")  # fmt: skip


# --- Fig. 9 --------------------------------------------------------------------------------------


def fig9(study: Study) -> Iterator[Statement]:
    """Judge the parts of the estimator."""
    for name in [name for name in study.instances if "x =" not in name]:
        yield from _joint_parts(_Place(study, name))
    for name in [name for name in study.instances if "costs" in name]:
        for measure, what in (("miss", "R^slo"), ("latency", "best-effort latency")):
            aware, other = (_over_factors(study, name, p, measure) for p in (UNISCHED, UNAWARE))
            yield compared(f"(c) SR-aware: less {what} with costs of 2 to 5 times (mean)", name,
                           aware, other, WRITTEN[measure])  # fmt: skip
    for name in [name for name in study.instances if "noise" in name]:
        yield from _noise(study, name)


def _joint_parts(here: _Place) -> Iterator[Statement]:
    wait = "a static profiler has its nodes whatever is queued; in the selector profilers compete "
    wait += "with deadlines, so that new jobs wait where GPUs are short"
    yield here.less("(a) Joint profiling: less R^slo than with a static profiler", "miss",
                    UNISCHED, STATIC, why=wait)  # fmt: skip
    yield here.less("(a) Joint profiling: a shorter longest wait (printed: 840 s against 2,105 s)",
                    "longest_wait", UNISCHED, STATIC, why=wait)  # fmt: skip
    own, users, careful = here.of("metric_miss", UNISCHED, MAXIMUM, CAREFUL)
    half = "the estimate is a median, too short for every other job, and late is worse than early; "
    half += "the 90 % quantile has "
    less = careful and all(a < b for a, b in zip(careful, own, strict=False))
    yield here.less("(b) Epochs estimated: less R^slo of jobs with a target metric", "metric_miss",
                    UNISCHED, MAXIMUM, why=half + percent(careful) if less else "")  # fmt: skip
    reduced = [b - a for a, b in zip(own, users, strict=True)]
    yield _told("(b) ... by 0.7 to 5.1 points", here.name, mean(reduced, " points"))
    yield here.less("(b) ... and less without a prior, as the paper estimates them", "metric_miss",
                    ENSEMBLE, MAXIMUM)  # fmt: skip
    yield here.less("(b) A prior on what jobs save: less R^slo than without", "metric_miss",
                    UNISCHED, ENSEMBLE, own=True)  # fmt: skip
    yield here.less("(b) ... and less where the 90 % quantile is estimated", "metric_miss", CAREFUL,
                    MAXIMUM, own=True)  # fmt: skip
    yield here.less("(b) ... and less where the true epochs are known", "metric_miss", TRUE,
                    MAXIMUM, own=True)  # fmt: skip


def _over_factors(study: Study, name: str, policy: str, measure: str) -> list[float]:
    """Means over the larger costs, by seed."""
    column = [values(study, name, policy, measure, x) for x in study.xs(name) if x > 1]
    return [fmean(own) for own in zip(*column, strict=True)] if all(column) else []


def _noise(study: Study, name: str) -> Iterator[Statement]:
    column = {x: values(study, name, UNISCHED, "miss", x) for x in study.xs(name)}
    means = {x: fmean(own) for x, own in column.items() if own}
    listed = ", ".join(f"{x}: {m:.2f}" for x, m in means.items()) + " %"
    if {0, 20, 100} <= set(means):
        yield judged("(d) Robust to noise below 40 % (here: at 20 % at most a third more R^slo, "
                     "+ 1 point)", name, means[20] <= means[0] * 4 / 3 + 1, listed)  # fmt: skip
        yield compared("(d) Noise of 100 % raises R^slo", name, column[0], column[100], percent,
                       own=True)  # fmt: skip


# --- Fig. 10 -------------------------------------------------------------------------------------


def fig10(study: Study) -> Iterator[Statement]:
    """Judge lease length, objective and size of the linear program."""
    for name in [name for name in study.instances if "lease" in name]:
        yield from _leases(study, name)
    for name in [name for name in study.instances if "lease" not in name and name != QUEUE]:
        here = _Place(study, name)
        yield here.less("(b) Maximising the reward: less R^slo than only a feasible solution",
                        "miss", UNISCHED, FEASIBLE)  # fmt: skip
        if any(here.of("latency", UNISCHED)):
            yield here.less("(c) Maximising the reward: slightly more best-effort latency",
                            "latency", FEASIBLE, UNISCHED)  # fmt: skip
    if QUEUE in study.instances:
        gaps = [study.value(QUEUE, UNISCHED, "gap", x) or 0.0 for x in study.xs(QUEUE)]
        yield judged("(d) At every size the choice is within 1 % of the proven bound", QUEUE,
                     max(gaps) <= 1, ", ".join(f"{g:.3g}" for g in gaps) + " %",
                     own=True)  # fmt: skip


def _leases(study: Study, name: str) -> Iterator[Statement]:
    xs = study.xs(name)
    column = {x: values(study, name, UNISCHED, "miss", x) for x in xs}
    if not all(column.values()) or not {5, 10, 60} <= set(xs):
        return
    means = ", ".join(f"{x}: {fmean(own):.2f}" for x, own in column.items()) + " %"
    short = "a lease costs nothing where the job goes on, and who is suspended is the selector's "
    short += "choice"
    for x, why in ((5, short), (60, "")):
        yield compared(f"(a) Leases of {x} min have a higher R^slo than of 10", name, column[10],
                       column[x], percent, why=why)  # fmt: skip
    best = min(xs, key=lambda x: fmean(column[x]))
    if "MIX2" in name:
        yield judged("(a) 10 min have the least R^slo", name, best == 10, means)
    for policy, more in ((UNISCHED, ""), (GRID, "; jobs start at multiples of the lease only")):
        wide = {x: fmean(v) for x in (10, 30) if (v := values(study, name, policy, "miss", x))}
        if len(wide) == 2:
            yield judged(
                f"(a) Between 10 and 30 min the difference is small (here: 1 point){more}", name,
                abs(wide[30] - wide[10]) <= 1,
                ", ".join(f"{x}: {v:.2f}" for x, v in wide.items()) + " %",
                "jobs wait half a lease on average before they begin" if more else "",
                own=bool(more) or "MIX2" not in name,
            )  # fmt: skip
    for x in (5, 60):
        changes = [_change(study, name, policy, x) for policy in (UNISCHED, FREE, PRINTED_ROUNDING)]
        known = [change for change in changes if change is not None]
        if known == changes:
            yield Statement(
                f"(a) Of the change from 10 to {x} min, part is suspensions, part the rounding of "
                "leases", name, Agreement.OPEN,
                "{:+.2f} points; {:+.2f} where suspensions are free; {:+.2f} with the printed "
                "rounding".format(*known),
                "the paper does not separate them", in_paper=False,
            )  # fmt: skip
    yield _Place(study, name, 60).less(
        "(a) The printed rounding of leases has a higher R^slo at 60 min", "miss", UNISCHED,
        PRINTED_ROUNDING, own=True)  # fmt: skip


def _change(study: Study, name: str, policy: str, x: int) -> float | None:
    """By how much R^slo rises from leases of 10 min to others."""
    then, now = (values(study, name, policy, "miss", minutes) for minutes in (x, 10))
    return fmean(then) - fmean(now) if then and now else None


def fig10d(study: Study) -> Iterator[Statement]:
    """Judge the selector's time."""
    worst, at = 0.0, 0
    for x in study.xs(QUEUE):
        parts = [study.value(QUEUE, UNISCHED, m, x) or 0.0
                 for m in ("options_seconds", "cold_seconds")]  # fmt: skip
        if sum(parts) >= worst:
            worst, at = sum(parts), x
    yield judged("The selector takes less than 10 s (960 GPUs, a commercial solver)", QUEUE,
                 worst < 10, f"at most {worst:.2g} s, on {at} GPUs")  # fmt: skip


# --- Figs. 11 and 12 -----------------------------------------------------------------------------


def fig11(study: Study) -> Iterator[Statement]:
    """Judge the allocations."""
    for name in study.instances:
        gains = {}
        for x in study.xs(name):
            here = _Place(study, name, x)
            own, tight = here.of("miss", UNISCHED, "consolidated")
            gains[x] = [b - a for a, b in zip(own, tight, strict=True)]
            yield here.less(f"Joint optimisation: less R^slo than consolidation, {x} % hostile",
                            "miss", UNISCHED, "consolidated")  # fmt: skip
            yield here.less(f"... and less best-effort latency, {x} % hostile", "latency", UNISCHED,
                            "consolidated")  # fmt: skip
        xs = [x for x in gains if gains[x]]
        if len(xs) > 1:
            listed = ", ".join(f"{x}: {fmean(gains[x]):+.2f}" for x in xs)
            first, last = fmean(gains[xs[0]]), fmean(gains[xs[-1]])
            yield judged("The gap in R^slo grows with the share (first to last)", name,
                         last > first, f"{listed} points")  # fmt: skip


def fig12(study: Study) -> Iterator[Statement]:
    """Judge UniSched against Chronus and its parts."""
    wait = "Chronus profiles on nodes of its own; UniSched's new jobs wait for leases of SLO "
    wait += "jobs to end"
    yield from _printed_reductions(study)
    for name in study.instances:
        here = _Place(study, name)
        for parts, why in ((UNISCHED, wait), (WITH_ESTIMATOR, ""), (WITH_SELECTOR, wait)):
            yield here.less(f"{parts}: less R^slo than Chronus", "miss", parts, CHRONUS, why=why)
        yield here.less("The Estimator lowers R^slo more than the Selector", "miss", WITH_ESTIMATOR,
                        WITH_SELECTOR)  # fmt: skip
        for parts, text in ((WITH_SELECTOR, "Selector"), (WITH_ESTIMATOR, "Estimator")):
            yield here.less(f"The {text} lowers best-effort latency", "latency", parts, CHRONUS)
        if name == "P_MIX2":
            yield here.less("Chronus has less best-effort latency than UniSched", "latency",
                            CHRONUS, UNISCHED)  # fmt: skip


def _printed_reductions(study: Study) -> Iterator[Statement]:
    """By how much less is missed, and how much sooner best-effort jobs end, at most."""
    for parts, printed in ((UNISCHED, "up to 5.2 points"),
                           (WITH_ESTIMATOR, "up to 4.2 points, in H_MIX1"),
                           (WITH_SELECTOR, "up to 1.5 points, in P_MIX1")):  # fmt: skip
        found = _pairs(study, parts, "miss")
        if found:
            less = {name: chronus - own for name, (own, chronus) in found.items()}
            top = max(less, key=lambda name: less[name])
            yield _told(f"{parts}: less R^slo than Chronus by {printed}", "MIX",
                        f"up to {less[top]:.2f} points, in {top}")  # fmt: skip
    for parts, kind, printed in ((WITH_ESTIMATOR, "H", "up to 1.73 times Chronus's, Helios"),
                                 (WITH_SELECTOR, "", "1.04 to 1.66 times Chronus's")):  # fmt: skip
        found = _pairs(study, parts, "latency")
        ratios = [c / own for name, (own, c) in found.items() if name.startswith(kind) and own]
        if ratios:
            yield _told(f"{parts}: best-effort throughput of {printed}", "MIX",
                        f"{min(ratios):.2f} to {max(ratios):.2f} times")  # fmt: skip


def _pairs(study: Study, parts: str, measure: str) -> dict[str, tuple[float, float]]:
    """Means over seeds with these parts and of Chronus, by instance."""
    found = {name: _Place(study, name).of(measure, parts, CHRONUS) for name in study.instances}
    return {name: (fmean(own), fmean(c)) for name, (own, c) in found.items() if own and c}
