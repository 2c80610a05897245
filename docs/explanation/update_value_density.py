"""Compare policies for jobs with deadlines, and put the tables into ``value-density.md``.

    python docs/explanation/update_value_density.py [POLICY ...] [--parts ...] [--page]

Runs what is missing in ``value-density.json`` and keeps each cell there as soon as it is done: the
told and profiled tables on seeds 10 to 14, and what each part of the policy is worth on seeds 0 to
2, on which it was tuned. Without policies all of :data:`POLICIES`; those that this version does not
have are left out with a note. With ``--page`` nothing is run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

import gangsched as gs
from gangsched.analysis.comparing.profiling import Profiling
from gangsched.analysis.driving import metrics
from gangsched.analysis.driving.drive import drive, instance_hash
from gangsched.analysis.papers.unisched.runs import (
    LEASE,
    OVERHEAD,
    PATIENCE,
    ROUND,
    SIZES,
    DeadlineWorkload,
)
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.show.columns import shown_ratio
from gangsched.analysis.show.referee import Referee, left_out, rules_in_words, seed_range
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.registry import policy
from gangsched.solvers import Rules, Stop
from gangsched.solvers.unisched import value_density
from gangsched.solvers.unisched.deadlines import NEVER
from gangsched.solvers.unisched.value_density import ValueDensity

HERE = Path(__file__).resolve().parent
PAGE, DATA = HERE / "value-density.md", HERE / "value-density.json"
RULES = {"round_length": ROUND, "lease": LEASE, "overhead": OVERHEAD, "patience": PATIENCE}
WORKLOADS = "T[720]", "T[360]", "P_SLO", "P_MIX2", "H_MIX2"
SEEDS, TUNED = range(10, 15), range(3)
OWN, PROFILED = "value-density", "value-density:profiled"
#: all that is compared, by what it knows
POLICIES: Mapping[str, Sequence[str]] = {
    "told": (
        OWN, f"{OWN}:balanced", "edf", "unisched:known", "unisched:known, users' epochs", "hydra",
        "genie", "genie:elastic", "optimus", "optimus:elastic", "srtf",
        "smallest-area",
    ),
    "profiled": (
        PROFILED, f"{OWN}:balanced-profiled", "edf:profiled", "unisched",
        "unisched:profile-first", "unisched:profile-first, users' epochs", "hydra:profiled",
        "genie:profiled", "optimus:profiled", "chronus",
    ),
}  # fmt: skip
#: options of what has no name of its own
OPTIONS: Mapping[str, Mapping[str, Any]] = {"users' epochs": {"iterations": "maximum"}}
#: of every run that is measured against the bound for those who profile first
FIRST = Profiling(300, ROUND, ROUND)
BOUND, ELASTIC_BOUND = "bound", "bound for elastic jobs"


# --- the policy without a part -------------------------------------------------------------------


class NoUrgency(ValueDensity):
    """Whoever has to start now waits for those of higher density."""

    def _plan(self, *given: Any) -> Any:
        return super()._plan(*given)._replace(start=np.full(given[1].number.size, NEVER))


class ByRelease(ValueDensity):
    """Admits in the order of arrival."""

    def _plan(self, state: Any, jobs: Any, density: Any) -> Any:
        first = np.where(density > 0, 1 / (1 + state.rank[jobs.number]), 0.0)
        return super()._plan(state, jobs, first)


class ByDeadline(ValueDensity):
    """Admits in the order of the first deadlines within reach."""

    def _plan(self, state: Any, jobs: Any, density: Any) -> Any:
        due = np.where(jobs.tried <= jobs.due - state.now, jobs.due, NEVER).min(axis=1)
        return super()._plan(state, jobs, np.where(density > 0, 1 / (1 + due), 0.0))


class NoAdmission(ValueDensity):
    """Goes by density alone."""

    def _plan(self, state: Any, jobs: Any, density: Any) -> Any:
        found = super()._plan(state, jobs, density)
        return found._replace(level=np.where(density > 0, 0, -1), start=found.start + NEVER // 2)


class LateProfiles(ValueDensity):
    """New jobs are profiled in their turn."""

    def _order(self, state: Any, jobs: Any, *given: Any) -> Any:
        return super()._order(state, jobs._replace(new=np.zeros_like(jobs.new)), *given)


@dataclass(frozen=True)
class Change:
    """The policy with other options, constants of its module, or without a part."""

    kind: type[ValueDensity] = ValueDensity
    options: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)


TOLD = {
    "as it is": Change(),
    "without hope": Change(options={"hope": False}),
    "no job before its turn because it has to start": Change(NoUrgency),
    "only those before their turn that have to start now": Change(options={"urgency": 0}),
    "order by density, without admission": Change(NoAdmission),
    "admission by release": Change(ByRelease),
    "admission by deadline": Change(ByDeadline),
    "without inertia": Change(constants={"INERTIA": 1.0}),
}
LEARNT = {
    "profiled, as it is": Change(),
    "profiled, new jobs in their turn": Change(LateProfiles),
    "profiled, guesses by 1 other job": Change(constants={"ALIKE": 1}),
}
CHANGES = {
    **TOLD,
    **{n: replace(c, options={**c.options, "profiling": 300}) for n, c in LEARNT.items()},
}


# --- cells ---------------------------------------------------------------------------------------


def workload(name: str, seed: int) -> gs.Instance[Any]:
    """Return the jobs of one seed."""
    return DeadlineWorkload(name, SIZES.get(name[0]), seed).instance()


def made(label: str) -> Any:
    """Return a new policy; raises ValueError where there is none of this name."""
    name, _, more = label.partition(", ")
    found = policy(name)[1]
    return replace(found, **OPTIONS[more]) if more else found


def parameters(label: str) -> str:
    """What differs from the defaults."""
    found = made(label)
    if isinstance(found, gs.solvers.Profiled):
        profiler = found.profiler
        return (
            f"`Profiler(seconds={profiler.seconds}, gpus={profiler.gpus})`, a rule of the cluster"
        )
    given = {f.name: (getattr(found, f.name), f.default) for f in fields(found)}
    told = [f"{name}={value!r}" for name, (value, usual) in given.items() if value != usual]
    return ", ".join(f"`{one}`" for one in told if "<" not in one) or "defaults"


def measured(name: str, seed: int, of: Any) -> dict[str, Any]:
    """Drive a policy, which must complete all jobs."""
    instance, began = workload(name, seed), perf_counter()
    run = drive(instance, of, **RULES)
    seconds = perf_counter() - began
    if run.stop is not Stop.COMPLETED or (run.records.end < 0).any():
        raise RuntimeError(f"{of.name} on {name}, seed {seed}: stopped with {run.stop.value}")
    found, kind = metrics.deadline_summary(run), Profiling.of(run)
    latency = found["best_effort_latency"]
    return {
        "miss": 100 * found["weighted_miss"],
        "latency": None if latency is None else latency / 60,
        "reward": found["reward"],
        "profiling": None if kind is None else [kind.seconds, kind.cycle, kind.lease],
        "seconds": round(seconds, 2),
    }


def bounded(name: str, seed: int, information: str, elastic: bool = False) -> dict[str, Any]:
    """An upper bound of the rewards of who keeps gangs, or need not; verified."""
    began, instance = perf_counter(), workload(name, seed)
    problem = DeadlineRewards(instance if information == "told" else FIRST.later(instance), elastic)
    bound = reward_bound(problem)
    gs.verify_bound(problem, bound)
    return {
        "reward": float(bound.value),
        "jobs": len(instance.jobs),
        "instance": instance_hash(instance),
        "seconds": round(perf_counter() - began, 2),
    }


def changed(name: str, seed: int, change: Change) -> dict[str, Any]:
    """Drive a changed policy."""
    with ExitStack() as stack:
        for constant, value in change.constants.items():
            stack.enter_context(patch.object(value_density, constant, value))
        return measured(name, seed, change.kind(**change.options))


def cells(names: Iterable[str]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the key of each cell, and what computes it."""
    able = set()
    for name in names:
        try:
            made(name)
            able.add(name)
        except ValueError:
            print(f"{name}: left out, for this version has no such policy", flush=True)
    for seed, name in product(SEEDS, WORKLOADS):
        for information, known in POLICIES.items():
            for label in (label for label in known if label in able):
                yield (
                    f"{information}|{name}|{seed}|{label}",
                    lambda label=label, name=name, seed=seed: measured(name, seed, made(label)),
                )
            yield f"{information}|{name}|{seed}|{BOUND}", partial(bounded, name, seed, information)
        elastic = partial(bounded, name, seed, "told", elastic=True)
        yield f"told|{name}|{seed}|{ELASTIC_BOUND}", elastic
    for seed, name, (label, change) in product(TUNED, WORKLOADS, CHANGES.items()):
        yield f"part|{name}|{seed}|{label}", partial(changed, name, seed, change)


