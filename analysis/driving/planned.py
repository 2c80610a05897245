"""Rules that know more than the machine: their records, and what visits rounds with them."""

from __future__ import annotations

from typing import Any

from ...solvers.machine.ledger import Ledger
from ...solvers.machine.machine import Machine
from ...solvers.policies.areas.repacked import (
    advance_filling,
    advance_isolation,
    longer_queues,
    new_order,
)
from ...solvers.policy import Policy, Rule, RuleKind, Rules
from .backfilled import Calendar, advance_conservative, advance_easy, more_steps, new_queue

PLANNED = {
    RuleKind.EASY: advance_easy,
    RuleKind.CONSERVATIVE: advance_conservative,
    RuleKind.FILLING: advance_filling,
    RuleKind.ISOLATION: advance_isolation,
}
STEPS = 64  #: of free GPUs of a node, at first


def new_plan(policy: Policy, rule: Rule, ledger: Ledger, rules: Rules) -> Any:
    """Return the records of a rule before the first round; None where it has none."""
    if rule.kind in (RuleKind.FILLING, RuleKind.ISOLATION):
        return new_order(rule, ledger)
    if rule.kind in (RuleKind.EASY, RuleKind.CONSERVATIVE):
        steps = STEPS if rule.kind is RuleKind.CONSERVATIVE else 0
        return new_queue(policy, ledger, rules.round_length, steps)
    return None


def renewed(plan: Any, machine: Machine) -> Any:
    """Return the records with more room."""
    return more_steps(plan) if isinstance(plan, Calendar) else longer_queues(plan)
