"""Figures 4 to 7 of Yu et al. (MobiHoc 2022), each over several seeds and with certified ratios.

The paper shows one unnamed instance. Here every point is computed on the instances of
:func:`gangsched.instances.generate.rar_workload` for both readings of its workload (variants A and
B) and for seeds 0 to 4, which draw cluster and workload alike. Every instance gets a lower bound
that :func:`gangsched.analysis.proofs.verify.verify_bound` has replayed, so that each makespan comes
with how far from optimal it can be.

======  ==========================================  =============================================
figure  varies                                      policies
======  ==========================================  =============================================
4       nothing                                     SJF-BCO, FF, LS, RAND and four others
5       kappa (distinct gang sizes, errata E13)     SJF-BCO with this kappa only
6       servers 10 to 20, T = 1500                  SJF-BCO, FF, LS, RAND and two others
7       lambda, kappa = 1                           SJF-BCO
======  ==========================================  =============================================

Choices of this project where the paper is silent:

- FF, LS and RAND get the jobs in arrival order; the policies "in SJF order" get them as SJF-BCO
  sorts them, by (gang size, position). LS in SJF order is SJF-BCO with kappa = max G_j.
- RAND is the mean of 5 repeats; repeat r on seed s draws with seed 5 s + r.
- A cluster of fewer servers is a prefix of the one with 20 of the same seed; the jobs are the same.
- A run that exceeds T has no makespan, see :class:`Reproduction`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from ....formulations.rar_ddls.problem import RarDdls
from ....instances.generate import SERVER_SIZES, paper_cluster, rar_workload
from ....instances.schedule import Schedule
from ....solvers import (
    BackfillingParams,
    backfilling,
    first_fit,
    list_scheduling,
    random_placement,
)
from ....solvers.rar_ddls.laminar import laminar
from ....solvers.rar_ddls.sjf_bco import SjfBcoParams, sjf_bco
from ....solvers.result import Result
from ...proofs.makespan import dff_bound, verify_bound
from ..pictures import bars, lines
from ..record import Check, Point, Reproduction, mean_makespan, means, per_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fig4", "fig5", "fig6", "fig7", "from_points"]

Variant = Literal["A", "B"]
Policy = Callable[[RarDdls], Result[Schedule]]
Progress = Callable[[str], None]

JOBS, SERVERS, T, T_FIG6 = 160, 20, 1200, 1500
SEEDS = (0, 1, 2, 3, 4)
VARIANTS: tuple[Variant, ...] = ("A", "B")
REPEATS = 5  # of RAND
KAPPAS = (1, 2, 4, 8, 16, 32)
REACHES = (1, 2, 4, 8)  # lambda
FEWER_SERVERS = tuple(range(10, 21))

BCO, FF, LS, RAND = "SJF-BCO", "FF", "LS", "RAND"
LS_SJF, FF_SJF = "LS in SJF order", "FF in SJF order"
LONGEST, AREA = "backfilling, longest first", "backfilling, least GPU time first"
LAMINAR = "laminar"
#: label: whether the paper has it
POLICIES: Mapping[str, bool] = {
    BCO: True,
    FF: True,
    LS: True,
    RAND: True,
    LS_SJF: False,
    LONGEST: False,
}
MORE_POLICIES: Mapping[str, bool] = {
    **POLICIES,
    FF_SJF: False,
    AREA: False,
    LAMINAR: False,
}


def fig4(
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce Fig. 4: makespan and mean completion time by policy.

    Parameters
    ----------
    seeds : sequence of int
    variants : sequence of {"A", "B"}
    progress : callable (str), optional
        Called after each instance with what has been done.

    Returns
    -------
    Reproduction
    """
    return _figure("fig4", seeds, variants, progress)


