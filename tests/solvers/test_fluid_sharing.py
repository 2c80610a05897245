"""Fluid max-min sharing against closed forms, hand-worked cases and a simulation of its own."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.formulations.ltgf.problem import shares_of
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers.ltgf.fluid_sharing import FluidSharing, fluid_sharing, max_min_shares


def of(gpus: int, *rows: tuple[int, int, int], weights: tuple[float, ...] = ()) -> Instance[Job]:
    """Jobs (gang, work, release) of nobody."""
    jobs = [
        Job(id=f"j{i}", gpus=g, work=w, release=r, weight=weights[i] if weights else 1.0)
        for i, (g, w, r) in enumerate(rows)
    ]
    return Instance(Cluster.of_sizes([gpus]), jobs)


# --- shares --------------------------------------------------------------------------------------

numbers = st.fractions(Fraction(1, 4), 9, max_denominator=4)


@given(st.integers(0, 12), st.lists(st.tuples(numbers, numbers), max_size=6))
def test_shares_are_those_of_one_level(gpus: int, rows: list[tuple[Fraction, Fraction]]) -> None:
    demands, weights = [d for d, _ in rows], [w for _, w in rows]
    shares = max_min_shares(gpus, demands, weights)
    assert sum(shares) == min(gpus, sum(demands))
    level = max((s / w for s, w in zip(shares, weights, strict=True)), default=0)
    for share, demand, weight in zip(shares, demands, weights, strict=True):
        assert share == min(demand, level * weight)


# --- runs ----------------------------------------------------------------------------------------


def test_figure_6_a() -> None:
    """2 GPUs each until 60 min, when 120 of 240 GPU minutes of the first job are left."""
    run = fluid_sharing(of(6, (6, 2400, 0), (3, 2400, 0), (3, 2400, 0)))
    assert [end / 60 for end in run.end] == [80, 60, 60]
    assert run.times == (0, 3600, 4800)
    assert run.shares == (((0, 2), (1, 2), (2, 2)), ((0, 6),), ())


def test_weights_of_jobs_and_users_are_taken_as_the_decimals_that_they_show() -> None:
    """Users 0.1 and 0.3 of 4 GPUs: 1 and 3; jobs of weights 2 and 1 share the 3: 2 and 1."""
    jobs = [
        Job(id="a", user="u", gpus=4, work=10),
        Job(id="b", user="v", gpus=4, work=10, weight=2.0),
        Job(id="c", user="v", gpus=4, work=10),
    ]
    users = [User("u", weight=0.1), User("v", weight=0.3)]
    run = fluid_sharing(Instance(Cluster.of_sizes([2, 2]), jobs, users))
    assert run.shares[0] == ((0, 1), (1, 2), (2, 1))


def test_no_jobs_take_no_time() -> None:
    assert fluid_sharing(of(2)) == FluidSharing(times=(0,), shares=((),), end=())


def test_a_job_without_work_is_refused() -> None:
    instance = Instance(Cluster.of_sizes([2]), [Job(id="a", gpus=1)])
    with pytest.raises(ValueError, match="job 'a': work=None, sharing needs seconds of service"):
        fluid_sharing(instance)


# --- against a simulation of its own -------------------------------------------------------------


@st.composite
def instances(draw: st.DrawFn) -> Instance[Job]:
    """Up to six jobs of up to three users; shrinks to one job of nobody."""
    weights = draw(st.lists(st.sampled_from([1.0, 2.0, 0.3]), max_size=3))
    names = [f"u{k}" for k in range(len(weights))] or [""]
    weight = st.sampled_from([1.0, 2.5])
    row = st.tuples(
        *(st.integers(1, 6), st.integers(1, 20), st.integers(0, 30)), st.sampled_from(names), weight
    )
    jobs = [
        Job(id=f"j{i}", gpus=g, work=w, release=r, user=u, weight=c)
        for i, (g, w, r, u, c) in enumerate(draw(st.lists(row, min_size=1, max_size=6)))
    ]
    owners = [User(name, w) for name, w in zip(names, weights, strict=bool(weights))]
    return Instance(Cluster.of_sizes([draw(st.integers(1, 8))]), jobs, owners)


def filled(gpus: float, demands: list[float], weights: list[float]) -> list[float]:
    """The level by bisection."""
    low, high = 0.0, gpus / min(weights) + max(demands) / min(weights)
    for _ in range(80):
        level = (low + high) / 2
        used = sum(min(d, level * w) for d, w in zip(demands, weights, strict=True))
        low, high = (level, high) if used < gpus else (low, level)
    return [min(d, high * w) for d, w in zip(demands, weights, strict=True)]


def simulated(instance: Instance[Job]) -> list[float]:
    """Completions by going from event to event in floating point."""
    jobs, weight = instance.jobs, {user.id: user.weight for user in instance.users}
    left = [float(job.gpus * (job.work or 0)) for job in jobs]
    end, now = [0.0] * len(jobs), 0.0
    while any(left):
        active = [i for i, job in enumerate(jobs) if left[i] and job.release <= now]
        coming = [job.release for job in jobs if job.release > now]
        if not active:
            now = float(min(coming))
            continue
        users = sorted({jobs[i].user if len(weight) > 1 else "" for i in active})
        own = [[i for i in active if users == [""] or jobs[i].user == user] for user in users]
        demand = [float(sum(jobs[i].gpus for i in mine)) for mine in own]
        parts = filled(instance.cluster.gpus, demand, [weight.get(u, 1.0) for u in users])
        share = dict[int, float]()
        for part, mine in zip(parts, own, strict=True):
            gangs, weights = [float(jobs[i].gpus) for i in mine], [jobs[i].weight for i in mine]
            share.update(zip(mine, filled(part, gangs, weights), strict=True))
        step = min([left[i] / share[i] for i in active] + [r - now for r in coming])
        for i in active:
            left[i] -= step * share[i]
            if left[i] < 1e-7:
                left[i], end[i] = 0.0, now + step
        now += step
    return end


@given(instances())
def test_completions_equal_those_of_a_simulation(instance: Instance[Job]) -> None:
    run = fluid_sharing(instance)
    assert [float(end) for end in run.end] == pytest.approx(simulated(instance), abs=1e-5)


def between(run: FluidSharing) -> list[tuple[Fraction, dict[int, Fraction]]]:
    steps = zip(pairwise(run.times), run.shares, strict=False)
    return [(end - begin, dict(shares)) for (begin, end), shares in steps]


@given(instances())
def test_work_is_done_exactly_and_no_gpu_idles_that_could_be_used(instance: Instance[Job]) -> None:
    run = fluid_sharing(instance)
    done = [Fraction(0)] * len(instance.jobs)
    for length, shares in between(run):
        for i, share in shares.items():
            assert 0 < share <= instance.jobs[i].gpus
            done[i] += length * share
        usable = sum(instance.jobs[i].gpus for i in shares)
        assert sum(shares.values()) == min(instance.cluster.gpus, usable)
    assert done == [job.gpus * (job.work or 0) for job in instance.jobs]


@given(instances())
def test_everybody_gets_a_fair_share_at_every_instant(instance: Instance[Any]) -> None:
    """(3) and (13): divisible GPUs give rho_i >= 1, which gangs cannot always have."""
    for _, shares in between(fluid_sharing(instance)):
        fair = shares_of(instance, list(shares))
        assert all(shares[i] >= fair[i] for i in shares)
