"""The claims of Wang et al. (IEEE TC 2023) on Astraea for IRMP, Section 4.5, and their corrections.

Symbols are the paper's: tau_l = 2^l, lambda rounds an interval, eta prices, theta their scale, C_w
and C_p what there is of workers and PSs, f_j utilities, mu_j the utility less the cost, sigma the
ratio of one round, N jobs. d_j is a job's shortest run, f_max the largest utility of any job.

Optima are found over all runs of all jobs; larger counterexamples come with a schedule that is
checked.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from ....solvers.irmp.astraea import AstraeaParams
from ..claim import Claim, Sides, claims_of, less, times
from . import lemmas, theorems
from .lemmas import EXAMPLE, Batch, Online, paper_example, two_in_a_row

PAPER = "Wang et al. 2023"


def _as_printed(case: lemmas.Online) -> Sides:
    return theorems.broken(replace(case, params=replace(case.params, literal=True)))


def _the_same(sides: Sides) -> Sides:
    return replace(sides, relation="==")


claim = claims_of(PAPER, __name__)

IRMP: tuple[Claim[Any], ...] = (
    claim("irmp-lemma-1-length", lemmas.length, lemmas.draw_batch, samples=50,
        counterexamples={"2 slots twice": lemmas.two_slots_twice}),
    claim("irmp-lemma-1-length-round", partial(lemmas.length, each=True), lemmas.draw_batch,
        samples=50, stronger=less(1)),
    claim("irmp-lemma-1-revenue", lemmas.lemma_1_ii, lemmas.draw_batch, samples=30,
        counterexamples={"two on one server": lambda: Batch(two_in_a_row(), 1, AstraeaParams()),
            "j11, j21": lambda: Batch(paper_example(("11", "21")), 2)}),
    claim("irmp-lemma-1-rounds", lemmas.lambda_rounds, partial(lemmas.draw_rounds, constant=True),
        samples=40, counterexamples={"20 + 20 or 37": lemmas.decoy}),
    claim("irmp-lemma-1-repaired", lemmas.one_more_round, lemmas.draw_rounds, samples=40,
        stronger=times(Fraction(10, 11))),
    claim("irmp-lemma-2", partial(lemmas.lemma_2, literal=True), lemmas.draw_single_job_case,
        counterexamples={"1 PS where 2 are needed": lemmas.too_few_ps,
            "no PS left": lemmas.no_ps_left, "slot 2 costs 9": lemmas.dearer_later}),
    claim("irmp-lemma-2-repaired", lemmas.lemma_2, lemmas.draw_single_job_case, samples=200,
        mutant=partial(lemmas.lemma_2, literal=True)),
    claim("irmp-lemma-3", lemmas.lemma_3, lemmas.draw_one_round, samples=60,
        counterexamples={"CE-a": lemmas.blocked, "CE-b": partial(lemmas.one_slot, 4, 5),
            "CE-b, 100 workers": partial(lemmas.one_slot, 100, 20),
            "CE-c": partial(lemmas.fragments, 60, 1e3)}),
    claim("irmp-lemma-3-per-server", partial(lemmas.lemma_3, per_server=True),
        lemmas.draw_one_round, samples=60,
        counterexamples={"CE-a": lemmas.blocked, "CE-c": partial(lemmas.fragments, 60, 1e3)}),
    claim("irmp-lemma-3-repaired", lemmas.small_demands, lemmas.draw_small_demands, samples=40,
        stronger=times(Fraction(1, 3))),
    claim("irmp-theorem-1-i", partial(theorems.gap, complete=True), theorems.draw_linear,
        samples=40, stronger=times(Fraction(1, 2))),
    claim("irmp-theorem-1-i-vacuous", theorems.vacuous, theorems.draw_slopes, stronger=less(1)),
    claim("irmp-theorem-1-i-last", partial(theorems.gap, complete=False),
        partial(theorems.draw_linear, lam=1), samples=40,
        counterexamples={"L = 1, from slot r": lambda: Online(two_in_a_row(slot_r=True)),
            "L = 3, from slot r + 1": lambda: Online(two_in_a_row(constant=100, work=5))}),
    claim("irmp-theorem-1-i-two-rounds", partial(theorems.gap, complete=False),
        partial(theorems.draw_linear, lam=2), samples=30, stronger=times(Fraction(1, 2))),
    claim("irmp-theorem-1-ii", theorems.convex, theorems.draw_convex, samples=30,
        counterexamples={"e = 1000, kappa = 1, 2": theorems.two_exponents}),
    claim("irmp-theorem-1-ii-repaired", partial(theorems.convex, repaired=True),
        theorems.draw_convex, samples=30, stronger=times(Fraction(1, 2))),
    claim("irmp-theorem-2", theorems.broken, partial(lemmas.draw_online, literal=True), samples=40,
        counterexamples={
            "two servers": lambda: Online(
                lemmas.too_few_ps().problem, replace(EXAMPLE, literal=True)),
            "the paper's example": lambda: Online(
                paper_example(), replace(lemmas.TWO_ROUNDS, literal=True))}),
    claim("irmp-theorem-2-repaired", theorems.broken, lemmas.draw_online, samples=200, least=5,
        mutant=_as_printed),
    claim("irmp-theorem-3", theorems.theorem_3, partial(lemmas.draw_online, jobs=3), samples=60,
        stronger=times(Fraction(1, 2))),
    claim("irmp-theorem-4", theorems.lie, theorems.draw_misreport, samples=60,
        counterexamples={"slope on one server": theorems.slope_on_one_server,
            "slope in the example": theorems.slope_of_the_example,
            "one chunk for two": theorems.fewer_chunks,
            "convex, shared": theorems.convex_in_stage_2}),
    claim("irmp-theorem-4-stage-2", theorems.stage_2, theorems.draw_told, samples=200,
        stronger=_the_same),
    claim("irmp-rational", theorems.rational, lemmas.draw_online, samples=40,
        counterexamples={
            "convex, shared": lambda: Online(
                theorems.convex_in_stage_2().truth, lemmas.TWO_ROUNDS)}),
    claim("irmp-theorem-5", theorems.pareto, lemmas.draw_online, samples=30,
        counterexamples={"two on one server": lambda: Online(two_in_a_row(constant=20)),
            "the paper's example": lambda: Online(paper_example(lemmas.FIRST), lemmas.BY_NUMBER)}),
    claim("irmp-sharing-incentive", theorems.alone, partial(lemmas.draw_online, owned=True),
        samples=40, counterexamples={"3 at 7.1": theorems.priced_out}),
    claim("irmp-division", theorems.division, theorems.draw_paid, samples=40,
        mutant=theorems.whole_cost),
    claim("irmp-division-printed", theorems.whole_cost, theorems.draw_books, samples=40,
        counterexamples={"j12 as printed": theorems.printed_schedule}),
    claim("irmp-money", partial(theorems.balance, self_share=True), theorems.draw_paid, samples=40,
        mutant=partial(theorems.balance, self_share=False)),
    claim("irmp-money-printed", partial(theorems.balance, self_share=False), theorems.draw_books,
        samples=40, counterexamples={"j12 as printed": theorems.printed_schedule}),
)  # fmt: skip
