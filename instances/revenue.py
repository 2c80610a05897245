"""Seeded workloads of workers and parameter servers, as Wang et al. (2023, section 5.1) make them.

A workload is an instance and, since bandwidths and owners of nodes belong to the problem, the
parameters of :class:`gangsched.formulations.Irmp` that go with it. One slot is an hour.

Streams of the seed (:mod:`gangsched.instances.generate`): 12 nodes and their owners, 13
bandwidths, 14 jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .arrays import Floats
from .check import at_least, one_of
from .generate import invert, short, stream
from .model import Cluster, Instance, Linear, Node, ParameterServerJob, Power, User

Law = Literal["linear", "convex"]
Parameters = dict[str, Any]

HOUR = 3600  # s, one slot
SMALL, LARGE = 2, 8  # GPUs of the two kinds of nodes
# Share of the large ones: Philly's machine list has 231 of 552.
LARGE_SHARE = 0.42
WORKER_BANDWIDTH, PS_BANDWIDTH = (100, 5 * 1024), (5 * 1024, 20 * 1024)  # Mbps
EPOCHS, CHUNKS, MINIBATCHES = (50, 100), (20, 50), (10, 50)  # E, D, M
RELEASES = (1, 24)  # slots
TRAINING = (0.001, 0.05)  # m, h
UPDATE = (10.0, 100.0)  # G, ms
GRADIENT = (30.0, 575.0)  # epsilon, MB
# Laws of the utility, and the ranges of their numbers.
LAWS: dict[str, tuple[Any, tuple[float, float], tuple[float, float]]] = {
    "linear": (Linear, (-2.0, -0.1), (100.0, 1000.0)),  # k, g
    "convex": (Power, (100.0, 1000.0), (1.0, 2.0)),  # e, kappa
}
MS, MBIT = 3.6e6, 8.0  # ms of an hour, Mbit of a MB


# --- nodes ---------------------------------------------------------------------------------------


class OwnedCluster(NamedTuple):
    """Nodes, each of one user, and what the users have of them.

    Parameters
    ----------
    cluster : Cluster
    users : tuple of User
        Quotas and, in proportion to the workers, weights.
    owners : tuple of str
        User of each node.
    """

    cluster: Cluster
    users: tuple[User, ...]
    owners: tuple[str, ...]


def owned_cluster(
    servers: int = 100,
    *,
    users: int | Sequence[str] = 14,
    seed: int = 0,
) -> OwnedCluster:
    """Return nodes of 2 or 8 workers, each of them owned by one user.

    Notes
    -----
    The paper takes the workers of each node from Philly's machine list, which has machines of 2
    and of 8 GPUs, and counts each user's share from the machines of its virtual cluster, which are
    not published. Here the first nodes go to one user each, in turn, the others to users drawn at
    random.

    RNG order (stream 12): for every node its size, then its owner (both uniform; the owner of the
    first ones is drawn and not used).

    Examples
    --------
    >>> made = owned_cluster(4, users=2)
    >>> made.cluster.sizes, made.owners
    ((2, 8, 2, 2), ('u0', 'u1', 'u1', 'u0'))
    >>> made.users[0]
    User(id='u0', weight=4.0, gpus=4, ps=2)
    """
    at_least("servers", servers, 1)
    ids = _ids(users)
    if servers < len(ids):
        raise ValueError(f"servers={servers} are fewer than the {len(ids)} users, each owns one")
    drawn = stream(seed, 12).random((servers, 2))
    sizes = [LARGE if u < LARGE_SHARE else SMALL for u in drawn[:, 0].tolist()]
    owners = [ids[i] for i in _whole(drawn[:, 1], (0, len(ids) - 1))]
    owners[: len(ids)] = ids
    workers: Counter[str] = Counter()
    for owner, size in zip(owners, sizes, strict=True):
        workers[owner] += size
    count = Counter(owners)
    return OwnedCluster(
        Cluster([Node(f"n{i}", size, ps=1) for i, size in enumerate(sizes)]),
        tuple(User(id, workers[id], workers[id], count[id]) for id in ids),
        tuple(owners),
    )


def _ids(users: int | Sequence[str]) -> list[str]:
    if isinstance(users, str) or not isinstance(users, Sequence):
        return [f"u{i}" for i in range(at_least("users", users, 1))]
    at_least("users", len(users), 1)
    return list(users)


# --- jobs ----------------------------------------------------------------------------------------


def revenue_instance(
    jobs: int = 100,
    *,
    servers: int = 100,
    users: int = 14,
    utility: Law = "linear",
    seed: int = 0,
) -> tuple[Instance[ParameterServerJob], Parameters]:
    """Return the synthetic workload of Wang et al. (2023), section 5.1, in slots of an hour.

    Its defaults are the paper's default setting. The reduced one, in which the paper compares with
    an offline optimum, has 2 users, 5 to 15 jobs and 5 to 45 nodes.

    Notes
    -----
    With the same seed, the jobs of a smaller workload are the first of a larger one; they do not
    depend on the nodes but for their users, and not on the law of their utility but for that.

    A rate is ``1 / (m + G)``, on several nodes ``1 / (m + G + 2 epsilon / b_w)``, with m, G and
    epsilon / b_w in hours: G ms are G / 3.6e6 h, epsilon MB are 8 epsilon Mbit. Rates and numbers
    of utilities are rounded to 12 significant digits. The paper says of D both that it is in
    [20, 50] and that it is the number of GPUs that jobs of the trace request; here it is in
    [20, 50], see :func:`gangsched.instances.convert.to_revenue_instance` for the other. A user has
    jobs in proportion to its workers, which the paper leaves open, and releases are uniform, which
    the trace's are not.

    RNG order: stream 13: b_w, an integer of 100..5120 Mbps, and b_p, one of 5120..20480; stream 14:
    for every job in order ten uniform numbers, for release, user, E, D, M, m, G, epsilon, then k
    and g, or e and kappa.

    References
    ----------
    N. Wang, R. Zhou, L. Han, H. Chen, Z. Li. Online Scheduling of Distributed Machine Learning Jobs
    for Incentivizing Sharing in Multi-Tenant Systems. IEEE TC 72(3), 2023, section 5.1.

    Examples
    --------
    >>> instance, parameters = revenue_instance(jobs=5, servers=4, users=2)
    >>> instance.jobs[0].gpus, instance.jobs[0].batches
    (29, 105183)
    >>> parameters["worker_bandwidth"], parameters["ps_bandwidth"]
    (2998, 6851)
    """
    at_least("jobs", jobs, 0)
    made = owned_cluster(servers, users=users, seed=seed)
    parameters = {**bandwidths(seed), "owners": made.owners}
    drawn = stream(seed, 14).random((jobs, 10))
    owner = invert([user.weight for user in made.users], drawn[:, 1]).tolist()
    rows = revenue_jobs(drawn, parameters["worker_bandwidth"], utility)
    named = tuple(
        ParameterServerJob(id=f"j{i}", user=made.users[u].id, release=release, **fields)
        for i, (u, release, fields) in enumerate(
            zip(owner, _whole(drawn[:, 0], RELEASES), rows, strict=True)
        )
    )
    name = f"revenue-{utility}-{jobs}x{servers}x{users}-seed{seed}"
    return Instance(made.cluster, named, made.users, slot=HOUR, name=name), parameters


def bandwidths(seed: int) -> Parameters:
    """Return both bandwidths of an instance, in Mbps.

    >>> bandwidths(0)
    {'worker_bandwidth': 2998, 'ps_bandwidth': 6851}
    """
    one, two = stream(seed, 13).random((2, 1))
    (worker,), (ps,) = _whole(one, WORKER_BANDWIDTH), _whole(two, PS_BANDWIDTH)
    return {"worker_bandwidth": worker, "ps_bandwidth": ps}


def revenue_jobs(drawn: Floats, bandwidth: int, utility: Law) -> list[dict[str, Any]]:
    """Return what is drawn for jobs, but release and user, as fields of `ParameterServerJob`."""
    one_of("utility", utility, LAWS)
    columns = drawn.T
    time = _real(columns[5], TRAINING) + _real(columns[6], UPDATE) / MS
    exchange = 2 * MBIT * _real(columns[7], GRADIENT) / (HOUR * bandwidth)
    kind, *ranges = LAWS[utility]
    numbers = [_real(columns[8 + i], within) for i, within in enumerate(ranges)]
    fields = {
        "epochs": _whole(columns[2], EPOCHS),
        "gpus": _whole(columns[3], CHUNKS),
        "minibatches": _whole(columns[4], MINIBATCHES),
        "rates": _pairs(1 / time, 1 / (time + exchange)),
        "utility": [kind(*pair) for pair in _pairs(*numbers)],
    }
    return [dict(zip(fields, row, strict=True)) for row in zip(*fields.values(), strict=True)]


def _pairs(one: Floats, two: Floats) -> list[tuple[float, float]]:
    return [(short(a), short(b)) for a, b in zip(one.tolist(), two.tolist(), strict=True)]


def _whole(uniform: Floats, range: tuple[int, int]) -> list[int]:
    low, high = range
    drawn: list[int] = (low + np.floor((high + 1 - low) * uniform)).astype(np.int64).tolist()
    return drawn


def _real(uniform: Floats, range: tuple[float, float]) -> Floats:
    return range[0] + (range[1] - range[0]) * uniform
