"""Tables 2 and 3 and Figures 1, 2 and 4 to 11 of Chaudhary et al., and what trading captures.

=======  =======================================  ================================================
target   runs                                     shows
=======  =======================================  ================================================
fig1     5 jobs on two nodes, seven schedules     GPUs of each user and job
fig2     1/2/4/8-GPU jobs of six users            GPUs of each user and job, idle ones
table2   three schedulers on one node of 4        share of time of each job: printed, exact, drawn
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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from ....formulations.gandiva_fair.problem import Aim, GpuMarket
from ....instances import Instance, Job, heterogeneous
from ....instances.heterogeneous import MINIBATCH, TABLE1, MarketArrays, table3_market
from ....instances.io import instance_hash
from ....solvers import GandivaFair
from ....solvers.gandiva_fair import lottery
from ....solvers.gandiva_fair.market import AllocationParams, best_allocation
from ....solvers.gandiva_fair.trading import PriceRule, trade, traded_allocation
from ...driving.model_usage import model_usage
from ...driving.run import Run
from ..experiment import Experiment, FigureCell, figures_of
from ..study import Values, short
from . import pictures as pictures
from . import runs as runs
from . import statements as said
from .conditions import conditions
from .runs import HOUR, SETTINGS, Floats, Span
from .statements import ALL, BOTH, LOTTERY, STRIDE, UNDIVIDED, ideal
from .stride_claims import table_2
from .surplus import MODEL_SETS, USERS, surplus_of

SERVERS = "two servers of 4 GPUs"
WIDTH, LONG_BINS = 600, 42  # s of a bin, and how many: 7 hours
FINE, FINE_BINS = 720, 34  # a multiple of 12 quanta, in which the schedule of section 5.1 repeats


def _values(**numbers: float | None) -> Values:
    return {name: short(value) for name, value in numbers.items()}


def _curve(numbers: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(f"{number:.5g}") for number in numbers)


def _row(
    instance: str, policy: str, x: int | None, values: Values, curve: Iterable[float] = ()
) -> list[Any]:
    return [instance, policy, x, values, _curve(curve)]


def _of_each(run: Callable[[FigureCell], Any], names: Iterable[str]) -> Iterator[FigureCell]:
    """A cell of each name."""
    for name in names:
        yield FigureCell(instance=name, policy=ALL, run=run, workload=name)


# --- Figs. 1 and 2 --------------------------------------------------------------------------------


def _options() -> Iterator[FigureCell]:
    for k, option in enumerate(runs.OPTIONS):
        yield FigureCell(instance=SERVERS, policy=option.name, run=_option, workload=k)


def _option(cell: FigureCell) -> dict[str, Any]:
    instance, where = runs.long_jobs(), runs.OPTIONS[cell.workload].made()
    ids = [job.id for job in instance.jobs]
    each = dict(zip(ids, runs.held(where, [job.gpus for job in instance.jobs]), strict=True))
    users = {user: sum(gpus for job, gpus in each.items() if job[0] == user) for user in "ABC"}
    values = _values(**users, **each, moves=runs.moves(where))
    facts = {"jobs": len(ids), "printed": {option.name: option.users for option in runs.OPTIONS}}
    rows = [_row(SERVERS, cell.policy, None, values)]
    rows += _timelines(SERVERS, cell.policy, instance, where)
    return {"rows": rows, "facts": {SERVERS: facts}}


def _timelines(place: str, policy: str, instance: Instance[Job], where: Any) -> Iterator[list[Any]]:
    """Where each job runs in the first quanta, bit k for node k."""
    for j, job in enumerate(instance.jobs):
        line = where[j, : runs.WINDOW].tolist()
        yield _row(place, f"{policy}: {job.id}", j, {"gang": job.gpus}, line)


def _mix(cell: FigureCell) -> dict[str, Any]:
    name, instance = cell.instance, heterogeneous.gang_mix(work=100 * HOUR)
    where = runs.MIXES[name](instance)
    gangs = np.array([job.gpus for job in instance.jobs])
    time = 100 * (where > 0).mean(axis=1)
    rows = []
    for user in "ABCDEF":
        own = [j for j, job in enumerate(instance.jobs) if job.user == user]
        more = {"second": float(time[own[1]])} if len(own) > 1 else {}
        gpus = float((time[own] * gangs[own]).sum()) / 100
        values = _values(gpus=gpus, ideal=8 / 6, first=float(time[own[0]]), **more)
        rows.append(_row(name, f"{user} ({gangs[own[0]]}-GPU jobs)", None, values))
    used = float((time * gangs).sum()) / 100
    rows.append(_row(name, ALL, None, _values(gpus=used, ideal=8.0)))
    rows += _timelines(name, name, instance, where)
    return {"rows": rows, "facts": {name: {"jobs": len(gangs), "hash": instance_hash(instance)}}}


# --- Table 2 --------------------------------------------------------------------------------------

GANGS = table_2().gangs
JOBS = ("A, job 1", "A, job 2", "B, job 1", "B, job 2", "C, job 1", "C, job 2")
SERVER = 4


def _schemes(seeds: int = 100, quanta: tuple[int, int] = (100, 1000)) -> Iterator[FigureCell]:
    """Ways to schedule six jobs on a node; lotteries over a short and a long time."""
    for scheme in (said.BACKFILL, UNDIVIDED, LOTTERY, STRIDE):
        yield FigureCell(instance=scheme, policy=ALL, run=_scheme, workload=(scheme, seeds, quanta))


def _scheme(cell: FigureCell) -> dict[str, Any]:
    scheme, seeds, quanta = cell.workload
    rows, known = [], _exact(scheme)
    short_one, long_one = (_drawn(scheme, seeds, n) for n in quanta)
    for j, job in enumerate(JOBS):
        drawn = _values(
            drawn=short_one[:, j].mean(), spread=short_one[:, j].std(), long=long_one[:, j].std()
        ) if scheme != STRIDE else {}  # fmt: skip
        printed = said.PRINTED_SHARES.get(scheme, (None,) * 6)[j]
        values = _values(printed=printed, exact=known[j]) | drawn
        rows.append(_row(scheme, job, None, values))
    return {"rows": rows, "facts": {scheme: {"GPUs": SERVER}}}


def _exact(scheme: str) -> tuple[float, ...]:
    """Percent of time of each job."""
    if scheme == LOTTERY:
        return said.FAIR_TIME
    if scheme == STRIDE:
        return tuple(100 * (ran / 6) for ran in table_2().counts())
    shares = lottery.lottery_backfill_shares(_weights(scheme), GANGS, SERVER)
    return tuple(100 * float(share) for share in shares)


def _weights(scheme: str) -> tuple[int, ...]:
    """In a draw: tickets, over GPUs but for one scheme."""
    return (1,) * 6 if scheme == UNDIVIDED else (4, 4, 2, 2, 1, 1)


def _drawn(scheme: str, seeds: int, quanta: int) -> Floats:
    """Percent of quanta in which each job runs: (seeds, jobs)."""
    found, weights = np.zeros((seeds if scheme != STRIDE else 0, 6)), _weights(scheme)
    for seed, row in enumerate(found):
        rng = np.random.default_rng(seed)
        gangs = lottery.GangLottery(weights, GANGS, SERVER, seed=seed)
        for _ in range(quanta):
            if scheme == LOTTERY:
                row[gangs.quantum()] += 100 / quanta
            else:
                own = lottery.lottery_backfill_quantum(weights, GANGS, SERVER, rng)
                row[own] += 100 / quanta
    return found


# --- Table 3 and random markets -------------------------------------------------------------------

AIMS: Mapping[str, Aim] = {said.LP: "total", said.MAX_MIN: "max-min", said.NASH: "nash"}


def _division(cell: FigureCell) -> dict[str, Any]:
    """What each user gets, and what it is worth."""
    name, market = cell.instance, table3_market()
    best = best_allocation(_market(market)).objective
    shares, bound = _divided(name, market)
    values = (shares * market.speeds).sum(axis=1)
    known = {said.FAIR: (25, 40, 45, 110), said.TRADED: (40, 40, 50, 130)}
    printed, rows = known.get(name, (None,) * 4), []
    for u, user in enumerate(market.users):
        k80, v100 = shares[u].tolist()
        own = _values(k80=k80, v100=v100, value=values[u], printed=printed[u])
        rows.append(_row(name, user, None, own))
    part = (values.sum() - 110) / (best - 110) if best is not None else None
    k80, v100 = shares.sum(axis=0).tolist()
    whole = _values(
        k80=k80, v100=v100, value=values.sum(), printed=printed[3], captured=part, bound=bound
    )
    return {"rows": [*rows, _row(name, ALL, None, whole)], "facts": {name: {"GPUs": 72}}}


def _divided(name: str, market: MarketArrays) -> tuple[Floats, float | None]:
    """Each user's GPUs, and the bound that is proven where they are an optimum."""
    if name == said.FAIR:
        return _market(market).fair_shares, None
    if name == said.TRADED:
        return _shares(traded_allocation(_market(market)).solution), None
    if name == said.DRIVEN:
        return _on_the_cluster(), None
    result = best_allocation(_market(market, aim=AIMS[name]))
    return _shares(result.solution), result.bound.value if result.bound else None


