"""Algorithms: functions from a problem to a result, exact solving, and the papers' baselines."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import baselines as baselines
from .bounds import area_bound as area_bound
from .estimator import DurationEstimates as DurationEstimates
from .estimator import IterationTimes as IterationTimes
from .fluid_sharing import fluid_sharing as fluid_sharing
from .fluid_sharing import max_min_shares as max_min_shares
from .laminar_blocks import LaminarParams as LaminarParams
from .laminar_blocks import laminar as laminar
from .learning_curves import CurveEnsemble as CurveEnsemble
from .ltgf import LtgfPolicy as LtgfPolicy
from .ltgf import PrintedLtgf as PrintedLtgf
from .ltgf_round import one_round as one_round
from .policy import Decision as Decision
from .policy import Phase as Phase
from .policy import Policy as Policy
from .policy import Preempts as Preempts
from .policy import Rules as Rules
from .policy import Start as Start
from .policy import State as State
from .rar_ddls import SjfBcoParams as SjfBcoParams
from .rar_ddls import sjf_bco as sjf_bco
from .result import Bound as Bound
from .result import Refuted as Refuted
from .result import Result as Result
from .result import Status as Status
from .result import Stop as Stop

if TYPE_CHECKING:
    from .unisched import UniSchedParams as UniSchedParams
    from .unisched import density_greedy as density_greedy
    from .unisched import lp_selector as lp_selector
    from .unisched import opportunity_price as opportunity_price
    from .unisched_policy import UniSchedPolicy as UniSchedPolicy

# What needs HiGHS or scipy is imported when it is asked for: they take a second each.
_LATER = {
    "UniSchedParams": "unisched",
    "UniSchedPolicy": "unisched_policy",
    "density_greedy": "unisched",
    "lp_selector": "unisched",
    "opportunity_price": "unisched",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f".{_LATER[name]}", __name__), name)
