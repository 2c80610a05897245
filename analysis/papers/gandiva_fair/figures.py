"""Tables 2 and 3 and Figures 1, 2 and 4 to 11 of Chaudhary et al., and what trading captures.

=======  =======================================  ================================================
target   runs                                     shows
=======  =======================================  ================================================
fig1     5 jobs on two servers, seven schedules   GPUs of each user and job
fig2     1/2/4/8-GPU jobs of six users            GPUs of each user and job, idle ones
table2   three schedulers on one server of 4      share of time of each job: printed, exact, drawn
table3   one market of 60 K80s and 12 V100s       before and after trading, and three optima
surplus  random markets                           what part of the surplus each rule captures
fig4-7   sections 5.1 to 5.3                      GPUs of each user over time
fig8     sections 5.4 and 5.5                     mini-batches of each user, with and without trades
fig9     section 5.5                              the log of trades
fig10    section 5.4, no trading                  GPUs of each user by model over time
fig11    section 5.5, trading                     the same
=======  =======================================  ================================================

Runs are made by the driver with a quantum of 60 s, no overhead to resume, and 5 s for a migration.
The paper has no run lengths; :mod:`~gangsched.instances.heterogeneous` says which ones are taken.
Ideal shares are those of a fluid: at every instant by tickets among the users that have jobs, with
what a user's jobs cannot use given to the others, and the same part of each GPU model.

Source: S. Chaudhary, R. Ramjee, M. Sivathanu, N. Kwatra, S. Viswanatha, "Balancing Efficiency and
Fairness in Heterogeneous GPU Clusters for Deep Learning", EuroSys 2020 (Gandiva_fair).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from ....formulations.gandiva_fair.problem import GpuMarket
from ....instances import Instance, Job, heterogeneous
from ....instances.heterogeneous import MINIBATCH, TABLE1, MarketArrays, table3_market
from ....instances.io import instance_hash
from ....solvers import GandivaFair
from ....solvers.gandiva_fair.lottery import (
    GangLottery,
    lottery_backfill_quantum,
    lottery_backfill_shares,
)
from ....solvers.gandiva_fair.market import (
    efficient_allocation,
    max_min_allocation,
    nash_allocation,
)
from ....solvers.gandiva_fair.stride import gang_aware_stride
from ....solvers.gandiva_fair.trading import RULES, PriceRule, trade, traded_allocation
from ...driving.model_usage import model_usage
from ...driving.run import Run
from ..common import Frame, Progress, Values, judged, short
from ..study import Row, Study
from . import pictures as pictures
from . import runs as runs
from .runs import HOUR, SETTINGS, Floats, Phase
from .statements import (
    ALL,
    BACKFILL,
    BOTH,
    DRIVEN,
    FAIR,
    GAINS,
    LOTTERY,
    LP,
    MAX_MIN,
    MOMENTS,
    NASH,
    PRINTED_SHARES,
    SAMPLE,
    STATEMENTS,
    STRIDE,
    TRADED,
    UNDIVIDED,
    ideal,
)
from .surplus import MODEL_SETS, USERS, surplus_table

__all__ = [
    "fig1", "fig2", "fig4", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "from_rows",
    "surplus", "table2", "table3",
]  # fmt: skip

# --- what the figures show ------------------------------------------------------------------------

SERVERS = "two servers of 4 GPUs"
WIDTH, LONG_BINS = 600, 42  # s of a bin, and how many: 7 hours
FINE, FINE_BINS = 720, 34  # a multiple of 12 quanta, in which the schedule of section 5.1 repeats
#: how users are named in the table of classes of section 5.3
CLASSES: Mapping[int, str] = {1: "62 with 1 GPU", 2: "3 with 2 GPUs", 4: "3 with 4 GPUs",
                              8: "2 with 8 GPUs"}  # fmt: skip
OVER_TIME = {
    "busy": "jobs for its share until (h)",
    "end": "last job ends (h)",
    "from": "from (h)",
    "until": "until (h)",
    "gpus": "GPUs, mean",
    "ideal": "ideal share",
}


def _hours(width: int, bins: int) -> tuple[float, ...]:
    """The middles of bins."""
    return tuple((width * (k + 0.5)) / HOUR for k in range(bins))


LONG, FINELY = _hours(WIDTH, LONG_BINS), _hours(FINE, FINE_BINS)
QUANTA = tuple(float(k) for k in range(runs.WINDOW))
_JOBS = {f"{user}{k}": f"{user}{k}" for user, k in (("A", 1), ("A", 2), ("B", 1), ("B", 2))}
_FIGURES: Mapping[str, Frame] = MappingProxyType(
    {
        "fig1": Frame(
            "Fig. 1: five ways to schedule a fifth job of 2 GPUs on two servers of 4",
            "",
            {"A": "GPUs of A", "B": "GPUs of B", "C": "GPUs of C", **_JOBS,
             "moves": "migrations in 24 quanta"},
            pictures.schedules,
            QUANTA,
        ),
        "fig2": Frame(
            "Fig. 2: jobs of 1, 2, 4 and 8 GPUs of six users on two servers of 4",
            "",
            {"gpus": "GPUs, mean", "ideal": "ideal share", "first": "first job: % of time",
             "second": "second job: % of time"},
            pictures.schedules,
            QUANTA,
        ),
        "table2": Frame(
            "Table 2: share of time of each of six jobs on a server of 4 GPUs",
            "",
            {"printed": "printed (%)", "exact": "exact (%)", "drawn": "drawn, mean (%)",
             "spread": "standard deviation", "long": "of 1,000 quanta"},
            pictures.shares_of_time,
        ),
        "table3": Frame(
            "Table 3: 60 K80s and 12 V100s shared by three users, with and without trading",
            "",
            {"k80": "K80", "v100": "V100", "value": "K80 equivalents", "printed": "printed",
             "captured": "captured surplus", "bound": "proven bound of its aim"},
            pictures.values,
        ),
        "surplus": Frame(
            "What part of the surplus over fair shares is captured, on 200 random markets each",
            "users",
            {"mean": "captured surplus, mean", "least": "least", "error": "standard error",
             "total": "part of largest total", "worst": "least gain of a user, mean"},
            pictures.captured,
        ),
        "fig4": Frame("Fig. 4: GPUs of three users on a server of 4 V100s", "phase", OVER_TIME,
                      pictures.over_time, FINELY),
        "fig5": Frame("Fig. 5: GPUs of three users on two servers of 4 P100s", "phase", OVER_TIME,
                      pictures.over_time, _hours(WIDTH, 20)),
        "fig6": Frame("Fig. 6: GPUs of 70 users with a job each, by its size, on 48 P100s", "phase",
                      OVER_TIME, pictures.over_time, LONG),
        "fig7": Frame("Fig. 7: GPUs of three users with 128 jobs each on 64 K80s", "phase",
                      OVER_TIME, pictures.over_time, LONG),
        "fig8": Frame(
            "Fig. 8: mini-batches per second of each user, with and without trading",
            "phase",
            {"from": "from (h)", "until": "until (h)", "no trading": "no trading (1/s)",
             "trading": "trading (1/s)", "gain": "gain (%)", **GAINS},
            pictures.rates,
            LONG,
        ),
        "fig9": Frame(
            "Fig. 9: trades made and undone in the run of Fig. 11",
            "at (s)",
            {"bought": "fast GPUs", "rate": "rate", **MOMENTS},
            pictures.trades,
        ),
        "fig10": Frame("Fig. 10: GPUs of four users by model, without trading", "phase", OVER_TIME,
                       pictures.over_time, LONG),
        "fig11": Frame("Fig. 11: GPUs of four users by model, with trading", "phase", OVER_TIME,
                       pictures.over_time, LONG),
    }
)  # fmt: skip
_SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "fig1": {**SETTINGS, "quanta": runs.WINDOW, "before": runs.BEFORE},
        "fig2": {**SETTINGS, "quanta": runs.MIX_WINDOW},
        "table2": {"seeds": 100, "quanta": [100, 1000]},
        "table3": {**SETTINGS, "quanta": [200, 300]},
        "surplus": {"markets": 200, "seed": 0},
        **{f"fig{k}": {**SETTINGS, "bin (s)": FINE if k == 4 else WIDTH} for k in (*range(4, 9),
                                                                                   10, 11)},
        "fig9": SETTINGS,
    }
)  # fmt: skip


def from_rows(name: str, instances: Mapping[str, Mapping[str, Any]], rows: Iterable[Row]) -> Study:
    """Return a figure with rows that have been computed before.

    Parameters
    ----------
    name : str
        ``gandiva_fair:TARGET``.
    instances : mapping of str to mapping
        Facts about each instance.
    rows : iterable of Row

    Returns
    -------
    Study
        Settings and verdicts follow from the rows.
    """
    figure = name.removeprefix("gandiva_fair:")
    return judged(
        name, _FIGURES[figure], STATEMENTS[figure], settings=_SETTINGS[figure],
        instances=instances, rows=rows,
    )  # fmt: skip


def _values(**numbers: float | None) -> Values:
    return {name: short(value) for name, value in numbers.items()}


def _curve(numbers: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(f"{number:.5g}") for number in numbers)


# --- Figs. 1 and 2 --------------------------------------------------------------------------------


def fig1(*, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 1: the five options, each as a schedule.

    Parameters
    ----------
    progress : callable (str), optional
        Called after each option.
    """
    rows: list[Row] = []
    facts: dict[str, Any] = {}
    for option, instance, where in runs.options():
        ids = [job.id for job in instance.jobs]
        each = dict(zip(ids, runs.held(where, [job.gpus for job in instance.jobs]), strict=True))
        users = {user: sum(gpus for job, gpus in each.items() if job[0] == user) for user in "ABC"}
        all_values = _values(**users, **each, moves=runs.moves(where))
        rows.append(Row(SERVERS, option.name, None, all_values))
        rows += list(_timelines(SERVERS, option.name, instance, where))
        facts = {"jobs": len(ids), "printed": {o.name: o.users for o in runs.OPTIONS}}
        if progress is not None:
            progress(f"fig1: {option.name}")
    return from_rows("gandiva_fair:fig1", {SERVERS: facts}, rows)