def _market(market: MarketArrays, **more: Any) -> GpuMarket:
    return GpuMarket(market.gpus, market.speeds, tickets=market.tickets, **more)


def _shares(solution: Any) -> Floats:
    return np.asarray(solution.shares)


def _on_the_cluster(quanta: tuple[int, int] = (200, 300)) -> Floats:
    """What each user holds in these quanta, with 60 jobs each."""
    instance = runs.sixty_jobs_each()
    run = runs.driven(instance, GandivaFair(), until=runs.QUANTUM * quanta[1])
    usage = model_usage(run, runs.QUANTUM)
    return np.asarray(usage.gpus[quanta[0] : quanta[1]].mean(axis=0))


def _kinds(markets: int = 200, users: Sequence[int] = USERS) -> Iterator[FigureCell]:
    """So many random markets of each kind."""
    for models in MODEL_SETS:
        for n in users:
            yield FigureCell(
                instance=" + ".join(model.upper() for model in models), policy=ALL, run=_kind, x=n,
                workload=(models, n, markets),
            )  # fmt: skip


def _kind(cell: FigureCell) -> dict[str, Any]:
    models, n, markets = cell.workload
    found = surplus_of(models, n, markets=markets)
    rows = [_row(cell.instance, rule, n, _values(**own)) for rule, own in found.items()]
    return {"rows": rows, "facts": {cell.instance: {"markets": markets}}}


