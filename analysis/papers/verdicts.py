"""Verdicts that statements of several papers share: comparisons that must hold for every seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from .study import Agreement, Statement, Study

OTHER_JOBS = "these are not the paper's jobs"
SEEDS_DISAGREE = "the seeds disagree"
EQUAL = "they are equal: these jobs cannot tell them apart"


def values(
    study: Study, instance: str, policy: str, measure: str, x: int | None = None
) -> list[float]:
    """Return the values of the seeds; none where one is not defined."""
    for row in study.rows:
        if (row.instance, row.policy, row.x) == (instance, policy, x):
            own = [v for name, v in row.values.items() if name.startswith(f"{measure} [")]
            known = [v for v in own if v is not None]
            return known if len(known) == len(own) else []
    return []


def judged(
    text: str, instance: str, holds: bool, measured: str, why: str = "", *, own: bool = False
) -> Statement:
    """Return a statement that holds, or does not because of `why`."""
    verdict = Agreement.of(holds)
    return Statement(text, instance, verdict, measured, "" if holds else why, in_paper=not own)


def compared(
    text: str,
    instance: str,
    small: Sequence[float],
    large: Sequence[float],
    write: Callable[[Sequence[float]], str],
    *,
    why: str = "",
    own: bool = False,
) -> Statement:
    """Judge "the one is smaller than the other", which must hold for every seed.

    Examples
    --------
    >>> def judged(a, b):
    ...     return str(compared("", "", a, b, mean))
    >>> judged([1, 2], [3, 4]), judged([3, 4], [1, 2])
    ('agrees: 1.50, 3.50', '**does not**: 3.50, 1.50')
    >>> judged([1, 4], [2, 3]), judged([], [1])
    ('**not comparable**, because the seeds disagree: 2.50, 2.50', \
'**not comparable**, because not all were run: none, 1.00')
    """
    measured = f"{write(small)}, {write(large)}"
    verdict, reason = Agreement.OPEN, SEEDS_DISAGREE
    if not small or not large:
        reason = "not all were run"
    elif list(small) == list(large):
        reason = EQUAL
    elif all(a < b for a, b in zip(small, large, strict=True)):
        verdict, reason = Agreement.AGREES, ""
    elif all(a >= b for a, b in zip(small, large, strict=True)):
        verdict, reason = Agreement.DIFFERS, why
    return Statement(text, instance, verdict, measured, reason, in_paper=not own)


def mean(numbers: Sequence[float], unit: str = "") -> str:
    """Write a mean over seeds.

    Examples
    --------
    >>> mean([1.0, 2.0], " %"), mean([])
    ('1.50 %', 'none')
    """
    return f"{fmean(numbers):.2f}{unit}" if numbers else "none"
