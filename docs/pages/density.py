"""Policies for jobs with deadlines, known and profiled, on seeds 10 to 14 of five workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

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
from gangsched.analysis.show.conditions import Conditions, left_out, rules_in_words, seed_range
from gangsched.formulations.deadline_rewards import DeadlineRewards
from gangsched.registry import policy
from gangsched.solvers import Rules, Stop
from pages import kept, put, table

RULES = {"round_length": ROUND, "lease": LEASE, "overhead": OVERHEAD, "patience": PATIENCE}
WORKLOADS = "T[720]", "T[360]", "P_SLO", "P_MIX2", "H_MIX2"
SEEDS = range(10, 15)
OWN, PROFILED = "value-density", "value-density:profiled"
#: all that is compared, by what it knows
POLICIES: Mapping[str, Sequence[str]] = {
    "known": (
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


def workload(name: str, seed: int) -> gs.Instance[Any]:
    """Return the jobs of one seed."""
    return DeadlineWorkload(name, SIZES.get(name[0]), seed).instance()


def made(label: str) -> Any:
    """Return a new policy."""
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


def measured(name: str, seed: int, label: str) -> dict[str, Any]:
    """Drive a policy, which must complete all jobs."""
    instance, of, began = workload(name, seed), made(label), perf_counter()
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
    problem = DeadlineRewards(
        instance if information == "known" else FIRST.later(instance), elastic
    )
    bound = reward_bound(problem)
    gs.verify_bound(problem, bound)
    return {
        "reward": float(bound.value),
        "jobs": len(instance.jobs),
        "instance": instance_hash(instance),
        "seconds": round(perf_counter() - began, 2),
    }


def cells() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the key of each cell, and what computes it."""
    for seed, name in product(SEEDS, WORKLOADS):
        for information, known in POLICIES.items():
            place = f"{information}|{name}|{seed}"
            for label in known:
                yield f"{place}|{label}", partial(measured, name, seed, label)
            yield f"{place}|{BOUND}", partial(bounded, name, seed, information)
        elastic = partial(bounded, name, seed, "known", elastic=True)
        yield f"known|{name}|{seed}|{ELASTIC_BOUND}", elastic


# --- page ----------------------------------------------------------------------------------------


class Page:
    """The tables of the cells that were run."""

    def __init__(self, cells: Mapping[str, Any]) -> None:
        self.cells = cells

    def by_seed(self, information: str, name: str, label: str, what: str) -> list[Any]:
        """A value for each seed."""
        return [self.cells[f"{information}|{name}|{seed}|{label}"][what] for seed in SEEDS]

    def miss(self, information: str, name: str, label: str) -> str:
        return f"{fmean(self.by_seed(information, name, label, 'miss')):.2f}"

    def latency(self, information: str, name: str, label: str) -> str:
        found = self.by_seed(information, name, label, "latency")
        return "" if found[0] is None else f"{fmean(found):.0f}"

    def ratios(self, information: str, bound: str, name: str, label: str) -> list[float]:
        """Bound over reward by seed; empty where the bound does not hold for the runs."""
        if bound == "profiled" and not all(
            kind is not None
            and kind[0] >= FIRST.seconds
            and not (kind[1] % ROUND or kind[2] % ROUND)
            for kind in self.by_seed(information, name, label, "profiling")
        ):
            return []
        kind = ELASTIC_BOUND if getattr(made(label), "elastic", False) else BOUND
        most = self.by_seed(bound, name, kind, "reward")
        won = self.by_seed(information, name, label, "reward")
        return [best / own for best, own in zip(most, won, strict=True)]

    def ratio(self, bound: str, information: str, name: str, label: str) -> str:
        by = self.ratios(information, bound, name, label)
        return f"{shown_ratio(fmean(by))} ({shown_ratio(max(by))})" if by else ""

    def below(self, information: str, certificate: str = "", own: Sequence[str] = ()) -> Conditions:
        """What a table has in common; where it shows no ratios, those of the policies of ours."""
        said = [
            "no policy that keeps gangs wins more than "
            + ", ".join(
                f"{shown_ratio(max(self.ratios(known, 'known', w, label)))} ({w})"
                for w in WORKLOADS
            )
            + f" times the reward of {label}"
            for known, label in (("known", OWN), ("profiled", PROFILED))
            if label in own
        ]
        return Conditions(
            information=information,
            seeds=f"{seed_range(SEEDS)}, means",
            excluded=left_out([0]),
            parameters=f"options by row, {rules_in_words(Rules(**RULES))}",
            certificate=certificate or f"{'; '.join(said)}, on any seed, by verified bounds",
        )

    def table(self, information: str, value: Callable[[str, str, str], str]) -> str:
        """A table of the policies, with the settings of each."""
        rows, seeds = [], f"{SEEDS[0]} to {SEEDS[-1]}"
        for label in POLICIES[information]:
            values = [value(information, name, label) for name in WORKLOADS]
            if any(values):
                name = f"`{label.partition(', ')[0]}`"
                rows.append([name, information, seeds, parameters(label), "0", *values])
        heads = ("policy", "information", "seeds", "parameters", "excluded", *WORKLOADS)
        return table(heads, rows, left=4)

    def comparison(self, information: str) -> str:
        """The tables of what is known, or profiled."""
        certified = (
            "row by row: bound over reward, the bound verified, of 5 seeds; of elastic rows a "
            "bound for elastic jobs"
        )
        parts = []
        for title, value in {
            "Mean weighted miss, %": self.miss,
            "Best-effort latency, min": self.latency,
        }.items():
            below = self.below(information, own=POLICIES[information][:1])
            parts += [f"{title}:", self.table(information, value), str(below)]
        for title, bound in {
            "Reward bound over reward, mean (worst seed)": "known",
            "The same, to the bound for those who profile first": "profiled",
        }.items():
            if bound in ("known", information):
                shown = self.table(information, partial(self.ratio, bound))
                parts += [f"{title}:", shown, str(self.below(information, certified))]
        return "\n\n".join(parts)

    def losses(self) -> str:
        """Who misses less than the policy or its balanced variant, or has less latency."""
        rows = []
        for information, known in POLICIES.items():
            for own, name in product(known[:2], WORKLOADS):
                seeds, means, waits = list[str](), list[str](), list[str]()
                mine = self.by_seed(information, name, own, "miss")
                late = self.by_seed(information, name, own, "latency")
                for label in known[2:]:
                    others = self.by_seed(information, name, label, "miss")
                    ahead = [s for s, a, b in zip(SEEDS, mine, others, strict=True) if b < a]
                    if ahead:
                        seeds.append(f"`{label}` ({', '.join(map(str, ahead))})")
                    if fmean(others) < fmean(mine):
                        means.append(f"`{label}`")
                    if late[0] is not None:
                        theirs = self.by_seed(information, name, label, "latency")
                        less = 1 - fmean(theirs) / fmean(late)
                        waits += [f"`{label}` by {100 * less:.0f} %"] if less > 0 else []
                if seeds or means or waits:
                    rows.append([f"`{own}`", name, *map(", ".join, (seeds, means, waits))])
        heads = ["policy", "workload", "misses more on seed", "by mean", "waits longer than"]
        below = self.below("known or profiled, as names say", own=[OWN, PROFILED])
        return f"{table(heads, rows, left=5)}\n\n{below}"


def write(page: Path) -> None:
    head = {"version": gs.__version__, "rules": RULES}
    shown = Page(kept(page.with_suffix(".json"), dict(cells()), **head)["cells"])
    for information in POLICIES:
        put(page, information, shown.comparison(information))
    put(page, "losses", shown.losses())
