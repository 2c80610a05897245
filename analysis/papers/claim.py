"""A published claim as something that can be run: on its counterexamples and on random cases."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar
from zlib import crc32

import numpy as np

from ...instances.shipped import shipped

C = TypeVar("C")
Number = int | float | Fraction


class Verdict(StrEnum):
    """What is known about a claim."""

    PROVED = "proved"  #: true under its assumptions; the proof is in docs/theorems.md
    REFUTED = "refuted"  #: false; every counterexample given breaks it
    OBSERVED = "observed"  #: no proof and no counterexample


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a claim on one case.

    Parameters
    ----------
    left, right : int, float or Fraction
    relation : {"<=", "=="}
        What the claim says of them.

    Examples
    --------
    >>> print(Sides(3, 2))
    3 <= 2 fails
    >>> Sides(Fraction(3, 2), 2).holds
    True
    """

    left: Number
    right: Number
    relation: Literal["<=", "=="] = "<="

    @property
    def holds(self) -> bool:
        """Whether the claim is true here."""
        return self.left <= self.right if self.relation == "<=" else self.left == self.right

    @property
    def strict(self) -> bool:
        """Whether a side is not 0: of 0 and 0 most claims are true."""
        return bool(self.left or self.right)

    @property
    def tightness(self) -> float:
        """How near the case is to breaking the claim: 1 where the sides are equal, more beyond."""
        if self.left == self.right:
            return 1.0
        low, high = self.right, self.left
        if self.relation == "==":
            low, high = sorted((self.left, self.right))
        if low < 0 and high < 0:
            low, high = -high, -low
        if low <= 0 or high <= 0:
            return float("inf") if high > low else 0.0
        return float(high / low)

    def __str__(self) -> str:
        sides = (f"{float(side):.4g}" for side in (self.left, self.right))
        return f" {self.relation} ".join(sides) + ("" if self.holds else " fails")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant(Generic[C]):
    """A statement that is a little stronger than a claim, and false: what shows it bites.

    Parameters
    ----------
    statement : str
        How it reads, after the claim.
    check : callable (case) -> Sides or None
        Its sides on a case of the claim.
    sides : callable (Sides) -> Sides
        Its sides by those of the claim; instead of `check`.
    loose : str
        Why it cannot be told from the claim, where the claim has room to spare; else empty.

    Examples
    --------
    >>> half = Mutant(statement="by half", sides=times(Fraction(1, 2)))
    >>> print(half.on(None, Sides(3, 4)))
    3 <= 2 fails
    """

    statement: str
    check: Callable[[C], Sides | None] | None = None
    sides: Callable[[Sides], Sides] | None = None
    loose: str = ""

    def on(self, case: C, sides: Sides) -> Sides | None:
        """Return the mutant's sides where the claim has these."""
        if self.sides is not None:
            return self.sides(sides)
        return self.check(case) if self.check is not None else None


def times(factor: Number) -> Callable[[Sides], Sides]:
    """Return what multiplies the right side."""
    return lambda sides: replace(sides, right=sides.right * factor)


def less(by: Number) -> Callable[[Sides], Sides]:
    """Return what takes something from the right side."""
    return lambda sides: replace(sides, right=sides.right - by)


def _nearly(sides: Sides) -> Sides:
    """The same with a hundredth of the right side to spare."""
    spare: Number = sides.right / 100
    if spare < 0:
        spare = -spare
    if sides.relation == "==":
        return Sides(abs(float(sides.left - sides.right)), spare)
    return replace(sides, right=sides.right + spare)


def nearest(found: Iterable[Sides]) -> Sides | None:
    """Return the sides nearest to breaking a claim, or beyond; None where there are none."""
    return max(found, key=lambda sides: (not sides.holds, sides.tightness), default=None)


