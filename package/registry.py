"""Names of problems, solvers, settings, policies and readers, as the command line uses them.

Names are the Python names with ``-`` for ``_``; both are accepted. Other people's solvers and
policies take part as ``module:object``, as ``file.py:object`` or through the entry point groups
``gangsched.solvers`` and ``gangsched.policies``. A solver is a callable ``(problem, *, seed,
time_limit) -> Result``; a policy is a :class:`gangsched.solvers.Policy`, or a class or function
that makes one.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .analysis.comparing.comparison import Extras
from .analysis.comparing.revenue import revenue_measures
from .formulations.gandiva_fair.problem import Aim, GpuMarket
from .formulations.irmp.problem import Irmp, paper_problem, reduced_problem
from .formulations.rar_ddls.problem import RarDdls
from .formulations.unisched.problem import UniSched
from .instances import (
    Cluster,
    DeadlineJob,
    Instance,
    Job,
    Linear,
    Node,
    ParameterServerJob,
    RingJob,
    User,
    generate,
    heterogeneous,
)
from .instances.convert import Conversion, to_rar_instance, to_revenue_instance
from .instances.deadlines import queue_snapshot
from .instances.traces import READERS
from .solvers import backfilling, first_fit, list_scheduling, random_placement
from .solvers.policy import Policy
from .solvers.rar_ddls.laminar import LaminarParams, laminar
from .solvers.rar_ddls.sjf_bco import SjfBcoParams, sjf_bco
from .solvers.result import Result, Stop
from .solvers.unisched.estimator import DurationEstimates

__all__ = [
    "POLICIES",
    "PROBLEMS",
    "READERS",
    "REPLAYED",
    "VARIANTS",
    "ProblemEntry",
    "lookup",
    "plugins",
    "policy",
    "solver",
    "warm_up",
    "warm_up_policy",
]

Solver = Callable[..., Result[Any]]
FOREIGN = "module:object or file.py:object"


def _exact(problem: Any, *, seed: int = 0, time_limit: float | None = None) -> Result[Any]:
    from .solvers.exact import solve_exact  # Pyomo takes a second to import

    return solve_exact(problem, time_limit=time_limit)


def _paper(
    variant: Any, *, jobs: int | None, nodes: int | None, seed: int, **changes: Any
) -> RarDdls:
    """Yu et al.'s setting: 160 jobs on 20 servers of 4, 8, 16 or 32 GPUs, T = 1200."""
    extra = changes.pop("extra", (0.05, 0.10))
    cluster = generate.paper_cluster(nodes or 20, seed=seed)
    instance = generate.rar_workload(
        cluster, jobs=jobs or 160, seed=seed, variant=variant, extra=extra
    )
    return RarDdls(instance, **{"horizon": 1200, **changes})


def _tiny() -> RarDdls:
    """Three jobs of four slots on two GPUs: no schedule meets the area bound of six."""
    jobs = [RingJob(id=i, gpus=1, iterations=4, gradient=0.0, base_time=0.9) for i in "abc"]
    return RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))


def _queue(
    mix: Literal["philly", "helios"], *, jobs: int | None, nodes: int | None, seed: int
) -> UniSched:
    """2,000 jobs that want 1.5 times as many GPUs as there are."""
    if nodes is not None:
        raise ValueError("--nodes does not go with a queue, whose cluster follows from its load")
    return UniSched(queue_snapshot(jobs or 2000, mix=mix, seed=seed))


def _tiny_queue() -> UniSched:
    """Three gangs, two of which have to share a node in turn; all meet their deadlines."""
    jobs = [
        DeadlineJob(id=i, gpus=3, work=600, rewards=[(1200, 100)], split_speed=0.5) for i in "abc"
    ]
    return UniSched(Instance(Cluster.of_sizes([4, 4]), jobs))


def _from_gangs(trace: Any, *, cluster: Cluster, **options: Any) -> tuple[RarDdls, Conversion[Any]]:
    made = to_rar_instance(trace, cluster, **options)
    return RarDdls(made.instance), made


