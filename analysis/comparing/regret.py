r"""Of what a policy's loss over the bound consists: a ledger of differences of runs.

A policy of mean completion time F loses F - B over the proven bound B. Between them stand runs that
differ in one thing each, so that every term of the ledger is the difference of two of them:

================  ================================================================================
fairness, order   the policy, less the least area policy that knows and stops as much as it does
ignorance         that, less the one that knows run times
non-preemption    that, less the one that may stop jobs
restart overhead  that, less the same if resuming and moving cost nothing
rounds            that, less the same with rounds of a second
nodes             that, less the same on a pool: one node for each GPU model
rest              that, less the best known schedule, which sees all jobs in advance
open              the best known schedule, less the bound: nobody knows whose fault it is
================  ================================================================================

That is the first order of removal. In the second one overhead and nodes are taken from the policy
itself, then fairness or order, ignorance and non-preemption on the pool, and rounds last: a policy
that decides at every round could not run with rounds of a second. A term depends on the order; what
the two have in common is of the policy. Terms can be negative: a relaxation helps an optimum, not
each policy.

The stand-ins are always the same, one for each kind of policy, whether or not another one of its
kind is better on the trace at hand:

=========  ==========================  =======================================
stops      knows run times             does not
=========  ==========================  =======================================
at will    smallest-area               las: least attained GPU time
never      sjf:backfill                fifo:backfill
=========  ==========================  =======================================

Leases count as stopping at will.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise

from ...instances.model import Cluster, Node, gpus_by_model
from ...solvers.ours.areas.smallest_area import SmallestArea
from ...solvers.policies.fifo import Fifo
from ...solvers.policies.las import Las
from ...solvers.policies.sjf import Sjf
from ...solvers.policy import Policy, Preempts, information_of
from ..driving import check as check_run
from ..driving import metrics
from ..driving.drive import PolicyError, drive
from .losses import LossLedger, Term, Variant
from .replayed import Replay

FAIR = frozenset(
    {"ltgf", "themis", "themis-greedy", "gandiva-fair", "finish-time-fairness", "max-min-fairness"}
)  #: names of policies that are made to be fair
#: by whether run times are known, and whether jobs are stopped
STAND_INS: Mapping[tuple[bool, bool], tuple[str, Policy]] = {
    (True, True): ("smallest-area", SmallestArea()),
    (True, False): ("sjf:backfill", Sjf(blocking=False)),
    (False, True): ("las", Las()),
    (False, False): ("fifo:backfill", Fifo(blocking=False)),
}
BEST = STAND_INS[True, True][0]


def ledger(
    found: Replay,
    policies: Mapping[str, Policy],
    *,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, LossLedger | str]:
    """Say of what the losses of a replay's policies consist.

    Parameters
    ----------
    found : Replay
        With a bound of the flow.
    policies : mapping of str to Policy
        Of its rows, by name.
    on_progress : callable, optional
        As of :func:`gangsched.replay`.

    Returns
    -------
    mapping of str to LossLedger or str
        By row in their order; where there is none, why.

    Raises
    ------
    ValueError
        Where a policy has the name of another one that is needed, or a run breaks a rule of its
        cluster.

    Notes
    -----
    Two to seven more runs for the first policy, two for each other one of its kind.

    Examples
    --------
    Under first come, first served the short job waits for the long one; it is the order's fault.

    >>> import gangsched as gs
    >>> jobs = [gs.Job(id="long", gpus=2, work=600), gs.Job(id="short", gpus=2, work=60)]
    >>> found = gs.replay(gs.Instance(gs.Cluster.of_sizes([2]), jobs), ["fifo"], ledger=True)
    >>> [(term.name, term.seconds) for term in found.ledgers["fifo"].orders[0] if term.seconds]
    [('ignorance', 270.0)]
    """
    work = _Runs(found, policies, on_progress)
    made: dict[str, LossLedger | str] = {}
    for row in found.rows:
        if row.name not in policies:
            made[row.name] = "it is no policy, or one that looks ahead"
        elif row.ratios.get("flow") is None:
            made[row.name] = "its mean completion time has no certified ratio"
        else:
            try:
                made[row.name] = work.ledger(row.name)
            except _CannotRunError as error:
                made[row.name] = str(error)
    return made


class _CannotRunError(Exception):
    """Raised for a variant that cannot run, with the reason."""


class _Runs:
    """The runs that ledgers need, each once."""

    def __init__(
        self,
        found: Replay,
        policies: Mapping[str, Policy],
        on_progress: Callable[[str, int, int], None] | None,
    ) -> None:
        self.found, self.on_progress = found, on_progress
        self.policies = dict(policies)
        for name, one in STAND_INS.values():
            if self.policies.setdefault(name, one) != one:
                raise ValueError(f"ledger: {name!r} is not gangsched's policy of this name")
        self.jobs = len(found.instance.jobs) - len(found.rejected)
        self.means = {
            Variant(row.name): float(mean)
            for row in found.rows
            if (mean := row.measures["mean_completion"]) is not None
        }

    def mean(self, variant: Variant) -> float:
        """The mean completion time of a variant, in seconds."""
        if variant not in self.means:
            self.means[variant] = self._run(variant)
        return self.means[variant]

    def _run(self, variant: Variant) -> float:
        policy = self.policies[variant.policy]
        rules, instance = self.found.rules, self.found.instance
        if variant.free:
            rules = replace(rules, overhead=0, migration=None)
        if variant.seconds:
            rules = replace(rules, round_length=1)
        if variant.pool:
            instance = replace(instance, cluster=pool_of(instance.cluster))
        show = self.on_progress
        try:
            run = drive(
                instance, policy, **asdict(rules), reject=self.found.rejected,
                on_progress=None if show is None else partial(show, str(variant)),
            )  # fmt: skip
        except (PolicyError, ValueError) as error:
            raise _CannotRunError(f"{variant} cannot run: {error}") from error
        if broken := check_run.violations(run, preempts=policy.preempts):
            raise ValueError(f"ledger: the run of {variant} breaks a rule: {broken[0]}")
        return float(metrics.summary(run)["mean_completion"] or 0)

    def ledger(self, name: str) -> LossLedger:
        """The ledger of one policy."""
        steps = [list(order) for order in _orders(name, self.policies[name])]
        runs = {variant: self.mean(variant) for order in steps for _, variant in order}
        bound = self.found.bounds["flow"].value / self.jobs
        last = [("bound", float(bound))]
        if "flow" in self.found.best_known:
            value, whose = self.found.best_known["flow"]
            last.insert(0, (f"best known ({whose})", value / self.jobs))
        names = ["rest", "open"][: len(last)]
        orders = []
        for order in steps:
            stations = [(str(variant), runs[variant]) for _, variant in order] + last
            terms = [what for what, _ in order[1:]] + names
            orders.append(
                tuple(
                    Term(what, more - less, before, after)
                    for what, ((before, more), (after, less)) in zip(
                        terms, pairwise(stations), strict=True
                    )
                )
            )
        return LossLedger(name, runs[Variant(name)], float(bound), tuple(orders), runs)


def _orders(name: str, policy: Policy) -> Iterator[Sequence[tuple[str, Variant]]]:
    """Both orders: variants from the policy on, each with the term that leads to it."""
    knows, stops = information_of(policy) is not None, policy.preempts is not Preempts.NEVER
    chain = [(knows, stops), (True, stops), (True, True)]
    own = "fairness" if policy.name.partition(":")[0] in FAIR else "order"  # whatever it knows
    others = [
        (term, STAND_INS[kind][0])
        for term, kind in zip((own, "ignorance", "non-preemption"), chain, strict=True)
    ]
    yield [
        ("", Variant(name)),
        *((term, Variant(other)) for term, other in others),
        ("restart overhead", Variant(BEST, free=True)),
        ("rounds", Variant(BEST, free=True, seconds=True)),
        ("nodes", Variant(BEST, free=True, seconds=True, pool=True)),
    ]
    yield [
        ("", Variant(name)),
        ("restart overhead", Variant(name, free=True)),
        ("nodes", Variant(name, free=True, pool=True)),
        *((term, Variant(other, free=True, pool=True)) for term, other in others),
        ("rounds", Variant(BEST, free=True, pool=True, seconds=True)),
    ]


def pool_of(cluster: Cluster) -> Cluster:
    """Return a cluster with the same GPUs, those of each model on one node.

    Examples
    --------
    >>> [node.gpus for node in pool_of(Cluster.of_sizes([8, 8, 4])).nodes]
    [20]
    """
    return Cluster(
        [Node(model or "pool", gpus, model) for model, gpus in gpus_by_model(cluster).items()]
    )