#: of a claim that is refuted, which is false by itself: not only by rounding
NEARLY: Mutant[object] = Mutant(statement="it holds to within 1 %", sides=_nearly)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Generic[C]):
    """A claim of a paper, or the corrected form of one.

    Parameters
    ----------
    id : str
        Short name, unique.
    source : str
        Paper and place.
    statement : str
        The claim in one or two sentences, in the paper's symbols.
    verdict : Verdict
    assumptions : str
        What the claim needs; empty where there is nothing to add.
    evidence : str
        Why the verdict is right, in one line.
    check : callable (case) -> Sides or None
        Both sides of the claim on a case; None where the case is outside the assumptions.
    draw : callable (generator) -> case
        A random small case.
    samples : int
        Cases that :func:`run` draws.
    least : int
        Strict cases without which they show nothing.
    mutant : Mutant or None
        What the cases of a claim that is not refuted have to tell from it.
    counterexamples : mapping of str to callable () -> case
        By name, smallest first; each breaks a refuted claim.
    """

    id: str
    source: str
    statement: str
    verdict: Verdict
    assumptions: str = ""
    evidence: str
    check: Callable[[C], Sides | None]
    draw: Callable[[np.random.Generator], C]
    samples: int = 100
    least: int = 10
    mutant: Mutant[C] | None = None
    counterexamples: Mapping[str, Callable[[], C]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.REFUTED) != bool(self.counterexamples):
            raise ValueError(
                f"claim {self.id!r}: counterexamples={list(self.counterexamples)} with verdict "
                f"{self.verdict.value}, but exactly the refuted claims have counterexamples"
            )

    @property
    def ours(self) -> bool:
        """Whether the claim is ours and not the paper's: a corrected one, or one beyond it."""
        return self.source.startswith("ours") or self.source.endswith(("corrected", "restricted"))


def claims_of(paper: str, module: str) -> tuple[Claim[Any], ...]:
    """Return a paper's claims, or ours at a place, as the file beside a module has them.

    The file has the module's name and ends in .toml. By claim it has the verdict, place, statement,
    evidence and assumptions, what its mutant says and why that is loose, and the functions of the
    module that check and draw cases, and make counterexamples. A mutant's sides are those of its
    `mutant_check` on a case, or the claim's with the right one `times` a factor, `less` something,
    or by a function, `stronger`.
    """
    package, _, name = module.rpartition(".")
    rows = shipped(package, name).items()
    return tuple(_claim(paper, sys.modules[module], id, row) for id, row in rows)


def _claim(paper: str, module: ModuleType, id: str, row: dict[str, Any]) -> Claim[Any]:
    """A claim by its row."""
    verdict, place = Verdict(row.pop("verdict")), row.pop("place")
    cases = row.pop("counterexamples", {}).items()
    row["counterexamples"] = {name: _function(module, case) for name, case in cases}
    for name in ("check", "draw", "mutant_check", "stronger"):
        row[name] = _function(module, row[name]) if name in row else None
    check, stronger = row.pop("mutant_check"), row.pop("stronger")
    if "times" in row:
        stronger = times(Fraction(row.pop("times")))
    elif "less" in row:
        stronger = less(row.pop("less"))
    if "mutant" in row:
        said, loose = row["mutant"], row.pop("loose", "")
        row["mutant"] = Mutant(statement=said, loose=loose, check=check, sides=stronger)
    source = place if place.startswith("ours") else f"{paper}, {place}"
    return Claim(id=id, source=source, verdict=verdict, **row)


def _function(module: ModuleType, told: Any) -> Any:
    """What a module, one beside it, or Python calls by a name, with arguments if some are told."""
    if isinstance(told, str):
        first, _, name = told.rpartition(".")
        if first:
            module = getattr(module, first, None) or import_module(f"{module.__package__}.{first}")
        return getattr(module, name, None) or getattr(builtins, name)
    options = {name: _value(module, value) for name, value in told.items()}
    function = _function(module, options.pop("of"))
    return partial(function, *options.pop("args", ()), **options)


