"""How results look: as text, in notebooks, as plain data, and the table of files and frames.

Each is one function by type, :func:`functools.singledispatch`. Results find them by
:class:`~gangsched.analysis.comparing.shown.Shown`. To show a new type, register it here.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any

from ...solvers.io import bound_to_dict
from ..comparing.comparison import Comparison, Row
from ..comparing.losses import LossLedger
from ..comparing.profiling import ProfiledBound
from ..comparing.replayed import Replay, Replayed
from ..comparing.sharing_frontier import SharingFrontier
from ..comparing.shown import Shown
from .columns import COMPARED, SECTIONS, ColumnTable, computed
from .replay_tables import answer, failures, remarks, tables, whole_table
from .solver_tables import solver_notes, solver_table

# --- the tables, and what stands below them -------------------------------------------------------


@singledispatch
def shown(found: Any) -> Sequence[ColumnTable]:
    """Return the tables of a result that a screen shows."""
    raise TypeError(f"show: a {type(found).__name__} is no result that is known here")


@singledispatch
def whole(found: Any) -> ColumnTable:
    """Return everything that is measured, in one table."""
    return shown(found)[0]


@singledispatch
def notes(found: Any) -> list[str]:
    """Return the lines that stand below the tables."""
    raise TypeError(f"show: a {type(found).__name__} is no result that is known here")


shown.register(Comparison, lambda found: [solver_table(found)])
shown.register(Replay, tables)
whole.register(Replay, whole_table)
notes.register(Comparison, lambda found: [*solver_notes(found), *_cut(found)])
notes.register(Replay, lambda found: [*failures(found), *_cut(found)])


def _cut(found: Comparison | Replay) -> list[str]:
    """Those that an interrupt kept from finishing, in words."""
    return [f"interrupted, not finished: {', '.join(found.unfinished)}"] * found.interrupted


# --- text and notebooks ---------------------------------------------------------------------------


@singledispatch
def text(found: Any) -> str:
    """Return a result as text: its tables and notes."""
    return "\n".join([*map(str, shown(found)), *notes(found)])


@text.register
def _(found: Replay) -> str:
    below = ["\n".join(notes(found))] if notes(found) else []
    head = f"Replay: {found.instance.summary()}\n{answer(found)}".rstrip()
    return "\n\n".join([head, *map(str, shown(found)), *below])


def page(found: Shown) -> str:
    """Return what a notebook shows of a result."""
    said = [answer(found)] if isinstance(found, Replay) else []
    lines = (f"<p>{html.escape(note)}</p>" for note in filter(None, [*said, *notes(found)]))
    return "".join([*(table._repr_html_() for table in shown(found)), *lines])


# --- pictures -------------------------------------------------------------------------------------


def figure(found: SharingFrontier, points: Mapping[str, tuple[float, int]]) -> Any:
    """Return the picture of a frontier, with points beside it."""
    from .frontier_plot import frontier_plot  # matplotlib loads slowly

    return frontier_plot(found, points)


# --- plain data -----------------------------------------------------------------------------------


@singledispatch
def data(found: Any) -> dict[str, Any]:
    """Return JSON-able data; wall time apart in ``timing``, all else is reproducible."""
    raise TypeError(f"show: a {type(found).__name__} is no result that is known here")


@data.register
def _(found: Row) -> dict[str, Any]:
    return {
        "solver": found.solver,
        "status": found.verdict,
        "stop": None if found.result is None else found.result.stop.value,
        "objective": found.objective,
        "ratio": found.ratio,
        "mean_completion": found.mean_completion,
        "relaxation": found.relaxation,
        "measures": {**found.measures, **computed(COMPARED, found)},
        "claimed_bound": bound_to_dict(found.result.bound if found.result else None),
        "error": found.error,
        "timing": {"runtime": found.runtime},
    }


@data.register
def _(found: Comparison) -> dict[str, Any]:
    return {
        "problem": type(found.problem).__name__,
        "instance": found.instance,
        "sense": found.sense.value,
        "bound": bound_to_dict(found.bound),
        "relaxed": {one.name: bound_to_dict(one.bound) for one in found.relaxed},
        "rows": [data(row) for row in found.rows],
        "refuted": [{"solver": r.solver, "violations": list(r.violations)} for r in found.refuted],
        "unfinished": list(found.unfinished),
    }


@data.register
def _(found: Replayed) -> dict[str, Any]:
    run, won = found.run, found.deadlines
    more = [computed(section.every, found) for section in SECTIONS]
    return {
        "name": found.name,
        "policy": run.policy,
        "parameters": dict(run.parameters),
        "seed": run.seed,
        "digest": run.digest(),
        "measures": {k: v for part in (found.measures, *more) for k, v in part.items()},
        "ratios": dict(found.ratios),
        **({"deadlines": dict(won), "elastic": found.elastic} if won is not None else {}),
        **({"revenue": dict(found.revenue)} if found.revenue is not None else {}),
        **({"log": [dict(entry) for entry in run.log]} if run.log else {}),
        **({"users": dict(found.users)} if found.users else {}),
        **({"alone": dict(found.alone)} if found.alone else {}),
        "timing": {"runtime": run.runtime},
    }


@data.register
def _(found: Replay) -> dict[str, Any]:
    ledgers = {n: one if isinstance(one, str) else data(one) for n, one in found.ledgers.items()}
    said = remarks(found)
    return {
        "instance": found.instance.name,
        "instance_hash": found.instance_hash,
        "rules": asdict(found.rules),
        **({"terms": found.terms} if found.problem is not None else {}),
        "effort": found.effort,
        **({"doubts": list(found.doubts)} if found.doubts else {}),
        "rejected": [[found.instance.jobs[j].id, why] for j, why in found.rejected.items()],
        "bounds": {name: bound_to_dict(bound) for name, bound in found.bounds.items()},
        "best_known": {name: list(best) for name, best in found.best_known.items()},
        "users": {name: bound_to_dict(bound) for name, bound in found.sharing.bounds.items()},
        **({"profiled": data(found.profiled)} if found.profiled else {}),
        "fairness": [
            {"what": what, **(bound_to_dict(bound) or {})} for what, _, bound in found.fairness
        ],
        "rows": [data(row) for row in found.rows],
        "failed": [asdict(failure) for failure in found.failed],
        **({"ledgers": ledgers} if ledgers else {}),
        **({"remarks": list(said)} if said else {}),
        "unfinished": list(found.unfinished),
    }


@data.register
def _(found: ProfiledBound) -> dict[str, Any]:
    return {**asdict(found.profiling), **(bound_to_dict(found.bound) or {})}


@data.register
def _(found: LossLedger) -> dict[str, Any]:
    return {
        "policy": found.policy,
        "attained": found.attained,
        "bound": found.bound,
        "orders": [[term._asdict() for term in order] for order in found.orders],
        "runs": [{**run._asdict(), "mean_completion": mean} for run, mean in found.runs.items()],
    }