def _timelines(place: str, policy: str, instance: Instance[Job], where: Any) -> Iterator[Row]:
    """Where each job runs in the first quanta, bit k for server k."""
    for j, job in enumerate(instance.jobs):
        line = _curve(where[j, : runs.WINDOW].tolist())
        yield Row(place, f"{policy}: {job.id}", j, {"gang": job.gpus}, line)


def fig2(*, progress: Progress | None = None) -> Study:
    """Reproduce the mix of Fig. 2, placed by the policy and as it is drawn.

    Parameters
    ----------
    progress : callable (str), optional
        Called after each.
    """
    rows: list[Row] = []
    facts: dict[str, dict[str, Any]] = {}
    for name, instance, where in runs.mixes():
        gangs = np.array([job.gpus for job in instance.jobs])
        time = 100 * (where > 0).mean(axis=1)
        for user in "ABCDEF":
            own = [j for j, job in enumerate(instance.jobs) if job.user == user]
            more = {"second": float(time[own[1]])} if len(own) > 1 else {}
            gpus = float((time[own] * gangs[own]).sum()) / 100
            label = f"{user} ({gangs[own[0]]}-GPU jobs)"
            first = float(time[own[0]])
            rows.append(
                Row(name, label, None, _values(gpus=gpus, ideal=8 / 6, first=first, **more))
            )
        used = float((time * gangs).sum()) / 100
        rows.append(Row(name, ALL, None, _values(gpus=used, ideal=8.0)))
        rows += list(_timelines(name, name, instance, where))
        facts[name] = {"jobs": len(gangs), "hash": instance_hash(instance)}
        if progress is not None:
            progress(f"fig2: {name}")
    return from_rows("gandiva_fair:fig2", facts, rows)


