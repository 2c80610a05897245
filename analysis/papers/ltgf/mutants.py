"""Stronger statements than the claims of :mod:`.claims`, all false: their cases have to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from ..claim import Mutant, less, times
from .claims import RULES, _claimed_share, _credit, _figure_6_c, _leximin, _split_users

#: by the id of the claim
MUTANTS: Mapping[str, Mutant[Any]] = {
    "rho-minus": Mutant(
        statement="rho, as it is now, in place of rho^-", check=partial(_leximin, now=True)
    ),
    "rho-minus-ties": Mutant(statement="it is leximin optimal", check=_leximin),
    "figure-6c": Mutant(
        statement="also with a round less", check=lambda rounds: _figure_6_c(rounds - 1)
    ),
    "quota-credit": Mutant(statement="for H + 1 rounds", check=partial(_credit, more=1)),
    "demand-window": Mutant(statement="to within half a GPU-round", sides=times(Fraction(1, 2))),
    "split-users": Mutant(
        statement="also where one part asks for a GPU more",
        check=lambda case: _split_users(replace(case, asked=(case.asked[0] + 1, *case.asked[1:]))),
    ),
    "claim-share": Mutant(
        statement="also where the job needs one GPU",
        check=lambda case: _claimed_share(replace(case, gang=1)),
    ),
    "leases-together": Mutant(statement="after 9 / 10 L", sides=times(Fraction(9, 10))),
    "patience": Mutant(
        statement="W + 9 / 10 L later", sides=less(Fraction(RULES.lease_length, 10))
    ),
    "passed-over": Mutant(statement="a second before", sides=less(1)),
}
