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
- A run that exceeds T has no makespan, see `points.Reproduction`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Any, Literal, cast

from ....formulations.rar_ddls.problem import RarDdls
from ....instances.generate import NODE_SIZES, paper_cluster, rar_workload
from ....instances.schedule import Schedule
from ....solvers import BackfillingParams, backfilling, first_fit, list_scheduling, random_placement
from ....solvers.rar_ddls.laminar import laminar
from ....solvers.rar_ddls.sjf_bco import SjfBcoParams, sjf_bco
from ....solvers.result import Result
from ...proofs.makespan import dff_bound, verify_bound
from ..experiment import Experiment, FigureCell, Finished
from ..study import FigureRow
from ..verdicts import judged
from .pictures import bars, lines
from .points import Point, Reproduction, by_seed, mean_makespan, means
from .referee import referee

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


def _run(cell: FigureCell) -> dict[str, Any]:
    problem: RarDdls = cell.workload.problem()
    schedule = cell.make(problem).solution
    if schedule is None:
        return {"makespan": None, "mean_completion": None}
    mean = round(fmean(schedule.end.tolist()), 6)
    return {"makespan": problem.objective(schedule), "mean_completion": mean}


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


POLICIES: Mapping[str, Solve | None] = {
    BCO: sjf_bco,
    FF: first_fit,
    LS: list_scheduling,
    RAND: None,  # by seed and repeat
    LS_SJF: _ls_in_sjf_order,
    LONGEST: backfilling,
}
MORE_POLICIES: Mapping[str, Solve | None] = {
    **POLICIES,
    FF_SJF: _ff_in_sjf_order,
    AREA: partial(backfilling, params=BackfillingParams(order="area")),
    LAMINAR: laminar,
    LBSGF: partial(sjf_bco, params=SjfBcoParams(kappa=1, reach=8)),
}


def _by_policy(
    policies: Mapping[str, Solve | None],
    all_servers: Sequence[int],
    horizon: int,
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[str] = VARIANTS,
) -> Iterator[FigureCell]:
    """Every policy on every instance; the repeats of RAND in a row."""
    for load in (
        RarWorkload(v, s, n, horizon) for v in variants for s in seeds for n in all_servers
    ):
        for policy, solve in policies.items():
            for repeat in range(1 if solve else REPEATS):
                make = solve or partial(random_placement, seed=REPEATS * load.seed + repeat)
                yield _cell(load, policy, load.servers, make)
        yield _cell(load, BOUND, load.servers)


def _by_params(
    params: Mapping[int, SjfBcoParams],
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[str] = VARIANTS,
) -> Iterator[FigureCell]:
    """SJF-BCO with parameters, by x."""
    for load in (RarWorkload(variant, seed) for variant in variants for seed in seeds):
        for x, own in params.items():
            yield _cell(load, BCO, x, partial(sjf_bco, params=own))
        yield _cell(load, BOUND, load.servers)


def _cell(load: RarWorkload, policy: str, x: int, make: Solve | None = None) -> FigureCell:
    return FigureCell(
        instance=load.variant, policy=policy, run=_run if make else _bound, workload=load,
        make=make, x=x, seed=load.seed,
    )  # fmt: skip


def _points(finished: Finished, measures: Mapping[str, str]) -> Iterator[FigureRow]:
    """One row a run, with the bound of its instance."""
    bounds = {c.workload: own["bound"] for c, own in finished if c.policy == BOUND}
    repeats: dict[tuple[object, ...], int] = {}
    for cell, own in finished:
        if cell.policy != BOUND:
            place = (cell.workload, cell.policy, cell.x)
            repeat = repeats[place] = repeats.get(place, -1) + 1
            names = {"seed": cell.seed, "repeat": repeat, "bound": bounds[cell.workload]}
            yield FigureRow(cell.instance, cell.policy, cell.x, {**names, **own})


#: whether the statement is ours, its text, whether it holds, and what was measured
Judgement = tuple[bool, str, bool, str]
PAPERS, OURS = False, True

# --- claims --------------------------------------------------------------------------------------


def _values(study: Reproduction, variant: str, policy: str) -> list[float]:
    return [mean_makespan(study, variant, policy, x) for x in study.xs(variant)]