# --- Table 2 --------------------------------------------------------------------------------------

GANGS = (1, 1, 2, 2, 4, 4)
JOBS = ("A, job 1", "A, job 2", "B, job 1", "B, job 2", "C, job 1", "C, job 2")
FAIR_TIME = (200 / 3, 200 / 3, 100 / 3, 100 / 3, 50 / 3, 50 / 3)
SERVER = 4


def table2(*, seeds: int = 100, quanta: tuple[int, int] = (100, 1000),
           progress: Progress | None = None) -> Study:  # fmt: skip
    """Reproduce Table 2: three ways to schedule six jobs on a server.

    Parameters
    ----------
    seeds : int
        Of the lotteries.
    quanta : (int, int)
        Of a short and a long sample.
    progress : callable (str), optional
        Called after each scheme.
    """
    exact = {
        BACKFILL: _percent(lottery_backfill_shares((4, 4, 2, 2, 1, 1), GANGS, SERVER)),
        UNDIVIDED: _percent(lottery_backfill_shares((1,) * 6, GANGS, SERVER)),
        LOTTERY: FAIR_TIME,
        STRIDE: _percent(np.array(_stride_runs(6)) / 6),
    }
    rows: list[Row] = []
    for scheme, known in exact.items():
        short_one, long_one = (_drawn(scheme, seeds, n) for n in quanta)
        for j, job in enumerate(JOBS):
            drawn = _values(
                drawn=short_one[:, j].mean(), spread=short_one[:, j].std(),
                long=long_one[:, j].std(),
            ) if scheme != STRIDE else {}  # fmt: skip
            printed = PRINTED_SHARES.get(scheme, (None,) * 6)[j]
            rows.append(Row(scheme, job, None, _values(printed=printed, exact=known[j]) | drawn))
        if progress is not None:
            progress(f"table2: {scheme}")
    return from_rows("gandiva_fair:table2", {scheme: {"GPUs": SERVER} for scheme in exact}, rows)