def fig5(
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce Fig. 5: makespan of SJF-BCO by kappa; parameters as of :func:`fig4`."""
    return _figure("fig5", seeds, variants, progress)


def fig6(
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce Fig. 6: makespan by number of servers; parameters as of :func:`fig4`."""
    return _figure("fig6", seeds, variants, progress)


def fig7(
    *,
    seeds: Sequence[int] = SEEDS,
    variants: Sequence[Variant] = VARIANTS,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce Fig. 7: makespan of SJF-BCO by lambda; parameters as of :func:`fig4`."""
    return _figure("fig7", seeds, variants, progress)


# --- experiments ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Experiment:
    """What makes one figure: the sizes of the cluster and what runs on each."""

    title: str
    axis: str
    horizon: int
    servers: Sequence[int]
    policies: Mapping[str, bool]
    runs: Callable[[RarDdls, int], Iterator[tuple[int, str, int, Result[Schedule]]]]
    checks: Callable[[Reproduction, str], Iterator[Check]]
    drawing: Callable[[Reproduction], Figure]
    swept: Mapping[str, Any]


def _figure(
    figure: str, seeds: Sequence[int], variants: Sequence[Variant], progress: Progress | None
) -> Reproduction:
    """Run one experiment on all its instances and judge the claims."""
    experiment = _EXPERIMENTS[figure]
    cases = [(v, s, n) for v in variants for s in seeds for n in experiment.servers]
    points: list[Point] = []
    for done, (variant, seed, servers) in enumerate(cases, 1):
        points += _points(experiment, variant, seed, servers)
        if progress is not None:
            progress(f"{figure}, {variant}, seed {seed}: {done} of {len(cases)}")
    return from_points(f"rar_ddls:{figure}", points)


def from_points(name: str, points: Sequence[Point]) -> Reproduction:
    """Judge the runs of a figure again, for example those of a file.

    Parameters
    ----------
    name : str
        Such as ``rar_ddls:fig4``.
    points : sequence of Point

    Returns
    -------
    Reproduction
        Settings, means and verdicts follow from the points.

    Examples
    --------
    >>> points = [Point("A", 0, k, "SJF-BCO", 0, 300, 500 - k, 99.5) for k in KAPPAS]
    >>> [check.holds for check in from_points("rar_ddls:fig5", points).checks]
    [False, True]
    """
    experiment = _EXPERIMENTS[name.removeprefix("rar_ddls:")]
    seeds, variants = (
        sorted({p.seed for p in points}),
        list(dict.fromkeys(p.variant for p in points)),
    )
    record = Reproduction(
        name=name,
        title=experiment.title,
        axis=experiment.axis,
        settings=_settings(experiment, seeds, variants),
        policies=experiment.policies,
        points=tuple(points),
        checks=(),
        drawing=experiment.drawing,
    )
    checks = [check for v in variants for check in experiment.checks(record, v)]
    return replace(record, checks=tuple(checks))


def _settings(
    experiment: _Experiment, seeds: Sequence[int], variants: Sequence[str]
) -> dict[str, Any]:
    parameters = _problem("A", 0, SERVERS, experiment.horizon).parameters()
    return {
        "jobs": JOBS,
        "servers": list(experiment.servers),
        "server_sizes": list(SERVER_SIZES),
        "T": experiment.horizon,
        "variants": list(variants),
        "seeds": list(seeds),
        "generator": "gangsched.instances.generate.paper_cluster and rar_workload",
        "repeats of RAND": REPEATS,
        "seed of repeat r of RAND on seed s": f"{REPEATS} s + r",
        "bound": "gangsched.analysis.proofs.makespan.dff_bound, verified",
        **experiment.swept,
        "parameters": parameters,
    }


def _problem(variant: Variant, seed: int, servers: int, horizon: int) -> RarDdls:
    cluster = paper_cluster(servers, seed=seed)
    instance = rar_workload(cluster, jobs=JOBS, seed=seed, variant=variant)
    return RarDdls(instance, horizon=horizon)


def _points(experiment: _Experiment, variant: Variant, seed: int, servers: int) -> Iterator[Point]:
    """Run everything on one instance, whose bound is verified first."""
    problem = _problem(variant, seed, servers, experiment.horizon)
    bound = dff_bound(problem)
    verify_bound(problem, bound)
    for x, policy, repeat, result in experiment.runs(problem, seed):
        makespan = time = None
        if result.solution is not None:
            makespan = problem.objective(result.solution)
            time = round(fmean(result.solution.end.tolist()), 6)
        yield Point(variant, seed, x, policy, repeat, int(bound.value), makespan, time)


def _all_policies(problem: RarDdls, seed: int) -> Iterator[tuple[int, str, int, Result[Schedule]]]:
    servers = len(problem.instance.cluster.nodes)
    largest = max(job.gpus for job in problem.jobs)
    yield servers, BCO, 0, sjf_bco(problem)
    yield servers, FF, 0, first_fit(problem)
    yield servers, LS, 0, list_scheduling(problem)
    for repeat in range(REPEATS):
        result = random_placement(problem, seed=REPEATS * seed + repeat)
        yield servers, RAND, repeat, result
    yield servers, LS_SJF, 0, sjf_bco(problem, params=SjfBcoParams(kappa=largest))
    yield servers, LONGEST, 0, backfilling(problem)


def _more_policies(problem: RarDdls, seed: int) -> Iterator[tuple[int, str, int, Result[Schedule]]]:
    servers = len(problem.instance.cluster.nodes)
    yield from _all_policies(problem, seed)
    yield servers, FF_SJF, 0, first_fit(_smallest_first(problem))
    yield servers, AREA, 0, backfilling(problem, params=BackfillingParams(order="area"))
    yield servers, LAMINAR, 0, laminar(problem)


def _smallest_first(problem: RarDdls) -> RarDdls:
    """The same problem with its jobs in the order in which SJF-BCO serves them."""
    ordered = sorted(problem.jobs, key=lambda job: job.gpus)  # stable: ties by position
    return replace(problem, instance=replace(problem.instance, jobs=tuple(ordered)))


def _each_kappa(problem: RarDdls, seed: int) -> Iterator[tuple[int, str, int, Result[Schedule]]]:
    for kappa in KAPPAS:
        yield kappa, BCO, 0, sjf_bco(problem, params=SjfBcoParams(kappa=kappa))


def _each_reach(problem: RarDdls, seed: int) -> Iterator[tuple[int, str, int, Result[Schedule]]]:
    for reach in REACHES:
        yield reach, BCO, 0, sjf_bco(problem, params=SjfBcoParams(kappa=1, reach=reach))


# --- claims --------------------------------------------------------------------------------------


def _values(record: Reproduction, variant: str, policy: str) -> list[float]:
    return [mean_makespan(record, variant, policy, x) for x in record.xs]


def _chain(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


def _seeds_where(record: Reproduction, variant: str, holds: Callable[[list[float]], bool]) -> str:
    """Say in how many seeds a claim about SJF-BCO's makespans along the axis holds."""
    columns = [per_seed(record, variant, BCO, x) for x in record.xs]
    count = sum(holds([column[seed] for column in columns]) for seed in columns[0])
    return f"in {count} of {len(columns[0])} seeds"


def _falls(values: Sequence[float]) -> bool:
    return all(a >= b for a, b in pairwise(values)) and values[0] > values[-1]


def _turns(values: Sequence[float]) -> str:
    """Directions that a series takes, without repetition: "-+-" falls, rises and falls."""
    signs = ["-" if b < a else "+" for a, b in pairwise(values) if a != b]
    return "".join(s for k, s in enumerate(signs) if k == 0 or s != signs[k - 1])


def _fig4_checks(record: Reproduction, variant: str) -> Iterator[Check]:
    x = record.xs[0]
    span = {p: mean_makespan(record, variant, p, x) for p in record.policies}
    time = {
        m["policy"]: m["mean_completion"] or float("inf")
        for m in means(record)
        if m["variant"] == variant
    }
    others = (FF, LS, RAND)
    for what, value in (("makespan", span), ("completion time", time)):
        best = min(others, key=value.__getitem__)
        yield Check(
            f"SJF-BCO has the smallest mean {what} of the paper's four policies",
            variant,
            value[BCO] < value[best],
            f"{value[BCO]:.1f}; next {best} {value[best]:.1f}",
        )
    yield _smallest_in_every_seed(record, variant, others)
    yield Check(
        "RAND has the largest mean makespan of the four",
        variant,
        all(span[RAND] > span[p] for p in (BCO, FF, LS)),
        f"{span[RAND]:.1f}; FF {span[FF]:.1f}, LS {span[LS]:.1f}",
        in_paper=False,
    )
    yield Check(
        "The job order alone gives SJF-BCO's makespan: LS in SJF order is within 1 %",
        variant,
        abs(span[LS_SJF] - span[BCO]) <= 0.01 * span[BCO],
        f"{span[LS_SJF]:.1f} and {span[BCO]:.1f}",
        in_paper=False,
    )
    for policy in (LONGEST, AREA, LAMINAR):
        for what, value in (("makespan", span), ("completion time", time)):
            yield Check(
                f"{policy}: a smaller mean {what} than SJF-BCO",
                variant,
                value[policy] < value[BCO],
                f"{value[policy]:.1f} and {value[BCO]:.1f}",
                in_paper=False,
            )


def _smallest_in_every_seed(record: Reproduction, variant: str, others: Sequence[str]) -> Check:
    spans = {p: per_seed(record, variant, p, record.xs[0]) for p in (BCO, *others)}
    wins = [all(spans[BCO][seed] < spans[p][seed] for p in others) for seed in spans[BCO]]
    return Check(
        "SJF-BCO has the smallest makespan of the four in every seed",
        variant,
        all(wins),
        f"in {sum(wins)} of {len(wins)} seeds",
        in_paper=False,
    )


def _fig5_checks(record: Reproduction, variant: str) -> Iterator[Check]:
    values = _values(record, variant, BCO)
    yield Check(
        "As kappa increases, the mean makespan drops, rises and drops again",
        variant,
        _turns(values) == "-+-",
        f"{_chain(values)}; {_seeds_where(record, variant, lambda v: _turns(v) == '-+-')}",
    )
    yield Check(
        "The largest kappa (no LBSGF at all) has the smallest mean makespan",
        variant,
        values[-1] == min(values),
        _seeds_where(record, variant, lambda v: v[-1] == min(v)),
        in_paper=False,
    )


def _fig6_checks(record: Reproduction, variant: str) -> Iterator[Check]:
    span = {p: _values(record, variant, p) for p in record.policies}
    for policy in (BCO, FF, LS):
        yield Check(
            f"The mean makespan of {policy} falls with every server added",
            variant,
            _falls(span[policy]),
            f"{span[policy][0]:.1f} to {span[policy][-1]:.1f}, "
            f"{sum(b > a for a, b in pairwise(span[policy]))} rises",
        )
    best = sum(
        span[BCO][k] < min(span[p][k] for p in (FF, LS, RAND)) for k in range(len(record.xs))
    )
    yield Check(
        "SJF-BCO has the smallest mean makespan at every number of servers",
        variant,
        best == len(record.xs),
        f"at {best} of {len(record.xs)}",
    )
    drop = {p: span[p][0] - span[p][-1] for p in (BCO, FF, LS)}
    yield Check(
        "FF's mean makespan falls most of SJF-BCO, FF and LS",
        variant,
        drop[FF] > max(drop[BCO], drop[LS]),
        ", ".join(f"{p} {value:.1f}" for p, value in drop.items()),
    )
    few, many = (1 - span[BCO][k] / min(span[FF][k], span[LS][k]) for k in (0, -1))
    yield Check(
        "SJF-BCO's advantage over FF and LS is larger with few servers",
        variant,
        few > many,
        f"{100 * few:.1f} % with {record.xs[0]} servers, {100 * many:.1f} % with {record.xs[-1]}",
    )


def _fig7_checks(record: Reproduction, variant: str) -> Iterator[Check]:
    values = _values(record, variant, BCO)
    yield Check(
        "The mean makespan falls as lambda increases",
        variant,
        _falls(values),
        f"{_chain(values)}; {_seeds_where(record, variant, _falls)}",
    )


_EXPERIMENTS = {
    "fig4": _Experiment(
        title="Fig. 4: makespan and mean completion time by policy",
        axis="servers",
        horizon=T,
        servers=(SERVERS,),
        policies=MORE_POLICIES,
        runs=_more_policies,
        checks=_fig4_checks,
        drawing=bars,
        swept={},
    ),
    "fig5": _Experiment(
        title="Fig. 5: makespan of SJF-BCO by kappa",
        axis="kappa",
        horizon=T,
        servers=(SERVERS,),
        policies={BCO: True},
        runs=_each_kappa,
        checks=_fig5_checks,
        drawing=lines,
        swept={"kappa": list(KAPPAS), "lambda": 1},
    ),
    "fig6": _Experiment(
        title="Fig. 6: makespan by number of servers",
        axis="servers",
        horizon=T_FIG6,
        servers=FEWER_SERVERS,
        policies=POLICIES,
        runs=_all_policies,
        checks=_fig6_checks,
        drawing=lines,
        swept={},
    ),
    "fig7": _Experiment(
        title="Fig. 7: makespan of SJF-BCO by lambda, kappa = 1",
        axis="lambda",
        horizon=T,
        servers=(SERVERS,),
        policies={BCO: True},
        runs=_each_reach,
        checks=_fig7_checks,
        drawing=lines,
        swept={"kappa": 1, "lambda": list(REACHES)},
    ),
}
