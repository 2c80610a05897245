"""Fair shares, eq. (3)-(16): against a sum over unit steps in rationals, and by hand."""

from collections import Counter
from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangsched.formulations.fair_shares import FairShares

Event = tuple[int, int, int, int]  # time, user, gang size, weight


class Slow:
    """The same definitions, one unit of time after the other, with no accumulator."""

    def __init__(self, gpus: int, weights: list[int], by: str, events: list[tuple[Event, bool]]):
        self.gpus, self.by = gpus, by
        self.quotas = [Fraction(gpus * w, sum(weights)) for w in weights]
        self.events = events

    def active(self, user: int, t: int) -> Counter[tuple[int, int]]:
        jobs: Counter[tuple[int, int]] = Counter()
        for (when, whose, size, weight), begins in self.events:
            if whose == user and when <= t:
                jobs[size, weight] += 1 if begins else -1
        return jobs

    def eight(self, user: int, t: int) -> Fraction:
        demand = sum(size * count for (size, _), count in self.active(user, t).items())
        if len(self.quotas) == 1:
            return Fraction(self.gpus if demand else 0)
        return min(Fraction(demand), self.quotas[user])

    def user_time(self, user: int, until: int) -> Fraction:
        if self.by == "quota":
            return self.quotas[user] * until
        return sum((self.eight(user, t) for t in range(until)), Fraction())

    def job_time(self, user: int, size: int, weight: int, since: int, until: int) -> Fraction:
        total = Fraction()
        for t in range(since, until):
            weights = sum(w * count for (_, w), count in self.active(user, t).items())
            if weights:
                total += min(Fraction(size), self.eight(user, t) * weight / weights)
        return total


@st.composite
def histories(draw: Any) -> tuple[int, list[int], list[tuple[Event, bool]]]:
    weights = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    alive: list[tuple[int, int, int]] = []
    events: list[tuple[Event, bool]] = []
    t = 0
    for gap in draw(st.lists(st.integers(0, 4), max_size=12)):
        t += gap
        if alive and draw(st.booleans()):
            job = alive.pop(draw(st.integers(0, len(alive) - 1)))
            events.append(((t, *job), False))
        else:
            user = draw(st.integers(0, len(weights) - 1))
            job = (user, draw(st.integers(1, 6)), draw(st.integers(1, 3)))
            alive.append(job)
            events.append(((t, *job), True))
    return draw(st.integers(1, 12)), weights, events


def played(
    gpus: int, weights: list[int], by: Literal["demand", "quota"], events: list[tuple[Event, bool]]
) -> FairShares:
    shares = FairShares(gpus, weights, by=by)
    for (t, user, size, weight), begins in events:
        (shares.arrive if begins else shares.depart)(t, user, size, weight)
    return shares


@given(histories(), st.sampled_from(["demand", "quota"]), st.integers(0, 5))
def test_integrals_are_the_sums_over_unit_steps(history: Any, by: Any, later: int) -> None:
    gpus, weights, events = history
    shares, slow = played(gpus, weights, by, events), Slow(gpus, weights, by, events)
    end = max((event[0] for event, _ in events), default=0) + later
    for user in range(len(weights)):
        assert shares.user_time(user, end) == pytest.approx(float(slow.user_time(user, end)))
    first: dict[tuple[int, int, int], int] = {}
    for (t, *job), _ in events:
        first.setdefault(tuple(job), t)  # type: ignore[arg-type]
    for (user, size, weight), since in first.items():
        wanted = slow.job_time(user, size, weight, since, end)
        assert shares.job_time(user, size, weight, end) == pytest.approx(float(wanted))


@given(histories(), st.sampled_from(["demand", "quota"]), st.data())
def test_looking_changes_nothing(history: Any, by: Any, data: Any) -> None:
    gpus, weights, events = history
    blind = played(gpus, weights, by, events)
    seen = FairShares(gpus, weights, by=by)
    for (t, user, size, weight), begins in events:
        (seen.arrive if begins else seen.depart)(t, user, size, weight)
        seen.share(user)
        seen.user_time(user, t + data.draw(st.integers(0, 3)))
        seen.job_time(user, size, weight, t)
    end = max((event[0] for event, _ in events), default=0) + 7
    for (_, user, size, weight), _ in events:
        assert seen.job_time(user, size, weight, end) == blind.job_time(user, size, weight, end)
        assert seen.user_time(user, end) == blind.user_time(user, end)


