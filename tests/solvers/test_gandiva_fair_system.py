"""Gandiva_fair as a whole: no GPUs idle that a gang could have, exploration, packing, its twin."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driven import Case, cases
from few import but, first
from gangsched.analysis.driving.check import violations
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.instances import Cluster, Instance, Job, Node, User
from gangsched.registry import policy
from gangsched.solvers.gandiva_fair.policy import GandivaFair, TicketSharing
from gangsched.solvers.gandiva_fair.stride import effective_tickets
from gangsched.solvers.policy import Rules, Session
from idling import fits_somewhere, idle_while_waiting
from plain_sharing import PlainSharing, best_fit, packed, tickets_by_demand

EXAMPLES = settings().max_examples // 2
LONG = 10**6


class PlainSession(TicketSharing):
    """Decides in plain Python."""

    def sharing(self, *cluster: Any) -> PlainSharing:
        return PlainSharing(*cluster)


class Plain(GandivaFair):
    """Gandiva_fair in plain Python."""

    def begin(self, cluster: Cluster, users: Sequence[User], rules: Rules) -> Session:
        return PlainSession(self, cluster)


def crowd(seed: int, models: int = 3, jobs: int = 40) -> Instance[Job]:
    """More jobs than fit, of three users in groups, on servers of several sizes."""
    rng = np.random.default_rng(seed)
    names = ["k80", "p100", "v100"][:models]
    nodes = [
        Node(f"{name}-{i}", int(rng.choice([1, 2, 4])), model=name)
        for name in names
        for i in range(int(rng.integers(1, 4)))
    ]
    made = []
    for i in range(jobs):
        on = [name for name in names if rng.random() < 0.8] or names[:1]
        made.append(
            Job(
                id=f"j{i}",
                user="uvw"[rng.integers(3)],
                gpus=int(rng.choice([1, 1, 1, 2, 4])),
                work=int(rng.integers(60, 4000)),
                release=int(rng.integers(0, 4000)),
                weight=float(rng.choice([1.0, 1.0, 2.0])),
                speeds={name: float(rng.choice([1.0, 1.25, 2.0, 5.0])) for name in on},
                group=str(rng.integers(2)),
            )
        )
    return Instance(
        Cluster(nodes), made, [User(u, w) for u, w in zip("uvw", (1, 2, 1), strict=True)]
    )


OPTIONS: list[dict[str, Any]] = [
    {},
    {"literal": True, "threshold": 0.0, "migration_gain": 1.0},
    {"trading": False},
    {"threshold": 0.0, "migration_gain": 1.0},
    {"debt_cap": False, "normalised": False},
]


@pytest.mark.parametrize("options", first(2, OPTIONS), ids=str)
@pytest.mark.parametrize("models", but([1, 3], [1, 2, 3]))
def test_machine_code_decides_as_plain_python(models: int, options: dict[str, Any]) -> None:
    for seed in range(4):
        for lease in (60, 300):
            instance = crowd(seed, models)
            rules = {"lease": lease, "overhead": 20}
            compiled, plain = (
                drive(instance, kind(**options), **rules) for kind in (GandivaFair, Plain)
            )
            assert compiled.digest() == plain.digest(), (seed, lease)
            assert len(compiled.schedule) > len(instance.jobs)  # jobs did take turns


@settings(max_examples=EXAMPLES)
@given(case=cases(), literal=st.booleans())
def test_machine_code_decides_as_plain_python_on_any_cluster(case: Case, literal: bool) -> None:
    compiled, plain = (
        drive(case.instance, kind(literal=literal), **case.rules) for kind in (GandivaFair, Plain)
    )
    assert compiled.digest() == plain.digest()


@pytest.mark.parametrize("name", ["gandiva-fair", "gandiva-fair:no-trade"])
def test_no_gpu_idles_that_a_waiting_gang_could_have(name: str) -> None:
    """At every round, whatever the sizes of gangs and servers."""
    for seed in range(12):
        run = drive(crowd(seed), policy(name)[1], lease=300, overhead=20)
        assert violations(run) == []
        assert not idle_while_waiting(run, 60).any(), seed


@pytest.mark.slow
def test_by_the_letter_gpus_idle() -> None:
    """The test above can fail: Algorithm 2 leaves a job where its own server is full."""
    idle = [
        idle_while_waiting(drive(crowd(seed), GandivaFair(literal=True), lease=300), 60).mean()
        for seed in range(12)
    ]
    assert min(idle) >= 0
    assert np.mean(idle) > 0.2


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("fifo", 0.1, 9.0), ("fifo:backfill", 0, 0), ("srtf", 0, 0), ("las", 0, 0),
     ("tiresias-l", 0, 0), ("max-min", 0, 0), ("ltgf", 0, 0)],
)  # fmt: skip
def test_what_idles_under_others(name: str, least: float, most: float) -> None:
    found = [
        idle_while_waiting(drive(crowd(seed), policy(name)[1], lease=300), 300).mean()
        for seed in range(4)
    ]
    assert least <= np.mean(found) <= most


def test_a_look_counts_only_gpus_on_which_the_gang_can_run() -> None:
    nodes = [Node("k", 4, model="k80"), Node("v", 2, model="v100")]
    jobs = [
        Job(id="a", gpus=2, work=1800, speeds={"v100": 1.0}),
        Job(id="b", gpus=2, work=1800, speeds={"v100": 1.0}),
        Job(id="c", gpus=3, work=1800, speeds={"k80": 1.0}),
    ]
    run = drive(Instance(Cluster(nodes), jobs), policy("fifo")[1])
    assert idle_while_waiting(run, 900).tolist() == [4, 4, 0, 0]
    assert fits_somewhere(3, [1, 2], [4, 2]) is False


# --- steps ----------------------------------------------------------------------------------------


def two_models(jobs: list[Job], k80: int = 1, v100: int = 1) -> Instance[Job]:
    """Servers of four GPUs."""
    count = {"k80": k80, "v100": v100}
    nodes = [Node(f"{m}{i}", 4, model=m) for m, n in count.items() for i in range(n)]
    users = [User(user) for user in dict.fromkeys(job.user for job in jobs)]
    return Instance(Cluster(nodes), jobs, users)


def copies(user: str, count: int, fast: float, **more: Any) -> list[Job]:
    return [
        Job(id=f"{user}{i}", user=user, gpus=1, work=LONG, group=user,
            **{"speeds": {"k80": 1.0, "v100": fast}, **more})
        for i in range(count)
    ]  # fmt: skip


def models_over_time(run: Run, job: int) -> list[int]:
    """The node of each segment of a job."""
    return [next(iter(s.gpus)) for s in run.schedule if s.job == job]


def held(run: Run, instance: Instance[Job], since: int) -> list[list[float]]:
    """Mean GPUs of each model, K80 first, that each user holds from then on."""
    found = np.zeros((len(run.users), 2))
    for s in run.schedule:
        for node, gpus in s.gpus.items():
            fast = int(instance.cluster.nodes[node].model == "v100")
            seconds = max(0, s.end - max(since, s.start))
            found[run.records.user[s.job], fast] += gpus * seconds / (run.now - since)
    total: list[list[float]] = found.tolist()
    return total


def test_section_3_4_eight_jobs_of_little_speed_up_spread_over_both_models() -> None:
    """VAE, 1.25: four jobs run on the V100s, four on the K80s."""
    instance = two_models(copies("A", 8, 1.25))
    run = drive(instance, GandivaFair(), lease=60, overhead=0, migration=5, until=60 * 60)
    assert held(run, instance, 1800) == [pytest.approx([4, 4])]
    assert run.records.starts.max() <= 4  # each where it is, and moved at most a few times


def test_section_3_4_eight_jobs_of_large_speed_up_share_the_v100s_and_k80s_do_not_idle() -> None:
    """DCGAN, 5.0: they take turns on the V100s; who waits for its turn runs on a K80."""
    instance = two_models(copies("A", 8, 5.0))
    run = drive(instance, GandivaFair(), lease=60, overhead=0, until=60 * 100)
    assert held(run, instance, 1800) == [pytest.approx([4, 4])]
    literal = drive(instance, GandivaFair(literal=True), lease=60, overhead=0, until=60 * 100)
    done, before = ((LONG - one.records.left).tolist() for one in (run, literal))
    assert min(done) > 1.15 * np.mean(before)  # 2.5 on the V100s half of the time, 1 on K80s
    assert max(done) - min(done) < 0.1 * np.mean(done)


def test_a_job_is_moved_to_a_model_that_is_not_profiled() -> None:
    """Section 3.4: both K80s are busy, but B's share of them is not profiled."""
    jobs = [*copies("A", 12, 5.0), *copies("B", 8, 5.0, release=600)]
    instance = two_models(jobs)
    run = drive(instance, GandivaFair(trading=False), lease=60, overhead=0, until=60 * 60)
    at = [{node for j in range(12, 20) for node in models_over_time(run, j)}]
    assert at == [{0, 1}]