def _value(module: ModuleType, told: Any) -> Any:
    """An argument: a list is a tuple, a function that is told with `of` is called."""
    if isinstance(told, list):
        return tuple(_value(module, one) for one in told)
    return _function(module, told)() if isinstance(told, dict) else told


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRun:
    """What running a claim gave.

    Parameters
    ----------
    claim, source, statement : str
        The claim's id, source and statement.
    verdict : Verdict
    draws : int
        Random cases.
    tried : int
        Those that are applicable: within the assumptions.
    failed : int
        Of these, those that break the claim.
    strict : int
        Of these, those that ask something: the sides are not both 0, or the mutant fails.
    least : int
        Strict cases without which a claim that is not refuted is not shown.
    killed : int
        Cases that kill the mutant; of a refuted claim, counterexamples that do.
    mutant : str
        What the mutant says; empty without one.
    loose : str
        Why the mutant cannot be killed; else empty.
    worst : Sides or None
        The random case nearest to breaking the claim, or beyond; None without cases.
    counterexamples : mapping of str to Sides or None
        The two sides on each counterexample.
    evidence : str
        The claim's, with what its counterexamples gave.
    """

    claim: str
    source: str
    statement: str
    verdict: Verdict
    draws: int
    tried: int
    failed: int
    strict: int
    least: int
    killed: int
    mutant: str
    loose: str
    worst: Sides | None
    counterexamples: Mapping[str, Sides | None]
    evidence: str

    @property
    def contradicted(self) -> bool:
        """Whether the run is against the verdict.

        A refuted claim must fail on every counterexample (random cases may well satisfy it), any
        other claim on none of the random cases.
        """
        if self.verdict is Verdict.REFUTED:
            return not all(c is not None and not c.holds for c in self.counterexamples.values())
        return self.failed > 0

    @property
    def shown(self) -> bool:
        """Whether the cases could have said otherwise.

        Enough of them are strict, and one of them kills the mutant, unless the claim is loose.
        """
        if self.verdict is Verdict.REFUTED:
            return self.killed > 0
        return self.strict >= self.least and bool(self.killed) != bool(self.loose)

    @property
    def confirmed(self) -> bool:
        """Whether the run agrees with the verdict, and its cases show it."""
        return self.shown and not self.contradicted


def run(claim: Claim[C], *, samples: int | None = None, seed: int = 0) -> ClaimRun:
    """Check a claim and its mutant on its counterexamples and on seeded random cases.

    Parameters
    ----------
    claim : Claim
    samples : int, optional
        Random cases to draw; the claim's own number by default. With fewer, fewer need be strict.
    seed : int
        Of NumPy's default generator, together with the claim's id.

    Returns
    -------
    ClaimRun
    """
    rng = np.random.default_rng([seed, crc32(claim.id.encode())])
    refuted = claim.verdict is Verdict.REFUTED
    mutant: Mutant[Any] | None = claim.mutant or (NEARLY if refuted else None)
    draws, cases, strict, killed = samples or claim.samples, list[Sides](), 0, 0
    for _ in range(draws):
        case = claim.draw(rng)
        sides = claim.check(case)
        if sides is None:
            continue
        kills = not refuted and _kills(mutant, case, sides)
        cases.append(sides)
        strict += sides.strict or kills
        killed += kills
    broken: dict[str, Sides | None] = {}
    for name, make in claim.counterexamples.items():
        case = make()
        broken[name] = sides = claim.check(case)
        killed += sides is not None and _kills(mutant, case, sides)
    return ClaimRun(
        claim=claim.id,
        source=claim.source,
        statement=claim.statement,
        verdict=claim.verdict,
        draws=draws,
        tried=len(cases),
        failed=sum(not case.holds for case in cases),
        strict=strict,
        least=0 if refuted else max(1, min(claim.least, claim.least * draws // claim.samples)),
        killed=killed,
        mutant=mutant.statement if mutant else "",
        loose=mutant.loose if mutant else "",
        worst=nearest(cases),
        counterexamples=broken,
        evidence="; ".join([claim.evidence, *(f"{name}: {c}" for name, c in broken.items())]),
    )


def _kills(mutant: Mutant[Any] | None, case: Any, sides: Sides) -> bool:
    """Whether a mutant fails on a case."""
    found = mutant.on(case, sides) if mutant is not None else None
    return found is not None and not found.holds
