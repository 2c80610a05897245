"""What the figures of Wang et al. do not take for a result."""

from dataclasses import replace

import pytest

from gangsched.analysis.papers.irmp.runs import whole
from gangsched.formulations.irmp.problem import reduced_problem
from gangsched.solvers.ours.irmp.online import OnlineParams, online
from gangsched.solvers.result import Stop


def test_a_solver_that_was_interrupted_ends_the_figure() -> None:
    result = online(reduced_problem(3), params=OnlineParams(by="fifo"))
    assert whole(result) is result
    with pytest.raises(KeyboardInterrupt):
        whole(replace(result, stop=Stop.INTERRUPTED))
