"""How far from optimal at most: ratios of objectives to proven bounds, and tables of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...formulations.problem import Sense
from ...instances.compiling import seconds_since
from ...instances.schedule import Schedule
from ...solvers.facts import Facts
from ...solvers.result import Bound, Refuted, Result
from ..proofs.bound import LATE, MAKERS
from ..proofs.bound import bound as bound_of
from ..proofs.verify import NoCertificate, verify_bound
from .shown import Shown

__all__ = ["Comparison", "Extras", "Relaxed", "Row", "compare", "ratio"]

logger = logging.getLogger("gangsched")


def ratio(
    result: Result[Any] | float | None, bound: Bound | None, sense: Sense | None = None
) -> float | None:
    """Return objective / bound (bound / objective for a maximisation), always at least 1.

    The objective is at most this many times the optimum; it is a *certified* ratio if `bound` has
    passed :func:`gangsched.analysis.proofs.verify.verify_bound`.

    Parameters
    ----------
    result : Result, float or None
        A result, or the objective alone.
    bound : Bound or None
    sense : Sense or None
        Needed with an objective alone; a result knows its own.

    Returns
    -------
    float or None
        None unless both the objective and the bound are there and positive.

    Raises
    ------
    TypeError
        If an objective comes without `sense`.
    ValueError
        If the objective is better than the bound, or `sense` is not that of the result.

    Examples
    --------
    >>> ratio(12, Bound(10, "area"), Sense.MIN), ratio(12, Bound(15, "lp dual"), Sense.MAX)
    (1.2, 1.25)
    """
    if isinstance(result, Result):
        if sense not in (None, result.sense):
            raise ValueError(f"ratio: sense={sense} is not the result's {result.sense}")
        objective, sense = result.objective, result.sense
    else:
        objective = result
    if sense is None:
        raise TypeError("ratio: an objective alone needs sense=Sense.MIN or Sense.MAX")
    if objective is None or bound is None:
        return None
    worse, better = objective, bound.value
    if sense is Sense.MAX:
        worse, better = better, worse
    if worse < better:
        raise ValueError(
            f"ratio: objective={objective} beats the bound {bound.value} ({bound.method}, "
            f"{sense.value}): a bug to chase"
        )
    return worse / better if better > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a problem adds to its comparisons.

    Parameters
    ----------
    measures : callable or None
        (problem, result) to numbers by name, each a column; None where a solver has no such number.
        What it raises counts as an error of the solver.
    relaxations : mapping of str to callable
        By name, problem to a relaxation of it. A solver whose ``result.facts.relaxation`` is the
        name has solved that one, and is measured against bounds of it.
    legend : sequence of str
        What words mean, of the objective and of relaxations: ``word: meaning``.

    Examples
    --------
    >>> Extras(legend=["number: of segments"]).measures is None
    True
    """

    measures: Callable[[Any, Result[Any]], Mapping[str, float | None]] | None = None
    relaxations: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    legend: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """A relaxation that some solvers of a comparison have solved.

    Parameters
    ----------
    name : str
    problem : Problem
    bound : Bound or None
        Best verified bound of it.
    """

    name: str
    problem: Any
    bound: Bound | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One solver of a comparison.

    Parameters
    ----------
    solver : str
        Name in the comparison.
    status : str
        Value of the result's :class:`Status`, or "error".
    objective : float or None
    bound : Bound or None
        Best bound that was verified, the same in all rows of one problem; not the solver's own
        claim.
    ratio : float or None
        Certified ratio of the two.
    mean_completion : float or None
        Mean over jobs of end - release, in the instance's time unit; schedules only.
    relaxation : str
        Name of the relaxation that the solver has solved; empty for the problem itself.
    measures : mapping of str to float or None
        See :class:`Extras`.
    runtime : float
        Wall seconds of the call.
    error : str
        Kind and message of the exception that the solver raised; else empty.
    result : Result or None

    Examples
    --------
    >>> Row(solver="a", status="error", runtime=0.1, error="KeyError: 3").objective is None
    True
    """

    solver: str
    status: str
    objective: float | None = None
    bound: Bound | None = None
    ratio: float | None = None
    mean_completion: float | None = None
    relaxation: str = ""
    measures: Mapping[str, float | None] = field(default_factory=dict)
    runtime: float
    error: str = ""
    result: Result[Any] | None = None

    @property
    def verdict(self) -> str:
        """What is in hand, and whether a verified bound proves it or the solver says so."""
        if self.bound is not None and self.objective == self.bound.value:
            return "proven optimal"
        return "optimal (claimed)" if self.status == "optimal" else self.status

    @property
    def values(self) -> dict[str, Any]:
        """What columns show of it, by name."""
        names = ("solver", "objective", "ratio", "mean_completion", "runtime", "standing")
        own = {name: getattr(self, name) for name in names}
        return {**self.measures, **own, "bound": None if self.bound is None else self.bound.value}

    @property
    def name(self) -> str:
        """The solver, and the relaxation that it has solved."""
        return f"{self.solver} ({self.relaxation})" if self.relaxation else self.solver

    @property
    def standing(self) -> str:
        """The verdict, and the relaxation that it is of."""
        return f"{self.verdict}, {self.relaxation}" if self.relaxation else self.verdict


@dataclass(frozen=True, kw_only=True)
class Comparison(Shown):
    """Several solvers on one problem, measured against one verified bound; made by `compare`.

    Parameters
    ----------
    problem : Problem
    bound : Bound or None
        Best verified bound; None where nothing could be verified.
    rows : tuple of Row
        In the order of the solvers.
    refuted : tuple of Refuted
        Printed variants whose answer breaks the problem.
    relaxed : tuple of Relaxed
        Relaxations that rows are measured against instead.
    legend : tuple of str
        What words mean, of the objective and of relaxations: ``word: meaning``.
    unfinished : tuple of str
        Solvers, or "bound", that an interrupt kept from finishing.

    Examples
    --------
    See :func:`compare`.
    """

    problem: Any
    bound: Bound | None
    rows: tuple[Row, ...]
    refuted: tuple[Refuted[Any], ...] = ()
    relaxed: tuple[Relaxed, ...] = ()
    legend: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def instance(self) -> str:
        """Name of the problem's instance; empty where it has none."""
        return str(getattr(getattr(self.problem, "instance", None), "name", ""))

    @property
    def sense(self) -> Sense:
        """Whether less or more is better."""
        sense: Sense = self.problem.sense
        return sense

    def best(
        self, among: Callable[[Row], bool] = lambda row: row.objective is not None
    ) -> Row | None:
        """Return the row with the best objective, the first of equals.

        One of a relaxation only where no other has any.

        Parameters
        ----------
        among : callable
            Whether a row counts.
        """
        rows = [row for row in self.rows if among(row)]
        rows = [row for row in rows if not row.relaxation] or rows
        worse = 1 if self.sense is Sense.MIN else -1
        return min(rows, key=lambda row: worse * (row.objective or 0.0), default=None)

    def problem_of(self, row: Row) -> Any:
        """Return the problem that a row is a solution of: its relaxation, where it has one."""
        relaxed = {one.name: one.problem for one in self.relaxed}
        return relaxed.get(row.relaxation, self.problem)

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the rows' measures, in order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.measures))

    @property
    def interrupted(self) -> bool:
        """Whether some of the solvers did not finish."""
        return bool(self.unfinished)


