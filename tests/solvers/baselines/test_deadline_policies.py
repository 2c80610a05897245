"""What holds for every policy for jobs with deadlines: its runs, by every way to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, cases, one_run
from few import each
from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.solvers.ours.unisched.value_density import ValueDensity
from gangsched.solvers.policy import Policy
from gangsched.solvers.unisched.chronus import Chronus
from gangsched.solvers.unisched.earliest_deadline import EarliestDeadline
from gangsched.solvers.unisched.genie import Genie
from gangsched.solvers.unisched.hydra import Hydra
from gangsched.solvers.unisched.optimus import Optimus
from gangsched.solvers.unisched.three_sigma import ThreeSigma
from strategies import deadline_jobs, rewards

EXAMPLES = max(5, settings().max_examples // 4)

POLICIES: dict[str, Callable[[], Any]] = {
    "hydra": Hydra,
    "hydra:cost": lambda: Hydra(cost=True),
    "genie": Genie,
    "genie:elastic": lambda: Genie(elastic=True),
    "optimus": Optimus,
    "optimus:elastic": lambda: Optimus(elastic=True, cycle=90),
    "three-sigma": lambda: ThreeSigma(slot=90, slots=4),
    "chronus": Chronus,
    "chronus:short": lambda: Chronus(lease=120, be_lease=60, profilers=2),
    "chronus:no-profiler": lambda: Chronus(
        lease=180, be_lease=90, profilers=0, sr_aware=True, rounding="lossless"
    ),
    "edf": EarliestDeadline,
    "value-density": ValueDensity,
    "value-density:balanced": lambda: ValueDensity(balanced=True),
    "value-density:profiled": lambda: ValueDensity(profiling=90),
}


@st.composite
def deadline_cases(draw: st.DrawFn) -> Case:
    """The small clusters of all policies, with deadlines of about the run times."""
    case = draw(cases())
    jobs = [
        draw(
            deadline_jobs(
                job.id,
                job.user,
                gpus=st.just(job.gpus),
                work=st.just(job.work),
                release=st.just(job.release),
                rewards=rewards(latest=1500),
                weight=st.just(1.0),
                speeds=st.just({}),
                pin=st.just(""),
                split_speed=st.sampled_from([1.0, 0.5]),
            )
        )
        for job in case.instance.jobs
    ]
    return Case(Instance(case.instance.cluster, jobs, case.instance.users), case.rules)


@pytest.mark.parametrize("name", each(3, POLICIES))
@settings(max_examples=EXAMPLES, deadline=None)
@given(case=deadline_cases(), data=st.data())
def test_runs_of_jobs_with_deadlines_keep_the_rules(
    name: str, case: Case, data: st.DataObject
) -> None:
    one_run(case, POLICIES[name](), data)


@pytest.mark.parametrize("name", each(3, POLICIES))
@settings(max_examples=EXAMPLES, deadline=None)
@given(case=cases(), data=st.data())
def test_plain_jobs_are_best_effort(name: str, case: Case, data: st.DataObject) -> None:
    one_run(case, POLICIES[name](), data)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_that_are_equal_say_so(name: str) -> None:
    one, other = POLICIES[name](), POLICIES[name]()
    assert isinstance(one, Policy)
    assert one == other
    assert one.name == name.split(":")[0]


@pytest.mark.parametrize(
    "policy", [Hydra(), Genie(), Optimus(), ThreeSigma(), Chronus(), ValueDensity()]
)
def test_an_object_does_not_remember_an_earlier_run(policy: Any) -> None:
    """Another instance, whose first decision comes later than the last one of the first."""
    cluster = Cluster.of_sizes([2])
    first = [DeadlineJob(id=i, gpus=1, work=600, rewards=[(700, 1)]) for i in "abc"]
    second = [
        DeadlineJob(id=i, gpus=1, work=600, release=60_000, rewards=[(3_000, 1)]) for i in "abc"
    ]
    drive(Instance(cluster, first), policy)
    after = drive(Instance(cluster, second), policy)
    assert after == drive(Instance(cluster, second), type(policy)())
