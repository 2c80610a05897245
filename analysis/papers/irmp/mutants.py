"""Stronger statements than the claims of :mod:`.claims`, all false: their cases have to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from ..claim import Mutant, Sides, less, times
from . import lemmas, theorems

VACUOUS = "irmp-theorem-1-i-vacuous: the bound is what any schedule by then keeps, and more"


def _as_printed(case: lemmas.Online) -> Sides:
    return theorems.broken(replace(case, params=replace(case.params, literal=True)))


def _the_same(sides: Sides) -> Sides:
    return replace(sides, relation="==")


#: by the id of the claim
MUTANTS: Mapping[str, Mutant[Any]] = {
    "irmp-lemma-1-length-round": Mutant(statement="a slot before", sides=less(1)),
    "irmp-lemma-1-repaired": Mutant(
        statement="they earn a tenth more", sides=times(Fraction(10, 11))
    ),
    "irmp-lemma-2-repaired": Mutant(
        statement="they do as printed", check=partial(lemmas.lemma_2, literal=True)
    ),
    "irmp-lemma-3-repaired": Mutant(
        statement="OPT is at most L times what is earned", sides=times(Fraction(1, 3))
    ),
    "irmp-theorem-1-i": Mutant(statement="half of it", sides=times(Fraction(1, 2)), loose=VACUOUS),
    "irmp-theorem-1-i-vacuous": Mutant(statement="at least 1 more than that", sides=less(1)),
    "irmp-theorem-1-i-two-rounds": Mutant(
        statement="half of it", sides=times(Fraction(1, 2)), loose=VACUOUS
    ),
    "irmp-theorem-1-ii-repaired": Mutant(
        statement="ALG / OPT >= 2 (1 / 4 lambda)^kappa_max", sides=times(Fraction(1, 2))
    ),
    "irmp-theorem-2-repaired": Mutant(statement="as printed", check=_as_printed),
    "irmp-theorem-3": Mutant(statement="2 lambda L sum of T D_j", sides=times(Fraction(1, 2))),
    "irmp-theorem-4-stage-2": Mutant(statement="it has as much as by the truth", sides=_the_same),
    "irmp-division": Mutant(
        statement="with the whole cost in each slot", check=theorems.whole_cost
    ),
    "irmp-money": Mutant(
        statement="if it counts only jobs of others",
        check=partial(theorems.balance, self_share=False),
    ),
}
