"""IRMP by hand: the paper's example, one broken rule at a time, bad input."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

import revenue_optimum
from few import first
from gangsched.formulations.irmp.problem import Irmp, parameter_servers, rates_of
from gangsched.formulations.problem import Sense
from gangsched.instances import (
    Cluster,
    Instance,
    Job,
    Linear,
    Node,
    ParameterServerJob,
    Power,
    Schedule,
    Segment,
    User,
)
from gangsched.solvers.exact import branch_and_bound
from malformed import table


def job(**changes: Any) -> ParameterServerJob:
    fields: dict[str, Any] = {
        "id": "a", "gpus": 2, "release": 3, "epochs": 2, "minibatches": 1, "rates": (1, 0.5),
        "utility": Linear(-2, 100),
    }  # fmt: skip
    return ParameterServerJob(**{**fields, **changes})


NODES = [Node(f"s{i}", 2, ps=1) for i in range(1, 5)]


def example(**parameters: Any) -> Irmp:
    """The paper's, Section 4.2: jobs j11, j12 of u1, j21, j22 of u2."""
    jobs = [
        job(id=f"j{u}{n}", user=f"u{u}", gpus=d)
        for u, n, d in ((1, 1, 2), (2, 1, 2), (1, 2, 3), (2, 2, 30))
    ]
    users = [User(f"u{u}", gpus=4, ps=2) for u in (1, 2)]
    return Irmp(Instance(Cluster(NODES), jobs, users=users), **{"clock": "release", **parameters})


Row = tuple[int, int, int, dict[int, int], dict[int, int]]


def schedule(*rows: Row) -> Schedule:
    return Schedule.of(Segment(j, a, b, gpus, ps=ps) for j, a, b, gpus, ps in rows)


# -- by hand ---------------------------------------------------------------------------------------


def test_symbols_of_the_papers_example() -> None:
    problem = example()
    assert problem.sense is Sense.MAX
    assert problem.users == ("u1", "u2")
    assert problem.owners == ("u1", "u1", "u2", "u2")
    assert problem.quotas.tolist() == [[[4, 2]], [[4, 2]]]
    assert not problem.quotas.flags.writeable
    assert [problem.duration(0, d, n) for d in (1, 2) for n in (1, 2)] == [4, 8, 2, 4]
    assert [problem.duration(2, d, n) for d, n in ((2, 1), (3, 2))] == [3, 4]
    assert problem.value(0, 10) == 86
    assert problem.values(0, 5).tolist() == [98, 98, 98, 98, 96]
    assert [problem.user(j) for j in range(4)] == ["u1", "u2", "u1", "u2"]


def test_the_schedule_of_the_papers_example() -> None:
    """On true completion times 86 + 82 + 82; it says 96 + 92 + 92, from the round's beginning."""
    problem = example()
    paper = schedule(
        (0, 8, 10, {0: 2}, {0: 1}), (1, 10, 12, {1: 2}, {1: 1}), (2, 8, 12, {2: 2, 3: 1}, {2: 1})
    )
    assert problem.violations(paper) == []
    assert problem.objective(paper) == 86 + 82 + 82
    assert problem.earnings(paper) == {"u1": 168, "u2": 82}
    assert example(clock="absolute").objective(paper) == 80 + 76 + 76


BEST = [(0, 2, {0: 2}), (1, 2, {1: 2}), (2, 3, {2: 2}), (3, 30, {3: 2})]


