"""The best run of one job: Algorithms 3-5 against brute force, and against the paper's lines."""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from gangsched.formulations.irmp.problem import Irmp
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, Schedule
from gangsched.solvers.irmp import response
from plain_response import Call
from revenue_optimum import best_single_run, random_problem, shapes


class Case(NamedTuple):
    """Problem (9)."""

    problem: Irmp
    free: Any
    prices: Any
    values: Any
    room: Any
    slots: int

    def best(self, **more: Any) -> response.Response | None:
        """What the algorithm finds."""
        return response.best_response(
            self.problem, 0, self.free, self.prices, self.values,
            begin=0, end=self.slots, room=self.room, **more,
        )  # fmt: skip


def wide_problem(rng: np.random.Generator) -> Irmp:
    """A job that is wider than the nodes and not much slower on several."""
    nodes = [Node(f"s{i}", int(rng.integers(1, 3)), ps=int(rng.integers(0, 4))) for i in range(3)]
    job = ParameterServerJob(
        id="j0",
        gpus=int(rng.integers(3, 6)),
        epochs=int(rng.integers(1, 3)),
        minibatches=1,
        rates=(1, float(rng.choice([0.8, 0.9, 1]))),
        utility=Linear(-float(rng.integers(3, 9)), 40),
    )
    return Irmp(
        Instance(Cluster(nodes), [job]),
        worker_bandwidth=int(rng.integers(1, 3)),
        ps_bandwidth=int(rng.integers(1, 4)),
    )


def random_case(seed: int, *, types: tuple[str, ...] = ("",), quota: bool = True) -> Case:
    rng = np.random.default_rng(seed)
    wide = seed % 2 == 0 and len(types) == 1
    problem = wide_problem(rng) if wide else random_problem(rng, jobs=1, nodes=3, types=types)
    slots, nodes = int(rng.integers(4, 9)), problem.instance.cluster.nodes
    free = np.array([[[n.gpus] * slots for n in nodes], [[n.ps] * slots for n in nodes]])
    for _ in range(int(rng.integers(0, 4))):
        what, s, start = rng.integers(2), rng.integers(len(nodes)), rng.integers(slots)
        free[what, s, start:] = rng.integers(0, free[what, s, start] + 1)
    kinds = len(problem.models)
    # prices fall and rise, and repeat, so that there are ties
    prices = rng.choice([0, 0, 0.25, 0.5, 1, 3], size=(kinds, 2, slots))
    values = np.array([problem.jobs[0].utility.value(max(t, 1)) for t in range(slots + 1)])
    room = None
    if quota and rng.random() < 0.5:
        room = rng.integers(1, 6, size=(kinds, 2, 1)) - rng.integers(0, 2, size=(kinds, 2, slots))
    return Case(problem, free, prices, values, room, slots)


def check_run(case: Case, run: response.Response) -> None:
    """Its room, its price, its length, (3i): worked out anew."""
    nodes = case.problem.instance.cluster.nodes
    assert run.value == case.values[run.end]
    assert run.workers == sum(run.nodes.values()) <= case.problem.jobs[0].gpus
    assert len(run.ps) == 1
    cost = 0.0
    for t in range(run.start, run.end):
        for what, used in enumerate((run.nodes, run.ps)):
            for s, count in used.items():
                assert 0 <= count <= case.free[what, s, t]
                kind = case.problem.models.index(nodes[s].model)
                cost += case.prices[kind, what, t] * count
                if case.room is not None:
                    assert sum(used.values()) <= case.room[kind, what, t] or count == 0
    assert run.cost == pytest.approx(cost, abs=1e-12)
    workers = tuple(run.nodes.get(s, 0) for s in range(len(nodes)))
    ps = tuple(run.ps.get(s, 0) for s in range(len(nodes)))
    assert (workers, ps, run.end - run.start) in [tuple(s) for s in shapes(case.problem, 0)]


def spread(run: response.Response) -> bool:
    return len(run.nodes) > 1


@pytest.mark.parametrize(
    ("instances", "types"),
    [(80, ("",)), (200, ("a", "b")), pytest.param(500, ("",), marks=pytest.mark.slow)],
)
def test_algorithm_3_solves_problem_9(instances: int, types: tuple[str, ...]) -> None:
    """Lemma 2 in the repaired reading, with quotas and without.

    Of several types (11): workers of one, PSs of one, at prices of their own.
    """
    one_type = len(types) == 1
    positive = several = mixed = 0
    for seed in range(instances):
        case = random_case(seed, types=types, quota=one_type)
        best, runs = best_single_run(
            case.problem, 0, case.free, case.prices[0] if one_type else case.prices, case.values,
            begin=0, end=case.slots, room=None if case.room is None else case.room[0],
        )  # fmt: skip
        found = case.best()
        if best <= response.MARGIN:
            assert found is None
            continue
        assert found is not None
        check_run(case, found)
        assert found.utility == pytest.approx(best, abs=1e-9)
        if one_type:  # ties: the earliest start, and then the fewest workers
            first = min((run.start, sum(run.workers)) for run in runs)
            assert (found.start, found.workers) == first
        nodes = case.problem.instance.cluster.nodes
        positive += 1
        several += spread(found)
        mixed += len({nodes[s].model for s in found.nodes}) > 1
    assert positive >= 0.3 * instances
    assert several >= 0.1 * instances if one_type else mixed >= 10


