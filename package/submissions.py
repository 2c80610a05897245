"""The library's referee: replays what its entries claim, and judges what others submit.

Nothing here looks for a solution or a bound. A solution is checked and valued by the problem
(`violations`, `objective`), a bound is proven again from its certificate
(:func:`gangsched.verify_bound`), a problem is generated again and its hash compared. A solver is
run only where an entry records the call that gives a solution too large for a file.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import families
from .analysis.exact import solve_exact
from .analysis.proofs.verify import verify_bound
from .formulations.io import problem_from_dict, problem_to_dict
from .instances import library
from .instances.check import one_of
from .instances.io import (
    check_fields,
    check_header,
    header,
    json_text,
    read_json,
    write_file,
)
from .instances.library import Entry, gap_of, index_row, level_of, meets
from .instances.schedule import Allocation, Schedule
from .registry import PROBLEMS, entry_of
from .solvers.io import bound_from_dict, result_from_dict, solution_from_dict, solution_to_dict
from .solvers.result import Bound, Result, versions

__all__ = [
    "Judgement", "Submission", "accept", "challenge", "drawn", "faults", "judge", "problem_of",
    "read_submission",
]  # fmt: skip

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST_NAME, LONGEST_TEXT = 60, 200
#: bytes of an entry's file
MOST_BYTES = 2**20
#: words for how a part of a submission compares with what is known
NEW, BETTER, EQUAL, WORSE, IGNORED = "new", "better", "equal", "worse", "ignored"
#: kinds of solutions, by problem; the others have schedules
KINDS: Mapping[str, tuple[type[Any], str]] = {
    "gandiva-fair": (Allocation, "an allocation"),
    "ltgf-round": (tuple, "a selection"),
    "ltgf-fluid": (tuple, "time shares"),
}


# --- what an entry is of -------------------------------------------------------------------------


def problem_hash(problem: Any) -> str:
    """Return the SHA-256 of a problem's canonical JSON, without its last newline."""
    return _hash_of(problem_to_dict(problem))


def _hash_of(data: Any) -> str:
    return hashlib.sha256(json_text(data).rstrip("\n").encode("ascii")).hexdigest()


def solution_hash(solution: Any) -> str:
    """Return a SHA-256 of a solution: of a schedule the columns, which may be millions of rows."""
    if not isinstance(solution, Schedule):
        return _hash_of(solution_to_dict(solution))
    total = hashlib.sha256()
    for name in ("job", "start", "end", "ptr", "node", "gpus", "ps", "device"):
        total.update(name.encode())
        total.update(np.ascontiguousarray(getattr(solution, name), dtype="<i8").tobytes())
    return total.hexdigest()


def problem_of(found: Entry) -> Any:
    """Return the problem of an entry, from its file or from its generator.

    Examples
    --------
    >>> len(problem_of(library.entry("rar-small-0")).jobs)
    10
    """
    if found.problem is not None:
        return problem_from_dict(found.problem)
    return families.make(found.generator)


def solution_of(found: Entry, problem: Any) -> Any:
    """Return the best known solution of an entry, from its file or by the call that gives it."""
    if found.best["solution"] is not None:
        return solution_from_dict(found.best["solution"])
    call = found.best["call"]
    check_fields("best: call", call, required={"solver", "seed"})
    known = PROBLEMS[found.formulation].solvers  # the project's own: a file runs no other code
    one_of("best: call: solver", call["solver"], known)
    return known[call["solver"]](problem, seed=call["seed"]).solution


# --- verify --------------------------------------------------------------------------------------


def faults(found: Entry, row: Mapping[str, Any] | None = None) -> list[str]:
    """Return what an entry claims and does not hold; nothing where all can be replayed.

    Parameters
    ----------
    found : Entry
    row : mapping, optional
        What the index says of it.

    Returns
    -------
    list of str
        Reasons, the first that were found.

    Examples
    --------
    >>> found = library.entry("rar-contention-0")
    >>> faults(found)
    []
    >>> faults(replace(found, best={**found.best, "objective": 3}))[0]
    'best: objective=3, but the solution is worth 4'
    """
    reasons: list[str] = []
    try:
        reasons.extend(_faults(found, row))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reasons.append(f"{type(error).__name__}: {error}")
    return reasons


