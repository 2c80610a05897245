"""How long patience is, unless the rules say it."""

from typing import Any

import pytest

from gangsched import drive
from gangsched.instances import Cluster, Instance, Job
from gangsched.instances.jobs import MOST_TIME
from gangsched.solvers import Fifo, Rules


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 7_200),
        ({"lease": 600}, 4_800),
        ({"lease": 90, "round_length": 60}, 8 * 120),  # leases are whole rounds
        ({"lease": MOST_TIME}, MOST_TIME),
        ({"patience": 21_600}, 21_600),
        ({"patience": 0}, 0),
        ({"patience": None}, None),
    ],
)
def test_patience_is_eight_leases_or_as_given(given: dict[str, Any], seconds: int | None) -> None:
    assert Rules(**{"round_length": 1, "overhead": 0, **given}).patience == seconds


def test_a_drive_has_the_same_default() -> None:
    instance = Instance(Cluster.of_sizes([1]), [Job(id="a", gpus=1, work=60)])
    assert drive(instance, Fifo(), lease=300).rules == Rules(lease=300)
    assert drive(instance, Fifo(), lease=300).rules.patience == 2_400
