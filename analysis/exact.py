"""The optimum of any problem: a portfolio of heuristics, a certified bound, branch and bound.

Branch and bound (:func:`gangsched.solvers.exact.branch_and_bound`) knows a model only. What else a
problem has is in other folders: heuristics in those of the papers, certified bounds in
:mod:`gangsched.analysis.proofs.bound`, above all solvers. This module stands above both and puts
them together, so that no solver has to know a proof, and none another paper's solver:

1. the quick bound;
2. the heuristics of :data:`PORTFOLIOS`, in their order and with seed 0, until one meets the bound;
3. where none does, the full bound;
4. for RAR-DDLS, a longer run of the laminar search, where time is left;
5. where it is not met either, branch and bound, from the best solution and the bound: over windows
   of ends for completion times, rewards and users on equal GPUs
   (:mod:`gangsched.analysis.proofs.window_tree`), for RAR-DDLS by CP-SAT
   (:mod:`gangsched.solvers.ours.rar_ddls.cp_search`) where it is installed, else of the model.

Windows of up to 30 jobs are searched before 3; then heuristics and bounds have a tenth of a limit.

The bound of the result is never weaker than ``gangsched.bound(problem, effort="full")`` without a
time limit. With a limit T, the heuristics have :data:`SHARE` T, and so have both bounds together.
The quick one is found in any case, or its beginning where it is a search. Heuristics that take no
limit have a largest number of jobs, above which they run without a limit only.

Any other problem that is too large for a model keeps what 1 to 4 give. So does a market: its
programs are no Pyomo models, and step 2 solves them to the optimum up to rounding.

Deviations: IRMP has an exact solver of its own (:func:`gangsched.solvers.irmp_exact`, which is what
``gangsched solve --solver exact`` runs): it makes both the start and the certified bound itself.
The same holds of the fluid shares of LTGF.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from typing import Any

from ..formulations.problem import NoModel, Problem, Sense
from ..formulations.rar_ddls.problem import RarDdls
from ..formulations.rows import MODEL_LIMIT
from ..instances.shipped import shipped
from ..solvers.backends import named, works
from ..solvers.exact import ExactParams, branch_and_bound, form_of, meets
from ..solvers.history import History
from ..solvers.result import Bound, Result, Stop
from ..solvers.signature import solver as declared
from .proofs.bound import MAKERS, Effort, by_class, no_weaker, strengthened
from .proofs.verify import verify_bound
from .proofs.window_goals import WindowGoal, goal_of
from .proofs.window_tree import WindowSearch

log = logging.getLogger("gangsched")

#: of a time limit: what the heuristics may take at most, and again what the bounds may
SHARE = 0.25
#: jobs up to which windows are searched before all bounds are found, and the share then
FEW, FEW_SHARE = 30, 0.1


@dataclass(frozen=True, slots=True)
class _Heuristic:
    """A solver by its place below ``gangsched.solvers``, and the parameters that it runs with.

    One that takes no time limit is quick for `most` jobs, and under a limit runs up to as many; the
    `plain` ones, which need no machine code, also where no time is left, for a second if nothing is
    known. Above `few` jobs it comes after the others, as its time grows faster than theirs.
    """

    name: str
    place: str
    params: Mapping[str, Any] = field(default_factory=dict)
    most: float = math.inf
    plain: bool = False
    few: float = math.inf

    def runs(self, jobs: int, left: float | None) -> bool:
        """Whether it is to run when so many seconds are left, None for no limit."""
        return left is None or (jobs <= self.most and (left > 0 or self.plain))

    def __call__(self, problem: Any, left: float | None) -> Result[Any]:
        module, _, name = self.place.rpartition(".")
        solve = getattr(import_module(f"..solvers.{module}", __package__), name)
        found: Result[Any] = solve(
            problem, seed=0, time_limit=left, params=solve.params(**self.params)
        )
        return found


#: by problem: its heuristics, the quickest first; of equal solutions the first one's is taken
PORTFOLIOS: Mapping[type, tuple[_Heuristic, ...]] = by_class(
    {
        problem: tuple(_Heuristic(name, **row) for name, row in rows.items())
        for problem, rows in shipped("gangsched.analysis", "portfolios").items()
    }
)
#: what is run for longer where a model has more variables than can be searched
LONGER: Mapping[str, int] = {"fillings": 30_000, "rounds": 160, "steps": 1_600_000}


@dataclass(slots=True, eq=False)
class _Known:
    """What is known of a problem before its model is built."""

    problem: Problem[Any]
    history: History
    time_limit: float | None
    solution: Any = None
    bound: Bound | None = None
    part: float = SHARE
    proving: float = 0.0  # seconds
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether the solution meets the bound."""
        both = self.solution is not None and self.bound is not None
        return both and meets(self.problem, self.solution, self.bound)  # type: ignore[arg-type]

    @property
    def share(self) -> float | None:
        """Seconds for one of the steps."""
        return None if self.time_limit is None else self.part * self.time_limit

    def prove(self, *efforts: Effort) -> None:
        """Look for a better bound, in what is left of its share."""
        if type(self.problem) in MAKERS:
            began = time.perf_counter()
            left = None if self.share is None else max(self.share - self.proving, 0.0)
            self.bound = strengthened(self.problem, self.bound, efforts, left)
            self.history.note(bound=self.bound.value)
            self.proving += time.perf_counter() - began

    def run_portfolio(self) -> None:
        """Run heuristics until one meets the bound."""
        end = time.perf_counter() + (math.inf if self.share is None else self.share)
        values = self.notes["heuristics"] = {}
        jobs = len(getattr(self.problem, "jobs", ()))
        portfolio = PORTFOLIOS.get(type(self.problem), ())
        for heuristic in sorted(portfolio, key=lambda one: jobs > one.few):
            if self.met:
                break
            left = None if self.share is None else end - time.perf_counter()
            if not heuristic.runs(jobs, left):
                values[heuristic.name] = "not run: it might take longer than the limit allows"
                continue
            try:
                least = 1.0 if heuristic.plain and self.solution is None else 0.01
                result = heuristic(self.problem, None if left is None else max(left, least))
            except ValueError as error:  # it is for other problems of the class
                values[heuristic.name] = str(error)
                continue
            values[heuristic.name] = self.take(heuristic.name, result.solution)
            self.accept(result.bound)
            if result.stop is Stop.INTERRUPTED:
                raise KeyboardInterrupt

    def accept(self, bound: Bound | None) -> None:
        """Keep a heuristic's own bound where it is the best one and can be proven."""
        if bound is None or bound.certificate is None or type(self.problem) not in MAKERS:
            return
        verify_bound(self.problem, bound)
        if self.bound is None or not no_weaker(self.problem.sense, self.bound, bound):
            self.bound = bound
            self.history.note(bound=bound.value)

    def run_longer(self) -> None:
        """Search laminar schedules for longer, where the problem has no model of its size."""
        problem = self.problem
        if not isinstance(problem, RarDdls) or self.solution is None or self.bound is None:
            return
        places = len(problem.jobs) * len(problem.instance.cluster.nodes)
        if places * problem.objective(self.solution) <= MODEL_LIMIT:
            return
        left = None
        if self.time_limit is not None:
            left = self.history.started + self.time_limit - time.perf_counter()
        params = {**LONGER, "enough": math.ceil(self.bound.value)}
        longer = _Heuristic("laminar, longer", "ours.rar_ddls.laminar.laminar", params)
        if not longer.runs(len(problem.jobs), left):
            return
        result = longer(problem, left)
        self.notes["heuristics"][longer.name] = self.take(longer.name, result.solution)
        if result.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def result(
        self, stop: Stop, *, infeasible: bool = False, branches: int = 0, **info: Any
    ) -> Result[Any]:
        """The result without branch and bound on a Pyomo model."""
        return Result.of(
            self.problem,
            self.solution,
            solver="exact",
            stop=Stop.PROVEN if self.met or infeasible else stop,
            bound=None if infeasible else self.bound,
            infeasible=infeasible,
            iterations=branches,
            runtime=time.perf_counter() - self.history.started,
            info={**self.notes, **info},
            history=self.history.entries,
        )

    def take(self, name: str, solution: Any) -> float | None:
        """Keep a solution if it is the best; return its objective, None where it is none."""
        if solution is None or self.problem.violations(solution):
            return None
        value = self.problem.objective(solution)
        best = None if self.solution is None else self.problem.objective(self.solution)
        if best is None or (value < best if self.problem.sense is Sense.MIN else value > best):
            self.solution, self.notes["start"] = solution, name
            self.history.note(objective=value)
        return value


