"""Chronus: admission against brute force, leases, the profiler, and nodes."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driven import dated as job
from gangsched.analysis.driving.drive import drive
from gangsched.analysis.driving.run import Run
from gangsched.formulations.unisched.leases import Terms
from gangsched.instances import Cluster, DeadlineJob, Instance, TargetMetric
from gangsched.solvers.information import Profiler
from gangsched.solvers.unisched.chronus import (
    Admission,
    Candidate,
    Chronus,
    admit,
    rounded_up,
)
from gangsched.solvers.unisched.estimator import DurationEstimates


def run_of(policy: Chronus, sizes: Sequence[int], *jobs: DeadlineJob, overhead: int = 20) -> Run:
    """The run on a few nodes."""
    return drive(Instance(Cluster.of_sizes(sizes), jobs), policy, overhead=overhead)


def plain(**more: Any) -> Chronus:
    """Without a profiler."""
    return Chronus(profilers=0, **more)


# --- admission -----------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 2), st.sampled_from([100, 80, 50])),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 2),
)
def test_of_single_gpus_the_largest_value_is_accepted(
    rows: list[tuple[int, int, int]], gpus: int
) -> None:
    """Against all sets: one whose leases, by deadline, never need more than there are."""
    terms = [Terms(needed, needed + slack) for needed, slack, _ in rows]
    candidates = [
        Candidate(j, 1, [own], [value], False)
        for j, (own, (_, _, value)) in enumerate(zip(terms, rows, strict=True))
    ]

    def fits(taken: tuple[int, ...]) -> bool:
        """Leases by t: what the first t can hold of each job that must be done by then."""
        own = [t for t, yes in zip(terms, taken, strict=True) if yes]
        return all(
            sum(max(0, t.needed - max(0, t.within - k)) for t in own) <= gpus * k
            for k in range(1, 6)
        )

    every = [taken for taken in product((0, 1), repeat=len(rows)) if fits(taken)]
    best = max(sum(v * yes for (_, _, v), yes in zip(rows, z, strict=True)) for z in every)
    found = admit(candidates, gpus)
    assert sum(rows[j][2] for j in found.accepted) <= best
    if gpus == 1:  # packing by deadline finds room for whatever fits one GPU
        assert sum(rows[j][2] for j in found.accepted) == best


def test_a_soft_deadline_makes_room() -> None:
    soft = Candidate(0, 1, [Terms(1, 1), Terms(1, 2)], [100, 80], False)
    strict = Candidate(1, 1, [Terms(1, 1)], [100], False)
    assert admit([soft, strict], 1) == Admission(frozenset({0, 1}), [1])


def test_an_accepted_job_is_kept_whatever_others_are_worth() -> None:
    kept = Candidate(0, 1, [Terms(1, 1)], [20], True)
    others = [Candidate(j, 1, [Terms(1, 1)], [100], False) for j in (1, 2)]
    assert admit([kept, *others], 1) == Admission(frozenset({0}), [0])


def test_accepted_jobs_that_cannot_all_be_in_time_share_what_there_is() -> None:
    kept = [Candidate(j, 1, [Terms(2, 2)], [100], True) for j in (0, 1)]
    assert admit(kept, 1) == Admission(frozenset({0, 1}), [0])


def test_nobody_to_admit() -> None:
    assert admit([], 4) == Admission(frozenset(), [])


@pytest.mark.parametrize(("gpus", "size", "rounded"), [(5, 8, 8), (3, 6, 4), (5, 6, 6), (9, 4, 12)])
def test_gangs_are_rounded_up(gpus: int, size: int, rounded: int) -> None:
    assert rounded_up(gpus, size) == rounded


# --- runs ----------------------------------------------------------------------------------------


def test_six_gpus_count_as_eight() -> None:
    """Two of three are accepted on two nodes, though the third could be split."""
    jobs = [job(f"j{i}", 6, 600, 700) for i in range(3)]
    assert sorted(run_of(plain(), [8, 8], *jobs).records.end.tolist()) == [600, 600, 1200]


def test_a_refused_job_is_best_effort_for_good() -> None:
    """At 600 it could be in time again, for the first was done early; a shorter one goes first."""
    first = DeadlineJob(
        id="a",
        gpus=1,
        work=600,
        rewards=[(1200, 200.0)],
        stopping=TargetMetric(target=0.9, max_epochs=2, curve=[0.95]),
    )
    jobs = [first, job("b", 1, 600, 1200), job("c", 1, 300)]
    assert run_of(plain(), [1], *jobs).records.end.tolist() == [600, 1500, 900]
    known = plain(estimates=DurationEstimates(mode="true"))
    assert run_of(known, [1], *jobs).records.end.tolist() == [600, 1200, 1500]


def test_a_job_that_no_first_deadline_fits_is_admitted_to_its_second() -> None:
    soft = DeadlineJob(id="b", gpus=1, work=600, rewards=[(600, 90), (1260, 20)])
    jobs = [job("a", 1, 600, 600), soft, job("c", 1, 300)]
    assert run_of(plain(), [1], *jobs).records.end.tolist() == [600, 1200, 1500]


def test_best_effort_jobs_are_chosen_anew_every_five_minutes() -> None:
    run = run_of(plain(), [1], job("long", 1, 900), job("short", 1, 60, release=60))
    assert run.records.first.tolist() == [0, 300]
    assert run.records.end.tolist() == [600 + 20 + 600, 360]


def test_jobs_with_deadlines_are_decided_on_every_ten_minutes() -> None:
    """In between they wait, though a GPU is idle; running ones keep theirs."""
    run = run_of(plain(), [2], job("a", 1, 900, 1800), job("b", 1, 60, 3000, release=200))
    assert run.records.first.tolist() == [0, 600]
    run = run_of(plain(lease=1200), [2], job("a", 1, 900, 1800), job("b", 1, 60, 3000, release=200))
    assert run.records.first.tolist() == [0, 1200]


def test_the_profiler_comes_first_and_has_nodes_of_its_own() -> None:
    """Two of five nodes of 8 fit 16 GPUs, but a quarter of 40 is one of them."""
    jobs = [job(f"j{i}", 4, 600) for i in range(3)]
    slow = Chronus(profiler=Profiler(seconds=300, gpus=None))
    run = run_of(slow, [8] * 5, *jobs)
    assert run.records.end.tolist() == [900, 900, 1200]
    assert run.schedule[0].gpus == {4: 4}
    assert run_of(plain(), [8] * 5, *jobs).records.end.tolist() == [600, 600, 600]


def test_a_job_is_profiled_for_30_s_a_gpu_at_most_120_in_any_round() -> None:
    """On one node of 8: 8 GPUs for 120 s, then 1 for 30 beside 2 for 60, and again at 450."""
    jobs = [job("wide", 8, 600), job("one", 1, 600, release=10), job("two", 2, 600, release=10)]
    jobs.append(job("late", 4, 600, release=450))
    run = drive(Instance(Cluster.of_sizes([8] * 5), jobs), Chronus(), round_length=30)
    book = run.records
    assert run.schedule.start[run.schedule.end <= 600].tolist() == [0, 120, 120, 450]
    assert run.schedule.end[run.schedule.end <= 600].tolist() == [120, 150, 180, 570]
    assert book.first.tolist() == [0, 120, 120, 450]
    assert book.end.tolist() == [900, 900, 900, 1200]  # known at the next lease of 300 s


def test_a_gang_that_needs_the_profilers_nodes_gets_them() -> None:
    run = run_of(Chronus(), [8] * 4, job("all", 32, 600), job("thin", 1, 60, release=100))
    assert run.records.finished.all()


def test_a_gang_that_fits_beside_the_profilers_nodes_waits_for_the_others() -> None:
    """Four of five nodes of 8 are the widest place; one of them is taken up to 900."""
    run = run_of(Chronus(), [8] * 5, job("thin", 1, 600), job("wide", 32, 3000))
    assert run.records.end.tolist() == [900, 3900]
    wider = run_of(Chronus(), [8] * 5, job("thin", 1, 600), job("wider", 33, 3000))
    assert wider.records.end.tolist() == [900, 3300]


def test_a_best_effort_job_moves_for_one_with_a_deadline() -> None:
    """The gang of 2 needs a whole node; the job that has half of it goes elsewhere."""
    jobs = [job("a", 1, 1200), job("b", 1, 60), job("c", 2, 600, 700, release=600)]
    run = run_of(plain(), [2, 2], *jobs)
    assert run.records.end.tolist()[2] == 1200
    jobs = [job("a", 1, 1200), job("b", 2, 1200), job("c", 2, 600, 700, release=600)]
    assert run_of(plain(), [2, 2], *jobs).records.end.tolist()[2] == 1200


def test_wide_best_effort_gangs_starve() -> None:
    stream = [job(f"j{i}", 1, 300, release=300 * i) for i in range(30)]
    run = run_of(plain(), [2], job("wide", 2, 600), *stream)
    assert run.records.first[0] == 30 * 300


def test_another_admission_can_take_its_place() -> None:
    class Nobody(Chronus):
        def admit(self, candidates: Sequence[Candidate], gpus: int) -> Admission:
            return Admission(frozenset(), [])

    jobs = [job("any", 1, 60), job("due", 1, 600, 600)]
    assert run_of(Nobody(profilers=0), [1], *jobs).records.end.tolist() == [60, 900]
    assert run_of(plain(), [1], *jobs).records.end.tolist() == [660, 600]
