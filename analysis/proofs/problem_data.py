"""Problems as the rules of :mod:`gangsched.verify` read them: like a file, but nothing is written.

Jobs are handed over by field, as a large trace has too many to write each of them down. Kernels are
compiled where all numbers fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...formulations.io import PROBLEMS, parameters_of, problem_to_dict
from ...instances.io import record_to_dict, tagged
from ...instances.jobs import Job
from ...instances.model import Instance
from ...instances.remembered import remembered
from ...verify import prove
from ...verify.fields import JobColumns
from ...verify.kernels import plainly

#: names of problems in files
NAMES: Mapping[type, str] = {kind: name for name, kind in PROBLEMS.items()}


class JobFields(JobColumns):
    """Fields of the jobs of an instance, each of which is looked at once."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.columns: dict[tuple[str, Any, bool], list[Any]] = {}

    def __len__(self) -> int:
        return len(self.jobs)

    def column(self, name: str, default: Any = None) -> list[Any]:
        """Return a field of every job; None stands for the default."""
        key = name, default, False
        if key not in self.columns:
            values = [getattr(job, name, None) for job in self.jobs]
            if name == "utility":
                self.columns[key] = list(map(tagged, values))
            else:
                self.columns[key] = [default if value is None else value for value in values]
        return self.columns[key]

    def wholes(self, name: str, default: Any = None) -> list[int]:
        """Return a field of every job that is an integer >= 0."""
        key = name, default, True
        if key not in self.columns:
            self.columns[key] = super().wholes(name, default)
        return self.columns[key]


@remembered
def _fields_of(instance: Instance[Any]) -> JobFields:
    """The fields of the jobs of an instance, for all problems of them."""
    return JobFields(instance.jobs)


def data_of(problem: Any) -> dict[str, Any]:
    """Return what rules read of a problem; parameters may be functions, which no file can hold."""
    if not hasattr(problem, "instance"):
        return problem_to_dict(problem)
    instance = problem.instance
    data = {
        "cluster": {"nodes": list(map(record_to_dict, instance.cluster.nodes))},
        "jobs": _fields_of(instance),
        "users": list(map(record_to_dict, instance.users)),
    }
    name = NAMES[type(problem)]
    return {"problem": name, "instance": data, "parameters": parameters_of(problem)}


def proven(problem: Any, certificate: Mapping[str, Any]) -> Any:
    """Return what a certificate proves of a problem, an integer or a rational.

    Raises
    ------
    ValueError
        Where it is refused.
    """
    return prove(data_of(problem), certificate, run_fast)


def run_fast(kernel: Callable[..., None], fits: bool, *columns: Any) -> list[int]:
    """Run a kernel: as machine code where all numbers fit 64 bits, else as it is."""
    if not fits:
        return plainly(kernel, fits, *columns)
    from .compiled_kernels import COMPILED  # numba loads slowly

    arrays = [
        np.array(column, dtype=np.int64) if isinstance(column, list) else column
        for column in columns
    ]
    COMPILED[kernel](*arrays)
    written: list[int] = arrays[-1].tolist()
    return written
