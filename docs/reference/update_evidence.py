"""Count all claims' cases into `evidence.md`: `python docs/reference/update_evidence.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gangsched.analysis.papers.claim import ClaimRun, Verdict
from gangsched.analysis.papers.theorems import CLAIMS, PAPERS, verdicts

PAGE = Path(__file__).with_name("evidence.md")
HEAD = """# Evidence of the claims, counted

What `gangsched theorems` finds on the claims of [this page](../theorems.md), whose proofs and
counterexamples stand there. Random cases prove nothing, but those of a claim that is false should
say so. Here is whether they could:

- *draws*: random cases; *applicable*: those within the claim's assumptions;
- *strict*: of these, those that ask something. Not both sides are 0, or the mutant fails;
- *mutant*: a statement that is a little stronger than the claim, and false. *Killed in*: the cases
  that show that it is false. Those cases would also have shown a claim to be false that were wrong
  by as much.

A claim with fewer strict cases than it needs (10, if nothing else is said in its code), or whose
mutant lives, is *not shown*, and the command fails. A refuted claim is false by itself: its mutant
says that it holds to within 1 %, and its counterexamples kill that too. *Loose* is a claim whose
mutant no case can kill, since the claim has room to spare: the ratio is that of the nearest case
to the bound. *Ours* is what no paper says: corrections, restrictions, and statements beyond.

Made by `python docs/reference/update_evidence.py`; a test compares it with a run.
"""


def page(rows: Sequence[ClaimRun]) -> str:
    """Return the page for the runs of all claims."""
    found, parts = {row.claim: row for row in rows}, [HEAD]
    for paper, claims in PAPERS.items():
        parts += [
            f"\n## {paper}\n",
            "| claim | whose | verdict | draws | applicable | strict | mutant | killed in |",
            "| --- | --- | --- | ---: | ---: | ---: | --- | --- |",
            *(_line(found[claim.id]) for claim in claims),
        ]
    return "\n".join(parts) + "\n"


def _line(row: ClaimRun) -> str:
    link = f"[`{row.claim}`](../theorems.md#{row.claim.lower()})"
    killed = str(row.killed)
    if row.verdict is Verdict.REFUTED:
        killed = f"{row.killed} of {len(row.counterexamples)} counterexamples"
    elif row.loose and row.worst is not None:
        killed = f"loose: at most {row.worst.tightness:.3f} of the bound; {row.loose}"
    cells = (
        link, "ours" if CLAIMS[row.claim].ours else "the paper's", str(row.verdict),
        str(row.draws), str(row.tried), str(row.strict), row.mutant, killed,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(verdicts()), encoding="utf-8")