@pytest.mark.parametrize("literal", [False, True])
def test_jobs_that_do_not_fit_in_memory_are_not_moved(literal: bool) -> None:
    """The memory check of Section 3.4: a job goes to models that it names, to no other."""
    instance = two_models(copies("A", 8, 5.0, speeds={"v100": 5.0}))
    run = drive(instance, GandivaFair(literal=literal), lease=60, overhead=0, until=60 * 30)
    assert {node for j in range(8) for node in models_over_time(run, j)} == {1}


def test_who_runs_on_idle_gpus_takes_nothing_from_those_who_own_them() -> None:
    """Section 3.3's example beside crowded servers: nobody loses by what others find idle."""
    rows = [("v", 4), ("u", 1), *[("w", 1)] * 8, ("x", 3)]
    jobs = [Job(id=f"j{i}", user=user, gpus=k, work=LONG) for i, (user, k) in enumerate(rows)]
    instance = Instance(Cluster.of_sizes([4, 4]), jobs, [User(user) for user in "uvwx"])
    got = []
    for literal in (False, True):
        made = GandivaFair(threshold=100.0, literal=literal)
        run = drive(instance, made, lease=60, overhead=0, until=60 * 200)
        got.append([run.records.held[run.records.user == u].sum() / (60 * 200) for u in range(4)])
        assert idle_while_waiting(run, 60).any() == literal
    assert sum(got[0]) > sum(got[1]) + 0.1
    assert all(new > 0.97 * old for new, old in zip(*got, strict=True)), got