@pytest.mark.parametrize(("slot_r", "optimum"), first(1, [(True, 334), (False, 326)]))
def test_the_optimum_of_the_papers_example(slot_r: bool, optimum: float) -> None:
    """All jobs at their best at once, each on a server: 96 + 96 + 94 + 40, or 2 more from slot 3.

    j22 is at its best at 33 (32), and no other job takes as long: a later end of any is worth less,
    so the horizon takes nothing away.
    """
    first = 2 if slot_r else 3
    problem = example(paper_slot_r=slot_r, horizon=first + 30)
    best = schedule(*((j, first, first + d, s, dict.fromkeys(s, 1)) for j, d, s in BEST))
    assert problem.violations(best) == []
    assert problem.objective(best) == optimum
    free = np.array([[[2] * 33] * 4, [[1] * 33] * 4])
    most = 0.0
    for j, (_, slots, _) in enumerate(BEST):
        values = [0] + [revenue_optimum.worth(problem, j, t) for t in range(1, 34)]
        if j < 3:
            value, _ = revenue_optimum.best_single_run(
                problem, j, free, np.zeros((2, 33)), values, begin=first, end=first + slots + 2
            )
            most += value
        else:  # 30 chunks: at most 2 workers and one outside, as a server has one PS
            assert problem.duration(3, 2, 1) == slots < problem.duration(3, 3, 2) == 40
            most += values[first + slots]
    assert most == optimum
    result = branch_and_bound(problem)
    assert (result.objective, result.status.value) == (pytest.approx(optimum), "optimal")
    assert problem.violations(result.solution) == []


@pytest.mark.slow
def test_a_horizon_that_is_too_short_leaves_the_long_job_out() -> None:
    assert branch_and_bound(example(horizon=32)).objective == pytest.approx(96 + 96 + 94)


def test_rates_are_decimals() -> None:
    """Ten times 0.1 is 1, which it is not in floats."""
    tenth = Irmp(Instance(Cluster(NODES), [job(gpus=1, epochs=1, rates=(0.1, 0.1))]))
    assert tenth.duration(0, 1, 1) == 10
    assert tenth.violations(schedule((0, 3, 13, {0: 1}, {0: 1}))) == []
    third = job(gpus=1, epochs=1, rates=(0.333333333333, 0.3))
    assert Irmp(Instance(Cluster(NODES), [third])).duration(0, 1, 1) == 4


def test_speeds_multiply_the_rates_of_a_type() -> None:
    nodes = [Node("s1", 2, "new", ps=1), Node("s2", 2, "old", ps=1)]
    problem = Irmp(Instance(Cluster(nodes), [job(speeds={"new": 2, "old": 0.5})]))
    assert problem.models == ("new", "old")
    assert [problem.duration(0, 2, 1, m) for m in problem.models] == [1, 4]
    assert problem.quotas.tolist() == [[[2, 1], [2, 1]]]
    assert problem.violations(schedule((0, 3, 4, {0: 2}, {0: 1}))) == []
    slow = problem.violations(schedule((0, 3, 6, {1: 2}, {1: 1})))
    assert slow == ["training (3k): job 'a' trains 3 of 4 mini-batches"]
    elsewhere = schedule((0, 3, 5, {0: 1, 1: 0}, {1: 1}))  # n0 = 0.5, twice as fast
    assert problem.violations(elsewhere) == ["training (3k): job 'a' trains 2 of 4 mini-batches"]


def test_parameter_servers_that_a_spread_job_needs() -> None:
    assert [parameter_servers(n, 100, 250) for n in (0, 1, 2, 3, 5, 6)] == [1, 1, 1, 2, 2, 3]


def test_rates_of_equation_1() -> None:
    one, several = rates_of(compute=0.1, update=0.025, size=3, bandwidth=8)
    assert one == pytest.approx(8)
    assert several == pytest.approx(1 / 0.875)


def test_a_pickle_is_the_same_problem() -> None:
    problem = example(horizon=9, alone={"u2": 3})
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem
    assert hash(again) == hash(problem)
    assert again.parameters() == problem.parameters()
    assert repr(again) == "Irmp(4 jobs, 4 nodes, 2 users)"
    assert again != example(horizon=9)


def test_nothing_is_feasible_and_earns_nothing() -> None:
    assert example().violations(Schedule.of([])) == []
    assert example().objective(Schedule.of([])) == 0
    empty = Irmp(Instance(Cluster(NODES), []), horizon=3)
    assert branch_and_bound(empty).objective == 0


def test_the_clock_starts_at_one() -> None:
    """A job that ends at its release, with slot r allowed, is worth what one slot later is."""
    problem = Irmp(
        Instance(Cluster(NODES), [job(epochs=1, utility=Power(8, 1))]),
        clock="release",
        paper_slot_r=True,
    )
    early = schedule((0, 2, 3, {0: 2}, {0: 1}))
    assert problem.violations(early) == []
    assert problem.objective(early) == 8 == problem.value(0, 4)