def compare(
    problem: Any,
    solvers: Mapping[str, Callable[[Any], Result[Any] | Refuted[Any]]],
    *,
    bound: Bound | None = None,
    extras: Extras | None = None,
    on_start: Callable[[str], None] | None = None,
    on_result: Callable[[Row | Refuted[Any]], None] | None = None,
    time_limit: float | None = None,
) -> Comparison:
    """Run each solver on `problem` and measure all of them against the best verified bound.

    Parameters
    ----------
    problem : Problem
    solvers : mapping of name to function
        Each takes the problem and returns a Result or a Refuted. They run in this order.
    bound : Bound or None
        A bound to try beside those that the results carry; by default the quick one of
        :func:`gangsched.bound`, for IRMP only where no result carries one.
    extras : Extras, optional
        More columns, and relaxations that solvers solve.
    on_start : function or None
        Called with the name of each solver before it runs, and with "bound" before one is sought.
    on_result : function or None
        Called with each row as soon as it exists, with the best bound so far, and with each
        Refuted.
    time_limit : float or None
        Seconds for each bound that is looked for.

    Returns
    -------
    Comparison
        Ctrl-C keeps the solvers that have finished and names the others in `unfinished`. A solver
        that raises an exception gets a row with status "error", and the others go on; so does one
        whose bound has a certificate that does not hold, or whose solution the problem finds
        infeasible or of another value.

    Raises
    ------
    InvalidCertificate, NoCertificate
        If the given `bound`, or one that was looked for, cannot be verified.
    ValueError
        If an objective is better than a verified bound: a bug to chase.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> from gangsched.solvers import Stop
    >>> from gangsched.formulations.rar_ddls import RarDdls, evaluate
    >>> jobs = [RingJob(id=i, gpus=1, iterations=60, gradient=0, base_time=0.7) for i in "abc"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([1, 1]), jobs))
    >>> def one_gpu(problem):
    ...     schedule = evaluate(problem, [0, 60, 120], [{0: 1}] * 3)
    ...     return Result.of(problem, schedule, solver="one_gpu", stop=Stop.COMPLETED)
    >>> comparison = compare(problem, {"one GPU": one_gpu})
    >>> row = comparison.rows[0]
    >>> row.objective, row.bound.value, row.ratio, row.mean_completion
    (180, 120, 1.5, 120.0)
    """
    tell = on_start or _silent
    run = _Run(problem, bound, extras or Extras(), time_limit)
    waiting = ["bound", *solvers]
    try:
        tell("bound")
        run.find_bound()
        waiting.remove("bound")
        for name, solver in solvers.items():
            tell(name)
            outcome = run.call(name, solver)
            waiting.remove(name)
            if on_result is not None:
                on_result(run.measured(outcome) if isinstance(outcome, Row) else outcome)
        waiting.append("bound")
        tell("bound")
        run.find_missing_bounds()
        waiting.remove("bound")
    except KeyboardInterrupt:
        logger.warning("interrupted: %s did not finish", ", ".join(waiting) or "nothing")
    return run.comparison(tuple(waiting))


