"""Only what Result.of made is taken as checked."""

from dataclasses import replace

from gangsched.analysis.comparing.comparison import compare
from gangsched.formulations import RarDdls
from gangsched.instances import Cluster, Instance, RingJob
from gangsched.solvers import first_fit


def test_a_changed_result_is_checked() -> None:
    """Only what :meth:`Result.of` made is taken as checked, for this problem."""
    jobs = [RingJob(id=id, gpus=1, iterations=4, gradient=0, base_time=0.9) for id in "abc"]
    problem = RarDdls(Instance(Cluster.of_sizes([2]), jobs))
    other = RarDdls(Instance(Cluster.of_sizes([1]), jobs))
    made = first_fit(problem)
    assert made.is_checked(problem)
    assert made.is_checked(RarDdls(problem.instance))
    assert not made.is_checked(other)
    assert not replace(made, runtime=1.0).is_checked(problem)
    boasts = compare(problem, {"boasts": lambda _: replace(made, objective=1, bound=None)})
    assert boasts.rows[0].error == "ValueError: objective=1, but its solution has 8"
    elsewhere = compare(other, {"elsewhere": lambda _: made})
    assert elsewhere.rows[0].error.startswith("ValueError: infeasible solution")