def test_segments_of_a_preemptive_problem_add_up() -> None:
    problem = example(preemptive=True)
    halves = schedule((0, 3, 4, {0: 2}, {0: 1}), (0, 8, 12, {1: 1, 2: 0}, {2: 1}))
    assert problem.violations(halves) == []
    assert problem.objective(halves) == 100 - 2 * 9
    again = schedule((0, 3, 4, {0: 2}, {0: 1}), (0, 8, 11, {1: 1, 2: 0}, {2: 1}))
    assert problem.violations(again) == ["training (3k): job 'j11' trains 3.5 of 4 mini-batches"]


# -- one broken rule at a time ---------------------------------------------------------------------

GOOD: tuple[Row, ...] = ((0, 3, 5, {0: 2}, {0: 1}), (2, 3, 7, {2: 2, 3: 1}, {2: 1}))


def test_the_schedule_that_is_broken_below_is_feasible() -> None:
    assert example(horizon=7).violations(schedule(*GOOD)) == []


def by_number(held: dict[str, int]) -> dict[int, int]:
    """What nodes hold, by their numbers."""
    return {int(node): count for node, count in held.items()}


@pytest.mark.parametrize("case", table("broken_revenue")["broken"])
def test_what_is_broken_is_named(case: dict[str, Any]) -> None:
    rows = [(*row[:3], *map(by_number, row[3:])) for row in case["segments"]]
    found = example(**case.get("parameters", {})).violations(schedule(*rows))
    assert found == [case["message"]]


def test_parameter_servers_alone_train_nothing() -> None:
    assert example().violations(schedule((0, 3, 9, {0: 0}, {0: 1}))) == [
        "chunks (3e): job 'j11' has 0 workers, 1 to 2 are allowed",
        "training (3k): job 'j11' trains 0 of 4 mini-batches",
    ]


def test_jobs_that_must_run_are_missed() -> None:
    broken = example(optional=False).violations(schedule(*GOOD))
    assert broken == [f"all jobs (3): job {j!r} is not scheduled" for j in ("j21", "j22")]


def test_workers_are_of_one_type_and_parameter_servers_too() -> None:
    nodes = [Node("s1", 1, "new", ps=1), Node("s2", 1, "old", ps=1), Node("s3", 1, "old", ps=1)]
    problem = Irmp(Instance(Cluster(nodes), [job()]))
    mixed = problem.violations(schedule((0, 3, 7, {0: 1, 1: 1}, {0: 1})))
    assert mixed == ["one type (Section 6): job 'a' has workers of types ['new', 'old']"]
    hosts = problem.violations(schedule((0, 3, 7, {0: 0, 1: 1}, {0: 1, 1: 1})))
    assert "one type (Section 6): job 'a' has PSs of types ['new', 'old']" in hosts
    apart = schedule((0, 3, 11, {0: 0, 1: 1}, {0: 1}))  # workers of one type, PSs of another
    assert problem.violations(apart) == []


def test_a_user_may_earn_what_it_earns_alone_up_to_rounding() -> None:
    earned = example().earnings(schedule(*GOOD))["u1"]
    assert earned == 96 + 92
    for alone, broken in ((earned, 0), (earned * (1 + 1e-12), 0), (earned + 1e-3, 1)):
        assert len(example(alone={"u1": alone}).violations(schedule(*GOOD))) == broken


# -- owners and quotas -----------------------------------------------------------------------------


def users(*quotas: Any) -> list[User]:
    return [User(f"u{i}", gpus=gpus, ps=ps) for i, (gpus, ps) in enumerate(quotas)]


def of_users(people: list[User], nodes: list[Node] = NODES, **parameters: Any) -> Irmp:
    return Irmp(Instance(Cluster(nodes), [], users=people), **parameters)


def test_owners_have_what_they_own() -> None:
    problem = of_users(users((None, None), (None, None)), owners=["u1", "u0", "u1", "u1"])
    assert problem.quotas.tolist() == [[[2, 1]], [[6, 3]]]
    assert of_users([]).owners == ("",) * 4
    assert of_users([]).quotas.tolist() == [[[8, 4]]]