def _percent(shares: Iterable[Any]) -> tuple[float, ...]:
    return tuple(100 * float(share) for share in shares)


def _stride_runs(quanta: int) -> list[int]:
    """How often each job runs, with equal tickets for each user."""
    passes, ran = [0.0] * 6, [0] * 6
    for _ in range(quanta):
        now, passes = gang_aware_stride(passes, [1.5, 1.5, 3, 3, 6, 6], GANGS, SERVER)
        ran = [n + (i in now) for i, n in enumerate(ran)]
    return ran


def _drawn(scheme: str, seeds: int, quanta: int) -> Floats:
    """Percent of quanta in which each job runs: (seeds, jobs)."""
    found = np.zeros((seeds if scheme != STRIDE else 0, 6))
    weights = (1,) * 6 if scheme == UNDIVIDED else (4, 4, 2, 2, 1, 1)
    for seed, row in enumerate(found):
        rng, lottery = np.random.default_rng(seed), GangLottery(weights, GANGS, SERVER, seed=seed)
        for _ in range(quanta):
            if scheme == LOTTERY:
                row[lottery.quantum()] += 100 / quanta
            else:
                row[lottery_backfill_quantum(weights, GANGS, SERVER, rng)] += 100 / quanta
    return found


# --- Table 3 and random markets -------------------------------------------------------------------


