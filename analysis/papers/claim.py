"""A published claim as something that can be run: on its counterexamples and on random cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Generic, Literal, TypeVar
from zlib import crc32

import numpy as np

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
        """Whether the two sides differ."""
        return self.left != self.right

    @property
    def tightness(self) -> float:
        """How near the case is to breaking the claim: 1 where the sides are equal, more beyond."""
        if self.left == self.right:
            return 1.0
        low, high = self.right, self.left
        if self.relation == "==":
            low, high = sorted((self.left, self.right))
        return float(high / low) if low else float("inf")

    def __str__(self) -> str:
        sides = (f"{float(side):.4g}" for side in (self.left, self.right))
        return f" {self.relation} ".join(sides) + ("" if self.holds else " fails")


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
    counterexamples: Mapping[str, Callable[[], C]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.REFUTED) != bool(self.counterexamples):
            raise ValueError(
                f"claim {self.id!r}: counterexamples={list(self.counterexamples)} with verdict "
                f"{self.verdict.value}, but exactly the refuted claims have counterexamples"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRun:
    """What running a claim gave.

    Parameters
    ----------
    claim, source, statement : str
        The claim's id, source and statement.
    verdict : Verdict
    tried : int
        Random cases within the assumptions.
    failed : int
        Those that break the claim.
    strict : int
        Those whose two sides differ.
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
    tried: int
    failed: int
    strict: int
    worst: Sides | None
    counterexamples: Mapping[str, Sides | None]
    evidence: str

    @property
    def confirmed(self) -> bool:
        """Whether the run agrees with the verdict.

        A refuted claim must fail on every counterexample (random cases may well satisfy it), any
        other claim on none of the random cases, of which there must be one.
        """
        if self.verdict is Verdict.REFUTED:
            return all(c is not None and not c.holds for c in self.counterexamples.values())
        return self.tried > 0 and not self.failed


def run(claim: Claim[C], *, samples: int | None = None, seed: int = 0) -> ClaimRun:
    """Check a claim on its counterexamples and on seeded random cases.

    Parameters
    ----------
    claim : Claim
    samples : int, optional
        Random cases to draw; the claim's own number by default.
    seed : int
        Of NumPy's default generator, together with the claim's id.

    Returns
    -------
    ClaimRun
    """
    rng = np.random.default_rng([seed, crc32(claim.id.encode())])
    drawn = (claim.check(claim.draw(rng)) for _ in range(samples or claim.samples))
    cases = [case for case in drawn if case is not None]
    broken = {name: claim.check(case()) for name, case in claim.counterexamples.items()}
    return ClaimRun(
        claim=claim.id,
        source=claim.source,
        statement=claim.statement,
        verdict=claim.verdict,
        tried=len(cases),
        failed=sum(not case.holds for case in cases),
        strict=sum(case.strict for case in cases),
        worst=max(cases, key=lambda case: (not case.holds, case.tightness), default=None),
        counterexamples=broken,
        evidence="; ".join([claim.evidence, *(f"{name}: {c}" for name, c in broken.items())]),
    )