@pytest.mark.parametrize("printed", [False, True])
def test_the_run_is_that_of_the_paper_s_lines(*, printed: bool) -> None:
    """With quotas and without; as printed (W8, W9, W10) often another run than the repaired one."""
    runs = other = 0
    for seed in range(1000, 1300):
        case = random_case(seed)
        room = None if case.room is None else case.room[0]
        plain = Call(case.problem, case.free, case.prices[0], room, case.slots, printed)
        found = case.best(literal=printed)
        assert found == plain.best(case.values)
        runs += found is not None
        other += found != case.best()
    assert runs >= 150
    assert (other >= 75) == printed


def test_as_printed_a_host_may_leave_no_server_for_the_workers() -> None:
    """W8, W10, by hand: prices 9, 9, 0 and 15 to earn in two slots, on the only server there is.

    On it the first price counts twice, 18. A run on several would pay 9 from slot 1 on.
    """
    job = ParameterServerJob(
        id="j", gpus=1, epochs=2, minibatches=1, rates=(1, 1), utility=Linear(0, 15)
    )
    problem = Irmp(Instance(Cluster([Node("s", 2, ps=1)]), [job]))
    case = Case(
        problem, np.array([[[2] * 3], [[1] * 3]]), [[9, 9, 0], [0, 0, 0]], [15.0] * 4, None, 3
    )
    assert case.best(literal=True) is None
    repaired = case.best()
    assert repaired is not None
    assert (repaired.start, repaired.utility) == (1, 6)


def test_a_window_is_kept() -> None:
    case = random_case(3)
    for begin, end in product(range(case.slots), range(case.slots + 1)):
        if begin > end:
            continue
        found = response.best_response(
            case.problem, 0, case.free, case.prices, case.values, begin=begin, end=end
        )
        best, _ = best_single_run(
            case.problem, 0, case.free, case.prices, case.values, begin=begin, end=end
        )
        assert (found is None) == (best <= response.MARGIN)
        if found is not None:
            assert begin <= found.start < found.end <= end
            assert found.utility == pytest.approx(best)


# --- at price 0 ----------------------------------------------------------------------------------


def test_at_price_0_the_run_is_worth_most_and_takes_least() -> None:
    """Value first, then worker-slots, then the start."""
    found_some = ties = 0
    for seed in range(2000, 2100):
        case = random_case(seed, quota=False)
        problem, limit = case.problem, min(case.slots, case.problem.horizon or case.slots)
        begin = problem.earliest(0)
        values = [0.0] + [problem.value(0, t) for t in range(1, case.slots + 1)]
        best, runs = best_single_run(
            problem, 0, case.free, 0 * case.prices[0], values, begin=begin, end=limit
        )
        found = response.zero_price_response(problem, 0, case.free, begin=0, limit=case.slots)
        if not runs:
            assert found is None
            continue
        assert found is not None
        assert found.value == pytest.approx(best)
        keys = {(sum(r.workers) * (r.end - r.start), r.start) for r in runs}
        assert (found.workers * (found.end - found.start), found.start) == min(keys)
        assert found.value == problem.value(0, found.end)
        found_some += 1
        ties += len({r.end for r in runs}) > 1
    assert found_some >= 50
    assert ties >= 3


def cluster_of_two() -> Irmp:
    """Two servers of 2 workers and one PS; 12 mini-batches, 6 slots on one of them."""
    nodes = [Node("s1", 2, ps=1), Node("s2", 2, ps=1)]
    job = ParameterServerJob(
        id="j", gpus=3, epochs=2, minibatches=2, rates=(1, 0.8), utility=Linear(-1, 50)
    )
    return Irmp(Instance(Cluster(nodes), [job]))


def test_the_last_slot_stands_for_all_later_ones() -> None:
    problem = cluster_of_two()
    free = np.array([[[0, 2], [0, 1]], [[1, 1], [1, 1]]])
    run = response.zero_price_response(problem, 0, free, begin=0, limit=99)
    # 3 workers for 12 / 2.4 = 5 slots from slot 1 on; PS on s1, which keeps 2
    assert run == response.Response(0, 1, 6, 3, {0: 2, 1: 1}, {0: 1}, 44.0, 0.0)
    assert response.zero_price_response(problem, 0, free, begin=7, limit=99) == run._replace(
        start=7, end=12, value=38.0
    )
    assert response.zero_price_response(problem, 0, free, begin=0, limit=5) is None