def table3(*, progress: Progress | None = None) -> Study:
    """Reproduce Table 3: fair shares and trades, by the engine and on a cluster, and the optima.

    Parameters
    ----------
    progress : callable (str), optional
        Called after each way to divide the GPUs.
    """
    market = table3_market()
    best = efficient_allocation(_market(market)).objective
    rows: list[Row] = []
    for name, shares, bound in _divisions(market):
        values = (shares * market.speeds).sum(axis=1)
        printed = {FAIR: (25, 40, 45, 110), TRADED: (40, 40, 50, 130)}.get(name, (None,) * 4)
        for u, user in enumerate(market.users):
            k80, v100 = shares[u].tolist()
            rows.append(
                Row(name, user, None,
                    _values(k80=k80, v100=v100, value=values[u], printed=printed[u]))
            )  # fmt: skip
        part = (values.sum() - 110) / (best - 110) if best is not None else None
        k80, v100 = shares.sum(axis=0).tolist()
        rows.append(
            Row(name, ALL, None,
                _values(k80=k80, v100=v100, value=values.sum(), printed=printed[3], captured=part,
                        bound=bound))
        )  # fmt: skip
        if progress is not None:
            progress(f"table3: {name}")
    names = dict.fromkeys(row.instance for row in rows)
    return from_rows("gandiva_fair:table3", {name: {"GPUs": 72} for name in names}, rows)


def _market(market: MarketArrays, **more: Any) -> GpuMarket:
    return GpuMarket(market.gpus, market.speeds, tickets=market.tickets, **more)


def _divisions(market: MarketArrays) -> Iterator[tuple[str, Floats, float | None]]:
    """Ways to divide the market's GPUs, and the bound that is proven where it is an optimum."""
    problem = _market(market)
    yield FAIR, problem.fair_shares, None
    yield TRADED, _shares(traded_allocation(problem).solution), None
    yield DRIVEN, _on_the_cluster(), None
    for name, solve, aim in (
        (LP, efficient_allocation, "total"),
        (MAX_MIN, max_min_allocation, "max-min"),
        (NASH, nash_allocation, "nash"),
    ):
        result = solve(_market(market, aim=aim))
        yield name, _shares(result.solution), result.bound.value if result.bound else None


def _shares(solution: Any) -> Floats:
    return np.asarray(solution.shares)


def _on_the_cluster(quanta: tuple[int, int] = (200, 300)) -> Floats:
    """What each user holds in these quanta, with 60 jobs each."""
    instance = runs.sixty_jobs_each()
    run = runs.driven(instance, GandivaFair(), until=runs.QUANTUM * quanta[1])
    usage = model_usage(run, runs.QUANTUM)
    return np.asarray(usage.gpus[quanta[0] : quanta[1]].mean(axis=0))


def surplus(
    *, markets: int = 200, users: Sequence[int] = USERS, progress: Progress | None = None
) -> Study:
    """Say what trading captures of the surplus on random markets, which the paper does not.

    Parameters
    ----------
    markets : int
        Of each kind.
    users : sequence of int
    progress : callable (str), optional
        Called after each kind.
    """
    rows = [
        Row(
            _models(found.models), found.rule, found.users,
            _values(mean=found.mean, least=found.least, error=found.error, total=found.total,
                    worst=found.worst),
        )
        for found in surplus_table(markets=markets, users=users, progress=progress)
    ]  # fmt: skip
    facts = {_models(models): {"markets": markets} for models in MODEL_SETS}
    return from_rows("gandiva_fair:surplus", facts, rows)


def _models(models: Sequence[str]) -> str:
    return " + ".join(model.upper() for model in models)


