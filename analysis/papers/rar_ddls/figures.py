"""Figures 4 to 7 of Yu et al. (MobiHoc 2022), each over several seeds and with certified ratios.

The paper shows one unnamed instance. Here every point is computed on the instances of
:func:`gangsched.instances.generate.rar_workload` for both readings of its workload (variants A and
B), for three contentions, and for seeds 0 to 4, which draw cluster and workload alike: *light*,
with the 15 % for contention and overhead that the paper asks for; *heavy*, with extra communication
times of 30 to 60 %; and *shifted*, light with k = 1 + xi1 (p - 1) in (6), where the second job at a
node costs already. Every instance gets a lower bound that
:func:`gangsched.analysis.proofs.verify.verify_bound` has replayed, so that each makespan comes with
how far from optimal it can be.

======  ==========================================  =============================================
figure  varies                                      policies
======  ==========================================  =============================================
4       nothing                                     SJF-BCO, FF, LS, RAND and four others
5       kappa (distinct gang sizes, errata E13)     SJF-BCO with this kappa only
6       nodes 10 to 20, T = 1500                    SJF-BCO, FF, LS, RAND and two others
7       lambda, kappa = 1                           SJF-BCO
======  ==========================================  =============================================

Choices of this project where the paper is silent:

- FF, LS and RAND get the jobs in arrival order; the policies "in SJF order" get them as SJF-BCO
  sorts them, by (gang size, position). LS in SJF order is SJF-BCO with kappa = max G_j.
- RAND is the mean of 5 repeats; repeat r on seed s draws with seed 5 s + r.
- A cluster of fewer nodes is a prefix of the one with 20 of the same seed; the jobs are the same.
- A run that exceeds T counts as T, so that a mean with such runs is a lower estimate, shown as "≥".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise, product
from statistics import fmean
from types import MappingProxyType
from typing import Any, Literal, cast

from ....formulations.rar_ddls.problem import RarDdls
from ....instances.generate import NODE_SIZES, paper_cluster, rar_workload
from ....instances.schedule import Schedule
from ....solvers import BackfillingParams, backfilling, first_fit, list_scheduling, random_placement
from ....solvers.ours.rar_ddls.laminar import laminar
from ....solvers.rar_ddls.sjf_bco import SjfBcoParams, sjf_bco
from ....solvers.result import Result
from ...proofs.makespan import dff_bound, verify_bound
from ...show.columns import shown_ratio
from ..experiment import FigureCell, Finished, and_bounds, figures_of, over_bounds, seed_means
from ..study import OF_SEED, RATIO, FigureRow, Statement, Study, Values
from ..verdicts import Place, each, turns
from .conditions import conditions

Contention = Literal["clipped", "shifted"]
Solve = Callable[[RarDdls], Result[Schedule]]

JOBS, SERVERS, T, T_FIG6 = 160, 20, 1200, 1500
SEEDS = (0, 1, 2, 3, 4)
#: readings of the workload, and what contention costs: extra communication times and k of (6)
CONTENTIONS: Mapping[str, tuple[tuple[float, float], Contention]] = {
    "light": ((0.05, 0.10), "clipped"),
    "heavy": ((0.30, 0.60), "clipped"),
    "shifted": ((0.05, 0.10), "shifted"),
}
VARIANTS = tuple(f"{reading}, {name}" for name in CONTENTIONS for reading in "AB")
REPEATS = 5  # of RAND
KAPPAS = (1, 2, 4, 8, 16, 32)
REACHES = (1, 2, 4, 8)  # lambda
FEWER_SERVERS = tuple(range(10, 21))

BCO, FF, LS, RAND = "SJF-BCO", "FF", "LS", "RAND"
LS_SJF, FF_SJF = "LS in SJF order", "FF in SJF order"
LONGEST, AREA = "backfilling, longest first", "backfilling, least GPU time first"
LAMINAR = "laminar"
LBSGF = "LBSGF alone, lambda 8"
BOUND = "lower bound"
PAPER = (BCO, FF, LS, RAND)


# --- what is run ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RarWorkload:
    """An instance of a figure, drawn when it is needed."""

    variant: str
    seed: int
    servers: int = SERVERS
    horizon: int = T

    def problem(self) -> RarDdls:
        """Return the problem."""
        return _problem(self)


@lru_cache(maxsize=8)
def _problem(load: RarWorkload) -> RarDdls:
    cluster = paper_cluster(load.servers, seed=load.seed)
    reading, _, name = load.variant.partition(", ")
    extra, contention = CONTENTIONS[name or "light"]
    instance = rar_workload(
        cluster, jobs=JOBS, seed=load.seed, variant=cast("Any", reading), extra=extra
    )
    return RarDdls(instance, horizon=load.horizon, contention=contention)


def _run(cell: FigureCell) -> Values:
    return means([_ends(cell, cell.make)], cell.workload.horizon)


def _rand(cell: FigureCell) -> Values:
    first = REPEATS * cell.seed
    repeats = (partial(cell.make, seed=first + repeat) for repeat in range(REPEATS))
    return means([_ends(cell, make) for make in repeats], cell.workload.horizon)


def _ends(cell: FigureCell, solve: Solve) -> tuple[float, float] | None:
    """Makespan and mean completion time; None where a run exceeds T."""
    problem: RarDdls = cell.workload.problem()
    schedule = solve(problem).solution
    if schedule is None:
        return None
    return problem.objective(schedule), round(fmean(schedule.end.tolist()), 6)


def means(repeats: Sequence[tuple[float, float] | None], horizon: int) -> Values:
    """Return means of the repeats of a run; those beyond T count as T."""
    known = [ends for ends in repeats if ends is not None]
    spans = [horizon if ends is None else ends[0] for ends in repeats]
    return {
        "makespan": fmean(spans),
        "mean_completion": fmean(time for _, time in known) if len(known) == len(spans) else None,
        "most": max(spans),
        "beyond": len(spans) - len(known),
    }


def _bound(cell: FigureCell) -> dict[str, Any]:
    problem = cell.workload.problem()
    bound = dff_bound(problem)
    verify_bound(problem, bound)
    return {"bound": int(bound.value)}


def _ls_in_sjf_order(problem: RarDdls) -> Result[Schedule]:
    largest = max(job.gpus for job in problem.jobs)
    return sjf_bco(problem, params=SjfBcoParams(kappa=largest))


def _ff_in_sjf_order(problem: RarDdls) -> Result[Schedule]:
    """First fit, with the jobs in the order in which SJF-BCO serves them."""
    ordered = sorted(problem.jobs, key=lambda job: job.gpus)  # stable: ties by position
    instance = replace(problem.instance, jobs=tuple(ordered))
    return first_fit(replace(problem, instance=instance))


POLICIES: Mapping[str, Solve] = {
    BCO: sjf_bco,
    FF: first_fit,
    LS: list_scheduling,
    RAND: random_placement,
    LS_SJF: _ls_in_sjf_order,
    LONGEST: backfilling,
}
MORE_POLICIES: Mapping[str, Solve] = {
    **POLICIES,
    FF_SJF: _ff_in_sjf_order,
    AREA: partial(backfilling, params=BackfillingParams(order="area")),
    LAMINAR: laminar,
    LBSGF: partial(sjf_bco, params=SjfBcoParams(kappa=1, reach=8)),
}


#: a policy, the x at which it runs, nodes, and how it is called
Point = tuple[str, int | None, int, Solve]


def _cells(
    points: Sequence[Point],
    horizon: int = T,
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[str] = VARIANTS,
) -> list[FigureCell]:
    """Every point on every instance, with bounds."""
    cells = (
        FigureCell(
            instance=variant, policy=policy, run=_rand if policy == RAND else _run, make=solve,
            workload=RarWorkload(variant, seed, servers, horizon), x=x, seed=seed,
        )
        for variant in variants
        for seed in seeds
        for policy, x, servers, solve in points
    )  # fmt: skip
    return and_bounds(cells, _bound_of, _bound)


def _sjf_bco(x: int, **params: Any) -> Point:
    return BCO, x, SERVERS, partial(sjf_bco, params=SjfBcoParams(**params))


def _bound_of(cell: FigureCell) -> str:
    return BOUND


def _ratios(own: Values, bound: float) -> Values:
    """The mean and the worst of the repeats over a verified bound of the instance."""
    mean, worst = ((own[name] or 0.0) / bound for name in ("makespan", "most"))
    return {RATIO: round(mean, 9), "worst": round(worst, 9), "bound": bound}


def _rows(finished: Finished, measures: Mapping[str, str]) -> Iterator[FigureRow]:
    """Means over seeds; the worst ratio is that of all runs, and all runs beyond T are counted."""
    for row in seed_means(finished, dict.fromkeys((*measures, "worst", "bound", "beyond"), "")):
        found = {name: _of(row, name) for name in (RATIO, "worst", "beyond")}
        ratio = round(fmean(found[RATIO]), 9)  # digits enough to be rounded up
        more = {RATIO: ratio, "worst": max(found["worst"]), "beyond": sum(found["beyond"])}
        yield replace(row, values={**row.values, **more})


def _of(row: FigureRow, measure: str) -> list[float]:
    return [v or 0.0 for name, v in row.values.items() if name.startswith(f"{measure} [")]


# --- claims --------------------------------------------------------------------------------------


def _seeds_where(here: Place, holds: Callable[[Sequence[float]], bool]) -> str:
    """Say in how many seeds SJF-BCO's makespans along the axis are so."""
    columns = [here.by_seed(BCO, "makespan", x) for x in here.xs]
    found = [holds(own) for own in zip(*columns, strict=True)]
    return f"in {sum(found)} of {len(found)} seeds"


