"""What a policy lets Gandiva_fair's sharing do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingLimits:
    """Of the policy: `most` moves in a quantum between models, and on each of them.

    `literal` is Algorithm 2 to the letter: one move on each model, and none to idle GPUs.
    """

    threshold: float
    gain: float
    most: int
    debt_cap: bool
    normalised: bool
    literal: bool