@declared(ExactParams)
def solve_exact(
    problem: Problem[Any], *, time_limit: float | None, params: ExactParams
) -> Result[Any]:
    """Solve a problem to proven optimality, or as far as the limits allow.

    Starts from the best of the problem's heuristics, with the best certified bound.

    Guarantee: without limits, and up to the solver's tolerances, an optimal solution or a
    proof that there is none; at a limit, or Ctrl-C, the best solution and bound so far. A
    solution that only the tolerances allow is dropped; the bound holds and the gap is not closed.

    Parameters
    ----------
    problem : Problem
        Any whose `build(form)` gives a Pyomo model.
    time_limit : float, optional
        Wall seconds: at most a quarter for the heuristics and a quarter for the bound. If building
        the model takes what is left, what was known before is returned.
    params : ExactParams
        Without a `form`, a problem that is too large for a Pyomo model, or has none, as markets,
        has what the heuristics and the bound give, with the reason in ``info["note"]``.

    Returns
    -------
    Result
        The bound is certified (:func:`gangsched.verify_bound` accepts it) wherever branch and bound
        has no better one; its own is the solver's claim ("branch and bound" or "cp-sat", without a
        certificate). INFEASIBLE only where proven. ``info["heuristics"]`` has the objective of each
        heuristic that ran, None without a solution, or why it gave none; ``info["start"]`` the
        first of the best. Those behind one that met the bound did not run.

    Raises
    ------
    ValueError
        For an infeasible warm start, an unknown form or solver, a form that neither solves nor
        bounds the problem or is no Pyomo model, a problem without a model and without a start, a
        limit that is not positive, or a work limit for another solver than HiGHS.
    TypeError
        For what is no problem, such as an instance.

    Notes
    -----
    Exponential in the worst case. HiGHS is given the model's standard form directly: of Pyomo's two
    interfaces one passes no start, the other drops the incumbent on Ctrl-C. The same problem
    without a time limit gives the same result.

    Examples
    --------
    >>> from gangsched.formulations import RarDdls
    >>> from gangsched.instances import Cluster, Instance, RingJob
    >>> jobs = [RingJob(id=i, gpus=3, iterations=8, gradient=0.15, base_time=0.01) for i in "ab"]
    >>> problem = RarDdls(Instance(Cluster.of_sizes([2, 2, 2]), jobs), xi1=1, xi2=0.005, alpha=0.5)
    >>> result = solve_exact(problem)
    >>> result.objective, result.status.value, result.bound.method
    (4, 'optimal', 'clique')
    """
    form_of(problem, time_limit, params)
    known = _Known(problem, History(time.perf_counter()), time_limit)
    auto = isinstance(params.warm_start, str)
    if not auto and params.warm_start is not None:
        violations = problem.violations(params.warm_start)
        if violations:
            raise ValueError("solve_exact: the warm start is infeasible: " + "; ".join(violations))
        known.take("given", params.warm_start)
    goal = goal_of(problem) if params == ExactParams(warm_start=params.warm_start) else None
    if goal is not None and goal.gangs.size <= FEW:
        known.part = FEW_SHARE
    try:
        known.prove("quick")
        if auto:
            known.run_portfolio()
        if goal is not None and known.solution is not None and not known.met:
            return _by_windows(known, goal)
        if not known.met:
            known.prove("standard", "full")
        if auto and not known.met:
            known.run_longer()
    except KeyboardInterrupt:
        log.warning("interrupted: what was found before branch and bound is kept")
        return known.result(Stop.INTERRUPTED)
    try:
        if _by_cp_sat(problem, params):
            return _searched(known, params)
        return branch_and_bound(
            problem,
            time_limit=time_limit,
            params=replace(params, warm_start=known.solution),
            bound=known.bound,
            known=known.history,
            info=known.notes,
        )
    except NoModel as error:
        nothing = known.solution is None and (known.bound is None or time_limit is None)
        if params.form is not None or nothing:
            raise
        stop = Stop.COMPLETED if known.solution is not None else Stop.TIME_LIMIT
        return known.result(stop, note=str(error))