def _along(here: Place, policy: str) -> list[float]:
    return [*here.along(policy, "makespan").values()]


def _chain(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.1f}" for number in numbers)


def _falls(numbers: Sequence[float]) -> bool:
    return all(a >= b for a, b in pairwise(numbers)) and numbers[0] > numbers[-1]


@each()
def _fig4(here: Place) -> Iterator[Statement]:
    others = (FF, LS, RAND)
    kinds = ("makespan", "makespan"), ("completion time", "mean_completion")
    known = {what: here.known(measure, here.study.policies) for what, measure in kinds}
    late = dict.fromkeys(here.study.policies, math.inf)  # those beyond the horizon
    means = {what: late | found for what, found in known.items()}
    for what, of in means.items():
        best = min(others, key=of.__getitem__)
        measured = f"{of[BCO]:.1f}; next {best} {of[best]:.1f}"
        yield here.say("smallest mean", of[BCO] < of[best], measured, what=what)
    spans = zip(*here.of("makespan", BCO, *others), strict=True)
    wins = [own < min(rest) for own, *rest in spans]
    yield here.say("in every seed", all(wins), f"in {sum(wins)} of {len(wins)} seeds")
    span = means["makespan"]
    measured = f"{span[RAND]:.1f}; FF {span[FF]:.1f}, LS {span[LS]:.1f}"
    yield here.say("RAND", span[RAND] > max(span[p] for p in (BCO, FF, LS)), measured)
    near, measured = abs(span[LS_SJF] - span[BCO]), f"{span[LS_SJF]:.1f} and {span[BCO]:.1f}"
    yield here.say("order alone", near <= 0.01 * span[BCO], measured)
    measured = f"{span[LBSGF]:.1f} and {span[LS_SJF]:.1f}"
    yield here.say("LBSGF", span[LBSGF] < span[LS_SJF], measured)
    for policy, (what, of) in product((LONGEST, AREA, LAMINAR), means.items()):
        measured = f"{of[policy]:.1f} and {of[BCO]:.1f}"
        yield here.say("ours", of[policy] < of[BCO], measured, policy=policy, what=what)


