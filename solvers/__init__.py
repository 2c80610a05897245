"""Algorithms: functions from a problem to a result, exact solving, and the papers' baselines."""

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
