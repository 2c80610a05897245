"""Table III and figures 5 to 12 of Gao et al.: what is run, and what is measured."""

from dataclasses import replace

import pytest

from gangsched import drive
from gangsched.analysis.driving.run import EventKind
from gangsched.analysis.papers import experiment
from gangsched.analysis.papers.reproduce import TARGETS
from gangsched.analysis.papers.unisched import figures as figures
from gangsched.analysis.papers.unisched import runs as runs
from gangsched.analysis.papers.unisched import statements as statements
from gangsched.instances import Cluster, DeadlineJob, Instance
from gangsched.instances.generate import offered_load
from gangsched.instances.model import TargetMetric
from gangsched.solvers import Fifo
from gangsched.solvers.policies.srtf import Srtf
from gangsched.solvers.unisched.policy import UniSchedPolicy

SMALL = {"H": runs.WorkloadSize(4, 12, 1), "P": runs.WorkloadSize(2, 12, 1)}


# --- workloads -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["H_SLO", "P_MIX2"])
def test_nodes_are_those_that_come_closest_to_the_load(name: str) -> None:
    size = runs.WorkloadSize(6, 120, 2)
    made = runs.DeadlineWorkload(name, size, 1).instance()
    nodes = len(made.cluster.nodes)
    loads = {
        n: offered_load(replace(made, cluster=Cluster.uniform(nodes=n, gpus_per_node=8)))
        for n in range(1, 60)
    }
    widest = -(-max(job.gpus for job in made.jobs) // 8)
    work = loads[1]
    assert nodes == max(widest + 1, round(work / 1.5))
    assert loads[nodes] == pytest.approx(1.5, rel=0.2) or nodes == widest + 1


def test_variants_of_a_workload_keep_the_rest_of_it() -> None:
    base = runs.DeadlineWorkload("H_MIX2", SMALL["H"])
    jobs = base.instance().jobs
    dear = replace(base, cost=3).instance()
    assert [job.preemption_cost for job in dear.jobs] == [
        3 * (j.preemption_cost or 0) for j in jobs
    ]
    assert [replace(a, preemption_cost=0) for a in dear.jobs] == [
        replace(b, preemption_cost=0) for b in jobs
    ]
    free = replace(base, cost=0).instance()
    assert {job.preemption_cost for job in free.jobs} == {0}
    dense = replace(base, density=150).instance()
    assert (len(dense.jobs), dense.cluster) == (18, base.instance().cluster)
    hostile = replace(base, hostile=50).instance()
    assert sum(job.gpus in (3, 5, 6, 7) for job in hostile.jobs) == 6


def test_testbeds_with_and_without_grace() -> None:
    """The first deadline is 1.1 to 2 run times, or up to an hour later."""
    late, printed = (
        runs.DeadlineWorkload(statements.testbed_of(60, printed=p), None).instance()
        for p in (False, True)
    )
    assert [job.work for job in late.jobs] == [job.work for job in printed.jobs]
    ratios = [job.rewards[0][0] / (job.work or 1) for job in printed.jobs if job.rewards]
    assert max(ratios) <= 2
    assert max(job.rewards[0][0] - 2 * (job.work or 1) for job in late.jobs if job.rewards) > 0


# --- what is measured ----------------------------------------------------------------------------


def toy() -> Instance[DeadlineJob]:
    """On 1 GPU by FIFO: ends 600, 1200, 1800."""
    target = TargetMetric(0.5, 4, [0.1, 0.5])
    jobs = [
        DeadlineJob(id="in time", gpus=1, work=600, rewards=[(900, 100)]),
        DeadlineJob(id="late", gpus=1, work=600, rewards=[(900, 100), (1200, 20)], stopping=target),
        DeadlineJob(id="best", gpus=1, work=600),
    ]
    return Instance(Cluster.of_sizes([1]), jobs)


def test_measures_of_a_run_by_hand() -> None:
    instance = toy()
    values = runs.measure(drive(instance, Fifo(), round_length=60), instance)
    assert values["miss"] == pytest.approx(40)  # 100 and 20 of 200
    assert values["metric_miss"] == pytest.approx(80)
    assert (values["latency"], values["jct"]) == (30, 20)
    assert (values["wait"], values["longest_wait"]) == (None, None)
    assert (values["slo_suspensions"], values["be_suspensions"]) == (0, 0)
    assert values["reward"] == 120


def test_wait_is_that_for_the_end_of_profiling() -> None:
    """All of 5 minutes, one after the other on 1 GPU; a job's own profiling counts."""
    instance = replace(toy(), jobs=toy().jobs[2:])
    values = runs.measure(drive(instance, UniSchedPolicy(), round_length=60), instance)
    assert (values["wait"], values["longest_wait"]) == (300, 300)


def test_error_in_the_middle_of_training_by_hand() -> None:
    """Profiled until 300, then 1200 s without a stop. At 900 half is left, in two leases of 300.

    Expected are 600 s and one half suspension of 20 s, so 10 s too many of 1200.
    """
    job = DeadlineJob(id="a", gpus=1, work=1200, preemption_cost=20)
    instance = Instance(Cluster.of_sizes([1]), [job])
    run = drive(instance, UniSchedPolicy(), round_length=60)
    expected = {"slo_error": None, "be_error": pytest.approx(100 * 10 / 1200)}
    assert runs.errors(run, instance) == expected


def test_error_of_a_job_that_is_suspended_by_hand() -> None:
    """SRTF stops `long` from 60 to 120; it then pays 20 s, and ends at 60 + 60 + 20 + 1140 = 1280.

    Half of its 1220 s on GPUs is over at 670; 20 s of these were no work, so 1200 - 590 s are
    left, what it needs. It is best effort: 610 s in three leases, 20 s expected of suspensions
    that do not come. `short` runs for 60 s, and has nothing to expect.
    """
    jobs = [
        DeadlineJob(id="long", gpus=1, work=1200, preemption_cost=20),
        DeadlineJob(id="short", gpus=1, work=60, release=60),
    ]
    instance = Instance(Cluster.of_sizes([1]), jobs)
    run = drive(instance, Srtf(), round_length=60)
    assert run.records.end.tolist() == [1280, 120]
    error = runs.errors(run, instance)["be_error"]
    assert error == pytest.approx((100 * 20 / 1220 + 0) / 2)


def test_edf_runs_the_next_deadline_that_can_be_met() -> None:
    """At 60 `soon` arrives and goes first; `lost` can meet nothing and goes last."""
    jobs = [
        DeadlineJob(id="later", gpus=1, work=600, rewards=[(2000, 100)]),
        DeadlineJob(id="soon", gpus=1, work=300, release=60, rewards=[(400, 100)]),
        DeadlineJob(id="lost", gpus=1, work=300, release=60, rewards=[(200, 100)]),
    ]
    policy = runs.POLICIES["EDF, known"]()
    run = drive(Instance(Cluster.of_sizes([1]), jobs), policy, round_length=60, overhead=0)
    assert run.records.end.tolist() == [900, 360, 1200]


def test_latencies_are_normalised_at_the_same_place() -> None:
    load = runs.DeadlineWorkload("H_MIX2", SMALL["H"])
    places = [("UniSched", 80, 0), ("x", 80, 0), ("UniSched", 100, 0), ("x", 100, 0), ("x", 80, 1)]
    places += [("UniSched, known", 80, 0), ("x, known", 80, 0), ("x, known", 100, 0)]
    latencies = [10.0, 20.0, 40.0, 20.0, 7.0, 5.0, 20.0, 20.0]
    finished: experiment.Finished = [
        (runs.cell_of("a", p, replace(load, seed=s), Fifo, x), {"latency": own})
        for (p, x, s), own in zip(places, latencies, strict=True)
    ]
    found = [own for _, own in runs.normalised(finished)]
    ratios = [values["latency_ratio"] for values in found]
    assert ratios == [1, 2, 1, 0.5, None, 1, 4, None]


# --- whole figures -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fig6", "table3"])
def test_every_row_names_how_its_policy_knows_run_times(name: str) -> None:
    """Each baseline twice, and the policies do what their labels say."""
    cells = TARGETS[f"unisched:{name}"].cells(seeds=(0,))
    makes = {cell.policy: cell.make for cell in cells if cell.make is not None}
    plain = {"FIFO": None, "UniSched, profilers worth 1": "profiled"}
    plain["UniSched, known, leases of 2 min"] = "known"
    for label, make in makes.items():
        information = plain.get(label, label.rpartition(", ")[2])
        run = drive(toy(), make(), round_length=60)
        profiles = (run.events.kind == EventKind.PROFILE).any()
        assert profiles == (information == "profiled"), label
        assert information in (None, "profiled", "known", "learned")
    twice = {p.rpartition(", ")[0] for p in makes if p.endswith(", known")}
    assert twice == {p.rpartition(", ")[0] for p in makes if p.endswith(", profiled")}
    assert {"UniSched", "GENIE", "Hydra", "Optimus", "EDF"} <= twice


def test_a_real_figure_is_the_driver_s() -> None:
    sizes = {"H": runs.WorkloadSize(3, 4, 1), "P": runs.WorkloadSize(2, 4, 1)}
    study = figures.fig8(sizes=sizes, seeds=(0,), processes=1)
    load = runs.DeadlineWorkload("P_MIX1", sizes["P"], 0).instance()
    book = drive(load, UniSchedPolicy(), round_length=60, lease=600, overhead=25).records
    slo = [j for j, job in enumerate(load.jobs) if job.rewards]
    assert study.value("P_MIX1", "SLO", "suspensions") == pytest.approx(
        sum(int(book.starts[j]) - 1 for j in slo) / len(slo), rel=1e-5
    )


def test_bounds_are_verified_and_above_what_is_won() -> None:
    load = runs.DeadlineWorkload("P_MIX2", SMALL["P"])
    (cell,) = runs.and_bounds([runs.cell_of("", "FIFO", load, Fifo)])[1:]
    bound, instance = cell.run(cell)["bound"], load.instance()
    reward = runs.measure(drive(instance, Fifo()), instance)["reward"]
    assert 0 < (reward or 0) <= bound <= sum(job.top_reward for job in instance.jobs)