@each()
def _fig5(here: Place) -> Iterator[Statement]:
    spans = _along(here, BCO)
    measured = f"{_chain(spans)}; {_seeds_where(here, lambda v: turns(v) == '-+-')}"
    yield here.say("kappa", turns(spans) == "-+-", measured)
    measured = _seeds_where(here, lambda v: v[-1] == min(v))
    yield here.say("largest kappa", spans[-1] == min(spans), measured)


@each()
def _fig6(here: Place) -> Iterator[Statement]:
    span = {p: _along(here, p) for p in here.study.policies}
    xs = here.xs
    for policy in (BCO, FF, LS):
        rises = sum(b > a for a, b in pairwise(span[policy]))
        measured = f"{span[policy][0]:.1f} to {span[policy][-1]:.1f}, {rises} rises"
        text = f"The mean makespan of {policy} falls with every server added"
        yield here.say(text, _falls(span[policy]), measured)
    best = sum(own < min(rest) for own, *rest in zip(*(span[p] for p in PAPER), strict=True))
    yield here.say("every number", best == len(xs), f"at {best} of {len(xs)}")
    drop = {p: span[p][0] - span[p][-1] for p in (BCO, FF, LS)}
    listed = ", ".join(f"{p} {value:.1f}" for p, value in drop.items())
    yield here.say("FF", drop[FF] > max(drop[BCO], drop[LS]), listed)
    few, many = (1 - span[BCO][k] / min(span[FF][k], span[LS][k]) for k in (0, -1))
    measured = f"{100 * few:.1f} % with {xs[0]} servers, {100 * many:.1f} % with {xs[-1]}"
    yield here.say("few servers", few > max(many, 0.0), measured)


