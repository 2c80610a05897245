"""Astraea: prices, rounds, batches, money; BatchSche."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gangsched as gs
from gangsched.formulations.irmp.problem import Irmp
from gangsched.instances import Linear, ParameterServerJob, Power
from gangsched.solvers.irmp import astraea as irmp
from gangsched.solvers.irmp.astraea import (
    AstraeaParams,
    Round,
    a_max_irev,
    a_round,
    accounts,
    astraea,
    batch_sche,
    ideal_revenue,
    lemma_1,
    prices_at,
    round_of,
    thetas,
)
from gangsched.solvers.irmp.prices import in_unit
from gangsched.solvers.result import Refuted, Result, Status, Stop
from strategies import irmp_instances, irmp_problems


def job(name: str, user: str = "u", **fields: Any) -> ParameterServerJob:
    given: dict[str, Any] = {
        "gpus": 2, "epochs": 2, "minibatches": 1, "rates": (1, 0.5), "utility": Linear(-2, 100)
    }  # fmt: skip
    return ParameterServerJob(id=name, user=user, **{**given, **fields})


def two_servers(*jobs: ParameterServerJob, **parameters: Any) -> Irmp:
    """Two servers of 2 workers and 2 PSs, of users u and v."""
    cluster = gs.Cluster([gs.Node("s1", 2, ps=2), gs.Node("s2", 2, ps=2)])
    instance = gs.Instance(cluster, jobs, [gs.User("u"), gs.User("v")])
    return Irmp(instance, owners=["u", "v"], **parameters)


def solved(problem: Irmp, params: AstraeaParams | None = None, **more: Any) -> Result[gs.Schedule]:
    result = astraea(problem, params=params, **more)
    assert isinstance(result, Result)
    return result


def times(problem: Irmp, schedule: gs.Schedule | None) -> dict[str, tuple[int, int]]:
    assert schedule is not None
    return {problem.jobs[row.job].id: (row.start, row.end) for row in schedule}


# --- prices --------------------------------------------------------------------------------------


def test_prices_rise_from_0_to_theta_less_1() -> None:
    assert prices_at(81, [0, 1, 2, 3, 4], 4) == pytest.approx([0, 2, 8, 26, 80])
    assert prices_at(1, [0, 4], 4).tolist() == [0, 0]
    assert prices_at(9, [0, 0], 0).tolist() == [0, 0]


def test_the_scale_is_the_unit_of_money() -> None:
    """In a unit a hundredth as large all utilities, and so all prices, are 100 times the number."""
    problem = two_servers(job("a"), job("b", "v", utility=Linear(-1, 40)))
    fine = two_servers(
        job("a", utility=Linear(-200, 10_000)), job("b", "v", utility=Linear(-100, 4000))
    )
    theta, expected = thetas(problem, [0, 1], scale=100), thetas(fine, [0, 1])
    assert theta == pytest.approx(expected)
    held = np.arange(5)
    prices = prices_at(theta[0, 0], held, 4, scale=100)
    assert 100 * prices == pytest.approx(prices_at(expected[0, 0], held, 4))
    # a full cluster costs the same in any unit
    assert prices[-1] == pytest.approx(thetas(problem, [0, 1])[0, 0] - 1)


def test_theta_is_the_most_that_a_use_is_worth() -> None:
    """Two workers, d = 2: 96 / 4 a worker-slot, 96 / 2 a PS-slot; in one slot 92 / 1 and 96 / 1."""
    problem = two_servers(job("a"), job("b", "v", utility=Linear(0, -5)))
    assert thetas(problem, [0, 1]).tolist() == [[1 + 24, 1 + 48]]
    assert thetas(problem, [0], "slot").tolist() == [[1 + 92, 1 + 96]]
    assert thetas(problem, [1]).tolist() == [[1, 1]]
    assert thetas(problem, [], 7.0).tolist() == [[7, 7]]


def test_lemma_1_has_no_value_without_anything_to_earn() -> None:
    problem = two_servers(job("a", utility=Linear(0, -5)), job("b"))
    assert lemma_1(problem, [0], thetas(problem, [0], 16.0)) is None
    assert lemma_1(problem, [0, 1], thetas(problem, [0, 1], 16.0)) == 1
    assert lemma_1(problem, [1], thetas(problem, [1], 1.1)) is None


def test_a_job_pays_the_prices_before_its_own() -> None:
    """W12: theta = 16. Each takes half of the workers and a quarter of the PSs: 3 + 1 a slot."""
    flat = {"utility": Linear(-9, 90)}
    problem = two_servers(job("a", **flat), job("b", **flat), job("c", **flat))
    cluster = Round(problem, 4, 4, np.array([[16.0, 16.0]]))
    first, second, third = a_max_irev(cluster, [0, 1, 2])
    assert (first.start, first.cost, first.utility) == (0, 0, 72)
    assert (second.start, second.utility, third.start) == (0, 72 - 2 * (2 * 3 + 1), 2)
    assert third.cost == 0
    assert cluster.held[0].tolist() == [[4, 4, 2, 2], [2, 2, 1, 1]]
    assert cluster.prices[0].tolist() == [
        pytest.approx([15, 15, 3, 3]),
        pytest.approx([3, 3, 1, 1]),
    ]


def test_too_large_prices_are_refused() -> None:
    problem = two_servers(job("a", utility=Linear(0, 1e79)))
    message = (
        r"theta: 1 \+ estimate=1 \* scale=1e\+300 \* 2.5e\+78, which a use is worth to job 'a', "
        "is too large for a float"
    )
    with pytest.raises(ValueError, match=message):
        astraea(problem, params=AstraeaParams(scale=1e300))
    with pytest.raises(ValueError, match="is too large for a float"):
        thetas(problem, [0], scale=1e300, estimate=1e300)
    with pytest.raises(ValueError, match=r"prices \(8\): theta=1e\+300 with scale=1e-10 overflows"):
        prices_at(1e300, [4], 4, scale=1e-10)


def test_a_theta_that_has_lost_its_digits_is_refused() -> None:
    """f / use is 24 a worker-slot. In a unit 1e17 times as large 1 + 24e-17 is 1, and prices 0."""
    problem = two_servers(job("a"), job("b", "v", utility=Linear(0, -5)))
    for scale, estimate in ((1e-17, 1.0), (1e-10, 1e-3), (1e-300, 1e-300)):
        message = (
            rf"theta: 1 \+ estimate={estimate:g} \* scale={scale:g} \* 24, which a use is worth to "
            "job 'a', is too close to 1; take a larger scale"
        )
        with pytest.raises(ValueError, match=message):
            astraea(problem, params=AstraeaParams(scale=scale, estimate=estimate))
    # the least that is allowed: prices are nearly proportional, those of a full cluster f / use
    least = thetas(problem, [0, 1], scale=1e-11)
    assert prices_at(least[0, 0], [0, 2, 4], 4, scale=1e-11) == pytest.approx([0, 12, 24], rel=1e-5)
    # where nothing can be earned prices are 0 at any scale
    assert thetas(problem, [1], scale=1e-300).tolist() == [[1, 1]]


@pytest.mark.parametrize(("rule", "scale"), [("sum", 1.0), (None, 1.0), ("slot", -1), (0.5, 1.0)])
def test_thetas_take_what_parameters_may_be(rule: Any, scale: float) -> None:
    with pytest.raises((ValueError, TypeError), match=r"AstraeaParams: (theta|scale)="):
        thetas(two_servers(job("a")), [0], rule, scale)


# --- rounds and batches --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "lam", "start"),
    [(0, 1, 2), (1, 1, 2), (2, 1, 4), (3, 1, 4), (4, 1, 8), (7, 3, 24), (8, 2, 32)],
)
def test_a_batch_runs_in_the_interval_after_it(release: int, lam: int, start: int) -> None:
    """W1, W23: jobs of tau_(l-1) <= r < tau_l start at lambda tau_l, tau_l = 2^l."""
    problem = two_servers(job("a", release=release))
    result = solved(problem, AstraeaParams(lam=lam))
    assert times(problem, result.solution) == {"a": (start, start + 2)}


def test_every_round_begins_with_an_empty_cluster() -> None:
    """Interval 2 in two rounds of 4 slots: what has no place in the first runs in the second."""
    jobs = [job(f"j{i}", release=3, minibatches=2) for i in range(4)]
    problem = two_servers(*jobs)
    accepted = a_round(problem, range(4), 2, AstraeaParams(lam=2, theta=1.0))
    assert [(a.run.job, a.run.start, a.run.end, a.stage) for a in accepted] == [
        (0, 8, 12, 1), (1, 8, 12, 2), (2, 12, 16, 1), (3, 12, 16, 2)
    ]  # fmt: skip
    assert a_round(problem, range(4), 2, AstraeaParams(theta=1.0), share=False) == [
        a._replace(run=a.run._replace(start=4, end=8)) for a in accepted[:1]
    ]


def test_orders_of_jobs() -> None:
    """By release, then user and number, or number alone."""
    jobs = [job("v1", "v", release=3), job("u1", release=3), job("u0", release=2)]
    problem = two_servers(*jobs)
    by_user, by_index = (
        a_round(problem, range(3), 2, AstraeaParams(theta=1.0, order=order))
        for order in ("user", "index")
    )
    assert [a.run.job for a in by_user] == [2, 1, 0]
    assert [a.run.job for a in by_index] == [2, 0, 1]


def test_jobs_that_can_earn_nothing_are_left_and_reported() -> None:
    """One is worthless, one too wide for (3i): 3 of its workers are needed to end in time."""
    jobs = [
        job("late", utility=Linear(-50, 99)),
        job("worthless", utility=Linear(0, 0)),
        job("fine", utility=Power(10, 1)),
    ]
    result = solved(two_servers(*jobs))
    assert result.info["left"] == ["late", "worthless"]
    assert result.info["intervals"] == 1
    assert result.stop is Stop.COMPLETED
    no_ps = Irmp(gs.Instance(gs.Cluster([gs.Node("s", 2)]), [job("a", "")]))
    assert solved(no_ps).info["left"] == ["a"]


def test_a_time_limit_leaves_what_is_not_begun() -> None:
    problem = two_servers(job("b", release=9), job("a"))
    result = solved(problem, time_limit=0)
    assert result.stop is Stop.TIME_LIMIT
    assert result.info["left"] == ["b", "a"]
    assert (result.objective, result.info["intervals"]) == (0, 0)


def crowd(**changes: Any) -> Irmp:
    """Jobs of u and v, more than two rounds hold, released over three intervals."""
    jobs = [job(f"j{i}", "uv"[i % 2], release=i // 2, minibatches=2, **changes) for i in range(10)]
    return two_servers(*jobs)


CROWD = AstraeaParams(theta=4.0, lam=2)


@pytest.mark.parametrize("literal", [False, True])
def test_a_time_limit_stops_within_a_round(
    monkeypatch: pytest.MonkeyPatch, *, literal: bool
) -> None:
    """A clock that ticks when it is read: each tick more decides one job more, in the same way."""
    params = replace(CROWD, literal=literal)
    whole = solved(crowd(), params)
    assert whole.solution is not None
    rows = list(whole.solution)
    kept = []
    for limit in itertools.count(1):
        clock = itertools.count()
        monkeypatch.setattr(irmp, "time", SimpleNamespace(perf_counter=lambda c=clock: next(c)))
        part = solved(crowd(), params, time_limit=limit)
        assert part.solution is not None
        assert list(part.solution) == rows[: len(list(part.solution))]
        kept.append(len(list(part.solution)))
        ran = {row.job for row in part.solution}
        assert part.info["left"] == [f"j{i}" for i in range(10) if i not in ran]
        if part.stop is Stop.COMPLETED:
            break
        assert part.stop is Stop.TIME_LIMIT
        assert part.info["intervals"] <= whole.info["intervals"]
    assert kept == sorted(kept)
    assert set(kept) == set(range(len(rows) + 1))  # one by one
    assert part.solution == whole.solution


def test_a_round_looks_at_no_job_after_its_deadline() -> None:
    late = Round(crowd(), 4, 4, np.array([[16.0, 16.0]]), deadline=-math.inf)
    assert a_max_irev(late, [0, 1]) == []


@pytest.mark.parametrize("solver", [astraea, batch_sche])
def test_after_an_interrupt_what_was_accepted_is_kept(
    solver: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, best = solver(crowd(), params=CROWD), irmp.best_response
    runs: list[Any] = []

    def pressed(*args: Any, **more: Any) -> Any:
        if len(runs) >= 2:
            runs.clear()
            raise KeyboardInterrupt
        run = best(*args, **more)
        runs.extend([run] if run is not None else [])
        return run

    monkeypatch.setattr(irmp, "best_response", pressed)
    part = solver(crowd(), params=CROWD)
    assert (part.stop, part.status) == (Stop.INTERRUPTED, Status.FEASIBLE)
    kept = list(part.solution)
    assert kept == list(whole.solution)[:2]
    assert len(part.info["left"]) == 8
    assert runs == []  # nobody is looked at after it
    assert "astraea: interrupted, what was accepted is kept" in caplog.text


def test_a_horizon_is_kept() -> None:
    jobs = [job("a"), job("b"), job("c"), job("d", release=3)]
    problem = two_servers(*jobs, horizon=5)
    result = solved(problem, AstraeaParams(theta=1.0))
    assert max(end for _, end in times(problem, result.solution).values()) <= 5
    assert result.info["left"] == ["c", "d"]


def test_where_all_jobs_must_run_and_some_are_left_there_is_no_solution() -> None:
    jobs = job("a"), job("b", utility=Linear(0, -1))
    result = solved(two_servers(*jobs, optional=False))
    assert (result.status, result.solution) == (Status.UNKNOWN, None)
    assert solved(two_servers(jobs[0], optional=False)).status is Status.FEASIBLE


def test_runs_below_zero_can_be_refused() -> None:
    """W25: released at 3 it starts at 4; ideal 90 - 30, true 90 - 90."""
    late = job("a", release=3, utility=Linear(-15, 90))
    accepted = solved(two_servers(late))
    assert (accepted.objective, accepted.info["ideal"]) == (0, 60)
    refused = solved(two_servers(late), AstraeaParams(reject_negative=True))
    assert refused.info["left"] == ["a"]
    better = replace(late, utility=Linear(-15, 91))
    assert solved(two_servers(better), AstraeaParams(reject_negative=True)).objective == 1


@settings(max_examples=60)
@given(irmp_problems(optional=True), st.integers(1, 3), st.booleans(), st.booleans())
def test_runs_lie_in_their_rounds_and_quotas_hold_in_stage_1(
    problem: Irmp, lam: int, reject: bool, slot: bool
) -> None:
    rule = "slot" if slot else "total"
    params = AstraeaParams(lam=lam, theta=rule, reject_negative=reject, cap=7)
    result = solved(problem, params)
    assert result.solution is not None
    assert result.info["ideal"] == ideal_revenue(problem, result.solution, lam)
    ran = {row.job for row in result.solution}
    left = [j.id for i, j in enumerate(problem.jobs) if i not in ran]
    assert result.info["left"] == left
    for row in result.solution:
        interval, begin = round_of(row.start, lam)
        assert problem.jobs[row.job].release < 2**interval <= begin
        assert row.end <= begin + 2**interval
        assert not reject or problem.value(row.job, row.end) > 0


# --- money ---------------------------------------------------------------------------------------


def replayed(
    problem: Irmp, result: Result[gs.Schedule], params: AstraeaParams
) -> tuple[dict[str, float], dict[str, float]]:
    """Payments, and incomes of users: slot by slot, in plain numbers.

    Stages are taken from the names in the result.
    """
    theta, nodes = result.info["theta"], problem.instance.cluster.nodes
    total: dict[tuple[str, int], int] = {}
    for node in nodes:
        for what, count in enumerate((node.gpus, node.ps)):
            total[node.model, what] = total.get((node.model, what), 0) + count
    held: dict[tuple[int, str, int], int] = {}
    mine: dict[tuple[str, int, str, int], int] = {}
    pay, get = dict.fromkeys(result.info["payments"], 0.0), dict.fromkeys(problem.users, 0.0)
    assert result.solution is not None
    for row in result.solution:
        name, user = problem.jobs[row.job].id, problem.jobs[row.job].user or problem.users[0]
        for what, used in enumerate((row.gpus, row.ps or {})):
            model = next(nodes[s].model for s, count in used.items() if count)
            kind, count = problem.models.index(model), sum(used.values())
            for t in range(row.start, row.end):
                h = held.get((t, model, what), 0)
                price = (theta[kind][what] ** (h / total[model, what]) - 1) / params.unit
                held[t, model, what] = h + count
                if name not in pay:
                    key = user, t, model, what
                    mine[key] = mine.get(key, 0) + count
                    continue
                unused = {
                    u: int(problem.quotas[i, kind, what]) - mine.get((u, t, model, what), 0)
                    for i, u in enumerate(problem.users)
                }
                pay[name] += price * count
                for u, rest in unused.items():
                    get[u] += rest / sum(unused.values()) * price * count
    return pay, get


def money_is_conserved(problem: Irmp, params: AstraeaParams) -> int:
    """Check a run; return how many pay."""
    params = in_unit(problem, params)
    result = solved(problem, params)
    assert result.solution is not None
    money = accounts(problem, result.solution, params)
    assert abs(money.income.sum(axis=0) - money.payment).max(initial=0) <= 1e-9
    assert (money.income >= 0).all()
    assert (money.payment[money.stage < 2] == 0).all()
    ran = {row.job for row in result.solution}
    assert {j for j in range(len(problem.jobs)) if money.stage[j]} == ran
    pay, get = replayed(problem, result, params)
    assert result.info["payments"] == pytest.approx(pay)
    assert result.info["incomes"] == pytest.approx(get)
    assert math.isclose(sum(pay.values()), sum(get.values()), abs_tol=1e-9)
    stages = {j: s for j, s in enumerate(money.stage.tolist()) if s}
    theta = thetas(problem, range(len(problem.jobs)), params.theta, params.scale)
    assert stages == stages_of(problem, params, theta)
    return sum(amount > 0 for amount in pay.values())


def stages_of(problem: Irmp, params: AstraeaParams, theta: Any) -> dict[int, int]:
    """The stages in which the algorithm accepts jobs, which it knows; the accounts infer them."""
    stages: dict[int, int] = {}
    for interval in range(1, params.cap + 1):
        here = [
            j for j, one in enumerate(problem.jobs) if one.release < 2**interval and j not in stages
        ]
        for a in a_round(problem, here, interval, params, theta=theta):
            stages[a.run.job] = a.stage
    return stages


@settings(max_examples=80)
@given(
    irmp_instances(max_jobs=6, models=("a", "b"), max_release=1)
    | irmp_instances(max_jobs=6, max_release=1),
    st.data(),
)
def test_incomes_equal_payments(
    instance: gs.Instance[ParameterServerJob], data: st.DataObject
) -> None:
    problem = data.draw(irmp_problems(instance, optional=True, horizon=None))
    params = AstraeaParams(
        lam=data.draw(st.integers(1, 2)),
        theta=data.draw(st.sampled_from(["total", "slot", 1.0, 16.0, 1.5])),
        scale=data.draw(st.sampled_from([1.0, 100.0, "assumption"])),
        reject_negative=data.draw(st.booleans()),
        cap=6,
    )
    money_is_conserved(problem, params)


def test_incomes_equal_payments_where_many_pay() -> None:
    rng, paid = np.random.default_rng(0), 0
    for _ in range(12):
        jobs = [
            job(
                f"j{i}",
                str(rng.choice(["u", "v"])),
                gpus=int(rng.integers(1, 4)),
                minibatches=int(rng.integers(1, 4)),
                utility=Linear(-float(rng.integers(1, 9)), 90),
            )
            for i in range(8)
        ]
        paid += money_is_conserved(two_servers(*jobs), AstraeaParams(theta=4.0, lam=2, cap=6))
    assert paid >= 10


def test_income_is_divided_by_type() -> None:
    """(11), by hand: u owns s1 of type a and half of b; its second job takes s2 and all of its PSs.

    Types a (2 workers, 2 PSs, u's) and b (2 servers of 2 and 2, u and v). theta = 16: two of four
    workers of type b are held by u's job b1, one of four PSs; b2 pays 3 a worker and 1 a PS. Only v
    has workers of type b left; of the 3 PSs left, u has 1.
    """
    nodes = [gs.Node("s1", 2, "a", 2), gs.Node("s2", 2, "b", 2), gs.Node("s3", 2, "b", 2)]
    fast = {"speeds": {"a": 0.1, "b": 1.0}, "utility": Linear(-20, 100)}
    jobs = [job("b1", **fast), job("b2", **fast)]
    problem = Irmp(
        gs.Instance(gs.Cluster(nodes), jobs, [gs.User("u"), gs.User("v")]), owners=["u", "u", "v"]
    )
    result = solved(problem, AstraeaParams(theta=16.0))
    assert times(problem, result.solution) == {"b1": (2, 4), "b2": (2, 4)}
    assert result.info["payments"] == {"b2": pytest.approx(2 * (2 * 3 + 1))}
    assert result.info["incomes"] == pytest.approx({"u": 2 / 3, "v": 12 + 4 / 3})


def test_accounts_of_other_schedules_are_refused() -> None:
    problem = two_servers(job("a"), job("b"))
    with pytest.raises(ValueError, match="round: start=1 is before 2, when the first round begins"):
        accounts(problem, gs.Schedule.of([gs.Segment(0, 1, 3, {0: 2}, ps={0: 1})]))
    twice = [gs.Segment(j, 2, 4, {0: 2, 1: 2}, ps={0: 2}) for j in (0, 1)]
    with pytest.raises(ValueError, match="job 'b' takes more than is free"):
        accounts(problem, gs.Schedule.of(twice))
    with pytest.raises(ValueError, match="accounts: literal=True breaks quotas"):
        accounts(problem, gs.Schedule.of([]), AstraeaParams(literal=True))
    with pytest.raises(ValueError, match="job 'a' ends at 5, after its round from 2 to 4"):
        ideal_revenue(problem, gs.Schedule.of([gs.Segment(0, 2, 5, {0: 2}, ps={0: 1})]))


# --- BatchSche -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(irmp_problems(optional=True))
def test_alone_users_keep_to_their_own_nodes(problem: Irmp) -> None:
    if not problem.owners:
        with pytest.raises(ValueError, match="batch_sche: the nodes of the problem have no owners"):
            batch_sche(problem)
        return
    params = AstraeaParams(cap=6)
    result = batch_sche(problem, params=params)
    assert result.solution is not None
    for row in result.solution:
        user = problem.jobs[row.job].user or problem.users[0]
        assert {problem.owners[s] for s in row.gpus} == {user} or not problem.instance.users
    assert result.info["payments"] == {}
    assert set(result.info["incomes"].values()) == {0.0}
    if len(problem.users) == 1:
        assert result.solution == solved(problem, params).solution


def test_alone_a_job_does_not_use_what_others_leave() -> None:
    jobs = [job("a", minibatches=2), job("b", minibatches=2), job("c", "v", release=9)]
    problem = two_servers(*jobs)
    assert solved(problem, AstraeaParams(theta=1.0)).info["left"] == []
    alone = batch_sche(problem, params=AstraeaParams(theta=1.0))
    # both want 4 slots of s1: they run in (4, 8] and (8, 12]
    assert times(problem, alone.solution) == {"a": (4, 8), "b": (8, 12), "c": (16, 18)}
    assert {tuple(row.gpus) for row in alone.solution or ()} == {(0,), (1,)}


# --- all -----------------------------------------------------------------------------------------


def test_as_printed_runs_are_refuted_where_they_break_the_problem() -> None:
    """W8: three workers away from PSs that serve one each, of which one is enough for line 8."""
    cluster = gs.Cluster([gs.Node(f"s{i}", 1, ps=1) for i in range(4)])
    wide = job("a", "", gpus=4, rates=(1, 1))
    problem = Irmp(gs.Instance(cluster, [wide]))
    printed = astraea(problem, params=AstraeaParams(literal=True))
    assert isinstance(printed, Refuted)
    assert printed.solver == "astraea-literal"
    assert printed.violations[0].startswith("bandwidth (3i): job 'a'")
    served = Irmp(problem.instance, ps_bandwidth=3)
    result = solved(served, AstraeaParams(literal=True))
    assert "payments" not in result.info
    assert result.objective == solved(served).objective


def test_every_number_is_finite() -> None:
    jobs = [job("a", utility=Power(1e26, 3)), job("b", utility=Linear(-1e70, 1e79)), job("c")]
    for params in (AstraeaParams(), AstraeaParams(theta="slot"), AstraeaParams(scale=1e-9)):
        result = solved(two_servers(*jobs), params)
        money = accounts(two_servers(*jobs), result.solution or gs.Schedule.of([]), params)
        assert np.isfinite(money.income).all()
        assert math.isfinite(result.info["ideal"])


def test_numbers_of_numpy_are_numbers() -> None:
    """They are kept as plain ones, so that results are plain data."""
    params = AstraeaParams(
        lam=np.int64(2),
        cap=np.int32(9),
        theta=np.float64(4),
        scale=np.int64(1),  # type: ignore[arg-type]
    )
    assert params == AstraeaParams(lam=2, cap=9, theta=4.0, scale=1)
    given = (params.lam, params.cap, params.theta, params.scale)
    assert [type(x) for x in given] == [int, int, float, float]


def test_rounds_that_need_more_than_memory_are_refused() -> None:
    slow = two_servers(job("a", rates=(1e-9, 1e-9), utility=Linear(0, 1)))
    cluster = Round(slow, 2**40, 2**40, np.array([[16.0, 16.0]]))
    message = (
        "Irmp: a round of runs until slot 4000000000 on 2 nodes needs arrays of more than "
        "250,000,000 entries, use longer slots"
    )
    with pytest.raises(ValueError, match=message):
        cluster.respond(0, shared=True)


def test_wrong_problems_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_sche: literal=True is for astraea"):
        batch_sche(two_servers(job("a")), params=AstraeaParams(literal=True))
    nodes = [gs.Node("s1", 2, "a", 1), gs.Node("s2", 2, "b", 1)]
    mixed = Irmp(gs.Instance(gs.Cluster(nodes), [job("a", "")]))
    with pytest.raises(ValueError, match="astraea: literal=True, Algorithms 3-5 know one type"):
        astraea(mixed, params=AstraeaParams(literal=True))
