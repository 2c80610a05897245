"""What prices of workers and PSs prove, by hand, and that a proof that does not hold is refused."""

from dataclasses import replace
from typing import Any

import pytest

from gangsched.analysis.proofs.bound import bound as bound_of
from gangsched.analysis.proofs.verify import InvalidCertificate, verify_bound
from gangsched.formulations.irmp.problem import Irmp, paper_problem
from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob, Power
from gangsched.solvers import Bound


def job(name: str, **changed: Any) -> ParameterServerJob:
    fields: dict[str, Any] = {
        "gpus": 2, "epochs": 2, "minibatches": 1, "rates": (1, 0.5), "utility": Linear(-2, 100),
    }  # fmt: skip
    return ParameterServerJob(id=name, **{**fields, **changed})


ONE = Cluster([Node("s", 2, ps=1)])
PROBLEM = Irmp(Instance(ONE, [job("a"), job("b")]))
#: with 1 for a worker in slots 1 and 2, both jobs gain 92 wherever they run, and 4 are paid
HOLDS: dict[str, Any] = {
    "kind": "revenue prices", "classes": [["", 2, 1]], "ends": [2, 4],
    "prices": [[[1, 0], [0, 0]]], "scale": 1, "fluid": False,
}  # fmt: skip


def verify(value: float = 188.0, problem: Irmp = PROBLEM, **changed: Any) -> None:
    verify_bound(problem, Bound(value, "by hand", {**HOLDS, **changed}))


def test_prices_prove_what_two_jobs_earn_in_turn() -> None:
    verify()
    verify(prices=[[[0, 0], [2, 0]]])  # of a PS as well
    verify(prices=[[[2**80, 0], [0, 0]]], scale=2**80)
    with pytest.raises(InvalidCertificate, match="the certificate proves 188"):
        verify(187.9)


def test_a_job_that_must_run_and_cannot_takes_nothing_off() -> None:
    """One slot, jobs of two, none may be left out: no schedule, and 2 are paid for the workers."""
    stuck = replace(PROBLEM, horizon=1, optional=False)
    verify(2.0, stuck, ends=[1], prices=[[[1], [0]]])
    with pytest.raises(InvalidCertificate, match="the certificate proves 2"):
        verify(1.9, stuck, ends=[1], prices=[[[1], [0]]])


def test_slots_end_with_the_horizon() -> None:
    """Three slots: at 24 a worker nobody gains, and 144 are paid."""
    short = replace(PROBLEM, horizon=3)
    with pytest.raises(InvalidCertificate, match="ends: 4 slots are more than 3"):
        verify(problem=short)
    verify(144.0, short, ends=[3], prices=[[[24], [0]]])
    with pytest.raises(InvalidCertificate, match="the certificate proves 150"):
        verify(144.0, short, ends=[3], prices=[[[25], [0]]])


def test_jobs_that_must_run_may_lose() -> None:
    """100 - 2 t less 101: - 5 at 2, and the last of four slots leaves a way to lose more."""
    jobs = [job("a", utility=Linear(-2, -1))]
    free: dict[str, Any] = {"prices": [[[0, 0], [0, 0]]]}
    verify(0.0, Irmp(Instance(ONE, jobs)), **free)
    verify(-5.0, Irmp(Instance(ONE, jobs), optional=False), **free)
    with pytest.raises(InvalidCertificate, match="the certificate proves -5"):
        verify(-6.0, Irmp(Instance(ONE, jobs), optional=False), **free)


def test_values_are_rounded_up_to_the_scale() -> None:
    """9 / 2 = 4.5 at the end of slot 2."""
    problem = Irmp(Instance(ONE, [job("a", utility=Power(9, 1))]))
    free: dict[str, Any] = {"prices": [[[0, 0], [0, 0]]]}
    verify(4.5, problem, **free, scale=2)
    with pytest.raises(InvalidCertificate, match="the certificate proves 5"):
        verify(4.5, problem, **free)


