"""AlloX on several GPU models: each decision is a least matching, and waits where that pays."""

from typing import Any, ClassVar

import pytest

from gangsched.analysis.driving.drive import drive
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.solvers.policies.allox import on_models as allox_models
from gangsched.solvers.policies.allox.policy import Allox
from gangsched.solvers.policies.sjf import Sjf


def two(jobs: list[Job], *parts: tuple[str, int]) -> Instance[Any]:
    return Instance(Cluster([Node(f"n{i}", g, m) for i, (m, g) in enumerate(parts)]), jobs)


def job(id: str, work: int, slow: float = 0.1, **more: Any) -> Job:
    return Job(id=id, work=work, speeds={"k80": slow, "v100": 1}, **{"gpus": 1, **more})


def test_whoever_comes_waits_for_the_fast_gpu_if_that_ends_earlier() -> None:
    """The V100 is free at 60: b would end there at 160 and on the K80 at 1010; c at 40 there."""
    jobs = [job("a", 60), job("b", 100, release=10), job("c", 30, 1.0, release=10)]
    run = drive(two(jobs, ("k80", 1), ("v100", 1)), Allox(), round_length=10)
    assert run.records.end.tolist() == [60, 160, 40]


def test_it_differs_from_the_shortest_job_first() -> None:
    """Which it was on every cluster."""
    instance = two([job("a", 60), job("b", 100)], ("k80", 1), ("v100", 1))
    ends = [drive(instance, p).records.end.sum() for p in (Allox(), Sjf(blocking=False))]
    assert ends[0] < ends[1]


def test_a_gang_is_matched_where_its_nodes_have_a_place() -> None:
    """The gang of two has no place on single V100s, although there are two."""
    jobs = [job("wide", 50, gpus=2), job("one", 50)]
    run = drive(two(jobs, ("v100", 1), ("k80", 2), ("k80", 2)), Allox(), round_length=10)
    assert run.records.end.tolist() == [500, 50]


class Spy(Allox):
    """Keeps which groups there are at each decision, before anybody starts."""

    seen: ClassVar[dict[int, list[tuple[int, int, int]]]] = {}

    def begin(self, cluster: Cluster, users: Any, rules: Any) -> Any:
        session: Any = super().begin(cluster, users, rules)
        held_by = session._held

        def kept(state: Any) -> Any:
            held = held_by(state)
            by = [int(state.free[state.node_model == g].sum()) for g in range(len(state.models))]
            columns = (column.tolist() for column in allox_models._groups(by, held))
            self.seen[state.now] = list(zip(*columns, strict=True))
            return held

        session._held = kept
        return session


def test_groups_are_the_gpus_and_when_they_become_free() -> None:
    """a and b run on the V100s until 61 and 95, in rounds of 10 s; c on K80s until 350."""
    Spy.seen.clear()
    jobs = [job("a", 61), job("b", 95), job("c", 35, gpus=2, pin="k80"), job("d", 9, release=25)]
    drive(two(jobs, ("v100", 2), ("k80", 4)), Spy(), round_length=10)
    assert sorted(Spy.seen[30]) == [(0, 0, 0), (0, 1, 40), (0, 1, 70), (1, 2, 0), (1, 2, 320)]


def test_many_ends_are_few_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are free at the last of them, and no GPU is lost."""
    monkeypatch.setattr(allox_models, "GROUPS", 2)
    Spy.seen.clear()
    jobs = [job(f"a{i}", 100 * i + 100, 1.0) for i in range(4)] + [job("d", 9, 1.0, release=5)]
    drive(two(jobs, ("v100", 5), ("k80", 1)), Spy(), round_length=10)
    assert Spy.seen[10][2:] == [(0, 2, 190), (0, 2, 390)]


def test_a_job_takes_what_a_gang_leaves() -> None:
    """Both are matched with the two V100s, which the gang takes for itself."""
    jobs = [job("wide", 50, gpus=2), job("one", 61, 1.0)]
    run = drive(two(jobs, ("v100", 2), ("k80", 1)), Allox(), round_length=10)
    assert run.records.first.tolist() == [0, 0]


def test_users_behind_are_served_first() -> None:
    """With half of the users, v's long job comes before u's second one on the V100."""
    jobs = [
        job("a", 60, user="u"),
        job("b", 60, user="u", release=1),
        job("c", 300, user="v", release=1),
    ]
    cluster = two(jobs, ("k80", 1), ("v100", 1)).cluster
    instance = Instance(cluster, jobs, [User("u"), User("v")])
    ends = [drive(instance, Allox(alpha=a)).records.end.tolist() for a in (1.0, 0.5)]
    assert ends[0][1] < ends[0][2]
    assert ends[1][2] < ends[1][1]