# --- page ----------------------------------------------------------------------------------------

Found = Mapping[str, Any]


def by_seed(found: Found, part: str, name: str, label: str, what: str) -> list[Any]:
    """A value for each seed; empty where a run is missing."""
    seeds = TUNED if part == "part" else SEEDS
    keys = [f"{part}|{name}|{seed}|{label}" for seed in seeds]
    return [found[key][what] for key in keys] if all(key in found for key in keys) else []


def mean(values: Sequence[float | None], digits: int) -> str:
    """Of those that are there, as text."""
    there = [value for value in values if value is not None]
    return f"{fmean(there):.{digits}f}" if there else ""


def ratios(found: Found, information: str, bound: str, name: str, label: str) -> list[float]:
    """Bound over reward by seed; empty where the bound does not hold for the runs."""
    if bound == "profiled" and not all(
        kind is not None and kind[0] >= FIRST.seconds and not (kind[1] % ROUND or kind[2] % ROUND)
        for kind in by_seed(found, information, name, label, "profiling")
    ):
        return []
    kind = ELASTIC_BOUND if getattr(made(label), "elastic", False) else BOUND
    most = by_seed(found, bound, name, kind, "reward")
    won = by_seed(found, information, name, label, "reward")
    return [best / own for best, own in zip(most, won, strict=False)]