def test_values_are_rounded_up_to_scales_below_1() -> None:
    """In twos: 96 less 2 x 2 x 2, and 92, are 46 at best, and the prices cost 4 in all."""
    verify(192.0, scale=0.5)
    with pytest.raises(InvalidCertificate, match="the certificate proves 192"):
        verify(191.0, scale=0.5)
    free: dict[str, Any] = {"prices": [[[0, 0], [0, 0]]]}
    problem = Irmp(Instance(ONE, [job("a", utility=Power(9, 1))]))  # 4.5, or 2.25 twos
    verify(6.0, problem, **free, scale=0.5)
    with pytest.raises(InvalidCertificate, match="the certificate proves 6"):
        verify(5.9, problem, **free, scale=0.5)


def test_what_is_too_small_for_a_float_is_not_nothing() -> None:
    """1e-300 in units of 2**100 is 1e-330, and one unit rounded up."""
    problem = Irmp(Instance(ONE, [job("a", utility=Linear(0, 1e-300))]), horizon=4)
    free: dict[str, Any] = {"prices": [[[0, 0], [0, 0]]]}
    verify(2.0**100, problem, **free, scale=2.0**-100)
    with pytest.raises(InvalidCertificate, match="the certificate proves 12676506002282294"):
        verify(0.0, problem, **free, scale=2.0**-100)


@pytest.mark.parametrize("fluid", [False, True])
def test_jobs_that_can_never_run_count_for_nothing(fluid: bool) -> None:
    """Without a PS; or with 5 slots of work but a horizon of 5 and a release at 1."""
    free: dict[str, Any] = {"prices": [[[0, 0], [0, 0]]], "fluid": fluid}
    late = [job("a", epochs=5, release=1, utility=Linear(0, 9))]
    verify(0.0, Irmp(Instance(ONE, late), horizon=5, preemptive=fluid), **free)
    verify(9.0, Irmp(Instance(ONE, late), horizon=6, preemptive=fluid), **free)
    with pytest.raises(InvalidCertificate, match="the certificate proves 9"):
        verify(8.0, Irmp(Instance(ONE, late), horizon=6, preemptive=fluid), **free)
    nowhere = Irmp(Instance(Cluster([Node("s", 2)]), [job("a")]), preemptive=fluid)
    verify(0.0, nowhere, **free, classes=[["", 2, 0]])


@pytest.mark.parametrize("fluid", [False, True])
def test_late_jobs_are_worth_what_they_are_at_their_first_possible_end(fluid: bool) -> None:
    """Ten slots of work from slot 2 on: 100 - 2 x 12."""
    jobs = [job("a", epochs=10, release=2)]
    free: dict[str, Any] = {"prices": [[[0, 0], [0, 0]]], "fluid": fluid}
    problem = Irmp(Instance(ONE, jobs), preemptive=fluid)
    verify(76.0, problem, **free)
    with pytest.raises(InvalidCertificate, match="the certificate proves 76"):
        verify(75.0, problem, **free)


def test_divisors_do_not_tell_what_is_rounded() -> None:
    """3 k = - 2**53 - 1 is rounded to - 2**53, so 3 k + 2 |k| is no multiple of k as a float."""
    k = -(2**53 + 1) // 3
    jobs = [job("a", epochs=1, release=2, utility=Linear(k, -2 * k))]
    problem = Irmp(Instance(ONE, jobs), optional=False, horizon=3)
    earned = problem.value(0, 3)
    assert earned == k + 1
    free: dict[str, Any] = {"prices": [[[0], [0]]], "ends": [3]}
    verify(earned, problem, **free)
    with pytest.raises(InvalidCertificate, match=f"the certificate proves {k + 1}"):
        verify(float(k), problem, **free)


