"""A comparison on real jobs has to tell solvers apart: not every ratio may be 1."""

from functools import partial
from pathlib import Path

import pytest

from gangsched.analysis.comparing.comparison import compare
from gangsched.formulations.rar_ddls.problem import RarDdls
from gangsched.instances import Cluster
from gangsched.instances.convert import to_rar_instance
from gangsched.instances.traces import read_philly_csv
from gangsched.registry import PROBLEMS


@pytest.mark.slow
def test_160_philly_jobs_on_64_gpus(traces: Path) -> None:
    cluster = Cluster.uniform(nodes=8, gpus_per_node=8)
    trace = read_philly_csv(traces / "philly" / "philly.csv.gz")
    problem = RarDdls(to_rar_instance(trace, cluster, jobs=160, seed=0).instance)
    durations = problem.shortest_durations()
    area = sum(j.gpus * d for j, d in zip(problem.jobs, durations, strict=True)) / cluster.gpus
    assert area >= 1.4 * durations.max()
    entry = PROBLEMS["rar-ddls"]
    solvers = {name: partial(entry.solvers[name], seed=0) for name in entry.compared}
    comparison = compare(problem, solvers)
    assert len({row.objective for row in comparison.rows}) >= 4
    assert max(row.ratio for row in comparison.rows) > 1.25
    assert min(row.ratio for row in comparison.rows) < 1.05