def wins(found: Found, information: str, name: str, label: str, own: str) -> str:
    """On how many seeds `own` misses less."""
    mine = by_seed(found, information, name, own, "miss")
    others = by_seed(found, information, name, label, "miss")
    if label == own or not others:
        return ""
    ahead = sum(a < b for a, b in zip(mine, others, strict=True))
    equal = sum(a == b for a, b in zip(mine, others, strict=True))
    return f"{ahead} of {len(mine)}" + (f", {equal} equal" if equal else "")


def comparison(found: Found, information: str) -> str:
    """The tables of what is told, or profiled."""

    def miss(name: str, label: str) -> str:
        return mean(by_seed(found, information, name, label, "miss"), 2)

    def latency(name: str, label: str) -> str:
        return mean(by_seed(found, information, name, label, "latency"), 0)

    def ratio(bound: str, name: str, label: str) -> str:
        by = ratios(found, information, bound, name, label)
        return f"{shown_ratio(fmean(by))} ({shown_ratio(max(by))})" if by else ""

    def table(value: Callable[[str, str], str]) -> str:
        certified = isinstance(value, partial)
        below = settings(found, information, POLICIES[information][:1], certified)
        return f"{settings_table(found, information, value)}\n\n{below}"

    own = POLICIES[information][0]
    shown = {
        "Mean weighted miss, %": miss,
        "Best-effort latency, min": latency,
        "Reward bound over reward, mean (worst seed)": partial(ratio, "told"),
        **({"The same, to the bound for those who profile first": partial(ratio, "profiled")}
           if information == "profiled" else {}),
        f"Seeds on which `{own}` misses less":
            lambda name, label: wins(found, information, name, label, own),
    }  # fmt: skip
    return "\n\n".join(f"{title}:\n\n{table(value)}" for title, value in shown.items())


def settings(
    found: Found, information: str, policies: Sequence[str], certified: bool = False
) -> Referee:
    """What a table has in common; where it shows no ratios, those of these policies."""
    said = [
        "no policy that keeps gangs wins more than "
        + ", ".join(
            f"{shown_ratio(max(ratios(found, known, 'told', w, label)))} ({w})" for w in WORKLOADS
        )
        + f" times the reward of {label}"
        for label in policies
        for known in ("told", "profiled")
        if label in POLICIES[known]
    ]
    whose = (
        "row by row: bound over reward, the bound verified, of 5 seeds; of elastic rows a bound "
    )
    return Referee(
        information=information,
        seeds=f"{seed_range(SEEDS)}, means",
        excluded=left_out([0]),
        parameters=f"options by row, {rules_in_words(Rules(**RULES))}",
        certificate=f"{whose}for elastic jobs"
        if certified
        else f"{'; '.join(said)}, on any seed, by verified bounds",
    )