def _chain(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


def _seeds_where(study: Reproduction, variant: str, holds: Callable[[list[float]], bool]) -> str:
    """Say in how many seeds a claim about SJF-BCO's makespans along the axis holds."""
    columns = [by_seed(study, variant, BCO, x) for x in study.xs(variant)]
    count = sum(holds([column[seed] for column in columns]) for seed in columns[0])
    return f"in {count} of {len(columns[0])} seeds"


def _falls(values: Sequence[float]) -> bool:
    return all(a >= b for a, b in pairwise(values)) and values[0] > values[-1]


def _turns(values: Sequence[float]) -> str:
    """Directions that a series takes, without repetition: "-+-" falls, rises and falls."""
    signs = ["-" if b < a else "+" for a, b in pairwise(values) if a != b]
    return "".join(s for k, s in enumerate(signs) if k == 0 or s != signs[k - 1])


def _fig4(study: Reproduction, variant: str) -> Iterator[Judgement]:
    x = study.xs(variant)[0]
    span = {p: mean_makespan(study, variant, p, x) for p in study.policies}
    time = {
        m["policy"]: m["mean_completion"] or float("inf")
        for m in means(study)
        if m["variant"] == variant
    }
    others = (FF, LS, RAND)
    for what, value in (("makespan", span), ("completion time", time)):
        best = min(others, key=value.__getitem__)
        text = f"SJF-BCO has the smallest mean {what} of the paper's four policies"
        measured = f"{value[BCO]:.1f}; next {best} {value[best]:.1f}"
        yield PAPERS, text, value[BCO] < value[best], measured
    yield _smallest_in_every_seed(study, variant, others)
    text = "RAND has the largest mean makespan of the four"
    measured = f"{span[RAND]:.1f}; FF {span[FF]:.1f}, LS {span[LS]:.1f}"
    yield OURS, text, all(span[RAND] > span[p] for p in (BCO, FF, LS)), measured
    text = "The job order alone gives SJF-BCO's makespan: LS in SJF order is within 1 %"
    measured = f"{span[LS_SJF]:.1f} and {span[BCO]:.1f}"
    yield OURS, text, abs(span[LS_SJF] - span[BCO]) <= 0.01 * span[BCO], measured
    text = "LBSGF alone, with lambda 8: a smaller mean makespan than LS in SJF order"
    measured = f"{span[LBSGF]:.1f} and {span[LS_SJF]:.1f}"
    yield OURS, text, span[LBSGF] < span[LS_SJF], measured
    for policy in (LONGEST, AREA, LAMINAR):
        for what, value in (("makespan", span), ("completion time", time)):
            text = f"{policy}: a smaller mean {what} than SJF-BCO"
            measured = f"{value[policy]:.1f} and {value[BCO]:.1f}"
            yield OURS, text, value[policy] < value[BCO], measured


def _smallest_in_every_seed(study: Reproduction, variant: str, others: Sequence[str]) -> Judgement:
    spans = {p: by_seed(study, variant, p, study.xs(variant)[0]) for p in (BCO, *others)}
    wins = [all(spans[BCO][seed] < spans[p][seed] for p in others) for seed in spans[BCO]]
    text = "SJF-BCO has the smallest makespan of the four in every seed"
    measured = f"in {sum(wins)} of {len(wins)} seeds"
    return OURS, text, all(wins), measured


def _fig5(study: Reproduction, variant: str) -> Iterator[Judgement]:
    values = _values(study, variant, BCO)
    text = "As kappa increases, the mean makespan drops, rises and drops again"
    measured = f"{_chain(values)}; {_seeds_where(study, variant, lambda v: _turns(v) == '-+-')}"
    yield PAPERS, text, _turns(values) == "-+-", measured
    text = "The largest kappa (no LBSGF at all) has the smallest mean makespan"
    measured = _seeds_where(study, variant, lambda v: v[-1] == min(v))
    yield OURS, text, values[-1] == min(values), measured


def _fig6(study: Reproduction, variant: str) -> Iterator[Judgement]:
    span = {p: _values(study, variant, p) for p in study.policies}
    xs = study.xs(variant)
    for policy in (BCO, FF, LS):
        text = f"The mean makespan of {policy} falls with every server added"
        rises = sum(b > a for a, b in pairwise(span[policy]))
        measured = f"{span[policy][0]:.1f} to {span[policy][-1]:.1f}, {rises} rises"
        yield PAPERS, text, _falls(span[policy]), measured
    best = sum(span[BCO][k] < min(span[p][k] for p in (FF, LS, RAND)) for k in range(len(xs)))
    text = "SJF-BCO has the smallest mean makespan at every number of servers"
    measured = f"at {best} of {len(xs)}"
    yield PAPERS, text, best == len(xs), measured
    drop = {p: span[p][0] - span[p][-1] for p in (BCO, FF, LS)}
    text = "FF's mean makespan falls most of SJF-BCO, FF and LS"
    measured = ", ".join(f"{p} {value:.1f}" for p, value in drop.items())
    yield PAPERS, text, drop[FF] > max(drop[BCO], drop[LS]), measured
    few, many = (1 - span[BCO][k] / min(span[FF][k], span[LS][k]) for k in (0, -1))
    text = "SJF-BCO's advantage over FF and LS is larger with few servers"
    measured = f"{100 * few:.1f} % with {xs[0]} servers, {100 * many:.1f} % with {xs[-1]}"
    yield PAPERS, text, few > max(many, 0.0), measured


def _fig7(study: Reproduction, variant: str) -> Iterator[Judgement]:
    values = _values(study, variant, BCO)
    text = "The mean makespan falls as lambda increases"
    measured = f"{_chain(values)}; {_seeds_where(study, variant, _falls)}"
    yield PAPERS, text, _falls(values), measured


def _each(judge: Callable[[Reproduction, str], Iterable[Judgement]]) -> Any:
    """Judge on every variant."""
    return lambda study: (
        judged(text, variant, holds, measured, own=own)
        for variant in study.instances
        for own, text, holds, measured in judge(study, variant)
    )


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
        "seeds": sorted({row.values["seed"] for row in rows}),
        "generator": "gangsched.instances.generate.paper_cluster and rar_workload",
        "contention": {n: {"extra": list(x), "k": k} for n, (x, k) in CONTENTIONS.items()},
        "repeats of RAND": REPEATS,
        "seed of repeat r of RAND on seed s": f"{REPEATS} s + r",
        "bound": "gangsched.analysis.bounds.dff_bound, verified",
        **swept,
        "parameters": RarWorkload(VARIANTS[0], 0, SERVERS, horizon).problem().parameters(),
    }


