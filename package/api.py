"""What the command line does, from Python and with the same names.

Each function takes names of :mod:`gangsched.registry`, or the objects themselves, and hands them to
the function of :mod:`gangsched.analysis` that does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import registry

if TYPE_CHECKING:
    from .analysis.comparing.comparison import Comparison
    from .analysis.comparing.replayed import Replay
    from .analysis.driving.run import Run
    from .formulations.irmp.problem import Irmp
    from .instances.model import Instance
    from .solvers.policy import Policy
    from .solvers.result import Refuted, Result

Solver = Callable[..., Any]


def problem(
    name: str,
    instance: Instance[Any] | None = None,
    *,
    setting: str | None = None,
    seed: int = 0,
    jobs: int | None = None,
    nodes: int | None = None,
    utility: str | None = None,
) -> Any:
    """Return a problem by its names: of an instance, of a setting, or a named instance.

    Parameters
    ----------
    name : str
        Of the problem, e.g. "rar-ddls"; without `instance` and `setting`, of a named instance.
    instance : Instance, optional
        Made a problem with the paper's parameters.
    setting : str, optional
        Seeded generator of whole problems, e.g. "paper-a".
    seed : int
    jobs, nodes : int, optional
        Of the setting; default its own.
    utility : {"linear", "convex"}, optional
        Law of the utilities of IRMP.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError, KeyError
        For an unknown name, naming what there is, or options that the setting does not take.

    Examples
    --------
    >>> len(problem("rar-ddls", setting="paper-a", jobs=40).jobs)
    40
    >>> type(problem("rar-b-0")).__name__
    'RarDdls'
    """
    drawn = {"jobs": jobs, "nodes": nodes, "utility": utility}
    if setting is None:
        for option, value in drawn.items():
            if value is not None:
                raise ValueError(f"problem: {option}={value!r} goes with a setting")
        if instance is not None:
            return registry.entry(name).make(instance)
        from .instances import library
        from .submissions import problem_of

        return problem_of(library.entry(name))
    if instance is not None:
        raise ValueError("problem: give either an instance or a setting")
    settings = registry.entry(name).settings
    make = settings[registry.lookup("setting", settings, setting)]
    return make(seed=seed, **drawn)


def solve(
    problem: Any,
    solver: str | Solver | None = None,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    params: Any = None,
) -> Result[Any] | Refuted[Any]:
    """Solve a problem by a solver of this name.

    Parameters
    ----------
    problem : Problem
    solver : str or callable, optional
        Name as of ``gangsched list``, ``module:object``, or a function; default the first that a
        comparison of the problem runs.
    seed : int
    time_limit : float, optional
        Wall seconds after which the solver should stop.
    params : optional
        Of the solver, in place of those that go with its name.

    Returns
    -------
    Result or Refuted
        Refuted where a printed variant gives what breaks the problem.

    Raises
    ------
    ValueError, TypeError
        For an unknown name, or a problem that the registry does not know.

    Examples
    --------
    >>> found = solve(problem("rar-ddls", setting="paper-a", jobs=40), "backfill-area")
    >>> found.solver, found.objective >= found.bound.value
    ('backfill-area', True)
    """
    function: Solver
    if callable(solver):
        function = solver
    else:
        stem, entry = registry.entry_of(problem)
        function = registry.solver(stem, entry.compared[0] if solver is None else solver)[1]
    more = {} if params is None else {"params": params}
    found: Result[Any] | Refuted[Any] = function(problem, seed=seed, time_limit=time_limit, **more)
    return found


def compare(
    problem: Any,
    solvers: Iterable[str | Solver] | Mapping[str, str | Solver] | None = None,
    *,
    seed: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> Comparison:
    """Compare solvers on one problem, each against the best verified bound.

    Parameters
    ----------
    problem : Problem
    solvers : sequence or mapping, optional
        Names as of :func:`solve`, or functions; by the name to show, where it is a mapping. Default
        those that the command line compares.
    seed : int
        Handed to solvers that are given by name, as is the time limit; functions are called with
        the problem alone.
    time_limit : float, optional
        Wall seconds after which each solver, and the search for a bound, should stop.
    **options
        `bound`, `extras` and `on_result` of
        :func:`gangsched.analysis.comparing.comparison.compare`; the extras are by default those
        that the command line shows.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError, TypeError
        For an unknown name, or one that occurs twice; and as of the function named above.

    Notes
    -----
    Compiling takes nothing of a time limit: solvers are compiled before.

    Examples
    --------
    >>> case = problem("gandiva-fair", setting="table3")
    >>> [row.objective for row in compare(case, ["trading", "efficient"]).rows]
    [130.0, 133.75]
    """
    from .analysis.comparing.comparison import Extras
    from .analysis.comparing.comparison import compare as run

    known = registry.find(problem)
    if solvers is None:
        solvers = registry.entry_of(problem)[1].compared

    def find(wanted: str) -> tuple[str, Solver]:
        stem, _ = registry.entry_of(problem)
        name, function = registry.solver(stem, wanted)
        if time_limit is not None:  # which compiling would use up
            registry.warm_up(stem, name)
        return name, partial(function, seed=seed, time_limit=time_limit)

    calls = _chosen("compare", solvers, find)
    if "extras" not in options:
        options["extras"] = Extras() if known is None else registry.PROBLEMS[known].extras
    return run(problem, calls, time_limit=time_limit, **options)


def drive(instance: Instance[Any], policy: str | Policy, *, seed: int = 0, **options: Any) -> Run:
    """Drive a policy over the jobs of an instance, as they arrive.

    Parameters
    ----------
    instance : Instance
    policy : str or Policy
        Name as of ``gangsched list``, ``module:object``, or the policy itself.
    seed : int
        Of a policy that is given by name and draws.
    **options
        Rules of the cluster and others, as of :func:`gangsched.analysis.driving.drive.drive`: for
        example `round_length`, `lease`, `overhead`, `until`, `resume`.

    Returns
    -------
    Run

    Raises
    ------
    ValueError, TypeError, PolicyError
        For an unknown name; and as of the function named above.
    KeyboardInterrupt, SystemExit
        After Ctrl-C, and after SIGTERM (143), with what was simulated as the error's `run`.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=600), Job(id="short", gpus=2, work=60, release=60)]
    >>> run = drive(Instance(Cluster.of_sizes([2]), jobs), "srtf", overhead=0)
    >>> run.records.end.tolist()
    [660, 120]
    """
    from .analysis.driving.drive import drive as run

    made = registry.policy(policy, seed=seed)[1] if isinstance(policy, str) else policy
    return run(instance, made, **options)


def replay(
    instance: Instance[Any] | Irmp,
    policies: Iterable[str | Policy] | Mapping[str, str | Policy] | None = None,
    *,
    seed: int = 0,
    **options: Any,
) -> Replay:
    """Drive several policies over an instance, and measure them against verified bounds.

    Parameters
    ----------
    instance : Instance or Irmp
        An Irmp for jobs with utilities, and the terms under which they run.
    policies : sequence or mapping, optional
        Names as of :func:`drive`, or policies; by the name to show, where it is a mapping. Default
        those that the command line replays.
    seed : int
        Of policies that are given by name and draw.
    **options
        `rules`, `before`, `times`, `effort`, `ledger`, `on_progress`, `on_run`, `on_checkpoint`
        and `on_interrupt` of :func:`gangsched.analysis.comparing.replay.replay`.

    Returns
    -------
    Replay

    Raises
    ------
    ValueError, TypeError
        For an unknown name, or one that occurs twice; and as of the function named above.
    KeyboardInterrupt, SystemExit
        After Ctrl-C, and after SIGTERM (143), with what has finished as the error's `replay`.

    Examples
    --------
    >>> from gangsched.instances import Cluster, Instance, Job
    >>> jobs = [Job(id="long", gpus=2, work=600), Job(id="short", gpus=2, work=60, release=60)]
    >>> found = replay(Instance(Cluster.of_sizes([2]), jobs), ["fifo", "srtf"])
    >>> [row.name for row in found.rows]
    ['fifo', 'srtf']
    >>> found = replay(problem("irmp", setting="reduced", jobs=12), ["online-revenue"])
    >>> found.rows[0].ratios["revenue"] < 1.05
    True
    """
    from .analysis.comparing.replay import replay as run

    def find(wanted: str) -> tuple[str, Policy]:
        name, found = registry.policy(wanted, seed=seed)
        return name, found

    made = _chosen("replay", registry.replayed(instance) if policies is None else policies, find)
    return run(instance, made, **options)


def _chosen(owner: str, given: Any, find: Callable[[str], tuple[str, Any]]) -> dict[str, Any]:
    """What was given, by the name to show; what is given by its name alone is found."""
    if isinstance(given, str):
        raise TypeError(f"{owner}: {given!r} is one name, give a list of names")
    if not isinstance(given, Mapping):
        pairs = [(one if isinstance(one, str) else _name_of(one), one) for one in given]
    else:
        pairs = list(given.items())
    chosen: dict[str, Any] = {}
    for shown, wanted in pairs:
        name, thing = shown, wanted
        if isinstance(wanted, str):
            full, thing = find(wanted)
            name = full if shown == wanted else shown
        if name in chosen:
            raise ValueError(f"{owner}: {name!r} occurs twice")
        chosen[name] = thing
    return chosen


def _name_of(given: Any) -> str:
    """A function's name, a policy's, or that of the class."""
    for name in ("__name__", "name"):
        found = getattr(given, name, None)
        if isinstance(found, str):
            return found
    return type(given).__name__