# --- Figs. 4 to 7, 10 and 11: GPUs over time ------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """Whose GPUs a figure shows, of a run that was cut at `until`."""

    figure: str
    instance: Instance[Job]
    policy: GandivaFair
    until: int | None
    groups: Mapping[str, tuple[int, ...]]
    width: int = WIDTH
    begin: int = 0  # of the first phase
    models: bool = False

    def study(self, progress: Progress | None) -> Study:
        """The figure."""
        run = _run(self.instance, self.policy, self.until)
        if progress is not None:
            progress(f"{self.figure}: {run.now / HOUR:.1f} hours")
        places = self._places()
        facts = {
            name: {
                "jobs": len(self.instance.jobs),
                "GPUs": gpus,
                "hours": round(run.now / HOUR, 4),
                "instance hash": instance_hash(self.instance),
            }
            for name, (_, gpus) in places.items()
        }
        return from_rows(f"gandiva_fair:{self.figure}", facts, list(self._rows(run, places)))

    def _places(self) -> dict[str, tuple[list[int], int]]:
        """The models of each instance of the figure, and their GPUs."""
        gpus: dict[str, int] = {}
        for node in self.instance.cluster.nodes:
            gpus[node.model] = gpus.get(node.model, 0) + node.gpus
        if self.models:
            return {f"{n} {m.upper()}s": ([g], n) for g, (m, n) in enumerate(gpus.items())}
        (model,) = gpus
        return {f"{gpus[model]} {model.upper()}s": ([0], gpus[model])}

    def _rows(self, run: Run, places: Mapping[str, tuple[list[int], int]]) -> Iterator[Row]:
        levels = _FIGURES[self.figure].levels
        times = self.width * np.arange(len(levels) + 1)
        usage = model_usage(run, self.width)
        gpus, fluid = runs.slices(usage, "gpus", len(levels)), runs.ideal_shares(run, times)
        fine = model_usage(run, runs.QUANTUM)
        exact = runs.ideal_shares(run, fine.times)
        stops = runs.leavings(run, list(self.groups.values()))
        spans = runs.phases(self.begin, stops)
        last = runs.Leaving(max(one.since for one in stops), max(one.end for one in stops))
        cluster = sum(run.sizes)
        everybody = tuple(u for group in self.groups.values() for u in group)
        for place, (models, n) in places.items():
            for (name, group), stop in zip(
                [*self.groups.items(), (ALL, everybody)], [*stops, last], strict=True
            ):
                users = list(group)
                own = gpus[:, users][:, :, models].sum(axis=(1, 2))
                due = fluid[:, users].sum(axis=1) * n / cluster
                moments = _values(busy=stop.since / HOUR, end=stop.end / HOUR)
                yield Row(place, name, None, moments, _curve(own))
                yield Row(place, ideal(name), None, {}, _curve(due))
                held = fine.gpus[:, users][:, :, models].sum(axis=(1, 2))
                share = exact[:, users].sum(axis=1) * n / cluster
                for k, span in enumerate(spans, 1):
                    if span.begin < stop.since:
                        yield Row(place, name, k, self._means(fine.times, held, share, span))

    @staticmethod
    def _means(times: Any, held: Floats, share: Floats, span: Phase) -> Values:
        return _values(
            **{"from": span.begin / HOUR, "until": span.end / HOUR},
            gpus=float(runs.within(times, held, span)),
            ideal=float(runs.within(times, share, span)),
        )


#: by hash of the instance, policy and end: figures 8 to 11 share runs
_KNOWN: dict[tuple[str, str, int | None], Run] = {}


def _run(instance: Instance[Job], policy: GandivaFair, until: int | None) -> Run:
    key = (instance_hash(instance), repr(policy), until)
    if key not in _KNOWN:
        _KNOWN[key] = runs.driven(instance, policy, until)
    return _KNOWN[key]


def _users(instance: Instance[Job]) -> dict[str, tuple[int, ...]]:
    return {user.id: (u,) for u, user in enumerate(instance.users)}


