"""The settings that stand below each table of Yu et al.'s figures."""

from __future__ import annotations

from collections.abc import Sequence

from ...show.conditions import Conditions, left_out, seed_range
from ..study import Study


def conditions(study: Study, variants: Sequence[str]) -> Conditions:
    """Return under which settings a table compares."""
    settings = study.settings
    rows = [row for row in study.rows if row.instance in variants]
    repeats = {"RAND": settings["repeats of RAND"]}
    runs = len(settings["seeds"]) * sum(repeats.get(row.policy, 1) for row in rows)
    late = round(sum(row.values["beyond"] or 0 for row in rows))
    kinds = dict.fromkeys(variant.partition(", ")[2] or "light" for variant in variants)
    extra = (
        f"{name}: communication adds {100 * low:g} to {100 * high:g} %, k {k}"
        for name in kinds
        for (low, high), k in [settings["contention"][name].values()]
    )
    servers = seed_range(settings["servers"])
    sizes = ", ".join(map(str, settings["server_sizes"]))
    random = "".join(
        f", {p} {n} repeats of each" for p, n in repeats.items() if p in study.policies
    )
    rest = "; none of mean completion" * ("mean_completion" in study.measures)
    where = "in brackets" if study.axis else "in the table"
    return Conditions(
        information="all jobs at slot 0",
        seeds=f"{seed_range(settings['seeds'])}, means{random}",
        excluded=f"{left_out([0])}; {late} of {runs} runs beyond T, which count as T",
        parameters=f"{settings['jobs']} jobs on {servers} servers of {sizes} GPUs, T = "
        f"{settings['T']} slots, {', '.join(extra)}",
        certificate=f"ratio {where}, makespan over a verified lower bound{rest}",
    )