def test_an_occupancy_grows_and_gives_back() -> None:
    problem = cluster_of_two()
    occupancy = response.Occupancy(problem, slots=1)
    first = occupancy.best(0)
    assert first is not None
    assert (first.start, first.end) == (0, 5)
    occupancy.take(first)
    before = occupancy.free.copy()
    second = occupancy.best(0)
    # one worker is left beside it: 12 slots, while s1 and s2 are free again at 5
    assert second is not None
    assert (second.start, second.end) == (5, 10)
    occupancy.take(second)
    assert occupancy.busy == 10
    assert (occupancy.free[:, :, -1] == occupancy.capacity).all()
    assert occupancy.free[0, :, :10].tolist() == [[0] * 10, [1] * 10]
    occupancy.give_back(second)
    assert np.array_equal(occupancy.free[:, :, :5], before[:, :, :5])
    assert (occupancy.free[:, :, 5:] == occupancy.capacity[:, :, None]).all()
    assert problem.violations(Schedule.of([first.segment])) == []


def test_a_horizon_and_a_release_are_kept() -> None:
    problem = cluster_of_two()
    problem = Irmp(problem.instance, horizon=4)
    assert response.Occupancy(problem).best(0) is None
    assert response.Occupancy(Irmp(problem.instance, horizon=5)).best(0) is not None


# --- options -------------------------------------------------------------------------------------


def test_options_are_all_sizes_that_fit_the_empty_cluster() -> None:
    for seed in range(200):
        problem = random_problem(np.random.default_rng(seed), jobs=1, nodes=3)
        options = response.run_options(problem, 0)
        rows = zip(*(column.tolist() for column in options), strict=True)
        listed = {(w, host < 0): (d, least) for w, d, _, host, least in rows}
        expected: dict[tuple[int, bool], tuple[int, int]] = {}
        for shape in shapes(problem, 0):
            used = [s for s in range(len(shape.ps)) if shape.workers[s] or shape.ps[s]]
            key, ps = (sum(shape.workers), len(used) == 1), sum(shape.ps)
            expected[key] = shape.slots, min(ps, expected.get(key, (0, ps))[1])
        # a spread run is not listed where only the node that could hold all could be its host
        assert listed.keys() <= expected.keys()
        assert all(listed[key] == expected[key] for key in listed)
        assert {w for w, _ in listed} == {w for w, _ in expected}
        assert [k for k in listed if k[1]] == [k for k in sorted(expected) if k[1]]


# --- as printed ----------------------------------------------------------------------------------


def narrow(*, b_p: int = 1) -> Irmp:
    """Three servers of 2 workers and one PS, which serves one outside worker."""
    nodes = [Node(f"s{i}", 2, ps=1) for i in (1, 2, 3)]
    job = ParameterServerJob(
        id="j", gpus=6, epochs=2, minibatches=1, rates=(1, 0.5), utility=Linear(-2, 100)
    )
    return Irmp(Instance(Cluster(nodes), [job]), ps_bandwidth=b_p)


def respond(problem: Irmp, prices: Any, **more: Any) -> response.Response | None:
    slots = len(prices[0])
    values = [0.0] + [problem.jobs[0].utility.value(t) for t in range(1, slots + 1)]
    free = response.Occupancy(problem, slots=slots).free
    return response.best_response(problem, 0, free, prices, values, begin=0, end=slots, **more)


def test_as_printed_too_few_parameter_servers_are_taken() -> None:
    """W8: all 6 workers with one PS, which can serve one worker outside; 4 are."""
    problem = narrow()
    printed = respond(problem, np.zeros((2, 12)), literal=True)
    assert printed == response.Response(0, 0, 4, 6, {0: 2, 1: 2, 2: 2}, {0: 1}, 92.0, 0.0)
    (broken,) = problem.violations(Schedule.of([printed.segment]))
    assert broken == (
        "bandwidth (3i): job 'j' has 4 workers of bandwidth 1 away from 1 PSs of 1 on node 's1'"
    )
    repaired = respond(problem, np.zeros((2, 12)))
    # at most 2 + 1 workers: 24 / (3 / 2) = 8 spread; 2 on one server take 6
    assert repaired == response.Response(0, 0, 6, 2, {0: 2}, {0: 1}, 88.0, 0.0)
    assert problem.violations(Schedule.of([repaired.segment])) == []