def test_quotas_that_end_within_a_node_have_no_owners() -> None:
    problem = of_users(users((3, 1), (5, 3)))
    assert problem.owners == ()
    assert problem.quotas.tolist() == [[[3, 1]], [[5, 3]]]


def test_a_user_without_anything_is_passed_over() -> None:
    problem = of_users(users((0, 0), (8, 4)))
    assert problem.owners == ("u1",) * 4


@pytest.mark.parametrize(
    ("people", "parameters", "message"),
    [
        (users((4, 2), (3, 2)), {}, r"quotas of 7 GPUs in all are not the cluster's 8"),
        (users((4, 2), (4, 3)), {}, r"quotas of 5 PSs in all are not the cluster's 4"),
        (users((4, 2), (4, None)), {}, r"user 'u1': ps=None, others have a quota"),
        (users((4, 2), (None, 2)), {}, r"user 'u1': gpus=None, others have a quota"),
        (users((None, None), (None, None)), {}, r"users have no quotas .*, and nodes no owners"),
        (
            users((4, 2), (4, 2)),
            {"owners": ["u0"] * 3 + ["u1"]},
            r"user 'u0': owns nodes of 6 GPUs and 3 PSs, but has a quota of 4 and 2",
        ),
        (users((4, 2), (4, 2)), {"owners": ["u0"]}, r"owners has 1 entries, there are 4 nodes"),
        (
            users((4, 2), (4, 2)),
            {"owners": ["u0", "u0", "u9", "u1"]},
            r"owner 'u9' of node 's3' is not a user of the instance",
        ),
        (users((4, 2), (4, 2)), {"alone": {"u9": 1}}, r"alone names 'u9', which is not a user"),
        (users((4, 2), (4, 2)), {"alone": {"u0": math.inf}}, r"user 'u0': alone=inf is not finite"),
    ],
)
def test_quotas_that_do_not_agree_are_refused(
    people: list[User], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        of_users(people, **parameters)


def test_quotas_do_not_tell_types_apart() -> None:
    nodes = [Node("s1", 2, "new", ps=1), Node("s2", 2, "old", ps=1)]
    with pytest.raises(ValueError, match=r"servers of types 'new', 'old' need owners"):
        of_users(users((1, 1), (3, 1)), nodes)
    owned = of_users(users((2, 1), (2, 1)), nodes)
    assert owned.quotas.tolist() == [[[2, 1], [0, 0]], [[0, 0], [2, 1]]]


# -- bad input -------------------------------------------------------------------------------------


def test_the_largest_numbers_are_taken() -> None:
    most = 2**40
    problem = example(horizon=most, worker_bandwidth=most, ps_bandwidth=np.int64(most))
    assert problem.violations(schedule(*GOOD)) == []
    assert type(problem.ps_bandwidth) is int


@pytest.mark.parametrize("name", ["gpus", "ps"])
def test_nodes_that_no_array_can_hold_are_refused(name: str) -> None:
    node = Node("s1", **{"gpus": 1, "ps": 1, name: 2**40 + 1})
    with pytest.raises(ValueError, match=rf"^node 's1': {name} exceeds 1099511627776$"):
        Irmp(Instance(Cluster([node]), []))


def test_a_pinned_job_is_refused() -> None:
    assert Irmp(Instance(Cluster(NODES), [job(pin="")])).jobs[0].pin == ""
    cluster = Cluster([Node("s1", 2, "v100", ps=1)])
    with pytest.raises(ValueError, match=r"job 'a': pin='v100', jobs of IRMP run on any type"):
        Irmp(Instance(cluster, [job(pin="v100")]))


def test_other_jobs_are_refused() -> None:
    with pytest.raises(TypeError, match=r"job 'x': kind Job is not ParameterServerJob"):
        Irmp(Instance(Cluster(NODES), [Job(id="x", gpus=1)]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"instance=3 is not an Instance"):
        Irmp(3)  # type: ignore[arg-type]
