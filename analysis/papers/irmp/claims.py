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
from ..claim import Claim, Mutant, Sides, claims_of, less, times
from . import lemmas, theorems
from .lemmas import EXAMPLE, Batch, Online, paper_example, two_in_a_row

__all__ = ["IRMP"]

PAPER = "Wang et al. 2023"

VACUOUS = "irmp-theorem-1-i-vacuous: the bound is what any schedule by then keeps, and more"


def _as_printed(case: lemmas.Online) -> Sides:
    return theorems.broken(replace(case, params=replace(case.params, literal=True)))


def _the_same(sides: Sides) -> Sides:
    return replace(sides, relation="==")


proved, refuted, _ = claims_of(PAPER)

# id, place, statement, evidence, check, draw
IRMP: tuple[Claim[Any], ...] = (
    refuted("irmp-lemma-1-length", "Lemma 1 (i)",
        "The schedule that A_round computes is at most tau_l long.",
        "it has lambda rounds of tau_l slots",
        lemmas.length, lemmas.draw_batch, samples=50,
        assumptions="lambda >= 2",
        counterexamples={"2 slots twice": lemmas.two_slots_twice}),
    proved("irmp-lemma-1-length-round", "Lemma 1 (i), restricted",
        "What it schedules in one round ends tau_l after the beginning of the round.",
        "line 4 of Algorithms 4 and 5",
        partial(lemmas.length, each=True), lemmas.draw_batch, samples=50,
        mutant=Mutant(statement="a slot before", sides=less(1))),
    refuted("irmp-lemma-1-revenue", "Lemma 1 (ii)",
        "With the lambda of Lemma 1, the ideal revenue of A_round is at least the optimum of "
        "Definition 1 with deadline tau_l.",
        "prices delay a job that no other round repeats; whatever lambda is",
        lemmas.lemma_1_ii, lemmas.draw_batch, samples=30,
        counterexamples={"two on one server": lambda: Batch(two_in_a_row(), 1, AstraeaParams()),
            "j11, j21": lambda: Batch(paper_example(("11", "21")), 2)}),
    refuted("irmp-lemma-1-rounds", "Lemma 1, lambda",
        "Where utilities do not depend on time, lambda rounds of any sigma-approximation earn as "
        "much as the optimum of one round.",
        "OPT less what is earned falls below f_min, not to 0",
        lemmas.lambda_rounds, partial(lemmas.draw_rounds, constant=True), samples=40,
        counterexamples={"20 + 20 or 37": lemmas.decoy}),
    proved("irmp-lemma-1-repaired", "Lemma 1 (ii), corrected",
        "lambda + 1 rounds of any sigma-approximation earn at least min f_j(tau) / f_j(d_j) of the "
        "optimum of one round.",
        "by f_j(d_j) the argument is right but for its last step",
        lemmas.one_more_round, lemmas.draw_rounds, samples=40,
        assumptions="f_j(tau) >= 0 and d_j <= tau for all jobs; F and f_min of Lemma 1 are sum and "
        "least of f_j(d_j) > 0",
        mutant=Mutant(statement="they earn a tenth more", sides=times(Fraction(10, 11)))),
    refuted("irmp-lemma-2", "Lemma 2",
        "Algorithms 3, 4 and 5 as printed solve problem (9).",
        "too few PSs are enough (Algorithm 4, line 8), PSs are held to the quota of workers "
        "(Algorithm 5, line 7), the first slot's price counts for all (line 12)",
        partial(lemmas.lemma_2, literal=True), lemmas.draw_single_job_case,
        counterexamples={"1 PS where 2 are needed": lemmas.too_few_ps,
            "no PS left": lemmas.no_ps_left, "slot 2 costs 9": lemmas.dearer_later}),
    proved("irmp-lemma-2-repaired", "Lemma 2, corrected",
        "They do with these three places put right.",
        "a placement with its PSs on one server, as few as possible, costs no more",
        lemmas.lemma_2, lemmas.draw_single_job_case, samples=200,
        assumptions="utilities do not rise; (9) with the quota that is left in stage 1",
        mutant=Mutant(statement="they do as printed",
            check=partial(lemmas.lemma_2, literal=True))),
    refuted("irmp-lemma-3", "Lemma 3",
        "OPT of (4) is at most 2 (log2 theta_w + log2 theta_p) times what A_maxIrev earns.",
        "a small job can block a large one (CE-a); a full slot costs no more than a slot of a long "
        "run (CE-b); uniform prices do not see which server is full (CE-c)",
        lemmas.lemma_3, lemmas.draw_one_round, samples=60,
        assumptions="theta - 1 = max f / use over the run, as printed, and f / use >= 1",
        counterexamples={"CE-a": lemmas.blocked, "CE-b": partial(lemmas.one_slot, 4, 5),
            "CE-b, 100 workers": partial(lemmas.one_slot, 100, 20),
            "CE-c": partial(lemmas.fragments, 60, 1e3)}),
    refuted("irmp-lemma-3-per-server", "ours",
        "The same where each server has prices of its own.",
        "what blocks is that jobs are indivisible on a server",
        partial(lemmas.lemma_3, per_server=True), lemmas.draw_one_round, samples=60,
        assumptions="both theta the larger one",
        counterexamples={"CE-a": lemmas.blocked, "CE-c": partial(lemmas.fragments, 60, 1e3)}),
    proved("irmp-lemma-3-repaired", "Lemma 3, corrected",
        "With prices of its own on each server and exact best responses, OPT is at most L_w + L_p "
        "+ max(L_w, L_p) times what is earned; L = log2 theta.",
        "the last prices are feasible in (6), and each job adds at most that much to it",
        lemmas.small_demands, lemmas.draw_small_demands, samples=40,
        assumptions="any run of any job takes at most C_sw / L_w workers and C_sp / L_p PSs of a "
        "server; theta >= 2 (1 + f_max); f is at least the use of workers, and of PSs, "
        "over each accepted run",
        mutant=Mutant(statement="OPT is at most L times what is earned",
            sides=times(Fraction(1, 3)))),
    proved("irmp-theorem-1-i", "Theorem 1 (i)",
        "OPT - ALG <= N ((2^L - 1) k_max - (2^(L+1) - 1) (2 lambda - 1) k_min).",
        "see irmp-theorem-1-i-vacuous: it says nothing of the algorithm",
        partial(theorems.gap, complete=True), theorems.draw_linear, samples=40,
        assumptions="f_j = k_j t + g_j, k_j < 0 < g_j; all jobs are complete by tau_L",
        mutant=Mutant(statement="half of it", sides=times(Fraction(1, 2)), loose=VACUOUS)),
    proved("irmp-theorem-1-i-vacuous", "Theorem 1 (i)",
        "This bound is at least N |k_min| tau_L, by which any schedule of all jobs by tau_L is at "
        "most below OPT.",
        "k_max >= k_min, lambda >= 1",
        theorems.vacuous, theorems.draw_slopes,
        mutant=Mutant(statement="at least 1 more than that", sides=less(1))),
    refuted("irmp-theorem-1-i-last", "Theorem 1 (i)",
        "The same where L is the last interval in which jobs are scheduled.",
        "the interval L ends at lambda tau_(L+1), not at tau_L",
        partial(theorems.gap, complete=False), partial(theorems.draw_linear, lam=1), samples=40,
        assumptions="lambda = 1",
        counterexamples={"L = 1, from slot r": lambda: Online(two_in_a_row(slot_r=True)),
            "L = 3, from slot r + 1": lambda: Online(two_in_a_row(constant=100, work=5))}),
    proved("irmp-theorem-1-i-two-rounds", "Theorem 1 (i), restricted",
        "It holds then for lambda >= 2, for any schedule that ends with interval L.",
        "(lambda - 3/2) 2^(L+1) >= 2 lambda - 2",
        partial(theorems.gap, complete=False), partial(theorems.draw_linear, lam=2), samples=30,
        mutant=Mutant(statement="half of it", sides=times(Fraction(1, 2)), loose=VACUOUS)),
    refuted("irmp-theorem-1-ii", "Theorem 1 (ii)",
        "ALG / OPT is at least the ratio that is printed for (e / t)^kappa.",
        "e_min^kappa_max / e_max^kappa_min has a unit, and the ratio can be above 1",
        theorems.convex, theorems.draw_convex, samples=30,
        counterexamples={"e = 1000, kappa = 1, 2": theorems.two_exponents}),
    proved("irmp-theorem-1-ii-repaired", "Theorem 1 (ii), corrected",
        "ALG / OPT >= (1 / 4 lambda)^kappa_max.",
        "such a job is complete by 4 lambda times the first time at which it can be",
        partial(theorems.convex, repaired=True), theorems.draw_convex, samples=30,
        assumptions="every job is scheduled in the first interval that begins after its batch and "
        "in which it fits, as it is where resources are plenty",
        mutant=Mutant(statement="ALG / OPT >= 2 (1 / 4 lambda)^kappa_max",
            sides=times(Fraction(1, 2)))),
    refuted("irmp-theorem-2", "Theorem 2",
        "Astraea as printed satisfies (3a)-(3o).",
        "Algorithm 4, line 8, breaks (3i)",
        theorems.broken, partial(lemmas.draw_online, literal=True), samples=40,
        counterexamples={
            "two servers": lambda: Online(
                lemmas.too_few_ps().problem, replace(EXAMPLE, literal=True)),
            "the paper's example": lambda: Online(
                paper_example(), replace(lemmas.TWO_ROUNDS, literal=True))}),
    proved("irmp-theorem-2-repaired", "Theorem 2, corrected",
        "With the places of Lemma 2 put right it does.",
        "each run is one of (9), and is taken from what is free",
        theorems.broken, lemmas.draw_online, samples=200, least=5,
        mutant=Mutant(statement="as printed", check=_as_printed)),
    proved("irmp-theorem-3", "Theorem 3",
        "Algorithms 4 and 5 together are called for at most 4 lambda L sum of T D_j tuples, and "
        "look at the S servers once in each.",
        "two stages, two algorithms, tau_L starts, D_j numbers of workers",
        theorems.theorem_3, partial(lemmas.draw_online, jobs=3), samples=60,
        assumptions="least free resources over a run are kept as its start moves",
        mutant=Mutant(statement="2 lambda L sum of T D_j", sides=times(Fraction(1, 2)))),
    refuted("irmp-theorem-4", "Theorem 4",
        "No user gains by telling of other jobs than it has.",
        "within quotas prices delay jobs but are not paid; with shared resources utility counts "
        "from the beginning of the round, cost does not",
        theorems.lie, theorems.draw_misreport, samples=60,
        counterexamples={"slope on one server": theorems.slope_on_one_server,
            "slope in the example": theorems.slope_of_the_example,
            "one chunk for two": theorems.fewer_chunks,
            "convex, shared": theorems.convex_in_stage_2}),
    proved("irmp-theorem-4-stage-2", "Theorem 4, restricted",
        "In stage 2, at given prices, no job has more ideal utility less cost if it is told to "
        "have another utility, or fewer chunks.",
        "Lemma 2, corrected: it has the best response already",
        theorems.stage_2, theorems.draw_told, samples=200,
        assumptions="what the user's other jobs meet and what it gets back do not count",
        mutant=Mutant(statement="it has as much as by the truth", sides=_the_same)),
    refuted("irmp-rational", "Section 4.4",
        "No job pays more than it is worth when it is complete.",
        "it pays up to its ideal utility",
        theorems.rational, lemmas.draw_online, samples=40,
        counterexamples={
            "convex, shared": lambda: Online(
                theorems.convex_in_stage_2().truth, lemmas.TWO_ROUNDS)}),
    refuted("irmp-theorem-5", "Theorem 5",
        "No job can be moved within its round so that it is worth more, with all others as they "
        "are.",
        "prices delay jobs while servers are idle",
        theorems.pareto, lemmas.draw_online, samples=30,
        counterexamples={"two on one server": lambda: Online(two_in_a_row(constant=20)),
            "the paper's example": lambda: Online(paper_example(lemmas.FIRST), lemmas.BY_NUMBER)}),
    refuted("irmp-sharing-incentive", "Sections 1 and 4.5",
        "A user gains at least what the same algorithm earns it on its own servers.",
        "prices within a quota rise with what others use",
        theorems.alone, partial(lemmas.draw_online, owned=True), samples=40,
        counterexamples={"3 at 7.1": theorems.priced_out}),
    proved("irmp-division", "eq. (2)",
        "With the cost of each slot in place of the whole cost, incomes from a job of stage 2 sum "
        "up to what it pays.",
        "shares of what is unused sum up to 1 in each slot",
        theorems.division, theorems.draw_paid, samples=40,
        assumptions="unused resources are those after stage 1",
        mutant=Mutant(statement="with the whole cost in each slot", check=theorems.whole_cost)),
    refuted("irmp-division-printed", "eq. (2)",
        "They do with the whole cost, c_jw and c_jp, in each slot.",
        "a run of d slots pays out d times its cost",
        theorems.whole_cost, theorems.draw_books, samples=40,
        counterexamples={"j12 as printed": theorems.printed_schedule}),
    proved("irmp-money", "Section 3.2, corrected",
        "The revenues of all users sum up to the utility of all jobs.",
        "irmp-division",
        partial(theorems.balance, self_share=True), theorems.draw_paid, samples=40,
        assumptions="the income of a user counts what its own jobs pay to it",
        mutant=Mutant(statement="if it counts only jobs of others",
            check=partial(theorems.balance, self_share=False))),
    refuted("irmp-money-printed", "Section 3.2",
        "They do where it counts only jobs of others, u' != u.",
        "what a user pays to itself is lost",
        partial(theorems.balance, self_share=False), theorems.draw_books, samples=40,
        counterexamples={"j12 as printed": theorems.printed_schedule}),
)  # fmt: skip
