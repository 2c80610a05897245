"""The longest waits of each policy, why they were, and what GPUs were worth meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...solvers.io import bound_to_dict
from ..comparing.replayed import Replay
from ..driving.waits import REASONS
from .columns import SAID, Column, ColumnTable, fixed, lasting, whole

if TYPE_CHECKING:
    from ..driving.waits import Wait

Waits = Mapping[str, Sequence["Wait"]]


def _worth(value: float) -> str:
    return fixed(value, places=3)


COLUMNS = (
    Column("policy", "policy"),
    Column("job", "job"),
    Column("user", "user"),
    Column("gpus", "GPUs", "", 0, whole),
    Column("wait", "wait", "s", -1, lasting),
    Column("why", "reason of\nmost of it"),
    Column("price", "GPU\nprice", "", 0, _worth),
    Column("at_once", "cost\nat once", "s", 0, lasting),
    Column("as_run", "cost\nas run", "s", 0, lasting),
)


def wait_table(found: Replay, waits: Waits) -> ColumnTable:
    """Return a row for each wait, by policy; without prices where there are none.

    Parameters
    ----------
    found : Replay
    waits : mapping of str to sequence of Wait
        By row, as of its method `waits`.
    """
    rows = [_row(found, name, wait) for name, own in waits.items() for wait in own]
    gone = () if _priced(waits) else ("price", "at_once", "as_run")
    return ColumnTable(tuple(c for c in COLUMNS if c.key not in gone), tuple(rows))


def wait_notes(waits: Waits) -> list[str]:
    """Say what the reasons that occur mean, and the prices."""
    main = {wait.main for own in waits.values() for wait in own}
    said = [f"{name}: {text}" for name, text in REASONS.items() if name in main]
    return [*said, SAID["priced"] if _priced(waits) else SAID["unpriced"]] if main else []


def waits_to_dict(found: Replay, waits: Waits) -> dict[str, Any]:
    """Return the waits as plain data, and the bound whose prices they have."""
    ids = found.instance.jobs
    bound = found.price_bound if _priced(waits) else None
    return {
        "bound": bound_to_dict(bound),
        "rows": {
            name: [{**asdict(wait), "job": ids[wait.job].id} for wait in own]
            for name, own in waits.items()
        },
    }


def _priced(waits: Waits) -> bool:
    return any(wait.price is not None for own in waits.values() for wait in own)


def _row(found: Replay, name: str, wait: Wait) -> dict[str, Any]:
    job = found.instance.jobs[wait.job]
    share = wait.reasons[wait.main] / wait.seconds
    return {
        "policy": name,
        "job": job.id,
        "user": job.user,
        "gpus": job.gpus,
        "wait": wait.seconds,
        "why": f"{wait.main}, {share:.0%}",
        "price": wait.price,
        "at_once": wait.at_once,
        "as_run": wait.as_run,
    }