def _silent(_: str) -> None:
    """Report progress to nobody."""


class _Run:
    """What a comparison has found so far."""

    def __init__(
        self, problem: Any, bound: Bound | None, extras: Extras, time_limit: float | None
    ) -> None:
        self.extras, self.time_limit = extras, time_limit
        self.problems: dict[str, Any] = {"": problem}  # and relaxations that were solved
        self.bounds: dict[str, Bound] = {}
        self.rows: list[Row] = []
        self.refuted: list[Refuted[Any]] = []
        if bound is not None:
            verify_bound(problem, bound)
            self.bounds[""] = bound

    def call(self, name: str, solver: Callable[[Any], Any]) -> Row | Refuted[Any]:
        started = time.perf_counter()
        try:
            outcome = solver(self.problems[""])
            runtime = seconds_since(started)
            if isinstance(outcome, Refuted):
                refuted = Refuted(name, outcome.solution, outcome.violations)
                self.refuted.append(refuted)
                return refuted
            self.rows.append(self._row(name, outcome, runtime))
        except (Exception, SystemExit) as error:
            logger.debug("solver %s failed", name, exc_info=True)
            message = f"{type(error).__name__}: {error}"
            runtime = seconds_since(started)
            self.rows.append(Row(solver=name, status="error", runtime=runtime, error=message))
        return self.rows[-1]

    def _row(self, name: str, result: Any, runtime: float) -> Row:
        if not isinstance(result, Result):
            raise TypeError(f"a solver returns a Result or a Refuted, not {type(result).__name__}")
        relaxation = self._relaxation(result)
        problem = self.problems[relaxation]
        if result.solution is not None:
            _check(problem, result)
        self._take(relaxation, result.bound)
        measures = None if result.solution is None else self.extras.measures
        return Row(
            solver=name,
            status=result.status.value,
            objective=result.objective,
            mean_completion=_mean_completion(problem, result.solution),
            relaxation=relaxation,
            measures=measures(problem, result) if measures else {},
            runtime=runtime,
            result=result,
        )

    def _relaxation(self, result: Result[Any]) -> str:
        """Name of the relaxation that a result solves; empty for the problem itself."""
        name = Facts.of(result).relaxation
        if name not in self.extras.relaxations:
            return ""
        if name not in self.problems:
            self.problems[name] = self.extras.relaxations[name](self.problems[""])
        return name if self.problems[name] != self.problems[""] else ""

    def _take(self, relaxation: str, bound: Bound | None) -> None:
        """Keep a result's bound if it is better than the best so far and can be verified."""
        if bound is None:
            return
        problem, best = self.problems[relaxation], self.bounds.get(relaxation)
        if best is not None:
            gain = bound.value - best.value
            if (gain if problem.sense is Sense.MIN else -gain) <= 0:
                return
        try:
            verify_bound(problem, bound)
        except NoCertificate:
            return
        self.bounds[relaxation] = bound

    def find_bound(self) -> None:
        """Look for a bound of the problem where none is given and that is soon done."""
        if type(self.problems[""]) not in LATE:
            self._look("")

    def find_missing_bounds(self) -> None:
        """Look for a bound of what was solved and has none."""
        for name in dict.fromkeys(row.relaxation for row in self.rows if row.result is not None):
            self._look(name)

    def _look(self, name: str) -> None:
        problem = self.problems[name]
        if name in self.bounds or type(problem) not in MAKERS:
            return
        try:
            bound = bound_of(problem, "quick", self.time_limit)
        except ValueError as error:  # numbers too large to be counted exactly
            logger.warning("no bound of %s: %s", type(problem).__name__, error)
            return
        verify_bound(problem, bound)
        self.bounds[name] = bound

    def measured(self, row: Row) -> Row:
        """The row with the best bound and the ratio to it."""
        bound = self.bounds.get(row.relaxation)
        certified = ratio(row.objective, bound, self.problems[""].sense)
        return replace(row, bound=bound, ratio=certified)

    def comparison(self, unfinished: tuple[str, ...]) -> Comparison:
        problem, solved = self.problems[""], {row.relaxation for row in self.rows}
        return Comparison(
            problem=problem,
            bound=self.bounds.get(""),
            rows=tuple(self.measured(row) for row in self.rows),
            refuted=tuple(self.refuted),
            relaxed=tuple(
                Relaxed(name=name, problem=relaxed, bound=self.bounds.get(name))
                for name, relaxed in self.problems.items()
                if name and name in solved
            ),
            legend=tuple(self.extras.legend),
            unfinished=unfinished,
        )


def _check(problem: Any, result: Result[Any]) -> None:
    """Refuse a result that :meth:`Result.of` would not have made; what it has made is checked."""
    if result.is_checked(problem):
        return
    violations = problem.violations(result.solution)
    if violations:
        raise ValueError(f"infeasible solution: {violations[0]}")
    value = problem.objective(result.solution)
    if result.objective != value:
        raise ValueError(f"objective={result.objective}, but its solution has {value}")


def _mean_completion(problem: Any, solution: Any) -> float | None:
    """Mean of end - release over all jobs that the schedule runs."""
    if not isinstance(solution, Schedule) or not len(solution):
        return None
    jobs = problem.instance.jobs
    end = np.zeros(len(jobs), dtype=np.int64)
    np.maximum.at(end, solution.job, solution.end)
    ran = np.unique(solution.job).tolist()
    return float(sum(int(end[j]) - jobs[j].release for j in ran) / len(ran))
