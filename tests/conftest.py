"""Hypothesis profiles and the fixtures that every folder of tests may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

os.environ.setdefault("MPLBACKEND", "Agg")  # no window, wherever the tests run

# No deadlines: a test may not depend on how fast the machine is.
settings.register_profile("dev", deadline=None)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", parent=settings.get_profile("dev"), max_examples=2_000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def traces() -> Path:
    """Folder of real job traces, which are not part of the project."""
    folder = ROOT.parent / "shared" / "traces"
    if not folder.is_dir():
        pytest.skip("real traces are not here: no folder ../shared/traces beside the project")
    return folder
