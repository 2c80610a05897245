"""Conformance checks for other people's policies, solvers, readers and problems.

Each check runs what it is given on a few small cases and raises ``AssertionError`` with the first
rule that is broken, the case and the values. The project's own tests run them over all that
``gangsched list`` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .analysis.driving import check
from .analysis.driving.drive import drive
from .analysis.proofs.verify import verify_bound
from .formulations.io import problem_from_dict, problem_to_dict
from .formulations.problem import Sense
from .instances import Cluster, Instance, Job, User
from .instances.traces import Trace
from .solvers.policy import Policy
from .solvers.result import Refuted, Result, Status, Stop

__all__ = ["check_policy", "check_problem", "check_reader", "check_solver"]


def small_instances() -> Iterator[Instance[Any]]:
    """Yield three contended instances: one node, several nodes and users, and late gangs."""
    jobs = [Job(id=f"j{i}", gpus=1 + i % 3, work=90 + 35 * i, release=20 * i) for i in range(6)]
    yield Instance(Cluster.of_sizes([3]), jobs, name="one node")
    users = [User("a", 2.0), User("b", 1.0)]
    owned = [
        Job(id=f"j{i}", user="ab"[i % 2], gpus=(1, 2, 4)[i % 3], work=60 * (i + 1), release=45 * i)
        for i in range(9)
    ]
    yield Instance(Cluster.of_sizes([4, 4]), owned, users, name="two nodes")
    late = [Job(id=f"j{i}", gpus=4, work=200, release=600 * (i // 2)) for i in range(4)]
    yield Instance(Cluster.of_sizes([2, 2]), late, name="late gangs")


def check_policy(
    make: Callable[[], Policy], instances: Sequence[Instance[Any]] | None = None, **rules: Any
) -> None:
    """Check that a policy keeps the rules of the driver, in every way to run it.

    On each instance: no rule of the cluster is broken, by the independent checker; every job ends;
    a new policy, and the same one again, give the same run; visiting every round gives the same run
    (``next_change`` is true); a run that is stopped and resumed gives the same run.

    Parameters
    ----------
    make : callable
        Returns a new policy: a class, or a function without arguments.
    instances : sequence of Instance, optional
        By default three small ones, of which the policy has to run all jobs.
    **rules
        As of :func:`gangsched.drive`.

    Raises
    ------
    AssertionError
        Naming instance and rule.
    ValueError, TypeError, PolicyError
        What the driver says of a policy that cannot run at all.

    Examples
    --------
    >>> from gangsched.solvers import Srtf
    >>> check_policy(Srtf)
    """
    for instance in small_instances() if instances is None else instances:
        policy = make()
        where = f"policy {policy.name!r} on instance {instance.name!r}"
        run = drive(instance, policy, **rules)
        broken = check.violations(run, preempts=policy.preempts)
        assert not broken, f"{where}: {broken[0]}"
        assert run.stop is Stop.COMPLETED, f"{where}: stops with {run.stop.value!r}"
        assert drive(instance, make(), **rules) == run, f"{where}: a second policy runs otherwise"
        assert drive(instance, policy, **rules) == run, f"{where}: remembers its first run"
        every = drive(instance, make(), skip=False, **rules)
        assert every == run, f"{where}: next_change skips a round at which it decides otherwise"
        part = drive(instance, make(), until=run.now // 2, **rules)
        if part.checkpoint is not None:
            whole = drive(instance, make(), resume=part.checkpoint, **rules)
            assert whole == run, f"{where}: stopped at {run.now // 2} and resumed it runs otherwise"


def check_solver(
    solver: Callable[..., Result[Any] | Refuted[Any]], problems: Sequence[Any], **options: Any
) -> None:
    """Check that a solver returns what it may, and the same again.

    On each problem: the solution breaks no constraint and is worth what the result says, as the
    problem recomputes both; a bound with a certificate can be verified and is not beaten; the same
    seed gives the same result; the problem is not changed; an interrupted or limited run still
    gives a result.

    Parameters
    ----------
    solver : callable
        Takes a problem, and the keywords seed and time_limit.
    problems : sequence of Problem
    **options
        Further keywords of the solver.

    Raises
    ------
    AssertionError
        Naming problem and rule.

    Examples
    --------
    >>> import gangsched as gs
    >>> jobs = [gs.RingJob(id=i, gpus=1, iterations=4, gradient=0, base_time=0.9) for i in "abc"]
    >>> problem = gs.formulations.RarDdls(gs.Instance(gs.Cluster.of_sizes([1, 1]), jobs))
    >>> check_solver(gs.solvers.sjf_bco, [problem])
    """
    for k, problem in enumerate(problems):
        where = f"problem {k} ({type(problem).__name__})"
        before = problem_to_dict(problem)
        found = solver(problem, seed=1, time_limit=60.0, **options)
        assert problem_to_dict(problem) == before, f"{where}: the solver has changed it"
        if isinstance(found, Refuted):
            assert found.violations, f"{where}: refuted without a violation"
            continue
        assert isinstance(found, Result), f"{where}: {type(found).__name__} is no Result"
        _check_result(problem, found, where)
        again = solver(problem, seed=1, time_limit=60.0, **options)
        late = isinstance(again, Result) and Stop.TIME_LIMIT in (found.stop, again.stop)
        assert late or again == found, f"{where}: the same seed gives another result"
        hasty = solver(problem, seed=1, time_limit=1e-3, **options)
        _check_result(problem, hasty, f"{where} within a millisecond")


def _check_result(problem: Any, found: Any, where: str) -> None:
    """Feasibility, value and bound of a result, recomputed."""
    if found.solution is None:
        statuses = (Status.UNKNOWN, Status.INFEASIBLE, Status.UNBOUNDED)
        assert found.status in statuses, f"{where}: {found.status.value} without a solution"
        return
    broken = problem.violations(found.solution)
    assert not broken, f"{where}: {broken[0]}"
    value = problem.objective(found.solution)
    assert found.objective == value, f"{where}: objective={found.objective} is {value}"
    bound = found.bound
    if bound is not None:
        beaten = bound.value > value if problem.sense is Sense.MIN else bound.value < value
        assert not beaten, f"{where}: objective={value} beats its bound {bound.value}"
        if bound.certificate is not None:
            verify_bound(problem, bound)


def check_reader(reader: Callable[[str], Trace], path: str | Path) -> None:
    r"""Check that a reader of traces accounts for every row of a file, and refuses broken ones.

    Parameters
    ----------
    reader : callable
        Takes a path and returns a Trace.
    path : str or Path
        A file that it can read.

    Raises
    ------
    AssertionError
        Where rows get lost, jobs are out of order, a second reading differs, or a file that is
        empty or missing is not refused with a ``ValueError`` or ``OSError``.

    Examples
    --------
    >>> import tempfile
    >>> from gangsched.instances.traces import read_itp
    >>> path = Path(tempfile.mkdtemp()) / "jobs.csv"
    >>> _ = path.write_text("job_id,submission_time,duration,num_gpu\n1,0,60,2\n")
    >>> check_reader(read_itp, path)
    """
    trace = reader(str(path))
    assert isinstance(trace, Trace), f"reader: {type(trace).__name__} is no Trace"
    report = trace.report
    counted = len(trace.jobs) + sum(report.skipped.values())
    assert counted == report.read, f"{path}: {counted} of {report.read} rows are accounted for"
    releases = [job.release for job in trace.jobs]
    assert releases == sorted(releases), f"{path}: jobs are not sorted by release"
    assert reader(str(path)) == trace, f"{path}: a second reading differs"
    for name, text in (("missing", None), ("empty", "")):
        other = Path(path).with_name(f"{name}-{Path(path).name}")
        try:
            if text is not None:
                other.write_text(text)
            reader(str(other))
        except (ValueError, OSError):
            continue
        finally:
            other.unlink(missing_ok=True)
        raise AssertionError(f"reader: a file that is {name} is not refused")


def check_problem(problem: Any, solutions: Sequence[Any]) -> None:
    """Check that a problem has what the toolkit asks of one.

    Its sense and forms are there; each solution has an objective, and violations as texts; those
    without violations are solutions of each exact form, of the same value; files give it back.

    Parameters
    ----------
    problem : Problem
    solutions : sequence
        Plain data, feasible or not.

    Raises
    ------
    AssertionError
        Naming the rule.

    Examples
    --------
    >>> import gangsched as gs
    >>> jobs = [gs.RingJob(id=i, gpus=1, iterations=2, gradient=0, base_time=0.9) for i in "ab"]
    >>> problem = gs.formulations.RarDdls(gs.Instance(gs.Cluster.of_sizes([1]), jobs))
    >>> check_problem(problem, [gs.solvers.sjf_bco(problem).solution])
    """
    name = type(problem).__name__
    assert isinstance(problem.sense, Sense), f"{name}: sense={problem.sense!r} is no Sense"
    assert problem.forms, f"{name}: forms is empty"
    data = problem_to_dict(problem)
    assert problem_to_dict(problem_from_dict(data)) == data, f"{name}: its file differs"
    models = [problem.build(form) for form in problem.forms]
    for model in models:
        assert model.form in problem.forms, f"{name}: form={model.form!r} is not one of its forms"
    for k, solution in enumerate(solutions):
        broken = problem.violations(solution)
        assert all(isinstance(text, str) for text in broken), f"{name}: violations are no texts"
        if broken:
            continue
        value = problem.objective(solution)
        for model in models:
            if model.exact:
                model.embed(solution)
                back = problem.objective(model.extract())
                assert back == value, f"{name}, solution {k}, {model.form}: {value} becomes {back}"
