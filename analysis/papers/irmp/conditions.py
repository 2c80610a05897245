"""The settings that stand below each table of Wang et al.'s figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...show.conditions import UNBOUNDED, Conditions, left_out, seed_range
from ..study import Study
from .statements import ASTRAEA, BATCH, LIST, varied


def conditions(study: Study, instances: Sequence[str]) -> Conditions:
    """Return under which settings a table compares."""
    (name,) = instances
    facts = study.instances[name]
    seeds = study.seeds(instances) or range(len(facts["jobs"]))  # of Fig. 12, which has no means
    return Conditions(
        information=_information(study, name),
        seeds=seed_range(seeds) + ", means" * (len(seeds) > 1),
        excluded=f"{left_out([0])}; those that a policy refuses earn nothing",
        parameters=_parameters(study.settings, facts, varied(name) or study.axis),
        certificate=_certificate(study, name),
    )


def _information(study: Study, instance: str) -> str:
    rows = {row.policy for row in study.rows if row.instance == instance}
    priced = " and ".join(one for one in (ASTRAEA, BATCH) if one in rows)
    said = "work and utility of a job when it comes"
    said += f", {priced} highest prices over all jobs too"
    return said + f", {LIST} all jobs in advance" * (LIST in rows)


def _parameters(settings: Mapping[str, Any], facts: Mapping[str, Any], axis: str) -> str:
    sizes = ("jobs", "servers", "workers", "users")
    counts = (", ".join(map(str, dict.fromkeys(facts[name]))) for name in sizes)
    jobs, servers, workers, users = counts
    at_first = " at the first x" * (axis in ("jobs", "servers", "users"))
    return (
        f"{jobs} jobs of {users} users on {servers} servers with {workers} workers by seed"
        f"{at_first}, slots of {settings['slot']}, lambda {settings['lambda']}, unit of money by "
        f"{'row' if axis == 'scale' else 'the assumption of (8)'}"
    )


def _certificate(study: Study, instance: str) -> str:
    own = [instance]
    if study.has(own, "ratio"):
        return (
            "certified ratio in the table, the most true revenue of any schedule, by a verified "
            f"bound ({study.settings['bound']}), over the row's"
        )
    if study.has(own, "makespan"):
        return "none, as who refuses jobs can have any makespan and use"
    if study.has(own, "seconds"):
        return "none, as seconds of one policy rank nobody"
    if study.has(own, "accepted"):
        return "none, as one policy ran"
    if study.has(own, "a job true"):
        return "none, as one policy ran; its certified ratios are in Fig. 4"
    return UNBOUNDED.format("the fairness of revenue")
