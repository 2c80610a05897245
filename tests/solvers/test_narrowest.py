"""A policy at compiled speed is one folder and one row: the driver is not touched."""

import sys

import pytest

import gangsched as gs
from gangsched import registry
from gangsched.instances.compiled import tier
from gangsched.instances.generate import philly_workload
from narrowest import policy as narrowest
from reference_driver import by


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "gangsched.solvers.policies.narrowest", narrowest)
    made = registry._policy("solvers.policies.narrowest.Narrowest")
    monkeypatch.setitem(registry.POLICIES, "narrowest", made)
    return "narrowest"


def test_it_runs_as_machine_code_and_decides_like_python(row: str) -> None:
    instance = philly_workload(gs.Cluster.uniform(nodes=4, gpus_per_node=8), jobs=120, load=1.2)
    with tier("machine code"):
        run = gs.drive(instance, row)
    assert run.records.finished.all()
    assert run == gs.drive(instance, row)
    with by("reference"):
        assert gs.drive(instance, row) == run
    found = gs.replay(instance, [row, "fifo"])
    assert found.rows[0].name == row
    assert found.rows[0].run == run