def test_new_jobs_are_packed_where_nobody_has_to_wait() -> None:
    """Sections 3.2 and 3.3: small jobs fill one server, and a wide gang finds the other."""
    rows = [("a", 1, 0), ("b", 1, 60), ("c", 2, 120), ("d", 4, 180)]
    jobs = [Job(id=i, gpus=gpus, work=LONG, release=at) for i, gpus, at in rows]
    instance = Instance(Cluster.of_sizes([4, 4]), jobs)
    run = drive(instance, GandivaFair(), lease=900, overhead=0, until=3600)
    assert [models_over_time(run, j) for j in range(4)] == [[0], [0], [0], [1]]
    assert packed(1, [0.75, 0.25], [1, 3], [4, 4]) == (0,)
    assert packed(2, [0.75, 0.25], [1, 1], [4, 4]) == (1,)
    assert packed(6, [1.0, 0.5, 0.2], [0, 0, 0], [4, 4, 4]) == (1, 2)[::-1]


def test_idle_gpus_are_given_best_fit() -> None:
    assert best_fit(1, [4, 2, 1], [4, 4, 4]) == {2: 1}
    assert best_fit(6, [4, 2, 3], [4, 4, 4]) == {0: 4, 1: 2}
    assert best_fit(6, [4, 4, 1], [4, 4, 4]) == {0: 4, 1: 2}
    assert best_fit(8, [4, 2, 4], [4, 4, 4]) == {0: 4, 2: 4}
    assert best_fit(5, [4, 0, 0], [4, 4, 4]) is None
    assert best_fit(4, [2, 3, 2], [2, 4, 2]) == {0: 2, 2: 2}


def test_users_get_what_their_tickets_are_worth_however_gangs_pack() -> None:
    """Two servers, tickets of 1, 2 and 3: more jobs than GPUs, nobody below its share."""
    jobs = [
        Job(id=f"{user}{i}", user=user, gpus=gpus, work=LONG)
        for user, gpus in (("u", 1), ("v", 2), ("w", 1))
        for i in range(12)
    ]
    users = [User("u", 1.0), User("v", 2.0), User("w", 3.0)]
    run = drive(Instance(Cluster.of_sizes([4, 4]), jobs, users), GandivaFair(), lease=60,
                overhead=0, until=60 * 400)  # fmt: skip
    gpus = [run.records.held[run.records.user == u].sum() / (400 * 60) for u in range(3)]
    assert sum(gpus) == pytest.approx(8)
    assert gpus == pytest.approx([8 / 6, 16 / 6, 4], rel=0.08)


@settings(max_examples=EXAMPLES)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.floats(0.1, 9)), min_size=1, max_size=8),
    st.integers(1, 30),
)
def test_tickets_are_those_of_the_weight_readjustment(
    users: list[tuple[int, float]], gpus: int
) -> None:
    demand, tickets = np.array([u[0] for u in users]), np.array([u[1] for u in users])
    found = tickets_by_demand(tickets, demand, float(gpus))
    there = demand > 0
    assert not found[~there].any()
    if there.any():
        meant = effective_tickets(tickets[there], demand[there], gpus)
        assert found[there].tolist() == pytest.approx(meant.tolist())


def test_the_literal_switch_is_a_truth_value() -> None:
    with pytest.raises(TypeError, match="gandiva-fair: literal=1 is not True or False"):
        GandivaFair(literal=1)  # type: ignore[arg-type]
    assert replace(GandivaFair(), literal=True) == policy("gandiva-fair:literal")[1]