def test_as_printed_servers_with_too_few_parameter_servers_come_first() -> None:
    """W8: line 10 sorts by what is left after the cut.

    4 workers: s1 keeps 2 of them and needs 2 PSs, of which it has 1; s2 keeps 2 and has 2.
    """
    nodes = [Node("s1", 2, ps=1), Node("s2", 2, ps=2)]
    job = ParameterServerJob(
        id="j", gpus=4, epochs=1, minibatches=1, rates=(1, 1), utility=Linear(-20, 100)
    )
    problem = Irmp(Instance(Cluster(nodes), [job]))
    printed = respond(problem, np.zeros((2, 4)), literal=True)
    repaired = respond(problem, np.zeros((2, 4)))
    assert printed is not None
    assert repaired is not None
    assert (printed.ps, repaired.ps) == ({0: 1}, {1: 2})
    assert problem.violations(Schedule.of([printed.segment]))[0].startswith("bandwidth (3i)")
    assert problem.violations(Schedule.of([repaired.segment])) == []


def test_as_printed_most_spread_runs_break_the_bandwidth() -> None:
    broken = several = 0
    for seed in range(100):
        case = random_case(seed, quota=False)
        printed = case.best(literal=True)
        if printed is None or not spread(printed):
            continue
        host, count = next(iter(printed.ps.items()))
        outside = printed.workers - printed.nodes.get(host, 0)
        several += 1
        broken += outside * case.problem.worker_bandwidth > count * case.problem.ps_bandwidth
    assert several >= 15
    assert broken >= 5


def test_as_printed_parameter_servers_are_tested_against_workers() -> None:
    """W9: a quota of 2 workers and no PS lets the job run."""
    problem = narrow()
    room = np.array([[2] * 6, [0] * 6])
    printed = respond(problem, np.zeros((2, 6)), literal=True, room=room)
    assert printed is not None
    assert printed.nodes == {0: 2}
    assert respond(problem, np.zeros((2, 6)), room=room) is None


def test_as_printed_one_server_pays_the_first_slots_price_throughout() -> None:
    """W10: 2 workers and a PS in 6 slots, of which only the first is free of charge."""
    problem = narrow()
    prices = np.array([[0.0] + [1.0] * 5, [0.0] + [1.0] * 5])
    room = np.array([[2] * 6, [1] * 6])
    printed = respond(problem, prices, literal=True, room=room)
    assert printed is not None
    assert printed.cost == 0
    repaired = respond(problem, prices, room=room)
    assert repaired is not None
    assert repaired.cost == 5 * (2 + 1)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prices": np.zeros((2, 3))}, r"prices has shape \(1, 2, 3\), not \(1, 2, 4\)"),
        ({"prices": np.full((2, 4), np.nan)}, "not all numbers >= 0"),
        ({"prices": np.full((2, 4), -1.0)}, "not all numbers >= 0"),
        ({"prices": np.full((2, 4), np.inf)}, "add up to more than a float can hold"),
        ({"prices": np.full((2, 4), 1e308)}, "add up to more than a float can hold"),
        ({"room": np.zeros((1, 4), int)}, r"room has shape \(1, 1, 4\), not \(1, 2, 4\)"),
        (
            {"begin": 3, "end": 2},
            r"window \[3, 2\) does not fit 4 slots and values of shape \(5,\)",
        ),
        ({"end": 5}, r"window \[0, 5\) does not fit 4 slots and values of shape \(5,\)"),
        ({"free": np.ones((2, 1, 4), int)}, r"free has shape \(2, 1, 4\), not \(2, 3, 4\)"),
        ({"values": [1, 1]}, r"window \[0, 4\) does not fit 4 slots and values of shape \(2,\)"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    problem = narrow()
    free = np.ones((2, 3, 4), dtype=np.int64)
    given: dict[str, Any] = {
        "free": free, "prices": np.zeros((2, 4)), "values": [9.0] * 5, "begin": 0, "end": 4,
    }  # fmt: skip
    with pytest.raises(ValueError, match=f"^best_response: .*{message}"):
        response.best_response(problem, 0, **{**given, **change})


def test_as_printed_there_is_one_type_of_servers() -> None:
    seeds = (random_case(seed, types=("a", "b")) for seed in range(1, 50))
    case = next(case for case in seeds if len(case.problem.models) > 1)
    with pytest.raises(ValueError, match="literal=True, Algorithms 3-5 know one type of servers"):
        case.best(literal=True)


def test_times_that_no_array_can_hold_are_refused() -> None:
    job = ParameterServerJob(
        id="j", gpus=1, epochs=1, minibatches=1, rates=(1, 1), utility=Linear(0, 5), release=10**9
    )
    occupancy = response.Occupancy(Irmp(Instance(Cluster([Node("s", 1, ps=1)]), [job])))
    with pytest.raises(ValueError, match=r"Irmp: runs until slot \d+ on 1 nodes need arrays"):
        occupancy.reach(10**9)
