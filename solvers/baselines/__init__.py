"""The papers' baselines and plain strong heuristics, one file each."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from .backfilling import backfilling as backfilling
from .fifo import Fifo as Fifo
from .first_fit import first_fit as first_fit
from .genie import Genie as Genie
from .hived import Hived as Hived
from .hydra import Hydra as Hydra
from .las import Las as Las
from .list_scheduling import list_scheduling as list_scheduling
from .optimus import Optimus as Optimus
from .random_placement import random_placement as random_placement
from .sjf import Sjf as Sjf
from .srtf import Srtf as Srtf
from .themis import Themis as Themis
from .themis import ThemisGreedy as ThemisGreedy
from .tiresias_l import TiresiasL as TiresiasL
from .yarn_cs import YarnCs as YarnCs

if TYPE_CHECKING:
    from .allox import Allox as Allox
    from .chronus import Chronus as Chronus
    from .finish_time_fairness import FinishTimeFairness as FinishTimeFairness
    from .max_min_fairness import MaxMinFairness as MaxMinFairness
    from .revenue_sharing import gandiva_like as gandiva_like
    from .revenue_sharing import hived_like as hived_like
    from .three_sigma import ThreeSigma as ThreeSigma

# What needs numba or scipy is imported when it is asked for: they take a second each.
_LATER = {
    "Allox": "allox",
    "Chronus": "chronus",
    "FinishTimeFairness": "finish_time_fairness",
    "MaxMinFairness": "max_min_fairness",
    "ThreeSigma": "three_sigma",
    "gandiva_like": "revenue_sharing",
    "hived_like": "revenue_sharing",
}


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f".{_LATER[name]}", __name__), name)
