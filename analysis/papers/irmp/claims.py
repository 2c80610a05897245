"""The claims of Wang et al. (IEEE TC 2023) on Astraea for IRMP, Section 4.5, and their corrections.

Symbols are the paper's: tau_l = 2^l, lambda rounds an interval, eta prices, theta their scale, C_w
and C_p what there is of workers and PSs, f_j utilities, mu_j the utility less the cost, sigma the
ratio of one round, N jobs. d_j is a job's shortest run, f_max the largest utility of any job.

Optima are found over all runs of all jobs; larger counterexamples come with a schedule that is
checked.
"""

from __future__ import annotations

from dataclasses import replace

from ..claim import Sides, claims_of
from . import lemmas, theorems

PAPER = "Wang et al. 2023"


def _as_printed(case: lemmas.Online) -> Sides:
    return theorems.broken(replace(case, params=replace(case.params, literal=True)))


def _the_same(sides: Sides) -> Sides:
    return replace(sides, relation="==")


def _two_servers() -> lemmas.Online:
    return lemmas.Online(lemmas.too_few_ps().problem, replace(lemmas.EXAMPLE, literal=True))


def _example_in_two_rounds() -> lemmas.Online:
    params = replace(lemmas.TWO_ROUNDS, literal=True)
    return lemmas.Online(lemmas.paper_example(), params)


def _shared() -> lemmas.Online:
    return lemmas.Online(theorems.convex_in_stage_2().truth, lemmas.TWO_ROUNDS)


def _example_by_number() -> lemmas.Online:
    return lemmas.Online(lemmas.paper_example(lemmas.FIRST), lemmas.BY_NUMBER)


IRMP = claims_of(PAPER, __name__)
