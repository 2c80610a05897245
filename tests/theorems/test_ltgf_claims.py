"""Ye et al. 2022: claims on LTGF that hold as properties, refuted ones on their counterexamples.

What is true of the small cases (optima, fairness after a round, who is starved) is worked out here
by other means than in the package.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairest import fairest
from gangsched.analysis.driving.drive import PolicyError
from gangsched.analysis.driving.run import Run
from gangsched.analysis.papers.claim import Sides
from gangsched.analysis.papers.ltgf import tiny
from gangsched.analysis.papers.ltgf.claims import LTGF, Burst, Owner
from gangsched.formulations.ltgf.fluid import LtgfFluid
from gangsched.formulations.ltgf.problem import Ltgf
from gangsched.formulations.ltgf.round import LtgfRound
from gangsched.instances import Cluster, Instance, Job, User
from gangsched.solvers import Fifo, Las, Sjf, Srtf, Themis, ThemisGreedy, TiresiasL, YarnCs
from gangsched.solvers.ltgf.fluid_sharing import fluid_sharing
from gangsched.solvers.ltgf.policy import LtgfPolicy, PrintedLtgf
from gangsched.solvers.policies.allox.policy import Allox
from gangsched.solvers.policies.gavel.finish_time_fairness import FinishTimeFairness
from gangsched.solvers.policies.gavel.max_min_fairness import MaxMinFairness
from gangsched.solvers.policy import Decision, Policy, Preempts, State
from reference_driver import drive

CLAIMS = {claim.id: claim for claim in LTGF}
HOUR = 3_600


def sides(claim: str, name: str) -> tuple[Any, Any]:
    found = CLAIMS[claim].check(CLAIMS[claim].counterexamples[name]())
    assert isinstance(found, Sides)
    return found.left, found.right


# --- one round -----------------------------------------------------------------------------------


@st.composite
def rounds(draw: st.DrawFn) -> tiny.OneUser:
    """Up to six jobs with any history; shrinks to one that has got nothing."""
    gpus = draw(st.integers(1, 7))
    row = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 6), st.integers(1, gpus))
    jobs = draw(st.lists(row, min_size=1, max_size=6))
    made = [tiny.RoundJob(Fraction(a), Fraction(f), Fraction(s, 2), g) for a, f, s, g in jobs]
    return tiny.OneUser(gpus, draw(st.integers(1, 5)), tuple(made))


def outcomes(case: tiny.OneUser) -> dict[tuple[int, ...], list[Fraction]]:
    """Sorted fairness after each selection that fits, written from the definitions."""
    found = {}
    for size in range(len(case.jobs) + 1):
        for chosen in combinations(range(len(case.jobs)), size):
            if sum(case.jobs[i].gpus for i in chosen) <= case.gpus:
                found[chosen] = sorted(
                    (job.attained + (job.gpus * case.lease if i in chosen else 0))
                    / (job.fair + case.lease * job.share)
                    for i, job in enumerate(case.jobs)
                )
    return found


@given(rounds())
def test_rho_minus_is_leximin_optimal_or_has_ties(case: tiny.OneUser) -> None:
    every = outcomes(case)
    mine = every[case.greedy(case.missed)]
    best = max(every.values())
    if len(set(case.missed)) == len(case.jobs):
        assert mine == best
    assert mine[0] == best[0]
    assert mine.count(best[0]) == min(v.count(best[0]) for v in every.values() if v[0] == best[0])


def test_with_ties_rho_minus_need_not_be_leximin_optimal() -> None:
    new = [tiny.RoundJob(Fraction(0), Fraction(0), Fraction(1), gang) for gang in (1, 2)]
    case = tiny.OneUser(2, 1, tuple(new))
    assert outcomes(case) == {(): [0, 0], (0,): [0, 1], (1,): [0, 2]}
    assert case.greedy(case.missed) == (0,)
    assert sides("rho-minus-ties-leximin", "1 or 2 of 2 GPUs") == (2, 1)


def test_the_job_that_is_behind_now_is_not_the_one_that_will_be() -> None:
    assert sides("algorithm-2", "old and new") == (Fraction(50, 101), Fraction(3, 10))


def test_the_user_that_is_behind_gets_the_wrong_job() -> None:
    """Both users are owed 2: 3/2 and 1/2 with the first job of the second user, else 1 and 1."""
    problem = CLAIMS["two-phase"].counterexamples["1, then 2 of 2 GPUs"]()
    assert isinstance(problem, LtgfRound)
    assert problem.fairness(tiny.two_phase(problem)) == (Fraction(3, 2), Fraction(1, 2))
    assert problem.fairness((2,)) == (1, 1)
    assert sides("two-phase", "1, then 2 of 2 GPUs") == (1, Fraction(1, 2))


# --- lives ---------------------------------------------------------------------------------------


def test_two_jobs_of_one_round_can_be_in_the_wrong_order() -> None:
    """The wide one first: the other has waited for 1 of 1 GPU-round when it starts."""
    instance = tiny.alone(2, [2, 1], [1, 1])
    assert tiny.lives(instance) == [2, Fraction(1, 2)]
    assert fairest(Ltgf(instance), 4) == tiny.fairest_lives(instance) == Fraction(2, 3)
    assert sides("two-phase-lives", "2 + 1 on 2") == (Fraction(2, 3), Fraction(1, 2))


def test_no_case_of_two_phase_lives_is_smaller() -> None:
    """On one GPU, or with one job, LTGF cannot be wrong: nothing of fewer GPU-rounds breaks it."""
    for gpus, gangs in ((1, (1, 1)), (2, (1, 1)), (2, (2,)), (2, (2, 2))):
        for works in product(range(1, 3), repeat=len(gangs)):
            instance = tiny.alone(gpus, gangs, works)
            if sum(works) <= 2:
                assert min(tiny.lives(instance)) == fairest(Ltgf(instance), sum(works) + 1)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("1 + 4 on 4, for ever", Fraction(2, 3)),  # 1 + 2 / 4 of the time are needed
        ("3 + 3 on 4, for ever", Fraction(3, 4)),  # 2 / 3 + 2 / 3
        ("3 + 3 on 4, of two users", Fraction(3, 4)),
    ],
)
def test_gangs_that_stay_cannot_all_be_treated_fairly(name: str, best: Fraction) -> None:
    case = CLAIMS["sharing-incentive"].counterexamples[name]()
    assert isinstance(case, LtgfFluid)
    assert 1 / sum(Fraction(s) / g for s, g in zip(case.shares, case.gangs, strict=True)) == best
    assert sides("sharing-incentive", name)[1] == pytest.approx(float(best), abs=1e-9)


@pytest.mark.parametrize(("gangs", "best"), [([3, 3], Fraction(12, 17)), ([4, 4], Fraction(8, 9))])
def test_jobs_of_four_rounds_cannot_either(gangs: list[int], best: Fraction) -> None:
    instance = tiny.alone(4, gangs, [4, 4])
    assert fairest(Ltgf(instance), 9) == tiny.fairest_lives(instance) == best


# --- line 17 -------------------------------------------------------------------------------------


def loops(instance: Instance[Job]) -> bool:
    try:
        drive(instance, PrintedLtgf(), until=0, engine="reference")
    except PolicyError as error:
        return "line 17 has removed every user" in str(error)
    return False


def test_the_smallest_endless_loop_is_1_2_1_on_two_gpus() -> None:
    """With one user, in the order of arrival; and nothing smaller loops."""
    found = [
        (gpus, gangs)
        for gpus in (1, 2)
        for jobs in (1, 2, 3)
        for gangs in product(range(1, gpus + 1), repeat=jobs)
        if loops(tiny.alone(gpus, gangs, [1] * jobs))
    ]
    assert found == [(2, (1, 2, 1))]


def test_line_17_leaves_a_gpu_idle_though_a_job_fits() -> None:
    instance = tiny.alone(2, [1, 2, 1], [2, 1, 1])
    assert tiny.in_rounds(instance, PrintedLtgf(stuck="end")).records.end.tolist() == [3, 2, 3]
    assert tiny.in_rounds(instance, LtgfPolicy()).records.end.tolist() == [3, 2, 1]
    printed, repaired = sides("line-17-slowdown", "1, 2, 1 on 2")
    assert (printed, repaired) == (Fraction(13, 6), Fraction(3, 2))  # (3/2 + 2 + 3) / 3


def test_the_printed_algorithm_says_where_it_would_loop() -> None:
    with pytest.raises(
        PolicyError, match=r"'printed-ltgf' at 0: NeverEnds: line 4 still finds job"
    ):
        drive(tiny.alone(2, [1, 2, 1], [1, 1, 1]), PrintedLtgf())


# --- Fig. 6 --------------------------------------------------------------------------------------

FIGURE_6 = tiny.alone(6, [6, 3, 3], [4, 4, 4])  # rounds of 10 minutes


def who_runs(run: Run) -> list[str]:
    """The jobs of each round, by number."""
    rounds = range(max(segment.end for segment in run.schedule))
    return ["".join(str(s.job + 1) for s in run.schedule if s.start <= t < s.end) for t in rounds]


def rho_of(ends: list[int]) -> list[Fraction]:
    """24, 12 and 12 GPU-rounds over the sum of min(D, 6 / n) of all rounds up to the end."""
    found = []
    for gang, end in zip((6, 3, 3), ends, strict=True):
        n = [sum(t < other for other in ends) for t in range(end)]
        found.append(Fraction(4 * gang) / sum(min(Fraction(gang), Fraction(6, k)) for k in n))
    return found


def test_figure_6_a_is_fluid_sharing() -> None:
    """2 GPUs each; then the first has 24 - 12 left for 6 GPUs."""
    assert fluid_sharing(FIGURE_6).end == (8, 6, 6)


def test_figure_6_b_is_what_finish_time_fairness_does_greedily() -> None:
    run = tiny.in_rounds(FIGURE_6, ThemisGreedy())
    assert who_runs(run) == ["1", "23"] * 4
    ends = run.records.end.tolist()
    assert ends == [7, 8, 8]
    assert [Fraction(end, 12) for end in ends] == [Fraction(7, 12), Fraction(2, 3), Fraction(2, 3)]
    assert rho_of(ends) == [Fraction(12, 7), Fraction(12, 17), Fraction(12, 17)]
    assert Ltgf(FIGURE_6).rho(run.schedule) == rho_of(ends)


def test_figure_6_c_is_ltgf() -> None:
    run = tiny.in_rounds(FIGURE_6, LtgfPolicy())
    assert who_runs(run) == ["1", "23", "23", "1", "23", "23", "1", "1"]
    ends = run.records.end.tolist()
    assert ends == [8, 6, 6]
    assert [Fraction(end, 12) for end in ends] == [Fraction(2, 3), Fraction(1, 2), Fraction(1, 2)]
    assert rho_of(ends) == Ltgf(FIGURE_6).rho(run.schedule) == [1, 1, 1]
    assert fairest(Ltgf(FIGURE_6), 9) == 1


def test_figure_6_b_is_not_the_least_unfair_by_finish_time() -> None:
    """Its largest value is that of (c), its second largest is not."""
    assert sides("figure-6b", "Fig. 6") == (Fraction(2, 3), Fraction(1, 2))


# --- (8) or (16) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("idle", [1, 3, 5])
def test_with_quotas_who_worked_gets_nothing_for_as_long_as_it_was_alone(idle: int) -> None:
    got = Burst(8, idle, 2 * idle).got(LtgfPolicy(fair_share="quota"))
    assert got[: idle + 1] == [0] * (idle + 1)
    assert got[-1] == 4 * idle  # and its half from then on


def test_with_demands_it_keeps_two_thirds_over_as_long() -> None:
    """8 u^2 / (3 + 2 u): 8/5, 32/7, 8 = 2/3 of 12."""
    got = Burst(8, 3, 3).got(LtgfPolicy())
    assert got[3] == 8
    assert [abs(g - i) < 1 for g, i in zip(got[1:], (1.6, 32 / 7, 8), strict=True)] == [True] * 3
    assert sides("quota-window", "M = 8, H = 3") == (Fraction(2, 3), 0)


@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 9))
@settings(max_examples=15)
def test_with_demands_the_window_is_fair_in_the_end(gpus: int, idle: int, rounds: int) -> None:
    got = Burst(gpus, idle, rounds).got(LtgfPolicy())[-1]
    assert abs(got - Fraction(gpus * rounds**2, idle + 2 * rounds)) < 1


# --- split-proof, claim-proof --------------------------------------------------------------------


def test_a_job_in_two_parts_gets_two_shares_and_two_thirds_of_the_cluster() -> None:
    split = Owner(2, 2, (2,), (1, 1))
    assert split.got(LtgfPolicy(), honest=True) == 60
    assert split.got(LtgfPolicy(), honest=False) == 80
    assert sides("split-jobs", "2 -> 1 + 1 on 2") == (Fraction(4, 3), 1)


def test_of_two_users_neither_gains_but_by_filling_gaps() -> None:
    """3 and 3 on 4 get 90 of 240 each; 1 + 1 + 1 for the first run beside the second, too."""
    whole = tiny.shared(4, [(0, 3, 10**6, 0), (1, 3, 10**6, 0)], users=2)
    split = tiny.shared(4, [(0, 1, 10**6, 0)] * 3 + [(1, 3, 10**6, 0)], users=2)
    apart = tiny.in_rounds(whole, LtgfPolicy(), until=60).records.held.tolist()
    parts = tiny.in_rounds(split, LtgfPolicy(), until=60).records.held.tolist()
    assert apart == [90, 90]
    assert sum(parts[:3]) == pytest.approx(parts[3], abs=3)
    assert parts[3] > 90  # the other user gains as well


def test_claiming_the_cluster_pays_under_finish_time_fairness_and_not_in_figure_6_under_ltgf() -> (
    None
):
    """Three jobs of 3 GPUs on 6 have 2 each; one of them asks for 6."""
    claim = Owner(6, 3, (3, 3), (6,))
    for policy, got in ((ThemisGreedy(), 3 * 60), (LtgfPolicy(), 2 * 60)):
        assert claim.got(policy, honest=True) == 2 * 60
        assert claim.got(policy, honest=False) == got


def test_claiming_idle_gpus_pays_under_ltgf_too() -> None:
    """3 and 3 on 4 take turns: 1.5 GPUs each. 4 and 3 with equal GPU time: 12 / 7 each."""
    claim = Owner(4, 3, (3,), (4,))
    assert claim.got(LtgfPolicy(), honest=True) == 90
    assert claim.got(LtgfPolicy(), honest=False) == pytest.approx(60 * 12 / 7, abs=4)


# --- leases and starvation -----------------------------------------------------------------------


def two_and_one(days: int = 2) -> Instance[Job]:
    """Two 1-GPU jobs that start 60 s apart on 2 GPUs, then a job of both."""
    jobs = [
        Job(id="a", gpus=1, work=days * 24 * HOUR),
        Job(id="b", gpus=1, work=(days + 1) * 24 * HOUR, release=60),
        Job(id="wide", gpus=2, work=60, release=120),
    ]
    return Instance(Cluster.of_sizes([2]), jobs)


@pytest.mark.parametrize("policy", [LtgfPolicy(), ThemisGreedy()])
@pytest.mark.parametrize("days", [1, 5])
def test_with_leases_of_their_own_two_jobs_keep_a_wide_one_out(policy: Policy, days: int) -> None:
    """However long they run: the gang starts only when one of them has ended."""
    own = drive(two_and_one(days), policy, synchronous=False)
    assert own.records.first[2] >= own.records.end[0] >= days * 24 * HOUR
    together = drive(two_and_one(days), policy)
    assert together.records.first[2] == 900


@pytest.mark.parametrize("policy", [LtgfPolicy(), ThemisGreedy()])
@pytest.mark.parametrize("laps", [3, 12])
def test_with_leases_of_their_own_a_stream_keeps_a_wide_job_out_for_ever(
    policy: Policy, laps: int
) -> None:
    """Jobs of three hours on each of 2 GPUs, 60 s apart; the next waits when the last one ends."""
    stream = [
        Job(id=f"s{k}{x}", gpus=1, work=3 * HOUR, release=max(60 * x, 3 * HOUR * k - 60))
        for k in range(laps)
        for x in range(2)
    ]
    wide = Job(id="wide", gpus=2, work=60, release=HOUR)
    instance = Instance(Cluster.of_sizes([2]), [*stream, wide])
    own = drive(instance, policy, synchronous=False)
    assert own.records.first[-1] >= own.records.end[:-1].max() >= 3 * HOUR * laps
    assert drive(instance, policy).records.first[-1] <= 2 * HOUR


#: policies that come to put a job that waits before all others, if the stream is no flood
GUARDED: list[Policy] = [
    *(Las(), TiresiasL(), ThemisGreedy(), MaxMinFairness(), FinishTimeFairness()),
    *(LtgfPolicy(), LtgfPolicy(fair_share="quota"), LtgfPolicy(job_key="rho-minus")),
]
#: those that hold all jobs behind one that waits
BLOCKING: list[Policy] = [Fifo(), YarnCs()]
#: those that do not; by their order, or because others may pass
NO_GUARD: list[Policy] = [
    *(Fifo(blocking=False), Sjf(), Sjf(blocking=False), YarnCs(backfill=True), Allox()),
    *(Srtf(), Themis()),
]


def name(policy: Policy) -> str:
    return f"{policy.name} {getattr(policy, 'blocking', '')}"


def scattered(days: int, every: int = 0) -> Instance[Job]:
    """Two nodes of 2 GPUs with a long 1-GPU job on each, then a job of 2 GPUs.

    The long jobs' neighbours end after an hour. `every` so often another 1-GPU job comes.
    """
    long = days * 24 * HOUR
    jobs = [Job(id=f"j{k}", gpus=1, work=work) for k, work in enumerate([long, HOUR, long, HOUR])]
    jobs += [
        Job(id=f"s{k}", gpus=1, work=long, release=2 * HOUR + every * k)
        for k in range(long // every if every else 0)
    ]
    wide = Job(id="wide", gpus=2, work=600, release=HOUR)
    return Instance(Cluster.of_sizes([2, 2]), [*jobs, wide])


def lane(days: int) -> Instance[Job]:
    """A 1-GPU job of two hours every 12 minutes: 10 of 16 GPUs are busy; then a job of all 16."""
    stream = [Job(id=f"s{k}", gpus=1, work=2 * HOUR, release=720 * k) for k in range(days * 24 * 5)]
    wide = Job(id="wide", gpus=16, work=10 * HOUR, release=3 * HOUR)
    return Instance(Cluster.of_sizes([16]), [*stream, wide])


def waited(instance: Instance[Job], policy: Policy, *, days: int, **rules: Any) -> float:
    """Seconds until the last job starts; infinite if it does not in so many days."""
    run = drive(instance, policy, until=days * 24 * HOUR, **rules)
    first = int(run.records.first[-1])
    return first - instance.jobs[-1].release if first >= 0 else float("inf")


@pytest.mark.parametrize("policy", GUARDED, ids=name)
def test_patience_is_what_starts_a_gang_that_finds_no_whole_node(policy: Policy) -> None:
    """It is always selected, but the jobs that are selected with it keep their nodes."""
    case = scattered(5)
    assert waited(case, policy, days=4, patience=None) == float("inf")
    assert 6 * HOUR <= waited(case, policy, days=4, patience=6 * HOUR) <= 6 * HOUR + 900


@pytest.mark.parametrize("policy", GUARDED, ids=name)
@pytest.mark.parametrize("case", [scattered(3, HOUR // 2), scattered(3, 7 * HOUR), lane(2)])
def test_by_default_a_stream_of_narrow_jobs_starves_no_gang(
    policy: Policy, case: Instance[Job]
) -> None:
    assert waited(case, policy, days=2) <= 6 * HOUR + 900


@pytest.mark.parametrize("policy", BLOCKING, ids=name)
def test_where_the_first_in_line_blocks_no_later_job_delays_it(policy: Policy) -> None:
    crowded = lane(2)
    wide = crowded.jobs[-1]
    before = [job for job in crowded.jobs[:-1] if job.release <= wide.release]
    alone_after = drive(Instance(crowded.cluster, [*before, wide]), policy).records.first[-1]
    assert drive(crowded, policy).records.first[-1] == alone_after == 5 * HOUR


@pytest.mark.parametrize("policy", NO_GUARD, ids=name)
@pytest.mark.parametrize("days", [1, 3])
def test_who_has_no_guard_keeps_a_gang_out_as_long_as_narrow_jobs_come(
    policy: Policy, days: int
) -> None:
    """With 6 of 16 GPUs idle. SJF, SRTF and AlloX by their order, Themis by its auction."""
    assert waited(lane(days), policy, days=days) == float("inf")


def test_where_the_gang_is_short_those_that_order_by_length_start_it() -> None:
    """What starves it above is the order: SJF waits for the last one before it, SRTF for none."""
    crowded = lane(1)
    short = replace(crowded.jobs[-1], work=60)
    instance = Instance(crowded.cluster, [*crowded.jobs[:-1], short])
    assert waited(instance, Sjf(), days=1) == 2 * HOUR - 720
    assert waited(instance, Srtf(), days=1) == 0


@pytest.mark.parametrize("days", [1, 3])
def test_where_jobs_that_run_come_first_those_that_wait_delay_it_by_patience(days: int) -> None:
    """Of those that wait it is the first, and passed over: from an hour after its release on."""
    policy = LtgfPolicy(renewal_first=True)
    assert waited(lane(days), policy, days=days, patience=6 * HOUR) == 7 * HOUR


def two_users(days: int, user: str = "b") -> Instance[Job]:
    """a has a 1-GPU job, b a 1-GPU job and then one of both GPUs."""
    long = days * 24 * HOUR
    rows = [("a", "a", 1, long), ("b", user, 1, long), ("wide", user, 2, 600)]
    jobs = [Job(id=i, user=u, gpus=g, work=w) for i, u, g, w in rows]
    return Instance(Cluster.of_sizes([2]), jobs, [User(u) for u in sorted({"a", user})])


@pytest.mark.parametrize("days", [2, 5])
def test_without_patience_narrow_jobs_of_its_own_user_keep_a_gang_out(days: int) -> None:
    """a picks first at every lease, as both have all they are owed; b's turn finds one GPU."""
    run = drive(two_users(days), LtgfPolicy(), patience=None)
    assert run.records.first[-1] == run.records.end[:-1].min() == days * 24 * HOUR


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("hours", [0, 1, 6])
def test_with_patience_a_gang_that_was_passed_over_comes_first(engine: Any, hours: int) -> None:
    """At 900 the narrow jobs keep their leases though it should have been picked before."""
    run = drive(two_users(2), LtgfPolicy(), patience=hours * HOUR, engine=engine)
    assert run.records.first[-1] == max(1800, 900 + hours * HOUR)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_of_each_user_one_job_at_a_time_is_passed_over(engine: Any) -> None:
    """Two of both GPUs: the later one is its user's first only when the other has run."""
    instance = two_users(2)
    late = Job(id="late", user="b", gpus=2, work=6000, release=1200)
    jobs = [*instance.jobs[:-1], late, replace(instance.jobs[-1], work=6000)]
    run = drive(replace(instance, jobs=jobs), LtgfPolicy(), patience=HOUR, engine=engine)
    assert run.records.first[-2:].tolist() == [5400 + HOUR, 900 + HOUR]


