"""The worst user against alone on its quota: by hand, and alone against a simulation in seconds."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gangsched as gs
from gangsched.analysis.proofs.compiled_kernels import COMPILED
from gangsched.formulations import SharingIncentive
from gangsched.formulations.sharing_incentive import alone_flows
from gangsched.instances import Cluster, Instance, Job, Segment, User
from gangsched.instances.schedule import Schedule
from gangsched.verify import kernels
from gangsched.verify.kernels import plainly

Row = tuple[int, int, int]


def second_by_second(rows: list[Row], quota: Fraction) -> list[int]:
    """Flow times by the definition; the order is looked at where a job comes or ends."""
    left = [Fraction(p * d) for _, p, d in rows]
    ends: dict[int, int] = {}
    now, order = min(r for r, _, _ in rows), list[int]()
    while len(ends) < len(rows):
        here = [j for j, (r, _, _) in enumerate(rows) if r <= now and j not in ends]
        if set(here) != set(order):
            order = sorted(here, key=lambda j: (left[j], rows[j][0], j))
        room = quota
        for j in order:
            share = min(Fraction(rows[j][2]), room)
            room -= share
            left[j] -= share
        now += 1
        ends |= {j: now for j in order if left[j] <= 0}
    return [ends[j] - rows[j][0] for j in range(len(rows))]


quotas = st.fractions(Fraction(1, 8), 12, max_denominator=8)
row = st.tuples(st.integers(0, 12), st.integers(1, 9), st.integers(1, 5))


@given(st.lists(row, min_size=1, max_size=9), quotas)
def test_alone_is_what_its_definition_says(rows: list[Row], quota: Fraction) -> None:
    wanted = second_by_second(rows, quota)
    assert alone_flows(rows, quota) == wanted
    rows.sort(key=lambda row: row[0])
    most, unit = quota.as_integer_ratio()
    releases, rates = [r for r, _, _ in rows], [unit * d for _, _, d in rows]
    left = [unit * p * d for _, p, d in rows]
    found = plainly(kernels.alone_flows, True, releases, rates, list(left), most, [0] * len(rows))
    assert found == second_by_second(rows, quota)
    arrays = [np.array(column, dtype=np.int64) for column in (releases, rates, left, found)]
    COMPILED[kernels.alone_flows](*arrays[:3], most, arrays[3])
    assert arrays[3].tolist() == found


@given(st.lists(row, min_size=1, max_size=9), quotas)
def test_alone_numbers_may_be_larger_than_64_bits(rows: list[Row], quota: Fraction) -> None:
    """With all times so many seconds, as fast gangs end as much later."""
    scale = 2**64 * quota.numerator
    many = [(r * scale, p * scale, d) for r, p, d in rows]
    ends = alone_flows(many, quota)
    most, unit = quota.as_integer_ratio()
    many.sort(key=lambda row: row[0])
    left = [unit * p * d for _, p, d in many]
    columns = [r for r, _, _ in many], [unit * d for _, _, d in many], left
    found = plainly(kernels.alone_flows, True, *columns, most, [0] * len(rows))
    assert sorted(ends) == sorted(found)


def test_a_gang_wider_than_the_quota_runs_slower() -> None:
    assert alone_flows([(0, 3, 4)], Fraction(2)) == [6]
    assert alone_flows([(0, 3, 4)], Fraction(3, 7)) == [28]
    assert alone_flows([(0, 3, 2), (0, 2, 2)], Fraction(3)) == [4, 2]  # the long one at 1, then 2


def two(reading: str = "sharing", limit: float | None = None) -> SharingIncentive:
    """Quotas of 3 and 1 of 4 GPUs."""
    jobs = [
        Job(id="a", gpus=4, work=300, user="u"),
        Job(id="b", gpus=1, work=100, user="v"),
        Job(id="c", gpus=1, work=100, user="v", release=50),
    ]
    users = [User("u", 3.0), User("idle", 0.5), User("v", 1.0)]
    return SharingIncentive(Instance(Cluster.of_sizes([4]), jobs, users), reading, limit)  # type: ignore[arg-type]


PLAN = Schedule.of(
    [Segment(0, 0, 300, {0: 4}), Segment(1, 300, 400, {0: 1}), Segment(2, 300, 400, {0: 1})]
)


def test_terms_by_hand() -> None:
    problem = two()
    assert problem.members == {"u": (0,), "v": (1, 2)}
    assert problem.quotas == {"u": Fraction(8, 3), "v": Fraction(8, 9)}
    # v has 8/9 of a GPU: 113 s for the first job, and 112.5 more for the second
    assert problem.alone == {"u": 450, "v": 113 + 176}
    assert problem.run_times == {"u": 300, "v": 200}
    assert problem.flows(PLAN) == {"u": 300, "v": 750}
    assert two("wait").terms() == {"u": (300, 150), "v": (200, 120)}  # 60 s a job
    assert two("sharing").objective(PLAN) == 750 / 289
    assert two("wait").objective(PLAN) == 550 / 120
    assert two("stretch").objective(PLAN) == 3.75
    assert two("stretch", 4.0).objective(PLAN) == 1050
    assert two("stretch", 4.0).violations(PLAN) == []
    assert two("stretch", 3.75).violations(PLAN) == []
    assert two("stretch", 3.7).violations(PLAN) == ["limit: user 'v' has 3.75, above 3.7"]


def test_without_users_all_is_one_users() -> None:
    instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1, work=5)])
    assert SharingIncentive(instance).alone == {"": 5}
    assert SharingIncentive(Instance(Cluster.of_sizes([2]), [])).objective(Schedule.of([])) == 0


def test_what_is_refused() -> None:
    instance = two().instance
    with pytest.raises(ValueError, match="SharingIncentive: reading='rho' is not one of"):
        SharingIncentive(instance, "rho")  # type: ignore[arg-type]
    for limit in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=f"SharingIncentive: limit={limit}"):
            SharingIncentive(instance, "wait", limit)
    slow = Job(id="a", gpus=1, work=5, speeds={"": 0.5})
    with pytest.raises(ValueError, match="SharingIncentive: the GPUs are not equal"):
        SharingIncentive(Instance(Cluster.of_sizes([2]), [slow]))


def test_the_model_is_exact() -> None:
    jobs = [Job(id="a", gpus=2, work=3, user="u"), Job(id="b", gpus=1, work=4, user="v")]
    instance = Instance(Cluster.of_sizes([2]), jobs, [User("u"), User("v")])
    problem = SharingIncentive(instance, "stretch")
    assert gs.solve_exact(problem).objective == 7 / 4  # b first: a 7 / 3; a first
    assert gs.solve_exact(SharingIncentive(instance, "stretch", 2.0)).objective == 10
