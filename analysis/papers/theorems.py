"""The papers' claims as executable statements, with verdicts.

Each claim states what a paper (or a correction of it) says, computes both sides of it on any small
case, and carries the counterexamples that refute it, or a mutant, a stronger statement that its
cases tell from it. ``gangsched theorems`` runs all of them;
docs/theorems.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .claim import Claim, ClaimRun, Mutant, Sides, Verdict, run, with_mutants
from .gandiva_fair.claims import TRADING
from .gandiva_fair.misreports import price_of_manipulation
from .gandiva_fair.mutants import STRIDE_MUTANTS, TRADING_MUTANTS
from .gandiva_fair.stride_claims import STRIDE
from .irmp.claims import IRMP
from .irmp.mutants import MUTANTS as IRMP_MUTANTS
from .ltgf.claims import LTGF
from .ltgf.mutants import MUTANTS as LTGF_MUTANTS
from .rar_ddls.claims import RAR_DDLS
from .rar_ddls.mutants import MUTANTS as RAR_DDLS_MUTANTS
from .unisched.claims import UNISCHED
from .unisched.mutants import MUTANTS as UNISCHED_MUTANTS

__all__ = [
    "CLAIMS", "Claim", "ClaimRun", "Mutant", "Sides", "Verdict", "price_of_manipulation", "run",
    "verdicts",
]  # fmt: skip

#: claims by the paper that they are about
PAPERS: Mapping[str, tuple[Claim[Any], ...]] = {
    "Yu et al. 2022": with_mutants(RAR_DDLS, RAR_DDLS_MUTANTS),
    "Ye et al. 2022": with_mutants(LTGF, LTGF_MUTANTS),
    "Gao et al. 2024": with_mutants(UNISCHED, UNISCHED_MUTANTS),
    "Wang et al. 2023": with_mutants(IRMP, IRMP_MUTANTS),
    "Chaudhary et al. 2020": (
        *with_mutants(STRIDE, STRIDE_MUTANTS),
        *with_mutants(TRADING, TRADING_MUTANTS),
    ),
}
#: every claim by its id, paper by paper
CLAIMS: Mapping[str, Claim[Any]] = {
    claim.id: claim for claims in PAPERS.values() for claim in claims
}


def verdicts(
    *, samples: int | None = None, seed: int = 0, progress: Callable[[str], object] | None = None
) -> list[ClaimRun]:
    """Run every claim on its counterexamples and on seeded random cases.

    Parameters
    ----------
    samples : int, optional
        Random cases a claim; each claim's own number by default.
    seed : int
    progress : callable (str), optional
        Called with the id of each claim that has been run.

    Returns
    -------
    list of ClaimRun
        In the order of `CLAIMS`; ``row.confirmed`` says whether the run agrees with the verdict.

    Examples
    --------
    >>> row = verdicts(samples=2)[0]
    >>> row.claim, row.verdict.value, row.confirmed
    ('theorem-1', 'refuted', True)
    >>> print(row.counterexamples["K4"])  # chromatic number 4, but 2 slots are enough
    4 == 2 fails
    """
    rows = []
    for claim in CLAIMS.values():
        rows.append(run(claim, samples=samples, seed=seed))
        if progress is not None:
            progress(claim.id)
    return rows
