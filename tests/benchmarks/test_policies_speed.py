"""No policy becomes much slower than it was: CPU time over that of `fifo`, both from one run.

`python tests/benchmarks/test_policies_speed.py` records the ratios anew.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import gangsched as gs
from gangsched.instances.generate import philly_workload
from gangsched.registry import EARNING, POLICIES, policy

pytestmark = pytest.mark.slow
RECORDED = Path(__file__).with_name("policies.json")
WORSE = 2.0  #: more than that times the recorded ratio fails
ENOUGH = 1.0  #: seconds after which a policy is not run again
#: these solve programs at each decision, whose time says little of this code
PROGRAMS = ("unisched", "three-sigma", "rolling-horizon", "chronus:selector")
ENDLESS = ("ltgf:printed",)  #: as printed it may never end
#: those of other jobs than this workload has
NAMES = [
    name for name in POLICIES if not name.startswith((*PROGRAMS, *ENDLESS)) and name not in EARNING
]


def contended(jobs: int = 2_500) -> gs.Instance[gs.Job]:
    return philly_workload(gs.Cluster.uniform(nodes=16, gpus_per_node=8), jobs=jobs, load=0.95)


def fastest(instance: gs.Instance[Any], name: str) -> float:
    """The least CPU seconds of up to five runs."""
    found: list[float] = []
    while len(found) < 5 and sum(found) < ENOUGH:
        made = policy(name)[1]
        began = time.process_time()
        gs.drive(instance, made)
        found.append(time.process_time() - began)
    return min(found)


def ratio(name: str) -> float:
    """CPU seconds over those of fifo, which runs before and after."""
    gs.drive(contended(40), policy(name)[1])
    instance = contended()
    first = fastest(instance, "fifo")
    own = fastest(instance, name)
    return own / min(first, fastest(instance, "fifo"))


@pytest.mark.parametrize("name", NAMES)
def test_no_policy_is_twice_as_slow_as_it_was(name: str) -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    assert ratio(name) < WORSE * max(recorded[name], 1.0)


def test_every_policy_has_a_record() -> None:
    assert [*json.loads(RECORDED.read_text("utf-8"))] == NAMES


if __name__ == "__main__":
    made = {name: round(ratio(name), 2) for name in NAMES}
    RECORDED.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    sys.exit(0)
