"""The worst user in a replay: what is measured, bounded and shown, and of whom."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import gangsched as gs
from crowds import crowd
from driven import due
from gangsched.analysis.comparing.measures import MEASURES, SHARING, MeasuredJobs
from gangsched.analysis.comparing.replay import replay
from gangsched.analysis.comparing.sharing import SharingBounds
from gangsched.analysis.proofs.verify import verify_bound
from gangsched.analysis.show.replay_tables import tables
from gangsched.formulations import SharingIncentive
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Fifo, IsolationArea, SmallestArea

POLICIES: dict[str, Any] = {"fifo": Fifo(), "area": SmallestArea(), "alone": IsolationArea()}


def of_users(weights: tuple[float, ...] = (1.0, 2.0, 1.0), jobs: int = 60) -> Instance[Job]:
    users = [User(f"u{k}", weight) for k, weight in enumerate(weights)]
    span = {"work": (30, 900), "release": (0, 6000)}
    return crowd(3, jobs=jobs, gangs=(1, 2, 4, 8), users=users, **span)


@pytest.mark.parametrize("effort", ["quick", "standard"])
def test_what_is_measured_is_bounded(effort: Any) -> None:
    instance = of_users()
    found = replay(instance, POLICIES, effort=effort)
    assert set(found.sharing.bounds) == {"sharing", "wait", "stretch"}
    for name, bound in found.sharing.bounds.items():
        problem = SharingIncentive(instance, name)  # type: ignore[arg-type]
        verify_bound(problem, bound)
        for row in found.rows:
            flows = problem.flows_of(row.run.records.end.tolist())
            assert row.values[f"user_{name}"] == float(max(problem.ratios(flows).values()))
            assert row.values[f"user_{name}"] >= bound.value
        if effort == "standard":
            assert found.sharing.known[name] >= bound.value
    text = "\n".join(map(str, tables(found, every=True)))
    assert ("best known" in text.split("user stretch")[1]) == (effort == "standard")
    assert found.to_dict()["users"]["wait"]["value"] == found.sharing.bounds["wait"].value
    assert found.to_dict()["rows"][0]["alone"] == dict(found.rows[0].alone)


@pytest.mark.parametrize("effort", ["quick", "standard", "full"])
def test_a_word_of_effort_means_the_same_as_for_a_bound(effort: Any) -> None:
    """Of every measure; and what contains less effort is no weaker for leaving that out."""
    rows = [replace(job, weight=1 + k % 3) for k, job in enumerate(of_users(jobs=7).jobs)]
    deadlines = [due(job, rewards=[(900 + (job.work or 0), 5)]) for job in rows]
    shown = set()
    for jobs in (rows, deadlines):
        instance = replace(of_users(), jobs=tuple(jobs))
        found = replay(instance, {"fifo": Fifo()}, effort=effort)
        able = MeasuredJobs(instance)
        for measure in (*MEASURES, *SHARING):
            bound = {**found.bounds, **found.sharing.bounds}.get(measure.name)
            if bound is not None:
                problem = measure.problem(able)
                limit = 1e6 if len(shown) % 2 else None  # which is never reached
                assert bound.value == gs.bound(problem, effort, time_limit=limit).value
                shown.add(measure.name)
    assert shown == {one.name for one in (*MEASURES, *SHARING)} - {"elastic reward", "revenue"}


def test_jobs_as_soon_as_alone_and_who_is_not() -> None:
    jobs = [
        Job(id="a", gpus=2, work=600, user="u"),
        Job(id="b", gpus=1, work=600, user="v"),
        Job(id="c", gpus=1, work=600, user="w", release=60),
    ]
    users = [User("u", 2.0), User("v"), User("w")]  # 1, 1/2 and 1/2 GPU
    found = replay(Instance(Cluster.of_sizes([2]), jobs, users), {"fifo": Fifo()})
    alone = found.rows[0].alone  # 600 of 1,200; 1,200 of 1,200; 1,140 of 1,200
    assert alone["user_sharing"] == 1
    assert alone["worse_off"] == "nobody"
    assert alone["in_time_alone"] == 1
    more = [*jobs, Job(id="d", gpus=2, work=700, user="u", release=1)]
    found = replay(Instance(Cluster.of_sizes([2]), more, users), {"fifo": Fifo()})
    alone = found.rows[0].alone  # c waits for d, until the round at 1,920, and takes 2,460
    assert found.rows[0].run.records.end.tolist() == [600, 1200, 2520, 1900]
    assert alone["user_sharing"] == float(Fraction(2460, 1200))
    assert alone["worse_off"] == "1: w"
    assert alone["in_time_alone"] == 0.75


def test_users_of_many_jobs_stand_apart_where_quotas_are_equal() -> None:
    instance = of_users((1.0, 1.0), 230)
    found = replay(instance, {"fifo": Fifo()})
    assert "sharing ratio of large users" in str(tables(found, every=True)[-1])
    alone = found.rows[0].alone
    sizes = {u: len(jobs) for u, jobs in SharingIncentive(instance).members.items()}
    assert min(sizes.values()) >= 100
    assert alone["user_wait_large"] == alone["user_wait"]
    assert "large users" not in str(replay(of_users(), {"fifo": Fifo()}))


def test_nothing_is_said_of_one_user_or_unequal_gpus() -> None:
    instance = of_users((1.0,))
    found = replay(instance, {"fifo": Fifo()})
    assert found.sharing == SharingBounds()
    assert "user stretch" not in str(found)
    assert found.to_dict()["users"] == {}
    assert found.rows[0].alone == {}