# --- Figs. 4 to 7, 10 and 11: GPUs over time ------------------------------------------------------

INSTANCES: Mapping[str, Callable[..., Instance[Job]]] = {
    "fig4": heterogeneous.one_server,
    "fig5": heterogeneous.large_and_small_jobs,
    "fig6": heterogeneous.single_job_users,
    "fig7": heterogeneous.group_sharing,
    "fig10": heterogeneous.trading_groups,
    "fig11": heterogeneous.trading_groups,
}
BINS = {"fig4": (FINE, FINE_BINS), "fig5": (WIDTH, 20)}  # others are long


def _gpus(figure: str, until: int | None = None) -> Iterator[FigureCell]:
    """One run, stopped at `until` seconds."""
    yield FigureCell(instance=figure, policy=ALL, run=_over_time, workload=(figure, until))


def _bins(figure: str) -> tuple[int, int]:
    return BINS.get(figure, (WIDTH, LONG_BINS))


def _levels(figure: str) -> tuple[float, ...]:
    """The middles of bins, in hours."""
    width, bins = _bins(figure)
    return tuple((width * (k + 0.5)) / HOUR for k in range(bins))


def _over_time(cell: FigureCell) -> dict[str, Any]:
    figure, until = cell.workload
    instance = INSTANCES[figure]()
    run = _run(INSTANCES[figure], figure != "fig10", until)
    places = _places(instance, by_model=figure in ("fig10", "fig11"))
    hours, known = round(run.now / HOUR, 4), instance_hash(instance)
    facts = {
        name: {"jobs": len(instance.jobs), "GPUs": gpus, "hours": hours, "instance hash": known}
        for name, (_, gpus) in places.items()
    }
    return {"rows": list(_usage_rows(figure, instance, run, places)), "facts": facts}


