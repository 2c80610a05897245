"""Stronger statements than the claims of :mod:`.claims`, all false: their cases have to tell."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from ....solvers.unisched.cells import free_cells
from ..claim import Mutant, Sides, less
from .claims import (
    Gangs,
    _counted,
    _displaced,
    _dominated,
    _enough,
    _half,
    _integral,
    _larger_first,
    _laxity,
    _mean_interruptions,
    _necessary,
    _one_row,
    _one_taken,
    _prefix,
    _refused,
    _sufficient,
    _within_rows,
    _Work,
)


def _one_gpu_less(case: Gangs) -> Sides | None:
    """Of (14), not of the nodes."""
    return _necessary(case, free_cells(_one_taken(case).free))


def _refused_in_time(case: _Work) -> Sides:
    refused = _refused(case, rounding="lossless").left
    return Sides(refused, case.work >= case.deadline, "==")


#: by the id of the claim
MUTANTS: Mapping[str, Mutant[Any]] = {
    "proposition-1": Mutant(
        statement="also once a free GPU is taken", check=partial(_sufficient, taken=True)
    ),
    "proposition-1-converse": Mutant(
        statement="(14) holds with one free GPU less", check=_one_gpu_less
    ),
    "proposition-1-one-row": Mutant(
        statement="where one GPU is taken", check=partial(_one_row, taken=1)
    ),
    "larger-first": Mutant(
        statement="also once a free GPU is taken", check=partial(_larger_first, taken=True)
    ),
    "five-rows": Mutant(statement="four are enough", check=partial(_within_rows, but=1)),
    "partial-rows": Mutant(
        statement="all but the last are enough", check=partial(_within_rows, but=1)
    ),
    "section-2b-round-up": Mutant(statement="m + 1 are placed", sides=less(-1)),
    "section-2b-split": Mutant(statement="one of them is not placed", sides=less(1)),
    "two-allocations": Mutant(
        statement="the round-up is enough", check=partial(_dominated, consolidated=True)
    ),
    "prefixes": Mutant(statement="for all leases together", check=partial(_prefix, last=True)),
    "compact-equal": Mutant(
        statement="with a GPU less in each lease", check=partial(_integral, taken=1)
    ),
    "compact-additive": Mutant(
        statement="a_max - 2 GPUs more are enough",
        check=partial(_integral, additive=True, taken=1),
    ),
    "least-laxity-equal": Mutant(
        statement="also with the GPUs of a gang less in each lease",
        check=partial(_laxity, taken=True),
    ),
    "lossless": Mutant(statement="if D <= T^dur", check=_refused_in_time),
    "lossless-in-time": Mutant(statement="a second before its deadline", sides=less(1)),
    "eq-3": Mutant(statement="n (m - n) / m", check=partial(_mean_interruptions, all_n=True)),
    "eq-3-mean": Mutant(statement="with m + 1 for m", check=partial(_counted, more=1)),
    "eq-3-least": Mutant(statement="one lease less is enough", check=partial(_enough, fewer=1)),
    "best-effort-mean": Mutant(statement="n / 2 times", check=_half),
    "weights-lexicographic": Mutant(
        statement="rewards of 2 / (n + 1) do",
        check=lambda case: _displaced(case, scale=Fraction(case.profilers + 1, 2)),
    ),
}