def test_line_17_would_let_it_in() -> None:
    """Its user is out while it does not fit, falls behind, and comes first at the next lease."""
    assert drive(two_users(2), PrintedLtgf(stuck="end")).records.first[-1] == 1800


def test_of_one_user_it_is_let_in() -> None:
    assert drive(two_users(2, user="a"), LtgfPolicy()).records.first[-1] == 900


@dataclass(frozen=True)
class WideFirst:
    """The last job of the instance before all others, by number."""

    preempts: Preempts
    name: str = "wide-first"

    def decide(self, state: State) -> Decision:
        jobs = state.candidates
        wide = jobs == state.gpus.size - 1
        return Decision(order=[*jobs[wide], *jobs[~wide]])

    def next_change(self, state: State) -> None:
        return None


@given(
    st.integers(2, 4),
    st.integers(2, 3),
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(60, 9_000), st.integers(0, 9_000)), max_size=8
    ),
    st.sampled_from([900, 1_000, 3_600]),
    st.sampled_from([Preempts.LEASE, Preempts.ALWAYS]),
    st.data(),
)
@settings(max_examples=50)
def test_the_first_in_the_order_waits_for_patience_and_a_lease(
    size: int,
    nodes: int,
    rows: list[tuple[int, int, int]],
    patience: int,
    preempts: Preempts,
    data: st.DataObject,
) -> None:
    """Whatever the others do, and on any number of whole nodes."""
    others = [(1, 10**5, 0), (size - 1, 600, 0)] * nodes + rows
    jobs = [Job(id=f"j{k}", gpus=g, work=w, release=r) for k, (g, w, r) in enumerate(others)]
    gang = data.draw(st.integers(1, size * nodes))
    wide = Job(id="wide", gpus=gang, work=60, release=data.draw(st.integers(0, 7_200)))
    instance = Instance(Cluster.of_sizes([size] * nodes), [*jobs, wide])
    run = drive(instance, WideFirst(preempts), patience=patience, until=20_000, engine="reference")
    wait = run.records.first[-1] - run.records.visible[-1]
    assert 0 <= wait <= -(-patience // 900) * 900 + 900
