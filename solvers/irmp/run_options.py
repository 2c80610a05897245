"""How jobs of IRMP can run on the empty cluster."""

from __future__ import annotations

from typing import NamedTuple

from ...instances.arrays import Ints


class RunOptions(NamedTuple):
    """How a job can run on the empty cluster, as columns: D_w rises, one node before several.

    Parameters
    ----------
    workers : (n,) ints
        D_w.
    slots : (n,) ints
        d, how long it takes.
    kind : (n,) ints
        Type of the workers' nodes, an index of ``problem.models``.
    host : (n,) ints
        Type of the PSs' node; -1 for a central run, all on one node.
    least : (n,) ints
        PSs that it takes at least.
    """

    workers: Ints
    slots: Ints
    kind: Ints
    host: Ints
    least: Ints