def _faults(found: Entry, row: Mapping[str, Any] | None) -> Iterator[str]:
    problem = problem_of(found)
    yield from _faults_of_problem(found, problem)
    solution = solution_of(found, problem)
    if solution_hash(solution) != found.best["sha256"]:
        yield "best: the solution's hash is not the recorded one"
    yield from (f"best: {text}" for text in _broken(found.formulation, problem, solution)[:3])
    value = problem.objective(solution)
    if not meets(value, found.objective):
        yield f"best: objective={found.objective}, but the solution is worth {value}"
    if found.proof is not None:
        bound = Bound(*(found.proof[key] for key in ("value", "method", "certificate")))
        verify_bound(problem, bound)
    for what, limit in (("bound", found.proof), ("claim", found.claim)):
        if limit is not None and _beats(found.sense, found.objective, limit["value"]):
            yield f"{what}: {limit['value']} is on the wrong side of {found.objective}"
    level = level_of(found.objective, found.bound["value"], found.runs["rows"])
    if level != found.level:
        yield f"class={found.level!r}, by the rule it is {level!r}"
    yield from _faults_of_history(found)
    if row is not None and dict(row) != index_row(found):
        yield "the index says something else"


def _faults_of_problem(found: Entry, problem: Any) -> Iterator[str]:
    stem, _ = entry_of(problem)
    if stem != found.formulation or problem.sense.value != found.sense:
        yield f"formulation={found.formulation!r}, sense={found.sense!r}: the problem is {stem!r}"
    if problem_hash(problem) != found.sha256:
        yield "sha256 is not the problem's"
    if found.generator is not None and found.problem is not None:
        _check_generator(found.generator, problem)
    if size_of(problem) != found.jobs:
        yield f"jobs={found.jobs}, but there are {size_of(problem)}"


def _faults_of_history(found: Entry) -> Iterator[str]:
    last = found.history[-1]
    if (last["objective"], last["bound"]) != (found.objective, found.bound["value"]):
        yield "history: the last line is not what is known"
    for one, other in zip(found.history, found.history[1:], strict=False):
        if _beats(found.sense, one["objective"], other["objective"]):
            yield f"history: {other['objective']} is worse than {one['objective']} before"


def size_of(problem: Any) -> int:
    """Return the number of jobs, or of a market's users."""
    for name in ("jobs", "gangs", "users"):
        if hasattr(problem, name):
            return len(getattr(problem, name))
    raise TypeError(f"a {type(problem).__name__} has neither jobs nor users")


def _beats(sense: str, one: float, other: float) -> bool:
    """Whether a value is better than another, by more than rounding."""
    better = one < other if sense == library.SENSES[0] else one > other
    return better and not meets(one, other)


def _broken(stem: str, problem: Any, solution: Any) -> list[str]:
    """What a solution breaks, also one of the wrong kind."""
    kind, words = KINDS.get(stem, (Schedule, "a schedule"))
    if not isinstance(solution, kind):
        return [f"a solution of {stem} is {words}, not {type(solution).__name__}"]
    try:
        broken: list[str] = problem.violations(solution)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return [f"cannot be read as {words} of this problem: {error}"]
    return broken


# --- submit --------------------------------------------------------------------------------------

