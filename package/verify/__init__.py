"""A verifier of bounds that needs nothing but Python: files in, a verdict out.

It reads a problem and a bound as the JSON that gangsched writes, computes from the problem what the
proof needs, and replays the proof in integers and rationals. It imports the standard library only
and no other part of gangsched, and a rule is a function of less than 60 lines: whoever doubts a
bound can read its rule, or copy this folder elsewhere and run it.

    python -m gangsched.verify PROBLEM BOUND

:func:`gangsched.verify_bound` has faster rules for large instances; tests compare the two on
corrupted certificates. Problems: RAR-DDLS (:mod:`.rar_ddls`) and completion times
(:mod:`.completion_time`).
"""

from __future__ import annotations

from .check import PROBLEMS as PROBLEMS
from .check import prove as prove
from .check import verify as verify
from .fields import BadFile as BadFile
from .fields import Refused as Refused

__all__ = ["PROBLEMS", "BadFile", "Refused", "prove", "verify"]
