"""RAR-DDLS by CP-SAT: the relaxation without contention first, contention where it matters."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....formulations.limited import OutOfTime, limited
from ....formulations.problem import NoModel
from ....formulations.rar_ddls.problem import RarDdls
from ....formulations.rows import MODEL_LIMIT
from ....instances.schedule import Schedule
from ... import cp_sat
from ...history import History
from ...result import Bound, Stop
from .slot_model import SlotModel, slot_model

#: jobs x nodes up to which the relaxation is searched
PLACE_LIMIT = 2_000
#: of the time that is left, what the relaxation may take
RELAXED = 0.5
STOPS = {"": Stop.COMPLETED, "time limit": Stop.TIME_LIMIT, "interrupted": Stop.INTERRUPTED}


@dataclass(slots=True, eq=False)
class CpSearch:
    """The best schedule and bound so far, and the searches that improve on them.

    Parameters
    ----------
    problem : RarDdls
    solution : Schedule or None
    least : int
        A bound that is known.
    history : History
    time_limit : float or None
        Wall seconds since the history began.
    options : mapping
        Parameters of CP-SAT; one thread and seed 0 where it has no others.

    Attributes
    ----------
    claim : Bound or None
        A better bound, as CP-SAT claims.
    infeasible : bool
        Whether, as it claims, no schedule ends by the horizon.
    stop : Stop
    steps : list of dict
        Each search: its status, bound, objective and branches.
    """

    problem: RarDdls
    solution: Schedule | None
    least: int
    history: History
    time_limit: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    claim: Bound | None = None
    infeasible: bool = False
    stop: Stop = Stop.COMPLETED
    steps: list[dict[str, Any]] = field(default_factory=list)
    branches: int = 0
    version: str = ""

    def run(self) -> None:
        """Search until the schedule is proven to be best, or the time is over."""
        places = len(self.problem.jobs) * len(self.problem.instance.cluster.nodes)
        if not self.closed and places <= PLACE_LIMIT:
            self._search(contention=False, share=RELAXED)
        if self.closed or self.stop is Stop.INTERRUPTED:
            return
        size = places * self._horizon()
        if size > MODEL_LIMIT:
            note = f"{size} jobs x servers x slots are more than {MODEL_LIMIT}"
            if self.solution is None:
                raise NoModel(f"solve_exact: {note}, too many for CP-SAT")
            self.steps.append({"note": note})
            return
        self._search(contention=True, share=1.0)

    @property
    def closed(self) -> bool:
        """Whether the schedule meets the bound."""
        if self.solution is None:
            return self.infeasible
        return self.problem.objective(self.solution) <= self.least

    def _horizon(self) -> int:
        """The slots that a better schedule may have."""
        longest = int(self.problem.shortest_durations().sum())
        if self.problem.horizon is not None:
            longest = min(longest, self.problem.horizon)
        if self.solution is not None:
            longest = min(longest, self.problem.objective(self.solution) - 1)
        return longest

    def _search(self, *, contention: bool, share: float) -> None:
        """One model, with the horizon and the bound that are known by now."""
        horizon = self._horizon()
        if horizon < self.least:
            return
        left = None
        if self.time_limit is not None:
            left = self.history.started + self.time_limit - time.perf_counter()
            if left <= 0:
                self.stop = Stop.TIME_LIMIT
                return
            left *= share
        least = max(self.least, int(self.problem.shortest_durations().max(initial=0)))
        began = time.perf_counter()
        end = math.inf if left is None else began + left
        try:
            with limited(end):
                model = slot_model(
                    self.problem, horizon=horizon, least=least, contention=contention,
                    hint=self.solution,
                )  # fmt: skip
        except OutOfTime:
            self.stop = Stop.TIME_LIMIT
            return
        left = None if left is None else max(end - time.perf_counter(), 0.01)
        answer = cp_sat.solve(model.program, time_limit=left, options=self.options)
        self.version, self.branches = answer.version, self.branches + answer.branches
        self.stop = STOPS[answer.stopped]
        self.steps.append(
            {
                "model": "with contention" if contention else "without contention",
                "horizon": horizon,
                "status": answer.status,
            }
        )
        self._raise(horizon + 1 if answer.status == "infeasible" else answer.bound)
        if answer.status == "infeasible" and self.solution is None:
            self.infeasible = True
        if answer.values is not None:
            self._take(model, answer.values)

    def _raise(self, bound: float) -> None:
        """Note a bound that CP-SAT claims: no schedule is shorter."""
        value = math.ceil(bound - 1e-6) if math.isfinite(bound) else self.least
        if self.solution is not None:
            value = min(value, self.problem.objective(self.solution))
        if value > self.least:
            self.least, self.claim = value, Bound(value, "cp-sat")
            self.history.note(bound=value)

    def _take(self, model: SlotModel, values: Sequence[int]) -> None:
        """Keep the schedule of a solution where it is one, and better."""
        found = model.schedule(values)
        if found is None or self.problem.violations(found):
            return
        value = self.problem.objective(found)
        if self.solution is None or value < self.problem.objective(self.solution):
            self.solution = found
            self.history.note(objective=value)
