"""Who holds what of each GPU model over time: by hand, and against a count second by second."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, Mover, checked, mixed_cases
from gangsched.analysis.driving import model_usage as module
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.model_usage import model_usage
from gangsched.analysis.driving.run import EventKind, Run
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.solvers import Fifo, LtgfPolicy, Srtf

CLUSTER = Cluster([Node("n0", 2, "k80"), Node("n1", 4, "v100")])
JOBS = [
    Job(id="a", gpus=2, work=90, user="u"),
    Job(id="b", gpus=4, work=100, user="v", speeds={"v100": 2.5}),
]
INSTANCE = Instance(CLUSTER, JOBS, [User("u"), User("v")])


def test_gpus_and_work_by_hand() -> None:
    usage = model_usage(drive(INSTANCE, Fifo()), 30)
    assert (usage.users, usage.models) == (("u", "v"), ("k80", "v100"))
    assert usage.times.tolist() == [0, 30, 60, 90]
    assert usage.gpus[:, 0].tolist() == [[2, 0]] * 3
    assert usage.gpus[:, 1].tolist() == [[0, 4], [0, 4 / 3], [0, 0]]  # until 40
    assert usage.work[:, 0].tolist() == [[2, 0]] * 3
    assert usage.work[:, 1].tolist() == [[0, 10], [0, 10 / 3], [0, 0]]


def test_the_last_bin_ends_with_the_run() -> None:
    usage = model_usage(drive(INSTANCE, Fifo()), 50)
    assert usage.times.tolist() == [0, 50, 90]
    assert usage.gpus[:, 1, 1].tolist() == [4 * 40 / 50, 0]
    assert usage.total("gpus").tolist() == [[180, 0], [0, 160]]
    assert usage.total("work").tolist() == [[180, 0], [0, 400]]


def test_a_run_without_jobs_has_no_bins() -> None:
    nothing = Instance(CLUSTER, [])
    usage = model_usage(drive(nothing, Fifo()), 60)
    assert usage.times.tolist() == [0]
    assert usage.gpus.shape == usage.work.shape == (0, 1, 2)


def test_what_a_run_cannot_be_asked(monkeypatch: Any) -> None:
    run = drive(INSTANCE, Fifo())
    with pytest.raises(TypeError, match=r"model_usage: step=1.5 is not an integer"):
        model_usage(run, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="model_usage: step=0 is below 1"):
        model_usage(run, 0)
    with pytest.raises(ValueError, match=r"run of 'fifo': its instance, of hash .* is not known"):
        model_usage(replace(run, instance=None), 60)
    monkeypatch.setattr(module, "MOST_PIECES", 200)
    with pytest.raises(ValueError, match="step=1 gives 90 bins for 4 users by models, more than"):
        model_usage(run, 1)
    many = Instance(Cluster.of_sizes([3]), [Job(id=f"j{i}", gpus=1, work=50) for i in range(3)])
    assert model_usage(drive(many, Fifo()), 1).gpus.ravel().tolist() == [3.0] * 50
    monkeypatch.setattr(module, "MOST_PIECES", 100)
    with pytest.raises(ValueError, match="cut the run into 150 pieces, more than 100: make step"):
        model_usage(drive(many, Fifo()), 1)


def counted(run: Run, instance: Instance[Any], step: int) -> dict[str, Any]:
    """GPU seconds and work by (bin, user, model), second by second."""
    nodes, rules = instance.cluster.nodes, run.rules
    models = list(dict.fromkeys(node.model for node in nodes))
    users = [user.id for user in instance.users] or [""]
    shape = (-(-run.now // step), len(users), len(models))
    held, work = np.zeros(shape), np.full(shape, Fraction(0))
    log = list(zip(run.events.time, run.events.job, run.events.kind, strict=True))
    for j, job in enumerate(instance.jobs):
        left, before, runs = job.work or 0, None, 0
        for segment in sorted((s for s in run.schedule if s.job == j), key=lambda s: s.start):
            start, end, gpus = segment.start, segment.end, sum(segment.gpus.values())
            model = nodes[next(iter(segment.gpus))].model
            u = users.index(job.user) if job.user in users else 0
            profile = (start, j, EventKind.PROFILE) in log
            stays = dict(segment.gpus) == before or rules.migration is None
            cost = rules.overhead if stays else rules.migration
            delay = cost if runs and not profile else 0
            until = end
            if (end, j, EventKind.KILL) in log:
                length = rules.lease_length
                zero = 0 if rules.synchronous else start
                until = zero + (end - zero) // length * length
            speed = round(10**6 * (job.speeds[model] if job.speeds else 1))
            seconds = max(0, until - start - delay)
            done = 0 if profile else min(left, seconds * speed // 10**6)
            for t in range(start, end):
                held[t // step, u, models.index(model)] += gpus
                if start + delay <= t < until:
                    work[t // step, u, models.index(model)] += Fraction(done * gpus, seconds)
            left, before, runs = left - done, dict(segment.gpus), runs + (not profile)
        assert left == run.records.left[j]
    width = np.diff([*range(0, run.now, step), run.now])[:, None, None]
    return {"gpus": held / width, "work": work.astype(float) / width}


@settings(max_examples=settings().max_examples // 4)
@given(
    case=mixed_cases(),
    policy=st.sampled_from([Srtf(), LtgfPolicy(), Mover(), Mover(seed=3)]),
    step=st.integers(1, 400),
    until=st.integers(0, 900),
)
def test_it_is_what_counting_seconds_gives(case: Case, policy: Any, step: int, until: int) -> None:
    run = checked(case, policy, until=until)
    usage = model_usage(run, step)
    wanted = counted(run, case.instance, step)
    np.testing.assert_allclose(usage.gpus, wanted["gpus"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(usage.work, wanted["work"], rtol=1e-9, atol=1e-12)
    held = np.bincount(run.records.user, run.records.held, len(run.users))
    np.testing.assert_allclose(usage.total("gpus").sum(axis=1), held, rtol=1e-9, atol=1e-9)