def _from_submissions(
    trace: Any,
    *,
    jobs: int | None,
    nodes: int | None,
    seed: int,
    utility: Literal["linear", "convex"] = "linear",
) -> tuple[Irmp, Conversion[Any]]:
    """Wang et al.'s workload with the submissions of a trace; servers are drawn."""
    made, parameters = to_revenue_instance(
        trace, jobs=jobs, servers=nodes or 100, utility=utility, seed=seed
    )
    return Irmp(made.instance, **parameters), made


def _revenue(
    make: Callable[..., Irmp],
    *,
    jobs: int | None,
    nodes: int | None,
    seed: int,
    utility: Literal["linear", "convex"] = "linear",
) -> Irmp:
    """Wang et al.'s setting, with its own numbers of jobs and servers where none are given."""
    sizes = {name: size for name, size in (("jobs", jobs), ("servers", nodes)) if size is not None}
    return make(utility=utility, seed=seed, **sizes)


def _tiny_revenue() -> Irmp:
    """Three jobs of two users, each on one of three servers; they are worth the same at any end."""
    jobs = [
        ParameterServerJob(
            id=id, user=id[0], gpus=2, release=1, epochs=2, minibatches=1, rates=(1, 0.5),
            utility=Linear(0, 100),
        )
        for id in ("a1", "a2", "b1")
    ]  # fmt: skip
    cluster = Cluster([Node(f"s{i}", 2, ps=1) for i in range(4)])
    return Irmp(Instance(cluster, jobs, [User("a"), User("b")]), owners=tuple("aabb"), horizon=64)


def _later(place: str, *takes: str, **always: Any) -> Callable[..., Any]:
    """Return a function of solvers; its module, which may need HiGHS or numba, is imported then.

    Of seed and time limit it is handed those that it takes; other arguments always.
    """

    def solve(problem: Any, *, seed: int = 0, time_limit: Any = None, **more: Any) -> Any:
        module, _, name = place.rpartition(".")
        given = {"seed": seed, "time_limit": time_limit}
        handed = {name: given[name] for name in takes}
        found = getattr(import_module(f".solvers.{module}", __package__), name)
        return found(problem, **handed, **{**always, **more})

    return solve


def _astraea(**params: Any) -> Callable[..., Any]:
    def solve(problem: Irmp, **options: Any) -> Any:
        from .solvers.irmp.astraea import AstraeaParams, astraea

        return astraea(problem, params=AstraeaParams(**params), **options)

    return solve


def _market(draw: str, *, jobs: int | None, nodes: int | None, seed: int) -> GpuMarket:
    """A market of Chaudhary et al.'s kind; its GPUs belong to it."""
    for name, number in (("jobs", jobs), ("nodes", nodes)):
        if number is not None:
            raise ValueError(f"--{name} does not go with a market of users and GPUs")
    if draw == "table3":
        users, models, speeds, tickets, gpus = heterogeneous.table3_market()
    else:
        users, models, speeds, tickets, gpus = heterogeneous.random_market(20, seed=seed)
    return GpuMarket(gpus, speeds, tickets, users=users, models=models)


def _no_market(instance: Instance[Any]) -> GpuMarket:
    raise ValueError(
        "a market of GPUs is not made of an instance: give a problem file or a setting"
    )


def _aiming(aim: Aim, name: str) -> Callable[..., Result[Any]]:
    """Return what divides a market by one aim, whatever its own."""

    def solve(problem: GpuMarket, *, seed: int = 0, time_limit: float | None = None) -> Result[Any]:
        found = getattr(import_module(".solvers.gandiva_fair.market", __package__), name)
        result: Result[Any] = found(replace(problem, aim=aim))
        if problem.aim == aim or result.solution is None:
            return result
        return Result.of(
            problem, result.solution, solver=name, stop=Stop.COMPLETED, runtime=result.runtime
        )

    return solve


MARKET_AIMS: Mapping[Aim, Callable[..., Result[Any]]] = {
    "total": _aiming("total", "efficient_allocation"),
    "max-min": _aiming("max-min", "max_min_allocation"),
    "nash": _aiming("nash", "nash_allocation"),
}


def _fair_share(
    problem: GpuMarket, *, seed: int = 0, time_limit: float | None = None
) -> Result[Any]:
    return Result.of(problem, problem.fair(), solver="fair-share", stop=Stop.COMPLETED)


