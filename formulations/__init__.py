"""The papers' optimisation problems: data, objective, feasibility and declarative models."""

from .completion_time.problem import CompletionTime as CompletionTime
from .deadline_rewards import DeadlineRewards as DeadlineRewards
from .fair_shares import FairShares as FairShares
from .gandiva_fair.problem import GpuMarket as GpuMarket
from .irmp.problem import Irmp as Irmp
from .irmp.problem import paper_problem as paper_problem
from .irmp.problem import reduced_problem as reduced_problem
from .ltgf.fluid import LtgfFluid as LtgfFluid
from .ltgf.problem import Ltgf as Ltgf
from .ltgf.round import LtgfRound as LtgfRound
from .problem import Model as Model
from .problem import Problem as Problem
from .problem import Sense as Sense
from .problem import build as build
from .rar_ddls.problem import RarDdls as RarDdls
from .unisched.problem import UniSched as UniSched