def _by_windows(known: _Known, goal: WindowGoal) -> Result[Any]:
    """The result of branch and bound over windows of ends, and of all bounds where that is open."""
    problem, started, limit = known.problem, known.history.started, known.time_limit
    few = goal.gangs.size <= FEW
    if not few:
        known.prove("standard", "full")
    end = math.inf if limit is None else started + limit * (1 - known.part if few else 1)

    def take(solution: Any) -> bool:
        known.take("ends in windows", solution)
        return known.solution is solution

    def noted(value: Fraction) -> None:
        known.history.note(bound=number(value))

    def number(value: Fraction) -> float:
        if value.denominator == 1 and problem.integral:
            return int(value)
        return float(value)

    search = WindowSearch(goal, known.solution, take, lambda: end - time.perf_counter(), noted)
    stop = Stop.COMPLETED
    try:
        search.run()
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    if search.nodes and math.isfinite(search.least):
        known.accept(search.proven(number))
    if stop is not Stop.INTERRUPTED and not known.met:
        stop = Stop.TIME_LIMIT if time.perf_counter() >= end else Stop.COMPLETED
        if few:
            known.prove("standard", "full")
    return known.result(stop, branches=search.nodes)


def _by_cp_sat(problem: Problem[Any], params: ExactParams) -> bool:
    """Whether CP-SAT is to search: where it is asked for, or there and nothing else is."""
    if params.solver != "auto":
        return params.solver == "cp-sat"
    own = type(problem) is RarDdls and params.form is None and params.work_limit is None
    return own and not params.options and works("cp-sat")


def _searched(known: _Known, params: ExactParams) -> Result[Any]:
    """The result of CP-SAT's searches."""
    from ..solvers.ours.rar_ddls.cp_search import CpSearch

    assert isinstance(known.problem, RarDdls)
    search = CpSearch(
        known.problem,
        known.solution,
        0 if known.bound is None else math.ceil(known.bound.value),
        known.history,
        known.time_limit,
        options=named("cp-sat", params.options),
    )
    try:
        search.run()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    known.solution = search.solution
    known.bound = known.bound if search.claim is None else search.claim
    about: dict[str, Any] = {"searches": search.steps} if search.steps else {}
    if search.version:
        about["backend"] = f"cp-sat {search.version}"
    return known.result(
        search.stop, infeasible=search.infeasible, branches=search.branches, **about
    )
