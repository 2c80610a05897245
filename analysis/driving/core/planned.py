"""Rules that know more than the machine: their records, and what visits rounds with them."""

from __future__ import annotations

from typing import Any

from ....solvers.policies.backfilling.core import JobQueue
from ....solvers.policy import Policy, Rule, RuleKind, Rules
from ..ledger import Ledger
from .backfilled import advance_conservative, advance_easy, more_steps, queue_of
from .best_effort import advance_best_effort, new_areas
from .machine import Machine
from .priced import PriceLists, advance_priced, new_prices, renew_prices
from .repacked import advance_filling, advance_isolation, longer_queues, new_order

PLANNED = {
    RuleKind.EASY: advance_easy,
    RuleKind.CONSERVATIVE: advance_conservative,
    RuleKind.FILLING: advance_filling,
    RuleKind.ISOLATION: advance_isolation,
    RuleKind.PRICED: advance_priced,
    RuleKind.BEST_EFFORT: advance_best_effort,
}
STEPS = 64  #: of free GPUs of a node, at first


def new_plan(policy: Policy, rule: Rule, ledger: Ledger, rules: Rules) -> Any:
    """Return the records of a rule before the first round; None where it has none."""
    if rule.kind is RuleKind.PRICED:
        return new_prices(ledger, rules)
    if rule.kind is RuleKind.BEST_EFFORT:
        return new_areas(ledger)
    if rule.kind in (RuleKind.FILLING, RuleKind.ISOLATION):
        return new_order(rule, ledger)
    if rule.kind in (RuleKind.EASY, RuleKind.CONSERVATIVE):
        steps = STEPS if rule.kind is RuleKind.CONSERVATIVE else 0
        return queue_of(policy, ledger, rules.round_length, steps)
    return None


def renewed(plan: Any, machine: Machine) -> Any:
    """Return the records with more room, or new prices."""
    if isinstance(plan, PriceLists):
        return renew_prices(plan, machine)
    return more_steps(plan) if isinstance(plan, JobQueue) else longer_queues(plan)