def test_workers_on_two_servers_pay_for_parameter_servers_where_these_are() -> None:
    """3 workers, 2 beside the PS: 1 away. Each 1, and 5 for the PS on the one type of servers."""
    cluster = Cluster([Node("s", 2, ps=1), Node("t", 4)])
    jobs = [job("a", gpus=3, epochs=1, rates=(1, 1), utility=Linear(-1, 100))]
    problem = Irmp(Instance(cluster, jobs), horizon=1)
    classes = [["", 2, 1], ["", 4, 0]]
    prices = [[[1], [5]], [[1], [0]]]
    # 3 mini-batches in a slot: 99 - 3 - 5, and 2 + 5 + 4 are paid
    verify(102.0, problem, classes=classes, ends=[1], prices=prices)
    # now away is cheaper, but one PS serves one worker away only: 99 - 2 x 7 - 1 - 5 + 23
    dear: dict[str, Any] = {"classes": classes, "ends": [1], "prices": [[[7], [5]], [[1], [0]]]}
    verify(102.0, problem, **dear)
    # two away, if it serves two: 99 - 7 - 2 - 5 + 23
    wide = replace(problem, ps_bandwidth=2)
    verify(108.0, wide, **dear)
    for proven, case in ((102, problem), (108, wide)):
        with pytest.raises(InvalidCertificate, match=f"the certificate proves {proven}"):
            verify(proven - 0.5, case, **dear)


FREE = replace(PROBLEM, preemptive=True)


def test_jobs_that_may_change_need_prices_for_them() -> None:
    verify(problem=FREE, fluid=True)  # 2 mini-batches at 1 and 2 free ones by slot 3: 92, too
    verify(fluid=True)
    with pytest.raises(InvalidCertificate, match="fluid=False, but jobs of a preemptive problem"):
        verify(problem=FREE)
    with pytest.raises(InvalidCertificate, match="the certificate proves 188"):
        verify(186.0, FREE, fluid=True)


def test_mini_batches_beyond_one_server_cost_more() -> None:
    """In one slot 2.4 on one server, for 14, the other 0.6 for one worker more, and one PS."""
    cluster = Cluster([Node("s", 2, ps=1), Node("t", 2, ps=1)])
    jobs = [job("a", gpus=3, epochs=1, rates=(1.2, 1), utility=Linear(-1, 100))]
    problem = Irmp(Instance(cluster, jobs), horizon=1, preemptive=True)
    # 99 - 21, and 28 are paid; with PSs at 6 it is 99 - 21 - 6, and 28 + 12
    verify(106.0, problem, ends=[1], prices=[[[7], [0]]], fluid=True)
    verify(112.0, problem, ends=[1], prices=[[[7], [6]]], fluid=True)
    with pytest.raises(InvalidCertificate, match="the certificate proves 112"):
        verify(111.0, problem, ends=[1], prices=[[[7], [6]]], fluid=True)


def test_mini_batches_go_to_the_model_that_has_most_gpus() -> None:
    """As above; a node of one GPU of another model trains none of them, and is paid: 7 + 6."""
    cluster = Cluster([Node(i, 2, "old", ps=1) for i in "st"] + [Node("u", 1, "new", ps=1)])
    jobs = [job("a", gpus=3, epochs=1, rates=(1.2, 1), utility=Linear(-1, 100))]
    problem = Irmp(Instance(cluster, jobs), horizon=1, preemptive=True)
    classes = [["new", 1, 1], ["old", 2, 1]]
    prices = [[[7], [6]], [[7], [6]]]
    dear = {**HOLDS, "classes": classes, "ends": [1], "prices": prices, "fluid": True}
    verify(125.0, problem, **dear)


@pytest.mark.slow
@pytest.mark.parametrize("preemptive", [False, True])
@pytest.mark.parametrize("utility", ["linear", "convex"])
def test_the_best_bound_is_verified_and_no_lower_bound_is(utility: Any, preemptive: bool) -> None:
    problem = replace(paper_problem(15, servers=14, utility=utility), preemptive=preemptive)
    bound = bound_of(problem)
    verify_bound(problem, bound)
    better = bound_of(problem, effort="full")
    verify_bound(problem, better)
    assert better.value <= bound.value
    lower = Bound(bound.value * (1 - 1e-6), "too low", bound.certificate)
    with pytest.raises(InvalidCertificate, match="the certificate proves"):
        verify_bound(problem, lower)
