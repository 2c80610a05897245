"""The settings that stand below each table of Gao et al.'s figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...show.conditions import UNBOUNDED, UNRANKED, Conditions, all_given, left_out, seed_range
from ..study import Study
from .runs import OVERHEAD, PATIENCE
from .statements import CHRONUS, QUEUE, TRAININGS

RATIO = (
    "certified ratio in the table, the most reward of any policy that keeps gangs{}, also one that "
    "knows all jobs in advance, by a verified bound, over the reward that was won; none of {}"
)
ELASTIC = " (of elastic rows: of any that need not)"


def conditions(study: Study, instances: Sequence[str]) -> Conditions:
    """Return under which settings a table compares."""
    if "round (s)" not in study.settings or {*instances} <= {QUEUE, TRAININGS}:
        return _without_runs(study, instances)
    facts = [study.instances[name] for name in instances]
    seeds = study.seeds(instances)
    return Conditions(
        information=_information(study, instances),
        seeds=f"{seed_range(seeds)}, means",
        excluded=left_out([study.settings["jobs left out"]]),
        parameters=_parameters(study, [own for own in facts if own]),
        certificate=_certificate(study, instances),
    )


def _without_runs(study: Study, instances: Sequence[str]) -> Conditions:
    """Of rewards by time, of estimated epochs, and of one selection from a queue."""
    (name,) = instances
    settings, facts = study.settings, study.instances[name]
    if name == QUEUE:
        parameters = f"queues of {', '.join(f'{n:,}' for n in facts['jobs'])} jobs, one selection"
        gap = study.has(instances, "gap")
        return Conditions(
            information="run times", seeds="0", excluded=left_out([0]), parameters=parameters,
            certificate="certified gap in the table, of a verified bound" if gap else UNRANKED,
        )  # fmt: skip
    if name == TRAININGS:
        return Conditions(
            information="curves of metrics as far as they were seen",
            seeds=f"{seed_range(study.seeds(instances))}, means", excluded="no training",
            parameters=f"{facts['trainings'][0]} trainings a seed",
            certificate="none, as errors are against the true epochs",
        )  # fmt: skip
    return all_given(
        information="none needed", certificate=UNRANKED,
        parameters=f"first deadline {settings['first deadline (min)']} min, best-effort leases of "
        f"{settings['BE lease (s)']} s",
    )  # fmt: skip


def _information(study: Study, instances: Sequence[str]) -> str:
    rows = {row.policy for row in study.rows if row.instance in {*instances}}
    if any(label.endswith((", known", ", profiled")) for label in rows):
        how = (f"{word} ({study.settings[word]})" for word in ("profiled", "known", "learned"))
        return f"as each row says: {'; '.join(how)}; FIFO uses none"
    if any(label.startswith(CHRONUS) for label in rows):
        chronus = study.settings["Chronus"]
        return f"profiled, all rows: UniSched in its selector, Chronus {chronus}"
    return "profiled, all rows, in the selector where a row says nothing else"


def _parameters(study: Study, facts: Sequence[Mapping[str, Any]]) -> str:
    settings = study.settings
    said = [
        f"rounds of {settings['round (s)']} s",
        f"leases of {settings['SLO lease (s)']} s (SLO) and {settings['BE lease (s)']} s (others)",
        f"{OVERHEAD} s to resume where a job has no cost of its own",
        f"patience {PATIENCE:,} s where a row says nothing else",
    ]
    return ", ".join([*said, *_sizes(facts)])


def _sizes(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Jobs, GPUs and loads by seed, where the table is of one workload."""
    if len(facts) != 1:
        return ["workloads as in Fig. 6"]
    own = {name: dict.fromkeys(values) for name, values in facts[0].items()}
    jobs, gpus, load = (", ".join(map(str, own[name])) for name in ("jobs", "GPUs", "offered load"))
    return [f"{jobs} jobs", f"{gpus} GPUs by seed", f"offered load {load}"]


def _certificate(study: Study, instances: Sequence[str]) -> str:
    rows = {row.policy for row in study.rows if row.instance in {*instances}}
    jct = study.has(instances, "jct")
    if study.has(instances, "ratio"):
        without = "mean JCT, which gangsched replay bounds" if jct else "latency"
        return RATIO.format(ELASTIC * any("GENIE" in label for label in rows), without)
    if study.has(instances, "slo_error"):
        return "none, as errors are against the true run times"
    return UNBOUNDED.format("suspensions") + ", and one policy ran"
