"""Algorithms: functions from a problem to a result, exact solving, and the papers' baselines."""

from .result import Bound as Bound
from .result import Refuted as Refuted
from .result import Result as Result
from .result import Status as Status
from .result import Stop as Stop
