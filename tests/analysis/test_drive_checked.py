"""Every run of the driver keeps the rules, whatever the policy, the engine and the cluster."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import (
    Case,
    Mover,
    cases,
    checked,
    deadline_cases,
    mixed_cases,
    one_run,
    split_cases,
)
from few import but
from gangsched import registry
from gangsched.instances import Cluster, Instance, Job
from gangsched.instances.generate import philly_workload
from gangsched.solvers import GandivaFair, Hived, LtgfPolicy, SmallestArea, Themis, TiresiasL
from gangsched.solvers.ours.unisched.value_density import ValueDensity
from gangsched.solvers.policies.allox.policy import Allox
from gangsched.solvers.policy import Decision, Policy, Preempts, State
from gangsched.solvers.unisched.chronus import Chronus
from gangsched.solvers.unisched.optimus import Optimus
from gangsched.solvers.unisched.three_sigma import ThreeSigma
from reference_driver import drive

EXAMPLES = settings().max_examples // 4
QUIET = 5_000  # seconds after which the wild policy calms down


@dataclass
class Wild:
    """Suspends, kills, starts and orders at random, as far as it may; later first in, first out."""

    preempts: Preempts = Preempts.ALWAYS
    seed: int = 0
    blocking: bool = False
    name: str = "wild"

    def decide(self, state: State) -> Decision:
        if state.now > QUIET:
            return Decision(order=state.waiting)
        rng = np.random.default_rng([self.seed, state.now])
        stopped = [int(j) for j in state.preemptible if rng.random() < 0.4]
        kill = [j for j in stopped if rng.random() < 0.5]
        idle = [*state.waiting.tolist(), *kill]
        start = [(j, None) for j in rng.permutation(idle).tolist() if rng.random() < 0.3]
        taken = {*stopped, *(j for j, _ in start)}
        rest = [j for j in rng.permutation(state.candidates).tolist() if j not in taken]
        return Decision(
            suspend=[j for j in stopped if j not in kill],
            kill=kill,
            start=start,
            order=[j for j in rest if rng.random() < 0.8],
            blocking=self.blocking,
        )


def even(case: Case) -> Case:
    """The same jobs on nodes of one size, a power of two."""
    sizes = case.instance.cluster.sizes
    size = 1 << (min(sizes).bit_length() - 1)
    cluster = Cluster.of_sizes([size] * len(sizes))
    return Case(replace(case.instance, cluster=cluster), case.rules)


def brief(case: Case) -> Case:
    """The same with an overhead below the round length."""
    rules = case.rules
    least = min(rules["overhead"], rules["round_length"] - 1)
    return Case(case.instance, {**rules, "overhead": least})


def gentle(case: Case) -> Case:
    """The same where each round makes progress, so that policies that preempt come to an end."""
    jobs = [
        replace(
            job,
            preemption_cost=None if job.preemption_cost is None else min(3, job.preemption_cost),
            split_speed=max(0.3, job.split_speed),
        )
        for job in case.instance.jobs
    ]
    return Case(replace(case.instance, jobs=jobs), {**case.rules, "overhead": 1, "spread": True})


#: policies with parameters that the registry does not have
OWN: dict[str, Policy] = {
    "smallest-area with a guard": SmallestArea(guard=200),
    "tiresias-l": TiresiasL(thresholds=(60, 500)),
    "themis without fairness": Themis(fairness=0.0),
    "themis with little fairness": Themis(fairness=0.5),
    "hived": Hived(limit=2),
    "hived with backfill": Hived(limit=1, backfill=True),
    "gandiva-fair": GandivaFair(threshold=0.1),
    "allox for few users": Allox(alpha=0.4),
    "ltgf by quota": LtgfPolicy(fair_share="quota", job_key="rho-minus", renewal_first=True),
    "optimus:elastic": Optimus(elastic=True, cycle=90),
    "three-sigma": ThreeSigma(slot=90, slots=4),
    "chronus of short leases": Chronus(lease=120, be_lease=60, profilers=2),
    "chronus without a profiler": Chronus(
        lease=180, be_lease=90, profilers=0, sr_aware=True, rounding="lossless"
    ),
    "value-density:profiled": ValueDensity(profiling=90),
    "wild": Wild(),
    "wild at leases": Wild(preempts=Preempts.LEASE, seed=1),
    "wild and blocking": Wild(blocking=True, seed=2),
    "mover": Mover(),
    "mover at leases": Mover(seed=1, preempts=Preempts.LEASE, always_asked=False),
}
KINDS: dict[str, st.SearchStrategy[Case]] = {
    "one model": cases(wide=1),
    "several models": mixed_cases(),
    "split gangs": split_cases().map(gentle),
    "deadlines": deadline_cases() | cases(),
}
BOTH = (
    *("fifo", "fifo:backfill", "sjf", "srtf", "smallest-area", "serverfilling-srpt", "las"),
    *("tiresias-l", "themis", "themis-greedy", "allox", "allox for few users", "ltgf"),
    *("ltgf by quota", "max-min-fairness", "finish-time-fairness", "min-total-duration"),
    "max-sum-throughput",
)
NAMES: dict[str, tuple[str, ...]] = {
    "one model": (
        *BOTH,
        *("easy", "easy:estimates", "conservative", "conservative:estimates", "isolation-area"),
        *("yarn-cs:backfill", "hived", "hived with backfill", "gandiva-fair"),
        *("gandiva-fair:literal", "smallest-area with a guard", "themis without fairness"),
        *("themis with little fairness", "wild", "wild at leases", "wild and blocking"),
    ),
    "several models": (*BOTH, "mover", "mover at leases"),
    "split gangs": ("fifo:backfill", "srtf", "tiresias-l", "themis-greedy", "ltgf"),
    "deadlines": (
        *("hydra", "genie", "genie:elastic", "optimus", "optimus:elastic"),
        *("three-sigma", "chronus", "chronus of short leases", "chronus without a profiler"),
        *("edf", "value-density", "value-density:balanced", "value-density:profiled"),
    ),
}
#: the cases that these policies are for
MEANT = {"hived": even, "hived with backfill": even, "las": brief}
RUNS = [(kind, name) for kind, names in NAMES.items() for name in names]
SLOW = {
    ("one model", "conservative"),
    *(("several models", name) for name in ("min-total-duration", "max-sum-throughput")),
    *(("deadlines", name) for k, name in enumerate(NAMES["deadlines"]) if k % 3),
}


def policy_of(name: str) -> Policy:
    return OWN.get(name) or registry.policy(name)[1]


@pytest.mark.parametrize(("kind", "name"), but(SLOW, RUNS))
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_runs_keep_the_rules_and_are_the_same_by_every_way(
    kind: str, name: str, data: st.DataObject
) -> None:
    case = data.draw(KINDS[kind], label="case")
    one_run(MEANT.get(name, Case._make)(case), policy_of(name), data, skip="wild" not in name)


@pytest.mark.parametrize("name", [name for name in NAMES["one model"] if "wild" not in name])
@settings(max_examples=EXAMPLES)
@given(case=cases(wide=1))
def test_with_a_node_for_every_job_nobody_waits(name: str, case: Case) -> None:
    jobs = [replace(job, gpus=min(job.gpus, 4), user="") for job in case.instance.jobs]
    roomy = Instance(Cluster.of_sizes([4] * len(jobs)), jobs)
    rules = {**case.rules, "overhead": 0}
    book = checked(Case(roomy, rules), policy_of(name)).records
    assert book.first.tolist() == book.visible.tolist()
    assert book.end.tolist() == (book.visible + book.work).tolist()


@pytest.mark.xfail(strict=True, reason="patience counts from a round that is skipped")
def test_a_gang_that_came_with_others_is_repacked_though_rounds_are_skipped() -> None:
    """`c` waits from 0 on, but no decision finds it behind those that run before 30."""
    jobs = [
        Job(id=i, gpus=g, work=work) for i, g, work in (("a", 2, 21), ("b", 2, 31), ("c", 4, 1))
    ]
    instance = Instance(Cluster.of_sizes([1, 3, 4]), jobs)
    how = {"round_length": 10, "lease": 10, "overhead": 0, "patience": 0}
    policy = TiresiasL(thresholds=(60, 500))
    assert drive(instance, policy, **how) == drive(instance, policy, skip=False, **how)


@pytest.mark.parametrize("patience", [900, 3600])
@pytest.mark.parametrize("seed", [10, 28])
def test_engines_agree_where_several_gangs_displace_others_in_one_round(
    seed: int, patience: int
) -> None:
    cluster = Cluster.uniform(nodes=8, gpus_per_node=8)
    instance = philly_workload(cluster, jobs=200, load=1.2, seed=seed)
    how = {"patience": patience, "until": instance.jobs[-1].release}
    run = drive(instance, LtgfPolicy(), **how)
    assert drive(instance, LtgfPolicy(), engine="reference", **how) == run
    assert drive(instance, LtgfPolicy(), skip=False, **how) == run