@each()
def _fig7(here: Place) -> Iterator[Statement]:
    spans = _along(here, BCO)
    measured = f"{_chain(spans)}; {_seeds_where(here, _falls)}"
    yield here.say("The mean makespan falls as lambda increases", _falls(spans), measured)


def _settings(
    rows: Sequence[FigureRow],
    *,
    servers: Sequence[int] = (SERVERS,),
    horizon: int = T,
    swept: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    return {
        "jobs": JOBS,
        "servers": list(servers),
        "server_sizes": list(NODE_SIZES),
        "T": horizon,
        "variants": list(dict.fromkeys(row.instance for row in rows)),
        "seeds": sorted(
            {int(own[1]) for row in rows for v in row.values if (own := OF_SEED.search(v))}
        ),
        "not in the paper": [
            p for p in dict.fromkeys(row.policy for row in rows) if p not in PAPER
        ],
        "generator": "gangsched.instances.generate.paper_cluster and rar_workload",
        "contention": {n: {"extra": list(x), "k": k} for n, (x, k) in CONTENTIONS.items()},
        "repeats of RAND": REPEATS,
        "seed of repeat r of RAND on seed s": f"{REPEATS} s + r",
        "bound": "gangsched.analysis.bounds.dff_bound, verified",
        **swept,
        "parameters": RarWorkload(VARIANTS[0], 0, SERVERS, horizon).problem().parameters(),
    }


# --- the figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RarStudy(Study):
    """A figure of makespans, with a digit; a mean of runs that exceeded T is a lower estimate."""

    def written(self, name: str, row: FigureRow) -> str:
        """Write a measure of a row; the ratio with the worst of a run, where nothing varies."""
        value = row.values.get(name)
        if value is None or name == RATIO:
            worst = f" ({shown_ratio(row.values['worst'] or 0.0)})" * (not self.axis)
            return super().written(name, row) + worst * (name == RATIO)
        return "≥ " * bool(name == "makespan" and row.values["beyond"]) + f"{value:.1f}"


_figure = figures_of(
    "rar_ddls", steps=(partial(over_bounds, bound_of=_bound_of, divide=_ratios),), rows=_rows,
    form=RarStudy, facts=lambda cells: {}, settings=_settings, conditions=conditions,
)  # fmt: skip
fig4 = _figure(
    "fig4", statements=_fig4,
    cells=partial(_cells, [(name, None, SERVERS, own) for name, own in MORE_POLICIES.items()]),
)  # fmt: skip
fig5 = _figure(
    "fig5", cells=partial(_cells, [_sjf_bco(kappa, kappa=kappa) for kappa in KAPPAS]),
    statements=_fig5, settings=partial(_settings, swept={"kappa": list(KAPPAS), "lambda": 1}),
)  # fmt: skip
fig6 = _figure(
    "fig6", statements=_fig6,
    cells=partial(
        _cells, [(name, n, n, own) for n in FEWER_SERVERS for name, own in POLICIES.items()], T_FIG6
    ),
    settings=partial(_settings, servers=FEWER_SERVERS, horizon=T_FIG6),
)  # fmt: skip
fig7 = _figure(
    "fig7", cells=partial(_cells, [_sjf_bco(reach, kappa=1, reach=reach) for reach in REACHES]),
    statements=_fig7, settings=partial(_settings, swept={"kappa": 1, "lambda": list(REACHES)}),
)  # fmt: skip
