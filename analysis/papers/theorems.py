"""The papers' claims, and those behind our bounds, as executable statements with verdicts.

Each claim states what a paper (or a correction of it) says, computes both sides of it on any small
case, and carries the counterexamples that refute it, or a mutant, a stronger statement that its
cases tell from it. ``gangsched theorems`` runs all of them;
docs/theorems.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .bound_claims import BOUNDS
from .claim import Claim, ClaimRun, Mutant, Sides, Verdict, run
from .gandiva_fair.claims import TRADING
from .gandiva_fair.stride_claims import STRIDE
from .irmp.claims import IRMP
from .ltgf.claims import LTGF
from .rar_ddls.claims import RAR_DDLS
from .unisched.claims import UNISCHED

__all__ = ["CLAIMS", "Claim", "ClaimRun", "Mutant", "Sides", "Verdict", "run", "verdicts"]

#: claims by what they are about
PAPERS: Mapping[str, tuple[Claim[Any], ...]] = {
    "Yu et al. 2022": RAR_DDLS,
    "Ye et al. 2022": LTGF,
    "Gao et al. 2024": UNISCHED,
    "Wang et al. 2023": IRMP,
    "Chaudhary et al. 2020": (*STRIDE, *TRADING),
    "Bounds": BOUNDS,
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
