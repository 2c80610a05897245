"""Parameters that break their rule: what each call says of them, by name, value and rule."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import gangsched as gs
from gangsched.analysis.proofs.deadline_rewards import reward_bound
from gangsched.analysis.proofs.makespan import configuration_bound
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.user_prices import user_bound
from gangsched.formulations import (
    CompletionTime,
    DeadlineRewards,
    FairShares,
    GpuMarket,
    Irmp,
    LtgfFluid,
    LtgfRound,
    RarDdls,
    SharingIncentive,
    UniSched,
)
from gangsched.formulations.irmp.problem import paper_problem, rates_of
from gangsched.instances import (
    Allocation,
    Cluster,
    DeadlineJob,
    Instance,
    Job,
    Linear,
    Node,
    ParameterServerJob,
    Power,
    ReadReport,
    RingJob,
    Schedule,
    Table,
    TargetMetric,
    Trace,
    User,
)
from gangsched.solvers import (
    Bound,
    Estimated,
    IterationTimes,
    Profiled,
    Sjf,
    backends,
    revenue_bound,
)
from gangsched.solvers.gandiva_fair.trading import trade
from gangsched.solvers.irmp.prices import prices_at
from gangsched.solvers.ours.ltgf.least_fair_first import LeastFairFirstParams
from gangsched.solvers.ours.preemptive_lists import CompletionListParams
from gangsched.solvers.ours.reward_pool import RewardSearchParams
from gangsched.solvers.policies.allox.position_matching import position_matching
from gangsched.solvers.policies.gavel.max_min_fairness import class_fractions
from malformed import objects, table

EMPTY = Trace(name="log", jobs=(), report=ReadReport(read=0))
SERVED = {"gpus": 2, "epochs": 2, "minibatches": 1, "rates": (1, 0.5), "utility": Linear(-2, 100)}
TWINS = Instance(
    Cluster.of_sizes([2, 2]),
    [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"],
)


def completion(measure: str = "flow", weighted: Any = False, **job: Any) -> CompletionTime:
    jobs = [Job(**{"id": "a", "gpus": 1, "work": 9, "release": 5, **job})]
    return CompletionTime(Instance(Cluster.of_sizes([2], model="v"), jobs), measure, weighted)  # type: ignore[arg-type]


def rewards(elastic: Any = False, **job: Any) -> DeadlineRewards:
    jobs = [DeadlineJob(**{"id": "j0", "gpus": 1, "work": 4, "release": 1, **job})]
    return DeadlineRewards(Instance(Cluster.of_sizes([3]), jobs), elastic)


def queue(sizes: Any = (8, 8), **parameters: Any) -> UniSched:
    jobs = [DeadlineJob(id="j0", gpus=1, work=600, rewards=[(600, 100)])]
    return UniSched(Instance(Cluster.of_sizes(sizes), jobs), **parameters)


def served(**parameters: Any) -> Irmp:
    """A server, of its only user."""
    cluster = Cluster([Node("s1", 4, ps=2)])
    own = {*SERVED, "release", "speeds"} & {*parameters}
    fields = {name: parameters.pop(name) for name in own}
    jobs = [ParameterServerJob(**{"id": "a", "user": "u1", **SERVED, **fields})]
    return Irmp(Instance(cluster, jobs, users=[User("u1", gpus=4, ps=2)]), **parameters)


#: calls with what they cannot do without; others are of gangsched.solvers, and need nothing
CALLS: dict[str, Callable[..., Any]] = {
    "Allocation": partial(Allocation, users=("a",), models=("v",), shares=[[1]]),
    "Bound": partial(Bound, value=1, method="area"),
    "CompletionTime": completion,
    "DeadlineJob": partial(DeadlineJob, id="j", gpus=4, work=100),
    "DeadlineRewards": rewards,
    "FairShares": partial(FairShares, gpus=2, weights=[1], by="demand"),
    "CompletionListParams": CompletionListParams,
    "Estimated": partial(Estimated, policy=Sjf()),
    "GpuMarket": partial(
        GpuMarket, gpus=[4, 2], speeds=[[1, 2], [1, 3]], users=["a", "b"], models=["old", "new"]
    ),
    "Irmp": served,
    "IterationTimes": partial(IterationTimes, compute=1, intra=1, inter=1),
    "Job": partial(Job, id="a", gpus=2),
    "LeastFairFirstParams": LeastFairFirstParams,
    "Linear": partial(Linear, slope=-2, constant=100),
    "LtgfFluid": partial(LtgfFluid, gpus=4, gangs=(2,), shares=(1,)),
    "LtgfRound": partial(
        LtgfRound, gpus=2, lease=1, attained=[0], fair=[0.0], share=[1.0], jobs=[(0, 1)]
    ),
    "ParameterServerJob": partial(ParameterServerJob, id="j", **SERVED),
    "Power": partial(Power, scale=2, exponent=1),
    "Profiled": partial(Profiled, policy=Sjf()),
    "RarDdls": partial(RarDdls, TWINS),
    "RewardSearchParams": RewardSearchParams,
    "Schedule": partial(
        Schedule, job=[0, 1], start=[0, 4], end=[4, 6], ptr=[0, 1, 3], node=[0, 0, 1],
        gpus=[2, 1, 1],
    ),
    "Table": partial(Table, values=[1]),
    "TargetMetric": partial(TargetMetric, target=0.9, max_epochs=4, curve=[0.1, 0.92]),
    "UniSched": queue,
    "audit": partial(gs.audit, EMPTY),
    "class_fractions": partial(class_fractions, throughputs=[[1]], gangs=[1], counts=[1], gpus=[1]),
    "configuration_bound": partial(configuration_bound, RarDdls(TWINS)),
    "named": lambda **options: backends.named("highs", options),
    "position_matching": partial(position_matching, times=[[3]], gpus=[1]),
    "price_bound": partial(price_bound, completion()),
    "prices_at": partial(prices_at, theta=2, held=[1], total=4),
    "rates_of": partial(rates_of, compute=1.0, update=1.0, size=1.0, bandwidth=1.0),
    "revenue_bound": partial(revenue_bound, paper_problem(2, servers=14)),
    "reward_bound": partial(reward_bound, rewards()),
    "trade": partial(trade, shares=[[1, 1]], speeds=[[1, 2]]),
    "user_bound": partial(user_bound, SharingIncentive(completion().instance)),
}  # fmt: skip


@pytest.mark.parametrize(("name", "given", "refusal"), objects("parameters"))
def test_a_parameter_that_breaks_its_rule_is_named(
    name: str, given: dict[str, Any], refusal: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as found:
        call_of(name)(**given)
    assert f"{found.type.__name__}: {found.value}".startswith(refusal)


@pytest.mark.parametrize("name", table("parameters"))
def test_nothing_else_is_refused(name: str) -> None:
    call_of(name)()


def call_of(name: str) -> Callable[..., Any]:
    return CALLS[name] if name in CALLS else getattr(gs.solvers, name)  # type: ignore[no-any-return]
