"""The papers' optimisation problems: data, objective, feasibility and declarative models."""

from .completion_time import CompletionTime as CompletionTime
from .deadline_rewards import DeadlineRewards as DeadlineRewards
from .fair_shares import FairShares as FairShares
from .gandiva_fair import GpuMarket as GpuMarket
from .irmp import Irmp as Irmp
from .irmp import paper_problem as paper_problem
from .irmp import reduced_problem as reduced_problem
from .ltgf import Ltgf as Ltgf
from .ltgf_fluid import LtgfFluid as LtgfFluid
from .ltgf_round import LtgfRound as LtgfRound
from .problem import Model as Model
from .problem import Problem as Problem
from .problem import Sense as Sense
from .rar_ddls import RarDdls as RarDdls
from .unisched import UniSched as UniSched
