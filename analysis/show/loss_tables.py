"""Tables of ledgers: of what each policy's loss over the bound consists, in two orders."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..comparing.losses import LossLedger
from ..comparing.replayed import Replay
from .columns import SAID, Column, ColumnTable, fixed

#: terms, in both orders; each ledger has its own name for the policy's first one
TERMS = (
    "fairness", "order", "ignorance", "non-preemption", "restart overhead", "rounds", "nodes",
    "rest", "open",
)  # fmt: skip
ORDERS = "hours,\npolicy first", "hours,\ncluster first"
MOST_POLICIES = 6  #: side by side


def loss_tables(found: Replay) -> list[ColumnTable]:
    """Return a table for each order and half a dozen policies."""
    known = [one for one in found.ledgers.values() if not isinstance(one, str)]
    return [
        _table(known[first : first + MOST_POLICIES], order)
        for order in range(len(ORDERS))
        for first in range(0, len(known), MOST_POLICIES)
    ]


def loss_notes(found: Replay) -> list[str]:
    """Return what the tables mean, and which rows have no ledger."""
    lacking = [f"{name}: {one}" for name, one in found.ledgers.items() if isinstance(one, str)]
    words = [SAID["losses"]] if len(lacking) < len(found.ledgers) else []
    return [*words, *(f"No ledger of {text}" for text in lacking)]


def _table(ledgers: list[LossLedger], order: int) -> ColumnTable:
    hours = partial(fixed, places=3, comma=",", size=3600)
    columns = [Column("name", ORDERS[order])]
    columns += [Column(one.policy, one.policy, "", -1, hours) for one in ledgers]
    terms = {one.policy: {t.name: t.seconds for t in one.orders[order]} for one in ledgers}
    rows: list[dict[str, Any]] = [
        {"name": "mean completion", **{one.policy: one.attained for one in ledgers}}
    ]
    for term in TERMS:
        values = {name: own[term] for name, own in terms.items() if term in own}
        if values:
            rows.append({"name": term, **values})
    rows.append({"name": "any policy ≥", **{one.policy: one.bound for one in ledgers}})
    return ColumnTable(tuple(columns), tuple(rows))
