"""A verifier of bounds that needs nothing but Python: files in, a verdict out.

It reads a problem and a bound as the JSON that gangsched writes, computes from the problem what the
proof needs, and replays the proof in integers and rationals. It imports the standard library only
and no other part of gangsched, and a rule is a function of less than 60 lines: whoever doubts a
bound can read its rule, or copy this folder elsewhere and run it.

    python -m gangsched.verify PROBLEM BOUND

:func:`gangsched.verify_bound` uses these very rules. It hands over jobs without a file, and runs
the loops of :mod:`.kernels` as machine code where all numbers fit 64 bits. Tests compare the rules
with short independent programs, and see that no run of lines is shared with what makes bounds.

================================  ===================================================
problem                           rules
================================  ===================================================
rar-ddls                          :mod:`.rar_ddls`
unisched                          :mod:`.unisched`
irmp                              :mod:`.irmp`
gandiva-fair                      :mod:`.market`
ltgf, ltgf-round, ltgf-fluid      :mod:`.fairness`
sharing-incentive                 :mod:`.fairness`, :mod:`.windows`
completion-time                   :mod:`.completion_time`, :mod:`.windows`
deadline-rewards                  :mod:`.deadline_rewards`, :mod:`.windows`
================================  ===================================================
"""

from __future__ import annotations

from .check import PROBLEMS as PROBLEMS
from .check import prove as prove
from .check import verify as verify
from .fields import BadFile as BadFile
from .fields import Refused as Refused

__all__ = ["PROBLEMS", "BadFile", "Refused", "prove", "verify"]
