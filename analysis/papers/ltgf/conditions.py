"""The settings that stand below each table of Ye et al.'s figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....solvers.policy import Policy, information_of
from ...show.conditions import UNBOUNDED, UNRANKED, Conditions, all_given, left_out, seed_range
from ..study import Study

Policies = Mapping[str, Callable[[], Policy]]
SHARE = "their share of the GPU time"


def conditions(policies: Policies) -> Callable[[Study, Sequence[str]], Conditions]:
    """Return what gives the settings of a table whose rows are of these policies."""

    def of_table(study: Study, instances: Sequence[str]) -> Conditions:
        facts = {name: study.instances[name] for name in instances}
        return Conditions(
            information=_information(study, instances, policies),
            seeds=_seeds(facts),
            excluded=_excluded(facts),
            parameters=", ".join([*_rules(study), *_sizes(study, facts)]),
            certificate=_certificate(study, instances),
        )

    return of_table


def three_jobs(study: Study, instances: Sequence[str]) -> Conditions:
    """Return the settings of Fig. 6, a drawing that two policies are beside."""
    (name,) = instances
    settings, facts = study.settings, study.instances[name]
    gangs = ", ".join(map(str, facts["gangs"]))
    return all_given(
        information="(b) known, (c) none used",
        parameters=f"{name}, gangs of {gangs}, rounds and leases of {settings['round (s)']} s, "
        f"{settings['overhead (s)']} s to resume",
        certificate=UNRANKED,
    )


def _information(study: Study, instances: Sequence[str], policies: Policies) -> str:
    """Who knows run times; labels that are no policy of the figures are variants of one."""
    rows = dict.fromkeys(row.policy for row in study.rows if row.instance in {*instances})
    known = {label: make() for label, make in policies.items() if label in rows}
    knows = [label for label, made in known.items() if information_of(made) is not None]
    names = "; ".join(knows)
    return f"run times when jobs come, for {names}; others use none" if knows else "none used"


def _seeds(facts: Mapping[str, Mapping[str, Any]]) -> str:
    drawn = sorted({seed for own in facts.values() for seed in own.get("seeds", ())})
    if not drawn:
        return seed_range([])
    logs = dict.fromkeys(own["workload"] for own in facts.values() if "seeds" not in own)
    return f"{seed_range(drawn)}, means" + "".join(f"; none drawn on {name}" for name in logs)


def _excluded(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Counts by instance, and what they are of the GPU time."""
    said = []
    for name, own in facts.items():
        counts, shares = (by_seed(own[f]) for f in ("rejected for all policies", SHARE))
        text = left_out(counts)
        if any(counts):
            text += f", {100 * max(shares):.1f} % of the GPU time" + " at most" * (len(shares) > 1)
        said.append(text if len(facts) == 1 else f"{name}: {text}")
    return "; ".join(said)


def _rules(study: Study) -> list[str]:
    lease = study.settings["lease (s)"]
    patience = study.settings["patience (s)"]
    return [
        f"rounds of {study.settings['round (s)']} s",
        "leases by row" if isinstance(lease, list) else f"leases of {lease} s",
        f"{study.settings['overhead (s)']} s to resume",
        "patience of 8 leases" if isinstance(lease, list) else f"patience {patience:,} s",
    ]


def _sizes(study: Study, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    if study.axis == "nodes":
        return ["nodes of 8 GPUs by row"]
    return [
        f"{own['nodes']} nodes of 8 GPUs" + f" ({name})" * (len(facts) > 1)
        for name, own in facts.items()
    ]


def _certificate(study: Study, instances: Sequence[str]) -> str:
    if study.has(instances, "ratio"):
        what = "mean slowdown" if study.has(instances, "mean_slowdown") else "mean JCT"
        rest = "; none of shares of jobs" * study.has(instances, "loss")
        return (
            f"certified ratio in the table, {what} over a verified bound for every policy, also "
            f"one that knows all jobs in advance{rest}"
        )
    return UNBOUNDED.format("shares of users' days" if study.axis == "user" else "shares of jobs")


def by_seed(value: Any) -> list[Any]:
    """Return the values of a fact by seed."""
    return value if isinstance(value, list) else [value]
