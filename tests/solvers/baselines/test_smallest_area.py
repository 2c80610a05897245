import numpy as np
import pytest

from crowds import crowd
from few import each_seed
from gangsched.instances import Cluster, Instance, Job, Node
from gangsched.solvers import SmallestArea
from gangsched.solvers.placement import place
from gangsched.solvers.policy import Decision, State
from reference_driver import drive

EVEN = (1, 1, 2, 2, 4, 8)


class AllPlaced(SmallestArea):
    """Fails where somebody who is selected has found no place."""

    rule = None  # type: ignore[assignment]

    def decide(self, state: State) -> Decision:
        assert (state.blocked[state.waiting] < 0).all()
        jobs = state.candidates
        area = state.remaining(jobs) * state.gpus[jobs]
        order = jobs[np.lexsort((state.rank[jobs], area))]
        room = int(state.sizes.sum())
        if state.now == self.decided + state.rules.round_length:  # nobody has come or gone since
            selected = []
            for j in order.tolist():
                if state.gpus[j] <= room:
                    selected.append(j)
                    room -= int(state.gpus[j])
            if self.jobs == set(order.tolist()):
                assert sorted(selected) == sorted(state.running.tolist())
        object.__setattr__(self, "jobs", set(order.tolist()))
        object.__setattr__(self, "decided", state.now)
        return super().decide(state)

    decided = -1
    jobs: frozenset[int] = frozenset()


@each_seed(range(6))
def test_powers_of_two_always_find_their_nodes(seed: int) -> None:
    instance = crowd(seed, [(8, 8, 8), (4,) * 6, (2, 2, 2, 2)][seed % 3], 25, gangs=EVEN)
    drive(instance, AllPlaced(), skip=False, overhead=[0, 25][seed % 2])


def test_a_running_job_is_not_moved_out_of_the_cluster() -> None:
    """6 and 5 fill both nodes; the smaller area of 4 fits by count only, and waits."""
    jobs = [Job(id="a", gpus=6, work=600), Job(id="b", gpus=5, work=600)]
    jobs += [Job(id="c", gpus=4, work=60, release=60), Job(id="d", gpus=2, work=2000, release=60)]
    run = drive(Instance(Cluster.of_sizes([8, 8]), jobs), SmallestArea(), overhead=0)
    assert run.records.first.tolist() == [0, 0, 600, 60]
    assert run.records.starts.tolist() == [1, 1, 1, 1]


def test_after_the_patience_it_takes_the_place_of_those_behind_it() -> None:
    jobs = [Job(id="a", gpus=6, work=600), Job(id="b", gpus=5, work=600)]
    jobs += [Job(id="c", gpus=4, work=60, release=60)]
    cluster = Cluster.of_sizes([8, 8])
    run = drive(Instance(cluster, jobs), SmallestArea(), overhead=0, patience=120)
    assert run.records.first.tolist() == [0, 0, 180]
    assert run.records.end.tolist() == [660, 600, 240]


def test_a_gang_takes_the_node_where_the_fewest_gpus_are_wanted() -> None:
    free, sizes = [8, 8, 8], [8, 8, 8]
    assert place(8, free, sizes, wanted=[4, 2, 3]) == {1: 8}
    assert place(16, free, sizes, wanted=[4, 2, 3]) == {1: 8, 2: 8}
    assert place(4, free, sizes, wanted=[5, 3, 4]) == {2: 4}  # nothing is left of it
    assert place(4, free, sizes, wanted=[7, 6, 5]) == {2: 4}
    assert place(4, [8, 3, 8], sizes, wanted=[7, 0, 5]) == {2: 4}
    assert place(12, free, sizes, wanted=[1, 0, 4]) == {1: 8, 2: 4}


# --- the guard ------------------------------------------------------------------------------------


def stream(wide: int) -> Instance[Job]:
    """Gangs of both GPUs, and narrow jobs of less area for 100 minutes."""
    jobs = [Job(id=f"wide{i}", gpus=2, work=90, release=60 * i) for i in range(wide)]
    jobs += [Job(id=f"n{i}", gpus=1, work=60, release=60 * i) for i in range(100)]
    return Instance(Cluster.of_sizes([2]), jobs)


def test_a_guard_ends_the_wait_of_a_wide_gang() -> None:
    without, guarded = (drive(stream(1), SmallestArea(guard=g), overhead=0) for g in (None, 600))
    assert without.records.first[0] == 6_000
    assert (guarded.records.first[0], guarded.records.end[0]) == (600, 690)


def test_one_overdue_job_at_a_time_comes_first() -> None:
    """Both are overdue at 660; the second one waits for the end of the first, and a round."""
    run = drive(stream(2), SmallestArea(guard=600), overhead=0)
    assert run.records.first[:2].tolist() == [600, 720]
    assert run.records.end[:2].tolist() == [690, 810]


def test_nobody_waits_longer_than_the_guard_and_those_before() -> None:
    """Of what was overdue when it was, everything that came before it, and itself."""
    for seed in range(20):
        instance = crowd(seed, (4, 4), 25, gangs=EVEN)
        run = drive(instance, SmallestArea(guard=300), overhead=0, round_length=1)
        waits = run.records.end - run.records.release - run.records.work
        order = np.argsort(run.records.release, kind="stable")
        assert (waits[order] <= 300 + np.cumsum(run.records.work[order])).all()


def test_a_guard_is_a_time_that_can_be_driven() -> None:
    """Machine code would take more for less than nothing, so that all are overdue."""
    with pytest.raises(ValueError, match=r"smallest-area: guard=1099511627777 is above"):
        SmallestArea(guard=2**40 + 1)
    instance = stream(2)
    assert (
        drive(instance, SmallestArea(guard=2**40)).records
        == drive(instance, SmallestArea(guard=2**40), engine="reference").records
    )


def test_a_guard_needs_one_model() -> None:
    cluster = Cluster([Node("a", 1, "x"), Node("b", 1, "y")])
    with pytest.raises(ValueError, match="takes all GPUs for equal"):
        drive(Instance(cluster, [Job(id="a", gpus=1, work=60)]), SmallestArea(guard=60))
