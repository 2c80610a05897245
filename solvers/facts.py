"""What a solver says of its solution beside the objective, as typed records of each problem.

What metrics, comparisons and proofs go by stands here; `Result.info` is for display.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What every problem's facts have.

    Parameters
    ----------
    relaxation : str
        Name of the relaxation of the problem that was solved instead; empty for the problem itself.

    Raises
    ------
    TypeError, ValueError
        For values of another type, naming them.

    Examples
    --------
    >>> Facts(relaxation="preemptive").relaxation
    'preemptive'
    """

    relaxation: str = ""

    def __post_init__(self) -> None:
        self._check("relaxation", str, "a string")

    @classmethod
    def of(cls, result: Any) -> Self:
        """Return the facts of a result, those by default where it has none of this kind."""
        facts = getattr(result, "facts", None)
        return facts if isinstance(facts, cls) else cls()

    def _check(self, name: str, kind: type[Any], text: str, *, optional: bool = False) -> None:
        value = getattr(self, name)
        if optional and value is None:
            return
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"facts: {name}={value!r} is not {text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MakespanFacts(Facts):
    """Of a schedule for RAR-DDLS.

    Parameters
    ----------
    kappa : int or None
        Threshold on gang sizes of the run that is returned.
    theta : int or None
        Smallest feasible limit of a GPU's estimated times that was found.
    load : int or None
        Largest sum of estimated times of a GPU in the schedule, W_hat.
    fallback : bool
        Another solver's schedule is returned, to which the guarantee does not apply.

    Examples
    --------
    >>> MakespanFacts(kappa=1, theta=6, load=5).load
    5
    """

    kappa: int | None = None
    theta: int | None = None
    load: int | None = None
    fallback: bool = False

    def __post_init__(self) -> None:
        Facts.__post_init__(self)
        for name in ("kappa", "theta", "load"):
            self._check(name, int, "an integer", optional=True)
        self._check("fallback", bool, "True or False")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevenueFacts(Facts):
    """Of a schedule for IRMP; its relaxation is "preemptive" or none.

    Parameters
    ----------
    ideal_revenue : float or None
        Revenue counted from the beginnings of rounds; None of solvers without rounds.
    rounds : int or None
        lambda, rounds of an interval.
    intervals : int or None
        That are complete.
    payments : mapping of job id to float
        Of the jobs of stage 2.
    incomes : mapping of user to float
    theta : sequence of (float, float), or None
        theta_w and theta_p of each type of nodes, of which payments are made.
    scale : float
        The unit of money that theta is in.
    left : sequence of job ids
        Jobs that do not run.
    within_assumption : int or None
        Runs for which f / use >= 1 in that unit, as the paper assumes of all; None of solvers
        without prices of (8).

    Examples
    --------
    >>> RevenueFacts(payments={"a": 3.0}, incomes={"u": 3.0}, theta=[[16, 16]]).theta
    ((16, 16),)
    """

    ideal_revenue: float | None = None
    rounds: int | None = None
    intervals: int | None = None
    payments: Mapping[str, float] = field(default_factory=dict)
    incomes: Mapping[str, float] = field(default_factory=dict)
    theta: Sequence[Sequence[float]] | None = None
    scale: float = 1.0
    left: Sequence[str] = ()
    within_assumption: int | None = None

    def __post_init__(self) -> None:
        Facts.__post_init__(self)
        self._check("ideal_revenue", (int | float), "a number", optional=True)  # type: ignore[arg-type]
        self._check("scale", (int | float), "a number")  # type: ignore[arg-type]
        for name in ("rounds", "intervals", "within_assumption"):
            self._check(name, int, "an integer", optional=True)
        for name in ("payments", "incomes"):
            self._check(name, Mapping, "a mapping")
            object.__setattr__(self, name, dict(getattr(self, name)))
            for who, amount in getattr(self, name).items():
                if isinstance(amount, bool) or not isinstance(amount, int | float):
                    raise TypeError(f"facts: {name}[{who!r}]={amount!r} is not a number")
        if self.theta is not None:
            self._check("theta", Sequence, "a list")
            object.__setattr__(self, "theta", tuple(map(tuple, self.theta)))
        self._check("left", Sequence, "a list")
        object.__setattr__(self, "left", tuple(self.left))


#: classes of facts by their kind in files
FACTS: Mapping[str, type[Facts]] = {
    "facts": Facts,
    "makespan": MakespanFacts,
    "revenue": RevenueFacts,
}


def facts_to_dict(facts: Facts) -> dict[str, Any]:
    """Return facts as plain data."""
    for kind, made in FACTS.items():
        if type(facts) is made:
            return {"kind": kind} | {one.name: getattr(facts, one.name) for one in fields(facts)}
    raise TypeError(f"result: facts={facts!r} are none of {', '.join(FACTS)}")


def facts_from_dict(data: Any) -> Facts:
    """Return what :func:`facts_to_dict` wrote."""
    if not isinstance(data, Mapping) or data.get("kind") not in tuple(FACTS):
        raise ValueError(f"facts: not an object of kind {', '.join(map(repr, FACTS))}")
    made, given = FACTS[data["kind"]], {k: v for k, v in data.items() if k != "kind"}
    for name in given:
        if name not in {one.name for one in fields(made)}:
            raise ValueError(f"facts: unknown field {name!r}")
    return made(**given)
