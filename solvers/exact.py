"""Offline optimum of any problem, by branch and bound on its declarative model.

It starts from what it is handed: :mod:`gangsched.analysis.exact` makes the start and the bound, of
solvers and proofs that stand in other folders.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from pyomo.opt import TerminationCondition, WriterFactory

from ..formulations.limited import OutOfTime, check_time, limited
from ..formulations.problem import Model, NoModel, Problem, Sense
from .backends import check, named
from .highs import EXACT, load, new, run_interruptibly, start_from
from .history import History
from .result import Bound, Result, Stop, is_proven

log = logging.getLogger("gangsched")

#: what HiGHS is run with; no gap is left, and one run is like the other
HIGHS_OPTIONS: Mapping[str, Any] = {"output_flag": False, "random_seed": 0, **EXACT}
#: how far a solver's bound may be off: such a bound of an integral problem is still rounded up
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a solver said of a model.

    Parameters
    ----------
    stop : Stop
    infeasible : bool
        Proven, not just nothing found.
    found : bool
        The model's variables hold a solution.
    bound : float or None
        On the model's objective; None where none is known.
    nodes : int
    info : mapping
        Solver, version, settings, size of the model.
    history : sequence of (seconds, objective, bound)
        Since the solver was called.
    """

    stop: Stop
    infeasible: bool = False
    found: bool = False
    bound: float | None = None
    nodes: int = 0
    info: Mapping[str, Any]
    history: tuple[tuple[float, float | None, float | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactParams:
    """Parameters of :func:`gangsched.solve_exact`.

    Parameters
    ----------
    form : str or None
        Form of the model; None: the first of the problem's `forms`. A relaxation gives a bound and
        no new solution.
    work_limit : int or None
        Nodes of branch and bound, HiGHS only. Unlike a time limit it gives the same result on a
        slow machine as on a fast one; the work before the first node is not limited.
    warm_start : solution, "auto" or None
        Feasible solution to start from; "auto" runs a portfolio of the problem's heuristics, None
        starts from nothing. Of RAR-DDLS it also gives the model's horizon.
    solver : str
        "highs", "cp-sat" (RAR-DDLS only, extra ``gangsched[cpsat]``), or the name of any other
        Pyomo solver; "auto" is CP-SAT where it is installed, the problem is RAR-DDLS and neither a
        `form` nor a `work_limit` is given, and HiGHS otherwise.
    options : mapping
        Of the solver: "gap" (relative), "threads" and "seed" for any, all else by its own names.
    """

    form: str | None = None
    work_limit: int | None = None
    warm_start: Any = "auto"
    solver: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def highs(self) -> bool:
        """Whether HiGHS solves the model."""
        return self.solver in ("auto", "highs")


def form_of(problem: Problem[Any], time_limit: float | None, params: ExactParams) -> str:
    """Return the form of the model that is to be solved; raise for limits and options out of range.

    Examples
    --------
    >>> from gangsched.formulations import CompletionTime
    >>> from gangsched.instances import Cluster, Instance
    >>> form_of(CompletionTime(Instance(Cluster.of_sizes([1]), [])), None, ExactParams())
    'time-indexed'
    """
    form, work_limit, solver = params.form, params.work_limit, params.solver
    for name, most in (("time_limit", time_limit), ("work_limit", work_limit)):
        if most is not None and not most > 0:
            raise ValueError(f"solve_exact: {name}={most} is not positive")
    if work_limit is not None and not params.highs:
        raise ValueError(f"solve_exact: work_limit={work_limit} is for 'highs', not {solver!r}")
    if not hasattr(problem, "forms"):
        raise TypeError(f"solve_exact: a {type(problem).__name__} is not a problem")
    check(solver)
    if solver == "cp-sat" and (type(problem).__name__ != "RarDdls" or form is not None):
        raise ValueError("solve_exact: solver='cp-sat' is for RarDdls, without a form")
    form = problem.forms[0] if form is None else form
    if form not in problem.forms:
        raise ValueError(f"solve_exact: form={form!r} is not one of {', '.join(problem.forms)}")
    if isinstance(params.warm_start, str) and params.warm_start != "auto":
        raise ValueError(
            f"solve_exact: warm_start={params.warm_start!r} is not 'auto' or a solution"
        )
    return form


def branch_and_bound(
    problem: Problem[Any],
    *,
    time_limit: float | None = None,
    params: ExactParams = ExactParams(warm_start=None),
    bound: Bound | None = None,
    known: History | None = None,
    info: Mapping[str, Any] | None = None,
) -> Result[Any]:
    """Solve a problem's model, from no more than what is handed over.

    :func:`gangsched.solve_exact` hands over the best solution of the problem's heuristics and the
    best certified bound; limits, parameters and errors are as there.

    Guarantee: without limits, and up to the solver's tolerances, an optimal solution or a proof
    that there is none.

    Parameters
    ----------
    problem : Problem
    time_limit : float, optional
        Wall seconds, from the beginning of `known`. It is looked at between the rows of the model
        (by :func:`~gangsched.formulations.limited.check_time`, also for those who write a problem
        of their own), before its standard form is made, and by the solver.
    params : ExactParams
        A `warm_start` of "auto" is none here.
    bound : Bound, optional
        That is known to hold. Where the start meets it no model is built, and the search ends at
        the first solution that does.
    known : History, optional
        What came before, and when; default nothing, now.
    info : mapping, optional
        What else the result is to record.

    Returns
    -------
    Result
        The bound is the one that was handed over, or that of the search ("branch and bound", the
        solver's claim without a certificate) where it is better. INFEASIBLE only where proven.

    Examples
    --------
    >>> from gangsched.formulations import CompletionTime
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=3), Job(id="short", gpus=2, work=1)]
    >>> problem = CompletionTime(Instance(Cluster.of_sizes([2]), jobs), measure="completion")
    >>> result = branch_and_bound(problem)
    >>> result.objective, result.bound.method
    (5, 'branch and bound')
    """
    known = History(time.perf_counter()) if known is None else known
    form = form_of(problem, time_limit, params)
    if params.solver == "cp-sat":
        raise ValueError("branch_and_bound: CP-SAT takes no Pyomo model, use solve_exact")
    start = _start_of(problem)
    incumbent = None if isinstance(params.warm_start, str) else params.warm_start
    options = {} if start is None or incumbent is None else start.model_options(problem, incumbent)
    record = {"form": form, **options, **(info or {})}
    if params.work_limit is not None:
        record["work_limit"] = params.work_limit
    finish = partial(_result, problem, known=known, certified=bound, info=record)
    if incumbent is not None and bound is not None and meets(problem, incumbent, bound):
        note = {"note": "the start meets the bound"}
        return finish(incumbent, None, Answer(stop=Stop.PROVEN, info=note))
    end = math.inf if time_limit is None else known.started + time_limit
    try:
        model, native = _prepared(problem, form, options, incumbent, params, end)
    except OutOfTime:
        note = {"note": "the time was over before the model was built"}
        return finish(incumbent, None, Answer(stop=Stop.TIME_LIMIT, info=note))
    begun = time.perf_counter() - known.started
    if params.highs:
        goal = _goal(problem, model, bound)
        warm = incumbent is not None
        answer = _solve_highs(native, _left(end), params.work_limit, warm, goal)
    else:
        answer = _solve_named(model.native, _left(end), incumbent is not None, params)
    answer = _valued(model, answer, begun)
    found = _extracted(problem, model) if answer.found and model.exact else None
    return finish(_best(problem, found, incumbent), _bound(problem, answer), answer)


def meets(problem: Problem[Any], solution: Any, bound: Bound) -> bool:
    """Whether no solution can be better than this one."""
    objective = problem.objective(solution)
    return _worse(problem, objective, bound.value) <= 0 or is_proven(objective, bound)


def _goal(
    problem: Problem[Any], model: Model[Any], bound: Bound | None
) -> Callable[[float], bool] | None:
    """Whether a value of the model's objective meets a bound, where it is always an integer."""
    if bound is None or not model.exact or not problem.integral:
        return None
    value = bound.value
    return lambda native: _worse(problem, model.value(native), value) < 0.5


def _left(end: float) -> float | None:
    """Seconds up to a time, None where there is none."""
    return None if end == math.inf else max(end - time.perf_counter(), 0.01)


def _prepared(
    problem: Problem[Any],
    form: str,
    options: Mapping[str, Any],
    incumbent: Any,
    params: ExactParams,
    end: float,
) -> tuple[Model[Any], _Native | None]:
    """The model, and as HiGHS takes it; raise OutOfTime where it is not there in time."""
    with limited(end):
        model = _build(problem, form, options)
        check_time()
        if incumbent is not None:
            model.embed(incumbent)
        return model, _Native.of(model.native, params.options) if params.highs else None


def _valued(model: Model[Any], answer: Answer, begun: float) -> Answer:
    """The answer in terms of the problem's objective and of the time since the call."""

    def value(native: float | None) -> float | None:
        return None if native is None else _finite(model.value(native))

    history = tuple((begun + t, value(found), value(bound)) for t, found, bound in answer.history)
    return replace(answer, bound=value(answer.bound), history=history)


def _extracted(problem: Problem[Any], model: Model[Any]) -> Any:
    """Return the model's solution, None where only the solver's tolerances make it one."""
    found = model.extract()
    violations = problem.violations(found)
    if violations:
        log.warning("%s: a solution within tolerances is none: %s", model.form, violations[0])
        return None
    return found


def _result(
    problem: Problem[Any],
    solution: Any,
    claim: Bound | None,
    answer: Answer,
    *,
    known: History,
    certified: Bound | None,
    info: Mapping[str, Any],
) -> Result[Any]:
    """The result; an optimum's bound is within tolerances of the objective, and meets it."""
    stop = Stop.COMPLETED if answer.stop is Stop.PROVEN and not answer.infeasible else answer.stop
    bound = _better(problem, claim, certified)
    if answer.infeasible:
        bound = None
    elif solution is not None and bound is not None:
        value = problem.objective(solution)
        near = abs(bound.value - value) <= TOLERANCE * max(1.0, abs(value))
        near = near and not problem.integral  # a bound that has been rounded is not just near
        if near and bound.value != value and claim is not None and answer.stop is Stop.PROVEN:
            bound = Bound(value, claim.method)
        stop = Stop.PROVEN if bound.value == value else stop
    return Result.of(
        problem,
        solution,
        solver="exact",
        stop=stop,
        bound=bound,
        infeasible=answer.infeasible,
        iterations=answer.nodes,
        runtime=time.perf_counter() - known.started,
        info={**info, **answer.info},
        history=[*known.entries, *answer.history],
    )


# -- what is known before the model is solved -----------------------------------------------------


def _start_of(problem: Problem[Any]) -> Any:
    """What a solution tells of the model: the module `start` of the paper's folder, or None."""
    *above, paper, _ = ["", *type(problem).__module__.split(".")]
    package = __name__.split(".")[:-2]
    folder = ".".join([*package, "solvers", paper])
    if above != ["", *package, "formulations"] or find_spec(folder) is None:
        return None
    place = f"{folder}.start"
    return None if find_spec(place) is None else import_module(place)


def _build(problem: Problem[Any], form: str, options: Mapping[str, Any]) -> Model[Any]:
    model = problem.build(form, **options)
    if model.kind != "pyomo":
        raise NoModel(f"solve_exact: form {form!r} is of kind {model.kind!r}, not 'pyomo'")
    if not (model.exact or model.relaxation):
        raise ValueError(f"solve_exact: form {form!r} neither solves nor bounds the problem")
    return model


# -- comparing, for either sense ------------------------------------------------------------------


def _worse(problem: Problem[Any], a: float, b: float) -> float:
    """By how much `a` is worse than `b` as an objective."""
    return a - b if problem.sense is Sense.MIN else b - a


def _best(problem: Problem[Any], found: Any, incumbent: Any) -> Any:
    if found is None or incumbent is None:
        return incumbent if found is None else found
    worse = _worse(problem, problem.objective(found), problem.objective(incumbent))
    return incumbent if worse > 0 else found


def _bound(problem: Problem[Any], answer: Answer) -> Bound | None:
    """The solver's bound; of an integral problem, the next integer that can be reached."""
    value = answer.bound
    if value is None or answer.infeasible:
        return None
    if problem.integral:
        up = problem.sense is Sense.MIN
        value = math.ceil(value - TOLERANCE) if up else math.floor(value + TOLERANCE)
    return Bound(value, "branch and bound")


def _better(problem: Problem[Any], claim: Bound | None, certified: Bound | None) -> Bound | None:
    """The tighter of two; where they are equal, the one with a certificate."""
    if claim is None or certified is None:
        return certified if claim is None else claim
    return claim if _worse(problem, claim.value, certified.value) > 0 else certified


def _finite(value: Any) -> float | None:
    """None for what solvers give where they know nothing."""
    return float(value) if value is not None and abs(value) < highspy.kHighsInf else None


# -- HiGHS ----------------------------------------------------------------------------------------

_Status = highspy.HighsModelStatus
_STOPS = {
    _Status.kOptimal: Stop.PROVEN,
    _Status.kModelEmpty: Stop.PROVEN,
    _Status.kInfeasible: Stop.PROVEN,
    _Status.kTimeLimit: Stop.TIME_LIMIT,
    _Status.kInterrupt: Stop.INTERRUPTED,
    _Status.kIterationLimit: Stop.ITERATION_LIMIT,
    _Status.kSolutionLimit: Stop.ITERATION_LIMIT,
}


@dataclass(frozen=True, slots=True)
class _Native:
    """A model's standard form, and HiGHS with it."""

    form: Any
    highs: Any
    options: Mapping[str, Any]

    @classmethod
    def of(cls, native: Any, options: Mapping[str, Any]) -> _Native:
        form = WriterFactory("compile_standard_form").write(native, mixed_form=True, set_sense=None)
        highs = new({"parallel": "choose", **HIGHS_OPTIONS})
        _load(highs, native, form)
        given = named("highs", options)
        for option, value in given.items():
            if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
                raise ValueError(f"solve_exact: HiGHS takes no option {option}={value!r}")
        return cls(form, highs, {**HIGHS_OPTIONS, **given})


def _solve_highs(
    native: Any,
    limit: float | None,
    nodes: int | None,
    warm: bool,
    goal: Callable[[float], bool] | None = None,
) -> Answer:
    form, highs = native.form, native.highs
    if limit is not None:
        highs.setOptionValue("time_limit", float(limit))
    if nodes is not None:
        highs.setOptionValue("mip_max_nodes", int(nodes))
    if warm:
        start_from(highs, [float(variable.value or 0) for variable in form.columns])
    history: list[tuple[float, float | None, float | None]] = []
    reached: list[bool] = []

    def improved(event: Any) -> None:
        data = event.data_out
        entry = data.running_time, data.objective_function_value, _finite(data.mip_dual_bound)
        history.append(entry)
        if goal is not None and goal(data.objective_function_value):
            reached.append(True)
            highs.cancelSolve()

    highs.cbMipImprovingSolution += improved
    run_interruptibly(highs)
    status, outcome = highs.getModelStatus(), highs.getInfo()
    found = status in (_Status.kOptimal, _Status.kModelEmpty) or (
        outcome.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    if found:
        for variable, value in zip(form.columns, highs.getSolution().col_value, strict=True):
            variable.set_value(value, skip_validation=True)
    stop = _STOPS.get(status, Stop.ERROR)
    met = bool(reached) and stop is Stop.INTERRUPTED
    return Answer(
        stop=Stop.PROVEN if met else stop,
        infeasible=status == _Status.kInfeasible,
        found=found,
        bound=_dual_bound(status, outcome),
        nodes=max(int(outcome.mip_node_count), 0),
        history=tuple(history),
        info={
            "backend": f"highs {highs.version()}",
            "options": {k: v for k, v in native.options.items() if k != "output_flag"},
            "status": status.name,
            "columns": len(form.columns),
            "rows": len(form.rows),
            "nonzeros": int(form.A.nnz),
            **({"note": "a solution meets the bound"} if met else {}),
        },
    )


def _dual_bound(status: Any, outcome: Any) -> float | None:
    """HiGHS fills in the bound of branch and bound only where it has branched."""
    if outcome.mip_node_count == -1:
        known = status in (_Status.kOptimal, _Status.kModelEmpty)
        return _finite(outcome.objective_function_value) if known else None
    return _finite(outcome.mip_dual_bound)


def _load(highs: Any, native: Any, form: Any) -> None:
    """Give HiGHS a standard form, rows a x = b, a x <= b or a x >= b."""
    types = np.array([row.bound_type for row in form.rows], dtype=int)  # 0: =, 1: <=, -1: >=
    sides = np.array(form.rhs, dtype=float)
    objective = next(native.component_data_objects(pyo.Objective, active=True))
    load(
        highs,
        form.c.toarray().ravel(),
        form.A.tocsc(),
        np.where(types == 1, -np.inf, sides),
        np.where(types == -1, np.inf, sides),
        least=np.array([-np.inf if v.lb is None else v.lb for v in form.columns], dtype=float),
        most=np.array([np.inf if v.ub is None else v.ub for v in form.columns], dtype=float),
        integer=np.array([not v.is_continuous() for v in form.columns], dtype=bool),
        minimise=objective.sense != pyo.maximize,
        offset=float(form.c_offset[0]),
    )


# -- any other solver that Pyomo knows ------------------------------------------------------------


def _solve_named(native: Any, limit: float | None, warm: bool, params: ExactParams) -> Answer:
    name = params.solver
    backend = pyo.SolverFactory(name)
    for option, value in named(name, params.options).items():
        backend.options[option] = value
    options: dict[str, Any] = {} if limit is None else {"timelimit": limit}
    if warm and backend.warm_start_capable():
        options["warmstart"] = True
    results = backend.solve(native, load_solutions=False, **options)
    end, claim = results.solver.termination_condition, results.problem
    found = len(results.solution) > 0
    if found:
        native.solutions.load_from(results)
    proven = end in (TerminationCondition.optimal, TerminationCondition.infeasible)
    timed = end == TerminationCondition.maxTimeLimit
    up = claim.sense != pyo.maximize
    return Answer(
        stop=Stop.PROVEN if proven else Stop.TIME_LIMIT if timed else Stop.ERROR,
        infeasible=end == TerminationCondition.infeasible,
        found=found,
        bound=_finite(claim.lower_bound if up else claim.upper_bound),
        info={
            "backend": " ".join([name, ".".join(map(str, backend.version() or ()))]),
            "status": str(end),
            "columns": native.nvariables(),
            "rows": native.nconstraints(),
        },
    )
