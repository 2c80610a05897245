"""Between what the optimum lies: the bound of a problem, and the best schedule that we find."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...formulations.completion_time.problem import CompletionTime
from ...formulations.problem import Sense
from ...instances.schedule import Schedule
from ...solvers.history import History
from ...solvers.result import Bound, Result, Stop
from ..proofs.bound import Effort, check_effort, strengthened, up_to
from .measures import KNOWN


def bracket(
    problem: Any, effort: Effort = "standard", *, on_progress: Callable[[str], object] | None = None
) -> Result[Schedule]:
    """Return the certified bound of a problem and the best schedule that we find for it.

    Both are those that a replay shows as "any policy" and "best known": the schedule may know all
    jobs in advance and puts gangs on any free GPUs, where pauses and moves are free. The optimum
    lies between the two.

    Parameters
    ----------
    problem : CompletionTime, DeadlineRewards, SharingIncentive or Irmp
    effort : {"quick", "standard", "full"}
        For both, as of :func:`gangsched.bound`. At "full" schedules are annealed, which takes a
        minute for some thousand jobs.
    on_progress : callable (str), optional
        Called with what is being done.

    Returns
    -------
    Result
        ``history`` has both sides over time, :func:`gangsched.plots.bracket` draws them, and
        ``info["order"]`` says how the schedule was found. On Ctrl-C the best of both so far is
        kept once there is a bound.

    Raises
    ------
    ValueError
        If `effort` is unknown.
    TypeError
        For another problem.

    Examples
    --------
    >>> import gangsched as gs
    >>> found = bracket(gs.problem("flow-100-load100"), "quick")
    >>> found.objective, found.bound.value
    (389423, 373792)
    """
    check_effort("bracket", effort)
    if type(problem) not in KNOWN:
        known = ", ".join(kind.__name__ for kind in KNOWN)
        raise TypeError(f"bracket: a {type(problem).__name__} is not one of {known}")
    history, shift = History(time.perf_counter()), 0.0
    if isinstance(problem, CompletionTime) and problem.measure == "completion":
        weighed = zip(problem.weights, problem.jobs, strict=True)
        shift = sum(w * job.release for w, job in weighed) / problem.scale
    bound: Bound | None = None
    best, stop, sign = None, Stop.COMPLETED, 1 if problem.sense is Sense.MIN else -1

    def told(what: str, side: str) -> Callable[[int, float], None]:
        def note(steps: int, value: float) -> None:
            history.note(**{side: value + shift})
            if on_progress is not None:
                on_progress(f"{what}: {steps:,} steps")

        return note

    try:
        bound = strengthened(problem, None, up_to(effort), None, told("bound", "bound"))
        history.note(bound=bound.value)
        for level in up_to(effort):
            found = KNOWN[type(problem)](problem, bound, level, told("schedule", "objective"))
            if found is not None and (
                best is None or sign * (found.objective - best.objective) < 0
            ):
                history.note(objective=found.objective)
                best = found
            if found is not None and found.stop is Stop.INTERRUPTED:
                stop = Stop.INTERRUPTED
                break
    except KeyboardInterrupt:
        if bound is None:
            raise
        stop = Stop.INTERRUPTED
    return Result.of(
        problem, None if best is None else best.schedule, solver="best known", stop=stop,
        bound=bound, runtime=time.perf_counter() - history.started,
        info={"effort": effort, "order": "" if best is None else best.order},
        history=history.entries,
    )  # fmt: skip