def _places(instance: Instance[Job], *, by_model: bool) -> dict[str, tuple[list[int], int]]:
    """The models of each instance of a figure, and their GPUs."""
    gpus: dict[str, int] = {}
    for node in instance.cluster.nodes:
        gpus[node.model] = gpus.get(node.model, 0) + node.gpus
    if by_model:
        return {f"{n} {m.upper()}s": ([g], n) for g, (m, n) in enumerate(gpus.items())}
    (model,) = gpus
    return {f"{gpus[model]} {model.upper()}s": ([0], gpus[model])}


def _groups(figure: str, instance: Instance[Job]) -> dict[str, tuple[int, ...]]:
    """The users that a figure shows as one: each for itself, or by the size of its job."""
    number = {user.id: u for u, user in enumerate(instance.users)}
    if figure != "fig6":
        return {user: (u,) for user, u in number.items()}
    return {
        name: tuple(number[job.user] for job in instance.jobs if job.gpus == gpus)
        for gpus, name in said.CLASSES.items()
    }


def _usage_rows(
    figure: str, instance: Instance[Job], run: Run, places: Mapping[str, tuple[list[int], int]]
) -> Iterator[list[Any]]:
    width, bins = _bins(figure)
    groups = _groups(figure, instance)
    last_release = max(job.release for job in instance.jobs) if figure == "fig6" else 0
    begin = -(-last_release // runs.QUANTUM) * runs.QUANTUM  # of the first phase
    gpus = runs.slices(model_usage(run, width), "gpus", bins)
    fluid = runs.ideal_shares(run, width * np.arange(bins + 1))
    fine = model_usage(run, runs.QUANTUM)
    exact = runs.ideal_shares(run, fine.times)
    stops = runs.leavings(run, list(groups.values()))
    spans = runs.phases(begin, stops)
    last = Span(max(one.begin for one in stops), max(one.end for one in stops))
    cluster = sum(run.sizes)
    everybody = tuple(u for group in groups.values() for u in group)
    shown = list(zip([*groups.items(), (ALL, everybody)], [*stops, last], strict=True))
    for place, (models, n) in places.items():
        for (name, group), stop in shown:
            users = list(group)
            own = gpus[:, users][:, :, models].sum(axis=(1, 2))
            due = fluid[:, users].sum(axis=1) * n / cluster
            moments = _values(busy=stop.begin / HOUR, end=stop.end / HOUR)
            yield _row(place, name, None, moments, own)
            yield _row(place, ideal(name), None, {}, due)
            held = fine.gpus[:, users][:, :, models].sum(axis=(1, 2))
            share = exact[:, users].sum(axis=1) * n / cluster
            for k, span in enumerate(spans, 1):
                if span.begin < stop.begin:
                    yield _row(place, name, k, _means(fine.times, held, share, span))


def _means(times: Any, held: Floats, share: Floats, span: Span) -> Values:
    gpus, ideal_gpus = (float(runs.within(times, own, span)) for own in (held, share))
    return _values(**_moments(span), gpus=gpus, ideal=ideal_gpus)


def _moments(span: Span) -> dict[str, float]:
    return {"from": span.begin / HOUR, "until": span.end / HOUR}


@cache
def _run(made: Callable[[], Instance[Job]], trading: bool, until: int | None) -> Run:
    """Figures 8 to 11 share runs."""
    return runs.driven(made(), GandivaFair(trading=trading), until)


# --- Figs. 8 and 9 --------------------------------------------------------------------------------

WAYS = {"no trading": False, "trading": True}


@cache
def _per_second() -> tuple[float, ...]:
    """Mini-batches a second of a job on a K80, of each user of section 5.4."""
    jobs = heterogeneous.trading_groups().jobs
    family = {job.user: job.group for job in jobs}
    return tuple(1000 / MINIBATCH[group] for group in family.values())


def _rates(until: int | None = None) -> Iterator[FigureCell]:
    yield FigureCell(instance="all users", policy=BOTH, run=_both_ways, workload=until)


def _both_ways(cell: FigureCell) -> dict[str, Any]:
    """Mini-batches a second, counted for each GPU, with and without trading."""
    instance = heterogeneous.trading_groups()
    users = [user.id for user in instance.users]
    rows, curves = [], dict[str, Floats]()
    found: dict[str, tuple[Run, Any, Floats]] = {}
    for name, trading in WAYS.items():
        run = _run(heterogeneous.trading_groups, trading, cell.workload)
        fine = model_usage(run, runs.QUANTUM)
        found[name] = (run, fine.times, fine.work.sum(axis=2) * _per_second())
        coarse = runs.slices(model_usage(run, WIDTH), "work", LONG_BINS).sum(axis=2)
        coarse *= _per_second()
        own = [_row(user, name, None, {}, coarse[:, k]) for k, user in enumerate(users)]
        # as K80s: how many of them would do the same
        parts = [np.array(row[4]) / rate for row, rate in zip(own, _per_second(), strict=True)]
        curves[name] = np.asarray(np.sum(parts, axis=0))
        rows += own
    for k, span in enumerate(_common_phases([run for run, _, _ in found.values()]), 1):
        means = {name: runs.within(times, rate, span) for name, (_, times, rate) in found.items()}
        for u, user in enumerate(users):
            before, after = (float(means[name][u]) for name in WAYS)
            if before:
                both = {"no trading": before, "trading": after, "gain": 100 * (after / before - 1)}
                rows.append(_row(user, BOTH, k, _values(**_moments(span), **both)))
    rows += _engine_gains(instance)
    rows += [_row("all users", name, None, {}, curves[name]) for name in WAYS]
    rates = zip(users, _per_second(), strict=True)
    facts: dict[str, Any] = {u: {"mini-batches a second on a K80": short(r)} for u, r in rates}
    return {"rows": rows, "facts": {**facts, "shares, by price": {}}}


#: the profiles are complete after this time (s)
SETTLED = 1800


def _common_phases(found: Sequence[Run]) -> list[Span]:
    """Phases in which the same users have jobs in both runs, from when speeds are known."""
    stops = [leaving for run in found for leaving in _by_user(run)]
    return runs.phases(SETTLED, stops)


def _by_user(run: Run) -> list[Span]:
    return runs.leavings(run, [(u,) for u in range(len(run.users))])


def _engine_gains(instance: Instance[Job]) -> Iterator[list[Any]]:
    """What users would gain by their shares alone, at each price."""
    models = ("k80", "p100", "v100")
    family = {job.user: job.group for job in instance.jobs}
    speeds = np.array([[TABLE1[group][model] for model in models] for group in family.values()])
    problem = GpuMarket(np.array([64, 24, 12]), speeds)
    rules: tuple[PriceRule, ...] = ("second", "midpoint", "seller", "buyer")
    gains: dict[str, Any] = {
        f"{rule} price": trade(problem.fair_shares, speeds, price=rule) for rule in rules
    }
    for name in (said.LP, said.NASH):
        gains[name] = best_allocation(problem, params=AllocationParams(aim=AIMS[name])).solution
    for name, own in gains.items():
        more = 100 * ((_shares(own) * speeds).sum(axis=1) / problem.fair_values - 1)
        named = dict(zip(said.GAINS, more.round(3).tolist(), strict=True))
        yield _row("shares, by price", name, None, _values(**named))


def _log(until: int | None = None) -> Iterator[FigureCell]:
    yield FigureCell(instance="log", policy=ALL, run=_trades, workload=until)


def _trades(cell: FigureCell) -> dict[str, Any]:
    """Who bought which GPUs of whom, at which rate, and undid it."""
    instance = heterogeneous.trading_groups()
    run = _run(heterogeneous.trading_groups, True, cell.workload)
    speeds = {job.user: job.speeds for job in instance.jobs}
    rows = []
    for k, entry in enumerate(run.log):
        buyer, seller = (run.users[entry[who]] for who in ("buyer", "seller"))
        pair = (str(entry["fast"]), str(entry["slow"]))
        low, high = (speeds[user][pair[0]] / speeds[user][pair[1]] for user in (seller, buyer))
        label = f"{pair[0].upper()} to {buyer}, {pair[1].upper()} to {seller}"
        amount, rate = float(entry["amount"]), float(entry["rate"])
        own = {"bought": amount, "rate": rate} if k < said.SAMPLE else {}
        rest = {"amount": amount, "price": rate, "low": low, "high": high}
        rows.append(_row("log", label, int(entry["time"]), _values(**own, **rest)))
    for user, one in zip(run.users, _by_user(run), strict=True):
        moments = _values(busy=one.begin / HOUR, end=one.end / HOUR)
        rows.append(_row("departures", user, None, moments))
    facts = {
        "log": {"entries": len(run.log), "shown": min(said.SAMPLE, len(run.log))},
        "departures": {"instance hash": instance_hash(instance)},
    }
    return {"rows": rows, "facts": facts}


# --- the figures ---------------------------------------------------------------------------------

QUANTA = tuple(float(k) for k in range(runs.WINDOW))


_figure = figures_of("gandiva_fair", said, settings=SETTINGS, conditions=conditions)


def _over_hours(name: str) -> Experiment:
    """A figure of each user's GPUs over time."""
    settings = {**SETTINGS, "bin (s)": _bins(name)[0]}
    return _figure(name, levels=_levels(name), settings=settings, cells=partial(_gpus, name))


fig1 = _figure(
    "fig1", levels=QUANTA, cells=_options, drawing=pictures.schedules,
    settings={**SETTINGS, "quanta": runs.WINDOW, "before": runs.BEFORE},
)  # fmt: skip
fig2 = _figure(
    "fig2", levels=QUANTA, cells=partial(_of_each, _mix, runs.MIXES), drawing=pictures.schedules,
    settings={**SETTINGS, "quanta": runs.MIX_WINDOW},
)  # fmt: skip
table2 = _figure("table2", cells=_schemes, settings={"seeds": 100, "quanta": [100, 1000]})
table3 = _figure(
    "table3", cells=partial(_of_each, _division, (said.FAIR, said.TRADED, said.DRIVEN, *AIMS)),
    settings={**SETTINGS, "quanta": [200, 300]},
)  # fmt: skip
surplus = _figure("surplus", cells=_kinds, settings={"markets": 200, "seed": 0})
fig4 = _over_hours("fig4")
fig5 = _over_hours("fig5")
fig6 = _over_hours("fig6")
fig7 = _over_hours("fig7")
fig8 = _figure(
    "fig8", levels=_levels("fig8"), cells=_rates, settings={**SETTINGS, "bin (s)": WIDTH}
)
fig9 = _figure("fig9", cells=_log)
fig10 = _over_hours("fig10")
fig11 = _over_hours("fig11")
