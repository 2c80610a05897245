"""Prices of GPU time: the verifier says what they are worth, on clusters with more GPUs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crowds import crowd
from gangsched import Bound, Cluster, Instance, Job, drive, verify_bound
from gangsched.analysis.comparing.replay import replay
from gangsched.analysis.driving.waits import longest_waits
from gangsched.analysis.proofs.gpu_prices import GpuPrices
from gangsched.analysis.proofs.model_prices import model_price_bound
from gangsched.analysis.proofs.prices import price_bound
from gangsched.analysis.proofs.verify import InvalidCertificate
from gangsched.formulations.completion_time.problem import CompletionTime
from gangsched.registry import policy
from gangsched.solvers import Fifo


def six_gpus(seed: int, *, models: bool, more: int = 0) -> Instance[Job]:
    """Twelve jobs on six GPUs, of two models if asked; `more` GPUs of the last node's model."""
    last = "b" if models else "a"
    nodes = [(4, "a"), (2, last), *([(more, last)] if more else [])]
    speeds = [{"a": 1.0, "b": 0.5}, {"a": 1.0}, {"a": 0.75, "b": 1.0}] if models else [{}]
    made = crowd(seed, nodes, 12, gangs=(1, 1, 2, 4), work=(5, 40), release=(0, 30), speeds=speeds)
    return replace(made, jobs=[j if j.gpus < 4 else replace(j, speeds={}) for j in made.jobs])


def priced(instance: Instance[Job]) -> Bound:
    """A bound of the flow by prices."""
    problem = CompletionTime(instance)
    return (model_price_bound if problem.mixed else price_bound)(problem, rounds=30)


def second(proof: dict[str, object], model: int, t: int) -> Fraction:
    """The price in [t, t + 1), from the certificate; its times are whole seconds."""
    rows = proof["prices"] if proof["kind"] == "GPU model prices" else [proof["prices"]]
    for k, begin in enumerate(proof["times"][:-1]):  # type: ignore[index]
        if begin <= t < proof["times"][k + 1]:  # type: ignore[index]
            return Fraction(rows[model][k], proof["scale"])  # type: ignore[index, call-overload]
    return Fraction(0)


@pytest.mark.parametrize("models", [False, True])
def test_worth_is_the_sum_of_the_seconds(models: bool) -> None:
    proof = dict(priced(six_gpus(0, models=models)).certificate or {})
    prices = GpuPrices.of(Bound(0, "", proof))
    assert prices is not None
    for model in range(1 + models):
        for begin, end in ((-5, 20), (3, 4), (7, 7), (11, 400), (500, 600)):
            expected = sum(second(proof, model, t) for t in range(begin, end))
            assert prices.worth(model, begin, end) == pytest.approx(float(expected))
        halves = prices.worth(model, np.array([3.0, 3.5]), np.array([3.5, 4.0]))
        assert halves == pytest.approx([float(second(proof, model, 3)) / 2] * 2)


@pytest.mark.parametrize("models", [False, True])
def test_a_gpu_more_lowers_the_bound_by_its_worth(models: bool) -> None:
    bound = priced(six_gpus(1, models=models))
    prices = GpuPrices.of(bound)
    assert prices is not None
    worth = float(prices.worth(int(models), -(10**6), 10**6))
    assert worth > 5
    more = CompletionTime(six_gpus(1, models=models, more=1))
    verify_bound(more, replace(bound, value=bound.value - int(worth) - 1))
    with pytest.raises(InvalidCertificate):
        verify_bound(more, replace(bound, value=bound.value - int(worth) + 2))


@pytest.mark.parametrize("models", [False, True])
def test_prices_of_waits_are_those_of_every_second(models: bool) -> None:
    seen = 0
    for name in ("fifo", "srtf", "ltgf"):
        instance = six_gpus(2, models=models)
        bound = priced(instance)
        proof = dict(bound.certificate or {})
        run = drive(instance, policy(name)[1], round_length=5, lease=20, overhead=3)
        names = list(dict.fromkeys(node.model for node in instance.cluster.nodes))
        for wait in longest_waits(run, 12, prices=GpuPrices.of(bound)):
            job = instance.jobs[wait.job]
            prices, costs = [], []
            for model, called in enumerate(names):
                room = sum(n.gpus for n in instance.cluster.nodes if n.model == called)
                if (speed := job.speed_on_model(called)) and room >= job.gpus:
                    speed = Fraction(speed, 10**6)
                    waited = [t for begin, end in wait.spells for t in range(begin, end)]
                    prices.append(sum(second(proof, model, t) for t in waited) / len(waited))
                    long, cost = Fraction(job.work or 0) / speed, Fraction(0)
                    for t in range(job.release, job.release + int(long) + 1):
                        part = min(Fraction(1), job.release + long - t)
                        cost += job.gpus * part * second(proof, model, t)
                    costs.append(cost)
            held = sum(
                gpus * second(proof, names.index(instance.cluster.nodes[node].model), t)
                for segment in run.schedule if segment.job == wait.job
                for node, gpus in segment.gpus.items()
                for t in range(segment.start, segment.end)
            )  # fmt: skip
            assert wait.price == pytest.approx(float(min(prices)))
            assert wait.at_once == pytest.approx(float(min(costs)))
            assert wait.as_run == pytest.approx(float(held))
            seen += wait.price != 0
    assert seen > 10


def test_a_bound_without_prices_has_none() -> None:
    assert GpuPrices.of(None) is None
    assert GpuPrices.of(Bound(3, "shortest remaining first", {"kind": "srpt"})) is None
    instance = six_gpus(0, models=True)
    run = drive(instance, Fifo())
    assert {wait.price for wait in longest_waits(run)} == {None}
    one = GpuPrices(np.array([0, 1]), np.array([[1.0]]))
    with pytest.raises(ValueError, match="prices of 1 GPU models, the run has 2"):
        longest_waits(run, prices=one)


def test_a_job_that_is_not_complete_has_no_cost() -> None:
    jobs = [Job(id="a", gpus=2, work=100), Job(id="b", gpus=2, work=100)]
    run = drive(Instance(Cluster.of_sizes([2]), jobs), Fifo(), until=60)
    one = GpuPrices(np.array([0, 50]), np.array([[1.0]]))
    (wait,) = longest_waits(run, prices=one)
    assert (wait.seconds, wait.at_once, wait.as_run) == (60, 100.0, None)
    assert wait.price == pytest.approx(50 / 60)


def test_a_replay_prices_waits_whatever_its_best_bound_is() -> None:
    jobs = [Job(id="long", gpus=1, work=40), Job(id="short", gpus=1, work=10, release=10)]
    found = replay(Instance(Cluster.of_sizes([1]), jobs), {"fifo": Fifo()})
    assert GpuPrices.of(found.bounds["flow"]) is None  # by SRPT, here
    bound = found.price_bound
    assert bound is not None
    verify_bound(CompletionTime(found.instance), bound)
    (wait,) = found.waits()["fifo"]
    assert wait == longest_waits(found.rows[0].run, prices=GpuPrices.of(bound))[0]
    assert wait.price is not None