def test_order_of_operations_and_kinks_are_those_promised() -> None:
    shares = FairShares(10, [0.1, 0.2, 0.7], by="demand")
    quota = 10 * 0.2 / 1.0
    assert shares.quotas[1] == quota
    shares.arrive(3, 1, 4, 0.3)
    shares.arrive(10, 1, 4, 0.1)
    total = 0.3 + 0.1
    first = 0.0 + quota * 0.3 / 0.3 * 7
    assert shares.job_time(1, 4, 0.3, 13) == first + quota * 0.3 / total * 3
    shares.depart(13, 1, 4, 0.3)
    second = first + quota * 0.3 / total * 3
    assert shares.job_time(1, 4, 0.3, 20) == second + min(4, quota * 0.3 / (total - 0.3)) * 7


def test_a_user_without_jobs_owes_nothing_under_eight_and_its_quota_under_sixteen() -> None:
    for by, wanted in (("demand", [0.0, 2.0, 0.0]), ("quota", [4.0, 4.0, 4.0])):
        shares = FairShares(8, [1, 1], by=by)  # type: ignore[arg-type]
        seen = [shares.share(0)]
        shares.arrive(5, 0, 2)
        seen.append(shares.share(0))
        shares.depart(9, 0, 2)
        seen.append(shares.share(0))
        assert seen == wanted
        assert shares.user_time(0, 20) == (2.0 * 4 if by == "demand" else 4.0 * 20)
        assert shares.job_time(0, 2, 1.0, 20) == 8.0  # min(2, f of (8)) in both


def test_a_single_user_shares_the_cluster_whatever_it_demands() -> None:
    shares = FairShares(6, [3.0], by="demand")
    shares.arrive(0, 0, 1)
    shares.arrive(0, 0, 2)
    assert shares.share(0) == 6.0  # not its demand of 3
    assert shares.job_time(0, 2, 1.0, 10) == 20.0  # min(2, 6 / 2), not 3 / 2
    shares.depart(10, 0, 2)
    shares.depart(10, 0, 1)
    assert shares.share(0) == 0.0


def test_weights_that_do_not_add_up_leave_no_rest() -> None:
    shares = FairShares(4, [1.0, 1.0], by="demand")
    for weight in (0.1, 0.2, 0.3):
        shares.arrive(0, 0, 1, weight)
    for weight in (0.1, 0.2, 0.3):
        shares.depart(1, 0, 1, weight)
    shares.arrive(2, 0, 9, 0.7)
    before = shares.job_time(0, 9, 0.7, 2)
    assert before == 0.0
    assert shares.job_time(0, 9, 0.7, 12) == 2.0 * 0.7 / 0.7 * 10


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.arrive(5, 2, 1), KeyError, "user 2: not one of the 2 users"),
        (lambda s: s.arrive(5, 0, 0), ValueError, "job of user 0: gpus=0 is below 1"),
        (lambda s: s.arrive(5, 0, 1, -1), ValueError, "job of user 0: weight=-1 is not positive"),
        (lambda s: s.arrive(4, 0, 1), ValueError, "user 0: t=4 is before its last change at 5"),
        (lambda s: s.depart(5, 0, 3), ValueError, "gpus=3 and weight=1.0 is active that could"),
        (lambda s: s.depart(5, 1, 2), ValueError, "user 1: no job of gpus=2"),
        (lambda s: s.job_time(0, 3, 1.0, 9), KeyError, "gpus=3 and weight=1.0 has been seen"),
        (lambda s: s.user_time(0, 1), ValueError, "t=1 is before its last change at 5"),
    ],
)
def test_bad_input_is_named(call: Any, error: type[Exception], message: str) -> None:
    shares = FairShares(8, [1, 1], by="demand")
    shares.arrive(5, 0, 2)
    with pytest.raises(error, match=message):
        call(shares)


def test_weights_beyond_floats_are_refused_rather_than_divided_by_zero() -> None:
    shares = FairShares(8, [1, 1], by="demand")
    shares.arrive(0, 0, 1, 1e17)
    shares.arrive(0, 0, 1, 1.0)
    with pytest.raises(ValueError, match="user 0: weights of its jobs differ too much"):
        shares.depart(1, 0, 1, 1e17)
