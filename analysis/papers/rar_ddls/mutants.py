"""Stronger statements than the claims of :mod:`.claims`, all false: their cases have to tell."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import networkx as nx

from ..claim import Mutant, Sides, less, times
from .claims import (
    _laminar,
    _laminar_greedy,
    _lemma_2_repaired,
    _monotone_queues,
    _reuse,
    coloring_jobs,
)


def _degree(graph: nx.Graph) -> Sides:
    return Sides(max(degree for _, degree in graph.degree), coloring_jobs(graph).shortest(), "==")


#: by the id of the claim
MUTANTS: Mapping[str, Mutant[Any]] = {
    "theorem-1-prescribed": Mutant(statement="it is the largest degree", check=_degree),
    "lemma-2-repaired": Mutant(
        statement="has a makespan of theta~", check=partial(_lemma_2_repaired, length=True)
    ),
    "lemma-3-exact": Mutant(statement="a tenth less", sides=times(Fraction(9, 10))),
    "lemma-3-prescribed": Mutant(statement="a slot less", sides=less(1)),
    "lemma-3-repaired": Mutant(statement="a tenth less", sides=times(Fraction(9, 10))),
    "lemma-4-repaired": Mutant(statement="1 less", sides=less(1)),
    "theorem-5-gangs": Mutant(statement="half of it", sides=times(Fraction(1, 2))),
    "theorem-5-repaired": Mutant(statement="three fifths of it", sides=times(Fraction(3, 5))),
    "theorem-6": Mutant(statement="a sorting less than n_g (1 + log2 T) (2 J - 1)", sides=less(1)),
    "P1-i": Mutant(statement="3 / 2 in place of 2", sides=times(Fraction(3, 4))),
    "P1-ii": Mutant(statement="two thirds of it", sides=times(Fraction(2, 3))),
    "monotone-queues": Mutant(
        statement="exactly at every theta > W_hat", check=partial(_monotone_queues, more=1)
    ),
    "reuse": Mutant(statement="also at W_hat - 1", check=partial(_reuse, upwards=False, below=1)),
    "laminar": Mutant(
        statement="no GPU is idle before the last job of all",
        check=partial(_laminar, to_the_end=True),
    ),
    "laminar-greedy": Mutant(
        statement="D / 2 in place of D", check=partial(_laminar_greedy, part=Fraction(1, 2))
    ),
}
