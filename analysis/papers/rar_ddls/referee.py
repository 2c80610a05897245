"""The settings that stand below each table of Yu et al.'s figures."""

from __future__ import annotations

from collections.abc import Sequence

from ...show.referee import Referee, left_out, seed_range
from .points import Reproduction


def referee(study: Reproduction, variants: Sequence[str]) -> Referee:
    """Return under which settings a table compares."""
    settings = study.settings
    runs = [point for point in study.points if point.variant in variants]
    late = sum(point.makespan is None for point in runs)
    kinds = dict.fromkeys(variant.partition(", ")[2] or "light" for variant in variants)
    extra = (
        f"{name}: communication adds {100 * low:g} to {100 * high:g} %, k {k}"
        for name in kinds
        for (low, high), k in [settings["contention"][name].values()]
    )
    servers = seed_range(settings["servers"])
    sizes = ", ".join(map(str, settings["server_sizes"]))
    random = any(point.repeat for point in runs)
    repeats = f", RAND {settings['repeats of RAND']} repeats of each" * random
    by_policy = len(settings["servers"]) == 1 and len(study.policies) > 1  # with mean completion
    rest = "; none of mean completion" * by_policy
    where = "in the table" if by_policy else "in brackets"
    return Referee(
        information="told, all jobs at slot 0",
        seeds=f"{seed_range(settings['seeds'])}, means{repeats}",
        excluded=f"{left_out([0])}; {late} of {len(runs)} runs beyond T, which count as T",
        parameters=f"{settings['jobs']} jobs on {servers} servers of {sizes} GPUs, T = "
        f"{settings['T']} slots, {', '.join(extra)}",
        certificate=f"ratio {where}, makespan over a verified lower bound{rest}",
    )
