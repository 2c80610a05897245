"""The best run of one job at given prices: problem (9) of Wang et al., and its case of price 0.

Source: N. Wang, R. Zhou, L. Han, H. Chen, Z. Li, "Online Scheduling of Distributed Machine Learning
Jobs for Incentivizing Sharing in Multi-Tenant Systems", IEEE TC 72(3), 2023, Section 4.4:
Algorithm 3 for one job, with the functions MINCOSTD (Algorithm 4) and MINCOSTC (Algorithm 5).

The loops of Algorithms 3-5 stand in :mod:`.response_core`, with the paper's lines.

Deviations from the paper
-------------------------
- W2: a run of d slots ends d slots after its start, not d + 1 (line 3 of Algorithms 4 and 5).
- W8: line 8 of Algorithm 4 takes as many PSs as there are up to those needed, and goes on with one
  or more: its runs break (3i), and line 10 prefers nodes with too few. Here all are needed.
- W9: line 8 of Algorithm 4 and line 7 of Algorithm 5 test PSs against the quota of workers.
- W10: line 12 of Algorithm 5 pays the price of the first slot in all slots.
- W11: cost 0 of no run (Algorithm 4) would be accepted; no run is None here.
- Nodes may be of several types, (11): all types of workers and of PSs are tried.

``literal=True`` is Algorithms 3-5 with W8, W9 and W10 as printed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...formulations.irmp.problem import Irmp, parameter_servers
from ...formulations.problem import check_class
from ...instances.arrays import Floats, Ints
from ...instances.schedule import Schedule, Segment
from .run_options import RunOptions as RunOptions

__all__ = [
    "MARGIN", "Occupancy", "Response", "RunOptions", "best_response", "run_options", "schedule_of",
    "zero_price_response",
]  # fmt: skip


#: a job is accepted only if it gains more than this
MARGIN = 1e-9
#: workers and PSs of nodes by slot, at most: 2 GB
MOST_CELLS = 250_000_000

WORKERS, PS = 0, 1


class Response(NamedTuple):
    """A run of a job, with what it earns and costs.

    Parameters
    ----------
    job : int
    start, end : int
        Half-open, in slots.
    workers : int
        D_w, of all nodes.
    nodes : dict of int to int
        Workers on each node in use; 0 on one that has only PSs.
    ps : dict of int to int
        PSs on their host.
    value, cost : float
        f_j of the completion, and the price of workers and PSs over all slots.
    """

    job: int
    start: int
    end: int
    workers: int
    nodes: dict[int, int]
    ps: dict[int, int]
    value: float
    cost: float

    @property
    def utility(self) -> float:
        """mu_j, the value less the cost."""
        return self.value - self.cost

    @property
    def segment(self) -> Segment:
        """The run as a segment of a schedule."""
        return Segment(self.job, self.start, self.end, dict(self.nodes), ps=dict(self.ps))


def schedule_of(runs: Iterable[Response]) -> Schedule:
    """Return runs as a schedule, by job."""
    return Schedule.of(run.segment for run in sorted(runs, key=lambda run: run.job))


def misses(problem: Irmp, schedule: Schedule) -> bool:
    """Return whether jobs do not run that must, or users earn less than they were promised."""
    if problem.optional and not problem.alone:
        return False
    aims = "all jobs", "sharing incentive"
    return any(broken.startswith(aims) for broken in problem.violations(schedule))


#: start, option, host and PSs
_Found = tuple[int, int, int, int]


# --- facts of a problem, kept from call to call ---------------------------------------------------


class _Facts:
    """What all calls for one problem share."""

    def __init__(self, problem: Irmp) -> None:
        nodes = problem.instance.cluster.nodes
        self.problem = problem
        self.types = len(problem.models)
        self.model = np.array([problem.models.index(node.model) for node in nodes], dtype=np.int64)
        #: (2, nodes)
        self.capacity = np.array([[n.gpus for n in nodes], [n.ps for n in nodes]], dtype=np.int64)
        self.options: dict[tuple[int, bool], RunOptions] = {}
        self.order: dict[tuple[int, bool], Ints] = {}  # of options, the shortest first
        #: starts and numbers of workers that Algorithm 3 has been asked to try (Theorem 3)
        self.tuples = 0

    @cached_property
    def most(self) -> int:
        """Workers that any job can have."""
        widest = max((job.gpus for job in self.problem.jobs), default=0)
        totals = np.bincount(self.model, self.capacity[WORKERS].astype(np.float64))
        return int(min(widest, totals.max(initial=0.0)))

    @cached_property
    def need(self) -> Ints:
        """(most + 1,) PSs for so many workers away from them, (3i)."""
        bandwidths = self.problem.worker_bandwidth, self.problem.ps_bandwidth
        outside = range(self.most + 1)
        return np.array([parameter_servers(n, *bandwidths) for n in outside], dtype=np.int64)

    @cached_property
    def fitting(self) -> list[tuple[int, int, int, int]]:
        """(D_w, type, host type, least PSs) of all runs that fit the empty cluster."""
        return self._fitting(printed=False)

    @cached_property
    def printed(self) -> list[tuple[int, int, int, int]]:
        """The same as Algorithm 4 is printed, which goes on with one PS, W8."""
        return self._fitting(printed=True)

    def _fitting(self, *, printed: bool) -> list[tuple[int, int, int, int]]:
        from . import response_core as core  # numba takes a second to import

        found = []
        for workers in range(1, self.most + 1):
            for kind in range(self.types):
                here = (self.model == kind) & (self.capacity[PS] >= 1)
                if np.any(here & (self.capacity[WORKERS] >= workers)):
                    found.append((workers, kind, -1, 1))
            for kind in range(self.types):
                for host in range(self.types):
                    node, ps = core.host_of(
                        self.capacity, self.model, self.need, workers, kind, host, core.UNLIMITED,
                        printed,
                    )  # fmt: skip
                    if node >= 0:
                        found.append((workers, kind, host, 1 if printed else ps))
        return found

    def options_of(self, job: int, *, printed: bool = False) -> RunOptions:
        """Return the options of a job."""
        key = job, printed
        if key not in self.options:
            widest = self.problem.jobs[job].gpus
            rows = [row for row in (self.printed if printed else self.fitting) if row[0] <= widest]
            columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
            workers, kind, host, least = np.ascontiguousarray(columns)
            duration, models = self.problem.duration, self.problem.models
            lengths = [duration(job, w, 1 if at < 0 else 2, models[k]) for w, k, at, _ in rows]
            slots = np.array(lengths, dtype=np.int64)
            self.options[key] = RunOptions(workers, slots, kind, host, least)
            self.order[key] = np.argsort(slots, kind="stable")
        return self.options[key]


_RECENT: dict[int, _Facts] = {}


def facts_of(problem: Irmp) -> _Facts:
    """Return the facts of a problem; those of the last few problems are kept."""
    key = id(problem)  # it cannot be another one's id: facts hold the problem
    if key not in _RECENT:
        while len(_RECENT) >= 8:
            del _RECENT[next(iter(_RECENT))]
        _RECENT[key] = _Facts(problem)
    return _RECENT[key]


def run_options(problem: Irmp, job: int) -> RunOptions:
    """Return how a job can run if nobody else does.

    Notes
    -----
    A run on several nodes needs ceil((D_w - k) b_w / b_p) PSs on the node with k of its workers, so
    most jobs have far fewer than D options: at most max_s (C_sw + C_sp b_p / b_w) workers.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> cluster = Cluster([Node("s1", 2, ps=1), Node("s2", 2, ps=1)])
    >>> job = ParameterServerJob(id="j", gpus=4, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> options = run_options(Irmp(Instance(cluster, [job])), 0)
    >>> options.workers.tolist(), options.slots.tolist(), options.host.tolist()
    ([1, 1, 2, 2, 3], [8, 16, 4, 8, 6], [-1, 0, -1, 0, 0])
    """
    return facts_of(problem).options_of(job)


def keep_facts(problem: Irmp, longer: Irmp) -> None:
    """Keep what is known of a problem for one with the same jobs and more."""
    old, new = facts_of(problem), facts_of(longer)
    new.options.update(old.options)
    new.order.update(old.order)
    if new.most == old.most:
        known = {name: old.__dict__[name] for name in SHARED if name in old.__dict__}
        new.__dict__.update(known)


#: facts of a problem that its widest job decides
SHARED = ("need", "fitting", "printed")


# --- Algorithm 3 for one job ----------------------------------------------------------------------


def best_response(
    problem: Irmp,
    job: int,
    free: Ints,
    prices: ArrayLike,
    values: ArrayLike,
    *,
    begin: int,
    end: int,
    room: ArrayLike | None = None,
    literal: bool = False,
) -> Response | None:
    """Return the run of a job that is worth most after its cost, problem (9), or None.

    Parameters
    ----------
    problem : Irmp
    job : int
    free : (2, nodes, T) ints
        Workers and PSs free on each node in each slot [t, t + 1).
    prices : (2, T) or (types, 2, T) floats
        eta_w, eta_p of each slot, equal on all nodes of a type; types as in ``problem.models``.
    values : (at least end + 1,) floats
        What a completion at time t is worth; not rising.
    begin, end : int
        The run lies in [begin, end). Releases and the horizon are the caller's business.
    room : (2, T) or (types, 2, T) ints, optional
        What is left of the quota of the job's user, stage 1 of Algorithm 2.
    literal : bool
        Algorithms 3-5 as printed in W8, W9, W10; one type of nodes.

    Returns
    -------
    Response or None
        None where no run is worth more than its cost (by more than 1e-9).

    Raises
    ------
    ValueError
        Shapes that do not fit, or prices that are negative, no numbers or infinite.

    Notes
    -----
    Guarantee: with utilities that do not rise, an optimum of (9) (Lemma 2, in the repaired
    reading). `literal` has none; its runs may break (3i).

    Ties: the earliest start, then the fewest workers, then one node, then the lowest types. Of
    several nodes for a central run the first; as host of PSs the one that needs fewest, then the
    first; the other workers on nodes with fewest free workers, then the first.

    As printed it costs O(T D T S). Here each pair (start, D_w) is bounded by f(end) - D_w W - P z
    for sums W and P of prices and the least z that any node allows; starts with the largest bound
    are tried first, and nodes are looked at only where the bound exceeds the best.

    Examples
    --------
    Section 4.4: j^11 on its own runs on one node from the first slot on.

    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> cluster = Cluster([Node(f"s{i}", 2, ps=1) for i in (1, 2, 3, 4)])
    >>> job = ParameterServerJob(id="11", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> problem = Irmp(Instance(cluster, [job]))
    >>> free = Occupancy(problem, slots=4).free
    >>> values = [0] + [job.utility.value(t) for t in (1, 2, 3, 4)]
    >>> best_response(problem, 0, free, np.zeros((2, 4)), values, begin=0, end=4)
    Response(job=0, start=0, end=2, workers=2, nodes={0: 2}, ps={0: 1}, value=96.0, cost=0.0)
    """
    check_class("best_response", problem, Irmp)
    facts = facts_of(problem)
    if literal and facts.types > 1:
        raise ValueError("best_response: literal=True, Algorithms 3-5 know one type of servers")
    slots = free.shape[2]
    worth: Floats = np.ascontiguousarray(values, dtype=np.float64)
    if not 0 <= begin <= end <= slots or worth.ndim != 1 or worth.size <= end:
        raise ValueError(
            f"best_response: window [{begin}, {end}) does not fit {slots} slots and values of "
            f"shape {worth.shape}"
        )
    _check_shape("free", free, (*facts.capacity.shape, slots))
    priced: Floats = _per_type(facts, prices, slots, "prices", np.float64)
    if priced.size and not priced.min() >= 0:
        raise ValueError("best_response: prices are not all numbers >= 0")
    sums = np.zeros((facts.types, 2, slots + 1))
    with np.errstate(over="ignore"):
        np.cumsum(priced, axis=2, out=sums[:, :, 1:])
    if not np.isfinite(sums[:, :, -1]).all():
        raise ValueError("best_response: prices add up to more than a float can hold")
    rooms = None if room is None else _per_type(facts, room, slots, "room", np.int64)
    facts.tuples += (end - begin) * problem.jobs[job].gpus
    return _best(facts, job, free, sums, rooms, worth, begin, end, printed=literal)


def _per_type(facts: _Facts, given: ArrayLike, slots: int, name: str, dtype: Any) -> Any:
    array = np.ascontiguousarray(given, dtype=dtype)
    if facts.types == 1 and array.ndim == 2:
        array = array[None]
    _check_shape(name, array, (facts.types, 2, slots))
    return array


def _check_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Machine code does not look at whether an index is beyond its array."""
    if array.shape != shape:
        raise ValueError(f"best_response: {name} has shape {array.shape}, not {shape}")


def _best(
    facts: _Facts, job: int, free: Ints, sums: Floats, room: Ints | None, values: Floats,
    begin: int, end: int, *, printed: bool,
) -> Response | None:  # fmt: skip
    """Algorithm 3; `sums` are (types, 2, T + 1) prices of all slots before."""
    from . import response_core as core  # numba takes a second to import

    options = facts.options_of(job, printed=printed)
    if printed and room is not None:
        room = np.repeat(room[:, :1], 2, axis=1)  # W9
    found = core.best(
        free, room, facts.model, facts.types, options, facts.order[job, printed], facts.need,
        sums, values, begin, end, MARGIN, printed,
    )  # fmt: skip
    if found is None:
        return None
    start, i, _, ps = found
    stop, kind, host = start + int(options.slots[i]), int(options.kind[i]), int(options.host[i])
    cost = core.cost_of(
        sums, int(options.workers[i]), ps, kind, kind if host < 0 else host, start, stop,
        host < 0 and printed,
    )  # fmt: skip
    return _response(facts, job, free, options, found, float(values[stop]), cost)


def _placed(facts: _Facts, least: Ints, workers: int, kind: int, host: int) -> dict[int, int]:
    """Lines 14-20 of MINCOSTD: workers on each node."""
    there = int(least[WORKERS, host]) if facts.model[host] == kind else 0
    nodes = {host: min(workers - 1, there)}  # line 14
    left = workers - nodes[host]  # line 15
    order = np.argsort(least[WORKERS], kind="stable")  # line 16
    for s in order[facts.model[order] == kind].tolist():  # line 17
        taken = min(int(least[WORKERS, s]), left)  # line 18
        if taken and s != host:
            nodes[s] = taken
            left -= taken  # line 19
    return nodes


def _response(
    facts: _Facts, job: int, free: Ints, options: RunOptions, found: _Found, value: float,
    cost: float,
) -> Response:  # fmt: skip
    """What was found, on its nodes."""
    start, option, host, ps = found
    workers, stop = int(options.workers[option]), start + int(options.slots[option])
    if options.host[option] < 0:
        nodes = {host: workers}
    else:
        last = free.shape[2] - 1
        least = free[:, :, min(start, last) : max(stop, 1)].min(axis=2)
        nodes = _placed(facts, least, workers, int(options.kind[option]), host)
    return Response(job, start, stop, workers, nodes, {host: ps}, value, cost)


# --- price 0, for lists ---------------------------------------------------------------------------


def zero_price_response(
    problem: Irmp, job: int, free: Ints, *, begin: int, limit: int
) -> Response | None:
    """Return the run of a job that is worth most if resources cost nothing, or None.

    Parameters
    ----------
    problem : Irmp
    job : int
    free : (2, nodes, T) ints
        Workers and PSs free in each slot; the last slot stands for all later ones.
    begin : int
        Where the search starts; the job's release counts, too.
    limit : int
        Latest end, which may lie after T; the problem's horizon counts, too.

    Returns
    -------
    Response or None
        None where no run fits. The value may be negative: whether it is accepted is up to the
        caller.

    Notes
    -----
    Guarantee: an optimum. Ties: fewest worker-slots D_w d, then the earliest start, then fewest
    workers, then one node; nodes as in :func:`best_response`.

    Only ends of other runs and `begin` can be the earliest start of an option. Complexity: O(K S)
    for each of K starts that is tried, and O(S T) to find them.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> cluster = Cluster([Node("s1", 2, ps=1), Node("s2", 2, ps=1)])
    >>> job = ParameterServerJob(id="j", gpus=3, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> problem = Irmp(Instance(cluster, [job]))
    >>> zero_price_response(problem, 0, Occupancy(problem).free, begin=0, limit=9)
    Response(job=0, start=0, end=3, workers=2, nodes={0: 2}, ps={0: 1}, value=94.0, cost=0.0)
    """
    facts = facts_of(problem)
    options, begin = facts.options_of(job), max(begin, problem.earliest(job))
    if problem.horizon is not None:
        limit = min(limit, problem.horizon)
    found = _earliest(facts, job, free, begin, limit, flat=False)
    if found is None:
        return None
    end = found[0] + int(options.slots[found[1]])
    value = problem.value(job, end)
    times = range(end + 1, limit + 1)  # the last that is as good
    last = end + bisect_left(times, True, key=lambda t: problem.value(job, t) != value)
    if last > end:
        found = _earliest(facts, job, free, begin, last, flat=True) or found
    return _response(facts, job, free, options, found, value, 0.0)


def _earliest(
    facts: _Facts, job: int, free: Ints, begin: int, limit: int, *, flat: bool
) -> _Found | None:
    """(start, option, host, PSs) that ends first; `flat`: of least work."""
    from . import response_core as core  # numba takes a second to import

    return core.earliest(
        free, facts.model, facts.types, facts.options_of(job), facts.order[job, False],
        facts.need, begin, limit, flat,
    )  # fmt: skip


def longer(array: Any, fill: ArrayLike, more: int) -> Any:
    """Return an array with more slots, the last axis, of which new ones are filled."""
    added = np.broadcast_to(np.asarray(fill)[..., None], (*array.shape[:-1], more))
    return np.concatenate([array, added], axis=-1)


class Occupancy:
    """What is free on each node in each slot; grows with time.

    Parameters
    ----------
    problem : Irmp
    slots : int
        Slots to begin with, at least 1.

    Attributes
    ----------
    free : (2, nodes, T) int array
        Workers and PSs; the last slot is free of runs and stands for all later ones. A new array
        after it has grown.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Linear, Node, ParameterServerJob
    >>> job = ParameterServerJob(id="j", gpus=2, epochs=2, minibatches=1, rates=(1, 0.5),
    ...                          utility=Linear(-2, 100))
    >>> problem = Irmp(Instance(Cluster([Node("s1", 2, ps=1)]), [job]))
    >>> occupancy = Occupancy(problem)
    >>> first = occupancy.best(0)
    >>> occupancy.take(first)
    >>> (first.start, first.end), (occupancy.best(0).start, occupancy.best(0).end)
    ((0, 2), (2, 4))
    >>> first.segment
    Segment(job=0, start=0, end=2, gpus={0: 2}, devices=None, ps={0: 1})
    """

    def __init__(self, problem: Irmp, *, slots: int = 64) -> None:
        self.problem = problem
        self.capacity = facts_of(problem).capacity
        self.free: Ints = np.repeat(self.capacity[:, :, None], max(slots, 1), axis=2)
        #: all is free from here on
        self.busy = 0

    def reach(self, slots: int) -> None:
        """Grow to more than so many slots.

        Parameters
        ----------
        slots : int

        Raises
        ------
        ValueError
            More slots than arrays should have.
        """
        there = self.free.shape[2]
        if slots >= there:
            if slots * self.capacity.size > MOST_CELLS:
                raise ValueError(
                    f"Irmp: runs until slot {slots} on {self.capacity.shape[1]} nodes need arrays "
                    f"of more than {MOST_CELLS:,} entries, use longer slots"
                )
            self.free = longer(self.free, self.capacity, max(slots + 1, 2 * there) - there)

    def take(self, response: Response) -> None:
        """Give a run what it needs.

        Parameters
        ----------
        response : Response
        """
        self.reach(response.end)
        self.busy = max(self.busy, response.end)
        self._change(response, -1)

    def give_back(self, response: Response) -> None:
        """Undo :meth:`take`.

        Parameters
        ----------
        response : Response
        """
        self._change(response, 1)

    def _change(self, response: Response, sign: int) -> None:
        for what, held in enumerate((response.nodes, response.ps)):
            for node, count in held.items():
                self.free[what, node, response.start : response.end] += sign * count

    def best(self, job: int, *, begin: int = 0, limit: int | None = None) -> Response | None:
        """Return the :func:`zero_price_response` of a job.

        Parameters
        ----------
        job : int
        begin : int
        limit : int, optional
            Latest end; without it and without a horizon, the first end that is certain to be
            possible.
        """
        if limit is None:
            limit = self.problem.horizon
        if limit is None:
            shortest = run_options(self.problem, job).slots.min(initial=2**40)
            limit = max(begin, self.problem.earliest(job), self.busy) + int(shortest)
        return zero_price_response(self.problem, job, self.free, begin=begin, limit=limit)