def settings_table(found: Found, information: str, value: Callable[[str, str], str]) -> str:
    """A table of the policies that ran on all seeds, with the settings of each."""
    lines = [
        f"| policy | information | seeds | excluded | parameters | {' | '.join(WORKLOADS)} |",
        f"|---|---|---|--:|---|{'--:|' * len(WORKLOADS)}",
    ]
    for label in POLICIES[information]:
        if not by_seed(found, information, WORKLOADS[-1], label, "miss"):
            continue
        values = [value(name, label) for name in WORKLOADS]
        if not any(values):
            continue
        seeds = f"{SEEDS[0]} to {SEEDS[-1]}"
        head = f"`{label.partition(', ')[0]}` | {information} | {seeds} | 0 | {parameters(label)}"
        lines.append(f"| {head} | {' | '.join(values)} |")
    return "\n".join(lines)


def losses(found: Found) -> str:
    """Who misses less than the policy or its balanced variant, or has less latency."""
    lines = [
        "| policy | workload | misses more on seed | by mean | waits longer than |",
        "|---|---|---|---|---|",
    ]
    for information, known in POLICIES.items():
        for own, name in product(known[:2], WORKLOADS):
            mine = by_seed(found, information, name, own, "miss")
            seeds, means, waits = list[str](), list[str](), list[str]()
            for label in known[2:]:
                others = by_seed(found, information, name, label, "miss")
                ahead = [s for s, a, b in zip(SEEDS, mine, others, strict=False) if b < a]
                if ahead:
                    seeds.append(f"`{label}` ({', '.join(map(str, ahead))})")
                if others and fmean(others) < fmean(mine):
                    means.append(f"`{label}`")
                late = [by_seed(found, information, name, one, "latency") for one in (label, own)]
                if all(one and one[0] is not None for one in late):
                    less = 1 - fmean(late[0]) / fmean(late[1])
                    waits += [f"`{label}` by {100 * less:.0f} %"] if less > 0 else []
            if seeds or means or waits:
                cells = [f"`{own}`", name, *(", ".join(one) for one in (seeds, means, waits))]
                lines.append(f"| {' | '.join(cells)} |")
    below = settings(found, "told or profiled, as names say", [OWN, PROFILED])
    return "\n".join([*lines, "", str(below)])


def ablation(found: Found) -> str:
    """Miss and best-effort latency without each part, as far as it was run."""

    def cell(name: str, label: str) -> str:
        late = by_seed(found, "part", name, label, "latency")
        miss = mean(by_seed(found, "part", name, label, "miss"), 2)
        return f"{miss} / {mean(late, 0)}" if late and late[0] is not None else miss

    lines = [
        f"| `value-density`, seeds {TUNED[0]} to {TUNED[-1]} | {' | '.join(WORKLOADS)} |",
        f"|---|{'--:|' * len(WORKLOADS)}",
    ]
    for label in CHANGES:
        lines.append(f"| {label} | {' | '.join(cell(name, label) for name in WORKLOADS)} |")
    below = replace(
        settings(found, "told, but where a row says profiled", [OWN]),
        seeds=f"{seed_range(TUNED)}, means",
        parameters=f"one part changed by row, {rules_in_words(Rules(**RULES))}",
        certificate="none, as parts of one policy are compared, which is certified above",
    )
    return "\n".join([*lines, "", str(below)])


def put(page: Path, blocks: Mapping[str, str]) -> None:
    """Put each text between its two lines of the page."""
    text = page.read_text("utf-8")
    for name, block in blocks.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        if mark:
            text = f"{before}{mark}\n{block}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    page.write_text(text, "utf-8")


def text_of(head: Mapping[str, Any], found: Found) -> str:
    """JSON with a line for each cell."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(found[key])}" for key in sorted(found))
    return f'{json.dumps(head)[:-1]}, "cells": {{\n{lines}\n}}}}\n'


def main() -> None:
    """Run what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policies", nargs="*", metavar="POLICY")
    parser.add_argument("--page", action="store_true", help="run nothing")
    given = parser.parse_args()
    stored = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {"cells": {}}
    found = stored["cells"]
    names = given.policies or [label for known in POLICIES.values() for label in known]
    for key, compute in () if given.page else cells(names):
        if key not in found:
            found[key] = compute()
            print(key, found[key], flush=True)
            DATA.write_text(text_of({"version": gs.__version__, "rules": RULES}, found), "utf-8")
    tables = {information: comparison(found, information) for information in POLICIES}
    put(PAGE, {**tables, "losses": losses(found), "parts": ablation(found)})


if __name__ == "__main__":
    main()
