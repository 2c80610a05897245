"""The settings that stand below each table of Chaudhary et al.'s figures."""

from __future__ import annotations

from collections.abc import Sequence

from ....instances.heterogeneous import random_market
from ...show.conditions import UNRANKED, Conditions, all_given, seed_range
from ..study import Study
from .statements import ALL, DRIVEN, FAIR, LP

FLUID = "none, as one policy ran, beside its ideal share in the table"
MEASURED = "none used of run times; speeds are measured while jobs run"


def conditions(study: Study, instances: Sequence[str]) -> Conditions:
    """Return under which settings a table compares."""
    (name,) = instances
    by_figure = {
        "table2": _time_on_a_server, "table3": _one_market, "surplus": _markets, "fig8": _rates,
    }  # fmt: skip
    own = by_figure.get(study.name.partition(":")[2])
    return _driven(study, name) if own is None else own(study, name)


def _rules(study: Study) -> str:
    settings = study.settings
    return (
        f"quantum {settings['quantum (s)']} s, {settings['overhead (s)']} s to resume, "
        f"{settings['migration (s)']} s to migrate"
    )


def _driven(study: Study, name: str) -> Conditions:
    """Of runs on the driver; Fig. 1 has a policy that knows a run time."""
    facts, settings = study.instances[name], study.settings
    place = name if "GPUs" in facts else "two servers of 4 GPUs"
    jobs = f"{facts['jobs']:,} jobs on {place}" if "jobs" in facts else "jobs and GPUs of Fig. 11"
    size = jobs, _rules(study)
    more = (f"{settings['quanta']} quanta",) if "quanta" in settings else ()
    known = "(b) knows run times, others use none"
    return all_given(
        information=known if study.name.endswith("fig1") else MEASURED,
        seeds=seed_range([]) if "fig6" not in study.name else "0, of the arrivals",
        parameters=", ".join([*size, *more]),
        certificate=FLUID if study.has([name], "ideal") else UNRANKED,
    )


def _time_on_a_server(study: Study, name: str) -> Conditions:
    drawn = study.has([name], "drawn")
    short, long = study.settings["quanta"]
    seeds = range(study.settings["seeds"]) if drawn else ()
    return all_given(
        information="none used",
        seeds=seed_range(seeds) + ", mean and standard deviation" * drawn,
        parameters=f"6 jobs on a server of {study.instances[name]['GPUs']} GPUs"
        + f", {short:,} and {long:,} quanta" * drawn,
        certificate="expected shares of time, exact in the table",
    )


def _one_market(study: Study, name: str) -> Conditions:
    bound = study.value(LP, ALL, "bound")
    total = "none" if bound is None else f"{bound:g}"
    driven = name == DRIVEN
    begin, end = study.settings["quanta"]
    return all_given(
        information="measured while jobs run" if driven else "known speeds of all users",
        parameters=f"60 K80s and 12 V100s, 3 users, {study.instances[name]['GPUs']} GPUs"
        + f", {_rules(study)}, mean of quanta {begin} to {end}" * driven,
        certificate=f"captured surplus in the table, over the proven largest total of {total}, "
        f"and the proven bound of the aim where the row all has one"
        if name != FAIR
        else f"no division has more than the proven total of {total}",
    )


def _markets(study: Study, name: str) -> Conditions:
    markets, seed = study.instances[name]["markets"], study.settings["seed"]
    models = tuple(name.lower().split(" + "))
    gpus = ", ".join(f"{n:g}" for n in random_market(3, models=models).gpus.tolist())
    return all_given(
        information="known speeds of all users",
        seeds=f"from {seed} on, as many as give {markets} markets with a surplus",
        excluded="no user; markets without any surplus",
        parameters=f"GPUs by model, {name}: {gpus}; tickets of 1, 2 or 4, 3 % of noise on speeds",
        certificate="captured surplus in the table, over the largest total of the linear program",
    )


def _rates(study: Study, name: str) -> Conditions:
    alone = not study.instances[name]  # by price: shares, and no run
    return all_given(
        information="known speeds of all users" if alone else MEASURED,
        parameters="64 K80s, 24 P100s and 12 V100s, 4 users"
        + ("" if alone else f", {_rules(study)}"),
        certificate="none, as what one user gains another could have gained"
        if alone
        else "none, as one policy ran, with and without trading",
    )
