"""The area over the weight of the user: alone as it comes, the published formula, the driver."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crowds import crowd
from few import each_seed
from gangsched.analysis.driving.check import violations
from gangsched.formulations import SharingIncentive
from gangsched.formulations.sharing_incentive import alone_flows
from gangsched.instances import Instance, Job, User
from gangsched.solvers import IsolationArea, SmallestArea
from gangsched.solvers.ours.areas.isolation_area_core import advance
from gangsched.solvers.policy import Decision, Preempts, State
from reference_driver import drive


def of_users(seed: int, users: int = 3) -> Instance[Job]:
    owners = [User(f"u{k}", 2.0**k) for k in range(users)]
    sizes, span = [4, 4] if seed % 2 else [3, 5], {"work": (20, 5000), "release": (0, 6000)}
    return crowd([9, seed], sizes, users=owners, **span)


# --- alone ----------------------------------------------------------------------------------------


@each_seed(range(12))
def test_users_alone_as_jobs_come(seed: int) -> None:
    """Stopped at any time, it is the simulation of the jobs that have come, as far as then."""
    rng = np.random.default_rng(seed)
    count, users = 30, 3
    release = np.sort(rng.integers(0, 60, count))
    gang, seconds = rng.integers(1, 5, count), rng.integers(1, 20, count)
    user = rng.integers(0, users, count)
    quota = rng.integers(1, 20, users)  # in thirds of a GPU
    area, rate = 3 * gang * seconds, 3 * gang
    queue = np.zeros((users, count), dtype=np.int64)
    number, total = np.zeros((2, users), dtype=np.int64)
    stops = sorted({*rng.integers(0, 80, 12).tolist(), 2000})
    since = known = 0
    for now in stops:
        new = np.arange(known, int(np.searchsorted(release, now, side="right")))
        advance(
            new,
            0,
            new.size,
            release,
            user,
            np.arange(count),
            rate,
            area,
            quota,
            queue,
            number,
            total,
            since,
            now,
        )
        since, known = now, known + new.size
        for u in range(users):
            own = np.flatnonzero((user == u) & (release <= now))
            rows = [(int(release[j]), int(seconds[j]), int(gang[j])) for j in own]
            ends = release[own] + alone_flows(rows, Fraction(int(quota[u]), 3))
            assert total[u] == (np.minimum(ends, now) - release[own]).sum()
            assert number[u] == (ends > now).sum()
    assert known == count
    assert not number.any()


# --- the policy -----------------------------------------------------------------------------------


class Weighed:
    """The same from the whole of the formula, at each round at which a job comes or ends."""

    name = "weighed"
    preempts = Preempts.ALWAYS
    information = "known"

    def __init__(self, instance: Instance[Job], power: float, size: float) -> None:
        self.instance, self.power, self.size = instance, power, size

    def begin(self, *_: Any) -> Weighed:
        self.come: set[int] = set()
        self.over: set[int] = set()
        return self

    def decide(self, state: State) -> Decision:
        come = {j for j, job in enumerate(self.instance.jobs) if job.release <= state.now}
        over = {j for j in come if 0 <= state.end[j] <= state.now}
        if come != self.come or over != self.over:
            self.come, self.over = come, over
            self.weights = self.weigh(state)
        key = {
            int(j): int(left)
            * self.instance.jobs[j].gpus
            / self.weights[self.instance.jobs[j].user]
            for j, left in zip(state.candidates, state.remaining(state.candidates), strict=True)
        }
        order = sorted(key, key=lambda j: (key[j], self.instance.jobs[j].release, j))
        return Decision(order=order, repacking=True)

    def weigh(self, state: State) -> dict[str, float]:
        problem, found = SharingIncentive(self.instance), {}
        for user in {job.user for job in self.instance.jobs}:
            own = [j for j in self.come if self.instance.jobs[j].user == user]
            rows = [(j.release, j.work, j.gpus) for j in map(self.instance.jobs.__getitem__, own)]
            flow = sum(
                (state.end[j] if j in self.over else state.now) - self.instance.jobs[j].release
                for j in own
            )
            quota = problem.quotas[user if len(problem.quotas) > 1 else ""]
            alone = alone_flows(rows, Fraction(int(1000 * quota), 1000))
            alone = sum(min(a, state.now - r) for a, (r, _, _) in zip(alone, rows, strict=True))
            ratio = (flow + 3600) / (alone + 3600)
            found[user] = ratio**self.power / ((alone + 3600) / 3600) ** self.size
        return found

    def next_change(self, state: State) -> int | None:
        return state.now + 1 if (state.blocked[state.waiting] >= 0).any() else None


@pytest.mark.parametrize(("power", "size"), [(1.0, 0.5), (4.0, 0.0)])
@each_seed(range(6))
def test_it_is_the_formula(seed: int, power: float, size: float) -> None:
    instance = of_users(seed)
    run = drive(instance, IsolationArea(power=power, size=size))
    wanted = drive(instance, Weighed(instance, power, size))
    assert violations(run, preempts=Preempts.ALWAYS) == []
    assert run.records.end.tolist() == wanted.records.end.tolist()
    assert run.records.starts.tolist() == wanted.records.starts.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_for_one_user_or_without_powers_it_is_smallest_area(seed: int) -> None:
    for users in (0, 1):
        instance = of_users(seed, users)
        same = drive(instance, IsolationArea()).records.end
        assert same.tolist() == drive(instance, SmallestArea()).records.end.tolist()
    instance = of_users(seed)
    ends = drive(instance, IsolationArea(power=0, size=0)).records.end
    assert ends.tolist() == drive(instance, SmallestArea()).records.end.tolist()
    assert ends.tolist() != drive(instance, IsolationArea()).records.end.tolist()
