"""Small contended clusters for policies of the driver, and what holds for every policy on them."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from gangsched.analysis.check_run import violations
from gangsched.analysis.drive import drive
from gangsched.analysis.run import Run
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Stop
from gangsched.solvers.policy import Policy


class Case(NamedTuple):
    """An instance and the rules of its cluster."""

    instance: Instance[Any]
    rules: dict[str, Any]


@st.composite
def cases(draw: st.DrawFn, sizes: tuple[int, ...] = (1, 2, 3, 4), uniform: bool = False) -> Case:
    """A few nodes, up to three users and ten jobs; shrinks to one job on one node."""
    node = st.sampled_from(sizes)
    if uniform:
        cluster = [draw(node)] * draw(st.integers(1, 3))
    else:
        cluster = draw(st.lists(node, min_size=1, max_size=3))
    users = draw(st.lists(st.sampled_from([1.0, 2.5, 0.3]), max_size=3))
    owners = [f"u{i}" for i in range(len(users))] or [""]
    row = st.tuples(
        st.integers(1, sum(cluster)),
        st.integers(1, 600),
        st.integers(0, 300),
        st.sampled_from(owners),
    )
    jobs = [
        Job(id=f"j{i}", gpus=gpus, work=work, release=release, user=user)
        for i, (gpus, work, release, user) in enumerate(
            draw(st.lists(row, min_size=1, max_size=10))
        )
    ]
    round_length = draw(st.sampled_from([60, 10, 7]))
    lease = draw(st.integers(1, 4)) * round_length - draw(st.integers(0, 3))
    rules = {
        "round_length": round_length,
        "lease": lease,
        "overhead": draw(st.integers(0, min(lease - 1, 30))),
        "synchronous": draw(st.booleans()),
        "spread": draw(st.booleans()),
        "patience": draw(st.sampled_from([None, 0, 120])),
    }
    weights = [User(f"u{i}", weight) for i, weight in enumerate(users)]
    return Case(Instance(Cluster.of_sizes(cluster), jobs, weights), rules)


def checked(case: Case, policy: Policy, **how: Any) -> Run:
    """The run, once the independent checker has nothing to say."""
    run = drive(case.instance, policy, **case.rules, **how)
    assert violations(run, case.instance, preempts=policy.preempts) == []
    return run


def one_run(case: Case, policy: Policy, data: st.DataObject) -> Run:
    """The run of a policy, which is the same by every way to it; all jobs finish."""
    whole = checked(case, policy)
    assert whole.stop is Stop.COMPLETED
    assert checked(case, policy) == whole  # one policy object, used again
    assert checked(case, policy, engine="reference") == whole
    assert checked(case, policy, skip=False) == whole
    until = data.draw(st.integers(0, whole.now), label="until")
    part = checked(case, policy, until=until)
    if part.checkpoint is not None:
        assert checked(case, policy, resume=part.checkpoint) == whole
    return whole