def from_points(name: str, points: Sequence[Point]) -> Reproduction:
    """Judge the runs of a figure again, for example those of a file.

    Examples
    --------
    >>> points = [Point("A, light", 0, k, "SJF-BCO", 0, 300, 500 - k, 99.5) for k in KAPPAS]
    >>> [check.holds for check in from_points("rar_ddls:fig5", points).checks]
    [False, True]
    """
    (figure,) = (own for own in (fig4, fig5, fig6, fig7) if own.name == name)
    study = figure.study({point.variant: {} for point in points}, [point.row for point in points])
    assert isinstance(study, Reproduction)
    return study


# --- the figures ---------------------------------------------------------------------------------

_figure = partial(
    Experiment, rows=_points, form=Reproduction, facts=lambda cells: {}, referee=referee
)
fig4 = _figure(
    name="rar_ddls:fig4",
    title="Fig. 4: makespan and mean completion time by policy",
    axis="servers",
    cells=partial(_by_policy, MORE_POLICIES, (SERVERS,), T),
    statements=_each(_fig4),
    settings=_settings,
    drawing=bars,
)
fig5 = _figure(
    name="rar_ddls:fig5",
    title="Fig. 5: makespan of SJF-BCO by kappa",
    axis="kappa",
    cells=partial(_by_params, {kappa: SjfBcoParams(kappa=kappa) for kappa in KAPPAS}),
    statements=_each(_fig5),
    settings=partial(_settings, swept={"kappa": list(KAPPAS), "lambda": 1}),
    drawing=lines,
)
fig6 = _figure(
    name="rar_ddls:fig6",
    title="Fig. 6: makespan by number of servers",
    axis="servers",
    cells=partial(_by_policy, POLICIES, FEWER_SERVERS, T_FIG6),
    statements=_each(_fig6),
    settings=partial(_settings, servers=FEWER_SERVERS, horizon=T_FIG6),
    drawing=lines,
)
fig7 = _figure(
    name="rar_ddls:fig7",
    title="Fig. 7: makespan of SJF-BCO by lambda, kappa = 1",
    axis="lambda",
    cells=partial(_by_params, {reach: SjfBcoParams(kappa=1, reach=reach) for reach in REACHES}),
    statements=_each(_fig7),
    settings=partial(_settings, swept={"kappa": 1, "lambda": list(REACHES)}),
    drawing=lines,
)