def _market_bound(problem: GpuMarket, **options: Any) -> Any:
    return MARKET_AIMS[problem.aim](problem).bound


def _market_measures(problem: GpuMarket, result: Result[Any]) -> dict[str, float | None]:
    assert result.solution is not None
    values = problem.values(result.solution)
    gains = (values / problem.fair_values).tolist()
    weights = (problem.tickets / problem.tickets.sum()).tolist()
    mean = prod(gain**weight for gain, weight in zip(gains, weights, strict=True))
    return {"least gain": min(gains), "mean gain": mean}


def _tiny_market() -> GpuMarket:
    """One user: all have all."""
    return GpuMarket(np.array([2, 1]), np.array([[1.0, 2.0]]))


def _preemptive(problem: Irmp) -> Irmp:
    return replace(problem, preemptive=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemEntry:
    """What the command line knows of one problem.

    Parameters
    ----------
    make : callable
        Instance to problem, with the paper's parameters; a problem without instance refuses it.
    convert : callable or None
        Trace to a problem and an account of what was left out; takes seed=, and cluster=, jobs=,
        pick=, or jobs=, nodes=, utility= where it draws the cluster. None where traces do not have
        what the problem needs.
    solvers : mapping of name to solver
    compared : sequence of str
        Solvers that a comparison runs when none are named; the first is the one that `solve` runs.
    settings : mapping of name to callable (jobs=, nodes=, seed=)
        Seeded generators of whole problems; some take utility= too.
    measure : str
        What the objective is, in one word.
    unit : str
        Of times; also of the objective where that is a time. Empty where there are none.
    tiny : callable
        A problem that every solver solves at once.
    quick : mapping of solver to keyword arguments
        What makes it do little there.
    extras : Extras
        What it adds to comparisons.
    """

    make: Callable[..., Any]
    convert: Callable[..., tuple[Any, Conversion[Any]]] | None
    solvers: Mapping[str, Solver]
    compared: tuple[str, ...]
    settings: Mapping[str, Callable[..., Any]]
    measure: str
    unit: str
    tiny: Callable[[], Any]
    quick: Mapping[str, Mapping[str, Any]]
    extras: Extras = field(default_factory=Extras)


#: what the columns of a comparison of markets mean
MARKET: Sequence[str] = (
    "value: GPUs times their speeds, of all users",
    "least gain: of a user, over its fair share of each GPU model",
    "mean gain: the geometric mean by tickets; largest in the competitive equilibrium (nash)",
)
#: what the columns of a comparison of IRMP mean
REVENUE: Sequence[str] = (
    "true revenue: what jobs are worth when they are complete",
    "without losses: the same, less jobs worth less than nothing, which could be left out",
    "ideal revenue: the same, counted from the beginning of a job's round; nobody earns it",
    "fairness variance: of alpha, share of a positive revenue over that of the servers, by user",
    "preemptive: preempts for free, so it has the bound of a problem that allows this",
)

PROBLEMS: Mapping[str, ProblemEntry] = {
    "rar-ddls": ProblemEntry(
        make=RarDdls,
        convert=_from_gangs,
        solvers={
            "sjf-bco": sjf_bco,
            "sjf-bco:printed": partial(sjf_bco, params=SjfBcoParams(search="printed")),
            "first-fit": first_fit,
            "list-scheduling": list_scheduling,
            "random-placement": random_placement,
            "backfill-longest": partial(backfilling, order="longest"),
            "backfill-area": partial(backfilling, order="area"),
            "backfill-gpus": partial(backfilling, order="gpus"),
            "backfill-arrival": partial(backfilling, order="arrival"),
            "laminar": laminar,
            "exact": _exact,
        },
        compared=(
            "sjf-bco",
            "first-fit",
            "list-scheduling",
            "random-placement",
            "backfill-area",
            "backfill-longest",
            "laminar",
        ),
        settings={
            "paper-a": partial(_paper, "A"),
            "paper-b": partial(_paper, "B"),
            "heavy": partial(_paper, "B", extra=(0.30, 0.60), xi2=3e-4),
        },
        measure="makespan",
        unit="slots",
        tiny=_tiny,
        quick={"laminar": {"params": LaminarParams(rounds=1, steps=1)}},
    ),
    "unisched": ProblemEntry(
        make=UniSched,
        convert=None,
        solvers={
            "lp-selector": _later("unisched.selectors.lp_selector", "seed", "time_limit"),
            "density-greedy": _later("unisched.selectors.density_greedy", "seed", "time_limit"),
            "opportunity-price": _later(
                "unisched.selectors.opportunity_price", "seed", "time_limit"
            ),
            "exact": _exact,
        },
        compared=("lp-selector", "density-greedy", "opportunity-price"),
        settings={
            "queue-helios": partial(_queue, "helios"),
            "queue-philly": partial(_queue, "philly"),
        },
        measure="reward",
        unit="seconds",
        tiny=_tiny_queue,
        quick={},
    ),
    "irmp": ProblemEntry(
        make=Irmp,
        convert=_from_submissions,
        solvers={
            "lp-list": _later("irmp.lists.lp_list", "time_limit"),
            "posted-prices": _later("irmp.lists.posted_prices", "time_limit"),
            "astraea": _later("irmp.astraea.astraea", "seed", "time_limit"),
            "astraea:reject-negative": _astraea(reject_negative=True),
            "astraea:printed": _astraea(literal=True),
            "batch-sche": _later("irmp.astraea.batch_sche", "seed", "time_limit"),
            "gandiva-like": _later("irmp.revenue_sharing.gandiva_like"),
            "hived-like": _later("irmp.revenue_sharing.hived_like"),
            "online-fifo": _later("irmp.online.online_fifo"),
            "online-spt": _later("irmp.online.online_spt"),
            "online-density": _later("irmp.online.online_density"),
            "online-slope": _later("irmp.online.online_slope"),
            "rolling-lp": _later("irmp.online.rolling_lp"),
            "search": _later("irmp.search.revenue_search", "seed", "time_limit"),
            "exact": _later("irmp.chain.irmp_exact", "time_limit"),
        },
        compared=(
            "lp-list",
            "astraea",
            "astraea:reject-negative",
            "batch-sche",
            "gandiva-like",
            "hived-like",
            "online-fifo",
            "online-density",
        ),
        settings={
            "paper": partial(_revenue, paper_problem),
            "reduced": partial(_revenue, reduced_problem),
        },
        measure="true revenue",
        unit="slots",
        tiny=_tiny_revenue,
        quick={},
        extras=Extras(
            bound=_later("irmp.columns.revenue_bound", "time_limit"),
            measures=revenue_measures,
            relaxations={"preemptive": _preemptive},
            legend=REVENUE,
        ),
    ),
    "gandiva-fair": ProblemEntry(
        make=_no_market,
        convert=None,
        solvers={
            "trading": _later("gandiva_fair.trading.traded_allocation"),
            "trading:midpoint": _later("gandiva_fair.trading.traded_allocation", price="midpoint"),
            "trading:second-of-all": _later(
                "gandiva_fair.trading.traded_allocation", price="second-of-all"
            ),
            "efficient": MARKET_AIMS["total"],
            "max-min": MARKET_AIMS["max-min"],
            "nash": MARKET_AIMS["nash"],
            "fair-share": _fair_share,
        },
        compared=("trading", "efficient", "max-min", "nash", "fair-share"),
        settings={"table3": partial(_market, "table3"), "random": partial(_market, "random")},
        measure="value",
        unit="",
        tiny=_tiny_market,
        quick={},
        extras=Extras(bound=_market_bound, measures=_market_measures, legend=MARKET),
    ),
}


def _policy(place: str, folder: str = "solvers", **options: Any) -> Callable[..., Policy]:
    """Return what makes a policy of this project; its module is imported when that happens."""

    def make(**more: Any) -> Policy:
        module, _, name = place.rpartition(".")
        kind = getattr(import_module(f".{folder}.{module}", __package__), name)
        made: Policy = kind(**options, **more)
        return made

    return make


UNISCHED = "unisched.policy.UniSchedPolicy"

#: policies by name; ``name:variant`` is one with other options than the default
POLICIES: Mapping[str, Callable[..., Policy]] = {
    "fifo": _policy("policies.fifo.Fifo"),
    "fifo:backfill": _policy("policies.fifo.Fifo", blocking=False),
    "sjf": _policy("policies.sjf.Sjf"),
    "sjf:backfill": _policy("policies.sjf.Sjf", blocking=False),
    "srtf": _policy("policies.srtf.Srtf"),
    "las": _policy("policies.las.Las"),
    "yarn-cs": _policy("policies.yarn_cs.YarnCs"),
    "yarn-cs:backfill": _policy("policies.yarn_cs.YarnCs", backfill=True),
    "hived": _policy("policies.hived.Hived"),
    "hived:backfill": _policy("policies.hived.Hived", backfill=True),
    "allox": _policy("policies.allox.Allox"),
    "tiresias-l": _policy("policies.tiresias_l.TiresiasL"),
    "themis": _policy("policies.themis.Themis"),
    "themis-greedy": _policy("policies.themis.ThemisGreedy"),
    "gandiva-fair": _policy("gandiva_fair.policy.GandivaFair"),
    "gandiva-fair:no-trade": _policy("gandiva_fair.policy.GandivaFair", trading=False),
    "max-min-fairness": _policy("policies.max_min_fairness.MaxMinFairness"),
    "finish-time-fairness": _policy("policies.finish_time_fairness.FinishTimeFairness"),
    "three-sigma": _policy("unisched.three_sigma.ThreeSigma"),
    "genie": _policy("unisched.genie.Genie"),
    "genie:elastic": _policy("unisched.genie.Genie", elastic=True),
    "hydra": _policy("unisched.hydra.Hydra"),
    "hydra:cost": _policy("unisched.hydra.Hydra", cost=True),
    "optimus": _policy("unisched.optimus.Optimus"),
    "optimus:elastic": _policy("unisched.optimus.Optimus", elastic=True),
    "chronus": _policy("unisched.chronus.Chronus"),
    "chronus:estimator": _policy(
        "unisched.chronus.Chronus", sr_aware=True, estimates=DurationEstimates()
    ),
    "chronus:selector": _policy(UNISCHED, sr_aware=False, iterations="maximum"),
    "unisched": _policy(UNISCHED),
    "unisched:profile-first": _policy(UNISCHED, profiler_reward=100.0),
    "unisched:static-profiler": _policy(UNISCHED, profiling="static"),
    "unisched:known": _policy(UNISCHED, profiling="none"),
    "unisched:no-suspensions": _policy(UNISCHED, sr_aware=False),
    "unisched:most-epochs": _policy(UNISCHED, iterations="maximum"),
    "unisched:feasible": _policy(UNISCHED, selector="feasible"),
    "unisched:density": _policy(UNISCHED, selector="density"),
    "unisched:price": _policy(UNISCHED, selector="price"),
    "unisched:consolidated": _policy(UNISCHED, allocations="consolidated"),
    "unisched:exact": _policy(UNISCHED, allocations="exact"),
    "ltgf": _policy("ltgf.policy.LtgfPolicy"),
    "ltgf:quota": _policy("ltgf.policy.LtgfPolicy", fair_share="quota"),
    "ltgf:rho-minus": _policy("ltgf.policy.LtgfPolicy", job_key="rho-minus"),
    "ltgf:renewal-first": _policy("ltgf.policy.LtgfPolicy", renewal_first=True),
    "ltgf:printed": _policy("ltgf.policy.PrintedLtgf"),
    "rolling-horizon": _policy("driving.rolling_horizon.plan_completion_times", "analysis"),
    "rolling-horizon:ltgf": _policy("driving.rolling_horizon.plan_ltgf_rounds", "analysis"),
}
#: other names of policies
ALIASES: Mapping[str, str] = {"max-min": "max-min-fairness"}
_PASS = "later jobs may fill the gap before one that finds no room"
#: how each ``name:variant`` differs from the policy of that name
VARIANTS: Mapping[str, str] = {
    "fifo:backfill": _PASS,
    "sjf:backfill": _PASS,
    "yarn-cs:backfill": f"{_PASS}, within a user",
    "hived:backfill": f"{_PASS}, within a user",
    "gandiva-fair:no-trade": "users keep their fair share of each GPU model",
    "genie:elastic": "jobs with deadlines may run on half or twice their gang",
    "hydra:cost": "the first eight jobs in the order of least completion times and tardiness",
    "optimus:elastic": "jobs may run on other numbers of GPUs than their gangs",
    "chronus:estimator": "run times and costs of suspension as UniSched estimates them",
    "chronus:selector": "selects as UniSched does, without its estimator",
    "unisched:profile-first": "to profile a job is worth 100, not 1",
    "unisched:static-profiler": "profiles on two nodes that do nothing else",
    "unisched:known": "does not profile, run times are told",
    "unisched:no-suspensions": "estimates leave the costs of suspension out",
    "unisched:most-epochs": "jobs with a target metric count with the most epochs they may take",
    "unisched:feasible": "selects jobs by release, as long as all fit",
    "unisched:density": "selects greedily, by reward per GPU lease",
    "unisched:price": "selects by reward less a price of its GPU leases",
    "unisched:consolidated": "gangs on as few nodes as they can have, as Chronus has them",
    "unisched:exact": "counts gangs by their GPUs, not by powers of two",
    "ltgf:quota": "a user's fair share is its quota at all times",
    "ltgf:rho-minus": "a user's jobs by their rho at the end of a lease without GPUs",
    "ltgf:renewal-first": "a user's jobs that run come before those that wait",
    "ltgf:printed": "Algorithm 1 as printed",
    "rolling-horizon:ltgf": "LTGF's rounds, solved exactly; without :ltgf, completion times",
}
#: policies that a replay runs when none are named
REPLAYED = ("fifo", "srtf", "tiresias-l", "themis-greedy", "ltgf")


def lookup(kind: str, table: Mapping[str, Any], name: str) -> str:
    """Return the key of `table` that `name` means, with ``_`` and ``-`` alike.

    Raises
    ------
    ValueError
        Naming what there is.

    Examples
    --------
    >>> lookup("problem", PROBLEMS, "rar_ddls")
    'rar-ddls'
    """
    keys = {key.replace("_", "-"): key for key in table}
    if name.replace("_", "-") not in keys:
        raise ValueError(f"{kind} {name!r} is not one of {', '.join(table)}")
    return keys[name.replace("_", "-")]


def solver(problem: str, name: str) -> tuple[str, Solver]:
    """Return the name and the function of a solver of `problem`.

    Looks among the project's own solvers, then the entry points, then for ``module:object`` or
    ``file.py:object``.

    Raises
    ------
    ValueError
        Where there is none of that name.

    Examples
    --------
    >>> solver("rar-ddls", "first_fit")[0]
    'first-fit'
    """
    own = PROBLEMS[problem].solvers
    key = name.replace("_", "-")
    if key in own:
        return key, own[key]
    if name in plugins():
        return name, _foreign(name, plugins()[name].load)
    module, colon, attribute = name.rpartition(":")
    if colon and attribute and module.replace("_", "-") not in own:
        return name, _foreign(name, lambda: getattr(_module(module), attribute))
    names = ", ".join((*own, *plugins()))
    raise ValueError(f"solver {name!r} is not one of {names}, nor {FOREIGN}")


def policy(name: str, *, seed: int = 0) -> tuple[str, Policy]:
    """Return the name of a policy and a new one of its kind.

    Looks among the project's own policies, then the entry points, then for ``module:object`` or
    ``file.py:object``.

    Parameters
    ----------
    name : str
    seed : int
        Handed to policies that draw: those with a parameter of this name.

    Raises
    ------
    ValueError
        Where there is none of that name, or it cannot be made.

    Examples
    --------
    >>> policy("tiresias_l")
    ('tiresias-l', TiresiasL(thresholds=(18000,)))
    >>> policy("max-min")[0]
    'max-min-fairness'
    >>> policy("ltgf:quota")[1].fair_share
    'quota'
    """
    key = name.replace("_", "-")
    key = ALIASES.get(key, key)
    if key in POLICIES:
        return key, _new(key, lambda: POLICIES[key], seed)
    offered = plugins("gangsched.policies")
    if name in offered:
        return name, _new(name, offered[name].load, seed)
    module, colon, attribute = name.rpartition(":")
    if colon and attribute and module.replace("_", "-") not in POLICIES:
        return name, _new(name, lambda: getattr(_module(module), attribute), seed)
    names = ", ".join((*POLICIES, *offered))
    raise ValueError(f"policy {name!r} is not one of {names}, nor {FOREIGN}")


def plugins(group: str = "gangsched.solvers") -> dict[str, EntryPoint]:
    """Return what installed packages offer in an entry point group, by name.

    Parameters
    ----------
    group : {"gangsched.solvers", "gangsched.policies"}
    """
    return {point.name: point for point in entry_points(group=group)}


def warm_up(problem: str, name: str) -> None:
    """Run one of the project's own solvers on a tiny problem, so that its code is compiled.

    Other people's solvers are left alone.

    Examples
    --------
    >>> warm_up("rar-ddls", "first-fit")
    """
    entry = PROBLEMS[problem]
    if name in entry.solvers:
        entry.solvers[name](entry.tiny(), **entry.quick.get(name, {}))


def warm_up_policy(name: str) -> None:
    """Drive one of the project's own policies over a tiny instance, so that its code is compiled.

    Other people's policies are left alone. What a policy refuses or raises there is not looked at.

    Examples
    --------
    >>> warm_up_policy(".fifo")
    """
    from .analysis.driving.drive import PolicyError, drive

    if name not in POLICIES:
        return
    jobs = [Job(id=str(j), gpus=1 + j % 2, work=60, release=30 * j) for j in range(4)]
    with suppress(ValueError, PolicyError):
        drive(Instance(Cluster.of_sizes([2]), jobs), POLICIES[name]())


def _module(name: str) -> Any:
    """Import a module, or a file that ends in .py.

    The current folder comes last, where `python -m` has it first; so does the folder of a file.
    """
    if name.endswith(".py"):
        return _file(Path(name))
    _search(Path.cwd())
    return import_module(name)


def _file(path: Path) -> Any:
    """Import a file once, under a name that no installed module has."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = f"_gangsched_file_{path.resolve().with_suffix('')}".replace(".", "_")
    if name not in sys.modules:
        _search(path.resolve().parent)
        spec = spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError("it cannot be loaded")
        sys.modules[name] = module_from_spec(spec)  # where pickled policies look
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _search(folder: Path) -> None:
    """Look for modules in a folder too, after all others."""
    here = {"", str(folder)} if folder == Path.cwd() else {str(folder)}
    if not here & set(sys.path):
        sys.path.append(str(folder))


def _loaded(kind: str, name: str, load: Callable[[], Any]) -> Any:
    """Return what somebody else wrote, whose import may raise anything."""
    try:
        return load()
    except (Exception, SystemExit) as error:
        text = f"{kind} {name!r} cannot be imported: {type(error).__name__}: {error}"
        raise ValueError(text) from None


def _foreign(name: str, load: Callable[[], Any]) -> Solver:
    """Return somebody else's solver."""
    found: Solver = _loaded("solver", name, load)
    if not callable(found):
        raise ValueError(f"solver {name!r} is of type {type(found).__name__}, which is no function")
    return found


def _new(name: str, load: Callable[[], Any], seed: int) -> Policy:
    """Return a policy: what was loaded, or what it makes."""
    found = _loaded("policy", name, load)
    if callable(found) and (isinstance(found, type) or not isinstance(found, Policy)):
        found = _made(name, found, seed)
    if not isinstance(found, Policy):
        raise ValueError(
            f"policy {name!r} is of type {type(found).__name__}, "
            "which has no name, preempts or decide(state)"
        )
    return found


def _made(name: str, make: Callable[..., Any], seed: int) -> Any:
    try:
        if "seed" in inspect.signature(make).parameters:
            return make(seed=seed)
        made = make()
        if "seed" in getattr(type(made), "__dataclass_fields__", ()):  # of this project
            return make(seed=seed)
    except (Exception, SystemExit) as error:
        text = f"policy {name!r} cannot be made: {type(error).__name__}: {error}"
        raise ValueError(text) from None
    return made