def fig4(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 4: three users with jobs of 1, 2 and 4 GPUs on a server of four.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    progress : callable (str), optional
        Called when it is done.
    """
    instance = heterogeneous.one_server()
    return _Shown(figure="fig4", instance=instance, policy=GandivaFair(), until=until,
                  groups=_users(instance), width=FINE).study(progress)  # fmt: skip


def fig5(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 5: a job on two servers beside small ones.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    progress : callable (str), optional
        Called when it is done.
    """
    instance = heterogeneous.large_and_small_jobs()
    return _Shown(figure="fig5", instance=instance, policy=GandivaFair(), until=until,
                  groups=_users(instance)).study(progress)  # fmt: skip


def fig6(*, until: int | None = None, seed: int = 0, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 6: seventy users with one job each, in classes by its size.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    seed : int
        Of the arrivals.
    progress : callable (str), optional
        Called when it is done.
    """
    instance = heterogeneous.single_job_users(seed=seed)
    number = {user.id: u for u, user in enumerate(instance.users)}
    groups = {
        name: tuple(number[job.user] for job in instance.jobs if job.gpus == gpus)
        for gpus, name in CLASSES.items()
    }
    last = max(job.release for job in instance.jobs)
    begin = -(-last // runs.QUANTUM) * runs.QUANTUM
    return _Shown(figure="fig6", instance=instance, policy=GandivaFair(), until=until,
                  groups=groups, begin=begin).study(progress)  # fmt: skip


def fig7(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 7: three users with 128 jobs each.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    progress : callable (str), optional
        Called when it is done.
    """
    instance = heterogeneous.group_sharing()
    return _Shown(figure="fig7", instance=instance, policy=GandivaFair(), until=until,
                  groups=_users(instance)).study(progress)  # fmt: skip


def fig10(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 10: four users on three GPU models, without trading.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    progress : callable (str), optional
        Called when it is done.
    """
    return _by_model("fig10", False, until, progress)


def fig11(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 11: four users on three GPU models, with trading.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    progress : callable (str), optional
        Called when it is done.
    """
    return _by_model("fig11", True, until, progress)


def _by_model(figure: str, trading: bool, until: int | None, progress: Progress | None) -> Study:
    instance = heterogeneous.trading_groups()
    return _Shown(figure=figure, instance=instance, policy=GandivaFair(trading=trading),
                  until=until, groups=_users(instance), models=True).study(progress)  # fmt: skip


# --- Figs. 8 and 9 --------------------------------------------------------------------------------

WAYS = {"no trading": False, "trading": True}


@cache
def _per_second() -> tuple[float, ...]:
    """Mini-batches a second of a job on a K80, of each user of section 5.4."""
    jobs = heterogeneous.trading_groups().jobs
    family = {job.user: job.group for job in jobs}
    return tuple(1000 / MINIBATCH[group] for group in family.values())


def fig8(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 8: mini-batches a second, counted for each GPU, with and without trading.

    Parameters
    ----------
    until : int, optional
        Stop the runs then, in seconds.
    progress : callable (str), optional
        Called after each run.
    """
    instance = heterogeneous.trading_groups()
    users = list(_users(instance))
    rows: list[Row] = []
    found: dict[str, tuple[Run, Any, Floats]] = {}
    for name, trading in WAYS.items():
        run = _run(instance, GandivaFair(trading=trading), until)
        fine = model_usage(run, runs.QUANTUM)
        found[name] = (run, fine.times, fine.work.sum(axis=2) * _per_second())
        coarse = runs.slices(model_usage(run, WIDTH), "work", LONG_BINS).sum(axis=2)
        coarse *= _per_second()
        rows += [Row(u, name, None, {}, _curve(coarse[:, k])) for k, u in enumerate(users)]
        if progress is not None:
            progress(f"fig8: {name}")
    for k, span in enumerate(_common_phases([run for run, _, _ in found.values()]), 1):
        means = {name: runs.within(times, rate, span) for name, (_, times, rate) in found.items()}
        for u, user in enumerate(users):
            before, after = (float(means[name][u]) for name in WAYS)
            if not before:
                continue
            rows.append(
                Row(user, BOTH, k,
                    _values(**{"from": span.begin / HOUR, "until": span.end / HOUR},
                            **{"no trading": before, "trading": after},
                            gain=100 * (after / before - 1)))
            )  # fmt: skip
    rows += list(_engine_gains(instance))
    rows += [Row("all users", name, None, {}, _curve(_total(rows, name, users))) for name in WAYS]
    facts = {user: {"mini-batches a second on a K80": short(rate)}
             for user, rate in zip(users, _per_second(), strict=True)}  # fmt: skip
    return from_rows("gandiva_fair:fig8", {**facts, "shares, by price": {}}, rows)


def _total(rows: Sequence[Row], name: str, users: Sequence[str]) -> Floats:
    """Mini-batches of all users as K80s: how many of them would do the same."""
    curves = [
        np.array(row.curve) / rate
        for user, rate in zip(users, _per_second(), strict=True)
        for row in rows
        if (row.instance, row.policy) == (user, name)
    ]
    return np.asarray(np.sum(curves, axis=0))


#: the profiles are complete after this time (s)
SETTLED = 1800


def _common_phases(found: Sequence[Run]) -> list[Phase]:
    """Phases in which the same users have jobs in both runs, from when speeds are known."""
    stops = [leaving for run in found for leaving in _by_user(run)]
    return runs.phases(SETTLED, stops)


def _by_user(run: Run) -> list[runs.Leaving]:
    return runs.leavings(run, [(u,) for u in range(len(run.users))])


def _engine_gains(instance: Instance[Job]) -> Iterator[Row]:
    """What users would gain by their shares alone, at each price."""
    models = ("k80", "p100", "v100")
    family = {job.user: job.group for job in instance.jobs}
    speeds = np.array([[TABLE1[group][model] for model in models] for group in family.values()])
    problem = GpuMarket(np.array([64, 24, 12]), speeds)
    gains: dict[str, Floats] = {}
    for rule in ("second", "midpoint", "seller", "buyer"):
        gains[f"{rule} price"] = trade(problem.fair_shares, speeds, price=_rule(rule)).shares
    gains["largest total"] = _shares(efficient_allocation(problem).solution)
    gains["Nash welfare"] = _shares(nash_allocation(replace(problem, aim="nash")).solution)
    for name, shares in gains.items():
        more = 100 * ((shares * speeds).sum(axis=1) / problem.fair_values - 1)
        named = dict(zip(GAINS, more.round(3).tolist(), strict=True))
        yield Row("shares, by price", name, None, _values(**named))


def _rule(name: str) -> PriceRule:
    assert name in RULES
    return name  # type: ignore[return-value]


def fig9(*, until: int | None = None, progress: Progress | None = None) -> Study:
    """Reproduce Fig. 9's kind of log: who bought which GPUs of whom, at which rate, and undid it.

    Parameters
    ----------
    until : int, optional
        Stop the run then, in seconds.
    progress : callable (str), optional
        Called when it is done.
    """
    instance = heterogeneous.trading_groups()
    run = _run(instance, GandivaFair(), until)
    speeds = {job.user: job.speeds for job in instance.jobs}
    rows = []
    for k, entry in enumerate(run.log):
        buyer, seller = (run.users[entry[who]] for who in ("buyer", "seller"))
        pair = (str(entry["fast"]), str(entry["slow"]))
        low, high = (speeds[user][pair[0]] / speeds[user][pair[1]] for user in (seller, buyer))
        label = f"{pair[0].upper()} to {buyer}, {pair[1].upper()} to {seller}"
        amount, rate = float(entry["amount"]), float(entry["rate"])
        own = {"bought": amount, "rate": rate} if k < SAMPLE else {}
        rest = {"amount": amount, "price": rate, "low": low, "high": high}
        rows.append(Row("log", label, int(entry["time"]), _values(**own, **rest)))
    rows += [
        Row("departures", user, None, _values(busy=one.since / HOUR, end=one.end / HOUR))
        for user, one in zip(run.users, _by_user(run), strict=True)
    ]
    if progress is not None:
        progress(f"fig9: {len(run.log)} entries")
    facts: dict[str, dict[str, Any]] = {
        "log": {"entries": len(run.log), "shown": min(SAMPLE, len(run.log))},
        "departures": {"instance hash": instance_hash(instance)},
    }
    return from_rows("gandiva_fair:fig9", facts, rows)