SUBMISSION = header("submission")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A solution and a bound that somebody submits for an instance.

    Parameters
    ----------
    name : str
        Of the instance.
    by : str
        Who submits it.
    solver : str
        What found it.
    solution : object, optional
        With `objective`, what it is said to be worth.
    bound : Bound, optional
    problem, generator : mapping, optional
        Of an instance that is not in the library, or to say which one is meant.
    description : str
        Of an instance that is not in the library.
    result : bool
        Whether it is the file of a solve, whose bound may be a claim.
    """

    name: str
    by: str
    solver: str = ""
    objective: float | None = None
    solution: Any = None
    bound: Bound | None = None
    problem: Mapping[str, Any] | None = None
    generator: Mapping[str, Any] | None = None
    description: str = ""
    result: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """How one part of a submission compares with what is known.

    >>> print(Judgement("bound", "better", "298 after 290"))
    bound: better (298 after 290)
    """

    part: str
    word: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.word} ({self.reason})"


def read_submission(path: str | Path, name: str | None = None, by: str | None = None) -> Submission:
    """Read a submission, or what ``gangsched solve --json`` wrote.

    Parameters
    ----------
    path : str or Path
    name : str, optional
        Of the instance; the file of a solve does not say it.
    by : str, optional
        Who submits it; default what the file says, else the solver.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it breaks the format; the message names file, place, value and rule.
    """
    data = read_json(path)
    try:
        if check_header(data, "submission", "result") == "result":
            made = _of_result(data, name)
        else:
            made = _of_submission(data, name)
        made = made if by is None else replace(made, by=by)
        _check_text("by", made.by)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return made


def _of_result(data: Any, name: str | None) -> Submission:
    found = result_from_dict(data)
    if name is None:
        raise ValueError("the file of a solve does not say of which instance it is: give --name")
    parts: dict[str, Any] = {
        "objective": found.objective,
        "solution": found.solution,
        "bound": found.bound,
    }
    if found.solution is None and found.bound is None:
        raise ValueError("there is neither a solution nor a bound")
    return Submission(name=name, by=found.solver, solver=found.solver, **parts, result=True)


def _of_submission(data: Any, name: str | None) -> Submission:
    own = set(Submission.__dataclass_fields__) - {"name", "by", "result"}
    check_fields("submission", data, required={*SUBMISSION, "name", "by"}, optional=own)
    given = {key: value for key, value in data.items() if key not in SUBMISSION}
    for key in ("name", "by", "solver", "description"):
        if key in given:
            _check_text(key, given[key])
    if name is not None and name != given["name"]:
        raise ValueError(f"name={given['name']!r} is not {name!r}")
    if given.get("solution") is None and given.get("bound") is None:
        raise ValueError("there is neither a solution nor a bound")
    if (given.get("solution") is None) != (given.get("objective") is None):
        raise ValueError("solution and objective go together")
    value = given.get("objective")
    if value is not None and type(value) not in (int, float):
        raise ValueError(f"objective={value!r} is not a number")
    try:
        read = {
            "solution": solution_from_dict(given.get("solution")),
            "bound": bound_from_dict(given.get("bound")),
        }
    except TypeError as error:
        raise ValueError(str(error)) from None
    return Submission(**{**given, **read})


def _check_text(key: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
        raise ValueError(f"{key}={value!r:.60} is not a text of 1 to {LONGEST_TEXT} characters")
    if not value.isprintable():
        raise ValueError(f"{key}={value!r:.60} has control characters")


def judge(given: Submission, folder: Path | None = None) -> tuple[list[Judgement], Entry]:
    """Compare a submission with what is known, after everything in it has been checked.

    Parameters
    ----------
    given : Submission
    folder : Path, optional
        Of another library than the one that comes with the package.

    Returns
    -------
    verdicts : list of Judgement
        "new", "better", "equal", "worse" or "ignored" for each part.
    entry : Entry
        What the library would have after it; the same as before where nothing is better.

    Raises
    ------
    ValueError
        If anything is wrong, with the reason.

    Notes
    -----
    Integers are compared as they are, other values up to 1e-7 of them.
    """
    if given.name not in library.index(folder):
        return _judge_new(given)
    known = library.entry(given.name, folder)
    problem = problem_of(known)
    for part in (given.problem, given.generator):
        if part is not None and problem_hash(_made(given, part)) != problem_hash(problem):
            raise ValueError(f"problem: it is not that of {given.name!r} in the library")
    _check_parts(given, known.formulation, problem)
    found, verdicts = known, []
    if given.solution is not None:
        word = _compared(known.sense, given.objective, known.objective)
        reason = f"{given.objective:.10g}, known is {known.objective:.10g} by {known.solver}"
        verdicts.append(Judgement("solution", word, reason))
        if word == BETTER:
            found = replace(found, best=_best_of(given))
    found = _with_bound(given, found, verdicts)
    _check_sides(known.sense, found)
    return verdicts, found if found is known else _renewed(found, given.by)


def drawn(names: Sequence[str], count: int, text: str) -> list[str]:
    """Return `count` of the names, the same ones for the same text.

    >>> drawn(["a", "b", "c", "d"], 2, "a commit")
    ['c', 'd']
    """

    def order(name: str) -> bytes:
        return hashlib.sha256(f"{text} {name}".encode()).digest()

    return sorted(sorted(names, key=order)[:count])


def challenge(name: str, seconds: float, folder: Path | None = None) -> list[Judgement]:
    """Solve an instance again, and compare the result with what is known.

    Parameters
    ----------
    name : str
        Of the instance.
    seconds : float
        The time limit of the problem's exact solver.
    folder : Path, optional
        Of another library than the one that comes with the package.

    Returns
    -------
    list of Judgement
        How solution and bound compare; nothing is written.

    Raises
    ------
    ValueError
        Where what it finds contradicts what is known.

    Examples
    --------
    >>> [verdict.word for verdict in challenge("flow-tiny-8", 10)]
    ['equal', 'equal']
    """
    known = library.entry(name, folder)
    solver = PROBLEMS[known.formulation].solvers.get(library.EXACT, solve_exact)
    found = solver(problem_of(known), time_limit=seconds)
    assert isinstance(found, Result)
    given = Submission(
        name=name,
        by=found.solver,
        solver=found.solver,
        objective=found.objective,
        solution=found.solution,
        bound=found.bound,
        result=True,
    )
    return judge(given, folder)[0]


def _made(given: Submission, part: Mapping[str, Any]) -> Any:
    return problem_from_dict(part) if part is given.problem else families.make(part)


def _judge_new(given: Submission) -> tuple[list[Judgement], Entry]:
    """An instance that the library does not have."""
    if NAME.fullmatch(given.name) is None or len(given.name) > LONGEST_NAME:
        rule = "is not of lower-case letters and digits with hyphens between them"
        raise ValueError(f"name={given.name!r} {rule}, at most {LONGEST_NAME}")
    part = given.problem if given.problem is not None else given.generator
    if part is None:
        raise ValueError(
            f"name={given.name!r} is not in the library; a new instance needs its problem"
        )
    if given.solution is None or given.bound is None or not given.description:
        raise ValueError("a new instance needs description, solution and bound")
    problem = _made(given, part)
    if part is not given.generator and given.generator is not None:
        _check_generator(given.generator, problem)
    stem, _ = entry_of(problem)
    _check_parts(given, stem, problem)
    found = Entry(
        name=given.name,
        description=given.description,
        formulation=stem,
        sense=problem.sense.value,
        level="open",
        jobs=size_of(problem),
        problem=given.problem,
        generator=given.generator,
        sha256=problem_hash(problem),
        best=_best_of(given),
        proof=_proof_of(given.bound),
        claim=None,
        runs={"rows": []},
        history=[],
    )
    _check_sides(found.sense, found)
    found = _renewed(found, given.by)
    gap = gap_of(found.objective, given.bound.value)
    reason = f"well-formed, {found.objective:.10g} and bound {given.bound.value:.10g}"
    return [Judgement("instance", NEW, f"{reason}, gap {100 * gap:.2f} %, {found.level}")], found


def _check_generator(call: Mapping[str, Any], problem: Any) -> None:
    if problem_hash(families.make(call)) != problem_hash(problem):
        raise ValueError("generator: the call makes another problem")


def _check_parts(given: Submission, stem: str, problem: Any) -> None:
    """Refuse a solution that breaks the problem, a wrong value, and a bound without its proof."""
    if given.solution is not None:
        broken = _broken(stem, problem, given.solution)
        if broken:
            more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
            raise ValueError(f"solution: {broken[0]}{more}")
        value = problem.objective(given.solution)
        if not meets(value, given.objective):  # type: ignore[arg-type]
            raise ValueError(f"objective={given.objective}, but the solution is worth {value}")
    if given.bound is not None and not _only_claimed(given):
        verify_bound(problem, given.bound)


def _only_claimed(given: Submission) -> bool:
    return given.result and given.bound is not None and given.bound.certificate is None


def _compared(sense: str, value: float | None, known: float) -> str:
    assert value is not None
    if meets(value, known):
        return EQUAL
    return BETTER if _beats(sense, value, known) else WORSE


def _with_bound(given: Submission, found: Entry, verdicts: list[Judgement]) -> Entry:
    """The entry with the submitted bound, where it is better; adds the verdict."""
    if given.bound is None:
        return found
    if _only_claimed(given):
        reason = f"{given.bound.value:.10g} is the solver's claim, without a certificate"
        verdicts.append(Judgement("bound", IGNORED, reason))
        return found
    proof, (low, high) = found.proof, library.SENSES
    against = high if found.sense == low else low  # a bound is better on the other side
    word = BETTER if proof is None else _compared(against, given.bound.value, proof["value"])
    known = "none is proven" if proof is None else f"known is {proof['value']:.10g}"
    verdicts.append(Judgement("bound", word, f"{given.bound.value:.10g}, {known}"))
    if word != BETTER:
        return found
    claim = found.claim
    if claim is not None and not _beats(against, claim["value"], given.bound.value):
        claim = None
    return replace(found, proof=_proof_of(given.bound), claim=claim)


def _check_sides(sense: str, found: Entry) -> None:
    """Refuse a solution and a proven bound that contradict each other: one of them is a bug."""
    if found.proof is not None and _beats(sense, found.objective, found.proof["value"]):
        raise ValueError(
            f"objective {found.objective} and bound {found.proof['value']} contradict each other, "
            "although both were checked: please report it"
        )


def _best_of(given: Submission) -> dict[str, Any]:
    return {
        "objective": given.objective,
        "solver": given.solver or given.by,
        "parameters": {},
        **_stamp(),
        "solution": solution_to_dict(given.solution),
        "call": None,
        "sha256": solution_hash(given.solution),
    }


def _proof_of(bound: Bound) -> dict[str, Any]:
    certificate = None if bound.certificate is None else dict(bound.certificate)
    return {"value": bound.value, "method": bound.method, "certificate": certificate, **_stamp()}


def _stamp() -> dict[str, str]:
    return {"version": versions()["gangsched"], "date": datetime.date.today().isoformat()}


def _renewed(found: Entry, by: str) -> Entry:
    """The entry with a new line of its history, and of the class that it has now."""
    level = level_of(found.objective, found.bound["value"], found.runs["rows"])
    line = {"objective": found.objective, "bound": found.bound["value"], "by": by}
    date = _stamp()["date"]
    return replace(found, level=level, history=[*found.history, {"date": date, **line}])


def accept(found: Entry, folder: Path) -> None:
    """Write an entry into a library, and its line into the index; each file as a whole.

    Raises
    ------
    ValueError
        If the file would be larger than 1 MiB.
    """
    text = json_text(library.entry_to_dict(found))
    if len(text) > MOST_BYTES:
        raise ValueError(f"{found.name}: {len(text):,} bytes are more than {MOST_BYTES:,}")
    rows = library.index(folder) if (folder / library.INDEX).exists() else {}
    write_file(library.path_of(found.name, folder), text)
    write_index({**rows, found.name: index_row(found)}, folder)


def write_index(rows: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Write the index of a library, a line for each entry."""
    lines = [f"{json_text(name).strip()}:{json_text(rows[name]).strip()}" for name in sorted(rows)]
    start = json_text(header("library index")).strip().removesuffix("}")
    write_file(folder / library.INDEX, f'{start},"entries":{{\n' + ",\n".join(lines) + "\n}}\n")


def checked(
    names: Sequence[str],
    folder: Path | None = None,
    on_start: Callable[[str], None] = lambda name: None,
) -> Iterator[tuple[str, list[str]]]:
    """Yield each name with the faults of its entry."""
    rows = library.index(folder)
    for name in names:
        on_start(name)
        try:
            found = library.entry(name, folder)
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            yield name, [str(error)]
            continue
        yield name, faults(found, rows.get(name))
