"""gangsched: GPU-cluster scheduling problems, algorithms and proven bounds."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import formulations as formulations
from . import instances as instances
from . import io as io
from . import solvers as solvers
from .analysis.bounds import best_bound as best_bound
from .analysis.bounds import verify_bound as verify_bound
from .analysis.ratio import compare as compare
from .analysis.ratio import ratio as ratio
from .instances import Allocation as Allocation
from .instances import Cluster as Cluster
from .instances import DeadlineJob as DeadlineJob
from .instances import Instance as Instance
from .instances import Iterations as Iterations
from .instances import Job as Job
from .instances import Node as Node
from .instances import RingJob as RingJob
from .instances import Schedule as Schedule
from .instances import Segment as Segment
from .instances import TargetMetric as TargetMetric
from .instances import User as User
from .instances import convert as convert
from .instances import deadlines as deadlines
from .instances import generate as generate
from .instances import library as library
from .instances import traces as traces
from .solvers import Bound as Bound
from .solvers import Result as Result
from .solvers import Status as Status
from .solvers import Stop as Stop

if TYPE_CHECKING:
    from .analysis import plots as plots
    from .analysis import reproduce as reproduce
    from .analysis import theorems as theorems
    from .analysis.drive import drive as drive
    from .analysis.online_bounds import online_bound as online_bound
    from .analysis.replay import replay as replay
    from .analysis.reward_bounds import reward_bound as reward_bound
    from .analysis.rolling_horizon import RollingHorizon as RollingHorizon
    from .solvers.exact import solve_exact as solve_exact

__version__ = "0.1.0"

# What needs matplotlib, numba or Pyomo is imported when it is asked for: they take a second each.
_LATER = {
    "drive": (".analysis.drive", "drive"),
    "online_bound": (".analysis.online_bounds", "online_bound"),
    "replay": (".analysis.replay", "replay"),
    "reward_bound": (".analysis.reward_bounds", "reward_bound"),
    "RollingHorizon": (".analysis.rolling_horizon", "RollingHorizon"),
    "plots": (".analysis.plots", None),
    "reproduce": (".analysis.reproduce", None),
    "solve_exact": (".solvers.exact", "solve_exact"),
    "theorems": (".analysis.theorems", None),
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module 'gangsched' has no attribute {name!r}")
    place, attribute = _LATER[name]
    module = _import_module(place, __name__)
    return module if attribute is None else getattr(module, attribute)
